"""Runs functions over many inputs in other processes, here or on a Dask cluster, and goes on where one of them dies.

Everything is submitted through the interface of :class:`concurrent.futures.Executor`. Functions are run at least once:
a worker may die after it has done its work, so they must do no harm when they are run again.
"""

import os
import secrets
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from undwarf import __version__
from undwarf.errors import UndwarfError, UsageError
from undwarf.fleet.confined_folder import DRAFT
from undwarf.fleet.processes import Died, Processes
from undwarf.fleet.store import INSTALL, Store, StoreUnavailable

if TYPE_CHECKING:
    from distributed import Client

Given = TypeVar("Given")
Made = TypeVar("Made")
ATTEMPTS = 3
"""How often an input is given to a worker before it counts as what kills them."""
_REACHED, _WORKERS = 10, 30
"""Seconds in which a scheduler must answer, and have a worker."""
_LOOK, _GONE = 5.0, 120
"""Seconds without news after which workers are looked for, and without workers after which they are given up."""
_AGAIN = "run the command again: what is done is not done again"


class Lost(Exception):
    """The worker that had an input died, each time."""


class Outcome(NamedTuple, Generic[Given, Made]):
    """What came of one input: what the function gave, or the error that it raised."""

    given: Given
    made: Made | None
    error: Exception | None


class Workers(Protocol):
    """Where functions are run."""

    def reach(self, store: Store, paths: Collection[str] = ()) -> None:
        """Use only workers that see the store and these paths, if they are of this machine. Raises UsageError if none
        does."""

    def executor(self) -> Executor:
        """An executor with all workers that are alive."""

    def is_broken(self, error: BaseException) -> bool:
        """Whether an error means that a worker died."""

    def look(self) -> None:
        """Raise UndwarfError if there have been no workers for long."""

    def close(self) -> None:
        """End the workers that were started here."""


class LocalWorkers:
    """Processes of this machine; with ``count`` 0 everything runs in this one."""

    def __init__(self, count: int | None = None) -> None:
        count = (len(os.sched_getaffinity(0)) or 1) if count is None else count
        self._executor = Processes(count) if count else _Here()

    def reach(self, store: Store, paths: Collection[str] = ()) -> None:
        """See :class:`Workers`."""

    def executor(self) -> Executor:
        """See :class:`Workers`."""
        return self._executor

    def is_broken(self, error: BaseException) -> bool:
        """See :class:`Workers`."""
        return isinstance(error, Died)

    def look(self) -> None:
        """See :class:`Workers`."""

    def close(self) -> None:
        """See :class:`Workers`."""
        if isinstance(self._executor, Processes):
            self._executor.end()


class _Here(Executor):
    """Runs each function at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # it is the caller's, as with any executor
            done.set_exception(error)
        return done


class DaskWorkers:
    """The workers of a Dask cluster, by its scheduler's address. Each thread of a worker has a process of its own for
    what is run: that does not share a lock with the others, and the worker stays if it dies.

    Dask sends functions and their results as pickles: whoever can reach the scheduler can run code on the workers, and
    workers can run code here. ``certificates`` (files: authority's, own, own key) keep others out.
    """

    def __init__(self, address: str, certificates: tuple[str, str, str] | None = None) -> None:
        try:
            import distributed
        except ImportError:
            raise UsageError("--dask needs distributed", "it is not installed", INSTALL) from None
        self._distributed = distributed
        security = None
        if certificates is not None:
            authority, own, key = certificates
            for path in certificates:
                try:
                    open(path, "rb").close()
                except OSError as error:
                    raise UsageError(f"cannot read {path}", error.strerror or "", "--tls CA CERT KEY") from None
            security = distributed.Security(
                tls_ca_file=authority, tls_client_cert=own, tls_client_key=key, require_encryption=True
            )
        try:
            self._client: Client = distributed.Client(address, security=security, timeout=f"{_REACHED}s")
        except (OSError, ValueError, TimeoutError, TypeError, RuntimeError) as error:
            raise UsageError(f"cannot reach the scheduler at {address}", str(error), "dask scheduler") from None
        self._able: list[str] | None = None
        self._gone: float | None = None
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS)
        except TimeoutError:
            self.close()
            raise UsageError(
                f"the scheduler at {address} has no workers", f"none came within {_WORKERS} s", f"dask worker {address}"
            ) from None

    def reach(self, store: Store, paths: Collection[str] = ()) -> None:
        """See :class:`Workers`."""
        wanted = sorted(map(os.path.abspath, paths))
        if not store.is_local:
            self._choose(wanted)
            return
        # Another folder may be at the same path elsewhere.
        probe = f"commits/{DRAFT}{secrets.token_hex(8)}"
        store.write(probe, b"")
        try:
            self._choose([*wanted, store.full(probe)])
        finally:
            store.remove([probe])

    def _choose(self, paths: list[str]) -> None:
        try:
            answers = self._client.run(lacking, paths)
        except ImportError as error:
            raise UsageError("the workers have no undwarf", str(error), INSTALL) from None
        if others := {version for version, _missing in answers.values() if version != __version__}:
            raise UsageError(f"workers have undwarf {', '.join(sorted(others))}", f"this is {__version__}")
        able = [worker for worker, (_version, missing) in answers.items() if not missing]
        if not able:
            _version, missing = next(iter(answers.values()))
            what = os.path.dirname(missing[0]) if DRAFT in missing[0] else missing[0]
            raise UsageError(f"no worker sees {what}", "", "use a folder that all share, or an address as s3://bucket")
        # Those that come later may work too, unless some cannot.
        self._able = able if len(able) < len(answers) else None

    def executor(self) -> Executor:
        """See :class:`Workers`."""
        chosen: dict[str, Any] = {} if self._able is None else {"workers": self._able}
        return _Apart(self._client.get_executor(pure=False, **chosen))

    def is_broken(self, error: BaseException) -> bool:
        """See :class:`Workers`."""
        return isinstance(error, Died | self._distributed.KilledWorker)

    def look(self) -> None:
        """See :class:`Workers`."""
        alive: Collection[str] = ()
        with suppress(OSError, TimeoutError):
            alive = self._client.nthreads()
        now = time.monotonic()
        if any(self._able is None or worker in self._able for worker in alive):
            self._gone = None
        elif self._gone is None:
            self._gone = now
        elif now - self._gone > _GONE:
            raise UndwarfError("all workers are gone", f"none came within {_GONE} s", _AGAIN)

    def close(self) -> None:
        """See :class:`Workers`."""
        self._client.close()


def lacking(paths: Sequence[str]) -> tuple[str, list[str]]:
    """(the version of undwarf, those of the paths that are not there), of a worker."""
    return __version__, [path for path in paths if not os.path.exists(path)]


class _Apart(Executor):
    """Runs each function in a process of the worker that gets it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        return self._executor.submit(run_apart, fn, *args, **kwargs)


def run_apart(function: Callable[..., Made], *args: Any, **kwargs: Any) -> Made:
    """What a function gives in a process of this one. Raises Died if that dies."""
    made: Made = _processes().submit(function, *args, **kwargs).result()
    return made


@cache
def _processes() -> Processes:
    """As many as functions are run at once."""
    return Processes(sys.maxsize)


@contextmanager
def workers(
    count: int | None = None, dask: str | None = None, certificates: tuple[str, str, str] | None = None
) -> Iterator[Workers]:
    """Processes of this machine, or the workers of a Dask cluster."""
    made: Workers = DaskWorkers(dask, certificates) if dask else LocalWorkers(count)
    try:
        yield made
    finally:
        made.close()


def run(
    function: Callable[[Given], Made],
    inputs: Sequence[Given],
    where: Workers,
    done: Callable[[int, int], None] | None = None,
) -> list[Outcome[Given, Made]]:
    """What came of each input, in their order; ``done`` is called with how many are ready, and how many there are.

    Inputs whose worker dies are given to others; one with which workers died three times has the error :class:`Lost`.
    Raises UndwarfError if the store or the scheduler is gone: what has not begun is not run then.
    """
    executor = where.executor()
    outcomes: dict[int, Outcome[Given, Made]] = {}
    attempts = [0] * len(inputs)
    ended: SimpleQueue[tuple[int, Future[Made]]] = SimpleQueue()
    begun: dict[int, Future[Made]] = {}

    def give(one: int) -> None:
        attempts[one] += 1
        begun[one] = executor.submit(function, inputs[one])
        begun[one].add_done_callback(lambda future: ended.put((one, future)))

    try:
        waiting = deque(range(len(inputs)))
        while waiting or begun:
            # What runs in this process has ended when it is given.
            while waiting and ended.empty():
                give(waiting.popleft())
            try:
                one, future = ended.get(timeout=_LOOK)
            except Empty:
                where.look()
                continue
            del begun[one]
            if future.cancelled():
                raise UndwarfError("the scheduler is gone", "", _AGAIN)
            error = future.exception()
            if error is not None and where.is_broken(error):
                if attempts[one] < ATTEMPTS:
                    give(one)
                    continue
                error = Lost(f"workers died with it {ATTEMPTS} times")
            if isinstance(error, StoreUnavailable) or (error is not None and not isinstance(error, Exception)):
                raise error
            outcomes[one] = Outcome(inputs[one], future.result() if error is None else None, error)
            if done is not None:
                done(len(outcomes), len(inputs))
    finally:
        for future in list(begun.values()):
            future.cancel()
    return [outcomes[one] for one in sorted(outcomes)]
