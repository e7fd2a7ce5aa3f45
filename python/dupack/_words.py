"""Enumerations and records that the endpoint and an algorithm exchange.

Members of an enumeration are equal to their texts: ``Growth.ACKED == "acked"``. A method may return either of them.
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
    """The ACK advances the cumulative acknowledgment."""
    DUPLICATE = "duplicate"
    """A duplicate acknowledgment (RFC 5681 §2)."""
    OTHER = "other"
    """Any other ACK: a window update, an old ACK, or an answer to a probe."""


class LimitedBy(str, Enum):
    """Reason why the sender stopped sending."""

    CONGESTION = "congestion"
    """The congestion window or the recovery permitted no more data."""
    RECEIVE_WINDOW = "receive_window"
    """The peer's receive window was full."""
    APPLICATION = "application"
    """The application had no more data."""
    PACING = "pacing"
    """The pacing rate permitted the next segment only later."""


class LossCause(str, Enum):
    """Cause of a loss, according to the sender."""

    CONGESTION = "congestion"
    """A full queue. The window is reduced."""
    WIRELESS = "wireless"
    """An error on the link. The window need not be reduced."""


class Growth(str, Enum):
    """Growth that the recovery permits on an ACK."""

    FROZEN = "frozen"
    """The window does not grow."""
    ACKED = "acked"
    """The window grows by the cumulatively acknowledged bytes."""
    EVERY_ACK = "every_ack"
    """The window grows by the delivered bytes. Every ACK counts, including duplicate ACKs."""


class RtoTimer(str, Enum):
    """Treatment of the retransmission timer."""

    KEEP = "keep"
    """The timer keeps running. If it does not run although data is outstanding, it is started."""
    RESTART = "restart"
    """The timer is restarted."""


class Timing(str, Enum):
    """Effect of an ACK on the timed segment, if the sender times one segment at a time."""

    SAMPLE = "sample"
    """If the ACK covers the segment, the age of the segment is a sample, and the backoff ends."""
    DISCARD = "discard"
    """If the ACK covers the segment, no sample is taken, but the backoff ends."""
    SAMPLE_ECHO = "sample_echo"
    """Same as ``DISCARD``, but the age of the timestamp that the ACK echoes is a sample."""
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
    """The expiry is a sign of congestion: the control sets the window, and the timeout is doubled."""
    JUDGED = "judged"
    """The loss differentiation determines the cause."""


class Clearance(str, Enum):
    """Condition under which a segment may be sent."""

    WINDOW = "window"
    """The segment is sent if the congestion window permits it."""
    IMMEDIATE = "immediate"
    """The segment is sent at once, like a fast retransmit or a probe."""


class Phase(str, Enum):
    """Phase of a sender. Recoveries return ``OPEN``, ``RECOVERY`` or ``LOSS``."""

    OPEN = "open"
    """Normal operation."""
    DISORDER = "disorder"
    """Segments have been sacked, but no segment is marked as lost yet."""
    REDUCING = "reducing"
    """The window is being reduced without a loss, in response to ECN."""
    RECOVERY = "recovery"
    """Fast recovery."""
    LOSS = "loss"
    """Recovery after a retransmission timeout."""


class Governance(str, Enum):
    """Method by which a congestion control governs transmissions."""

    WINDOW = "window"
    """By the window, which the control reduces at loss events."""
    MODEL = "model"
    """By a model of the path (BBR). The control is called for every transmission."""


class MarkAnswer(str, Enum):
    """Response of a control to congestion marks (ECN)."""

    AS_LOSS = "as_loss"
    """The same response as to a loss, once per window of data (RFC 3168 §6.1.2)."""
    BY_SHARE = "by_share"
    """A response in proportion to the fraction of marked packets, if the receiver counts them (RFC 9768)."""


class Pacing(str, Enum):
    """Pacing of segments. :class:`WindowPacing` derives the pacing rate from the window."""

    OFF = "off"
    """Segments are sent as soon as the window and the ACKs permit."""
    RATE = "rate"
    """Segments are sent one by one, at the rate that ``pacing_rate`` returns."""


class Reported(str, Enum):
    """Report of the receiver on a segment above the cumulative ACK."""

    MISSING = "missing"
    """No SACK block covers the segment."""
    SACKED = "sacked"
    """A SACK block covers the segment."""


class DeliveredBy(str, Enum):
    """Kind of report by which the receiver acknowledged a segment."""

    CUMULATIVE = "cumulative"
    """The cumulative acknowledgment covered the segment."""
    SACK = "sack"
    """A SACK block covered the segment."""


class EifelRule(str, Enum):
    """ACKs in which the Eifel detection (RFC 3522) looks for an old timestamp."""

    OFF = "off"
    """No ACK: the Eifel detection is off."""
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
    """Slow start threshold that is set when a reduction is undone."""

    AS_IT_WAS = "as_it_was"
    """The prior threshold (RFC 9438 §4.9)."""
    THREE_QUARTERS = "three_quarters"
    """The prior threshold, but at least three quarters of the prior window (Linux)."""


class Reduction(str, Enum):
    """Cause of a reduction of the window."""

    LOSS_EVENT = "loss_event"
    """A loss event that was detected by ACKs or by the recovery's own timer."""
    TIMEOUT = "timeout"
    """An expiry of the retransmission timer."""


class Sign(str, Enum):
    """Evidence that a reduction was spurious."""

    TIMESTAMP = "timestamp"
    DSACK = "dsack"
    FRTO = "frto"


@dataclass(frozen=True)
class RtoShortening:
    """Shortening of the timeout of RFC 6298.

    Attributes:
        factor: factor by which the timeout is multiplied, from 0 to 1.
        margin: minimum difference between the timeout and the smoothed round-trip time, in seconds.
    """

    factor: float
    margin: float


@dataclass(frozen=True)
class WindowPacing:
    """Pacing rate derived from the window, ``factor · cwnd / SRTT``. Segments are sent in bursts, as in Linux.

    Attributes:
        slow_start: factor while ``cwnd`` is less than half of ``ssthresh``.
        avoidance: factor otherwise.
        burst_least: minimum number of full segments in a burst.
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
    """Rules by which no reduction is undone."""
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
        """``True`` if every segment that was marked as lost must be reconsidered.

        A DSACK in fast recovery shows only that the retransmitted segments had arrived, and nothing about the others.
        """
        return self.after is Reduction.TIMEOUT or self.sign is not Sign.DSACK


@dataclass(frozen=True)
class Prior:
    """State before the first reduction of a loss event.

    Attributes:
        window: the window before the reduction.
    """

    window: Window

    def restored(self, window: Window) -> Window:
        """Return the larger ``cwnd`` and the larger ``ssthresh`` of ``window`` and the prior window (RFC 9438 §4.9)."""
        return Window(
            max(window.cwnd, self.window.cwnd), max(window.ssthresh, self.window.ssthresh)
        )
