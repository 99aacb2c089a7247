# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Basic blocks of a function and their edges, as integer columns."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import BRANCH, CALL, INDIRECT_CALL, INDIRECT_JUMP, JUMP, NEXT, STOP
from cython.cimports.undwarf.disasm.template_layout import ROW_FLAGS as FLAGS
from cython.cimports.undwarf.disasm.template_layout import ROW_WORDS, ROW_WRITES, TARGETED

from undwarf.column import zeros
from undwarf.disasm.listing_search import jumps_to

# Bits of flows and of templates' flags, as in undwarf.disasm.
PADDING = cython.declare(cython.longlong, 1)

# How control leaves an instruction: falls through, ends, jumps to its target, branches (either), or as listed.
ON = cython.declare(cython.int, 0)
ENDS = cython.declare(cython.int, 1)
GOES = cython.declare(cython.int, 2)
BRANCHES = cython.declare(cython.int, 3)
LISTED = cython.declare(cython.int, 4)


@cython.cclass
class BlockTable:
    """The basic blocks of a function in order of address: instructions [first, end) of a listing.

    ``ends(target)``: whether a function never returns. ``may_end(target)``: whether it does not return if all its calls
    here are followed by code that other paths reach. ``switch(number)``: successors of an indirect jump: empty if it
    leaves the function, None if unknown. ``further``: (instruction, additional successor). ``warns``: the code after an
    undefined instruction, if nothing else reaches it, follows it.

    `column` (i) has, for each block: first instruction, end, a number filled in by the data flow, and the start of its
    successors (one more than blocks); then the `total` successors; then the order, a reverse postorder. `roots` (B): 2
    for the function's entry, 1 for blocks that may be entered with an unknown state.
    """

    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    total = cython.declare(cython.Py_ssize_t, visibility="readonly")
    column: Any = cython.declare(object, visibility="readonly")
    roots: Any = cython.declare(object, visibility="readonly")
    order: Any = cython.declare(object, visibility="readonly")
    open = cython.declare(cython.bint, visibility="readonly")
    listing: Any
    lists = cython.declare(dict)
    ints = cython.declare("int[::1]")
    way = cython.declare("unsigned char[::1]")
    to = cython.declare("int[::1]")
    number = cython.declare("int[::1]")
    fills = cython.declare("unsigned char[::1]")
    before = cython.declare("int[::1]")
    """Start of each block's predecessors (one more than blocks), then the predecessors."""

    def __init__(self, listing: Any, ends: Any, may_end: Any, switch: Any, further: Any, warns: Any) -> None:
        self.listing = listing
        self.lists = {}
        self.open = False
        size = len(listing)
        self.way = zeros("B", size)
        self.to = zeros("i", size)
        self.number = zeros("i", size + 1)
        self._follow(ends, switch)
        if may_end is not None:
            self._end(may_end)
        self._add(further)
        self._cut()
        self._connect(())
        if warns:
            added = self._behind_warnings()
            if added:
                self._connect(added)
        self.order = self._order()

    @cython.cfunc
    @cython.locals(
        flows="const unsigned char[::1]", targets="const long long[::1]",
        k=cython.Py_ssize_t, count=cython.Py_ssize_t, at=cython.Py_ssize_t, flow=cython.int, way=cython.int,
    )  # fmt: skip  # rows of C types
    def _follow(self, ends: Any, switch: Any) -> None:
        """Determine how control leaves each instruction; `number` marks block starts."""
        listing = self.listing
        flows, targets = listing.flows, listing.targets
        known: Any = {}
        found: Any
        count = len(listing)
        jumps_to(listing.offsets, flows, targets, listing.address, self.to)
        self.number[0] = 1
        for k in range(count):
            flow = flows[k] & 15
            if flow in (NEXT, INDIRECT_CALL):
                continue
            at = -1
            way = ENDS
            if flow == CALL:
                if not flows[k] & TARGETED:
                    continue
                found = known.get(targets[k])
                if found is None:
                    found = known[targets[k]] = bool(ends(targets[k] & 0xFFFFFFFFFFFFFFFF))
                if not found:
                    continue
            elif flow == INDIRECT_JUMP:
                found = switch(k)
                if found is None:
                    self.open = True
                elif found:
                    self.lists[k] = found
                    way = LISTED
                    for one in found:
                        self.number[one] = 1
            elif flow in (JUMP, BRANCH):
                at = self.to[k]
                if at >= 0:
                    way = GOES
                    self.number[at] = 1
                if flow == BRANCH and k + 1 < count and k + 1 != at:
                    way = BRANCHES if at >= 0 else ON
            self.way[k] = way
            self.number[k + 1] = 1

    @cython.cfunc
    @cython.locals(
        flows="const unsigned char[::1]", targets="const long long[::1]", templates="const unsigned int[::1]",
        rows="const long long[::1]", k=cython.Py_ssize_t, at=cython.Py_ssize_t, count=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def _end(self, may_end: Any) -> None:
        """Calls that do not return, among functions not known to be noreturn: if the code after every call of it is
        reached from elsewhere, since compilers emit no unreachable code."""
        listing = self.listing
        flows, targets = listing.flows, listing.targets
        templates, rows = listing.templates, listing.table.rows
        known: Any = {}
        ending: Any = {}
        count = len(listing)
        for k in range(count):
            if flows[k] != CALL | TARGETED or self.way[k] == ENDS:
                continue
            target: Any = targets[k] & 0xFFFFFFFFFFFFFFFF
            found: Any = known.get(target)
            if found is None:
                found = known[target] = bool(may_end(target))
            if not found:
                continue
            at = k + 1
            while at < count and not self.number[at] and rows[templates[at] * ROW_WORDS + FLAGS] & PADDING:
                at += 1
            calls: Any = ending.setdefault(target, [])
            if at < count and not self.number[at]:
                # Only reached from the call.
                known[target] = False
            else:
                calls.append(k)
        for target, calls in ending.items():
            if known[target]:
                for one in calls:
                    self.way[one] = ENDS
                    self.number[one + 1] = 1

    @cython.cfunc
    def _add(self, further: Any) -> None:
        listing = self.listing
        count: cython.Py_ssize_t = len(listing)
        at: cython.Py_ssize_t
        for at, following in further:
            if listing.flows[at] & 15 not in (NEXT, JUMP):
                continue
            targets = self._targets(at) if self.way[at] else []
            targets += [one for one in dict.fromkeys((following, at + 1)) if one not in targets and one < count]
            self.lists[at] = targets
            self.way[at] = LISTED
            self.number[following] = 1
            self.number[at + 1] = 1

    @cython.cfunc
    def _targets(self, k: cython.Py_ssize_t) -> Any:
        """The possible successors of a block's last instruction."""
        way: cython.int = self.way[k]
        if way == LISTED:
            return list(self.lists[k])
        found = [self.to[k]] if way in (GOES, BRANCHES) else []
        if (way in (ON, BRANCHES)) and k + 1 < self.way.shape[0]:
            found.append(k + 1)
        return found

    @cython.cfunc
    @cython.locals(
        templates="const unsigned int[::1]",
        rows="const long long[::1]",
        k=cython.Py_ssize_t,
        size=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
    )
    def _cut(self) -> None:
        """Number the blocks, and mark padding in `fills`."""
        templates, rows = self.listing.templates, self.listing.table.rows
        size = self.way.shape[0]
        n = -1
        for k in range(size):
            n += self.number[k]
            self.number[k] = n
        self.count = n + 1
        self.fills = zeros("B", self.count)
        k = 0
        while k < size:
            n = self.number[k]
            while k < size and self.number[k] == n and rows[templates[k] * ROW_WORDS + FLAGS] & PADDING:
                k += 1
            self.fills[n] = k == size or self.number[k] != n
            while k < size and self.number[k] == n:
                k += 1

    @cython.cfunc
    @cython.locals(
        k=cython.Py_ssize_t, n=cython.Py_ssize_t, size=cython.Py_ssize_t, total=cython.Py_ssize_t, at=cython.Py_ssize_t,
        way=cython.int, count=cython.Py_ssize_t, one=cython.Py_ssize_t, ints="int[::1]", filled="int[::1]",
    )  # fmt: skip  # rows of C types
    def _connect(self, added: Any) -> None:
        """Fill the columns; ``added``: blocks that also fall through."""
        size, count = self.way.shape[0], self.count
        total = len(added)
        for k in range(size):
            if k + 1 == size or self.number[k + 1] != self.number[k]:
                way = self.way[k]
                if way == LISTED:
                    total += len(self.lists[k])
                elif way != ENDS:
                    total += 2 if way == BRANCHES else 1
        self.column = zeros("i", 4 * count + 1 + total + count)
        ints = self.ints = self.column
        self.before = zeros("i", count + 1 + total)
        at = 4 * count + 1
        n = -1
        for k in range(size):
            if self.number[k] != n:
                n = self.number[k]
                ints[n] = k
                ints[2 * count + n] = -1
            if k + 1 < size and self.number[k + 1] == n:
                continue
            ints[count + n] = k + 1
            way = self.way[k]
            if way in (GOES, BRANCHES):
                ints[at] = self.number[self.to[k]]
                at += 1
            if (way in (ON, BRANCHES)) and k + 1 < size:
                ints[at] = n + 1
                at += 1
            if way == LISTED:
                for one in self.lists[k]:
                    ints[at] = self.number[one]
                    at += 1
            if added and n in added:
                ints[at] = n + 1
                at += 1
            ints[3 * count + n + 1] = at - 4 * count - 1
        self.total = at - 4 * count - 1
        filled = zeros("i", count)
        # Predecessors: count, start, then each.
        for k in range(4 * count + 1, at):
            self.before[ints[k] + 1] += 1
        for n in range(count):
            self.before[n + 1] += self.before[n]
            filled[n] = self.before[n]
        for n in range(count):
            for k in range(ints[3 * count + n], ints[3 * count + n + 1]):
                one = ints[4 * count + 1 + k]
                self.before[count + 1 + filled[one]] = n
                filled[one] += 1
        for n in range(count):
            if n == 0 or self.before[n + 1] > self.before[n]:
                # Padding before a loop that control falls into is executed.
                self.fills[n] = 0

    @cython.cfunc
    def _behind_warnings(self) -> Any:
        """Blocks that end in the undefined instruction of a warning: the exception handler resumes after it
        (asm-generic/bug.h)."""
        added: Any = set()
        ints, before, count = self.ints, self.before, self.count
        n: cython.Py_ssize_t
        last: cython.Py_ssize_t
        for n in range(count - 1):
            last = ints[count + n] - 1
            run = before[n + 1] > before[n] or n - 1 in added or not self.fills[n]
            if not run or before[n + 2] > before[n + 1] or self.listing.flows[last] & 15 != STOP:
                continue
            if self.listing[last].text == "ud2":
                self.fills[n] = 0
                added.add(n)
        return added

    @cython.cfunc
    @cython.locals(
        count=cython.Py_ssize_t,
        root=cython.Py_ssize_t,
        entered=cython.bint,
        at=cython.Py_ssize_t,
        room="int[::1]",
    )
    def _order(self) -> Any:
        """Reverse postorder from the entry, then of blocks without predecessors, then of loops that nothing enters."""
        count = self.count
        # Stack of blocks, next successor of each, visited flags.
        room = zeros("i", 3 * count)
        self.roots = zeros("B", count)
        at = 4 * count + 1 + self.total
        for root in range(count):
            entered = self.before[root + 1] > self.before[root]
            if root == 0 or self.open or not entered:
                self.roots[root] = 1
            if not room[2 * count + root] and (root == 0 or not (self.fills[root] or entered)):
                at = self._from(root, room, at)
        if count and not (self.open and self.before[1]):
            self.roots[0] = 2
        for root in range(count):
            if not room[2 * count + root] and not self.fills[root]:
                at = self._from(root, room, at)
        self.column = self.column[:at]
        return self.column[4 * count + 1 + self.total :]

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        room="int[::1]", count=cython.Py_ssize_t, depth=cython.Py_ssize_t, n=cython.Py_ssize_t, one=cython.Py_ssize_t,
        first=cython.Py_ssize_t, last=cython.Py_ssize_t, ints="int[::1]",
    )  # fmt: skip  # rows of C types
    def _from(self, root: cython.Py_ssize_t, room: Any, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Append the unvisited blocks reachable from one in reverse postorder; returns the new end."""
        count, ints = self.count, self.ints
        depth, first = 0, at
        room[0] = root
        room[count + root] = 0
        room[2 * count + root] = 1
        while depth >= 0:
            n = room[depth]
            one = ints[3 * count + n] + room[count + n]
            if one < ints[3 * count + n + 1]:
                room[count + n] += 1
                one = ints[4 * count + 1 + one]
                if not room[2 * count + one]:
                    room[2 * count + one] = 1
                    depth += 1
                    room[depth] = one
            else:
                ints[at] = n
                at += 1
                depth -= 1
        last = at - 1
        while first < last:
            n = ints[first]
            ints[first] = ints[last]
            ints[last] = n
            first += 1
            last -= 1
        return at

    # Queries ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return cython.cast(int, self.count)

    def first(self, number: cython.Py_ssize_t) -> int:
        """The first instruction of a block."""
        self._check(number)
        return cython.cast(int, self.ints[number])

    def end(self, number: cython.Py_ssize_t) -> int:
        """One past the last instruction of a block."""
        self._check(number)
        return cython.cast(int, self.ints[self.count + number])

    def is_padding(self, number: cython.Py_ssize_t) -> bool:
        """Whether a block is padding that is never executed."""
        self._check(number)
        return bool(self.fills[number])

    def successors(self, number: cython.Py_ssize_t) -> list[int]:
        """The successors of a block."""
        self._check(number)
        at: cython.Py_ssize_t = 3 * self.count + number
        begin: cython.Py_ssize_t = 4 * self.count + 1
        return [self.ints[begin + k] for k in range(self.ints[at], self.ints[at + 1])]

    def predecessors(self, number: cython.Py_ssize_t) -> list[int]:
        """The predecessors of a block, without padding."""
        self._check(number)
        begin: cython.Py_ssize_t = self.count + 1
        ways = [self.before[begin + k] for k in range(self.before[number], self.before[number + 1])]
        return [one for one in ways if not self.fills[one]]

    def entered(self, number: cython.Py_ssize_t) -> bool:
        """Whether a block has predecessors."""
        return bool(self.predecessors(number))

    def of(self, k: cython.Py_ssize_t) -> int:
        """The block of an instruction."""
        if not 0 <= k < self.way.shape[0]:
            raise IndexError(k)
        return cython.cast(int, self.number[k])

    def definition_within(self, k: cython.Py_ssize_t, register: int, lost: Any) -> int:
        """The last definition of a register before an instruction in the same block; -1 if there is none.
        ``lost[call]`` are the registers that a call clobbers; None if no call clobbers this one."""
        listing = self.listing
        first = self.ints[self.of(k)]
        return _last_definition(listing.flows, listing.templates, listing.table.rows, first, k, register, lost)

    @cython.locals(
        flows="const unsigned char[::1]", templates="const unsigned int[::1]", rows="const long long[::1]",
        seen="unsigned char[::1]", room="int[::1]", n=cython.Py_ssize_t, at=cython.Py_ssize_t, i=cython.Py_ssize_t,
        depth=cython.Py_ssize_t, left=cython.Py_ssize_t, last=cython.Py_ssize_t, one=cython.Py_ssize_t,
        wanted=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def reaching_definitions(self, k: cython.Py_ssize_t, register: int, most: int, lost: Any) -> list[int]:
        """The reaching definitions of a register at an instruction, -1 for the function's entry; empty if that takes
        ``most`` or more instructions. ``lost`` is as for :meth:`definition_within`."""
        flows, templates, rows = self.listing.flows, self.listing.templates, self.listing.table.rows
        seen, room = zeros("B", self.count), zeros("i", self.count + 1)
        found: list[int] = []
        room[0] = self.of(k)
        wanted, left, at, depth = register, most, k, 1
        while depth:
            depth -= 1
            n = room[depth]
            last = _last_definition(flows, templates, rows, self.ints[n], at, wanted, lost)
            left -= at - (last if last >= 0 else self.ints[n])
            if last >= 0:
                found.append(last)
            else:
                if self.roots[n]:
                    found.append(-1)
                for i in range(self.before[n], self.before[n + 1]):
                    one = self.before[self.count + 1 + i]
                    # Padding is never executed.
                    if not seen[one] and not self.fills[one]:
                        seen[one] = 1
                        room[depth] = one
                        depth += 1
            if left <= 0:
                return []
            if depth:
                at = self.ints[self.count + room[depth - 1]]
        return found

    @cython.locals(
        found="unsigned char[::1]", room="int[::1]", ordered="const int[::1]", kept="int[::1]", k=cython.Py_ssize_t,
        n=cython.Py_ssize_t, one=cython.Py_ssize_t, depth=cython.Py_ssize_t, size=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def blocks_leading_to(self, wanted: Any) -> Any:
        """(by block, whether it reaches one of some instructions, B; those blocks in reverse postorder, i; number of
        their instructions)."""
        found, room = zeros("B", self.count), zeros("i", self.count)
        depth = size = 0
        for k in wanted:
            if 0 <= k < self.way.shape[0] and not found[self.number[k]]:
                found[self.number[k]] = 1
                room[depth] = self.number[k]
                depth += 1
        while depth:
            depth -= 1
            n = room[depth]
            size += self.ints[self.count + n] - self.ints[n]
            for k in range(self.before[n], self.before[n + 1]):
                one = self.before[self.count + 1 + k]
                if not found[one]:
                    found[one] = 1
                    room[depth] = one
                    depth += 1
        ordered = self.order
        kept = room
        one = 0
        for k in range(ordered.shape[0]):
            if found[ordered[k]]:
                kept[one] = ordered[k]
                one += 1
        return memoryview(found), memoryview(kept)[:one], size

    @cython.cfunc
    @cython.exceptval(-1)
    def _check(self, number: cython.Py_ssize_t) -> cython.int:
        if not 0 <= number < self.count:
            raise IndexError(number)
        return 0


@cython.cfunc
@cython.exceptval(-2)
@cython.locals(
    flows="const unsigned char[::1]", templates="const unsigned int[::1]", rows="const long long[::1]",
    word=cython.Py_ssize_t, bit=cython.int, flow=cython.int, asks=cython.bint,
)  # fmt: skip  # rows of C types
def _last_definition(
    flows: Any,
    templates: Any,
    rows: Any,
    first: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    register: cython.Py_ssize_t,
    lost: Any,
) -> cython.Py_ssize_t:
    """The last instruction in [first, at) that defines a register; -1 if there is none."""
    word, bit, asks = ROW_WRITES + register // 64, register % 64, lost is not None
    while at > first:
        at -= 1
        flow = flows[at] & 15
        if rows[templates[at] * ROW_WORDS + word] >> bit & 1 or (
            asks and flow in (CALL, INDIRECT_CALL) and register in lost[at]
        ):
            return at
    return -1
