"""Symbols of kernel modules, whose addresses change with each boot and each load.

The recording has a module's address. Its symbols come from kallsyms, if these are of the same boot, or if a copy of
``/proc/modules`` beside them has the module's address then; else from the module's file, whose sections are laid out
as the kernel does. Code that neither covers stays unnamed rather than misnamed.
"""

import os
import struct
from typing import Any, NamedTuple

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.headers import SHT_SYMTAB
from undwarf.elf.section_layout import text_offsets
from undwarf.images import Image, ImageKind, ImageStore
from undwarf.images.image_kind import kind_of_name
from undwarf.images.kernel_finder import module_name
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.kernel_symbols import MMAP, KernelTable, read_text
from undwarf.symbols.symbol_constants import RANK_GLOBAL, RANK_STRONG, RANK_TYPED
from undwarf.symbols.symbol_table import SymbolTable

MODULES_BYTES = 1 << 22
"""Maximum bytes read of a /proc/modules file."""


class Place(NamedTuple):
    """Runtime addresses of a module; ``end`` is exclusive."""

    start: int
    end: int


class PlacedTable(NamedTuple):
    """Symbols for one address of a module, and the delta from their addresses to those of the recording."""

    symbols: SymbolTable
    delta: int
    place: Place


def module_places(records: Any, store: ImageStore) -> dict[int, list[Place]]:
    """The addresses of modules by image number, in the order of the recording's mappings."""
    side = records.sideband
    starts, lengths = side.mmaps.start, side.mmaps.length
    wanted = [kind_of_name(name) is ImageKind.MODULE for name in records.names]
    found: dict[int, list[Place]] = {}
    if any(wanted):
        for row, name in enumerate(side.name):
            if wanted[name] and side.kind[row] == MMAP and lengths[row]:
                image = store.image((name, side.identity[row]))
                place = Place(starts[row], starts[row] + lengths[row])
                places = found.setdefault(image.number, [])
                if place not in places:
                    places.append(place)
    return found


def placed_tables(
    image: Image, places: list[Place], kernel: KernelTable | None, limits: Limits = DEFAULT
) -> list[PlacedTable]:
    """The symbols of a module for each of its addresses that some table covers."""
    name = module_name(image.path).encode("utf-8", "surrogateescape")
    lowest = first_code(kernel.text, name) if kernel is not None else None
    base = _bases(kernel).get(name, 0) if kernel is not None and lowest is not None else 0
    found: list[PlacedTable] = []
    own: SymbolTable | None = None
    for place in places:
        if kernel is not None and base:
            found.append(PlacedTable(kernel.all_symbols, place.start - base & 0xFFFFFFFFFFFFFFFF, place))
        elif kernel is not None and lowest is not None and place.start <= lowest < place.end:
            found.append(PlacedTable(kernel.all_symbols, 0, place))
        elif image.elf is not None:
            own = own or symbols_of_module(image.elf, limits)
            if own is not None:
                found.append(PlacedTable(own, place.start, place))
    return found


def first_code(text: bytes, name: bytes) -> int | None:
    """The lowest address of a module's code in the text of kallsyms; None if it is absent."""
    needle = b"\t[" + name + b"]"
    lowest: int | None = None
    at = text.find(needle)
    while at >= 0:
        line = text[text.rfind(b"\n", 0, at) + 1 : at].split()
        if len(line) == 3 and line[1] in (b"t", b"T", b"w", b"W"):
            try:
                address = int(line[0], 16)
            except ValueError:
                address = 0
            if address and (lowest is None or address < lowest):
                lowest = address
        at = text.find(needle, at + len(needle))
    return lowest


def read_bases(kallsyms: str) -> dict[bytes, int]:
    """The addresses of modules when a kallsyms file was written, from the ``modules`` file beside it (fs/proc, perf's
    kcore copies); empty if there is none, or if addresses are hidden."""
    found: dict[bytes, int] = {}
    try:
        text = read_text(f"{os.path.dirname(kallsyms)}/modules", MODULES_BYTES)
    except (OSError, ValueError):
        return found
    for line in text.split(b"\n"):
        parts = line.split()
        # name size users dependencies state address [taints]
        if len(parts) >= 6 and parts[5].startswith(b"0x"):
            try:
                address = int(parts[5], 16)
            except ValueError:
                continue
            if 0 < address < 1 << 64:
                found[parts[0]] = address
    return found


def _bases(kernel: KernelTable) -> dict[bytes, int]:
    if kernel.modules is None:
        kernel.modules = read_bases(kernel.source)
    return kernel.modules


def symbols_of_module(
    elf: ElfFile, limits: Limits = DEFAULT, places: dict[int, int] | None = None
) -> SymbolTable | None:
    """The functions of a module's file, by offset from the module's start; None without any. ``places`` has other
    addresses of sections."""
    table = next((one for one in elf.sections if one.type == SHT_SYMTAB and one.size), None)
    data = elf.section_data(table) if table is not None else None
    strings = elf.section_data(elf.sections[table.link]) if table and table.link < len(elf.sections) else None
    if data is None or strings is None:
        return None
    mark = "<" if elf.byte_order == "little" else ">"
    form = struct.Struct(mark + ("IBBHQQ" if elf.is_64 else "IIIBBH"))
    offsets = text_offsets(elf) if places is None else places
    rows = []
    for words in form.iter_unpack(data[: len(data) // form.size * form.size]):
        name, info, section, value, size = (
            (words[0], words[1], words[3], words[4], words[5])
            if elf.is_64
            else (words[0], words[3], words[5], words[1], words[2])
        )
        start = offsets.get(section)
        if start is None or info & 15 not in (0, 2) or value >= elf.sections[section].size:
            continue
        if not 0 < name < len(strings) or strings[name] in b"\0.$":
            continue
        rank = (RANK_TYPED if info & 15 else 0) | (RANK_STRONG if info >> 4 != 2 else 0)
        rank |= RANK_GLOBAL if info >> 4 == 1 else 0
        end = start + elf.sections[section].size
        rows.append((start + value, size, end, name, rank))
        if len(rows) >= limits.symbols:
            break
    if not rows:
        return None
    values, sizes, ends, names = (zeros("Q", len(rows)) for _ in range(4))
    ranks = zeros("B", len(rows))
    for i, (value, size, end, name, rank) in enumerate(rows):
        values[i], sizes[i], ends[i], names[i], ranks[i] = value, size, end, name, rank
    return SymbolTable(values, sizes, ends, names, ranks, None, [strings])
