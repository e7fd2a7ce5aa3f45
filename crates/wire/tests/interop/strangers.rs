//! Strangers who ask for connections and never want one, and a good client after them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use dupack_packet::{Checksum, Envelope, emit};
use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_wire::Family;
use dupack_wire::host::{Digest, HostCounters};
use dupack_wire::namespace::Namespace;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
};

use crate::ours::{Duplex, End, Running, SEED, Scene, kernel_address, once, our_address, wait};
use crate::testbed::{self, Case, PORT, case, eventually};

const STACK: &str = "sack/reno";

/// Connections that the host may have at once.
pub const ROOM: u16 = 64;

/// SYNs in all, and at once where it matters.
pub const SYNS: u16 = 2048;
const AT_ONCE: u16 = ROOM / 2;

/// The first port of the strangers.
pub const FIRST_PORT: u16 = 10_000;

/// An address on the device's network that nobody has.
pub const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 97, 0, 77));

pub fn cases() -> Vec<Case> {
    vec![
        case("a_flood_of_syns", a_flood_of_syns),
        case("a_scan_of_syns_and_resets", a_scan_of_syns_and_resets),
        case("a_single_syn", a_single_syn),
    ]
}

/// Sends SYNs from `source`, whoever has that address, and as many ports.
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

/// RSTs that the kernel has sent.
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

/// Lets strangers have their way with a host that accepts one connection, and then a good client
/// talk with it.
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
    // It ends by itself: nothing is left of the strangers.
    running.finish()
}

fn a_flood_of_syns() {
    let counters = after(|kernel| {
        send_syns(kernel, NOBODY, FIRST_PORT..FIRST_PORT + SYNS);
    });
    // Each later one took the place of an earlier one: there were never more than fit.
    assert!(counters.displaced >= u64::from(SYNS - ROOM), "{counters:?}");
}

fn a_scan_of_syns_and_resets() {
    let counters = after(|kernel| {
        // The kernel knows nothing of these connections, and resets what is answered.
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
