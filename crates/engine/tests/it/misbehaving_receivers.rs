//! Tests of misbehaving receivers: cases in which the endpoint is protected, and cases in which it is not.
//!
//! Every number is relative to a run with an honest receiver, so the tests do not depend on the performance of a stack.

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Interrupt, Plan};

const STACKS: [&str; 5] = [
    "newreno/reno",
    "sack/reno",
    "rack/cubic",
    "le/westwood",
    "rack/bbr",
];

/// Returns the mean of `measure` over the seeds: for each value of the swept key, the means of all stacks.
fn means(path: &str, flows: &str, key: &str, values: &str, measure: Measure) -> Vec<Vec<f64>> {
    let stacks = STACKS.map(|stack| format!("\"{stack}\"")).join(", ");
    let text = format!(
        "stacks = [{stacks}]\ndialect = \"rfc\"\nseeds = 3\nduration = \"15s\"\n[path]\n{path}\n{flows}\n\
         [sweep]\n\"{key}\" = {values}\n"
    );
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let points = 0..results.points.len();
    let of = |point: usize, stack: usize| {
        let runs = results.runs.iter();
        let values: Vec<f64> = runs
            .filter(|run| run.point == point && run.stack == stack)
            .map(|run| run.values.get(measure).unwrap())
            .collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    points
        .map(|point| (0..STACKS.len()).map(|stack| of(point, stack)).collect())
        .collect()
}

/// Path on which random losses, and not the link, limit every stack.
const LOSSY: &str = "rate = \"100Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"200pkt\"\nloss = \"1%\"";

/// Path that a single flow fully uses.
const FULL: &str = "rate = \"20Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"50pkt\"";

/// Flow with a limited receive buffer. The buffer limits the gain of a lie, because the window of a sender without
/// losses grows without limit.
const FLOW: &str = "[[flows]]\nreceiver = { buffer = \"500pkt\" }";

/// Returns `measure` with a lying receiver relative to an honest receiver, for each stack.
fn factors(path: &str, lie: &str, measure: Measure) -> Vec<f64> {
    let values = format!("[\"none\", \"{lie}\"]");
    let both = means(path, FLOW, "flows.0.receiver.lie", &values, measure);
    let factors: Vec<f64> = both[0].iter().zip(&both[1]).map(|(a, b)| b / a).collect();
    for ((stack, honest), factor) in STACKS.iter().zip(&both[0]).zip(&factors) {
        println!("{lie}, {measure:?}, {stack}: {honest:.2} honest, {factor:.2} times that lying");
    }
    factors
}

#[test]
fn divided_acks_do_not_make_the_window_grow_faster() {
    // RFC 3465: the window grows by acknowledged bytes, not by the number of ACKs. On a path on which the growth of the
    // window limits the goodput, the gain of a lie does not exceed random variation. NewReno is an exception: its
    // recovery retransmits a segment for every partial ACK (RFC 6582 §3.2), so divided ACKs end the recovery sooner,
    // and the endpoint has no protection against this.
    let gains = factors(LOSSY, "divide 16", Measure::Goodput);
    for (stack, gain) in STACKS.iter().zip(gains) {
        let most = match *stack {
            "newreno/reno" => 2.5,
            _ => 1.25,
        };
        assert!(gain < most, "{stack}: a factor of {gain:.2}");
    }
}

#[test]
fn acks_of_data_that_was_never_sent_are_ignored() {
    // RFC 9293 §3.10.7.4: an ACK ten thousand segments ahead of the received data is never acceptable. The sender
    // transmits only the initial window, and retransmits it at every timeout.
    for factor in factors(FULL, "optimistic 10000pkt", Measure::Goodput) {
        assert!(factor < 0.05, "a factor of {factor:.2}");
    }
}

#[test]
fn optimistic_acks_hide_losses_that_are_never_repaired() {
    // TCP cannot distinguish an ACK of received data from an ACK of data in flight. The sender detects no loss and
    // retransmits no segment, so the receiver gets only the data before the first loss in order.
    let path = format!("{FULL}\nloss = \"1%\"");
    let resent = factors(&path, "optimistic 0pkt", Measure::Retransmissions);
    assert!(resent.iter().all(|factor| *factor < 0.1), "{resent:?}");
    let goodput = factors(&path, "optimistic 0pkt", Measure::Goodput);
    assert!(goodput.iter().all(|factor| *factor < 0.5), "{goodput:?}");
}

#[test]
fn sack_lies_gain_nothing_and_do_not_stop_a_transfer() {
    // Data that false SACK blocks report is not retransmitted until the transfer stalls and the timer expires. Then the
    // SACK information is discarded (RFC 2018 §8), and all data is retransmitted. With a larger window, more data after
    // the first gap is lost, so the lie costs the receiver more. Stacks without SACK ignore the blocks.
    let goodput = factors(LOSSY, "sack 10pkt", Measure::Goodput);
    for (stack, factor) in STACKS.iter().zip(&goodput) {
        match *stack {
            "newreno/reno" => assert!((factor - 1.0).abs() < 1e-12, "{factor}"),
            "le/westwood" | "rack/bbr" => {
                assert!((0.001..0.5).contains(factor), "{stack}: {factor}");
            }
            _ => assert!((0.2..1.25).contains(factor), "{stack}: {factor}"),
        }
    }
}
