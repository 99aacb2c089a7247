"""Core files: what a process was when it ended.

Sources: the layout of notes in ``fs/binfmt_elf.c`` and ``include/uapi/linux/elfcore.h`` of Linux, gABI chapter 5.
"""

import struct
from bisect import bisect_right
from dataclasses import dataclass, field

from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_CORE, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE, Segment
from undwarf.elf.notes import notes
from undwarf.errors import ElfError, UnreadableInput
from undwarf.live.snapshot import MACHINES, MAX_THREADS, Machine, Snapshot, Thread
from undwarf.perfdata.encode import RecordEncoder

NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_FILE = 1, 3, 6, 0x46494C45
AT_SYSINFO_EHDR = 33
MAX_MAPPINGS = 1 << 20
STACK_COPY = 60_000
"""Bytes of stack taken at first; the walk reads on in the file."""
HEAD = 1 << 16
"""Bytes of a mapped file, as the core has them, in which its build-id is looked for."""


@dataclass(slots=True)
class _Notes:
    """What the notes of a core file say; threads are (number, registers)."""

    pid: int = 0
    name: bytes = b""
    vdso: int = 0
    threads: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    files: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """(start, end, offset, path) of mapped files."""


def read_core(path: str) -> Snapshot:
    """All threads of a core file. Raises UnreadableInput where it is none, or of a machine that is not supported."""
    try:
        elf = ElfFile.open(path)
    except OSError as error:
        raise UnreadableInput(f"cannot open {path}", error.strerror or str(error)) from error
    return snapshot_of(elf)


def snapshot_of(elf: ElfFile) -> Snapshot:
    """All threads of a core file. Raises UnreadableInput as :func:`read_core` does."""
    what = f"cannot read {elf.path or 'these bytes'} as a core file"
    if elf.kind != ET_CORE:
        raise UnreadableInput(what, "it is another kind of ELF file", "give a core file, or a process's number")
    machine = MACHINES.get(elf.machine)
    if machine is None or not elf.is_64 or elf.byte_order != "little":
        raise UnreadableInput(what, f"machine {elf.machine} is not supported", "x86-64 and AArch64 are, with 64 bits")
    found = _read_notes(elf, machine)
    if not found.threads:
        raise UnreadableInput(what, "it holds no thread's registers", "")
    memory = _Memory(elf)
    pid = found.pid or found.threads[0][0]
    threads = [
        Thread(tid, found.name, registers, memory.read(registers[machine.sp], registers[machine.sp] + STACK_COPY))
        for tid, registers in found.threads
    ]
    return Snapshot(
        pid, found.name, machine, threads, lambda encoder: _mappings(encoder, pid, found, memory), memory.read
    )


class _Memory:
    """The memory that a core file holds."""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        loads = [part for part in elf.segments if part.type == PT_LOAD and part.memory_size]
        self.loads: list[Segment] = sorted(loads, key=lambda part: part.address)
        self._starts = [part.address for part in self.loads]

    def segment(self, address: int) -> Segment | None:
        """The segment that an address lies in."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address - self._starts[at] < self.loads[at].memory_size:
            return self.loads[at]
        return None

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` on, to ``end`` at most."""
        part = self.segment(start)
        if part is None:
            return b""
        at = start - part.address
        size = min(end - start, part.file_size - at)
        return bytes(self.elf.data[part.offset + at : part.offset + at + size]) if size > 0 else b""


def _read_notes(elf: ElfFile, machine: Machine) -> _Notes:
    found = _Notes()
    for part in elf.segments:
        if part.type != PT_NOTE:
            continue
        for owner, kind, data in notes(elf.data[part.offset : part.offset + part.file_size], "little", part.align):
            if owner != b"CORE":
                continue
            if kind == NT_PRSTATUS and len(data) >= 112 + 8 * machine.words and len(found.threads) < MAX_THREADS:
                (tid,) = struct.unpack_from("<i", data, 32)
                found.threads.append((tid & 0x7FFFFFFF, struct.unpack_from(f"<{machine.words}Q", data, 112)))
            elif kind == NT_PRPSINFO and len(data) >= 56:
                found.pid = struct.unpack_from("<i", data, 24)[0] & 0x7FFFFFFF
                found.name = bytes(data[40:56]).split(b"\0")[0]
            elif kind == NT_AUXV:
                for at in range(0, len(data) - 15, 16):
                    key, value = struct.unpack_from("<QQ", data, at)
                    if key == AT_SYSINFO_EHDR:
                        found.vdso = value
            elif kind == NT_FILE:
                found.files = _files(data)
    return found


def _files(data: memoryview) -> list[tuple[int, int, int, bytes]]:
    """The mapped files of an NT_FILE note: places, then names."""
    if len(data) < 16:
        return []
    count, page = struct.unpack_from("<QQ", data)
    count = min(count, (len(data) - 16) // 24, MAX_MAPPINGS)
    names = bytes(data[16 + 24 * count :]).split(b"\0")
    made = []
    for number, name in zip(range(count), names, strict=False):
        start, end, offset = struct.unpack_from("<QQQ", data, 16 + 24 * number)
        if start < end and name:
            made.append((start, end, offset * page & 0xFFFFFFFFFFFFFFFF, name))
    return made


def _mappings(encoder: RecordEncoder, pid: int, found: _Notes, memory: _Memory) -> bytes:
    """Records of the mapped files and of code without a file."""
    out = []
    build_ids: dict[bytes, bytes] = {}
    for start, end, offset, name in found.files:
        if offset == 0 and name not in build_ids:
            build_ids[name] = _build_id(memory.read(start, min(end, start + HEAD)))
    covered = set()
    for start, end, offset, name in found.files:
        part = memory.segment(start)
        flags = part.flags if part is not None else PF_R | PF_X
        covered.add(start)
        if flags & PF_X or not flags & PF_W:
            out.append(
                encoder.mmap2(
                    name,
                    pid,
                    pid,
                    start,
                    end - start,
                    offset,
                    build_id=build_ids.get(name, b""),
                    protection=_protection(flags),
                )
            )
    for part in memory.loads:
        if part.flags & PF_X and part.address not in covered:
            vdso = part.address == found.vdso
            name = b"[vdso]" if vdso else b"//anon"
            build_id = _build_id(memory.read(part.address, part.address + HEAD)) if vdso else b""
            out.append(
                encoder.mmap2(
                    name,
                    pid,
                    pid,
                    part.address,
                    part.memory_size,
                    build_id=build_id,
                    protection=_protection(part.flags),
                )
            )
    return b"".join(out)


def _protection(flags: int) -> int:
    """Of a segment's flags, those of mmap(2)."""
    return (1 if flags & PF_R else 0) | (2 if flags & PF_W else 0) | (4 if flags & PF_X else 0)


def _build_id(head: bytes) -> bytes:
    """The build-id in the first bytes of a mapped ELF file; empty where there is none."""
    try:
        return ElfFile.from_bytes(head).build_id
    except ElfError:
        return b""
