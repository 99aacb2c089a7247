"""The stacks of all threads of a process at one time, as a recording with one sample per thread."""

import io
import os
import platform
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from undwarf.api import OpenedRecording, open_recording
from undwarf.defects import Defects
from undwarf.errors import UsageError
from undwarf.images.finder import Mapped
from undwarf.live import perf_event as pe
from undwarf.perfdata import EventAttr, Features, SampleField
from undwarf.perfdata.abi import CpuMode
from undwarf.perfdata.feature_writer import encode_features
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.record_writer import RecordEncoder, record
from undwarf.perfdata.writer import PerfWriter
from undwarf.profile.model import Profile

DUMP = 60_000
"""Bytes of stack in a sample, a multiple of 8 that fits into a record; the walk requests memory beyond it."""
MAX_THREADS = 100_000
MAX_MISSING = 16
"""Addresses of one thread that are noted as missing in one walk."""
MAX_COPIES = 5
"""Times that a thread's memory is copied."""
WORD = 8

_FIELDS = int(
    SampleField.IDENTIFIER
    | SampleField.IP
    | SampleField.TID
    | SampleField.TIME
    | SampleField.CPU
    | SampleField.PERIOD
    | SampleField.CALLCHAIN
    | SampleField.REGS_USER
    | SampleField.STACK_USER
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Layout of a machine's registers in core files and ptrace (NT_PRSTATUS), and their mapping to perf's.

    ``words``: 64-bit words of the register set. ``mask``: perf's registers; ``order``: the word of each of its bits,
    ascending. ``sp`` and ``ip`` are words, ``arguments`` those of a system call's arguments.
    """

    name: str
    words: int
    mask: int
    order: tuple[int, ...]
    sp: int
    ip: int
    arguments: tuple[int, ...]

    def mask_of(self, words: Collection[int]) -> int:
        """perf's mask of some words of the register set."""
        bits = [bit for bit in range(64) if self.mask >> bit & 1]
        return sum(1 << bit for bit, word in zip(bits, self.order, strict=True) if word in words)

    def order_of(self, mask: int) -> list[int]:
        """The words of the bits of a subset of :attr:`mask`."""
        bits = [bit for bit in range(64) if self.mask >> bit & 1]
        return [word for bit, word in zip(bits, self.order, strict=True) if mask >> bit & 1]


# struct user_regs_struct (arch/x86/include/asm/user_64.h) against enum perf_event_x86_regs.
X86_64 = Machine(
    "x86_64", 27, 0xFF01FF, (10, 5, 11, 12, 13, 14, 4, 19, 16, 9, 8, 7, 6, 3, 2, 1, 0), 19, 16, (14, 13, 12, 7, 9, 8)
)
# struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h) against enum perf_event_arm_regs.
AARCH64 = Machine("aarch64", 34, (1 << 33) - 1, tuple(range(33)), 31, 32, tuple(range(6)))
MACHINES = {62: X86_64, 183: AARCH64}
"""By ELF machine number."""


def own_machine() -> Machine:
    """The layout of this machine. Raises UsageError if it is not supported."""
    for machine in MACHINES.values():
        if machine.name == platform.machine():
            return machine
    raise UsageError(f"stacks of {platform.machine()} are not supported", "", "x86-64 and AArch64 are")


@dataclass(slots=True)
class Thread:
    """One thread: its registers (words of the register set), and its stack from the stack pointer on."""

    tid: int
    name: bytes
    registers: tuple[int, ...]
    stack: bytes
    stopped: int = 0
    """Nanoseconds for which it was stopped."""
    more: list[tuple[int, bytes]] = field(default_factory=list)
    """Further memory: (address, bytes)."""
    mask: int = 0
    """perf's mask of the known registers; 0 for all."""


@dataclass(slots=True)
class Snapshot:
    """A process at one time. ``mappings`` encodes the records of its mappings; ``memory`` reads (start, end) of a core
    file's memory, None if there are only stacks."""

    pid: int
    name: bytes
    machine: Machine
    threads: list[Thread]
    mappings: Callable[[RecordEncoder], bytes]
    memory: Callable[[int, int], bytes] | None = None
    signal: int = 0
    """The signal that ended the process, 0 for a running one."""
    missed: list[tuple[int, str]] = field(default_factory=list)
    """(thread, reason) of those without a stack."""
    remarks: list[str] = field(default_factory=list)
    """Notes for the user."""
    lacking: list[str] = field(default_factory=list)
    """Files with frames that were not found; filled by the walk."""
    code_memory: Callable[[int, int], bytes] | None = None
    """Reads run-time generated code: (start, end) to the bytes from start on."""
    files: Mapped | None = None
    """The mapped files themselves."""
    copy_again: Callable[[dict[int, set[int]]], bool] | None = None
    """Copies threads (by index) again, with the memory at these addresses; False if that gives nothing new."""
    missing: dict[int, set[int]] = field(default_factory=dict)
    """Addresses that the walk requested and that were not copied, by the thread's index."""

    def profile(
        self,
        *,
        inline: bool = True,
        max_stack: int | None = None,
        symfs: str | None = None,
        debug_dirs: Sequence[str] = (),
        debuginfod: bool = False,
        cache: bool = True,
    ) -> tuple[Profile, Defects]:
        """(the stacks, one sample per thread in the order of ``threads``; defects).

        If a stack continues in memory that was not copied, its thread is copied again, :data:`MAX_COPIES` times at
        most.
        """
        for copy in range(MAX_COPIES):
            self.missing.clear()
            with self.open(symfs=symfs, debug_dirs=debug_dirs, debuginfod=debuginfod, cache=cache) as recording:
                profile = recording.profile(
                    by_time=True, runtime=True, returns=True, inline=inline, lines=True, max_stack=max_stack, jobs=1
                )
                if copy == MAX_COPIES - 1 or not self.missing:
                    break
                if self.copy_again is None or not self.copy_again(self.missing):
                    break
        return profile, recording.defects

    @contextmanager
    def open(
        self,
        *,
        symfs: str | None = None,
        debug_dirs: Sequence[str] = (),
        debuginfod: bool = False,
        cache: bool = True,
    ) -> Iterator[OpenedRecording]:
        """The snapshot as a recording: one sample per thread, in the order of ``threads``, at times 1, 2, ..."""
        with open_recording(
            io.BytesIO(self.encode()),
            format="perf.data",
            symfs=symfs,
            debug_dirs=debug_dirs,
            debuginfod=debuginfod,
            cache=cache,
        ) as recording:
            recording.memory = self.read
            recording.know_files(self.files)
            recording.code_memory = self.code_memory
            yield recording

    def read(self, sample: int, start: int, end: int) -> bytes | None:
        """Memory of a sample's thread from ``start`` on, to ``end`` at most; None if it was not copied."""
        if self.memory is not None:
            return self.memory(start, end) or None
        thread = self.threads[sample]
        for base, data in ((thread.registers[self.machine.sp], thread.stack), *thread.more):
            at = start - base
            if 0 <= at <= len(data) - WORD:
                return data[at : at + (end - start)]
        missing = self.missing.setdefault(sample, set())
        if len(missing) < MAX_MISSING:
            missing.add(start)
        return None

    def encode(self) -> bytes:
        """The bytes of a recording, in file form."""
        masks = list(dict.fromkeys((self.machine.mask, *(thread.mask or self.machine.mask for thread in self.threads))))
        events = [_event(mask, number + 1) for number, mask in enumerate(masks)]
        encoder = RecordEncoder(events[0])
        features = Features()
        features.arch = self.machine.name
        features.osrelease = os.uname().release
        sink = io.BytesIO()
        with PerfWriter(sink, events, features=encode_features(features, events)) as writer:
            writer.write(encoder.comm(self.name, self.pid, self.pid))
            for thread in self.threads:
                writer.write(encoder.comm(thread.name, self.pid, thread.tid))
            writer.write(self.mappings(encoder))
            for number, thread in enumerate(self.threads):
                mask = thread.mask or self.machine.mask
                writer.write(self._sample(thread, number + 1, masks.index(mask) + 1, mask))
        return sink.getvalue()

    def _sample(self, thread: Thread, time: int, event: int, mask: int) -> bytes:
        machine = self.machine
        ip = thread.registers[machine.ip]
        body = [struct.pack("=QQIIQIIQQ", event, ip, self.pid, thread.tid, time, 0, 0, 1, 0)]
        known = machine.order_of(mask)
        body.append(struct.pack(f"=Q{len(known)}Q", 2, *(thread.registers[word] for word in known)))
        dump = thread.stack[: min(DUMP, len(thread.stack) & ~7)]
        body.append(struct.pack("=Q", len(dump)))
        if dump:
            body += [dump, struct.pack("=Q", len(dump))]
        return record(RecordType.SAMPLE, b"".join(body), CpuMode.USER)


def _event(mask: int, number: int) -> EventAttr:
    """The event of a snapshot's samples: a dummy software event, which counts nothing."""
    return replace(
        pe.software(pe.DUMMY, "stack"),
        sample_period=1,
        sample_type=_FIELDS,
        read_format=pe.FORMAT_ID,
        flags=pe.SAMPLE_ID_ALL,
        sample_regs_user=mask,
        sample_stack_user=DUMP,
        sample_max_stack=127,
        ids=(number,),
    )
