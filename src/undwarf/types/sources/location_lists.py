# cython: language_level=3, boundscheck=True, annotation_typing=False
"""Location lists: address ranges and the location expression valid in each.

Source: DWARF 5, 7.7.3; DWARF 4, 7.7.3; GCC's wiki on DebugFission for the lists of split files of DWARF 4.
"""

from typing import Any

import cython

from undwarf.column import longer, zeros
from undwarf.types.sources.dwarf_numbers import Reader

MAX_ENTRIES = cython.declare(cython.Py_ssize_t, 100_000)
"""Limit of entries of one location list."""

Entry = tuple[int, int, bytes]
"""(start, end, expression) of one entry."""


@cython.final
@cython.cclass
class LocationLists(Reader):
    """The location lists of one unit, whose low address is ``base``.

    ``version`` is 5 for `.debug_loclists`, 4 for `.debug_loc`, 0 for `.debug_loc.dwo` as GCC emitted it before DWARF 5.
    ``addresses`` is the unit's part of `.debug_addr`. In `.debug_loclists` the unit's offset table is at ``table``,
    with entries of ``width`` bytes.
    """

    version = cython.declare(cython.int)
    address_size = cython.declare(cython.int)
    base = cython.declare(cython.ulonglong)
    addresses = cython.declare("const unsigned char[::1]")
    table = cython.declare(cython.ulonglong)
    width = cython.declare(cython.int)
    rows = cython.declare(object, visibility="readonly")
    words = cython.declare("unsigned long long[::1]")
    count = cython.declare(cython.Py_ssize_t)

    def __init__(
        self,
        data: Any,
        *,
        version: int,
        base: int,
        address_size: int,
        order: str,
        addresses: Any = b"",
        table: int = 0,
        width: int = 4,
    ) -> None:
        super().__init__(data, order)
        self.version = version
        self.base = base & 0xFFFFFFFFFFFFFFFF
        self.address_size = address_size
        self.addresses = addresses
        self.table = min(table, len(data))
        self.width = width
        self.rows = zeros("Q", 4 * 64)
        self.words = self.rows
        self.count = 0

    @cython.locals(k=cython.Py_ssize_t, at=cython.Py_ssize_t, size=cython.Py_ssize_t)
    def at_offset(self, offset: int) -> list[Entry]:
        """The entries of the list at an offset."""
        found = []
        for k in range(self.read(offset)):
            at = self.words[4 * k + 2]
            size = self.words[4 * k + 3]
            found.append((self.words[4 * k], self.words[4 * k + 1], bytes(self.data[at : at + size])))
        return found

    @cython.ccall
    @cython.returns(cython.Py_ssize_t)
    @cython.exceptval(-1)
    def read(self, offset: int) -> int:
        """Read the list at an offset into ``rows`` and return the number of its entries.

        ``rows`` (Q) has four columns: start, end, offset of the expression in the section, and its size, clamped to the
        section.
        """
        self.count = 0
        self.short = not 0 <= offset < self.end
        if not self.short:
            self.at = offset
            if self.version == 5:
                self.new()
            elif self.version == 4:
                self.old()
            else:
                self.split()
        return self.count

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(start=cython.ulonglong, stop=cython.ulonglong, size=cython.ulonglong, at=cython.Py_ssize_t)
    def add(self, start: int, stop: int, size: int) -> int:
        """Add an entry whose expression starts at the cursor, clamped to the section."""
        if size > cython.cast(cython.ulonglong, self.end - self.at):
            size = self.end - self.at
        at = 4 * self.count
        if at == self.words.shape[0]:
            self.rows = longer(self.rows, at, 2 * at)
            self.words = self.rows
        self.words[at] = start
        self.words[at + 1] = stop
        self.words[at + 2] = self.at
        self.words[at + 3] = size
        self.at += cython.cast(cython.Py_ssize_t, size)
        self.count += 1
        return 0

    @cython.ccall
    @cython.returns(cython.longlong)
    @cython.exceptval(-2)
    @cython.locals(number=cython.ulonglong, found=cython.ulonglong, end=cython.ulonglong)
    def offset_of(self, index: int) -> int:
        """Offset of the list with an index in the unit's table; -1 if there is none."""
        number = index
        end = self.end
        if number >= (end - self.table) // self.width:
            return -1
        self.short = False
        self.at = self.table + number * self.width
        found = self.fixed(self.width)
        return self.table + found if found < end - self.table else -1

    @cython.cfunc
    @cython.returns(cython.ulonglong)
    @cython.exceptval(check=False)
    @cython.locals(
        index=cython.ulonglong,
        value=cython.ulonglong,
        size=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
    )
    def address(self) -> int:
        """The address at the index that follows; 0 if out of range."""
        index = self.uleb()
        size = self.address_size
        if size <= 0 or index >= cython.cast(cython.ulonglong, self.addresses.shape[0] // size):
            return 0
        at = size * cython.cast(cython.Py_ssize_t, index)
        value = 0
        for i in range(size):
            value = value << 8 | self.addresses[at + i if self.big else at + size - 1 - i]
        return value

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(start=cython.ulonglong, stop=cython.ulonglong, base=cython.ulonglong, highest=cython.ulonglong)
    def old(self) -> int:
        """Read a list of `.debug_loc` (DWARF 2 to 4)."""
        base = self.base
        highest = 0xFFFFFFFFFFFFFFFF
        if self.address_size < 8:
            highest = (cython.cast(cython.ulonglong, 1) << 8 * self.address_size) - 1
        while self.more() and self.count < MAX_ENTRIES:
            start = self.fixed(self.address_size)
            stop = self.fixed(self.address_size)
            if self.short or (start == 0 and stop == 0):
                break
            if start == highest:
                base = stop
                continue
            self.add((base + start) & highest, (base + stop) & highest, self.fixed(2))
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(start=cython.ulonglong, stop=cython.ulonglong, base=cython.ulonglong, kind=cython.int)
    def split(self) -> int:
        """Read a list of `.debug_loc.dwo` as GCC emitted it before DWARF 5."""
        base = 0
        while self.more() and self.count < MAX_ENTRIES:
            kind = cython.cast(cython.int, self.fixed(1))
            if kind == 0:
                break
            if kind == 1:
                base = self.address()
                continue
            if kind == 2:
                start = self.address()
                stop = self.address()
            elif kind == 3:
                start = self.address()
                stop = start + self.fixed(4)
            elif kind == 4:
                start = base + self.fixed(4)
                stop = base + self.fixed(4)
            else:
                break
            self.add(start, stop, self.fixed(2))
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        start=cython.ulonglong, stop=cython.ulonglong, base=cython.ulonglong, size=cython.ulonglong, kind=cython.int
    )
    def new(self) -> int:
        """Read a list of `.debug_loclists` (DWARF 5)."""
        base = self.base
        while self.more() and self.count < MAX_ENTRIES:
            kind = cython.cast(cython.int, self.fixed(1))
            if kind == 0:
                break
            if kind == 1:
                base = self.address()
                continue
            if kind == 6:
                base = self.fixed(self.address_size)
                continue
            if kind == 9:  # GCC's pair of views: no addresses
                self.uleb()
                self.uleb()
                continue
            if kind == 2:
                start = self.address()
                stop = self.address()
            elif kind == 3:
                start = self.address()
                stop = start + self.uleb()
            elif kind == 4:
                start = base + self.uleb()
                stop = base + self.uleb()
            elif kind == 5:
                start = 0
                stop = 0xFFFFFFFFFFFFFFFF
                if self.address_size < 8:
                    stop = (cython.cast(cython.ulonglong, 1) << 8 * self.address_size) - 1
            elif kind == 7:
                start = self.fixed(self.address_size)
                stop = self.fixed(self.address_size)
            elif kind == 8:
                start = self.fixed(self.address_size)
                stop = start + self.uleb()
            else:
                break
            size = self.uleb()
            if self.short or size > cython.cast(cython.ulonglong, self.end - self.at):
                break
            self.add(start, stop, size)
        return 0
