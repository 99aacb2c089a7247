"""A program's numbers by their names, and its structures by their sizes."""

from undwarf.types.model import Kind, TypeGraph

__all__ = ["number_types", "structures", "structures_by_size"]

_KINDS = frozenset((Kind.INT, Kind.FLOAT, Kind.CHAR))
_AGGREGATES = frozenset((Kind.STRUCT, Kind.UNION, Kind.CLASS))
_MOST = 2048
"""Structures of a program beyond which not all of them are looked at."""
_last_sizes: "tuple[TypeGraph, dict[int, list[int]]] | None" = None
_last: "tuple[TypeGraph, dict[tuple[str, Kind], int]] | None" = None


def number_types(graph: TypeGraph) -> dict[tuple[str, Kind], int]:
    """Integers, characters and floating-point numbers by name and kind; those of the last graph are remembered."""
    global _last
    if _last is None or _last[0] is not graph:
        found: dict[tuple[str, Kind], int] = {}
        for t in graph.of_kinds(_KINDS):
            found.setdefault((graph.name(t), graph.kind(t)), t)
        _last = graph, found
    return _last[1]


def structures_by_size(graph: TypeGraph) -> dict[int, list[int]]:
    """Structures and unions by how many bytes they take; those of the last graph are remembered."""
    global _last_sizes
    if _last_sizes is None or _last_sizes[0] is not graph:
        found: dict[int, list[int]] = {}
        for t in graph.of_kinds(_AGGREGATES):
            found.setdefault(graph.size(t), []).append(t)
        _last_sizes = graph, found
    return _last_sizes[1]


def structures(graph: TypeGraph) -> list[int]:
    """All structures and unions; none where they are very many."""
    found = [t for size, each in structures_by_size(graph).items() if size for t in each]
    return found if len(found) <= _MOST else []
