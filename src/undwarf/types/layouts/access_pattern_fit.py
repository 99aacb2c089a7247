"""Tests whether all accesses through a pointer fit the layout of an aggregate.

Input is a :class:`PointerAccesses`, the accesses and stored values collected through one pointer; output is whether
each access starts and ends at member boundaries and agrees with the member's class (floating-point, pointer, array,
integer). One mismatch rules the type out, since compiled code accesses whole members.
"""

from typing import NamedTuple

from undwarf.types.layouts.resolved_member import is_member, is_whole
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph

__all__ = ["PointerAccesses", "fits", "is_row", "no_accesses"]


_ADDED = 4
"""Largest constant added to an array index, in elements."""


class PointerAccesses(NamedTuple):
    """Accesses through one pointer, by kind; offsets and sizes in bytes.

    ``touched``: (offset, size) of all accesses, ``floating`` those of floating-point scalars, ``numbers`` those used in
    integer arithmetic. ``put``: (offset, possible pointees) of pointers stored there. ``pointers``: offsets of pointers
    that are dereferenced. ``rows``: (stride, offset, size) of indexed accesses. ``grown``: (offset, size, constant) of
    additions in memory. ``stored``: (offset, size) of narrow stores.
    """

    touched: set[tuple[int, int]]
    floating: set[tuple[int, int]]
    numbers: set[tuple[int, int]]
    put: set[tuple[int, tuple[int, ...]]]
    pointers: set[int]
    rows: set[tuple[int, int, int]]
    grown: set[tuple[int, int, int]]
    stored: set[tuple[int, int]]

    def wrapped(self, size: int) -> "PointerAccesses":
        """The same accesses reduced modulo the size of an array element."""
        return PointerAccesses(
            {(offset % size, width) for offset, width in self.touched},
            {(offset % size, width) for offset, width in self.floating},
            {(offset % size, width) for offset, width in self.numbers},
            {(offset % size, leads) for offset, leads in self.put},
            {offset % size for offset in self.pointers},
            {(step, offset % size, width) for step, offset, width in self.rows if step != size},
            {(offset % size, width, by) for offset, width, by in self.grown},
            {(offset % size, width) for offset, width in self.stored},
        )

    def add(self, other: "PointerAccesses", apart: int = 0) -> None:
        """Add the accesses through another pointer that is ``apart`` bytes further."""
        self.touched.update((apart + offset, width) for offset, width in other.touched)
        self.floating.update((apart + offset, width) for offset, width in other.floating)
        self.numbers.update((apart + offset, width) for offset, width in other.numbers)
        self.put.update((apart + offset, leads) for offset, leads in other.put)
        self.pointers.update(apart + offset for offset in other.pointers)
        self.rows.update((step, apart + offset, width) for step, offset, width in other.rows)
        self.grown.update((apart + offset, width, by) for offset, width, by in other.grown)
        self.stored.update((apart + offset, width) for offset, width in other.stored)


def no_accesses() -> PointerAccesses:
    """An empty set of accesses."""
    return PointerAccesses(set(), set(), set(), set(), set(), set(), set(), set())


def fits(graph: TypeGraph, t: int, done: PointerAccesses, *, merged: bool = False) -> bool:
    """Whether all accesses are of whole members of a type. ``merged``: also of several whole members at once, since
    optimizers combine stores."""
    for offset, size in done.touched:
        if is_member(graph, t, offset, size):
            found = graph.member_at(t, offset, size)
            floating = found is not None and graph.kind(graph.strip(found.type)) == Kind.FLOAT
            if floating != ((offset, size) in done.floating) and {(offset, size)} & (done.floating | done.numbers):
                # Floating-point and integer arithmetic do not mix.
                return False
            if found is not None and graph.is_pointer(found.type) and graph.size(found.type) != size:
                # Compilers never read a part of a pointer.
                return False
            continue
        copied = _to_next(graph, t, offset, size) or (merged and _are_members(graph, t, offset, size))
        if not copied or (offset, size) in done.numbers:
            return False
    # Several floating-point members may be copied as one wider value.
    if not all(is_member(graph, t, *one) or _begins_with_point(graph, t, one[0]) for one in done.floating):
        return False
    if any(_is_part(graph, t, *one) for one in done.stored):
        return False
    if not all(_leads_to_data(graph, t, offset) for offset in done.pointers):
        return False
    if not all(is_row(graph, t, *one) for one in done.rows):
        return False
    if not all(_may_grow(graph, t, *one) for one in done.grown):
        return False
    return all(_is_put(graph, t, offset, leads) for offset, leads in done.put)


def is_row(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> bool:
    """Whether an indexed access with a stride fits an array at an offset of a type, or an array of the type itself. A
    small constant may have been added to the index."""
    whole = graph.size(t)
    if whole and not step % whole:
        at = offset % whole
        return is_member(graph, t, at, size) or _are_members(graph, t, at, size) or _to_next(graph, t, at, size)
    apart = _ADDED * step
    return any(
        not step % stride and size <= stride and at - apart <= offset < at + max(total, stride) + apart
        for at, stride, total in graph.arrays(t)
        if stride
    )


def _are_members(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    first = graph.member_at(t, offset, 1) if offset >= 0 else None
    if first is not None and is_whole(graph, first, size):
        return True
    last = graph.member_at(t, offset + size - 1, 1) if first is not None else None
    return first is not None and not first.offset and last is not None and last.offset == graph.size(last.type) - 1


def _to_next(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether an access covers a scalar and the padding up to the next member, which compilers copy together."""
    first = graph.member_at(t, offset, 1) if offset >= 0 else None
    return first is not None and graph.reaches_next(t, first, offset, size)


def _begins_with_point(graph: TypeGraph, t: int, offset: int) -> bool:
    """Whether a floating-point member starts at an offset."""
    found = graph.member_at(t, offset, 1)
    return found is not None and graph.kind(graph.strip(found.type)) == Kind.FLOAT


def _may_grow(graph: TypeGraph, t: int, offset: int, size: int, by: int) -> bool:
    """Whether a constant may be added to the member at an offset: not to enumerators, and to pointers in multiples of
    their pointee's size."""
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    if found is None or graph.kind(graph.strip(found.type)) == Kind.ENUM:
        return False
    whole = graph.size(graph.target(found.type)) if graph.is_pointer(found.type) else 0
    return not whole or not by % whole


def _is_put(graph: TypeGraph, t: int, offset: int, leads: tuple[int, ...]) -> bool:
    """Whether a pointer to one of some types may be stored at an offset of a type."""
    for target in _targets(graph, t, offset):
        if graph.kind(graph.strip(target)) == Kind.VOID or graph.size(target) <= 1:
            return True
        if any(graph.object_at(one, 0, target) or graph.object_at(target, 0, one) for one in leads):
            return True
    return False


def _is_part(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether an access covers less than a scalar member, which is never stored in parts; bit fields may be."""
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    whole = graph.size(found.type) if found is not None and not found.offset else 0
    return size < whole and bool(graph.value_at(t, offset, whole))


def _leads_to_data(graph: TypeGraph, t: int, offset: int) -> bool:
    """Whether a pointer at an offset of a type may point to data."""
    return any(graph.kind(graph.strip(target)) != Kind.FUNCTION for target in _targets(graph, t, offset))


def _targets(graph: TypeGraph, t: int, offset: int) -> tuple[int, ...]:
    """Possible pointees of the pointer at an offset of a type; several for union members."""
    size = graph.pointer_size
    pointer = graph.value_at(t, offset, size) if offset >= 0 else VOID
    if graph.is_pointer(pointer):
        return (graph.target(pointer),)
    return graph.choices(graph.pointers_at(t, offset, size))
