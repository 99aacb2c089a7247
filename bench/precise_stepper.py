# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Steps a program instruction by instruction with ptrace (x86-64) and keeps its true call chain.

The chain comes from a shadow stack that knows nothing of unwind tables: what a call has pushed is an active frame's
return address until the stack pointer is above it. That covers returns, longjmp and exceptions in the same manner; a
tail call changes nothing. Signals and changes of the stack are reported to the caller, who adds what they mean.
"""

from array import array
from typing import Any

import cython
from cython.cimports.libc.errno import errno
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.linux_calls import __WALL as WALL
from cython.cimports.linux_calls import (
    ADDR_NO_RANDOMIZE,
    PTRACE_CONT,
    PTRACE_GETREGS,
    PTRACE_O_EXITKILL,
    PTRACE_SETOPTIONS,
    PTRACE_SETREGS,
    PTRACE_SINGLESTEP,
    PTRACE_TRACEME,
    WIFSTOPPED,
    WSTOPSIG,
    _exit,
    dup2,
    execve,
    fork,
    iovec,
    personality,
    process_vm_readv,
    ptrace,
    user_regs_struct,
    waitpid,
)

_CALL = cython.declare(cython.int, 1)
_SYSTEM_CALL = cython.declare(cython.int, 2)
SIGTRAP = cython.declare(cython.int, 5)
DEEPEST = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Frames of the deepest stack."""
LONGEST = cython.declare(cython.Py_ssize_t, 15)
"""Bytes of the longest instruction."""

DONE, NEW_TEXT, SIGNAL, OTHER_STACK, ENDED = range(5)
"""Why `Stepper.run_to` came back: all steps are done; the next instruction is in no known text; a signal is about to be
delivered (`Stepper.signal`); the stack pointer has left `Stepper.low` to `Stepper.high`; the program has ended."""
_DONE = cython.declare(cython.int, 0)
_NEW_TEXT = cython.declare(cython.int, 1)
_SIGNAL = cython.declare(cython.int, 2)
_OTHER_STACK = cython.declare(cython.int, 3)
_ENDED = cython.declare(cython.int, 4)


def start(command: list[bytes], environment: list[bytes], null: int) -> int:
    """Start a program that this process traces, stopped before its first instruction; its process id.

    Its addresses are the same in each run, and ``null`` is its standard input, output and error.
    """
    arguments: cython.pp_char = _strings(command)
    variables: cython.pp_char = _strings(environment)
    descriptor: cython.int = null
    i: cython.int
    pid: cython.int
    status: cython.int = 0
    with cython.nogil:
        pid = fork()
        if pid == 0:
            for i in range(3):
                dup2(descriptor, i)
            personality(ADDR_NO_RANDOMIZE)
            ptrace(PTRACE_TRACEME, 0, 0, 0)
            execve(arguments[0], arguments, variables)
            _exit(127)
        if pid > 0:
            waitpid(pid, cython.address(status), WALL)
    free(arguments)
    free(variables)
    if pid < 0 or not WIFSTOPPED(status):
        raise OSError(errno, f"cannot trace {command[0]!r}")
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL)
    return pid


@cython.cfunc
@cython.returns(cython.pp_char)
def _strings(texts: list[bytes]) -> Any:
    """An array of C strings, which are those of ``texts``, with its terminating NULL."""
    made: cython.pp_char = cython.cast(cython.pp_char, calloc(len(texts) + 1, cython.sizeof(cython.p_char)))
    i: cython.Py_ssize_t
    for i in range(len(texts)):
        made[i] = texts[i]
    return made


@cython.final
@cython.cclass
class Stepper:
    """A stopped program, its registers, and its shadow stack, which begins empty where stepping begins.

    An entry of the shadow stack is (slot, address, serial): the return address, where on the stack it is, and a number
    that no other entry has.
    """

    pid: cython.int
    registers: user_regs_struct
    low = cython.declare(cython.ulonglong, visibility="public")
    high = cython.declare(cython.ulonglong, visibility="public")
    signal = cython.declare(cython.int, visibility="readonly")
    status = cython.declare(cython.int, visibility="readonly")
    steps = cython.declare(cython.longlong, visibility="readonly")
    depth = cython.declare(cython.Py_ssize_t, visibility="readonly")
    system_calls = cython.declare(cython.longlong, visibility="readonly")
    last_serial: cython.ulonglong
    slots: cython.ulonglong[::1]
    addresses: cython.ulonglong[::1]
    serials: cython.ulonglong[::1]
    text: cython.const[cython.uchar][::1]
    bounds: cython.ulonglong[::1]
    current: cython.Py_ssize_t

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.low, self.high = 0, 0xFFFFFFFFFFFFFFFF
        self.slots, self.addresses, self.serials = (array("Q", bytes(8 * DEEPEST)) for _ in range(3))
        self.bounds = array("Q")
        self._fetch()

    # -- the program ------------------------------------------------------------------------------------------------

    @property
    def ip(self) -> int:
        """The address of the instruction that runs next."""
        return self.registers.rip

    @property
    def sp(self) -> int:
        """The stack pointer."""
        return self.registers.rsp

    @property
    def thread_base(self) -> int:
        """FS's base: the thread's control block, below which its thread-local variables are."""
        return self.registers.fs_base

    def recorded_registers(self) -> list[int]:
        """Registers in the order of perf's numbers, as far as ``perf record`` asks for them: those of the mask
        0xff0fff (arch/x86/include/uapi/asm/perf_regs.h)."""
        r = self.registers
        return [
            r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.rip, r.eflags, r.cs, r.ss,
            r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15,
        ]  # fmt: skip

    def read(self, address: int, size: int) -> bytes:
        """Memory from an address on, up to the first page that is not mapped."""
        buffer = bytearray(size)
        view: cython.uchar[::1] = buffer
        if not size:
            return b""
        return bytes(buffer[: self._copy(address, cython.address(view[0]), size)])

    def go(self, count: int, calls: bool) -> int:
        """Run to the next breakpoint, ``count`` steps ahead, and go back to its start; whether the last is a call."""
        address: cython.ulonglong = 0
        self.signal = self._resume(PTRACE_CONT, 0)
        if self.signal < 0:
            return _ENDED
        self._fetch()
        if self.signal != SIGTRAP:
            return _SIGNAL
        self.steps += count
        self.registers.rip -= 1
        ptrace(PTRACE_SETREGS, self.pid, 0, cython.address(self.registers))
        if calls:
            self._copy(self.registers.rsp, cython.address(address), 8)
            self._push(self.registers.rsp, address)
        return self._settle()

    def deliver(self) -> int:
        """Deliver ``signal``: DONE at the first instruction of its handler, or after the next one if it has none."""
        return self._step(self.signal)

    def set_text(self, ranges: list[tuple[int, bytes]]) -> None:
        """What is executable: addresses and bytes of each range."""
        self.text = b"".join(text for _start, text in ranges) + bytes(LONGEST)
        self.bounds = array("Q")
        at = 0
        bounds = array("Q")
        for start, text in ranges:
            bounds.extend((start, start + len(text), at))
            at += len(text)
        self.bounds = bounds
        self.current = 0

    # -- the shadow stack -------------------------------------------------------------------------------------------

    def push(self, slot: int, address: int) -> None:
        """Add an innermost frame, with its return address and where that is on the stack."""
        self._push(slot, address)

    def pop(self, depth: int) -> None:
        """Keep the outermost ``depth`` frames, and of those the ones whose slot is not below the stack pointer."""
        self.depth = min(self.depth, depth)
        self._pop()

    def entries(self) -> list[tuple[int, int, int]]:
        """The shadow stack: (slot, address, serial), outermost first."""
        return [(self.slots[i], self.addresses[i], self.serials[i]) for i in range(self.depth)]

    def restore(self, entries: list[tuple[int, int, int]]) -> None:
        """Replace the shadow stack."""
        self.depth = 0
        for slot, address, serial in entries:
            self._push(slot, address)
            self.serials[self.depth - 1] = serial

    # -- steps ------------------------------------------------------------------------------------------------------

    def run_to(self, count: int) -> int:
        """Do steps until the program has done ``count`` in all; why it came back."""
        end: cython.longlong = count
        result: cython.int = 0
        with cython.nogil:
            while self.steps < end and result == _DONE:
                result = self._step(0)
        return result

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=True)
    def _step(self, signal: cython.int) -> cython.int:
        before: cython.ulonglong = self.registers.rsp
        address: cython.ulonglong = 0
        kind: cython.int = 0
        if signal == 0:
            if not self._in_text():
                return _NEW_TEXT
            kind = self._kind()
        self.signal = self._resume(PTRACE_SINGLESTEP, signal)
        if self.signal < 0:
            return _ENDED
        self._fetch()
        if self.signal != SIGTRAP:
            return _SIGNAL
        self.steps += 1
        self.system_calls += kind == _SYSTEM_CALL
        if kind == _CALL and self.registers.rsp == before - 8:
            self._copy(self.registers.rsp, cython.address(address), 8)
            self._push(self.registers.rsp, address)
        return self._settle()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _settle(self) -> cython.int:
        """Pop what the stack pointer is above of, if it is on the same stack."""
        if not self.low <= self.registers.rsp < self.high:
            return _OTHER_STACK
        self._pop()
        return _DONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _resume(self, request: cython.int, signal: cython.long) -> cython.int:
        """The signal that the program stopped with; -1 if it is no more, with its ``status``."""
        status: cython.int = 0
        ptrace(request, self.pid, 0, signal)
        if waitpid(self.pid, cython.address(status), WALL) < 0:
            return -1
        self.status = status
        return WSTOPSIG(status) if WIFSTOPPED(status) else -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fetch(self) -> cython.void:
        ptrace(PTRACE_GETREGS, self.pid, 0, cython.address(self.registers))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _copy(self, address: cython.ulonglong, target: cython.p_void, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Copy the program's memory from an address on, up to the first page that is not mapped; how much that was."""
        here = cython.declare(iovec)
        there = cython.declare(iovec)
        here.iov_base = target
        there.iov_base = cython.cast(cython.p_void, address)
        here.iov_len = there.iov_len = size
        copied: cython.Py_ssize_t = process_vm_readv(self.pid, cython.address(here), 1, cython.address(there), 1, 0)
        return max(copied, 0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _push(self, slot: cython.ulonglong, address: cython.ulonglong) -> cython.int:
        self.last_serial += 1
        self.slots[self.depth] = slot
        self.addresses[self.depth] = address
        self.serials[self.depth] = self.last_serial
        self.depth += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _pop(self) -> cython.int:
        while self.depth and self.slots[self.depth - 1] < self.registers.rsp:
            self.depth -= 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _in_text(self) -> cython.int:
        """Whether the next instruction's text is known; ``current`` is its range."""
        i: cython.Py_ssize_t
        ip: cython.ulonglong = self.registers.rip
        if self.current + 2 < self.bounds.shape[0] and self.bounds[self.current] <= ip < self.bounds[self.current + 1]:
            return True
        for i in range(0, self.bounds.shape[0] - 2, 3):
            if self.bounds[i] <= ip < self.bounds[i + 1]:
                self.current = i
                return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _kind(self) -> cython.int:
        """What the next instruction is: a near call (E8, or FF /2) after prefixes, ``syscall`` (0F 05), or another."""
        at: cython.Py_ssize_t = cython.cast(
            cython.Py_ssize_t, self.bounds[self.current + 2] + (self.registers.rip - self.bounds[self.current])
        )
        byte: cython.uchar = self.text[at]
        # Operand and segment prefixes, those of bnd and notrack, and REX.
        while byte in (0x66, 0x67, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF2, 0xF3) or 0x40 <= byte < 0x50:
            at += 1
            if at >= self.text.shape[0] - 1:
                return 0
            byte = self.text[at]
        if byte == 0x0F and self.text[at + 1] == 0x05:
            return _SYSTEM_CALL
        return _CALL if byte == 0xE8 or (byte == 0xFF and self.text[at + 1] >> 3 & 7 == 2) else 0
