# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Searches over the columns of a listing."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import Flow
from cython.cimports.undwarf.disasm.instruction_semantics import Action
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_ACCESS,
    OPERAND_BASE,
    OPERAND_WORDS,
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_FLAGS,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_WIDTH,
    ROW_WORDS,
    ROW_WRITES,
    ROW_WRITES_HIGH,
    TARGETED,
)

from undwarf.column import zeros


@cython.cfunc
@cython.exceptval(-2)
@cython.locals(
    offsets="const unsigned int[::1]", low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t
)
def _number_at(offsets: Any, offset: cython.ulonglong) -> cython.Py_ssize_t:
    """The index of the instruction at an offset, -1 for none."""
    low, high = 0, offsets.shape[0]
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] < offset:
            low = middle + 1
        else:
            high = middle
    return low if low < offsets.shape[0] and offsets[low] == offset else -1


@cython.locals(
    starts="const unsigned int[::1]",
    flow_of="const unsigned char[::1]",
    target_of="const long long[::1]",
    numbers="int[::1]",
    k=cython.Py_ssize_t,
    flow=cython.int,
)
def jumps_to(offsets: Any, flows: Any, targets: Any, address: cython.ulonglong, into: Any) -> None:
    """Fill ``into`` with the index of each instruction's jump target, -1 if there is none in the function."""
    starts, flow_of, target_of, numbers = offsets, flows, targets, into
    for k in range(flow_of.shape[0]):
        flow = flow_of[k]
        numbers[k] = -1
        if flow & TARGETED and flow & 15 in (Flow.JUMP, Flow.BRANCH):
            numbers[k] = _number_at(starts, cython.cast(cython.ulonglong, target_of[k]) - address)


@cython.locals(flows="const unsigned char[::1]", k=cython.Py_ssize_t)
def with_flow(flows: Any, flow: cython.uint) -> list[int]:
    """The instructions whose flow, including TARGETED, is ``flow``."""
    return [k for k in range(flows.shape[0]) if flows[k] == flow]


@cython.locals(flows="const unsigned char[::1]", k=cython.Py_ssize_t)
def with_flows(flows: Any, wanted: cython.uint) -> list[int]:
    """The instructions whose flow, without TARGETED, is one of some, given as bits."""
    return [k for k in range(flows.shape[0]) if wanted >> (flows[k] & 15) & 1]


@cython.locals(
    flow_of="const unsigned char[::1]", starts="const unsigned int[::1]", found="unsigned long long[::1]",
    k=cython.Py_ssize_t, count=cython.Py_ssize_t,
)  # fmt: skip
def addresses_with_flows(flows: Any, offsets: Any, address: cython.ulonglong, wanted: cython.uint) -> Any:
    """As :func:`with_flows`, their addresses (Q) in code at ``address``."""
    flow_of, starts = flows, offsets
    count = 0
    for k in range(flow_of.shape[0]):
        count += wanted >> (flow_of[k] & 15) & 1
    column = zeros("Q", count)
    found = column
    count = 0
    for k in range(flow_of.shape[0]):
        if wanted >> (flow_of[k] & 15) & 1:
            found[count] = address + starts[k]
            count += 1
    return column


@cython.locals(templates="const unsigned int[::1]", rows="const long long[::1]", k=cython.Py_ssize_t)
def with_flag(templates: Any, rows: Any, flag: cython.longlong) -> list[int]:
    """The instructions whose template has a flag."""
    return [k for k in range(templates.shape[0]) if rows[templates[k] * ROW_WORDS + ROW_FLAGS] & flag]


@cython.locals(
    templates="const unsigned int[::1]",
    rows="const long long[::1]",
    k=cython.Py_ssize_t,
    row=cython.Py_ssize_t,
    low=cython.ulonglong,
    high=cython.ulonglong,
)
def written(templates: Any, rows: Any) -> Any:
    """(low, high): the registers that some instruction writes, as in ROW_WRITES and ROW_WRITES_HIGH."""
    low = high = 0
    for k in range(templates.shape[0]):
        row = templates[k] * ROW_WORDS
        low |= cython.cast(cython.ulonglong, rows[row + ROW_WRITES])
        high |= cython.cast(cython.ulonglong, rows[row + ROW_WRITES_HIGH])
    return low, high


@cython.locals(
    templates="const unsigned int[::1]",
    rows="const long long[::1]",
    k=cython.Py_ssize_t,
    word=cython.Py_ssize_t,
    bit=cython.ulonglong,
)
def writing(templates: Any, rows: Any, register: cython.Py_ssize_t) -> list[int]:
    """The instructions that write a register."""
    if not 0 <= register < 128:
        return []
    word = ROW_WRITES + register // 64
    bit = cython.cast(cython.ulonglong, 1) << register % 64
    return [
        k
        for k in range(templates.shape[0])
        if cython.cast(cython.ulonglong, rows[templates[k] * ROW_WORDS + word]) & bit
    ]


@cython.locals(
    flow_of="const unsigned char[::1]", template_of="const unsigned int[::1]", words="const long long[::1]",
    to="const int[::1]", first_jump="int[::1]", next_jump="int[::1]", visited="unsigned char[::1]", stack="int[::1]",
    size=cython.Py_ssize_t, depth=cython.Py_ssize_t, k=cython.Py_ssize_t,
    before=cython.Py_ssize_t, taken=cython.Py_ssize_t, word=cython.Py_ssize_t, bit=cython.ulonglong,
)  # fmt: skip  # rows of C types
def writers(
    flows: Any, templates: Any, rows: Any, jumps: Any, at: cython.Py_ssize_t, register: cython.Py_ssize_t
) -> list[int]:
    """The reaching definitions of a register before instruction ``at``, over fall-through and direct jumps (``jumps``
    from :func:`jumps_to`). Calls are taken to preserve it."""
    flow_of, template_of, words, to = flows, templates, rows, jumps
    size = to.shape[0]
    found: list[int] = []
    if not 0 <= register < 128:
        return found
    word = ROW_WRITES + register // 64
    bit = cython.cast(cython.ulonglong, 1) << register % 64
    # Lists of the jumps to each instruction, as indices + 1.
    first_jump, next_jump = zeros("i", size), zeros("i", size)
    visited, stack = zeros("B", size), zeros("i", size)
    for k in range(size):
        if to[k] >= 0:
            next_jump[k] = first_jump[to[k]]
            first_jump[to[k]] = k + 1
    stack[0] = at
    depth = 1
    while depth:
        depth -= 1
        k = stack[depth]
        taken = first_jump[k]
        before = k - 1 if k and flow_of[k - 1] & 15 in (Flow.NEXT, Flow.BRANCH, Flow.CALL, Flow.INDIRECT_CALL) else -1
        while before >= 0 or taken:
            if before < 0:
                before = taken - 1
                taken = next_jump[before]
            if not visited[before]:
                visited[before] = 1
                if cython.cast(cython.ulonglong, words[template_of[before] * ROW_WORDS + word]) & bit and (
                    flow_of[before] & 15 not in (Flow.CALL, Flow.INDIRECT_CALL)
                ):
                    found.append(before)
                else:
                    stack[depth] = before
                    depth += 1
            before = -1
    return found


@cython.locals(
    flow_of="const unsigned char[::1]", template_of="const unsigned int[::1]", words="const long long[::1]",
    memory="const long long[::1]", to="const int[::1]", arriving="unsigned long long[::1]", k=cython.Py_ssize_t,
    last=cython.Py_ssize_t, row=cython.Py_ssize_t, m=cython.Py_ssize_t, n=cython.Py_ssize_t, flow=cython.int,
    action=cython.longlong, left=cython.longlong, holding=cython.ulonglong, one=cython.ulonglong, spilled=cython.bint,
    derived=cython.bint,
)  # fmt: skip
def accessed_through(
    flows: Any, templates: Any, rows: Any, operands: Any, jumps: Any, call: cython.Py_ssize_t,
    ahead: cython.Py_ssize_t, frame: cython.ulonglong, lost: cython.ulonglong,
) -> list[tuple[int, int]]:  # fmt: skip
    """(instruction, operand index) of accesses that may be through a call's result in register 0, or an address derived
    from it, among the ``ahead`` next instructions, over fall-through and forward jumps.

    ``frame``: registers (bits) that address the stack frame; after the result was spilled, any reload from the frame
    may be the result. ``lost``: the registers that calls change.
    """
    flow_of, template_of, words, memory, to = flows, templates, rows, operands, jumps
    found: list[tuple[int, int]] = []
    last = min(call + 1 + ahead, flow_of.shape[0])
    if call < 0 or call + 1 >= last:
        return found
    # By instruction after the call, the registers that hold the result at jumps to it.
    arriving = zeros("Q", last - call)
    holding = 1
    spilled = False
    for k in range(call + 1, last):
        holding |= arriving[k - call]
        row = template_of[k] * ROW_WORDS
        flow = flow_of[k] & 15
        if to[k] > k and to[k] < last:
            arriving[to[k] - call] |= holding
        if not holding:
            continue
        m = words[row + ROW_OPERAND] * OPERAND_WORDS
        for n in range(words[row + ROW_OPERANDS]):
            if memory[m + OPERAND_ACCESS] and _has(holding, memory[m + OPERAND_BASE]):
                found.append((k, n))
            m += OPERAND_WORDS
        if flow in (Flow.CALL, Flow.INDIRECT_CALL):
            holding &= ~(lost | 1)
            continue
        action, left = words[row + ROW_ACTION], words[row + ROW_LEFT]
        m = words[row + ROW_OPERAND] * OPERAND_WORDS
        derived = False
        if words[row + ROW_WIDTH] == 8:
            if action in (Action.COPY, Action.ADD):
                derived = _has(holding, left)
            elif action == Action.ADDRESS:
                derived = _has(holding, memory[m + OPERAND_BASE])
            elif action == Action.LOAD:
                derived = spilled and _has(frame, memory[m + OPERAND_BASE])
        if action == Action.STORE and _has(holding, left):
            spilled = True
        holding &= ~cython.cast(cython.ulonglong, words[row + ROW_WRITES])
        if derived and 0 <= words[row + ROW_DESTINATION] < 64:
            one = 1
            holding |= one << words[row + ROW_DESTINATION]
        if flow in (Flow.JUMP, Flow.INDIRECT_JUMP, Flow.RETURN, Flow.STOP):
            holding = 0
    return found


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _has(registers: cython.ulonglong, register: cython.longlong) -> cython.bint:
    """Whether a register is in a set of bits."""
    return 0 <= register < 64 and bool(registers >> register & 1)


@cython.locals(
    flow_of="const unsigned char[::1]", template_of="const unsigned int[::1]", words="const long long[::1]",
    k=cython.Py_ssize_t, row=cython.Py_ssize_t, flow=cython.int,
)  # fmt: skip  # rows of C types
def may_push(flows: Any, templates: Any, rows: Any, registers: cython.ulonglong) -> bool:
    """Whether code pushes one of ``registers`` (bits) before it branches or returns; also if it jumps, or ends."""
    flow_of, template_of, words = flows, templates, rows
    for k in range(flow_of.shape[0]):
        row = template_of[k] * ROW_WORDS
        flow = flow_of[k] & 15
        if flow == Flow.JUMP:
            return True
        if flow in (Flow.BRANCH, Flow.INDIRECT_JUMP, Flow.RETURN, Flow.STOP):
            return False
        if words[row + ROW_ACTION] == Action.PUSH and _has(registers, words[row + ROW_LEFT]):
            return True
    return True


@cython.locals(
    data="const unsigned char[::1]",
    starts="const unsigned int[::1]",
    k=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    value=cython.ulonglong,
)
def table_entries(
    raw: bytes,
    size: cython.Py_ssize_t,
    table: cython.ulonglong,
    offsets: Any,
    address: cython.ulonglong,
    elsewhere: Any = frozenset(),
) -> list[int]:
    """The targets of a jump table's entries as instructions, up to the first entry that is no instruction. Entries of 8
    bytes are addresses, of 4 bytes offsets from the table. -1 for targets among the addresses ``elsewhere``."""
    data, starts = raw, offsets
    found: list[Any] = []
    for k in range(len(raw) // size):
        value = 0
        for n in range(size):
            value |= cython.cast(cython.ulonglong, data[k * size + n]) << 8 * n
        if size == 4:
            value = table + cython.cast(
                cython.ulonglong, cython.cast(cython.longlong, cython.cast(cython.int, cython.cast(cython.uint, value)))
            )
        at = _number_at(starts, value - address)
        if at < 0 and value not in elsewhere:
            break
        found.append(at)
    return found


@cython.locals(
    raw="const unsigned char[::1]",
    starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]",
    k=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    low=cython.Py_ssize_t,
    high=cython.Py_ssize_t,
    middle=cython.Py_ssize_t,
    word=cython.uint,
    target=cython.ulonglong,
)
def last_calls(code: Any, address: cython.ulonglong, starts_of: Any, ends_of: Any, fixed: cython.bint) -> set[int]:
    """The functions called by the last instruction of some function in a section: evidence that they do not return.

    ``starts_of`` and ``ends_of`` (Q) are the bounds of all functions, in order; ``fixed``: the code is AArch64, else
    x86.
    """
    raw, starts, ends = code, starts_of, ends_of
    found: set[int] = set()
    for k in range(min(starts.shape[0], ends.shape[0])):
        if ends[k] <= address or ends[k] - address > cython.cast(cython.ulonglong, raw.shape[0]):
            continue
        at = ends[k] - address
        if at < 5 or ends[k] - 5 < starts[k]:
            continue
        word = raw[at - 4] | raw[at - 3] << 8 | raw[at - 2] << 16 | cython.cast(cython.uint, raw[at - 1]) << 24
        if fixed:
            if word >> 26 != 0x25:
                continue
            target = cython.cast(
                cython.ulonglong, cython.cast(cython.longlong, cython.cast(cython.int, word << 6) >> 4)
            )
            target += ends[k] - 4
        else:
            if raw[at - 5] != 0xE8:
                continue
            target = cython.cast(cython.longlong, cython.cast(cython.int, word))
            target += ends[k]
        low, high = 0, starts.shape[0]
        while low < high:
            middle = (low + high) // 2
            if starts[middle] < target:
                low = middle + 1
            else:
                high = middle
        if low < starts.shape[0] and starts[low] == target:
            found.add(target)
    return found
