//! What can be measured, and how a run is put together.

mod cores;
mod kernel;
mod ours;
mod relay;
mod smoltcp;

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use clap::{Parser, Subcommand, ValueEnum};
use dupack_wire::device::{Device, Granted};
use dupack_wire::namespace::{self, Namespace};
use dupack_wire::tun::{Offload, Prefix, Tun, TunConfig};

use cores::{Core, Cores, ThreadTime};
use kernel::{Measured, Side};

/// The kernel that is measured against.
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// The endpoint: ours, smoltcp's, or the second kernel.
const ENDPOINT: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
const PREFIX_BITS: u8 = 24;
const PORT: u16 = 5001;

/// Bytes that an endpoint keeps in each direction, the same for all that have a choice.
const BUFFER_BYTES: usize = 4 << 20;

/// The longest IP packet on the link: Ethernet's.
const MTU: u16 = 1500;

/// What is sent: everybody writes it anew, nobody looks at it.
const FILLING: u8 = 7;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Parser)]
#[command(about = "How fast bytes move between this machine's kernel and an endpoint over TUN")]
struct Args {
    #[command(subcommand)]
    party: Party,
    /// How long to measure, after half a second that does not count.
    #[arg(long, global = true, default_value_t = 3.0)]
    seconds: f64,
}

#[derive(Subcommand)]
enum Party {
    /// This project's endpoint.
    Dupack {
        direction: Direction,
        packets: Packets,
        /// The sender's algorithms.
        #[arg(long, default_value = "sack/reno")]
        stack: String,
    },
    /// The TCP/IP stack smoltcp.
    Smoltcp {
        direction: Direction,
        packets: Packets,
        /// Its congestion control; as it comes it has none.
        #[arg(long, default_value = "none")]
        control: smoltcp::Control,
    },
    /// A second kernel, behind a thread that carries packets.
    Relay { packets: Packets },
}

/// As seen from the endpoint.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Direction {
    Send,
    Receive,
}

/// What crosses the device.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Packets {
    /// Packets of up to 1500 bytes, with complete checksums.
    Plain,
    /// Packets of up to 64 KiB, checksums left out.
    Offload,
}

/// An endpoint that runs.
struct Running {
    time: ThreadTime,
    stop: Box<dyn FnOnce()>,
    thread: JoinHandle<Result<(), Failure>>,
}

pub fn main() -> Result<(), Failure> {
    namespace::prepare()?;
    let Args { party, seconds } = Args::parse();
    let measured = match party {
        Party::Dupack {
            direction,
            packets,
            stack,
        } => against_kernel(direction, packets, seconds, |tun, core| {
            ours::start(tun, direction, &stack, core)
        }),
        Party::Smoltcp {
            direction,
            packets,
            control,
        } => against_kernel(direction, packets, seconds, |tun, core| {
            smoltcp::start(tun, direction, control, core)
        }),
        Party::Relay { packets } => relay::measure(packets, seconds),
    };
    println!("{}", measured?.line());
    Ok(())
}

/// Starts an endpoint on a device and measures what the kernel gets from it or gives it.
fn against_kernel(
    direction: Direction,
    packets: Packets,
    seconds: f64,
    start: impl FnOnce(Tun, Core) -> Result<Running, Failure>,
) -> Result<Measured, Failure> {
    let cores = Cores::pick()?;
    let namespace = kernel::namespace("kernel")?;
    let tun = device(&namespace, KERNEL, packets)?;
    // Whoever is connected to is there first.
    let listener = kernel::listener(&namespace, KERNEL)?;
    let endpoint = start(tun, cores.carrier)?;
    let side = match direction {
        Direction::Send => Side::Reads(listener),
        Direction::Receive => Side::Writes(ENDPOINT),
    };
    let watched = endpoint.time.clone();
    let kernel = kernel::start(&namespace, side, cores.kernel, watched, seconds)?;
    let measured = joined(kernel);
    (endpoint.stop)();
    joined(endpoint.thread)?;
    measured
}

/// A device on which the kernel has `address`.
fn device(namespace: &Namespace, address: Ipv4Addr, packets: Packets) -> Result<Tun, Failure> {
    let mut config = TunConfig::new("speed");
    config.mtu = MTU;
    config.addresses = vec![Prefix {
        address: IpAddr::V4(address),
        length: PREFIX_BITS,
    }];
    config.offload = match packets {
        Packets::Plain => Offload::Off,
        Packets::Offload => Offload::WherePossible,
    };
    let tun = namespace.run(move || Tun::open(&config))?;
    match (packets, tun.offload()) {
        (Packets::Offload, Granted::Plain) => Err("this kernel gives no offload".into()),
        _ => Ok(tun),
    }
}

/// Starts what moves packets on a thread and a core of its own, and learns how to ask for the
/// thread's time.
fn spawn(
    core: Core,
    stop: Box<dyn FnOnce()>,
    work: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<Running, Failure> {
    let (report, reported) = mpsc::channel();
    let thread = thread::spawn(move || {
        core.take()?;
        report.send(ThreadTime::of_caller())?;
        work()
    });
    match reported.recv() {
        Ok(time) => Ok(Running { time, stop, thread }),
        Err(_) => match joined(thread) {
            Ok(()) => Err("the endpoint ended at once".into()),
            Err(error) => Err(error),
        },
    }
}

fn joined<T>(thread: JoinHandle<Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| "a thread panicked")?
}
