//! Tests of the endpoint and the kernel over a path whose MTU is smaller than that of their links, with and without a
//! router that reports it.

use std::net::{SocketAddr, TcpListener};

use dupack_net::link::LinkConfig;
use dupack_tcp::connection::ProbingRule;
use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::host::{ConnectionReport, Digest};
use dupack_wire::path::{
    Attachment, HopSays, NarrowHop, PathConfig, PathNetwork, PathReport, Side,
};
use dupack_wire::tun::Offload;

use crate::ours::{Duplex, End, Running, SEED, host, offer, wait};
use crate::testbed::{self, Case, PORT, case};

const BYTES: u64 = 2_000_000;

/// MTU of the path: the minimum that IPv6 permits, and less than the MTU of both links.
const NARROW: u16 = 1280;

pub fn cases() -> Vec<Case> {
    vec![
        case("narrow_path_that_says_so_v4", || {
            says_so(Family::V4, Offload::WherePossible)
        }),
        case("narrow_path_that_says_so_v6", || {
            says_so(Family::V6, Offload::WherePossible)
        }),
        case("narrow_path_of_plain_packets", || {
            says_so(Family::V4, Offload::Off)
        }),
        case("a_black_hole_and_probes_v4", || {
            black_hole(Family::V4, ProbingRule::Always)
        }),
        case("a_black_hole_and_probes_v6", || {
            black_hole(Family::V6, ProbingRule::Always)
        }),
        case("a_black_hole_and_timeouts", || {
            black_hole(Family::V4, ProbingRule::BlackHole)
        }),
        case("no_black_hole_and_probes", nothing_narrow),
    ]
}

/// Result of our connection, and the traffic of the path.
struct Passed {
    outcome: ConnectionReport,
    report: PathReport,
}

/// Sends 2 MB from our side to the kernel's, and `kernels` bytes back.
fn exchange(
    hops: [Option<NarrowHop>; 2],
    family: Family,
    offload: Offload,
    probing: ProbingRule,
    kernels: u64,
) -> Passed {
    let link = LinkConfig::pure_delay(Duration::from_millis(2));
    let mut config = PathConfig::new(link.clone(), link, 7);
    [config.forward_hop, config.backward_hop] = hops;
    let attachment = Attachment {
        near: offload,
        far: offload,
        ..Attachment::default()
    };
    let network = PathNetwork::new(&config, attachment).expect("a network");
    let device = network
        .attach_endpoint(Side::Near, 1500, offload)
        .expect("a device");
    let mut host = host(device.addresses, device.tun);
    let (duplex, reports) = Duplex::new(BYTES, End::AtOnce);
    let far = SocketAddr::new(Side::Far.address(family), PORT);
    let kernel = network.host(Side::Far);
    let listener = kernel
        .run(move || TcpListener::bind(far))
        .expect("the port is free");
    let mut offer = offer("rack/cubic");
    offer.config.path_mtu.probing = probing;
    host.connect(far, offer.used_by(duplex))
        .expect("a connection");
    let theirs = kernel
        .spawn("kernel", move || {
            testbed::converse(listener.accept()?.0, kernels)
        })
        .expect("a thread");
    let running = Running::start(host);
    let report = wait(&reports);
    let receipt = theirs.join().expect("no panic").expect("the kernel's side");
    assert!(report.outcome.is_complete(), "{:?}", report.outcome);
    assert_eq!((receipt.bytes, report.bytes), (BYTES, kernels));
    assert_eq!(receipt.hash, Digest::of_pattern(SEED, BYTES));
    assert_eq!(report.hash, Digest::of_pattern(testbed::SEED, kernels));
    running.finish();
    let passed = Passed {
        outcome: report.outcome,
        report: network.stop().expect("a report"),
    };
    eprintln!("{:?}", passed.outcome.path);
    passed
}

/// Returns the maximum payload of a segment with timestamps on the narrow path, in bytes.
fn most(family: Family) -> u32 {
    let headers = match family {
        Family::V4 => 40,
        Family::V6 => 60,
    };
    u32::from(NARROW) - headers - 12
}

/// Both ends receive the router's message: segments become smaller immediately, and both streams arrive.
fn says_so(family: Family, offload: Offload) {
    let hop = NarrowHop {
        mtu: NARROW,
        says: HopSays::PacketTooBig,
    };
    let passed = exchange([Some(hop); 2], family, offload, ProbingRule::Off, BYTES);
    let outcome = passed.outcome;
    assert_eq!(outcome.segment_size, Some(most(family)));
    assert_eq!(outcome.path.too_big, 1);
    let stats = outcome.sender.expect("it has sent");
    assert_eq!(stats.timeouts, 0, "{stats:?}");
    // The dropped packets are at most one window of ours and one window of the kernel's.
    for lane in [passed.report.forward, passed.report.backward] {
        assert!((1..200).contains(&lane.too_big), "{}", lane.too_big);
    }
}

/// No router sends a message, and our side detects the black hole.
fn black_hole(family: Family, probing: ProbingRule) {
    let hop = NarrowHop {
        mtu: NARROW,
        says: HopSays::Nothing,
    };
    let passed = exchange(
        [Some(hop), None],
        family,
        Offload::WherePossible,
        probing,
        BYTES,
    );
    let outcome = passed.outcome;
    let size = outcome.segment_size.expect("it was established");
    assert!(size <= most(family), "{size}");
    assert_eq!(outcome.path.too_big, 0);
    let holes = u64::from(probing == ProbingRule::BlackHole);
    assert_eq!(outcome.path.black_holes, holes);
    assert!(passed.report.forward.too_big > 0);
    if family == Family::V4 {
        // The path's MTU exceeds the start of the search, 1024 bytes, so the search needed probes.
        assert!(outcome.path.probes > 0, "{:?}", outcome.path);
    }
}

/// If the path is as wide as the links, the search ends near the MTU of the links.
fn nothing_narrow() {
    let passed = exchange(
        [None, None],
        Family::V4,
        Offload::WherePossible,
        ProbingRule::Always,
        0,
    );
    let size = passed.outcome.segment_size.expect("it was established");
    assert!((1430..=1448).contains(&size), "{size}");
    assert_eq!(passed.outcome.path.probes_lost, 0);
}
