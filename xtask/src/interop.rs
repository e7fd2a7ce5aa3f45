//! Long version of a test: large transfers in both directions through loss, between the endpoint and this machine's
//! kernel.

use clap::Args;
use dupack_build::{command, succeed};

/// Environment variable for the number of bytes, which `crates/wire/tests/interop/lossy.rs` reads.
const BYTES_VARIABLE: &str = "DUPACK_LOSSY_BYTES";

/// Environment variable that makes the test fail, instead of being skipped, if namespaces cannot be created
/// (`tools/testing/src/skipping.rs`).
const REQUIRE_VARIABLE: &str = "DUPACK_REQUIRE_NAMESPACES";

/// Prefix of the names of all cases.
const CASES: &str = "through_loss_";

#[derive(Args)]
pub struct InteropArgs {
    /// Amount that each end sends, such as 100MB (10⁶ bytes each)
    #[arg(long, default_value = "100MB", value_parser = bytes)]
    bytes: u64,
    /// Test only this recovery, such as sack or bulk-repeat [default: all recoveries of the catalog]
    #[arg(long, value_name = "NAME")]
    recovery: Option<String>,
}

pub fn run(args: &InteropArgs) -> Result<(), String> {
    let case = args.recovery.as_ref().map_or(CASES.to_owned(), |name| {
        format!("{CASES}{}", name.replace('-', "_"))
    });
    let mut words = vec![
        "test",
        "--release",
        "--package",
        "dupack-wire",
        "--test",
        "interop",
        "--",
    ];
    if args.recovery.is_some() {
        if !is_a_case(&words, &case)? {
            return Err(format!("invalid recovery: the test has no case `{case}`"));
        }
        words.push("--exact");
    }
    words.push(&case);
    let mut command = command(&words);
    command.env(BYTES_VARIABLE, args.bytes.to_string());
    command.env(REQUIRE_VARIABLE, "1");
    succeed(&mut command)
}

/// Returns `true` if the test program has this case. The check is necessary because a run with a name that matches no
/// test succeeds.
fn is_a_case(words: &[&str], case: &str) -> Result<bool, String> {
    let listed = command(words)
        .arg("--list")
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !listed.status.success() {
        return Err(String::from_utf8_lossy(&listed.stderr).into_owned());
    }
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut names = listed.lines().filter_map(|line| line.split_once(':'));
    Ok(names.any(|(name, _)| name == case))
}

/// Parses a number of bytes with an optional SI unit.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("invalid unit `{other}`: expected B, kB, MB or GB")),
    };
    let number = digits.parse::<u64>().map_err(|error| error.to_string())?;
    match number.checked_mul(unit) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("expected a number of bytes, such as 100MB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("100MB"), Ok(100_000_000));
        assert_eq!(bytes("7"), Ok(7));
        for wrong in ["", "MB", "0", "1 MB", "1MiB", "1.5MB", "99999999999GB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
