"""Shortens C++ and Rust names to a number of columns: template and call arguments are cut first."""

import re
from collections.abc import Callable

from undwarf.outputs.terminal.style import cells, fit

_OPERATOR = re.compile(r"operator(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)")
_BEHIND_TYPE = re.compile(r"( \+\d+ \(.*|: cache-line .*| \[inferred.*)$")
"""An offset with its member, a cache line, the evidence."""
_LEAST_TYPE = 14
_KEPT = ("(anonymous namespace)", "(anonymous class)")


def shorten(name: str, room: int) -> str:
    """A function's name in at most ``room`` columns.

    First the arguments become ``(…)``, then those of templates ``<…>``, then the end is cut.
    """
    if cells(name) <= room:
        return name
    for brackets in ("()", "()<>"):
        short = _without(name, brackets)
        if cells(short) <= room:
            return short
    return fit(short, room)


def shorten_type(name: str, room: int) -> str:
    """A data type's name, with or without a member behind it, in at most ``room`` columns.

    First the arguments of templates become ``<…>``, then the name is cut, last what says the member.
    """
    if cells(name) <= room:
        return name
    found = _BEHIND_TYPE.search(name)
    behind = found.group() if found else ""
    plain = _without(name.removesuffix(behind), "<>")
    return fit(fit(plain, max(_LEAST_TYPE, room - cells(behind))) + behind, room)


class Distinct:
    """Shortens the names of one table or tree, so that different names stay different: of a name whose short form is
    another's already, the part that differs is kept, or else they are numbered."""

    def __init__(self, short: Callable[[str, int], str] = shorten) -> None:
        self._short = short
        self._found: dict[tuple[str, int], str] = {}
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, name: str, room: int) -> str:
        """A name in at most ``room`` columns."""
        found = self._found.get((name, room))
        if found is None:
            found = self._found[name, room] = self._distinct(name, room)
        return found

    def _distinct(self, name: str, room: int) -> str:
        short = found = self._short(name, room)
        other = self._names.setdefault(short, name)
        if other != name:
            found = _ending(short, "…" + _difference(name, other, room // 2), room)
        while self._names.setdefault(found, name) != name:
            count = self._counts[short] = self._counts.get(short, 1) + 1
            found = _ending(short, f"…#{count}", room)
        return found


def _ending(short: str, end: str, room: int) -> str:
    """A short form with something behind it, in at most ``room`` columns."""
    return fit(short, max(1, room + 1 - cells(end))).removesuffix("…") + end


def _difference(name: str, other: str, room: int) -> str:
    """What a name has from the word on where it begins to differ from another one."""
    at = 0
    while at < min(len(name), len(other)) and name[at] == other[at]:
        at += 1
    start = at
    while start and at - start < room // 2 and (name[start - 1].isalnum() or name[start - 1] == "_"):
        start -= 1
    return fit(name[start:], max(4, room))


def _without(name: str, brackets: str) -> str:
    """The name with ``…`` in place of what stands in these brackets, which must nest; else the name."""
    opening, closing = brackets[::2], brackets[1::2]
    kept: list[str] = []
    depth = 0
    at = 0
    while at < len(name):
        operator = _OPERATOR.match(name, at)
        whole = operator.group() if operator else next((text for text in _KEPT if name.startswith(text, at)), "")
        if whole:
            if not depth:
                kept.append(whole)
            at += len(whole)
            continue
        char = name[at]
        at += 1
        if char == "-" and name.startswith(">", at):  # an arrow, in Rust's function types
            if not depth:
                kept.append("->")
            at += 1
            continue
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
