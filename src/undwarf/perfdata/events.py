"""Events: their attributes, names and ids.

Source: ``struct perf_event_attr`` in ``include/uapi/linux/perf_event.h``.
"""

import struct
from dataclasses import dataclass, replace

from undwarf.perfdata.header import ByteOrder, order_mark

SMALLEST = 64
"""Size of the first published attr, also meant by a size of 0."""
LARGEST = 4096
_KNOWN = 144

HARDWARE, SOFTWARE, TRACEPOINT, HW_CACHE, RAW, BREAKPOINT = range(6)
_HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
    "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip  # a table
_SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
    "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
)  # fmt: skip  # a table
_CACHES = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
_CACHE_USES = ("load", "store", "prefetch")


@dataclass(frozen=True, slots=True)
class EventAttr:
    """One event of a recording; its number is its place in ``PerfData.events``.

    Bit fields (``sample_type``, ``read_format``, ``branch_sample_type``, ``flags``) are as in the kernel's
    header, already in native order.
    """

    name: str
    type: int
    config: int
    sample_period: int
    """Events a sample, or Hz when ``freq``."""
    freq: bool
    sample_type: int
    read_format: int
    flags: int
    sample_id_all: bool
    config1: int
    config2: int
    branch_sample_type: int
    sample_regs_user: int
    """Bit mask of perf register numbers."""
    sample_stack_user: int
    """Bytes requested; a sample may have fewer."""
    clockid: int | None
    """None when the recording used perf's own clock."""
    sample_regs_intr: int
    sample_max_stack: int
    ids: tuple[int, ...]
    bp_type: int = 0
    """Access that triggers a breakpoint: 1 read, 2 write, 3 both, 4 execution."""
    config3: int = 0

    @property
    def defer_callchain(self) -> bool:
        """Whether user chains come later, in CALLCHAIN_DEFERRED records."""
        return bool(self.flags >> 38 & 1)

    @property
    def aux_output(self) -> bool:
        """Whether its samples go to the AUX area of the group's leader."""
        return bool(self.flags >> 31 & 1)

    @property
    def precise_ip(self) -> int:
        """0 (any skid) to 3 (no skid)."""
        return self.flags >> 15 & 3


def _flag_bits(raw: bytes, byte_order: ByteOrder) -> int:
    """The flag word. A big-endian compiler fills bit fields from the top, so each byte is mirrored."""
    if byte_order == "little":
        return int.from_bytes(raw, "little")
    mirrored = bytes(int(f"{byte:08b}"[::-1], 2) for byte in raw)
    flags = int.from_bytes(mirrored, "little")
    # The one field of two bits (precise_ip) came out with its bits exchanged.
    low, high = flags >> 15 & 1, flags >> 16 & 1
    return flags & ~(3 << 15) | high << 15 | low << 16


def parse_attr(raw: bytes, byte_order: ByteOrder) -> EventAttr:
    """An event from its attribute's bytes; fields missing in an older, shorter one are 0. The name is a default."""
    mark = order_mark(byte_order)
    padded = raw[:_KNOWN].ljust(_KNOWN, b"\0")
    kind, _size, config, period, sample_type, read_format = struct.unpack_from(mark + "IIQQQQ", padded)
    flags = _flag_bits(padded[40:48], byte_order)
    config1, config2, branch, regs_user = struct.unpack_from(mark + "QQQQ", padded, 56)
    stack_user, clockid, regs_intr, _mark, max_stack = struct.unpack_from(mark + "IiQIH", padded, 88)
    (bp_type,) = struct.unpack_from(mark + "I", padded, 52)
    (config3,) = struct.unpack_from(mark + "Q", padded, 128)
    event = EventAttr(
        name="",
        type=kind,
        config=config,
        sample_period=period,
        freq=bool(flags >> 10 & 1),
        sample_type=sample_type,
        read_format=read_format,
        flags=flags,
        sample_id_all=bool(flags >> 18 & 1),
        config1=config1,
        config2=config2,
        branch_sample_type=branch,
        sample_regs_user=regs_user,
        sample_stack_user=stack_user,
        clockid=clockid if flags >> 25 & 1 else None,
        sample_regs_intr=regs_intr,
        sample_max_stack=max_stack,
        ids=(),
        bp_type=bp_type,
        config3=config3,
    )
    return replace(event, name=default_name(event))


def encode_attr(event: EventAttr) -> bytes:
    """The attribute's bytes in native order, in the smallest published size with all fields that are set.

    An old perf refuses attributes larger than those it knows.
    """
    size = 136 if event.config3 else 112
    return struct.pack(
        "=IIQQQQQIIQQQQIiQIHHII",
        event.type,
        size,
        event.config,
        event.sample_period,
        event.sample_type,
        event.read_format,
        event.flags,
        0,
        event.bp_type,
        event.config1,
        event.config2,
        event.branch_sample_type,
        event.sample_regs_user,
        event.sample_stack_user,
        event.clockid or 0,
        event.sample_regs_intr,
        0,
        event.sample_max_stack,
        0,
        0,
        0,
    ).ljust(128, b"\0")[: min(size, 128)] + (struct.pack("=Q", event.config3) if event.config3 else b"")


def attr_bytes(raw: bytes, byte_order: ByteOrder) -> int:
    """The bytes of an attribute by its own ``size``, where 0 means the first version."""
    (size,) = struct.unpack_from(order_mark(byte_order) + "I", raw, 4)
    return size or SMALLEST


def default_name(event: EventAttr) -> str:
    """perf's name for an event of this type and config if the recording has none."""
    return _plain_name(event) + _modifiers(event)


def _plain_name(event: EventAttr) -> str:
    config = event.config
    if event.type == HARDWARE:
        low = config & 0xFFFFFFFF
        return _HARDWARE[low] if low < len(_HARDWARE) else "unknown-hardware"
    if event.type == SOFTWARE:
        return _SOFTWARE[config] if config < len(_SOFTWARE) else "unknown-software"
    if event.type == HW_CACHE:
        cache, use, result = config & 0xFF, config >> 8 & 0xFF, config >> 16 & 0xFF
        if cache >= len(_CACHES) or use >= len(_CACHE_USES) or result > 1:
            return "unknown-cache-event"
        if result:
            return f"{_CACHES[cache]}-{_CACHE_USES[use]}-misses"
        return f"{_CACHES[cache]}-{_CACHE_USES[use]}{'es' if use == 2 else 's'}"
    if event.type == TRACEPOINT:
        return "unknown tracepoint"
    if event.type == RAW:
        return f"raw 0x{config:x}"
    if event.type == BREAKPOINT:
        return f"mem:0x{event.config1:x}"
    return f"unknown attr type: {event.type}"


def _modifiers(event: EventAttr) -> str:
    found = ""
    if event.flags >> 4 & 7:
        found = "".join(letter for letter, bit in (("k", 5), ("u", 4), ("h", 6)) if not event.flags >> bit & 1)
    found += "p" * event.precise_ip
    return f":{found}" if found else ""
