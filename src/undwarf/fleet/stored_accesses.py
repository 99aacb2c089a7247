"""What the innermost frames of a store's profile access, for the same views that show recordings.

Whatever depends on a sample rather than on its code is not in a store: addresses of data and registers, and so which
cache lines threads share.
"""

from typing import TYPE_CHECKING, Any

from undwarf.column import absent
from undwarf.errors import UsageError
from undwarf.fleet.database import Database
from undwarf.fleet.layout import ID_BYTES
from undwarf.fleet.stored_profile import Stored
from undwarf.fleet.type_order import IN_ORDER
from undwarf.fleet.type_rows import PRECISIONS, rank_of, resolutions
from undwarf.profile.access_resolution import Resolution, ResolvedAccesses
from undwarf.profile.grouping import look_up, sums
from undwarf.profile.skid_kinds import StopKind, split_by_kind
from undwarf.types.no_debuginfo import unread

if TYPE_CHECKING:
    from undwarf.types.resolver import Resolver

NOT_LOOKED_AT = "not looked at: undwarf fleet symbols add"
"""The reason of frames without a row."""
_ROWS = f"""
SELECT used.id, precision, t.* EXCLUDE (frame, precision)
FROM used JOIN types AS t ON t.frame = used.id
QUALIFY row_number() OVER (PARTITION BY used.id, precision ORDER BY {IN_ORDER}) = 1
"""


def stored_accesses(database: Database, stored: Stored, *, skid: bool = False) -> ResolvedAccesses:
    """What the samples of a profile access. ``skid``: samples at instructions without a memory access are attributed
    to the load that they wait for. Raises UnreadableInput for a damaged store."""
    database.check_values("types")
    events = frozenset(range(len(stored.profile.events)))
    at = stored.stops.at if skid else events - stored.stops.after
    count = len(stored.profile.frames)
    profile, kinds, copied = split_by_kind(stored.profile, stored.stops.after, at)
    leaves = look_up(profile.samples.stack, profile.stacks.frame)
    wanted = [number for number, samples in enumerate(sums(leaves, None, len(profile.frames))) if samples]
    ids = bytes(stored.frame_ids)
    id_of = {}
    for number in wanted:
        first = ID_BYTES * (number if number < count else copied[number - count])
        id_of[number] = ids[first : first + ID_BYTES]
    known = _rows(database, sorted(set(id_of.values())))
    column = absent("I", len(profile.frames))
    found = ResolvedAccesses(profile, column, [], [], *(bytearray(len(profile.frames)) for _flag in range(3)))
    entries: dict[tuple[bytes, int], int] = {}
    for number in wanted:
        key = (id_of[number], kinds[number])
        one = _chosen(known, *key)
        if key not in entries:
            entries[key] = len(entries)
            found.accesses.append(one.access)
            found.resolvers.append(_no_layout if one.resolved else None)
        column[number] = entries[key]
        found.inferred[number], found.consumed[number], found.intact[number] = one[2:]
    return found


_NOTHING = Resolution(unread(0, NOT_LOOKED_AT), False, False, False, False)


def _chosen(known: dict[tuple[bytes, str], Resolution], frame: bytes, kind: int) -> Resolution:
    """The access of a frame's instruction for samples of one kind. Late samples have a row of their own only where
    it may differ from that of exact ones; one that was written with less debugging information does not count."""
    own, at = (known.get((frame, PRECISIONS[one])) for one in (StopKind(kind), StopKind.AT))
    if at is not None and (own is None or rank_of(at) < rank_of(own)) and (kind != StopKind.AFTER or rank_of(at) == 2):
        return at
    return own if own is not None else _NOTHING


def _rows(database: Database, frames: list[bytes]) -> dict[tuple[bytes, str], Resolution]:
    """The stored accesses of some frames, by frame and precision."""
    import pyarrow as pa

    database.connection.register("used", pa.table({"id": pa.array(frames, pa.binary())}))
    rows: Any = database.arrow(_ROWS)
    database.connection.unregister("used")
    keys = zip(rows["id"].to_pylist(), rows["precision"].to_pylist(), strict=True)
    return dict(zip(keys, resolutions(rows), strict=True))


def _no_layout() -> "Resolver":
    raise UsageError("a store has no layouts of types", "", "undwarf types --binary ELF --type NAME draws one")
