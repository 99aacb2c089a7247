"""Units, abbreviations and range lists from any bytes: chains of functions keep their promises."""

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from mutate import main

from undwarf.column import zeros
from undwarf.dwarf.line_lookup import DebugLines
from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.limits import Limits

LIMITS = Limits(dwarf_ranges=5000, dwarf_rows=20_000, dwarf_bytes=1 << 18, section_bytes=1 << 22)
NONE = 0xFFFFFFFF
NAMES = ("info", "abbrev", "ranges", "rnglists", "addr", "str", "str_offsets", "line", "line_str", "types")
SOURCE = """
struct s { int a; struct s *next; };
static inline int square(int x) { return x * x + 1; }
static inline int cube(int x) { int r = square(x) * x; for (int i = 0; i < x; i++) r += square(i); return r; }
__attribute__((noinline)) int work(struct s *p, int n) { int t = 0; while (n--) t += cube(n) + p->a; return t; }
__attribute__((cold)) int rare(int x) { return cube(x) - 1; }
int main(int c, char **v) { struct s one = {c, 0}; return work(&one, c) + (c > 5 ? rare(c) : 0); }
"""
BUILDS = ("gcc -O2 -g", "gcc -O2 -gdwarf-4 -fdebug-types-section", "gcc -O2 -gdwarf-2", "clang -O2 -g", "gcc -O2 -g -c")


def one_input(data: bytes) -> None:
    """The first byte is the kind: 0 a program, 1 big-endian, 2 a split file; then the sizes (H) and the sections."""
    shape = data[0] if data else 0
    head = data[1 : 1 + 2 * len(NAMES)].ljust(2 * len(NAMES), b"\0")
    sizes = struct.unpack(f"<{len(NAMES)}H", head)
    at = 1 + 2 * len(NAMES)
    sections = {}
    for name, size in zip(NAMES, sizes, strict=True):
        sections[name] = data[at : at + size]
        at += size
    elf = ElfFile.from_bytes(made_elf(sections, big=bool(shape & 1)), limits=LIMITS)
    split = [ElfFile.from_bytes(made_elf(sections, big=bool(shape & 1), end=".dwo"), "x.dwo")] if shape & 2 else []
    try:
        lines = DebugLines.open(elf, find_split=lambda *_: split, limits=LIMITS)
    except UndwarfError:
        return
    if lines is None:
        return
    wanted = [0, 1, 0x40, 0x1000, 0x1040, 0x1130, 0x1150, 0x1200, 1 << 32, (1 << 64) - 1]
    addresses = zeros("Q", len(wanted))
    for i, address in enumerate(wanted):
        addresses[i] = address
    found = lines.inline_chains(addresses)
    first = found.first.tolist()
    assert first[0] == 0 and first == sorted(first) and first[-1] == len(found.name), "chains are all entries"
    assert all(number == NONE or number < len(found.names) for number in found.name), "names exist"
    assert all(number == NONE or number < len(found.files) for number in found.file), "files exist"
    lines.release()
    again = lines.inline_chains(addresses)
    assert [again.chain(i) for i in range(len(wanted))] == [found.chain(i) for i in range(len(wanted))]


def made_elf(sections: dict[str, bytes], *, big: bool = False, end: str = "") -> bytes:
    """An ELF file of 64 bits that has these sections, and all code addresses in one segment."""
    mark = ">" if big else "<"
    names = bytearray(b"\0.shstrtab\0")
    rows = [struct.pack(f"{mark}IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    body = bytearray()
    start = 64 + 56
    for name, data in sections.items():
        rows.append(struct.pack(f"{mark}IIQQQQIIQQ", len(names), 1, 0, 0, start + len(body), len(data), 0, 0, 1, 0))
        names += f".debug_{name}{end}".encode() + b"\0"
        body += data
    rows.append(struct.pack(f"{mark}IIQQQQIIQQ", 1, 3, 0, 0, start + len(body), len(names), 0, 0, 1, 0))
    body += names
    table = start + len(body)
    ident = b"\x7fELF\2" + (b"\2" if big else b"\1") + b"\1" + bytes(9)
    words = (2, 62, 1, 0, 64, table, 0, 64, 56, 1, 64, len(rows), len(rows) - 1)
    segment = struct.pack(f"{mark}IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 40, 1 << 40, 4096)
    return ident + struct.pack(f"{mark}HHIQQQIHHHHHH", *words) + segment + bytes(body) + b"".join(rows)


def packed(sections: dict[str, bytes], shape: int = 0) -> bytes:
    """Sections as :func:`one_input` reads them."""
    sizes = [len(sections.get(name, b"")) for name in NAMES]
    return bytes((shape,)) + struct.pack(f"<{len(NAMES)}H", *sizes) + b"".join(sections.get(n, b"") for n in NAMES)


def seeds() -> list[bytes]:
    """What the compilers here make of a small program; a unit made by hand."""
    unit = b"\x01" + b"\x02f\0" + struct.pack("<QQ", 0x1000, 0x100) + b"\0\0"
    abbreviations = b"\x01\x11\x01\0\0\x02\x2e\x01\x03\x08\x11\x01\x12\x07\0\0\0"
    body = struct.pack("<HIB", 4, 0, 8) + unit
    found = [packed({"info": struct.pack("<I", len(body)) + body, "abbrev": abbreviations})]
    with tempfile.TemporaryDirectory() as place:
        for command in BUILDS:
            words = command.split()
            if shutil.which(words[0]) is None:
                continue
            Path(place, "a.c").write_text(SOURCE)
            done = subprocess.run([*words, "a.c", "-o", "out"], cwd=place, capture_output=True, check=False)
            if done.returncode:
                continue
            elf = ElfFile.open(f"{place}/out")
            sections = {name: bytes(elf.section_data(f".debug_{name}") or b"")[:0xFFFF] for name in NAMES}
            found += [packed(sections), packed(sections, 2)]
    return found


if __name__ == "__main__":
    main(one_input, seeds())
