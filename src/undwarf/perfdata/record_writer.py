"""Encodes records in native byte order, the inverse of the decoder.

Layouts: ``include/uapi/linux/perf_event.h`` (enum perf_event_type) and ``tools/lib/perf/include/perf/event.h``.
"""

import struct
from collections.abc import Sequence

from undwarf.perfdata.abi import (
    MISC_COMM_EXEC,
    MISC_MMAP_BUILD_ID,
    MISC_MMAP_DATA,
    MISC_SWITCH_OUT,
    MISC_SWITCH_OUT_PREEMPT,
    CpuMode,
)
from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.sample_fields import SampleField

# Plain numbers: operators of enumerations are slow, and processes have thousands of mappings.
_TID, _TIME, _ID = int(SampleField.TID), int(SampleField.TIME), int(SampleField.ID)
_STREAM_ID, _CPU, _IDENTIFIER = int(SampleField.STREAM_ID), int(SampleField.CPU), int(SampleField.IDENTIFIER)


def record(kind: int, body: bytes = b"", misc: int = 0) -> bytes:
    """A record from its type and the bytes after its header. Raises ValueError if it is too large."""
    if len(body) + 8 > 0xFFFF:
        raise ValueError(f"a record of {len(body) + 8} bytes")
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def name_bytes(name: bytes) -> bytes:
    """A name with its NUL, padded to 8 bytes."""
    return name + b"\0" * (8 - len(name) % 8)


def finished_round() -> bytes:
    """Marks that every CPU's records so far were written."""
    return record(RecordType.FINISHED_ROUND)


class RecordEncoder:
    """Encodes the kernel's records with the sample_id of one event.

    ``time`` is in ns; ``identifier`` (default: the event's first id) and ``cpu`` go to the record's trailer.
    """

    def __init__(self, event: EventAttr) -> None:
        self.event = event
        self._id = event.ids[0] if event.ids else 0
        self._kind = int(event.sample_type)

    def trailer(self, pid: int, tid: int, time: int, cpu: int = 0, identifier: int | None = None) -> bytes:
        """The sample_id that ends records other than samples; empty without ``sample_id_all``."""
        if not self.event.sample_id_all:
            return b""
        kind = self._kind
        ident = self._id if identifier is None else identifier
        parts = []
        if kind & _TID:
            parts.append(struct.pack("=ii", pid, tid))
        if kind & _TIME:
            parts.append(struct.pack("=Q", time))
        if kind & _ID:
            parts.append(struct.pack("=Q", ident))
        if kind & _STREAM_ID:
            parts.append(struct.pack("=Q", 0))
        if kind & _CPU:
            parts.append(struct.pack("=II", cpu, 0))
        if kind & _IDENTIFIER:
            parts.append(struct.pack("=Q", ident))
        return b"".join(parts)

    def _record(self, kind: int, body: bytes, misc: int, pid: int, tid: int, time: int, cpu: int) -> bytes:
        return record(kind, body + self.trailer(pid, tid, time, cpu), misc)

    def mmap2(
        self,
        name: bytes,
        pid: int,
        tid: int,
        start: int,
        length: int,
        offset: int = 0,
        *,
        build_id: bytes = b"",
        device: tuple[int, int] = (0, 0),
        inode: tuple[int, int] = (0, 0),
        protection: int = 5,
        flags: int = 2,
        misc: int = CpuMode.USER,
        time: int = 0,
        cpu: int = 0,
    ) -> bytes:
        """A mapping: ``length`` bytes of the file from ``offset`` on at ``start``; ``protection`` as for mmap(2).

        A build-id (at most 20 bytes) replaces device and inode.
        """
        if build_id:
            misc |= MISC_MMAP_BUILD_ID
            identity = struct.pack("=B3x20s", min(len(build_id), 20), build_id[:20])
        else:
            identity = struct.pack("=IIQQ", *device, *inode)
        if not protection & 4:
            misc |= MISC_MMAP_DATA
        body = struct.pack("=iiQQQ", pid, tid, start, length, offset) + identity
        body += struct.pack("=II", protection, flags) + name_bytes(name[:4095])
        return self._record(RecordType.MMAP2, body, misc, pid, tid, time, cpu)

    def comm(self, name: bytes, pid: int, tid: int, *, exec_: bool = False, time: int = 0, cpu: int = 0) -> bytes:
        """A thread's name; ``exec_``: set by an exec."""
        body = struct.pack("=ii", pid, tid) + name_bytes(name[:15])
        misc = CpuMode.USER | (MISC_COMM_EXEC if exec_ else 0)
        return self._record(RecordType.COMM, body, misc, pid, tid, time, cpu)

    def cgroup(self, id_: int, path: bytes, *, time: int = 0) -> bytes:
        """A control group: its id in samples, and its path below the root of its hierarchy."""
        return self._record(RecordType.CGROUP, struct.pack("=Q", id_) + name_bytes(path[:4095]), 0, 0, 0, time, 0)

    def fork(self, pid: int, tid: int, parent: int, parent_tid: int, *, time: int = 0, cpu: int = 0) -> bytes:
        """A new process or thread."""
        body = struct.pack("=iiiiQ", pid, parent, tid, parent_tid, time)
        return self._record(RecordType.FORK, body, 0, pid, tid, time, cpu)

    def exit(self, pid: int, tid: int, parent: int, parent_tid: int, *, time: int = 0, cpu: int = 0) -> bytes:
        """The end of a thread."""
        body = struct.pack("=iiiiQ", pid, parent, tid, parent_tid, time)
        return self._record(RecordType.EXIT, body, 0, pid, tid, time, cpu)

    def lost(self, count: int, *, identifier: int | None = None, time: int = 0, cpu: int = 0) -> bytes:
        """``count`` records that did not fit in the ring buffer."""
        body = struct.pack("=QQ", self._id if identifier is None else identifier, count)
        return self._record(RecordType.LOST, body, 0, 0, 0, time, cpu)

    def switch(self, pid: int, tid: int, *, out: bool, preempted: bool = False, time: int = 0, cpu: int = 0) -> bytes:
        """A thread is switched in or ``out``, ``preempted`` if involuntarily."""
        misc = (MISC_SWITCH_OUT if out else 0) | (MISC_SWITCH_OUT_PREEMPT if preempted else 0)
        return self._record(RecordType.SWITCH, b"", misc, pid, tid, time, cpu)

    def deferred(
        self, cookie: int, addresses: Sequence[int], pid: int, tid: int, *, time: int = 0, cpu: int = 0
    ) -> bytes:
        """The user chain for the samples of this thread whose chain ends in this cookie."""
        body = struct.pack(f"=QQ{len(addresses)}Q", cookie, len(addresses), *addresses)
        return self._record(RecordType.CALLCHAIN_DEFERRED, body, CpuMode.USER, pid, tid, time, cpu)
