"""Algorithms of one's own: base classes, what their methods are told, and what they answer.

A class that is registered is an algorithm like any other, in stacks, experiments, comparisons, traces and
report cards:

>>> import dupack
>>> @dupack.register
... class Half(dupack.CongestionControl):
...     \"\"\"Half a segment more per round trip, half the window at a loss.\"\"\"
...
...     name = "half"
...     citation = "nobody would publish it"
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

- The methods are those of the traits in Rust, with the same names, meanings and defaults. What a class
  does not override is not called.
- Each connection has an instance of its own, which the class' constructor makes from the values of the
  parameters. ``self.context`` has the size of a segment (``smss``, in bytes) and a ``seed``. What is to be
  set at the start belongs into ``__post_init__``, or is a field with a default.
- Times are in seconds, as ``float``; the same name with ``_ns`` is exact, in nanoseconds. Windows are in
  bytes, as ``float``; other sizes are in bytes, as ``int``.
- ``ack``, ``credit``, ``sent``, ``departure`` and ``view`` are valid while the method runs, and say so when
  they are asked later. Windows, segments and losses may be kept.
- A run depends on its seed alone: chance comes from ``random.Random(self.context.seed)``.
- An exception in a method, or an answer of a wrong kind, ends that run and no other:
  :attr:`dupack.Results.failures`.
- Experiments with an algorithm in Python run on the calling thread, one run at a time, as the interpreter
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
    """What the four kinds have in common. A subclass is a dataclass: its fields are parameters
    (:func:`dupack.parameter`) and what an instance begins with."""

    name: ClassVar[str] = ""
    """What it is called in a stack."""
    summary: ClassVar[str] = ""
    """What it is, in one line; the first line of the docstring if nothing is said."""
    citation: ClassVar[str] = ""
    """Where it was published."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names for it."""
    needs: ClassVar[tuple[str, ...]] = ()
    """What it asks of the receiver and of the connection: ``"sack"``, ``"dsack"``, ``"order_echo"``,
    ``"trigger_timestamps"``, ``"counted_marks"``, ``"exact_echo"``. Without ``"sack"`` there are no SACK blocks."""

    if TYPE_CHECKING:

        @property
        def context(self) -> Context:
            """The connection: ``smss`` in bytes, and ``seed``."""
            ...

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        # The kinds themselves have no fields.
        if Algorithm not in cls.__bases__:
            dataclass(kw_only=True, eq=False)(cls)


class Recovery(Algorithm):
    """A loss recovery: what is lost, what goes out next, and what counts as in flight.

    For each ACK the sender calls :meth:`on_ack` once, acts on the outcome, and then asks :meth:`next` until
    nothing more may be sent. It overrides at least ``on_ack``, ``on_rto``, ``in_flight`` and ``next``.
    """

    def governed_by(self, governance: Governance) -> None:
        """By what the control governs what leaves; told once, at the start."""

    def on_sent(self, sent: Sent, view: View) -> RtoTimer:
        """A segment went out."""
        return RtoTimer.KEEP

    def on_ack(self, ack: AckFacts, view: View) -> Outcome:
        """An ACK came in and has been applied to the scoreboard."""
        raise NotImplementedError

    def on_rto(self, view: View) -> None:
        """The retransmission timer expired; the control has already set the window. Everything outstanding
        counts as lost."""
        raise NotImplementedError

    def timeout_rule(self) -> TimeoutRule:
        """What an expiry of the retransmission timer is taken for, asked whenever it expires."""
        return TimeoutRule.CONGESTION

    def on_cut(self, view: View) -> None:
        """What was outstanding is too long for the path: it was cut into smaller segments, which have new
        ids, and all that is not sacked is to be sent again."""
        self.on_rto(view)

    def on_segment_size(self, before: int, now: int) -> None:
        """A full segment has ``now`` bytes from now on, not ``before``."""

    def on_judged(self, loss: LossFacts, cause: LossCause, view: View) -> None:
        """A loss was put to the loss differentiation, and whoever is responsible for ``cause`` has set the
        window."""

    def on_spurious(self, spurious: Spurious, view: View) -> Reversal:
        """The last loss event or timeout was none. Only if the recovery leaves it is the window restored."""
        return Reversal.REFUSED

    def on_mark(self, ack: AckFacts, view: View) -> None:
        """The window was reduced though nothing was lost: the receiver echoed a mark of congestion."""

    def timer(self) -> float | None:
        """When the recovery wants :meth:`on_timer` called, in seconds since the start of the run."""
        return None

    def on_timer(self, view: View) -> Expiry:
        """The recovery's own timer expired."""
        return Expiry()

    def in_flight(self, view: View) -> int:
        """Bytes that count against the window."""
        raise NotImplementedError

    def allowance(self, view: View) -> int:
        """Bytes that the window admits now."""
        return max(0, view.window.whole_bytes - self.in_flight(view))

    def next(self, view: View) -> Next:
        """What to send next, if it is cleared."""
        raise NotImplementedError

    def phase(self) -> Phase | None:
        """Where the recovery stands, for whoever watches."""
        return None

    def inflation(self) -> int:
        """Bytes by which the window of the textbook is larger than that of the sender."""
        return 0


class CongestionControl(Algorithm):
    """A congestion control: how the window grows, and what a congestion loss makes of it.

    Every method returns the window it wants; the sender rounds and bounds it (never below one segment) and
    writes it. It overrides at least ``on_ack``, ``reduction`` and ``on_timeout``.
    """

    def opening(self, configured: Window) -> AnyWindow:
        """The window that the connection opens with, and that an idle period cuts it to."""
        return configured

    def rto_shortening(self) -> RtoShortening | None:
        """By how much the control wants timeouts earlier than RFC 6298's; asked once, at the start."""
        return None

    def governance(self) -> Governance:
        """By what the control governs what leaves; asked once, at the start."""
        return Governance.WINDOW

    def marks(self) -> MarkAnswer:
        """How it answers marks of congestion; asked once, at the start."""
        return MarkAnswer.AS_LOSS

    def on_sent(self, sent: Sent, departure: Departure, view: View) -> None:
        """A segment went out. Only a control under :attr:`Governance.MODEL` is told."""

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> AnyWindow | float:
        """An ACK came in, on which the recovery lets the window grow by ``credit``. A number alone is
        ``cwnd``; ``ssthresh`` stays."""
        raise NotImplementedError

    def reduction(self, loss: LossFacts) -> AnyWindow | float:
        """The window that a congestion loss would make of the present one. A question: nothing is changed
        by asking. A number alone is both ``cwnd`` and ``ssthresh``, as in RFC 5681."""
        raise NotImplementedError

    def on_loss(self, loss: LossFacts, cause: LossCause, chosen: Window) -> None:
        """A loss event was answered by setting the window to ``chosen``, for the cause named."""

    def on_timeout(self, loss: LossFacts) -> AnyWindow:
        """The retransmission timer expired: the window after it."""
        raise NotImplementedError

    def undo(self) -> UndoRules:
        """By which signs a reduction is found to have been needless; asked once, at the start."""
        return UndoRules.OFF

    def remember(self) -> None:
        """A loss event begins that may have to be undone: what it changes of the control's own state has to
        be remembered. Called only if :meth:`undo` asks for something."""

    def on_spurious(self, prior: Prior, window: Window) -> AnyWindow:
        """The last loss event was none. ``prior`` is what stood before, ``window`` the window now."""
        return prior.restored(window)

    def on_idle_end(self, now: float, last_sent: float) -> None:
        """New data is about to leave and nothing is outstanding; both times are in seconds."""

    def pacing(self) -> Pacing | WindowPacing:
        """Whether segments leave at a pace, and who sets it; asked once, at the start."""
        return Pacing.OFF

    def on_segment_size(self, before: int, now: int) -> None:
        """A full segment has ``now`` bytes from now on, not ``before``."""

    def pacing_rate(self) -> float | None:
        """The rate at which segments are to leave, in bytes per second; asked at each segment under
        :attr:`Pacing.RATE`."""
        return None

    def bandwidth_estimate(self) -> float | None:
        """A measurement worth plotting, in bytes per second."""
        return None


class Differentiation(Algorithm):
    """A loss differentiation: was this loss congestion, or the link? It overrides at least ``judge``."""

    def on_ack(self, ack: AckFacts, view: View) -> None:
        """Sees every ACK, to learn what losses look like on this path."""

    def judge(self, loss: LossFacts) -> LossCause:
        """Names the cause of a loss event that was found without a timeout."""
        raise NotImplementedError

    def on_segment_size(self, before: int, now: int) -> None:
        """A full segment has ``now`` bytes from now on, not ``before``."""


class Response(Algorithm):
    """What the window becomes after a loss that was not congestion. It overrides at least ``respond``."""

    def on_ack(self, ack: AckFacts, view: View) -> None:
        """Sees every ACK and the window that it found. It comes before :meth:`respond` if the ACK reveals a
        loss."""

    def respond(self, loss: LossFacts, congestion: Window) -> AnyWindow:
        """The window after the loss. ``congestion`` is what the control would have made of it."""
        raise NotImplementedError

    def growth(self) -> float:
        """Which share of the control's increase in congestion avoidance the window takes until the next loss
        event, from 0 to 1. Asked once after each answer."""
        return 1.0

    def on_segment_size(self, before: int, now: int) -> None:
        """A full segment has ``now`` bytes from now on, not ``before``."""


_AXES: dict[type[Any], tuple[str, tuple[str, ...]]] = {
    Recovery: ("recovery", ("on_ack", "on_rto", "in_flight", "next")),
    CongestionControl: ("control", ("on_ack", "reduction", "on_timeout")),
    Differentiation: ("differentiation", ("judge",)),
    Response: ("response", ("respond",)),
}


def register(
    native: _native.Catalog, algorithm: type[Any], known: dict[tuple[str, str], type[Any]]
) -> tuple[str, str]:
    """Registers a class in a catalog that knows the classes ``known``; gives its axis and name.

    Raises:
        AlgorithmError: if it is not well-formed, or its name is taken.
    """
    if not isinstance(algorithm, type):
        raise AlgorithmError(
            f"expected a class, and found a {type(algorithm).__name__}",
            help="register the class; each connection gets an instance of its own",
        )
    bases = [base for base in _AXES if issubclass(algorithm, base)]
    if len(bases) != 1 or algorithm in _AXES:
        kinds = ", ".join(f"dupack.{base.__name__}" for base in _AXES)
        raise AlgorithmError(
            f"{algorithm.__qualname__}: expected a subclass of one of {kinds}",
            help=f"class {algorithm.__name__}(dupack.CongestionControl), for example",
        )
    axis, required = _AXES[bases[0]]
    declaration = declared(algorithm, axis, bases[0], required)
    key = (axis, declaration.name)
    native.register(declaration, _replaces(algorithm, known.get(key)))
    return key


def _replaces(algorithm: type[Any], known: type[Any] | None) -> bool:
    """Whether it is the same class written anew, as when a cell of a notebook is run again."""
    if known is None:
        return False
    return (known.__module__, known.__qualname__) == (algorithm.__module__, algorithm.__qualname__)
