"""Rows of the table of types: what the instruction of a frame accesses, for samples that stop at it, late, or after it.

A row is better the more is known: the file with its types, the code alone, or neither. Rows of samples that do not stop
at the access are there only where they may differ: of late ones at instructions that access no data, of those after it
where code can be read.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.fleet.columns import arrow, clean, repeated, table
from undwarf.fleet.layout import schema
from undwarf.fleet.type_order import UNREAD
from undwarf.profile.access_resolution import Place, Resolution
from undwarf.profile.skid_kinds import StopKind
from undwarf.types.access import Access

if TYPE_CHECKING:
    import pyarrow

DIFFER = ("none", "stack")
"""Evidence of instructions at which late samples may be of another access."""
PRECISIONS = {kind: kind.name.lower() for kind in StopKind}
_SAMPLED = {StopKind.AT: 1, StopKind.LATE: 2, StopKind.AFTER: 3}
_MOST = (1 << 63) - 1
_READ = (
    "address", "instruction", "access", "type", "member_offset", "member", "access_size", "evidence", "candidates",
    "reason", "type_size", "layout", "described", "inferred", "consumed",
)  # fmt: skip  # a row


class Known(NamedTuple):
    """A frame that samples were taken in: its id, how (``frames.sampled``), the number of its image, its address
    there."""

    frame: bytes
    sampled: int
    image: int
    address: int


def sampled_as(kind: StopKind) -> int:
    """The value of ``frames.sampled`` for samples of a kind."""
    return _SAMPLED[kind]


def kinds_of(sampled: int) -> list[StopKind]:
    """The kinds that a frame with this value of ``frames.sampled`` has rows for, in their order."""
    return [kind for kind, value in _SAMPLED.items() if value <= sampled]


def places_of(frames: Sequence[Known]) -> list[Place]:
    """The places to resolve for some frames, each once, in the order that resolves them fastest."""
    found = {Place(one.image, one.address, kind) for one in frames for kind in kinds_of(one.sampled)}
    return sorted(found)


def rank_of(one: Resolution) -> int:
    """How little is known: 0 with types, 1 with code alone, 2 with neither."""
    return 0 if one.resolved else 2 if one.access.how == UNREAD else 1


def unread_rows(frames: Any, addresses: Any, reasons: Any) -> "pyarrow.Table":
    """The rows of frames whose code cannot be read: arrays of their ids, addresses (signed) and reasons. What holds for
    samples at the access holds for others."""
    pa = arrow()
    count = len(frames)
    held: dict[str, Any] = {
        "frame": frames,
        "precision": repeated(PRECISIONS[StopKind.AT], count),
        "evidence": repeated(UNREAD, count),
        "reason": reasons,
        "address": addresses,
        "candidates": pa.ListArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int32()), count + 1), pa.array([], pa.string())
        ),
    }
    for name in ("access_size", "type_size", "layout"):
        held[name] = pa.repeat(pa.scalar(0, pa.int64()), count)
    for name in ("described", "inferred", "consumed"):
        held[name] = pa.repeat(pa.scalar(False), count)
    for field in schema("types"):
        held.setdefault(field.name, pa.nulls(count, field.type))
    return table("types", held)


def type_rows(frames: Sequence[Known], resolved: "dict[Place, Resolution]") -> "pyarrow.Table":
    """The rows of frames whose places are resolved."""
    pa = arrow()
    rows: list[tuple[bytes, StopKind, Resolution]] = []
    for frame in frames:
        at = resolved[Place(frame.image, frame.address, StopKind.AT)]
        rows += [
            (frame.frame, kind, resolved[Place(frame.image, frame.address, kind)])
            for kind in kinds_of(frame.sampled)
            if kind is StopKind.AT or (at.access.how in DIFFER if kind is StopKind.LATE else at.access.how != UNREAD)
        ]
    accesses = [one.access for _frame, _kind, one in rows]

    def texts(values: "Sequence[str | None]") -> Any:
        return pa.array([clean(value) if value else None for value in values], pa.string())

    def integers(values: "Sequence[int | None]") -> Any:
        return pa.array([max(-_MOST, min(value, _MOST)) if value is not None else None for value in values], pa.int64())

    def addresses(values: "Sequence[int]") -> Any:
        # Integers are signed; those of a kernel are negative then.
        return pa.array([value - (1 << 64) if value > _MOST else value for value in values], pa.int64())

    def flags(values: "Sequence[bool]") -> Any:
        return pa.array(values, pa.bool_())

    return table(
        "types",
        {
            "frame": pa.array([frame for frame, _kind, _one in rows], pa.binary(16)),
            "precision": texts([PRECISIONS[kind] for _frame, kind, _one in rows]),
            "type": texts([one.type for one in accesses]),
            "member": texts([one.field for one in accesses]),
            "member_offset": integers([one.offset for one in accesses]),
            "access": texts([one.access for one in accesses]),
            "access_size": integers([one.size for one in accesses]),
            "type_size": integers([one.type_size for one in accesses]),
            "layout": integers([one.layout for one in accesses]),
            "candidates": pa.array(
                [list(map(clean, one.candidates)) for one in accesses], pa.list_(pa.field("element", pa.string()))
            ),
            "evidence": texts([one.how for one in accesses]),
            "reason": texts([one.reason for one in accesses]),
            "described": flags([one.resolved for _frame, _kind, one in rows]),
            "inferred": flags([one.inferred for _frame, _kind, one in rows]),
            "consumed": flags([one.consumed for _frame, _kind, one in rows]),
            "address": addresses([one.address for one in accesses]),
            "instruction": texts([one.insn for one in accesses]),
        },
    )


def resolutions(rows: "pyarrow.Table") -> list[Resolution]:
    """What the rows of a table of types say."""
    found = []
    for (
        address, instruction, access, type_, offset, member, size, how, candidates, reason, whole, layout,
        described, inferred, consumed,
    ) in zip(*(rows[name].to_pylist() for name in _READ), strict=True):  # fmt: skip  # a row
        one = Access(
            (address or 0) & 0xFFFFFFFFFFFFFFFF,
            instruction or "",
            access or "",
            type_ or None,
            offset if type_ else None,
            member or "",
            max(size or 0, 0),
            how or "",
            tuple(other or "" for other in candidates or ()),
            reason or "",
            type_size=max(whole or 0, 0),
            layout=layout or 0,
        )
        found.append(Resolution(one, bool(described), bool(inferred), bool(inferred and consumed), False))
    return found
