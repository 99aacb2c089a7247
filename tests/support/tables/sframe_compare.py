"""Holds rules from SFrame sections against what readelf prints of them.

By hand: ``python -m tests.support.tables.sframe_compare READELF FILE...``
"""

import re
import sys
from pathlib import Path

from tests.support.tables.cfi_compare import Outcome
from tests.support.tables.cfi_readelf import sframe_rows

from undwarf.elf import ElfFile
from undwarf.tables.model import Rule, UnwindTable
from undwarf.tables.registers import ARCHITECTURES

_MACHINES = {
    machine: (one.names, one.names[one.stack_pointer], one.names[one.frame_pointer])
    for machine, one in ARCHITECTURES.items()
}
_PLACE = re.compile(r"(\(?)([a-z]+\d*)([+-]\d+)\)?(?:\[s\])?")
_PLT = re.compile(r"plt\((\w+)\+(\d+), (\d+)\)")


def _in_our_words(text: str, machine: int, *, is_cfa: bool) -> str:
    """``c-16``, ``sp+8``, ``(fp-8)`` or ``r10+0`` as in rules."""
    names, stack_pointer, frame_pointer = _MACHINES[machine]
    found = _PLACE.fullmatch(text)
    if found is None:
        return text
    indirect, base, offset = found.groups()
    name = {"c": "cfa", "sp": stack_pointer, "fp": frame_pointer}.get(base) or names[int(base[1:])]
    if name == "cfa":
        return f"cfa{offset}"
    if indirect:
        return f"*({name}{offset})"
    if is_cfa:
        return f"{name}{offset}"
    # A register plus an offset takes an expression.
    return "expr" if int(offset) else name


def differs(rule: Rule, machine: int, pc: int, row: tuple[str, str, str]) -> bool:
    """Whether a rule differs from a row: (call frame address, frame pointer, return address)."""
    if row[0] == "undefined":
        return not rule.outermost
    cfa, frame_pointer, back = row
    ours = rule.cfa
    lazy = _PLT.fullmatch(ours)
    if lazy:
        ours = f"{lazy[1]}+{int(lazy[2]) + (8 if pc & 15 >= int(lazy[3]) else 0)}"
    usual = "cfa-8" if machine == 62 else "same"
    wanted = usual if back.removesuffix("[s]") in ("u", "f", "U") else _in_our_words(back, machine, is_cfa=False)
    upper = "same" if frame_pointer == "u" else _in_our_words(frame_pointer, machine, is_cfa=False)
    return (
        ours != _in_our_words(cfa, machine, is_cfa=True)
        or rule.return_address != wanted
        or rule.registers.get(_MACHINES[machine][2], "same") != upper
        or rule.signed != back.endswith("[s]")
    )


def compare(tool: str, path: "str | Path") -> Outcome:
    """Every row of readelf's against the table's. `.plt.got`, for which the linker states too much, is left out: rows
    counted as expressions."""
    elf = ElfFile.open(path)
    table = UnwindTable.from_elf(elf, "sframe")
    outcome = Outcome(0, 0, [])
    for function in sframe_rows(tool, path):
        for pc, *row in function.rows:
            outcome.rows += 1
            if function.masked and row[0] == "sp+16" and pc == function.start:
                outcome.expressions += 1
                continue
            rule = table.rule_at(pc)
            if rule is None or differs(rule, elf.machine, pc, (row[0], row[1], row[2])):
                outcome.differences.append(f"{pc:#x}: {row} but {rule}")
    return outcome


if __name__ == "__main__":
    failed = False
    for name in sys.argv[2:]:
        result = compare(sys.argv[1], name)
        text = f"{name}: {result.rows} rows, {result.expressions} of .plt.got, {len(result.differences)} differ"
        sys.stdout.write("\n    ".join([text, *result.differences[:5]]) + "\n")
        failed = failed or bool(result.differences)
    sys.exit(failed)
