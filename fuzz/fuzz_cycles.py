"""Types that refer to themselves: references in the DWARF and BTF of small programs point to any other type.

Bytes changed at random hardly ever make one, and a type inside of itself is what recursion on types must end at.
"""

import re
import shutil
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import fuzz_btf
from fuzz_types import CXX, C, look
from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError

UNIONS = """
typedef union v0 { long x; long y; double d[2]; } v0;
typedef union v { v0 a; v0 b; struct { int n; v0 each[4]; } c; struct { short s[12]; } d; } v;
struct rest { int count; v *next; struct rest *link; v each[]; };
__attribute__((noinline)) long walk(v *p, long n) {
    long t = 0;
    for (long i = 0; i < n; i++) t += ((long *)p)[i * 3] + ((int *)p)[i * 5 + 1] + p[i].c.each[i & 3].x;
    return t;
}
__attribute__((noinline)) long use(struct rest *r, int k) {
    long t = 0;
    for (; r; r = r->link) t += r->each[k].a.x + r->next->d.s[k & 7] + ((short *)r)[k * 7 + 3];
    return t;
}
int main(int argc, char **argv) {
    v b[4];
    __asm__ volatile("" ::"r"(&b) : "memory");
    return walk(b, argc) + use((void *)b, 1);
}
"""
TEMPLATES = """
typedef void (*F0)(int); typedef F0 (*F1)(F0, F0); typedef F1 (*F2)(F1, F1);
template <class T> struct S { T x; long y; S *next; }; template <class T> struct W : S<T> { S<S<T>> in; };
__attribute__((noinline)) long walk(W<F2> *p) {
    long t = 0;
    for (S<F2> *s = p; s; s = s->next) t += s->y;
    return t + p->in.y;
}
int main() { W<F2> s{}; __asm__ volatile("" ::"r"(&s) : "memory"); return walk(&s); }
"""
BUILDS = (
    ("gcc", UNIONS, "c", "-O1"),
    ("gcc", UNIONS, "c", "-O2", "-gdwarf-4"),
    ("clang", TEMPLATES, "cc", "-O1", "-gsimple-template-names"),
    ("g++", CXX, "cc", "-O2"),
    ("gcc", C, "c", "-O2"),
)
_UNIT = re.compile(r"Compilation Unit @ offset (?:0x)?([0-9a-f]+):")
_ENTRY = re.compile(r"^ <[0-9a-f]+><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")
_REFERENCE = re.compile(r"^    <([0-9a-f]+)>\s+DW_AT_(?:type|specification|abstract_origin)\s*: <0x([0-9a-f]+)>")

Place = tuple[int, int]
"""Where four bytes of a reference are in the file, and what they count from."""


@cache
def programs() -> list[tuple[bytes, list[Place], list[int]]]:
    """What the compilers here make: the file, its references, the offsets of its entries."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for compiler, text, suffix, *flags in BUILDS:
            if shutil.which(compiler) is None or shutil.which("objdump") is None:
                continue
            source, binary = Path(folder) / f"p.{suffix}", Path(folder) / "p"
            source.write_text(text)
            command = [compiler, "-g", "-w", *flags, "-o", str(binary), str(source)]
            if subprocess.run(command, check=False, capture_output=True).returncode:
                continue
            listed = subprocess.run(["objdump", "--dwarf=info", binary], capture_output=True, text=True, check=True)
            made.append(graph_of(binary.read_bytes(), listed.stdout))
    return made


def graph_of(program: bytes, listed: str) -> tuple[bytes, list[Place], list[int]]:
    """A program with its references and entries as objdump lists them."""
    section = ElfFile.from_bytes(program).section(".debug_info")
    assert section is not None, "compiled with debugging information"
    unit, references, entries = 0, [], []
    for line in listed.splitlines():
        if found := _UNIT.search(line):
            unit = int(found[1], 16)
        elif found := _ENTRY.match(line):
            entries.append(int(found[1], 16))
        elif found := _REFERENCE.match(line):
            at = section.offset + int(found[1], 16)
            if int.from_bytes(program[at : at + 4], "little") == int(found[2], 16) - unit:
                references.append((at, unit))
    return program, references, entries


def one_input(data: bytes) -> None:
    """The first byte selects the program; then two bytes each select a reference and its target. Only our own errors
    may leave."""
    if not data:
        return
    changes = list(struct.iter_unpack("<HH", data[1 : 1 + (len(data) - 1) // 4 * 4]))
    known = programs()
    if data[0] % (len(known) + 1) == len(known):
        fuzz_btf.one_input(changed_btf(changes))
        return
    program, references, entries = known[data[0] % (len(known) + 1)]
    changed = bytearray(program)
    for which, to in changes:
        at, unit = references[which % len(references)]
        changed[at : at + 4] = (max(entries[to % len(entries)] - unit, 0)).to_bytes(4, "little")
    try:
        look(bytes(changed))
    except UndwarfError:
        return


def changed_btf(changes: list[tuple[int, int]]) -> bytes:
    """The BTF that :mod:`fuzz_btf` starts from, words of its types replaced by numbers of types."""
    (seed,) = fuzz_btf.seeds()
    data = bytearray(seed)
    head, size = 24, struct.unpack_from("<I", seed, 12)[0]
    for which, to in changes:
        struct.pack_into("<I", data, head + 4 * (which % (size // 4)), to % 24)
    return bytes(data)


def seeds() -> list[bytes]:
    """Each program with some references changed."""
    return [
        bytes([number]) + b"".join(struct.pack("<HH", 37 * k + turn, 101 * k * turn) for k in range(6))
        for number in range(len(programs()) + 1)
        for turn in range(8)
    ]


if __name__ == "__main__":
    main(one_input, seeds())
