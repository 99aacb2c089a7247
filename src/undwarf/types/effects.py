"""What each instruction does to what is known of registers and stack slots.

What an instruction writes without our understanding how is not known after it (the decoder's list of written registers
says so); nothing stale survives. Variables of the debugging information are put into the registers they are in, and
callees return what their prototypes say.
"""

from bisect import bisect_right
from collections.abc import Callable

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
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
    difference,
    join,
    scaled,
    unknown,
)

__all__ = ["Effects", "State", "slot"]

State = dict[int, Value]
"""Values by register number, and by :func:`slot` for the stack."""

_SLOT = 1 << 40
_EVERYTHING = 1 << 20


def slot(offset: int, size: int) -> int:
    """The key of a stack slot of 4 or 8 bytes at an offset from the call frame address."""
    return _SLOT + 2 * offset + (size == 8)


class Effects:
    """The instructions of one function, and what they do to a state."""

    def __init__(self, program: Program, flow: FunctionFlow, low: int, high: int) -> None:
        self.program = program
        self.flow = flow
        self.graph = program.graph
        self._machine = program.machine
        places = program.source.function_places(low, high)
        self._places = _Segments(places)
        self._has_variables = bool(places)
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
        if total[0] == NUMBER and base is None:
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

    def stack_variable(self, state: State, k: int, offset: int) -> tuple[Place, int] | None:
        """The innermost variable that holds an offset from the call frame address, and the offset in it."""
        pc = self.flow.instructions[k].address
        for place in reversed(self._places.at(pc)):
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
        for place in reversed(self._places.at(self.flow.instructions[k].address)):
            if place.kind == PlaceKind.MEMORY and place.register == operand.base:
                offset = operand.displacement - place.offset
                if 0 <= offset < (place.piece_size or self.graph.size(place.type)):
                    return place, offset + place.piece_offset
        return None

    def locate(self, value: Value, size: int) -> Located | str:
        """What is at an address inside an object or a global."""
        if value[0] == OBJECT:
            located = locate(self.graph, value[1], value[2], value[4], size, self.program.embedders)
            if isinstance(located, str) and not value[2]:
                # What derives from the class, as far as this function knows it.
                located = self._kin.locate(value[1], value[4], size) or located
            return located
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
        for register, value in self._places.values(self.flow.instructions[k].address, self._value_of_place):
            known = state.get(register)
            if known != value:
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
        if base != OBJECT:
            return said
        graph = self.graph
        if known[1] == said[1] or graph.canonical(known[1]) == graph.canonical(said[1]):
            whole = graph.size(known[1])
            if said[4] == known[4]:
                return known
            if known[2] and whole and not known[2] % whole and not (known[4] - said[4]) % whole:
                return known
            return said
        if not known[2] and known[4] >= said[4] and graph.object_at(known[1], known[4] - said[4], said[1]):
            return known
        if not said[4] - known[4] < 0 and graph.object_at(said[1], said[4] - known[4], known[1]):
            return said
        if known[2] and not said[4] and self._inside_array(known, said[1]):
            return known
        if said[4]:
            return said
        # Neither is a part of the other: a cast; the larger is what was meant.
        return known if graph.size(known[1]) > graph.size(said[1]) and not known[4] and not known[2] else said

    def _inside_array(self, known: Value, element: int) -> bool:
        found = self.graph.member_at(known[1], known[4]) if known[4] >= 0 else None
        canonical = self.graph.canonical(element)
        return found is not None and any(
            not left and self.graph.canonical(container) == canonical for container, left in found.containers
        )

    def apply(self, state: State, k: int) -> None:
        """Change a state into the one behind an instruction."""
        made = self.flow.instructions[k]
        action = made.action
        if made.flow in (Flow.CALL, Flow.INDIRECT_CALL):
            self._call(state, k, made)
            return
        if action == Action.OTHER:
            self._stores(state, k, made)
            for register in made.writes:
                state.pop(register, None)
            return
        if action in (Action.PUSH, Action.POP, Action.LEAVE):
            value = self._stack_result(state, made, action)
            if action == Action.POP:
                _set(state, made.destination, value)
            return
        if action == Action.EXCHANGE:
            a, b = state.get(made.left), state.get(made.right)
            _set(state, made.left, b)
            _set(state, made.right, a)
            return
        moved = [
            (operand.base, add(state.get(operand.base), constant(operand.writeback)))
            for operand in made.memory
            if operand.writeback and operand.base != NONE
        ]
        if action == Action.LOAD_PAIR:
            pair = self._load_pair(state, k, made)
            for register in made.writes:
                state.pop(register, None)
            _set(state, made.destination, pair[0])
            _set(state, made.right, pair[1])
        else:
            value = self._result(state, k, made, action)
            destination = made.destination
            for register in made.writes:
                if register != destination:
                    state.pop(register, None)
            if destination != NONE:
                _set(state, destination, value)
        for register, value in moved:
            _set(state, register, value)

    def _result(self, state: State, k: int, made: Instruction, action: Action) -> Value | None:
        """The destination's new value; what else the instruction does is done to the state."""
        if action == Action.COPY:
            return self._copied(state, made)
        if action == Action.CONSTANT:
            if self.program.is_data(made.immediate):
                return (ADDRESS, 0, 0, 0, made.immediate)
            return constant(made.immediate)
        if action == Action.LOAD:
            return self._load(state, k, made, made.memory[0])
        if action in (Action.STORE, Action.STORE_PAIR):
            self._stores(state, k, made)
            return None
        if action == Action.ADDRESS:
            value = self.address_of(state, made.memory[0])
            if value is not None and made.width < 8 and value[0] not in (NUMBER, ADDRESS):
                return None
            self._note_escape(made, value)
            return value
        if action in (Action.ADD, Action.SUBTRACT):
            left = state.get(made.left)
            right = state.get(made.right) if made.right != NONE else constant(made.immediate)
            if made.right == made.left and action == Action.ADD:
                value = scaled(left, 2)
            else:
                value = add(left, right) if action == Action.ADD else difference(left, right, self.graph)
            if value is not None and made.width < 8 and value[0] != NUMBER:
                return None
            return value
        if action == Action.ADD_MEMORY:
            return add(state.get(made.left), self._load(state, k, made, made.memory[0]))
        if action == Action.MULTIPLY:
            left = state.get(made.left)
            right = state.get(made.right) if made.right != NONE else constant(made.immediate)
            if right is not None and right[0] == NUMBER and not right[2]:
                return self._number(scaled(left, right[4]))
            if left is not None and left[0] == NUMBER and not left[2]:
                return self._number(scaled(right, left[4]))
            return None
        if action == Action.SHIFT_LEFT:
            return self._number(scaled(state.get(made.left), 1 << made.immediate))
        if action == Action.AND:
            return self._masked(state, made)
        if action == Action.EXTEND:
            value = state.get(made.left) or unknown(0)
            if value[0] != NUMBER or made.width < 4:
                return None
            return self._named(state, made.left, value, made.address)
        if action == Action.SELECT:
            left, other = state.get(made.left), state.get(made.right)
            return self._join(left, other) if left is not None else None
        return None

    def _load_pair(self, state: State, k: int, made: Instruction) -> tuple[Value | None, Value | None]:
        operand = made.memory[0]
        half = operand.size // 2
        parts = []
        for part in range(2):
            one = Memory(
                operand.base, operand.index, operand.scale, operand.displacement + part * half, size=half, access="r"
            )
            parts.append(self._load(state, k, made, one) if half == 8 else None)
        return parts[0], parts[1]

    def _stack_result(self, state: State, made: Instruction, action: Action) -> Value | None:
        pointer = self._machine.stack_pointer
        top = state.get(pointer)
        if action == Action.PUSH:
            if top is not None and top[0] == FRAME and not top[2]:
                offset = top[4] - 8
                value = state.get(made.left) if made.left != NONE else constant(made.immediate)
                if made.left == NONE and made.memory and not made.memory[0].implicit:
                    value = None
                self._put(state, offset, 8, value)
                state[pointer] = (FRAME, 0, 0, 0, offset)
            else:
                state.pop(pointer, None)
            return None
        if action == Action.LEAVE:
            top = state.get(self._machine.frame_pointer)
        value = None
        if top is not None and top[0] == FRAME and not top[2]:
            value = state.get(slot(top[4], 8))
            state[pointer] = (FRAME, 0, 0, 0, top[4] + 8)
        else:
            state.pop(pointer, None)
        if action == Action.LEAVE:
            state.pop(self._machine.frame_pointer, None)
            if value is not None:
                state[self._machine.frame_pointer] = value
            return None
        return value

    def _number(self, value: Value | None) -> Value | None:
        return value if value is not None and value[0] == NUMBER else None

    def _copied(self, state: State, made: Instruction) -> Value | None:
        value = state.get(made.left)
        if value is None:
            value = unknown(0)
        if value[0] == NUMBER:
            return self._named(state, made.left, value, made.address)
        if made.width < 8:
            return value if value[0] == ADDRESS else None
        if value[0] == FRAME:
            self._note_escape(made, value)
        return value

    def _named(self, state: State, register: int, value: Value, address: int) -> Value:
        """An unknown number that is now in two places, so that sums of the two can be told."""
        if not value[2] or value[3]:
            return value
        self._forget_symbol(state, address)
        named = (value[0], value[1], value[2], address, value[4])
        state[register] = named
        return named

    def _forget_symbol(self, state: State, symbol: int) -> None:
        """The instruction that names a number comes by again: what it named before is another number."""
        for key, value in state.items():
            if value[3] == symbol:
                state[key] = (value[0], value[1], value[2], 0, value[4])

    def _masked(self, state: State, made: Instruction) -> Value | None:
        left = state.get(made.left)
        mask = made.immediate if made.right == NONE else None
        if mask is None:
            return None
        if left is None or left[0] == NUMBER:
            lowest = mask & -mask
            return (NUMBER, 0, max(lowest, 1), 0, 0) if mask else NULL
        if left[0] == OBJECT and -16 <= mask < 0 and not left[4] and not left[2]:
            # Flags in a pointer's low bits.
            return left
        return None

    def _note_escape(self, made: Instruction, value: Value | None) -> None:
        """The address of a part of the frame goes to a register that others may see."""
        if value is None or value[0] != FRAME:
            return
        if made.destination not in (self._machine.stack_pointer, self._machine.frame_pointer):
            self._escaped.add(value[4])

    def _extent(self, k: int, offset: int) -> int:
        """Where the object that an escaped address leads to ends."""
        pc = self.flow.instructions[k].address
        for place in self._places.at(pc):
            if place.kind == PlaceKind.CFA and place.offset <= offset < place.offset + self.graph.size(place.type):
                return place.offset + self.graph.size(place.type)
        return offset + _EVERYTHING

    def _lose_escaped(self, state: State, k: int) -> None:
        if not self._escaped:
            return
        ranges = [(offset, self._extent(k, offset)) for offset in self._escaped]
        for key in [key for key in state if key > _SLOT >> 1]:
            offset = (key - _SLOT) >> 1
            if any(begin - 7 <= offset < end for begin, end in ranges):
                del state[key]

    def _put(self, state: State, offset: int, size: int, value: Value | None) -> None:
        """A store to the frame."""
        if size <= 16:
            for at in range(offset - 7, offset + size):
                state.pop(slot(at, 8), None)
                if at > offset - 4:
                    state.pop(slot(at, 4), None)
        else:
            for key in [key for key in state if key > _SLOT >> 1]:
                at = (key - _SLOT) >> 1
                if offset - 8 < at < offset + size:
                    del state[key]
        if value is not None and size in (4, 8) and (size == 8 or value[0] == NUMBER):
            state[slot(offset, size)] = value

    def _stores(self, state: State, k: int, made: Instruction) -> None:
        """What an instruction writes to memory, as far as the frame is concerned."""
        for operand in made.memory:
            if "w" not in operand.access:
                continue
            where = self.address_of(state, operand)
            if where is not None and where[0] == FRAME:
                if where[2] or not operand.size:
                    self._spoil(state, k, where[4])
                    continue
                if made.action == Action.STORE_PAIR:
                    half = operand.size // 2
                    self._put(state, where[4], half, state.get(made.left))
                    self._put(state, where[4] + half, half, state.get(made.right))
                    continue
                value: Value | None = None
                if made.action == Action.STORE:
                    if made.left == NONE:
                        value = constant(made.immediate)
                        if self.program.is_data(made.immediate) and operand.size == 8:
                            value = (ADDRESS, 0, 0, 0, made.immediate)
                    else:
                        value = state.get(made.left)
                        if value is None or value[0] == NUMBER:
                            value = self._named(state, made.left, value or unknown(0), made.address)
                        elif value[0] == FRAME:
                            self._escaped.add(value[4])
                self._put(state, where[4], operand.size, value)
            elif where is None or where[0] not in (ADDRESS, THREAD, PERCPU):
                if made.action == Action.STORE and made.left != NONE:
                    stored = state.get(made.left)
                    if stored is not None and stored[0] == FRAME:
                        self._escaped.add(stored[4])
                self._lose_escaped(state, k)

    def _spoil(self, state: State, k: int, offset: int) -> None:
        """A store somewhere into an array of the frame."""
        end = self._extent(k, offset)
        for key in [key for key in state if key > _SLOT >> 1]:
            at = (key - _SLOT) >> 1
            if end - offset >= _EVERYTHING or offset - 8 < at < end:
                del state[key]

    def _load(self, state: State, k: int, made: Instruction, operand: Memory) -> Value | None:
        """What a load puts into its register."""
        size = operand.size
        where = self.address_of(state, operand)
        if where is None:
            variable = self.memory_variable(k, operand)
            if variable is not None and size == 8:
                return self._value_of_type(variable[0].type, variable[1], size)
            return None
        if where[0] == FRAME:
            return self._load_frame(state, k, made, where, size)
        if where[0] == ADDRESS and not where[2]:
            leads = self.program.indirections.get(where[4])
            if leads is not None:
                return (ADDRESS, 0, 0, 0, leads)
        if size != 8:
            return None
        if where[0] == THREAD and not where[2] and not where[4] and operand.segment:
            return (THREAD, 0, 0, 0, 0)
        if where[0] in (THREAD, PERCPU):
            found = self.in_block(where)
            return self._pointer_at(*found, size) if found is not None else None
        if where[0] not in (OBJECT, ADDRESS):
            return None
        located = self.locate(where, size)
        if isinstance(located, str):
            return None
        return self._pointer_at(located.type, located.offset, size)

    def in_block(self, where: Value) -> tuple[int, int] | None:
        """(type, offset in it) of the per-cpu or thread-local variable at a place of its block."""
        if where[0] == PERCPU:
            got = self.program.source.per_cpu_at(where[4] & 0xFFFFFFFFFFFFFFFF)
        else:
            got = self.program.source.thread_local_at(where[4] + self.program.thread_block)
        return None if got is None else (got[0].type, got[1])

    def _pointer_at(self, t: int, offset: int, size: int) -> Value | None:
        found = self.graph.value_at(t, offset, size)
        return self._value_of_type(found, 0, size) if found else None

    def _load_frame(self, state: State, k: int, made: Instruction, where: Value, size: int) -> Value | None:
        variable = self.stack_variable(state, k, where[4])
        if where[2]:
            if variable is None or size != 8:
                return None
            located = locate(self.graph, variable[0].type, where[2], variable[1], size)
            return None if isinstance(located, str) else self._pointer_at(located.type, located.offset, size)
        key = slot(where[4], size) if size in (4, 8) else 0
        known = state.get(key) if key else None
        said = None
        if variable is not None and size == 8:
            place, offset = variable
            if offset + size <= (place.piece_offset + place.piece_size or self.graph.size(place.type)):
                said = self._value_of_type(place.type, offset, size)
        if known is None:
            if said is None and key and size <= 8:
                # The same number as long as nothing is stored there.
                self._forget_symbol(state, made.address)
                known = state[key] = unknown(made.address)
            return known if said is None else said
        if known[0] == NUMBER:
            if said is not None and known != NULL:
                return said
            return self._named(state, key, known, made.address)
        return known if said is None else self._reconciled(known, said)

    def _call(self, state: State, k: int, made: Instruction) -> None:
        """What a call leaves: registers the callee must keep, the stack but what it may have seen, what it returns."""
        program = self.program
        prototype = None
        returns = VOID
        if made.flow == Flow.CALL:
            if made.target is not None:
                prototype = program.callee(made.target)
                if prototype is not None:
                    if prototype.name in ("__fentry__", "mcount", "_mcount"):
                        return
                    returns = prototype.returns
                    if prototype.name.startswith("__x86_indirect_thunk_"):
                        returns = self._returned_through(state, prototype.name[21:])
        else:
            returns = self._called(state, k, made)
        for register in self._machine.parameters:
            value = state.get(register)
            if value is not None and value[0] == FRAME:
                self._escaped.add(value[4])
        self._lose_escaped(state, k)
        for register in self._machine.lost_in_calls:
            state.pop(register, None)
        if returns:
            self._returned(state, returns)

    def _returned_through(self, state: State, name: str) -> int:
        names = self._machine.names
        value = state.get(names.index(name)) if name in names else None
        return self.graph.returns(value[1]) if value is not None and value[0] == OBJECT and not value[4] else VOID

    def _called(self, state: State, k: int, made: Instruction) -> int:
        """What an indirect call returns, by the type of the pointer it goes through."""
        operand = next((one for one in made.memory if not one.implicit), None)
        if operand is not None:
            value = self._load(state, k, made, operand)
        else:
            register = made.left if made.left != NONE else next(iter(made.reads), NONE)
            value = state.get(register)
        if value is None or value[0] != OBJECT or value[2] or value[4]:
            return VOID
        return self.graph.returns(value[1])

    def _returned(self, state: State, t: int) -> None:
        graph, machine = self.graph, self._machine
        if graph.is_scalar(t):
            value = self._value_of_type(t, 0, 8)
            if value is not None:
                state[machine.result] = value
            return
        size = graph.size(t)
        if size > 16 or graph.record(graph.strip(t)).by_reference:
            if machine.name == "x86_64":
                # The callee gives back the address it was given.
                state[machine.result] = (OBJECT, t, 0, 0, 0)
            return
        for register, offset in ((machine.result, 0), (machine.wide_result, 8)):
            value = self._value_of_type(t, offset, 8) if offset < size else None
            if value is not None:
                state[register] = value


def _set(state: State, register: int, value: Value | None) -> None:
    if register == NONE:
        return
    if value is None:
        state.pop(register, None)
    else:
        state[register] = value


class _Segments:
    """Places by address: between two addresses where one begins or ends, the same are valid."""

    def __init__(self, places: list[Place]) -> None:
        self._all = places
        self._bounds = sorted({bound for place in places for bound in (place.low, place.high)})
        self._found: dict[int, list[Place]] = {}
        self._values: dict[int, list[tuple[int, Value]]] = {}

    def at(self, pc: int) -> list[Place]:
        """Those valid at an address, the outermost scope's first."""
        segment = bisect_right(self._bounds, pc)
        found = self._found.get(segment)
        if found is None:
            found = self._found[segment] = [place for place in self._all if place.low <= pc < place.high]
        return found

    def values(self, pc: int, value_of: Callable[[Place], tuple[int, Value] | None]) -> list[tuple[int, Value]]:
        """(register, value) of those that are in registers at an address."""
        segment = bisect_right(self._bounds, pc)
        found = self._values.get(segment)
        if found is None:
            made = (value_of(place) for place in self.at(pc))
            found = self._values[segment] = [one for one in made if one is not None]
        return found
