"""Functions of Rust that are one, though they were made for different types.

Where LLVM finds two functions with the same instructions (its pass ``mergefunc``, which rustc switches on), it keeps
one and makes the other's symbol an alias, or leaves it out where nobody else sees it. The debugging information is
that of the one: what it says of the types that a generic function was made for holds for some of the calls only.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from undwarf.types.access import Access
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["SHORT", "depends", "is_merged", "is_of_rust", "of_any"]

SHORT = 64
"""Instructions of a function at most whose twins may be gone without a trace."""
_HASH = re.compile(rb"17h[0-9a-f]{16}E")
"""What ends Rust's older symbols: the types that a function was made for are only in that."""
_REASON = "several functions merged into one"


def is_of_rust(names: list[bytes]) -> bool:
    """Whether a function's symbol is one of Rust's."""
    return any(name.startswith(b"_R") or _HASH.search(name) for name in names)


def is_merged(names: list[bytes]) -> bool:
    """Whether several functions of Rust have the symbols of one address: generic ones, made for different types."""
    hashed = [_HASH.split(name)[0] for name in names if _HASH.search(name)]
    return len(set(hashed)) < len(hashed) or sum(name.startswith(b"_R") for name in names) > 1


def depends(graph: TypeGraph, answers: Iterable[Access], made_for: Sequence[int]) -> bool:
    """Whether a function's code needs to know what it was made for: it touches that, or something that is told of
    nothing else. Else there is hardly more than one such function for all types of a size."""
    given = {graph.canonical(t) for t in made_for}
    for one in answers:
        if one.type is None or one.offset is None:
            continue
        found = graph.member_at(one.type_number, one.offset, one.size)
        parts = [t for t, _offset in found.containers] if found is not None else []
        if any(graph.canonical(t) in given for t in (one.type_number, *parts)):
            return True
        if of_any(graph, one, made_for).type is None:
            return True
    return False


def of_any(graph: TypeGraph, one: Access, made_for: Sequence[int]) -> Access:
    """An answer of a merged function as what holds whatever it was made for: the outermost of the types around what is
    touched that does not depend on that. Not known where there is none."""
    # What has no bytes, as allocators, is hardly ever what functions differ by.
    names = {graph.canonical_name(t) for t in made_for if graph.size(t)}
    if one.type is None or one.offset is None or not any(name in one.type for name in names):
        return one
    found = graph.member_at(one.type_number, one.offset, one.size)
    for t, offset in found.containers if found is not None else ():
        name = graph.canonical_name(t)
        inner = graph.member_at(t, offset, one.size) if not any(part in name for part in names) else None
        if inner is not None and graph.is_aggregate(t):
            return replace(
                one,
                type=name,
                offset=offset,
                field=inner.path,
                type_number=t,
                type_size=graph.size(t),
                layout=graph.layout(t),
            )
    return replace(
        one,
        type=None,
        offset=None,
        field="",
        how="",
        candidates=(),
        reason=_REASON,
        type_number=0,
        type_size=0,
        layout=0,
    )
