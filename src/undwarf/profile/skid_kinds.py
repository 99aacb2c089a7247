"""Where samples stop relative to the access: at it (precise events), at an instruction that waits for the loaded value
(timers), or after it (data breakpoints). The access of a frame depends on that, so each frame is made to be of one
kind.
"""

from dataclasses import replace
from enum import IntEnum

from undwarf.column import longer, zeros
from undwarf.profile.grouping import Pairs, look_up, widen
from undwarf.profile.model import NONE, Column, FrameColumns, Profile, StackColumns

__all__ = ["StopKind", "part_by_kind"]


class StopKind(IntEnum):
    """Where the samples of an event stop."""

    AT = 0
    LATE = 1
    BEHIND = 2


def part_by_kind(profile: Profile, behind: frozenset[int], at: frozenset[int]) -> tuple[Profile, bytes]:
    """(profile, kind of each of its frames): a frame is of the kind of the samples that have it as innermost frame.

    Where samples of several kinds stopped at one frame the result has a copy of it for each further kind; else it is
    the profile that was given. ``behind`` and ``at`` are numbers of events, all others are late.
    """
    kinds = [
        StopKind.BEHIND if event in behind else StopKind.AT if event in at else StopKind.LATE
        for event in range(len(profile.events))
    ]
    columns = profile.samples.columns
    met = set(kinds) if len(set(kinds)) < 2 else {kinds[event] for event in set(columns.event.tolist())}
    if len(met) < 2:
        return profile, bytes([*met, StopKind.LATE][:1]) * len(profile.frames)
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
    parted = profile.derived(
        samples=replace(columns, stack=look_up(group, node_of)),
        stacks=StackColumns(
            _joined(stacks.parent, [up for up, _ in nodes]), _joined(stacks.frame, [k for _, k in nodes])
        ),
        frames=_with_copies(profile.frames, copied),
    )
    return parted, bytes(known)


def _with_copies(frames: FrameColumns, copied: list[int]) -> FrameColumns:
    """The frames, and behind them copies of some."""

    def whole(column: Column) -> Column:
        return _joined(column, [column[frame] for frame in copied])

    return FrameColumns(
        whole(frames.image),
        whole(frames.address),
        whole(frames.provenance),
        whole(frames.function),
        whole(frames.runtime) if frames.runtime is not None else None,
        whole(frames.inline_depth),
        whole(frames.file) if frames.file is not None else None,
        whole(frames.line) if frames.line is not None else None,
    )


def _joined(column: Column, more: list[int]) -> Column:
    made = longer(column, len(column), len(column) + len(more))
    for k, value in enumerate(more, len(column)):
        made[k] = value
    return made
