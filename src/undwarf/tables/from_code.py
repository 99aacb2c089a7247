"""Unwind rules from machine code, for functions that no section describes (x86-64), and of linkage tables (AArch64)."""

from array import array
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_AARCH64, EM_X86_64, ET_REL, SHF_EXECINSTR
from undwarf.limits import Limits
from undwarf.tables import haskell_stacks
from undwarf.tables.address_ranges import fill_holes
from undwarf.tables.cfi.eh_frame_hdr import find_header
from undwarf.tables.from_cfi import eh_frame
from undwarf.tables.python_rows import PairRows, columns, cut
from undwarf.tables.registers import RIP
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sources import Provider, Request
from undwarf.tables.stubs import aarch64, signals_x86_64, x86_64

if TYPE_CHECKING:
    from undwarf.tables.code.function_ranges import FunctionRanges
    from undwarf.tables.code.program_analysis import ProgramAnalysis
    from undwarf.tables.code.stack_state import RuleWords

__all__ = ["CodeSource", "code_functions", "providers", "source"]

SUPPORTED = frozenset(((EM_X86_64, "little"), (EM_AARCH64, "little")))
"""ELF machines with their byte order."""
_LONGEST_PADDING = 64
_ALIGNED = 16
_open_functions: "WeakKeyDictionary[ElfFile, tuple[Limits, FunctionRanges]]" = WeakKeyDictionary()
"""Functions in code that `.eh_frame` does not describe, found for rules with these limits; symbolization needs them,
too."""


class CodeSource:
    """The functions of a program: ``starts`` and ``ends`` are sorted, disjoint ranges of ELF virtual addresses. A
    function is analysed when its rows are first looked up; with ``on_demand``, which is for code that earlier sources
    leave open, only then."""

    indexed = False

    def __init__(self, binary: "ProgramAnalysis", rules: RuleSet, defects: Defects, *, on_demand: bool) -> None:
        self.binary = binary
        self.starts = binary.functions.starts
        self.ends = binary.functions.ends
        self._rules = rules
        self._defects = defects
        self._on_demand = on_demand
        self._refused = 0
        self._numbers: dict[RuleWords, int] = {}
        self._rows = PairRows(len(self.starts))

    def _number(self, rule: "RuleWords | None") -> int:
        if rule is None:
            return NO_RULE
        number = self._numbers.get(rule)
        if number is None:
            cfa, registers = rule
            words = {register: (kind, value, base) for register, kind, value, base in registers}
            try:
                number = self._rules.add(cfa, words, column=RIP, source=RuleSource.CODE)
            except OverflowError:
                number = NO_RULE
            self._numbers[rule] = number
        return number

    def _analysed(self, piece: int) -> list[tuple[int, int]]:
        rows = [(at, self._number(rule)) for at, rule in self.binary.rows(piece)]
        self.binary.elf.release()
        refused = len(self.binary.refused) - self._refused
        if refused:
            self._defects.add("code not analysed", self.binary.elf.path, refused, "it is over a limit")
            self._refused += refused
        return rows

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of one range's rows from ``start`` to ``end``; NO_RULE where nothing is known."""
        padding = end - start < _LONGEST_PADDING and start > self.starts[piece] and self.binary.is_padding(start, end)
        return columns(cut([] if padding else self._rows.of(piece, self._analysed), start, end))

    def compile_all(self) -> int:
        """Analyse all functions, unless ``on_demand``; the number of rows."""
        return self._rows.total if self._on_demand else self._rows.compute_all(self._analysed)


def providers(request: Request) -> list[Provider]:
    """Providers of functions: those of a linked x86-64 program; only its linkage tables if the others are not worth it,
    and of an AArch64 one."""
    if request.elf.machine == EM_AARCH64:
        return [lambda: aarch64.stubs(request.elf, request.rules)]
    if request.elf.machine != EM_X86_64:
        return [lambda: source(request)]
    found: list[Provider] = []
    is_open = request.walking and not request.first and has_functions(request.elf)
    if not is_open or len(request.elf.data) <= request.limits.code_searched_bytes:
        # The code that signal handlers return to looks like any function. C libraries have it, and none is large.
        found.append(lambda: signals_x86_64.signal_returns(request.elf, request.rules, RuleSource.CODE))
    is_haskell = not request.first and haskell_stacks.is_haskell(request.elf)
    if is_open or is_haskell:
        found.append(lambda: x86_64.stubs(request.elf, request.rules))
    if is_haskell:
        # Haskell code has no return address where functions of C have it.
        found.append(lambda: haskell_stacks.source(request.elf, request.rules))
        if request.walking:
            return found
    if is_open:
        return [*found, lambda: _open_source(request)]
    return [*found, lambda: source(request)]


def source(request: Request) -> CodeSource | None:
    """The functions of a program; None for other machines. `.eh_frame` gives starts of functions and landing pads, but
    no rules."""
    elf, limits = request.elf, request.limits
    if not _is_analysable(elf):
        return None
    # Imported here: few programs need it, and the decoder takes a tenth of all loading.
    from undwarf.tables.code.exceptions import LandingPads
    from undwarf.tables.code.program_analysis import ProgramAnalysis

    is_later = request.quick or not request.first
    entries = _entries(elf)
    separate = request.debug_elf() if elf.section(".symtab") is None else None
    # Much more than stubs: whole functions, compiled without unwind information or stripped.
    much = bool(entries) and _left_open(elf, entries) > limits.code_open_bytes
    binary = ProgramAnalysis(
        elf,
        limits,
        others=[separate] if separate is not None else [],
        known=entries,
        pads=LandingPads(elf, limits, entries),
        most=limits.code_total_bytes if is_later else None,
        holes=is_later and bool(entries) and not much,
        search=much,
    )
    if not len(binary.functions.starts):
        return None
    return CodeSource(binary, request.rules, request.defects, on_demand=not request.first)


def _open_source(request: Request) -> CodeSource | None:
    """The functions in code that `.eh_frame` of a large program does not describe: assembly, mostly. Other code is
    ignored, so that the cost follows the size of that code and the functions that are looked up."""
    elf, limits = request.elf, request.limits
    ranges = _open_ranges(elf, limits) if _is_analysable(elf) else []
    if not ranges:
        return None
    from undwarf.tables.code.program_analysis import ProgramAnalysis

    separate = request.debug_elf() if elf.section(".symtab") is None else None
    others = [separate] if separate is not None else []
    binary = ProgramAnalysis(elf, limits, others=others, most=limits.code_total_bytes, only=ranges)
    _open_functions[elf] = limits, binary.functions
    if not len(binary.functions.starts):
        return None
    return CodeSource(binary, request.rules, request.defects, on_demand=True)


def _open_ranges(elf: ElfFile, limits: Limits) -> list[tuple[int, int]]:
    """Sorted ranges of code that no entry of `.eh_frame` describes, without padding; the first ones, of
    ``limits.code_searched_bytes`` together."""
    from undwarf.tables.code.decoding import only_padding
    from undwarf.tables.code.reference_columns import of_kind

    described = eh_frame(elf, RuleSet(limits), limits, Defects())
    places = sorted((one.address, one.address + one.size) for one in elf.sections if one.flags & SHF_EXECINSTR)
    if described is None or not places:
        return []
    code = array("Q", [start for start, _ in places]), array("Q", [end for _, end in places])
    starts, ends, where, _ = fill_holes(described.starts, described.ends, zeros("Q", len(described.starts)), *code, 1)
    # The upper half of `where` is the index of a range's source, here 0 or 1.
    open_starts, open_ends = of_kind(bytes(where.cast("B")[4::8]), starts, ends, 1)
    begins = set(code[0])
    large = [
        (start, end)
        for start, end in zip(open_starts.tolist(), open_ends.tolist(), strict=True)
        if end - start >= _ALIGNED or start in begins
    ]
    found = []
    left = limits.code_searched_bytes
    for start, end in large:
        data = elf.read(start, end - start) if end - start <= left else None
        if data is not None and not only_padding(bytes(data[:_LONGEST_PADDING]), start):
            found.append((start, end))
            left -= end - start
    return found


def code_functions(elf: ElfFile, known: memoryview, limits: Limits) -> tuple[memoryview, memoryview]:
    """(starts Q, ends Q) of functions in the code of a linked x86-64 program that its `.eh_frame` does not describe;
    without a search table, of those that code refers to and those that start at ``known`` addresses. Empty for other
    machines. No function is analysed."""
    if not _is_analysable(elf):
        return zeros("Q", 0), zeros("Q", 0)
    from undwarf.tables.code.function_ranges import find_functions

    cached = _open_functions.get(elf)
    if cached is not None and cached[0] == limits:
        found = cached[1]
    elif has_functions(elf):
        found = find_functions(elf, (), limits, only=_open_ranges(elf, limits))
    else:
        found = find_functions(elf, (), limits, known=known, search=True)
    return found.starts, found.ends


def _is_analysable(elf: ElfFile) -> bool:
    return elf.machine == EM_X86_64 and elf.is_64 and elf.kind != ET_REL and elf.byte_order == "little"


def is_worth(elf: ElfFile) -> bool:
    """Whether to analyse a program's code where other sources leave it open."""
    return elf.machine in (EM_X86_64, EM_AARCH64)


def has_stubs_only(elf: ElfFile) -> bool:
    """Whether after other sources only the linkage tables of a program are analysed."""
    return bool(elf.machine == EM_AARCH64)


def has_functions(elf: ElfFile) -> bool:
    """Whether the search table of `.eh_frame` has any function."""
    header = find_header(elf)
    return header is not None and bool(header.is_usual and header.functions > 0)


def _left_open(elf: ElfFile, entries: dict[int, int]) -> int:
    """The bytes of code that no entry of `.eh_frame` describes, without padding."""
    code = sum(section.size for section in elf.sections if section.flags & SHF_EXECINSTR)
    for entry in entries.values():
        # After length and CIE come start and size, usually of 32 bits each.
        word = elf.read(entry + 12, 4)
        size = int.from_bytes(word, "little") if word is not None else 0
        code -= (size + _ALIGNED - 1) & -_ALIGNED
    return code


def _entries(elf: ElfFile) -> dict[int, int]:
    """The address of each function's entry, by its start in the search table of `.eh_frame`."""
    header = find_header(elf)
    if header is None or not header.is_usual:
        return {}
    size = min(header.functions * 8, (len(header.data) - header.table) & -8)
    words = header.data[header.table : header.table + size].cast("i")
    base = header.address
    return {base + start: base + entry for start, entry in zip(words[::2], words[1::2], strict=True)}
