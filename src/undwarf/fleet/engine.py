"""Runs functions over many inputs in other processes, here or on a Dask cluster, and goes on where one of them dies.

Everything is submitted through the interface of :class:`concurrent.futures.Executor`. Functions are run at least once:
a worker may die after it has done its work, so they must do no harm when they are run again.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from undwarf.errors import UsageError
from undwarf.fleet.store import INSTALL

if TYPE_CHECKING:
    from distributed import Client

Given = TypeVar("Given")
Made = TypeVar("Made")
ATTEMPTS = 3
"""How often an input is given to a worker before it counts as what kills them."""


class Lost(Exception):
    """The worker that had an input died, each time."""


class Outcome(NamedTuple, Generic[Given, Made]):
    """What came of one input: what the function gave, or the error that it raised."""

    given: Given
    made: Made | None
    error: Exception | None


class Workers(Protocol):
    """Where functions are run."""

    def executor(self) -> Executor:
        """An executor with all workers that are alive; a new one if the last one is broken."""

    def alone(self) -> Executor:
        """An executor whose worker runs nothing else meanwhile: if it dies, what it runs is the cause."""

    def is_broken(self, error: BaseException) -> bool:
        """Whether an error means that a worker died."""

    def close(self) -> None:
        """End the workers that were started here."""


class LocalWorkers:
    """Processes of this machine; with ``count`` 0 everything runs in this one."""

    def __init__(self, count: int | None = None) -> None:
        self._count = (len(os.sched_getaffinity(0)) or 1) if count is None else count
        self._pool: Executor | None = None

    def executor(self) -> Executor:
        """See :class:`Workers`."""
        if self._pool is not None and getattr(self._pool, "_broken", False):
            self.close()
        if self._pool is None:
            self._pool = _processes(self._count) if self._count else _Here()
        return self._pool

    def alone(self) -> Executor:
        """See :class:`Workers`."""
        self.close()
        self._pool = _processes(1) if self._count else _Here()
        return self._pool

    def is_broken(self, error: BaseException) -> bool:
        """See :class:`Workers`."""
        return isinstance(error, BrokenProcessPool)

    def close(self) -> None:
        """See :class:`Workers`."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _processes(count: int) -> Executor:
    # Forking would copy locks of the threads that Arrow and DuckDB have.
    import multiprocessing

    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


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
    """The workers of a Dask cluster, by its scheduler's address.

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
            security = distributed.Security(
                tls_ca_file=authority, tls_client_cert=own, tls_client_key=key, require_encryption=True
            )
        try:
            self._client: Client = distributed.Client(address, security=security, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(f"cannot reach the scheduler at {address}", str(error), "dask scheduler") from None

    def executor(self) -> Executor:
        """See :class:`Workers`."""
        made: Executor = self._client.get_executor(pure=False)
        return made

    def alone(self) -> Executor:
        """See :class:`Workers`; the scheduler counts by itself what died with which function."""
        return self.executor()

    def is_broken(self, error: BaseException) -> bool:
        """See :class:`Workers`."""
        return isinstance(error, self._distributed.KilledWorker)

    def close(self) -> None:
        """See :class:`Workers`."""
        self._client.close()


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
    """
    outcomes: dict[int, Outcome[Given, Made]] = {}
    left = list(range(len(inputs)))
    for attempt in range(ATTEMPTS):
        # Which of several inputs killed a worker is not known: the last attempt is one by one.
        groups = [left] if attempt < ATTEMPTS - 1 else [[one] for one in left]
        again: list[int] = []
        for group in groups:
            if not group:
                continue
            executor = where.executor() if attempt < ATTEMPTS - 1 else where.alone()
            futures: dict[Future[Made], int] = {}
            try:
                for one in group:
                    futures[executor.submit(function, inputs[one])] = one
            except BrokenProcessPool:
                again += [one for one in group if one not in futures.values()]
            for future in _completed(futures):
                one, error = futures[future], future.exception()
                if error is not None and where.is_broken(error):
                    again.append(one)
                    continue
                if error is not None and not isinstance(error, Exception):
                    raise error
                made = future.result() if error is None else None
                outcomes[one] = Outcome(inputs[one], made, error)
                if done is not None:
                    done(len(outcomes), len(inputs))
        left = sorted(again)
    for one in left:
        outcomes[one] = Outcome(inputs[one], None, Lost(f"workers died with it {ATTEMPTS} times"))
    return [outcomes[one] for one in sorted(outcomes)]


def _completed(futures: "dict[Future[Made], int]") -> "Iterator[Future[Made]]":
    """The futures as they end, whatever executor they are of."""
    if all(isinstance(future, Future) for future in futures):
        yield from as_completed(futures)
        return
    from distributed import as_completed as completed

    yield from completed(futures)
