//! Workloads for counting instructions. `counted WORK AMOUNT` runs one workload and prints `packets=N`, the number of
//! data packets delivered in order.
//!
//! `cargo xtask count`, and therefore `cargo xtask test`, runs this program under callgrind with a smaller and a larger
//! amount, divides the difference in instructions by the difference in packets, and compares the result with
//! `xtask/instructions.toml`. The amount is in packets for a single flow over a wire, and in simulated seconds
//! otherwise. `counted STACK PACKETS` runs the single flow with any stack, and `counted stacks` prints a stack for each
//! recovery of the catalog.
//!
//! The program is in this crate and not in the laboratory, because it must be built with all optimisations each time
//! the tests are run. Without the laboratory, this takes seconds instead of minutes.

use std::error::Error;

use dupack_algorithms::catalog::dialect::{Headers, receiver_config, sender_config};
use dupack_algorithms::catalog::{Axis, Catalog, Context, Dialect, StackSpec};
use dupack_net::flow::{Application, HeaderSizes, Path, TcpFlowConfig};
use dupack_net::link::{LinkConfig, QueueLimit, WaitRecording};
use dupack_net::network::Network;
use dupack_net::observer::Unobserved;
use dupack_net::shapes::{Chain, Dumbbell, PairAccess, RadioChain};
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_net::units::{BitRate, Probability};
use dupack_net::wireless::RadioConfig;
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: counted newreno|le|rack|dumbbell|radio AMOUNT, \
                     counted STACK PACKETS, or counted stacks";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let packets = match words[..] {
        ["stacks"] => {
            stacks().iter().for_each(|stack| println!("{stack}"));
            return Ok(());
        }
        [stack, amount] if stack.contains('/') => lossy(stack, amount.parse()?)?,
        ["newreno", amount] => lossy("newreno/reno", amount.parse()?)?,
        ["le", amount] => lossy("le/westwood", amount.parse()?)?,
        ["rack", amount] => lossy("rack/cubic", amount.parse()?)?,
        ["dumbbell", amount] => dumbbell(amount.parse()?)?,
        ["radio", amount] => radio(amount.parse()?)?,
        _ => return Err(USAGE.into()),
    };
    println!("packets={packets}");
    Ok(())
}

/// Returns a stack for each recovery of the catalog, with Reno's congestion control, and with a loss differentiation
/// and a response if the recovery needs them.
fn stacks() -> Vec<String> {
    let catalog = Catalog::builtin();
    let stack = |name: &str| {
        let plain = format!("{name}/reno");
        match StackSpec::parse(&plain, &catalog) {
            Ok(_) => plain,
            Err(_) => format!("{plain}/veno/1"),
        }
    };
    let recoveries = catalog.on(Axis::Recovery);
    recoveries.map(|entry| stack(&entry.name)).collect()
}

/// Sends `packets` packets of 1000 bytes over a link with 10 Mbit/s, 2 ms and 1 % loss, with delayed ACKs.
fn lossy(stack: &str, packets: u64) -> Result<u64> {
    let link = LinkConfig::rate(BitRate::from_mbps(10), Duration::from_millis(2));
    let there = link
        .clone()
        .with_queue(QueueLimit::Packets(50))
        .with_bernoulli(Probability::clamped(0.01))
        .recording_waits(WaitRecording::Data);
    let mut map = Topology::new();
    let nodes = Chain::single(there, link).build(&mut map).nodes;
    let mut network = Network::new(map);
    let (from, to) = (nodes[0], nodes[1]);
    let flow = Flow {
        dialect: Dialect::Ns2,
        smss: 1000,
        acks: AckPolicy::Delayed(Duration::from_millis(200)),
        application: Application::Finite(packets * 1000),
    };
    network.tcp(flow.config(stack, Path::Shortest { from, to })?)?;
    run(network, Instant::FAR_FUTURE)
}

/// Runs ten SACK flows over a link with 100 Mbit/s and a queue of 333 packets, with a round-trip time of 44 ms.
fn dumbbell(seconds: u64) -> Result<u64> {
    const PAIRS: usize = 10;
    let access = LinkConfig::rate(BitRate::from_mbps(1000), Duration::from_millis(1));
    let trunk = LinkConfig::rate(BitRate::from_mbps(100), Duration::from_millis(20));
    let pair = PairAccess {
        sender: access.clone(),
        receiver: access,
    };
    let shape = Dumbbell {
        bottleneck: trunk
            .clone()
            .with_queue(QueueLimit::Packets(333))
            .recording_waits(WaitRecording::Data),
        reverse: trunk,
        pairs: vec![pair; PAIRS],
    };
    let mut map = Topology::new();
    let nodes = shape.build(&mut map)?;
    let mut network = Network::new(map);
    let flow = Flow {
        dialect: Dialect::Rfc,
        smss: 1448,
        acks: AckPolicy::Immediate,
        application: Application::Greedy,
    };
    for n in 0..PAIRS {
        let (there, back) = (nodes.there[n], nodes.back[n]);
        let mut config = flow.config("sack/reno", Path::Explicit { there, back })?;
        config.start = Instant::ZERO + Duration::from_millis(100 * n as u64);
        network.tcp(config)?;
    }
    run(network, Instant::ZERO + Duration::from_secs(seconds))
}

/// Runs one flow with a window of eight segments over five hops of 802.11b.
fn radio(seconds: u64) -> Result<u64> {
    let mut map = Topology::new();
    let shape = RadioChain {
        hops: 5,
        spacing_m: 200.0,
        radio: RadioConfig::DSSS_11_MBPS,
    };
    let nodes = shape.build(&mut map).nodes;
    let mut network = Network::new(map);
    let (from, to) = (nodes[0], nodes[5]);
    let flow = Flow {
        dialect: Dialect::Ns2,
        smss: 1000,
        acks: AckPolicy::Immediate,
        application: Application::Greedy,
    };
    let mut config = flow.config("newreno/reno", Path::Shortest { from, to })?;
    config.sender.max_window = 8000.0;
    network.tcp(config)?;
    run(network, Instant::ZERO + Duration::from_secs(seconds))
}

/// Common settings of the flows of a workload.
struct Flow {
    dialect: Dialect,
    smss: u32,
    acks: AckPolicy,
    application: Application,
}

impl Flow {
    fn config(&self, stack: &str, path: Path) -> Result<TcpFlowConfig> {
        let spec = StackSpec::parse(stack, &Catalog::builtin())?;
        let needs = spec.needs(self.dialect);
        let headers = Headers::new(self.dialect, &needs);
        let blocks = |n| headers.ack(n) - headers.ack(0);
        let sender = sender_config(self.dialect, self.smss, &needs);
        let stack = spec.build(self.dialect, &Context::new(self.smss));
        let receiver = receiver_config(self.dialect, self.smss, &needs, self.acks);
        let mut config = TcpFlowConfig::new(path, sender, stack, receiver);
        config.application = self.application;
        config.headers = HeaderSizes {
            data_bytes: headers.data,
            ack_bytes: headers.ack(0),
            sack_block_bytes: blocks(2) - blocks(1),
            sack_fixed_bytes: 2 * blocks(1) - blocks(2),
        };
        Ok(config)
    }
}

/// Runs until `end` or until all flows are finished. Returns the number of data packets delivered in order.
fn run(network: Network, end: Instant) -> Result<u64> {
    let mut simulation = Simulation::new(network, 1)?;
    while simulation.now() < end && !simulation.all_finished() {
        let next = end.min(simulation.now() + Duration::from_secs(10));
        simulation.run_until(next, &mut Unobserved);
    }
    let flows = simulation.report().tcp;
    let packets = flows.iter().filter_map(|report| {
        let smss = simulation.tcp(report.flow)?.sender().config().smss;
        Some(report.totals.delivered_bytes / u64::from(smss))
    });
    Ok(packets.sum())
}
