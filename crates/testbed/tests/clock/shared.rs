//! Several senders at the same time on real packets: the kernel's and ours over one emulated path.
#![cfg(target_os = "linux")]

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::{Disk, Source};
use dupack_lab::results::Measure;
use dupack_lab::run::Interrupt;
use dupack_lab::units::Delay;
use dupack_tcp::time::Duration;
use dupack_testbed::{Shared, SharedError};
use dupack_wire::path::Trust;

use crate::skipping;

/// A path with a short buffer whose rate is halved in the middle of the run.
const FILE: &str = r#"
stacks = ["kernel:cubic"]
dialect = "linux"
duration = "4s"
[path]
rate = "8Mbit/s"
delay = "10ms"
buffer = "14pkt"
[[path.changes]]
at = "2s"
rate = "4Mbit/s"
[[flows]]
name = "standing"
[[flows]]
name = "beside"
stack = "rack/cubic"
count = 2
start_spread = "500ms"
[[flows]]
name = "reno"
stack = "kernel:reno"
"#;

/// Tolerance for tests that do not depend on the machine's speed.
const GENEROUS: Delay = Delay::from_nanos(10_000_000_000);

/// Maximum lateness of the path for the checks of the delivered amount.
const IN_TIME: Duration = Duration::from_millis(5);

/// This is a single test, because each part takes time and must run alone. It checks that the flows share the link,
/// that each flow has its own counters, and that the error for an unknown congestion control contains its name.
#[test]
fn senders_of_both_kinds_share_a_path_and_each_has_its_own_count() {
    let source = Source::new("test.toml", FILE.to_owned());
    let experiment = source.parse().unwrap();
    let shared = |sender| Shared::new(&experiment, sender, &Catalog::builtin(), &Disk).unwrap();
    let unknown = shared("kernel:no_such_thing").probe();
    let this = shared("kernel:cubic");
    if let Err(error) = this.probe() {
        return skipping::skip(&error.to_string());
    }
    let Err(SharedError::Here(error)) = unknown else {
        panic!("{unknown:?}");
    };
    assert!(error.to_string().contains("no_such_thing"), "{error}");

    let outcome = match this.run(1, GENEROUS, &Interrupt::new()) {
        Ok(outcome) => outcome.expect("nobody interrupts it"),
        Err(error @ SharedError::Here(_)) => return skipping::skip(&error.to_string()),
        Err(error) => panic!("{error}"),
    };
    let senders = outcome.flows.iter().map(|flow| flow.sender.as_str());
    let senders: Vec<&str> = senders.collect();
    assert_eq!(
        senders,
        ["kernel:cubic", "rack/cubic", "rack/cubic", "kernel:reno"]
    );
    for flow in &outcome.flows {
        let (segments, again) = flow.segments.expect("every sender says what it counted");
        assert!(flow.goodput_mbit_s > 0.0 && again < segments, "{flow:?}");
        // This holds on any machine, because the path ends its count before the senders' counters are read.
        let (offered, dropped) = (flow.offered, flow.dropped);
        assert!(dropped <= offered && offered <= segments, "{flow:?}");
        let (median, p95) = flow.waits_ms.expect("a FIFO says how long packets wait");
        // The longest queue has 14 packets of 1500 bytes at 4 Mbit/s, plus the packet in transmission.
        assert!(median <= p95 && p95 < 46.0, "{flow:?}");
    }
    let dropped: u64 = outcome.flows.iter().map(|flow| flow.dropped).sum();
    let on_link = outcome.path.forward.link.drops.total();
    assert!(dropped <= on_link, "{dropped} of {on_link}");
    // The link carries 8 Mbit/s for two seconds and 4 Mbit/s for two seconds, with headers. A flow's goodput counts
    // from its own start.
    let total = outcome.values.get(Measure::TotalGoodput).unwrap();
    assert!(total < 6.9, "{total} Mbit/s");
    let own = outcome.values.get(Measure::Goodput).unwrap();
    let first = outcome.flows[0].goodput_mbit_s;
    assert!((own - first).abs() < 1e-9, "{own} {first}");
    // If the machine is slow, the path carries less and its buffer may not overflow.
    if outcome.path.trust(IN_TIME) != Trust::Sound {
        return;
    }
    assert!(total > 3.5 && dropped > 0, "{total} Mbit/s, {dropped}");
    for flow in &outcome.flows {
        let (segments, _) = flow.segments.unwrap_or_default();
        assert!(flow.goodput_mbit_s > 0.1 && segments > 50, "{flow:?}");
        // The segments that were sent but have not reached the link are fewer than a window, which is at most about
        // twice the capacity of the buffer and the path together.
        assert!(flow.offered + 100 > segments, "{flow:?}");
    }
}
