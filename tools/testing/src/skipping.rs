//! Skipping of tests that this machine cannot run. The message bypasses the test harness, which hides the output of a
//! test that passes.

use std::io::Write;

/// Environment variable that makes these tests fail, instead of being skipped.
pub const REQUIRE: &str = "DUPACK_REQUIRE_NAMESPACES";

/// Reports the reason for which tests on real packets are skipped.
///
/// # Panics
/// If the variable [`REQUIRE`] is set.
pub fn skip(why: &str) {
    assert!(std::env::var_os(REQUIRE).is_none(), "{why}");
    // The test harness would hide the output of `eprintln`.
    let _ = writeln!(
        std::io::stderr(),
        "\n*** SKIPPED: NETWORK NAMESPACES CANNOT BE HAD HERE (set {REQUIRE} to fail)\n{why}"
    );
}
