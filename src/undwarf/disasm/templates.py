# cython: language_level=3, annotation_typing=False
"""What instructions do, but for their place, their displacement and their immediate, as rows of numbers.

A row says what :class:`undwarf.disasm.Instruction` says; few thousand describe a whole program.
"""

from array import array

from undwarf.buffers import zeros
from undwarf.disasm.model import NONE, Action, Flow, Instruction, Memory

__all__ = ["MEMORY_WORDS", "ROW_WORDS", "Templates"]

ROW_WORDS, MEMORY_WORDS = 16, 12
(
    FLOW, ACTION, DESTINATION, LEFT, RIGHT, WIDTH, IMMEDIATE, IMMEDIATE_RULE, WRITES, WRITES_HIGH, FIRST_MEMORY,
    MEMORIES, FLAGS, FIRST_READ, READS, READS_HIGH,
) = range(16)  # fmt: skip
"""Words of a template. WRITES and READS: bit n for register n below 64, those called HIGH for registers above."""
(
    BASE, INDEX, SCALE, DISPLACEMENT, DISPLACED, SEGMENT, SIZE, ACCESS, IMPLICIT, WRITEBACK, ELEMENT, FLOATING,
) = range(12)  # fmt: skip
"""Words of a memory operand. DISPLACED: the instruction's displacement is to be added; ACCESS: 1 read, 2 written."""

PADDING, FIXED_ADDRESS, KEEPS_SIGN = 1, 2, 4
"""Flags: does nothing, or stops; puts a fixed address into a register; what is loaded or extended has a sign."""
SEGMENTS = ("", "fs", "gs")

FIXED, SIGNED, UNSIGNED, NEGATED, NEGATED_UNSIGNED, UNSIGNED_SHORT, NEGATED_UNSIGNED_SHORT = range(7)
"""How a template's immediate is made of an instruction's; without sign from 32 bits, or from 16."""


class Templates:
    """Rows of numbers that grow; `rows` and `operands` are replaced when they do, never changed in size."""

    def __init__(self) -> None:
        self.rows = zeros("q", 512 * ROW_WORDS)
        self.operands = zeros("q", 512 * MEMORY_WORDS)
        self.count = 0
        self.operand_count = 0

    def reserve(self, templates: int, operands: int) -> tuple[int, int]:
        """The numbers of the first of new templates and of new operands, which are still to be filled."""
        first = self.count, self.operand_count
        self.count += templates
        self.operand_count += operands
        while self.count * ROW_WORDS > len(self.rows):
            self.rows = _doubled(self.rows)
        while self.operand_count * MEMORY_WORDS > len(self.operands):
            self.operands = _doubled(self.operands)
        return first

    def add(self, made: Instruction, displacement: "int | None" = None, immediate_rule: int = FIXED) -> int:
        """The number of a new template made of one instruction, whose explicit operands have a displacement of its own
        if one is given."""
        number, first = self.reserve(1, len(made.memory))
        flags = PADDING if _is_padding(made) else 0
        if made.action == Action.ADDRESS and made.memory[0].absolute and not made.memory[0].segment:
            flags |= FIXED_ADDRESS
        if made.signed:
            flags |= KEEPS_SIGN
        row = (
            made.flow, made.action, made.destination, made.left, made.right, made.width,
            _signed(made.immediate) if immediate_rule == FIXED else 0, immediate_rule, *_bits(made.writes), first,
            len(made.memory), flags, made.reads[0] if made.reads else NONE, *_bits(made.reads),
        )  # fmt: skip
        at = number * ROW_WORDS
        self.rows[at : at + ROW_WORDS] = array("q", row)
        if made.memory:
            words = array("q")
            for operand in made.memory:
                words.extend(_operand_row(operand, displacement))
            at = first * MEMORY_WORDS
            self.operands[at : at + len(words)] = words
        return number


def _operand_row(operand: Memory, displacement: "int | None") -> tuple[int, ...]:
    # A push below the stack pointer, or a pop that counts from behind itself, adds a little of its own.
    rest = operand.displacement
    displaced = displacement is not None and abs(rest - displacement) <= 64
    if displaced:
        rest -= displacement or 0
    return (
        operand.base, operand.index, operand.scale, _signed(rest), int(displaced),
        SEGMENTS.index(operand.segment), operand.size, ("r" in operand.access) + 2 * ("w" in operand.access),
        int(operand.implicit), operand.writeback, operand.element, int(operand.floating),
    )  # fmt: skip


def _bits(registers: tuple[int, ...]) -> tuple[int, int]:
    whole = 0
    for register in registers:
        whole |= 1 << register
    return _signed(whole), _signed(whole >> 64)


def _doubled(column: "memoryview[int]") -> "memoryview[int]":
    larger = zeros("q", 2 * len(column))
    larger[: len(column)] = column
    return larger


def _signed(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def _is_padding(made: Instruction) -> bool:
    if made.flow == Flow.STOP:
        return True
    return (
        made.flow == Flow.NEXT
        and not made.writes
        and not made.memory
        and made.action in (Action.OTHER, Action.EXCHANGE)
        and not made.reads
    )
