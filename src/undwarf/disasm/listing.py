# cython: language_level=3, annotation_typing=False
"""A function's instructions as columns, with templates that all functions share.

The data flow reads the columns; `Instruction` objects are only created on demand.
"""

from collections.abc import Callable, Iterator
from typing import Any

import cython
from cython.cimports.undwarf.disasm.template_layout import (
    FIXED,
    FIXED_ADDRESS,
    KEEPS_SIGN,
    NEGATED,
    NEGATED_UNSIGNED,
    NEGATED_UNSIGNED_SHORT,
    OPERAND_ACCESS,
    OPERAND_BASE,
    OPERAND_DISPLACED,
    OPERAND_DISPLACEMENT,
    OPERAND_ELEMENT,
    OPERAND_FLOATING,
    OPERAND_IMPLICIT,
    OPERAND_INDEX,
    OPERAND_SCALE,
    OPERAND_SEGMENT,
    OPERAND_SIZE,
    OPERAND_WORDS,
    OPERAND_WRITEBACK,
    PADDING,
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_FLAGS,
    ROW_IMMEDIATE,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_READ,
    ROW_READS,
    ROW_READS_HIGH,
    ROW_RIGHT,
    ROW_RULE,
    ROW_WIDTH,
    ROW_WORDS,
    ROW_WRITES,
    ROW_WRITES_HIGH,
    TARGETED,
    UNSIGNED,
    UNSIGNED_SHORT,
)

from undwarf.column import zeros
from undwarf.disasm import listing_search
from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import ACCESSES, NONE, SEGMENTS, Instruction, Memory, as_signed
from undwarf.disasm.instruction_semantics import Action
from undwarf.disasm.templates import Templates

__all__ = ["TARGETED", "Listing", "listing_of"]

_FLOWS = tuple(Flow)
_ACTIONS = tuple(Action)


@cython.cclass
class Listing:
    """The instructions of code at `address`.

    Columns: `offsets` (I) from the address, `lengths` (B), `templates` (I), `displacements`, `immediates`, `targets`
    (q, addresses as signed integers), `flows` (B: a :class:`Flow`, and TARGETED). Indexing gives an
    :class:`Instruction`.
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
        """``native`` decodes an instruction again, ``text`` formats that; ``made``: all instructions, if they exist."""
        self.address = address
        self.table = table
        (
            self.offsets,
            self.lengths,
            self.templates,
            self.displacements,
            self.immediates,
            self.targets,
            self.flows,
        ) = columns
        self.begins, self.numbers = self.offsets, self.templates
        self.registers = table.registers
        self.seen: Any = None
        self.native = native
        self.text = text
        self.made: dict[int, Instruction] = dict(enumerate(made or ()))
        self.jumps: memoryview | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, k: int) -> Instruction:
        made = self.made.get(k)
        if made is None:
            made = self.made[k] = self._describe(k)
        return made

    @cython.cfunc
    @cython.returns(Instruction)
    @cython.locals(
        k=cython.Py_ssize_t, at=cython.Py_ssize_t, flow=cython.int, rule=cython.longlong, rows="const long long[::1]",
        made=Instruction, number=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _describe(self, k: int) -> Instruction:
        if self.seen is not self.table.rows:
            # The table has grown and moved.
            self.seen = self.table.rows
            self.rows, self.operands = self.table.rows, self.table.operands
        rows = self.rows
        at = self.numbers[k] * ROW_WORDS
        flow = self.flows[k]
        made = Instruction.__new__(Instruction)
        made.address = self.address + self.begins[k]
        made.size = self.lengths[k]
        made.flow = _FLOWS[flow & 15]
        made.target = self.targets[k] & 0xFFFFFFFFFFFFFFFF if flow & TARGETED else None
        made.action = _ACTIONS[rows[at + ROW_ACTION]]
        made.destination, made.left, made.right = (
            rows[at + ROW_DESTINATION],
            rows[at + ROW_LEFT],
            rows[at + ROW_RIGHT],
        )
        rule, number = rows[at + ROW_RULE], rows[at + ROW_IMMEDIATE]
        made.immediate = _number(rule, self.immediates[k]) if rule else number
        made.width = rows[at + ROW_WIDTH]
        made.signed = rows[at + ROW_FLAGS] & KEEPS_SIGN != 0
        registers = self.registers.get(at)
        if registers is None:
            registers = self.registers[at] = (
                _registers(rows[at + ROW_WRITES], rows[at + ROW_WRITES_HIGH], NONE),
                _registers(rows[at + ROW_READS], rows[at + ROW_READS_HIGH], rows[at + ROW_READ]),
            )
        made.writes, made.reads = registers
        made.memory = self._operands(k, rows[at + ROW_OPERAND], rows[at + ROW_OPERANDS])
        made._native = None
        made._decode, made._text = self.native, self.text
        return made

    @cython.cfunc
    @cython.returns(tuple)
    @cython.locals(
        k=cython.Py_ssize_t, first=cython.Py_ssize_t, count=cython.Py_ssize_t, number=cython.Py_ssize_t,
        m=cython.Py_ssize_t, words="const long long[::1]", made=Memory, displacement=cython.ulonglong,
    )  # fmt: skip  # rows of C types
    def _operands(self, k: int, first: int, count: int) -> tuple[Memory, ...]:
        """The memory operands of instruction ``k``, from their first index in the table and their count."""
        found: tuple[Memory, ...] = ()
        if not count:
            return found
        words = self.operands
        for number in range(first, first + count):
            m = number * OPERAND_WORDS
            made = Memory.__new__(Memory)
            made.base, made.index = words[m + OPERAND_BASE], words[m + OPERAND_INDEX]
            made.scale = words[m + OPERAND_SCALE]
            displacement = words[m + OPERAND_DISPLACEMENT]
            if words[m + OPERAND_DISPLACED]:
                displacement += cython.cast(cython.ulonglong, self.displacements[k] & 0xFFFFFFFFFFFFFFFF)
            made.displacement = cython.cast(cython.longlong, displacement)
            made.segment = SEGMENTS[words[m + OPERAND_SEGMENT]]
            made.size, made.access = words[m + OPERAND_SIZE], ACCESSES[words[m + OPERAND_ACCESS]]
            made.implicit = words[m + OPERAND_IMPLICIT] != 0
            made.writeback, made.element = words[m + OPERAND_WRITEBACK], words[m + OPERAND_ELEMENT]
            made.absolute = words[m + OPERAND_BASE] == words[m + OPERAND_INDEX] == NONE
            made.floating = words[m + OPERAND_FLOATING] != 0
            made.pre = False
            found = (*found, made) if found else (made,)
        return found

    def __iter__(self) -> Iterator[Instruction]:
        return (self[k] for k in range(len(self)))

    def redirect(self, k: int, flow: Flow, target: int) -> None:
        """Set the target of an indirect call."""
        self.flows[k] = flow | TARGETED
        self.targets[k] = as_signed(target)
        made = self.made.get(k)
        if made is not None:
            made.flow, made.target = flow, target

    def address_of(self, k: int) -> int:
        """The address of an instruction, for ``len`` of the end."""
        if k < len(self.offsets):
            return self.address + self.offsets[k]
        return self.address + self.offsets[k - 1] + self.lengths[k - 1] if k else self.address

    @cython.locals(offset=cython.ulonglong, low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    def index_of(self, address: int) -> int | None:
        """The index of the instruction at an address, or None."""
        if address < self.address:
            return None
        offset = address - self.address
        low, high = 0, len(self.begins)
        while low < high:
            middle = (low + high) // 2
            if self.begins[middle] < offset:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.begins) and self.begins[low] == offset else None

    def immediate(self, k: int) -> int:
        """The immediate of an instruction."""
        at = self.templates[k] * ROW_WORDS
        rule = self.table.rows[at + ROW_RULE]
        return self.table.rows[at + ROW_IMMEDIATE] if rule == FIXED else _number(rule, self.immediates[k])

    def is_padding(self, k: int) -> bool:
        """Whether an instruction is a no-op or of flow STOP."""
        return bool(self.table.rows[self.templates[k] * ROW_WORDS + ROW_FLAGS] & PADDING)

    def calls_through_memory(self) -> list[int]:
        """The indirect calls through a word at a constant address."""
        found = []
        table = self.table
        for k in listing_search.with_flow(self.flows, Flow.INDIRECT_CALL):
            row = self.templates[k] * ROW_WORDS
            at = table.rows[row + ROW_OPERAND] * OPERAND_WORDS
            if (
                table.rows[row + ROW_OPERANDS]
                and table.operands[at + OPERAND_BASE] == table.operands[at + OPERAND_INDEX] == NONE
            ):
                found.append(k)
        return found

    def fixed_addresses(self) -> dict[int, tuple[int, int]]:
        """Instruction that loads a constant address -> (register, address)."""
        table = self.table
        found = {}
        for k in listing_search.with_flag(self.templates, table.rows, FIXED_ADDRESS):
            row = self.templates[k] * ROW_WORDS
            (operand,) = self._operands(k, table.rows[row + ROW_OPERAND], 1)
            found[k] = table.rows[row + ROW_DESTINATION], operand.displacement & 0xFFFFFFFFFFFFFFFF
        return found

    def writers(self, at: int, register: int) -> list[int]:
        """The reaching definitions of a register at an instruction (:func:`undwarf.disasm.listing_search.writers`)."""
        return listing_search.writers(self.flows, self.templates, self.table.rows, self._to, at, register)

    def accessed_through(self, call: int, ahead: int, frame: int, lost: int) -> list[tuple[int, int]]:
        """Accesses through a call's result (:func:`undwarf.disasm.listing_search.accessed_through`)."""
        table = self.table
        return listing_search.accessed_through(
            self.flows, self.templates, table.rows, table.operands, self._to, call, ahead, frame, lost
        )

    @property
    def _to(self) -> memoryview:
        """i: the index of each instruction's jump target, -1 if there is none in this listing."""
        if self.jumps is None:
            self.jumps = zeros("i", len(self.offsets))
            listing_search.jumps_to(self.offsets, self.flows, self.targets, self.address, self.jumps)
        return self.jumps

    def writing(self, register: int) -> list[int]:
        """The indices of instructions that write a register."""
        return listing_search.writing(self.templates, self.table.rows, register)

    @cython.locals(
        flows="const unsigned char[::1]", targets="const long long[::1]", k=cython.Py_ssize_t, flow=cython.int
    )  # fmt: skip
    def control_transfers(self) -> list[tuple[int, int | None]]:
        """(flow, target or None) of the instructions whose flow is not NEXT."""
        flows, targets = self.flows, self.targets
        found: list[tuple[int, int | None]] = []
        for k in range(len(flows)):
            flow = flows[k]
            if flow:
                target = cython.cast(cython.ulonglong, targets[k]) if flow & TARGETED else None
                found.append((flow & 15, target))
        return found

    @cython.locals(
        flows="const unsigned char[::1]", templates="const unsigned int[::1]", rows="const long long[::1]",
        k=cython.Py_ssize_t, at=cython.Py_ssize_t, wanted=cython.longlong, store=cython.longlong, call=cython.int,
        none=cython.longlong,
    )  # fmt: skip
    def calls_and_stores(self, width: int) -> list[int]:
        """The calls with a known target, and the stores of a register of ``width`` bytes."""
        flows, templates, rows = self.flows, self.templates, self.table.rows
        wanted, store, call, none = width, Action.STORE, Flow.CALL | TARGETED, NONE
        found = []
        for k in range(len(flows)):
            at = templates[k] * ROW_WORDS
            if flows[k] == call or (
                rows[at + ROW_ACTION] == store and rows[at + ROW_WIDTH] == wanted and rows[at + ROW_LEFT] != none
            ):
                found.append(k)
        return found

    def may_push(self, registers: int) -> bool:
        """Whether code may push one of ``registers`` (bits) before it branches or returns."""
        return listing_search.may_push(self.flows, self.templates, self.table.rows, registers)

    def written(self) -> tuple[int, ...]:
        """The registers that some instruction writes."""
        low, high = listing_search.written(self.templates, self.table.rows)
        return _registers(low, high, NONE)


@cython.cfunc
@cython.returns(tuple)
@cython.locals(
    low=cython.ulonglong, high=cython.ulonglong, first=cython.longlong, register=cython.longlong, registers=list,
)  # fmt: skip  # rows of C types
def _registers(low: int, high: int, first: int) -> tuple[int, ...]:
    """The registers of a template's bit set, with ``first`` (or NONE) before the others."""
    registers = [first] if first != NONE else []
    register = 0
    while low or high:
        if low & 1 and register != first:
            registers.append(register)
        low = low >> 1 | (high & 1) << 63
        high >>= 1
        register += 1
    return tuple(registers)


@cython.cfunc
@cython.exceptval(-1, check=True)
@cython.locals(rule=cython.longlong, value=cython.longlong)
@cython.returns(cython.longlong)
def _number(rule: int, value: int) -> int:
    if rule in (UNSIGNED, NEGATED_UNSIGNED):
        value &= 0xFFFFFFFF
    elif rule in (UNSIGNED_SHORT, NEGATED_UNSIGNED_SHORT):
        value &= 0xFFFF
    return -value if rule in (NEGATED, NEGATED_UNSIGNED, NEGATED_UNSIGNED_SHORT) else value


def listing_of(instructions: list[Instruction], address: int) -> Listing:
    """The listing of a list of instructions."""
    table = Templates()
    count = len(instructions)
    columns = (
        zeros("I", count), zeros("B", count), zeros("I", count), zeros("q", count), zeros("q", count),
        zeros("q", count), zeros("B", count),
    )  # fmt: skip  # a table
    for k, made in enumerate(instructions):
        columns[0][k] = made.address - address
        columns[1][k] = made.size
        columns[2][k] = table.add(made)
        columns[6][k] = made.flow
        if made.target is not None:
            columns[5][k] = as_signed(made.target)
            columns[6][k] |= TARGETED
    return Listing(address, table, columns, made=instructions)
