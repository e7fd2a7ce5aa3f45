//! Cost of an ACK for the sender, by recovery and window, with and without losses.
//!
//! `cargo run --release -p dupack-lab --example window_cost [RECOVERY [WINDOW]]` prints a table in ns per ACK. The cost
//! is the time to process the ACK and to send the segments that it releases. A window of the given size is kept in
//! flight. The path either loses nothing, or it loses one in a hundred segments at random. The receiver sends an ACK
//! for every segment that arrives. The congestion window is fixed, so only the recoveries differ. With losses, a
//! recovery without SACK retransmits one segment per round trip, and the sender's scoreboard grows to the receive
//! window of a million segments.
//!
//! The network is not part of the measurement: it is run once while the ACKs are recorded, and a second sender is then
//! timed with the same ACKs at the same times.

use std::collections::VecDeque;
use std::error::Error;

use dupack_algorithms::catalog::{Axis, Catalog, Context, Dialect, StackSpec};
use dupack_lab::experiment::{ReceiverOptions, SenderOptions};
use dupack_lab::run::Endpoints;
use dupack_lab::units::ByteCount;
use dupack_net::random::Stream;
use dupack_net::units::Probability;
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{Receiver, Sender};

const WINDOWS: [u64; 4] = [10, 1000, 100_000, 1_000_000];
const LOSSES: [f64; 2] = [0.0, 0.01];

/// Time between two segments on the path.
const GAP: Duration = Duration::from_nanos(100);

/// Minimum number of measured ACKs.
const ACKS: u64 = 1_000_000;

/// Number of timed rounds. The result is the fastest round.
const ROUNDS: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let recovery = arguments.next();
    let window = arguments.next().map(|n| n.parse()).transpose()?;
    let windows: Vec<u64> = window.map_or(WINDOWS.to_vec(), |window| vec![window]);
    print!("{:14} {:>5}", "ns per ACK", "loss");
    for window in &windows {
        print!("{window:>9}");
    }
    println!("{:>20}", "largest / smallest");
    let catalog = Catalog::builtin();
    for entry in catalog.on(Axis::Recovery) {
        let name = &*entry.name;
        if recovery.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        for loss in LOSSES {
            print!("{name:14} {:>4}%", loss * 100.0);
            let mut costs = Vec::new();
            for &window in &windows {
                let cost = cost(name, window, loss)?;
                print!("{cost:9.1}");
                costs.push(cost);
            }
            let largest = costs.iter().copied().fold(0.0, f64::max);
            let smallest = costs.iter().copied().fold(f64::INFINITY, f64::min);
            println!("{:20.2}", largest / smallest);
        }
    }
    Ok(())
}

/// Returns the nanoseconds per ACK in the fastest round.
fn cost(recovery: &str, window: u64, loss: f64) -> Result<f64, Box<dyn Error>> {
    // Bulk repeat needs a loss differentiation.
    let judge = if recovery == "bulk-repeat" {
        "/spike/1"
    } else {
        ""
    };
    let text = format!("{recovery}/fixed(window={window}){judge}");
    let spec = StackSpec::parse(&text, &Catalog::builtin())?;
    let events = record(&spec, window, loss)?;
    let acks = events.iter().filter(|(_, ack)| ack.is_some()).count();
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        fastest = fastest.min(replay(&spec, &events)? / acks as f64);
    }
    Ok(fastest)
}

/// Input of a sender: an ACK, or `None` for a timeout.
type Event = (Instant, Option<Ack>);

fn endpoints(spec: &StackSpec) -> Result<(Sender, Receiver), Box<dyn Error>> {
    let options = SenderOptions {
        segment: Some(ByteCount::from_bytes(1000)),
        ..SenderOptions::default()
    };
    let ends = Endpoints::new(Dialect::Rfc, spec, &options, &ReceiverOptions::default());
    let stack = spec.build(Dialect::Rfc, &Context::new(ends.sender.smss));
    let mut sender = Sender::new(ends.sender, stack);
    sender.write(1 << 62);
    Ok((sender, Receiver::new(ends.receiver)))
}

/// Runs sender, path and receiver. Returns the inputs of the sender after its first window.
fn record(spec: &StackSpec, window: u64, loss: f64) -> Result<Vec<Event>, Box<dyn Error>> {
    let (mut sender, mut receiver) = endpoints(spec)?;
    let mut losses = Stream::derive(window, "losses");
    let loss = Probability::clamped(loss);
    let mut path: VecDeque<(Instant, DataSegment)> = VecDeque::new();
    let mut events = Vec::new();
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    let mut acks = 0;
    while acks < ACKS.max(4 * window) {
        while let Some(transmit) = sender.poll_transmit(now) {
            free = (free + GAP).max(now + GAP * window);
            if !losses.chance(loss) {
                path.push_back((free, transmit.segment));
            }
        }
        let due = sender
            .next_timeout()
            .filter(|&at| path.front().is_none_or(|&(arrival, _)| at <= arrival));
        if let Some(at) = due {
            now = at.max(now);
            sender.handle_timeout(now);
            events.push((now, None));
            continue;
        }
        let (arrival, segment) = path.pop_front().ok_or("the sender has stopped")?;
        now = arrival;
        receiver.handle_data(now, &segment);
        if let Some(ack) = receiver.poll_ack() {
            acks += 1;
            sender.handle_ack(now, &ack);
            events.push((now, Some(ack)));
        }
    }
    Ok(events)
}

/// Returns the nanoseconds that a sender takes for all of these events.
// This example measures wall-clock time.
#[allow(clippy::disallowed_methods)]
fn replay(spec: &StackSpec, events: &[Event]) -> Result<f64, Box<dyn Error>> {
    let (mut sender, _) = endpoints(spec)?;
    while sender.poll_transmit(Instant::ZERO).is_some() {}
    let started = std::time::Instant::now();
    for (now, ack) in events {
        match ack {
            Some(ack) => sender.handle_ack(*now, ack),
            None => sender.handle_timeout(*now),
        }
        while sender.poll_transmit(*now).is_some() {}
    }
    Ok(started.elapsed().as_nanos() as f64)
}
