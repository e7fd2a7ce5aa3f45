"""Tests of executors of `concurrent.futures`: the same numbers, few batches at a time, and no lost runs."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import dupack
import own
import pytest
from dupack import _native, _worker

Same = Callable[[Path, Path], None]


def processes(how: str, workers: int = 2, **more: Any) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context(how), **more)


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "spawn": lambda: processes("spawn"),
    "fork": lambda: processes("fork"),
}


@pytest.fixture(params=list(EXECUTORS))
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with EXECUTORS[request.param]() as executor:
        yield executor


def csv(results: dupack.Results) -> tuple[bytes, bytes]:
    return results._native.csv()


def test_the_folder_does_not_depend_on_the_executor(
    small: dupack.Experiment, executor: Executor, tmp_path: Path, same_folders: Same
) -> None:
    told: list[tuple[int, int]] = []
    ours = small.run(out=tmp_path / "ours", progress=False)
    theirs = small.run(
        executor=executor, out=tmp_path / "theirs", progress=lambda done, all: told.append((done, all))
    )
    assert csv(theirs) == csv(ours)
    assert list(theirs.runs["trace_hash"]) == list(ours.runs["trace_hash"])
    assert theirs.notes == ours.notes
    same_folders(tmp_path / "ours", tmp_path / "theirs")
    # Measuring harm needs additional runs.
    assert told[-1][0] == told[-1][1] > theirs.planned
    assert all(done <= all for done, all in told)


def test_a_precision_takes_more_seeds(small: dupack.Experiment) -> None:
    precise = small.replace(precision="10%", seeds_max=20)
    told: list[tuple[int, int]] = []
    with processes("spawn") as executor:
        theirs = precise.run(
            executor=executor, harm=False, progress=lambda done, all: told.append((done, all))
        )
    assert csv(theirs) == csv(precise.run(harm=False, progress=False))
    assert theirs.planned > precise.runs == told[0][1]
    assert told[-1] == (theirs.planned, theirs.planned)


class Watched(ThreadPoolExecutor):
    """Counts the batches in progress and the bytes of each submission."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.out = 0
        self.most = 0
        self.batches = 0
        self.bytes: list[int] = []
        self.lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with self.lock:
            self.out += 1
            self.batches += 1
            self.most = max(self.most, self.out)
            self.bytes.append(len(pickle.dumps(args)))
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(self._is_done)
        return future

    def _is_done(self, future: Future[Any]) -> None:
        with self.lock:
            self.out -= 1


def test_each_worker_has_a_few_batches_at_a_time() -> None:
    many = dupack.Experiment(
        stacks=["sack/reno", "rack/cubic"], path={"rate": "1Mbit/s", "loss": "1%"}, seeds=1000, duration="1s"
    )
    with Watched(3) as executor:
        results = many.run(executor=executor, harm=False, progress=False)
        assert results.missing == 0
        assert executor.most <= 3 * 2
        assert 3 * 2 <= executor.batches < 200
        # An order takes a few bytes per run.
        assert sum(executor.bytes) < executor.batches * 2000 + 2000 * 20
    with Watched(3) as executor:
        again = many.run(executor=executor, harm=False, progress=False, jobs=1)
        assert executor.most <= 2
    assert csv(again) == csv(results)


def test_batches_take_about_a_second() -> None:
    from dupack._executor import _Pace

    pace = _Pace()
    assert 100_000 < pace.packets() < 10_000_000
    pace.learn(1_000_000, 0.5)
    assert pace.packets() == 2_000_000
    # A single slow batch changes little.
    pace.learn(1_000_000, 1.0)
    assert 1_500_000 < pace.packets() < 2_000_000
    pace.learn(1, 0.0)
    for _ in range(200):
        pace.learn(1_000_000, 0.0)
    assert pace.packets() > 0


def test_a_worker_checks_the_experiment_once(small: dupack.Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = _worker._made

    def count(setup: bytes) -> _native.Plan:
        made.append(len(setup))
        return real(setup)

    monkeypatch.setattr(_worker, "_made", count)
    with Watched(2) as executor:
        small.replace(seeds=11).run(executor=executor, progress=False)
        # Threads share the plan of this process.
        assert (executor.batches > 2, made) == (True, [])
    _worker._plans.clear()
    setup = _worker.Setup(small.toml, "small", Path(), dupack.catalog, False)
    plan = small._checked(harm=False)
    key, blob = setup.packed(plan)
    assert _worker._plan(key, blob) is plan
    _worker._plans.clear()
    first = _worker._plan(key, blob)
    assert _worker._plan(key, blob) is first and len(made) == 1
    for other in range(10):
        _worker._remember(str(other), plan)
    assert len(_worker._plans) <= 4


class Restless(ThreadPoolExecutor):
    """Executor whose second batch is interrupted."""

    def __init__(self) -> None:
        super().__init__(1)
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        if self.calls == 2:
            future: Future[Any] = Future()
            future.set_exception(KeyboardInterrupt())
            return future
        return super().submit(fn, *args, **kwargs)


def test_other_workers_perform_the_runs_of_an_interrupted_one(small: dupack.Experiment) -> None:
    with Restless() as executor:
        theirs = small.run(executor=executor, progress=False)
    assert executor.calls > 2
    assert csv(theirs) == csv(small.run(progress=False))


def test_finished_runs_are_not_repeated(small: dupack.Experiment, tmp_path: Path, same_folders: Same) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, all: int) -> None:
        if done >= 10:
            raise Enough

    ours = small.run(out=tmp_path / "ours", progress=False)
    out = tmp_path / "theirs"
    with ThreadPoolExecutor(1) as executor, pytest.raises(Enough):
        small.run(executor=executor, out=out, progress=stop)
    kept = (out / "runs.jsonl").read_text().splitlines()
    assert len(kept) > 10
    with Watched(1) as executor:
        told: list[int] = []
        theirs = small.run(
            executor=executor, out=out, resume=True, progress=lambda done, all: told.append(done)
        )
        # Stored runs count as done from the start.
        assert told[-1] > len(told) and max(told) == told[-1]
    assert csv(theirs) == csv(ours)
    same_folders(tmp_path / "ours", out)


def die(call: Callable[..., Any], *args: Any) -> Any:
    """Call the function, or kill this process if the mark exists."""
    mark = Path(os.environ["DUPACK_TEST_MARK"])
    if mark.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return call(*args)


class Deadly(ProcessPoolExecutor):
    """Executor whose worker dies as soon as the mark exists."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(die, fn, *args, **kwargs)


def test_a_killed_worker_raises_with_a_way_to_resume(
    small: dupack.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, out = tmp_path / "mark", tmp_path / "out"
    monkeypatch.setenv("DUPACK_TEST_MARK", str(mark))

    def kill(done: int, all: int) -> None:
        if done >= 3:
            mark.touch()

    long = small.replace(seeds=10)
    with Deadly(1, mp_context=multiprocessing.get_context("fork")) as executor:
        with pytest.raises(dupack.errors.WorkerError, match="a worker died") as caught:
            long.run(executor=executor, out=out, progress=kill)
    error = caught.value
    assert error.help is not None and "resume=True" in error.help and repr(str(out)) in str(error)
    assert error.results is not None
    finished = len(error.results.runs)
    assert 0 < finished < long.runs
    # The exception is pickled without the results.
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with processes("spawn") as executor:
        theirs = long.run(executor=executor, out=out, resume=True, progress=False)
    assert csv(theirs) == csv(long.run(progress=False))
    assert not (out / "runs.jsonl").exists()


def test_without_a_folder_the_exception_has_the_finished_runs(
    small: dupack.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("DUPACK_TEST_MARK", str(mark))
    with Deadly(1, mp_context=multiprocessing.get_context("fork")) as executor:
        with pytest.raises(dupack.errors.WorkerError, match="keep them in a folder with out=") as caught:
            small.run(executor=executor, progress=lambda done, all: done > 3 and mark.touch())
    assert caught.value.results is not None and len(caught.value.results.runs) > 0


INTERRUPTED = """
import multiprocessing, os, signal, sys, threading
from concurrent.futures import ProcessPoolExecutor

import dupack


def main() -> None:
    experiment = dupack.Experiment(
        stacks=["sack/reno"], path={"rate": "5Mbit/s", "loss": "1%"}, seeds=20_000, duration="5s"
    )
    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))

    def press(done: int, all: int) -> None:
        if done > 0 and not pressed:
            pressed.append(done)
            # Like a terminal, to the whole process group.
            os.killpg(0, signal.SIGINT)

    pressed: list[int] = []
    try:
        experiment.run(executor=pool, out=sys.argv[1], progress=press, harm=False)
    except dupack.Interrupted as interrupted:
        done = interrupted.results
        print("interrupted", len(done.runs), done.planned, flush=True)


if __name__ == "__main__":
    main()
"""


def test_ctrl_c_keeps_finished_runs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, program, tmp_path / "out"],
        capture_output=True,
        text=True,
        timeout=300,
        start_new_session=True,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("interrupted")]
    assert said, done.stderr
    _, finished, planned = said[0].split()
    assert 0 < int(finished) < int(planned) == 20_000
    kept = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    # The first line of the journal names the engine.
    assert len(kept) == int(finished) + 1
    assert time.monotonic() - begin < 240


def other_version() -> None:
    """Make a worker report another build."""
    _native.engine = lambda: "0.0.1 0123456789abcdef"


def test_another_version_on_a_worker_is_refused(small: dupack.Experiment) -> None:
    with processes("spawn", 1, initializer=other_version) as executor:
        with pytest.raises(dupack.errors.WorkerError) as caught:
            small.run(executor=executor, progress=False)
    said = str(caught.value)
    assert "0.0.1 0123456789abcdef" in said and dupack.engine() in said
    assert "install the same build everywhere" in said


def test_an_executor_that_is_shut_down_is_reported(small: dupack.Experiment, tmp_path: Path) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(dupack.errors.WorkerError, match="shut down") as caught:
        small.run(executor=executor, out=tmp_path / "out", progress=False)
    assert caught.value.help is not None and "make a new executor" in caught.value.help
    with ThreadPoolExecutor(1) as new:
        results = small.run(executor=new, out=tmp_path / "out", resume=True, progress=False)
    assert results.missing == 0


def test_an_executor_that_is_shut_down_during_the_runs_is_reported(small: dupack.Experiment) -> None:
    executor = ThreadPoolExecutor(1)

    def shut(done: int, all: int) -> None:
        executor.shutdown(wait=False, cancel_futures=True)

    with pytest.raises(dupack.errors.WorkerError, match="performs no more runs") as caught:
        small.replace(seeds=20).run(executor=executor, progress=shut)
    executor.shutdown()
    assert caught.value.results is not None
    assert caught.value.results.missing > 0


@pytest.mark.parametrize("wrong", [3, "dask", object(), multiprocessing.get_context("spawn")])
def test_other_objects_than_executors_are_refused(small: dupack.Experiment, wrong: Any) -> None:
    with pytest.raises(TypeError, match="executor: expected an executor of concurrent.futures"):
        small.run(executor=wrong)


def test_a_file_that_a_worker_lacks_is_named(tmp_path: Path) -> None:
    trace = tmp_path / "here.trace"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 1000, 2)))
    experiment = dupack.Experiment(
        stacks=["sack/reno"], path={"trace": "here.trace", "delay": "10ms"}, seeds=2, duration="2s", folder=tmp_path
    )
    with processes("spawn", 1) as executor:
        theirs = experiment.run(executor=executor, progress=False)
        assert csv(theirs) == csv(experiment.run(progress=False))
    trace.unlink()
    with processes("spawn", 1) as executor:
        with pytest.raises(dupack.errors.WorkerError, match="cannot prepare the experiment") as caught:
            experiment.run(executor=executor, progress=False)
    assert "here.trace" in str(caught.value) and str(tmp_path) in str(caught.value)


# Algorithms in Python.


def in_python(small: dupack.Experiment, algorithm: type[Any], stack: str, **more: Any) -> dupack.Experiment:
    catalog = dupack.Catalog()
    catalog.register(algorithm)
    path = {"rate": "2Mbit/s", "delay": "20ms", "buffer": "20pkt", "loss": "2%"}
    fields: dict[str, Any] = {"stacks": ["sack/reno", stack], "seeds": 6, "duration": "5s", "path": path, **more}
    return dupack.Experiment(fields, catalog=catalog)


def test_algorithms_in_python_give_the_same_numbers_on_workers(small: dupack.Experiment, executor: Executor) -> None:
    class Here(own.Half):
        """Algorithm that is sent as code, because a worker cannot import its module."""

        name = "here"

    for algorithm, stack in ((own.Half, "sack/half"), (Here, "sack/here(increase=2)")):
        experiment = in_python(small, algorithm, stack)
        theirs = experiment.run(executor=executor, progress=False)
        ours = experiment.run(progress=False)
        assert csv(theirs) == csv(ours)
        assert list(theirs.runs["trace_hash"]) == list(ours.runs["trace_hash"])


def test_a_failure_on_a_worker_ends_only_its_run(small: dupack.Experiment, executor: Executor) -> None:
    class Sometimes(own.Half):
        name = "sometimes"

        def on_timeout(self, loss: Any) -> Any:
            raise ZeroDivisionError("once in a while")

    experiment = in_python(small, Sometimes, "sack/sometimes", sweep={"path.loss": ["0.1%", "20%"]})
    theirs = experiment.run(executor=executor, progress=False)
    ours = experiment.run(progress=False)
    told = [(run.point, run.stack, run.seed, run.time, run.place, run.purpose) for run in theirs.failures]
    assert told == [(run.point, run.stack, run.seed, run.time, run.place, run.purpose) for run in ours.failures]
    assert told and theirs.missing == ours.missing > 0
    assert csv(theirs) == csv(ours)
    assert isinstance(theirs.failures[0].error, ZeroDivisionError)
    assert "once in a while" in theirs.failures[0].traceback and "on_timeout" in theirs.failures[0].traceback


def test_a_class_that_cannot_be_sent_is_refused_before_any_run(small: dupack.Experiment) -> None:
    class Locked(own.Half):
        name = "locked"
        lock: ClassVar[Any] = threading.Lock()

    experiment = in_python(small, Locked, "sack/locked")
    with processes("spawn") as pool, pytest.raises(dupack.errors.AlgorithmError) as caught:
        experiment.run(executor=pool, progress=False)
    assert "Locked cannot be sent to workers" in str(caught.value)
    assert caught.value.help is not None and "locks" in caught.value.help
    # The class is not sent if no stack uses it.
    with processes("spawn") as pool:
        assert experiment.replace(stacks=["sack/reno"]).run(executor=pool, progress=False).missing == 0


def test_the_code_of_a_module_registered_with_cloudpickle_is_sent(
    small: dupack.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    (tmp_path / "of_mine.py").write_text("import own\nclass Mine(own.Half):\n    name = 'mine'\n")
    with monkeypatch.context() as here:
        here.syspath_prepend(str(tmp_path))
        import of_mine  # type: ignore[import-not-found]
    experiment = in_python(small, of_mine.Mine, "sack/mine")
    with processes("spawn", 1) as pool, pytest.raises(dupack.errors.WorkerError, match="of_mine.Mine"):
        experiment.run(executor=pool, progress=False)
    cloudpickle.register_pickle_by_value(of_mine)
    try:
        with processes("spawn", 1) as pool:
            theirs = experiment.run(executor=pool, progress=False)
    finally:
        cloudpickle.unregister_pickle_by_value(of_mine)
    assert csv(theirs) == csv(experiment.run(progress=False))
