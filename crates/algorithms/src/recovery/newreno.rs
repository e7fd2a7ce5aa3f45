//! NewReno: fast recovery that lasts until everything outstanding at the loss is acknowledged.
//!
//! RFC 6582 §3.2 (Hoe, SIGCOMM 1996). It begins as in Reno, with `recover` = SND.NXT. An ACK below `recover` is
//! *partial*: it shows the next lost segment, which is retransmitted at once, so one segment is repaired per round
//! trip. An ACK of `recover` or more is *full* and ends the recovery.
//!
//! ```text
//! third duplicate ACK   inflation = 3 SMSS              in flight = FlightSize − inflation
//! more of them          inflation += SMSS               (see `reno` for why cwnd is unchanged)
//! partial ACK           inflation −= acked              (may fall below zero)
//!                       inflation += SMSS               if acked ≥ SMSS
//! full ACK              inflation = 0, and cwnd = min(cwnd, …):
//!   full_ack = alg1     FlightSize + SMSS,              then the same ACK increases the window
//!              alg2     FlightSize + SMSS
//!              alg3     max(FlightSize, SMSS) + SMSS    RFC 6582 §3.2 step 3
//!              keep     cwnd,                           then the same ACK increases the window
//! ```
//!
//! FlightSize is the data outstanding after the ACK. If it is zero, alg2 leaves one segment, and a receiver that delays
//! ACKs makes the sender wait: draft-nishida-newreno-modification §4 shows three ways in which this happens and
//! proposes alg3, which RFC 6582 adopted. The RFC and the draft use ssthresh where this file uses cwnd. After a
//! congestion loss, the two are equal, except for ns-2's arithmetic (`full_ack_from`). After any other loss, the
//! response may have set them to different values, and cwnd is the variable that was inflated.
//!
//! For comparison: Reno leaves fast recovery at the first new ACK. SACK recoveries see all holes at once and repair
//! more than one per round trip. `variant` is the effect of partial ACKs on the timer: slow-but-steady continues for
//! any number of round trips, impatient returns to slow start if many segments were lost (RFC 6582 §4).

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, LossEvent, Next, Outcome, Phase, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::undo::{Reversal, Spurious};

use super::duplicate_acks::{DUPLICATE_ACKS, DuplicateAckParameters, DuplicateAcks};
use super::go_back_n::GoBackN;
use super::reno::TimerParameters;
use crate::catalog::{Choice, Context, Entry, Linux, Parameters};

/// Rule of a partial acknowledgment that shows the loss of the segment (RFC 6582 §3.2).
pub const PARTIAL_ACK: LossRule = LossRule::new(&RuleWords {
    name: "partial",
    meaning: "partial ACK",
});

/// NewReno's recovery. See the [module](self).
#[derive(Debug)]
pub(super) struct NewReno {
    policy: Policy,
    dup_acks: DuplicateAcks,
    resend: GoBackN,
    recovery: Option<FastRecovery>,
    /// Retransmission to be sent at once, and its reason.
    retransmit: Option<(SegmentId, LossRule)>,
    smss: i64,
}

/// State of fast recovery.
#[derive(Clone, Copy, Debug)]
struct FastRecovery {
    /// Bytes by which the window is inflated; negative if partial ACKs deflated it by more than the inflation.
    inflation: i64,
    partial_acks: u32,
    /// New segments sent since the last ACK.
    burst: u64,
    /// Window before a partial ACK deflated it, in bytes.
    deflated_from: Option<f64>,
}

/// NewReno's parameters, in the form in which the algorithm uses them.
#[derive(Clone, Copy, Debug)]
struct Policy {
    variant: Variant,
    full_ack: FullAck,
    full_ack_from: FullAckFrom,
    deflation: Deflation,
    /// Maximum number of new segments per ACK in fast recovery.
    burst_max: u64,
    at_fast_retransmit: RtoTimer,
}

/// Partial ACKs that restart the retransmission timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Variant {
    /// the first partial ACK of a recovery
    Impatient,
    /// every partial ACK
    SlowButSteady,
}

/// Window after a full ACK. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FullAck {
    /// FlightSize + SMSS, and the same ACK increases it
    Alg1,
    /// FlightSize + SMSS
    Alg2,
    /// max(FlightSize, SMSS) + SMSS
    Alg3,
    /// unchanged, and the same ACK increases it
    Keep,
}

/// Initial value of cwnd for a full ACK that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FullAckFrom {
    /// ssthresh, as specified: at least two segments, and deflation is reversed
    Ssthresh,
    /// the current cwnd
    Cwnd,
}

/// Quantity that is reduced when a partial ACK covers more than the inflation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Deflation {
    /// the inflation, which is below zero until the recovery ends
    Inflation,
    /// the window itself, permanently
    Window,
}

impl FullAck {
    /// Returns the upper limit of cwnd in bytes, if there is one.
    fn limit(self, flight_size: u64, smss: u64) -> Option<f64> {
        let limit = match self {
            Self::Alg1 | Self::Alg2 => flight_size + smss,
            Self::Alg3 => flight_size.max(smss) + smss,
            Self::Keep => return None,
        };
        Some(limit as f64)
    }

    /// Returns the minimum of cwnd in bytes, which is applied before the limit, if the full ACK sets the window.
    ///
    /// The draft, and ns-2 with `exit_recovery_fix_`, start from ssthresh. In ns-2's arithmetic cwnd may have fallen
    /// below ssthresh: by deflation, and because the minimum of two segments applies to ssthresh and not to cwnd, so
    /// half of three segments is 2 for ssthresh and 1.5 for cwnd.
    fn restores(
        self,
        from: FullAckFrom,
        recovery: &FastRecovery,
        smss: u64,
        view: &View<'_>,
    ) -> Option<f64> {
        if self == Self::Keep || from == FullAckFrom::Cwnd {
            return None;
        }
        let least = view.window.ssthresh.min(2.0 * smss as f64);
        Some(recovery.deflated_from.map_or(least, |cwnd| cwnd.max(least)))
    }

    /// Returns the growth on the full ACK.
    fn growth(self) -> Growth {
        match self {
            Self::Alg1 | Self::Keep => Growth::Acked,
            Self::Alg2 | Self::Alg3 => Growth::Frozen,
        }
    }
}

impl NewReno {
    /// Creates the recovery with these parameters.
    pub(super) fn new(parameters: &NewRenoParameters, context: &Context) -> Self {
        Self {
            policy: Policy::new(parameters),
            dup_acks: DuplicateAcks::new(&parameters.duplicates, context),
            resend: GoBackN::default(),
            recovery: None,
            retransmit: None,
            smss: i64::from(context.smss),
        }
    }

    /// Begins to retransmit everything outstanding in order, instead of fast recovery (`bulk_repeat`).
    pub(super) fn resend_all(&mut self, rule: LossRule, view: &View<'_>) {
        self.recovery = None;
        self.retransmit = None;
        self.resend.begin(view, rule);
    }

    /// Records an ACK while everything is being retransmitted. Such an ACK is no sign of a loss.
    pub(super) fn note_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.resend.on_ack(view);
        self.dup_acks.reveal_loss(ack);
    }

    /// Returns the bytes in flight while everything is being retransmitted.
    pub(super) fn resent_bytes(&self, view: &View<'_>) -> u64 {
        self.resend.flight_size(view)
    }

    /// Returns the next segment while everything is being retransmitted, or `None` if the retransmission is complete.
    pub(super) fn next_resent(&self) -> Option<Next> {
        self.resend.next()
    }

    /// Retransmits the first unacknowledged segment.
    fn retransmit_first(&mut self, rule: LossRule, view: &View<'_>) {
        self.retransmit = Some((view.scoreboard.first(), rule));
    }

    /// Begins fast recovery (RFC 6582 §3.2 step 2).
    fn enter(&mut self, view: &View<'_>) -> Outcome {
        self.dup_acks.begin_event(view);
        self.recovery = Some(FastRecovery {
            inflation: self.dup_acks.departed_bytes() as i64,
            partial_acks: 0,
            burst: 0,
            deflated_from: None,
        });
        self.retransmit_first(DUPLICATE_ACKS, view);
        Outcome {
            loss: Some(LossEvent::of(view.scoreboard.first(), DUPLICATE_ACKS)),
            rto: self.policy.at_fast_retransmit,
            ..Outcome::default()
        }
    }

    /// Handles an ACK of new data (RFC 6582 §3.2 step 3).
    fn advance(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.retransmit = None;
        let Some(recovery) = self.recovery.take() else {
            return Outcome {
                growth: Growth::Acked,
                rto: RtoTimer::Restart,
                ..Outcome::default()
            };
        };
        if self.dup_acks.covers_event(ack.una) {
            let (rule, smss) = (self.policy.full_ack, self.smss as u64);
            return Outcome {
                restore: rule.restores(self.policy.full_ack_from, &recovery, smss, view),
                limit: rule.limit(view.flight_size(), smss),
                growth: rule.growth(),
                exit: Exit::Recovery,
                rto: RtoTimer::Restart,
                ..Outcome::default()
            };
        }
        self.partial(recovery, ack, view)
    }

    fn partial(
        &mut self,
        mut recovery: FastRecovery,
        ack: &AckFacts<'_>,
        view: &View<'_>,
    ) -> Outcome {
        let acked = ack.acked_bytes as i64;
        let excess = acked - recovery.inflation;
        let limit = match self.policy.deflation {
            Deflation::Window if excess >= 0 => {
                recovery.inflation = self.smss;
                recovery.deflated_from.get_or_insert(view.window.cwnd);
                Some(view.window.cwnd - excess as f64)
            }
            Deflation::Window | Deflation::Inflation => {
                recovery.inflation -= acked;
                if acked >= self.smss {
                    recovery.inflation += self.smss;
                }
                None
            }
        };
        recovery.partial_acks += 1;
        let first = recovery.partial_acks == 1;
        self.recovery = Some(recovery);
        self.retransmit_first(PARTIAL_ACK, view);
        Outcome {
            limit,
            rto: if first || self.policy.variant == Variant::SlowButSteady {
                RtoTimer::Restart
            } else {
                RtoTimer::Keep
            },
            timing: Timing::Discard,
            ..Outcome::default()
        }
    }
}

impl Recovery for NewReno {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        self.resend.on_sent(sent);
        self.retransmit = self.retransmit.filter(|&(id, _)| id != sent.id);
        if let Some(recovery) = &mut self.recovery
            && sent.segment.transmissions == 1
        {
            recovery.burst += 1;
        }
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.resend.on_ack(view);
        let loss = self.dup_acks.reveal_loss(ack);
        if let Some(recovery) = &mut self.recovery {
            recovery.burst = 0;
        }
        match (ack.kind, &mut self.recovery) {
            (AckKind::Advance, _) => self.advance(ack, view),
            (AckKind::Duplicate, Some(recovery)) => {
                recovery.inflation += self.smss;
                Outcome::default()
            }
            (AckKind::Duplicate, None) if loss => self.enter(view),
            (AckKind::Duplicate | AckKind::Other, _) => Outcome::default(),
        }
    }

    /// Handles a timeout (RFC 6582 §3.2 step 4).
    fn on_rto(&mut self, view: &View<'_>) {
        self.dup_acks.on_rto(view);
        self.resend.begin(view, LossRule::TIMEOUT);
        self.recovery = None;
        self.retransmit = None;
    }

    fn on_spurious(&mut self, spurious: &Spurious, _: &View<'_>) -> Reversal {
        self.dup_acks.forget_event(spurious);
        self.resend.stop();
        self.recovery = None;
        self.retransmit = None;
        Reversal::Done(None)
    }

    fn phase(&self) -> Option<Phase> {
        Some(match self.recovery {
            Some(_) => Phase::Recovery,
            None if self.resend.is_active() => Phase::Loss,
            None => Phase::Open,
        })
    }

    fn inflation(&self) -> i64 {
        self.recovery.map_or(0, |recovery| recovery.inflation)
    }

    // `allowance` calls this for each segment.
    #[inline(always)]
    fn in_flight(&self, view: &View<'_>) -> u64 {
        let flight = self.resend.flight_size(view);
        match self.recovery {
            Some(recovery) => flight.saturating_add_signed(-recovery.inflation),
            None => flight.saturating_sub(
                self.dup_acks
                    .limited_transmit_bytes(self.resend.is_active()),
            ),
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
            Some(recovery) if recovery.burst >= self.policy.burst_max => Next::Nothing,
            Some(_) => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
            None => self.dup_acks.new_data(view.flight_size(), view),
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = i64::from(to);
        self.dup_acks.resize(to);
    }
}

/// Number that no burst reaches, for "no limit".
const BURST_UNLIMITED: u64 = 1_000_000;

/// NewReno's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct NewRenoParameters {
    #[embed]
    duplicates: DuplicateAckParameters,
    #[embed]
    timer: TimerParameters,
    /// partial ACKs that restart the retransmission timer
    #[parameter(
        basic,
        source = "RFC 6582 §3.2 step 3 and §4; ns-2 newreno_changes1_; Linux restarts it on every \
                  ACK that advances",
        default(
            rfc = Variant::Impatient,
            linux = Variant::SlowButSteady,
            ns2 = Variant::Impatient,
        ),
    )]
    variant: Variant,
    /// cwnd after the full ACK that ends the recovery
    #[parameter(
        basic,
        source = "RFC 6582 §3.2 step 3 (alg3); draft-nishida-newreno-modification; ns-2 \
                  exit_recovery_fix_ 0 and Linux tcp_end_cwnd_reduction (keep)",
        default(rfc = FullAck::Alg3, linux = FullAck::Keep, ns2 = FullAck::Keep),
    )]
    full_ack: FullAck,
    /// initial value of alg1, alg2 and alg3
    #[parameter(
        source = "draft-nishida-newreno-modification §6 and ns-2 exit_recovery_fix_ (ssthresh); they differ in \
                  ns-2's arithmetic alone",
        default = FullAckFrom::Ssthresh,
    )]
    full_ack_from: FullAckFrom,
    /// quantity that is reduced when a partial ACK covers more than the inflation
    #[parameter(
        source = "RFC 6582 §3.2 step 3; ns-2 partial window deflation",
        default(
            rfc = Deflation::Inflation,
            linux = Deflation::Inflation,
            ns2 = Deflation::Window,
        ),
    )]
    deflation: Deflation,
    /// maximum number of new segments per ACK during the recovery
    #[parameter(
        source = "ns-2 allows 2; RFC 6582 does not limit them",
        range = 1..=BURST_UNLIMITED,
        unit = "segments",
        default(rfc = BURST_UNLIMITED, linux = BURST_UNLIMITED, ns2 = 2),
    )]
    burst: u64,
}

impl Policy {
    fn new(parameters: &NewRenoParameters) -> Self {
        Self {
            variant: parameters.variant,
            full_ack: parameters.full_ack,
            full_ack_from: parameters.full_ack_from,
            deflation: parameters.deflation,
            burst_max: parameters.burst,
            at_fast_retransmit: parameters.timer.fast_retransmit_timer.into(),
        }
    }
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("newreno", file!())
        .summary("fast recovery that takes partial ACKs for the next loss, one per round trip")
        .citation("RFC 6582")
        .linux(
            Linux::missing(
                "with SACK it has RACK-TLP, without it NewReno; turning SACK off for all connections (net.ipv4.tcp_sack=0) is no way to choose a sender",
            )
            .near("rack"),
        )
        .build(|parameters, context| Box::new(NewReno::new(parameters, context)))
}

#[cfg(test)]
mod tests;
