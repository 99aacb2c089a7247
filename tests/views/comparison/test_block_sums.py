"""Sums by block of time."""

import pytest
from tests.support.profiles import column

from undwarf.profile.model import NONE
from undwarf.views.kernels.block_sums import blocks_of, borders_of, own_sums, passing_sums

WEIGHTS = column("Q", [1, 10, 100, 1000])


def test_a_block_begins_at_its_border() -> None:
    assert list(blocks_of(column("Q", [100, 149, 150, 200, 2**64 - 1]), column("Q", [150, 150, 300]))) == [
        0,
        0,
        2,
        2,
        3,
    ]


def test_without_borders_all_is_one_block() -> None:
    assert list(blocks_of(column("Q", [0, 5]), column("Q", []))) == [0, 0]


def test_blocks_have_the_same_weight_whenever_samples_were_taken() -> None:
    times, weights = column("Q", [900, 10, 20, 30, 40]), column("Q", [4, 1, 1, 1, 1])
    assert list(borders_of(times, weights, column("I", [1, 2, 3, 4, 0]), 2)) == [900]
    assert list(borders_of(times, weights, column("I", [1, 2, 3, 4, 0]), 4)) == [30, 900, 900]


def test_samples_without_weight_have_no_borders_between_them() -> None:
    assert list(borders_of(column("Q", []), column("Q", []), column("I", []), 3)) == [0, 0]


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
