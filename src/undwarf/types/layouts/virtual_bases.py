"""Virtual base classes of C++, and the tables that say where they are."""

from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph


def is_method_table(graph: TypeGraph, t: int) -> bool:
    """Whether a type is an entry of a C++ class's table of virtual functions."""
    return graph.record(t).name == "__vtbl_ptr_type" and graph.record(graph.strip(t)).kind == Kind.POINTER


def has_method_table(graph: TypeGraph, t: int) -> bool:
    """Whether an object of a type begins with a pointer to a C++ class's table of virtual functions."""
    first = graph.member_at(t, 0, graph.pointer_size) if graph.is_aggregate(t) else None
    return first is not None and not first.offset and is_method_table(graph, graph.target(first.type))


def virtual_base(graph: TypeGraph, t: int, offset: int, slot: int) -> int:
    """The virtual base whose place is said at an offset of the table of virtual functions that the part of a class
    at an offset has; void for none."""
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


def virtual_base_behind(graph: TypeGraph, t: int, offset: int, slot: int) -> tuple[int, int] | None:
    """(virtual base of a class, offset in it) of what is so far behind the part of the class whose table of virtual
    functions says where the base is: None where it may be behind one part or another."""
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
    """The virtual bases of a class and of what that derives from."""
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
