"""The part of a page with data types: what samples access, layouts, and sharing of cache lines."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from undwarf.column import zeros
from undwarf.profile.access_resolution import ResolvedAccesses
from undwarf.profile.grouping import look_up, sums
from undwarf.profile.model import NONE
from undwarf.types.access import Access
from undwarf.views.data.access_labels import latency_of
from undwarf.views.data.false_sharing import Clashes, sharing
from undwarf.views.data.layout import DrawnType, LayoutLine, Spread, draw, spread
from undwarf.views.data.types import OUTSIDE, DataTypes, TypeRow, data_types
from undwarf.views.kernels.page_columns import lower_halves
from undwarf.views.page.part import Part
from undwarf.views.page.profile_part import PageProfile
from undwarf.views.sample_selection import sections

if TYPE_CHECKING:
    from undwarf.views.data.addresses import DataAddresses

_NUMBER = re.compile("[0-9]+")
MOST_TYPES = 200
"""Types that are drawn; of others the accesses are there, but no layout."""


@dataclass(slots=True)
class PageTypes:
    """The part, without what is text: ``clashes`` between CPUs, ``spreads`` of members over cache lines, and the
    numbers of all events together. ``late``: some event may stop after the access."""

    part: Part
    clashes: Clashes
    data: DataTypes
    spreads: list[Spread]
    late: bool


def types_part(
    page: PageProfile,
    touched: ResolvedAccesses,
    addresses: "Callable[[], DataAddresses]",
    *,
    precise: frozenset[int] = frozenset(),
    skid: bool = False,
) -> PageTypes:
    """The types of a page. ``touched``: what the samples of its profile access. ``addresses``: of the accessed data.
    ``precise``: the events that do not stop later. ``skid``: samples after an access were attributed to it."""
    profile = touched.profile
    parts = sections(profile, ())
    events = [event for event, _name in parts]
    several = len(parts) > 1
    clashes = sharing(
        profile,
        touched,
        addresses,
        "samples" if several else "period",
        event=None if several else events[0],
    )
    data = data_types(
        profile,
        touched,
        "samples" if several else "period",
        event=None if several else events[0],
        instructions=False,
        sharing=clashes.found,
    )
    accesses = _Accesses(list(data.types))
    of_access = zeros("I", len(touched.accesses))
    for number, access in enumerate(touched.accesses):
        of_access[number] = accesses.number(access)
    columns = profile.samples.columns
    leaves = look_up(columns.stack, profile.stacks.frame)
    of_sample = look_up(look_up(leaves, touched.access), of_access)
    # In the page of a comparison, rows of the other side have no sample here.
    found = {"row_access": look_up(page.samples, of_sample)}
    if columns.weight is not None:
        latencies = latency_of(profile, 0)
        found["row_latency"] = lower_halves(sums(page.rows, latencies, len(page.samples)))
    values: dict[str, Any] = {
        "problem": None,
        "line_size": profile.line_size,
        "types": [_type(row, number) for number, row in enumerate(data.types)],
        "accesses": accesses.rows,
        "samples": data.samples,
        "skid": skid,
    }
    late = not skid and any(event not in precise for event in events)
    return PageTypes(Part("types", values, found), clashes, data, spread(data), late)


def without_types(problem: str) -> Part:
    """The part where types were not recovered."""
    return Part("types", {"problem": problem, "types": [], "accesses": [], "sharing": None, "advice": []}, {})


class _Accesses:
    """The distinct accesses of a page, numbered when they are first met."""

    def __init__(self, types: list[TypeRow]) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._types: dict[tuple[str, int], int] = {}
        for number, row in enumerate(types):
            self._types.setdefault((row.name, row.size), number)
        self.rows: list[dict[str, Any]] = []

    def number(self, access: Access) -> int:
        """The number of an access; NONE of an instruction without one."""
        if access.how == "none":
            return NONE
        kind = {"r": "load", "w": "store", "rw": "both"}.get(access.access)
        typed = access.type is not None and access.how not in OUTSIDE
        of_type = self._types.get((access.type or "", access.type_size)) if typed else None
        reason = None if typed else OUTSIDE.get(access.how, access.reason) or None
        row = {
            "type": of_type,
            "offset": access.offset if typed else None,
            "member": (access.field or None) if typed else None,
            "kind": kind,
            "reason": reason,
        }
        key = tuple(row.values())
        number = self._numbers.setdefault(key, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
        return number


def _type(row: TypeRow, number: int) -> dict[str, Any]:
    """A type with its layout, as far as it is drawn."""
    drawn = draw(row) if number < MOST_TYPES else DrawnType(row, [])
    members: list[dict[str, Any]] = []
    holes: list[list[int]] = []
    before: LayoutLine | None = None
    for line in drawn.lines:
        if line.kind == "hole":
            holes.append([line.offset, line.size])
            before = None
            continue
        if before is not None and _is_next(before, line, members[-1]["repeat"]):
            members[-1]["repeat"] += 1
            continue
        before = line if line.counts is None else None
        members.append(
            {
                "name": line.name or None,
                "path": line.path or None,
                "type": line.type or None,
                "offset": line.offset,
                "size": line.size,
                "bits": int(line.bits[1:]) if line.bits else None,
                "depth": line.depth,
                "repeat": 1,
                "elements": list(line.bounds),
                "within_array": line.within_array,
            }
        )
    return {
        "name": row.name,
        "size": row.size,
        "kind": "struct" if members else "scalar",
        "members": members,
        "holes": holes,
        "drawn": number < MOST_TYPES,
        "one_object": row.shared,
    }


def _is_next(first: LayoutLine, line: LayoutLine, count: int) -> bool:
    """Whether a member that nothing accesses follows ``count`` equal ones, of which ``first`` is the first; their names
    may differ in numbers (``reserved1``, ``reserved2``)."""
    return (
        line.counts is None
        and _NUMBER.sub("", line.name) == _NUMBER.sub("", first.name)
        and not line.bits
        and not line.bounds
        and line.type == first.type
        and line.depth == first.depth
        and line.size == first.size
        and line.offset == first.offset + count * first.size
    )
