# cython: language_level=3, annotation_typing=False
"""Queries of the data flow on types: what a load from an abstract address gives, joins of pointers, variables and their
locations.

The data flow (`value_arithmetic.py` to `solver.py`) calls it with values as tuples, and caches the results. It also
combines the function's variables with tracked values (`declared_vs_tracked.py`).
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
    join,
    join_list_link,
    join_variable,
    scalar_pointee,
    value_of_type,
)
from undwarf.types.dataflow.call_effects import CallEffects
from undwarf.types.dataflow.constants import REGISTERS
from undwarf.types.dataflow.declared_vs_tracked import Reconciler
from undwarf.types.dataflow.global_lookup import GlobalLookup
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.dataflow.stale_locations import cut_at_calls, cut_at_inner, without_stale
from undwarf.types.dataflow.value_interner import ValueInterner
from undwarf.types.layouts.array_offsets import row_at, stands_alone
from undwarf.types.layouts.class_hierarchy import ClassHierarchy
from undwarf.types.layouts.container_of import is_last_before
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.layouts.virtual_bases import is_method_table, virtual_base, virtual_base_from_offset
from undwarf.types.sources.location_table import behind_calls, sorted_places, table_of
from undwarf.types.sources.parameter_registers import argument_registers, stack_arguments
from undwarf.types.sources.type_source import GlobalVariable, Place, Prototype

__all__ = ["TypeOracle"]

_ANY_INDEX = 1 << 60
"""Larger than any index."""


class TypeOracle:
    """The queries of one function's data flow. ``low`` and ``high``: the function's range; ``listing``: its
    instructions; ``inferred``: variables in its frame that were inferred, where DWARF describes none; ``variables``:
    globals that DWARF does not describe, by address, as inferred from this function."""

    def __init__(
        self,
        program: ProgramContext,
        values: ValueInterner,
        low: int,
        high: int,
        listing: Listing,
        inferred: tuple[Place, ...] = (),
        variables: "Mapping[int, GlobalVariable] | None" = None,
    ) -> None:
        self.program = program
        self.values = values
        self.graph = program.graph
        self._low = low
        self.size = high - low
        self._machine = program.machine
        self.containers = program.containers_at(low)
        self.calls = CallEffects(program, values, in_c=self.containers.whole or self.containers.bases_only)
        self.places = table_of(program.source.function_places(low, high), low, self.size)
        self._offsets = listing.offsets
        self._unfollowed = False
        """Whether variables have one register in all of their scopes, and are not tracked."""
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
        """Variables whose value is the address of a stack slot."""
        self.has_pointed = len(self._pointing) > 0
        self._inferred = inferred
        known = GlobalLookup(program, variables)
        self.variable_of, self.global_at = known.variable_of, known.global_at
        self._in_frame = found.in_frame
        """Numbers of the locations in memory."""
        self.in_registers, self.outliving_scope, self.seeds = found.register_rows, found.outliving_scope, found.seeds
        """``seeds``: register and value id of each location, -1 if not computed yet."""
        self.in_frame = found.frame_rows
        if inferred:
            more, used = table_of(inferred, low, self.size).rows, len(self.in_frame)
            self.in_frame = longer(self.in_frame, used, used + len(more))
            self.in_frame[used:] = more
        self.placing = self._placing()
        """Bit set of the registers that variables' locations are relative to, without the stack pointer."""
        self._kin = ClassHierarchy(self.graph, lambda: program.source.related(low))
        self.reconciler = Reconciler(
            self.graph, self._kin, self.containers, known.variable_of, unfollowed=self._unfollowed
        )
        self._frame_pointers: dict[tuple[int, int], int] = {}
        self._shared: dict[tuple[int, int, int, Value], int] = {}
        self._walked: set[tuple[int, int]] | None = None
        self._own = False
        """Whether the result depends on the function."""

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t, found=cython.ulonglong, one=cython.ulonglong)
    def _placing(self) -> int:
        rows, found, one = self.in_frame, 0, 1
        for at in range(0, len(rows), PLACE_WORDS):
            if rows[at + 2] == PlaceKind.MEMORY and 0 <= rows[at + 3] < 64:
                found |= one << rows[at + 3]
        return found & ~(one << cython.cast(cython.int, self._machine.stack_pointer))

    def frame_place(self, number: int) -> Place:
        """The location of a variable in memory, by its number among those."""
        further = number - len(self._in_frame)
        return self.places[self._in_frame[number]] if further < 0 else self._inferred[further]

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t)
    def locations_starting_at(self, offset: int, stack: Value | None) -> list[Place]:
        """Locations of variables that start at an offset from the call frame address, valid anywhere; ``stack`` is the
        stack pointer's value."""
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
        """Variables in memory with a location at an address, outermost scope first."""
        rows, at = self.in_frame, pc - self._low
        found = [n for n in range(len(rows) // PLACE_WORDS) if rows[PLACE_WORDS * n] <= at < rows[PLACE_WORDS * n + 1]]
        return [self.frame_place(n) for n in found]

    # Answers in numbers of values --------------------------------------------------------------------------

    def _said(self, number: int) -> int:
        """The value id that a variable gives its register."""
        _low, _high, kind, register, _offset, piece, size, t, _size = self._row(self.in_registers, number)
        if not 0 <= register < REGISTERS:
            return 0
        return self.seed(number) if kind != PlaceKind.REGISTER else self.held(t, piece, size or 8)

    def seed(self, number: int) -> int:
        """The value id of a register that a variable is relative to; 0 if that gives no type."""
        _low, _high, kind, _register, offset, piece, size, t, _size = self._row(self.in_registers, number)
        if kind == PlaceKind.MEMORY:
            return self.values.number((OBJECT, t, 0, 0, -offset))
        value = value_of_type(self.graph, t, piece, size or 8)
        return self.values.number((OBJECT, value[1], 0, 0, -offset) if value is not None else None)

    @staticmethod
    def _row(rows: "memoryview[int]", number: int) -> list[int]:
        return rows[PLACE_WORDS * number : PLACE_WORDS * (number + 1)].tolist()

    def held(self, t: int, offset: int, size: int) -> int:
        """The value id of a register that holds bytes of a variable of a type."""
        return self.values.number(value_of_type(self.graph, t, offset, size))

    def frame_size(self, number: int) -> int:
        """Size in bytes of a variable in the frame."""
        return self.graph.size(self.in_frame[PLACE_WORDS * number + 7])

    def shared(self, t: int, offset: int, step: int, value: Value) -> int:
        """The id of the join of a pointer into a variable of type ``t`` (plus multiples of ``step``) with another
        pointer; 0 if none."""
        key = (t, offset, step, value)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.values.number(join_variable(t, offset, step, value, self.graph))
        return found

    def scalar(self, value: Value) -> int:
        """The id of a pointer to a scalar (inside an object) as a pointer to that alone; 0 if it is none."""
        return self.values.number(scalar_pointee(value, self.graph))

    @cython.locals(
        rows="const long long[::1]", n=cython.Py_ssize_t, at=cython.longlong, t=cython.Py_ssize_t,
        within=cython.longlong, size=cython.longlong, best=cython.longlong,
    )  # fmt: skip  # rows of C types
    def pointed(self, k: int, offset: int) -> int:
        """The id of a pointer loaded from a stack slot without a variable, as a member of the largest object there that
        a variable points to: optimizers split objects and leave some parts in place."""
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
        """The id of a value loaded from an array in the frame."""
        located = locate(self.graph, self.in_frame[PLACE_WORDS * number + 7], step, offset, size)
        return 0 if isinstance(located, str) else self.values.number(self._pointer_at(*located[:2], size))

    def frame_pointers(self, number: int, offset: int) -> int:
        """The id of a pointer loaded from a union in the frame, as a choice of pointees; 0 if it is none."""
        key = (self.in_frame[PLACE_WORDS * number + 7], offset)
        found = self._frame_pointers.get(key)
        if found is None:
            several = self.graph.pointers_at(*key, 8) if self.graph.is_aggregate(key[0]) else 0
            found = self.values.number((OBJECT, several, 0, ANY, 0)) if several else 0
            self._frame_pointers[key] = found
        return found

    def is_data(self, address: int) -> bool:
        """Whether an integer is the address of a variable, in position-dependent code."""
        asked = self.program.is_data
        return asked is not None and asked(address & 0xFFFFFFFFFFFFFFFF)

    def parameters_without_location(self, prototype: Prototype) -> list[tuple[int, Value | None]]:
        """(register, value) of a function's parameters at entry if no variable has a location there: compilers that
        turn a tail call into a loop describe parameters within the loop only."""
        if not prototype.external or self._machine.name != "x86_64" or self._begins_placed():
            return []
        given = argument_registers(self.graph, prototype.parameters, prototype.returns)
        return [(register, value_of_type(self.graph, t, piece, 8)) for register, t, piece in given]

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t)
    def anything(self) -> list[tuple[int, Value | None]]:
        """(register, value) of the variables that are void pointers at entry."""
        rows, found = self.in_registers, list[tuple[int, Value | None]]()
        for at in range(0, len(rows), PLACE_WORDS):
            if rows[at] <= 0 and rows[at + 2] == PlaceKind.REGISTER and not rows[at + 5] and not rows[at + 6]:
                register, t = rows[at + 3], rows[at + 7]
                if 0 <= register < REGISTERS and self.graph.is_void_pointer(t):
                    found.append((register, ANYWHERE))
        return found

    @cython.locals(rows="const long long[::1]", at=cython.Py_ssize_t)
    def given_on_stack(self, prototype: Prototype | None) -> list[tuple[int, int]]:
        """(offset from the call frame address, value id) of pointer arguments on the stack where variables are located
        at any time: valid until something is stored there."""
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
        """Whether any variable has a location at the function's first instruction."""
        for rows in (self.in_registers, self.in_frame):
            for at in range(0, len(rows), PLACE_WORDS):
                if rows[at] <= 0:
                    return True
        return False

    # Values ------------------------------------------------------------------------------------------------

    def load(self, where: Value, size: int) -> tuple[Value | None, bool]:
        """(value of a load from outside the frame, whether that depends on the function)."""
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
        if isinstance(located, str) and exact and is_last_before(self.graph, where[1], where[4], size, self.containers):
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
        """The pointer loaded from a choice type, whose members may point to several types."""
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
        """One of two adjacent pointer members selected by an index, if both have the same type."""
        if where[0] != OBJECT or not 8 <= where[2] <= 64:
            return None
        first = self._pointer_at(where[1], where[4], size)
        if first is None:
            return None
        beside = (where[4] + where[2], where[4] - where[2])
        return first if any(first == self._pointer_at(where[1], at, size) for at in beside) else None

    def virtual_base(self, value: Value, slot: int) -> Value | None:
        """A pointer to the virtual base whose offset is at ``slot`` of an object's vtable; None if there is none."""
        if value[0] != OBJECT or value[2]:
            return None
        base = virtual_base(self.graph, value[1], value[4], slot)
        if not base and not value[4]:
            # Or, in a thunk, from the virtual base to the method's object.
            prototype = self.program.source.prototype_at(self._low)
            if prototype is not None and prototype.whole is not None and prototype.whole[0] == slot:
                base = prototype.whole[1]
        return (OBJECT, base, 0, 0, 0) if base else None

    def virtual_base_at(self, t: int, offset: int, slot: int) -> int:
        """The id of a pointer into a variable's virtual base, from an offset that excludes the base's offset (at
        ``slot``); 0 if none."""
        found = virtual_base_from_offset(self.graph, t, offset, slot)
        return self.values.number((OBJECT, found[0], 0, 0, found[1])) if found is not None else 0

    def function_at(self, where: Value | None) -> int:
        """The id of a pointer to the only function type that pointers at an address have; 0 if none or several."""
        found = self.graph.function_at(where[1], where[4]) if where is not None and where[0] == OBJECT else VOID
        return self.values.number((OBJECT, found, 0, 0, 0)) if found and where is not None and not where[2] else 0

    def in_block(self, where: Value) -> tuple[int, int] | None:
        """(type, offset in it) of the per-CPU or thread-local variable at an offset of its block; None if there is
        none."""
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
        """The join of pointers to globals or to objects of different types; None if they have nothing in common."""
        for one, other in ((left, right), (right, left)):
            several = self.graph.choices(one[1]) if one[0] == other[0] == OBJECT and one[2:] == other[2:] else ()
            if other[1] in several and not all(self._is_character(t) for t in several if t != other[1]):
                return other
        if ADDRESS in (left[0], right[0]) and left[0] in (ADDRESS, OBJECT) and right[0] in (ADDRESS, OBJECT):
            # Two globals, or a global and another object: as a pointer to their common type.
            if left[0] == right[0] and (left[1] == right[1] or self._begin_of(left) == self._begin_of(right)):
                return self._in_one(left, right)
            a, b = self._as_object(left), self._as_object(right)
            if a is not None and b is not None:
                return join(a, b, self.graph)
            # String literals have no symbol.
            named = a if b is None else b
            return named if named is not None and self._is_character(named[1]) else None
        # Only without variables, which would decide; the end of a C++ container is a link without an element.
        element = join_list_link(left, right, self.graph) if self.program.complete else None
        return element or join(left, right, self.graph)

    def _is_character(self, t: int) -> bool:
        return self.graph.is_scalar(t) and self.graph.size(t) == 1

    def _in_one(self, left: Value, right: Value) -> Value:
        """The join of two addresses in one variable; steps of whole array elements are ignored."""
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
        """Start of the variable that an address points into; the address itself if there is none."""
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
        """A pointer into an array as a pointer to its element."""
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
        """Distance of array elements of a type; 0 if it cannot be in an array."""
        return 0 if stands_alone(self.graph, t) else self.graph.size(t)

    def places_at(self, pc: int) -> list[Place]:
        """Variables with a location at an address, outermost scope first."""
        return self.places.valid_at(pc - self._low)

    def in_single_registers(self) -> list[tuple[int, int, int, bool, int]]:
        """(start address, register, offset, whether the variable is the register's value, type) of variables that are
        entirely in, or computed from, one register."""
        return self.places.in_single_registers(self._low)

    def counted_from(self, register: int) -> list[int]:
        """Addresses from which on variables are relative to a register."""
        return [self._low + at for at in self.places.counted_from(register)]

    def types_in(self, register: int, pc: int) -> list[int]:
        """Types of the variables in a register, or computed from it, at an address."""
        return self.places.types_in(register, pc - self._low)

    def is_iterated(self, t: int) -> bool:
        """Whether a variable steps from one object of a type to the next anywhere in the function."""
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
    def declared_values(self, register: int, pc: int) -> list[Value]:
        """ValueInterner that variables give a register at an address."""
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
        """First row in `in_registers` by register, and next row of the same register by row; -1 for none."""
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

    def locate(self, value: Value, size: int) -> ResolvedMember | str:
        """The member at an address inside an object or a global; else the reason."""
        if value[0] == OBJECT:
            outside = not 0 <= value[4] < self.graph.size(value[1])
            self._own = self._own or outside
            if not value[2] and outside:
                # A derived class that the function mentions.
                derived = self._kin.locate(value[1], value[4], size)
                if derived is not None:
                    return derived
                if 0 < self.graph.size(value[1]) <= value[4]:
                    behind = self._kin.continued(value[1], value[4], size)[0]
                    if behind is not None:
                        return behind
            return locate(self.graph, value[1], value[2], value[4], size, self.containers)
        if value[0] == ADDRESS:
            found = self.variable_of(value)
            if found is None:
                return "no variable"
            located = locate(self.graph, found[0], value[2], found[1], size, None)
            # Indices may count down from a variable's end to its start.
            whole = value[4] + self.graph.size(found[0]) == value[1] and not found[1]
            return located if whole or self._surely_there(value, located, size) else "unresolved array index"
        return "not a pointer"

    def may_go_on(self, t: int, offset: int, size: int) -> bool:
        """Whether an object may be the first part of a larger one that extends to an offset past it."""
        return self._kin.continued(t, offset, size)[1]

    def _surely_there(self, value: Value, located: ResolvedMember | str, size: int) -> bool:
        """Whether an address before the start of a variable is not reached by counting down from it."""
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
        """Whether a variable's pointee is one of a choice's alternatives, or no pointer (which may be an alternative's
        first member)."""
        graph = self.graph
        canonical = graph.canonical(t)
        return not graph.is_pointer(t) or any(graph.canonical(one) == canonical for one in graph.choices(several))

    def is_choice_type(self, t: int) -> bool:
        """Whether a type is a choice type."""
        return bool(self.graph.choices(t))
