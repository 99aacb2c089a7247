"""Time order: rounds, records without a time, stability."""

import random

import pytest
from tests.support.perfdata import build as b
from tests.support.perfdata.build import Attr, Build

from undwarf.column import zeros
from undwarf.ordering import sort_order, take

MAKE = Build()
ATTR = Attr()


def column(values: list[int]) -> memoryview:
    found = zeros("Q", len(values))
    for number, value in enumerate(values):
        found[number] = value
    return found


@pytest.mark.parametrize("spread", [1, 5, 3000, 2**33, 2**64 - 1])
@pytest.mark.parametrize("count", [0, 1, 2, 1000, 5000])
def test_order_is_the_stable_sort(spread, count):
    chance = random.Random(count)
    times = [chance.randrange(spread) for _ in range(count)]
    assert list(sort_order(column(times))) == sorted(range(count), key=times.__getitem__)


@pytest.mark.parametrize("code", ["B", "H", "I", "i", "Q"])
def test_columns_in_order(code):
    source = zeros(code, 4)
    for number in range(4):
        source[number] = 10 + number
    order = zeros("I", 3)
    order[0], order[1], order[2] = 3, 0, 3
    found = take(source, order)
    assert (found.format, list(found)) == (code, [13, 10, 13])


def test_signs_survive():
    source = zeros("i", 2)
    source[0] = -1
    order = zeros("I", 1)
    assert list(take(source, order)) == [-1]


def test_samples_of_two_cpus_are_merged(opened):
    times = [10, 30, 50, 20, 40, 60]
    records = opened(MAKE.file([ATTR], [MAKE.sample(ATTR, time=time) for time in times])).records()
    assert list(records.samples.time) == times
    assert [times[number] for number in records.sample_order] == sorted(times)
    assert (records.first_time, records.last_time) == (10, 60)


def test_equal_times_stay_in_stream_order(opened):
    records = opened(MAKE.file([ATTR], [MAKE.sample(ATTR, time=5, ip=n) for n in (3, 1, 2)])).records()
    assert list(records.sample_order) == [0, 1, 2]


def test_sideband_comes_in_time_order(opened):
    stream = [MAKE.comm(ATTR, b"%d" % time, time=time) for time in (30, 10, 20)]
    records = opened(MAKE.file([ATTR], stream)).records()
    assert list(records.sideband.time) == [10, 20, 30]
    assert [records.names[number] for number in records.sideband.name] == [b"10", b"20", b"30"]


@pytest.mark.parametrize("none", [0, 2**64 - 1])
def test_record_without_time_comes_when_the_round_before_was_flushed(opened, none):
    stream = [
        MAKE.comm(ATTR, b"first", time=none),
        MAKE.sample(ATTR, time=100),
        MAKE.round(),
        MAKE.comm(ATTR, b"second", time=none),
        MAKE.sample(ATTR, time=200),
        MAKE.round(),
        MAKE.comm(ATTR, b"third", time=none),
        MAKE.sample(ATTR, time=300),
        MAKE.round(),
        MAKE.comm(ATTR, b"fourth", time=none),
    ]
    side = opened(MAKE.file([ATTR], stream)).records().sideband
    # A round only flushes what the one before it had seen.
    assert list(side.time) == [0, 0, 100, 200]


def test_record_older_than_what_was_flushed_is_counted(opened):
    stream = [MAKE.sample(ATTR, time=100), MAKE.round(), MAKE.round(), MAKE.sample(ATTR, time=50)]
    records = opened(MAKE.file([ATTR], stream)).records()
    assert records.unordered == 1
    assert list(records.sample_order) == [1, 0]


def test_without_times_the_stream_order_stays(opened):
    attr = Attr(sample_type=b.IP | b.TID)
    stream = [MAKE.comm(attr, b"a"), MAKE.sample(attr, ip=1), MAKE.comm(attr, b"b"), MAKE.sample(attr, ip=2)]
    records = opened(MAKE.file([attr], stream)).records()
    assert list(records.sample_order) == [0, 1]
    assert list(records.sideband.time) == [0, 0]


def test_without_trailers_side_band_follows_the_samples_before_it(opened):
    attr = Attr(flags=0)
    stream = [MAKE.comm(attr, b"a"), MAKE.sample(attr, time=70), MAKE.comm(attr, b"b"), MAKE.sample(attr, time=90)]
    assert list(opened(MAKE.file([attr], stream)).records().sideband.time) == [0, 70]
