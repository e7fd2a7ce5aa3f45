"""Experiments: stacks on a path, with a sweep and seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _how, _native
from ._progress import Bar
from ._fields import as_json, set_inside
from ._catalog import Catalog, catalog as _the_catalog
from .errors import ExperimentError
from .results import Results, finished
from .streamed import Streamed, ended
from .table import Table

if TYPE_CHECKING:
    from ._trace import Trace

__all__ = ["Experiment", "compare", "run", "schema"]

Value = object
"""Value of a field: text, a number, a bool, a list, or a mapping."""


class Experiment:
    """An experiment, which is checked when it is created.

    The fields are those of an experiment file (``docs/experiments.md``, :func:`schema`). Quantities
    are text with a unit.

    >>> experiment = Experiment(
    ...     stacks=["sack/reno", "rack/cubic"],
    ...     path={"rate": "10Mbit/s", "delay": "20ms", "buffer": "50pkt"},
    ...     sweep={"path.loss": ["0%", "1%"]},
    ...     seeds=3,
    ...     duration="10s",
    ... )
    >>> experiment.runs
    12
    >>> Experiment(stacks=["sack/reno"], path={"rate": "10Mbit"})
    Traceback (most recent call last):
      ...
    dupack.errors.ExperimentError: path.rate: ...

    Args:
        fields: the fields of the experiment, as one mapping, as keywords, or both.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.
        folder: folder to which paths in the experiment are relative, such as those of recorded traces.
        name: name of the experiment in messages.

    Raises:
        ExperimentError: if the experiment is invalid. ``field`` names the invalid value.
    """

    __slots__ = ("_catalog", "_folder", "_name", "_plan", "_text")

    def __init__(
        self,
        fields: Mapping[str, Value] | None = None,
        /,
        *,
        catalog: Catalog | None = None,
        folder: str | os.PathLike[str] = "",
        name: str = "experiment",
        **keywords: Value,
    ) -> None:
        merged: dict[str, Any] = {**(fields or {}), **keywords}
        self._set(_native.to_toml(as_json(merged)), name, Path(folder), catalog)

    def _set(self, text: str, name: str, folder: Path, catalog: Catalog | None) -> None:
        self._text = text
        self._name = name
        self._folder = folder
        if catalog is not None and not isinstance(catalog, Catalog):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"catalog: expected a dupack.Catalog, found {catalog!r}")
        self._catalog = _the_catalog if catalog is None else catalog
        self._plan: dict[bool, _native.Plan] = {}
        self._checked(harm=False)

    def _checked(self, *, harm: bool) -> _native.Plan:
        if harm not in self._plan:
            native = self._catalog._native
            self._plan[harm] = _native.Plan(self._text, self._name, self._folder, native, harm)
        return self._plan[harm]

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        catalog: Catalog | None = None,
        folder: str | os.PathLike[str] = "",
        name: str = "experiment",
    ) -> Experiment:
        """Create an experiment from the text of a TOML file.

        Raises:
            ExperimentError: if the experiment is invalid.
        """
        self = cls.__new__(cls)
        self._set(text, name, Path(folder), catalog)
        return self

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, catalog: Catalog | None = None) -> Experiment:
        """Read an experiment from a TOML file.

        Raises:
            ExperimentError: if the file cannot be read, or the experiment is invalid.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ExperimentError(
                f"cannot read {os.fspath(path)}: {error}",
                help="name a TOML file as described in docs/experiments.md",
                file=os.fspath(path),
            ) from error
        return cls.from_toml(text, catalog=catalog, folder=Path(path).parent, name=os.fspath(path))

    @property
    def toml(self) -> str:
        """The text of the experiment file."""
        return self._text

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as they were given."""
        fields: dict[str, Any] = json.loads(_native.from_toml(self._text))
        return fields

    def replace(self, fields: Mapping[str, Value] | None = None, /, **keywords: Value) -> Experiment:
        """Return a copy in which some fields are replaced. Dots in a key separate nested fields.

        >>> base = Experiment(stacks=["sack/reno"], path={"rate": "1Mbit/s"})
        >>> base.replace({"path.rate": "2Mbit/s"}, seeds=5).fields["path"]
        {'rate': '2Mbit/s'}
        """
        merged = self.fields
        for key, value in {**(fields or {}), **keywords}.items():
            set_inside(merged, key, value)
        return Experiment(merged, catalog=self._catalog, folder=self._folder, name=self._name)

    @property
    def stacks(self) -> list[str]:
        """The stacks, in their canonical spelling."""
        return self._checked(harm=False).stacks

    @property
    def points(self) -> list[str]:
        """The points of the sweep, in words."""
        return self._checked(harm=False).points

    @property
    def runs(self) -> int:
        """The number of runs, without the runs that ``precision`` may add and the runs that measure harm."""
        return self._checked(harm=False).runs

    @property
    def warnings(self) -> list[str]:
        """Pairs of settings that contradict each other."""
        return self._checked(harm=False).warnings

    @property
    def parameters(self) -> Table:
        """Table of all effective parameters, including defaults: owner, name, value, source."""
        return Table(self._checked(harm=False).table("parameters"))

    def run(
        self,
        *,
        jobs: int | None = None,
        harm: bool = True,
        out: str | os.PathLike[str] | None = None,
        resume: bool = False,
        executor: Executor | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> Results:
        """Perform all runs, and return the results.

        The runs do not hold the interpreter's lock, unless the experiment uses an algorithm in Python.

        Args:
            jobs: number of runs at a time; by default one per processor. With an ``executor``, the number of
                workers to keep busy; by default all workers that the executor reports.
            harm: also measure how much goodput a standing flow loses if it competes with each stack. This needs
                additional runs.
            out: a new or empty folder for the files that ``dupack run`` writes. Each finished run is stored
                there at once.
            resume: continue an interrupted run from its folder ``out``.
            executor: executor that performs the runs, instead of threads of this process. Any executor of
                ``concurrent.futures`` is possible, such as a process pool or ``Client.get_executor()`` of Dask.
                The results are the same (``docs/clusters.md``).
            progress: ``True`` for a progress bar, ``False`` for no bar, or a function that is called with
                ``(done, all)``; by default, there is a bar in a terminal or a notebook.

        Raises:
            Interrupted: on Ctrl-C, with the results of the finished runs.
            FolderError: if the folder cannot be written to. Its ``results`` have the finished runs.
            WorkerError: if a worker of ``executor`` ended unexpectedly, or runs a different build of dupack.
        """
        at_a_time, folder = _how.jobs(jobs), _how.folder(out, resume)
        plan = self._checked(harm=harm)
        if executor is not None:
            from ._executor import run_with
            from ._worker import Setup

            setup = Setup(self._text, self._name, self._folder, self._catalog, harm)
            return run_with(executor, plan, setup, jobs=at_a_time, out=folder, resume=resume, progress=progress)
        with Bar(progress, self._name) as bar:
            native, by = plan.run(at_a_time or 0, bar, folder, resume)
        return finished(native, by)

    def stream(
        self,
        out: str | os.PathLike[str],
        *,
        jobs: int | None = None,
        harm: bool = True,
        resume: bool = False,
        parts: str | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> Streamed:
        """Perform all runs of an experiment that has more runs than fit into memory.

        Runs are written to files, part by part, as they finish (``docs/streaming.md``).

        Args:
            out: a new or empty folder for the files that ``dupack run --stream`` writes.
            jobs: as in :meth:`run`.
            harm: as in :meth:`run`.
            resume: continue with the first part that is missing or incomplete.
            parts: format of the files with runs, ``"parquet"`` or ``"csv"``; by default Parquet, or with
                ``resume`` the format of the existing files.
            progress: as in :meth:`run`.

        Raises:
            Interrupted: on Ctrl-C. Finished parts are kept.
            FolderError: if the folder cannot be written to, or contains other files.
            ExperimentError: if the experiment uses an algorithm in Python.
        """
        at_a_time, kind = _how.jobs(jobs), _how.parts(parts)
        folder = _how.folder(out, resume)
        if folder is None:
            raise TypeError("out: expected the path of a folder, found None")
        with Bar(progress, self._name) as bar:
            native, by = self._checked(harm=harm).stream(folder, at_a_time or 0, bar, resume, kind)
        return ended(folder, native, by)

    def trace(
        self,
        stack: str | None = None,
        *,
        point: int = 0,
        seed: int | None = None,
        flow: int | None = None,
    ) -> Trace:
        """Trace a flow packet by packet.

        The default is the first flow of the first stack at the first point with the first seed.

        Raises:
            ExperimentError: if the stack, point or flow does not exist.
        """
        from ._trace import follow

        return follow(self, stack, point=point, seed=seed, flow=flow)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and (self._text, self._folder) == (other._text, other._folder)

    def __hash__(self) -> int:
        return hash((self._text, self._folder))

    def __repr__(self) -> str:
        stacks = ", ".join(self.stacks)
        return f"<Experiment {self._name!r}: {stacks}; {len(self.points)} point(s), {self.runs} runs>"

    def _repr_html_(self) -> str:
        from ._html import experiment

        return experiment(self)

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = {"text": self._text, "name": self._name, "folder": self._folder}
        if self._catalog is not _the_catalog:
            state["catalog"] = self._catalog
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["text"], state["name"], state["folder"], state.get("catalog"))


def run(path: str | os.PathLike[str], **how: Any) -> Results:
    """Run an experiment file, as ``dupack run`` does: ``Experiment.read(path).run(**how)``."""
    return Experiment.read(path).run(**how)


def compare(
    stacks: Sequence[str] | None = None,
    *,
    rate: str = "10Mbit/s",
    delay: str = "20ms",
    buffer: str | None = None,
    loss: str | Sequence[str] = ("0%", "0.5%", "1%", "2%", "5%"),
    ack_loss: str = "0%",
    trace: str | os.PathLike[str] | None = None,
    trace_up: str | os.PathLike[str] | None = None,
    delayed_ack: str | None = None,
    dialect: str = "linux",
    seeds: int = 10,
    precision: str | None = None,
    seeds_max: int | None = None,
    duration: str = "60s",
    flows: int = 1,
    segment: str | None = None,
    processing_jitter: str | None = None,
    catalog: Catalog | None = None,
    **how: Any,
) -> Results:
    """Compare stacks on a path, as ``dupack compare`` does, with the same defaults.

    Args:
        stacks: stacks ``recovery/control[/lda/response]``; the first one is the baseline. By default the stacks of
            ``dupack compare``.
        rate: rate of the bottleneck, such as ``"10Mbit/s"``.
        delay: one-way propagation delay from end to end.
        buffer: buffer of the bottleneck, in packets, bytes or bandwidth-delay products (``"0.5bdp"``); by default
            one bandwidth-delay product, but at least 10 packets.
        loss: loss probability of data packets. If there are several, each is a point of the sweep.
        ack_loss: loss probability of ACKs.
        trace: recorded delivery opportunities in Mahimahi's format, instead of a rate.
        trace_up: recorded delivery opportunities for ACKs; by default ``trace``.
        delayed_ack: timeout of delayed ACKs; by default every segment is acknowledged.
        dialect: rules that the endpoints follow where TCPs differ: ``rfc``, ``linux``, ``ns2``.
        seeds: number of seeds per stack and point.
        precision: add seeds until half the 95 % confidence interval of every mean goodput is at most this share
            of the mean.
        seeds_max: maximum number of seeds with ``precision``.
        duration: simulated time of a run.
        flows: number of flows of the same stack that share the bottleneck.
        segment: payload of a full segment, such as ``"1448B"``.
        processing_jitter: maximum time that a sender's host takes to process an ACK. Each time is random. By default,
            the maximum is the transmission time of a packet at the bottleneck if several flows share it.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.
        how: arguments of :meth:`Experiment.run`.
    """
    losses = [loss] if isinstance(loss, str) else list(loss)
    if not losses:
        raise ExperimentError("no loss rate is given", field="path.loss", help='for example loss="1%", or loss=["0%", "1%"]')
    path: dict[str, Value] = {"delay": delay} if buffer is None else {"delay": delay, "buffer": buffer}
    if trace is None:
        path["rate"] = rate
    else:
        path["trace"] = os.path.abspath(trace)
    if trace_up is not None or ack_loss != "0%":
        path["reverse"] = {
            "loss": ack_loss,
            "trace": None if trace_up is None else os.path.abspath(trace_up),
        }
    if len(losses) == 1:
        path["loss"] = losses[0]
    experiment = Experiment(
        title="Which sender should this path have?",
        stacks=_native.default_stacks() if stacks is None else list(stacks),
        dialect=dialect,
        seeds=seeds,
        precision=precision,
        seeds_max=seeds_max,
        duration=duration,
        starts="drawn",
        processing_jitter=processing_jitter,
        path=path,
        sender=None if segment is None else {"segment": segment},
        receiver=None if delayed_ack is None else {"delayed_ack": delayed_ack},
        flows=[{"count": flows}] if flows != 1 else None,
        sweep={"path.loss": losses} if len(losses) > 1 else None,
        catalog=catalog,
        name="compare",
    )
    return experiment.run(**how)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of experiments."""
    read: dict[str, Any] = json.loads(_native.schema())
    return read
