//! Checks for other machines: the endpoint without an operating system, and experiments in WebAssembly.

use std::process::Command;

use dupack_build::{cargo, root, succeed, target};

use crate::needs::{BARE, NO_SYSTEM, NODE, WASM, WEB};
use crate::test::Tier;

/// Crates that do not need an operating system.
const NO_STD: [&str; 2] = ["dupack-tcp", "dupack-algorithms"];

/// Crates that compile for the web. The program [`CHECK`] uses only `dupack-engine`.
const ON_THE_WEB: [&str; 5] = [
    "dupack-claims",
    "dupack-diagnosis",
    "dupack-engine",
    "dupack-packet",
    "dupack-report",
];

/// The program that runs in WebAssembly. `MODULE` is the file that cargo builds from it.
const CHECK: &str = "dupack-wasm-check";
const MODULE: &str = "dupack_wasm_check.wasm";

/// Expected output of the program.
const GOLDEN: &str = "crates/engine/tests/it/trace_hashes/golden.csv";

/// Builds the endpoint for a machine without an operating system, and checks that the crates for the web compile. Each
/// check is skipped if its target is not installed. Before a release, also runs experiments in WebAssembly.
///
/// # Errors
/// If a crate does not compile, or if a trace hash in WebAssembly differs from the native one.
pub fn check(tier: Tier) -> Result<(), String> {
    if NO_SYSTEM.thing.is_here() {
        let mut words = vec!["build", "--no-default-features", "--target", BARE];
        words.extend(NO_STD.iter().flat_map(|package| ["--package", package]));
        cargo(&words)?;
    }
    if WEB.thing.is_here() {
        // Code that draws on the web imports functions of the browser, so it is compiled but not run.
        let mut words = vec!["check", "--no-default-features", "--target", WASM];
        words.extend(ON_THE_WEB.iter().flat_map(|package| ["--package", package]));
        cargo(&words)?;
    }
    if WEB.thing.is_here() && tier == Tier::Release {
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
