"""Tests of streamed experiments, whose runs are written to files as they finish."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import dupack
import pyarrow.parquet
import pytest


def test_a_stream_has_the_rows_of_the_runs(small: dupack.Experiment, tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    streamed = small.stream(tmp_path / "out", progress=lambda done, all: calls.append((done, all)))
    results = small.run(progress=False)
    assert [part.name for part in streamed.runs] == ["part-00001.parquet"]
    # A part has every column, because another part may have values in a column that is empty here.
    ours, theirs = (
        [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]
        for table in (pyarrow.parquet.read_table(streamed.runs[0]), results.runs.to_arrow())
    )
    assert ours == theirs and len(ours) == 12
    assert streamed.flows == []
    assert streamed.summary.read_bytes() == results._native.csv()[1]
    assert "12 runs at 2 point(s)" in str(streamed) and "1 file(s)" in repr(streamed)
    assert streamed.report.exists() and streamed.warnings == []
    assert calls[-1][0] == calls[-1][1] > 0


def test_a_csv_stream_equals_the_folder_of_the_command(
    small: dupack.Experiment,
    command: list[str],
    tmp_path: Path,
    same_folders: Callable[[Path, Path], None],
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small.toml)
    theirs = [*command, "run", str(file), "--stream", "--out", str(tmp_path / "theirs")]
    subprocess.run(theirs, check=True, capture_output=True)
    ours = dupack.Experiment.read(file).stream(tmp_path / "ours", parts="csv", progress=False)
    same_folders(ours.folder, tmp_path / "theirs")
    with ours.runs[0].open() as text:
        assert len(list(csv.DictReader(text))) == 12


def test_an_interrupted_stream_can_be_resumed(small: dupack.Experiment, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    long = small.replace(duration="200s")

    def stop(done: int, all: int) -> None:
        if done > 0:
            raise Enough

    with pytest.raises(Enough):
        long.stream(tmp_path / "out", progress=stop, jobs=1, harm=False)
    with pytest.raises(dupack.errors.FolderError, match="started for something else"):
        small.stream(tmp_path / "out", resume=True, progress=False, harm=False)
    with pytest.raises(dupack.errors.FolderError, match="started for something else"):
        long.stream(tmp_path / "out", resume=True, progress=False, parts="csv", harm=False)
    streamed = long.stream(tmp_path / "out", resume=True, progress=False, harm=False)
    whole = long.stream(tmp_path / "whole", progress=False, harm=False)
    assert streamed.runs[0].read_bytes() == whole.runs[0].read_bytes()
    assert streamed.summary.read_bytes() == whole.summary.read_bytes()
    again = long.stream(tmp_path / "out", resume=True, progress=False, harm=False)
    assert again.runs == streamed.runs


def test_impossible_streams_are_refused(small: dupack.Experiment, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(dupack.errors.FolderError, match="full"):
        small.stream(tmp_path / "full", progress=False)
    with pytest.raises(dupack.errors.FolderError, match="stream.json"):
        small.stream(tmp_path / "full", resume=True, progress=False)
    with pytest.raises(ValueError, match="'parquet' or 'csv'"):
        small.stream(tmp_path / "out", parts="feather", progress=False)
    with pytest.raises(TypeError, match="out"):
        small.stream(None, progress=False)  # type: ignore[arg-type]

    @dupack.register
    class Still(dupack.CongestionControl):
        name = "still"

        def on_ack(self, ack: object, credit: object, view: object) -> float:
            return 1e4

        def reduction(self, loss: object) -> float:
            return 1e4

        def on_timeout(self, loss: object) -> tuple[float, float]:
            return 1e4, 1e4

    own = small.replace(stacks=["sack/still"])
    with pytest.raises(dupack.ExperimentError, match="in Python") as refused:
        own.stream(tmp_path / "out", progress=False)
    assert "executor=" in str(refused.value)
    assert not (tmp_path / "out").exists()
