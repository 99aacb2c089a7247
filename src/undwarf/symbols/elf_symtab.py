# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads ELF symbol tables (gABI chapter 4, "Symbol Table") into the columns of a SymbolTable.

Which symbols count as code follows perf (tools/perf/util/symbol-elf.c): functions and indirect functions in any
loaded section, objects in executable sections, labels without a type in sections whose name says text or data.
"""

from typing import Any

import cython
from cython.cimports.undwarf.elf.headers import (
    SHN_LORESERVE,
    SHN_XINDEX,
    STB_GLOBAL,
    STB_WEAK,
    STT_FUNC,
    STT_GNU_IFUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STV_HIDDEN,
    STV_INTERNAL,
)
from cython.cimports.undwarf.elf.integers import integer_at
from cython.cimports.undwarf.symbols.symbol_constants import (
    NAME_TEXT_SHIFT,
    RANK_GLOBAL,
    RANK_STRONG,
    RANK_TYPED,
    SECTION_CODE,
    SECTION_LABELS,
    SECTION_LOADED,
)

from undwarf.column import zeros


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
    """Appends the symbols of code to ``columns`` (values, sizes, limits, names, ranks), from index ``filled`` on.

    By section index: ``section_bits`` B, ``ends_of_sections`` Q and ``section_bases`` Q (added to values);
    ``extended_indexes`` are the bytes of SHT_SYMTAB_SHNDX. Returns the new number of entries in the columns, which must
    be long enough for all of ``table``.
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
    source = cython.cast(cython.ulonglong, text_number) << NAME_TEXT_SHIFT
    made = filled
    n = data.shape[0] // stride
    text_size = strings.shape[0]
    with cython.nogil:
        for i in range(n):
            at = i * stride
            info = data[at + (4 if wide else 12)]
            kind = info & 15
            if kind != STT_FUNC and kind != STT_GNU_IFUNC and kind != STT_NOTYPE and kind != STT_OBJECT:
                continue
            section = integer_at(data, at + (6 if wide else 14), 2, big)
            if section == 0 or (section >= SHN_LORESERVE and section != SHN_XINDEX):
                continue
            if section == SHN_XINDEX:
                if 4 * i + 4 > extended.shape[0]:
                    continue
                section = integer_at(extended, 4 * i, 4, big)
            if section >= cython.cast(cython.ulonglong, allowed.shape[0]):
                continue
            what = allowed[section]
            if not what & SECTION_LOADED:
                continue
            name = integer_at(data, at, 4, big)
            if wide:
                other = data[at + 5]
                value = integer_at(data, at + 8, 8, big)
                size = integer_at(data, at + 16, 8, big)
            else:
                other = data[at + 13]
                value = integer_at(data, at + 4, 4, big)
                size = integer_at(data, at + 8, 4, big)
            if name == 0 or name >= text_size:
                continue
            if kind == STT_NOTYPE:
                # Hidden and internal labels are for the linker.
                if not what & SECTION_LABELS or (other & 3) == STV_INTERNAL or (other & 3) == STV_HIDDEN:
                    continue
            elif kind == STT_OBJECT and not what & SECTION_CODE:
                continue
            if has_mapping_symbols and strings[name] == 36 and name + 2 < text_size:
                # $x, $d, $a, $t, $x.foo mark where code and data begin (ARM, AArch64, RISC-V psABIs).
                after = strings[name + 2]
                if after == 0 or after == 46:
                    continue
            if thumb and kind == STT_FUNC:
                value &= ~cython.cast(cython.ulonglong, 1)
            binding = info >> 4
            rank = 0
            if kind != STT_NOTYPE:
                rank |= RANK_TYPED
            if binding != STB_WEAK:
                rank |= RANK_STRONG
            if binding == STB_GLOBAL:
                rank |= RANK_GLOBAL
            values[made] = value + bases[section]
            sizes[made] = size
            limits[made] = section_ends[section]
            names[made] = source | name
            ranks[made] = rank
            made += 1
    return made


def columns_for(count: int) -> tuple[Any, Any, Any, Any, Any]:
    """Columns for ``count`` symbols."""
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
    place=cython.ulonglong,
    addend=cython.ulonglong,
    low=cython.ulonglong,
    high=cython.ulonglong,
    room=cython.Py_ssize_t,
)
def relocations_of_types(
    table: Any, is_64: bool, big_endian: bool, has_addends: bool, types: tuple[int, int, int], limit: int,
    within: tuple[int, int] = (0, 0xFFFFFFFFFFFFFFFF),
) -> list[tuple[int, int, int, int]]:  # fmt: skip
    """(address, type, symbol, addend) of relocations of one of three types (gABI, "Relocation"), from an address up to
    another one."""
    data = table
    wide = is_64
    big = big_endian
    addends = has_addends
    one, two, three = types
    low, high = within
    stride = (24 if addends else 16) if wide else (12 if addends else 8)
    n = data.shape[0] // stride
    room = limit
    found: list[tuple[int, int, int, int]] = []
    for i in range(n):
        at = i * stride
        if wide:
            info = integer_at(data, at + 8, 8, big)
            kind = info & 0xFFFFFFFF
            symbol = info >> 32
        else:
            info = integer_at(data, at + 4, 4, big)
            kind = info & 255
            symbol = info >> 8
        if kind != one and kind != two and kind != three:
            continue
        place = integer_at(data, at, 8 if wide else 4, big)
        if not low <= place < high:
            continue
        if room == 0:
            break
        room -= 1
        addend = 0
        if addends:
            addend = integer_at(data, at + 16, 8, big) if wide else integer_at(data, at + 8, 4, big)
        found.append((place, kind, symbol, addend))
    return found
