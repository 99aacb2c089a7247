"""JSON of the outputs: the text of the standard library, in few pieces."""

import enum
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from undwarf.outputs.json_lines import dump, dumps

LEAVES = some.none() | some.booleans() | some.integers() | some.floats() | some.text()
VALUES = some.recursive(
    LEAVES, lambda inner: some.lists(inner) | some.dictionaries(some.text() | some.integers() | some.none(), inner)
)


class Reason(enum.IntEnum):
    ROOT = 3


@given(VALUES, some.integers(1, 4))
def test_the_text_is_that_of_the_standard_library(value: Any, indent: int) -> None:
    assert dumps(value, indent) == json.dumps(value, indent=indent)


@pytest.mark.parametrize(
    "value", [{1: 2, 2.5: [], None: {}, False: ()}, {"a": (1, "b", Reason.ROOT)}, [Reason.ROOT], "é\n"]
)
def test_what_is_not_plain(value: Any) -> None:
    assert dumps(value) == json.dumps(value, indent=1)


def test_bytes_that_are_no_text_are_escaped() -> None:
    assert json.loads(dumps(["\udcff\x1b"])) == ["\\xff\x1b"]


def test_what_json_does_not_know_is_an_error() -> None:
    with pytest.raises(TypeError, match="set"):
        dumps({"a": {1, 2}})


def test_large_values_are_written_in_few_pieces() -> None:
    pieces: list[str] = []

    class Sink(io.StringIO):
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    value = [{"number": k, "list": [k]} for k in range(50_000)]
    dump(value, Sink())
    assert "".join(pieces) == json.dumps(value, indent=1) + "\n"
    assert 2 < len(pieces) < 20
