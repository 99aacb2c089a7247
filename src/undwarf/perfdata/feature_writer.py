"""Encodes feature sections in native byte order, the inverse of ``features``.

Layouts: ``tools/perf/Documentation/perf.data-file-format.txt``.
"""

import struct
import sys
from collections.abc import Iterable, Mapping, Sequence

from undwarf.perfdata.abi import MISC_BUILD_ID_SIZE
from undwarf.perfdata.events import EventAttr, encode_attr
from undwarf.perfdata.features import BuildId, ClockData, Feature, Features
from undwarf.perfdata.record_writer import record


def string(text: str) -> bytes:
    """A length (with padding to 64 bytes) and the text."""
    raw = text.encode("utf-8", "surrogateescape").replace(b"\0", b"?") + b"\0"
    raw += bytes(-len(raw) % 64)
    return struct.pack("=I", len(raw)) + raw


def strings(texts: Sequence[str]) -> bytes:
    """A counted list of strings."""
    return struct.pack("=I", len(texts)) + b"".join(string(text) for text in texts)


def event_desc(events: Sequence[EventAttr]) -> bytes:
    """Attributes, names and ids of all events."""
    size = attr_stride(events)
    parts = [struct.pack("=II", len(events), size)]
    for event in events:
        parts.append(encode_attr(event).ljust(size, b"\0"))
        parts.append(struct.pack("=I", len(event.ids)) + string(event.name))
        parts.append(struct.pack(f"={len(event.ids)}Q", *event.ids))
    return b"".join(parts)


def attr_stride(events: Sequence[EventAttr]) -> int:
    """Bytes of the largest attribute."""
    return max(len(encode_attr(event)) for event in events)


def build_id_record(entry: BuildId, kind: int = 0) -> bytes:
    """An entry of the BUILD_ID section (type 0), or the record of pipe form, with the size of the id."""
    name = entry.filename.encode("utf-8", "surrogateescape") + b"\0"
    # Records of a stream must be multiples of 8 bytes; 36 of them come before the name.
    name += bytes(-(len(name) + 36) % 8)
    body = struct.pack("=i20sB3x", entry.pid, entry.build_id[:20], min(len(entry.build_id), 20)) + name
    return record(kind, body, entry.misc | MISC_BUILD_ID_SIZE)


def build_ids(entries: Iterable[BuildId]) -> bytes:
    """The BUILD_ID section."""
    return b"".join(build_id_record(entry) for entry in entries if entry.build_id)


def encode_features(found: Features, events: Sequence[EventAttr]) -> dict[int, bytes]:
    """The sections, by number, of a copy of a recording with features ``found`` and these events.

    Sections about the file itself (compression, directory form, the index of trace data) are left out.
    """
    sections: dict[int, bytes] = {}
    for number, text in (
        (Feature.HOSTNAME, found.hostname),
        (Feature.OSRELEASE, found.osrelease),
        (Feature.VERSION, found.version),
        (Feature.ARCH, found.arch),
        (Feature.CPUDESC, found.cpudesc),
        (Feature.CPUID, found.cpuid),
    ):
        if text is not None:
            sections[number] = string(text)
    if found.nrcpus is not None:
        sections[Feature.NRCPUS] = struct.pack("=II", *found.nrcpus)
    if found.total_mem is not None:
        sections[Feature.TOTAL_MEM] = struct.pack("=Q", found.total_mem)
    if found.cmdline is not None:
        sections[Feature.CMDLINE] = strings(found.cmdline)
    sections[Feature.EVENT_DESC] = event_desc(events)
    if found.build_ids:
        sections[Feature.BUILD_ID] = build_ids(found.build_ids)
    if found.pmu_mappings:
        entries = [struct.pack("=I", kind) + string(name) for kind, name in found.pmu_mappings.items()]
        sections[Feature.PMU_MAPPINGS] = struct.pack("=I", len(entries)) + b"".join(entries)
    if found.groups:
        groups = [string(name) + struct.pack("=II", leader, members) for name, leader, members in found.groups]
        sections[Feature.GROUP_DESC] = struct.pack("=I", len(groups)) + b"".join(groups)
    if found.sample_time is not None:
        sections[Feature.SAMPLE_TIME] = struct.pack("=QQ", *found.sample_time)
    if found.clockid is not None:
        sections[Feature.CLOCKID] = struct.pack("=Q", found.clockid)
    if found.clock_data is not None:
        sections[Feature.CLOCK_DATA] = clock_data(found.clock_data)
    if found.e_machine is not None:
        sections[Feature.E_MACHINE] = struct.pack("=II", *found.e_machine)
    if found.tracing is not None:
        sections[Feature.TRACING_DATA] = found.tracing
    if found.cacheline_size is not None:
        sections[Feature.CLN_SIZE] = struct.pack("=I", found.cacheline_size)
    return sections


def clock_data(found: ClockData) -> bytes:
    """The section with the time of day at a time of the recording's clock."""
    return struct.pack("=IIQQ", 1, found.clockid, found.wall, found.clock)


def tracing(
    formats: Mapping[str, Sequence[bytes]],
    strings: bytes = b"",
    *,
    header_page: bytes = b"",
    header_event: bytes = b"",
    long_size: int = 8,
) -> bytes:
    """TRACING_DATA: the ``format`` files of tracepoints by their systems, and the lines of ``printk_formats``."""
    order = b"\0" if sys.byteorder == "little" else b"\1"
    parts = [b"\x17\x08\x44tracing0.6\0", order, bytes([long_size]), struct.pack("=I", 4096)]
    for name, text in ((b"header_page", header_page), (b"header_event", header_event)):
        parts += [name, b"\0", struct.pack("=Q", len(text)), text]
    parts.append(struct.pack("=II", 0, len(formats)))
    for system, texts in formats.items():
        parts += [system.encode(), b"\0", struct.pack("=I", len(texts))]
        for text in texts:
            parts += [struct.pack("=Q", len(text)), text]
    parts += [struct.pack("=II", 0, len(strings)), strings, struct.pack("=Q", 0)]
    return b"".join(parts)
