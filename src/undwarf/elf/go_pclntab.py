# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The list of functions in Go's function table, as columns. Source: debug/gosym/pclntab.go of Go."""

from typing import Any

import cython

__all__ = ["read_functions"]

BYTE = cython.declare(cython.ulonglong, 0xFF)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1, check=True)
@cython.locals(table="const unsigned char[::1]", i=cython.Py_ssize_t, value=cython.ulonglong)
def _word(table: Any, at: cython.Py_ssize_t, size: cython.Py_ssize_t, big: cython.bint) -> cython.ulonglong:
    """The unsigned number of ``size`` bytes at a place inside of the table."""
    value = 0
    for i in range(size):
        value |= cython.cast(cython.ulonglong, table[at + i]) << cython.cast(
            cython.int, 8 * (size - 1 - i) if big else 8 * i
        )
    return value


@cython.locals(
    view="const unsigned char[::1]",
    start_column="unsigned long long[::1]",
    end_column="unsigned long long[::1]",
    record_column="unsigned long long[::1]",
    name_column="unsigned long long[::1]",
    size=cython.Py_ssize_t,
    i=cython.Py_ssize_t,
    kept=cython.Py_ssize_t,
    place=cython.Py_ssize_t,
    low=cython.ulonglong,
    high=cython.ulonglong,
    last=cython.ulonglong,
    record=cython.ulonglong,
    name=cython.ulonglong,
)
def read_functions(
    table: Any,
    at: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    field: cython.Py_ssize_t,
    base: cython.ulonglong,
    records: cython.ulonglong,
    record_size: cython.ulonglong,
    name_at: cython.ulonglong,
    names: cython.ulonglong,
    big: cython.bint,
    columns: Any,
) -> int:
    """Fill ``columns`` (Q: starts, ends, places of records and of names in the table); how many functions there are.

    ``at``: where ``count`` pairs of numbers of ``field`` bytes begin, each the start of a function from ``base`` and
    its record from ``records`` on, with one more start behind them. Records have ``record_size`` bytes at least, the
    name's place from ``names`` on at ``name_at``. What does not ascend or lies outside of the table is left out.
    """
    view = table
    start_column, end_column, record_column, name_column = columns
    size = view.shape[0]
    kept = 0
    if at < 0 or count < 0 or field <= 0 or field > 8 or at > size or (2 * count + 1) > (size - at) // field:
        return 0
    last = 0
    with cython.nogil:
        for i in range(count):
            place = at + 2 * i * field
            low = base + _word(view, place, field, big)
            record = _word(view, place + field, field, big)
            high = base + _word(view, place + 2 * field, field, big)
            if low < last or high <= low:
                continue
            if records > size or record > size - records or record_size > size - records - record:
                continue
            record += records
            name = _word(view, cython.cast(cython.Py_ssize_t, record + name_at), 4, big)
            if names > size or name >= size - names:
                continue
            start_column[kept] = low
            end_column[kept] = high
            record_column[kept] = record
            name_column[kept] = names + name
            kept += 1
            last = high
    return kept
