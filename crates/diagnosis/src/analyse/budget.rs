//! Limit of a stream at every instant.
//!
//! The events of a stream are departing segments and arriving ACKs. Two facts show the limit of the sender between two
//! events: the state at that time (`quiet::Look`: no data outstanding, the receive window full, space left, or none of
//! these), and the event that ended the time without departures (a timer, an ACK just before, or nothing visible).
//! Therefore, the budget does not assign time (`quiet`) until the next segment is sent. It then assigns the time to
//! rounds of about one round trip (`ledger`), whose round-trip times show whether the bottleneck had a queue. The
//! bottleneck's rate is known only at the end. If a round moved data at this rate, the bottleneck was its limit.
//!
//! **A capture does not contain the congestion window.** The congestion window is assumed to be the limit if there is
//! no other one: data was outstanding, the receive window had space, no timer was pending, and the application had more
//! data. The application is assumed to have had more data unless
//! - nothing was outstanding,
//! - the last segment was short and pushed, and no ACK triggered the next one,
//! - less data was in flight than at an earlier time since the last loss, by more than pacing and offload explain, and no
//!   ACK triggered the next segment,
//! - or a new segment was sent without a trigger, at least half a round trip after the last ACK.
//!
//! Linux divides a connection's time in the same way (`tcp_info`: `busy_time`, `rwnd_limited`, `sndbuf_limited`), with
//! three differences. It counts a pause with data outstanding as busy. It counts the wait for a timer as limited by the
//! receiver if the window is full at the same time. It counts a window as full if the next offloaded packet, which has
//! several segments, does not fit. [`Shares::kernel`] contains the times as the kernel counts them.

mod bursts;
#[cfg(test)]
pub(crate) mod film;
mod ledger;
mod limit;
mod quiet;
mod shares;
mod span;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
mod window;

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::View;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::{Duration, Instant};

pub use limit::{Group, Limit};
pub use shares::{Band, Filling, KernelView, PathFacts, Shares, Stamps, Window};

use crate::analyse::cause::{Cause, Retransmission};
use crate::path::one_way::OneWay;
use crate::read::moment::{Analysis, Arrival, Departure, Explained, Stage};
use crate::read::turns::Spent;
use crate::read::vantage::Place;
use bursts::Bursts;
use ledger::Ledger;
use quiet::{Ending, Look, Outstanding, Piece, Quiet, Scale, Settled, Tail};
use shares::Notes;
use span::Kind;
use window::Windows;

/// Default number of intervals stored per stream: enough for figures of ordinary size. They take about 40 kB.
pub const EPOCHS_MAX: usize = 128;

/// Assumed round-trip time before the first sample. Our choice.
const ROUND_TRIP_UNKNOWN: Duration = Duration::from_millis(100);

/// Maximum time from an ACK to a segment that it triggers, in a capture taken at the sender. Our choice: it allows for
/// a busy host, and for interfaces that deliver packets to the capture in batches.
const PROMPT: Duration = Duration::from_millis(1);

/// Maximum time from an ACK to a segment that it triggers, after the end of a message. Our choice: it is many times the
/// time that a host needs to respond.
const PROMPT_AFTER_MESSAGE: Duration = Duration::from_micros(250);

/// Assumed variation of the delay from the sender to the capture point, as the inverse of a fraction of the round-trip
/// time. It is used if the capture was not taken at the sender. Our choice.
const PROMPT_PART: u64 = 8;

/// Inverse of the fraction of the receive window that may be free while the window still limits the sender. A sender
/// with offload waits until a third of the window is free (Linux: `tcp_tso_win_divisor`), and the next ACK may free
/// more space at once.
const EDGE_PART: u64 = 2;

/// Inverse of the fraction of the congestion window that remains after a loss (RFC 5681 §3.1; in CUBIC, 0.7 of the
/// window remains).
const REDUCED_PART: u64 = 2;

/// Minimum delay of a visible queue, absolute and as the inverse of a fraction of the minimum round-trip time; both
/// must be exceeded. Our choice: for HyStart++ (RFC 9406 §4.2), an eighth of the minimum indicates a queue, and delays
/// in clocks and hosts vary by half a millisecond.
const QUEUE_NOISE: Duration = Duration::from_micros(500);
const QUEUE_NOISE_PART: u64 = 8;

/// Minimum delay of a late segment in excess of the minimum delay, as the inverse of a fraction of the round-trip time
/// and absolute. Both must be exceeded (our choice: they allow for the ticks of the sender's clock).
const LATE_PART: u64 = 4;
const LATE_MIN: Duration = Duration::from_millis(2);

/// Minimum number of segments in a round for its round-trip times to be evidence of a queue. In a smaller round, the
/// receiver may have delayed its ACKs.
const QUEUE_SEGMENTS_MIN: u64 = 4;

/// Returns the maximum queueing delay that counts as noise.
fn queue_noise(least: Duration) -> Duration {
    (least / QUEUE_NOISE_PART).max(QUEUE_NOISE)
}

/// Budget of one stream's time.
///
/// ```
/// use dupack_diagnosis::analyse::budget::{Budget, Limit, PathFacts, Terms};
/// use dupack_tcp::time::{Duration, Instant};
///
/// let at = |ms| Instant::ZERO + Duration::from_millis(ms);
/// let mut budget = Budget::new(Terms::new(at(0)));
/// budget.handshake(at(0), at(30));
/// // No segment was sent.
/// let shares = budget.finish(at(100), &PathFacts::default());
/// assert_eq!(shares.of(Limit::Handshake), Duration::from_millis(30));
/// assert_eq!(shares.of(Limit::Idle), Duration::from_millis(70));
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    started: Instant,
    place: Place,
    ack_times: AckTimes,
    clock: Instant,
    look: Look,
    kind: Kind,
    stage: Stage,
    last_arrival: Option<(Instant, Outstanding)>,
    /// Time and packet of the last ACK; `None` unless it acknowledged everything and carried no data.
    last_acked: Option<(Instant, u64)>,
    /// Number of bytes in the last departure; `None` unless it was sent right after an ACK of everything without data.
    held: Option<u64>,
    /// Number of the last packet in which the peer sent data.
    asked_by: u64,
    /// Time of the last departure or of the last ACK that advanced SND.UNA: the start of the timer that expires next.
    moved_at: Instant,
    /// Time of the last departure.
    left_at: Instant,
    /// Last receive window that was granted, and its remaining space, in bytes.
    window: Option<u64>,
    window_left: Option<u64>,
    /// Window field of the last ACK: a lower bound of the window, regardless of its scale.
    field: Option<u16>,
    messages: Messages,
    /// Timestamp of the last departure.
    stamp: Option<u32>,
    /// Relation of the last new data to the edge of the receive window.
    at_edge: Edge,
    /// `true` if the last departure only probed a window without space for a segment.
    probes: bool,
    scale: Scale,
    round: Round,
    quiet: Quiet,
    windows: Windows,
    ledger: Ledger,
    notes: Notes,
    spent: Spent,
    /// Estimator of the delay of segments to the capture point.
    one_way: OneWay,
    bursts: Bursts,
}

/// Initial parameters of a [`Budget`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Terms {
    /// Start of the stream: the time of its SYN, or of its first packet.
    pub started: Instant,
    /// Number of data bytes in a full segment, as announced; 0 if no size was announced.
    pub segment_size: u32,
    /// Place where the capture was taken.
    pub place: Place,
    /// Source of the times at which the sender receives an ACK.
    pub ack_times: AckTimes,
    /// Maximum number of intervals to store.
    pub epochs_max: usize,
}

impl Terms {
    /// Creates the parameters of a stream that began at `started`, captured at the sender, with [`EPOCHS_MAX`]
    /// intervals.
    #[must_use]
    pub const fn new(started: Instant) -> Self {
        Self {
            started,
            segment_size: 0,
            place: Place::Sender,
            ack_times: AckTimes::Known,
            epochs_max: EPOCHS_MAX,
        }
    }
}

/// Messages of the application, delimited by pushed segments (RFC 9293 §3.9.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Messages {
    /// Number of messages that ended.
    ends: u64,
    /// Number of new bytes that were sent.
    bytes: u64,
}

impl Messages {
    fn left(&mut self, departure: &Departure<'_>, new: u64) {
        self.ends += u64::from(departure.flags.contains(Flags::PSH));
        self.bytes = self.bytes.saturating_add(new);
    }

    /// `true` if a message has few segments, on average. The kernel sets PSH on the last segment that it holds. If the
    /// sender always has more data to send, only one segment per 64 kB has PSH.
    const fn are_short(&self, mss: u64) -> bool {
        let most = MESSAGE_SEGMENTS.saturating_mul(mss);
        self.ends >= MESSAGES_MIN && self.bytes <= most.saturating_mul(self.ends)
    }
}

/// Maximum mean number of segments of a short message, and the minimum number of completed messages (our choice).
const MESSAGE_SEGMENTS: u64 = 4;
const MESSAGES_MIN: u64 = 4;

/// Source of the times at which the sender receives ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTimes {
    /// The times are known: the capture was taken at the sender, or the handshake shows the distance.
    Known,
    /// The times are inferred from the segments that the sender sends.
    Guessed,
}

/// Relation of the last new data to the edge of the receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Reached,
    Away,
}

/// State of a round. A round is over when everything that was outstanding at its beginning has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    UnderWay,
    Over,
}

impl Budget {
    /// Creates the budget of a stream without events.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        let started = terms.started;
        Self {
            started,
            place: terms.place,
            ack_times: terms.ack_times,
            clock: started,
            look: Look::Empty,
            kind: Kind::Idle,
            stage: Stage::Open,
            last_arrival: None,
            last_acked: None,
            held: None,
            asked_by: 0,
            moved_at: started,
            left_at: started,
            window: None,
            window_left: None,
            field: None,
            messages: Messages::default(),
            stamp: None,
            at_edge: Edge::Away,
            probes: false,
            scale: Scale {
                round_trip: ROUND_TRIP_UNKNOWN,
                timeout: Duration::from_secs(1),
            },
            round: Round::UnderWay,
            quiet: Quiet::new(),
            windows: Windows::new(u64::from(terms.segment_size)),
            ledger: Ledger::new(started, terms.epochs_max),
            notes: Notes::default(),
            spent: Spent::default(),
            one_way: OneWay::default(),
            bursts: Bursts::default(),
        }
    }

    /// Returns the time that the sender spent on anything other than sending, up to the last departure.
    pub(crate) const fn spent(&self) -> Spent {
        self.spent
    }

    /// Returns the number of segments that waited for an ACK because of Nagle's algorithm.
    pub(crate) const fn nagle_waits(&self) -> u64 {
        self.notes.nagle_waits
    }

    /// Returns the total time for which the receive window was closed and limited the sender, up to the last departure.
    pub(crate) const fn shut_for(&self) -> Duration {
        self.notes.shut()
    }

    /// `true` if the receive window is closed now: it is zero, or it has no space for a segment and no data is
    /// outstanding.
    pub(crate) const fn is_shut(&self) -> bool {
        matches!(self.look, Look::Shut(_))
    }

    /// Records a handshake that lasted from `from` until `to`. This function must be called before any later event is
    /// recorded.
    pub fn handshake(&mut self, from: Instant, to: Instant) {
        self.pass(from);
        self.kind = Kind::Handshake;
        self.pass(to);
        self.kind = Kind::Idle;
    }

    /// Ends the stream at `end`: the last ACK of its last byte, a FIN, a RST, or the end of the capture. If a later
    /// event was recorded, the stream ends with that event.
    #[must_use]
    pub fn finish(mut self, end: Instant, path: &PathFacts) -> Shares {
        let last = self.clock;
        self.pass(end);
        self.settle(Ending::End { last });
        let end = self.clock;
        let mss = self.windows.mss();
        self.notes.delivered = self.ledger.delivered_bytes();
        let (epochs, rtt_min) = self.ledger.finish();
        let path = PathFacts {
            rtt_min: path.rtt_min.or(rtt_min),
            ..*path
        };
        let mut shares = shares::divide(&epochs, self.started, end, mss, &self.notes, &path);
        shares.ack_times = self.ack_times;
        shares
    }

    /// Records data of the peer in `packet`. The application's next data is the response to this data. Therefore, an
    /// earlier ACK did not trigger it, even if this ACK is recorded later because the capture was not taken at the
    /// sender.
    pub(crate) fn asked(&mut self, packet: u64) {
        self.asked_by = self.asked_by.max(packet);
    }

    /// Advances the clock to `at`; the clock never goes back.
    fn pass(&mut self, at: Instant) {
        let from = self.clock;
        self.clock = from.max(at);
        let piece = Piece {
            from,
            to: self.clock,
            look: self.look,
            kind: self.kind,
            delivered: 0,
        };
        if let Some(settled) = self.quiet.push(piece) {
            self.give(settled);
        }
    }

    fn settle(&mut self, ending: Ending) {
        let mut quiet = core::mem::replace(&mut self.quiet, Quiet::new());
        quiet.settle(ending, self.scale, |settled| self.give(settled));
        self.quiet = quiet;
        self.end_round();
    }

    fn give(&mut self, settled: Settled) {
        let from = self.ledger.current().to;
        let time = settled.to.since(from);
        self.notes
            .passed(&settled, time, self.window, self.scale.round_trip);
        if matches!(
            settled.kind,
            Kind::Pause | Kind::ReceiveWindow | Kind::ZeroWindow
        ) && time > self.scale.round_trip / quiet::PAUSE_PART
        {
            self.windows.held_by_others();
        }
        let slot = match settled.kind {
            Kind::Recovery | Kind::RetransmissionTimer | Kind::ProbeTimer => {
                Some(&mut self.spent.repair)
            }
            Kind::ReceiveWindow | Kind::ZeroWindow => Some(&mut self.spent.window),
            Kind::Idle | Kind::Pause => Some(&mut self.spent.paused),
            _ => None,
        };
        if let Some(slot) = slot {
            *slot += time;
        }
        let round_trip = self.scale.round_trip;
        self.ledger.add(&settled, round_trip);
    }

    fn prompt(&self) -> Duration {
        let at_sender = PROMPT.min(self.scale.round_trip / 2);
        at_sender.max(self.elsewhere())
    }

    /// Returns the assumed variation of the delay from the sender to the capture point; zero in a capture at the
    /// sender.
    fn elsewhere(&self) -> Duration {
        if self.place == Place::Sender {
            Duration::ZERO
        } else {
            self.scale.round_trip / PROMPT_PART
        }
    }

    /// `true` if a segment smaller than a full one fills the window. A sender does this after it has waited in vain for
    /// more space (RFC 9293 §3.8.6.2.1). Such a segment acts as a window probe.
    fn overrides_silly_window(&self, departure: &Departure<'_>) -> bool {
        let len = departure.end.saturating_sub(departure.start);
        let fills = departure.window_left == Some(0) && len < self.windows.mss();
        fills && matches!(self.look, Look::Shut(Outstanding::Nothing))
    }

    /// Returns the event that ended the time without departures before a segment.
    fn ending(&self, departure: &Departure<'_>, again: Option<&Retransmission>) -> Ending {
        let at = self.clock;
        if let Some(again) = again {
            let since = self.moved_at;
            return match again.cause {
                Cause::Timeout { .. } => Ending::Timer {
                    kind: Kind::RetransmissionTimer,
                    since,
                },
                Cause::TailLossProbe => Ending::Timer {
                    kind: Kind::ProbeTimer,
                    since,
                },
                Cause::KeepAlive | Cause::WindowProbe => Ending::Probe,
                _ => Ending::Repair,
            };
        }
        if departure.kind == SendingKind::Empty || departure.kind == SendingKind::Acknowledged {
            return Ending::Probe;
        }
        if self.probes {
            return Ending::Probe;
        }
        let prompt = if self.quiet.has_ended() {
            // The application had no more data, so only an ACK just before the segment may have triggered it.
            match self.place {
                Place::Sender => self.prompt().min(PROMPT_AFTER_MESSAGE),
                _ => self.prompt().min(PROMPT),
            }
        } else {
            self.prompt()
        };
        if self.ack_times == AckTimes::Known && self.waited_for_ack(departure, prompt) {
            return Ending::LastAck;
        }
        match self.last_arrival {
            Some((came, left)) if at.since(came) <= prompt => Ending::Ack(left),
            Some((came, _)) => Ending::Nothing { last_ack: came },
            None => Ending::Nothing {
                last_ack: self.started,
            },
        }
    }

    /// `true` if a short segment waited for the ACK of the previous short segment, as with Nagle's algorithm. An
    /// application does not notice an ACK without data, so there is no other explanation of a segment right after such
    /// an ACK.
    fn waited_for_ack(&self, departure: &Departure<'_>, prompt: Duration) -> bool {
        let len = departure.end.saturating_sub(departure.start);
        let short = len > 0 && len < self.windows.mss() && self.quiet.has_ended();
        let prompt = prompt.min(PROMPT_AFTER_MESSAGE.max(self.elsewhere()));
        let bare = self
            .last_acked
            .is_some_and(|(came, by)| by > self.asked_by && self.clock.since(came) <= prompt);
        // The last segment of a stream is not delayed by Nagle's algorithm (Linux: `tcp_nagle_check`).
        let held = !departure.flags.contains(Flags::FIN);
        held && short && bare && departure.kind == SendingKind::First && self.stage == Stage::Open
    }

    /// Returns the event that ended the time without departures, if the segment seems to have waited for an ACK. If the
    /// previous segment had the same size and also seemed to wait, both may be messages of an application that writes
    /// about once per round trip (with a shorter period, messages would sometimes share a segment). In this case, the
    /// waiting time is unknown, and the segment counts as triggered by the ACK.
    fn unless_periodic(&mut self, ending: Ending, len: u64) -> Ending {
        let held = (ending == Ending::LastAck).then_some(len);
        let before = core::mem::replace(&mut self.held, held);
        if held.is_none() || before != held {
            return ending;
        }
        self.notes.nagle_perhaps += self.clock.since(self.left_at);
        Ending::Ack(Outstanding::Nothing)
    }

    /// `true` if a time without packets in the middle of a message lasted longer than a retransmission timeout,
    /// although no data was visibly outstanding. In this case, the remaining part of the message may have been lost
    /// before the capture point.
    fn was_cut_short(&self, ending: Ending) -> bool {
        let long = self.clock.since(self.left_at) > self.scale.timeout;
        let unseen = self.place != Place::Sender && self.look == Look::Empty;
        unseen && long && self.quiet.has_more() && matches!(ending, Ending::Nothing { .. })
    }

    fn rescale(&mut self, view: &View<'_>) {
        if let Some(srtt) = view.rtt.srtt() {
            self.scale.round_trip = srtt;
        }
        self.scale.timeout = view.rtt.rto();
    }

    /// Updates the state, which is valid until the next event.
    fn look_around(&mut self, view: &View<'_>) {
        let flight = view.flight_size();
        let outstanding = if flight > 0 {
            Outstanding::Something
        } else {
            Outstanding::Nothing
        };
        let repairing = matches!(self.stage, Stage::Recovery | Stage::Loss);
        self.kind = if repairing {
            Kind::Recovery
        } else {
            self.windows.kind()
        };
        let is_tiny = self
            .window_left
            .is_some_and(|left| left < self.windows.mss());
        self.look = if self.window == Some(0) || (self.probes && flight > 0) {
            Look::Shut(outstanding)
        } else if flight == 0 && is_tiny && self.at_edge == Edge::Reached {
            // The window has no space for a segment, so a sender that avoids silly windows waits (RFC 9293 §3.8.6.2.1).
            Look::Shut(outstanding)
        } else if flight == 0 {
            Look::Empty
        } else if self.at_edge == Edge::Reached && !self.is_window_smaller(view) {
            Look::Full
        } else if self.stage == Stage::Open && self.windows.has_ample_room(flight) {
            Look::Ample
        } else if self.stage == Stage::Open && self.windows.has_room(flight) {
            Look::Room
        } else {
            Look::Other
        };
    }
}

impl Analysis for Budget {
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        let together = self.left_together(departure, explained);
        let late = self.lateness(departure).filter(|_| !together);
        self.probes = self.overrides_silly_window(departure);
        self.pass(departure.at - late.unwrap_or_default());
        let len = departure.end.saturating_sub(departure.start);
        if self.place == Place::Receiver && late.is_none() {
            // If the capture point is after the bottleneck, the segment has just passed the bottleneck.
            self.quiet.delivered(len);
        }
        if !together {
            let ending = self.ending(departure, explained.retransmission);
            let ending = self.unless_periodic(ending, len);
            if matches!(ending, Ending::Nothing { .. }) && self.quiet.may_have_rest() {
                self.notes.nagle_perhaps += self.clock.since(self.left_at);
            }
            self.notes.nagle_waits += u64::from(ending == Ending::LastAck);
            let guessed = self.ack_times == AckTimes::Guessed;
            if guessed && self.waited_for_ack(departure, self.scale.round_trip) {
                self.notes.nagle_perhaps += self.clock.since(self.left_at);
            }
            if self.was_cut_short(ending) {
                self.notes.cut_short += self.clock.since(self.left_at);
            }
            self.settle(ending);
        }
        if late.is_some() {
            self.pass_under_way(departure);
        }
        (self.moved_at, self.left_at) = (self.clock, self.clock);
        let view = &departure.view;
        self.rescale(view);
        self.stage = explained.stage;
        let last = departure
            .sent
            .last()
            .map_or(0, |sent| u64::from(sent.segment.len));
        let new = matches!(departure.kind, SendingKind::First | SendingKind::Both);
        if let Some(again) = explained.retransmission {
            self.notes.repeated(again);
            if is_loss(again.cause) {
                self.windows.reduced();
                if !self.notes.repairing {
                    self.ledger.loss();
                    self.notes.losses += 1;
                }
            }
        }
        self.notes.repairing = matches!(self.stage, Stage::Recovery | Stage::Loss);
        if new {
            let now = self.clock;
            let flight = if self.stage == Stage::Open {
                view.flight_size()
            } else {
                0
            };
            self.windows
                .left(now, len, last, flight, self.scale.timeout);
        }
        // An acknowledged segment is not in the scoreboard, but its retransmission counts as sent.
        let again = explained.retransmission;
        let repeats = again.is_some_and(|again| !again.cause.class().is_probe());
        let left = departure.sent.len().max(usize::from(repeats));
        self.notes.sent(left);
        let segments = departure.sent.len() as u64;
        self.notes.after_bursts += self.bursts.came(departure.at, segments);
        self.notes.stamps = match departure.timestamps {
            Some(_) => Stamps::Seen,
            None => Stamps::Missing,
        };
        let mss = self.windows.mss();
        self.ledger
            .set_bytes_min(mss.saturating_mul(QUEUE_SEGMENTS_MIN));
        // A retransmission is far from the edge of the window and does not move it.
        if new {
            let flight = view.flight_size().saturating_add(mss);
            let room = self.field.map(u64::from).filter(|field| *field >= flight);
            self.notes.left(departure.window_left.or(room));
            self.window_left = departure.window_left;
            let full = departure.window_left.is_some_and(|left| left < mss);
            self.at_edge = if full { Edge::Reached } else { Edge::Away };
        }
        self.messages.left(departure, if new { len } else { 0 });
        if new {
            self.quiet.begin(self.tail_of(departure));
        }
        self.look_around(view);
        if together {
            self.quiet.relabel(self.look, self.kind);
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        self.pass(arrival.at);
        let view = &arrival.view;
        self.rescale(view);
        self.stage = explained.stage;
        let facts = &arrival.facts;
        if let Some(rtt) = facts.rtt {
            self.ledger.sample(rtt);
            self.notes.rtt(rtt);
        }
        self.ledger.delivered(facts.delivered_bytes);
        if self.place != Place::Receiver {
            self.quiet.delivered(facts.delivered_bytes);
        }
        if facts.acked_bytes > 0 {
            self.moved_at = self.clock;
            let has_room = arrival
                .window_left
                .is_none_or(|left| left >= self.windows.mss());
            if self.stage == Stage::Open && has_room {
                self.quiet.advanced(self.clock);
            }
        }
        if facts.ecn_echo.is_set() {
            self.windows.reduced();
        }
        let flight = view.flight_size();
        if flight == 0 {
            self.windows.emptied(self.clock);
        }
        self.last_arrival = Some((
            self.clock,
            if flight == 0 {
                Outstanding::Nothing
            } else {
                Outstanding::Something
            },
        ));
        let bare = flight == 0 && facts.acked_bytes > 0 && arrival.carried == 0;
        self.last_acked = bare.then_some((self.clock, arrival.packet));
        self.look_for_end_of_round(view);
        self.probes = false;
        self.window = arrival.window;
        self.window_left = arrival.window_left;
        self.field = arrival.field;
        if let (Some(window), Some(left)) = (arrival.window, arrival.window_left)
            && left > window / EDGE_PART
            && left >= self.windows.mss()
        {
            self.at_edge = Edge::Away;
        }
        self.look_around(view);
    }
}

impl Budget {
    /// Returns the delay of a segment to the capture point in excess of the minimum delay, from its timestamp; `None`
    /// if the segment is not late.
    fn lateness(&mut self, departure: &Departure<'_>) -> Option<Duration> {
        let stamps = departure
            .timestamps
            .filter(|_| self.place != Place::Sender)?;
        let late = self.one_way.sure_wait(departure.at, stamps.value)?;
        let noise = (self.scale.round_trip / LATE_PART).max(LATE_MIN);
        Some(late).filter(|late| *late > noise)
    }

    /// Advances the clock to the arrival of a late segment. During this time, the segment was in transit, and the
    /// sender waited for its ACK.
    fn pass_under_way(&mut self, departure: &Departure<'_>) {
        let new = matches!(departure.kind, SendingKind::First | SendingKind::Both);
        let ends_message = new && self.tail_of(departure) == Tail::EndOfMessage;
        if self.look == Look::Empty {
            (self.look, self.kind) = (Look::Other, self.windows.kind());
            if ends_message {
                // After the end of a message, the application had no more data to send.
                self.kind = Kind::Pause;
            }
        }
        self.pass(departure.at);
        self.quiet
            .delivered(departure.end.saturating_sub(departure.start));
        self.settle(Ending::Repair);
    }

    /// Returns the position of the segment in its message, according to PSH, the size of the segment and the space in
    /// the window.
    fn tail_of(&self, departure: &Departure<'_>) -> Tail {
        let flags = departure.flags;
        let pushed = flags.contains(Flags::PSH) || flags.contains(Flags::FIN);
        let last = departure.sent.last();
        let last = last.map_or(0, |sent| u64::from(sent.segment.len));
        // A short segment may also fill a window that has no space for a full segment.
        let fills = departure
            .window_left
            .is_some_and(|left| left.saturating_add(last) < self.windows.mss());
        if pushed && last < self.windows.mss() && !fills {
            Tail::EndOfMessage
        } else if !pushed && self.messages.ends > 0 && last >= self.windows.mss() {
            match self.messages.are_short(self.windows.mss()) {
                true => Tail::Rest,
                false => Tail::More,
            }
        } else {
            Tail::Full
        }
    }

    /// `true` if new data was sent together with the previous segment, although the bottleneck spaced them before they
    /// were captured: their timestamps are equal.
    fn left_together(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) -> bool {
        let value = departure.timestamps.map(|stamps| stamps.value);
        let before = core::mem::replace(&mut self.stamp, value);
        self.place != Place::Sender
            && value.is_some()
            && value == before
            && departure.kind == SendingKind::First
            && explained.retransmission.is_none()
            && self.stage == Stage::Open
    }

    /// `true` if the congestion window, which was reduced after a loss, is the limit rather than a full receive window.
    fn is_window_smaller(&self, view: &View<'_>) -> bool {
        let flight = view.flight_size();
        let pipe = flight.saturating_sub(view.scoreboard.sacked_bytes());
        let more = pipe.saturating_add(self.windows.mss());
        match self.stage {
            Stage::Loss => true,
            Stage::Recovery => more.saturating_mul(REDUCED_PART) > flight,
            Stage::Open | Stage::Disorder => false,
        }
    }

    fn look_for_end_of_round(&mut self, view: &View<'_>) {
        let board = view.scoreboard;
        let arrived = board.forward_ack().max(board.una());
        let flight = if self.stage == Stage::Open {
            board.flight_size()
        } else {
            0
        };
        let Some(flights) = self.windows.arrived(arrived, board.nxt(), flight) else {
            return;
        };
        self.ledger.current().flights.merge(&flights);
        self.round = Round::Over;
    }

    /// Ends the round if it is over. The round's time must have been assigned.
    fn end_round(&mut self) {
        if core::mem::replace(&mut self.round, Round::UnderWay) == Round::Over {
            self.ledger.end_round();
        }
    }
}

/// `true` if a sender reduces its window for `cause`.
const fn is_loss(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::KeepAlive | Cause::WindowProbe | Cause::TailLossProbe | Cause::Unknown
    )
}
