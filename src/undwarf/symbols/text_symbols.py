# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Reads symbol lists in text form: ``/proc/kallsyms`` and the ``perf-PID.map`` of a just-in-time compiler."""

from typing import Any

import cython
from cython.cimports.undwarf.symbols.symbol_constants import RANK_GLOBAL, RANK_STRONG, RANK_TYPED

from undwarf.column import zeros


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _digit(byte: cython.uint) -> cython.int:
    """The value of a hexadecimal digit, else -1."""
    if 48 <= byte <= 57:
        return byte - 48
    if 97 <= byte <= 102:
        return byte - 87
    if 65 <= byte <= 70:
        return byte - 55
    return -1


@cython.locals(
    text="const unsigned char[::1]",
    values="unsigned long long[::1]",
    names="unsigned long long[::1]",
    ranks="unsigned char[::1]",
    owners="unsigned int[::1]",
    size=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    start=cython.Py_ssize_t,
    name_at=cython.Py_ssize_t,
    name_end=cython.Py_ssize_t,
    module_at=cython.Py_ssize_t,
    last_module_at=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    made=cython.Py_ssize_t,
    room=cython.Py_ssize_t,
    value=cython.ulonglong,
    digit=cython.int,
    kind=cython.uint,
    letter=cython.uint,
    owner=cython.uint,
    runs=cython.uint,
    zeros_seen=cython.Py_ssize_t,
    same=cython.bint,
)
def read_kallsyms(data: Any, limit: int) -> tuple[Any, Any, Any, Any, int, int]:
    """(values Q, names Q, ranks B, owners I, entries, entries at address 0) of kallsyms text.

    A line is ``address type name`` and, for a module's symbol, a tab and ``[module]``. Types t and w are code, d and
    b are kept, as in perf, because they end the code before them. Malformed lines are left out.
    """
    text = data
    size = text.shape[0]
    room = min(limit, size // 20 + 1)
    values_out = zeros("Q", room)
    names_out = zeros("Q", room)
    ranks_out = zeros("B", room)
    owners_out = zeros("I", room)
    values = values_out
    names = names_out
    ranks = ranks_out
    owners = owners_out
    made = 0
    zeros_seen = 0
    runs = 0
    last_module_at = -1
    at = 0
    with cython.nogil:
        while at < size and made < room:
            value = 0
            start = at
            while at < size and at - start < 17:
                digit = _digit(text[at])
                if digit < 0:
                    break
                value = (value << 4) | cython.cast(cython.ulonglong, digit)
                at += 1
            if at > start and at - start <= 16 and at + 3 < size and text[at] == 32 and text[at + 2] == 32:
                kind = text[at + 1]
                letter = kind | 32
                if letter == 116 or letter == 119 or letter == 100 or letter == 98:
                    name_at = at + 3
                    name_end = name_at
                    while name_end < size and text[name_end] > 32:
                        name_end += 1
                    module_at = name_end
                    while module_at < size and (text[module_at] == 9 or text[module_at] == 32):
                        module_at += 1
                    owner = 0
                    if module_at < size and text[module_at] == 91:
                        same = False
                        if last_module_at >= 0:
                            k = 0
                            same = True
                            while module_at + k < size and text[module_at + k] > 32:
                                if text[module_at + k] != text[last_module_at + k]:
                                    same = False
                                    break
                                k += 1
                        if not same:
                            runs += 1
                        last_module_at = module_at
                        owner = runs
                    at = module_at
                    # Mapping symbols and local labels name no function.
                    if (
                        name_end > name_at
                        and text[name_at] != 36
                        and not (text[name_at] == 46 and name_end > name_at + 1 and text[name_at + 1] == 76)
                    ):
                        if value == 0:
                            zeros_seen += 1
                        values[made] = value
                        names[made] = name_at
                        ranks[made] = (
                            RANK_TYPED
                            | (0 if letter == 119 else RANK_STRONG)
                            | (RANK_GLOBAL if kind < 97 and letter != 119 else 0)
                        )
                        owners[made] = owner
                        made += 1
            while at < size and text[at] != 10:
                at += 1
            at += 1
    return values_out[:made], names_out[:made], ranks_out[:made], owners_out[:made], made, zeros_seen


@cython.locals(
    text="const unsigned char[::1]",
    values="unsigned long long[::1]",
    sizes="unsigned long long[::1]",
    names="unsigned long long[::1]",
    size=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    start=cython.Py_ssize_t,
    part=cython.int,
    made=cython.Py_ssize_t,
    room=cython.Py_ssize_t,
    bad=cython.Py_ssize_t,
    value=cython.ulonglong,
    address=cython.ulonglong,
    digit=cython.int,
    good=cython.bint,
)
def read_perf_map(data: Any, limit: int) -> tuple[Any, Any, Any, int, int]:
    """(values Q, sizes Q, names Q, entries, bad lines) of a perf map.

    A line is ``start size name``, both numbers hexadecimal with or without ``0x``; the name is the rest of the line.
    Source: tools/perf/Documentation/jit-interface.txt.
    """
    text = data
    size = text.shape[0]
    room = min(limit, size // 5 + 1)
    values_out = zeros("Q", room)
    sizes_out = zeros("Q", room)
    names_out = zeros("Q", room)
    values = values_out
    sizes = sizes_out
    names = names_out
    made = 0
    bad = 0
    at = 0
    with cython.nogil:
        while at < size and made < room:
            good = True
            address = 0
            value = 0
            for part in range(2):
                while at < size and text[at] == 32:
                    at += 1
                if at + 1 < size and text[at] == 48 and (text[at + 1] | 32) == 120:
                    at += 2
                start = at
                value = 0
                while at < size and at - start < 17:
                    digit = _digit(text[at])
                    if digit < 0:
                        break
                    value = (value << 4) | cython.cast(cython.ulonglong, digit)
                    at += 1
                if at == start or at - start > 16 or at >= size or text[at] != 32:
                    good = False
                    break
                if part == 0:
                    address = value
            while at < size and text[at] == 32:
                at += 1
            if good and at < size and text[at] != 10 and value and value <= ~address:
                values[made] = address
                sizes[made] = value
                names[made] = at
                made += 1
            elif at < size and (text[at] != 10 or not good):
                bad += 1
            while at < size and text[at] != 10:
                at += 1
            at += 1
    return values_out[:made], sizes_out[:made], names_out[:made], made, bad
