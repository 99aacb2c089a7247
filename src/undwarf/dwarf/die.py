# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Debugging information entries, one at a time, and the variables of functions.

What is told of whole units is in the modules that :class:`Info` is made of, each of which goes on from the one before:
units and abbreviations (`units.py`), values (`values.py`), types' layouts (`layouts.py`), where code is (`ranges.py`),
functions (`functions.py`), declarations (`declarations.py`).

Source: DWARF 5, 7.5.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags
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
from undwarf.dwarf.unit_index import Declarations

NULL_ENTRY = cython.declare(cython.Py_ssize_t, -2)
FAR = cython.declare(cython.ulonglong, 1 << 62)
VARIABLE = cython.declare(cython.Py_ssize_t, 12)
"""Numbers of each row of :meth:`Info.variables`."""
MAX_STRING = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Bytes of a name that are looked at."""


@cython.final
@cython.cclass
class Info(Declarations):
    """One section of units, `.debug_info` or `.debug_types`, with the sections that its values refer to."""

    variable_rows = cython.declare("unsigned long long[::1]")
    known_strings = cython.declare(dict, visibility="readonly")
    first_number = cython.declare(cython.Py_ssize_t, visibility="readonly")

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
        """``known_strings`` are those of `.debug_str` that were read, by offset; whoever reads more adds to them. Those
        that units number are in it as well, by ``~(unit << 32 | number)``. Where units of several sections share it,
        ``first_number`` is what the first unit here is called."""
        super().__init__(
            data,
            abbrevs,
            big=big,
            types=types,
            ranges=ranges,
            rnglists=rnglists,
            addresses=addresses,
            code=code,
            max_ranges=max_ranges,
        )
        self.variable_rows = zeros("Q", VARIABLE * 64)
        self.known_strings = {} if known_strings is None else known_strings
        self.first_number = first_number

    def entry(self, unit: int, offset: int, space: Any = None) -> "Entry | None":
        """The entry at an offset of a unit; its tag is 0 for the null entry that ends a list of siblings.

        ``space`` is where the entry says it belongs. None where there is no entry that can be read.
        """
        found: Entry | None = self.entry_at(unit, offset, space)
        return found

    @cython.cfunc
    def entry_at(self, unit: cython.Py_ssize_t, offset: cython.ulonglong, space: Any) -> Any:
        """As :meth:`entry`."""
        die: cython.Py_ssize_t
        first: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        self.enter(unit)
        self.end = self.unit_end[unit]
        if offset < self.unit_first[unit] or offset >= self.unit_end[unit]:
            return None
        die = cython.cast("Py_ssize_t", offset)
        self.at = die
        decl = self.head()
        first = self.at
        if decl != NULL_ENTRY:
            if decl >= 0:
                self.pass_over(decl)
            if decl < 0 or self.at > self.end:
                self.damaged += 1
                return None
        return _entry(self, space, unit, die, max(decl, -1), first, self.at, 0)

    def entries(self, unit: int, offset: int, wanted: Any, limit: int, space: Any = None) -> "list[Entry]":
        """Entries below one whose first child is at an offset, in their order, at most ``limit``.

        ``wanted`` says by tag (0 to 252) which count: 1 wanted, 2 their children as well (``depth`` one more); what is
        below others is stepped over. Places 253 to 255 are those of DW_TAG_GNU_template_template_param,
        DW_TAG_GNU_template_parameter_pack and DW_TAG_GNU_formal_parameter_pack.
        """
        total: cython.Py_ssize_t = self.gather(unit, offset, wanted, limit)
        number: cython.Py_ssize_t = unit
        return [
            _entry(
                self, space, number, self.below[5 * k], self.below[5 * k + 1], self.below[5 * k + 2],
                self.below[5 * k + 3], self.below[5 * k + 4],
            )
            for k in range(total)
        ]  # fmt: skip

    def members(self, unit: int, offset: int, wanted: Any, limit: int, space: Any = None) -> "list[Any]":
        """As :meth:`entries`, but that members which every object has, that are no bit fields and whose types are in
        this section are told at once: (name, bytes before it, bytes of it as :meth:`Entry.size_of_type`, offset of its
        type's entry)."""
        k: cython.Py_ssize_t
        total: cython.Py_ssize_t = self.gather(unit, offset, wanted, limit)
        number: cython.Py_ssize_t = unit
        found: list[Any] = []
        for k in range(total):
            one: Any = self.plain_member(space, number, k)
            if one is None:
                one = _entry(
                    self, space, number, self.below[5 * k], self.below[5 * k + 1], self.below[5 * k + 2],
                    self.below[5 * k + 3], self.below[5 * k + 4],
                )  # fmt: skip
            found.append(one)
        return found

    @cython.cfunc
    def plain_member(self, space: Any, unit: cython.Py_ssize_t, k: cython.Py_ssize_t) -> Any:
        """What :meth:`members` tells of the k-th of the entries that were gathered; None where it is not plain."""
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t = self.below[5 * k + 1]
        attribute: cython.int
        typed: cython.bint = False
        kind: cython.int = 0
        name: cython.ulonglong = 0
        length: cython.ulonglong = 0
        place: cython.ulonglong = 0
        target: cython.ulonglong = 0
        size: cython.longlong
        if self.decl_tag[decl] != tags.MEMBER:
            return None
        self.enter(unit)
        self.end = self.unit_end[unit]
        self.at = self.below[5 * k + 2]
        for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
            attribute = self.spec_attribute[i]
            if attribute == attributes.NAME:
                self.take(i)
                kind = self.value_class
                name = self.value
                length = self.value_size
            elif attribute == attributes.TYPE:
                self.take(i)
                if self.value_class != REF:
                    return None
                target = min(self.value, FAR)
                typed = True
            elif attribute == attributes.DATA_MEMBER_LOCATION:
                self.take(i)
                if (self.value_class != UNSIGNED and self.value_class != SIGNED) or self.value >= FAR >> 4:
                    return None
                place = self.value
            elif (
                attribute == attributes.BIT_SIZE
                or attribute == attributes.DATA_BIT_OFFSET
                or attribute == attributes.EXTERNAL
                or attribute == attributes.DECLARATION
                or attribute == attributes.CONST_VALUE
            ):
                return None
            else:
                self.step(i)
        if not typed:
            return None
        text: Any = self.text(kind, name, length, unit, space)
        size = self.size_at(target)
        return text, place, size, target

    def variable(self, offset: int, space: Any) -> "tuple[str, int] | None":
        """Name of the entry at an offset, and the offset of its type; None where it does not say both, plainly."""
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        kind: cython.int = 0
        name: cython.ulonglong = 0
        length: cython.ulonglong = 0
        target: cython.ulonglong = 0
        unit: cython.Py_ssize_t = self.find_unit(offset)
        if unit < 0:
            return None
        self.enter(unit)
        self.at = offset
        self.end = self.unit_end[unit]
        decl = self.head()
        if decl < 0:
            return None
        for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
            attribute = self.spec_attribute[i]
            if attribute == attributes.NAME:
                self.take(i)
                kind = self.value_class
                name = self.value
                length = self.value_size
            elif attribute == attributes.TYPE:
                self.take(i)
                target = self.value if self.value_class == REF and self.value < FAR else 0
            else:
                self.step(i)
        if kind == 0 or target == 0 or self.at > self.end:
            return None
        text: Any = self.text(kind, name, length, unit, space)
        return (text, target) if text else None

    @cython.cfunc
    def text(
        self, kind: cython.int, value: cython.ulonglong, size: cython.ulonglong, unit: cython.Py_ssize_t, space: Any
    ) -> Any:
        """The string that an attribute's value means; empty where it is none."""
        known: Any = None
        start: cython.Py_ssize_t
        if kind == STRP:
            known = self.known_strings.get(value)
        elif kind == STRX and value >> 32 == 0:
            known = self.known_strings.get(~(unit + self.first_number << 32 | cython.cast(cython.Py_ssize_t, value)))
        elif kind == STRING:
            start = cython.cast("Py_ssize_t", value)
            return _text(self.data, start, start + cython.cast("Py_ssize_t", min(size, MAX_STRING)))
        elif kind < STRING or kind > STRP_ALT:
            return ""
        return space.file.string(kind, value, unit + self.first_number, space.data) if known is None else known

    def variables(self, unit: int, offset: int, wanted: Any, limit: int) -> Any:
        """What :meth:`entries` finds below a function, as a column of VARIABLE numbers (Q) each: tag, depth, offset,
        and class and value of attributes.

        Of variables and parameters: DW_AT_abstract_origin, DW_AT_type, DW_AT_name, DW_AT_location and its size. Of all
        others: DW_AT_low_pc, DW_AT_high_pc, DW_AT_ranges. Valid until this is asked for again.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        variable: cython.bint
        total: cython.Py_ssize_t = self.gather(unit, offset, wanted, limit)
        if VARIABLE * total > self.variable_rows.shape[0]:
            self.variable_rows = with_room(self.variable_rows, 0, VARIABLE * total)
        for k in range(total):
            row = VARIABLE * k
            decl = self.below[5 * k + 1]
            variable = self.decl_tag[decl] == tags.VARIABLE or self.decl_tag[decl] == tags.FORMAL_PARAMETER
            for i in range(VARIABLE):
                self.variable_rows[row + i] = 0
            self.variable_rows[row] = self.decl_tag[decl]
            self.variable_rows[row + 1] = self.below[5 * k + 4]
            self.variable_rows[row + 2] = self.below[5 * k]
            self.at = self.below[5 * k + 2]
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                place = _of_variable(attribute) if variable else _of_others(attribute)
                if place:
                    self.take(i)
                    self.variable_rows[row + place] = self.value_class
                    self.variable_rows[row + place + 1] = self.value
                    if place == 9:
                        self.variable_rows[row + 11] = self.value_size
                else:
                    self.step(i)
        return memoryview(self.variable_rows)[: VARIABLE * total]


@cython.final
@cython.cclass
class Entry:
    """One entry: the space and unit it is in, its offset, its tag, whether children follow, the offset behind it.

    Its attributes, by their DW_AT numbers, are read when they are asked for. ``depth`` counts from where the entry was
    looked for.
    """

    space = cython.declare(object, visibility="readonly")
    info: Info
    unit = cython.declare(cython.Py_ssize_t, visibility="readonly")
    offset = cython.declare(cython.Py_ssize_t, visibility="readonly")
    behind = cython.declare(cython.Py_ssize_t, visibility="readonly")
    depth = cython.declare(cython.Py_ssize_t, visibility="readonly")
    tag = cython.declare(cython.int, visibility="readonly")
    has_children = cython.declare(cython.bint, visibility="readonly")
    abbreviation: cython.Py_ssize_t
    first: cython.Py_ssize_t

    @cython.cfunc
    @cython.exceptval(-1)
    def find(self, attribute: cython.int) -> cython.int:
        """Make the value of an attribute the one that the section read last; 0 for none."""
        info = self.info
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t = self.abbreviation
        if decl < 0:
            return 0
        info.enter(self.unit)
        info.at = self.first
        info.end = info.unit_end[self.unit]
        for i in range(info.decl_spec[decl], info.decl_spec[decl] + info.decl_count[decl]):
            if info.spec_attribute[i] == attribute:
                info.take(i)
                return info.value_class
            info.step(i)
        return 0

    def kind(self, attribute: cython.int) -> int:
        """The class of an attribute's value (:class:`undwarf.dwarf.constants.ValueClass`); 0 for none."""
        return self.find(attribute)

    def value(self, attribute: cython.int) -> int:
        """The number an attribute is, whatever its class; 0 for none."""
        return self.info.value if self.find(attribute) else 0

    def size(self, attribute: cython.int) -> int:
        """Bytes of a constant or a block; 0 for others."""
        return self.info.value_size if self.find(attribute) else 0

    def string(self, attribute: cython.int) -> str:
        """An attribute that is a string; empty where there is none."""
        kind: cython.int = self.find(attribute)
        found: str = self.info.text(kind, self.info.value, self.info.value_size, self.unit, self.space)
        return found

    def number(self, attribute: cython.int) -> "int | None":
        """An attribute that is a constant, as it was written (signed where the form says so); None for none."""
        kind: cython.int = self.find(attribute)
        if kind == UNSIGNED:
            return self.info.value
        return cython.cast(cython.longlong, self.info.value) if kind == SIGNED else None

    def flag(self, attribute: cython.int) -> bool:
        """An attribute that is a flag."""
        return self.find(attribute) != 0 and self.info.value != 0

    def block(self, attribute: cython.int) -> "memoryview | None":
        """The bytes of an attribute that is a block or an expression."""
        if self.find(attribute) != BLOCK:
            return None
        found: memoryview = self.space.data[self.info.value : self.info.value + self.info.value_size]
        return found

    def target(self, attribute: cython.int) -> int:
        """The offset that an attribute refers to in the same section; -1 without it, -2 where it says something else.

        What is beyond any section becomes one offset that is.
        """
        kind: cython.int = self.find(attribute)
        found: cython.longlong = -1
        if kind == REF:
            found = cython.cast(cython.longlong, min(self.info.value, FAR))
        elif kind:
            found = -2
        return found

    def size_of_type(self) -> int:
        """Bytes of a value of the type that DW_AT_type refers to; -1 where that takes more than a look at it."""
        found: cython.longlong = -1
        if self.find(attributes.TYPE) == REF:
            found = self.info.size_at(self.info.value)
        return found

    def reference(self, attribute: cython.int) -> "Entry | None":
        """The entry that an attribute refers to, in whichever file it is."""
        kind: cython.int = self.find(attribute)
        unit: cython.Py_ssize_t
        found: Entry | None = None
        if kind == REF:
            unit = self.info.find_unit(self.info.value)
            if unit >= 0:
                found = self.info.entry_at(unit, self.info.value, self.space)
        elif kind in (REF_ALT, REF_SIG8):
            found = self.space.elsewhere(kind, self.info.value)
        return found


@cython.cfunc
def _entry(
    info: Info,
    space: Any,
    unit: cython.Py_ssize_t,
    offset: cython.Py_ssize_t,
    decl: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    behind: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
) -> Any:
    """An entry that was found to be whole; ``decl`` is -1 for a null entry."""
    made: Entry = Entry.__new__(Entry)
    made.space = space
    made.info = info
    made.unit = unit
    made.offset = offset
    made.behind = behind
    made.depth = depth
    made.abbreviation = decl
    made.first = first
    if decl >= 0:
        made.tag = info.decl_tag[decl]
        made.has_children = info.decl_children[decl] != 0
    return made


@cython.cfunc
@cython.locals(view="const unsigned char[::1]", base="const char *")
def _text(view: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Any:
    """Bytes of a section as a string; what is not UTF-8 is kept recognisable."""
    if start < 0 or end <= start or end > view.shape[0]:
        return ""
    # Just checked: all of it is inside.
    base = cython.cast("const char *", cython.address(view[start]))
    return base[: end - start].decode("utf-8", "backslashreplace")


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _of_variable(attribute: cython.int) -> cython.Py_ssize_t:
    """Where an attribute of a variable or parameter is in its row; 0 for those that are in none."""
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
    """The same of all other entries."""
    if attribute == attributes.LOW_PC:
        return 3
    if attribute == attributes.HIGH_PC:
        return 5
    return 7 if attribute == attributes.RANGES else 0
