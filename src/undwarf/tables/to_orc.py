"""ORC sections of x86-64, written from any unwind table.

ORC has rules for the stack pointer, the frame pointer and the return address. Rules of other registers are not written;
rules that ORC cannot express become entries of unknown frames, and are counted.
"""

import struct
from array import array
from collections import Counter
from typing import TYPE_CHECKING

from undwarf.elf.headers import EM_X86_64, SHF_ALLOC, SHT_PROGBITS
from undwarf.errors import UsageError
from undwarf.tables.from_orc import OrcSource, OrcTable
from undwarf.tables.orc.entries import HEADERS, X86_LAYOUTS, Entry, Kind, Layout, decode, encode, entry_of
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.writers import NewSection, Written

if TYPE_CHECKING:
    from undwarf.elf import ElfFile
    from undwarf.tables.model import UnwindTable

VERSIONS = ("4", "3", "2", "1")
"""The layouts: of Linux 7.1, 6.4, 6.3 and 4.14 on."""

SIZED = ("4",)
"""All have the same size."""


def sections_of(table: OrcTable, layout: Layout, address: int) -> tuple[bytes, bytes]:
    """(`.orc_unwind_ip` at ``address``, `.orc_unwind`) of entries, in their order.

    In the layout that they were read in, the bytes are those that were read; entries that another layout cannot express
    become unknown frames. Raises UsageError where code is too far away.
    """
    unknown = _bytes(layout, Entry(Kind.UNDEFINED))
    texts = []
    for value in table.distinct:
        number: int | None = value
        if layout is not table.layout:
            entry = decode(table.layout, value)
            number = encode(layout, entry) if entry is not None else None
        texts.append(unknown if number is None else number.to_bytes(layout.size, "little"))
    entries = b"".join([unknown if number == NO_RULE else texts[number] for number in table.numbers])
    return _slots(table.addresses, address), entries


def _bytes(layout: Layout, entry: Entry) -> bytes:
    value = encode(layout, entry)
    assert value is not None
    return value.to_bytes(layout.size, "little")


def _slots(addresses: "memoryview | array[int]", section: int) -> bytes:
    """Signed distances from each slot to its address."""
    try:
        return struct.pack(f"<{len(addresses)}i", *[address - section - 4 * i for i, address in enumerate(addresses)])
    except struct.error:
        raise UsageError("cannot write ORC", "code and section are more than 2 GiB apart") from None


def write(table: "UnwindTable", elf: "ElfFile", version: str) -> Written:
    """The sections `.orc_header`, `.orc_unwind_ip` and `.orc_unwind` of a table; the first two layouts have no header.

    Of a table that was read from ORC alone, all entries are written as they are, redundant ones too.
    """
    layout = next(layout for layout in X86_LAYOUTS if layout.name == version)
    if table.machine != EM_X86_64:
        raise UsageError(f"cannot write ORC for {elf.path}", "it is written for x86-64 only")
    only = table.functions.only
    if isinstance(only, OrcSource):
        source = only.table
        lost = Counter({"not in this layout": _inexpressible(source, layout)})
        addresses: memoryview | array[int] = source.addresses
        entries = sections_of(source, layout, source.addresses[0])[1]
        rows = only.compile_all()
    else:
        addresses, entries, lost, rows = _converted(table, layout)
    count = len(addresses)
    sections = [
        NewSection(
            ".orc_unwind_ip",
            SHT_PROGBITS,
            SHF_ALLOC,
            4,
            4 * count,
            lambda places: _slots(addresses, places[".orc_unwind_ip"]),
        ),
        NewSection(".orc_unwind", SHT_PROGBITS, SHF_ALLOC, 2, len(entries), lambda _places: entries),
    ]
    header = next((one for one, known in HEADERS.items() if known is layout and version not in "12"), None)
    if header is not None:
        text = header
        sections.insert(0, NewSection(".orc_header", SHT_PROGBITS, SHF_ALLOC, 4, len(text), lambda _places: text))
    return Written(sections if count else [], len(table), rows, {reason: n for reason, n in lost.items() if n})


def _inexpressible(source: OrcTable, layout: Layout) -> int:
    """How many entries a layout cannot express."""
    if layout is source.layout:
        return 0
    from undwarf.tables.orc.reader import counted

    counts = counted(source.numbers, len(source.distinct))
    lost = 0
    for i, value in enumerate(source.distinct):
        entry = decode(source.layout, value)
        lost += counts[i] if entry is None or encode(layout, entry) is None else 0
    return lost


def _converted(table: "UnwindTable", layout: Layout) -> "tuple[array[int], bytes, Counter[str], int]":
    """(addresses, entries, rows left out by reason, rows written) of any table.

    An entry is written where it differs from the one before it, and an unknown one at the end of each range of code, as
    objtool does.
    """
    unknown = _bytes(layout, Entry(Kind.UNDEFINED))
    known: dict[int, tuple[bytes, str]] = {NO_RULE: (unknown, "")}
    addresses = array("Q")
    entries: list[bytes] = []
    lost: Counter[str] = Counter()
    rows = 0
    before = unknown
    end = 0
    functions = table.functions
    for function in range(len(functions.starts)):
        places, rules = functions.rows(function)
        if before is not unknown and len(places) and places[0] != end:
            addresses.append(end)
            entries.append(unknown)
            before = unknown
        for address, rule in zip(places, rules, strict=True):
            found = known.get(rule)
            if found is None:
                found = known[rule] = _text(layout, table.rules.words(rule), unknown)
            text, reason = found
            if reason:
                lost[reason] += 1
            else:
                rows += rule != NO_RULE
            if text != before:
                addresses.append(address)
                entries.append(text)
                before = text
        end = functions.ends[function]
    if before is not unknown:
        addresses.append(end)
        entries.append(unknown)
    return addresses, b"".join(entries), lost, rows


def _text(layout: Layout, words: list[int], unknown: bytes) -> tuple[bytes, str]:
    """The bytes of a rule's entry; the reason if there is none."""
    entry = entry_of(words)
    if isinstance(entry, str):
        return unknown, entry
    value = encode(layout, entry)
    if value is None:
        return unknown, "not in this layout"
    return value.to_bytes(layout.size, "little"), ""
