//! Samples of stored runs, which are repeated for verification.
//!
//! Fingerprints ensure that the code is the same. Samples show that the compiled program and the machine are also
//! equivalent.

use std::collections::BTreeMap;

/// Reciprocal of a fraction of the cost of all stored runs. Samples beyond the minimum number are added as long as the
/// total cost of the samples does not exceed this fraction. The limit is needed because a campaign of papers has the
/// runs of more than a hundred experiments.
const PART: u64 = 50;

/// Returns the indices of the samples among the `held` runs, each of which has a kind and a cost. Samples are the
/// shortest runs of each kind, in ascending order of cost: at least `least` samples, and more as long as their total
/// cost is small.
pub(crate) fn samples<K: Ord>(held: impl Iterator<Item = (K, u64)>, least: usize) -> Vec<usize> {
    let mut shortest: BTreeMap<K, (u64, usize)> = BTreeMap::new();
    let mut all = 0_u64;
    for (index, (kind, cost)) in held.enumerate() {
        all = all.saturating_add(cost);
        let known = shortest.entry(kind).or_insert((cost, index));
        if cost < known.0 {
            *known = (cost, index);
        }
    }
    let mut samples: Vec<(u64, usize)> = shortest.into_values().collect();
    samples.sort_by_key(|(cost, _)| *cost);
    let mut spent = 0_u64;
    let within = samples.iter().enumerate().take_while(|(n, (cost, _))| {
        spent = spent.saturating_add(*cost);
        *n < least || spent <= all / PART
    });
    within.map(|(_, (_, index))| *index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_the_shortest_of_each_kind_as_long_as_they_cost_little() {
        let held = [("a", 9), ("a", 2), ("b", 3), ("c", 1), ("b", 5)];
        assert_eq!(samples(held.into_iter(), 1), [3]);
        assert_eq!(samples(held.into_iter(), 2), [3, 1]);
        assert_eq!(samples(held.into_iter(), 9), [3, 1, 2]);
        let many = held.into_iter().chain([("d", 300)]);
        assert_eq!(samples(many, 1), [3, 1, 2]);
        assert_eq!(samples(std::iter::empty::<(u8, u64)>(), 3), [0; 0]);
    }
}
