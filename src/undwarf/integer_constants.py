# constants of kernels: the build writes the .pxd beside this file
"""Integers that kernels of several packages need."""

NOTHING = 0xFFFFFFFF
"""In columns of 32-bit numbers, mostly indices: there is none."""

ALL_ONES = 0xFFFFFFFFFFFFFFFF
LOW_HALF = 0x00000000FFFFFFFF
HIGH_HALF = 0xFFFFFFFF00000000
"""Masks of 64-bit words."""

GOLDEN_RATIO = 0x9E3779B97F4A7C15
"""The golden ratio as a 64-bit fraction: an odd factor whose product has a key's bits spread over its upper half
(multiplicative hashing: Knuth, The Art of Computer Programming 3, 6.4)."""
