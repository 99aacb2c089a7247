"""Disagreements between two sources of unwind information as text or JSON."""

from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import address, known
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.outputs.schemas.tables import TablesVerify
    from undwarf.views.tables.verify import Verdict


def write_json(path: str, verdict: "Verdict", sink: TextIO) -> None:
    """Write one JSON object."""
    document: TablesVerify = {
        "schema": "undwarf/tables-verify",
        "version": 1,
        "binary": path,
        "source": verdict.one,
        "against": verdict.other,
        "instructions": verdict.instructions,
        "agreed": verdict.agreed,
        "only_source": verdict.only_one,
        "only_against": verdict.only_other,
        "expressions": verdict.expressions,
        "kinds": dict(verdict.kinds.most_common()),
        "pairs": [
            {"kind": kind, "source": one, "against": other, "instructions": count}
            for (kind, one, other), count in verdict.pairs.most_common()
        ],
        "places": verdict.places,
        "disagreements": [
            {
                "address": address(place.start),
                "end_address": address(place.end),
                "sym": known(place.function),
                "kind": place.kind,
                "source": place.one,
                "against": place.other,
                "instructions": place.instructions,
                "code": [{"address": address(pc), "text": text} for pc, text in place.code],
            }
            for place in verdict.disagreements
        ],
    }
    dump(document, sink)


def write(verdict: "Verdict", sink: TextIO) -> None:
    """Write a summary by kind and the disagreements with their code."""
    both = verdict.instructions - verdict.only_one - verdict.only_other
    share = f" ({100 * verdict.agreed / both:.3f} %)" if both else ""
    sink.write(f"{verdict.one} against {verdict.other}: {verdict.instructions:,} instructions\n")
    sink.write(f"  described by both {both:,}, agreed on {verdict.agreed:,}{share}\n")
    sink.write(f"  only by {verdict.one} {verdict.only_one:,}, only by {verdict.other} {verdict.only_other:,}\n")
    if verdict.expressions:
        sink.write(f"  by an expression, not compared {verdict.expressions:,}\n")
    if verdict.pairs:
        sink.write(f"\n{'instructions':>12}  what      {verdict.one:<20} {verdict.other}\n")
    for (kind, one, other), count in verdict.pairs.most_common(30):
        sink.write(f"{count:>12,}  {kind:<8}  {one:<20} {other}\n")
    for place in verdict.disagreements:
        name = printable(place.function) or "?"
        sink.write(f"\n{place.start:#x}-{place.end:#x} {name}: {place.kind} is {place.one} or {place.other}")
        sink.write(f", {place.instructions:,} instructions\n")
        for pc, text in place.code:
            sink.write(f"  {pc:12x}  {text}\n")
    rest = verdict.places - len(verdict.disagreements)
    if rest > 0:
        sink.write(f"\n{rest:,} more places: --limit shows more\n")
