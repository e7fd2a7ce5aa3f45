//! Tests of an application with pauses on real packets, with our sender and the kernel's, and of the senders'
//! statistics.
#![cfg(target_os = "linux")]

use dupack_algorithms::catalog::{Catalog, Dialect};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;
use dupack_tcp::facts::SendReason;
use dupack_tcp::time::Duration;
use dupack_testbed::{SenderSpec, writes};
use dupack_wire::path::PathConfig;
use dupack_wire::transfer::{Extent, ReadPauses, Recording, TransferConfig, probe, transfer};

use crate::skipping;

/// The application writes five responses of 20 kB, at intervals of 100 ms after each is acknowledged.
const FILE: &str = r#"
stacks = ["sack/reno"]
dialect = "linux"
duration = "20s"
[path]
rate = "20Mbit/s"
delay = "5ms"
buffer = "100pkt"
[[flows]]
writes = [{ bytes = "20kB" }, { after = "100ms", bytes = "20kB", count = 4 }]
"#;

const PAUSES: Duration = Duration::from_millis(400);

fn config() -> TransferConfig {
    let source = Source::new("test.toml", FILE.to_owned());
    let experiment = source.parse().unwrap();
    let plan = Plan::new(experiment.clone(), &source, &Catalog::builtin()).unwrap();
    let job = plan.jobs().remove(0);
    let (forward, backward) = plan.scenario(job).path_links(1).unwrap();
    let path = PathConfig::new(forward, backward, 1);
    let mut config = TransferConfig::new(path, 0, Duration::from_secs(20));
    config.writes = writes(&experiment);
    config.recording = Recording::On;
    config
}

/// This is a single test, because each part takes time and must run alone.
#[test]
fn pauses_of_an_application_show_in_its_sender() {
    if let Err(error) = probe("reno") {
        return skipping::skip(&error.to_string());
    }
    let config = config();
    assert_eq!(config.total(), 100_000);
    for sender in ["sack/reno", "kernel:reno"] {
        let spec = SenderSpec::parse(sender, &Catalog::builtin()).unwrap();
        let report = transfer(&config, spec.origin(Dialect::Linux), &|| false).unwrap();
        assert_eq!((report.extent, report.bytes), (Extent::Whole, 100_000));
        assert!(report.lasted >= PAUSES, "{sender}: {:?}", report.lasted);
        match report.times {
            Some(times) => {
                assert_eq!(sender, "kernel:reno");
                assert!(
                    times.busy + PAUSES <= report.lasted + Duration::from_millis(50),
                    "{times:?}"
                );
                assert!(times.busy > Duration::ZERO && times.port > 0, "{times:?}");
            }
            None => {
                let news = report.transmissions.iter();
                let news = news.filter(|one| one.why == SendReason::NewData);
                let bytes: u64 = news.map(|one| u64::from(one.len)).sum();
                // The FIN may count as one more byte.
                assert!((100_000..=100_001).contains(&bytes), "{bytes}");
            }
        }
    }
    a_reader_that_stops_fills_its_window(config);
}

/// Sends 100 kB through a receive window of 20 kB. In the middle, the reader pauses for half a second.
fn a_reader_that_stops_fills_its_window(mut config: TransferConfig) {
    let time = Duration::from_millis(500);
    config.bytes = 100_000;
    config.writes.clear();
    config.receiver.window = Some(20_000);
    config.receiver.pauses = Some(ReadPauses {
        every: 50_000,
        time,
    });
    let kernel = SenderSpec::parse("kernel:reno", &Catalog::builtin()).unwrap();
    let report = transfer(&config, kernel.origin(Dialect::Linux), &|| false).unwrap();
    assert_eq!((report.extent, report.bytes), (Extent::Whole, 100_000));
    let times = report.times.expect("the kernel tells its times");
    assert!(
        report.lasted >= time && times.receive_window >= time / 2,
        "{times:?}"
    );
}
