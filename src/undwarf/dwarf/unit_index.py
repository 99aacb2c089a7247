# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Index of what units declare: types, functions, namespaces, and variables with an address."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, forms, operations, tags
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.reader_constants import IN_FUNCTION, MAX_REUSED, AttributeRole, DieKind, Next
from cython.cimports.undwarf.dwarf.value_classes import BLOCK, REF, STRP, STRP_ALT, UNSIGNED
from cython.cimports.undwarf.elf.integers import integer_at
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING

from undwarf.column import copied, doubled, zeros
from undwarf.dwarf.die_cursor import DieCursor

CODE = cython.declare(cython.int, DieKind.FUNCTION | DieKind.VARIABLE)
ALL = cython.declare(cython.int, DieKind.FUNCTION | DieKind.TYPE | DieKind.SCOPE | DieKind.VARIABLE)


@cython.locals(
    dies="const unsigned long long[::1]", names="const unsigned long long[::1]", kinds="const unsigned char[::1]",
    parents="const unsigned int[::1]", which="const unsigned int[::1]", targets="const unsigned int[::1]",
    target_kinds="const unsigned int[::1]", k=cython.Py_ssize_t, tag=cython.uint,
)  # fmt: skip  # rows of C types
def given_names(rows: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Class and value of the names of structures, unions, classes and enumerations that have none, by their offsets:
    that of the first typedef of one in the same scope. ``rows`` as :meth:`UnitIndex.declared` gives them."""
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
class _Seen:
    """A set of integers other than 0; a Python set of that many would cost more than reading the DIEs."""

    _slots = cython.declare("unsigned long long[::1]")
    _shift = cython.declare(cython.int)
    _total = cython.declare(cython.Py_ssize_t)

    def __init__(self) -> None:
        self._slots = zeros("Q", 1024)
        self._shift = 54
        self._total = 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add(self, number: cython.ulonglong) -> cython.int:
        """Add a number; whether it was not in the set before."""
        if 2 * self._total >= self._slots.shape[0]:
            self._grow()
        return self._put(number)

    @cython.cfunc
    @cython.exceptval(-1)
    def _put(self, number: cython.ulonglong) -> cython.int:
        mask: cython.Py_ssize_t = self._slots.shape[0] - 1
        slot: cython.Py_ssize_t = cython.cast("Py_ssize_t", (number * GOLDEN_RATIO) >> self._shift)
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


@cython.final
@cython.cclass
class UnitIndex:
    """Reads the declarations of one unit after the other."""

    def __init__(self, cursor: DieCursor) -> None:
        self.cursor = cursor
        self.reader = cursor.reader
        self.abbreviations = cursor.abbreviations
        self.place = self.place_kind = 0
        self.die = self.location = zeros("Q", 0)
        self._reset()

    @cython.cfunc
    @cython.exceptval(-1)
    def _reset(self) -> cython.int:
        """Remove all rows, but reuse their memory: allocating it for each unit took longer than reading small units.
        So results are copies."""
        if not 0 < len(self.die) <= MAX_REUSED:
            self.die = zeros("Q", 64)
            self.name = zeros("Q", 64)
            self.name_class = zeros("B", 64)
            self.flags = zeros("B", 64)
            self.parent = zeros("I", 64)
            self.tag = zeros("I", 64)
            self.linkage = zeros("I", 64)
            self.linkage_class = zeros("I", 64)
        if not 0 < len(self.location) <= MAX_REUSED:
            self.variable = zeros("I", 64)
            self.location = zeros("Q", 64)
            self.location_kind = zeros("Q", 64)
        self.total = 0
        self.variable_total = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _grow(self) -> cython.int:
        n: cython.Py_ssize_t = self.total
        self.die = doubled(self.die, n)
        self.name = doubled(self.name, n)
        self.name_class = doubled(self.name_class, n)
        self.flags = doubled(self.flags, n)
        self.parent = doubled(self.parent, n)
        self.tag = doubled(self.tag, n)
        self.linkage = doubled(self.linkage, n)
        self.linkage_class = doubled(self.linkage_class, n)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _grow_variables(self) -> cython.int:
        n: cython.Py_ssize_t = self.variable_total
        self.variable = doubled(self.variable, n)
        self.location = doubled(self.location, n)
        self.location_kind = doubled(self.location_kind, n)
        return 0

    def declared(self, unit: int) -> dict[str, memoryview]:
        """The types, functions, namespaces and variables that a unit declares, in the order of their DIEs.

        ``die`` (Q), ``tag`` (I), ``parent`` (I, row of the namespace or type it is in, 0xffffffff for none, 0xfffffffe
        for a function), ``flags`` (B: 1 a declaration, 2 the name is in another DIE), ``kind`` (B) and ``name`` (Q) the
        name's class and value, ``linkage_kind`` and ``linkage`` (I) those of the linkage name, 0xffffffff where it is
        too large; of a typedef the reference to its type instead; of a type without a name its line, column and size
        hashed to one number of class UNSIGNED. By variable with an address: ``of`` (I, its row), ``place`` (Q, address
        or index), ``place_kind`` (Q: 1 address, 2 index of one, 3 thread-local offset, 4 index of one, 5 an expression
        that goes on, such as pieces). Variables that are only declared have rows, those with neither address nor
        declaration have none.
        """
        self._read_unit(unit, ALL)
        return {
            "die": copied(self.die, self.total),
            "name": copied(self.name, self.total),
            "kind": copied(self.name_class, self.total),
            "flags": copied(self.flags, self.total),
            "parent": copied(self.parent, self.total),
            "tag": copied(self.tag, self.total),
            "linkage": copied(self.linkage, self.total),
            "linkage_kind": copied(self.linkage_class, self.total),
            "place": copied(self.location, self.variable_total),
            "place_kind": copied(self.location_kind, self.variable_total),
            "of": copied(self.variable, self.variable_total),
        }

    def outline(self) -> Any:
        """(variables, functions, declarations) of all units, in their order.

        Variables with an address as (unit, offset, place, kind of place), see :meth:`declared`. Functions outside of
        other functions, and variables that are only declared, at file scope, as (unit, offset, class and value of the
        name); of those whose names are at the same offset of a string section, the first.
        """
        unit: cython.Py_ssize_t
        k: cython.Py_ssize_t
        of: cython.Py_ssize_t
        kind: cython.int
        name: cython.ulonglong
        variables = []
        functions = []
        declarations = []
        known: _Seen = _Seen()
        known_variables: _Seen = _Seen()
        for unit in range(self.reader.units.count):
            self._read_unit(unit, CODE)
            for k in range(self.variable_total):
                of = self.variable[k]
                variables.append((unit, self.die[of], self.location[k], self.location_kind[k]))
            for k in range(self.total):
                if self.tag[k] == tags.SUBPROGRAM:
                    if self.parent[k] == IN_FUNCTION:
                        continue
                    kind = self.linkage_class[k]
                    name = self.linkage[k]
                    if kind == 0 or name == NOTHING:
                        kind = self.name_class[k]
                        name = self.name[k]
                    if kind == 0:
                        continue
                    # Both are below 16, and sections of 2**60 bytes are none.
                    if kind in (STRP, STRP_ALT) and not known.add(name << 4 | kind):
                        continue
                    functions.append((unit, self.die[k], kind, name))
                elif self.tag[k] == tags.VARIABLE and self.flags[k] & 1 and self.parent[k] == NOTHING:
                    kind = self.name_class[k]
                    name = self.name[k]
                    if kind in (STRP, STRP_ALT) and not known_variables.add(name << 4 | kind):
                        continue
                    if kind:
                        declarations.append((unit, self.die[k], kind, name))
        return variables, functions, declarations

    def definitions(self) -> Any:
        """(unit, offset, class and value of the name) of all structures, unions, classes and enumerations that are
        defined; in C only those outside of functions, as a type that a function defines is not the one that has its
        name elsewhere (C11 6.7.2.3)."""
        unit: cython.Py_ssize_t
        in_c: cython.bint
        found = []
        for unit in range(self.reader.units.count):
            self._read_unit(unit, DieKind.TYPE)
            in_c = self.cursor.is_c(unit)
            found += [
                (unit, self.die[k], self.name_class[k], self.name[k])
                for k in range(self.total)
                if not self.flags[k] & 1 and self.name_class[k] and not (in_c and self.parent[k] == IN_FUNCTION)
            ]
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_unit(self, unit: cython.Py_ssize_t, wanted_kinds: cython.int) -> cython.int:
        """Fill the rows with a unit's declarations. Parents are rows where ALL kinds are wanted, else 0 for any that
        has a name. Where only types of a unit of C are wanted, those in functions may be left out."""
        abbreviations = self.abbreviations
        cursor = self.cursor
        abbreviation: cython.Py_ssize_t
        sibling: cython.ulonglong
        outer: cython.uint
        tag: cython.int
        follows: cython.int
        skipped: cython.bint
        self._reset()
        in_c: cython.bint = cursor.is_c(unit)
        cursor.start(unit)
        cursor.enclosing[0] = NOTHING
        while True:
            if cursor.depth:
                cursor.skip_others(wanted_kinds, in_c, False)
            abbreviation = cursor.next_die()
            if abbreviation < 0:
                break
            tag = abbreviations.tag[abbreviation]
            outer = cursor.enclosing[cursor.depth]
            skipped = False
            if abbreviations.kind[abbreviation] & wanted_kinds == 0:
                if (
                    tag == tags.SUBPROGRAM
                    and in_c
                    and wanted_kinds == DieKind.TYPE
                    and abbreviations.has_children[abbreviation]
                ):
                    # Most DIEs of a unit are in functions.
                    sibling = cursor.skip_to_sibling(abbreviation)
                    if sibling:
                        skipped = True
                        self.reader.at = cython.cast("Py_ssize_t", sibling)
                else:
                    self.reader.skip_all(abbreviation)
                if tag == tags.SUBPROGRAM or tag == tags.INLINED_SUBROUTINE or tag == tags.LEXICAL_BLOCK:
                    outer = IN_FUNCTION
                elif outer != IN_FUNCTION and (
                    tag == tags.STRUCTURE_TYPE
                    or tag == tags.UNION_TYPE
                    or tag == tags.CLASS_TYPE
                    or tag == tags.INTERFACE_TYPE
                    or tag == tags.NAMESPACE
                ):
                    outer = 0
            else:
                outer = self._read_die(abbreviation, tag, cursor.die, outer, wanted_kinds)
                if tag == tags.SUBPROGRAM:
                    outer = IN_FUNCTION
            follows = cursor.next(abbreviation, skipped, in_c)
            if follows == Next.END:
                break
            if follows == Next.CHILD:
                cursor.enclosing[cursor.depth] = outer
        return 0

    @cython.cfunc
    @cython.exceptval(check=True)
    def _read_die(
        self,
        abbreviation: cython.Py_ssize_t,
        tag: cython.int,
        die: cython.Py_ssize_t,
        outer: cython.uint,
        wanted_kinds: cython.int,
    ) -> cython.uint:
        """Add a row for a DIE whose values come next, unless it is a variable with neither an address nor a declaration
        outside of functions; the row that encloses its children. Types without a name get a ``linkage`` only where ALL
        kinds are wanted."""
        reader = self.reader
        abbreviations = self.abbreviations
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        attribute: cython.int
        role: cython.int
        roles: cython.int = AttributeRole.IS_NAME
        flags: cython.int = 0
        kind: cython.int = 0
        linkage_kind: cython.int = 0
        name: cython.ulonglong = 0
        linkage: cython.ulonglong = 0
        self.place_kind = 0
        if tag == tags.VARIABLE:
            roles = AttributeRole.IS_NAME | AttributeRole.IS_LOCATION
        elif tag == tags.TYPEDEF:
            roles = AttributeRole.IS_NAME | AttributeRole.IS_TYPE
        elif wanted_kinds == ALL and tag in (tags.STRUCTURE_TYPE, tags.UNION_TYPE, tags.CLASS_TYPE):
            roles = AttributeRole.IS_NAME | AttributeRole.IS_IDENTITY
        for i in range(abbreviations.first[abbreviation], abbreviations.end[abbreviation]):
            role = abbreviations.role[i] & roles
            if role and (role != AttributeRole.IS_IDENTITY or kind == 0):
                attribute = abbreviations.attribute[i]
                reader.read(i)
                if reader.at > reader.end:
                    break
                if attribute == attributes.NAME:
                    kind = reader.value_class
                    name = reader.value
                    if linkage_kind == UNSIGNED:
                        linkage_kind = 0
                        linkage = 0
                elif role == AttributeRole.IS_IDENTITY:
                    if linkage_kind == 0 or linkage_kind == UNSIGNED:
                        linkage_kind = UNSIGNED
                        linkage = (linkage * 31 + reader.value) & 0x7FFFFFFF
                elif attribute == attributes.DECLARATION:
                    flags |= 1 if reader.value else 0
                elif attribute in (attributes.SPECIFICATION, attributes.ABSTRACT_ORIGIN):
                    flags |= 2
                elif attribute != attributes.LOCATION:
                    linkage_kind = reader.value_class
                    linkage = reader.value
                elif reader.value_class == BLOCK and reader.value_size > 1:
                    self._read_location(
                        cython.cast("Py_ssize_t", reader.value), cython.cast("Py_ssize_t", reader.value_size)
                    )
            elif abbreviations.size[i] != forms.SIZE_VARIES:
                # Most attributes: not worth a call.
                reader.at += abbreviations.size[i]
            else:
                reader.skip_form(abbreviations.form[i])
        if tag == tags.VARIABLE and not self.place_kind and not (flags & 1 and outer != IN_FUNCTION):
            return outer
        n = self.total
        if n == len(self.die):
            self._grow()
        self.die[n] = die
        self.name[n] = name
        self.name_class[n] = cython.cast("unsigned char", kind)
        self.flags[n] = cython.cast("unsigned char", flags)
        self.parent[n] = outer
        self.tag[n] = tag
        self.linkage_class[n] = cython.cast("unsigned int", linkage_kind)
        self.linkage[n] = cython.cast("unsigned int", linkage if linkage < NOTHING else NOTHING)
        self.total += 1
        if self.place_kind:
            if self.variable_total == len(self.location):
                self._grow_variables()
            self.location[self.variable_total] = self.place
            self.location_kind[self.variable_total] = self.place_kind
            self.variable[self.variable_total] = cython.cast("unsigned int", n)
            self.variable_total += 1
        return cython.cast(cython.uint, n) if outer != IN_FUNCTION else IN_FUNCTION

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_location(self, k: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.int:
        """Set ``place`` and ``place_kind`` by the location expression at ``k``: 1 an address, 2 the index of one, 3 a
        thread-local offset, 4 the index of one, 5 an address or its index with more operations, 0 any other."""
        end: cython.Py_ssize_t = k + length
        op: cython.int = self.reader.data[k]
        size: cython.int = 0
        kind: cython.int = 0
        if op == operations.ADDR:
            size = self.reader.address_size
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
            self.place = leb128(self.reader.data, cython.address(k), end, False)
        elif kind and length > size:
            self.place = integer_at(self.reader.data, k + 1, size, self.reader.big)
            k += 1 + size
        else:
            kind = 0
        if kind and k < end:
            # The operation that makes a thread-local offset an address, or others, such as pieces.
            op = self.reader.data[k]
            if end - k == 1 and (op == operations.GNU_PUSH_TLS_ADDRESS or op == operations.FORM_TLS_ADDRESS):
                kind = 3 if kind == 1 or kind == 3 else 4
            else:
                kind = 5 if kind < 3 else 0
        elif kind > 2:
            kind = 0
        self.place_kind = kind
        return 0
