# cython: language_level=3, annotation_typing=False
"""Instruction templates: all of an instruction but its address, displacement and immediate, as a row of integers.

A template has the contents of :class:`undwarf.disasm.Instruction`; a few thousand cover a whole program.
"""

from typing import Any

import cython

from undwarf.column import zeros
from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import ACCESSES, NONE, SEGMENTS, Instruction, as_signed
from undwarf.disasm.instruction_semantics import Action
from undwarf.disasm.template_layout import FIXED, FIXED_ADDRESS, KEEPS_SIGN, OPERAND_WORDS, PADDING, ROW_WORDS

__all__ = ["Templates"]

_NEXT, _STOP = Flow.NEXT, Flow.STOP
_OTHER, _ADDRESS, _EXCHANGE = Action.OTHER, Action.ADDRESS, Action.EXCHANGE


class Templates:
    """A growing table of templates; `rows` and `operands` are replaced when it grows, never resized in place."""

    def __init__(self) -> None:
        self.rows = zeros("q", 512 * ROW_WORDS)
        self.operands = zeros("q", 512 * OPERAND_WORDS)
        self.count = 0
        self.operand_count = 0
        self.registers: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        """Offset of a template in `rows` -> the registers it writes, and those it reads."""

    def reserve(self, templates: int, operands: int) -> tuple[int, int]:
        """Append empty templates and operands; returns the index of the first of each."""
        first = self.count, self.operand_count
        self.count += templates
        self.operand_count += operands
        while self.count * ROW_WORDS > len(self.rows):
            self.rows = _doubled(self.rows)
        while self.operand_count * OPERAND_WORDS > len(self.operands):
            self.operands = _doubled(self.operands)
        return first

    def add(self, made: Instruction, displacement: "int | None" = None, immediate_rule: int = FIXED) -> int:
        """Append the template of an instruction and return its index. With ``displacement``, the instruction's own one,
        operands that contain it get it from each instruction instead."""
        operands = made.memory
        number, first = self.reserve(1, len(operands))
        writes, reads, action = made.writes, made.reads, made.action
        flags = KEEPS_SIGN if made.signed else 0
        if made.flow == _STOP or (
            made.flow == _NEXT and not (writes or reads or operands) and action in (_OTHER, _EXCHANGE)
        ):
            flags |= PADDING
        if action == _ADDRESS and operands[0].absolute and not operands[0].segment:
            flags |= FIXED_ADDRESS
        immediate = as_signed(made.immediate) if immediate_rule == FIXED else 0
        # In the order of template_layout.
        row = (
            made.flow, action, made.destination, made.left, made.right, made.width, immediate, immediate_rule,
            *_bits(writes), first, len(operands), flags, reads[0] if reads else NONE, *_bits(reads),
        )  # fmt: skip  # a table
        _put(self.rows, number * ROW_WORDS, row)
        for operand in operands:
            rest = operand.displacement
            # A push below the stack pointer, or a pop relative to the popped stack pointer, adds a small offset.
            displaced = displacement is not None and abs(rest - displacement) <= 64
            if displaced:
                rest -= displacement or 0
            words = (
                operand.base, operand.index, operand.scale, as_signed(rest), displaced, SEGMENTS.index(operand.segment),
                operand.size, ACCESSES.index(operand.access), operand.implicit, operand.writeback,
                operand.element, operand.floating,
            )  # fmt: skip  # a table
            _put(self.operands, first * OPERAND_WORDS, words)
            first += 1
        return number


@cython.locals(to="long long[::1]")
def _put(to: Any, at: cython.Py_ssize_t, row: Any) -> None:
    for value in row:
        to[at] = value
        at += 1


@cython.locals(low=cython.ulonglong, high=cython.ulonglong, which=cython.int)
def _bits(registers: tuple[int, ...]) -> tuple[int, int]:
    low = high = 0
    for which in registers:
        if which < 64:
            low |= cython.cast(cython.ulonglong, 1) << which
        else:
            high |= cython.cast(cython.ulonglong, 1) << (which - 64)
    return cython.cast(cython.longlong, low), cython.cast(cython.longlong, high)


def _doubled(column: "memoryview[int]") -> "memoryview[int]":
    larger = zeros("q", 2 * len(column))
    larger[: len(column)] = column
    return larger
