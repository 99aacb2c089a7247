# cython: language_level=3, annotation_typing=False
"""The member at an address inside, or outside, of an object, for exact and for strided addresses.

The address alone does not decide: compilers address several variables relative to one register, and use pointers to
parts for the whole. The base register's value, declared variables, and nearby accesses decide between array elements,
containers and members.
"""

from collections import Counter

from undwarf.disasm import NONE, Action, Flow, Memory
from undwarf.disasm.x86_properties import sets_condition
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, POISON, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.byte_accesses import byte_of_declared_text
from undwarf.types.evidence.variables_at_register import member_of_following_variable, member_of_variable
from undwarf.types.layouts.array_offsets import (
    array_at,
    in_following_array,
    in_next,
    is_before_similar_array,
    same_array,
)
from undwarf.types.layouts.container_of import covered
from undwarf.types.layouts.resolve_offset import in_words, locate
from undwarf.types.layouts.resolved_member import ResolvedMember, is_member
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.layouts.virtual_bases import has_method_table

__all__ = [
    "SEVERAL",
    "accessed_member",
    "common_pointee_of_base_and_index",
    "is_accessed_in_parts",
    "same_offset_from_other_pointer",
    "stores_pointer",
    "word_of_copied_object",
]

_CONSTANT, _EXTEND, _LOAD, _STORE = Action.CONSTANT, Action.EXTEND, Action.LOAD, Action.STORE
_ADD, _ADDRESS = Action.ADD, Action.ADDRESS

SEVERAL = "ambiguous array"
"""Reason: an index that may be biased fits several arrays."""
_OUTSIDE = "offset outside the type"
_LEADING = (OBJECT, ADDRESS)
_ADDRESSES = (OBJECT, ADDRESS, FRAME)
_LEAVING = (Flow.JUMP, Flow.INDIRECT_JUMP, Flow.RETURN, Flow.STOP)
_SHORT, _UNROLL, _NEAR = 3, 3, 64
"""Array length from which a constant index plus bias is no longer assumed to mean the last element; unroll factor of
loops; how many instructions around are searched for the other iterations."""
_PARTS = 12
"""How many instructions before and after are searched for accesses of one object."""
_BESIDE = 6
"""How many instructions before and after are searched for a copy's loads and stores."""


def accessed_member(tracker: Tracker, k: int, operand: Memory, where: Value, size: int) -> ResolvedMember | str:
    """The member at an address, or the reason why it is unknown. The cursor is at instruction ``k``."""
    oracle, graph = tracker.oracle, tracker.graph
    found = oracle.locate(where, size)
    if isinstance(found, str) and graph.choices(where[1]):
        # A choice type has no members.
        return found
    base = tracker.register(operand.base) if operand.base != NONE else None
    if where[2]:
        if not isinstance(found, str) and found.how == "array" and _is_header(tracker, where):
            found = _OUTSIDE
        tail = _from_array_end(tracker, operand, base, where, size)
        if tail is not None:
            return tail
        below = _element_at_zero_index(tracker, operand, base, where, size)
        if below is not None:
            return below
        if _is_condition(tracker, k, operand) and _is_beside_array(graph, where, found, size):
            return "unresolved array index"
        if not isinstance(found, str) and _in_one_array(tracker, operand, base, where, found):
            return (
                _by_index(tracker, operand, where)
                or _with_index_bias_removed(tracker, k, operand, where, size)
                or found
            )
        of = oracle.variable_of(where) if where[0] == ADDRESS else (where[1], where[4])
        words = (
            word_of_copied_object(tracker, k, operand, *of, where[2], size)
            if of is not None and isinstance(found, str)
            else None
        )
        words = words or member_of_following_variable(tracker, k, operand, base, where, size)
        other = (
            words
            or member_of_variable(tracker, k, operand, size)
            or _member_of_some_element(tracker, operand, base, size)
        )
        other = other or _first_iteration_element(tracker, operand, base, where, size)
        other = (
            other
            or _member_at_zero_index(tracker, operand, where, size)
            or byte_of_declared_text(tracker, k, operand, size)
        )
        other = other or (in_next(graph, where[1], where[2], where[4], size) if where[0] == OBJECT else None)
        return other or "unresolved array index"
    whole = graph.size(where[1])
    outside = found if isinstance(found, str) or found.how == "container" else None
    if outside is not None and size <= whole and _is_next_array_element(tracker, k, operand, where):
        return locate(graph, where[1], whole, where[4], size)
    if where[0] != OBJECT or 0 <= where[4] < whole:
        return found
    if not isinstance(found, str) and found.how != "array":
        # In trailing bytes, which may store anything: a variable may know better.
        room = whole > 0 and not found.how and graph.is_scalar(found.field.type) and graph.size(found.field.type) == 1
        # Containers are a guess in C.
        guessed = room or (found.how == "container" and oracle.containers.whole)
        other = member_of_variable(tracker, k, operand, size) if guessed or found.how == "container" else None
        # Or the variable points to another array element.
        return other if other is not None and (guessed or graph.same(other.type, where[1])) else found
    other = member_of_variable(tracker, k, operand, size)
    if other is not None:
        return other
    if oracle.containers.whole:
        # List links are embedded in others, hardly in an array.
        alone = oracle.containers.isolated and not graph.is_link(where[1])
        beside = isinstance(found, str) and alone and 0 < size <= whole
        return locate(graph, where[1], whole, where[4], size) if beside and oracle.is_iterated(where[1]) else found
    # Only a register that points to an object itself is used for its array neighbours; also for several scalars at
    # once, but not bytes, which may be anything.
    fits = size <= whole or (graph.is_scalar(where[1]) and whole > 1 and not size % whole)
    leads = base is not None and base[0] == OBJECT and not base[2] and fits and not base[4] % max(whole, 1)
    if where[4] < 0 and has_method_table(graph, where[1]):
        # A virtual base is at the end of derived objects, at an unknown offset.
        leads = False
    if leads and isinstance(found, str):
        # Rather in an unknown derived class, or container that starts with the object.
        leads = not covered(graph, where[1], where[4], oracle.containers, mentioned_only=False)
    if leads and base is not None and base[4]:
        leads = not _is_declared_at(tracker, k, operand.base, base)
        if not leads and size == whole and _leads_to_number(tracker, k, operand.base, size):
            return locate(graph, where[1], whole, where[4], size)
        if base[4] > 0:
            # Scalars are not base classes.
            leads = leads and (not oracle.containers.bases_only or (graph.is_scalar(where[1]) and size == whole))
        elif leads:
            # The last element before an iterator's end; no part of a class is preceded by just its size.
            parts = oracle.containers.of(where[1])
            leads = whole > 8 and graph.is_aggregate(where[1]) and not any(at for _t, at in parts)
    if leads and where[4] >= whole and oracle.may_go_on(where[1], where[4], size):
        return _OUTSIDE
    if leads:
        return locate(graph, where[1], whole, where[4], size) if isinstance(found, str) else found
    return _OUTSIDE


def word_of_copied_object(
    tracker: Tracker, k: int, operand: Memory, t: int, offset: int, step: int, size: int
) -> ResolvedMember | None:
    """The first word of an object copied or swapped by words, if another operand nearby has the same
    index; else None."""
    if operand.index == NONE or size not in (operand.scale, step):
        return None
    instructions = tracker.flow.instructions
    for at in range(max(0, k - _BESIDE), min(k + _BESIDE, len(instructions))):
        for one in instructions[at].memory:
            if (one.index, one.scale, one.size) == (operand.index, operand.scale, size) and one.base not in (
                operand.base,
                NONE,
            ):
                return in_words(tracker.graph, t, size, offset, size)
    return None


def common_pointee_of_base_and_index(tracker: Tracker, operand: Memory, size: int) -> int:
    """The scalar that both base and index point to: one of them is an index in fact (pointer difference), whichever it
    is; else void."""
    if operand.index == NONE or operand.base == NONE or operand.scale != 1 or operand.segment:
        return VOID
    graph = tracker.graph
    one, other = tracker.register(operand.base), tracker.register(operand.index)
    if one is None or other is None or one[0] != OBJECT or other[0] != OBJECT:
        return VOID
    same = graph.canonical(one[1]) == graph.canonical(other[1])
    return one[1] if same and graph.is_scalar(one[1]) and graph.size(one[1]) == size else VOID


def same_offset_from_other_pointer(tracker: Tracker, operand: Memory, size: int) -> ResolvedMember | None:
    """The member at base plus the difference of two pointers, one of which is unknown: a copy of an array has its
    elements at the same distance; else None."""
    if operand.index == NONE or operand.base == NONE or operand.scale != 1 or operand.segment:
        return None
    for one, other in ((operand.base, operand.index), (operand.index, operand.base)):
        to, distance = tracker.register(one), tracker.register(other)
        if to is None or distance is None or to[0] != OBJECT or distance[0] != POISON:
            continue
        if not to[2] and not to[4] and 0 <= operand.displacement < tracker.graph.size(to[1]):
            located = locate(tracker.graph, to[1], 0, operand.displacement, size)
            return None if isinstance(located, str) or located.how else located
    return None


def _is_next_array_element(tracker: Tracker, k: int, operand: Memory, where: Value) -> bool:
    """Whether an access past an object is of the next array element rather than of a container: a variable, or the
    register itself, points to array elements.

    Not for objects that are made to be embedded: members point to their own type (list links), or a larger type starts
    with it and has no other (derived class).
    """
    graph, oracle = tracker.graph, tracker.oracle
    t, whole = where[1], graph.size(where[1])
    if where[0] != OBJECT or where[2] or operand.index != NONE or not 0 < whole <= where[4] or graph.is_scalar(t):
        return False
    if not oracle.containers.whole or oracle.containers.isolated:
        return False
    canonical = graph.canonical(t)
    base = tracker.register(operand.base)
    declared = oracle.declared_values(operand.base, tracker.flow.instructions.address_of(k))
    further = base is not None and base[:3] == where[:3] and base[4] >= whole and not base[4] % whole
    further = further and 0 <= operand.displacement < whole
    if declared:
        if any(graph.canonical(one[1]) != canonical for one in declared) or all(one[4] or one[2] for one in declared):
            return False
    elif not oracle.containers.knows_mentioned and not further:
        return False
    elif not further and any(graph.is_pointer(one.type) for one in graph.members(t)):
        # May be made to be embedded.
        return False
    if any(_leads_to(graph, one.type) == canonical for one in graph.members(t)):
        return False
    if any(graph.is_link(one.type) for one in graph.members(t)):
        # Objects in lists are seldom in arrays.
        return False
    wholes = Counter(graph.canonical(one) for one, _at in oracle.containers.of(t))
    return not any(
        not at and wholes[graph.canonical(one)] == 1 and where[4] < graph.size(one) and _begins(graph, one, canonical)
        for one, at in oracle.containers.of(t)
    )


def _is_header(tracker: Tracker, where: Value) -> bool:
    """Whether an index past an object may be into the array of a larger type that starts with it."""
    graph, containers = tracker.graph, tracker.oracle.containers
    t, whole = where[1], graph.size(where[1])
    if where[0] != OBJECT or not containers.whole or not 0 < whole <= where[4] or not graph.is_aggregate(t):
        return False
    canonical = graph.canonical(t)
    return any(not at and where[4] < graph.size(one) and _begins(graph, one, canonical) for one, at in containers.of(t))


def _leads_to(graph: TypeGraph, t: int) -> int:
    """The pointee of a member, or of its elements: a tree's node may have an array of children."""
    rows = graph.dimensions(t)
    return graph.canonical(graph.target(graph.target(rows[-1]) if rows else t))


def _begins(graph: TypeGraph, t: int, part: int) -> bool:
    """Whether the first member of an aggregate has a type."""
    return any(not one.offset and graph.canonical(one.type) == part for one in graph.members(t))


def _is_condition(tracker: Tracker, k: int, operand: Memory) -> bool:
    """Whether an index is the result of a condition (0 or 1)."""
    instructions = tracker.flow.instructions
    register = operand.index
    first = tracker.flow.blocks.first(tracker.flow.blocks.of(k))
    for at in range(k - 1, max(first, k - _PARTS) - 1, -1) if register != NONE else ():
        made = instructions[at]
        if register in made.writes:
            if made.action != _EXTEND:
                return sets_condition(made) == register
            register = made.left
    return False


def _is_beside_array(graph: TypeGraph, where: Value, found: ResolvedMember | str, size: int) -> bool:
    """Whether the member found for an index is past the one without it."""
    if where[0] != OBJECT or isinstance(found, str) or found.how != "array" or found.offset <= where[4]:
        return False
    return where[4] >= 0 and graph.member_at(where[1], where[4], size) is not None


def _by_index(tracker: Tracker, operand: Memory, where: Value) -> str | None:
    """The reason if an operand's unknown index is ambiguous between adjacent arrays; else None."""
    graph = tracker.graph
    if where[0] != OBJECT or operand.index == NONE or not graph.is_aggregate(where[1]):
        return None
    index = tracker.register(operand.index)
    if index is not None and (index[0] != NUMBER or index[2] != 1):
        return None
    counted = index[4] if index is not None else 0
    return (
        "unresolved array index"
        if not counted and is_before_similar_array(graph, where[1], where[2], where[4])
        else None
    )


def _element_at_zero_index(
    tracker: Tracker, operand: Memory, base: Value | None, where: Value, size: int
) -> ResolvedMember | None:
    """The element at an operand without its index, if the index starts below zero where no array is (more is subtracted
    than added); else None."""
    graph, index = tracker.graph, tracker.register(operand.index) if operand.index != NONE else None
    if index is None or index[0] != NUMBER or index[4] >= 0 or base is None or base[0] != OBJECT or base[2]:
        return None
    step, begin = abs(where[2]), base[4] + operand.displacement
    arrays = [(at, at + total) for at, by, total in graph.arrays(where[1]) if not step % by and size <= by]
    if any(low <= where[4] < high for low, high in arrays) or not any(low <= begin < high for low, high in arrays):
        return None
    found = graph.member_at(where[1], begin, size)
    return ResolvedMember(where[1], begin, found, "array") if found is not None else None


def _member_at_zero_index(tracker: Tracker, operand: Memory, where: Value, size: int) -> ResolvedMember | None:
    """The member for index 0, if the index may be any integer and its first value is outside of the
    object; else None."""
    index = tracker.register(operand.index) if operand.index != NONE else None
    if index is None or index[0] != NUMBER or not index[2] or index[4] % index[2] or where[0] != OBJECT:
        return None
    if not 0 < tracker.graph.size(where[1]) <= where[4]:
        return None
    other = (*where[:4], where[4] - index[4] * operand.scale)
    found = tracker.oracle.locate(other, size)
    return None if isinstance(found, str) or found.how or _by_index(tracker, operand, other) else found


def _with_index_bias_removed(
    tracker: Tracker, k: int, operand: Memory, where: Value, size: int
) -> ResolvedMember | str | None:
    """The member for a biased index; None if the index may start at zero.

    Nobody computes the constant index of an array's last element as a sum, but ``b[i - 1]`` is at the end of what
    precedes ``b``.
    """
    graph, step = tracker.graph, abs(where[2])
    base = tracker.register(operand.base)
    if where[0] != OBJECT or base is None or base[:2] != where[:2] or not graph.is_aggregate(where[1]):
        return None
    begin = base[4] + operand.displacement
    before = array_at(graph, where[1], step, begin)
    if before is None or array_at(graph, where[1], step, base[4]) == before:
        return None
    low, high = before
    index = tracker.register(operand.index) if operand.index != NONE else None
    counted = index is not None and (not index[3] or _just_widened(tracker, k, operand.index))
    if begin == low and counted and not low <= where[4] < high and not _is_added(tracker, k, operand.index):
        # One of several integers, the first of which is outside of the array.
        return locate(graph, where[1], where[2], begin, size)
    if begin != where[4] or high - low < _SHORT * step:
        return None
    last = (high - begin - 1) // step
    behind = in_following_array(graph, where[1], step, high - step + (begin - low) % step, min(size, step))
    if behind is None or last > _UNROLL:
        return None
    if not last:
        return behind if size <= step else SEVERAL
    return SEVERAL if _accessed(tracker, k, operand, operand.displacement + last * step) else None


def _is_added(tracker: Tracker, k: int, register: int) -> bool:
    """Whether an index's start was added right before, to an index from zero: then it is part of the address, as of a
    later array."""
    index = tracker.register(register)
    instructions = tracker.flow.instructions
    first = tracker.flow.blocks.first(tracker.flow.blocks.of(k))
    for at in range(k - 1, max(first, k - _PARTS) - 1, -1):
        made = instructions[at]
        if register in made.writes:
            if made.action == _ADDRESS:
                added = made.memory[0].displacement
            else:
                added = made.immediate if made.action == _ADD and made.right == NONE else 0
            return index is not None and index[4] == added != 0
    return False


def _just_widened(tracker: Tracker, k: int, register: int) -> bool:
    """Whether a register holds an extended integer, unchanged since."""
    instructions = tracker.flow.instructions
    first = tracker.flow.blocks.first(tracker.flow.blocks.of(k))
    for at in range(k - 1, max(first, k - _PARTS) - 1, -1):
        if register in instructions[at].writes:
            return instructions[at].action == _EXTEND
    return False


def is_accessed_in_parts(tracker: Tracker, k: int, number: int, size: int) -> bool:
    """Whether other sizes than this one are accessed nearby through the same registers, as members of an object are.

    Not if all are constants, as when text is written, or if they overlap, as when a length is tested first. Restores
    the cursor, at instruction ``k``.
    """
    instructions = tracker.flow.instructions
    operand = instructions[k].memory[number]
    sizes, differs = set(), False
    for at in range(max(0, k - _PARTS), min(k + _PARTS, len(instructions))):
        for one in instructions[at].memory:
            if not _is_beside(operand, one) or _leads_elsewhere(tracker, k, at, one.base):
                continue
            if not _is_another(tracker, k, operand, at, one):
                sizes.add(one.size)
                differs = differs or not _writes_constant(tracker, at)
    tracker.before(k)
    return differs and bool(sizes - {size}) and not _overlap(tracker, k, operand)


def stores_pointer(tracker: Tracker, k: int) -> bool:
    """Whether an instruction stores a pointer. The cursor is at instruction ``k``."""
    made = tracker.flow.instructions[k]
    value = tracker.register(made.left) if made.action == _STORE and made.left != NONE else None
    return value is not None and value[0] in _ADDRESSES and made.width == tracker.graph.pointer_size


def _is_beside(operand: Memory, other: Memory) -> bool:
    """Whether an operand is a scalar relative to the same registers."""
    same = (other.base, other.index, other.scale) == (operand.base, operand.index, operand.scale)
    return same and bool(other.access) and 1 < other.size <= 8


def _is_another(tracker: Tracker, k: int, operand: Memory, at: int, other: Memory) -> bool:
    """Whether two operands at one offset are on different paths, or the base register changes in between."""
    instructions = tracker.flow.instructions
    between = [instructions[one] for one in range(min(at, k), max(at, k))]
    if not any(one.flow in _LEAVING for one in between):
        return False
    return other.displacement == operand.displacement or any(operand.base in one.writes for one in between)


def _leads_elsewhere(tracker: Tracker, k: int, at: int, register: int) -> bool:
    """Whether a register changes between two instructions and points to an object or pointer at the second."""
    instructions = tracker.flow.instructions
    between = range(at, k) if at < k else range(k, at)
    if not any(register in instructions[one].writes for one in between):
        return False
    tracker.before(at)
    value = tracker.register(register)
    if value is None or value[0] != OBJECT:
        return False
    return tracker.graph.is_aggregate(value[1]) or tracker.graph.is_pointer(value[1])


def _overlap(tracker: Tracker, k: int, operand: Memory) -> bool:
    """Whether accesses nearby through the same pointer overlap, as members do not."""
    instructions = tracker.flow.instructions
    held = {operand.base, operand.index}
    spans: set[tuple[int, int]] = set()
    before, behind = range(k - 1, max(0, k - _PARTS) - 1, -1), range(k, min(k + _PARTS, len(instructions)))
    for way in (list(before), list(behind)):
        for at in way:
            if at < k and held & set(instructions[at].writes):
                break
            spans.update((one.displacement, one.size) for one in instructions[at].memory if _is_beside(operand, one))
            if held & set(instructions[at].writes):
                break
    return any(one != other and 0 <= other[0] - one[0] < one[1] for one in spans for other in spans)


def _writes_constant(tracker: Tracker, k: int) -> bool:
    """Whether an instruction stores a constant."""
    made = tracker.flow.instructions[k]
    if made.action != _STORE or made.left == NONE:
        return made.action == _STORE
    tracker.before(k)
    value = tracker.register(made.left)
    if value is not None and value[0] == NUMBER and not value[2]:
        return True
    # Or a constant larger than any used in arithmetic, such as eight characters.
    instructions = tracker.flow.instructions
    first = tracker.flow.blocks.first(tracker.flow.blocks.of(k))
    for at in range(k - 1, max(first, k - _PARTS) - 1, -1):
        if made.left in instructions[at].writes:
            return instructions[at].action == _CONSTANT or _loads_constant(tracker, at)
    return False


def _loads_constant(tracker: Tracker, k: int) -> bool:
    """Whether an instruction loads from an address without a variable: a constant of the compiler."""
    made = tracker.flow.instructions[k]
    tracker.before(k)
    where = tracker.address_of(k, 0) if made.action == _LOAD and made.memory[0].absolute else None
    return where is not None and where[0] == ADDRESS and tracker.oracle.variable_of(where) is None


def _accessed(tracker: Tracker, k: int, operand: Memory, displacement: int) -> bool:
    """Whether another displacement is accessed nearby through the same registers."""
    instructions = tracker.flow.instructions
    for at in range(max(0, k - _NEAR), min(k + _NEAR, len(instructions))):
        for one in instructions[at].memory:
            if (one.base, one.index, one.scale, one.displacement) == (
                operand.base,
                operand.index,
                operand.scale,
                displacement,
            ):
                return True
    return False


def _is_declared_at(tracker: Tracker, k: int, register: int, value: Value) -> bool:
    """Whether a variable declares this offset for a register."""
    pc = tracker.flow.instructions.address_of(k)
    return any(said[4] == value[4] for said in tracker.oracle.declared_values(register, pc))


def _leads_to_number(tracker: Tracker, k: int, register: int, size: int) -> bool:
    """Whether a variable declares a register as pointer to a scalar of ``size`` bytes."""
    graph = tracker.graph
    said = tracker.oracle.declared_values(register, tracker.flow.instructions.address_of(k))
    return any(not one[2] and not one[4] and graph.is_scalar(one[1]) and graph.size(one[1]) == size for one in said)


def _in_one_array(tracker: Tracker, operand: Memory, base: Value | None, where: Value, found: ResolvedMember) -> bool:
    """Whether a pointer that iterates over an array is not used for what precedes that: it may be one
    element further."""
    if operand.index != NONE or base is None or base[:3] != where[:3] or not 0 < base[4] - where[4] <= where[2]:
        return True
    t, start = where[1], 0
    if where[0] == ADDRESS:
        variable = tracker.oracle.variable_of(where)
        if variable is None:
            return True
        t, start = variable[0], where[4] - variable[1]
    # The result may be in the following array.
    place = found.offset if found.how == "array" and found.type == t else where[4] - start
    return same_array(tracker.graph, t, where[2], base[4] - start, place)


def _member_of_some_element(tracker: Tracker, operand: Memory, base: Value | None, size: int) -> ResolvedMember | None:
    """A member of some array element, if the base points to the first one and the index is in bytes; else None."""
    graph = tracker.graph
    if base is None or base[0] != OBJECT or base[4] or operand.scale != 1 or not graph.is_aggregate(base[1]):
        return None
    index = tracker.register(operand.index) if operand.index != NONE else None
    if abs(base[2]) != (operand.index == NONE):
        return None
    if index is not None and (index[0] != NUMBER or abs(index[2]) != 1 or index[4]):
        return None
    offset = operand.displacement
    found = graph.member_at(base[1], offset, size) if offset > 0 and is_member(graph, base[1], offset, size) else None
    return ResolvedMember(base[1], offset, found, "array") if found is not None else None


def _first_iteration_element(
    tracker: Tracker, operand: Memory, base: Value | None, where: Value, size: int
) -> ResolvedMember | None:
    """The element at index 0 of an inner array that the stride leaves: a loop with one valid iteration; else None."""
    graph, index = tracker.graph, tracker.register(operand.index) if operand.index != NONE else None
    if index is None or index[0] != NUMBER or not index[2] or base is None or base[0] != OBJECT or base[2]:
        return None
    if index[4] % index[2]:
        return None
    step = abs(index[2] * operand.scale)
    low = where[4] - index[4] * operand.scale
    high = low + size
    inside = [by for at, by, total in graph.arrays(where[1]) if at <= low and high <= at + total <= at + step]
    if step != abs(where[2]) or not inside or any(step % by for by in inside):
        return None
    found = graph.member_at(where[1], low, size)
    return ResolvedMember(where[1], low, found, "array") if found is not None else None


def _from_array_end(
    tracker: Tracker, operand: Memory, base: Value | None, where: Value, size: int
) -> ResolvedMember | None:
    """The array that an operand's base points to the start of, if the access ends ``index`` bytes from there (a copy's
    tail); else None."""
    if base is None or base[2] or base[0] not in _LEADING:
        return None
    if operand.index == NONE or operand.scale != 1 or operand.displacement != -size:
        return None
    if base[:2] != where[:2] or base[4] != where[4] + size:
        return None
    graph = tracker.graph
    t, begin = base[1], base[4]
    if base[0] == ADDRESS:
        variable = tracker.oracle.variable_of(base)
        if variable is None:
            return None
        t, begin = variable
    if graph.is_array(t) and not begin:
        located = locate(graph, t, graph.stride(t), 0, size)
        return None if isinstance(located, str) else located
    if not graph.is_aggregate(t) or not any(at == begin and not size % by for at, by, _total in graph.arrays(t) if by):
        return None
    found = graph.member_at(t, begin, size)
    return ResolvedMember(t, begin, found, "array") if found is not None else None
