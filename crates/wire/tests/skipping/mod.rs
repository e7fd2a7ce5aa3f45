//! Tests that cannot run on this machine are skipped, with a message that the test harness does not capture.

use std::io::Write;

/// Variable that makes the tests fail instead of being skipped if namespaces are not available.
pub const REQUIRE: &str = "DUPACK_REQUIRE_NAMESPACES";

/// Reports why tests on real packets are skipped, or fails if they must not be skipped.
pub fn skip(why: &str) {
    assert!(std::env::var_os(REQUIRE).is_none(), "{why}");
    // Not `eprintln`, whose output the harness captures when a test passes.
    let _ = writeln!(
        std::io::stderr(),
        "\n*** SKIPPED: NETWORK NAMESPACES ARE NOT AVAILABLE HERE (set {REQUIRE} to fail)\n{why}"
    );
}
