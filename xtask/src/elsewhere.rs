//! What must work on other machines: the endpoint without an operating system, experiments in WebAssembly.

use std::process::Command;

use dupack_build::{cargo, root, succeed, target};

use crate::needs::{BARE, NO_SYSTEM, NODE, WASM, WEB};
use crate::test::Tier;

/// The crates that need no operating system.
const NO_STD: [&str; 2] = ["dupack-tcp", "dupack-algorithms"];

/// The crates that compile for the web beside what [`CHECK`] runs there.
const WEB_TOO: [&str; 4] = [
    "dupack-claims",
    "dupack-diagnosis",
    "dupack-packet",
    "dupack-report",
];

/// The program that is run in WebAssembly, and the file that cargo makes of it.
const CHECK: &str = "dupack-wasm-check";
const MODULE: &str = "dupack_wasm_check.wasm";

/// What it must give.
const GOLDEN: &str = "crates/engine/tests/it/trace_hashes/golden.csv";

/// Builds the endpoint for a machine without an operating system, where this machine can; before a release, runs experiments
/// in WebAssembly as well.
///
/// # Errors
/// If something does not compile, or an experiment in WebAssembly gives another trace hash than here.
pub fn check(tier: Tier) -> Result<(), String> {
    if NO_SYSTEM.thing.is_here() {
        let mut words = vec!["build", "--no-default-features", "--target", BARE];
        words.extend(NO_STD.iter().flat_map(|package| ["--package", package]));
        cargo(&words)?;
    }
    if WEB.thing.is_here() && tier == Tier::Release {
        // What draws on the web has imports: that it compiles is enough here.
        let mut words = vec!["check", "--no-default-features", "--target", WASM];
        words.extend(WEB_TOO.iter().flat_map(|package| ["--package", package]));
        cargo(&words)?;
        cargo(&["build", "--package", CHECK, "--target", WASM])?;
        if NODE.thing.is_here() {
            let module = target().join(WASM).join("debug").join(MODULE);
            let mut node = Command::new("node");
            node.arg(root().join("tools/wasm-check/run.mjs"));
            succeed(node.arg(module).arg(root().join(GOLDEN)))?;
        }
    }
    Ok(())
}
