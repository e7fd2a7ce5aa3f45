"""Base classes for your own algorithms, with the arguments and answers of their methods.

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
- Each connection has its own instance, made from the values of the parameters. ``self.context`` has the size of a
  segment (``smss``, in bytes) and a ``seed``. Initialise state in ``__post_init__`` or in fields with defaults.
- Times are in seconds, as ``float``; the same name with ``_ns`` is exact, in nanoseconds. Windows are in
  bytes, as ``float``; other sizes are in bytes, as ``int``.
- ``ack``, ``credit``, ``sent``, ``departure`` and ``view`` are valid only during the call, and raise if they are
  read later. Windows, segments and losses may be kept.
- A run depends only on its seed: draw random numbers from ``random.Random(self.context.seed)``.
- An exception in a method, or an answer of the wrong type, ends that run and no other; see
  :attr:`dupack.Results.failures`.
- Experiments with an algorithm in Python run on the calling thread, one run at a time, because the interpreter
  has one lock; a process pool (``executor=``) uses all processors.
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
"""A window: a :class:`Window`, or a pair of ``cwnd`` and ``ssthresh``."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, seconds))
class Algorithm:
    """Common base of the four kinds of algorithms.

    A subclass is a dataclass. Its fields are parameters (:func:`dupack.parameter`) and initial state.
    """

    name: ClassVar[str] = ""
    """Name in a stack."""
    summary: ClassVar[str] = ""
    """Description in one line; by default the first line of the docstring."""
    citation: ClassVar[str] = ""
    """Publication."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Requirements on the receiver and on the connection.

    These are ``"sack"``, ``"dsack"``, ``"order_echo"``, ``"trigger_timestamps"``, ``"counted_marks"`` and
    ``"exact_echo"``. Without ``"sack"`` there are no SACK blocks.
    """

    if TYPE_CHECKING:

        @property
        def context(self) -> Context:
            """The connection: ``smss`` in bytes, and ``seed``."""
            ...

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        # The four base classes have no fields.
        if Algorithm not in cls.__bases__:
            dataclass(kw_only=True, eq=False)(cls)


class Recovery(Algorithm):
    """A loss recovery: decides which segments are lost, which is sent next, and how many bytes are in flight.

    For each ACK the sender calls :meth:`on_ack` once, applies the outcome, and then calls :meth:`next` until
    no more may be sent. A subclass overrides at least ``on_ack``, ``on_rto``, ``in_flight`` and ``next``.
    """

    def governed_by(self, governance: Governance) -> None:
        """Receive the control's governance, once, at the start."""

    def on_sent(self, sent: Sent, view: View) -> RtoTimer:
        """Handle a transmission."""
        return RtoTimer.KEEP

    def on_ack(self, ack: AckFacts, view: View) -> Outcome:
        """Handle an ACK, which has already been applied to the scoreboard."""
        raise NotImplementedError

    def on_rto(self, view: View) -> None:
        """Handle an expiry of the retransmission timer.

        The control has already set the window. All outstanding data counts as lost.
        """
        raise NotImplementedError

    def timeout_rule(self) -> TimeoutRule:
        """Return the interpretation of an expiry of the retransmission timer, at each expiry."""
        return TimeoutRule.CONGESTION

    def on_cut(self, view: View) -> None:
        """Handle a cut of outstanding segments that were too long for the path.

        The smaller segments have new ids, and all that are not sacked must be retransmitted.
        """
        self.on_rto(view)

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""

    def on_judged(self, loss: LossFacts, cause: LossCause, view: View) -> None:
        """Handle a loss that the loss differentiation has judged.

        The control, or the response for other causes than congestion, has already set the window.
        """

    def on_spurious(self, spurious: Spurious, view: View) -> Reversal:
        """Handle a spurious loss event or timeout. The window is restored only if the recovery ends."""
        return Reversal.REFUSED

    def on_mark(self, ack: AckFacts, view: View) -> None:
        """Handle a reduction of the window for a congestion mark that the receiver echoed."""

    def timer(self) -> float | None:
        """Return the time for a call of :meth:`on_timer`, in seconds since the start of the run."""
        return None

    def on_timer(self, view: View) -> Expiry:
        """Handle an expiry of the recovery's own timer."""
        return Expiry()

    def in_flight(self, view: View) -> int:
        """Return the bytes that count against the window."""
        raise NotImplementedError

    def allowance(self, view: View) -> int:
        """Return the bytes that the window admits now."""
        return max(0, view.window.whole_bytes - self.in_flight(view))

    def next(self, view: View) -> Next:
        """Return the next segment to send, if its clearance permits."""
        raise NotImplementedError

    def phase(self) -> Phase | None:
        """Return the phase of the recovery, for traces."""
        return None

    def inflation(self) -> int:
        """Return the bytes by which the inflated window of RFC 5681 exceeds the sender's window."""
        return 0


class CongestionControl(Algorithm):
    """A congestion control: decides how the window grows, and how a congestion loss reduces it.

    The methods return the desired window; the sender rounds and bounds it (never below one segment) and sets it. A
    subclass overrides at least ``on_ack``, ``reduction`` and ``on_timeout``.
    """

    def opening(self, configured: Window) -> AnyWindow:
        """Return the initial window, to which an idle period also reduces the window."""
        return configured

    def rto_shortening(self) -> RtoShortening | None:
        """Return the shortening of RFC 6298's timeouts; called once, at the start."""
        return None

    def governance(self) -> Governance:
        """Return the means by which the control governs transmissions; called once, at the start."""
        return Governance.WINDOW

    def marks(self) -> MarkAnswer:
        """Return the response to congestion marks; called once, at the start."""
        return MarkAnswer.AS_LOSS

    def on_sent(self, sent: Sent, departure: Departure, view: View) -> None:
        """Handle a transmission; called only under :attr:`Governance.MODEL`."""

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> AnyWindow | float:
        """Return the window after an ACK on which the recovery permits growth by ``credit``.

        A plain number is ``cwnd``; ``ssthresh`` stays.
        """
        raise NotImplementedError

    def reduction(self, loss: LossFacts) -> AnyWindow | float:
        """Return the window to which a congestion loss would reduce the present one, without changing state.

        A plain number is both ``cwnd`` and ``ssthresh``, as in RFC 5681.
        """
        raise NotImplementedError

    def on_loss(self, loss: LossFacts, cause: LossCause, chosen: Window) -> None:
        """Handle a loss event with this cause, for which the window was set to ``chosen``."""

    def on_timeout(self, loss: LossFacts) -> AnyWindow:
        """Return the window after an expiry of the retransmission timer."""
        raise NotImplementedError

    def undo(self) -> UndoRules:
        """Return the methods for detecting spurious reductions; called once, at the start."""
        return UndoRules.OFF

    def remember(self) -> None:
        """Save the state that a loss event changes, because the event may be undone.

        Called at the beginning of a loss event, and only if :meth:`undo` enables a method.
        """

    def on_spurious(self, prior: Prior, window: Window) -> AnyWindow:
        """Return the window after a spurious loss event; ``prior`` is the state before, ``window`` the present one."""
        return prior.restored(window)

    def on_idle_end(self, now: float, last_sent: float) -> None:
        """Handle the end of an idle period: new data is sent while none is outstanding. Times are in seconds."""

    def pacing(self) -> Pacing | WindowPacing:
        """Return the pacing of segments; called once, at the start."""
        return Pacing.OFF

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""

    def pacing_rate(self) -> float | None:
        """Return the pacing rate in bytes per second; called at each segment under :attr:`Pacing.RATE`."""
        return None

    def bandwidth_estimate(self) -> float | None:
        """Return the bandwidth estimate in bytes per second, for plots."""
        return None


class Differentiation(Algorithm):
    """A loss differentiation: tells congestion losses from link losses.

    A subclass overrides at least ``judge``.
    """

    def on_ack(self, ack: AckFacts, view: View) -> None:
        """Handle an ACK, to learn about losses on this path; called at every ACK."""

    def judge(self, loss: LossFacts) -> LossCause:
        """Return the cause of a loss event that was found without a timeout."""
        raise NotImplementedError

    def on_segment_size(self, before: int, now: int) -> None:
        """Handle a change of the size of a full segment from ``before`` to ``now`` bytes."""


class Response(Algorithm):
    """A response: sets the window after a loss that was not congestion.

    A subclass overrides at least ``respond``.
    """

    def on_ack(self, ack: AckFacts, view: View) -> None:
        """Handle an ACK; called at every ACK, with the window before it.

        If the ACK reveals a loss, this call comes before :meth:`respond`.
        """

    def respond(self, loss: LossFacts, congestion: Window) -> AnyWindow:
        """Return the window after the loss. ``congestion`` is the window that the control would have set."""
        raise NotImplementedError

    def growth(self) -> float:
        """Return the factor on the control's increase in congestion avoidance until the next loss event.

        The factor is from 0 to 1. Called once after each :meth:`respond`.
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
