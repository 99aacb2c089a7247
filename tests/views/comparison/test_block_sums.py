"""Sums by block of time."""

import pytest
from tests.support.profiles import column

from undwarf.profile.model import NONE
from undwarf.views.kernels.block_sums import blocks_of, own_sums, passing_sums

WEIGHTS = column("Q", [1, 10, 100, 1000])


def test_times_fall_into_equal_blocks_the_last_with_its_end() -> None:
    assert list(blocks_of(column("Q", [100, 149, 150, 200, 99]), 100, 100, 2)) == [0, 0, 1, 1, 0]


def test_times_beyond_the_span_are_in_the_last_block() -> None:
    assert list(blocks_of(column("Q", [2**64 - 1]), 0, 1, 4)) == [3]


def test_weights_are_added_by_block_and_group() -> None:
    block, group = column("I", [0, 0, 1, 1]), column("I", [0, 1, 1, NONE])
    assert list(own_sums(block, group, WEIGHTS, 2, 2)) == [1, 10, 0, 100]


def test_recursion_counts_once_and_nodes_without_a_group_are_passed() -> None:
    # main > f > (no group) > f > g
    parent, group = column("I", [NONE, 0, 1, 2, 3]), column("I", [0, 1, NONE, 1, 2])
    node, block = column("I", [4, 2, 0, NONE]), column("I", [0, 0, 1, 1])
    assert list(passing_sums(block, node, WEIGHTS, parent, group, 2, 3)) == [11, 11, 1, 100, 0, 0]


def test_a_tree_whose_parents_do_not_come_first_is_refused() -> None:
    with pytest.raises(ValueError, match="before its parent"):
        passing_sums(column("I", [0]), column("I", [0]), column("Q", [1]), column("I", [0]), column("I", [0]), 1, 1)
