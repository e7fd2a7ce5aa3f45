//! SACK: the standard's conservative recovery from selective acknowledgments.
//!
//! RFC 6675 (2012). The sender estimates the data in the network, its `pipe`, and sends whenever `cwnd − pipe ≥ 1
//! SMSS`; `NextSeg` chooses the segment. Let `lost(s)` mean that "[`DupThresh`](super::shared::DupThreshold) separate
//! runs of sacked data, or more than `(DupThresh − 1) · SMSS` sacked bytes, lie above s" (`IsLost`, §4):
//!
//! ```text
//! pipe = Σ over s not sacked:  (1 if not lost(s))  +  (1 if s ≤ HighRxt)             SetPipe
//!
//! NextSeg:  1  the lowest hole above HighRxt, if it is lost
//!           2  new data
//!           3  the lowest hole above HighRxt and below the highest SACK
//!           4  once per recovery, the highest hole: a rescue, so that an ACK is returned
//! ```
//!
//! A recovery begins when `DupThresh` consecutive ACKs have reported new sacked data, or when the first outstanding
//! segment is lost. It halves the window, which then does not change until everything outstanding at the beginning
//! (`RecoveryPoint`) is cumulatively acknowledged. Before a recovery, limited transmit needs no separate rule, because
//! every SACK reduces `pipe`. After a timeout (§5.1) everything outstanding counts as lost, sacked segments are not
//! retransmitted, and no recovery begins before all of this data is acknowledged.
//!
//! The window is halved at once. RFC 6937 and RFC 9937 replace this step alone, and keep `pipe` and `NextSeg`:
//! `reduction` selects PRR with one of its bounds, or its predecessor rate halving (`window_reduction`). The fast
//! retransmit does not depend on it.
//!
//! For comparison: `fall-floyd` (`sack_fall_floyd`), the predecessor, counts `pipe` by ACKs and retransmits any hole at
//! once. FACK considers every hole below the highest SACK lost, and so needs no `pipe`. RACK uses time instead of
//! counts. As with FACK, lost retransmissions wait for the timer.
//!
//! Cost: `pipe` and `lost` are derived from two cursors that only move forward (`hole_cursor`, `lost_below`): amortised
//! O(1) per segment and ACK for any window. The literal definitions above are the reference in this file's tests.

mod lost_below;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use dupack_tcp::congestion::Governance;
use dupack_tcp::facts::{AckFacts, LossRule, SendReason, Sent, View};
use dupack_tcp::recovery::{
    self, Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer,
};
use dupack_tcp::scoreboard::{Reported, Scoreboard, SegmentId};
use dupack_tcp::undo::{Reduction, Reversal, Spurious};

use self::lost_below::LostBelow;
use super::duplicate_acks::DUPLICATE_ACKS;
use super::hole_cursor::HoleCursor;
use super::prr::{Bound, Progress};
use super::rate_halving::Floor;
use super::rto_policy::{RtoPolicy, RtoTimerParameters};
use super::sack_fall_floyd::{FallFloyd, FallFloydParameters};
use super::shared::{DupThreshold, LimitedTransmit, SACKED_ABOVE};
use super::window_reduction::{Method, PrrExit, Spread};
use crate::catalog::{Choice, Context, Entry, Linux, Needs, Parameters, Switch};

/// Recovery of RFC 6675. See the [module](self).
#[derive(Debug)]
pub(super) struct Rfc6675 {
    smss: u32,
    dup_threshold: u32,
    /// `On` if the first duplicate ACKs permit new data (RFC 3042).
    limited_transmit: Switch,
    /// `On` if `NextSeg` includes rule 4.
    rescue_allowed: Switch,
    rto_timer: RtoPolicy,
    phase: Phase,
    /// DupAcks: number of consecutive ACKs that reported new sacked data.
    dup_acks: u32,
    lost: LostBelow,
    /// `HighRxt`: every hole below the cursor has been retransmitted.
    high_rxt: HoleCursor,
    /// `RescueRxt`, as the offset after it: rule 4 applies once SND.UNA is beyond it.
    rescue_rxt: u64,
    reduction: Method,
    prr_exit: PrrExit,
    /// Window reduction of the current recovery, unless the window is reduced at once.
    spread: Option<Spread>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No known loss.
    Open,
    /// Loss recovery (§5).
    Recovery {
        /// `RecoveryPoint`, as the offset after it.
        until: u64,
        /// Fast retransmit of step 4.3.
        head: Head,
    },
    /// After a timeout (§5.1).
    AfterRto {
        /// End of the data that was outstanding at the timeout.
        until: u64,
    },
}

/// Fast retransmit, which does not depend on `pipe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// It is still to be sent, for this reason.
    Due(LossRule),
    /// It has been sent.
    Sent,
}

impl Rfc6675 {
    pub(super) fn new(parameters: &Rfc6675Parameters, context: &Context) -> Self {
        let dup_threshold = parameters.counting.dup_threshold;
        Self {
            smss: context.smss,
            dup_threshold,
            limited_transmit: parameters.limited_transmit.limited_transmit,
            rescue_allowed: parameters.rescue,
            rto_timer: parameters.timer.rto_timer,
            phase: Phase::Open,
            dup_acks: 0,
            lost: LostBelow::new(dup_threshold, context.smss),
            high_rxt: HoleCursor::default(),
            rescue_rxt: 0,
            reduction: Method::AtOnce,
            prr_exit: PrrExit::Ssthresh,
            spread: None,
        }
    }

    /// Selects the window reduction.
    fn reducing(mut self, parameters: &ReductionParameters) -> Self {
        self.reduction = match parameters.reduction {
            WindowReduction::Rfc6675 => Method::AtOnce,
            WindowReduction::RateHalving => Method::RateHalving(parameters.halving_floor),
            WindowReduction::PrrCrb => Method::Prr(Bound::Conservative),
            WindowReduction::PrrSsrb => Method::Prr(Bound::SlowStart),
            WindowReduction::PrrUb => Method::Prr(Bound::Unlimited),
            WindowReduction::Prr => Method::Prr(Bound::SafeAck),
        };
        self.prr_exit = parameters.prr_exit;
        self
    }

    /// Returns `true` if the hole `id` is lost.
    pub(super) fn is_lost(&self, id: SegmentId) -> bool {
        self.lost.contains(id)
    }

    /// Sets the number of duplicate ACKs, or their equivalent, that shows a loss. Segments that were lost stay lost.
    pub(super) fn set_dup_threshold(&mut self, dup_threshold: u32) {
        self.dup_threshold = dup_threshold;
        self.lost.set_threshold(dup_threshold, self.smss);
    }

    /// Returns the end of the data that was outstanding when the current recovery began.
    pub(super) fn recovery_point(&self) -> Option<u64> {
        match self.phase {
            Phase::Recovery { until, .. } => Some(until),
            Phase::Open | Phase::AfterRto { .. } => None,
        }
    }

    /// Extends the current recovery until everything outstanding now is acknowledged.
    pub(super) fn extend_recovery(&mut self, board: &Scoreboard) {
        if let Phase::Recovery { until, .. } = &mut self.phase {
            *until = board.nxt();
        }
    }

    /// Handles an ACK outside loss recovery (§5, before step 1). In §2, every ACK with new sacked data counts as a
    /// duplicate, even one that advances SND.UNA.
    fn on_ack_open(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) -> Option<LossEvent> {
        if ack.sacked_bytes == 0 {
            return None;
        }
        self.dup_acks += 1;
        let first_is_lost = self.lost.contains(board.first());
        if self.dup_acks >= self.dup_threshold {
            self.enter(DUPLICATE_ACKS, board)
        } else if first_is_lost {
            self.enter(SACKED_ABOVE, board)
        } else {
            None
        }
    }

    /// Step 4: enters loss recovery, unless there is no hole below a SACK. This case occurs only if a receiver
    /// withdraws SACKs, and the timer handles it.
    fn enter(&mut self, rule: LossRule, board: &Scoreboard) -> Option<LossEvent> {
        let first = self.high_rxt.rewind_below(board, board.forward_ack())?;
        self.rescue_rxt = first.end();
        self.phase = Phase::Recovery {
            until: board.nxt(),
            head: Head::Due(rule),
        };
        Some(LossEvent::of(self.high_rxt.id(), rule))
    }

    /// Passes an ACK of the recovery to the window reduction.
    fn spread_on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let in_flight = self.in_flight(view);
        if let Some(spread) = &mut self.spread {
            let progress = if ack.acked_bytes > 0 && !self.lost.found() {
                Progress::Safe
            } else {
                Progress::Unsafe
            };
            spread.on_ack(ack.delivered_bytes, progress, in_flight, view);
        }
    }

    /// `NextSeg`, preceded by the fast retransmit.
    fn next_seg(&self, until: u64, head: Head, view: &View<'_>) -> Next {
        let board = view.scoreboard;
        let id = self.high_rxt.id();
        let resend = |why, clearance| Next::Retransmit { id, why, clearance };
        if let Head::Due(rule) = head
            && self.high_rxt.hole(board, until).is_some()
        {
            return resend(SendReason::Retransmit(rule), Clearance::Immediate);
        }
        let hole = self.high_rxt.hole(board, board.forward_ack());
        if hole.is_some() && self.lost.contains(id) {
            let why = SendReason::Retransmit(SACKED_ABOVE);
            return resend(why, Clearance::Window);
        }
        if view.new_len > 0 {
            return NEW_DATA;
        }
        if hole.is_some() {
            return resend(SendReason::HoleFill, Clearance::Window);
        }
        self.rescue(view).unwrap_or(NEW_DATA)
    }

    /// Rule 4. The search for the highest hole is not amortised by a cursor. It runs only if the hole can be sent, so
    /// once per recovery.
    fn rescue(&self, view: &View<'_>) -> Option<Next> {
        let board = view.scoreboard;
        let allowed = self.rescue_allowed == Switch::On
            && board.una() > self.rescue_rxt
            && self.allowance(view) >= u64::from(self.smss);
        if !allowed {
            return None;
        }
        let mut number = board.end().0;
        while number > board.first().0 {
            number -= 1;
            let id = SegmentId(number);
            if board.get(id)?.reported == Reported::Missing {
                return Some(Next::Retransmit {
                    id,
                    why: SendReason::Rescue,
                    clearance: Clearance::Window,
                });
            }
        }
        None
    }
}

const NEW_DATA: Next = Next::New {
    why: SendReason::NewData,
    clearance: Clearance::Window,
};

impl Recovery for Rfc6675 {
    fn governed_by(&mut self, governance: Governance) {
        if governance == Governance::Model {
            self.reduction = Method::AtOnce;
        }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        if let Some(spread) = &mut self.spread {
            spread.on_sent(sent.segment.len);
        }
        match sent.why {
            SendReason::Rescue => {
                // A rescue does not change HighRxt, and there is no second rescue before RecoveryPoint.
                if let Phase::Recovery { until, .. } = self.phase {
                    self.rescue_rxt = until;
                }
            }
            SendReason::Retransmit(_) | SendReason::HoleFill => {
                self.high_rxt.pass(sent.id, view.scoreboard);
                if let Phase::Recovery { head, .. } = &mut self.phase {
                    *head = Head::Sent;
                }
            }
            _ => {}
        }
        self.rto_timer.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let board = view.scoreboard;
        self.lost.on_ack(ack, board);
        let mut outcome = Outcome {
            rto: self.rto_timer.on_ack(ack),
            ..Outcome::default()
        };
        self.high_rxt.on_ack(ack, board);
        self.high_rxt.skip_sacked(board);
        if ack.acked_bytes > 0 {
            self.dup_acks = 0;
        }
        match self.phase {
            Phase::Recovery { until, .. } => {
                // Step A. The window does not change on this ACK.
                if ack.una >= until {
                    self.phase = Phase::Open;
                    self.high_rxt.rewind(board);
                    outcome.exit = Exit::Recovery;
                    let in_flight = self.in_flight(view);
                    outcome.limit = self.spread.take().and_then(|spread| {
                        spread.limit_at_exit(self.prr_exit, self.smss, in_flight)
                    });
                } else {
                    self.spread_on_ack(ack, view);
                }
                return outcome;
            }
            Phase::AfterRto { until } if ack.una < until => {}
            Phase::AfterRto { .. } => {
                self.phase = Phase::Open;
                self.high_rxt.rewind(board);
                outcome.loss = self.on_ack_open(ack, board);
            }
            Phase::Open => outcome.loss = self.on_ack_open(ack, board),
        }
        if outcome.loss.is_some() {
            let window = view.window.whole_bytes();
            self.spread = Spread::begin(self.reduction, self.smss, window, Some(ack), view);
            self.spread_on_ack(ack, view);
        }
        if ack.acked_bytes > 0 && outcome.loss.is_none() {
            outcome.growth = Growth::Acked;
        }
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.phase = Phase::AfterRto {
            until: view.scoreboard.nxt(),
        };
        self.dup_acks = 0;
        self.spread = None;
        self.lost.lose_everything(view.scoreboard);
        self.high_rxt.rewind(view.scoreboard);
    }

    /// After a timeout, loss detection starts again for everything outstanding. A segment that is lost by `IsLost`
    /// stays lost. If it is the first segment, it begins a new recovery; otherwise it would not be retransmitted.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        if self.phase == Phase::Open {
            return Reversal::Done(None);
        }
        let board = view.scoreboard;
        if spurious.after == Reduction::Timeout {
            self.lost.start_over(board);
        }
        self.phase = Phase::Open;
        self.dup_acks = 0;
        self.spread = None;
        self.high_rxt.rewind(board);
        if self.lost.contains(board.first()) {
            let event = self.enter(SACKED_ABOVE, board);
            let window = view.window.whole_bytes();
            self.spread =
                event.and_then(|_| Spread::begin(self.reduction, self.smss, window, None, view));
            Reversal::Done(event)
        } else {
            Reversal::Done(None)
        }
    }

    // `allowance` calls this for each segment.
    #[inline(always)]
    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.lost.not_lost_bytes(view.scoreboard) + self.high_rxt.missing_below(view.scoreboard)
    }

    fn allowance(&self, view: &View<'_>) -> u64 {
        let in_flight = self.in_flight(view);
        match &self.spread {
            Some(spread) => spread.allowance(in_flight, view),
            None => view.window.whole_bytes().saturating_sub(in_flight),
        }
    }

    fn phase(&self) -> Option<recovery::Phase> {
        Some(match self.phase {
            Phase::Open => recovery::Phase::Open,
            Phase::Recovery { .. } => recovery::Phase::Recovery,
            Phase::AfterRto { .. } => recovery::Phase::Loss,
        })
    }

    fn next(&self, view: &View<'_>) -> Next {
        match self.phase {
            Phase::Open if self.dup_acks == 0 => NEW_DATA,
            Phase::Open => match self.limited_transmit {
                Switch::On => Next::New {
                    why: SendReason::LimitedTransmit,
                    clearance: Clearance::Window,
                },
                Switch::Off => Next::Nothing,
            },
            Phase::Recovery { until, head } => self.next_seg(until, head, view),
            Phase::AfterRto { until } => match self.high_rxt.hole(view.scoreboard, until) {
                Some(_) => Next::Retransmit {
                    id: self.high_rxt.id(),
                    why: SendReason::Retransmit(LossRule::TIMEOUT),
                    clearance: Clearance::Window,
                },
                None => NEW_DATA,
            },
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = to;
        self.lost.resize(self.dup_threshold, to);
    }
}

/// Method to count the bytes in flight, which also selects the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Pipe {
    /// by the scoreboard, with SetPipe and IsLost
    #[choice("rfc6675")]
    Rfc6675,
    /// up with each segment sent, down with each ACK
    FallFloyd,
}

/// Parameters of RFC 6675's recovery, on its own or as a part of another recovery.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct Rfc6675Parameters {
    #[embed]
    pub(super) counting: DupThreshold,
    #[embed]
    pub(super) limited_transmit: LimitedTransmit,
    /// one rescue retransmission per recovery (not with pipe = fall-floyd)
    #[parameter(
        basic,
        source = "RFC 6675 §4, NextSeg rule 4; Linux has the tail loss probe instead",
        default(rfc = Switch::On, linux = Switch::Off, ns2 = Switch::On),
    )]
    rescue: Switch,
    // The recovery of Fall and Floyd has its own rules for the timer.
    #[embed]
    timer: RtoTimerParameters,
}

/// Reduction of the window in a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum WindowReduction {
    /// at once: nothing is sent until pipe has fallen to the window
    #[choice("rfc6675")]
    Rfc6675,
    /// a segment for every second ACK, as in Linux before PRR
    RateHalving,
    /// PRR with the conservative reduction bound of RFC 6937
    PrrCrb,
    /// PRR with the slow start reduction bound of RFC 6937
    PrrSsrb,
    /// PRR without a bound (RFC 6937's PRR-UB)
    PrrUb,
    /// PRR of RFC 9937: the slow start bound on a SafeACK, otherwise the conservative one
    Prr,
}

/// Parameters of the window reduction.
#[derive(Clone, Copy, Debug, Parameters)]
struct ReductionParameters {
    /// reduction of the window in a recovery (not with pipe = fall-floyd)
    #[parameter(
        basic,
        source = "RFC 6675 §5; RFC 6937 §1, §3 and §5; RFC 9937 §6.2",
        default = WindowReduction::Rfc6675,
    )]
    reduction: WindowReduction,
    /// minimum of the window that every second ACK reduces (reduction = rate-halving)
    #[parameter(
        source = "RFC 6937 §1 (half); Linux 2.6, tcp_cwnd_min (ssthresh)",
        default = Floor::Half,
    )]
    halving_floor: Floor,
    /// window after a recovery with PRR
    #[parameter(
        source = "RFC 6937 §3: ssthresh is the target window after the recovery",
        default = PrrExit::Ssthresh,
    )]
    prr_exit: PrrExit,
}

/// SACK's parameters, for both of its recoveries.
#[derive(Clone, Copy, Debug, Parameters)]
struct SackParameters {
    /// method to count the bytes in flight, which also selects the recovery
    #[parameter(
        basic,
        source = "RFC 6675; ns-2.35's Sack1",
        default(rfc = Pipe::Rfc6675, linux = Pipe::Rfc6675, ns2 = Pipe::FallFloyd),
    )]
    pipe: Pipe,
    #[embed]
    reduction: ReductionParameters,
    #[embed]
    rfc6675: Rfc6675Parameters,
    #[embed]
    fall_floyd: FallFloydParameters,
}

fn build(parameters: &SackParameters, context: &Context) -> Box<dyn Recovery> {
    match parameters.pipe {
        Pipe::Rfc6675 => {
            let recovery = Rfc6675::new(&parameters.rfc6675, context);
            Box::new(recovery.reducing(&parameters.reduction))
        }
        Pipe::FallFloyd => Box::new(FallFloyd::new(
            &parameters.fall_floyd,
            &parameters.rfc6675.counting,
            &parameters.rfc6675.limited_transmit,
            context,
        )),
    }
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("sack", file!())
        .summary("selective acknowledgments, a pipe, and a window frozen until all is repaired")
        .citation(
            "RFC 6675, with reductions of RFC 6937 and RFC 9937; pipe = fall-floyd: K. Fall and S. Floyd, Simulation-based Comparisons \
             of Tahoe, Reno and SACK TCP, CCR 26(3), 1996",
        )
        .needs(|_| Needs::SACK)
        .linux(
            Linux::missing(
                "RACK-TLP replaced it in 4.18; net.ipv4.tcp_recovery=0 brought it back until 6.16, \
                 and has no effect since 6.17",
            )
            .near("rack"),
        )
        .build(build)
}
