"""A program's scalar types by name, and its structures by size."""

from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph

__all__ = ["floating_number", "integer", "number_types", "structures", "structures_by_size"]

_KINDS = frozenset((Kind.INT, Kind.FLOAT, Kind.CHAR))
_TYPEDEFS = frozenset((Kind.TYPEDEF,))
_AGGREGATES = frozenset((Kind.STRUCT, Kind.UNION, Kind.CLASS))
_PARAMETER_LIST = "__va_list_tag"
"""The compilers' structure of va_list, to which programs have no pointers."""
_MOST = 2048
"""If a program has more structures, :func:`structures` gives none."""
_SIGNED = {1: ("char", "signed char"), 2: ("short int", "short"), 4: ("int",), 8: ("long int", "long")}
"""Names of signed integers by size, as compilers for x86-64 emit them."""
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
    """{(name, kind): type} of integers, characters and floating-point types. Cached for the last graph.

    If the graph is not complete, those of C: which types were loaded would depend on earlier queries, and code without
    type information is mostly C.
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
    """A program's integer type of ``size`` bytes; void if it has none."""
    return _named(graph, (_SIGNED if signed else _UNSIGNED).get(size, ()), (Kind.INT, Kind.CHAR))


def floating_number(graph: TypeGraph, size: int) -> int:
    """A program's floating-point type of ``size`` bytes; void if it has none."""
    return _named(graph, _FLOATS.get(size, ()), (Kind.FLOAT,))


def _named(graph: TypeGraph, names: tuple[str, ...], kinds: tuple[Kind, ...]) -> int:
    known = number_types(graph)
    return next((known[name, kind] for name in names for kind in kinds if (name, kind) in known), VOID)


def structures_by_size(graph: TypeGraph) -> dict[int, list[int]]:
    """{size: structures and unions}, without anonymous ones, to which there are hardly any pointers. Cached for the
    last graph.

    Empty if the graph is not complete: which type is the only one of its size would depend on earlier queries.
    """
    global _last_sizes
    if _last_sizes is None or _last_sizes[0] is not graph:
        found: dict[int, list[int]] = {}
        named: dict[int, int] = {}
        for t in graph.of_kinds(_TYPEDEFS) if graph.complete else ():
            # An anonymous type is known by its first typedef.
            named.setdefault(graph.record(t).target, t)
        for t in graph.of_kinds(_AGGREGATES) if graph.complete else ():
            one = t if graph.name(t) else named.get(t, VOID)
            if one and graph.name(t) != _PARAMETER_LIST:
                found.setdefault(graph.size(one), []).append(one)
        _last_sizes = graph, found
    return _last_sizes[1]


def structures(graph: TypeGraph) -> list[int]:
    """All structures and unions; empty if there are more than ``_MOST``."""
    found = [t for size, each in structures_by_size(graph).items() if size for t in each]
    return found if len(found) <= _MOST else []
