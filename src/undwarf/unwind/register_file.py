# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The registers of the frame at hand."""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES

from undwarf.unwind.arch import AARCH64, Machine


@cython.final
@cython.cclass
class RegisterFile:
    """Values of registers, and which of them are known; 17 places, laid out for x86-64."""

    values: Any
    place_of_dwarf: Any

    def __init__(self, machine: Machine) -> None:
        self.known = 0
        self.address_bits = ALL_ONES
        self.link = -1
        for i in range(64):
            self.place_of_dwarf[i] = i
        if machine is AARCH64:
            from undwarf.unwind.aarch64.registers import LINK, PLACE_OF_DWARF

            self.address_bits = (cython.cast(cython.ulonglong, 1) << 48) - 1
            self.link = LINK
            for i in range(64):
                self.place_of_dwarf[i] = PLACE_OF_DWARF[i]
