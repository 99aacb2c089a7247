"""Numbers of compiled modules stand once: those that several need are in modules of constants, as enumerations of C."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
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


def test_no_kernel_declares_a_constant_of_another() -> None:
    packages = (path.name for path in ROOT.iterdir() if path.is_dir())
    met = Counter((name, number) for package in packages for _path, name, number in declared(package))
    assert met
    assert [constant for constant, times in met.items() if times > 1] == []


@pytest.mark.parametrize("layout", [EventLayout, FieldStep])
def test_structs_of_event_layouts_have_the_fields_of_the_tuples(layout: type[EventLayout] | type[FieldStep]) -> None:
    declared = (ROOT / "perfdata/event_layouts.pxd").read_text()
    body = declared.partition(f"cdef struct {layout.__name__}:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    [a-z ]+ (\w+)$", body, re.MULTILINE) == list(layout._fields)
