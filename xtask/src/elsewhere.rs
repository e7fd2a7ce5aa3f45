//! Checks for other machines: the endpoint without an operating system, experiments in WebAssembly.

use std::process::Command;

use dupack_build::{cargo, root, succeed, target};

use crate::needs::{BARE, NO_SYSTEM, NODE, WASM, WEB};
use crate::test::Tier;

/// Crates that need no operating system.
const NO_STD: [&str; 2] = ["dupack-tcp", "dupack-algorithms"];

/// Crates that compile for the web but are not used by [`CHECK`].
const WEB_TOO: [&str; 4] = [
    "dupack-claims",
    "dupack-diagnosis",
    "dupack-packet",
    "dupack-report",
];

/// The program that runs in WebAssembly, and the file that cargo makes of it.
const CHECK: &str = "dupack-wasm-check";
const MODULE: &str = "dupack_wasm_check.wasm";

/// Its expected output.
const GOLDEN: &str = "crates/engine/tests/it/trace_hashes/golden.csv";

/// Builds the endpoint for a machine without an operating system if the target is installed; before a release, also
/// runs experiments in WebAssembly.
///
/// # Errors
/// If a crate does not compile, or if a trace hash in WebAssembly differs from the native one.
pub fn check(tier: Tier) -> Result<(), String> {
    if NO_SYSTEM.thing.is_here() {
        let mut words = vec!["build", "--no-default-features", "--target", BARE];
        words.extend(NO_STD.iter().flat_map(|package| ["--package", package]));
        cargo(&words)?;
    }
    if WEB.thing.is_here() && tier == Tier::Release {
        // Code that draws on the web has imports, so it is compiled but not run.
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
