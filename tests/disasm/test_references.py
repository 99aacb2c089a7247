"""Where code names the addresses of functions."""

import random
import re

import pytest

from undwarf.column import zeros
from undwarf.disasm.x86_encoding import CALLED, TAKEN
from undwarf.disasm.x86_references import References, pointers_in

START = 0x401000


def of(code: bytes, *targets: int, constants: bool = False) -> list[list[tuple[int, int]]]:
    """What is said of each target."""
    column = zeros("Q", len(targets))
    for number, target in enumerate(targets):
        column[number] = target
    found = References(code, START, column, constants=constants)
    return [found.of(number) for number in range(len(targets))]


def relative(place: int, length: int, target: int) -> bytes:
    return (target - place - length).to_bytes(4, "little", signed=True)


def test_calls_jumps_and_addresses() -> None:
    code = b"\x90\xe8" + relative(START + 1, 5, 0x400800)
    code += b"\xe9" + relative(START + 6, 5, 0x402000)
    code += b"\x4c\x8d\x3d" + relative(START + 11, 7, 0x400800)
    code += b"\x48\x8d\x45" + relative(START + 18, 7, 0x400800)  # relative to rbp, not to the instruction
    assert of(code, 0x400800, 0x401234, 0x402000) == [
        [(CALLED, START + 1), (TAKEN, START + 11)],
        [],
        [(CALLED, START + 6)],
    ]


def test_calls_jumps_and_addresses_apart() -> None:
    target = 0x401800
    code = b"\xe8" + relative(START, 5, target) + b"\xff\x15" + relative(START + 5, 6, target)
    code += b"\x0f\x84" + relative(START + 11, 6, target) + b"\x48\x8d\x05" + relative(START + 17, 7, target)
    column = zeros("Q", 1)
    column[0] = target
    found = References(code, START, column, constants=False, branches=True).by_kind(0)
    assert [sorted(sites) for sites in found] == [[START + 5, START + 11], [START + 11], [START + 17]]


def test_constants_count_in_programs_that_are_not_relocated() -> None:
    code = b"\xbf" + (0x402000).to_bytes(4, "little") + b"\xc7\x07" + (0x402000).to_bytes(4, "little")
    assert of(code, 0x402000, constants=True) == [[(TAKEN, START), (TAKEN, START + 5)]]
    assert of(code, 0x402000) == [[]]


@pytest.mark.parametrize("code", [b"", b"\xe8", b"\xe8\0\0\0", b"\x48\x8d\x05\0\0\0", b"\xc7\x07\0\0\0"])
def test_what_ends_within_names_nothing(code: bytes) -> None:
    assert of(code, 0, START, START + 4, START + 7, constants=True) == [[]] * 4


def test_any_bytes_as_a_search_would_have_it() -> None:
    chance = random.Random(7)
    for _round in range(20):
        code = bytes(chance.choice(b"\xe8\xe9\x48\x8d\x05\0\0\0\xff") for _ in range(600))
        wanted: dict[int, list[tuple[int, int]]] = {}
        for kind, pattern, length in ((CALLED, rb"(?=[\xe8\xe9](.{4}))", 5), (TAKEN, rb"(?=\x48\x8d\x05(.{4}))", 7)):
            for match in re.finditer(pattern, code, re.DOTALL):
                target = START + match.start() + length + int.from_bytes(match[1], "little", signed=True)
                if target >= 0:
                    wanted.setdefault(target, []).append((kind, START + match.start()))
        targets = sorted(wanted)
        assert of(code, *targets) == [wanted[target] for target in targets]


def test_words_of_data_that_are_targets() -> None:
    targets = zeros("Q", 1000)
    for number in range(1000):
        targets[number] = START + 16 * number
    words = [START + 16 * 7, START + 8, 0, START + 16 * 999, START + 16 * 1000, (1 << 64) - 1]
    data = b"".join(word.to_bytes(8, "little") for word in words) + b"\1\2\3"
    assert pointers_in(memoryview(data), targets) == {START + 16 * 7, START + 16 * 999}


def test_data_without_targets_has_no_pointers() -> None:
    assert pointers_in(memoryview(bytes(64)), zeros("Q", 0)) == set()
