"""Bit fields that an instruction's immediate mask selects."""

from pathlib import Path

import pytest
from tests.support.types.programs import answers, build

PROGRAM = """
struct flags {
    unsigned a : 1, b : 1, c : 1, d : 3, e : 2, f : 9, g : 1;
    unsigned char z;
    unsigned long j : 40, k : 1, l : 23;
};
#define ONE(name, text) __attribute__((noinline)) void name(struct flags *p) { __asm__ volatile(text : "+m"(*p)); }
ONE(or, "orb $2, %0")
ONE(and, "andb $0xfb, %0")
ONE(xor, "xorb $0xc0, %0")
ONE(test, "testb $0x38, %0")
ONE(both, "orb $3, %0")
ONE(bt, "btl $16, %0")
ONE(bts, "btsl $2, %0")
ONE(btr, "btrl $33, %0")
ONE(btc, "btcl $15, %0")
ONE(locked, "lock orb $4, %0")
ONE(none, "orl $0, %0")
ONE(all, "orb $0xff, %0")
ONE(stored, "movb $2, %0")
ONE(compared, "cmpb $2, %0")
struct row { long n; struct flags at[4]; } rows;
__attribute__((noinline)) void far(struct flags *p) { p->k = 1; }
__attribute__((noinline)) void row(struct row *r, long k) { r->at[k].b = 1; }
int main(void) {
    struct flags *p = rows.at;
    or(p), and(p), xor(p), test(p), both(p), bt(p), bts(p), btr(p), btc(p), locked(p), none(p), all(p), stored(p);
    compared(p), far(p), row(&rows, rows.n);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("masks"), PROGRAM, "masks.c", "-O2")


@pytest.mark.parametrize(
    ("function", "field", "candidates"),
    [
        ("or", "b", []),
        ("and", "c", []),
        ("xor", "e", []),
        ("test", "d", []),
        ("both", "a", ["a", "b"]),
        ("bt", "f", []),
        ("bts", "c", []),
        ("btr", "b", []),
        ("btc", "f", []),
        ("locked", "c", []),
        ("all", "a", ["a", "b", "c", "d", "e"]),
        ("stored", "a", ["a", "b", "c", "d", "e"]),
        ("compared", "a", ["a", "b", "c", "d", "e"]),
        ("far", "k", []),
    ],
)
def test_a_mask_selects_bit_fields(program: Path, function: str, field: str, candidates: list[str]) -> None:
    (found,) = [one for one in answers(program, function) if one["type"]]
    assert (found["type"], found["field"], found["candidates"]) == ("struct flags", field, candidates)


def test_a_mask_selects_an_elements_bit_field(program: Path) -> None:
    found = [one for one in answers(program, "row") if one["type"]]
    assert [(one["type"], one["field"], one["candidates"]) for one in found] == [("struct row", "at[].b", [])]
