"""Where the package's modules are loaded from."""

import importlib
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import undwarf
from undwarf.importing import Finder
from undwarf.system.doctor import kernels

ROOT = Path(undwarf.__file__).parent
KERNELS = {f"undwarf.{name}" for name in kernels()} - {"undwarf.arenas", "undwarf.column", "undwarf.mapped_files"}


def test_the_kernels_that_are_linked_are_those_of_the_sources() -> None:
    assert set(importlib.import_module("undwarf._compiled").NAMES) == KERNELS


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_kernel_is_in_the_file_of_its_folder(name: str) -> None:
    spec = Finder().find_spec(name, [str(ROOT.joinpath(*name.split(".")[1:-1]))])
    assert spec is not None and spec.origin is not None
    assert Path(spec.origin) == ROOT.joinpath(*name.split(".")[1:-1], f"_kernels{EXTENSION_SUFFIXES[0]}")
    # It is there under this name.
    importlib.import_module(name)
    assert sys.modules[name].__file__ == spec.origin


def test_other_modules_are_sources() -> None:
    spec = Finder().find_spec("undwarf.errors", undwarf.__path__)
    assert spec is not None and spec.has_location and spec.origin == str(ROOT / "errors.py")
    assert spec.cached is not None and spec.cached.endswith(".pyc")


def test_folders_are_packages() -> None:
    spec = Finder().find_spec("undwarf.elf", undwarf.__path__)
    assert spec is not None and spec.has_location and spec.origin == str(ROOT / "elf" / "__init__.py")
    assert spec.submodule_search_locations == [str(ROOT / "elf")]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("json.decoder", ["/usr/lib/python3/json"]),
        ("undwarf", None),
        ("undwarf.absent", [str(ROOT)]),
        ("undwarf.errors", ["/archive.zip/undwarf"]),
    ],
)
def test_what_is_not_found_here_is_left_to_others(name: str, path: list[str] | None) -> None:
    assert Finder().find_spec(name, path) is None


def test_a_file_that_was_added_later_is_found_all_the_same(tmp_path: Path) -> None:
    text = """
import sys, undwarf, pathlib
place = pathlib.Path(sys.argv[1])
undwarf.__path__.insert(0, str(place))
import undwarf.first
(place / "second.py").write_text("said = 2")
import undwarf.second
print(undwarf.first.said, undwarf.second.said, undwarf.errors.UndwarfError.__name__)
"""
    (tmp_path / "first.py").write_text("import undwarf.errors; said = 1")
    done = subprocess.run([sys.executable, "-c", text, str(tmp_path)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 2 UndwarfError\n", "")


def test_listings_are_made_again_when_that_is_asked_for(tmp_path: Path) -> None:
    finder = Finder()
    assert finder.find_spec("undwarf.late", [str(tmp_path)]) is None
    (tmp_path / "late.py").write_text("")
    assert finder.find_spec("undwarf.late", [str(tmp_path)]) is None
    finder.invalidate_caches()
    assert finder.find_spec("undwarf.late", [str(tmp_path)]) is not None
