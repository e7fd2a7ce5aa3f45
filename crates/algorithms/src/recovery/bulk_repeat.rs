//! Bulk Repeat: after a loss that is the link's, the whole window is retransmitted at full speed.
//!
//! G. Yang, R. Wang, M. Gerla, M. Y. Sanadidi, "TCPW with bulk repeat in next generation wireless networks", ICC 2003;
//! "TCP bulk repeat", Computer Communications 28(5), 2005; after Hwang, Yoo, Yoo (Momentary) §2. It is made for links
//! that lose so much that retransmissions are lost, too. As long as a loss differentiation says that a loss is the
//! link's, three things differ from NewReno:
//!
//! ```text
//! bulk retransmission    everything outstanding is retransmitted, from SND.UNA on, and not just the
//!                        first segment: in flight = cursor − SND.UNA   (see `go_back_n`)
//! fixed timeout          the differentiation judges timeouts, too; if one is the link's,
//!                        the timeout is not doubled                    (`TimeoutRule::Judged`)
//! fixed window           cwnd stays unchanged in spite of the loss     (response `1`)
//! ```
//!
//! A loss that is judged congestion is handled as in NewReno, with all its parameters. The paper's whole algorithm
//! touches all four axes. In this catalog it is the stack
//!
//! ```text
//! bulk-repeat/westwood/spike(alpha=0.4,beta=0.05)/1
//! ```
//!
//! as its differentiation is Spike with those two constants and its control is Westwood's. This file is the first axis
//! only: it receives the judgement through `Recovery::on_judged`.
//!
//! The neighbours: NewReno repairs one loss per round trip, SACK and LE retransmit only what is missing. Bulk Repeat
//! needs no SACKs, and its speed does not depend on how many segments of a window are missing; the price is a window of
//! duplicates for a single loss. If the differentiation is wrong, those meet a full queue (the criticism in Momentary
//! §2).
//!
//! Readings (the available descriptions say no more than the above):
//! - The bulk lasts until everything outstanding at the loss is cumulatively acknowledged. The
//!   window does not grow meanwhile, either: it is *fixed*. A timeout judged the link's begins a
//!   bulk as three duplicate ACKs do.
//! - The duplicate ACKs of retransmissions within a bulk say nothing, so they neither inflate the
//!   window nor begin a loss event. A retransmission that is lost waits for the timer; this is the
//!   purpose of the fixed timeout.
//! - The fixed timeout is the one in force, RFC 6298's without another doubling. `timeout =
//!   backoff` leaves timeouts to RFC 6298, without a judgement.
//! - From the ninth on, timeouts in a row without an ACK of new data are congestion
//!   (`fixed_timeouts`). With a timeout shorter than the round trip, a whole window at each, and no
//!   sample that could lengthen it (Karn), any queue fills faster than it drains, permanently.
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
    /// Recovery for losses that are congestion, and for everything between losses.
    newreno: NewReno,
    timeout_rule: TimeoutRule,
    /// Greatest number of timeouts, without an ACK of new data, that may be taken for the link's.
    fixed_timeouts: u64,
    /// Number of timeouts since the last ACK of new data.
    timeouts: u64,
    bulk: Option<Bulk>,
}

/// Retransmission of everything outstanding.
#[derive(Clone, Copy, Debug)]
struct Bulk {
    /// End of the bulk as a stream offset.
    until: u64,
    /// Exit that its end reports to the sender: a bulk that a timeout began was never counted as a recovery.
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
                // As with NewReno's partial ACKs, the segment may have waited for the repetition.
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
    /// judged by the differentiation; no backoff if it is the link's
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
    /// timeouts in a row that may be taken for the link's (timeout = fixed)
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
