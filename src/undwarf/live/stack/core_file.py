"""Core files: threads, registers, memory and mapped files of a crashed process.

Sources: the layout of notes in ``fs/binfmt_elf.c`` and ``include/uapi/linux/elfcore.h`` of Linux, gABI chapter 5.
"""

import os
import shlex
import stat
import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_CORE, ET_DYN, ET_EXEC, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE, Segment
from undwarf.elf.notes import notes
from undwarf.errors import ElfError, UnreadableInput
from undwarf.images.build_ids import same
from undwarf.images.finder import Place
from undwarf.live.stack.elf_from_memory import HEAD, Range, build_id_of, remains, same_head
from undwarf.live.stack.snapshot import DUMP, MACHINES, MAX_THREADS, Machine, Snapshot, Thread
from undwarf.perfdata.record_writer import RecordEncoder

NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_FILE = 1, 3, 6, 0x46494C45
AT_ENTRY = 9
AT_SYSINFO_EHDR = 33
COMPRESSION = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh": "bzip2",
}
"""First bytes of compressed files, and the program for them."""
MAX_MAPPINGS = 1 << 20
MAX_IMAGES = 10_000
"""Mappings that are checked for an ELF header if the core file names no mapped files."""
PAGE = 4096
_LAST_PAGE = (1 << 64) - PAGE


@dataclass(slots=True)
class _Notes:
    """The notes of a core file; threads are (number, registers)."""

    pid: int = 0
    signal: int = 0
    """The signal that ended the process; 0 in the core of a running one, written by a debugger."""
    name: bytes = b""
    vdso: int = 0
    entry: int = 0
    """Run-time address of the program's entry point."""
    threads: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    files: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """(start, end, offset, path) of mapped files."""


def read_core(path: str, binaries: Sequence[str] = ()) -> Snapshot:
    """All threads of a core file. Raises UnreadableInput if it is none, or if the machine is not supported.

    ``binaries`` are copies of mapped files that are elsewhere by now.
    """
    try:
        elf = ElfFile.open(path)
    except ElfError as error:
        program = _compression(path)
        if not program:
            raise
        what = f"cannot read {path} as a core file"
        name = shlex.quote(path)
        raise UnreadableInput(what, f"it is compressed with {program}", f"{program} -dc < {name} > core") from error
    return snapshot_of(elf, [ElfFile.open(binary) for binary in binaries])


def _compression(path: str) -> str:
    """The program that a file is compressed with; empty if it is not, or unknown."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, "rb") as file:
            head = file.read(6)
    except OSError:
        return ""
    return next((name for magic, name in COMPRESSION.items() if head.startswith(magic)), "")


def snapshot_of(elf: ElfFile, binaries: Sequence[ElfFile] = ()) -> Snapshot:
    """All threads of a core file. Raises UnreadableInput as :func:`read_core` does."""
    what = f"cannot read {elf.path or 'these bytes'} as a core file"
    if elf.kind != ET_CORE:
        raise UnreadableInput(what, "it is another kind of ELF file", "give a core file, or a process's number")
    machine = MACHINES.get(elf.machine)
    if machine is None or not elf.is_64 or elf.byte_order != "little":
        raise UnreadableInput(what, f"machine {elf.machine} is not supported", "x86-64 and AArch64 are, with 64 bits")
    found = _read_notes(elf, machine)
    memory = _Memory(elf)
    missing = memory.missing()
    if not found.threads:
        why = "it is truncated: the registers are missing" if missing else "it has no registers of any thread"
        raise UnreadableInput(what, why, "")
    pid = found.pid or found.threads[0][0]
    found.files = found.files or _assumed_files(found, memory, binaries)
    threads = [
        Thread(tid, found.name, registers, memory.read(registers[machine.sp], registers[machine.sp] + DUMP))
        for tid, registers in found.threads
    ]
    snapshot = Snapshot(
        pid, found.name, machine, threads, lambda encoder: _mappings(encoder, pid, found, memory), memory.read
    )
    snapshot.signal = found.signal
    snapshot.code_memory = memory.read
    snapshot.files = CoreFiles(found.files, found.vdso, memory, binaries, snapshot.lacking)
    if missing:
        snapshot.remarks.append(f"the core file is truncated: {missing:,} bytes of memory are missing")
    return snapshot


class _Memory:
    """The memory in a core file."""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        loads = [part for part in elf.segments if part.type == PT_LOAD and part.memory_size]
        self.loads: list[Segment] = sorted(loads, key=lambda part: part.address)
        self._starts = [part.address for part in self.loads]

    def segment(self, address: int) -> Segment | None:
        """The segment that contains an address."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0 and address - self._starts[at] < self.loads[at].memory_size:
            return self.loads[at]
        return None

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` on, to ``end`` at most."""
        if end <= start:
            return b""
        part = self.segment(start)
        if part is None:
            return b""
        at = start - part.address
        size = min(end - start, part.file_size - at)
        return bytes(self.elf.data[part.offset + at : part.offset + at + size]) if size > 0 else b""

    def missing(self) -> int:
        """Bytes of the segments that are beyond the end of the file."""
        size = len(self.elf.data)
        return sum(min(part.file_size, max(0, part.offset + part.file_size - size)) for part in self.loads)


class CoreFiles:
    """The files that the process of a core file had mapped.

    ``files`` are (start, end, offset, path); ``binaries`` are given by the user, each for the mapped file with the same
    build-id, else with the same start. Files that are not found are added to ``lacking``.
    """

    def __init__(
        self,
        files: list[tuple[int, int, int, bytes]],
        vdso: int,
        memory: _Memory,
        binaries: Sequence[ElfFile] = (),
        lacking: "list[str] | None" = None,
    ) -> None:
        self._lacking = lacking if lacking is not None else []
        self._memory = memory
        self._binaries = binaries
        self._vdso = vdso
        self._ranges: dict[str, list[Range]] = {}
        for start, end, offset, name in files:
            part = memory.segment(start)
            constant = part is not None and part.flags & PF_R != 0 and not part.flags & PF_W
            self._ranges.setdefault(name.decode("utf-8", "surrogateescape"), []).append(
                Range(start, end, offset, constant)
            )

    def file(self, path: str, build_id: bytes, place: Place | None) -> ElfFile | None:
        """The file among those given by the user, or the vdso from memory."""
        if path == "[vdso]":
            part = self._memory.segment(self._vdso)
            data = self._memory.read(part.address, part.address + part.memory_size) if part is not None else b""
            try:
                return ElfFile.from_bytes(data, path)
            except ElfError:
                return None
        for elf in self._binaries:
            if same(elf.build_id, build_id) if build_id else self._is_shown(elf, path):
                return elf
        return None

    def _is_shown(self, elf: ElfFile, path: str) -> bool:
        """Whether a file without a build-id starts like the mapped memory, or has the same name if that is missing."""
        first = next((part for part in self._ranges.get(path, ()) if part.offset == 0), None)
        if first is not None and self._memory.read(first.start, first.start + 64):
            return same_head(elf, self._memory.read, [first])
        return Path(elf.path).name == Path(path).name

    def fits(self, elf: ElfFile, path: str, _build_id: bytes, _place: Place | None) -> bool:
        """Whether the start of a file equals the mapped memory."""
        return same_head(elf, self._memory.read, self._ranges.get(path, ()))

    def remains(self, path: str, _build_id: bytes, _place: Place | None) -> ElfFile | None:
        """A file rebuilt from the core file's memory."""
        if path.startswith("/") and path not in self._lacking:
            self._lacking.append(path)
        return remains(self._memory.read, self._ranges.get(path, ()), path)

    def root(self) -> str:
        """Path of the process's root directory: unknown."""
        return ""


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
                if not found.threads:
                    (found.signal,) = struct.unpack_from("<H", data, 12)
                found.threads.append((tid & 0x7FFFFFFF, struct.unpack_from(f"<{machine.words}Q", data, 112)))
            elif kind == NT_PRPSINFO and len(data) >= 56:
                found.pid = struct.unpack_from("<i", data, 24)[0] & 0x7FFFFFFF
                found.name = bytes(data[40:56]).split(b"\0")[0]
            elif kind == NT_AUXV:
                for at in range(0, len(data) - 15, 16):
                    key, value = struct.unpack_from("<QQ", data, at)
                    if key == AT_SYSINFO_EHDR:
                        found.vdso = value
                    elif key == AT_ENTRY:
                        found.entry = value
            elif kind == NT_FILE:
                found.files = _files(data)
    return found


def _files(data: memoryview) -> list[tuple[int, int, int, bytes]]:
    """(start, end, offset, path) of the mapped files in an NT_FILE note, which has addresses first, then names."""
    if len(data) < 16:
        return []
    count, page = struct.unpack_from("<QQ", data)
    count = min(count, (len(data) - 16) // 24, MAX_MAPPINGS)
    names = bytes(data[16 + 24 * count :]).split(b"\0")
    files = []
    for number, name in zip(range(count), names, strict=False):
        start, end, offset = struct.unpack_from("<QQQ", data, 16 + 24 * number)
        if start < end and name:
            files.append((start, end, offset * page & 0xFFFFFFFFFFFFFFFF, name))
    return files


def _assumed_files(found: _Notes, memory: _Memory, binaries: Sequence[ElfFile]) -> list[tuple[int, int, int, bytes]]:
    """The mapped files of a core file without NT_FILE (QEMU): the program among ``binaries``, located by its fixed
    address or its entry point, and memory that starts with an ELF header."""
    files: list[tuple[int, int, int, bytes]] = []
    for elf in binaries:
        bias = found.entry - elf.entry if elf.kind == ET_DYN else 0
        if bias >= 0 and (elf.kind == ET_EXEC or (elf.kind == ET_DYN and found.entry and not bias % PAGE)):
            files += _segments_at(elf, bias, os.path.abspath(elf.path), memory)
    covered = {start for start, _end, _offset, _name in files}
    for part in memory.loads[:MAX_IMAGES]:
        if part.address in covered:
            continue
        try:
            elf = ElfFile.from_bytes(memory.read(part.address, part.address + HEAD))
        except ElfError:
            continue
        if elf.loads:
            files += _segments_at(elf, part.address - (elf.loads[0].address & -PAGE), f"/{part.address:x}", memory)
    return files


def _segments_at(elf: ElfFile, bias: int, name: str, memory: _Memory) -> list[tuple[int, int, int, bytes]]:
    """The loaded segments of a file as (start, end, offset, path), as far as the process had memory there."""
    parts = []
    for load in elf.loads:
        start = load.address & -PAGE
        end = (load.address + load.file_size + PAGE - 1) & -PAGE
        if memory.segment(start + bias) is not None:
            parts.append((start + bias, min(end + bias, _LAST_PAGE), load.offset & -PAGE, os.fsencode(name)))
    return parts


def _mappings(encoder: RecordEncoder, pid: int, found: _Notes, memory: _Memory) -> bytes:
    """Records of the mapped files and of code without a file."""
    out = []
    build_ids: dict[bytes, bytes] = {}
    for start, end, offset, name in found.files:
        if offset == 0 and name not in build_ids:
            build_ids[name] = build_id_of(memory.read(start, min(end, start + HEAD)))
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
            build_id = build_id_of(memory.read(part.address, part.address + HEAD)) if vdso else b""
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
    """A segment's flags as those of mmap(2)."""
    return (1 if flags & PF_R else 0) | (2 if flags & PF_W else 0) | (4 if flags & PF_X else 0)
