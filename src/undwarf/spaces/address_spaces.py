# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Which mapping of an address space holds an address."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK, EXECUTABLE, OVER_FILE


@cython.final
@cython.cclass
class AddressSpaces:
    """Snapshots of address spaces, in the columns of :meth:`undwarf.spaces.mappings.Mappings.columns`."""

    images: Any

    def __init__(self, columns: dict[str, memoryview]) -> None:
        self.set_columns(columns)

    def set_columns(self, columns: dict[str, memoryview]) -> None:
        """Take the snapshots as they are now."""
        self.chunk_count = columns["chunk_count"]
        self.starts = columns["starts"]
        self.ends = columns["ends"]
        self.offsets = columns["offsets"]
        self.images = columns["images"]
        self.flags = columns["flags"]
        self.lists = columns["lists"]
        self.snapshot_at = columns["snapshot_at"]
        self.snapshot_count = columns["snapshot_count"]

    def mapping(self, space: cython.uint, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The entry of the mapping that holds ``address`` in a snapshot, or -1."""
        first: cython.Py_ssize_t
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        if space == NOTHING:
            return -1
        first = self.snapshot_at[space]
        high = self.snapshot_count[space]
        while low < high:
            middle = (low + high) >> 1
            if self.starts[CHUNK * self.lists[first + middle]] <= address:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return -1
        chunk = self.lists[first + low - 1]
        low = chunk * CHUNK
        high = low + self.chunk_count[chunk]
        first = low
        while low < high:
            middle = (low + high) >> 1
            if self.starts[middle] <= address:
                low = middle + 1
            else:
                high = middle
        if low == first or self.ends[low - 1] <= address or self.flags[low - 1] == OVER_FILE:
            return -1
        return low - 1

    def code_of(self, space: cython.uint, image: cython.uint) -> cython.Py_ssize_t:
        """The entry of the first mapping of an image's code in a snapshot, or -1."""
        i: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        first: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        if space == NOTHING:
            return -1
        first = self.snapshot_at[space]
        for i in range(first, first + self.snapshot_count[space]):
            chunk = self.lists[i]
            for entry in range(chunk * CHUNK, chunk * CHUNK + self.chunk_count[chunk]):
                if self.images[entry] == image and self.flags[entry] & EXECUTABLE:
                    return entry
        return -1
