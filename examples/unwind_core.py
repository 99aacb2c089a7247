"""Stacks in a core file, with undwarf.Unwinder: what a reader of minidumps does.

    python examples/unwind_core.py CORE

Registers and mappings come from the core file's notes, memory from its segments; undwarf does the rest. The output is
like that of eu-stack. The layout of notes is in Linux' fs/binfmt_elf.c and include/uapi/linux/elfcore.h.
"""

from __future__ import annotations

import mmap
import struct
import sys
from collections.abc import Iterator

from stack_text import REGISTERS, Writer

import undwarf

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_AUXV, NT_FILE = 1, 6, 0x46494C45
AT_SYSINFO_EHDR = 33
MACHINES = {62: "x86_64", 183: "aarch64"}


class Core:
    """A core file of a 64-bit little-endian process."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (machine,) = struct.unpack_from("<H", self.data, 18)
        self.architecture = MACHINES[machine]
        (headers_at,) = struct.unpack_from("<Q", self.data, 32)
        (count,) = struct.unpack_from("<H", self.data, 56)
        headers = [struct.unpack_from("<IIQQQQQQ", self.data, headers_at + 56 * number) for number in range(count)]
        self.segments = [(start, size, at, flags) for kind, flags, at, start, _, size, *_ in headers if kind == PT_LOAD]
        self.notes = [
            note for kind, _, at, _, _, size, *_ in headers if kind == PT_NOTE for note in self.parse(at, size)
        ]

    def parse(self, at: int, size: int) -> Iterator[tuple[int, bytes]]:
        """Type and contents of the notes in a segment."""
        end = at + size
        while at + 12 <= end:
            name_size, data_size, kind = struct.unpack_from("<III", self.data, at)
            data_at = at + 12 + (name_size + 3 & ~3)
            yield kind, self.data[data_at : data_at + data_size]
            at = data_at + (data_size + 3 & ~3)

    def read_memory(self, address: int, size: int) -> bytes | None:
        """The process's memory from an address on, None if the core file does not have it."""
        for start, length, at, _flags in self.segments:
            if start <= address < start + length:
                count = min(size, start + length - address)
                return self.data[at + address - start :][:count]
        return None

    def threads(self) -> Iterator[tuple[int, dict[str, int]]]:
        """Number and registers of each thread."""
        names = REGISTERS[self.architecture]
        for kind, note in self.notes:
            if kind == NT_PRSTATUS:
                (tid,) = struct.unpack_from("<i", note, 32)
                yield tid, dict(zip(names, struct.unpack_from(f"<{len(names)}Q", note, 112), strict=True))

    def mappings(self) -> Iterator[undwarf.Mapping]:
        """The mapped files, and the vdso, which is in memory alone."""
        flags_at = {start: flags for start, _size, _at, flags in self.segments}

        def protection(start: int) -> str:
            flags = flags_at.get(start, 5)
            return "".join(letter if flags & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1))) + "p"

        for kind, note in self.notes:
            if kind == NT_FILE:
                count, page = struct.unpack_from("<QQ", note)
                paths = note[16 + 24 * count :].split(b"\0")
                for number in range(count):
                    start, end, pages = struct.unpack_from("<QQQ", note, 16 + 24 * number)
                    yield undwarf.Mapping(start, end, pages * page, paths[number].decode(), protection(start))
            elif kind == NT_AUXV:
                vdso = dict(struct.iter_unpack("<QQ", note)).get(AT_SYSINFO_EHDR, 0)
                for start, size, _at, _flags in self.segments:
                    if start == vdso:
                        yield undwarf.Mapping(start, start + size, 0, "[vdso]")


def main() -> None:
    core = Core(sys.argv[1])
    unwinder = undwarf.Unwinder(core.mappings(), core.read_memory, architecture=core.architecture)
    writer = Writer()
    for tid, registers in core.threads():
        stack = unwinder.unwind(registers)
        writer.write(tid, stack)


if __name__ == "__main__":
    main()
