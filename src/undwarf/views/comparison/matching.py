"""Finds the functions of one side on the other, where names, files and inlining have changed.

Rules in this order; each takes functions that those before have left: the same name in the same file; in a file of
another version or name; the same name with other template arguments or parameters; a function of another name at the
same place. The last one needs evidence: the same callers, the same callees or the same neighbours in the file, and a
weight that is not far off.
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from undwarf.profile.labels import UNKNOWN
from undwarf.views.comparison.side_functions import Key, SideFunctions, by_image, similar

How = Literal["same", "moved", "signature", "renamed"]
"""Why two functions are one: the same name; the same in a file of another name; other arguments of templates or other
parameters; evidence from the code around."""

_VERSION = re.compile(r"\.so[.\d]*$|-\d[\d.]*\.so$")
_MOST_IMAGES = 300
"""Files of a side, the heaviest ones, that are compared with each of the other by their functions."""
_MOST_NAMES = 5_000
"""Functions of a side, the heaviest ones, that are looked for under other arguments."""
_MOST_CANDIDATES = 200
"""Functions of a side, the heaviest ones, that are compared with each of the other."""
_LEAST_PART = 0.001
"""Of a side's weight: lighter functions have too few samples to know their callers."""
_ALIKE = 0.75
_FACTOR = 3.0
"""A renamed function's weight is at most so many times that of before, or the other way round."""


class Match(NamedTuple):
    """A function of both sides, by its numbers."""

    before: int
    after: int
    how: How


class Matching(NamedTuple):
    """The functions of both sides with common numbers.

    ``of_before`` and ``of_after`` give the common number of each side's function; ``pairs`` has the (before, after)
    numbers and how they were matched, None where a side lacks the function. ``images``: common name by a file's name
    on the side before.
    """

    pairs: list[tuple[int | None, int | None, How | None]]
    of_before: list[int]
    of_after: list[int]
    images: dict[str, str]


def match(before: SideFunctions, after: SideFunctions) -> Matching:
    """Match the functions of two sides."""
    images = _images(before, after)
    found: dict[int, tuple[int, How]] = {}
    taken: set[int] = set()

    def take(number: int, other: int, how: How) -> None:
        found[number] = other, how
        taken.add(other)

    for number, key in enumerate(before.keys):
        other = after.number(key)
        if other is not None:
            take(number, other, "same")
    for number, key in enumerate(before.keys):
        if number not in found and not key.unnamed and key.image in images:
            other = after.number(key._replace(image=images[key.image]))
            if other is not None and other not in taken:
                take(number, other, "moved")
    for form in (_without_templates, _without_arguments):
        for number, other in _unique(before, after, found, taken, images, form):
            take(number, other, "signature")
    for number, other in _renamed(before, after, found, taken, images):
        take(number, other, "renamed")
    pairs: list[tuple[int | None, int | None, How | None]] = []
    of_before = [0] * len(before)
    of_after = [-1] * len(after)
    for number in range(len(before)):
        pair, how = found.get(number, (None, None))
        of_before[number] = len(pairs)
        if pair is not None:
            of_after[pair] = len(pairs)
        pairs.append((number, pair, how))
    for number in range(len(after)):
        if of_after[number] < 0:
            of_after[number] = len(pairs)
            pairs.append((None, number, None))
    return Matching(pairs, of_before, of_after, images)


def _images(before: SideFunctions, after: SideFunctions) -> dict[str, str]:
    """The file after for each file before, as far as there is one."""
    sides = [by_image(side, range(len(side))) for side in (before, after)]
    found = {name: name for name in sides[0] if name in sides[1]}
    left = [[name for name in side if name not in found and not name.startswith("[")] for side in sides]
    stems = [_by_form(names, lambda name: _VERSION.sub(".so", name)) for names in left]
    for stem, names in stems[0].items():
        others = stems[1].get(stem, [])
        if len(names) == 1 == len(others):
            found[names[0]] = others[0]
    # Programs of any name, by the functions that they have in common.
    called = [
        {
            name: {side.keys[number].name for number in numbers if not side.keys[number].unnamed}
            for name, numbers in of_image.items()
        }
        for side, of_image in zip((before, after), sides, strict=True)
    ]
    taken = set(found.values())
    pairs = sorted(
        (
            (len(called[0][one] & called[1][other]), one, other)
            for one in _by_weight(before, sides[0], left[0])
            for other in _by_weight(after, sides[1], left[1])
        ),
        reverse=True,
    )
    for common, one, other in pairs:
        if one in found or other in taken:
            continue
        both = called[0][one] & called[1][other]
        parts = [
            _part(side, of[name], both) for side, of, name in zip((before, after), sides, (one, other), strict=True)
        ]
        if common and (2 * common >= max(len(called[0][one]), len(called[1][other])) or min(parts) >= 0.5):
            found[one] = other
            taken.add(other)
    # A program without symbols has nothing in common by name: the heaviest file of each side, if it is left over.
    for one, other in zip(_heaviest(before, sides[0]), _heaviest(after, sides[1]), strict=True):
        if one not in found and other not in taken and not called[0][one] and not called[1][other]:
            found[one] = other
    return found


def _by_weight(side: SideFunctions, of_image: dict[str, list[int]], names: list[str]) -> list[str]:
    """The heaviest of these files, by the weight that passes through them."""
    weights = {name: sum(side.passing[number] for number in of_image[name]) for name in names}
    return sorted(names, key=lambda name: (-weights[name], name))[:_MOST_IMAGES]


def _part(side: SideFunctions, numbers: list[int], names: set[str]) -> float:
    """How much of a file's weight is in functions of these names."""
    whole = sum(side.own[number] for number in numbers)
    return sum(side.own[number] for number in numbers if side.keys[number].name in names) / whole if whole else 0.0


def _heaviest(side: SideFunctions, of_image: dict[str, list[int]]) -> list[str]:
    files = [name for name in of_image if not name.startswith(("[", "/"))]
    return [max(files, key=lambda name: sum(side.own[number] for number in of_image[name]))] if files else [UNKNOWN]


def _by_form(names: Iterable[str], form: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(form(name), []).append(name)
    return found


def _brackets_removed(name: str, opening: str, closing: str) -> str:
    kept = []
    depth = 0
    for at, char in enumerate(name):
        operator = name.endswith(("operator", "operator<", "operator>", "operator-"), 0, at)
        if char in opening and not operator:
            depth += 1
        elif char in closing and depth and name[at - 1] != "-":
            depth -= 1
        elif not depth:
            kept.append(char)
    return name if depth else "".join(kept)


def _without_templates(name: str) -> str:
    return _brackets_removed(name, "<", ">")


def _without_arguments(name: str) -> str:
    return _brackets_removed(name, "<(", ">)")


def _unique(
    before: SideFunctions,
    after: SideFunctions,
    found: dict[int, tuple[int, How]],
    taken: set[int],
    images: dict[str, str],
    form: Callable[[str], str],
) -> list[tuple[int, int]]:
    """The functions that are left, one on each side, whose names have this form in common."""

    Forms = dict[tuple[str, str], list[int]]

    def forms(side: SideFunctions, left: Iterable[int], image: Callable[[Key], str]) -> Forms:
        result: Forms = {}
        for number in sorted(left, key=lambda one: -side.passing[one])[:_MOST_NAMES]:
            key = side.keys[number]
            if not key.unnamed and key.name != UNKNOWN:
                result.setdefault((form(key.name), image(key)), []).append(number)
        return result

    one = forms(before, (n for n in range(len(before)) if n not in found), lambda key: images.get(key.image, key.image))
    other = forms(after, (n for n in range(len(after)) if n not in taken), lambda key: key.image)
    return [
        (numbers[0], other[key][0])
        for key, numbers in one.items()
        if len(numbers) == 1 and len(other.get(key, ())) == 1
    ]


def _renamed(
    before: SideFunctions,
    after: SideFunctions,
    found: dict[int, tuple[int, How]],
    taken: set[int],
    images: dict[str, str],
) -> list[tuple[int, int]]:
    """Functions of another name, or without one, at the same place: each is the other's best candidate."""
    result: list[tuple[int, int]] = []
    # Callers and callees may be renamed themselves: what one round finds is evidence for the next.
    for _round in range(4):
        common = {number: other for number, (other, _how) in found.items()} | dict(result)
        used = taken | {other for _number, other in result}
        left = _candidates(before, common), _candidates(after, used)
        places = _neighbours(before, common), _neighbours(after, set(common.values()))
        scores: list[tuple[float, int, int]] = []
        for number in left[0]:
            image = images.get(before.keys[number].image)
            for other in left[1]:
                if after.keys[other].image == image:
                    score = _score(before, after, number, other, common, places)
                    if score:
                        scores.append((score, number, other))
        best_of: dict[tuple[int, int], list[float]] = {}
        for score, number, other in scores:
            best_of.setdefault((0, number), []).append(score)
            best_of.setdefault((1, other), []).append(score)
        new = []
        for score, number, other in scores:
            rivals = [sorted(best_of[side]) for side in ((0, number), (1, other))]
            if all(one[-1] == score and (len(one) == 1 or one[-2] < score - 0.25) for one in rivals):
                new.append((number, other))
        if not new:
            break
        result += new
    return result


def _candidates(side: SideFunctions, matched: Iterable[int]) -> list[int]:
    known = set(matched)
    left = [
        number
        for number in range(len(side))
        if number not in known and side.passing[number] >= _LEAST_PART and side.keys[number].name != UNKNOWN
    ]
    return sorted(left, key=lambda number: -side.passing[number])[:_MOST_CANDIDATES]


def _neighbours(side: SideFunctions, matched: Iterable[int]) -> dict[int, tuple[int | None, int | None]]:
    """For each function the matched ones before and after it in its file."""
    known = set(matched)
    found: dict[int, tuple[int | None, int | None]] = {}
    for numbers in side.order.values():
        last: int | None = None
        for number in numbers:
            found[number] = last, None
            last = number if number in known else last
        last = None
        for number in reversed(numbers):
            found[number] = found[number][0], last
            last = number if number in known else last
    return found


def _score(
    before: SideFunctions,
    after: SideFunctions,
    number: int,
    other: int,
    common: dict[int, int],
    places: tuple[dict[int, tuple[int | None, int | None]], dict[int, tuple[int | None, int | None]]],
) -> float:
    """How much speaks for two functions being one, 0 if too little: callers, callees and neighbours count 1 each."""
    one, two = before.passing[number], after.passing[other]
    if max(one, two) > _FACTOR * min(one, two):
        return 0.0

    def mapped(weights: dict[int, float]) -> dict[int, float]:
        return {common.get(key, -1 - key): value for key, value in weights.items()}

    callers = similar(mapped(before.callers[number]), after.callers[other])
    called = bool(before.callees[number] or after.callees[other])
    callees = similar(mapped(before.callees[number]), after.callees[other]) if called else 0.0
    low, high = places[0].get(number, (None, None))
    sides = ((low, high), places[1].get(other, (None, None)))
    same = [a is not None and common.get(a) == b for a, b in zip(*sides, strict=True)]
    neighbours = sum(same) / 2
    if callers < _ALIKE or (called and callees < _ALIKE) or (not called and neighbours < 1):
        return 0.0
    return callers + callees + neighbours + min(one, two) / max(one, two) / 2
