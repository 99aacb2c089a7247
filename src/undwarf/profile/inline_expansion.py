# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Expands stacks: inlined functions become frames of their own, and all frames get source lines."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros


@cython.locals(
    starts="const unsigned int[::1]",
    counts="const unsigned int[::1]",
    names="const unsigned int[::1]",
    files="const unsigned int[::1]",
    lines="const unsigned int[::1]",
    functions="const unsigned int[::1]",
    nameless="const unsigned char[::1]",
    source="unsigned int[::1]",
    first="unsigned int[::1]",
    function="unsigned int[::1]",
    depth="unsigned char[::1]",
    file="unsigned int[::1]",
    line="unsigned int[::1]",
    i="Py_ssize_t",
    k="Py_ssize_t",
    n="Py_ssize_t",
    at="Py_ssize_t",
    total="Py_ssize_t",
    base="unsigned int",
    key="unsigned long long",
    inline="bint",
)
def expand_frames(
    columns: "dict[str, memoryview]", function_of: Any, unknown: Any, known: int, expand: bool
) -> "tuple[dict[str, memoryview], list[tuple[int, int]]]":
    """(columns of the expanded frames, new functions as (function that they are inlined into, name)).

    ``columns`` are those of :class:`undwarf.symbols.inline_chains.Chains`; ``function_of`` has the function of each
    frame, ``known`` is the number of functions, ``unknown`` (B) flags those without a name. A frame with inlined
    functions becomes one frame per function, outermost last. New columns, by expanded frame: ``source``, its original
    frame; ``function``; ``depth``, the number of functions that it is inlined into; ``file``; ``line``. ``first``, by
    original frame and one entry more: its first expanded frame. If not ``expand``, frames are not expanded, and have
    the line of their innermost function.
    """
    starts, counts = columns["start"], columns["count"]
    names, files, lines = columns["name"], columns["file"], columns["line"]
    functions = function_of
    nameless = unknown
    inline = expand
    total = 0
    for i in range(functions.shape[0]):
        total += counts[i] if inline and counts[i] > 1 else 1
    n = functions.shape[0]
    source, function, file, line = zeros("I", total), zeros("I", total), zeros("I", total), zeros("I", total)
    depth = zeros("B", total)
    first = zeros("I", n + 1)
    numbers: dict[int, int] = {}
    at = 0
    for i in range(n):
        first[i] = cython.cast("unsigned int", at)
        base = functions[i]
        if counts[i] == 0:
            source[at], function[at], file[at] = cython.cast("unsigned int", i), base, NOTHING
            at += 1
            continue
        for k in range(counts[i] if inline else 1):
            source[at] = cython.cast("unsigned int", i)
            function[at] = base
            file[at] = files[starts[i] + k]
            line[at] = lines[starts[i] + k]
            depth[at] = (
                cython.cast("unsigned char", min(255, cython.cast("Py_ssize_t", counts[i]) - 1 - k)) if inline else 0
            )
            if inline and names[starts[i] + k] != NOTHING and (k + 1 < counts[i] or nameless[base]):
                key = cython.cast("unsigned long long", base) << 32 | names[starts[i] + k]
                found = numbers.get(key)
                if found is None:
                    found = numbers[key] = known + len(numbers)
                function[at] = cython.cast("unsigned int", found)
            at += 1
    first[n] = cython.cast("unsigned int", at)
    expanded = {"source": source, "function": function, "depth": depth, "file": file, "line": line, "first": first}
    return (
        {name: memoryview(column) for name, column in expanded.items()},
        [(number >> 32, number & 0xFFFFFFFF) for number in numbers],
    )


@cython.locals(
    parents="const unsigned int[::1]",
    frames="const unsigned int[::1]",
    first="const unsigned int[::1]",
    parent="unsigned int[::1]",
    frame="unsigned int[::1]",
    innermost="unsigned int[::1]",
    i="Py_ssize_t",
    k="Py_ssize_t",
    at="Py_ssize_t",
    total="Py_ssize_t",
    above="unsigned int",
)
def expand_stacks(parent_of: Any, frame_of: Any, first_of: Any) -> "tuple[memoryview, memoryview, memoryview]":
    """(parent, frame, innermost new node of each old one) of stacks with expanded frames.

    ``first_of`` is the column ``first`` of :func:`expand_frames`. Parents still have smaller numbers than children.
    """
    parents, frames, first = parent_of, frame_of, first_of
    total = 0
    for i in range(frames.shape[0]):
        total += first[frames[i] + 1] - first[frames[i]]
    parent, frame = zeros("I", total), zeros("I", total)
    innermost = zeros("I", frames.shape[0])
    at = 0
    for i in range(frames.shape[0]):
        above = innermost[parents[i]] if parents[i] != NOTHING else NOTHING
        k = first[frames[i] + 1]
        while k > first[frames[i]]:
            k -= 1
            parent[at] = above
            frame[at] = cython.cast("unsigned int", k)
            above = cython.cast("unsigned int", at)
            at += 1
        innermost[i] = above
    return memoryview(parent), memoryview(frame), memoryview(innermost)
