"""One linked x86-64 program: its functions, their data flow, the targets of their jumps."""

from collections.abc import Collection, Iterable, Iterator

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.code import operations as do
from undwarf.tables.code.decoding import decode, only_padding
from undwarf.tables.code.exceptions import LandingPads
from undwarf.tables.code.flow import Flow
from undwarf.tables.code.function_ranges import FunctionRanges, find_functions
from undwarf.tables.code.jump_tables import Pointers, read_offsets, read_words
from undwarf.tables.code.noreturn_names import is_noreturn
from undwarf.tables.code.parts import FUNCTION, PART, Parts
from undwarf.tables.code.rows import agreed, completed
from undwarf.tables.code.stack_state import RuleWords, State

__all__ = ["ProgramAnalysis"]

_SMALL = 1 << 14


class ProgramAnalysis:
    """Implements :class:`undwarf.tables.code.program.Program`, and keeps the flow of each function.

    ``others`` are files with further symbols; ``known`` starts of functions found elsewhere; ``pads`` gives the landing
    pads of a function; ``most`` is the limit on bytes of code that are analysed. ``holes``: only code between described
    functions is looked up, so that the whole code is not searched for references. ``search``: much of the code is not
    described. ``only``: open ranges, outside of which nothing is looked at.
    """

    def __init__(
        self,
        elf: ElfFile,
        limits: Limits,
        *,
        others: Collection[ElfFile] = (),
        known: Iterable[int] = (),
        pads: LandingPads | None = None,
        most: int | None = None,
        holes: bool = False,
        search: bool = False,
        only: "list[tuple[int, int]] | None" = None,
    ) -> None:
        self.elf = elf
        self.limits = limits
        self.functions: FunctionRanges = find_functions(elf, others, limits, known=known, search=search, only=only)
        self.refused: set[int] = set()
        """Functions that were too large to analyse."""
        self._pads = pads
        self._left = most
        self._counted: set[int] = set()
        self._pointers: Pointers | None = None
        self._never: dict[tuple[int, int], bool] = {}
        self._changed: dict[int, set[int] | None] = {}
        self._flows: dict[int, Flow] = {}
        self.kept_operations = 0
        """In all cached flows."""
        self._parts = Parts(self, self.functions, limits, holes=holes)

    # -- for the flow ------------------------------------------------------------------------------------------

    @property
    def searched(self) -> bool:
        """Whether functions were searched for in the code, so that some may be missing."""
        return self.functions.searched

    def range_at(self, address: int) -> tuple[int, int] | None:
        """The function, or piece of one, that holds an address."""
        number = self.functions.at(address)
        if number is None:
            return None
        start, end = self.functions.starts[number], self.functions.ends[number]
        step = self.functions.stubs.get(start)
        if step is not None:
            # Each stub is a function.
            start += (address - start) // step * step
            end = min(start + step, end)
        return start, end

    def code(self, start: int, end: int) -> bytes:
        """Bytes of code."""
        data = self.elf.read(start, end - start, writable=True)
        return bytes(data) if data is not None else b""

    def operations(self, start: int, end: int) -> list[do.Operation] | None:
        """The operations of some code; None if it is over a limit."""
        if end - start > self.limits.code_function_bytes:
            return None
        if self._left is not None and start not in self._counted:
            if self._left < end - start:
                return None
            self._left -= end - start
            self._counted.add(start)
        return decode(self.code(start, end), start)[0]

    def is_padding(self, start: int, end: int) -> bool:
        """Whether code is padding."""
        return only_padding(self.code(start, end), start)

    @property
    def pointers(self) -> Pointers:
        """What start-up code relocates."""
        if self._pointers is None:
            self._pointers = Pointers(self.elf, self.limits)
        return self._pointers

    def never_returns(self, address: int, pointer: int) -> bool:
        """Whether a function, given by its address or by the address of a pointer to it, never returns."""
        key = (address, pointer)
        known = self._never.get(key)
        if known is None:
            known = self._never[key] = is_noreturn(self._name(address, pointer))
        return known

    def changed_by(self, address: int) -> set[int] | None:
        """The registers that a leaf function changes; None if that is unknown."""
        if address not in self._changed:
            found = self.range_at(address)
            known = None
            if found is not None and found[1] - address <= _SMALL:
                operations = self.operations(address, found[1]) or [(address, do.INDIRECT, 0, 0, 0, address)]
                if all(address <= one[2] < found[1] for one in operations if one[1] in (do.BRANCH, do.JUMP)):
                    known = do.changed(operations)
            self._changed[address] = known
        return self._changed[address]

    def _name(self, address: int, pointer: int) -> str:
        """The name of a called function; of a stub, that of its target."""
        if address:
            name = self.functions.names.get(address)
            if name is not None:
                return name
            number = self.functions.at(address)
            if number is None or self.functions.starts[number] not in self.functions.stubs:
                return ""
            for one in decode(self.code(address, address + 16), address)[0]:
                if one[1] == do.INDIRECT and one[2] == -1:
                    pointer = one[4]
                    break
        return self.pointers.symbol_at(pointer) if pointer else ""

    def table(self, kind: int, address: int, base: int, count: int, start: int, end: int) -> list[int]:
        """The targets of a jump table, up to the first outside of the function."""
        most = count or 1024
        found = []
        if kind == do.OFFSETS:
            targets = read_offsets(self.elf, address, base, most)
        else:
            targets = read_words(self.elf, self.pointers, address, most)
        for target in targets:
            if not start <= target < end:
                number = self.functions.at(target)
                if number is None or not self._parts.may_be(number):
                    break
            found.append(target)
        return found

    def landing_pads(self, start: int) -> list[tuple[int, int, int]]:
        """(first, end, target) of ranges of calls with a landing pad."""
        return self._pads.of(start) if self._pads is not None else []

    # -- functions ----------------------------------------------------------------------------------------------

    def flow(self, number: int) -> Flow:
        """The flow of one function. Those used last are cached, with ``limits.code_kept`` operations in all."""
        flow = self._flows.pop(number, None)
        if flow is None:
            start, end = self.functions.starts[number], self.functions.ends[number]
            step = self.functions.stubs.get(start)
            entries = None
            # What is too large is refused below.
            if step is not None and end - start <= self.limits.code_function_bytes:
                entries = [(at, 8) for at in range(start, end, step)]
                if self.code(start, start + 2) == b"\xff\x35":
                    # The header, to which stubs jump after pushing their number.
                    entries[0] = start, 16
                    # Until it is bound, the jump of a stub goes to the instruction after it.
                    if self.code(start + step, start + step + 2) == b"\xff\x25":
                        entries += [(at + 6, 8) for at in range(start + step, end - 6, step)]
            flow = Flow(self, start, end, entries=entries, stubs=step is not None)
            flow.run(steps=self.limits.code_steps, operations=self.limits.code_operations)
            if flow.defect:
                self.refused.add(number)
            self.kept_operations += len(flow.operations)
        self._flows[number] = flow
        while self.kept_operations > self.limits.code_kept and len(self._flows) > 1:
            self.kept_operations -= len(self._flows.pop(next(iter(self._flows))).operations)
        return flow

    def rows(self, number: int) -> "list[tuple[int, RuleWords | None]]":
        """(address, rule) of one range, ascending; None where the rule is unknown."""
        start, end = self.functions.starts[number], self.functions.ends[number]
        if start == self.elf.entry:
            # The kernel starts it without a call.
            return [(start, None)]
        self._parts.forget_owners()
        kind = self._parts.kind(number)
        if kind == PART:
            flows = [flow for owner in self._parts.owners(number) if (start, end) in (flow := self.flow(owner)).pieces]
            if not any(start in flow.states for flow in flows) and self._parts.looks_called(number):
                # A function that others jump into.
                flows.append(self.flow(number))
            return agreed([flow.rows(start, end) for flow in flows]) if flows else [(start, None)]
        if kind != FUNCTION:
            return [(start, None)]
        flow = self.flow(number)
        rows = flow.rows(start, end)
        if all(rule is not None for _, rule in rows) or flow.defect:
            return rows
        # Code that its flow does not reach may be the target of tail calls.
        others = [
            other.rows(start, end)
            for owner in self._parts.owners(number)
            if (start, end) in (other := self.flow(owner)).pieces
        ]
        return completed(rows, sorted((at, after) for at, (_, after) in flow.blocks.items()), others, end)

    def state_at(self, number: int, address: int) -> Iterator[State]:
        """The states at one address of a range, in the flows that go through it."""
        for owner in self._parts.owners(number) if self._parts.kind(number) == PART else [number]:
            state = self.flow(owner).state_at(address)
            if state is not None:
                yield state
