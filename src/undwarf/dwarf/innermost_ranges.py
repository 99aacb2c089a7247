# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Flattens nested ranges, for lookup of the innermost one by binary search, and collects chains of inlined calls."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros

MOST_FILES = cython.declare(cython.uint, 1 << 20)
"""File numbers from here on are damage."""


@cython.locals(
    starts="const unsigned long long[::1]",
    of="const unsigned int[::1]",
    order="unsigned int[::1]",
    other="unsigned int[::1]",
    kept="unsigned int[::1]",
    n="Py_ssize_t",
    width="Py_ssize_t",
    low="Py_ssize_t",
    middle="Py_ssize_t",
    high="Py_ssize_t",
    i="Py_ssize_t",
    j="Py_ssize_t",
    k="Py_ssize_t",
    a="unsigned int",
    b="unsigned int",
)
def sorted_by_start(range_starts: Any, range_of: Any) -> memoryview:
    """The order (I) of ranges by start, then by record: outer ranges come before inner ones."""
    starts, of = range_starts, range_of
    n = starts.shape[0]
    order, other = zeros("I", n), zeros("I", n)
    for i in range(n):
        order[i] = cython.cast("unsigned int", i)
    # Merge sort: linkers write ranges nearly sorted, but nothing guarantees it.
    width = 1
    while width < n:
        low = 0
        while low < n:
            middle = low + width if low + width < n else n
            high = middle + width if middle + width < n else n
            i = low
            j = middle
            for k in range(low, high):
                if i < middle and j < high:
                    a = order[i]
                    b = order[j]
                    if starts[b] < starts[a] or (starts[b] == starts[a] and of[b] < of[a]):
                        other[k] = b
                        j += 1
                    else:
                        other[k] = a
                        i += 1
                elif i < middle:
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
            low = high
        kept = order
        order = other
        other = kept
        width *= 2
    return memoryview(order)


@cython.locals(
    starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]",
    of="const unsigned int[::1]",
    order="const unsigned int[::1]",
    addresses="unsigned long long[::1]",
    records="unsigned int[::1]",
    stack_end="unsigned long long[::1]",
    stack_record="unsigned int[::1]",
    i="Py_ssize_t",
    k="Py_ssize_t",
    n="Py_ssize_t",
    total="Py_ssize_t",
    height="Py_ssize_t",
    at="unsigned long long",
)
def flatten(range_starts: Any, range_ends: Any, range_of: Any, in_order: Any) -> tuple[memoryview, memoryview]:
    """(addresses Q, records I): from each address to the next, the record is the innermost; 0xffffffff is none.

    ``in_order`` sorts the ranges by start, outer before inner ones. Ranges that overlap without nesting are treated as
    if the later one were inside.
    """
    starts, ends, of, order = range_starts, range_ends, range_of, in_order
    n = order.shape[0]
    addresses, records = zeros("Q", 2 * n + 1), zeros("I", 2 * n + 1)
    stack_end, stack_record = zeros("Q", n + 1), zeros("I", n + 1)
    total = 0
    height = 0
    for i in range(n + 1):
        k = order[i] if i < n else 0
        # What ends before the next range begins gives way to what encloses it.
        while height > 0 and (i == n or stack_end[height - 1] <= starts[k]):
            at = stack_end[height - 1]
            height -= 1
            while height > 0 and stack_end[height - 1] <= at:
                height -= 1
            if total and addresses[total - 1] == at:
                total -= 1
            addresses[total] = at
            records[total] = stack_record[height - 1] if height > 0 else NOTHING
            total += 1
        if i == n:
            break
        if total and addresses[total - 1] == starts[k]:
            total -= 1
        addresses[total] = starts[k]
        records[total] = of[k]
        total += 1
        stack_end[height] = ends[k]
        stack_record[height] = of[k]
        height += 1
    return memoryview(addresses)[:total], memoryview(records)[:total]


@cython.locals(
    wanted="const unsigned long long[::1]",
    addresses="const unsigned long long[::1]",
    result="unsigned int[::1]",
    i="Py_ssize_t",
    low="Py_ssize_t",
    high="Py_ssize_t",
    middle="Py_ssize_t",
)
def row_of(queries: Any, at: Any) -> memoryview:
    """For each address (Q) the index of the last entry not above it, 0xffffffff before the first."""
    wanted, addresses = queries, at
    result = zeros("I", wanted.shape[0])
    for i in range(wanted.shape[0]):
        low = 0
        high = addresses.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if addresses[middle] <= wanted[i]:
                low = middle + 1
            else:
                high = middle
        result[i] = cython.cast("unsigned int", low - 1) if low else NOTHING
    return memoryview(result)


@cython.locals(values="const unsigned int[::1]", result="unsigned int[::1]", i="Py_ssize_t")
def look_up(queries: Any, at: Any, of: Any) -> memoryview:
    """For each address (Q) the value (I) of the last start not above it, 0xffffffff before the first."""
    values = of
    rows = row_of(queries, at)
    result = rows
    for i in range(len(rows)):
        if result[i] != NOTHING:
            result[i] = values[result[i]]
    return rows


@cython.cclass
class ChainColumns:
    """Chains that are added unit by unit, for addresses in any order.

    By address: ``begins`` and ``counts`` of its entries. Entries, innermost first: ``record`` (the unit's number plus
    the offset passed in), ``file``, ``line``, ``column``; files and records are the caller's numbers.
    """

    begins = cython.declare("unsigned int[::1]")
    counts = cython.declare("unsigned int[::1]")
    record = cython.declare("unsigned int[::1]")
    file = cython.declare("unsigned int[::1]")
    line = cython.declare("unsigned int[::1]")
    column = cython.declare("unsigned int[::1]")
    total: cython.Py_ssize_t

    def __init__(self, addresses: int) -> None:
        size = max(1024, 2 * addresses)
        self.begins = zeros("I", addresses)
        self.counts = zeros("I", addresses)
        self.record = zeros("I", size)
        self.file = zeros("I", size)
        self.line = zeros("I", size)
        self.column = zeros("I", size)
        self.total = 0

    def _grow(self) -> None:
        """Double the capacity for entries."""
        self.record = self._larger(self.record)
        self.file = self._larger(self.file)
        self.line = self._larger(self.line)
        self.column = self._larger(self.column)

    def _larger(self, column: Any) -> Any:
        new = zeros("I", 2 * len(column))
        new[: self.total] = memoryview(column)[: self.total]
        return new

    @cython.locals(
        numbers="const unsigned int[::1]",
        records="const unsigned int[::1]",
        rows="const unsigned int[::1]",
        parents="const unsigned int[::1]",
        call_file="const unsigned int[::1]",
        call_line="const unsigned int[::1]",
        call_column="const unsigned int[::1]",
        row_file="const unsigned int[::1]",
        row_line="const unsigned int[::1]",
        row_column="const unsigned int[::1]",
        i="Py_ssize_t",
        at="Py_ssize_t",
        hops="Py_ssize_t",
        current="unsigned int",
        file="unsigned int",
        line="unsigned int",
        column="unsigned int",
    )
    def add(self, which: Any, found: Any, row_found: Any, functions: Any, lines: Any, base: int) -> None:
        """The chains of the addresses ``which`` (I): ``found`` is each one's innermost record, ``row_found`` its row.

        ``functions`` and ``lines`` are the columns that :mod:`undwarf.dwarf.functions` and ``line_program`` give;
        ``base`` is added to record numbers. Where there is neither a record nor a row the address has no chain.
        """
        first_number: cython.uint = base
        numbers, records, rows = which, found, row_found
        parents = functions["parent"]
        call_file, call_line, call_column = functions["file"], functions["line"], functions["column"]
        row_file, row_line, row_column = lines["file"], lines["line"], lines["column"]
        for i in range(numbers.shape[0]):
            at = self.total
            current = records[i]
            file = NOTHING
            line = 0
            column = 0
            if rows[i] != NOTHING and row_file[rows[i]] != NOTHING:
                file = row_file[rows[i]]
                line = row_line[rows[i]]
                column = row_column[rows[i]]
            if current == NOTHING and file == NOTHING:
                continue
            self.begins[numbers[i]] = cython.cast("unsigned int", at)
            hops = 0
            while True:
                if at == self.record.shape[0]:
                    self.total = at
                    self._grow()
                self.record[at] = NOTHING if current == NOTHING else current + first_number
                self.file[at] = file
                self.line[at] = line
                self.column[at] = column
                at += 1
                hops += 1
                if current == NOTHING or parents[current] == NOTHING or hops > 1024:
                    break
                file = call_file[current]
                line = call_line[current]
                column = call_column[current]
                current = parents[current]
            self.counts[numbers[i]] = cython.cast("unsigned int", at - self.begins[numbers[i]])
            self.total = at

    @property
    def used(self) -> int:
        """Entries so far."""
        count: cython.Py_ssize_t = self.total
        return count

    @cython.locals(seen="unsigned char[::1]", i="Py_ssize_t", begin="Py_ssize_t", size="Py_ssize_t")
    def file_numbers(self, first: int) -> list[int]:
        """The file numbers of the entries from ``first`` on, each once, without those that are damage."""
        begin = first
        size = 0
        for i in range(begin, self.total):
            if self.file[i] < MOST_FILES and self.file[i] >= size:
                size = cython.cast("Py_ssize_t", self.file[i]) + 1
        seen = zeros("B", size)
        for i in range(begin, self.total):
            if self.file[i] < size:
                seen[self.file[i]] = 1
        return [i for i in range(size) if seen[i]]

    @cython.locals(known="const unsigned int[::1]", seen="unsigned char[::1]", i="Py_ssize_t", record="Py_ssize_t")
    def unnamed_records(self, first: int, base: int, names: Any) -> memoryview:
        """Records of the entries from ``first`` on, less ``base``, that ``names`` has no name for yet, each once."""
        begin: cython.Py_ssize_t = first
        offset: cython.Py_ssize_t = base
        total: cython.Py_ssize_t = 0
        known = names
        seen = zeros("B", known.shape[0])
        found: Any = zeros("I", min(known.shape[0], max(0, self.total - begin)))
        result: Any = found
        for i in range(begin, self.total):
            if self.record[i] == NOTHING:
                continue
            record = cython.cast("Py_ssize_t", self.record[i]) - offset
            if known[record] == NOTHING and not seen[record]:
                seen[record] = 1
                result[total] = record
                total += 1
        return memoryview(found)[:total]

    @cython.locals(
        numbers="const unsigned int[::1]", i="Py_ssize_t", from_entry="Py_ssize_t", column="unsigned int[::1]"
    )
    def renumber_files(self, first: int, mapping: Any) -> None:
        """Replace the file numbers of the entries from ``first`` on by what ``mapping`` (I) has; others become none."""
        numbers = mapping
        column = self.file
        from_entry = first
        for i in range(from_entry, self.total):
            column[i] = numbers[column[i]] if column[i] < cython.cast("unsigned int", numbers.shape[0]) else NOTHING

    @cython.locals(
        first="unsigned int[::1]",
        i="Py_ssize_t",
        k="Py_ssize_t",
        at="Py_ssize_t",
        names="const unsigned int[::1]",
        name="unsigned int[::1]",
        file="unsigned int[::1]",
        line="unsigned int[::1]",
        column="unsigned int[::1]",
    )
    def finish(self, name_of_record: Any) -> "dict[str, memoryview]":
        """Columns in the order of the addresses: ``first`` (one more than addresses), ``name``, ``file``, ``line``,
        ``column``. ``name_of_record`` (I) gives each record's name."""
        names = name_of_record
        first = zeros("I", self.counts.shape[0] + 1)
        name, file = zeros("I", self.total), zeros("I", self.total)
        line, column = zeros("I", self.total), zeros("I", self.total)
        at = 0
        for i in range(self.counts.shape[0]):
            first[i] = cython.cast("unsigned int", at)
            for k in range(self.begins[i], self.begins[i] + self.counts[i]):
                name[at] = names[self.record[k]] if self.record[k] != NOTHING else NOTHING
                file[at] = self.file[k]
                line[at] = self.line[k]
                column[at] = self.column[k]
                at += 1
        first[self.counts.shape[0]] = cython.cast("unsigned int", at)
        made = {"first": first, "name": name, "file": file, "line": line, "column": column}
        return {key: memoryview(value) for key, value in made.items()}

    def records(self) -> memoryview:
        """The record of each entry so far."""
        return memoryview(self.record)[: self.total]
