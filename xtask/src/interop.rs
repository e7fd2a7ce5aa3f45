//! The long form of a test: much data both ways through loss, to and from this machine's kernel.

use clap::Args;
use dupack_build::{command, succeed};

/// Named by `crates/wire/tests/interop/lossy.rs`, which reads it.
const BYTES_VARIABLE: &str = "DUPACK_LOSSY_BYTES";

/// Without namespaces the test shall fail and not skip itself (`crates/wire/tests/testbed`).
const REQUIRE_VARIABLE: &str = "DUPACK_REQUIRE_NAMESPACES";

/// What all of its cases begin with.
const CASES: &str = "through_loss_";

#[derive(Args)]
pub struct InteropArgs {
    /// How much each end sends, such as 100MB (of 10⁶ bytes each)
    #[arg(long, default_value = "100MB", value_parser = bytes)]
    bytes: u64,
    /// Only this recovery, such as sack or bulk-repeat [default: all of the catalog]
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
            return Err(format!("there is no case {case}: is that a recovery?"));
        }
        words.push("--exact");
    }
    words.push(&case);
    let mut command = command(&words);
    command.env(BYTES_VARIABLE, args.bytes.to_string());
    command.env(REQUIRE_VARIABLE, "1");
    succeed(&mut command)
}

/// Whether the test has this case: a name that fits nothing would pass.
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

/// A number of bytes with a unit of the SI, or none.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("`{other}` is no unit: B, kB, MB, GB")),
    };
    let number = digits.parse::<u64>().map_err(|error| error.to_string())?;
    match number.checked_mul(unit) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("write a number of bytes, such as 100MB".to_owned()),
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
