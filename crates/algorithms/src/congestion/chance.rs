//! Pseudo-random numbers that differ between flows and between calls, but are the same in every repetition of a run.

/// Returns a hash (Vigna's SplitMix64) of a seed and of values that distinguish the calls, such as the time.
pub(super) fn drawn(seed: u64, parts: &[u64]) -> u64 {
    let mut z = seed;
    for part in parts {
        z = (z ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first number for the seed 0, and the first number for that number as the seed.
        assert_eq!(drawn(0, &[0]), 0xe220_a839_7b1d_cdaf);
        assert_eq!(drawn(0, &[0, 0]), 0xa706_dd2f_4d19_7e6f);
    }
}
