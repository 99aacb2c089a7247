"""Types from damaged DWARF: small programs whose debugging sections and code are any bytes; all is asked for."""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.limits import Limits
from undwarf.types.resolver import Resolver
from undwarf.types.sources.from_dwarf import DwarfSource
from undwarf.types.sources.type_definitions import Definitions

LIMITS = Limits(types=20_000, dwarf_bytes=1 << 20, section_bytes=1 << 22, type_steps=512)
SECTIONS = (".debug_info", ".debug_abbrev", ".debug_loclists", ".debug_loc", ".debug_types", ".debug_addr", ".text")

C = """
typedef struct { unsigned a : 3, b : 5; union { long l; char c[8]; } u; double data[]; } packet_t;
struct node { struct node *next; int key; struct { short x, y; } at[4]; packet_t *p; int (*call)(struct node *); };
struct node head; static int table[4][8]; __thread int mine; enum color { red, green } shade;
__attribute__((noinline)) long walk(struct node *n, int k) {
    long s = 0;
    for (; n; n = n->next) { int twice = n->key * 2; s += twice + n->at[k & 3].y + table[k & 3][k & 7]; mine++; }
    return s;
}
__attribute__((noinline)) long use(packet_t *p, struct node **v) { p->b++; return p->u.l + v[p->a]->call(&head); }
int main(int argc, char **argv) { return (int)walk(&head, argc) + (argc > 9 ? (int)use(head.p, 0) : 0) + shade; }
"""
CXX = """
namespace n { struct A { int id; virtual ~A() {} }; struct M { long tag; }; enum class E : short { one };
class B : public A, virtual public M { public: double w; static int count; E e; };
template <class T> struct Box { T *first; T value; typedef Box<T> *link; }; }
int n::B::count; n::B b;
__attribute__((noinline)) double total(n::B &s, n::Box<int> &&x, n::Box<n::B *> *l) {
    return s.w + x.value + s.tag + l->value->id + n::B::count;
}
int main(int argc, char **) {
    n::Box<int> x{&argc, argc}; n::Box<n::B *> l{};
    return (int)total(b, (n::Box<int> &&)x, &l);
}
"""
BUILDS = (
    ("gcc", C, "c", "-O2"),
    ("gcc", C, "c", "-O0", "-gdwarf-4", "-fdebug-types-section"),
    ("g++", CXX, "cc", "-O2", "-fdebug-types-section"),
    ("clang", C, "c", "-O2"),
)


@cache
def programs() -> list[bytes]:
    """The programs that the compilers here make; without a compiler there is nothing to do."""
    made = []
    with tempfile.TemporaryDirectory() as place:
        for compiler, text, suffix, *flags in BUILDS:
            if shutil.which(compiler) is None:
                continue
            source = Path(place) / f"p.{suffix}"
            source.write_text(text)
            command = [compiler, "-g", *flags, "-o", f"{place}/p", str(source)]
            if subprocess.run(command, check=False, capture_output=True).returncode == 0:
                made.append((Path(place) / "p").read_bytes())
    return made


def contents(program: bytes) -> list[tuple[int, int]]:
    """(offset, size) of the sections that are changed."""
    elf = ElfFile.from_bytes(program)
    found = (elf.section(name) for name in SECTIONS)
    return [(one.offset, one.size) for one in found if one is not None]


def one_input(data: bytes) -> None:
    """The first byte selects the program, the rest replaces its sections. Only our own errors may leave."""
    if not data or not programs():
        return
    program = bytearray(programs()[data[0] % len(programs())])
    at = 1
    for offset, size in contents(bytes(program)):
        piece = data[at : at + size]
        program[offset : offset + len(piece)] = piece
        at += size
    try:
        look(bytes(program))
    except UndwarfError:
        return


def look(program: bytes) -> None:
    """Ask for everything that a report would."""
    elf = ElfFile.from_bytes(program, limits=LIMITS)
    source = DwarfSource.open(elf, limits=LIMITS)
    if source is None:
        return
    graph = source.graph
    for address in list(source.symbols.functions)[:30]:
        source.function_range(address)
        source.places(address + 4)
        source.prototype_at(address)
        source.function_places(address, address + 100)
        source.related(address)
    for places in list(source.symbols.variables.values())[:30]:
        source.global_at(places[0] + 4)
    source.thread_local_at(0)
    for name in ("walk", "malloc", "_Z5total"):
        source.prototype_named(name)
    Definitions(source.types.spaces, lambda _entry, name: name).by_name()
    for name in ("node", "std::node", "tree<int>"):
        source.types.named(name)
    for t in range(min(len(graph), 200)):
        graph.canonical(t)
        graph.parameters(t)
        for offset in (0, 4, 12, 1 << 40):
            graph.member_at(t, offset, 4)
            graph.value_at(t, offset, 8)
    resolver = Resolver(elf, source)
    for address, name in source.symbols.functions.items():
        if name in ("walk", "use") or name.startswith("_Z5total"):
            for step in range(0, 60, 3):
                resolver.sampled(address + step)
                resolver.producer(address + step)
                resolver.producer(address + step, trap_after=True)


def seeds() -> list[bytes]:
    """The sections of each program as they are."""
    return [
        bytes([k]) + b"".join(program[offset : offset + size] for offset, size in contents(program))
        for k, program in enumerate(programs())
    ] or [b"\0"]


if __name__ == "__main__":
    main(one_input, seeds())
