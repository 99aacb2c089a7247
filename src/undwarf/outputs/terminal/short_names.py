"""Shortens C++ and Rust names to a number of columns: template and call arguments are cut first."""

import re
from collections.abc import Callable

from undwarf.outputs.terminal.style import cells, fit

_OPERATOR = r"operator(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)"
_SUFFIX = r"( \+\d+ \(.*|: cache-line .*| \[inferred.*)$"
"""After a type: an offset with its member, a cache line, the evidence."""
_LEAST_TYPE = 14
_KEPT = ("(anonymous namespace)", "(anonymous class)")


def shorten(name: str, width: int) -> str:
    """A function's name in at most ``width`` columns.

    First the arguments become ``(…)``, then those of templates ``<…>``, then the end is cut.
    """
    if cells(name) <= width:
        return name
    for brackets in ("()", "()<>"):
        short = _without(name, brackets)
        if cells(short) <= width:
            return short
    return fit(short, width)


def shorten_type(name: str, width: int) -> str:
    """The name of a data type, with or without a member after it, in at most ``width`` columns.

    First the arguments of templates become ``<…>``, then the name is cut, and the member last.
    """
    if cells(name) <= width:
        return name
    found = re.search(_SUFFIX, name)
    suffix = found.group() if found else ""
    base = _without(name.removesuffix(suffix), "<>")
    return fit(fit(base, max(_LEAST_TYPE, width - cells(suffix))) + suffix, width)


class Distinct:
    """Shortens the names of one table or tree so that different names stay different: if the short form is another
    name's already, the part that differs is kept, or else they are numbered."""

    def __init__(self, short: Callable[[str, int], str] = shorten) -> None:
        self._short = short
        self._cached: dict[tuple[str, int], str] = {}
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, name: str, width: int) -> str:
        """A name in at most ``width`` columns."""
        short = self._cached.get((name, width))
        if short is None:
            short = self._cached[name, width] = self._distinct(name, width)
        return short

    def _distinct(self, name: str, width: int) -> str:
        short = distinct = self._short(name, width)
        other = self._names.setdefault(short, name)
        if other != name:
            distinct = _ending(short, "…" + _difference(name, other, width // 2), width)
        while self._names.setdefault(distinct, name) != name:
            count = self._counts[short] = self._counts.get(short, 1) + 1
            distinct = _ending(short, f"…#{count}", width)
        return distinct


def _ending(short: str, end: str, width: int) -> str:
    """A short form that ends in ``end``, in at most ``width`` columns."""
    return fit(short, max(1, width + 1 - cells(end))).removesuffix("…") + end


def _difference(name: str, other: str, width: int) -> str:
    """The rest of a name from the first word that differs from another name."""
    at = 0
    while at < min(len(name), len(other)) and name[at] == other[at]:
        at += 1
    start = at
    while start and at - start < width // 2 and (name[start - 1].isalnum() or name[start - 1] == "_"):
        start -= 1
    return fit(name[start:], max(4, width))


def _without(name: str, brackets: str) -> str:
    """The name with ``…`` for what is in these brackets; unchanged if they are not balanced."""
    opening, closing = brackets[::2], brackets[1::2]
    operator_at = re.compile(_OPERATOR).match
    kept: list[str] = []
    depth = 0
    at = 0
    while at < len(name):
        operator = operator_at(name, at)
        token = operator.group() if operator else next((text for text in _KEPT if name.startswith(text, at)), "")
        if not token and name.startswith("->", at):  # in Rust's function types
            token = "->"
        if token:
            if not depth:
                kept.append(token)
            at += len(token)
            continue
        char = name[at]
        at += 1
        if char in closing and depth:
            depth -= 1
            if not depth:
                if kept[-1] in opening and name[at - 2] not in opening:
                    kept.append("…")
                kept.append(char)
            continue
        if not depth:
            kept.append(char)
        if char in opening:
            depth += 1
    return name if depth else "".join(kept)
