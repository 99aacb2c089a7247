# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""How types lie in memory, as far as that can be told without making them: sizes, members, what contains what."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags, walks
from cython.cimports.undwarf.dwarf.value_classes import REF, SIGNED, STRING, STRP, UNSIGNED

from undwarf.column import doubled, zeros
from undwarf.dwarf.die_cursor import EntryWalk

NULL_ENTRY = cython.declare(cython.Py_ssize_t, -2)
NONE = cython.declare(cython.uint, 0xFFFFFFFF)
HIGH = cython.declare(cython.ulonglong, 0xFFFFFFF0)
LARGE = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFF)
SPREAD = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
BYTES = cython.declare(cython.longlong, 1 << 40)
"""Sizes of types up to this are plain."""
BASE_CLASS = cython.declare(cython.longlong, 1 << 62)


@cython.cclass
class Layouts(EntryWalk):
    """Units whose types are looked at in place."""

    @cython.cfunc
    @cython.exceptval(-2)
    def size_at(self, offset: cython.ulonglong) -> cython.longlong:
        """Bytes of a value of the type at an offset, where this section says it plainly; else -1. An array without
        bounds has none."""
        i: cython.Py_ssize_t
        unit: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        _hop: cython.int
        attribute: cython.int
        tag: cython.int
        target: cython.ulonglong
        size: cython.longlong
        count: cython.longlong
        total: cython.longlong = 1
        for _hop in range(walks.MAX_HOPS):
            unit = self.find_unit(offset)
            if unit < 0:
                return -1
            self.enter(unit)
            self.at = cython.cast("Py_ssize_t", offset)
            self.end = self.unit_end[unit]
            decl = self.head()
            if decl < 0:
                return -1
            tag = self.decl_tag[decl]
            size = -1
            target = 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == attributes.BYTE_SIZE
                    or attribute == attributes.TYPE
                    or attribute == attributes.DECLARATION
                    or attribute == attributes.SIGNATURE
                ):
                    self.take(i)
                    if (
                        attribute == attributes.BYTE_SIZE
                        and self.value_class in (UNSIGNED, SIGNED)
                        and self.value < LARGE
                    ):
                        size = cython.cast(cython.longlong, self.value)
                    elif attribute == attributes.TYPE and self.value_class == REF:
                        target = self.value
                    else:
                        # Declarations, and what is in other sections.
                        return -1
                else:
                    self.step(i)
            if self.at > self.end:
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
                if target == 0 or size >= 0 or self.decl_children[decl] == 0:
                    return -1
                count = self.elements()
                if count <= 0 or total > BYTES // count:
                    return count if count <= 0 else -1
                total *= count
            else:
                if tag == tags.POINTER_TYPE or tag == tags.REFERENCE_TYPE or tag == tags.RVALUE_REFERENCE_TYPE:
                    size = size if size > 0 else self.address
                elif (
                    tag != tags.BASE_TYPE
                    and tag != tags.ENUMERATION_TYPE
                    and tag != tags.STRUCTURE_TYPE
                    and tag != tags.UNION_TYPE
                    and tag != tags.CLASS_TYPE
                ):
                    return -1
                return -1 if size < 0 or (size and total > BYTES // size) else total * size
            offset = target
        return -1

    @cython.cfunc
    @cython.exceptval(-2)
    def elements(self) -> cython.longlong:
        """Elements of an array whose first dimension is at hand; 0 where one has no end, -1 where that is not plain."""
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        count: cython.longlong
        dimensions: cython.Py_ssize_t = 0
        open_end: cython.bint = False
        total: cython.longlong = 1
        while True:
            decl = self.head()
            if self.at > self.end:
                return -1
            if decl == NULL_ENTRY:
                break
            if decl < 0 or self.decl_tag[decl] != tags.SUBRANGE_TYPE or self.decl_children[decl]:
                return -1
            count = -1
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == attributes.COUNT
                    or attribute == attributes.UPPER_BOUND
                    or attribute == attributes.LOWER_BOUND
                ):
                    self.take(i)
                    if self.value_class != UNSIGNED or self.value >= HIGH or attribute == attributes.LOWER_BOUND:
                        return -1
                    count = cython.cast(cython.longlong, self.value) + (attribute == attributes.UPPER_BOUND)
                else:
                    self.step(i)
            dimensions += 1
            if self.at > self.end or (count > 0 and total > BYTES // count):
                return -1
            open_end = open_end or count <= 0
            total *= max(count, 1)
        return -1 if dimensions == 0 else 0 if open_end else total

    def shape(self, unit: int, offset: int, wanted: Any, limit: int) -> int:
        """A number for the members below a structure or union of C, their places, and the names of their types: equal
        where these are. 0 where that takes more than a look at them. ``wanted`` are those of all that counts."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        attribute: cython.int
        total: cython.Py_ssize_t = self.gather(unit, offset, wanted, limit)
        number: cython.Py_ssize_t = unit
        mixed: cython.ulonglong = 1
        target: cython.ulonglong
        if total == limit:
            return 0
        for k in range(total):
            self.at_hand(number)
            decl = self.below[5 * k + 1]
            self.at = self.below[5 * k + 2]
            target = 0
            if self.decl_tag[decl] != tags.MEMBER:
                return 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == attributes.NAME
                    or attribute == attributes.TYPE
                    or attribute == attributes.DATA_MEMBER_LOCATION
                    or attribute == attributes.BIT_SIZE
                    or attribute == attributes.DATA_BIT_OFFSET
                ):
                    self.take(i)
                    if attribute == attributes.NAME:
                        mixed = self.mixed_string(_mixed(mixed, attribute))
                        if mixed == 0:
                            return 0
                    elif attribute == attributes.TYPE:
                        target = self.value if self.value_class == REF else 0
                    elif self.value_class == UNSIGNED or self.value_class == SIGNED:
                        mixed = _mixed(_mixed(mixed, attribute), self.value)
                    else:
                        return 0
                elif (
                    attribute == attributes.BIT_OFFSET
                    or attribute == attributes.BYTE_SIZE
                    or attribute == attributes.EXTERNAL
                    or attribute == attributes.DECLARATION
                    or attribute == attributes.CONST_VALUE
                ):
                    # Bit fields of old, and what is not in each object.
                    return 0
                else:
                    self.step(i)
            mixed = self.mixed_name(_mixed(mixed, k), target) if target else 0
            if mixed == 0:
                return 0
        return mixed

    @cython.cfunc
    @cython.exceptval(check=False)
    def mixed_string(self, mixed: cython.ulonglong) -> cython.ulonglong:
        """A number made further by the string that was read last; 0 where it is in no section of this file."""
        k: cython.Py_ssize_t
        if self.value_class == STRP:
            return _mixed(_mixed(mixed, STRP), self.value)
        if self.value_class != STRING:
            return 0
        mixed = _mixed(mixed, STRING)
        for k in range(cython.cast("Py_ssize_t", self.value), cython.cast("Py_ssize_t", self.value + self.value_size)):
            mixed = _mixed(mixed, self.data[k])
        return mixed

    @cython.cfunc
    @cython.exceptval(check=False)
    def mixed_name(self, mixed: cython.ulonglong, offset: cython.ulonglong) -> cython.ulonglong:
        """A number made further by all that the name of a C type at an offset is made of; 0 where that is not plain."""
        i: cython.Py_ssize_t
        unit: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        _hop: cython.int
        attribute: cython.int
        tag: cython.int
        target: cython.ulonglong
        name: cython.ulonglong
        given: cython.ulonglong = 0
        for _hop in range(walks.MAX_HOPS):
            unit = self.find_unit(offset)
            if unit < 0 or self.unit_table[unit] == NONE:
                return 0
            self.at_hand(unit)
            self.at = cython.cast("Py_ssize_t", offset)
            decl = self.head()
            if decl < 0:
                return 0
            tag = self.decl_tag[decl]
            target = 0
            name = 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == attributes.NAME
                    or attribute == attributes.TYPE
                    or attribute == attributes.SIGNATURE
                    or attribute == attributes.SPECIFICATION
                ):
                    self.take(i)
                    if attribute == attributes.NAME:
                        name = self.mixed_string(1)
                        if name == 0:
                            return 0
                    elif attribute == attributes.TYPE and self.value_class == REF:
                        target = self.value
                    else:
                        return 0
                else:
                    self.step(i)
            if self.at > self.end:
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
                # One that has no name goes by the typedef that led to it; what is only declared by its name as well.
                return _mixed(_mixed(mixed, tag), name if name else given)
            elif tag == tags.SUBROUTINE_TYPE:
                return _mixed(mixed, tag)
            elif tag == tags.ARRAY_TYPE:
                mixed = self.mixed_dimensions(mixed) if self.decl_children[decl] else 0
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
    def mixed_dimensions(self, mixed: cython.ulonglong) -> cython.ulonglong:
        """A number made further by how many dimensions an array has, the first of which is at hand; 0 for other things
        below it."""
        decl: cython.Py_ssize_t
        while self.at < self.end:
            decl = self.head()
            if decl == NULL_ENTRY:
                return _mixed(mixed, 0x01)
            if decl < 0 or self.decl_tag[decl] != tags.SUBRANGE_TYPE or self.decl_children[decl]:
                return 0
            self.pass_over(decl)
            mixed = _mixed(mixed, 0x21)
        return 0

    @cython.locals(
        wholes="unsigned long long[::1]",
        types="unsigned long long[::1]",
        offsets="long long[::1]",
        whole_at="unsigned long long[::1]",
        decl=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
        outer=cython.ulonglong,
        tag=cython.int,
        went=cython.int,
        attribute=cython.int,
        of=cython.ulonglong,
        offset=cython.longlong,
        elsewhere=cython.bint,
    )
    def embedded(self, unit: int) -> "tuple[Any, Any, Any] | None":
        """What lies in the aggregates of a unit, and what its names for types stand for, as three columns.

        Offsets of entries (Q), of the types they have (Q), and where they are (q): for the entry of an aggregate, the
        bytes before a member, -2 where that is an expression; with 1 << 62 added for a base class. For a typedef or
        qualifier -1. None where members have types that are not in this section.
        """
        wholes = zeros("Q", 256)
        types = zeros("Q", 256)
        offsets = zeros("q", 256)
        whole_at = zeros("Q", walks.MAX_DEPTH + 2)
        n = 0
        self.enter(unit)
        self.start(unit)
        while True:
            decl = self.next_entry()
            if decl < 0:
                break
            tag = self.decl_tag[decl]
            outer = whole_at[self.depth]
            # Members and base classes; typedefs, const, volatile, restrict, atomic.
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
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    attribute = self.spec_attribute[i]
                    if attribute != attributes.TYPE and attribute != attributes.DATA_MEMBER_LOCATION:
                        # Variables of a class; bit fields.
                        elsewhere = elsewhere or (
                            attribute == attributes.EXTERNAL
                            or attribute == attributes.DECLARATION
                            or attribute == attributes.CONST_VALUE
                            or attribute == attributes.BIT_SIZE
                        )
                        self.step(i)
                        continue
                    self.take(i)
                    if self.at > self.end:
                        break
                    if attribute == attributes.TYPE:
                        if self.value_class != REF:
                            return None
                        of = self.value
                    else:
                        offset = -2
                        if self.value_class in (UNSIGNED, SIGNED) and self.value < LARGE:
                            offset = cython.cast(cython.longlong, self.value)
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
                        wholes[n] = self.die
                        offsets[n] = -1
                    n += 1
            else:
                self.pass_over(decl)
            went = self.go_on(decl, False, False)
            if went == walks.NOTHING:
                break
            if went == walks.BESIDE:
                continue
            # Structures, unions, classes; variants of one belong to it.
            if tag == tags.STRUCTURE_TYPE or tag == tags.UNION_TYPE or tag == tags.CLASS_TYPE:
                whole_at[self.depth] = self.die
            else:
                whole_at[self.depth] = outer if tag == tags.VARIANT_PART or tag == tags.VARIANT else 0
        return memoryview(wholes)[:n], memoryview(types)[:n], memoryview(offsets)[:n]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _mixed(mixed: cython.ulonglong, number: cython.ulonglong) -> cython.ulonglong:
    """A number made of two, 0 never (but by a chance of one in 2**64)."""
    mixed = (mixed ^ number) * SPREAD
    return mixed ^ (mixed >> 29)
