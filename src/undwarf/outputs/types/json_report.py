"""Types and members by weight as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from undwarf.outputs.json_lines import dump

if TYPE_CHECKING:
    from undwarf.views.data.false_sharing import Clashes, Party
    from undwarf.views.data.layout import DrawnType, Spread
    from undwarf.views.data.types import Counts, DataTypes, FieldRow


def write(report: dict[str, Any], sink: TextIO) -> None:
    """Write one JSON object."""
    dump(report, sink)


def _counts(counts: "Counts", *, latency: bool) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "weight": counts.weight,
        "samples": counts.samples,
        "loads": counts.loads,
        "stores": counts.stores,
    }
    if latency:
        numbers["latency"] = counts.latency
        numbers["timed_samples"] = counts.timed
    numbers["inferred"] = counts.inferred
    numbers["inferred_with_high_confidence"] = counts.consumed
    numbers.update(counts.memory.as_dict())
    return numbers


def _field(row: "FieldRow", *, latency: bool) -> dict[str, Any]:
    return {
        "offset": row.offset,
        "field": row.field,
        "size": row.size,
        "candidates": list(row.candidates),
        "readers": sorted(row.readers),
        "writers": sorted(row.writers),
        **_counts(row.counts, latency=latency),
    }


def _party(party: "Party") -> dict[str, Any]:
    return {
        "type": party.type,
        "field": party.field,
        "offset": party.offset,
        "threads": sorted(party.threads),
        "cpus": sorted(party.cpus),
    }


def sharing_as_dict(clashes: "Clashes") -> dict[str, Any]:
    """False and true sharing between CPUs."""
    return {
        "weight": clashes.weight,
        "total": clashes.total,
        "found": [
            {
                "kind": "false sharing" if clash.false else "same bytes",
                "evidence": "addresses" if clash.by_address else "type",
                "weight": clash.weight,
                "samples": clash.samples,
                "type": clash.type,
                **(
                    {"lines": clash.lines, "address": f"{clash.address:#x}", "several_objects": clash.objects}
                    if clash.by_address
                    else {"line": clash.line}
                ),
                "cpus_known": clash.cpus_known,
                "inferred": clash.inferred,
                "written": [_party(party) for party in clash.written],
                "used": [_party(party) for party in clash.used],
            }
            for clash in clashes.found
        ],
    }


def as_dict(data: "DataTypes", event: str, spreads: "Sequence[Spread]", *, code: bool) -> dict[str, Any]:
    """The numbers of one event: shares, types with members, members far apart; with ``code`` instructions."""
    latency = data.has_latency
    numbers: dict[str, Any] = {
        "event": event,
        "samples": data.samples,
        "total": data.total,
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
                "size": row.size,
                **_counts(row.counts, latency=latency),
                "fields": [
                    _field(field, latency=latency)
                    for field in sorted(row.fields.values(), key=lambda field: (-field.counts.weight, field.offset))
                ],
            }
            for row in data.types
        ],
        "spread": [
            {
                "type": spread.type,
                "weight": spread.weight,
                "lines": list(spread.lines),
                "taken": spread.taken,
                "needed": spread.needed,
                "members": [
                    {"field": name, "offset": offset, "share": share} for name, offset, share in spread.members
                ],
                "functions": dict(spread.functions),
            }
            for spread in spreads
        ],
    }
    if code:
        numbers["instructions"] = [
            {
                **row.access.as_dict(),
                "function": row.function,
                "dso": row.image,
                **_counts(row.counts, latency=latency),
            }
            for row in data.instructions
        ]
    return numbers


def type_as_dict(data: "DataTypes", drawn: "DrawnType") -> dict[str, Any]:
    """One type with its layout."""
    latency = data.has_latency
    return {
        "type": drawn.row.name,
        "size": drawn.row.size,
        **_counts(drawn.row.counts, latency=latency),
        "layout": [
            {
                "kind": line.kind,
                "offset": line.offset,
                "size": line.size,
                "depth": line.depth,
                "name": line.name + line.bits,
                "type": line.type,
                "path": line.path,
                **(_counts(line.counts, latency=latency) if line.counts is not None else {}),
                **({"reached": line.reached} if line.reached else {}),
            }
            for line in drawn.lines
        ],
    }
