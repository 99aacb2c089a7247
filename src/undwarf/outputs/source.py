"""A function's source with the weight of each line, and its instructions if asked for, as text or JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import WEIGHTED_UNITS, address, known
from undwarf.outputs.report import percent
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten
from undwarf.outputs.terminal.style import Paint, fit

if TYPE_CHECKING:
    from undwarf.outputs.schemas.report_source import Listing as JsonListing
    from undwarf.outputs.schemas.report_source import ReportSource
    from undwarf.views.sample_selection import Weight
    from undwarf.views.source import Code, Line, Listing

LONGEST_GAP = 8
"""Longer runs of lines without weight are left out."""
BLANK = " " * 8


class SourceOfEvent(NamedTuple):
    """The listings of one event, with the unit of its weights, empty if it is not known; ``name`` is None without
    samples."""

    name: str | None
    unit: str
    listings: "list[Listing]"


class SourceOptions(NamedTuple):
    """How listings are shown: ``width`` in columns; None: nothing is cut."""

    weight: "Weight" = "period"
    path: str = ""
    colour: bool = False
    width: int | None = None


def write_json(events: "Sequence[SourceOfEvent]", sink: TextIO, options: SourceOptions) -> None:
    """Write one JSON object."""
    document: ReportSource = {
        "schema": "undwarf/report-source",
        "version": 1,
        "recording": options.path,
        "weighted_by": options.weight,
        "events": [
            {
                "event": event.name,
                "unit": WEIGHTED_UNITS.get(options.weight) or known(event.unit),
                "weight": event.listings[0].whole if event.listings else None,
                "listings": [_listing(listing) for listing in event.listings],
            }
            for event in events
        ],
    }
    dump(document, sink)


def _listing(listing: "Listing") -> "JsonListing":
    return {
        "sym": listing.function,
        "dso": known(listing.dso),
        "file": known(listing.file),
        "problem": known(listing.problem),
        "self": listing.self_weight,
        "total": listing.total_weight,
        "lines": [
            {
                "line": line.number or None,
                "text": line.text,
                "self": line.self_weight,
                "total": line.total_weight,
                "instructions": [
                    {
                        "address": address(code.address),
                        "text": code.text,
                        "sym": known(code.inlined),
                        "self": code.self_weight,
                        "total": code.total_weight,
                    }
                    for code in line.code
                ],
            }
            for line in listing.lines
        ],
    }


def write(events: "Sequence[SourceOfEvent]", sink: TextIO, options: SourceOptions) -> None:
    """Write the listings of each event."""
    paint = Paint(options.colour)
    for event in events:
        if len(events) > 1:
            sink.write(paint.bold(printable(event.name or "")) + "\n\n")
        for listing in event.listings:
            _write_listing(listing, sink, options, paint)


def _write_listing(listing: "Listing", sink: TextIO, options: SourceOptions, paint: Paint) -> None:
    whole = listing.whole or 1
    sink.write(paint.bold(printable(listing.function)) + paint.dim(f"  {printable(listing.dso)}") + "\n")
    shares = f"{percent(listing.total_weight / whole)} pass it, {percent(listing.self_weight / whole)} are its own"
    sink.write(f"{printable(listing.file) or 'no source file known'}: {shares}\n")
    if listing.problem:
        sink.write(paint.warn(printable(listing.problem)) + "\n")
    sink.write(paint.bold("   Total     Self   Line") + "\n")
    lines = listing.lines
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and not _has_weight(lines[end]):
            end += 1
        if end - at > LONGEST_GAP:
            # One line is kept beside each line with weight.
            first, last = at + (1 if at else 0), end - (1 if end < len(lines) else 0)
            _write_lines(lines[at:first], whole, sink, options, paint)
            _write_gap(lines[first:last], sink, paint)
            at = last
        end = max(end, at + 1)
        _write_lines(lines[at:end], whole, sink, options, paint)
        at = end
    sink.write("\n")


def _has_weight(line: "Line") -> bool:
    return bool(line.total_weight) or any(code.total_weight for code in line.code)


def _write_gap(lines: "Sequence[Line]", sink: TextIO, paint: Paint) -> None:
    count = sum(len(line.code) for line in lines)
    instructions = f", {count} instructions" if count else ""
    sink.write(paint.dim(f"{BLANK} {BLANK}      ⋮  {len(lines)} lines{instructions} without weight") + "\n")


def _write_lines(lines: "Sequence[Line]", whole: int, sink: TextIO, options: SourceOptions, paint: Paint) -> None:
    for line in lines:
        number = f"{line.number:6}" if line.number else "     ?"
        text = printable(line.text.expandtabs(4)).rstrip() if line.text is not None else ""
        if options.width is not None:
            text = fit(text, max(20, options.width - 26))
        head = f"{_share(line.total_weight, whole, paint)} {_share(line.self_weight, whole, paint)} {number} "
        sink.write(f"{head}{paint.dim('│')} {text}".rstrip() + "\n")
        inlined = ""
        for code in line.code:
            _write_code(code, inlined, whole, sink, options, paint)
            inlined = code.inlined


def _write_code(code: "Code", before: str, whole: int, sink: TextIO, options: SourceOptions, paint: Paint) -> None:
    """One instruction, and the function inlined there if it is another than ``before``."""
    note = f"  ← {shorten(printable(code.inlined), 60)}" if code.inlined and code.inlined != before else ""
    text = printable(code.text)
    if options.width is not None:
        note = fit(note, max(0, options.width - 44 - len(text)))
    head = f"{_share(code.total_weight, whole, paint)} {_share(code.self_weight, whole, paint)}        "
    sink.write(f"{head}{paint.dim('│')}   {paint.dim(f'{code.address:8x}')}  {text}{paint.dim(note)}".rstrip() + "\n")


def _share(weight: int, whole: int, paint: Paint) -> str:
    """A weight's share in 8 columns; blank for none."""
    return paint.share(weight / whole, f"{100 * weight / whole:7.2f}%") if weight else BLANK
