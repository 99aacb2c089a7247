# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads the functions of a unit, those inlined in them, and their names, in one pass."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags
from cython.cimports.undwarf.dwarf.reader_constants import MAX_HOPS, MAX_REUSED, DieKind, Next
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, ADDRX, REF, REF_ALT, REF_SIG8, STRP
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import copied, doubled, zeros
from undwarf.dwarf.die_cursor import DieCursor
from undwarf.dwarf.ranges import RangeLists


@cython.final
@cython.cclass
class UnitFunctions:
    """Reads the functions of one unit after the other, with their ranges and names."""

    def __init__(self, cursor: DieCursor, ranges: RangeLists) -> None:
        self.cursor = cursor
        self.reader = cursor.reader
        self.abbreviations = cursor.abbreviations
        self.ranges = ranges
        self.next_class = 0
        self.next_value = 0
        self.name_unit = -1
        self.die = zeros("Q", 0)
        self._reset()

    @cython.cfunc
    @cython.exceptval(-1)
    def _reset(self) -> cython.int:
        """Remove all functions, but reuse their memory (see :meth:`RangeLists.reset`)."""
        if not 0 < len(self.die) <= MAX_REUSED:
            self.die = zeros("Q", 64)
            self.origin = zeros("Q", 64)
            self.origin_class = zeros("B", 64)
            self.inlined = zeros("B", 64)
            self.parent = zeros("I", 64)
            self.file = zeros("I", 64)
            self.line = zeros("I", 64)
            self.column = zeros("I", 64)
        self.total = 0
        self.ranges.reset()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _grow(self) -> cython.int:
        n: cython.Py_ssize_t = self.total
        self.die = doubled(self.die, n)
        self.origin = doubled(self.origin, n)
        self.origin_class = doubled(self.origin_class, n)
        self.inlined = doubled(self.inlined, n)
        self.parent = doubled(self.parent, n)
        self.file = doubled(self.file, n)
        self.line = doubled(self.line, n)
        self.column = doubled(self.column, n)
        return 0

    def of_unit(self, unit: int) -> dict[str, memoryview]:
        """The functions with code in a unit whose bases are set, and the functions inlined in them.

        By function: ``die`` and ``origin`` (Q, offsets; ``origin`` is the DIE that has the name, ``kind`` (B) the class
        of the reference to it: REF, REF_ALT or 0), ``inlined`` (B), ``parent`` (I, the function it is inlined in,
        0xffffffff for none), ``file``, ``line``, ``column`` of the call (I). By range: ``start``, ``end`` (Q), ``of``
        (I, a function's number).
        """
        self._read_functions(unit, True)
        return {
            "die": copied(self.die, self.total),
            "origin": copied(self.origin, self.total),
            "kind": copied(self.origin_class, self.total),
            "inlined": copied(self.inlined, self.total),
            "parent": copied(self.parent, self.total),
            "file": copied(self.file, self.total),
            "line": copied(self.line, self.total),
            "column": copied(self.column, self.total),
            "start": copied(self.ranges.start, self.ranges.total),
            "end": copied(self.ranges.end, self.ranges.total),
            "of": copied(self.ranges.owner, self.ranges.total),
        }

    def by_address(self, unit: int) -> tuple[list[int], list[int], list[int]]:
        """Starts, ends and DIEs of the functions of a unit whose bases are set, by start, without inlined ones."""
        k: cython.Py_ssize_t
        sorted_already: cython.bint = True
        self._read_functions(unit, False)
        for k in range(1, self.ranges.total):
            if self.ranges.start[k] <= self.ranges.start[k - 1]:
                sorted_already = False
                break
        found = (
            [self.ranges.start[k] for k in range(self.ranges.total)],
            [self.ranges.end[k] for k in range(self.ranges.total)],
            [self.die[self.ranges.owner[k]] for k in range(self.ranges.total)],
        )
        if sorted_already:
            return found
        rows = sorted(zip(*found, strict=True))
        return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_functions(self, unit: cython.Py_ssize_t, inlined: cython.bint) -> cython.int:
        """Fill the columns, and those of ``ranges``, with a unit's functions."""
        cursor = self.cursor
        abbreviation: cython.Py_ssize_t
        outer: cython.uint
        follows: cython.int
        wanted_kinds: cython.int = DieKind.FUNCTION | DieKind.INLINED if inlined else DieKind.FUNCTION
        self.ranges.list_bytes = 0
        self._reset()
        in_c: cython.bint = cursor.is_c(unit)
        cursor.start(unit)
        cursor.enclosing[0] = NOTHING
        while True:
            if cursor.depth:
                cursor.skip_others(wanted_kinds, in_c, True)
            abbreviation = cursor.next_die()
            if abbreviation < 0:
                break
            outer = cursor.enclosing[cursor.depth]
            if self.abbreviations.kind[abbreviation] & wanted_kinds:
                outer = self._function(abbreviation, self.abbreviations.tag[abbreviation], cursor.die, outer)
            else:
                self.reader.skip_all(abbreviation)
            follows = cursor.next(abbreviation, False, in_c)
            if follows == Next.END:
                break
            if follows == Next.CHILD:
                cursor.enclosing[cursor.depth] = outer
        return 0

    @cython.cfunc
    @cython.exceptval(check=True)
    def _function(
        self, abbreviation: cython.Py_ssize_t, tag: cython.int, die: cython.Py_ssize_t, enclosing: cython.uint
    ) -> cython.uint:
        """Read the DIE of a function or of an inlined one; the row that encloses its children."""
        reader = self.reader
        abbreviations = self.abbreviations
        ranges = self.ranges
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.total
        attribute: cython.int
        low: cython.ulonglong = 0
        high: cython.ulonglong = 0
        has: cython.int = 0
        list_class: cython.int = 0
        list_value: cython.ulonglong = 0
        origin_class: cython.int = 0
        origin: cython.ulonglong = 0
        file: cython.ulonglong = 0
        line: cython.ulonglong = 0
        column: cython.ulonglong = 0
        named: cython.bint = False
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if attribute == attributes.LINKAGE_NAME or attribute == attributes.MIPS_LINKAGE_NAME:
                named = True
            if (
                attribute == attributes.LOW_PC
                or attribute == attributes.HIGH_PC
                or attribute == attributes.RANGES
                or attribute == attributes.ABSTRACT_ORIGIN
                or attribute == attributes.SPECIFICATION
                or attributes.CALL_COLUMN <= attribute <= attributes.CALL_LINE
            ):
                reader.read(i)
                if attribute == attributes.LOW_PC:
                    low = ranges.indexed_address(reader.value) if reader.value_class == ADDRX else reader.value
                    has |= 1
                elif attribute == attributes.HIGH_PC:
                    if reader.value_class == ADDRX:
                        high = ranges.indexed_address(reader.value)
                        has |= 2
                    else:
                        high = reader.value
                        has |= 2 if reader.value_class == ADDRESS else 4
                elif attribute == attributes.RANGES:
                    list_class = reader.value_class
                    list_value = reader.value
                    has |= 8
                elif attribute == attributes.ABSTRACT_ORIGIN or (
                    attribute == attributes.SPECIFICATION and origin_class == 0
                ):
                    origin_class = reader.value_class
                    origin = reader.value
                elif attribute == attributes.CALL_FILE:
                    file = reader.value
                elif attribute == attributes.CALL_LINE:
                    line = reader.value
                elif attribute == attributes.CALL_COLUMN:
                    column = reader.value
            else:
                reader.skip(i)
        if reader.at > reader.end:
            return enclosing
        if tag == tags.SUBPROGRAM and not has & 9:
            # A declaration or an abstract instance: functions in it are not inlined in the enclosing one.
            return NOTHING
        if n == len(self.die):
            self._grow()
        self.die[n] = die
        if origin_class in (REF, REF_ALT) and not named:
            self.origin[n] = origin
            self.origin_class[n] = cython.cast("unsigned char", origin_class)
        else:
            self.origin[n] = die
            self.origin_class[n] = 0
        self.inlined[n] = tag == tags.INLINED_SUBROUTINE
        self.parent[n] = enclosing if tag == tags.INLINED_SUBROUTINE else NOTHING
        self.file[n] = cython.cast("unsigned int", file if file < NOTHING else 0)
        self.line[n] = cython.cast("unsigned int", line if line < NOTHING else 0)
        self.column[n] = cython.cast("unsigned int", column if column < NOTHING else 0)
        self.total += 1
        if has & 8:
            ranges.add_list(list_class, list_value, cython.cast("unsigned int", n))
        elif has & 1:
            if has & 4:
                high += low
            ranges.add(low, high, cython.cast("unsigned int", n))
        return cython.cast(cython.uint, n)

    def name_of(self, offset: int) -> Any:
        """(class and value of the string, class and value of a reference, unit) of the name of the DIE at an offset.

        Follows DW_AT_abstract_origin and DW_AT_specification within the section to a linkage name, else to a plain
        one. The reference is that to another file where the name may be there; its class is 0 for none.
        """
        self._follow(offset)
        return self.reader.value_class, self.reader.value, self.next_class, self.next_value, self.name_unit

    @cython.locals(
        records="const unsigned int[::1]",
        kinds="const unsigned char[::1]",
        origins="const unsigned long long[::1]",
        numbers="unsigned int[::1]",
        i="Py_ssize_t",
    )
    def number_names(
        self, which: Any, kind: Any, origin: Any, names: Any, known: dict[int, int], first: int
    ) -> tuple[list[int], list[int]]:
        """Write the numbers of the names of the functions ``which`` (I), as :meth:`name_of` finds them, to
        ``names`` (I).

        ``kind`` and ``origin`` are columns of :meth:`of_unit`; ``known`` are the numbers of names by offset in
        `.debug_str`. Returns the offsets of new names, numbered from ``first`` on, and the functions whose names are
        in other sections.
        """
        records, kinds, origins, numbers = which, kind, origin, names
        new: list[int] = []
        left: list[int] = []
        for i in range(records.shape[0]):
            if kinds[records[i]] != REF_ALT:
                self._follow(origins[records[i]])
                if self.next_class == 0 and self.reader.value_class == STRP:
                    number = known.get(self.reader.value)
                    if number is None:
                        number = known[self.reader.value] = first + len(new)
                        new.append(self.reader.value)
                    numbers[records[i]] = number
                    continue
            left.append(records[i])
        return new, left

    @cython.cfunc
    @cython.exceptval(-1)
    def _follow(self, offset: cython.ulonglong) -> cython.int:
        """Find the name of a DIE: sets the reader's ``value_class`` and ``value``, ``name_unit``, and ``next_class``
        and ``next_value`` for a reference to another file."""
        reader = self.reader
        abbreviations = self.abbreviations
        _hops: cython.int
        abbreviation: cython.Py_ssize_t
        i: cython.Py_ssize_t
        attribute: cython.int
        next_class: cython.int
        next_value: cython.ulonglong
        plain_class: cython.int = 0
        plain: cython.ulonglong = 0
        at: cython.ulonglong = offset
        self.next_class = 0
        self.next_value = 0
        self.name_unit = -1
        for _hops in range(MAX_HOPS):
            abbreviation = reader.seek(at)
            if abbreviation < 0:
                break
            next_class = 0
            next_value = 0
            for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
                attribute = abbreviations.attribute[i]
                if (
                    attribute == attributes.NAME
                    or attribute == attributes.LINKAGE_NAME
                    or attribute == attributes.MIPS_LINKAGE_NAME
                    or attribute == attributes.ABSTRACT_ORIGIN
                    or attribute == attributes.SPECIFICATION
                ):
                    reader.read(i)
                    if reader.at > reader.end:
                        break
                    if attribute == attributes.LINKAGE_NAME or attribute == attributes.MIPS_LINKAGE_NAME:
                        if reader.value_class:
                            self.name_unit = reader.unit
                            return 0
                    elif attribute == attributes.NAME:
                        if plain_class == 0:
                            plain_class = reader.value_class
                            plain = reader.value
                            self.name_unit = reader.unit
                    elif next_class == 0 or attribute == attributes.ABSTRACT_ORIGIN:
                        next_class = reader.value_class
                        next_value = reader.value
                else:
                    reader.skip(i)
            if next_class == REF:
                at = next_value
                continue
            if next_class in (REF_ALT, REF_SIG8):
                self.next_class = next_class
                self.next_value = next_value
            break
        reader.value_class = plain_class
        reader.value = plain
        return 0
