"""Direct calls of a profile's frames, found for all pairs at once."""

from collections.abc import Sequence

import pytest

from undwarf.column import zeros
from undwarf.profile.direct_calls import DirectCalls

BASE = 0x1000
CALLER, CALLEE = 0x1100, 0x1040
CODE = bytearray(0x200)
CODE[CALLER - 5 - BASE : CALLER - BASE] = b"\xe8" + (CALLEE - CALLER).to_bytes(4, "little", signed=True)


def column(kind: str, values: Sequence[int]) -> memoryview:
    made = zeros(kind, len(values))
    for at, value in enumerate(values):
        made[at] = value
    return made


def are_calls(
    frames: list[tuple[int, int]],
    pairs: list[tuple[int, int]],
    functions: Sequence[tuple[int, int]] = ((CALLEE, CALLEE + 0x20), (CALLER - 0x40, CALLER + 0x40)),
    others: Sequence[tuple[int, int]] = (),
) -> list[int]:
    """For frames (image, address), of which image 0 has the code, which pairs are direct calls."""
    calls = DirectCalls(column("I", [image for image, _address in frames]), column("Q", [at for _image, at in frames]))
    ranges = [
        (column("Q", [start for start, _end in ones]), column("Q", [end for _start, end in ones]))
        for ones in (functions, others)
    ]
    calls.find(2, lambda _image: ranges, lambda image: [(BASE, memoryview(bytes(CODE)))] if image == 0 else [])
    callers, callees = zip(*pairs, strict=True)
    return list(calls.are_calls(column("I", callers), column("I", callees)))


def test_a_call_of_the_function_that_the_callee_is_in() -> None:
    assert are_calls([(0, CALLER - 1), (0, CALLEE + 7)], [(0, 1)]) == [1]


@pytest.mark.parametrize("callee", [CALLEE - 1, CALLEE + 0x20, CALLER])
def test_a_callee_in_another_function_is_not_proven(callee: int) -> None:
    assert are_calls([(0, CALLER - 1), (0, callee)], [(0, 1)]) == [0]


def test_a_callee_in_another_image_is_not_proven() -> None:
    assert are_calls([(0, CALLER - 1), (1, CALLEE)], [(0, 1)]) == [0]


def test_without_a_call_before_it_nothing_is_proven() -> None:
    assert are_calls([(0, CALLER), (0, CALLEE)], [(0, 1)]) == [0]


def test_a_function_that_begins_inside_another_one_is_another() -> None:
    assert are_calls([(0, CALLER - 1), (0, CALLEE + 0x10)], [(0, 1)], others=[(CALLEE + 8, CALLEE + 0x20)]) == [0]


@pytest.mark.parametrize("address", [0, BASE - 1, BASE + 3, BASE + len(CODE), (1 << 64) - 1])
def test_return_addresses_outside_of_the_code_are_none(address: int) -> None:
    assert are_calls([(0, address), (0, CALLEE)], [(0, 1)]) == [0]


def test_the_caller_of_a_root_is_none() -> None:
    assert are_calls([(0, CALLER - 1), (0, CALLEE)], [(0xFFFFFFFF, 1), (0, 1)]) == [0, 1]
