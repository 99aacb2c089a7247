# cython: language_level=3, annotation_typing=False
"""Listings of x86-64 code, with templates that all instructions with the same encoding share."""

from iced_x86 import Decoder, Mnemonic, OpKind
from iced_x86 import Instruction as Native

from undwarf.disasm.instruction import Instruction
from undwarf.disasm.listing import Listing
from undwarf.disasm.template_layout import (
    FIXED,
    NEGATED,
    NEGATED_UNSIGNED,
    NEGATED_UNSIGNED_SHORT,
    SIGNED,
    UNSIGNED,
    UNSIGNED_SHORT,
)
from undwarf.disasm.templates import Templates
from undwarf.disasm.x86_decoding import decode, describe, text
from undwarf.disasm.x86_encoding import (
    FIELD_BASE,
    FIELD_INDEX,
    FIELD_REG,
    FIELD_RM,
    FIELD_VVVV,
    MAX_LENGTH,
    OWN_BASE,
    OWN_INDEX,
    OWN_REG,
    OWN_RM,
    OWN_VVVV,
    RELATIVE,
    SHIFT_COUNT,
    SIGNED_NUMBER,
    UNSIGNED_BYTE,
)
from undwarf.disasm.x86_forms import Forms
from undwarf.disasm.x86_length_decoder import LengthDecoder
from undwarf.disasm.x86_operands import NUMBER, WIDTH, XMM0

__all__ = ["Lister"]

_HINTS = frozenset((Mnemonic.NOP, Mnemonic.RESERVEDNOP))
_REGISTER, _MEMORY = OpKind.REGISTER, OpKind.MEMORY
_MOST_TEMPLATES = 200_000
"""Templates after which the table is dropped; a program has a few thousand."""
_NO_RULES: dict[int, int] = {}
_DISPLACEMENTS = {size: (value, value.to_bytes(size, "little")) for size, value in ((1, 0x55), (4, 0x51234566))}
"""Size -> a displacement that is recognised in a decoded instruction, and its bytes."""


def _rules(kind: int, size: int) -> tuple[bytes, dict[int, int]]:
    """The same for an immediate: its bytes, and the rule for each value that the decoder may give for it."""
    raw = bytes.fromhex("2143658778563492")[8 - size :]
    plain, signed = int.from_bytes(raw, "little"), int.from_bytes(raw, "little", signed=True)
    if kind == UNSIGNED_BYTE:
        return raw, {plain: SIGNED, -plain: NEGATED}
    if kind == SHIFT_COUNT:
        return b"\x12", {0x12: SIGNED}
    rules = {} if size == 1 else {plain: UNSIGNED, -plain: NEGATED_UNSIGNED}
    if size == 2:
        rules = {plain: UNSIGNED_SHORT, -plain: NEGATED_UNSIGNED_SHORT}
    return raw, rules | {signed: SIGNED, -signed: NEGATED}


_NUMBERS = {(SIGNED_NUMBER, size): _rules(SIGNED_NUMBER, size) for size in (1, 2, 4, 8)}
_NUMBERS |= {(kind, 1): _rules(kind, 1) for kind in (UNSIGNED_BYTE, SHIFT_COUNT)}
_OWN_FIELDS = {
    OWN_REG: FIELD_REG,
    OWN_VVVV: FIELD_VVVV,
    OWN_RM: FIELD_RM,
    OWN_INDEX: FIELD_INDEX,
}
_OWN_FIELDS |= {XMM0 + register: field for register, field in _OWN_FIELDS.items()} | {OWN_BASE: FIELD_BASE}
"""The field of a form that a register is in."""


class Lister:
    """Creates listings of x86-64 code."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        """Start with no templates."""
        self._table = Templates()
        self._code = b""
        self._address = 0
        self._forms = Forms(self._table, self._exact, self._general)
        self._length_decoder = LengthDecoder(self._table, self._forms.template, self._decode_one)

    def __call__(self, code: bytes, address: int) -> Listing:
        if self._table.count > _MOST_TEMPLATES:
            self._reset()
        self._code, self._address = code, address
        columns = self._length_decoder.split(code, address)
        self._code = b""

        decoder = Decoder(64, code, ip=address)

        def native(made: Instruction) -> Native | None:
            decoder.position = made.address - address
            decoder.ip = made.address
            found = decoder.decode()
            return None if found.is_invalid else found

        return Listing(address, self._table, columns, native, text)

    def _exact(self, code: bytes, parts: int) -> int:
        """The index of a template of this instruction; -1 if its displacement or immediate cannot be replaced."""
        found = _patched(code, parts)
        return -1 if found is None else self._added(*found)

    def _added(self, native: Native, displacement: int | None, rules: dict[int, int]) -> int:
        made = Instruction(0, native.len)
        describe(made, native)
        return self._table.add(made, displacement, rules.get(made.immediate, FIXED))

    def _general(self, code: bytes, parts: int, fields: int) -> tuple[int, int, int] | None:
        """The template of a form, if each of its fields encodes one register operand."""
        found = _patched(code, parts)
        if found is None:
            return None
        native = found[0]
        if native.mnemonic in _HINTS:
            # With other registers it may be another hint, some of which have an effect.
            return None
        vectors = narrow = 0
        left = fields
        for k in range(native.op_count):
            kind = native.op_kind(k)
            if kind == _REGISTER:
                register = native.op_register(k)
                number = NUMBER[register]
                field = _OWN_FIELDS.get(number, 0)
                if not field & left & (FIELD_REG | FIELD_VVVV | FIELD_RM):
                    if field & fields:
                        return None
                    continue
                left &= ~field
                if number >= XMM0:
                    vectors |= field
                elif WIDTH[register] == 1:
                    narrow |= field
            elif kind == _MEMORY and fields & (FIELD_BASE | FIELD_INDEX):
                if fields & FIELD_BASE and NUMBER[native.memory_base] == OWN_BASE:
                    left &= ~FIELD_BASE
                number = NUMBER[native.memory_index]
                if fields & FIELD_INDEX and _OWN_FIELDS.get(number) == FIELD_INDEX:
                    left &= ~FIELD_INDEX
                    if number >= XMM0:
                        vectors |= FIELD_INDEX
        if left:
            return None
        return self._added(*found), vectors, narrow

    def _decode_one(self, at: int) -> tuple[int, int, int, int, int | None]:
        """(length, template, displacement, immediate, target) of an instruction that has its own template."""
        made = decode(self._code[at : at + MAX_LENGTH], self._address + at, 1)[0]
        return made.size, self._table.add(made), 0, 0, made.target


def _patched(code: bytes, parts: int) -> tuple[Native, int | None, dict[int, int]] | None:
    """An instruction decoded with recognisable values in place of its displacement and immediate: (native instruction,
    the displacement, rules by value of the immediate). ``parts`` as in :class:`LengthDecoder`."""
    displacement = None
    rules: dict[int, int] = _NO_RULES
    size = parts >> 4 & 15
    if size:
        displacement, raw = _DISPLACEMENTS[size]
        at = parts & 15
        code = code[:at] + raw + code[at + size :]
        if parts & RELATIVE:
            displacement += len(code)
    kind = parts >> 16 & 3
    if kind:
        raw, rules = _NUMBERS[kind, parts >> 12 & 15]
        at = parts >> 8 & 15
        code = code[:at] + raw + code[at + len(raw) :]
    native = Decoder(64, code, ip=0).decode()
    return None if native.is_invalid or native.len != len(code) else (native, displacement, rules)
