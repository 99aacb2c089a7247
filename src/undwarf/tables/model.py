"""Unwind tables: `pc -> rule`, one table for each binary, all sharing one set of rules.

`tables/rule.pxd` describes rules, :mod:`undwarf.tables.rule_kinds` has their kinds and flags. The return address comes
first of the registers. A register without an entry is unchanged; the stack pointer is then the call frame address.

Functions and rules come from a list of sources: :mod:`undwarf.tables.sources` describes them, and how a kind is added.
"""

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_X86_64
from undwarf.limits import DEFAULT, Limits
from undwarf.tables import flat_rows
from undwarf.tables import rule_kinds as kinds
from undwarf.tables.address_ranges import fill_holes
from undwarf.tables.disk.packed_rows import PackedRows
from undwarf.tables.registers import ARCHITECTURES
from undwarf.tables.rule_format import NO_RULE, UNKNOWN
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sources import Provider, Source, parse_order, providers

__all__ = ["NO_RULE", "Rule", "RuleSet", "UnwindTable", "describe"]

Columns = tuple[memoryview, memoryview]
"""Rows of a file (:mod:`undwarf.tables.flat_rows`)."""

_SOURCES: dict[int, str] = {source: source.name.lower() for source in kinds.RuleSource}


class Rule(NamedTuple):
    """One rule as text: ``cfa`` like ``rsp+8``, registers like ``cfa-16``.

    ``registers`` has those that have a rule, the return address as ``ra``. ``signal`` marks a signal frame, in whose
    caller the program counter is exact; ``outermost`` the end of the stack; ``signed`` an AArch64 return address with a
    pointer authentication code; ``source`` is the section that the rule comes from.
    """

    cfa: str
    registers: dict[str, str]
    signal: bool
    outermost: bool
    signed: bool
    source: str

    @property
    def return_address(self) -> str:
        """The return address's rule."""
        return "undefined" if self.outermost else self.registers.get("ra", "same")


def describe(rules: RuleSet, number: int, machine: int = EM_X86_64) -> Rule:
    """A rule of the set as text; ``machine`` (ELF's number) determines the names of registers."""
    words = rules.words(number)
    names = ARCHITECTURES[machine].names if machine in ARCHITECTURES else ()
    kind, register, offset, extra, flags, source, count, column = words[:8]

    def name(register: int) -> str:
        return names[register] if 0 <= register < len(names) else f"r{register}"

    cfa = {
        kinds.CFA_UNDEFINED: "undefined",
        kinds.CFA_REGISTER: f"{name(register)}{offset:+d}",
        kinds.CFA_DEREF: f"*({name(register)}{offset:+d})" + (f"{extra:+d}" if extra else ""),
        kinds.CFA_PLT: f"plt({name(register)}{offset:+d}, {extra})",
    }.get(kind, "expr")
    found = {}
    for k in range(count):
        register, how, value, base = words[8 + 4 * k : 12 + 4 * k]
        found["ra" if register == column else name(register)] = {
            kinds.UNDEFINED: "undefined",
            kinds.AT_CFA: f"cfa{value:+d}",
            kinds.IS_CFA: f"val(cfa{value:+d})",
            kinds.REGISTER: name(value),
            kinds.AT_REGISTER: f"*({name(base)}{value:+d})",
        }.get(how, "expr")
    return Rule(
        cfa,
        found,
        signal=bool(flags & kinds.FLAG_SIGNAL),
        outermost=bool(flags & kinds.FLAG_OUTERMOST),
        signed=bool(flags & kinds.FLAG_SIGNED),
        source=_SOURCES.get(source, "unknown"),
    )


class Functions:
    """The functions that a table knows at one time. They never change, so that their numbers stay valid.

    ``starts`` and ``ends`` are their ranges as ELF virtual addresses, sorted and disjoint. ``where`` has for each
    (index of its source) << 32 | its index there; None with one source. ``asked`` are those whose rows were looked up,
    ``order`` the same in the order of their look-up.
    """

    __slots__ = ("_sources", "asked", "ends", "order", "starts", "where")

    def __init__(
        self,
        starts: memoryview,
        ends: memoryview,
        where: memoryview | None,
        sources: tuple[Source, ...],
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.where = where
        self.asked: set[int] = set()
        self.order: list[int] = []
        self._sources = sources

    def at(self, address: int) -> int | None:
        """The number of the function that covers an address, None if no source consulted so far has one."""
        number = bisect_right(self.starts, address) - 1
        return number if number >= 0 and address < self.ends[number] else None

    def rows(self, function: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of a function's rows, ascending from its start; NO_RULE marks a hole."""
        if function not in self.asked:
            self.asked.add(function)
            self.order.append(function)
        return self.passing_rows(function)

    def passing_rows(self, function: int) -> tuple[memoryview, memoryview]:
        """The same for iteration over all functions: it does not count as a look-up."""
        where = function if self.where is None else self.where[function]
        source = self._sources[where >> 32]
        return source.rows(where & 0xFFFFFFFF, self.starts[function], self.ends[function])

    @property
    def only(self) -> Source | None:
        """The source of all functions; None if there are several."""
        return self._sources[0] if len(self._sources) == 1 else None

    def joined(self, source: Source) -> "Functions":
        """These, and the functions that a further source has beside them; the same object if it has none."""
        if len(self._sources) == 1 and self._sources[0].indexed and getattr(source, "apart", False):
            return self._with_cuts(source)
        if not self._sources or self._sources[0].indexed:
            # The section itself replaces its search table.
            return Functions(source.starts, source.ends, None, (source,))._asked_as(self)
        where = self.where
        if where is None:
            where = memoryview(array("Q", range(len(self.starts))))
        found = fill_holes(self.starts, self.ends, where, source.starts, source.ends, len(self._sources))
        return Functions(*found[:3], (*self._sources, source))._asked_as(self) if found[3] else self

    def _with_cuts(self, source: Source) -> "Functions":
        """Ranges of a search table extend to the next function: ranges that are apart are cut out of them, unless a
        function begins there."""
        apart = [
            piece
            for piece, (start, end) in enumerate(zip(source.starts, source.ends, strict=True))
            if bisect_left(self.starts, start) == bisect_left(self.starts, end)
        ]
        starts, ends, where = (zeros("Q", len(apart)) for _ in range(3))
        for i, piece in enumerate(apart):
            starts[i], ends[i], where[i] = source.starts[piece], source.ends[piece], 1 << 32 | piece
        found = fill_holes(starts, ends, where, self.starts, self.ends, 0)
        return Functions(*found[:3], (*self._sources, source))._asked_as(self) if apart else self

    def _asked_as(self, other: "Functions") -> "Functions":
        """These, with those looked up that were looked up in ``other``."""
        found = (self.at(other.starts[function]) for function in other.asked)
        self.asked.update(function for function in found if function is not None)
        self.order = sorted(self.asked)
        return self

    def compile_all(self) -> int:
        """Compute all rows; the number of rows."""
        return sum(source.compile_all() for source in self._sources)

    def columns(self, wanted: "Iterable[int]", *, settled: bool) -> Columns:
        """The rows of some functions. ``settled``: no other source has a rule where there is none."""
        parts = [(self.ends[function], *self.passing_rows(function)) for function in sorted(wanted)]
        found = flat_rows.gather(parts, settled)
        return flat_rows.overlay(found, flat_rows.outside(self.starts, self.ends)) if settled else found

    def all_columns(self) -> Columns:
        """The rows of all functions, for a table without further sources."""
        if len(self._sources) == 1 and self.where is None:
            flatten = getattr(self._sources[0], "flatten", None)
            if flatten is not None:
                found: Columns = flatten()
                return found
        return self.columns(range(len(self.starts)), settled=True)


class UnwindTable:
    """The unwind table of one binary.

    ``functions`` are those known so far; ``starts``, ``ends`` and :meth:`rows` are theirs. Rows are computed when a
    function is first looked up. ``version`` grows when functions are added and get new numbers: threads that keep
    numbers keep the :class:`Functions` of these.

    ``flat``, if not None, are columns of the file's rows (:mod:`undwarf.tables.flat_rows`). A walk searches these
    first, then functions where the columns are UNKNOWN, and calls :meth:`more` for what no function covers.

    ``kept`` are rows of an earlier run; sources are consulted for what these leave open. ``holds`` returns whether
    their holes are still holes; it is called at the first one. ``built`` counts the sources that were read. ``search``,
    called with an address that no source covers and the functions so far, may return a source that replaces them.
    """

    def __init__(
        self,
        rules: RuleSet,
        providers: list[Provider],
        machine: int = EM_X86_64,
        *,
        kept: PackedRows | None = None,
        holds: "Callable[[], bool] | None" = None,
        search: "Callable[[int, Functions], Source | None] | None" = None,
    ) -> None:
        self.rules = rules
        self.machine = machine
        self.version = 0
        self.built = 0
        self.flat: Columns | None = kept.unpack() if kept is not None else None
        self.functions = Functions(zeros("Q", 0), zeros("Q", 0), None, ())
        self.kept = kept
        self._holds = holds
        self._search = search
        self._providers = providers
        while kept is None and not len(self) and self._next():
            pass

    @classmethod
    def from_elf(
        cls,
        elf: "ElfFile | str | os.PathLike[str]",
        source: "str | Iterable[str] | None" = None,
        *,
        debug_elf: "Callable[[], ElfFile | None] | None" = None,
        rules: RuleSet | None = None,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
        quick: bool = False,
        kept: PackedRows | None = None,
        holds: "Callable[[], bool] | None" = None,
    ) -> "UnwindTable":
        """The table of a binary, from its `.eh_frame` and, for what that leaves open, `.debug_frame`.

        ``source`` names other sources, in order (``"cfi,sframe"``; :mod:`undwarf.tables.sources` has the names); each
        fills what those before it leave open. ``debug_elf`` finds the separate debug file; it is called for addresses
        that the binary itself does not describe. Bad data is counted in ``defects``. Raises ElfError if the file cannot
        be read and UsageError for an unknown source.

        ``quick`` starts with the search table of `.eh_frame` alone, for callers that look up few functions of many:
        ranges then extend to the next function, with a hole at the end of their rows, and holes have to be passed to
        :meth:`more`. ``kept`` and ``holds`` are those of the class.
        """
        order = parse_order(source)
        main = elf if isinstance(elf, ElfFile) else ElfFile.open(elf, limits=limits, defects=defects)
        known = rules if rules is not None else RuleSet(limits)
        found = defects if defects is not None else Defects()
        finder = debug_elf if debug_elf is not None else _nothing
        asked = providers(order, main, finder, known, limits, found, quick=quick)
        return cls(known, asked, main.machine, kept=kept, holds=holds)

    def _next(self) -> bool:
        """Add the functions of the next source at addresses that have none yet; False if no source is left."""
        with self.rules.lock:
            if not self._providers:
                return False
            source = self._providers.pop(0)()
            if source is not None:
                self.built += 1
                joined = self.functions.joined(source)
                if joined is not self.functions:
                    self.functions = joined
                    self.version += 1
            return True

    def _find(self, search: "Callable[[int, Functions], Source | None]", address: int) -> None:
        """Search for a function at an address where none is known."""
        with self.rules.lock:
            source = search(address, self.functions) if self.functions.at(address) is None else None
            if source is not None:
                self.functions = Functions(source.starts, source.ends, None, (source,))
                self.version += 1

    def _forget(self) -> None:
        """Drop the rows of an earlier run."""
        with self.rules.lock:
            self.flat = self.kept = None
            self.version += 1

    @property
    def exhausted(self) -> bool:
        """Whether all sources have been consulted."""
        return not self._providers and self._search is None

    @property
    def starts(self) -> memoryview:
        """First address of each function, ascending."""
        return self.functions.starts

    @property
    def ends(self) -> memoryview:
        """The end of each function."""
        return self.functions.ends

    def more(self, address: int) -> bool:
        """Consult further sources for a rule at this address; whether there is one now."""
        while True:
            kept = self._kept_rule(address)
            if kept == NO_RULE:
                if self._holds is None or self._holds():
                    return False
                self._forget()
            elif kept != UNKNOWN or self._computed_rule(address) != NO_RULE:
                return True
            if not self._next():
                if self._search is not None:
                    self._find(self._search, address)
                return self._computed_rule(address) != NO_RULE

    def function_at(self, address: int) -> int | None:
        """The number of the function that covers an address, None if no source consulted so far knows one."""
        return self.functions.at(address)

    def rows(self, function: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of a function's rows, ascending from its start; NO_RULE marks a hole."""
        return self.functions.rows(function)

    def consult_all(self) -> int:
        """Consult all sources, so that all functions are known; the number of functions. Rows are computed on
        look-up."""
        while self._next():
            pass
        return len(self)

    def complete(self) -> int:
        """Consult all sources and compute all rows; the number of functions."""
        while True:
            with self.rules.lock:
                # The next source may depend on the damage that is found here.
                self.functions.compile_all()
            if not self._next():
                return len(self)

    def known(self) -> Columns:
        """The rows of the functions that were looked up, and those of an earlier run; where all sources have been
        consulted, also that there are none outside of functions."""
        found = self.functions.columns(self.functions.asked, settled=self.exhausted)
        return flat_rows.overlay(found, self.flat) if self.flat is not None else found

    def rule_at(self, address: int) -> Rule | None:
        """The rule for an ELF virtual address, None if there is none."""
        return describe(self.rules, self._rule(address), self.machine) if self.more(address) else None

    def _rule(self, address: int) -> int:
        kept = self._kept_rule(address)
        return kept if kept != UNKNOWN else self._computed_rule(address)

    def _kept_rule(self, address: int) -> int:
        return int(self.kept.rule_at(address)) if self.kept is not None else UNKNOWN

    def _computed_rule(self, address: int) -> int:
        functions = self.functions
        function = functions.at(address)
        if function is None:
            return NO_RULE
        addresses, rules = functions.rows(function)
        rule: int = rules[bisect_right(addresses, address) - 1]
        return rule

    def __len__(self) -> int:
        """The number of functions known so far."""
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int, Rule | None]]:
        """All rows of the functions known so far as (address, end, rule); None where there is no rule."""
        texts: dict[int, Rule | None] = {NO_RULE: None}
        functions = self.functions
        for function in range(len(functions.starts)):
            addresses, rules = functions.passing_rows(function)
            for i, address in enumerate(addresses):
                end = addresses[i + 1] if i + 1 < len(addresses) else functions.ends[function]
                if rules[i] not in texts:
                    texts[rules[i]] = describe(self.rules, rules[i], self.machine)
                yield address, end, texts[rules[i]]


def _nothing() -> None:
    return None
