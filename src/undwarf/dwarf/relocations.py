"""Debugging sections of files that are not linked (`.o`, `.ko`, `.dwo`): joined by name and relocated.

Sources: the gABI, "Relocation"; the psABI supplements of x86-64, i386, AArch64, Arm, RISC-V, s390x, PowerPC 64 and
LoongArch for what each type of relocation does. Only what occurs in debugging sections is known, and of x86-64 what
kernel modules have in their code.
"""

from functools import cached_property

from undwarf.defects import Defects
from undwarf.dwarf.apply_relocations import apply_relocations, symbol_values
from undwarf.dwarf.relocation_operations import (
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
from undwarf.elf import ElfFile
from undwarf.elf.headers import (
    SHF_ALLOC,
    SHT_NULL,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    Section,
)
from undwarf.elf.section_layout import section_addresses

_OPERATIONS: dict[int, dict[int, tuple[int, int]]] = {
    # x86-64. Thread-local offsets (DTPOFF) count from the start of the module's block.
    62: {
        0: (KEEP, 0), 1: (ABSOLUTE, 8), 2: (RELATIVE, 4), 4: (RELATIVE, 4), 10: (ABSOLUTE, 4), 11: (ABSOLUTE, 4),
        12: (ABSOLUTE, 2), 14: (ABSOLUTE, 1), 17: (ABSOLUTE, 8), 21: (ABSOLUTE, 4), 24: (RELATIVE, 8),
    },
    3: {
        0: (KEEP, 0), 1: (ABSOLUTE, 4), 2: (RELATIVE, 4), 20: (ABSOLUTE, 2), 22: (ABSOLUTE, 1),
        32: (ABSOLUTE, 4),
    },
    183: {
        0: (KEEP, 0), 257: (ABSOLUTE, 8), 258: (ABSOLUTE, 4), 259: (ABSOLUTE, 2), 260: (RELATIVE, 8),
        261: (RELATIVE, 4), 262: (RELATIVE, 2), 1029: (ABSOLUTE, 8),
    },
    40: {
        0: (KEEP, 0), 2: (ABSOLUTE, 4), 3: (RELATIVE, 4), 5: (ABSOLUTE, 2), 8: (ABSOLUTE, 1),
        106: (ABSOLUTE, 4),
    },
    243: {
        0: (KEEP, 0), 1: (ABSOLUTE, 4), 2: (ABSOLUTE, 8), 8: (ABSOLUTE, 4), 9: (ABSOLUTE, 8), 33: (ADD, 1),
        34: (ADD, 2), 35: (ADD, 4), 36: (ADD, 8), 37: (SUBTRACT, 1), 38: (SUBTRACT, 2), 39: (SUBTRACT, 4),
        40: (SUBTRACT, 8), 52: (SUBTRACT_LOW, 1), 53: (SET_LOW, 1), 54: (ABSOLUTE, 1), 55: (ABSOLUTE, 2),
        56: (ABSOLUTE, 4), 57: (RELATIVE, 4), 60: (SET_LEB, 1), 61: (SUBTRACT_LEB, 1),
    },
    22: {
        0: (KEEP, 0), 1: (ABSOLUTE, 1), 3: (ABSOLUTE, 2), 4: (ABSOLUTE, 4), 5: (RELATIVE, 4), 22: (ABSOLUTE, 8),
        23: (RELATIVE, 8), 52: (ABSOLUTE, 4), 53: (ABSOLUTE, 8),
    },
    21: {
        0: (KEEP, 0), 1: (ABSOLUTE, 4), 3: (ABSOLUTE, 2), 26: (RELATIVE, 4), 38: (ABSOLUTE, 8), 44: (RELATIVE, 8),
        78: (ABSOLUTE, 8),
    },
    258: {
        0: (KEEP, 0), 1: (ABSOLUTE, 4), 2: (ABSOLUTE, 8), 47: (ADD, 1), 48: (ADD, 2), 50: (ADD, 4), 51: (ADD, 8),
        52: (SUBTRACT, 1), 53: (SUBTRACT, 2), 55: (SUBTRACT, 4), 56: (SUBTRACT, 8), 99: (RELATIVE, 4),
        107: (SET_LEB, 1), 108: (SUBTRACT_LEB, 1),
    },
}  # fmt: skip  # a table
"""Operation and bytes by machine (EM_*) and type of relocation."""


class ObjectSections:
    """The debugging sections of a file that is not linked, as they would be after linking it alone.

    Sections of one name, such as the type units that each have a section of their own, are joined in the file's order.
    Loaded sections are at the addresses of :func:`undwarf.elf.section_layout.section_addresses`. Places whose
    relocation is not known are counted and keep their value.
    """

    def __init__(self, elf: ElfFile, defects: "Defects | None" = None) -> None:
        self._elf = elf
        self._defects = elf.defects if defects is None else defects
        self._known: dict[str, memoryview] = {}
        self._values: dict[int, memoryview] = {}

    def section(self, name: str) -> memoryview:
        """All sections of a name (with its dot); empty where there is none."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._read(name)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Section]]:
        found: dict[str, list[Section]] = {}
        for section in self._elf.sections:
            if section.type == SHT_NULL or section.flags & SHF_ALLOC:
                continue
            name = ".debug_" + section.name[8:] if section.name.startswith(".zdebug_") else section.name
            found.setdefault(name, []).append(section)
        return found

    @cached_property
    def _relocations(self) -> dict[int, list[Section]]:
        """By section, the sections that have relocations for it."""
        found: dict[int, list[Section]] = {}
        for section in self._elf.sections:
            if section.type in (SHT_REL, SHT_RELA):
                found.setdefault(section.info, []).append(section)
        return found

    @cached_property
    def _bases(self) -> memoryview:
        """By section: its address if it is loaded, else its offset among the joined sections of its name."""
        column = section_addresses(self._elf)
        for group in self._by_name.values():
            at = 0
            if len(group) > 1 and group[0].name.startswith((".debug_", ".zdebug_")):
                for section in group:
                    column[section.index] = at
                    at += len(self._elf.section_data(section) or b"")
        return column

    def _read(self, name: str) -> memoryview:
        pieces = []
        for section in self._by_name.get(name, ()):
            data = self._elf.section_data(section)
            if data is not None and len(data):
                pieces.append(self._relocated(section, data))
        if len(pieces) == 1:
            return pieces[0]
        if sum(map(len, pieces)) > self._elf.limits.section_bytes:
            self._defects.add("sections too large to join", self._elf.path, detail=name)
            return memoryview(b"")
        return memoryview(b"".join(pieces))

    def _relocated(self, section: Section, data: memoryview) -> memoryview:
        """A section's bytes with its relocations applied; the bytes themselves where it has none."""
        elf = self._elf
        made: bytearray | None = None
        for entries in self._relocations.get(section.index, ()):
            relocations = elf.section_data(entries)
            if relocations is None:
                continue
            if made is None:
                made = bytearray(data)
            left = apply_relocations(
                made,
                relocations,
                self._symbols(entries.link),
                operations_of(elf.machine),
                wide=elf.is_64,
                big=elf.byte_order == "big",
                addends=entries.type == SHT_RELA,
                base=self._bases[section.index],
            )
            if left:
                self._defects.add("relocations of debugging information not understood", elf.path, left)
        return data if made is None else memoryview(made).toreadonly()

    def _symbols(self, table: int) -> memoryview:
        found = self._values.get(table)
        if found is None:
            elf = self._elf
            sections = elf.sections
            data = elf.section_data(sections[table]) if 0 < table < len(sections) else None
            if data is None or sections[table].type != SHT_SYMTAB:
                data = memoryview(b"")
            extended = next((one for one in sections if one.type == SHT_SYMTAB_SHNDX and one.link == table), None)
            indexes = elf.section_data(extended) if extended is not None else None
            found = self._values[table] = symbol_values(
                data,
                self._bases,
                indexes if indexes is not None else memoryview(b""),
                wide=elf.is_64,
                big=elf.byte_order == "big",
            )
        return found


_COLUMNS: dict[int, memoryview] = {}


def operations_of(machine: int) -> memoryview:
    """The ``operations`` of :func:`undwarf.dwarf.apply_relocations.apply_relocations` for a machine (EM_*)."""
    found = _COLUMNS.get(machine)
    if found is None:
        known = _OPERATIONS.get(machine, {})
        column = bytearray(max(known, default=-1) + 1)
        for number, (what, size) in known.items():
            column[number] = what << 4 | size
        found = _COLUMNS[machine] = memoryview(bytes(column))
    return found
