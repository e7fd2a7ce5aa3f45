"""Runs on executors of ``concurrent.futures``: process pools, threads, clusters.

The ledger (``_native.Ledger``) records which runs are due and which are assigned to workers, and keeps finished
runs. This module groups runs into batches of about one second, keeps a few batches per worker in progress, and
enters the results in the ledger. A worker checks the experiment once. After that, an order has only a few bytes
per run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

from . import _native
from ._failures import Failure
from ._progress import Bar
from ._worker import Setup, work
from .errors import DupackError, WorkerError, going_on
from .results import Results, finished

__all__ = ["run_with"]

# Approximate duration of a batch, in seconds. A scheduler needs about a millisecond for each batch, and an
# interruption loses at most one batch per worker.
_BATCH_S = 1.0
# Duration of a batch while the speed of the workers is unknown, in seconds.
_FIRST_BATCH_S = 0.25
_FIRST_SECONDS_PER_PACKET = 0.3e-6
# Weight of the newest batch in the estimate of the speed.
_NEWEST = 0.2
# A worker performs one batch while the next one is in transit. The due runs are divided into at least as many
# batches as all workers have in progress.
_BATCHES_PER_WORKER = 2
# Maximum number of runs in a batch, so that a parcel has at most a few megabytes.
_RUNS_MAX = 10_000
# Interval between updates of the progress bar, in seconds.
_TICK_S = 0.1
# Maximum time to wait for batches in progress after Ctrl-C or an error, in seconds.
_GRACE_S = 2.0
# Interval between counts of the workers, in seconds. They are counted again because clusters grow and shrink.
_COUNT_AGAIN_S = 5.0

_Answer = tuple[bytes, float, list[Failure]]


def run_with(
    executor: Executor,
    plan: _native.Plan,
    setup: Setup,
    *,
    jobs: int | None,
    out: Path | None,
    resume: bool,
    progress: bool | Callable[[int, int], object] | None,
) -> Results:
    """Perform the runs of ``plan`` on the workers of ``executor``, which receive ``setup``.

    Args:
        jobs: number of workers to keep busy; by default all workers that ``executor`` reports.

    Raises:
        TypeError: if ``executor`` is not an executor.
        AlgorithmError: if an algorithm in Python cannot be sent to workers.
        WorkerError: if a worker or the executor fails. Its ``results`` have the finished runs.
    """
    _check(executor)
    sent = setup.packed(plan)
    with Bar(progress, setup.name) as bar:
        ledger, by = plan.ledger(jobs or 0, bar, out, resume)
        failures: list[Failure] = []
        if by is None:
            foreman = _Foreman(_Crew(executor, jobs), ledger, sent, bar)
            by = foreman.work()
            failures = foreman.failures(plan)
        native, unwritten = ledger.results(failures)
    if isinstance(by, WorkerError):
        by = going_on(by, None if out is None else str(out))
    return finished(native, by or unwritten)


def _check(executor: object) -> None:
    if isinstance(executor, Executor):
        return
    kind = type(executor)
    help = "for example concurrent.futures.ProcessPoolExecutor()"
    if isinstance(executor, type) and issubclass(executor, Executor):
        raise TypeError(f"executor: expected an executor, found its class; make one: {executor.__qualname__}()")
    if kind.__name__ == "Client" and hasattr(executor, "get_executor"):
        help = "use the executor of Dask's client: executor=client.get_executor()"
    raise TypeError(
        f"executor: expected an executor of concurrent.futures, found {kind.__module__}.{kind.__qualname__}; {help}"
    )


@dataclass(frozen=True)
class _Batch:
    """Runs that are assigned to a worker."""

    number: int
    runs: int
    packets: int


class _Foreman:
    """Keeps the workers busy until all runs are done."""

    def __init__(self, crew: _Crew, ledger: _native.Ledger, setup: tuple[str, bytes], bar: Bar) -> None:
        self._crew = crew
        self._ledger = ledger
        self._setup = setup
        self._bar = bar
        self._pace = _Pace()
        self._out: dict[Future[_Answer], _Batch] = {}
        self._failures: list[Failure] = []

    def work(self) -> BaseException | None:
        """Keep the workers busy. Return the exception that ended the work early, or ``None``."""
        try:
            while self._send():
                future = self._crew.next_done(_TICK_S)
                if future is not None:
                    self._take(future)
                self._bar(*self._ledger.told())
        except BaseException as by:
            try:
                self._wind_up()
            except BaseException:  # For example a second Ctrl-C, which ends the work at once.
                self._abandon()
            return by
        return None

    def failures(self, plan: _native.Plan) -> list[Failure]:
        """Return the runs that failed in an algorithm in Python, in the order of points, stacks and seeds."""
        places = {stack: place for place, stack in enumerate(plan.stacks)}
        return sorted(
            self._failures,
            key=lambda run: (run.point, places.get(run.stack, 0), run.seed, run.purpose == "harm"),
        )

    def _send(self) -> bool:
        """Send batches until enough are in progress. Return ``True`` if any batch is in progress."""
        most = self._crew.workers() * _BATCHES_PER_WORKER
        while len(self._out) < most:
            order = self._ledger.order(self._pace.packets(), _RUNS_MAX, most)
            if order is None:
                break
            number, text, runs, packets = order
            future = self._crew.submit(work, _native.engine(), *self._setup, text)
            self._out[future] = _Batch(number, runs, packets)
        return bool(self._out)

    def _take(self, future: Future[_Answer]) -> None:
        batch = self._out.get(future)
        if batch is None:
            return
        error = CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, KeyboardInterrupt):
            # Only the worker was interrupted. This process continues.
            self._ledger.give_up(batch.number)
        elif error is not None:
            _raise_explained(error)
        else:
            parcel, seconds, failures = future.result()
            entered = self._ledger.enter(parcel)
            if entered == batch.runs:
                self._pace.learn(batch.packets, seconds)
            if entered > 0:
                self._failures += failures
        # A batch stays in `_out` until it is entered, so that an interruption does not lose it.
        del self._out[future]

    def _wind_up(self) -> None:
        """Cancel batches that have not begun, wait briefly for the other batches, and enter the finished ones."""
        # Executors begin the oldest batches first. The oldest batches, one per worker, are not cancelled yet, because
        # some executors also cancel batches that have begun. All other batches are cancelled.
        waiting = list(self._out)[self._crew.workers() :]
        for future in waiting:
            future.cancel()
        end = time.monotonic() + _GRACE_S
        while any(not future.done() for future in self._out):
            left = end - time.monotonic()
            if left <= 0:
                break
            self._crew.next_done(min(left, _TICK_S))
        for future in list(self._out):
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(DupackError):
                    self._take(future)
        self._abandon()

    def _abandon(self) -> None:
        for future in self._out:
            future.cancel()


class _Crew:
    """An executor and its number of workers."""

    def __init__(self, executor: Executor, jobs: int | None) -> None:
        self._executor = executor
        self._jobs = jobs
        self._done: SimpleQueue[Future[_Answer]] = SimpleQueue()
        self._count = 0
        self._counted = 0.0

    def submit(self, call: Callable[..., _Answer], *args: object) -> Future[_Answer]:
        """Submit a call; :meth:`next_done` returns its future once it is done."""
        try:
            future = self._executor.submit(call, *args)
        except Exception as error:
            _raise_explained(error)
        future.add_done_callback(self._done.put)
        return future

    def next_done(self, seconds: float) -> Future[_Answer] | None:
        """Return the next future that is done, or ``None`` after this many seconds."""
        try:
            return self._done.get(timeout=seconds)
        except Empty:
            return None

    def workers(self) -> int:
        """Return the number of batches that are performed at a time, which is at least one."""
        if self._jobs is not None:
            return self._jobs
        now = time.monotonic()
        if self._count == 0 or now - self._counted > _COUNT_AGAIN_S:
            self._count = _workers(self._executor)
            self._counted = now
        return self._count


def _workers(executor: Executor) -> int:
    client: Any = getattr(executor, "_client", None)
    if callable(getattr(client, "nthreads", None)):
        # Dask returns the number of threads of each worker. The mapping is empty while a cluster has no workers.
        try:
            threads: dict[str, int] = client.nthreads()
        except Exception as error:
            _raise_explained(error)
        return max(1, sum(threads.values()))
    for name in ("num_workers", "_max_workers"):
        known = getattr(executor, name, None)
        if isinstance(known, int) and known > 0:
            return known
    return os.cpu_count() or 1


class _Pace:
    """Estimate of the workers' speed, in seconds per packet."""

    def __init__(self) -> None:
        self._seconds_per_packet: float | None = None

    def learn(self, packets: int, seconds: float) -> None:
        """Update the estimate with a batch of about ``packets`` packets that took ``seconds``."""
        new = seconds / packets
        old = self._seconds_per_packet
        self._seconds_per_packet = new if old is None else old + _NEWEST * (new - old)

    def packets(self) -> int:
        """Return the number of packets for the next batch."""
        if self._seconds_per_packet is None:
            return round(_FIRST_BATCH_S / _FIRST_SECONDS_PER_PACKET)
        # The minimum prevents an endless batch if the clock did not advance.
        return round(_BATCH_S / max(self._seconds_per_packet, 1e-9))


def _raise_explained(error: BaseException) -> NoReturn:
    """Raise the failure of a batch as an exception of dupack."""
    if isinstance(error, DupackError):
        raise error
    raise _explained(error) from error


def _explained(error: BaseException) -> WorkerError:
    kind = type(error)
    what = f"{kind.__qualname__}: {error}" if str(error) else kind.__qualname__
    if isinstance(error, BrokenExecutor):
        return WorkerError(
            f"a worker died and broke its executor: {what}",
            help="make a new executor; if this happens again, the worker may be out of memory",
        )
    if kind.__name__ == "KilledWorker":
        return WorkerError(
            f"workers died on the same batch: {what}",
            help="read the workers' logs; the workers may be out of memory",
        )
    if isinstance(error, (CancelledError, RuntimeError)) or kind.__name__ == "CancelledError":
        return WorkerError(
            f"the executor performs no more runs: {what}",
            help="it was shut down, or its work was cancelled: make a new executor",
        )
    if isinstance(error, (AttributeError, ImportError)):
        return WorkerError(
            f"a worker could not start: {what}",
            help="install this build of dupack and the modules it needs on the workers",
        )
    return WorkerError(f"a worker failed: {what}", help="read the workers' logs")
