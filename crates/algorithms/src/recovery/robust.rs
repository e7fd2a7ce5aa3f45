//! Robust Recovery: it counts duplicate ACKs by the round trip, and so sees without SACKs that
//! more was lost while it was repairing.
//!
//! H. Wang, K. G. Shin, "Robust TCP congestion recovery", ICDCS 2001; Journal of High Speed
//! Networks 13(2), 2004; after Hwang, Yoo, Yoo (Momentary) §2. A window with several losses
//! costs NewReno a round trip for each, in which it goes by a window that it inflates
//! and deflates by guesswork. Robust Recovery goes by returning ACKs instead. `actnum` is the
//! number of new segments in flight, and `ndup` the number of duplicate ACKs in this round trip;
//! a round trip ends with the ACK of a retransmission.
//!
//! ```text
//! retreat   the first round trip: one new segment for every two duplicate ACKs
//!           ends with actnum = new segments sent in it
//! probe     every further one: one new segment for every duplicate ACK
//!           ends (partial ACK) with the next lost segment sent again, and
//!             ndup ≥ actnum    all arrived: actnum = new segments sent + 1
//!             ndup < actnum    more was lost: actnum = ndup, and the exit moves to SND.NXT;
//!                              not so if the ACK covers all that was sent before the round trip
//! exit      an ACK of everything up to the exit: cwnd = actnum, congestion avoidance
//! ```
//!
//! The one more segment goes out with the partial ACK; a shortfall shrinks the window to what
//! arrived and is not halved once more, as it is no new event but the same one going on.
//!
//! Against its neighbours: NewReno has the same partial ACKs, but fixed at the beginning where
//! the recovery ends, so that a loss among new segments needs three more duplicate ACKs, or the
//! timer. SACK and FACK see every hole and repair several per round trip. The weak point
//! (Momentary §2): a lost ACK looks like a lost segment, and no ACK means no new segment.
//!
//! Readings (the papers' own text was not at hand):
//! - cwnd is set by the control at the loss, and bounds `actnum` throughout: in flight, as the
//!   window admits it, is `actnum` − ndup + sent. What was outstanding at the loss does not
//!   count in the first round trip; it is on its way out.
//! - The retreat halves because the window is halved. After a loss that leaves the window what
//!   it was (the link's, with response `1`; a fixed window) a segment is sent for each duplicate
//!   ACK. Segments sent by limited transmit left in exchange for one each, and are taken off.
//! - In the probe sub-phase the window grows as in congestion avoidance, by whatever the control
//!   makes of an ACK, so that there is room for the additional segment. It does not grow while a
//!   shortfall has left it below ssthresh: that would be slow start.
//! - `actnum` at the exit and after a shortfall leaves cwnd two segments at least, as RFC 5681 §3.1
//!   does: one alone would wait for a delayed ACK. ssthresh is the control's, so an exit below it
//!   is followed by slow start up to it, as after NewReno's full ACK.
//! - Lost ACKs make a shortfall as lost segments do; where the ACK that ends the round trip
//!   covers everything that could have been missing, they are told apart.
//! - A timeout is answered as NewReno answers it; partial ACKs restart the timer.
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

/// What the window is left at least, in segments (RFC 5681 §3.1).
const LEAST_WINDOW: u64 = 2;

/// Robust Recovery. See the [module](self).
#[derive(Debug)]
struct Robust {
    smss: u64,
    at_fast_retransmit: RtoTimer,
    dup_acks: DuplicateAcks,
    resend: GoBackN,
    recovery: Option<Rounds>,
    /// The retransmission that is due at once, and why.
    retransmit: Option<(SegmentId, LossRule)>,
}

/// A recovery, counted by round trips. All counts are of segments.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    phase: Phase,
    /// Duplicate ACKs in this round trip.
    ndup: u64,
    /// New segments sent in it.
    sent: u64,
    /// The recovery ends when everything up to here is acknowledged.
    exit: u64,
    /// SND.NXT when the round trip began: the ACK that ends it covers what was sent before, as
    /// far as that was not lost.
    edge: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first round trip: so many duplicate ACKs make room for a segment.
    Retreat { per_segment: u64 },
    /// Any other: `actnum` at its beginning, and how many segments may be sent besides one for
    /// each duplicate ACK.
    Probe { actnum: u64, bonus: u64 },
}

impl Rounds {
    /// `actnum` as it is now.
    fn in_flight(&self) -> u64 {
        match self.phase {
            Phase::Retreat { .. } => self.sent,
            Phase::Probe { actnum, .. } => actnum.saturating_sub(self.ndup) + self.sent,
        }
    }

    /// New segments that the ACKs of this round trip have yet to release.
    fn credit(&self) -> u64 {
        let released = match self.phase {
            Phase::Retreat { per_segment } => self.ndup / per_segment,
            Phase::Probe { bonus, .. } => self.ndup + bonus,
        };
        released.saturating_sub(self.sent)
    }

    /// The number of duplicate ACKs, if there were fewer than segments sent a round trip ago.
    fn shortfall(&self) -> Option<u64> {
        match self.phase {
            Phase::Probe { actnum, .. } if self.ndup < actnum => Some(self.ndup),
            Phase::Probe { .. } | Phase::Retreat { .. } => None,
        }
    }

    /// The next round trip begins.
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

    /// Sends the first unacknowledged segment again; returns its length.
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

    /// An ACK of new data.
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

    /// The window in bytes that `actnum` stands for.
    fn window_of(&self, actnum: u64) -> f64 {
        (actnum.max(LEAST_WINDOW) * self.smss) as f64
    }
}

impl Recovery for Robust {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        self.resend.on_sent(sent);
        match &mut self.recovery {
            // It takes the place of the segment that was lost.
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
            // Segments may be short.
            Some(rounds) => (rounds.in_flight() * self.smss).min(view.flight_size()),
            None => self.resend.flight_size(view).saturating_sub(
                self.dup_acks
                    .limited_transmit_bytes(self.resend.is_active()),
            ),
        }
    }

    /// In a recovery whole segments only: it counts nothing less.
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

/// Robust Recovery in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("robust", file!())
        .summary("NewReno by counting: duplicate ACKs per round trip tell of further losses")
        .citation(
            "H. Wang and K. G. Shin, Robust TCP Congestion Recovery, Journal of High Speed \
             Networks 13(2), 2004",
        )
        .linux(Linux::missing("with SACK it has RACK-TLP, without it NewReno").near("rack"))
        .build(|parameters, context| Box::new(Robust::new(parameters, context)))
}

#[cfg(test)]
mod tests;
