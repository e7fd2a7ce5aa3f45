//! Bulk Repeat: after a wireless loss, the whole window is retransmitted at full speed.
//!
//! G. Yang, R. Wang, M. Gerla, M. Y. Sanadidi, "TCPW with bulk repeat in next generation wireless networks", ICC 2003;
//! "TCP bulk repeat", Computer Communications 28(5), 2005; after Hwang, Yoo, Yoo (Momentary) §2. It is designed for
//! links with so many losses that retransmissions are lost, too. If a loss differentiation classifies a loss as
//! wireless, three things differ from NewReno:
//!
//! ```text
//! bulk retransmission    everything outstanding is retransmitted, from SND.UNA on, and not just the
//!                        first segment: in flight = cursor − SND.UNA   (see `go_back_n`)
//! fixed timeout          the differentiation also classifies timeouts; after a wireless one,
//!                        the timeout is not doubled                    (`TimeoutRule::Judged`)
//! fixed window           cwnd stays unchanged in spite of the loss     (response `1`)
//! ```
//!
//! A congestion loss is handled as in NewReno, with all its parameters. The paper's whole algorithm covers all four
//! axes. In this catalog it is the stack
//!
//! ```text
//! bulk-repeat/westwood/spike(alpha=0.4,beta=0.05)/1
//! ```
//!
//! because its differentiation is Spike with those two constants and its control is Westwood. This file is only the
//! first axis: it receives the classification in `Recovery::on_judged`.
//!
//! For comparison: NewReno repairs one loss per round trip, and SACK and LE retransmit only the missing segments. Bulk
//! Repeat needs no SACKs, and its speed does not depend on the number of missing segments in a window; the price is a
//! window of duplicates for a single loss. If the differentiation is wrong, these duplicates arrive at a full queue
//! (the criticism in Momentary §2).
//!
//! Readings (the available descriptions contain no more than the above):
//! - The bulk lasts until everything outstanding at the loss is cumulatively acknowledged. During this time the
//!   window does not grow either: it is *fixed*. A timeout classified as wireless begins a
//!   bulk just as three duplicate ACKs do.
//! - Duplicate ACKs that retransmissions cause within a bulk are ignored: they neither inflate the
//!   window nor begin a loss event. A lost retransmission is detected by the timer; this is the
//!   purpose of the fixed timeout.
//! - The fixed timeout is the current timeout of RFC 6298, without another doubling. With `timeout =
//!   backoff`, RFC 6298 applies to timeouts, without a classification.
//! - The ninth and later consecutive timeouts without an ACK of new data count as congestion (`fixed_timeouts`).
//!   Otherwise, if the timeout is shorter than the round-trip time, a whole window is sent at each timeout, and no
//!   sample can lengthen the timeout (Karn). A queue would then permanently fill faster than it drains.
//!
//! Cost: a cursor that only moves forward; a bulk sends a window once per loss event. O(1).

use alloc::boxed::Box;

use dupack_tcp::facts::{
    AckFacts, AckKind, LossCause, LossFacts, LossRule, SendReason, Sent, View,
};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, Next, Outcome, Recovery, RtoTimer, TimeoutRule, Timing,
};
use dupack_tcp::undo::{Reversal, Spurious};

use super::newreno::{NewReno, NewRenoParameters};
use crate::catalog::{Axis, Choice, Context, Entry, Linux, Opponent, Parameters};

/// Bulk Repeat's recovery. See the [module](self).
#[derive(Debug)]
struct BulkRepeat {
    /// Recovery for congestion losses, and for the time between losses.
    newreno: NewReno,
    timeout_rule: TimeoutRule,
    /// Maximum number of timeouts without an ACK of new data that may be classified as wireless.
    fixed_timeouts: u64,
    /// Number of timeouts since the last ACK of new data.
    timeouts: u64,
    bulk: Option<Bulk>,
}

/// Retransmission of everything outstanding.
#[derive(Clone, Copy, Debug)]
struct Bulk {
    /// Stream offset at which the bulk ends.
    until: u64,
    /// Exit that is reported to the sender at the end. A bulk that a timeout began does not count as a recovery.
    exit: Exit,
}

impl BulkRepeat {
    fn new(parameters: &BulkRepeatParameters, context: &Context) -> Self {
        Self {
            newreno: NewReno::new(&parameters.newreno, context),
            timeout_rule: match parameters.timeout {
                TimeoutIs::Fixed => TimeoutRule::Judged,
                TimeoutIs::Backoff => TimeoutRule::Congestion,
            },
            fixed_timeouts: parameters.fixed_timeouts,
            timeouts: 0,
            bulk: None,
        }
    }
}

impl Recovery for BulkRepeat {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.newreno.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        if ack.acked_bytes > 0 {
            self.timeouts = 0;
        }
        let Some(bulk) = self.bulk else {
            return self.newreno.on_ack(ack, view);
        };
        self.newreno.note_ack(ack, view);
        let rto = match ack.kind {
            AckKind::Advance => RtoTimer::Restart,
            AckKind::Duplicate | AckKind::Other => RtoTimer::Keep,
        };
        if ack.una < bulk.until {
            return Outcome {
                rto,
                // As with NewReno's partial ACKs, the segment may have waited for the retransmission.
                timing: Timing::Discard,
                ..Outcome::default()
            };
        }
        self.bulk = None;
        Outcome {
            growth: Growth::Acked,
            rto,
            exit: bulk.exit,
            ..Outcome::default()
        }
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.newreno.on_rto(view);
        self.timeouts += 1;
        self.bulk = None;
    }

    fn on_cut(&mut self, view: &View<'_>) {
        self.newreno.on_cut(view);
        self.bulk = None;
    }

    fn timeout_rule(&self) -> TimeoutRule {
        if self.timeouts < self.fixed_timeouts {
            self.timeout_rule
        } else {
            TimeoutRule::Congestion
        }
    }

    fn on_judged(&mut self, loss: &LossFacts, cause: LossCause, view: &View<'_>) {
        if cause == LossCause::Congestion {
            return;
        }
        self.newreno.resend_all(loss.rule, view);
        self.bulk = Some(Bulk {
            until: view.scoreboard.nxt(),
            exit: if loss.rule == LossRule::TIMEOUT {
                Exit::No
            } else {
                Exit::Recovery
            },
        });
    }

    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        self.bulk = None;
        self.newreno.on_spurious(spurious, view)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        match self.bulk {
            Some(_) => self.newreno.resent_bytes(view),
            None => self.newreno.in_flight(view),
        }
    }

    fn next(&self, view: &View<'_>) -> Next {
        if self.bulk.is_none() {
            return self.newreno.next(view);
        }
        self.newreno.next_resent().unwrap_or(Next::New {
            why: SendReason::NewData,
            clearance: Clearance::Window,
        })
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.newreno.on_segment_size(from, to);
    }
}

/// Meaning of a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum TimeoutIs {
    /// classified by the differentiation; no backoff if it is wireless
    Fixed,
    /// congestion, with exponential backoff
    Backoff,
}

/// NewReno's parameters, and two more.
#[derive(Clone, Copy, Debug, Parameters)]
struct BulkRepeatParameters {
    #[embed]
    newreno: NewRenoParameters,
    /// meaning of a retransmission timeout
    #[parameter(
        basic,
        source = "Yang et al. 2003: a fixed value instead of exponential backoff; RFC 6298 §5.5",
        default = TimeoutIs::Fixed,
    )]
    timeout: TimeoutIs,
    /// maximum number of consecutive timeouts that may be classified as wireless (timeout = fixed)
    #[parameter(
        source = "our reading: without a bound a sender may congest a path permanently",
        range = 1..=1000,
        unit = "timeouts",
        default = 8,
    )]
    fixed_timeouts: u64,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("bulk-repeat", file!())
        .summary("retransmits the whole window after a loss of the link's; NewReno after others")
        .citation(
            "G. Yang, R. Wang, M. Gerla and M. Y. Sanadidi, TCPW with Bulk Repeat, ICC 2003, \
             and Computer Communications 28(5), 2005",
        )
        .conflict(
            Axis::Differentiation,
            Opponent::Named("none".into()),
            "it retransmits in bulk only after losses that a differentiation attributes to the \
             link; without one it is NewReno",
        )
        .linux(Linux::missing("with SACK it has RACK-TLP, without it NewReno").near("rack"))
        .build(|parameters, context| Box::new(BulkRepeat::new(parameters, context)))
}

#[cfg(test)]
mod tests;
