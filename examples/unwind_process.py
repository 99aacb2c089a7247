"""Stacks of a running process, with undwarf.Unwinder: what a debugger does.

    python examples/unwind_process.py PID

Registers come from ptrace, memory from process_vm_readv, mappings from /proc/PID/maps; undwarf does the rest. The
output is like that of eu-stack. Each thread is stopped only while its own stack is walked, so that this is short.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path

from stack_text import REGISTERS, Writer

import undwarf

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_GETREGSET, PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4204, 0x4206, 0x4207, 17
NT_PRSTATUS = 1


class IoVec(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def check(result: int) -> int:
    """The result of a system call. Raises OSError for -1."""
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def ptrace(request: int, tid: int, address: int = 0, data: object = None) -> None:
    """ptrace(2). Raises OSError."""
    LIBC.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    LIBC.ptrace.restype = ctypes.c_long
    check(LIBC.ptrace(request, tid, address, data))


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Memory of the process from an address on, as much of it as there is. Raises OSError if there is none."""
    buffer = ctypes.create_string_buffer(size)
    here, there = IoVec(ctypes.addressof(buffer), size), IoVec(address, size)
    LIBC.process_vm_readv.restype = ctypes.c_ssize_t
    count = LIBC.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return buffer.raw[: check(count)]


def registers(tid: int) -> dict[str, int]:
    """The registers of a stopped thread."""
    buffer = ctypes.create_string_buffer(1024)
    vector = IoVec(ctypes.addressof(buffer), len(buffer))
    ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, ctypes.addressof(vector))
    names = REGISTERS[platform.machine()]
    return dict(zip(names, struct.unpack_from(f"<{len(names)}Q", buffer), strict=True))


def main() -> None:
    pid = int(sys.argv[1])
    maps = undwarf.Mapping.parse_maps(Path(f"/proc/{pid}/maps").read_bytes())
    unwinder = undwarf.Unwinder(
        maps, lambda address, size: read_memory(pid, address, size), architecture=platform.machine()
    )
    writer = Writer()
    for tid in sorted(int(name) for name in os.listdir(f"/proc/{pid}/task")):
        ptrace(PTRACE_SEIZE, tid)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, 0x40000000)  # __WALL
        try:
            stack = unwinder.unwind(registers(tid))
        finally:
            ptrace(PTRACE_DETACH, tid)
        writer.write(tid, stack)


if __name__ == "__main__":
    main()
