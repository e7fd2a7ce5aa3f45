//! Tests of the endpoint with the kernel's TCP, in all ways to open and close a connection.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use dupack_tcp::connection::{EcnOffer, Flags, Reason};
use dupack_wire::Family;
use dupack_wire::host::{Digest, Pattern, Pipe};
use dupack_wire::namespace::Namespace;
use dupack_wire::tun::Offload;
use nix::sys::socket::{setsockopt, sockopt};

use crate::ours::{
    Duplex, End, Report, Running, SEED, Scene, kernel_address, offer, once, opening, our_address,
    wait,
};
use crate::testbed::{self, Case, PORT, Receipt, case, eventually};
use crate::watch::{Ecn, Seen, Watch};

const STACK: &str = "sack/reno";
const MEGABYTES: u64 = 3_000_000;

pub fn cases() -> Vec<Case> {
    vec![
        case("connect_to_kernel_v4", connect_to_kernel_v4),
        case("connect_to_kernel_v6", connect_to_kernel_v6),
        case("accept_from_kernel_v4", accept_from_kernel_v4),
        case("accept_from_kernel_v6", accept_from_kernel_v6),
        case("plain_packets_v4", plain_packets_v4),
        case("plain_packets_v6", plain_packets_v6),
        case("small_mtu", small_mtu),
        case("large_mtu", large_mtu),
        case("kernel_without_sack", kernel_without_sack),
        case("kernel_without_timestamps", kernel_without_timestamps),
        case(
            "kernel_without_window_scaling",
            kernel_without_window_scaling,
        ),
        case("kernel_that_asks_for_ecn", kernel_that_asks_for_ecn),
        case(
            "kernel_that_is_asked_for_accurate_ecn",
            kernel_that_is_asked_for_accurate_ecn,
        ),
        case("we_finish_first", we_finish_first),
        case("kernel_finishes_first", kernel_finishes_first),
        case("nothing_but_a_handshake", nothing_but_a_handshake),
        case("kernel_refuses", kernel_refuses),
        case("we_refuse", we_refuse),
        case("kernel_resets", kernel_resets),
        case("we_reset", we_reset),
        case("kernel_stops_reading", kernel_stops_reading),
        case("we_stop_reading", we_stop_reading),
        case("many_connections", many_connections),
        case(
            "a_pipe_between_streams_that_wait",
            a_pipe_between_streams_that_wait,
        ),
    ]
}

/// The end that opens the connection.
#[derive(Clone, Copy)]
enum Opener {
    Us,
    Kernel,
}

/// Amount of data in an exchange, and the time at which our side closes.
#[derive(Clone, Copy)]
struct Exchange {
    opener: Opener,
    /// Our ECN offer, if it differs from that of the dialect.
    ecn: Option<EcnOffer>,
    family: Family,
    ours: u64,
    kernels: u64,
    end: End,
}

impl Exchange {
    const USUAL: Self = Self {
        opener: Opener::Us,
        ecn: None,
        family: Family::V4,
        ours: MEGABYTES,
        kernels: MEGABYTES,
        end: End::AtOnce,
    };

    /// Runs the exchange, verifies both streams by their hashes, and returns our report.
    fn run(self, scene: Scene) -> Report {
        let (kernel, mut host) = scene.split();
        let (duplex, reports) = Duplex::new(self.ours, self.end);
        let bytes = self.kernels;
        let theirs = match self.opener {
            Opener::Us => {
                let listener = listen(&kernel, self.family);
                let mut offered = offer(STACK);
                if let Some(ecn) = self.ecn {
                    offered.config.offer.ecn = ecn;
                }
                host.connect(listener.1, offered.used_by(duplex))
                    .expect("a connection");
                kernel.spawn("kernel", move || {
                    testbed::converse(listener.0.accept()?.0, bytes)
                })
            }
            Opener::Kernel => {
                host.listen(PORT, once(STACK, duplex));
                let to = SocketAddr::new(our_address(self.family), PORT);
                kernel.spawn("kernel", move || {
                    testbed::converse(TcpStream::connect(to)?, bytes)
                })
            }
        };
        let running = Running::start(host);
        let report = wait(&reports);
        let receipt = theirs.expect("a thread").join().expect("no panic");
        self.check(&report, &receipt.expect("the kernel's side"));
        running.finish();
        report
    }

    fn check(&self, report: &Report, receipt: &Receipt) {
        assert!(report.outcome.is_complete(), "{:?}", report.outcome);
        assert_eq!(report.outcome.sent_bytes, self.ours);
        assert_eq!((receipt.bytes, report.bytes), (self.ours, self.kernels));
        assert_eq!(receipt.hash, Digest::of_pattern(SEED, self.ours));
        let expected = Digest::of_pattern(testbed::SEED, self.kernels);
        assert_eq!(report.hash, expected);
    }
}

fn listen(kernel: &Namespace, family: Family) -> (TcpListener, SocketAddr) {
    let address = SocketAddr::new(kernel_address(family), PORT);
    let listener = kernel.run(move || TcpListener::bind(address));
    (listener.expect("the port is free"), address)
}

// --- opening ------------------------------------------------------------------------------

fn connect_to_kernel_v4() {
    Exchange::USUAL.run(Scene::usual());
}

fn connect_to_kernel_v6() {
    let family = Family::V6;
    Exchange {
        family,
        ..Exchange::USUAL
    }
    .run(Scene::usual());
}

fn accept_from_kernel_v4() {
    let opener = Opener::Kernel;
    Exchange {
        opener,
        ..Exchange::USUAL
    }
    .run(Scene::usual());
}

fn accept_from_kernel_v6() {
    Exchange {
        opener: Opener::Kernel,
        family: Family::V6,
        ..Exchange::USUAL
    }
    .run(Scene::usual());
}

fn nothing_but_a_handshake() {
    for opener in [Opener::Us, Opener::Kernel] {
        Exchange {
            opener,
            ours: 0,
            kernels: 0,
            ..Exchange::USUAL
        }
        .run(Scene::usual());
    }
}

// --- packets ------------------------------------------------------------------------------

fn plain_packets_v4() {
    Exchange::USUAL.run(Scene::new(1500, Offload::Off));
}

fn plain_packets_v6() {
    Exchange {
        opener: Opener::Kernel,
        family: Family::V6,
        ..Exchange::USUAL
    }
    .run(Scene::new(1500, Offload::Off));
}

fn small_mtu() {
    // The values are the minimum of IPv6 (RFC 8200 §5), and an MTU that only IPv4 allows.
    for (mtu, family) in [(1280, Family::V6), (296, Family::V4)] {
        let report = Exchange {
            family,
            ours: 300_000,
            kernels: 300_000,
            ..Exchange::USUAL
        }
        .run(Scene::new(mtu, Offload::WherePossible));
        let headers = if family == Family::V4 { 52 } else { 72 };
        let negotiated = report.outcome.negotiated.expect("a handshake");
        assert_eq!(negotiated.smss, u32::from(mtu) - headers);
    }
}

fn large_mtu() {
    let report = Exchange::USUAL.run(Scene::new(9000, Offload::WherePossible));
    let negotiated = report.outcome.negotiated.expect("a handshake");
    assert_eq!(negotiated.smss, 9000 - 52);
}

// --- options ------------------------------------------------------------------------------

fn with_setting(setting: &str, value: &str) -> Report {
    let mut last = None;
    for opener in [Opener::Us, Opener::Kernel] {
        let scene = Scene::usual();
        scene.kernel.set(setting, value).expect("a setting");
        let report = Exchange {
            opener,
            ..Exchange::USUAL
        }
        .run(scene);
        last = Some(report);
    }
    last.expect("two runs")
}

fn kernel_without_sack() {
    let report = with_setting("ipv4/tcp_sack", "0");
    let negotiated = report.outcome.negotiated.expect("a handshake");
    assert!(!negotiated.sack.is_on());
}

fn kernel_without_timestamps() {
    let report = with_setting("ipv4/tcp_timestamps", "0");
    let negotiated = report.outcome.negotiated.expect("a handshake");
    assert!(!negotiated.timestamps.is_on());
    assert_eq!(negotiated.smss, 1460);
}

fn kernel_without_window_scaling() {
    let report = with_setting("ipv4/tcp_window_scaling", "0");
    let shifts = report.outcome.negotiated.expect("a handshake").shifts;
    assert_eq!((shifts.ours, shifts.peers), (0, 0));
}

/// If the kernel opens the connection, it requests ECN and we agree: new data is ECN-capable, and nothing is marked. If
/// we open the connection, we do not request ECN, because Linux does not do so by default.
fn kernel_that_asks_for_ecn() {
    for opener in [Opener::Us, Opener::Kernel] {
        let scene = Scene::usual();
        scene.kernel.set("ipv4/tcp_ecn", "1").expect("a setting");
        let watch = Watch::start(&scene.kernel);
        Exchange {
            opener,
            ..Exchange::USUAL
        }
        .run(scene);
        let asks = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
        let ours = watch.from(our_address(Family::V4));
        let kernels = watch.from(kernel_address(Family::V4));
        let has_asked = kernels.iter().any(|it| it.segment.flags.contains(asks));
        let agreed = matches!(opener, Opener::Kernel);
        assert_eq!(has_asked, agreed);
        assert!(ours.len() > 2 && kernels.len() > 2);
        for packets in [&ours, &kernels] {
            let has_data = packets.iter().any(|it| it.segment.len > 0);
            let is_capable = packets.iter().any(|it| it.ecn == Ecn::Capable);
            assert_eq!(is_capable, agreed && has_data);
        }
        for packet in ours.iter().filter(|it| it.ecn == Ecn::Capable) {
            assert!(packet.segment.len > 0, "{packet:?}");
        }
        for Seen { segment, .. } in &ours {
            let answers = segment.flags.contains(Flags::SYN);
            let says_yes = segment.flags.contains(Flags::ECE);
            assert_eq!(says_yes, answers && agreed, "{segment:?}");
            assert!(!segment.flags.contains(Flags::CWR), "{segment:?}");
        }
    }
}

/// We request Accurate ECN. A kernel that supports it agrees. Any other kernel agrees to classic ECN.
fn kernel_that_is_asked_for_accurate_ecn() {
    let scene = Scene::usual();
    let agreed = match scene.kernel.set("ipv4/tcp_ecn", "3") {
        Ok(()) => dupack_tcp::options::Ecn::Accurate,
        // Linux supports values above 2 since 7.0.
        Err(_) => dupack_tcp::options::Ecn::Classic,
    };
    let report = Exchange {
        ecn: Some(EcnOffer::AccurateOffered),
        ..Exchange::USUAL
    }
    .run(scene);
    let negotiated = report.outcome.negotiated.expect("a handshake");
    assert_eq!(negotiated.ecn, agreed);
}

// --- closing ------------------------------------------------------------------------------

fn we_finish_first() {
    Exchange {
        ours: 1000,
        ..Exchange::USUAL
    }
    .run(Scene::usual());
}

fn kernel_finishes_first() {
    for opener in [Opener::Us, Opener::Kernel] {
        Exchange {
            opener,
            kernels: 1000,
            end: End::AfterPeer,
            ..Exchange::USUAL
        }
        .run(Scene::usual());
    }
}

fn kernel_refuses() {
    let (_kernel, mut host) = Scene::usual().split();
    let (duplex, reports) = Duplex::new(10, End::AtOnce);
    let nobody = SocketAddr::new(kernel_address(Family::V4), PORT);
    host.connect(nobody, opening(STACK, duplex))
        .expect("a connection");
    let running = Running::start(host);
    assert_eq!(wait(&reports).outcome.reason, Some(Reason::Refused));
    running.finish();
}

fn we_refuse() {
    for family in [Family::V4, Family::V6] {
        let (kernel, mut host) = Scene::usual().split();
        // The host listens, but on a different port.
        let (duplex, _reports) = Duplex::new(10, End::AtOnce);
        host.listen(PORT + 1, once(STACK, duplex));
        let _running = Running::start(host);
        let to = SocketAddr::new(our_address(family), PORT);
        let error = kernel.run(move || TcpStream::connect(to).expect_err("refused"));
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}

fn kernel_resets() {
    let (kernel, mut host) = Scene::usual().split();
    let (listener, address) = listen(&kernel, Family::V4);
    let (duplex, reports) = Duplex::new(MEGABYTES, End::AtOnce);
    host.connect(address, opening(STACK, duplex))
        .expect("a connection");
    let running = Running::start(host);
    let job = move || {
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut [0; 1000])?;
        // Closing with unread data and without lingering sends a RST.
        let at_once = nix::libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&stream, sockopt::Linger, &at_once)?;
        io::Result::Ok(())
    };
    kernel.run(job).expect("the kernel's side");
    assert_eq!(wait(&reports).outcome.reason, Some(Reason::Reset));
    running.finish();
}

fn we_reset() {
    let (kernel, mut host) = Scene::usual().split();
    let (listener, address) = listen(&kernel, Family::V4);
    let (duplex, reports) = Duplex::new(MEGABYTES, End::AfterPeer);
    host.connect(address, opening(STACK, duplex))
        .expect("a connection");
    let running = Running::start(host);
    let job = move || {
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut vec![0; MEGABYTES as usize])?;
        io::Result::Ok(stream)
    };
    let mut stream = kernel.run(job).expect("the kernel's side");
    running.waker.stop();
    let error = stream.read(&mut [0]).expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(wait(&reports).outcome.reason, Some(Reason::Aborted));
    running.finish();
}

// --- windows ------------------------------------------------------------------------------

/// Number of window probes before the closed window opens again.
const PROBES: u64 = 2;

fn kernel_stops_reading() {
    let (kernel, mut host) = Scene::usual().split();
    let (listener, address) = listen(&kernel, Family::V4);
    let bytes = 4 * MEGABYTES;
    let (duplex, reports) = Duplex::new(bytes, End::AtOnce);
    host.connect(address, opening(STACK, duplex))
        .expect("a connection");
    let watch = Watch::start(&kernel);
    let theirs = kernel.spawn("kernel", move || {
        let (stream, _) = listener.accept()?;
        probed(&watch, our_address(Family::V4));
        testbed::converse(stream, 0)
    });
    let running = Running::start(host);
    let report = wait(&reports);
    let receipt = theirs.expect("a thread").join().expect("no panic");
    let receipt = receipt.expect("the kernel's side");
    assert!(report.outcome.is_complete());
    assert_eq!(receipt.hash, Digest::of_pattern(SEED, bytes));
    let sender = report.outcome.sender.expect("it has sent");
    assert!(sender.window_probes >= PROBES, "{sender:?}");
    running.finish();
}

/// Waits until `prober` has probed a closed window [`PROBES`] times.
fn probed(watch: &Watch, prober: IpAddr) {
    eventually(|| watch.probes_of_a_closed_window(prober) as u64 >= PROBES);
}

fn we_stop_reading() {
    let (kernel, mut host) = Scene::usual().split();
    let (mut duplex, reports) = Duplex::new(0, End::AfterPeer);
    let gate = duplex.behind_a_gate();
    host.listen(PORT, once(STACK, duplex));
    let to = SocketAddr::new(our_address(Family::V4), PORT);
    let watch = Watch::start(&kernel);
    let running = Running::start(host);
    let bytes = 4 * MEGABYTES;
    let theirs = kernel.spawn("kernel", move || {
        testbed::converse(TcpStream::connect(to)?, bytes)
    });
    probed(&watch, kernel_address(Family::V4));
    gate.store(true, Ordering::Release);
    running.waker.wake();
    let report = wait(&reports);
    theirs
        .expect("a thread")
        .join()
        .expect("no panic")
        .expect("the kernel's side");
    assert!(report.outcome.is_complete());
    assert_eq!(report.hash, Digest::of_pattern(testbed::SEED, bytes));
    running.finish();
}

fn many_connections() {
    const COUNT: usize = 50;
    let (kernel, mut host) = Scene::usual().split();
    let (listener, address) = listen(&kernel, Family::V4);
    let mut all = Vec::new();
    for _ in 0..COUNT {
        let (duplex, reports) = Duplex::new(100_000, End::AtOnce);
        host.connect(address, opening(STACK, duplex))
            .expect("a connection");
        all.push(reports);
    }
    let theirs = kernel.spawn("kernel", move || {
        let mut conversations = Vec::new();
        for _ in 0..COUNT {
            let (stream, _) = listener.accept()?;
            conversations.push(thread::spawn(|| testbed::converse(stream, 100_000)));
        }
        let join = |talk: thread::JoinHandle<io::Result<Receipt>>| talk.join().expect("no panic");
        conversations
            .into_iter()
            .map(join)
            .collect::<io::Result<Vec<_>>>()
    });
    let running = Running::start(host);
    for reports in all {
        let report = wait(&reports);
        assert!(report.outcome.is_complete());
        assert_eq!(report.hash, Digest::of_pattern(testbed::SEED, 100_000));
    }
    let receipts = theirs.expect("a thread").join().expect("no panic");
    for receipt in receipts.expect("the kernel's side") {
        assert_eq!(receipt.hash, Digest::of_pattern(SEED, 100_000));
    }
    running.finish();
}

// --- pipes --------------------------------------------------------------------------------

/// Output that is slower than the connection.
struct Slow(std::sync::mpsc::Sender<Digest>, Digest);

impl io::Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(1));
        self.1.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // If the receiver has been dropped, the test has already failed.
        let _ = self.0.send(std::mem::take(&mut self.1));
        Ok(())
    }
}

fn a_pipe_between_streams_that_wait() {
    let (kernel, mut host) = Scene::usual().split();
    let (listener, address) = listen(&kernel, Family::V6);
    let mut bytes = vec![0; MEGABYTES as usize];
    Pattern::new(SEED).fill(&mut bytes);
    let (digests, written) = std::sync::mpsc::channel();
    let output = Slow(digests, Digest::default());
    let input = Box::new(io::Cursor::new(bytes));
    let (pipe, end) = Pipe::new(Some(input), Box::new(output), &host.waker()).expect("threads");
    host.connect(address, opening(STACK, pipe))
        .expect("a connection");
    let theirs = kernel.spawn("kernel", move || {
        testbed::converse(listener.accept()?.0, MEGABYTES)
    });
    Running::start(host).finish();
    let outcome = end.finish().expect("no stream failed");
    let outcome = outcome.expect("there was a connection");
    assert!(outcome.is_complete(), "{outcome:?}");
    let receipt = theirs.expect("a thread").join().expect("no panic");
    let sent = Digest::of_pattern(SEED, MEGABYTES);
    assert_eq!(receipt.expect("the kernel's side").hash, sent);
    let received = written.recv().expect("it was flushed");
    assert_eq!(
        received.value(),
        Digest::of_pattern(testbed::SEED, MEGABYTES)
    );
}
