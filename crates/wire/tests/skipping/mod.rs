//! What cannot be tested on this machine is skipped, and that is said past the test harness.

use std::io::Write;

/// Makes the tests fail, not skip, where namespaces cannot be had.
pub const REQUIRE: &str = "DUPACK_REQUIRE_NAMESPACES";

/// Says why tests on real packets are skipped, or fails if they must not be.
pub fn skip(why: &str) {
    assert!(std::env::var_os(REQUIRE).is_none(), "{why}");
    // Not `eprintln`, which the harness keeps to itself when a test passes.
    let _ = writeln!(
        std::io::stderr(),
        "\n*** SKIPPED: NETWORK NAMESPACES CANNOT BE HAD HERE (set {REQUIRE} to fail)\n{why}"
    );
}
