"""Whatever is written is what the kernel would have written, byte for byte, and reads back as what it was.

What the kernel writes is taken from ``build.py``, which knows nothing of the writer.
"""

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from tests.support.perfdata import build as b
from tests.support.perfdata import writing
from tests.support.perfdata.build import Attr, Build

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.perfdata import EventAttr, FileIdentity, PerfData, SidebandKind, open_perf_data
from undwarf.perfdata.events import encode_attr, parse_attr
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.chain_rewriter import stitched_event
from undwarf.unwind.sample_writer import Emitter

MAKE = Build("<")
IDENT = 7
word = st.integers(0, (1 << 64) - 1)
half = st.integers(0, (1 << 32) - 1)
ids = st.integers(0, (1 << 31) - 1)
names = st.binary(max_size=40).map(lambda name: name.replace(b"\0", b"/"))
# Without markers, which begin another part of a chain.
code = st.integers(1, (1 << 64) - 4096)


def subset(*bits: int) -> st.SearchStrategy[int]:
    return st.sets(st.sampled_from(bits)).map(sum)


trailers = subset(b.TID, b.ID, b.STREAM_ID, b.CPU, b.IDENTIFIER)


@dataclass
class Case:
    """A record as the encoder makes it, as it has to be, and what is read of it: columns of the side band."""

    encode: Callable[[RecordEncoder, int], bytes]
    expected: Callable[[Attr, int], bytes]
    read: dict[str, Any]


@st.composite
def mappings(draw: st.DrawFn) -> Case:
    name, pid, tid, prot = draw(names), draw(ids), draw(ids), draw(st.integers(0, 7))
    start, length, offset = draw(word), draw(word), draw(word)
    build_id = draw(st.binary(min_size=1, max_size=20).filter(any) | st.just(b""))
    where = (draw(half), draw(half), draw(word), draw(word))
    misc = 2 | (0 if prot & 4 else 1 << 13)
    identity = FileIdentity(build_id, 0, 0, 0, 0) if build_id else FileIdentity(b"", *where)
    return Case(
        lambda encoder, time: encoder.mmap2(
            name, pid, tid, start, length, offset,
            build_id=build_id, device=where[:2], inode=where[2:], protection=prot, time=time,
        ),
        lambda attr, time: MAKE.mmap2(
            attr, name, pid, tid, start, length, offset, where, prot, build_id or None, misc, time=time, ident=IDENT
        ),
        {"kind": SidebandKind.MMAP, "pid": pid, "tid": tid, "first": start, "second": length, "third": offset,
         "fourth": prot, "name": name, "identity": identity, "misc": misc | (1 << 14 if build_id else 0)},
    )  # fmt: skip  # rows of fields


@st.composite
def comms(draw: st.DrawFn) -> Case:
    name, pid, tid, exec_ = draw(names)[:15], draw(ids), draw(ids), draw(st.booleans())
    misc = 2 | (exec_ and 1 << 13)
    return Case(
        lambda encoder, time: encoder.comm(name, pid, tid, exec_=exec_, time=time),
        lambda attr, time: MAKE.comm(attr, name, pid, tid, misc, time=time, ident=IDENT),
        {"kind": SidebandKind.COMM, "pid": pid, "tid": tid, "name": name, "misc": misc},
    )


@st.composite
def tasks(draw: st.DrawFn) -> Case:
    pid, tid, parent, parent_tid, begins = draw(ids), draw(ids), draw(ids), draw(ids), draw(st.booleans())
    kind = 7 if begins else 4

    def expected(attr: Attr, time: int) -> bytes:
        body = MAKE.pack("IIIIQ", pid, parent, tid, parent_tid, time)
        return MAKE.plain(attr, kind, body, pid=pid, tid=tid, time=time, ident=IDENT)

    return Case(
        lambda encoder, time: (encoder.fork if begins else encoder.exit)(pid, tid, parent, parent_tid, time=time),
        expected,
        {
            "kind": SidebandKind.FORK if begins else SidebandKind.EXIT,
            "pid": pid,
            "tid": tid,
            "first": parent,
            "second": parent_tid,
        },
    )


@st.composite
def losses(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 1 << 40))
    return Case(
        lambda encoder, time: encoder.lost(count, time=time),
        lambda attr, time: MAKE.plain(attr, 2, MAKE.words(IDENT, count), time=time, ident=IDENT),
        {"kind": SidebandKind.LOST, "first": count, "second": IDENT},
    )


@st.composite
def switches(draw: st.DrawFn) -> Case:
    pid, tid, out, preempted = draw(ids), draw(ids), draw(st.booleans()), draw(st.booleans())
    misc = (out and 1 << 13) | (preempted and 1 << 14)
    return Case(
        lambda encoder, time: encoder.switch(pid, tid, out=out, preempted=preempted, time=time),
        lambda attr, time: MAKE.plain(attr, 14, b"", misc, pid=pid, tid=tid, time=time, ident=IDENT),
        {"kind": SidebandKind.SWITCH, "misc": misc},
    )


@st.composite
def later_chains(draw: st.DrawFn) -> Case:
    cookie, addresses, pid, tid = draw(word), draw(st.lists(word, max_size=9)), draw(ids), draw(ids)
    body = MAKE.words(cookie, len(addresses), *addresses)
    return Case(
        lambda encoder, time: encoder.deferred(cookie, addresses, pid, tid, time=time),
        lambda attr, time: MAKE.plain(attr, 22, body, 2, pid=pid, tid=tid, time=time, ident=IDENT),
        {"kind": SidebandKind.DEFERRED, "first": cookie, "second": len(addresses), "misc": 2},
    )


records = st.lists(mappings() | comms() | tasks() | losses() | switches() | later_chains(), min_size=1, max_size=12)


def event_of(attr: Attr) -> EventAttr:
    """The event, as the reader has it."""
    event = parse_attr(MAKE.attr(attr), "little")
    return writing.event("some", (IDENT,), **{key: getattr(event, key) for key in writing.CHANGING}, flags=event.flags)


def written(event: EventAttr, stream: bytes, form: Literal["file", "pipe"], level: int) -> PerfData:
    sink = io.BytesIO()
    with PerfWriter(sink, [event], form=form, zstd_level=level) as writer:
        writer.write(stream)
    return open_perf_data(io.BytesIO(sink.getvalue()), defects=Defects())


@given(records, trailers, st.sampled_from(["file", "pipe"]), st.sampled_from([0, 1]))
def test_every_kind_of_record(cases: list[Case], fields: int, form: Literal["file", "pipe"], level: int) -> None:
    attr = Attr(sample_type=b.IP | b.TIME | fields, ids=[IDENT])
    encoder = RecordEncoder(event_of(attr))
    made = [case.encode(encoder, 1000 + number) for number, case in enumerate(cases)]
    assert made == [case.expected(attr, 1000 + number) for number, case in enumerate(cases)]
    with written(encoder.event, b"".join(made), form, level) as data:
        found = data.records(switches=True)
        side = found.sideband
        assert list(side.time) == [1000 + number for number in range(len(cases))]
        assert not list(data.defects)
        for number, case in enumerate(cases):
            read = {key: getattr(side, key)[number] for key in case.read}
            if "name" in read:
                read["name"] = found.names[read["name"]]
            if "identity" in read:
                read["identity"] = found.identities[read["identity"]]
            assert read == case.read


@given(subset(*(1 << bit for bit in range(25))), word, st.booleans(), half, half, word, word)
def test_every_attribute(kind: int, config: int, freq: bool, stack: int, clockid: int, regs: int, period: int) -> None:
    flags = b.SAMPLE_ID_ALL | (b.FREQ if freq else 0) | 1 << 25
    event = writing.event(
        config=config,
        freq=freq,
        sample_stack_user=stack,
        clockid=clockid & 0x7FFFFFFF,
        sample_regs_user=regs,
        sample_period=period,
        sample_type=kind,
        flags=flags,
    )
    again = parse_attr(encode_attr(event), "little")
    for name in event.__slots__:
        if name not in ("name", "ids"):
            assert getattr(again, name) == getattr(event, name), name


FIELDS = (b.IDENTIFIER, b.IP, b.TID, b.ADDR, b.ID, b.STREAM_ID, b.CPU, b.PERIOD, b.CALLCHAIN, b.WEIGHT, b.DATA_SRC)
COLUMNS = {"ip": "ip", "addr": "addr", "stream": "stream_id", "period": "period", "weight": "weight",
           "data_src": "data_src", "phys": "phys_addr"}  # fmt: skip  # a table


@st.composite
def stacks(draw: st.DrawFn) -> tuple[dict[str, memoryview], list[int], list[int]]:
    """A stack, root first, and its chain with markers: the kernel's part, if any, before the user's."""
    user, kernel = draw(st.lists(code, max_size=6)), draw(st.lists(code, max_size=4))
    made = writing.chains(*((one, False) for one in user), *((one, True) for one in kernel))
    chain = [0xFFFFFFFFFFFFFF80, *reversed(kernel)] if kernel else []
    chain += [0xFFFFFFFFFFFFFE00, *reversed(user)] if user else []
    return made, chain, [len(user) + len(kernel) - 1 if user or kernel else 0xFFFFFFFF]


@given(subset(*FIELDS, b.PHYS_ADDR), stacks(), st.data())
def test_samples_from_columns(fields: int, stack: Any, data: st.DataObject) -> None:
    attr = Attr(sample_type=fields | b.TIME, ids=[IDENT])
    made, chain, (node,) = stack
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(COLUMNS, word)), min_size=1, max_size=4))
    threads = [(data.draw(ids), data.draw(ids), data.draw(ids)) for _row in rows]
    columns: dict[str, Any] = {column: zeros("Q", len(rows)) for column in (*COLUMNS.values(), "identifier", "time")}
    columns |= {name: zeros("i", len(rows)) for name in ("pid", "tid", "cpu")}
    columns |= {"stack": zeros("I", len(rows)), "stop": zeros("B", len(rows)), "misc": zeros("H", len(rows))}
    expected = []
    for number, (row, (pid, tid, cpu)) in enumerate(zip(rows, threads, strict=True)):
        for name, column in COLUMNS.items():
            columns[column][number] = row[name]
        columns["identifier"][number], columns["time"][number] = IDENT, 50 + number
        columns["pid"][number], columns["tid"][number], columns["cpu"][number] = pid, tid, cpu
        columns["stack"][number], columns["stop"][number], columns["misc"][number] = node, 1, 2
        told = {**row, "pid": pid, "tid": tid, "cpu": cpu, "time": 50 + number, "ident": IDENT, "chain": chain}
        expected.append(MAKE.sample(attr, **told, misc=2 | 1 << 8))
    emitter = Emitter(made)
    emitter.samples(attr.sample_type, columns, 0, len(rows))
    assert bytes(emitter.take()) == b"".join(expected)


EVERY = tuple(1 << bit for bit in range(24))


@given(subset(*EVERY), stacks(), st.data())
def test_samples_again_with_their_new_chains(fields: int, stack: Any, data: st.DataObject) -> None:
    """Nothing but registers and stack is gone, nothing but the chain is new."""
    made, chain, (node,) = stack
    attr = Attr(sample_type=fields | b.TIME, ids=[IDENT], regs=0b1011, intr=0b11, branch=8)
    draw = data.draw
    told = {name: draw(word) for name in (*COLUMNS, "transaction", "cgroup", "data_page", "code_page")}
    told |= {name: draw(ids) for name in ("pid", "tid", "cpu")}
    told |= {"read": [draw(word)], "intr": [draw(word), draw(word)], "ident": IDENT, "time": 99}
    # The size of raw data and what is in it are a multiple of 8 together.
    told |= {"raw": draw(st.binary(max_size=5)).ljust(12, b"r"), "aux": draw(st.sampled_from([b"", b"a" * 16]))}
    told["branches"] = draw(st.lists(st.tuples(word, word, st.just(1)), max_size=3))
    old = {
        "chain": draw(st.lists(code, max_size=5)),
        "regs": [draw(word) for _register in range(3)],
        "abi": draw(st.sampled_from([0, 2])),
        "stack": draw(st.sampled_from([b"", b"s" * 64])),
    }
    record = MAKE.sample(attr, **told, **old)
    event = event_of(attr)
    after = stitched_event(event)
    gone = b.REGS_USER | b.STACK_USER
    assert after.sample_type == (fields & ~gone | b.TIME | (b.CALLCHAIN if fields & gone else 0))
    with written(event, record, "file", 0) as reading:
        samples = reading.records().samples
        assert samples.count == 1
        emitter = Emitter(made)
        registers, nodes, stop = zeros("I", 1), zeros("I", 1), zeros("B", 1)
        registers[0], nodes[0], stop[0] = 3, node, 2
        one, skipped = memoryview(bytearray(b"\1")), zeros("B", 256)
        emitter.rewrite(memoryview(record), samples.position[0], samples, registers, nodes, stop, one, skipped, False)
    changed = Attr(**{**attr.__dict__, "sample_type": after.sample_type, "regs": 0, "stack": 0})
    assert bytes(emitter.take()) == MAKE.sample(changed, **told, chain=chain, misc=2 | 2 << 8)


def test_sizes_are_in_the_records_heads() -> None:
    """What the tests above rest on: their own records say how long they are."""
    for record in (MAKE.comm(Attr(), b"x"), MAKE.sample(Attr())):
        assert struct.unpack_from("<H", record, 6)[0] == len(record)
