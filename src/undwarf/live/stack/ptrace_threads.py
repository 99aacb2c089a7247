"""Registers and stacks of a running process's threads, each stopped with ptrace only while they are copied.

A seized thread (PTRACE_SEIZE) resumes when its tracer dies, so it runs again whatever happens to this process. Source:
ptrace(2).
"""

import ctypes
import errno
import gc
import os
import re
import signal
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from undwarf.errors import UsageError
from undwarf.live.stack.process_files import ProcessFiles
from undwarf.live.stack.snapshot import MAX_THREADS, Machine, Snapshot, Thread, own_machine
from undwarf.live.stack.stop_guard import deferred_stop
from undwarf.live.system_snapshot import describe_mappings, read_proc, status_of, threads_of

COPY_BYTES = 64 << 10
"""Bytes first copied of a stack, and of other requested memory. If a walk needs memory beyond, 8 times as much is
copied from there on."""
OWN_STACK_COPY_BYTES = 1 << 20
"""The same for a mapping with one stack only, in which everything above the stack pointer is in use."""
MAX_COPY_BYTES = 512 << 20
REDUCED_COPY_THRESHOLD_BYTES = 1 << 30
"""Bytes copied of all stacks, above which less is copied of each further one."""
REDUCED_COPY_BYTES = 16 << 10
PAGE = 4096
STOP_TIMEOUT_S = 0.02
"""Seconds in which a thread usually stops."""
SLOW_STOP_TIMEOUT_S = 0.5
"""Seconds to wait for the others at the end; a thread in uninterruptible sleep does not stop."""
MAX_EXECS = 3
"""Times that a process is read again because it executed another program meanwhile."""
SLICE_S, PAUSE_S = 0.002, 0.0002
"""Seconds of work on threads, and of sleep after each such slice, so that the process itself gets the CPU."""
NEW_THREADS_TIMEOUT_S = 2.0
"""Seconds for which threads that are started meanwhile are added."""

_DETACH, _GETREGSET, _SEIZE, _INTERRUPT = 17, 0x4204, 0x4206, 0x4207
_PRSTATUS = 1
_EVENT_STOP = 128
_CAP_SYS_PTRACE = 19
_STOPPING = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_WALL = 0x40000000
_RANGE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) ([r-])([-w])[^\n]*?(\[stack\])?$", re.MULTILINE)


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
    """All threads of a running process. Raises UsageError if there is none, or if it may not be traced."""
    machine = own_machine()
    status = status_of(pid)
    if not status:
        raise UsageError(f"no process {pid}", "", "give the id of a running process, or a core file")
    # A thread id selects its process.
    pid = int(status.get("Tgid", pid))
    if pid == os.getpid():
        raise UsageError(f"process {pid} is this program itself", "it cannot stop itself", "")
    if _is_of_kernel(pid):
        raise UsageError(f"process {pid} is a kernel thread", "it has no memory of its own", "")
    for _exec in range(MAX_EXECS):
        snapshot = _take(pid, machine)
        # After an exec the open memory is that of the old program, which is empty.
        if any(thread.stack for thread in snapshot.threads):
            break
    return snapshot


def _take(pid: int, machine: Machine) -> Snapshot:
    proc = _proc_of(pid)
    memory = _open_memory(pid, proc)
    try:
        maps = read_proc(f"{proc}/maps")
        if not maps:
            raise UsageError(f"process {pid} has no memory of its own", "it has just ended", "")
        taker = _Taker(pid, machine, memory, maps)
        _in_own_thread(taker.run)
        if not taker.threads:
            why = taker.missed[0][1] if taker.missed else "it has just ended"
            raise UsageError(f"no thread of process {pid} could be stopped", why, "")
        # Including what was mapped meanwhile.
        maps = read_proc(f"{proc}/maps") or maps
    except BaseException:
        os.close(memory)
        raise
    files = ProcessFiles(pid, proc, maps, memory)
    # The process may end before they are needed.
    files.open_all()
    return Snapshot(
        pid,
        read_proc(f"{proc}/comm", 64).rstrip(b"\n") or taker.threads[0].name,
        machine,
        taker.threads,
        lambda encoder: describe_mappings(encoder, pid, files.maps, files),
        missed=taker.missed,
        remarks=taker.remarks + taker.waiting_remarks(),
        code_memory=files.read,
        files=files,
        copy_again=taker.copy_again,
    )


def _proc_of(pid: int) -> str:
    """The directory in /proc with a process's maps and memory: that of a live thread, as the first one may have ended.

    Raises UsageError if all have ended.
    """
    for tid in (pid, *threads_of(pid)):
        proc = f"/proc/{pid}" if tid == pid else f"/proc/{pid}/task/{tid}"
        if not status_of(f"{pid}/task/{tid}").get("State", "Z").startswith(("Z", "X")):
            return proc
    raise UsageError(f"process {pid} has ended", "only its exit status is left", "its parent has not waited for it yet")


def _is_of_kernel(pid: int) -> bool:
    """Whether a process is a kernel thread, by its flags (PF_KTHREAD of include/linux/sched.h)."""
    fields = read_proc(f"/proc/{pid}/stat", 4096).rpartition(b") ")[2].split()
    return len(fields) > 6 and fields[6].isdigit() and int(fields[6]) & 0x200000 != 0


def _in_own_thread(work: Callable[[], None]) -> None:
    """Trace from a thread that ends with the work, when the kernel releases what it still holds: a seized thread in
    uninterruptible sleep cannot be detached before it stops. Ctrl-C reaches the caller at once."""
    failures: list[BaseException] = []

    def run() -> None:
        # While it waits for a CPU, a stopped thread stays stopped.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failures.append(error)

    # If Ctrl-Z stopped us, the threads we hold would stay stopped: it is deferred until the work is done.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    # A garbage collection may take 10 ms and more, while a thread is stopped.
    collects = gc.isenabled()
    gc.disable()
    try:
        with deferred_stop():
            worker = threading.Thread(target=run, name="tracer", daemon=True)
            worker.start()
            worker.join()
    finally:
        if collects:
            gc.enable()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if failures:
        raise failures[0]


class _Taker:
    """Copies the threads of one process, from one tracing thread."""

    def __init__(self, pid: int, machine: Machine, memory: int, maps: bytes) -> None:
        self.pid = pid
        self.machine = machine
        self.threads: list[Thread] = []
        self.missed: list[tuple[int, str]] = []
        self.remarks: list[str] = []
        self._memory = memory
        self._ranges: list[tuple[int, int]] = []
        self._stacks: set[int] = set()
        guard = 0
        for low_text, high_text, readable, writable, stack in _RANGE.findall(maps):
            low, high = int(low_text, 16), int(high_text, 16)
            if readable == b"r":
                self._ranges.append((low, high))
                # A mapping after a guard page is a stack, and has nothing else above the stack pointer.
                if writable == b"w" and (stack or low == guard):
                    self._stacks.add(low)
            guard = high if readable == writable == b"-" else 0
        self._words = (ctypes.c_uint64 * (machine.words + 8))()
        self._vector = _Vector(ctypes.addressof(self._words), 0)
        self._awaited: dict[int, _Visit] = {}
        self._waiting: dict[int, str] = {}
        """Threads in uninterruptible sleep, and the kernel function (" (name)") they wait in."""
        self._copied = 0
        self._rested = time.monotonic()
        self._requested: dict[int, dict[int, int]] = {}
        """By thread: start and size of further memory to copy."""

    def run(self) -> None:
        """Copy all threads, and those that are started meanwhile."""
        seen: set[int] = set()
        end = time.monotonic() + NEW_THREADS_TIMEOUT_S
        while True:
            new = [tid for tid in threads_of(self.pid) if tid not in seen]
            if len(seen) + len(new) > MAX_THREADS:
                self.remarks.append(f"only {MAX_THREADS:,} threads are shown")
                new = new[: MAX_THREADS - len(seen)]
            for tid in new:
                self._take(tid)
                self._yield_cpu()
            seen.update(new)
            if not new or len(seen) >= MAX_THREADS:
                break
            if time.monotonic() > end:
                self.remarks.append("some threads are missing: they start and end too fast")
                break
        self._await_late()
        self.threads.sort(key=lambda thread: thread.tid)

    def _yield_cpu(self) -> None:
        """Sleep now and then while no thread is held: the kernel throttles real-time threads that never sleep, for 50
        ms at a time, also while they hold a thread (sched(7), "Limiting the CPU usage")."""
        now = time.monotonic()
        if now - self._rested > SLICE_S and not self._awaited:
            time.sleep(PAUSE_S)
            self._rested = now + PAUSE_S

    def copy_again(self, missing: dict[int, set[int]]) -> bool:
        """Copy threads (by index) again, with the memory at these addresses; False if that gives nothing new."""
        tids = []
        for index, addresses in missing.items():
            known = self._requested.setdefault(self.threads[index].tid, {})
            for address in addresses:
                low, high = self._range_of(address)
                start = address & ~(PAGE - 1)
                if low <= address < high and start not in known:
                    size = self._next_size(self.threads[index], known, address)
                    known[start] = min(high - start, size, MAX_COPY_BYTES)
                    tids.append(self.threads[index].tid)
        if not tids:
            return False
        before = self.threads, self.missed, self.remarks
        self.threads, self.missed, self.remarks = [], [], []

        def work() -> None:
            for tid in dict.fromkeys(tids):
                self._take(tid)
            self._await_late()

        try:
            _in_own_thread(work)
            taken = {thread.tid: thread for thread in self.threads}
        except UsageError:
            taken = {}
        self.threads, self.missed, self.remarks = before
        for index, thread in enumerate(self.threads):
            renewed = taken.get(thread.tid)
            # Without a stack it runs another program by now, or the number is reused.
            if renewed is not None and renewed.stack:
                renewed.stopped += thread.stopped
                self.threads[index] = renewed
        return bool(taken)

    def _next_size(self, thread: Thread, known: dict[int, int], address: int) -> int:
        """Bytes to copy from an address on: more than before if it continues what was copied."""
        sp = thread.registers[self.machine.sp]
        for start, size in ((sp, len(thread.stack)), *known.items()):
            if start + size - PAGE <= address < start + size + PAGE:
                return max(size, COPY_BYTES) << 3
        return COPY_BYTES

    def _range_of(self, address: int) -> tuple[int, int]:
        """The readable mapping that contains an address; (0, 0) if none."""
        at = bisect_right(self._ranges, (address, 1 << 64)) - 1
        low, high = self._ranges[at] if at >= 0 else (0, 0)
        return (low, high) if low <= address < high else (0, 0)

    def _take(self, tid: int) -> None:
        """Stop one thread, copy and release it. If it does not stop soon, it stays awaited."""
        name = read_proc(f"/proc/{self.pid}/task/{tid}/comm", 64).rstrip(b"\n")
        try:
            _ptrace(_SEIZE, tid)
            _ptrace(_INTERRUPT, tid)
        except OSError as error:
            if error.errno == errno.EPERM:
                self._denied(tid, error)
            return  # It has just ended.
        self._awaited[tid] = _Visit(name)
        self._await(tid)

    def _await(self, tid: int) -> None:
        """Copy the awaited threads that have stopped, until ``tid`` has, or for :data:`STOP_TIMEOUT_S`."""
        tries = 0
        end = 0.0
        while True:
            self._visit_awaited()
            if tid not in self._awaited:
                return
            tries += 1
            if tries > 50:
                end = end or time.monotonic() + STOP_TIMEOUT_S
                if time.monotonic() > end:
                    return
                time.sleep(0.00001)

    def _denied(self, tid: int, error: OSError) -> None:
        """Note a thread that another process traces. Raises UsageError for other reasons, which hold for all
        threads."""
        tracer = status_of(f"{self.pid}/task/{tid}").get("TracerPid", "0")
        state = status_of(f"{self.pid}/task/{tid}").get("State", "X")
        if tracer != "0":
            self.missed.append((tid, f"{_named(tracer)} traces it already"))
        elif not state.startswith(("Z", "X")):
            raise _refused(self.pid) from error

    def _visit_awaited(self) -> None:
        for tid, visit in list(self._awaited.items()):
            if self._visit(tid, visit):
                del self._awaited[tid]

    def _await_late(self) -> None:
        """Wait for the threads that did not stop. The kernel releases them when this thread ends."""
        end = time.monotonic() + SLOW_STOP_TIMEOUT_S
        while self._awaited.keys() - self._waiting.keys() and time.monotonic() < end:
            self._visit_awaited()
            time.sleep(0.0005)
        for tid, visit in self._awaited.items():
            where = read_proc(f"/proc/{self.pid}/task/{tid}/wchan", 256).decode("ascii", "replace").strip()
            function = f" ({where})" if where not in ("", "0") else ""
            if self._take_waiting(tid, visit):
                self._waiting[tid] = function
            else:
                self.missed.append((tid, f"it waits in the kernel{function} and cannot be interrupted now"))
        self._awaited.clear()

    def _take_waiting(self, tid: int, visit: "_Visit") -> bool:
        """Copy a thread in uninterruptible sleep, as in vfork until the child executes a program; whether it worked.

        It does not run meanwhile. Of its registers /proc/PID/syscall has the stack pointer, the program counter and the
        arguments of the system call (proc(5)).
        """
        path = f"/proc/{self.pid}/task/{tid}/syscall"
        before = read_proc(path, 512)
        machine = self.machine
        try:
            numbers = [int(word, 0) & 0xFFFFFFFFFFFFFFFF for word in before.split()]
        except ValueError:
            return False  # It runs again.
        if len(numbers) not in (3, 9):
            return False
        known = dict(zip(machine.arguments, numbers[1:-2], strict=False))
        known[machine.sp], known[machine.ip] = numbers[-2:]
        stack = self._stack(known[machine.sp])
        more = [(at, self._read(at, size)) for at, size in self._requested.get(tid, {}).items()]
        if not stack or read_proc(path, 512) != before:
            return False
        registers = tuple(known.get(word, 0) for word in range(machine.words))
        self._copied += len(stack)
        self.threads.append(Thread(tid, visit.name, registers, stack, 0, more, machine.mask_of(known)))
        return True

    def waiting_remarks(self) -> list[str]:
        """A remark on threads that could not be stopped, if there are any."""
        if not self._waiting:
            return []
        (first, function), *others = self._waiting.items()
        who = f"thread {first}" if not others else f"thread {first} and {len(others):,} more"
        return [f"{who} could not be stopped in the kernel{function}: stacks may end where a register is unknown"]

    def _visit(self, tid: int, visit: "_Visit") -> bool:
        """Copy and release a thread that has stopped; False if it has not."""
        try:
            status = _state(tid, visit)
        except OSError:
            return True  # It has ended, or another thread of the process has executed a program.
        if status is None:
            return False
        code, value = status
        if code not in (os.CLD_STOPPED, os.CLD_TRAPPED):
            if tid != self.pid:
                # Until it is reaped, other threads of the process cannot exec.
                with suppress(OSError):
                    os.waitpid(tid, os.WNOHANG | _WALL)
            return True
        # If a pending signal stopped it before we did, the signal is passed on.
        signal_number = 0 if value >> 8 == _EVENT_STOP else value & 0x7F
        try:
            registers = self._registers(tid)
            stack = self._stack(registers[self.machine.sp])
            more = [(at, self._read(at, size)) for at, size in self._requested.get(tid, {}).items()]
        except OSError as error:
            self.missed.append((tid, error.strerror or str(error)))
            return True
        finally:
            with suppress(OSError):
                _ptrace(_DETACH, tid, 0, signal_number)
        held = time.perf_counter_ns() - visit.begin
        self._copied += len(stack)
        self.threads.append(Thread(tid, visit.name, registers, stack, held, more))
        return True

    def _registers(self, tid: int) -> tuple[int, ...]:
        self._vector.size = ctypes.sizeof(self._words)
        _ptrace(_GETREGSET, tid, _PRSTATUS, ctypes.addressof(self._vector))
        if self._vector.size != 8 * self.machine.words:
            raise UsageError(
                f"process {self.pid} runs a 32-bit program",
                "stacks of those are not supported",
                "try gdb or eu-stack",
            )
        return tuple(self._words[: self.machine.words])

    def _stack(self, sp: int) -> bytes:
        low, _high = self._range_of(sp)
        size = COPY_BYTES if low not in self._stacks else OWN_STACK_COPY_BYTES
        return self._read(sp, size if self._copied < REDUCED_COPY_THRESHOLD_BYTES else REDUCED_COPY_BYTES)

    def _read(self, start: int, size: int) -> bytes:
        """Memory from ``start`` on, as far as it is mapped."""
        try:
            _low, high = self._range_of(start)
            return os.pread(self._memory, min(size, high - start) if high else size, start)
        except (OSError, OverflowError):
            return b""


@dataclass(slots=True)
class _Visit:
    """A thread that was interrupted, and the last time (ns) at which it had not stopped yet."""

    name: bytes
    begin: int = field(default_factory=time.perf_counter_ns)


def _state(tid: int, visit: _Visit) -> tuple[int, int] | None:
    """(CLD_* code, status) of a thread that has stopped or ended; None if it has not.

    The change is not consumed, else a signal that stopped the thread would be lost if this process were killed.
    """
    now = time.perf_counter_ns()
    found = os.waitid(os.P_PID, tid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT | _WALL)
    if found is not None:
        return found.si_code, found.si_status
    visit.begin = now
    return None


def _open_memory(pid: int, proc: str) -> int:
    try:
        return os.open(f"{proc}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise _refused(pid) from error
    except OSError as error:
        raise UsageError(f"process {pid} cannot be read", error.strerror or str(error)) from error


def _refused(pid: int) -> UsageError:
    """The error for a process that may not be traced, with the likely reason."""
    what = f"process {pid} may not be traced"
    status = status_of(pid)
    tracer = status.get("TracerPid", "0")
    if tracer != "0":
        return UsageError(what, f"{_named(tracer)} traces it already", "end that debugger or strace first")
    owner = status.get("Uid", "").split()
    capable = int(status_of("self").get("CapEff", "0"), 16) >> _CAP_SYS_PTRACE & 1
    if not capable and owner and owner[0] != str(os.geteuid()):
        if os.geteuid() == 0:
            return UsageError(what, "we lack CAP_SYS_PTRACE", "in a container: start it with --cap-add SYS_PTRACE")
        return UsageError(what, "it belongs to another user", "run as that user, or as root")
    scope = read_proc("/proc/sys/kernel/yama/ptrace_scope", 16).strip().decode("ascii", "replace")
    if scope == "3":
        return UsageError(what, "kernel.yama.ptrace_scope is 3", "restart the machine with a lower one")
    if scope in ("1", "2") and not capable:
        return UsageError(
            what,
            f"kernel.yama.ptrace_scope is {scope}",
            "run as root, or: sysctl kernel.yama.ptrace_scope=0" if os.geteuid() else "grant us CAP_SYS_PTRACE",
        )
    if capable:
        why = "it has capabilities that we lack, is in another user namespace, or a security module forbids it"
        return UsageError(what, why, "run with all capabilities, on the machine itself if this is a container")
    why = "it is not dumpable: it changed its user, its program is not readable, or it disabled dumps"
    if os.geteuid() == 0:
        return UsageError(what, f"{why}; or we lack CAP_SYS_PTRACE", "in a container: --cap-add SYS_PTRACE")
    return UsageError(what, why, "run as root")


def _named(pid: str) -> str:
    """A process's id and name."""
    name = read_proc(f"/proc/{pid}/comm", 64).rstrip(b"\n").decode("utf-8", "replace")
    return f"process {pid} ({name})" if name else f"process {pid}"
