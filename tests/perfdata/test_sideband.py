"""Records that are no samples: what they hold, when they count, and what is counted."""

import pytest
from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build

from undwarf.perfdata import FileIdentity, SidebandKind

ATTR = Attr(sample_type=b.PLAIN, flags=b.SAMPLE_ID_ALL)


def rows(records, *names: str) -> list[tuple[int, ...]]:
    return [tuple(getattr(records.sideband, name)[n] for name in names) for n in range(len(records.sideband))]


@pytest.fixture(params=["<", ">"])
def make(request) -> Build:
    return Build(request.param)


def one(opened, make: Build, record: bytes, attr: Attr = ATTR):
    data = opened(make.file([attr], [record]))
    records = data.records(switches=True)
    assert not list(data.defects)
    assert len(records.sideband) == 1
    side = records.sideband
    keys = ("kind", "misc", "time", "position", "pid", "tid", "first", "second", "third", "fourth")
    found = {key: getattr(side, key)[0] for key in keys}
    found["name"] = records.names[side.name[0]]
    return found, records


def test_mmap(opened, make):
    record = make.mmap(ATTR, b"//anon", pid=5, start=0x7000, length=0x3000, pgoff=0x2000, time=44)
    found, records = one(opened, make, record)
    assert found == {
        "kind": SidebandKind.MMAP, "misc": 2, "time": 44, "position": 0, "pid": 5, "tid": 5, "first": 0x7000,
        "second": 0x3000, "third": 0x2000, "fourth": 4, "name": b"//anon",
    }  # fmt: skip  # a table
    assert records.sideband.identity[0] == 0


def test_mmap_of_data(opened, make):
    found, _ = one(opened, make, make.mmap(ATTR, b"x", misc=2 | 1 << 13))
    assert found["fourth"] == 3


def test_mmap2_with_inode(opened, make):
    record = make.mmap2(ATTR, b"/lib/a.so", start=2**47, prot=1, where=(254, 3, 2**40, 9), time=1)
    found, records = one(opened, make, record)
    assert (found["first"], found["fourth"], found["name"]) == (2**47, 1, b"/lib/a.so")
    assert records.identities[records.sideband.identity[0]] == FileIdentity(b"", 254, 3, 2**40, 9)


@pytest.mark.parametrize("size", [20, 16, 8])
def test_mmap2_with_build_id(opened, make, size):
    _, records = one(opened, make, make.mmap2(ATTR, b"/lib/a.so", build_id=bytes(range(1, size + 1))))
    assert records.identities[records.sideband.identity[0]].build_id == bytes(range(1, size + 1))


def test_a_device_is_no_build_id_whatever_the_bit_says(opened):
    """As the kernel writes it for one recorder while another one asks for build-ids."""
    make = Build("<")
    record = bytearray(make.mmap2(ATTR, b"/lib/a.so"))
    record[4:6] = (2 | 1 << 14).to_bytes(2, "little")
    record[40:64] = (254).to_bytes(4, "little") + bytes(4) + (0x1234).to_bytes(8, "little") + bytes(8)
    _, records = one(opened, make, bytes(record))
    identity = records.identities[records.sideband.identity[0]]
    assert (identity.build_id, identity.major, identity.inode) == (b"", 254, 0x1234)


@pytest.mark.parametrize("build_id", [b"", bytes(20)])
def test_empty_build_id_is_none(opened, make, build_id):
    _, records = one(opened, make, make.mmap2(ATTR, b"/lib/a.so", build_id=build_id))
    assert records.identities[records.sideband.identity[0]].build_id == b""


def test_mmap2_without_file_says_nothing_of_one(opened, make):
    _, records = one(opened, make, make.mmap2(ATTR, b"[vdso]", where=(0, 0, 0, 0)))
    assert records.sideband.identity[0] == 0


def test_comm_and_exec(opened, make):
    found, _ = one(opened, make, make.comm(ATTR, b"sh", pid=3, tid=4, misc=1 << 13, time=9))
    assert (found["kind"], found["pid"], found["tid"], found["name"]) == (SidebandKind.COMM, 3, 4, b"sh")
    assert found["misc"] & 1 << 13


@pytest.mark.parametrize(("number", "kind"), [(7, SidebandKind.FORK), (4, SidebandKind.EXIT)])
def test_fork_and_exit(opened, make, number, kind):
    found, _ = one(opened, make, make.task(ATTR, number, pid=20, ppid=10, tid=21, ptid=11, time=8))
    assert {name: found[name] for name in ("kind", "pid", "tid", "first", "second", "time")} == {
        "kind": kind, "pid": 20, "tid": 21, "first": 10, "second": 11, "time": 8
    }  # fmt: skip  # a table


def test_fork_without_trailer_has_its_own_time(opened, make):
    attr = Attr(flags=0)
    found, _ = one(opened, make, make.task(attr, 7, time=8), attr)
    assert found["time"] == 8


@pytest.mark.parametrize("flags", [0, b.SAMPLE_ID_ALL])
@pytest.mark.parametrize("number", [4, 5, 7])
def test_beside_samples_without_times_the_place_counts(opened, make, number, flags):
    """perf record --per-thread, and --no-timestamp: FORK, EXIT and THROTTLE have a time of their own all the same."""
    attr = Attr(sample_type=b.IP | b.TID, flags=flags)
    told = make.task(attr, number, time=9000) if number != 5 else make.plain(attr, 5, make.words(9000, 2, 3))
    records = opened(make.file([attr], [told, make.comm(attr, b"x"), make.sample(attr), told])).records()
    assert list(records.sideband.time) == [records.samples.time[0]] * 3
    assert [records.names[name] for name in records.sideband.name][1] == b"x"


@pytest.mark.parametrize(
    ("number", "form", "values", "tail", "expected"),
    [
        (17, "QIHH", (0xFFFF8000, 256, 1, 1), b"bpf_prog_x\0\0\0\0\0\0", ("KSYMBOL", 0xFFFF8000, 256, 1, 1)),
        (20, "QHH", (0xFFFF8000, 5, 5), bytes(10) + bytes(2), ("TEXT_POKE", 0xFFFF8000, 5, 5, 0)),
        (19, "Q", (44,), b"/a/b\0\0\0\0", ("CGROUP", 44, 0, 0, 0)),
        (16, "IIQQQQQ", (1, 2, 2, 3, 4, 5, 6), b"", ("NAMESPACES", 2, 0, 0, 0)),
        (2, "QQ", (7, 1000), b"", ("LOST", 1000, 7, 0, 0)),
        (13, "Q", (50,), b"", ("LOST", 50, 0, 1, 0)),
        (22, "QQQQ", (0x100000005, 2, 3, 4), b"", ("DEFERRED", 0x100000005, 2, 0, 0)),
        (11, "QQQ", (4096, 64, 1), b"", ("AUX", 4096, 64, 0, 1)),
        (12, "II", (9, 9), b"", ("ITRACE_START", 0, 0, 0, 0)),
        (21, "Q", (3,), b"", ("AUX_OUTPUT_HW_ID", 3, 0, 0, 0)),
        (14, "", (), b"", ("SWITCH", 0, 0, 0, 0)),
        (15, "II", (5, 6), b"", ("SWITCH", 5, 6, 1, 0)),
        (5, "QQQ", (1, 2, 3), b"", ("THROTTLE", 2, 3, 0, 0)),
        (6, "QQQ", (1, 2, 3), b"", ("UNTHROTTLE", 2, 3, 0, 0)),
    ],
)
def test_other_records(opened, make, number, form, values, tail, expected):
    record = make.plain(ATTR, number, make.pack(form, *values) + tail, pid=33, tid=34, time=66)
    found, _ = one(opened, make, record)
    values = tuple(found[key] for key in ("first", "second", "third", "fourth"))
    assert (SidebandKind(found["kind"]).name, *values) == expected
    assert found["time"] == 66
    if number not in (12, 16):
        assert (found["pid"], found["tid"]) == (33, 34)


def test_bpf_event(opened):
    record = Build().plain(ATTR, 18, Build().pack("HHI", 1, 0, 77) + b"\x01\0\0\0\0\0\0\x02", time=5)
    found, _ = one(opened, Build(), record)
    assert (found["kind"], found["first"], found["third"]) == (SidebandKind.BPF, 77, 1)
    assert found["second"] == 0x0200000000000001


def test_switches_are_only_counted_unless_asked_for(opened):
    data = opened(Build().file([ATTR], [Build().plain(ATTR, 14, b"", time=5)] * 3))
    assert len(data.records().sideband) == 0
    assert data.records().counts == {"SWITCH": 3}
    assert len(data.records(switches=True).sideband) == 3


def test_lost_is_summed_without_what_a_filter_dropped(opened, make):
    lost = make.plain(ATTR, 2, make.words(1, 10), time=1)
    samples = make.plain(ATTR, 13, make.words(5), time=2)
    dropped = make.plain(ATTR, 13, make.words(1000), misc=1 << 15, time=3)
    records = opened(make.file([ATTR], [lost, samples, dropped])).records()
    assert records.lost == 15
    assert list(records.sideband.fourth) == [0, 0, 1]


def test_unknown_types_are_counted_by_number(opened):
    make = Build()
    data = opened(make.file([ATTR], [make.record(40), make.record(99), make.record(99), make.record(1 << 31)]))
    assert data.records().counts == {"type 40": 1, "type 99": 2, f"type {1 << 31}": 1}
    assert [(defect.kind, defect.count) for defect in data.defects] == [("record of an unknown type", 4)]


def test_very_many_unknown_types(opened):
    make = Build()
    data = opened(make.file([ATTR], [make.record(1000 + n) for n in range(500)]))
    counts = data.records().counts
    assert sum(counts.values()) == 500
    assert counts["other types"] == 436


def test_trailer_is_found_from_the_end(opened, make):
    attr = Attr(sample_type=b.TID | b.TIME | b.ID | b.STREAM_ID | b.CPU | b.IDENTIFIER, ids=[3])
    other = Attr(sample_type=attr.sample_type, ids=[4])
    record = make.mmap2(attr, b"/x", time=99, ident=4, stream=5, cpu=6)
    records = opened(make.file([attr, other], [record])).records()
    assert rows(records, "time", "pid") == [(99, 10)]


def test_record_of_an_unknown_event_counts_as_the_first_ones(opened):
    attr = Attr(sample_type=b.TIME | b.IDENTIFIER, ids=[3])
    other = Attr(sample_type=b.TIME | b.IDENTIFIER, ids=[4])
    data = opened(Build().file([attr, other], [Build().comm(attr, b"x", time=99, ident=55)]))
    assert rows(data.records(), "time") == [(99,)]
    assert [defect.kind for defect in data.defects] == ["record of an unknown event"]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 7, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21, 22])
def test_short_records_are_skipped(opened, make, number):
    data = opened(make.file([ATTR], [make.record(number, bytes(24)), make.comm(ATTR, b"x", time=5)]))
    records = data.records(switches=True)
    assert records.names[-1] == b"x"
    assert sum(records.counts.values()) == 2
    assert [defect.kind for defect in data.defects] == ["damaged record"]


@pytest.mark.parametrize(("number", "head"), [(1, 32), (10, 64), (3, 8), (17, 16), (19, 8)])
def test_name_without_end_is_skipped(opened, number, head):
    make = Build()
    data = opened(make.file([ATTR], [make.plain(ATTR, number, bytes(head) + b"A" * 64)]))
    assert len(data.records().sideband) == 0
    assert [defect.kind for defect in data.defects] == ["damaged record"]


@pytest.mark.parametrize(
    ("number", "body"),
    [
        (16, (0, 1 << 60)), (16, (0, 2)), (22, (1, 1 << 61)), (22, (1, 2)), (20, (0, 0xFFFFFFFF)),
    ],
)  # fmt: skip  # a table
def test_counts_larger_than_the_record(opened, number, body):
    make = Build()
    data = opened(make.file([ATTR], [make.plain(ATTR, number, make.words(*body) + bytes(8))]))
    assert len(data.records().sideband) == 0
    assert [defect.kind for defect in data.defects] == ["damaged record"]


def test_names_are_kept_once_in_order_of_appearance(opened):
    make = Build()
    names = [b"/lib/%d" % (n * n % 977) for n in range(5000)]
    data = opened(make.file([ATTR], [make.mmap2(ATTR, name, time=n + 1) for n, name in enumerate(names)]))
    records = data.records()
    assert records.names == [b"", *dict.fromkeys(names)]
    assert [records.names[number] for number in records.sideband.name] == names


def test_many_long_names(opened):
    make = Build()
    names = [b"/%d/" % n + b"x" * (n % 4000) for n in range(600)]
    data = opened(make.file([ATTR], [make.comm(ATTR, name, time=n + 1) for n, name in enumerate(names)]))
    assert data.records().names == [b"", *names]
