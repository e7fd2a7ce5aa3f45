//! Tests of queues in the reverse direction, and of the CAKE-like queue.

use dupack_algorithms::catalog::Catalog;

use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Parameter};
use dupack_lab::run::{Interrupt, Plan};

fn try_plan(rest: &str) -> Result<Plan, String> {
    let text = format!("stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"20s\"\n{rest}");
    let source = Source::new("test", text);
    let experiment = source.parse().map_err(|error| format!("{error:?}"))?;
    Plan::new(experiment, &source, &Catalog::builtin()).map_err(|error| format!("{error:?}"))
}

fn value(plan: &Plan, measure: Measure) -> f64 {
    let runs = plan
        .execute(Execution { jobs: Some(1) }, &(), &Interrupt::new())
        .runs;
    runs[0].values.get(measure).unwrap()
}

/// Returns the goodput of a download whose ACKs share the queue of a congested uplink. `up` has the settings of this
/// queue.
fn goodput(up: &str) -> f64 {
    let rest = format!(
        "[path]\nrate = \"20Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"100pkt\"\n\
         [path.reverse]\nrate = \"1Mbit/s\"\nbuffer = \"200pkt\"\n{up}\n\
         [[flows]]\n[[flows]]\nreverse = true\nstack = \"rack/reno\"\n"
    );
    value(&try_plan(&rest).unwrap(), Measure::Goodput)
}

#[test]
fn fair_queueing_of_acks_helps_a_download_beside_an_upload() {
    let fifo = goodput("");
    for up in [
        "queue = \"fq_codel\"",
        "queue = \"cake\"",
        "queue = \"cake\"\ncake = { rate = \"900kbit/s\", fair = \"flows\" }",
    ] {
        let fair = goodput(up);
        assert!(fair > 1.5 * fifo, "{up}: {fair} {fifo}");
    }
}

#[test]
fn cake_shapes_to_its_own_rate() {
    let plan = try_plan(
        "[path]\nrate = \"20Mbit/s\"\ndelay = \"10ms\"\nbuffer = \"400pkt\"\nqueue = \"cake\"\n\
         cake = { rate = \"5Mbit/s\" }\n",
    );
    let mbps = value(&plan.unwrap(), Measure::Goodput);
    assert!((4.5..5.0).contains(&mbps), "{mbps}");
}

#[test]
fn hosts_have_equal_shares_regardless_of_their_flows() {
    let others = |fair: &str| {
        let rest = format!(
            "[path]\nrate = \"10Mbit/s\"\ndelay = \"10ms\"\nbuffer = \"400pkt\"\nqueue = \"cake\"\n\
             cake = {{ fair = \"{fair}\" }}\n\
             [[flows]]\n[[flows]]\ncount = 4\nstack = \"rack/reno\"\n"
        );
        value(&try_plan(&rest).unwrap(), Measure::Goodput)
    };
    // With fairness between hosts, the flow gets half of the 10 Mbit/s next to a host with four flows. With fairness
    // between flows, it gets a fifth.
    let (hosts, flows) = (others("hosts"), others("flows"));
    assert!((4.4..5.2).contains(&hosts), "{hosts}");
    assert!((1.7..2.2).contains(&flows), "{flows}");
}

#[test]
fn parameters_of_both_directions_are_listed() {
    let plan = try_plan(
        "[path]\nrate = \"20Mbit/s\"\nqueue = \"cake\"\n[path.reverse]\nqueue = \"codel\"\n\
         codel = { target = \"7ms\" }\n",
    );
    let parameters = plan.unwrap().empty_results().parameters;
    for (name, value, source) in [
        ("cake.fair", "hosts", "default"),
        ("cake.ways", "8", "default"),
        ("path.reverse.queue", "codel", "given"),
        ("path.reverse.codel.target", "7ms", "given"),
        ("path.reverse.codel.interval", "100ms", "default"),
    ] {
        let rows: Vec<&Parameter> = parameters.iter().filter(|p| p.name == name).collect();
        let [row] = rows.as_slice() else {
            panic!("{name}: {rows:?}");
        };
        assert_eq!(
            (row.value.as_str(), row.source.as_str()),
            (value, source),
            "{name}"
        );
    }
}

#[test]
fn errors_name_the_direction_and_a_correction() {
    for (rest, place, said) in [
        (
            "[path.reverse]\nqueue = \"red\"",
            "reverse.queue",
            "red = {",
        ),
        ("[path.reverse]\ncodel = {}", "reverse.codel", "add queue"),
        (
            "[path.reverse]\nqueue = \"pie\"\npie = { update = \"0s\" }",
            "reverse.pie",
            "update interval",
        ),
        (
            "queue = \"cake\"\ncake = { lines = 100 }",
            "cake",
            "a multiple of the ways",
        ),
        (
            "queue = \"cake\"\ncake = { rate = \"0bit/s\" }",
            "cake.rate",
            "blocks all packets",
        ),
        ("cake = {}", "cake", "add queue"),
    ] {
        let error = try_plan(&format!("[path]\nrate = \"20Mbit/s\"\n{rest}\n"));
        let error = error.err().unwrap_or_else(|| panic!("{rest}"));
        assert!(error.contains(said), "{place}: {error}");
    }
}
