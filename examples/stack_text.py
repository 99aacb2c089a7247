"""Stacks as text like that of eu-stack, and the names of registers in ptrace and in core files; for the examples."""

from __future__ import annotations

import sys

import undwarf

REGISTERS = {
    # struct user_regs_struct (arch/x86/include/asm/user_64.h), struct user_pt_regs (arch/arm64/.../ptrace.h).
    "x86_64": [
        *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"),
        *("orig_rax", "rip", "cs", "eflags", "rsp", "ss"),
    ],
    "aarch64": [*(f"x{number}" for number in range(31)), "sp", "pc"],
}
"""The 64-bit words of NT_PRSTATUS, in order."""


class Writer:
    """Writes stacks with the names of functions; each file's symbols are read once."""

    def __init__(self) -> None:
        self.symbolizers: dict[str, undwarf.Symbolizer | None] = {}

    def write(self, tid: int, stack: undwarf.UnwoundStack) -> None:
        """Write one thread's stack."""
        sys.stdout.write(f"TID {tid}:\n")
        for number, frame in enumerate(stack.frames):
            sys.stdout.write(f"#{number:<2} {frame.address:#018x} {self.name_of(frame)}\n")
        if not stack.is_whole:
            sys.stdout.write(f"... {stack.stop.description}\n")

    def name_of(self, frame: undwarf.UnwoundFrame) -> str:
        """The function of a frame, by the symbols of its file; empty if unknown."""
        if frame.file_address is None:
            return ""
        if frame.path not in self.symbolizers:
            try:
                self.symbolizers[frame.path] = undwarf.Symbolizer(frame.path)
            except undwarf.UndwarfError:
                self.symbolizers[frame.path] = None
        symbolizer = self.symbolizers[frame.path]
        return symbolizer.lookup([frame.file_address])[0].symbol if symbolizer is not None else ""
