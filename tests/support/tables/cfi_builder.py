"""Builds call frame sections from parts, and compiles them, so that a test shows only its subject."""

from collections.abc import Iterable, Sequence

from undwarf.limits import DEFAULT, Limits
from undwarf.tables.cfi.entries import Entries
from undwarf.tables.cfi.program import Programs
from undwarf.tables.model import NO_RULE, Rule, describe
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_set import RuleSet

CODE = 0x400000
CODE_END = 0x500000
PC_RELATIVE_4 = 0x1B

# DW_CFA_def_cfa rsp, 8; DW_CFA_offset ra, 1: the initial rules of every x86-64 CIE.
USUAL = bytes((0x0C, 7, 8, 0x90, 1))


def uleb(value: int) -> bytes:
    """An unsigned LEB128 number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def sleb(value: int) -> bytes:
    """A signed LEB128 number."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value & 0x7F))


def block(code: bytes) -> bytes:
    """A DWARF expression with its length before it."""
    return uleb(len(code)) + code


class Section:
    """A section that grows by entries, at ``address``."""

    def __init__(self, *, debug: bool = False, address: int = 0x600000, word: int = 8) -> None:
        self.data = bytearray()
        self.debug = debug
        self.address = 0 if debug else address
        self.word = word
        self._encodings: dict[int, tuple[int, bool]] = {}

    def add(self, body: bytes, *, wide: bool = False, length: int | None = None, pad: bool = True) -> int:
        """An entry with this body after its length; gives its offset."""
        offset = len(self.data)
        if pad:
            body += bytes(-len(body) % 4)
        size = len(body) if length is None else length
        self.data += (b"\xff\xff\xff\xff" + size.to_bytes(8, "little") if wide else size.to_bytes(4, "little")) + body
        return offset

    def cie(
        self,
        program: bytes = USUAL,
        *,
        augmentation: bytes = b"zR",
        encoding: int = PC_RELATIVE_4,
        extra: bytes | None = None,
        version: int = 1,
        code_align: int = 1,
        data_align: int = -8,
        column: int = 16,
        wide: bool = False,
        id_size: int = 4,
        address_size: int | None = None,
    ) -> int:
        """A common information entry; ``extra`` is its augmentation data if that is not just the encoding."""
        mark = b"\xff" * (8 if wide else 4) if self.debug else bytes(id_size)
        body = mark + bytes((version,)) + augmentation + b"\0"
        if version == 4:
            body += bytes((self.word if address_size is None else address_size, 0))
        body += uleb(code_align) + sleb(data_align) + (bytes((column,)) if version == 1 else uleb(column))
        if augmentation.startswith(b"z"):
            body += block(bytes((encoding,)) if extra is None else extra)
        else:
            encoding = 0
        offset = self.add(body + program, wide=wide)
        self._encodings[offset] = encoding, augmentation.startswith(b"z")
        return offset

    def fde(
        self,
        cie: int,
        start: int,
        size: int,
        program: bytes = b"",
        *,
        wide: bool = False,
        id_size: int = 4,
        length: int | None = None,
        data: bytes = b"",
        pad: bool = True,
    ) -> int:
        """A function's entry; ``data`` is its augmentation data."""
        encoding, augmented = self._encodings.get(cie, (0, False))
        offset = len(self.data)
        id_at = offset + (12 if wide else 4)
        mark = cie.to_bytes(8 if wide else 4, "little") if self.debug else (id_at - cie).to_bytes(id_size, "little")
        body = mark + self.encoded(start, encoding, self.address + id_at + len(mark))
        body += self.encoded(size, encoding & 15)
        if augmented:
            body += block(data)
        return self.add(body + program, wide=wide, length=length, pad=pad)

    def encoded(self, value: int, encoding: int, field: int = 0) -> bytes:
        """A pointer as it stands at the address ``field``."""
        if encoding & 0x70 == 0x10:
            value -= field
        if encoding & 0x70 == 0x50:
            return bytes(-field % self.word) + value.to_bytes(self.word, "little")
        form = encoding & 15
        if form in (1, 9):
            return uleb(value) if form == 1 else sleb(value)
        size = {0: self.word, 8: self.word, 2: 2, 10: 2, 3: 4, 11: 4, 4: 8, 12: 8}[form]
        return (value % (1 << 8 * size)).to_bytes(size, "little")

    def entries(
        self,
        *,
        code: Iterable[tuple[int, int]] = ((CODE, CODE_END),),
        max_entries: int = DEFAULT.fdes,
        past_zero: bool = True,
    ) -> Entries:
        """What a scan finds."""
        found = Entries(
            memoryview(bytes(self.data)),
            self.address,
            debug=self.debug,
            word=self.word,
            code=code,
            max_entries=max_entries,
        )
        found.scan(past_zero)
        found.arrange()
        return found


def ranges(entries: Entries) -> list[tuple[int, int]]:
    """The functions, as offsets into the code."""
    return [(start - CODE, end - CODE) for start, end in zip(entries.starts, entries.ends, strict=True)]


class Compiled:
    """The rows of a section's functions, in words."""

    def __init__(
        self,
        section: Section,
        *,
        limits: Limits = DEFAULT,
        rules: RuleSet | None = None,
        machine: int = 62,
    ) -> None:
        self.entries = section.entries()
        self.rules = rules if rules is not None else RuleSet(limits)
        self.machine = machine
        programs = Programs(
            self.entries,
            self.rules,
            source=2 if section.debug else 1,
            registers=34 if machine == 183 else 17,
            signing=machine == 183,
            limits=limits,
        )
        self.table = RowTable(programs, self.rules.lock, self.entries.total)

    def numbers(self, piece: int = 0) -> list[tuple[int, int]]:
        """(offset into the code, rule number) of one function's rows."""
        entries = self.entries
        addresses, rules = self.table.rows(entries.entry[piece], entries.starts[piece], entries.ends[piece])
        return [(address - CODE, rule) for address, rule in zip(addresses, rules, strict=True)]

    def rows(self, piece: int = 0) -> list[tuple[int, Rule | None]]:
        """(offset into the code, rule) of one function's rows; None for a hole."""
        return [
            (offset, None if rule == NO_RULE else describe(self.rules, rule, self.machine))
            for offset, rule in self.numbers(piece)
        ]


def compiled(program: bytes, *, size: int = 0x100, initial: bytes = USUAL, limits: Limits = DEFAULT) -> Compiled:
    """One function with this program."""
    section = Section()
    section.fde(section.cie(initial), CODE, size, program)
    return Compiled(section, limits=limits)


def rules_of(rows: Sequence[tuple[int, Rule | None]]) -> list[tuple[int, str, dict[str, str]]]:
    """Rows as (offset, call frame address, registers but for the usual return address); a hole has no registers."""
    out: list[tuple[int, str, dict[str, str]]] = []
    for offset, rule in rows:
        if rule is None:
            out.append((offset, "hole", {}))
        else:
            kept = {name: text for name, text in rule.registers.items() if (name, text) != ("ra", "cfa-8")}
            out.append((offset, rule.cfa, kept))
    return out
