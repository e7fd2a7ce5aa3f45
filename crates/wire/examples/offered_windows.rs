//! Prints statistics of the windows that a receiver offered, from captures of its packets:
//!
//! ```sh
//! dupack testbed … --pcap captures
//! cargo run --release -p dupack-wire --example offered_windows -- 80000 captures/*.receiver.pcapng
//! ```
//!
//! The output is the number of ACKs in all files that offer a window below the given number of bytes, the percentage of
//! these that report segments beyond a hole, and the smallest window. The receiver is the end that did not open the
//! connection. Its window is scaled as its SYN announces (RFC 7323 §2.2).

use std::fs::File;

use dupack_packet::{Verify, parse};
use dupack_tcp::connection::{Flags, Segment};
use pcap_file::pcapng::{Block, PcapNgReader};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const USAGE: &str = "usage: offered_windows BYTES CAPTURE.pcapng …";

/// Counts of the ACKs in all captures.
#[derive(Default)]
struct Acks {
    of_all: Count,
    /// Counts of the ACKs that offer less than the bound.
    of_small: Count,
    /// Minimum window in bytes.
    least: Option<u32>,
}

#[derive(Default)]
struct Count {
    acks: u64,
    /// Number of ACKs with SACK blocks.
    with_hole: u64,
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let bound: u32 = words.next().ok_or(USAGE)?.parse().map_err(|_| USAGE)?;
    let mut acks = Acks::default();
    for path in words {
        count(&path, bound, &mut acks).map_err(|error| format!("{path}: {error}"))?;
    }
    let least = acks.least.ok_or("no capture has an ACK of a receiver")?;
    let (all, small) = (&acks.of_all, &acks.of_small);
    println!(
        "{} of {} ACKs ({:.1} %) offer less than {bound} bytes; the smallest window is {least}",
        small.acks,
        all.acks,
        percent(small.acks, all.acks)
    );
    println!(
        "{:.1} % of these report segments beyond a hole, and {:.1} % of all",
        small.percent_with_hole(),
        all.percent_with_hole()
    );
    Ok(())
}

/// Adds the ACKs of a capture of one connection.
fn count(path: &str, bound: u32, acks: &mut Acks) -> Result<()> {
    let mut reader = PcapNgReader::new(File::open(path)?)?;
    let mut receiver = None;
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block? else {
            continue;
        };
        // A packet whose data was truncated is not an ACK of the receiver.
        let Ok(packet) = parse(&packet.data, Verify::Nothing) else {
            continue;
        };
        let segment = &packet.segment;
        let shift = u32::from(segment.options.window_scale.unwrap_or(0));
        match (receiver, segment.ack) {
            (_, Some(_)) if segment.is(Flags::SYN) => receiver = Some((packet.source, shift)),
            (Some((address, shift)), Some(_)) if address == packet.source => {
                acks.add(segment, u32::from(segment.window) << shift, bound);
            }
            _ => {}
        }
    }
    Ok(())
}

impl Acks {
    fn add(&mut self, segment: &Segment, window: u32, bound: u32) {
        let reports_hole = !segment.options.sacks.is_empty();
        let least = self.least.map_or(window, |least| least.min(window));
        self.least = Some(least);
        self.of_all.add(reports_hole);
        if window < bound {
            self.of_small.add(reports_hole);
        }
    }
}

impl Count {
    fn add(&mut self, reports_hole: bool) {
        self.acks += 1;
        self.with_hole += u64::from(reports_hole);
    }

    fn percent_with_hole(&self) -> f64 {
        percent(self.with_hole, self.acks)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
