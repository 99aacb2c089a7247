"""Unwind information from an ELF file's `.eh_frame` and `.debug_frame`."""

from functools import cache

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_386, EM_AARCH64, EM_X86_64, ET_REL, PF_X, PT_LOAD
from undwarf.elf.machine_names import machine_of_file
from undwarf.limits import Limits
from undwarf.tables.cfi.eh_frame_hdr import EhFrameHeader, find_header
from undwarf.tables.cfi.entries import Entries
from undwarf.tables.cfi.entry_kinds import ScanEnd
from undwarf.tables.cfi.program import Programs
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_kinds import RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.section_source import SectionSource
from undwarf.tables.sources import Provider, Request

SUPPORTED = frozenset(((EM_386, "little"), (EM_X86_64, "little"), (EM_AARCH64, "little")))
"""ELF machines with their byte order. Of others there are registers that rules have no number for, and byte orders."""


def providers(request: Request) -> list[Provider]:
    """Providers of functions, best first.

    ``quick`` begins with the search table of `.eh_frame`, as gcc's unwinder does at run time. All of `.eh_frame` is
    then read only if the table proves wrong, or to find holes that another source is to fill.
    """
    elf, rules, limits, defects = request.elf, request.rules, request.limits, request.defects
    found: list[Provider] = []
    separate = cache(request.debug_elf)
    by_table: list[SectionSource] = []

    def indexed() -> SectionSource | None:
        source = _indexed(elf, rules, limits, defects)
        if source is not None:
            by_table.append(source)
        return source

    def whole_section() -> SectionSource | None:
        if by_table and not by_table[0].damaged and not request.followed and not has_debug_frame():
            return None
        return eh_frame(elf, rules, limits, defects)

    def has_debug_frame() -> bool:
        if "debug-frame" not in request.kinds:
            return False
        other = separate()
        return any(one is not None and one.section(".debug_frame") is not None for one in (elf, other))

    def from_main_file() -> SectionSource | None:
        return _from_debug_frame(elf, elf, rules, limits, defects)

    def from_debug_file() -> SectionSource | None:
        other = separate()
        return _from_debug_frame(other, elf, rules, limits, defects) if other is not None else None

    for kind in request.kinds:
        if kind == "debug-frame":
            found += [from_main_file, from_debug_file]
        else:
            # The whole section replaces the quick pass, so that nothing may come before it.
            found += [indexed, whole_section] if request.quick and not found else [whole_section]
    return found


def _code(elf: ElfFile) -> list[tuple[int, int]]:
    return [(segment.address, segment.address + segment.memory_size) for segment in elf.loads if segment.flags & PF_X]


def _readable(elf: ElfFile, name: str, defects: Defects) -> bool:
    if (elf.machine, elf.byte_order) not in SUPPORTED:
        defects.add("unwind table not read", elf.path, detail=f"{name} for {machine_of_file(elf)}")
    elif elf.kind == ET_REL:
        defects.add("unwind table not read", elf.path, detail=f"{name} of a relocatable file")
    else:
        return True
    return False


def _source(
    entries: Entries, number: int, main: ElfFile, subject: str, rules: RuleSet, limits: Limits, defects: Defects
) -> SectionSource | None:
    if not entries.indexed:
        entries.arrange()
    if entries.damaged:
        defects.add("damaged call frame entry", subject, entries.damaged)
    if entries.dropped:
        defects.add("call frame entry without code", subject, entries.dropped)
    if not len(entries.starts):
        return None
    is_arm = main.machine == EM_AARCH64
    programs = Programs(entries, rules, source=number, registers=34 if is_arm else 17, signing=is_arm, limits=limits)
    return SectionSource(
        entries.starts,
        entries.ends,
        entries.entry,
        RowTable(programs, rules.lock, entries.total),
        damage="damaged call frame program",
        subject=subject,
        defects=defects,
        indexed=entries.indexed,
    )


def _scan(entries: Entries, header: EhFrameHeader | None, *, bounded: bool, subject: str, defects: Defects) -> None:
    """Find all entries: in sequence, past zero words if the section's end is known or the header's table has more, and
    by that table past damage."""
    status = entries.scan(bounded)
    count = header.functions if header is not None else 0
    while status == ScanEnd.ZERO and entries.total + entries.dropped + entries.damaged < count:
        status = entries.scan(False)
    if status == ScanEnd.FULL:
        defects.add("too many call frame entries", subject)
    elif status == ScanEnd.DAMAGE and header is not None and entries.total + entries.dropped < count:
        ahead = {entry - entries.address for entry in header.entries()}
        entries.take(sorted(offset for offset in ahead if offset > entries.at))


def _eh_frame(elf: ElfFile, header: EhFrameHeader | None) -> tuple[memoryview, int, bool] | None:
    """Bytes and address of `.eh_frame`, and whether its end is known."""
    section = elf.section(".eh_frame")
    if section is not None:
        data = elf.section_data(section)
        if data is not None and len(data):
            return data, section.address, True
    if header is not None and header.eh_frame:
        # No section headers: it ends with its segment at the latest.
        address = header.eh_frame
        for load in elf.segments:
            if load.type == PT_LOAD and load.address <= address < load.address + load.file_size:
                data = elf.read(address, load.address + load.file_size - address, writable=True)
                return (data, address, False) if data is not None else None
    return None


def _entries(elf: ElfFile, data: memoryview, address: int, limits: Limits) -> Entries:
    word = 8 if elf.is_64 else 4
    return Entries(data, address, debug=False, word=word, code=_code(elf), max_entries=limits.fdes)


def _indexed(elf: ElfFile, rules: RuleSet, limits: Limits, defects: Defects) -> SectionSource | None:
    header = find_header(elf)
    found = _eh_frame(elf, header)
    if header is None or found is None or not header.is_usual or not _readable(elf, ".eh_frame", Defects()):
        return None
    data, address, _ = found
    entries = _entries(elf, data, address, limits)
    if not entries.index(header.data, header.table, header.functions, header.address):
        return None
    # That has read some megabytes of a large library; few entries are needed of it.
    elf.release(unpacked=False)
    return _source(entries, RuleSource.EH_FRAME, elf, f"{elf.path} .eh_frame", rules, limits, defects)


def eh_frame(elf: ElfFile, rules: RuleSet, limits: Limits, defects: Defects) -> SectionSource | None:
    """All functions of the section; None if there are none."""
    header = find_header(elf)
    found = _eh_frame(elf, header)
    if found is None or not _readable(elf, ".eh_frame", defects):
        return None
    data, address, bounded = found
    subject = f"{elf.path} .eh_frame"
    entries = _entries(elf, data, address, limits)
    _scan(entries, header, bounded=bounded, subject=subject, defects=defects)
    return _source(entries, RuleSource.EH_FRAME, elf, subject, rules, limits, defects)


def _symbols(elf: ElfFile) -> list[int]:
    """The addresses of all symbols, ascending."""
    data = elf.section_data(".symtab") if elf.is_64 else None
    return sorted(set(data[: len(data) // 24 * 24].cast("Q")[1::3])) if data is not None else []


def _from_debug_frame(
    elf: ElfFile, main: ElfFile, rules: RuleSet, limits: Limits, defects: Defects
) -> SectionSource | None:
    """``elf`` has the section; ``main``, the file that runs, has the code."""
    data = elf.section_data(".debug_frame")
    if data is None or not len(data) or not _readable(elf, ".debug_frame", defects):
        return None
    subject = f"{elf.path} .debug_frame"
    entries = Entries(data, 0, debug=True, word=8 if elf.is_64 else 4, code=_code(main), max_entries=limits.fdes)
    _scan(entries, None, bounded=True, subject=subject, defects=defects)
    short = entries.short_cies()
    if short:
        entries.lengthen(short, _symbols(elf))
    return _source(entries, RuleSource.DEBUG_FRAME, main, subject, rules, limits, defects)
