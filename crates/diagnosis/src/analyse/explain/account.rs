//! Counts of retransmissions and losses.

use crate::analyse::cause::{Class, Need, Retransmission};

/// Counts of retransmissions and losses in one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Number of packets with data that had been sent before. Probes do not count.
    pub retransmissions: u64,
    /// Number of bytes in these packets.
    pub retransmitted_bytes: u64,
    /// Number of retransmissions of each class, in the order of [`Class::ALL`].
    pub by_class: [u64; Class::ALL.len()],
    /// Number of spurious retransmissions according to a DSACK.
    pub needless_by_dsack: u64,
    /// Number of spurious retransmissions according to the timestamp that the ACK echoes.
    pub needless_by_timestamp: u64,
    /// Number of spurious retransmissions according to the time of the ACK.
    pub needless_by_time: u64,
    /// Number of spurious retransmissions according to captured packets, which show that the original had arrived
    /// before.
    pub needless_by_arrival: u64,
    /// Number of spurious retransmissions triggered by ACKs of later data, because later segments had overtaken the
    /// original.
    pub needless_overtaken: u64,
    /// Number of spurious retransmissions triggered by a timer that expired before the ACK arrived.
    pub needless_by_timer: u64,
    /// Number of retransmissions of unknown necessity.
    pub of_unknown_need: u64,
    /// Number of lost first transmissions: those whose retransmission was needed.
    pub lost_first: u64,
    /// Number of lost retransmissions.
    pub lost_again: u64,
}

impl Account {
    /// Counts a retransmission.
    pub(super) fn count(&mut self, record: &Retransmission) {
        let class = record.cause.class();
        if let Some(count) = self.by_class.get_mut(class as usize) {
            *count += 1;
        }
        if class.is_probe() {
            return;
        }
        self.retransmissions += 1;
        self.retransmitted_bytes += record.end.saturating_sub(record.start);
        if record.need.is_needless() {
            match class {
                Class::Fast | Class::Further => self.needless_overtaken += 1,
                Class::Timeout | Class::AfterTimeout | Class::TailLossProbe => {
                    self.needless_by_timer += 1;
                }
                _ => {}
            }
        }
        match record.need {
            Need::Needed if record.transmission <= 2 => self.lost_first += 1,
            Need::Needed => {}
            Need::NeedlessByDsack => self.needless_by_dsack += 1,
            Need::NeedlessByTimestamp => self.needless_by_timestamp += 1,
            Need::NeedlessByTime => self.needless_by_time += 1,
            Need::NeedlessByArrival => self.needless_by_arrival += 1,
            Need::Unknown => self.of_unknown_need += 1,
        }
        self.lost_again += u64::from(record.lost);
    }

    /// Discards the causes of all retransmissions.
    pub(crate) fn forget_causes(&mut self) {
        let mut unknown = 0;
        for class in Class::ALL.into_iter().filter(|class| !class.is_probe()) {
            if let Some(count) = self.by_class.get_mut(class as usize) {
                unknown += std::mem::take(count);
            }
        }
        if let Some(count) = self.by_class.get_mut(Class::Unknown as usize) {
            *count = unknown;
        }
        (self.needless_overtaken, self.needless_by_timer) = (0, 0);
    }

    /// Returns the number of retransmissions of a class.
    #[must_use]
    pub fn of(&self, class: Class) -> u64 {
        self.by_class.get(class as usize).copied().unwrap_or(0)
    }

    /// Returns the number of spurious retransmissions, by all kinds of evidence.
    #[must_use]
    pub const fn needless(&self) -> u64 {
        self.needless_by_dsack
            + self.needless_by_timestamp
            + self.needless_by_time
            + self.needless_by_arrival
    }
}
