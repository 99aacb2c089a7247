# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Branch stacks of samples: the processor's own call stack, and the branches before a sample as its history."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.perfdata.abi import BRANCH_BYTES, BRANCH_CALL_STACK, BRANCH_HW_INDEX
from cython.cimports.undwarf.unwind.provenance import Provenance

from undwarf.column import zeros
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.rule_cache import RuleCache

LONGEST_CALL = cython.declare(cython.ulonglong, 8)
"""Bytes from a call to where it returns, at most."""


@cython.final
@cython.cclass
class BranchStacks:
    """Adds frames for the branches that the processor recorded."""

    kinds: Any
    offsets: Any

    def __init__(
        self, rules: RuleCache, memory: ProcessMemory, chain: memoryview, max_chain: int, max_branches: int
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.chain = chain
        self.max_chain = max_chain
        self.max_branches = max_branches
        self.damaged = 0
        self.set_branches(zeros("Q", 0), zeros("H", 0), False)

    def set_branches(self, kinds: memoryview, offsets: memoryview, has_history: bool) -> None:
        """Set where branch stacks are: by event its `branch_sample_type`, by sample the offset in its record. With
        ``has_history`` those that are no call stack are added below the innermost frame."""
        self.kinds = kinds
        self.offsets = offsets
        self.has_history = has_history

    def branch_count(self, at: cython.Py_ssize_t, kind: cython.ulonglong) -> cython.Py_ssize_t:
        """How many branches the branch stack at ``at`` in the window has."""
        total: cython.ulonglong = self.memory.record_word(at)
        size: cython.Py_ssize_t = self.memory.window.shape[0]
        at += 16 if kind & BRANCH_HW_INDEX else 8
        if total != 0 and (at > size or total > cython.cast(cython.ulonglong, size - at) // BRANCH_BYTES):
            self.damaged += 1
            return 0
        return min(cython.cast(cython.Py_ssize_t, total), self.max_branches)

    def has_call_stack(self, sample: cython.Py_ssize_t, record: cython.Py_ssize_t, event: cython.uint) -> cython.bint:
        """Whether the branch stack of a sample is a call stack, and not empty."""
        if not self.kinds.shape[0] or not self.offsets[sample] or not self.kinds[event] & BRANCH_CALL_STACK:
            return False
        return self.branch_count(record + self.offsets[sample], self.kinds[event]) > 0

    def add_call_stack(
        self,
        sample: cython.Py_ssize_t,
        record: cython.Py_ssize_t,
        event: cython.uint,
        sampled_address: cython.ulonglong,
        count: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Add the user frames of the processor's call stack: the sampled address (0: the kernel could not read it),
        then the calls, the innermost first, whose addresses are exact (perf, ``resolve_lbr_callchain_sample``). Returns
        the chain's length."""
        at: cython.Py_ssize_t = record + self.offsets[sample]
        total: cython.Py_ssize_t = self.branch_count(at, self.kinds[event])
        ip: cython.ulonglong = sampled_address
        i: cython.Py_ssize_t
        at += 16 if self.kinds[event] & BRANCH_HW_INDEX else 8
        if ip == 0:
            # The function that was called last.
            ip = self.memory.record_word(at + 8)
        self.rules.resolve(ip, ip, Provenance.USER_CHAIN)
        self.chain[count] = self.rules.found_frame
        count += 1
        for i in range(min(total, self.max_chain - 1)):
            ip = self.memory.record_word(at + BRANCH_BYTES * i)
            if ip == 0 or ip >> 63:
                break
            self.rules.resolve(ip, ip, Provenance.BRANCH_STACK)
            self.chain[count] = self.rules.found_frame
            count += 1
        return count

    def with_history(
        self,
        sample: cython.Py_ssize_t,
        record: cython.Py_ssize_t,
        event: cython.uint,
        kernel: cython.uint,
        leaf: cython.uint,
    ) -> cython.uint:
        """The node of a sample's stack with its branch history: the sampled address, the target and the source of the
        newest branch, those of the one before, and so on; then the callers that no branch was a call of."""
        kind: cython.ulonglong
        at: cython.Py_ssize_t
        total: cython.Py_ssize_t
        i: cython.Py_ssize_t
        source: cython.uint
        sampled: cython.uint
        caller: cython.uint
        node: cython.uint
        address: cython.ulonglong
        if leaf == NOTHING or not self.has_history or not self.kinds.shape[0] or not self.offsets[sample]:
            return leaf
        kind = self.kinds[event]
        if kind & BRANCH_CALL_STACK:
            return leaf
        at = record + self.offsets[sample]
        total = self.branch_count(at, kind)
        at += 16 if kind & BRANCH_HW_INDEX else 8
        sampled = cython.cast(cython.uint, self.rules.stacks.node_key[leaf] & NOTHING)
        node = cython.cast(cython.uint, self.rules.stacks.node_key[leaf] >> 32)
        for i in range(total):
            if node == NOTHING:
                break
            source = self._frame(at + BRANCH_BYTES * i, kernel)
            caller = cython.cast(cython.uint, self.rules.stacks.node_key[node] & NOTHING)
            address = self.rules.stacks.frame_address[source]
            if (
                self.rules.stacks.frame_image[source] == self.rules.stacks.frame_image[caller]
                and 0 <= self.rules.stacks.frame_address[caller] - address < LONGEST_CALL
            ):
                node = cython.cast(cython.uint, self.rules.stacks.node_key[node] >> 32)
        i = total
        while i > 0:
            i -= 1
            source = self._frame(at + BRANCH_BYTES * i, kernel)
            node = self.rules.stacks.node(node, source)
            source = self._frame(at + BRANCH_BYTES * i + 8, kernel)
            node = self.rules.stacks.node(node, source)
        return self.rules.stacks.node(node, sampled)

    def _frame(self, at: cython.Py_ssize_t, kernel: cython.uint) -> cython.uint:
        """The frame of the address at ``at`` in the window, the kernel's or the user's."""
        ip: cython.ulonglong = self.memory.record_word(at)
        if ip >> 63:
            return self.rules.kernel_frame(kernel, ip, ip)
        self.rules.resolve(ip, ip, Provenance.BRANCH_STACK)
        return self.rules.found_frame
