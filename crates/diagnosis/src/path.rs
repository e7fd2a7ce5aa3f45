//! Path estimates from one data stream: the minimum round-trip time, the rate and buffer of the bottleneck, losses and
//! their kinds, reordering, ACK behaviour, and policers.
//!
//! [`Survey`] receives every event and keeps statistics of bounded size; [`Survey::path`] computes the [`Path`] from
//! them. Each number has a confidence interval, or a reason why this capture does not show it.
//!
//! In a capture at the sender, ACKs show which segments arrive, and their round-trip times show the delays. In a
//! capture at the receiver, the capture itself shows the arrivals, and the sender's timestamps, if there are any, show
//! the queueing delay. A capture between the endpoints is evaluated like one at the sender, although it does not show
//! events before the capture point.

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

/// Length of the IP and TCP headers without options, in bytes (RFC 791, RFC 8200, RFC 9293).
const IPV4_TCP: u64 = 40;
const IPV6_TCP: u64 = 60;
/// Length of the timestamps option with padding, in bytes (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

/// Maximum time between segments that count as sent together (our choice: the link of a host sends a few segments in
/// less time).
const TOGETHER: Duration = Duration::from_micros(100);

/// Inverse of the fraction of a full segment that a segment may lack before it counts as short (our choice: options
/// make some segments a few bytes shorter).
const FULL_PARTS: u64 = 10;

/// Maximum number of stored retransmissions whose ACKs have not arrived (our choice): those of one recovery.
const UNPROVEN: usize = 64;

/// Statistics about the path of one stream.
#[derive(Debug)]
pub struct Survey {
    smss: u64,
    /// Header length of a data packet in bytes; until a data packet is seen, that of IPv4 without options.
    headers: u64,
    place: Place,
    /// Knowledge of the delay between the capture point and the sender.
    distance: Distance,
    /// Round-trip time of the handshake; `None` if the capture lacks the handshake.
    handshake: Option<Duration>,
    trips: RoundTrips,
    /// Assumed minimum delay in a capture at the receiver, where only the delay in excess of the minimum is known.
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
    /// Number of deliveries with a known delay.
    timed: u64,
    transfer: Seen,
    stage: Stage,
    /// Retransmissions for which no ACK has yet shown whether they were needed or spurious.
    unproven: VecDeque<Unproven>,
    /// Ranges that were retransmitted without a loss. A DSACK for one of them revokes no loss.
    uncounted: VecDeque<(u64, u64)>,
}

/// Retransmission and its timestamp value.
#[derive(Clone, Copy, Debug)]
struct Unproven {
    start: u64,
    end: u64,
    stamp: u32,
}

/// Facts about the transfer.
#[derive(Clone, Debug, Default)]
struct Seen {
    first: Option<Instant>,
    /// Time of the last ACK of new data.
    last: Instant,
    bytes: u64,
    acked: u64,
    /// Total time during which data was outstanding.
    active: Duration,
    active_since: Option<Instant>,
    timeouts: u64,
    retransmissions: u64,
    /// Distribution of the receive windows that ACKs granted, and the largest of them, in bytes.
    windows: LogBins<8>,
    window_max: u64,
    /// Maximum flight size in bytes.
    flight_max: u64,
    duplicates: Duplicates,
}

/// Knowledge of the delay of ACKs between the capture point and the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    Known,
    /// The delay is known, but it may be that of short segments: the round-trip time of the handshake between the
    /// capture point and the sender is this time.
    KnownOfShort(Duration),
    Unknown,
}

/// Form in which the receiver reports out-of-order data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Duplicates {
    /// No data arrived out of order.
    #[default]
    None,
    /// Duplicate ACKs, which do not identify the data.
    Bare,
    /// SACK blocks.
    Sack,
}

impl Survey {
    /// Creates a survey of a stream with segments of at most `smss` bytes. It uses the loss differentiations of
    /// `catalog`.
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

    /// Sets the capture point as determined from the whole capture. `handshake` is the round-trip time of the handshake
    /// between the capture point and the sender, and `whole` is its whole round-trip time. Both are `None` if unknown.
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

    /// Records that a retransmission considered necessary was spurious. DSACKs are not reported here, because an
    /// [`Arrival`] contains them.
    pub fn proved_needless(&mut self, retransmission: &Retransmission) {
        self.course
            .had_arrived(retransmission.start, retransmission.end);
        self.losses
            .all_had_arrived(retransmission.start, retransmission.end);
    }

    /// Returns the delivered data over time.
    pub(crate) fn into_series(self) -> Series {
        self.series
    }

    /// Records the end of a response.
    pub(crate) fn answered(&mut self, answer: &Message) {
        self.writes
            .answered(answer.bytes, answer.first_at, answer.over_at);
    }

    /// Returns the size on the wire, in bytes, of `segments` segments with `payload` bytes in total.
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

    /// Processes the arrivals that an ACK reports.
    fn acknowledged(&mut self, arrival: &Arrival<'_>) {
        let facts = &arrival.facts;
        let mut newest: Option<&Segment> = None;
        let mut oldest = newest;
        let mut payload: u64 = 0;
        // An ACK of a retransmission also acknowledges other segments, which may have arrived long before. If a segment
        // was sent more than once, it is unknown which transmission arrived.
        let sent_once = |delivered: &Delivered| delivered.segment.transmissions == 1;
        // Without SACK, arrivals are invisible while a segment is missing.
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

    /// Processes an arrival in a capture at the receiver.
    fn came(&mut self, departure: &Departure<'_>) {
        let (Some(first), Some(last)) = (departure.sent.first(), departure.sent.last()) else {
            return;
        };
        let wait = departure
            .timestamps
            .and_then(|stamps| self.one_way.wait(departure.at, stamps.value));
        // A smaller round-trip time may be found later, but the reference of the delays must not change from now on.
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
                // The queueing delay is unknown.
                None => (departure.at, departure.at),
            },
            start: departure.start,
            delay,
            news: News::AsAlways,
            // The capture shows the arrival itself, so no ACK was delayed.
            rest: Rest::More,
        };
        self.delivered(&delivery, departure.view.flight_size());
    }

    /// Adds every transmission to the history used to find policers.
    fn follow(&mut self, departure: &Departure<'_>) {
        let is_new = is_new(departure.kind);
        for sent in departure.sent {
            let bytes = self.wire(u64::from(sent.segment.len), 1);
            let start = sent.segment.start;
            self.course.sent(departure.at, start, bytes, is_new);
        }
    }

    /// Processes a retransmission.
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

    /// Processes a DSACK for `start..end`, which shows that a retransmission of this range was spurious.
    fn proved_by_dsack(&mut self, start: u64, end: u64) {
        let touches = |&(from, to): &(u64, u64)| from < end && start < to;
        if let Some(place) = self.uncounted.iter().position(touches) {
            self.uncounted.remove(place);
        } else {
            self.course.had_arrived(start, end);
            self.losses.had_arrived(start, end);
        }
    }

    /// Applies Eifel's test (RFC 3522 §3.2): if the ACK of the first missing segment echoes a timestamp older than the
    /// retransmission, the retransmission did not fill the gap.
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

    /// Returns [`Length::Short`] if the newest of these segments is shorter than a full one by more than a tenth.
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

    /// Determines the capture point. In a capture at the receiver, a whole round trip passes from an ACK to the capture
    /// of the data that it triggers.
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

/// Returns the number of segments that were sent just before the newest one. The newest segment waits for these
/// segments at the bottleneck, and their ACK may wait for the newest segment.
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
        // At the receiver, only surviving retransmissions are visible. Therefore, only first transmissions count in the
        // loss rate.
        let at_receiver = self.place == Place::Receiver;
        let told = !(at_receiver && explained.retransmission.is_some());
        if !overtaken && told {
            // Data that is missing from the capture may have been lost before the capture point.
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
            // At the receiver, segments are captured one one-way delay after their departure, so the minimum round-trip
            // time cannot be used.
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
