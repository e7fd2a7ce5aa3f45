//! Detection of spurious reductions of the window, and their undoing.
//!
//! The first reduction of a loss event starts an [`Episode`], which stores the state before. From then on, ACKs are
//! examined for one of three signs (see [`undo`](crate::undo)):
//!
//! ```text
//! retransmission  stamp = TSval of the first;  unexplained += len
//! DSACK           unexplained −= len                       0: no retransmission was needed
//! ACK advances    echo < stamp                             the original was late, not lost
//! after an RTO    ACK of data sent once, below point       F-RTO: the flight was late
//! ```
//!
//! An episode is open until everything outstanding at its start (`point`) is acknowledged; a late DSACK counts after
//! that, too, until the next episode starts. A timeout within an open episode belongs to it: an undo restores the
//! window before the first reduction. Another loss event within an episode, which only recoveries without a recovery
//! phase report, starts a new one; the earlier reduction then stands.
//!
//! `stamp` may outlive its episode. It is kept until the episode is over and no retransmission is outstanding, because
//! the ACK of an earlier retransmission would look old compared with a later stamp (RFC 3522 §3.2 (2); Linux,
//! `retrans_stamp`).
//!
//! **F-RTO.** After a timeout the recovery retransmits the first segment, as always. On the first ACK that advances,
//! new data is sent instead of further retransmissions: if the flight was only late, its ACKs follow, and there were no
//! spurious retransmissions. The sender itself withholds the recovery's retransmissions, so that F-RTO works with every
//! recovery.
//!
//! A misbehaving peer can forge an echo, and a DSACK as well (RFC 3522 §3.4, RFC 3708 §5, RFC 4015 §5). Neither gives
//! it more than the former window, once per loss event. An ECN signal proves congestion: [`Undo::forbid`].

use alloc::boxed::Box;

use super::Sender;
use super::state::State;
use crate::facts::{AckFacts, AckKind, SendReason, Sent};
use crate::recovery::{Growth, Outcome};
use crate::scoreboard::DeliveredBy;
use crate::time::Instant;
use crate::undo::{
    DsackRule, EifelRule, FrtoRule, Prior, PriorThreshold, Reduction, Reversal, Sign, Spurious,
    UndoRules,
};
use crate::window::WindowCause;

/// State of the last loss event, and of retransmissions.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    rules: UndoRules,
    /// `true` if any ACK might matter, not only one with a DSACK.
    watching: bool,
    /// Last episode; most flows are not within one.
    episode: Option<Box<Episode>>,
    /// Retransmissions; most flows have none.
    resent: Option<Box<Resent>>,
    /// The peer has sent a DSACK.
    dsack_seen: bool,
    /// Delay of the recovery's retransmissions in favour of new data.
    withhold: Withhold,
}

/// Retransmitted data.
#[derive(Clone, Debug)]
struct Resent {
    /// TSval of the first retransmission that may be outstanding.
    stamp: Option<u32>,
    /// Range that contains all retransmissions.
    from: u64,
    to: u64,
    /// Retransmitted bytes that no DSACK has reported, since the episode started, plus those in flight at its start;
    /// `None` before the first retransmission.
    unexplained: Option<u64>,
    /// Range of a tail loss probe that was a retransmission: it may cause a DSACK in an episode that starts later.
    probe: Option<(u64, u64)>,
}

impl Default for Resent {
    fn default() -> Self {
        Self {
            stamp: None,
            from: u64::MAX,
            to: 0,
            unexplained: None,
            probe: None,
        }
    }
}

impl Resent {
    /// Counts a retransmission, which a DSACK may explain.
    fn count(&mut self, start: u64, end: u64) {
        self.unexplained = Some(self.unexplained.unwrap_or(0) + (end - start));
        self.from = self.from.min(start);
        self.to = self.to.max(end);
    }

    /// Starts counting for a loss event at `una`. Earlier retransmissions count only if they may still be in flight.
    fn begin_counting(&mut self, una: u64) {
        if una >= self.to || self.unexplained == Some(0) {
            self.unexplained = None;
            self.from = u64::MAX;
        }
        if let Some((start, end)) = self.probe.take()
            && end > una
        {
            self.count(start, end);
        }
    }
}

/// Loss event, from its first reduction on.
#[derive(Clone, Copy, Debug)]
struct Episode {
    prior: Prior,
    growth: f64,
    reduced_at: Option<Instant>,
    after: Reduction,
    /// Reduction that started the episode.
    began_with: Reduction,
    stage: Stage,
    /// SND.NXT when the episode started, or at the last timeout, or when F-RTO permitted new data.
    point: u64,
    /// SND.UNA at the last timeout.
    timed_out_at: u64,
    /// State of the ACK that RFC 3522 §3.2 (4) examines.
    first_ack: FirstAck,
    frto: Frto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Data below its point is not yet acknowledged.
    Open,
    /// Everything is acknowledged. Only a late DSACK may still show that the reduction was spurious.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstAck {
    Awaited,
    Seen,
}

/// Progress of F-RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    Off,
    /// Step 2: waits for the ACK of the retransmissions up to this offset.
    Waiting {
        resent_to: u64,
    },
    /// Step 3: new data was sent, or will be.
    Probing,
}

/// Delay of the recovery's retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withhold {
    No,
    /// Until the next ACK or timer, even without new data.
    Yes,
    /// For this many new segments. If not a single one can be sent, the retransmissions do not wait.
    ForNew {
        left: u32,
        sent: u32,
    },
}

/// New segments that F-RTO may send in step 2 (RFC 5682 §2.1).
const FRTO_SEGMENTS: u32 = 2;

impl Undo {
    /// Returns the state before any loss.
    pub(crate) const fn new(rules: UndoRules) -> Self {
        Self {
            rules,
            watching: false,
            episode: None,
            resent: None,
            dsack_seen: false,
            withhold: Withhold::No,
        }
    }

    /// Returns `true` if an ACK with these facts must be examined.
    #[inline(always)]
    pub(super) const fn concerns(&self, facts: &AckFacts<'_>) -> bool {
        self.watching || facts.dsack.is_some()
    }

    /// Forbids undoing the current reduction: congestion is proven, as by ECN (RFC 4015 §3.4), or nothing was
    /// retransmitted for it.
    pub(super) fn forbid(&mut self) {
        self.episode = None;
        self.withhold = Withhold::No;
    }

    /// Permits retransmissions that waited for an ACK, because the recovery's timer expired.
    pub(super) const fn release(&mut self) {
        self.withhold = Withhold::No;
    }

    /// Notes a retransmission.
    pub(super) fn on_repeat(&mut self, sent: &Sent) {
        if self.rules.is_off() {
            return;
        }
        let (start, end) = (sent.segment.start, sent.segment.end());
        let resent = self.resent.get_or_insert_default();
        if sent.why == SendReason::TailLossProbe {
            resent.probe = Some((start, end));
            return;
        }
        self.watching = true;
        resent.stamp = resent.stamp.or(sent.timestamp);
        resent.count(start, end);
        if let Some(episode) = &mut self.episode
            && let Frto::Waiting { resent_to } = &mut episode.frto
        {
            *resent_to = (*resent_to).max(end);
        }
    }

    /// Takes in a DSACK: the retransmissions that it reports were not needed.
    fn explain(&mut self, facts: &AckFacts<'_>, repeats: Repeats) {
        let Some((start, end)) = facts.dsack else {
            return;
        };
        self.dsack_seen = true;
        let Some(resent) = &mut self.resent else {
            return;
        };
        // A DSACK outside the range, or of data that was sent once, belongs to an earlier event, or the network
        // duplicated the segment (RFC 3708 §3 (A.4)).
        if self.rules.dsack == DsackRule::Off
            || start < resent.from
            || end > resent.to
            || repeats == Repeats::None
        {
            return;
        }
        if let Some(bytes) = &mut resent.unexplained {
            *bytes = bytes.saturating_sub(end - start);
        }
    }
}

/// Retransmissions of the segment that a DSACK reports, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    None,
    Some,
}

impl State {
    /// Notes that a loss event is about to reduce the window. Returns `true` if it starts an episode, so that the
    /// control must remember the state that it will change.
    pub(super) fn begin_episode(&mut self, after: Reduction) -> bool {
        if self.undo.rules.is_off() {
            return false;
        }
        let (una, nxt) = (self.scoreboard.una(), self.scoreboard.nxt());
        self.undo.withhold = Withhold::No;
        let before = self.undo.episode.as_deref().copied();
        let before = before.filter(|e| e.stage == Stage::Open);
        // With no acknowledgment since, the same segment times out again.
        let continues = after == Reduction::Timeout
            && before.is_some_and(|e| e.after == Reduction::LossEvent || e.timed_out_at == una);
        let repeated = continues && self.rtt.backoff() > 0;
        let applies = match self.undo.rules.frto {
            FrtoRule::Off => false,
            // RFC 5682 §3.1 step 1: not within an earlier recovery, except for the same segment again.
            FrtoRule::SecondAck => {
                before.is_none_or(|episode| repeated && episode.began_with == Reduction::Timeout)
            }
            FrtoRule::AnyAck => !continues || repeated,
        };
        let frto = if applies && after == Reduction::Timeout {
            Frto::Waiting { resent_to: una }
        } else {
            Frto::Off
        };
        if continues && let Some(episode) = &mut self.undo.episode {
            episode.after = after;
            episode.point = nxt;
            episode.timed_out_at = una;
            episode.frto = frto;
            return false;
        }
        if let Some(resent) = &mut self.undo.resent {
            resent.begin_counting(una);
        }
        self.undo.watching = true;
        self.undo.episode = Some(Box::new(Episode {
            prior: self.prior(),
            growth: self.growth,
            reduced_at: self.reduced_at,
            after,
            began_with: after,
            stage: Stage::Open,
            point: nxt,
            timed_out_at: una,
            first_ack: FirstAck::Awaited,
            frto,
        }));
        true
    }

    /// Returns the current state, to be restored if the reduction is spurious.
    fn prior(&self) -> Prior {
        let mut window = self.window;
        if self.undo.rules.threshold == PriorThreshold::ThreeQuarters {
            let smss = f64::from(self.config.smss);
            // One half and one quarter of the segments, each rounded down to a whole number.
            let share = |of| libm::floor(window.cwnd / smss / of) * smss;
            let least = share(2.0) + share(4.0);
            window.ssthresh = window.ssthresh.max(least);
        }
        Prior::new(window)
    }

    /// Examines an ACK, which has been applied to the scoreboard, for a sign that the last reduction was spurious.
    #[inline(never)]
    pub(super) fn look_for_undo(&mut self, facts: &AckFacts<'_>) -> Option<Spurious> {
        self.undo.withhold = match (self.undo.withhold, facts.kind) {
            // RFC 5682: other ACKs are ignored without any action.
            (Withhold::ForNew { left, sent }, AckKind::Other)
                if self.undo.rules.frto == FrtoRule::SecondAck =>
            {
                Withhold::ForNew { left, sent }
            }
            _ => Withhold::No,
        };
        let repeats = self.repeats(facts);
        self.undo.explain(facts, repeats);
        let found = self.sign(facts);
        let mut open = false;
        if let Some(episode) = &mut self.undo.episode {
            if facts.una >= episode.point {
                episode.stage = Stage::Over;
            }
            open = episode.stage == Stage::Open;
        }
        let mut stamped = false;
        if let Some(resent) = &mut self.undo.resent {
            if !open && facts.una >= resent.to {
                resent.stamp = None;
            }
            stamped = resent.stamp.is_some();
        }
        self.undo.watching = open || stamped;
        found
    }

    /// Returns whether the data that a DSACK reports was retransmitted. For data that is no longer outstanding this is
    /// unknown, and `Repeats::Some` is assumed.
    fn repeats(&self, facts: &AckFacts<'_>) -> Repeats {
        let board = &self.scoreboard;
        let once = |start| {
            let segment = board.get(board.id_at(start));
            segment.is_some_and(|s| s.start == start && s.transmissions == 1)
        };
        match facts.dsack {
            Some((start, _)) if start >= facts.una && once(start) => Repeats::None,
            _ => Repeats::Some,
        }
    }

    fn sign(&mut self, facts: &AckFacts<'_>) -> Option<Spurious> {
        let episode = self.undo.episode.as_deref().copied()?;
        let resent = self.undo.resent.as_deref();
        let explained = resent.is_some_and(|resent| resent.unexplained == Some(0));
        let found = |sign| Some(Spurious::new(episode.after, sign));
        if episode.stage == Stage::Over {
            return found(Sign::Dsack).filter(|_| explained);
        }
        if self.is_late(facts, &episode) {
            return found(Sign::Timestamp);
        }
        // After a timeout DSACKs answer the go-back-N retransmissions, so Linux waits for an ACK that advances.
        if explained && (episode.after == Reduction::LossEvent || facts.acked_bytes > 0) {
            return found(Sign::Dsack);
        }
        if episode.frto != Frto::Off && self.frto(facts, episode.point) {
            return found(Sign::Frto);
        }
        None
    }

    /// Returns `true` if the ACK echoes a time before the first retransmission, and the rules let that count.
    fn is_late(&mut self, facts: &AckFacts<'_>, episode: &Episode) -> bool {
        let Some(resent) = self.undo.resent.as_deref() else {
            return false;
        };
        let (Some(stamp), Some(echo)) = (resent.stamp, facts.timestamp_echo) else {
            return false;
        };
        if facts.acked_bytes == 0 {
            return false;
        }
        let late = (echo.wrapping_sub(stamp) as i32) < 0;
        match self.undo.rules.eifel {
            EifelRule::Off => false,
            EifelRule::FirstAck => {
                let first = episode.first_ack == FirstAck::Awaited;
                if let Some(episode) = &mut self.undo.episode {
                    episode.first_ack = FirstAck::Seen;
                }
                let all = facts.una >= self.scoreboard.nxt();
                // RFC 3522 §3.2 (5).
                let lost_acks = facts.dsack.is_some() || all && !self.undo.dsack_seen;
                first && late && !lost_acks
            }
            EifelRule::AnyAck if !late => false,
            EifelRule::AnyAck => {
                let outstanding = facts.una < resent.to && facts.una < episode.point;
                if outstanding && episode.after == Reduction::LossEvent {
                    self.undo.withhold = Withhold::Yes;
                    return false;
                }
                true
            }
        }
    }

    /// Examines an ACK after a timeout by F-RTO. Returns `true` if the timeout was spurious.
    fn frto(&mut self, facts: &AckFacts<'_>, point: u64) -> bool {
        let advances = facts.acked_bytes > 0;
        let again = facts
            .delivered
            .iter()
            .any(|d| d.by == DeliveredBy::Cumulative && d.segment.transmissions > 1);
        // Without SACK, data that was sent once may have arrived before the timeout.
        let ambiguous = again && !self.config.sack.is_on();
        let original = !ambiguous
            && facts
                .delivered
                .iter()
                .any(|d| d.segment.transmissions == 1 && d.segment.end() <= point);
        match self.undo.rules.frto {
            FrtoRule::Off => false,
            FrtoRule::AnyAck => {
                if original {
                    return true;
                }
                let news = facts.sacked_bytes > 0 || facts.kind == AckKind::Duplicate;
                if self.scoreboard.nxt() > point {
                    if news {
                        self.end_frto();
                    }
                } else if advances && facts.una < point {
                    self.let_new_data_go(u32::MAX);
                }
                false
            }
            FrtoRule::SecondAck => self.frto_by_steps(facts, point, original),
        }
    }

    /// Applies steps 2 and 3 of RFC 5682 §2.1 and §3.1.
    fn frto_by_steps(&mut self, facts: &AckFacts<'_>, point: u64, original: bool) -> bool {
        let Some(episode) = &self.undo.episode else {
            return false;
        };
        match (episode.frto, facts.kind) {
            (Frto::Off, _) | (_, AckKind::Other) => false,
            (Frto::Waiting { resent_to }, AckKind::Advance) => {
                if facts.una >= point || facts.una < resent_to {
                    self.end_frto();
                } else {
                    self.let_new_data_go(FRTO_SEGMENTS);
                }
                false
            }
            (Frto::Waiting { .. }, AckKind::Duplicate) => {
                if !self.config.sack.is_on() {
                    self.end_frto();
                }
                false
            }
            (Frto::Probing, _) => {
                let beyond =
                    facts.una > point || facts.delivered.iter().any(|d| d.segment.end() > point);
                let spurious = original && !beyond;
                if !spurious {
                    self.end_frto();
                }
                spurious
            }
        }
    }

    /// Step 2 (b): permits new data, if there is any and the peer has room for it.
    fn let_new_data_go(&mut self, left: u32) {
        let nxt = self.scoreboard.nxt();
        if self.new_len() == 0 {
            self.end_frto();
            return;
        }
        self.undo.withhold = Withhold::ForNew { left, sent: 0 };
        if let Some(episode) = &mut self.undo.episode {
            episode.point = nxt;
            episode.frto = Frto::Probing;
        }
    }

    fn end_frto(&mut self) {
        self.undo.withhold = Withhold::No;
        if let Some(episode) = &mut self.undo.episode {
            episode.frto = Frto::Off;
        }
    }

    /// Returns `true` if the recovery's retransmissions must wait, so that new data may be sent.
    pub(super) fn withholds(&mut self) -> bool {
        match self.undo.withhold {
            Withhold::No => false,
            Withhold::Yes => true,
            Withhold::ForNew { sent: 0, .. } if self.new_len() == 0 => {
                self.end_frto();
                false
            }
            Withhold::ForNew { .. } => true,
        }
    }

    /// Returns `true`, and counts it, if a new segment may be sent in place of a retransmission.
    pub(super) fn take_place(&mut self) -> bool {
        match &mut self.undo.withhold {
            Withhold::ForNew { left, sent } if *left > 0 => {
                *left -= 1;
                *sent += 1;
                true
            }
            Withhold::ForNew { .. } => false,
            Withhold::Yes => true,
            Withhold::No => false,
        }
    }
}

impl Sender {
    /// Undoes a spurious reduction: the recovery abandons its losses, and the control restores the window. `outcome` is
    /// the recovery's decision on the ACK that shows it.
    #[inline(never)]
    pub(super) fn reverse(&mut self, now: Instant, spurious: Spurious, outcome: &mut Outcome) {
        let Some(episode) = self.state.undo.episode.as_deref().copied() else {
            return;
        };
        // A loss event that starts with this ACK is separate: it reduces the restored window.
        if outcome.loss.is_none() {
            let view = self.state.view(now);
            match self.stack.recovery.on_spurious(&spurious, &view) {
                Reversal::Refused => {
                    self.state.undo.forbid();
                    return;
                }
                Reversal::Done(event) => outcome.loss = event,
            }
        }
        self.state.undo.forbid();
        outcome.restore = None;
        outcome.limit = None;
        if outcome.growth == Growth::Frozen && outcome.loss.is_none() {
            outcome.growth = Growth::Acked;
        }
        self.state.growth = episode.growth;
        self.state.reduced_at = episode.reduced_at;
        let window = self
            .stack
            .control
            .on_spurious(&episode.prior, self.state.window);
        self.state.set_window(now, window, WindowCause::Undo);
        self.state.stats.count_undo(spurious.sign);
    }
}
