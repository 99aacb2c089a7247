"""What each instruction does to what is known of registers and stack slots.

What an instruction writes without our understanding how is not known after it (the decoder's list of written registers
says so); nothing stale survives. Variables of the debugging information are put into the registers they are in, and
callees return what their prototypes say.
"""

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.types.addresses import Addresses, State
from undwarf.types.flow import FunctionFlow
from undwarf.types.locate import locate
from undwarf.types.model import VOID
from undwarf.types.places import PlaceKind
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
    scaled,
    unknown,
)

__all__ = ["Effects", "State", "slot"]

_SLOT = 1 << 40
_EVERYTHING = 1 << 20


def slot(offset: int, size: int) -> int:
    """The key of a stack slot of 4 or 8 bytes at an offset from the call frame address."""
    return _SLOT + 2 * offset + (size == 8)


class Effects(Addresses):
    """The instructions of one function, and what they do to a state."""

    def __init__(self, program: Program, flow: FunctionFlow, low: int, high: int) -> None:
        super().__init__(program, flow, low, high)
        self._counted: dict[int, bool] = {}

    def apply(self, state: State, k: int) -> None:
        """Change a state into the one behind an instruction."""
        made = self.flow.instructions[k]
        action = made.action
        if made.flow in (Flow.CALL, Flow.INDIRECT_CALL):
            self._call(state, k, made)
            return
        if action in (Action.OTHER, Action.UPDATE):
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
            self._name_index(state, made)
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
        if action == Action.OR:
            value = state.get(made.left)
            bits = 1 << max(made.immediate, 0).bit_length()
            if value is None or value[0] != NUMBER or made.immediate < 0 or value[2] % bits or value[4] % bits:
                return None
            # Bits that were 0: as good as a sum.
            return add(value, constant(made.immediate))
        if action == Action.EXTEND:
            value = state.get(made.left) or unknown(0)
            if value[0] != NUMBER or made.width < 4:
                return None
            return self._named(state, made.left, value, made.address)
        if action == Action.SELECT:
            other = state.get(made.right) if made.right != NONE else self._load(state, k, made, made.memory[0])
            left = state.get(made.left)
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

    def _name_index(self, state: State, made: Instruction) -> None:
        """An index that goes into a sum may be added to it again, as in multiples by 3 made of two additions."""
        index = made.memory[0].index
        if index == NONE or index == made.destination:
            return
        value = state.get(index) or unknown(0)
        if value[0] == NUMBER:
            self._named(state, index, value, made.address)

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
            if mask < 0 and made.width == 8 and (left is None or left[2] == 1):
                # It may be an address that is aligned: a symbol below zero says so.
                self._forget_symbol(state, -made.address)
                return (NUMBER, 0, lowest, -made.address, 0)
            return (NUMBER, 0, max(lowest, 1), 0, 0) if mask else NULL
        if left[0] == OBJECT and -16 <= mask < 0:
            if not left[4] and not left[2]:
                # Flags in a pointer's low bits.
                return left
            bits = -mask
            if not left[2] % bits and not self.graph.alignment(left[1]) % bits:
                return (OBJECT, left[1], left[2], left[3], left[4] & mask)
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
        for place in self._in_frame.at(pc):
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
                            if operand.size == 8 and value[3] and value[2] == 1:
                                value = self._learn(state, k, made, where[4], value)
                        elif value[0] == FRAME:
                            self._escaped.add(value[4])
                elif made.action == Action.UPDATE and operand.size in (4, 8):
                    value = add(state.get(slot(where[4], operand.size)), self._addend(state, made))
                    if value is not None and operand.size == 4 and value[0] != NUMBER:
                        value = None
                self._put(state, where[4], operand.size, value)
            elif where is None or where[0] not in (ADDRESS, THREAD, PERCPU):
                if made.action == Action.STORE and made.left != NONE:
                    stored = state.get(made.left)
                    if stored is not None and stored[0] == FRAME:
                        self._escaped.add(stored[4])
                self._lose_escaped(state, k)

    @staticmethod
    def _addend(state: State, made: Instruction) -> Value | None:
        return state.get(made.left) if made.left != NONE else constant(made.immediate)

    def _learn(self, state: State, k: int, made: Instruction, offset: int, value: Value) -> Value:
        """An unknown value goes into a variable that is a pointer: that is what it was, wherever else it is."""
        found = self.stack_variable(state, k, offset, made.next_address)
        if found is None or value[4]:
            return value
        said = self._value_of_type(found[0].type, found[1], 8)
        if said is None:
            return value
        for key, other in state.items():
            if other == value:
                state[key] = said
        return said

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
            other = self.program.elsewhere(where[4])
            if other:
                return (OBJECT, other, 0, 0, 0)
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
            return self._either(where, size)
        return self._pointer_at(located.type, located.offset, size)

    def _either(self, where: Value, size: int) -> Value | None:
        """One of two members side by side, chosen by an index: a pointer, if both are the same."""
        if where[0] != OBJECT or not 8 <= where[2] <= 64:
            return None
        first = self._pointer_at(where[1], where[4], size)
        if first is None:
            return None
        beside = (where[4] + where[2], where[4] - where[2])
        return first if any(first == self._pointer_at(where[1], at, size) for at in beside) else None

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
        if prototype is not None and prototype.trusted:
            self._passed(state, prototype.arguments)
        for register in self._machine.parameters:
            value = state.get(register)
            if value is not None and value[0] == FRAME:
                self._escaped.add(value[4])
        self._lose_escaped(state, k)
        lost = self._machine.lost_in_calls
        if made.flow == Flow.CALL and made.target is not None and self._counted_on(k):
            # Compilers that know what a callee leaves alone make use of it.
            changed = program.changed_by(made.target)
            lost = lost if changed is None else changed
        for register in lost:
            state.pop(register, None)
        if returns:
            self._returned(state, returns)

    def _counted_on(self, k: int) -> bool:
        """Whether a register that any callee may change is read after a call as if it had not."""
        known = self._counted.get(k)
        if known is None:
            machine, flow = self._machine, self.flow
            left = set(machine.lost_in_calls) - {machine.result, machine.wide_result}
            known = self._reads_first(k + 1, flow.blocks[flow.block_of(k)].end, left)
            if not known and left:
                known = any(
                    self._reads_first(flow.blocks[one].first, flow.blocks[one].end, set(left))
                    for one in flow.blocks[flow.block_of(k)].successors
                )
            self._counted[k] = known
        return known

    def _reads_first(self, first: int, end: int, left: set[int]) -> bool:
        """Whether one of some registers is read before it is written; what is written is taken out of them."""
        for k in range(first, end):
            made = self.flow.instructions[k]
            if made.flow in (Flow.CALL, Flow.INDIRECT_CALL):
                left.clear()
            if not left:
                return False
            if not left.isdisjoint(made.reads) and not (
                made.destination in made.reads and made.action == Action.CONSTANT
            ):
                return True
            left.difference_update(made.writes)
        return False

    def _passed(self, state: State, arguments: tuple[tuple[int, int, int], ...]) -> None:
        """An unknown value that is passed for a pointer is one, wherever else it is."""
        for register, t, piece in arguments:
            value = state.get(register)
            if value is None or value[0] != NUMBER or value[2] != 1 or not value[3] or value[4]:
                continue
            said = self._value_of_type(t, piece, 8)
            if said is not None:
                for key, other in state.items():
                    if other == value:
                        state[key] = said

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
