# constants of kernels: the build writes the .pxd beside this file
"""Bits of a symbol's rank, by which one of several names of an address is chosen; the highest counts most."""

RANK_SIZED = 8
RANK_TYPED = 4
RANK_STRONG = 2
"""It is not weak."""
RANK_GLOBAL = 1
