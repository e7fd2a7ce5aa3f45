//! Cause and necessity of each retransmission, and the stage of the sender.
//!
//! An [`Explainer`] receives every [`Departure`] and [`Arrival`] of one stream, in the sender's time, and explains each
//! of them ([`Explained`]). Later events may add facts about a retransmission: that it was spurious, or that it was
//! lost itself. [`Explainer::records`] and [`Explainer::account`] include all facts up to the last event.
//!
//! | file | contents |
//! | --- | --- |
//! | `judge` | cause of each retransmission |
//! | `ledger` | records of retransmissions, and later facts about each |
//! | `held` | data that the receiver holds, inferred without SACK |
//! | `needs` | evidence of necessity in addition to the ACK |
//! | `hidden` | retransmissions of data that the capture never showed |
//! | `holes` | late data: reordered or retransmitted |
//! | `clock` | durations without events |
//! | `lateness` | departure times in captures away from the sender |
//! | `happenings` | zero windows, probes, keep-alives, resets |
//! | `account` | counts |
//!
//! An event takes amortised O(1) time, plus a search among outstanding retransmissions, if there are any. Memory is
//! bounded by [`Limits`].

mod account;
mod clock;
mod happenings;
mod held;
mod hidden;
mod holes;
mod judge;
mod lateness;
mod ledger;
mod needs;
#[cfg(test)]
mod tests;

pub use account::Account;
pub use happenings::{End, Happenings, Reset, ZeroWindow};

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::{AckKind, SendReason};
use dupack_tcp::options::Sack;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::scoreboard::{Delivered, DeliveredBy, Reported};
use dupack_tcp::time::{Duration, Instant};

use self::clock::{Clock, Distance, Known, Timing};
use self::held::Held;
use self::hidden::{Hidden, Looks};
use self::holes::{Filling, Holes};
use self::judge::{Attribution, Case, DUP_THRESHOLD, Earlier, Judge, News};
use self::ledger::{Covering, Ledger, Mark, Origin};
use crate::analyse::cause::{Cause, Need, Repeat, Retransmission};
use crate::read::moment::{Arrival, Departure, Explained, Stage};

/// Maximum time between a packet and its copy: it allows for the queues of one host, and for taps that record a packet
/// twice (our choice).
const COPY_WITHIN: Duration = Duration::from_millis(1);

/// Memory limits of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of retransmissions whose records are stored: the latest ones. Older ones are only counted.
    pub records: usize,
}

impl Default for Limits {
    /// Returns limits of 512 records, which take about 70 kB.
    fn default() -> Self {
        Self { records: 512 }
    }
}

/// Explainer of the events of one stream. See the [module](self).
#[derive(Debug)]
pub struct Explainer {
    judge: Judge,
    ledger: Ledger,
    clock: Clock,
    holes: Holes,
    hidden: Hidden,
    held: Held,
    happenings: Happenings,
    /// Last departure.
    last: Option<Last>,
    /// Last departure of new data.
    newest: Option<Last>,
    /// Latest timestamp, and the time at which it was first seen.
    stamp_since: Option<(u32, Instant)>,
    una: u64,
    nxt: u64,
    dup_acks: u32,
    /// Time at which the cumulative ACK last advanced.
    advanced_at: Instant,
    /// Position, in sending order, of the last segment known to have arrived.
    newest_delivered: u64,
    /// Minimum time from the capture of a segment to the capture of its ACK.
    to_receiver: Option<Duration>,
    /// Time at which the ACKs had reported enough for any sender to retransmit the first outstanding segment; `None` if
    /// they have not.
    evident_at: Option<Instant>,
    /// Number of the retransmission that was attributed to an ACK but may have been a timeout; `None` if there is none.
    doubtful: Option<u64>,
    overtaken: u64,
    copies: u64,
    reordered: u64,
    /// End of the data that was sent while the window was zero.
    refused_to: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    at: Instant,
    start: u64,
    end: u64,
    stamp: Option<u32>,
    ip_id: Option<u16>,
}

impl Explainer {
    /// Creates the explainer of a stream without events. `sack` is `Permitted` if the endpoints agreed on SACK, or if
    /// this is unknown.
    #[must_use]
    pub fn new(sack: Sack, limits: Limits) -> Self {
        Self {
            judge: Judge::new(sack),
            ledger: Ledger::new(limits.records),
            clock: Clock::default(),
            holes: Holes::default(),
            hidden: Hidden::default(),
            held: Held::default(),
            happenings: Happenings::default(),
            last: None,
            newest: None,
            stamp_since: None,
            una: 0,
            nxt: 0,
            dup_acks: 0,
            advanced_at: Instant::ZERO,
            newest_delivered: 0,
            to_receiver: None,
            evident_at: None,
            doubtful: None,
            overtaken: 0,
            copies: 0,
            reordered: 0,
            refused_to: 0,
        }
    }

    /// Records a packet of the sender that does not belong to the stream, with this IP identification.
    pub fn numbered(&mut self, id: u16) {
        self.hidden.numbered(id);
    }

    /// Explains a departure.
    pub fn departed(&mut self, departure: &Departure<'_>) -> Explained<'_> {
        let stamp = departure.timestamps.map(|stamps| stamps.value);
        let timing = self.clock.timing(departure.at, stamp, departure.view.rtt);
        let was_empty = self.nxt <= self.una;
        self.note_stamp(departure.at, stamp);
        let filling = self.holes.fill(departure);
        self.holes.departed(departure);
        let looks = self.hidden.look(departure, &timing);
        self.reconsider(&timing);
        let (repeat, number) = self.look_at(departure, filling, looks, &timing);
        if repeat != Some(Repeat::Copy) {
            self.clock.departed(departure.at, departure.view.rtt.srtt());
        }
        if was_empty && departure.end > departure.start {
            self.clock.restarted(timing.at);
        }
        self.nxt = self.nxt.max(departure.view.scoreboard.nxt());
        self.last = Some(Last::of(departure));
        Explained {
            stage: self.stage(departure.view.scoreboard.sacked_segments()),
            repeat,
            retransmission: number.and_then(|number| self.ledger.get(number)),
            needless: None,
        }
    }

    /// Checks whether a retransmission that seemed to be triggered by an ACK was a timeout.
    fn reconsider(&mut self, timing: &Timing) {
        let expiry = self.judge.reconsider(timing.at, timing.rtt.least);
        self.revise(expiry);
    }

    /// Changes the cause of the retransmission in doubt to a timeout, and the causes of later ones to "after the
    /// timeout".
    fn revise(&mut self, expiry: Option<u32>) {
        if let Some(expiry) = expiry
            && let Some(number) = self.doubtful.take()
        {
            self.ledger.revise(number, Cause::Timeout { expiry });
        }
    }

    fn look_at(
        &mut self,
        departure: &Departure<'_>,
        filling: Option<Filling>,
        looks: Looks,
        timing: &Timing,
    ) -> (Option<Repeat>, Option<u64>) {
        if self.is_copy(departure) {
            self.copies += 1;
            return (Some(Repeat::Copy), None);
        }
        let refused_to = self.refused_to;
        if self.happenings.is_closed() && departure.start >= self.una {
            self.refused_to = refused_to.max(departure.end);
        }
        if let Some(cause) = self.probe(departure) {
            let verdict = Attribution::of(cause);
            let number = self.record(departure, &verdict, Origin::Seen, timing);
            return (Some(Repeat::Retransmission(cause)), Some(number));
        }
        if filling == Some(Filling::Overtaken) || self.is_overtaken_by_repair(departure) {
            self.overtaken += 1;
            return (Some(Repeat::Overtaken), None);
        }
        if let (SendingKind::First, Looks::SentBefore { edge }) = (departure.kind, looks) {
            self.nxt = self.nxt.max(edge);
        }
        let start = match (departure.kind, looks) {
            (SendingKind::First, Looks::SentBefore { .. }) => Some(departure.start),
            // The segment starts in data that was sent while the window was zero. The receiver dropped this data
            // because it had no buffer space; the data was not lost.
            _ if departure.start >= self.una && departure.start < refused_to => None,
            _ => sent_again_from(departure),
        };
        let Some(start) = start else {
            self.sent_new(departure, timing);
            self.newest = Some(Last::of(departure));
            return (None, None);
        };
        let phase = self.judge.timed_out();
        let verdict = self.judge.sent_again(&self.case(departure, start, timing));
        if phase.is_none() && matches!(verdict.cause, Cause::Timeout { .. }) {
            self.held.timed_out(departure.view.scoreboard.len());
        }
        self.revise(verdict.timeout_before);
        if let Some((number, expiry)) = verdict.timeout_of {
            self.ledger.revise(number, Cause::Timeout { expiry });
        }
        self.learn(verdict.earlier);
        let origin = self.origin(filling, departure.kind);
        let number = self.record(departure, &verdict, origin, timing);
        self.judge.recorded(number);
        if departure.kind == SendingKind::Acknowledged {
            self.ledger.needless_at_once(number);
        }
        self.after(&verdict, timing.at);
        if verdict.doubtful {
            self.doubtful = Some(number);
        }
        (Some(Repeat::Retransmission(verdict.cause)), Some(number))
    }

    fn case(&self, departure: &Departure<'_>, start: u64, timing: &Timing) -> Case {
        let board = departure.view.scoreboard;
        let repaired_at = self.ledger.last_of(start).map(|record| record.at);
        Case {
            start,
            end: departure.end,
            una: self.una,
            nxt: self.nxt.max(self.una),
            repair_seen: repaired_at.is_some(),
            repaired_here: repaired_at.is_some_and(|at| at >= self.advanced_at),
            repaired_at: repaired_at.or_else(|| self.repaired_unseen(start, timing)),
            dup_acks: self.dup_acks,
            sacked: board.sacked_segments(),
            itself: departure
                .sent
                .iter()
                .find(|sent| sent.segment.start == start)
                .map_or(Reported::Missing, |sent| sent.segment.reported),
            forward_ack: board.forward_ack(),
            timing: *timing,
        }
    }

    /// Returns the time at which the sender must have retransmitted the first outstanding segment, if this earlier
    /// retransmission was lost before the capture point.
    fn repaired_unseen(&self, start: u64, timing: &Timing) -> Option<Instant> {
        let head = start <= self.una
            && timing.distance == Distance::Away
            && timing.departure == Known::Yes;
        let evident_at = self.evident_at.filter(|_| head)?;
        (timing.at.since(evident_at) > timing.rtt.smoothed).then_some(evident_at)
    }

    fn after(&mut self, verdict: &Attribution, at: Instant) {
        match verdict.cause {
            Cause::Timeout { .. } => {
                self.dup_acks = 0;
                self.evident_at = None;
                self.clock.restarted(at);
            }
            Cause::TailLossProbe => self.clock.restarted(at),
            _ => {}
        }
    }

    fn learn(&mut self, earlier: Option<Earlier>) {
        match earlier {
            Some(Earlier::WereProbes) => self.ledger.revise_doubtful(|_| Cause::TailLossProbe),
            Some(Earlier::WereTimeouts) => self.ledger.revise_doubtful(|record| record.cause),
            None => {}
        }
    }

    fn record(
        &mut self,
        departure: &Departure<'_>,
        verdict: &Attribution,
        origin: Origin,
        timing: &Timing,
    ) -> u64 {
        let cause = verdict.cause;
        let by_timer = matches!(
            cause,
            Cause::Timeout { .. } | Cause::TailLossProbe | Cause::KeepAlive | Cause::WindowProbe
        );
        let trigger = if by_timer {
            None
        } else {
            timing.answers.or(timing.last_ack)
        };
        let record = Retransmission {
            at: departure.at,
            packet: departure.packet,
            start: departure.start,
            end: departure.end,
            transmission: 2,
            cause,
            trigger,
            waited: timing.silence,
            need: Need::Unknown,
            lost: false,
        };
        let mark = Mark {
            stamp: departure.timestamps.map(|stamps| stamps.value),
            ip_id: departure.ip_id,
            origin,
            rest: self.rest(cause),
            before: self.before(departure),
        };
        self.ledger.push(record, mark, verdict.certainty)
    }

    fn is_overtaken_by_repair(&self, departure: &Departure<'_>) -> bool {
        let repair = self.ledger.only_one_of(departure.start);
        repair.is_some_and(|(at, mark)| self.holes.is_overtaken_by_repair(departure, at, &mark))
    }

    fn is_copy(&self, departure: &Departure<'_>) -> bool {
        let this = Last::of(departure);
        let Some(last) = self.last else { return false };
        let soon = this.at.since(last.at) <= COPY_WITHIN;
        let same_packet = this.ip_id.is_some_and(|id| id != 0);
        soon && same_packet
            && last
                == Last {
                    at: last.at,
                    ..this
                }
    }

    /// Returns the cause of a packet that only requests an answer; `None` for other packets.
    fn probe(&mut self, departure: &Departure<'_>) -> Option<Cause> {
        if departure.flags.contains(Flags::FIN) {
            return None;
        }
        let len = departure.end.saturating_sub(departure.start);
        let below = departure.end <= self.una;
        let asks = match departure.kind {
            SendingKind::Empty => departure.start < self.una,
            // The packet has at most one byte, which is acknowledged, and no data is outstanding.
            SendingKind::Acknowledged => len <= 1 && self.nxt <= self.una,
            // The packet has one byte beyond a zero window, or repeats this byte.
            SendingKind::First => len == 1 && self.happenings.is_closed(),
            _ => self.happenings.is_closed() && !below && departure.start >= self.una,
        };
        if !asks {
            return None;
        }
        if self.happenings.is_closed() {
            self.happenings.probed_window();
            Some(Cause::WindowProbe)
        } else {
            self.happenings.kept_alive();
            Some(Cause::KeepAlive)
        }
    }

    fn sent_new(&mut self, departure: &Departure<'_>, timing: &Timing) {
        let board = departure.view.scoreboard;
        let outstanding = self.nxt > self.una;
        let head = board.get(board.first());
        let head_waits = head.is_some_and(|head| head.transmissions == 1);
        self.judge.sent_new(timing, outstanding, head_waits);
    }

    /// Explains the arrival of an ACK.
    pub fn arrived(&mut self, arrival: &Arrival<'_>) -> Explained<'_> {
        let facts = &arrival.facts;
        let una_before = self.una;
        if let Some(window) = arrival.window.or(arrival.field.map(u64::from)) {
            self.happenings.window(arrival.at, arrival.packet, window);
        }
        let late = self.settle(arrival, una_before);
        self.note_answer(arrival);
        self.dup_acks = match facts.kind {
            AckKind::Advance => 0,
            AckKind::Duplicate => facts.dup_acks,
            AckKind::Other => self.dup_acks,
        };
        self.una = self.una.max(facts.una);
        self.nxt = self.nxt.max(arrival.view.scoreboard.nxt());
        let advanced = facts.acked_bytes > 0;
        let news = News {
            advanced,
            sampled: facts.rtt.is_some(),
            ..late
        };
        self.judge.acknowledged(self.una, &news);
        let under_way = arrival.at.since(arrival.captured);
        self.clock.arrived(arrival.at, arrival.packet, under_way);
        if advanced {
            self.evident_at = None;
            self.advanced_at = arrival.at;
            self.clock.restarted(arrival.at);
            self.ledger.acknowledged(self.una);
        }
        let sacked = arrival.view.scoreboard.sacked_segments();
        if sacked.max(u64::from(self.dup_acks)) >= DUP_THRESHOLD {
            self.evident_at.get_or_insert(arrival.at);
        }
        self.holes.arrived(under_way, self.una);
        Explained {
            stage: self.stage(sacked),
            repeat: None,
            retransmission: None,
            needless: late.needless,
        }
    }

    /// Updates the facts about retransmitted and late data with an ACK.
    fn settle(&mut self, arrival: &Arrival<'_>, una_before: u64) -> News {
        let facts = &arrival.facts;
        let echo = arrival.timestamps.map(|stamps| stamps.echo);
        let echo = echo.or(facts.timestamp_echo);
        let covering = Covering {
            at: arrival.at,
            captured: arrival.captured,
            una_before,
            echo,
            rtt_least: arrival.view.rtt.min(),
            filled: self.filled(arrival, una_before, echo),
            held: facts.delivered.iter().rev().find_map(held),
        };
        let mut news = News::default();
        let timed_out = self.judge.timed_out();
        for delivered in facts.delivered {
            let segment = &delivered.segment;
            if segment.transmissions > 1 {
                let need = self.ledger.delivered(segment.start, &covering);
                if need.is_some_and(Need::is_needless) {
                    news.needless = Some((segment.start, segment.end()));
                }
                news.late_by_timestamp |=
                    timed_out.is_some() && need == Some(Need::NeedlessByTimestamp);
                continue;
            }
            news.late |= timed_out
                .is_some_and(|(since, point)| segment.sent_at < since && segment.start < point);
            if delivered.by == DeliveredBy::Cumulative && segment.order < self.newest_delivered {
                self.reordered += 1;
            }
        }
        let newest = facts
            .delivered
            .iter()
            .filter(|d| d.segment.transmissions == 1);
        let newest = newest.map(|d| d.segment.order).max();
        self.newest_delivered = self.newest_delivered.max(newest.unwrap_or(0));
        if let Some(needless) = &arrival.needless {
            self.ledger.refuted(needless);
        }
        news
    }

    /// Records a reset by `by`.
    pub fn was_reset(&mut self, at: Instant, packet: u64, by: End) {
        let stage = self.stage(0);
        self.happenings.was_reset(Reset {
            at,
            packet,
            by,
            stage,
            outstanding: self.nxt.saturating_sub(self.una),
        });
    }

    fn stage(&self, sacked: u64) -> Stage {
        self.judge.stage(sacked > 0 || self.dup_acks > 0)
    }

    /// Returns the retransmissions whose records are stored, in order.
    pub fn records(&self) -> impl Iterator<Item = &Retransmission> {
        self.ledger.records()
    }

    /// Returns the counts of retransmissions and losses.
    #[must_use]
    pub fn account(&self) -> Account {
        self.ledger.account()
    }

    /// Returns zero windows, probes, keep-alives and resets.
    #[must_use]
    pub const fn happenings(&self) -> &Happenings {
        &self.happenings
    }

    /// Returns the number of segments that were captured late because other segments overtook them before the capture
    /// point.
    #[must_use]
    pub const fn overtaken(&self) -> u64 {
        self.overtaken
    }

    /// Returns the number of packets that the capture contains twice.
    #[must_use]
    pub const fn copies(&self) -> u64 {
        self.copies
    }

    /// Returns the number of segments that were overtaken after the capture point: ACKs reported later segments first,
    /// and these segments were not retransmitted.
    #[must_use]
    pub const fn reordered(&self) -> u64 {
        self.reordered
    }
}

/// Returns the start of a segment that was sent once and is acknowledged cumulatively; `None` for other segments.
fn held(delivered: &Delivered) -> Option<u64> {
    let once = delivered.segment.transmissions == 1 && delivered.by == DeliveredBy::Cumulative;
    once.then_some(delivered.segment.start)
}

impl Last {
    fn of(departure: &Departure<'_>) -> Self {
        Self {
            at: departure.at,
            start: departure.start,
            end: departure.end,
            stamp: departure.timestamps.map(|stamps| stamps.value),
            ip_id: departure.ip_id,
        }
    }
}

/// Returns the first byte that a packet retransmits; `None` if it retransmits none.
fn sent_again_from(departure: &Departure<'_>) -> Option<u64> {
    match departure.kind {
        SendingKind::Acknowledged => Some(departure.start),
        SendingKind::Repeat | SendingKind::Both => {
            let again =
                |sent: &&dupack_tcp::facts::Sent| matches!(sent.why, SendReason::Retransmit(_));
            departure
                .sent
                .iter()
                .find(again)
                // If the first transmission was not captured, the boundaries of the segment are assumed. Therefore, the
                // first byte is not before the packet's own start.
                .map(|sent| sent.segment.start.max(departure.start))
        }
        _ => None,
    }
}
