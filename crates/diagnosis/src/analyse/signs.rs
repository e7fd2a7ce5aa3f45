//! Signs of what lies between the ends beside rate, queue and loss: an MTU that nobody announces, a window whose scale was
//! changed, sequence numbers that are rewritten, a shaper before the capture.
//!
//! Each is told only where many packets speak for it and none against.

mod pace;

use std::collections::BTreeMap;

use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

pub use pace::ConstantRate;

use crate::read::moment::{Analysis, Arrival, Departure, Explained};
use pace::{Leaving, Pace};

/// Sizes of segments that are told apart (ours: a stream has a full size, that before or after a change of the MTU, and ends
/// of messages).
const SIZES_MAX: usize = 16;

/// A size that never arrives was sent so often in all, and one segment of it so often (ours: a lost segment and its repairs
/// that chance takes are fewer: at 10 % loss, one of ten thousand).
const SWALLOWED_MIN: u64 = 4;
const ATTEMPTS_MIN: u32 = 4;

/// The window field bounds what is outstanding, exactly, so often, and in at least one of so many segments (ours).
const EXACT_MIN: u64 = 8;
const EXACT_OF: u64 = 2;

/// A path on which segments of a size vanish while smaller ones pass (RFC 2923 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlackHole {
    /// Bytes of data of the largest segment that arrived.
    pub passes: u32,
    /// Bytes of data of the smallest of those that never did.
    pub fails: u32,
    /// Bytes of headers of IP and TCP, for the size of a packet.
    pub transmissions: u64,
}

/// Flight that is bounded by the window field as it stands, though its scale was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscaled {
    /// The largest field that bounded it, in bytes.
    pub window: u64,
    /// The shift that was agreed on.
    pub shift: u8,
}

/// The signs that a stream shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// Segments of a size vanish.
    pub black_hole: Option<BlackHole>,
    /// The sender takes the windows for unscaled.
    pub unscaled: Option<Unscaled>,
    /// ACKs with SACK blocks that name bytes never sent.
    pub foreign_sacks: u64,
    /// Segments leave at a constant rate and by no ACK.
    pub constant_rate: Option<ConstantRate>,
}

/// How segments of a size fared.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    sent: u64,
    arrived: u64,
    /// The most transmissions of one that has not arrived.
    attempts: u32,
    /// When the last one arrived.
    arrived_at: Instant,
    /// When the first was sent that did not arrive.
    failing_since: Option<Instant>,
}

/// Gathers signs.
#[derive(Clone, Debug)]
pub struct Gathering {
    shift: Option<u8>,
    sizes: BTreeMap<u32, Fate>,
    /// The window field of the last ACK.
    field: Option<u16>,
    exact: u64,
    beyond: u64,
    new: u64,
    exact_window: u64,
    foreign_sacks: u64,
    pace: Pace,
}

impl Gathering {
    /// Of a stream whose receiver shifts its windows by `shift`, if that is known.
    #[must_use]
    pub fn new(shift: Option<u8>) -> Self {
        Self {
            shift,
            sizes: BTreeMap::new(),
            field: None,
            exact: 0,
            beyond: 0,
            new: 0,
            exact_window: 0,
            foreign_sacks: 0,
            pace: Pace::default(),
        }
    }

    /// An ACK came whose SACK blocks name bytes that were never sent.
    pub const fn foreign_sack(&mut self) {
        self.foreign_sacks += 1;
    }

    /// Returns the signs of the whole stream.
    #[must_use]
    pub fn finish(&self) -> Signs {
        Signs {
            black_hole: self.black_hole(),
            unscaled: self.unscaled(),
            foreign_sacks: self.foreign_sacks,
            constant_rate: self.pace.constant(),
        }
    }

    fn black_hole(&self) -> Option<BlackHole> {
        let arrived = self.sizes.iter().filter(|(_, fate)| fate.arrived > 0);
        let passes = arrived.map(|(size, _)| *size).max()?;
        let failing = self.sizes.range(passes + 1..);
        let (mut transmissions, mut attempts, mut fails, mut since) = (0, 0, None, None);
        for (size, fate) in failing {
            transmissions += fate.sent;
            attempts = attempts.max(fate.attempts);
            fails = fails.or(Some(*size));
            since = match (since, fate.failing_since) {
                (Some(one), Some(other)) => Some(core::cmp::min::<Instant>(one, other)),
                (one, other) => one.or(other),
            };
        }
        // Something arrived after the first that did not: the path was there.
        let latest = self.sizes.values().map(|fate| fate.arrived_at).max()?;
        let path_was_there = since.is_some_and(|since| latest > since);
        let enough = transmissions >= SWALLOWED_MIN && attempts >= ATTEMPTS_MIN;
        (enough && path_was_there).then_some(BlackHole {
            passes,
            fails: fails?,
            transmissions,
        })
    }

    fn unscaled(&self) -> Option<Unscaled> {
        let shift = self.shift.filter(|&shift| shift > 0)?;
        let often = self.exact >= EXACT_MIN && self.exact.saturating_mul(EXACT_OF) >= self.new;
        (often && self.beyond == 0).then_some(Unscaled {
            window: self.exact_window,
            shift,
        })
    }

    fn pace_of(&mut self, departure: &Departure<'_>) {
        let bytes = departure.end.saturating_sub(departure.start);
        let sizes = departure.sent.iter().map(|sent| sent.segment.len);
        if bytes > 0 {
            self.pace.left(Leaving {
                at: departure.at,
                bytes,
                segments: (departure.sent.len() as u64).max(1),
                largest: sizes.max().unwrap_or(0),
            });
        }
    }

    fn fate(&mut self, size: u32) -> Option<&mut Fate> {
        if self.sizes.len() >= SIZES_MAX && !self.sizes.contains_key(&size) {
            return None;
        }
        Some(self.sizes.entry(size).or_default())
    }
}

impl Analysis for Gathering {
    fn departed(&mut self, departure: &Departure<'_>, _: &Explained<'_>) {
        // What an interface is to cut up says nothing of sizes.
        let single = departure.sent.len() == 1;
        for sent in departure.sent.iter().filter(|_| single) {
            let segment = &sent.segment;
            let at = departure.at;
            if let Some(fate) = self.fate(segment.len) {
                fate.sent += 1;
                fate.attempts = fate.attempts.max(segment.transmissions);
                fate.failing_since.get_or_insert(at);
            }
        }
        self.pace_of(departure);
        if departure.kind != SendingKind::First {
            return;
        }
        self.new += 1;
        if let Some(field) = self.field.map(u64::from) {
            let flight = departure.view.flight_size();
            if flight == field {
                self.exact += 1;
                self.exact_window = self.exact_window.max(field);
            } else if flight > field {
                self.beyond += 1;
            }
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, _: &Explained<'_>) {
        for delivered in arrival.facts.delivered {
            let at = arrival.at;
            if let Some(fate) = self.fate(delivered.segment.len) {
                fate.arrived += 1;
                fate.arrived_at = fate.arrived_at.max(at);
            }
        }
        self.field = arrival.field;
        if arrival.carried > 0 {
            self.pace.asked();
        }
        self.pace.acked(arrival.at);
        if arrival.view.flight_size() == 0 {
            self.pace.emptied();
        }
    }
}
