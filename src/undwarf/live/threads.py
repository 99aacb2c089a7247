"""The threads of a running process: each is held only while its registers and its stack are copied.

A thread that was seized (PTRACE_SEIZE) goes on by itself when its tracer dies, so it runs again whatever happens to us.
Source: ptrace(2).
"""

import ctypes
import errno
import os
import re
import time
from contextlib import suppress

from undwarf.errors import UsageError
from undwarf.live.record_system import BuildIds, describe_mappings, read_proc, threads_of
from undwarf.live.snapshot import MAX_THREADS, Machine, Snapshot, Thread, own_machine

STACK_LIMIT = 16 << 20
"""Bytes copied of one stack; what is beyond is not shown."""
UNLISTED = 256 << 10
"""Bytes copied of a stack that is in no mapping we know of."""
PATIENCE = 0.5
"""Seconds that a thread has to stop; one that waits for a disk does not."""
ROUNDS = 3
"""Times that threads which came meanwhile are looked for."""

_DETACH, _GETREGSET, _SEIZE, _INTERRUPT = 17, 0x4204, 0x4206, 0x4207
_PRSTATUS = 1
_EVENT_STOP = 128
_WALL = 0x40000000
_RANGE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) r", re.MULTILINE)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, tid: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, tid, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def take(pid: int) -> Snapshot:
    """All threads of a running process. Raises UsageError where there is none, or it may not be looked at."""
    machine = own_machine()
    status = _status(pid)
    if not status:
        raise UsageError(f"there is no process {pid}", "", "give the number of a running process, or a core file")
    # A thread's number stands for its process.
    pid = int(status.get("Tgid", pid))
    if status.get("State", "").startswith(("Z", "X")):
        raise UsageError(
            f"process {pid} has ended", "only its exit status is left", "its parent has yet to wait for it"
        )
    memory = _open_memory(pid)
    try:
        maps = read_proc(f"/proc/{pid}/maps")
        if not maps:
            raise UsageError(
                f"process {pid} has no memory of its own", "it is a thread of the kernel, or has just ended"
            )
        taker = _Taker(pid, machine, memory, maps)
        taker.run()
    finally:
        os.close(memory)
    if not taker.threads:
        why = taker.missed[0][1] if taker.missed else "it has just ended"
        raise UsageError(f"no thread of process {pid} could be looked at", why, "")
    # What was mapped meanwhile is there as well.
    maps = read_proc(f"/proc/{pid}/maps") or maps
    return Snapshot(
        pid,
        read_proc(f"/proc/{pid}/comm", 64).rstrip(b"\n") or taker.threads[0].name,
        machine,
        taker.threads,
        lambda encoder: describe_mappings(encoder, pid, maps, BuildIds()),
        missed=taker.missed,
    )


class _Taker:
    """Goes through the threads of one process."""

    def __init__(self, pid: int, machine: Machine, memory: int, maps: bytes) -> None:
        self.pid = pid
        self.machine = machine
        self.threads: list[Thread] = []
        self.missed: list[tuple[int, str]] = []
        self._memory = memory
        self._ranges = [(int(low, 16), int(high, 16)) for low, high in _RANGE.findall(maps)]
        self._words = (ctypes.c_uint64 * (machine.words + 8))()
        self._vector = _Vector(ctypes.addressof(self._words), 0)

    def run(self) -> None:
        seen: set[int] = set()
        for _ in range(ROUNDS):
            new = [tid for tid in threads_of(self.pid) if tid not in seen][: MAX_THREADS - len(seen)]
            for tid in new:
                self._take(tid)
            seen.update(new)
            if not new:
                break
        self.threads.sort(key=lambda thread: thread.tid)

    def _take(self, tid: int) -> None:
        name = read_proc(f"/proc/{self.pid}/task/{tid}/comm", 64).rstrip(b"\n")
        try:
            _ptrace(_SEIZE, tid)
        except OSError as error:
            if error.errno == errno.EPERM:
                raise _refused(self.pid) from error
            return  # It has just ended.
        signal_number = 0
        stopped = False
        begin = time.perf_counter_ns()
        try:
            _ptrace(_INTERRUPT, tid)
            status = _wait(tid)
            if status is None:
                self.missed.append((tid, "it did not stop: it waits in the kernel and cannot be interrupted"))
                return
            if not os.WIFSTOPPED(status):
                return
            stopped = True
            # A signal that was on its way has stopped the thread before we did; it is handed on.
            if status >> 16 != _EVENT_STOP:
                signal_number = os.WSTOPSIG(status)
            registers = self._registers(tid)
            stack = self._stack(registers[self.machine.sp])
        except OSError as error:
            self.missed.append((tid, error.strerror or str(error)))
            return
        finally:
            if stopped:
                with suppress(OSError):
                    _ptrace(_DETACH, tid, 0, signal_number)
        held = time.perf_counter_ns() - begin
        self.threads.append(Thread(tid, name, registers, stack, held))

    def _registers(self, tid: int) -> tuple[int, ...]:
        self._vector.size = ctypes.sizeof(self._words)
        _ptrace(_GETREGSET, tid, _PRSTATUS, ctypes.addressof(self._vector))
        if self._vector.size != 8 * self.machine.words:
            raise UsageError(
                f"process {self.pid} has a program of 32 bits",
                "stacks of those are not supported",
                "try gdb or eu-stack",
            )
        return tuple(self._words[: self.machine.words])

    def _stack(self, sp: int) -> bytes:
        size = UNLISTED
        for low, high in self._ranges:
            if low <= sp < high:
                size = min(high - sp, STACK_LIMIT)
                break
        try:
            return os.pread(self._memory, size, sp)
        except (OSError, OverflowError):
            return b""


def _wait(tid: int) -> int | None:
    """The status of a thread that changed it; None where it did not in time."""
    end = time.monotonic() + PATIENCE
    tries = 0
    while True:
        found, status = os.waitpid(tid, os.WNOHANG | _WALL)
        if found:
            return status
        tries += 1
        if tries > 50:
            if time.monotonic() > end:
                return None
            time.sleep(0.0001)


def _status(pid: int) -> dict[str, str]:
    """The lines of /proc/PID/status; none where there is no such process."""
    lines = read_proc(f"/proc/{pid}/status", 1 << 16).decode("utf-8", "replace").splitlines()
    return {key: value.strip() for key, _colon, value in (line.partition(":") for line in lines)}


def _open_memory(pid: int) -> int:
    try:
        return os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise _refused(pid) from error
    except OSError as error:
        raise UsageError(f"process {pid} cannot be looked at", error.strerror or str(error)) from error


def _refused(pid: int) -> UsageError:
    """Why a process may not be looked at, as far as it can be told."""
    what = f"process {pid} may not be looked at"
    status = _status(pid)
    tracer = status.get("TracerPid", "0")
    if tracer not in ("0", str(os.getpid())):
        return UsageError(what, f"process {tracer} traces it already", "end that debugger or strace first")
    owner = status.get("Uid", "").split()
    if os.geteuid() != 0 and owner and owner[0] != str(os.geteuid()):
        return UsageError(what, "it belongs to another user", "run as that user, or as root")
    scope = read_proc("/proc/sys/kernel/yama/ptrace_scope", 16).strip()
    if scope and scope != b"0":
        why = f"kernel.yama.ptrace_scope is {scope.decode('ascii', 'replace')}"
        return UsageError(what, why, "run as root, or: sysctl kernel.yama.ptrace_scope=0" if scope != b"3" else "")
    why = "it is not dumpable, or we lack CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)"
    return UsageError(what, why, "run as root")
