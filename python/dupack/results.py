"""What came out of an experiment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import FolderError, Interrupted, WorkerError
from .table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._failures import Failure

__all__ = ["Results"]


class Results:
    """What came out of an experiment: every run, what the runs of a stack say together, and which
    stack to take.

    Intervals are those of 95 % confidence. Ratios are to the first stack, paired by seed.
    """

    __slots__ = ("_native", "failures")

    def __init__(self, native: _native.Results) -> None:
        self._native = native
        self.failures: list[Failure] = native.failures
        """Runs that an algorithm in Python has ended by an exception: each with its point, stack, seed, the
        simulated time, the exception and its traceback."""

    @property
    def stacks(self) -> list[str]:
        """The stacks, in their canonical spelling."""
        return self._native.stacks

    @property
    def planned(self) -> int:
        """How many runs there should have been."""
        return self._native.planned

    @property
    def missing(self) -> int:
        """How many of them are missing, because of an interruption or because they failed."""
        return self._native.missing

    @property
    def runs(self) -> Table:
        """A row per run: point, swept values, stack, seed, a column per measure, the hash of
        everything that happened."""
        return Table(self._native.table("runs"))

    @property
    def flows(self) -> Table:
        """A row per run and flow: its goodput in Mbit/s."""
        return Table(self._native.table("flows"))

    @property
    def summary(self) -> Table:
        """A row per point, stack and measure: mean, half the width of its interval, how many runs,
        and the ratio to the first stack with its interval."""
        return Table(self._native.table("summary"))

    @property
    def points(self) -> Table:
        """A row per point of the sweep: what is swept, as numbers in one unit."""
        return Table(self._native.table("points"))

    @property
    def verdicts(self) -> Table:
        """A row per point and stack: whether nothing else beats it, and what it costs."""
        return Table(self._native.table("verdicts"))

    @property
    def parameters(self) -> Table:
        """Every effective parameter, defaults included: owner, name, value, source."""
        return Table(self._native.table("parameters"))

    @property
    def notes(self) -> list[str]:
        """What there is to know before the numbers are used."""
        return self._native.notes

    def to_dict(self) -> dict[str, Any]:
        """Everything as ``results.json`` has it (``docs/results.md``)."""
        read: dict[str, Any] = json.loads(self._native.json())
        return read

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the report into a new folder: page, figures, tables, as ``dupack run`` does.

        Raises:
            FolderError: if the folder holds something, or cannot be written to.
        """
        self._native.write(Path(folder))

    def figures(self) -> dict[str, str]:
        """The figures of the report, by their names, as SVG."""
        return dict(self._native.figures())

    def plot(self, measure: str = "goodput", *, ax: Axes | None = None) -> Axes:
        """Plots a measure of every stack over the first swept key, with intervals; as bars where
        nothing is swept. ``measure`` is its name in :attr:`summary`, or how only this one begins.

        Returns:
            The axes of matplotlib.

        Raises:
            KeyError: if no run has the measure.
            ImportError: without matplotlib (``pip install 'dupack[plot]'``).
        """
        from .plot import results

        return results(self, measure, ax=ax)

    def heatmap(self, measure: str = "goodput", stack: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Plots a measure over the first two swept keys: of one stack, or which stack is best.

        Returns:
            The axes of matplotlib.
        """
        from .plot import heatmap

        return heatmap(self, measure, stack, ax=ax)

    def __str__(self) -> str:
        return self._native.text(None)

    def __repr__(self) -> str:
        done = self.planned - self.missing
        return f"<Results of {', '.join(self.stacks)}: {done} of {self.planned} runs>"

    def _repr_html_(self) -> str:
        from ._html import results

        return results(self)


def finished(native: _native.Results, by: BaseException | None) -> Results:
    """The results, if nothing ended the runs before all were done.

    Raises:
        BaseException: what did. It has the results of the runs that were finished, if it is one of ours.
    """
    results = Results(native)
    if by is None:
        return results
    if isinstance(by, KeyboardInterrupt):
        raise Interrupted(results) from by
    if isinstance(by, (FolderError, WorkerError)):
        by.results = results
    raise by
