"""Unwind information from Go's table of functions, which says how deep the stack is at each instruction.

Go's own unwinder needs no more: a caller's registers are not kept across calls. The linker makes what `.debug_frame` of
a program of Go says from the same table (cmd/link/internal/ld/dwarf.go), so that both are equal; this one is there in
stripped programs, too.
"""

from undwarf.buffers import zeros
from undwarf.elf.go_functions import GoFunctions
from undwarf.elf.headers import EM_AARCH64
from undwarf.tables.cfi import RuleSet
from undwarf.tables.sources import Provider, Request

GOPCLNTAB = 6

_NO_RULE = 0xFFFFFFFF
_X86_64 = 62
_MAX_DEPTH = (1 << 31) - 16
_LEAST_DEPTH = -64
"""Assembly that takes its return address off the stack for a while goes below zero."""


class GoSource:
    """The functions of a program of Go."""

    indexed = False

    def __init__(self, functions: GoFunctions, machine: int, rules: RuleSet) -> None:
        self.starts = functions.starts
        self.ends = functions.ends
        self._functions = functions
        self._machine = machine
        self._rules = rules
        self._numbers: dict[tuple[int, bool], int] = {}
        self._rows: dict[int, list[tuple[int, int]]] = {}

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of one function's rows from ``start`` to ``end``; NO_RULE marks a hole."""
        found: list[tuple[int, int]] = [(start, _NO_RULE)]
        for at, rule in self._made(piece):
            if at >= end:
                break
            if at <= start:
                found = [(start, rule)]
            elif rule != found[-1][1]:
                found.append((at, rule))
        addresses, numbers = zeros("Q", len(found)), zeros("I", len(found))
        for i, (at, rule) in enumerate(found):
            addresses[i], numbers[i] = at, rule
        return addresses, numbers

    def compile_all(self) -> int:
        """Make all functions' rows; how many there are."""
        return sum(len(self._made(piece)) for piece in range(len(self.starts)))

    def _made(self, piece: int) -> list[tuple[int, int]]:
        made = self._rows.get(piece)
        if made is None:
            outermost = self._functions.is_outermost(piece)
            made = self._rows[piece] = [
                (at, self._number(depth, outermost)) for at, depth in self._functions.depths(piece)
            ]
        return made

    def _number(self, depth: int, outermost: bool) -> int:
        """The rule for a depth of the stack."""
        if not _LEAST_DEPTH <= depth < _MAX_DEPTH or depth % 8:
            return _NO_RULE
        key = (depth, outermost)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._add(depth, outermost)
        return number

    def _add(self, depth: int, outermost: bool) -> int:
        if self._machine == EM_AARCH64:
            # The return address is kept at the lowest word of a frame, and in x30 before there is one.
            register, column, size = 31, 30, depth
            place = {30: (2, -depth, 0)} if depth > 0 else {}
        else:
            register, column, size = 7, 16, depth + 8
            place = {16: (2, -8, 0)}
        if outermost:
            place = {column: (1, 0, 0)}
        try:
            return self._rules.add((1, register, size, 0), place, column=column, source=GOPCLNTAB)
        except OverflowError:
            return _NO_RULE


def providers(request: Request) -> list[Provider]:
    """What can be asked for functions: the file's table."""

    def whole() -> GoSource | None:
        elf = request.elf
        if elf.machine not in (_X86_64, EM_AARCH64) or not elf.is_64 or elf.byte_order != "little":
            return None
        functions = GoFunctions.of(elf)
        return GoSource(functions, elf.machine, request.rules) if functions is not None else None

    return [whole]
