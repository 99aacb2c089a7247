# cython: language_level=3, boundscheck=True, annotation_typing=False
"""Where a variable is: location expressions, told as places.

Source: DWARF 5, 2.5 (expressions), 2.6 (locations). Only what can be said without running the program is told: a
register, an address in one plus a constant, the call frame address plus a constant, a fixed address. All else is no
place.
"""

from collections.abc import Callable
from typing import NamedTuple

import cython

from undwarf.types.sources.places import PlaceKind
from undwarf.types.sources.reader import Reader

_REG, _CFA, _FIXED, _CONST = 1, 2, 3, 4
"""What a value on the stack is relative to."""
_IN_MEMORY = {_REG: PlaceKind.MEMORY, _CFA: PlaceKind.CFA, _FIXED: PlaceKind.ADDRESS}
_AS_VALUE = {
    _REG: PlaceKind.VALUE, _CFA: PlaceKind.CFA_VALUE, _FIXED: PlaceKind.CONSTANT, _CONST: PlaceKind.CONSTANT,
}  # fmt: skip
_NO_REGISTER = -1

Indexed = Callable[[int], "int | None"]
"""The address that an index stands for."""


class Spot(NamedTuple):
    """A place without a name: see :class:`undwarf.types.sources.places.Place`.

    ``indirect``: what is there is an address, and the object is ``beyond`` bytes behind that; ``further``: there is
    only the address of the object.
    """

    kind: PlaceKind
    register: int
    offset: int
    piece_offset: int = 0
    piece_size: int = 0
    indirect: bool = False
    beyond: int = 0
    further: bool = False


class FrameBase(NamedTuple):
    """What DW_OP_fbreg counts from: the call frame address (``register`` -1) or a register, plus ``offset``."""

    register: int
    offset: int


@cython.final
@cython.cclass
class _Value:
    """A value that is a base plus a constant; ``loaded`` where it was then read from memory, and ``beyond`` added to
    that; ``further`` where the sum was read from again."""

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
    0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True), 0x0C: (4, False), 0x0D: (4, True),
    0x0E: (8, False), 0x0F: (8, True),
}  # fmt: skip


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
    """The places an expression tells, one for each piece; empty where it tells none."""
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
        if 0x50 <= op <= 0x6F or op == 0x90:
            current = Spot(PlaceKind.REGISTER, op - 0x50 if op != 0x90 else reader.uleb(), 0)
        elif op == 0x93 or op == 0x9D:  # DW_OP_piece, DW_OP_bit_piece
            size = reader.uleb() if op == 0x93 else 0
            bits = 8 * size if op == 0x93 else reader.uleb()
            skipped = 0 if op == 0x93 else reader.uleb()
            spot = current if current is not None else _memory(stack)
            if reader.short or bits > 1 << 40:
                return found
            if spot is not None and not bits % 8 and not skipped and not at_bit % 8 and not spot.indirect and bits:
                found.append(Spot(spot.kind, spot.register, spot.offset, at_bit // 8, bits // 8))
            at_bit += bits
            whole = False
            current = None
            stack.clear()
        elif op == 0x9F:  # DW_OP_stack_value
            current = _value(stack)
            if current is None:
                # A value that is computed; in pieces, others may follow.
                stack.append(None)
        elif op in (0xE0, 0x9B):  # DW_OP_GNU_push_tls_address, DW_OP_form_tls_address
            top = stack.pop() if stack else None
            known = top is not None and (top.base == _CONST or top.base == _FIXED) and not top.loaded
            current = Spot(PlaceKind.THREAD, _NO_REGISTER, top.offset) if top is not None and known else None
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
    """One operation on the stack; False for one whose result is not known (its operands are stepped over)."""
    if op == 0x03:
        stack.append(_Value(_FIXED, _NO_REGISTER, reader.fixed(address_size)))
    elif op in (0xA1, 0xFB):  # DW_OP_addrx, DW_OP_GNU_addr_index
        address = indexed(reader.uleb())
        stack.append(_Value(_FIXED, _NO_REGISTER, address) if address is not None else None)
    elif op in (0xA2, 0xFC):  # DW_OP_constx, DW_OP_GNU_const_index
        constant = indexed(reader.uleb())
        stack.append(_Value(_CONST, _NO_REGISTER, constant) if constant is not None else None)
    elif op in _CONSTANTS:
        size, signed = _CONSTANTS[op]
        constant = reader.fixed(size)
        if signed and constant >> (8 * size - 1):
            constant -= 1 << 8 * size
        stack.append(_Value(_CONST, _NO_REGISTER, constant))
    elif op == 0x10:
        stack.append(_Value(_CONST, _NO_REGISTER, reader.uleb()))
    elif op == 0x11:
        stack.append(_Value(_CONST, _NO_REGISTER, reader.sleb()))
    elif 0x30 <= op <= 0x4F:
        stack.append(_Value(_CONST, _NO_REGISTER, op - 0x30))
    elif 0x70 <= op <= 0x8F:
        stack.append(_Value(_REG, op - 0x70, reader.sleb()))
    elif op == 0x92:
        register = reader.uleb()
        stack.append(_Value(_REG, register, reader.sleb()))
    elif op == 0x91:
        offset = reader.sleb()
        if frame_base is None:
            return False
        base = _CFA if frame_base.register < 0 else _REG
        stack.append(_Value(base, frame_base.register, frame_base.offset + offset))
    elif op == 0x9C:
        stack.append(_Value(_CFA, _NO_REGISTER, 0))
    elif op == 0x23:
        offset = reader.uleb()
        top = stack.pop() if stack else None
        if top is not None and top.loaded and not top.further:
            stack.append(_Value(top.base, top.register, top.offset, True, top.beyond + offset))
        else:
            known = top is not None and not top.loaded
            stack.append(_Value(top.base, top.register, top.offset + offset) if top is not None and known else None)
    elif op in (0x22, 0x1C):  # DW_OP_plus, DW_OP_minus
        second = stack.pop() if stack else None
        first = stack.pop() if stack else None
        stack.append(_sum(first, second, -1 if op == 0x1C else 1))
    elif op in (0x06, 0x94):  # DW_OP_deref, DW_OP_deref_size
        size = reader.fixed(1) if op == 0x94 else address_size
        top = stack.pop() if stack else None
        if top is None or top.further or size != address_size:
            stack.append(None)
        else:
            stack.append(_Value(top.base, top.register, top.offset, True, top.beyond, top.loaded))
    elif op == 0x96:
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
    """Step over the operands of an operation that is not evaluated."""
    if op in (0x15, 0x95):  # DW_OP_pick, DW_OP_xderef_size
        reader.fixed(1)
    elif op in (0x28, 0x2F, 0x98):  # DW_OP_bra, DW_OP_skip, DW_OP_call2: what is told would depend on the run
        reader.short = True
    elif op in (0x9E, 0xA3, 0xF3):  # DW_OP_implicit_value, DW_OP_entry_value and its GNU form
        size = reader.uleb()
        reader.skip(size)
    elif op in (0xA0, 0xF2):  # DW_OP_implicit_pointer and its GNU form
        reader.fixed(address_size if op == 0xF2 and address_size != 8 else 4)
        reader.sleb()
    elif op in (0xA8, 0xA9, 0xF7, 0xF9):  # DW_OP_convert, DW_OP_reinterpret
        reader.uleb()
    elif op in (0xA5, 0xF5):  # DW_OP_regval_type
        reader.uleb()
        reader.uleb()
    elif op in (0xA6, 0xF6):  # DW_OP_deref_type
        reader.fixed(1)
        reader.uleb()
    elif op in (0xA4, 0xF4):  # DW_OP_const_type
        reader.uleb()
        size = reader.fixed(1)
        reader.skip(size)
    elif op in (0xFA,):  # DW_OP_GNU_parameter_ref
        reader.fixed(4)
    elif op in (0x99, 0x9A) or op >= 0xE1:
        reader.short = True


@cython.cfunc
@cython.locals(top=_Value)
def _memory(stack: "list[_Value | None]") -> Spot | None:
    """The object is where the top of the stack says."""
    top = stack[-1] if stack else None
    if top is None or top.base == _CONST:
        return None
    kind = _IN_MEMORY[top.base]
    return Spot(kind, top.register, top.offset, 0, 0, top.loaded, top.beyond, top.further)


@cython.cfunc
@cython.locals(top=_Value)
def _value(stack: "list[_Value | None]") -> Spot | None:
    """The value is the top of the stack."""
    top = stack[-1] if stack else None
    if top is None:
        return None
    if top.loaded:
        if top.beyond or top.further:
            return None
        kind = _IN_MEMORY.get(top.base)
        return Spot(kind, top.register, top.offset) if kind is not None else None
    kind = _AS_VALUE[top.base]
    return Spot(kind, top.register, top.offset)
