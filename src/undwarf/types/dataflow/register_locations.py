# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Variables in registers: seeds the abstract state with the types of variables whose locations are registers."""

from typing import Any

import cython
from cython.cimports.undwarf.types.dataflow.constants import (
    ADDRESS,
    ANYWHERE,
    FRAME,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    REGISTERS,
)
from cython.cimports.undwarf.types.sources.row_words import (
    PLACE_KIND,
    PLACE_PIECE,
    PLACE_PIECE_SIZE,
    PLACE_REGISTER,
    PLACE_TYPE,
    PLACE_WORDS,
)
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.column import zeros
from undwarf.types.dataflow.location_intervals import LocationIntervals
from undwarf.types.dataflow.machine_state import MachineState
from undwarf.types.dataflow.value_interner import FunctionCaches, ValueInterner

UNASKED = cython.declare(cython.int, -1)
"""The value of a variable was not computed yet."""

VALID_VARIABLE = cython.declare(cython.ulonglong, 1 << 31)
IN_SCOPE = cython.declare(cython.ulonglong, 1 << 30)


@cython.cclass
class RegisterLocations(MachineState):
    """The state with the variables in its registers. Where a variable's type differs from the tracked value,
    :class:`~undwarf.types.dataflow.declared_vs_tracked.Reconciler` decides.

    ``oracle``: ``in_registers`` are location rows, ``seeds`` the registers and values of these.
    """

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, oracle, machine, limits)
        self.own: Any = None
        self.derived_before = -1
        self.derived = self.derived_from = self.derived_by = 0
        self.seeds = LocationIntervals(oracle.in_registers, listing.offsets, oracle.size)
        self.seeded = oracle.seeds
        self.outliving_scope = oracle.outliving_scope
        self.met = zeros("i", 3 * self.seeds.count)
        self.segment = -1

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(at=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, place=cython.Py_ssize_t)
    def find_seeds(self, segment: cython.int) -> cython.int:
        """Set `seeds` to the variables in registers in a segment that have a value."""
        self.segment = segment
        at = self.seeds.firsts + 2 * cython.cast(cython.Py_ssize_t, segment)
        if not self.seeds.data[at]:
            self.seeds.fill(segment, at)
            n = self.seeds.data[at] - 1
            for i in range(n, self.seeds.data[at + 1]):
                place = self.seeds.items[i]
                if self.seeded[2 * place + 1] == UNASKED:
                    self.seeded[2 * place + 1] = self._said(place)
                if self.seeded[2 * place + 1]:
                    self.seeds.items[n] = self.seeds.items[i]
                    n += 1
            self.seeds.data[at + 1] = self.seeds.used = n
        self.seeds.begin = self.seeds.data[at] - 1
        self.seeds.end = self.seeds.data[at + 1]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _said(self, place: cython.Py_ssize_t) -> cython.int:
        """The value that a variable gives its register."""
        row: cython.Py_ssize_t = place * PLACE_WORDS
        register: cython.longlong = self.seeds.places[row + PLACE_REGISTER]
        if not 0 <= register < REGISTERS:
            return NOTHING
        if self.seeds.places[row + PLACE_KIND] != PlaceKind.REGISTER:
            return cython.cast(cython.int, self.oracle.seed(place))
        return self.held(
            self.seeds.places[row + PLACE_TYPE],
            self.seeds.places[row + PLACE_PIECE],
            self.seeds.places[row + PLACE_PIECE_SIZE] or 8,
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def held(self, t: cython.longlong, offset: cython.longlong, size: cython.longlong) -> cython.int:
        """The value of a register that holds ``size`` bytes at ``offset`` of a variable of a type."""
        if not 0 <= offset < 1 << 24 or not 0 < size < 1 << 7 or not 0 <= t < 1 << 32:
            return cython.cast(cython.int, self.oracle.held(t, offset, size))
        key: cython.ulonglong = cython.cast(cython.ulonglong, t) << 32 | offset << 7 | size
        found: cython.int = self.values.held.find(key)
        if found < 0:
            found = self.oracle.held(t, offset, size)
            self.values.held.put(key, found)
        return found

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    @cython.locals(place=cython.Py_ssize_t)
    def _differing(self, i: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The first of the current variables, from ``i`` on, whose register does not hold its value."""
        # Items are location numbers; those with registers outside of the state were left out.
        while i < self.seeds.end:
            place = self.seeds.items[i]
            if self.state[self.seeded[2 * place]] != self.seeded[2 * place + 1]:
                break
            i += 1
        return i

    @cython.ccall
    @cython.exceptval(-1)
    def seed(self, k: cython.Py_ssize_t) -> cython.int:
        """Apply the variables in registers at an instruction to the state."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        register: cython.Py_ssize_t
        value: cython.int
        known: cython.int
        outlives_scope: cython.bint
        segment: cython.int = self.seeds.data[k]
        if segment != self.segment:
            self.find_seeds(segment)
        # Segments are noted plus one, so that none is 0.
        segment += 1
        i = self.seeds.begin - 1
        while True:
            i = self._differing(i + 1)
            if i >= self.seeds.end:
                break
            place = cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            register = self.seeded[2 * place]
            value = self.seeded[2 * place + 1]
            known = self.state[register]
            if register == self.stack_pointer:
                continue
            outlives_scope = self.outliving_scope[place]
            place *= 3
            if self.met[place] == known and self.met[place + 1] == segment:
                # As at the instruction before: the same variables are there.
                self.state[register] = self.met[place + 2]
                self._type_copied_register(k, register, known, self.met[place + 2])
                continue
            if (
                self.base_of(known) == NUMBER
                and self.symbol_of(known)
                and (self.step_of(known) == 1 or self.symbol_of(known) < 0)
            ):
                # Copies have the same value.
                self.replace(known, value)
                self._type_origin(k, register, value)
            elif not known or known == ANYWHERE:
                self._type_origin(k, register, value)
            elif self.base_of(known) == OBJECT and self.symbol_of(known) and not self.step_of(known):
                # A choice of pointees that the variable decides.
                value = self.reconcile(known, value, register, outlives_scope)
                self.replace(known, value)
                continue
            else:
                value = self.reconcile(known, value, register, outlives_scope)
                self.state[register] = value
                self._type_copied_register(k, register, known, value)
                self.met[place] = known
                self.met[place + 1] = segment
                self.met[place + 2] = value
                continue
            self.state[register] = self.reconcile(known, value, register, outlives_scope)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _type_origin(self, k: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """A variable types a register that was just computed from an unknown one: type that one, too, at the same
        distance."""
        base: cython.longlong = self.derived_from
        if self.derived_before != k or self.derived != register or self.base_of(value) != OBJECT or self.step_of(value):
            return 0
        known: cython.int = self.state[base]
        if known and (self.base_of(known) != NUMBER or self.step_of(known) != 1 or self.offset_of(known)):
            return 0
        declared: cython.int = self.moved(value, -self.derived_by)
        if known and self.symbol_of(known) > 0:
            self.replace(known, declared)
        self.state[base] = declared
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _type_copied_register(
        self, k: cython.Py_ssize_t, register: cython.Py_ssize_t, known: cython.int, value: cython.int
    ) -> cython.int:
        """A variable types a register that was just copied from another one: type that one, too."""
        base: cython.longlong = self.derived_from
        if self.derived_before != k or self.derived != register or self.derived_by or value == known:
            return 0
        if self.base_of(known) == OBJECT and self.base_of(value) == OBJECT and self.state[base] == known:
            self.state[base] = value
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def reconcile(
        self, known: cython.int, declared: cython.int, register: cython.Py_ssize_t, outlives_scope: cython.bint
    ) -> cython.int:
        """The value of a register, or slot (-1), from the tracked and the declared value; ``outlives_scope``: the
        declaring variable's scope may have ended."""
        if not known or known == declared:
            return declared
        base: cython.longlong = self.base_of(known)
        if base == FRAME or known == NULL:
            return known
        if base == NUMBER and self.step_of(known) != 1 and self.symbol_of(known) >= 0:
            # An index: optimizers leave locations on values that replace the variable.
            return known
        if base != OBJECT and base != ADDRESS:
            return declared
        same = base == OBJECT and not self.step_of(known) and self.type_of(known) == self.type_of(declared)
        if same and self.offset_of(known) == self.offset_of(declared):
            return known
        validity: cython.int = 1 if register < 0 else self._variable_validity(register, known, outlives_scope)
        symbol: cython.longlong = self.symbol_of(known) if base == OBJECT and not self.step_of(known) else 0
        known = self.nameless(known)
        key: cython.ulonglong = cython.cast(cython.ulonglong, known) << 32 | cython.cast(cython.ulonglong, declared)
        if validity:
            key |= VALID_VARIABLE if validity == 1 else IN_SCOPE
        found: cython.int = self.values.reconciled.find(key)
        if found < 0 and self.own is not None:
            found = self.own.reconciled.find(key)
        if found < 0:
            value, own = self.oracle.reconciler.reconcile(self.values.of(known), self.values.of(declared), validity)
            found = self.values.number(value)
            if own and self.own is None:
                self.own = FunctionCaches()
            (self.own.reconciled if own else self.values.reconciled).put(key, found)
        if symbol and self.is_several(found):
            return self.values.intern(OBJECT, self.type_of(found), 0, symbol, self.offset_of(found))
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _variable_validity(
        self, register: cython.Py_ssize_t, known: cython.int, outlives_scope: cython.bint
    ) -> cython.int:
        """1 if the tracked value is that of a variable valid here, 2 if that one is in its scope and the current one is
        not; else 0."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        found: cython.int = 0
        for i in range(self.seeds.begin, self.seeds.end):
            place = 2 * cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            if self.seeded[place] == register and self.seeded[place + 1] == known:
                found = 1
                if not outlives_scope:
                    break
                if not self.outliving_scope[place // 2]:
                    return 2
        return found
