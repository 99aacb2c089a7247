"""undwarf info --missing: what is not here, what that spoils, and what fetches it."""

import http.server
import json
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.support.commands import KERNEL, USER, Run
from tests.support.elf_builder import BUILD_ID, program
from tests.support.perfdata.build import CALLCHAIN, PLAIN, Attr, Build


def write(path: Path, *mappings: tuple[str, int, bytes], samples: list[tuple[int, ...]]) -> Path:
    """Chains of frames, innermost first, in files mapped at given addresses with given build-ids."""
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    data = [build.comm(attr, b"prog", pid=10, tid=10, time=1)]
    for name, start, build_id in mappings:
        data.append(build.mmap2(attr, name.encode(), start=start, time=2, build_id=build_id or None))
    for number, chain in enumerate(samples):
        marker = KERNEL if chain[0] >> 63 else USER
        data.append(build.sample(attr, ip=chain[0], time=1000 + number, pid=10, tid=10, chain=(marker, *chain)))
    path.write_bytes(build.file([attr], data))
    return path


def missing(undwarf: Run, path: Path, *options: str, **environment: str) -> list[dict[str, Any]]:
    done = undwarf("info", "--missing", "--json", *options, path, **environment)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["missing"]
    return found


def test_a_missing_binary(undwarf: Run, tmp_path: Path) -> None:
    path = write(
        tmp_path / "perf.data", ("/nowhere/a", 0x400000, BUILD_ID), samples=[(0x400010, 0x400020), (0x400010,)]
    )
    (one,) = missing(undwarf, path)
    assert (one["kind"], one["dso"], one["build_id"]) == ("binary", "/nowhere/a", BUILD_ID.hex())
    assert (one["samples"], one["unnamed"], one["problem"]) == (2, 2, "No such file or directory")
    assert f"debuginfod-find executable {BUILD_ID.hex()}" in one["commands"]


def test_a_binary_without_a_build_id_is_looked_for_by_path(undwarf: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", ("/nowhere/a", 0x400000, b""), samples=[(0x400010,)])
    (one,) = missing(undwarf, path)
    assert one["commands"] == ["put a copy at DIR/nowhere/a and use --symfs DIR"]


def test_the_file_that_spoils_most_comes_first(undwarf: Run, tmp_path: Path) -> None:
    few, many = ("/nowhere/few", 0x400000, b""), ("/nowhere/many", 0x500000, b"")
    path = write(tmp_path / "perf.data", few, many, samples=[(0x500010,), (0x500010, 0x400010), (0x500020,)])
    assert [(one["dso"], one["samples"]) for one in missing(undwarf, path)] == [
        ("/nowhere/many", 3),
        ("/nowhere/few", 1),
    ]


def test_files_without_samples_are_not_missed(undwarf: Run, tmp_path: Path) -> None:
    path = write(
        tmp_path / "perf.data", ("/nowhere/a", 0x400000, b""), ("/nowhere/b", 0x500000, b""), samples=[(0x400010,)]
    )
    assert [one["dso"] for one in missing(undwarf, path)] == ["/nowhere/a"]


def test_a_missing_debug_file(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(program().build())
    path = write(tmp_path / "perf.data", (f"{tmp_path}/a", 0x400000, BUILD_ID), samples=[(0x400010,)])
    (one,) = missing(undwarf, path)
    assert (one["kind"], one["dso"]) == ("debug file", f"{tmp_path}/a")
    assert f"debuginfod-find debuginfo {BUILD_ID.hex()}" in one["commands"]


def test_code_made_at_run_time_without_a_map(undwarf: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", ("//anon", 0x400000, b""), samples=[(0x400010,)])
    (one,) = missing(undwarf, path)
    assert one["kind"] == "map of compiled code"
    assert any("--perf-basic-prof" in command for command in one["commands"])


def test_a_missing_jitdump(undwarf: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", ("/nowhere/jit-10.dump", 0x400000, b""), samples=[(0x400010,)])
    assert [one["kind"] for one in missing(undwarf, path)] == ["jitdump"]


def test_a_jitdump_whose_code_nobody_could_place(undwarf: Run, tmp_path: Path) -> None:
    marker, code = ("/nowhere/jit-10.dump", 0x700000, b""), ("//anon", 0x400000, b"")
    path = write(tmp_path / "perf.data", marker, code, samples=[(0x400010,), (0x400020,)])
    found = {one["kind"]: (one["dso"], one["samples"], one["unnamed"]) for one in missing(undwarf, path)}
    assert found["jitdump"] == ("/nowhere/jit-10.dump", 2, 2)
    assert "map of compiled code" in found


def test_a_jitdump_of_a_process_that_lacks_nothing_is_not_missed(undwarf: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", ("/nowhere/jit-10.dump", 0x700000, b""), samples=[(0x400010,)])
    assert missing(undwarf, path) == []


def test_a_map_is_made_as_the_recordings_runtime_does_it(undwarf: Run, tmp_path: Path) -> None:
    program, code = ("/nowhere/python3.12", 0x500000, b""), ("//anon", 0x400000, b"")
    path = write(tmp_path / "perf.data", program, code, samples=[(0x400010, 0x500010)])
    (commands,) = (one["commands"] for one in missing(undwarf, path) if one["kind"] == "map of compiled code")
    assert [command.split()[0] for command in commands] == ["python3"]


def test_as_text(undwarf: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", ("/nowhere/a\x1b[31m", 0x400000, BUILD_ID), samples=[(0x400010,)])
    done = undwarf("info", "--missing", path)
    assert done.returncode == 0
    assert "1         1         0  binary of /nowhere/a" in done.stdout
    assert "\x1b" not in done.stdout
    assert f"→ debuginfod-find executable {BUILD_ID.hex()}" in done.stdout
    assert "undwarf info --missing --debuginfod" in done.stdout


def test_nothing_is_missing(undwarf: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", samples=[(0x400010,)])
    assert undwarf("info", "--missing", path).stdout == "Nothing is missing for the 1 samples.\n"


class Server(http.server.BaseHTTPRequestHandler):
    """Has the binary, but no debug file."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        data = program().build() if self.path.endswith("/executable") else b""
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_parts: object) -> None:
        pass


def test_debuginfod_brings_what_is_missing_and_is_asked_for_nothing_else(
    undwarf: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Server.asked.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    path = write(tmp_path / "perf.data", ("/nowhere/a", 0x400000, BUILD_ID), samples=[(0x400010,)])
    where = {
        "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}",
        "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
    }
    try:
        assert [one["kind"] for one in missing(undwarf, path, **where)] == ["binary"]
        assert Server.asked == []
        done = undwarf("info", "--missing", "--debuginfod", path, **where)
        assert "debug file of /nowhere/a" in done.stdout
        assert "note: downloading executable of /nowhere/a from 127.0.0.1" in done.stderr
        assert "note: 1 files" in done.stderr
        assert Server.asked == [f"/buildid/{BUILD_ID.hex()}/{kind}" for kind in ("executable", "debuginfo")]
        # Both the file and that there is no other are remembered.
        assert [one["kind"] for one in missing(undwarf, path, "--debuginfod", **where)] == ["debug file"]
        assert len(Server.asked) == 2
    finally:
        server.shutdown()
        server.server_close()
