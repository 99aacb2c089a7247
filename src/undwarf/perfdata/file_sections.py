"""Reads the parts of a perf.data file other than its records: events, their names, feature sections."""

import os
import struct
from collections.abc import Sequence
from dataclasses import replace

from undwarf.defects import Defects
from undwarf.errors import UnreadableInput
from undwarf.perfdata.events import LARGEST, SMALLEST, EventAttr, attr_bytes, parse_attr
from undwarf.perfdata.features import Features, feature_name, is_parsed, parse_feature
from undwarf.perfdata.header import HINT, FileHeader, Section, order_mark

MAX_EVENTS = 65535
"""The event number of a sample has 16 bits."""
SECTION_BYTES = 256 << 20


def read_at(file: int, offset: int, size: int) -> bytes:
    """Up to ``size`` bytes at ``offset`` of a file; fewer at its end, none for an offset no file has."""
    if not 0 <= offset < 1 << 63 or size <= 0:
        return b""
    parts = []
    while size > 0:
        part = os.pread(file, min(size, 1 << 24), offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)


def data_section(header: FileHeader, file_size: int, name: str, defects: Defects) -> Section:
    """The section of records, cut to the file; its size is 0 if the recorder was killed."""
    start, size = header.data.offset, header.data.size
    if start > file_size:
        defects.add("truncated file", name, detail=f"the records should start at byte {start}")
        return Section(file_size, 0)
    if size == 0:
        left = file_size - start
        if left:
            defects.add("recording was not finished", name, detail="its header has no data size")
        return Section(start, left)
    if size > file_size - start:
        missing = size - (file_size - start)
        defects.add("truncated file", name, detail=f"the last {missing} bytes of the records are missing")
        return Section(start, file_size - start)
    return Section(start, size)


def read_events(file: int, header: FileHeader, file_size: int, name: str, defects: Defects) -> list[EventAttr]:
    """The events with their ids and default names.

    Raises UnreadableInput when there are none: without them no record can be decoded.
    """
    what = f"cannot read {name}"
    stride = header.attr_size
    if not SMALLEST + 16 <= stride <= LARGEST:
        raise UnreadableInput(what, f"its event attributes claim {stride} bytes each", HINT)
    section = header.attrs
    size = min(section.size, max(0, file_size - section.offset))
    if size < section.size or section.size % stride:
        defects.add("damaged event attributes", name, detail=f"{section.size} bytes, {stride} each")
    count = size // stride
    if count == 0:
        raise UnreadableInput(what, "it describes no events", "the file is damaged; record again")
    if count > MAX_EVENTS:
        defects.add("too many events", name, count - MAX_EVENTS)
        count = MAX_EVENTS
    raw = read_at(file, section.offset, count * stride)
    events: list[EventAttr] = []
    budget = file_size // 8
    for at in range(0, len(raw) - stride + 1, stride):
        # The descriptor of the ids is at the end of the stride, whatever size the attribute claims.
        own = min(attr_bytes(raw[at : at + 8], header.byte_order), stride - 16)
        event = parse_attr(raw[at : at + own], header.byte_order)
        offset, size = struct.unpack_from(order_mark(header.byte_order) + "QQ", raw, at + stride - 16)
        if size > 8 * budget:
            defects.add("damaged event ids", name, detail=f"event {len(events)} claims {size} bytes")
            size = 0
        ids = read_at(file, offset, size)
        if len(ids) < size:
            defects.add("damaged event ids", name, detail=f"event {len(events)}")
        budget -= len(ids) // 8
        events.append(replace(event, ids=unpack_ids(ids, header)))
    return events


def unpack_ids(raw: bytes, header: FileHeader) -> tuple[int, ...]:
    """An array of u64."""
    return struct.unpack(f"{order_mark(header.byte_order)}{len(raw) // 8}Q", raw[: len(raw) // 8 * 8])


def read_features(file: int, header: FileHeader, file_size: int, name: str, defects: Defects) -> Features:
    """The feature sections: a table of (offset, size) after the records, one entry for each bit."""
    found = Features()
    if not header.features or header.data.size == 0:
        return found
    start = header.data.offset + header.data.size
    table = read_at(file, start, 16 * len(header.features))
    if len(table) < 16 * len(header.features):
        defects.add("feature sections are missing", name, detail="the file ends before them")
        return found
    for number, (offset, size) in zip(
        header.features, struct.iter_unpack(order_mark(header.byte_order) + "QQ", table), strict=True
    ):
        if size == 0:
            continue
        if offset > file_size or size > file_size - offset:
            defects.add("damaged feature section", feature_name(number), detail="it is beyond the end of the file")
        elif size <= SECTION_BYTES if is_parsed(number) else size <= 1 << 20:
            payload = read_at(file, offset, size)
            parse_feature(number, payload, header.byte_order, found, defects)
    return found


def name_events(events: Sequence[EventAttr], features: Features) -> list[EventAttr]:
    """Events with their names in EVENT_DESC: of the entry with the same id, else the one with the same index."""
    by_id = {identifier: entry for entry in features.event_desc for identifier in entry.ids}
    named = []
    for number, event in enumerate(events):
        entry = next((by_id[identifier] for identifier in event.ids if identifier in by_id), None)
        if entry is None and number < len(features.event_desc):
            candidate = features.event_desc[number]
            if (candidate.type, candidate.config) == (event.type, event.config):
                entry = candidate
        named.append(replace(event, name=entry.name) if entry is not None and entry.name else event)
    return named
