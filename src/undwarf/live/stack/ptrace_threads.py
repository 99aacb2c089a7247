"""Registers and stacks of a running process's threads, each stopped with ptrace only while they are copied.

A thread that was seized (PTRACE_SEIZE) resumes when its tracer dies, so it runs again whatever happens to this process.
Source: ptrace(2).
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
from undwarf.live.stack.stop_guard import put_off
from undwarf.live.system_snapshot import describe_mappings, read_proc, threads_of

FIRST_COPY = 64 << 10
"""Bytes copied of a stack at first, and of other memory that is asked for. Where a walk runs out of what was copied, 8
times as much is copied next, from there on."""
STACK_COPY = 1 << 20
"""The same for memory that holds one stack only, so that what is above the stack pointer is all in use."""
LARGEST_COPY = 512 << 20
REDUCED_COPY_THRESHOLD = 1 << 30
"""Bytes copied of all stacks, above which less is copied of each further one."""
LATER_COPY = 16 << 10
PAGE = 4096
STOP_POLL_S = 0.02
"""Seconds within which a thread usually stops."""
SLOW_STOP_S = 0.5
"""Seconds that the slow ones are waited for at the end; a thread that waits for a disk does not stop."""
MOST_EXECS = 3
"""How often a process is read again that executes another program meanwhile."""
SLICE_S, PAUSE_S = 0.002, 0.0002
"""Seconds of work on threads, and of sleep after each such slice, so that the process itself gets the CPU."""
NEW_THREAD_GRACE_S = 2.0
"""Seconds for which threads that were started meanwhile are looked for."""

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
    """All threads of a running process. Raises UsageError where there is none, or it may not be looked at."""
    machine = own_machine()
    status = _status(pid)
    if not status:
        raise UsageError(f"no process {pid}", "", "give the id of a running process, or a core file")
    # A thread's number stands for its process.
    pid = int(status.get("Tgid", pid))
    if pid == os.getpid():
        raise UsageError(f"process {pid} is this program itself", "it cannot stop itself to look", "")
    if _is_of_kernel(pid):
        raise UsageError(f"process {pid} is a thread of the kernel", "it has no memory of its own", "")
    for _look in range(MOST_EXECS):
        snapshot = _look_at(pid, machine)
        # What was open of a process's memory is of the program before an exec.
        if any(thread.stack for thread in snapshot.threads):
            break
    return snapshot


def _look_at(pid: int, machine: Machine) -> Snapshot:
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
            raise UsageError(f"no thread of process {pid} could be looked at", why, "")
        # What was mapped meanwhile is there as well.
        maps = read_proc(f"{proc}/maps") or maps
    except BaseException:
        os.close(memory)
        raise
    files = ProcessFiles(pid, proc, maps, memory)
    # The process may end before anybody looks at them.
    files.open_all()
    return Snapshot(
        pid,
        read_proc(f"{proc}/comm", 64).rstrip(b"\n") or taker.threads[0].name,
        machine,
        taker.threads,
        lambda encoder: describe_mappings(encoder, pid, files.maps, files),
        missed=taker.missed,
        remarks=taker.remarks + taker.about_waiting(),
        code_memory=files.read,
        files=files,
        again=taker.again,
    )


def _proc_of(pid: int) -> str:
    """Where /proc tells of a process's memory: the first thread may have ended before the others.

    Raises UsageError where all have.
    """
    for tid in (pid, *threads_of(pid)):
        proc = f"/proc/{pid}" if tid == pid else f"/proc/{pid}/task/{tid}"
        if not _status(f"{pid}/task/{tid}").get("State", "Z").startswith(("Z", "X")):
            return proc
    raise UsageError(f"process {pid} has ended", "only its exit status is left", "its parent has yet to wait for it")


def _is_of_kernel(pid: int) -> bool:
    """Whether a process is a thread of the kernel, by its flags (PF_KTHREAD of include/linux/sched.h)."""
    fields = read_proc(f"/proc/{pid}/stat", 4096).rpartition(b") ")[2].split()
    return len(fields) > 6 and fields[6].isdigit() and int(fields[6]) & 0x200000 != 0


def _in_own_thread(work: Callable[[], None]) -> None:
    """Trace from a thread that ends with the work: what it still holds then, the kernel lets go.

    A thread that waits for a disk is seized but cannot be released before it stops. Ctrl-C reaches the caller at once.
    """
    failures: list[BaseException] = []

    def run() -> None:
        # Whoever waits for a processor while it holds a thread, holds it too long.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failures.append(error)

    # Were we stopped by Ctrl-Z, whom we hold would be, too; it waits until the work is done.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    # It goes through all objects there are, 10 ms and more, at any moment.
    collects = gc.isenabled()
    gc.disable()
    try:
        with put_off():
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
    """Goes through the threads of one process, in one thread of ours."""

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
                # What lies above memory that nobody may touch is made to be a stack, and nothing else is above its sp.
                if writable == b"w" and (stack or low == guard):
                    self._stacks.add(low)
            guard = high if readable == writable == b"-" else 0
        self._words = (ctypes.c_uint64 * (machine.words + 8))()
        self._vector = _Vector(ctypes.addressof(self._words), 0)
        self._awaited: dict[int, _Visit] = {}
        self._waiting: dict[int, str] = {}
        """Threads that nothing interrupts, and in which function of the kernel."""
        self._copied = 0
        self._rested = time.monotonic()
        self._wanted: dict[int, dict[int, int]] = {}

    def run(self) -> None:
        """Take all threads, and those that come meanwhile."""
        seen: set[int] = set()
        end = time.monotonic() + NEW_THREAD_GRACE_S
        while True:
            new = [tid for tid in threads_of(self.pid) if tid not in seen]
            if len(seen) + len(new) > MAX_THREADS:
                self.remarks.append(f"only {MAX_THREADS:,} threads are shown")
                new = new[: MAX_THREADS - len(seen)]
            for tid in new:
                self._take(tid)
                self._rest()
            seen.update(new)
            if not new or len(seen) >= MAX_THREADS:
                break
            if time.monotonic() > end:
                self.remarks.append("threads come and go too fast to be looked at all")
                break
        self._await_late()
        self.threads.sort(key=lambda thread: thread.tid)

    def _rest(self) -> None:
        """Now and then leave the processor to others while nobody is held: the kernel does so by itself, for 50 ms at a
        time, with those whose real-time priority lets nobody else run (sched(7), "Limiting the CPU usage")."""
        now = time.monotonic()
        if now - self._rested > SLICE_S and not self._awaited:
            time.sleep(PAUSE_S)
            self._rested = now + PAUSE_S

    def again(self, wanted: dict[int, set[int]]) -> bool:
        """Look at threads (by index) again, at the memory at these addresses too; False if no more can be had."""
        tids = []
        for index, addresses in wanted.items():
            known = self._wanted.setdefault(self.threads[index].tid, {})
            for address in addresses:
                low, high = self._range_of(address)
                start = address & ~(PAGE - 1)
                if low <= address < high and start not in known:
                    size = self._next_size(self.threads[index], known, address)
                    known[start] = min(high - start, size, LARGEST_COPY)
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
            # Without a stack it runs another program by now, or is another process's.
            if renewed is not None and renewed.stack:
                renewed.stopped += thread.stopped
                self.threads[index] = renewed
        return bool(taken)

    def _next_size(self, thread: Thread, known: dict[int, int], address: int) -> int:
        """How much to copy from an address on: more than before where that goes on with what was copied."""
        sp = thread.registers[self.machine.sp]
        for start, size in ((sp, len(thread.stack)), *known.items()):
            if start + size - PAGE <= address < start + size + PAGE:
                return max(size, FIRST_COPY) << 3
        return FIRST_COPY

    def _range_of(self, address: int) -> tuple[int, int]:
        """The readable mapping that an address lies in; (0, 0) if none."""
        at = bisect_right(self._ranges, (address, 1 << 64)) - 1
        low, high = self._ranges[at] if at >= 0 else (0, 0)
        return (low, high) if low <= address < high else (0, 0)

    def _take(self, tid: int) -> None:
        """Stop one thread, copy, let it go. One that does not stop soon is kept for later."""
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
        """Visit whoever has stopped, until one thread has, or is kept for later.

        Others that stop meanwhile, late, are not held until that one has.
        """
        tries = 0
        end = 0.0
        while True:
            for one in list(self._awaited):
                if self._visit(one, self._awaited[one]):
                    del self._awaited[one]
            if tid not in self._awaited:
                return
            tries += 1
            if tries > 50:
                end = end or time.monotonic() + STOP_POLL_S
                if time.monotonic() > end:
                    return
                time.sleep(0.00001)

    def _denied(self, tid: int, error: OSError) -> None:
        """One thread may be traced by somebody; for all else, none of the process may be looked at."""
        tracer = _status(f"{self.pid}/task/{tid}").get("TracerPid", "0")
        state = _status(f"{self.pid}/task/{tid}").get("State", "X")
        if tracer != "0":
            self.missed.append((tid, f"{_named(tracer)} traces it already"))
        elif not state.startswith(("Z", "X")):
            raise _refused(self.pid) from error

    def _await_late(self) -> None:
        """Give the threads that did not stop a last chance. The kernel lets go of them when this thread ends."""
        end = time.monotonic() + SLOW_STOP_S
        while self._awaited.keys() - self._waiting.keys() and time.monotonic() < end:
            for tid in list(self._awaited):
                if self._visit(tid, self._awaited[tid]):
                    del self._awaited[tid]
            time.sleep(0.0005)
        for tid, visit in self._awaited.items():
            where = read_proc(f"/proc/{self.pid}/task/{tid}/wchan", 256).decode("ascii", "replace").strip()
            place = f" ({where})" if where not in ("", "0") else ""
            if self._take_waiting(tid, visit):
                self._waiting[tid] = place
            else:
                self.missed.append((tid, f"it waits in the kernel{place} and cannot be interrupted now"))
        self._awaited.clear()

    def _take_waiting(self, tid: int, visit: "_Visit") -> bool:
        """Copy a thread that waits in the kernel where nothing interrupts it, as a process does whose vfork'ed child
        has not gone on to its own program; whether that was possible.

        It does not run meanwhile. /proc tells of its registers the stack pointer, where it will go on, and what it gave
        the system call (proc(5), /proc/PID/syscall).
        """
        place = f"/proc/{self.pid}/task/{tid}/syscall"
        before = read_proc(place, 512)
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
        more = [(at, self._read(at, size)) for at, size in self._wanted.get(tid, {}).items()]
        if not stack or read_proc(place, 512) != before:
            return False
        registers = tuple(known.get(word, 0) for word in range(machine.words))
        self._copied += len(stack)
        self.threads.append(Thread(tid, visit.name, registers, stack, 0, more, machine.mask_of(known)))
        return True

    def about_waiting(self) -> list[str]:
        """What to say of threads that could not be stopped."""
        if not self._waiting:
            return []
        (first, place), *others = self._waiting.items()
        who = f"thread {first}" if not others else f"thread {first} and {len(others):,} more"
        return [f"{who} could not be stopped in the kernel{place}: such stacks may end where a register is not known"]

    def _visit(self, tid: int, visit: "_Visit") -> bool:
        """Copy and let go a thread that has stopped; False if it has not."""
        try:
            status = _state(tid, visit)
        except OSError:
            return True  # It has ended, or became another one by exec.
        if status is None:
            return False
        code, value = status
        if code not in (os.CLD_STOPPED, os.CLD_TRAPPED):
            if tid != self.pid:
                # Until its end is taken note of, others cannot exec.
                with suppress(OSError):
                    os.waitpid(tid, os.WNOHANG | _WALL)
            return True
        # A signal that was on its way has stopped the thread before we did; it is handed on.
        signal_number = 0 if value >> 8 == _EVENT_STOP else value & 0x7F
        try:
            registers = self._registers(tid)
            stack = self._stack(registers[self.machine.sp])
            more = [(at, self._read(at, size)) for at, size in self._wanted.get(tid, {}).items()]
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
                f"process {self.pid} has a program of 32 bits",
                "stacks of those are not supported",
                "try gdb or eu-stack",
            )
        return tuple(self._words[: self.machine.words])

    def _stack(self, sp: int) -> bytes:
        low, _high = self._range_of(sp)
        size = FIRST_COPY if low not in self._stacks else STACK_COPY
        return self._read(sp, size if self._copied < REDUCED_COPY_THRESHOLD else LATER_COPY)

    def _read(self, start: int, size: int) -> bytes:
        """Memory from ``start`` on, as far as it is mapped."""
        try:
            _low, high = self._range_of(start)
            return os.pread(self._memory, min(size, high - start) if high else size, start)
        except (OSError, OverflowError):
            return b""


@dataclass(slots=True)
class _Visit:
    """A thread that was told to stop, and when it was last seen not to have."""

    name: bytes
    begin: int = field(default_factory=time.perf_counter_ns)


def _state(tid: int, visit: _Visit) -> tuple[int, int] | None:
    """(CLD_* code, status) of a thread that changed its state; None where it did not.

    The change stays with the thread: were it taken, a signal that stopped the thread would be lost with us.
    """
    now = time.perf_counter_ns()
    found = os.waitid(os.P_PID, tid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT | _WALL)
    if found is not None:
        return found.si_code, found.si_status
    visit.begin = now
    return None


def _status(pid: int | str) -> dict[str, str]:
    """The lines of /proc/PID/status (or of PID/task/TID); none where there is no such process."""
    lines = read_proc(f"/proc/{pid}/status", 1 << 16).decode("utf-8", "replace").split("\n")
    return {key: value.strip() for key, _colon, value in (line.partition(":") for line in lines if line)}


def _open_memory(pid: int, proc: str) -> int:
    try:
        return os.open(f"{proc}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise _refused(pid) from error
    except OSError as error:
        raise UsageError(f"process {pid} cannot be looked at", error.strerror or str(error)) from error


def _refused(pid: int) -> UsageError:
    """Why a process may not be looked at, as far as it can be told."""
    what = f"process {pid} may not be looked at"
    status = _status(pid)
    tracer = status.get("TracerPid", "0")
    if tracer != "0":
        return UsageError(what, f"{_named(tracer)} traces it already", "end that debugger or strace first")
    owner = status.get("Uid", "").split()
    capable = int(_status("self").get("CapEff", "0"), 16) >> _CAP_SYS_PTRACE & 1
    if not capable and owner and owner[0] != str(os.geteuid()):
        if os.geteuid() == 0:
            return UsageError(what, "we lack CAP_SYS_PTRACE", "in a container: start it with --cap-add SYS_PTRACE")
        return UsageError(what, "it belongs to another user", "run as that user, or as root")
    scope = read_proc("/proc/sys/kernel/yama/ptrace_scope", 16).strip().decode("ascii", "replace")
    if scope == "3":
        return UsageError(what, "kernel.yama.ptrace_scope is 3: nobody may", "restart the machine with a lower one")
    if scope in ("1", "2") and not capable:
        return UsageError(
            what,
            f"kernel.yama.ptrace_scope is {scope}",
            "run as root, or: sysctl kernel.yama.ptrace_scope=0" if os.geteuid() else "grant us CAP_SYS_PTRACE",
        )
    if capable:
        why = "it has capabilities that we lack, lies in another user namespace, or a security module forbids it"
        return UsageError(what, why, "run with all capabilities, on the machine itself if this is a container")
    why = "it is not dumpable: it changed its user or forbids it, or its program may not be read"
    if os.geteuid() == 0:
        return UsageError(what, f"{why}; or we lack CAP_SYS_PTRACE", "in a container: --cap-add SYS_PTRACE")
    return UsageError(what, why, "run as root")


def _named(pid: str) -> str:
    """A process's number and name."""
    name = read_proc(f"/proc/{pid}/comm", 64).rstrip(b"\n").decode("utf-8", "replace")
    return f"process {pid} ({name})" if name else f"process {pid}"
