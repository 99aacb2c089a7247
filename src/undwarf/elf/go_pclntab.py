# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The list of functions in Go's function table, as columns. Source: debug/gosym/pclntab.go of Go."""

from typing import Any

import cython
from cython.cimports.undwarf.elf.integers import integer_at

__all__ = ["read_functions"]


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
    """Fill ``columns`` (Q: starts, ends, offsets of records and of names in the table); the number of functions.

    At ``at`` are ``count`` pairs of integers of ``field`` bytes, the start of a function relative to ``base`` and its
    record's offset from ``records``, then the end of the last one. Records have at least ``record_size`` bytes; at
    ``name_at`` is the name's offset from ``names``. Entries out of order or outside of the table are left out.
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
            low = base + integer_at(view, place, field, big)
            record = integer_at(view, place + field, field, big)
            high = base + integer_at(view, place + 2 * field, field, big)
            if low < last or high <= low:
                continue
            if records > size or record > size - records or record_size > size - records - record:
                continue
            record += records
            name = integer_at(view, cython.cast(cython.Py_ssize_t, record + name_at), 4, big)
            if names > size or name >= size - names:
                continue
            start_column[kept] = low
            end_column[kept] = high
            record_column[kept] = record
            name_column[kept] = names + name
            kept += 1
            last = high
    return kept
