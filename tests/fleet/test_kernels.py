"""Hashes of frames and stacks, and stacks as lists."""

import hashlib
import struct
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undwarf.column import zeros
from undwarf.errors import UnreadableInput
from undwarf.fleet.kernels.content_hashes import frame_hashes, stack_hashes
from undwarf.fleet.kernels.result_columns import (
    numbered_functions,
    numbered_texts,
    places,
    starts_and_counts,
    whole_numbers,
)
from undwarf.fleet.kernels.stack_lists import (
    chosen_lists,
    file_offsets,
    hashes_at,
    lengths,
    lists_of_tree,
    numbered,
    tree_of_lists,
)
from undwarf.integer_constants import GOLDEN_RATIO

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
    with pytest.raises(UnreadableInput, match="its hashes are none"):
        numbered(words)


def test_chosen_lists() -> None:
    starts, values = chosen_lists(column("q", 0, 2, 3), column("I", 5, 6, 7), column("I", 1, 0, 1))
    assert (starts.tolist(), values.tolist()) == ([0, 1, 3, 4], [7, 5, 6, 7])
    assert lengths(starts) == (1, 2)


def test_addresses_become_offsets_by_segment() -> None:
    segments = column("Q", 0x1000, 0x100, 0x40, 0x2000, 0x10, 0x800)
    found = file_offsets(
        column("I", 0, 0, 0, NONE), column("Q", 0x1001, 0x200F, 0x2010, 5), column("I", 0, 2), segments
    )
    assert found.tolist() == [0x41, 0x80F, 0x2010, 5]


@given(st.lists(st.none() | st.text("ab", max_size=3)))
def test_texts_are_numbered_in_the_order_of_occurrence(texts: list[str | None]) -> None:
    encoded = [(text or "").encode() for text in texts]
    starts = column("q", *(sum(map(len, encoded[:i])) for i in range(len(texts) + 1)))
    nulls = column("B", *(text is None for text in texts))
    numbers, first = numbered_texts(memoryview(b"".join(encoded)), starts, nulls)
    known = list(dict.fromkeys(text for text in texts if text is not None))
    assert numbers.tolist() == [NONE if text is None else known.index(text) for text in texts]
    assert [texts[row] for row in first] == known


SMALL = st.lists(st.integers(0, 5))


@given(SMALL, SMALL)
def test_keys_have_the_first_place_of_a_table(keys: list[int], table: list[int]) -> None:
    found, distinct, missing = places(column("Q", *keys), column("Q", *table))
    assert found.tolist() == [table.index(key) if key in table else NONE for key in keys]
    assert distinct == (len(set(table)) == len(table))
    assert missing == found.tolist().count(NONE)


def test_keys_of_two_words_differ_if_one_word_does() -> None:
    table = column("Q", 1, 2, 2, 1, 1, 1)
    found, distinct, missing = places(column("Q", 2, 1, 1, 2, 2, 2), table, 2)
    assert (found.tolist(), distinct, missing) == ([1, 0, NONE], True, 1)
    found, _distinct, missing = places(column("Q", 2, 1, 1, 2), table, 2, column("B", 1, 0))
    assert (found.tolist(), missing) == ([NONE, 0], 0)


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, NONE])] * 2, st.integers(0, 2), st.integers(0, 1))))
def test_functions_differ_if_a_column_does(rows: list[tuple[int, int, int, int]]) -> None:
    columns = [column(code, *(row[i] for row in rows)) for i, code in enumerate("IIQB")]
    numbers, first = numbered_functions(*columns)
    known = list(dict.fromkeys(rows))
    assert [known[number] for number in numbers] == rows
    assert [rows[row] for row in first] == known


def test_lists_have_their_lengths() -> None:
    begin, count, least, most = starts_and_counts(column("q", 2, 5, 6))
    assert (begin.tolist(), count.tolist(), least, most) == ([2, 5], [3, 1], 1, 3)
    assert starts_and_counts(column("q", 0))[2:] == (1, 1)


def test_numbers_that_are_none_are_0() -> None:
    assert whole_numbers(column("i", -5, 7, 9), column("B", 0, 0, 1)).tolist() == [0, 7, 0]


def test_keys_that_are_made_alike_are_an_error() -> None:
    inverse = pow(GOLDEN_RATIO, -1, 1 << 64)
    alike = []
    for number in range(1 << 14):
        # What the table multiplies is the key and, shifted by one bit, its other word, here itself.
        key = number * inverse % (1 << 64)
        for shift in (1, 2, 4, 8, 16, 32):
            key ^= key >> shift
        alike.append(key)
    with pytest.raises(UnreadableInput, match="made to be searched for long"):
        places(zeros("Q", 0), column("Q", *alike))
