//! Number of cases that a test runs.

use std::env;

/// Environment variable that `cargo xtask test --all` sets, and its value.
const VARIABLE: &str = "DUPACK_TEST_VOLUME";
const RELEASE: &str = "release";

/// Returns the number of cases to try: `every` in every run of the tests, `release` in `cargo xtask test --all`.
///
/// A test that draws its cases from a seed states both numbers next to each other:
///
/// ```
/// let cases = dupack_testing::cases(4_000, 20_000);
/// assert!(cases == 4_000 || cases == 20_000);
/// ```
///
/// The cases of an ordinary run are the first of the cases that run before a release. If a test makes no sense with
/// fewer cases, mark the test `#[ignore]` instead, with the command that runs the test as the reason.
///
/// # Panics
/// If `DUPACK_TEST_VOLUME` has another value than `release`.
#[must_use]
pub fn cases(every: u64, release: u64) -> u64 {
    match env::var_os(VARIABLE) {
        None => every,
        Some(value) if value == RELEASE => release,
        Some(value) => panic!("invalid value {value:?} for {VARIABLE}: expected `{RELEASE}`"),
    }
}
