"""What a page says of data types in words: sharing of cache lines, members far apart, why accesses have no type."""

from typing import TYPE_CHECKING, Any

from undwarf.outputs.types.advice import (
    clash_advice,
    clash_parties,
    clash_place,
    spread_advice,
    spread_functions,
    typed_text,
    unread_text,
    untyped_advice,
    untyped_text,
)
from undwarf.outputs.types.json_report import sharing_of, spread_of

if TYPE_CHECKING:
    from undwarf.views.page.part import Part
    from undwarf.views.page.types_part import PageTypes


def with_texts(types: "PageTypes") -> "Part":
    """The part with its texts."""
    data = types.data
    shared: dict[str, Any] = dict(sharing_of(types.clashes))
    shared["found"] = [
        {**found, "place": clash_place(clash), "parties": clash_parties(clash), "advice": clash_advice(clash)}
        for found, clash in zip(shared["found"], types.clashes.found, strict=True)
    ]
    inside = data.total - sum(data.outside.values()) - sum(data.unread.values())
    shares = [{"weight": data.typed, "text": typed_text(data), "kind": "typed"}]
    for kind, reasons, text in (("untyped", data.unknown, untyped_text), ("unread", data.unread, unread_text)):
        shares += [{"weight": weight, "text": text(data, reason), "kind": kind} for reason, weight in _falling(reasons)]
    shares += [{"weight": weight, "text": reason, "kind": "no_data"} for reason, weight in _falling(data.outside)]
    advice: list[dict[str, Any]] = [{"kind": "untyped", "text": text} for text in untyped_advice(data, late=types.late)]
    advice += [
        {**spread_of(one), "kind": "spread", "text": spread_advice(one), "functions_text": spread_functions(one)}
        for one in types.spreads
    ]
    values = {
        **types.part.values,
        "weight": data.total,
        "accessing": inside,
        "shares": shares,
        "sharing": shared,
        "advice": advice,
    }
    return types.part._replace(values=values)


def _falling(weights: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(weights.items(), key=lambda item: -item[1])
