"""Unwind rules of just-in-time compiled code, from the `.eh_frame` of each function in a jitdump file."""

from array import array

from undwarf.defects import Defects
from undwarf.images.jitdump import JitDump
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.cfi.entries import Entries
from undwarf.tables.cfi.program import Programs
from undwarf.tables.model import NO_RULE, UnwindTable
from undwarf.tables.python_rows import range_columns
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_kinds import RuleSource
from undwarf.tables.rule_set import RuleSet

Rows = tuple["memoryview[int]", "memoryview[int]"]


class JitSource:
    """The functions of a dump that have unwind information; addresses are offsets in the file.

    Each function's entries are read when it is first looked up: a dump has tens of thousands.
    """

    indexed = False

    def __init__(self, dump: JitDump, rules: RuleSet, limits: Limits, defects: Defects) -> None:
        self._numbers = [number for number in range(len(dump.codes)) if dump.unwinding(number) is not None]
        codes = [dump.codes[number] for number in self._numbers]
        self.starts, self.ends = range_columns([(code.offset, code.offset + code.size) for code in codes])
        self._dump = dump
        self._rules = rules
        self._limits = limits
        self._defects = defects
        self._known: dict[int, Rows] = {}

    def rows(self, piece: int, start: int, end: int) -> Rows:
        """(addresses, rule numbers) of one function's rows, computed at the first call; NO_RULE marks a hole."""
        rows = self._known.get(piece)
        if rows is None:
            rows = self._known[piece] = self._rows(self._numbers[piece], start, end)
        return rows

    def compile_all(self) -> int:
        """Compute all functions' rows; the number of rows."""
        return sum(
            len(self.rows(i, start, end)[0]) for i, (start, end) in enumerate(zip(self.starts, self.ends, strict=True))
        )

    def _entries(self, data: memoryview, address: int, start: int, end: int) -> Entries:
        """The entries for the code from ``start`` to ``end``.

        A runtime may misjudge how far after its code perf puts them (CPython assumes 16 bytes of code, where it has 8
        without CET). A single entry of exactly the code's length describes the code all the same.
        """

        def scan(address: int, code: tuple[int, int]) -> Entries:
            found = Entries(data, address, debug=False, word=8, code=[code], max_entries=self._limits.fdes)
            found.scan(True)
            found.arrange()
            return found

        entries = scan(address, (start, end))
        if not len(entries.starts):
            anywhere = scan(address, (0, (1 << 64) - 1))
            if len(anywhere.starts) == 1 and anywhere.ends[0] - anywhere.starts[0] == end - start:
                entries = scan((address + start - anywhere.starts[0]) % (1 << 64), (start, end))
        return entries

    def _rows(self, number: int, start: int, end: int) -> Rows:
        found = self._dump.unwinding(number)
        addresses: list[int] = []
        rules: list[int] = []
        at = start
        if found is not None:
            entries = self._entries(*found, start, end)
            damaged = entries.damaged
            programs = Programs(
                entries, self._rules, source=RuleSource.EH_FRAME, registers=17, signing=False, limits=self._limits
            )
            table = RowTable(programs, self._rules.lock, entries.total)
            for piece in range(len(entries.starts)):
                low, high = max(at, entries.starts[piece]), min(end, entries.ends[piece])
                if low >= high:
                    continue
                if low > at:
                    addresses.append(at)
                    rules.append(NO_RULE)
                rows = table.rows(entries.entry[piece], low, high)
                addresses += rows[0]
                rules += rows[1]
                at = high
            damaged += table.damaged
            if damaged:
                self._defects.add("damaged unwind information in a jitdump", self._dump.path, damaged)
        if at < end:
            addresses.append(at)
            rules.append(NO_RULE)
        return memoryview(array("Q", addresses)), memoryview(array("I", rules))


def table_of_jitdump(
    dump: JitDump, rules: RuleSet, limits: Limits = DEFAULT, defects: Defects | None = None
) -> UnwindTable:
    """The unwind table of a dump's code; empty for big-endian files."""
    found = Defects() if defects is None else defects

    def source() -> JitSource | None:
        functions = JitSource(dump, rules, limits, found) if dump.byte_order == "little" else None
        return functions if functions is not None and len(functions.starts) else None

    return UnwindTable(rules, [source], dump.machine)
