//! Tests of strangers that request connections without completing them, and of a good client after them.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use dupack_packet::{Checksum, Envelope, emit};
use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_wire::Family;
use dupack_wire::host::{Application, Digest, HostCounters, Listener, Offer, Supply};
use dupack_wire::namespace::Namespace;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};

use crate::ours::{
    Duplex, End, Running, SEED, Scene, kernel_address, offer, once, our_address, wait,
};
use crate::testbed::{self, Case, PATIENCE, PORT, case, eventually};

const STACK: &str = "sack/reno";

/// Maximum number of connections of the host.
pub const ROOM: u16 = 64;

/// Total number of SYNs. (`AT_ONCE`: number of SYNs that are sent at once by some tests.)
pub const SYNS: u16 = 2048;
const AT_ONCE: u16 = ROOM / 2;

/// The first port of the strangers.
pub const FIRST_PORT: u16 = 10_000;

/// An unused address on the device's network.
pub const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 97, 0, 77));

pub fn cases() -> Vec<Case> {
    vec![
        case("a_flood_of_syns", a_flood_of_syns),
        case("a_flood_that_goes_on", a_flood_that_goes_on),
        case("a_scan_of_syns_and_resets", a_scan_of_syns_and_resets),
        case("a_single_syn", a_single_syn),
    ]
}

/// Sends one SYN from each port with the source address `source`, even if it is not the kernel's.
pub fn send_syns(kernel: &Namespace, source: IpAddr, ports: std::ops::Range<u16>) {
    let job = move || {
        let (family, raw) = (AddressFamily::Inet, SockType::Raw);
        let socket = socket(family, raw, SockFlag::empty(), SockProtocol::Raw)?;
        for port in ports {
            let mut segment = Segment::new(SeqNumber(u32::from(port) << 16));
            segment.flags = Flags::SYN;
            segment.window = u16::MAX;
            segment.options.mss = Some(1460);
            let envelope = Envelope {
                source: SocketAddr::new(source, port),
                destination: SocketAddr::new(our_address(Family::V4), PORT),
                identification: port,
                checksum: Checksum::Full,
            };
            let mut packet = [0; 100];
            let length = emit(&mut packet, &envelope, &segment, |_| {}).expect("it fits");
            let to = SockaddrIn::new(10, 97, 0, 2, 0);
            sendto(
                socket.as_raw_fd(),
                &packet[..length],
                &to,
                MsgFlags::empty(),
            )?;
        }
        nix::Result::Ok(())
    };
    kernel.run(job).expect("a raw socket");
}

/// Returns the number of RSTs that the kernel has sent.
fn resets(kernel: &Namespace) -> u64 {
    let table = kernel.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
    let table = table.expect("the kernel's counters");
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut pairs = names.split(' ').zip(values.split(' '));
    let (_, count) = pairs
        .find(|(name, _)| *name == "OutRsts")
        .expect("it is there");
    count.parse().expect("a number")
}

/// Runs `strangers` against a host that accepts one connection, and then connects a good client to the host.
fn after(strangers: impl FnOnce(&Namespace)) -> HostCounters {
    let (kernel, mut host) = Scene::usual().split_with_room(usize::from(ROOM));
    let (duplex, reports) = Duplex::new(100_000, End::AtOnce);
    host.listen(PORT, once(STACK, duplex));
    let running = Running::start(host);
    strangers(&kernel);
    let to = SocketAddr::new(our_address(Family::V4), PORT);
    let theirs = kernel.spawn("kernel", move || {
        testbed::converse(TcpStream::connect(to)?, 100_000)
    });
    let report = wait(&reports);
    let receipt = theirs.expect("a thread").join().expect("no panic");
    assert!(report.outcome.is_complete(), "{report:?}");
    assert_eq!(report.hash, Digest::of_pattern(testbed::SEED, 100_000));
    let sent = Digest::of_pattern(SEED, 100_000);
    assert_eq!(receipt.expect("the kernel's side").hash, sent);
    // The host stops by itself, so no state of the strangers is left.
    running.finish()
}

fn a_flood_of_syns() {
    let counters = after(|kernel| {
        send_syns(kernel, NOBODY, FIRST_PORT..FIRST_PORT + SYNS);
    });
    // The number of stored handshakes never exceeded the limit. The client's cookie is included.
    assert!(
        counters.cookies_sent >= u64::from(SYNS - ROOM),
        "{counters:?}"
    );
    assert_eq!(counters.cookies_returned, 1);
    assert_eq!(counters.displaced, 0);
}

/// Number of clients that connect one after the other while SYNs arrive.
const CLIENTS: u16 = 200;

/// Number of SYNs per second during this time.
const SYNS_PER_SECOND: u32 = 5000;

fn a_flood_that_goes_on() {
    let (kernel, mut host) = Scene::usual().split_with_room(usize::from(ROOM));
    host.listen(PORT, Box::new(Greeter));
    let running = Running::start(host);
    let (over, sent) = (AtomicBool::new(false), AtomicU16::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let first = FIRST_PORT + sent.fetch_add(AT_ONCE, Ordering::Relaxed) % SYNS;
                send_syns(&kernel, NOBODY, first..first + AT_ONCE);
                std::thread::sleep(Duration::from_secs(1) * u32::from(AT_ONCE) / SYNS_PER_SECOND);
            }
        });
        eventually(|| sent.load(Ordering::Relaxed) > 2 * ROOM);
        let to = SocketAddr::new(our_address(Family::V4), PORT);
        let client = move |_| {
            std::thread::sleep(Duration::from_secs(1) / u32::from(CLIENTS));
            greeted(to)
        };
        let clients = kernel.run(move || (0..CLIENTS).map(client).collect::<Vec<_>>());
        over.store(true, Ordering::Relaxed);
        let failed: Vec<_> = clients.iter().filter_map(|c| c.as_ref().err()).collect();
        assert!(
            failed.is_empty(),
            "{} of {CLIENTS}: {failed:?}",
            failed.len()
        );
    });
    running.waker.stop();
    let counters = running.finish();
    assert!(counters.cookies_returned > 0, "{counters:?}");
}

/// Connects and reads the whole greeting.
fn greeted(to: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said)?;
    match said == GREETING {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("{} bytes", said.len()))),
    }
}

const GREETING: &[u8] = b"hello";

/// Listener that sends a greeting to every client and closes.
struct Greeter;

impl Listener for Greeter {
    fn offer(&mut self, _: SocketAddr) -> Option<Offer> {
        Some(offer(STACK))
    }

    fn accept(&mut self, _: SocketAddr) -> Option<Box<dyn Application>> {
        Some(Box::new(Greeting(false)))
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// Application that sends the greeting. The value is `true` once the greeting has been sent.
struct Greeting(bool);

impl Application for Greeting {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        if std::mem::replace(&mut self.0, true) {
            return Supply::End;
        }
        room[..GREETING.len()].copy_from_slice(GREETING);
        Supply::Bytes(GREETING.len())
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }
}

fn a_scan_of_syns_and_resets() {
    let counters = after(|kernel| {
        // The kernel does not know these connections, so it resets them when the host answers.
        let before = resets(kernel);
        for start in (0..SYNS).step_by(usize::from(AT_ONCE)) {
            let first = FIRST_PORT + start;
            send_syns(kernel, kernel_address(Family::V4), first..first + AT_ONCE);
            eventually(|| resets(kernel) >= before + u64::from(start + AT_ONCE));
        }
    });
    assert_eq!(counters.displaced, 0, "each made room by itself");
}

fn a_single_syn() {
    let counters = after(|kernel| send_syns(kernel, NOBODY, FIRST_PORT..FIRST_PORT + 1));
    assert_eq!(counters.displaced, 0);
}
