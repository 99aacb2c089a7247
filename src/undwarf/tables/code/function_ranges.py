"""The functions of a linked x86-64 program: from symbols, stubs and its entry; else from references in the code."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress, count
from struct import iter_unpack

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X, SHF_EXECINSTR, SHT_PROGBITS
from undwarf.limits import Limits
from undwarf.tables.code.decoding import IDLE, only_padding
from undwarf.tables.code.reference_columns import distinct, round_targets, split_at, within
from undwarf.tables.code.references import CodeReferences
from undwarf.tables.stubs.sections import NAMES as STUB_SECTIONS

__all__ = ["FunctionRanges", "find_functions"]

_FUNCTIONS = (2, 10)
"""STT_FUNC and STT_GNU_IFUNC."""
_ADDRESSES = (1 << 64) - 1
"""Code past the last address is damage."""
_JUMPS = {0xE9: 5, 0xEB: 2}
"""First bytes of unconditional jumps, and their lengths."""
_STUBS = dict.fromkeys(STUB_SECTIONS, 16) | {".plt.got": 8}
"""The bytes of a stub, by section."""


@dataclass(slots=True, repr=False, eq=False)
class FunctionRanges:
    """Sorted, disjoint ranges of code, each from a function's start to the next. ``names`` are by address; ``stubs``
    gives the ranges of linkers' stubs, and the bytes of each stub. ``searched``: functions were searched for in the
    code, so that some may be missing; ``references`` are what the search found."""

    starts: memoryview = field(default_factory=lambda: zeros("Q", 0))
    ends: memoryview = field(default_factory=lambda: zeros("Q", 0))
    names: dict[int, str] = field(default_factory=dict)
    stubs: dict[int, int] = field(default_factory=dict)
    code: list[tuple[int, int]] = field(default_factory=list)
    partial: bool = False
    """Whether these are only the functions of some ranges of the program's code."""
    searched: bool = False
    references: CodeReferences | None = None

    def at(self, address: int) -> int | None:
        """The number of the range that holds an address."""
        number = bisect_right(self.starts, address) - 1
        return number if number >= 0 and address < self.ends[number] else None


def _symbols(elf: ElfFile, limits: Limits, lows: "array[int]", highs: "array[int]") -> Iterable[tuple[int, str]]:
    """(address, name) of functions in sorted ranges, from ``lows`` to ``highs``."""
    for table_name, strings_name in ((".symtab", ".strtab"), (".dynsym", ".dynstr")):
        table = elf.section_data(table_name)
        strings = elf.section_data(strings_name)
        if table is None or strings is None or len(table) // 24 > limits.symbols:
            continue
        words = array("Q", bytes(table[: len(table) // 24 * 24]))
        values = words[1::3]
        # Few of a large file's symbols are in open code.
        wanted = set(within(values, lows, highs))
        text = bytes(strings) if wanted else b""
        for number in compress(count(), map(wanted.__contains__, values)) if wanted else ():
            first, value = words[3 * number], values[number]
            # Name, type, visibility and section are one word.
            if value and first >> 32 & 15 in _FUNCTIONS and first >> 48:
                at = first & 0xFFFFFFFF
                end = text.find(b"\0", at)
                yield value, text[at:end].decode("ascii", "replace") if end >= 0 else ""


def find_functions(
    elf: ElfFile,
    others: Collection[ElfFile],
    limits: Limits,
    *,
    known: Iterable[int] = (),
    search: bool = False,
    only: "list[tuple[int, int]] | None" = None,
) -> FunctionRanges:
    """The functions of a program. ``others`` are files with further symbols of it, ``known`` starts of functions from
    elsewhere. If there are none of these, or only exported ones that leave much open (``search``), the code is searched
    for what it calls, jumps to, and takes the address of. ``only`` are sorted ranges of code that other sources leave
    open: they alone are searched, and functions also begin after their returns."""
    found = FunctionRanges()
    code: list[tuple[int, int]] = []
    starts: set[int] = set()
    stubs: list[tuple[int, int]] = []
    for section in elf.sections:
        if section.flags & SHF_EXECINSTR and section.type == SHT_PROGBITS and section.size:
            held = elf.section_data(section)
            if held is None or not len(held):
                continue
            end = section.address + len(held)
            if end > _ADDRESSES:
                continue
            code.append((section.address, end))
            step = _STUBS.get(section.name)
            if step is not None:
                # The linker's own: .plt.got entries have 8 bytes, or 16 where they begin with endbr64.
                if step == 8 and bytes(elf.read(section.address, 4) or b"") == b"\xf3\x0f\x1e\xfa":
                    step = 16
                found.stubs[section.address] = step
                stubs.append((section.address, end))
    if not code:
        code = [(one.address, one.address + one.file_size) for one in elf.loads if one.flags & PF_X]
        code = [(start, end) for start, end in code if end <= _ADDRESSES]
    code = _apart(code, len(elf.data))
    if only is not None:
        code = only
        found.partial = True
    if not code:
        return found

    lows, highs = array("Q", [start for start, _ in code]), array("Q", [end for _, end in code])

    def inside(address: int) -> bool:
        at = bisect_right(lows, address) - 1
        return at >= 0 and address < highs[at]

    for one in (elf, *others):
        for address, name in _symbols(one, limits, lows, highs):
            starts.add(address)
            if name and (address not in found.names or name.startswith("__")):
                found.names[address] = name
    described = {address for address in known if inside(address)}
    starts |= described
    # Exported functions alone, as in a stripped library without unwind information, leave out all that is its own.
    exported_only = all(one.section(".symtab") is None for one in (elf, *others)) and (
        search or len(described) * limits.code_hole_bytes < sum(end - start for start, end in code)
    )
    named = bool(starts) and not exported_only and only is None
    if inside(elf.entry):
        starts.add(elf.entry)
    for table in (".init_array", ".fini_array"):
        data = elf.section_data(table)
        if data is not None:
            starts |= {word for (word,) in iter_unpack("<Q", data[: len(data) // 8 * 8]) if inside(word)}
    found.code = code
    ordered = array("Q", sorted(starts))
    if not named or len(starts) < 8:
        found.searched = True
        found.references = CodeReferences(elf, code, limits)
        if only is not None:
            ordered.extend(_after_ends(elf, found.references, code))
            ordered = array("Q", sorted(ordered))
        _discover(found.references, ordered, code)
    # Code before a section's first function is one of its own.
    ordered.extend(lows)
    ordered = array("Q", distinct(ordered).tobytes())
    for start, end in stubs if only is None else [one for one in stubs if inside(one[0])]:
        del ordered[bisect_right(ordered, start) : bisect_left(ordered, end)]
    found.starts, found.ends = split_at(ordered, highs)
    return found


def _discover(references: CodeReferences, starts: "array[int]", code: list[tuple[int, int]]) -> None:
    """Add to known starts the addresses that the code calls, those it takes, and aligned ones that other functions jump
    to."""
    lows, highs = array("Q", [start for start, _ in code]), array("Q", [end for _, end in code])
    for column in (references.called, references.taken):
        starts.frombytes(within(column, lows, highs).cast("B"))
    # Targets of tail calls. Parts of functions among them are recognised later: jumps to them come with a frame.
    jumped = round_targets(references.sources, references.targets, distinct(starts))
    starts.frombytes(within(jumped, lows, highs).cast("B"))


def _apart(ranges: Iterable[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Sorted ranges of code without overlaps, limited in all to the ``size`` of the file: damaged headers are empty,
    overlap, or name the same bytes many times."""
    found: list[tuple[int, int]] = []
    covered = 0
    for start, end in sorted(ranges):
        first = max(start, covered)
        last = min(end, first + size)
        if last > first:
            found.append((first, last))
            covered = last
            size -= last - first
    return found


def _after_ends(elf: ElfFile, references: CodeReferences, code: list[tuple[int, int]]) -> Iterator[int]:
    """Aligned addresses after a return or an unconditional jump and padding, to which nothing jumps: only the start of
    a function, called from elsewhere, is of use there."""
    jumped = set(references.targets)
    jumps, returned = references.sources, references.returned
    for start, end in code:
        data = bytes(elf.read(start, end - start, writable=True) or b"")
        sources = jumps[bisect_left(jumps, start) : bisect_left(jumps, start + len(data))].tolist()
        ends = [at + _JUMPS[data[at - start]] for at in sources if data[at - start] in _JUMPS]
        ends += returned[bisect_right(returned, start) : bisect_right(returned, end)].tolist()
        for at in ends:
            if at & 15 and (at >= end or data[at - start] not in IDLE):
                continue
            aligned = (at + 15) & -16
            if aligned < end and aligned not in jumped and only_padding(data[at - start : aligned - start], at):
                yield aligned
