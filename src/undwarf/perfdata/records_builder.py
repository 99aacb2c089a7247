"""Builds Records from a decoder's columns: the side band in time order, names, file identities."""

import struct
from collections.abc import Sequence

from undwarf.defects import Defects
from undwarf.ordering import sort_order, take
from undwarf.perfdata.column_store import ColumnStore
from undwarf.perfdata.decoder import Decoder
from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.record_types import type_name
from undwarf.perfdata.records import NO_IDENTITY, FileIdentity, Records, Samples, Sideband
from undwarf.perfdata.sample_layout import OPTIONAL_COLUMNS, has_column


def identity_of(key: bytes) -> FileIdentity:
    """The file identity in an entry of ``ColumnStore.identities``: b"\\1", then size and bytes of a build-id; or
    b"\\2", then device, inode and generation."""
    if not key:
        return NO_IDENTITY
    if key[0] == 1:
        build_id = key[5 : 5 + key[1]]
        return FileIdentity(build_id if any(build_id) else b"", 0, 0, 0, 0)
    return FileIdentity(b"", *struct.unpack_from("=IIQQ", key, 1))


def build_samples(columns: ColumnStore, sample_types: int) -> Samples:
    """The samples in stream order. A column is None if no event has its field; ``sample_types`` are or-ed."""
    found: dict[str, memoryview[int] | None] = dict(columns.sample_columns())
    for name in OPTIONAL_COLUMNS:
        if not has_column(name, sample_types):
            found[name] = None
    return Samples(columns.samples, **found)  # type: ignore[arg-type] # the names of columns are those of the fields


def build_sideband(columns: ColumnStore) -> Sideband:
    """The side band in time order."""
    found = columns.side_columns()
    order = sort_order(found["time"])
    return Sideband(columns.sideband, **{name: take(column, order) for name, column in found.items()})


def build_records(decoder: Decoder, events: Sequence[EventAttr], path: str, defects: Defects) -> Records:
    """The decoded recording; records that the decoder skipped are added to ``defects``."""
    columns = decoder.columns
    sample_types = 0
    for event in events:
        sample_types |= event.sample_type
    samples = build_samples(columns, sample_types)
    order = sort_order(samples.time)
    counts = {
        type_name(kind) if kind < 1 << 32 else "other types": count for kind, count in sorted(decoder.counts().items())
    }
    for count, kind in (
        (decoder.bad_samples, "sample whose fields do not fit"),
        (decoder.bad_records, "damaged record"),
        (decoder.samples.unknown_ids, "sample of an unknown event"),
        (decoder.sideband.unknown_ids, "record of an unknown event"),
        (decoder.samples.bad_stacks, "stack dump larger than its space"),
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
        sideband=build_sideband(columns),
        names=columns.names.entries(),
        identities=[identity_of(key) for key in columns.identities.entries()],
        counts=counts,
        lost=decoder.sideband.lost,
        sample_order=order,
        unordered=decoder.rounds.unordered,
        first_time=samples.time[order[0]] if samples.count else 0,
        last_time=samples.time[order[-1]] if samples.count else 0,
    )
