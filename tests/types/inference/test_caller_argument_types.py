"""Parameters that optimisation changed and DWARF does not describe, from the arguments of all callers."""

from pathlib import Path

import pytest
from tests.support.types.fakes import Fake, accesses, assemble, compiled
from tests.support.types.tracked import RDI

from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_encoding import CALLED, TAKEN
from undwarf.elf import ElfFile
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.address_references import AddressReferences
from undwarf.types.inference.caller_argument_types import CallerArgumentTypes
from undwarf.types.sources.data_symbols import DataSymbols
from undwarf.types.sources.type_source import Place, PlaceKind

SOURCE = r"""
#define NOINLINE __attribute__((noinline))
struct timer { long due; int at, fired; };
struct loop { long turns; struct timer **heap; unsigned n; };
static NOINLINE void down(struct loop *l, unsigned at)
{ struct timer *t = l->heap[at];
  for (unsigned child; (child = 2 * at + 1) < l->n; at = child)
  { if (child + 1 < l->n && l->heap[child + 1]->due < l->heap[child]->due) child++;
    if (t->due <= l->heap[child]->due) break;
    l->heap[at] = l->heap[child]; l->heap[at]->at = at; }
  l->heap[at] = t; t->at = at; }
NOINLINE void remove_first(struct loop *l) { l->heap[0] = l->heap[--l->n]; down(l, 0); l->turns++; }
NOINLINE void changed(struct loop *l, struct timer *t) { t->fired++; down(l, t->at); l->turns += 2; }
int main(int argc, char **argv)
{ struct timer a = { argc }, b = { 2 }, c = { 3 }, *heap[] = { &a, &b, &c }; struct loop l = { 0, heap, 3 };
  changed(&l, &b); remove_first(&l); return l.turns; }
"""


def test_an_array_passed_instead_of_its_container_is_known(tmp_path: Path) -> None:
    program = compiled(SOURCE, "gcc", "-O2", tmp_path)
    names = DataSymbols(ElfFile.open(program)).functions.values()
    clone = next((name for name in names if name.startswith("down.")), None)
    if clone is None:
        pytest.skip("this gcc passes the whole")
    found = [one for one in accesses(program, clone) if one.countable]
    assert {(one.type, one.field) for one in found} == {
        ("struct timer*", ""),
        ("struct timer", "due"),
        ("struct timer", "at"),
    }


class Sites(AddressReferences):
    """What calls a function, as it is given."""

    def __init__(self, *sites: tuple[int, int]) -> None:
        self._sites = list(sites)

    def sites_of(self, low: int) -> list[tuple[int, int]]:
        return self._sites


class Calls:
    """A function at 0 that loads through its first parameter, and two that call it: the first with a pointer to
    ``first``, the second with one to ``second``."""

    def __init__(self, fake: Fake, tmp_path: Path) -> None:
        self.fake = fake
        self.code = assemble("f: mov 8(%rdi),%rax; ret; nop; call f; ret; nop; call f; ret", tmp_path)
        listing = MACHINE.listing(self.code, 0)
        self.sites = [one.address for one in listing if "call" in one.text]
        self.bounds = [(0, self.sites[0]), (self.sites[0], self.sites[1]), (self.sites[1], len(self.code))]
        fake.takes()

    def given(self, *types: int, kind: int = CALLED, external: bool = False) -> dict[int, int]:
        fake = self.fake
        fake.prototypes[0] = fake.prototypes[0]._replace(external=external)
        fake.variables = [
            Place("v", fake.graph.pointer_to(t), PlaceKind.REGISTER, RDI, 0, *self.bounds[k])
            for k, t in enumerate(types, 1)
        ]
        # A variable of the function's own, so that there are some.
        fake.variables.append(Place("n", fake.long, PlaceKind.REGISTER, 3, 0, *self.bounds[0]))
        program = ProgramContext(fake, MACHINE, complete=False)

        def flow_of(address: int) -> tuple[FunctionFlow, int, int]:
            low, high = next((low, high) for low, high in self.bounds if low <= address < high)
            return FunctionFlow(MACHINE.listing(self.code[low:high], low), MACHINE), low, high

        tracker = Tracker(program, *flow_of(0))
        sites = Sites(*((kind, site) for site in self.sites))
        return CallerArgumentTypes(program, sites, flow_of).of(0, tracker)


def test_arguments_of_all_callers_type_a_parameter(fake: Fake, tmp_path: Path) -> None:
    calls = Calls(fake, tmp_path)
    assert calls.given(fake.node, fake.node) == {RDI: fake.node}


def test_callers_that_pass_different_types_are_no_evidence(fake: Fake, tmp_path: Path) -> None:
    calls = Calls(fake, tmp_path)
    assert calls.given(fake.item, fake.item) == {RDI: fake.item}
    assert calls.given(fake.node, fake.item) == {}
    assert calls.given(fake.node) == {}


def test_external_functions_and_callbacks_have_unknown_callers(fake: Fake, tmp_path: Path) -> None:
    calls = Calls(fake, tmp_path)
    assert calls.given(fake.node, fake.node, external=False, kind=CALLED) == {RDI: fake.node}
    assert calls.given(fake.node, fake.node, external=True) == {}
    assert calls.given(fake.node, fake.node, kind=TAKEN) == {}
