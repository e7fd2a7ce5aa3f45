//! Signs of devices between the endpoints, in addition to rate, queue and loss: an unannounced MTU, a modified window
//! scale, rewritten sequence numbers, or a shaper before the capture point.
//!
//! A sign is reported only if many packets are evidence for it and none is evidence against it.

mod pace;
mod pieces;
mod sizes;

use dupack_tcp::replay::SendingKind;
pub use pace::ConstantRate;

use crate::read::moment::{Analysis, Arrival, Departure, Explained};
use pace::{Leaving, Pace};
use sizes::Sizes;

/// Minimum number of flights that equal the window field exactly, and the inverse of their minimum fraction of all
/// flights (our choice). A flight is the maximum number of bytes outstanding from one ACK to the next.
const EXACT_MIN: u64 = 8;
const EXACT_OF: u64 = 2;

/// Evidence that a path drops segments of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// In the whole stream, no segment of this size or larger arrived, while smaller ones did.
    NeverArrives,
    /// All transmissions of a segment failed until it was split, and no segment of its size arrived afterwards (RFC
    /// 4821).
    ArrivedCut,
}

/// Path on which segments of a certain size are lost while smaller ones arrive (RFC 2923 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlackHole {
    /// Number of data bytes in the largest segment that arrived, or in the parts of the split segment.
    pub passes: u32,
    /// Number of data bytes in the smallest segment that never arrived, or in the segment that was split.
    pub fails: u32,
    /// Number of transmissions of segments that never arrived, or of the segment that was split.
    pub transmissions: u64,
    /// Evidence of the black hole.
    pub evidence: Evidence,
}

/// Flights that are limited by the unscaled window field, although a window scale was negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscaled {
    /// Maximum window field that limited the flight, in bytes.
    pub window: u64,
    /// Negotiated shift.
    pub shift: u8,
}

/// Signs of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// Black hole for segments of a certain size; `None` if there is no sign of one.
    pub black_hole: Option<BlackHole>,
    /// Evidence that the sender treats windows as unscaled; `None` if there is none.
    pub unscaled: Option<Unscaled>,
    /// Number of ACKs with SACK blocks that contain bytes that were never sent.
    pub foreign_sacks: u64,
    /// Constant rate at which segments are sent, independently of ACKs; `None` if there is no sign of one.
    pub constant_rate: Option<ConstantRate>,
}

/// Collector of signs.
#[derive(Clone, Debug)]
pub struct Gathering {
    shift: Option<u8>,
    sizes: Sizes,
    /// Window field of the last ACK.
    field: Option<u16>,
    /// Maximum number of bytes outstanding since the last ACK; `None` if no new data has been sent since.
    flight: Option<u64>,
    flights: u64,
    exact: u64,
    beyond: u64,
    exact_window: u64,
    foreign_sacks: u64,
    pace: Pace,
}

impl Gathering {
    /// Creates a collector for a stream. `shift` is the receiver's window scale shift, or `None` if unknown. Full
    /// segments have `segment_size` bytes.
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

    /// Records an ACK whose SACK blocks contain bytes that were never sent.
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

    /// Compares the bytes that were outstanding before an ACK with the window field of the previous ACK.
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
