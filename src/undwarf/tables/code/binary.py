"""One linked x86-64 program as the analysis sees it: its functions, what they do, where their jumps lead."""

from collections.abc import Collection, Iterable, Iterator

from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.code import operations as do
from undwarf.tables.code.decoding import decode, only_padding, sweep
from undwarf.tables.code.exceptions import LandingPads
from undwarf.tables.code.flow import Flow
from undwarf.tables.code.functions import Functions, find_functions
from undwarf.tables.code.returning import is_known
from undwarf.tables.code.rows import agreed, completed
from undwarf.tables.code.stack_state import RuleWords, State
from undwarf.tables.code.switches import Pointers, read_offsets, read_words

__all__ = ["Binary"]

_FUNCTION, _PIECE, _UNKNOWN = 1, 2, 3
_ET_EXEC = 2
_SHT_PROGBITS = 1
_SMALL = 1 << 14
_MOST = 16
"""Functions that one part may belong to."""


class Binary:
    """What :class:`Flow` asks for, and the flow of each function, made once.

    ``others`` are files with further symbols; ``known`` starts of functions found elsewhere; ``pads`` gives the landing
    pads of a function; ``most`` is how many bytes of code are analysed. ``holes``: only what lies between functions
    that are known otherwise is asked for, so the whole code is not searched for who refers to whom. ``search``: much of
    the code is not known otherwise.
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
    ) -> None:
        self.elf = elf
        self.limits = limits
        self._holes = holes
        self.functions: Functions = find_functions(elf, others, limits, known=known, search=search)
        self.refused = 0
        """Functions that were too large to analyse."""
        self._pads = pads
        self._left = most
        self._pointers: Pointers | None = None
        self._never: dict[tuple[int, int], bool] = {}
        self._changed: dict[int, set[int] | None] = {}
        self._flows: dict[int, Flow | None] = {}
        self._parents: dict[int, list[int]] | None = None
        self._kinds: dict[int, int] = {}
        self._taken: set[int] = set()
        self._by_name: dict[str, list[int]] | None = None

    # -- what the flow asks -------------------------------------------------------------------------------------

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
        """What a stretch of code does; None where it is too large."""
        if end - start > self.limits.code_function_bytes or (self._left is not None and self._left < end - start):
            return None
        if self._left is not None:
            self._left -= end - start
        return decode(self.code(start, end), start)[0]

    def is_padding(self, start: int, end: int) -> bool:
        """Whether a stretch of code does nothing."""
        return only_padding(self.code(start, end), start)

    @property
    def pointers(self) -> Pointers:
        """What start-up code relocates."""
        if self._pointers is None:
            self._pointers = Pointers(self.elf, self.limits)
        return self._pointers

    def never_returns(self, address: int, pointer: int) -> bool:
        """Whether a function, given by its address or by where a pointer to it lies, is known never to return."""
        key = (address, pointer)
        known = self._never.get(key)
        if known is None:
            known = self._never[key] = is_known(self._name(address, pointer))
        return known

    def changed_by(self, address: int) -> set[int] | None:
        """The registers that a function without calls of its own changes; None where that is not known."""
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
        """The name of a function that is called; of a stub, that of the function it leads to."""
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
        return self.pointers.symbols.get(pointer, "") if pointer else ""

    def table(self, kind: int, address: int, base: int, count: int, start: int, end: int) -> list[int]:
        """Where the entries of a jump table lead to; it ends at the first that leads out of the function."""
        most = count or 1024
        found = []
        if kind == do.OFFSETS:
            targets = read_offsets(self.elf, address, base, most)
        else:
            targets = read_words(self.elf, self.pointers, address, most)
        for target in targets:
            if not start <= target < end:
                number = self.functions.at(target)
                if number is None or not self._may_be_piece(number):
                    break
            found.append(target)
        return found

    def landing_pads(self, start: int) -> list[tuple[int, int, int]]:
        """(first, behind, target) of calls that may end at a landing pad."""
        return self._pads.of(start) if self._pads is not None else []

    # -- functions ----------------------------------------------------------------------------------------------

    def flow(self, number: int) -> Flow | None:
        """The flow of one function; None where it was refused."""
        if number not in self._flows:
            start, end = self.functions.starts[number], self.functions.ends[number]
            step = self.functions.stubs.get(start)
            entries = None
            # What is too large is refused below; nothing is made of it before.
            if step is not None and end - start <= self.limits.code_function_bytes:
                entries = [(at, 8) for at in range(start, end, step)]
                if self.code(start, start + 2) == b"\xff\x35":
                    # Where the others go to when they have pushed their number.
                    entries[0] = start, 16
                    # Until it is bound a stub's jump leads to what is behind it.
                    if self.code(start + step, start + step + 2) == b"\xff\x25":
                        entries += [(at + 6, 8) for at in range(start + step, end - 6, step)]
            flow = Flow(self, start, end, entries=entries, stubs=step is not None)
            flow.run(steps=self.limits.code_steps)
            self.refused += bool(flow.defect)
            self._flows[number] = flow
        return self._flows[number]

    def rows(self, number: int) -> "list[tuple[int, RuleWords | None]]":
        """(address, rule) of one range, ascending; None where nothing is known."""
        start, end = self.functions.starts[number], self.functions.ends[number]
        if start == self.elf.entry:
            # Nobody called what the kernel starts.
            return [(start, None)]
        kind = self._kind(number)
        if kind == _PIECE:
            flows = [
                flow
                for owner in self._owners(number)
                if (flow := self.flow(owner)) is not None and (start, end) in flow.pieces
            ]
            if not any(start in flow.states for flow in flows) and self._looks_called(number):
                # A function that others enter on the way.
                own = self.flow(number)
                flows += [own] if own is not None else []
            return agreed([flow.rows(start, end) for flow in flows]) if flows else [(start, None)]
        flow = self.flow(number) if kind == _FUNCTION else None
        if flow is None:
            return [(start, None)]
        made = flow.rows(start, end)
        if all(rule is not None for _, rule in made) or flow.defect:
            return made
        # What it does not reach itself may be a function of its own that is jumped to in place of a call.
        others = [
            other.rows(start, end)
            for owner in self._owners(number)
            if (other := self.flow(owner)) is not None and (start, end) in other.pieces
        ]
        return completed(made, sorted((at, behind) for at, (_, behind) in flow.blocks.items()), others, end)

    def state_at(self, number: int, address: int) -> Iterator[State]:
        """What the flows that go through a range have at one of its addresses."""
        for owner in self._owners(number) if self._kind(number) == _PIECE else [number]:
            flow = self.flow(owner)
            state = flow.state_at(address) if flow is not None else None
            if state is not None:
                yield state

    def _may_be_piece(self, number: int) -> bool:
        """Whether a range could be a part that the compiler moved away from its function, for all that refers to it."""
        start = self.functions.starts[number]
        if start in self.functions.stubs:
            return False
        name = self.functions.names.get(start)
        if name is not None:
            return ".cold" in name
        if self._holes:
            # Compilers describe the parts they move away: what is left open is a function if it looks like one.
            return not self._looks_called(number)
        return bool(self._references().get(number)) and start not in self._called and start != self.elf.entry

    def _kind(self, number: int) -> int:
        """What a range is: a function, a part that the compiler moved away from its function, or nobody knows."""
        kind = self._kinds.get(number)
        if kind is None:
            start, end = self.functions.starts[number], self.functions.ends[number]
            # Ranges that are asked for while this one is decided do not help.
            self._kinds[number] = _UNKNOWN
            if not self._may_be_piece(number):
                kind = _FUNCTION
            elif start in self.functions.names:
                kind = _PIECE
            else:
                # A part is where others go with frames of theirs; a function is where they go without.
                flows = [flow for owner in self._owners(number) if (flow := self.flow(owner)) is not None]
                if any((start, end) in flow.framed for flow in flows):
                    kind = _PIECE
                elif any((start, end) in (*flow.left, *flow.pieces) for flow in flows) or self._looks_called(number):
                    kind = _FUNCTION
                else:
                    kind = _UNKNOWN
            self._kinds[number] = kind
        return kind

    def _owners(self, number: int) -> list[int]:
        """The functions that a part may be of."""
        name = self.functions.names.get(self.functions.starts[number])
        if name is not None:
            if self._by_name is None:
                self._by_name = {}
                for address, known in self.functions.names.items():
                    self._by_name.setdefault(known, []).append(address)
            at = [self.functions.at(address) for address in self._by_name.get(name.split(".cold", 1)[0], [])]
            if at:
                return [one for one in at[:_MOST] if one is not None]
        found: list[int] = []
        for one in self._sources(number):
            kind = self._kind(one)
            for owner in [one] if kind == _FUNCTION else self._owners(one) if kind == _PIECE else ():
                if owner not in found and owner != number:
                    found.append(owner)
        return found[:_MOST]

    def _sources(self, number: int) -> list[int]:
        """The ranges with jumps into this one, but for parts of it that lead back. Of two ranges that jump into each
        other the function is the one that something has the address of, else the larger one."""
        references = self._references()
        return [
            one
            for one in references.get(number, ())[: 4 * _MOST]
            if number not in references.get(one, ()) or self._weight(one) > self._weight(number)
        ]

    def _weight(self, number: int) -> tuple[bool, bool, int]:
        start = self.functions.starts[number]
        known = start in self._called or start in self._taken or start in self.functions.names
        return known, self._looks_called(number), self.functions.ends[number] - start

    def _looks_called(self, number: int) -> bool:
        """Whether a range begins as functions do and parts of them seldom: at a round address, or to be jumped to."""
        start = self.functions.starts[number]
        return start & 15 == 0 or self.code(start, start + 4) == b"\xf3\x0f\x1e\xfa"

    def _in_data(self) -> set[int]:
        """Addresses of code that data has pointers to."""
        found = set(self.pointers.values.values())
        if self.elf.kind == _ET_EXEC:
            starts = set(self.functions.starts)
            for section in self.elf.sections:
                if (section.type == _SHT_PROGBITS and section.flags & 6 == 2) or section.flags & 7 == 3:
                    data = self.elf.section_data(section)
                    if data is not None and len(data) <= self.limits.code_bytes:
                        found |= starts.intersection(data[: len(data) & -8].cast("Q"))
        return found

    def _references(self) -> dict[int, list[int]]:
        """For each range the others that jump into it."""
        if self._parents is None:
            self._parents = {}
            self._called: set[int] = set()
            if self._holes:
                return self._parents
            self._taken = self._in_data()
            functions = self.functions
            budget = self.limits.code_bytes
            for start, end in functions.code:
                if end - start > budget:
                    continue
                budget -= end - start
                called, taken, jumps = sweep(self.code(start, end), start)
                self._called |= called
                self._taken |= taken
                for source, target in jumps:
                    to = functions.at(target)
                    if to is None or functions.starts[to] <= source < functions.ends[to]:
                        continue
                    of = functions.at(source)
                    if of is not None:
                        known = self._parents.setdefault(to, [])
                        if of not in known:
                            known.append(of)
        return self._parents
