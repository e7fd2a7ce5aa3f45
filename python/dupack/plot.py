"""Common figures by matplotlib. Each function returns the axes of its figure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .results import Results
    from ._trace import Trace

__all__ = ["heatmap", "results", "trace"]


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _rows(of: Results, measure: str) -> list[dict[str, Any]]:
    """Return the rows of a measure, given by its name or an unambiguous prefix."""
    rows = of.summary.rows()
    known = sorted({str(row["measure"]) for row in rows})
    meant = [name for name in known if name == measure] or [name for name in known if name.startswith(measure)]
    if len(meant) != 1:
        raise KeyError(f"no run has the measure {measure!r}; measures are {', '.join(known)}")
    return [row for row in rows if row["measure"] == meant[0]]


def _swept(of: Results) -> list[str]:
    """Return the names of the swept columns, numbers first."""
    points = of.points
    keys = [name for name in points.columns if name not in ("point", "label")]
    return sorted(keys, key=lambda key: points[key].dtype == object)


def _named(key: str, unit: str) -> str:
    return f"{key} ({unit})" if unit else key


def results(of: Results, measure: str = "goodput", *, ax: Axes | None = None) -> Axes:
    """Plot a measure of every stack over the first swept key, with 95 % confidence intervals.

    If several keys are swept, the other keys have their first value. Without a sweep, the plot has bars.

    Raises:
        KeyError: if no run has the measure.
    """
    rows = _rows(of, measure)
    axes = _axes(ax)
    unit = str(rows[0]["unit"])
    keys = _swept(of)
    if not keys:
        _bars(axes, rows)
        axes.set_xlabel(_named(rows[0]["measure"], unit))
        return axes
    key, others = keys[0], keys[1:]
    points = of.points.rows()
    fixed = {other: points[0][other] for other in others}
    places = {p["point"]: p[key] for p in points if all(p[o] == v for o, v in fixed.items())}
    for stack in of.stacks:
        own = [row for row in rows if row["stack"] == stack and row["point"] in places]
        x = [places[row["point"]] for row in own]
        y = [row["mean"] for row in own]
        # A missing interval has no error bar.
        half = [0.0 if _absent(row["ci95_half_width"]) else row["ci95_half_width"] for row in own]
        axes.errorbar(x, y, yerr=half, marker="o", markersize=3, capsize=2, label=stack)
    axes.set_xlabel(_named(key, of.points.units[key]))
    axes.set_ylabel(_named(rows[0]["measure"], unit))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.legend(fontsize="small")
    if fixed:
        axes.set_title(", ".join(f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in fixed.items()), fontsize="small")
    return axes


def _absent(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _bars(axes: Axes, rows: Iterable[dict[str, Any]]) -> None:
    own = list(rows)
    names = [str(row["stack"]) for row in own]
    half = [0.0 if _absent(row["ci95_half_width"]) else row["ci95_half_width"] for row in own]
    axes.barh(names, [row["mean"] for row in own], xerr=half, capsize=2)
    axes.invert_yaxis()


def heatmap(of: Results, measure: str = "goodput", stack: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Plot a measure of ``stack``, by default of the first stack, over the first two swept keys.

    Raises:
        KeyError: if no run has the measure, or the stack does not exist.
        ValueError: if fewer than two keys are swept.
    """
    rows = _rows(of, measure)
    chosen = of.stacks[0] if stack is None else stack
    if chosen not in of.stacks:
        raise KeyError(f"unknown stack {chosen!r}; stacks are {', '.join(of.stacks)}")
    keys = _swept(of)
    if len(keys) < 2:
        raise ValueError(f"a heat map needs two swept keys, found {len(keys)}: plot() draws lines")
    points = {p["point"]: p for p in of.points.rows()}
    xs = sorted({p[keys[0]] for p in points.values()})
    ys = sorted({p[keys[1]] for p in points.values()})
    grid = np.full((len(ys), len(xs)), np.nan)
    for row in rows:
        place = points[row["point"]]
        if row["stack"] == chosen:
            grid[ys.index(place[keys[1]]), xs.index(place[keys[0]])] = row["mean"]
    axes = _axes(ax)
    image = axes.imshow(grid, origin="lower", aspect="auto")
    axes.set_xticks(range(len(xs)), [f"{x:g}" if isinstance(x, float) else str(x) for x in xs])
    axes.set_yticks(range(len(ys)), [f"{y:g}" if isinstance(y, float) else str(y) for y in ys])
    axes.set_xlabel(_named(keys[0], of.points.units[keys[0]]))
    axes.set_ylabel(_named(keys[1], of.points.units[keys[1]]))
    figure = axes.get_figure()
    if figure is not None:
        figure.colorbar(image, ax=axes, label=f"{_named(rows[0]['measure'], str(rows[0]['unit']))}, {chosen}")
    return axes


def trace(of: Trace, *, ax: Axes | None = None) -> Axes:
    """Plot packet numbers over time: sent, retransmitted, lost, and acknowledged."""
    axes = _axes(ax)
    packets = of.packets
    event, time, number = packets["event"], packets["time_s"], packets["packet"]
    sent, again = event == "send", event == "retransmit"
    lost = np.array([str(word).startswith("dropped") for word in packets["fate"]])
    axes.plot(time[sent], number[sent], "|", color="tab:blue", label="sent")
    axes.plot(time[again], number[again], "x", color="tab:red", markersize=4, label="retransmitted")
    axes.plot(time[lost], number[lost], "v", color="black", markersize=4, label="lost")
    acks = event == "ack"
    axes.step(time[acks], number[acks], where="post", color="tab:green", label="acknowledged")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("packet")
    axes.set_title(of.stack, fontsize="small")
    axes.legend(fontsize="small")
    return axes
