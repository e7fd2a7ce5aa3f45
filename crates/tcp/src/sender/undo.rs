//! Finds out that a reduction of the window was needless, and has it undone.
//!
//! The first reduction of a loss event begins an [`Episode`], which notes what stood before. From
//! then on ACKs are looked at for one of three signs ([`undo`](crate::undo) names them):
//!
//! ```text
//! sent again     stamp = TSval of the first;  unexplained += len
//! DSACK          unexplained −= len                       0: nothing of it was needed
//! ACK advances   echo < stamp                             the original was late, not lost
//! after an RTO   ACK of what was sent once, below point   F-RTO: the flight was late
//! ```
//!
//! An episode is open until everything outstanding at its beginning (`point`) is acknowledged; the
//! late DSACK counts after that, too, until the next one begins. A timeout within an open episode
//! belongs to it: the window to return to is the one before the first reduction. Another loss event
//! within one, which only recoveries without a recovery phase report, begins a new one: the earlier
//! reduction then stands.
//!
//! `stamp` may outlive its episode. It stays until that is over and nothing that was sent again is
//! outstanding, as an ACK of an earlier retransmission would look old beside that of a later one
//! (RFC 3522 §3.2 (2); Linux, `retrans_stamp`).
//!
//! **F-RTO.** After a timeout the recovery sends the first segment again, as always. On the first ACK
//! that advances, new data goes out instead of further retransmissions: if the flight was only late,
//! its ACKs follow, and nothing was sent needlessly. Here the sender withholds what the recovery would
//! send again, so that every recovery has it.
//!
//! Against a lying peer: an echo can be made up, and so can a DSACK (RFC 3522 §3.4, RFC 3708 §5,
//! RFC 4015 §5). Neither gives a peer more than the window had been, once per loss event. An ECN signal
//! is proof of congestion: [`Undo::forbid`].

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

/// What is known of the last loss event, and of what was sent again.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    rules: UndoRules,
    /// Whether any ACK might matter, and not only one with a DSACK.
    watching: bool,
    /// Most flows are not within one.
    episode: Option<Box<Episode>>,
    /// Nor have they sent anything again.
    resent: Option<Box<Resent>>,
    /// The peer has sent a DSACK.
    dsack_seen: bool,
    /// What the recovery would send again waits, and new data goes instead.
    withhold: Withhold,
}

/// What was sent again.
#[derive(Clone, Debug)]
struct Resent {
    /// TSval of the first retransmission of those that may be outstanding.
    stamp: Option<u32>,
    /// Between these two are they all.
    from: u64,
    to: u64,
    /// Bytes sent again that no DSACK has reported, since the episode began and before, as far as it
    /// was on its way then; `None` until something is sent again.
    unexplained: Option<u64>,
    /// A tail loss probe that was a repetition: it may cause a DSACK in an episode that begins later.
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
    /// Something was sent again, and a DSACK of it would explain it.
    fn count(&mut self, start: u64, end: u64) {
        self.unexplained = Some(self.unexplained.unwrap_or(0) + (end - start));
        self.from = self.from.min(start);
        self.to = self.to.max(end);
    }

    /// A loss event begins at `una`: what was sent again before it counts only if it may still be on
    /// its way.
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

/// A loss event, from its first reduction on.
#[derive(Clone, Copy, Debug)]
struct Episode {
    prior: Prior,
    growth: f64,
    reduced_at: Option<Instant>,
    after: Reduction,
    /// What it began with.
    began_with: Reduction,
    stage: Stage,
    /// SND.NXT when it began, or at the last timeout, or when F-RTO let new data go.
    point: u64,
    /// SND.UNA at the last timeout.
    timed_out_at: u64,
    /// Whether the ACK is still to come that RFC 3522 §3.2 (4) looks at.
    first_ack: FirstAck,
    frto: Frto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not everything up to its point is acknowledged.
    Open,
    /// Everything is. Only a late DSACK can still tell.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstAck {
    Awaited,
    Seen,
}

/// How far F-RTO has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    Off,
    /// Step 2: for the ACK of what was sent again up to here.
    Waiting {
        resent_to: u64,
    },
    /// Step 3: new data has gone out, or is to.
    Probing,
}

/// Whether what is to be sent again waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withhold {
    No,
    /// Until the next ACK or timer, whether there is new data or not.
    Yes,
    /// For so many new segments; if not a single one can be sent, it does not wait.
    ForNew {
        left: u32,
        sent: u32,
    },
}

/// New segments that F-RTO may send in its step 2 (RFC 5682 §2.1).
const FRTO_SEGMENTS: u32 = 2;

impl Undo {
    /// Nothing has been lost yet.
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

    /// Whether an ACK with these facts has to be looked at.
    #[inline(always)]
    pub(super) const fn concerns(&self, facts: &AckFacts<'_>) -> bool {
        self.watching || facts.dsack.is_some()
    }

    /// The reduction at hand is not to be undone: congestion is proven, as by ECN (RFC 4015 §3.4), or
    /// nothing of it was sent again.
    pub(super) fn forbid(&mut self) {
        self.episode = None;
        self.withhold = Withhold::No;
    }

    /// The recovery's timer expired: what waited for an ACK goes.
    pub(super) const fn release(&mut self) {
        self.withhold = Withhold::No;
    }

    /// A segment was sent again.
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

    /// A DSACK came: what was sent again of it need not have been.
    fn explain(&mut self, facts: &AckFacts<'_>, repeats: Repeats) {
        let Some((start, end)) = facts.dsack else {
            return;
        };
        self.dsack_seen = true;
        let Some(resent) = &mut self.resent else {
            return;
        };
        // Outside, and of what was sent once, it is of an earlier event or of the network's own
        // making (RFC 3708 §3 (A.4)).
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

/// Whether a segment that a DSACK names was sent more than once, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    None,
    Some,
}

impl State {
    /// A loss event is about to reduce the window; whether it begins an episode, so that the control
    /// has to remember what it will change.
    pub(super) fn begin_episode(&mut self, after: Reduction) -> bool {
        if self.undo.rules.is_off() {
            return false;
        }
        let (una, nxt) = (self.scoreboard.una(), self.scoreboard.nxt());
        self.undo.withhold = Withhold::No;
        let before = self.undo.episode.as_deref().copied();
        let before = before.filter(|e| e.stage == Stage::Open);
        // With nothing acknowledged since, it is the same segment that times out again.
        let continues = after == Reduction::Timeout
            && before.is_some_and(|e| e.after == Reduction::LossEvent || e.timed_out_at == una);
        let repeated = continues && self.rtt.backoff() > 0;
        let applies = match self.undo.rules.frto {
            FrtoRule::Off => false,
            // RFC 5682 §3.1 step 1: not within an earlier recovery, but for the same segment again.
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

    /// What stands now, to be restored if it was reduced in vain.
    fn prior(&self) -> Prior {
        let mut window = self.window;
        if self.undo.rules.threshold == PriorThreshold::ThreeQuarters {
            let smss = f64::from(self.config.smss);
            // Half and a quarter of so many segments, each cut to a whole number.
            let share = |of| libm::floor(window.cwnd / smss / of) * smss;
            let least = share(2.0) + share(4.0);
            window.ssthresh = window.ssthresh.max(least);
        }
        Prior::new(window)
    }

    /// Looks at an ACK, which has been applied to the scoreboard, for a sign that the last reduction
    /// was needless.
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

    /// Whether what a DSACK names was sent again. Of what is not outstanding any more nobody knows.
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
        // After a timeout DSACKs are the answers to go-back-N: Linux waits for an ACK that advances.
        if explained && (episode.after == Reduction::LossEvent || facts.acked_bytes > 0) {
            return found(Sign::Dsack);
        }
        if episode.frto != Frto::Off && self.frto(facts, episode.point) {
            return found(Sign::Frto);
        }
        None
    }

    /// Whether the ACK echoes a time before the first retransmission, and whether that counts.
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

    /// F-RTO's look at an ACK after a timeout; whether the timeout was spurious.
    fn frto(&mut self, facts: &AckFacts<'_>, point: u64) -> bool {
        let advances = facts.acked_bytes > 0;
        let again = facts
            .delivered
            .iter()
            .any(|d| d.by == DeliveredBy::Cumulative && d.segment.transmissions > 1);
        // Without SACK what was sent once may have arrived before the timeout.
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

    /// RFC 5682 §2.1 and §3.1, steps 2 and 3.
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

    /// Step 2 (b): new data goes, if there is any that the peer has room for.
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

    /// Whether what the recovery wants to send again has to wait, so that new data may go.
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

    /// Whether a new segment may go in place of what waits; counts it.
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
    /// A reduction was needless: has the recovery give up what it took for lost, and the control
    /// restore the window. `outcome` is what the recovery made of the ACK that shows it.
    #[inline(never)]
    pub(super) fn reverse(&mut self, now: Instant, spurious: Spurious, outcome: &mut Outcome) {
        let Some(episode) = self.state.undo.episode.as_deref().copied() else {
            return;
        };
        // A loss event that begins with this ACK is one of its own: it reduces what is restored.
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
