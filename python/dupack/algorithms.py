"""Base classes for your own algorithms, with the arguments and return values of their methods.

A registered class can be used like any other algorithm in stacks, experiments, comparisons, traces and report
cards:

>>> import dupack
>>> @dupack.register
... class Half(dupack.CongestionControl):
...     \"\"\"Half a segment more per round trip, half the window at a loss.\"\"\"
...
...     name = "half"
...     citation = "unpublished"
...     increase: float = dupack.parameter(0.5, low=0.0, high=100.0, unit="segments", doc="more per round trip")
...
...     def on_ack(self, ack, credit, view):
...         cwnd = view.window.cwnd
...         return cwnd + self.increase * self.context.smss * credit.bytes / cwnd
...
...     def reduction(self, loss):
...         return max(loss.window.cwnd / 2, 2 * self.context.smss)
...
...     def on_timeout(self, loss):
...         return self.context.smss, self.reduction(loss)
>>> results = dupack.compare(
...     ["rack/reno", "rack/half(increase=2)"], loss="1%", seeds=2, duration="5s", progress=False
... )
>>> results.stacks
['rack/reno', 'rack/half(increase=2)']

- The methods have the names, meanings and defaults of the traits in Rust. Methods that a class does not override
  are not called.
- Each connection has its own instance, which is created with the values of the parameters. ``self.context`` has the
  size of a full segment (``smss``, in bytes) and a ``seed``. Initialise state in ``__post_init__`` or in fields with
  defaults.
- Times are in seconds, as ``float``. The attribute of the same name with the suffix ``_ns`` has the exact value in
  nanoseconds. Windows are in bytes, as ``float``; other sizes are in bytes, as ``int``.
- ``ack``, ``credit``, ``sent``, ``departure`` and ``view`` are valid only during the call, and raise an exception if
  they are read later. Windows, segments and losses may be kept.
- A run must depend only on its seed: take random numbers from ``random.Random(self.context.seed)``.
- An exception in a method, or a return value of the wrong type, ends this run but no other run; see
  :attr:`dupack.Results.failures`.
- Experiments with an algorithm in Python run on the calling thread, one run at a time, because the interpreter
  has one lock. A process pool (``executor=``) uses all processors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from . import _native
from ._declare import declared, parameter, seconds
from ._native import (
    AckFacts,
    Context,
    Credit,
    Delivered,
    Departure,
    Expiry,
    LossEvent,
    LossFacts,
    LossRule,
    Next,
    Outcome,
    Reversal,
    RttEstimator,
    Scoreboard,
    Segment,
    SendReason,
    Sent,
    View,
    Window,
    WindowUse,
)
from ._words import (
    AckKind,
    Clearance,
    DeliveredBy,
    DsackRule,
    EifelRule,
    Exit,
    FrtoRule,
    Governance,
    Growth,
    LimitedBy,
    LossCause,
    MarkAnswer,
    Pacing,
    Phase,
    Prior,
    PriorThreshold,
    Reduction,
    Reported,
    RtoShortening,
    RtoTimer,
    Sign,
    Spurious,
    TimeoutRule,
    Timing,
    UndoRules,
    WindowPacing,
)
from .errors import AlgorithmError

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        return lambda thing: thing


__all__ = [
    "AckFacts",
    "AckKind",
    "Algorithm",
    "Clearance",
    "CongestionControl",
    "Context",
    "Credit",
    "Delivered",
    "DeliveredBy",
    "Departure",
    "Differentiation",
    "DsackRule",
    "EifelRule",
    "Exit",
    "Expiry",
    "FrtoRule",
    "Governance",
    "Growth",
    "LimitedBy",
    "LossCause",
    "LossEvent",
    "LossFacts",
    "LossRule",
    "MarkAnswer",
    "Next",
    "Outcome",
    "Pacing",
    "Phase",
    "Prior",
    "PriorThreshold",
    "Recovery",
    "Reduction",
    "Reported",
    "Response",
    "Reversal",
    "RtoShortening",
    "RtoTimer",
    "RttEstimator",
    "Scoreboard",
    "Segment",
    "SendReason",
    "Sent",
    "Sign",
    "Spurious",
    "TimeoutRule",
    "Timing",
    "UndoRules",
    "View",
    "Window",
    "WindowPacing",
    "WindowUse",
    "parameter",
    "seconds",
]

T = TypeVar("T")

AnyWindow = Window | tuple[float, float]
"""Type of a window: a :class:`Window`, or a pair of ``cwnd`` and ``ssthresh``."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, seconds))
class Algorithm:
    """Common base class of the four kinds of algorithms.

    A subclass is a dataclass. Its fields are parameters (:func:`dupack.parameter`) and initial state.
    """

    name: ClassVar[str] = ""
    """Name of the algorithm in a stack."""
    summary: ClassVar[str] = ""
    """Description in one line; by default the first line of the docstring."""
    citation: ClassVar[str] = ""
    """Publication of the algorithm."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names of the algorithm."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Requirements on the receiver and on the connection.

    Possible values are ``"sack"``, ``"dsack"``, ``"order_echo"``, ``"trigger_timestamps"``, ``"counted_marks"`` and
    ``"exact_echo"``. Without ``"sack"``, the connection has no SACK blocks.
    """

    if TYPE_CHECKING:

        @property
        def context(self) -> Context:
            """Properties of the connection: ``smss`` in bytes, and ``seed``."""
            ...

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        # The four base classes have no fields, so they are not dataclasses.
        if Algorithm not in cls.__bases__:
            dataclass(kw_only=True, eq=False)(cls)


class Recovery(Algorithm):
    """A loss recovery decides which segments are lost, which one is sent next, and how many bytes are in flight.

    For each ACK, the sender calls :meth:`on_ack` once, applies the outcome, and then calls :meth:`next` until
    no more segments may be sent. A subclass overrides at least ``on_ack``, ``on_rto``, ``in_flight`` and ``next``.
    """

    def governed_by(self, governance: Governance) -> None:
        """Receive the governance of the congestion control. This method is called once, at the start."""

    def on_sent(self, sent: Sent, view: View) -> RtoTimer:
        """Handle a transmission, and return the treatment of the retransmission timer."""
        return RtoTimer.KEEP

    def on_ack(self, ack: AckFacts, view: View) -> Outcome:
        """Handle an ACK. The scoreboard already includes this ACK."""
        raise NotImplementedError

    def on_rto(self, view: View) -> None:
        """Handle an expiry of the retransmission timer.

        The congestion control has already set the window. All outstanding data counts as lost.
        """
        raise NotImplementedError

    def timeout_rule(self) -> TimeoutRule:
        """Return the interpretation of an expiry of the retransmission timer. This method is called at each expiry."""
        return TimeoutRule.CONGESTION

    def on_cut(self, view: View) -> None:
        """Handle the division of outstanding segments that were too long for the path.

        The smaller segments have new ids. All segments that are not sacked must be retransmitted.
        """
        self.on_rto(view)

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""

    def on_judged(self, loss: LossFacts, cause: LossCause, view: View) -> None:
        """Handle a loss whose cause the loss differentiation has determined.

        The window is already set: by the congestion control, or by the response if the cause is not congestion.
        """

    def on_spurious(self, spurious: Spurious, view: View) -> Reversal:
        """Handle a spurious loss event or timeout. The window is restored only if the recovery ends."""
        return Reversal.REFUSED

    def on_mark(self, ack: AckFacts, view: View) -> None:
        """Handle a reduction of the window that was caused by an echoed congestion mark."""

    def timer(self) -> float | None:
        """Return the time at which :meth:`on_timer` is to be called, in seconds since the start of the run."""
        return None

    def on_timer(self, view: View) -> Expiry:
        """Handle an expiry of the recovery's own timer."""
        return Expiry()

    def in_flight(self, view: View) -> int:
        """Return the number of bytes in flight, which count against the window."""
        raise NotImplementedError

    def allowance(self, view: View) -> int:
        """Return the number of further bytes that the window permits now."""
        return max(0, view.window.whole_bytes - self.in_flight(view))

    def next(self, view: View) -> Next:
        """Return the next segment. It is sent if its clearance permits this."""
        raise NotImplementedError

    def phase(self) -> Phase | None:
        """Return the phase of the recovery, for traces."""
        return None

    def inflation(self) -> int:
        """Return the number of bytes by which the inflated window of RFC 5681 exceeds the sender's window."""
        return 0


class CongestionControl(Algorithm):
    """A congestion control decides how the window grows, and how a congestion loss reduces the window.

    The methods return the desired window. The sender rounds this window, limits it (to at least one segment) and sets
    it. A subclass overrides at least ``on_ack``, ``reduction`` and ``on_timeout``.
    """

    def opening(self, configured: Window) -> AnyWindow:
        """Return the initial window. An idle period also reduces the window to this value."""
        return configured

    def rto_shortening(self) -> RtoShortening | None:
        """Return the shortening of the timeouts of RFC 6298. This method is called once, at the start."""
        return None

    def governance(self) -> Governance:
        """Return the method by which the control governs transmissions. It is called once, at the start."""
        return Governance.WINDOW

    def marks(self) -> MarkAnswer:
        """Return the response to congestion marks. This method is called once, at the start."""
        return MarkAnswer.AS_LOSS

    def on_sent(self, sent: Sent, departure: Departure, view: View) -> None:
        """Handle a transmission. This method is called only under :attr:`Governance.MODEL`."""

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> AnyWindow | float:
        """Return the window after an ACK on which the recovery permits growth by ``credit``.

        A plain number is ``cwnd``, and ``ssthresh`` is unchanged.
        """
        raise NotImplementedError

    def reduction(self, loss: LossFacts) -> AnyWindow | float:
        """Return the window to which a congestion loss would reduce the present window, without changing state.

        A plain number is both ``cwnd`` and ``ssthresh``, as in RFC 5681.
        """
        raise NotImplementedError

    def on_loss(self, loss: LossFacts, cause: LossCause, chosen: Window) -> None:
        """Handle a loss event with this cause. The window has been set to ``chosen``."""

    def on_timeout(self, loss: LossFacts) -> AnyWindow:
        """Return the window after an expiry of the retransmission timer."""
        raise NotImplementedError

    def undo(self) -> UndoRules:
        """Return the methods for detecting spurious reductions. This method is called once, at the start."""
        return UndoRules.OFF

    def remember(self) -> None:
        """Save the state that a loss event changes, because the event may be undone.

        This method is called at the beginning of a loss event, and only if :meth:`undo` enables a method.
        """

    def on_spurious(self, prior: Prior, window: Window) -> AnyWindow:
        """Return the window after a spurious loss event.

        ``prior`` is the state before the event, and ``window`` is the present window.
        """
        return prior.restored(window)

    def on_idle_end(self, now: float, last_sent: float) -> None:
        """Handle the end of an idle period: new data is sent while no data is outstanding. Times are in seconds."""

    def pacing(self) -> Pacing | WindowPacing:
        """Return the pacing of segments. This method is called once, at the start."""
        return Pacing.OFF

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""

    def pacing_rate(self) -> float | None:
        """Return the pacing rate in bytes per second.

        Under :attr:`Pacing.RATE`, this method is called at each segment.
        """
        return None

    def bandwidth_estimate(self) -> float | None:
        """Return the bandwidth estimate in bytes per second, for plots."""
        return None


class Differentiation(Algorithm):
    """A loss differentiation distinguishes congestion losses from link losses.

    A subclass overrides at least ``judge``.
    """

    def on_ack(self, ack: AckFacts, view: View) -> None:
        """Handle an ACK, to learn about losses on this path. This method is called at every ACK."""

    def judge(self, loss: LossFacts) -> LossCause:
        """Return the cause of a loss event that was found without a timeout."""
        raise NotImplementedError

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""


class Response(Algorithm):
    """A response sets the window after a loss whose cause was not congestion.

    A subclass overrides at least ``respond``.
    """

    def on_ack(self, ack: AckFacts, view: View) -> None:
        """Handle an ACK. This method is called at every ACK, with the window before the ACK.

        If the ACK reveals a loss, this call comes before :meth:`respond`.
        """

    def respond(self, loss: LossFacts, congestion: Window) -> AnyWindow:
        """Return the window after the loss. ``congestion`` is the window that the control would have set."""
        raise NotImplementedError

    def growth(self) -> float:
        """Return a factor for the increase of the window in congestion avoidance until the next loss event.

        The factor is from 0 to 1. This method is called once after each :meth:`respond`.
        """
        return 1.0

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""


_AXES: dict[type[Any], tuple[str, tuple[str, ...]]] = {
    Recovery: ("recovery", ("on_ack", "on_rto", "in_flight", "next")),
    CongestionControl: ("control", ("on_ack", "reduction", "on_timeout")),
    Differentiation: ("differentiation", ("judge",)),
    Response: ("response", ("respond",)),
}


def register(
    native: _native.Catalog, algorithm: type[Any], known: dict[tuple[str, str], type[Any]]
) -> tuple[str, str]:
    """Register a class in a catalog that has the classes ``known``, and return its axis and name.

    Raises:
        AlgorithmError: if the class is invalid, or its name is taken.
    """
    if not isinstance(algorithm, type):
        raise AlgorithmError(
            f"expected a class, found a {type(algorithm).__name__}",
            help="register the class, not an instance: each connection makes its own instance",
        )
    bases = [base for base in _AXES if issubclass(algorithm, base)]
    if len(bases) != 1 or algorithm in _AXES:
        kinds = ", ".join(f"dupack.{base.__name__}" for base in _AXES)
        raise AlgorithmError(
            f"{algorithm.__qualname__}: expected a subclass of one of {kinds}",
            help=f"for example class {algorithm.__name__}(dupack.CongestionControl)",
        )
    axis, required = _AXES[bases[0]]
    declaration = declared(algorithm, axis, bases[0], required)
    key = (axis, declaration.name)
    native.register(declaration, _replaces(algorithm, known.get(key)))
    return key


def _replaces(algorithm: type[Any], known: type[Any] | None) -> bool:
    """Return ``True`` if the same class is defined again, for example by rerunning a notebook cell."""
    if known is None:
        return False
    return (known.__module__, known.__qualname__) == (algorithm.__module__, algorithm.__qualname__)
