"""Functions that BTF leaves out, and objects whose addresses they take."""

from pathlib import Path

import pytest
from tests.support.types.btf_programs import answers, built

from undwarf.elf import ElfFile
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver

SOURCE = r"""
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
typedef struct { double x, y, z; } point;
typedef struct { point from, to; } way;
struct board { int w, h; unsigned char *bytes; float *depth; };
struct tree { struct tree *left, *right; int key; };
struct world { int n; long asked; point sky; };
NOINLINE static point turned(point a) { point b = { -a.y, a.x, a.z }; return b; }
NOINLINE static int asked(struct world *w, const way *r) { w->asked++; return r->to.y < r->from.y; }
NOINLINE point seen(struct world *w, const way *r, int deep)
{ if (!asked(w, r)) return w->sky; point c = { r->to.x, deep, 2 };
  if (deep < 2) { way next = { r->to, turned(r->from) }; point d = seen(w, &next, deep + 1); c.x += d.x; c.z -= d.y; }
  return c; }
NOINLINE void drawn(struct world *w, struct board *b)
{ for (int i = 0; i < b->h; i++) { way r = { { 0, 1, -5 }, turned((point){ i, b->w, 1 }) }; point c = seen(w, &r, 0);
    b->bytes[i] = c.x + c.z; b->depth[i] = r.to.z; } }
int main(int argc, char **argv)
{ struct world w = { argc }; w.sky.x = argc; struct board b = { 3, argc }; b.bytes = malloc(9); b.depth = malloc(36);
  drawn(&w, &b); return b.bytes[argc] + (b.depth[argc] > 1); }
"""


def without_prototypes(program: Path, *functions: str) -> Path:
    """A program whose BTF leaves out some functions."""
    section = next(one for one in ElfFile.open(program).sections if one.name == ".BTF")
    data = bytearray(program.read_bytes())
    begin, end = section.offset, section.offset + section.size
    for name in functions:
        at = data.index(b"\0" + name.encode() + b"\0", begin, end) + 1
        data[at : at + len(name)] = b"?" * len(name)
    program.write_bytes(data)
    return program


@pytest.fixture(scope="module", params=["-O1", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return without_prototypes(built(tmp_path_factory.mktemp("left"), request.param, SOURCE), "seen", "drawn")


def test_uses_in_a_loop_type_its_argument(program: Path) -> None:
    found = answers(program, "drawn")
    assert {"struct board.w", "struct board.h", "struct board.bytes", "struct board.depth"} <= found


def test_a_member_type_named_by_a_typedef_is_a_member(program: Path) -> None:
    found = answers(program, "drawn", "frame")
    assert {"way.from.x", "way.from.z", "way.to.z"} <= found


def test_the_order_of_queried_functions_does_not_matter(program: Path) -> None:
    resolver = open_resolver(ElfFile.open(program))
    assert isinstance(resolver, Resolver)
    symbols = resolver.source.symbols
    types: set[str] = set()
    for function in ("seen", "drawn"):
        low = next(address for address, name in symbols.functions.items() if name == function)
        flow = resolver.flow_at(low)
        assert flow is not None
        for k in range(len(flow.instructions)):
            found = resolver.at(flow.instructions.address_of(k))
            types.update(f"{one.type}.{one.field}".rstrip(".") for one in found if function == "drawn" and one.typed)
    assert {"struct board.w", "way.from.x"} <= answers(program, "drawn") - {"?"} <= types


def test_an_object_copied_to_the_return_buffer_has_the_return_type(program: Path) -> None:
    found = answers(program, "seen", "tracking")
    assert {"point.x", "point.z"} <= found
    assert "double" not in found
    assert {"point.x", "point.z"} <= answers(program, "drawn", "frame")
