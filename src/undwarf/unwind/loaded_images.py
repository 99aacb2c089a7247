# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""What a walk has loaded of its images, as columns that it searches without the GIL.

One :class:`LoadedImages` belongs to one walker. It is filled with the GIL held, at the first use of an image or
function; the walker takes the columns again after each call, since those that grow are replaced.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import cython

from undwarf.column import longer, zeros
from undwarf.unwind.image_table import ImageTable
from undwarf.unwind.walk_constants import ImageState

if TYPE_CHECKING:
    from undwarf.tables.model import Functions, UnwindTable

Column = memoryview

_NO_ROWS: tuple[Column, Column] = (zeros("Q", 0), zeros("I", 0))


class LoadedImages:
    """Segments and rows of images, and their tables' functions.

    By image: ``state`` (ImageState), ``entry`` (the address where a program starts), ``first_segment`` and
    ``segments`` (their count), ``open``: 1 while its table has sources that were not consulted. By segment:
    ``segment_offset`` and ``segment_end`` in the file, ``segment_address``. By row: ``row_address`` and ``row_rule``.

    For images with a table: its ``functions``, which all walks share, and ``rows_of_functions`` with two entries for
    each function, the index of its first row here and how many there are (0: not loaded, 0xffffffff: none). For images
    with rows of the whole file ``whole`` has these as columns (addresses, rules), which are shared as well.
    ``functions_loaded`` counts how often rows had to be loaded.

    ``rules``, ``expression_bytes`` and ``expression_offsets`` are those of all tables
    (:class:`undwarf.tables.model.RuleSet`), registers by the machine's places; they have every rule that a row names.
    """

    def __init__(self, sources: ImageTable, images: int) -> None:
        self._sources = sources
        make = sources.machine.placed_rules
        self._placed = make() if make is not None else None
        self._tables: dict[int, UnwindTable] = {}
        # The version of the table that the functions here are of: it may have grown since, for another walk.
        self._versions: dict[int, int] = {}
        self.functions: dict[int, Functions] = {}
        self._rows_of: dict[int, Callable[[int], tuple[Column, Column]]] = {}
        # Of the functions whose rows any walk has loaded, in that order, how many have them here.
        self._followed: dict[int, int] = {}
        self.functions_loaded = 0
        self.rows_of_functions: dict[int, Column] = {}
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
        self.use_rules()

    def use_rules(self) -> None:
        """Use the rules that there are now; those that another thread adds meanwhile are used next time."""
        rules = self._sources.rules
        if rules is None:
            return
        if self._placed is None:
            self.rules = rules.rules
        else:
            # The count first: the words never have fewer rules.
            count = rules.count
            self.rules = self._placed.follow(rules.rules, count)
        self._expressions = rules.expressions.count
        self.expression_bytes = rules.expression_bytes
        self.expression_offsets = rules.expression_offsets

    def load(self, image: int) -> None:
        """Load an image: its segments, and its table if it has one."""
        with self._sources.lock:
            loaded = self._sources.load(image)
        segments = loaded.segments
        self.state[image] = loaded.state
        self.entry[image] = loaded.entry
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
        if loaded.table is not None:
            self._tables[image] = loaded.table
            self._use_table(image)

    def _use_table(self, image: int) -> None:
        """Use the functions of an image's table, and its rows of the whole file, if it has them."""
        table = self._tables[image]
        # Tables and rules are shared between threads, and change when they are used.
        with self._sources.lock:
            functions = self.functions[image] = table.functions
            self._rows_of[image] = functions.rows
            self._followed[image] = 0
            self._versions[image] = table.version
            whole = table.flat
            self.use_rules()
        self.rows_of_functions[image] = zeros("I", 2 * len(functions.starts))
        self.open[image] = not table.exhausted
        if whole is not None:
            self.whole[image] = whole
        else:
            self.whole.pop(image, None)

    @cython.locals(places="unsigned int[::1]", place=cython.Py_ssize_t)
    def load_rows(self, image: int, function: cython.Py_ssize_t) -> None:
        """Load the rows of a function, and of those that other walks have loaded since: this thread will need them
        soon, and waiting for each other costs more than the copy."""
        self.functions_loaded += 1
        places = self.rows_of_functions[image]
        with self._sources.lock:
            self._copy_rows(image, function)
            order = self.functions[image].order
            others = order[self._followed[image] :]
            self._followed[image] = len(order)
            for other in others:
                place = 2 * other + 1
                if places[place] == 0:
                    self._copy_rows(image, other)
            known = self._sources.rules
            if known is not None and (
                self._placed is not None
                or known.rules is not self.rules
                or known.expressions.count != self._expressions
            ):
                self.use_rules()

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
    def _copy_rows(self, image: int, function: cython.Py_ssize_t) -> None:
        """Copy the rows of a function here. A large recording needs tens of thousands of functions."""
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
        places = self.rows_of_functions[image]
        places[2 * function] = cython.cast(cython.uint, at)
        places[2 * function + 1] = cython.cast(cython.uint, count) if count else 0xFFFFFFFF

    def consult_source(self, image: int, address: int) -> bool:
        """Have the image's table consult a further source that covers the address; False if none does."""
        table = self._tables[image]
        covered = False
        with self._sources.lock, self._sources.contained(image):
            covered = table.more(address)
        if self._versions[image] != table.version:
            self._use_table(image)
        self.open[image] = not table.exhausted
        if not covered and self.state[image] == ImageState.HAS_TABLE:
            self.state[image] = ImageState.EXHAUSTED
        return covered


def _with_room(column: Column, used: int, needed: int) -> Column:
    """The column, or a larger copy of its first ``used`` entries if it has fewer than ``needed``."""
    size = len(column)
    if needed <= size:
        return column
    while size < needed:
        size *= 2
    return longer(column, used, size)
