# cython: language_level=3, annotation_typing=False
"""Variables and their locations in each scope of a function, from its DWARF entry."""

from collections.abc import Callable
from typing import Any

import cython
from cython.cimports.undwarf.dwarf import tags
from cython.cimports.undwarf.dwarf.value_classes import BLOCK, LOCLISTX, SEC_OFFSET, UNSIGNED
from cython.cimports.undwarf.types.sources.row_words import PLACE_WORDS, SCOPE_WORDS
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.column import longer, zeros
from undwarf.dwarf.die import Entry
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.code_scopes import CodeScopes
from undwarf.types.sources.dwarf_entries import (
    HIGH_PC,
    LOW_PC,
    MAX_CHILDREN,
    RANGES,
    tags_of,
)
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.location_expressions import DecodedExpression, Expressions
from undwarf.types.sources.location_table import LocationTable, words_of
from undwarf.types.sources.locations import Spot
from undwarf.types.sources.type_source import Place
from undwarf.types.sources.variable_declarations import Variable, VariableDeclarations

_TRY, _CATCH = 0x32, 0x25
_WITHIN = tags_of(
    tags.VARIABLE,
    tags.FORMAL_PARAMETER,
    into=(tags.INLINED_SUBROUTINE, tags.LEXICAL_BLOCK, _TRY, _CATCH, tags.GNU_FORMAL_PARAMETER_PACK),
)
# tuple.__new__ is faster than the named tuple's constructor; there are tens of thousands of locations.
_as_it_is = tuple.__new__
MAX_PLACES = 200_000
"""Limit of variable locations of one function."""
_PLACE_COST, _SCOPE_COST = 100, 50
"""Approximate bytes of a variable's location, and of a scope."""

ENTRY = cython.declare(cython.Py_ssize_t, 12)
"""Numbers of each row of :meth:`undwarf.dwarf.die.DebugInfo.variables`."""
# What matters of spots' kinds.
IN_REGISTER = cython.declare(cython.int, 1)
ON_FRAME = cython.declare(cython.int, 2)
NOWHERE = cython.declare(cython.int, 4)
INDIRECT = cython.declare(cython.int, 8)
ROW = cython.declare(cython.Py_ssize_t, 6)
"""Numbers of a place: where it begins and ends to be valid; which expression tells it, and which of its spots it is;
whose it is; the scope."""


@cython.final
@cython.cclass
class FunctionScopes(CodeScopes):
    """The scopes of one function and the variable locations in each. ``entry`` is its concrete entry, ``base`` its
    unit's low address; ``environment`` returns the environment type of a closure, void for other functions."""

    types = cython.declare(dict, visibility="readonly")
    """Types of all variables and parameters, also of those without a location."""
    _environment = cython.declare(object)
    _left = cython.declare(cython.Py_ssize_t)
    _through = cython.declare(list)
    """Variables whose address, or the address of the object they are part of, is in a location."""
    _declared = cython.declare(VariableDeclarations)
    _variables = cython.declare(list)
    _rows = cython.declare("unsigned long long[::1]")
    _row_total = cython.declare(cython.Py_ssize_t)

    def __init__(
        self,
        types: DwarfTypes,
        entry: Entry,
        base: int,
        environment: Callable[[DwarfTypes, Entry], int],
        declared: VariableDeclarations,
    ) -> None:
        super().__init__(types, entry, Expressions(types, entry, base, declared.expressions))
        self._environment = environment
        self._left = MAX_PLACES
        self._through = []
        self._variables = []
        self._declared = declared
        room, self._declared.room = self._declared.room, None
        self._rows = zeros("Q", ROW * 1024) if room is None else room
        self._row_total = 0
        self.types = {}
        self._scope(
            0,
            -1,
            entry.kind(LOW_PC),
            entry.value(LOW_PC),
            entry.kind(HIGH_PC),
            entry.value(HIGH_PC),
            entry.kind(RANGES),
            entry.value(RANGES),
        )
        if entry.has_children:
            self._walk(self._space.info.variables(self._unit, entry.end, _WITHIN, MAX_CHILDREN))
        if self._through:
            self._lead_through()
        self._declared.room = memoryview(self._rows)
        self._in_order()
        self._expressions.close()

    @property
    def cost(self) -> int:
        """Approximate bytes in use."""
        return _SCOPE_COST * self._scope_total + _PLACE_COST * self._row_total

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        entries="const unsigned long long[::1]",
        n=cython.Py_ssize_t,
        row=cython.Py_ssize_t,
        depth=cython.Py_ssize_t,
        tag=cython.int,
        scope=cython.Py_ssize_t,
        number=cython.Py_ssize_t,
        inside=list,
    )
    def _walk(self, entries: Any) -> int:
        # The enclosing scope of entries at each depth.
        inside = [0]
        for n in range(entries.shape[0] // ENTRY):
            row = n * ENTRY
            tag = cython.cast(cython.int, entries[row])
            depth = cython.cast(cython.Py_ssize_t, entries[row + 1])
            if depth + 1 < len(inside):
                del inside[depth + 1 :]
            if len(inside) <= depth:
                # The parent could not be read.
                continue
            scope = inside[depth]
            if tag in (tags.VARIABLE, tags.FORMAL_PARAMETER):
                self._variable(entries, row, scope)
            elif tag == tags.GNU_FORMAL_PARAMETER_PACK:
                inside.append(scope)
            else:
                number = self._scope(
                    cython.cast(cython.Py_ssize_t, self._scopes[SCOPE_WORDS * scope]) + 1,
                    scope,
                    cython.cast(cython.int, entries[row + 3]),
                    entries[row + 4],
                    cython.cast(cython.int, entries[row + 5]),
                    entries[row + 6],
                    cython.cast(cython.int, entries[row + 7]),
                    entries[row + 8],
                )
                if tag == tags.INLINED_SUBROUTINE:
                    self._scopes[SCOPE_WORDS * number + 4] = entries[row + 2]
                inside.append(number)
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        entries="const unsigned long long[::1]",
        row=cython.Py_ssize_t,
        scope=cython.Py_ssize_t,
        kind=cython.int,
        variable=Variable,
        told=DecodedExpression,
        k=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        start=cython.Py_ssize_t,
        size=cython.Py_ssize_t,
        before=cython.Py_ssize_t,
        low=cython.ulonglong,
        high=cython.ulonglong,
        expression=bytes,
    )
    def _variable(self, entries: Any, row: int, scope: int) -> int:
        kind = cython.cast(cython.int, entries[row + 9])
        variable = self._declared.of(entries, row, self._unit)
        self.types[variable.type] = None
        if kind == 0:
            return 0
        if variable.is_pointer_or_aggregate < 0:
            variable.is_pointer_or_aggregate = self._types.is_pointer_or_aggregate(variable.type)
        before = self._row_total
        if kind == BLOCK:
            expression = bytes(self._space.data[entries[row + 10] : entries[row + 10] + entries[row + 11]])
            told = self._expressions.of(expression)
            for k in range(self._scopes[SCOPE_WORDS * scope + 1], self._scopes[SCOPE_WORDS * scope + 2]):
                self._add(scope, variable, told, self._ranges[2 * k], self._ranges[2 * k + 1])
        elif kind in (SEC_OFFSET, LOCLISTX, UNSIGNED):
            total = self._expressions.read_list(kind, entries[row + 10])
            for k in range(total):
                low, high = self._expressions.rows[4 * k], self._expressions.rows[4 * k + 1]
                if low < high or (
                    low == high and variable.is_pointer_or_aggregate and self._types.is_pointer_to_object(variable.type)
                ):
                    start = self._expressions.rows[4 * k + 2]
                    size = self._expressions.rows[4 * k + 3]
                    told = self._expressions.at(start, size)
                    # An empty range: the variable is gone before the next instruction (location views). Keep it at that
                    # address.
                    self._add(scope, variable, told, low, max(high, low + 1))
        if self._row_total > before:
            self._variables.append(variable)
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        scope=cython.Py_ssize_t,
        variable=Variable,
        told=DecodedExpression,
        low=cython.ulonglong,
        high=cython.ulonglong,
        first=cython.ulonglong,
        last=cython.ulonglong,
        which=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        flags=cython.int,
    )
    def _add(self, scope: int, variable: Variable, told: DecodedExpression, low: int, high: int) -> int:
        """Add the locations that an expression gives a variable."""
        for which in range(len(told.spots)):
            flags = told.flags[which]
            if flags == IN_REGISTER and not variable.is_pointer_or_aggregate and self._scopes[SCOPE_WORDS * scope + 3]:
                continue
            if self._left <= 0:
                self._types.graph.defects.add("too many variable locations", self._types.graph.subject)
                return 0
            self._left -= 1
            if flags & INDIRECT:
                self._through.append((scope, variable, told.spots[which], low, high))
            elif flags & ON_FRAME and self._scopes[SCOPE_WORDS * scope] and not self._within(scope, low, high):
                # Location lists may extend past the variable's scope, where the stack slot may be reused.
                for k in range(self._scopes[SCOPE_WORDS * scope + 1], self._scopes[SCOPE_WORDS * scope + 2]):
                    first, last = self._ranges[2 * k], self._ranges[2 * k + 1]
                    if first < high and low < last:
                        self._row(scope, told.number, which, max(low, first), min(high, last))
            elif (
                flags == IN_REGISTER
                and self._scopes[SCOPE_WORDS * scope]
                and not self._within(scope, low, high)
                and told.spots[which][0] == PlaceKind.REGISTER
            ):
                self._split(scope, told.number, which, low, high)
            else:
                self._row(scope, told.number, which, low, high)
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        scope=cython.Py_ssize_t,
        told=cython.Py_ssize_t,
        which=cython.Py_ssize_t,
        low=cython.ulonglong,
        high=cython.ulonglong,
        first=cython.ulonglong,
        last=cython.ulonglong,
        k=cython.Py_ssize_t,
    )
    def _split(self, scope: int, told: int, which: int, low: int, high: int) -> int:
        """Split a variable's range in a register into the parts inside and outside of its scope."""
        for k in range(self._scopes[SCOPE_WORDS * scope + 1], self._scopes[SCOPE_WORDS * scope + 2]):
            first, last = max(low, self._ranges[2 * k]), min(high, self._ranges[2 * k + 1])
            if first < last and self._left > 0:
                if low < first:
                    self._row(scope, told, which, low, first)
                self._row(scope, told, which, first, last)
                self._left -= 1
                low = last
        if low < high:
            self._row(scope, told, which, low, high)
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        scope=cython.Py_ssize_t,
        told=cython.Py_ssize_t,
        which=cython.Py_ssize_t,
        low=cython.ulonglong,
        high=cython.ulonglong,
        at=cython.Py_ssize_t,
    )
    def _row(self, scope: int, told: int, which: int, low: int, high: int) -> int:
        """Add a location of the variable that is added next."""
        at = ROW * self._row_total
        if at == self._rows.shape[0]:
            self._rows = longer(self._rows, at, 2 * at)
        self._rows[at] = low
        self._rows[at + 1] = high
        self._rows[at + 2] = told
        self._rows[at + 3] = which
        self._rows[at + 4] = len(self._variables)
        self._rows[at + 5] = scope
        self._row_total += 1
        self._scopes[SCOPE_WORDS * scope + 3] += 1
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(variable=Variable, scope=cython.Py_ssize_t, total=cython.Py_ssize_t, depth=cython.bint)
    def _lead_through(self) -> int:
        """Turn locations that hold an address into pointers: to a variable, or to the object that several variables are
        part of."""
        graph = self._types.graph
        ends: dict[tuple[bool, PlaceKind, int, int], int] = {}
        for scope, variable, spot, _low, _high in self._through:
            key = (self._scopes[SCOPE_WORDS * scope] > 0, spot.kind, spot.register, spot.offset)
            size = graph.pointer_size if spot.further else max(graph.size(variable.type), 0)
            ends[key] = max(ends.get(key, 0), spot.beyond + size if spot.beyond or spot.further else 0)
        whole = self._environment(self._types, self.entry) if any(ends.values()) else VOID
        rows, total = self._rows, self._row_total
        self._rows, self._row_total = zeros("Q", ROW * (total + len(self._through))), 0
        # The pointer may be a variable itself, such as a closure's environment: that one takes precedence.
        for scope, variable, spot, low, high in reversed(self._through):
            depth = self._scopes[SCOPE_WORDS * scope] > 0
            end = ends[depth, spot.kind, spot.register, spot.offset]
            t = variable.type
            if end:
                if depth or not whole or graph.size(whole) < end:
                    # The enclosing object is unknown.
                    continue
                t = whole
            number = self._expressions.add([Spot(spot.kind, spot.register, spot.offset)])
            self._row(scope, number, 0, low, high)
            self._variables.append(Variable(variable.name, graph.pointer_to(t)))
        self._rows[ROW * self._row_total : ROW * (self._row_total + total)] = rows[: ROW * total]
        self._row_total += total
        return 0

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(
        ordered="unsigned long long[::1]",
        begins="unsigned long long[::1]",
        scope=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        to=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        row="const unsigned long long *",
        into="unsigned long long *",
    )
    def _in_order(self) -> int:
        """Sort locations by depth of their scope, stable within a scope."""
        begins = zeros("Q", self._scope_total)
        depths = [self._scopes[SCOPE_WORDS * k] for k in range(self._scope_total)]
        at = 0
        for scope in sorted(range(self._scope_total), key=depths.__getitem__):
            begins[scope] = at
            at += self._scopes[SCOPE_WORDS * scope + 3]
        ordered = zeros("Q", ROW * self._row_total)
        for k in range(self._row_total):
            row = cython.address(self._rows[ROW * k])
            scope = row[5]
            to = begins[scope]
            begins[scope] += 1
            # The first and last word were bounds-checked, so all between are in range.
            ordered[ROW * to + 5] = row[5]
            into = cython.address(ordered[ROW * to])
            into[0], into[1], into[2], into[3], into[4] = row[0], row[1], row[2], row[3], row[4]
        self._rows = ordered
        return 0

    # Queries -----------------------------------------------------------------------------------------------

    @cython.ccall
    @cython.locals(
        k=cython.Py_ssize_t, told=DecodedExpression, variable=Variable, spot=tuple, scope=cython.Py_ssize_t,
        inside=cython.bint,
    )  # fmt: skip  # rows of C types
    def place(self, k: int) -> Place:
        """The location object of a row."""
        told = self._expressions.told[self._rows[ROW * k + 2]]
        variable = self._variables[self._rows[ROW * k + 4]]
        spot = cython.cast(tuple, told.spots[self._rows[ROW * k + 3]])
        scope = self._rows[ROW * k + 5]
        inside = not self._scopes[SCOPE_WORDS * scope] or self._within(
            scope, self._rows[ROW * k], self._rows[ROW * k + 1]
        )
        return _as_it_is(
            Place,
            (
                variable.name, variable.type, spot[0], spot[1], spot[2], self._rows[ROW * k], self._rows[ROW * k + 1],
                spot[3], spot[4], not inside,
            ),
        )  # fmt: skip  # rows of fields

    @cython.locals(
        first=cython.ulonglong,
        last=cython.ulonglong,
        numbers="int[::1]",
        rows="long long[::1]",
        outliving_scope="unsigned char[::1]",
        k=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        which=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        scope=cython.Py_ssize_t,
        told=DecodedExpression,
        variable=Variable,
        words=tuple,
    )
    def places(self, low: int, high: int) -> LocationTable:
        """The locations valid anywhere in [low, high), outer scopes first.

        At most one constant is included: enough to show that the function has variables.
        """
        first = low
        last = high
        total = 0
        which_of = numbers = zeros("i", self._row_total)
        for k in range(self._row_total):
            if self._rows[ROW * k] < last and self._rows[ROW * k + 1] > first:
                if total:
                    told = self._expressions.told[self._rows[ROW * k + 2]]
                    if told.flags[self._rows[ROW * k + 3]] & NOWHERE:
                        continue
                numbers[total] = k
                total += 1
        made = rows = zeros("q", PLACE_WORDS * total)
        made_strays = outliving_scope = zeros("B", total)
        at = 0
        for n in range(total):
            k = numbers[n]
            told = self._expressions.told[self._rows[ROW * k + 2]]
            variable = self._variables[self._rows[ROW * k + 4]]
            which = self._rows[ROW * k + 3]
            rows[at] = self._distance(self._rows[ROW * k], first, last)
            rows[at + 1] = self._distance(self._rows[ROW * k + 1], first, last)
            if which == 0:
                if not told.worded:
                    told.fill_columns()
                rows[at + 2] = told.kind
                rows[at + 3] = told.register
                rows[at + 4] = told.offset
                rows[at + 5] = told.piece
                rows[at + 6] = told.size
            else:
                words = words_of(*told.spots[which][:5])
                rows[at + 2] = words[0]
                rows[at + 3] = words[1]
                rows[at + 4] = words[2]
                rows[at + 5] = words[3]
                rows[at + 6] = words[4]
            rows[at + 7] = variable.type
            rows[at + 8] = -1
            if rows[at + 2] == PlaceKind.REGISTER:
                scope = self._rows[ROW * k + 5]
                if self._scopes[SCOPE_WORDS * scope]:
                    outliving_scope[n] = not self._within(scope, self._rows[ROW * k], self._rows[ROW * k + 1])
            at += PLACE_WORDS
        return LocationTable(made, made_strays, lambda number: self.place(which_of[number]))

    @cython.cfunc
    @cython.inline
    @cython.returns(cython.longlong)
    @cython.exceptval(check=False)
    @cython.locals(address=cython.ulonglong, first=cython.ulonglong, last=cython.ulonglong)
    def _distance(self, address: int, first: int, last: int) -> int:
        """Offset of an address from ``first``: -1 before it, one more than the length after ``last``."""
        if address < first:
            return -1
        return cython.cast(cython.longlong, last - first + 1 if address > last else address - first)

    @cython.locals(at=cython.ulonglong, k=cython.Py_ssize_t, scope=cython.Py_ssize_t)
    def places_at(self, pc: int) -> list[list[Place]]:
        """The variables with a location at an address, by scope, innermost first."""
        at = pc
        found: dict[int, list[Place]] = {}
        for k in range(self._row_total):
            scope = self._rows[ROW * k + 5]
            if self._rows[ROW * k] <= at < self._rows[ROW * k + 1] and self._within(scope, at, at + 1):
                found.setdefault(scope, []).append(self.place(k))
        return [found[k] for k in sorted(found, key=self._depth_below)]
