"""Student's distribution and the functions around it, against values of published tables."""

import math
from statistics import NormalDist

import pytest

from undwarf.views.comparison.distributions import digamma, inverse_trigamma, quantile, trigamma, two_sided


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    [(0.05, 1, 12.7062047), (0.05, 10, 2.2281389), (0.01, 5, 4.0321430), (0.001, 120, 3.3734535), (0.1, 2, 2.9199856)],
)
def test_quantiles_are_those_of_tables(probability: float, freedom: float, value: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.96, 6.0])
def test_with_many_degrees_of_freedom_it_is_the_normal_distribution(t: float) -> None:
    assert two_sided(t, 1e7) == pytest.approx(2 * (1 - NormalDist().cdf(t)), rel=1e-4)


def test_a_quantile_is_exceeded_with_its_probability() -> None:
    for freedom in (1, 2.5, 7, 127, 1e4):
        for probability in (0.5, 0.05, 1e-9):
            assert two_sided(quantile(probability, freedom), freedom) == pytest.approx(probability, rel=1e-6)


def test_digamma_and_trigamma() -> None:
    assert digamma(1) == pytest.approx(-0.5772156649015329, abs=1e-12)
    assert digamma(0.5) == pytest.approx(-1.9635100260214235, abs=1e-12)
    assert trigamma(1) == pytest.approx(math.pi**2 / 6, abs=1e-12)
    assert trigamma(0.5) == pytest.approx(math.pi**2 / 2, abs=1e-11)
    assert inverse_trigamma(trigamma(3.7)) == pytest.approx(3.7)
