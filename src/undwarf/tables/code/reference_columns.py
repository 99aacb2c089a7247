# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""References of code as columns: sorted, and grouped by the functions that they are from and to."""

from typing import Any

import cython

from undwarf.column import longer, zeros
from undwarf.tables.address_ranges import ascending

__all__ = [
    "between", "bound", "distinct", "has", "last_at", "of_kind", "relocated", "round_targets", "split_at", "within",
]  # fmt: skip  # a table

_RELATIVE = cython.declare(cython.ulonglong, 8)
_ABSOLUTE = cython.declare(cython.ulonglong, 1)
"""R_X86_64_RELATIVE and R_X86_64_64."""


@cython.locals(
    all_kinds="const unsigned char[::1]", all_from="const unsigned long long[::1]",
    all_to="const unsigned long long[::1]", to="unsigned long long[::1]", sources="unsigned long long[::1]",
    i=cython.Py_ssize_t, count=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def of_kind(kinds: Any, from_column: Any, to_column: Any, kind: cython.int) -> "tuple[memoryview, memoryview]":
    """(from Q, to Q) of the references of one kind."""
    all_kinds, all_from, all_to = kinds, from_column, to_column
    count = 0
    for i in range(all_kinds.shape[0]):
        count += all_kinds[i] == kind
    sources, to = zeros("Q", count), zeros("Q", count)
    count = 0
    for i in range(all_kinds.shape[0]):
        if all_kinds[i] == kind:
            sources[count] = all_from[i]
            to[count] = all_to[i]
            count += 1
    return memoryview(sources), memoryview(to)


@cython.locals(
    values="const unsigned long long[::1]", order="const unsigned int[::1]", found="unsigned long long[::1]",
    i=cython.Py_ssize_t, count=cython.Py_ssize_t, one=cython.ulonglong,
)  # fmt: skip  # rows of C types
def distinct(column: Any) -> Any:
    """The numbers (Q) of a column in ascending order, each once."""
    values = column
    order = ascending(column)
    found = zeros("Q", values.shape[0])
    count = 0
    for i in range(values.shape[0]):
        one = values[order[i]]
        if count == 0 or found[count - 1] != one:
            found[count] = one
            count += 1
    return memoryview(found)[:count]


@cython.locals(values="const unsigned long long[::1]")
def has(column: Any, value: cython.ulonglong) -> bool:
    """Whether a number is in an ascending column."""
    values = column
    at: cython.Py_ssize_t = _last(values, value)
    return bool(at >= 0 and values[at] == value)


def last_at(column: Any, value: cython.ulonglong) -> int:
    """The last index of a number in an ascending column; -1 for none."""
    at: cython.Py_ssize_t = _last(column, value)
    return at if at >= 0 and column[at] == value else -1


@cython.cfunc
@cython.exceptval(-2)
@cython.locals(
    values="const unsigned long long[::1]", low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t
)
def _last(values: Any, value: cython.ulonglong) -> cython.Py_ssize_t:
    """The index of the last number that is no greater than a value, -1 for none."""
    low, high = 0, values.shape[0]
    while low < high:
        middle = low + (high - low) // 2
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


@cython.locals(
    sources="const unsigned long long[::1]",
    targets="const unsigned long long[::1]",
    starts="const unsigned long long[::1]",
    found="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
)
def round_targets(from_column: Any, to_column: Any, starts_column: Any) -> Any:
    """The aligned targets (Q) of jumps with a start (Q, ascending) between the jump and its target."""
    sources, targets, starts = from_column, to_column, starts_column
    found = zeros("Q", sources.shape[0])
    count = 0
    for i in range(sources.shape[0]):
        if targets[i] & 15 == 0 and _last(starts, sources[i]) != _last(starts, targets[i]):
            found[count] = targets[i]
            count += 1
    return distinct(memoryview(found)[:count])


@cython.locals(
    sources="const unsigned long long[::1]", targets="const unsigned long long[::1]",
    starts="const unsigned long long[::1]", ends="const unsigned long long[::1]", pairs="unsigned long long[::1]",
    sorted_pairs="const unsigned long long[::1]", first="unsigned int[::1]", origin="unsigned int[::1]",
    i=cython.Py_ssize_t, k=cython.Py_ssize_t, count=cython.Py_ssize_t, capacity=cython.Py_ssize_t, of=cython.Py_ssize_t,
    to=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def between(from_column: Any, to_column: Any, starts_column: Any, ends_column: Any) -> "tuple[memoryview, memoryview]":
    """(first I, from I): the ranges with jumps into other ranges: those into range ``i`` are ``from[first[i]:first[i +
    1]]``, ascending."""
    sources, targets, starts, ends = from_column, to_column, starts_column, ends_column
    count, capacity = 0, 256
    pairs = zeros("Q", capacity)
    for i in range(sources.shape[0]):
        to = _last(starts, targets[i])
        if to < 0 or targets[i] >= ends[to] or starts[to] <= sources[i] < ends[to]:
            continue
        of = _last(starts, sources[i])
        if of < 0 or sources[i] >= ends[of]:
            continue
        if count == capacity:
            capacity *= 2
            pairs = longer(pairs, count, capacity)
        pairs[count] = cython.cast(cython.ulonglong, to) << 32 | cython.cast(cython.ulonglong, of)
        count += 1
    sorted_pairs = distinct(memoryview(pairs)[:count])
    count = sorted_pairs.shape[0]
    first, origin = zeros("I", starts.shape[0] + 1), zeros("I", count)
    k = 0
    for i in range(starts.shape[0]):
        first[i] = k
        while k < count and sorted_pairs[k] >> 32 == cython.cast(cython.ulonglong, i):
            origin[k] = sorted_pairs[k] & 0xFFFFFFFF
            k += 1
    first[starts.shape[0]] = k
    return memoryview(first), memoryview(origin)


@cython.locals(
    values="const unsigned long long[::1]", starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]", found="unsigned long long[::1]", i=cython.Py_ssize_t, at=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def within(column: Any, starts_column: Any, ends_column: Any) -> Any:
    """The numbers (Q) of a column in one of some ascending ranges."""
    values, starts, ends = column, starts_column, ends_column
    found = zeros("Q", values.shape[0])
    count = 0
    for i in range(values.shape[0]):
        at = _last(starts, values[i])
        if at >= 0 and values[i] < ends[at]:
            found[count] = values[i]
            count += 1
    return memoryview(found)[:count]


@cython.locals(
    values="const unsigned long long[::1]", ends="const unsigned long long[::1]", starts="unsigned long long[::1]",
    stops="unsigned long long[::1]", i=cython.Py_ssize_t, k=cython.Py_ssize_t, count=cython.Py_ssize_t,
    end=cython.ulonglong,
)  # fmt: skip  # rows of C types
def split_at(column: Any, ends_column: Any) -> "tuple[memoryview, memoryview]":
    """(starts Q, ends Q) of ranges from each number of an ascending column to the next one, or to the first of some
    ends (Q, ascending) after it. Those without an end are left out."""
    values, ends = column, ends_column
    starts, stops = zeros("Q", values.shape[0]), zeros("Q", values.shape[0])
    count = 0
    k = 0
    for i in range(values.shape[0]):
        while k < ends.shape[0] and ends[k] <= values[i]:
            k += 1
        if k == ends.shape[0]:
            break
        end = ends[k]
        if i + 1 < values.shape[0]:
            end = min(end, values[i + 1])
        if end > values[i]:
            starts[count] = values[i]
            stops[count] = end
            count += 1
    return memoryview(starts)[:count], memoryview(stops)[:count]


@cython.locals(
    words="const unsigned long long[::1]", symbols="const unsigned long long[::1]",
    places="unsigned long long[::1]", values="unsigned long long[::1]", order="const unsigned int[::1]",
    sorted_places="unsigned long long[::1]", sorted_values="unsigned long long[::1]", i=cython.Py_ssize_t,
    count=cython.Py_ssize_t, info=cython.ulonglong, symbol=cython.ulonglong, value=cython.ulonglong,
)  # fmt: skip  # rows of C types
def relocated(entries: Any, symbol_table: Any) -> "tuple[memoryview, memoryview]":
    """(address Q, value Q), by ascending address, of words that start-up code relocates, where the file alone
    determines the value.

    ``entries`` are Elf64_Rela and ``symbol_table`` Elf64_Sym, as words of 64 bits.
    """
    words, symbols = entries, symbol_table
    places, values = zeros("Q", words.shape[0] // 3), zeros("Q", words.shape[0] // 3)
    count = 0
    for i in range(words.shape[0] // 3):
        info = words[3 * i + 1]
        if info == _RELATIVE:
            value = 0
        elif info & 0xFFFFFFFF == _ABSOLUTE and info >> 32:
            symbol = info >> 32
            if 3 * symbol + 3 > cython.cast(cython.ulonglong, symbols.shape[0]):
                continue
            value = symbols[3 * symbol + 1]
            if value == 0:
                continue
        else:
            continue
        places[count] = words[3 * i]
        values[count] = value + words[3 * i + 2]
        count += 1
    order = ascending(memoryview(places)[:count])
    sorted_places, sorted_values = zeros("Q", count), zeros("Q", count)
    for i in range(count):
        sorted_places[i] = places[order[i]]
        sorted_values[i] = values[order[i]]
    return memoryview(sorted_places), memoryview(sorted_values)


@cython.locals(
    words="const unsigned long long[::1]", places="unsigned long long[::1]", numbers="unsigned int[::1]",
    order="const unsigned int[::1]", sorted_places="unsigned long long[::1]", sorted_numbers="unsigned int[::1]",
    i=cython.Py_ssize_t, count=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def bound(entries: Any) -> "tuple[memoryview, memoryview]":
    """(address Q, index of the entry I), by ascending address, of words that are bound to symbols."""
    words = entries
    places, numbers = zeros("Q", words.shape[0] // 3), zeros("I", words.shape[0] // 3)
    count = 0
    for i in range(words.shape[0] // 3):
        if words[3 * i + 1] >> 32:
            places[count] = words[3 * i]
            numbers[count] = cython.cast(cython.uint, i)
            count += 1
    order = ascending(memoryview(places)[:count])
    sorted_places, sorted_numbers = zeros("Q", count), zeros("I", count)
    for i in range(count):
        sorted_places[i] = places[order[i]]
        sorted_numbers[i] = numbers[order[i]]
    return memoryview(sorted_places), memoryview(sorted_numbers)
