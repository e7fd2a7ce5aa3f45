//! The numbers that a simulation of a path takes: the best guesses, or drawn from their intervals.

use dupack_diagnosis::path::{DEVIATIONS, Path};
use dupack_diagnosis::told::Told;
use dupack_net::random::Stream;
use dupack_tcp::time::Duration;

/// What is only known to be at least so much is drawn up to this many times as much (ours): what depends on
/// it then comes out with an interval that is too wide to be of use, and says so.
const UP_TO: f64 = 4.0;

/// A queue of which is not known how long it may be is drawn up to what so many least round-trip times bring at
/// the bottleneck's rate, or such a time (ours: backbones hold a round trip or less; access links hold more, most of
/// them above 100 ms, as Kreibich et al. found, "Netalyzr", IMC 2010), and where nothing at all is known of it, from so
/// small a part of what one round trip brings on.
const ROUND_TRIPS_MOST: f64 = 2.0;
const TIME_MOST: f64 = 0.1;
const ROUND_TRIPS_LEAST: f64 = 0.25;

/// A write of no more segments is under way at once: an initial window, and what a round trip of slow start adds (ours).
const SHORT_WRITE: u64 = 16;

/// Where nothing is known of the rate, the path is taken to be this fast (ours): nothing waits.
const FAST: f64 = 1e9;

/// Less reordering than this is not simulated (ours): single packets.
const REORDERING_MIN: f64 = 5e-4;

/// The numbers of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Values {
    /// The least round-trip time of a full segment and its ACK.
    pub least_rtt: Duration,
    /// The bottleneck's rate in bit per second.
    pub rate: f64,
    /// The room of its queue in bytes.
    pub room: f64,
    /// The share of packets that is lost beside those that the queue drops.
    pub loss: Losing,
    /// The share of packets that are held back, and for how long.
    pub held_back: Option<(f64, Duration)>,
    /// Rate and burst of a policer, in bit per second and bytes.
    pub policer: Option<(f64, f64)>,
}

/// How a path loses packets by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losing {
    /// Each by itself.
    Single(f64),
    /// In bursts.
    Bursts {
        /// Probability per packet of entering the bad state, in which all are lost.
        enter: f64,
        /// Probability per packet of leaving it.
        leave: f64,
    },
}

/// How a number is taken from what is told of it.
trait Take {
    /// One of the interval, or beyond the bound.
    fn of(&mut self, told: Told<f64>) -> Option<f64>;

    /// One between these, of which each as many times as large as another is as likely.
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
                // A normal distribution on either side, which the interval cuts at 95 %.
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

/// Whether half of the writes of a connection with pauses are too short to fill any path.
fn writes_are_short(path: &Path) -> bool {
    let writes = &path.transfer.writes;
    let short = |bytes: u64| bytes <= SHORT_WRITE * path.smss;
    let count = writes.iter().filter(|write| short(write.bytes)).count();
    writes.len() > 1 && count * 2 >= writes.len()
}

impl Values {
    /// The best guesses, and the bounds of what has no more.
    #[must_use]
    pub fn best(path: &Path) -> Self {
        Self::take(path, &mut Best)
    }

    /// Drawn by `seed` from what is told of each number, one by one.
    #[must_use]
    pub fn drawn(path: &Path, seed: u64) -> Self {
        Self::take(
            path,
            &mut Stream::derive(seed, "the path that a capture tells"),
        )
    }

    fn take(path: &Path, from: &mut dyn Take) -> Self {
        let least = from.of(path.least_rtt.map(|rtt| rtt.as_secs_f64()));
        // What comes through of short writes is what the application wrote: a bound tells nothing of the path.
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
        // The link behind a policer is faster; where its rate is not known, nothing waits for it.
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
        // Where nothing tells which losses were the queue's, all are taken to be the link's.
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
            // The first that overtakes one comes half a packet's time after its place, on average.
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
    fn a_number_between_bounds_is_drawn_from_there() {
        let mut stream = Stream::derive(1, "tests");
        let mut between = |low, high| Take::between(&mut stream, low, high);
        let drawn: Vec<f64> = (0..1000).map(|_| between(10.0, 1000.0)).collect();
        assert!(drawn.iter().all(|one| (10.0..=1000.0).contains(one)));
        // As many times as large is as likely: half of them lie below the geometric mean.
        let low = drawn.iter().filter(|one| **one < 100.0).count();
        assert!((450..550).contains(&low), "{low}");
        // Bounds the other way round are one.
        assert_eq!(between(10.0, 5.0), 10.0);
        assert_eq!(Best.between(10.0, 1000.0), 100.0);
    }
}
