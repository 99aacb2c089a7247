"""Recordings written again with whole chains: nothing but registers and dumps is gone."""

import io
import struct
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.perfdata import build, writing

import undwarf
from undwarf.api import open_recording
from undwarf.column import zeros
from undwarf.perfdata import SampleField
from undwarf.perfdata.record_writer import RecordEncoder, finished_round, record
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.chain_rewriter import at_their_calls

DUMP = int(SampleField.REGS_USER | SampleField.STACK_USER)
FIELDS = writing.FIELDS | DUMP | int(SampleField.RAW | SampleField.WEIGHT)
EVENT = writing.event(
    sample_type=FIELDS, sample_regs_user=0x1C0, sample_stack_user=16, ids=(1,), flags=1 << 18 | 1 << 22
)
RECORDS = RecordEncoder(EVENT)
KERNEL = 2**64 - 128


def sample(time: int, ip: int = 0x400100, *, chain: tuple[int, ...] = (), dump: bool = True) -> bytes:
    body = struct.pack("=QQIIQIIQ", 1, ip, 10, 10, time, 0, 0, 1) + struct.pack(
        f"={1 + len(chain)}Q", len(chain), *chain
    )
    body += struct.pack("=I12s", 12, b"raw bytes...")
    body += struct.pack("=8Q", 2, 0, 0x7F0000, ip, 16, 0x7F0010, 0x400777, 16) if dump else struct.pack("=2Q", 0, 0)
    return record(9, body + struct.pack("=Q", 99), 2)


def source(*records: bytes) -> bytes:
    sink = io.BytesIO()
    with PerfWriter(sink, [EVENT], features=writing.features([EVENT])) as writer:
        writer.write(RECORDS.comm(b"prog", 10, 10, exec_=True, time=10))
        writer.write(RECORDS.mmap2(b"/bin/one", 10, 10, 0x400000, 0x10000, time=20))
        writer.write(RECORDS.mmap2(b"/bin/one", 10, 10, 0x500000, 0x1000, protection=1, time=21))
        for one in records:
            writer.write(one)
        writer.write(finished_round())
    return sink.getvalue()


class SideBand(NamedTuple):
    kind: str
    time: int
    pid: int
    tid: int
    name: bytes


def _side_band(recording) -> list[SideBand]:
    side, names = recording.records.sideband, recording.records.names
    rows = zip(side.kind, side.time, side.pid, side.tid, side.name, strict=True)
    return [SideBand(SidebandKind(kind).name, time, pid, tid, names[name]) for kind, time, pid, tid, name in rows]


@pytest.fixture
def shrunk(tmp_path: Path):
    """Shrinks bytes and opens what came out."""
    opened = []

    def run(data: bytes, **options):
        path, target = tmp_path / "perf.data", tmp_path / "small.data"
        path.write_bytes(data)
        with open_recording(path) as recording, target.open("wb") as sink:
            opened.append(recording.shrink(sink, **options))
        opened.append(open_recording(target))
        return opened[-1], opened[-2]

    yield run
    for one in opened:
        if hasattr(one, "close"):
            one.close()


@pytest.mark.parametrize("options", [{}, {"zstd_level": 3}, {"form": "pipe"}, {"form": "pipe", "zstd_level": 1}])
def test_registers_and_stack_go_and_all_else_stays(shrunk, options):
    recording, _done = shrunk(source(sample(100), sample(110, 0x400200)), **options)
    (event,) = recording.events
    assert event.sample_type == FIELDS & ~DUMP
    assert (event.sample_regs_user, event.sample_stack_user, event.ids) == (0, 0, (1,))
    samples = recording.records.samples
    assert samples.time.tolist() == [100, 110]
    assert samples.weight.tolist() == [99, 99]
    with recording.data.window(samples.position[0], 4096) as view:
        at = samples.raw_at[0]
        assert bytes(view[at + 4 : at + 16]) == b"raw bytes..."
    assert recording.header.hostname == "vm"
    assert recording.header.version.startswith("undwarf ")
    assert recording.header.version.endswith("of perf test")
    assert recording.header.cmdline == ["undwarf", "record"]


def test_stacks_and_the_reasons_they_end_are_the_same(shrunk, tmp_path):
    recording, _done = shrunk(source(sample(100), sample(110, 0x400200, chain=(KERNEL, 2**64 - 2**20))))
    with open_recording(tmp_path / "perf.data") as before:
        first, second = before.profile(runtime=True), recording.profile(runtime=True)
    assert [one.stop for one in first.samples] == [one.stop for one in second.samples] != [0, 0]
    for one, other in zip(first.samples, second.samples, strict=True):
        assert [frame.runtime for frame in one.stack] == [frame.runtime for frame in other.stack] != []


def test_mappings_of_data_go_where_no_sample_has_an_address(shrunk):
    recording, _done = shrunk(source(sample(100)))
    assert recording.records.counts["MMAP2"] == 1


def test_a_sample_without_a_dump_keeps_its_own_chain(shrunk):
    user = (2**64 - 512, 0x400100, 0x400200)
    recording, _done = shrunk(source(sample(100, chain=user, dump=False)))
    samples = recording.records.samples
    with recording.data.window(samples.position[0], 4096) as view:
        assert struct.unpack_from("=4Q", view, samples.callchain_at[0]) == (3, *user)
    assert recording.profile().samples[0].stop == undwarf.StopReason.NO_DUMP


def test_a_damaged_sample_is_left_out_and_counted(shrunk):
    broken = sample(105)[:-40]
    broken = record(9, broken[8:], 2)
    recording, done = shrunk(source(sample(100), broken, sample(110)))
    assert recording.records.samples.time.tolist() == [100, 110]
    assert done.dropped == 1


def test_filters_leave_samples_out(shrunk):
    from undwarf.profile.filters import Filters

    recording, _done = shrunk(source(sample(100), sample(110)), filters=Filters(start=105))
    assert recording.records.samples.time.tolist() == [110]


def test_a_kernel_callers_address_is_its_call_at_a_function_end():
    columns = {name: zeros("Q", 4) for name in ("address", "runtime", "provenance")}
    for frame, (address, runtime, kind) in enumerate([(9, 10, 16), (10, 10, 16), (9, 10, 17), (10, 11, 16)]):
        columns["address"][frame], columns["runtime"][frame], columns["provenance"][frame] = address, runtime, kind
    at_their_calls(columns, lambda address: address == 10)
    assert columns["runtime"].tolist() == [9, 10, 10, 11]


def test_a_name_comes_again_before_samples_of_a_thread_whose_exit_was_told(shrunk):
    data = source(sample(100), RECORDS.exit(10, 10, 1, 1, time=105), sample(110), sample(120))
    recording, _done = shrunk(data)
    kinds = [record.kind for record in _side_band(recording)]
    assert kinds == ["COMM", "MMAP", "EXIT", "COMM"]
    last = _side_band(recording)[-1]
    assert (last.time, last.pid, last.tid, last.name) == (110, 10, 10, b"prog")


@pytest.mark.parametrize("number", [255, 256, 2**40])
def test_a_stream_s_section_of_any_number_can_be_read(shrunk, number):
    recording, _done = shrunk(writing.recording(form="pipe") + record(80, struct.pack("=QQ", number, 0)))
    assert recording.data.features.version.startswith("undwarf ")
    assert (number in recording.data.features.raw) == (number < 256)


def test_a_recording_without_records_is_finished(shrunk):
    nothing = io.BytesIO()
    with PerfWriter(nothing, [EVENT], features=writing.features([EVENT]), form="pipe"):
        pass
    recording, _done = shrunk(nothing.getvalue())
    assert recording.records.samples.count == 0
    assert not list(recording.defects)


def test_trace_data_is_left_out(shrunk):
    trace = record(71, struct.pack("=QQQIIII", 16, 0, 0, 0, 0, 0, 0)) + bytes(16)
    recording, _done = shrunk(source(sample(100), trace, sample(110)))
    assert recording.records.samples.count == 2
    assert "AUXTRACE" not in recording.records.counts


def test_shrinking_what_was_shrunk_changes_nothing(shrunk, tmp_path):
    shrunk(source(sample(100), sample(110)))
    once = (tmp_path / "small.data").read_bytes()
    shrunk(once)
    assert (tmp_path / "small.data").read_bytes() == once


def test_a_big_endian_recording_becomes_native(shrunk):
    big = build.Build(">")
    attr = build.Attr(sample_type=build.PLAIN | build.CALLCHAIN, ids=[5])
    data = big.file([attr], [big.sample(attr, chain=(2**64 - 512, 0x400000))], {3: big.string("host")})
    recording, _done = shrunk(data)
    assert recording.data.byte_order == "little"
    assert recording.records.samples.ip.tolist() == [0x400000]
    assert recording.header.hostname == "host"
