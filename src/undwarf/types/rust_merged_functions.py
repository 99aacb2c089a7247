"""Merged Rust functions: one copy of generic functions that were instantiated for different types.

LLVM's pass ``mergefunc``, which rustc enables, keeps one of two functions with equal instructions and makes the other's
symbol an alias, or drops a local one. The debugging information is that of the kept one: types that depend on the type
parameters hold for some calls only.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from undwarf.types.access import Access
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["SHORT", "depends", "is_merged", "is_of_rust", "of_any"]

SHORT = 64
"""Largest function, in instructions, that may have been merged without leaving an alias."""
_HASH = re.compile(rb"17h[0-9a-f]{16}E")
"""Hash at the end of legacy Rust symbols, the only part that depends on type parameters."""
_REASON = "several functions merged into one"


def is_of_rust(names: list[bytes]) -> bool:
    """Whether a function has a Rust symbol."""
    return any(name.startswith(b"_R") or _HASH.search(name) for name in names)


def is_merged(names: list[bytes]) -> bool:
    """Whether one address has the symbols of several Rust functions, or instances of a generic one."""
    hashed = [_HASH.split(name)[0] for name in names if _HASH.search(name)]
    return len(set(hashed)) < len(hashed) or sum(name.startswith(b"_R") for name in names) > 1


def depends(graph: TypeGraph, answers: Iterable[Access], type_parameters: Sequence[int]) -> bool:
    """Whether a function's accesses depend on its type parameters; if not, there is hardly more than one such function
    for all types of a size."""
    given = {graph.canonical(t) for t in type_parameters}
    for one in answers:
        if one.type is None or one.offset is None:
            continue
        found = graph.member_at(one.type_number, one.offset, one.size)
        parts = [t for t, _offset in found.containers] if found is not None else []
        if any(graph.canonical(t) in given for t in (one.type_number, *parts)):
            return True
        if of_any(graph, one, type_parameters).type is None:
            return True
    return False


def of_any(graph: TypeGraph, one: Access, type_parameters: Sequence[int]) -> Access:
    """An answer of a merged function that holds for all instances: the outermost enclosing type that does not depend on
    the type parameters; unknown if there is none."""
    # Instances hardly differ in types without size, such as allocators.
    names = {graph.canonical_name(t) for t in type_parameters if graph.size(t)}
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
