"""Slots of the global offset table: variables and callees that are reached through them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.elf import ElfFile
from undwarf.types.resolver import Resolver
from undwarf.types.sources.from_dwarf import DwarfSource
from undwarf.types.sources.got import OffsetTable

SOURCE = """
#include <stdlib.h>
struct node { struct node *next; long key; };
struct node head = {&head, 3};
extern struct node elsewhere;
struct node *pick(long k);
__attribute__((noinline)) struct node *chosen(long k) { return k > 3 ? &head : head.next; }
long global(void) { return head.key; }
long outside(void) { return elsewhere.key; }
long called(long k) { return chosen(k)->key; }
long imported(long k) { return pick(k)->key; }
long often(long k) {
    void *p;
    __asm__ volatile("movq pick@GOTPCREL(%%rip), %0" : "=r"(p));
    for (; k > 1; k >>= 1) k += ((struct node *(*)(long))p)(k)->key;
    return k;
}
long goes(struct node *n, const char *c) {
    static const void *const to[] = {&&one, &&two, &&end};
    long sum = 0;
    goto *to[*c++ & 3];
one: sum += n->key; goto *to[*c++ & 3];
two: sum -= n->next->key; goto *to[*c++ & 3];
end: return sum;
}
long ends(struct node *n, long k) { if (k) { n = (struct node *)k; abort(); } return n->key; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    place = tmp_path_factory.mktemp("got")
    (place / "p.c").write_text(SOURCE)
    command = ["gcc", "-g", "-O2", "-fPIC", "-fno-plt", "-shared", "-o", "p.so", "p.c"]
    subprocess.run(command, check=True, cwd=place)
    return place / "p.so"


def answers(path: Path, function: str) -> set[tuple[str, str]]:
    """(type, member) of all typed accesses of a function."""
    elf = ElfFile.open(path)
    source = DwarfSource.open(elf)
    assert source is not None
    resolver = Resolver(elf, source)
    low = next(at for at, name in source.symbols.functions.items() if name == function)
    _low, high = source.function_range(low) or (0, 0)
    found = (access for at in range(low, high) for access in resolver.at(at) if access.reason != "no memory access")
    return {(str(access.type), access.field) for access in found if access.typed}


def test_variables_of_this_and_other_files_are_found_by_slot(library: Path) -> None:
    assert ("struct node", "key") in answers(library, "global")
    assert ("struct node", "key") in answers(library, "outside")


def test_callees_return_their_prototypes_type(library: Path) -> None:
    assert ("struct node", "key") in answers(library, "called")
    assert ("struct node", "key") in answers(library, "imported")


def test_callees_called_through_a_register_are_known(library: Path) -> None:
    assert answers(library, "often") == {("struct node", "key")}


def test_a_noreturn_callee_has_no_successor(library: Path) -> None:
    assert ("struct node", "key") in answers(library, "ends")


def test_jumps_go_to_their_relocations_target(library: Path) -> None:
    elf = ElfFile.open(library)
    source = DwarfSource.open(elf)
    assert source is not None
    low = next(at for at, name in source.symbols.functions.items() if name == "goes")
    flow = Resolver(elf, source).flow_at(low)
    assert flow is not None and not flow.open and flow.tables
    assert ("struct node", "next") in answers(library, "goes")


def test_slots_have_addresses_or_names(library: Path) -> None:
    elf = ElfFile.open(library)
    table = OffsetTable(elf)
    source = DwarfSource.open(elf)
    assert source is not None
    tables = [one for one in elf.sections if one.name.startswith(".got")]
    slots = [slot for one in tables for slot in range(one.address, one.address + one.size, 8)]
    by_name = {table.name(slot): slot for slot in slots}
    assert table.get(by_name["head"]) == source.symbols.variables["head"][0]
    assert table.get(by_name["pick"]) is None
    assert table.function(by_name["pick"]) == by_name["pick"]
    assert table.function(1) is None


def test_a_file_without_segments_has_no_slots() -> None:
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + (3).to_bytes(2, "little") + (62).to_bytes(2, "little") + bytes(44)
    assert OffsetTable(ElfFile.from_bytes(head)).get(0x1000) is None
