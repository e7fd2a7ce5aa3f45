//! Lines that end with a checksum of the text before it: `{…,"sum":"0123456789abcdef"}`.

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// Text before the checksum; `AFTER` is the text after it.
const BEFORE: &[u8] = b",\"sum\":\"";
const AFTER: &[u8] = b"\"}";

/// Number of hexadecimal digits of the checksum.
const DIGITS: usize = 16;

/// Serialises `value`, which must be a non-empty JSON object, to a line with a checksum and a line break.
pub(super) fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(value)?;
    // The closing brace follows the checksum.
    text.pop();
    let sum = format!("{:0DIGITS$x}", xxh3_64(&text));
    text.extend_from_slice(BEFORE);
    text.extend_from_slice(sum.as_bytes());
    text.extend_from_slice(AFTER);
    text.push(b'\n');
    Ok(text)
}

/// Returns `true` if `line`, without its line break, ends with the correct checksum.
pub(super) fn is_whole(line: &[u8]) -> bool {
    let sum = || {
        let rest = line.strip_suffix(AFTER)?;
        let (rest, sum) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
        let text = rest.strip_suffix(BEFORE)?;
        Some(sum == format!("{:0DIGITS$x}", xxh3_64(text)).as_bytes())
    };
    sum().unwrap_or(false)
}

/// Returns the lines of `text` with recomputed checksums, for tests of modified journals.
#[cfg(test)]
pub(crate) fn forged(text: &str) -> String {
    let line = |line: &str| {
        let text = &line[..line.len() - BEFORE.len() - DIGITS - AFTER.len()];
        let sum = xxh3_64(text.as_bytes());
        format!("{text},\"sum\":\"{sum:0DIGITS$x}\"}}\n")
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_or_missing_byte_is_detected() {
        let line = line(&serde_json::json!({ "a": 1, "b": "x" })).unwrap();
        let line = &line[..line.len() - 1];
        assert!(is_whole(line));
        serde_json::from_slice::<serde_json::Value>(line).expect("it is still JSON");
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(!is_whole(&changed), "byte {at}");
            assert!(!is_whole(&line[..at]), "{at} bytes");
        }
    }
}
