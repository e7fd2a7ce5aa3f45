//! The endpoints that can be measured, and the setup of a run.

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

/// Address of the kernel under measurement.
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// Address of the endpoint: ours, smoltcp's, or the second kernel.
const ENDPOINT: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
const PREFIX_BITS: u8 = 24;
const PORT: u16 = 5001;

/// Size of an endpoint's buffer in each direction, in bytes. All endpoints with a configurable buffer use the same
/// size.
const BUFFER_BYTES: usize = 4 << 20;

/// Length of the longest IP packet on the link in bytes, as on Ethernet.
const MTU: u16 = 1500;

/// Value of the bytes that are sent. Every sender writes them into its buffer each time, and no reader checks them.
const FILLING: u8 = 7;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Parser)]
#[command(
    about = "Measures how fast bytes move between this machine's kernel and an endpoint over TUN"
)]
struct Args {
    #[command(subcommand)]
    party: Party,
    /// Length of the measurement in seconds, after half a second of warm-up.
    #[arg(long, global = true, default_value_t = 3.0)]
    seconds: f64,
}

#[derive(Subcommand)]
enum Party {
    /// This project's endpoint.
    Dupack {
        direction: Direction,
        packets: Packets,
        /// Algorithms of the sender.
        #[arg(long, default_value = "sack/reno")]
        stack: String,
    },
    /// The TCP/IP stack smoltcp.
    Smoltcp {
        direction: Direction,
        packets: Packets,
        /// Congestion control of smoltcp. Its default is none.
        #[arg(long, default_value = "none")]
        control: smoltcp::Control,
    },
    /// A second kernel behind a thread that relays packets.
    Relay { packets: Packets },
}

/// Direction of the data as seen from the endpoint.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Direction {
    Send,
    Receive,
}

/// Kind of the packets that cross the device.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Packets {
    /// Packets of up to 1500 bytes, with complete checksums.
    Plain,
    /// Packets of up to 64 KiB, without checksums.
    Offload,
}

/// A running endpoint.
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

/// Starts an endpoint on a device and measures the data that the kernel receives from it or sends to it.
fn against_kernel(
    direction: Direction,
    packets: Packets,
    seconds: f64,
    start: impl FnOnce(Tun, Core) -> Result<Running, Failure>,
) -> Result<Measured, Failure> {
    let cores = Cores::pick()?;
    let namespace = kernel::namespace("kernel")?;
    let tun = device(&namespace, KERNEL, packets)?;
    // The listener must exist before the connection is opened.
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

/// Opens a device on which the kernel has `address`.
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
        (Packets::Offload, Granted::Plain) => Err("this kernel does not support offload".into()),
        _ => Ok(tun),
    }
}

/// Starts the endpoint on its own thread and core. The result gives access to the thread's processor time.
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
            Ok(()) => Err("the endpoint ended immediately".into()),
            Err(error) => Err(error),
        },
    }
}

fn joined<T>(thread: JoinHandle<Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| "a thread panicked")?
}
