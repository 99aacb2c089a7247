# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Rules packed one after the other, all numbers as LEB128 of at most 32 bits.

A rule is: its flags, its source, the return address column, how many registers its state has; the kind of its call
frame address, shifted left by one, with the flag of the state's first word in the lowest bit; register, offset, extra
(the expression's number for kind 4); how many registers have an entry. An entry is: register << 3 | kind, value (the
expression's number for kinds 6 and 7), and for kind 5 the base register. Signed numbers have their sign in the lowest
bit.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import LOW_HALF
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.rule_format import REGISTERS, SIGNED, STATE

from undwarf.column import zeros


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(out="unsigned char *")
def _put(out: Any, value: cython.ulonglong) -> cython.Py_ssize_t:
    """Write an unsigned LEB128 number of 32 bits; its bytes."""
    n: cython.Py_ssize_t = 0
    while value >= 128:
        out[n] = cython.cast(cython.uchar, value & 127 | 128)
        value >>= 7
        n += 1
    out[n] = cython.cast(cython.uchar, value)
    return n + 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _folded(word: cython.ulonglong) -> cython.ulonglong:
    """A signed 32-bit number with its sign in the lowest bit, so that small ones are short."""
    value: cython.ulonglong = word & LOW_HALF
    return (value << 1 ^ LOW_HALF) & LOW_HALF if value >> 31 else value << 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _unfolded(value: cython.ulonglong) -> cython.ulonglong:
    return (value >> 1 ^ LOW_HALF if value & 1 else value >> 1) & LOW_HALF


@cython.locals(
    states="const unsigned long long[::1]",
    numbers="const unsigned int[::1]",
    data="unsigned char[::1]",
    word=cython.ulonglong,
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    base=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
    registers=cython.Py_ssize_t,
    kind=cython.ulonglong,
    value=cython.ulonglong,
    n=cython.Py_ssize_t,
    count_used=cython.Py_ssize_t,
    place="unsigned int[::1]",
    number="unsigned int[::1]",
)
def pack_rules(states: Any, order: Any, expression_count: int) -> tuple[memoryview, list[int]]:
    """The rules of ``order`` (numbers, I), packed, and the expressions that they use."""
    numbers = order
    packed = zeros("B", 16 + 400 * numbers.shape[0])
    data = packed
    places = zeros("I", expression_count + 1)
    place = places
    used = zeros("I", expression_count + 1)
    number = used
    count_used = 0
    at = 0
    with cython.nogil:
        for i in range(numbers.shape[0]):
            base = STATE * numbers[i]
            word = states[base + STATE - 1]
            registers = cython.cast(cython.Py_ssize_t, word >> 32)
            at += _put(cython.address(data[at]), word & 0xFF)
            at += _put(cython.address(data[at]), word >> 8 & 0xFF)
            at += _put(cython.address(data[at]), word >> 16 & 0xFFFF)
            at += _put(cython.address(data[at]), word >> 32)
            word = states[base]
            at += _put(cython.address(data[at]), (word & 0xFF) << 1 | (1 if word & SIGNED else 0))
            at += _put(cython.address(data[at]), word >> 8 & 0xFF)
            at += _put(cython.address(data[at]), _folded(word >> 32))
            value = _folded(states[base + 1])
            if (word & 0xFF) == kinds.CFA_EXPRESSION:
                n = cython.cast(cython.Py_ssize_t, states[base + 1] & LOW_HALF)
                if place[n] == 0:
                    number[count_used] = cython.cast(cython.uint, n)
                    count_used += 1
                    place[n] = cython.cast(cython.uint, count_used)
                value = place[n] - 1
            at += _put(cython.address(data[at]), value)
            count = 0
            for k in range(registers):
                if states[base + 2 + k]:
                    count += 1
            at += _put(cython.address(data[at]), cython.cast(cython.ulonglong, count))
            for k in range(registers):
                word = states[base + 2 + k]
                if word:
                    kind = word & 0xFF
                    at += _put(cython.address(data[at]), cython.cast(cython.ulonglong, k) << 3 | kind)
                    value = _folded(word >> 32)
                    if kind >= kinds.EXPRESSION:
                        n = cython.cast(cython.Py_ssize_t, word >> 32)
                        if place[n] == 0:
                            number[count_used] = cython.cast(cython.uint, n)
                            count_used += 1
                            place[n] = cython.cast(cython.uint, count_used)
                        value = place[n] - 1
                    at += _put(cython.address(data[at]), value)
                    if kind == kinds.AT_REGISTER:
                        at += _put(cython.address(data[at]), word >> 8 & 0xFF)
    return memoryview(packed)[:at], memoryview(used)[:count_used].tolist()


@cython.final
@cython.cclass
class _Reader:
    """Reads numbers from untrusted bytes."""

    data = cython.declare("const unsigned char[::1]")
    at: cython.Py_ssize_t
    bad: cython.bint

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def number(self, limit: cython.ulonglong) -> cython.ulonglong:
        """A LEB128 number of at most 32 bits and at most ``limit``; sets ``bad`` where there is none."""
        value: cython.ulonglong = 0
        shift: cython.int = 0
        byte: cython.ulonglong
        while shift < 35 and self.at < self.data.shape[0]:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                if value > limit:
                    self.bad = True
                    return 0
                return value
            shift += 7
        self.bad = True
        return 0


@cython.locals(
    states="unsigned long long[::1]",
    expressions="const unsigned int[::1]",
    reader=_Reader,
    rule=cython.Py_ssize_t,
    base=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    n=cython.ulonglong,
    word=cython.ulonglong,
    kind=cython.ulonglong,
    value=cython.ulonglong,
    column=cython.ulonglong,
    registers=cython.ulonglong,
    about=cython.ulonglong,
    known=cython.ulonglong,
    before=cython.longlong,
)
def unpack_rules(data: Any, count: int, machine_registers: int, expression_numbers: Any) -> memoryview | None:
    """The states of ``count`` rules, for :meth:`undwarf.tables.rule_set.RuleSet.take`; None if the bytes are not
    exactly those of rules.

    No rule names a register from ``machine_registers`` on. ``expression_numbers`` (I) gives the numbers that the file's
    expressions have in the rule set.
    """
    if count > len(data) // 9:
        return None
    unpacked = zeros("Q", STATE * count)
    states = unpacked
    expressions = expression_numbers
    reader = _Reader()
    reader.data = data
    known = machine_registers
    for rule in range(count):
        base = STATE * rule
        about = reader.number(0xFF)
        about |= reader.number(0xFF) << 8
        column = reader.number(0xFFFF)
        registers = reader.number(REGISTERS)
        word = reader.number(0x1FF)
        kind = word >> 1
        states[base] = kind | (SIGNED if word & 1 else 0)
        states[base] |= reader.number(known - 1) << 8
        states[base] |= _unfolded(reader.number(LOW_HALF)) << 32
        value = reader.number(LOW_HALF)
        # An outermost frame may have no call frame address.
        if kind > kinds.CFA_EXPRESSION:
            return None
        if kind != kinds.CFA_EXPRESSION:
            value = _unfolded(value)
        else:
            if value >= cython.cast(cython.ulonglong, expressions.shape[0]):
                return None
            value = expressions[cython.cast(cython.Py_ssize_t, value)]
        states[base + 1] = value
        n = reader.number(registers)
        before = -1
        while n > 0 and not reader.bad:
            n -= 1
            word = reader.number(REGISTERS << 3)
            kind = word & 7
            k = cython.cast(cython.Py_ssize_t, word >> 3)
            value = reader.number(LOW_HALF)
            if kind < kinds.EXPRESSION:
                value = _unfolded(value)
            word = reader.number(known - 1) if kind == kinds.AT_REGISTER else 0
            if (
                kind == 0
                or k <= before
                or word >> 3 >= known
                or cython.cast(cython.ulonglong, k) >= min(known, registers)
            ):
                return None
            if kind == kinds.REGISTER and value >= known:
                return None
            if kind >= kinds.EXPRESSION:
                if value >= cython.cast(cython.ulonglong, expressions.shape[0]):
                    return None
                value = expressions[cython.cast(cython.Py_ssize_t, value)]
            before = k
            states[base + 2 + k] = kind | word << 8 | value << 32
        if reader.bad:
            return None
        states[base + STATE - 1] = about | column << 16 | registers << 32
    if reader.at != reader.data.shape[0]:
        return None
    return unpacked
