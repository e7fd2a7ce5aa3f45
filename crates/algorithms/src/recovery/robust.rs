//! Robust Recovery: it counts duplicate ACKs per round trip, and so detects, without SACKs, that more segments were
//! lost during the recovery.
//!
//! H. Wang, K. G. Shin, "Robust TCP congestion recovery", ICDCS 2001; Journal of High Speed Networks 13(2), 2004; after
//! Hwang, Yoo, Yoo (Momentary) §2. A window with several losses costs NewReno a round trip for each loss, and in that
//! time NewReno depends on a window that it inflates and deflates by estimates. Robust Recovery depends on returning
//! ACKs instead. `actnum` is the number of new segments in flight, and `ndup` the number of duplicate ACKs in this
//! round trip; a round trip ends with the ACK of a retransmission.
//!
//! ```text
//! retreat   the first round trip: one new segment for every two duplicate ACKs
//!           ends with actnum = new segments sent in it
//! probe     every further one: one new segment for every duplicate ACK
//!           ends (partial ACK) with the retransmission of the next lost segment, and
//!             ndup ≥ actnum    all arrived: actnum = new segments sent + 1
//!             ndup < actnum    more was lost: actnum = ndup, and the exit moves to SND.NXT;
//!                              not so if the ACK covers everything sent before the round trip
//! exit      an ACK of everything up to the exit: cwnd = actnum, congestion avoidance
//! ```
//!
//! The additional segment is sent at the partial ACK. A shortfall shrinks the window to the number of segments that
//! arrived; the window is not halved again, because it is still the same loss event.
//!
//! For comparison: NewReno has the same partial ACKs, but determines the end of the recovery at its beginning, so a
//! loss among new segments needs three more duplicate ACKs, or the timer. SACK and FACK see every hole and repair
//! several per round trip. The weakness (Momentary §2): a lost ACK looks like a lost segment, and without an ACK no new
//! segment is sent.
//!
//! Readings (the text of the papers was not available):
//! - cwnd is set by the control at the loss, and limits `actnum` all the time: the segments in flight, which the
//!   window limits, are `actnum` − ndup + sent. Data that was outstanding at the loss does not
//!   count in the first round trip because it is leaving the network.
//! - The retreat sends one segment for two ACKs because the window is halved. After a loss that leaves the window
//!   unchanged (a wireless loss with response `1`, or a fixed window), one segment is sent for each duplicate
//!   ACK. Each segment sent by limited transmit has already used one duplicate ACK, and is subtracted.
//! - In the probe sub-phase the window grows as in congestion avoidance, by the increase of the control
//!   for an ACK, so that it permits the additional segment. It does not grow while a
//!   shortfall has left it below ssthresh, because that would be slow start.
//! - `actnum` at the exit and after a shortfall leaves cwnd at least two segments, as RFC 5681 §3.1
//!   does: a single segment would wait for a delayed ACK. ssthresh is the control's, so slow start up to ssthresh
//!   follows an exit below it, as after NewReno's full ACK.
//! - Lost ACKs cause a shortfall just as lost segments do. If the ACK that ends the round trip
//!   covers everything that could have been missing, the two cases can be distinguished.
//! - A timeout is handled as in NewReno; partial ACKs restart the timer.
//!
//! Cost: counters, O(1).

use alloc::boxed::Box;

use dupack_tcp::facts::{
    AckFacts, AckKind, LossCause, LossFacts, LossRule, SendReason, Sent, View,
};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::SegmentId;

use super::duplicate_acks::{DUPLICATE_ACKS, DuplicateAckParameters, DuplicateAcks};
use super::go_back_n::GoBackN;
use super::newreno::PARTIAL_ACK;
use super::reno::TimerParameters;
use crate::catalog::{Context, Entry, Linux, Parameters};

/// Minimum window in segments (RFC 5681 §3.1).
const LEAST_WINDOW: u64 = 2;

/// Robust Recovery. See the [module](self).
#[derive(Debug)]
struct Robust {
    smss: u64,
    at_fast_retransmit: RtoTimer,
    dup_acks: DuplicateAcks,
    resend: GoBackN,
    recovery: Option<Rounds>,
    /// Retransmission to be sent at once, and its reason.
    retransmit: Option<(SegmentId, LossRule)>,
}

/// Progress of a recovery, by round trips. All counts are in segments.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    phase: Phase,
    /// Number of duplicate ACKs in the current round trip.
    ndup: u64,
    /// Number of new segments sent in the current round trip.
    sent: u64,
    /// Offset that ends the recovery when the data before it is acknowledged.
    exit: u64,
    /// SND.NXT when the round trip began. The ACK that ends the round trip covers all data sent before that was not
    /// lost.
    edge: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first round trip: `per_segment` duplicate ACKs permit one segment.
    Retreat { per_segment: u64 },
    /// Any other round trip: `actnum` at its beginning, and the number of segments that may be sent in addition to one
    /// for each duplicate ACK.
    Probe { actnum: u64, bonus: u64 },
}

impl Rounds {
    /// Returns the current `actnum`.
    fn in_flight(&self) -> u64 {
        match self.phase {
            Phase::Retreat { .. } => self.sent,
            Phase::Probe { actnum, .. } => actnum.saturating_sub(self.ndup) + self.sent,
        }
    }

    /// Returns the number of new segments that the ACKs of this round trip permit and that have not been sent yet.
    fn credit(&self) -> u64 {
        let released = match self.phase {
            Phase::Retreat { per_segment } => self.ndup / per_segment,
            Phase::Probe { bonus, .. } => self.ndup + bonus,
        };
        released.saturating_sub(self.sent)
    }

    /// Returns the number of duplicate ACKs, if it is smaller than the number of segments sent one round trip earlier.
    fn shortfall(&self) -> Option<u64> {
        match self.phase {
            Phase::Probe { actnum, .. } if self.ndup < actnum => Some(self.ndup),
            Phase::Probe { .. } | Phase::Retreat { .. } => None,
        }
    }

    /// Begins the next round trip.
    fn turn(&mut self, bonus: u64, view: &View<'_>) {
        self.phase = Phase::Probe {
            actnum: self.sent,
            bonus,
        };
        self.ndup = 0;
        self.sent = 0;
        self.edge = view.scoreboard.nxt();
    }
}

impl Robust {
    fn new(parameters: &RobustParameters, context: &Context) -> Self {
        Self {
            smss: u64::from(context.smss),
            at_fast_retransmit: parameters.timer.fast_retransmit_timer.into(),
            dup_acks: DuplicateAcks::new(&parameters.duplicates, context),
            resend: GoBackN::default(),
            recovery: None,
            retransmit: None,
        }
    }

    /// Schedules the retransmission of the first unacknowledged segment.
    fn retransmit_first(&mut self, rule: LossRule, view: &View<'_>) {
        self.retransmit = Some((view.scoreboard.first(), rule));
    }

    fn enter(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.dup_acks.begin_event(view);
        let limited = (ack.prior_flight - ack.prior_flight_unlimited).div_ceil(self.smss);
        self.recovery = Some(Rounds {
            phase: Phase::Retreat { per_segment: 2 },
            ndup: (self.dup_acks.departed_bytes() / self.smss).saturating_sub(limited),
            sent: 0,
            exit: view.scoreboard.nxt(),
            edge: view.scoreboard.nxt(),
        });
        self.retransmit_first(DUPLICATE_ACKS, view);
        Outcome {
            loss: Some(LossEvent::of(view.scoreboard.first(), DUPLICATE_ACKS)),
            rto: self.at_fast_retransmit,
            ..Outcome::default()
        }
    }

    /// Handles an ACK of new data.
    fn advance(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.retransmit = None;
        let Some(mut rounds) = self.recovery.take() else {
            return Outcome {
                growth: Growth::Acked,
                rto: RtoTimer::Restart,
                ..Outcome::default()
            };
        };
        let further = rounds.shortfall().filter(|_| ack.una < rounds.edge);
        if ack.una >= rounds.exit && further.is_none() {
            return Outcome {
                limit: Some(self.window_of(rounds.in_flight())),
                exit: Exit::Recovery,
                rto: RtoTimer::Restart,
                ..Outcome::default()
            };
        }
        if further.is_some() {
            rounds.exit = view.scoreboard.nxt();
            self.dup_acks.begin_event(view);
        }
        rounds.turn(u64::from(further.is_none()), view);
        let limit = further.map(|arrived| self.window_of(arrived));
        let growth = match further {
            None if !view.window.in_slow_start() => Growth::Acked,
            None | Some(_) => Growth::Frozen,
        };
        self.recovery = Some(rounds);
        self.retransmit_first(PARTIAL_ACK, view);
        Outcome {
            limit,
            growth,
            rto: RtoTimer::Restart,
            timing: Timing::Discard,
            ..Outcome::default()
        }
    }

    /// Returns the window in bytes for `actnum` segments.
    fn window_of(&self, actnum: u64) -> f64 {
        (actnum.max(LEAST_WINDOW) * self.smss) as f64
    }
}

impl Recovery for Robust {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        self.resend.on_sent(sent);
        match &mut self.recovery {
            // A retransmission does not count as a new segment.
            _ if self.retransmit.is_some_and(|(id, _)| id == sent.id) => self.retransmit = None,
            Some(rounds) => rounds.sent += 1,
            None => {}
        }
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.resend.on_ack(view);
        let loss = self.dup_acks.reveal_loss(ack);
        match (ack.kind, &mut self.recovery) {
            (AckKind::Advance, _) => self.advance(ack, view),
            (AckKind::Duplicate, Some(rounds)) => {
                rounds.ndup += 1;
                Outcome {
                    growth: match rounds.phase {
                        Phase::Probe { .. } if !view.window.in_slow_start() => Growth::EveryAck,
                        Phase::Probe { .. } | Phase::Retreat { .. } => Growth::Frozen,
                    },
                    ..Outcome::default()
                }
            }
            (AckKind::Duplicate, None) if loss => self.enter(ack, view),
            (AckKind::Duplicate | AckKind::Other, _) => Outcome::default(),
        }
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.dup_acks.on_rto(view);
        self.resend.begin(view, LossRule::TIMEOUT);
        self.recovery = None;
        self.retransmit = None;
    }

    fn on_judged(&mut self, loss: &LossFacts, _: LossCause, view: &View<'_>) {
        if let Some(rounds) = &mut self.recovery
            && view.window.cwnd >= loss.window.cwnd
        {
            rounds.phase = Phase::Retreat { per_segment: 1 };
        }
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        match self.recovery {
            // Segments may be shorter than SMSS.
            Some(rounds) => (rounds.in_flight() * self.smss).min(view.flight_size()),
            None => self.resend.flight_size(view).saturating_sub(
                self.dup_acks
                    .limited_transmit_bytes(self.resend.is_active()),
            ),
        }
    }

    /// In a recovery, only whole segments are permitted, because the counts are in segments.
    fn allowance(&self, view: &View<'_>) -> u64 {
        let cwnd = view.window.whole_bytes();
        match self.recovery {
            Some(rounds) => {
                let room = (cwnd / self.smss).saturating_sub(rounds.in_flight());
                rounds.credit().min(room) * self.smss
            }
            None => cwnd.saturating_sub(self.in_flight(view)),
        }
    }

    fn next(&self, view: &View<'_>) -> Next {
        if let Some((id, rule)) = self.retransmit {
            return Next::Retransmit {
                id,
                why: SendReason::Retransmit(rule),
                clearance: Clearance::Immediate,
            };
        }
        if let Some(next) = self.resend.next() {
            return next;
        }
        match self.recovery {
            Some(_) => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
            None => self.dup_acks.new_data(view.flight_size(), view),
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = u64::from(to);
        self.dup_acks.resize(to);
    }
}

/// Robust Recovery's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct RobustParameters {
    #[embed]
    duplicates: DuplicateAckParameters,
    #[embed]
    timer: TimerParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("robust", file!())
        .summary("NewReno by counting: duplicate ACKs per round trip show further losses")
        .citation(
            "H. Wang and K. G. Shin, Robust TCP Congestion Recovery, Journal of High Speed \
             Networks 13(2), 2004",
        )
        .linux(Linux::missing("with SACK it has RACK-TLP, without it NewReno").near("rack"))
        .build(|parameters, context| Box::new(Robust::new(parameters, context)))
}

#[cfg(test)]
mod tests;
