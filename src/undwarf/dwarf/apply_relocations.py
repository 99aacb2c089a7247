# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Relocations written into the bytes of a debugging section, as a linker would do it.

Sources: the gABI's chapter on relocation; what each operation does is said by the tables in
:mod:`undwarf.dwarf.relocations`.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128

from undwarf.column import zeros

XINDEX = cython.declare(cython.uint, 0xFFFF)

# What is done: the high four bits of an entry of ``kinds``; the low four are the size in bytes.
ABSOLUTE = cython.declare(cython.int, 1)
RELATIVE = cython.declare(cython.int, 2)
ADD = cython.declare(cython.int, 3)
SUBTRACT = cython.declare(cython.int, 4)
SET_LOW = cython.declare(cython.int, 5)
SUBTRACT_LOW = cython.declare(cython.int, 6)
SET_LEB = cython.declare(cython.int, 7)
SUBTRACT_LEB = cython.declare(cython.int, 8)
KEEP = cython.declare(cython.int, 9)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.locals(view="const unsigned char[::1]")
def _number(view: Any, at: cython.Py_ssize_t, size: cython.int, big: cython.bint) -> cython.ulonglong:
    """A number of up to 8 bytes; 0 where the view ends before it."""
    value: cython.ulonglong = 0
    k: cython.int
    if at < 0 or size > view.shape[0] - at:
        return 0
    for k in range(size):
        value = value << 8 | view[at + (k if big else size - 1 - k)]
    return value


@cython.locals(
    view="const unsigned char[::1]",
    indexes="const unsigned char[::1]",
    bases="const unsigned long long[::1]",
    values="unsigned long long[::1]",
    i="Py_ssize_t",
    n="Py_ssize_t",
    size="Py_ssize_t",
    section="unsigned int",
    value="unsigned long long",
)
def symbol_values(table: Any, section_bases: Any, extended: Any, *, wide: bool, big: bool) -> memoryview:
    """What each symbol of a symbol table's bytes adds (Q): its value, and the base (Q) of the section that it is in.

    ``extended`` are the bytes of the section that has numbers of sections beyond 0xfeff. What is defined elsewhere
    is 0.
    """
    view, bases, indexes = table, section_bases, extended
    size = 24 if wide else 16
    n = view.shape[0] // size
    values = zeros("Q", n)
    for i in range(n):
        if wide:
            section = cython.cast("unsigned int", _number(view, size * i + 6, 2, big))
            value = _number(view, size * i + 8, 8, big)
        else:
            section = cython.cast("unsigned int", _number(view, size * i + 14, 2, big))
            value = _number(view, size * i + 4, 4, big)
        if section == XINDEX:
            section = cython.cast("unsigned int", _number(indexes, 4 * i, 4, big))
        elif section == 0xFFF2:
            # SHN_COMMON: the value is an alignment.
            value = 0
        if section < cython.cast("unsigned int", bases.shape[0]):
            value += bases[section]
        values[i] = value
    return memoryview(values)


@cython.locals(
    data="unsigned char[::1]",
    view="const unsigned char[::1]",
    values="const unsigned long long[::1]",
    kinds="const unsigned char[::1]",
    i="Py_ssize_t",
    n="Py_ssize_t",
    at="Py_ssize_t",
    entry="Py_ssize_t",
    k="Py_ssize_t",
    offset="unsigned long long",
    info="unsigned long long",
    kind="unsigned long long",
    symbol="unsigned long long",
    value="unsigned long long",
    old="unsigned long long",
    what="int",
    size="int",
    word="int",
    left="Py_ssize_t",
    behind="Py_ssize_t",
)
def patch(
    section: Any, relocations: Any, symbols: Any, operations: Any, *, wide: bool, big: bool, addends: bool, base: int
) -> int:
    """Apply the entries of a relocation section's bytes to ``section`` (a bytearray); how many could not be.

    ``symbols`` (Q) are the symbols' values, ``operations`` (B) what each type of relocation does. ``addends`` says
    whether entries have them (RELA), else the section has (REL). ``base`` is the section's own address.
    """
    own: cython.ulonglong = base
    upside: cython.bint = big
    left = 0
    data, view, values, kinds = section, relocations, symbols, operations
    word = 8 if wide else 4
    entry = 3 * word if addends else 2 * word
    n = view.shape[0] // entry
    for i in range(n):
        offset = _number(view, entry * i, word, upside)
        info = _number(view, entry * i + word, word, upside)
        if wide:
            kind = info & 0xFFFFFFFF
            symbol = info >> 32
        else:
            kind = info & 0xFF
            symbol = info >> 8
        what = kinds[cython.cast("Py_ssize_t", kind)] if kind < cython.cast("unsigned long long", kinds.shape[0]) else 0
        size = what & 15
        what >>= 4
        if what == KEEP:
            continue
        if (
            what == 0
            or symbol >= cython.cast("unsigned long long", values.shape[0])
            or offset > cython.cast("unsigned long long", data.shape[0] - size)
            or data.shape[0] < size
        ):
            left += 1
            continue
        at = cython.cast("Py_ssize_t", offset)
        old = _number(data, at, size, upside)
        value = values[cython.cast("Py_ssize_t", symbol)]
        if addends:
            value += _number(view, entry * i + 2 * word, word, upside)
        elif what in (ABSOLUTE, RELATIVE):
            value += old
        if what == RELATIVE:
            value -= own + offset
        elif what == ADD:
            value = old + value
        elif what == SUBTRACT:
            value = old - value
        elif what == SET_LOW:
            value = (old & 0xC0) | (value & 0x3F)
        elif what == SUBTRACT_LOW:
            value = (old & 0xC0) | ((old - value) & 0x3F)
        elif what in (SET_LEB, SUBTRACT_LEB):
            if what == SUBTRACT_LEB:
                behind = at
                value = leb128(data, cython.address(behind), data.shape[0], False) - value
            # The number keeps its length, which was made for the largest.
            k = 0
            while at + k < data.shape[0] and k < 10:
                what = data[at + k] & 0x80
                data[at + k] = cython.cast("unsigned char", (value & 0x7F) | cython.cast("unsigned int", what))
                value >>= 7
                k += 1
                if what == 0:
                    break
            continue
        for k in range(size):
            data[at + (size - 1 - k if upside else k)] = cython.cast("unsigned char", value & 0xFF)
            value >>= 8
    return left
