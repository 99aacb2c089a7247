# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Data addresses computed from registers, and cache lines that several threads access: the work per sample."""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.perfdata.abi import MISC_EXACT_IP, REGS_ABI_64

from undwarf.column import zeros

PLAN_WORDS = cython.declare(cython.Py_ssize_t, 6)
SLOTS = cython.declare(cython.Py_ssize_t, 64)
FIXED = cython.declare(cython.longlong, 1)
BASE = cython.declare(cython.longlong, 2)
INDEX = cython.declare(cython.longlong, 4)
USER = cython.declare(cython.ulonglong, 2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(view="const unsigned char[::1]", value="unsigned long long")
def _word(view: Any, at: cython.Py_ssize_t) -> cython.ulonglong:
    """A 64-bit word of a record, 0 outside of the view."""
    value = 0
    if 0 <= at <= view.shape[0] - 8:
        memcpy(cython.address(value), cython.address(view[at]), 8)
    return value


@cython.locals(
    view="const unsigned char[::1]",
    positions="const unsigned long long[::1]",
    regs_at="const unsigned short[::1]",
    events="const unsigned short[::1]",
    ips="const unsigned long long[::1]",
    plan_of="const unsigned int[::1]",
    marked_plan_of="const unsigned int[::1]",
    plans="const long long[::1]",
    slots="const unsigned char[::1]",
    out="unsigned long long[::1]",
    address="unsigned long long",
    begin="unsigned long long",
)
def operand_addresses(
    view: Any,
    position: int,
    first: int,
    end: int,
    positions: Any,
    regs_at: Any,
    events: Any,
    ips: Any,
    plan_of: Any,
    marked_plan_of: Any,
    plans: Any,
    slots: Any,
    stack_pointer: int,
    found: Any,
) -> None:
    """Compute into ``found`` (Q) the addresses of the operands of samples ``first`` to ``end - 1``, with records in
    ``view``. Entries that are not 0 or cannot be computed stay.

    ``plan_of`` has each sample's plan (NONE: none) in ``plans``, ``marked_plan_of`` that of samples which are marked
    exact. A plan is six words ('q'): 1 for an address in the file,
    else 2 (has a base) + 4 (has an index); the DWARF registers of base and index; the index's factor; the displacement;
    the instruction's address in the file. ``slots`` ('B') has by event the position of each of 64 registers among the
    sampled register words, 255 for absent; ``stack_pointer`` is one of them. Registers whose stack pointer is the
    kernel's are not the program's: the interrupt of a precise sample came in the kernel.
    """
    out = found
    begin = position
    low: cython.Py_ssize_t = first
    high: cython.Py_ssize_t = end
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    event: cython.Py_ssize_t
    kind: cython.longlong
    slot: cython.Py_ssize_t
    plan: cython.uint
    sp: cython.Py_ssize_t = stack_pointer
    with cython.nogil:
        for i in range(low, high):
            if out[i] != 0 or (plan_of[i] == NOTHING and marked_plan_of[i] == NOTHING) or positions[i] < begin:
                continue
            at = cython.cast("Py_ssize_t", positions[i] - begin)
            if at < 0 or at > view.shape[0] - 8:
                continue
            plan = marked_plan_of[i] if _word(view, at) >> 32 & MISC_EXACT_IP else plan_of[i]
            if plan == NOTHING:
                continue
            row = cython.cast("Py_ssize_t", plan) * PLAN_WORDS
            kind = plans[row]
            address = cython.cast("unsigned long long", plans[row + 4])
            if kind & FIXED:
                out[i] = address + (ips[i] - cython.cast("unsigned long long", plans[row + 5]))
                continue
            if regs_at[i] == 0:
                continue
            # REGS_USER of a sample in the kernel are not the registers of the sampled instruction.
            if (_word(view, at) >> 32 & 7) != USER or _word(view, at + regs_at[i]) != REGS_ABI_64:
                continue
            event = events[i]
            slot = slots[event * SLOTS + sp]
            if slot != 255 and _word(view, at + regs_at[i] + 8 + 8 * slot) >> 63:
                continue
            if kind & BASE:
                slot = slots[event * SLOTS + cython.cast("Py_ssize_t", plans[row + 1] & 63)]
                if slot == 255:
                    continue
                address += _word(view, at + regs_at[i] + 8 + 8 * slot)
            if kind & INDEX:
                slot = slots[event * SLOTS + cython.cast("Py_ssize_t", plans[row + 2] & 63)]
                if slot == 255:
                    continue
                address += _word(view, at + regs_at[i] + 8 + 8 * slot) * cython.cast(
                    "unsigned long long", plans[row + 3]
                )
            out[i] = address


@cython.locals(
    addresses="const unsigned long long[::1]",
    physicals="const unsigned long long[::1]",
    pids="const unsigned int[::1]",
    lines="unsigned long long[::1]",
    owners="unsigned int[::1]",
)
def line_keys(addresses: Any, physicals: Any, pids: Any, shift: int) -> tuple[memoryview, memoryview]:
    """(line number (Q), owner (I)) of each sample. The owner is the process, 0 for kernel addresses (the upper half),
    or NONE if the physical address is known, since processes share memory. Line 0: unknown address.
    ``physicals`` may be shorter: no physical address is known then."""
    n: cython.Py_ssize_t = addresses.shape[0]
    has_physical: cython.bint = physicals.shape[0] >= n
    bits: cython.int = shift
    numbers = zeros("Q", n)
    whose = zeros("I", n)
    lines = numbers
    owners = whose
    i: cython.Py_ssize_t
    for i in range(n):
        if addresses[i] == 0:
            continue
        if has_physical and physicals[i] != 0:
            lines[i] = physicals[i] >> bits
            owners[i] = NOTHING
        else:
            lines[i] = addresses[i] >> bits
            owners[i] = 0 if addresses[i] >> 63 else pids[i]
    return numbers, whose


@cython.locals(
    lines="const unsigned int[::1]",
    threads="const unsigned int[::1]",
    accesses="const unsigned int[::1]",
    writes="const unsigned char[::1]",
    first="unsigned int[::1]",
    state="unsigned char[::1]",
)
def shared_lines(lines: Any, threads: Any, accesses: Any, writes: Any, count: int) -> Any:
    """For each line 0..count-1 (B): 1 if several threads access it, 2 if any writes it, 3 for both.

    Columns by sample: the line (NONE: left out), the thread, and the access, an index of the flags ``writes``.
    """
    n: cython.Py_ssize_t = lines.shape[0]
    met = zeros("I", count)
    found = zeros("B", count)
    first = met
    state = found
    i: cython.Py_ssize_t
    line: cython.uint
    for i in range(n):
        line = lines[i]
        if line == NOTHING:
            continue
        if not state[line] & 4:
            state[line] |= 4
            first[line] = threads[i]
        elif first[line] != threads[i]:
            state[line] |= 1
        if accesses[i] != NOTHING and writes[accesses[i]]:
            state[line] |= 2
    for i in range(count):
        state[i] &= 3
    return found


@cython.locals(
    groups="const unsigned int[::1]",
    times="const unsigned long long[::1]",
    low="unsigned long long[::1]",
    high="unsigned long long[::1]",
)
def time_spans(groups: Any, times: Any, count: int) -> tuple[memoryview, memoryview]:
    """(first time, last time) of each group 0..count-1 (Q); samples of group NONE are left out."""
    n: cython.Py_ssize_t = groups.shape[0]
    begins = zeros("Q", count)
    ends = zeros("Q", count)
    low = begins
    high = ends
    i: cython.Py_ssize_t
    for i in range(count):
        low[i] = 0xFFFFFFFFFFFFFFFF
    for i in range(n):
        if groups[i] == NOTHING:
            continue
        if times[i] < low[groups[i]]:
            low[groups[i]] = times[i]
        if times[i] > high[groups[i]]:
            high[groups[i]] = times[i]
    return begins, ends


@cython.locals(lines="const unsigned int[::1]", wanted="const unsigned char[::1]", out="unsigned int[::1]")
def rows_in(lines: Any, wanted: Any, value: int) -> Any:
    """The indexes i (I), ascending, with ``wanted[lines[i]] == value``; NONE is left out."""
    good: cython.int = value
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    result = zeros("I", len(lines))
    out = result
    for i in range(lines.shape[0]):
        if lines[i] != NOTHING and wanted[lines[i]] == good:
            out[count] = cython.cast(cython.uint, i)
            count += 1
    return result[:count]


@cython.locals(lines="const unsigned long long[::1]", numbers="unsigned int[::1]")
def drop_zero(lines: Any, column: Any) -> None:
    """Set ``column`` (I) to NONE where ``lines`` (Q) is 0."""
    numbers = column
    n: cython.Py_ssize_t = lines.shape[0]
    i: cython.Py_ssize_t
    for i in range(n):
        if lines[i] == 0:
            numbers[i] = NOTHING


@cython.locals(addresses="const unsigned long long[::1]", out="unsigned long long[::1]")
def zero_where_set(addresses: Any) -> Any:
    """1 where an address is 0, else 0 (typecode Q)."""
    n: cython.Py_ssize_t = addresses.shape[0]
    result = zeros("Q", n)
    out = result
    i: cython.Py_ssize_t
    for i in range(n):
        out[i] = addresses[i] == 0
    return result


@cython.locals(addresses="const unsigned long long[::1]", out="unsigned int[::1]")
def low_bits(addresses: Any, bits: int) -> Any:
    """The lowest bits of each address (typecode I)."""
    n: cython.Py_ssize_t = addresses.shape[0]
    mask: cython.ulonglong = (1 << bits) - 1
    result = zeros("I", n)
    out = result
    i: cython.Py_ssize_t
    for i in range(n):
        out[i] = cython.cast(cython.uint, addresses[i] & mask)
    return result
