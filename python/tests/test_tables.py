"""Tests of tables, and of the libraries that read them."""

from __future__ import annotations

import math
from pathlib import Path

import dupack
import numpy as np
import pytest


@pytest.fixture(scope="module")
def results(small: dupack.Experiment) -> dupack.Results:
    return small.run(progress=False)


TABLES = ("runs", "flows", "summary", "points", "verdicts", "parameters")


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_description(results: dupack.Results, name: str) -> None:
    table = getattr(results, name)
    assert len(table) > 0
    assert set(table.units) == set(table.columns) == set(table.descriptions)
    assert all(table.descriptions.values())


@pytest.mark.parametrize("name", TABLES)
def test_frames_have_the_same_values(results: dupack.Results, name: str) -> None:
    table = getattr(results, name)
    pandas, polars, arrow = table.to_pandas(), table.to_polars(), table.to_arrow()
    rows = table.rows()
    assert len(rows) == len(pandas) == len(polars) == arrow.num_rows
    assert list(pandas.columns) == polars.columns == arrow.column_names == table.columns
    assert polars.to_dicts() == rows
    assert arrow.to_pylist() == rows


def test_units_are_in_the_schema(results: dupack.Results) -> None:
    runs = results.runs
    assert runs.units["goodput_mbit_s"] == "Mbit/s"
    assert runs.units["path.loss"] == "%"
    assert runs.to_arrow().schema.field("goodput_mbit_s").metadata[b"unit"] == b"Mbit/s"
    assert runs.to_pandas().attrs["units"]["goodput_mbit_s"] == "Mbit/s"


def test_columns_are_numbers(results: dupack.Results) -> None:
    runs = results.runs
    assert runs["goodput_mbit_s"].dtype == np.float64
    assert runs["seed"].dtype == np.uint64
    assert sorted(set(runs["path.loss"])) == [0.0, 2.0]
    assert set(runs["stack"]) == {"sack/reno", "le/westwood"}
    with pytest.raises(KeyError, match="goodputt"):
        runs["goodputt"]


def test_duckdb_reads_tables(results: dupack.Results) -> None:
    duckdb = pytest.importorskip("duckdb")
    runs = results.runs.to_arrow()
    found = duckdb.sql("select stack, avg(goodput_mbit_s) as mean from runs group by stack order by stack").fetchall()
    means = {stack: np.mean(results.runs["goodput_mbit_s"][results.runs["stack"] == stack]) for stack in results.stacks}
    assert {stack: pytest.approx(mean) for stack, mean in found} == means


def test_parquet_reads_back(results: dupack.Results, tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "runs.parquet"
    results.runs.write_parquet(path)
    assert pl.read_parquet(path).to_dicts() == results.runs.rows()
    with pytest.raises(dupack.errors.FolderError, match="never overwritten"):
        results.runs.write_parquet(path)


def test_the_summary_agrees_with_the_runs(results: dupack.Results) -> None:
    for row in results.summary.rows():
        if row["measure"] != "goodput_mbit_s":
            continue
        runs = [
            run["goodput_mbit_s"]
            for run in results.runs.rows()
            if (run["stack"], run["point"]) == (row["stack"], row["point"])
        ]
        assert math.isclose(np.mean(runs), row["mean"], rel_tol=1e-12)
        assert row["runs"] == 3


def test_traces_are_columns() -> None:
    trace = dupack.trace("sack/reno", drop="10-12", duration="5s")
    packets = trace.packets
    assert packets.units["time_s"] == "s"
    assert np.all(np.diff(packets["time_s"]) >= 0)
    assert {"send", "retransmit", "drop", "ack"} <= set(packets["event"])
    frame = packets.to_polars()
    assert frame["sack_blocks"].list.len().max() >= 1
    assert trace.delivered_bytes > 0 and trace.stats["retransmissions"] >= 3


def test_figures_are_drawn(results: dupack.Results, small: dupack.Experiment) -> None:
    import matplotlib

    matplotlib.use("Agg")
    axes = results.plot("goodput")
    assert axes.get_xlabel() == "path.loss (%)" and axes.get_ylabel() == "goodput_mbit_s (Mbit/s)"
    assert len(axes.get_legend_handles_labels()[1]) == 2
    assert results.plot("queueing_delay_p95").get_ylabel() == "queueing_delay_p95_ms (ms)"
    with pytest.raises(KeyError, match="goodput"):
        results.plot("nonsense")
    with pytest.raises(ValueError, match="two swept keys"):
        results.heatmap()
    two = small.replace(sweep={"path.loss": ["0%", "2%"], "path.delay": ["5ms", "9ms"]}, seeds=1)
    found = two.run(progress=False, harm=False)
    assert found.heatmap("goodput", "le/westwood").get_title() is not None
    point = small.replace(sweep=None).run(progress=False, harm=False)
    assert point.plot("goodput").get_xlabel() == "goodput_mbit_s (Mbit/s)"
    assert dupack.trace("sack/reno", drop="10").plot().get_ylabel() == "packet"


def test_notebooks_show_tables(results: dupack.Results) -> None:
    html = results._repr_html_()
    assert "±" in html and "<svg" in html and "Parameters" in html
    assert "<table>" in results.runs._repr_html_()
    assert "&lt;" not in results.points._repr_html_()
