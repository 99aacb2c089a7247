"""Every field of a sample, where the kernel puts it, and samples whose fields do not fit."""

import sys
from dataclasses import replace

import pytest
from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build
from tests.support.perfdata.records import EVERYTHING, VALUES

from undwarf.limits import DEFAULT


def word(data, position: int, at: int, width: int = 8) -> int:
    with data.window(position + at, width) as view:
        return int.from_bytes(view, sys.byteorder)


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_field_at_once(opened, order):
    make = Build(order)
    # The counter that is read goes on, and what it counted is the period.
    read = {"read": (3, 2, 3, 9)}
    records = [make.sample(EVERYTHING, **VALUES), make.sample(EVERYTHING, **{**VALUES, **read})]
    data = opened(make.file([EVERYTHING], records))
    samples = data.records().samples
    assert not list(data.defects)
    assert len(samples) == 2
    found = {
        name: getattr(samples, name)[1]
        for name in (
            "ip", "pid", "tid", "time", "addr", "cpu", "period", "weight", "data_src", "transaction", "phys_addr",
            "cgroup", "data_page_size", "code_page_size", "id", "stream_id",
        )
    }  # fmt: skip  # a table
    assert found == {
        "ip": 0xFFFF, "pid": 12, "tid": 13, "time": 5000, "addr": 0xADD0, "cpu": 3, "period": 2,
        "weight": 0xDEADBEEF, "data_src": 0x1234567890, "transaction": 0x77, "phys_addr": 0x9000, "cgroup": 0xC6,
        "data_page_size": 4096, "code_page_size": 8192, "id": 9, "stream_id": 0x57,
    }  # fmt: skip  # a table
    at = samples.position[1]
    assert [word(data, at, samples.read_at[1] + 8 * n) for n in range(4)] == [3, 2, 3, 9]
    assert [word(data, at, samples.callchain_at[1] + 8 * n) for n in range(4)] == [3, 2**64 - 512, 5, 6]
    assert word(data, at, samples.raw_at[1], 4) == 12
    branches = [word(data, at, samples.branch_at[1] + 8 * n) for n in range(10)]
    assert branches == [2, 7, 1, 2, 0x12345, 3, 4, 2, 8, 9]
    assert [word(data, at, samples.regs_at[1] + 8 * n) for n in range(3)] == [2, 0, 1]
    assert word(data, at, samples.stack_at[1]) == 512
    assert word(data, at, samples.stack_at[1] + 8 + 512) == 100
    assert [word(data, at, samples.regs_intr_at[1] + 8 * n) for n in range(4)] == [2, 21, 22, 23]


def test_raw_bytes_are_not_swapped(opened):
    make = Build(">")
    data = opened(make.file([EVERYTHING], [make.sample(EVERYTHING, **VALUES)]))
    samples = data.records().samples
    with data.window(samples.position[0] + samples.raw_at[0] + 4, 12) as view:
        assert bytes(view) == b"12345678abcd"


def test_fields_an_event_lacks_are_absent(opened):
    make = Build()
    samples = opened(make.file([Attr()], [make.sample(Attr())])).records().samples
    assert (samples.callchain_at[0], samples.regs_at[0], samples.stack_at[0]) == (0, 0, 0)
    assert samples.addr is None and samples.id is None and samples.regs_intr_at is None


def test_without_tid_and_cpu_they_are_minus_one(opened):
    attr = Attr(sample_type=b.IP)
    samples = opened(Build().file([attr], [Build().sample(attr)])).records().samples
    assert (samples.pid[0], samples.tid[0], samples.cpu[0], samples.time[0]) == (-1, -1, -1, 0)


@pytest.mark.parametrize(
    ("attr", "period"),
    [
        (Attr(sample_type=b.IP, period=4000), 4000),
        (Attr(sample_type=b.IP, period=4000, flags=b.FREQ), 1),
        (Attr(sample_type=b.IP | b.PERIOD, period=4000), 55),
    ],
)
def test_period(opened, attr, period):
    samples = opened(Build().file([attr], [Build().sample(attr, period=55)])).records().samples
    assert samples.period[0] == period


def test_stack_of_size_zero_has_no_dynamic_size(opened):
    attr = Attr(sample_type=b.PLAIN | b.STACK_USER | b.WEIGHT)
    data = opened(Build().file([attr], [Build().sample(attr, stack=b"", weight=5)]))
    assert data.records().samples.weight[0] == 5
    assert not list(data.defects)


def test_without_registers_only_their_abi_is_there(opened):
    attr = Attr(sample_type=b.PLAIN | b.REGS_USER | b.STACK_USER, regs=0b11)
    data = opened(Build().file([attr], [Build().sample(attr, abi=0, stack=bytes(16))]))
    samples = data.records().samples
    assert samples.stack_at[0] == samples.regs_at[0] + 8


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("hw_idx", [None, 3])
def test_branch_stack_without_branches_may_lack_its_index(opened, order, hw_idx):
    attr = Attr(sample_type=b.PLAIN | b.BRANCH_STACK | b.REGS_USER | b.WEIGHT, branch=1 << 17, regs=1)
    make = Build(order)
    data = opened(make.file([attr], [make.sample(attr, hw_idx=hw_idx, regs=(0x1234,), weight=8)]))
    samples = data.records().samples
    assert samples.weight[0] == 8
    assert word(data, samples.position[0], samples.regs_at[0] + 8) == 0x1234
    assert not list(data.defects)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("form", [0b11000, 0b11111])
def test_group_read(opened, order, form):
    attr = Attr(sample_type=b.PLAIN | b.READ | b.CALLCHAIN, read_format=form)
    times = (5,) * (form & 3).bit_count()
    values = (1,) * (2 * (1 + (form & 0x14).bit_count()))
    attr = replace(attr, ids=[1])
    make = Build(order)
    data = opened(make.file([attr], [make.sample(attr, read=(2, *times, *values), chain=(7,))]))
    samples = data.records().samples
    assert word(data, samples.position[0], samples.callchain_at[0] + 8) == 7


def test_stack_larger_than_its_space_is_kept_and_counted(opened):
    attr = Attr(sample_type=b.PLAIN | b.STACK_USER)
    data = opened(Build().file([attr], [Build().sample(attr, stack=bytes(64), dyn=65)] * 3))
    assert len(data.records().samples) == 3
    assert [(defect.kind, defect.count) for defect in data.defects] == [("stack dump larger than its space", 3)]


def broken(position: int, value: int, attr: Attr, **values: object) -> bytes:
    """A sample with the u64 at a field's offset overwritten."""
    raw = bytearray(Build().sample(attr, **values))
    raw[position : position + 8] = value.to_bytes(8, "little")
    return bytes(raw)


@pytest.mark.parametrize("value", [3, 1 << 32, 1 << 61, (1 << 61) + 1, 2**64 - 1])
@pytest.mark.parametrize("field", [b.CALLCHAIN, b.BRANCH_STACK, b.STACK_USER, b.AUX, b.READ], ids=lambda bit: hex(bit))
def test_counts_larger_than_the_record_drop_the_sample(opened, field, value):
    attr = Attr(sample_type=b.IP | field, read_format=8)
    raw = broken(16, value, attr, read=(0,))
    good = Build().sample(attr, ip=1, read=(0,))
    data = opened(Build().file([attr], [raw, good]))
    records = data.records()
    assert list(records.samples.ip) == [1]
    assert records.counts == {"SAMPLE": 2}
    assert [(defect.kind, defect.count) for defect in data.defects] == [("sample whose fields do not fit", 1)]


@pytest.mark.parametrize("size", [13, 2**31, 2**32 - 1])
def test_raw_larger_than_the_record_drops_the_sample(opened, size):
    attr = Attr(sample_type=b.IP | b.RAW)
    raw = bytearray(Build().sample(attr, raw=bytes(12)))
    raw[16:20] = size.to_bytes(4, "little")
    assert len(opened(Build().file([attr], [bytes(raw)])).records().samples) == 0


def test_sample_too_short_for_its_fixed_fields(opened):
    make = Build()
    data = opened(make.file([Attr()], [make.record(9, bytes(16)), make.sample(Attr())]))
    assert len(data.records().samples) == 1


def test_registers_that_do_not_fit(opened):
    attr = Attr(sample_type=b.IP | b.REGS_USER, regs=2**64 - 1)
    data = opened(Build().file([attr], [Build().sample(attr, regs=(1, 2))]))
    assert len(data.records().samples) == 0


def test_larger_sample_than_its_fields(opened):
    data = opened(Build().file([Attr()], [Build().sample(Attr(), ip=3, extra=bytes(16))]))
    assert list(data.records().samples.ip) == [3]


def test_id_in_the_middle_of_the_record(opened):
    attrs = [
        Attr(sample_type=b.IP | b.TID | b.TIME | b.ADDR | b.ID, ids=[1]),
        Attr(sample_type=b.IP | b.TID | b.TIME | b.ADDR | b.ID, ids=[2]),
    ]
    make = Build()
    data = opened(make.file(attrs, [make.sample(attrs[0], ident=2), make.sample(attrs[0], ident=1)]))
    assert list(data.records().samples.event) == [1, 0]


def test_id_zero_is_the_first_event_and_an_unknown_id_none(opened):
    attrs = [Attr(sample_type=b.IDENTIFIER | b.PLAIN, ids=[1]), Attr(sample_type=b.IDENTIFIER | b.PLAIN, ids=[2])]
    make = Build()
    data = opened(make.file(attrs, [make.sample(attrs[0], ident=n) for n in (0, 2, 3)]))
    records = data.records()
    assert list(records.samples.event) == [0, 1]
    assert [(defect.kind, defect.count) for defect in data.defects] == [("sample of an unknown event", 1)]


def test_a_single_event_needs_no_id(opened):
    attr = Attr(sample_type=b.IDENTIFIER | b.PLAIN, ids=[1])
    assert len(opened(Build().file([attr], [Build().sample(attr, ident=77)])).records().samples) == 1


def test_many_ids(opened):
    count = 3000
    attrs = [replace(Attr(sample_type=b.IDENTIFIER | b.IP), ids=[n * 2**32, n * 2**32 + 1]) for n in range(1, count)]
    make = Build()
    samples = [make.sample(attrs[n], ident=attrs[n].ids[n % 2]) for n in range(count - 1)]
    assert list(opened(make.file(attrs, samples)).records().samples.event) == list(range(count - 1))


def test_more_samples_than_the_first_columns_hold(opened):
    make = Build()
    attr = Attr(sample_type=b.IP | b.TIME | b.CALLCHAIN | b.ADDR)
    many = [make.sample(attr, ip=n, time=n + 1, addr=3 * n, chain=(n,)) for n in range(20_000)]
    samples = opened(make.file([attr], many)).records().samples
    assert list(samples.ip) == list(range(20_000))
    assert list(samples.addr) == [3 * n for n in range(20_000)]
    assert set(samples.callchain_at) == {32}


def test_limit_on_records(opened):
    make = Build()
    data = opened(make.file([Attr()], [make.sample(Attr())] * 50), limits=DEFAULT._replace(records=20))
    assert len(data.records().samples) == 20
    assert [defect.kind for defect in data.defects] == ["too many records"]


GROUP = Attr(sample_type=b.PLAIN | b.IDENTIFIER | b.READ, read_format=8 | 4, ids=[1, 2])
MEMBER = Attr(sample_type=b.PLAIN | b.IDENTIFIER | b.READ, read_format=8 | 4, ids=[3, 4])


def group_samples(opened, *reads, attrs=(GROUP, MEMBER), tids=(11,) * 9):
    """(event, id, period, time) of the samples made of what was read."""
    make = Build()
    records = [
        make.sample(GROUP, ident=1, time=number, tid=tid, read=(len(read) // 2, *read))
        for number, (read, tid) in enumerate(zip(reads, tids, strict=False), 1)
    ]
    samples = opened(make.file(list(attrs), records)).records().samples
    return list(zip(samples.event, samples.id, samples.period, samples.time, strict=True))


def test_counters_read_together_are_samples_with_what_they_counted(opened):
    assert group_samples(opened, (100, 1, 7, 3), (250, 1, 9, 3), (260, 1, 9, 3)) == [
        (0, 1, 100, 1), (1, 3, 7, 1), (0, 1, 150, 2), (1, 3, 2, 2), (0, 1, 10, 3),
    ]  # fmt: skip  # a table


def test_a_counter_goes_on_for_each_id_of_its_event(opened):
    found = group_samples(opened, (100, 1, 7, 3), (40, 2, 3, 4), (140, 1, 8, 3))
    assert [period for _event, _id, period, _time in found] == [100, 7, 40, 3, 40, 1]


def test_inherited_counters_go_on_for_each_thread(opened):
    inherited = [replace(attr, flags=attr.flags | 2) for attr in (GROUP, MEMBER)]
    reads = ((100, 1, 7, 3), (40, 1, 3, 3), (140, 1, 8, 3))
    found = group_samples(opened, *reads, attrs=inherited, tids=(11, 12, 11))
    assert [period for _event, _id, period, _time in found] == [100, 7, 40, 3, 40, 1]
    found = group_samples(opened, *reads, tids=(11, 12, 11))
    assert [period for _event, _id, period, _time in found][2:] == [(40 - 100) % 2**64, (3 - 7) % 2**64, 100, 5]


def test_counters_that_did_not_move_give_no_samples(opened):
    make = Build()
    other = Attr(sample_type=b.PLAIN | b.IDENTIFIER, ids=[9])
    records = [
        make.sample(GROUP, ident=1, time=1, read=(1, 5, 1)),
        make.sample(GROUP, ident=1, time=2, read=(1, 5, 1)),
        make.sample(other, ident=9, time=3, period=4),
    ]
    samples = opened(make.file([GROUP, MEMBER, other], records)).records().samples
    assert list(zip(samples.event, samples.period, samples.read_at, strict=True))[1:] == [(2, 4, 0)]


def test_a_counter_read_alone(opened):
    alone = Attr(sample_type=b.PLAIN | b.IDENTIFIER | b.READ, read_format=1 | 4, ids=[1])
    make = Build()
    records = [make.sample(alone, ident=1, time=at, period=1, read=(value, 5, 1)) for at, value in ((1, 30), (2, 70))]
    samples = opened(make.file([alone], records)).records().samples
    assert list(samples.period) == [30, 40]


def test_unknown_ids_are_counted_and_groups_are_bounded_by_the_events(opened):
    assert group_samples(opened, (100, 77, 7, 3)) == [(1, 3, 7, 1)]
    assert len(group_samples(opened, (1, 1, 2, 1, 3, 1, 4, 1, 5, 1))) == 2


def test_more_counters_than_columns_hold_and_the_limit_on_them(opened):
    make = Build()
    attrs = [Attr(sample_type=b.PLAIN | b.IDENTIFIER | b.READ, read_format=8 | 4, ids=[k + 1]) for k in range(500)]
    records = []
    for at in range(1, 31):
        read = [500] + [word for k in range(500) for word in (at, k + 1)]
        records.append(make.sample(attrs[0], ident=1, time=at, read=tuple(read)))
    data = make.file(attrs, records)
    samples = opened(data).records().samples
    assert samples.count == 15_000
    assert set(samples.period) == {1}
    limited = opened(data, limits=DEFAULT._replace(records=5000)).records().samples
    assert 0 < limited.count <= 5000
