"""Records from a decoder's columns: side band put in time order, keys made into names and identities."""

import struct
from collections.abc import Sequence

from undwarf.defects import Defects
from undwarf.perfdata.decoder import Decoder
from undwarf.perfdata.events import OPTIONAL_COLUMNS, EventAttr, has_column
from undwarf.perfdata.ordering import take, time_order
from undwarf.perfdata.record_types import type_name
from undwarf.perfdata.records import NO_IDENTITY, FileIdentity, Records, Samples, Sideband


def identity_of(key: bytes) -> FileIdentity:
    """The identity behind one of ``Decoder.identities``."""
    if not key:
        return NO_IDENTITY
    if key[0] == 1:
        build_id = key[5 : 5 + key[1]]
        return FileIdentity(build_id if any(build_id) else b"", 0, 0, 0, 0)
    return FileIdentity(b"", *struct.unpack_from("=IIQQ", key, 1))


def assemble(decoder: Decoder, events: Sequence[EventAttr], path: str, defects: Defects) -> Records:
    """The decoded recording; what the decoder had to skip becomes defects."""
    columns: dict[str, memoryview[int] | None] = dict(decoder.sample_columns())
    sample_types = 0
    for event in events:
        sample_types |= event.sample_type
    for name in OPTIONAL_COLUMNS:
        if not has_column(name, sample_types):
            columns[name] = None
    samples = Samples(decoder.samples, **columns)  # type: ignore[arg-type]
    order = time_order(samples.time)
    side = decoder.side_columns()
    side_order = time_order(side["time"])
    sideband = Sideband(decoder.sideband, **{name: take(column, side_order) for name, column in side.items()})
    counts = {
        type_name(kind) if kind < 1 << 32 else "other types": count for kind, count in sorted(decoder.counts().items())
    }
    for count, kind in (
        (decoder.bad_samples, "sample whose fields do not fit"),
        (decoder.bad_records, "damaged record"),
        (decoder.unknown_ids, "sample of an unknown event"),
        (decoder.no_event, "record of an unknown event"),
        (decoder.bad_stacks, "stack dump larger than its space"),
    ):
        if count:
            first = decoder.first_bad
            detail = f"first at stream position {first}" if first >= 0 and "event" not in kind else ""
            defects.add(kind, path, count, detail)
    unknown = sum(count for name, count in counts.items() if name.startswith(("type ", "other ")))
    if unknown:
        defects.add("record of an unknown type", path, unknown)
    return Records(
        samples=samples,
        sideband=sideband,
        names=decoder.names(),
        identities=[identity_of(key) for key in decoder.identities()],
        counts=counts,
        lost=decoder.lost,
        sample_order=order,
        unordered=decoder.unordered,
        first_time=samples.time[order[0]] if samples.count else 0,
        last_time=samples.time[order[-1]] if samples.count else 0,
        events_used=decoder.events_used(),
    )
