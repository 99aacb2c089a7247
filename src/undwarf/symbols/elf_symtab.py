# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads ELF symbol tables (gABI chapter 4, "Symbol Table") into the columns of a SymbolTable.

Which symbols count as code follows perf (tools/perf/util/symbol-elf.c): functions and indirect functions in any
loaded section, objects in executable sections, labels without a type in sections whose name says text or data.
"""

from typing import Any

import cython
from cython.cimports.undwarf.symbols.symbol_rank import RANK_GLOBAL, RANK_STRONG, RANK_TYPED

from undwarf.column import zeros

SECTION_LOADED = 1
SECTION_CODE = 2
SECTION_LABELS = 4
"""Bits of what a section may hold: it is loaded, it is executable, its bare labels count."""

LOADED = cython.declare(cython.uint, 1)
CODE = cython.declare(cython.uint, 2)
LABELS = cython.declare(cython.uint, 4)

NOTYPE = cython.declare(cython.uint, 0)
OBJECT = cython.declare(cython.uint, 1)
FUNC = cython.declare(cython.uint, 2)
GNU_IFUNC = cython.declare(cython.uint, 10)
WEAK = cython.declare(cython.uint, 2)
GLOBAL = cython.declare(cython.uint, 1)
XINDEX = cython.declare(cython.uint, 0xFFFF)
RESERVED = cython.declare(cython.uint, 0xFF00)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(data="const unsigned char[::1]", value=cython.ulonglong, i=cython.Py_ssize_t)
def _number(data: Any, at: cython.Py_ssize_t, size: cython.Py_ssize_t, big: cython.bint) -> cython.ulonglong:
    """A number of 2, 4 or 8 bytes; the caller has checked that it lies inside."""
    value = 0
    if big:
        for i in range(size):
            value = (value << 8) | data[at + i]
    else:
        for i in range(size):
            value |= cython.cast(cython.ulonglong, data[at + i]) << (8 * i)
    return value


@cython.locals(
    data="const unsigned char[::1]",
    strings="const unsigned char[::1]",
    allowed="const unsigned char[::1]",
    section_ends="const unsigned long long[::1]",
    bases="const unsigned long long[::1]",
    extended="const unsigned char[::1]",
    values="unsigned long long[::1]",
    sizes="unsigned long long[::1]",
    limits="unsigned long long[::1]",
    names="unsigned long long[::1]",
    ranks="unsigned char[::1]",
    big=cython.bint,
    wide=cython.bint,
    thumb=cython.bint,
    has_mapping_symbols=cython.bint,
    at=cython.Py_ssize_t,
    made=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    i=cython.Py_ssize_t,
    stride=cython.Py_ssize_t,
    name=cython.ulonglong,
    value=cython.ulonglong,
    size=cython.ulonglong,
    source=cython.ulonglong,
    text_size=cython.ulonglong,
    section=cython.ulonglong,
    info=cython.uint,
    other=cython.uint,
    kind=cython.uint,
    binding=cython.uint,
    what=cython.uint,
    rank=cython.uint,
    after=cython.uint,
)
def read_symbols(
    table: Any,
    string_table: Any,
    entry_size: int,
    is_64: bool,
    big_endian: bool,
    section_bits: Any,
    ends_of_sections: Any,
    section_bases: Any,
    extended_indexes: Any,
    text_number: int,
    mapping_symbols: bool,
    thumb_bit: bool,
    columns: Any,
    filled: int,
) -> int:
    """Appends the symbols that count to ``columns`` (values, sizes, limits, names, ranks), from ``filled`` on.

    ``section_bits`` B, ``ends_of_sections`` Q and ``section_bases`` Q (added to values) go by section number;
    ``extended_indexes`` are the bytes of SHT_SYMTAB_SHNDX. Returns how many entries the columns hold then; the columns
    have room for all of ``table``.
    """
    data = table
    strings = string_table
    allowed = section_bits
    section_ends = ends_of_sections
    bases = section_bases
    extended = extended_indexes
    values, sizes, limits, names, ranks = columns
    wide = is_64
    big = big_endian
    has_mapping_symbols = mapping_symbols
    thumb = thumb_bit
    stride = entry_size
    source = cython.cast(cython.ulonglong, text_number) << 48
    made = filled
    n = data.shape[0] // stride
    text_size = strings.shape[0]
    with cython.nogil:
        for i in range(n):
            at = i * stride
            info = data[at + (4 if wide else 12)]
            kind = info & 15
            if kind != FUNC and kind != GNU_IFUNC and kind != NOTYPE and kind != OBJECT:
                continue
            section = _number(data, at + (6 if wide else 14), 2, big)
            if section == 0 or (section >= RESERVED and section != XINDEX):
                continue
            if section == XINDEX:
                if 4 * i + 4 > extended.shape[0]:
                    continue
                section = _number(extended, 4 * i, 4, big)
            if section >= cython.cast(cython.ulonglong, allowed.shape[0]):
                continue
            what = allowed[section]
            if not what & LOADED:
                continue
            name = _number(data, at, 4, big)
            if wide:
                other = data[at + 5]
                value = _number(data, at + 8, 8, big)
                size = _number(data, at + 16, 8, big)
            else:
                other = data[at + 13]
                value = _number(data, at + 4, 4, big)
                size = _number(data, at + 8, 4, big)
            if name == 0 or name >= text_size:
                continue
            if kind == NOTYPE:
                # Hidden and internal labels are for the linker.
                if not what & LABELS or (other & 3) == 1 or (other & 3) == 2:
                    continue
            elif kind == OBJECT and not what & CODE:
                continue
            if has_mapping_symbols and strings[name] == 36 and name + 2 < text_size:
                # $x, $d, $a, $t, $x.foo mark where code and data begin (ARM, AArch64, RISC-V psABIs).
                after = strings[name + 2]
                if after == 0 or after == 46:
                    continue
            if thumb and kind == FUNC:
                value &= ~cython.cast(cython.ulonglong, 1)
            binding = info >> 4
            rank = 0
            if kind != NOTYPE:
                rank |= RANK_TYPED
            if binding != WEAK:
                rank |= RANK_STRONG
            if binding == GLOBAL:
                rank |= RANK_GLOBAL
            values[made] = value + bases[section]
            sizes[made] = size
            limits[made] = section_ends[section]
            names[made] = source | name
            ranks[made] = rank
            made += 1
    return made


def columns_for(count: int) -> tuple[Any, Any, Any, Any, Any]:
    """Empty columns with room for ``count`` symbols."""
    return zeros("Q", count), zeros("Q", count), zeros("Q", count), zeros("Q", count), zeros("B", count)


@cython.locals(
    data="const unsigned char[::1]",
    big=cython.bint,
    wide=cython.bint,
    addends=cython.bint,
    n=cython.Py_ssize_t,
    i=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    stride=cython.Py_ssize_t,
    info=cython.ulonglong,
    kind=cython.ulonglong,
    one=cython.ulonglong,
    two=cython.ulonglong,
    three=cython.ulonglong,
    symbol=cython.ulonglong,
    room=cython.Py_ssize_t,
)
def relocations_of_types(
    table: Any, is_64: bool, big_endian: bool, has_addends: bool, types: tuple[int, int, int], limit: int
) -> list[tuple[int, int, int, int]]:
    """(address, type, symbol, addend) of relocations of one of three types (gABI, "Relocation")."""
    data = table
    wide = is_64
    big = big_endian
    addends = has_addends
    one, two, three = types
    stride = (24 if addends else 16) if wide else (12 if addends else 8)
    n = data.shape[0] // stride
    room = limit
    found: list[tuple[int, int, int, int]] = []
    for i in range(n):
        at = i * stride
        if wide:
            # All of an entry lies inside: there are n whole ones.
            info = (
                _number(data, at + 8, 8, True)
                if big
                else cython.cast(cython.p_ulonglong, cython.address(data[at + 8]))[0]
            )
            kind = info & 0xFFFFFFFF
            symbol = info >> 32
        else:
            info = _number(data, at + 4, 4, big)
            kind = info & 255
            symbol = info >> 8
        if kind != one and kind != two and kind != three:
            continue
        if room == 0:
            break
        room -= 1
        if wide:
            found.append((_number(data, at, 8, big), kind, symbol, _number(data, at + 16, 8, big) if addends else 0))
        else:
            found.append((_number(data, at, 4, big), kind, symbol, _number(data, at + 8, 4, big) if addends else 0))
    return found
