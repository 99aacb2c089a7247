"""Registers by name, and their numbers in perf (enum perf_event_x86_regs, enum perf_event_arm_regs)."""

from undwarf.unwind.arch import AARCH64, X86_64

_X86_64 = [
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "eflags", "cs", "ss", "ds", "es", "fs", "gs"),
    *(f"r{number}" for number in range(8, 16)),
]
_AARCH64 = [*(f"x{number}" for number in range(31)), "sp", "pc"]
PERF_BITS = {
    X86_64.package: {name: bit for bit, name in enumerate(_X86_64)},
    AARCH64.package: {name: bit for bit, name in enumerate(_AARCH64)},
}
"""perf's number of each register, by machine and name."""
POINTERS = {X86_64.package: ("rip", "rsp"), AARCH64.package: ("pc", "sp")}
"""Program counter and stack pointer, without which there is no stack."""
