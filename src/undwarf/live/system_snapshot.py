"""Records that describe a system when sampling starts: machine, kernel, running processes and their mappings."""

import os
import platform
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.live.pmu import DEVICES
from undwarf.perfdata import EventAttr
from undwarf.perfdata.abi import CpuMode
from undwarf.perfdata.feature_writer import clock_data, encode_features
from undwarf.perfdata.features import ClockData, Feature, Features
from undwarf.perfdata.record_writer import RecordEncoder

_MAPPING = re.compile(
    rb"([0-9a-f]+)-([0-9a-f]+) ([r-])([w-])([x-])([ps]) ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)\Z"
)
_GNU_BUILD_ID = b"GNU\0"
MAX_MAPS_BYTES = 1 << 26
"""Bytes of one process's /proc/PID/maps that are read."""
KALLSYMS_PIECE = 1 << 18
"""Bytes of /proc/kallsyms that are read at once: in all it has 5 to 20 MB."""
CLOCK_MONOTONIC = 1


def threads_of(pid: int) -> list[int]:
    """The ids of a process's threads, ascending; empty if it has ended."""
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except (OSError, ValueError):
        return []


def all_processes() -> list[int]:
    """The ids of all processes, ascending."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def processes_of(user: int) -> list[int]:
    """The ids of a user's (uid) processes, without this one."""
    pids = []
    for pid in all_processes():
        # It may have ended meanwhile.
        with suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == user and pid != os.getpid():
                pids.append(pid)
    return pids


def read_proc(path: str, limit: int = MAX_MAPS_BYTES) -> bytes:
    """The bytes of a file of /proc or /sys, at most ``limit``; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return b""


def status_of(pid: int | str) -> dict[str, str]:
    """The fields of /proc/PID/status (or of PID/task/TID); empty if there is no such process."""
    lines = read_proc(f"/proc/{pid}/status", 1 << 16).decode("utf-8", "replace").split("\n")
    return {key: value.strip() for key, _colon, value in (line.partition(":") for line in lines if line)}


class BuildIds:
    """Build-ids of mapped files, each file read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int, int, int], bytes] = {}

    def of(self, pid: int, path: bytes, major: int, minor: int, inode: int) -> bytes:
        """The build-id of the file at ``path`` as seen by the process; empty if there is none."""
        key = (path, major, minor, inode)
        if key not in self._known:
            self._known[key] = self._find(pid, path, inode)
        return self._known[key]

    def _find(self, pid: int, path: bytes, inode: int) -> bytes:
        if not path.startswith(b"/") or path.endswith(b" (deleted)") or path.startswith((b"/dev/", b"/memfd:")):
            return b""
        for root in (b"", b"/proc/%d/root" % pid):
            name = os.fsdecode(root + path)
            try:
                if os.stat(name).st_ino != inode:
                    continue
                elf = ElfFile.open(name)
            except (OSError, ElfError):
                continue
            build_id = elf.build_id
            elf.release()
            return build_id
        return b""


class FileIds(Protocol):
    """Gives the build-ids of mapped files, as :class:`BuildIds` does."""

    def of(self, pid: int, path: bytes, major: int, minor: int, inode: int, /) -> bytes: ...


class NoBuildIds:
    """Leaves files to be found by device and inode."""

    def of(self, _pid: int, _path: bytes, _major: int, _minor: int, _inode: int) -> bytes:
        """Nothing."""
        return b""


def describe_processes(
    encoder: RecordEncoder, pids: Iterable[int], build_ids: FileIds, time: int = 0, *, data: bool = True
) -> bytes:
    """Records of the threads of running processes, with their names and mappings (without ``data``: of code), as of
    ``time`` (ns)."""
    out = []
    for pid in pids:
        for tid in threads_of(pid):
            name = read_proc(f"/proc/{pid}/task/{tid}/comm", 64).rstrip(b"\n")
            if name:
                out.append(encoder.comm(name, pid, tid, time=time))
        out.append(describe_mappings(encoder, pid, read_proc(f"/proc/{pid}/maps"), build_ids, time, data=data))
    return b"".join(out)


def describe_mappings(
    encoder: RecordEncoder, pid: int, maps: bytes, build_ids: FileIds, time: int = 0, *, data: bool = True
) -> bytes:
    """Records of the mappings in a process's /proc/PID/maps: code and, with ``data``, read-only data of files."""
    out = []
    for line in maps.split(b"\n"):
        found = _MAPPING.match(line)
        if not found:
            continue
        start, end, offset = (int(found[i], 16) for i in (1, 2, 7))
        major, minor, inode = int(found[8], 16), int(found[9], 16), int(found[10])
        name = found[11]
        protection = (found[3] == b"r") | (found[4] == b"w") << 1 | (found[5] == b"x") << 2
        if not protection & 4 and (protection & 2 or not inode or not data):
            continue
        name = name.replace(rb"\012", b"\n") or b"//anon"
        if name.startswith(b"[stack"):
            continue
        out.append(
            encoder.mmap2(
                name,
                pid,
                pid,
                start,
                end - start,
                offset,
                build_id=build_ids.of(pid, name, major, minor, inode),
                device=(major, minor),
                inode=(inode, 0),
                protection=protection,
                flags=1 if found[6] == b"s" else 2,
                time=time,
            )
        )
    return b"".join(out)


def kernel_build_id() -> bytes:
    """The running kernel's build-id, from its ELF notes."""
    return _note_build_id(read_proc("/sys/kernel/notes", 1 << 16))


def _note_build_id(notes: bytes) -> bytes:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("=III", notes, at)
        name_at = at + 12
        at = name_at + (name_size + 3) // 4 * 4
        if kind == 3 and notes[name_at : name_at + name_size] == _GNU_BUILD_ID:
            return notes[at : at + min(size, 20)]
        at += (size + 3) // 4 * 4
    return b""


def _addresses_of(names: Sequence[bytes]) -> dict[bytes, int]:
    """Addresses of the kernel's symbols with these names, by name; without those that there are not."""
    found: dict[bytes, int] = {}
    rest = b""
    with suppress(OSError), open("/proc/kallsyms", "rb", buffering=0) as file:
        while len(found) < len(names) and (piece := file.read(KALLSYMS_PIECE)):
            piece = rest + piece
            for name in names:
                for letter in (b"T", b"t"):
                    # Faster than a regular expression, which would match every line of some megabytes.
                    at = piece.find(b" " + letter + b" " + name + b"\n") if name not in found else -1
                    if at >= 0:
                        found[name] = int(piece[piece.rfind(b"\n", 0, at) + 1 : at], 16)
            rest = piece[piece.rfind(b"\n") + 1 :]
    return found


def describe_kernel(encoder: RecordEncoder) -> bytes:
    """Records of the kernel's mapping and of its modules; empty if their addresses are hidden."""
    addresses = _addresses_of((b"_text", b"_stext", b"_etext"))
    start = addresses.get(b"_text") or addresses.get(b"_stext") or 0
    if not start:
        return b""
    end = addresses.get(b"_etext", 0)
    name = b"[kernel.kallsyms]" + (b"_text" if addresses.get(b"_text") else b"_stext")
    out = [
        encoder.mmap2(
            name,
            -1,
            0,
            start,
            end - start if end > start else (1 << 64) - 4096 - start,
            start,
            build_id=kernel_build_id(),
            flags=0,
            misc=CpuMode.KERNEL,
        )
    ]
    for line in read_proc("/proc/modules").split(b"\n"):
        parts = line.split()
        if len(parts) < 6 or not parts[5].startswith(b"0x"):
            continue
        address = int(parts[5], 16)
        if address:
            note = read_proc(f"/sys/module/{os.fsdecode(parts[0])}/notes/.note.gnu.build-id", 256)
            out.append(
                encoder.mmap2(
                    b"[" + parts[0] + b"]",
                    -1,
                    0,
                    address,
                    int(parts[1]),
                    build_id=_note_build_id(note),
                    flags=0,
                    misc=CpuMode.KERNEL,
                )
            )
    return b"".join(out)


class KernelRecords:
    """Records of the running kernel and of its modules (:func:`describe_kernel`); its symbols are read again only when
    a module was loaded or unloaded."""

    def __init__(self) -> None:
        self._modules: bytes | None = None
        self._records = b""

    def now(self, encoder: RecordEncoder) -> bytes:
        """The records as of now."""
        # Names and addresses; a line also has how often a module is in use, and by which ones.
        modules = b"\n".join(b" ".join(line.split()[::5]) for line in read_proc("/proc/modules").splitlines())
        if modules != self._modules:
            self._modules, self._records = modules, describe_kernel(encoder)
        return self._records


def why_no_kernel() -> str:
    """Why the kernel's addresses are unknown."""
    level = read_proc("/proc/sys/kernel/kptr_restrict", 16).strip().decode("ascii", "replace")
    if level in ("", "0"):
        return "/proc/kallsyms cannot be read, or shows no addresses"
    return f"kernel.kptr_restrict is {level}, which hides their addresses"


def describe_machine(
    events: list[EventAttr], command: list[str], version: str, tracing: bytes, leaders: Sequence[int] = ()
) -> dict[int, bytes]:
    """Encoded feature sections about this machine and the groups of the events, by number."""
    system = os.uname()
    features = Features()
    features.hostname = socket.gethostname()
    features.osrelease = system.release
    features.version = version
    features.arch = platform.machine()
    features.nrcpus = (os.cpu_count() or 1, len(os.sched_getaffinity(0)))
    cpu = re.search(rb"^model name\s*:\s*(.*)$", read_proc("/proc/cpuinfo"), re.MULTILINE)
    if cpu:
        features.cpudesc = cpu[1].decode("utf-8", "replace")
    memory = re.search(rb"^MemTotal:\s*(\d+) kB$", read_proc("/proc/meminfo"), re.MULTILINE)
    if memory:
        features.total_mem = int(memory[1])
    features.cmdline = command
    with suppress(OSError):
        for name in sorted(os.listdir(DEVICES)):
            number = read_proc(f"{DEVICES}/{name}/type", 16).strip()
            if number.isdigit():
                features.pmu_mappings[int(number)] = name
    features.clockid = max(1, int(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9))
    sizes = Counter(leaders)
    features.groups = [("{anon_group}", leader, size) for leader, size in sizes.items() if size > 1]
    sections = encode_features(features, events)
    if tracing:
        sections[Feature.TRACING_DATA] = tracing
    return sections | clocks()


def clocks() -> dict[int, bytes]:
    """The feature section with the time of day at a time of the recording's clock, now."""
    return {Feature.CLOCK_DATA: clock_data(ClockData(CLOCK_MONOTONIC, time.time_ns(), time.monotonic_ns()))}


def memory_bytes() -> int:
    """Size of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
