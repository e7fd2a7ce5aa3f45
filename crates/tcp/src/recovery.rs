//! Loss recovery, the first axis of a stack, which determines lost segments, the next transmission, and the bytes in
//! flight.

use core::fmt::Debug;

use crate::congestion::Governance;
use crate::facts::{AckFacts, LossCause, LossFacts, LossRule, SendReason, Sent, View};
use crate::scoreboard::{Segment, SegmentId};
use crate::time::Instant;
use crate::undo::{Reversal, Spurious};

/// Loss recovery.
///
/// A recovery keeps its own state and answers queries; only the sender transmits segments and sets the window. For each
/// ACK, the sender calls [`on_ack`](Self::on_ack) once, applies the outcome, and then calls [`next`](Self::next) until
/// no more segments may be sent.
///
/// The sender guarantees that `view` shows the state after the event, and that `on_sent` is called after every
/// transmission. After `on_rto`, all outstanding segments count as lost.
pub trait Recovery: Debug + Send {
    /// Called once, at the start, with the way in which the control governs transmissions. A recovery that spreads
    /// window reductions over a round trip (PRR) must not do so if the control has a model.
    fn governed_by(&mut self, governance: Governance) {
        let _ = governance;
    }

    /// Called after a segment was sent.
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer;

    /// Called for each ACK, after it has been applied to the scoreboard.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome;

    /// Called when the retransmission timer has expired, after the control has set the window. If the receiver reneged,
    /// the scoreboard no longer contains any SACK information.
    fn on_rto(&mut self, view: &View<'_>);

    /// Returns the interpretation of a retransmission timeout. Called at every timeout, before any state changes.
    fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule::Congestion
    }

    /// Called when the outstanding segments are too long for the path. The sender has cut them into shorter ones with
    /// new ids, which `view` shows. All segments that are not sacked must be retransmitted. This is not a sign of
    /// congestion, and the control has not reduced the window.
    ///
    /// Most recoveries handle this call like a timeout.
    fn on_cut(&mut self, view: &View<'_>) {
        self.on_rto(view);
    }

    /// Called when the size of a full segment changes from `from` to `to` bytes.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// Called after the loss differentiation has returned `cause`, and the control or the response has set the window,
    /// which `view` shows. The call comes after the outcome that reported the loss event, and before the transmissions
    /// for it. After a timeout, the call comes after [`on_rto`](Self::on_rto), and only with [`TimeoutRule::Judged`].
    ///
    /// Most recoveries repair a loss in the same way for every cause, and do not override this method.
    fn on_judged(&mut self, loss: &LossFacts, cause: LossCause, view: &View<'_>) {
        let _ = (loss, cause, view);
    }

    /// Called when the ACK just passed to [`on_ack`](Self::on_ack) has shown that the last loss event or timeout was
    /// spurious. The recovery leaves its recovery phase. If [`acquits_all`](Spurious::acquits_all) returns `true`, all
    /// segments that it judged lost are in flight again. The window is restored only if the recovery returns `Done`.
    ///
    /// By default, the recovery refuses. This is always safe: the window stays reduced.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        let _ = (spurious, view);
        Reversal::Refused
    }

    /// Called when the window was reduced without a loss, because the receiver echoed a congestion mark (RFC 3168).
    /// `view` shows the reduced window. The call comes after [`on_ack`](Self::on_ack) for the same ACK. A recovery that
    /// spreads reductions over a round trip may do so here.
    fn on_mark(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let _ = (ack, view);
    }

    /// Returns the time at which the sender must call [`on_timer`](Self::on_timer), if any.
    fn timer(&self) -> Option<Instant> {
        None
    }

    /// Called when the recovery's own timer has expired.
    fn on_timer(&mut self, view: &View<'_>) -> Expiry {
        let _ = view;
        Expiry::default()
    }

    /// Returns the bytes that count against the window.
    fn in_flight(&self, view: &View<'_>) -> u64;

    /// Returns the bytes of transmissions judged lost since the connection started. Each transmission is counted once,
    /// however it was repaired. `None` if the recovery does not judge losses one by one: then the bytes retransmitted
    /// as lost are used instead. Only a control that is governed by a model uses this value
    /// ([`Credit::lost_bytes`](crate::congestion::Credit::lost_bytes)).
    fn lost_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the number of bytes that may be sent now. Only a recovery that spreads the window reduction, such as
    /// PRR, overrides this method.
    fn allowance(&self, view: &View<'_>) -> u64 {
        view.window
            .whole_bytes()
            .saturating_sub(self.in_flight(view))
    }

    /// Returns the next transmission. The sender carries it out only if its [`Clearance`] permits it.
    fn next(&self, view: &View<'_>) -> Next;

    /// Returns the phase of the recovery, for observers; `None` if the recovery has no such phases or does not report
    /// them.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// Returns the current inflation of the window in bytes, for observers. RFC 5681 §3.2 and RFC 6582 §3.2 inflate
    /// `cwnd` for segments that have left the network; here, [`in_flight`](Self::in_flight) is reduced by the same
    /// amount instead. The value is negative if partial ACKs deflated the window by more, and zero for recoveries that
    /// do not inflate the window.
    fn inflation(&self) -> i64 {
        0
    }
}

/// Phase of a sender, in the terms of Linux's `tcpi_ca_state`. Recoveries report `Open`, `Recovery` and `Loss`;
/// [`Sender::phase`](crate::Sender::phase) derives the other phases from the sender's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// No sign of loss.
    Open,
    /// A segment is sacked, or there are duplicate ACKs, but nothing is judged lost yet.
    Disorder,
    /// The window is being reduced without a loss, as ECN requires.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

/// Decisions of a recovery on an ACK. Fields may be added later, so set the other fields from `Outcome::default()`,
/// which changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Start of a loss event: the window is reduced once, by the plug-in responsible for its cause.
    pub loss: Option<LossEvent>,
    /// Minimum of the window in bytes, applied before `limit`. It restores a window that the recovery reduced only for
    /// its own duration (NewReno's full ACK after ns-2's deflation).
    pub restore: Option<f64>,
    /// Maximum of the window in bytes, applied before any growth (NewReno's full ACK, Tahoe's restart).
    pub limit: Option<f64>,
    /// Growth of the window on this ACK.
    pub growth: Growth,
    /// Action on the retransmission timer.
    pub rto: RtoTimer,
    /// Effect on the segment being timed.
    pub timing: Timing,
    /// End of a recovery with this ACK.
    pub exit: Exit,
}

/// Decisions of a recovery when its own timer expires. Without an ACK, the window cannot grow, there is no sample, and
/// no recovery ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expiry {
    /// Start of a loss event, as in [`Outcome::loss`].
    pub loss: Option<LossEvent>,
    /// Action on the retransmission timer.
    pub rto: RtoTimer,
}

/// Effect of an ACK on the segment being timed and on the backoff of the timeout. It applies only if the sender times
/// one segment at a time ([`RttSampling::OnePerWindow`](crate::rtt::RttSampling)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timing {
    /// If the ACK covers the segment, the age of the segment is a sample, and the backoff ends.
    #[default]
    Sample,
    /// If the ACK covers the segment, there is no sample, but the backoff ends.
    Discard,
    /// Same as `Discard`, but the age of the echoed timestamp is a sample, which does not end the backoff. In a
    /// duplicate ACK, the echoed timestamp is that of the last segment in order.
    SampleEcho,
    /// The segment is still timed, even if the ACK covers it.
    Keep,
    /// The segment is still timed, but the backoff ends.
    KeepAndEndBackoff,
}

/// Start of a loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LossEvent {
    /// First segment judged lost.
    pub segment: SegmentId,
    /// Rule by which the segment was judged lost.
    pub rule: LossRule,
    /// State of the segment when it was lost, if a probe has repaired the loss before its detection, so that the
    /// segment is no longer outstanding.
    pub repaired: Option<Segment>,
}

impl LossEvent {
    /// Returns the loss of an outstanding segment.
    #[must_use]
    pub const fn of(segment: SegmentId, rule: LossRule) -> Self {
        Self {
            segment,
            rule,
            repaired: None,
        }
    }

    /// Returns the loss of a segment that has been repaired. `lost` is the state of the segment before the repair.
    #[must_use]
    pub const fn repaired(segment: SegmentId, lost: Segment, rule: LossRule) -> Self {
        Self {
            segment,
            rule,
            repaired: Some(lost),
        }
    }
}

/// Growth of the window on an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// The window does not grow.
    #[default]
    Frozen,
    /// The window grows by the cumulatively acknowledged bytes.
    Acked,
    /// The window grows by the delivered bytes on every ACK, including duplicate ACKs.
    EveryAck,
}

/// End of a recovery that began with a loss event. A timeout that interrupts a recovery is not such an end, and an
/// algorithm without a recovery phase (LE, Tahoe) never reports an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The recovery continues, or no recovery was in progress.
    #[default]
    No,
    /// The recovery ends.
    Recovery,
}

/// Interpretation of a retransmission timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutRule {
    /// Congestion: the control sets the window (RFC 5681 §3.1), and the timeout is doubled (RFC 6298 §5.5).
    #[default]
    Congestion,
    /// The loss differentiation decides. If it attributes the loss to the link, the response sets the window, and the
    /// timeout is not backed off (TCPW Bulk Repeat).
    Judged,
}

/// Action on the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtoTimer {
    /// The timer continues. If it does not run although data is outstanding, it is started.
    #[default]
    Keep,
    /// The timer restarts.
    Restart,
}

/// Next transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// No transmission, regardless of the window.
    Nothing,
    /// New data.
    New {
        /// Reason for the transmission.
        why: SendReason,
        /// Condition for the transmission.
        clearance: Clearance,
    },
    /// Retransmission of an outstanding segment.
    Retransmit {
        /// Id of the segment.
        id: SegmentId,
        /// Reason for the transmission.
        why: SendReason,
        /// Condition for the transmission.
        clearance: Clearance,
    },
}

/// Condition under which a segment may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clearance {
    /// The segment may be sent if the congestion window permits it.
    Window,
    /// The segment may be sent at once, as with a fast retransmit or a probe.
    Immediate,
}
