"""Accesses to parts: bytes of an integer, text stored in an object, wide stores that clear memory."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
struct node { struct node *next; long key; struct node *other; long more[4]; };
long kept;
NOINLINE int backwards(const unsigned char *p, const unsigned char *low, unsigned pattern, int times)
{
    int n = 0;
    while (times--) {
        unsigned turned = pattern << 8 * times | pattern >> (32 - 8 * times);
        __asm__ volatile("" : "+m"(turned));
        const unsigned char *b = (const unsigned char *)(&turned) + 3;
        while (p > low && p[-1] == *b) { p--; b--; n++; }
    }
    return n;
}
NOINLINE void put(struct node *n, const char *text, long size)
{ char *to = (char *)&n->other; memcpy(to, text, size); to[size] = 0; kept = (long)to; }
NOINLINE void clears(struct node *n) { __asm__ volatile("movl $0, 4(%0)" : : "r"(n) : "memory"); }
NOINLINE void writes(struct node *n) { __asm__ volatile("movl $1, 4(%0)" : : "r"(n) : "memory"); }
int main(int argc, char **argv)
{
    struct node n;
    put(&n, argv[0], argc); clears(&n); writes(&n);
    return backwards((unsigned char *)argv[0] + argc, (unsigned char *)argv[0], argc, argc);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, "gcc", "-O2", tmp_path_factory.mktemp("pieces"))


def test_bytes_of_an_integer_in_the_frame_are_iterated(program: Path) -> None:
    read = [one for one in accesses(program, "backwards") if one.size == 1 and one.access == "r"]
    assert len(read) >= 2
    assert {one.type for one in read} == {"unsigned char"}


def test_text_stored_in_an_object_is_text(program: Path) -> None:
    ends = [one for one in accesses(program, "put") if one.size == 1 and one.access == "w"]
    assert [one.type for one in ends] == ["char"]


def test_pointers_are_written_in_part_only_to_clear_them(program: Path) -> None:
    said = [
        [(one.type, one.offset, one.field) for one in accesses(program, name) if one.size == 4]
        for name in ("clears", "writes")
    ]
    assert said == [[("struct node", 4, "next")], [(None, None, "")]]
