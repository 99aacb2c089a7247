"""A program's numbers by their names, and its structures by their sizes."""

from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph

__all__ = ["floating_number", "integer", "number_types", "structures", "structures_by_size"]

_KINDS = frozenset((Kind.INT, Kind.FLOAT, Kind.CHAR))
_TYPEDEFS = frozenset((Kind.TYPEDEF,))
_AGGREGATES = frozenset((Kind.STRUCT, Kind.UNION, Kind.CLASS))
_PARAMETER_LIST = "__va_list_tag"
"""What compilers make a list of parameters of, which nobody leads to."""
_MOST = 2048
"""Structures of a program beyond which not all of them are looked at."""
_SIGNED = {1: ("char", "signed char"), 2: ("short int", "short"), 4: ("int",), 8: ("long int", "long")}
"""Names of integers by size, as compilers for this machine give them."""
_UNSIGNED = {
    1: ("unsigned char",),
    2: ("short unsigned int", "unsigned short"),
    4: ("unsigned int",),
    8: ("long unsigned int", "unsigned long"),
}
_FLOATS = {4: ("float",), 8: ("double",)}
_last_sizes: "tuple[TypeGraph, dict[int, list[int]]] | None" = None
_OF_C = (
    *((Kind.CHAR if names[0] == "char" else Kind.INT, names[0], size) for size, names in _SIGNED.items()),
    *((Kind.INT, names[0], size) for size, names in _UNSIGNED.items()),
    *((Kind.FLOAT, names[0], size) for size, names in _FLOATS.items()),
)
_last: "tuple[TypeGraph, dict[tuple[str, Kind], int]] | None" = None


def number_types(graph: TypeGraph) -> dict[tuple[str, Kind], int]:
    """Integers, characters and floating-point numbers by name and kind; those of the last graph are remembered.

    Where not all are known, those of C: which of them were looked at depends on what was asked before, and code of
    which nothing says what it does was hardly written in anything else.
    """
    global _last
    if _last is None or _last[0] is not graph:
        found: dict[tuple[str, Kind], int] = {}
        for kind, name, size in _OF_C if not graph.complete else ():
            found[name, kind] = graph.number(kind, name, size)
        for t in graph.of_kinds(_KINDS) if graph.complete else ():
            found.setdefault((graph.name(t), graph.kind(t)), t)
        _last = graph, found
    return _last[1]


def integer(graph: TypeGraph, size: int, *, signed: bool) -> int:
    """A program's integer of so many bytes; void where it has none."""
    return _named(graph, (_SIGNED if signed else _UNSIGNED).get(size, ()), (Kind.INT, Kind.CHAR))


def floating_number(graph: TypeGraph, size: int) -> int:
    """A program's number with a point of so many bytes; void where it has none."""
    return _named(graph, _FLOATS.get(size, ()), (Kind.FLOAT,))


def _named(graph: TypeGraph, names: tuple[str, ...], kinds: tuple[Kind, ...]) -> int:
    known = number_types(graph)
    return next((known[name, kind] for name in names for kind in kinds if (name, kind) in known), VOID)


def structures_by_size(graph: TypeGraph) -> dict[int, list[int]]:
    """Structures and unions by how many bytes they take, but those without a name, to which hardly a pointer leads;
    those of the last graph are remembered. None where not all are known: which one is the only one of some kind would
    depend on what was asked before."""
    global _last_sizes
    if _last_sizes is None or _last_sizes[0] is not graph:
        found: dict[int, list[int]] = {}
        named: dict[int, int] = {}
        for t in graph.of_kinds(_TYPEDEFS) if graph.complete else ():
            # What has no name of its own is known by the first that is given to it.
            named.setdefault(graph.record(t).target, t)
        for t in graph.of_kinds(_AGGREGATES) if graph.complete else ():
            one = t if graph.name(t) else named.get(t, VOID)
            if one and graph.name(t) != _PARAMETER_LIST:
                found.setdefault(graph.size(one), []).append(one)
        _last_sizes = graph, found
    return _last_sizes[1]


def structures(graph: TypeGraph) -> list[int]:
    """All structures and unions; none where they are very many."""
    found = [t for size, each in structures_by_size(graph).items() if size for t in each]
    return found if len(found) <= _MOST else []
