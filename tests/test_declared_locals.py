"""Compiled modules declare the types of locals that are there: what is left of others misleads who reads it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import undwarf

ROOT = Path(undwarf.__file__).parent


def declared_only(source: str) -> Iterator[str]:
    """Functions and the names that `cython.locals` gives a type to and that nothing is put into there."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        given = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        given |= {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "cython.locals":
                yield from (f"{function.name}: {one.arg}" for one in decorator.keywords if one.arg not in given)


def test_what_nothing_is_put_into_is_seen() -> None:
    source = "@cython.locals(a=cython.int, b=cython.int, c=cython.int)\ndef f(a):\n    for b in a: pass\n"
    assert list(declared_only(source)) == ["f: c"]


@pytest.mark.parametrize("folder", sorted(one.name for one in ROOT.iterdir() if one.is_dir()))
def test_no_local_is_declared_that_is_not_there(folder: str) -> None:
    found = {str(path): list(declared_only(path.read_text())) for path in (ROOT / folder).rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}
