"""What to know of functions beside their numbers: how they were matched, and inlining that changed."""

from collections.abc import Sequence

from undwarf.views.comparison.matching import Matching
from undwarf.views.comparison.model import LEAST_SHARE, Note
from undwarf.views.comparison.side_functions import SideFunctions
from undwarf.views.comparison.tables import Thing

_MOST_OWN, _LEAST_INLINED = 0.1, 0.9
"""Of a function's weight: the part that passes through inlined copies before and after, where inlining changed."""
_GONE = 0.05
"""Of a function's weight on one side, what is left where it is gone on the other."""
_ALIKE = 0.5
"""How far what a caller gained may be from what its callee lost, as a part of that."""


def function_rows(
    before: SideFunctions, after: SideFunctions, matching: Matching, totals: tuple[float, float]
) -> list[Thing]:
    """The functions by common number, with their notes. ``totals``: the mean weight of each side per unit of work."""
    rows = []
    for number, (old, new, how) in enumerate(matching.pairs):
        notes: list[Note] = []
        key = after.keys[new] if new is not None else before.keys[old or 0]
        name_before = ""
        if old is not None and new is not None:
            was = before.keys[old]
            name_before = was.name if was.name != key.name else ""
            if how == "renamed":
                notes.append(Note("renamed", f"{was.name} before"))
            elif how == "signature":
                notes.append(Note("signature", f"{was.name} before"))
            notes += _clones(before.variants[old], after.variants[new])
            notes += _inlined(before, old, after, new)
        elif old is not None and before.passing[old] >= LEAST_SHARE:
            notes.append(Note("only-before", "not sampled after"))
        elif new is not None and after.passing[new] >= LEAST_SHARE:
            notes.append(Note("only-after", "not sampled before"))
        rows.append(Thing(key.name, key.image, key.kernel, name_before, (), number, tuple(notes)))
    _note_vanished(rows, (before, after), matching, totals)
    return rows


def _clones(before: set[str], after: set[str]) -> list[Note]:
    """Copies and parts that only one side has."""
    notes = []
    for one, other, when in ((before, after, "before"), (after, before, "after")):
        forms = sorted({_suffix(name) for name in one} - {_suffix(name) for name in other})
        if forms:
            notes.append(Note("clones", f"{', '.join(forms[:3])} {when}"))
    return notes


def _suffix(name: str) -> str:
    """The kind of a clone (``.constprop``), without numbers, which change with every build."""
    at = name.find(" [clone ")
    text = name[at + len(" [clone ") :] if at >= 0 else name[name.find(".") :]
    return "." + ".".join(part for part in text.rstrip("]").split(".") if part and not part.isdigit())


def _inlined(before: SideFunctions, old: int, after: SideFunctions, new: int) -> list[Note]:
    if not before.passing[old] or not after.passing[new]:
        return []
    was, is_ = before.inlined[old] / before.passing[old], after.inlined[new] / after.passing[new]
    if was <= _MOST_OWN and is_ >= _LEAST_INLINED:
        return [Note("inlined", f"inlined after{_into(after, new)}")]
    if was >= _LEAST_INLINED and is_ <= _MOST_OWN:
        return [Note("outlined", f"inlined before{_into(before, old)}")]
    return []


def _main_caller(side: SideFunctions, number: int) -> int | None:
    """The function that most of a function's weight comes from."""
    callers = {caller: weight for caller, weight in side.callers[number].items() if caller != number}
    if not callers:
        return None
    most = max(callers, key=lambda caller: callers[caller])
    return most if callers[most] * 2 >= sum(callers.values()) else None


def _into(side: SideFunctions, number: int) -> str:
    caller = _main_caller(side, number)
    return f", into {side.keys[caller].name}" if caller is not None else ""


def _note_vanished(
    rows: list[Thing], sides: tuple[SideFunctions, SideFunctions], matching: Matching, totals: tuple[float, float]
) -> None:
    """Note functions that only one side has, whose caller has about as much more on the other: without debugging
    information, that is how inlining looks."""
    of = matching.of_before, matching.of_after
    for here in (0, 1):
        side, other = sides[here], sides[1 - here]
        for number, (old, new, _how) in enumerate(matching.pairs):
            pair = old, new
            own, there = pair[here], pair[1 - here]
            if own is None or side.own[own] < LEAST_SHARE or side.inlined[own] > side.passing[own] / 2:
                continue
            lost = side.own[own] * totals[here]
            left = other.own[there] * totals[1 - here] if there is not None else 0.0
            if left > _GONE * lost:
                continue
            caller = _main_caller(side, own)
            if caller is None:
                continue
            of_caller = matching.pairs[of[here][caller]][:2]
            twin = of_caller[1 - here]
            if twin is None:
                continue
            gained = other.own[twin] * totals[1 - here] - side.own[caller] * totals[here]
            if abs(gained - lost) > _ALIKE * lost:
                continue
            name = side.keys[own].name
            change = (gained - lost) / lost
            when = ("after", "before")[here]
            _add(rows, number, "possibly-inlined" if not here else "possibly-outlined",
                 f"possibly inlined {when} into {side.keys[caller].name}")  # fmt: skip
            _add(rows, of[here][caller], "caller-of-inlined",
                 f"possibly with {name} inlined {when}: {100 * change:+.0f} % of it")  # fmt: skip


def _add(rows: list[Thing], number: int, kind: str, text: str) -> None:
    kept = [note for note in rows[number].notes if note.kind not in ("only-before", "only-after")]
    rows[number] = rows[number]._replace(notes=(*kept, Note(kind, text)))  # type: ignore[arg-type]


def totals_of(weights: Sequence[float]) -> float:
    """The mean of a side's weights per unit of work."""
    return sum(weights) / len(weights)
