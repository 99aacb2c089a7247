# cython: language_level=3, annotation_typing=False
"""Parameter passing on x86-64: which registers and stack slots hold a function's parameters at its entry.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2.3 "Parameter Passing"; the
Itanium C++ ABI, 3.1.2, for classes passed by reference.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from undwarf.types.layouts.type_graph import Kind, TypeGraph

INTEGER_REGISTERS = (5, 4, 1, 2, 8, 9)
"""DWARF numbers of rdi, rsi, rdx, rcx, r8, r9."""

_IN_REGISTERS, _ON_STACK, _CLASSES = 0, 1, 2
"""Kinds of results in the graph's cache: by parameter and return types, since prototypes repeat; _CLASSES by type."""

_FLOAT = Kind.FLOAT

_Found = TypeVar("_Found")

_CLONE_MARKS = (".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm.", ".specialized.", ".resolver")


_THUNK = re.compile(r"_ZTh(n?)([0-9]{1,9})_(?=[A-Z0-9])")
_VIRTUAL_THUNK = re.compile(r"_ZTv0_n([0-9]{1,9})_(?=[A-Z0-9])")


def thunk_of(name: str) -> tuple[str, int] | None:
    """(method's symbol, bytes from the object's start to the first parameter's pointee) of a thunk that only adjusts
    `this` (Itanium C++ ABI, 5.1.4.1, "Virtual Override Thunks"); None for other functions."""
    found = _THUNK.match(name)
    return None if found is None else ("_Z" + name[found.end() :], int(found[2]) * (1 if found[1] else -1))


def virtual_thunk_of(name: str) -> tuple[str, int] | None:
    """(method's symbol, vtable offset of the adjustment) of a thunk that is called with a virtual base (as above); None
    for other functions."""
    found = _VIRTUAL_THUNK.match(name)
    return None if found is None else ("_Z" + name[found.end() :], -int(found[1]))


def is_clone(name: str) -> bool:
    """Whether a symbol is a compiler's clone of a function, whose parameters may differ."""
    return "." in name and any(mark in name for mark in _CLONE_MARKS)


def _kept(
    graph: TypeGraph,
    what: int,
    parameters: "tuple[tuple[str, int], ...]",
    returns: int,
    find: "Callable[[TypeGraph, tuple[tuple[str, int], ...], int], _Found]",
) -> _Found:
    """The result of ``find`` from the graph's cache; not cached while types are still being loaded."""
    key = (what, parameters, returns)
    known: _Found | None = graph.passed.get(key)
    if known is None:
        known = find(graph, parameters, returns)
        if graph.settled:
            graph.passed[key] = known
    return known


def argument_registers(
    graph: TypeGraph, parameters: "tuple[tuple[str, int], ...]", returns: int
) -> tuple[tuple[int, int, int], ...]:
    """(register, type, offset in the type) of each part of a parameter that is in an integer register at entry.

    A parameter passed by reference has a pointer type of its own. Parameters after one of unknown size are left out.
    """
    return _kept(graph, _IN_REGISTERS, parameters, returns, _in_registers)


def _in_registers(
    graph: TypeGraph, parameters: "tuple[tuple[str, int], ...]", returns: int
) -> tuple[tuple[int, int, int], ...]:
    left = list(INTEGER_REGISTERS)
    found: list[tuple[int, int, int]] = []
    if returns and returned_in_memory(graph, returns):
        # A hidden argument with the address of the result.
        found.append((left.pop(0), graph.pointer_to(returns), 0))
    elif graph.kind(graph.strip(returns)) == Kind.FORWARD:
        return ()
    for _name, t in parameters:
        if not left:
            break
        stripped = graph.strip(t)
        record = graph.record(stripped)
        if record.by_reference:
            found.append((left.pop(0), graph.pointer_to(t), 0))
            continue
        if record.kind in (Kind.ARRAY, Kind.FUNCTION):
            # Arrays and functions decay to pointers.
            found.append((left.pop(0), graph.pointer_to(record.target if record.kind == Kind.ARRAY else t), 0))
            continue
        classes = _classes(graph, stripped)
        if classes is None:
            break
        wanted = [at for at, kind in classes if kind == "integer"]
        if len(wanted) > len(left):
            continue
        found += [(left.pop(0), t, at) for at in wanted]
    return tuple(found)


def vector_registers(graph: TypeGraph, parameters: "tuple[tuple[str, int], ...]") -> tuple[tuple[int, int, int], ...]:
    """(vector register, type, offset in the type) of each part of a parameter that is in a vector register at entry."""
    found: list[tuple[int, int, int]] = []
    for _name, t in parameters:
        stripped = graph.strip(t)
        if graph.record(stripped).by_reference or graph.kind(stripped) in (Kind.ARRAY, Kind.FUNCTION):
            continue
        classes = _classes(graph, stripped)
        if classes is None:
            break
        found += [(len(found) + n, t, at) for n, at in enumerate(at for at, kind in classes if kind == "sse")]
    return tuple(found[:8])


def returned_parts(graph: TypeGraph, t: int) -> tuple[tuple[str, int], ...]:
    """(class, offset) of each eightbyte of an aggregate returned in registers; empty for all else."""
    stripped = graph.strip(t)
    if not graph.is_aggregate(stripped) or graph.record(stripped).by_reference:
        return ()
    return tuple((kind, at) for at, kind in _classes(graph, stripped) or ())


def stack_arguments(
    graph: TypeGraph, parameters: "tuple[tuple[str, int], ...]", returns: int
) -> tuple[tuple[int, int], ...]:
    """(offset from the call frame address, type) of each parameter on the stack."""
    return _kept(graph, _ON_STACK, parameters, returns, _on_stack)


def _on_stack(graph: TypeGraph, parameters: "tuple[tuple[str, int], ...]", returns: int) -> tuple[tuple[int, int], ...]:
    left = len(INTEGER_REGISTERS) - (1 if returns and returned_in_memory(graph, returns) else 0)
    vectors = 8
    found: list[tuple[int, int]] = []
    offset = 0
    for _name, t in parameters:
        stripped = graph.strip(t)
        kind = graph.kind(stripped)
        by_address = graph.record(stripped).by_reference or kind in (Kind.ARRAY, Kind.FUNCTION)
        classes = [(0, "integer")] if by_address else _classes(graph, stripped)
        if classes is None:
            break
        integers = sum(1 for _at, one in classes if one == "integer")
        others = len(classes) - integers
        if classes and integers <= left and others <= vectors:
            left -= integers
            vectors -= others
            continue
        if by_address:
            offset += 8
            continue
        offset = -(-offset // max(graph.alignment(stripped), 8)) * max(graph.alignment(stripped), 8)
        found.append((offset, t))
        offset += -(-graph.size(stripped) // 8) * 8
    return tuple(found)


def returned_in_memory(graph: TypeGraph, t: int) -> bool:
    """Whether a value is returned in memory at the address of a hidden first argument."""
    record = graph.record(graph.strip(t))
    if record.by_reference:
        return True
    return graph.is_aggregate(t) and _classes(graph, graph.strip(t)) == []


def _classes(graph: TypeGraph, t: int) -> "list[tuple[int, str]] | None":
    """(offset, class) of each eightbyte of a value; empty if it is in memory, None if its size is unknown."""
    size = graph.size(t)
    if size <= 0:
        return None
    if size > 16:
        return []
    if size <= 8 and graph.is_scalar(t):
        return [(0, "sse" if graph.kind(t) == _FLOAT else "integer")]
    key = (_CLASSES, (), t)
    known: list[tuple[int, str]] | None = graph.passed.get(key)
    if known is None:
        parts: dict[int, str] = {}
        told = _scan(graph, t, 0, parts, [256], 0)
        known = [(at, parts.get(at, "sse")) for at in range(0, size, 8)] if told else []
        if graph.settled:
            graph.passed[key] = known
    return known


def _scan(graph: TypeGraph, t: int, at: int, parts: dict[int, str], steps: list[int], depth: int) -> bool:
    """Classify a value's scalars by eightbyte; False if it must be in memory."""
    steps[0] -= 1
    if steps[0] < 0 or depth > 16:
        return False
    t = graph.strip(t)
    record = graph.record(t)
    size = graph.size(t)
    if record.kind == Kind.ARRAY:
        stride = graph.stride(t)
        if stride <= 0:
            return True
        return all(
            _scan(graph, record.target, at + k * stride, parts, steps, depth + 1)
            for k in range(min(size // stride, 17))
        )
    if graph.is_aggregate(t):
        for member in graph.members(t):
            if member.bit_size:
                for byte in (member.bit_offset // 8, (member.bit_offset + member.bit_size - 1) // 8):
                    parts[(at + byte) // 8 * 8] = "integer"
            elif not _scan(graph, member.type, at + member.offset, parts, steps, depth + 1):
                return False
        return True
    if size and at % min(size, 8):
        return False
    if record.kind == Kind.FLOAT:
        if size > 8 and "double" in record.name and "complex" not in record.name:
            return False
        for byte in range(at, at + size, 8):
            parts.setdefault(byte // 8 * 8, "sse")
        return True
    for byte in range(at, at + max(size, 1), 8):
        parts[byte // 8 * 8] = "integer"
    return True
