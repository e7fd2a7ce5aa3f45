"""The words that the endpoint and an algorithm use between them, and records of a few fields.

A word is text, too: ``Growth.ACKED == "acked"``, and a method may answer with either.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from ._native import Window

__all__ = [
    "AckKind",
    "Clearance",
    "DeliveredBy",
    "DsackRule",
    "EifelRule",
    "Exit",
    "FrtoRule",
    "Governance",
    "Growth",
    "LimitedBy",
    "LossCause",
    "MarkAnswer",
    "Pacing",
    "Phase",
    "Prior",
    "PriorThreshold",
    "Reduction",
    "Reported",
    "RtoShortening",
    "RtoTimer",
    "Sign",
    "Spurious",
    "TimeoutRule",
    "Timing",
    "UndoRules",
    "WindowPacing",
]


class AckKind(str, Enum):
    """What an ACK is."""

    ADVANCE = "advance"
    """It advances the cumulative acknowledgment."""
    DUPLICATE = "duplicate"
    """A duplicate acknowledgment (RFC 5681 §2)."""
    OTHER = "other"
    """Neither: a window update, an old ACK, or an answer to a probe."""


class LimitedBy(str, Enum):
    """Why the sender sent no more."""

    CONGESTION = "congestion"
    """The congestion window (or the recovery) was full."""
    RECEIVE_WINDOW = "receive_window"
    """The peer's receive window was full."""
    APPLICATION = "application"
    """The application had no more to send."""
    PACING = "pacing"
    """It was not yet time for the next segment."""


class LossCause(str, Enum):
    """What the sender believes caused a loss."""

    CONGESTION = "congestion"
    """A full queue: slow down."""
    WIRELESS = "wireless"
    """The link: nothing to slow down for."""


class Growth(str, Enum):
    """Whether the window may grow on an ACK."""

    FROZEN = "frozen"
    """It stays as it is."""
    ACKED = "acked"
    """It grows by what was cumulatively acknowledged."""
    EVERY_ACK = "every_ack"
    """It grows by what was delivered; every ACK counts, duplicate or not."""


class RtoTimer(str, Enum):
    """What happens to the retransmission timer."""

    KEEP = "keep"
    """It runs on, and is started if it does not run while data is outstanding."""
    RESTART = "restart"
    """It starts anew."""


class Timing(str, Enum):
    """What an ACK means for the segment being timed, if the sender times one at a time."""

    SAMPLE = "sample"
    """If the ACK covers the segment, its age is a sample, which ends the backoff."""
    DISCARD = "discard"
    """If the ACK covers the segment, no sample is taken of it, but the backoff ends."""
    SAMPLE_ECHO = "sample_echo"
    """As with ``DISCARD``, but the age of the timestamp that the ACK echoes is a sample."""
    KEEP = "keep"
    """The segment is timed on, even if the ACK covers it."""
    KEEP_AND_END_BACKOFF = "keep_and_end_backoff"
    """The segment is timed on, but the backoff ends."""


class Exit(str, Enum):
    """Whether a recovery that began with a loss event is over with an ACK."""

    NO = "no"
    """It is not, or there was none."""
    RECOVERY = "recovery"
    """It is."""


class TimeoutRule(str, Enum):
    """What an expiry of the retransmission timer is taken for."""

    CONGESTION = "congestion"
    """Congestion: the control sets the window, and the timeout is doubled."""
    JUDGED = "judged"
    """What the loss differentiation says."""


class Clearance(str, Enum):
    """Under which condition a segment may go out."""

    WINDOW = "window"
    """If the congestion window has room."""
    IMMEDIATE = "immediate"
    """At once, as a fast retransmit or a probe does."""


class Phase(str, Enum):
    """Where a sender stands. Recoveries say ``OPEN``, ``RECOVERY`` or ``LOSS``."""

    OPEN = "open"
    """Nothing is amiss."""
    DISORDER = "disorder"
    """Something has been sacked, but nothing is lost yet."""
    REDUCING = "reducing"
    """The window is being reduced without a loss, as ECN asks for."""
    RECOVERY = "recovery"
    """Fast recovery."""
    LOSS = "loss"
    """Recovery after a retransmission timeout."""


class Governance(str, Enum):
    """By what a control governs what leaves."""

    WINDOW = "window"
    """By the window, which it reduces at loss events."""
    MODEL = "model"
    """By a model of the path (BBR): it is told of every transmission."""


class MarkAnswer(str, Enum):
    """How a control answers marks of congestion (ECN)."""

    AS_LOSS = "as_loss"
    """As losses, once a window of data (RFC 3168 §6.1.2)."""
    BY_SHARE = "by_share"
    """By their number, if the receiver counts them (RFC 9768)."""


class Pacing(str, Enum):
    """Whether segments leave at a pace; a :class:`WindowPacing` is a pace made of the window."""

    OFF = "off"
    """As soon as the window and the ACKs allow."""
    RATE = "rate"
    """At the rate that ``pacing_rate`` names, segment by segment."""


class Reported(str, Enum):
    """Whether the receiver holds a segment that is still above the cumulative ACK."""

    MISSING = "missing"
    """Nothing was said of it."""
    SACKED = "sacked"
    """A SACK block covers it."""


class DeliveredBy(str, Enum):
    """How the receiver reported a segment."""

    CUMULATIVE = "cumulative"
    """The cumulative acknowledgment moved over it."""
    SACK = "sack"
    """A SACK block covered it."""


class EifelRule(str, Enum):
    """Which ACKs are looked at for an old timestamp (RFC 3522)."""

    OFF = "off"
    """None."""
    FIRST_ACK = "first_ack"
    """The first that advances after the first retransmission."""
    ANY_ACK = "any_ack"
    """Each that advances until the loss event is over (Linux)."""


class DsackRule(str, Enum):
    """Whether DSACKs show that a reduction was needless (RFC 3708)."""

    OFF = "off"
    ON = "on"


class FrtoRule(str, Enum):
    """How F-RTO is done (RFC 5682)."""

    OFF = "off"
    """It is not."""
    SECOND_ACK = "second_ack"
    """As the RFC has it: the second ACK after a timeout tells."""
    ANY_ACK = "any_ack"
    """Each ACK may tell, the first included (Linux)."""


class PriorThreshold(str, Enum):
    """Which slow start threshold comes back with an undone reduction."""

    AS_IT_WAS = "as_it_was"
    """The one before (RFC 9438 §4.9)."""
    THREE_QUARTERS = "three_quarters"
    """The same, but at least three quarters of the window before (Linux)."""


class Reduction(str, Enum):
    """What reduced the window."""

    LOSS_EVENT = "loss_event"
    """A loss event that ACKs, or a recovery's own timer, revealed."""
    TIMEOUT = "timeout"
    """The retransmission timer."""


class Sign(str, Enum):
    """What shows that a reduction was needless."""

    TIMESTAMP = "timestamp"
    DSACK = "dsack"
    FRTO = "frto"


@dataclass(frozen=True)
class RtoShortening:
    """A timeout earlier than RFC 6298's.

    Attributes:
        factor: the share of the timeout that is left, from 0 to 1.
        margin: what an ACK may take longer than the smoothed round-trip time in any case, in seconds.
    """

    factor: float
    margin: float


@dataclass(frozen=True)
class WindowPacing:
    """A pace made of the window: ``factor · cwnd / SRTT``, in bursts, as Linux has it.

    Attributes:
        slow_start: the factor as long as ``cwnd`` is less than half of ``ssthresh``.
        avoidance: the factor otherwise.
        burst_least: full segments that leave together, at least.
        unpaced: so many segments of a connection leave before the first gap.
    """

    slow_start: float = 2.0
    avoidance: float = 1.2
    burst_least: int = 2
    unpaced: int = 10


@dataclass(frozen=True)
class UndoRules:
    """By which signs the sender finds out that a reduction was needless."""

    eifel: EifelRule | str = EifelRule.OFF
    dsack: DsackRule | str = DsackRule.OFF
    frto: FrtoRule | str = FrtoRule.OFF
    threshold: PriorThreshold | str = PriorThreshold.AS_IT_WAS

    OFF: ClassVar[UndoRules]
    """No reduction is ever undone."""
    LINUX: ClassVar[UndoRules]
    """What Linux does."""


UndoRules.OFF = UndoRules()
UndoRules.LINUX = UndoRules(
    EifelRule.ANY_ACK, DsackRule.ON, FrtoRule.ANY_ACK, PriorThreshold.THREE_QUARTERS
)


@dataclass(frozen=True)
class Spurious:
    """A reduction that proves to have been needless.

    Attributes:
        after: what reduced the window.
        sign: what shows that it was needless.
    """

    after: Reduction
    sign: Sign

    @property
    def acquits_all(self) -> bool:
        """Whether everything taken for lost has to be thought of anew. A DSACK in fast recovery says only
        that what was sent again had arrived."""
        return self.after is Reduction.TIMEOUT or self.sign is not Sign.DSACK


@dataclass(frozen=True)
class Prior:
    """What stood before the first reduction of a loss event.

    Attributes:
        window: the window.
    """

    window: Window

    def restored(self, window: Window) -> Window:
        """``window``, but no less than the one before in either part (RFC 9438 §4.9)."""
        return Window(
            max(window.cwnd, self.window.cwnd), max(window.ssthresh, self.window.ssthresh)
        )
