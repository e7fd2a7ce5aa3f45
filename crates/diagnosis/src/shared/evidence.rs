//! Whether two bundles of streams wait at the same bottleneck.

use dupack_tcp::time::Duration;

use super::bundle::{Bundle, Cell};
use super::correlation::{Correlation, mean, variation};

/// Fewer windows tell nothing (ours).
const WINDOWS_MIN: usize = 16;

/// Widths that are tried: each twice the one before.
const SCALES: u32 = 4;

/// A bundle is backlogged in a window if it had nothing outstanding for no more than this share of it (ours).
const IDLE_MAX: f64 = 0.1;

/// Less delay than this, or than this share of a round trip, is no queue that could be told from noise (ours, as for losses).
const NOISE_US: f64 = 500.0;
const NOISE_SHARE: f64 = 0.02;

/// How two quantities change from one window to the next.
#[derive(Debug, Default)]
struct Pairs {
    one: Vec<f64>,
    other: Vec<f64>,
}

impl Pairs {
    fn step(&mut self, before: Option<(f64, f64)>, after: Option<(f64, f64)>) {
        if let Some((before, after)) = before.zip(after) {
            self.one.push(after.0 - before.0);
            self.other.push(after.1 - before.1);
        }
    }

    fn correlation(&self) -> Option<Correlation> {
        Correlation::of(&self.one, &self.other)
    }
}

/// What the windows in which both were backlogged tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evidence {
    /// Of the changes of what came through of both.
    pub rates: Correlation,
    /// Of the changes of how long both waited; `None` if nothing tells.
    pub delays: Option<Correlation>,
    /// The standard deviation of the sum as a share of its mean.
    pub sum_varies: f64,
    /// The sum in bit/s, on average.
    pub rate: f64,
    /// The first bundle's share of it.
    pub share: f64,
    pub windows: usize,
    pub width: Duration,
}

impl Evidence {
    /// Of the width of windows that tells the most.
    pub(super) fn of(one: &Bundle, other: &Bundle) -> Option<Self> {
        // What leaves the bottleneck at once is heard of within a round trip.
        let round_trip = one.round_trips.0.max(other.round_trips.0);
        let mut width = one.width.max(other.width);
        while width < round_trip {
            width = width.saturating_mul(2);
        }
        let scales = (0..SCALES).map(|scale| width.saturating_mul(1 << scale));
        let found = scales.filter_map(|width| Self::at(one, other, width));
        let deviations = |evidence: &Self| evidence.rates.deviations();
        found.min_by(|one, other| deviations(one).total_cmp(&deviations(other)))
    }

    fn at(one: &Bundle, other: &Bundle, width: Duration) -> Option<Self> {
        let width_us = width.as_secs_f64() * 1e6;
        let least = one.round_trips.1.min(other.round_trips.1);
        let noise = (least.as_secs_f64() * 1e6 * NOISE_SHARE).max(NOISE_US);
        let counts = |(one, other): &(Cell, Cell)| {
            let busy = |cell: &Cell| cell.idle_us <= IDLE_MAX * width_us;
            let queued = |cell: &Cell| cell.queue_us().is_some_and(|queue| queue >= noise);
            busy(one) && busy(other) && (queued(one) || queued(other))
        };
        let windows = one.beside(other, width).into_iter().enumerate();
        let windows: Vec<(usize, (Cell, Cell))> =
            windows.filter(|(_, both)| counts(both)).collect();
        if windows.len() < WINDOWS_MIN {
            return None;
        }
        let own: Vec<f64> = windows.iter().map(|(_, (one, _))| one.bytes).collect();
        let sum = windows
            .iter()
            .map(|(_, (one, other))| one.bytes + other.bytes);
        let sum: Vec<f64> = sum.collect();
        let (mut rates, mut delays) = (Pairs::default(), Pairs::default());
        for pair in windows.windows(2) {
            let [(n, before), (m, after)] = pair else {
                continue;
            };
            if n + 1 == *m {
                let bytes = |(one, other): &(Cell, Cell)| Some((one.bytes, other.bytes));
                let queues = |(one, other): &(Cell, Cell)| one.queue_us().zip(other.queue_us());
                rates.step(bytes(before), bytes(after));
                delays.step(queues(before), queues(after));
            }
        }
        let all = mean(&sum);
        Some(Self {
            rates: rates.correlation()?,
            delays: delays.correlation(),
            sum_varies: variation(&sum),
            rate: all * 8.0 / width.as_secs_f64(),
            share: mean(&own) / all.max(f64::MIN_POSITIVE),
            windows: windows.len(),
            width,
        })
    }
}
