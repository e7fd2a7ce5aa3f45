//! The number of cases of a test.

use std::env;

/// The variable that `cargo xtask test --all` sets, and its value.
const VARIABLE: &str = "DUPACK_TEST_VOLUME";
const RELEASE: &str = "release";

/// Returns the number of cases to try: `every` in every run of the tests, `release` in `cargo xtask test --all`.
///
/// A test that draws its cases from a seed gives both numbers, so that they stand beside each other:
///
/// ```
/// let cases = dupack_testing::cases(4_000, 20_000);
/// assert!(cases == 4_000 || cases == 20_000);
/// ```
///
/// The cases of every run are the first of those before a release. A test for which a smaller volume makes no sense is
/// `#[ignore]`d instead, with the tier as its reason.
///
/// # Panics
/// If `DUPACK_TEST_VOLUME` is set to anything but `release`.
#[must_use]
pub fn cases(every: u64, release: u64) -> u64 {
    match env::var_os(VARIABLE) {
        None => every,
        Some(value) if value == RELEASE => release,
        Some(value) => panic!("invalid value {value:?} for {VARIABLE}: expected `{RELEASE}`"),
    }
}
