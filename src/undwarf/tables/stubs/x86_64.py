"""Unwind rules of x86-64's procedure linkage tables for which the linker wrote none: those of static programs (GNU ld),
and all of lld.

Stubs are jumps and pushes, so that one pass over a table's instructions gives the stack depth at each. After a jump
another stub begins, or the part of one that is entered with nothing pushed. Only the table's header, which begins by
pushing what the loader stored in the second slot of `.got.plt`, is entered with a number pushed. Source: System V ABI,
AMD64 supplement, "Procedure Linkage Table", and the output of GNU ld, gold and lld.
"""

from undwarf.elf import ElfFile
from undwarf.tables.python_rows import PairSource
from undwarf.tables.registers import RIP, RSP
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import AT_CFA, CFA_REGISTER, RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.stubs.sections import table_ranges

_PUSHES = {b"\xff\x35": 6, b"\x68": 5}
_JUMPS = {b"\xf2\xff\x25": 7, b"\xff\x25": 6, b"\xf2\xe9": 6, b"\xe9": 5, b"\xeb": 2}
_NOTHING = {
    b"\xf3\x0f\x1e\xfa": 4,
    b"\xf3\x0f\x1e\xfb": 4,
    b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00": 9,
    b"\x0f\x1f\x84\x00\x00\x00\x00\x00": 8,
    b"\x0f\x1f\x80\x00\x00\x00\x00": 7,
    b"\x66\x0f\x1f\x44\x00\x00": 6,
    b"\x0f\x1f\x44\x00\x00": 5,
    b"\x0f\x1f\x40\x00": 4,
    b"\x0f\x1f\x00": 3,
    b"\x66\x90": 2,
    b"\x90": 1,
    b"\xcc": 1,
}
"""Landing marks and padding."""


def depths(code: bytes) -> list[tuple[int, int]]:
    """(offset, bytes between the stack pointer and the call frame address) of a table, ascending; 0 bytes from where on
    instructions are not those of stubs."""
    depth = 16 if code.startswith(b"\xff\x35") else 8
    found = [(0, depth)]
    at = 0
    while at < len(code):
        for known, after in ((_JUMPS, 0), (_PUSHES, 8), (_NOTHING, -1)):
            length = next((known[head] for head in known if code.startswith(head, at)), 0)
            if length:
                at += length
                depth = depth if after < 0 else depth + after if after else 8
                break
        else:
            found.append((at, 0))
            break
        if depth != found[-1][1] and at < len(code):
            found.append((at, depth))
    return found


def stubs(elf: ElfFile, rules: RuleSet) -> PairSource | None:
    """The tables of a file, None if it has none."""
    ranges = table_ranges(elf)

    def rule_of(depth: int) -> int:
        saved = {RIP: (AT_CFA, -8, 0)}
        try:
            return rules.add((CFA_REGISTER, RSP, depth, 0), saved, column=RIP, source=RuleSource.CODE)
        except OverflowError:
            return NO_RULE

    def rows_of(start: int, end: int) -> list[tuple[int, int]]:
        code = bytes(elf.read(start, end - start) or b"")
        return [(start + at, rule_of(depth) if depth else NO_RULE) for at, depth in depths(code)]

    return PairSource(ranges, rows_of, apart=True) if ranges else None
