"""Long C++ and Rust names in few columns: what stands in brackets goes first."""

import re

from undwarf.outputs.paint import cells, fit

_OPERATOR = re.compile(r"operator(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?)")
_BEHIND_TYPE = re.compile(r"( \+\d+ \(.*|: cache-line .*| \[inferred.*)$")
"""An offset with its member, a cache line, how it was told."""
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
