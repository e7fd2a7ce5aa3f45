//! Times without packets between bursts. A bottleneck passes queued packets at its rate. If several packets arrived in
//! a much shorter time than the following time without packets, the queue was empty during that time.

use dupack_tcp::time::{Duration, Instant};

/// Maximum time for which a radio, an interface or a host collects packets before it passes them on (our choice: radios
/// send every 10 ms).
const GATHERED: Duration = Duration::from_millis(20);

/// Minimum number of segments in a burst, and the inverse of the fraction of the following time without packets in
/// which all of them must have arrived. Our choice.
const SEGMENTS: u64 = 4;
const PART: u64 = 8;

/// Segments since the last time without packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    began: Option<Instant>,
    last: Instant,
    segments: u64,
}

impl Bursts {
    /// Records `segments` segments that arrived at `at`. Returns the time without packets before them if it followed a
    /// burst, and zero otherwise.
    pub(super) fn came(&mut self, at: Instant, segments: u64) -> Duration {
        let silence = at.since(self.last);
        let began = *self.began.get_or_insert(at);
        let mut after = Duration::ZERO;
        if self.segments > 0 && silence >= GATHERED {
            let took = self.last.since(began);
            if self.segments >= SEGMENTS && took.saturating_mul(PART) <= silence {
                after = silence;
            }
            self.began = Some(at);
            self.segments = 0;
        }
        self.segments = self.segments.saturating_add(segments);
        self.last = at;
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the total time without packets after bursts, in ms, for groups of `count` segments at intervals of `gap`
    /// µs, with one group every `period` ms.
    fn silences(count: u64, gap: u64, period: u64) -> u64 {
        let mut bursts = Bursts::default();
        let mut sum = Duration::ZERO;
        for n in 0..11 * count {
            let at = n / count * period * 1000 + n % count * gap;
            sum += bursts.came(Instant::ZERO + Duration::from_micros(at), 1);
        }
        sum.as_nanos() / 1_000_000
    }

    #[test]
    fn silences_count_if_the_burst_before_them_was_much_faster() {
        assert_eq!(silences(10, 100, 50), 491);
        // Packets arrive during 36 ms of 100 ms: the bottleneck is busy part of the time.
        assert_eq!(silences(10, 4000, 100), 0);
        // A pair is not a burst, and a radio may cause gaps of 10 ms.
        assert_eq!(silences(2, 100, 50), 0);
        assert_eq!(silences(10, 100, 10), 0);
        assert_eq!(silences(1, 0, 50), 0);
    }
}
