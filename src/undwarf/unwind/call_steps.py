# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Steps to callers that may be false, and what the code says of the return addresses that they give."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK, EXECUTABLE
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import RulePointer, rule_at
from cython.cimports.undwarf.unwind.exact_positions import CallLevel
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_UNMAPPED, ImageState

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.frame_step import FrameStepper
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache


@cython.final
@cython.cclass
class CallSteps:
    """Attempts that all begin with the same registers; proofs are kept for the next sample."""

    saved: Any
    biases: Any
    function_images: Any
    function_starts: Any
    function_numbers: dict[tuple[int, int], int]
    image_sets: dict[tuple[int, ...], int]
    image_lists: list[tuple[int, ...]]

    def __init__(self, rules: RuleCache, memory: ProcessMemory, registers: RegisterFile, stepper: FrameStepper) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.stepper = stepper
        self.proofs, self.entry_proofs = IntMap(), IntMap()
        self.function_numbers = {}
        self.function_images, self.function_starts = zeros("I", 64), zeros("Q", 64)
        self.functions_of_frames, self.depths = IntMap(), IntMap()
        self.bias_numbers = IntMap()
        self.biases = zeros("Q", 64)
        self.bias_count = 0
        self.set_numbers = IntMap()
        self.image_sets = {}
        self.image_lists = []

    def forget(self) -> None:
        """Forget what is known of frames and address spaces: they have other numbers now."""
        self.proofs, self.entry_proofs, self.functions_of_frames = IntMap(), IntMap(), IntMap()
        self.bias_numbers, self.set_numbers, self.depths = IntMap(), IntMap(), IntMap()
        self.bias_count = 0

    def save(self) -> cython.int:
        """Keep the registers, for the attempts that follow."""
        i: cython.int
        for i in range(REGISTERS):
            self.saved[i] = self.registers.values[i]
        self.saved_known = self.registers.known
        return 0

    def restore(self) -> cython.int:
        """Take the registers that were kept."""
        i: cython.int
        for i in range(REGISTERS):
            self.registers.values[i] = self.saved[i]
        self.registers.known = self.saved_known
        self.memory.fault = 0
        return 0

    def is_code(self, address: cython.ulonglong) -> cython.bint:
        """Whether an address is in an executable mapping; what is not gets no frame."""
        entry: cython.Py_ssize_t = self.rules.spaces.mapping(self.rules.space, address)
        return entry >= 0 and self.rules.spaces.flags[entry] != 0

    def function_of(self, frame: cython.uint) -> cython.uint:
        """The number of the function that holds the address of a frame."""
        known: cython.longlong = self.functions_of_frames.get(frame)
        if known < 0:
            with cython.gil:
                known = self._find_function(frame)
            self.functions_of_frames.put(frame, cython.cast(cython.uint, known))
        return cython.cast(cython.uint, known)

    def _find_function(self, frame: cython.uint) -> cython.uint:
        """A function of its own, since one with Python objects takes the GIL at every call."""
        stacks = self.rules.stacks
        image: cython.uint = stacks.frame_image[frame]
        start: cython.ulonglong = self.rules.source.code_evidence.function_start(image, stacks.frame_address[frame])
        return self.number_function(image, start)

    def number_function(self, image: cython.uint, start: cython.ulonglong) -> cython.uint:
        """The number of the function that starts at an address of an image."""
        count: cython.Py_ssize_t = len(self.function_numbers)
        number: int = self.function_numbers.setdefault((image, start), count)
        if number == count:
            if count == self.function_images.shape[0]:
                self.function_images = longer(self.function_images, count, 2 * count)
                self.function_starts = longer(self.function_starts, count, 2 * count)
            self.function_images[count], self.function_starts[count] = image, start
        return cython.cast(cython.uint, number)

    def proof(self, return_address: cython.ulonglong, function: cython.uint) -> cython.int:
        """Whether a return address proves itself as that of a call of a function, as a CallLevel."""
        return self._level(return_address, function, False)

    def entry_proof(self, return_address: cython.ulonglong, function: cython.uint) -> cython.int:
        """As :meth:`proof`, without a search for pointers to the function: an indirect call is UNKNOWN."""
        return self._level(return_address, function, True)

    def _level(self, return_address: cython.ulonglong, function: cython.uint, entry_alone: cython.bint) -> cython.int:
        frame: cython.uint
        key: cython.ulonglong
        known: cython.longlong
        if not self.is_code(return_address - 1):
            return CallLevel.IMPOSSIBLE
        self.rules.find(return_address - 1, return_address)
        if self.rules.found_rule == RULE_UNMAPPED or self.rules.found_image == NOTHING:
            return CallLevel.IMPOSSIBLE
        if (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
        ):
            # A signal handler returns there.
            return CallLevel.POSSIBLE
        frame = self.rules.found_frame
        key = cython.cast(cython.ulonglong, frame) << 32 | function
        known = self.entry_proofs.get(key) if entry_alone else self.proofs.get(key)
        if known < 0:
            with cython.gil:
                known = self._ask_level(frame, function, entry_alone)
            if entry_alone:
                self.entry_proofs.put(key, cython.cast(cython.uint, known))
            else:
                self.proofs.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.int, known)

    def _ask_level(self, caller: cython.uint, function: cython.uint, entry_alone: cython.bint) -> cython.int:
        """A function of its own, since one with Python objects takes the GIL at every call."""
        stacks = self.rules.stacks
        evidence = self.rules.source.code_evidence
        ask = evidence.entry_level if entry_alone else evidence.call_level
        found: cython.int = ask(
            stacks.frame_image[caller], stacks.frame_address[caller], self.function_images[function],
            self.function_starts[function],
        )  # fmt: skip
        return found

    def step(self, pc: cython.ulonglong, is_innermost: cython.bint, function: cython.uint) -> cython.int:
        """Go to the caller by the rule at an address, a return address unless it ``is_innermost``; the CallLevel of the
        caller's return address, as a call of a function."""
        self.rules.find(pc if is_innermost else pc - 1, pc)
        return self.step_by(self.rules.found_rule, pc, is_innermost, function)

    def step_by(
        self, rule: cython.uint, pc: cython.ulonglong, is_innermost: cython.bint, function: cython.uint
    ) -> cython.int:
        """As :meth:`step`, by a rule."""
        reason: cython.int
        if rule >= RULE_LIMIT:
            return CallLevel.IMPOSSIBLE
        sp: cython.ulonglong = self.registers.values[RSP]
        depth: cython.ulonglong = self.depth(rule, pc, is_innermost)
        self.registers.values[RIP] = pc
        self.stepper.is_innermost = is_innermost
        reason = self.stepper.step(rule)
        if depth and not reason and self.registers.values[RSP] != sp + depth:
            return CallLevel.IMPOSSIBLE
        if reason == StopReason.ROOT:
            return CallLevel.POSSIBLE
        return CallLevel.IMPOSSIBLE if reason else self.proof(self.registers.values[RIP], function)

    def depth(self, rule: cython.uint, pc: cython.ulonglong, is_innermost: cython.bint) -> cython.ulonglong:
        """How far the stack pointer is below the call frame address at an address whose rule does not say it, by the
        code; 0 where that is not known."""
        frame: cython.uint
        known: cython.longlong
        if rule >= RULE_LIMIT or not self._is_by_frame_pointer(rule):
            return 0
        self.rules.find(pc if is_innermost else pc - 1, pc)
        frame = self.rules.found_frame
        known = self.depths.get(frame)
        if known < 0:
            with cython.gil:
                known = self._find_depth(frame, not is_innermost)
            self.depths.put(frame, cython.cast(cython.uint, known))
        return cython.cast(cython.ulonglong, known)

    def _is_by_frame_pointer(self, rule: cython.uint) -> cython.bint:
        found: RulePointer = rule_at(self.rules.words, rule)
        return found.cfa_kind == kinds.CFA_REGISTER and found.cfa_register != RSP

    def _find_depth(self, frame: cython.uint, is_return: cython.bint) -> cython.uint:
        stacks = self.rules.stacks
        image: cython.uint = stacks.frame_image[frame]
        start: cython.ulonglong = self.function_starts[self.function_of(frame)]
        rule: cython.uint = self.rules.rule_in(image, start)
        # At the start of a function's other part, and of what is not called, more is on the stack.
        if rule >= RULE_LIMIT or not self._is_entry(rule):
            return 0
        found: int = self.rules.source.code_evidence.depth(image, stacks.frame_address[frame], is_return)
        return cython.cast(cython.uint, max(0, min(found, 0xFFFFFFFE)))

    def _is_entry(self, rule: cython.uint) -> cython.bint:
        found: RulePointer = rule_at(self.rules.words, rule)
        return found.cfa_kind == kinds.CFA_REGISTER and found.cfa_register == RSP and found.cfa_offset == 8

    def next_is_false(self) -> cython.bint:
        """Whether the caller, to which the last step went, has a return address that no call can have left. What cannot
        be read, or has no rule, is not false. The registers are lost."""
        pc: cython.ulonglong = self.registers.values[RIP]
        callee: cython.uint
        self.rules.find(pc - 1, pc)
        if self.rules.found_rule >= RULE_LIMIT:
            return False
        if rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL:
            return False
        callee = self.rules.found_frame
        self.stepper.is_innermost = False
        if self.stepper.step(self.rules.found_rule):
            return False
        return self.proof(self.registers.values[RIP], self.function_of(callee)) == CallLevel.IMPOSSIBLE

    def bias(self, image: cython.uint) -> cython.ulonglong:
        """What addresses of an image's file are moved by in the sample's process; all ones where it is not mapped."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, self.rules.space) << 32 | image
        known: cython.longlong = self.bias_numbers.get(key)
        if known < 0:
            found: cython.ulonglong = self._find_bias(image)
            with cython.gil:
                known = self._keep_bias(found)
            self.bias_numbers.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.ulonglong, self.biases[known])

    def _find_bias(self, image: cython.uint) -> cython.ulonglong:
        i: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        middle: cython.ulonglong
        stated: cython.ulonglong
        first: cython.Py_ssize_t = self.rules.spaces.snapshot_at[self.rules.space]
        if self.rules.image_state[image] == ImageState.NOT_LOADED:
            with cython.gil:
                self.rules.load_image(image)
        for i in range(first, first + self.rules.spaces.snapshot_count[self.rules.space]):
            chunk = self.rules.spaces.lists[i]
            for entry in range(CHUNK * chunk, CHUNK * chunk + self.rules.spaces.chunk_count[chunk]):
                if self.rules.spaces.images[entry] == image and self.rules.spaces.flags[entry] & EXECUTABLE:
                    # In the middle: at its ends a page may be of two segments.
                    middle = (self.rules.spaces.ends[entry] - self.rules.spaces.starts[entry]) >> 1
                    stated = self.rules.spaces.offsets[entry] + middle
                    if self.rules.image_segment_count[image]:
                        stated = self.rules.stated_address(image, stated)
                    return self.rules.spaces.starts[entry] + middle - stated
        return ALL_ONES

    def _keep_bias(self, bias: cython.ulonglong) -> cython.Py_ssize_t:
        if self.bias_count == self.biases.shape[0]:
            self.biases = longer(self.biases, self.bias_count, 2 * self.bias_count)
        self.biases[self.bias_count] = bias
        self.bias_count += 1
        return self.bias_count - 1

    def image_set(self) -> cython.uint:
        """A number for the images whose code is mapped in the sample's process, the same for the same images."""
        known: cython.longlong = self.set_numbers.get(self.rules.space)
        if known < 0:
            with cython.gil:
                known = self._number_image_set()
            self.set_numbers.put(self.rules.space, cython.cast(cython.uint, known))
        return cython.cast(cython.uint, known)

    def images_of(self, image_set: cython.uint) -> tuple:  # type: ignore[type-arg]  # Cython's own tuple
        """The images of a set, by its number, ascending; none for NOTHING."""
        return () if image_set == NOTHING else self.image_lists[image_set]

    def _number_image_set(self) -> cython.uint:
        images = self._images()
        number: int = self.image_sets.setdefault(images, len(self.image_sets))
        if number == len(self.image_lists):
            self.image_lists.append(images)
        return number

    def _images(self) -> tuple:  # type: ignore[type-arg]  # Cython's own tuple
        """The numbers of the images whose code is mapped in the sample's process, ascending."""
        found = set()
        i: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.rules.spaces.snapshot_at[self.rules.space]
        for i in range(first, first + self.rules.spaces.snapshot_count[self.rules.space]):
            chunk = self.rules.spaces.lists[i]
            for entry in range(CHUNK * chunk, CHUNK * chunk + self.rules.spaces.chunk_count[chunk]):
                if self.rules.spaces.images[entry] != NOTHING and self.rules.spaces.flags[entry] & EXECUTABLE:
                    found.add(self.rules.spaces.images[entry])
        return tuple(sorted(found))
