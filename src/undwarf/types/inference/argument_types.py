# cython: language_level=3, annotation_typing=False
"""Pointees of call arguments: of one call, common to all calls, and as declared by a function pointer's type."""

from typing import TYPE_CHECKING

from undwarf.types.dataflow.abstract_values import FRAME, Value
from undwarf.types.evidence.pointees import known_pointees
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph
from undwarf.types.sources.parameter_registers import argument_registers

if TYPE_CHECKING:
    from undwarf.types.inference.function_inference import Inference
    from undwarf.types.inference.value_node import Held

__all__ = ["add_declared_parameters", "argument_pointees", "common_pointee", "objects_starting_at"]


def objects_starting_at(graph: TypeGraph, t: int, offset: int) -> tuple[int, ...]:
    """Types of the objects that start at an offset of a type, largest first; empty for void."""
    if not t:
        return ()
    inside = graph.member_at(t, offset)
    containers = inside.containers if inside is not None else ()
    leaf = ((inside.type, inside.offset),) if inside is not None and graph.is_pointer(inside.type) else ()
    return tuple(
        dict.fromkeys(one for one, left in ((t, offset), *containers, *leaf) if not left and not graph.is_array(one))
    )


def argument_pointees(made: "Inference", value: Value | None, source: "Held | None") -> tuple[int, ...]:
    """Types of the objects that start where a call's argument points to; empty if unknown."""
    known = known_pointees(made.tracker, value)
    if known:
        return known
    if value is not None and value[0] == FRAME and not value[2]:
        t, offset = made.place_at(value[4])
        # A scalar may be the first of several: floating-point values that an optimizer spilled, and arguments of type
        # void pointer.
        graph, webs = made.tracker.graph, made.webs
        kind = graph.kind(graph.strip(t))
        alone = kind != Kind.FLOAT if not webs.unoptimised else value[4] not in webs.frame.given
        return objects_starting_at(graph, t, offset) if alone or graph.is_pointer(t) or not graph.is_scalar(t) else ()
    if source is not None and not source[1]:
        t = made.decided.leads.get(source[0], VOID)
        return (t,) if t else ()
    return ()


def common_pointee(graph: TypeGraph, told: list[tuple[int, ...]]) -> int:
    """The largest type that all argument lists have; void if aggregates merely start with a common scalar."""
    common = set.intersection(*({graph.canonical(t) for t in one} for one in told))
    t = next((t for t in told[0] if graph.canonical(t) in common), VOID)
    if t and not graph.is_aggregate(t) and any(graph.is_aggregate(one[0]) for one in told):
        return VOID
    return t


def add_declared_parameters(graph: TypeGraph, t: int, declared: dict[int, int]) -> None:
    """Add the parameters' pointees of a function pointer type to ``declared``; void where several such
    types disagree."""
    returns = graph.returns(t)
    for register, parameter, piece in argument_registers(graph, graph.parameters(t), returns):
        if piece or not graph.is_pointer(parameter):
            continue
        target = graph.target(parameter)
        if graph.kind(graph.strip(target)) == Kind.VOID:
            continue
        known = declared.setdefault(register, target)
        if known and graph.canonical(known) != graph.canonical(target):
            declared[register] = VOID
