# constants of kernels: the build writes the .pxd beside this file
"""Sampled registers of AArch64, and where the walk keeps them.

The walk has 17 places for registers, laid out for x86-64. Of AArch64 it keeps those that steps need: callee-saved
registers, the link register, the stack pointer and the program counter. Frame pointer (x29), stack pointer and program
counter have the places 6, 7 and 16, as on x86-64; x19 to x23 have those of callee-saved registers of x86-64 (3, 12 to
15), which are part of a frame's state.

Sources: enum perf_event_arm_regs (arch/arm64/include/uapi/asm/perf_regs.h); DWARF for the Arm 64-bit Architecture, 4.1.
"""

COUNT = 17
SLOTS = COUNT + 1

LINK = 8
"""The place of the link register (x30)."""

ABSENT = 255

PLACES = {19: 3, 20: 12, 21: 13, 22: 14, 23: 15, 24: 0, 25: 1, 26: 2, 27: 4, 28: 5, 29: 6, 30: LINK, 31: 7}
"""The walk's place of each DWARF register that is kept; calls do not preserve the others."""

PLACE_OF_DWARF = bytes(PLACES.get(number, ABSENT) for number in range(96))

RESULT_PLACE = 9
NUMBER_PLACE = 10
SYSTEM_CALL = {0: RESULT_PLACE, 8: NUMBER_PLACE}
"""Places of the registers with a system call's result (x0) and number (x8): no rule names them, and only those of the
innermost frame are known."""

_PC = 32
PC_PLACE = 16
"""The place of the program counter."""


def slots(mask: int) -> bytes:
    """By place the register's word among those of a sample, 255 for none, for an event's ``sample_regs_user`` mask.

    perf numbers x0 to x30, sp and pc from 0 on, as DWARF does but for the pc.
    """
    # The last one is that of the flags on x86-64.
    found = [ABSENT] * SLOTS
    word = 0
    for bit in range(64):
        if not mask >> bit & 1:
            continue
        place = PC_PLACE if bit == _PC else PLACES.get(bit, SYSTEM_CALL.get(bit))
        if place is not None:
            found[place] = word
        word += 1
    return bytes(found)
