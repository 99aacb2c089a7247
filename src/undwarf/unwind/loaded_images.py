# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""What a walk has loaded of its images, as columns that it searches without the GIL.

One :class:`Loaded` belongs to one walker. It is filled with the GIL held, at the first touch of an image or function;
the walker takes the columns anew after each call, since those that grow are replaced.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import cython

from undwarf.column import longer, zeros
from undwarf.unwind.image_table import HAS_TABLE, NO_MORE, Places

if TYPE_CHECKING:
    from undwarf.tables.model import Functions, UnwindTable

Column = memoryview

_NO_ROWS: tuple[Column, Column] = (zeros("Q", 0), zeros("I", 0))


class Loaded:
    """Segments and rows of images, and their tables' functions.

    By image: ``state`` (0 until it is loaded, else as :mod:`undwarf.unwind.image_table` says), ``entry`` (the address
    where a program starts), ``first_segment`` and ``segments``, ``open``: 1 while its table has sources that were not
    consulted. By segment: ``segment_offset`` and ``segment_end`` in the file, ``segment_address``. By row:
    ``row_address`` and ``row_rule``.

    For images with a table, ``functions`` as it has them, shared by all walks, and ``places``, two entries for each:
    the first of its rows here and their count, 0 until they are made and 0xffffffff where there are none. For images
    with rows of the whole file, ``whole`` has these as columns (addresses, rules), shared as well. ``made`` counts how
    often rows had to be asked for.

    ``rules``, ``expression_bytes`` and ``expression_offsets`` are the rules' words
    (:class:`undwarf.tables.model.RuleSet`), registers by the machine's places; they have every rule that a row names.
    """

    def __init__(self, sources: Places, images: int) -> None:
        self._sources = sources
        make = sources.machine.placed_rules
        self._placed = make() if make is not None else None
        self._tables: dict[int, UnwindTable] = {}
        # The version that the functions here are of: another walk may have had the table grow since.
        self._versions: dict[int, int] = {}
        self.functions: dict[int, Functions] = {}
        self._rows_of: dict[int, Callable[[int], tuple[Column, Column]]] = {}
        # Of the functions that any walk asked for, how many have their rows here.
        self._followed: dict[int, int] = {}
        self.made = 0
        self.places: dict[int, Column] = {}
        self.whole: dict[int, tuple[Column, Column]] = {}
        self.state: Column = zeros("B", images)
        self.open: Column = zeros("B", images)
        self.entry: Column = zeros("Q", images)
        self.first_segment: Column = zeros("I", images)
        self.segments: Column = zeros("I", images)
        self.segment_offset: Column = zeros("Q", 1024)
        self.segment_end: Column = zeros("Q", 1024)
        self.segment_address: Column = zeros("Q", 1024)
        self._segment_total = 0
        self.row_address: Column = zeros("Q", 16384)
        self.row_rule: Column = zeros("I", 16384)
        self._row_total = 0
        self.rules: Column = zeros("i", 0)
        self._expressions = 0
        self.expression_bytes: Column = zeros("B", 0)
        self.expression_offsets: Column = zeros("I", 0)
        self.see_rules()

    def see_rules(self) -> None:
        """Take the rules as they are now; what another thread adds meanwhile is seen next time."""
        rules = self._sources.rules
        if rules is None:
            return
        if self._placed is None:
            self.rules = rules.rules
        else:
            # The count first: the words never have fewer rules than it says.
            count = rules.count
            self.rules = self._placed.follow(rules.rules, count)
        self._expressions = rules.expressions.count
        self.expression_bytes = rules.expression_bytes
        self.expression_offsets = rules.expression_offsets

    def load(self, image: int) -> None:
        """Load an image: its segments, and its table if it has one."""
        with self._sources.lock:
            state, segments, table, entry = self._sources.load(image)
        self.state[image] = state
        self.entry[image] = entry
        at = self._segment_total
        self._segment_total += len(segments)
        self.segment_offset = _with_room(self.segment_offset, at, self._segment_total)
        self.segment_end = _with_room(self.segment_end, at, self._segment_total)
        self.segment_address = _with_room(self.segment_address, at, self._segment_total)
        self.first_segment[image] = at
        self.segments[image] = len(segments)
        for n, (offset, length, address) in enumerate(segments, at):
            self.segment_offset[n] = offset
            self.segment_end[n] = offset + length
            self.segment_address[n] = address
        if table is not None:
            self._tables[image] = table
            self._see_table(image)

    def _see_table(self, image: int) -> None:
        """Take the functions of an image's table, and its rows of the whole file, if it has them."""
        table = self._tables[image]
        # Tables and rules are shared between threads, and asking changes both.
        with self._sources.lock:
            functions = self.functions[image] = table.functions
            self._rows_of[image] = functions.rows
            self._followed[image] = 0
            self._versions[image] = table.version
            whole = table.flat
            self.see_rules()
        self.places[image] = zeros("I", 2 * len(functions.starts))
        self.open[image] = not table.exhausted
        if whole is not None:
            self.whole[image] = whole
        else:
            self.whole.pop(image, None)

    @cython.locals(places="unsigned int[::1]", place=cython.Py_ssize_t)
    def make_rows(self, image: int, function: cython.Py_ssize_t) -> None:
        """Have the rows of a function made, and take those of the functions that other walks asked for since: what one
        thread meets the next one meets soon, and waiting for each other costs them more than the copy."""
        self.made += 1
        places = self.places[image]
        with self._sources.lock:
            self._take(image, function)
            order = self.functions[image].order
            others = order[self._followed[image] :]
            self._followed[image] = len(order)
            for other in others:
                place = 2 * other + 1
                if places[place] == 0:
                    self._take(image, other)
            known = self._sources.rules
            if known is not None and (
                self._placed is not None
                or known.rules is not self.rules
                or known.expressions.count != self._expressions
            ):
                self.see_rules()

    @cython.locals(
        addresses="const unsigned long long[::1]",
        rules="const unsigned int[::1]",
        to_address="unsigned long long[::1]",
        to_rule="unsigned int[::1]",
        places="unsigned int[::1]",
        at=cython.Py_ssize_t,
        count=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
    )
    def _take(self, image: int, function: cython.Py_ssize_t) -> None:
        """Copy the rows of a function here. Tens of thousands of functions are met in a busy recording."""
        addresses, rules = _NO_ROWS
        with self._sources.contained(image):
            addresses, rules = self._rows_of[image](function)
        count = min(len(addresses), len(rules))
        at = self._row_total
        if at + count > len(self.row_address):
            self.row_address = _with_room(self.row_address, at, at + count)
            self.row_rule = _with_room(self.row_rule, at, at + count)
        to_address = self.row_address
        to_rule = self.row_rule
        for i in range(count):
            to_address[at + i] = addresses[i]
            to_rule[at + i] = rules[i]
        self._row_total = at + count
        places = self.places[image]
        places[2 * function] = cython.cast(cython.uint, at)
        places[2 * function + 1] = cython.cast(cython.uint, count) if count else 0xFFFFFFFF

    def ask_further(self, image: int, address: int) -> bool:
        """Have the image's table consult a further source that covers the address; False if none does."""
        table = self._tables[image]
        covered = False
        with self._sources.lock, self._sources.contained(image):
            covered = table.more(address)
        if self._versions[image] != table.version:
            self._see_table(image)
        self.open[image] = not table.exhausted
        if not covered and self.state[image] == HAS_TABLE:
            self.state[image] = NO_MORE
        return covered


def _with_room(column: Column, used: int, needed: int) -> Column:
    """The column, or a larger copy of its first ``used`` entries if it has no room for ``needed``."""
    size = len(column)
    if needed <= size:
        return column
    while size < needed:
        size *= 2
    return longer(column, used, size)
