"""The API: data types of a recording, and of single instructions."""

from pathlib import Path

import pytest
from tests.support.types.programs import build
from tests.support.types.recordings import memory_recording, place

import undwarf

LIST = """
struct node { long key; struct node *next; };
__attribute__((noinline)) long sum(struct node *n) { long s = 0; for (; n; n = n->next) s += n->key; return s; }
int main(int argc, char **argv) { return sum((struct node *)argv); }
"""


def test_data_types_of_a_recording_and_of_single_instructions(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O1")
    key, following = (place(binary, "sum", "struct node", member, "r") for member in ("key", "next"))
    data = memory_recording(tmp_path, binary, [{"ip": one} for one in (key, following, key)])
    with undwarf.open(data) as opened:
        found = opened.data_types(weight="samples")
    (row,) = found.types
    assert (row.name, row.size, row.counts.weight, found.typed, found.total) == ("struct node", 16, 3, 3, 3)
    assert {field.field: field.counts.samples for field in row.fields.values()} == {"key": 2, "next": 1}
    assert [field.functions for field in row.fields.values()] == [{"sum": 2}, {"sum": 1}]
    (one,) = undwarf.accesses(binary, [following])
    assert (one.type, one.field, one.offset, one.access) == ("struct node", "next", 8, "r")


def test_a_binary_without_types_is_an_error(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O1", "-g0")
    with pytest.raises(undwarf.NothingUsable, match="no type information"):
        undwarf.accesses(binary, [0x1000])
