# constants of kernels: the build writes the .pxd beside this file
"""Numbers and names of the x86-64 DWARF registers that rules speak of (System V ABI, figure 3.36)."""

RAX = 0
RDX = 1
RCX = 2
RBX = 3
RBP = 6
RSP = 7
RIP = 16
REGISTERS = 17

NAMES = (
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra",
)  # fmt: skip  # a table
RETURN_ADDRESS = RIP
FRAME_POINTER = RBP
KEPT = (3, 6, 12, 13, 14, 15)
"""Registers that a function gives back: rbx, rbp, r12 to r15; the stack pointer aside."""

CALLEE_SAVED = 1 << RBX | 1 << RBP | 1 << RSP | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 | 1 << RIP
"""Those, the stack pointer and the return address, as bits."""
