//! The first axis: lost segments, the next transmission, and bytes in flight.

use core::fmt::Debug;

use crate::congestion::Governance;
use crate::facts::{AckFacts, LossCause, LossFacts, LossRule, SendReason, Sent, View};
use crate::scoreboard::{Segment, SegmentId};
use crate::time::Instant;
use crate::undo::{Reversal, Spurious};

/// Loss recovery.
///
/// A recovery keeps its own state and answers queries; only the sender transmits and sets the window. For each ACK the
/// sender calls [`on_ack`](Self::on_ack) once, carries out the outcome, and then calls [`next`](Self::next) until
/// nothing more may be sent.
///
/// The sender guarantees: every call has the state after the event; `on_sent` follows every transmission; after
/// `on_rto` everything outstanding counts as lost.
pub trait Recovery: Debug + Send {
    /// Called once, at the start, with the means by which the control governs transmissions. A recovery that spreads
    /// the reduction of the window over a round trip (PRR) has nothing to spread under a model.
    fn governed_by(&mut self, governance: Governance) {
        let _ = governance;
    }

    /// Called after a segment was sent.
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer;

    /// Called for an ACK, which has been applied to the scoreboard.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome;

    /// Called when the retransmission timer has expired; the control has already set the window. If the receiver
    /// reneged, the scoreboard holds no SACKs any more.
    fn on_rto(&mut self, view: &View<'_>);

    /// Returns the interpretation of a retransmission timeout. Called at every timeout, before anything changes.
    fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule::Congestion
    }

    /// Called when the outstanding segments are too long for the path. The sender has cut them into shorter ones with
    /// new ids, which `view` shows; everything that is not sacked must be retransmitted. This is not a sign of
    /// congestion, and the control has not reduced the window for it.
    ///
    /// Most recoveries handle it like a timeout.
    fn on_cut(&mut self, view: &View<'_>) {
        self.on_rto(view);
    }

    /// Called when the size of a full segment changes from `from` to `to` bytes.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// Called after a loss was judged: the loss differentiation has returned `cause`, and the control or the response
    /// has set the window, which `view` shows. The call follows the outcome that reported the loss event and precedes
    /// the transmissions for it. After a timeout it follows [`on_rto`](Self::on_rto), and takes place with
    /// [`TimeoutRule::Judged`] only.
    ///
    /// Most recoveries repair a loss in the same way whatever its cause, and do nothing here.
    fn on_judged(&mut self, loss: &LossFacts, cause: LossCause, view: &View<'_>) {
        let _ = (loss, cause, view);
    }

    /// Called when the ACK just passed to [`on_ack`](Self::on_ack) has shown that the last loss event or timeout was
    /// spurious. The recovery leaves its recovery phase. If [`acquits_all`](Spurious::acquits_all) returns `true`, all
    /// segments that it judged lost are in flight again. The window is restored only if the recovery returns `Done`.
    ///
    /// The default is to refuse, which is always safe: the spurious retransmissions took place anyway, and the window
    /// stays small.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        let _ = (spurious, view);
        Reversal::Refused
    }

    /// Called when the window was reduced although nothing was lost, because the receiver echoed a mark of congestion
    /// (RFC 3168). `view` shows it. The call follows [`on_ack`](Self::on_ack) for the same ACK. A recovery that spreads
    /// reductions over a round trip may do so here.
    fn on_mark(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let _ = (ack, view);
    }

    /// Returns the time at which [`on_timer`](Self::on_timer) must be called, if any.
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

    /// Returns the bytes of transmissions judged lost since the connection started, each counted once, however it was
    /// repaired. `None` if losses are not judged one by one: then the bytes retransmitted as lost count instead. Only a
    /// control that is governed by a model uses it ([`Credit::lost_bytes`](crate::congestion::Credit::lost_bytes)).
    fn lost_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the bytes that the window permits now. Only a recovery that paces itself through the window reduction,
    /// such as PRR, overrides it.
    fn allowance(&self, view: &View<'_>) -> u64 {
        view.window
            .whole_bytes()
            .saturating_sub(self.in_flight(view))
    }

    /// Returns the next transmission, in this order of preference, if it is cleared.
    fn next(&self, view: &View<'_>) -> Next;

    /// Returns the phase of the recovery, for observers; `None` if it has no such phases, or does not report them.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// Returns the bytes by which the textbook's window is larger than the sender's now, for observers. RFC 5681 §3.2
    /// and RFC 6582 §3.2 inflate `cwnd` for segments that have left the network; here [`in_flight`](Self::in_flight) is
    /// smaller by as much. Negative if partial ACKs deflated it by more; zero for recoveries that inflate nothing.
    fn inflation(&self) -> i64 {
        0
    }
}

/// Phase of a sender, in the terms of Linux's `tcpi_ca_state`. Recoveries report `Open`, `Recovery` and `Loss`; the
/// others follow from the scoreboard ([`Sender::phase`](crate::Sender::phase)).
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

/// Decisions of a recovery on an ACK. The struct will grow: fill the other fields from `Outcome::default()`, which
/// decides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Start of a loss event: the window is reduced once, by the plug-in responsible for its cause.
    pub loss: Option<LossEvent>,
    /// Minimum of the window in bytes, applied before `limit`. It returns what the recovery took off the window for its
    /// own duration (NewReno's full ACK after ns-2's deflation).
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

/// Decisions of a recovery on its own timer. Without an ACK the window cannot grow, and there is no sample and no end
/// of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expiry {
    /// Start of a loss event, as in [`Outcome::loss`].
    pub loss: Option<LossEvent>,
    /// Action on the retransmission timer.
    pub rto: RtoTimer,
}

/// Effect of an ACK on the segment being timed, and on the backoff of the timeout, if the sender times one segment at a
/// time ([`RttSampling::OnePerWindow`](crate::rtt::RttSampling)); otherwise it has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timing {
    /// If the ACK covers the segment, its age is a sample, which ends the backoff.
    #[default]
    Sample,
    /// If the ACK covers the segment, it is not a sample, but the backoff ends.
    Discard,
    /// As with `Discard`, but there is a sample: the age of the echoed timestamp, which in a duplicate ACK belongs to
    /// the last segment in order. It does not end the backoff.
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
    /// The first segment judged lost.
    pub segment: SegmentId,
    /// Rule by which it was judged lost.
    pub rule: LossRule,
    /// State of the segment when it was lost, if it is no longer outstanding: a probe has repaired the loss before it
    /// was detected.
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

    /// Returns the loss of a segment that has been repaired, and whose state was `lost` before.
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
    /// The window grows by the delivered bytes; every ACK counts, duplicate or not.
    EveryAck,
}

/// End, by an ACK, of a recovery that began with a loss event. A recovery that a timeout cuts short does not count,
/// and an algorithm without a recovery phase (LE, Tahoe) never reports an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The recovery continues, or there was none.
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
    /// The judgement of the loss differentiation. If it is the link, the response sets the window and the timeout is
    /// not backed off (TCPW Bulk Repeat).
    Judged,
}

/// Action on the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtoTimer {
    /// The timer continues (and is started if it does not run while data is outstanding).
    #[default]
    Keep,
    /// The timer restarts.
    Restart,
}

/// Next transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Nothing, regardless of the window.
    Nothing,
    /// New data.
    New {
        /// Reason of the transmission.
        why: SendReason,
        /// Condition of the transmission.
        clearance: Clearance,
    },
    /// Retransmission of an outstanding segment.
    Retransmit {
        /// Id of the segment.
        id: SegmentId,
        /// Reason of the transmission.
        why: SendReason,
        /// Condition of the transmission.
        clearance: Clearance,
    },
}

/// Condition under which a segment may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clearance {
    /// If the congestion window has room.
    Window,
    /// At once, as with a fast retransmit or a probe.
    Immediate,
}
