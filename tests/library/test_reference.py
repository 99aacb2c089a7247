"""The reference: it is current, complete and true, and its examples work."""

import ast
import doctest
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest
from mypy import stubtest
from mypy.options import Options

import undwarf
from undwarf.library import options

ROOT = Path(__file__).parents[2]
STUB = ROOT / "src" / "undwarf" / "__init__.pyi"
PROGRAM = Path(__file__).with_name("uses_every_name.py")


@pytest.fixture(scope="module")
def make_api() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stub_is_current(make_api: ModuleType) -> None:
    assert make_api.stub() == STUB.read_text(), "run docs/make_api.py"


def test_the_page_is_current(make_api: ModuleType) -> None:
    assert make_api.page() == make_api.PAGE.read_text(), "run docs/make_api.py"


def test_every_public_name_has_a_section(make_api: ModuleType) -> None:
    listed = [name for names in make_api.SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(undwarf.__all__)


def test_the_stub_says_what_is_there(make_api: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "src")
    chosen = Options()
    chosen.incremental = False
    stubtest.build_stubs(["undwarf"], chosen, find_submodules=False)
    machinery = {f"undwarf.{owner}.{name}" for owner, names in make_api.MACHINERY.items() for name in names}
    machinery |= {
        f"undwarf.{name}.{member}" for name in make_api.CONSTRUCTED_HERE for member in ("__init__", "__match_args__")
    }
    wrong = {error.object_desc: error.get_description(concise=True) for error in stubtest.test_module("undwarf")}
    assert {
        name: text
        for name, text in wrong.items()
        # Compiled classes have methods of Cython's, and a layout that no stub can state for all type checkers.
        if name not in machinery and "_cython__" not in name and "disjoint base" not in text
    } == {}
    # The comparison has found what the stub leaves out.
    assert "undwarf.TypeRow.__init__" in wrong


def test_the_stub_has_no_any() -> None:
    names = {node.id for node in ast.walk(ast.parse(STUB.read_text())) if isinstance(node, ast.Name)}
    assert "Any" not in names
    assert "StopReason" in names


def documented() -> dict[str, str]:
    """The docstrings of the stub that have examples, by name."""
    found = {}
    tree = ast.parse(STUB.read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = ast.get_docstring(node) or ""
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef):
                    found[f"{node.name}.{member.name}"] = ast.get_docstring(member) or ""
    return {name: text for name, text in found.items() if ">>>" in text}


def access_in(program: Path) -> int:
    """The address of an instruction that reads a member."""
    table = undwarf.UnwindTable.from_elf(program)
    resolver = undwarf.TypeResolver(program)
    for start, end in zip(table.starts, table.ends, strict=True):
        for address in range(start, end):
            for one in resolver.at(address):
                if one.field == "count" and one.evidence is undwarf.TypeEvidence.TRACKING:
                    return address
    raise LookupError("no access to a count")


@pytest.mark.parametrize("name", documented())
def test_examples_give_what_they_say(name: str, in_words: Path) -> None:
    with undwarf.open("words.data", symfs=".", cache=False) as recording:
        known = {
            "undwarf": undwarf,
            "recording": recording,
            "profile": recording.profile(),
            "CodeAddress": undwarf.CodeAddress,
            "access_in_words": access_in(in_words / "words") if name == "TypeResolver" else 0,
        }
        test = doctest.DocTestParser().get_doctest(documented()[name], known, name, None, 0)
        output: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=output.append)
    assert result.failed == 0, "".join(output)
    assert result.attempted > 0


def test_every_entry_says_what_it_is() -> None:
    tree = ast.parse(STUB.read_text())
    without = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        if not ast.get_docstring(node)
    ]
    members = [
        f"{node.name}.{member.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("__") and not ast.get_docstring(member)
    ]
    assert (without, members) == ([], [])


def test_a_program_that_uses_every_name_is_typed_and_runs(words: Path, tmp_path: Path) -> None:
    used = {
        node.attr
        for node in ast.walk(ast.parse(PROGRAM.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "undwarf"
    }
    assert set(undwarf.__all__) - used == set()
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path), str(PROGRAM)]
    checked = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert checked.returncode == 0, checked.stdout
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), "words.data", ".", "words"],
        capture_output=True,
        text=True,
        cwd=words,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "ROOT EH_FRAME" in ran.stdout


@pytest.mark.parametrize(
    ("fields", "keywords"),
    [(options.Options, options.OptionKeywords), (options.ProfileOptions, options.ProfileKeywords)],
)
def test_keywords_are_the_fields_of_options(fields: type, keywords: type) -> None:
    assert get_type_hints(fields) == get_type_hints(keywords)
