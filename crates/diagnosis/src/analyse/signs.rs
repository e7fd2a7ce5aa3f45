//! Signs of what lies between the ends beside rate, queue and loss: an MTU that nobody announces, a window whose scale was
//! changed, sequence numbers that are rewritten, a shaper before the capture.
//!
//! Each is told only where many packets speak for it and none against.

mod pace;
mod pieces;
mod sizes;

use dupack_tcp::replay::SendingKind;
pub use pace::ConstantRate;

use crate::read::moment::{Analysis, Arrival, Departure, Explained};
use pace::{Leaving, Pace};
use sizes::Sizes;

/// The window field bounds what is outstanding, exactly, so often, and in at least one of so many flights (ours): the most that is
/// outstanding from one ACK to the next.
const EXACT_MIN: u64 = 8;
const EXACT_OF: u64 = 2;

/// Evidence that a path swallows segments of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// None of that size or larger arrived in the whole stream, while smaller ones did.
    NeverArrives,
    /// One was sent several times in vain and arrived once it was cut, and nothing of its size after that (RFC 4821).
    ArrivedCut,
}

/// A path on which segments of a size vanish while smaller ones pass (RFC 2923 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlackHole {
    /// Bytes of data of the largest segment that arrived, or of the pieces.
    pub passes: u32,
    /// Bytes of data of the smallest of those that never did, or of the segment that was cut.
    pub fails: u32,
    /// Transmissions of segments that never arrived, or of that which was cut.
    pub transmissions: u64,
    /// Evidence of it.
    pub evidence: Evidence,
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

/// Gathers signs.
#[derive(Clone, Debug)]
pub struct Gathering {
    shift: Option<u8>,
    sizes: Sizes,
    /// The window field of the last ACK.
    field: Option<u16>,
    /// Bytes outstanding since the last ACK, if new data left since then.
    flight: Option<u64>,
    flights: u64,
    exact: u64,
    beyond: u64,
    exact_window: u64,
    foreign_sacks: u64,
    pace: Pace,
}

impl Gathering {
    /// Of a stream whose receiver shifts its windows by `shift`, if that is known, and whose full segments have so many bytes.
    #[must_use]
    pub fn new(shift: Option<u8>, segment_size: u32) -> Self {
        Self {
            shift,
            sizes: Sizes::new(segment_size),
            field: None,
            flight: None,
            flights: 0,
            exact: 0,
            beyond: 0,
            exact_window: 0,
            foreign_sacks: 0,
            pace: Pace::new(segment_size),
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
            black_hole: self.sizes.black_hole(),
            unscaled: self.unscaled(),
            foreign_sacks: self.foreign_sacks,
            constant_rate: self.pace.constant(),
        }
    }

    fn unscaled(&self) -> Option<Unscaled> {
        let shift = self.shift.filter(|&shift| shift > 0)?;
        let often = self.exact >= EXACT_MIN && self.exact.saturating_mul(EXACT_OF) >= self.flights;
        (often && self.beyond == 0).then_some(Unscaled {
            window: self.exact_window,
            shift,
        })
    }

    /// An ACK came: compares what was outstanding until then with the window field of the ACK before.
    fn end_flight(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.flights += 1;
        let Some(field) = self.field.map(u64::from) else {
            return;
        };
        if flight == field {
            self.exact += 1;
            self.exact_window = self.exact_window.max(field);
        } else if flight > field {
            self.beyond += 1;
        }
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
}

impl Analysis for Gathering {
    fn departed(&mut self, departure: &Departure<'_>, _: &Explained<'_>) {
        self.sizes.departed(departure);
        self.pace_of(departure);
        if departure.kind == SendingKind::First {
            self.flight = Some(departure.view.flight_size());
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, _: &Explained<'_>) {
        self.sizes.arrived(arrival);
        self.end_flight();
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
