# cython: language_level=3, annotation_typing=False
"""Values of registers and of the stack on a path of instructions, as far as they follow from those before it.

What is not known before the path is a symbol. A value is a symbol and a number that is added to it; values with the
same symbol are related, and so are a value on the stack and the register that points there.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import NamedTuple

from iced_x86 import ConditionCode, Mnemonic, OpKind
from iced_x86 import Instruction as Native

from undwarf.disasm import Action, Instruction, Memory
from undwarf.disasm.x86_operands import NUMBER as REGISTER_OF
from undwarf.disasm.x86_operands import WIDTH as WIDTH_OF

__all__ = ["OPPOSITES", "Facts", "Read", "SymbolicState", "condition_of"]

RAX, RCX, RBX, RBP, RSP, R11 = 0, 2, 3, 6, 7, 11
REGISTERS = 16
PRESERVED = (RBX, RBP, RSP, 12, 13, 14, 15)
"""Registers that a callee preserves (System V ABI)."""
STACK_SIZES = (8, 4)
"""Bytes of values on the stack that are followed."""
FLAGS_KEPT = frozenset(
    (Action.COPY, Action.LOAD, Action.STORE, Action.ADDRESS, Action.PUSH, Action.POP, Action.LEAVE, Action.EXTEND)
)
WORD, HALF = (1 << 64) - 1, (1 << 32) - 1
STACK = 1 + RSP
"""The symbol of the stack pointer before the path."""
MOST_WRITTEN = 64
"""Bytes that an instruction may write whose operand has no size."""
NUMBER = 0
"""The symbol of 0. Negative ones are how much addresses of an image are moved by: -1 - its number."""

Value = tuple[int, int, int]
"""A symbol, what is added to it, and the bits that count, 64 or 32: the others are 0."""
Place = tuple[int, int]
"""An address on the stack: a symbol, and what is added to it."""
Read = Callable[[int, int], int | None]
"""Reads some bytes at an address of the sample's stack; None where it has none."""
ZERO = NUMBER, 0, 64
ELSEWHERE = -1 << 62, 0
"""The place of what belongs to the thread, and is on no stack."""
ON_STACK = 1 + RBP, 1 + RSP
"""Symbols of registers that point to the stack, or to nothing that an image has."""

CARRY, PARITY, ZERO_FLAG, SIGN, OVERFLOW = 1, 4, 0x40, 0x80, 0x800
RESULT_FLAGS = PARITY | ZERO_FLAG | SIGN
ALL_FLAGS = CARRY | OVERFLOW | RESULT_FLAGS
"""Bits of the flags register that are followed (Intel SDM, volume 1, 3.4.3)."""
CONDITIONS = {
    ConditionCode.E: "e", ConditionCode.NE: "ne", ConditionCode.B: "b", ConditionCode.AE: "ae",
    ConditionCode.BE: "be", ConditionCode.A: "a", ConditionCode.L: "l", ConditionCode.GE: "ge",
    ConditionCode.LE: "le", ConditionCode.G: "g", ConditionCode.S: "s", ConditionCode.NS: "ns",
}  # fmt: skip
OPPOSITES = {"e": "ne", "b": "ae", "be": "a", "l": "ge", "le": "g", "s": "ns"}
OPPOSITES |= {opposite: one for one, opposite in OPPOSITES.items()}


class Flags(NamedTuple):
    """What has set the flags: the difference or the sum of two values, or a result (``left``); of a result of which
    only the RESULT_FLAGS are known, ``is_partial``."""

    action: Action
    left: Value
    right: Value
    bits: int
    is_partial: bool = False

    def bits_known(self, known: dict[int, int], low: dict[int, int]) -> tuple[int, int]:
        """(the flags, those of them that are known), with the values of symbols."""
        a, b = _number(self.left, self.bits, known, low), _number(self.right, self.bits, known, low)
        is_result = self.action not in (Action.ADD, Action.SUBTRACT)
        carries = 0 if self.is_partial else CARRY | OVERFLOW
        if a is None or b is None:
            return 0, carries if is_result else 0
        mask, sign = (1 << self.bits) - 1, 1 << (self.bits - 1)
        result = a if is_result else (a + b if self.action == Action.ADD else a - b) & mask
        found = ZERO_FLAG if result == 0 else 0
        if result & sign:
            found |= SIGN
        if (result & 255).bit_count() % 2 == 0:
            found |= PARITY
        if self.action == Action.SUBTRACT:
            found |= (CARRY if a < b else 0) | (OVERFLOW if (a ^ b) & (a ^ result) & sign else 0)
        elif self.action == Action.ADD:
            found |= (CARRY if result < a else 0) | (OVERFLOW if (a ^ result) & (b ^ result) & sign else 0)
        return found, RESULT_FLAGS | carries


class Definition(NamedTuple):
    """The symbol of what an instruction has computed, from which values, in how many bits."""

    symbol: int
    operation: int
    left: Value
    right: Value
    bits: int


class Facts(NamedTuple):
    """``registers``: (number, value) of those that are related to something; ``memory``: values on the stack by
    (symbol, offset), with their sizes; ``conditions``: what the flags were set by at branches, with the condition that
    held; ``definitions``: what was computed, the first one first; ``flags``: what has set them last."""

    registers: tuple[tuple[int, Value], ...]
    memory: tuple[tuple[tuple[int, int], tuple[Value, int]], ...]
    conditions: tuple[tuple[Flags, str], ...]
    definitions: tuple[Definition, ...] = ()
    flags: Flags | None = None

    def of(self, known: Collection[int]) -> "Facts":
        """Those of some registers alone, and of the stack."""
        return self._replace(registers=tuple(one for one in self.registers if one[0] in known))

    def agreeing(self, registers: Sequence[int], flags: int, read: Read, biases: dict[int, int]) -> int:
        """How many facts registers, and the stack, fulfil; -1 if they contradict one. ``flags``: -1 if they were not
        recorded; ``biases``: what addresses of each image on the path are moved by."""
        # By symbol; of some only the low 32 bits are known.
        known = {NUMBER: 0} | {-1 - image: bias for image, bias in biases.items()}
        low: dict[int, int] = {}
        found = 0
        for number, (symbol, offset, width) in self.registers:
            actual = registers[number]
            if width == 64:
                if symbol not in known:
                    known[symbol] = actual - offset & WORD
                    continue
                fits = known[symbol] + offset & WORD == actual
            else:
                of = known if symbol in known else low
                if symbol not in of and actual <= HALF:
                    low[symbol] = actual - offset & HALF
                    continue
                fits = symbol in of and of[symbol] + offset & HALF == actual
            if not fits:
                return -1
            found += 1
        for (base, displacement), ((symbol, offset, width), size) in self.memory:
            at = known.get(base)
            stored = read(at + displacement & WORD, size) if at is not None else None
            if stored is None:
                continue
            if width == 64 and size == 8 and symbol not in known:
                known[symbol] = stored - offset & WORD
                continue
            of = known if symbol in known else low
            if symbol not in of:
                low[symbol] = stored - offset & HALF
                continue
            if (of[symbol] + offset ^ stored) & (WORD if width == 64 and size == 8 else HALF):
                return -1
            found += 1
        for symbol, operation, left, right, bits in self.definitions:
            a = _number(left, 32 if operation == Mnemonic.MOVSXD else bits, known, low)
            b = _number(right, bits, known, low)
            if a is None or b is None:
                continue
            value = _OPERATIONS[operation](a, b, bits) & ((1 << bits) - 1)
            of = known if symbol in known else low
            if symbol not in of:
                (known if bits == 64 else low)[symbol] = value
            elif (of[symbol] ^ value) & (WORD if bits == 64 and symbol in known else HALF):
                return -1
            else:
                found += 1
        for comparison, condition in self.conditions:
            actual, valid = comparison.bits_known(known, low)
            if not _NEEDS[condition] & ~valid and not _holds(condition, actual):
                return -1
        if self.flags is not None and flags >= 0:
            actual, valid = self.flags.bits_known(known, low)
            if (actual ^ flags) & valid:
                return -1
            found += valid & ZERO_FLAG != 0
        return found


def _number(value: Value, bits: int, known: dict[int, int], low: dict[int, int]) -> int | None:
    """A value in some bits, as far as its symbol is known."""
    symbol, offset, width = value
    of = known.get(symbol)
    if of is None and min(bits, width) <= 32:
        of = low.get(symbol)
    return None if of is None else of + offset & (WORD if min(bits, width) == 64 else HALF)


_NEEDS = {
    "e": ZERO_FLAG, "b": CARRY, "be": CARRY | ZERO_FLAG, "l": SIGN | OVERFLOW, "le": SIGN | OVERFLOW | ZERO_FLAG,
    "s": SIGN,
}  # fmt: skip
_NEEDS |= {OPPOSITES[one]: flags for one, flags in _NEEDS.items()}


def _holds(condition: str, flags: int) -> bool:
    """Whether a condition holds with some flags."""
    if condition in ("e", "b", "be", "s"):
        return flags & _NEEDS[condition] != 0
    if condition in ("l", "le"):
        less = bool(flags & SIGN) != bool(flags & OVERFLOW)
        return less or (condition == "le" and flags & ZERO_FLAG != 0)
    return not _holds(OPPOSITES[condition], flags)


class SymbolicState:
    """The values at one place of a path: first each register has a symbol of its own.

    With ``keeps_frame`` values on the function's own stack stay what they are when it stores through other pointers or
    calls a function; once it has taken an address there, only what it has pushed stays."""

    def __init__(self, other: "SymbolicState | None" = None, *, keeps_frame: bool = False) -> None:
        if other is None:
            self.registers: list[Value] = [(1 + number, 0, 64) for number in range(REGISTERS)]
            self._memory: dict[Place, tuple[Value, int]] = {}
            self._conditions: list[tuple[Flags, str]] = []
            self._definitions: list[Definition] = []
            self._flags: Flags | None = None
            # Shared by all that are copied from this one: their symbols are compared.
            self._symbols = count(1 + REGISTERS)
            self._image = 0
            self._keeps_frame = keeps_frame
            self._pushed: frozenset[Place] = frozenset()
            self._is_shared = False
        else:
            self.registers, self._memory = list(other.registers), dict(other._memory)
            self._conditions, self._definitions = list(other._conditions), list(other._definitions)
            self._flags, self._symbols, self._image = other._flags, other._symbols, other._image
            self._keeps_frame, self._pushed, self._is_shared = other._keeps_frame, other._pushed, other._is_shared
        self._joined: set[int] = set()

    def facts(self) -> Facts | None:
        """The facts at this place; None without any."""
        uses: dict[int, int] = {}
        for value in self.registers:
            uses[value[0]] = uses.get(value[0], 0) + 1
        for place, (value, _size) in self._memory.items():
            for symbol in (place[0], value[0]):
                uses[symbol] = uses.get(symbol, 0) + 1
        flags = [flags for flags, _condition in self._conditions] + ([self._flags] if self._flags is not None else [])
        for _action, left, right, _bits, _partial in flags:
            for symbol in (left[0], right[0]):
                uses[symbol] = uses.get(symbol, 0) + 1
        for symbol, _operation, left, right, _bits in self._definitions:
            for one in (symbol, left[0], right[0]):
                uses[one] = uses.get(one, 0) + 1
        related = [
            (number, value) for number, value in enumerate(self.registers) if value[0] <= NUMBER or uses[value[0]] > 1
        ]
        if not related and self._flags is None:
            return None
        stack = tuple(one for one in self._memory.items() if one[0][0] > NUMBER)
        # First what gives whole symbols.
        related.sort(key=lambda one: -one[1][2])
        return Facts(tuple(related), stack, tuple(self._conditions), tuple(self._definitions), self._flags)

    def execute(self, one: Instruction, image: int) -> None:
        """The effect of an instruction of an image that does not call, return, or jump."""
        self._image = image
        flags = self._flags_of(one) if one.action not in FLAGS_KEPT else self._flags
        effect = _EFFECTS.get(one.action)
        is_known = one.destination < REGISTERS and one.left < REGISTERS
        if not (effect is not None and is_known and effect(self, one, image)) and not self._compute(one):
            written = [(self._place(operand), operand.size) for operand in one.memory if "w" in operand.access]
            self.forget(one.writes)
            for place, size in written:
                self._write(place if self._keeps_frame else None, self._unknown(), size or MOST_WRITTEN)
        self._flags = flags

    def forget(self, registers: Sequence[int]) -> None:
        """Some registers have other values now."""
        for number in registers:
            if number < REGISTERS:
                self.registers[number] = self._unknown()

    def forget_callee(self) -> None:
        """A callee of unknown code has returned."""
        self.forget([number for number in range(REGISTERS) if number not in PRESERVED])
        self._memory = self._kept()
        self._flags = None

    def system_call(self) -> None:
        """The kernel has returned: its result, and what the instruction itself overwrites."""
        self.forget((RAX, RCX, R11))
        self._flags = None

    def push_return(self, image: int, address: int) -> None:
        """A call has pushed an address of an image."""
        self._push((-1 - image, address, 64))

    def pop_return(self) -> None:
        """A return has popped one."""
        self.registers[RSP] = self._sum(self.registers[RSP], 8, 8)

    def branch(self, condition: str) -> None:
        """A branch went where a condition of the last comparison leads."""
        if self._flags is not None:
            self._conditions.append((self._flags, condition))

    def _unknown(self) -> Value:
        """The value of a new symbol."""
        return next(self._symbols), 0, 64

    def _kept(self) -> dict[Place, tuple[Value, int]]:
        """Values on the stack that others do not change."""
        if not self._keeps_frame:
            return {}
        pushed = self._pushed if self._is_shared else None
        return {at: one for at, one in self._memory.items() if at[0] == STACK and (pushed is None or at in pushed)}

    def join(self, other: "SymbolicState") -> bool:
        """Keep what holds in another state as well, of those copied from the same one; whether something is lost."""
        lost = False
        for number, value in enumerate(self.registers):
            if value != other.registers[number] and value[0] not in self._joined:
                self.registers[number] = self._unknown()
                self._joined.add(self.registers[number][0])
                lost = True
        differing = [at for at, one in self._memory.items() if other._memory.get(at) != one]
        for at in differing:
            del self._memory[at]
        kept = [one for one in self._conditions if one in other._conditions]
        lost = lost or bool(differing) or len(kept) < len(self._conditions) or other._is_shared > self._is_shared
        self._conditions, self._flags = kept, None
        self._definitions = [one for one in self._definitions if one in other._definitions]
        self._pushed &= other._pushed
        self._is_shared = self._is_shared or other._is_shared
        return lost

    def _sum(self, value: Value, number: int, width: int) -> Value:
        """The sum of a value and a number, of ``width`` bytes."""
        symbol, offset, bits = value
        if symbol == NUMBER:
            return NUMBER, offset + number & (WORD if width == 8 else HALF), 64
        if width == 4:
            return symbol, offset + number, 32
        return (symbol, offset + number, 64) if bits == 64 else self._unknown()

    def _operand(self, one: Instruction) -> Value:
        """The register or the immediate of a store or push."""
        return self.registers[one.left] if one.left >= 0 else (NUMBER, one.immediate & WORD, 64)

    def _place(self, memory: Memory | None) -> Place | None:
        """Where an operand is, if that is on the stack, in the image or near what a register points to."""
        if memory is None:
            return None
        if memory.segment:
            return ELSEWHERE
        if memory.absolute:
            return -1 - self._image, memory.displacement
        if memory.index >= 0 or not 0 <= memory.base < REGISTERS:
            return None
        return self._at(memory.base, memory.displacement)

    def _at(self, base: int, displacement: int) -> Place | None:
        symbol, offset, bits = self.registers[base]
        return (symbol, offset + displacement) if bits == 64 and symbol > NUMBER else None

    def _read(self, place: Place | None, size: int) -> Value:
        """What is read; what is not known becomes a symbol that the stack has there."""
        if place is None or place == ELSEWHERE or size not in STACK_SIZES:
            return self._unknown()
        if place in self._memory and self._memory[place][1] == size:
            return self._memory[place][0]
        if any(symbol == place[0] and -8 < offset - place[1] < 8 for symbol, offset in self._memory):
            return self._unknown()
        value = self._unknown()[0], 0, 8 * size
        self._memory[place] = value, size
        return value

    def _write(self, place: Place | None, value: Value, size: int) -> None:
        """Write a value; what is not known to be elsewhere may have been overwritten."""
        if place is None:
            self._memory = self._kept()
            return
        if place == ELSEWHERE:
            return
        symbol, offset = place
        end = offset + max(size, 1)
        apart = {
            at: one
            for at, one in self._memory.items()
            # Variables of an image are on no stack.
            if (
                not (at[1] < end and offset < at[1] + one[1])
                if at[0] == symbol
                else symbol < NUMBER and at[0] in ON_STACK
            )
        }
        self._memory = apart if symbol == STACK else self._kept() | apart
        if size in STACK_SIZES:
            self._memory[place] = (value if size == 8 else (value[0], value[1], 32)), size

    def _push(self, value: Value) -> None:
        self.registers[RSP] = self._sum(self.registers[RSP], -8, 8)
        self._write(self._at(RSP, 0), value, 8)

    def _copy(self, one: Instruction, _image: int) -> bool:
        symbol, offset, bits = self.registers[one.left]
        self._is_shared = self._is_shared or (symbol == STACK and one.destination not in (RBP, RSP))
        if one.width == 4:
            offset, bits = (offset & HALF, 64) if symbol == NUMBER else (offset, 32)
        self.registers[one.destination] = symbol, offset, bits
        return True

    def _constant(self, one: Instruction, _image: int) -> bool:
        self.registers[one.destination] = NUMBER, one.immediate & WORD, 64
        return True

    def _load(self, one: Instruction, _image: int) -> bool:
        if not one.memory or one.signed:
            return False
        self.registers[one.destination] = self._read(self._place(one.memory[0]), one.memory[0].size)
        return True

    def _store(self, one: Instruction, _image: int) -> bool:
        if not one.memory:
            return False
        self._write(self._place(one.memory[0]), self._operand(one), one.memory[0].size)
        return True

    def _address(self, one: Instruction, image: int) -> bool:
        memory = one.memory[0] if one.memory else None
        if memory is None or one.width != 8 or memory.segment or memory.index >= 0 or memory.base >= REGISTERS:
            return False
        if memory.absolute:
            self.registers[one.destination] = -1 - image, memory.displacement, 64
        else:
            value = self._sum(self.registers[memory.base], memory.displacement, 8)
            self._is_shared = self._is_shared or (value[0] == STACK and one.destination not in (RBP, RSP))
            self.registers[one.destination] = value
        return True

    def _add(self, one: Instruction, _image: int) -> bool:
        if one.right >= 0 or one.left < 0:
            return False
        number = one.immediate if one.action == Action.ADD else -one.immediate
        self.registers[one.destination] = self._sum(self.registers[one.left], number, one.width)
        return True

    def _push_operand(self, one: Instruction, _image: int) -> bool:
        reads = any(operand.access == "r" for operand in one.memory)
        self._push(self._unknown() if reads else self._operand(one))
        place = self._at(RSP, 0)
        if place is not None and one.left >= 0:
            self._pushed |= {place}
        return True

    def _pop(self, one: Instruction, _image: int) -> bool:
        value = self._read(self._at(RSP, 0), 8)
        self.pop_return()
        if one.destination >= 0:
            self.registers[one.destination] = value
        return True

    def _leave(self, _one: Instruction, _image: int) -> bool:
        self.registers[RSP] = self.registers[RBP]
        self.registers[RBP] = self._read(self._at(RSP, 0), 8)
        self.pop_return()
        return True

    def _flags_of(self, one: Instruction) -> Flags | None:
        """What the flags are set by after an instruction, found before it has its effect."""
        native = one.native
        if not isinstance(native, Native) or not native.rflags_modified:
            return self._flags
        operation = native.mnemonic
        left, size = self._compared_operand(one, native, 0) if native.op_count else (ZERO, 0)
        if size not in STACK_SIZES:
            return None
        if operation in (Mnemonic.INC, Mnemonic.DEC):
            result = self._sum(left, 1 if operation == Mnemonic.INC else -1, size)
            return Flags(Action.AND, result, ZERO, 8 * size, True)
        if operation == Mnemonic.NEG:
            return Flags(Action.SUBTRACT, ZERO, left, 8 * size)
        if native.op_count != 2 or operation not in _SETTING_FLAGS:
            return None
        right = self._compared_operand(one, native, 1)[0]
        action = _SETTING_FLAGS[operation]
        if action != Action.AND:
            return Flags(action, left, right, 8 * size)
        if operation in _SHIFTS and (right[0] != NUMBER or right[1] & 8 * size - 1 == 0):
            return None
        operation = Mnemonic.AND if operation == Mnemonic.TEST else operation
        return Flags(action, self._computed(operation, left, right, size), ZERO, 8 * size, operation in _SHIFTS)

    def _compute(self, one: Instruction) -> bool:
        """The effect of an instruction that computes one value of two; False for others."""
        native = one.native
        if not isinstance(native, Native):
            return False
        operation, count = native.mnemonic, native.op_count
        if operation == Mnemonic.MOVSXD and one.width == 8:
            value = self._computed(operation, self._compared_operand(one, native, 1)[0], ZERO, 8)
        elif operation == Mnemonic.CDQE:
            self.registers[RAX] = self._computed(Mnemonic.MOVSXD, self.registers[RAX], ZERO, 8)
            return True
        elif operation in _OPERATIONS and count in (2, 3):
            first = count - 2
            (left, size), (right, _size) = (self._compared_operand(one, native, first + k) for k in range(2))
            if size not in STACK_SIZES or (count == 3 and operation != Mnemonic.IMUL):
                return False
            value = self._computed(operation, left, right, size)
        elif operation == Mnemonic.LEA and one.memory and one.width in STACK_SIZES:
            found = self._computed_address(one, one.memory[0])
            if found is None:
                return False
            value = found
        else:
            return False
        if native.op_kind(0) == OpKind.REGISTER:
            if not 0 <= one.destination < REGISTERS and not 0 <= REGISTER_OF[native.op_register(0)] < REGISTERS:
                return False
            self.registers[REGISTER_OF[native.op_register(0)]] = value
        else:
            self._write(self._place(one.memory[0]), value, one.memory[0].size)
        return True

    def _computed_address(self, one: Instruction, memory: Memory) -> Value | None:
        if memory.segment or memory.absolute or memory.base >= REGISTERS:
            return None
        value = self.registers[memory.base] if memory.base >= 0 else ZERO
        if memory.index >= 0:
            scaled = self.registers[memory.index]
            if memory.scale > 1:
                scaled = self._computed(Mnemonic.IMUL, scaled, (NUMBER, memory.scale, 64), one.width)
            value = self._computed(Mnemonic.ADD, value, scaled, one.width)
        return self._computed(Mnemonic.ADD, value, (NUMBER, memory.displacement & WORD, 64), one.width)

    def _computed(self, operation: int, left: Value, right: Value, size: int) -> Value:
        """The value that an operation gives, in ``size`` bytes."""
        mask = WORD if size == 8 else HALF
        if operation in (Mnemonic.AND, Mnemonic.OR) and left == right:
            return left if size == 8 or left[2] == 32 else (left[0], left[1], 32)
        if left[0] == right[0] == NUMBER:
            return NUMBER, _OPERATIONS[operation](left[1] & mask, right[1] & mask, 8 * size) & mask, 64
        if operation in (Mnemonic.XOR, Mnemonic.SUB) and left == right:
            return ZERO
        if operation in (Mnemonic.ADD, Mnemonic.SUB) and right[0] == NUMBER and (size == 4 or left[2] == 64):
            return self._sum(left, right[1] if operation == Mnemonic.ADD else -right[1], size)
        for known in self._definitions:
            if known[1:] == (operation, left, right, 8 * size):
                return known.symbol, 0, 8 * size
        self._is_shared = self._is_shared or STACK in (left[0], right[0])
        symbol = self._unknown()[0]
        self._definitions.append(Definition(symbol, operation, left, right, 8 * size))
        return symbol, 0, 8 * size

    def _compared_operand(self, one: Instruction, native: Native, number: int) -> tuple[Value, int]:
        """The value and the bytes of an operand of a comparison."""
        kind = native.op_kind(number)
        if kind == OpKind.REGISTER:
            register = REGISTER_OF[native.op_register(number)]
            value = self.registers[register] if 0 <= register < REGISTERS else self._unknown()
            return value, WIDTH_OF[native.op_register(number)]
        if kind == OpKind.MEMORY:
            size = one.memory[0].size if one.memory else 0
            return self._read(self._place(one.memory[0] if one.memory else None), size), size
        return (NUMBER, native.immediate(number) & WORD, 64), 0


def _signed(value: int, bits: int) -> int:
    return (value ^ 1 << (bits - 1)) - (1 << (bits - 1))


_OPERATIONS: dict[int, Callable[[int, int, int], int]] = {
    Mnemonic.ADD: lambda a, b, _bits: a + b,
    Mnemonic.SUB: lambda a, b, _bits: a - b,
    Mnemonic.AND: lambda a, b, _bits: a & b,
    Mnemonic.OR: lambda a, b, _bits: a | b,
    Mnemonic.XOR: lambda a, b, _bits: a ^ b,
    Mnemonic.IMUL: lambda a, b, _bits: a * b,
    Mnemonic.SHL: lambda a, b, bits: a << (b & bits - 1),
    Mnemonic.SHR: lambda a, b, bits: a >> (b & bits - 1),
    Mnemonic.SAR: lambda a, b, bits: _signed(a, bits) >> (b & bits - 1),
    Mnemonic.MOVSXD: lambda a, _b, _bits: _signed(a & HALF, 32),
}
_SHIFTS = frozenset((Mnemonic.SHL, Mnemonic.SHR, Mnemonic.SAR))
_SETTING_FLAGS: dict[int, Action] = {
    Mnemonic.CMP: Action.SUBTRACT, Mnemonic.SUB: Action.SUBTRACT, Mnemonic.ADD: Action.ADD,
    **dict.fromkeys((Mnemonic.TEST, Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR, *_SHIFTS), Action.AND),
}  # fmt: skip
"""What instructions set flags by: AND for the result alone."""

_EFFECTS: dict[Action, Callable[[SymbolicState, Instruction, int], bool]] = {
    Action.COPY: SymbolicState._copy,
    Action.CONSTANT: SymbolicState._constant,
    Action.LOAD: SymbolicState._load,
    Action.STORE: SymbolicState._store,
    Action.ADDRESS: SymbolicState._address,
    Action.ADD: SymbolicState._add,
    Action.SUBTRACT: SymbolicState._add,
    Action.PUSH: SymbolicState._push_operand,
    Action.POP: SymbolicState._pop,
    Action.LEAVE: SymbolicState._leave,
}
"""What is done for an action; False if the effect is not known."""


def condition_of(branch: Instruction) -> str:
    """The condition by which a branch is taken; empty for one that is not followed."""
    native = branch.native
    return CONDITIONS.get(native.condition_code, "") if isinstance(native, Native) else ""
