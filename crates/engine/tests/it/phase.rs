//! Tests of phase effects: a few microseconds of round-trip time may decide which flow gets the link.

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Interrupt, Plan};

/// Returns an experiment with two near and two far flows that share a drop-tail queue. `near` and `far` are the one-way
/// delays of the links to this queue.
fn file([near, far]: [&str; 2], stack: &str, jitter: &str) -> String {
    format!(
        "stacks = [\"{stack}\"]\nseeds = 8\nduration = \"40s\"\nstarts = \"drawn\"\n{jitter}\n\
         [[links]]\nbetween = [\"near\", \"middle\"]\nrate = \"100Mbit/s\"\ndelay = \"{near}\"\n\
         [[links]]\nbetween = [\"far\", \"middle\"]\nrate = \"100Mbit/s\"\ndelay = \"{far}\"\n\
         [[links]]\nbetween = [\"middle\", \"end\"]\nrate = \"10Mbit/s\"\ndelay = \"5ms\"\nbuffer = \"50pkt\"\n\
         [[flows]]\nfrom = \"near\"\nto = \"end\"\ncount = 2\n[[flows]]\nfrom = \"far\"\nto = \"end\"\ncount = 2\n"
    )
}

fn plan(text: String) -> Plan {
    let source = Source::new("test.toml", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

/// Returns Jain's fairness index of the flows, and half the width of its 95 % confidence interval.
fn fairness(delays: [&str; 2], stack: &str, jitter: &str) -> (f64, f64) {
    let plan = plan(file(delays, stack, jitter));
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let fair = results.summary(0, 0, Measure::Fairness).unwrap();
    (fair.mean, fair.half_width_95.unwrap())
}

/// Delays for round-trip times of 35 and 95 ms. In `ODD`, these are 10 and 30 µs longer.
const ROUND: [&str; 2] = ["12.5ms", "42.5ms"];
const ODD: [&str; 2] = ["12.505ms", "42.515ms"];

#[test]
fn microseconds_of_round_trip_time_have_no_effect() {
    for stack in ["rack/cubic", "newreno/reno"] {
        let off = "processing_jitter = \"0s\"";
        let [(round, _), (odd, _)] = [ROUND, ODD].map(|delays| fairness(delays, stack, off));
        assert!(
            round - odd > 0.15,
            "{stack}: no phase effect, {round} {odd}"
        );

        let [(round, one), (odd, other)] = [ROUND, ODD].map(|delays| fairness(delays, stack, ""));
        let apart = (round - odd).abs();
        assert!(
            apart < one + other,
            "{stack}: {round} ±{one}, {odd} ±{other}"
        );
    }
}

#[test]
fn turning_off_jitter_with_several_round_trip_times_causes_a_warning() {
    let warned = |jitter| {
        let plan = plan(file(ROUND, "rack/cubic", jitter));
        let warnings = plan.warnings();
        warnings
            .iter()
            .any(|warning| warning.contains("processing_jitter is off"))
    };
    assert!(warned("processing_jitter = \"0s\""));
    assert!(!warned(""));
    assert!(!warned("processing_jitter = \"20us\""));
    // The simulator of the papers (ns-2) has no processing jitter, and the dialect `ns2` implies this.
    assert!(!warned("dialect = \"ns2\""));
}

#[test]
fn a_single_flow_needs_no_jitter() {
    let path = "stacks = [\"rack/cubic\"]\nseeds = 2\nduration = \"5s\"\n[path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n";
    let hashes = |more: &str| {
        let plan = plan(format!("{path}{more}"));
        let results = plan.execute(Execution::default(), &(), &Interrupt::new());
        let hashes = results.runs.iter().map(|run| run.trace_hash);
        hashes.collect::<Vec<_>>()
    };
    let lone = hashes("");
    assert_eq!(lone[0], lone[1]);
    let two = hashes("[[flows]]\ncount = 2\nstart = \"0s\"\n");
    assert_ne!(two[0], two[1]);
}
