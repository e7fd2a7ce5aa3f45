//! RACK-TLP: loss detection by the time of transmission, and a probe for tail loss. It is the current standard.
//!
//! Cheng, Cardwell, Dukkipati, Jha, "The RACK-TLP Loss Detection Algorithm for TCP", RFC 8985; the window in recovery
//! follows RFC 9937, see [`prr`](super::prr).
//!
//! Let RACK.segment be the most recently *sent* segment that is known to have arrived, and RACK.rtt its round-trip
//! time. A segment sent before it that has not arrived is lost as soon as it is overdue by more than the reordering
//! window (§6.2 step 5):
//!
//! ```text
//! lost:  sent before RACK.segment, and  sent_at + RACK.rtt + reo_wnd ≤ now
//! timer: the last such deadline that has not passed
//! RTO:   the first segment, and all whose deadline has passed, regardless of deliveries (§6.3)
//! ```
//!
//! For comparison: SACK counts segments above a hole, LE counts ACKs of later transmissions, RACK needs one later
//! transmission and some time. Like LE, and unlike SACK, it detects lost retransmissions; unlike LE, it has a recovery
//! phase, in which the window is reduced once and then frozen.
//!
//! **Cost.** The RFC scans all segments sent before RACK.segment. Here each of them is moved once from the list of
//! transmissions to a queue of suspects in the same order. All suspects wait equally long, so the front is lost first
//! and the back determines the timer. Segments that have arrived by then are removed at both ends: amortised O(1) per
//! ACK for any window.
//!
//! Differences from the text of the RFC:
//! - The engine numbers transmissions, so this number replaces the pair (xmit_ts, end_seq).
//! - If one ACK reports several segments, RACK.rtt is the time of the segment sent last, even if a segment
//!   sent later had arrived earlier: the RFC examines them in the order in which they were sent, and
//!   uses the last. Linux examines first the sacked segments and then the acknowledged ones,
//!   each in the order of the stream, and uses the last (`rtt_of`).
//! - Linux's timers count in ticks (`timer_tick`).
//! - min_RTT is the connection's minimum sample, not a windowed minimum.
//! - A probe is not scheduled when §7.3 would not send it, so it does not delay the RTO.
//! - Lost segments are retransmitted in the order in which they were detected; the RFC does not specify it.
//! - Lost retransmissions do not reduce the window again within a recovery (as in Linux).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use dupack_tcp::congestion::Governance;
use dupack_tcp::facts::{AckFacts, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{
    self, Clearance, Exit, Expiry, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::{Delivered, DeliveredBy, Reported, SegmentId};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Reversal, Sign, Spurious};

use super::ambiguity::last_transmission_arrived;
use super::prr::{Bound, Progress};
use super::rate_halving::Floor;
use super::reordering_window::{Recovering, ReorderingWindow, Rule};
use super::rto_policy::{RtoPolicy, RtoTimerParameters};
use super::shared::DupThreshold;
use super::tlp::{ProbeReport, Tail, Tlp, in_ticks};
use super::two_lists::{Transmission, TwoLists};
use super::window_reduction::{Method, PrrExit, Spread};
use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Choice, Context, Entry, InLinux, Needs, Parameters, Switch};

/// Rule of a segment that a sufficiently later transmission has overtaken (RFC 8985 §6.2).
pub const OVERTAKEN: LossRule = LossRule::new(&RuleWords {
    name: "rack",
    meaning: "later segment delivered (RACK)",
});

#[cfg(test)]
mod tests;

/// Phase of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The window is being reduced because of a congestion mark, until SND.UNA exceeds the end of the data that was
    /// outstanding (Linux's CWR).
    Reducing {
        point: u64,
    },
    /// Fast recovery, until SND.UNA reaches RecoveryPoint.
    Recovery {
        point: u64,
    },
    /// State after a timeout, until SND.UNA reaches the end of the data sent by then.
    Loss {
        point: u64,
    },
}

/// RACK.segment.
#[derive(Clone, Copy, Debug)]
struct MostRecent {
    order: u64,
    /// RACK.rtt.
    rtt: Duration,
}

/// Losses found by one run of loss detection.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    first: Option<SegmentId>,
    bytes: u64,
}

/// RACK-TLP's recovery. See the [module](self).
#[derive(Debug)]
pub struct RackTlp {
    smss: u32,
    /// Segments in flight, each with its TSval, and lost segments.
    lists: TwoLists<Option<u32>>,
    /// Segments in flight that were sent before RACK.segment and are not overdue yet, in order of transmission.
    suspects: VecDeque<Transmission>,
    most_recent: Option<MostRecent>,
    reordering: ReorderingWindow,
    reordering_timer: Option<Instant>,
    phase: Phase,
    rtt_of: RttOf,
    timer_tick: Duration,
    rto_timer: RtoPolicy,
    reduction: Method,
    spread: Option<Spread>,
    /// `None` without probes.
    tlp: Option<Tlp>,
    /// Loss that a probe repaired and that has not been reported yet.
    unanswered: Option<Tail>,
    /// The next retransmission is sent even if the window does not permit it.
    fast_retransmit: bool,
    /// Growth of the window on the ACK that ends a recovery.
    growth_at_exit: Growth,
}

impl RackTlp {
    fn new(parameters: &RackParameters, context: &Context) -> Self {
        Self {
            smss: context.smss,
            lists: TwoLists::new(),
            suspects: VecDeque::new(),
            most_recent: None,
            reordering: ReorderingWindow::new(
                parameters.reo_wnd,
                parameters.reo_wnd_share,
                u64::from(parameters.counting.dup_threshold),
                parameters.reo_wnd_persist,
            ),
            reordering_timer: None,
            phase: Phase::Open,
            rtt_of: parameters.rtt_of,
            timer_tick: parameters.timer_tick,
            rto_timer: parameters.timer.rto_timer,
            reduction: match parameters.prr {
                Reduction::SafeAck => Method::Prr(Bound::SafeAck),
                Reduction::Crb => Method::Prr(Bound::Conservative),
                Reduction::Ssrb => Method::Prr(Bound::SlowStart),
                Reduction::Ub => Method::Prr(Bound::Unlimited),
                Reduction::RateHalving => Method::RateHalving(Floor::Half),
                Reduction::Off => Method::AtOnce,
            },
            spread: None,
            tlp: match parameters.tlp {
                Switch::On => Some(Tlp::new(parameters.max_ack_delay, parameters.timer_tick)),
                Switch::Off => None,
            },
            unanswered: None,
            fast_retransmit: false,
            growth_at_exit: match parameters.growth_at_exit {
                Switch::On => Growth::Acked,
                Switch::Off => Growth::Frozen,
            },
        }
    }

    fn recovering(&self) -> Recovering {
        match self.phase {
            Phase::Open | Phase::Reducing { .. } => Recovering::No,
            Phase::Recovery { .. } | Phase::Loss { .. } => Recovering::Yes,
        }
    }

    /// Returns `true` if no loss is being repaired.
    const fn is_calm(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Reducing { .. })
    }

    /// Advances RACK.segment (§6.2 step 2). Must be called while the tags of the delivered segments still exist.
    fn update_most_recent(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let certain = ack.delivered.iter().filter(|delivered| {
            let once = delivered.segment.transmissions == 1;
            let timestamp = || self.lists.tag(delivered.id).flatten();
            once || last_transmission_arrived(delivered, timestamp(), ack, view)
        });
        let mut order = self.most_recent.map_or(0, |recent| recent.order);
        let mut timed: Option<&Delivered> = None;
        for delivered in certain {
            order = order.max(delivered.segment.order);
            let later = timed.is_none_or(|timed| self.rtt_of.ranks(timed, delivered));
            timed = if later { Some(delivered) } else { timed };
        }
        self.most_recent = timed.map_or(self.most_recent, |timed| {
            Some(MostRecent {
                order,
                rtt: ack.now.since(timed.segment.sent_at),
            })
        });
    }

    /// Detects lost segments, and sets the reordering timer for those that may be lost (§6.2 step 5).
    fn detect_losses(&mut self, view: &View<'_>) -> Found {
        self.reordering_timer = None;
        let mut found = Found::default();
        let Some(recent) = self.most_recent else {
            return found;
        };
        let board = view.scoreboard;
        while let Some(overtaken) = self.lists.take_oldest_before(recent.order, board) {
            self.suspects.push_back(overtaken);
        }
        if self.suspects.is_empty() {
            return found;
        }
        let wait = recent.rtt + self.reordering.now(self.recovering(), view);
        while let Some(&suspect) = self.suspects.front() {
            if self.lists.is_in_flight(suspect, board) {
                if !is_overdue(suspect, wait, view) {
                    break;
                }
                let len = self.lists.condemn(suspect.id, OVERTAKEN, board);
                found.first.get_or_insert(suspect.id);
                found.bytes += u64::from(len);
            }
            self.suspects.pop_front();
        }
        while let Some(&suspect) = self.suspects.back()
            && !self.lists.is_in_flight(suspect, board)
        {
            self.suspects.pop_back();
        }
        let last = self.suspects.back().and_then(|last| board.get(last.id));
        self.reordering_timer =
            last.map(|segment| in_ticks(self.timer_tick, view.now, segment.sent_at + wait));
        found
    }

    /// Begins a fast recovery if a loss was detected outside of one.
    fn enter_recovery(
        &mut self,
        found: Found,
        ack: Option<&AckFacts<'_>>,
        view: &View<'_>,
    ) -> Option<LossEvent> {
        let segment = found.first?;
        if !self.is_calm() {
            return None;
        }
        self.phase = Phase::Recovery {
            point: view.scoreboard.nxt(),
        };
        self.fast_retransmit = true;
        self.unanswered = None;
        if let Some(tlp) = &mut self.tlp {
            tlp.reset();
        }
        let window = view.window.whole_bytes();
        self.spread = Spread::begin(self.reduction, self.smss, window, ack, view);
        Some(LossEvent::of(segment, OVERTAKEN))
    }

    /// Ends a recovery whose end point SND.UNA has reached. Returns the growth and the maximum of the window on this ACK.
    fn leave_recovery(
        &mut self,
        ack: &AckFacts<'_>,
        view: &View<'_>,
    ) -> (Growth, Option<f64>, Exit) {
        let (point, growth, exit) = match self.phase {
            Phase::Open => return (Growth::Acked, None, Exit::No),
            Phase::Reducing { point } => (point + 1, Growth::Acked, Exit::No),
            Phase::Recovery { point } => (point, Growth::Frozen, Exit::Recovery),
            Phase::Loss { point } => (point, Growth::Acked, Exit::No),
        };
        if ack.una < point {
            return (growth, None, Exit::No);
        }
        let reduced = matches!(self.phase, Phase::Reducing { .. });
        self.phase = Phase::Open;
        let in_flight = self.in_flight(view);
        let limit = self
            .spread
            .take()
            .and_then(|spread| spread.limit_at_exit(PrrExit::Ssthresh, self.smss, in_flight));
        if reduced {
            return (growth, limit, exit);
        }
        self.reordering.recovery_ended();
        match exit {
            Exit::Recovery => (self.growth_at_exit, limit, exit),
            _ => (growth, limit, exit),
        }
    }

    /// Evaluates the probe (RFC 8985 §7.4). Returns a loss event if the probe repaired a loss that nothing else shows.
    /// The event waits until data is outstanding, because otherwise half of FlightSize would be zero.
    fn judge_probe(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Option<LossEvent> {
        let tlp = self.tlp.as_mut()?;
        if let ProbeReport::RepairedLoss(tail) = tlp.on_ack(ack) {
            self.unanswered = Some(tail);
        }
        if !self.is_calm() || view.scoreboard.is_empty() {
            return None;
        }
        let Tail { id, segment } = self.unanswered.take()?;
        Some(LossEvent::repaired(id, segment, LossRule::PROBE))
    }

    /// Sets or cancels the probe timer (§7.2). The timer is restarted if the retransmission timer, which expires at
    /// `rto_at`, is restarted, or if new data was sent.
    fn schedule_probe(&mut self, view: &View<'_>, rto_at: Option<Instant>) {
        let calm = self.is_calm();
        let Some(tlp) = &mut self.tlp else {
            return;
        };
        let board = view.scoreboard;
        if !calm || board.sacked_segments() > 0 || board.is_empty() {
            tlp.cancel();
        } else if let Some(rto_at) = rto_at {
            tlp.schedule(view, rto_at);
        }
    }

    fn next_probe(&self, view: &View<'_>) -> Option<Next> {
        if !self.tlp.as_ref()?.is_due() {
            return None;
        }
        let why = SendReason::TailLossProbe;
        let clearance = Clearance::Immediate;
        if view.new_len > 0 {
            return Some(Next::New { why, clearance });
        }
        let id = SegmentId(view.scoreboard.end().0.checked_sub(1)?);
        let last = view.scoreboard.get(id)?;
        (last.reported == Reported::Missing).then_some(Next::Retransmit { id, why, clearance })
    }
}

/// Returns the expiry time of the retransmission timer if it is restarted now.
fn restarted(view: &View<'_>) -> Instant {
    view.now + view.rtt.rto()
}

/// Returns `true` if at least `wait` has passed since the transmission.
fn is_overdue(sent: Transmission, wait: Duration, view: &View<'_>) -> bool {
    let segment = view.scoreboard.get(sent.id);
    segment.is_some_and(|segment| segment.sent_at + wait <= view.now)
}

impl Recovery for RackTlp {
    fn governed_by(&mut self, governance: Governance) {
        if governance == Governance::Model {
            self.reduction = Method::AtOnce;
        }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.lists.sent(sent, sent.timestamp, view.scoreboard);
        if let Some(spread) = &mut self.spread {
            spread.on_sent(sent.segment.len);
        }
        let repeated = sent.segment.transmissions > 1;
        if repeated {
            self.fast_retransmit = false;
        }
        if sent.why == SendReason::TailLossProbe {
            if let Some(tlp) = &mut self.tlp {
                tlp.sent(sent, view.scoreboard.nxt());
            }
            return RtoTimer::Restart;
        }
        if !repeated {
            // The retransmission timer is not running yet for the first outstanding segment.
            let rto_at = view.rto_at.unwrap_or_else(|| restarted(view));
            self.schedule_probe(view, Some(rto_at));
        }
        self.rto_timer.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let advanced = ack.acked_bytes > 0;
        self.update_most_recent(ack, view);
        self.lists.delivered(ack.delivered, view.scoreboard);
        let (growth, limit, exit) = self.leave_recovery(ack, view);
        self.reordering.observe(ack, view);
        self.reordering.adapt(ack, view);
        let found = self.detect_losses(view);
        let probe_event = self.judge_probe(ack, view);
        let event = self.enter_recovery(found, Some(ack), view).or(probe_event);
        let in_flight = self.in_flight(view);
        if let Some(spread) = &mut self.spread {
            let progress = if advanced && found.bytes == 0 {
                Progress::Safe
            } else {
                Progress::Unsafe
            };
            spread.on_ack(ack.delivered_bytes, progress, in_flight, view);
        }
        self.schedule_probe(view, advanced.then(|| restarted(view)));
        Outcome {
            loss: event,
            restore: None,
            limit,
            growth: if event.is_some() {
                Growth::Frozen
            } else {
                growth
            },
            rto: self.rto_timer.on_ack(ack),
            timing: Timing::Sample,
            exit,
        }
    }

    fn on_mark(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        if self.phase != Phase::Open {
            return;
        }
        let board = view.scoreboard;
        // The window is already reduced.
        let before = board.flight_size() - board.sacked_bytes() + ack.delivered_bytes;
        let Some(mut spread) = Spread::begin(self.reduction, self.smss, before, Some(ack), view)
        else {
            return;
        };
        let progress = match ack.acked_bytes {
            0 => Progress::Unsafe,
            _ => Progress::Safe,
        };
        spread.on_ack(ack.delivered_bytes, progress, self.in_flight(view), view);
        self.spread = Some(spread);
        self.phase = Phase::Reducing { point: board.nxt() };
    }

    /// A segment that is too long for the path does not arrive, regardless of its time of transmission.
    fn on_cut(&mut self, view: &View<'_>) {
        self.lists.cut(view.scoreboard, None);
        self.on_rto(view);
    }

    fn on_rto(&mut self, view: &View<'_>) {
        let board = view.scoreboard;
        let reo_wnd = self.reordering.now(Recovering::Yes, view);
        let wait = self.most_recent.map_or(reo_wnd, |r| r.rtt + reo_wnd);
        // §6.3: segments that are not overdue yet stay in flight. RACK or the next timeout detects their loss.
        self.lists.time_out(board, |id, segment| {
            id == board.first() || segment.sent_at + wait <= view.now
        });
        self.suspects.clear();
        self.phase = Phase::Loss { point: board.nxt() };
        self.spread = None;
        self.unanswered = None;
        self.fast_retransmit = true;
        if let Some(tlp) = &mut self.tlp {
            tlp.reset();
        }
        self.detect_losses(view);
    }

    /// Segments that are in flight again are examined once more. If one of them is overdue, it begins a separate
    /// recovery, as in Linux, where an undone connection is in the open state when losses are identified. A late
    /// segment that was considered lost is a sign of reordering (Linux, `tcp_try_undo_partial`).
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        if self.phase == Phase::Open {
            return Reversal::Done(None);
        }
        self.phase = Phase::Open;
        self.spread = None;
        self.fast_retransmit = false;
        if spurious.acquits_all() {
            self.suspects.clear();
            self.lists.acquit(view.scoreboard, |_| true);
        }
        if spurious.sign == Sign::Timestamp {
            self.reordering.overtaken();
        }
        let found = self.detect_losses(view);
        let left = self.lists.next_lost().map(|(id, _)| id);
        let event = self.enter_recovery(
            Found {
                first: left,
                ..found
            },
            None,
            view,
        );
        self.schedule_probe(view, view.rto_at);
        Reversal::Done(event)
    }

    fn timer(&self) -> Option<Instant> {
        let probe = self.tlp.as_ref().and_then(Tlp::timer);
        [self.reordering_timer, probe].into_iter().flatten().min()
    }

    fn on_timer(&mut self, view: &View<'_>) -> Expiry {
        let mut expiry = Expiry::default();
        if self.reordering_timer.is_some_and(|at| at <= view.now) {
            let found = self.detect_losses(view);
            let before = self.spread.is_some();
            expiry.loss = self.enter_recovery(found, None, view);
            let in_flight = self.in_flight(view);
            if let Some(spread) = self.spread.as_mut().filter(|_| before && found.bytes > 0) {
                // No ACK will arrive for the lost segment, so it counts as one delivered segment, as in Linux.
                spread.on_ack(u64::from(self.smss), Progress::Unsafe, in_flight, view);
            }
        }
        if let Some(tlp) = &mut self.tlp
            && tlp.expire(view)
        {
            expiry.rto = RtoTimer::Restart;
        }
        expiry
    }

    // `allowance` calls this for each segment.
    #[inline(always)]
    fn lost_bytes(&self) -> Option<u64> {
        Some(self.lists.judged_bytes())
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.lists.in_flight(view.scoreboard)
    }

    fn phase(&self) -> Option<recovery::Phase> {
        Some(match self.phase {
            Phase::Open | Phase::Reducing { .. } => recovery::Phase::Open,
            Phase::Recovery { .. } => recovery::Phase::Recovery,
            Phase::Loss { .. } => recovery::Phase::Loss,
        })
    }

    fn allowance(&self, view: &View<'_>) -> u64 {
        let in_flight = self.in_flight(view);
        match &self.spread {
            Some(spread) => spread.allowance(in_flight, view),
            None => view.window.whole_bytes().saturating_sub(in_flight),
        }
    }

    fn next(&self, view: &View<'_>) -> Next {
        if let Some(probe) = self.next_probe(view) {
            return probe;
        }
        if let Some((id, rule)) = self.lists.next_lost() {
            return Next::Retransmit {
                id,
                why: SendReason::Retransmit(rule),
                clearance: if self.fast_retransmit {
                    Clearance::Immediate
                } else {
                    Clearance::Window
                },
            };
        }
        // New data that SACKs permit is limited transmit: it does not count in FlightSize when the window is reduced
        // (RFC 5681 §3.2 step 2).
        let early = self.is_calm() && view.scoreboard.sacked_segments() > 0;
        Next::New {
            why: if early {
                SendReason::LimitedTransmit
            } else {
                SendReason::NewData
            },
            clearance: Clearance::Window,
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = to;
    }
}

/// Segment that determines RACK.rtt, if one ACK reports several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum RttOf {
    /// the segment sent last
    LastSent,
    /// the last segment in the stream, among the cumulatively acknowledged ones if there are any
    LastInStream,
}

impl RttOf {
    /// Returns `true` if `other` has priority over `one`.
    fn ranks(self, one: &Delivered, other: &Delivered) -> bool {
        let cumulative = |d: &Delivered| d.by == DeliveredBy::Cumulative;
        match self {
            Self::LastSent => other.segment.order > one.segment.order,
            Self::LastInStream => (cumulative(other), other.id) > (cumulative(one), one.id),
        }
    }
}

/// Rate of the window reduction, and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Reduction {
    /// PRR; the bound is SSRB on a SafeACK, otherwise CRB
    SafeAck,
    /// PRR with the conservative reduction bound
    Crb,
    /// PRR with the slow start reduction bound
    Ssrb,
    /// PRR without a bound (PRR-UB)
    Ub,
    /// rate halving instead of PRR, which preceded it in Linux
    RateHalving,
    /// none: the window is reduced at once
    Off,
}

/// RACK-TLP's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct RackParameters {
    /// time by which an overtaken segment may be late without being lost
    #[parameter(
        basic,
        source = "RFC 8985 §6.2 step 4; Linux sysctl tcp_recovery",
        default = Rule::Adaptive,
    )]
    reo_wnd: Rule,
    /// step of the reordering window, as a fraction of the minimum round-trip time
    #[parameter(source = "RFC 8985 §6.2 step 4", range = 0.0..=1.0, default = 0.25)]
    reo_wnd_share: f64,
    /// recoveries without a DSACK after which the reordering window is reset to one step
    #[parameter(
        source = "RFC 8985 §6.2 step 4",
        range = 1..=1000,
        unit = "recoveries",
        default = 16,
    )]
    reo_wnd_persist: u64,
    #[embed]
    counting: DupThreshold,
    /// segment that determines RACK.rtt, if an ACK reports several
    #[parameter(
        source = "RFC 8985 §6.2 step 2; linux: tcp_rack_advance",
        default(rfc = RttOf::LastSent, linux = RttOf::LastInStream, ns2 = RttOf::LastSent),
    )]
    rtt_of: RttOf,
    /// tick of the reordering and probe timers, which are set to whole ticks plus two
    #[parameter(
        source = "RFC 8985 §6.2 step 5 and §7.2 have no ticks; \
                  linux: usecs_to_jiffies, TCP_TIMEOUT_MIN_US, HZ = 1000",
        default(
            rfc = Duration::ZERO,
            linux = Duration::from_millis(1),
            ns2 = Duration::ZERO,
        ),
    )]
    timer_tick: Duration,
    #[embed]
    timer: RtoTimerParameters,
    /// growth of the window on the ACK that ends a recovery
    #[parameter(
        source = "rfc: RFC 5681 §3.2 step 6 sets cwnd to ssthresh; linux: tcp_cong_control",
        default(rfc = Switch::Off, linux = Switch::On, ns2 = Switch::Off),
    )]
    growth_at_exit: Switch,
    /// rate of the window reduction, and its bound
    #[parameter(
        basic,
        source = "RFC 9937 §6.2; RFC 6937 §3 (crb, ssrb) and §5 (ub, rate-halving)",
        default = Reduction::SafeAck,
    )]
    prr: Reduction,
    /// tail loss probes
    #[parameter(basic, source = "RFC 8985 §7", default = Switch::On)]
    tlp: Switch,
    /// maximum delay of the ACK of a single segment by the receiver
    #[parameter(
        source = "RFC 8985 §7.2, which leaves the value open: RFC 9000 §18.2; \
                  Linux takes its minimum RTO",
        default(
            rfc = Duration::from_millis(25),
            linux = Duration::from_millis(200),
            ns2 = Duration::from_millis(25),
        ),
    )]
    max_ack_delay: Duration,
}

/// Returns the availability in Linux, on every connection with SACK: RACK since 4.4, and as the default loss detection
/// since 4.18; TLP since 3.10; PRR since 3.2. Since 6.17, these connections have no other loss detection
/// (`tcp_recovery` without 0x1 has no effect).
fn linux() -> InLinux {
    let recovery = || Place::sysctl("net.ipv4.tcp_recovery");
    let probes = || Place::sysctl("net.ipv4.tcp_early_retrans");
    InLinux::always("RACK-TLP with PRR, Linux's default with SACK since 4.18")
        .usual(Place::sysctl("net.ipv4.tcp_sack"), "1")
        .usual(recovery(), "1")
        .usual(probes(), "3")
        .knob(Knob::words("reo_wnd", &[("static", "3")], recovery()))
        .knob(Knob::words("tlp", &[("off", "0")], probes()))
        .knob(Knob::number(
            "dup_threshold",
            1.0,
            Place::sysctl("net.ipv4.tcp_reordering"),
        ))
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("rack", file!())
        .summary("loss by time of transmission, tail loss probes, proportional rate reduction")
        .citation("RFC 8985, RFC 9937")
        .needs(|_| Needs::SACK.and_dsack())
        .linux(linux())
        .build(|parameters, context| Box::new(RackTlp::new(parameters, context)))
}
