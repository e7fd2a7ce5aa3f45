//! Numbers for a simulation of a path: the best estimates, or values drawn from their confidence intervals.

use dupack_diagnosis::path::{DEVIATIONS, Path};
use dupack_diagnosis::told::Told;
use dupack_net::random::Stream;
use dupack_tcp::time::Duration;

/// Maximum value of a number whose lower bound alone is known, as a multiple of this bound (our choice). If a result
/// depends on this number, its confidence interval is too wide for the result to be offered.
const UP_TO: f64 = 4.0;

/// Bounds of a queue whose capacity is unknown (our choice: queues of backbones hold one round trip or less; queues of
/// access links hold more, most of them above 100 ms, according to Kreibich et al., "Netalyzr", IMC 2010). The upper
/// bound is the data that the bottleneck transmits in `ROUND_TRIPS_MOST` minimum round-trip times or in `TIME_MOST`
/// seconds, whichever is more. If no lower bound is known, it is the data that the bottleneck transmits in
/// `ROUND_TRIPS_LEAST` round-trip times.
const ROUND_TRIPS_MOST: f64 = 2.0;
const TIME_MOST: f64 = 0.1;
const ROUND_TRIPS_LEAST: f64 = 0.25;

/// Maximum size of a short write in segments (our choice: all of it can be in flight at once, because it is an initial
/// window plus the growth in one round trip of slow start).
const SHORT_WRITE: u64 = 16;

/// Rate in bit/s of a path whose rate is unknown (our choice: at this rate, packets do not wait in a queue).
const FAST: f64 = 1e9;

/// Minimum fraction of reordered packets that is simulated (our choice: smaller fractions are single packets).
const REORDERING_MIN: f64 = 5e-4;

/// Numbers of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Values {
    /// Minimum round-trip time of a full segment and its ACK.
    pub least_rtt: Duration,
    /// Rate of the bottleneck in bit/s.
    pub rate: f64,
    /// Capacity of the bottleneck's queue in bytes.
    pub room: f64,
    /// Losses that queue overflows do not cause.
    pub loss: Losing,
    /// Fraction of the packets that are held back, and the time for which such a packet is held back.
    pub held_back: Option<(f64, Duration)>,
    /// Rate and burst of a policer, in bit/s and bytes.
    pub policer: Option<(f64, f64)>,
}

/// Losses of a path that queue overflows do not cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losing {
    /// Independent losses, as a fraction of the packets.
    Single(f64),
    /// Losses in bursts.
    Bursts {
        /// Probability per packet of entering the bad state, in which all packets are lost.
        enter: f64,
        /// Probability per packet of leaving the bad state.
        leave: f64,
    },
}

/// Method to choose a value of a number from its estimate.
trait Take {
    /// Returns a number from the confidence interval. If only a lower bound is known, returns a number above the bound.
    fn of(&mut self, told: Told<f64>) -> Option<f64>;

    /// Returns a number between `low` and `high`, on a logarithmic scale.
    fn between(&mut self, low: f64, high: f64) -> f64;
}

struct Best;

impl Take for Best {
    fn of(&mut self, told: Told<f64>) -> Option<f64> {
        let beyond = |bound| bound * UP_TO.sqrt();
        told.value().or_else(|| told.at_least().map(beyond))
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        (low * high).sqrt()
    }
}

impl Take for Stream {
    fn of(&mut self, told: Told<f64>) -> Option<f64> {
        match told {
            Told::Between { value, low, high } => {
                // Each side is half of a normal distribution, and the interval covers 95 % of the whole.
                let z = self.normal(0.0, 1.0) / DEVIATIONS;
                let reach = if z < 0.0 { value - low } else { high - value };
                Some((value + z * reach).max(0.0))
            }
            Told::AtLeast { bound, .. } => Some(bound * UP_TO.powf(self.unit())),
            Told::CannotBeTold { .. } => None,
        }
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).max(1.0).powf(self.unit())
    }
}

/// Returns `true` if the connection has pauses, and at least half of its writes are too short to fill any path.
fn writes_are_short(path: &Path) -> bool {
    let writes = &path.transfer.writes;
    let short = |bytes: u64| bytes <= SHORT_WRITE * path.smss;
    let count = writes.iter().filter(|write| short(write.bytes)).count();
    writes.len() > 1 && count * 2 >= writes.len()
}

impl Values {
    /// Returns the best estimates. If only a lower bound of a number is known, the number is above this bound.
    #[must_use]
    pub fn best(path: &Path) -> Self {
        Self::take(path, &mut Best)
    }

    /// Draws each number independently from its estimate. `seed` determines the numbers.
    #[must_use]
    pub fn drawn(path: &Path, seed: u64) -> Self {
        Self::take(
            path,
            &mut Stream::derive(seed, "the path that a capture tells"),
        )
    }

    fn take(path: &Path, from: &mut dyn Take) -> Self {
        let least = from.of(path.least_rtt.map(|rtt| rtt.as_secs_f64()));
        // With short writes, the lower bound of the rate is the rate of the application, so it gives no information
        // about the path.
        let link = path.policer.map_or(path.rate, |policer| policer.link);
        let rate = match link {
            Told::AtLeast { .. } if writes_are_short(path) => None,
            told => from.of(told),
        };
        let policer = path.policer.and_then(|policer| {
            Some((
                from.of(policer.rate)?,
                from.of(policer.burst).unwrap_or(0.0),
            ))
        });
        // The link behind a policer is faster than the policer. If its rate is unknown, it is fast enough that packets
        // do not wait.
        let times = if link.value().is_some() { 1.0 } else { UP_TO };
        let faster = policer.map_or(0.0, |(rate, _)| rate * times);
        let rate = rate.unwrap_or(FAST).max(faster).max(1.0);
        let least_rtt = Duration::from_secs_f64(least.unwrap_or_default());
        let full_pipe = rate / 8.0 * least_rtt.as_secs_f64();
        let full_packet = (path.smss + path.headers) as f64;
        let most = (full_pipe * ROUND_TRIPS_MOST).max(rate / 8.0 * TIME_MOST);
        let most = most.max(full_packet);
        let room = match path.room {
            Told::AtLeast { bound, .. } => {
                let least = bound.bytes.max(full_packet);
                from.between(least, most.max(least * UP_TO))
            }
            Told::CannotBeTold { .. } => {
                let least = (full_pipe * ROUND_TRIPS_LEAST).max(full_packet);
                from.between(least, most)
            }
            told @ Told::Between { .. } => {
                from.of(told.map(|room| room.bytes)).unwrap_or(full_pipe)
            }
        };
        // If the capture does not show which losses the queue caused, all losses are attributed to the link.
        let random = match path.random_loss {
            Told::CannotBeTold { .. } => path.loss,
            told => told,
        };
        let random = from.of(random);
        let (enter, leave) = (from.of(path.bursts.enter), from.of(path.bursts.leave));
        let loss = match (path.has_bursts(), enter, leave) {
            (true, Some(enter), Some(leave)) => Losing::Bursts {
                enter: enter.min(1.0),
                leave: leave.clamp(f64::MIN_POSITIVE, 1.0),
            },
            _ => Losing::Single(random.unwrap_or(0.0).min(1.0)),
        };
        let reordered = path
            .reordering
            .share
            .value()
            .filter(|&s| s >= REORDERING_MIN);
        let packet_time = Duration::from_secs_f64(full_packet * 8.0 / rate);
        Self {
            least_rtt,
            rate,
            room: room.max(full_packet),
            loss,
            // On average, the first packet that overtakes a segment arrives half a packet's transmission time after the
            // expected arrival of the segment.
            held_back: reordered
                .map(|share| (share, path.reordering.late_median + packet_time / 2)),
            policer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_between_bounds_is_drawn_from_that_range() {
        let mut stream = Stream::derive(1, "tests");
        let mut between = |low, high| Take::between(&mut stream, low, high);
        let drawn: Vec<f64> = (0..1000).map(|_| between(10.0, 1000.0)).collect();
        assert!(drawn.iter().all(|one| (10.0..=1000.0).contains(one)));
        // The distribution is logarithmic, so half of the values are below the geometric mean.
        let low = drawn.iter().filter(|one| **one < 100.0).count();
        assert!((450..550).contains(&low), "{low}");
        // If the bounds are inverted, the result is the lower bound.
        assert_eq!(between(10.0, 5.0), 10.0);
        assert_eq!(Best.between(10.0, 1000.0), 100.0);
    }
}
