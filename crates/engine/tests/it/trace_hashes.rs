//! Tests that trace hashes stay the same on every machine, even if the simulator is optimised.
//!
//! `trace_hashes/golden.csv` has one hash for each run of the experiments in the same folder. A change that
//! intentionally affects runs updates the hashes (`DUPACK_RENEW_HASHES=1`) and gives the reason in the commit.

use std::fs;
use std::path::{Path, PathBuf};

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;
use dupack_lab::run::{Interrupt, Plan};

const EXPERIMENTS: [&str; 5] = ["dumbbell", "one", "radio", "reordering", "shared"];

const RENEW: &str = "DUPACK_RENEW_HASHES";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/trace_hashes")
}

/// Returns one line for each run of the experiment `name`.
fn hashes(name: &str) -> String {
    let file = folder().join(format!("{name}.toml"));
    let source = Source {
        name: name.to_owned(),
        text: fs::read_to_string(file).unwrap(),
        folder: folder(),
    };
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    results.trace_hashes(name)
}

#[test]
fn every_run_is_unchanged() {
    let mut now = Results::TRACE_HASHES_HEADER.to_owned();
    for name in EXPERIMENTS {
        now += &hashes(name);
    }
    let golden = folder().join("golden.csv");
    if std::env::var_os(RENEW).is_some() {
        fs::write(&golden, now).unwrap();
        return;
    }
    let before = fs::read_to_string(&golden).unwrap();
    let pairs = before.lines().zip(now.lines());
    let changed: Vec<_> = pairs.filter(|(before, now)| before != now).collect();
    assert!(
        changed.is_empty() && before.lines().count() == now.lines().count(),
        "these runs have changed (was, is); if this is intended, run with {RENEW}=1: \
         {changed:#?}"
    );
}
