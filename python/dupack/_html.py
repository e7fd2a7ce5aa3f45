"""HTML for notebooks: tables with confidence intervals, a figure, and parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment
    from .results import Results
    from .table import Table

# Maximum number of rows of a table in a notebook.
_MOST_ROWS = 20
_MEASURES = ("goodput_mbit_s", "retransmitted_percent", "timeouts", "queueing_delay_p95_ms", "completion_s")


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{_cell(v)}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(of: Table) -> str:
    """Return the first rows of a table."""
    heads = [f"{name} ({unit})" if (unit := of.units[name]) else name for name in of.columns]
    rows = of.rows(_MOST_ROWS)
    left = len(of) - len(rows)
    more = f"<p>… and {left} more rows</p>" if left > 0 else ""
    return _table(heads, ([row[name] for name in of.columns] for row in rows)) + more


def parameters(of: Table) -> str:
    """Return the parameters as a collapsed table."""
    inside = _table(of.columns, ([row[name] for name in of.columns] for row in of.rows()))
    return f"<details><summary>Parameters ({len(of)})</summary>{inside}</details>"


def results(of: Results) -> str:
    """Return the means with their confidence intervals, a figure, the notes and the parameters."""
    rows = of.summary.rows()
    labels = {row["point"]: row["label"] for row in of.points.rows()}
    found = {row["measure"] for row in rows}
    shown = [measure for measure in _MEASURES if measure in found]
    units = {row["measure"]: row["unit"] for row in rows}
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        half = row["ci95_half_width"]
        mean = _cell(row["mean"])
        text = mean if half is None or math.isnan(half) else f"{mean} ± {half:.2g}"
        cells.setdefault((labels[row["point"]], row["stack"]), {})[row["measure"]] = text
    heads = ["point", "stack", *(f"{m} ({units[m]})" if units[m] else m for m in shown)]
    lines = [[*place, *(values.get(m) for m in shown)] for place, values in cells.items()]
    cut = f"<p>… and {len(lines) - 2 * _MOST_ROWS} more rows</p>" if len(lines) > 2 * _MOST_ROWS else ""
    figures = of.figures()
    figure = next((svg for name, svg in figures.items() if "goodput" in name), "") or next(iter(figures.values()), "")
    notes = "".join(f"<li>{escape(note)}</li>" for note in of.notes)
    return (
        f"<div>{_table(heads, lines[: 2 * _MOST_ROWS])}{cut}"
        f'<div style="max-width:48em">{figure}</div>'
        f"<ul>{notes}</ul>{parameters(of.parameters)}</div>"
    )


def experiment(of: Experiment) -> str:
    """Return the text of the experiment and its parameters."""
    return f"<div><pre>{escape(of.toml)}</pre>{parameters(of.parameters)}</div>"


def rows_table(heads: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return mappings as a table."""
    return _table(heads, ([row.get(name) for name in heads] for row in rows))
