# cython: language_level=3, annotation_typing=False
"""Selects a union member's pointee by the uses of the pointer.

A pointer loaded from a union may point to one of several types; a pointer to a type that is only declared may be known
by another name. The accesses through the pointer, and through what is loaded from it, on paths that include this
instruction, rule out types without such members; a single remaining one is the result.
"""

from collections.abc import Callable, Iterable

from undwarf.disasm import NONE, Action, Flow, Memory
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointer_use_scan import PointerAccess, PointerUses, is_copied, uses_after, uses_around
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph

__all__ = [
    "accesses_through_base",
    "byte_pointer_stored_as",
    "union_member_by_all_uses",
    "union_member_by_use",
    "union_member_of_holder",
]

_LOAD, _STORE = Action.LOAD, Action.STORE
_VOID, _FUNCTION, _FLOAT = Kind.VOID, Kind.FUNCTION, Kind.FLOAT

_DEEP = 2
"""Limit of nested loads that are followed."""
_INDIRECT = (Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP)
_POINTER, _TAG = 8, 4
"""Size of a pointer; largest size of a union's tag."""
_FAR = 32
"""Offset from which on an access is not of an array of scalars."""
_SEVERAL = 2
"""Number of accessed members that identify an object mentioned by a variable."""


def union_member_by_use(tracker: Tracker, k: int, operand: Memory, where: Value, size: int) -> int:
    """The type of the object at an operand, among alternatives or in place of an incomplete type; void if undecided.
    Restores the cursor, at instruction ``k``."""
    graph = tracker.graph
    choices = graph.choices(where[1])
    base = tracker.register(operand.base) if operand.base != NONE and not operand.segment else None
    if base is None or base[:2] != where[:2] or base[0] != OBJECT:
        return VOID
    if not choices and (graph.size(where[1]) or where[2] or base[4]):
        return VOID
    puts_address = operand.access == "w" and _is_pointer_stored(tracker, k)
    uses = uses_around(tracker, k, operand.base)
    own = PointerAccess(where[4], size, copied=True)
    known = {graph.canonical(t): t for t in uses.leads}
    if choices:
        found = [t for t in choices if _may_touch(graph, t, where[2], where[4], own)]
        if tracker.flow.instructions[k].flow in _INDIRECT:
            found = [t for t in found if _leads_to_function(graph, t, where[4])]
        elif operand.access == "rw" and not where[2]:
            # Function pointers are not modified in place.
            found = [t for t in found if _target_at(graph, t, where[4]) != _FUNCTION]
        elif puts_address:
            found = [t for t in found if _has_pointer(graph, t, where[2], where[4])]
        found = [t for t in found if _fits(tracker, t, uses, base[4], base[2], _DEEP)]
        just = [t for t in found if where[2] and _has_steps(graph, t, abs(where[2]))]
        found = just or found
        if where[2] and len(found) > 1:
            rows = [PointerAccess(offset, each, copied=True) for offset, each in uses.indexed]
            found = [t for t in found if all(_may_touch(graph, t, where[2], one.offset, one) for one in rows)]
            # Objects in lists are seldom in arrays.
            found = [t for t in found if not _leads_to_next(graph, t)] or found
        found = [t for t in found if where[2] or where[4] < _FAR or not graph.is_scalar(t)] or found
        if not base[4] and not base[2]:
            found = [t for t in found if all(_same(graph, t, one) for one in known.values())]
            # Prefer the type itself to a part or container of it.
            found = [t for t in found if graph.canonical(t) in known] or found
        all_of_it = {own, *(one._replace(offset=one.offset + base[4]) for one in uses.touched)}
        if len(found) > 1 and (len(all_of_it) > 1 or size > _POINTER) and not where[2]:
            # Members are seldom copied together.
            found = [t for t in found if all(_is_copied_alone(graph, t, one) for one in all_of_it)]
    else:
        found = list(known.values()) if len(known) == 1 else [] if known else _mentioned_types(tracker, uses)
        found = [t for t in found if graph.is_aggregate(t) and _fits(tracker, t, uses, 0, 0, _DEEP)]
    tracker.before(k)
    return found[0] if len(found) == 1 else VOID


def _is_pointer_stored(tracker: Tracker, k: int) -> bool:
    """Whether an instruction stores a known pointer. The cursor is at it."""
    made = tracker.flow.instructions[k]
    value = tracker.register(made.left) if made.action == _STORE and made.left != NONE else None
    return value is not None and value[0] in (OBJECT, ADDRESS, FRAME)


def _has_pointer(graph: TypeGraph, t: int, step: int, offset: int) -> bool:
    """Whether a pointer may be stored at an offset of a type, plus or minus steps."""
    place = _place_in(graph, t, step, offset, _POINTER) if graph.is_aggregate(t) else None
    if place is None:
        return graph.is_pointer(t)
    found = graph.scalars_at(place.type, place.offset, _POINTER)
    # Pointers may be stored in integers.
    return any(graph.kind(graph.strip(one)) != _FLOAT for one in found)


def _leads_to_function(graph: TypeGraph, t: int, offset: int) -> bool:
    """Whether a member at an offset of a type may be called."""
    return _target_at(graph, t, offset) in (_FUNCTION, _VOID)


def _target_at(graph: TypeGraph, t: int, offset: int) -> Kind | None:
    """The kind of the pointee of a pointer member at an offset of a type; None for no pointer."""
    field = graph.member_at(t, offset, graph.pointer_size) if graph.is_aggregate(t) else None
    if field is None or field.offset or not graph.is_pointer(field.type):
        return None
    return graph.kind(graph.strip(graph.target(field.type)))


def byte_pointer_stored_as(tracker: Tracker, k: int, operand: Memory) -> int:
    """The only type as which a byte pointer (an operand's base) is stored or passed nearby that fits all accesses
    within its size; void if undecided. Past it other data may follow, as after a header. Restores the cursor, at
    instruction ``k``."""
    graph = tracker.graph
    if operand.base == NONE or operand.index != NONE or operand.segment:
        return VOID
    uses = uses_around(tracker, k, operand.base)
    known = {graph.canonical(t): t for t in (*uses.leads, *uses.several) if graph.is_aggregate(t)}
    found = [
        t
        for t in known.values()
        if operand.displacement < graph.size(t) and _fits(tracker, t, uses.up_to(graph.size(t)), 0, 0, _DEEP)
    ]
    whole = [t for t in found if all(_is_whole(graph, t, one) for one in uses.up_to(graph.size(t)).touched)]
    tracker.before(k)
    found = whole or found
    return found[0] if len(found) == 1 else VOID


def _mentioned_types(tracker: Tracker, uses: PointerUses) -> list[int]:
    """The types of the function's variables, or their pointees, with whole members at all accesses; none if there is
    one access only."""
    if len({one.offset for one in uses.touched}) < _SEVERAL:
        return []
    graph = tracker.graph
    wanted = [t for t in tracker.oracle.containers.wanted() if graph.size(t)]
    return [t for t in wanted if all(_is_whole(graph, t, one) for one in uses.touched)]


def _is_whole(graph: TypeGraph, t: int, done: PointerAccess) -> bool:
    """Whether an access is of a whole member."""
    found = graph.member_at(t, done.offset, done.size)
    return found is not None and not found.offset and graph.size(found.type) == done.size


def _is_copied_alone(graph: TypeGraph, t: int, done: PointerAccess) -> bool:
    """Whether an access is of a whole member or inner aggregate, or of a scalar and its padding."""
    if not graph.is_aggregate(t):
        return True
    found = graph.member_at(t, done.offset, done.size)
    if found is None:
        return False
    whole = any(not left and graph.size(one) == done.size for one, left in found.containers[1:])
    return whole or _is_whole(graph, t, done) or graph.reaches_next(t, found, done.offset, done.size)


def accesses_through_base(
    tracker: Tracker, k: int, operand: Memory, where: Value, size: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """([(offset, size)] of accesses through an operand's base, its own included, [(offset, size)] of indexed ones),
    relative to ``where``; empty if the base is no pointer to its type. Restores the cursor, at instruction ``k``."""
    base = tracker.register(operand.base) if operand.base != NONE and not operand.segment else None
    if base is None or base[:2] != where[:2] or base[0] != OBJECT or base[2] or where[2]:
        return [], []
    uses = uses_around(tracker, k, operand.base)
    tracker.before(k)
    whole = {(where[4], size): None, **{(base[4] + one.offset, one.size): None for one in uses.touched}}
    return list(whole), [(base[4] + offset, each) for offset, each in uses.indexed]


def union_member_by_all_uses(tracker: Tracker, k: int, where: Value) -> int:
    """The only alternative that fits all accesses through a pointer loaded from a union; void if undecided. Restores
    the cursor, at instruction ``k``.

    Accesses on paths that exclude ``k`` do not count if the object may have a tag that the function tests; if it tests
    none, the union holds the same on all paths until it is loaded again.
    """
    graph = tracker.graph
    if not where[3] or where[2] or not graph.choices(where[1]):
        return VOID
    through = tracker.through_unions.get(where[3], ())
    if through:
        blocks = tracker.flow.blocks
        load, here = blocks.of(where[3] - 1), blocks.of(k)
        together = _reached(here, load, blocks.successors, onwards=load != here or where[3] <= k)
        together |= _reached(here, load, blocks.predecessors, onwards=load != here or where[3] > k)
        near = [one for one in through if blocks.of(one[1]) in together]
        found = _only_one(tracker, where, near)
        if found == VOID and len(near) < len(through):
            again = any(load in _reached(one, load, blocks.successors, onwards=True) for one in blocks.successors(load))
            if not again and not _is_asked(tracker, where[3] - 1, near):
                found = _only_one(tracker, where, through)
    else:
        found = _only_one(tracker, where, through)
    tracker.before(k)
    return found


def union_member_of_holder(tracker: Tracker, k: int, where: Value) -> int:
    """The type of a choice's object, from the resolved type of the object it was loaded from; void if undecided.
    Restores the cursor, at instruction ``k``."""
    graph, load = tracker.graph, where[3] - 1
    t = VOID
    if 0 <= load != k and graph.choices(where[1]) and load < len(tracker.flow.instructions):
        made = tracker.flow.instructions[load]
        tracker.before(load)
        holder = tracker.address_of(load, 0) if made.action == _LOAD and made.memory else None
        if holder is not None and holder[0] == OBJECT and not holder[2] and graph.choices(holder[1]):
            whole = union_member_by_use(tracker, load, made.memory[0], holder, _POINTER) or union_member_by_all_uses(
                tracker, load, holder
            )
            pointer = graph.value_at(whole, holder[4], _POINTER) if whole else VOID
            t = graph.target(pointer) if graph.is_pointer(pointer) else VOID
        tracker.before(k)
    among = {graph.canonical(one) for one in graph.choices(where[1])}
    return t if graph.canonical(t) in among else VOID


def _is_asked(tracker: Tracker, load: int, through: Iterable[tuple[int, int, int, int]]) -> bool:
    """Whether the function loads integers of the union's object, or the pointee's first one: they may be the union's
    tag."""
    instructions = tracker.flow.instructions
    tracker.before(load)
    holder = tracker.address_of(load, 0) if instructions[load].memory else None
    if holder is None or holder[0] != OBJECT or tracker.graph.canonical(holder[1]) in tracker.numbers_read:
        return True
    first = [instructions[at].memory[number] for _t, at, number, offset in through if not offset]
    return any("r" in operand.access and operand.size <= _TAG for operand in first)


def _only_one(tracker: Tracker, where: Value, through: Iterable[tuple[int, int, int, int]]) -> int:
    """The only alternative that fits some accesses; void if there is none or several."""
    graph = tracker.graph
    touched: set[PointerAccess] = set()
    choices = {graph.canonical(t): t for t in graph.choices(where[1])}
    for several, at, number, offset in through:
        among = {graph.canonical(t) for t in graph.choices(several) or (several,)}
        choices = {canonical: t for canonical, t in choices.items() if canonical in among}
        made = tracker.flow.instructions[at]
        operand = made.memory[number]
        touched.add(PointerAccess(offset, operand.size or operand.element, is_copied(made, operand)))
    found = [t for t in choices.values() if all(_may_touch(graph, t, 0, one.offset, one) for one in touched)]
    return found[0] if len(found) == 1 else VOID


def _reached(number: int, last: int, ways: Callable[[int], list[int]], *, onwards: bool) -> set[int]:
    """Blocks reachable from one along ``ways`` (if ``onwards``), not through ``last``."""
    found = {number}
    queue = ways(number) if onwards else []
    while queue:
        one = queue.pop()
        if one not in found:
            found.add(one)
            queue += ways(one) if one != last else ()
    return found


def _same(graph: TypeGraph, t: int, other: int) -> bool:
    return graph.canonical(t) == graph.canonical(other) or graph.object_at(t, 0, other) or graph.object_at(other, 0, t)


def _fits(tracker: Tracker, t: int, uses: PointerUses, shift: int, step: int, deep: int) -> bool:
    """Whether all uses fit a pointer ``shift`` bytes into an object of a type, or one that iterates over an array by
    ``step``."""
    graph = tracker.graph
    if not all(_may_touch(graph, t, step, one.offset + shift, one) for one in uses.touched):
        return False
    several = [(loaded, step) for loaded in uses.loaded] + [(loaded, _POINTER) for loaded in uses.rows]
    for loaded, by in several if deep else ():
        after = uses_after(tracker, loaded)
        if not (after.touched or after.leads or after.passed or after.strides or after.rows or after.called):
            continue
        place = _place_in(graph, t, by, loaded.offset + shift, _POINTER)
        if place is None or not _leads_on(tracker, place.type, place.offset, after, loaded.indexed, deep):
            return False
    return True


def _has_steps(graph: TypeGraph, t: int, step: int) -> bool:
    """Whether a type, or an array in it, has this stride."""
    return graph.size(t) == step or (graph.is_aggregate(t) and any(by == step for _at, by, _total in graph.arrays(t)))


def _leads_to_next(graph: TypeGraph, t: int) -> bool:
    """Whether a structure has a pointer to its own type."""
    canonical = graph.canonical(t)
    return any(graph.canonical(graph.target(one.type)) == canonical for one in graph.members(t))


def _place_in(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> ResolvedMember | None:
    """The member at an offset of a type or its array elements."""
    if step:
        located = locate(graph, t, step, offset, size)
        # A bias of one element, not of many.
        return None if isinstance(located, str) or located.offset - offset > abs(step) else located
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    return ResolvedMember(t, offset, found) if found is not None else None


def _leads_on(tracker: Tracker, t: int, offset: int, after: PointerUses, indexed: bool, deep: int) -> bool:
    """Whether a value loaded from an offset of a type may be a pointer with these uses."""
    graph = tracker.graph
    several = graph.choices(graph.pointers_at(t, offset, _POINTER))
    pointer = graph.value_at(t, offset, _POINTER)
    if not several and not graph.is_pointer(pointer):
        return False
    for target in several or (graph.target(pointer),):
        if after.called and graph.kind(graph.strip(target)) not in (_VOID, _FUNCTION):
            continue
        if graph.kind(graph.strip(target)) in (_VOID, _FUNCTION) or not graph.size(target):
            return True
        if not indexed and any(not _same(graph, target, one) for one in after.leads):
            continue
        if any(graph.size(target) % one and not _has_steps(graph, target, one) for one in after.strides):
            continue
        if _fits(tracker, target, after, 0, graph.size(target) if indexed else 0, deep - 1):
            return True
    return False


def _may_touch(graph: TypeGraph, t: int, step: int, offset: int, done: PointerAccess) -> bool:
    """Whether an access fits a member: whole, a byte of an integer, or several members that are copied."""
    if graph.is_scalar(t):
        whole = graph.size(t)
        return done.size == whole and not offset % whole and not step % whole
    place = _place_in(graph, t, step, offset, done.size)
    if place is None or not graph.is_scalar(place.field.type):
        return False
    found = place.field
    if found.offset + done.size <= found.size:
        if graph.is_pointer(found.type):
            return not found.offset and done.size == found.size
        return not found.offset or done.size <= 2
    last = graph.member_at(place.type, place.offset + done.size - 1, 1)
    if not done.copied or found.offset or last is None:
        return False
    # Copies include padding.
    return graph.is_aggregate(last.type) or last.offset == graph.size(last.type) - 1
