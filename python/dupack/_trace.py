"""Packet traces of flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._catalog import Catalog
from .errors import ExperimentError
from .experiment import Experiment
from .table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Trace", "trace"]


class Trace:
    """Packet trace of one flow of a run."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Trace) -> None:
        self._native = native

    @property
    def stack(self) -> str:
        """The stack, in its canonical spelling."""
        return self._native.stack

    @property
    def end(self) -> float:
        """The end of the run, in seconds."""
        return self._native.end

    @property
    def delivered_bytes(self) -> int:
        """The number of stream bytes that were received in order."""
        return self._native.delivered_bytes

    @property
    def stats(self) -> dict[str, int]:
        """The counters of the sender at the end: segments sent, retransmissions, timeouts, and others."""
        return dict(self._native.stats)

    @property
    def packets(self) -> Table:
        """Table with a row per event.

        An event is a segment that is sent, dropped or received, with the reason, or an ACK with its SACK blocks.
        """
        return Table(self._native.packets())

    @property
    def windows(self) -> Table:
        """Table with a row per change of window, threshold, flight size or round-trip time, and its cause."""
        return Table(self._native.windows())

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot packets over time: sent, retransmitted, lost, acknowledged.

        Returns:
            The axes of matplotlib.

        Raises:
            ImportError: if matplotlib is not installed (``pip install 'dupack[plot]'``).
        """
        from .plot import trace

        return trace(self, ax=ax)

    def __repr__(self) -> str:
        return f"<Trace of {self.stack}: {len(self.packets)} events in {self.end:g} s>"

    def _repr_html_(self) -> str:
        from ._html import table

        return f"<p>{self!r}</p>{table(self.windows)}"


def follow(
    experiment: Experiment,
    stack: str | None = None,
    *,
    point: int = 0,
    seed: int | None = None,
    flow: int | None = None,
) -> Trace:
    """Trace a flow of an experiment packet by packet.

    Args:
        experiment: the experiment.
        stack: one of the stacks of the experiment; by default the first one.
        point: the index of the point of the sweep, counted from 0.
        seed: the seed of the run; by default the first seed of the experiment.
        flow: the index of the TCP flow, counted from 0; by default the first flow of the stack under comparison.

    Raises:
        ExperimentError: if the stack, point or flow does not exist.
    """
    plan = experiment._checked(harm=False)
    catalog = experiment._catalog
    stacks = plan.stacks
    place = 0 if stack is None else _place(stacks, catalog.canonical(stack))
    if not 0 <= point < len(plan.points):
        raise ExperimentError(
            f"no point {point}: points are numbered 0 to {len(plan.points) - 1}", field="point"
        )
    return Trace(plan.trace(point, place, plan.first_seed if seed is None else seed, flow))


def _place(stacks: list[str], stack: str) -> int:
    if stack not in stacks:
        raise ExperimentError(
            f"the experiment has no stack {stack}", field="stack", help=f"its stacks are {', '.join(stacks)}"
        )
    return stacks.index(stack)


def trace(
    stack: str,
    *,
    drop: str | Sequence[str] = (),
    loss: str = "0%",
    rate: str = "1Mbit/s",
    delay: str = "98ms",
    buffer: str | None = None,
    flows: int = 1,
    initial_window: str | None = None,
    initial_ssthresh: str | None = None,
    delayed_ack: str | None = None,
    dialect: str = "linux",
    segment: str | None = None,
    seed: int = 1,
    duration: str = "10s",
    access_rate: str = "10Mbit/s",
    access_delay: str = "1ms",
    catalog: Catalog | None = None,
    **fields: Any,
) -> Trace:
    """Trace one flow of a stack, as ``dupack trace`` does.

    With ``dialect="ns2"``, the defaults are those of figure 3 of the Momentary paper.

    >>> found = trace("momentary/reno", drop="24-30")
    >>> found.stats["timeouts"]
    0

    Args:
        stack: ``recovery/control[/lda/response]``.
        drop: numbers of packets to drop: ``"24-30"``, ``"12#2"`` (the second transmission), ``"ack 30"``.
        loss: loss probability of data packets, in addition to ``drop``.
        rate: rate of the bottleneck.
        delay: one-way delay of the bottleneck. Access links add ``access_delay`` at both ends.
        buffer: buffer of the bottleneck; by default one bandwidth-delay product (in ``ns2`` 1000 packets).
        flows: number of flows of the stack that share the bottleneck; the first one is traced.
        initial_window: initial window of the flows; by default that of the dialect (in ``ns2`` one packet).
        initial_ssthresh: initial slow start threshold of the flows; by default 20 packets (in ``ns2`` 10).
        delayed_ack: timeout of delayed ACKs; by default every segment is acknowledged.
        dialect: rules that the endpoints follow where TCPs differ.
        segment: payload of a full segment; by default that of the dialect.
        seed: seed of the run.
        duration: simulated time.
        access_rate: rate of the links between the hosts and the bottleneck.
        access_delay: one-way delay of these links.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.
        fields: other fields of the experiment.
    """
    if dialect == "ns2":
        buffer, segment = buffer or "1000pkt", segment or "1000B"
        initial_window, initial_ssthresh = initial_window or "1pkt", initial_ssthresh or "10pkt"
    rules = [drop] if isinstance(drop, str) else list(drop)
    data = [rule for rule in rules if not rule.startswith("ack")]
    acks = [rule for rule in rules if rule.startswith("ack")]
    experiment = Experiment(
        title=f"{stack}, packet by packet",
        stacks=[stack],
        dialect=dialect,
        seeds=[seed],
        duration=duration,
        access={"rate": access_rate, "delay": access_delay},
        path={
            "rate": rate,
            "delay": delay,
            "buffer": buffer,
            "loss": loss,
            "drop": data or None,
            "reverse": {"drop": acks} if acks else None,
        },
        flows=[{"count": flows}] if flows > 1 else None,
        sender={
            "segment": segment,
            "initial_window": initial_window,
            "initial_ssthresh": initial_ssthresh or "20pkt",
        },
        receiver=None if delayed_ack is None else {"delayed_ack": delayed_ack},
        catalog=catalog,
        name="trace",
        **fields,
    )
    return follow(experiment, seed=seed, flow=0)


