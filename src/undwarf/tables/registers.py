# constants of kernels: the build writes the .pxd beside this file
"""DWARF numbers of registers, and what unwinding needs to know of each architecture's."""

from typing import NamedTuple

from undwarf.elf.headers import EM_AARCH64, EM_LOONGARCH, EM_S390, EM_X86_64

# x86-64: System V ABI, AMD64 supplement, figure 3.36. No IntEnum: the members of a C enum with a name index no buffer.
RAX = 0
RDX = 1
RCX = 2
RBX = 3
RSI = 4
RDI = 5
RBP = 6
RSP = 7
R12 = 12
R13 = 13
R14 = 14
R15 = 15
RIP = 16
"""The column of the return address."""

X86_64_COUNT = 17
X86_64_CALLEE_SAVED = 1 << RBX | 1 << RBP | 1 << RSP | 1 << R12 | 1 << R13 | 1 << R14 | 1 << R15 | 1 << RIP
"""As bits, with the stack pointer and the return address."""

# AArch64: DWARF for the Arm 64-bit Architecture, 4.1.
X29 = 29
X30 = 30
AARCH64_SP = 31

LOONGARCH_PC = 32
"""The program counter of an interrupted frame, which is not its return address: a number that the psABI leaves free."""


class Architecture(NamedTuple):
    """``names`` are by DWARF number; ``callee_saved`` are the general registers that calls preserve, without the stack
    pointer."""

    names: tuple[str, ...]
    stack_pointer: int
    frame_pointer: int
    return_address: int
    callee_saved: tuple[int, ...]


_S390X_FLOATING = (0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15)

ARCHITECTURES = {
    EM_X86_64: Architecture(
        ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{number}" for number in range(8, 16)), "ra"),
        RSP,
        RBP,
        RIP,
        (RBX, RBP, R12, R13, R14, R15),
    ),
    EM_AARCH64: Architecture(
        (*(f"x{number}" for number in range(31)), "sp"), AARCH64_SP, X29, X30, tuple(range(19, 30))
    ),
    # ELF ABI s390x supplement, 1.6.
    EM_S390: Architecture(
        (*(f"r{number}" for number in range(16)), *(f"f{number}" for number in _S390X_FLOATING)),
        15,
        11,
        14,
        tuple(range(6, 14)),
    ),
    # LoongArch ELF psABI, "DWARF register numbers"; r1 is not "ra", which rules call the return address.
    EM_LOONGARCH: Architecture(
        (
            "zero", "r1", "tp", "sp", *(f"a{number}" for number in range(8)), *(f"t{number}" for number in range(9)),
            "r21", "fp", *(f"s{number}" for number in range(9)), "pc",
        ),
        3,
        22,
        1,
        tuple(range(22, 32)),
    ),
}  # fmt: skip
"""By ELF machine."""
