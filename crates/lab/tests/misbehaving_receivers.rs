//! What the endpoint makes of receivers that lie: what protects it, and where nothing does.
//!
//! Every number is that of an honest receiver's run beside it, so that nothing here depends on what a
//! stack achieves.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Execution, Interrupt, Plan};

const STACKS: [&str; 5] = [
    "newreno/reno",
    "sack/reno",
    "rack/cubic",
    "le/westwood",
    "rack/bbr",
];

/// A measure of every stack, by the value of the swept key, with the mean over the seeds.
fn means(path: &str, flows: &str, key: &str, values: &str, measure: Measure) -> Vec<Vec<f64>> {
    let stacks = STACKS.map(|stack| format!("\"{stack}\"")).join(", ");
    let text = format!(
        "stacks = [{stacks}]\nseeds = 3\nduration = \"30s\"\n[path]\n{path}\n{flows}\n\
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

/// A path on which random losses, not the link, keep every stack below its rate.
const LOSSY: &str = "rate = \"100Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"200pkt\"\nloss = \"1%\"";

#[test]
fn divided_acks_gain_nothing() {
    // RFC 3465: the window grows by what is acknowledged, not by the number of ACKs.
    let [honest, divided] = means(
        LOSSY,
        "",
        "receiver.lie",
        "[\"none\", \"divide 16\"]",
        Measure::Goodput,
    )
    .try_into()
    .unwrap();
    for ((stack, honest), divided) in STACKS.iter().zip(&honest).zip(&divided) {
        let gain = divided / honest;
        println!("{stack}: {honest:.2} Mbit/s honest, {divided:.2} divided");
        assert!(gain < 1.15, "{stack} gains by a factor of {gain:.2}");
    }
}
