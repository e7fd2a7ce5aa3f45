//! Times in which nothing happened, and why.
//!
//! TAPO (Zhou et al., CoNEXT 2015; IEEE/ACM ToN 2019) calls it a stall if two packets that are next to one
//! another at the sender, whichever way they go, are further apart than `min(2·SRTT, RTO)`, and tells the kind
//! by what ended it: a packet of the peer, new data, or data sent again; and by what was outstanding. So it is
//! done here, with two differences: what set off a segment that was sent again is known from the
//! explanation, and whether it was needless may come later and is then corrected.

mod arrivals;
mod kind;
mod list;
mod shut;
#[cfg(test)]
mod tests;
mod unseen;

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::View;
use dupack_tcp::options::Sack;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::scoreboard::Reported;
use dupack_tcp::segment::MAX_SACK_BLOCKS;
use dupack_tcp::time::{Duration, Instant};

pub use kind::{Culprit, Remedy, StallKind, WaitedFor};
pub use list::{KindTotal, LISTED_MAX, StallList};

use self::arrivals::Came;
use self::shut::Shut;
use self::unseen::Unseen;
use crate::analyse::cause::{Cause, Retransmission};
use crate::path::one_way::OneWay;
use crate::read::moment::{Analysis, Arrival, Departure, Explained, Stage};
use crate::read::vantage::Place;

/// Stalls and repairs that still may turn out to have been needless, or to be followed by another. Ours: a
/// DSACK comes a round trip after the repair.
const RECENT_MAX: usize = 2 * MAX_SACK_BLOCKS;

/// A stall is longer than this many round trips (TAPO's τ).
const ROUND_TRIPS: u64 = 2;

/// With fewer segments in flight a loss cannot make three duplicate ACKs (RFC 5681 §3.2).
const SMALL_FLIGHT: u64 = 4;

/// So many segments beyond a hole set off a fast retransmit (RFC 5681 §3.2).
const DUP_THRESHOLD: u64 = 3;

/// What a receiver may delay an ACK by, where one segment alone is outstanding (RFC 8985 §7.2: WCDelAckT).
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// An ACK that comes to the sender later than this after it was captured was captured away from it (ours).
const AT_ONCE: Duration = Duration::from_millis(1);

/// RACK waits for this part of a round trip beyond one before it finds a segment lost (RFC 8985 §6.2).
const REORDERING_PART: u64 = 4;

/// A time in which nothing happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// When the packet before it came or left.
    pub from: Instant,
    /// When the packet after it did.
    pub to: Instant,
    /// Why.
    pub kind: StallKind,
    /// Where the sender stood.
    pub stage: Stage,
    /// The packet before it, by its number in the capture.
    pub before: u64,
    /// The packet after it.
    pub after: u64,
    /// What the sender waited for.
    pub waited_for: WaitedFor,
    /// Bytes that were outstanding.
    pub flight: u64,
    /// Segments that were outstanding and not reported.
    pub missing: u64,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// What would have made it shorter.
    pub remedy: Remedy,
}

impl Stall {
    /// How long it was.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// How things stood after a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    at: Instant,
    packet: u64,
    stage: Stage,
    flight: u64,
    /// Segments outstanding, and those of them that are not reported.
    segments: u64,
    missing: u64,
    /// Segments that came after a hole: by SACK, or by duplicate ACKs.
    heard: u64,
    srtt: Option<Duration>,
    /// The least round-trip time.
    least: Option<Duration>,
    rto: Duration,
    window_left: Option<u64>,
    window: Option<u64>,
}

impl Before {
    fn of(at: Instant, packet: u64, stage: Stage, view: &View<'_>) -> Self {
        let board = view.scoreboard;
        let segments = board.len() as u64;
        Self {
            at,
            packet,
            stage,
            flight: board.flight_size(),
            segments,
            heard: board.sacked_segments(),
            missing: segments.saturating_sub(board.sacked_segments()),
            srtt: view.rtt.srtt(),
            least: view.rtt.min(),
            rto: view.rtt.rto(),
            window_left: None,
            window: None,
        }
    }

    /// What is longer is a stall.
    fn threshold(&self) -> Duration {
        self.srtt
            .map_or(self.rto, |srtt| (srtt * ROUND_TRIPS).min(self.rto))
    }
}

/// A repair, until it is known what came of it.
#[derive(Clone, Copy, Debug)]
struct Repair {
    start: u64,
    end: u64,
    by: Timer,
    stall: Option<Stall>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Expired,
    Not,
}

/// Whether what left last ended a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Message {
    #[default]
    NotBegun,
    UnderWay,
    Ended,
}

/// Looks for stalls of one stream.
#[derive(Clone, Debug)]
pub struct Stalls {
    sack: Sack,
    before: Option<Before>,
    message: Message,
    mss: u64,
    /// Bytes of data in a full segment, as far as was announced.
    smss: u64,
    /// When data left last.
    left_at: Instant,
    window: Option<u64>,
    window_left: Option<u64>,
    /// Duplicate ACKs in a row.
    dup_acks: u64,
    /// ACKs since the last that acknowledged something whose SACK blocks name bytes never sent.
    foreign_acks: u64,
    recent: Vec<Repair>,
    /// Whether what a sender sends may be lost before it comes to where the capture was taken.
    distance: Distance,
    /// A timeout for what never came there, until it is known how much that was.
    unseen: Option<Unseen>,
    found: StallList,
    /// Ended by an ACK alone: what follows it tells whether a segment had waited for that ACK.
    held: Option<Stall>,
    /// ACKs that a timer of the receiver sent.
    delays: u64,
    /// The receive window is shut.
    shut: Option<Shut>,
    /// It was, and has opened since the last segment left.
    opened: Option<Stall>,
    /// How late segments come to where the capture was taken, if that is the receiver's end.
    one_way: Option<OneWay>,
    /// Waiting for requests since the last data: it belongs to the transfer only if more data comes.
    idle: StallList,
}

/// Where the capture was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Distance {
    #[default]
    AtSender,
    Away,
}

impl Stalls {
    /// Nothing has happened yet. Without SACK, nothing would have told of what came after a hole, and RACK
    /// and its probes would not have been there.
    #[must_use]
    pub fn new(sack: Sack) -> Self {
        Self {
            sack,
            before: None,
            message: Message::NotBegun,
            mss: 1,
            smss: 1,
            left_at: Instant::ZERO,
            window: None,
            window_left: None,
            dup_acks: 0,
            foreign_acks: 0,
            recent: Vec::new(),
            distance: Distance::AtSender,
            unseen: None,
            found: StallList::default(),
            held: None,
            delays: 0,
            shut: None,
            opened: None,
            one_way: None,
            idle: StallList::default(),
        }
    }

    /// Where the capture was taken.
    pub fn seen_from(&mut self, place: Place) {
        self.one_way = (place == Place::Receiver).then(OneWay::default);
    }

    /// The ACK that arrives next has SACK blocks that name bytes that were never sent.
    pub const fn foreign_sack(&mut self) {
        self.foreign_acks += 1;
    }

    /// Full segments have so many bytes of data, as far as was announced.
    pub fn sized(&mut self, smss: u32) {
        self.smss = u64::from(smss);
    }

    /// `true` if a segment had left before the half of a silence that it ended was over, as its timestamp tells: it was late on the
    /// way.
    fn is_late(&mut self, departure: &Departure<'_>) -> bool {
        let Some((one_way, stamps)) = self.one_way.as_mut().zip(departure.timestamps) else {
            return false;
        };
        let late = one_way.sure_wait(departure.at, stamps.value);
        let since = self.before.map_or(departure.at, |before| before.at);
        late.is_some_and(|late| late.saturating_mul(2) > departure.at.since(since))
    }

    /// The handshake was over then; what comes next is measured from there.
    pub fn opened(&mut self, at: Instant, packet: u64) {
        self.before = Some(Before {
            at,
            packet,
            rto: Duration::from_secs(1),
            ..Before::default()
        });
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> StallList {
        self.tell_unseen();
        self.settle_held();
        self.settle_shut();
        for repair in core::mem::take(&mut self.recent) {
            self.settle(&repair);
        }
        self.doubt_delayed_acks();
        self.found.longest.sort_by_key(|stall| stall.from);
        self.found
    }

    fn settle(&mut self, repair: &Repair) {
        if let Some(stall) = repair.stall {
            self.found.add(stall);
        }
    }

    /// The stall between the last packet and this, if it was one.
    fn gap(&self, at: Instant, packet: u64) -> Option<(Before, Stall)> {
        let before = self.before?;
        if at.since(before.at) <= before.threshold() {
            return None;
        }
        let stall = Stall {
            from: before.at,
            to: at,
            kind: StallKind::Undetermined,
            stage: before.stage,
            before: before.packet,
            after: packet,
            waited_for: WaitedFor::RetransmissionTimer,
            flight: before.flight,
            missing: before.missing,
            srtt: before.srtt,
            remedy: Remedy::None,
        };
        Some((before, stall))
    }

    /// When a tail loss probe would have been sent (RFC 8985 §7.2), if the ends could have had one and it
    /// would have been sooner. The timeout that bounds it there is the one that ended the stall.
    fn probe(&self, before: &Before, waited: Duration) -> Option<Duration> {
        if !self.sack.is_on() {
            return None;
        }
        let pto = before.srtt? * 2;
        let pto = if before.segments <= 1 {
            pto + DELAYED_ACK
        } else {
            pto
        };
        Some(pto).filter(|pto| *pto < waited)
    }

    /// A stall that ended with new data.
    fn by_new_data(&self, before: &Before) -> (StallKind, WaitedFor, Remedy) {
        if self.is_shut(before) {
            return (StallKind::ZeroWindow, WaitedFor::Window, Remedy::Reading);
        }
        let kind = match self.message {
            Message::NotBegun | Message::Ended => StallKind::DataUnavailable,
            Message::UnderWay => StallKind::ResourceConstraint,
        };
        (kind, WaitedFor::Data, Remedy::Application)
    }

    /// A stall that ended with data sent again.
    fn by_repair(&self, before: &Before, again: &Retransmission) -> (StallKind, WaitedFor, Remedy) {
        let waited_for = match again.cause {
            Cause::KeepAlive => return (StallKind::ClientIdle, WaitedFor::Request, Remedy::None),
            Cause::WindowProbe => {
                return (StallKind::ZeroWindow, WaitedFor::Window, Remedy::Reading);
            }
            Cause::TailLossProbe => WaitedFor::ProbeTimer,
            Cause::Timeout { .. } | Cause::Unknown => WaitedFor::RetransmissionTimer,
            // An ACK set it off, which came just before.
            _ => return (StallKind::PacketDelay, WaitedFor::Ack, Remedy::None),
        };
        let kind = self.timer_kind(before, again);
        let waited = again.at.since(before.at);
        (kind, waited_for, self.remedy(kind, before, waited))
    }

    fn timer_kind(&self, before: &Before, again: &Retransmission) -> StallKind {
        if again.need.is_needless() {
            return StallKind::AckDelayOrLoss;
        }
        let expired_before = matches!(again.cause, Cause::Timeout { expiry } if expiry > 1);
        let first = self.repair_of(again);
        if expired_before || first == Some(Timer::Expired) {
            return StallKind::TimeoutDouble;
        }
        if first == Some(Timer::Not) || again.transmission > 2 {
            return StallKind::FastDouble;
        }
        if self.foreign_acks >= DUP_THRESHOLD {
            return StallKind::ForeignSack;
        }
        if before.segments == 0 {
            // What was lost never came to where the capture was taken.
            return StallKind::Undetermined;
        }
        let few = before.missing < SMALL_FLIGHT;
        // What came after the hole was too little for a fast retransmit, as there was no more.
        let tail = few || (1..DUP_THRESHOLD).contains(&before.heard);
        let ended = self.message == Message::Ended;
        match before.stage {
            Stage::Recovery | Stage::Loss if tail && ended => StallKind::TailRecovery,
            _ if tail && ended => StallKind::TailOpen,
            _ if before.segments < SMALL_FLIGHT => self.small_window(before),
            _ if before.missing == before.segments => StallKind::ContinuousLoss,
            // What duplicate ACKs had set off was lost before it came here.
            _ if before.heard >= DUP_THRESHOLD && self.distance == Distance::Away => {
                StallKind::FastDouble
            }
            _ if before.heard >= DUP_THRESHOLD => StallKind::Undetermined,
            _ if before.missing * 2 > before.segments => StallKind::ContinuousLoss,
            _ => self.small_window(before),
        }
    }

    /// Too little was in flight: whose window was it?
    fn small_window(&self, before: &Before) -> StallKind {
        if before.window_left.is_some_and(|left| left < self.mss) {
            StallKind::SmallReceiveWindow
        } else {
            StallKind::SmallCongestionWindow
        }
    }

    fn remedy(&self, kind: StallKind, before: &Before, waited: Duration) -> Remedy {
        let probe = self.probe(before, waited);
        match kind {
            StallKind::TailOpen | StallKind::TailRecovery | StallKind::ContinuousLoss => {
                probe.map_or(Remedy::None, Remedy::TailLossProbe)
            }
            StallKind::FastDouble => match before.srtt {
                Some(srtt) if self.sack.is_on() => Remedy::Rack(srtt + srtt / REORDERING_PART),
                _ => Remedy::None,
            },
            StallKind::SmallCongestionWindow => probe.map_or(Remedy::None, Remedy::EarlyRetransmit),
            StallKind::SmallReceiveWindow => Remedy::ReceiveWindow,
            StallKind::AckDelayOrLoss => Remedy::SpuriousTimeout,
            _ => Remedy::None,
        }
    }

    /// What had sent these bytes again before, if that was lately.
    fn repair_of(&self, again: &Retransmission) -> Option<Timer> {
        let earlier = self.recent.iter().rev();
        earlier
            .filter(|repair| repair.start < again.end && again.start < repair.end)
            .map(|repair| repair.by)
            .next()
    }

    fn remember(&mut self, again: &Retransmission, stall: Option<Stall>) {
        if self.recent.len() >= RECENT_MAX {
            let oldest = self.recent.remove(0);
            self.settle(&oldest);
        }
        let by = match again.cause {
            Cause::Timeout { .. } | Cause::AfterTimeout | Cause::TailLossProbe => Timer::Expired,
            _ => Timer::Not,
        };
        self.recent.push(Repair {
            start: again.start,
            end: again.end,
            by,
            stall,
        });
    }

    /// The first transmission had arrived: whatever sent it again was too early, or the ACK too late.
    fn all_were_needless(&mut self, start: u64, end: u64) {
        for repair in &mut self.recent {
            let stall = repair.stall.as_mut();
            let Some(stall) = stall.filter(|stall| stall.kind.ends_by_timer()) else {
                continue;
            };
            if repair.start < end && start < repair.end {
                stall.kind = StallKind::AckDelayOrLoss;
                stall.remedy = Remedy::SpuriousTimeout;
            }
        }
    }

    /// What was sent again had arrived before: the timer was too early, or the ACK too late.
    fn was_needless(&mut self, start: u64, end: u64) {
        let latest = self.recent.iter_mut().rev();
        let stalls = latest.filter(|repair| repair.start < end && start < repair.end);
        // Each DSACK tells of one more of the same bytes.
        let mut stalls = stalls.filter_map(|repair| repair.stall.as_mut());
        let untold = |stall: &&mut Stall| {
            stall.kind.ends_by_timer() && stall.kind != StallKind::AckDelayOrLoss
        };
        if let Some(stall) = stalls.find(untold) {
            stall.kind = StallKind::AckDelayOrLoss;
            stall.remedy = Remedy::SpuriousTimeout;
        }
    }

    /// Something has arrived that was sent before a silence, and not again: it was not all that was lost, but its ACKs. Whether what
    /// was sent again was lost is not known.
    fn had_arrived(&mut self, sent_at: Instant) {
        let stalls = self
            .recent
            .iter_mut()
            .filter_map(|repair| repair.stall.as_mut());
        for stall in stalls.filter(|stall| stall.kind == StallKind::ContinuousLoss) {
            if sent_at <= stall.from {
                stall.kind = StallKind::AckDelayOrLoss;
                stall.remedy = Remedy::None;
            }
        }
    }

    fn follow(&mut self, at: Instant, packet: u64, stage: Stage, view: &View<'_>) {
        let at = self.before.map_or(at, |before| before.at.max(at));
        let seen = Before::of(at, packet, stage, view);
        // SACK blocks may be rewritten on the way: then duplicate ACKs alone tell.
        let by_dup_acks = self.dup_acks.min(seen.segments.saturating_sub(1));
        let heard = if self.sack.is_on() && seen.heard > 0 {
            seen.heard
        } else {
            by_dup_acks
        };
        self.before = Some(Before {
            window: self.window,
            window_left: self.window_left,
            heard,
            missing: seen.segments.saturating_sub(heard),
            ..seen
        });
    }
}

impl Analysis for Stalls {
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        if !self.idle.is_empty() {
            let idle = core::mem::take(&mut self.idle);
            self.found.absorb(idle);
        }
        self.settle_held();
        let gap = self.gap(departure.at, departure.packet);
        let late = self.is_late(departure);
        let made = |(before, stall): (Before, Stall), told: (StallKind, WaitedFor, Remedy)| {
            let (kind, waited_for, remedy) = told;
            let stall = Stall {
                kind,
                waited_for,
                remedy,
                ..stall
            };
            (before, stall)
        };
        if let Some(again) = explained.retransmission {
            self.note_unseen(departure, again, gap.map(|(before, _)| before));
            let stall = gap.map(|gap| made(gap, self.by_repair(&gap.0, again)).1);
            let stall = stall.and_then(|stall| self.while_open(stall));
            self.remember(again, stall);
        } else if let Some(gap) = gap {
            let told = match late {
                true => (StallKind::PacketDelay, WaitedFor::Ack, Remedy::None),
                false => self.by_new_data(&gap.0),
            };
            let (_, stall) = made(gap, told);
            if let Some(stall) = self.while_open(stall) {
                self.found.add(stall);
            }
        }
        let last = departure.sent.last();
        let last = last.map_or(0, |sent| u64::from(sent.segment.len));
        self.mss = self.mss.max(last);
        self.left_at = departure.at;
        if matches!(departure.kind, SendingKind::First | SendingKind::Both) {
            let flags = departure.flags;
            let pushed = flags.contains(Flags::PSH) || flags.contains(Flags::FIN);
            // Not every sender pushes, and not every push ends a message; a short segment does.
            let ends = pushed || last < self.mss;
            self.message = if ends {
                Message::Ended
            } else {
                Message::UnderWay
            };
        }
        if !matches!(
            departure.kind,
            SendingKind::Repeat | SendingKind::Acknowledged
        ) {
            self.window_left = departure.window_left;
        }
        self.follow(
            departure.at,
            departure.packet,
            explained.stage,
            &departure.view,
        );
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        self.settle_held();
        let came = Came {
            rest: (arrival.view.flight_size() == 0).then_some(arrival.facts.acked_bytes),
            carries: arrival.carried > 0,
        };
        self.count_delay(arrival.at, came);
        self.end_by_arrival(arrival.at, arrival.packet, came);
        if arrival.at.since(arrival.captured) > AT_ONCE {
            self.distance = Distance::Away;
        }
        if explained.stage == Stage::Open {
            self.tell_unseen();
        }
        if let Some((start, end)) = explained.needless {
            self.all_were_needless(start, end);
        }
        if let Some(needless) = arrival.needless {
            self.was_needless(needless.start, needless.end);
        }
        for delivered in arrival.facts.delivered {
            let segment = &delivered.segment;
            if segment.transmissions == 1 && segment.reported == Reported::Missing {
                self.had_arrived(segment.sent_at);
            }
        }
        self.window = arrival.window;
        self.window_left = arrival.window_left;
        self.dup_acks = u64::from(arrival.facts.dup_acks);
        if arrival.facts.acked_bytes > 0 {
            self.foreign_acks = 0;
        }
        self.follow(arrival.at, arrival.packet, explained.stage, &arrival.view);
    }
}
