"""Runs on executors of ``concurrent.futures``: process pools, threads, clusters.

The ledger (``_native.Ledger``) knows which runs are due and which are out, and keeps what is finished. Here
runs are put into batches of about a second, a few of them per worker are out at a time, and what comes back
is entered. A worker checks the experiment once, and then gets orders of a few bytes each.
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

# What a batch takes, about: a scheduler spends a millisecond on each, and after an interruption no more
# than this is lost.
_BATCH_S = 1.0
# Until it is known how fast the workers are, batches are shorter.
_FIRST_BATCH_S = 0.25
_FIRST_SECONDS_PER_PACKET = 0.3e-6
# How much the newest batch counts in what is known of the speed.
_NEWEST = 0.2
# One is worked on while the next is on its way. What is due is cut into at least as many parts.
_BATCHES_PER_WORKER = 2
# However short runs are, what comes back is a message of a few megabytes.
_RUNS_MAX = 10_000
# How often the bar is moved while nothing comes back.
_TICK_S = 0.1
# How long batches that are being worked on may take to come back after Ctrl-C or an error.
_GRACE_S = 2.0
# Clusters grow and shrink: how often workers are counted.
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
    """Does the runs of ``plan`` on the workers of ``executor``, which get ``setup``.

    Args:
        jobs: how many workers there are, if ``executor`` does not know it or is not to have all of them
            busy.

    Raises:
        TypeError: if ``executor`` is none.
        AlgorithmError: if an algorithm in Python cannot be sent to workers.
        WorkerError: if a worker, or the executor, cannot do its part. ``results`` has what is finished.
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
    help = "for example ProcessPoolExecutor() of concurrent.futures"
    if isinstance(executor, type) and issubclass(executor, Executor):
        raise TypeError(f"executor: expected an executor, and found its class; make one: {executor.__qualname__}()")
    if kind.__name__ == "Client" and hasattr(executor, "get_executor"):
        help = "Dask's client has one: executor=client.get_executor()"
    raise TypeError(
        f"executor: expected an executor of concurrent.futures, and found {kind.__module__}.{kind.__qualname__}; {help}"
    )


@dataclass(frozen=True)
class _Batch:
    """Runs that are out."""

    number: int
    runs: int
    packets: int


class _Foreman:
    """Keeps the workers busy until all is done."""

    def __init__(self, crew: _Crew, ledger: _native.Ledger, setup: tuple[str, bytes], bar: Bar) -> None:
        self._crew = crew
        self._ledger = ledger
        self._setup = setup
        self._bar = bar
        self._pace = _Pace()
        self._out: dict[Future[_Answer], _Batch] = {}
        self._failures: list[Failure] = []

    def work(self) -> BaseException | None:
        """Returns what ended it before all was done, or nothing."""
        try:
            while self._send():
                future = self._crew.next_done(_TICK_S)
                if future is not None:
                    self._take(future)
                self._bar(*self._ledger.told())
        except BaseException as by:
            try:
                self._wind_up()
            except BaseException:  # Ctrl-C once more: at once, then.
                self._abandon()
            return by
        return None

    def failures(self, plan: _native.Plan) -> list[Failure]:
        """The runs that an algorithm in Python has ended, in the order of points, stacks and seeds."""
        places = {stack: place for place, stack in enumerate(plan.stacks)}
        return sorted(
            self._failures,
            key=lambda run: (run.point, places.get(run.stack, 0), run.seed, run.purpose == "harm"),
        )

    def _send(self) -> bool:
        """Sends batches until enough are out. Returns whether any is."""
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
            # Somebody has interrupted that worker, not us.
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
        # What is not entered yet stays out, so that it is not lost if this is interrupted.
        del self._out[future]

    def _wind_up(self) -> None:
        """Calls back what is not begun, waits a little for the rest, and enters what is there."""
        # Executors begin the oldest first. Some let everything be called back, what is begun included.
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
    """An executor, and what there is to know of its workers."""

    def __init__(self, executor: Executor, jobs: int | None) -> None:
        self._executor = executor
        self._jobs = jobs
        self._done: SimpleQueue[Future[_Answer]] = SimpleQueue()
        self._count = 0
        self._counted = 0.0

    def submit(self, call: Callable[..., _Answer], *args: object) -> Future[_Answer]:
        """Sends it off; :meth:`next_done` gives its future when it is done."""
        try:
            future = self._executor.submit(call, *args)
        except Exception as error:
            _raise_explained(error)
        future.add_done_callback(self._done.put)
        return future

    def next_done(self, seconds: float) -> Future[_Answer] | None:
        """The next that is done, if it is within so much time."""
        try:
            return self._done.get(timeout=seconds)
        except Empty:
            return None

    def workers(self) -> int:
        """How many batches are worked on at a time, at least one."""
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
        # Dask: threads by worker; none yet, or none any more, while a cluster is getting its workers.
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
    """How fast workers are, in packets a second."""

    def __init__(self) -> None:
        self._seconds_per_packet: float | None = None

    def learn(self, packets: int, seconds: float) -> None:
        """A batch of about so many packets took so long."""
        new = seconds / packets
        old = self._seconds_per_packet
        self._seconds_per_packet = new if old is None else old + _NEWEST * (new - old)

    def packets(self) -> int:
        """How many make a batch."""
        if self._seconds_per_packet is None:
            return round(_FIRST_BATCH_S / _FIRST_SECONDS_PER_PACKET)
        # A clock that stands still makes no endless batch.
        return round(_BATCH_S / max(self._seconds_per_packet, 1e-9))


def _raise_explained(error: BaseException) -> NoReturn:
    """Raises what became of a batch that did not come back, as an exception of ours."""
    if isinstance(error, DupackError):
        raise error
    raise _explained(error) from error


def _explained(error: BaseException) -> WorkerError:
    kind = type(error)
    what = f"{kind.__qualname__}: {error}" if str(error) else kind.__qualname__
    if isinstance(error, BrokenExecutor):
        return WorkerError(
            f"a worker died, and its executor with it: {what}",
            help="make a new executor; if it happens again, the worker may have been out of memory",
        )
    if kind.__name__ == "KilledWorker":
        return WorkerError(
            f"workers died at the same batch: {what}",
            help="look at the workers' logs; they may have been out of memory",
        )
    if isinstance(error, (CancelledError, RuntimeError)) or kind.__name__ == "CancelledError":
        return WorkerError(
            f"the executor takes or does no more runs: {what}",
            help="it is shut down, or somebody cancelled its work: make a new executor",
        )
    if isinstance(error, (AttributeError, ImportError)):
        return WorkerError(
            f"a worker could not begin: {what}",
            help="install this build of dupack where the workers are, and the modules that it needs",
        )
    return WorkerError(f"a worker failed: {what}", help="look at the workers' logs")
