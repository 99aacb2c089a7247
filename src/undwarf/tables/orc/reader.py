# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The columns of ORC tables: slot addresses, relocations, distinct entries, address ranges with rules.

Source: struct orc_entry in the kernel's arch/x86/include/asm/orc_types.h, ``orc_ip`` in arch/x86/kernel/unwind_orc.c.
All numbers are little-endian.
"""

import os
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, LOW_HALF, NOTHING
from cython.cimports.undwarf.tables.little_endian import number
from cython.cimports.undwarf.tables.rule_format import NO_RULE

from undwarf.column import zeros

SIGN = cython.declare(cython.ulonglong, 0x80000000)
SYMBOL = cython.declare(cython.Py_ssize_t, 24)
"""Bytes of a symbol, and of a relocation with addend, in a 64-bit file."""


@cython.locals(
    view="const unsigned char[::1]",
    out="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
    start=cython.ulonglong,
    slot=cython.ulonglong,
)
def slot_addresses(data: Any, address: int) -> Any:
    """The addresses of the slots of `.orc_unwind_ip`, which is at ``address``: each slot is a signed distance from
    itself."""
    view = data
    start = address
    count = view.shape[0] // 4
    result = zeros("Q", count)
    out = result
    with cython.nogil:
        for i in range(count):
            slot = number(cython.address(view[4 * i]), 0, 4)
            # Sign-extended; sums wrap as addresses do.
            out[i] = start + 4 * cython.cast(cython.ulonglong, i) + ((slot ^ SIGN) - SIGN)
    return result


@cython.locals(
    relocations="const unsigned char[::1]",
    table="const unsigned char[::1]",
    sections="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    slots=cython.Py_ssize_t,
    damaged=cython.Py_ssize_t,
    wanted=cython.ulonglong,
    at=cython.ulonglong,
    info=cython.ulonglong,
    symbol=cython.ulonglong,
    section=cython.ulonglong,
    symbols_count=cython.ulonglong,
)
def relocated(data: Any, symbols: Any, places: Any, kind: int, count: int) -> tuple[Any, int]:
    """(addresses of ``count`` slots, how many relocations cannot be used), from the relocations of a module.

    ``data`` are the relocations with addends, ``symbols`` the symbol table, ``places`` (Q) the address of each section,
    all ones for none. ``kind`` is the relocation type for a distance. A slot without a relocation has all ones.
    """
    relocations = data
    table = symbols
    sections = places
    wanted = kind
    slots = count
    result = zeros("Q", slots)
    out = result
    damaged = 0
    symbols_count = table.shape[0] // SYMBOL
    with cython.nogil:
        for i in range(slots):
            out[i] = ALL_ONES
        for i in range(relocations.shape[0] // SYMBOL):
            at = number(cython.address(relocations[SYMBOL * i]), 0, 8)
            info = number(cython.address(relocations[SYMBOL * i]), 8, 8)
            symbol = info >> 32
            if info & LOW_HALF != wanted or at & 3 or symbol >= symbols_count:
                damaged += 1
                continue
            at >>= 2
            section = number(cython.address(table[SYMBOL * cython.cast(cython.Py_ssize_t, symbol)]), 6, 2)
            if (
                at >= cython.cast(cython.ulonglong, slots)
                or section >= cython.cast(cython.ulonglong, sections.shape[0])
                or sections[cython.cast(cython.Py_ssize_t, section)] == ALL_ONES
            ):
                damaged += 1
                continue
            out[cython.cast(cython.Py_ssize_t, at)] = (
                sections[cython.cast(cython.Py_ssize_t, section)]
                + number(cython.address(table[SYMBOL * cython.cast(cython.Py_ssize_t, symbol)]), 8, 8)
                + number(cython.address(relocations[SYMBOL * i]), 16, 8)
            )
    return result, damaged


@cython.locals(
    view="const unsigned char[::1]",
    out="unsigned int[::1]",
    slots="unsigned int[::1]",
    grown="unsigned int[::1]",
    found="unsigned long long[::1]",
    more="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
    bound=cython.Py_ssize_t,
    width=cython.int,
    slot=cython.ulonglong,
    mask=cython.ulonglong,
    value=cython.ulonglong,
    factor=cython.ulonglong,
)
def numbered(data: Any, size: int, limit: int) -> tuple[Any, Any]:
    """(number of each entry among the distinct ones, the distinct ones in the order of their first use) of entries of
    ``size`` bytes. Entries beyond ``limit`` distinct ones have the number NOTHING."""
    view = data
    width = size
    bound = limit
    count = view.shape[0] // width
    result = zeros("I", count)
    out = result
    distinct = zeros("Q", 1024)
    found = distinct
    slots = zeros("I", 4096)
    mask = 4095
    n = 0
    # Random, so that no file can be crafted whose entries all share a slot.
    factor = int.from_bytes(os.urandom(8), "little") | 1
    for i in range(count):
        value = number(cython.address(view[width * i]), 0, width)
        slot = (value * factor) >> 32 & mask
        while slots[slot] and found[slots[slot] - 1] != value:
            slot = (slot + 1) & mask
        if slots[slot]:
            out[i] = slots[slot] - 1
            continue
        if n >= bound:
            out[i] = NOTHING
            continue
        if n == len(distinct):
            # Four slots an entry, so that chains stay short.
            distinct = zeros("Q", 2 * n)
            more = distinct
            more[:n] = found
            found = more
            mask = 2 * mask + 1
            grown = zeros("I", cython.cast(cython.Py_ssize_t, mask) + 1)
            for k in range(n):
                slot = (found[k] * factor) >> 32 & mask
                while grown[slot]:
                    slot = (slot + 1) & mask
                grown[slot] = cython.cast(cython.uint, k + 1)
            slots = grown
            slot = (value * factor) >> 32 & mask
            while slots[slot]:
                slot = (slot + 1) & mask
        found[n] = value
        n += 1
        slots[slot] = cython.cast(cython.uint, n)
        out[i] = cython.cast(cython.uint, n - 1)
    return result, distinct[:n]


@cython.locals(view="const unsigned int[::1]", out="unsigned long long[::1]", i=cython.Py_ssize_t)
def counted(numbers: Any, distinct: int) -> Any:
    """How often each of the distinct entries occurs."""
    view = numbers
    result = zeros("Q", distinct)
    out = result
    with cython.nogil:
        for i in range(view.shape[0]):
            if view[i] != NOTHING:
                out[view[i]] += 1
    return result


@cython.locals(view="const unsigned long long[::1]", i=cython.Py_ssize_t, good=cython.bint)
def is_ascending(addresses: Any) -> bool:
    """Whether no address is lower than the one before it."""
    view = addresses
    good = True
    with cython.nogil:
        for i in range(1, view.shape[0]):
            if view[i] < view[i - 1]:
                good = False
                break
    return bool(good)


@cython.locals(
    addresses="const unsigned long long[::1]",
    numbers="const unsigned int[::1]",
    order="const unsigned int[::1]",
    weak="const unsigned char[::1]",
    out_addresses="unsigned long long[::1]",
    out_numbers="unsigned int[::1]",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    end=cython.Py_ssize_t,
    to=cython.Py_ssize_t,
    strong=cython.bint,
    number=cython.uint,
    is_weak=cython.bint,
)
def arranged(of_addresses: Any, of_numbers: Any, by: Any, of_weak: Any) -> tuple[Any, Any]:
    """Addresses and numbers in the order ``by`` (row numbers by ascending address). Of those at one address, entries
    that only end what is before them (``of_weak`` of their number) go first, as the kernel sorts them."""
    addresses = of_addresses
    numbers = of_numbers
    order = by
    weak = of_weak
    result = zeros("Q", addresses.shape[0]), zeros("I", addresses.shape[0])
    out_addresses, out_numbers = result
    with cython.nogil:
        i = 0
        to = 0
        while i < order.shape[0]:
            end = i + 1
            while end < order.shape[0] and addresses[order[end]] == addresses[order[i]]:
                end += 1
            for strong in range(2):
                for k in range(i, end):
                    number = numbers[order[k]]
                    is_weak = number == NOTHING or weak[number] != 0
                    if is_weak != strong:
                        out_addresses[to] = addresses[order[k]]
                        out_numbers[to] = number
                        to += 1
            i = end
    return result


@cython.locals(
    addresses="const unsigned long long[::1]",
    numbers="const unsigned int[::1]",
    rules="const unsigned int[::1]",
    starts="unsigned long long[::1]",
    ends="unsigned long long[::1]",
    first="unsigned int[::1]",
    row_addresses="unsigned long long[::1]",
    row_rules="unsigned int[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    rows=cython.Py_ssize_t,
    pieces=cython.Py_ssize_t,
    rule=cython.uint,
    opened=cython.bint,
    last=cython.ulonglong,
)
def covered_ranges(of_addresses: Any, of_numbers: Any, of_rules: Any, end: int) -> tuple[Any, Any, Any, Any, Any]:
    """(starts, ends, first row of each range and the count of all rows, addresses of rows, rules of rows): the ranges
    of code that have rules throughout.

    ``of_rules`` are the rules of the distinct entries, NO_RULE for none. Of entries at one address the last counts. The
    last entry extends to ``end``, or by one byte if that is not after it.
    """
    addresses = of_addresses
    numbers = of_numbers
    rules = of_rules
    last = end
    n = addresses.shape[0]
    pieces = rows = 0
    opened = False
    # The most there can be: counting first would cost more than memory that is not touched.
    result = zeros("Q", n), zeros("Q", n), zeros("I", n + 1), zeros("Q", n), zeros("I", n)
    starts, ends, first, row_addresses, row_rules = result
    with cython.nogil:
        for i in range(n):
            if i + 1 < n and addresses[i + 1] == addresses[i]:
                continue
            rule = NO_RULE if numbers[i] == NOTHING else rules[numbers[i]]
            if rule == NO_RULE:
                if opened:
                    ends[pieces - 1] = addresses[i]
                    opened = False
                continue
            if not opened:
                starts[pieces] = addresses[i]
                first[pieces] = cython.cast(cython.uint, rows)
                pieces += 1
                opened = True
            row_addresses[rows] = addresses[i]
            row_rules[rows] = rule
            rows += 1
        if opened:
            ends[pieces - 1] = last if last > addresses[n - 1] else addresses[n - 1] + 1
            if ends[pieces - 1] <= addresses[n - 1]:
                # A range cannot end past the last address.
                if starts[pieces - 1] == addresses[n - 1]:
                    pieces -= 1
                else:
                    ends[pieces - 1] = addresses[n - 1]
                rows -= 1
        first[pieces] = cython.cast(cython.uint, rows)
    return result[0][:pieces], result[1][:pieces], result[2][: pieces + 1], result[3][:rows], result[4][:rows]
