"""The writer: what it writes is what was meant, to our reader and to perf."""

import io
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.support.perfdata import writing

from undwarf.perfdata import RecordType, SidebandKind
from undwarf.perfdata.events import encode_attr, parse_attr
from undwarf.perfdata.feature_writer import encode_features
from undwarf.perfdata.record_writer import RecordEncoder, record
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.sample_writer import Emitter

FORMS = [("file", 0), ("file", 3), ("pipe", 0), ("pipe", 3)]


@pytest.mark.parametrize(("form", "level"), FORMS)
def test_every_form_reads_back(opened, form, level):
    data = opened(writing.recording(form, level))
    records = data.records()
    assert not list(data.defects)
    assert records.samples.count == 3
    assert records.samples.time.tolist() == [1000, 1001, 1002]
    assert records.samples.ip.tolist() == [0x400123] * 3
    assert records.samples.cpu.tolist() == [0, 1, 0]
    kinds = [SidebandKind(kind) for kind in records.sideband.kind]
    assert kinds == [SidebandKind.COMM, SidebandKind.MMAP, SidebandKind.MMAP, *map(SidebandKind, (3, 4, 11))]
    assert records.lost == 5
    assert {identity.build_id for identity in records.identities} == {b"", writing.BUILD_ID}
    assert data.features.hostname == "vm"
    assert data.features.cmdline == ["undwarf", "record"]
    assert [event.name for event in data.events] == ["cpu-clock", "dummy:u"]
    assert [event.ids for event in data.events] == [(1, 2), (3, 4)]
    assert data.features.build_ids[0].build_id == writing.BUILD_ID


@pytest.mark.parametrize(("form", "level"), FORMS)
def test_perf_reads_every_form_without_complaint(tmp_path: Path, form, level):
    perf = shutil.which("perf")
    if not perf:
        pytest.skip("perf is not installed")
    path = tmp_path / "perf.data"
    path.write_bytes(writing.recording(form, level))
    done = subprocess.run(
        [perf, "script", "-i", str(path), "-F", "comm,tid,time,event,ip", "--ns"], capture_output=True, text=True
    )
    complaints = [line for line in done.stderr.splitlines() if line.strip() and "lost" not in line]
    assert not [line for line in complaints if "IO/CPU" not in line and "Warning" not in line]
    assert done.stdout.split()[:4] == ["prog", "10", "0.000001000:", "cpu-clock:"]
    # perf shows addresses of files it cannot open as offsets into them.
    shown = [int(line.split()[0], 16) & ~0x400000 for line in done.stdout.splitlines()[1:5]]
    assert shown == [0xFFFFFFFF81000020 & ~0x400000, 0xFFFFFFFF81000010 & ~0x400000, 0x20, 0x10]


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_more_ids_than_a_record_holds(opened, form):
    event = writing.event(ids=tuple(range(1, 9001)))
    sink = io.BytesIO()
    with PerfWriter(sink, [event], features=writing.features([event]), form=form) as writer:
        writer.write(RecordEncoder(event).comm(b"prog", 10, 10))
    data = opened(sink.getvalue())
    assert data.events[0].ids[:8000] == event.ids[:8000]
    assert (len(data.events[0].ids) == 9000) is (form == "file")


class Sparse(io.RawIOBase):
    """A file that keeps what is small, by its place."""

    def __init__(self) -> None:
        self.at = self.size = 0
        self.kept: dict[int, bytes] = {}

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, at: int, whence: int = 0) -> int:
        self.at = at if whence == 0 else self.size + at
        return self.at

    def write(self, data: object) -> int:
        view = memoryview(data)
        if len(view) < 1 << 16:
            self.kept[self.at] = bytes(view)
        self.at += len(view)
        self.size = max(self.size, self.at)
        return len(view)


def test_what_lies_beyond_4_gb_has_its_place():
    sink = Sparse()
    event = writing.event()
    with PerfWriter(sink, [event], features=writing.features([event])) as writer:
        block = record(RecordType.FINISHED_ROUND) * (8 << 20)
        for _ in range(72):
            writer.write(block)
    start, size = struct.unpack_from("=QQ", sink.kept[0], 40)
    assert size == 72 * len(block) > 1 << 32
    table = sink.kept[start + size]
    place, length = struct.unpack_from("=QQ", table)
    assert place > 1 << 32
    # The first section is the build-ids'.
    assert writing.BUILD_ID in table[place - start - size :][:length]


def test_a_chain_has_the_markers_of_kernel_and_user(opened):
    data = opened(writing.recording())
    samples = data.records().samples
    with data.window(samples.position[0], 4096) as view:
        count, *ips = struct.unpack_from("=7Q", view, samples.callchain_at[0])
    assert count == 6
    marks = [0xFFFFFFFFFFFFFF80, 0xFFFFFFFF81000020, 0xFFFFFFFF81000010, 0xFFFFFFFFFFFFFE00, 0x400020, 0x400010]
    assert ips == marks


@pytest.mark.parametrize("level", [0, 3])
def test_what_is_not_finished_can_be_read(opened, level):
    data = opened(writing.recording(level=level, finish=False))
    assert data.records().samples.count == 3
    assert [defect.kind for defect in data.defects] == ["recording was not finished"]


def test_compressed_records_of_any_number_come_back(opened):
    whole = writing.recording(level=3, count=20_000)
    data = opened(whole)
    assert data.records().samples.count == 20_000
    assert len(whole) < 400_000


def test_a_sink_that_takes_little_gets_everything():
    sink = writing.OneByteAtATime()
    described = writing.events()
    writer = PerfWriter(io.BufferedWriter(sink, 1), described, form="pipe")
    writer.write(record(RecordType.FINISHED_ROUND) * 100)
    writer.finish()
    assert bytes(sink.data).endswith(record(RecordType.FINISHED_ROUND) * 100)


def test_an_attribute_reads_back():
    event = writing.event(
        "mem:0x10:rw", (), type=5, bp_type=3, config1=16, config2=8, clockid=1, flags=1 << 25, freq=False,
        sample_id_all=False, sample_regs_user=0xFF0FFF, sample_stack_user=8192, sample_max_stack=33, config3=9,
    )  # fmt: skip  # rows of fields
    raw = encode_attr(event)
    assert struct.unpack_from("=I", raw, 4)[0] == len(raw) == 136
    again = parse_attr(raw, "little")
    assert {name: getattr(again, name) for name in event.__slots__ if name != "name"} == {
        name: getattr(event, name) for name in event.__slots__ if name != "name"
    }


def test_features_read_back(opened):
    first = opened(writing.recording())
    sections = encode_features(first.features, first.events)
    assert {number: first.features.raw[number] for number in sections} == sections


def test_a_record_too_large_for_its_size_field_is_refused():
    with pytest.raises(ValueError, match="65544"):
        record(1, bytes(65536))


def test_a_chain_too_long_for_a_record_is_cut_and_counted(opened):
    node_count = 9000
    stacks = writing.chains(*((0x400000 + i, False) for i in range(node_count)))
    emitter = Emitter(stacks)
    emitter.samples(writing.FIELDS, writing.columns(1, node_count - 1), 0, 1)
    made = bytes(emitter.take())
    assert emitter.shortened == 1
    assert struct.unpack_from("=H", made, 6)[0] == len(made) <= 65528


def test_trailers_follow_the_event():
    event = writing.event(sample_id_all=False)
    assert RecordEncoder(event).trailer(1, 1, 5) == b""
    assert len(RecordEncoder(writing.event()).trailer(1, 1, 5)) == 32
