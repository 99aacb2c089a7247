# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where x86-64 code may refer to functions: calls and jumps (CALLED), ``lea`` and constants (TAKEN).

With ``branches`` short and conditional jumps count too, and calls and jumps through memory at a fixed address, by that
address.

Every byte offset is tried, not only those of instructions, so callers must disassemble around a reference. Encodings:
Intel SDM, volume 2.
"""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.x86_encoding import CALLED, TAKEN
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING

from undwarf.column import longer, zeros

__all__ = ["References", "pointers_in"]

FILTER_BITS = cython.declare(cython.Py_ssize_t, 32)
"""Bits of the filter for each target, at least: most bytes of code are not part of a reference, and only one in so many
of those is searched for."""


class References:
    """The references to functions in the code of a section.

    ``code``: its bytes; ``start``: its address; ``targets`` (Q): the functions, ascending; ``constants``: whether
    addresses may also be 32-bit immediates, as in programs that are not relocated; ``branches``: see the module.
    """

    def __init__(self, code: Any, start: int, targets: Any, *, constants: bool, branches: bool = False) -> None:
        self._code, self._start = code, start
        # Linked lists: `_first` by function, `_next` by reference; NOTHING ends them.
        self._first = zeros("I", len(targets))
        self._next, self._sites, self._kinds = _find_references(code, start, targets, self._first, constants, branches)

    def of(self, function: int) -> list[tuple[int, int]]:
        """(CALLED or TAKEN, address) of the references to a function, by index in ``targets``; sorted."""
        found = []
        at = self._first[function]
        while at != NOTHING:
            found.append((self._kinds[at], self._sites[at]))
            at = self._next[at]
        return sorted(found)

    def by_kind(self, function: int) -> tuple[list[int], list[int], list[int]]:
        """The return addresses of the calls of a function, the sites of jumps there, and those that take its address;
        unordered."""
        found: tuple[list[int], list[int], list[int]] = _by_kind(
            self._code, self._start, self._first[function], self._next, self._sites, self._kinds
        )
        return found


def pointers_in(data: Any, targets: Any) -> set[int]:
    """Those of some addresses (Q, ascending) that words of data have: 8 bytes each, in this machine's byte order."""
    return set(_find_pointers(data[: len(data) & ~7].cast("Q"), _Targets(targets)))


@cython.cclass
class _Targets:
    """Ascending addresses (Q) that are searched for, behind a filter of bits."""

    addresses = cython.declare("const unsigned long long[::1]")
    bits = cython.declare("unsigned char[::1]")
    mask: cython.ulonglong

    @cython.locals(size=cython.Py_ssize_t, i=cython.Py_ssize_t, bit=cython.ulonglong)
    def __init__(self, addresses: Any) -> None:
        size = 64
        while 8 * size < FILTER_BITS * len(addresses):
            size *= 2
        self.addresses = addresses
        self.bits = zeros("B", size)
        self.mask = 8 * size - 1
        for i in range(self.addresses.shape[0]):
            bit = (self.addresses[i] * GOLDEN_RATIO) >> 24 & self.mask
            self.bits[bit >> 3] |= 1 << (bit & 7)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    @cython.locals(bit=cython.ulonglong, low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    def index_of(self, wanted: cython.ulonglong) -> cython.Py_ssize_t:
        """The index of an address; -1 if it is none of them."""
        bit = (wanted * GOLDEN_RATIO) >> 24 & self.mask
        if not self.bits[bit >> 3] >> (bit & 7) & 1:
            return -1
        low, high = 0, self.addresses.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if self.addresses[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < self.addresses.shape[0] and self.addresses[low] == wanted else -1


@cython.locals(words="const unsigned long long[::1]", targets=_Targets, i=cython.Py_ssize_t)
def _find_pointers(words: Any, targets: Any) -> list[int]:
    return [words[i] for i in range(words.shape[0]) if targets.index_of(words[i]) >= 0]


@cython.locals(
    code="const unsigned char[::1]", following="const unsigned int[::1]", sites="const unsigned long long[::1]",
    kinds="const unsigned char[::1]", at=cython.uint, byte=cython.Py_ssize_t, base=cython.ulonglong,
)  # fmt: skip
def _by_kind(section: Any, start: int, first: int, chain: Any, addresses: Any, what: Any) -> Any:
    """The references of the list that begins with ``first``."""
    code, following, sites, kinds = section, chain, addresses, what
    base = start & 0xFFFFFFFFFFFFFFFF
    at = first
    calls: list[Any] = []
    jumps: list[Any] = []
    taken: list[Any] = []
    while at != NOTHING:
        if kinds[at] == TAKEN:
            taken.append(sites[at])
        else:
            byte = sites[at] - base
            if code[byte] == 0xE8:
                calls.append(sites[at] + 5)
            elif code[byte] == 0xFF and code[byte + 1] == 0x15:
                calls.append(sites[at] + 6)
            else:
                jumps.append(sites[at])
        at = following[at]
    return calls, jumps, taken


@cython.locals(
    code="const unsigned char[::1]", targets="const unsigned long long[::1]", first="unsigned int[::1]",
    following="unsigned int[::1]", sites="unsigned long long[::1]", kinds="unsigned char[::1]",
    at=cython.Py_ssize_t, size=cython.Py_ssize_t, value_at=cython.Py_ssize_t, count=cython.Py_ssize_t,
    capacity=cython.Py_ssize_t, low=cython.Py_ssize_t, total=cython.Py_ssize_t, relative=cython.bint,
    constants_too=cython.bint, branches_too=cython.bint,
    kind=cython.uchar, byte=cython.uchar, base=cython.ulonglong, value=cython.uint, wanted=cython.ulonglong,
    here=cython.Py_ssize_t, filtered=_Targets, begins="unsigned char[::1]",
)  # fmt: skip
def _find_references(code: Any, start: int, targets: Any, first: Any, constants: bool, branches: bool) -> Any:
    """(index of the next one I, address Q, kind B) of all references; fills ``first``."""
    total = targets.shape[0]
    size = code.shape[0]
    base = start & 0xFFFFFFFFFFFFFFFF
    constants_too = constants
    branches_too = branches
    for at in range(total):
        first[at] = NOTHING
    count, capacity = 0, 256
    following, sites, kinds = zeros("I", capacity), zeros("Q", capacity), zeros("B", capacity)
    if total == 0:
        return following, sites, kinds
    filtered = _Targets(targets)
    begins = zeros("B", 256)
    here = 0
    for byte in (0xE8, 0xE9, 0x48, 0x4C):
        begins[byte] = 1
    if branches_too:
        for byte in (*range(0x70, 0x80), 0xEB, 0x0F, 0xFF):
            begins[byte] = 1
    if constants_too:
        for byte in (*range(0xB8, 0xC0), 0xC7):
            begins[byte] = 1
    for at in range(size - 4):
        byte = code[at]
        if not begins[byte]:
            # Most bytes.
            continue
        if branches_too and (byte == 0xEB or byte & 0xF0 == 0x70):
            # A short jump: the targets near it are looked at from the last one on.
            wanted = base + cython.cast(cython.ulonglong, at + 2) + code[at + 1]
            if code[at + 1] & 0x80:
                wanted -= 256
            while here < total - 1 and targets[here] < wanted:
                here += 1
            while here > 0 and targets[here] > wanted:
                here -= 1
            if targets[here] != wanted:
                continue
            low, kind = here, CALLED
        else:
            kind = TAKEN
            relative = False
            if byte == 0xE8 or byte == 0xE9:
                kind, relative, value_at = CALLED, True, at + 1
            elif (byte == 0x48 or byte == 0x4C) and code[at + 1] == 0x8D and code[at + 2] & 0xC7 == 5:
                relative, value_at = True, at + 3
            elif branches_too and (
                (byte == 0x0F and code[at + 1] & 0xF0 == 0x80)
                or (byte == 0xFF and (code[at + 1] == 0x15 or code[at + 1] == 0x25))
            ):
                kind, relative, value_at = CALLED, True, at + 2
            elif constants_too and 0xB8 <= byte <= 0xBF:
                value_at = at + 1
            elif constants_too and byte == 0xC7:
                value_at = at + 2
            else:
                continue
            # Checked here, since indices are not.
            if value_at + 4 > size:
                continue
            value = (
                code[value_at]
                | (cython.cast(cython.uint, code[value_at + 1]) << 8)
                | (cython.cast(cython.uint, code[value_at + 2]) << 16)
                | (cython.cast(cython.uint, code[value_at + 3]) << 24)
            )
            wanted = value
            if relative:
                wanted = base + cython.cast(cython.ulonglong, value_at + 4) + value
                if value & cython.cast(cython.uint, 0x80000000):
                    wanted -= cython.cast(cython.ulonglong, 1) << 32
            low = filtered.index_of(wanted)
            if low < 0:
                continue
        if count == capacity:
            capacity *= 2
            following, sites, kinds = (
                longer(following, count, capacity),
                longer(sites, count, capacity),
                longer(kinds, count, capacity),
            )
        following[count], sites[count], kinds[count] = first[low], base + cython.cast(cython.ulonglong, at), kind
        first[low] = count
        count += 1
    return following, sites, kinds
