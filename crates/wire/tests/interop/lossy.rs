//! Tests that transfer megabytes in both directions at once, with 5 % loss each way, for every recovery in the catalog.
//!
//! `cargo xtask interop` transfers 100 MB.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration as StdDuration;

use dupack_algorithms::catalog::{Axis, Catalog};
use dupack_net::link::{DropCause, LinkConfig, LossModel};
use dupack_net::units::Probability;
use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::host::Digest;
use dupack_wire::path::{Attachment, PathConfig, PathNetwork, Side};
use dupack_wire::tun::Offload;

use crate::ours::{Duplex, End, Running, SEED, host, opening};
use crate::testbed::{self, Case, PORT};

/// Number of bytes in every run of the tests, and before a release.
const BYTES: [u64; 2] = [4_000_000, 10_000_000];

/// Environment variable that sets another number of bytes (used by `xtask/src/interop.rs`).
const BYTES_VARIABLE: &str = "DUPACK_LOSSY_BYTES";

/// Minimum goodput of any recovery: a timeout of 200 ms for every ten segments.
const SLOWEST_BYTES_PER_SECOND: u64 = 70_000;

pub fn cases() -> Vec<Case> {
    let case = |(index, name): (usize, String)| {
        // Each family gets half of the recoveries.
        let family = [Family::V4, Family::V6][index % 2];
        Case {
            name: format!("through_loss_{}", name.replace('-', "_")),
            test: Box::new(move || both_ways_through_loss(&name, family)),
            needs: None,
        }
    };
    let catalog = Catalog::builtin();
    let names = catalog.on(Axis::Recovery);
    let names = names.map(|entry| entry.name.to_string());
    names.enumerate().map(case).collect()
}

fn both_ways_through_loss(recovery: &str, family: Family) {
    let [every, release] = BYTES;
    let bytes = match std::env::var(BYTES_VARIABLE) {
        Ok(text) => text.parse().expect("a number of bytes"),
        Err(_) => dupack_testing::cases(every, release),
    };
    let patience = StdDuration::from_secs(30 + bytes / SLOWEST_BYTES_PER_SECOND);
    let stack = Catalog::builtin()
        .stacks()
        .find(|stack| stack.name(Axis::Recovery) == recovery)
        .expect("every recovery is in a stack");
    let loss = LossModel::Bernoulli(Probability::clamped(0.05));
    let link = LinkConfig::pure_delay(Duration::from_millis(1)).with_loss(loss);
    let config = PathConfig::new(link.clone(), link, 7);
    let network = PathNetwork::new(&config, Attachment::default()).expect("a network");
    let device = network
        .attach_endpoint(Side::Near, 1500, Offload::WherePossible)
        .expect("a device");
    let mut host = host(device.addresses, device.tun);
    let (duplex, reports) = Duplex::new(bytes, End::AtOnce);
    let far = SocketAddr::new(Side::Far.address(family), PORT);
    let kernel = network.host(Side::Far);
    let listener = kernel
        .run(move || TcpListener::bind(far))
        .expect("the port is free");
    host.connect(far, opening(&stack.to_string(), duplex))
        .expect("a connection");
    let theirs = kernel
        .spawn("kernel", move || {
            testbed::converse(listener.accept()?.0, bytes)
        })
        .expect("a thread");
    let running = Running::start(host);
    let report = reports.recv_timeout(patience).expect("a report in time");
    let receipt = theirs.join().expect("no panic").expect("the kernel's side");
    assert!(report.outcome.is_complete(), "{:?}", report.outcome);
    assert_eq!((receipt.bytes, report.bytes), (bytes, bytes));
    assert_eq!(receipt.hash, Digest::of_pattern(SEED, bytes));
    assert_eq!(report.hash, Digest::of_pattern(testbed::SEED, bytes));
    running.finish();
    let passed = network.stop().expect("a report");
    eprintln!(
        "{recovery}: {bytes} bytes both ways in {:.1} s, of {} packets {} lost",
        passed.lasted.as_secs_f64(),
        passed.forward.link.offered_packets + passed.backward.link.offered_packets,
        passed.forward.link.drops.total() + passed.backward.link.drops.total(),
    );
    for lane in [&passed.forward, &passed.backward] {
        assert!(lane.link.drops.of(DropCause::Random) > 100);
    }
}
