//! What every instant of a stream was limited by.
//!
//! Time passes between events: a segment leaves, an ACK comes. What limited the sender meanwhile is said by
//! how things stood then (`quiet::Look`: nothing outstanding, the receive window full, room left, or
//! neither) and by what ended the silence: a timer, an ACK just before, or nothing that is seen. So time waits
//! (`quiet`) until the next segment leaves, and is given away then, into rounds of about a round trip
//! (`ledger`), where the round-trip times say whether a queue stood before the bottleneck. The bottleneck's
//! rate is known at the end alone, and a round that moved data at that rate was limited by it.
//!
//! **The congestion window is not in a capture.** That the sender was held by it follows from the absence of
//! all else: data was outstanding, the receive window had room, no timer was waited for, and the application
//! had more. It had more unless
//! - nothing was outstanding,
//! - the last segment was short and pushed, and no ACK set off the next one,
//! - less was in flight than had been since the last loss, by more than pacing and offload explain, and no
//!   ACK set off the next segment,
//! - or a new segment left by itself, half a round trip or more after the last ACK.
//!
//! Linux divides a connection's time alike (`tcp_info`: `busy_time`, `rwnd_limited`, `sndbuf_limited`), with
//! three differences: it counts a pause with data outstanding as busy, the wait for a timer as limited by the
//! receiver where the window was full as well, and a window that has no room for the next large segment of
//! offload as full. [`Shares::kernel`] is its view.

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

/// Stretches of time kept per stream, for figures of ordinary size: some 40 kB.
pub const EPOCHS_MAX: usize = 128;

/// A round-trip time before there is a sample. Ours.
const ROUND_TRIP_UNKNOWN: Duration = Duration::from_millis(100);

/// An ACK sets off what leaves within this time, where the capture was taken at the sender. Ours: what a busy
/// host takes, with captures of interfaces that gather packets.
const PROMPT: Duration = Duration::from_millis(1);

/// After the end of a message, within this time. Ours: many times what a host takes to answer.
const PROMPT_AFTER_MESSAGE: Duration = Duration::from_micros(250);

/// Elsewhere the way from the sender to there varies by this part of a round trip. Ours.
const PROMPT_PART: u64 = 8;

/// The part of the receive window that may be free while it still is what holds the sender: who sends large
/// segments waits until a third is free (Linux: `tcp_tso_win_divisor`), and some more comes at once.
const EDGE_PART: u64 = 2;

/// What a loss leaves of a congestion window, as its inverse (RFC 5681 §3.1; CUBIC leaves 0.7).
const REDUCED_PART: u64 = 2;

/// A queue is seen if it delays by more than this, or this part of the least round-trip time. Ours: HyStart
/// (RFC 9406 §4.2) calls an eighth a queue; clocks and hosts are uneven by half a millisecond.
const QUEUE_NOISE: Duration = Duration::from_micros(500);
const QUEUE_NOISE_PART: u64 = 8;

/// A segment came late if it was under way for longer than at best by this part of a round trip, and by this time (ours: ticks of
/// its sender's clock).
const LATE_PART: u64 = 4;
const LATE_MIN: Duration = Duration::from_millis(2);

/// A round with fewer segments says nothing about queues: its ACKs may have been delayed by the receiver.
const QUEUE_SEGMENTS_MIN: u64 = 4;

/// What is no queue, but noise.
fn queue_noise(least: Duration) -> Duration {
    (least / QUEUE_NOISE_PART).max(QUEUE_NOISE)
}

/// The budget of one stream's time.
///
/// ```
/// use dupack_diagnosis::analyse::budget::{Budget, Limit, PathFacts, Terms};
/// use dupack_tcp::time::{Duration, Instant};
///
/// let at = |ms| Instant::ZERO + Duration::from_millis(ms);
/// let mut budget = Budget::new(Terms::new(at(0)));
/// budget.handshake(at(0), at(30));
/// // Nothing was ever sent.
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
    /// When the last ACK came, if it was for everything and had no data with it, and the packet that it is.
    last_acked: Option<(Instant, u64)>,
    /// Bytes of what left last, if it was sent as soon as such an ACK came.
    held: Option<u64>,
    /// The last packet with data of the peer.
    asked_by: u64,
    /// When something left, or an ACK moved SND.UNA: since then a timer runs that expires next.
    moved_at: Instant,
    /// When something left last.
    left_at: Instant,
    /// The receive window that was granted last, and what of it is left.
    window: Option<u64>,
    window_left: Option<u64>,
    /// The field of the last ACK: whatever its scale, the window is no smaller.
    field: Option<u16>,
    messages: Messages,
    /// The timestamp of what left last.
    stamp: Option<u32>,
    /// Whether the sender last stopped because the receive window was full.
    at_edge: Edge,
    /// `true` if what left last only asks whether a window without room for a segment has opened.
    probes: bool,
    scale: Scale,
    round: Round,
    quiet: Quiet,
    windows: Windows,
    ledger: Ledger,
    notes: Notes,
    spent: Spent,
    /// How late segments come to where the capture was taken.
    one_way: OneWay,
    bursts: Bursts,
}

/// What a budget must be told before it begins.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Terms {
    /// When the stream began: its SYN was sent then, or it was first seen.
    pub started: Instant,
    /// Bytes of data in a full segment, as far as was announced; 0 if nothing was.
    pub segment_size: u32,
    /// Where the capture was taken.
    pub place: Place,
    /// The source of the times at which the sender has an ACK.
    pub ack_times: AckTimes,
    /// So many stretches of it are told apart at most.
    pub epochs_max: usize,
}

impl Terms {
    /// A stream that began at `started`, captured at the sender, with [`EPOCHS_MAX`] stretches.
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

/// Messages of the application, as pushed segments end them (RFC 9293 §3.9.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Messages {
    /// So many ended.
    ends: u64,
    /// New bytes that left.
    bytes: u64,
}

impl Messages {
    fn left(&mut self, departure: &Departure<'_>, new: u64) {
        self.ends += u64::from(departure.flags.contains(Flags::PSH));
        self.bytes = self.bytes.saturating_add(new);
    }

    /// `true` if a message has few segments, on average. The kernel pushes the last segment of what it holds: of a sender that
    /// always has more to send, one of 64 kB.
    const fn are_short(&self, mss: u64) -> bool {
        let most = MESSAGE_SEGMENTS.saturating_mul(mss);
        self.ends >= MESSAGES_MIN && self.bytes <= most.saturating_mul(self.ends)
    }
}

/// Segments of a short message, and the messages that must be known (ours).
const MESSAGE_SEGMENTS: u64 = 4;
const MESSAGES_MIN: u64 = 4;

/// How it is known when the sender has an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTimes {
    /// The capture was taken at the sender, or the handshake tells how far it is.
    Known,
    /// By what the sender sends.
    Guessed,
}

/// Whether the receive window was what stopped the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Reached,
    Away,
}

/// Whether all that was outstanding when a round began has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    UnderWay,
    Over,
}

impl Budget {
    /// Nothing of the stream was told yet.
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

    /// Returns the time that was spent otherwise than in sending, up to the last segment that left.
    pub(crate) const fn spent(&self) -> Spent {
        self.spent
    }

    /// Returns how often a segment had waited for an ACK by Nagle's algorithm.
    pub(crate) const fn nagle_waits(&self) -> u64 {
        self.notes.nagle_waits
    }

    /// Returns the time so far in which the receive window was shut and held the sender, up to the last segment that left.
    pub(crate) const fn shut_for(&self) -> Duration {
        self.notes.shut()
    }

    /// `true` if the receive window is shut now: it is zero, or has no room for a segment and nothing is outstanding.
    pub(crate) const fn is_shut(&self) -> bool {
        matches!(self.look, Look::Shut(_))
    }

    /// The handshake took from then to then. To be called before anything that comes later is told.
    pub fn handshake(&mut self, from: Instant, to: Instant) {
        self.pass(from);
        self.kind = Kind::Handshake;
        self.pass(to);
        self.kind = Kind::Idle;
    }

    /// The stream ended: the last ACK of its last byte came, a FIN or a RST, or the capture was over. If more
    /// than that was told, it ended with the last that was.
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

    /// Data of the peer came in `packet`: what the application sends next, it sends for that, and not because an ACK came before.
    /// Where the capture was taken elsewhere, that ACK may be told later than the data.
    pub(crate) fn asked(&mut self, packet: u64) {
        self.asked_by = self.asked_by.max(packet);
    }

    /// Time passed until `at`; it never goes back.
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

    /// By how much the way from the sender varies.
    fn elsewhere(&self) -> Duration {
        if self.place == Place::Sender {
            Duration::ZERO
        } else {
            self.scale.round_trip / PROMPT_PART
        }
    }

    /// Whether a segment fills what little room a window has, as one that waited for more does in the end
    /// (RFC 9293 §3.8.6.2.1): a probe of the window in effect.
    fn overrides_silly_window(&self, departure: &Departure<'_>) -> bool {
        let len = departure.end.saturating_sub(departure.start);
        let fills = departure.window_left == Some(0) && len < self.windows.mss();
        fills && matches!(self.look, Look::Shut(Outstanding::Nothing))
    }

    /// What ended the silence before a segment.
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
            // The application had no more, and an ACK that came a while ago let nothing go.
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

    /// `true` if a short segment had waited for the ACK of a short one before it, as Nagle's algorithm has it: no application
    /// hears of an ACK without data, so that nothing else sends at once when it comes.
    fn waited_for_ack(&self, departure: &Departure<'_>, prompt: Duration) -> bool {
        let len = departure.end.saturating_sub(departure.start);
        let short = len > 0 && len < self.windows.mss() && self.quiet.has_ended();
        let prompt = prompt.min(PROMPT_AFTER_MESSAGE.max(self.elsewhere()));
        let bare = self
            .last_acked
            .is_some_and(|(came, by)| by > self.asked_by && self.clock.since(came) <= prompt);
        // What ends the stream is not held back (Linux: `tcp_nagle_check`).
        let held = !departure.flags.contains(Flags::FIN);
        held && short && bare && departure.kind == SendingKind::First && self.stage == Stage::Open
    }

    /// One segment of the same size after each ACK may be the messages of an application whose period is about a round trip: if it
    /// wrote sooner, messages would come together in a segment now and then. How long each waited for its ACK is not known.
    fn unless_periodic(&mut self, ending: Ending, len: u64) -> Ending {
        let held = (ending == Ending::LastAck).then_some(len);
        let before = core::mem::replace(&mut self.held, held);
        if held.is_none() || before != held {
            return ending;
        }
        self.notes.nagle_perhaps += self.clock.since(self.left_at);
        Ending::Ack(Outstanding::Nothing)
    }

    /// `true` if a silence came in the middle of a message, with nothing outstanding as far as was seen, and was longer than a
    /// timer runs: before the capture, the rest of the message may have been lost.
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

    /// How things look from now on.
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
            // No room for a segment, and who avoids silly windows waits (RFC 9293 §3.8.6.2.1).
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
            // What is seen behind the bottleneck has passed it just before.
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
        // What is acknowledged already is in no scoreboard, and left all the same.
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
        // What is sent again lies far from the edge of the window, and does not move it.
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
    /// How long a segment was under way to where the capture was taken, beyond the least time, as its timestamp tells.
    fn lateness(&mut self, departure: &Departure<'_>) -> Option<Duration> {
        let stamps = departure
            .timestamps
            .filter(|_| self.place != Place::Sender)?;
        let late = self.one_way.sure_wait(departure.at, stamps.value)?;
        let noise = (self.scale.round_trip / LATE_PART).max(LATE_MIN);
        Some(late).filter(|late| *late > noise)
    }

    /// Time passes until a segment comes that had left before: it is on its way, and the sender waits for its ACK.
    fn pass_under_way(&mut self, departure: &Departure<'_>) {
        let new = matches!(departure.kind, SendingKind::First | SendingKind::Both);
        let ends_message = new && self.tail_of(departure) == Tail::EndOfMessage;
        if self.look == Look::Empty {
            (self.look, self.kind) = (Look::Other, self.windows.kind());
            if ends_message {
                // Its application had no more to send.
                self.kind = Kind::Pause;
            }
        }
        self.pass(departure.at);
        self.quiet
            .delivered(departure.end.saturating_sub(departure.start));
        self.settle(Ending::Repair);
    }

    /// The end of a message, or not: by PSH, by its size, and by the room in the window.
    fn tail_of(&self, departure: &Departure<'_>) -> Tail {
        let flags = departure.flags;
        let pushed = flags.contains(Flags::PSH) || flags.contains(Flags::FIN);
        let last = departure.sent.last();
        let last = last.map_or(0, |sent| u64::from(sent.segment.len));
        // Of a window that has no room for a full segment, a short one takes what there is.
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

    /// Whether new data left together with that before it, though where the capture was taken the bottleneck
    /// has spread them: their timestamps are the same.
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

    /// Whether the congestion window, which a loss has made smaller, is what holds the sender rather than a
    /// receive window that is full.
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

    /// Ends the round, if it is over: not before its time is given away.
    fn end_round(&mut self) {
        if core::mem::replace(&mut self.round, Round::UnderWay) == Round::Over {
            self.ledger.end_round();
        }
    }
}

/// Whether a sender makes its window smaller for it.
const fn is_loss(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::KeepAlive | Cause::WindowProbe | Cause::TailLossProbe | Cause::Unknown
    )
}
