"""Distinguishes functions from parts that the compiler moved away from functions (cold parts).

A part is known by its name, or by jumps into it that come with a frame on the stack. Such a jump may come from another
part, so that owners are found by following jumps backwards. Ranges that jump into each other form a cycle and are
decided together, the heaviest first (:meth:`Parts._weight`): the result depends on the code alone, not on the order of
look-ups.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from undwarf.elf.headers import ET_EXEC, SHT_PROGBITS
from undwarf.limits import Limits
from undwarf.tables.code.function_ranges import FunctionRanges
from undwarf.tables.code.reference_columns import between, has
from undwarf.tables.code.references import CodeReferences

if TYPE_CHECKING:
    from undwarf.tables.code.program_analysis import ProgramAnalysis

__all__ = ["FUNCTION", "PART", "UNKNOWN", "Parts", "components"]

FUNCTION, PART, UNKNOWN = 1, 2, 3
_MOST = 16
"""Functions that one part may belong to."""


class Parts:
    """The kinds of a program's ranges, by their number in ``functions``. ``holes``: only code between described
    functions is looked up, and the code is not searched for references."""

    def __init__(self, program: "ProgramAnalysis", functions: FunctionRanges, limits: Limits, *, holes: bool) -> None:
        self._program = program
        self._functions = functions
        self._limits = limits
        self._holes = holes
        self._references: CodeReferences | None = None
        self._first = memoryview(b"")
        self._from = memoryview(b"")
        self._pointed: tuple[memoryview, set[int]] | None = None
        self._kinds = bytearray(len(functions.starts))
        self._owners: dict[int, list[int]] = {}
        self._by_name: dict[str, list[int]] | None = None

    def may_be(self, number: int) -> bool:
        """Whether a range could be a part, by its references."""
        start = self._functions.starts[number]
        if start in self._functions.stubs:
            return False
        name = self._functions.names.get(start)
        if name is not None:
            return ".cold" in name
        if self._holes:
            # Compilers describe the parts they move away: an undescribed range is a function if it looks like one.
            return not self.looks_called(number)
        return bool(self._jumping(number)) and not self._called(start) and start != self._program.elf.entry

    def looks_called(self, number: int) -> bool:
        """Whether a range begins as functions do and parts seldom: at an aligned address, or with an endbr64."""
        start = self._functions.starts[number]
        return start & 15 == 0 or self._program.code(start, start + 4) == b"\xf3\x0f\x1e\xfa"

    def kind(self, number: int) -> int:
        """FUNCTION, PART, or UNKNOWN."""
        if not self._kinds[number]:
            self._kinds[number] = self._kind_of(number)
        return self._kinds[number]

    def owners(self, number: int) -> list[int]:
        """The functions that a part may belong to."""
        if number not in self._owners:
            self._find_owners(number)
        return self._owners[number]

    def forget_owners(self) -> None:
        """Drop the cached owners when they are many; they are computed again."""
        if len(self._owners) > 16 * self._limits.code_parts:
            self._owners.clear()

    def _kind_of(self, number: int) -> int:
        start, end = self._functions.starts[number], self._functions.ends[number]
        if not self.may_be(number):
            return FUNCTION
        if start in self._functions.names:
            return PART
        # A part is entered with the frame of the function on the stack, a function without.
        flows = [self._program.flow(owner) for owner in self.owners(number)]
        if any((start, end) in flow.entered_with_frame for flow in flows):
            return PART
        if any((start, end) in (*flow.tail_calls, *flow.pieces) for flow in flows) or self.looks_called(number):
            return FUNCTION
        return UNKNOWN

    # -- owners -------------------------------------------------------------------------------------------------

    def _find_owners(self, number: int) -> None:
        """The owners of a range, and of those that these depend on; none where they depend on too many."""
        named = self._named_owners(number)
        if named:
            self._owners[number] = named
            return
        depends = self._dependencies(number)
        if depends is None:
            self._owners[number] = []
            return
        for component in components(depends):
            if component[0] not in self._owners:
                self._decide(component)

    def _decide(self, component: list[int]) -> None:
        """Find the owners of ranges that depend on each other; those of all others that they depend on are known. A
        function that jumps into one of them may reach all, and so may functions among them."""
        inside = set(component)
        found = dict.fromkeys(owner for one in sorted(component) for owner in self._owners_outside(one, inside))
        for one in sorted(component, key=lambda one: (*self._weight(one), -one), reverse=True):
            self._owners[one] = [owner for owner in found if owner != one][:_MOST]
            if len(component) > 1 and self.kind(one) == FUNCTION:
                found[one] = None

    def _dependencies(self, number: int) -> dict[int, list[int]] | None:
        """For a range and all that its owners depend on, the ranges that may be parts whose owners are owners of it
        too; None where there are more than the limit."""
        found: dict[int, list[int]] = {}
        waiting = [number]
        while waiting:
            one = waiting.pop()
            if one in found:
                continue
            if len(found) >= self._limits.code_parts:
                return None
            if self._named_owners(one):
                found[one] = []
            else:
                found[one] = [source for source in self._sources(one) if self.may_be(source)]
            waiting += found[one]
        return found

    def _owners_outside(self, number: int, component: set[int]) -> Iterable[int]:
        """The functions that jump into a range, and the owners of parts that do; not those of its own cycle."""
        named = self._named_owners(number)
        if named:
            return named
        found: list[int] = []
        for source in self._sources(number):
            if source not in component:
                kind = self.kind(source)
                found += [source] if kind == FUNCTION else self.owners(source) if kind == PART else []
        return found

    def _named_owners(self, number: int) -> list[int]:
        """The functions that a part is named after; of a function that has a name, itself."""
        name = self._functions.names.get(self._functions.starts[number])
        if name is None or ".cold" not in name:
            return [] if name is None else [number]
        if self._by_name is None:
            names = self._functions.names
            self._by_name = {known.split(".cold", 1)[0]: [] for known in names.values() if ".cold" in known}
            for address, known in names.items():
                if known in self._by_name:
                    self._by_name[known].append(address)
        at = [self._functions.at(address) for address in self._by_name.get(name.split(".cold", 1)[0], [])]
        return [one for one in at[:_MOST] if one is not None]

    def _sources(self, number: int) -> list[int]:
        """The ranges with jumps into this one, but for parts of it that jump back. Of two ranges that jump into each
        other the function is the heavier one."""
        return [
            one
            for one in self._jumping(number)[: 4 * _MOST]
            if not self._jumps(number, one) or self._weight(one) > self._weight(number)
        ]

    def _weight(self, number: int) -> tuple[bool, bool, int]:
        """Of ranges that jump into each other the function is the one whose address something has, else the one that
        looks like one, else the largest."""
        start = self._functions.starts[number]
        known = start in self._functions.names or self._called(start) or self._taken(start)
        return known, self.looks_called(number), self._functions.ends[number] - start

    # -- references ---------------------------------------------------------------------------------------------

    def _jumping(self, number: int) -> "memoryview | list[int]":
        """The ranges with jumps into this one, ascending."""
        if self._read() is None:
            return []
        return self._from[self._first[number] : self._first[number + 1]]

    def _jumps(self, source: int, target: int) -> bool:
        """Whether a range has jumps into another one."""
        origins = self._jumping(target)
        at = bisect_left(origins, source)
        return at < len(origins) and origins[at] == source

    def _called(self, address: int) -> bool:
        references = self._read()
        return references is not None and has(references.called, address)

    def _taken(self, address: int) -> bool:
        references = self._read()
        if references is None:
            return False
        is_taken = has(references.taken, address)
        if is_taken or self._functions.partial:
            # A large library has a million relocations: read for the few ranges that are left open in it, they decided
            # nothing in 3,300 functions of 8 libraries.
            return is_taken
        if self._pointed is None:
            self._pointed = self._program.pointers.targets(), self._pointed_to()
        pointers, in_data = self._pointed
        return has(pointers, address) or address in in_data

    def _read(self) -> CodeReferences | None:
        """References of all code; None if the code is not searched."""
        if self._references is None and not self._holes:
            functions, elf = self._functions, self._program.elf
            found = self._references = functions.references or CodeReferences(elf, functions.code, self._limits)
            self._first, self._from = between(found.sources, found.targets, functions.starts, functions.ends)
        return self._references

    def _pointed_to(self) -> set[int]:
        """Starts of ranges in words of data, of programs that are not relocated."""
        elf = self._program.elf
        found: set[int] = set()
        if elf.kind == ET_EXEC:
            starts = set(self._functions.starts)
            for section in elf.sections:
                if (section.type == SHT_PROGBITS and section.flags & 6 == 2) or section.flags & 7 == 3:
                    data = elf.section_data(section)
                    if data is not None and len(data) <= self._limits.code_bytes:
                        found |= starts.intersection(data[: len(data) & -8].cast("Q"))
        return found


def components(depends: dict[int, list[int]]) -> Iterable[list[int]]:
    """The strongly connected components of a graph, each after those it depends on (Tarjan 1972, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_ones: list[int] = []
    is_open: set[int] = set()
    for root in depends:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_ones.append(root)
        is_open.add(root)
        path = [(root, iter(depends[root]))]
        while path:
            one, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    before = path[-1][0]
                    low[before] = min(low[before], low[one])
                if low[one] == index[one]:
                    component = [open_ones.pop()]
                    while component[-1] != one:
                        component.append(open_ones.pop())
                    is_open.difference_update(component)
                    yield component
            elif following not in index:
                index[following] = low[following] = len(index)
                open_ones.append(following)
                is_open.add(following)
                path.append((following, iter(depends[following])))
            elif following in is_open:
                low[one] = min(low[one], index[following])
