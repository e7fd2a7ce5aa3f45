//! Reads a capture and prints counts of its contents and the time per packet. The example measures the cost of reading
//! captures.
//!
//! ```sh
//! cargo run --release -p dupack-wire --example make_capture -- big.pcap
//! cargo run --release -p dupack-wire --example read_capture -- big.pcap
//! ```
//!
//! The file name `-` stands for standard input.

use std::fs::File;
use std::io::{Read, stdin};

use dupack_packet::captured::{CaptureReader, Tally};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const USAGE: &str = "usage: read_capture FILE";

#[expect(
    clippy::disallowed_methods,
    reason = "it measures how long this program takes"
)]
fn main() -> Result<()> {
    let file = std::env::args().nth(1).ok_or(USAGE)?;
    let reader: Box<dyn Read> = match file.as_str() {
        "-" => Box::new(stdin().lock()),
        file => Box::new(File::open(file)?),
    };
    let start = std::time::Instant::now();
    let mut reader = CaptureReader::new(reader)?;
    let mut tally = Tally::default();
    // The data is used so that the compiler does not remove the reading.
    let mut bytes = 0;
    while let Some(captured) = reader.next_packet()? {
        let packet = captured.tcp();
        tally.count(&captured, &packet);
        if let Ok(packet) = packet {
            bytes += u64::from(packet.segment.len);
        }
    }
    let nanos = start.elapsed().as_nanos() as f64;
    println!(
        "{}: {tally}; {bytes} bytes of TCP payload",
        reader.describe()
    );
    for note in reader.notes() {
        println!("{note}");
    }
    println!("{:.1} ns a packet", nanos / tally.packets.max(1) as f64);
    Ok(())
}
