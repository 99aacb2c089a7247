"""What the walk knows of machines; instructions are what the assemblers make of those in the comments."""

import pytest

from undwarf.unwind.aarch64.calls import ends_with_call
from undwarf.unwind.aarch64.registers import slots
from undwarf.unwind.arch import AARCH64, UNKNOWN, X86_64, machine_of


def test_machines_by_the_name_in_a_header() -> None:
    assert machine_of("aarch64") is machine_of("arm64") is AARCH64
    assert machine_of("x86_64") is machine_of(None) is machine_of("i686") is X86_64


@pytest.mark.parametrize("name", ["riscv64", "s390x", "ppc64le", "loongarch64"])
def test_stacks_of_other_machines_are_not_walked(name: str) -> None:
    assert machine_of(name) is UNKNOWN
    assert not machine_of(name).is_walked


@pytest.mark.parametrize(
    "word",
    [
        0x94000001,  # bl
        0x97FFFFFF,  # bl, backwards
        0xD63F0100,  # blr x8
        0xD73F0921,  # blraa x9, x1
        0xD63F093F,  # blraaz x9
    ],
)
def test_calls(word: int) -> None:
    assert ends_with_call(b"\0\0\0\0" + word.to_bytes(4, "little"))


@pytest.mark.parametrize(
    "word",
    [
        0x14000001,  # b
        0xD61F0100,  # br x8
        0xD65F03C0,  # ret
        0xD503201F,  # nop
        0xD63F0101,  # no instruction
    ],
)
def test_what_is_no_call(word: int) -> None:
    assert not ends_with_call(word.to_bytes(4, "little"))


def test_too_few_bytes() -> None:
    assert not ends_with_call(b"\0\0\x94")


def test_places_of_sampled_registers() -> None:
    places = slots((1 << 33) - 1)
    assert (places[6], places[7], places[8], places[16]) == (29, 31, 30, 32)
    # x0 and x8 are there for system calls; what else calls may change is not kept.
    assert sorted(place for place in places if place != 255) == [0, 8, *range(19, 33)]
    assert slots(1 << 31 | 1 << 32)[7] == 0
    assert slots(1 << 31 | 1 << 32)[16] == 1
