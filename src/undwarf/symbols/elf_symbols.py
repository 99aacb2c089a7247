"""The symbols of an image's code, from its files: .symtab, .dynsym, .gnu_debugdata, Go's table of functions."""

from typing import TYPE_CHECKING

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.headers import (
    EM_AARCH64,
    EM_ARM,
    EM_RISCV,
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_DYNSYM,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    Section,
)
from undwarf.elf.section_layout import section_addresses
from undwarf.images import Image
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.elf_symtab import columns_for, read_symbols
from undwarf.symbols.symbol_constants import (
    NAME_TEXT_SHIFT,
    RANK_STRONG,
    RANK_TYPED,
    SECTION_CODE,
    SECTION_LABELS,
    SECTION_LOADED,
)
from undwarf.symbols.symbol_table import SymbolTable

if TYPE_CHECKING:
    from undwarf.elf.go_functions import GoFunctions
    from undwarf.images.jitdump import JitDump

Source = tuple[ElfFile, Section]


def symbols_of_image(image: Image, limits: Limits = DEFAULT) -> SymbolTable | None:
    """The symbols of an image; None if it has no file, or no file with symbols.

    From the first .symtab of: the binary, the separate debug file, .gnu_debugdata. Dynamic symbols are added, as perf
    does, since .gnu_debugdata omits them. Without a .symtab, a Go program still has its own function table.
    """
    if image.jitdump is not None:
        return symbols_of_jitdump(image.jitdump)
    elf = image.elf
    if elf is None:
        return None
    sources: list[Source] = []
    if not _add(sources, elf, SHT_SYMTAB):
        debug = image.debug_elf
        if (debug is None or not _add(sources, debug, SHT_SYMTAB)) and elf.mini_debug is not None:
            _add(sources, elf.mini_debug, SHT_SYMTAB)
    own = None if sources else _go_functions(elf)
    _add(sources, elf, SHT_DYNSYM)
    return table_of(sources, limits, own)


def symbols_of_jitdump(dump: "JitDump") -> SymbolTable | None:
    """The symbols of a jitdump; file offsets are the addresses."""
    count = len(dump.codes)
    if not count:
        return None
    values, sizes, names = zeros("Q", count), zeros("Q", count), zeros("Q", count)
    for i, code in enumerate(dump.codes):
        values[i], sizes[i], names[i] = code.offset, code.size, code.name
    return SymbolTable(values, sizes, zeros("Q", count), names, zeros("B", count), None, [dump.data])


def symbols_of_elf(elf: ElfFile, limits: Limits = DEFAULT) -> SymbolTable | None:
    """The symbols of one file: .symtab, else .gnu_debugdata, and .dynsym."""
    sources: list[Source] = []
    if not _add(sources, elf, SHT_SYMTAB) and elf.mini_debug is not None:
        _add(sources, elf.mini_debug, SHT_SYMTAB)
    own = None if sources else _go_functions(elf)
    _add(sources, elf, SHT_DYNSYM)
    return table_of(sources, limits, own)


def _add(sources: list[Source], elf: ElfFile, kind: int) -> bool:
    for section in elf.sections:
        if section.type == kind and section.size:
            if elf.section_data(section) is None:
                return False
            sources.append((elf, section))
            return True
    return False


def table_of(sources: list[Source], limits: Limits = DEFAULT, go: "GoFunctions | None" = None) -> SymbolTable | None:
    """One table of the symbols of several symbol sections, whose aliases rank in this order, and of Go's functions."""
    room = len(go) if go is not None else 0
    for elf, section in sources:
        size = _entry_size(elf)
        data = elf.section_data(section)
        room += len(data) // size if data is not None else 0
    if room > limits.symbols:
        return None
    columns = columns_for(room)
    texts: list[memoryview] = []
    filled = 0
    for number, (elf, section) in enumerate(sources):
        data = elf.section_data(section)
        strings = _strings(elf, section)
        texts.append(strings)
        if data is None or (section.entry_size not in (0, _entry_size(elf))):
            continue
        bits, ends, bases = _section_columns(elf)
        filled = read_symbols(
            data,
            strings,
            _entry_size(elf),
            elf.is_64,
            elf.byte_order == "big",
            bits,
            ends,
            bases,
            _extended_indexes(elf, section),
            number,
            elf.machine in (EM_ARM, EM_AARCH64, EM_RISCV),
            elf.machine == EM_ARM,
            columns,
            filled,
        )
    if go is not None:
        filled = _add_functions(go, columns, filled, len(texts))
        texts.append(go.data)
    if not filled:
        return None
    values, sizes, ends, names, ranks = (column[:filled] for column in columns)
    return SymbolTable(values, sizes, ends, names, ranks, None, texts)


def _go_functions(elf: ElfFile) -> "GoFunctions | None":
    from undwarf.elf.go_functions import GoFunctions

    return GoFunctions.of(elf)


def _add_functions(go: "GoFunctions", columns: tuple[memoryview, ...], filled: int, text: int) -> int:
    """Append Go's functions to columns of symbols; the new number of symbols."""
    values, sizes, _ends, names, ranks = columns
    end = filled + len(go)
    values[filled:end] = go.starts
    ranks[filled:end] = bytes([RANK_TYPED | RANK_STRONG]) * len(go)
    for i, (start, last, name) in enumerate(zip(go.starts, go.ends, go.names, strict=True), filled):
        sizes[i] = last - start
        names[i] = name | text << NAME_TEXT_SHIFT
    return end


def _entry_size(elf: ElfFile) -> int:
    return 24 if elf.is_64 else 16


def _strings(elf: ElfFile, section: Section) -> memoryview:
    if section.link < len(elf.sections) and elf.sections[section.link].type == SHT_STRTAB:
        data = elf.section_data(elf.sections[section.link])
        if data is not None:
            return data
    return memoryview(b"")


def _extended_indexes(elf: ElfFile, table: Section) -> memoryview:
    for section in elf.sections:
        if section.type == SHT_SYMTAB_SHNDX and section.link == table.index:
            data = elf.section_data(section)
            if data is not None:
                return data
    return memoryview(b"")


def _section_columns(elf: ElfFile) -> "tuple[memoryview[int], memoryview[int], memoryview[int]]":
    """By section index: SECTION bits, end address (0 for unknown), and the base of its symbols' values."""
    sections = elf.sections
    bits = zeros("B", len(sections))
    ends = zeros("Q", len(sections))
    bases = zeros("Q", len(sections))
    apart = elf.kind == ET_REL
    places = section_addresses(elf) if apart else bases
    for section in sections:
        if section.flags & SHF_ALLOC:
            what = SECTION_LOADED
            if section.flags & SHF_EXECINSTR:
                what |= SECTION_CODE
            if "text" in section.name or "data" in section.name:
                what |= SECTION_LABELS
            bits[section.index] = what
            end = (places[section.index] if apart else section.address) + section.size
            ends[section.index] = end if end < 1 << 64 else 0
    return bits, ends, places
