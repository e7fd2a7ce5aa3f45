//! Tests that the file of the recipe is formatted, that a catalog accepts it, and that it runs in an experiment.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Interrupt, Plan};

const EXPERIMENT: &str = r#"
stacks = ["sack/reno", "sack/half", "sack/half(factor=0.8)"]
seeds = 2
duration = "20s"

[path]
rate = "10Mbit/s"
delay = "20ms"
loss = "1%"
"#;

#[test]
fn the_file_is_formatted() {
    let check = Command::new("rustfmt")
        .args(["--edition", "2024", "--check", dupack_recipe::FILE])
        .output();
    match check {
        Ok(check) => {
            let differences = String::from_utf8_lossy(&check.stdout);
            assert!(check.status.success(), "{differences}");
        }
        // Writing to stderr bypasses the test harness, which hides the output of a test that passes.
        Err(error) => {
            let mut shown = std::io::stderr();
            writeln!(shown, "*** SKIPPED: rustfmt cannot be started: {error}").unwrap();
        }
    }
}

#[test]
fn the_algorithm_runs_beside_reno() {
    let mut catalog = Catalog::builtin();
    catalog.register(dupack_recipe::half::entry()).unwrap();
    let source = Source::new("recipe", EXPERIMENT);
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    let results = plan.execute(Execution::default(), &(), &Interrupt::default());
    let mean = |stack| {
        let samples = results.samples(0, stack, Measure::Goodput);
        let samples: Vec<f64> = samples.map(|(_, value)| value).collect();
        samples.iter().sum::<f64>() / samples.len() as f64
    };
    let (reno, half, gentle) = (mean(0), mean(1), mean(2));
    assert!(
        half > 0.5 * reno && half < 1.5 * reno,
        "{half} beside {reno}"
    );
    assert!(
        gentle > half,
        "a smaller reduction at each loss must gain: {gentle} and {half}"
    );
}

/// The line in the recipe that registers the algorithm has the form of the existing lines.
#[test]
fn the_line_of_registration_is_like_the_others() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let builtin = root.join("crates/algorithms/src/catalog/builtin.rs");
    let builtin = fs::read_to_string(builtin).unwrap();
    let line = "self.add(congestion::half::entry())?;";
    assert!(page.contains(line), "CONTRIBUTING.md does not say `{line}`");
    assert!(builtin.contains(&line.replace("half", "cubic")));
}
