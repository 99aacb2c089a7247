# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""MemoryAccesses operands: their abstract addresses, the values that loads give, and the effects of stores."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.instruction_semantics import OR, STORE, STORE_PAIR, UPDATE
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_ACCESS,
    OPERAND_BASE,
    OPERAND_DISPLACED,
    OPERAND_DISPLACEMENT,
    OPERAND_INDEX,
    OPERAND_SCALE,
    OPERAND_SEGMENT,
    OPERAND_SIZE,
    OPERAND_WORDS,
    ROW_ACTION,
    ROW_IMMEDIATE,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_RIGHT,
    ROW_RULE,
)
from cython.cimports.undwarf.types.dataflow.constants import (
    ADDRESS,
    ANYWHERE,
    FRAME,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    PERCPU,
    POISON,
    THREAD,
    UNKNOWN,
    VIRTUAL,
)
from cython.cimports.undwarf.types.sources.row_words import (
    PLACE_KIND,
    PLACE_OFFSET,
    PLACE_PIECE,
    PLACE_PIECE_SIZE,
    PLACE_REGISTER,
    PLACE_TYPE,
    PLACE_WORDS,
)
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.types.dataflow.stack_frame import StackFrame
from undwarf.types.dataflow.value_interner import FunctionCaches, ValueInterner

ANY = cython.declare(cython.longlong, 1 << 40)
"""The symbol of values loaded from unions, as in undwarf.types.dataflow.abstract_values."""


@cython.cclass
class MemoryAccesses(StackFrame):
    """The state with its memory. Outside of the frame, what memory holds is known from types only; each query is cached
    by value."""

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, oracle, machine, limits)
        self.pointed = oracle.has_pointed

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def displacement(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.longlong:
        if self.operands[m + OPERAND_DISPLACED]:
            return cython.cast(cython.longlong, self.operands[m + OPERAND_DISPLACEMENT] + self.displacements[k])
        return cython.cast(cython.longlong, self.operands[m + OPERAND_DISPLACEMENT])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def immediate(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.longlong:
        rule: cython.longlong = self.rows[row + ROW_RULE]
        value: cython.longlong
        if rule == 0:
            return cython.cast(cython.longlong, self.rows[row + ROW_IMMEDIATE])
        value = self.immediates[k]
        if value < 0:
            if rule == 2 or rule == 4:
                value += cython.cast(cython.longlong, 1) << 32
            elif rule >= 5:
                value += 1 << 16
        return -value if rule == 3 or rule == 4 or rule == 6 else value

    @cython.cfunc
    @cython.exceptval(-1)
    def number(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, whole: cython.bint) -> cython.int:
        """An immediate operand; the address of a variable if it may be one."""
        value: cython.longlong = self.immediate(k, row)
        if whole and self.fixed and self._is_data(value):
            return self.values.intern(ADDRESS, value, 0, 0, value)
        return self.constant(value)

    @cython.cfunc
    @cython.exceptval(-1)
    def address_of(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, more: cython.longlong) -> cython.int:
        """The address of an operand."""
        base: cython.longlong = self.operands[m + OPERAND_BASE]
        index: cython.longlong = self.operands[m + OPERAND_INDEX]
        displacement: cython.longlong = self.displacement(k, m) + more
        inner: cython.int
        area: cython.int
        if self.operands[m + OPERAND_SEGMENT]:
            area = PERCPU if self.kernel else THREAD
            if base < 0 and index < 0:
                return self.values.intern(area, 0, 0, 0, displacement)
            inner = self._sum(m, base, index, displacement)
            if self.kernel and self.base_of(inner) == OBJECT:
                # A pointer to a per-CPU object: this CPU's copy.
                return inner
            if not inner or (self.base_of(inner) != NUMBER and self.base_of(inner) != ADDRESS):
                return NOTHING
            return self.values.intern(area, 0, self.step_of(inner), self.symbol_of(inner), self.offset_of(inner))
        if base < 0 and index < 0:
            return self.values.intern(ADDRESS, displacement, 0, 0, displacement)
        away: cython.bint = index >= 0 and base >= 0 and self.base_of(self.state[index]) == VIRTUAL
        if away and self.base_of(self.state[base]) == FRAME and self.operands[m + OPERAND_SCALE] == 1:
            return self.moved_by(k, self.moved(self.state[base], displacement), self.state[index])
        if away and displacement and self.operands[m + OPERAND_SCALE] == 1:
            behind: cython.int = self._in_virtual_base(self.state[base], self.state[index], displacement)
            if behind:
                return behind
        return self._sum(m, base, index, displacement)

    @cython.cfunc
    @cython.exceptval(-1)
    def _in_virtual_base(self, value: cython.int, away: cython.int, displacement: cython.longlong) -> cython.int:
        """The address in a virtual base relative to a part of an object; the displacement selects the part."""
        if self.base_of(value) != OBJECT or self.step_of(value) or self.is_several(value):
            return NOTHING
        place: cython.longlong = self.offset_of(value) + displacement
        found: Any = self.oracle.virtual_base_at(self.type_of(value), place, self.offset_of(away))
        return cython.cast(cython.int, found)

    @cython.cfunc
    @cython.exceptval(-1)
    def moved_by(self, k: cython.Py_ssize_t, value: cython.int, other: cython.int) -> cython.int:
        """The sum of two values, one of which may be a virtual base offset for an object in the frame."""
        if self.base_of(value) == VIRTUAL:
            value, other = other, value
        if self.base_of(other) != VIRTUAL or self.base_of(value) != FRAME or self.step_of(value):
            return self.add(value, other)
        if not self.stack_variable(k, self.offset_of(value)):
            return NOTHING
        t: Any = self.frame[self.found * PLACE_WORDS + PLACE_TYPE]
        return cython.cast(cython.int, self.oracle.virtual_base_at(t, self.within, self.offset_of(other)))

    @cython.cfunc
    @cython.exceptval(-1)
    def _sum(
        self,
        m: cython.Py_ssize_t,
        base_register: cython.longlong,
        index_register: cython.longlong,
        displacement: cython.longlong,
    ) -> cython.int:
        base: cython.int = self.state[base_register] if base_register >= 0 else NULL
        if base == ANYWHERE:
            base = NOTHING
        if index_register < 0:
            number: cython.bint = base_register >= 0 and (not base or self.base_of(base) == NUMBER)
            if number and self.fixed and displacement:
                if self._counted(base) and self._is_data(displacement + self.offset_of(base)):
                    # table-8(%rax) where %rax was added to before: less than the address.
                    return self.values.intern(
                        ADDRESS,
                        displacement + self.offset_of(base),
                        self.step_of(base),
                        self.symbol_of(base),
                        displacement + self.offset_of(base),
                    )
                if self._is_data(displacement):
                    # table(%rax): the displacement is the address.
                    return self._from(displacement, base if base else UNKNOWN)
            return self.moved(base, displacement)
        scale: cython.longlong = self.operands[m + OPERAND_SCALE]
        index: cython.int = self.state[index_register]
        total: cython.int
        if index_register == base_register and (not base or self.base_of(base) in (NUMBER, OBJECT)):
            total = self.scaled(base, 1 + scale)
        else:
            total = self.add(base, index if scale == 1 else self.scaled(index, scale))
        if displacement and (not total or self.base_of(total) == NUMBER):
            # table(,%rax,8): the displacement is the address.
            if not total and base_register < 0:
                total = self.values.intern(NUMBER, 0, scale, 0, 0)
            if self.fixed and self._is_data(displacement):
                return self._from(displacement, total if total else UNKNOWN)
        if not total:
            return NOTHING
        if self.base_of(total) == NUMBER and not base and index_register != base_register:
            # The unknown base may be the pointer.
            return NOTHING
        return self.moved(total, displacement)

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_data(self, address: cython.longlong) -> cython.int:
        """Whether an integer is the address of a variable, in position-dependent code."""
        if not address:
            return 0
        found: cython.int = self.values.data.find(cython.cast(cython.ulonglong, address))
        if found < 0:
            found = 1 if self.oracle.is_data(address) else 0
            self.values.data.put(cython.cast(cython.ulonglong, address), found)
        return found

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _counted(self, number: cython.int) -> cython.bint:
        """Whether an integer goes up in steps from a known start."""
        return number > 0 and self.step_of(number) > 1 and self.offset_of(number) > 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _from(self, address: cython.longlong, number: cython.int) -> cython.int:
        """An address of the program plus an integer."""
        return self.values.intern(
            ADDRESS, address, self.step_of(number), self.symbol_of(number), self.offset_of(number) + address
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def memory_variable(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, more: cython.longlong) -> cython.bint:
        """Find the variable whose location is relative to an operand's base register, whatever that holds: sets
        ``found`` and ``within``."""
        if self.operands[m + OPERAND_INDEX] >= 0 or self.operands[m + OPERAND_BASE] < 0:
            return False
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        row: cython.Py_ssize_t
        offset: cython.longlong
        size: cython.longlong
        self.frames.find(k)
        for i in range(self.frames.end - 1, self.frames.begin - 1, -1):
            place = self.frames.items[i]
            row = place * PLACE_WORDS
            if (
                self.frame[row + PLACE_KIND] == PlaceKind.MEMORY
                and self.frame[row + PLACE_REGISTER] == self.operands[m + OPERAND_BASE]
            ):
                offset = self.displacement(k, m) + more - self.frame[row + PLACE_OFFSET]
                size = self.frame[row + PLACE_PIECE_SIZE]
                if not size:
                    size = self.size_of(place)
                if 0 <= offset < size:
                    self.found = place
                    self.within = offset + self.frame[row + PLACE_PIECE]
                    return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def load(
        self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, size: cython.longlong, more: cython.longlong
    ) -> cython.int:
        """The value of a load."""
        where: cython.int = self.address_of(k, m, more)
        if not where:
            if size == 8 and self.memory_variable(k, m, more):
                return self.held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, size)
            return UNKNOWN if size < 8 else NOTHING
        base: cython.longlong = self.base_of(where)
        if base == FRAME:
            return self._load_frame(k, where, size)
        if base in (NUMBER, POISON) or (size != 8 and base != ADDRESS):
            if size == 8 and self._is_placing(m) and self.memory_variable(k, m, more):
                # An address computed by integer operations, such as masking.
                return self.held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, size)
            # Narrow loads give integers.
            return UNKNOWN if size < 8 else NOTHING
        if (
            base == THREAD
            and self.operands[m + OPERAND_SEGMENT]
            and not self.step_of(where)
            and not self.offset_of(where)
        ):
            return where
        value: cython.int = self._at(where, size)
        if size == 8 and base == OBJECT and self.offset_of(where) < 0:
            # Offsets before an object are resolved by guess only.
            value = self._at_other(k, m, more) or value
        elif size == 8 and base == OBJECT and not value and self._leads_nowhere(where):
            value = self._at_other(k, m, more)
        anything: cython.bint = not value or value == ANYWHERE
        told: cython.bint = size == 8 and self._is_placing(m) and (anything or self.is_several(value))
        if told and self.memory_variable(k, m, more):
            # A void pointer member with a variable in it: use the variable's type.
            said: cython.int = self.held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, size)
            # The alternatives may start with the pointer.
            if said and (anything or self.oracle.may_be(self.type_of(value), self.type_of(said))):
                return said
        return self.own_name(value, k)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def own_name(self, value: cython.int, k: cython.Py_ssize_t) -> cython.int:
        """Give a value loaded from a union the symbol of this load."""
        if not value or self.symbol_of(value) != ANY:
            return value
        self.forget(k + 1)
        return self.values.intern(OBJECT, self.type_of(value), 0, k + 1, self.offset_of(value))

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _is_placing(self, m: cython.Py_ssize_t) -> cython.bint:
        """Whether any variable's location in memory is relative to an operand's base register."""
        register: cython.longlong = self.operands[m + OPERAND_BASE]
        return 0 <= register < 64 and bool(self.placing >> register & 1)

    @cython.cfunc
    @cython.exceptval(-1)
    def _at(self, where: cython.int, size: cython.longlong) -> cython.int:
        """The value at an address outside of the frame."""
        where = self.nameless(where)
        key: cython.ulonglong = cython.cast(cython.ulonglong, where) << 32 | cython.cast(cython.ulonglong, size)
        found: cython.int = self.values.loaded.find(key)
        if found < 0 and self.own is not None:
            found = self.own.loaded.find(key)
        if found < 0:
            value, own = self.oracle.load(self.values.of(where), size)
            found = self.values.number(value)
            if own and self.own is None:
                self.own = FunctionCaches()
            (self.own.loaded if own else self.values.loaded).put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _at_other(self, k: cython.Py_ssize_t, m: cython.Py_ssize_t, more: cython.longlong) -> cython.int:
        """The value at an operand's address according to another variable in its base register, if the address is
        before or past the object of the first one."""
        offset: cython.longlong = self.displacement(k, m) + more
        inside: cython.longlong
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        said: cython.int
        if self.operands[m + OPERAND_INDEX] >= 0 or offset < 0:
            return NOTHING
        for i in range(self.seeds.begin, self.seeds.end):
            place = 2 * cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            said = self.seeded[place + 1]
            if self.seeded[place] != self.operands[m + OPERAND_BASE] or self.base_of(said) != OBJECT:
                continue
            inside = offset + self.offset_of(said)
            if self.offset_of(said) <= 0 <= inside and inside < self.oracle.graph.size(self.type_of(said)):
                return self._at(self.moved(said, offset), 8)
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _load_frame(self, k: cython.Py_ssize_t, where: cython.int, size: cython.longlong) -> cython.int:
        offset: cython.longlong = self.offset_of(where)
        there: cython.bint = self.stack_variable(k, offset)
        place: cython.Py_ssize_t = self.found
        within: cython.longlong = self.within
        step: cython.longlong = self.step_of(where)
        if step:
            if size < 8:
                return UNKNOWN
            if not there or size != 8:
                return NOTHING
            return self.own_name(self.oracle.frame_element(place, step, within, size), k)
        at: cython.Py_ssize_t = self.slot(offset, size, True) if size == 4 or size == 8 else -1
        known: cython.int = self.state[at] if at >= 0 else NOTHING
        said: cython.int = NOTHING
        room: cython.longlong
        at_place: cython.Py_ssize_t
        if not there and size == 8 and (not known or self.base_of(known) == NUMBER):
            # A variable's location may start at the next instruction.
            there = self.stack_variable(k + 1, offset)
            place = self.found
            within = self.within
        if there and size == 8:
            at_place = place * PLACE_WORDS
            room = self.frame[at_place + PLACE_PIECE] + self.frame[at_place + PLACE_PIECE_SIZE]
            if within + size <= (room if room else self.size_of(place)):
                said = self.held(self.frame[at_place + PLACE_TYPE], within, size)
                if not said and (not known or (self.base_of(known) == NUMBER and known != NULL)):
                    said = self.own_name(self.oracle.frame_pointers(place, within), k)
        elif self.pointed and size == 8 and (not known or (self.base_of(known) == NUMBER and known != NULL)):
            said = self.oracle.pointed(k, offset)
        if not known:
            if not said and at >= 0:
                # Equal loads give the same integer until something is stored.
                self.forget(k + 1)
                known = self.values.intern(NUMBER, 0, 1, k + 1, 0)
                self.state[at] = known
            return said if said else known
        if self.base_of(known) == NUMBER:
            return said if said and known != NULL else self.name(at, known, k)
        return self.reconcile(known, said, -1, False) if said else known

    @cython.cfunc
    @cython.exceptval(-1)
    def stores(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.int:
        """Apply an instruction's stores to the frame."""
        action: cython.longlong = self.rows[row + ROW_ACTION]
        left: cython.longlong = self.rows[row + ROW_LEFT]
        right: cython.longlong = self.rows[row + ROW_RIGHT]
        m: cython.Py_ssize_t = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        size: cython.longlong
        at: cython.Py_ssize_t
        where: cython.int
        value: cython.int
        base: cython.longlong
        if action in (OR, UPDATE) and left < 0 and right < 0 and not self.immediate(k, row):
            # A memory barrier, no store.
            return 0
        for _operand in range(self.rows[row + ROW_OPERANDS]):
            if not self.operands[m + OPERAND_ACCESS] & 2:
                m += OPERAND_WORDS
                continue
            size = self.operands[m + OPERAND_SIZE]
            where = self.address_of(k, m, 0)
            base = self.base_of(where)
            m += OPERAND_WORDS
            if base == FRAME:
                if self.step_of(where) or not size:
                    self.spoil(k, self.offset_of(where), size, self.operands[m - OPERAND_WORDS + OPERAND_BASE])
                    continue
                if action == STORE_PAIR:
                    self.put(self.offset_of(where), size // 2, self.get(left))
                    self.put(self.offset_of(where) + size // 2, size // 2, self.get(self.second(left, right)))
                    continue
                value = NOTHING
                if action == STORE:
                    if left < 0:
                        value = self.number(k, row, size == 8)
                    else:
                        value = self.get(left)
                        if not value or self.base_of(value) == NUMBER:
                            value = self.name(left, value if value else UNKNOWN, k)
                            if size == 8 and self.symbol_of(value) and self.step_of(value) == 1:
                                value = self._learn(k, self.offset_of(where), value)
                        else:
                            self.escape(value)
                            if size == 8 and self.base_of(value) == OBJECT and self.step_of(value):
                                value = self._cast(k, self.offset_of(where), value)
                elif action == UPDATE and (size == 4 or size == 8):
                    at = self.slot(self.offset_of(where), size, False)
                    value = self.state[at] if at >= 0 else NOTHING
                    if right >= 0:
                        value = self.difference(value, self.get(right))
                    else:
                        value = self.add(value, self.get(left) if left >= 0 else self.constant(self.immediate(k, row)))
                    if value and size == 4 and self.base_of(value) != NUMBER:
                        value = NOTHING
                self.put(self.offset_of(where), size, value)
                continue
            if action == STORE and left >= 0 and size == 8 and base in (OBJECT, ADDRESS):
                self._learn_stored(k, left, where)
            if base != ADDRESS and base != THREAD and base != PERCPU:
                if action == STORE and left >= 0:
                    self._escape_to(self.get(left), where, size)
                self.lose_escaped(k)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _escape_to(self, value: cython.int, where: cython.int, size: cython.longlong) -> cython.int:
        """The address of a stack slot is stored where others see it. If it goes into a pointer to pointers, these may
        be changed, but only to pointers of the same type."""
        if not value or self.base_of(value) != FRAME:
            return 0
        said: cython.int = self._at(where, 8) if size == 8 and self.base_of(where) == OBJECT else NOTHING
        leads: cython.bint = self.base_of(said) == OBJECT and not self.step_of(said) and not self.offset_of(said)
        self.escape_as(value, self.oracle.calls.room(self.type_of(said)) if leads else 0)
        at: cython.Py_ssize_t = self.slot(self.offset_of(value), 8, False)
        if self.step_of(value) or at < 0 or self.base_of(self.state[at]) != OBJECT:
            return 0
        pointer: cython.int = self.held(self.type_of(said), 0, 8) if leads else NOTHING
        same: cython.bint = self.escaped_as.get(self.offset_of(value), pointer) == pointer
        self.escaped_as[self.offset_of(value)] = pointer if same else NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _learn_stored(self, k: cython.Py_ssize_t, register: cython.longlong, where: cython.int) -> cython.int:
        """An unknown value is stored to a pointer member: it has the member's type, in all copies. A byte pointer, or
        one past an object, has that type from here on."""
        value: cython.int = self.get(register)
        elsewhere: cython.bint = self.base_of(value) == OBJECT and self._leads_nowhere(value)
        number: cython.bint = self.base_of(value) == NUMBER and self.step_of(value) == 1 and not self.offset_of(value)
        if value and not elsewhere and not number:
            return 0
        said: cython.int = self.own_name(self._at(where, 8), k)
        if not said or self.base_of(said) != OBJECT:
            return 0
        if not elsewhere:
            if value and self.symbol_of(value) > 0:
                self.replace(value, said)
        elif self.type_of(said) == self.type_of(value) or self._leads_nowhere(said) or self.is_several(said):
            return 0
        elif self.offset_of(value) > 0 and not self.step_of(value):
            # A pointer past an object was computed once and may have been copied.
            self.replace(value, said)
        self.set(register, said)
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _leads_nowhere(self, value: cython.int) -> cython.bint:
        """Whether a pointer points to bytes, or past its object."""
        key: cython.ulonglong = self.type_of(value) + 1
        whole: cython.int = self.values.sizes.find(key)
        if whole < 0:
            whole = min(max(self.oracle.graph.size(self.type_of(value)), 0), 1 << 30)
            self.values.sizes.put(key, whole)
        return whole == 1 or 0 < whole <= self.offset_of(value)

    @cython.cfunc
    @cython.exceptval(-1)
    def _learn(self, k: cython.Py_ssize_t, offset: cython.longlong, value: cython.int) -> cython.int:
        """An unknown value is stored to a pointer variable: it has the variable's type, in all copies."""
        if self.offset_of(value) or not self.stack_variable(k + 1, offset):
            return value
        said: cython.int = self.held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, 8)
        if not said:
            return value
        self.replace(value, said)
        return said

    @cython.cfunc
    @cython.exceptval(-1)
    def _cast(self, k: cython.Py_ssize_t, offset: cython.longlong, value: cython.int) -> cython.int:
        """A computed pointer to scalars is stored to a pointer variable to scalars of another size: a cast from here
        on."""
        if not self.stack_variable(k + 1, offset):
            return value
        said: cython.int = self.held(self.frame[self.found * PLACE_WORDS + PLACE_TYPE], self.within, 8)
        if not said or self.type_of(said) == self.type_of(value):
            return value
        graph: Any = self.oracle.graph
        if not graph.is_scalar(self.type_of(said)) or not graph.is_scalar(self.type_of(value)):
            return value
        if graph.size(self.type_of(said)) == graph.size(self.type_of(value)):
            return value
        self.replace(value, said)
        return said
