//! Evidence that two bundles of streams wait at the same bottleneck.

use dupack_tcp::time::Duration;

use super::JOINED_FROM;
use super::bundle::{Bundle, Cell};
use super::correlation::{Correlation, mean, variation};

/// Minimum number of windows (our choice).
const WINDOWS_MIN: usize = 16;

/// Number of widths that are tried. Each is twice the previous one.
const SCALES: u32 = 4;

/// Maximum fraction of a window without outstanding data for a bundle to count as backlogged (our choice).
const IDLE_MAX: f64 = 0.1;

/// Minimum delay that differs from noise, in microseconds and as a fraction of the round-trip time (our choice, as for
/// losses).
const NOISE_US: f64 = 500.0;
const NOISE_SHARE: f64 = 0.02;

/// Comparison of two bundles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Comparison {
    /// `true` if there are enough windows in which both bundles were backlogged.
    pub possible: bool,
    /// Evidence that the bundles share a bottleneck; `None` if it is weaker than [`JOINED_FROM`].
    pub evidence: Option<Evidence>,
}

impl Comparison {
    /// Compares two bundles at the window width with the strongest evidence.
    pub(super) fn of(one: &Bundle, other: &Bundle) -> Self {
        // Data that leaves the bottleneck at the same time is reported within one round trip.
        let round_trip = one.round_trips.0.max(other.round_trips.0);
        let mut width = one.width.max(other.width);
        while width < round_trip {
            width = width.saturating_mul(2);
        }
        let scales = (0..SCALES).map(|scale| width.saturating_mul(1 << scale));
        let all: Vec<Common<'_>> = scales
            .filter_map(|width| Common::of(one, other, width))
            .collect();
        let rates = all.iter().filter_map(|at| Some((at, at.rates()?)));
        let best = rates.min_by(|(_, one), (_, other)| {
            let [one, other] = [one, other].map(Correlation::deviations);
            one.total_cmp(&other)
        });
        Self {
            possible: !all.is_empty(),
            evidence: best.map(|(at, rates)| at.evidence(rates)),
        }
    }
}

/// Evidence that two bundles share a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evidence {
    /// Correlation of the changes in the delivered data of both bundles.
    pub rates: Correlation,
    /// Correlation of the changes in the queueing delays of both bundles; `None` if it is unknown.
    pub delays: Option<Correlation>,
    /// Standard deviation of the sum of both rates, as a fraction of the mean of the sum.
    pub sum_varies: f64,
    /// Mean of the sum of both rates in bit/s.
    pub rate: f64,
    /// Fraction of this rate that the first bundle contributes.
    pub share: f64,
    pub windows: usize,
    pub width: Duration,
}

/// Windows in which two bundles were backlogged and there was a queue: the number of each window, and the cells of both
/// bundles.
struct Common<'a> {
    windows: Vec<(usize, (&'a Cell, &'a Cell))>,
    width: Duration,
}

impl<'a> Common<'a> {
    /// Returns the common windows at this width; `None` if there are too few.
    fn of(one: &'a Bundle, other: &'a Bundle, width: Duration) -> Option<Self> {
        let width_us = width.as_secs_f64() * 1e6;
        let least = one.round_trips.1.min(other.round_trips.1);
        let noise = (least.as_secs_f64() * 1e6 * NOISE_SHARE).max(NOISE_US);
        let counts = |one: &Cell, other: &Cell| {
            let busy = |cell: &Cell| cell.idle_us <= IDLE_MAX * width_us;
            let queued = |cell: &Cell| cell.queue_us().is_some_and(|queue| queue >= noise);
            busy(one) && busy(other) && (queued(one) || queued(other))
        };
        let both = one.beside(other, width);
        let mut windows = Vec::with_capacity(both.size_hint().1.unwrap_or(0));
        windows.extend(
            both.enumerate()
                .filter(|(_, (one, other))| counts(one, other)),
        );
        (windows.len() >= WINDOWS_MIN).then_some(Self { windows, width })
    }

    /// Returns the changes of a quantity from one window to the next for both bundles. Windows without the quantity are
    /// omitted.
    fn changes(&self, of: impl Fn(&Cell) -> Option<f64>) -> [Vec<f64>; 2] {
        let mut changes = [(); 2].map(|()| Vec::with_capacity(self.windows.len()));
        for pair in self.windows.windows(2) {
            let [(n, before), (m, after)] = pair else {
                continue;
            };
            let both = |(one, other): (&Cell, &Cell)| of(one).zip(of(other));
            if n + 1 == *m
                && let Some((before, after)) = both(*before).zip(both(*after))
            {
                let [one, other] = &mut changes;
                one.push(after.0 - before.0);
                other.push(after.1 - before.1);
            }
        }
        changes
    }

    /// Returns the correlation of the delivered data of both bundles; `None` if it may be due to chance.
    fn rates(&self) -> Option<Correlation> {
        let [one, other] = self.changes(|cell| Some(cell.bytes));
        let at_most = Correlation::of_independent(&one, &other)?;
        (at_most.deviations() <= -JOINED_FROM).then(|| Correlation::of(&one, &other))?
    }

    fn evidence(&self, rates: Correlation) -> Evidence {
        let [one, other] = self.changes(Cell::queue_us);
        let own: Vec<f64> = self.windows.iter().map(|(_, (one, _))| one.bytes).collect();
        let sum = self.windows.iter();
        let sum: Vec<f64> = sum
            .map(|(_, (one, other))| one.bytes + other.bytes)
            .collect();
        let all = mean(&sum);
        Evidence {
            rates,
            delays: Correlation::of(&one, &other),
            sum_varies: variation(&sum),
            rate: all * 8.0 / self.width.as_secs_f64(),
            share: mean(&own) / all.max(f64::MIN_POSITIVE),
            windows: self.windows.len(),
            width: self.width,
        }
    }
}
