//! Timestamps that an application requests: the times at which the last byte of each write was sent and acknowledged
//! (`SO_TIMESTAMPING`).

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

/// Requested and recorded timestamps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    kinds: Vec<Kind>,
    /// Stream offset at which the count of keys starts.
    base: u64,
    /// Stream offsets at which unsent writes end.
    unsent: VecDeque<u64>,
    /// Stream offsets at which writes that are sent but unacknowledged end.
    sent: VecDeque<u64>,
    happened: VecDeque<Stamp>,
}

/// Event of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The data entered the device's queue.
    Scheduled,
    /// The data was passed to the device. Here, this is the same time.
    Sent,
    Acknowledged,
}

impl Kind {
    /// Options of `SO_TIMESTAMPING` that request each kind.
    const ASKED: [(&'static str, Self); 3] = [
        ("SOF_TIMESTAMPING_TX_SCHED", Self::Scheduled),
        ("SOF_TIMESTAMPING_TX_SOFTWARE", Self::Sent),
        ("SOF_TIMESTAMPING_TX_ACK", Self::Acknowledged),
    ];

    /// Returns the name of the kind in a message.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "SCM_TSTAMP_SCHED",
            Self::Sent => "SCM_TSTAMP_SND",
            Self::Acknowledged => "SCM_TSTAMP_ACK",
        }
    }
}

/// A timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) kind: Kind,
    pub(crate) at: Instant,
    /// Number of the byte, counted from the position at which the option was set.
    pub(crate) key: u64,
}

impl Stamps {
    /// Requests the timestamps that the options name. Keys are counted from `base`.
    pub(crate) fn ask(&mut self, names: &[&str], base: u64) {
        let asked = |(name, _): &&(&str, Kind)| names.contains(name);
        self.kinds = Kind::ASKED
            .iter()
            .filter(asked)
            .map(|(_, kind)| *kind)
            .collect();
        self.base = base;
    }

    /// Records a write that ends at stream offset `end`.
    pub(crate) fn written(&mut self, end: u64) {
        if !self.kinds.is_empty() {
            self.unsent.push_back(end);
        }
    }

    /// Records that everything before stream offset `sent` was sent and everything before `acknowledged` was
    /// acknowledged.
    pub(crate) fn note(&mut self, sent: u64, acknowledged: u64, at: Instant) {
        let (kinds, base) = (&self.kinds, self.base);
        let happened = &mut self.happened;
        let mut tell = |kind: Kind, end: u64| {
            if kinds.contains(&kind) {
                let key = end.saturating_sub(base + 1);
                happened.push_back(Stamp { kind, at, key });
            }
        };
        while let Some(end) = self.unsent.pop_front_if(|end| *end <= sent) {
            tell(Kind::Scheduled, end);
            tell(Kind::Sent, end);
            self.sent.push_back(end);
        }
        while let Some(end) = self.sent.pop_front_if(|end| *end <= acknowledged) {
            tell(Kind::Acknowledged, end);
        }
    }

    /// Takes the next unread timestamp.
    pub(crate) fn read(&mut self) -> Option<Stamp> {
        self.happened.pop_front()
    }
}
