# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Applies relocations to the bytes of a debugging section, as a linker does.

Source: the gABI's chapter on relocation. Which operation each type of relocation is: :mod:`undwarf.dwarf.relocations`.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.relocation_operations import (
    ABSOLUTE,
    ADD,
    KEEP,
    RELATIVE,
    SET_LEB,
    SET_LOW,
    SUBTRACT,
    SUBTRACT_LEB,
    SUBTRACT_LOW,
)
from cython.cimports.undwarf.elf.headers import SHN_COMMON, SHN_XINDEX
from cython.cimports.undwarf.elf.integers import integer_at

from undwarf.column import zeros


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
    """The values (Q) of all symbols of a symbol table's bytes, plus the base (Q) of the section of each.

    ``extended`` are the bytes of SHT_SYMTAB_SHNDX, with section numbers from 0xff00 on. Undefined symbols are 0.
    """
    view, bases, indexes = table, section_bases, extended
    size = 24 if wide else 16
    n = view.shape[0] // size
    values = zeros("Q", n)
    for i in range(n):
        if wide:
            section = cython.cast("unsigned int", integer_at(view, size * i + 6, 2, big))
            value = integer_at(view, size * i + 8, 8, big)
        else:
            section = cython.cast("unsigned int", integer_at(view, size * i + 14, 2, big))
            value = integer_at(view, size * i + 4, 4, big)
        if section == SHN_XINDEX:
            section = cython.cast("unsigned int", integer_at(indexes, 4 * i, 4, big))
        elif section == SHN_COMMON:
            # The value is an alignment.
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
    after="Py_ssize_t",
)
def apply_relocations(
    section: Any, relocations: Any, symbols: Any, operations: Any, *, wide: bool, big: bool, addends: bool, base: int
) -> int:
    """Apply a relocation section to ``section`` (a bytearray); returns the number of entries that were not applied.

    ``symbols`` (Q) are the symbols' values; ``operations`` (B) has for each type of relocation the operation times 16,
    plus the number of bytes that it changes. ``addends``: the entries have them (RELA), else the section has (REL).
    ``base`` is the section's own address.
    """
    own: cython.ulonglong = base
    big_endian: cython.bint = big
    left = 0
    data, view, values, kinds = section, relocations, symbols, operations
    word = 8 if wide else 4
    entry = 3 * word if addends else 2 * word
    n = view.shape[0] // entry
    for i in range(n):
        offset = integer_at(view, entry * i, word, big_endian)
        info = integer_at(view, entry * i + word, word, big_endian)
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
        old = integer_at(data, at, size, big_endian)
        value = values[cython.cast("Py_ssize_t", symbol)]
        if addends:
            value += integer_at(view, entry * i + 2 * word, word, big_endian)
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
                after = at
                value = leb128(data, cython.address(after), data.shape[0], False) - value
            # The LEB128 keeps its length, which assemblers choose for the largest value.
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
            data[at + (size - 1 - k if big_endian else k)] = cython.cast("unsigned char", value & 0xFF)
            value >>= 8
    return left
