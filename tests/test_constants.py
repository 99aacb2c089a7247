"""Numbers that compiled modules repeat, since each has them in C: they are what their source says, everywhere.

A compiled module that took them from another one would read them from memory at each use; so they are enumerations of a
`.pxd`, which the C compiler knows, or a package's modules declare the ones they need. This sees to it that none of them
drifts.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import undwarf
from undwarf.perfdata.sample_layout import EventLayout, FieldStep

ROOT = Path(undwarf.__file__).parent
DECLARED = re.compile(r"^([A-Z][A-Z_0-9]*) = cython\.declare\((.*)\)$", re.MULTILINE)
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


@pytest.mark.parametrize("package", ["dwarf", "perfdata"])
def test_a_name_is_one_number_in_all_modules_of_a_package(package: str) -> None:
    assert disagreeing(declared(package)) == {}


def test_no_kernel_declares_a_constant_of_another() -> None:
    packages = ("unwind", "tables", "outputs", "profile", "spaces", "views", "live", "types")
    met = Counter((name, number) for package in packages for _path, name, number in declared(package))
    assert met
    assert [constant for constant, times in met.items() if times > 1] == []


@pytest.mark.parametrize("layout", [EventLayout, FieldStep])
def test_structs_of_event_layouts_have_the_fields_of_the_tuples(layout: type[EventLayout] | type[FieldStep]) -> None:
    declared = (ROOT / "perfdata/event_layouts.pxd").read_text()
    body = declared.partition(f"cdef struct {layout.__name__}:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    [a-z ]+ (\w+)$", body, re.MULTILINE) == list(layout._fields)
