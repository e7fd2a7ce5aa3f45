"""Tests of creating, checking, running and interrupting experiments."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import dupack
import numpy as np
import pytest


def test_the_properties_of_an_experiment(small: dupack.Experiment) -> None:
    assert small.runs == 12
    assert small.stacks == ["sack/reno", "le/westwood"]
    assert small.fields["path"]["rate"] == "5Mbit/s"
    assert len(small.points) == 2
    again = dupack.Experiment.from_toml(small.toml)
    assert again == small and hash(again) == hash(small)
    assert again != small.replace(seeds=4)
    assert "12 runs" in repr(small)
    assert "<pre>" in small._repr_html_()


def test_parameters_are_listed_with_their_sources(small: dupack.Experiment) -> None:
    rows = small.parameters.rows()
    assert {"owner", "parameter", "value", "source"} <= set(rows[0])
    assert any(row["value"] == "5 Mbit/s" or "5" in row["value"] for row in rows)
    # Defaults are also listed, with their sources.
    assert any("RFC" in row["source"] for row in rows)


def test_numpy_values_are_accepted() -> None:
    experiment = dupack.Experiment(
        stacks=("sack/reno",),
        path={"rate": "1Mbit/s"},
        seeds=np.int64(2),
        sweep={"flows.0.count": np.array([1, 2])},
        flows=[{"count": 1}],
    )
    assert experiment.runs == 4


def test_replace_sets_nested_fields(small: dupack.Experiment) -> None:
    other = small.replace({"path.rate": "1Mbit/s"}, seeds=1)
    assert other.fields["path"]["rate"] == "1Mbit/s"
    assert small.fields["path"]["rate"] == "5Mbit/s"
    assert other.runs == 4
    listed = dupack.Experiment(stacks=["sack/reno"], path={"rate": "1Mbit/s"}, flows=[{"count": 1}])
    assert listed.replace({"flows.0.count": 3}).fields["flows"] == [{"count": 3}]


def test_numbers_do_not_depend_on_the_number_of_threads(small: dupack.Experiment) -> None:
    one = small.run(jobs=1, progress=False)
    two = small.run(jobs=2, progress=False)
    assert one._native.csv() == two._native.csv()
    assert list(one.runs["trace_hash"]) == list(two.runs["trace_hash"])


def test_an_experiment_can_be_pickled(small: dupack.Experiment) -> None:
    again = pickle.loads(pickle.dumps(small))
    assert again == small
    assert again.run(progress=False)._native.csv() == small.run(progress=False)._native.csv()


def test_progress_is_reported(small: dupack.Experiment) -> None:
    seen: list[tuple[int, int]] = []
    small.run(progress=lambda done, all: seen.append((done, all)), harm=False)
    assert seen[-1] == (12, 12)
    assert all(done <= all for done, all in seen)


def test_an_exception_in_the_progress_function_ends_the_runs(small: dupack.Experiment) -> None:
    def fail(done: int, all: int) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        small.replace(duration="2000s", seeds=20).run(progress=fail)


INTERRUPTED = """
import os, pathlib, signal, sys, threading, time
import dupack
experiment = dupack.Experiment(
    stacks=["sack/reno"], path={"rate": "50Mbit/s", "loss": "1%"}, seeds=200, duration="60s"
)
journal = pathlib.Path(sys.argv[1], "runs.jsonl")

def press():
    # The first line describes the runs.
    while not (journal.exists() and journal.read_text().count("\\n") > 1):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    experiment.run(out=sys.argv[1], progress=False, harm=False)
except dupack.Interrupted as interrupted:
    done = interrupted.results
    assert 0 < done.planned - done.missing < 200, done
    assert len(done.runs) == done.planned - done.missing
    print("interrupted", len(done.runs))
"""


def test_ctrl_c_keeps_finished_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "out")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("interrupted")
    kept = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    assert len(kept) > int(done.stdout.split()[1])


def test_an_interrupted_run_can_be_resumed(small: dupack.Experiment, tmp_path: Path) -> None:
    whole = small.run(progress=False)

    class Enough(Exception):
        pass

    long = small.replace(duration="300s")

    def stop(done: int, all: int) -> None:
        if done > 2:
            raise Enough

    with pytest.raises(Enough):
        long.run(out=tmp_path / "out", progress=stop, jobs=1)
    assert (tmp_path / "out" / "runs.jsonl").exists()
    with pytest.raises(dupack.errors.FolderError, match="another experiment"):
        small.run(out=tmp_path / "out", resume=True, progress=False)
    results = long.run(out=tmp_path / "out", resume=True, progress=False)
    assert results.missing == 0
    assert not (tmp_path / "out" / "runs.jsonl").exists()
    assert results._native.csv() == long.run(progress=False)._native.csv()
    assert results._native.csv() != whole._native.csv()


def test_the_interpreter_lock_is_free_during_a_run(small: dupack.Experiment) -> None:
    import threading
    import time

    beats: list[float] = []
    over = threading.Event()

    def beat() -> None:
        while not over.is_set():
            beats.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        small.replace(duration="200s").run(progress=False)
    finally:
        over.set()
        thread.join()
    gaps = np.diff(beats)
    assert len(beats) > 5
    assert np.median(gaps) < 0.1
