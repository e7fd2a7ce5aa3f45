//! The records of retransmissions, and what is learned of each after it left: whether it was needed,
//! and whether it was lost.
//!
//! As many as the limit says are kept, the latest. Of older ones only numbers are left.

use std::collections::{BTreeMap, VecDeque};

use dupack_tcp::replay::Needless;
use dupack_tcp::time::{Duration, Instant};

use super::account::Account;
use super::held::Rest;
use crate::analyse::cause::{Cause, Class, Need, Retransmission};

/// An ACK covers a segment sooner after its repair than this share of the least round trip: the
/// repair did not cause it. Not the whole: the least that was seen may be more than the path needs, as
/// where a queue stood whenever a sample was taken (ours).
const SOONER_THAN_ANY: (u64, u64) = (3, 4);

/// The retransmissions of one stream.
#[derive(Debug)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    /// The number of the entry at the front.
    first: u64,
    /// The last retransmission of what is outstanding, by its first byte.
    outstanding: BTreeMap<u64, u64>,
    limit: usize,
    /// What became of those that are not kept any more.
    folded: Account,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    record: Retransmission,
    mark: Mark,
    /// The retransmission of the same bytes before it, by its number.
    before: Option<u64>,
    certainty: Certainty,
}

/// What tells a packet from others with the same bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Its TSval.
    pub stamp: Option<u32>,
    /// IPv4's identification.
    pub ip_id: Option<u16>,
    /// Whether the capture shows another packet with these bytes before it.
    pub origin: Origin,
    /// What had arrived when the timer expired, if this was sent after that.
    pub rest: Rest,
    /// What is known of the transmission before it.
    pub before: Before,
}

/// What is known of the transmission that a repair repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// It has another timestamp.
    OlderStamp,
    /// It left so shortly before that no ACK can have told of it, with this timestamp.
    UnderWay { stamp: Option<u32> },
    /// Nothing: its timestamp may be the same.
    Unknown,
}

/// Whether the first transmission of what is sent again was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Seen,
    /// At the receiver.
    Arrived,
    PassedOver,
}

/// Whether a cause may still be revised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Settled,
    /// A timeout or a tail loss probe: what the sender does later will tell.
    TimeoutOrProbe,
}

/// What an ACK tells of the repairs that it covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covering {
    /// When it came to the sender.
    pub at: Instant,
    /// When it was captured.
    pub captured: Instant,
    /// The first byte that was not acknowledged before it.
    pub una_before: u64,
    /// Its TSecr.
    pub echo: Option<u32>,
    pub rtt_least: Option<Duration>,
    /// When the repair of the first missing segment left, if the receiver held all beyond that when it came.
    pub filled: Option<Instant>,
    /// Where the last segment begins that it is the first to report, cumulatively, and that was sent
    /// once: the receiver had it before.
    pub held: Option<u64>,
}

/// What an ACK answers that moves on from a segment which was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// The first transmission, as the timestamp that it echoes is older than any repair.
    Original { repaired_at: Instant },
    /// A repair that left then.
    Repair { at: Instant },
}

impl Ledger {
    pub fn new(limit: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            outstanding: BTreeMap::new(),
            limit: limit.max(1),
            folded: Account::default(),
        }
    }

    fn entry(&self, number: u64) -> Option<&Entry> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get(index)
    }

    fn entry_mut(&mut self, number: u64) -> Option<&mut Entry> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(index)
    }

    /// The last retransmission of the byte at `offset`, as long as it is outstanding.
    pub fn last_of(&self, offset: u64) -> Option<&Retransmission> {
        let number = self.number_of(offset)?;
        self.entry(number).map(|entry| &entry.record)
    }

    /// What an ACK that echoes `echo` and moves on from `offset` answers there, if that had been sent again.
    pub fn answered(&self, offset: u64, echo: Option<u32>) -> Option<Answered> {
        let mut next = self.number_of(offset);
        let mut original = None;
        while let Some(entry) = next.and_then(|number| self.entry(number)) {
            next = entry.before;
            let at = entry.record.at;
            let (Some(echo), Some(stamp)) = (echo, entry.mark.stamp) else {
                return Some(Answered::Repair { at });
            };
            if echo == stamp {
                return Some(Answered::Repair { at });
            }
            original = is_before(echo, stamp).then_some(Answered::Original { repaired_at: at });
        }
        original
    }

    /// What the last retransmission of the byte at `offset` looked like, and when it was, if it is the
    /// only one.
    pub fn only_one_of(&self, offset: u64) -> Option<(Instant, Mark)> {
        let entry = self.entry(self.number_of(offset)?)?;
        (entry.record.transmission == 2).then_some((entry.record.at, entry.mark))
    }

    fn number_of(&self, offset: u64) -> Option<u64> {
        let (_, &number) = self.outstanding.range(..=offset).next_back()?;
        let entry = self.entry(number)?;
        (entry.record.end > offset).then_some(number)
    }

    /// Takes in a retransmission; gives its number.
    pub fn push(&mut self, record: Retransmission, mark: Mark, certainty: Certainty) -> u64 {
        let before = self.number_of(record.start);
        let transmission = before
            .and_then(|number| self.entry(number))
            .map_or(record.transmission, |entry| {
                entry.record.transmission.saturating_add(1)
            });
        if let Some(entry) = before.and_then(|number| self.entry_mut(number)) {
            // As far as is known by now; an ACK may tell better.
            entry.record.lost = true;
        }
        if self.entries.len() >= self.limit
            && let Some(oldest) = self.entries.pop_front()
        {
            self.first += 1;
            self.folded.count(&oldest.record);
        }
        let number = self.first + self.entries.len() as u64;
        self.outstanding.insert(record.start, number);
        self.entries.push_back(Entry {
            record: Retransmission {
                transmission,
                ..record
            },
            mark,
            before,
            certainty,
        });
        number
    }

    /// The latest.
    pub fn last(&self) -> Option<&Retransmission> {
        self.entries.back().map(|entry| &entry.record)
    }

    pub fn get(&self, number: u64) -> Option<&Retransmission> {
        self.entry(number).map(|entry| &entry.record)
    }

    /// What left is acknowledged already.
    pub fn needless_at_once(&mut self, number: u64) {
        if let Some(entry) = self.entry_mut(number) {
            entry.record.need = Need::NeedlessByTime;
        }
    }

    /// An ACK is the first to report the segment that begins at `offset`, which had been sent again.
    /// Gives what it says of the last repair.
    pub fn delivered(&mut self, offset: u64, by: &Covering) -> Option<Need> {
        let mut next = self.number_of(offset);
        // Whether a later repair of the same bytes caused the ACK: then this one did not arrive.
        let mut later_arrived = false;
        let mut of_last = None;
        while let Some(number) = next {
            let Some(entry) = self.entry_mut(number) else {
                break;
            };
            next = entry.before;
            if entry.record.need == Need::NeedlessByDsack {
                continue;
            }
            let need = entry.judged_by(by);
            entry.record.lost = later_arrived;
            later_arrived |= need == Need::Needed;
            entry.record.need = need;
            of_last = of_last.or(Some(need));
        }
        of_last
    }

    /// A DSACK shows that a repetition was needless.
    pub fn refuted(&mut self, needless: &Needless) {
        let at = needless.sent_at;
        let from = self.entries.partition_point(|entry| entry.record.at < at);
        let mut before = None;
        for entry in self.entries.range_mut(from..) {
            if entry.record.at > at {
                break;
            }
            if entry.record.start < needless.end && needless.start < entry.record.end {
                entry.record.need = Need::NeedlessByDsack;
                entry.record.lost = false;
                before = entry.before;
                break;
            }
        }
        if let Some(entry) = before.and_then(|number| self.entry_mut(number)) {
            entry.record.lost = false;
        }
    }

    /// Everything before `una` is acknowledged.
    pub fn acknowledged(&mut self, una: u64) {
        while let Some(first) = self.outstanding.first_entry()
            && *first.key() < una
        {
            let number = *first.get();
            first.remove();
            let Some(entry) = self.entry(number) else {
                continue;
            };
            let end = entry.record.end;
            if end > una {
                // What is left of it is still on its way.
                self.outstanding.entry(una).or_insert(number);
                return;
            }
        }
    }

    /// A retransmission turns out to have been a timeout: what was taken for the recovery's after it
    /// was sent after the timeout.
    pub fn revise(&mut self, number: u64, timeout: Cause) {
        let Some(index) = number.checked_sub(self.first) else {
            return;
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        for (n, entry) in self.entries.iter_mut().skip(index).enumerate() {
            let record = &mut entry.record;
            if n == 0 {
                record.cause = timeout;
                record.trigger = None;
            } else if matches!(record.cause.class(), Class::Fast | Class::Further) {
                record.cause = Cause::AfterTimeout;
            }
        }
    }

    /// All that may have been timeouts or probes were what `cause` says.
    pub fn revise_doubtful(&mut self, cause: impl Fn(&Retransmission) -> Cause) {
        for entry in &mut self.entries {
            if entry.certainty == Certainty::TimeoutOrProbe {
                entry.record.cause = cause(&entry.record);
                entry.certainty = Certainty::Settled;
            }
        }
    }

    pub fn records(&self) -> impl Iterator<Item = &Retransmission> {
        self.entries.iter().map(|entry| &entry.record)
    }

    /// The numbers, of all.
    pub fn account(&self) -> Account {
        let mut account = self.folded;
        for entry in &self.entries {
            account.count(&entry.record);
        }
        account
    }
}

impl Entry {
    fn judged_by(&self, ack: &Covering) -> Need {
        let record = &self.record;
        if ack.captured < record.at && ack.captured < ack.at {
            return Need::NeedlessByArrival;
        }
        if let Before::UnderWay { stamp } = self.mark.before
            && (stamp == self.mark.stamp || ack.echo != self.mark.stamp)
        {
            // Nobody can have known of a loss, and nothing tells of one now.
            return Need::NeedlessByTime;
        }
        // Only of the segment at the left edge do receivers echo the timestamp (RFC 7323 §4.3).
        let at_edge = record.start <= ack.una_before && ack.una_before < record.end;
        if let (true, Some(echo), Some(stamp)) = (at_edge, ack.echo, self.mark.stamp) {
            return if is_before(echo, stamp) {
                Need::NeedlessByTimestamp
            } else if echo == stamp
                && self.mark.before != Before::OlderStamp
                && self.is_too_soon(ack)
            {
                // The clock ticks too slowly to tell.
                Need::NeedlessByTime
            } else {
                Need::Needed
            };
        }
        if self.mark.origin == Origin::Arrived {
            return Need::NeedlessByArrival;
        }
        if self.is_too_soon(ack) || self.was_jumped_over(ack) || self.was_held(ack) {
            return Need::NeedlessByTime;
        }
        self.among_the_rest(ack)
    }

    /// By how much of what was outstanding had arrived, where a later repair of the first missing segment lets the ACK
    /// go beyond it: nothing else tells whether this one was needed.
    fn among_the_rest(&self, ack: &Covering) -> Need {
        let record = &self.record;
        let later = ack.filled.is_some_and(|left| left > record.at);
        match self.mark.rest {
            Rest::All if later && record.start > ack.una_before => Need::NeedlessByTime,
            Rest::Some if later && record.start > ack.una_before => Need::Unknown,
            _ => Need::Needed,
        }
    }

    /// Whether the ACK answers a repair before this one, and goes beyond this one as the receiver had
    /// both ends of it: with something missing above, it acknowledges at once what fills a hole
    /// (RFC 5681 §4.2), so that it would have stopped here.
    fn was_jumped_over(&self, ack: &Covering) -> bool {
        let record = &self.record;
        self.is_answered_before(ack)
            && record.start > ack.una_before
            && ack.held.is_some_and(|held| held >= record.end)
    }

    /// Whether the receiver held what it repeats before it can have come there: it had all beyond the first missing
    /// segment when the repair of that came, which left sooner.
    fn was_held(&self, ack: &Covering) -> bool {
        let record = &self.record;
        ack.filled.is_some_and(|left| left <= record.at)
            && record.start > ack.una_before
            && self.is_answered_before(ack)
    }

    /// Whether the ACK echoes nothing that left after this.
    fn is_answered_before(&self, ack: &Covering) -> bool {
        match (ack.echo, self.mark.stamp) {
            (Some(echo), Some(stamp)) => !is_before(stamp, echo),
            _ => true,
        }
    }

    fn is_too_soon(&self, ack: &Covering) -> bool {
        ack.rtt_least
            .is_some_and(|rtt| ack.at.since(self.record.at) < sooner_than_any(rtt))
    }
}

/// Nothing is acknowledged within this time, if the least round trip that was seen is `rtt`.
pub(super) fn sooner_than_any(rtt: Duration) -> Duration {
    let (part, whole) = SOONER_THAN_ANY;
    rtt.saturating_mul(part) / whole
}

/// Whether timestamp `one` is older than `other` (RFC 7323 §5.2).
pub(super) const fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}
