"""Which ranges of code are functions, and which are parts that the compiler moved away from functions.

A part is known by its name, or by those who jump into it with a frame of theirs on the stack. Who does so may be a part
itself, so that the functions it belongs to are found by going from a range to those that jump into it, and on. Ranges
that jump into each other in a circle are decided together, the heaviest first (:meth:`Parts._weight`): what is found of
a range follows from the code alone, not from what was asked before.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from undwarf.elf.headers import ET_EXEC
from undwarf.limits import Limits
from undwarf.tables.code.functions import Functions
from undwarf.tables.code.reference_columns import between, has
from undwarf.tables.code.references import CodeReferences

if TYPE_CHECKING:
    from undwarf.tables.code.binary import Binary

__all__ = ["FUNCTION", "PIECE", "UNKNOWN", "Parts", "circles"]

FUNCTION, PIECE, UNKNOWN = 1, 2, 3
_SHT_PROGBITS = 1
_MOST = 16
"""Functions that one part may belong to."""


class Parts:
    """The kinds of a program's ranges, by their number in ``functions``. ``holes``: only what lies between functions
    that are described is asked for, and the code is not searched for who jumps where."""

    def __init__(self, program: "Binary", functions: Functions, limits: Limits, *, holes: bool) -> None:
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
        """Whether a range could be a part, for all that refers to it."""
        start = self._functions.starts[number]
        if start in self._functions.stubs:
            return False
        name = self._functions.names.get(start)
        if name is not None:
            return ".cold" in name
        if self._holes:
            # Compilers describe the parts they move away: what is left open is a function if it looks like one.
            return not self.looks_called(number)
        return bool(self._jumping(number)) and not self._called(start) and start != self._program.elf.entry

    def looks_called(self, number: int) -> bool:
        """Whether a range begins as functions do and parts of them seldom: at a round address, or to be jumped to."""
        start = self._functions.starts[number]
        return start & 15 == 0 or self._program.code(start, start + 4) == b"\xf3\x0f\x1e\xfa"

    def kind(self, number: int) -> int:
        """FUNCTION, PIECE, or UNKNOWN."""
        if not self._kinds[number]:
            self._kinds[number] = self._kind_of(number)
        return self._kinds[number]

    def owners(self, number: int) -> list[int]:
        """The functions that a part may be of."""
        if number not in self._owners:
            self._find_owners(number)
        return self._owners[number]

    def forget_owners(self) -> None:
        """Give up what is remembered of owners where that has become much; it is found again."""
        if len(self._owners) > 16 * self._limits.code_parts:
            self._owners.clear()

    def _kind_of(self, number: int) -> int:
        start, end = self._functions.starts[number], self._functions.ends[number]
        if not self.may_be(number):
            return FUNCTION
        if start in self._functions.names:
            return PIECE
        # A part is where others go with frames of theirs; a function is where they go without.
        flows = [self._program.flow(owner) for owner in self.owners(number)]
        if any((start, end) in flow.framed for flow in flows):
            return PIECE
        if any((start, end) in (*flow.left, *flow.pieces) for flow in flows) or self.looks_called(number):
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
        for circle in circles(depends):
            if circle[0] not in self._owners:
                self._decide(circle)

    def _decide(self, circle: list[int]) -> None:
        """Find the owners of ranges that depend on each other; those of all others they depend on are known. Whoever
        jumps into one of them may go on to all, and so may those among them that turn out to be functions."""
        inside = set(circle)
        found = dict.fromkeys(owner for one in sorted(circle) for owner in self._owners_outside(one, inside))
        for one in sorted(circle, key=lambda one: (*self._weight(one), -one), reverse=True):
            self._owners[one] = [owner for owner in found if owner != one][:_MOST]
            if len(circle) > 1 and self.kind(one) == FUNCTION:
                found[one] = None

    def _dependencies(self, number: int) -> dict[int, list[int]] | None:
        """For a range and all that its owners depend on, the ranges that may be parts whose owners are owners of it
        too; None where that are more than the limit."""
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

    def _owners_outside(self, number: int, circle: set[int]) -> Iterable[int]:
        """The functions that jump into a range, and the owners of the parts that do, but for those in its circle."""
        named = self._named_owners(number)
        if named:
            return named
        found: list[int] = []
        for source in self._sources(number):
            if source not in circle:
                kind = self.kind(source)
                found += [source] if kind == FUNCTION else self.owners(source) if kind == PIECE else []
        return found

    def _named_owners(self, number: int) -> list[int]:
        """The functions that a part is called after; of a function that has a name, itself."""
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
        """The ranges with jumps into this one, but for parts of it that lead back. Of two ranges that jump into each
        other the function is the heavier one."""
        return [
            one
            for one in self._jumping(number)[: 4 * _MOST]
            if not self._jumps(number, one) or self._weight(one) > self._weight(number)
        ]

    def _weight(self, number: int) -> tuple[bool, bool, int]:
        """Of ranges that jump into each other the function is the one that something has the address of, else the one
        that looks like one, else the largest."""
        start = self._functions.starts[number]
        known = start in self._functions.names or self._called(start) or self._taken(start)
        return known, self.looks_called(number), self._functions.ends[number] - start

    # -- references ---------------------------------------------------------------------------------------------

    def _jumping(self, number: int) -> "memoryview | list[int]":
        """The ranges with jumps into this one, rising."""
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
        """What all code refers to; None where the code is not searched."""
        if self._references is None and not self._holes:
            functions, elf = self._functions, self._program.elf
            made = self._references = functions.references or CodeReferences(elf, functions.code, self._limits)
            self._first, self._from = between(made.sources, made.targets, functions.starts, functions.ends)
        return self._references

    def _pointed_to(self) -> set[int]:
        """Starts of ranges that words of data have, where nothing relocates these."""
        elf = self._program.elf
        found: set[int] = set()
        if elf.kind == ET_EXEC:
            starts = set(self._functions.starts)
            for section in elf.sections:
                if (section.type == _SHT_PROGBITS and section.flags & 6 == 2) or section.flags & 7 == 3:
                    data = elf.section_data(section)
                    if data is not None and len(data) <= self._limits.code_bytes:
                        found |= starts.intersection(data[: len(data) & -8].cast("Q"))
        return found


def circles(depends: dict[int, list[int]]) -> Iterable[list[int]]:
    """The strongly connected components of a graph, each behind those it depends on (Tarjan 1972, with a stack of its
    own)."""
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
                    circle = [open_ones.pop()]
                    while circle[-1] != one:
                        circle.append(open_ones.pop())
                    is_open.difference_update(circle)
                    yield circle
            elif following not in index:
                index[following] = low[following] = len(index)
                open_ones.append(following)
                is_open.add(following)
                path.append((following, iter(depends[following])))
            elif following in is_open:
                low[one] = min(low[one], index[following])
