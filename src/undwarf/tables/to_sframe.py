"""Unwind tables as SFrame sections, versions 3 and 2.

SFrame has no holes within a function, so that a function with a rule that SFrame cannot express becomes several, with a
gap between. Source: the SFrame specification, versions 2 and 3 (binutils, libsframe/doc).
"""

import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from undwarf.elf.headers import SHF_ALLOC
from undwarf.elf.writer import NewSection
from undwarf.errors import NothingUsable
from undwarf.tables.model import NO_RULE
from undwarf.tables.registers import ARCHITECTURES
from undwarf.tables.rule_kinds import (
    AT_CFA,
    AT_REGISTER,
    CFA_DEREF,
    CFA_EXPRESSION,
    CFA_PLT,
    CFA_REGISTER,
    EXPRESSION,
    FLAG_OUTERMOST,
    FLAG_SIGNAL,
    FLAG_SIGNED,
    IS_CFA,
    REGISTER,
    UNDEFINED,
)
from undwarf.tables.sframe.header import (
    ABIS,
    AMD64,
    ATTRIBUTE_SIZE,
    FDE_SIZES,
    FDE_SORTED,
    FLEXIBLE,
    FUNC_START_PCREL,
    MACHINES,
    MASK,
    PT_GNU_SFRAME,
    S390X,
    S390X_BIAS,
    SHT_GNU_SFRAME,
    SIGNAL,
    SIZE,
    Header,
    header_bytes,
)
from undwarf.tables.writers import Written

if TYPE_CHECKING:
    from undwarf.elf import ElfFile
    from undwarf.tables.model import UnwindTable

__all__ = ["VERSIONS", "write"]

VERSIONS = ("3", "2")

_MOST_ROWS = 0xFFFF
_MOST_BYTES = 0xFFFFFFFF
_TOP = 1 << 63
_BLOCK = 16


@dataclass(slots=True)
class _Words:
    """A rule as the bytes of a row after its offset, in a plain and in a flexible function, None where it cannot be
    expressed; ``plt`` is (the second row's bytes, its offset in a block) of a lazy linkage table."""

    plain: bytes | None = None
    flexible: bytes | None = None
    signal: bool = False
    signed: bool = False
    plt: tuple[bytes, int] | None = None


@dataclass(slots=True)
class _Function:
    start: int
    size: int
    info: int
    kind: int
    block: int
    count: int
    rows: bytes


def _packed(words: list[int], controls: set[int], base: int, byte_order: str) -> bytes:
    """A row's info byte and words, as narrow as possible; ``controls`` are the positions of unsigned words."""
    size = 0
    while any(
        not (0 <= word < 1 << (8 << size) if at in controls else -(1 << (8 << size) - 1) <= word < 1 << (8 << size) - 1)
        for at, word in enumerate(words)
    ):
        size += 1
    width = 1 << size
    found = bytes([base | len(words) << 1 | size << 5])
    return found + b"".join(
        word.to_bytes(width, "big" if byte_order == "big" else "little", signed=at not in controls)
        for at, word in enumerate(words)
    )


class _Encoder:
    """Rules of one table as rows of one version and ABI."""

    def __init__(self, table: "UnwindTable", abi: int, version: int, byte_order: str) -> None:
        self._rules = table.rules
        self._abi = abi
        self._version = version
        self._order = byte_order
        machine = ARCHITECTURES[MACHINES[abi]]
        self._sp, self._fp = machine.stack_pointer, machine.frame_pointer
        self._known: dict[int, _Words | str] = {}

    def __call__(self, number: int) -> "_Words | str":
        """A rule's rows, or why it has none."""
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = self._encode(number)
        return found

    def _encode(self, number: int) -> "_Words | str":
        words = self._rules.words(number)
        kind, base, offset, extra, flags, _source, count, column = words[:8]
        found = _Words(signal=bool(flags & FLAG_SIGNAL) and self._version == 3, signed=bool(flags & FLAG_SIGNED))
        if flags & FLAG_OUTERMOST:
            # A row without words is the end of the stack.
            found.plain = found.flexible = b"\x01" if self._version == 2 else b"\x00"
            return found
        entries = {words[8 + 4 * k]: tuple(words[9 + 4 * k : 12 + 4 * k]) for k in range(count)}
        below = S390X_BIAS if self._abi == S390X else 0
        indirect = (AT_REGISTER, offset, base) if kind == CFA_DEREF and not extra else None
        if self._sp in entries and entries[self._sp] not in ((IS_CFA, -below, 0), indirect):
            # In SFrame the stack pointer is always that of the call frame address.
            return "stack pointer"
        back, frame = entries.get(column, (0, 0, 0)), entries.get(self._fp, (0, 0, 0))
        if frame[0] == UNDEFINED or back[0] == UNDEFINED:
            return "undefined frame pointer"
        if frame[0] >= EXPRESSION or back[0] >= EXPRESSION or kind == CFA_EXPRESSION:
            return "expression"
        if self._abi == AMD64 and back[0] == 0:
            return "no return address"
        if kind == CFA_DEREF and extra:
            return "expression"
        if kind == CFA_PLT:
            if base != self._sp or back != (AT_CFA, -8, 0) or frame[0] or not 0 < extra < _BLOCK:
                return "expression"
            found.plain = _packed([offset], set(), 1, self._order)
            found.plt = _packed([offset + 8], set(), 1, self._order), extra
            return found
        if kind not in (CFA_REGISTER, CFA_DEREF):
            return "no call frame address"
        if self._abi == S390X:
            if (offset - S390X_BIAS) % 8:
                return "odd call frame address"
            offset = (offset - S390X_BIAS) // 8
        if kind == CFA_REGISTER and base in (self._sp, self._fp):
            found.plain = self._plain(base, offset, back, frame, bool(flags & FLAG_SIGNED))
        if self._version == 3 and base < 32:
            found.flexible = self._flexible(kind, base, offset, back, frame, bool(flags & FLAG_SIGNED))
        if found.plain is None and found.flexible is None:
            return "register" if kind == CFA_REGISTER else "indirect call frame address"
        return found

    def _plain(
        self, base: int, offset: int, back: tuple[int, ...], frame: tuple[int, ...], signed: bool
    ) -> bytes | None:
        places: list[int | None] = []
        for kind, value, _ in (back, frame):
            if kind == REGISTER and self._abi == S390X and self._version == 2:
                places.append(value << 1 | 1)
            elif kind in (0, AT_CFA):
                places.append(value if kind == AT_CFA else None)
            else:
                return None
        words = [offset]
        saved, upper = places
        if self._abi == AMD64:
            if saved != -8:
                return None
        elif saved is not None:
            words.append(saved)
        elif upper is not None:
            if self._abi != S390X:
                return None
            words.append(0)
        if upper is not None:
            words.append(upper)
        return _packed(words, set(), int(base == self._sp) | (0x80 if signed else 0), self._order)

    def _flexible(
        self, kind: int, base: int, offset: int, back: tuple[int, ...], frame: tuple[int, ...], signed: bool
    ) -> bytes | None:
        words = [base << 3 | (2 if kind == CFA_DEREF else 0) | 1, offset]
        controls = {0}
        usual = (AT_CFA, -8, 0) if self._abi == AMD64 else (0, 0, 0)
        for place, (how, value, register) in enumerate((back, frame)):
            if place == 0 and (how, value, register) == usual:
                if frame[0]:
                    controls.add(len(words))
                    words.append(0)
                continue
            if how == 0:
                continue
            controls.add(len(words))
            if how == REGISTER:
                words += [value << 3 | 1, 0]
            elif how == AT_REGISTER:
                words += [register << 3 | 3, value]
            else:
                # A control word of nothing at all would be padding.
                words += [2 if how == AT_CFA else 0, value]
                if how == IS_CFA:
                    return None
        return _packed(words, controls, 0x80 if signed else 0, self._order)


@dataclass(slots=True)
class _Section:
    """A section in the making."""

    version: int
    abi: int
    byte_order: str
    fixed_ra: int
    functions: list[_Function] = field(default_factory=list)

    @property
    def size(self) -> int:
        attributes = ATTRIBUTE_SIZE if self.version == 3 else 0
        each = FDE_SIZES[self.version] + attributes
        return SIZE + each * len(self.functions) + sum(len(one.rows) for one in self.functions)

    def bytes_at(self, address: int) -> bytes:
        """The section's bytes at an address. Raises NothingUsable where the code is too far away for the 32 bits of
        version 2."""
        mark = ">" if self.byte_order == "big" else "<"
        stride = FDE_SIZES[self.version]
        entries, rows = bytearray(), bytearray()
        for number, one in enumerate(self.functions):
            start = one.start - (address + SIZE + stride * number)
            if self.version == 3:
                # Addresses wrap around.
                start = (start + _TOP) % (2 * _TOP) - _TOP
                entries += struct.pack(mark + "qII", start, one.size, len(rows))
                rows += struct.pack(mark + "HBBB", one.count, one.info, one.kind, one.block)
            else:
                if not -(1 << 31) <= start < 1 << 31:
                    raise NothingUsable("code is too far from the section", "SFrame 2 has 32 bits", "write version 3")
                entries += struct.pack(mark + "iIIIBBH", start, one.size, len(rows), one.count, one.info, one.block, 0)
            rows += one.rows
        header = Header(
            self.version,
            FDE_SORTED | FUNC_START_PCREL,
            self.abi,
            0,
            self.fixed_ra,
            len(self.functions),
            sum(one.count for one in self.functions),
            len(rows),
            SIZE,
            SIZE + len(entries),
            self.byte_order == "big",
        )
        return header_bytes(header) + bytes(entries) + bytes(rows)


def write(table: "UnwindTable", elf: "ElfFile", version: str) -> Written:
    """The section `.sframe` of a whole table; nothing for a machine that SFrame does not support."""
    abi = ABIS.get((elf.machine, elf.byte_order))
    if abi is None:
        return Written([])
    section = _Section(int(version), abi, elf.byte_order, -8 if abi == AMD64 else 0)
    encoder = _Encoder(table, abi, section.version, elf.byte_order)
    left_out: Counter[str] = Counter()
    functions = table.functions
    ends = functions.ends
    for function in range(len(functions.starts)):
        addresses, rules = functions.passing_rows(function)
        _add(section, encoder, addresses, rules, ends[function], left_out)
    rows = sum(one.count for one in section.functions)
    new = NewSection(
        ".sframe",
        SHT_GNU_SFRAME,
        SHF_ALLOC,
        8,
        section.size,
        lambda found: section.bytes_at(found[".sframe"]),
        PT_GNU_SFRAME,
    )
    return Written([new] if section.functions else [], len(section.functions), rows, dict(left_out))


def _add(
    section: _Section, encoder: _Encoder, addresses: memoryview, rules: memoryview, end: int, left_out: Counter[str]
) -> None:
    """One function's rows: functions between its holes."""
    begin = 0
    signal = False
    held: list[tuple[int, _Words]] = []

    def flush(stop: int) -> None:
        if held and stop - begin > _MOST_BYTES:
            left_out["too much code"] += len(held)
        elif held:
            _put(section, begin, stop, held, signal)
        held.clear()

    for i, (address, number) in enumerate(zip(addresses, rules, strict=True)):
        found = encoder(number) if number != NO_RULE else "hole"
        if isinstance(found, str):
            flush(address)
            if number != NO_RULE:
                left_out[found] += 1
            continue
        if found.plt is not None:
            flush(address)
            stop = addresses[i + 1] if i + 1 < len(addresses) else end
            if address % _BLOCK or found.plain is None or stop - address > _MOST_BYTES:
                left_out["expression"] += 1
                continue
            rows = bytes(1) + found.plain + bytes([found.plt[1]]) + found.plt[0]
            section.functions.append(_Function(address, stop - address, MASK, 0, _BLOCK, 2, rows))
            continue
        if held and (found.signal != signal or len(held) >= _MOST_ROWS):
            flush(address)
        if not held:
            begin, signal = address, found.signal
        held.append((address, found))
    flush(end)


def _put(section: _Section, begin: int, end: int, held: list[tuple[int, _Words]], signal: bool) -> None:
    """A function without holes; rows that do not differ in what SFrame states become one.

    Where plain rows cannot state all, all are flexible ones, which can state whatever a plain one can.
    """
    flexible = any(one.plain is None for _, one in held)
    last = held[-1][0] - begin
    width, kind = (1, 0) if last < 1 << 8 else (2, 1) if last < 1 << 16 else (4, 2)
    order = "big" if section.byte_order == "big" else "little"
    rows = bytearray()
    before = b""
    count = 0
    for address, one in held:
        code = one.flexible if flexible else one.plain
        assert code is not None
        if code != before:
            rows += (address - begin).to_bytes(width, "big" if order == "big" else "little") + code
            before = code
            count += 1
    info = kind | (SIGNAL if signal else 0)
    section.functions.append(_Function(begin, end - begin, info, FLEXIBLE if flexible else 0, 0, count, bytes(rows)))
