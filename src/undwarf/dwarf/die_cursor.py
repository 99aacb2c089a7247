# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Iterates over the DIEs of a unit: from each to the next, to its children or past them.

Sources: DWARF 5, 2.3 (how DIEs own each other) and 7.5.3 (DW_AT_sibling, with which children can be skipped).
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags
from cython.cimports.undwarf.dwarf.reader_constants import IN_FUNCTION, MAX_DEPTH, NULL_ENTRY, SKIP_IN_C, Next
from cython.cimports.undwarf.dwarf.value_classes import REF
from cython.cimports.undwarf.elf.integers import integer_at

from undwarf.column import doubled, zeros
from undwarf.dwarf.attribute_values import AttributeReader


@cython.final
@cython.cclass
class DieCursor:
    """A position among the DIEs of a section, which is the position of its reader."""

    def __init__(self, reader: AttributeReader) -> None:
        self.reader = reader
        self.units = reader.units
        self.abbreviations = reader.abbreviations
        self.die = self.first = self.depth = 0
        self.enclosing = zeros("I", MAX_DEPTH + 2)
        self.languages = zeros("B", self.units.count)
        self.below = zeros("Q", 5 * 64)

    @cython.cfunc
    @cython.exceptval(-1)
    def start(self, unit: cython.Py_ssize_t) -> cython.int:
        """Go to the root of a unit."""
        self.reader.enter(unit)
        self.reader.at = self.units.first[unit]
        self.depth = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next_die(self) -> cython.Py_ssize_t:
        """Go to the next DIE: its abbreviation, or -1 after the last child of the DIE where the cursor started."""
        abbreviation: cython.Py_ssize_t
        while self.reader.at < self.reader.end:
            self.die = self.reader.at
            abbreviation = self.reader.read_code()
            if abbreviation >= 0:
                self.first = self.reader.at
                return abbreviation
            if abbreviation != NULL_ENTRY:
                self.reader.damaged += 1
                break
            self.depth -= 1
            if self.depth <= 0:
                break
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next(self, abbreviation: cython.Py_ssize_t, skipped: cython.bint, in_c: cython.bint) -> cython.int:
        """What follows the values of the DIE, which have been read: its children (``depth`` is one more then), unless
        they were ``skipped`` or can be skipped now, or what comes after it."""
        if self.reader.at > self.reader.end:
            self.reader.damaged += 1
            return Next.END
        if (
            self.abbreviations.has_children[abbreviation]
            and not skipped
            and not (
                self.depth
                and self.abbreviations.sibling[abbreviation]
                and self.skip_children(abbreviation, self.first, in_c)
            )
        ):
            return Next.CHILD if self.enter_children() else Next.END
        return Next.SIBLING if self.depth else Next.END

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def enter_children(self) -> cython.bint:
        """Go one level down; False if that is deeper than MAX_DEPTH."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.reader.damaged += 1
            return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip_children(
        self, abbreviation: cython.Py_ssize_t, first: cython.Py_ssize_t, in_c: cython.bint
    ) -> cython.bint:
        """Go past the children of a DIE that has DW_AT_sibling and whose values, from ``first`` on, have been read;
        past members only in units of C (``in_c``). False, and no step, where the sibling is not after the values."""
        target: cython.ulonglong
        where: cython.Py_ssize_t = self.abbreviations.sibling[abbreviation]
        if where & SKIP_IN_C:
            if not in_c:
                return False
            where ^= SKIP_IN_C
        target = self.units.offset[self.reader.unit] + integer_at(
            self.reader.data, first + (where >> 4), where & 15, self.reader.big
        )
        if target <= cython.cast(cython.ulonglong, self.reader.at) or target > cython.cast(
            cython.ulonglong, self.reader.end
        ):
            return False
        self.reader.at = cython.cast("Py_ssize_t", target)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def skip_to_sibling(self, abbreviation: cython.Py_ssize_t) -> cython.ulonglong:
        """Skip all values of a DIE; the offset of its sibling, 0 without a valid one."""
        i: cython.Py_ssize_t
        sibling: cython.ulonglong = 0
        for i in range(self.abbreviations.first[abbreviation], self.abbreviations.end[abbreviation]):
            if self.abbreviations.attribute[i] == attributes.SIBLING:
                self.reader.read(i)
                sibling = self.reader.value if self.reader.value_class == REF else 0
            else:
                self.reader.skip(i)
        if self.reader.at > self.reader.end or sibling <= cython.cast(cython.ulonglong, self.reader.at):
            return 0
        return sibling if sibling <= cython.cast(cython.ulonglong, self.reader.end) else 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.boundscheck(False)
    @cython.locals(
        data="const unsigned char *",
        codes="const unsigned int *",
        declares="const unsigned char *",
        children="const unsigned char *",
        sizes="const int *",
    )
    def skip_others(self, wanted_kinds: cython.int, in_c: cython.bint, through: cython.bint) -> cython.int:
        """Step over DIEs, most of a unit, that declare nothing which is wanted and have no children, or a sibling, or
        are in a function. DIEs that are not whole are left to the caller.

        With ``through``, children are gone through wherever they are, as if they were their parent's siblings."""
        # Bytes are read before the end only, which is inside the section; the codes of the unit's table are rows of the
        # columns, which nothing below replaces.
        if self.reader.at >= self.reader.end or self.reader.codes_end == 0 or self.abbreviations.total == 0:
            return 0
        data = cython.address(self.reader.data[0])
        codes = cython.address(self.abbreviations.code_map[self.reader.codes_at])
        declares = cython.address(self.abbreviations.kind[0])
        children = cython.address(self.abbreviations.has_children[0])
        sizes = cython.address(self.abbreviations.fixed_size[0])
        codes_end: cython.ulonglong = min(self.reader.codes_end, 0x4000)
        at: cython.Py_ssize_t = self.reader.at
        depth: cython.Py_ssize_t = self.depth
        end: cython.Py_ssize_t = min(self.reader.end, self.reader.data.shape[0])
        first: cython.Py_ssize_t
        after: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t
        code: cython.ulonglong
        where: cython.uint
        target: cython.ulonglong
        while at < end:
            code = data[at]
            first = at + 1
            if code >= 0x80:
                if first == end:
                    break
                code = code & 0x7F | cython.cast(cython.ulonglong, data[first]) << 7
                # Longer codes are left to the caller as well: they become too large here.
                first += 1
            if code == 0:
                if depth <= 1:
                    break
                depth -= 1
                at = first
                continue
            if code >= codes_end:
                break
            abbreviation = cython.cast("Py_ssize_t", codes[code]) - 1
            if abbreviation < 0 or declares[abbreviation] & wanted_kinds:
                break
            if sizes[abbreviation] >= 0:
                after = first + sizes[abbreviation]
            else:
                self.reader.at = first
                self.reader.skip_all(abbreviation)
                after = self.reader.at
            if after > end:
                break
            if children[abbreviation]:
                where = self.abbreviations.sibling[abbreviation]
                target = 0
                if where and (in_c or not where & SKIP_IN_C):
                    where &= ~SKIP_IN_C
                    target = self.units.offset[self.reader.unit] + integer_at(
                        self.reader.data, first + (where >> 4), where & 15, self.reader.big
                    )
                if cython.cast(cython.ulonglong, after) < target <= cython.cast(cython.ulonglong, end):
                    after = cython.cast("Py_ssize_t", target)
                elif (
                    (through or self.enclosing[depth] == IN_FUNCTION)
                    and depth < MAX_DEPTH
                    and self.abbreviations.tag[abbreviation] != tags.SUBPROGRAM
                ):
                    self.enclosing[depth + 1] = self.enclosing[depth]
                    depth += 1
                else:
                    break
            at = after
        self.reader.at = at
        self.depth = depth
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def is_c(self, unit: cython.Py_ssize_t) -> cython.bint:
        """Whether a unit is of C, where types contain nothing but members."""
        i: cython.Py_ssize_t
        abbreviation: cython.Py_ssize_t
        if self.languages[unit] == 0:
            self.languages[unit] = 2
            self.start(unit)
            abbreviation = self.reader.read_code()
            if abbreviation >= 0:
                for i in range(self.abbreviations.first[abbreviation], self.abbreviations.end[abbreviation]):
                    if self.abbreviations.attribute[i] != attributes.LANGUAGE:
                        self.reader.skip(i)
                        continue
                    self.reader.read(i)
                    # C89, C, C99, C11, C17, C23
                    if self.reader.value_class and self.reader.value in (0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E):
                        self.languages[unit] = 1
                    break
        return self.languages[unit] == 1

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(flags="const unsigned char[::1]")
    def gather(
        self, unit: cython.Py_ssize_t, offset: cython.Py_ssize_t, wanted: Any, limit: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Find the DIEs that :meth:`undwarf.dwarf.die.DebugInfo.entries` describes; their number. Five numbers of each
        go to ``below``: offset, abbreviation, where its values begin and end, depth."""
        abbreviation: cython.Py_ssize_t
        total: cython.Py_ssize_t = 0
        # The depth of the DIEs that are looked at.
        deepest: cython.Py_ssize_t = 1
        sibling: cython.ulonglong
        tag: cython.int
        flag: cython.int
        flags = wanted
        if flags.shape[0] < 256:
            return 0
        self.reader.enter(unit)
        self.reader.at = offset
        if self.reader.at < cython.cast("Py_ssize_t", self.units.first[unit]):
            return 0
        self.depth = 1
        while total < limit:
            abbreviation = self.next_die()
            if abbreviation < 0:
                break
            deepest = min(deepest, self.depth)
            tag = self.abbreviations.tag[abbreviation]
            if tag >= tags.GNU_TEMPLATE_TEMPLATE_PARAM and tag <= tags.GNU_FORMAL_PARAMETER_PACK:
                tag = 253 + tag - tags.GNU_TEMPLATE_TEMPLATE_PARAM
            flag = flags[tag] if tag < 256 and self.depth == deepest else 0
            sibling = 0
            if flag & 2 or not self.abbreviations.has_children[abbreviation]:
                self.reader.skip_all(abbreviation)
            else:
                sibling = self.skip_to_sibling(abbreviation)
            if self.reader.at > self.reader.end:
                self.reader.damaged += 1
                break
            if flag & 1:
                if 5 * total == len(self.below):
                    self.below = doubled(self.below, 5 * total)
                self.below[5 * total] = self.die
                self.below[5 * total + 1] = abbreviation
                self.below[5 * total + 2] = self.first
                self.below[5 * total + 3] = self.reader.at
                self.below[5 * total + 4] = deepest - 1
                total += 1
            if sibling:
                self.reader.at = cython.cast("Py_ssize_t", sibling)
            elif self.abbreviations.has_children[abbreviation]:
                if not self.enter_children():
                    break
                if flag & 2:
                    deepest = self.depth
        return total
