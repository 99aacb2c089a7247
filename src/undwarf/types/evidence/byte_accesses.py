# cython: language_level=3, annotation_typing=False
"""Accesses of several bytes at once through a byte pointer: bytes of a buffer, or a member of an unknown object.

A byte pointer may point to anything, so a wide access may be of a member. It is of bytes if the value is used as bytes:
its byte order is swapped (file or network formats), it is compared with text, hashed, or copied from or to byte arrays.
By default it is of bytes, unless the value is used as a pointer, is modified in place, or lies before the pointer.
"""

from collections.abc import Iterator

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.disasm.x86_properties import byte_swap, bytes_read, compares, immediate_of, is_xor, product_size
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.reaching_definitions import reaching_definitions
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = [
    "byte_of_declared_text",
    "byte_run_access",
    "byte_type_by_sign",
    "bytes_unless_member",
    "declared_as_bytes",
    "flows_into_pointer_use",
]

_LOAD, _STORE, _CONSTANT = Action.LOAD, Action.STORE, Action.CONSTANT
_SHIFT_LEFT, _SHIFT_RIGHT = Action.SHIFT_LEFT, Action.SHIFT_RIGHT

_NEAR = 12
"""How many instructions before and after are searched."""
_SIZES = (2, 4, 8)
_WAYS = 4
"""Limit of reaching definitions."""
_SHORTEST = 4
"""Shortest constant that counts as text."""
_BESIDE = 4
"""How many instructions before and after are searched for other loads of the address."""
_LARGE = 1 << 20
"""Smallest multiplier of a hash function."""
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_GENERAL = 16
"""Number of general registers."""


def byte_run_access(tracker: Tracker, k: int, number: int, where: Value, size: int) -> ResolvedMember | None:
    """The first of several bytes accessed at once, if the value is used as bytes; else None. Restores the cursor, at
    instruction ``k``."""
    graph = tracker.graph
    if size not in _SIZES or tracker.program.machine.name != "x86_64" or not _leads_to_bytes(graph, where):
        return None
    if where[2] < -size:
        # Backwards from a byte pointer there are other objects, though copied as bytes.
        return None
    made = tracker.flow.instructions[k]
    found = size >= _SHORTEST and (_is_text(tracker, k, number, size) or _is_hashed(tracker, k, made, size))
    inferred = not found and not tracker.has_variables and where[4] > 0 and not where[2]
    if inferred and not any(apart < 0 <= apart + each for apart, each in tracker.others(k, number)):
        # An inferred byte pointer with an offset may point to a member.
        return None
    if not found and made.action == _LOAD and made.memory[number].size == size:
        found = _goes_to_bytes(tracker, k, made.destination, size) or _goes_on(tracker, k, made.memory[number], size)
    elif not found and made.action == _STORE and made.left >= 0:
        found = _comes_from_bytes(tracker, k, made.left, size) or _goes_on(tracker, k, made.memory[number], size)
    elif not found and compares(made):
        found = any(_comes_from_bytes(tracker, k, one, size) for one in _compared(made))
    tracker.before(k)
    field = graph.member_at(where[1], 0, size) if found else None
    return ResolvedMember(where[1], 0, field, "array") if field is not None else None


def bytes_unless_member(tracker: Tracker, k: int, number: int, where: Value, size: int) -> ResolvedMember | None:
    """The first of several bytes accessed at once through a byte pointer, unless the value's use shows a member of an
    object; else None. Restores the cursor, at instruction ``k``."""
    graph, made = tracker.graph, tracker.flow.instructions[k]
    operand = made.memory[number]
    if size not in _SIZES or not _leads_to_bytes(graph, where) or where[2] or where[4] < 0 or operand.access == "rw":
        return None
    if size == graph.pointer_size and made.action == _STORE and made.left >= 0:
        value = tracker.register(made.left)
        if value is not None and value[0] != NUMBER:
            return None
    if flows_into_pointer_use(tracker, k, number):
        return None
    field = graph.member_at(where[1], 0, size)
    return ResolvedMember(where[1], 0, field, "array") if field is not None else None


def declared_as_bytes(tracker: Tracker, k: int, number: int, counted: bool) -> bool:
    """Whether several bytes at once may be bytes by the declared types: not floating-point ones, nor (``counted``: at
    an offset) where no variable declares a byte pointer. The cursor is at instruction ``k``."""
    instructions, graph = tracker.flow.instructions, tracker.graph
    operand, pc = instructions[k].memory[number], instructions.address_of(k)
    if operand.floating or not tracker.has_variables:
        return False
    registers = (operand.base, operand.index) if counted else ()
    said = [one for register in registers for one in tracker.oracle.declared_values(register, pc)]
    return not counted or any(graph.is_scalar(one[1]) and graph.size(one[1]) == 1 for one in said)


def flows_into_pointer_use(tracker: Tracker, k: int, number: int) -> bool:
    """Whether the value at an operand is used as a pointer: loaded here or nearby, and dereferenced or stored to a
    pointer. Restores the cursor, at instruction ``k``."""
    instructions, blocks = tracker.flow.instructions, tracker.flow.blocks
    operand = instructions[k].memory[number]
    if operand.size != tracker.graph.pointer_size:
        return False
    first, end = blocks.first(blocks.of(k)), blocks.end(blocks.of(k))
    for at in range(max(first, k - _BESIDE), min(end, k + 1 + _BESIDE)):
        made = instructions[at]
        if made.action == _LOAD and any(_is_same(operand, one) for one in made.memory):
            between = range(at, k) if at < k else range(k, at)
            kept = not any({operand.base, operand.index} & set(instructions[one].writes) for one in between)
            if kept and _is_address(tracker, at, made.destination):
                tracker.before(k)
                return True
    tracker.before(k)
    return False


def _is_same(operand: Memory, other: Memory) -> bool:
    return (operand.base, operand.index, operand.scale, operand.displacement, operand.size) == (
        other.base,
        other.index,
        other.scale,
        other.displacement,
        other.size,
    )


def _is_address(tracker: Tracker, k: int, register: int) -> bool:
    """Whether a loaded register is dereferenced after an instruction, or becomes a known pointer."""
    instructions, blocks = tracker.flow.instructions, tracker.flow.blocks
    number = blocks.of(k)
    for at in range(k + 1, min(k + 1 + _NEAR, len(instructions))):
        if at == blocks.end(number):
            if blocks.predecessors(blocks.of(at)) != [number]:
                break
            # The branch where it is not null.
            number = blocks.of(at)
        made = instructions[at]
        tracker.before(at)
        value = tracker.register(register)
        if any(one.base == register for one in made.memory if one.access):
            return True
        if value is not None and value[0] != NUMBER:
            # Typed by the member it was stored to.
            return True
        if _changes(tracker, made, register):
            break
    return False


def byte_type_by_sign(tracker: Tracker, k: int, number: int, where: Value) -> int:
    """The alternative of several byte types with the signedness of the extension; void if undecided."""
    graph, made = tracker.graph, tracker.flow.instructions[k]
    choices = graph.choices(where[1])
    extended = made.action == _LOAD and made.width >= 4 and made.memory[number].size == 1
    if not extended or not all(graph.is_scalar(one) and graph.size(one) == 1 for one in choices):
        return VOID
    if not made.signed and not _is_number(tracker, k, made.destination):
        # A byte may be copied, or compared with another one.
        return VOID
    found = [one for one in choices if graph.record(graph.strip(one)).signed == made.signed]
    return found[0] if len(found) == 1 else VOID


def _is_number(tracker: Tracker, k: int, register: int) -> bool:
    """Whether more than a byte of a register is used next."""
    instructions = tracker.flow.instructions
    end = tracker.flow.blocks.end(tracker.flow.blocks.of(k))
    for at in range(k + 1, min(k + 1 + _NEAR, end)):
        made = instructions[at]
        if register in made.reads:
            addresses = any(register in (one.base, one.index) for one in made.memory)
            return addresses or bytes_read(made, register) >= 4
        if register in made.writes:
            break
    return False


def _leads_to_bytes(graph: TypeGraph, where: Value | None) -> bool:
    return where is not None and where[0] == OBJECT and graph.is_scalar(where[1]) and graph.size(where[1]) == 1


def _is_among_bytes(tracker: Tracker, k: int) -> bool:
    """Whether an instruction's first operand is in bytes: through a byte pointer, or in a byte array. The cursor is at
    it."""
    graph, where = tracker.graph, tracker.address_of(k, 0)
    if where is None or where[0] not in (FRAME, ADDRESS):
        return _leads_to_bytes(graph, where)
    if where[0] == ADDRESS:
        named = tracker.oracle.variable_of(where)
    else:
        found = tracker.stack_variable(k, where[4])
        named = (found[0].type, found[1]) if found is not None else None
    return named is not None and graph.is_array(named[0]) and graph.stride(named[0]) == 1


def _is_own(tracker: Tracker, k: int) -> bool:
    """Whether an instruction spills a value to a slot without a variable. The cursor is at it."""
    where = tracker.address_of(k, 0)
    return where is not None and (where[0], where[2]) == (FRAME, 0) and tracker.stack_variable(k, where[4]) is None


def _is_text(tracker: Tracker, k: int, number: int, size: int) -> bool:
    """Whether a value is compared with, or stored from, a constant text."""
    made = tracker.flow.instructions[k]
    operand = made.memory[number]
    if made.action == _LOAD and made.destination not in (operand.base, operand.index):
        k = _next_with(tracker, k, made.destination)
        made = tracker.flow.instructions[k]
        if made.memory or not (compares(made) or is_xor(made)):
            return False
    values = [immediate_of(made)]
    values += [_constant(tracker, k, one) for one in made.reads if one not in (operand.base, operand.index)]
    return any(_are_characters(one, size) for one in values if one is not None)


def _next_with(tracker: Tracker, k: int, register: int) -> int:
    """The next instruction of the block, within reach, that accesses a register; ``k`` if there is none."""
    instructions = tracker.flow.instructions
    near = range(k + 1, min(k + 1 + _NEAR, tracker.flow.blocks.end(tracker.flow.blocks.of(k))))
    return next((at for at in near if register in (*instructions[at].reads, *instructions[at].writes)), k)


def _is_hashed(tracker: Tracker, k: int, made: Instruction, size: int) -> bool:
    """Whether a loaded or multiplied value is multiplied by a large constant, truncated to its size: a hash. Division
    by multiplication uses wider products."""
    instructions = tracker.flow.instructions
    if made.action == _LOAD:
        k = _next_with(tracker, k, made.destination)
        made = instructions[k]
    if product_size(made) != size:
        return False
    tracker.before(k)
    values = [tracker.register(one) for one in _compared(made)]
    factors = [immediate_of(made), *(_constant(tracker, k, one) for one in _compared(made))]
    factors += [one[4] for one in values if one is not None and one[:3] == (NUMBER, 0, 0)]
    return any(_LARGE <= one % (1 << 8 * size) <= (1 << 8 * size) - _LARGE for one in factors if one is not None)


def _constant(tracker: Tracker, k: int, register: int) -> int | None:
    """The constant put into a register shortly before an instruction; None if there is none."""
    first = tracker.flow.blocks.first(tracker.flow.blocks.of(k))
    for at in range(k - 1, max(first, k - _NEAR) - 1, -1):
        made = tracker.flow.instructions[at]
        if register in made.writes:
            return made.immediate if made.action == _CONSTANT else None
        if _changes(tracker, made, register):
            break
    return None


def _are_characters(value: int, size: int) -> bool:
    data = (value & (1 << 8 * size) - 1).to_bytes(size, "little").rstrip(b"\0")
    return len(data) >= _SHORTEST - 1 and all(0x20 <= one < 0x7F or one in b"\t\r\n" for one in data)


def _goes_to_bytes(tracker: Tracker, k: int, register: int, size: int) -> bool:
    """Whether a register's bytes are swapped after an instruction, or stored to or compared with bytes."""
    instructions = tracker.flow.instructions
    aside: Memory | None = None
    for at in _on_the_way(tracker, k):
        made = instructions[at]
        if aside is not None:
            # The register holds another value now.
            if compares(made) and made.memory and _is_same(made.memory[0], aside):
                return any(_comes_from_bytes(tracker, at, one, size) for one in _compared(made))
            continue
        if byte_swap(made) == (register, size):
            return True
        if made.action == _STORE and made.left == register and made.memory[0].size == size:
            tracker.before(at)
            if not _is_own(tracker, at):
                return _is_among_bytes(tracker, at)
            aside = made.memory[0]
        if register in _compared(made) and compares(made):
            if made.memory:
                tracker.before(at)
                return made.memory[0].size == size and _is_among_bytes(tracker, at)
            return any(_comes_from_bytes(tracker, at, one, size) for one in _compared(made) if one != register)
        if _changes(tracker, made, register):
            break
    return False


def _on_the_way(tracker: Tracker, k: int) -> Iterator[int]:
    """The next instructions along unique successors."""
    blocks = tracker.flow.blocks
    number = blocks.of(k)
    at = k + 1
    for _left in range(_NEAR):
        if at == blocks.end(number):
            ways = blocks.successors(number)
            if len(ways) != 1:
                return
            number = ways[0]
            at = blocks.first(number)
        yield at
        at += 1


def _changes(tracker: Tracker, made: Instruction, register: int) -> bool:
    """Whether an instruction overwrites a register, or calls a function that may."""
    return register in made.writes or (made.flow in _CALLS and register in tracker.oracle.calls.lost)


def _compared(made: Instruction) -> list[int]:
    """The registers that an instruction reads as values."""
    addresses = {register for one in made.memory for register in (one.base, one.index)}
    return [register for register in made.reads if register not in addresses]


def _comes_from_bytes(tracker: Tracker, k: int, register: int, size: int) -> bool:
    """Whether all reaching definitions of a register swap bytes, or load from bytes."""
    ways = reaching_definitions(tracker, k, register)
    return 0 < len(ways) <= _WAYS and all(at >= 0 and _is_of_bytes(tracker, at, register, size) for at in ways)


def _is_of_bytes(tracker: Tracker, at: int, register: int, size: int) -> bool:
    """Whether an instruction swaps a register's bytes, or loads it from bytes."""
    made = tracker.flow.instructions[at]
    if byte_swap(made) == (register, size):
        return True
    if made.action != _LOAD or made.destination != register or made.memory[0].size != size:
        return False
    tracker.before(at)
    return _is_among_bytes(tracker, at)


def _goes_on(tracker: Tracker, k: int, operand: Memory, size: int) -> bool:
    """Whether a value continues in the bytes that follow: they are combined by shifts."""
    instructions, blocks = tracker.flow.instructions, tracker.flow.blocks
    number, action = blocks.of(k), instructions[k].action
    behind, registers = operand.displacement + size, {operand.base, operand.index}
    for at in range(max(blocks.first(number), k - _NEAR), min(blocks.end(number), k + 1 + _NEAR)):
        made = instructions[at]
        other = made.memory[0] if made.action == action and made.memory else operand
        if other.size >= size or (other.displacement, other.scale) != (behind, operand.scale):
            continue
        if {other.base, other.index} != registers:
            continue
        if action == _STORE:
            last = blocks.definition_within(at, made.left, None) if made.left >= 0 else -1
            return last >= 0 and _shifts(instructions[last], _SHIFT_RIGHT, size)
        return _shifts(instructions[_next_with(tracker, at, made.destination)], _SHIFT_LEFT, size)
    return False


def _shifts(made: Instruction, action: Action, size: int) -> bool:
    """Whether an instruction shifts by ``size`` bytes."""
    return made.action == action and made.right == NONE and made.immediate == 8 * size


def byte_of_declared_text(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """A byte of the text that a variable points to, at or near the operand's address without its index; else None.
    Covers text inside of another object, as after its header."""
    graph = tracker.graph
    base = tracker.register(operand.base) if operand.base != NONE else None
    if operand.index == NONE:
        return _near_said(tracker, k, operand, size)
    if base is None or base[0] != OBJECT or base[2] or operand.index == NONE or size != 1 or operand.scale != 1:
        return None
    pc = tracker.flow.instructions.address_of(k)
    for register in range(_GENERAL):
        held = tracker.register(register)
        if held is None or held[:4] != base[:4]:
            continue
        for value in tracker.oracle.declared_values(register, pc):
            begin = value[4] + operand.displacement + base[4] - held[4]
            # After an object all are text, the last one by its length.
            behind = begin >= -1 and graph.size(held[1]) == held[4] - value[4]
            if (not begin or behind) and not value[2] and graph.is_scalar(value[1]) and graph.size(value[1]) == size:
                field = graph.member_at(value[1], 0, size)
                return ResolvedMember(value[1], 0, field, "array") if field is not None else None
    return None


def _near_said(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """A byte of the text that variables declare for the operand's base register; None if they declare anything else."""
    graph = tracker.graph
    said = tracker.oracle.declared_values(operand.base, tracker.flow.instructions.address_of(k))
    bytes_only = all(not one[2] and graph.is_scalar(one[1]) and graph.size(one[1]) == 1 for one in said)
    if not said or size != 1 or not bytes_only or len({graph.canonical(one[1]) for one in said}) > 1:
        return None
    field = graph.member_at(said[0][1], 0, size)
    return ResolvedMember(said[0][1], 0, field, "array") if field is not None else None
