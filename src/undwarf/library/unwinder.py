"""Unwinds stacks of a process that a program inspects: a debugger, a minidump reader, a profiler."""

import os
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Registers
from typing import NamedTuple, TypeVar

from undwarf.column import absent, zeros
from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.errors import ElfError, UsageError
from undwarf.images import Finder, ImageStore
from undwarf.images.finder import Place
from undwarf.images.image_kind import bits_of_name
from undwarf.integer_constants import NOTHING
from undwarf.library.mapping import Mapping
from undwarf.library.register_names import PERF_BITS, POINTERS
from undwarf.limits import DEFAULT, Limits
from undwarf.live.stack.elf_from_memory import Range, remains, same_head
from undwarf.perfdata.abi import REGS_ABI_64, CpuMode
from undwarf.perfdata.features import Features
from undwarf.perfdata.records import FileIdentity, Samples, Sideband
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.spaces.replay import Replay
from undwarf.tables.disk.cache import Store
from undwarf.unwind.arch import machine_named
from undwarf.unwind.code_address import CodeAddress
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.stop_reason import StopReason
from undwarf.unwind.unwind_tables import UnwindTables
from undwarf.unwind.walker import Walker

ReadMemory = Callable[[int, int], bytes | None]
"""Reads memory: from an address and a number of bytes to the bytes from there on, fewer or None where it ends."""

DUMP = 1 << 16
"""Bytes of the stack that are read first; the walk requests memory beyond."""
PAGE = 4096
WORD = 8
MAX_NODES = 20_000
"""Stack nodes above which all are dropped: those of one stack are copied from the columns of all."""
INITIAL_IMAGES = 64
"""Images that the first rule cache can hold."""

_PROCESS = 1
"""The process's number among those that the replay knows: there is no other."""
_REGISTERS_AT = 8
"""Where the registers are in a sample's bytes; 0 would be none."""
_ANONYMOUS = b"//anon"
"""The name of memory without a file, as in recordings."""
_Item = TypeVar("_Item")


class UnwoundFrame(NamedTuple):
    """One frame of a stack: where it is in the process, and in which file.

    ``address`` is an address of the process; ``file_address`` the same as an ELF virtual address of the file ``path``,
    which :class:`Symbolizer` takes, or None if the file was not found or there is none. ``provenance`` is how its
    caller was found.
    """

    address: CodeAddress
    path: str
    file_address: CodeAddress | None
    provenance: Provenance


class UnwoundStack(NamedTuple):
    """A stack: its frames, innermost first, and why they end where they end. ``stop_path`` is the file in which the
    walk stopped, empty if there is none."""

    frames: list[UnwoundFrame]
    stop: StopReason
    stop_path: str

    @property
    def is_whole(self) -> bool:
        """Whether the walk reached the root: nothing is missing."""
        return self.stop.is_whole


class Unwinder:
    """Unwinds stacks of one process at a time, from registers and memory that the caller reads.

    ``mappings`` are those of the process (:meth:`Mapping.parse_maps` reads them from /proc/PID/maps). ``read_memory``
    is called with an address and a number of bytes, and returns the bytes from there on: fewer if memory ends there,
    None if there is none; an OSError counts as None. It is asked for stacks, and for files that are gone (a vdso too)
    their unwind information is taken from memory. ``architecture`` is ``"x86_64"`` or ``"aarch64"``; the process need
    not be one of this machine.

    Files are found by their paths, below ``symfs`` if that is given, and separate debug files in ``debug_dirs``;
    ``unwind`` and ``cache`` are as in :class:`Options`. Unwind tables are loaded at their first use and stay loaded.
    Damage in files is counted in ``defects``. One thread at a time may use an unwinder. Raises UsageError for an
    unknown architecture or kind of unwind information.

    >>> unwinder = undwarf.Unwinder([], lambda address, size: None)
    >>> stack = unwinder.unwind({"rip": 0x401000, "rsp": 0x7FFC0000})
    >>> stack.stop, [hex(frame.address) for frame in stack.frames]
    (<StopReason.UNMAPPED: 4>, ['0x401000'])
    """

    def __init__(
        self,
        mappings: Iterable[Mapping],
        read_memory: ReadMemory,
        *,
        architecture: str = "x86_64",
        symfs: "str | os.PathLike[str]" = "",
        debug_dirs: "Sequence[str | os.PathLike[str]]" = (),
        unwind: str | Sequence[str] = "auto",
        cache: bool = True,
        limits: Limits = DEFAULT,
    ) -> None:
        machine = machine_named(architecture)
        if machine is None:
            raise UsageError(f"stacks of {architecture} are not unwound", "", "x86_64 and aarch64 are")
        self._machine = machine
        self._limits = limits
        self.defects = Defects()
        self._names: list[bytes] = []
        self._identities: list[FileIdentity] = []
        self._keys: list[tuple[int, int]] = []
        debug = (*(os.fspath(directory) for directory in debug_dirs), "/usr/lib/debug")
        self._finder = Finder(os.fspath(symfs), debug, limits=limits, defects=self.defects)
        features = Features(osrelease=os.uname().release)
        self._store = ImageStore(self._names, self._identities, features, self._finder)
        disk = Store.from_environment(limits, self.defects) if cache else None
        self._tables = UnwindTables(self._store, self._keys, unwind, disk, limits, machine=self._machine)
        self._replay = Replay()
        self._name_numbers: dict[bytes, int] = {}
        self._identity_numbers: dict[FileIdentity, int] = {}
        self._walkers: dict[int, Walker] = {}
        self._rules: RuleCache | None = None
        self._image_capacity = 0
        self._failure: Exception | None = None
        self.remap(mappings, read_memory)

    @property
    def architecture(self) -> str:
        """The architecture of the process."""
        return self._machine.package

    @property
    def mappings(self) -> list[Mapping]:
        """The mappings of the process."""
        return list(self._mappings)

    def remap(self, mappings: Iterable[Mapping], read_memory: ReadMemory | None = None) -> None:
        """Take other mappings from now on: those of the process after it has changed them, or with another
        ``read_memory`` those of another process. Unwind tables stay loaded."""
        self._mappings = [_checked(one) for one in mappings]
        if read_memory is not None:
            self._read_memory = read_memory
        self._finder.mapped = _MappedMemory(self._mappings, self._read)
        self._space = self._replayed()

    def unwind(self, registers: Registers[str, int], read_memory: ReadMemory | None = None) -> UnwoundStack:
        """The stack of a thread with these registers, by name: ``rax`` to ``r15`` and ``rip``, or ``x0`` to ``x30``,
        ``sp`` and ``pc``; others are ignored.

        The program counter and the stack pointer are needed; a frame whose rule needs another register that is missing
        is the last one. ``read_memory`` reads the stack of this thread instead, as from a copy. Raises UsageError if
        a needed register is missing, and what ``read_memory`` raises other than OSError.
        """
        bits = PERF_BITS[self._machine.package]
        known = sorted((bits[name], value) for name, value in registers.items() if name in bits)
        pointers = POINTERS[self._machine.package]
        if any(name not in registers for name in pointers):
            raise UsageError("the registers are not enough", f"{' and '.join(pointers)} are needed")
        mask = sum(1 << bit for bit, _value in known)
        stack_pointer = registers[pointers[1]] & (1 << 64) - 1

        def read(address: int, size: int) -> bytes:
            return self._read(address, size, read_memory)

        dump = read(stack_pointer, DUMP)
        # A stack that cannot be read is an empty dump.
        size = max(WORD, len(dump) & -WORD)
        words = [value & (1 << 64) - 1 for _bit, value in known]
        body = struct.pack(f"={_REGISTERS_AT}xQ{len(words)}QQ", REGS_ABI_64, *words, size)
        window = body + dump[:size].ljust(size, b"\0") + struct.pack("=Q", len(dump) & -WORD)
        walker = self._walker(mask)
        walker.live.read_with(lambda _sample, start, end: read(start, end - start) or None)
        stack, stop, stop_image = zeros("I", 1), zeros("B", 1), zeros("I", 1)
        ip = registers[pointers[0]] & (1 << 64) - 1
        sample = _one_sample(ip, _REGISTERS_AT + WORD + 8 * len(words))
        walker.set_samples(sample, self._space, absent("I", 1), memoryview(b"\1"))
        walker.walk(memoryview(window), 0, 0, 1, stack, stop, stop_image)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        frames = self._frames(walker, stack[0])
        stopped = self._tables.image(stop_image[0]).path if stop_image[0] != NOTHING else ""
        return UnwoundStack(frames, StopReason(stop[0]), stopped)

    def close(self) -> None:
        """Store the rows of tables that were used in the cache, for the next run."""
        self._tables.keep_tables()

    def __enter__(self) -> "Unwinder":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<undwarf.Unwinder {self.architecture}: {len(self._mappings)} mappings>"

    def _read(self, address: int, size: int, reader: ReadMemory | None = None) -> bytes:
        """Memory from an address on, as much as there is of ``size`` bytes."""
        for count in (size, min(size, -address % PAGE), min(size, WORD)) if self._failure is None else ():
            try:
                data = (reader or self._read_memory)(address, count) if count > 0 else None
            except OSError:
                data = None
            except Exception as error:  # noqa: BLE001 - the walk cannot be left: raised after it
                self._failure = error
                return b""
            if data:
                return bytes(data[:count])
        return b""

    def _replayed(self) -> memoryview:
        """The address space (I, one entry) of the mappings, which replace those before."""
        rows = [(one, self._number_of_name(one), self._number_of_file(one)) for one in self._mappings]
        bits = memoryview(bytes(map(bits_of_name, self._names)))
        self._replay.compact({_PROCESS})
        space, _kernel, _comm = self._replay.run(_sideband(rows), _one_sample(0, 0), zeros("I", 1), bits)
        self._keys += self._replay.keys()[len(self._keys) :]
        if self._rules is not None:
            self._rules.set_spaces(self._replay.mappings.columns(), NOTHING, renumbered=True)
        return space

    def _number_of_name(self, mapping: Mapping) -> int:
        name = os.fsencode(mapping.path) or _ANONYMOUS
        return _number(name, self._name_numbers, self._names)

    def _number_of_file(self, mapping: Mapping) -> int:
        try:
            build_id = bytes.fromhex(mapping.build_id)[:20]
        except ValueError:
            raise UsageError("a mapping cannot be used", f"{mapping.build_id!r} is no hexadecimal build-id") from None
        device = (0, 0) if build_id else mapping.device
        identity = FileIdentity(build_id, *device, 0 if build_id else mapping.inode, 0)
        return _number(identity, self._identity_numbers, self._identities)

    def _walker(self, mask: int) -> Walker:
        """The walker for stacks with the registers of a mask; all share their rules."""
        total = len(self._keys)
        if self._rules is None or total > self._image_capacity:
            self._image_capacity = max(INITIAL_IMAGES, 2 * total)
            columns = self._replay.mappings.columns()
            self._rules = RuleCache(self._tables, columns, self._image_capacity, True, NOTHING, True)
            self._walkers.clear()
        elif self._rules.stacks.nodes_total() > MAX_NODES:
            self._rules.reset()
        walker = self._walkers.get(mask)
        if walker is None:
            slots = memoryview(self._machine.registers.slots(mask))
            walker = self._walkers[mask] = Walker(self._rules, slots, self._limits)
        return walker

    def _frames(self, walker: Walker, node: int) -> list[UnwoundFrame]:
        """The frames of a stack node."""
        columns: dict[str, memoryview] = walker.rules.stacks.columns()
        parents, frames, images = columns["parent"], columns["frame"], columns["image"]
        found = []
        while node != NOTHING:
            frame = frames[node]
            image = self._tables.image(images[frame]) if images[frame] != NOTHING else None
            is_return = columns["is_return"][frame] != 0
            in_file = image is not None and image.runs_at_file_addresses and image.elf is not None
            found.append(
                UnwoundFrame(
                    CodeAddress(columns["runtime"][frame], is_return),
                    image.path if image is not None and image.name != _ANONYMOUS else "",
                    CodeAddress.of_lookup(columns["address"][frame], is_return) if in_file else None,
                    Provenance(columns["provenance"][frame]),
                )
            )
            node = parents[node]
        return found


class _MappedMemory:
    """The files that a process maps, by what is in its memory (:class:`undwarf.images.finder.Mapped`)."""

    def __init__(self, mappings: Sequence[Mapping], read: Callable[[int, int], bytes]) -> None:
        self._read_bytes = read
        self._ranges: dict[str, list[Range]] = {}
        for one in mappings:
            constant = one.protection[:2] == "r-"
            self._ranges.setdefault(one.path, []).append(Range(one.start, one.end, one.offset, constant))

    def file(self, path: str, _build_id: bytes, _place: Place | None) -> ElfFile | None:
        """The vdso, which is in memory alone."""
        if path != "[vdso]" or path not in self._ranges:
            return None
        try:
            return ElfFile.from_bytes(self._read(*self._ranges[path][0][:2]), path)
        except ElfError:
            return None

    def fits(self, elf: ElfFile, path: str, _build_id: bytes, _place: Place | None) -> bool:
        """Whether the start of a file equals what is in memory, as far as that can be read."""
        ranges = self._ranges.get(path, ())
        first = next((part for part in ranges if part.offset == 0), None)
        if first is None or not self._read(first.start, first.start + WORD):
            return True
        return same_head(elf, self._read, ranges)

    def remains(self, path: str, _build_id: bytes, _place: Place | None) -> ElfFile | None:
        """The file as it is in memory."""
        return remains(self._read, self._ranges.get(path, ()), path)

    def root(self) -> str:
        """The process's root directory: unknown."""
        return ""

    def _read(self, start: int, end: int) -> bytes:
        """Memory from ``start`` on, to ``end`` at most, in blocks: what has an end is read up to it."""
        found = bytearray()
        while start < end:
            data = self._read_bytes(start, min(end - start, DUMP))
            if not data:
                break
            found += data
            start += len(data)
        return bytes(found)


def _checked(mapping: Mapping) -> Mapping:
    """The mapping. Raises UsageError if its numbers are not those of addresses."""
    if not 0 <= mapping.start < mapping.end <= 1 << 64 or not 0 <= mapping.offset < 1 << 64:
        raise UsageError("a mapping cannot be used", f"{mapping!r} is no range of addresses")
    return mapping


def _number(item: _Item, numbers: dict[_Item, int], items: list[_Item]) -> int:
    """The index of an item in ``items``, to which it is added if it is new."""
    number = numbers.setdefault(item, len(items))
    if number == len(items):
        items.append(item)
    return number


def _sideband(rows: Sequence[tuple[Mapping, int, int]]) -> Sideband:
    """Mappings (with the indices of name and identity) as the records of a process."""
    count = len(rows)
    return Sideband(
        count,
        kind=memoryview(bytes([SidebandKind.MMAP]) * count),
        misc=_filled("H", [CpuMode.USER] * count),
        time=zeros("Q", count),
        position=_filled("Q", range(count)),
        pid=_filled("i", [_PROCESS] * count),
        tid=_filled("i", [_PROCESS] * count),
        first=_filled("Q", [one.start for one, _name, _file in rows]),
        second=_filled("Q", [one.end - one.start for one, _name, _file in rows]),
        third=_filled("Q", [one.offset for one, _name, _file in rows]),
        fourth=_filled("I", [_protection(one.protection) for one, _name, _file in rows]),
        name=_filled("I", [name for _one, name, _file in rows]),
        identity=_filled("I", [file for _one, _name, file in rows]),
    )


def _protection(letters: str) -> int:
    """The letters of /proc/PID/maps as the bits of mmap(2)."""
    return sum(bit for letter, bit in (("r", 1), ("w", 2), ("x", 4)) if letter in letters)


def _filled(code: str, values: Iterable[int]) -> memoryview:
    return memoryview(array(code, values))


def _one_sample(ip: int, stack_at: int) -> Samples:
    """The columns of one sample in user mode, later than all mappings: its registers come first in the window."""
    words = {name: zeros("Q", 1) for name in ("position", "time", "period")}
    shorts = {name: zeros("H", 1) for name in ("event", "callchain_at", "read_at", "raw_at", "branch_at")}
    words["time"][0] = 1
    return Samples(
        1,
        pid=_filled("i", [_PROCESS]),
        tid=_filled("i", [_PROCESS]),
        cpu=_filled("i", [-1]),
        misc=_filled("H", [CpuMode.USER]),
        ip=_filled("Q", [ip]),
        regs_at=_filled("H", [_REGISTERS_AT]),
        stack_at=_filled("H", [stack_at]),
        **words,
        **shorts,
    )
