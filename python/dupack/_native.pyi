"""The compiled half. Not part of the package's interface."""

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
    """What a connection is.

    Attributes:
        smss: bytes of a full segment.
        seed: another number for each connection, for what is left to chance.
    """

    def __new__(cls, smss: int = 1460, seed: int = 0) -> Context: ...
    @property
    def smss(self) -> int: ...
    @property
    def seed(self) -> int: ...

class Window:
    """The congestion window and the slow start threshold, in bytes. They are real numbers, and what may be
    sent is the whole part.

    >>> window = Window(10_000, 8_000)
    >>> window.in_slow_start
    False
    >>> window.replace(cwnd=5_000)
    Window(cwnd=5000.0, ssthresh=8000.0)
    """

    def __new__(cls, cwnd: float, ssthresh: float = ...) -> Window: ...
    @property
    def cwnd(self) -> float:
        """Congestion window in bytes."""
    @property
    def ssthresh(self) -> float:
        """Slow start threshold in bytes; infinite until something sets it."""
    @property
    def in_slow_start(self) -> bool:
        """Whether the next increase is slow start's."""
    @property
    def whole_bytes(self) -> int:
        """Whole bytes that the window admits."""
    def replace(self, *, cwnd: float | None = None, ssthresh: float | None = None) -> Window:
        """The same with another ``cwnd`` or ``ssthresh``."""

class WindowUse:
    """How far the congestion window was used in a flight."""

    @property
    def filled(self) -> bool:
        """Whether at least once there was no room for a full segment."""
    @property
    def flight_max(self) -> int | None:
        """If not: the most that was outstanding when the sender stopped, in bytes."""

class Segment:
    """What the sender remembers of an outstanding segment, as it stood when it was asked for."""

    @property
    def start(self) -> int:
        """Offset of its first byte."""
    @property
    def end(self) -> int:
        """The offset after its last byte."""
    @property
    def len(self) -> int:
        """Length in bytes."""
    @property
    def transmissions(self) -> int:
        """How often it has been sent."""
    @property
    def sent_at(self) -> float:
        """When it was last sent, in seconds."""
    @property
    def sent_at_ns(self) -> int: ...
    @property
    def order(self) -> int:
        """The place of its last transmission in the order of all transmissions, from 1."""
    @property
    def reported(self) -> Reported:
        """What the receiver said of it."""
    @property
    def is_sacked(self) -> bool:
        """Whether a SACK block covers it."""

class Delivered:
    """A segment of which an ACK is the first to say that it arrived."""

    @property
    def id(self) -> int: ...
    @property
    def segment(self) -> Segment:
        """As it stood before the ACK."""
    @property
    def by(self) -> DeliveredBy: ...

class RttEstimator:
    """Round-trip time and timeout, in seconds, as they stood when they were asked for."""

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time, once there is a sample."""
    @property
    def srtt_ns(self) -> int | None: ...
    @property
    def rttvar(self) -> float:
        """Round-trip time variation."""
    @property
    def rttvar_ns(self) -> int: ...
    @property
    def min(self) -> float | None:
        """The least sample of the connection."""
    @property
    def min_ns(self) -> int | None: ...
    @property
    def latest(self) -> float | None:
        """The last sample."""
    @property
    def latest_ns(self) -> int | None: ...
    @property
    def backoff(self) -> int:
        """Timeouts in a row without the evidence that ends backoff."""
    @property
    def rto(self) -> float:
        """The timeout in force."""
    @property
    def rto_ns(self) -> int: ...

class Scoreboard:
    """Outstanding segments, in sequence order; each has an id, which counts from 0. Valid during the
    call."""

    @property
    def una(self) -> int:
        """The first byte not cumulatively acknowledged (SND.UNA)."""
    @property
    def nxt(self) -> int:
        """The byte after the last one ever sent (SND.NXT)."""
    @property
    def flight_size(self) -> int:
        """Bytes sent and not cumulatively acknowledged."""
    @property
    def forward_ack(self) -> int:
        """The byte after the highest one known to have arrived."""
    @property
    def sacked_bytes(self) -> int: ...
    @property
    def sacked_segments(self) -> int: ...
    @property
    def first(self) -> int:
        """The first outstanding segment's id."""
    @property
    def end(self) -> int:
        """The id that the next new segment will get."""
    @property
    def is_empty(self) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[int, Segment]]: ...
    def get(self, id: int) -> Segment | None:
        """The segment called ``id``, if it is outstanding."""
    def iter_from(self, id: int) -> Iterator[tuple[int, Segment]]:
        """Outstanding segments from ``id`` on, with their ids."""
    def id_at(self, offset: int) -> int:
        """The id of the first outstanding segment that starts at or after ``offset``, or :attr:`end`."""
    def hole(self, offset: int) -> int:
        """Segments missing in a row from the one at ``offset`` on, before the next that is sacked; 1 if
        none is. It walks over the hole."""

class View:
    """A read-only view of the sender. Valid during the call."""

    @property
    def now(self) -> float:
        """The time of the event, in seconds since the start of the run."""
    @property
    def now_ns(self) -> int: ...
    @property
    def scoreboard(self) -> Scoreboard:
        """Outstanding segments."""
    @property
    def window(self) -> Window:
        """The window in force."""
    @property
    def rtt(self) -> RttEstimator:
        """Round-trip time."""
    @property
    def rto_at(self) -> float | None:
        """When the retransmission timer expires, if it runs, in seconds."""
    @property
    def rto_at_ns(self) -> int | None: ...
    @property
    def new_len(self) -> int:
        """Length of the new segment that the application and the peer's window permit now; 0 if none."""
    @property
    def flight_size(self) -> int:
        """Bytes sent and not cumulatively acknowledged."""

class AckFacts:
    """Everything that one ACK told the sender. Valid during the call."""

    @property
    def now(self) -> float:
        """When it arrived, in seconds since the start of the run."""
    @property
    def now_ns(self) -> int: ...
    @property
    def una(self) -> int:
        """The cumulative acknowledgment after it, as a stream offset."""
    @property
    def acked_bytes(self) -> int:
        """Bytes by which it advanced the cumulative acknowledgment."""
    @property
    def delivered_bytes(self) -> int:
        """Bytes that it reported for the first time, cumulatively or by SACK."""
    @property
    def sacked_bytes(self) -> int:
        """Bytes that it reported for the first time by SACK."""
    @property
    def delivered(self) -> tuple[Delivered, ...]:
        """Every segment that it reported for the first time."""
    @property
    def kind(self) -> AckKind:
        """What it is in the sense of RFC 5681 §2."""
    @property
    def dup_acks(self) -> int:
        """Duplicate ACKs in a row, this one included; 0 after an advance."""
    @property
    def dsack(self) -> tuple[int, int] | None:
        """The range that a DSACK reported as received twice."""
    @property
    def prior_flight(self) -> int:
        """FlightSize before the ACK."""
    @property
    def prior_flight_unlimited(self) -> int:
        """The same without what limited transmit has sent."""
    @property
    def prior_in_flight(self) -> int | None:
        """Bytes in flight before the ACK, as the recovery counts them; for a control by a model."""
    @property
    def rtt(self) -> float | None:
        """Round-trip sample in seconds."""
    @property
    def rtt_ns(self) -> int | None: ...
    @property
    def timestamp_echo(self) -> int | None:
        """TSecr, if the connection uses timestamps."""
    @property
    def order_echo(self) -> int | None:
        """The transmission that caused the ACK, if the receiver echoes the order."""
    @property
    def limited_by(self) -> LimitedBy:
        """What stopped the sender when it last stopped sending."""
    @property
    def ecn_echo(self) -> bool:
        """Whether the receiver tells of a mark of congestion."""
    @property
    def marked_packets(self) -> int | None:
        """Packets of which it is the first to tell that they came marked, if the receiver counts them."""
    @property
    def window_use(self) -> WindowUse:
        """How far the window was used in the last flight."""

class Credit:
    """How far the window may grow on an ACK. Valid during the call."""

    @property
    def acks(self) -> int:
        """ACKs to count: 0 or 1."""
    @property
    def bytes(self) -> int:
        """Bytes to count."""
    @property
    def in_flight(self) -> int | None:
        """Bytes in flight, as the recovery counts them; for a control by a model."""
    @property
    def lost_bytes(self) -> int | None:
        """Bytes judged lost since the connection began; for a control by a model."""

class Departure:
    """What a control that sees transmissions is told beside one. Valid during the call."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight as the recovery counts them, the segment included."""
    @property
    def lost_bytes(self) -> int:
        """Bytes judged lost since the connection began."""
    @property
    def limited_by(self) -> LimitedBy:
        """What had stopped the sender when it last stopped sending."""

class Sent:
    """A segment has just been sent. Valid during the call."""

    @property
    def id(self) -> int: ...
    @property
    def segment(self) -> Segment:
        """As it stands now, this transmission included."""
    @property
    def timestamp(self) -> int | None:
        """TSval of this transmission, if the connection uses timestamps."""
    @property
    def why(self) -> SendReason: ...

class LossFacts:
    """A loss event."""

    @property
    def now(self) -> float:
        """When it was found, in seconds since the start of the run."""
    @property
    def now_ns(self) -> int: ...
    @property
    def segment(self) -> Segment:
        """The first segment judged lost."""
    @property
    def rule(self) -> LossRule:
        """By which rule."""
    @property
    def flight_size(self) -> int:
        """FlightSize when the loss was found, without what limited transmit sent."""
    @property
    def flight_within_window(self) -> float:
        """FlightSize, but no more than the window in bytes: what RFC 5681 §3.1 halves."""
    @property
    def window(self) -> Window:
        """The window before the event."""
    @property
    def timeouts(self) -> int:
        """Timeouts in a row, this one included; 0 for a loss found without one."""
    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time in seconds, once there are samples."""
    @property
    def srtt_ns(self) -> int | None: ...
    @property
    def rtt_min(self) -> float | None:
        """The least round-trip time so far, in seconds."""
    @property
    def rtt_min_ns(self) -> int | None: ...
    @property
    def rtt_latest(self) -> float | None:
        """The last round-trip time, in seconds."""
    @property
    def rtt_latest_ns(self) -> int | None: ...
    @property
    def hole(self) -> int:
        """Segments missing in a row, the lost one the first, before the next that is sacked."""
    @property
    def reduced_at(self) -> float | None:
        """When the window was last reduced for congestion, in seconds."""
    @property
    def reduced_at_ns(self) -> int | None: ...
    @property
    def truth(self) -> LossCause | None:
        """What really happened, if the experiment tells the differentiation."""

class LossRule:
    """By which rule a segment was judged lost. Two are the same if their names are.

    >>> LossRule("third", "three duplicate ACKs").name
    'third'
    """

    TIMEOUT: ClassVar[LossRule]
    PROBE: ClassVar[LossRule]
    MARK: ClassVar[LossRule]

    def __new__(cls, name: str, meaning: str) -> LossRule: ...
    @property
    def name(self) -> str:
        """One short word, which tells the rule from all others."""
    @property
    def meaning(self) -> str:
        """What was seen, for people."""

class SendReason:
    """Why a segment is sent."""

    NEW_DATA: ClassVar[SendReason]
    LIMITED_TRANSMIT: ClassVar[SendReason]
    HOLE_FILL: ClassVar[SendReason]
    RESCUE: ClassVar[SendReason]
    TAIL_LOSS_PROBE: ClassVar[SendReason]
    WINDOW_PROBE: ClassVar[SendReason]
    PATH_PROBE: ClassVar[SendReason]

    @staticmethod
    def retransmit(rule: LossRule) -> SendReason:
        """A segment judged lost by ``rule``."""
    @property
    def rule(self) -> LossRule | None:
        """By which rule the segment was judged lost, if it was."""

class LossEvent:
    """The beginning of a loss event.

    Args:
        segment: the id of the first segment judged lost, which is outstanding.
        rule: by which rule.
        repaired: the segment as it stood, if it is not outstanding any more: a probe has repaired the loss.
    """

    def __new__(cls, segment: int, rule: LossRule, repaired: Segment | None = None) -> LossEvent: ...
    @property
    def segment(self) -> int: ...
    @property
    def rule(self) -> LossRule: ...

class Outcome:
    """What a recovery makes of an ACK; nothing, if nothing is said.

    Args:
        loss: a loss event begins: the window is to be reduced, once.
        restore: the window is to be at least this many bytes, before ``limit``.
        limit: the window is to be at most this many bytes, before any growth.
        growth: whether and by what the window may grow on this ACK.
        rto: what happens to the retransmission timer.
        timing: what becomes of the segment being timed.
        exit: whether a recovery is over with this ACK.
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
    """What a recovery makes of its own timer.

    Args:
        loss: a loss event begins.
        rto: what happens to the retransmission timer.
    """

    def __new__(cls, *, loss: LossEvent | None = None, rto: RtoTimer | str | None = None) -> Expiry: ...

class Next:
    """What to send next."""

    NOTHING: ClassVar[Next]
    """Nothing, whatever the window says."""

    @staticmethod
    def new(
        why: SendReason | LossRule | None = None, clearance: Clearance | str | None = None
    ) -> Next:
        """New data, if the window has room; or at once, by ``Clearance.IMMEDIATE``."""
    @staticmethod
    def retransmit(
        id: int, why: SendReason | LossRule, clearance: Clearance | str | None = None
    ) -> Next:
        """The outstanding segment ``id`` again. A rule is the reason that it was lost by it."""

class Reversal:
    """What a recovery makes of a reduction that proves to have been needless."""

    REFUSED: ClassVar[Reversal]
    """It goes on as if nothing were known."""

    @staticmethod
    def done(loss: LossEvent | None = None) -> Reversal:
        """It is out of its recovery. If something is lost all the same, a new loss event begins."""
