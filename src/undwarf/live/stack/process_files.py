"""The files that a running process maps, even if their paths name other files by now.

A path in /proc/PID/maps is one of the process's own file system, and may have been removed or replaced since. So a path
is used only if its inode matches; else the file is opened through the mapping (/proc/PID/map_files, with enough
privileges; /proc/PID/exe), or rebuilt from memory. Source: proc(5).
"""

import os
import re
import weakref

from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.images.finder import DELETED, Place
from undwarf.images.symfs_paths import confined
from undwarf.live.moved_code import has_bytes_of
from undwarf.live.stack.elf_from_memory import HEAD, Range, build_id_of, remains, same_head

_MAPPING = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) (r?)[-r]?([-w])[-x][ps] ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) ([1-9]\d*) +([^\n]+)$",
    re.MULTILINE,
)
_ANONYMOUS_CODE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) r[-w]xp 0+ 00:00 0 *$", re.MULTILINE)
_Key = tuple[str, Place]


class ProcessFiles:
    """Opens the files that a process maps; open files stay usable when the process ends.

    ``proc`` is its directory in /proc (that of a thread, if the first one has ended), ``memory`` a descriptor of its
    memory, which is closed with this object.
    """

    def __init__(self, pid: int, proc: str, maps: bytes, memory: int) -> None:
        self._pid = pid
        self._proc = proc
        self._memory = memory
        self._opened: dict[_Key, ElfFile | None] = {}
        self._ranges: dict[_Key, list[Range]] = {}
        self._by_build_id: dict[tuple[str, bytes], ElfFile] = {}
        self._root = self._find_root()
        self.maps = self._read(maps)
        """The process's mappings, with names of files for programs in memory only (memfd_create)."""
        weakref.finalize(self, os.close, memory)

    def _find_root(self) -> str:
        root = f"{self._proc}/root"
        try:
            if not os.path.samestat(os.stat(root), os.stat("/")):
                return root
            same = os.readlink(f"{self._proc}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
        except OSError:
            return ""
        return "" if same else root

    def _read(self, maps: bytes) -> bytes:
        for found in _MAPPING.finditer(maps):
            name, place = _name(found[9]), (int(found[6], 16), int(found[7], 16), int(found[8]))
            start, end, offset = (int(found[k], 16) for k in (1, 2, 5))
            constant = found[3] == b"r" and found[4] == b"-"
            self._ranges.setdefault((name, place), []).append(Range(start, end, offset, constant))
        for key in [key for key in self._ranges if key[0].startswith("/memfd:")]:
            if self._open(key) is not None:
                name, place = key
                known = (name[1:], place)
                self._opened[known], self._ranges[known] = self._opened[key], self._ranges[key]
                maps = maps.replace(b" " + os.fsencode(name) + b"\n", b" " + os.fsencode(name[1:]) + b"\n")
        return _ANONYMOUS_CODE.sub(self._name_copied_code, maps)

    def _name_copied_code(self, line: re.Match[bytes]) -> bytes:
        """A line of anonymous code, as one of the file whose code a program copied there, at its own addresses (as for
        huge pages)."""
        start, end = int(line[1], 16), int(line[2], 16)
        for (name, (major, minor, inode)), ranges in self._ranges.items():
            if not ranges[0].start < start < end <= ranges[-1].end:
                continue
            elf = self._open((name, (major, minor, inode)))
            first = elf.address_of_offset(ranges[0].offset) if elf is not None else None
            offset = elf.offset_of_address(start - ranges[0].start + first) if elf and first is not None else None
            if elf is not None and offset is not None and has_bytes_of(elf, self.read, start, end, offset):
                path = os.fsencode(name.replace("\n", "\\012"))
                return b"%s %08x %02x:%02x %d %s" % (line[0].split(b" 0", 1)[0], offset, major, minor, inode, path)
        return line[0]

    def open_all(self) -> None:
        """Open every file now."""
        for key in list(self._ranges):
            self._open(key)

    # For the records of mappings (undwarf.live.system_snapshot.FileIds) ------------------------------------

    def of(self, _pid: int, path: bytes, major: int, minor: int, inode: int) -> bytes:
        """The build-id of a mapped file; empty if it has none, or is no ELF file."""
        key = (_text(path), (major, minor, inode))
        elf = self._open(key)
        if elf is None:
            first = next((part for part in self._ranges.get(key, ()) if part.offset == 0), None)
            return build_id_of(self.read(first.start, min(first.end, first.start + HEAD))) if first else b""
        if elf.build_id:
            self._by_build_id.setdefault((_text(path), elf.build_id), elf)
        return elf.build_id

    # For the finder (undwarf.images.finder.Mapped) ---------------------------------------------------------

    def file(self, path: str, build_id: bytes, place: Place | None) -> ElfFile | None:
        """The mapped file."""
        if build_id:
            return self._by_build_id.get((path, build_id))
        return self._opened.get((path, place)) if place is not None else None

    def fits(self, elf: ElfFile, path: str, _build_id: bytes, place: Place | None) -> bool:
        """Whether the start of a file equals the mapped memory."""
        return place is None or same_head(elf, self.read, self._ranges.get((path, place), ()))

    def remains(self, path: str, _build_id: bytes, place: Place | None) -> ElfFile | None:
        """A file rebuilt from memory."""
        return remains(self.read, self._ranges.get((path, place), ()), path) if place is not None else None

    def root(self) -> str:
        """Path of the process's root directory; empty if it is ours."""
        return self._root

    def read(self, start: int, end: int) -> bytes:
        """The process's memory as it is now; empty if it has ended."""
        try:
            return os.pread(self._memory, end - start, start)
        except (OSError, OverflowError):
            return b""

    # Finding ---------------------------------------------------------------------------------------------

    def _open(self, key: _Key) -> ElfFile | None:
        if key not in self._opened:
            self._opened[key] = self._find(key)
        return self._opened[key]

    def _find(self, key: _Key) -> ElfFile | None:
        name, (major, minor, inode) = key
        if name.startswith("/dev/"):
            return None
        ranges = self._ranges.get(key, ())
        # A name may really end with " (deleted)", which the kernel appends to removed files: that is tried first.
        paths = [self._inside(one) for one in dict.fromkeys((name, name.removesuffix(DELETED)))]
        links = [f"/proc/{self._pid}/map_files/{part.start:x}-{part.end:x}" for part in ranges[:1]]
        for path in (*paths, *links, f"{self._proc}/exe"):
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                continue
            # Links in map_files are the mapped file itself, though union file systems show other inode numbers.
            if path not in links and (status.st_dev, status.st_ino) != (os.makedev(major, minor), inode):
                continue
            elf = _elf(path)
            if elf is not None or path in links:
                return elf
        for path in paths:
            elf = _elf(path)
            if elf is not None and self._is_mapped(elf, ranges):
                return elf
        return None

    def _is_mapped(self, elf: ElfFile, ranges: "list[Range] | tuple[()]") -> bool:
        """Whether the mapped memory starts like the file."""
        first = next((part for part in ranges if part.offset == 0), None)
        if first is None:
            return False
        head = self.read(first.start, min(first.end, first.start + HEAD))
        return len(head) >= 64 and head[:64] == elf.data[:64] and same_head(elf, self.read, ranges)

    def _inside(self, path: str) -> str:
        if not self._root or not path.startswith("/"):
            return path
        return confined(self._root, path) or ""


def _elf(path: str) -> ElfFile | None:
    try:
        return ElfFile.open(path)
    except ElfError:
        return None


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _name(name: bytes) -> str:
    """A name of /proc/PID/maps, in which only line feeds are escaped."""
    return _text(name.replace(rb"\012", b"\n"))
