"""Types and members by weight as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import WEIGHTED_UNITS, address, known

if TYPE_CHECKING:
    from undwarf.outputs.schemas.types import (
        Access,
        Field,
        Layout,
        Memory,
        Party,
        SharedLines,
        SpreadOut,
        TypeCounts,
        Types,
        TypesAt,
        TypesEvent,
        TypesLayout,
    )
    from undwarf.outputs.schemas.vocabulary import Weighting
    from undwarf.types import access as resolved
    from undwarf.views.data import false_sharing
    from undwarf.views.data.layout import DrawnType, Spread
    from undwarf.views.data.memory_counts import MemoryCounts
    from undwarf.views.data.types import Counts, DataTypes, FieldRow

_DIRECTIONS: "dict[str, Literal['r', 'w', 'rw']]" = {"r": "r", "w": "w", "rw": "rw"}


def write(
    recording: str,
    weight: "Weighting",
    events: "list[TypesEvent]",
    clashes: "false_sharing.Clashes | None",
    sink: TextIO,
) -> None:
    """Write one JSON object. ``clashes`` are None if nobody can tell."""
    document: Types = {
        "schema": "undwarf/types",
        "version": 1,
        "recording": recording,
        "weighted_by": weight,
        "events": events,
        "sharing": sharing_of(clashes) if clashes is not None else None,
    }
    dump(document, sink)


def write_layouts(
    recording: str,
    weight: "Weighting",
    layouts: "list[Layout]",
    clashes: "false_sharing.Clashes",
    sink: TextIO,
) -> None:
    """Write the layouts of types of a recording, one JSON object."""
    document: TypesLayout = {
        "schema": "undwarf/types-layout",
        "version": 1,
        "recording": recording,
        "binary": None,
        "weighted_by": weight,
        "layouts": layouts,
        "sharing": sharing_of(clashes),
    }
    dump(document, sink)


def write_layout(binary: str, layout: "Layout", sink: TextIO) -> None:
    """Write the layout of a type of a binary, one JSON object."""
    document: TypesLayout = {
        "schema": "undwarf/types-layout",
        "version": 1,
        "recording": None,
        "binary": binary,
        "weighted_by": None,
        "layouts": [layout],
        "sharing": None,
    }
    dump(document, sink)


def write_accesses(binary: str, accesses: "Sequence[resolved.Access]", sink: TextIO) -> None:
    """Write what operands access, one JSON object."""
    document: TypesAt = {
        "schema": "undwarf/types-at",
        "version": 1,
        "binary": binary,
        "accesses": [_access(access) for access in accesses],
    }
    dump(document, sink)


def _access(access: "resolved.Access") -> "Access":
    return {
        "address": address(access.address),
        "instruction": known(access.insn),
        "access": _DIRECTIONS.get(access.access),
        "type": access.type,
        "offset_bytes": access.offset,
        "field": known(access.field),
        "size_bytes": access.size or None,
        "how": known(access.how),
        "candidates": list(access.candidates),
        "reason": known(access.reason),
    }


def _memory(memory: "MemoryCounts") -> "Memory | None":
    if not memory.known and not memory.pages:
        return None
    levels, pages = (
        dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))) for counts in (memory.levels, memory.pages)
    )
    return {
        "level_known": memory.known,
        "missed": memory.missed,
        "tlb_missed": memory.tlb_missed,
        "from_other_cpu": memory.others,
        "levels": levels,
        "pages": pages,
    }


def _counts(counts: "Counts", *, latency: bool) -> "TypeCounts":
    return {
        "weight": counts.weight,
        "samples": counts.samples,
        "loads": counts.loads,
        "stores": counts.stores,
        "latency_cycles": counts.latency if latency else None,
        "timed_samples": counts.timed if latency else None,
        "inferred": counts.inferred,
        "inferred_with_high_confidence": counts.consumed,
        "memory": _memory(counts.recorded) if counts.recorded is not None else None,
    }


def _field(row: "FieldRow", *, latency: bool) -> "Field":
    return {
        "offset_bytes": row.offset,
        "field": known(row.field),
        "size_bytes": row.size or None,
        "candidates": list(row.candidates),
        "readers": sorted(row.readers),
        "writers": sorted(row.writers),
        **_counts(row.counts, latency=latency),
    }


def _party(party: "false_sharing.Party") -> "Party":
    return {
        "type": party.type,
        "field": known(party.field),
        "offset_bytes": party.offset,
        "threads": sorted(party.threads),
        "cpus": sorted(party.cpus),
    }


def sharing_of(clashes: "false_sharing.Clashes") -> "SharedLines":
    """False and true sharing between CPUs."""
    return {
        "weighted_by": clashes.weight,
        "weight": clashes.total,
        "found": [
            {
                "kind": "false sharing" if clash.false else "same bytes",
                "evidence": "addresses" if clash.by_address else "type",
                "weight": clash.weight,
                "samples": clash.samples,
                "type": clash.type,
                "lines": clash.lines if clash.by_address else None,
                "address": address(clash.address) if clash.by_address else None,
                "several_objects": clash.objects if clash.by_address else None,
                "line": clash.line if not clash.by_address else None,
                "cpus_known": clash.cpus_known,
                "inferred": clash.inferred,
                "written": [_party(party) for party in clash.written],
                "used": [_party(party) for party in clash.used],
            }
            for clash in clashes.found
        ],
    }


def spread_of(spread: "Spread") -> "SpreadOut":
    """Members that are used together, but far apart."""
    return {
        "type": spread.type,
        "weight": spread.weight,
        "lines": list(spread.lines),
        "taken": spread.taken,
        "needed": spread.needed,
        "members": [{"field": name, "offset_bytes": offset, "share": share} for name, offset, share in spread.members],
        "functions": dict(spread.functions),
    }


def types_of_event(
    data: "DataTypes", name: str | None, unit: str, spreads: "Sequence[Spread]", weight: "Weighting", *, code: bool
) -> "TypesEvent":
    """The numbers of one event: shares, types with members, members far apart; with ``code`` instructions. ``name`` is
    None without samples, ``unit`` that of periods, empty if it is not known."""
    latency = data.has_latency
    return {
        "event": name,
        "unit": WEIGHTED_UNITS.get(weight) or known(unit),
        "samples": data.samples,
        "weight": data.total,
        "typed": data.typed,
        "inferred": data.inferred,
        "inferred_with_high_confidence": data.consumed,
        "untyped": dict(data.unknown),
        "unread": dict(data.unread),
        "untyped_files": {reason: dict(files) for reason, files in data.untyped_files.items()},
        "no_data": dict(data.outside),
        "types": [
            {
                "type": row.name,
                "size_bytes": row.size or None,
                **_counts(row.counts, latency=latency),
                "fields": [
                    _field(field, latency=latency)
                    for field in sorted(
                        row.fields.values(), key=lambda field: (-field.counts.weight, field.offset, field.field)
                    )
                ],
            }
            for row in data.types
        ],
        "spread": [spread_of(spread) for spread in spreads],
        "instructions": [
            {
                **_access(row.access),
                "sym": known(row.function),
                "dso": known(row.image),
                **_counts(row.counts, latency=latency),
            }
            for row in data.instructions
        ]
        if code
        else None,
    }


def layout_of(
    data: "DataTypes", drawn: "DrawnType", event: str | None, unit: str, weight: "Weighting" = "period"
) -> "Layout":
    """One type with its layout. ``event`` is None without samples, ``unit`` that of periods, empty if unknown."""
    latency = data.has_latency
    return {
        "event": event,
        "unit": (WEIGHTED_UNITS.get(weight) or known(unit)) if event is not None else None,
        "type": drawn.row.name,
        "size_bytes": drawn.row.size or None,
        "counts": _counts(drawn.row.counts, latency=latency),
        "layout": [
            {
                "kind": "hole" if line.kind == "hole" else "member",
                "depth": line.depth,
                "offset_bytes": line.offset,
                "size_bytes": line.size,
                "name": known(line.name + line.bits),
                "type": known(line.type),
                "path": known(line.path),
                "counts": _counts(line.counts, latency=latency) if line.counts is not None else None,
                "reached": line.reached,
            }
            for line in drawn.lines
        ],
    }
