//! Tests of Prague with DualPI2, and of the warnings if Prague cannot work.

use dupack_algorithms::catalog::Catalog;

use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Interrupt, Plan};

fn plan(text: &str) -> Plan {
    let source = Source::new("test", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

/// Returns the 95th percentile of the queueing delay in ms and the link utilisation in percent, for two flows of the
/// same stack.
fn alone(stack: &str, queue: &str) -> [f64; 2] {
    let text = format!(
        "stacks = [\"{stack}\"]\nseeds = 1\nduration = \"30s\"\nwarm_up = \"10s\"\n\
         [sender]\necn = \"accurate\"\n[path]\nrate = \"40Mbit/s\"\ndelay = \"10ms\"\n\
         buffer = \"300pkt\"\nqueue = \"{queue}\"\n[[flows]]\ncount = 2\n"
    );
    let runs = plan(&text).execute(Execution { jobs: Some(1) }, &(), &Interrupt::new());
    let values = &runs.runs[0].values;
    [Measure::DelayP95, Measure::Utilisation].map(|measure| values.get(measure).unwrap())
}

#[test]
fn prague_fills_a_dualpi2_link_with_a_short_queue() {
    let [prague, used] = alone("rack/prague", "dualpi2");
    assert!(prague < 2.0 && used > 95.0, "{prague} ms, {used} %");
    let [cubic, _] = alone("rack/cubic", "dualpi2");
    assert!(cubic > 5.0 * prague, "{cubic} ms, {prague} ms");
}

#[test]
fn a_receiver_that_does_not_count_marks_causes_a_warning() {
    let warned = |ecn: &str| {
        let text = format!(
            "stacks = [\"rack/prague\"]\nseeds = 1\n[sender]\necn = {ecn}\n[path]\n\
             rate = \"10Mbit/s\"\nbuffer = \"50pkt\"\n"
        );
        let plan = plan(&text);
        plan.warnings()
            .iter()
            .any(|text| text.contains("it behaves like Reno"))
    };
    assert!(warned("false") && warned("true"));
    assert!(!warned("\"accurate\""));
}

#[test]
fn the_example_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/l4s.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(plan(&text).points().len(), 3);
}

#[test]
fn without_ecn_dctcp_equals_reno_with_a_warning() {
    let plan_of = |stack: &str| {
        plan(&format!(
            "stacks = [\"{stack}\"]\nseeds = 1\nduration = \"10s\"\n[path]\n\
             rate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"50pkt\"\n"
        ))
    };
    let goodput = |stack| {
        let runs = plan_of(stack).execute(Execution { jobs: Some(1) }, &(), &Interrupt::new());
        runs.runs[0].values.get(Measure::Goodput).unwrap()
    };
    assert_eq!(goodput("rack/dctcp"), goodput("rack/reno"));
    let told = plan_of("rack/dctcp");
    let mut warnings = told.warnings().iter();
    assert!(warnings.any(|text| text.contains("it behaves like Reno")));
}
