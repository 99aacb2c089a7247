# cython: language_level=3, annotation_typing=False
"""Several bytes that are read or written at once, where a pointer leads to bytes.

A pointer to bytes may stand for anything: a number that is read through it, or copied, may be a member of something. It
is bytes in a row if what is done with the number says so: their order is turned around, as that of numbers in a file or
a message; they are characters, or scattered; they go from or to where bytes are, or are compared with these. They are
so too where nothing says otherwise: that the number leads somewhere, is changed in place, or lies before what is
pointed to.
"""

from collections.abc import Iterator

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.disasm.x86_properties import byte_swap, bytes_read, compares, immediate_of, is_xor, product_size
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.reaching_definitions import makers
from undwarf.types.layouts.resolved_member import Located
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = ["by_sign", "in_a_row", "in_said_array", "leads_on", "only_bytes", "said_to_be_bytes"]

_LOAD, _STORE, _CONSTANT = Action.LOAD, Action.STORE, Action.CONSTANT
_SHIFT_LEFT, _SHIFT_RIGHT = Action.SHIFT_LEFT, Action.SHIFT_RIGHT

_NEAR = 12
"""Instructions before one, and behind it, that are looked at."""
_SIZES = (2, 4, 8)
_WAYS = 4
"""Instructions that put something into one register."""
_SHORTEST = 4
"""Characters that are no number."""
_BESIDE = 4
"""The same of what is loaded from the same place."""
_LARGE = 1 << 20
"""What numbers are multiplied by to scatter them."""
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_GENERAL = 16
"""Registers that hold addresses."""


def in_a_row(tracker: Tracker, k: int, number: int, where: Value, size: int) -> Located | None:
    """The first of so many bytes at once, if they are bytes in a row. The tracker stands before instruction ``k``, and
    does so afterwards."""
    graph = tracker.graph
    if size not in _SIZES or tracker.program.machine.name != "x86_64" or not _leads_to_bytes(graph, where):
        return None
    if where[2] < -size:
        # What is counted backwards from where bytes begin lies before them, though it is copied as bytes.
        return None
    made = tracker.flow.instructions[k]
    found = size >= _SHORTEST and (_is_text(tracker, k, number, size) or _is_hashed(tracker, k, made, size))
    inferred = not found and not tracker.has_variables and where[4] > 0 and not where[2]
    if inferred and not any(apart < 0 <= apart + each for apart, each in tracker.others(k, number)):
        # Who begins in the middle of what is said to be bytes by their use alone may mean a member of something.
        return None
    if not found and made.action == _LOAD and made.memory[number].size == size:
        found = _goes_to_bytes(tracker, k, made.destination, size) or _goes_on(tracker, k, made.memory[number], size)
    elif not found and made.action == _STORE and made.left >= 0:
        found = _comes_from_bytes(tracker, k, made.left, size) or _goes_on(tracker, k, made.memory[number], size)
    elif not found and compares(made):
        found = any(_comes_from_bytes(tracker, k, one, size) for one in _compared(made))
    tracker.before(k)
    field = graph.member_at(where[1], 0, size) if found else None
    return Located(where[1], 0, field, "array") if field is not None else None


def only_bytes(tracker: Tracker, k: int, number: int, where: Value, size: int) -> Located | None:
    """The first of so many bytes at once behind a pointer to bytes of which nothing else is known, if nothing that is
    done with them says that they are a member of something. The tracker stands before instruction ``k``, and does so
    afterwards."""
    graph, made = tracker.graph, tracker.flow.instructions[k]
    operand = made.memory[number]
    if size not in _SIZES or not _leads_to_bytes(graph, where) or where[2] or where[4] < 0 or operand.access == "rw":
        return None
    if size == graph.pointer_size and made.action == _STORE and made.left >= 0:
        value = tracker.register(made.left)
        if value is not None and value[0] != NUMBER:
            return None
    if leads_on(tracker, k, number):
        return None
    field = graph.member_at(where[1], 0, size)
    return Located(where[1], 0, field, "array") if field is not None else None


def said_to_be_bytes(tracker: Tracker, k: int, number: int, counted: bool) -> bool:
    """Whether several bytes at once may be only these, by what is said of the pointer: a number with a point never is,
    and what is ``counted`` from where bytes begin, or of which no variables are known, is a member of something that
    was put among them at least as often. The tracker stands before instruction ``k``."""
    instructions, graph = tracker.flow.instructions, tracker.graph
    operand, pc = instructions[k].memory[number], instructions.address_of(k)
    if operand.floating or not tracker.has_variables:
        return False
    registers = (operand.base, operand.index) if counted else ()
    said = [one for register in registers for one in tracker.questions.said_of(register, pc)]
    return not counted or any(graph.is_scalar(one[1]) and graph.size(one[1]) == 1 for one in said)


def leads_on(tracker: Tracker, k: int, number: int) -> bool:
    """Whether what an operand holds leads somewhere: it is loaded there, or right before or behind, and used as an
    address or put where one is kept. The tracker stands before instruction ``k``, and does so afterwards."""
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
    """Whether what is loaded into a register is used as an address behind an instruction, or goes where one is kept."""
    instructions, blocks = tracker.flow.instructions, tracker.flow.blocks
    number = blocks.of(k)
    for at in range(k + 1, min(k + 1 + _NEAR, len(instructions))):
        if at == blocks.end(number):
            if blocks.predecessors(blocks.of(at)) != [number]:
                break
            # Where it is not nothing.
            number = blocks.of(at)
        made = instructions[at]
        tracker.before(at)
        value = tracker.register(register)
        if any(one.base == register for one in made.memory if one.access):
            return True
        if value is not None and value[0] != NUMBER:
            # The member that it went into said so.
            return True
        if _changes(tracker, made, register):
            break
    return False


def by_sign(tracker: Tracker, k: int, number: int, where: Value) -> int:
    """Which of several types of bytes is read, by how it becomes a number; void where that does not tell."""
    graph, made = tracker.graph, tracker.flow.instructions[k]
    choices = graph.choices(where[1])
    extended = made.action == _LOAD and made.width >= 4 and made.memory[number].size == 1
    if not extended or not all(graph.is_scalar(one) and graph.size(one) == 1 for one in choices):
        return VOID
    if not made.signed and not _is_number(tracker, k, made.destination):
        # A byte may only be copied, or compared with another one.
        return VOID
    found = [one for one in choices if graph.record(graph.strip(one)).signed == made.signed]
    return found[0] if len(found) == 1 else VOID


def _is_number(tracker: Tracker, k: int, register: int) -> bool:
    """Whether more of a register than a byte is used next."""
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
    """Whether the first operand of an instruction, before which the tracker stands, is where bytes are: behind a
    pointer to them, or in a variable that is an array of them."""
    graph, where = tracker.graph, tracker.address_of(k, 0)
    if where is None or where[0] not in (FRAME, ADDRESS):
        return _leads_to_bytes(graph, where)
    if where[0] == ADDRESS:
        named = tracker.questions.variable_of(where)
    else:
        found = tracker.stack_variable(k, where[4])
        named = (found[0].type, found[1]) if found is not None else None
    return named is not None and graph.is_array(named[0]) and graph.stride(named[0]) == 1


def _is_own(tracker: Tracker, k: int) -> bool:
    """Whether an instruction, before which the tracker stands, puts a number aside on the stack, where no variable
    is."""
    where = tracker.address_of(k, 0)
    return where is not None and (where[0], where[2]) == (FRAME, 0) and tracker.stack_variable(k, where[4]) is None


def _is_text(tracker: Tracker, k: int, number: int, size: int) -> bool:
    """Whether what is compared with bytes, or stored there, is always the same characters."""
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
    """The next instruction near another one, and in its block, that reads or writes a register; that one itself where
    there is none."""
    instructions = tracker.flow.instructions
    near = range(k + 1, min(k + 1 + _NEAR, tracker.flow.blocks.end(tracker.flow.blocks.of(k))))
    return next((at for at in near if register in (*instructions[at].reads, *instructions[at].writes)), k)


def _is_hashed(tracker: Tracker, k: int, made: Instruction, size: int) -> bool:
    """Whether a number of so many bytes that an instruction multiplies, or loads, is multiplied by a large one, and so
    many bytes are kept: nobody counts like that, and what is divided so is made wider."""
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
    """The number that was put into a register shortly before an instruction, and is always the same."""
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
    """Whether the bytes of a number in a register are turned around behind an instruction, or go to where bytes are."""
    instructions = tracker.flow.instructions
    aside: Memory | None = None
    for at in _on_the_way(tracker, k):
        made = instructions[at]
        if aside is not None:
            # Whatever the register holds now is another number.
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
    """The instructions near another one behind it, as long as there is one way only."""
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
    """Whether an instruction puts something else into a register, or calls what may do so."""
    return register in made.writes or (made.flow in _CALLS and register in tracker.questions.calls.lost)


def _compared(made: Instruction) -> list[int]:
    """The registers whose numbers an instruction reads."""
    addresses = {register for one in made.memory for register in (one.base, one.index)}
    return [register for register in made.reads if register not in addresses]


def _comes_from_bytes(tracker: Tracker, k: int, register: int, size: int) -> bool:
    """Whether the bytes of a number in a register were turned around before an instruction, or loaded from bytes."""
    ways = makers(tracker, k, register)
    return 0 < len(ways) <= _WAYS and all(at >= 0 and _is_of_bytes(tracker, at, register, size) for at in ways)


def _is_of_bytes(tracker: Tracker, at: int, register: int, size: int) -> bool:
    """Whether an instruction turns the bytes of a number in a register around, or loads it from bytes."""
    made = tracker.flow.instructions[at]
    if byte_swap(made) == (register, size):
        return True
    if made.action != _LOAD or made.destination != register or made.memory[0].size != size:
        return False
    tracker.before(at)
    return _is_among_bytes(tracker, at)


def _goes_on(tracker: Tracker, k: int, operand: Memory, size: int) -> bool:
    """Whether a number is more bytes than are loaded or stored at once: its higher ones lie right behind these."""
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
            last = blocks.maker_within(at, made.left, None) if made.left >= 0 else -1
            return last >= 0 and _shifts(instructions[last], _SHIFT_RIGHT, size)
        return _shifts(instructions[_next_with(tracker, at, made.destination)], _SHIFT_LEFT, size)
    return False


def _shifts(made: Instruction, action: Action, size: int) -> bool:
    """Whether an instruction shifts a number by so many bytes."""
    return made.action == action and made.right == NONE and made.immediate == 8 * size


def in_said_array(tracker: Tracker, k: int, operand: Memory, size: int) -> Located | None:
    """One of the characters that a variable is said to lead to, where an operand is near them, or without its index is
    there: of text inside of something else, as behind its header."""
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
        for value in tracker.questions.said_of(register, pc):
            begin = value[4] + operand.displacement + base[4] - held[4]
            # Behind an object all are, and the last one by how many there are.
            behind = begin >= -1 and graph.size(held[1]) == held[4] - value[4]
            if (not begin or behind) and not value[2] and graph.is_scalar(value[1]) and graph.size(value[1]) == size:
                field = graph.member_at(value[1], 0, size)
                return Located(value[1], 0, field, "array") if field is not None else None
    return None


def _near_said(tracker: Tracker, k: int, operand: Memory, size: int) -> Located | None:
    """One of the characters that variables say an operand's base leads to, and nothing else."""
    graph = tracker.graph
    said = tracker.questions.said_of(operand.base, tracker.flow.instructions.address_of(k))
    bytes_only = all(not one[2] and graph.is_scalar(one[1]) and graph.size(one[1]) == 1 for one in said)
    if not said or size != 1 or not bytes_only or len({graph.canonical(one[1]) for one in said}) > 1:
        return None
    field = graph.member_at(said[0][1], 0, size)
    return Located(said[0][1], 0, field, "array") if field is not None else None
