"""The server answers its own page on this machine, and nothing else; asked with raw sockets."""

import re
import socket
import threading
from collections.abc import Iterator, Mapping

import pytest

from undwarf.serve.server import Answer, PageServer

PAGE = b"<!doctype html>the page"


class Site:
    """A page, a part, and a part that cannot be computed."""

    def answer(self, path: str, query: Mapping[str, str]) -> Answer | None:
        if path == "part/bad":
            raise RuntimeError("a <b>reason</b>")
        pages = {"": Answer(PAGE, "text/html; charset=utf-8"), "part/code": Answer(repr(dict(query)).encode())}
        return pages.get(path)


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with PageServer(Site()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def ask(server: PageServer, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """(status, headers in lower case, body) of what is sent back; status 0 if nothing is."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    head, _blank, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    status = re.match(r"HTTP/1\.[01] ([0-9]{3})", lines[0])
    headers = {name.lower(): value.strip() for name, _colon, value in (line.partition(":") for line in lines[1:])}
    return int(status[1]) if status else 0, headers, body


def request(server: PageServer, path: str = "", method: str = "GET", host: str | None = None, more: str = "") -> bytes:
    return (
        f"{method} /{server.token}/{path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{server.port}'}\r\n{more}\r\n"
    ).encode()


def test_the_page_is_answered_with_headers_that_protect_it(server: PageServer) -> None:
    status, headers, body = ask(server, request(server))
    assert (status, body) == (200, PAGE)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "python" not in headers["server"].lower()
    assert "access-control-allow-origin" not in headers


def test_a_part_is_asked_for_with_a_query(server: PageServer) -> None:
    assert ask(server, request(server, "part/code?function=3"))[2] == b"{'function': '3'}"


def test_localhost_is_a_name_of_it(server: PageServer) -> None:
    assert ask(server, request(server, host=f"localhost:{server.port}"))[0] == 200


def test_head_has_no_body(server: PageServer) -> None:
    status, headers, body = ask(server, request(server, method="HEAD"))
    assert (status, headers["content-length"], body) == (200, str(len(PAGE)), b"")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]:{port}", ""])
def test_another_host_is_refused(server: PageServer, host: str) -> None:
    name = host.format(port=server.port)
    line = f"GET /{server.token}/ HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()
    assert ask(server, line)[0] == 403


def test_no_host_and_two_hosts_are_refused(server: PageServer) -> None:
    own = f"Host: 127.0.0.1:{server.port}\r\n"
    for hosts in ("", own + "Host: evil.example\r\n", own + own):
        assert ask(server, f"GET /{server.token}/ HTTP/1.1\r\n{hosts}\r\n".encode())[0] == 403


@pytest.mark.parametrize(
    "header",
    [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: https://127.0.0.1:{port}",
        "Origin: http://localhost:{port}",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)
def test_other_origins_are_refused(server: PageServer, header: str) -> None:
    more = header.format(port=server.port) + "\r\n"
    status, headers, body = ask(server, request(server, "part/code", more=more))
    assert status == 403
    assert headers["content-type"].startswith("text/plain")
    assert b"{" not in body


@pytest.mark.parametrize(
    "header", ["Origin: http://127.0.0.1:{port}", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"]
)
def test_its_own_origin_is_answered(server: PageServer, header: str) -> None:
    assert ask(server, request(server, "part/code", more=header.format(port=server.port) + "\r\n"))[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/", "//", "/{wrong}/", "/{token}", "/{token}x/", "/{upper}/", "/%2e%2e/", "/../../etc/passwd",
        "/{token}/../../../etc/passwd", "/{token}/part/../../../../etc/passwd", "/{token}/%2e%2e/%2e%2e/etc/passwd",
        "/{token}/part/..%2f..%2fetc%2fpasswd", "/{token}/part/", "/{token}/part/none", "/{token}//etc/passwd",
        "/favicon.ico", "/once/", "/once/{token}", "/\xff/",
    ],
)  # fmt: skip  # a table
def test_nothing_else_is_there(server: PageServer, path: str) -> None:
    token = server.token
    shown = path.format(token=token, wrong="A" * len(token), upper=token.swapcase())
    line = f"GET {shown} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode("latin-1")
    status, headers, body = ask(server, line)
    assert (status, body) == (404, b"nothing is here\n")
    assert headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "X"])
def test_other_methods_are_refused(server: PageServer, method: str) -> None:
    status, headers, body = ask(server, request(server, method=method))
    assert status == 405
    assert headers["content-type"].startswith("text/plain")
    assert PAGE not in body


@pytest.mark.parametrize("length", [2100, 70_000])
def test_a_long_address_is_refused(server: PageServer, length: int) -> None:
    assert ask(server, request(server, "x" * length))[0] == 414


@pytest.mark.parametrize(
    "line",
    [b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"],
)
def test_what_is_no_request_gets_no_page(server: PageServer, line: bytes) -> None:
    status, _headers, body = ask(server, line)
    assert status in (0, 400, 405, 505)
    assert b"<" not in body
    assert ask(server, request(server))[0] == 200


def test_many_headers_are_refused(server: PageServer) -> None:
    assert ask(server, request(server, more="A: b\r\n" * 200))[0] == 431


def test_what_fails_is_plain_text(server: PageServer) -> None:
    status, headers, body = ask(server, request(server, "part/bad"))
    assert (status, headers["content-type"]) == (500, "text/plain; charset=utf-8")
    assert b"RuntimeError" in body
    assert headers["x-content-type-options"] == "nosniff"


def test_an_address_for_once_redirects_once(server: PageServer) -> None:
    path = server.address_for_once().partition(str(server.port))[2]
    line = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    status, headers, _body = ask(server, line)
    assert (status, headers["location"]) == (303, server.address)
    assert ask(server, line)[0] == 404


def test_it_listens_on_loopback_alone(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_a_token_is_long_and_new(server: PageServer) -> None:
    with PageServer(Site()) as other:
        assert other.token != server.token
        assert len(other.token) >= 32


def test_silent_connections_are_bounded(server: PageServer) -> None:
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _number in range(32)]
    try:
        # One more than are answered at once is closed.
        assert ask_or_nothing(server) == 0
        silent.pop().close()
        assert any(ask_or_nothing(server) == 200 for _again in range(200))
    finally:
        for connection in silent:
            connection.close()


def ask_or_nothing(server: PageServer) -> int:
    try:
        return ask(server, request(server))[0]
    except OSError:
        return 0
