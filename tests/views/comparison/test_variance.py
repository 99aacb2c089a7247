"""Variances by blocks and between recordings, and the correction of p-values."""

import random

import pytest

from undwarf.views.comparison.variance import Estimate, Sides, Variance, adjusted, estimates, of_sum


def test_blocks_that_are_alike_have_a_sum_without_variance() -> None:
    assert of_sum([3.0] * 16) == Variance(0.0, 15)


def test_the_variance_of_independent_blocks_is_that_of_their_sum() -> None:
    random_ = random.Random(1)
    found = [of_sum([random_.gauss(0, 2) for _block in range(128)]).value for _run in range(300)]
    # A little more: correlations that chance makes negative are taken as none.
    assert 1 <= sum(found) / len(found) / (128 * 4) < 1.15


def test_blocks_that_resemble_their_neighbours_count_as_fewer_and_vary_more() -> None:
    random_ = random.Random(2)
    sums, found, freedom = [], [], []
    for _run in range(400):
        value, blocks = random_.gauss(0, 1), []
        for _block in range(128):
            value = 0.7 * value + random_.gauss(0, 0.51**0.5)
            blocks.append(value)
        sums.append(sum(blocks))
        variance = of_sum(blocks)
        found.append(variance.value)
        freedom.append(variance.freedom)
    true = sum(value * value for value in sums) / len(sums)
    assert sum(found) / len(found) == pytest.approx(true, rel=0.3)
    assert sum(freedom) / len(freedom) < 40


def test_one_recording_a_side_has_the_variance_of_its_blocks() -> None:
    (row,) = estimates([Sides([10.0], [30.0], Variance(8.0, 50))], [1.0])
    assert row == Estimate(10.0, 30.0, 2.0, 6.0, 50)


def test_without_blocks_one_recording_a_side_says_nothing() -> None:
    assert estimates([Sides([10.0], [30.0], None)], [1.0]) == [None]


def test_recordings_alone_give_the_t_test() -> None:
    (row,) = estimates([Sides([10.0, 12.0], [20.0, 22.0], None)], [1.0])
    # The common relative variance is predicted from the recordings themselves: only their own degrees of freedom count.
    assert row is not None
    assert (row.before, row.after, row.freedom) == (11.0, 21.0, 2)


def test_recordings_that_agree_are_known_to_a_sample() -> None:
    (row,) = estimates([Sides([5.0, 5.0], [6.0, 6.0], None, least=1.0)], [1.0])
    assert row is not None and row.p > 0.1


def test_several_rows_that_vary_as_their_blocks_predict_lend_each_other_certainty() -> None:
    random_ = random.Random(3)
    rows = [
        Sides(
            [random_.gauss(100, 2) for _run in range(3)],
            [random_.gauss(100, 2) for _run in range(3)],
            Variance(8.0, 900),
        )
        for _row in range(40)
    ]
    found = estimates(rows, [1 / 40] * 40)
    assert all(row is not None and row.freedom > 20 for row in found)


def test_the_interval_of_the_ratio_has_1_exactly_if_that_of_the_difference_has_0() -> None:
    for after in (90.0, 104.0, 105.5, 120.0):
        row = Estimate(100.0, after, 3.0, 4.0, 30)
        low, high = row.difference()
        ratio = row.ratio()
        assert ratio is not None and ratio[1] is not None
        assert (low <= 0 <= high) == (ratio[0] <= 1 <= ratio[1]) == (row.p >= 0.05)


def test_a_ratio_to_what_may_be_nothing_has_no_interval() -> None:
    assert Estimate(1.0, 5.0, 1.0, 1.0, 30).ratio() is None


def test_corrected_p_values_are_those_of_holm() -> None:
    assert adjusted([(0.01, 1), (0.04, 1), (0.03, 1)]) == pytest.approx([0.03, 0.06, 0.06])


def test_a_test_of_more_weight_is_corrected_less() -> None:
    heavy, light = adjusted([(0.02, 0.9), (0.5, 0.1)])
    assert heavy == pytest.approx(0.02 / 0.9)
    assert light == 0.5
