//! Load of a queue. The load is generated from a seed and is the same for both programs.

use std::fmt::Write;

/// Size of a packet on the wire, in bytes.
pub const BYTES: u32 = 1500;

/// Mean on time of a flow, in seconds. `OFF_S` is the mean off time.
const ON_S: f64 = 0.2;
const OFF_S: f64 = 0.4;

/// Random number generator (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed).wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// Returns a uniformly distributed number from 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Returns the start and the round-trip time of each window, in nanoseconds. Round-trip times are random, within 20 %
/// of `rtt_ms`, so that events do not coincide.
pub fn windows(draws: &mut Draws, flows: u32, rtt_ms: f64) -> Vec<(u64, u64)> {
    let one = |_| {
        let start = (draws.unit() * 1e9) as u64;
        let rtt = (rtt_ms * 1e6 * (0.8 + 0.4 * draws.unit())) as u64;
        (start, rtt)
    };
    (0..flows).map(one).collect()
}

/// Returns the packets of a Poisson process: times in seconds and flows.
pub fn poisson(draws: &mut Draws, flows: u32, bps: f64, seconds: f64) -> Vec<(f64, u32)> {
    let gap = f64::from(BYTES) * 8.0 / bps;
    let mut packets = Vec::new();
    let mut at = draws.exponential(gap);
    while at < seconds {
        packets.push((at, (draws.unit() * f64::from(flows)) as u32));
        at += draws.exponential(gap);
    }
    packets
}

/// Returns the packets of on/off sources: times in seconds and flows.
pub fn on_off(draws: &mut Draws, flows: u32, bps: f64, seconds: f64) -> Vec<(f64, u32)> {
    let peak_bps = bps / f64::from(flows) * (ON_S + OFF_S) / ON_S;
    let gap = f64::from(BYTES) * 8.0 / peak_bps;
    let mut packets = Vec::new();
    for flow in 0..flows {
        let mut at = draws.exponential(OFF_S);
        while at < seconds {
            let end = at + draws.exponential(ON_S);
            while at < end {
                packets.push((at, flow));
                at += gap;
            }
            at = end + draws.exponential(OFF_S);
        }
    }
    packets.sort_by(|a, b| a.0.total_cmp(&b.0));
    packets
}

/// Writes packets in the format that both programs read.
pub fn write(text: &mut String, packets: &[(f64, u32)]) {
    for (at, flow) in packets {
        let _ = writeln!(text, "packet {} {flow} {BYTES}", (at * 1e9) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_the_configured_rate() {
        let total = 10e6 * 60.0 / (f64::from(BYTES) * 8.0);
        for seed in 1..4 {
            let all = poisson(&mut Draws::new(seed), 8, 10e6, 60.0);
            assert!(
                (all.len() as f64 / total - 1.0).abs() < 0.03,
                "{}",
                all.len()
            );
            let all = on_off(&mut Draws::new(seed), 10, 10e6, 60.0);
            assert!(
                (all.len() as f64 / total - 1.0).abs() < 0.2,
                "{}",
                all.len()
            );
            assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        }
    }
}
