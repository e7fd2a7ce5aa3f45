//! The path, read off one stream of data on it: the least round-trip time, the bottleneck's rate and room,
//! losses and their kinds, reordering, how ACKs come, and policers.
//!
//! [`Survey`] is told of every event and keeps what is bounded; [`Survey::path`] makes the [`Path`] of it.
//! Each number comes with its interval, or with why it cannot be told from here.
//!
//! What arrives is known at the sender by ACKs, and how long it took by their round-trip times. At the
//! receiver it is seen itself, and how long it waited is known by the sender's timestamps, if there are
//! any. From between both it is read as at the sender, but that what happened before is not to be seen.

mod acks;
pub(crate) mod bins;
mod company;
mod delivery;
mod evenness;
pub(crate) mod intervals;
mod losses;
pub(crate) mod one_way;
mod over_time;
mod past;
mod policer;
mod rate;
mod reordering;
mod round_trips;
mod sack_compression;
pub(crate) mod series;
mod summary;
#[cfg(test)]
mod tests;
mod votes;
pub mod writes;

use std::collections::VecDeque;

use dupack_algorithms::catalog::Catalog;
use dupack_tcp::facts::{AckKind, SendReason};
use dupack_tcp::replay::SendingKind;
use dupack_tcp::scoreboard::{Delivered, Segment};
use dupack_tcp::time::{Duration, Instant};

pub use acks::Acknowledging;
pub use company::Company;
pub use intervals::DEVIATIONS;
pub use losses::{Bursts, Clustering};
pub use policer::Policer;
pub use rate::Steadiness;
pub use reordering::Reordering;
pub use round_trips::Spread;
pub use summary::{Path, Room, Transfer};
pub use votes::Vote;

use crate::analyse::cause::{Cause, Need, Repeat, Retransmission};
use crate::read::moment::{Analysis, Arrival, Departure, Explained, Stage};
use crate::read::turns::Message;
use crate::read::vantage::{Place, Vantage};
use acks::Acks;
use bins::LogBins;
use delivery::{Delivery, News, Rest};
use losses::{Losses, Lost, Surety};
use one_way::OneWay;
use over_time::OverTime;
use rate::Rates;
use reordering::Overtaking;
use round_trips::{Length, RoundTrips};
use series::Series;
use votes::Judges;
use writes::Writes;

/// Bytes of the headers of IP and TCP without options (RFC 791, RFC 8200, RFC 9293).
const IPV4_TCP: u64 = 40;
const IPV6_TCP: u64 = 60;
/// What timestamps add, with padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

/// What leaves within this time leaves together (ours: a host's own link takes less for a few segments).
const TOGETHER: Duration = Duration::from_micros(100);

/// A segment that lacks more than one of so many parts is short (ours: options take some bytes of some).
const FULL_PARTS: u64 = 10;

/// So many repairs wait for their ACKs (ours): those of one recovery.
const UNPROVEN: usize = 64;

/// What is gathered of the path of one stream.
#[derive(Debug)]
pub struct Survey {
    smss: u64,
    /// Bytes of the headers of a data packet, once one has been seen.
    headers: u64,
    place: Place,
    /// How far the sender is.
    distance: Distance,
    /// The round trip of the handshake, if the capture has it.
    handshake: Option<Duration>,
    trips: RoundTrips,
    /// At the receiver: what stands for the least delay, of which only the waiting beyond it is known.
    way: Option<Duration>,
    one_way: OneWay,
    rates: Rates,
    over_time: OverTime,
    series: Series,
    losses: Losses,
    judges: Judges,
    overtaking: Overtaking,
    acks: Acks,
    writes: Writes,
    course: policer::Course,
    /// Deliveries of which the delay is known.
    timed: u64,
    transfer: Seen,
    stage: Stage,
    /// Repairs of which no ACK tells yet whether they were needed.
    unproven: VecDeque<Unproven>,
    /// What was sent again without having been lost: a DSACK for it takes back nothing.
    uncounted: VecDeque<(u64, u64)>,
}

/// A repair, and the timestamp it left with.
#[derive(Clone, Copy, Debug)]
struct Unproven {
    start: u64,
    end: u64,
    stamp: u32,
}

/// How the transfer went.
#[derive(Clone, Debug, Default)]
struct Seen {
    first: Option<Instant>,
    /// When something was last acknowledged.
    last: Instant,
    bytes: u64,
    acked: u64,
    /// For how long something was outstanding.
    active: Duration,
    active_since: Option<Instant>,
    timeouts: u64,
    retransmissions: u64,
    /// The windows that ACKs granted, and the largest of them.
    windows: LogBins<8>,
    window_max: u64,
    /// The most that was outstanding at once.
    flight_max: u64,
    duplicates: Duplicates,
}

/// Whether it is known how long ACKs are on their way from where the capture was taken to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    Known,
    /// As above; the handshake, whose segments are short, took this.
    KnownOfShort(Duration),
    Unknown,
}

/// What the receiver says of what came out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Duplicates {
    /// Nothing came so.
    #[default]
    None,
    /// Duplicate ACKs, which do not say what came.
    Bare,
    /// SACK blocks.
    Sack,
}

impl Survey {
    /// Of a stream of segments of at most `smss` bytes; `catalog` has the loss differentiations that are asked.
    #[must_use]
    pub fn new(smss: u32, catalog: &Catalog) -> Self {
        Self {
            smss: u64::from(smss.max(1)),
            headers: IPV4_TCP,
            place: Place::Sender,
            distance: Distance::Known,
            handshake: None,
            trips: RoundTrips::default(),
            way: None,
            one_way: OneWay::default(),
            rates: Rates::default(),
            over_time: OverTime::default(),
            series: Series::default(),
            losses: Losses::default(),
            judges: Judges::new(catalog, smss),
            overtaking: Overtaking::default(),
            acks: Acks::default(),
            writes: Writes::default(),
            course: policer::Course::default(),
            timed: 0,
            transfer: Seen::default(),
            stage: Stage::Open,
            unproven: VecDeque::new(),
            uncounted: VecDeque::new(),
        }
    }

    /// Where the capture was taken, as far as all of it tells; and the round trip that the handshake took from there to the
    /// sender, and the whole of it, if the capture has it.
    pub fn seen_from(
        &mut self,
        vantage: &Vantage,
        handshake: Option<Duration>,
        whole: Option<Duration>,
    ) {
        self.handshake = whole;
        let far = matches!(vantage.place, Place::Receiver | Place::Middle);
        if far && vantage.to_sender.is_zero() {
            self.distance = Distance::Unknown;
        } else if let (Place::Receiver, Some(handshake)) = (vantage.place, handshake) {
            self.distance = Distance::KnownOfShort(handshake);
        }
    }

    /// A retransmission that had been thought needed proved to be needless, other than by a DSACK, of which an
    /// [`Arrival`] tells.
    pub fn proved_needless(&mut self, retransmission: &Retransmission) {
        self.course
            .had_arrived(retransmission.start, retransmission.end);
        self.losses
            .all_had_arrived(retransmission.start, retransmission.end);
    }

    /// What came through over time.
    pub(crate) fn into_series(self) -> Series {
        self.series
    }

    /// An answer to a request is over.
    pub(crate) fn answered(&mut self, answer: &Message) {
        self.writes
            .answered(answer.bytes, answer.first_at, answer.over_at);
    }

    /// Bytes on the wire of `segments` that carry `payload`.
    const fn wire(&self, payload: u64, segments: u64) -> u64 {
        payload.saturating_add(segments.saturating_mul(self.headers))
    }

    fn delivered(&mut self, delivery: &Delivery, outstanding: u64) {
        let base = match self.place {
            Place::Receiver => self.way.or(self.trips.least()),
            _ => self.trips.least(),
        };
        self.series.delivered(delivery);
        let before = self.rates.delivered(delivery, base);
        self.over_time
            .delivered(delivery.at, delivery.bytes, before);
        if let Some(delay) = delivery.delay {
            self.timed += 1;
            self.losses
                .arrived(delivery.start, delivery.sent.1, delay, outstanding);
        }
    }

    /// What an ACK tells to have arrived.
    fn acknowledged(&mut self, arrival: &Arrival<'_>) {
        let facts = &arrival.facts;
        let mut newest: Option<&Segment> = None;
        let mut oldest = newest;
        let mut payload: u64 = 0;
        // Together with a repair it becomes known of others that they have arrived, which may have been there for
        // long; and of what was sent more than once, which of them has.
        let sent_once = |delivered: &Delivered| delivered.segment.transmissions == 1;
        // Without SACK nothing tells what arrives while something is missing.
        let blind = self.transfer.duplicates == Duplicates::Bare && self.stage != Stage::Open;
        let plain = !blind && facts.delivered.iter().all(sent_once);
        for delivered in facts.delivered {
            let segment = &delivered.segment;
            payload = payload.saturating_add(u64::from(segment.len));
            if plain {
                self.overtaking.arrived(segment.order, arrival.at);
            }
            if newest.is_none_or(|known| known.order < segment.order) {
                newest = Some(segment);
            }
            if oldest.is_none_or(|known| known.order > segment.order) {
                oldest = Some(segment);
            }
        }
        let (Some(oldest), Some(newest)) = (oldest, newest) else {
            return;
        };
        if plain {
            self.overtaking.up_to(newest.order, arrival.at);
        }
        let segments = facts.delivered.len() as u64;
        let delivery = Delivery {
            at: arrival.at,
            orders: (oldest.order, newest.order),
            segments,
            bytes: self.wire(payload, segments),
            sent: (oldest.sent_at, newest.sent_at),
            start: newest.start,
            delay: facts.rtt.filter(|_| plain),
            news: if facts.acked_bytes >= payload && self.stage == Stage::Open {
                News::AsAlways
            } else {
                News::PerhapsHeld
            },
            rest: match arrival.view.flight_size() {
                0 => Rest::Nothing,
                _ => Rest::More,
            },
        };
        self.delivered(&delivery, arrival.view.flight_size());
    }

    /// What came to the receiver, where the capture was taken.
    fn came(&mut self, departure: &Departure<'_>) {
        let (Some(first), Some(last)) = (departure.sent.first(), departure.sent.last()) else {
            return;
        };
        let wait = departure
            .timestamps
            .and_then(|stamps| self.one_way.wait(departure.at, stamps.value));
        // The least round-trip time may be found later: what is a delay now must be one then.
        self.way = self.way.or(self.trips.least());
        let delay = wait.zip(self.way).map(|(wait, way)| way + wait);
        let left = departure.at - delay.unwrap_or_default();
        let payload = departure.end.saturating_sub(departure.start);
        let segments = departure.sent.len() as u64;
        let delivery = Delivery {
            at: departure.at,
            orders: (first.segment.order, last.segment.order),
            segments,
            bytes: self.wire(payload, segments),
            sent: match delay {
                Some(_) => (left, left),
                // Nothing tells that it waited.
                None => (departure.at, departure.at),
            },
            start: departure.start,
            delay,
            news: News::AsAlways,
            // The packet itself tells.
            rest: Rest::More,
        };
        self.delivered(&delivery, departure.view.flight_size());
    }

    /// Every transmission counts for a policer.
    fn follow(&mut self, departure: &Departure<'_>) {
        let is_new = is_new(departure.kind);
        for sent in departure.sent {
            let bytes = self.wire(u64::from(sent.segment.len), 1);
            let start = sent.segment.start;
            self.course.sent(departure.at, start, bytes, is_new);
        }
    }

    /// A segment was sent again.
    fn repaired(&mut self, departure: &Departure<'_>, again: &Retransmission, stage: Stage) {
        let mut segments: Vec<(u64, u64)> = departure
            .sent
            .iter()
            .filter(|sent| matches!(sent.why, SendReason::Retransmit(_)))
            .map(|sent| &sent.segment)
            .map(|segment| (segment.start, segment.start + u64::from(segment.len)))
            .collect();
        if segments.len() < 2 {
            segments = vec![(again.start, again.end)];
        }
        if !again.cause.class().is_probe() {
            self.transfer.retransmissions += segments.len() as u64;
        }
        if matches!(again.cause, Cause::Timeout { .. }) {
            self.transfer.timeouts += 1;
            self.judges.timed_out(departure.at);
        }
        let was_lost = match again.need {
            Need::Needed | Need::Unknown => true,
            Need::NeedlessByDsack
            | Need::NeedlessByTimestamp
            | Need::NeedlessByTime
            | Need::NeedlessByArrival => false,
        };
        let a_probe = matches!(again.cause, Cause::KeepAlive | Cause::WindowProbe);
        if !was_lost || a_probe {
            if self.uncounted.len() >= UNPROVEN {
                self.uncounted.pop_front();
            }
            self.uncounted.push_back((again.start, again.end));
            return;
        }
        if let Some(stamps) = departure.timestamps {
            for &(start, end) in &segments {
                if self.unproven.len() >= UNPROVEN {
                    self.unproven.pop_front();
                }
                self.unproven.push_back(Unproven {
                    start,
                    end,
                    stamp: stamps.value,
                });
            }
        }
        let by_timer = matches!(again.cause, Cause::Timeout { .. } | Cause::AfterTimeout);
        let surety = match self.transfer.duplicates {
            Duplicates::Bare if by_timer && again.need == Need::Unknown => Surety::Outstanding,
            _ => Surety::Missed,
        };
        let event = !matches!(self.stage, Stage::Recovery | Stage::Loss)
            && stage == Stage::Recovery
            && again.cause != Cause::TailLossProbe;
        let segment = departure.sent.first().filter(|_| event);
        let mut votes = segment.map(|sent| self.judges.judge(&departure.view, sent.segment));
        for (start, end) in segments {
            self.course.lost(start);
            self.losses.lost(Lost {
                start,
                end,
                transmission: again.transmission.saturating_sub(1).max(1),
                sent: departure.at,
                repaired: departure.at,
                delay: None,
                surety,
                votes: votes.take(),
            });
        }
    }

    /// A DSACK says that a repetition of `start..end` was needless.
    fn proved_by_dsack(&mut self, start: u64, end: u64) {
        let touches = |&(from, to): &(u64, u64)| from < end && start < to;
        if let Some(place) = self.uncounted.iter().position(touches) {
            self.uncounted.remove(place);
        } else {
            self.course.had_arrived(start, end);
            self.losses.had_arrived(start, end);
        }
    }

    /// Eifel's test (RFC 3522 §3.2): what an ACK echoes for the first missing segment is older than its
    /// repair, if not that filled the gap.
    fn prove(&mut self, arrival: &Arrival<'_>) {
        let facts = &arrival.facts;
        let before = facts.una.saturating_sub(facts.acked_bytes);
        while let Some(repair) = self.unproven.front().copied()
            && repair.start < facts.una
        {
            self.unproven.pop_front();
            let older = |echo: u32| echo.wrapping_sub(repair.stamp).cast_signed() < 0;
            if repair.start == before && facts.timestamp_echo.is_some_and(older) {
                self.course.had_arrived(repair.start, repair.end);
                self.losses.had_arrived(repair.start, repair.end);
            }
        }
    }

    /// Whether the newest of these segments is as long as most are.
    fn length(&self, delivered: &[Delivered]) -> Length {
        let segments = delivered.iter().map(|delivered| &delivered.segment);
        let newest = segments.max_by_key(|segment| segment.order);
        match newest.map(|segment| u64::from(segment.len)) {
            Some(len)
                if len.saturating_mul(FULL_PARTS) < self.smss.saturating_mul(FULL_PARTS - 1) =>
            {
                Length::Short
            }
            _ => Length::Full,
        }
    }

    /// Where the capture was taken: at the receiver, ACKs are under way for a whole round trip before they
    /// let go of anything.
    fn locate(&mut self, arrival: &Arrival<'_>) {
        let late = arrival.at.since(arrival.captured);
        let Some(least) = self.trips.least() else {
            return;
        };
        self.place = if late.saturating_mul(4) >= least.saturating_mul(3) {
            Place::Receiver
        } else if late.saturating_mul(4) >= least {
            Place::Middle
        } else {
            Place::Sender
        };
    }
}

const fn is_new(kind: SendingKind) -> bool {
    matches!(kind, SendingKind::First | SendingKind::Both)
}

/// How many of these segments left together with the newest of them, and before it: it waits for them at the
/// bottleneck, and they wait for it to be acknowledged.
fn ahead(delivered: &[Delivered]) -> usize {
    let segments = || delivered.iter().map(|delivered| &delivered.segment);
    let Some(newest) = segments().max_by_key(|segment| segment.order) else {
        return 0;
    };
    let together = |segment: &&Segment| newest.sent_at.since(segment.sent_at) <= TOGETHER;
    segments().filter(together).count().saturating_sub(1)
}

impl Seen {
    fn sent(&mut self, at: Instant, end: u64) {
        self.first.get_or_insert(at);
        self.active_since.get_or_insert(at);
        self.bytes = self.bytes.max(end);
    }

    fn acknowledged(&mut self, arrival: &Arrival<'_>) {
        if arrival.facts.acked_bytes > 0 {
            self.last = arrival.at;
            self.acked = self.acked.max(arrival.facts.una);
        }
        if arrival.view.flight_size() == 0
            && let Some(since) = self.active_since.take()
        {
            self.active += arrival.at.since(since);
        }
        if let Some(window) = arrival.window {
            self.windows.record(window);
            self.window_max = self.window_max.max(window);
        }
        if arrival.facts.sacked_bytes > 0 {
            self.duplicates = Duplicates::Sack;
        } else if arrival.facts.kind == AckKind::Duplicate && self.duplicates == Duplicates::None {
            self.duplicates = Duplicates::Bare;
        }
    }
}

impl Analysis for Survey {
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        if departure.kind == SendingKind::Empty {
            return;
        }
        let stamped = departure.timestamps.is_some();
        let ip = match departure.ip_id {
            Some(_) => IPV4_TCP,
            None => IPV6_TCP,
        };
        self.headers = ip + if stamped { TIMESTAMPS } else { 0 };
        self.transfer.sent(departure.at, departure.end);
        self.series.busy(departure.at);
        let outstanding = departure.view.flight_size();
        self.transfer.flight_max = self.transfer.flight_max.max(outstanding);
        let overtaken = explained.repeat == Some(Repeat::Overtaken);
        // At the receiver a repair is seen if it was not lost: the first transmissions alone tell a share.
        let at_receiver = self.place == Place::Receiver;
        let told = !(at_receiver && explained.retransmission.is_some());
        if !overtaken && told {
            // What the capture does not show may have been lost before it came there.
            let unseen = departure.unseen_bytes.div_ceil(self.smss);
            let segments = departure.sent.len() as u64;
            self.losses.sent(segments.max(1).saturating_add(unseen));
        }
        self.writes.departed(departure.at, departure.end);
        if let Some(again) = explained.retransmission {
            self.repaired(departure, again, explained.stage);
        }
        if explained.repeat != Some(Repeat::Copy) {
            self.follow(departure);
        }
        if self.place == Place::Receiver {
            if overtaken {
                let behind = departure
                    .view
                    .scoreboard
                    .nxt()
                    .saturating_sub(departure.end);
                let since = self.losses.came_after(departure.start);
                let late = since.map_or(Duration::ZERO, |since| departure.at.since(since));
                self.overtaking.came_late(behind / self.smss, late);
            } else if explained.repeat.is_none() {
                self.overtaking.in_order();
            }
            if explained.repeat != Some(Repeat::Copy) {
                self.came(departure);
            }
        }
        self.stage = explained.stage;
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        self.transfer.acknowledged(arrival);
        if let Some(rtt) = arrival.facts.rtt {
            let delivered = arrival.facts.delivered;
            self.trips
                .observe(rtt, ahead(delivered), self.length(delivered));
        }
        self.locate(arrival);
        if let Some(needless) = arrival.needless {
            self.proved_by_dsack(needless.start, needless.end);
        }
        self.prove(arrival);
        self.judges.on_ack(&arrival.facts, &arrival.view);
        let board = arrival.view.scoreboard;
        let outstanding = board.flight_size();
        let least = self.trips.least();
        self.acks
            .came(&arrival.facts, outstanding, board.sacked_bytes(), least);
        if outstanding == 0 {
            self.series.idle(arrival.at);
        }
        if outstanding == 0 && arrival.window_left.is_none_or(|left| left >= self.smss) {
            // At the receiver a departure is late by the way there, and a round trip later says nothing.
            let least = least.filter(|_| self.place != Place::Receiver);
            self.writes.idle(arrival.at, least);
        }
        if outstanding == 0 && arrival.carried > 0 {
            self.writes.asked();
        }
        if self.place != Place::Receiver {
            self.acknowledged(arrival);
        }
        self.stage = explained.stage;
    }
}
