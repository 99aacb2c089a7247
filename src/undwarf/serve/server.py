"""A server on loopback for pages of recordings, of which nothing answers without the token in its address.

It is for the browser of who started it, on the same machine. Other users of the machine do not know the token; pages of
other origins neither know it nor get answers (Host, Origin and Sec-Fetch-Site are checked); and it only reads.
"""

import hmac
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl

LOOPBACK = "127.0.0.1"
_LONGEST = 2048
"""Characters of an address, a line of a request, that is answered."""
_MOST_AT_ONCE = 32
"""Connections that are answered at the same time; further ones are closed."""
_PATIENCE = 30.0
"""Seconds that a connection may be silent."""
_FETCHED_FROM = ("same-origin", "none")
"""Values of Sec-Fetch-Site: requests of the page itself, and of who types its address."""


class Answer(NamedTuple):
    """What is sent: the bytes, their type, and the content security policy of a page, else of what is no page."""

    body: bytes
    kind: str = "application/octet-stream"
    policy: str = "default-src 'none'"
    status: HTTPStatus = HTTPStatus.OK


class Site(Protocol):
    """What a server offers."""

    def answer(self, path: str, query: Mapping[str, str]) -> Answer | None:
        """The answer for a path below the token, without a leading slash; None if there is none."""
        ...


class PageServer(ThreadingHTTPServer):
    """Serves a site at ``http://127.0.0.1:PORT/TOKEN/``; ``port`` 0 takes a free one."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 2 * _MOST_AT_ONCE

    def __init__(self, site: Site, port: int = 0) -> None:
        self.site = site
        self.token = secrets.token_urlsafe(24)
        self._once: str | None = None
        self._once_lock = Lock()
        self._free = BoundedSemaphore(_MOST_AT_ONCE)
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """The address of the site."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def address_for_once(self) -> str:
        """An address that redirects to the site, once: other users see the arguments of the program that opens it."""
        with self._once_lock:
            self._once = secrets.token_urlsafe(24)
            return f"http://{LOOPBACK}:{self.port}/once/{self._once}"

    def takes_once(self, text: str) -> bool:
        """Whether this is the address for once, which it is no longer then."""
        with self._once_lock:
            if self._once is None or not same(text, self._once):
                return False
            self._once = None
            return True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or close it if there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that ended early is no error of ours."""


def same(text: str, secret: str) -> bool:
    """Whether a text is the secret, in a time that does not depend on where they differ."""
    return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), secret.encode("utf-8"))


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, and closes the connection."""

    server: PageServer
    timeout = _PATIENCE
    server_version = "undwarf"
    sys_version = ""

    def do_GET(self) -> None:
        """A request for the page or a part."""
        self._respond()

    def do_HEAD(self) -> None:
        """A request for the header of an answer."""
        self._respond()

    def _respond(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._send(refusal)
            return
        path, _mark, query = self.path.partition("?")
        token, slash, rest = path[1:].partition("/")
        if token == "once" and self.command == "GET" and self.server.takes_once(rest):
            self._send(Answer(b"", "text/plain; charset=utf-8", status=HTTPStatus.SEE_OTHER), self.server.address)
            return
        if not slash or not same(token, self.server.token):
            # As if there were nothing: who does not know the token need not know what else is right.
            self._send(_text(HTTPStatus.NOT_FOUND, "nothing is here"))
            return
        try:
            answer = self.server.site.answer(rest, dict(parse_qsl(query, max_num_fields=8)))
        except ValueError:
            answer = _text(HTTPStatus.BAD_REQUEST, "this question cannot be read")
        except Exception as error:  # noqa: BLE001 - the page shows it, and the server goes on
            why = f"this cannot be computed: {type(error).__name__}: {error}"
            answer = _text(HTTPStatus.INTERNAL_SERVER_ERROR, why)
        self._send(answer if answer is not None else _text(HTTPStatus.NOT_FOUND, "nothing is here"))

    def _refusal(self) -> Answer | None:
        """Why a request is not answered, whatever it asks for; None if it is."""
        if len(self.path) > _LONGEST:
            return _text(HTTPStatus.REQUEST_URI_TOO_LONG, "this address is too long")
        hosts = (f"{LOOPBACK}:{self.server.port}", f"localhost:{self.server.port}")
        named = self.headers.get_all("Host") or []
        if len(named) != 1 or named[0] not in hosts:
            return _text(HTTPStatus.FORBIDDEN, "this server has another name")
        origins = self.headers.get_all("Origin") or []
        if any(origin != f"http://{named[0]}" for origin in origins):
            return _text(HTTPStatus.FORBIDDEN, "other origins get no answer")
        if any(site not in _FETCHED_FROM for site in self.headers.get_all("Sec-Fetch-Site") or []):
            return _text(HTTPStatus.FORBIDDEN, "other sites get no answer")
        if not self.path.startswith("/"):
            return _text(HTTPStatus.BAD_REQUEST, "this is no path")
        return None

    def _send(self, answer: Answer, location: str = "") -> None:
        self.send_response(answer.status)
        for name, value in (
            ("Content-Type", answer.kind),
            ("Content-Length", str(len(answer.body))),
            ("Content-Security-Policy", f"{answer.policy}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            *((("Location", location),) if location else ()),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no proper request, or another method, as plain text."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        # The first line of a damaged request may be of HTTP 0.9, which has no headers.
        self.request_version = "HTTP/1.0"
        if self.command is None:
            self.command = ""
        self._send(_text(status, "this request is not answered"))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: addresses have the token."""


def _text(status: HTTPStatus, text: str) -> Answer:
    return Answer(f"{text}\n".encode("utf-8", "backslashreplace"), "text/plain; charset=utf-8", status=status)
