"""DWARF expressions in call frame rules: the usual shapes become plain rules, others are stored.

Sources: DWARF 5, 2.5 and 6.4.2; the shapes are those of gcc, binutils' linkers, glibc and OpenSSL's assembly.
"""

from undwarf.column import zeros
from undwarf.dwarf.operations import AND, BREG0, DEREF, GE, LIT0, LIT31, PLUS, PLUS_UCONST, SHL
from undwarf.tables.cfi.pointers import Malformed, read_leb
from undwarf.tables.registers import RIP, RSP
from undwarf.tables.rule_kinds import CFA_DEREF, CFA_PLT, CFA_REGISTER

MOST = 1 << 16
MOST_BYTES = 1 << 24

# rip & 15 >= threshold, times 8, added; the threshold stands between the two.
_PLT_HEAD = bytes((BREG0 + RIP, 0, LIT0 + 15, AND))
_PLT_TAIL = bytes((GE, LIT0 + 3, SHL, PLUS))

_WORD = range(-(1 << 31), 1 << 31)


class Expressions:
    """The expressions of a rule set, numbered: ``data`` (B) has their bytes, ``offsets`` (I) where each starts and
    where the last one ends. Both are replaced as they grow."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.count = 0
        self._data = zeros("B", 256)
        self._offsets = zeros("I", 16)
        self.data: memoryview = self._data
        self.offsets: memoryview = self._offsets[:1]

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: int) -> bytes:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return bytes(self.data[self.offsets[number] : self.offsets[number + 1]])

    def add(self, code: bytes) -> int:
        """The number of an expression; -1 when there are too many."""
        known = self._numbers.get(code)
        if known is not None:
            return known
        number = len(self._numbers)
        used = self._offsets[number]
        need = used + len(code)
        if number >= MOST or need > MOST_BYTES:
            return -1
        if need > len(self._data):
            longer = zeros("B", 2 * need)
            longer[:used] = self._data[:used]
            self.data = self._data = longer
        if number + 2 > len(self._offsets):
            wider = zeros("I", 2 * number + 2)
            wider[: number + 1] = self._offsets[: number + 1]
            self._offsets = wider
        self._data[used:need] = code
        self._offsets[number + 1] = need
        self._numbers[code] = number
        self.count = number + 1
        self.offsets = self._offsets[: number + 2]
        return number


def _breg(code: memoryview, registers: int) -> tuple[int, int, int] | None:
    """(register, offset, where the rest begins) of an expression that starts with ``DW_OP_breg``."""
    if not code or not BREG0 <= code[0] < BREG0 + min(registers, 32):
        return None
    try:
        offset, at = read_leb(code, 1, len(code), signed=True)
    except Malformed:
        return None
    return (code[0] - BREG0, offset, at) if offset in _WORD else None


def plain_cfa(code: bytes, registers: int, *, lazy_plt: bool) -> tuple[int, int, int, int] | None:
    """A call frame address by expression as (kind, register, offset, extra) of a plain rule; None if there is none.

    ``registers`` is how many DWARF registers rules name; ``lazy_plt``: x86-64's lazy linkage tables are a shape too.
    """
    view = memoryview(code)
    found = _breg(view, registers)
    if found is None:
        return None
    register, offset, at = found
    rest = code[at:]
    if not rest:
        return CFA_REGISTER, register, offset, 0
    if rest[0] == DEREF:
        if len(rest) == 1:
            return CFA_DEREF, register, offset, 0
        if len(rest) == 3 and LIT0 <= rest[1] <= LIT31 and rest[2] == PLUS:
            return CFA_DEREF, register, offset, rest[1] - LIT0
        if rest[1] == PLUS_UCONST:
            try:
                extra, end = read_leb(view, at + 2, len(code))
            except Malformed:
                return None
            if end == len(code) and extra in _WORD:
                return CFA_DEREF, register, offset, extra
        return None
    is_plt = len(rest) == 9 and rest.startswith(_PLT_HEAD) and rest.endswith(_PLT_TAIL)
    if lazy_plt and is_plt and register == RSP and LIT0 <= rest[4] <= LIT31:
        # 8 more once the stub has pushed its index.
        return CFA_PLT, register, offset, rest[4] - LIT0
    return None


def plain_address(code: bytes, registers: int) -> tuple[int, int] | None:
    """An address by expression as (register, offset); None for any other expression."""
    found = _breg(memoryview(code), registers)
    return found[:2] if found is not None and found[2] == len(code) else None
