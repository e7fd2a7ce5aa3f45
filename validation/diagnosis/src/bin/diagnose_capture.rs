//! Diagnoses a capture and prints the time per packet. The comparison with `read_capture` shows the cost of the
//! diagnosis relative to the cost of reading the capture:
//!
//! ```sh
//! cargo run --release -p dupack-wire --example make_capture -- big.pcap
//! cargo run --release -p dupack-wire --example read_capture -- big.pcap
//! cargo run --release --manifest-path validation/Cargo.toml --bin diagnose_capture -- big.pcap
//! ```

use std::error::Error;
use std::fs::File;

use dupack_diagnosis::{Flow, diagnose};
use dupack_packet::captured::CaptureReader;

const USAGE: &str = "usage: diagnose_capture FILE";

#[expect(
    clippy::disallowed_methods,
    reason = "it measures how long this program takes"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or(USAGE)?;
    let start = std::time::Instant::now();
    let mut reader = CaptureReader::new(File::open(file)?)?;
    let found = diagnose(&mut reader, Flow::All, &mut ())?;
    let nanos = start.elapsed().as_nanos() as f64;
    let bytes: u64 = found.connections.iter().map(|one| one.bytes()).sum();
    println!(
        "{}; {} connections; {bytes} bytes of data",
        found.tally, found.connections_all
    );
    println!(
        "{:.0} ns a packet",
        nanos / found.tally.packets.max(1) as f64
    );
    Ok(())
}
