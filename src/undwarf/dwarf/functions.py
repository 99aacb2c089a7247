# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The functions of a unit in one pass, what is inlined in them, and their names."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import attributes, tags, walks
from cython.cimports.undwarf.dwarf.fixed import fixed
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, ADDRX, REF, REF_ALT, REF_SIG8, STRP

from undwarf.column import copied
from undwarf.dwarf.ranges import Ranges

NONE = cython.declare(cython.uint, 0xFFFFFFFF)
INSIDE = cython.declare(cython.uint, 0xFFFFFFFE)
"""In the place of a parent: the entry is in a function."""
FUNCTIONS = cython.declare(cython.int, 1)
INLINED = cython.declare(cython.int, 16)
"""Of what units declare, as undwarf.dwarf.abbreviations has it."""
OF_MEMBERS = cython.declare(cython.uint, 0x80000000)
"""As undwarf.dwarf.abbreviations has it."""


@cython.cclass
class Functions(Ranges):
    """Units whose functions are told, with their ranges and names."""

    def functions(self, unit: int) -> dict[str, memoryview]:
        """The functions that have code in a unit whose bases are set, and what is inlined in them.

        By function: ``die`` and ``origin`` (Q, offsets; ``origin`` is the entry that has the name, of class ``kind`` B:
        REF or REF_ALT), ``inlined`` (B), ``parent`` (I, what it is inlined in, 0xffffffff for none), ``file``,
        ``line``, ``column`` of the call (I). Their ranges: ``start``, ``end`` (Q) and ``of`` (I, a function's number).
        """
        self._read_functions(unit, True)
        return {
            "die": copied(self.record_die, self.record_total),
            "origin": copied(self.record_origin, self.record_total),
            "kind": copied(self.record_class, self.record_total),
            "inlined": copied(self.record_inlined, self.record_total),
            "parent": copied(self.record_parent, self.record_total),
            "file": copied(self.record_file, self.record_total),
            "line": copied(self.record_line, self.record_total),
            "column": copied(self.record_column, self.record_total),
            "start": copied(self.range_start, self.range_total),
            "end": copied(self.range_end, self.range_total),
            "of": copied(self.range_record, self.range_total),
        }

    def own_functions(self, unit: int) -> tuple[list[int], list[int], list[int]]:
        """Starts, ends and entries of the code of a unit's functions, by start, without what is inlined in them; bases
        are set."""
        k: cython.Py_ssize_t
        sorted_already: cython.bint = True
        self._read_functions(unit, False)
        for k in range(1, self.range_total):
            if self.range_start[k] <= self.range_start[k - 1]:
                sorted_already = False
                break
        found = (
            [self.range_start[k] for k in range(self.range_total)],
            [self.range_end[k] for k in range(self.range_total)],
            [self.record_die[self.range_record[k]] for k in range(self.range_total)],
        )
        if sorted_already:
            return found
        rows = sorted(zip(*found, strict=True))
        return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_functions(self, unit: cython.Py_ssize_t, inlined: cython.bint) -> cython.int:
        """Make the records and ranges those of a unit's functions."""
        decl: cython.Py_ssize_t
        outer: cython.uint
        went: cython.int
        wanted_kinds: cython.int = FUNCTIONS | INLINED if inlined else FUNCTIONS
        self.list_bytes = 0
        self._reset_records()
        plain: cython.int = self.plain(unit)
        self.start(unit)
        # What the children at each depth are enclosed by.
        self.enclosing[0] = NONE
        while True:
            if self.depth:
                self.pass_others(wanted_kinds, plain != 0, True)
            decl = self.next_entry()
            if decl < 0:
                break
            outer = self.enclosing[self.depth]
            if self.decl_declares[decl] & wanted_kinds:
                outer = self._function(decl, self.decl_tag[decl], self.die, outer)
            else:
                self.pass_over(decl)
            went = self.go_on(decl, False, plain)
            if went == walks.NOTHING:
                break
            if went == walks.BELOW:
                self.enclosing[self.depth] = outer
        return 0

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
    def pass_others(self, wanted_kinds: cython.int, plain: cython.bint, through: cython.bint) -> cython.int:
        """Step over entries from ``at`` on, most of what a unit has, that declare nothing which is wanted and have no
        children, or say where these end, or are in a function. What is not whole is left.

        With ``through``, what is in any of them belongs to what this is in."""
        # Bytes are looked at before the end only, which is inside of the section; codes that the table at hand has lead
        # to rows that are. All of this is written nowhere below.
        if self.at >= self.end or self.codes_end == 0 or self.decl_total == 0:
            return 0
        data = cython.address(self.data[0])
        codes = cython.address(self.code_map[self.codes_at])
        declares = cython.address(self.decl_declares[0])
        children = cython.address(self.decl_children[0])
        sizes = cython.address(self.decl_fixed[0])
        codes_end: cython.ulonglong = min(self.codes_end, 0x4000)
        at: cython.Py_ssize_t = self.at
        depth: cython.Py_ssize_t = self.depth
        end: cython.Py_ssize_t = min(self.end, self.data.shape[0])
        first: cython.Py_ssize_t
        behind: cython.Py_ssize_t
        decl: cython.Py_ssize_t
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
                # Longer ones are left as well: they become too large.
                first += 1
            if code == 0:
                if depth <= 1:
                    break
                depth -= 1
                at = first
                continue
            if code >= codes_end:
                break
            decl = cython.cast("Py_ssize_t", codes[code]) - 1
            if decl < 0 or declares[decl] & wanted_kinds:
                break
            if sizes[decl] >= 0:
                behind = first + sizes[decl]
            else:
                self.at = first
                self.pass_over(decl)
                behind = self.at
            if behind > end:
                break
            if children[decl]:
                where = self.decl_leap[decl]
                target = 0
                if where and (plain or not where & OF_MEMBERS):
                    where &= ~OF_MEMBERS
                    target = self.unit_offset[self.unit] + fixed(self.data, first + (where >> 4), where & 15, self.big)
                if cython.cast(cython.ulonglong, behind) < target <= cython.cast(cython.ulonglong, end):
                    behind = cython.cast("Py_ssize_t", target)
                elif (
                    (through or self.enclosing[depth] == INSIDE)
                    and depth < walks.MAX_DEPTH
                    and self.decl_tag[decl] != tags.SUBPROGRAM
                ):
                    self.enclosing[depth + 1] = self.enclosing[depth]
                    depth += 1
                else:
                    break
            at = behind
        self.at = at
        self.depth = depth
        return 0

    @cython.cfunc
    @cython.exceptval(check=True)
    def _function(
        self, decl: cython.Py_ssize_t, tag: cython.int, die: cython.Py_ssize_t, enclosing: cython.uint
    ) -> cython.uint:
        """Read the entry of a function or of one inlined; its number, or what encloses its children."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.record_total
        attribute: cython.int
        low: cython.ulonglong = 0
        high: cython.ulonglong = 0
        has: cython.int = 0
        list_class: cython.int = 0
        list_value: cython.ulonglong = 0
        origin_class: cython.int = 0
        origin: cython.ulonglong = 0
        file: cython.ulonglong = 0
        line: cython.ulonglong = 0
        column: cython.ulonglong = 0
        named: cython.bint = False
        first: cython.Py_ssize_t = self.decl_spec[decl]
        for i in range(first, first + self.decl_count[decl]):
            attribute = self.spec_attribute[i]
            if attribute == attributes.LINKAGE_NAME or attribute == attributes.MIPS_LINKAGE_NAME:
                named = True
            if (
                attribute == attributes.LOW_PC
                or attribute == attributes.HIGH_PC
                or attribute == attributes.RANGES
                or attribute == attributes.ABSTRACT_ORIGIN
                or attribute == attributes.SPECIFICATION
                or attributes.CALL_COLUMN <= attribute <= attributes.CALL_LINE
            ):
                self.take(i)
                if attribute == attributes.LOW_PC:
                    low = self.indexed(self.value) if self.value_class == ADDRX else self.value
                    has |= 1
                elif attribute == attributes.HIGH_PC:
                    if self.value_class == ADDRX:
                        high = self.indexed(self.value)
                        has |= 2
                    else:
                        high = self.value
                        has |= 2 if self.value_class == ADDRESS else 4
                elif attribute == attributes.RANGES:
                    list_class = self.value_class
                    list_value = self.value
                    has |= 8
                elif attribute == attributes.ABSTRACT_ORIGIN or (
                    attribute == attributes.SPECIFICATION and origin_class == 0
                ):
                    origin_class = self.value_class
                    origin = self.value
                elif attribute == attributes.CALL_FILE:
                    file = self.value
                elif attribute == attributes.CALL_LINE:
                    line = self.value
                elif attribute == attributes.CALL_COLUMN:
                    column = self.value
            else:
                self.step(i)
        if self.at > self.end:
            return enclosing
        if tag == tags.SUBPROGRAM and not has & 9:
            # A declaration or an abstract instance: what it contains is not inlined in what encloses it.
            return NONE
        self._room_for_record()
        self.record_die[n] = die
        if origin_class in (REF, REF_ALT) and not named:
            self.record_origin[n] = origin
            self.record_class[n] = cython.cast("unsigned char", origin_class)
        else:
            self.record_origin[n] = die
            self.record_class[n] = 0
        self.record_inlined[n] = tag == tags.INLINED_SUBROUTINE
        self.record_parent[n] = enclosing if tag == tags.INLINED_SUBROUTINE else NONE
        self.record_file[n] = cython.cast("unsigned int", file if file < NONE else 0)
        self.record_line[n] = cython.cast("unsigned int", line if line < NONE else 0)
        self.record_column[n] = cython.cast("unsigned int", column if column < NONE else 0)
        self.record_total += 1
        if has & 8:
            self.add_list(list_class, list_value, cython.cast("unsigned int", n))
        elif has & 1:
            if has & 4:
                high += low
            self.add_range(low, high, cython.cast("unsigned int", n))
        return cython.cast(cython.uint, n)

    def name_of(self, offset: int) -> Any:
        """(class and value of the string, class and value of the reference that leads on, unit) of an entry's name.

        Follows DW_AT_abstract_origin and DW_AT_specification within the section up to a linkage name, else to a plain
        name. The second pair is not zero where the next entry is in another file.
        """
        self.follow(offset)
        return self.value_class, self.value, self.next_class, self.next_value, self.name_unit

    @cython.locals(
        records="const unsigned int[::1]",
        kinds="const unsigned char[::1]",
        origins="const unsigned long long[::1]",
        numbers="unsigned int[::1]",
        i="Py_ssize_t",
    )
    def number_names(
        self, which: Any, kind: Any, origin: Any, names: Any, known: dict[int, int], first: int
    ) -> tuple[list[int], list[int]]:
        """Give records ``which`` (I) the numbers of their names, as :meth:`name_of` finds them, in ``names`` (I).

        ``kind`` and ``origin`` are columns of :meth:`functions`; ``known`` are the numbers of names by their offset in
        `.debug_str`. Returns the offsets of new names, numbered from ``first`` on, and the records whose names need
        more than this section and that one.
        """
        records, kinds, origins, numbers = which, kind, origin, names
        new: list[int] = []
        left: list[int] = []
        for i in range(records.shape[0]):
            if kinds[records[i]] != REF_ALT:
                self.follow(origins[records[i]])
                if self.next_class == 0 and self.value_class == STRP:
                    number = known.get(self.value)
                    if number is None:
                        number = known[self.value] = first + len(new)
                        new.append(self.value)
                    numbers[records[i]] = number
                    continue
            left.append(records[i])
        return new, left

    @cython.cfunc
    @cython.exceptval(-1)
    def follow(self, offset: cython.ulonglong) -> cython.int:
        """Find an entry's name: sets ``value_class`` and ``value``, ``name_unit``, and where it leads on if it does."""
        _hops: cython.int
        unit: cython.Py_ssize_t
        decl: cython.Py_ssize_t
        i: cython.Py_ssize_t
        attribute: cython.int
        next_class: cython.int
        next_value: cython.ulonglong
        plain_class: cython.int = 0
        plain: cython.ulonglong = 0
        at: cython.ulonglong = offset
        self.next_class = 0
        self.next_value = 0
        self.name_unit = -1
        for _hops in range(walks.MAX_HOPS):
            unit = self.find_unit(at)
            if unit < 0:
                break
            self.enter(unit)
            self.at = cython.cast("Py_ssize_t", at)
            self.end = self.unit_end[unit]
            decl = self.head()
            if decl < 0:
                break
            next_class = 0
            next_value = 0
            for i in range(self.decl_spec[decl], self.decl_spec[decl] + self.decl_count[decl]):
                attribute = self.spec_attribute[i]
                if (
                    attribute == attributes.NAME
                    or attribute == attributes.LINKAGE_NAME
                    or attribute == attributes.MIPS_LINKAGE_NAME
                    or attribute == attributes.ABSTRACT_ORIGIN
                    or attribute == attributes.SPECIFICATION
                ):
                    self.take(i)
                    if self.at > self.end:
                        break
                    if attribute == attributes.LINKAGE_NAME or attribute == attributes.MIPS_LINKAGE_NAME:
                        if self.value_class:
                            self.name_unit = unit
                            return 0
                    elif attribute == attributes.NAME:
                        if plain_class == 0:
                            plain_class = self.value_class
                            plain = self.value
                            self.name_unit = unit
                    elif next_class == 0 or attribute == attributes.ABSTRACT_ORIGIN:
                        next_class = self.value_class
                        next_value = self.value
                else:
                    self.step(i)
            if next_class == REF:
                at = next_value
                continue
            if next_class in (REF_ALT, REF_SIG8):
                self.next_class = next_class
                self.next_value = next_value
            break
        self.value_class = plain_class
        self.value = plain
        return 0
