"""The contents of a recording and the quality of its stacks as JSON."""

from typing import TYPE_CHECKING, Any, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import address, known, wholeness

if TYPE_CHECKING:
    from undwarf.outputs.schemas.info import Calls, Deferred, Info, InfoEvent, Machine, Precise, Tally
    from undwarf.views import verified_calls as view


def write(overview: dict[str, Any], sink: TextIO) -> None:
    """Write the overview of a recording (:func:`undwarf.views.overview.overview`), one JSON object."""
    first, last = overview["first_sample"], overview["last_sample"]
    document: Info = {
        "schema": "undwarf/info",
        "version": 1,
        "recording": overview["file"],
        "form": overview["form"],
        "byte_order": overview["byte_order"],
        "machine": _machine(overview["header"]),
        "start_ns": first,
        "end_ns": last,
        "duration_ns": last - first if first is not None else None,
        "samples": overview["samples"],
        "lost": overview["lost"],
        "events": [_event(event) for event in overview["events"]],
        "notes": [
            {
                "kind": note.kind,
                "event": known(note.event),
                "text": note.text,
                "advice": note.advice,
                "size_bytes": note.bytes or None,
            }
            for note in overview["notes"]
        ],
        "records": overview["records"],
        "deferred_not_merged": overview["deferred_not_merged"],
        "deferred": _deferred(overview["deferred"]),
        "precise": _precise(overview["precise"]),
        "processes": [
            {"pid": one["pid"] if one["pid"] >= 0 else None, "comm": known(one["comm"]), "samples": one["samples"]}
            for one in overview["processes"]
        ],
        "wholeness": wholeness(overview["wholeness"]),
        "bad_images": [
            {
                "dso": known(image.name),
                "build_id": known(image.build_id),
                "kind": image.kind,
                "problem": image.problem,
                "samples": image.samples,
            }
            for image in overview["missing"]
        ],
        "defects": [
            {
                "kind": defect.kind,
                "subject": known(defect.subject),
                "count": defect.count,
                "detail": known(defect.detail),
            }
            for defect in overview["defects"]
        ],
        "calls": _calls(overview["calls"]) if "calls" in overview else None,
    }
    dump(document, sink)


def _machine(header: dict[str, Any]) -> "Machine":
    available, online = header["nrcpus"] or (None, None)
    return {
        "hostname": known(header["hostname"]),
        "osrelease": known(header["osrelease"]),
        "arch": known(header["arch"]),
        "cpudesc": known(header["cpudesc"]),
        "cpus_online": online,
        "cpus_available": available,
        "perf_version": known(header["version"]),
        "cmdline": list(header["cmdline"]) if header["cmdline"] else None,
    }


def _event(event: dict[str, Any]) -> "InfoEvent":
    return {
        "event": event["name"],
        "samples": event["samples"],
        "frequency_hz": event.get("frequency") or None,
        "period": event.get("period") or None,
        "stack_dump_bytes": event["stack_dump"] or None,
    }


def _deferred(counts: dict[str, int]) -> "Deferred | None":
    if not any(counts.values()):
        return None
    return {
        "merged": counts["merged"],
        "superseded": counts["superseded"],
        "exited": counts["exited"],
        "open": counts["open"],
        "duplicate": counts["duplicate"],
        "unclaimed": counts["unclaimed"],
    }


def _precise(counts: dict[str, int]) -> "Precise | None":
    if not counts:
        return None
    return {
        "samples": counts["samples"],
        "fitting": counts["fitting"],
        "corrected": counts["corrected"],
        "returned": counts["returned"],
        "followed": counts["followed"],
        "unproven": counts["unproven"],
    }


def _tally(tally: "view.Tally") -> "Tally":
    return {
        "proven": tally.proven,
        "consistent": tally.consistent,
        "contradicted": tally.contradicted,
        "unchecked": tally.unchecked,
    }


def _calls(verified: "view.VerifiedCalls") -> "Calls":
    return {
        "pairs": _tally(verified.pairs),
        "calls": _tally(verified.calls),
        "by_dso": {name: _tally(tally) for name, tally in verified.images.items()},
        "by_provenance": {name: _tally(tally) for name, tally in verified.provenances.items()},
        "reasons": verified.reasons,
        "contradictions": [
            {
                "calls": one.calls,
                "caller_sym": known(one.caller),
                "caller_dso": known(one.caller_image),
                "caller_address": address(one.caller_address),
                "callee_sym": known(one.callee),
                "callee_dso": known(one.callee_image),
                "callee_address": address(one.callee_address),
                "provenance": one.provenance,
                "reason": one.reason,
            }
            for one in verified.contradictions
        ],
    }
