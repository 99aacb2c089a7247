"""debuginfod: a real server of the distribution, and servers that misbehave, all on this machine."""

import http.server
import os
import shutil
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.support.elf_builder import BUILD_ID, program

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.images import Finder

# Private: a test has no server of https, from which redirections are refused.
from undwarf.images.debuginfod import Debuginfod, Settings, _Failure, _redirected, servers
from undwarf.images.local_caches import cached, debuginfod_cache

HEX = BUILD_ID.hex()
Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


CLIENTS: list[Debuginfod] = []


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield
    while CLIENTS:
        CLIENTS.pop().close()


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """A server that answers every request by ``answer``; its address, and the paths it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            with suppress(OSError):
                answer(self)

        def log_message(self, *_parts: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def sends(data: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(data)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def client(cache: Path, *urls: str, **options: object) -> Debuginfod:
    settings = {"timeout": 5, "retries": 0, **options}
    CLIENTS.append(Debuginfod(Settings(urls, str(cache / "cache"), **settings)))
    return CLIENTS[-1]


def kinds(defects: Defects) -> list[str]:
    return [defect.kind for defect in defects]


def complaint(one: Debuginfod) -> str:
    return next(iter(one.defects)).detail


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in (cache / "cache").glob(f"{HEX}/*")]


# What the cache looks like ---------------------------------------------------------------------------------


def test_a_file_is_fetched_once_and_kept_where_elfutils_keeps_it(tmp_path: Path) -> None:
    data = program().build()
    with serving(sends(data, Last_Modified="Tue, 02 Jan 2024 03:04:05 GMT")) as (url, asked):
        path = client(tmp_path, url).debuginfo(BUILD_ID)
        again = client(tmp_path, url).debuginfo(BUILD_ID)
    assert asked == [f"/buildid/{HEX}/debuginfo"]
    assert path == again == str(tmp_path / "cache" / HEX / "debuginfo")
    assert Path(path).read_bytes() == data
    status = Path(path).stat()
    assert stat.S_IMODE(status.st_mode) == 0o400
    assert status.st_mtime == 1704164645


def test_what_no_server_has_is_an_empty_file_for_ten_minutes(tmp_path: Path) -> None:
    with serving(sends(b"", 404)) as (one, asked), serving(sends(b"", 404)) as (two, _):
        assert client(tmp_path, one, two).executable(BUILD_ID) == ""
        assert client(tmp_path, one, two).executable(BUILD_ID) == ""
        miss = tmp_path / "cache" / HEX / "executable"
        assert miss.stat().st_size == 0
        assert len(asked) == 1
        assert (tmp_path / "cache" / "cache_miss_s").read_text() == "600"
        old = time.time() - 601
        os.utime(miss, (old, old))
        assert client(tmp_path, one, two).executable(BUILD_ID) == ""
    assert len(asked) == 2


def test_a_failure_is_no_proof_that_the_file_is_not_there(tmp_path: Path) -> None:
    with serving(sends(b"", 404)) as (one, _), serving(sends(b"", 500)) as (two, _):
        assert client(tmp_path, one, two).debuginfo(BUILD_ID) == ""
    assert leftovers(tmp_path) == []


def test_the_users_time_for_misses_counts(tmp_path: Path) -> None:
    with serving(sends(b"", 404)) as (url, asked):
        client(tmp_path, url).debuginfo(BUILD_ID)
        (tmp_path / "cache" / "cache_miss_s").write_text("0")
        past = time.time() - 5
        os.utime(tmp_path / "cache" / HEX / "debuginfo", (past, past))
        client(tmp_path, url).debuginfo(BUILD_ID)
    assert len(asked) == 2


def test_files_that_nobody_read_for_a_week_are_removed(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old = time.time() - 8 * 86400
    for name in ("aa11/debuginfo", "aa11/notes.txt", "bb22/executable", "my-folder/debuginfo"):
        path = cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (old, old))
    os.utime(cache / "bb22" / "executable")
    (cache / "cache_clean_interval_s").write_text("86400")
    os.utime(cache / "cache_clean_interval_s", (old, old))
    with serving(sends(b"", 404)) as (url, _):
        client(tmp_path, url).debuginfo(BUILD_ID)
    left = sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file() and path.stat().st_size)
    assert left == [
        "aa11/notes.txt", "bb22/executable", "cache_clean_interval_s", "max_unused_age_s", "my-folder/debuginfo",
    ]  # fmt: skip  # a table


def test_elfutils_own_client_finds_what_we_fetched(tmp_path: Path) -> None:
    program_ = shutil.which("debuginfod-find")
    if not program_:
        pytest.skip("debuginfod-find is not installed")
    with serving(sends(program().build())) as (url, _):
        path = client(tmp_path, url).debuginfo(BUILD_ID)
    environment = {
        **os.environ,
        "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
        "DEBUGINFOD_URLS": "http://0.0.0.0:1",
    }
    done = subprocess.run(
        [program_, "debuginfo", HEX], capture_output=True, text=True, env=environment, timeout=30, check=True
    )
    assert done.stdout.strip() == path


def test_damage_in_the_cache_is_fetched_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache" / HEX / "debuginfo"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not an ELF file")
    with serving(sends(program().build())) as (url, _):
        assert client(tmp_path, url).debuginfo(BUILD_ID) == str(path)
    assert ElfFile.open(path).build_id == BUILD_ID


# Servers that misbehave ------------------------------------------------------------------------------------


def test_a_file_with_another_build_id_is_refused(tmp_path: Path) -> None:
    with serving(sends(program(build_id=b"\xee" * 20).build())) as (url, _):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
    assert kinds(one.defects) == ["debuginfod server failed"]
    assert "does not carry the build-id" in complaint(one)
    assert leftovers(tmp_path) == []


def test_the_next_server_is_asked_when_one_sends_rubbish(tmp_path: Path) -> None:
    with serving(sends(b"rubbish")) as (bad, _), serving(sends(program().build())) as (good, _):
        one = client(tmp_path, bad, good)
        assert one.debuginfo(BUILD_ID)
    assert [load.server for load in one.downloads] == [good]


def test_an_endless_answer_ends_at_the_size_limit(tmp_path: Path) -> None:
    def endless(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"\x7fELF" * 4096)

    with serving(endless) as (url, _):
        one = client(tmp_path, url, max_size=1 << 20)
        assert one.debuginfo(BUILD_ID) == ""
    assert "more than the limit of 1,048,576 bytes" in complaint(one)
    assert leftovers(tmp_path) == []


def test_a_file_announced_as_too_large_is_not_begun(tmp_path: Path) -> None:
    with serving(sends(b"", Content_Length=str(1 << 40))) as (url, _):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
    assert "more than the limit" in complaint(one)


def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    with serving(lambda _handler: time.sleep(3)) as (url, _):
        one = client(tmp_path, url, timeout=1)
        assert one.debuginfo(BUILD_ID) == ""
    # Whichever clock strikes first: the socket's, or that of the whole answer a tenth later.
    assert any(reason in complaint(one) for reason in ("timed out", "fewer than 100 KB came in 1 s"))


def test_a_server_that_sends_drop_by_drop_is_given_up(tmp_path: Path) -> None:
    def drip(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(40):
            handler.wfile.write(b"x")
            time.sleep(0.1)

    with serving(drip) as (url, _):
        one = client(tmp_path, url, timeout=1)
        assert one.debuginfo(BUILD_ID) == ""
    assert "fewer than 100 KB came in 1 s" in complaint(one)


def test_the_time_for_one_file_is_bounded(tmp_path: Path) -> None:
    def steady(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(40):
            handler.wfile.write(b"x" * 200_000)
            time.sleep(0.1)

    with serving(steady) as (url, _):
        one = client(tmp_path, url, max_time=1)
        assert one.debuginfo(BUILD_ID) == ""
    assert "took longer than 1 s" in complaint(one)


def test_a_compressed_answer_is_refused(tmp_path: Path) -> None:
    with serving(sends(b"\x1f\x8b", Content_Encoding="gzip")) as (url, _):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
    assert "compressed" in complaint(one)


def test_redirections_stay_on_their_host(tmp_path: Path) -> None:
    with serving(sends(program().build())) as (good, asked):
        port = good.rpartition(":")[2]
        with serving(sends(b"", 302, Location=f"http://localhost:{port}/x")) as (bad, _):
            one = client(tmp_path, bad)
            assert one.debuginfo(BUILD_ID) == ""
        assert "redirects to another host, localhost" in complaint(one)
    assert asked == []


def test_redirections_stay_on_their_port(tmp_path: Path) -> None:
    with (
        serving(sends(program().build())) as (other, asked),
        serving(sends(b"", 302, Location=f"{other}/x")) as (url, _),
    ):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
        assert f"redirects to another port, {other.rpartition(':')[2]}" in complaint(one)
    assert asked == []


def test_redirections_on_one_server_are_followed(tmp_path: Path) -> None:
    answers = [sends(b"", 302, Location="/x"), sends(program().build())]
    with serving(lambda handler: answers.pop(0)(handler)) as (url, asked):
        assert client(tmp_path, url).debuginfo(BUILD_ID)
    assert asked == [f"/buildid/{HEX}/debuginfo", "/x"]


@pytest.mark.parametrize(
    ("here", "there", "follows"),
    [
        ("http://host/a", "https://host/b", True),
        ("http://host:80/a", "https://host:443/b", True),
        ("http://host/a", "https://host:8443/b", False),
        ("http://host:8002/a", "https://host/b", False),
        ("https://host/a", "https://host:443/b", True),
        ("https://host/a", "http://host/b", False),
        ("https://host/a", "https://host:0x1/b", False),
    ],
)
def test_where_a_redirection_may_point_to(here: str, there: str, follows: bool) -> None:
    if follows:
        assert _redirected(here, there) == there
    else:
        with pytest.raises((_Failure, ValueError)):
            _redirected(here, there)


def for_ever(piece: bytes, start: bytes = b"", pause: float = 0.1) -> Answer:
    """An answer that never ends, in pieces that each come before any timeout."""

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(start)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            handler.wfile.write(piece)
            time.sleep(pause)

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        for_ever(b"HTTP/1.1 100 Continue\r\n\r\n"),
        for_ever(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0),
        for_ever(b"x", b"HTTP/1.1 200 OK\r\nName: "),
        for_ever(b"x", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"),
        for_ever(b"x", b"HTTP/1.1 200 OK\r\n\r\n"),
        for_ever(b"", b""),
    ],
    ids=["continue", "many-continues", "header", "chunk-extension", "body", "nothing"],
)
def test_an_answer_that_never_ends_ends_with_the_timeout(tmp_path: Path, answer: Answer) -> None:
    with serving(answer) as (url, _):
        one = client(tmp_path, url, timeout=1)
        started = time.monotonic()
        assert one.debuginfo(BUILD_ID) == ""
        assert time.monotonic() - started < 5
    assert kinds(one.defects) == ["debuginfod server failed"]
    assert threading.active_count() < 20


def test_a_server_is_asked_again_over_the_connection_it_keeps_open(tmp_path: Path) -> None:
    connections = set()

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        connections.add(handler.client_address)
        handler.protocol_version, handler.close_connection = "HTTP/1.1", False
        sends(program().build())(handler)

    with serving(answer) as (url, asked):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID)
        assert one.executable(BUILD_ID)
        assert (len(connections), len(asked)) == (1, 2)


@pytest.mark.parametrize("place", ["file:///etc/passwd", "", "ftp://127.0.0.1/x"])
def test_redirections_lead_to_web_addresses(tmp_path: Path, place: str) -> None:
    with serving(sends(b"", 302, Location=place)) as (url, _):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
    assert kinds(one.defects) == ["debuginfod server failed"]


def test_redirections_in_a_circle_end(tmp_path: Path) -> None:
    with serving(sends(b"", 302, Location="/again")) as (url, asked):
        assert client(tmp_path, url).debuginfo(BUILD_ID) == ""
    assert len(asked) == 6


def test_a_failure_is_tried_again_and_may_be_mended(tmp_path: Path) -> None:
    answers = [sends(b"", 503), sends(program().build())]
    with serving(lambda handler: answers.pop(0)(handler)) as (url, asked):
        assert client(tmp_path, url, retries=2).debuginfo(BUILD_ID)
    assert len(asked) == 2


def test_a_server_that_keeps_failing_is_not_asked_again(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    one = client(tmp_path, url)
    for number in range(5):
        assert one.debuginfo(bytes([number]) * 20) == ""
    assert [(defect.kind, defect.count) for defect in one.defects] == [
        ("debuginfod server failed", 2),
        ("debuginfod server not used again", 1),
    ]


def test_ids_too_short_or_too_long_are_not_asked_for(tmp_path: Path) -> None:
    with serving(sends(b"", 404)) as (url, asked):
        one = client(tmp_path, url)
        assert [one.debuginfo(build_id) for build_id in (b"", b"a", b"a" * 65)] == ["", "", ""]
    assert asked == []


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    data = program().build()
    with serving(sends(data)) as (url, _):
        one = client(tmp_path, url)
        one.report = lambda *what: told.append(what)
        one.debuginfo(BUILD_ID, "/bin/a")
    assert told[-1] == ("downloading debuginfo of /bin/a from 127.0.0.1", len(data), len(data))


def test_an_unwritable_cache_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with serving(sends(program().build())) as (url, asked):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
    assert kinds(one.defects) == ["debuginfod cache cannot be used"]
    assert asked == []


# Settings --------------------------------------------------------------------------------------------------


def test_servers_come_from_the_variable() -> None:
    text = "http://a/ ima:enforcing https://b/x/ http://a file:///srv"
    assert servers({"DEBUGINFOD_URLS": text}) == ("http://a", "https://b/x")


def test_servers_of_the_distribution_count_where_the_variable_is_not_set(tmp_path: Path) -> None:
    (tmp_path / "elfutils.urls").write_text("https://debuginfod.example/\n")
    (tmp_path / "other.txt").write_text("https://no.example/\n")
    assert servers({}, str(tmp_path)) == ("https://debuginfod.example",)
    assert servers({"DEBUGINFOD_URLS": ""}, str(tmp_path)) == ()


def test_settings_are_those_of_elfutils(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text("X-Token: secret\nno header\n")
    found = Settings.from_environment(
        {
            "DEBUGINFOD_URLS": "http://a",
            "DEBUGINFOD_CACHE_PATH": "/c",
            "DEBUGINFOD_TIMEOUT": "7",
            "DEBUGINFOD_MAXTIME": "8",
            "DEBUGINFOD_MAXSIZE": "9",
            "DEBUGINFOD_RETRY_LIMIT": "x",
            "DEBUGINFOD_HEADERS_FILE": str(tmp_path / "headers"),
        }
    )
    assert found == Settings(("http://a",), "/c", 7, 8, 9, 2, (("X-Token", "secret"),))


def test_the_place_of_the_cache(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert debuginfod_cache({}) == ""
    assert debuginfod_cache({"HOME": home}) == f"{home}/.cache/debuginfod_client"
    assert debuginfod_cache({"HOME": home, "XDG_CACHE_HOME": "/x"}) == "/x/debuginfod_client"
    (tmp_path / ".debuginfod_client_cache").mkdir()
    assert debuginfod_cache({"HOME": home, "XDG_CACHE_HOME": "/x"}) == f"{home}/.debuginfod_client_cache"
    assert debuginfod_cache({"HOME": home, "DEBUGINFOD_CACHE_PATH": "/y"}) == "/y"


# The finder ------------------------------------------------------------------------------------------------


def finder(tmp_path: Path, *urls: str) -> Finder:
    return Finder(debug_dirs=(), buildid_dir=str(tmp_path / "none"), debuginfod=client(tmp_path, *urls))


def test_a_missing_binary_and_its_debug_file_come_from_the_server(tmp_path: Path) -> None:
    with serving(sends(program().build())) as (url, asked):
        use = finder(tmp_path, url)
        elf, problem = use.binary("/nowhere/a", BUILD_ID)
        assert elf is not None
        assert problem == ""
        assert use.debug_file(elf, "/nowhere/a") is not None
    assert [path.rpartition("/")[2] for path in asked] == ["executable", "debuginfo"]


def test_nothing_is_fetched_for_what_is_here(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program().build())
    with serving(sends(program().build())) as (url, asked):
        assert finder(tmp_path, url).binary(str(tmp_path / "a"), BUILD_ID)[0] is not None
    assert asked == []


def test_nothing_is_fetched_without_a_build_id(tmp_path: Path) -> None:
    with serving(sends(program().build())) as (url, asked):
        assert finder(tmp_path, url).binary("/nowhere/a", b"")[0] is None
    assert asked == []


def test_without_a_client_the_cache_serves_but_the_network_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    with serving(sends(program().build())) as (url, asked):
        monkeypatch.setenv("DEBUGINFOD_URLS", url)
        use = Finder(debug_dirs=(), buildid_dir="")
        assert use.binary("/nowhere/a", BUILD_ID)[0] is None
        assert asked == []
        client(tmp_path, url).executable(BUILD_ID)
        assert use.binary("/nowhere/a", BUILD_ID)[0] is not None
    assert cached(str(tmp_path / "cache"), BUILD_ID, "executable")


# A real server ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """(address, directory of the programs it knows) of the distribution's debuginfod."""
    program_, compiler, objcopy = (shutil.which(name) for name in ("debuginfod", "gcc", "objcopy"))
    if not program_ or not compiler or not objcopy:
        pytest.skip("debuginfod, gcc or objcopy is not installed")
    folder = tmp_path_factory.mktemp("debuginfod")
    (folder / "files").mkdir()
    (folder / "a.c").write_text(
        "int hidden(int x) { return x + 1; }\nint main(int c, char **v) { return hidden(c); }\n"
    )
    whole, bare, debug = (folder / "files" / name for name in ("whole", "a", "a.debug"))
    subprocess.run([compiler, "-g", "-O0", "-Wl,--build-id", "-o", whole, folder / "a.c"], check=True)
    subprocess.run([objcopy, "--only-keep-debug", whole, debug], check=True)
    subprocess.run([objcopy, "--strip-all", whole, bare], check=True)
    whole.unlink()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DEBUGINFOD")}
    server = subprocess.Popen(
        [program_, "-d", ":memory:", "-F", "-p", str(port), "-t", "1", str(folder / "files")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    url = f"http://127.0.0.1:{port}"
    build_id = ElfFile.open(bare).build_id
    try:
        import httpx

        for _ in range(150):
            with suppress(httpx.HTTPError):
                base = f"{url}/buildid/{build_id.hex()}"
                if all(httpx.get(f"{base}/{kind}").status_code == 200 for kind in ("executable", "debuginfo")):
                    break
            time.sleep(0.1)
        else:
            pytest.skip("debuginfod does not start here")
        yield url, folder / "files"
    finally:
        server.terminate()
        server.wait()


def test_a_real_server_serves_binary_and_debug_file(real_server: tuple[str, Path], tmp_path: Path) -> None:
    url, files = real_server
    build_id = ElfFile.open(files / "a").build_id
    use = finder(tmp_path, url)
    elf, _ = use.binary("/nowhere/a", build_id)
    assert elf is not None
    assert bytes(elf.data) == (files / "a").read_bytes()
    debug = use.debug_file(elf, "/nowhere/a")
    assert debug is not None
    assert bytes(debug.data) == (files / "a.debug").read_bytes()
    assert not list(use.defects)


def test_a_real_server_says_what_it_does_not_have(real_server: tuple[str, Path], tmp_path: Path) -> None:
    use = finder(tmp_path, real_server[0])
    assert use.binary("/nowhere/a", b"\x99" * 20) == (None, "No such file or directory")
    assert not list(use.defects)
    assert (tmp_path / "cache" / ("99" * 20) / "executable").stat().st_size == 0


def test_our_file_is_that_of_elfutils_client(real_server: tuple[str, Path], tmp_path: Path) -> None:
    tool = shutil.which("debuginfod-find")
    if not tool:
        pytest.skip("debuginfod-find is not installed")
    url, files = real_server
    build_id = ElfFile.open(files / "a").build_id
    environment = {**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "theirs")}
    theirs = subprocess.run(
        [tool, "debuginfo", build_id.hex()], capture_output=True, text=True, env=environment, check=True
    ).stdout.strip()
    ours = client(tmp_path, url).debuginfo(build_id)
    assert Path(ours).read_bytes() == Path(theirs).read_bytes()
    assert Path(ours).relative_to(tmp_path / "cache") == Path(theirs).relative_to(tmp_path / "theirs")
    assert Path(ours).stat().st_mode == Path(theirs).stat().st_mode
    assert int(Path(ours).stat().st_mtime) == int(Path(theirs).stat().st_mtime)


# Whose cache it is -------------------------------------------------------------------------------------------


def test_a_build_ids_directory_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / HEX).symlink_to(tmp_path / "other")
    with serving(sends(program().build())) as (url, asked):
        one = client(tmp_path, url)
        assert one.debuginfo(BUILD_ID) == ""
    assert asked == []
    assert list((tmp_path / "other").iterdir()) == []
    assert kinds(one.defects) == ["debuginfod cache cannot be used"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_build_ids_directory_of_another_user_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "cache" / HEX).mkdir(parents=True)
    os.chown(tmp_path / "cache" / HEX, 12345, 12345)
    with serving(sends(program().build())) as (url, asked):
        assert client(tmp_path, url).debuginfo(BUILD_ID) == ""
    assert asked == []


def test_nothing_is_removed_where_a_directory_of_the_cache_points(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "debuginfo").write_bytes(b"theirs")
    os.utime(other / "debuginfo", (0, 0))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / ("ab" * 20)).symlink_to(other)
    (tmp_path / "cache" / "cache_clean_interval_s").write_text("0")
    with serving(sends(b"", 404)) as (url, _):
        client(tmp_path, url).debuginfo(BUILD_ID)
    assert (other / "debuginfo").read_bytes() == b"theirs"


def test_a_cache_that_is_a_link_of_our_own_is_used(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    with serving(sends(program().build())) as (url, _):
        assert client(tmp_path, url).debuginfo(BUILD_ID)
    assert (tmp_path / "disk" / HEX / "debuginfo").exists()
