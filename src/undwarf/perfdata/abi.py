# constants of kernels: the build writes the .pxd beside this file
"""Numbers of the kernel's perf_event interface (``include/uapi/linux/perf_event.h``)."""

from enum import IntEnum


class CpuMode(IntEnum):
    """The low three bits of a record's ``misc``, ``CPUMODE_MASK``: where the CPU was."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


CPUMODE_MASK = 7
MISC_MMAP_DATA = 1 << 13
MISC_COMM_EXEC = 1 << 13
MISC_FORK_EXEC = 1 << 13
"""perf synthesised the FORK record: no mappings are inherited."""
MISC_SWITCH_OUT = 1 << 13
MISC_EXACT_IP = 1 << 14
MISC_MMAP_BUILD_ID = 1 << 14
MISC_SWITCH_OUT_PREEMPT = 1 << 14
MISC_LOST_SAMPLES_BPF = 1 << 15
MISC_BUILD_ID_SIZE = 1 << 15
"""Other bits of ``misc``: ``PERF_RECORD_MISC_...``, by record type."""
MISC_STOP_SHIFT = 8
MISC_STOP_MASK = 0x1F << MISC_STOP_SHIFT
"""Bits of a sample's ``misc`` in undwarf's own recordings: the stop reason of a chain that was unwound before."""

READ_TIMES = 1 | 2
READ_ID = 4
READ_GROUP = 8
READ_LOST = 16
"""Bits of ``read_format``."""

CONTEXT_KERNEL = 0xFFFFFFFFFFFFFF80
CONTEXT_USER = 0xFFFFFFFFFFFFFE00
CONTEXT_USER_DEFERRED = 0xFFFFFFFFFFFFFD80
"""Context markers among the entries of a call chain: ``PERF_CONTEXT_...``."""

BRANCH_BYTES = 24
"""Bytes of a branch: source, target and flags, 8 bytes each (``struct perf_branch_entry``)."""
BRANCH_CALL_STACK = 1 << 11
BRANCH_HW_INDEX = 1 << 17
BRANCH_COUNTERS = 1 << 19
"""Bits of ``branch_sample_type``."""

LARGEST_DUMP = 65528
"""Maximum bytes of stack in a sample (``perf_sample_ustack_size``, kernel/events/core.c)."""
LARGEST_RECORD = 65528
"""The size field of a record has 16 bits, and sizes are multiples of 8."""
LARGEST_AUXTRACE = 1 << 62
"""Bytes of trace data that a record may announce; more is damage, and offsets would overflow."""

REGS_ABI_64 = 2
"""PERF_SAMPLE_REGS_ABI_64: registers of a 64-bit task."""
