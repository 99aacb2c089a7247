"""Stacks whose frames stand for several functions. Small cases by hand; a chain is written innermost first."""

from dataclasses import dataclass, field

import pytest

from undwarf.column import zeros
from undwarf.profile.inline_expansion import expand_frames, expand_stacks
from undwarf.symbols.inline_chains import Chains

NONE = 0xFFFFFFFF


def column(values: list[int], code: str = "I") -> memoryview:
    result = zeros(code, len(values))
    for i, value in enumerate(values):
        result[i] = value
    return result


@dataclass
class Found:
    """Chains of a few addresses as (name, file, line) entries."""

    chains: list[list[tuple[int, int, int]]]
    first: memoryview = field(init=False)
    name: memoryview = field(init=False)
    file: memoryview = field(init=False)
    line: memoryview = field(init=False)

    def __post_init__(self) -> None:
        ends = [0]
        for chain in self.chains:
            ends.append(ends[-1] + len(chain))
        entries = [entry for chain in self.chains for entry in chain]
        self.first = column(ends)
        self.name, self.file, self.line = (column([entry[k] for entry in entries]) for k in range(3))


def chains_of(frames: int, order: list[int], found: Found) -> dict[str, memoryview]:
    chains = Chains(frames)
    chains.add(column(order), 0, len(order), found, column([10, 11, 12]), column([5, 6]))
    return chains.columns()


# Frame 0 is code of function 0 with 1 inlined in 2 inlined in it; frame 1 has no debugging information; frame 2 is
# function 1 itself.
ORDER = [2, 0]
FOUND = Found([[(0, 0, 7)], [(1, 1, 30), (2, 0, 20), (0, 0, 10)]])


def test_a_frame_becomes_one_for_each_function_of_its_chain() -> None:
    expanded, added = expand_frames(chains_of(3, ORDER, FOUND), column([0, 0, 1]), bytes(2), 2, True)
    assert expanded["source"].tolist() == [0, 0, 0, 1, 2]
    assert expanded["depth"].tolist() == [2, 1, 0, 0, 0]
    assert expanded["file"].tolist() == [6, 5, 5, NONE, 5]
    assert expanded["line"].tolist() == [30, 20, 10, 0, 7]
    assert expanded["function"].tolist() == [2, 3, 0, 0, 1]
    assert added == [(0, 11), (0, 12)]
    assert expanded["first"].tolist() == [0, 3, 4, 5]


def test_a_function_without_a_symbol_has_the_name_that_dwarf_gives() -> None:
    expanded, added = expand_frames(chains_of(3, ORDER, FOUND), column([0, 0, 1]), b"\0\1", 2, True)
    assert added == [(0, 11), (0, 12), (1, 10)]
    assert expanded["function"].tolist() == [2, 3, 0, 0, 4]


def test_without_expansion_frames_stay_and_have_the_innermost_line() -> None:
    expanded, added = expand_frames(chains_of(3, ORDER, FOUND), column([0, 0, 1]), b"\1\1", 2, False)
    assert added == []
    assert expanded["function"].tolist() == [0, 0, 1]
    assert expanded["depth"].tolist() == [0, 0, 0]
    assert expanded["line"].tolist() == [30, 0, 7]


def test_one_function_inlined_at_two_places_of_another_is_added_once() -> None:
    found = Found([[(1, 0, 3), (0, 0, 1)], [(1, 0, 4), (0, 0, 2)]])
    expanded, added = expand_frames(chains_of(2, [0, 1], found), column([0, 0]), bytes(1), 1, True)
    assert added == [(0, 11)]
    assert expanded["function"].tolist() == [1, 0, 1, 0]


def test_stacks_keep_their_order_from_the_root_inwards() -> None:
    # Old stacks: 1 <- 0 and 1 <- 2, where 1 is the root.
    parent, frame, innermost = expand_stacks(column([NONE, 0, 0]), column([1, 0, 2]), column([0, 3, 4, 5]))
    assert frame.tolist() == [3, 2, 1, 0, 4]
    assert parent.tolist() == [NONE, 0, 1, 2, 0]
    assert innermost.tolist() == [0, 3, 4]


def test_chain_with_a_number_that_no_name_has_is_refused() -> None:
    with pytest.raises(IndexError):
        chains_of(1, [0], Found([[(3, 0, 1)]]))


def test_more_entries_than_there_was_room_for() -> None:
    found = Found([[(0, 0, line) for line in range(1, 3001)]])
    columns = chains_of(1, [0], found)
    assert columns["count"].tolist() == [3000]
    assert columns["line"].tolist() == list(range(1, 3001))
    expanded, _added = expand_frames(columns, column([0]), bytes(1), 1, True)
    assert expanded["depth"].tolist()[0] == 255
    assert expanded["line"].tolist()[-1] == 3000
