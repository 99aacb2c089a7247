"""Names of machines by ``e_machine`` (all are in /usr/include/elf.h)."""

from undwarf.elf.file import ElfFile

__all__ = ["machine_name", "machine_of_file"]

_NAMES = {
    2: "SPARC", 3: "i386", 4: "m68k", 8: "MIPS", 15: "PA-RISC", 20: "PowerPC", 21: "PowerPC 64", 22: "s390x", 40: "ARM",
    42: "SuperH", 43: "SPARC 64", 50: "Itanium", 62: "x86-64", 92: "OpenRISC", 183: "AArch64", 224: "AMD GPU",
    243: "RISC-V", 247: "BPF", 252: "C-SKY", 258: "LoongArch", 0x9026: "Alpha",
}  # fmt: skip  # a table

_ONE_ORDER = frozenset((3, 22, 62, 258))
"""Machines with one byte order."""


def machine_name(machine: int, byte_order: str) -> str:
    """The name of a machine, with the byte order if it supports both: ``AArch64 (big-endian)``."""
    name = _NAMES.get(machine, f"machine {machine}")
    return name if machine in _ONE_ORDER else f"{name} ({byte_order}-endian)"


def machine_of_file(elf: ElfFile) -> str:
    """The name of a file's machine."""
    return machine_name(elf.machine, elf.byte_order)
