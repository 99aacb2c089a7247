# cython: language_level=3, boundscheck=True, annotation_typing=False
"""Evaluates location expressions symbolically, to variable locations.

Only what needs no running program has a location: a register, a register or the call frame address plus a constant, a
fixed address, each possibly dereferenced. Source: DWARF 5, 2.5 (expressions), 2.6 (locations).
"""

from collections.abc import Callable
from typing import NamedTuple

import cython
from cython.cimports.undwarf.dwarf import operations

from undwarf.types.sources.dwarf_numbers import Reader
from undwarf.types.sources.type_source import PlaceKind

_REG, _CFA, _FIXED, _CONST = 1, 2, 3, 4
"""The base of a value on the expression stack."""
_IN_MEMORY = {_REG: PlaceKind.MEMORY, _CFA: PlaceKind.CFA, _FIXED: PlaceKind.ADDRESS}
_AS_VALUE = {
    _REG: PlaceKind.VALUE,
    _CFA: PlaceKind.CFA_VALUE,
    _FIXED: PlaceKind.CONSTANT,
    _CONST: PlaceKind.CONSTANT,
}
_NO_REGISTER = -1
# tuple.__new__ is faster than the named tuple's constructor; there are thousands of spots.
_as_it_is = tuple.__new__

Indexed = Callable[[int], "int | None"]
"""Maps an index of `.debug_addr` to an address; None if out of range."""


class Spot(NamedTuple):
    """A location without a name, see :class:`undwarf.types.sources.type_source.Place`.

    ``indirect``: the location holds the object's address less ``beyond``. ``further``: after that load there is another
    one.
    """

    kind: PlaceKind
    register: int
    offset: int
    piece_offset: int = 0
    piece_size: int = 0
    indirect: bool = False
    beyond: int = 0
    further: bool = False


@cython.cfunc
def _spot(kind: PlaceKind, register: int, offset: int) -> Spot:
    """The location of a whole variable."""
    return _as_it_is(Spot, (kind, register, offset, 0, 0, False, 0, False))


class FrameBase(NamedTuple):
    """The base of DW_OP_fbreg: the call frame address (``register`` -1) or a register, plus ``offset``."""

    register: int
    offset: int


@cython.final
@cython.cclass
class _Value:
    """A symbolic value, base plus offset. ``loaded``: it was then dereferenced and ``beyond`` added; ``further``: the
    sum was dereferenced again."""

    base = cython.declare(cython.int)
    register = cython.declare(object)
    offset = cython.declare(object)
    loaded = cython.declare(cython.bint)
    beyond = cython.declare(object)
    further = cython.declare(cython.bint)

    def __init__(
        self, base: int, register: int, offset: int, loaded: bool = False, beyond: int = 0, further: bool = False
    ) -> None:
        self.base = base
        self.register = register
        self.offset = offset
        self.loaded = loaded
        self.beyond = beyond
        self.further = further


_CONSTANTS = {
    operations.CONST1U: (1, False), operations.CONST1S: (1, True),
    operations.CONST2U: (2, False), operations.CONST2S: (2, True),
    operations.CONST4U: (4, False), operations.CONST4S: (4, True),
    operations.CONST8U: (8, False), operations.CONST8S: (8, True),
}  # fmt: skip  # a table


@cython.locals(
    reader=Reader,
    op=cython.int,
    budget=cython.Py_ssize_t,
    top=_Value,
    size=object,
    bits=object,
    skipped=object,
    at_bit=object,
)
def spots(
    expression: "bytes | memoryview",
    *,
    address_size: int,
    order: str,
    frame_base: FrameBase | None,
    indexed: Indexed,
    steps: int = 1000,
) -> list[Spot]:
    """The locations of an expression, one for each piece; empty if none can be determined."""
    reader = Reader(expression, order)
    found: list[Spot] = []
    stack: list[_Value | None] = []
    current: Spot | None = None
    whole = True
    at_bit = 0
    budget = steps
    while reader.more() and budget > 0:
        budget -= 1
        op = reader.fixed(1)
        if operations.REG0 <= op <= operations.REG31 or op == operations.REGX:
            current = _spot(PlaceKind.REGISTER, op - operations.REG0 if op != operations.REGX else reader.uleb(), 0)
        elif op == operations.PIECE or op == operations.BIT_PIECE:
            size = reader.uleb() if op == operations.PIECE else 0
            bits = 8 * size if op == operations.PIECE else reader.uleb()
            skipped = 0 if op == operations.PIECE else reader.uleb()
            spot = current if current is not None else _memory(stack)
            if reader.short or bits > 1 << 40:
                return found
            if spot is not None and not bits % 8 and not skipped and not at_bit % 8 and not spot.indirect and bits:
                found.append(Spot(spot.kind, spot.register, spot.offset, at_bit // 8, bits // 8))
            at_bit += bits
            whole = False
            current = None
            stack.clear()
        elif op == operations.STACK_VALUE:
            current = _value(stack)
            if current is None:
                # A computed value has no location; other pieces may follow.
                stack.append(None)
        elif op in (operations.GNU_PUSH_TLS_ADDRESS, operations.FORM_TLS_ADDRESS):
            top = stack.pop() if stack else None
            known = top is not None and (top.base == _CONST or top.base == _FIXED) and not top.loaded
            current = _spot(PlaceKind.THREAD, _NO_REGISTER, top.offset) if top is not None and known else None
            if current is None:
                return found
        elif not _step(op, reader, stack, address_size, frame_base, indexed):
            stack.append(None)
            if reader.short:
                return found
    if reader.short or budget <= 0:
        return []
    if whole:
        spot = current if current is not None else _memory(stack)
        return [spot] if spot is not None else []
    return found


@cython.cfunc
@cython.returns(cython.bint)
@cython.exceptval(-1)
@cython.locals(
    reader=Reader,
    op=cython.int,
    top=_Value,
    size=object,
    offset=object,
    constant=object,
    register=object,
)
def _step(
    op: int,
    reader: Reader,
    stack: "list[_Value | None]",
    address_size: int,
    frame_base: FrameBase | None,
    indexed: Indexed,
) -> bool:
    """Evaluate one operation; False if its result is unknown (its operands are skipped)."""
    if op == operations.ADDR:
        stack.append(_Value(_FIXED, _NO_REGISTER, reader.fixed(address_size)))
    elif op in (operations.ADDRX, operations.GNU_ADDR_INDEX):
        address = indexed(reader.uleb())
        stack.append(_Value(_FIXED, _NO_REGISTER, address) if address is not None else None)
    elif op in (operations.CONSTX, operations.GNU_CONST_INDEX):
        constant = indexed(reader.uleb())
        stack.append(_Value(_CONST, _NO_REGISTER, constant) if constant is not None else None)
    elif op in _CONSTANTS:
        size, signed = _CONSTANTS[op]
        constant = reader.fixed(size)
        if signed and constant >> (8 * size - 1):
            constant -= 1 << 8 * size
        stack.append(_Value(_CONST, _NO_REGISTER, constant))
    elif op == operations.CONSTU:
        stack.append(_Value(_CONST, _NO_REGISTER, reader.uleb()))
    elif op == operations.CONSTS:
        stack.append(_Value(_CONST, _NO_REGISTER, reader.sleb()))
    elif operations.LIT0 <= op <= operations.LIT31:
        stack.append(_Value(_CONST, _NO_REGISTER, op - operations.LIT0))
    elif operations.BREG0 <= op <= operations.BREG31:
        stack.append(_Value(_REG, op - operations.BREG0, reader.sleb()))
    elif op == operations.BREGX:
        register = reader.uleb()
        stack.append(_Value(_REG, register, reader.sleb()))
    elif op == operations.FBREG:
        offset = reader.sleb()
        if frame_base is None:
            return False
        base = _CFA if frame_base.register < 0 else _REG
        stack.append(_Value(base, frame_base.register, frame_base.offset + offset))
    elif op == operations.CALL_FRAME_CFA:
        stack.append(_Value(_CFA, _NO_REGISTER, 0))
    elif op == operations.PLUS_UCONST:
        offset = reader.uleb()
        top = stack.pop() if stack else None
        if top is not None and top.loaded and not top.further:
            stack.append(_Value(top.base, top.register, top.offset, True, top.beyond + offset))
        else:
            known = top is not None and not top.loaded
            stack.append(_Value(top.base, top.register, top.offset + offset) if top is not None and known else None)
    elif op in (operations.PLUS, operations.MINUS):
        second = stack.pop() if stack else None
        first = stack.pop() if stack else None
        stack.append(_sum(first, second, -1 if op == operations.MINUS else 1))
    elif op in (operations.DEREF, operations.DEREF_SIZE):
        size = reader.fixed(1) if op == operations.DEREF_SIZE else address_size
        top = stack.pop() if stack else None
        if top is None or top.further or size != address_size:
            stack.append(None)
        else:
            stack.append(_Value(top.base, top.register, top.offset, True, top.beyond, top.loaded))
    elif op == operations.NOP:
        pass
    else:
        _skip(op, reader, address_size)
        return False
    return True


@cython.cfunc
@cython.locals(first=_Value, second=_Value)
def _sum(first: _Value | None, second: _Value | None, sign: int) -> _Value | None:
    if first is None or second is None or first.loaded or second.loaded:
        return None
    if second.base == _CONST:
        return _Value(first.base, first.register, first.offset + sign * second.offset)
    if first.base == _CONST and sign > 0:
        return _Value(second.base, second.register, first.offset + second.offset)
    return None


@cython.cfunc
@cython.locals(reader=Reader, op=cython.int)
def _skip(op: int, reader: Reader, address_size: int) -> None:
    """Skip the operands of an operation that is not evaluated."""
    if op in (operations.PICK, operations.XDEREF_SIZE):
        reader.fixed(1)
    elif op in (operations.BRA, operations.SKIP, operations.CALL2):  # depends on run-time values
        reader.short = True
    elif op in (operations.IMPLICIT_VALUE, operations.ENTRY_VALUE, operations.GNU_ENTRY_VALUE):
        size = reader.uleb()
        reader.skip(size)
    elif op in (operations.IMPLICIT_POINTER, operations.GNU_IMPLICIT_POINTER):
        reader.fixed(address_size if op == operations.GNU_IMPLICIT_POINTER and address_size != 8 else 4)
        reader.sleb()
    elif op in (operations.CONVERT, operations.REINTERPRET, operations.GNU_CONVERT, operations.GNU_REINTERPRET):
        reader.uleb()
    elif op in (operations.REGVAL_TYPE, operations.GNU_REGVAL_TYPE):
        reader.uleb()
        reader.uleb()
    elif op in (operations.DEREF_TYPE, operations.GNU_DEREF_TYPE):
        reader.fixed(1)
        reader.uleb()
    elif op in (operations.CONST_TYPE, operations.GNU_CONST_TYPE):
        reader.uleb()
        size = reader.fixed(1)
        reader.skip(size)
    elif op == operations.GNU_PARAMETER_REF:
        reader.fixed(4)
    elif op in (operations.CALL4, operations.CALL_REF) or op > operations.GNU_PUSH_TLS_ADDRESS:
        reader.short = True


@cython.cfunc
@cython.locals(top=_Value)
def _memory(stack: "list[_Value | None]") -> Spot | None:
    """The object is at the address on top of the stack."""
    top = stack[-1] if stack else None
    if top is None or top.base == _CONST:
        return None
    kind = _IN_MEMORY[top.base]
    return _as_it_is(Spot, (kind, top.register, top.offset, 0, 0, top.loaded, top.beyond, top.further))


@cython.cfunc
@cython.locals(top=_Value)
def _value(stack: "list[_Value | None]") -> Spot | None:
    """The object's value is the top of the stack."""
    top = stack[-1] if stack else None
    if top is None:
        return None
    if top.loaded:
        if top.beyond or top.further:
            return None
        kind = _IN_MEMORY.get(top.base)
        return _spot(kind, top.register, top.offset) if kind is not None else None
    kind = _AS_VALUE[top.base]
    return _spot(kind, top.register, top.offset)
