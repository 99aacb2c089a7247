"""The same records in every form come out the same."""

import gc
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build
from tests.support.perfdata.records import EVENTS, some_records

from undwarf.errors import UnreadableInput
from undwarf.limits import DEFAULT
from undwarf.perfdata import FileIdentity, Records, open_perf_data
from undwarf.perfdata import column_store as columns_module


def picture(records: Records) -> list[object]:
    """Everything but positions, which depend on the form."""
    samples, side = records.samples, records.sideband
    columns = (
        "time", "pid", "tid", "cpu", "event", "misc", "ip", "period", "callchain_at", "regs_at", "stack_at", "id"
    )  # fmt: skip  # a table
    found: list[object] = [list(getattr(samples, name)) for name in columns]
    found.append([getattr(samples, name) is None for name in ("addr", "weight", "regs_intr_at")])
    found.append(list(records.sample_order))
    found += [
        list(getattr(side, name))
        for name in ("kind", "misc", "time", "pid", "tid", "first", "second", "third", "fourth")
    ]
    found.append([records.names[number] for number in side.name])
    found.append([records.identities[number] for number in side.identity])
    return found


@pytest.fixture
def expected(opened) -> list[object]:
    data = opened(Build().file(EVENTS, some_records(Build())), name="expected")
    found = picture(data.records())
    assert not list(data.defects)
    return found


def test_file_form_holds_what_was_written(opened):
    records = opened(Build().file(EVENTS, some_records(Build()))).records()
    assert records.counts == {"COMM": 1, "EXIT": 1, "FORK": 1, "SAMPLE": 400, "MMAP2": 2, "FINISHED_ROUND": 4}
    assert list(records.samples.ip[:2]) == [0x400000, 0x400000]
    assert records.names == [b"", b"init", b"/bin/a", b"/bin/b"]
    assert records.identities == [
        FileIdentity(b"", 0, 0, 0, 0),
        FileIdentity(b"\x01" * 20, 0, 0, 0, 0),
        FileIdentity(b"", 8, 1, 99, 4),
    ]
    assert list(records.samples.event[:4]) == [0, 1, 0, 1]


def test_pipe_data_in_a_regular_file(opened, expected):
    data = opened(Build().pipe(EVENTS, some_records(Build())))
    assert data.form == "pipe"
    assert picture(data.records()) == expected
    assert not list(data.defects)


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_foreign_byte_order(opened, expected, form):
    make = Build(">")
    data = opened(getattr(make, form)(EVENTS, some_records(make)))
    assert data.byte_order == "big"
    assert picture(data.records()) == expected
    assert not list(data.defects)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", [81, 83])
@pytest.mark.parametrize("chunk", [100, 1000, 50000])
def test_compressed_records_straddle(opened, expected, order, kind, chunk):
    make = Build(order)
    records = some_records(make)
    # As perf writes it: what was synthesised first is plain, rounds stay outside.
    stream = [record for record in records[3:] if len(record) > 8]
    packed = make.compressed(b"".join(stream), chunk, kind)
    data = opened(make.file(EVENTS, [*records[:3], *packed, make.round()], {27: make.pack("5I", 0, 1, 1, 3, 0)}))
    assert picture(data.records()) == expected
    assert not list(data.defects)


def test_compressed_without_the_feature_that_announces_it(opened, expected):
    make = Build()
    records = some_records(make)
    stream = b"".join(record for record in records[3:] if len(record) > 8)
    data = opened(make.pipe(EVENTS, [*records[:3], *make.compressed(stream), make.round()]))
    assert picture(data.records()) == expected


def test_rounds_between_compressed_records_do_not_split_a_record(opened):
    make = Build()
    stream = b"".join(make.sample(EVENTS[0], ident=5, time=100 + n, regs=(1, 2, 3)) for n in range(50))
    mixed = []
    for chunk in make.compressed(stream, 77):
        mixed += [chunk, make.round()]
    records = opened(make.file(EVENTS, mixed)).records()
    assert list(records.samples.time) == list(range(100, 150))


def test_directory_form_merges_its_streams_by_time(tmp_path):
    make = Build()
    attr = EVENTS[0]
    folder = tmp_path / "perf.data"
    folder.mkdir()
    (folder / "data").write_bytes(make.file([attr], [make.comm(attr, b"x", time=5)], {24: make.words(1)}))
    for number, start in ((0, 100), (1, 50), (10, 70)):
        samples = b"".join(make.sample(attr, time=start + n, regs=(1, 2, 3)) for n in range(5))
        # Each writer has a zstd stream of its own.
        (folder / f"data.{number}").write_bytes(b"".join(make.compressed(samples, 90)))
    with open_perf_data(folder) as data:
        records = data.records()
        assert data.form == "directory"
        times = [records.samples.time[number] for number in records.sample_order]
        assert times == [*range(50, 55), *range(70, 75), *range(100, 105)]
        assert data.segment_end(0) < data.segment_end(data.segment_end(0))
        assert not list(data.defects)


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_binary_stream(expected, form):
    raw = getattr(Build(), form)(EVENTS, some_records(Build()))
    with open_perf_data(io.BytesIO(raw)) as data:
        assert picture(data.records()) == expected


def test_open_file_object(tmp_path, expected):
    path = tmp_path / "x"
    path.write_bytes(Build().file(EVENTS, some_records(Build())))
    with path.open("rb") as file, open_perf_data(file) as data:
        assert picture(data.records()) == expected


@pytest.mark.parametrize("redirected", [True, False])
def test_stdin(tmp_path, redirected):
    path = tmp_path / "x"
    path.write_bytes(Build().pipe(EVENTS, some_records(Build())))
    code = "from undwarf.perfdata import open_perf_data; print(len(open_perf_data('-').records().samples))"
    with path.open("rb") as file:
        if redirected:
            done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True)
        else:
            done = subprocess.run([sys.executable, "-c", code], input=file.read(), capture_output=True, check=True)
    assert done.stdout == b"400\n"


def test_window_shows_the_record_at_a_position(opened):
    make = Build()
    data = opened(make.file(EVENTS, some_records(make)))
    records = data.records()
    position = records.samples.position[3]
    with data.window(position, 64) as view:
        assert len(view) == 64
        assert int.from_bytes(view[:4], sys.byteorder) == 9
    with data.window(data.stream_size - 4, 100) as view:
        assert len(view) == 4
    with data.window(data.stream_size, 100) as view:
        assert len(view) == 0


@pytest.mark.parametrize("order", ["<", ">"])
def test_window_shows_stack_bytes_untouched(opened, order):
    make = Build(order)
    data = opened(make.file(EVENTS, some_records(make)))
    samples = data.records().samples
    at = samples.position[0] + samples.stack_at[0]
    with data.window(at, 8 + 256 + 8) as view:
        assert int.from_bytes(view[:8], sys.byteorder) == 256
        assert bytes(view[8:264]) == bytes(range(256))
        assert int.from_bytes(view[264:], sys.byteorder) == 200


def test_records_continue_behind_a_window_edge(opened, expected, monkeypatch):
    monkeypatch.setattr("undwarf.perfdata.reader.WINDOW", 70_000)
    monkeypatch.setattr("undwarf.perfdata.decompress.WINDOW", 70_000)
    make = Build()
    assert picture(opened(make.file(EVENTS, some_records(make))).records()) == expected
    swapped = Build(">")
    assert picture(opened(swapped.pipe(EVENTS, some_records(swapped))).records()) == expected


def test_columns_have_their_length_behind_a_first_glance(opened, monkeypatch):
    make, attr = Build(), Attr()
    lengths = []

    def longer(column, columns, used, capacity, wanted):
        lengths.append(capacity)
        return before(column, columns, used, capacity, wanted)

    before = columns_module._longer  # private: columns do not show how often they were copied
    monkeypatch.setattr(columns_module, "_longer", longer)
    count = 60_000
    samples = opened(make.file([attr], [make.sample(attr, ip=k, time=k + 1) for k in range(count)])).records().samples
    assert samples.ip.tolist() == list(range(count))
    assert samples.pid.tolist() == [10] * count
    once, last = sorted(set(lengths))
    assert once < count // 4 and count < last < 2 * count


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("packed", [False, True])
def test_trace_bytes_between_records_are_skipped(opened, order, packed):
    make = Build(order)
    attr = EVENTS[0]
    sample = make.sample(attr, regs=(1, 2, 3))
    junk = b"\x09\0\0\0\0\0\x08\0" * 8
    trace = make.record(71, make.words(64, 0, 0) + make.pack("IIII", 0, 0, 0, 0)) + junk
    tracing = make.record(66, make.pack("II", 60, 0)) + junk
    old = make.record(66, make.pack("I", 60)) + junk
    body = [*make.compressed(sample)] if packed else [sample]
    data = opened(make.file([attr], [trace, *body, tracing, sample, old, sample]))
    assert data.records().counts["SAMPLE"] == 3
    assert not list(data.defects)


def test_unaligned_feature_records_move_what_follows(opened):
    make = Build()
    records = [make.header_feature(3, b"abcd"), make.sample(EVENTS[0], time=77, regs=(1, 2, 3))]
    assert list(opened(make.pipe(EVENTS[:1], records)).records().samples.time) == [77]


@pytest.mark.parametrize("order", ["<", ">"])
def test_old_header_without_features(opened, order):
    make = Build(order)
    data = opened(make.file(EVENTS[:1], [make.sample(EVENTS[0], regs=(1, 2, 3))], header=72))
    assert data.records().counts == {"SAMPLE": 1}


def test_attribute_stride_is_not_the_attribute_size(opened):
    make = Build()
    old = [replace(event, size=96) for event in EVENTS]
    data = opened(make.file(old, some_records(make), stride=200))
    assert [event.ids for event in data.events] == [(5, 6), (7,)]
    assert data.records().counts["SAMPLE"] == 400


def test_attribute_of_size_zero_is_the_first_version(opened):
    make = Build()
    data = opened(make.file([Attr(size=0)], [make.sample(Attr())], stride=80))
    assert data.events[0].sample_type == b.PLAIN
    assert data.records().counts == {"SAMPLE": 1}


def test_progress_reaches_the_end(opened):
    seen = []
    data = opened(Build().file(EVENTS, some_records(Build())))
    data.records(lambda done, total: seen.append((done, total)))
    assert seen == [] or seen[-1][0] <= seen[-1][1]


def test_records_are_decoded_once(opened):
    data = opened(Build().file(EVENTS, some_records(Build())))
    assert data.records() is data.records()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"PERFILE", "it has only 7 bytes"),
        (b"PERFFILE" + bytes(96), "version 1"),
        (b"\x7fELF" + bytes(200), "an ELF file"),
        (b"PERFILE2" + (50).to_bytes(8, "little") + bytes(100), "claims a size of 50"),
        (b"PERFILE2" + (104).to_bytes(8, "little") + bytes(20), "ends inside its header"),
        (b"PERFILE2" + (104).to_bytes(8, "little") + bytes(100), "attributes claim 0 bytes"),
        (b"PERFILE2" + (16).to_bytes(8, "little"), "no event is described"),
    ],
)
def test_what_is_no_recording_is_refused(opened, content, why):
    with pytest.raises(UnreadableInput) as caught:
        opened(content)
    assert why in caught.value.why
    assert caught.value.hint


def test_missing_file(tmp_path):
    with pytest.raises(UnreadableInput, match="No such file"):
        open_perf_data(tmp_path / "none")


def test_directory_without_data(tmp_path):
    with pytest.raises(UnreadableInput, match="without a file named 'data'"):
        open_perf_data(tmp_path)


def test_no_descriptor_is_left_open(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(Build(">").pipe(EVENTS, some_records(Build(">"))))
    gc.collect()  # what earlier tests left to the collector may not be closed in between
    before = len(list(Path("/proc/self/fd").iterdir()))
    with open_perf_data(path) as data:
        data.records()
    path.write_bytes(b"nonsense" * 100)
    with pytest.raises(UnreadableInput):
        open_perf_data(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_bomb_is_stopped_by_its_ratio(opened):
    make = Build()
    bomb = make.compressed(make.record(68) * 3_000_000, 24_000_000)
    data = opened(make.file(EVENTS, bomb), limits=DEFAULT._replace(compression_ratio=100))
    data.records()
    assert [defect.kind for defect in data.defects if "implausible" in defect.kind]


def test_bomb_is_stopped_by_its_size(opened):
    make = Build()
    bomb = make.compressed(make.record(68) * 500_000, 4_000_000)
    data = opened(make.file(EVENTS, bomb), limits=DEFAULT._replace(stream_bytes=1 << 20, compression_ratio=10**9))
    with pytest.raises(UnreadableInput, match="unpacks to more than"):
        data.records()
