"""Student's distribution, and the functions of statistics that it and moderated variances need.

Sources: Abramowitz and Stegun, 26.5.8 (incomplete beta function as a continued fraction), 6.3.18 and 6.4.12
(asymptotic series of digamma and trigamma). Accurate to 1e-9 or better, which tests check.
"""

import math

_STEPS = 300
"""Most steps of a series; 60 are the most that tests need."""


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, _STEPS):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + top * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + top / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def two_sided(t: float, freedom: float) -> float:
    """The probability of a value as far from 0 as ``t``, or farther, with this many degrees of freedom."""
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def quantile(probability: float, freedom: float) -> float:
    """The positive value that is exceeded in absolute terms with this probability: by Newton's method, kept within
    bounds by bisection."""
    low, high = 0.0, 2.0
    while two_sided(high, freedom) > probability and high < 1e12:
        low, high = high, 4 * high
    constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    t = (low + high) / 2
    for _step in range(100):
        above = two_sided(t, freedom) - probability
        low, high = (t, high) if above > 0 else (low, t)
        density = 2 * math.exp(constant - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        following = t + above / density if density else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - t) <= 1e-11 * t:
            return following
        t = following
    return t


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function, for positive numbers."""
    value = 0.0
    while x < 10:
        value -= 1 / x
        x += 1
    square = 1 / (x * x)
    return value + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))


def trigamma(x: float) -> float:
    """The derivative of :func:`digamma`."""
    value = 0.0
    while x < 10:
        value += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    return value + 1 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))


def inverse_trigamma(value: float) -> float:
    """The positive number whose :func:`trigamma` is ``value``."""
    low, high = 1e-6, 1e7
    for _step in range(100):
        middle = math.sqrt(low * high)
        if trigamma(middle) > value:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
