//! Silences between bursts. A bottleneck passes the packets that wait before it at its rate: where several came much faster than the
//! silence after them lasted, nothing waited there meanwhile.

use dupack_tcp::time::{Duration, Instant};

/// Packets that a radio, an interface or a host gathers are held back for less than this (ours: radios schedule every 10 ms).
const GATHERED: Duration = Duration::from_millis(20);

/// So many segments are a burst if all of them came in this part of the silence that follows. Ours.
const SEGMENTS: u64 = 4;
const PART: u64 = 8;

/// The segments since the last silence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bursts {
    began: Option<Instant>,
    last: Instant,
    segments: u64,
}

impl Bursts {
    /// So many segments came at `at`. Returns the silence before them, if it followed a burst.
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

    /// Silences after bursts, of groups of `count` segments `gap` µs apart, a group every `period` ms.
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
    fn silences_count_if_what_came_before_them_came_much_faster() {
        assert_eq!(silences(10, 100, 50), 491);
        // 36 ms of 100: a bottleneck that is busy for a part of the time.
        assert_eq!(silences(10, 4000, 100), 0);
        // A pair is no burst, and 10 ms may be a radio's.
        assert_eq!(silences(2, 100, 50), 0);
        assert_eq!(silences(10, 100, 10), 0);
        assert_eq!(silences(1, 0, 50), 0);
    }
}
