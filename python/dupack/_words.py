"""Enumerations and records that the endpoint and an algorithm exchange.

Members of an enumeration are also text: ``Growth.ACKED == "acked"``, and a method may return either.
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
    """Kind of an ACK."""

    ADVANCE = "advance"
    """It advances the cumulative acknowledgment."""
    DUPLICATE = "duplicate"
    """A duplicate acknowledgment (RFC 5681 §2)."""
    OTHER = "other"
    """Neither: a window update, an old ACK, or an answer to a probe."""


class LimitedBy(str, Enum):
    """Reason for which the sender stopped sending."""

    CONGESTION = "congestion"
    """The congestion window, or the recovery, allowed no more."""
    RECEIVE_WINDOW = "receive_window"
    """The peer's receive window was full."""
    APPLICATION = "application"
    """The application had no more data."""
    PACING = "pacing"
    """It was not yet time for the next segment."""


class LossCause(str, Enum):
    """Cause of a loss, as the sender sees it."""

    CONGESTION = "congestion"
    """A full queue; the window is reduced."""
    WIRELESS = "wireless"
    """The link; the window need not be reduced."""


class Growth(str, Enum):
    """Growth that the recovery permits on an ACK."""

    FROZEN = "frozen"
    """The window stays as it is."""
    ACKED = "acked"
    """The window grows by the cumulatively acknowledged bytes."""
    EVERY_ACK = "every_ack"
    """The window grows by the delivered bytes; every ACK counts, duplicate or not."""


class RtoTimer(str, Enum):
    """Treatment of the retransmission timer."""

    KEEP = "keep"
    """The timer keeps running; it is started if it does not run while data is outstanding."""
    RESTART = "restart"
    """The timer is restarted."""


class Timing(str, Enum):
    """Effect of an ACK on the timed segment, if the sender times one segment at a time."""

    SAMPLE = "sample"
    """If the ACK covers the segment, the segment's age is a sample, which ends the backoff."""
    DISCARD = "discard"
    """If the ACK covers the segment, no sample is taken of it, but the backoff ends."""
    SAMPLE_ECHO = "sample_echo"
    """As with ``DISCARD``, but the age of the timestamp that the ACK echoes is a sample."""
    KEEP = "keep"
    """The segment stays timed, even if the ACK covers it."""
    KEEP_AND_END_BACKOFF = "keep_and_end_backoff"
    """The segment stays timed, but the backoff ends."""


class Exit(str, Enum):
    """End of a recovery that began with a loss event."""

    NO = "no"
    """The recovery has not ended, or there was none."""
    RECOVERY = "recovery"
    """The recovery has ended."""


class TimeoutRule(str, Enum):
    """Interpretation of an expiry of the retransmission timer."""

    CONGESTION = "congestion"
    """Congestion: the control sets the window, and the timeout is doubled."""
    JUDGED = "judged"
    """The loss differentiation judges the cause."""


class Clearance(str, Enum):
    """Condition under which a segment may be sent."""

    WINDOW = "window"
    """If the congestion window has room."""
    IMMEDIATE = "immediate"
    """At once, as a fast retransmit or a probe does."""


class Phase(str, Enum):
    """Phase of a sender. Recoveries return ``OPEN``, ``RECOVERY`` or ``LOSS``."""

    OPEN = "open"
    """Normal operation."""
    DISORDER = "disorder"
    """Segments have been sacked, but none is judged lost yet."""
    REDUCING = "reducing"
    """The window is being reduced without a loss, in response to ECN."""
    RECOVERY = "recovery"
    """Fast recovery."""
    LOSS = "loss"
    """Recovery after a retransmission timeout."""


class Governance(str, Enum):
    """Means by which a control governs transmissions."""

    WINDOW = "window"
    """The window, which the control reduces at loss events."""
    MODEL = "model"
    """A model of the path (BBR); the control receives every transmission."""


class MarkAnswer(str, Enum):
    """Response of a control to congestion marks (ECN)."""

    AS_LOSS = "as_loss"
    """As to a loss, once per window of data (RFC 3168 §6.1.2)."""
    BY_SHARE = "by_share"
    """In proportion to their number, if the receiver counts them (RFC 9768)."""


class Pacing(str, Enum):
    """Pacing of segments. :class:`WindowPacing` derives the pace from the window."""

    OFF = "off"
    """Segments leave as soon as the window and the ACKs allow."""
    RATE = "rate"
    """Segments leave at the rate that ``pacing_rate`` returns, one by one."""


class Reported(str, Enum):
    """Report of the receiver on a segment above the cumulative ACK."""

    MISSING = "missing"
    """The segment was not reported."""
    SACKED = "sacked"
    """A SACK block covers the segment."""


class DeliveredBy(str, Enum):
    """Means by which the receiver reported a segment."""

    CUMULATIVE = "cumulative"
    """The cumulative acknowledgment covered the segment."""
    SACK = "sack"
    """A SACK block covered the segment."""


class EifelRule(str, Enum):
    """ACKs in which the Eifel detection looks for an old timestamp (RFC 3522)."""

    OFF = "off"
    """No ACK."""
    FIRST_ACK = "first_ack"
    """The first advancing ACK after the first retransmission."""
    ANY_ACK = "any_ack"
    """Every advancing ACK until the loss event is over (Linux)."""


class DsackRule(str, Enum):
    """Detection of spurious reductions by DSACK (RFC 3708)."""

    OFF = "off"
    ON = "on"


class FrtoRule(str, Enum):
    """Variant of F-RTO (RFC 5682)."""

    OFF = "off"
    """No F-RTO."""
    SECOND_ACK = "second_ack"
    """The second ACK after a timeout decides, as in the RFC."""
    ANY_ACK = "any_ack"
    """Any ACK may decide, including the first (Linux)."""


class PriorThreshold(str, Enum):
    """Slow start threshold that is restored when a reduction is undone."""

    AS_IT_WAS = "as_it_was"
    """The prior threshold (RFC 9438 §4.9)."""
    THREE_QUARTERS = "three_quarters"
    """The prior threshold, but at least three quarters of the prior window (Linux)."""


class Reduction(str, Enum):
    """Cause of a reduction of the window."""

    LOSS_EVENT = "loss_event"
    """A loss event that was found by ACKs or by the recovery's own timer."""
    TIMEOUT = "timeout"
    """The retransmission timer."""


class Sign(str, Enum):
    """Evidence that a reduction was spurious."""

    TIMESTAMP = "timestamp"
    DSACK = "dsack"
    FRTO = "frto"


@dataclass(frozen=True)
class RtoShortening:
    """A shorter timeout than that of RFC 6298.

    Attributes:
        factor: factor on the timeout, from 0 to 1.
        margin: least margin of the timeout above the smoothed round-trip time, in seconds.
    """

    factor: float
    margin: float


@dataclass(frozen=True)
class WindowPacing:
    """A pace derived from the window, ``factor · cwnd / SRTT``, in bursts, as in Linux.

    Attributes:
        slow_start: factor while ``cwnd`` is less than half of ``ssthresh``.
        avoidance: factor otherwise.
        burst_least: least number of full segments in a burst.
        unpaced: number of segments that a connection sends before pacing begins.
    """

    slow_start: float = 2.0
    avoidance: float = 1.2
    burst_least: int = 2
    unpaced: int = 10


@dataclass(frozen=True)
class UndoRules:
    """Methods by which the sender detects spurious reductions."""

    eifel: EifelRule | str = EifelRule.OFF
    dsack: DsackRule | str = DsackRule.OFF
    frto: FrtoRule | str = FrtoRule.OFF
    threshold: PriorThreshold | str = PriorThreshold.AS_IT_WAS

    OFF: ClassVar[UndoRules]
    """No reduction is ever undone."""
    LINUX: ClassVar[UndoRules]
    """The rules of Linux."""


UndoRules.OFF = UndoRules()
UndoRules.LINUX = UndoRules(
    EifelRule.ANY_ACK, DsackRule.ON, FrtoRule.ANY_ACK, PriorThreshold.THREE_QUARTERS
)


@dataclass(frozen=True)
class Spurious:
    """A reduction that proved spurious.

    Attributes:
        after: cause of the reduction.
        sign: evidence that the reduction was spurious.
    """

    after: Reduction
    sign: Sign

    @property
    def acquits_all(self) -> bool:
        """``True`` if every segment that was judged lost must be reconsidered.

        A DSACK in fast recovery shows only that the retransmitted segments had arrived.
        """
        return self.after is Reduction.TIMEOUT or self.sign is not Sign.DSACK


@dataclass(frozen=True)
class Prior:
    """State before the first reduction of a loss event.

    Attributes:
        window: the window.
    """

    window: Window

    def restored(self, window: Window) -> Window:
        """Return the maximum of ``window`` and the prior window, in both parts (RFC 9438 §4.9)."""
        return Window(
            max(window.cwnd, self.window.cwnd), max(window.ssthresh, self.window.ssthresh)
        )
