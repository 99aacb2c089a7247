# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call chains that the kernel recorded: those in samples, and user chains that were deferred."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.perfdata.abi import CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_USER_DEFERRED
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_UNMAPPED, ImageState

from undwarf.column import zeros
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.rule_cache import RuleCache

MARKERS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFF001)
"""Call chain entries from here on are context markers (PERF_CONTEXT_MAX is -4095)."""


@cython.final
@cython.cclass
class KernelChains:
    """Adds the frames of addresses that the kernel recorded to the chain."""

    deferred_counts: Any

    def __init__(self, rules: RuleCache, memory: ProcessMemory, chain: memoryview, max_chain: int) -> None:
        self.rules = rules
        self.memory = memory
        self.chain = chain
        self.max_chain = max_chain
        self.is_unwound = False
        self.damaged = 0
        self.set_deferred(zeros("Q", 0), zeros("I", 0), zeros("Q", 0))
        self.begin_sample()

    def set_deferred(self, starts: memoryview, counts: memoryview, addresses: memoryview) -> None:
        """Set the user chains that were recorded after their samples: by sample where in ``addresses`` they begin, and
        how long they are (0xffffffff: there is none)."""
        self.deferred_starts = starts
        self.deferred_counts = counts
        self.deferred_addresses = addresses

    def set_unwound(self) -> None:
        """Take the user chains of samples that carry a stop reason as already unwound: no address is a raw return
        address (undwarf.unwind.sample_writer)."""
        self.is_unwound = True

    def begin_sample(self) -> cython.int:
        """A sample follows that may have no chain."""
        self.user_at = -1
        self.user_count = 0
        self.is_deferred = False
        self.stop_image = NOTHING
        return 0

    def add_kernel_frames(self, at: cython.Py_ssize_t, space: cython.uint) -> cython.Py_ssize_t:
        """Add the kernel frames of the sampled chain that begins at ``at`` in the window, and keep where its user part
        is. Returns the chain's length."""
        total: cython.ulonglong = self.memory.record_word(at)
        ip: cython.ulonglong
        in_kernel: cython.bint = False
        exact: cython.bint = True
        count: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        at += 8
        if total > cython.cast(cython.ulonglong, self.memory.window.shape[0] - at) // 8:
            self.damaged += 1
            return 0
        if total == 0:
            return 0
        # All entries are in the window, as was checked just above.
        entries: cython.p_ulonglong = cython.cast(cython.p_ulonglong, cython.address(self.memory.window[at]))
        for i in range(cython.cast(cython.Py_ssize_t, total)):
            ip = entries[i]
            if ip >= MARKERS:
                exact = True
                if ip == CONTEXT_KERNEL:
                    in_kernel = True
                elif ip == CONTEXT_USER:
                    if total - i == 3 and entries[i + 1] == CONTEXT_USER_DEFERRED:
                        continue
                    self.user_at = at + 8 * (i + 1)
                    self.user_count = cython.cast(cython.Py_ssize_t, total) - i - 1
                    break
                elif ip == CONTEXT_USER_DEFERRED:
                    # A cookie follows, not an address.
                    self.is_deferred = True
                    break
                else:
                    # A guest's frames, or a marker of a later kernel: no image is known for these addresses.
                    break
            elif in_kernel and count < self.max_chain:
                self.chain[count] = self.rules.kernel_frame(space, ip if exact else ip - 1, ip)
                count += 1
                exact = False
        return count

    def sampled_address(self) -> cython.ulonglong:
        """The first address of the user part; 0 without."""
        ip: cython.ulonglong = self.memory.record_word(self.user_at) if self.user_count > 0 else 0
        return ip if ip < MARKERS else 0

    def add_user_frames(self, count: cython.Py_ssize_t, stored_stop: cython.int) -> cython.Py_ssize_t:
        """Add the user frames of the sampled chain: those that the kernel found by frame pointers, up to the first that
        cannot be code; if the recording was unwound before, all of them, and they end for the reason ``stored_stop``.
        """
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        provenance: cython.int = Provenance.USER_CHAIN
        markers: cython.int = 0
        has_gap: cython.bint = False
        if not self.is_unwound:
            stored_stop = StopReason.NONE
        self.stop = stored_stop if stored_stop else StopReason.NO_DUMP
        for i in range(min(self.user_count, self.max_chain)):
            ip = self.memory.record_word(self.user_at + 8 * i)
            if ip == CONTEXT_USER and stored_stop:
                # Inferred frames have markers of their own (undwarf.unwind.sample_writer).
                markers += 1
                provenance = self._provenance_after(markers, provenance)
                continue
            markers = 0
            if ip >= MARKERS:
                break
            if ip == 0:
                break
            self.rules.resolve(ip if i == 0 or stored_stop else ip - 1, ip, provenance)
            if self.rules.found_rule == RULE_UNMAPPED and i > 0 and not stored_stop:
                self.rules.resolve(ip, ip, provenance)
                self.stop = StopReason.UNMAPPED
                if (
                    self.rules.found_image != NOTHING
                    and self.rules.image_state[self.rules.found_image] == ImageState.UPROBES
                ):
                    # From Linux 6.11 on the kernel puts in the address that a return probe has replaced.
                    self.stop = StopReason.PROBED_RETURN
                break
            if stored_stop and i > 0:
                # The recorder wrote the address of the call.
                self.rules.stacks.frame_is_return[self.rules.found_frame] = 1
            self.chain[count] = self.rules.found_frame
            count += 1
            if stored_stop == StopReason.PROBED_RETURN and self.rules.found_image != NOTHING:
                # Frames further out follow a gap.
                has_gap |= self.rules.image_state[self.rules.found_image] == ImageState.UPROBES and i > 0
            if (
                stored_stop
                and stored_stop != StopReason.ROOT
                and stored_stop != StopReason.INFERRED_ROOT
                and not has_gap
            ):
                self.stop_image = self.rules.found_image
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _provenance_after(self, markers: cython.int, provenance: cython.int) -> cython.int:
        """The provenance of the frames after so many markers in a row; ``provenance`` was that after one less.

        Two stand before a caller that was inferred by code, one after it, or before frames from another dump; three
        before such frames after an inferred caller.
        """
        if markers == 1:
            return Provenance.USER_CHAIN if provenance == Provenance.INFERRED_CALLER else Provenance.OTHER_DUMP
        return Provenance.INFERRED_CALLER if markers == 2 else Provenance.OTHER_DUMP

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def deferred_count(self, sample: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """How many addresses were recorded after the sample; -1 if it has no deferred chain, or that never arrived."""
        if self.is_deferred and sample < self.deferred_counts.shape[0] and self.deferred_counts[sample] != NOTHING:
            return cython.cast(cython.Py_ssize_t, self.deferred_counts[sample])
        return -1

    def add_deferred_frames(self, sample: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Add the user frames that were recorded after the sample, in the address space of the sample."""
        ip: cython.ulonglong
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.deferred_starts[sample])
        innermost: cython.bint = True
        self.stop = StopReason.NO_DUMP
        for i in range(min(cython.cast(cython.Py_ssize_t, self.deferred_counts[sample]), self.max_chain)):
            ip = self.deferred_addresses[at + i]
            if ip == CONTEXT_USER:
                # All addresses are the user's, with the marker or without.
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
