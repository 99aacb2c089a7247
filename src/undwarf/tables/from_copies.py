"""Unwind rules of code that a runtime copies into anonymous memory, from the template in its file.

CPython since 3.12 has a function of a dozen bytes between two symbols of its own. With ``-X perf`` and ``-X perf_jit``
each Python function gets a copy, through which the interpreter is called, so that the copy's address identifies the
function. :mod:`undwarf.tables.code` computes the rules of the template, which no section describes. Source:
Python/asm_trampoline.S, Python/perf_trampoline.c.

A rule applies only if the return address follows a call: that this address is in a copy is known from a map that may be
of another program.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from struct import iter_unpack

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_X86_64
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.model import Functions, UnwindTable
from undwarf.tables.python_rows import columns, cut, range_columns
from undwarf.tables.registers import RIP
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import FLAG_UNPROVEN, RuleSource
from undwarf.tables.rule_set import RuleSet

__all__ = ["CopySource", "table_in_memory", "table_of_copies", "template_of"]

_BEGIN, _END = b"_Py_trampoline_func_start", b"_Py_trampoline_func_end"
_TABLES = ((".dynsym", ".dynstr"), (".symtab", ".strtab"))

_TOO_MANY = "too many copies of code"

PAGE = 4096
READ_BYTES = 16 * PAGE
"""Bytes of memory that are searched for copies at once: what CPython maps for them."""

Read = Callable[[int, int], bytes]
"""Reads the memory of a process from an address to an end, as far as possible."""


def template_of(elf: ElfFile, limits: Limits = DEFAULT) -> bytes | None:
    """The code that a file's program copies; None if there is none, or for a machine whose copies have frame pointers
    anyway (AArch64)."""
    if elf.machine != EM_X86_64 or not elf.is_64 or elf.byte_order != "little":
        return None
    for symbols, strings in _TABLES:
        places = _values(elf, symbols, strings, (_BEGIN, _END))
        if len(places) == 2 and 0 < places[_END] - places[_BEGIN] <= limits.template_bytes:
            code = elf.read(places[_BEGIN], places[_END] - places[_BEGIN])
            return bytes(code) if code is not None else None
    return None


def _values(elf: ElfFile, symbols: str, strings: str, wanted: Iterable[bytes]) -> dict[bytes, int]:
    """The values of wanted symbols that a table defines."""
    names = elf.section_data(strings)
    if names is None:
        return {}
    text = bytes(names)
    at = {place: name for name in wanted if (place := text.find(name + b"\0")) >= 0}
    table = elf.section_data(symbols) if at else None
    if table is None:
        return {}
    entries = iter_unpack("<IBBHQQ", table[: len(table) // 24 * 24])
    return {at[name]: value for name, _info, _other, section, value, _size in entries if name in at and section}


class CopySource:
    """Copies of one template: ``starts`` are their addresses, ascending; those that overlap an earlier one are left
    out."""

    indexed = False

    def __init__(self, size: int, starts: Iterable[int], rows: list[tuple[int, int]]) -> None:
        taken: list[int] = []
        for start in starts:
            if (not taken or start >= taken[-1] + size) and start + size <= 1 << 64:
                taken.append(start)
        self.starts, self.ends = range_columns([(start, start + size) for start in taken])
        self._rows = rows

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of one copy."""
        first = self.starts[piece]
        return columns(cut([(first + at, rule) for at, rule in self._rows], start, end))

    def compile_all(self) -> int:
        """The number of rows."""
        return len(self.starts) * len(self._rows)


def template_rows(template: bytes, rules: RuleSet, limits: Limits = DEFAULT) -> list[tuple[int, int]]:
    """(offset, rule number) of a template's instructions; NO_RULE where the rule is unknown."""
    # Imported here: few programs need it, and the decoder takes a tenth of all loading.
    from undwarf.tables.code.snippet import rules_of

    found = []
    for at, rule in rules_of(template, limits):
        number = NO_RULE
        if rule is not None:
            cfa, registers = rule
            words = {register: (kind, value, base) for register, kind, value, base in registers}
            with suppress(OverflowError):
                number = rules.add(cfa, words, column=RIP, source=RuleSource.CODE, flags=FLAG_UNPROVEN)
        found.append((at, number))
    return found


def table_of_copies(
    template: bytes,
    starts: Sequence[int],
    rules: RuleSet,
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
    subject: str = "",
) -> UnwindTable:
    """The table of copies at known addresses (``starts``, ascending). The first ``limits.copies`` are taken; that there
    are more is counted in ``defects``, with ``subject``."""
    if len(starts) > limits.copies and defects is not None:
        defects.add(_TOO_MANY, subject, detail=f"limit {limits.copies}")
    source = CopySource(len(template), starts[: limits.copies], template_rows(template, rules, limits))
    return UnwindTable(rules, [lambda: source], EM_X86_64)


def table_in_memory(
    template: bytes, read: Read, rules: RuleSet, limits: Limits, defects: Defects, subject: str = ""
) -> UnwindTable:
    """The table of copies in the memory of a running process, which is searched around each address that is in none so
    far. At most ``limits.copies`` are known; that there are more is counted in ``defects``."""
    rows: list[tuple[int, int]] = []
    size = len(template)

    def search(address: int, known: Functions) -> CopySource | None:
        found = _copies_around(address, template, read)
        if not any(start <= address < start + size for start in found):
            return None
        if len(known.starts) + len(found) > limits.copies:
            defects.add(_TOO_MANY, subject, detail=f"limit {limits.copies}")
            return None
        if not rows:
            rows.extend(template_rows(template, rules, limits))
        # Known copies stay: threads may be inside.
        new = [one for one in found if known.at(one) is None and known.at(one + size - 1) is None]
        return CopySource(size, sorted({*known.starts, *new}), rows)

    return UnwindTable(rules, [], EM_X86_64, search=search)


def _copies_around(address: int, template: bytes, read: Read) -> list[int]:
    """Where copies begin in what is mapped around an address: in its block, else from its page on."""
    page = address // PAGE * PAGE
    for start in (address // READ_BYTES * READ_BYTES - PAGE, page - PAGE, page):
        memory = read(start, start + READ_BYTES + 2 * PAGE) if start >= 0 else b""
        found = []
        at = memory.find(template)
        while at >= 0:
            found.append(start + at)
            at = memory.find(template, at + len(template))
        if len(memory) > address - start:
            return found
    return []
