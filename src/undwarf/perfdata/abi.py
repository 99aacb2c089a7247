# constants of kernels: the build writes the .pxd beside this file
"""Numbers of the kernel's interface that kernels need (``include/uapi/linux/perf_event.h``)."""

CONTEXT_KERNEL = 0xFFFFFFFFFFFFFF80
CONTEXT_USER = 0xFFFFFFFFFFFFFE00
CONTEXT_USER_DEFERRED = 0xFFFFFFFFFFFFFD80
"""Context markers among the entries of a call chain: ``PERF_CONTEXT_...``."""

BRANCH_CALL_STACK = 1 << 11
BRANCH_HW_INDEX = 1 << 17
"""Bits of ``branch_sample_type``."""

LARGEST_DUMP = 65528
"""Bytes of stack that a sample has at most (``perf_sample_ustack_size``, kernel/events/core.c)."""
