"""Results of an experiment."""

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
    """Results of an experiment: every run, a summary per stack, and verdicts on the stacks.

    Intervals are 95 % confidence intervals. Ratios compare a stack with the first stack, paired by seed.
    """

    __slots__ = ("_native", "failures")

    def __init__(self, native: _native.Results) -> None:
        self._native = native
        self.failures: list[Failure] = native.failures
        """Runs that failed because of an exception in an algorithm in Python.

        Each failure has the point, the stack, the seed, the simulated time, the exception and its traceback.
        """

    @property
    def stacks(self) -> list[str]:
        """The stacks, in their canonical spelling."""
        return self._native.stacks

    @property
    def planned(self) -> int:
        """The number of planned runs."""
        return self._native.planned

    @property
    def missing(self) -> int:
        """The number of planned runs that are missing, because of an interruption or a failure."""
        return self._native.missing

    @property
    def runs(self) -> Table:
        """Table with a row per run: point, swept values, stack, seed, all measures, and the hash of the run's trace."""
        return Table(self._native.table("runs"))

    @property
    def flows(self) -> Table:
        """Table with a row per run and flow: the goodput of the flow in Mbit/s."""
        return Table(self._native.table("flows"))

    @property
    def summary(self) -> Table:
        """Table with a row per point, stack and measure.

        A row has the mean, the half-width of its interval, the number of runs, and the ratio to the first stack
        with the interval of this ratio.
        """
        return Table(self._native.table("summary"))

    @property
    def points(self) -> Table:
        """Table with a row per point of the sweep: the swept values, as numbers in one unit per column."""
        return Table(self._native.table("points"))

    @property
    def verdicts(self) -> Table:
        """Table with a row per point and stack: its costs, and a flag that is set if another stack is better."""
        return Table(self._native.table("verdicts"))

    @property
    def parameters(self) -> Table:
        """Table of all effective parameters, including defaults: owner, name, value, source."""
        return Table(self._native.table("parameters"))

    @property
    def notes(self) -> list[str]:
        """Notes that should be read before the numbers are used."""
        return self._native.notes

    def to_dict(self) -> dict[str, Any]:
        """Return all results, as in ``results.json`` (``docs/results.md``)."""
        read: dict[str, Any] = json.loads(self._native.json())
        return read

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the report into a new folder, as ``dupack run`` does: page, figures and tables.

        Raises:
            FolderError: if the folder is not empty, or cannot be written to.
        """
        self._native.write(Path(folder))

    def figures(self) -> dict[str, str]:
        """Return the figures of the report as SVG, by name."""
        return dict(self._native.figures())

    def plot(self, measure: str = "goodput", *, ax: Axes | None = None) -> Axes:
        """Plot a measure of every stack over the first swept key, with intervals.

        Without a sweep, the plot has bars. ``measure`` is a name in :attr:`summary`, or an unambiguous prefix.

        Returns:
            The axes of matplotlib.

        Raises:
            KeyError: if no run has the measure.
            ImportError: if matplotlib is not installed (``pip install 'dupack[plot]'``).
        """
        from .plot import results

        return results(self, measure, ax=ax)

    def heatmap(self, measure: str = "goodput", stack: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Plot a measure of ``stack``, by default of the first stack, over the first two swept keys.

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
    """Return the results if ``by`` is ``None``.

    Raises:
        BaseException: the exception ``by`` that ended the runs early. An :class:`Interrupted`, :class:`FolderError` or
            :class:`WorkerError` has the results of the finished runs.
    """
    results = Results(native)
    if by is None:
        return results
    if isinstance(by, KeyboardInterrupt):
        raise Interrupted(results) from by
    if isinstance(by, (FolderError, WorkerError)):
        by.results = results
    raise by
