# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Finds where records begin, without looking at what they hold; either byte order."""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.record_types import RecordType

# Why plain_end() stopped.
SHORT = 0  # the record there continues past the bytes
SPECIAL = 1  # compressed data, or a record that more bytes follow (TRACING_DATA, AUXTRACE)
BROKEN = 2  # the record there claims a size below 8


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
@cython.locals(view="const unsigned char[::1]")
def _walk(view: Any, at: cython.Py_ssize_t, big: cython.bint) -> cython.Py_ssize_t:
    """Three times the offset where the walk stopped, plus why."""
    size: cython.Py_ssize_t = view.shape[0]
    kind: cython.uint
    length: cython.Py_ssize_t
    while at <= size - 8:
        if big:
            kind = view[at + 3] | (view[at + 2] << 8) | ((view[at + 1] | view[at]) << 16)
            length = (view[at + 6] << 8) | view[at + 7]
        else:
            kind = view[at] | (view[at + 1] << 8) | ((view[at + 2] | view[at + 3]) << 16)
            length = view[at + 6] | (view[at + 7] << 8)
        if length < 8:
            return 3 * at + 2
        if length > size - at:
            break
        if (
            kind == RecordType.HEADER_TRACING_DATA
            or kind == RecordType.AUXTRACE
            or kind == RecordType.COMPRESSED
            or kind == RecordType.COMPRESSED2
        ):
            return 3 * at + 1
        at += length
    return 3 * at


@cython.locals(view="const unsigned char[::1]")
def plain_end(view: Any, at: cython.Py_ssize_t, big: cython.bint) -> tuple[int, int]:
    """From the record at ``at`` on: the offset of the first one that is not plain and whole, and why.

    Every type above 65535 counts as plain.
    """
    found: cython.Py_ssize_t
    with cython.nogil:
        found = _walk(view, at, big)
    return found // 3, found % 3
