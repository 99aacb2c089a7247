# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The registers of the current frame, and the states in which the frames of a stack were walked."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES
from cython.cimports.undwarf.tables.registers import RBP, RBX, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_CALLEE_SAVED as CALLEE_SAVED
from cython.cimports.undwarf.unwind.register_file import STATE_WORDS, FrameStatePointer, state_at

from undwarf.column import zeros
from undwarf.unwind.arch import AARCH64, Machine


@cython.final
@cython.cclass
class RegisterFile:
    """Values of registers, and which of them are known; 17 places, laid out for x86-64."""

    values: Any
    place_of_dwarf: Any

    def __init__(self, machine: Machine) -> None:
        self.known = 0
        self.flags = -1
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


@cython.final
@cython.cclass
class FrameStates:
    """States of the sample's frames so far, from the innermost one outwards."""

    words: Any

    def __init__(self, registers: RegisterFile, max_frames: int) -> None:
        self.registers = registers
        self.words = zeros("Q", STATE_WORDS * (max_frames + 1))
        self.count = 0

    def keep(self, depth: cython.Py_ssize_t, exact: cython.bint) -> cython.int:
        """Keep the registers as the state of frame ``depth``, the outermost one so far."""
        state: FrameStatePointer = state_at(self.words, depth)
        values: cython.p_ulonglong = self.registers.values
        state.address = values[RIP]
        state.stack_pointer = values[RSP]
        state.rbx = values[RBX]
        state.rbp = values[RBP]
        state.r12 = values[12]
        state.r13 = values[13]
        state.r14 = values[14]
        state.r15 = values[15]
        state.known = ALL_ONES if exact else self.registers.known & CALLEE_SAVED
        self.count = depth + 1
        return 0
