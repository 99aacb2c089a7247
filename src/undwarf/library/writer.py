"""Writes recordings: perf.data files of samples that come from elsewhere."""

import struct
from collections.abc import Mapping as Registers
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Literal

from undwarf.errors import UsageError
from undwarf.library.mapping import Mapping
from undwarf.library.records import Event
from undwarf.library.register_names import PERF_BITS
from undwarf.perfdata.abi import CONTEXT_KERNEL, CONTEXT_USER, LARGEST_DUMP, REGS_ABI_64, CpuMode
from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.feature_writer import encode_features
from undwarf.perfdata.features import Features
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.record_writer import RecordEncoder, record
from undwarf.perfdata.sample_fields import SampleField
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.arch import machine_named

_FIELDS = int(
    SampleField.IDENTIFIER
    | SampleField.IP
    | SampleField.TID
    | SampleField.TIME
    | SampleField.ADDR
    | SampleField.CPU
    | SampleField.PERIOD
    | SampleField.CALLCHAIN
)
_WITH_STACK = int(SampleField.REGS_USER | SampleField.STACK_USER)
_SAMPLE_ID_ALL, _FREQ, _PRECISE_SHIFT = 1 << 18, 1 << 10, 15
_WORD = (1 << 64) - 1


class PerfDataWriter:
    """Writes a perf.data recording, which perf, undwarf and others read, to ``sink``; file form needs it seekable.

    ``events`` are what samples are of, by number. With ``registers`` (names, as ``("rip", "rsp", "rbp")``) samples have
    these registers and a copy of the stack, to be unwound later. ``architecture`` is that of the process; ``hostname``,
    ``osrelease`` and ``command`` go to the header. ``zstd_level`` 0 does not compress. Times are in ns, of any clock.
    Use it as a context manager, or call :meth:`close`: without, the file has no header sections, and its records are
    still read. Raises UsageError for what cannot be written, such as a sample that exceeds a record's 64 kB.

    >>> import io
    >>> sink = io.BytesIO()
    >>> with undwarf.PerfDataWriter(sink, [undwarf.Event("requests")]) as writer:
    ...     writer.comm(7, 7, "server")
    ...     writer.mapping(7, undwarf.Mapping(0x400000, 0x401000, 0, "/usr/bin/server"))
    ...     writer.sample(0x400123, 7, 7, 1000, callchain=[0x400123, 0x400456])
    >>> with undwarf.open(io.BytesIO(sink.getvalue())) as written:
    ...     [sample.comm for sample in written.profile().samples]
    ['server']
    """

    def __init__(
        self,
        sink: BinaryIO,
        events: Sequence[Event],
        *,
        registers: Sequence[str] = (),
        architecture: str = "x86_64",
        hostname: str = "",
        osrelease: str = "",
        command: Sequence[str] = (),
        form: Literal["file", "pipe"] = "file",
        zstd_level: int = 0,
    ) -> None:
        if not events:
            raise UsageError("nothing can be written", "a recording has at least one event")
        machine = machine_named(architecture)
        if machine is None:
            raise UsageError(f"recordings of {architecture} are not written", "", "x86_64 and aarch64 are")
        bits = PERF_BITS[machine.package]
        unknown = [name for name in registers if name not in bits]
        if unknown:
            raise UsageError(f"{architecture} has no register {unknown[0]!r}", "", f"it has {', '.join(bits)}")
        self._registers = sorted(set(registers), key=bits.__getitem__)
        mask = sum(1 << bits[name] for name in self._registers)
        attrs = [_attr(event, number + 1, mask) for number, event in enumerate(events)]
        self._encoder = RecordEncoder(attrs[0])
        self._events = len(attrs)
        features = Features(arch=machine.package)
        features.hostname, features.osrelease = hostname or None, osrelease or None
        features.cmdline = list(command) or None
        sections = encode_features(features, attrs)
        self._writer = PerfWriter(sink, attrs, features=sections, form=form, zstd_level=zstd_level)
        self._closed = False

    def comm(self, pid: int, tid: int, name: str, *, time: int = 0, is_exec: bool = False) -> None:
        """The name of a thread, of which the kernel keeps 15 bytes."""
        with _Checked("a name"):
            self._writer.write(self._encoder.comm(_bytes(name), pid, tid, exec_=is_exec, time=time))

    def fork(self, pid: int, tid: int, parent: int, parent_tid: int, *, time: int = 0) -> None:
        """A new process, or a new thread of ``parent``."""
        with _Checked("a fork"):
            self._writer.write(self._encoder.fork(pid, tid, parent, parent_tid, time=time))

    def exit(self, pid: int, tid: int, *, time: int = 0) -> None:
        """The end of a thread."""
        with _Checked("an exit"):
            self._writer.write(self._encoder.exit(pid, tid, 0, 0, time=time))

    def mapping(self, pid: int, mapping: Mapping, *, time: int = 0) -> None:
        """A new mapping of a process, from ``time`` on."""
        protection = sum(bit for letter, bit in (("r", 1), ("w", 2), ("x", 4)) if letter in mapping.protection)
        with _Checked("a mapping"):
            self._writer.write(
                self._encoder.mmap2(
                    _bytes(mapping.path) or b"//anon",
                    pid,
                    pid,
                    mapping.start,
                    mapping.end - mapping.start,
                    mapping.offset,
                    build_id=bytes.fromhex(mapping.build_id),
                    device=mapping.device,
                    inode=(mapping.inode, 0),
                    protection=protection,
                    time=time,
                )
            )

    def sample(
        self,
        ip: int,
        pid: int,
        tid: int,
        time: int,
        *,
        event: int = 0,
        cpu: int = 0,
        period: int = 1,
        addr: int = 0,
        callchain: Sequence[int] = (),
        kernel_callchain: Sequence[int] = (),
        registers: Registers[str, int] | None = None,
        stack: bytes = b"",
    ) -> None:
        """A sample at ``ip``, of the event with this number; ``period`` is its weight, ``addr`` that of the data.

        Call chains are addresses, innermost first: of the sampled instruction, then return addresses. ``registers`` are
        those the writer was made for (0 if missing), ``stack`` is the memory from the stack pointer on, of which up to
        65,528 bytes fit less the rest of the sample.
        """
        with _Checked("a sample"):
            if not 0 <= event < self._events:
                raise ValueError(f"there is no event {event}")
            chain = [CONTEXT_KERNEL, *kernel_callchain] if kernel_callchain else []
            chain += [CONTEXT_USER, *callchain] if callchain else []
            body = struct.pack(
                "=QQIIQQIIQQ", event + 1, ip & _WORD, pid, tid, time, addr & _WORD, cpu, 0, period, len(chain)
            ) + struct.pack(f"={len(chain)}Q", *(address & _WORD for address in chain))
            if self._registers:
                body += _registers_and_stack(self._registers, registers, stack)
            mode = CpuMode.KERNEL if kernel_callchain else CpuMode.USER
            self._writer.write(record(RecordType.SAMPLE, body, mode))

    def flush(self) -> None:
        """Write everything so far, so that it outlives this process."""
        self._writer.flush()

    def close(self) -> None:
        """Finish the recording; the sink stays open."""
        if not self._closed:
            self._closed = True
            self._writer.finish()

    def __enter__(self) -> "PerfDataWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        return f"<undwarf.PerfDataWriter: {self._events} events, {self._writer.size:,} bytes of records>"


class _Checked:
    """A context in which numbers that do not fit in a record raise UsageError."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if isinstance(value, (struct.error, ValueError)):
            raise UsageError(f"{self._what} cannot be written", str(value)) from value


def _registers_and_stack(names: Sequence[str], registers: Registers[str, int] | None, stack: bytes) -> bytes:
    """The last fields of a sample; a stack has a multiple of 8 bytes."""
    values = registers or {}
    words = [values.get(name, 0) & _WORD for name in names]
    dump = stack[:LARGEST_DUMP].ljust(-(-min(len(stack), LARGEST_DUMP) // 8) * 8, b"\0")
    fields = struct.pack(f"=Q{len(words)}QQ", REGS_ABI_64 if registers else 0, *words, len(dump))
    if not registers:
        fields = struct.pack("=QQ", 0, len(dump))
    return fields + dump + (struct.pack("=Q", len(stack[:LARGEST_DUMP])) if dump else b"")


def _attr(event: Event, identifier: int, mask: int) -> EventAttr:
    """The kernel's attributes of an event."""
    flags = _SAMPLE_ID_ALL | (_FREQ if event.frequency else 0) | (event.precise & 3) << _PRECISE_SHIFT
    return EventAttr(
        name=event.name,
        type=event.type,
        config=event.config,
        sample_period=event.frequency or event.period or 1,
        freq=bool(event.frequency),
        sample_type=_FIELDS | (_WITH_STACK if mask else 0),
        read_format=4,
        flags=flags,
        sample_id_all=True,
        config1=0,
        config2=0,
        branch_sample_type=0,
        sample_regs_user=mask,
        sample_stack_user=(event.stack_bytes or LARGEST_DUMP) if mask else 0,
        clockid=None,
        sample_regs_intr=0,
        sample_max_stack=127,
        ids=(identifier,),
    )


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape").replace(b"\0", b"?")
