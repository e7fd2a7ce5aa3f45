//! The sample: mutants of all files, drawn by a seed.
//!
//! Each mutant has a place in a row that follows from the seed and its key alone, and each file sends its first ones. So
//! the sample is the same as long as the sources are, and a change to a function changes little else of it.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::mutant::Mutant;

/// Any number does; this is the year of RFC 9293.
const SEED: u64 = 2022;

/// Draws `size` mutants: of each file in proportion to how many it has, and one at least. In the order in which they
/// are tried, in which every beginning is spread over the files, too. Where there are more files than `size`, those that come
/// first.
pub fn draw(all: &[Mutant], size: usize) -> Vec<&Mutant> {
    let mut files: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in all {
        files.entry(&mutant.file).or_default().push(mutant);
    }
    let counts: Vec<usize> = files.values().map(Vec::len).collect();
    let mut drawn = Vec::with_capacity(size);
    for (mut mutants, share) in files.into_values().zip(shares(&counts, size)) {
        mutants.sort_by_key(|mutant| rank(mutant));
        drawn.extend(mutants.into_iter().take(share));
    }
    drawn.sort_by_key(|mutant| rank(mutant));
    drawn.truncate(size);
    drawn
}

fn rank(mutant: &Mutant) -> u64 {
    xxh3_64_with_seed(&mutant.key.to_le_bytes(), SEED)
}

/// How many of `size` fall to each file that has `counts` mutants: the method of largest remainders, but one for
/// each. Where there are not more than `size`, all.
fn shares(counts: &[usize], size: usize) -> Vec<usize> {
    let all: usize = counts.iter().sum();
    if all <= size {
        return counts.to_vec();
    }
    let exact = |count: usize| size as f64 * count as f64 / all as f64;
    let floor = |&count: &usize| (exact(count) as usize).max(1);
    let mut shares: Vec<usize> = counts.iter().map(floor).collect();
    let owed = |shares: &[usize], file: usize| exact(counts[file]) - shares[file] as f64;
    while shares.iter().sum::<usize>() < size {
        let files = 0..counts.len();
        let most = files.max_by(|&a, &b| owed(&shares, a).total_cmp(&owed(&shares, b)));
        let Some(most) = most else { break };
        shares[most] += 1;
    }
    while shares.iter().sum::<usize>() > size {
        let files = (0..counts.len()).filter(|&file| shares[file] > 1);
        let least = files.min_by(|&a, &b| owed(&shares, a).total_cmp(&owed(&shares, b)));
        let Some(least) = least else { break };
        shares[least] -= 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::super::mutant::tests::mutant;
    use super::*;

    /// Mutants of three files of very different lengths.
    fn some() -> Vec<Mutant> {
        let of = |file: &'static str, keys: std::ops::Range<u64>| {
            keys.map(move |key| mutant(file, key)).collect::<Vec<_>>()
        };
        [of("a", 0..900), of("b", 1000..1099), of("c", 2000..2001)].concat()
    }

    #[test]
    fn shares_are_in_proportion_and_nobody_is_left_out() {
        assert_eq!(shares(&[900, 99, 1], 100), [90, 9, 1]);
        assert_eq!(shares(&[998, 1, 1], 10), [8, 1, 1]);
        assert_eq!(shares(&[3, 2], 10), [3, 2]);
        assert_eq!(shares(&[5, 5, 5], 10).iter().sum::<usize>(), 10);
    }

    #[test]
    fn the_same_sources_give_the_same_sample() {
        let all = some();
        let mut turned = some();
        turned.reverse();
        assert_eq!(draw(&all, 100), draw(&turned, 100));
    }

    #[test]
    fn it_is_no_larger_than_asked_for_if_there_are_more_files() {
        let all = some();
        assert_eq!(draw(&all, 3).len(), 3);
        assert_eq!(draw(&all, 2), draw(&all, 3)[..2]);
    }

    #[test]
    fn a_change_to_one_function_changes_little_of_the_sample() {
        let all = some();
        let mut changed = some();
        for mutant in &mut changed[..20] {
            mutant.key += 10_000;
        }
        let before = draw(&all, 100);
        let same = draw(&changed, 100);
        let same = same.iter().filter(|mutant| before.contains(mutant)).count();
        assert!(same > 90, "{same}");
    }
}
