//! When duplicate ACKs mean a loss: what Tahoe, Reno and NewReno have in common.
//!
//! - The third duplicate ACK in a row (`dup_threshold`) points at a lost segment (RFC 5681 §3.2).
//! - The first two let one new segment out each, on top of the window: limited transmit
//!   (RFC 3042 §2). They take one SMSS each off what counts as in flight; cwnd is untouched.
//! - `recover` keeps duplicate ACKs from counting which the sender's own repetitions caused: it
//!   holds SND.NXT as of the last fast retransmit or timeout, and below it there is no second
//!   fast retransmit (RFC 6582 §3.2 steps 2 and 4; `bugFix_` in ns-2). Its three readings are
//!   the parameter `careful`.

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, SendReason, View};
use dupack_tcp::recovery::{Clearance, Next};
use dupack_tcp::undo::{Reduction, Spurious};

use super::shared::{DupThreshold, LimitedTransmit};
use crate::catalog::{Choice, Context, Parameters};

/// The rule: three duplicate ACKs (RFC 5681 §3.2).
pub const DUPLICATE_ACKS: LossRule = LossRule::new(&RuleWords {
    name: "dupacks",
    meaning: "three duplicate ACKs",
});

/// Limited transmit is for the first two duplicate ACKs, whatever the threshold (RFC 3042 §2).
const LIMITED_TRANSMIT_SEGMENTS: u32 = 2;

/// Which duplicate ACKs may start a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Careful {
    /// only if the cumulative ACK is beyond `recover`
    On,
    /// also if the cumulative ACK equals `recover`
    Less,
    /// always
    Off,
}

/// What limited transmit lets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum LimitedTransmitOf {
    /// new data, and nothing while something is to be sent again after a timeout
    NewData,
    /// whatever is next, be it the next segment to send again
    Anything,
}

/// What the recoveries are told that count duplicate ACKs without SACK.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct DuplicateAckParameters {
    #[embed]
    pub(super) counting: DupThreshold,
    #[embed]
    pub(super) limited_transmit: LimitedTransmit,
    /// what limited transmit lets out (limited_transmit = on)
    #[parameter(
        source = "RFC 3042 §2; ns-2.35",
        default(
            rfc = LimitedTransmitOf::NewData,
            linux = LimitedTransmitOf::NewData,
            ns2 = LimitedTransmitOf::Anything,
        ),
    )]
    pub(super) limited_transmit_of: LimitedTransmitOf,
    /// when duplicate ACKs may start a fast retransmit, given `recover`
    #[parameter(source = "RFC 6582 §3.2 step 2; ns-2 bugFix_", default = Careful::On)]
    pub(super) careful: Careful,
}

/// The count of duplicate ACKs, and what it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct DuplicateAcks {
    threshold: u32,
    careful: Careful,
    /// Nothing without limited transmit.
    limited_transmit: Option<LimitedTransmitOf>,
    smss: u64,
    in_a_row: u32,
    /// SND.NXT at the last fast retransmit or timeout; `None` before the first.
    recover: Option<u64>,
}

impl DuplicateAcks {
    /// Takes its parameters from those of the recovery that counts.
    pub(super) fn new(parameters: &DuplicateAckParameters, context: &Context) -> Self {
        let limited = parameters.limited_transmit.limited_transmit;
        Self {
            threshold: parameters.counting.dup_threshold,
            careful: parameters.careful,
            limited_transmit: limited.is_on().then_some(parameters.limited_transmit_of),
            smss: u64::from(context.smss),
            in_a_row: 0,
            recover: None,
        }
    }

    /// Takes note of an ACK; says whether it is the duplicate that reveals a loss.
    pub(super) fn reveal_loss(&mut self, ack: &AckFacts<'_>) -> bool {
        self.in_a_row = ack.dup_acks;
        // A window update in between leaves the count standing: only the duplicate itself acts.
        ack.kind == AckKind::Duplicate && self.in_a_row == self.threshold && self.is_fresh(ack.una)
    }

    fn is_fresh(&self, una: u64) -> bool {
        self.recover.is_none_or(|recover| match self.careful {
            Careful::On => una > recover,
            Careful::Less => una >= recover,
            Careful::Off => true,
        })
    }

    /// A fast retransmit or a timeout: what is outstanding now belongs to this loss event.
    pub(super) fn begin_event(&mut self, view: &View<'_>) {
        self.recover = Some(view.scoreboard.nxt());
    }

    /// The last loss event was none. After a timeout nothing was sent again but what was acknowledged
    /// meanwhile, so that there is nothing to be careful of (RFC 4015 §4, RFC 5682 §2.1 step 3).
    pub(super) fn forget_event(&mut self, spurious: &Spurious) {
        if spurious.after == Reduction::Timeout {
            self.recover = None;
        }
    }

    /// The retransmission timer expired: besides, the count starts over.
    pub(super) fn on_rto(&mut self, view: &View<'_>) {
        self.begin_event(view);
        self.in_a_row = 0;
    }

    /// A full segment has `smss` bytes from now on.
    pub(super) fn resize(&mut self, smss: u32) {
        self.smss = u64::from(smss);
    }

    /// Whether `una` covers everything that was outstanding when the loss event began.
    pub(super) fn covers_event(&self, una: u64) -> bool {
        self.recover.is_none_or(|recover| una >= recover)
    }

    /// Bytes known to have left the network when a fast retransmit begins: a segment for each
    /// duplicate ACK (RFC 5681 §3.2 step 3).
    pub(super) fn departed_bytes(&self) -> u64 {
        u64::from(self.threshold) * self.smss
    }

    /// Bytes that limited transmit lets out beyond the window now; `resending` after a timeout.
    pub(super) fn limited_transmit_bytes(&self, resending: bool) -> u64 {
        let applies = match self.limited_transmit {
            None => false,
            Some(LimitedTransmitOf::NewData) => !resending,
            Some(LimitedTransmitOf::Anything) => true,
        };
        // From the threshold on the recovery speaks, or nobody.
        if !applies || self.in_a_row >= self.threshold {
            return 0;
        }
        u64::from(self.in_a_row.min(LIMITED_TRANSMIT_SEGMENTS)) * self.smss
    }

    /// New data, named limited transmit if it goes beyond the window. `flight` is what is in
    /// flight before limited transmit takes anything off.
    pub(super) fn new_data(&self, flight: u64, view: &View<'_>) -> Next {
        let beyond = || flight + u64::from(view.new_len) > view.window.whole_bytes();
        let why = if self.limited_transmit_bytes(false) > 0 && beyond() {
            SendReason::LimitedTransmit
        } else {
            SendReason::NewData
        };
        Next::New {
            why,
            clearance: Clearance::Window,
        }
    }
}
