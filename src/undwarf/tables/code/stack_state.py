"""The state of the stack at an instruction: the values of registers and stack words, and the unwind rule that follows.

A value is one number. 0 is unknown; 1 + r is the value of register r (a DWARF number, 16 the return address) at the
function's entry; then, by ranges, the call frame address or another anchor plus an offset, a constant, an entry of a
table of offsets or words, and a table's base plus such an offset. An anchor other than the call frame address is
created by an instruction that rounds an address down. Anchors are 2^40 apart, so that adding to a value moves it along
its anchor.
"""

from collections.abc import Iterable

from undwarf.tables.rule_kinds import AT_CFA, AT_REGISTER, CFA_DEREF, CFA_REGISTER, REGISTER, UNDEFINED

__all__ = ["CFA", "OUTERMOST", "RuleWords", "State", "entry_state", "is_call_frame", "merge", "rule_of"]

SPAN = 1 << 40
HALF = 1 << 39
CFA = SPAN
"""The call frame address."""
ANCHORS = 1 << 70
"""All values from HALF up to here are an anchor plus an offset."""
CONSTANT = 1 << 70
OFFSET = 2 << 70
"""An entry of the table of 32-bit offsets at the value less this."""
TARGET = 3 << 70
"""Such an entry plus a base: the number of (table, base) is the value less this."""
WORD = 4 << 70
"""A word of the table at the value less this."""
KINDS = 5 << 70

TAKEN = 1
"""No address: this key exists if the stack pointer of the entry was read back from the stack."""

RETURN = 17
"""The return address, as a value."""

State = tuple[list[int], dict[int, int]]
"""The values of the 16 registers, and of stack words by the value that is their address."""

RuleWords = tuple[tuple[int, int, int, int], tuple[tuple[int, int, int, int], ...]]
"""The call frame address as (kind, register, offset, extra), and registers as (number, kind, value, base)."""

OUTERMOST: RuleWords = (CFA_REGISTER, 7, 8, 0), ((16, UNDEFINED, 0, 0),)
"""Of code that was not called: there is no return address."""

_SAVED = (3, 6, 12, 13, 14, 15)
_COPIES = (0, 9, 10, 11, 4, 5, 2, 1, 8)
_BASES = (10, 11, 0, 13, 3, 12, 14, 15, 2, 1, 5, 4, 8, 9)
"""Registers that may hold the call frame address, the usual ones first."""


def entry_state(depth: int = 8) -> State:
    """The state at a function's entry; ``depth`` is how far the stack pointer is below the call frame address."""
    registers = [0] * 16
    for r in _SAVED:
        registers[r] = 1 + r
    registers[7] = CFA - depth
    return registers, {CFA - 8: RETURN}


def offset_of(value: int) -> int | None:
    """The offset of a value from the call frame address; None if it is unknown."""
    return value - CFA if HALF <= value < CFA + HALF else None


def merge(known: State, other: State) -> bool:
    """Let ``known`` be the join of both; whether that changed it."""
    registers, words = known
    theirs, their_words = other
    changed = False
    if registers != theirs:
        for r in range(16):
            if registers[r] != theirs[r] and registers[r]:
                registers[r] = 0
                changed = True
    if words != their_words:
        gone = [where for where, what in words.items() if their_words.get(where) != what]
        for where in gone:
            del words[where]
        changed = changed or bool(gone)
    return changed


def _address(value: int, registers: list[int], order: Iterable[int]) -> tuple[int, int] | None:
    """(register, offset) that give a value that is an anchor plus an offset."""
    for r in order:
        held = registers[r]
        if HALF <= held < ANCHORS and -HALF < value - held < HALF and (held + HALF) // SPAN == (value + HALF) // SPAN:
            return r, value - held
    return None


def _call_frame(registers: list[int], words: dict[int, int]) -> tuple[int, int, int, int] | None:
    """The call frame address as compilers write it: from the frame pointer once it is set up, else from the stack
    pointer; if neither is known, from the word in which a realigned frame keeps it, else from any register."""
    frame = registers[6]
    if frame == CFA - 16 and words.get(frame) == 7:
        return CFA_REGISTER, 6, 16, 0
    stack = registers[7]
    on_stack = HALF <= stack < CFA + HALF
    # Assembly keeps the stack pointer of its entry: in a register, later on the stack.
    if not on_stack and TAKEN not in words and frame != CFA - 8:
        for where, what in words.items():
            if what == CFA - 8 and (found := _address(where, registers, (7,))) is not None:
                return CFA_DEREF, 7, found[1], 8
    if CFA - 8 in registers and frame != CFA - 8:
        for r in _COPIES:
            if registers[r] == CFA - 8:
                return CFA_REGISTER, r, 8, 0
    if on_stack:
        return CFA_REGISTER, 7, CFA - stack, 0
    if HALF <= frame < CFA + HALF:
        return CFA_REGISTER, 6, CFA - frame, 0
    for where, what in words.items():
        if HALF <= what < CFA + HALF:
            found = _address(where, registers, (6,))
            if found is not None:
                return CFA_DEREF, 6, found[1], CFA - what
    for r in _BASES:
        held = registers[r]
        if HALF <= held < CFA + HALF:
            return CFA_REGISTER, r, CFA - held, 0
    for where, what in words.items():
        if HALF <= what < CFA + HALF:
            found = _address(where, registers, (7,))
            if found is not None:
                return CFA_DEREF, 7, found[1], CFA - what
    return None


def rule_of(state: State) -> RuleWords | None:
    """The unwind rule at a state; None if the call frame address or the return address is unknown."""
    registers, words = state
    cfa = _call_frame(registers, words)
    if cfa is None or not -(1 << 31) <= cfa[2] < 1 << 31 or not -(1 << 31) <= cfa[3] < 1 << 31:
        return None
    stack = registers[7]
    on_stack = HALF <= stack < CFA + HALF
    rules: list[tuple[int, int, int, int]] = []
    where_saved: dict[int, int] = {}
    for where, what in words.items():
        # Words below the stack pointer may be overwritten, but for the red zone at an epilogue.
        if 1 <= what <= RETURN and what not in where_saved and not (on_stack and HALF <= where < stack):
            where_saved[what] = where
    # The return address.
    where = where_saved.get(RETURN, 0)
    if HALF <= where < CFA + HALF:
        rules.append((16, AT_CFA, where - CFA, 0))
    elif RETURN in registers:
        rules.append((16, REGISTER, registers.index(RETURN), 0))
    elif words.get(CFA - 8) == RETURN:
        rules.append((16, AT_CFA, -8, 0))
    else:
        return None
    for r in _SAVED:
        where = where_saved.get(1 + r, 0)
        if HALF <= where < CFA + HALF:
            if where - CFA >= -(1 << 31):
                rules.append((r, AT_CFA, where - CFA, 0))
        elif where:
            found = _address(where, registers, (6, 7))
            rules.append((r, AT_REGISTER, found[1], found[0]) if found is not None else (r, UNDEFINED, 0, 0))
        elif registers[r] == 1 + r:
            continue
        elif 1 + r in registers:
            rules.append((r, REGISTER, registers.index(1 + r), 0))
        else:
            rules.append((r, UNDEFINED, 0, 0))
    return cfa, tuple(rules)


def is_call_frame(state: State, cfa: tuple[int, int, int, int]) -> bool:
    """Whether a (kind, register, offset, extra) gives the call frame address at a state."""
    registers, words = state
    kind, register, offset, extra = cfa
    held = registers[register] if 0 <= register < 16 else 0
    if kind == CFA_DEREF:
        return HALF <= held < ANCHORS and words.get(held + offset, 0) + extra == CFA
    return kind == CFA_REGISTER and held + offset == CFA
