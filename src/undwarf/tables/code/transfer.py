"""Transfer functions: how operations change the registers and the stack words of a state."""

from collections.abc import Callable

from undwarf.tables.code import operations as do
from undwarf.tables.code.operations import Operation
from undwarf.tables.code.stack_state import (
    ANCHORS,
    CFA,
    CONSTANT,
    HALF,
    OFFSET,
    RETURN,
    SPAN,
    TAKEN,
    TARGET,
    WORD,
)

__all__ = ["CLOBBERED", "Transfer", "table_entry"]

CLOBBERED = (0, 1, 2, 4, 5, 8, 9, 10, 11)
"""Caller-saved registers (System V ABI, 3.2.1)."""

_IN_RULES = (3, 6, 7, 10, 12, 13, 14, 15)
"""Registers that rules are relative to or restore."""

_MASK = 0xFFFFFFFFFFFFFFFF

Registers = list[int]
Words = dict[int, int]
TransferFunction = Callable[[Registers, Words, Operation], bool]
"""Applies an operation to a state; whether the rule may change by it."""


def table_entry(kind: int, registers: Registers, base: int, displacement: int) -> int:
    """The value of an entry, OFFSET or WORD, of the table at register ``base`` (-1: none) plus a displacement."""
    at = registers[base] if base >= 0 else CONSTANT
    return kind + ((at - CONSTANT + displacement) & _MASK) if CONSTANT <= at < OFFSET else 0


def _restored(registers: Registers) -> None:
    """The stack pointer is that of the entry again: copies of it are of no further use."""
    for r in CLOBBERED:
        if registers[r] == CFA - 8:
            registers[r] = 0


def _kill(registers: Registers, words: Words, operation: Operation) -> bool:
    a = operation[2]
    if not registers[a]:
        return False
    registers[a] = 0
    return True


def _load(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, b, c, _ = operation
    base = registers[b]
    new = words.get(base + c, 0) if HALF <= base < ANCHORS else 0
    changed = new != registers[a]
    registers[a] = new
    if new == CFA - 8 and a != 7:
        # The stack pointer of the entry is being restored: from here on this register names the frame.
        words[TAKEN] = CONSTANT
        return True
    return changed


def _move(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, b, _, _ = operation
    new = registers[b]
    if new == registers[a]:
        return False
    registers[a] = new
    if a == 7 and new == CFA - 8:
        _restored(registers)
    return True


def _constant(registers: Registers, words: Words, operation: Operation) -> bool:
    a = operation[2]
    registers[a] = CONSTANT + operation[4]
    return a in _IN_RULES


def _store(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, b, c, _ = operation
    base = registers[b]
    if not HALF <= base < ANCHORS:
        return False
    value = registers[a]
    if value:
        words[base + c] = value
        if value == CFA - 8:
            words.pop(TAKEN, None)
        return value < ANCHORS
    return words.pop(base + c, None) is not None


def _push(registers: Registers, words: Words, operation: Operation) -> bool:
    a = operation[2]
    if not registers[7]:
        return False
    value = registers[a] if a >= 0 else 0
    stack = registers[7] = registers[7] - 8
    if value:
        words[stack] = value
    else:
        words.pop(stack, None)
    return True


def _pop(registers: Registers, words: Words, operation: Operation) -> bool:
    a = operation[2]
    stack = registers[7]
    value = words.pop(stack, 0) if stack else 0
    if stack:
        registers[7] = stack + 8
    if a >= 0:
        registers[a] = value
    elif stack == CFA - 8 and value == RETURN:
        words[stack] = value
    return True


def _add(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, _, c, _ = operation
    old = registers[a]
    if not old:
        return False
    new = old + c if HALF <= old < ANCHORS else CONSTANT + ((old - CONSTANT + c) & _MASK)
    registers[a] = new if HALF <= old < OFFSET else 0
    return True


def _address(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, b, c, _ = operation
    base = registers[b]
    registers[a] = base + c if HALF <= base < ANCHORS else 0
    if a == 7 and registers[7] == CFA - 8 and b != 7:
        _restored(registers)
    return True


def _element(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, b, c, _ = operation
    low, high = sorted((registers[b], registers[c]))
    registers[a] = high - CONSTANT + OFFSET if CONSTANT <= high < OFFSET and low < CONSTANT else 0
    return True


def _extend(registers: Registers, words: Words, operation: Operation) -> bool:
    value = registers[operation[3]]
    registers[operation[2]] = value if OFFSET <= value < TARGET else 0
    return True


def _offsets(registers: Registers, words: Words, operation: Operation) -> bool:
    registers[operation[2]] = table_entry(OFFSET, registers, operation[3], operation[4])
    return True


def _words(registers: Registers, words: Words, operation: Operation) -> bool:
    registers[operation[2]] = table_entry(WORD, registers, operation[3], operation[4])
    return True


def _enter(registers: Registers, words: Words, operation: Operation) -> bool:
    size = operation[4]
    if registers[7] and size >= 0:
        stack = registers[7] - 8
        words[stack] = registers[6]
        registers[6] = stack
        registers[7] = stack - size
    else:
        registers[6] = registers[7] = 0
    return True


def _leave(registers: Registers, words: Words, operation: Operation) -> bool:
    frame = registers[6]
    if HALF <= frame < ANCHORS:
        registers[6] = words.pop(frame, 0)
        registers[7] = frame + 8
    else:
        registers[6] = registers[7] = 0
    return True


def _exchange(registers: Registers, words: Words, operation: Operation) -> bool:
    _, _, a, b, _, _ = operation
    registers[a], registers[b] = registers[b], registers[a]
    return True


class _NewValues:
    """Values that operations create, the same ones each time a block is run. Anchors are numbered by the instruction
    that creates them, entries of tables plus a base by (table, base)."""

    def __init__(self) -> None:
        self.anchors: dict[int, int] = {}
        self.tables: dict[tuple[int, int], int] = {}

    def anchor(self, key: int) -> int:
        """The value of an unknown distance from the stack pointer, computed at an address or by another ``key``."""
        return self.anchors.setdefault(key, len(self.anchors) + 2) * SPAN

    def _new_anchor(self, address: int, registers: Registers, words: Words) -> int:
        """The anchor of an instruction; what was relative to it the last time the instruction was run is forgotten."""
        value = self.anchor(address)
        low, high = value - HALF, value + HALF
        for r in range(16):
            if low <= registers[r] < high:
                registers[r] = 0
        for where in [where for where, what in words.items() if low <= where < high or low <= what < high]:
            del words[where]
        return value

    def align(self, registers: Registers, words: Words, operation: Operation) -> bool:
        address, _, a, b, _, _ = operation
        registers[a] = self._new_anchor(address, registers, words) if HALF <= registers[b] < ANCHORS else 0
        return True

    def sum(self, registers: Registers, words: Words, operation: Operation) -> bool:
        address, _, a, b, c, _ = operation
        x, y = registers[b], registers[c]
        new = 0
        if x >= OFFSET or y >= OFFSET:
            low, high = (x, y) if x < y else (y, x)
            if CONSTANT <= low < OFFSET <= high < TARGET:
                pair = high - OFFSET, low - CONSTANT
                new = TARGET + self.tables.setdefault(pair, len(self.tables))
        elif CONSTANT <= y < OFFSET and HALF <= x < ANCHORS:
            new = x + (((y - CONSTANT) ^ (1 << 63)) - (1 << 63))
        elif a == 7 and HALF <= x < ANCHORS:
            new = self._new_anchor(address, registers, words)
        registers[a] = new
        return True

    def difference(self, registers: Registers, words: Words, operation: Operation) -> bool:
        address, _, a, b, _, _ = operation
        x, y = registers[a], registers[b]
        if CONSTANT <= y < OFFSET and HALF <= x < ANCHORS and y - CONSTANT < 1 << 31:
            registers[a] = x - (y - CONSTANT)
        elif HALF <= x < ANCHORS and y < CONSTANT:
            registers[a] = self._new_anchor(address, registers, words)
        else:
            registers[a] = 0
        return True


class Transfer:
    """The transfer functions of one function's operations, ``of`` each kind; None for kinds of control flow.

    ``tables`` has the number of each (table, base) that was added, ``anchor(key)`` gives the value of an unknown
    distance from the stack pointer.
    """

    def __init__(self) -> None:
        # No cycle of references: functions are analysed faster than the collector runs.
        values = _NewValues()
        self.anchor = values.anchor
        self.tables = values.tables
        self.of: list[TransferFunction | None] = [None] * do.KINDS
        for kind, effect in {
            do.KILL: _kill,
            do.MOVE: _move,
            do.LOAD: _load,
            do.STORE: _store,
            do.PUSH: _push,
            do.POP: _pop,
            do.ADD: _add,
            do.ADDRESS: _address,
            do.CONSTANT: _constant,
            do.ALIGN: values.align,
            do.LEAVE: _leave,
            do.SUM: values.sum,
            do.DIFFERENCE: values.difference,
            do.OFFSETS: _offsets,
            do.WORDS: _words,
            do.EXCHANGE: _exchange,
            do.ENTER: _enter,
            do.ELEMENT: _element,
            do.EXTEND: _extend,
        }.items():
            self.of[kind] = effect
