"""Profiles of branch stacks: each branch as a sample, or the ends of branches as functions within stacks.

Both start from a profile with the branch history (``branch_history`` of undwarf.api.OpenedRecording.profile): the
branches before a sample are frames of provenance BRANCH_STACK, target and source alternating, the newest first.
"""

from array import array
from dataclasses import replace

from undwarf.profile.model import NONE, FunctionTable, Profile, SampleColumns, StackColumns
from undwarf.unwind.provenance import Provenance


def name_branch_ends(profile: Profile) -> Profile:
    """The profile with each end of a branch as a function of its own, named with its offset in its function: otherwise
    the frames of a loop would all have the same name."""
    frames, functions = profile.frames, profile.functions
    function_of = frames.function.tolist()
    names, images, starts = list(functions.name), functions.image.tolist(), functions.address.tolist()
    numbers: dict[tuple[int, int], int] = {}
    for frame, provenance in enumerate(frames.provenance):
        function, address = function_of[frame], frames.address[frame]
        start = starts[function]
        if provenance != Provenance.BRANCH_STACK or not start:
            continue
        key = function, address
        if key not in numbers:
            numbers[key] = len(names)
            names.append(f"{names[function]}+{address - start:#x}")
            images.append(images[function])
            starts.append(start)
        function_of[frame] = numbers[key]
    unnamed = bytes(functions.unnamed) + bytes(len(names) - len(functions))
    return profile.derived(
        frames=replace(frames, function=_column("I", function_of)),
        functions=FunctionTable(names, _column("I", images), _column("Q", starts), memoryview(unnamed)),
    )


def branch_pairs(profile: Profile) -> Profile:
    """Each branch as a sample whose source calls its target, all of weight 1."""
    parents, frames, provenance = profile.stacks.parent, profile.stacks.frame, profile.frames.provenance
    nodes: dict[tuple[int, int], int] = {}
    pairs_of: dict[int, list[int]] = {}
    samples: list[int] = []
    leaves: list[int] = []
    for sample, leaf in enumerate(profile.samples.columns.stack):
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
    of_sample = profile.samples.columns.rows(_column("I", samples))
    columns = SampleColumns(
        of_sample.time, of_sample.pid, of_sample.tid, of_sample.cpu, of_sample.event, _column("Q", [1] * len(samples)),
        of_sample.comm, _column("I", leaves), of_sample.stop, of_sample.stop_image, of_sample.ip,
    )  # fmt: skip
    stacks = StackColumns(_column("I", [parent for parent, _ in nodes]), _column("I", [frame for _, frame in nodes]))
    return profile.derived(samples=columns, stacks=stacks)


def _column(code: str, values: list[int]) -> "memoryview[int]":
    return memoryview(array(code, values))
