"""Where the memory operands of a function's instructions are, and what lies there, given a state of its registers.

Variables of the debugging information and what was tracked are brought together here: each may know what the other does
not, and each may be wrong (optimizers let variables stay with registers that hold something derived from them).
"""

from bisect import bisect_right
from collections.abc import Callable

from undwarf.disasm import NONE, Memory
from undwarf.types.flow import FunctionFlow
from undwarf.types.kin import Kin
from undwarf.types.locate import Located, locate
from undwarf.types.model import VOID, Kind
from undwarf.types.places import Place, PlaceKind
from undwarf.types.program import Program
from undwarf.types.values import (
    ADDRESS,
    FRAME,
    NULL,
    NUMBER,
    OBJECT,
    PERCPU,
    THREAD,
    Value,
    add,
    constant,
    join,
    scaled,
)

__all__ = ["Addresses", "State"]

State = dict[int, Value]
"""Values by register number, and by :func:`undwarf.types.effects.slot` for the stack."""


_REGISTERS = (PlaceKind.REGISTER, PlaceKind.VALUE)
_FRAMES = (PlaceKind.CFA, PlaceKind.MEMORY)


class Addresses:
    """The variables of one function, and the addresses its operands stand for."""

    def __init__(self, program: Program, flow: FunctionFlow, low: int, high: int) -> None:
        self.program = program
        self.flow = flow
        self.graph = program.graph
        self._machine = program.machine
        self.embedders = program.embedders_at(low)
        places = program.source.function_places(low, high)
        self._places = _Segments(places)
        self._in_registers = _Segments([place for place in places if place.kind in _REGISTERS])
        self._in_frame = _Segments([place for place in places if place.kind in _FRAMES])
        self.has_variables = bool(places)
        self._kin = Kin(self.graph, lambda: program.source.related(low))
        self._escaped: set[int] = set()
        self._globals: dict[int, tuple[int, int, str] | None] = {}

    def _join(self, left: Value, right: Value | None) -> Value | None:
        if right is None or left == right:
            return right
        if ADDRESS in (left[0], right[0]) and left[0] in (ADDRESS, OBJECT) and right[0] in (ADDRESS, OBJECT):
            # Two globals, or a global and something else: an object of the type they share.
            a, b = self._as_object(left), self._as_object(right)
            if a is None or b is None:
                return None
            if left[0] == right[0] and self._variable_at(left[4]) == self._variable_at(right[4]):
                return join(left, right, self.graph)
            return join(a, b, self.graph)
        if left == NULL and right[0] == ADDRESS:
            return right
        if right == NULL and left[0] == ADDRESS:
            return left
        return join(left, right, self.graph)

    def _variable_at(self, address: int) -> tuple[int, int]:
        found = self.global_at(address)
        return (found[0], address - found[1]) if found is not None else (VOID, address)

    def _as_object(self, value: Value) -> Value | None:
        if value[0] != ADDRESS:
            return value
        found = self.global_at(value[4])
        if found is None:
            return None
        return self._element((OBJECT, found[0], value[2], 0, found[1]))

    def _element(self, value: Value) -> Value:
        """A pointer into an array as one to its element."""
        t, step, offset = value[1], value[2], value[4]
        graph = self.graph
        if graph.is_array(t):
            stride = graph.stride(t)
            if stride and not step % stride:
                return (OBJECT, graph.target(t), step, 0, offset % stride)
        return value

    def address_of(self, state: State, operand: Memory) -> Value | None:
        """Where an operand is."""
        if operand.segment:
            if operand.base == NONE and operand.index == NONE:
                if self.program.kernel:
                    return (PERCPU, 0, 0, 0, operand.displacement)
                return (THREAD, 0, 0, 0, operand.displacement)
            inner = self._sum(state, operand)
            if inner is None or inner[0] not in (NUMBER, ADDRESS):
                return None
            return (PERCPU if self.program.kernel else THREAD, 0, *inner[2:])
        if operand.absolute:
            return (ADDRESS, 0, 0, 0, operand.displacement)
        return self._sum(state, operand)

    def _sum(self, state: State, operand: Memory) -> Value | None:
        base = state.get(operand.base) if operand.base != NONE else constant(0)
        if operand.index == NONE:
            if not operand.displacement:
                return base
            if base is None:
                return None
            return (base[0], base[1], base[2], base[3], base[4] + operand.displacement)
        index = state.get(operand.index)
        if operand.index == operand.base and (base is None or base[0] == NUMBER):
            total = scaled(base, 1 + operand.scale)
        else:
            part = index if operand.scale == 1 else scaled(index, operand.scale)
            total = add(base, part)
        if operand.base == NONE and operand.displacement and (total is None or total[0] == NUMBER):
            # table(,%rax,8): the displacement is the address.
            total = total or (NUMBER, 0, operand.scale, 0, 0)
            if self.program.is_data(operand.displacement & 0xFFFFFFFFFFFFFFFF):
                return (ADDRESS, 0, total[2], total[3], total[4] + operand.displacement)
        if total is None:
            return None
        if total[0] == NUMBER and base is None and operand.index != operand.base:
            # The base may have been the pointer.
            return None
        return (total[0], total[1], total[2], total[3], total[4] + operand.displacement)

    def global_at(self, address: int) -> tuple[int, int, str] | None:
        """(type, offset in it, name) of the global variable at an address."""
        found = self._globals.get(address, 0)
        if found == 0:
            got = self.program.source.global_at(address & 0xFFFFFFFFFFFFFFFF)
            found = None if got is None else (got[0].type, got[1], got[0].name)
            if len(self._globals) < 4096:
                self._globals[address] = found
        return found  # type: ignore[return-value]

    def places_at(self, pc: int) -> list[Place]:
        """Variables that have a place at an address, the outermost scope's first."""
        return self._places.at(pc)

    def stack_variable(self, state: State, k: int, offset: int, pc: int = -1) -> tuple[Place, int] | None:
        """The innermost variable that holds an offset from the call frame address, and the offset in it."""
        if pc < 0:
            pc = self.flow.instructions[k].address
        for place in reversed(self._in_frame.at(pc)):
            if place.kind == PlaceKind.CFA:
                begin = place.offset
            elif place.kind == PlaceKind.MEMORY:
                base = state.get(place.register)
                if base is None or base[0] != FRAME or base[2]:
                    continue
                begin = base[4] + place.offset
            else:
                continue
            size = place.piece_size or self.graph.size(place.type) or 1
            if begin <= offset < begin + size:
                return place, offset - begin + place.piece_offset
        return None

    def memory_variable(self, k: int, operand: Memory) -> tuple[Place, int] | None:
        """A variable whose place is said by the very register an operand has as its base, whatever that holds."""
        if operand.index != NONE or operand.base == NONE:
            return None
        for place in reversed(self._in_frame.at(self.flow.instructions[k].address)):
            if place.kind == PlaceKind.MEMORY and place.register == operand.base:
                offset = operand.displacement - place.offset
                if 0 <= offset < (place.piece_size or self.graph.size(place.type)):
                    return place, offset + place.piece_offset
        return None

    def locate(self, value: Value, size: int) -> Located | str:
        """What is at an address inside an object or a global."""
        if value[0] == OBJECT:
            if not value[2] and not 0 <= value[4] < self.graph.size(value[1]):
                # What derives from the class, as far as this function knows it.
                derived = self._kin.locate(value[1], value[4], size)
                if derived is not None:
                    return derived
            return locate(self.graph, value[1], value[2], value[4], size, self.embedders)
        if value[0] == ADDRESS:
            found = self.global_at(value[4])
            if found is None:
                return "no variable"
            return locate(self.graph, found[0], value[2], found[1], size, None)
        return "no pointer"

    def _value_of_type(self, t: int, offset: int, size: int) -> Value | None:
        """What a register holds when it holds `size` bytes of a value of a type; None unless that is an address."""
        graph = self.graph
        if not graph.is_scalar(t):
            t = graph.value_at(t, offset, size)
        elif offset:
            return None
        if not t or not graph.is_pointer(t):
            return None
        target = graph.target(t)
        if graph.kind(graph.strip(target)) == Kind.VOID:
            return None
        return (OBJECT, target, 0, 0, 0)

    def seed(self, state: State, k: int) -> None:
        """Put the variables that are in registers at an instruction into the state."""
        for register, value in self._in_registers.values(self.flow.instructions[k].address, self._value_of_place):
            known = state.get(register)
            if known == value:
                continue
            if known is not None and known[0] == NUMBER and known[2] == 1 and known[3] > 0 and not known[4]:
                # What was copied from there, or to there, is the same.
                for key, other in state.items():
                    if other == known:
                        state[key] = value
            state[register] = self._reconciled(known, value)

    def _value_of_place(self, place: Place) -> tuple[int, Value] | None:
        if place.kind not in (PlaceKind.REGISTER, PlaceKind.VALUE) or place.register < 0:
            return None
        value = self._value_of_type(place.type, place.piece_offset, place.piece_size or 8)
        if value is None:
            return None
        if place.kind == PlaceKind.VALUE:
            value = (OBJECT, value[1], 0, 0, -place.offset)
        return place.register, value

    def _reconciled(self, known: Value | None, said: Value) -> Value:
        """What a register holds, given what was tracked and what a variable says."""
        if known is None:
            return said
        base = known[0]
        if base == FRAME or known == NULL:
            return known
        if base == ADDRESS:
            return known if self.global_at(known[4]) is not None else said
        if base == NUMBER and known[2] != 1 and known[3] >= 0:
            # An index, whatever is said of it: optimizers let variables stay with what replaced them.
            return known
        if base != OBJECT:
            return said
        graph = self.graph
        if known[1] == said[1] or graph.canonical(known[1]) == graph.canonical(said[1]):
            whole = graph.size(known[1])
            if said[4] == known[4]:
                return said if known[2] and whole and known[2] % whole else known
            if whole and not (known[4] - said[4]) % whole and (0 <= known[4] < whole or not known[2] % whole):
                # Another element of the same array.
                return known
            return said
        whole = graph.size(known[1])
        if not known[2] and known[4] >= said[4] and graph.object_at(known[1], known[4] - said[4], said[1]):
            return known
        in_array = known[2] and whole and not known[2] % whole
        if in_array and graph.object_at(known[1], (known[4] - said[4]) % whole, said[1]):
            # An element of an array, and a part of it.
            return known
        if not said[4] - known[4] < 0 and graph.object_at(said[1], said[4] - known[4], known[1]):
            return said
        if known[2] and not said[4] and self._inside_array(known, said[1]):
            return known
        if not known[2] and self._further(known, said):
            return known
        if said[4]:
            return said
        if graph.is_scalar(said[1]) and graph.is_aggregate(known[1]) and not known[2] and 0 < known[4] < whole:
            # Read as something else than what is there.
            return known
        # Neither is a part of the other: a cast; the larger is what was meant.
        return known if graph.size(known[1]) > graph.size(said[1]) and not known[4] and not known[2] else said

    def _further(self, known: Value, said: Value) -> bool:
        """Whether what a variable says is at the end of what is known, or in what derives from it."""
        graph = self.graph
        apart, whole, size = known[4] - said[4], graph.size(known[1]), graph.size(said[1])
        if not whole or apart < whole:
            return False
        if apart == whole and size and graph.object_at(known[1], apart - size, said[1]):
            # The end of an array.
            return True
        return self._kin.is_part(known[1], apart, said[1])

    def _inside_array(self, known: Value, element: int) -> bool:
        """Whether a pointer that goes through an array inside of something is always at an element of this type."""
        located = locate(self.graph, known[1], known[2], known[4], 0, None)
        if isinstance(located, str):
            return False
        canonical = self.graph.canonical(element)
        return any(
            not left and self.graph.canonical(container) == canonical for container, left in located.field.containers
        )


_NEAR = 32
"""Segments whose places are looked for at a time."""


class _Segments:
    """Places by address: between two addresses where one begins or ends, the same are valid."""

    def __init__(self, places: list[Place]) -> None:
        self._all = places
        self._bounds = sorted({bound for place in places for bound in (place.low, place.high)})
        self._near: dict[int, list[Place]] = {}
        self._found: dict[int, list[Place]] = {}
        self._values: dict[int, list[tuple[int, Value]]] = {}

    def at(self, pc: int) -> list[Place]:
        """Those valid at an address, the outermost scope's first."""
        segment = bisect_right(self._bounds, pc)
        found = self._found.get(segment)
        if found is None:
            found = self._found[segment] = [place for place in self._around(segment) if place.low <= pc < place.high]
        return found

    def _around(self, segment: int) -> list[Place]:
        """Those that are valid in one of the segments near one."""
        near = segment // _NEAR
        found = self._near.get(near)
        if found is None:
            bounds = self._bounds
            low = bounds[near * _NEAR - 1] if near else -1
            high = bounds[near * _NEAR + _NEAR - 1] if near * _NEAR + _NEAR - 1 < len(bounds) else 1 << 64
            found = self._near[near] = [place for place in self._all if place.low < high and place.high > low]
        return found

    def values(self, pc: int, value_of: Callable[[Place], tuple[int, Value] | None]) -> list[tuple[int, Value]]:
        """(register, value) of those that are in registers at an address."""
        segment = bisect_right(self._bounds, pc)
        found = self._values.get(segment)
        if found is None:
            made = (value_of(place) for place in self.at(pc))
            found = self._values[segment] = [one for one in made if one is not None]
        return found
