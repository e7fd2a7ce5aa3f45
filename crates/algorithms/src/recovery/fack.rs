//! FACK: every segment below the highest SACK that is not sacked has left the network.
//!
//! M. Mathis and J. Mahdavi, Forward Acknowledgment: Refining TCP Congestion Control, SIGCOMM
//! 1996. `snd.fack` is the byte after the highest one known to have arrived. With it, the bytes in flight can be
//! computed without a scan of the scoreboard, and one SACK is enough to detect a loss if it is far enough ahead:
//!
//! ```text
//! awnd    = snd.nxt − snd.fack + retran_data        in flight; sends while awnd < cwnd
//! trigger : snd.fack − snd.una > 3 SMSS,  or three duplicate ACKs
//! resends : holes below snd.fack, lowest first, then new data
//! ends    : when everything outstanding at the trigger is acknowledged
//! ```
//!
//! `retran_data` is the data that has been retransmitted and is neither acknowledged nor sacked. Losses among segments
//! first sent after the trigger belong to the next event. While SACKs arrive before the trigger, nothing is sent
//! (`limited_transmit = on` sends what `awnd` permits). A loss with fewer than four segments outstanding is therefore
//! detected only by the timer. Under heavy random loss, this is the cause of most of FACK's timeouts (the Momentary
//! paper, §4.1, describes the case).
//!
//! For comparison: SACK (RFC 6675) considers a hole lost only if three segments above it are sacked, and counts it as
//! in flight until then; FACK is faster if losses come in bursts, but reordering misleads it. Momentary uses the same
//! forward ACK, but waits for three duplicate ACKs and lets the window grow all the time. The timer detects a lost
//! retransmission.
//!
//! FACK in ns-2.35, the dialect `ns2`, differs considerably from the paper. The window falls to *one segment* at the
//! trigger, and slow-starts to `ssthresh` on every ACK in recovery (`entry = restart`). Recovery lasts until data sent
//! after the trigger is acknowledged and nothing is sacked (`exit = beyond`), and continues through a timeout
//! (`after_rto = resume`). When it detects that a retransmission was lost, it stops and waits for the timer
//! (`lost_retransmission = wait`). Duplicate ACKs restart the timer (`rto_timer = every-ack`). An ACK that advances
//! does not increase the window while something is sacked (`past_holes = freeze`). A timeout begins go-back-N
//! (`resend`), because earlier SACKs are not remembered.
//!
//! Cost: one cursor over the holes, which only moves forward (`hole_cursor`); amortised O(1).

#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::{DeliveredBy, Reported, Scoreboard, SegmentId};
use dupack_tcp::undo::{Reduction, Reversal, Spurious};

use super::duplicate_acks::DUPLICATE_ACKS;
use super::go_back_n::GoBackN;
use super::hole_cursor::HoleCursor;
use super::rto_policy::{RtoPolicy, RtoTimerParameters};
use super::shared::{DupThreshold, LimitedTransmit};
use crate::catalog::{Choice, Context, Entry, Linux, Needs, Parameters, Switch};

/// Rule of a forward ACK that is more than three segments ahead.
pub const FORWARD_ACK: LossRule = LossRule::new(&RuleWords {
    name: "fack",
    meaning: "forward ACK far ahead",
});

/// Recovery of FACK. See the [module](self).
#[derive(Debug)]
struct Fack {
    smss: u32,
    dup_threshold: u32,
    limited_transmit: Switch,
    entry: EntryRule,
    exit: ExitRule,
    after_rto: AfterRto,
    lost_retransmission: LostRetransmission,
    rto_timer: RtoPolicy,
    /// Growth on an ACK that advances outside recovery, while something is sacked.
    growth_past_holes: Growth,
    phase: Phase,
    /// Next hole; the missing bytes below it are `retran_data`.
    holes: HoleCursor,
    /// With `after_rto = resume`, the remaining segments that a timeout retransmits in order.
    resend: GoBackN,
    /// With `after_rto = suspend`, the end of the data that was outstanding at the last timeout; all of it is lost.
    rto_edge: u64,
    /// Order of the latest transmission that is known to have arrived, among segments sent only once.
    newest_order: u64,
    /// Segment whose retransmission was lost, while the sender waits for the timer.
    waiting: Option<SegmentId>,
}

/// Window when a recovery begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum EntryRule {
    /// the control's reduction; the window is then frozen
    Half,
    /// one segment; the window grows on every ACK until the recovery is over
    Restart,
}

/// End of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum ExitRule {
    /// when everything outstanding at its beginning is acknowledged
    Covered,
    /// when data beyond that is acknowledged, and nothing is sacked
    Beyond,
}

/// Effect of a timeout on recoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum AfterRto {
    // RFC 6675 §5.1.
    /// no recovery until everything outstanding is acknowledged
    Suspend,
    /// a recovery continues, and a new one may begin at once
    Resume,
}

/// Reaction to a lost retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum LostRetransmission {
    /// sending continues, and the timer detects the loss
    Ignore,
    /// sending stops until the timer expires
    Wait,
}

/// Effect of an ACK that advances outside recovery on the window, while something is sacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum PastHoles {
    /// it increases the window, like any ACK that advances
    Open,
    /// none: an ACK with SACK blocks is a sign of loss, not of progress
    Freeze,
}

/// FACK's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct FackParameters {
    #[embed]
    counting: DupThreshold,
    #[embed(change(limited_transmit(
        doc = "new data while SACKs arrive and the trigger is not reached, as awnd permits",
        source = "Mathis and Mahdavi 1996 have the trigger for it; ns-2 and the Momentary paper §4.1",
        default = Switch::Off,
    )))]
    limited_transmit: LimitedTransmit,
    /// window when a recovery begins
    #[parameter(
        basic,
        source = "Mathis and Mahdavi 1996; ns-2.35",
        default(rfc = EntryRule::Half, linux = EntryRule::Half, ns2 = EntryRule::Restart),
    )]
    entry: EntryRule,
    /// end of a recovery
    #[parameter(
        source = "Mathis and Mahdavi 1996; ns-2.35",
        default(rfc = ExitRule::Covered, linux = ExitRule::Covered, ns2 = ExitRule::Beyond),
    )]
    exit: ExitRule,
    /// effect of a timeout on recoveries
    #[parameter(
        source = "RFC 6675 §5.1; ns-2.35",
        default(rfc = AfterRto::Suspend, linux = AfterRto::Suspend, ns2 = AfterRto::Resume),
    )]
    after_rto: AfterRto,
    /// reaction when the loss of a retransmission is detected
    #[parameter(
        source = "ns-2.35",
        default(
            rfc = LostRetransmission::Ignore,
            linux = LostRetransmission::Ignore,
            ns2 = LostRetransmission::Wait,
        ),
    )]
    lost_retransmission: LostRetransmission,
    #[embed(change(rto_timer(default(
        rfc = RtoPolicy::Advance,
        linux = RtoPolicy::Head,
        ns2 = RtoPolicy::EveryAck,
    ))))]
    timer: RtoTimerParameters,
    /// effect of an ACK that advances outside recovery on the window, while something is sacked
    #[parameter(
        source = "Mathis and Mahdavi 1996; ns-2.35",
        default(rfc = PastHoles::Open, linux = PastHoles::Open, ns2 = PastHoles::Freeze),
    )]
    past_holes: PastHoles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery { until: u64, head: Head },
}

/// Fast retransmit, which does not depend on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Due(LossRule),
    Sent,
}

impl Fack {
    fn new(parameters: &FackParameters, context: &Context) -> Self {
        Self {
            smss: context.smss,
            dup_threshold: parameters.counting.dup_threshold,
            limited_transmit: parameters.limited_transmit.limited_transmit,
            entry: parameters.entry,
            exit: parameters.exit,
            after_rto: parameters.after_rto,
            lost_retransmission: parameters.lost_retransmission,
            rto_timer: parameters.timer.rto_timer,
            growth_past_holes: match parameters.past_holes {
                PastHoles::Open => Growth::Acked,
                PastHoles::Freeze => Growth::Frozen,
            },
            phase: Phase::Open,
            holes: HoleCursor::default(),
            resend: GoBackN::default(),
            rto_edge: 0,
            newest_order: 0,
            waiting: None,
        }
    }

    /// Returns the offset below which only retransmissions are in flight.
    fn edge(&self, board: &Scoreboard) -> u64 {
        board.forward_ack().max(self.rto_edge)
    }

    /// Returns the offset below which holes are to be retransmitted.
    fn resend_limit(&self, board: &Scoreboard) -> u64 {
        let recovery = match (self.phase, self.exit) {
            (Phase::Open, _) => 0,
            (Phase::Recovery { until, .. }, ExitRule::Covered) => until.min(board.forward_ack()),
            (Phase::Recovery { .. }, ExitRule::Beyond) => board.forward_ack(),
        };
        recovery.max(self.rto_edge)
    }

    /// Returns `true` if the recovery in progress is over.
    fn is_over(&self, until: u64, board: &Scoreboard) -> bool {
        match self.exit {
            ExitRule::Covered => board.una() >= until,
            ExitRule::Beyond => board.una() > until && board.sacked_segments() == 0,
        }
    }

    fn end_recovery(&mut self, board: &Scoreboard) {
        self.phase = Phase::Open;
        self.waiting = None;
        if board.una() >= self.rto_edge {
            self.holes.rewind(board);
        }
    }

    /// Begins a recovery if the forward ACK is far enough ahead. It is called outside of a recovery.
    fn trigger(&mut self, dup_acks: u32, view: &View<'_>) -> Option<LossEvent> {
        let board = view.scoreboard;
        if self.after_rto == AfterRto::Suspend && board.una() < self.rto_edge {
            return None;
        }
        let gap = board.forward_ack() - board.una();
        let rule = if gap > u64::from(self.dup_threshold) * u64::from(self.smss) {
            FORWARD_ACK
        } else if dup_acks >= self.dup_threshold {
            DUPLICATE_ACKS
        } else {
            return None;
        };
        // Without a hole below a SACK, the receiver sends no SACKs, or has withdrawn them. The timer handles the loss.
        self.holes.rewind_below(board, board.forward_ack())?;
        self.phase = Phase::Recovery {
            until: self.resend.offset(view),
            head: Head::Due(rule),
        };
        Some(LossEvent::of(self.holes.id(), rule))
    }

    /// Detects a lost retransmission. If a segment first sent after the oldest retransmission has arrived, but the
    /// retransmission has not, then the retransmission was lost. Retransmissions are sent in sequence order, so the
    /// oldest is the first outstanding segment, if this segment lies below the cursor. A segment at or above the cursor
    /// has not been retransmitted yet in this recovery.
    fn look_for_lost_retransmission(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) {
        let once = ack
            .delivered
            .iter()
            .filter(|d| d.by == DeliveredBy::Sack && d.segment.transmissions == 1);
        let newest = once.map(|d| d.segment.order).max().unwrap_or(0);
        self.newest_order = self.newest_order.max(newest);
        // The sender waits only while the segment is missing. If the segment was only delayed, the wait would otherwise
        // never end.
        let is_missing = |id| {
            board
                .get(id)
                .is_some_and(|s| s.reported == Reported::Missing)
        };
        self.waiting = self.waiting.filter(|&id| is_missing(id));
        if self.lost_retransmission == LostRetransmission::Wait
            && let Phase::Recovery { .. } = self.phase
            && let Some(first) = board.get(board.first())
            && first.reported == Reported::Missing
            && first.transmissions > 1
            && board.first() < self.holes.id()
            && first.order < self.newest_order
        {
            self.waiting = Some(board.first());
        }
    }

    /// Returns the growth on an ACK in recovery.
    fn on_ack_recovery(&self, ack: &AckFacts<'_>) -> Growth {
        match self.entry {
            EntryRule::Restart if ack.kind != AckKind::Other => Growth::EveryAck,
            EntryRule::Restart | EntryRule::Half => Growth::Frozen,
        }
    }

    /// Returns the use of an ACK for round-trip timing. ns-2 uses the echoed timestamp, except for plain ACKs outside
    /// recovery.
    fn timing(&self, ack: &AckFacts<'_>, board: &Scoreboard) -> Timing {
        let plain = ack.acked_bytes > 0 && board.sacked_segments() == 0;
        if self.phase == Phase::Open && plain {
            Timing::Sample
        } else {
            Timing::SampleEcho
        }
    }

    /// Returns the growth on an ACK outside recovery.
    fn on_ack_open(&self, ack: &AckFacts<'_>, board: &Scoreboard) -> Growth {
        if ack.acked_bytes == 0 {
            Growth::Frozen
        } else if board.sacked_segments() == 0 {
            Growth::Acked
        } else {
            self.growth_past_holes
        }
    }
}

impl Recovery for Fack {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        let in_order = self.resend.is_at(sent.id);
        self.resend.on_sent(sent);
        if sent.segment.transmissions > 1 && !in_order {
            self.holes.pass(sent.id, view.scoreboard);
            if let Phase::Recovery { head, .. } = &mut self.phase {
                *head = Head::Sent;
            }
        }
        self.rto_timer.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let board = view.scoreboard;
        self.holes.on_ack(ack, board);
        self.holes.skip_sacked(board);
        self.resend.on_ack(view);
        self.resend.skip_to(board.id_at(board.forward_ack()));
        self.look_for_lost_retransmission(ack, board);
        let mut outcome = Outcome {
            rto: self.rto_timer.on_ack(ack),
            timing: self.timing(ack, board),
            ..Outcome::default()
        };
        match self.phase {
            Phase::Recovery { until, .. } => {
                outcome.growth = self.on_ack_recovery(ack);
                if !self.is_over(until, board) {
                    return outcome;
                }
                self.end_recovery(board);
                outcome.exit = Exit::Recovery;
            }
            Phase::Open => outcome.growth = self.on_ack_open(ack, board),
        }
        outcome.loss = self.trigger(ack.dup_acks, view);
        if outcome.loss.is_some() {
            outcome.growth = Growth::Frozen;
            if self.entry == EntryRule::Restart {
                outcome.limit = Some(f64::from(self.smss));
            }
        }
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        let board = view.scoreboard;
        match self.after_rto {
            AfterRto::Resume if board.sacked_segments() == 0 => {
                self.rto_edge = 0;
                self.resend.begin(view, LossRule::TIMEOUT);
            }
            // The SACKs are still known, so the sacked segments need not be retransmitted.
            AfterRto::Resume | AfterRto::Suspend => self.rto_edge = board.nxt(),
        }
        self.waiting = None;
        self.holes.rewind(board);
        match (&mut self.phase, self.after_rto) {
            (Phase::Recovery { head, .. }, AfterRto::Resume) => *head = Head::Sent,
            _ => self.phase = Phase::Open,
        }
    }

    /// The forward ACK does not change, so the holes below it are still considered to have left the network, and may
    /// trigger another recovery. Data beyond it that a timeout considered lost is in flight.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        if spurious.after == Reduction::Timeout {
            self.rto_edge = 0;
            self.resend.stop();
        }
        let was_open = self.phase == Phase::Open && spurious.after == Reduction::LossEvent;
        self.end_recovery(view.scoreboard);
        Reversal::Done(if was_open {
            None
        } else {
            self.trigger(0, view)
        })
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let board = view.scoreboard;
        let sent = self.resend.offset(view);
        sent.saturating_sub(self.edge(board)) + self.holes.missing_below(board)
    }

    fn next(&self, view: &View<'_>) -> Next {
        let board = view.scoreboard;
        if self.waiting.is_some() {
            return Next::Nothing;
        }
        let id = self.holes.id();
        let resend = |rule, clearance| Next::Retransmit {
            id,
            why: SendReason::Retransmit(rule),
            clearance,
        };
        if let Phase::Recovery {
            until,
            head: Head::Due(rule),
        } = self.phase
            && self.holes.hole(board, until).is_some()
        {
            return resend(rule, Clearance::Immediate);
        }
        if let Some(hole) = self.holes.hole(board, self.resend_limit(board)) {
            let rule = if hole.start < self.rto_edge {
                LossRule::TIMEOUT
            } else {
                FORWARD_ACK
            };
            return resend(rule, Clearance::Window);
        }
        let before_trigger = self.phase == Phase::Open
            && board.una() >= self.rto_edge
            && board.una() < board.forward_ack();
        if before_trigger && self.limited_transmit == Switch::Off {
            return Next::Nothing;
        }
        self.resend.next().unwrap_or_else(|| {
            new(if before_trigger {
                SendReason::LimitedTransmit
            } else {
                SendReason::NewData
            })
        })
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = to;
    }
}

fn new(why: SendReason) -> Next {
    Next::New {
        why,
        clearance: Clearance::Window,
    }
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("fack", file!())
        .summary("every unsacked segment below the highest SACK is lost")
        .citation(
            "M. Mathis and J. Mahdavi, Forward Acknowledgment: Refining TCP Congestion \
             Control, SIGCOMM 1996",
        )
        .needs(|_| Needs::SACK)
        .linux(Linux::missing("removed in 4.15; net.ipv4.tcp_fack has no effect").near("rack"))
        .build(|parameters, context| Box::new(Fack::new(parameters, context)))
}
