//! TCP-PR: losses are detected only by time, and not by duplicate ACKs.
//!
//! S. Bohacek, J. Hespanha, J. Lee, C. Lim, K. Obraczka, "TCP-PR: TCP for persistent packet reordering", ICDCS 2003; LE
//! §1 names it. If packets overtake each other all the time, the order of ACKs has no meaning. TCP-PR computes an upper
//! bound of the round-trip time instead, and considers a segment lost if it is in flight for longer:
//!
//! ```text
//! ACK of a segment, after the time r:   ewrtt = max(α^(1/cwnd) · ewrtt, r)           cwnd in segments
//! lost: sent longer ago than            mxrtt = β · ewrtt
//! reduce: once for all that was in flight when a loss was found
//! ```
//!
//! The bound follows the maximum round-trip time at once and decreases by the factor α per window. The next
//! transmission and the bytes in flight are those of LE: two lists in the order of transmission (`two_lists`). The
//! oldest transmission is overdue first, so one timer is enough.
//!
//! For comparison: RACK-TLP waits for a quarter of the minimum round-trip time longer than the last one. TCP-PR waits
//! for β times the maximum and uses no other sign, so it repairs a loss late.
//!
//! Readings (the text of the paper was not available):
//! - SACK shows which data has arrived; with cumulative ACKs alone, everything above a hole would stay in flight.
//! - The retransmission timer replaces the paper's action when most of a window is lost. The timer also handles lost
//!   retransmissions, because the timer backs off; with the bound alone, the sender would flood an unreachable peer
//!   with retransmissions.
//! - Before there is a sample, only the retransmission timer detects losses.
//!
//! Cost: amortised O(1).

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{
    Clearance, Exit, Expiry, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::{Segment, SegmentId};
use dupack_tcp::time::{Duration, Instant};

use super::ambiguity::last_transmission_arrived;
use super::rto_policy::{RtoPolicy, RtoTimerParameters};
use super::two_lists::TwoLists;
use crate::catalog::{Context, Entry, Linux, Needs, Parameters};

/// Rule of a segment that is in flight for longer than any round trip takes (TCP-PR).
pub const TOO_LONG: LossRule = LossRule::new(&RuleWords {
    name: "overdue",
    meaning: "longer in flight than any round trip",
});

/// TCP-PR. See the [module](self).
#[derive(Debug)]
struct TcpPr {
    smss: f64,
    alpha: f64,
    beta: f64,
    rto_timer: RtoPolicy,
    /// TSval of the last transmission of each segment.
    lists: TwoLists<Option<u32>>,
    /// Upper bound of the round-trip time, in seconds.
    ewrtt: Option<f64>,
    /// Order of the last transmission.
    last_order: u64,
    /// Order up to which transmissions belong to the last loss event.
    event_order: u64,
    timer: Option<Instant>,
}

impl TcpPr {
    fn new(parameters: &TcpPrParameters, context: &Context) -> Self {
        Self {
            smss: f64::from(context.smss),
            alpha: parameters.alpha,
            beta: parameters.beta,
            rto_timer: parameters.timer.rto_timer,
            lists: TwoLists::new(),
            ewrtt: None,
            last_order: 0,
            event_order: 0,
            timer: None,
        }
    }

    /// Updates the bound with the round-trip times that an ACK shows.
    fn sample(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let segments = (view.window.cwnd / self.smss).max(1.0);
        for delivered in ack.delivered {
            let timestamp = self.lists.tag(delivered.id).flatten();
            if !last_transmission_arrived(delivered, timestamp, ack, view) {
                continue;
            }
            let rtt = ack.now.since(delivered.segment.sent_at).as_secs_f64();
            let kept = self.ewrtt.unwrap_or(0.0) * libm::pow(self.alpha, 1.0 / segments);
            self.ewrtt = Some(kept.max(rtt));
        }
    }

    /// Returns the time at which the last transmission of `segment` becomes overdue; `None` for a retransmission, or
    /// before there is a sample.
    fn due(&self, segment: &Segment) -> Option<Instant> {
        let bound = Duration::from_secs_f64(self.ewrtt? * self.beta);
        (segment.transmissions == 1).then(|| segment.sent_at + bound)
    }

    /// Moves all overdue segments to RTXLIST, and sets the timer for the next one. Returns the loss that begins a loss
    /// event, if any.
    fn find_lost(&mut self, view: &View<'_>) -> Option<SegmentId> {
        let mut event = None;
        self.timer = None;
        while let Some(oldest) = self.lists.oldest() {
            let segment = view.scoreboard.get(oldest.id);
            let Some(due) = segment.and_then(|segment| self.due(segment)) else {
                break;
            };
            if due > view.now {
                self.timer = Some(due);
                break;
            }
            self.lists.condemn(oldest.id, TOO_LONG, view.scoreboard);
            if oldest.order > self.event_order {
                self.event_order = self.last_order;
                event = Some(oldest.id);
            }
        }
        event
    }
}

impl Recovery for TcpPr {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.last_order = sent.segment.order;
        self.lists.sent(sent, sent.timestamp, view.scoreboard);
        if self.timer.is_none() {
            self.timer = self.due(&sent.segment);
        }
        self.rto_timer.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.sample(ack, view);
        self.lists.delivered(ack.delivered, view.scoreboard);
        let event = self.find_lost(view);
        Outcome {
            loss: event.map(|segment| LossEvent::of(segment, TOO_LONG)),
            restore: None,
            limit: None,
            growth: match event {
                None if ack.acked_bytes > 0 => Growth::Acked,
                _ => Growth::Frozen,
            },
            rto: self.rto_timer.on_ack(ack),
            timing: Timing::Sample,
            exit: Exit::No,
        }
    }

    fn on_cut(&mut self, view: &View<'_>) {
        self.lists.cut(view.scoreboard, None);
        self.on_rto(view);
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.lists.time_out(view.scoreboard, |_, _| true);
        self.event_order = self.last_order;
        self.timer = None;
    }

    fn timer(&self) -> Option<Instant> {
        self.timer
    }

    fn on_timer(&mut self, view: &View<'_>) -> Expiry {
        Expiry {
            loss: self
                .find_lost(view)
                .map(|segment| LossEvent::of(segment, TOO_LONG)),
            ..Expiry::default()
        }
    }

    fn lost_bytes(&self) -> Option<u64> {
        Some(self.lists.judged_bytes())
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.lists.in_flight(view.scoreboard)
    }

    fn next(&self, _: &View<'_>) -> Next {
        let clearance = Clearance::Window;
        match self.lists.next_lost() {
            Some((id, rule)) => Next::Retransmit {
                id,
                why: SendReason::Retransmit(rule),
                clearance,
            },
            None => Next::New {
                why: SendReason::NewData,
                clearance,
            },
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = f64::from(to);
    }
}

/// TCP-PR's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct TcpPrParameters {
    /// fraction of the round-trip time bound that remains after a window
    #[parameter(basic, source = "Bohacek et al. 2003", range = 0.0..=1.0, default = 0.995)]
    alpha: f64,
    /// maximum time of a segment in flight, as a multiple of the round-trip time bound
    #[parameter(basic, source = "Bohacek et al. 2003", range = 1.0..=100.0, default = 3.0)]
    beta: f64,
    #[embed(change(rto_timer(
        source = "RFC 6298 §5.3",
        default = RtoPolicy::Advance,
    )))]
    timer: RtoTimerParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("tcp-pr", file!())
        .summary(
            "a segment in flight longer than any round trip is lost; duplicate ACKs mean nothing",
        )
        .citation("S. Bohacek, J. Hespanha, J. Lee, C. Lim and K. Obraczka, TCP-PR, ICDCS 2003")
        .needs(|_| Needs::SACK)
        .linux(Linux::missing("with SACK it has RACK-TLP").near("rack"))
        .build(|parameters, context| Box::new(TcpPr::new(parameters, context)))
}

#[cfg(test)]
mod tests;
