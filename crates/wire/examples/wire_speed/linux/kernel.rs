//! The kernel's side: a program that reads or writes as fast as it can, and counts.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use dupack_wire::clock::WallClock;
use dupack_wire::namespace::Namespace;

use super::cores::{Core, ThreadTime};
use super::{FILLING, Failure, PORT};

/// Bytes that are read or written at once.
const CHUNK: usize = 1 << 20;

/// Until windows and buffers have grown.
const WARM_UP_S: f64 = 0.5;

/// The kernel's congestion control, which every kernel has. Some systems have BBR by default,
/// whose pace would be measured.
const CONTROL: &str = "reno";

/// Nothing moves for this long: something is broken.
const STALLED: Duration = Duration::from_secs(5);

/// What the program does.
pub enum Side {
    /// Accepts a connection and reads.
    Reads(TcpListener),
    /// Connects to this address and writes.
    Writes(Ipv4Addr),
}

/// What crossed, and what it cost.
pub struct Measured {
    bytes: u64,
    seconds: f64,
    /// Processor time of the thread that moves packets.
    carrier_s: f64,
    /// Processor time of the thread that reads or writes here.
    kernel_s: f64,
}

impl Measured {
    /// As `cargo xtask wire-speed` reads it.
    pub fn line(&self) -> String {
        let Self {
            bytes,
            seconds,
            carrier_s,
            kernel_s,
        } = self;
        let gbits = *bytes as f64 * 8.0 / seconds / 1e9;
        format!(
            "gbits={gbits:.3} bytes={bytes} seconds={seconds:.3} carrier_s={carrier_s:.3} \
             kernel_s={kernel_s:.3}"
        )
    }
}

/// A namespace in which the kernel's TCP is the same on every machine.
pub fn namespace(name: &str) -> Result<Namespace, Failure> {
    let namespace = Namespace::new(name)?;
    namespace.set("ipv4/tcp_congestion_control", CONTROL)?;
    Ok(namespace)
}

/// A listener in `namespace`.
pub fn listener(namespace: &Namespace, address: Ipv4Addr) -> Result<TcpListener, Failure> {
    Ok(namespace.run(move || TcpListener::bind((IpAddr::V4(address), PORT)))?)
}

/// Measures for `seconds`, beside its own time that of the thread that moves the packets.
pub fn start(
    namespace: &Namespace,
    side: Side,
    core: Core,
    carrier: ThreadTime,
    seconds: f64,
) -> Result<JoinHandle<Result<Measured, Failure>>, Failure> {
    Ok(namespace.spawn("program", move || {
        core.take()?;
        let mut buffer = vec![FILLING; CHUNK];
        let mut stream;
        let mut step: Box<dyn FnMut() -> std::io::Result<usize>> = match side {
            Side::Reads(listener) => {
                stream = listener.accept()?.0;
                stream.set_read_timeout(Some(STALLED))?;
                Box::new(move || stream.read(&mut buffer))
            }
            Side::Writes(address) => {
                stream = TcpStream::connect((address, PORT))?;
                stream.set_write_timeout(Some(STALLED))?;
                Box::new(move || stream.write(&buffer))
            }
        };
        let clock = WallClock::start();
        let mut move_until = |end: f64| -> Result<u64, Failure> {
            let mut bytes = 0;
            while clock.now().as_secs_f64() < end {
                match step()? {
                    0 => return Err("the endpoint has closed the connection".into()),
                    count => bytes += count as u64,
                }
            }
            Ok(bytes)
        };
        let own = ThreadTime::of_caller();
        let now = || -> Result<_, Failure> {
            Ok((
                clock.now().as_secs_f64(),
                carrier.seconds()?,
                own.seconds()?,
            ))
        };
        move_until(WARM_UP_S)?;
        let before = now()?;
        let bytes = move_until(before.0 + seconds)?;
        let after = now()?;
        Ok(Measured {
            bytes,
            seconds: after.0 - before.0,
            carrier_s: after.1 - before.1,
            kernel_s: after.2 - before.2,
        })
    })?)
}

/// Writes until the other end goes away.
pub fn pour(address: Ipv4Addr, core: Core) -> Result<(), Failure> {
    core.take()?;
    let buffer = vec![FILLING; CHUNK];
    let mut stream = TcpStream::connect((address, PORT))?;
    while stream.write(&buffer).is_ok() {}
    Ok(())
}
