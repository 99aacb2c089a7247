"""Serves metrics over HTTP on loopback."""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from typing import Any

from undwarf.agent.metrics import CONTENT_TYPE
from undwarf.errors import UndwarfError, UsageError

TIMEOUT_S = 5.0


def address_of(text: str) -> tuple[str, int]:
    """(address, port) of ``HOST:PORT``. Raises UsageError unless it is on loopback."""
    host, _colon, port = text.rpartition(":")
    host = host.strip("[]").replace("localhost", "127.0.0.1")
    try:
        if ip_address(host).is_loopback and 0 <= int(port) < 1 << 16:
            return host, int(port)
    except ValueError as error:
        raise UsageError(
            f"metrics: {text!r} is no address", "", 'give one of this machine, as "127.0.0.1:9480"'
        ) from error
    raise UsageError(f"metrics: {text!r} is not on loopback", "", 'give one of this machine, as "127.0.0.1:9480"')


class _Server6(HTTPServer):
    address_family = socket.AF_INET6


class MetricsServer:
    """Answers ``GET /metrics`` in a thread of its own until it is closed."""

    def __init__(self, address: str, text: Callable[[], str]) -> None:
        """Raises UndwarfError if the address is in use."""
        host, port = address_of(address)

        class Handler(BaseHTTPRequestHandler):
            timeout = TIMEOUT_S

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                body = text().encode() if found else b"metrics are at /metrics\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", CONTENT_TYPE if found else "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_message: Any) -> None:
                """Requests are not logged."""

        try:
            self._server = _Server6((host, port), Handler) if ":" in host else HTTPServer((host, port), Handler)
        except OSError as error:
            why = error.strerror or str(error)
            raise UndwarfError(f"cannot serve metrics at {address}", why, "choose another address") from error
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="undwarf-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
