"""Rewrites a recording with whole call chains in place of registers and stack dumps.

Everything else stays: side band, other sample fields, events with their ids, feature sections. Addresses of callers
are stored as perf prints unwound frames, less one: tools that use them as they are (perf) name the caller, not the
function that follows a call that never returns; tools that subtract one again still find the call.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal

from undwarf.column import zeros
from undwarf.perfdata import EventAttr, PerfData, Records, RecordType, SampleField
from undwarf.perfdata.feature_writer import encode_features, string
from undwarf.perfdata.features import Feature, Features
from undwarf.perfdata.reader import STITCHED_BY
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.perfdata.records import Samples
from undwarf.perfdata.writer import PerfWriter
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.sample_writer import Emitter
from undwarf.unwind.unwinder import Walked

WINDOW = 16 << 20
SECTIONS = 256
"""Feature sections that a header has bits for."""

_REGISTERS_AND_STACK = SampleField.REGS_USER | SampleField.STACK_USER
_EXCLUDE_USER_CHAIN, _MMAP_DATA, _DEFER, _DEFER_OUTPUT = 22, 17, 38, 39
_LEFT_OUT = (
    # Records that the writer generates.
    RecordType.HEADER_ATTR,
    RecordType.HEADER_EVENT_TYPE,
    RecordType.HEADER_TRACING_DATA,
    RecordType.HEADER_BUILD_ID,
    RecordType.HEADER_FEATURE,
    RecordType.COMPRESSED,
    RecordType.COMPRESSED2,
    # Chains that are in the samples now.
    RecordType.CALLCHAIN_DEFERRED,
    # Hardware traces, which refer to each other by file offset.
    RecordType.AUXTRACE_INFO,
    RecordType.AUXTRACE,
    RecordType.AUXTRACE_ERROR,
)
_OF_THE_FILE = (Feature.COMPRESSED, Feature.DIR_FORMAT, Feature.AUXTRACE, Feature.BUILD_ID, Feature.EVENT_DESC)


@dataclass(frozen=True, slots=True)
class Stitched:
    """Counts of samples: chains shortened to fit a record, and samples dropped since their fields exceed their
    record."""

    shortened: int
    dropped: int


def stitched_event(event: EventAttr) -> EventAttr:
    """The event of samples without registers and stack."""
    kind = event.sample_type
    if kind & _REGISTERS_AND_STACK:
        kind = kind & ~_REGISTERS_AND_STACK | SampleField.CALLCHAIN
    flags = event.flags
    for bit in (_EXCLUDE_USER_CHAIN, _DEFER, _DEFER_OUTPUT):
        flags &= ~(1 << bit)
    return replace(event, sample_type=int(kind), flags=flags, sample_regs_user=0, sample_stack_user=0)


def stitched_features(found: Features, events: Sequence[EventAttr], version: str, native: bool) -> dict[int, bytes]:
    """The feature sections of a stitched recording; ``version`` is ours."""
    sections = encode_features(found, events)
    if native:
        # Sections that are not decoded are copied; their byte order stays that of the recording.
        for number, payload in found.raw.items():
            # A stream may have sections of any number; a file's header has a bit for each.
            if number < SECTIONS and number not in _OF_THE_FILE:
                sections.setdefault(number, payload)
    before = found.version or ""
    if not before.startswith(STITCHED_BY):
        of = f", of perf {before}" if before else ""
        sections[Feature.VERSION] = string(f"{STITCHED_BY}{version}{of}")
    return sections


def names_of_the_late(
    events: Sequence[EventAttr], samples: Samples, late: "memoryview[int]", comms: Sequence[bytes]
) -> dict[int, bytes]:
    """COMM records that go before samples that come after the EXIT record of their thread.

    perf drops a thread with that record (``machine__process_exit_event``), and has no name for the thread's further
    samples. ``late`` are samples, each thread's first, and ``comms`` their threads' names.
    """
    encoders = [RecordEncoder(event) if event.sample_id_all else None for event in events]
    found: dict[int, bytes] = {}
    for sample, comm in zip(late, comms, strict=True):
        encoder = encoders[samples.event[sample]]
        if encoder is not None:
            pid, tid, time = samples.pid[sample], samples.tid[sample], samples.time[sample]
            found[sample] = encoder.comm(comm, pid, tid, time=time, cpu=max(0, samples.cpu[sample]))
    return found


def at_their_calls(columns: dict[str, memoryview], is_start: Callable[[int], bool]) -> None:
    """Move return addresses of kernel frames that are the start of a function to the call before: perf looks up the
    address as it is in the chain, and a call that never returns may end its function. ``columns`` are by frame, with
    runtime addresses."""
    address, runtime, provenance = columns["address"], columns["runtime"], columns["provenance"]
    for frame, kind in enumerate(provenance):
        if kind == Provenance.KERNEL_CHAIN and address[frame] != runtime[frame] and is_start(runtime[frame]):
            runtime[frame] -= 1


def write_stitched(
    data: PerfData,
    records: Records,
    walked: Walked,
    selected: "memoryview[int]",
    sink: BinaryIO,
    *,
    version: str,
    form: Literal["file", "pipe"] = "file",
    zstd_level: int = 0,
    names: dict[int, bytes] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Stitched:
    """Write ``data`` to ``sink`` with the chains of ``walked`` (with runtime addresses), without samples that are not
    ``selected`` ('B').

    ``names`` are records that go before samples. Mappings of data are kept only if samples have data addresses: else
    only unwinding needed them.
    """
    events = [stitched_event(event) for event in data.events]
    features = stitched_features(data.features, events, version, data.byte_order == sys.byteorder)
    words = zeros("I", len(events))
    for number, event in enumerate(data.events):
        words[number] = event.sample_regs_user.bit_count()
    left_out = zeros("B", 256)
    for kind in _LEFT_OUT:
        left_out[kind] = 1
    if data.form == "directory":
        # Each of its streams has rounds of its own, which do not hold for all of them together.
        left_out[RecordType.FINISHED_ROUND] = 1
    code_only = not any(event.sample_type & SampleField.ADDR for event in data.events)
    emitter = Emitter(walked.columns)
    emitter.precede(names or {})
    with PerfWriter(sink, events, features=features, form=form, zstd_level=zstd_level) as writer:
        position = 0
        while position < data.stream_size:
            end = data.segment_end(position)
            with data.window(position, WINDOW) as view:
                length = len(view)
                fine = emitter.rewrite(
                    view,
                    position,
                    records.samples,
                    words,
                    walked.stack,
                    walked.stop,
                    selected,
                    left_out,
                    code_only,
                )
                writer.write(emitter.take())
                used = emitter.at
            if not fine or used == 0 or (position + length >= end and used < length):
                position = end
            else:
                position += used
            if progress is not None:
                progress(min(position, data.stream_size), data.stream_size)
    return Stitched(emitter.shortened, emitter.dropped)
