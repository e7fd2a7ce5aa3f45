//! Histogram whose memory does not grow with the number of values.
//!
//! Each power of two is divided into `2^BITS` bins of equal width (the scheme of `HdrHistogram`, Gil Tene, 2012), as in
//! `dupack_net::histogram`. In contrast to that histogram, only the bins between the smallest and the largest value
//! take memory, because a capture has thousands of connections.

use std::collections::VecDeque;

/// Counts of values by size. The relative error of a value is at most `1 / 2^(BITS + 1)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogBins<const BITS: u32> {
    /// Number of the first bin that is stored.
    first: usize,
    counts: VecDeque<u32>,
    total: u64,
}

/// Distribution of delays. The error is at most 0.2 %, so that a queue of a few packets is visible on a long path.
pub(super) type Delays = LogBins<8>;

impl<const BITS: u32> LogBins<BITS> {
    /// Counts `value`.
    pub(crate) fn record(&mut self, value: u64) {
        self.record_times(Self::bin_of(value), 1);
    }

    fn record_times(&mut self, bin: usize, times: u32) {
        if self.counts.is_empty() {
            self.first = bin;
        }
        while bin < self.first {
            self.counts.push_front(0);
            self.first -= 1;
        }
        let place = bin - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(place) {
            *count = count.saturating_add(times);
            self.total += u64::from(times);
        }
    }

    /// Adds all counts of another histogram.
    pub(crate) fn add(&mut self, other: &Self) {
        for (place, &count) in other.counts.iter().enumerate() {
            if count > 0 {
                self.record_times(other.first + place, count);
            }
        }
    }

    /// Returns the memory used by the bins, in bytes.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.counts.len() * size_of::<u32>()
    }

    /// Returns the number of values.
    pub(crate) const fn count(&self) -> u64 {
        self.total
    }

    /// Returns the value with this rank, counted from 0; `None` if there are fewer values.
    pub(super) fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        let place = self.counts.iter().position(|&count| {
            below += u64::from(count);
            below > rank
        })?;
        Some(Self::middle_of(self.first + place))
    }

    /// Returns the `q`-quantile by the nearest rank; `None` without values.
    pub(crate) fn quantile(&self, q: f64) -> Option<u64> {
        let rank = (q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64;
        self.at_rank(rank.saturating_sub(1))
    }

    /// Returns an upper bound of the `q`-quantile: the largest value of the quantile's bin.
    pub(super) fn upper_quantile(&self, q: f64) -> Option<u64> {
        let middle = self.quantile(q)?;
        let next = Self::middle_of(Self::bin_of(middle) + 1);
        // A bin of several values ends halfway to the middle of the next bin.
        Some(middle + (next - middle).saturating_sub(1) / 2)
    }

    /// Returns the number of values in the bin of `value` and in higher bins.
    pub(super) fn count_from(&self, value: u64) -> u64 {
        let from = Self::bin_of(value).saturating_sub(self.first);
        self.counts.iter().skip(from).map(|&c| u64::from(c)).sum()
    }

    fn bin_of(value: u64) -> usize {
        let per_octave = 1 << BITS;
        if value < per_octave {
            return value as usize;
        }
        let exponent = u64::BITS - 1 - value.leading_zeros();
        let octave = u64::from(exponent - BITS + 1);
        let within = (value >> (exponent - BITS)) & (per_octave - 1);
        (octave * per_octave + within) as usize
    }

    fn middle_of(bin: usize) -> u64 {
        let per_octave = 1 << BITS;
        let bin = bin as u64;
        let (octave, within) = (bin / per_octave, bin % per_octave);
        match octave.checked_sub(1) {
            None => within,
            Some(shift) => {
                let low = (per_octave + within) << shift;
                low + (1 << shift >> 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_exact_to_half_a_bin() {
        for value in [0, 1, 63, 64, 1000, 123_456_789, 1 << 40, u64::MAX] {
            let mut bins = LogBins::<6>::default();
            bins.record(value);
            let told = bins.quantile(0.5).unwrap();
            let off = told.abs_diff(value) as f64;
            assert!(off <= value as f64 / 128.0, "{value}: {told}");
        }
    }

    #[test]
    fn an_upper_quantile_is_the_last_value_of_its_bin() {
        let upper = |value| {
            let mut bins = LogBins::<6>::default();
            bins.record(value);
            bins.upper_quantile(0.5)
        };
        // From 512 on, a bin contains eight values.
        assert_eq!(upper(1000), Some(1007));
        assert_eq!(upper(1007), Some(1007));
        assert_eq!(upper(1008), Some(1015));
        assert_eq!(upper(10), Some(10));
        assert_eq!(LogBins::<6>::default().upper_quantile(0.5), None);
    }

    #[test]
    fn ranks_and_quantiles_count_from_the_smallest() {
        let mut bins = LogBins::<7>::default();
        for value in [30, 10, 20, 40] {
            bins.record(value);
        }
        assert_eq!(bins.at_rank(0), Some(10));
        assert_eq!(bins.at_rank(3), Some(40));
        assert_eq!(bins.at_rank(4), None);
        assert_eq!(bins.quantile(0.5), Some(20));
        assert_eq!(bins.quantile(1.0), Some(40));
        assert_eq!(bins.count_from(30), 2);
        assert_eq!(bins.count_from(5), 4);
        assert_eq!(LogBins::<6>::default().quantile(0.5), None);
        let mut more = LogBins::<7>::default();
        more.record(5);
        more.record(1000);
        bins.add(&more);
        assert_eq!((bins.count(), bins.at_rank(0)), (6, Some(5)));
        assert_eq!(bins.count_from(40), 2);
    }
}
