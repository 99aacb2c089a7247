# cython: language_level=3, annotation_typing=False
"""Where a function's variables are, as rows of words for the data flow; as objects only those that are looked at."""

from collections.abc import Callable, Sequence
from typing import overload

import cython
from cython.cimports.undwarf.disasm.flow_control import CALL, INDIRECT_CALL
from cython.cimports.undwarf.types.sources.row_words import PLACE_WORDS
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.column import zeros
from undwarf.types.sources.type_source import Place

__all__ = ["PlaceTable", "SortedPlaces", "behind_calls", "sorted_places", "table_of", "words_of"]

_HIGHEST = cython.declare(cython.longlong, 1 << 40)


class PlaceTable(Sequence[Place]):
    """The places of one function's variables. ``rows`` (q) are PLACE_WORDS of each; ``strays`` (B) says of each
    whether it is a register that a variable stays with where its scope has ended; ``make`` makes the object."""

    def __init__(self, rows: memoryview, strays: memoryview, make: Callable[[int], Place]) -> None:
        self.rows = rows
        self.strays = strays
        self._make = make
        self._made: dict[int, Place] = {}

    def __len__(self) -> int:
        return len(self.strays)

    @overload
    def __getitem__(self, number: int) -> Place: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Place]: ...
    def __getitem__(self, number: "int | slice") -> "Place | Sequence[Place]":
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        made = self._made.get(number)
        if made is None:
            if not 0 <= number < len(self.strays):
                raise IndexError(number)
            made = self._made[number] = self._make(number)
        return made

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.locals(rows="const long long[::1]", n=cython.Py_ssize_t, offset=cython.longlong)
    def valid_at(self, at: int) -> list[Place]:
        """Those that are valid so far behind the function's begin, in their order."""
        rows, offset = self.rows, at
        # There are thousands in a large function; as many as there are whole rows.
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
        """The types of those of which a register holds the value, or what it is counted from, in their order."""
        rows, offset, wanted = self.rows, at, register
        found = []
        # As many as there are whole rows.
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
        """(from which address on, register, offset, whether it is what that holds, type) of those that are all of what
        a register holds, or are counted from that, in a function that begins at ``low``."""
        rows = self.rows
        found = []
        # As many as there are whole rows.
        for place in range(len(rows) // PLACE_WORDS):
            n = place * PLACE_WORDS
            if (
                (rows[n + 2] == PlaceKind.REGISTER or rows[n + 2] == PlaceKind.VALUE)
                and rows[n + 6] == 0
                and not self.strays[place]
            ):
                whole = rows[n + 2] == PlaceKind.REGISTER
                found.append((low + rows[n], rows[n + 3], rows[n + 4], whole, rows[n + 7]))
        return found

    @cython.locals(rows="const long long[::1]", n=cython.Py_ssize_t, wanted=cython.longlong)
    def counted_from(self, register: int) -> list[int]:
        """Where those begin to be valid, behind the function's begin, that are counted from what a register holds."""
        rows, wanted = self.rows, register
        count = len(rows) // PLACE_WORDS
        found = {
            rows[PLACE_WORDS * n]
            for n in range(count)
            if rows[PLACE_WORDS * n + 3] == wanted and rows[PLACE_WORDS * n + 4]
        }
        return sorted(found)


@cython.locals(
    rows="long long[::1]", strays="unsigned char[::1]", at=cython.Py_ssize_t, n=cython.Py_ssize_t, fields=tuple,
    words=tuple, first=cython.ulonglong, most=cython.ulonglong,
)  # fmt: skip  # rows of C types
def table_of(places: Sequence[Place], low: int, size: int) -> PlaceTable:
    """The table of places of a function that begins at ``low`` and is so many bytes long."""
    if isinstance(places, PlaceTable):
        return places
    made = rows = zeros("q", PLACE_WORDS * len(places))
    flags = strays = zeros("B", len(places))
    first, most = low, size + 1
    at = 0
    for n, place in enumerate(places):
        # A named tuple is one; asking for its members by name takes several times as long.
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
        strays[n] = fields[2] == PlaceKind.REGISTER and fields[9]
        at += PLACE_WORDS
    return PlaceTable(made, flags, places.__getitem__)


def words_of(kind: int, register: int, offset: int, piece: int, size: int) -> tuple[int, int, int, int, int]:
    """What rows say of a place, whenever it is valid: numbers that are too large become the largest."""
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
    """How far behind the first an address is; -1 for before it, at most ``most``."""
    try:
        at = address
    except OverflowError:
        return -1 if address < 0 else cython.cast(cython.longlong, most)
    if at < first:
        return -1
    return cython.cast(cython.longlong, most if at - first > most else at - first)


class SortedPlaces:
    """Places by what they say. ``in_registers``: what a register holds - its value, or where it is, as of what is
    passed by address; ``in_frame``: what is in memory, which may be both; ``pointing``: the address of a place in the
    frame. ``always``: whether one is in a register in all of the function; ``over_calls``: whether one is said to be on
    both sides of a call in a register that callees may change.

    ``register_rows``, ``frame_rows`` and ``pointing_rows`` are their rows, ``strays`` and ``seeds`` those and the
    registers of the first, each with -1: what that holds is asked for later.
    """

    def __init__(
        self, table: PlaceTable, numbers: "tuple[memoryview, memoryview, memoryview]", always: bool, over_calls: bool
    ) -> None:
        self.in_registers, self.in_frame, pointing = numbers
        self.pointing_rows = _picked(table, pointing)[0]
        self.always, self.over_calls = always, over_calls
        self.register_rows, self.strays, self.seeds = _picked(table, self.in_registers)
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
    table: PlaceTable,
    size: int,
    of_frame: tuple[int, int],
    is_aggregate: Callable[[int], bool],
    calls_of: "memoryview[int]",
    lost: int,
) -> SortedPlaces:
    """The places of a function of so many bytes, whose frame is counted from two registers. ``calls_of`` (I): where
    what follows a call begins in it; ``lost``, as bits: the registers that callees may change."""
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
    """Where what follows a call begins in a function (I), whose instructions' flows (B) and offsets (I) are given."""
    flows, offsets = flows_of, offsets_of
    made = into = zeros("I", len(flows))
    used = 0
    # There are as many offsets as flows.
    for k in range(len(flows) - 1):
        if flows[k] & 15 in (CALL, INDIRECT_CALL):
            into[used] = offsets[k + 1]
            used += 1
    return made[:used]


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.locals(
    rows="const long long[::1]", flags="const unsigned char[::1]", which="const int[::1]", into="long long[::1]",
    strays="unsigned char[::1]", seeds="int[::1]", at=cython.Py_ssize_t, k=cython.Py_ssize_t, n=cython.Py_ssize_t,
)  # fmt: skip  # rows of C types
def _picked(table: PlaceTable, numbers: memoryview) -> tuple[memoryview, memoryview, memoryview]:
    """(rows, strays, registers and -1) of some places, by their numbers: all are those of rows of the table."""
    rows, flags, which = table.rows, table.strays, numbers
    made = into = zeros("q", PLACE_WORDS * len(numbers))
    made_strays = strays = zeros("B", len(numbers))
    made_seeds = seeds = zeros("i", 2 * len(numbers))
    for at in range(len(which)):
        n = which[at]
        for k in range(PLACE_WORDS):
            into[PLACE_WORDS * at + k] = rows[PLACE_WORDS * n + k]
        strays[at] = flags[n]
        seeds[2 * at] = rows[PLACE_WORDS * n + 3]
        seeds[2 * at + 1] = -1
    return made, made_strays, made_seeds
