# cython: language_level=3, annotation_typing=False
"""What types say of values: what lies at an address, what a load gives, whether tracking or a variable is right.

The data flow (`value_arithmetic.py` to `solver.py`) asks these questions with values as tuples, each once. Variables of
the debugging information and what was tracked are brought together here: each may know what the other does not, and
each may be wrong (optimizers let variables stay with registers that hold something derived from them).
"""

from collections.abc import Mapping
from functools import cached_property
from math import gcd

import cython
from cython.cimports.undwarf.types.sources.row_words import PLACE_WORDS
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.column import absent, longer
from undwarf.disasm.listing import Listing
from undwarf.types.dataflow.abstract_values import (
    ADDRESS,
    ANY,
    ANYWHERE,
    FRAME,
    NUMBER,
    OBJECT,
    PERCPU,
    THREAD,
    VIRTUAL,
    Value,
    alone,
    join,
    value_of_type,
    with_link,
    with_variable,
)
from undwarf.types.dataflow.call_effects import Calls
from undwarf.types.dataflow.constants import REGISTERS
from undwarf.types.dataflow.declared_vs_tracked import Reconciler
from undwarf.types.dataflow.global_lookup import Globals
from undwarf.types.dataflow.program_context import Program
from undwarf.types.dataflow.stale_locations import cut_at_calls, cut_at_inner, without_stale
from undwarf.types.dataflow.value_interner import Values
from undwarf.types.layouts.array_offsets import row_at, stands_alone
from undwarf.types.layouts.class_hierarchy import Kin
from undwarf.types.layouts.container_of import is_last_before
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import Located
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.layouts.virtual_bases import is_method_table, virtual_base, virtual_base_behind
from undwarf.types.sources.location_table import behind_calls, sorted_places, table_of
from undwarf.types.sources.parameter_registers import argument_registers, stack_arguments
from undwarf.types.sources.type_source import GlobalVariable, Place, Prototype

__all__ = ["Questions"]

_ANY_INDEX = 1 << 60
"""A number that no index is, as larger ones are for us."""


class Questions:
    """What the data flow of one function asks. ``low`` and ``high``: where the function is; ``listing``: its
    instructions; ``told``: what is found to be in its frame, where nothing names its variables; ``variables``: those
    elsewhere that nothing describes, by address, as far as it tells itself."""

    def __init__(
        self,
        program: Program,
        values: Values,
        low: int,
        high: int,
        listing: Listing,
        told: tuple[Place, ...] = (),
        variables: "Mapping[int, GlobalVariable] | None" = None,
    ) -> None:
        self.program = program
        self.values = values
        self.graph = program.graph
        self._low = low
        self.size = high - low
        self._machine = program.machine
        self.embedders = program.embedders_at(low)
        self.calls = Calls(program, values, in_c=self.embedders.whole or self.embedders.bases_only)
        self.places = table_of(program.source.function_places(low, high), low, self.size)
        self._offsets = listing.offsets
        self._unfollowed = False
        """Whether variables are told to be in registers in all of their scopes, and not followed."""
        of_frame = (program.machine.stack_pointer, program.machine.frame_pointer)
        behind, lost = behind_calls(listing.flows, listing.offsets), self.calls.lost_bits[0]
        found = sorted_places(self.places, self.size, of_frame, self.graph.is_aggregate, behind, lost)
        if found.always or found.over_calls:
            places = kept = list(self.places)
            if found.always:
                kept, self._unfollowed = without_stale(kept, low, high, listing, self.calls.lost, program.changed_by)
            if found.over_calls and not self._unfollowed:
                kept = cut_at_calls(kept, listing, self.calls.lost, self.calls.refutes)
            if found.always:
                kept = cut_at_inner(kept, low, high, listing)
            if kept != places:
                self.places = table_of(kept, low, self.size)
                found = sorted_places(self.places, self.size, of_frame, self.graph.is_aggregate, behind, lost)
        self.has_variables = bool(self.places)
        self._pointing = found.pointing_rows
        """Of the variables whose value is the address of a place in the frame."""
        self.has_pointed = len(self._pointing) > 0
        self._told = told
        known = Globals(program, variables)
        self.variable_of, self.global_at = known.variable_of, known.global_at
        self._in_frame = found.in_frame
        """The numbers of the places in memory."""
        self.in_registers, self.strays, self.seeds = found.register_rows, found.strays, found.seeds
        """``seeds``: by place, the register and what that holds: a number of ``values``, -1 until that is asked for."""
        self.in_frame = found.frame_rows
        if told:
            more, used = table_of(told, low, self.size).rows, len(self.in_frame)
            self.in_frame = longer(self.in_frame, used, used + len(more))
            self.in_frame[used:] = more
        self.placing = self._placing()
        """The registers that variables in memory are counted from, other than the stack's, as bits."""
        self._kin = Kin(self.graph, lambda: program.source.related(low))
        self.reconciler = Reconciler(
            self.graph, self._kin, self.embedders, known.variable_of, unfollowed=self._unfollowed
        )
        self._frame_pointers: dict[tuple[int, int], int] = {}
        self._shared: dict[tuple[int, int, int, Value], int] = {}
        self._walked: set[tuple[int, int]] | None = None
        self._own = False
        """Whether the answer holds for this function only."""

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t, found=cython.ulonglong, one=cython.ulonglong)
    def _placing(self) -> int:
        rows, found, one = self.in_frame, 0, 1
        for at in range(0, len(rows), PLACE_WORDS):
            if rows[at + 2] == PlaceKind.MEMORY and 0 <= rows[at + 3] < 64:
                found |= one << rows[at + 3]
        return found & ~(one << cython.cast(cython.int, self._machine.stack_pointer))

    def frame_place(self, number: int) -> Place:
        """The place of a variable in memory, by its number among those."""
        further = number - len(self._in_frame)
        return self.places[self._in_frame[number]] if further < 0 else self._told[further]

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t)
    def homes_at(self, offset: int, stack: Value | None) -> list[Place]:
        """The places of variables that begin at an offset from the call frame address, whenever they are there;
        ``stack``: what the stack pointer holds, which some are counted from."""
        rows, found = self.in_frame, []
        top = stack[4] if stack is not None and stack[0] == FRAME and not stack[2] else None
        for at in range(0, len(rows), PLACE_WORDS):
            if rows[at + 2] == PlaceKind.MEMORY and rows[at + 3] == self._machine.stack_pointer and top is not None:
                begins = rows[at + 4] + top == offset
            else:
                begins = rows[at + 2] == PlaceKind.CFA and rows[at + 4] == offset
            if begins:
                found.append(self.frame_place(at // PLACE_WORDS))
        return found

    def frame_places_at(self, pc: int) -> list[Place]:
        """Variables in memory that have a place at an address of the function, the outermost scope's first."""
        rows, at = self.in_frame, pc - self._low
        found = [n for n in range(len(rows) // PLACE_WORDS) if rows[PLACE_WORDS * n] <= at < rows[PLACE_WORDS * n + 1]]
        return [self.frame_place(n) for n in found]

    # Answers in numbers of values --------------------------------------------------------------------------

    def _said(self, number: int) -> int:
        """What a variable says that its register holds."""
        _low, _high, kind, register, _offset, piece, size, t, _size = self._row(self.in_registers, number)
        if not 0 <= register < REGISTERS:
            return 0
        return self.seed(number) if kind != PlaceKind.REGISTER else self.held(t, piece, size or 8)

    def seed(self, number: int) -> int:
        """What the register of a variable holds that is not there itself; 0 where that says nothing."""
        _low, _high, kind, _register, offset, piece, size, t, _size = self._row(self.in_registers, number)
        if kind == PlaceKind.MEMORY:
            return self.values.number((OBJECT, t, 0, 0, -offset))
        value = value_of_type(self.graph, t, piece, size or 8)
        return self.values.number((OBJECT, value[1], 0, 0, -offset) if value is not None else None)

    @staticmethod
    def _row(rows: "memoryview[int]", number: int) -> list[int]:
        return rows[PLACE_WORDS * number : PLACE_WORDS * (number + 1)].tolist()

    def held(self, t: int, offset: int, size: int) -> int:
        """What a register holds when it holds bytes of a value of a type."""
        return self.values.number(value_of_type(self.graph, t, offset, size))

    def frame_size(self, number: int) -> int:
        """Bytes of a variable in the frame."""
        return self.graph.size(self.in_frame[PLACE_WORDS * number + 7])

    def shared(self, t: int, offset: int, step: int, value: Value) -> int:
        """A pointer to an offset of a variable of a type, or steps further, and another pointer as one to what both
        lead to; 0 where that is nothing."""
        key = (t, offset, step, value)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.values.number(with_variable(t, offset, step, value, self.graph))
        return found

    def scalar(self, value: Value) -> int:
        """A pointer to a number or pointer, or to one inside of something, as one to that alone; 0 where it is none."""
        return self.values.number(alone(value, self.graph))

    @cython.locals(
        rows="const long long[::1]", n=cython.Py_ssize_t, at=cython.longlong, t=cython.Py_ssize_t,
        within=cython.longlong, size=cython.longlong, best=cython.longlong,
    )  # fmt: skip  # rows of C types
    def pointed(self, k: int, offset: int) -> int:
        """What a pointer is loaded from at an offset from the call frame address where nothing is said to be: a member
        of the largest object that a variable leads to there. What optimizers took apart may still have parts in place.
        """
        graph, rows, at = self.graph, self._pointing, self._offsets[k]
        best, found = 0, 0
        for n in range(0, len(rows), PLACE_WORDS):
            if not rows[n] <= at < rows[n + 1] or not graph.is_pointer(rows[n + 7]):
                continue
            t, within = graph.target(rows[n + 7]), offset - rows[n + 4]
            size = graph.size(t) if graph.is_aggregate(t) else 0
            if 0 <= within <= size - 8 and size > best:
                best, found = size, self.values.number(self._pointer_at(t, within, 8))
        return found

    def frame_element(self, number: int, step: int, offset: int, size: int) -> int:
        """What is loaded from an array in the frame."""
        located = locate(self.graph, self.in_frame[PLACE_WORDS * number + 7], step, offset, size)
        return 0 if isinstance(located, str) else self.values.number(self._pointer_at(*located[:2], size))

    def frame_pointers(self, number: int, offset: int) -> int:
        """What is loaded from an offset of a variable in the frame, where that is one of a union's pointers."""
        key = (self.in_frame[PLACE_WORDS * number + 7], offset)
        found = self._frame_pointers.get(key)
        if found is None:
            several = self.graph.pointers_at(*key, 8) if self.graph.is_aggregate(key[0]) else 0
            found = self.values.number((OBJECT, several, 0, ANY, 0)) if several else 0
            self._frame_pointers[key] = found
        return found

    def is_data(self, address: int) -> bool:
        """Whether a number is the address of a variable, in code whose addresses are fixed."""
        asked = self.program.is_data
        return asked is not None and asked(address & 0xFFFFFFFFFFFFFFFF)

    def unplaced(self, prototype: Prototype) -> list[tuple[int, Value | None]]:
        """What is in the registers of a function's parameters when it begins, where no variable is told to have a place
        then: compilers that make a loop of a call at the end only tell where parameters are in that."""
        if not prototype.external or self._machine.name != "x86_64" or self._begins_placed():
            return []
        given = argument_registers(self.graph, prototype.parameters, prototype.returns)
        return [(register, value_of_type(self.graph, t, piece, 8)) for register, t, piece in given]

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t)
    def anything(self) -> list[tuple[int, Value | None]]:
        """The registers of variables that are pointers to void when the function begins."""
        rows, found = self.in_registers, list[tuple[int, Value | None]]()
        for at in range(0, len(rows), PLACE_WORDS):
            if rows[at] <= 0 and rows[at + 2] == PlaceKind.REGISTER and not rows[at + 5] and not rows[at + 6]:
                register, t = rows[at + 3], rows[at + 7]
                if 0 <= register < REGISTERS and self.graph.is_void_pointer(t):
                    found.append((register, ANYWHERE))
        return found

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t)
    def given_on_stack(self, prototype: Prototype | None) -> list[tuple[int, int]]:
        """(offset from the call frame address, number of the value) of the pointers that the caller puts on the stack
        for the function, where variables are told to be at any time: until something is stored there, they are."""
        if prototype is None or self._machine.name != "x86_64":
            return []
        given = {offset for offset, _t in stack_arguments(self.graph, prototype.parameters, prototype.returns)}
        rows, found = self.in_frame, dict[int, set[int]]()
        for at in range(0, len(rows) if given else 0, PLACE_WORDS):
            counted = rows[at + 2] == PlaceKind.MEMORY and rows[at + 3] == self._machine.stack_pointer
            if (not counted and rows[at + 2] != PlaceKind.CFA) or rows[at + 5] or rows[at + 6]:
                continue
            offset = rows[at + 4]
            if counted:
                rule = self.program.frame_rules([self._low + rows[at]])[0]
                offset -= rule[1] if rule is not None and rule[0] == self._machine.stack_pointer else offset + 1
            if offset in given:
                found.setdefault(offset, set()).add(self.held(rows[at + 7], 0, 8))
        return [(offset, next(iter(said))) for offset, said in found.items() if len(said) == 1]

    @cython.locals(rows="long long[::1]", at=cython.Py_ssize_t)
    def _begins_placed(self) -> bool:
        """Whether any variable has a place at the function's first instruction."""
        for rows in (self.in_registers, self.in_frame):
            for at in range(0, len(rows), PLACE_WORDS):
                if rows[at] <= 0:
                    return True
        return False

    # Values ------------------------------------------------------------------------------------------------

    def load(self, where: Value, size: int) -> tuple[Value | None, bool]:
        """What a load of so many bytes from a place that is not in the frame gives, and whether that is so in this
        function only."""
        self._own = False
        value = self._load(where, size)
        return value, self._own

    def _load(self, where: Value, size: int) -> Value | None:
        if size == 8 and self.program.kernel and self.program.is_per_cpu_base(where):
            return (PERCPU, 0, 0, 0, 0)
        if where[0] == ADDRESS and not where[2]:
            leads = self.program.indirections.get(where[4])
            if leads is not None:
                return (ADDRESS, leads, 0, 0, leads)
            other = self.program.elsewhere(where[4])
            if other:
                return (OBJECT, other, 0, 0, 0)
        if size != 8:
            return None
        if where[0] in (THREAD, PERCPU):
            found = self.in_block(where)
            return self._pointer_at(*found, size) if found is not None else None
        if where[0] not in (OBJECT, ADDRESS):
            return None
        if where[0] == OBJECT and where[4] < 0 and not where[2] and is_method_table(self.graph, where[1]):
            return (VIRTUAL, 0, 0, 0, where[4])
        located = self.locate(where, size)
        if isinstance(located, str) and where[0] == ADDRESS and not where[2]:
            number = self.program.constant_at(where[4])
            if number is not None:
                return (NUMBER, 0, 0, 0, max(-_ANY_INDEX, min(number, _ANY_INDEX)))
        exact = where[0] == OBJECT and not where[2]
        if isinstance(located, str) and exact and is_last_before(self.graph, where[1], where[4], size, self.embedders):
            located = locate(self.graph, where[1], self.graph.size(where[1]), where[4], size)
        if isinstance(located, str):
            return self._of_choices(where, size) or self._either(where, size)
        if where[0] == OBJECT and where[4] < 0 and not where[2] and stands_alone(self.graph, where[1]):
            return None
        t = self.graph.value_at(located.type, located.offset, size)
        if t and self.graph.is_void_pointer(t):
            return ANYWHERE
        return self._pointer_at(located.type, located.offset, size)

    def _of_choices(self, where: Value, size: int) -> Value | None:
        """What is loaded from one of several types, if it is an address at all: what their members lead to."""
        graph = self.graph
        choices = graph.choices(where[1]) if where[0] == OBJECT else ()
        targets: list[int] = []
        for t in choices if where[4] >= 0 else ():
            whole, at = t, where[4]
            if where[2]:
                located = locate(graph, t, where[2], at, size)
                if isinstance(located, str):
                    continue
                whole, at = located.type, located.offset
            found = graph.value_at(whole, at, size) if where[2] or at < graph.size(t) else VOID
            value = value_of_type(self.graph, found, 0, size) if found else None
            targets += graph.choices(graph.pointers_at(whole, at, size)) if value is None else (value[1],)
        one = graph.one_of(targets)
        return (OBJECT, one, 0, ANY if graph.choices(one) else 0, 0) if one else None

    def _either(self, where: Value, size: int) -> Value | None:
        """One of two members side by side, chosen by an index: a pointer, if both are the same."""
        if where[0] != OBJECT or not 8 <= where[2] <= 64:
            return None
        first = self._pointer_at(where[1], where[4], size)
        if first is None:
            return None
        beside = (where[4] + where[2], where[4] - where[2])
        return first if any(first == self._pointer_at(where[1], at, size) for at in beside) else None

    def virtual_base(self, value: Value, slot: int) -> Value | None:
        """The virtual base of an object whose place is said at an offset of its table of virtual functions."""
        if value[0] != OBJECT or value[2]:
            return None
        base = virtual_base(self.graph, value[1], value[4], slot)
        if not base and not value[4]:
            # Or from a virtual base to what a thunk calls a method of.
            prototype = self.program.source.prototype_at(self._low)
            if prototype is not None and prototype.whole is not None and prototype.whole[0] == slot:
                base = prototype.whole[1]
        return (OBJECT, base, 0, 0, 0) if base else None

    def virtual_base_at(self, t: int, offset: int, slot: int) -> int:
        """The number of a place in a virtual base of a variable, which is so far from the variable's begin, less
        how far its table of virtual functions says at ``slot`` that the base is from there; 0 for none."""
        found = virtual_base_behind(self.graph, t, offset, slot)
        return self.values.number((OBJECT, found[0], 0, 0, found[1])) if found is not None else 0

    def function_at(self, where: Value | None) -> int:
        """The number of a pointer to the only function that what lies at an address may be a pointer to; 0 for none."""
        found = self.graph.function_at(where[1], where[4]) if where is not None and where[0] == OBJECT else VOID
        return self.values.number((OBJECT, found, 0, 0, 0)) if found and where is not None and not where[2] else 0

    def in_block(self, where: Value) -> tuple[int, int] | None:
        """(type, offset in it) of the per-cpu or thread-local variable at a place of its block."""
        if where[0] == PERCPU:
            got = self.program.source.per_cpu_at(where[4] & 0xFFFFFFFFFFFFFFFF)
        else:
            got = self.program.source.thread_local_at(where[4] + self.program.thread_block)
        return None if got is None else (got[0].type, got[1])

    def _pointer_at(self, t: int, offset: int, size: int) -> Value | None:
        found = self.graph.value_at(t, offset, size)
        if found:
            return value_of_type(self.graph, found, 0, size)
        several = self.graph.pointers_at(t, offset, size)
        return (OBJECT, several, 0, ANY, 0) if several else None

    def join(self, left: Value, right: Value) -> Value | None:
        """What holds on both of two ways, where globals or objects of two types meet."""
        for one, other in ((left, right), (right, left)):
            several = self.graph.choices(one[1]) if one[0] == other[0] == OBJECT and one[2:] == other[2:] else ()
            if other[1] in several and not all(self._is_character(t) for t in several if t != other[1]):
                return other
        if ADDRESS in (left[0], right[0]) and left[0] in (ADDRESS, OBJECT) and right[0] in (ADDRESS, OBJECT):
            # Two globals, or a global and something else: an object of the type they share.
            if left[0] == right[0] and (left[1] == right[1] or self._begin_of(left) == self._begin_of(right)):
                return self._in_one(left, right)
            a, b = self._as_object(left), self._as_object(right)
            if a is not None and b is not None:
                return join(a, b, self.graph)
            # Text that is written where it is used has no name.
            named = a if b is None else b
            return named if named is not None and self._is_character(named[1]) else None
        # Where variables have types, they say which it is; the ends of C++'s containers are links alone.
        element = with_link(left, right, self.graph) if self.program.complete else None
        return element or join(left, right, self.graph)

    def _is_character(self, t: int) -> bool:
        return self.graph.is_scalar(t) and self.graph.size(t) == 1

    def _in_one(self, left: Value, right: Value) -> Value:
        """Two addresses in one variable; in elements of an array steps from one to the next do not matter."""
        found = self.variable_of(left)
        first, second, apart = left[2], right[2], left[4] - right[4]
        whole = self.graph.stride(found[0]) if found is not None else 0
        if whole > 1 and (first or second) and (apart % whole or first % whole or second % whole):
            apart = min(apart % whole, -apart % whole)
            first, second = (0 if not one % whole else one for one in (first, second))
        if (first, second, apart) == (0, 0, 0):
            first, second, apart = left[2], right[2], left[4] - right[4]
        return (ADDRESS, left[1], gcd(gcd(first, second), apart), 0, left[4])

    def _begin_of(self, value: Value) -> int:
        """Where the variable is that an address leads to; the address itself if it leads to none."""
        found = self.variable_of(value)
        return value[4] - found[1] if found is not None else value[4]

    def _as_object(self, value: Value) -> Value | None:
        if value[0] != ADDRESS:
            return value
        found = self.variable_of(value)
        if found is None:
            return None
        return self.element((OBJECT, found[0], value[2], 0, found[1]))

    def element(self, value: Value) -> Value:
        """A pointer into an array as one to its element."""
        if value[0] == ADDRESS:
            found = self.variable_of(value)
            if found is None:
                return value
            value = (OBJECT, found[0], value[2], value[3], found[1])
        t, step, offset = value[1], value[2], value[4]
        graph = self.graph
        if graph.is_array(t):
            stride = graph.stride(t)
            if stride and not step % stride:
                return (OBJECT, graph.target(t), step, 0, offset % stride)
        elif step and graph.is_aggregate(t):
            row = row_at(graph, t, step, offset)
            if row is not None:
                return (OBJECT, row[0], step, 0, row[1])
        return value

    def apart(self, t: int) -> int:
        """How far apart objects of a type are in an array; 0 for what is in none."""
        return 0 if stands_alone(self.graph, t) else self.graph.size(t)

    def places_at(self, pc: int) -> list[Place]:
        """Variables that have a place at an address of the function, the outermost scope's first."""
        return self.places.valid_at(pc - self._low)

    def in_single_registers(self) -> list[tuple[int, int, int, bool, int]]:
        """(from which address on, register, offset, whether it is what that holds, type) of the variables that are all
        of what a register holds, or are counted from that."""
        return self.places.in_single_registers(self._low)

    def counted_from(self, register: int) -> list[int]:
        """The addresses from which on variables are said to be at, or to be, what a register holds and some bytes."""
        return [self._low + at for at in self.places.counted_from(register)]

    def types_in(self, register: int, pc: int) -> list[int]:
        """The types of variables of which a register holds the value at an address, or what that is counted from."""
        return self.places.types_in(register, pc - self._low)

    def walks(self, t: int) -> bool:
        """Whether a variable goes from one object of a type to the next beside it somewhere in the function."""
        graph = self.graph
        canonical, whole = graph.canonical(t), graph.size(t)
        if self._walked is None:
            rows = self.in_registers
            told = [at for at in range(0, len(rows), PLACE_WORDS) if rows[at + 2] == PlaceKind.VALUE and rows[at + 4]]
            moved = [(rows[at + 7], rows[at + 4]) for at in told if graph.is_pointer(rows[at + 7])]
            self._walked = {(graph.canonical(graph.target(t)), offset) for t, offset in moved}
        return (canonical, whole) in self._walked or (canonical, -whole) in self._walked

    @cython.locals(
        rows="const long long[::1]", seeds="const int[::1]", first="const int[::1]", later="const int[::1]",
        n=cython.Py_ssize_t, at=cython.longlong,
    )  # fmt: skip  # rows of C types
    def said_of(self, register: int, pc: int) -> list[Value]:
        """What the variables that are told by a register say it holds."""
        rows, seeds = self.in_registers, self.seeds
        first, later = self._by_register
        at = pc - self._low
        found = []
        n = first[register] if 0 <= register < len(first) else -1
        while n >= 0:
            if rows[PLACE_WORDS * n] <= at < rows[PLACE_WORDS * n + 1]:
                if seeds[2 * n + 1] < 0:
                    self.seeds[2 * n + 1] = self._said(n)
                value: Value | None = self.values.of(seeds[2 * n + 1])
                if value is not None:
                    found.append(value)
            n = later[n]
        return found

    @cached_property
    @cython.locals(
        rows="const long long[::1]", first="int[::1]", later="int[::1]",
        n=cython.Py_ssize_t, which=cython.longlong, highest=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _by_register(self) -> "tuple[memoryview[int], memoryview[int]]":
        """By register its first row in `in_registers`, by row the next of the same register; -1 for none."""
        rows, highest = self.in_registers, -1
        for n in range(len(self.seeds) // 2):
            highest = max(highest, rows[PLACE_WORDS * n + 3])
        first, later = absent("i", highest + 1), absent("i", len(self.seeds) // 2)
        for n in range(len(self.seeds) // 2 - 1, -1, -1):
            which = rows[PLACE_WORDS * n + 3]
            if which >= 0:
                later[n] = first[which]
                first[which] = n
        return first, later

    def locate(self, value: Value, size: int) -> Located | str:
        """What is at an address inside an object or a global."""
        if value[0] == OBJECT:
            outside = not 0 <= value[4] < self.graph.size(value[1])
            self._own = self._own or outside
            if not value[2] and outside:
                # What derives from the class, as far as this function knows it.
                derived = self._kin.locate(value[1], value[4], size)
                if derived is not None:
                    return derived
                if 0 < self.graph.size(value[1]) <= value[4]:
                    behind = self._kin.continued(value[1], value[4], size)[0]
                    if behind is not None:
                        return behind
            return locate(self.graph, value[1], value[2], value[4], size, self.embedders)
        if value[0] == ADDRESS:
            found = self.variable_of(value)
            if found is None:
                return "no variable"
            located = locate(self.graph, found[0], value[2], found[1], size, None)
            # It may be counted back from where a variable ends, too, to where it begins.
            whole = value[4] + self.graph.size(found[0]) == value[1] and not found[1]
            return located if whole or self._surely_there(value, located, size) else "unresolved array index"
        return "no pointer"

    def may_go_on(self, t: int, offset: int, size: int) -> bool:
        """Whether an object may be the first part of something that reaches to an offset behind it."""
        return self._kin.continued(t, offset, size)[1]

    def _surely_there(self, value: Value, located: Located | str, size: int) -> bool:
        """Whether an address before the begin of a variable is not in that: it may be counted back from there."""
        if isinstance(located, str) or not value[2] or value[4] >= value[1]:
            return True
        first = self.global_at(value[1])
        if first is None or first[1]:
            return True
        graph = self.graph
        if graph.is_scalar(first[0]):
            return True
        other = locate(graph, first[0], value[2], value[4] - value[1], size, None)
        if isinstance(other, str):
            return False
        same = graph.canonical(other.type) == graph.canonical(located.type)
        return same and other.field.path == located.field.path

    def may_be(self, several: int, t: int) -> bool:
        """Whether what a variable leads to is what one of several types is read as: one of them, or no pointer, which
        may be the first member of one."""
        graph = self.graph
        canonical = graph.canonical(t)
        return not graph.is_pointer(t) or any(graph.canonical(one) == canonical for one in graph.choices(several))

    def is_one_of_several(self, t: int) -> bool:
        """Whether an object is one of several types, as what a pointer in a union leads to."""
        return bool(self.graph.choices(t))
