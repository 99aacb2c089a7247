"""Sampled registers of x86-64: from perf's numbering to DWARF's.

Sources: enum perf_event_x86_regs (arch/x86/include/uapi/asm/perf_regs.h) and the x86-64 System V ABI, figure 3.36.
"""

COUNT = 17
"""Registers that the walk keeps: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15 and the return address."""

DWARF_OF_PERF = (0, 3, 2, 1, 4, 5, 6, 7, 16, None, None, None, None, None, None, None, 8, 9, 10, 11, 12, 13, 14, 15)
"""DWARF number by perf's bit: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8-r15."""

SLOTS = COUNT + 1
FLAGS = 9
"""perf's bit of the flags."""

ABSENT = 255


def slots(mask: int) -> bytes:
    """By DWARF register its word among those of a sample, 255 for none, for an event's ``sample_regs_user`` mask; the
    last one is that of the flags."""
    found = [ABSENT] * SLOTS
    word = 0
    for bit in range(64):
        if not mask >> bit & 1:
            continue
        number = DWARF_OF_PERF[bit] if bit < len(DWARF_OF_PERF) else None
        if number is not None:
            found[number] = word
        if bit == FLAGS:
            found[COUNT] = word
        word += 1
    return bytes(found)
