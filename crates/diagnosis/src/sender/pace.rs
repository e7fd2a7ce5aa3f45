//! Whether segments leave with the ACKs that make room for them, or between them by a clock.
//!
//! At the sender's end an ACK that lets something go is answered within microseconds; what is paced
//! leaves whenever its time comes. Farther from the sender, the bottleneck spaces what it left, and
//! nothing can be told: only captures at the sender's end are looked at.

use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use super::report::Timing;
use crate::moment::{Arrival, Departure, Explained, Stage};

/// What leaves within this after an ACK answers it: a busy host's time. Ours.
const ANSWER_NANOS: f64 = 60_000.0;
/// The same as a share of the time between ACKs, whichever is longer.
const ANSWER_SHARE: f64 = 0.2;
/// What one time between ACKs weighs in their average.
const WEIGHT: f64 = 0.05;
/// So many departures must have been judged.
const LEAST: u32 = 50;
/// Above this share between ACKs it is paced: by chance 1 − `ANSWER_SHARE` of them are.
const PACED_SHARE: f64 = 0.4;
/// Below this share it is not.
const CLOCKED_SHARE: f64 = 0.12;

/// Counts departures with and between ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    last_ack: Option<Instant>,
    /// Average time between ACKs, in nanoseconds.
    spacing: f64,
    with: u32,
    between: u32,
    /// ACKs that were not taken at the sender.
    elsewhere: u32,
}

impl Pace {
    pub fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        let Some(last_ack) = self.last_ack else {
            return;
        };
        if explained.stage != Stage::Open || departure.kind != SendingKind::First {
            return;
        }
        let lag = departure.at.since(last_ack).as_nanos() as f64;
        if lag <= ANSWER_NANOS.max(ANSWER_SHARE * self.spacing) {
            self.with = self.with.saturating_add(1);
        } else {
            self.between = self.between.saturating_add(1);
        }
    }

    pub fn arrived(&mut self, arrival: &Arrival<'_>) {
        if arrival.at != arrival.captured {
            self.elsewhere = self.elsewhere.saturating_add(1);
        }
        if let Some(last) = self.last_ack {
            let gap = arrival.at.since(last).as_nanos() as f64;
            // A pause of many ACKs' time is no time between ACKs.
            let gap = if self.spacing > 0.0 {
                gap.min(4.0 * self.spacing)
            } else {
                gap
            };
            self.spacing += WEIGHT * (gap - self.spacing);
        }
        self.last_ack = Some(arrival.at);
    }

    /// The share of new data that left between ACKs; `None` if too little was seen, or from afar.
    pub fn share_between(&self) -> Option<f64> {
        let all = self.with.saturating_add(self.between);
        (all >= LEAST && self.elsewhere == 0).then(|| f64::from(self.between) / f64::from(all))
    }

    pub fn timing(&self) -> Option<Timing> {
        match self.share_between()? {
            share if share >= PACED_SHARE => Some(Timing::Paced),
            share if share <= CLOCKED_SHARE => Some(Timing::WithAcks),
            _ => None,
        }
    }
}
