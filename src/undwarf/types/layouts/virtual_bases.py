"""Virtual base classes of C++: which base a vtable entry gives the offset of.

Source: Itanium C++ ABI, 2.5.2 (virtual base offsets in the vtable).
"""

from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph


def is_method_table(graph: TypeGraph, t: int) -> bool:
    """Whether a type is GCC's vtable entry type, the pointee of a vtable pointer."""
    return graph.record(t).name == "__vtbl_ptr_type" and graph.record(graph.strip(t)).kind == Kind.POINTER


def has_method_table(graph: TypeGraph, t: int) -> bool:
    """Whether an object of a type starts with a vtable pointer."""
    first = graph.member_at(t, 0, graph.pointer_size) if graph.is_aggregate(t) else None
    return first is not None and not first.offset and is_method_table(graph, graph.target(first.type))


def virtual_base(graph: TypeGraph, t: int, offset: int, slot: int) -> int:
    """The virtual base whose offset is at ``slot`` of the vtable of the part of a class at ``offset``; void if none."""
    queue = [(t, offset)]
    for _step in range(64):
        if not queue:
            break
        inner, left = queue.pop(0)
        record = graph.record(graph.strip(inner))
        if not left:
            found = dict(record.virtual_bases).get(slot, VOID)
            if found:
                return found
        queue += [
            (member.type, left - member.offset)
            for member in graph.members(inner)
            if member.base and 0 <= left - member.offset < max(member.size, 1)
        ]
    return VOID


def virtual_base_from_offset(graph: TypeGraph, t: int, offset: int, slot: int) -> tuple[int, int] | None:
    """(virtual base, offset in it) of an offset relative to the part of a class whose vtable has the base's offset at
    ``slot``; None if several parts fit."""
    queue, parts = [(t, 0)], dict[int, int]()
    for _step in range(64):
        if not queue:
            break
        inner, at = queue.pop(0)
        record = graph.record(graph.strip(inner))
        base = dict(record.virtual_bases).get(slot, VOID)
        if base and at <= offset < at + graph.size(base):
            parts.setdefault(at, base)
        queue += [(member.type, at + member.offset) for member in graph.members(inner) if member.base]
    return next(((base, offset - at) for at, base in parts.items()), None) if len(parts) == 1 else None


def all_virtual_bases(graph: TypeGraph, t: int) -> list[int]:
    """The virtual bases of a class and of its bases."""
    found: dict[int, int] = {}
    queue = [t]
    for _step in range(64):
        if not queue:
            break
        inner = queue.pop(0)
        bases = [base for _slot, base in graph.record(graph.strip(inner)).virtual_bases]
        found.update((graph.canonical(base), base) for base in bases)
        queue += [*bases, *(member.type for member in graph.members(inner) if member.base)]
    return list(found.values())
