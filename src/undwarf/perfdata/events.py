"""Events: their attributes, names and ids, and what the decoder needs to know of each.

Source: ``struct perf_event_attr`` in ``include/uapi/linux/perf_event.h``.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace

from undwarf.column import zeros
from undwarf.lazy_dataclasses import dataclass
from undwarf.perfdata import sample_layout as columns
from undwarf.perfdata.column_store import SAMPLE_SHORTS, SAMPLE_WORDS
from undwarf.perfdata.header import ByteOrder, order_mark
from undwarf.perfdata.sample_fields import SampleField

SMALLEST = 64
"""Size of the first published attr, which also a size of 0 stands for."""
LARGEST = 4096
_KNOWN = 144

HARDWARE, SOFTWARE, TRACEPOINT, HW_CACHE, RAW, BREAKPOINT = range(6)
_HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
    "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
_SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
    "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
)  # fmt: skip
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
    """Bytes asked for; a sample may hold fewer."""
    clockid: int | None
    """None when the recording used perf's own clock."""
    sample_regs_intr: int
    sample_max_stack: int
    ids: tuple[int, ...]
    bp_type: int = 0
    """What a breakpoint waits for: 1 read, 2 write, 3 both, 4 execution."""
    config3: int = 0

    @property
    def defer_callchain(self) -> bool:
        """Whether user chains come later, in CALLCHAIN_DEFERRED records."""
        return bool(self.flags >> 38 & 1)

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
    """An event from its attribute's bytes; what a shorter (older) one lacks is 0. The name is made up."""
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
    """The attribute's bytes in native order, in the smallest published size that holds what is set.

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
    """How many of the bytes an attribute claims for itself (its ``size``; 0 stands for the first version)."""
    (size,) = struct.unpack_from(order_mark(byte_order) + "I", raw, 4)
    return size or SMALLEST


def default_name(event: EventAttr) -> str:
    """What perf calls an event of this type and config when the recording has no name for it."""
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


def _words(mask: int) -> int:
    return mask.bit_count()


_INHERIT = 1 << 1


def decoder_table(
    events: Sequence[EventAttr],
) -> tuple["memoryview[int]", "memoryview[int]", "memoryview[int]", "memoryview[int]", int, int]:
    """What ``Decoder.set_events`` takes, from the events of a recording."""
    table = zeros("Q", columns.EVENT_WORDS * len(events))
    places = []
    union = 0
    for number, event in enumerate(events):
        kind = event.sample_type
        union |= kind
        place = distance = 0
        if kind & SampleField.IDENTIFIER:
            place, distance = 8, 8
        elif kind & SampleField.ID:
            before = SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.ADDR
            place = 8 + 8 * _words(kind & before)
            distance = 8 + 8 * _words(kind & (SampleField.CPU | SampleField.STREAM_ID))
        if place and place not in places:
            places.append(place)
        trailer = (
            SampleField.TID | SampleField.TIME | SampleField.ID | SampleField.STREAM_ID | SampleField.CPU
        ) | SampleField.IDENTIFIER
        form = event.read_format
        row = {
            columns.EVENT_FIELDS: kind,
            columns.EVENT_READ_FORMAT: form,
            columns.EVENT_REGS_USER: _words(event.sample_regs_user),
            columns.EVENT_REGS_INTR: _words(event.sample_regs_intr),
            columns.EVENT_BRANCHES: event.branch_sample_type,
            columns.EVENT_PERIOD: event.sample_period if not event.freq and event.sample_period else 1,
            columns.EVENT_ID_ALL: int(event.sample_id_all),
            columns.EVENT_TRAILER: 8 * _words(kind & trailer) if event.sample_id_all else 0,
            columns.EVENT_ID_AT: place,
            columns.EVENT_READ_TIMES: _words(form & 3),
            columns.EVENT_VALUE_WORDS: 1 + _words(form & 0x14),
            columns.EVENT_ID_DISTANCE: distance,
            # Of inherited events (perf_evsel__attr_has_per_thread_sample_period).
            columns.EVENT_BY_THREAD: int(bool(kind & SampleField.TID and event.flags & _INHERIT)),
        }
        for column, value in row.items():
            table[number * columns.EVENT_WORDS + column] = value
    found = zeros("Q", len(places))
    for number, place in enumerate(places):
        found[number] = place
    total = sum(len(event.ids) for event in events)
    ids, owners = zeros("Q", total), zeros("I", total)
    at = 0
    for number, event in enumerate(events):
        for identifier in event.ids:
            ids[at], owners[at] = identifier, number
            at += 1
    return table, found, ids, owners, _mask(SAMPLE_WORDS, union), _mask(SAMPLE_SHORTS, union)


_FIELD_OF_COLUMN = {
    "addr": SampleField.ADDR,
    "weight": SampleField.WEIGHT | SampleField.WEIGHT_STRUCT,
    "data_src": SampleField.DATA_SRC,
    "transaction": SampleField.TRANSACTION,
    "phys_addr": SampleField.PHYS_ADDR,
    "cgroup": SampleField.CGROUP,
    "data_page_size": SampleField.DATA_PAGE_SIZE,
    "code_page_size": SampleField.CODE_PAGE_SIZE,
    "id": SampleField.ID | SampleField.IDENTIFIER,
    "stream_id": SampleField.STREAM_ID,
    "callchain_at": SampleField.CALLCHAIN,
    "regs_at": SampleField.REGS_USER,
    "stack_at": SampleField.STACK_USER,
    "read_at": SampleField.READ,
    "raw_at": SampleField.RAW,
    "branch_at": SampleField.BRANCH_STACK,
    "regs_intr_at": SampleField.REGS_INTR,
}
OPTIONAL_COLUMNS = (
    "addr", "weight", "data_src", "transaction", "phys_addr", "cgroup", "data_page_size", "code_page_size",
    "id", "stream_id", "regs_intr_at",
)  # fmt: skip


def has_column(name: str, sample_types: int) -> bool:
    """Whether some event of these sample types (or-ed) writes the sample column ``name``."""
    wanted = _FIELD_OF_COLUMN.get(name)
    return wanted is None or bool(sample_types & wanted)


def _mask(columns: Sequence[str], sample_types: int) -> int:
    # The event number is written where there is more than one event; it is not worth a condition.
    return sum(1 << number for number, name in enumerate(columns) if has_column(name, sample_types))
