"""Feature sections: their contents, and damaged ones."""

import pytest
from tests.support.perfdata.build import Attr, Build

from undwarf.perfdata.features import BuildId


@pytest.fixture(params=["<", ">"])
def make(request) -> Build:
    return Build(request.param)


def build_id_record(make: Build, pid: int, build_id: bytes, name: bytes, misc: int = 0x8002) -> bytes:
    raw = build_id.ljust(20, b"\0") + (bytes([len(build_id)]) if misc & 0x8000 else b"\0") + bytes(3)
    body = make.pack("i", pid) + raw + name + bytes(64 - len(name))
    return make.record(0, body, misc)


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_contents(opened, make, form):
    sections = {
        3: make.string("box"),
        4: make.string("6.18.44"),
        5: make.string("7.2.13"),
        6: make.string("x86_64"),
        7: make.pack("II", 8, 4),
        8: make.string("A CPU"),
        10: make.words(1234),
        11: make.pack("I", 3) + make.string("/usr/bin/perf") + make.string("record") + make.string("-a"),
        14: make.pack("IIQQ", 1, 0, 100, 50) + make.string("0-3"),
        16: make.pack("II", 1, 4) + make.string("cpu"),
        17: make.pack("I", 1) + make.string("g") + make.pack("II", 0, 2),
        20: make.pack("6I", 1, 1, 1, 64, 64, 8) + b"".join(make.string(s) for s in ("Data", "32K", "0")),
        21: make.words(5, 6),
        23: make.words(1),
        27: make.pack("5I", 0, 1, 3, 4, 4096),
        29: make.pack("IIQQ", 1, 4, 111, 222),
        33: make.pack("II", 62, 0),
        34: make.pack("I", 64),
    }
    data = opened(getattr(make, form)([Attr()], [], sections))
    found = data.features
    assert not list(data.defects)
    assert (found.hostname, found.osrelease, found.version, found.arch) == ("box", "6.18.44", "7.2.13", "x86_64")
    assert (found.nrcpus, found.cpudesc, found.total_mem) == ((8, 4), "A CPU", 1234)
    assert found.cmdline == ["/usr/bin/perf", "record", "-a"]
    assert found.numa_nodes == [(0, 100, 50, "0-3")]
    assert found.pmu_mappings == {4: "cpu"}
    assert found.groups == [("g", 0, 2)]
    assert found.caches is not None and found.caches[0].size == "32K"
    assert found.sample_time == (5, 6)
    assert found.clockid == 1
    assert found.compressed is not None and found.compressed.level == 3
    assert found.clock_data == (4, 111, 222)
    assert (found.e_machine, found.cacheline_size) == ((62, 0), 64)
    assert found.cpuid is None and found.cpu_topology is None
    assert found.raw[23] == make.words(1)


def test_build_ids(opened, make):
    section = build_id_record(make, -1, b"\1" * 20, b"[kernel.kallsyms]", 0x8001)
    section += build_id_record(make, -1, b"\2" * 16, b"/bin/a")
    section += build_id_record(make, -1, b"\3" * 20, b"/bin/b", 2)
    data = opened(make.file([Attr()], [], {2: section}))
    assert data.features.build_ids == [
        BuildId(-1, b"\1" * 20, "[kernel.kallsyms]", 0x8001),
        BuildId(-1, b"\2" * 16, "/bin/a", 0x8002),
        BuildId(-1, b"\3" * 20, "/bin/b", 2),
    ]


def test_build_ids_of_very_old_files_have_no_pid(opened, make):
    def old(name: bytes) -> bytes:
        return make.record(0, b"\7" * 20 + bytes(4) + name + bytes(64 - len(name)), 1)

    data = opened(make.file([Attr()], [], {2: old(b"[kernel.kallsyms]") + old(b"/bin/a")}))
    assert [entry.filename for entry in data.features.build_ids] == ["[kernel.kallsyms]", "/bin/a"]
    assert data.features.build_ids[1].build_id == b"\7" * 20


def test_build_id_records_of_a_pipe(opened, make):
    raw = bytearray(build_id_record(make, 5, b"\1" * 20, b"/bin/a"))
    raw[:4] = make.pack("I", 67)
    data = opened(make.pipe([Attr()], [make.sample(Attr()), bytes(raw)]))
    data.records()
    assert [entry.filename for entry in data.features.build_ids] == ["/bin/a"]
    data.records(switches=True)
    assert len(data.features.build_ids) == 1


@pytest.mark.parametrize(
    ("number", "payload"),
    [
        (3, b""), (3, b"\1"), (3, b"\xff\xff\xff\xff" + b"a" * 8), (11, b"\xff\xff\xff\x7f"), (7, b"1234"),
        (12, b"\xff\xff\xff\x7f\x90\0\0\0" + bytes(200)), (12, b"\1\0\0\0\0\0\0\0"), (2, b"\0" * 12),
        (16, b"\xff\xff\xff\x0f" + bytes(8)), (20, b"\1\0\0\0\xff\xff\xff\xff"), (21, bytes(15)), (27, bytes(4)),
    ],
)  # fmt: skip  # a table
def test_damaged_sections_are_defects(opened, number, payload):
    data = opened(Build().file([Attr()], [Build().sample(Attr())], {number: payload}))
    kinds = [defect.kind for defect in data.defects]
    assert kinds == (["damaged feature section"] if payload else [])
    assert len(data.records().samples) == 1


def test_unknown_sections_are_kept_raw(opened):
    assert opened(Build().file([Attr()], [], {200: b"future"})).features.raw == {200: b"future"}


def test_section_behind_the_end_of_the_file(opened):
    raw = Build().file([Attr()], [], {3: Build().string("box")})
    data = opened(raw[:-1])
    assert data.features.hostname is None
    assert [(defect.kind, defect.subject) for defect in data.defects] == [("damaged feature section", "HOSTNAME")]


def test_feature_bitmap_of_a_foreign_32_bit_machine(opened):
    make = Build(">")
    raw = bytearray(make.file([Attr()], [], {3: make.string("box"), 6: make.string("ppc")}))
    bits = int.from_bytes(raw[72:80], "big")
    raw[72:80] = (bits << 32 | bits >> 32).to_bytes(8, "big")
    found = opened(bytes(raw)).features
    assert (found.hostname, found.arch) == ("box", "ppc")
