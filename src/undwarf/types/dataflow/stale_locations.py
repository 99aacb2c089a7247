"""Removes variable locations that cannot hold: registers that calls clobber, within a location said to be valid
throughout.

In large functions GCC stops tracking variables and emits one location for the whole scope ("variable tracking size
limit exceeded"). Calls refute these: a caller-saved register does not keep its value across a call.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection

from undwarf.disasm import Action, Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.template_layout import ROW_WORDS, ROW_WRITES, TARGETED
from undwarf.types.sources.type_source import Place, PlaceKind

__all__ = ["cut_at_calls", "cut_at_inner", "without_stale"]

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_PUTS = (Action.LOAD, Action.COPY)
_SEVERAL = 2
"""Number of different callees that will hardly all preserve a caller-saved register."""

_Key = tuple[str, int, int]


def without_stale(
    places: list[Place],
    low: int,
    high: int,
    listing: Listing,
    lost: Collection[int],
    changed_by: Callable[[int], frozenset[int] | None],
) -> tuple[list[Place], bool]:
    """(locations without those that cannot hold, whether there were any: then the others hold only where nothing else
    is known).

    A removed location stays valid at the function's first instruction.
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
    """(address after a call, callee or None)."""
    flows, targets, offsets, address = listing.flows, listing.targets, listing.offsets, listing.address
    found = [
        (address + offsets[k + 1], targets[k] if flows[k] & TARGETED else None)
        for k in range(len(listing) - 1)
        if flows[k] & 15 in _CALLS
    ]
    known = {target: changed_by(target & 0xFFFFFFFFFFFFFFFF) for _at, target in found if target is not None}
    return [one for one in found if one[1] is None or known[one[1]] is None]


def _is_refuted(place: Place, behind: list[tuple[int, int | None]]) -> bool:
    """Whether a caller-saved register is said to hold a variable across several calls."""
    if place.kind != PlaceKind.REGISTER:
        return False
    inside = {target if target is not None else at for at, target in behind if place.low < at < place.high}
    return len(inside) >= _SEVERAL


Refuting = Callable[["int | None", int], "bool | None"]
"""Whether a call of an address (None: unknown) overwrites a register; None if it may."""


def cut_at_calls(places: list[Place], listing: Listing, lost: Collection[int], refuting: Refuting) -> list[Place]:
    """The locations, ended at calls that overwrite their registers.

    A location that starts before such a call, in a register not used until then and with no other location ahead, is
    meant to start after it.
    """
    begins = [k for k in range(len(listing) - 1) if listing.flows[k] & 15 in _CALLS]
    calls = [(listing.address_of(k + 1), listing.targets[k] if listing.flows[k] & TARGETED else None) for k in begins]
    behind = [at for at, _target in calls]
    firsts: dict[_Key, int] = {}
    for one in places:
        firsts[_key(one)] = min(one.low, firsts.get(_key(one), one.low))
    kept = []
    for one in places:
        if one.kind == PlaceKind.REGISTER and one.register in lost:
            first, end = bisect_right(behind, one.low), bisect_left(behind, one.high)
            ends = _refuted_at(calls[first:end], one.register, refuting) if first < end else []
            if ends:
                before = ends[0]
                call = begins[bisect_left(behind, before)]
                if _is_used(listing, one.register, one.low, call) or firsts[_key(one)] < one.low:
                    kept.append(one._replace(high=before))
                else:
                    kept.append(one._replace(low=before, high=ends[1] if len(ends) > 1 else one.high))
                continue
        kept.append(one)
    return kept


def _refuted_at(calls: list[tuple[int, int | None]], register: int, refuting: Refuting) -> list[int]:
    """The return addresses of the calls that overwrite a register."""
    said = [refuting(target, register) for _at, target in calls]
    open_ = {at if target is None else target for (at, target), one in zip(calls, said, strict=True) if one is None}
    several = len(open_) >= _SEVERAL
    return [at for (at, _target), one in zip(calls, said, strict=True) if one or (one is None and several)]


def _is_used(listing: Listing, register: int, low: int, call: int) -> bool:
    """Whether a register is read or written from an address up to a call."""
    for k in range(bisect_left(listing.offsets, low - listing.address), call):
        if listing.flows[k] & 15 not in _CALLS and (register in listing[k].reads or register in listing[k].writes):
            return True
    return False


def cut_at_inner(places: list[Place], low: int, high: int, listing: Listing) -> list[Place]:
    """The locations without those parts of whole-function register locations where another variable has the same
    register and something else is put there."""
    outer = {
        one.register: one
        for one in places
        if one.kind == PlaceKind.REGISTER and not one.piece_size and one.low <= low and one.high >= high
    }
    found: dict[int, list[tuple[int, int]]] = {}
    for one in places:
        wide = outer.get(one.register)
        if (
            wide is None
            or one.kind != PlaceKind.REGISTER
            or one.type == wide.type
            or one.piece_size
            or one.outlives_scope
        ):
            continue
        if (one.low > low or one.high < high) and _is_put(listing, one.register, one.low, one.high):
            found.setdefault(one.register, []).append((one.low, one.high))
    if not found:
        return places
    kept = []
    for one in places:
        if outer.get(one.register) is not one or one.register not in found:
            kept.append(one)
            continue
        begin = one.low
        for first, end in sorted(found[one.register]):
            if first > begin:
                kept.append(one._replace(low=begin, high=first))
            begin = max(begin, end)
        if begin < one.high:
            kept.append(one._replace(low=begin))
    return kept


def _is_put(listing: Listing, register: int, low: int, high: int) -> bool:
    """Whether an instruction of a range loads or copies a value into a register, independent of its old one."""
    offsets, address, rows, templates = listing.offsets, listing.address, listing.table.rows, listing.templates
    for k in range(bisect_left(offsets, low - address), bisect_left(offsets, high - address)):
        if rows[templates[k] * ROW_WORDS + ROW_WRITES] >> register & 1:
            one = listing[k]
            if one.destination == register and one.action in _PUTS and one.width == 8 and register not in one.reads:
                return True
    return False
