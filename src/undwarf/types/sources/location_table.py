# cython: language_level=3, annotation_typing=False
"""Variable locations of one function as rows of integers for the data flow; objects are built only for rows that are
read."""

from collections.abc import Callable, Sequence
from typing import overload

import cython
from cython.cimports.undwarf.disasm.flow_control import CALL, INDIRECT_CALL
from cython.cimports.undwarf.types.sources.row_words import PLACE_WORDS
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.column import zeros
from undwarf.types.sources.type_source import Place

__all__ = ["LocationTable", "SortedPlaces", "behind_calls", "sorted_places", "table_of", "words_of"]

_HIGHEST = cython.declare(cython.longlong, 1 << 40)


class LocationTable(Sequence[Place]):
    """The variable locations of one function. ``rows`` (q) has PLACE_WORDS columns; ``outliving_scope`` (B) flags
    registers whose location outlives the variable's scope; ``make`` builds the object of a row."""

    def __init__(self, rows: memoryview, outliving_scope: memoryview, make: Callable[[int], Place]) -> None:
        self.rows = rows
        self.outliving_scope = outliving_scope
        self._make = make
        self._made: dict[int, Place] = {}

    def __len__(self) -> int:
        return len(self.outliving_scope)

    @overload
    def __getitem__(self, number: int) -> Place: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Place]: ...
    def __getitem__(self, number: "int | slice") -> "Place | Sequence[Place]":
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        made = self._made.get(number)
        if made is None:
            if not 0 <= number < len(self.outliving_scope):
                raise IndexError(number)
            made = self._made[number] = self._make(number)
        return made

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.locals(rows="const long long[::1]", n=cython.Py_ssize_t, offset=cython.longlong)
    def valid_at(self, at: int) -> list[Place]:
        """The locations valid at an offset from the function's start, in order."""
        rows, offset = self.rows, at
        # A large function has thousands of rows.
        found = [
            n for n in range(len(rows) // PLACE_WORDS) if rows[PLACE_WORDS * n] <= offset < rows[PLACE_WORDS * n + 1]
        ]
        return [self[n] for n in found]

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.locals(
        rows="const long long[::1]", place=cython.Py_ssize_t, n=cython.Py_ssize_t, offset=cython.longlong,
        wanted=cython.longlong, kind=cython.longlong,
    )  # fmt: skip  # rows of C types
    def types_in(self, register: int, at: int) -> list[int]:
        """Types of the variables whose value is in a register, or computed from it, at an offset from the function's
        start."""
        rows, offset, wanted = self.rows, at, register
        found = []
        # Integer division: whole rows only.
        for place in range(len(rows) // PLACE_WORDS):
            n = place * PLACE_WORDS
            if rows[n + 3] == wanted and rows[n] <= offset < rows[n + 1]:
                kind = rows[n + 2]
                if kind in (PlaceKind.REGISTER, PlaceKind.VALUE):
                    found.append(rows[n + 7])
        return found

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.locals(rows="const long long[::1]", place=cython.Py_ssize_t, n=cython.Py_ssize_t)
    def in_single_registers(self, low: int) -> list[tuple[int, int, int, bool, int]]:
        """(start address, register, offset, whether the variable is the register's value, type) of variables that are
        entirely in, or computed from, one register. ``low`` is the function's address."""
        rows = self.rows
        found = []
        # As many as there are whole rows.
        for place in range(len(rows) // PLACE_WORDS):
            n = place * PLACE_WORDS
            if (
                (rows[n + 2] == PlaceKind.REGISTER or rows[n + 2] == PlaceKind.VALUE)
                and rows[n + 6] == 0
                and not self.outliving_scope[place]
            ):
                whole = rows[n + 2] == PlaceKind.REGISTER
                found.append((low + rows[n], rows[n + 3], rows[n + 4], whole, rows[n + 7]))
        return found

    @cython.locals(rows="const long long[::1]", n=cython.Py_ssize_t, wanted=cython.longlong)
    def counted_from(self, register: int) -> list[int]:
        """Sorted start offsets of the locations relative to a register."""
        rows, wanted = self.rows, register
        count = len(rows) // PLACE_WORDS
        found = {
            rows[PLACE_WORDS * n]
            for n in range(count)
            if rows[PLACE_WORDS * n + 3] == wanted and rows[PLACE_WORDS * n + 4]
        }
        return sorted(found)


@cython.locals(
    rows="long long[::1]", outliving_scope="unsigned char[::1]", at=cython.Py_ssize_t, n=cython.Py_ssize_t,
    fields=tuple, words=tuple, first=cython.ulonglong, most=cython.ulonglong,
)  # fmt: skip  # rows of C types
def table_of(places: Sequence[Place], low: int, size: int) -> LocationTable:
    """The location table of a function of ``size`` bytes at ``low``."""
    if isinstance(places, LocationTable):
        return places
    made = rows = zeros("q", PLACE_WORDS * len(places))
    flags = outliving_scope = zeros("B", len(places))
    first, most = low, size + 1
    at = 0
    for n, place in enumerate(places):
        # Indexing the tuple is several times as fast as its named fields.
        fields = cython.cast(tuple, place)
        words = words_of(fields[2], fields[3], fields[4], fields[7], fields[8])
        rows[at] = _distance(fields[5], first, most)
        rows[at + 1] = _distance(fields[6], first, most)
        rows[at + 2] = words[0]
        rows[at + 3] = words[1]
        rows[at + 4] = words[2]
        rows[at + 5] = words[3]
        rows[at + 6] = words[4]
        rows[at + 7] = fields[1]
        rows[at + 8] = -1
        outliving_scope[n] = fields[2] == PlaceKind.REGISTER and fields[9]
        at += PLACE_WORDS
    return LocationTable(made, flags, places.__getitem__)


def words_of(kind: int, register: int, offset: int, piece: int, size: int) -> tuple[int, int, int, int, int]:
    """The columns of a location other than its validity and type; values out of range are clamped."""
    return (
        kind,
        register if -1 <= register < 1 << 30 else -1,
        offset if -_HIGHEST < offset < _HIGHEST else _HIGHEST,
        piece if -_HIGHEST < piece < _HIGHEST else _HIGHEST,
        size if -_HIGHEST < size < _HIGHEST else _HIGHEST,
    )


@cython.cfunc
@cython.inline
@cython.exceptval(-2, check=True)
@cython.returns(cython.longlong)
@cython.locals(first=cython.ulonglong, most=cython.ulonglong, at=cython.ulonglong)
def _distance(address: int, first: int, most: int) -> int:
    """The offset of an address from ``first``, at most ``most``; -1 if it is before."""
    try:
        at = address
    except OverflowError:
        return -1 if address < 0 else cython.cast(cython.longlong, most)
    if at < first:
        return -1
    return cython.cast(cython.longlong, most if at - first > most else at - first)


class SortedPlaces:
    """Row numbers of a location table by kind of location.

    ``in_registers``: a register holds the value, or the address of a value passed by reference. ``in_frame``: in
    memory; may overlap with the former. ``pointing``: the value is the address of a stack slot. ``always``: one is in a
    register in the whole function. ``over_calls``: a location in a caller-saved register spans a call.

    ``register_rows``, ``frame_rows`` and ``pointing_rows`` are the rows themselves. ``outliving_scope`` and ``seeds``
    belong to ``in_registers``; ``seeds`` are pairs of the register and -1 for a value that is filled in later.
    """

    def __init__(
        self, table: LocationTable, numbers: "tuple[memoryview, memoryview, memoryview]", always: bool, over_calls: bool
    ) -> None:
        self.in_registers, self.in_frame, pointing = numbers
        self.pointing_rows = _picked(table, pointing)[0]
        self.always, self.over_calls = always, over_calls
        self.register_rows, self.outliving_scope, self.seeds = _picked(table, self.in_registers)
        self.frame_rows = _picked(table, self.in_frame)[0]


@cython.locals(
    rows="const long long[::1]", registers="int[::1]", frame="int[::1]", pointing="int[::1]", n=cython.Py_ssize_t,
    kind=cython.longlong, used=cython.Py_ssize_t, in_frame=cython.Py_ssize_t, in_value=cython.Py_ssize_t,
    always=cython.bint, end=cython.longlong,
    stack_pointer=cython.longlong, frame_pointer=cython.longlong, register=cython.longlong, of_register=cython.bint,
    over=cython.bint, behind="const unsigned int[::1]", changed=cython.ulonglong, calls=cython.Py_ssize_t,
    first=cython.Py_ssize_t, last=cython.Py_ssize_t, middle=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def sorted_places(
    table: LocationTable,
    size: int,
    of_frame: tuple[int, int],
    is_aggregate: Callable[[int], bool],
    calls_of: "memoryview[int]",
    lost: int,
) -> SortedPlaces:
    """Classify the locations of a function of ``size`` bytes whose frame is addressed from two registers
    (``of_frame``).

    ``calls_of`` (I) are the offsets after its calls; ``lost`` is a bit set of the caller-saved registers.
    """
    behind, changed = calls_of, lost
    calls = len(behind)
    over = False
    rows = table.rows
    end = size
    stack_pointer, frame_pointer = of_frame
    registers, frame, pointing = zeros("i", len(table)), zeros("i", len(table)), zeros("i", len(table))
    used = in_frame = in_value = 0
    always = False
    for n in range(len(table)):
        kind = rows[PLACE_WORDS * n + 2]
        if kind in (PlaceKind.REGISTER, PlaceKind.VALUE):
            registers[used] = n
            used += 1
            always = always or (rows[PLACE_WORDS * n] <= 0 and rows[PLACE_WORDS * n + 1] >= end)
            register = rows[PLACE_WORDS * n + 3]
            if kind == PlaceKind.REGISTER and not over and 0 <= register < 64 and changed >> register & 1:
                first, last = 0, calls
                while first < last:
                    middle = (first + last) // 2
                    if behind[middle] > rows[PLACE_WORDS * n]:
                        last = middle
                    else:
                        first = middle + 1
                over = first < calls and behind[first] < rows[PLACE_WORDS * n + 1]
        elif kind == PlaceKind.CFA_VALUE:
            pointing[in_value] = n
            in_value += 1
        elif kind in (PlaceKind.MEMORY, PlaceKind.CFA):
            frame[in_frame] = n
            in_frame += 1
            register = rows[PLACE_WORDS * n + 3]
            of_register = kind == PlaceKind.MEMORY and not rows[PLACE_WORDS * n + 6]
            if (
                of_register
                and register not in (stack_pointer, frame_pointer)
                and is_aggregate(rows[PLACE_WORDS * n + 7])
            ):
                registers[used] = n
                used += 1
    numbers = memoryview(registers)[:used], memoryview(frame)[:in_frame], memoryview(pointing)[:in_value]
    return SortedPlaces(table, numbers, always, over)


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.locals(
    flows="const unsigned char[::1]",
    offsets="const unsigned int[::1]",
    into="unsigned int[::1]",
    k=cython.Py_ssize_t,
    used=cython.Py_ssize_t,
)
def behind_calls(flows_of: "memoryview[int]", offsets_of: "memoryview[int]") -> "memoryview[int]":
    """Offsets (I) of the instructions after calls, from the flows (B) and offsets (I) of a function's instructions."""
    flows, offsets = flows_of, offsets_of
    made = into = zeros("I", len(flows))
    used = 0
    # Both arrays have the same length.
    for k in range(len(flows) - 1):
        if flows[k] & 15 in (CALL, INDIRECT_CALL):
            into[used] = offsets[k + 1]
            used += 1
    return made[:used]


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.locals(
    rows="const long long[::1]", flags="const unsigned char[::1]", which="const int[::1]", into="long long[::1]",
    outliving_scope="unsigned char[::1]", seeds="int[::1]", at=cython.Py_ssize_t, k=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def _picked(table: LocationTable, numbers: memoryview) -> tuple[memoryview, memoryview, memoryview]:
    """(rows, flags, seeds) of the rows with some numbers."""
    rows, flags, which = table.rows, table.outliving_scope, numbers
    made = into = zeros("q", PLACE_WORDS * len(numbers))
    made_strays = outliving_scope = zeros("B", len(numbers))
    made_seeds = seeds = zeros("i", 2 * len(numbers))
    for at in range(len(which)):
        n = which[at]
        for k in range(PLACE_WORDS):
            into[PLACE_WORDS * at + k] = rows[PLACE_WORDS * n + k]
        outliving_scope[at] = flags[n]
        seeds[2 * at] = rows[PLACE_WORDS * n + 3]
        seeds[2 * at + 1] = -1
    return made, made_strays, made_seeds
