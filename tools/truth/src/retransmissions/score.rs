//! Scores of diagnosed retransmissions.

use std::collections::BTreeMap;

use dupack_diagnosis::{Class, Need, Repeat, Stage};
use dupack_net::packet::Copy;
use dupack_tcp::facts::{LossRule, SendReason};
use dupack_tcp::recovery::Phase;
use dupack_tcp::sender::TransmitKind;

use super::record::{Fate, Record, Sent, Signs};
use super::told::{Explanation, Told};

/// True or diagnosed class of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Was {
    /// The packet is the first transmission of its data.
    New,
    Overtaken,
    Copy,
    Again(Class),
}

/// Returns the class of each transmission, according to the sender's state.
pub fn truth(record: &Record) -> Vec<Was> {
    let (mut expiries, mut events) = (0, 0);
    let mut truths = Vec::new();
    for sent in &record.sends {
        truths.push(truth_of(sent, &mut expiries, &mut events));
    }
    truths
}

fn truth_of(sent: &Sent, expiries: &mut u64, events: &mut u64) -> Was {
    if sent.why == SendReason::WindowProbe {
        return Was::Again(Class::WindowProbe);
    }
    if sent.kind != TransmitKind::Repeat {
        return Was::New;
    }
    if sent.why == SendReason::TailLossProbe {
        return Was::Again(Class::TailLossProbe);
    }
    if sent.why == SendReason::Retransmit(LossRule::TIMEOUT) {
        let first = sent.expiries > *expiries;
        *expiries = sent.expiries;
        return Was::Again(if first {
            Class::Timeout
        } else {
            Class::AfterTimeout
        });
    }
    if sent.phase == Some(Phase::Loss) {
        // A kernel counts all retransmissions in its state Loss as retransmissions after a timeout.
        return Was::Again(Class::AfterTimeout);
    }
    let first = sent.loss_events > *events;
    *events = sent.loss_events;
    Was::Again(if first { Class::Fast } else { Class::Further })
}

/// Returns the diagnosed class of a data packet.
pub fn told(told: &Told) -> Was {
    match told.repeat {
        None => Was::New,
        Some(Repeat::Overtaken) => Was::Overtaken,
        Some(Repeat::Copy) => Was::Copy,
        Some(Repeat::Retransmission(cause)) => {
            let class = told.record.map_or(cause, |record| record.cause).class();
            Was::Again(match class {
                Class::Fast | Class::Further if told.stage == Stage::Loss => Class::AfterTimeout,
                class => class,
            })
        }
    }
}

/// Merges the two classes of fast retransmission, because their difference is a matter of definition if a recovery has
/// no phases.
pub const fn coarse(was: Was) -> Was {
    match was {
        Was::Again(Class::Further) => Was::Again(Class::Fast),
        was => was,
    }
}

/// Returns two values: `true` if a retransmission was diagnosed as spurious, and `true` if it was spurious. Returns
/// `None` if there is no diagnosis.
pub fn needless(transfer: &Record, told: &Told) -> Option<(bool, bool)> {
    let sent = &transfer.sends[told.sent];
    let record = told.record?;
    let is_told = record.need != Need::Unknown || record.lost;
    let needless = !matches!(record.need, Need::Needed | Need::Unknown);
    let truly = sent.copy == Copy::Spurious;
    (is_told && sent.kind == TransmitKind::Repeat).then_some((needless, truly))
}

/// Counts for one transfer or many.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Number of data packets for each pair of true and diagnosed class.
    pub confusion: BTreeMap<(Was, Was), u64>,
    /// Spurious retransmissions with DSACK, as four counts: correctly diagnosed; wrongly diagnosed; not diagnosed; all
    /// retransmissions.
    pub by_dsack: (u64, u64, u64, u64),
    /// The same counts with timestamps only.
    pub by_timestamps: (u64, u64, u64, u64),
    /// The same counts with neither DSACK nor timestamps.
    pub by_neither: (u64, u64, u64, u64),
    /// Number of retransmissions for which the diagnosis does not state if they were spurious, in the same three cases.
    pub not_told: [u64; 3],
    /// The same counts for lost retransmissions.
    pub lost: (u64, u64, u64, u64),
}

impl Score {
    /// Returns the score of one transfer.
    pub fn of(record: &Record, explanation: &Explanation) -> Self {
        let truths = truth(record);
        let mut score = Self::default();
        for one in &explanation.told {
            let sent = &record.sends[one.sent];
            let was = truths[one.sent];
            *score.confusion.entry((was, told(one))).or_default() += 1;
            score.need(record, sent, one);
        }
        score
    }

    fn need(&mut self, transfer: &Record, sent: &Sent, told: &Told) {
        let Some((needless, truly)) = needless(transfer, told) else {
            if told.record.is_some() && sent.kind == TransmitKind::Repeat {
                self.not_told[transfer.signs as usize] += 1;
            }
            return;
        };
        let numbers = match transfer.signs {
            Signs::Dsack => &mut self.by_dsack,
            Signs::Timestamps => &mut self.by_timestamps,
            Signs::Neither => &mut self.by_neither,
        };
        count(numbers, needless, truly);
        let lost = told.record.is_some_and(|record| record.lost);
        count(&mut self.lost, lost, sent.fate == Fate::Dropped);
    }

    /// Adds the counts of another score.
    pub fn add(&mut self, other: &Self) {
        for (&pair, &count) in &other.confusion {
            *self.confusion.entry(pair).or_default() += count;
        }
        add(&mut self.by_dsack, other.by_dsack);
        add(&mut self.by_timestamps, other.by_timestamps);
        add(&mut self.by_neither, other.by_neither);
        add(&mut self.lost, other.lost);
        for (count, more) in self.not_told.iter_mut().zip(other.not_told) {
            *count += more;
        }
    }

    /// Returns the number of correctly classified retransmissions, and the number of all retransmissions.
    pub fn classified(&self) -> (u64, u64) {
        let again = |was: Was| matches!(was, Was::Again(_));
        let pairs = self
            .confusion
            .iter()
            .filter(|((was, told), _)| again(*was) || again(*told));
        pairs.fold((0, 0), |(right, all), (&(was, told), &count)| {
            let hit = if coarse(was) == coarse(told) {
                count
            } else {
                0
            };
            (right + hit, all + count)
        })
    }

    /// Same as [`classified`](Self::classified), but distinguishes the first retransmission of a recovery from later
    /// ones.
    pub fn finely(&self) -> (u64, u64) {
        let again = |was: Was| matches!(was, Was::Again(_));
        let pairs = self
            .confusion
            .iter()
            .filter(|((was, told), _)| again(*was) || again(*told));
        pairs.fold((0, 0), |(right, all), (&(was, told), &count)| {
            (right + if was == told { count } else { 0 }, all + count)
        })
    }
}

fn count(numbers: &mut (u64, u64, u64, u64), told: bool, was: bool) {
    numbers.3 += 1;
    match (told, was) {
        (true, true) => numbers.0 += 1,
        (true, false) => numbers.1 += 1,
        (false, true) => numbers.2 += 1,
        (false, false) => {}
    }
}

fn add(numbers: &mut (u64, u64, u64, u64), other: (u64, u64, u64, u64)) {
    numbers.3 += other.3;
    numbers.0 += other.0;
    numbers.1 += other.1;
    numbers.2 += other.2;
}
