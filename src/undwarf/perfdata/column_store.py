# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The columns that records are decoded into: a row for each sample, and one for each entry of the side band."""

from enum import IntEnum
from typing import Any

import cython

from undwarf.column import zeros
from undwarf.perfdata.interner import Interner
from undwarf.perfdata.sample_layout import SampleInt, SampleShort, SampleWord
from undwarf.perfdata.sideband_kinds import SideInt, SideNumber, SideWord

WORD_COLUMNS = cython.declare(cython.Py_ssize_t, len(SampleWord))
INT_COLUMNS = cython.declare(cython.Py_ssize_t, len(SampleInt))
SHORT_COLUMNS = cython.declare(cython.Py_ssize_t, len(SampleShort))
ALWAYS_WRITTEN_WORDS = 1 << SampleWord.POSITION | 1 << SampleWord.TIME | 1 << SampleWord.IP | 1 << SampleWord.PERIOD
ALWAYS_WRITTEN_SHORTS = 1 << SampleShort.EVENT | 1 << SampleShort.MISC
ALL = -1


def _longer(block: Any, columns: int, used: int, capacity: int, written: int) -> Any:
    """A block of columns moved to one with a larger capacity. A column that is not in the mask ``written`` is not
    copied, so that its memory stays untouched and costs nothing."""
    old = memoryview(block)
    before = len(old) // columns
    code: Any = old.format
    new = zeros(code, columns * capacity)
    for i in range(columns):
        if written >> i & 1:
            new[i * capacity : i * capacity + used] = old[i * before : i * before + used]
    return new


def _by_name(block: Any, columns: type[IntEnum], capacity: int, used: int) -> "dict[str, memoryview[int]]":
    """The used rows of each column of a block."""
    whole = memoryview(block)
    return {one.name.lower(): whole[one * capacity : one * capacity + used] for one in columns}


@cython.final
@cython.cclass
class ColumnStore:
    """Columns that grow, up to ``max_rows`` samples and as many entries of the side band.

    Columns of one type are in one block, each with ``capacity`` rows: row ``n`` of column ``k`` is number
    ``k * capacity + n``. A column is zero where it was never written.
    """

    def __init__(self, max_rows: int) -> None:
        self.capacity = min(4096, max_rows)
        self.words = zeros("Q", len(SampleWord) * self.capacity)
        self.ints = zeros("i", len(SampleInt) * self.capacity)
        self.shorts = zeros("H", len(SampleShort) * self.capacity)
        self._written_words = ALWAYS_WRITTEN_WORDS
        self._written_shorts = ALWAYS_WRITTEN_SHORTS
        self.samples = 0
        self.side_capacity = min(1024, max_rows)
        self.side_words = zeros("Q", len(SideWord) * self.side_capacity)
        self.side_ints = zeros("i", len(SideInt) * self.side_capacity)
        self.side_numbers = zeros("I", len(SideNumber) * self.side_capacity)
        self.side_miscs = zeros("H", self.side_capacity)
        self.side_kinds = zeros("B", self.side_capacity)
        self.sideband = 0
        self.names = Interner()
        self.identities = Interner()
        self._max_rows = max_rows

    def will_write(self, words: int, shorts: int) -> None:
        """Samples may write these columns, bit masks of ``SampleWord`` and ``SampleShort``."""
        self._written_words |= words
        self._written_shorts |= shorts

    @cython.locals(i=cython.Py_ssize_t)
    def clear(self) -> None:
        """Remove samples and side band; names and identities keep their numbers."""
        # Not every record writes all columns, so that rows have to be zero.
        for i in range(self.samples):
            self.clear_sample(i)
        self.samples = 0
        self.sideband = 0

    def expect(self, samples: int, sideband: int) -> None:
        """Reserve space for that many samples and entries of the side band in all, so that columns grow once and not by
        doubling. Some more is reserved, since it is a guess: what is not written costs nothing, moving columns does.
        """
        wanted: cython.Py_ssize_t = min(samples, self._max_rows)
        if wanted > self.capacity:
            self._grow_samples(min(wanted + wanted // 3, self._max_rows))
        wanted = min(sideband, self._max_rows)
        if wanted > self.side_capacity:
            self._grow_sideband(min(wanted + wanted // 3, self._max_rows))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_full(self, samples: cython.Py_ssize_t, sideband: cython.bint) -> cython.bint:
        """Whether so many samples, or one entry of the ``sideband``, might not fit."""
        return (
            self.samples + samples > self.capacity
            or self.sideband >= self.side_capacity
            or (sideband and (self.names.is_full() or self.identities.is_full()))
        )

    @cython.cfunc
    def grow(self, samples: cython.Py_ssize_t) -> cython.bint:
        """Reserve space for so many more samples and one more entry of the side band; False at the limit."""
        if self.samples >= self._max_rows or self.sideband >= self._max_rows:
            return False
        if self.samples + samples > self.capacity:
            if self.capacity >= self._max_rows:
                return False
            self._grow_samples(min(2 * self.capacity, self._max_rows))
        if self.sideband >= self.side_capacity:
            self._grow_sideband(min(2 * self.side_capacity, self._max_rows))
        self.names.grow()
        self.identities.grow()
        return True

    @cython.cfunc
    def _grow_samples(self, capacity: cython.Py_ssize_t) -> cython.int:
        self.words = _longer(self.words, len(SampleWord), self.samples, capacity, self._written_words)
        self.ints = _longer(self.ints, len(SampleInt), self.samples, capacity, ALL)
        self.shorts = _longer(self.shorts, len(SampleShort), self.samples, capacity, self._written_shorts)
        self.capacity = capacity
        return 0

    @cython.cfunc
    def _grow_sideband(self, capacity: cython.Py_ssize_t) -> cython.int:
        self.side_words = _longer(self.side_words, len(SideWord), self.sideband, capacity, ALL)
        self.side_ints = _longer(self.side_ints, len(SideInt), self.sideband, capacity, ALL)
        self.side_numbers = _longer(self.side_numbers, len(SideNumber), self.sideband, capacity, ALL)
        self.side_miscs = _longer(self.side_miscs, 1, self.sideband, capacity, ALL)
        self.side_kinds = _longer(self.side_kinds, 1, self.sideband, capacity, ALL)
        self.side_capacity = capacity
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def copy_sample(self, source: cython.Py_ssize_t, target: cython.Py_ssize_t) -> cython.int:
        """Copy all columns of row ``source`` to row ``target``."""
        cap: cython.Py_ssize_t = self.capacity
        k: cython.Py_ssize_t
        for k in range(WORD_COLUMNS):
            if (self._written_words >> k) & 1:
                self.words[k * cap + target] = self.words[k * cap + source]
        for k in range(INT_COLUMNS):
            self.ints[k * cap + target] = self.ints[k * cap + source]
        for k in range(SHORT_COLUMNS):
            if (self._written_shorts >> k) & 1:
                self.shorts[k * cap + target] = self.shorts[k * cap + source]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def clear_sample(self, row: cython.Py_ssize_t) -> cython.int:
        """Set a row to zero, since the next sample there need not write all columns."""
        cap: cython.Py_ssize_t = self.capacity
        k: cython.Py_ssize_t
        for k in range(WORD_COLUMNS):
            if (self._written_words >> k) & 1:
                self.words[k * cap + row] = 0
        for k in range(SHORT_COLUMNS):
            if (self._written_shorts >> k) & 1:
                self.shorts[k * cap + row] = 0
        return 0

    def sample_columns(self) -> "dict[str, memoryview[int]]":
        """Sample columns by name, in stream order."""
        return {
            **_by_name(self.words, SampleWord, self.capacity, self.samples),
            **_by_name(self.ints, SampleInt, self.capacity, self.samples),
            **_by_name(self.shorts, SampleShort, self.capacity, self.samples),
        }

    def side_columns(self) -> "dict[str, memoryview[int]]":
        """Side-band columns by name, in stream order."""
        return {
            "kind": memoryview(self.side_kinds)[: self.sideband],
            "misc": memoryview(self.side_miscs)[: self.sideband],
            **_by_name(self.side_words, SideWord, self.side_capacity, self.sideband),
            **_by_name(self.side_ints, SideInt, self.side_capacity, self.sideband),
            **_by_name(self.side_numbers, SideNumber, self.side_capacity, self.sideband),
        }
