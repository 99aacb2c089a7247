# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""What units declare: types, functions, namespaces, variables with an address."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, forms, operations, tags, walks
from cython.cimports.undwarf.dwarf.fixed import fixed
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.value_classes import BLOCK, REF, STRP, STRP_ALT, UNSIGNED

from undwarf.column import copied, zeros
from undwarf.dwarf.functions import Functions

NONE = cython.declare(cython.uint, 0xFFFFFFFF)
INSIDE = cython.declare(cython.uint, 0xFFFFFFFE)
"""In the place of a parent: the entry is in a function."""
CODE = cython.declare(cython.int, 9)
TYPES = cython.declare(cython.int, 2)
ALL = cython.declare(cython.int, 15)
"""Of what units declare, as undwarf.dwarf.abbreviations has it: functions and variables; types but typedefs; these and
namespaces as well."""

NAMING = cython.declare(cython.int, 1)
PLACING = cython.declare(cython.int, 2)
TYPING = cython.declare(cython.int, 4)
TELLING_APART = cython.declare(cython.int, 8)
"""What attributes say, by ``spec_told``: names, where they come from, that there is more elsewhere; where a variable
is; the type of a typedef; what tells types without a name from each other."""


@cython.locals(
    dies="const unsigned long long[::1]", names="const unsigned long long[::1]", kinds="const unsigned char[::1]",
    parents="const unsigned int[::1]", which="const unsigned int[::1]", targets="const unsigned int[::1]",
    target_kinds="const unsigned int[::1]", k=cython.Py_ssize_t, tag=cython.uint,
)  # fmt: skip
def given_names(rows: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Class and value of names, by offsets of structures, unions, classes and enumerations that have none: that of
    the first typedef of one which is declared where it is. ``rows`` as :meth:`Declarations.declared` gives them."""
    dies, names, kinds, parents, which = (rows[one] for one in ("die", "name", "kind", "parent", "tag"))
    targets, target_kinds = rows["linkage"], rows["linkage_kind"]
    nameless: dict[int, int] = {}
    for k in range(dies.shape[0]):
        tag = which[k]
        if kinds[k] == 0 and (
            tag == tags.STRUCTURE_TYPE
            or tag == tags.UNION_TYPE
            or tag == tags.CLASS_TYPE
            or tag == tags.ENUMERATION_TYPE
        ):
            nameless[dies[k]] = parents[k]
    found: dict[int, tuple[int, int]] = {}
    if nameless:
        for k in range(dies.shape[0]):
            if which[k] == tags.TYPEDEF and target_kinds[k] == REF and kinds[k]:
                target = targets[k]
                if nameless.get(target, -1) == parents[k] and target not in found:
                    found[target] = (kinds[k], names[k])
    return found


@cython.final
@cython.cclass
class _Met:
    """Numbers that were met, 0 not among them: so many that objects of Python would cost more than all of the rest."""

    _slots = cython.declare("unsigned long long[::1]")
    _shift = cython.declare(cython.int)
    _total = cython.declare(cython.Py_ssize_t)

    def __init__(self) -> None:
        self._slots = zeros("Q", 1024)
        self._shift = 54
        self._total = 0

    @cython.cfunc
    @cython.exceptval(-1)
    def first(self, number: cython.ulonglong) -> cython.int:
        """Whether a number is met for the first time."""
        if 2 * self._total >= self._slots.shape[0]:
            self._grow()
        return self._put(number)

    @cython.cfunc
    @cython.exceptval(-1)
    def _put(self, number: cython.ulonglong) -> cython.int:
        # A local, since a literal of this size inside an expression would be a Python number.
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        mask: cython.Py_ssize_t = self._slots.shape[0] - 1
        slot: cython.Py_ssize_t = cython.cast("Py_ssize_t", (number * spread) >> self._shift)
        while self._slots[slot]:
            if self._slots[slot] == number:
                return 0
            slot = (slot + 1) & mask
        self._slots[slot] = number
        self._total += 1
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(old="unsigned long long[::1]")
    def _grow(self) -> cython.int:
        k: cython.Py_ssize_t
        old = self._slots
        self._slots = zeros("Q", 2 * old.shape[0])
        self._shift -= 1
        self._total = 0
        for k in range(old.shape[0]):
            if old[k]:
                self._put(old[k])
        return 0


@cython.cclass
class Declarations(Functions):
    """Units whose declarations are told."""

    def declared(self, unit: int) -> dict[str, memoryview]:
        """What a unit declares, in the order of its entries: types, functions, namespaces, variables with an address.

        ``die`` (Q), ``tag`` (I), ``parent`` (I, number of the namespace or type it is in, 0xffffffff for none,
        0xfffffffe for a function), ``flags`` (B: 1 a declaration, 2 names come from another entry), ``kind`` (B) and
        ``name`` (Q) its name's class and value, ``linkage_kind`` and ``linkage`` (I, 0xffffffff where it is too large;
        of a typedef the reference to its type instead, of a type without a name what tells it from others: line, column
        and size in one number of class UNSIGNED). Of variables with an address: ``of`` (I, the number above),
        ``place`` (Q, address or index), ``place_kind`` (Q: 1 an address, 2 an index, 3 an offset for a thread, 4 the
        index of one, 5 more than that, such as pieces). Variables that are declared only are among the rows, those
        with neither address nor declaration are not.
        """
        self._reset_records()
        self.declare(unit, ALL)
        return {
            "die": copied(self.record_die, self.record_total),
            "name": copied(self.record_origin, self.record_total),
            "kind": copied(self.record_class, self.record_total),
            "flags": copied(self.record_inlined, self.record_total),
            "parent": copied(self.record_parent, self.record_total),
            "tag": copied(self.record_file, self.record_total),
            "linkage": copied(self.record_line, self.record_total),
            "linkage_kind": copied(self.record_column, self.record_total),
            "place": copied(self.range_start, self.range_total),
            "place_kind": copied(self.range_end, self.range_total),
            "of": copied(self.range_record, self.range_total),
        }

    def outline(self) -> Any:
        """(variables, functions, declarations) of all units, in their order.

        Variables with an address as (unit, offset, place, kind of place), as :meth:`declared` tells them. Functions
        outside of others, and variables that are only declared and in nothing else, as (unit, offset, class and value
        of the name); of those whose names are at the same place of a section of strings, the first.
        """
        unit: cython.Py_ssize_t
        k: cython.Py_ssize_t
        of: cython.Py_ssize_t
        kind: cython.int
        name: cython.ulonglong
        variables = []
        functions = []
        declarations = []
        known: _Met = _Met()
        known_variables: _Met = _Met()
        for unit in range(self.count):
            self._reset_records()
            self.declare(unit, CODE)
            for k in range(self.range_total):
                of = self.range_record[k]
                variables.append((unit, self.record_die[of], self.range_start[k], self.range_end[k]))
            for k in range(self.record_total):
                if self.record_file[k] == tags.SUBPROGRAM:
                    if self.record_parent[k] == INSIDE:
                        continue
                    kind = self.record_column[k]
                    name = self.record_line[k]
                    if kind == 0 or name == NONE:
                        kind = self.record_class[k]
                        name = self.record_origin[k]
                    if kind == 0:
                        continue
                    # Both are below 16, and sections of 2**60 bytes are none.
                    if kind in (STRP, STRP_ALT) and not known.first(name << 4 | kind):
                        continue
                    functions.append((unit, self.record_die[k], kind, name))
                elif (
                    self.record_file[k] == tags.VARIABLE
                    and self.record_inlined[k] & 1
                    and self.record_parent[k] == NONE
                ):
                    kind = self.record_class[k]
                    name = self.record_origin[k]
                    if kind in (STRP, STRP_ALT) and not known_variables.first(name << 4 | kind):
                        continue
                    if kind:
                        declarations.append((unit, self.record_die[k], kind, name))
        return variables, functions, declarations

    def definitions(self) -> Any:
        """(unit, offset, class and value of the name) of the structures, unions, classes and enumerations that are
        defined anywhere; of units of C outside of functions: what is defined in one is another type than what has its
        name elsewhere (C11 6.7.2.3)."""
        unit: cython.Py_ssize_t
        plain: cython.int
        found = []
        for unit in range(self.count):
            self._reset_records()
            self.declare(unit, TYPES)
            plain = self.plain(unit)
            found += [
                (unit, self.record_die[k], self.record_class[k], self.record_origin[k])
                for k in range(self.record_total)
                if not self.record_inlined[k] & 1
                and self.record_class[k]
                and not (plain and self.record_parent[k] == INSIDE)
            ]
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def declare(self, unit: cython.Py_ssize_t, wanted_kinds: cython.int) -> cython.int:
        """Add what a unit declares to the rows. What entries are in is told by its row where ALL are wanted, else as 0
        for all that has a name. Of a unit of C of which TYPES are wanted, those in functions may be left out."""
        decl: cython.Py_ssize_t
        sibling: cython.ulonglong
        outer: cython.uint
        tag: cython.int
        went: cython.int
        leapt: cython.bint
        plain: cython.int = self.plain(unit)
        self.start(unit)
        self.enclosing[0] = NONE
        while True:
            if self.depth:
                self.pass_others(wanted_kinds, plain != 0, False)
            decl = self.next_entry()
            if decl < 0:
                break
            tag = self.decl_tag[decl]
            outer = self.enclosing[self.depth]
            leapt = False
            if self.decl_declares[decl] & wanted_kinds == 0:
                if tag == tags.SUBPROGRAM and plain and wanted_kinds == TYPES and self.decl_children[decl]:
                    # Most of a unit is in functions.
                    sibling = self.pass_to_sibling(decl)
                    if sibling:
                        leapt = True
                        self.at = cython.cast("Py_ssize_t", sibling)
                else:
                    self.pass_over(decl)
                if tag == tags.SUBPROGRAM or tag == tags.INLINED_SUBROUTINE or tag == tags.LEXICAL_BLOCK:
                    outer = INSIDE
                elif outer != INSIDE and (
                    tag == tags.STRUCTURE_TYPE
                    or tag == tags.UNION_TYPE
                    or tag == tags.CLASS_TYPE
                    or tag == tags.INTERFACE_TYPE
                    or tag == tags.NAMESPACE
                ):
                    outer = 0
            else:
                outer = self.declare_entry(decl, tag, self.die, outer, wanted_kinds)
                if tag == tags.SUBPROGRAM:
                    outer = INSIDE
            went = self.go_on(decl, leapt, plain)
            if went == walks.NOTHING:
                break
            if went == walks.BELOW:
                self.enclosing[self.depth] = outer
        return 0

    @cython.cfunc
    @cython.exceptval(check=True)
    def declare_entry(
        self,
        decl: cython.Py_ssize_t,
        tag: cython.int,
        die: cython.Py_ssize_t,
        outer: cython.uint,
        wanted_kinds: cython.int,
    ) -> cython.uint:
        """Add a row for an entry whose attributes come next, unless it is a variable that is neither placed nor
        declared outside of functions; what the entries in it are in. Only where ALL are wanted does it say what tells
        types without a name from each other."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        attribute: cython.int
        told: cython.int
        asked: cython.int = NAMING
        flags: cython.int = 0
        kind: cython.int = 0
        linkage_kind: cython.int = 0
        name: cython.ulonglong = 0
        linkage: cython.ulonglong = 0
        self.place_kind = 0
        if tag == tags.VARIABLE:
            asked = NAMING | PLACING
        elif tag == tags.TYPEDEF:
            asked = NAMING | TYPING
        elif wanted_kinds == ALL and tag in (tags.STRUCTURE_TYPE, tags.UNION_TYPE, tags.CLASS_TYPE):
            asked = NAMING | TELLING_APART
        for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
            told = self.spec_told[i] & asked
            if told and (told != TELLING_APART or kind == 0):
                attribute = self.spec_attribute[i]
                self.take(i)
                if self.at > self.end:
                    break
                if attribute == attributes.NAME:
                    kind = self.value_class
                    name = self.value
                    if linkage_kind == UNSIGNED:
                        linkage_kind = 0
                        linkage = 0
                elif told == TELLING_APART:
                    if linkage_kind == 0 or linkage_kind == UNSIGNED:
                        linkage_kind = UNSIGNED
                        linkage = (linkage * 31 + self.value) & 0x7FFFFFFF
                elif attribute == attributes.DECLARATION:
                    flags |= 1 if self.value else 0
                elif attribute in (attributes.SPECIFICATION, attributes.ABSTRACT_ORIGIN):
                    flags |= 2
                elif attribute != attributes.LOCATION:
                    linkage_kind = self.value_class
                    linkage = self.value
                elif self.value_class == BLOCK and self.value_size > 1:
                    self.read_place(cython.cast("Py_ssize_t", self.value), cython.cast("Py_ssize_t", self.value_size))
            elif self.spec_size[i] != forms.SIZE_VARIES:
                # Of most attributes: not worth a call.
                self.at += self.spec_size[i]
            else:
                self.skip(self.spec_form[i])
        if tag == tags.VARIABLE and not self.place_kind and not (flags & 1 and outer != INSIDE):
            return outer
        self._room_for_record()
        n = self.record_total
        self.record_die[n] = die
        self.record_origin[n] = name
        self.record_class[n] = cython.cast("unsigned char", kind)
        self.record_inlined[n] = cython.cast("unsigned char", flags)
        self.record_parent[n] = outer
        self.record_file[n] = tag
        self.record_column[n] = cython.cast("unsigned int", linkage_kind)
        self.record_line[n] = cython.cast("unsigned int", linkage if linkage < NONE else NONE)
        self.record_total += 1
        if self.place_kind:
            self._room_for_place()
            self.range_start[self.range_total] = self.place
            self.range_end[self.range_total] = self.place_kind
            self.range_record[self.range_total] = cython.cast("unsigned int", n)
            self.range_total += 1
        return cython.cast(cython.uint, n) if outer != INSIDE else INSIDE

    @cython.cfunc
    @cython.exceptval(-1)
    def read_place(self, k: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.int:
        """Put where a variable is, by the expression at ``k``, into ``place`` and ``place_kind``: 1 an address, 2 an
        index, 3 an offset for a thread, 4 the index of one, 5 where more operations follow an address or its index, 0
        for all else."""
        end: cython.Py_ssize_t = k + length
        op: cython.int = self.data[k]
        size: cython.int = 0
        kind: cython.int = 0
        if op == operations.ADDR:
            size = self.address
            kind = 1
        elif op == operations.CONST8U or op == operations.CONST8S:
            size = 8
            kind = 3
        elif op == operations.CONST4U or op == operations.CONST4S:
            size = 4
            kind = 3
        elif op == operations.ADDRX or op == operations.GNU_ADDR_INDEX:
            kind = 2
        elif op == operations.CONSTX or op == operations.GNU_CONST_INDEX:
            kind = 4
        if kind and not size:
            k += 1
            self.place = leb128(self.data, cython.address(k), end, False)
        elif kind and length > size:
            self.place = fixed(self.data, k + 1, size, self.big)
            k += 1 + size
        else:
            kind = 0
        if kind and k < end:
            # The operation that makes an address of a thread's, or others, such as pieces.
            op = self.data[k]
            if end - k == 1 and (op == operations.GNU_PUSH_TLS_ADDRESS or op == operations.FORM_TLS_ADDRESS):
                kind = 3 if kind == 1 or kind == 3 else 4
            else:
                kind = 5 if kind < 3 else 0
        elif kind > 2:
            kind = 0
        self.place_kind = kind
        return 0
