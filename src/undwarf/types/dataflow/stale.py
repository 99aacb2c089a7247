"""Variables that are told to be in a register in all of their scope, whatever else is in that.

Compilers follow variables from register to register, up to a limit: in functions that are larger they say where a
variable is at all, which holds wherever nothing else is there (gcc: "variable tracking size limit exceeded"). Calls
show it: a register that callers do not count on holds nothing of before behind one.
"""

from collections.abc import Callable, Collection

from undwarf.disasm import Flow
from undwarf.disasm.listing import TARGETED, Listing
from undwarf.types.sources.places import Place, PlaceKind

__all__ = ["without_stale"]

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_SEVERAL = 2
"""Calls that hardly all leave a register alone of which nobody counts on that."""

_Key = tuple[str, int, int]


def without_stale(
    places: list[Place],
    low: int,
    high: int,
    listing: Listing,
    lost: Collection[int],
    changed_by: Callable[[int], frozenset[int] | None],
) -> tuple[list[Place], bool]:
    """The places of a function's variables without those that cannot hold, and whether there are such at all: then the
    others hold where nothing else is known. What is there when the function begins stays so for its first instruction.
    """
    behind = _calls(listing, changed_by)
    stale = {_key(one) for one in places if one.register in lost and _is_refuted(one, behind)}
    if not any(one.low <= low and one.high >= high and _key(one) in stale for one in places):
        return places, False
    kept = [one._replace(high=low + 1) if _key(one) in stale else one for one in places if _stays(one, low, stale)]
    return kept, True


def _key(place: Place) -> _Key:
    return place.name, place.type, place.register if place.kind == PlaceKind.REGISTER else -1


def _stays(place: Place, low: int, stale: set[_Key]) -> bool:
    return place.low <= low or _key(place) not in stale


def _calls(listing: Listing, changed_by: Callable[[int], frozenset[int] | None]) -> list[tuple[int, int | None]]:
    """(address behind a call, what it calls)."""
    flows, targets, offsets, address = listing.flows, listing.targets, listing.offsets, listing.address
    found = [
        (address + offsets[k + 1], targets[k] if flows[k] & TARGETED else None)
        for k in range(len(listing) - 1)
        if flows[k] & 15 in _CALLS
    ]
    known = {target: changed_by(target & 0xFFFFFFFFFFFFFFFF) for _at, target in found if target is not None}
    return [one for one in found if one[1] is None or known[one[1]] is None]


def _is_refuted(place: Place, behind: list[tuple[int, int | None]]) -> bool:
    """Whether a place that calls do not keep is said to hold on both sides of several calls."""
    if place.kind != PlaceKind.REGISTER:
        return False
    inside = {target if target is not None else at for at, target in behind if place.low < at < place.high}
    return len(inside) >= _SEVERAL
