//! Loss detection by duplicate ACKs, which Tahoe, Reno and NewReno have in common.
//!
//! - The third consecutive duplicate ACK (`dup_threshold`) shows that a segment is lost (RFC 5681 §3.2).
//! - Each of the first two permits one new segment beyond the window: limited transmit
//!   (RFC 3042 §2). They reduce the bytes in flight by one SMSS each; cwnd is unchanged.
//! - `recover` is SND.NXT at the last fast retransmit or timeout. Below `recover`, there is no second fast retransmit,
//!   because the sender's own retransmissions may have caused the duplicate ACKs (RFC 6582 §3.2 steps 2 and 4;
//!   `bugFix_` in ns-2). The parameter `careful` has three readings of this rule.

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, SendReason, View};
use dupack_tcp::recovery::{Clearance, Next};
use dupack_tcp::undo::{Reduction, Spurious};

use super::shared::{DupThreshold, LimitedTransmit};
use crate::catalog::{Choice, Context, Parameters};

/// Rule of three duplicate ACKs (RFC 5681 §3.2).
pub const DUPLICATE_ACKS: LossRule = LossRule::new(&RuleWords {
    name: "dupacks",
    meaning: "three duplicate ACKs",
});

/// Limited transmit applies to the first two duplicate ACKs, for every threshold (RFC 3042 §2).
const LIMITED_TRANSMIT_SEGMENTS: u32 = 2;

/// Duplicate ACKs that may start a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Careful {
    /// only if the cumulative ACK is beyond `recover`
    On,
    /// also if the cumulative ACK equals `recover`
    Less,
    /// always
    Off,
}

/// Segments that limited transmit permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum LimitedTransmitOf {
    /// new data, but nothing while segments are to be retransmitted after a timeout
    NewData,
    /// the next segment, either new or a retransmission
    Anything,
}

/// Parameters of the recoveries that count duplicate ACKs without SACK.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct DuplicateAckParameters {
    #[embed]
    pub(super) counting: DupThreshold,
    #[embed]
    pub(super) limited_transmit: LimitedTransmit,
    /// segments that limited transmit permits (limited_transmit = on)
    #[parameter(
        source = "RFC 3042 §2; ns-2.35",
        default(
            rfc = LimitedTransmitOf::NewData,
            linux = LimitedTransmitOf::NewData,
            ns2 = LimitedTransmitOf::Anything,
        ),
    )]
    pub(super) limited_transmit_of: LimitedTransmitOf,
    /// duplicate ACKs that may start a fast retransmit, given `recover`
    #[parameter(source = "RFC 6582 §3.2 step 2; ns-2 bugFix_", default = Careful::On)]
    pub(super) careful: Careful,
}

/// Counter of duplicate ACKs, and the rules for evaluating it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DuplicateAcks {
    threshold: u32,
    careful: Careful,
    /// `None` without limited transmit.
    limited_transmit: Option<LimitedTransmitOf>,
    smss: u64,
    in_a_row: u32,
    /// SND.NXT at the last fast retransmit or timeout; `None` before the first.
    recover: Option<u64>,
}

impl DuplicateAcks {
    /// Creates a counter with the parameters of the recovery that uses it.
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

    /// Records an ACK. Returns `true` if it is the duplicate ACK that reveals a loss.
    pub(super) fn reveal_loss(&mut self, ack: &AckFacts<'_>) -> bool {
        self.in_a_row = ack.dup_acks;
        // An intervening window update does not change the count: only the duplicate ACK itself has an effect.
        ack.kind == AckKind::Duplicate && self.in_a_row == self.threshold && self.is_fresh(ack.una)
    }

    fn is_fresh(&self, una: u64) -> bool {
        self.recover.is_none_or(|recover| match self.careful {
            Careful::On => una > recover,
            Careful::Less => una >= recover,
            Careful::Off => true,
        })
    }

    /// Begins a loss event with a fast retransmit or a timeout. Everything outstanding now belongs to the event.
    pub(super) fn begin_event(&mut self, view: &View<'_>) {
        self.recover = Some(view.scoreboard.nxt());
    }

    /// Forgets the last loss event, which was spurious. After a timeout, everything that was retransmitted has been
    /// acknowledged by now, so `recover` is no longer needed (RFC 4015 §4, RFC 5682 §2.1 step 3).
    pub(super) fn forget_event(&mut self, spurious: &Spurious) {
        if spurious.after == Reduction::Timeout {
            self.recover = None;
        }
    }

    /// Begins a loss event with a timeout, and resets the count.
    pub(super) fn on_rto(&mut self, view: &View<'_>) {
        self.begin_event(view);
        self.in_a_row = 0;
    }

    /// Changes the size of a full segment to `smss` bytes.
    pub(super) fn resize(&mut self, smss: u32) {
        self.smss = u64::from(smss);
    }

    /// Returns `true` if `una` covers all data that was outstanding when the loss event began.
    pub(super) fn covers_event(&self, una: u64) -> bool {
        self.recover.is_none_or(|recover| una >= recover)
    }

    /// Returns the bytes that are known to have left the network when a fast retransmit begins: one segment for each
    /// duplicate ACK (RFC 5681 §3.2 step 3).
    pub(super) fn departed_bytes(&self) -> u64 {
        u64::from(self.threshold) * self.smss
    }

    /// Returns the bytes that limited transmit permits beyond the window now. `resending` is `true` after a timeout.
    pub(super) fn limited_transmit_bytes(&self, resending: bool) -> u64 {
        let applies = match self.limited_transmit {
            None => false,
            Some(LimitedTransmitOf::NewData) => !resending,
            Some(LimitedTransmitOf::Anything) => true,
        };
        // From the threshold on, the recovery decides.
        if !applies || self.in_a_row >= self.threshold {
            return 0;
        }
        u64::from(self.in_a_row.min(LIMITED_TRANSMIT_SEGMENTS)) * self.smss
    }

    /// Returns new data as the next transmission; the reason is limited transmit if the data exceeds the window.
    /// `flight` is the number of bytes in flight without the reduction by limited transmit.
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
