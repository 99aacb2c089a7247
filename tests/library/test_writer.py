"""Recordings that programs write."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest

import undwarf

PERF = shutil.which("perf")
PROGRAM = undwarf.Mapping(0x400000, 0x402000, 0, "/usr/bin/server", build_id="ab" * 20)


def written(**options: object) -> io.BytesIO:
    sink = io.BytesIO()
    events = [undwarf.Event("requests"), undwarf.Event("cycles:u", type=0, config=0, frequency=99)]
    with undwarf.PerfDataWriter(sink, events, command=["server"], hostname="here", **options) as writer:
        writer.comm(7, 7, "server", time=1, is_exec=True)
        writer.mapping(7, PROGRAM, time=2)
        writer.fork(7, 8, 7, 7, time=3)
        writer.sample(0x400123, 7, 8, 10, cpu=1, period=5, addr=0x99, callchain=[0x400123, 0x400456])
        writer.sample(0x400200, 7, 7, 20, event=1, kernel_callchain=[0xFFFFFFFF81000010], callchain=[0x400200])
        writer.exit(7, 8, time=30)
    return io.BytesIO(sink.getvalue())


@pytest.mark.parametrize("options", [{}, {"form": "pipe"}, {"zstd_level": 1}])
def test_what_was_written_is_read(options: dict[str, object]) -> None:
    with undwarf.open(written(**options), cache=False) as recording:
        assert [event.name for event in recording.events] == ["requests", "cycles:u"]
        assert (recording.header.hostname, recording.header.cmdline) == ("here", ("server",))
        profile = recording.profile(runtime=True)
        first, second = profile.samples
        assert (first.pid, first.tid, first.cpu, first.period, first.event) == (7, 8, 1, 5, "requests")
        assert [frame.runtime for frame in first.stack] == [0x400123, 0x400456]
        assert [frame.address.is_return for frame in first.stack] == [False, True]
        assert [frame.runtime for frame in second.stack] == [0xFFFFFFFF81000010, 0x400200]
        (mapping,) = recording.mappings(7)
        assert (mapping.start, mapping.path, mapping.build_id) == (PROGRAM.start, PROGRAM.path, PROGRAM.build_id)
        assert recording.processes[7].threads == {7: "server", 8: "server"}
        assert len(recording.defects) == 0


@pytest.mark.skipif(PERF is None, reason="perf is not installed")
def test_perf_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(written().getvalue())
    command = ["perf", "script", "-F", "comm,tid,time,event,ip", "-i", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0][:2] == ["server", "8"]
    # Old versions print addresses of files without symbols less the start of their mapping.
    assert [int(line[0], 16) & 0xFFF for line in lines if len(line) == 1] == [0x123, 0x456, 0x10, 0x200]


def test_a_stack_is_unwound_later() -> None:
    folder = Path(__file__).parents[2] / "examples" / "recording"
    table = undwarf.UnwindTable.from_elf(folder / "demo" / "words")
    symbolizer = undwarf.Symbolizer(folder / "demo" / "words")
    starts = {one.symbol: one.address for one in symbolizer.lookup(table.starts)}
    sink = io.BytesIO()
    registers = ("rip", "rsp", "rbp")
    with undwarf.PerfDataWriter(sink, [undwarf.Event("stops")], registers=registers) as writer:
        writer.mapping(1, undwarf.Mapping(0x400000, 0x401000, 0, "/demo/words"))
        # At the first instruction the return address is on top of the stack.
        stack = (starts["main"] + 9).to_bytes(8, "little") + bytes(64)
        values = {"rip": starts["one_round"], "rsp": 0x7000, "rbp": 0}
        writer.sample(starts["one_round"], 1, 1, 1, registers=values, stack=stack)
        writer.sample(starts["one_round"], 1, 1, 2, callchain=[starts["one_round"]])
    with undwarf.open(io.BytesIO(sink.getvalue()), symfs=folder, cache=False) as recording:
        first, second = recording.profile().samples
    assert [frame.name for frame in first.stack][:2] == ["one_round", "main"]
    assert [frame.name for frame in second.stack] == ["one_round"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"event": 9}, "no event 9"),
        ({"pid": -1 << 40}, "argument out of range|format requires"),
        ({"callchain": range(10_000)}, "a record of"),
    ],
)
def test_what_does_not_fit_is_an_error(change: dict[str, object], why: str) -> None:
    writer = undwarf.PerfDataWriter(io.BytesIO(), [undwarf.Event("requests")])
    writer.sample(1, 1, 1, 1)
    with pytest.raises(undwarf.UsageError, match=why):
        writer.sample(**{"ip": 1, "pid": 1, "tid": 1, "time": 1, **change})  # type: ignore[arg-type]


def test_recordings_without_events_are_refused() -> None:
    with pytest.raises(undwarf.UsageError, match="at least one event"):
        undwarf.PerfDataWriter(io.BytesIO(), [])


def test_unknown_registers_are_refused() -> None:
    with pytest.raises(undwarf.UsageError, match="no register 'eax'"):
        undwarf.PerfDataWriter(io.BytesIO(), [undwarf.Event("stops")], registers=["eax"])


def test_a_writer_that_fails_leaves_what_was_written() -> None:
    sink = io.BytesIO()
    with pytest.raises(RuntimeError), undwarf.PerfDataWriter(sink, [undwarf.Event("requests")]) as writer:
        writer.sample(0x1000, 1, 1, 1, callchain=[0x1000])
        raise RuntimeError
    with undwarf.open(io.BytesIO(sink.getvalue()), cache=False) as recording:
        assert len(recording.profile().samples) == 1
