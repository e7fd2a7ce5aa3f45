//! Generates the suite's trace in Mahimahi's format: one line per opportunity to send 1500 bytes, in milliseconds. The
//! trace is synthetic, not recorded.
//!
//! ```text
//! cargo run -p dupack-evaluation --example traces -- experiments/evaluation
//! ```

use std::fs;
use std::path::PathBuf;

/// Size of a packet in bits.
const PACKET_BITS: f64 = 12_000.0;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1);
    let folder = folder.map_or_else(|| PathBuf::from("experiments/evaluation"), PathBuf::from);
    fs::write(folder.join("cellular.trace"), cellular())
}

/// Returns the lines of a trace with the rate `rate_mbit_s` at each millisecond.
fn lines(length_ms: u32, rate_mbit_s: impl Fn(u32) -> f64) -> String {
    let (mut out, mut due) = (String::new(), 0.0);
    for ms in 1..=length_ms {
        due += rate_mbit_s(ms - 1) * 1000.0 / PACKET_BITS;
        while due >= 1.0 {
            out += &format!("{ms}\n");
            due -= 1.0;
        }
    }
    out
}

/// Returns a trace whose rate varies between 0 and 20 Mbit/s: a sum of slow and fast sine waves whose periods have no
/// common multiple within the trace, and two outages.
fn cellular() -> String {
    lines(30_000, |ms| {
        let seconds = f64::from(ms) / 1000.0;
        let wave =
            |period: f64, phase: f64| (std::f64::consts::TAU * (seconds / period + phase)).sin();
        let rate = 8.0 + 5.0 * wave(11.3, 0.1) + 4.0 * wave(2.9, 0.6) + 3.0 * wave(0.47, 0.3);
        let gap = (9.0..9.4).contains(&seconds) || (21.0..21.8).contains(&seconds);
        if gap { 0.0 } else { rate.clamp(0.0, 20.0) }
    })
}
