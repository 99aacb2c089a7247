"""Profiles of branch stacks: each branch as a sample of its own, or branch addresses as functions within stacks.

Both start from a profile with the branch history (``branch_history`` of undwarf.api.Recording.profile): there the
branches before a sample are frames of provenance BRANCH_STACK, target and source in turns, the newest first.
"""

from dataclasses import replace
from typing import Any

from undwarf.column import zeros
from undwarf.profile.model import NONE, FunctionTable, Profile, SampleColumns, StackColumns
from undwarf.unwind.provenance import Provenance

_PER_SAMPLE = ("time", "pid", "tid", "cpu", "event", "comm", "stop", "stop_image")


def name_places(profile: Profile) -> Profile:
    """The profile with each end of a branch as a function of its own, named with its offset in the function: else the
    frames of a loop would all have one name."""
    frames, functions = profile.frames, profile.functions
    number = zeros("I", len(frames))
    number[:] = frames.function
    names, images, starts = list(functions.name), list(functions.image), list(functions.address)
    made: dict[tuple[int, int], int] = {}
    for frame, provenance in enumerate(frames.provenance):
        if provenance != Provenance.BRANCH_STACK:
            continue
        function, address = frames.function[frame], frames.address[frame]
        start = functions.address[function]
        if not start:
            continue
        key = function, address
        if key not in made:
            made[key] = len(names)
            names.append(f"{functions.name[function]}+{address - start:#x}")
            images.append(functions.image[function])
            starts.append(start)
        number[frame] = made[key]
    unnamed = bytes(functions.unnamed) + bytes(len(names) - len(functions))
    return profile.derived(
        frames=replace(frames, function=number),
        functions=FunctionTable(names, _column("I", images), _column("Q", starts), memoryview(unnamed)),
    )


def branch_pairs(profile: Profile) -> Profile:
    """Each branch as a sample: its source calls its target. All weigh the same, as many as there are."""
    parents, frames, provenance = profile.stacks.parent, profile.stacks.frame, profile.frames.provenance
    nodes: dict[tuple[int, int], int] = {}
    pairs_of: dict[int, list[int]] = {}
    columns = profile.samples.columns
    samples: list[int] = []
    leaves: list[int] = []
    for sample, leaf in enumerate(columns.stack):
        pairs = pairs_of.get(leaf)
        if pairs is None:
            pairs = pairs_of[leaf] = []
            node = parents[leaf] if leaf != NONE else NONE
            while node != NONE and provenance[frames[node]] == Provenance.BRANCH_STACK and parents[node] != NONE:
                target, source = frames[node], frames[parents[node]]
                root = nodes.setdefault((NONE, source), len(nodes))
                pairs.append(nodes.setdefault((root, target), len(nodes)))
                node = parents[parents[node]]
        leaves += pairs
        samples += [sample] * len(pairs)
    kept: dict[str, Any] = {name: _taken(getattr(columns, name), samples) for name in _PER_SAMPLE}
    ones = zeros("Q", len(samples))
    for row in range(len(samples)):
        ones[row] = 1
    made = SampleColumns(**kept, period=ones, stack=_column("I", leaves), ip=_taken(columns.ip, samples))
    stacks = StackColumns(_column("I", [up for up, _ in nodes]), _column("I", [frame for _, frame in nodes]))
    return profile.derived(samples=made, stacks=stacks)


def _column(code: Any, values: list[int]) -> "memoryview[int]":
    made = zeros(code, len(values))
    for row, value in enumerate(values):
        made[row] = value
    return made


def _taken(column: "memoryview[int]", rows: list[int]) -> "memoryview[int]":
    return _column(column.format, [column[row] for row in rows])
