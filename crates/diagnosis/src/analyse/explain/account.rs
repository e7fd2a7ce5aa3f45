//! The numbers of what was sent again and lost.

use crate::analyse::cause::{Class, Need, Retransmission};

/// How often what happened, in one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Packets that carried data which had been sent before; probes are none.
    pub retransmissions: u64,
    /// Bytes of them.
    pub retransmitted_bytes: u64,
    /// Retransmissions of each class, in the order of [`Class::ALL`].
    pub by_class: [u64; Class::ALL.len()],
    /// Retransmissions that were needless, as a DSACK says.
    pub needless_by_dsack: u64,
    /// As the timestamp says that its ACK echoes.
    pub needless_by_timestamp: u64,
    /// As the time says in which the ACK came.
    pub needless_by_time: u64,
    /// As the capture shows: the original had come before.
    pub needless_by_arrival: u64,
    /// Needless ones that ACKs of later data set off: later segments had overtaken the original.
    pub needless_overtaken: u64,
    /// Needless ones that a timer sent: it expired before the ACK came.
    pub needless_by_timer: u64,
    /// Retransmissions of which nothing tells whether they were needed.
    pub of_unknown_need: u64,
    /// First transmissions that were lost, as a repair was needed.
    pub lost_first: u64,
    /// Repairs that were lost.
    pub lost_again: u64,
}

impl Account {
    /// Counts one more.
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

    /// Tells of no retransmission any more what set it off.
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

    /// Retransmissions of a class.
    #[must_use]
    pub fn of(&self, class: Class) -> u64 {
        self.by_class.get(class as usize).copied().unwrap_or(0)
    }

    /// Retransmissions that were needless, whatever shows it.
    #[must_use]
    pub const fn needless(&self) -> u64 {
        self.needless_by_dsack
            + self.needless_by_timestamp
            + self.needless_by_time
            + self.needless_by_arrival
    }
}
