# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call chains that the kernel made: those in samples, with their kernel frames, and users' parts that came later."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.perfdata.abi import BRANCH_HW_INDEX, CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_USER_DEFERRED
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.rule_numbers import RULE_UNMAPPED
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.column import zeros
from undwarf.unwind.dump_walk import UserFrames
from undwarf.unwind.image_table import Places

MARKERS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFF001)
"""Call chain entries from here on are context markers (PERF_CONTEXT_MAX is -4095)."""


@cython.cclass
class SampledChains(UserFrames):
    """Frames that come as addresses, beside those that are walked to."""

    later_count: Any
    branch_kinds: Any
    branch_at: Any

    def __init__(
        self,
        source: Places,
        spaces: dict[str, memoryview],
        image_count: int,
        limits: Any,
        runtime: bool,
        kernel_image: int,
    ) -> None:
        super().__init__(source, spaces, image_count, limits, runtime, kernel_image)
        self.stitched = False
        self.damaged = 0
        self.max_branches = limits.branches
        self.branch_history = False
        self.set_later(zeros("Q", 0), zeros("I", 0), zeros("Q", 0))
        self.set_branches(zeros("Q", 0), zeros("H", 0), False)

    def set_later(self, at: memoryview, count: memoryview, addresses: memoryview) -> None:
        """Take user chains that came after their samples from ``addresses``; by sample, ``at`` is where they start
        and ``count`` how many they are (0xffffffff: none came)."""
        self.later_at = at
        self.later_count = count
        self.later = addresses

    def set_branches(self, kinds: memoryview, at: memoryview, history: bool) -> None:
        """Take calls from branch stacks: ``kinds`` are the events' `branch_sample_type`, ``at`` is by sample where in
        the record the stack is. With ``history`` those that hold other branches come before the stacks."""
        self.branch_kinds = kinds
        self.branch_at = at
        self.branch_history = history

    def set_stitched(self) -> None:
        """Take the user chains of samples that carry a stop reason as already unwound: no address is a raw return
        address (undwarf.unwind.sample_writer)."""
        self.stitched = True

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def word(self, at: cython.Py_ssize_t) -> cython.ulonglong:
        """The 8 bytes at an offset of the window, which need not be aligned."""
        if at < 0 or at > self.window.shape[0] - 8:
            with cython.gil:
                raise IndexError(at)
        return cython.cast(cython.p_ulonglong, cython.address(self.window[at]))[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def kernel_part(self, at: cython.Py_ssize_t, space: cython.uint) -> cython.Py_ssize_t:
        """Take the kernel frames of the sampled chain, which begins at ``at`` in the window; remembers where its user
        part lies."""
        total: cython.ulonglong = self.word(at)
        ip: cython.ulonglong
        kernel: cython.bint = False
        exact: cython.bint = True
        count: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        self.user_chain_at = -1
        self.user_chain_count = 0
        self.deferred_here = False
        at += 8
        if total > cython.cast(cython.ulonglong, self.window.shape[0] - at) // 8:
            self.damaged += 1
            return 0
        if total == 0:
            return 0
        # All of them lie in the window, as was checked just above.
        entries: cython.p_ulonglong = cython.cast(cython.p_ulonglong, cython.address(self.window[at]))
        for i in range(cython.cast(cython.Py_ssize_t, total)):
            ip = entries[i]
            if ip >= MARKERS:
                exact = True
                if ip == CONTEXT_KERNEL:
                    kernel = True
                elif ip == CONTEXT_USER:
                    if total - i == 3 and entries[i + 1] == CONTEXT_USER_DEFERRED:
                        continue
                    self.user_chain_at = at + 8 * (i + 1)
                    self.user_chain_count = cython.cast(cython.Py_ssize_t, total) - i - 1
                    break
                elif ip == CONTEXT_USER_DEFERRED:
                    # What follows is a cookie, not an address.
                    self.deferred_here = True
                    break
                else:
                    # A guest's frames, or a marker of the future: nothing here knows its addresses.
                    break
            elif kernel and count < self.max_chain:
                self.chain[count] = cython.cast(
                    cython.uint, self.rules.kernel_frame(space, ip if exact else ip - 1, ip)
                )
                count += 1
                exact = False
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def sampled_user_chain(self, count: cython.Py_ssize_t, why: cython.int) -> cython.Py_ssize_t:
        """Append the user frames that the sample brings: those the kernel found by frame pointers, up to the first
        that cannot be code; or, where we unwound it before it was written, all with the reason ``why`` they end."""
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        provenance: cython.int = Provenance.USER_CHAIN
        if not self.stitched:
            why = StopReason.NONE
        self.stop = why if why else StopReason.NO_DUMP
        for i in range(min(self.user_chain_count, self.max_chain)):
            ip = self.word(self.user_chain_at + 8 * i)
            if ip == CONTEXT_USER and why == StopReason.INFERRED_ROOT:
                # What comes behind a second marker was not in the sample's own dump (undwarf.unwind.sample_writer).
                provenance = Provenance.OTHER_DUMP
                continue
            if ip >= MARKERS:
                break
            if ip == 0:
                break
            self.rules.resolve(ip if i == 0 or why else ip - 1, ip, provenance)
            if self.rules.found_rule == RULE_UNMAPPED and i > 0 and not why:
                self.stop = StopReason.UNMAPPED
                break
            self.chain[count] = self.rules.found_frame
            count += 1
            if why and why != StopReason.ROOT and why != StopReason.INFERRED_ROOT:
                self.stop_image = self.rules.found_image
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def branch_count(self, at: cython.Py_ssize_t, kind: cython.ulonglong) -> cython.Py_ssize_t:
        """How many entries the branch stack at ``at`` in the window has; they are 24 bytes each."""
        total: cython.ulonglong = self.word(at)
        count: cython.Py_ssize_t
        at += 16 if kind & BRANCH_HW_INDEX else 8
        if total != 0 and (
            at > self.window.shape[0] or total > cython.cast(cython.ulonglong, self.window.shape[0] - at) // 24
        ):
            self.damaged += 1
            return 0
        count = cython.cast(cython.Py_ssize_t, total)
        if count > self.max_branches:
            count = self.max_branches
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFF)
    def branch_frame(self, at: cython.Py_ssize_t, kernel: cython.uint) -> cython.uint:
        """The frame of an address in the window, the kernel's or the user's."""
        ip: cython.ulonglong = self.word(at)
        if ip >> 63:
            return cython.cast(cython.uint, self.rules.kernel_frame(kernel, ip, ip))
        self.rules.resolve(ip, ip, Provenance.BRANCH_STACK)
        return self.rules.found_frame

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def branch_chain(
        self, at: cython.Py_ssize_t, kind: cython.ulonglong, count: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Append the user frames that the processor kept as a stack of calls: the sampled address, then the calls, the
        innermost first, which are exact (perf, ``resolve_lbr_callchain_sample``)."""
        total: cython.Py_ssize_t = self.branch_count(at, kind)
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        at += 8
        if kind & BRANCH_HW_INDEX:
            at += 8
        self.stop = StopReason.NO_DUMP
        ip = self.word(self.user_chain_at) if self.user_chain_count > 0 else 0
        if ip == 0 or ip >= MARKERS:
            # The kernel could not read where the program was: the function that was called last.
            ip = self.word(at + 8)
        self.rules.resolve(ip, ip, Provenance.USER_CHAIN)
        self.chain[count] = self.rules.found_frame
        count += 1
        for i in range(min(total, self.max_chain - 1)):
            ip = self.word(at + 24 * i)
            if ip == 0 or ip >> 63:
                break
            self.rules.resolve(ip, ip, Provenance.BRANCH_STACK)
            self.chain[count] = self.rules.found_frame
            count += 1
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def came_later(self, s: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """How many addresses came after a sample that says that some would; -1: none."""
        came: cython.Py_ssize_t = -1
        if self.deferred_here and s < self.later_count.shape[0] and self.later_count[s] != NOTHING:
            came = self.later_count[s]
        return came

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def later_user_chain(self, s: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Append the user frames that came after the sample, seen in the address space that the sample saw."""
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.later_at[s])
        innermost: cython.bint = True
        self.stop = StopReason.NO_DUMP
        for i in range(min(cython.cast(cython.Py_ssize_t, self.later_count[s]), self.max_chain)):
            ip = self.later[at + i]
            if ip == CONTEXT_USER:
                # All of them are the user's, marked or not.
                continue
            if ip == 0 or ip >= MARKERS:
                break
            self.rules.resolve(ip if innermost else ip - 1, ip, Provenance.DEFERRED_CHAIN)
            if self.rules.found_rule == RULE_UNMAPPED and not innermost:
                self.stop = StopReason.UNMAPPED
                break
            innermost = False
            self.chain[count] = self.rules.found_frame
            count += 1
        return count
