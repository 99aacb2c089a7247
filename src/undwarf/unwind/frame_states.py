# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The state in which each frame of a stack was walked."""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES
from cython.cimports.undwarf.tables.registers_x86_64 import CALLEE_SAVED, RBP, RBX, RIP, RSP
from cython.cimports.undwarf.unwind.frame_states import STATE_WORDS, FrameStatePointer, state_at

from undwarf.column import zeros
from undwarf.unwind.register_file import RegisterFile


@cython.final
@cython.cclass
class FrameStates:
    """States of the sample's frames so far, from the innermost one outwards."""

    words: Any

    def __init__(self, registers: RegisterFile, max_frames: int) -> None:
        self.registers = registers
        self.words = zeros("Q", STATE_WORDS * (max_frames + 1))
        self.count = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
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
