# constants of kernels: the build writes the .pxd beside this file
"""How the samples of each event are laid out in records, and in which columns their fields are stored.

The layout of an event is a program of steps, one for each field in the order of the record, which
:class:`undwarf.perfdata.sample_decoder.SampleDecoder` interprets.
Source: ``perf_output_sample`` and ``perf_event__output_id_sample`` in ``kernel/events/core.c``.
"""

from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from undwarf.column import Typecode
from undwarf.perfdata.abi import BRANCH_COUNTERS, BRANCH_HW_INDEX, READ_GROUP, READ_ID, READ_LOST, READ_TIMES
from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.sample_fields import SampleField


class SampleWord(IntEnum):
    """Columns of samples with 64 bits."""

    POSITION = 0
    TIME = 1
    IP = 2
    PERIOD = 3
    ADDR = 4
    WEIGHT = 5
    DATA_SRC = 6
    TRANSACTION = 7
    PHYS_ADDR = 8
    CGROUP = 9
    DATA_PAGE_SIZE = 10
    CODE_PAGE_SIZE = 11
    ID = 12
    STREAM_ID = 13


class SampleInt(IntEnum):
    """Columns of samples with 32 bits, signed."""

    PID = 0
    TID = 1
    CPU = 2


class SampleShort(IntEnum):
    """Columns of samples with 16 bits. Those in ``_AT`` are offsets of fields in the record."""

    EVENT = 0
    MISC = 1
    CALLCHAIN_AT = 2
    REGS_AT = 3
    STACK_AT = 4
    READ_AT = 5
    RAW_AT = 6
    BRANCH_AT = 7
    REGS_INTR_AT = 8


class FieldShape(IntEnum):
    """The shape of a field in the record; what ``column``, ``words`` and ``extra`` of its step mean."""

    END = 0
    """No field: the program ends."""
    WORD = 1
    """64 bits that are copied to a column of words."""
    THREAD = 2
    """u32 pid, u32 tid."""
    CPU_NUMBER = 3
    """u32 cpu, u32 reserved."""
    AUX = 4
    """u64 size and that many bytes; not stored."""
    READ_VALUE = 5
    """So many ``words``. From here on the offset in the record is stored in a column of shorts."""
    READ_GROUP = 6
    """u64 count, ``extra`` words of times, ``words`` for each of so many counters."""
    CALLCHAIN = 7
    """u64 count and so many words."""
    RAW = 8
    """u32 size and that many bytes."""
    BRANCHES = 9
    """u64 count, u64 hw_idx if ``extra``, ``words`` for each branch."""
    REGISTERS = 10
    """u64 abi, and unless that is 0 so many ``words``."""
    STACK = 11
    """u64 size, and unless that is 0 the bytes and u64 dyn_size."""


class EventLayout(NamedTuple):
    """The decoders' view of an event: the words of ``struct EventLayout`` in `event_layouts.pxd`, in its order."""

    sample_type: int
    """SampleField."""
    read_format: int
    read_times: int
    """Words of times that come with the counters read by a sample."""
    value_words: int
    """Words of each counter."""
    user_registers: int
    default_period: int
    """The period of samples without one."""
    id_offset: int
    """Bytes from the header of a sample to its id; 0 without one."""
    id_all: int
    """Whether other records have a trailer (`sample_id_all`)."""
    trailer_bytes: int
    """Bytes that `sample_id_all` adds at the end of other records."""
    trailer_id_distance: int
    """Bytes from the id in there to the end of the record; 0 without one."""
    per_thread: int
    """Whether counters count for each thread on its own."""
    splits: int
    """Whether samples have counters with ids, each of which becomes a sample of its event."""
    program: int
    """The first step of the layout of samples."""


class FieldStep(NamedTuple):
    """A field of a sample: ``struct FieldStep`` in `event_layouts.pxd`, in its order."""

    shape: int
    """FieldShape."""
    column: int
    """SampleWord or SampleShort, by the shape."""
    words: int
    extra: int


class SampleLayout(NamedTuple):
    """The layouts of all events of a recording, and the ids by which samples refer to them."""

    events: "memoryview[int]"
    """Q: an ``EventLayout`` for each event."""
    steps: "memoryview[int]"
    """i: a ``FieldStep`` for each field of each event, with shape END after the last one."""
    id_offsets: "memoryview[int]"
    """Q: the distinct ``id_offset`` of events."""
    ids: "memoryview[int]"
    """Q: ids."""
    owners: "memoryview[int]"
    """I: the event number of each id."""
    written_words: int
    """Bit mask of the ``SampleWord`` columns that some event has a field for."""
    written_shorts: int
    """Bit mask of the ``SampleShort`` columns likewise."""


_INHERIT = 1 << 1
"""Bit of an event's flags."""

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
)  # fmt: skip  # a table

_TRAILER = (
    SampleField.TID | SampleField.TIME | SampleField.ID | SampleField.STREAM_ID | SampleField.CPU
) | SampleField.IDENTIFIER
"""The fields that `sample_id_all` repeats in other records."""

_FIELDS: tuple[tuple[int, FieldShape, int], ...] = (
    (SampleField.IDENTIFIER, FieldShape.WORD, SampleWord.ID),
    (SampleField.IP, FieldShape.WORD, SampleWord.IP),
    (SampleField.TID, FieldShape.THREAD, 0),
    (SampleField.TIME, FieldShape.WORD, SampleWord.TIME),
    (SampleField.ADDR, FieldShape.WORD, SampleWord.ADDR),
    (SampleField.ID, FieldShape.WORD, SampleWord.ID),
    (SampleField.STREAM_ID, FieldShape.WORD, SampleWord.STREAM_ID),
    (SampleField.CPU, FieldShape.CPU_NUMBER, 0),
    (SampleField.PERIOD, FieldShape.WORD, SampleWord.PERIOD),
    (SampleField.READ, FieldShape.READ_VALUE, SampleShort.READ_AT),
    (SampleField.CALLCHAIN, FieldShape.CALLCHAIN, SampleShort.CALLCHAIN_AT),
    (SampleField.RAW, FieldShape.RAW, SampleShort.RAW_AT),
    (SampleField.BRANCH_STACK, FieldShape.BRANCHES, SampleShort.BRANCH_AT),
    (SampleField.REGS_USER, FieldShape.REGISTERS, SampleShort.REGS_AT),
    (SampleField.STACK_USER, FieldShape.STACK, SampleShort.STACK_AT),
    (SampleField.WEIGHT | SampleField.WEIGHT_STRUCT, FieldShape.WORD, SampleWord.WEIGHT),
    (SampleField.DATA_SRC, FieldShape.WORD, SampleWord.DATA_SRC),
    (SampleField.TRANSACTION, FieldShape.WORD, SampleWord.TRANSACTION),
    (SampleField.REGS_INTR, FieldShape.REGISTERS, SampleShort.REGS_INTR_AT),
    (SampleField.PHYS_ADDR, FieldShape.WORD, SampleWord.PHYS_ADDR),
    (SampleField.CGROUP, FieldShape.WORD, SampleWord.CGROUP),
    (SampleField.DATA_PAGE_SIZE, FieldShape.WORD, SampleWord.DATA_PAGE_SIZE),
    (SampleField.CODE_PAGE_SIZE, FieldShape.WORD, SampleWord.CODE_PAGE_SIZE),
    (SampleField.AUX, FieldShape.AUX, 0),
)
"""Fields in the order of the record, with their shape and column."""
_END = FieldStep(FieldShape.END, 0, 0, 0)


def has_column(name: str, sample_types: int) -> bool:
    """Whether some event of these sample types (or-ed) has a field for the sample column ``name``."""
    wanted = _FIELD_OF_COLUMN.get(name)
    return wanted is None or bool(sample_types & wanted)


def field_steps(event: EventAttr) -> list[FieldStep]:
    """The fields of an event's samples, in the order of the record."""
    steps = []
    for bits, shape, column in _FIELDS:
        if not event.sample_type & bits:
            continue
        words = extra = 0
        if bits == SampleField.READ:
            words, extra = _value_words(event), _read_times(event)
            if event.read_format & READ_GROUP:
                shape = FieldShape.READ_GROUP
            else:
                words, extra = words + extra, 0
        elif bits == SampleField.BRANCH_STACK:
            words = 4 if event.branch_sample_type & BRANCH_COUNTERS else 3
            extra = int(bool(event.branch_sample_type & BRANCH_HW_INDEX))
        elif bits == SampleField.REGS_USER:
            words = event.sample_regs_user.bit_count()
        elif bits == SampleField.REGS_INTR:
            words = event.sample_regs_intr.bit_count()
        steps.append(FieldStep(shape, column, words, extra))
    return steps


def event_layout(event: EventAttr, program: int = 0) -> EventLayout:
    """The layout of an event whose field steps start at index ``program``."""
    kind = event.sample_type
    offset = distance = 0
    if kind & SampleField.IDENTIFIER:
        offset, distance = 8, 8
    elif kind & SampleField.ID:
        before = SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.ADDR
        offset = 8 + 8 * (kind & before).bit_count()
        distance = 8 + 8 * (kind & (SampleField.CPU | SampleField.STREAM_ID)).bit_count()
    return EventLayout(
        sample_type=kind,
        read_format=event.read_format,
        read_times=_read_times(event),
        value_words=_value_words(event),
        user_registers=event.sample_regs_user.bit_count(),
        default_period=event.sample_period if not event.freq and event.sample_period else 1,
        id_offset=offset,
        id_all=int(event.sample_id_all),
        trailer_bytes=8 * (kind & _TRAILER).bit_count() if event.sample_id_all else 0,
        trailer_id_distance=distance,
        # Of inherited events (perf_evsel__attr_has_per_thread_sample_period).
        per_thread=int(bool(kind & SampleField.TID and event.flags & _INHERIT)),
        splits=int(bool(kind & SampleField.READ and event.read_format & READ_ID)),
        program=program,
    )


def sample_layout(events: Sequence[EventAttr]) -> SampleLayout:
    """The layout of the samples of a recording with these events."""
    layouts: list[EventLayout] = []
    steps: list[FieldStep] = []
    sample_types = 0
    for event in events:
        layouts.append(event_layout(event, len(steps)))
        steps += field_steps(event)
        steps.append(_END)
        sample_types |= event.sample_type
    owners = [number for number, event in enumerate(events) for _ in event.ids]
    return SampleLayout(
        events=_column("Q", [word for layout in layouts for word in layout]),
        steps=_column("i", [number for step in steps for number in step]),
        id_offsets=_column("Q", list(dict.fromkeys(one.id_offset for one in layouts if one.id_offset))),
        ids=_column("Q", [identifier for event in events for identifier in event.ids]),
        owners=_column("I", owners),
        written_words=_written(SampleWord, sample_types),
        written_shorts=_written(SampleShort, sample_types),
    )


def _read_times(event: EventAttr) -> int:
    return (event.read_format & READ_TIMES).bit_count()


def _value_words(event: EventAttr) -> int:
    return 1 + (event.read_format & (READ_ID | READ_LOST)).bit_count()


def _written(columns: type[IntEnum], sample_types: int) -> int:
    return sum(1 << column for column in columns if has_column(column.name.lower(), sample_types))


def _column(typecode: Typecode, numbers: Sequence[int]) -> "memoryview[int]":
    return memoryview(array(typecode, numbers))
