"""Experiments: stacks on a path, over a sweep, with seeds."""

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
"""What a field takes: text, a number, a switch, a list, or a mapping."""


class Experiment:
    """An experiment, checked when it is made.

    The fields are those of an experiment file (``docs/experiments.md``, :func:`schema`); quantities
    are text with their unit.

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
        fields: the experiment as one mapping, or as keywords, or both.
        catalog: the algorithms that stacks are made of; those of :data:`dupack.catalog` if nothing
            is said.
        folder: where relative paths in it start (recorded traces).
        name: what it is called in messages.

    Raises:
        ExperimentError: if anything in it is impossible. ``field`` says where.
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
            raise TypeError(f"catalog: expected a dupack.Catalog, and found {catalog!r}")
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
        """The experiment that the text of a file describes.

        Raises:
            ExperimentError: if anything in it is impossible.
        """
        self = cls.__new__(cls)
        self._set(text, name, Path(folder), catalog)
        return self

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, catalog: Catalog | None = None) -> Experiment:
        """The experiment in a TOML file.

        Raises:
            ExperimentError: if it cannot be read, or anything in it is impossible.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ExperimentError(
                f"cannot read {os.fspath(path)}: {error}",
                help="name a TOML file, as docs/experiments.md describes them",
                file=os.fspath(path),
            ) from error
        return cls.from_toml(text, catalog=catalog, folder=Path(path).parent, name=os.fspath(path))

    @property
    def toml(self) -> str:
        """The text of the experiment file that says the same."""
        return self._text

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as they were given."""
        fields: dict[str, Any] = json.loads(_native.from_toml(self._text))
        return fields

    def replace(self, fields: Mapping[str, Value] | None = None, /, **keywords: Value) -> Experiment:
        """The same experiment with other fields. A key may name a field inside, joined by dots.

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
        """How many runs it takes, without those that ``precision`` may add and those of harm."""
        return self._checked(harm=False).runs

    @property
    def warnings(self) -> list[str]:
        """Pairs of settings that defeat each other."""
        return self._checked(harm=False).warnings

    @property
    def parameters(self) -> Table:
        """Every effective parameter, defaults included: owner, name, value, source."""
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
        """Does all runs, without the interpreter's lock, and shows a bar.

        Args:
            jobs: runs at a time; one per processor if nothing is said. With an ``executor``, how many
                workers to keep busy: all that it says it has if nothing is said.
            harm: also measure what a standing flow loses beside each stack, which takes runs of
                its own.
            out: a folder, new or empty, that gets what ``dupack run`` writes. Finished runs are kept
                there at once.
            resume: go on with what an interrupted run has left in ``out``.
            executor: who does the runs, instead of this process' threads: any executor of
                ``concurrent.futures``, such as a process pool or ``Client.get_executor()`` of Dask. The
                numbers are the same (``docs/clusters.md``).
            progress: ``True`` or ``False`` for a bar or none, or a function that is called with
                ``(done, all)``; a bar where somebody can see it if nothing is said.

        Raises:
            Interrupted: on Ctrl-C, with the results of the finished runs.
            FolderError: if the folder cannot be written to. ``results`` has what could not be.
            WorkerError: if a worker of ``executor`` died, or has another build of dupack.
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
        """Does all runs of an experiment that has more of them than memory holds: they go to files, part by part,
        as they are done (``docs/streaming.md``).

        Args:
            out: a folder, new or empty. It gets what ``dupack run --stream`` writes.
            jobs: as in :meth:`run`.
            harm: as in :meth:`run`.
            resume: go on with the first part that is not there whole.
            parts: in what files runs are kept, ``"parquet"`` or ``"csv"``; Parquet if nothing is said, or with
                ``resume`` what was begun.
            progress: as in :meth:`run`.

        Raises:
            Interrupted: on Ctrl-C. Finished parts are kept.
            FolderError: if the folder cannot be written to, or has something else.
            ExperimentError: if one of its algorithms is in Python.
        """
        at_a_time, kind = _how.jobs(jobs), _how.parts(parts)
        folder = _how.folder(out, resume)
        if folder is None:
            raise TypeError("out: expected the path of a folder, and found None")
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
        """Follows a flow packet by packet: by default the first of the first stack at the first point
        with the first seed.

        Raises:
            ExperimentError: if there is no such stack, point or flow.
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
    """Runs an experiment file, as ``dupack run`` does: ``Experiment.read(path).run(**how)``."""
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
    """Compares stacks on a path, as ``dupack compare`` does, with the same defaults.

    Args:
        stacks: each ``recovery/control[/lda/response]``; the first is the measure of the others.
        rate: of the bottleneck, such as ``"10Mbit/s"``.
        delay: one-way propagation delay from end to end.
        buffer: of the bottleneck, in packets, bytes or bandwidth-delay products (``"0.5bdp"``); one product, and
            at least 10 packets, if it is left out.
        loss: probabilities with which data packets are lost, compared one after the other.
        ack_loss: the same for ACKs.
        trace: a recorded trace in Mahimahi's format instead of a rate; ``trace_up`` is that of ACKs.
        delayed_ack: delayed ACKs with this timeout.
        dialect: which rules the endpoints follow where TCPs differ: ``rfc``, ``linux``, ``ns2``.
        seeds: per stack and point.
        precision: add seeds until every mean goodput is known this well, up to ``seeds_max``.
        duration: simulated time of a run.
        flows: of the same stack that share the bottleneck.
        segment: payload of a full segment, such as ``"1448B"``.
        processing_jitter: the most that a sender's host takes for an ACK, each time drawn; a packet's time at the
            bottleneck where several flows share it, if it is left out.
        catalog: the algorithms.
        how: what :meth:`Experiment.run` takes.
    """
    losses = [loss] if isinstance(loss, str) else list(loss)
    if not losses:
        raise ExperimentError("there is no loss rate", field="path.loss", help='for example loss="1%", or loss=["0%", "1%"]')
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
    """The JSON Schema of experiments."""
    read: dict[str, Any] = json.loads(_native.schema())
    return read
