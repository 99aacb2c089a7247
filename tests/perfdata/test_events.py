"""Event attributes of every size, and what events are called."""

from dataclasses import replace

import pytest
from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build

from undwarf.perfdata.events import default_name, parse_attr


@pytest.mark.parametrize("order", ["<", ">"])
def test_fields_of_an_attribute(opened, order):
    flags = b.SAMPLE_ID_ALL | b.FREQ | 1 << 15 | 1 << 38 | 1 << 5
    attr = Attr(
        type=0, config=1, sample_type=b.PLAIN | b.CALLCHAIN, period=999, read_format=4, flags=flags, branch=0x20008,
        regs=0xFF0FFF, stack=8192, intr=0xF, ids=[2**40, 3],
    )  # fmt: skip  # rows of fields
    event = opened(Build(order).file([attr], [])).events[0]
    assert (event.type, event.config, event.sample_period, event.freq) == (0, 1, 999, True)
    assert (event.sample_type, event.read_format, event.flags) == (attr.sample_type, 4, flags)
    assert (event.branch_sample_type, event.sample_regs_user, event.sample_stack_user) == (0x20008, 0xFF0FFF, 8192)
    assert (event.sample_regs_intr, event.ids) == (0xF, (2**40, 3))
    assert event.sample_id_all and event.defer_callchain
    assert event.precise_ip == 1
    assert event.clockid is None


@pytest.mark.parametrize("size", [0, 64, 72, 80, 96, 104, 112, 120, 128, 136, 144])
def test_attributes_of_every_version(opened, size):
    event = opened(Build().file([Attr(size=size, stack=8192, regs=7)], [], stride=max(size, 64) + 16)).events[0]
    assert event.sample_type == b.PLAIN
    assert event.sample_regs_user == (7 if size >= 96 else 0)


def test_attribute_of_the_future(opened):
    make = Build()
    data = opened(make.file([Attr(size=200, ids=[9])], [make.sample(Attr())], stride=216))
    assert data.events[0].ids == (9,)
    assert len(data.records().samples) == 1


@pytest.mark.parametrize(
    ("kind", "config", "flags", "name"),
    [
        (0, 0, 0, "cycles"),
        (0, 1, 1 << 5 | 1 << 6, "instructions:u"),
        (0, 0, 1 << 4 | 1 << 6, "cycles:k"),
        (0, 0, 2 << 15, "cycles:pp"),
        (0, (7 << 32) | 4, 0, "branches"),
        (1, 0, 0, "cpu-clock"),
        (1, 1, 0, "task-clock"),
        (1, 2, 0, "page-faults"),
        (1, 9, 0, "dummy"),
        (1, 99, 0, "unknown-software"),
        (2, 55, 0, "unknown tracepoint"),
        (3, 0, 0, "L1-dcache-loads"),
        (3, 0x10002, 0, "LLC-load-misses"),
        (3, 0x203, 0, "dTLB-prefetches"),
        (4, 0x1A8, 0, "raw 0x1a8"),
        (5, 0, 0, "mem:0x0"),
        (77, 0, 0, "unknown attr type: 77"),
    ],
)
def test_name_of_an_unnamed_event(kind, config, flags, name):
    raw = Build().attr(Attr(type=kind, config=config, flags=flags))
    assert default_name(parse_attr(raw, "little")) == name


def description(make: Build, *entries: tuple[Attr, str]) -> bytes:
    out = make.pack("II", len(entries), 144)
    for attr, name in entries:
        out += make.attr(attr) + make.pack("I", len(attr.ids)) + make.string(name) + make.words(*attr.ids)
    return out


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("form", ["file", "pipe"])
def test_names_from_the_description(opened, order, form):
    make = Build(order)
    attrs = [Attr(ids=[1, 2]), Attr(type=0, ids=[3])]
    text = description(make, (attrs[1], "cpu/cycles/u"), (attrs[0], "my clock"))
    data = opened(getattr(make, form)(attrs, [], {12: text}))
    assert [event.name for event in data.events] == ["my clock", "cpu/cycles/u"]


def test_description_without_ids_goes_by_place(opened):
    make = Build()
    attrs = [Attr(), Attr(type=0)]
    text = description(make, (attrs[0], "first"), (attrs[1], "second"))
    assert [event.name for event in opened(make.file(attrs, [], {12: text})).events] == ["first", "second"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_names_from_updates_in_a_pipe(opened, order):
    make = Build(order)
    attrs = [Attr(ids=[1]), Attr(ids=[2])]
    update = make.record(78, make.words(2, 2) + b"renamed\0")
    unit = make.record(78, make.words(0, 1) + b"ms\0\0\0\0\0\0")
    data = opened(make.pipe(attrs, [update, unit]))
    assert [event.name for event in data.events] == ["cpu-clock", "renamed"]


def test_update_after_the_first_samples(opened):
    make = Build()
    attr = replace(Attr(), ids=[4])
    records = [make.sample(attr), make.record(78, make.words(2, 4) + b"late\0\0\0\0")]
    data = opened(make.pipe([attr], records))
    assert data.events[0].name == "cpu-clock"
    data.records()
    assert data.events[0].name == "late"
