"""The stand-in for ``inspect``."""

import inspect
import subprocess
import sys

import pytest

from undwarf.cli import late_inspect


def run(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()


START = "import sys; from undwarf.cli import late_inspect; late_inspect.install(); import click, dataclasses; "


def test_click_and_dataclasses_do_not_load_it() -> None:
    assert run(START + "print([name for name in ('ast', 'dis', 'tokenize') if name in sys.modules])") == "[]"


def test_whoever_asks_for_more_gets_all_of_it() -> None:
    told = run(
        START + "early = click.core.inspect; from inspect import signature; import inspect, json; "
        "print(inspect.signature is early.signature is signature, 'ast' in sys.modules, "
        "early.cleandoc is inspect.cleandoc, "
        "signature(json.loads).parameters['cls'].default, inspect.getsourcefile(json) == json.__file__)"
    )
    assert told == "True True True None True"


def test_a_name_that_it_lacks() -> None:
    text = START + "import inspect\ntry: inspect.absent\nexcept AttributeError as error: print(error)"
    assert run(text) == "module 'inspect' has no attribute 'absent'"


def test_what_is_there_stays() -> None:
    late_inspect.install()
    assert sys.modules["inspect"] is inspect


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one",
        "  one. ",
        "\tone",
        "one\n\n    two\n      three\n    ",
        "\n\n  one\n two\n\n\n",
        "\n    one\n\n\ttwo\n",
        "one\n  \n   two\n  \n",
        "  one\ntwo\n    three",
    ],
)
def test_texts_are_tidied_as_ever(text: str) -> None:
    assert late_inspect.cleandoc(text) == inspect.cleandoc(text)


def test_functions_are_told() -> None:
    for one in (run, len, late_inspect.install, str, "text", str.join):
        assert late_inspect.isfunction(one) is inspect.isfunction(one)
