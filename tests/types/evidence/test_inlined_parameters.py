"""Parameters of inlined functions with empty ranges, which are types of addresses all the same."""

from pathlib import Path

import pytest
from tests.support.types.fakes import accesses, compiled

SOURCE = r"""
#define NOINLINE __attribute__((noinline, noclone))
struct item { long pad[6]; int weight; };
struct hold { struct item *item; };
static inline struct hold *held(void *room) { return room; }
static inline int inner(struct hold *h, int k) { return h->item->weight + k; }
static inline int weigh(struct hold *h, int k) { return inner(h, k); }
NOINLINE int invoked(void *room, int *k) { return weigh(held(room), *k * 2); }
static inline unsigned long first(const void *p) { return *(const unsigned long *)p; }
NOINLINE unsigned long bytes(const unsigned char *room) { return first(room) * 3; }
int main(int argc, char **argv)
{ struct item i = { { 0 }, argc }; struct hold h = { &i };
  return invoked(&h, &argc) + bytes((unsigned char *)argv[0]); }
"""


@pytest.fixture(scope="module", params=["-O1", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, "gcc", request.param, tmp_path_factory.mktemp("at_once"))


def test_an_inlined_parameter_types_an_address(program: Path) -> None:
    found = {f"{one.type}.{one.field}" for one in accesses(program, "invoked") if one.typed}
    assert found == {"struct hold.item", "struct item.weight", "int."}


def test_inlined_parameters_count_only_as_pointers_to_objects(program: Path) -> None:
    """A helper that reads bytes as a number is no reason to forget that they are bytes."""
    found = {one.type for one in accesses(program, "bytes") if one.typed}
    assert found == {"unsigned char"}
