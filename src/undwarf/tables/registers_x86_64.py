"""Names of the x86-64 DWARF registers that rules speak of (System V ABI, figure 3.36)."""

NAMES = (
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra",
)  # fmt: skip
RETURN_ADDRESS = 16
FRAME_POINTER = 6
KEPT = (3, 6, 12, 13, 14, 15)
"""Registers that a function gives back: rbx, rbp, r12 to r15; the stack pointer aside."""
