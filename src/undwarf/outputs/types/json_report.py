"""Types and members by weight as JSON."""

from typing import Any, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.views.data.false_sharing import Clashes, Party
from undwarf.views.data.layout import layout, spread
from undwarf.views.data.types import Counts, DataTypes, FieldRow, TypeRow

__all__ = ["as_dict", "sharing_as_dict", "type_as_dict", "write"]


def write(report: dict[str, Any], sink: TextIO) -> None:
    """One JSON object."""
    dump(report, sink)


def _counts(counts: Counts, *, latency: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "weight": counts.weight,
        "samples": counts.samples,
        "loads": counts.loads,
        "stores": counts.stores,
    }
    if latency:
        found["latency"] = counts.latency
        found["timed_samples"] = counts.timed
    found["inferred"] = counts.inferred
    found["inferred_with_high_confidence"] = counts.consumed
    found.update(counts.memory.as_dict())
    return found


def _field(one: FieldRow, *, latency: bool) -> dict[str, Any]:
    return {
        "offset": one.offset,
        "field": one.field,
        "size": one.size,
        "candidates": list(one.candidates),
        "readers": sorted(one.readers),
        "writers": sorted(one.writers),
        **_counts(one.counts, latency=latency),
    }


def _party(one: Party) -> dict[str, Any]:
    return {
        "type": one.type,
        "field": one.field,
        "offset": one.offset,
        "threads": sorted(one.threads),
        "cpus": sorted(one.cpus),
    }


def sharing_as_dict(clashes: Clashes) -> dict[str, Any]:
    """What cpus take from each other."""
    return {
        "weight": clashes.weight,
        "total": clashes.total,
        "found": [
            {
                "kind": "false sharing" if one.false else "same bytes",
                "evidence": "addresses" if one.by_address else "type",
                "weight": one.weight,
                "samples": one.samples,
                "type": one.type,
                **(
                    {"lines": one.lines, "address": f"{one.address:#x}", "several_objects": one.objects}
                    if one.by_address
                    else {"line": one.line}
                ),
                "cpus_known": one.cpus_known,
                "inferred": one.inferred,
                "written": [_party(party) for party in one.written],
                "used": [_party(party) for party in one.used],
            }
            for one in clashes.found
        ],
    }


def as_dict(found: DataTypes, event: str, *, code: bool) -> dict[str, Any]:
    """The numbers of one event: shares, types with members, members far apart; with ``code`` instructions."""
    latency = found.has_latency
    made: dict[str, Any] = {
        "event": event,
        "samples": found.samples,
        "total": found.total,
        "typed": found.typed,
        "inferred": found.inferred,
        "inferred_with_high_confidence": found.consumed,
        "untyped": dict(found.unknown),
        "unread": dict(found.unread),
        "untyped_files": {reason: dict(files) for reason, files in found.untold.items()},
        "no_data": dict(found.outside),
        "types": [
            {
                "type": row.name,
                "size": row.size,
                **_counts(row.counts, latency=latency),
                "fields": [
                    _field(one, latency=latency)
                    for one in sorted(row.fields.values(), key=lambda one: (-one.counts.weight, one.offset))
                ],
            }
            for row in found.types
        ],
        "spread": [
            {
                "type": two.type,
                "weight": two.weight,
                "lines": list(two.lines),
                "taken": two.taken,
                "needed": two.needed,
                "members": [{"field": name, "offset": offset, "share": share} for name, offset, share in two.members],
                "functions": dict(two.functions),
            }
            for two in spread(found)
        ],
    }
    if code:
        made["instructions"] = [
            {
                **row.access.as_dict(),
                "function": row.function,
                "dso": row.image,
                **_counts(row.counts, latency=latency),
            }
            for row in found.instructions
        ]
    return made


def type_as_dict(found: DataTypes, row: TypeRow) -> dict[str, Any]:
    """One type with its layout."""
    return {
        "type": row.name,
        "size": row.size,
        **_counts(row.counts, latency=found.has_latency),
        "layout": [
            {
                "kind": one.kind,
                "offset": one.offset,
                "size": one.size,
                "depth": one.depth,
                "name": one.name + one.bits,
                "type": one.type,
                "path": one.path,
                **(_counts(one.counts, latency=found.has_latency) if one.counts is not None else {}),
                **({"reached": one.reached} if one.reached else {}),
            }
            for one in layout(row)
        ],
    }
