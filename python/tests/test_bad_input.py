"""Tests of invalid input. The exception names the place and the remedy, and no results are lost.

`test_executor.py` and `test_executor_dask.py` do the same for executors.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dupack
import numpy as np
import pytest
from dupack.errors import CaptureError, ExperimentError, FolderError, ScriptError, StackError

GOOD: dict[str, Any] = {
    "stacks": ["sack/reno"],
    "path": {"rate": "1Mbit/s", "delay": "10ms"},
    "seeds": 2,
    "duration": "2s",
}

Same = Callable[[Path, Path], None]


@dataclass
class Wrong:
    """Invalid fields, and the expected parts of the error: field, message and remedy."""

    fields: dict[str, Any]
    field: str | None
    says: str
    remedy: str

    @property
    def name(self) -> str:
        return re.sub(r"\W+", "_", f"{self.field}_{self.says}")


def endless() -> list[Any]:
    it: list[Any] = []
    it.append(it)
    return it


FIELDS = [
    # Quantities.
    Wrong({"path": {"rate": "10Mbit"}}, "path.rate", "10Mbit", "Mbit/s"),
    Wrong({"path": {"rate": "1Mbit/s", "delay": "20 parsecs"}}, "path.delay", "parsecs", "ms"),
    Wrong({"path": {"rate": 10}}, "path.rate", "10", "unit|Mbit/s"),
    Wrong({"path": {"rate": "-1Mbit/s"}}, "path.rate", "-1Mbit/s", "Mbit/s"),
    Wrong({"path": {"rate": "0Mbit/s"}}, "path.rate", "", "Mbit/s"),
    Wrong({"path": {"rate": ""}}, "path.rate", "", "Mbit/s"),
    Wrong({"path": {"rate": "1Mbit/s", "loss": "150%"}}, "path.loss", "150%", "%"),
    Wrong({"path": {"rate": "1Mbit/s", "loss": math.nan}}, "path.loss", "nan", "finite|unit"),
    Wrong({"path": {"rate": "1Mbit/s", "loss": np.float64("inf")}}, "path.loss", "inf", "finite|unit"),
    Wrong({"path": {"rate": "1Mbit/s", "buffer": "50"}}, "path.buffer", "50", "pkt"),
    Wrong({"duration": "0s"}, "duration", "", "60s|longer|above"),
    Wrong({"duration": "2s", "warm_up": "3s"}, "warm_up", "", "warm_up|shorter|duration"),
    # Python values that a file cannot contain.
    Wrong({"path": {"rate": {"1Mbit/s"}}}, "path.rate", "set", "text with its unit"),
    Wrong({"stacks": {"sack/reno"}}, "stacks", "set", "text with its unit|a list"),
    Wrong({"title": b"bytes"}, "title", "bytes", "text"),
    Wrong({"path": object()}, "path", "object", "a mapping"),
    Wrong({"seeds": 2**70}, "seeds", "", "seeds|2\\*\\*63|small"),
    Wrong({"stacks": endless()}, "stacks", "itself", "once"),
    Wrong({"title": "\ud800"}, "title", "surrogate", "text"),
    Wrong({"path": {1: "1Mbit/s"}}, "path.1", "1", "rate|text"),
    Wrong({"stacks": None}, None, "stacks", "stacks ="),
    # Keys.
    Wrong({"sedes": 3}, "sedes", "sedes", "did you mean the key `seeds`"),
    Wrong({"path": {"rate": "1Mbit/s", "dely": "1ms"}}, "path.dely", "dely", "did you mean the key `delay`"),
    Wrong({"flows": [{}, {"cuont": 2}]}, "flows.1.cuont", "cuont", "did you mean the key `count`"),
    # Stacks.
    Wrong({"stacks": ["sack/rena"]}, "stacks.0", "rena", "did you mean.*reno"),
    Wrong({"stacks": ["sack/reno", "sakc/reno"]}, "stacks.1", "sakc", "did you mean.*sack"),
    Wrong({"stacks": []}, "stacks", "", "sack/reno|stacks"),
    Wrong({"stacks": "sack/reno"}, "stacks", "", "list|sequence"),
    Wrong({"stacks": ["sack/reno", "sack/reno"]}, "stacks.1", "twice", "remove one of the two|once"),
    Wrong({"stacks": ["sack/reno(icw=x)"]}, "stacks.0", "icw", "parameter|did you mean"),
    # Seeds.
    Wrong({"seeds": 0}, "seeds", "no seed", "seeds = 10"),
    Wrong({"seeds": -1}, "seeds", "-1", "seeds|list"),
    Wrong({"seeds": 2.5}, "seeds", "2.5", "seeds|list|integer"),
    Wrong({"seeds": "three"}, "seeds", "three", "seeds|list|integer"),
    Wrong({"seeds": [1, 1]}, "seeds", "twice", "twice"),
    Wrong({"seeds": 10**6}, "seeds", "100000", "ten seeds are usual"),
    Wrong({"precision": "0%"}, "precision", "0%", "2%"),
    Wrong({"seeds_max": 20}, "seeds_max", "without `precision`", "add precision"),
    # Sweeps.
    Wrong({"sweep": {"path.los": ["1%"]}}, "path.los", "los", "did you mean the key `loss`"),
    Wrong({"sweep": {"path.loss": []}}, "sweep", "", "value|leave"),
    Wrong({"sweep": {"path.loss": "1%"}}, "sweep", "", "list|sequence"),
    Wrong({"sweep": {"path.loss": ["1%", "lots"]}}, "path.loss", "lots", "path.loss"),
    Wrong({"sweep": {"path.loss": ["1%", "1%"]}}, "path.loss", "twice", "remove one of the two"),
    Wrong({"sweep": {"seeds": [1, 2]}}, "seeds", "cannot be swept", "seeds"),
    Wrong(
        {"sweep": {f"path.{key}": [f"{n}{unit}" for n in range(1, 200)] for key, unit in [("delay", "ms"), ("buffer", "pkt"), ("rate", "Mbit/s")]}},
        "sweep",
        "7880599 points",
        "10000|reduce",
    ),
    # Files that the experiment names.
    Wrong({"path": {"trace": "nowhere.trace"}}, "path.trace", "nowhere.trace", "folder"),
]


@pytest.mark.parametrize("wrong", FIELDS, ids=[wrong.name for wrong in FIELDS])
def test_fields(wrong: Wrong) -> None:
    fields = {**GOOD, **wrong.fields}
    with pytest.raises(ExperimentError) as caught:
        dupack.Experiment(fields)
    error, said = caught.value, str(caught.value)
    if wrong.field is not None:
        assert error.field is not None and wrong.field in error.field.replace('"', ""), (error.field, said)
    assert wrong.says in said, said
    assert re.search(wrong.remedy, said), said
    assert isinstance(error, ValueError)
    assert "Traceback" not in said and "panicked" not in said


def text(path: Path) -> Path:
    path.write_text('stacks = ["sack/reno"]\nseeds = \n')
    return path


def empty(path: Path) -> Path:
    path.touch()
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def latin(path: Path) -> Path:
    path.write_bytes('title = "Verl\xfcste"\n'.encode("latin-1"))
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path, "No such file"),
        (folder, "directory"),
        (latin, "utf-8"),
        (text, "line 2"),
        (empty, "stacks"),
    ],
)
def test_files_of_experiments(make: Callable[[Path], Path], says: str, tmp_path: Path) -> None:
    path = make(tmp_path / "experiment.toml")
    with pytest.raises(ExperimentError) as caught:
        dupack.Experiment.read(path)
    assert caught.value.file == str(path)
    assert says in str(caught.value), caught.value
    with pytest.raises(ExperimentError):
        dupack.run(path)


@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        ({"jobs": 0}, ValueError, "jobs: .*1 or more.* 0"),
        ({"jobs": -3}, ValueError, "jobs: .*1 or more.* -3"),
        ({"jobs": "two"}, TypeError, "jobs: .*'two'"),
        ({"jobs": 1.5}, TypeError, "jobs: .*1.5"),
        ({"resume": True}, ValueError, "resume: .*out="),
        ({"out": 7}, TypeError, "out: .*7"),
        ({"out": "a\0b"}, FolderError, "a.*b"),
        ({"executor": ThreadPoolExecutor}, TypeError, r"executor: .*ThreadPoolExecutor\(\)"),
        ({"progress": "yes"}, TypeError, "progress: .*'yes'"),
        ({"sedes": 3}, TypeError, "sedes"),
    ],
)
def test_invalid_arguments_of_run(small: dupack.Experiment, how: dict[str, Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        small.run(**how)


def test_a_folder_that_is_not_empty(small: dupack.Experiment, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    with pytest.raises(FolderError, match=str(tmp_path)) as caught:
        small.run(out=tmp_path, progress=False)
    assert "never overwritten" in str(caught.value) and "out=" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"] and mine.read_text() == "mine"
    results = small.run(progress=False)
    with pytest.raises(FolderError, match="never overwritten"):
        results.write(tmp_path)
    results.write(tmp_path / "later")


def test_a_folder_that_is_a_file(small: dupack.Experiment, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(FolderError, match="file") as caught:
            small.run(out=out, progress=False)
        assert caught.value.help is not None and "out=" in caught.value.help
    assert (tmp_path / "file").read_text() == "mine"


NO_PERMISSION = """
import os, sys
import dupack
out = os.path.join(sys.argv[1], "closed", "out")
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    dupack.compare(["sack/reno"], loss="0%", seeds=1, duration="1s", out=out, harm=False, progress=False)
except dupack.errors.FolderError as error:
    print(error)
"""


def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", NO_PERMISSION, tmp_path], capture_output=True, text=True, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert "closed" in done.stdout and "ermission denied" in done.stdout and "out=" in done.stdout, done.stdout


FULL = """
import json, sys
from concurrent.futures import ThreadPoolExecutor

import dupack

out, how = sys.argv[1], sys.argv[2]
experiment = dupack.Experiment(
    stacks=["sack/reno", "le/westwood"], path={"rate": "1Mbit/s", "loss": "1%"}, seeds=200, duration="2s"
)
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    executor = ThreadPoolExecutor(2) if how == "executor" else None
    try:
        experiment.run(out=out, progress=False, harm=False, executor=executor)
    except dupack.errors.FolderError as error:
        results = error.results
        print(json.dumps({
            "said": str(error),
            "told": [str(warning.message) for warning in told],
            "finished": len(results.runs),
            "same": results._native.csv() == experiment.run(progress=False, harm=False)._native.csv(),
        }))
"""


@pytest.mark.parametrize("how", ["threads", "executor"])
def test_a_disk_that_is_full(how: str, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    inside = f'mount -t tmpfs -o size=64k none "{small}" && exec "$@"'
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user", "--user"])]
    try:
        subprocess.run([*alone, "sh", "-ec", inside, "sh", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("*** cannot mount a file system here: a full disk is not tested")
    done = subprocess.run(
        [*alone, "sh", "-ec", inside, "sh", sys.executable, "-c", FULL, small / "out", how],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # There is one warning as soon as the disk is full, and the runs continue.
    assert any("make room" in told or "the runs continue" in told for told in found["told"]), found
    assert sum("the runs continue" in told for told in found["told"]) == 1, found
    # At the end, there is no space for the report, either. The exception has the computed results.
    assert "No space left" in found["said"] and "make room" in found["said"], found
    assert str(small) in found["said"]
    assert (found["finished"], found["same"]) == (400, True)


class Enough(Exception):
    pass


def begun(experiment: dupack.Experiment, out: Path) -> None:
    """Leave an interrupted run in `out`."""

    def stop(done: int, all: int) -> None:
        if done > 4:
            raise Enough

    with pytest.raises(Enough):
        experiment.run(out=out, progress=stop, jobs=1)
    assert (out / "runs.jsonl").exists()


@pytest.fixture
def longer(small: dupack.Experiment) -> dupack.Experiment:
    """An experiment that takes long enough to be interrupted."""
    return small.replace(duration="150s")


def test_a_changed_experiment_cannot_resume(longer: dupack.Experiment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    begun(longer, out)
    kept = (out / "runs.jsonl").read_bytes()
    other = longer.replace({"path.rate": "6Mbit/s"})
    with pytest.raises(FolderError, match="path.rate") as caught:
        other.run(out=out, resume=True, progress=False)
    assert '"6Mbit/s", and was "5Mbit/s"' in str(caught.value)
    # A new run also rejects the folder. The message describes the contents of the folder.
    with pytest.raises(FolderError, match="resume=True"):
        longer.run(out=out, progress=False)
    assert (out / "runs.jsonl").read_bytes() == kept


def test_a_torn_journal_loses_only_the_torn_lines(longer: dupack.Experiment, tmp_path: Path, same_folders: Same) -> None:
    out = tmp_path / "out"
    begun(longer, out)
    journal = out / "runs.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], b"{nonsense}\n", *lines[2:-1], lines[-1][:40]]))
    with pytest.warns(UserWarning, match=r"2 incomplete or unreadable line\(s\): these runs are repeated"):
        results = longer.run(out=out, resume=True, progress=False)
    longer.run(out=tmp_path / "whole", progress=False)
    assert results.missing == 0
    same_folders(tmp_path / "whole", out)


def test_a_folder_with_nothing_to_resume(small: dupack.Experiment, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "letter.txt").write_text("x")
    for out in (theirs, tmp_path / "nowhere"):
        with pytest.raises(FolderError, match=str(out)) as caught:
            small.run(out=out, resume=True, progress=False)
        assert "there is no experiment to resume" in str(caught.value)
        assert caught.value.help is not None
    done = tmp_path / "done"
    small.run(out=done, progress=False)
    with pytest.raises(FolderError, match="nothing to resume"):
        small.run(out=done, resume=True, progress=False)


@pytest.mark.parametrize(
    ("ask", "kind", "says"),
    [
        (lambda: dupack.stacks("cubik"), StackError, "cubik.*did you mean `cubic`"),
        (lambda: dupack.catalog.algorithms("nothing like it"), StackError, r"dupack.stacks\(\) lists all"),
        (lambda: dupack.catalog.canonical("sack/rena"), StackError, "rena.*reno"),
        (lambda: dupack.catalog.canonical(""), StackError, ""),
        (lambda: dupack.deployment("sakc/reno"), StackError, "sakc.*sack"),
        (lambda: dupack.Experiment(GOOD, catalog="builtin"), TypeError, "catalog: .*Catalog.*'builtin'"),
        (lambda: dupack.compare(loss=()), ExperimentError, "loss"),
        (lambda: dupack.compare(["sack/reno"], flows=0), ExperimentError, "flows"),
        (lambda: dupack.compare(["sack/reno"], trace="/nowhere.trace"), ExperimentError, "nowhere.trace"),
        (lambda: dupack.compare(["sack/reno"], dialect="bsd"), ExperimentError, "dialect.*rfc"),
        (lambda: dupack.Experiment(GOOD).trace("le/reno"), ExperimentError, "le/reno.*sack/reno"),
        (lambda: dupack.Experiment(GOOD).trace(point=5), ExperimentError, "point.*5"),
        (lambda: dupack.Experiment(GOOD).trace(flow=9), ExperimentError, "flow.*9"),
        (lambda: dupack.Experiment(GOOD).replace({"stacks.7": "le"}), ExperimentError, "stacks.7"),
        (lambda: dupack.Experiment(GOOD).replace({"seeds.x": 1}), ExperimentError, "seeds"),
        (lambda: dupack.diagnose("/nowhere.pcap"), CaptureError, "nowhere.pcap"),
        (lambda: dupack.diagnose("x", filter="host a.b"), CaptureError, "filter: column 6: .*names are not resolved"),
        (lambda: dupack.diagnose("x", since="noon"), CaptureError, "since: .*12:30:05"),
        (lambda: dupack.diagnose("x", since=2, until="1s"), CaptureError, "until is not later than since"),
        (lambda: dupack.script("/nowhere.pkt"), ScriptError, "nowhere.pkt"),
    ],
)
def test_invalid_arguments_of_functions(ask: Callable[[], object], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind) as caught:
        ask()
    assert re.search(says, str(caught.value), re.DOTALL), caught.value


def test_unknown_measures_columns_and_stacks(small: dupack.Experiment, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = small.run(harm=False, progress=False)
    with pytest.raises(KeyError, match="goodputt.*measures are.*goodput"):
        results.plot("goodputt")
    with pytest.raises(KeyError, match="unknown column 'goodputt'; columns are .*goodput"):
        results.runs["goodputt"]
    with pytest.raises((KeyError, ValueError), match="sack/rena"):
        results.heatmap(stack="sack/rena")


def test_an_existing_parquet_file_is_kept(small: dupack.Experiment, tmp_path: Path) -> None:
    there = tmp_path / "runs.parquet"
    there.write_text("mine")
    with pytest.raises(FolderError, match="runs.parquet"):
        small.parameters.write_parquet(there)
    assert there.read_text() == "mine"
