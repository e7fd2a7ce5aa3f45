//! Skipping tests that this machine cannot run. The message bypasses the test harness, which hides the output of a test
//! that passes.

use std::io::Write;

/// Environment variable that makes such tests fail instead of skipping them.
pub const REQUIRE: &str = "DUPACK_REQUIRE_NAMESPACES";

/// Reports why tests on real packets are skipped.
///
/// # Panics
/// If the variable [`REQUIRE`] is set.
pub fn skip(why: &str) {
    assert!(std::env::var_os(REQUIRE).is_none(), "{why}");
    // `eprintln` would be hidden by the harness.
    let _ = writeln!(
        std::io::stderr(),
        "\n*** SKIPPED: NETWORK NAMESPACES CANNOT BE HAD HERE (set {REQUIRE} to fail)\n{why}"
    );
}
