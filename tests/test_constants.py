"""Numbers of compiled modules stand once: those that several need are in modules of constants, as enumerations of C.

Only the kernels of types still declare some of them several times.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import undwarf
from undwarf.perfdata.sample_layout import EventLayout, FieldStep
from undwarf.types.dataflow import abstract_values
from undwarf.types.sources.location_table import WORDS
from undwarf.types.sources.type_source import PlaceKind

ROOT = Path(undwarf.__file__).parent
ENUMERATED = re.compile(r"^    ([A-Z][A-Z_0-9]*) = (\w+)$", re.MULTILINE)
DECLARED = re.compile(r"^([A-Z][A-Z_0-9]*) = cython\.declare\((.*)\)$", re.MULTILINE)
_BASES = ("NUMBER", "FRAME", "OBJECT", "ADDRESS", "PERCPU", "THREAD", "POISON", "VIRTUAL")
BASES = {name: getattr(abstract_values, name) for name in _BASES}
ARITHMETIC = re.compile(r"[0-9a-fA-FxX<>|+*() -]+")


def declared(package: str) -> Iterator[tuple[Path, str, int]]:
    """(module, name, number) of the constants of a package's compiled modules."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for name, said in DECLARED.findall(path.read_text()):
            number = said.partition(",")[2].strip()
            if number and ARITHMETIC.fullmatch(number):
                yield path, name, int(eval(compile(ast.parse(number, mode="eval"), str(path), "eval"), {}))


def disagreeing(met: Iterable[tuple[Path, str, int]]) -> dict[str, set[int]]:
    """The names that are several numbers."""
    found: dict[str, set[int]] = {}
    for _path, name, number in met:
        found.setdefault(name, set()).add(number)
    assert found
    return {name: numbers for name, numbers in found.items() if len(numbers) > 1}


def test_no_kernel_declares_a_constant_of_another() -> None:
    packages = (path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "types")
    met = Counter((name, number) for package in packages for _path, name, number in declared(package))
    assert met
    assert [constant for constant, times in met.items() if times > 1] == []


def test_numbers_are_the_same_for_all_who_follow_values() -> None:
    assert disagreeing(one for one in declared("types") if one[1].startswith(("MULTIPLIER", "REGISTERS"))) == {}


def enumerated(name: str) -> dict[str, int]:
    """The numbers that a declaration for compiled modules gives to names."""
    return {name: int(number, 0) for name, number in ENUMERATED.findall((ROOT / f"{name}.pxd").read_text())}


def test_bases_of_values_are_those_of_their_source() -> None:
    assert enumerated("types/dataflow/bases") == BASES


def test_words_of_places_are_those_of_their_source() -> None:
    words = enumerated("types/dataflow/place_words")
    kinds = {"PLACE_IN_REGISTER": PlaceKind.REGISTER, "PLACE_MEMORY": PlaceKind.MEMORY, "PLACE_CFA": PlaceKind.CFA}
    assert {name: words.pop(name) for name in kinds} == kinds
    assert words.pop("PLACE_WORDS") == WORDS == len(words)
    assert sorted(words.values()) == [*range(WORDS)]


@pytest.mark.parametrize("layout", [EventLayout, FieldStep])
def test_structs_of_event_layouts_have_the_fields_of_the_tuples(layout: type[EventLayout] | type[FieldStep]) -> None:
    declared = (ROOT / "perfdata/event_layouts.pxd").read_text()
    body = declared.partition(f"cdef struct {layout.__name__}:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    [a-z ]+ (\w+)$", body, re.MULTILINE) == list(layout._fields)
