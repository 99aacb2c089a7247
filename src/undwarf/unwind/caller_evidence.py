# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""What a sample's registers and stack say of a function that is thought to have made a call, by the code of both that
function and its caller (:mod:`undwarf.unwind.call_values`)."""

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.unwind.exact_positions import CONTRADICTED, GENERAL_REGISTERS, NO_FACTS

from undwarf.unwind.call_steps import CallSteps


@cython.final
@cython.cclass
class CallerEvidence:
    """Looks at one candidate at a time."""

    def __init__(self, steps: CallSteps) -> None:
        self.steps = steps

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-9)
    def agreeing(
        self, image: cython.uint, function: cython.ulonglong, back: cython.ulonglong, return_address: cython.ulonglong,
        registers: cython.p_ulonglong, known: cython.uint,
    ) -> cython.int:  # fmt: skip
        """How many facts ``registers``, of which some are ``known``, and the stack fulfil if the
        function at an address of an image has made the call that returns to ``back``, and returns to
        ``return_address`` itself, in the process (0: not known); or
        NO_FACTS or CONTRADICTED."""
        found: cython.int
        outer: cython.uint = NOTHING
        if return_address:
            self.steps.rules.find(return_address - 1, return_address)
            outer = self.steps.rules.found_frame
        with cython.gil:
            found = self._agreeing(image, function, back, outer, registers, known)
        return found

    @cython.cfunc
    @cython.exceptval(-9)
    def _agreeing(
        self, image: cython.uint, function: cython.ulonglong, back: cython.ulonglong, outer: cython.uint,
        registers: cython.p_ulonglong, known: cython.uint,
    ) -> cython.int:  # fmt: skip
        i: cython.int = 0
        most: cython.int
        stacks = self.steps.rules.stacks
        caller: int = -1
        caller_back: int = 0
        biases = {image: self.steps.bias(image)}
        if outer != NOTHING and stacks.frame_image[outer] != NOTHING:
            caller, caller_back = stacks.frame_image[outer], stacks.frame_address[outer] + 1
            biases[caller] = self.steps.bias(caller)
        found = self.steps.rules.source.code_evidence.call_facts(image, function, back, caller, caller_back)
        if found is None:
            return NO_FACTS
        values = [0] * GENERAL_REGISTERS
        numbers = set()
        for i in range(GENERAL_REGISTERS):
            values[i] = registers[i]
            if known >> i & 1:
                numbers.add(i)
        most = max([one.of(numbers).agreeing(values, -1, self.steps.memory.value, biases) for one in found])
        return most if most >= 0 else CONTRADICTED

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def has_pointer(self, image: cython.uint, function: cython.ulonglong) -> cython.bint:
        """Whether a function may be called through a pointer, by what the code and data of all images have."""
        found: cython.bint
        with cython.gil:
            found = self.steps.rules.source.call_sites.has_pointer(image, function)
        return found
