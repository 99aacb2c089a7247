# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""What is decoded of records, as columns that grow: a row for each sample, and one for each entry of the side band."""

from typing import Any

import cython

from undwarf.column import zeros
from undwarf.perfdata.interner import Interner

# Columns of 64-bit words, samples first, then side band.
SAMPLE_WORDS = (
    "position", "time", "ip", "period", "addr", "weight", "data_src", "transaction", "phys_addr", "cgroup",
    "data_page_size", "code_page_size", "id", "stream_id",
)  # fmt: skip
SAMPLE_INTS = ("pid", "tid", "cpu")
SAMPLE_SHORTS = (
    "event", "misc", "callchain_at", "regs_at", "stack_at", "read_at", "raw_at", "branch_at", "regs_intr_at"
)  # fmt: skip
WORD_COLUMNS = cython.declare(cython.Py_ssize_t, 14)
SHORT_COLUMNS = cython.declare(cython.Py_ssize_t, 9)
SIDE_WORDS = ("time", "position", "a", "b", "c")
SIDE_INTS = ("pid", "tid")
SIDE_UNSIGNED = ("d", "name", "identity")


def _longer(column: Any, columns: int, used: int, capacity: int, wanted: int) -> Any:
    """Columns side by side in one buffer, moved to a longer one. A column not in the mask ``wanted`` was never
    written: it is not copied, so that its memory stays untouched and costs nothing."""
    old = memoryview(column)
    before = len(old) // columns
    code: Any = old.format
    new = zeros(code, columns * capacity)
    for i in range(columns):
        if wanted >> i & 1:
            new[i * capacity : i * capacity + used] = old[i * before : i * before + used]
    return new


@cython.cclass
class Columns:
    """Columns of one kind of number lie side by side in one buffer, each with room for ``_capacity`` rows."""

    def __init__(self, max_samples: int) -> None:
        self._capacity = min(4096, max_samples)
        self._q = zeros("Q", len(SAMPLE_WORDS) * self._capacity)
        self._i = zeros("i", len(SAMPLE_INTS) * self._capacity)
        self._h = zeros("H", len(SAMPLE_SHORTS) * self._capacity)
        self._wanted_words = 15
        self._wanted_shorts = 3
        self.samples = 0
        self._side_capacity = min(1024, max_samples)
        self._sq = zeros("Q", len(SIDE_WORDS) * self._side_capacity)
        self._si = zeros("i", len(SIDE_INTS) * self._side_capacity)
        self._su = zeros("I", len(SIDE_UNSIGNED) * self._side_capacity)
        self._sh = zeros("H", self._side_capacity)
        self._sb = zeros("B", self._side_capacity)
        self.sideband = 0
        self._names = Interner()
        self._identities = Interner()
        self._max_samples = max_samples

    @cython.locals(words="unsigned long long[::1]", shorts="unsigned short[::1]")
    def restart(self) -> None:
        """Forget samples and side band, for those who take them round by round; names, identities and counts stay."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        words = self._q
        shorts = self._h
        # Not every record writes all columns.
        for k in range(len(SAMPLE_WORDS)):
            if (self._wanted_words >> k) & 1:
                for i in range(self.samples):
                    words[k * self._capacity + i] = 0
        for k in range(len(SAMPLE_SHORTS)):
            if (self._wanted_shorts >> k) & 1:
                for i in range(self.samples):
                    shorts[k * self._capacity + i] = 0
        self.samples = 0
        self.sideband = 0

    def expect(self, samples: int, sideband: int) -> None:
        """Make room for that many samples and entries of the side band in all, so that columns grow once and not by
        doubling. Some more, since it is a guess: what is not written to costs nothing, moving to longer columns does.
        """
        wanted: cython.Py_ssize_t = min(samples, self._max_samples)
        if wanted > self._capacity:
            self._grow_samples(min(wanted + wanted // 3, self._max_samples))
        wanted = min(sideband, self._max_samples)
        if wanted > self._side_capacity:
            self._grow_sideband(min(wanted + wanted // 3, self._max_samples))

    @cython.cfunc
    def grow(self, rows: cython.Py_ssize_t) -> cython.bint:
        """Make room for so many samples and an entry of the side band more; False where there may be no more."""
        if self.samples >= self._max_samples or self.sideband >= self._max_samples:
            return False
        if self.samples + rows > self._capacity:
            if self._capacity >= self._max_samples:
                return False
            self._grow_samples(min(2 * self._capacity, self._max_samples))
        if self.sideband >= self._side_capacity:
            self._grow_sideband(min(2 * self._side_capacity, self._max_samples))
        self._names.grow()
        self._identities.grow()
        return True

    @cython.cfunc
    def _grow_samples(self, capacity: cython.Py_ssize_t) -> cython.int:
        self._q = _longer(self._q, len(SAMPLE_WORDS), self.samples, capacity, self._wanted_words)
        self._i = _longer(self._i, len(SAMPLE_INTS), self.samples, capacity, 7)
        self._h = _longer(self._h, len(SAMPLE_SHORTS), self.samples, capacity, self._wanted_shorts)
        self._capacity = capacity
        return 0

    @cython.cfunc
    def _grow_sideband(self, capacity: cython.Py_ssize_t) -> cython.int:
        self._sq = _longer(self._sq, len(SIDE_WORDS), self.sideband, capacity, 31)
        self._si = _longer(self._si, len(SIDE_INTS), self.sideband, capacity, 3)
        self._su = _longer(self._su, len(SIDE_UNSIGNED), self.sideband, capacity, 7)
        self._sh = _longer(self._sh, 1, self.sideband, capacity, 1)
        self._sb = _longer(self._sb, 1, self.sideband, capacity, 1)
        self._side_capacity = capacity
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def copy_row(self, source: cython.Py_ssize_t, target: cython.Py_ssize_t) -> cython.int:
        """Let a sample be like another one."""
        cap: cython.Py_ssize_t = self._capacity
        k: cython.Py_ssize_t
        for k in range(WORD_COLUMNS):
            if (self._wanted_words >> k) & 1:
                self._q[k * cap + target] = self._q[k * cap + source]
        for k in range(3):
            self._i[k * cap + target] = self._i[k * cap + source]
        for k in range(SHORT_COLUMNS):
            if (self._wanted_shorts >> k) & 1:
                self._h[k * cap + target] = self._h[k * cap + source]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def clear_row(self, row: cython.Py_ssize_t) -> cython.int:
        """Take back what was written of a sample: others need not write all columns."""
        cap: cython.Py_ssize_t = self._capacity
        k: cython.Py_ssize_t
        for k in range(WORD_COLUMNS):
            if (self._wanted_words >> k) & 1:
                self._q[k * cap + row] = 0
        for k in range(SHORT_COLUMNS):
            if (self._wanted_shorts >> k) & 1:
                self._h[k * cap + row] = 0
        return 0

    def sample_columns(self) -> dict[str, "memoryview[int]"]:
        """Sample columns by name, in stream order."""
        n = self.samples
        found = {}
        for names, block in ((SAMPLE_WORDS, self._q), (SAMPLE_INTS, self._i), (SAMPLE_SHORTS, self._h)):
            whole = memoryview(block)
            for number, name in enumerate(names):
                found[name] = whole[number * self._capacity : number * self._capacity + n]
        return found

    def side_columns(self) -> dict[str, "memoryview[int]"]:
        """Side-band columns by name, in stream order."""
        n = self.sideband
        found = {"kind": memoryview(self._sb)[:n], "misc": memoryview(self._sh)[:n]}
        for names, block in ((SIDE_WORDS, self._sq), (SIDE_INTS, self._si), (SIDE_UNSIGNED, self._su)):
            whole = memoryview(block)
            for number, name in enumerate(names):
                found[name] = whole[number * self._side_capacity : number * self._side_capacity + n]
        return found

    def names(self, first: int = 0) -> list[bytes]:
        """Names by number, from number ``first`` on; number 0 is the empty one."""
        return self._names.entries(first)

    def identities(self, first: int = 0) -> list[bytes]:
        """Keys of file identities by number, from ``first`` on: b"\\1" and the build-id part, or b"\\2" and device and
        inode."""
        return self._identities.entries(first)
