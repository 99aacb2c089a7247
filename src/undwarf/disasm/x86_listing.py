# cython: language_level=3, annotation_typing=False
"""Listings of x86-64 code, of templates that are made once for all instructions with the same parts."""

from iced_x86 import Decoder, Mnemonic, OpKind
from iced_x86 import Instruction as Native

from undwarf.disasm.listing import Listing
from undwarf.disasm.model import Instruction
from undwarf.disasm.template_words import (
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
from undwarf.disasm.x86_forms import FIELDS, OWN, Forms
from undwarf.disasm.x86_opcodes import RELATIVE, SHIFT_COUNT, SIGNED_NUMBER, UNSIGNED_BYTE
from undwarf.disasm.x86_operands import NUMBER, WIDTH, XMM0
from undwarf.disasm.x86_structure import Structure

__all__ = ["Lister"]

_HINTS = frozenset((Mnemonic.NOP, Mnemonic.RESERVEDNOP))
_REGISTER, _MEMORY = OpKind.REGISTER, OpKind.MEMORY
_MOST_TEMPLATES = 200_000
"""Templates that are kept; a program has some thousands."""
_NO_RULES: dict[int, int] = {}
_DISPLACEMENTS = {size: (value, value.to_bytes(size, "little")) for size, value in ((1, 0x55), (4, 0x51234566))}
"""By size, a number as a displacement that can be told from others, and its bytes."""


def _rules(kind: int, size: int) -> tuple[bytes, dict[int, int]]:
    """The same for an immediate: its bytes, and what has become of it where an instruction has one of these."""
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
_REG, _VVVV, _RM, _BASE, _INDEX = FIELDS
_OWN_FIELDS = {
    first + register: field
    for first in (0, XMM0)
    for register, field in zip(OWN, FIELDS, strict=True)
    if not first or field != _BASE
}
"""Which field of a form a register stands for."""
_OWN_BASE = OWN[3]


class Lister:
    """Makes listings; describes an instruction once for all that have the same parts."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        """Forget all templates."""
        self._table = Templates()
        self._code = b""
        self._address = 0
        self._forms = Forms(self._table, self._exact, self._general)
        self._structure = Structure(self._table, self._forms.template, self._ask)

    def __call__(self, code: bytes, address: int) -> Listing:
        if self._table.count > _MOST_TEMPLATES:
            self._start()
        self._code, self._address = code, address
        columns = self._structure.split(code, address)
        self._code = b""

        decoder = Decoder(64, code, ip=address)

        def native(made: Instruction) -> Native | None:
            decoder.position = made.address - address
            decoder.ip = made.address
            found = decoder.decode()
            return None if found.is_invalid else found

        return Listing(address, self._table, columns, native, text)

    def _exact(self, code: bytes, parts: int) -> int:
        """The template of instructions with these parts; -1 where each is something else."""
        found = _patched(code, parts)
        return -1 if found is None else self._added(*found)

    def _added(self, native: Native, displacement: int | None, rules: dict[int, int]) -> int:
        made = Instruction(0, native.len)
        describe(made, native)
        return self._table.add(made, displacement, rules.get(made.immediate, FIXED))

    def _general(self, code: bytes, parts: int, fields: int) -> tuple[int, int, int] | None:
        """The template of a form, if all its fields name registers, and each just one."""
        found = _patched(code, parts)
        if found is None:
            return None
        native = found[0]
        if native.mnemonic in _HINTS:
            # With other registers, hints among which some do something.
            return None
        vectors = narrow = 0
        left = fields
        for k in range(native.op_count):
            kind = native.op_kind(k)
            if kind == _REGISTER:
                register = native.op_register(k)
                number = NUMBER[register]
                field = _OWN_FIELDS.get(number, 0)
                if not field & left & (_REG | _VVVV | _RM):
                    if field & fields:
                        return None
                    continue
                left &= ~field
                if number >= XMM0:
                    vectors |= field
                elif WIDTH[register] == 1:
                    narrow |= field
            elif kind == _MEMORY and fields & (_BASE | _INDEX):
                if fields & _BASE and NUMBER[native.memory_base] == _OWN_BASE:
                    left &= ~_BASE
                number = NUMBER[native.memory_index]
                if fields & _INDEX and _OWN_FIELDS.get(number) == _INDEX:
                    left &= ~_INDEX
                    if number >= XMM0:
                        vectors |= _INDEX
        if left:
            return None
        return self._added(*found), vectors, narrow

    def _ask(self, at: int) -> tuple[int, int, int, int, int | None]:
        """One instruction by itself."""
        made = decode(self._code[at : at + 15], self._address + at, 1)[0]
        return made.size, self._table.add(made), 0, 0, made.target


def _patched(code: bytes, parts: int) -> tuple[Native, int | None, dict[int, int]] | None:
    """An instruction with numbers that can be told from others in place of its own, ``parts`` as in :class:`Structure`:
    (what the decoder makes of it, its displacement, the rule for an immediate by what has become of it)."""
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
