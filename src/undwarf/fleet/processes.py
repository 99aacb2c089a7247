"""Processes that run functions for this one: an executor that goes on when one of them dies, and knows what it ran.

Those of the standard library stay for ever if their parent is killed, give up all they run if one of them dies, and
cannot be started by workers of Dask, which are daemons. Each of these is a new interpreter (a fork would copy locks of
the threads that Arrow and DuckDB have) with a pipe, and runs one function at a time. It ends when the pipe does.
"""

import contextlib
import gc
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing.connection import Connection, Pipe
from queue import SimpleQueue
from typing import Any, NoReturn

from undwarf.errors import UndwarfError

_POLL = 1.0
"""Seconds after which the process is looked at, where its pipe says nothing: what it has started may keep that open."""
_GC = (2_000_000, 20, 20)
"""Thresholds of the garbage collector, as the command line sets them: most objects live until a function returns."""
_FIRST_TO_GO = b"500"
"""For the kernel out of memory: it is to end what needs so much, not a scheduler or a store beside it."""


class Died(Exception):
    """The process that ran a function died."""


class Processes(Executor):
    """Up to ``count`` processes, which are started when there is work for them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Condition()
        self._calls: deque[tuple[Future[Any], bytes]] = deque()
        self._threads: list[threading.Thread] = []
        self._processes: set[_Process] = set()
        self._idle = 0
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """See :class:`concurrent.futures.Executor`; the future has the error :class:`Died` if the process dies."""
        call = pickle.dumps((fn, args, kwargs), pickle.HIGHEST_PROTOCOL)
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the processes have been ended")
            self._calls.append((future, call))
            if self._idle < len(self._calls) and len(self._threads) < self._count:
                thread = threading.Thread(target=self._serve, name="undwarf-process", daemon=True)
                self._threads.append(thread)
                thread.start()
            else:
                self._lock.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after the functions that they run, and with ``cancel_futures`` before those that wait."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                for future, _call in self._calls:
                    future.cancel()
                self._calls.clear()
            self._lock.notify_all()
        if wait:
            for thread in self._threads:
                thread.join()

    def end(self) -> None:
        """End the processes at once."""
        self.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._processes:
                process.kill()
        self.shutdown()

    def _next(self) -> "tuple[Future[Any], bytes] | None":
        with self._lock:
            self._idle += 1
            while not self._calls and not self._closed:
                self._lock.wait()
            self._idle -= 1
            return self._calls.popleft() if self._calls else None

    def _serve(self) -> None:
        """Give functions to one process, and to the next one after it dies."""
        process: _Process | None = None
        try:
            while (work := self._next()) is not None:
                future, call = work
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    process = process or self._started()
                    made, error = process.run(call)
                except Died as died:
                    self._ended(process)
                    process = None
                    future.set_exception(died)
                except Exception as failed:  # noqa: BLE001  # it cannot be started, or its result is none
                    future.set_exception(failed)
                else:
                    if error is None:
                        future.set_result(made)
                    else:
                        future.set_exception(error)
                del future, call, work
        finally:
            self._ended(process)

    def _started(self) -> "_Process":
        process = _Process()
        with self._lock:
            self._processes.add(process)
        return process

    def _ended(self, process: "_Process | None") -> None:
        if process is not None:
            with self._lock:
                self._processes.discard(process)
            process.close()


class _Process:
    """One process, with a folder for its temporary files that is gone after it."""

    def __init__(self) -> None:
        # It makes the folder, so that none is left if this process is killed meanwhile.
        self._folder = os.path.join(tempfile.gettempdir(), f"undwarf-{secrets.token_hex(8)}")
        self._connection, theirs = Pipe()
        with theirs:
            program = f"from undwarf.fleet.processes import serve; serve({theirs.fileno()})"
            # One a CPU: more threads of Arrow's would be in each other's way.
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        with contextlib.suppress(OSError):
            self._connection.send((sys.path, self._folder))

    def run(self, call: bytes) -> tuple[Any, Exception | None]:
        """(What a function gave, the error that it raised). Raises Died."""
        try:
            self._connection.send_bytes(call)
            while not self._connection.poll(_POLL):
                if self._process.poll() is not None and not self._connection.poll():
                    raise EOFError
            text = self._connection.recv_bytes()
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_POLL)
            self._process.kill()
            raise Died(f"the process ended with status {self._process.wait()}") from None
        made: tuple[Any, Exception | None] = pickle.loads(text)
        return made

    def kill(self) -> None:
        """End it, whatever it does: :meth:`run` raises Died."""
        self._process.kill()

    def close(self) -> None:
        """End it, and remove its files."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def serve(descriptor: int) -> None:
    """Run functions that come through a pipe, until it ends: what a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    try:
        sys.path[:], folder = connection.recv()
    except (EOFError, OSError):
        _leave()
    os.mkdir(folder, 0o700)
    tempfile.tempdir = folder
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb") as file:
        file.write(_FIRST_TO_GO)
    gc.set_threshold(*_GC)
    from undwarf.mapped_files import handle_truncation

    handle_truncation()
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    while True:
        answer = _answer(calls.get())
        try:
            connection.send_bytes(answer)
        except OSError:
            _leave()


def _receive(connection: Connection, calls: "SimpleQueue[bytes]") -> None:
    while True:
        try:
            calls.put(connection.recv_bytes())
        except (EOFError, OSError):
            # Nobody waits for what is being done.
            _leave()


def _leave() -> NoReturn:
    if tempfile.tempdir is not None:
        shutil.rmtree(tempfile.tempdir, ignore_errors=True)
    os._exit(0)


def _answer(call: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(call)
        return pickle.dumps((function(*args, **kwargs), None), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # it is the caller's, as with any executor
        try:
            text = pickle.dumps((None, error), pickle.HIGHEST_PROTOCOL)
            pickle.loads(text)
        except Exception:  # noqa: BLE001  # errors of libraries often cannot be made again of their arguments
            text = pickle.dumps((None, UndwarfError(f"{type(error).__name__}: {error}")), pickle.HIGHEST_PROTOCOL)
        return text
