"""The samples of a page as rows: one for each, or for the equal ones in a span of time."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from undwarf.ordering import ascending
from undwarf.profile.grouping import Pairs, look_up, sums
from undwarf.views.kernels.page_columns import first_of, lower_halves, multiples

_PARTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
"""Into how many spans of time a recording may be divided whose rows are merged."""


class Rows(NamedTuple):
    """``key`` (I): the number of each row's combination of what rows have but time and weight; ``time`` (I), ``counts``
    (I), ``weight`` (Q). ``sample`` (I): one sample of each row; ``row`` (I): the row of each sample. ``span``: in which
    rows were merged, 0 for none."""

    key: memoryview
    time: memoryview
    counts: memoryview
    weight: memoryview
    sample: memoryview
    row: memoryview
    span: int


def combined(columns: Sequence[memoryview]) -> tuple[memoryview, list[Pairs]]:
    """(a number (I) for each distinct combination of the columns' entries, what they are, for :func:`column`)."""
    number, steps = columns[0], []
    for column in columns[1:]:
        pairs = Pairs(1024)
        number = pairs.column(number, column)
        steps.append(pairs)
    return number, steps


def parts_of(number: memoryview, steps: Sequence[Pairs]) -> list[memoryview]:
    """The columns of which :func:`combined` made these numbers."""
    found = []
    for pairs in reversed(steps):
        found.append(look_up(number, pairs.low()))
        number = look_up(number, pairs.high())
    return [number, *reversed(found)]


def merged(key: memoryview, time: memoryview, weight: memoryview, most: int, samples: memoryview | None = None) -> Rows:
    """At most ``most`` rows of samples with these keys, times and weights; more if there are more distinct keys.
    ``samples`` (Q): of entries that are sums, how many samples each is."""
    count = len(key)
    if count <= most:
        counts = memoryview(array("I", [1]) * count) if samples is None else lower_halves(samples)
        return Rows(key, time, counts, weight, ascending(count), ascending(count), 0)
    last = max(time)

    def grouped(parts: int) -> tuple[int, Pairs, memoryview]:
        span = last // parts + 1
        pairs = Pairs(most)
        return span, pairs, pairs.column(multiples(time, span), key)

    # The shortest spans that give few enough rows, by bisection: each attempt goes through all samples.
    span, pairs, row = grouped(_PARTS[0])
    low, high = 1, len(_PARTS)
    while low < high:
        middle = (low + high) // 2
        attempt = grouped(_PARTS[middle])
        if len(attempt[1]) <= most:
            span, pairs, row = attempt
            low = middle + 1
        else:
            high = middle
    start = multiples(pairs.high(), span, times=True)
    return Rows(
        pairs.low(),
        start,
        lower_halves(sums(row, samples, len(pairs))),
        sums(row, weight, len(pairs)),
        first_of(row, len(pairs)),
        row,
        span,
    )
