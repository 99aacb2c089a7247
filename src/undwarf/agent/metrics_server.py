"""Serves metrics over HTTP on loopback.

Written against HTTP/1.1 (RFC 9112): ``http.server`` imports TLS and mail, 3 MB that an agent would keep.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address

from undwarf.agent.metrics import CONTENT_TYPE
from undwarf.errors import UndwarfError, UsageError

TIMEOUT_S = 5.0
MOST_REQUEST = 1 << 16
"""Bytes of a request that are read."""
WAITING = 8
"""Connections that wait for their turn."""


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


class MetricsServer:
    """Answers ``GET /metrics`` in a thread of its own until it is closed, one request a connection."""

    def __init__(self, address: str, text: Callable[[], str]) -> None:
        """Raises UndwarfError if the address is in use."""
        host, port = address_of(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._text = text
        self._closing = False
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=WAITING)
        except OSError as error:
            why = error.strerror or str(error)
            raise UndwarfError(f"cannot serve metrics at {address}", why, "choose another address") from error
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, name="undwarf-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._closing = True
        with suppress(OSError):
            # Wakes the thread.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._closing:
            try:
                connection, _address = self._socket.accept()
            except OSError:
                # A connection that is gone already, or the end.
                continue
            # Who asks may leave at any time.
            with connection, suppress(OSError):
                connection.settimeout(TIMEOUT_S)
                connection.sendall(self._answer(_request(connection)))

    def _answer(self, request: bytes) -> bytes:
        method, target, *_version = [*request.split(b"\r\n", 1)[0].split(b" "), b"", b""]
        if method not in (b"GET", b"HEAD"):
            status, kind, body = "405 Method Not Allowed", "text/plain; charset=utf-8", b"only GET\n"
        elif target.partition(b"?")[0] == b"/metrics":
            status, kind, body = "200 OK", CONTENT_TYPE, self._text().encode()
        else:
            status, kind, body = "404 Not Found", "text/plain; charset=utf-8", b"metrics are at /metrics\n"
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return head.encode("ascii") + (body if method != b"HEAD" else b"")


def _request(connection: socket.socket) -> bytes:
    """The head of a request."""
    found = b""
    while b"\r\n\r\n" not in found and len(found) < MOST_REQUEST and (piece := connection.recv(4096)):
        found += piece
    return found
