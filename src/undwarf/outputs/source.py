"""A function's source with the weight of each line, and its instructions if asked for, as text or JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.report import percent
from undwarf.outputs.terminal.escape import printable
from undwarf.outputs.terminal.short_names import shorten
from undwarf.outputs.terminal.style import Paint, fit
from undwarf.views.sample_selection import Weight
from undwarf.views.source import Code, Line, Listing

SKIPPED = 8
"""Lines without weight that are left out if there are more of them in a row."""
BLANK = " " * 8

OfEvent = tuple[str, list[Listing]]
"""(event's name, the listings of a function with the weights of this event)."""


class SourceOptions(NamedTuple):
    """How listings are shown: ``width`` in columns; None: nothing is cut."""

    weight: Weight = "period"
    path: str = ""
    colour: bool = False
    width: int | None = None


def write_json(found: Sequence[OfEvent], sink: TextIO, options: SourceOptions) -> None:
    """Write one JSON object: ``events`` holds the ``listings`` of each event."""
    events = [{"event": name, "listings": [asdict(listing) for listing in made]} for name, made in found]
    dump({"file": options.path, "weight": options.weight, "events": events}, sink)


def write(found: Sequence[OfEvent], sink: TextIO, options: SourceOptions) -> None:
    """Write the listings of each event."""
    paint = Paint(options.colour)
    for name, made in found:
        if len(found) > 1:
            sink.write(paint.bold(printable(name)) + "\n\n")
        for listing in made:
            _write_listing(listing, sink, options, paint)


def _write_listing(listing: Listing, sink: TextIO, options: SourceOptions, paint: Paint) -> None:
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
        if end - at > SKIPPED:
            near = 1 if at else 0
            _write_lines(lines[at : at + near], whole, sink, options, paint)
            last = end - (1 if end < len(lines) else 0)
            _write_gap(lines[at + near : last], sink, paint)
            at = last
        end = max(end, at + 1)
        _write_lines(lines[at:end], whole, sink, options, paint)
        at = end
    sink.write("\n")


def _has_weight(line: Line) -> bool:
    return bool(line.total_weight) or any(code.total_weight for code in line.code)


def _write_gap(lines: Sequence[Line], sink: TextIO, paint: Paint) -> None:
    code = sum(len(line.code) for line in lines)
    made = f", {code} instructions" if code else ""
    sink.write(paint.dim(f"{BLANK} {BLANK}      ⋮  {len(lines)} lines{made} without weight") + "\n")


def _write_lines(lines: Sequence[Line], whole: int, sink: TextIO, options: SourceOptions, paint: Paint) -> None:
    for line in lines:
        number = f"{line.number:6}" if line.number else "     ?"
        text = printable(line.text.expandtabs(4)) if line.text is not None else ""
        head = f"{_share(line.total_weight, whole, paint)} {_share(line.self_weight, whole, paint)} {number} "
        room = None if options.width is None else max(20, options.width - 26)
        text = text.rstrip() if room is None else fit(text.rstrip(), room)
        sink.write(f"{head}{paint.dim('│')} {text}".rstrip() + "\n")
        before = ""
        for code in line.code:
            _write_code(code, before, whole, sink, options, paint)
            before = code.inlined


def _write_code(code: Code, before: str, whole: int, sink: TextIO, options: SourceOptions, paint: Paint) -> None:
    """One instruction, and whose it is where that changes."""
    note = f"  ← {shorten(printable(code.inlined), 60)}" if code.inlined and code.inlined != before else ""
    text = printable(code.text)
    if options.width is not None:
        note = fit(note, max(0, options.width - 44 - len(text)))
    head = f"{_share(code.total_weight, whole, paint)} {_share(code.self_weight, whole, paint)}        "
    sink.write(f"{head}{paint.dim('│')}   {paint.dim(f'{code.address:8x}')}  {text}{paint.dim(note)}".rstrip() + "\n")


def _share(weight: int, whole: int, paint: Paint) -> str:
    """A weight's share in 8 columns; blank for none."""
    return paint.share(weight / whole, f"{100 * weight / whole:7.2f}%") if weight else BLANK
