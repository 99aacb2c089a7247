"""Hashes of frames and stacks, and stacks as lists."""

import hashlib
import struct
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undwarf.column import zeros
from undwarf.fleet.kernels.content_hashes import frame_hashes, stack_hashes
from undwarf.fleet.kernels.stack_lists import (
    chosen_lists,
    file_offsets,
    hashes_at,
    lengths,
    lists_of_tree,
    numbered,
    tree_of_lists,
)

NONE = 0xFFFFFFFF
WORD = st.integers(0, 2**64 - 1)


def column(code: str, *values: int) -> memoryview:
    return memoryview(array(code, values))


def blake(*words: int) -> bytes:
    return hashlib.blake2b(struct.pack(f"<{len(words)}Q", *words), digest_size=16).digest()


@given(st.tuples(WORD, WORD), WORD, st.integers(0, 2**32 - 1), st.tuples(WORD, WORD))
def test_a_frame_has_the_hash_that_hashlib_gives(
    image: tuple[int, int], offset: int, flags: int, name: tuple[int, int]
) -> None:
    found = frame_hashes(
        column("Q", *image),
        column("I", 0, NONE),
        column("Q", offset, offset),
        column("I", flags, flags),
        column("Q", *name),
        column("I", NONE, 0),
    )
    assert bytes(found.cast("B")) == blake(*image, offset, flags, 0, 0) + blake(0, 0, offset, flags, *name)


def test_a_stack_has_the_hash_of_its_callers_and_its_frame() -> None:
    frames = column("Q", 1, 2, 3, 4)
    found = bytes(stack_hashes(column("I", NONE, 0), column("I", 1, 0), frames).cast("B"))
    root = blake(0, 0, 3, 4)
    assert found == root + hashlib.blake2b(root + struct.pack("<2Q", 1, 2), digest_size=16).digest()


def test_callers_come_first() -> None:
    with pytest.raises(ValueError, match="before its parent"):
        stack_hashes(column("I", 1, NONE), column("I", 0, 0), column("Q", 1, 2))


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), max_size=20))
def test_lists_become_a_tree_and_lists_again(stacks: list[list[int]]) -> None:
    starts = [0]
    for stack in stacks:
        starts.append(starts[-1] + len(stack))
    flat = column("I", *(frame for stack in stacks for frame in stack))
    parent, frame, nodes = tree_of_lists(column("i", *starts), flat)
    again, frames = lists_of_tree(parent, frame, nodes)
    assert again.tolist() == starts
    assert frames.tolist() == flat.tolist()


@given(st.lists(st.sampled_from([(1, 2), (1, 3), (2, 2), (2**63, 5)])))
def test_equal_hashes_have_one_number(hashes: list[tuple[int, int]]) -> None:
    words = column("Q", *(word for one in hashes for word in one))
    numbers, rows = numbered(words)
    distinct = list(dict.fromkeys(hashes))
    assert [distinct[number] for number in numbers] == hashes
    assert [hashes[row] for row in rows] == distinct
    assert hashes_at(words, rows).tolist() == [word for one in distinct for word in one]


def test_values_that_are_no_hashes_do_not_take_long() -> None:
    words = zeros("Q", 2 * 30_000)
    for number in range(30_000):
        words[2 * number + 1] = number
    with pytest.raises(ValueError, match="no hashes"):
        numbered(words)


def test_chosen_lists() -> None:
    starts, values = chosen_lists(column("i", 0, 2, 3), column("I", 5, 6, 7), column("I", 1, 0, 1))
    assert (starts.tolist(), values.tolist()) == ([0, 1, 3, 4], [7, 5, 6, 7])
    assert lengths(starts) == (1, 2)


def test_addresses_become_offsets_by_segment() -> None:
    segments = column("Q", 0x1000, 0x100, 0x40, 0x2000, 0x10, 0x800)
    found = file_offsets(
        column("I", 0, 0, 0, NONE), column("Q", 0x1001, 0x200F, 0x2010, 5), column("I", 0, 2), segments
    )
    assert found.tolist() == [0x41, 0x80F, 0x2010, 5]
