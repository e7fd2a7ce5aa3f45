//! Tests of queues in experiment files: the options of a table take effect in the network.

use dupack_algorithms::catalog::Catalog;

use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Parameter};
use dupack_lab::run::{Interrupt, Plan};

fn try_plan(queue: &str) -> Result<Plan, String> {
    let text = format!(
        r#"
        stacks = ["rack/cubic"]
        seeds = 1
        duration = "20s"
        [path]
        rate = "10Mbit/s"
        delay = "20ms"
        buffer = "400pkt"
        {queue}
        "#
    );
    let source = Source::new("test", text);
    let experiment = source.parse().map_err(|error| format!("{error:?}"))?;
    Plan::new(experiment, &source, &Catalog::builtin()).map_err(|error| format!("{error:?}"))
}

fn wait_p95(queue: &str) -> f64 {
    let plan = try_plan(queue).unwrap();
    let runs = plan
        .execute(Execution { jobs: Some(1) }, &(), &Interrupt::new())
        .runs;
    runs[0].values.get(Measure::DelayP95).unwrap()
}

#[test]
fn every_discipline_has_shorter_waits_than_a_fifo_and_follows_its_target() {
    let fifo = wait_p95("");
    for queue in ["codel", "fq_codel", "pie", "dualpi2", "cake"] {
        let short = wait_p95(&format!("queue = \"{queue}\""));
        let long = wait_p95(&format!(
            "queue = \"{queue}\"\n{queue} = {{ target = \"60ms\" }}"
        ));
        assert!(
            short < long && long < fifo,
            "{queue}: {short} {long} {fifo}"
        );
    }
    // At half the rate, 400 packets wait twice as long. With a policer, no packet waits.
    let shaped = "queue = \"shaper\"\ntoken_bucket = { rate = \"5Mbit/s\", burst = \"15kB\" }";
    assert!(wait_p95(shaped) > 1.5 * fifo);
    let policed = "queue = \"policer\"\ntoken_bucket = { rate = \"5Mbit/s\", burst = \"15kB\" }";
    assert!(wait_p95(policed) < 0.1 * fifo);
}

#[test]
fn all_effective_parameters_are_listed_with_their_sources() {
    let plan = try_plan("queue = \"pie\"\npie = { target = \"20ms\", ecn = true }").unwrap();
    let parameters = plan.empty_results().parameters;
    let row = |name: &str| -> &Parameter {
        let found = parameters
            .iter()
            .find(|p| p.owner == "path" && p.name == name);
        found.unwrap_or_else(|| panic!("{name}"))
    };
    for (name, value, source) in [
        ("queue", "pie", "given"),
        ("pie.target", "20ms", "given"),
        ("pie.ecn", "true", "given"),
        ("pie.update", "15ms", "default"),
        ("pie.max_burst", "150ms", "default"),
        ("pie.alpha", "0.125", "default"),
        ("pie.derandomised", "false", "default"),
    ] {
        let row = row(name);
        assert_eq!(
            (row.value.as_str(), row.source.as_str()),
            (value, source),
            "{name}"
        );
    }
}

#[test]
fn errors_suggest_a_correction() {
    for (queue, said) in [
        ("queue = \"fqcodel\"", "fq_codel"),
        ("codel = { target = \"5ms\" }", "add queue = \\\"codel\\\""),
        ("queue = \"pie\"\ncodel = {}", "add queue = \\\"codel\\\""),
        (
            "queue = \"codel\"\nred = { min = 5, max = 15 }",
            "add queue = \\\"red\\\"",
        ),
        (
            "queue = \"codel\"\ncodel = { target = \"0s\" }",
            "0 < target <= interval",
        ),
        ("queue = \"codel\"\ncodel = { goal = \"5ms\" }", "goal"),
        ("queue = \"policer\"", "token_bucket = {"),
        (
            "queue = \"fq_codel\"\nfq_codel = { flows = 0 }",
            "1 to 65536 flows",
        ),
        (
            "queue = \"dualpi2\"\ndualpi2 = { coupling = 0.5 }",
            "at least 1",
        ),
        (
            "queue = \"pie\"\npie = { update = \"0s\" }",
            "update interval",
        ),
    ] {
        let error = try_plan(queue).err().unwrap_or_else(|| panic!("{queue}"));
        assert!(error.contains(said), "{queue}: {error}");
    }
}

#[test]
fn the_example_sweeps_over_queues() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/aqm.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let source = Source::new("aqm.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    assert_eq!(plan.points().len(), 12);
}
