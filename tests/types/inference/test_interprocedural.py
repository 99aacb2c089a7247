"""Parameters that nothing names, from the arguments of callers."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_DYN
from undwarf.limits import DEFAULT, Limits
from undwarf.types import resolver
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference import function_inference, interprocedural
from undwarf.types.inference.address_references import AddressReferences
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver

SOURCE = r"""
#include <stdlib.h>
struct node { struct node *next; long key; int hits; };
struct other { int a, b; long c; };
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE static int by_key(const void *a, const void *b)
{ const struct node *x = a, *y = b; return (x->key > y->key) - (x->key < y->key); }
NOINLINE static long only_nodes(void *p) { struct node *n = p; return n->key + n->hits; }
NOINLINE static long anything(void *p) { return *(long *)((char *)p + 8); }
NOINLINE static void *give(struct node *n) { return n->next; }
NOINLINE long sorted(struct node *v, int n) { qsort(v, n, sizeof *v, by_key); return v->key; }
NOINLINE long walk(struct node *v, struct other *o)
{ struct node *n = give(v); n->hits++; return only_nodes(v) + only_nodes(v->next) + anything(v) + anything(o); }
NOINLINE static long visit(void *p) { struct other *o = p; return o->c + o->a; }
NOINLINE long each(struct other *v, int n, long (*f)(void *))
{ long s = 0; for (int i = 0; i < n; i++) s += f(v + i); return s; }
int main(int argc, char **argv)
{ struct node *v = calloc(argc, sizeof *v); struct other *o = calloc(1, sizeof *o); v->next = v;
  return sorted(v, argc) + walk(v, o) + each(o, 1, visit); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("callers")
    (folder / "a.c").write_text(SOURCE)
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    done = subprocess.run(["gcc", "-O1", "-gbtf", "-o", folder / "a", folder / "a.c"], capture_output=True, check=False)
    if done.returncode or ElfFile.open(folder / "a").section_data(".BTF") is None:
        pytest.skip("this gcc makes no BTF")
    if ElfFile.open(folder / "a").machine != 62:
        pytest.skip("for x86-64 only")
    return folder / "a"


def answers(program: Path, function: str, limits: Limits = DEFAULT) -> set[str]:
    """The types and members that a function's memory accesses touch; "?" for unknown ones."""
    elf = ElfFile.open(program, limits=limits)
    resolver = open_resolver(elf, limits=limits)
    assert isinstance(resolver, Resolver)
    symbols = resolver.source.symbols
    low = next(address for address, name in symbols.functions.items() if name == function)
    flow = resolver.flow_at(low)
    assert flow is not None
    found = [one for k in range(len(flow.instructions)) for one in resolver.at(flow.instructions.address_of(k))]
    return {f"{one.type}.{one.field}" if one.typed else "?" for one in found if one.countable}


def test_a_sorted_array_types_the_comparison_function(program: Path) -> None:
    assert answers(program, "by_key") == {"struct node.key"}


def test_arguments_that_all_callers_pass_type_a_parameter(program: Path) -> None:
    assert answers(program, "only_nodes") == {"struct node.key", "struct node.hits"}


def test_a_function_without_inference_is_followed_once(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[int] = []

    class Counted(Tracker):
        def __init__(self, program: ProgramContext, flow: FunctionFlow, low: int, *rest: Any) -> None:
            followed.append(low)
            super().__init__(program, flow, low, *rest)

    monkeypatch.setattr(interprocedural, "Tracker", Counted)
    monkeypatch.setattr(function_inference, "Tracker", Counted)
    monkeypatch.setattr(resolver, "Tracker", Counted)
    assert answers(program, "give") == {"struct node.next"}
    assert len(followed) == 1


def test_callers_that_pass_different_types_leave_it_unknown(program: Path) -> None:
    assert answers(program, "anything") == {"?"}
    assert answers(program, "only_nodes") == {"struct node.key", "struct node.hits"}


def test_an_argument_passed_on_types_the_callee(program: Path) -> None:
    assert answers(program, "visit") == {"struct other.c", "struct other.a"}


def test_a_returned_void_pointer_has_its_callees_type(program: Path) -> None:
    assert answers(program, "walk") == {"struct node.hits", "struct node.next"}


def test_code_that_is_too_large_is_not_searched(program: Path) -> None:
    limits = DEFAULT._replace(call_scan_bytes=16)
    assert answers(program, "by_key", limits) == {"?"}
    assert answers(program, "by_key") == {"struct node.key"}


def test_large_functions_are_not_inferred(program: Path) -> None:
    limits = DEFAULT._replace(inferred_instructions=4)
    assert answers(program, "by_key", limits) == {"?"}
    assert answers(program, "by_key") == {"struct node.key"}


def test_the_number_of_analysed_callers_is_limited(program: Path) -> None:
    limits = DEFAULT._replace(callers_followed=0)
    assert answers(program, "by_key", limits) == {"?"}
    assert answers(program, "by_key") == {"struct node.key"}


def test_functions_are_found_in_a_data_range_of_any_length() -> None:
    moved = {0x1000: 5, 0x1008: 7, 0x1010: 6, 0x2000: 5}
    program: Any = SimpleNamespace(source=None)
    file: Any = SimpleNamespace(kind=ET_DYN)
    mentions = AddressReferences(file, program, {5: "f", 6: "g"}, moved)
    assert mentions.placed(0x1000, 1 << 47) == [(0x1000, 5), (0x1010, 6), (0x2000, 5)]
    assert mentions.placed(0x1001, 0x2000) == [(0x1010, 6)]


def test_inference_for_another_function_end_is_not_reused() -> None:
    flow, shorter = (SimpleNamespace(instructions=[0] * count) for count in (3, 1))
    tracker: Any = SimpleNamespace(flow=flow, graph=SimpleNamespace(limits=DEFAULT))
    inferred = [SimpleNamespace(flow=shorter), SimpleNamespace(flow=flow)]
    known: Any = SimpleNamespace(infer=lambda *_asked: SimpleNamespace(tracker=inferred[0]))
    assert interprocedural.with_inferred_types(known, tracker.flow, 0, 3, tracker) is tracker
    inferred.pop(0)
    assert interprocedural.with_inferred_types(known, tracker.flow, 0, 3, tracker) is inferred[0]
