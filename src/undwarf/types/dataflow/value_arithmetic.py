# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Arithmetic on abstract values (by id): sums, products, differences and joins.

What needs types (the element a pointer moves to, the common type of two objects) is queried from `type_oracle.py` once
per value.
"""

from typing import Any

import cython
from cython.cimports.undwarf.types.dataflow.constants import (
    ADDRESS,
    ANYWHERE,
    FRAME,
    LARGEST,
    LOW_WORD,
    NOTHING,
    NOWHERE,
    NULL,
    NUMBER,
    OBJECT,
    PERCPU,
    POISON,
    SYMBOLS,
    UNKNOWN,
    VIRTUAL,
)

from undwarf.types.dataflow.value_interner import ValueInterner

TO_VOID = cython.declare(cython.longlong, 1)
"""Type of a NUMBER that is a void pointer."""
LOWEST = cython.declare(cython.longlong, 4096)
"""No memory is mapped at absolute addresses below this."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _gcd(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    left: cython.longlong = -a if a < 0 else a
    right: cython.longlong = -b if b < 0 else b
    rest: cython.longlong
    while right:
        rest = left % right
        left = right
        right = rest
    return left


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _product(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """a * b, or LARGEST on overflow."""
    left: cython.longlong = -a if a < 0 else a
    right: cython.longlong = -b if b < 0 else b
    if a == 0 or b == 0:
        return 0
    # The most negative integer has no absolute value.
    if left < 0 or right < 0 or left > LARGEST // right:
        return LARGEST
    return a * b


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _is_one(a: cython.longlong, b: cython.longlong) -> cython.bint:
    """Whether two symbols are of one integer, or of quotients of it."""
    return a == b or (a == -b and (a >= SYMBOLS or b >= SYMBOLS))


@cython.cclass
class ValueArithmetic:
    """Arithmetic on values by id. ``oracle`` answers what needs types."""

    def __init__(self, values: ValueInterner, oracle: Any) -> None:
        self.values = values
        self.oracle = oracle
        self.kernel = oracle.program.kernel
        self.fixed = oracle.program.is_data is not None

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2)
    def base_of(self, value: cython.int) -> cython.longlong:
        return (
            cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value)]) if value else -1
        )

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def step_of(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 2])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def symbol_of(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 3])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def offset_of(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 4])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def type_of(self, value: cython.int) -> cython.longlong:
        return cython.cast(cython.longlong, self.values.parts[5 * cython.cast(cython.Py_ssize_t, value) + 1])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def constant(self, value: cython.longlong) -> cython.int:
        return self.values.intern(NUMBER, 0, 0, 0, value)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def moved(self, value: cython.int, by: cython.longlong) -> cython.int:
        """A value plus a constant."""
        if not value or not by:
            return value
        parts = self.values.parts
        at: cython.Py_ssize_t = 5 * cython.cast(cython.Py_ssize_t, value)
        if by >= LARGEST or by <= -LARGEST:
            return self.values.intern(parts[at], parts[at + 1], 1, 0, 0)
        if parts[at] == NUMBER and parts[at + 2] == 1 and parts[at + 4] + by < 0:
            # Indices are not negative, so unknown minus a constant stays unknown from 0.
            return self.values.intern(NUMBER, 0, 1, parts[at + 3], 0)
        return self.values.intern(parts[at], parts[at + 1], parts[at + 2], parts[at + 3], parts[at + 4] + by)

    @cython.cfunc
    @cython.exceptval(-1)
    def add(self, left: cython.int, right: cython.int) -> cython.int:
        """The sum of two values; unknown if both are."""
        left = NOTHING if left == ANYWHERE else left
        right = NOTHING if right == ANYWHERE else right
        if not left and not right:
            return NOTHING
        a: cython.int = left if left else UNKNOWN
        b: cython.int = right if right else UNKNOWN
        swapped: cython.int
        if self.base_of(a) == POISON or self.base_of(b) == POISON:
            return NOWHERE
        if self.base_of(b) != NUMBER:
            if self.base_of(a) == VIRTUAL or self.base_of(b) == VIRTUAL:
                return self._virtual_base(a, b)
            if self.base_of(a) != NUMBER:
                if self.base_of(a) == PERCPU:
                    swapped = a
                    a = b
                    b = swapped
                if self.kernel and self.base_of(a) == OBJECT and self.base_of(b) == PERCPU:
                    # A per-CPU pointer plus a CPU's base: that CPU's copy.
                    return NOWHERE if self.step_of(b) or self.offset_of(b) else a
                if self.base_of(a) == OBJECT and self.base_of(b) == OBJECT:
                    return self._bytes_by_index(a, b)
                # The address of a per-CPU variable plus a CPU's base.
                if self.base_of(a) != ADDRESS or self.base_of(b) != PERCPU:
                    return NOWHERE
                return self.values.intern(PERCPU, 0, self.step_of(a), self.symbol_of(a), self.offset_of(a))
            swapped = a
            a = b
            b = swapped
        step: cython.longlong
        symbol: cython.longlong
        if not self.step_of(a):
            step, symbol = self.step_of(b), self.symbol_of(b)
        elif not self.step_of(b):
            step, symbol = self.step_of(a), self.symbol_of(a)
        elif self.symbol_of(a) and _is_one(self.symbol_of(a), self.symbol_of(b)):
            step = self.step_of(a) + self.step_of(b)
            symbol = max(self.symbol_of(a), self.symbol_of(b)) if step else 0
        else:
            step, symbol = _gcd(self.step_of(a), self.step_of(b)), 0
            if (self.base_of(a) in (OBJECT, ADDRESS)) and step != abs(self.step_of(a)):
                return self._indexed_twice(a, b)
            if self.base_of(a) == OBJECT and step != abs(self.step_of(b)):
                return self._indexed_twice(a, b)
        offset: cython.longlong = self.offset_of(a) + self.offset_of(b)
        if step == 1 and offset < 0 and self.base_of(a) == NUMBER:
            # As in `moved`.
            offset = 0
        if self.base_of(a) == NUMBER:
            return self.values.intern(NUMBER, 0, step, symbol, offset)
        return self.values.intern(self.base_of(a), self.type_of(a), step, symbol, offset)

    @cython.cfunc
    @cython.exceptval(-1)
    def _bytes_by_index(self, left: cython.int, right: cython.int) -> cython.int:
        """The sum of two pointers, one of which is an index in fact (a union of integer and pointer): an unscaled index
        into bytes."""
        graph: Any = self.oracle.graph
        for value, index in ((left, right), (right, left)):
            if self.step_of(index) or self.is_several(index) or not graph.is_aggregate(self.type_of(index)):
                continue
            if graph.is_scalar(self.type_of(value)) and graph.size(self.type_of(value)) == 1:
                return self.values.intern(OBJECT, self.type_of(value), 1, 0, self.offset_of(value))
        return NOWHERE

    @cython.cfunc
    @cython.exceptval(-1)
    def _virtual_base(self, left: cython.int, right: cython.int) -> cython.int:
        """An object plus a virtual base offset."""
        value: cython.int = right if self.base_of(left) == VIRTUAL else left
        slot: cython.int = left if self.base_of(left) == VIRTUAL else right
        if self.base_of(value) != OBJECT:
            return NOTHING
        return cython.cast(
            cython.int, self.values.number(self.oracle.virtual_base(self.values.of(value), self.offset_of(slot)))
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def _indexed_twice(self, value: cython.int, number: cython.int) -> cython.int:
        """A pointer into an array plus another index: within an element, or to another one."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, value) << 32 | cython.cast(cython.ulonglong, number)
        found: cython.int = self.values.indexed.find(key)
        if found < 0:
            found = self._index_again(value, number)
            self.values.indexed.put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _index_again(self, value: cython.int, number: cython.int) -> cython.int:
        symbol: cython.longlong
        element: cython.int = self.values.number(self.oracle.element(self.values.of(value)))
        size: cython.longlong = self.oracle.apart(self.type_of(element)) if self.base_of(element) == OBJECT else 0
        step: cython.longlong = _gcd(self.step_of(value), self.step_of(number))
        if not size or (self.step_of(element) % size and self.step_of(number) % size):
            return self.values.intern(
                self.base_of(value), self.type_of(value), step, 0, self.offset_of(value) + self.offset_of(number)
            )
        whole: cython.int = self._in_numbers(value, number, element, size, step)
        if whole:
            return whole
        if self.step_of(number) % size:
            # Within an element, which the first index selected.
            step, symbol = self.step_of(number), self.symbol_of(number)
        else:
            step, symbol = _gcd(self.step_of(element), self.step_of(number)), 0
            if step == self.step_of(element):
                symbol = self.symbol_of(element)
        offset: cython.longlong = (self.offset_of(element) + self.offset_of(number)) % size
        return self.values.intern(OBJECT, self.type_of(element), step, symbol, offset + size if offset < 0 else offset)

    @cython.cfunc
    @cython.exceptval(-1)
    def _in_numbers(
        self,
        value: cython.int,
        number: cython.int,
        element: cython.int,
        size: cython.longlong,
        step: cython.longlong,
    ) -> cython.int:
        """A pointer into an inner array of scalars plus another index: stays in that array, which is more precise than
        the scalar."""
        inside: cython.bint = self.type_of(element) != self.type_of(value)
        if (
            not inside
            or step % size
            or self.offset_of(element)
            or not self.oracle.graph.is_scalar(self.type_of(element))
        ):
            return NOTHING
        offset: cython.longlong = self.offset_of(value) + self.offset_of(number)
        moved: cython.int = self.values.intern(self.base_of(value), self.type_of(value), step, 0, offset)
        again: cython.int = self.values.number(self.oracle.element(self.values.of(moved)))
        same: cython.bint = self.base_of(again) == OBJECT and self.type_of(again) == self.type_of(element)
        return moved if same and not self.offset_of(again) else NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def scaled(self, value: cython.int, factor: cython.longlong) -> cython.int:
        """An integer times a constant; the product of a pointer is unknown."""
        if not value or (factor > 1 and self.base_of(value) == OBJECT):
            # Pointers are not multiplied: a stale variable location on an integer.
            value = UNKNOWN
        if self.base_of(value) != NUMBER:
            return NOWHERE if factor != 1 else value
        step: cython.longlong = _product(self.step_of(value), factor)
        if step == -1 and not self.symbol_of(value):
            # Any number.
            step = 1
        return self.values.intern(
            NUMBER, 0, step, self.symbol_of(value) if step else 0, _product(self.offset_of(value), factor)
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def difference(self, left: cython.int, right: cython.int) -> cython.int:
        """left - right."""
        if not right or right == ANYWHERE:
            return NOTHING if not left or self.base_of(left) == NUMBER else self.add(left, NOTHING)
        if self.base_of(right) == NUMBER:
            return self.add(left, self.scaled(right, -1))
        if not left or self.base_of(left) == NUMBER:
            return NOWHERE
        a: cython.longlong = self.base_of(left)
        if a == self.base_of(right) and (a == ADDRESS or self._is_alike(left, right)):
            step: cython.longlong = _gcd(self.step_of(left), self.step_of(right))
            if self.base_of(left) == OBJECT:
                # Pointers to one type: elements of one array.
                size: cython.longlong = self.oracle.graph.size(self.type_of(left))
                step = _gcd(step, size)
                if not step:
                    step = 1
            return self.values.intern(NUMBER, 0, step, 0, self.offset_of(left) - self.offset_of(right))
        return NOWHERE

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_alike(self, left: cython.int, right: cython.int) -> cython.bint:
        """Whether two pointers have the same pointee type."""
        if self.type_of(left) == self.type_of(right):
            return True
        if self.base_of(left) != OBJECT:
            return False
        return cython.cast(cython.bint, self.oracle.graph.same(self.type_of(left), self.type_of(right)))

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def nameless(self, value: cython.int) -> cython.int:
        """A pointer to a choice type without the symbol of its load."""
        if self.base_of(value) != OBJECT or not self.symbol_of(value) or self.step_of(value):
            return value
        return self.values.intern(OBJECT, self.type_of(value), 0, 0, self.offset_of(value))

    @cython.cfunc
    @cython.exceptval(-1)
    def join(self, left: cython.int, right: cython.int) -> cython.int:
        """The join of two values; `left` is the value already stored, whose offset is kept (not commutative)."""
        if not left or not right or left == right:
            return right if left else NOTHING
        a: cython.longlong = self.base_of(left)
        b: cython.longlong = self.base_of(right)
        if (a == ADDRESS or b == ADDRESS) and (a in (ADDRESS, OBJECT)) and (b in (ADDRESS, OBJECT)):
            return self._asked_join(left, right)
        if a == b:
            if a == OBJECT and self.type_of(left) != self.type_of(right):
                return self._asked_join(left, right)
            if a == POISON:
                return NOWHERE
            if a == VIRTUAL:
                return NOTHING
            apart: cython.longlong = self.offset_of(left) - self.offset_of(right)
            if (
                self.step_of(left) == self.step_of(right)
                and self.symbol_of(left) == self.symbol_of(right)
                and not apart
            ):
                return left
            step: cython.longlong = _gcd(_gcd(self.step_of(left), self.step_of(right)), apart)
            if a == OBJECT and step != self.step_of(left) and (self.step_of(left) or self.step_of(right)):
                # Steps of whole array elements may be ignored.
                return self._asked_join(left, right)
            if a == NUMBER and self.type_of(left) != self.type_of(right):
                # A null pointer is never dereferenced.
                if left == NULL or right == NULL:
                    return right if left == NULL else left
                return self.values.intern(a, 0, step, 0, self.offset_of(left))
            first: cython.longlong = self.offset_of(left)
            other: cython.longlong = self.offset_of(right)
            if a == NUMBER and LOW_WORD >> 1 <= first < LOW_WORD and not LOW_WORD >> 1 <= other < LOW_WORD:
                # A negative index, such as one that is tested before use.
                first = other
            return self.values.intern(a, self.type_of(left), step, 0, first)
        if NULL in (left, right) and FRAME in (a, b):
            return right if left == NULL else left
        if b in (OBJECT, ADDRESS) and self._is_no_address(left):
            return right
        if a in (OBJECT, ADDRESS) and self._is_no_address(right):
            return left
        if b == OBJECT and self._is_typed_for(right, left):
            return right
        if a == OBJECT and self._is_typed_for(left, right):
            return left
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_no_address(self, value: cython.int) -> cython.bint:
        """Whether a value is an integer that is no valid address, so that a dereference excludes this path."""
        if value == NULL:
            return True
        if self.base_of(value) != NUMBER or self.type_of(value) or self.step_of(value):
            return False
        return not self.fixed or abs(self.offset_of(value)) < LOWEST

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_typed_for(self, value: cython.int, other: cython.int) -> cython.bint:
        """Whether the other value is a void pointer and the first one points to an object: then a variable that holds
        either has the object's type. Byte pointers that are not advanced may be opaque, too, and do not count."""
        if self.base_of(other) != NUMBER or self.type_of(other) != TO_VOID:
            return False
        if self.step_of(other) != 1 or self.offset_of(other) or not self.oracle.has_variables:
            return False
        return bool(self.step_of(value) or self.oracle.graph.size(self.type_of(value)) != 1)

    @cython.cfunc
    @cython.exceptval(-1)
    def _asked_join(self, left: cython.int, right: cython.int) -> cython.int:
        left, right = self.nameless(left), self.nameless(right)
        key: cython.ulonglong = cython.cast(cython.ulonglong, left) << 32 | cython.cast(cython.ulonglong, right)
        found: cython.int = self.values.joined.find(key)
        if found < 0:
            found = self.values.number(self.oracle.join(self.values.of(left), self.values.of(right)))
            self.values.joined.put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def is_several(self, value: cython.int) -> cython.bint:
        """Whether a value points to a choice type."""
        return self.base_of(value) == OBJECT and bool(self.oracle.is_choice_type(self.type_of(value)))
