"""The decoder without its package."""

import subprocess
import sys

import pytest

from undwarf.disasm import iced


def run(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()


def test_the_names_of_all_codes_are_not_read() -> None:
    assert run("import sys, undwarf.disasm.x86_64; print('iced_x86.Code' in sys.modules)") == "False"


@pytest.mark.parametrize("order", ["undwarf.disasm.iced, iced_x86", "iced_x86, undwarf.disasm.iced"])
def test_the_package_has_the_same_objects_whichever_comes_first(order: str) -> None:
    told = run(
        f"import {order}; from undwarf.disasm import iced; import iced_x86; "
        "print(all(getattr(iced, name) is getattr(iced_x86, name) for name in iced.__all__))"
    )
    assert told == "True"


def test_a_module_that_is_not_there_is_looked_for_as_any_other() -> None:
    with pytest.raises(ModuleNotFoundError):
        iced.part("Absent")
