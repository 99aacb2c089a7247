"""Whatever the bytes are: an answer with defects or a clean error, never a crash or a hang."""

import random
import subprocess
import sys

import pytest
from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build
from tests.support.perfdata.records import EVENTS, EVERYTHING, VALUES, some_records

from undwarf.errors import UndwarfError
from undwarf.perfdata import Records


def kinds(data) -> list[str]:
    return [defect.kind for defect in data.defects]


def check(records: Records) -> None:
    """What every decoded recording promises."""
    samples = records.samples
    assert sorted(records.sample_order) == list(range(len(samples)))
    assert all(name < len(records.names) for name in records.sideband.name)
    assert all(identity < len(records.identities) for identity in records.sideband.identity)
    assert list(records.sideband.time) == sorted(records.sideband.time)


def rich(order: str) -> bytes:
    make = Build(order)
    trace = make.record(71, make.words(64, 0, 0) + make.pack("IIII", 0, 0, 0, 0)) + bytes(64)
    records = [make.sample(EVERYTHING, **VALUES) for _ in range(3)]
    records += [make.mmap2(EVERYTHING, b"/bin/a", build_id=b"12345678"), make.comm(EVERYTHING, b"x"), trace]
    records += [make.plain(EVERYTHING, 17, make.pack("QIHH", 1, 2, 1, 0) + b"name\0\0\0\0"), make.round()]
    records += [make.plain(EVERYTHING, 22, make.words(1, 2, 3, 4)), make.task(EVERYTHING, 7)]
    features = {3: make.string("box"), 11: make.pack("I", 1) + make.string("perf"), 7: make.pack("II", 1, 1)}
    return make.file([EVERYTHING], records, features)


def packed(order: str) -> bytes:
    make = Build(order)
    records = some_records(make)
    stream = b"".join(record for record in records[:60] if len(record) > 8)
    return make.file(EVENTS, make.compressed(stream, 700), {27: make.pack("5I", 0, 1, 1, 3, 0)})


def pipe(order: str) -> bytes:
    make = Build(order)
    return make.pipe(EVENTS, some_records(make)[:40], {3: make.string("box")})


BASES = {
    f"{name}{order}": maker(order)
    for name, maker in (("rich", rich), ("packed", packed), ("pipe", pipe))
    for order in "<>"
}


def survive(opened, raw: bytes, name: str) -> None:
    try:
        data = opened(raw, name=name)
        check(data.records())
        data.close()
    except UndwarfError as error:
        assert error.what and error.why


@pytest.mark.parametrize("base", BASES)
def test_truncated_anywhere(opened, base):
    raw = BASES[base]
    step = max(1, len(raw) // 400)
    for end in range(0, len(raw), step):
        survive(opened, raw[:end], "cut")


@pytest.mark.parametrize("base", BASES)
def test_flipped_bytes(opened, base):
    chance = random.Random(base)
    for _ in range(300):
        raw = bytearray(BASES[base])
        for _ in range(chance.choice((1, 1, 3, 30))):
            raw[chance.randrange(len(raw))] = chance.choice((0, 1, 8, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        survive(opened, bytes(raw), "flipped")


@pytest.mark.parametrize("base", BASES)
def test_words_overwritten(opened, base):
    chance = random.Random(base)
    for _ in range(300):
        raw = bytearray(BASES[base])
        at = chance.randrange(0, len(raw) - 8, 4)
        word = chance.choice((0, 1, 7, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**64 - 8, len(raw), chance.getrandbits(64)))
        raw[at : at + 8] = word.to_bytes(8, "little")
        survive(opened, bytes(raw), "overwritten")


def test_recorder_died_before_the_size_was_written(opened):
    make = Build()
    raw = make.file([Attr()], [make.sample(Attr(), ip=n) for n in range(5)], {3: make.string("x")}, data_size=0)
    # The feature table is not there in such a file.
    data = opened(raw[: 104 + 160 + 5 * len(make.sample(Attr()))])
    assert len(data.records().samples) == 5
    assert data.features.hostname is None
    assert kinds(data) == ["recording was not finished"]


def test_truncated_in_a_record(opened):
    make = Build()
    data = opened(make.file([Attr()], [make.sample(Attr())] * 3)[:-5])
    assert len(data.records().samples) == 2
    assert kinds(data) == ["truncated file", "truncated record"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_record_with_an_impossible_size(opened, order, size):
    make = Build(order)
    sample = make.sample(Attr())
    data = opened(make.file([Attr()], [sample, make.record(9, bytes(16), size=size), sample]))
    assert len(data.records().samples) == 1
    assert kinds(data) == ["record with an impossible size"]


def test_record_longer_than_the_rest(opened):
    make = Build()
    data = opened(make.file([Attr()], [make.sample(Attr()), make.record(9, bytes(16), size=500)]))
    assert len(data.records().samples) == 1
    assert kinds(data) == ["truncated record"]


def test_trace_bytes_beyond_the_end(opened):
    make = Build()
    for size in (1000, 2**62, 2**63, 2**64 - 1):
        trace = make.record(71, make.words(size, 0, 0) + make.pack("IIII", 0, 0, 0, 0))
        data = opened(make.file([Attr()], [make.sample(Attr()), trace, make.sample(Attr())]))
        assert len(data.records().samples) == 1
        assert len(kinds(data)) == 1


def test_corrupt_compression_keeps_what_came_before(opened):
    make = Build()
    chunks = make.compressed(b"".join(make.sample(Attr(), ip=n) for n in range(100)), 500)
    spoilt = bytearray(chunks[5])
    spoilt[16:24] = b"\xff" * 8
    chunks[5] = bytes(spoilt)
    data = opened(make.file([Attr()], [*chunks, make.comm(Attr(), b"after")]))
    records = data.records()
    assert list(records.samples.ip) == list(range(len(records.samples)))
    assert 0 < len(records.samples) < 60
    assert records.names[-1] == b"after"
    assert "damaged compression" in kinds(data)


def test_lost_end_of_compression_is_told(opened):
    make = Build()
    chunks = make.compressed(make.sample(Attr()) * 10, 111)
    data = opened(make.file([Attr()], chunks[:2]))
    assert len(data.records().samples) == 222 // len(make.sample(Attr()))
    assert kinds(data) == ["truncated record"]


@pytest.mark.parametrize("size", [2**64 - 1, 1000])
def test_compressed_size_larger_than_the_record(opened, size):
    make = Build()
    data = opened(make.file([Attr()], [make.record(83, make.words(size) + bytes(16))]))
    assert len(data.records().samples) == 0
    assert "compressed records that cannot be unpacked" in kinds(data)


def test_compressed_inside_compressed_is_not_unpacked(opened):
    make = Build()
    inner = b"".join(make.compressed(make.sample(Attr())))
    data = opened(make.file([Attr()], make.compressed(inner)))
    assert len(data.records().samples) == 0
    assert "compressed record inside a compressed one" in kinds(data)


def test_file_that_shrinks_while_open(tmp_path, opened):
    make = Build()
    data = opened(make.file([Attr()], [make.sample(Attr())] * 1000))
    (tmp_path / "perf.data").write_bytes(b"")
    assert len(data.records().samples) == 0
    assert kinds(data) == ["truncated record"]


def test_ids_beyond_the_file(opened):
    raw = bytearray(Build().file([Attr(ids=[1])], []))
    at = raw.index(Build().words(104, 8), 112)
    for offset, size in ((2**63, 8), (0, 2**63), (104, 2**40)):
        raw[at : at + 16] = Build().words(offset, size)
        data = opened(bytes(raw))
        assert "damaged event ids" in kinds(data)


def test_memory_for_a_hostile_file_stays_small(tmp_path):
    """Counts in headers allocate nothing."""
    path = tmp_path / "x"
    raw = bytearray(rich("<"))
    raw[40:48] = (2**50).to_bytes(8, "little")
    path.write_bytes(bytes(raw))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30));"
        "from undwarf.perfdata import open_perf_data; d = open_perf_data(sys.argv[1]); d.records(); print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.returncode == 0 or "UnreadableInput" in done.stderr, done.stderr


def test_events_that_disagree_on_their_layout(opened):
    attrs = [Attr(sample_type=b.IDENTIFIER | b.IP, ids=[1]), Attr(sample_type=b.IP | b.ID, ids=[2])]
    make = Build()
    samples = [make.sample(attrs[0], ident=1, ip=5), make.sample(attrs[1], ident=2, ip=6)]
    records = opened(make.file(attrs, samples)).records()
    assert list(records.samples.event) == [0, 1]
    assert list(records.samples.ip) == [5, 6]
