# cython: language_level=3, annotation_typing=False
"""A function's instructions as columns, and what they do as templates that all functions share.

A template is what :class:`undwarf.disasm.Instruction` says of an instruction, as numbers, but for its place, its
displacement and its immediate: few thousand describe a whole program. Data flow reads them; an `Instruction` is only
made of those that somebody looks at.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from undwarf.buffers import zeros
from undwarf.disasm.model import NONE, Action, Flow, Instruction, Memory

__all__ = ["MEMORY_WORDS", "ROW_WORDS", "TARGETED", "Listing", "Templates"]

TARGETED = 16
"""Bit of the column of flows: the instruction has a target."""

ROW_WORDS, MEMORY_WORDS = 16, 12
(
    FLOW, ACTION, DESTINATION, LEFT, RIGHT, WIDTH, IMMEDIATE, IMMEDIATE_RULE, WRITES, WRITES_HIGH, FIRST_MEMORY,
    MEMORIES, FLAGS, FIRST_READ, READS, READS_HIGH,
) = range(16)  # fmt: skip
"""Words of a template. WRITES and READS: bit n for register n below 64, those called HIGH for registers above."""
(
    BASE, INDEX, SCALE, DISPLACEMENT, DISPLACED, SEGMENT, SIZE, ACCESS, IMPLICIT, WRITEBACK,
) = range(10)  # fmt: skip
"""Words of a memory operand. DISPLACED: the instruction's displacement is to be added; ACCESS: 1 read, 2 written."""

PADDING, FIXED_ADDRESS = 1, 2
"""Flags: does nothing, or stops; puts a fixed address into a register."""

FIXED, SIGNED, UNSIGNED, NEGATED, NEGATED_UNSIGNED, UNSIGNED_SHORT, NEGATED_UNSIGNED_SHORT = range(7)
"""How a template's immediate is made of an instruction's; without sign from 32 bits, or from 16."""


class Templates:
    """Rows of numbers that grow; `rows` and `operands` are replaced when they do, never changed in size."""

    def __init__(self) -> None:
        self.rows = zeros("q", 512 * ROW_WORDS)
        self.operands = zeros("q", 512 * MEMORY_WORDS)
        self.count = 0
        self._operands = 0

    def add(
        self, made: Instruction, *, displacement: "int | None" = None, immediate_rule: int = FIXED, rip: bool = False
    ) -> int:
        """The number of a new template made of one instruction, whose explicit operands have a displacement of its own
        if one is given."""
        if (self.count + 1) * ROW_WORDS > len(self.rows):
            self.rows = _doubled(self.rows)
        writes, reads = _bits(made.writes), _bits(made.reads)
        flags = PADDING if _is_padding(made) else 0
        if made.action == Action.ADDRESS and made.memory[0].absolute and not made.memory[0].segment:
            flags |= FIXED_ADDRESS
        row = (
            made.flow, made.action, made.destination, made.left, made.right, made.width,
            made.immediate if immediate_rule == FIXED else 0, immediate_rule, *writes,
            self._operands, len(made.memory), flags, made.reads[0] if made.reads else NONE, *reads,
        )  # fmt: skip
        for k, value in enumerate(row):
            self.rows[self.count * ROW_WORDS + k] = _signed(int(value))
        for operand in made.memory:
            self._add_operand(operand, displacement)
        self.count += 1
        return self.count - 1

    def _add_operand(self, operand: Memory, displacement: "int | None") -> None:
        if (self._operands + 1) * MEMORY_WORDS > len(self.operands):
            self.operands = _doubled(self.operands)
        # A push below the stack pointer, or a pop that counts from behind itself, adds a little of its own.
        displaced = displacement is not None and abs(operand.displacement - displacement) <= 64
        row = (
            operand.base, operand.index, operand.scale,
            operand.displacement - (displacement or 0) if displaced else operand.displacement, int(displaced),
            ("", "fs", "gs").index(operand.segment), operand.size,
            ("r" in operand.access) + 2 * ("w" in operand.access), int(operand.implicit), operand.writeback,
        )  # fmt: skip
        for k, value in enumerate(row):
            self.operands[self._operands * MEMORY_WORDS + k] = _signed(value)
        self._operands += 1


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


class Listing:
    """Instructions of a stretch of code from `address` on.

    Columns: `offsets` (I) from the address, `lengths` (B), `templates` (I), `displacements`, `immediates`, `targets`
    (q, addresses with sign), `flows` (B: a :class:`Flow`, and TARGETED). Indexing makes an :class:`Instruction`.
    """

    def __init__(
        self,
        address: int,
        table: Templates,
        columns: "tuple[memoryview[int], ...]",
        describe: "Callable[[int, int, int], Instruction]",
    ) -> None:
        self.address = address
        self.table = table
        (
            self.offsets, self.lengths, self.templates, self.displacements, self.immediates, self.targets, self.flows,
        ) = columns  # fmt: skip
        self._describe = describe
        self._made: dict[int, Instruction] = {}
        flows = self.flows
        kinds = table.rows[FLOW : table.count * ROW_WORDS : ROW_WORDS].tolist()
        for k, template in enumerate(self.templates.tolist()):
            if kinds[template]:
                flows[k] |= kinds[template]

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, k: int) -> Instruction:
        made = self._made.get(k)
        if made is None:
            made = self._made[k] = self._describe(k, self.offsets[k], self.lengths[k])
            flow = self.flows[k]
            made.flow = Flow(flow & 15)
            made.target = self.targets[k] & 0xFFFFFFFFFFFFFFFF if flow & TARGETED else None
        return made

    def __iter__(self) -> Iterator[Instruction]:
        return (self[k] for k in range(len(self)))

    def redirect(self, k: int, flow: Flow, target: int) -> None:
        """Say where an indirect call leads."""
        self.flows[k] = flow | TARGETED
        self.targets[k] = _signed(target)
        self._made.pop(k, None)

    def address_of(self, k: int) -> int:
        """The address of an instruction; that of the end for the number behind the last."""
        if k < len(self.offsets):
            return self.address + self.offsets[k]
        return self.address + self.offsets[k - 1] + self.lengths[k - 1] if k else self.address

    def index_of(self, address: int) -> int | None:
        """The number of the instruction that begins at an address."""
        at = bisect_left(self.offsets, address - self.address)
        return at if at < len(self.offsets) and self.offsets[at] == address - self.address else None

    def immediate(self, k: int) -> int:
        """The number an instruction works with."""
        at = self.templates[k] * ROW_WORDS
        rule, value = self.table.rows[at + IMMEDIATE_RULE], self.immediates[k]
        if rule == FIXED:
            return self.table.rows[at + IMMEDIATE]
        if rule in (UNSIGNED, NEGATED_UNSIGNED):
            value &= 0xFFFFFFFF
        elif rule in (UNSIGNED_SHORT, NEGATED_UNSIGNED_SHORT):
            value &= 0xFFFF
        return -value if rule in (NEGATED, NEGATED_UNSIGNED, NEGATED_UNSIGNED_SHORT) else value

    def is_padding(self, k: int) -> bool:
        """Whether an instruction does nothing, or stops."""
        return bool(self.table.rows[self.templates[k] * ROW_WORDS + FLAGS] & PADDING)

    def calls_through_memory(self) -> list[int]:
        """Indirect calls through a word at a fixed address."""
        found = []
        table = self.table
        for k, flow in enumerate(self.flows.tolist()):
            if flow == Flow.INDIRECT_CALL:
                row = self.templates[k] * ROW_WORDS
                at = table.rows[row + FIRST_MEMORY] * MEMORY_WORDS
                if table.rows[row + MEMORIES] and table.operands[at + BASE] == table.operands[at + INDEX] == NONE:
                    found.append(k)
        return found

    def putting_addresses(self) -> list[int]:
        """Instructions that put a fixed address into a register."""
        flags = self.table.rows[FLAGS : self.table.count * ROW_WORDS : ROW_WORDS].tolist()
        return [k for k, template in enumerate(self.templates.tolist()) if flags[template] & FIXED_ADDRESS]


def listing_of(instructions: list[Instruction], address: int) -> Listing:
    """The listing of instructions that were described one by one."""
    table = Templates()
    count = len(instructions)
    columns = (
        zeros("I", count), zeros("B", count), zeros("I", count), zeros("q", count), zeros("q", count),
        zeros("q", count), zeros("B", count),
    )  # fmt: skip
    for k, made in enumerate(instructions):
        columns[0][k] = made.address - address
        columns[1][k] = made.size
        columns[2][k] = table.add(made)
        if made.target is not None:
            columns[5][k] = _signed(made.target)
            columns[6][k] = TARGETED
    return Listing(address, table, columns, lambda k, _offset, _length: instructions[k])
