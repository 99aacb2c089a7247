"""Steps a program by ptrace through its own functions, over those of libraries, and later over most calls."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

TRACEME, CONT, SINGLESTEP, GETREGS, SETREGS, SETOPTIONS = 0, 7, 9, 12, 13, 0x4200
EXITKILL = 0x100000
NO_RANDOM_ADDRESSES = 0x0040000
OFTEN, RARELY = 48, 24

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Registers(ctypes.Structure):
    """x86-64's `user_regs_struct`."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in [
            "r15",
            "r14",
            "r13",
            "r12",
            "rbp",
            "rbx",
            "r11",
            "r10",
            "r9",
            "r8",
            "rax",
            "rcx",
            "rdx",
            "rsi",
            "rdi",
            "orig_rax",
            "rip",
            "cs",
            "eflags",
            "rsp",
            "ss",
            "fs_base",
            "gs_base",
            "ds",
            "es",
            "fs",
            "gs",
        ]
    )


class Ended(Exception):
    """The program is over, or its time is."""


class Tracer:
    """One run of a program, its output thrown away; addresses are those in its memory."""

    def __init__(self, command: list[str]) -> None:
        self.pid = os.fork()
        if not self.pid:
            nothing = os.open(os.devnull, os.O_RDWR)
            for one in range(3):
                os.dup2(nothing, one)
            _libc.personality(NO_RANDOM_ADDRESSES)
            _libc.ptrace(TRACEME, 0, None, None)
            os.execv(command[0], command)
        os.waitpid(self.pid, 0)
        self._request(SETOPTIONS, EXITKILL)
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR)
        self.registers = Registers()
        self._where = ctypes.addressof(self.registers)
        self._stands: dict[int, bytes] = {}
        self.steps = 0

    def _request(self, what: int, data: int = 0) -> None:
        if _libc.ptrace(what, self.pid, None, data) < 0:
            raise OSError(ctypes.get_errno(), f"ptrace({what})")

    def base(self, path: Path) -> int | None:
        """Where a file's first page is mapped."""
        wanted = str(path.resolve())
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5] == wanted and int(fields[2], 16) == 0:
                return int(fields[0].split("-")[0], 16)
        return None

    def mapped(self, beginning: str) -> Path | None:
        """A mapped file by the start of its name."""
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and Path(fields[5]).name.startswith(beginning):
                return Path(fields[5])
        return None

    def read(self, address: int, size: int) -> bytes:
        """Memory, as much of it as can be read."""
        try:
            return os.pread(self.memory, size, address)
        except (OSError, OverflowError):
            return b""

    def word(self, address: int) -> int:
        """8 bytes of memory; 0 where there are none."""
        return int.from_bytes(self.read(address, 8), "little")

    def text(self, address: int) -> str:
        """A string that ends with a zero."""
        return self.read(address, 4096).split(b"\0")[0].decode(errors="replace")

    def set(self, address: int) -> bool:
        """A breakpoint; whether there was none."""
        if address in self._stands:
            return False
        self._stands[address] = os.pread(self.memory, 1, address)
        os.pwrite(self.memory, b"\xcc", address)
        return True

    def clear(self, address: int) -> None:
        """No breakpoint."""
        was = self._stands.pop(address, None)
        if was is not None:
            os.pwrite(self.memory, was, address)

    def _wait(self, how: int) -> None:
        """Continue; afterwards the registers are those at the stop, `rip` at the breakpoint's instruction."""
        passed = 0
        while True:
            self._request(how, passed)
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                raise Ended(f"exit status {os.waitstatus_to_exitcode(status)}")
            passed = os.WSTOPSIG(status)
            if passed == signal.SIGTRAP:
                break
        self._request(GETREGS, self._where)

    def step(self) -> None:
        """One instruction, the one a breakpoint stands at as well."""
        at = self.registers.rip
        was = self._stands.get(at)
        if was is None:
            self._wait(SINGLESTEP)
        else:
            os.pwrite(self.memory, was, at)
            self._wait(SINGLESTEP)
            os.pwrite(self.memory, b"\xcc", at)
        self.steps += 1

    def go(self) -> int:
        """Run to the next breakpoint, and say which."""
        if self.registers.rip in self._stands:
            self.step()
            if self.registers.rip in self._stands:
                return self.registers.rip
        self._wait(CONT)
        self.registers.rip -= 1
        self._request(SETREGS, self._where)
        return self.registers.rip

    def end(self) -> None:
        """End the program, if it has not."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.memory)


class Walk:
    """Steps own functions; `seen` is called before each of their instructions, `told` at the addresses of `always`.

    `own` says for an address the entry of the function it is in, 0 for what is not the program's. A function that was
    gone through `OFTEN` times is stepped over but for one time of `RARELY`; one that was not is stepped even then.
    `frames` has (entry, CFA) of the functions that were entered and did not return.
    """

    def __init__(
        self,
        tracer: Tracer,
        own: Callable[[int], int],
        entries: list[int],
        seen: Callable[[int], None],
        always: dict[int, Callable[[], None]],
        seconds: float,
    ) -> None:
        self.tracer, self.own, self.seen, self.always = tracer, own, seen, always
        self.left = dict.fromkeys(entries, OFTEN)
        self.calls = 0
        self.frames: list[tuple[int, int, int]] = []
        self.deadline = time.monotonic() + seconds
        for at in (*always, *entries):
            tracer.set(at)

    def run(self) -> None:
        """From a function's entry until it returns, the program ends, or time does (`Ended`)."""
        registers = self.tracer.registers
        start = registers.rsp
        while registers.rsp <= start:
            if registers.rip in self.always:
                self.always[registers.rip]()
                self._over(registers.rsp + 8)
                continue
            if not self.own(registers.rip):
                self._over(registers.rsp + 8)
                continue
            at = registers.rip
            self.seen(at)
            self.tracer.step()
            if registers.rip in self.left:
                self._enter()
                if self._skips(registers.rip):
                    self._over(registers.rsp + 8)
            while self.frames and self.frames[-1][1] <= registers.rsp:
                self.frames.pop()
            if self.tracer.steps % 1024 == 0 and time.monotonic() > self.deadline:
                raise Ended("out of time")

    def _enter(self) -> None:
        registers = self.tracer.registers
        cfa = registers.rsp + 8
        if self.frames and self.frames[-1][1] == cfa:
            self.frames.pop()
        self.frames.append((registers.rip, cfa, self.tracer.word(registers.rsp)))

    def _skips(self, entry: int) -> bool:
        if self.left[entry]:
            self.left[entry] -= 1
            if not self.left[entry]:
                self.tracer.clear(entry)
            return False
        self.calls += 1
        return bool(self.calls % RARELY)

    def _over(self, above: int) -> None:
        """Run on to where what was called returns to; functions not gone through often enough are stepped meanwhile."""
        tracer, registers = self.tracer, self.tracer.registers
        back = tracer.word(above - 8)
        standing = back in self.left or not tracer.set(back)
        try:
            while True:
                at = tracer.go()
                if time.monotonic() > self.deadline:
                    raise Ended("out of time")
                if at in self.always:
                    self.always[at]()
                elif self.left.get(at) and registers.rsp < above:
                    self._enter()
                    self._skips(at)
                    self.run()
                # A thrown exception may have passed by where it would have returned to.
                if (registers.rip == back and registers.rsp >= above) or registers.rsp > above:
                    break
        finally:
            if not standing:
                tracer.clear(back)
        while self.frames and self.frames[-1][1] <= registers.rsp:
            self.frames.pop()
