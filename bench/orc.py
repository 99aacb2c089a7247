"""ORC tables of real kernels, read by us and by a few lines that know nothing of us: counts, rules, sizes, time.

    orc.py KERNEL_OR_MODULE...

Kernels may be vmlinux or bzImage files, modules .ko, .ko.xz or .ko.zst files. Every entry is compared with the bytes of
its section: the address by the slot (or its relocation), the rule by the fields, the lookup of its address, and the
bytes that we write of it. One line a file; the exit code is the number of files that differ.
"""

from __future__ import annotations

import struct
import sys
import time
from collections import Counter

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.images.packed_binary import open_binary
from undwarf.limits import DEFAULT
from undwarf.tables.from_orc import read_orc
from undwarf.tables.model import UnwindTable
from undwarf.tables.to_orc import sections_of

CFA = {
    "old": {5: "rsp{:+d}", 4: "rbp{:+d}", 8: "*(rbp{:+d})", 9: "*(rsp+0){:+d}", 2: "rdx", 3: "rdi", 6: "r10", 7: "r13"},
    "new": {
        3: "rsp{:+d}",
        4: "rbp{:+d}",
        10: "*(rbp{:+d})",
        9: "*(rsp+0){:+d}",
        2: "rdx",
        5: "rdi",
        6: "r10",
        7: "r13",
    },
}
OTHERS = ("rdx", "rdi", "r10", "r13")


def words(raw: bytes, layout: str) -> tuple[str, str, str, bool] | None:
    """(call frame address, return address, frame pointer, whether interrupted), None for an entry without a rule."""
    offset, bp_offset, flags = struct.unpack("<hhH", raw)
    base, bp, rest = flags & 15, flags >> 4 & 15, flags >> 8
    if layout in "12":
        kind, end, signal = rest & 3, rest >> (2 if layout == "1" else 3) & 1, rest >> 2 & 1
        if base == 0:
            return ("undefined", "undefined", "", False) if end else None
        signal = kind != 0 if layout == "1" else signal
    else:
        kind, signal = (rest & 7) - 2, rest >> 3 & 1
        if kind < 0:
            return ("undefined", "undefined", "", False) if kind == -1 else None
    cfa = CFA["new" if layout == "4" else "old"][base].format(offset).replace("*(rsp+0)+0", "*(rsp+0)")
    if cfa in OTHERS:
        cfa += "+0"
    saved = {0: "cfa+32" if kind == 1 else "same", 8 if layout == "4" else 1: f"cfa{bp_offset:+d}"}
    saved[4] = f"*(rbp{bp_offset:+d})"
    return cfa, ("cfa-8", "cfa+128", "cfa+0")[kind], saved[bp], bool(signal)


def slots(elf: ElfFile) -> list[tuple[str, int]]:
    """(section, address) that each slot means, by the file's own relocations where it is a module."""
    section = elf.section(".orc_unwind_ip")
    assert section is not None
    data = elf.section_data(section)
    assert data is not None
    if elf.kind != 1:
        found = struct.unpack(f"<{len(data) // 4}i", data)
        return [("", section.address + 4 * i + value & 2**64 - 1) for i, value in enumerate(found)]
    relocations = elf.section_data(".rela.orc_unwind_ip")
    symbols = elf.section_data(".symtab")
    assert relocations is not None and symbols is not None
    places: list[tuple[str, int]] = [("", 0)] * (len(data) // 4)
    for at, info, addend in struct.iter_unpack("<QQq", relocations):
        _name, _info, _other, index, value, _size = struct.unpack_from("<IBBHQQ", symbols, 24 * (info >> 32))
        places[at // 4] = elf.sections[index].name, value + addend
    return places


def check(path: str) -> int:
    """Prints a line for one file; how many entries differ."""
    elf = open_binary(path)
    raw = bytes(elf.section_data(".orc_unwind") or b"")
    entries = [raw[i : i + 6] for i in range(0, len(raw), 6)]
    before = time.process_time()
    defects = Defects()
    found = read_orc(elf, DEFAULT, defects)
    read = time.process_time() - before
    if found is None:
        print(f"{path.rpartition('/')[2]}: no ORC")
        return len(entries)
    table = UnwindTable.from_elf(elf, "orc", defects=defects)
    table.complete()
    whole = time.process_time() - before - read
    places = slots(elf)
    wrong = abs(len(entries) - len(found))
    layout = found.layout.name
    # Entries by place, the last of a place counts: in a module terminators come first of those at one place.
    bases: dict[str, int] = {}
    if elf.kind == 1:
        from undwarf.elf.section_layout import code_addresses

        bases = {elf.sections[index].name: at for index, at in code_addresses(elf).items()}
    there: dict[int, bytes] = {}
    for (name, offset), entry in zip(places, entries, strict=True):
        place = bases.get(name, 0) + offset
        if place not in there or words(entry, layout) is not None or words(there[place], layout) is None:
            there[place] = entry
    rules: Counter[str] = Counter()
    for place, entry in there.items():
        rule = table.rule_at(place)
        wanted = words(entry, layout)
        if rule is None or wanted is None:
            wrong += (rule is None) != (wanted is None)
            continue
        rules[rule.cfa] += 1
        got = rule.cfa, rule.return_address, rule.registers.get("rbp", "same") if rule.cfa != "undefined" else ""
        wrong += (*got, rule.signal) != wanted
    section = elf.section(".orc_unwind_ip")
    assert section is not None
    slots_made, entries_made = sections_of(found, found.layout, section.address)
    same = elf.kind == 1 or (slots_made == bytes(elf.section_data(section) or b"") and entries_made == raw)
    if elf.kind == 1:
        same = Counter(entries) == Counter(entries_made[i : i + 6] for i in range(0, len(entries_made), 6))
    print(
        f"{path.rpartition('/')[2]}: layout {layout}, {len(found):,} entries, {len(found.distinct)} distinct, "
        f"{wrong} differ, written {'the same' if same else 'DIFFERENT'}, read {read * 1000:.0f} ms, "
        f"table {whole * 1000:.0f} ms, "
        f"{len(table):,} stretches, {len(defects)} defects"
    )
    return wrong + (not same)


if __name__ == "__main__":
    sys.exit(sum(check(path) != 0 for path in sys.argv[1:]))
