"""The kinds of nodes that names are parsed into."""

import re
from pathlib import Path

from undwarf.symbols.itanium import node_kinds
from undwarf.symbols.itanium.node_kinds import NodeKind


def test_compiled_modules_have_the_same_numbers() -> None:
    declared = Path(node_kinds.__file__).with_suffix(".pxd").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"^    (\w+) = (\d+)$", declared, re.MULTILINE)}
    assert numbers == dict(NodeKind.__members__)
    assert sorted(numbers.values()) == list(range(len(NodeKind)))
