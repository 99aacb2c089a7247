"""Compares two sources of unwind information at every instruction."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from undwarf.disasm import machine_of
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_X86_64
from undwarf.errors import NothingUsable
from undwarf.tables.model import NO_RULE, UnwindTable, describe
from undwarf.tables.registers import ARCHITECTURES, RSP
from undwarf.tables.rule_kinds import CFA_PLT, CFA_REGISTER
from undwarf.views.tables.dump import Binary, hint_without

_DESCRIBED = {"sframe": False, "orc": False, "gopclntab": False, "code": True}
"""Sources that describe some registers only: the return address and the frame pointer; True: callee-saved ones too."""

Words = tuple[str, dict[str, str], int | None, frozenset[str] | None]
"""Call frame address, registers with a rule, the offset of the CFA from the stack pointer if it is based on that, and
the registers that the source describes (None: all)."""


@dataclass(slots=True)
class Disagreement:
    """A range of instructions for which two sources differ.

    ``kind`` is what differs: ``cfa``, ``ra``, a register's name, or ``missing`` if only one of them has a rule.
    ``code`` has the first of the ``instructions`` as (address, text).
    """

    start: int
    end: int
    function: str
    kind: str
    one: str
    other: str
    instructions: int
    code: list[tuple[int, str]]


@dataclass(slots=True)
class Verdict:
    """The result of a comparison, in instructions.

    Of the ``instructions`` that at least one source describes, both agree on ``agreed``; ``only_one`` and
    ``only_other`` are described by one source, ``expressions`` by a DWARF expression that was not compared. ``kinds``
    counts them by what differs, ``pairs`` by (kind, one rule, the other rule). ``disagreements`` are the first of
    ``places``: those about the CFA and the return address, then other registers, then missing rules; each by address.
    """

    one: str
    other: str
    instructions: int = 0
    agreed: int = 0
    only_one: int = 0
    only_other: int = 0
    expressions: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    places: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)


def _segments(table: UnwindTable, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, rule) of all rows that have one."""
    functions = table.functions
    starts, ends = functions.starts, functions.ends
    first = max(bisect_left(starts, low) - 1, 0)
    for function in range(first, bisect_left(starts, high)):
        addresses, rules = functions.passing_rows(function)
        for i, rule in enumerate(rules):
            end = addresses[i + 1] if i + 1 < len(addresses) else ends[function]
            if rule != NO_RULE and end > low and addresses[i] < high:
                yield max(addresses[i], low), min(end, high), rule


def _both(
    one: Iterator[tuple[int, int, int]], other: Iterator[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int, int]]:
    """(start, end, rule of one, rule of the other) of every range that at least one source describes."""
    end_of_rows = (1 << 64, 1 << 64, NO_RULE)
    a, b = next(one, end_of_rows), next(other, end_of_rows)
    at = 0
    while a is not end_of_rows or b is not end_of_rows:
        at = max(at, min(a[0], b[0]))
        in_a, in_b = a[0] <= at, b[0] <= at
        end = min(a[1] if in_a else a[0], b[1] if in_b else b[0])
        yield at, end, a[2] if in_a else NO_RULE, b[2] if in_b else NO_RULE
        at = end
        if a[1] <= at:
            a = next(one, end_of_rows)
        if b[1] <= at:
            b = next(other, end_of_rows)


class _Code:
    """The instructions of a file, function by function."""

    def __init__(self, elf: ElfFile, functions: list[int]) -> None:
        self._elf = elf
        self._functions = functions
        self._machine = machine_of(elf.machine)
        if self._machine is None:
            raise NothingUsable(
                f"{elf.path} cannot be verified", "the instructions of its machine are not decoded here"
            )
        self._from = self._to = 0
        self._starts: list[int] = []

    def within(self, start: int, end: int) -> list[int]:
        """Addresses of the instructions that start in [start, end), decoded from the start of the function."""
        assert self._machine is not None
        if not self._from <= start < self._to or end > self._to:
            number = bisect_left(self._functions, start + 1) - 1
            first = self._functions[number] if number >= 0 else start
            last = self._functions[number + 1] if number + 1 < len(self._functions) else end
            last = max(end, min(last, first + (1 << 20)))
            first = max(first, start - (1 << 20))
            code = self._elf.read(first, last - first, writable=True)
            if code is None:
                first, last = start, end
                code = self._elf.read(first, last - first, writable=True)
            self._from, self._to = first, last
            self._starts = self._machine.starts(bytes(code), first) if code is not None else [start]
        return self._starts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def text(self, addresses: list[int]) -> list[tuple[int, str]]:
        """(address, text) of instructions."""
        assert self._machine is not None
        found = []
        for address in addresses:
            for size in (16, 8, 4, 2, 1):
                code = self._elf.read(address, size, writable=True)
                if code is not None:
                    found.append((address, self._machine.decode(bytes(code), address, 1)[0].text))
                    break
        return found


class _Comparer:
    """Compares rules of two tables, each pair once."""

    def __init__(self, one: UnwindTable, other: UnwindTable) -> None:
        self._tables = (one, other)
        self._words: dict[tuple[int, int], Words] = {}
        self._compared: dict[tuple[int, int, int], tuple[list[tuple[str, str, str]], bool]] = {}

    def _rule(self, side: int, number: int, late: int) -> Words:
        key = side, number << 1 | late
        found = self._words.get(key)
        if found is None:
            table = self._tables[side]
            rule = describe(table.rules, number, table.machine)
            raw = table.rules.words(number)
            cfa = rule.cfa
            if raw[0] == CFA_PLT:
                cfa = f"rsp{raw[2] + 8 * late:+d}"
            at = raw[2] if raw[0] == CFA_REGISTER and table.machine == EM_X86_64 and raw[1] == RSP else None
            registers = dict(rule.registers)
            registers["ra"] = rule.return_address
            found = self._words[key] = cfa, registers, at, self._described(table.machine, rule.source)
        return found

    def _described(self, machine: int, source: str) -> frozenset[str] | None:
        registers = ARCHITECTURES.get(machine)
        if source not in _DESCRIBED or registers is None:
            return None
        saved = registers.callee_saved if _DESCRIBED[source] else ()
        names = registers.names
        return frozenset(("ra", names[registers.frame_pointer], *(names[number] for number in saved)))

    def _threshold(self, side: int, number: int) -> int:
        raw = self._tables[side].rules.words(number)
        return raw[3] if raw[0] == CFA_PLT else -1

    def has_plt(self, side: int, number: int) -> bool:
        """Whether the rule is for a linkage table, so that it depends on the address."""
        return self._threshold(side, number) >= 0

    def compare(self, one: int, other: int, pc: int) -> tuple[list[tuple[str, str, str]], bool]:
        """[(what differs, one rule, the other rule)], and whether an expression was not compared."""
        thresholds = self._threshold(0, one), self._threshold(1, other)
        late = [int(limit >= 0 and pc & 15 >= limit) for limit in thresholds]
        key = one, other, late[0] << 1 | late[1]
        found = self._compared.get(key)
        if found is None:
            found = self._compared[key] = self._differences(self._rule(0, one, late[0]), self._rule(1, other, late[1]))
        return found

    def _differences(self, one: Words, other: Words) -> tuple[list[tuple[str, str, str]], bool]:
        found = []
        skipped = False
        if one[1]["ra"] == other[1]["ra"] == "undefined":
            # The outermost frame has no caller: no register matters.
            return [], False
        if one[0] != other[0]:
            if "expr" in (one[0], other[0]):
                skipped = True
            else:
                found.append(("cfa", one[0], other[0]))
        for name in dict.fromkeys((*one[1], *other[1])):
            a, b = one[1].get(name, "same"), other[1].get(name, "same")
            if a == b or any(side[3] is not None and name not in side[3] for side in (one, other)):
                continue
            if name != "ra":
                if "undefined" in (a, b):
                    # One source does not describe this register.
                    continue
                if (_restored(a, one[2]) and b == "same") or (_restored(b, other[2]) and a == "same"):
                    continue
            if "expr" in (a, b):
                skipped = True
            else:
                found.append((name, a, b))
        return found, skipped


def _restored(text: str, cfa: int | None) -> bool:
    """Whether a register is saved below the stack pointer: the function has restored it, which compilers do not always
    describe."""
    return cfa is not None and text.startswith("cfa-") and cfa - int(text[4:]) < 0


def verify(
    binary: Binary, one: str, other: str, *, place: str | None = None, shown: int = 100, instructions: int = 4
) -> Verdict:
    """Compare two sources of a file at every instruction.

    At most ``shown`` disagreements are listed, each with its first ``instructions``. Raises NothingUsable if a source
    has no table.
    """
    tables = binary.table(one), binary.table(other)
    for table, name in zip(tables, (one, other), strict=True):
        if not len(table):
            raise NothingUsable(f"{binary.path} has no unwind table from {name}", "", hint_without(name))
    low, high = binary.range_of(place)
    comparer = _Comparer(*tables)
    code = _Code(binary.elf, sorted({*tables[0].starts, *tables[1].starts}))
    verdict = Verdict(one, other)
    disagreements = _Disagreements(verdict, shown)
    for start, end, a, b in _both(_segments(tables[0], low, high), _segments(tables[1], low, high)):
        pcs = code.within(start, end)
        if not pcs:
            continue
        count = len(pcs)
        verdict.instructions += count
        if a == NO_RULE or b == NO_RULE:
            if a == NO_RULE:
                verdict.only_other += count
            else:
                verdict.only_one += count
            pair = ("missing", "nothing", other) if a == NO_RULE else ("missing", one, "nothing")
            disagreements.add(pcs, end, [pair])
            continue
        parts = [[pc] for pc in pcs] if comparer.has_plt(0, a) or comparer.has_plt(1, b) else [pcs]
        for part in parts:
            differences, skipped = comparer.compare(a, b, part[0])
            if differences:
                disagreements.add(part, end, differences)
            elif skipped:
                verdict.expressions += len(part)
            else:
                verdict.agreed += len(part)
    verdict.disagreements = disagreements.first()
    for listed in verdict.disagreements:
        listed.function = binary.name_at(listed.start)
        listed.code = code.text(code.within(listed.start, listed.end)[:instructions])
    return verdict


class _Disagreements:
    """Counts disagreements and collects the first ``shown`` of each group."""

    def __init__(self, verdict: Verdict, shown: int) -> None:
        self._verdict = verdict
        self._shown = shown
        self._groups: tuple[list[Disagreement], ...] = ([], [], [])
        self._last: dict[str, Disagreement] = {}

    def add(self, pcs: list[int], end: int, differences: list[tuple[str, str, str]]) -> None:
        """Add what differs at these instructions, the last of which ends at ``end``."""
        verdict = self._verdict
        for difference in differences:
            kind, one, other = difference
            verdict.kinds[kind] += len(pcs)
            verdict.pairs[difference] += len(pcs)
            before = self._last.get(kind)
            if before is not None and (before.end, before.one, before.other) == (pcs[0], one, other):
                before.end = end
                before.instructions += len(pcs)
                continue
            verdict.places += 1
            place = self._last[kind] = Disagreement(pcs[0], end, "", kind, one, other, len(pcs), [])
            group = self._groups[0 if kind in ("cfa", "ra") else 2 if kind == "missing" else 1]
            if len(group) < self._shown:
                group.append(place)

    def first(self) -> list[Disagreement]:
        """The first ``shown``, the most important first."""
        return [place for group in self._groups for place in group][: self._shown]
