"""The stand-ins for modules that are imported late."""

import inspect
import platform
import subprocess
import sys

import pytest

from undwarf.cli import late_modules


def run(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()


START = "import sys; from undwarf.cli import late_modules; late_modules.install(); import click, dataclasses; "


def test_click_and_dataclasses_do_not_load_it() -> None:
    assert run(START + "print([name for name in ('ast', 'dis', 'tokenize') if name in sys.modules])") == "[]"
    assert run(START + "print(type(sys.modules['platform']).__name__)") == "_Late"


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
    late_modules.install()
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
    assert late_modules.cleandoc(text) == inspect.cleandoc(text)


def test_the_system_is_told_before_and_after() -> None:
    text = "import uuid, platform; early = platform.system(); platform.machine(); print(early == platform.system())"
    assert run(START + text) == "True"
    assert late_modules.system() == platform.system()


def test_functions_are_told() -> None:
    for one in (run, len, late_modules.install, str, "text", str.join):
        assert late_modules.isfunction(one) is inspect.isfunction(one)
