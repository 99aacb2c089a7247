# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Renumbers what samples refer to after the stacks of several threads were merged."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING


@cython.locals(numbers="unsigned int[::1]", new="const unsigned int[::1]", i=cython.Py_ssize_t)
def remap(column: Any, first: cython.Py_ssize_t, end: cython.Py_ssize_t, mapping: Any) -> None:
    """Replace ``column[first:end]`` by what ``mapping`` has for them; 0xffffffff stays."""
    numbers = column
    new = mapping
    with cython.nogil:
        for i in range(first, end):
            if numbers[i] != NOTHING:
                numbers[i] = new[numbers[i]]


@cython.locals(places="unsigned int[::1]", i=cython.Py_ssize_t)
def move(column: Any, first: cython.Py_ssize_t, end: cython.Py_ssize_t, by: cython.uint) -> None:
    """Add ``by`` to what is not 0 of ``column[first:end]``."""
    places = column
    with cython.nogil:
        for i in range(first, end):
            if places[i]:
                places[i] += by
