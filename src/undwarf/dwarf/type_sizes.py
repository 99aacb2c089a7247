# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Sizes and members of types, read from DIEs without building the types."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags
from cython.cimports.undwarf.dwarf.reader_constants import (
    BASE_CLASS,
    LARGEST_OFFSET,
    MAX_DEPTH,
    MAX_HOPS,
    NULL_ENTRY,
    Next,
)
from cython.cimports.undwarf.dwarf.value_classes import REF, SIGNED, STRING, STRP, UNSIGNED
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING

from undwarf.column import doubled, zeros
from undwarf.dwarf.attribute_values import AttributeReader
from undwarf.dwarf.die_cursor import DieCursor

OPEN_BOUND = cython.declare(cython.ulonglong, 0xFFFFFFF0)
"""Array bounds from here on mean no bound, as -1 in 32 bits."""
MAX_SIZE = cython.declare(cython.longlong, 1 << 40)
"""Larger types are damage."""


@cython.cfunc
@cython.exceptval(-2)
def size_at(reader: AttributeReader, offset: cython.ulonglong) -> cython.longlong:
    """Bytes of a value of the type at an offset, 0 of an array without bounds; -1 where this section does not have a
    constant for it."""
    abbreviations = reader.abbreviations
    i: cython.Py_ssize_t
    abbreviation: cython.Py_ssize_t
    _hop: cython.int
    attribute: cython.int
    tag: cython.int
    target: cython.ulonglong
    size: cython.longlong
    count: cython.longlong
    total: cython.longlong = 1
    for _hop in range(MAX_HOPS):
        abbreviation = reader.seek(offset)
        if abbreviation < 0:
            return -1
        tag = abbreviations.tag[abbreviation]
        size = -1
        target = 0
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if (
                attribute == attributes.BYTE_SIZE
                or attribute == attributes.TYPE
                or attribute == attributes.DECLARATION
                or attribute == attributes.SIGNATURE
            ):
                reader.read(i)
                if (
                    attribute == attributes.BYTE_SIZE
                    and reader.value_class in (UNSIGNED, SIGNED)
                    and reader.value < LARGEST_OFFSET
                ):
                    size = cython.cast(cython.longlong, reader.value)
                elif attribute == attributes.TYPE and reader.value_class == REF:
                    target = reader.value
                else:
                    # Declarations, and types in other sections.
                    return -1
            else:
                reader.skip(i)
        if reader.at > reader.end:
            return -1
        if (
            tag == tags.TYPEDEF
            or tag == tags.CONST_TYPE
            or tag == tags.VOLATILE_TYPE
            or tag == tags.RESTRICT_TYPE
            or tag == tags.ATOMIC_TYPE
        ):
            if target == 0:
                return -1
        elif tag == tags.ARRAY_TYPE:
            if target == 0 or size >= 0 or abbreviations.has_children[abbreviation] == 0:
                return -1
            count = _elements(reader)
            if count <= 0 or total > MAX_SIZE // count:
                return count if count <= 0 else -1
            total *= count
        else:
            if tag == tags.POINTER_TYPE or tag == tags.REFERENCE_TYPE or tag == tags.RVALUE_REFERENCE_TYPE:
                size = size if size > 0 else reader.address_size
            elif (
                tag != tags.BASE_TYPE
                and tag != tags.ENUMERATION_TYPE
                and tag != tags.STRUCTURE_TYPE
                and tag != tags.UNION_TYPE
                and tag != tags.CLASS_TYPE
            ):
                return -1
            return -1 if size < 0 or (size and total > MAX_SIZE // size) else total * size
        offset = target
    return -1


@cython.cfunc
@cython.exceptval(-2)
def _elements(reader: AttributeReader) -> cython.longlong:
    """Elements of an array whose first dimension comes next; 0 where a dimension is open, -1 where one is not
    constant."""
    abbreviations = reader.abbreviations
    i: cython.Py_ssize_t
    abbreviation: cython.Py_ssize_t
    attribute: cython.int
    count: cython.longlong
    dimensions: cython.Py_ssize_t = 0
    open_end: cython.bint = False
    total: cython.longlong = 1
    while True:
        abbreviation = reader.read_code()
        if reader.at > reader.end:
            return -1
        if abbreviation == NULL_ENTRY:
            break
        if (
            abbreviation < 0
            or abbreviations.tag[abbreviation] != tags.SUBRANGE_TYPE
            or abbreviations.has_children[abbreviation]
        ):
            return -1
        count = -1
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if (
                attribute == attributes.COUNT
                or attribute == attributes.UPPER_BOUND
                or attribute == attributes.LOWER_BOUND
            ):
                reader.read(i)
                if reader.value_class != UNSIGNED or reader.value >= OPEN_BOUND or attribute == attributes.LOWER_BOUND:
                    return -1
                count = cython.cast(cython.longlong, reader.value) + (attribute == attributes.UPPER_BOUND)
            else:
                reader.skip(i)
        dimensions += 1
        if reader.at > reader.end or (count > 0 and total > MAX_SIZE // count):
            return -1
        open_end = open_end or count <= 0
        total *= max(count, 1)
    return -1 if dimensions == 0 else 0 if open_end else total


def members_hash(cursor: DieCursor, unit: int, offset: int, wanted: Any, limit: int) -> int:
    """A hash of the names, offsets and type names of the members of a structure or union of C, whose first child is at
    ``offset``; 0 where one has no constant offset or a type that is not hashed. ``wanted`` and ``limit`` are those of
    :meth:`undwarf.dwarf.die.DebugInfo.entries`."""
    reader = cursor.reader
    abbreviations = reader.abbreviations
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    abbreviation: cython.Py_ssize_t
    attribute: cython.int
    total: cython.Py_ssize_t = cursor.gather(unit, offset, wanted, limit)
    number: cython.Py_ssize_t = unit
    mixed: cython.ulonglong = 1
    target: cython.ulonglong
    if total == limit:
        return 0
    for k in range(total):
        reader.enter_again(number)
        abbreviation = cursor.below[5 * k + 1]
        reader.at = cursor.below[5 * k + 2]
        target = 0
        if abbreviations.tag[abbreviation] != tags.MEMBER:
            return 0
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if (
                attribute == attributes.NAME
                or attribute == attributes.TYPE
                or attribute == attributes.DATA_MEMBER_LOCATION
                or attribute == attributes.BIT_SIZE
                or attribute == attributes.DATA_BIT_OFFSET
            ):
                reader.read(i)
                if attribute == attributes.NAME:
                    mixed = _mixed_string(reader, _mixed(mixed, attribute))
                    if mixed == 0:
                        return 0
                elif attribute == attributes.TYPE:
                    target = reader.value if reader.value_class == REF else 0
                elif reader.value_class == UNSIGNED or reader.value_class == SIGNED:
                    mixed = _mixed(_mixed(mixed, attribute), reader.value)
                else:
                    return 0
            elif (
                attribute == attributes.BIT_OFFSET
                or attribute == attributes.BYTE_SIZE
                or attribute == attributes.EXTERNAL
                or attribute == attributes.DECLARATION
                or attribute == attributes.CONST_VALUE
            ):
                # Bit fields of DWARF 3, and static members.
                return 0
            else:
                reader.skip(i)
        mixed = _mixed_name(reader, _mixed(mixed, k), target) if target else 0
        if mixed == 0:
            return 0
    return mixed


@cython.cfunc
@cython.exceptval(check=False)
def _mixed_string(reader: AttributeReader, mixed: cython.ulonglong) -> cython.ulonglong:
    """The hash with the string that was read last; 0 where that is in another file."""
    k: cython.Py_ssize_t
    if reader.value_class == STRP:
        return _mixed(_mixed(mixed, STRP), reader.value)
    if reader.value_class != STRING:
        return 0
    mixed = _mixed(mixed, STRING)
    for k in range(
        cython.cast("Py_ssize_t", reader.value), cython.cast("Py_ssize_t", reader.value + reader.value_size)
    ):
        mixed = _mixed(mixed, reader.data[k])
    return mixed


@cython.cfunc
@cython.exceptval(check=False)
def _mixed_name(reader: AttributeReader, mixed: cython.ulonglong, offset: cython.ulonglong) -> cython.ulonglong:
    """The hash with the name of the C type at an offset; 0 for types that are not hashed."""
    abbreviations = reader.abbreviations
    i: cython.Py_ssize_t
    unit: cython.Py_ssize_t
    abbreviation: cython.Py_ssize_t
    _hop: cython.int
    attribute: cython.int
    tag: cython.int
    target: cython.ulonglong
    name: cython.ulonglong
    given: cython.ulonglong = 0
    for _hop in range(MAX_HOPS):
        unit = reader.units.find(offset)
        if unit < 0 or reader.tables[unit] == NOTHING:
            return 0
        reader.enter_again(unit)
        reader.at = cython.cast("Py_ssize_t", offset)
        abbreviation = reader.read_code()
        if abbreviation < 0:
            return 0
        tag = abbreviations.tag[abbreviation]
        target = 0
        name = 0
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            attribute = abbreviations.attribute[i]
            if (
                attribute == attributes.NAME
                or attribute == attributes.TYPE
                or attribute == attributes.SIGNATURE
                or attribute == attributes.SPECIFICATION
            ):
                reader.read(i)
                if attribute == attributes.NAME:
                    name = _mixed_string(reader, 1)
                    if name == 0:
                        return 0
                elif attribute == attributes.TYPE and reader.value_class == REF:
                    target = reader.value
                else:
                    return 0
            else:
                reader.skip(i)
        if reader.at > reader.end:
            return 0
        if tag == tags.TYPEDEF:
            if name == 0:
                return 0
            given = name
        elif tag == tags.POINTER_TYPE:
            mixed = _mixed(mixed, tag)
            given = 0
        elif (
            tag == tags.BASE_TYPE
            or tag == tags.ENUMERATION_TYPE
            or tag == tags.STRUCTURE_TYPE
            or tag == tags.UNION_TYPE
        ):
            # A type without a name goes by the typedef that refers to it, a declaration by its own name.
            return _mixed(_mixed(mixed, tag), name if name else given)
        elif tag == tags.SUBROUTINE_TYPE:
            return _mixed(mixed, tag)
        elif tag == tags.ARRAY_TYPE:
            mixed = _mixed_dimensions(reader, mixed) if abbreviations.has_children[abbreviation] else 0
            given = 0
            if mixed == 0:
                return 0
        elif tag != tags.CONST_TYPE and tag != tags.VOLATILE_TYPE and tag != tags.RESTRICT_TYPE:
            return 0
        if target == 0:
            return _mixed(mixed, 0)
        offset = target
    return 0


@cython.cfunc
@cython.exceptval(check=False)
def _mixed_dimensions(reader: AttributeReader, mixed: cython.ulonglong) -> cython.ulonglong:
    """The hash with the number of dimensions of an array, the first of which comes next; 0 where it has other
    children."""
    abbreviations = reader.abbreviations
    abbreviation: cython.Py_ssize_t
    while reader.at < reader.end:
        abbreviation = reader.read_code()
        if abbreviation == NULL_ENTRY:
            return _mixed(mixed, 0x01)
        if (
            abbreviation < 0
            or abbreviations.tag[abbreviation] != tags.SUBRANGE_TYPE
            or abbreviations.has_children[abbreviation]
        ):
            return 0
        reader.skip_all(abbreviation)
        mixed = _mixed(mixed, 0x21)
    return 0


@cython.locals(
    wholes="unsigned long long[::1]",
    types="unsigned long long[::1]",
    offsets="long long[::1]",
    whole_at="unsigned long long[::1]",
    abbreviation=cython.Py_ssize_t,
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    outer=cython.ulonglong,
    tag=cython.int,
    follows=cython.int,
    attribute=cython.int,
    of=cython.ulonglong,
    offset=cython.longlong,
    elsewhere=cython.bint,
)
def member_types(cursor: DieCursor, unit: int) -> "tuple[Any, Any, Any] | None":
    """The members of all aggregates of a unit, and its typedefs and qualifiers, as three columns.

    Offset of the aggregate (Q), of the member's type (Q), and the member's offset (q): -2 where that is an
    expression, 1 << 62 more for a base class. Of a typedef or qualifier its own offset, that of its type, and -1. None
    where members have types in other sections.
    """
    reader = cursor.reader
    abbreviations = reader.abbreviations
    wholes = zeros("Q", 256)
    types = zeros("Q", 256)
    offsets = zeros("q", 256)
    whole_at = zeros("Q", MAX_DEPTH + 2)
    n = 0
    cursor.start(unit)
    while True:
        abbreviation = cursor.next_die()
        if abbreviation < 0:
            break
        tag = abbreviations.tag[abbreviation]
        outer = whole_at[cursor.depth]
        if ((tag == tags.MEMBER or tag == tags.INHERITANCE) and outer) or (
            tag == tags.TYPEDEF
            or tag == tags.CONST_TYPE
            or tag == tags.VOLATILE_TYPE
            or tag == tags.RESTRICT_TYPE
            or tag == tags.ATOMIC_TYPE
        ):
            of = 0
            offset = 0
            elsewhere = False
            for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
                attribute = abbreviations.attribute[i]
                if attribute != attributes.TYPE and attribute != attributes.DATA_MEMBER_LOCATION:
                    # Static members; bit fields.
                    elsewhere = elsewhere or (
                        attribute == attributes.EXTERNAL
                        or attribute == attributes.DECLARATION
                        or attribute == attributes.CONST_VALUE
                        or attribute == attributes.BIT_SIZE
                    )
                    reader.skip(i)
                    continue
                reader.read(i)
                if reader.at > reader.end:
                    break
                if attribute == attributes.TYPE:
                    if reader.value_class != REF:
                        return None
                    of = reader.value
                else:
                    offset = -2
                    if reader.value_class in (UNSIGNED, SIGNED) and reader.value < LARGEST_OFFSET:
                        offset = cython.cast(cython.longlong, reader.value)
            if of and not elsewhere:
                if n == len(wholes):
                    wholes = doubled(wholes, n)
                    types = doubled(types, n)
                    offsets = doubled(offsets, n)
                types[n] = of
                if tag == tags.MEMBER or tag == tags.INHERITANCE:
                    wholes[n] = outer
                    offsets[n] = offset + (BASE_CLASS if tag == tags.INHERITANCE and offset >= 0 else 0)
                else:
                    wholes[n] = cursor.die
                    offsets[n] = -1
                n += 1
        else:
            reader.skip_all(abbreviation)
        follows = cursor.next(abbreviation, False, False)
        if follows == Next.END:
            break
        if follows == Next.SIBLING:
            continue
        # Members of variants belong to the aggregate.
        if tag == tags.STRUCTURE_TYPE or tag == tags.UNION_TYPE or tag == tags.CLASS_TYPE:
            whole_at[cursor.depth] = cursor.die
        else:
            whole_at[cursor.depth] = outer if tag == tags.VARIANT_PART or tag == tags.VARIANT else 0
    return memoryview(wholes)[:n], memoryview(types)[:n], memoryview(offsets)[:n]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _mixed(mixed: cython.ulonglong, number: cython.ulonglong) -> cython.ulonglong:
    """A hash of two numbers; 0 with a probability of 2**-64 only."""
    mixed = (mixed ^ number) * GOLDEN_RATIO
    return mixed ^ (mixed >> 29)
