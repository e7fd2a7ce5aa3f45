//! Delivery rate sampling (draft-ietf-ccwg-bbr §4.1.2; Linux, `tcp_rate.c`), for both versions of BBR.
//!
//! With every segment, the sampler stores the amount of data delivered when the segment was sent. When the segment is
//! reported, the data delivered since then, divided by the elapsed time, is a sample:
//!
//! ```text
//! send_elapsed = P.send_time − P.first_send_time
//! ack_elapsed  = now − P.delivered_time
//! rate         = (C.delivered − P.delivered) / max(send_elapsed, ack_elapsed)
//! ```
//!
//! If one ACK reports several segments, the segment sent last is used. Using the longer of the two intervals prevents
//! bunched ACKs from showing a rate that was never sent. A sample over an interval shorter than the connection's
//! minimum round-trip time belongs to an earlier transmission of the segment and is not reliable.
//!
//! The entries of the scoreboard do not change: the data that only this control needs is stored in a separate ring that
//! is parallel to the scoreboard's.

use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, Departure, LimitedBy, LossRule, SendReason, Sent, View};
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::time::Instant;

/// Per-packet state (P, §4.1.2.1.2) of the last transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    len: u32,
    fate: Fate,
    delivered: u64,
    delivered_time: Instant,
    first_send_time: Instant,
    lost: u64,
    tx_in_flight: u64,
    supply: Supply,
}

/// Fate of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Delivered,
    /// Counted as lost because a timeout considers everything outstanding lost.
    TimedOut,
}

/// Supply of data from the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    Ample,
    /// A sample may show the rate of the application instead of the path (`is_app_limited`).
    AppLimited,
}

/// Condition for the start of a new measurement interval: no data sent earlier can still arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quiet {
    /// Nothing is in flight according to the recovery (draft-ietf-ccwg-bbr §4.1.2.2).
    NothingInFlight,
    /// Nothing is outstanding; the bytes in flight are only an estimate (Linux, `tcp_rate_skb_sent`).
    NothingOutstanding,
}

/// Information from an ACK about the path (RS, §4.1.2.1.3). Volumes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSample {
    /// Rate in bytes per second; 0 if the sample is not reliable.
    pub delivery_rate: f64,
    /// Volume delivered since the segment of the sample was sent.
    pub delivered: u64,
    /// Volume delivered before the segment was sent.
    pub prior_delivered: u64,
    pub newly_acked: u64,
    pub lost: u64,
    pub tx_in_flight: u64,
    pub supply: Supply,
}

/// Information from a loss about the path (§5.5.10.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct LossSample {
    /// Length of the segment.
    pub size: u32,
    /// Bytes in flight when the segment was sent.
    pub tx_in_flight: u64,
    /// Bytes lost since the segment was sent, including the segment itself.
    pub lost: u64,
    pub supply: Supply,
}

/// Per-connection state (C, §4.1.2.1.1).
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    quiet: Quiet,
    segments: VecDeque<Snapshot>,
    /// Number of the segment at the front of `segments`.
    first: u64,
    pub delivered: u64,
    pub delivered_time: Instant,
    first_send_time: Instant,
    pub lost: u64,
    /// Retransmitted bytes that no DSACK has reported.
    resent: u64,
    /// Delivered volume up to which samples are application-limited.
    app_limited: Option<u64>,
}

impl Sampler {
    pub(super) fn new(quiet: Quiet) -> Self {
        Self {
            quiet,
            segments: VecDeque::new(),
            first: 0,
            delivered: 0,
            delivered_time: Instant::ZERO,
            first_send_time: Instant::ZERO,
            lost: 0,
            resent: 0,
            app_limited: None,
        }
    }

    pub(super) fn supply(&self) -> Supply {
        match self.app_limited {
            Some(_) => Supply::AppLimited,
            None => Supply::Ample,
        }
    }

    /// Marks everything that is sent until all data now in flight has arrived as application-limited
    /// (`MarkConnectionAppLimited`, §4.1.2.4).
    pub(super) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = Some((self.delivered + in_flight).max(1));
    }

    /// `CheckIfApplicationLimited` at writes and timers (§4.1.2.4); [`on_ack`](Self::on_ack) checks at ACKs. `before`
    /// is the number of bytes in flight before the segment was sent, and the window is `cwnd`. Returns `true` if
    /// sending resumes after the application was idle.
    pub(super) fn check_app_limited(
        &mut self,
        sent: &Sent,
        departure: Departure,
        before: u64,
        cwnd: f64,
    ) -> bool {
        if departure.limited_by == LimitedBy::Application
            && (before as f64) < cwnd
            && breaks_silence(sent)
        {
            self.mark_app_limited(before);
        }
        before == 0 && self.app_limited.is_some()
    }

    /// Records a transmission (§4.1.2.2).
    pub(super) fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        let len = u64::from(sent.segment.len);
        let quiet = match self.quiet {
            Quiet::NothingInFlight => departure.in_flight <= len,
            Quiet::NothingOutstanding => {
                sent.segment.transmissions == 1 && view.flight_size() <= len
            }
        };
        if quiet {
            self.first_send_time = view.now;
            self.delivered_time = view.now;
        }
        let snapshot = Snapshot {
            len: sent.segment.len,
            fate: Fate::Unknown,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            lost: self.lost,
            tx_in_flight: departure.in_flight,
            supply: self.supply(),
        };
        if sent.segment.transmissions > 1 {
            self.resent += u64::from(sent.segment.len);
        }
        if self.segments.is_empty() {
            self.first = sent.id.0;
        }
        match self.slot(sent.id) {
            Some(slot) if slot < self.segments.len() => self.segments[slot] = snapshot,
            _ => self.segments.push_back(snapshot),
        }
    }

    /// Records a loss. The call must come before the segment is retransmitted. Returns `None` if a timeout has already
    /// counted the loss.
    pub(super) fn on_lost(&mut self, id: SegmentId) -> Option<LossSample> {
        let slot = self.slot(id)?;
        (self.segments.get(slot)?.fate != Fate::TimedOut).then(|| self.lose(slot))
    }

    /// Called after a timeout, which considers everything outstanding lost. Returns the first segment at or after
    /// `slot` that has not been counted yet, with its slot.
    pub(super) fn next_timed_out(&mut self, slot: usize) -> Option<(usize, LossSample)> {
        let outstanding = self.segments.range(slot.min(self.segments.len())..);
        let ahead = outstanding.take_while(|s| s.fate != Fate::Unknown).count();
        let slot = slot + ahead;
        self.segments.get_mut(slot)?.fate = Fate::TimedOut;
        Some((slot, self.lose(slot)))
    }

    fn lose(&mut self, slot: usize) -> LossSample {
        let snapshot = self.segments[slot];
        self.lost += u64::from(snapshot.len);
        LossSample {
            size: snapshot.len,
            tx_in_flight: snapshot.tx_in_flight,
            lost: self.lost - snapshot.lost,
            supply: snapshot.supply,
        }
    }

    /// Processes an ACK (§4.1.2.3). Returns `None` if the ACK reports no segment for the first time.
    pub(super) fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        prior_in_flight: u64,
        cwnd: f64,
        view: &View<'_>,
    ) -> Option<RateSample> {
        if ack.limited_by == LimitedBy::Application && (prior_in_flight as f64) < cwnd {
            self.mark_app_limited(prior_in_flight);
        }
        let delivered = ack.delivered_bytes + self.delivered_again(ack);
        if delivered > 0 {
            self.delivered += delivered;
            self.delivered_time = ack.now;
        }
        if self.app_limited.is_some_and(|end| self.delivered > end) {
            self.app_limited = None;
        }
        let sample = self.sample(ack, view);
        for delivered in ack.delivered {
            let slot = self.slot(delivered.id);
            if let Some(snapshot) = slot.and_then(|slot| self.segments.get_mut(slot)) {
                snapshot.fate = Fate::Delivered;
            }
        }
        let gone = view.scoreboard.first().0.saturating_sub(self.first);
        let gone = gone.min(self.segments.len() as u64);
        self.segments.drain(..gone as usize);
        self.first += gone;
        sample
    }

    /// Returns the number of bytes that arrived a second time, which also count as delivered (§2.2, C.delivered). A
    /// receiver cannot report more such bytes than were retransmitted.
    fn delivered_again(&mut self, ack: &AckFacts<'_>) -> u64 {
        let Some((start, end)) = ack.dsack else {
            return 0;
        };
        let again = end.saturating_sub(start).min(self.resent);
        self.resent -= again;
        again
    }

    fn sample(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Option<RateSample> {
        let newest = ack.delivered.iter().max_by_key(|d| d.segment.order)?;
        let snapshot = *self.segments.get(self.slot(newest.id)?)?;
        let send_elapsed = newest.segment.sent_at.since(snapshot.first_send_time);
        let ack_elapsed = ack.now.since(snapshot.delivered_time);
        self.first_send_time = newest.segment.sent_at;
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - snapshot.delivered;
        let reliable = !interval.is_zero() && view.rtt.min().is_none_or(|min| interval >= min);
        Some(RateSample {
            delivery_rate: if reliable {
                delivered as f64 / interval.as_secs_f64()
            } else {
                0.0
            },
            delivered,
            prior_delivered: snapshot.delivered,
            newly_acked: ack.delivered_bytes,
            lost: self.lost - snapshot.lost,
            tx_in_flight: snapshot.tx_in_flight,
            supply: snapshot.supply,
        })
    }

    fn slot(&self, id: SegmentId) -> Option<usize> {
        usize::try_from(id.0.checked_sub(self.first)?).ok()
    }
}

/// Returns `true` if the application or a timer caused this transmission, and not an ACK.
fn breaks_silence(sent: &Sent) -> bool {
    let fresh = sent.segment.transmissions == 1;
    fresh
        || sent.why == SendReason::TailLossProbe
        || sent.why == SendReason::Retransmit(LossRule::TIMEOUT)
}
