# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Finds the boundaries of records by their headers, in either byte order."""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.scan_status import Boundary


@cython.locals(
    view="const unsigned char[::1]",
    size=cython.Py_ssize_t,
    kind=cython.uint,
    length=cython.Py_ssize_t,
    reason=cython.int,
)
def plain_end(view: Any, at: cython.Py_ssize_t, big: cython.bint) -> tuple[int, int]:
    """The offset of the first record from ``at`` on that is not complete and plain, and the reason (a ``Boundary``).

    All types above 65535 count as plain.
    """
    size = view.shape[0]
    reason = Boundary.INCOMPLETE
    with cython.nogil:
        while at <= size - 8:
            if big:
                kind = view[at + 3] | (view[at + 2] << 8) | ((view[at + 1] | view[at]) << 16)
                length = (view[at + 6] << 8) | view[at + 7]
            else:
                kind = view[at] | (view[at + 1] << 8) | ((view[at + 2] | view[at + 3]) << 16)
                length = view[at + 6] | (view[at + 7] << 8)
            if length < 8:
                reason = Boundary.INVALID
                break
            if length > size - at:
                break
            if (
                kind == RecordType.HEADER_TRACING_DATA
                or kind == RecordType.AUXTRACE
                or kind == RecordType.COMPRESSED
                or kind == RecordType.COMPRESSED2
            ):
                reason = Boundary.SPECIAL
                break
            at += length
    return at, reason
