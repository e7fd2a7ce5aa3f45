"""Compiled half of the package. This module is not part of the public interface."""

from collections.abc import Callable
from pathlib import Path
from collections.abc import Iterator
from typing import Any, ClassVar

from ._declare import Declaration
from ._failures import Failure
from ._words import (
    AckKind,
    Clearance,
    DeliveredBy,
    Exit,
    Growth,
    LimitedBy,
    LossCause,
    Reported,
    RtoTimer,
    Timing,
)

_Tick = Callable[[int, int, list[str]], object]

def engine() -> str: ...
def schema() -> str: ...
def default_stacks() -> list[str]: ...
def to_toml(fields: str) -> str: ...
def from_toml(text: str) -> str: ...
def evaluate(
    stacks: list[str],
    catalog: Catalog,
    keys: list[str],
    quick: bool,
    jobs: int,
    suite: Path | None = None,
    tick: _Tick | None = None,
) -> str: ...
def paper(
    key: str, quick: bool, jobs: int, tick: _Tick | None = None
) -> tuple[str, list[tuple[str, str]]]: ...
def paper_list() -> list[tuple[str, str]]: ...
def diagnose(
    path: Path,
    catalog: Catalog,
    selected: dict[str, str | None],
    what_if: bool = True,
    stacks: list[str] | None = None,
    tick: _Tick | None = None,
    both: Path | None = None,
) -> tuple[str, str]: ...
def script(
    paths: list[Path],
    catalog: Catalog,
    stack: str | None = None,
    dialect: str = "linux",
    tolerance_s: float = 0.004,
) -> str: ...

class Catalog:
    def register(self, declaration: Declaration, replaces: bool) -> None: ...
    def listing(self, name: str | None) -> str: ...
    def text(self, name: str | None, width: int | None) -> str: ...
    def canonical(self, stack: str) -> str: ...
    def deployment(self, stack: str) -> str: ...

class Table:
    @property
    def columns(self) -> list[str]: ...
    @property
    def units(self) -> list[tuple[str, str]]: ...
    @property
    def descriptions(self) -> list[tuple[str, str]]: ...
    @property
    def rows(self) -> int: ...
    def column(self, name: str) -> tuple[Any, str]: ...
    def rows_of(self, most: int) -> list[dict[str, Any]]: ...
    def write_parquet(self, path: Path) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Plan:
    def __new__(
        cls, text: str, name: str, folder: Path, catalog: Catalog, harm: bool
    ) -> Plan: ...
    @property
    def stacks(self) -> list[str]: ...
    @property
    def points(self) -> list[str]: ...
    @property
    def runs(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def first_seed(self) -> int: ...
    def table(self, name: str) -> Table: ...
    def ledger(
        self,
        jobs: int,
        tick: _Tick | None = None,
        folder: Path | None = None,
        resume: bool = False,
    ) -> tuple[Ledger, BaseException | None]: ...
    def run(
        self,
        jobs: int,
        tick: _Tick | None = None,
        folder: Path | None = None,
        resume: bool = False,
    ) -> tuple[Results, BaseException | None]: ...
    def stream(
        self,
        folder: Path,
        jobs: int,
        tick: _Tick | None = None,
        resume: bool = False,
        parts: str | None = None,
    ) -> tuple[Streamed | None, BaseException | None]: ...
    def perform(self, order: bytes) -> tuple[bytes, BaseException | None, list[Failure]]: ...
    def trace(self, point: int, stack: int, seed: int, flow: int | None = None) -> Trace: ...

class Streamed:
    @property
    def warnings(self) -> list[str]: ...
    @property
    def text(self) -> str: ...

class Ledger:
    def order(
        self, packets: int, runs_max: int, parts: int
    ) -> tuple[int, bytes, int, int] | None: ...
    def enter(self, parcel: bytes) -> int: ...
    def give_up(self, number: int) -> None: ...
    def told(self) -> tuple[int, int, list[str]]: ...
    def results(self, failures: list[Failure]) -> tuple[Results, BaseException | None]: ...

class Results:
    @property
    def failures(self) -> list[Failure]: ...
    @property
    def planned(self) -> int: ...
    @property
    def missing(self) -> int: ...
    @property
    def stacks(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...
    def json(self) -> str: ...
    def text(self, width: int | None) -> str: ...
    def csv(self) -> tuple[bytes, bytes]: ...
    def write(self, folder: Path) -> None: ...
    def figures(self) -> list[tuple[str, str]]: ...

class Trace:
    @property
    def stack(self) -> str: ...
    @property
    def end(self) -> float: ...
    @property
    def delivered_bytes(self) -> int: ...
    @property
    def stats(self) -> list[tuple[str, int]]: ...
    def packets(self) -> Table: ...
    def windows(self) -> Table: ...

def features() -> list[tuple[str, str, str, float, float]]: ...

class Environments:
    def __new__(
        cls,
        text: str,
        folder: Path,
        catalog: Catalog,
        preset: str,
        settings: str,
        count: int,
        threads: int,
        autoreset: str,
    ) -> Environments: ...
    @property
    def agents(self) -> list[str]: ...
    @property
    def observation_space(self) -> tuple[list[str], list[float], list[float]]: ...
    @property
    def action_space(self) -> tuple[list[str], list[float], list[float]]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def settings(self) -> str: ...
    @property
    def threads(self) -> int: ...
    def fingerprint(self, on: bool) -> None: ...
    def reset(
        self,
        observations: Any,
        seed: int | None = None,
        seeds: list[int] | None = None,
        which: list[bool] | None = None,
        fixed: str | None = None,
    ) -> None: ...
    def step(
        self, actions: Any, observations: Any, rewards: Any, terminated: Any, truncated: Any
    ) -> None: ...
    def last_observations(self, into: Any) -> None: ...
    def infos(self, which: list[int]) -> list[dict[str, Any] | None]: ...

class Context:
    """Properties of a connection.

    Attributes:
        smss: size of a full segment, in bytes.
        seed: seed for random numbers. Each connection has a different seed.
    """

    def __new__(cls, smss: int = 1460, seed: int = 0) -> Context: ...
    @property
    def smss(self) -> int: ...
    @property
    def seed(self) -> int: ...

class Window:
    """The congestion window and the slow start threshold, in bytes.

    Both are real numbers. The sender uses the congestion window rounded down to whole bytes.

    >>> window = Window(10_000, 8_000)
    >>> window.in_slow_start
    False
    >>> window.replace(cwnd=5_000)
    Window(cwnd=5000.0, ssthresh=8000.0)
    """

    def __new__(cls, cwnd: float, ssthresh: float = ...) -> Window: ...
    @property
    def cwnd(self) -> float:
        """The congestion window in bytes."""
    @property
    def ssthresh(self) -> float:
        """The slow start threshold in bytes. It is infinite until the first reduction."""
    @property
    def in_slow_start(self) -> bool:
        """``True`` if the next increase belongs to slow start."""
    @property
    def whole_bytes(self) -> int:
        """The congestion window, rounded down to whole bytes."""
    def replace(self, *, cwnd: float | None = None, ssthresh: float | None = None) -> Window:
        """Return a copy with a different ``cwnd`` or ``ssthresh``."""

class WindowUse:
    """Usage of the congestion window during a flight."""

    @property
    def filled(self) -> bool:
        """``True`` if at least once the window did not permit a further full segment."""
    @property
    def flight_max(self) -> int | None:
        """The maximum number of outstanding bytes when the sender stopped; ``None`` if the window was filled."""

class Segment:
    """Copy of the sender's record of an outstanding segment."""

    @property
    def start(self) -> int:
        """The stream offset of the first byte."""
    @property
    def end(self) -> int:
        """The stream offset after the last byte."""
    @property
    def len(self) -> int:
        """The length in bytes."""
    @property
    def transmissions(self) -> int:
        """The number of transmissions of the segment."""
    @property
    def sent_at(self) -> float:
        """The time of the last transmission, in seconds since the start of the run."""
    @property
    def sent_at_ns(self) -> int: ...
    @property
    def order(self) -> int:
        """The number of the last transmission among all transmissions of the connection, counted from 1."""
    @property
    def reported(self) -> Reported:
        """The receiver's report on the segment."""
    @property
    def is_sacked(self) -> bool:
        """``True`` if a SACK block covers the segment."""

class Delivered:
    """A segment that an ACK reported as delivered for the first time."""

    @property
    def id(self) -> int: ...
    @property
    def segment(self) -> Segment:
        """The record of the segment before the ACK."""
    @property
    def by(self) -> DeliveredBy: ...

class RttEstimator:
    """Copy of the round-trip times and the timeout, in seconds."""

    @property
    def srtt(self) -> float | None:
        """The smoothed round-trip time; ``None`` before the first sample."""
    @property
    def srtt_ns(self) -> int | None: ...
    @property
    def rttvar(self) -> float:
        """The round-trip time variation."""
    @property
    def rttvar_ns(self) -> int: ...
    @property
    def min(self) -> float | None:
        """The minimum round-trip time sample of the connection."""
    @property
    def min_ns(self) -> int | None: ...
    @property
    def latest(self) -> float | None:
        """The latest round-trip time sample."""
    @property
    def latest_ns(self) -> int | None: ...
    @property
    def backoff(self) -> int:
        """The number of consecutive timeouts since the backoff last ended."""
    @property
    def rto(self) -> float:
        """The current retransmission timeout."""
    @property
    def rto_ns(self) -> int: ...

class Scoreboard:
    """The outstanding segments, in sequence order. Each segment has an id, counted from 0.

    The object is valid only during the call.
    """

    @property
    def una(self) -> int:
        """The first byte that is not cumulatively acknowledged (SND.UNA)."""
    @property
    def nxt(self) -> int:
        """The byte after the highest byte that was sent (SND.NXT)."""
    @property
    def flight_size(self) -> int:
        """The number of bytes that were sent and are not cumulatively acknowledged."""
    @property
    def forward_ack(self) -> int:
        """The byte after the highest byte that is known to have arrived."""
    @property
    def sacked_bytes(self) -> int: ...
    @property
    def sacked_segments(self) -> int: ...
    @property
    def first(self) -> int:
        """The id of the first outstanding segment."""
    @property
    def end(self) -> int:
        """The id that the next new segment will get."""
    @property
    def is_empty(self) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[int, Segment]]: ...
    def get(self, id: int) -> Segment | None:
        """Return the segment ``id``, or ``None`` if it is not outstanding."""
    def iter_from(self, id: int) -> Iterator[tuple[int, Segment]]:
        """Iterate over outstanding segments and their ids in sequence order, starting at ``id``."""
    def id_at(self, offset: int) -> int:
        """Return the id of the first outstanding segment that starts at or after ``offset``.

        If there is no such segment, return :attr:`end`.
        """
    def hole(self, offset: int) -> int:
        """Return the number of consecutive missing segments from ``offset`` to the next sacked segment.

        The number is 1 if no segment after ``offset`` is sacked. The duration of the call is proportional to the
        length of the hole.
        """

class View:
    """A read-only view of the sender. It is valid only during the call."""

    @property
    def now(self) -> float:
        """The time of the event, in seconds since the start of the run."""
    @property
    def now_ns(self) -> int: ...
    @property
    def scoreboard(self) -> Scoreboard:
        """The outstanding segments."""
    @property
    def window(self) -> Window:
        """The current window."""
    @property
    def rtt(self) -> RttEstimator:
        """The round-trip times and the retransmission timeout."""
    @property
    def rto_at(self) -> float | None:
        """The expiry of the retransmission timer, in seconds since the start of the run.

        ``None`` if the timer is off.
        """
    @property
    def rto_at_ns(self) -> int | None: ...
    @property
    def new_len(self) -> int:
        """The length in bytes of the new segment that the application and the receive window permit; 0 if none."""
    @property
    def flight_size(self) -> int:
        """The number of bytes that were sent and are not cumulatively acknowledged."""

class AckFacts:
    """Data of one ACK. The object is valid only during the call."""

    @property
    def now(self) -> float:
        """The arrival time, in seconds since the start of the run."""
    @property
    def now_ns(self) -> int: ...
    @property
    def una(self) -> int:
        """The cumulative acknowledgment after the ACK, as a stream offset."""
    @property
    def acked_bytes(self) -> int:
        """The number of bytes by which the ACK advanced the cumulative acknowledgment."""
    @property
    def delivered_bytes(self) -> int:
        """The number of bytes that the ACK reported as delivered for the first time, cumulatively or by SACK."""
    @property
    def sacked_bytes(self) -> int:
        """The number of bytes that the ACK reported by SACK for the first time."""
    @property
    def delivered(self) -> tuple[Delivered, ...]:
        """The segments that the ACK reported as delivered for the first time."""
    @property
    def kind(self) -> AckKind:
        """The kind of the ACK, as in RFC 5681 §2."""
    @property
    def dup_acks(self) -> int:
        """The number of consecutive duplicate ACKs, including this one; 0 after an advance."""
    @property
    def dsack(self) -> tuple[int, int] | None:
        """The range of stream offsets that a DSACK reported as received twice; ``None`` without a DSACK."""
    @property
    def prior_flight(self) -> int:
        """FlightSize before the ACK, in bytes."""
    @property
    def prior_flight_unlimited(self) -> int:
        """FlightSize before the ACK, without segments sent by limited transmit, in bytes."""
    @property
    def prior_in_flight(self) -> int | None:
        """The bytes in flight before the ACK, as counted by the recovery; only under ``Governance.MODEL``."""
    @property
    def rtt(self) -> float | None:
        """The round-trip time sample, in seconds."""
    @property
    def rtt_ns(self) -> int | None: ...
    @property
    def timestamp_echo(self) -> int | None:
        """The value TSecr, if the connection uses timestamps."""
    @property
    def order_echo(self) -> int | None:
        """The number of the transmission that caused the ACK, if the receiver echoes it."""
    @property
    def limited_by(self) -> LimitedBy:
        """The reason why the sender last stopped sending."""
    @property
    def ecn_echo(self) -> bool:
        """``True`` if the receiver echoes a congestion mark."""
    @property
    def marked_packets(self) -> int | None:
        """The number of marked packets that the ACK reported for the first time, if the receiver counts them."""
    @property
    def window_use(self) -> WindowUse:
        """The usage of the window during the last flight."""

class Credit:
    """Limit of the window's growth on an ACK. The object is valid only during the call."""

    @property
    def acks(self) -> int:
        """The number of ACKs for which the window grows: 0 or 1."""
    @property
    def bytes(self) -> int:
        """The number of bytes for which the window grows (RFC 3465)."""
    @property
    def in_flight(self) -> int | None:
        """The bytes in flight, as counted by the recovery; only under ``Governance.MODEL``."""
    @property
    def lost_bytes(self) -> int | None:
        """The number of bytes marked as lost since the connection began; only under ``Governance.MODEL``."""

class Departure:
    """State of the sender at a transmission, for a control under ``Governance.MODEL``.

    The object is valid only during the call.
    """

    @property
    def in_flight(self) -> int:
        """The bytes in flight, as counted by the recovery, including the segment."""
    @property
    def lost_bytes(self) -> int:
        """The number of bytes marked as lost since the connection began."""
    @property
    def limited_by(self) -> LimitedBy:
        """The reason why the sender had last stopped sending."""

class Sent:
    """A segment that has just been sent. The object is valid only during the call."""

    @property
    def id(self) -> int: ...
    @property
    def segment(self) -> Segment:
        """The record of the segment after this transmission."""
    @property
    def timestamp(self) -> int | None:
        """The value TSval of this transmission, if the connection uses timestamps."""
    @property
    def why(self) -> SendReason: ...

class LossFacts:
    """A loss event."""

    @property
    def now(self) -> float:
        """The time at which the loss was detected, in seconds since the start of the run."""
    @property
    def now_ns(self) -> int: ...
    @property
    def segment(self) -> Segment:
        """The first segment that was marked as lost."""
    @property
    def rule(self) -> LossRule:
        """The rule that marked this segment as lost."""
    @property
    def flight_size(self) -> int:
        """FlightSize when the loss was detected, without segments sent by limited transmit, in bytes."""
    @property
    def flight_within_window(self) -> float:
        """FlightSize, limited to the window, in bytes. RFC 5681 §3.1 halves this value."""
    @property
    def window(self) -> Window:
        """The window before the event."""
    @property
    def timeouts(self) -> int:
        """The number of consecutive timeouts, including this one; 0 for a loss that was detected without a timeout."""
    @property
    def srtt(self) -> float | None:
        """The smoothed round-trip time, in seconds; ``None`` before the first sample."""
    @property
    def srtt_ns(self) -> int | None: ...
    @property
    def rtt_min(self) -> float | None:
        """The minimum round-trip time so far, in seconds."""
    @property
    def rtt_min_ns(self) -> int | None: ...
    @property
    def rtt_latest(self) -> float | None:
        """The latest round-trip time, in seconds."""
    @property
    def rtt_latest_ns(self) -> int | None: ...
    @property
    def hole(self) -> int:
        """The number of consecutive missing segments from the lost segment to the next sacked segment.

        The number is 1 if no later segment is sacked.
        """
    @property
    def reduced_at(self) -> float | None:
        """The time of the last reduction for congestion, in seconds since the start of the run.

        ``None`` if there was no such reduction.
        """
    @property
    def reduced_at_ns(self) -> int | None: ...
    @property
    def truth(self) -> LossCause | None:
        """The real cause of the loss, if the experiment reveals it to the differentiation."""

class LossRule:
    """Rule that marks segments as lost. Rules with the same name are equal.

    >>> LossRule("third", "three duplicate ACKs").name
    'third'
    """

    TIMEOUT: ClassVar[LossRule]
    PROBE: ClassVar[LossRule]
    MARK: ClassVar[LossRule]

    def __new__(cls, name: str, meaning: str) -> LossRule: ...
    @property
    def name(self) -> str:
        """The unique name of the rule, which is one word."""
    @property
    def meaning(self) -> str:
        """Description of the evidence, for people."""

class SendReason:
    """Reason to send a segment."""

    NEW_DATA: ClassVar[SendReason]
    LIMITED_TRANSMIT: ClassVar[SendReason]
    HOLE_FILL: ClassVar[SendReason]
    RESCUE: ClassVar[SendReason]
    TAIL_LOSS_PROBE: ClassVar[SendReason]
    WINDOW_PROBE: ClassVar[SendReason]
    PATH_PROBE: ClassVar[SendReason]

    @staticmethod
    def retransmit(rule: LossRule) -> SendReason:
        """Return the reason for retransmitting a segment that ``rule`` marked as lost."""
    @property
    def rule(self) -> LossRule | None:
        """The rule that marked the segment as lost, or ``None``."""

class LossEvent:
    """The beginning of a loss event.

    Args:
        segment: id of the first segment that was marked as lost. The segment is outstanding unless ``repaired``.
        rule: rule that marked this segment as lost.
        repaired: copy of the segment, if a probe has repaired the loss and the segment is no longer outstanding.
    """

    def __new__(cls, segment: int, rule: LossRule, repaired: Segment | None = None) -> LossEvent: ...
    @property
    def segment(self) -> int: ...
    @property
    def rule(self) -> LossRule: ...

class Outcome:
    """Return value of a recovery for an ACK. All arguments are optional.

    Args:
        loss: a loss event that begins. The window is reduced once.
        restore: minimum window in bytes; applied before ``limit``.
        limit: maximum window in bytes; applied before any growth.
        growth: growth of the window that this ACK permits.
        rto: treatment of the retransmission timer.
        timing: effect on the timed segment.
        exit: ``Exit.RECOVERY`` if a recovery ends with this ACK.
    """

    def __new__(
        cls,
        *,
        loss: LossEvent | None = None,
        restore: float | None = None,
        limit: float | None = None,
        growth: Growth | str | None = None,
        rto: RtoTimer | str | None = None,
        timing: Timing | str | None = None,
        exit: Exit | str | None = None,
    ) -> Outcome: ...

class Expiry:
    """Return value of a recovery for the expiry of its own timer.

    Args:
        loss: a loss event that begins.
        rto: treatment of the retransmission timer.
    """

    def __new__(cls, *, loss: LossEvent | None = None, rto: RtoTimer | str | None = None) -> Expiry: ...

class Next:
    """The next segment to send."""

    NOTHING: ClassVar[Next]
    """No segment, even if the window permits one."""

    @staticmethod
    def new(
        why: SendReason | LossRule | None = None, clearance: Clearance | str | None = None
    ) -> Next:
        """Send new data if the window permits it, or at once with ``Clearance.IMMEDIATE``."""
    @staticmethod
    def retransmit(
        id: int, why: SendReason | LossRule, clearance: Clearance | str | None = None
    ) -> Next:
        """Retransmit the outstanding segment ``id``. If ``why`` is a rule, this rule marked the segment as lost."""

class Reversal:
    """Return value of a recovery for a spurious reduction."""

    REFUSED: ClassVar[Reversal]
    """The recovery continues unchanged."""

    @staticmethod
    def done(loss: LossEvent | None = None) -> Reversal:
        """End the recovery. If a segment is lost nevertheless, ``loss`` begins a new loss event."""
