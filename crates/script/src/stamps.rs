//! Times that an application asks for: when the last byte of each write was sent, and when it was acknowledged
//! (`SO_TIMESTAMPING`).

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

/// What is asked for, and what has happened of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    kinds: Vec<Kind>,
    /// Keys count from here in the stream.
    base: u64,
    /// Where writes end that were not sent.
    unsent: VecDeque<u64>,
    /// Where writes end that were sent and are not acknowledged.
    sent: VecDeque<u64>,
    happened: VecDeque<Stamp>,
}

/// What a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It was handed to the device's queue.
    Scheduled,
    /// It was handed to the device: the same here.
    Sent,
    Acknowledged,
}

impl Kind {
    /// The options of a socket that ask for them.
    const ASKED: [(&'static str, Self); 3] = [
        ("SOF_TIMESTAMPING_TX_SCHED", Self::Scheduled),
        ("SOF_TIMESTAMPING_TX_SOFTWARE", Self::Sent),
        ("SOF_TIMESTAMPING_TX_ACK", Self::Acknowledged),
    ];

    /// Its name in a message.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "SCM_TSTAMP_SCHED",
            Self::Sent => "SCM_TSTAMP_SND",
            Self::Acknowledged => "SCM_TSTAMP_ACK",
        }
    }
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) kind: Kind,
    pub(crate) at: Instant,
    /// The number of the byte, counted from where the option was set.
    pub(crate) key: u64,
}

impl Stamps {
    /// Asks for what the names of options say. What is written from `base` on counts from zero.
    pub(crate) fn ask(&mut self, names: &[&str], base: u64) {
        let asked = |(name, _): &&(&str, Kind)| names.contains(name);
        self.kinds = Kind::ASKED
            .iter()
            .filter(asked)
            .map(|(_, kind)| *kind)
            .collect();
        self.base = base;
    }

    /// Something was written up to `end`.
    pub(crate) fn written(&mut self, end: u64) {
        if !self.kinds.is_empty() {
            self.unsent.push_back(end);
        }
    }

    /// All before `sent` was sent, and all before `acknowledged` was acknowledged.
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

    /// The next time that the application has not read.
    pub(crate) fn read(&mut self) -> Option<Stamp> {
        self.happened.pop_front()
    }
}
