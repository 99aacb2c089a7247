# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The walk through entries, from each to the next, into it or over what is in it; the entries below one.

Sources: DWARF 5, 2.3 and 7.5.3 (how entries are owned, and that DW_AT_sibling leads over what is in one).
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags, walks
from cython.cimports.undwarf.dwarf.fixed import fixed
from cython.cimports.undwarf.dwarf.value_classes import REF

from undwarf.column import doubled, zeros
from undwarf.dwarf.attribute_values import Values

NULL_ENTRY = cython.declare(cython.Py_ssize_t, -2)
OF_MEMBERS = cython.declare(cython.Py_ssize_t, 0x80000000)
"""As undwarf.dwarf.abbreviations has it."""


@cython.cclass
class EntryWalk(Values):
    """Units whose entries are gone through, one at a time."""

    def __init__(self, data: Any, abbrevs: Any, *, big: bool = False, types: bool = False) -> None:
        super().__init__(data, abbrevs, big=big, types=types)
        self.unit_plain = zeros("B", self.count)
        self.below = zeros("Q", 5 * 64)

    @cython.cfunc
    @cython.exceptval(-1)
    def start(self, unit: cython.Py_ssize_t) -> cython.int:
        """Stand at the root of a unit that is at hand."""
        self.at = self.unit_first[unit]
        self.end = self.unit_end[unit]
        self.depth = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next_entry(self) -> cython.Py_ssize_t:
        """The abbreviation of the entry at hand, whose values come next; -1 where those around it have ended."""
        decl: cython.Py_ssize_t
        while self.at < self.end:
            self.die = self.at
            decl = self.head()
            if decl >= 0:
                self.first = self.at
                return decl
            if decl != NULL_ENTRY:
                self.damaged += 1
                break
            self.depth -= 1
            if self.depth <= 0:
                break
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def go_on(self, decl: cython.Py_ssize_t, leapt: cython.bint, members: cython.int) -> cython.int:
        """What comes behind the values of the entry at hand: what is in it, unless that was ``leapt`` over or is by its
        :meth:`leap`; then ``depth`` is one more."""
        if self.at > self.end:
            self.damaged += 1
            return walks.NOTHING
        if (
            self.decl_children[decl]
            and not leapt
            and not (self.depth and self.decl_leap[decl] and self.leap(decl, self.first, members))
        ):
            return walks.BELOW if self.go_in() else walks.NOTHING
        return walks.BESIDE if self.depth else walks.NOTHING

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def go_in(self) -> cython.bint:
        """Go one deeper, as long as that is not too deep."""
        self.depth += 1
        if self.depth > walks.MAX_DEPTH:
            self.damaged += 1
            return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def leap(self, decl: cython.Py_ssize_t, first: cython.Py_ssize_t, members: cython.int) -> cython.bint:
        """Step over the children of an entry that says where they end (``decl_leap``; members only if these are to be)
        and whose values, which begin at ``first``, are stepped over. False where that is nowhere behind them."""
        target: cython.ulonglong
        where: cython.Py_ssize_t = self.decl_leap[decl]
        if where & OF_MEMBERS:
            if not members:
                return False
            where ^= OF_MEMBERS
        target = self.unit_offset[self.unit] + fixed(self.data, first + (where >> 4), where & 15, self.big)
        if target <= cython.cast(cython.ulonglong, self.at) or target > cython.cast(cython.ulonglong, self.end):
            return False
        self.at = cython.cast("Py_ssize_t", target)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pass_to_sibling(self, decl: cython.Py_ssize_t) -> cython.ulonglong:
        """Step over all values of an entry; where what is in it ends, if it says so: 0 where it does not."""
        i: cython.Py_ssize_t
        sibling: cython.ulonglong = 0
        for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
            if self.spec_attribute[i] == attributes.SIBLING:
                self.take(i)
                sibling = self.value if self.value_class == REF else 0
            else:
                self.step(i)
        if self.at > self.end or sibling <= cython.cast(cython.ulonglong, self.at):
            return 0
        return sibling if sibling <= cython.cast(cython.ulonglong, self.end) else 0

    @cython.cfunc
    @cython.exceptval(-1)
    def plain(self, unit: cython.Py_ssize_t) -> cython.int:
        """Whether a unit is of C, where nothing but members is declared in a type; it is then the one at hand."""
        i: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        self.enter(unit)
        if self.unit_plain[unit] == 0:
            self.unit_plain[unit] = 2
            self.start(unit)
            decl = self.head()
            if decl >= 0:
                for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                    if self.spec_attribute[i] != attributes.LANGUAGE:
                        self.step(i)
                        continue
                    self.take(i)
                    # C89, C, C99, C11, C17, C23
                    if self.value_class and self.value in (0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E):
                        self.unit_plain[unit] = 1
                    break
        return self.unit_plain[unit] == 1

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(flags="const unsigned char[::1]")
    def gather(
        self, unit: cython.Py_ssize_t, offset: cython.Py_ssize_t, wanted: Any, limit: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """How many entries there are as :meth:`entries` finds them; five numbers of each go to ``below``: its offset,
        its abbreviation, where its values begin and end, its depth."""
        decl: cython.Py_ssize_t
        total: cython.Py_ssize_t = 0
        # How deep those are that are looked at.
        deepest: cython.Py_ssize_t = 1
        sibling: cython.ulonglong
        tag: cython.int
        flag: cython.int
        flags = wanted
        if flags.shape[0] < 256:
            return 0
        self.enter(unit)
        self.at = offset
        self.end = self.unit_end[unit]
        if self.at < cython.cast("Py_ssize_t", self.unit_first[unit]):
            return 0
        self.depth = 1
        while total < limit:
            decl = self.next_entry()
            if decl < 0:
                break
            deepest = min(deepest, self.depth)
            tag = self.decl_tag[decl]
            if tag >= tags.GNU_TEMPLATE_TEMPLATE_PARAM and tag <= tags.GNU_FORMAL_PARAMETER_PACK:
                tag = 253 + tag - tags.GNU_TEMPLATE_TEMPLATE_PARAM
            flag = flags[tag] if tag < 256 and self.depth == deepest else 0
            sibling = 0
            if flag & 2 or not self.decl_children[decl]:
                self.pass_over(decl)
            else:
                sibling = self.pass_to_sibling(decl)
            if self.at > self.end:
                self.damaged += 1
                break
            if flag & 1:
                if 5 * total == len(self.below):
                    self.below = doubled(self.below, 5 * total)
                self.below[5 * total] = self.die
                self.below[5 * total + 1] = decl
                self.below[5 * total + 2] = self.first
                self.below[5 * total + 3] = self.at
                self.below[5 * total + 4] = deepest - 1
                total += 1
            if sibling:
                self.at = cython.cast("Py_ssize_t", sibling)
            elif self.decl_children[decl]:
                if not self.go_in():
                    break
                if flag & 2:
                    deepest = self.depth
        return total
