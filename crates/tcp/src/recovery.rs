//! The first axis: what is lost, what goes out next, and what counts as in flight.

use core::fmt::Debug;

use crate::congestion::Governance;
use crate::facts::{AckFacts, LossCause, LossFacts, LossRule, SendReason, Sent, View};
use crate::scoreboard::{Segment, SegmentId};
use crate::time::Instant;
use crate::undo::{Reversal, Spurious};

/// A loss recovery.
///
/// It keeps whatever state it needs and answers questions; the sender alone transmits and alone
/// writes the window. For each ACK the sender calls [`on_ack`](Self::on_ack) once, acts on the
/// outcome, and then asks [`next`](Self::next) until nothing more may be sent.
///
/// The sender guarantees: every call carries the state after the event; `on_sent` follows every
/// transmission; after `on_rto` everything outstanding counts as lost.
pub trait Recovery: Debug + Send {
    /// By what the control governs what leaves; told once, at the start. A recovery that spreads
    /// the reduction of the window over a round trip (PRR) has nothing to spread under a model.
    fn governed_by(&mut self, governance: Governance) {
        let _ = governance;
    }

    /// A segment went out.
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer;

    /// An ACK came in and has been applied to the scoreboard.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome;

    /// The retransmission timer expired; the control has already set the window. If the receiver
    /// reneged, the scoreboard holds no SACKs any more.
    fn on_rto(&mut self, view: &View<'_>);

    /// What an expiry of the retransmission timer is taken for. The sender asks whenever the
    /// timer expires, before it changes anything.
    fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule::Congestion
    }

    /// What was outstanding is too long for the path: the sender has cut it into smaller segments,
    /// which have new ids, and all that is not sacked is to be sent again. `view` shows them. Nothing
    /// of it is a sign of congestion, and the control has not reduced the window for it.
    ///
    /// To most recoveries it is as after a timeout.
    fn on_cut(&mut self, view: &View<'_>) {
        self.on_rto(view);
    }

    /// A full segment has `to` bytes from now on, not `from`.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// A loss was judged: the sender has put it to the loss differentiation, and whoever is
    /// responsible for `cause` has set the window, which `view` shows. It follows the outcome
    /// that reported the loss event and precedes what is sent for it; for a timeout, under
    /// [`TimeoutRule::Judged`] only, it follows [`on_rto`](Self::on_rto).
    ///
    /// Most recoveries repair a loss in the same way whatever its cause, and do nothing here.
    fn on_judged(&mut self, loss: &LossFacts, cause: LossCause, view: &View<'_>) {
        let _ = (loss, cause, view);
    }

    /// The last loss event or timeout was none, as an ACK shows that [`on_ack`](Self::on_ack) has
    /// just been told of. The recovery leaves what it is in; where
    /// [`acquits_all`](Spurious::acquits_all) says so, what it took for lost is in flight again. Only
    /// if it is done is the window restored.
    ///
    /// The default is to refuse, which is always safe: what was needless was done anyway, and the
    /// window stays small.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        let _ = (spurious, view);
        Reversal::Refused
    }

    /// The window was reduced though nothing was lost: the receiver echoed a mark of congestion
    /// (RFC 3168). `view` shows it. It follows [`on_ack`](Self::on_ack) for the same ACK. A
    /// recovery that spreads reductions over a round trip may do so here.
    fn on_mark(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let _ = (ack, view);
    }

    /// When the recovery wants [`on_timer`](Self::on_timer) called.
    fn timer(&self) -> Option<Instant> {
        None
    }

    /// The recovery's own timer expired.
    fn on_timer(&mut self, view: &View<'_>) -> Expiry {
        let _ = view;
        Expiry::default()
    }

    /// Bytes that count against the window.
    fn in_flight(&self, view: &View<'_>) -> u64;

    /// Bytes of transmissions judged lost since the connection began, each once, however it was repaired.
    /// `None` if losses are not judged one by one: then what is retransmitted as lost is what was lost.
    /// Only a control that governs by a model hears of it
    /// ([`Credit::lost_bytes`](crate::congestion::Credit::lost_bytes)).
    fn lost_bytes(&self) -> Option<u64> {
        None
    }

    /// Bytes that the window admits now. Only a recovery that paces itself through the window
    /// reduction, as PRR does, answers otherwise.
    fn allowance(&self, view: &View<'_>) -> u64 {
        view.window
            .whole_bytes()
            .saturating_sub(self.in_flight(view))
    }

    /// What to send next, in this order of preference, if it is cleared.
    fn next(&self, view: &View<'_>) -> Next;

    /// Where the recovery stands, for whoever watches; `None` if it has no such states, or does
    /// not tell.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// Bytes by which the window of the textbook is larger than that of the sender now, for
    /// whoever watches: RFC 5681 §3.2 and RFC 6582 §3.2 inflate `cwnd` for what has left the
    /// network, and here [`in_flight`](Self::in_flight) is smaller by as much. Below zero where
    /// partial ACKs deflated it by more; zero for those that inflate nothing.
    fn inflation(&self) -> i64 {
        0
    }
}

/// Where a sender stands, in the words of Linux's `tcpi_ca_state`. Recoveries know `Open`,
/// `Recovery` and `Loss`; the rest follows from the scoreboard
/// ([`Sender::phase`](crate::Sender::phase)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing is amiss.
    Open,
    /// Something has been sacked, or there are duplicate ACKs, but nothing is lost yet.
    Disorder,
    /// The window is being reduced without a loss, as ECN asks for.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

/// What a recovery makes of an ACK. It will grow: take what is not meant from `Outcome::default()`,
/// which is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// A loss event begins: the window is to be reduced, once, by whoever is responsible for
    /// its cause.
    pub loss: Option<LossEvent>,
    /// The window is to be at least this many bytes, before `limit`: what the recovery took off
    /// it for its own duration comes back (NewReno's full ACK after ns-2's deflation).
    pub restore: Option<f64>,
    /// The window is to be at most this many bytes, before any growth (NewReno's full ACK,
    /// Tahoe's restart).
    pub limit: Option<f64>,
    /// Whether and by what the window may grow on this ACK.
    pub growth: Growth,
    /// What happens to the retransmission timer.
    pub rto: RtoTimer,
    /// What becomes of the segment being timed.
    pub timing: Timing,
    /// Whether a recovery is over with this ACK.
    pub exit: Exit,
}

/// What a recovery makes of its own timer: with no ACK there is nothing that could let the window
/// grow, be a sample, or end a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expiry {
    /// A loss event begins, as in [`Outcome::loss`].
    pub loss: Option<LossEvent>,
    /// What happens to the retransmission timer.
    pub rto: RtoTimer,
}

/// What an ACK means for the segment being timed, and for the backoff of the timeout, if the
/// sender times one segment at a time
/// ([`RttSampling::OnePerWindow`](crate::rtt::RttSampling)); else it is of no consequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timing {
    /// If the ACK covers the segment, its age is a sample, which ends the backoff.
    #[default]
    Sample,
    /// If the ACK covers the segment, no sample is taken of it, but the backoff ends.
    Discard,
    /// As with `Discard`, but there is a sample: the age of the timestamp that the ACK echoes,
    /// which in a duplicate ACK is that of the last segment in order. It ends no backoff.
    SampleEcho,
    /// The segment is timed on, even if the ACK covers it.
    Keep,
    /// The segment is timed on, but the backoff ends.
    KeepAndEndBackoff,
}

/// The beginning of a loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LossEvent {
    /// The first segment judged lost.
    pub segment: SegmentId,
    /// By which rule.
    pub rule: LossRule,
    /// The segment as it stood when it was lost, if it is not outstanding any more: a probe has
    /// repaired the loss before anybody knew of it.
    pub repaired: Option<Segment>,
}

impl LossEvent {
    /// The loss of a segment that is outstanding.
    #[must_use]
    pub const fn of(segment: SegmentId, rule: LossRule) -> Self {
        Self {
            segment,
            rule,
            repaired: None,
        }
    }

    /// The loss of a segment that has been repaired, and stood as `lost` before.
    #[must_use]
    pub const fn repaired(segment: SegmentId, lost: Segment, rule: LossRule) -> Self {
        Self {
            segment,
            rule,
            repaired: Some(lost),
        }
    }
}

/// Whether the window may grow on an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// It stays as it is.
    #[default]
    Frozen,
    /// It grows by what was cumulatively acknowledged.
    Acked,
    /// It grows by what was delivered; every ACK counts, duplicate or not.
    EveryAck,
}

/// Whether a recovery that began with a loss event is over with an ACK. One that a timeout cuts
/// short is not counted, and an algorithm without such a state (LE, Tahoe) never says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// It is not, or there was none.
    #[default]
    No,
    /// It is.
    Recovery,
}

/// What an expiry of the retransmission timer is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutRule {
    /// Congestion: the control sets the window (RFC 5681 §3.1), and the timeout is doubled
    /// (RFC 6298 §5.5).
    #[default]
    Congestion,
    /// What the loss differentiation says. If it is the link's, the response sets the window and
    /// the timeout stays as it is, without backoff (TCPW Bulk Repeat).
    Judged,
}

/// What happens to the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtoTimer {
    /// It runs on (and is started if it does not run while data is outstanding).
    #[default]
    Keep,
    /// It starts anew.
    Restart,
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Nothing, whatever the window says.
    Nothing,
    /// New data.
    New {
        /// Why it is sent.
        why: SendReason,
        /// Under which condition.
        clearance: Clearance,
    },
    /// An outstanding segment again.
    Retransmit {
        /// Which one.
        id: SegmentId,
        /// Why it is sent.
        why: SendReason,
        /// Under which condition.
        clearance: Clearance,
    },
}

/// Under which condition a segment may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clearance {
    /// If the congestion window has room.
    Window,
    /// At once, as a fast retransmit or a probe does.
    Immediate,
}
