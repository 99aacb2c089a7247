"""Holds unwind tables against readelf's, address by address.

By hand, for large files: ``python -m tests.support.tables.cfi_compare FILE...``
"""

import sys
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from tests.support.tables.cfi_readelf import frames, plain

from undwarf.tables.model import NO_RULE, UnwindTable


@dataclass
class Outcome:
    """Rows compared, rows whose expressions readelf does not show, and the differences as text."""

    rows: int
    expressions: int
    differences: list[str]


def compare(tool: str, path: "str | Path", source: str = "eh_frame") -> Outcome:
    """Every row of readelf's against the table's, and no row of the table's beside them."""
    table = UnwindTable.from_elf(path, source)
    words: dict[int, tuple[str, dict[str, str]]] = {}

    def ours(number: int) -> tuple[str, dict[str, str]]:
        if number not in words:
            words[number] = in_readelf_words(table, number)
        return words[number]

    outcome = Outcome(0, 0, [])
    for function in frames(tool, path, source):
        if function.start >= function.end:
            continue
        number = table.function_at(function.start)
        if number is None:
            outcome.differences.append(f"{function.start:#x}: no function")
            continue
        addresses, rules = table.rows(number)
        printed = [row for row in function.rows if row[0] < function.end]
        allowed = {row[0] for row in printed}
        extra = [address for address in addresses if address not in allowed]
        if extra or table.ends[number] != function.end or table.starts[number] != function.start:
            outcome.differences.append(f"{function.start:#x}: rows at {extra[:3]}, end {table.ends[number]:#x}")
        for at, (address, cfa, registers) in enumerate(printed):
            if at + 1 < len(printed) and printed[at + 1][0] == address:
                continue
            outcome.rows += 1
            rule = rules[bisect_right(addresses, address) - 1]
            expected = plain(cfa, registers)
            found = ("none", {}) if rule == NO_RULE else ours(rule)
            if table.machine != 62:
                # Where the return address may be in a register, ``u`` stands for no rule as well.
                expected, found = without_undefined(expected), without_undefined(found)
            if "exp" in (expected[0], *expected[1].values()) or "vexp" in expected[1].values():
                outcome.expressions += 1
                if expected[0] == "exp" and found[0] not in ("expr", "plt") and not found[0].startswith("*"):
                    outcome.differences.append(f"{address:#x}: {expected} but {found}")
                continue
            if expected != found:
                outcome.differences.append(f"{address:#x}: {expected} but {found}")
    return outcome


def without_undefined(row: tuple[str, dict[str, str]]) -> tuple[str, dict[str, str]]:
    """A row without the return address where that is ``u`` or ``s``."""
    return row[0], {name: text for name, text in row[1].items() if name != "ra" or text not in ("u", "s")}


def in_readelf_words(table: UnwindTable, number: int) -> tuple[str, dict[str, str]]:
    """A rule as readelf would print it."""
    from undwarf.tables.model import describe

    rule = describe(table.rules, number, table.machine)
    registers = {}
    for name, text in rule.registers.items():
        if text == "undefined":
            continue
        registers[name] = text.replace("val(cfa", "v").rstrip(")") if text[0] == "v" else text.replace("cfa", "c")
    if rule.outermost:
        registers["ra"] = "u"
    return ("plt" if rule.cfa.startswith("plt") else rule.cfa), registers


if __name__ == "__main__":
    failed = False
    for name in sys.argv[1:]:
        result = compare("readelf", name)
        found = [f"{name}: {result.rows} rows, {result.expressions} by expression, {len(result.differences)} differ"]
        sys.stdout.write("\n    ".join(found + result.differences[:5]) + "\n")
        failed = failed or bool(result.differences)
    sys.exit(failed)
