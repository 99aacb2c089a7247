"""Unwind information of kernels: the ORC tables of vmlinux, of modules and of what else has their sections."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_LOONGARCH, EM_X86_64, ET_REL, PF_X, SHF_ALLOC, SHF_EXECINSTR, SHT_RELA
from undwarf.elf.machine_names import machine_of_file
from undwarf.elf.section_layout import code_addresses
from undwarf.integer_constants import ALL_ONES
from undwarf.limits import Limits
from undwarf.tables import address_ranges
from undwarf.tables.orc import entries as orc_entries
from undwarf.tables.orc import reader
from undwarf.tables.orc.entries import (
    HEADERS,
    LAYOUT_1,
    LAYOUT_2,
    LAYOUT_3,
    LAYOUT_4,
    LAYOUT_LOONGARCH,
    Kind,
    Layout,
)
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sources import Provider, Request, Source

DISTANCES = {EM_X86_64: 2, EM_LOONGARCH: 99}
"""The relocation of a slot: R_X86_64_PC32, R_LARCH_32_PCREL."""
SUPPORTED = frozenset((machine, "little") for machine in DISTANCES)
"""ELF machines with their byte order."""

CLEAR = 20
"""The factor by which entries that a layout explains must outnumber others, where no header names the layout."""


@dataclass(frozen=True, slots=True)
class OrcTable:
    """The entries of a file as its sections have them, in the kernel's order.

    ``addresses`` (Q) ascend; ``numbers`` (I) are entries among the ``distinct`` ones (Q, little-endian numbers), which
    :func:`undwarf.tables.orc.entries.decode` reads. NOTHING is an entry past the limit of distinct ones.
    """

    layout: Layout
    addresses: memoryview
    numbers: memoryview
    distinct: memoryview

    def __len__(self) -> int:
        return len(self.addresses)


class OrcSource:
    """The code that has rules: ``starts`` and ``ends`` are the ranges between entries of unknown frames.

    ``table`` has all entries. ``rules_of`` has a rule for each distinct one, NO_RULE for none.
    """

    indexed = False

    def __init__(self, table: OrcTable, rules: RuleSet, end: int, subject: str, defects: Defects) -> None:
        self.table = table
        self.rules_of = _rules(table, rules, subject, defects)
        found = reader.covered_ranges(table.addresses, table.numbers, self.rules_of, end)
        self.starts, self.ends, self._first, self._addresses, self._rules = found

    def rows(self, piece: int, start: int, end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of one range's rows between ``start`` and ``end``."""
        first, last = self._first[piece], self._first[piece + 1]
        if start != self.starts[piece] or end != self.ends[piece]:
            first = max(first, bisect_right(self._addresses, start, first, last) - 1)
            last = bisect_left(self._addresses, end, first, last)
        addresses = self._addresses[first:last]
        if first < last and addresses[0] < start:
            cut = zeros("Q", last - first)
            cut[:] = addresses
            cut[0] = start
            addresses = cut
        return addresses, self._rules[first:last]

    def compile_all(self) -> int:
        """The number of rows, all of which are computed."""
        return len(self._addresses)


def providers(request: Request) -> list[Provider]:
    """The sections, where the file has them."""

    def source() -> Source | None:
        table = read_orc(request.elf, request.limits, request.defects)
        if table is None or not len(table):
            return None
        end = _code_end(request.elf, table.addresses[len(table) - 1])
        functions = OrcSource(table, request.rules, end, f"{request.elf.path} .orc_unwind", request.defects)
        return functions if len(functions.starts) else None

    return [source]


def read_orc(elf: ElfFile, limits: Limits, defects: Defects) -> OrcTable | None:
    """The ORC entries of a file; None where it has none. Damage is counted in ``defects``.

    In a file that is not linked (a module) addresses are those of :func:`undwarf.elf.section_layout.code_addresses`.
    """
    section = elf.section(".orc_unwind_ip")
    entries = elf.section_data(".orc_unwind")
    slots = elf.section_data(section) if section is not None else None
    if section is None or entries is None or slots is None or not len(entries) or not len(slots):
        return None
    subject = f"{elf.path} .orc_unwind"
    if elf.byte_order != "little" or not elf.is_64 or elf.machine not in DISTANCES:
        defects.add("unwind table not read", elf.path, detail=f"ORC for {machine_of_file(elf)}")
        return None
    size = 8 if elf.machine == EM_LOONGARCH else 6
    count = min(len(slots) // 4, len(entries) // size)
    if len(slots) != 4 * count or len(entries) != size * count:
        defects.add("ORC sections of unequal length", subject)
    if count > limits.orc_entries:
        defects.add("too many ORC entries", subject, count - limits.orc_entries)
        count = limits.orc_entries
    numbers, distinct = reader.numbered(entries[: size * count], size, limits.rules)
    layout = _layout(elf, numbers, distinct, subject, defects)
    if layout is None:
        return None
    damaged = 0
    if elf.kind == ET_REL:
        addresses, damaged = _relocated(elf, section.index, count)
        if damaged:
            defects.add("ORC relocation that cannot be used", subject, damaged)
    else:
        addresses = reader.slot_addresses(slots[: 4 * count], section.address)
    if elf.kind == ET_REL or not reader.is_ascending(addresses):
        # Kernels before 5.6 sort their own table when they start; modules are sorted when they are loaded.
        weak = zeros("B", len(distinct))
        for i, value in enumerate(distinct):
            entry = orc_entries.decode(layout, value)
            weak[i] = entry is None or entry.kind is Kind.UNDEFINED
        addresses, numbers = reader.arranged(addresses, numbers, address_ranges.ascending(addresses), weak)
        # Slots without a relocation have the highest address.
        known = bisect_left(addresses, ALL_ONES)
        if count - known > damaged:
            defects.add("ORC entry without an address", subject, count - known - damaged)
        addresses, numbers = addresses[:known], numbers[:known]
    return OrcTable(layout, addresses, numbers, distinct)


def _relocated(elf: ElfFile, section: int, count: int) -> tuple[memoryview, int]:
    """The addresses of a module's slots, all ones if unknown, and how many relocations are bad."""
    places = zeros("Q", len(elf.sections))
    for i in range(len(places)):
        places[i] = ALL_ONES
    for index, address in code_addresses(elf).items():
        places[index] = address
    relocations, symbols = next(iter(_relocations(elf, section)), (memoryview(b""), memoryview(b"")))
    return reader.relocated(relocations, symbols, places, DISTANCES[elf.machine], count)


def _relocations(elf: ElfFile, section: int) -> Iterable[tuple[memoryview, memoryview]]:
    """(relocations, symbols) of a section."""
    for one in elf.sections:
        if one.type == SHT_RELA and one.info == section and 0 < one.link < len(elf.sections):
            relocations, symbols = elf.section_data(one), elf.section_data(elf.sections[one.link])
            if relocations is not None and symbols is not None and len(relocations) and len(symbols):
                yield relocations, symbols


def _code_end(elf: ElfFile, address: int) -> int:
    """The end of the code that holds an address; the address itself if there is none."""
    if elf.kind == ET_REL:
        sizes = {section.index: section.size for section in elf.sections}
        parts = [(start, start + sizes[index]) for index, start in code_addresses(elf).items()]
    else:
        wanted = SHF_ALLOC | SHF_EXECINSTR
        parts = [(one.address, one.address + one.size) for one in elf.sections if one.flags & wanted == wanted]
        parts += [(one.address, one.address + one.memory_size) for one in elf.loads if one.flags & PF_X]
    return min(next((end for start, end in parts if start <= address < end), address), ALL_ONES)


def _layout(elf: ElfFile, numbers: memoryview, distinct: memoryview, subject: str, defects: Defects) -> Layout | None:
    """The layout by the header, else the one that explains the entries; None if there is neither."""
    header = elf.section_data(".orc_header")
    known = HEADERS.get(bytes(header)) if header is not None and len(header) == 20 else None
    if known is not None and known.machine == elf.machine:
        return known
    if header is not None:
        # A newer layout, or a distribution's own: the entries decide.
        defects.add("unknown ORC header", subject, detail=bytes(header[:20]).hex())
    counts = reader.counted(numbers, len(distinct))
    found = guess_layout(elf.machine, list(zip(distinct, counts, strict=True)))
    if found is None:
        defects.add("ORC layout not known", subject)
    return found


def guess_layout(machine: int, entries: list[tuple[int, int]]) -> Layout | None:
    """The layout of entries, given as (value, count), by the entry that nearly every function begins with.

    That is a call frame address of rsp+8 and an unchanged frame pointer. Its encoding differs between layouts, except
    for the first two; these differ in a bit for interrupted callers. None if no layout explains nearly all entries.
    """
    if machine == EM_LOONGARCH:
        candidates: list[Layout] = [LAYOUT_LOONGARCH]
    else:
        plain = {0x0005: LAYOUT_1, 0x0205: LAYOUT_3, 0x0203: LAYOUT_4}
        votes = {layout.name: 0 for layout in plain.values()}
        for value, count in entries:
            one = plain.get(value >> 32)
            if one is not None and value & 0xFFFFFFFF == 8:
                votes[one.name] += count
        if not any(votes.values()):
            return None
        best = max((LAYOUT_4, LAYOUT_3, LAYOUT_1), key=lambda layout: votes[layout.name])
        if best is LAYOUT_1 and any(_is_second(value >> 32) for value, _count in entries):
            best = LAYOUT_2
        candidates = [best]
    for layout in candidates:
        bad = sum(count for value, count in entries if orc_entries.decode(layout, value) is None)
        if bad * CLEAR <= sum(count for _value, count in entries):
            return layout
    return None


def _is_second(flags: int) -> bool:
    """Whether flags are of the second layout and not of the first: its outermost frames have bit 11, and bit 10, which
    the first one sets for outermost frames, marks interrupted callers."""
    return bool(flags >> 11 & 1) or (bool(flags >> 10 & 1) and flags & 15 != 0)


def _rules(table: OrcTable, rules: RuleSet, subject: str, defects: Defects) -> memoryview:
    """The rule of each distinct entry."""
    found = zeros("I", len(table.distinct))
    bad = zeros("B", len(table.distinct))
    refused = False
    for i, value in enumerate(table.distinct):
        found[i] = NO_RULE
        entry = orc_entries.decode(table.layout, value)
        if entry is None:
            bad[i] = 1
            continue
        words = orc_entries.rule_of(table.layout, entry)
        if words is None or refused:
            continue
        try:
            found[i] = rules.add(
                words.cfa,
                words.registers,
                column=words.column,
                source=RuleSource.ORC,
                signal=words.signal,
                flags=words.flags,
            )
        except OverflowError:
            refused = True
            defects.add("too many distinct rules", subject)
    if any(bad):
        counts = reader.counted(table.numbers, len(table.distinct))
        defects.add("ORC entry that means nothing", subject, sum(counts[i] for i in range(len(bad)) if bad[i]))
    return found
