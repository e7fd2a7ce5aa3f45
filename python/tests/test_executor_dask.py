"""Tests of runs on a Dask cluster: a real scheduler and two worker processes, one of which is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import dupack
import pytest

distributed = pytest.importorskip("distributed", reason="*** Dask is not here: pip install 'dupack[dask]'")

Same = Callable[[Path, Path], None]


class Cluster:
    """A scheduler and workers as processes. Dead workers are not restarted, as on several machines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start("scheduler", "--port", "0", "--no-dashboard", "--no-show")
        self.workers = [self.worker(), self.worker()]

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "120")

    def start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{what}{len(self.processes)}.log").open("wb")
        call = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.file), "--host", "127.0.0.1"]
        process = subprocess.Popen([*call, *words], stdout=log, stderr=log, cwd=self.folder)
        self.processes.append(process)
        return process

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    end = time.monotonic() + 120
    while not cluster.file.exists():
        assert time.monotonic() < end, cluster.logs()
        time.sleep(0.1)
    with distributed.Client(scheduler_file=str(cluster.file), timeout=120) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


def csv(results: dupack.Results) -> tuple[bytes, bytes]:
    return results._native.csv()


def test_one_of_two_workers_is_killed_and_the_result_is_the_same(
    client: Any, cluster: Cluster, small: dupack.Experiment, tmp_path: Path, same_folders: Same
) -> None:
    long = small.replace(seeds=40, duration="20s")
    killed: list[int] = []

    def kill(done: int, all: int) -> None:
        if done >= all // 4 and not killed:
            killed.append(done)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    theirs = long.run(executor=client.get_executor(), out=tmp_path / "theirs", progress=kill)
    assert cluster.workers[0].wait(30) == -signal.SIGKILL
    assert 0 < killed[0] < theirs.planned, "the worker was killed after the last run"
    assert cluster.workers[1].poll() is None
    ours = long.run(out=tmp_path / "ours", progress=False)
    assert csv(theirs) == csv(ours)
    assert list(theirs.runs["trace_hash"]) == list(ours.runs["trace_hash"])
    same_folders(tmp_path / "ours", tmp_path / "theirs")


def test_a_late_worker_is_used(
    client: Any, cluster: Cluster, small: dupack.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dupack import _executor

    monkeypatch.setattr(_executor, "_COUNT_AGAIN_S", 0.0)
    crew = _executor._Crew(client.get_executor(), None)
    assert crew.workers() == 2
    cluster.worker()
    client.wait_for_workers(3, timeout=120)
    assert crew.workers() == 3
    theirs = small.run(executor=client.get_executor(), progress=False)
    assert csv(theirs) == csv(small.run(progress=False))


class Deadly(Executor):
    """Executor whose batches kill their workers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor: Executor = client.get_executor()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(os.abort)


def test_a_batch_that_kills_workers_is_reported(client: Any, small: dupack.Experiment) -> None:
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with pytest.raises(dupack.errors.WorkerError, match="workers died on the same batch") as caught:
        small.run(executor=Deadly(client), progress=False)
    assert caught.value.help is not None and "logs" in caught.value.help
    assert caught.value.results is not None and len(caught.value.results.runs) == 0


def test_a_client_is_not_an_executor(client: Any, small: dupack.Experiment) -> None:
    with pytest.raises(TypeError, match="client.get_executor"):
        small.run(executor=client)


def test_a_closed_client_is_reported(client: Any, small: dupack.Experiment, tmp_path: Path) -> None:
    executor = client.get_executor()
    client.close()
    with pytest.raises(dupack.errors.WorkerError) as caught:
        small.run(executor=executor, out=tmp_path / "out", progress=False)
    assert caught.value.help is not None and "resume=True" in caught.value.help
    assert small.run(out=tmp_path / "out", resume=True, progress=False).missing == 0
