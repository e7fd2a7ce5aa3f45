//! Detection and undo of spurious window reductions.
//!
//! The first reduction of a loss event starts an [`Episode`], which stores the state before the reduction. From then
//! on, ACKs are examined for three signs (see [`undo`](crate::undo)):
//!
//! ```text
//! retransmission  stamp = TSval of the first;  unexplained += len
//! DSACK           unexplained −= len                       0: no retransmission was needed
//! ACK advances    echo < stamp                             the original was late, not lost
//! after an RTO    ACK of data sent once, below point       F-RTO: the flight was late
//! ```
//!
//! An episode is open until all data that was outstanding at its start (up to `point`) is acknowledged. A late DSACK
//! counts even after that, until the next episode starts. A timeout within an open episode belongs to this episode: an
//! undo restores the window before the first reduction. Another loss event within an episode starts a new episode, and
//! the earlier reduction can no longer be undone. Only recoveries without a recovery phase report such loss events.
//!
//! `stamp` is kept until the episode is over and no retransmission is outstanding, which may be after the end of the
//! episode. Otherwise, the ACK of an earlier retransmission would echo a timestamp older than a later `stamp` (RFC 3522
//! §3.2 (2); Linux, `retrans_stamp`).
//!
//! **F-RTO.** After a timeout, the recovery retransmits the first segment, as always. After the first ACK that advances
//! the cumulative acknowledgment, new data is sent instead of further retransmissions. If the flight was only delayed,
//! its ACKs follow, and spurious retransmissions are avoided. The sender itself withholds the recovery's
//! retransmissions, so that F-RTO works with every recovery.
//!
//! A misbehaving peer can forge timestamp echoes and DSACKs (RFC 3522 §3.4, RFC 3708 §5, RFC 4015 §5). At most, this
//! restores the former window once per loss event. A congestion mark (ECN) proves congestion and prevents an undo:
//! [`Undo::forbid`].

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

/// State of the last loss event and of retransmissions.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    rules: UndoRules,
    /// `true` if every ACK must be examined; otherwise, only ACKs with a DSACK are examined.
    watching: bool,
    /// Last episode. It is boxed because most flows are not within an episode.
    episode: Option<Box<Episode>>,
    /// Retransmissions. They are boxed because most flows have none.
    resent: Option<Box<Resent>>,
    /// `true` if the peer has sent a DSACK.
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
    /// Number of retransmitted bytes that no DSACK has reported. Counts retransmissions since the start of the episode,
    /// and those in flight at its start; `None` before the first retransmission.
    unexplained: Option<u64>,
    /// Range of a tail loss probe that was a retransmission. It may cause a DSACK in a later episode.
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
    /// Counts a retransmission that a DSACK may report.
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

/// Loss event, starting with its first window reduction.
#[derive(Clone, Copy, Debug)]
struct Episode {
    prior: Prior,
    growth: f64,
    reduced_at: Option<Instant>,
    after: Reduction,
    /// Reduction that started the episode.
    began_with: Reduction,
    stage: Stage,
    /// SND.NXT at the latest of these events: the start of the episode, a timeout, or the time at which F-RTO permitted
    /// new data.
    point: u64,
    /// SND.UNA at the last timeout.
    timed_out_at: u64,
    /// State of the ACK that RFC 3522 §3.2 (4) examines.
    first_ack: FirstAck,
    frto: Frto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Data below `point` is not yet acknowledged.
    Open,
    /// All data below `point` is acknowledged. Only a late DSACK may still show that the reduction was spurious.
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
    /// Step 2: F-RTO waits for the ACK of the retransmissions up to this offset.
    Waiting {
        resent_to: u64,
    },
    /// Step 3: new data was sent or will be sent.
    Probing,
}

/// Delay of the recovery's retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withhold {
    No,
    /// Retransmissions wait until the next ACK or timer, even if there is no new data.
    Yes,
    /// Retransmissions wait until `left` more new segments are sent. If no new segment can be sent at all, they do not
    /// wait.
    ForNew {
        left: u32,
        sent: u32,
    },
}

/// Number of new segments that F-RTO may send in step 2 (RFC 5682 §2.1).
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

    /// Returns `true` if this ACK must be examined.
    #[inline(always)]
    pub(super) const fn concerns(&self, facts: &AckFacts<'_>) -> bool {
        self.watching || facts.dsack.is_some()
    }

    /// Prevents the undo of the current reduction, because congestion is proven, for example by a mark (RFC 4015 §3.4),
    /// or because no segment was retransmitted.
    pub(super) fn forbid(&mut self) {
        self.episode = None;
        self.withhold = Withhold::No;
    }

    /// Permits withheld retransmissions, because the recovery's timer expired.
    pub(super) const fn release(&mut self) {
        self.withhold = Withhold::No;
    }

    /// Records a retransmission.
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

    /// Processes a DSACK: the retransmissions that it reports were spurious.
    fn explain(&mut self, facts: &AckFacts<'_>, repeats: Repeats) {
        let Some((start, end)) = facts.dsack else {
            return;
        };
        self.dsack_seen = true;
        let Some(resent) = &mut self.resent else {
            return;
        };
        // If a DSACK is outside the range, or if it reports data that was sent once, it belongs to an earlier event, or
        // the network duplicated the segment (RFC 3708 §3 (A.4)).
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

/// Known retransmissions of the segment that a DSACK reports: none or some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    None,
    Some,
}

impl State {
    /// Called when a loss event is about to reduce the window. Returns `true` if an episode starts: the control must
    /// then save the state that it will change.
    pub(super) fn begin_episode(&mut self, after: Reduction) -> bool {
        if self.undo.rules.is_off() {
            return false;
        }
        let (una, nxt) = (self.scoreboard.una(), self.scoreboard.nxt());
        self.undo.withhold = Withhold::No;
        let before = self.undo.episode.as_deref().copied();
        let before = before.filter(|e| e.stage == Stage::Open);
        // If SND.UNA has not advanced since the last timeout, the same segment times out again.
        let continues = after == Reduction::Timeout
            && before.is_some_and(|e| e.after == Reduction::LossEvent || e.timed_out_at == una);
        let repeated = continues && self.rtt.backoff() > 0;
        let applies = match self.undo.rules.frto {
            FrtoRule::Off => false,
            // RFC 5682 §3.1 step 1: F-RTO does not start within an earlier recovery, unless the same segment times out
            // again.
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

    /// Returns the current state, which is restored if the reduction is spurious.
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
            // RFC 5682: ACKs that are neither duplicates nor advances are ignored.
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

    /// Returns `Repeats::None` if the data that a DSACK reports was not retransmitted. For data that is no longer
    /// outstanding, this is unknown, and `Repeats::Some` is assumed.
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
        // After a timeout, go-back-N retransmissions cause DSACKs, so Linux waits for an ACK that advances the
        // cumulative acknowledgment.
        if explained && (episode.after == Reduction::LossEvent || facts.acked_bytes > 0) {
            return found(Sign::Dsack);
        }
        if episode.frto != Frto::Off && self.frto(facts, episode.point) {
            return found(Sign::Frto);
        }
        None
    }

    /// Returns `true` if the ACK echoes a time before the first retransmission, and the rules accept this ACK as a
    /// sign.
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

    /// Examines an ACK after a timeout with F-RTO. Returns `true` if the timeout was spurious.
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

    /// Step 2 (b): permits new data, if there is any and the peer's window permits it.
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

    /// Returns `true` if the recovery's retransmissions must wait, so that new data can be sent instead.
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

    /// Returns `true` and counts the segment if a new segment may be sent instead of a retransmission.
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
    /// Undoes a spurious reduction: segments no longer count as lost, and the control restores the window. `outcome` is
    /// the recovery's decision on the ACK that showed the reduction to be spurious.
    #[inline(never)]
    pub(super) fn reverse(&mut self, now: Instant, spurious: Spurious, outcome: &mut Outcome) {
        let Some(episode) = self.state.undo.episode.as_deref().copied() else {
            return;
        };
        // A loss event that starts with this ACK is a separate event: it reduces the restored window.
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
