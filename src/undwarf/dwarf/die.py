# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Debugging information entries (DIEs) as objects, and their section.

Source: DWARF 5, 7.5.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags
from cython.cimports.undwarf.dwarf.reader_constants import MAX_STRING, NULL_ENTRY
from cython.cimports.undwarf.dwarf.type_sizes import size_at
from cython.cimports.undwarf.dwarf.value_classes import (
    BLOCK,
    REF,
    REF_ALT,
    REF_SIG8,
    SIGNED,
    STRING,
    STRP,
    STRP_ALT,
    STRX,
    UNSIGNED,
)

from undwarf.column import with_room, zeros
from undwarf.dwarf.abbreviations import AbbreviationTables
from undwarf.dwarf.attribute_values import AttributeReader
from undwarf.dwarf.die_cursor import DieCursor
from undwarf.dwarf.functions import UnitFunctions
from undwarf.dwarf.ranges import RangeLists
from undwarf.dwarf.unit_index import UnitIndex
from undwarf.dwarf.units import UnitTable

MAX_REFERENCE = cython.declare(cython.ulonglong, 1 << 62)
VARIABLE_NUMBERS = cython.declare(cython.Py_ssize_t, 12)
"""Length of a row of :meth:`DebugInfo.variables`."""


@cython.final
@cython.cclass
class DebugInfo:
    """`.debug_info` or `.debug_types`, with the sections that its attributes refer to.

    Its parts share one reader, whose position each query sets first.
    """

    def __init__(
        self,
        data: Any,
        abbrevs: Any,
        *,
        big: bool = False,
        types: bool = False,
        ranges: Any = b"",
        rnglists: Any = b"",
        addresses: Any = b"",
        code: Any = None,
        max_ranges: int = 1 << 22,
        known_strings: "dict[int, str] | None" = None,
        first_number: int = 0,
    ) -> None:
        """``code`` is as :class:`RangeLists` takes it. ``known_strings`` are strings of `.debug_str` by offset, and
        those of `.debug_str_offsets` by ``~(unit << 32 | index)``; whoever reads others adds them. Where units of
        several sections share them, ``first_number`` is the number of the first unit here."""
        self.units = UnitTable(data, big=big, types=types)
        self.abbreviations = AbbreviationTables(abbrevs)
        self.reader = AttributeReader(data, self.units, self.abbreviations, big=big)
        self.cursor = DieCursor(self.reader)
        self.ranges = RangeLists(
            self.reader, ranges, rnglists, addresses, zeros("Q", 0) if code is None else code, max_ranges
        )
        self.functions = UnitFunctions(self.cursor, self.ranges)
        self.index = UnitIndex(self.cursor)
        self.variable_rows = zeros("Q", VARIABLE_NUMBERS * 64)
        self.known_strings = {} if known_strings is None else known_strings
        self.first_number = first_number

    @property
    def damaged(self) -> int:
        """Number of reads that failed."""
        count: cython.Py_ssize_t = self.units.damaged + self.abbreviations.damaged + self.reader.damaged
        return count

    def entry(self, unit: int, offset: int, space: Any = None) -> "Entry | None":
        """The DIE at an offset of a unit, None where there is none that can be read; its tag is 0 for the null entry
        that ends a list of siblings. ``space`` becomes its attribute.
        """
        found: Entry | None = self.entry_at(unit, offset, space)
        return found

    @cython.cfunc
    def entry_at(self, unit: cython.Py_ssize_t, offset: cython.ulonglong, space: Any) -> Any:
        """As :meth:`entry`."""
        die: cython.Py_ssize_t
        first: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t
        if offset < self.units.first[unit] or offset >= self.units.end[unit]:
            return None
        die = cython.cast("Py_ssize_t", offset)
        self.reader.enter(unit)
        self.reader.at = die
        abbreviation = self.reader.read_code()
        first = self.reader.at
        if abbreviation != NULL_ENTRY:
            if abbreviation >= 0:
                self.reader.skip_all(abbreviation)
            if abbreviation < 0 or self.reader.at > self.reader.end:
                self.reader.damaged += 1
                return None
        return _entry(self, space, unit, die, max(abbreviation, -1), first, self.reader.at, 0)

    def entries(self, unit: int, offset: int, wanted: Any, limit: int, space: Any = None) -> "list[Entry]":
        """Descendants of a DIE whose first child is at an offset, in their order, at most ``limit``.

        ``wanted`` has flags by tag (0 to 252): 1 the DIE is wanted, 2 its children are looked at as well (``depth`` one
        more); those of others are skipped. Flags 253 to 255 are those of DW_TAG_GNU_template_template_param,
        DW_TAG_GNU_template_parameter_pack and DW_TAG_GNU_formal_parameter_pack.
        """
        total: cython.Py_ssize_t = self.cursor.gather(unit, offset, wanted, limit)
        number: cython.Py_ssize_t = unit
        return [self.gathered(space, number, k) for k in range(total)]

    def members(self, unit: int, offset: int, wanted: Any, limit: int, space: Any = None) -> "list[Any]":
        """As :meth:`entries`, but with a tuple for each member that is neither static nor a bit field and whose type is
        in this section: (name, offset, size as of :meth:`Entry.size_of_type`, offset of its type's DIE)."""
        k: cython.Py_ssize_t
        total: cython.Py_ssize_t = self.cursor.gather(unit, offset, wanted, limit)
        number: cython.Py_ssize_t = unit
        found: list[Any] = []
        for k in range(total):
            one: Any = self.plain_member(space, number, k)
            found.append(self.gathered(space, number, k) if one is None else one)
        return found

    @cython.cfunc
    def gathered(self, space: Any, unit: cython.Py_ssize_t, k: cython.Py_ssize_t) -> Any:
        """The k-th DIE that the cursor has gathered."""
        below = self.cursor.below
        return _entry(
            self, space, unit, below[5 * k], below[5 * k + 1], below[5 * k + 2], below[5 * k + 3], below[5 * k + 4]
        )

    @cython.cfunc
    def plain_member(self, space: Any, unit: cython.Py_ssize_t, k: cython.Py_ssize_t) -> Any:
        """The tuple of :meth:`members` for the k-th gathered DIE; None for others."""
        reader = self.reader
        abbreviations = self.abbreviations
        i: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t = self.cursor.below[5 * k + 1]
        attribute: cython.int
        typed: cython.bint = False
        kind: cython.int = 0
        name: cython.ulonglong = 0
        length: cython.ulonglong = 0
        place: cython.ulonglong = 0
        target: cython.ulonglong = 0
        size: cython.longlong
        if abbreviations.tag[abbreviation] != tags.MEMBER:
            return None
        reader.enter(unit)
        reader.at = self.cursor.below[5 * k + 2]
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if attribute == attributes.NAME:
                reader.read(i)
                kind = reader.value_class
                name = reader.value
                length = reader.value_size
            elif attribute == attributes.TYPE:
                reader.read(i)
                if reader.value_class != REF:
                    return None
                target = min(reader.value, MAX_REFERENCE)
                typed = True
            elif attribute == attributes.DATA_MEMBER_LOCATION:
                reader.read(i)
                if (
                    reader.value_class != UNSIGNED and reader.value_class != SIGNED
                ) or reader.value >= MAX_REFERENCE >> 4:
                    return None
                place = reader.value
            elif (
                attribute == attributes.BIT_SIZE
                or attribute == attributes.DATA_BIT_OFFSET
                or attribute == attributes.EXTERNAL
                or attribute == attributes.DECLARATION
                or attribute == attributes.CONST_VALUE
            ):
                return None
            else:
                reader.skip(i)
        if not typed:
            return None
        text: Any = self.text(kind, name, length, unit, space)
        size = size_at(self.reader, target)
        return text, place, size, target

    def variable(self, offset: int, space: Any) -> "tuple[str, int] | None":
        """Name and offset of the type of the DIE at an offset; None where it does not have both in this file."""
        reader = self.reader
        abbreviations = self.abbreviations
        i: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t
        attribute: cython.int
        kind: cython.int = 0
        name: cython.ulonglong = 0
        length: cython.ulonglong = 0
        target: cython.ulonglong = 0
        abbreviation = reader.seek(offset)
        if abbreviation < 0:
            return None
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if attribute == attributes.NAME:
                reader.read(i)
                kind = reader.value_class
                name = reader.value
                length = reader.value_size
            elif attribute == attributes.TYPE:
                reader.read(i)
                target = reader.value if reader.value_class == REF and reader.value < MAX_REFERENCE else 0
            else:
                reader.skip(i)
        if kind == 0 or target == 0 or reader.at > reader.end:
            return None
        text: Any = self.text(kind, name, length, reader.unit, space)
        return (text, target) if text else None

    @cython.cfunc
    def text(
        self, kind: cython.int, value: cython.ulonglong, size: cython.ulonglong, unit: cython.Py_ssize_t, space: Any
    ) -> Any:
        """The string of an attribute's value; empty where it is none."""
        known: Any = None
        start: cython.Py_ssize_t
        if kind == STRP:
            known = self.known_strings.get(value)
        elif kind == STRX and value >> 32 == 0:
            known = self.known_strings.get(~(unit + self.first_number << 32 | cython.cast(cython.Py_ssize_t, value)))
        elif kind == STRING:
            start = cython.cast("Py_ssize_t", value)
            return _text(self.reader.data, start, start + cython.cast("Py_ssize_t", min(size, MAX_STRING)))
        elif kind < STRING or kind > STRP_ALT:
            return ""
        return space.file.string(kind, value, unit + self.first_number, space.data) if known is None else known

    def variables(self, unit: int, offset: int, wanted: Any, limit: int) -> Any:
        """The DIEs that :meth:`entries` finds below a function, as VARIABLE numbers (Q) each: tag, depth, offset, then
        class and value of attributes.

        Of variables and parameters: DW_AT_abstract_origin, DW_AT_type, DW_AT_name, DW_AT_location and its size. Of all
        others: DW_AT_low_pc, DW_AT_high_pc, DW_AT_ranges. The next call writes to the same memory.
        """
        reader = self.reader
        abbreviations = self.abbreviations
        cursor = self.cursor
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t
        attribute: cython.int
        variable: cython.bint
        total: cython.Py_ssize_t = cursor.gather(unit, offset, wanted, limit)
        if VARIABLE_NUMBERS * total > len(self.variable_rows):
            self.variable_rows = with_room(self.variable_rows, 0, VARIABLE_NUMBERS * total)
        for k in range(total):
            row = VARIABLE_NUMBERS * k
            abbreviation = cursor.below[5 * k + 1]
            variable = (
                abbreviations.tag[abbreviation] == tags.VARIABLE
                or abbreviations.tag[abbreviation] == tags.FORMAL_PARAMETER
            )
            for i in range(VARIABLE_NUMBERS):
                self.variable_rows[row + i] = 0
            self.variable_rows[row] = abbreviations.tag[abbreviation]
            self.variable_rows[row + 1] = cursor.below[5 * k + 4]
            self.variable_rows[row + 2] = cursor.below[5 * k]
            reader.at = cursor.below[5 * k + 2]
            for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
                attribute = abbreviations.attribute[i]
                place = _of_variable(attribute) if variable else _of_others(attribute)
                if place:
                    reader.read(i)
                    self.variable_rows[row + place] = reader.value_class
                    self.variable_rows[row + place + 1] = reader.value
                    if place == 9:
                        self.variable_rows[row + 11] = reader.value_size
                else:
                    reader.skip(i)
        return memoryview(self.variable_rows)[: VARIABLE_NUMBERS * total]


@cython.final
@cython.cclass
class Entry:
    """One DIE: its space and unit, its offset, its tag, whether it has children, the offset after it.

    Attributes, by their DW_AT numbers, are read on each call. ``depth`` is relative to the start of the search.
    """

    space = cython.declare(object, visibility="readonly")
    info: DebugInfo
    unit = cython.declare(cython.Py_ssize_t, visibility="readonly")
    offset = cython.declare(cython.Py_ssize_t, visibility="readonly")
    end = cython.declare(cython.Py_ssize_t, visibility="readonly")
    depth = cython.declare(cython.Py_ssize_t, visibility="readonly")
    tag = cython.declare(cython.int, visibility="readonly")
    has_children = cython.declare(cython.bint, visibility="readonly")
    abbreviation: cython.Py_ssize_t
    first: cython.Py_ssize_t

    @cython.cfunc
    @cython.exceptval(-1)
    def find(self, attribute: cython.int) -> cython.int:
        """Read an attribute: its class, 0 for none; the reader has the value then."""
        reader = self.info.reader
        abbreviations = self.info.abbreviations
        i: cython.Py_ssize_t
        if self.abbreviation < 0:
            return 0
        reader.enter(self.unit)
        reader.at = self.first
        for i in range(abbreviations.first[self.abbreviation], abbreviations.end[self.abbreviation]):
            if abbreviations.attribute[i] == attribute:
                reader.read(i)
                return reader.value_class
            reader.skip(i)
        return 0

    def kind(self, attribute: cython.int) -> int:
        """The class of an attribute's value (:class:`undwarf.dwarf.value_classes.ValueClass`); 0 for none."""
        return self.find(attribute)

    def value(self, attribute: cython.int) -> int:
        """The value of an attribute of any class as a number; 0 for none."""
        return self.info.reader.value if self.find(attribute) else 0

    def size(self, attribute: cython.int) -> int:
        """Bytes of a constant or a block; 0 for others."""
        return self.info.reader.value_size if self.find(attribute) else 0

    def string(self, attribute: cython.int) -> str:
        """An attribute that is a string; empty where there is none."""
        kind: cython.int = self.find(attribute)
        found: str = self.info.text(kind, self.info.reader.value, self.info.reader.value_size, self.unit, self.space)
        return found

    def number(self, attribute: cython.int) -> "int | None":
        """An attribute that is a constant, as it was written (signed where the form says so); None for none."""
        kind: cython.int = self.find(attribute)
        if kind == UNSIGNED:
            return self.info.reader.value
        return cython.cast(cython.longlong, self.info.reader.value) if kind == SIGNED else None

    def flag(self, attribute: cython.int) -> bool:
        """An attribute that is a flag."""
        return self.find(attribute) != 0 and self.info.reader.value != 0

    def block(self, attribute: cython.int) -> "memoryview | None":
        """The bytes of an attribute that is a block or an expression; None for others."""
        if self.find(attribute) != BLOCK:
            return None
        found: memoryview = self.space.data[
            self.info.reader.value : self.info.reader.value + self.info.reader.value_size
        ]
        return found

    def target(self, attribute: cython.int) -> int:
        """The offset that an attribute refers to in the same section, at most MAX_REFERENCE; -1 without the attribute,
        -2 if it is no such reference."""
        kind: cython.int = self.find(attribute)
        found: cython.longlong = -1
        if kind == REF:
            found = cython.cast(cython.longlong, min(self.info.reader.value, MAX_REFERENCE))
        elif kind:
            found = -2
        return found

    def size_of_type(self) -> int:
        """Bytes of a value of the type that DW_AT_type refers to, as :func:`undwarf.dwarf.type_sizes.size_at`."""
        found: cython.longlong = -1
        if self.find(attributes.TYPE) == REF:
            found = size_at(self.info.reader, self.info.reader.value)
        return found

    def reference(self, attribute: cython.int) -> "Entry | None":
        """The entry that an attribute refers to, in whichever file it is."""
        kind: cython.int = self.find(attribute)
        unit: cython.Py_ssize_t
        found: Entry | None = None
        if kind == REF:
            unit = self.info.units.find(self.info.reader.value)
            if unit >= 0:
                found = self.info.entry_at(unit, self.info.reader.value, self.space)
        elif kind in (REF_ALT, REF_SIG8):
            found = self.space.elsewhere(kind, self.info.reader.value)
        return found


@cython.cfunc
def _entry(
    info: DebugInfo,
    space: Any,
    unit: cython.Py_ssize_t,
    offset: cython.Py_ssize_t,
    abbreviation: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
) -> Any:
    """A DIE that fits in its unit; ``abbreviation`` is -1 for a null entry."""
    made: Entry = Entry.__new__(Entry)
    made.space = space
    made.info = info
    made.unit = unit
    made.offset = offset
    made.end = end
    made.depth = depth
    made.abbreviation = abbreviation
    made.first = first
    if abbreviation >= 0:
        made.tag = info.abbreviations.tag[abbreviation]
        made.has_children = info.abbreviations.has_children[abbreviation] != 0
    return made


@cython.cfunc
@cython.locals(view="const unsigned char[::1]", base="const char *")
def _text(view: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Any:
    """Bytes of a section as a string; what is not UTF-8 is escaped."""
    if start < 0 or end <= start or end > view.shape[0]:
        return ""
    # Just checked: all of it is inside.
    base = cython.cast("const char *", cython.address(view[start]))
    return base[: end - start].decode("utf-8", "backslashreplace")


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _of_variable(attribute: cython.int) -> cython.Py_ssize_t:
    """The column of an attribute of a variable or parameter; 0 for none."""
    if attribute == attributes.ABSTRACT_ORIGIN:
        return 3
    if attribute == attributes.TYPE:
        return 5
    if attribute == attributes.NAME:
        return 7
    return 9 if attribute == attributes.LOCATION else 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _of_others(attribute: cython.int) -> cython.Py_ssize_t:
    """The same of all other DIEs."""
    if attribute == attributes.LOW_PC:
        return 3
    if attribute == attributes.HIGH_PC:
        return 5
    return 7 if attribute == attributes.RANGES else 0
