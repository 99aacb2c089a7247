"""Whether a frame's address is that of an instruction or a return address."""

import io
from pathlib import Path

import pytest

import undwarf
from undwarf.unwind.code_address import CodeAddress

FOLDER = Path(__file__).parents[2] / "examples" / "recording"


def test_a_return_address_is_looked_up_one_less() -> None:
    assert CodeAddress(0x1005, is_return=True).lookup == 0x1004


def test_an_instruction_is_looked_up_by_its_own_address() -> None:
    assert CodeAddress(0x1005).lookup == 0x1005


def test_an_address_is_an_integer_where_one_is_expected() -> None:
    address = CodeAddress.of_lookup(0x1004, True)
    assert (hex(address), f"{address:#x}", int(address)) == ("0x1005", "0x1005", 0x1005)


@pytest.mark.parametrize("inline", [False, True])
def test_callers_have_return_addresses_and_leaves_have_not(inline: bool) -> None:
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        samples = list(recording.profile(inline=inline).samples)
    kinds = {(number > 0, frame.address.is_return) for one in samples for number, frame in enumerate(one.stack)}
    assert kinds == {(False, False), (True, True)}


def test_recordings_that_were_unwound_before_have_return_addresses_too() -> None:
    sink = io.BytesIO()
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        recording.shrink(sink)
        before = [frame.address for frame in recording.profile(inline=False).samples[0].stack]
    with undwarf.open(io.BytesIO(sink.getvalue()), symfs=FOLDER, cache=False) as recording:
        after = [frame.address for frame in recording.profile(inline=False).samples[0].stack]
    assert before == after
    assert [address.is_return for address in after] == [False] + [True] * (len(after) - 1)
