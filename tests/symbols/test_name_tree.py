"""The kinds of nodes that names are read into."""

import re
from pathlib import Path

from undwarf.symbols.itanium import kinds


def test_compiled_modules_have_the_same_numbers() -> None:
    declared = Path(kinds.__file__).with_suffix(".pxd").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"^    (\w+) = (\d+)$", declared, re.MULTILINE)}
    assert numbers == {name: number for name, number in vars(kinds).items() if name.isupper()}
    assert sorted(numbers.values()) == list(range(len(numbers)))
