"""Unwind information from Go's function table (pclntab), which has the stack depth at each instruction.

Go's own unwinder needs no more: calls preserve no registers. The linker writes `.debug_frame` of a program of Go from
the same table (cmd/link/internal/ld/dwarf.go), so that both are equal; stripped programs have this one, too.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property, partial

from undwarf.elf import ElfFile
from undwarf.elf.go_functions import GoFunctions
from undwarf.elf.headers import EM_AARCH64, EM_X86_64
from undwarf.tables import go_stack_switches
from undwarf.tables.python_rows import PairRows, columns, cut
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import (
    AT_CFA,
    CFA_DEREF,
    CFA_EXPRESSION,
    CFA_REGISTER,
    IS_EXPRESSION,
    UNDEFINED,
    RuleSource,
)
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sources import Provider, Request
from undwarf.tables.stubs import signals_x86_64

SUPPORTED = frozenset(((EM_X86_64, "little"), (EM_AARCH64, "little")))
"""ELF machines with their byte order."""
_MAX_DEPTH = (1 << 31) - 16
_LEAST_DEPTH = -64
"""Assembly that pops its return address for a while goes below zero."""


_FROM_C = "runtime.cgocallback"
"""Called by C, it continues on the goroutine's stack, below a return address that is where a function begins or
later."""
_SIGNAL_RETURN = "runtime.sigreturn"
_OUTERMOST = ("runtime.goexit", "runtime.rt0_go")
"""Functions whose frames have no return address."""
_INTERRUPTED = "runtime.asyncPreempt"
"""Not called: a signal handler pushes its frame below an interrupted instruction, its return address."""
_MOST_CODE = 4096


class GoSource:
    """The functions of a program of Go."""

    indexed = False

    def __init__(self, functions: GoFunctions, elf: ElfFile, rules: RuleSet) -> None:
        machine = elf.machine
        self._elf = elf
        self.starts = functions.starts
        self.ends = functions.ends
        self._functions = functions
        self._machine = machine
        self._rules = rules
        self._numbers: dict[tuple[int, bool, bool], int] = {}
        self._rows = PairRows(len(self.starts))

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of one function's rows from ``start`` to ``end``; NO_RULE marks a hole."""
        found = cut(self._rows.of(piece, self._rows_of), start, end)
        # Neighbours of different depths have the same rule where neither has one.
        return columns([row for i, row in enumerate(found) if i == 0 or row[1] != found[i - 1][1]])

    def compile_all(self) -> int:
        """Compute all functions' rows; the number of rows."""
        return self._rows.compute_all(self._rows_of)

    def _rows_of(self, piece: int) -> list[tuple[int, int]]:
        return self._of_x86_64(piece) if self._machine == EM_X86_64 else self._of_others(piece)

    def _of_others(self, piece: int) -> list[tuple[int, int]]:
        outermost = self._functions.is_outermost(piece)
        return [(at, self._number(depth, outermost)) for at, depth in self._functions.depths(piece)]

    def _of_x86_64(self, piece: int) -> list[tuple[int, int]]:
        """With the rules for threads of C, which call outermost functions, and for functions that switch stacks."""
        name = self._functions.name(piece)
        depths = self._functions.depths(piece)
        rows = [(at, self._number(depth, name in _OUTERMOST, name in (_FROM_C, _INTERRUPTED))) for at, depth in depths]
        for switched in go_stack_switches.switched_ranges(name, self._code(piece), self._system):
            rows = self._on_other_stack(piece, switched, depths, rows)
        if name == go_stack_switches.NEW_STACK:
            targets = [self._functions.named(one) for one in go_stack_switches.PREEMPTING]
            for back in self._returns(piece, targets):
                rows = self._with_call(piece, back, depths, rows, partial(self._marked, go_stack_switches.PREEMPTED))
        elif name.startswith(f"{go_stack_switches.WORKER}.func") and self._above_worker:
            rows = [(at, self._marked(go_stack_switches.WORKING, depth)) for at, depth in depths]
        elif name in (go_stack_switches.WORKER, go_stack_switches.WORKER_STARTED):
            for back in self._above_worker:
                if back in range(self.starts[piece], self.ends[piece]):
                    rows = self._with_call(piece, back, depths, rows, partial(self._of_worker, back))
        if name.startswith(_SIGNAL_RETURN) and self._begins_as(piece, signals_x86_64.RETURN):
            rows = [(self.starts[piece], signals_x86_64.add_rule(self._rules, RuleSource.GOPCLNTAB))]
        # Callers are looked up by the byte before the return address, which is where that function begins.
        if piece + 1 < len(self.starts) and self._begins_as(piece + 1, signals_x86_64.RETURN):
            rows = [row for row in rows if row[0] < self.ends[piece] - 1]
            rows.append((self.ends[piece] - 1, signals_x86_64.add_rule(self._rules, RuleSource.GOPCLNTAB)))
        return rows

    def _begins_as(self, piece: int, code: bytes) -> bool:
        found = self._elf.read(self.starts[piece], len(code))
        return found is not None and found == code

    def _on_other_stack(
        self,
        piece: int,
        switched: go_stack_switches.SwitchedRange,
        depths: list[tuple[int, int]],
        rows: list[tuple[int, int]],
    ) -> list[tuple[int, int]]:
        """The rows of a function that switches stacks, with those for its code on the other stack."""
        low, high = self.starts[piece] + switched.low, self.starts[piece] + switched.high
        at = bisect_right(depths, min(high, self.ends[piece] - 1), key=lambda one: one[0]) - 1
        size = max(depths[at][1] if at >= 0 and switched.high < len(self._code(piece)) else -8, -8) + 8
        expression = switched.expression(size)
        if switched.word is not None:
            rule = self._add_rule((CFA_DEREF, 7, switched.word, size))
        elif expression:
            number = self._rules.expressions.add(expression)
            place = self._caller_if_marked(switched.mark, next(iter(self._above_worker), 0)) if switched.mark else {}
            rule = NO_RULE
            if number >= 0 and place is not None:
                rule = self._add_rule((CFA_EXPRESSION, 0, 0, number), place or None)
        else:
            rule = self._add_rule((CFA_REGISTER, 7, 8, 0), {16: (UNDEFINED, 0, 0)})
        return self._between(rows, low, high, self.ends[piece], rule)

    def _with_call(
        self,
        piece: int,
        back: int,
        depths: list[tuple[int, int]],
        rows: list[tuple[int, int]],
        rule_of: Callable[[int], int],
    ) -> list[tuple[int, int]]:
        """The rows of a function with another rule, by the stack depth, for a call that returns to ``back``."""
        # Callers are looked up by the byte before the return address.
        at = bisect_right(depths, back - 1, key=lambda one: one[0]) - 1
        if at < 0 or self._number(depths[at][1], False) == NO_RULE:
            return rows
        return self._between(rows, back - 1, back, self.ends[piece], rule_of(depths[at][1]))

    def _marked(self, mark: int, depth: int) -> int:
        """The rule for a stack depth, of a frame that marks itself to its callers."""
        number = self._rules.expressions.add(go_stack_switches.mark(mark))
        if number < 0 or self._number(depth, False) == NO_RULE:
            return NO_RULE
        return self._add_rule((CFA_REGISTER, 7, depth + 8, 0), {14: (IS_EXPRESSION, number, 0), 16: (AT_CFA, -8, 0)})

    def _of_worker(self, back: int, depth: int) -> int:
        """The rule for a stack depth, of a frame of the collector's worker that continues at ``back``."""
        place = self._caller_if_marked(go_stack_switches.WORKING, back)
        return self._add_rule((CFA_REGISTER, 7, depth + 8, 0), place) if place is not None else NO_RULE

    def _caller_if_marked(self, mark: int, back: int) -> "dict[int, tuple[int, int, int]] | None":
        """The rule of the return address of a frame that continues at ``back``; None if there is no expression for
        it."""
        above = self._above_worker
        ahead = None
        if mark == go_stack_switches.WORKING:
            if back not in above[:-1]:
                return {16: (AT_CFA, -8, 0)}
            ahead = above[above.index(back) + 1] - back
        number = self._rules.expressions.add(go_stack_switches.caller_if_marked(mark, ahead))
        return {16: (IS_EXPRESSION, number, 0)} if number >= 0 else None

    def _returns(self, piece: int, targets: "list[int | None]") -> list[int]:
        """The return addresses of a function's calls of others (by number)."""
        start = self.starts[piece]
        places = {self.starts[number] - start for number in targets if number is not None}
        return [start + back for back in go_stack_switches.returns(self._code(piece), places)]

    @cached_property
    def _above_worker(self) -> list[int]:
        """The return addresses above functions that the collector's worker calls on the thread's stack: that of such a
        call, of the worker, and so on, each of which is unique; none if they are not."""
        named = self._functions.named
        system, worker, outermost = (
            named(go_stack_switches.TO_SYSTEM),
            named(go_stack_switches.WORKER),
            named(_OUTERMOST[0]),
        )
        starter = named(go_stack_switches.WORKER_STARTED)
        call = self._system.find(go_stack_switches.CALL_OF_FUNCTION)
        if system is None or worker is None or outermost is None or call < 0:
            return []
        found = [
            [self.starts[system] + call + len(go_stack_switches.CALL_OF_FUNCTION)],
            self._returns(worker, [system]),
        ]
        if starter is not None:
            found.append(self._returns(starter, [worker]))
        found.append([self.starts[outermost] + 1])
        return [one[0] for one in found] if all(len(one) == 1 for one in found) else []

    @staticmethod
    def _between(rows: list[tuple[int, int]], low: int, high: int, end: int, rule: int) -> list[tuple[int, int]]:
        """Rows up to ``end`` with another rule from ``low`` to ``high``."""
        before = [row for row in rows if row[0] <= high]
        after = [(high, before[-1][1])] if before and high < end else []
        return sorted([row for row in rows if not low <= row[0] <= high] + [(low, rule)] + after)

    def _code(self, piece: int) -> bytes:
        start = self.starts[piece]
        return bytes(self._elf.read(start, min(self.ends[piece] - start, _MOST_CODE)) or b"")

    @cached_property
    def _system(self) -> bytes:
        """The code of the function that calls others on the thread's stack."""
        piece = self._functions.named(go_stack_switches.TO_SYSTEM)
        return self._code(piece) if piece is not None else b""

    def _number(self, depth: int, outermost: bool, signal: bool = False) -> int:
        """The rule for a depth of the stack."""
        if not _LEAST_DEPTH <= depth < _MAX_DEPTH or depth % 8:
            return NO_RULE
        key = (depth, outermost, signal)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._add(depth, outermost, signal)
        return number

    def _add(self, depth: int, outermost: bool, signal: bool) -> int:
        if self._machine == EM_AARCH64:
            # The return address is in the lowest word of a frame, and in x30 before there is one.
            register, column, size = 31, 30, depth
            place = {30: (AT_CFA, -depth, 0)} if depth > 0 else {}
        else:
            register, column, size = 7, 16, depth + 8
            place = {16: (AT_CFA, -8, 0)}
        if outermost:
            place = {column: (UNDEFINED, 0, 0)}
        return self._add_rule((CFA_REGISTER, register, size, 0), place, column, signal)

    def _add_rule(
        self,
        cfa: tuple[int, int, int, int],
        place: "dict[int, tuple[int, int, int]] | None" = None,
        column: int = 16,
        signal: bool = False,
    ) -> int:
        place = {16: (AT_CFA, -8, 0)} if place is None else place
        try:
            return self._rules.add(cfa, place, column=column, source=RuleSource.GOPCLNTAB, signal=signal)
        except OverflowError:
            return NO_RULE


def providers(request: Request) -> list[Provider]:
    """Providers of functions: the file's table."""

    def source() -> GoSource | None:
        elf = request.elf
        if (elf.machine, elf.byte_order) not in SUPPORTED or not elf.is_64:
            return None
        functions = GoFunctions.of(elf)
        return GoSource(functions, elf, request.rules) if functions is not None else None

    return [source]
