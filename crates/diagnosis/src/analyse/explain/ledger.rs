//! Records of retransmissions, and the facts learned about each afterwards: necessity and loss.
//!
//! The latest records are stored, up to the limit. Older ones are only counted.

use std::collections::{BTreeMap, VecDeque};

use dupack_tcp::replay::Needless;
use dupack_tcp::time::{Duration, Instant};

use super::account::Account;
use super::held::Rest;
use crate::analyse::cause::{Cause, Class, Need, Retransmission};

/// Fraction of the minimum round-trip time. If an ACK covers a segment less than this time after its retransmission,
/// the retransmission did not cause the ACK. The fraction is below 1, because the measured minimum exceeds the path's
/// minimum if there was a queue at every sample (our choice).
const SOONER_THAN_ANY: (u64, u64) = (3, 4);

/// Retransmissions of one stream.
#[derive(Debug)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    /// Number of the first stored entry.
    first: u64,
    /// Number of the last retransmission of outstanding data, by its first byte.
    outstanding: BTreeMap<u64, u64>,
    limit: usize,
    /// Counts of the entries that are no longer stored.
    folded: Account,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    record: Retransmission,
    mark: Mark,
    /// Number of the previous retransmission of the same bytes.
    before: Option<u64>,
    certainty: Certainty,
}

/// Properties that distinguish a packet from other packets with the same bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// TSval of the packet.
    pub stamp: Option<u32>,
    /// IPv4 identification of the packet.
    pub ip_id: Option<u16>,
    /// Presence of an earlier packet with these bytes in the capture.
    pub origin: Origin,
    /// Part of the outstanding data that had arrived before the timeout, if this packet was sent after a timeout.
    pub rest: Rest,
    /// Facts about the previous transmission of the bytes.
    pub before: Before,
}

/// Facts about the transmission that a retransmission repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// The timestamp of the previous transmission is older.
    OlderStamp,
    /// The previous transmission was sent, with this timestamp, so shortly before that no ACK can have reported on it.
    UnderWay { stamp: Option<u32> },
    /// Nothing is known about the previous transmission. Its timestamp may be the same.
    Unknown,
}

/// Presence of the first transmission in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Seen,
    /// The first transmission was captured, and arrived, because the capture was taken at the receiver.
    Arrived,
    PassedOver,
}

/// Possibility that the cause is revised later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Settled,
    /// The retransmission is a timeout or a tail loss probe. The sender's later behaviour decides.
    TimeoutOrProbe,
}

/// Facts from an ACK about the retransmissions that it covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covering {
    /// Time at which the ACK reached the sender.
    pub at: Instant,
    /// Capture time of the ACK.
    pub captured: Instant,
    /// First byte that was not acknowledged before this ACK.
    pub una_before: u64,
    /// TSecr of the ACK.
    pub echo: Option<u32>,
    pub rtt_least: Option<Duration>,
    /// Departure time of the first missing segment's retransmission, if the receiver held all data after that segment
    /// when the retransmission arrived.
    pub filled: Option<Instant>,
    /// Start of the last segment that was sent once and that this ACK newly acknowledges (not by SACK). The receiver
    /// held this segment before.
    pub held: Option<u64>,
}

/// Transmission to which an ACK responds, if the ACK advances from a retransmitted segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// The first transmission, because the echoed timestamp is older than that of any retransmission.
    Original { repaired_at: Instant },
    /// A retransmission that was sent at `at`.
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

    /// Returns the last retransmission of the byte at `offset`; `None` if the byte is not outstanding.
    pub fn last_of(&self, offset: u64) -> Option<&Retransmission> {
        let number = self.number_of(offset)?;
        self.entry(number).map(|entry| &entry.record)
    }

    /// Returns the transmission to which an ACK responds. The ACK advances from `offset` and echoes `echo`. Returns
    /// `None` if the byte at `offset` was not retransmitted.
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

    /// Returns the time and the mark of the retransmission of the byte at `offset`; `None` unless there is exactly one.
    pub fn only_one_of(&self, offset: u64) -> Option<(Instant, Mark)> {
        let entry = self.entry(self.number_of(offset)?)?;
        (entry.record.transmission == 2).then_some((entry.record.at, entry.mark))
    }

    fn number_of(&self, offset: u64) -> Option<u64> {
        let (_, &number) = self.outstanding.range(..=offset).next_back()?;
        let entry = self.entry(number)?;
        (entry.record.end > offset).then_some(number)
    }

    /// Adds a retransmission and returns its number.
    pub fn push(&mut self, record: Retransmission, mark: Mark, certainty: Certainty) -> u64 {
        let before = self.number_of(record.start);
        let transmission = before
            .and_then(|number| self.entry(number))
            .map_or(record.transmission, |entry| {
                entry.record.transmission.saturating_add(1)
            });
        if let Some(entry) = before.and_then(|number| self.entry_mut(number)) {
            // The previous retransmission counts as lost until an ACK shows that it was not.
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

    /// Returns the latest retransmission.
    pub fn last(&self) -> Option<&Retransmission> {
        self.entries.back().map(|entry| &entry.record)
    }

    pub fn get(&self, number: u64) -> Option<&Retransmission> {
        self.entry(number).map(|entry| &entry.record)
    }

    /// Marks a retransmission of acknowledged data as spurious.
    pub fn needless_at_once(&mut self, number: u64) {
        if let Some(entry) = self.entry_mut(number) {
            entry.record.need = Need::NeedlessByTime;
        }
    }

    /// Applies an ACK that newly acknowledges the retransmitted segment at `offset`. Returns the necessity of the last
    /// retransmission.
    pub fn delivered(&mut self, offset: u64, by: &Covering) -> Option<Need> {
        let mut next = self.number_of(offset);
        // `true` if a later retransmission of the same bytes caused the ACK, so that earlier ones did not arrive.
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

    /// Applies a DSACK, which shows that a retransmission was spurious.
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

    /// Records that all data before `una` is acknowledged.
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
                // The remaining bytes of the retransmission are still in transit.
                self.outstanding.entry(una).or_insert(number);
                return;
            }
        }
    }

    /// Changes the cause of a retransmission to a timeout, and the causes of later ones in a recovery to "after the
    /// timeout".
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

    /// Sets the cause of all retransmissions that were either timeouts or probes to `cause`.
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

    /// Returns the counts of all retransmissions.
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
            // No ACK can have reported a loss before the retransmission, and no later ACK indicates one.
            return Need::NeedlessByTime;
        }
        // Receivers echo only the timestamp of the segment at the left edge (RFC 7323 §4.3).
        let at_edge = record.start <= ack.una_before && ack.una_before < record.end;
        if let (true, Some(echo), Some(stamp)) = (at_edge, ack.echo, self.mark.stamp) {
            return if is_before(echo, stamp) {
                Need::NeedlessByTimestamp
            } else if echo == stamp
                && self.mark.before != Before::OlderStamp
                && self.is_too_soon(ack)
            {
                // The sender's clock ticks too slowly to distinguish the transmissions.
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

    /// Returns the necessity according to the part of the outstanding data that had arrived before the timeout. This is
    /// the only evidence if a later retransmission of the first missing segment makes the ACK advance beyond this one.
    fn among_the_rest(&self, ack: &Covering) -> Need {
        let record = &self.record;
        let later = ack.filled.is_some_and(|left| left > record.at);
        match self.mark.rest {
            Rest::All if later && record.start > ack.una_before => Need::NeedlessByTime,
            Rest::Some if later && record.start > ack.una_before => Need::Unknown,
            _ => Need::Needed,
        }
    }

    /// `true` if the ACK responds to an earlier retransmission and advances beyond this one, because the receiver
    /// already held this data. If the receiver had not held this data, its ACK of the earlier retransmission, which a
    /// receiver sends at once (RFC 5681 §4.2), would have stopped here.
    fn was_jumped_over(&self, ack: &Covering) -> bool {
        let record = &self.record;
        self.is_answered_before(ack)
            && record.start > ack.una_before
            && ack.held.is_some_and(|held| held >= record.end)
    }

    /// `true` if the receiver held the data before this retransmission can have arrived. The first missing segment was
    /// retransmitted earlier, and when that retransmission arrived, the receiver held all data after the segment.
    fn was_held(&self, ack: &Covering) -> bool {
        let record = &self.record;
        ack.filled.is_some_and(|left| left <= record.at)
            && record.start > ack.una_before
            && self.is_answered_before(ack)
    }

    /// `true` if the ACK does not echo a packet that was sent after this one.
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

/// Returns the time after a transmission within which no ACK can respond to it, if the minimum round-trip time is
/// `rtt`.
pub(super) fn sooner_than_any(rtt: Duration) -> Duration {
    let (part, whole) = SOONER_THAN_ANY;
    rtt.saturating_mul(part) / whole
}

/// `true` if timestamp `one` is older than `other` (RFC 7323 §5.2).
pub(super) const fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}
