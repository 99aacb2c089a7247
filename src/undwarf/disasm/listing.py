# cython: language_level=3, annotation_typing=False
"""A function's instructions as columns; what they do is said by templates that all functions share.

Data flow reads the columns; an `Instruction` is only made of those that somebody looks at.
"""

from collections.abc import Callable, Iterator

from undwarf.buffers import zeros
from undwarf.disasm import scan
from undwarf.disasm.model import NONE, Action, Flow, Instruction, Memory, instruction_of, memory_of
from undwarf.disasm.templates import (
    BASE,
    DESTINATION,
    DISPLACED,
    DISPLACEMENT,
    FIRST_MEMORY,
    FIXED,
    FIXED_ADDRESS,
    FLAGS,
    IMMEDIATE,
    IMMEDIATE_RULE,
    INDEX,
    KEEPS_SIGN,
    MEMORIES,
    MEMORY_WORDS,
    NEGATED,
    NEGATED_UNSIGNED,
    NEGATED_UNSIGNED_SHORT,
    PADDING,
    ROW_WORDS,
    UNSIGNED,
    UNSIGNED_SHORT,
    Templates,
)

__all__ = ["TARGETED", "Listing", "listing_of"]

TARGETED = 16
"""Bit of the column of flows: the instruction has a target."""

_FLOWS = tuple(Flow)
_ACTIONS = tuple(Action)


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
        native: "Callable[[Instruction], object] | None" = None,
        text: "Callable[[object], str] | None" = None,
        made: "list[Instruction] | None" = None,
    ) -> None:
        """``native`` gives what the decoder makes of an instruction, ``text`` how that is printed; ``made`` are the
        instructions, where they are there already."""
        self.address = address
        self.table = table
        (
            self.offsets, self.lengths, self.templates, self.displacements, self.immediates, self.targets, self.flows,
        ) = columns  # fmt: skip
        self._native = native
        self._text = text
        self._made: dict[int, Instruction] = dict(enumerate(made or ()))
        self._jumps: memoryview | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, k: int) -> Instruction:
        made = self._made.get(k)
        if made is None:
            made = self._made[k] = self._describe(k)
        return made

    def _describe(self, k: int) -> Instruction:
        at = self.templates[k] * ROW_WORDS
        (
            _flow, action, destination, left, right, width, immediate, rule, writes, writes_high, operand, operands,
            flags, first_read, reads, reads_high,
        ) = self.table.rows[at : at + ROW_WORDS].tolist()  # fmt: skip
        flow = self.flows[k]
        if operands == 1:
            memory: tuple[Memory, ...] = (self._operand(k, operand),)
        else:
            memory = tuple([self._operand(k, operand + number) for number in range(operands)]) if operands else ()
        return instruction_of(
            self.address + self.offsets[k],
            self.lengths[k],
            _FLOWS[flow & 15],
            self.targets[k] & 0xFFFFFFFFFFFFFFFF if flow & TARGETED else None,
            _ACTIONS[action],
            (destination, left, right),
            immediate if rule == FIXED else _number(rule, self.immediates[k]),
            width,
            flags & KEEPS_SIGN != 0,
            _registers(writes, writes_high, NONE),
            _registers(reads, reads_high, first_read),
            memory,
            self._native,
            self._text,
        )

    def _operand(self, k: int, number: int) -> Memory:
        at = number * MEMORY_WORDS
        words = self.table.operands[at : at + MEMORY_WORDS].tolist()
        displacement = words[DISPLACEMENT]
        if words[DISPLACED]:
            displacement = _wrapped(displacement + self.displacements[k])
        return memory_of(words, displacement)

    def __iter__(self) -> Iterator[Instruction]:
        return (self[k] for k in range(len(self)))

    def redirect(self, k: int, flow: Flow, target: int) -> None:
        """Say where an indirect call leads."""
        self.flows[k] = flow | TARGETED
        self.targets[k] = _wrapped(target)
        made = self._made.get(k)
        if made is not None:
            made.flow, made.target = flow, target

    def address_of(self, k: int) -> int:
        """The address of an instruction; that of the end for the number behind the last."""
        if k < len(self.offsets):
            return self.address + self.offsets[k]
        return self.address + self.offsets[k - 1] + self.lengths[k - 1] if k else self.address

    def index_of(self, address: int) -> int | None:
        """The number of the instruction that begins at an address."""
        if address < self.address:
            return None
        at: int = scan.number_at(self.offsets, address - self.address)
        return at if at >= 0 else None

    def immediate(self, k: int) -> int:
        """The number an instruction works with."""
        at = self.templates[k] * ROW_WORDS
        rule = self.table.rows[at + IMMEDIATE_RULE]
        return self.table.rows[at + IMMEDIATE] if rule == FIXED else _number(rule, self.immediates[k])

    def is_padding(self, k: int) -> bool:
        """Whether an instruction does nothing, or stops."""
        return bool(self.table.rows[self.templates[k] * ROW_WORDS + FLAGS] & PADDING)

    def calls_through_memory(self) -> list[int]:
        """Indirect calls through a word at a fixed address."""
        found = []
        table = self.table
        for k in scan.with_flow(self.flows, Flow.INDIRECT_CALL):
            row = self.templates[k] * ROW_WORDS
            at = table.rows[row + FIRST_MEMORY] * MEMORY_WORDS
            if table.rows[row + MEMORIES] and table.operands[at + BASE] == table.operands[at + INDEX] == NONE:
                found.append(k)
        return found

    def fixed_addresses(self) -> dict[int, tuple[int, int]]:
        """By instruction that puts a fixed address into a register, the register and the address."""
        table = self.table
        found = {}
        for k in scan.with_flag(self.templates, table.rows, FIXED_ADDRESS):
            row = self.templates[k] * ROW_WORDS
            operand = self._operand(k, table.rows[row + FIRST_MEMORY])
            found[k] = table.rows[row + DESTINATION], operand.displacement & 0xFFFFFFFFFFFFFFFF
        return found

    def writers(self, at: int, register: int) -> list[int]:
        """The instructions whose value of a register may be in it before an instruction, indirect jumps aside."""
        return scan.writers(self.flows, self.templates, self.table.rows, self._to, at, register)

    def accessed_through(self, call: int, ahead: int, frame: int, lost: int) -> list[tuple[int, int]]:
        """The accesses that may be through what a call returns (:func:`undwarf.disasm.scan.accessed_through`)."""
        table = self.table
        return scan.accessed_through(
            self.flows, self.templates, table.rows, table.operands, self._to, call, ahead, frame, lost
        )

    @property
    def _to(self) -> memoryview:
        """By instruction, the number of the one that it jumps to, -1 where there is none here."""
        if self._jumps is None:
            self._jumps = zeros("i", len(self.offsets))
            scan.jumps_to(self.offsets, self.flows, self.targets, self.address, self._jumps)
        return self._jumps

    def writing(self, register: int) -> list[int]:
        """The instructions that write a register."""
        return scan.writing(self.templates, self.table.rows, register)

    def leaving(self) -> list[tuple[int, int | None]]:
        """(flow, target) of the instructions behind which it does not just go on."""
        return [
            (flow & 15, self.targets[k] & 0xFFFFFFFFFFFFFFFF if flow & TARGETED else None)
            for k, flow in enumerate(self.flows.tolist())
            if flow
        ]

    def may_push(self, registers: int) -> bool:
        """Whether code may push one of some registers, as bits, before it branches or returns."""
        return scan.may_push(self.flows, self.templates, self.table.rows, registers)

    def written(self) -> tuple[int, ...]:
        """The registers that instructions write."""
        low, high = scan.written(self.templates, self.table.rows)
        return _registers(low, high, NONE)


_KNOWN: dict[tuple[int, int, int], tuple[int, ...]] = {}


def _registers(low: int, high: int, first: int) -> tuple[int, ...]:
    """The registers of a set as templates have it, one of them before the others."""
    key = (low, high, first)
    found = _KNOWN.get(key)
    if found is None:
        whole = (low & 0xFFFFFFFFFFFFFFFF) | (high & 0xFFFFFFFFFFFFFFFF) << 64
        registers = [first] if first != NONE else []
        while whole:
            register = (whole & -whole).bit_length() - 1
            whole &= whole - 1
            if register != first:
                registers.append(register)
        found = _KNOWN[key] = tuple(registers)
    return found


def _number(rule: int, value: int) -> int:
    if rule in (UNSIGNED, NEGATED_UNSIGNED):
        value &= 0xFFFFFFFF
    elif rule in (UNSIGNED_SHORT, NEGATED_UNSIGNED_SHORT):
        value &= 0xFFFF
    return -value if rule in (NEGATED, NEGATED_UNSIGNED, NEGATED_UNSIGNED_SHORT) else value


def _wrapped(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


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
        columns[6][k] = made.flow
        if made.target is not None:
            columns[5][k] = _wrapped(made.target)
            columns[6][k] |= TARGETED
    return Listing(address, table, columns, made=instructions)
