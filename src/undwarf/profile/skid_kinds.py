"""Where samples stop relative to the access: at it (precise events), at an instruction that waits for the loaded value
(timers), or after it (data breakpoints). The access of a frame depends on that, so frames are split by kind.
"""

from dataclasses import fields, replace
from enum import IntEnum
from typing import Any

from undwarf.column import longer, zeros
from undwarf.profile.grouping import Pairs, look_up, widen
from undwarf.profile.model import NONE, Column, FrameColumns, Profile, StackColumns

__all__ = ["StopKind", "split_by_kind"]


class StopKind(IntEnum):
    """Where the samples of an event stop."""

    AT = 0
    LATE = 1
    AFTER = 2


def split_by_kind(profile: Profile, after: frozenset[int], at: frozenset[int]) -> tuple[Profile, bytes, list[int]]:
    """(profile, kind of each frame, frames that have copies, in the order of these): a frame has the kind of the
    samples whose innermost frame it is.

    If one frame has samples of several kinds, the result is a new profile with a copy of it for each further kind,
    after all others; else it is the given one. ``after`` and ``at`` are numbers of events; all others are late.
    """
    kinds = [
        StopKind.AFTER if event in after else StopKind.AT if event in at else StopKind.LATE
        for event in range(len(profile.events))
    ]
    columns = profile.samples.columns
    met = set(kinds) if len(set(kinds)) < 2 else {kinds[event] for event in set(columns.event.tolist())}
    if len(met) < 2:
        return profile, bytes([*met, StopKind.LATE][:1]) * len(profile.frames), []
    table = zeros("I", len(kinds))
    for event, kind in enumerate(kinds):
        table[event] = kind
    pairs = Pairs()
    group = pairs.column(columns.stack, look_up(widen(columns.event), table))
    stacks = profile.stacks
    kind_of: dict[int, int] = {}
    frame_of: dict[tuple[int, int], int] = {}
    copied: list[int] = []
    nodes: list[tuple[int, int]] = []
    node_of = zeros("I", max(len(pairs), 1))
    for number, (node, kind) in enumerate(zip(pairs.high(), pairs.low(), strict=True)):
        node_of[number] = node
        if node == NONE:
            continue
        frame = stacks.frame[node]
        if kind_of.setdefault(frame, kind) == kind:
            continue
        if (frame, kind) not in frame_of:
            frame_of[frame, kind] = len(profile.frames) + len(copied)
            copied.append(frame)
        node_of[number] = len(stacks) + len(nodes)
        nodes.append((stacks.parent[node], frame_of[frame, kind]))
    known = bytearray(kind_of.get(frame, StopKind.LATE) for frame in range(len(profile.frames)))
    known += bytes(kind for _frame, kind in frame_of)
    split = profile.derived(
        samples=replace(columns, stack=look_up(group, node_of)),
        stacks=StackColumns(
            _joined(stacks.parent, [up for up, _ in nodes]), _joined(stacks.frame, [k for _, k in nodes])
        ),
        frames=_with_copies(profile.frames, copied),
    )
    return split, bytes(known), copied


def _with_copies(frames: FrameColumns, copied: list[int]) -> FrameColumns:
    """The frames, followed by copies of some."""

    columns: dict[str, Any] = {one.name: getattr(frames, one.name) for one in fields(frames) if one.init}
    for name, column in columns.items():
        if column is not None:
            columns[name] = _joined(column, [column[frame] for frame in copied])
    return FrameColumns(**columns)


def _joined(column: Column, more: list[int]) -> Column:
    joined = longer(column, len(column), len(column) + len(more))
    for k, value in enumerate(more, len(column)):
        joined[k] = value
    return joined
