# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Chooses the caller of a frame without a rule, by what the code says of each return address that may be its own.

Code without a rule may have a frame of its own, whose return address the frame pointer finds, or none, as leaves,
trampolines and prologues: then the frame pointer is that of its caller, and finds the caller's caller. Nothing in such
a stack is visibly wrong, one frame is missing. The proof of a pair of return address and function is asked for once.
"""

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RBP, RSP
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.exact_positions import CallLevel
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_UNMAPPED

from undwarf.spaces.int_map import IntMap
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

NEAR_SLOTS = cython.declare(cython.int, 16)
"""Words above the stack pointer in which a return address is looked for that proves itself."""


@cython.final
@cython.cclass
class CallerChoice:
    """Chooses one caller at a time."""

    level: cython.int

    def __init__(self, rules: RuleCache, memory: ProcessMemory, registers: RegisterFile) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.proofs = IntMap()

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
        self.level = self._proof(by_frame_pointer, frame) if by_frame_pointer else CallLevel.IMPOSSIBLE
        if is_innermost and sp != frame_pointer:
            slot = sp + 8 if self._holds(sp, frame_pointer) else sp
            if self._returns_to(slot):
                level = self._proof(self.return_address, frame)
                if level >= max(self.level, least) and (level > CallLevel.UNKNOWN or self._is_code_alone()):
                    self.level = level
                    return slot
        return self._nearest_proven(frame, sp) if self.level == CallLevel.IMPOSSIBLE else 0

    def _nearest_proven(self, frame: cython.uint, first: cython.ulonglong) -> cython.ulonglong:
        """The first place on the stack with a return address of a direct call of the frame's function; 0 without."""
        i: cython.int
        slot: cython.ulonglong
        for i in range(NEAR_SLOTS):
            slot = first + 8 * cython.cast(cython.ulonglong, i)
            if self._returns_to(slot) and self._proof(self.return_address, frame) == CallLevel.PROVEN:
                self.level = CallLevel.PROVEN
                return slot
        return 0

    def _proof(self, return_address: cython.ulonglong, callee: cython.uint) -> cython.int:
        """Whether a return address proves itself as that of a call of the function of frame ``callee``, as a
        CallLevel; looks it up."""
        key: cython.ulonglong
        known: cython.longlong
        self.rules.find(return_address - 1, return_address)
        if self.rules.found_rule == RULE_UNMAPPED or self.rules.found_image == NOTHING:
            return CallLevel.IMPOSSIBLE
        if (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
        ):
            # A signal handler returns there.
            return CallLevel.POSSIBLE
        key = cython.cast(cython.ulonglong, self.rules.found_frame) << 32 | callee
        known = self.proofs.get(key)
        if known < 0:
            with cython.gil:
                known = self._ask_proof(self.rules.found_frame, callee)
            self.proofs.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.int, known)

    def _ask_proof(self, caller: cython.uint, callee: cython.uint) -> cython.int:
        """A function of its own, since one with Python objects takes the GIL at every call."""
        stacks = self.rules.stacks
        found: cython.int = self.rules.source.code_evidence.entry_level(
            stacks.frame_image[caller], stacks.frame_address[caller], stacks.frame_image[callee],
            stacks.frame_address[callee],
        )  # fmt: skip
        return found

    def _is_code(self, address: cython.ulonglong) -> cython.bint:
        """Whether an address is in an executable mapping; what is not gets no frame."""
        entry: cython.Py_ssize_t = self.rules.mapping(address)
        return entry >= 0 and self.rules.spaces.flags[entry] != 0

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
        if not self._is_code(self.return_address - 1):
            return False
        return self.rules.follows_call(self.return_address)
