//! Memory that is available for an experiment.

use std::fs;
use std::path::Path;

/// Size of the memory if the system does not report it.
const ASSUMED: u64 = 8 << 30;

/// Returns the bytes of memory that this process may still allocate: the memory that Linux reports as available, or
/// less if the process or its control group has a limit. On other systems, returns 8 GiB.
#[must_use]
pub fn room() -> u64 {
    let bounds = [available(), address_space(), group()];
    bounds.into_iter().flatten().min().unwrap_or(ASSUMED)
}

/// Reads `MemAvailable` of `proc_meminfo(5)`.
fn available() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Returns the unused part of the address-space limit (`ulimit -v`).
fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = { limits.lines() }.find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    let taken = kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(taken))
}

/// Returns the unused part of the control group's memory limit (`memory.max` of cgroup version 2).
fn group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = Path::new("/sys/fs/cgroup").join(own);
    let number = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

/// Returns the value after `key` in bytes. `text` has lines such as `VmSize:  123 kB`.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lines_are_parsed_in_kilobytes() {
        let text = "MemTotal:       24684084 kB\nMemAvailable:   23760668 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(23_760_668 * 1024));
        assert_eq!(kilobytes(text, "VmSize:"), None);
        let endless = "VmSize: 18446744073709551615 kB";
        assert_eq!(kilobytes(endless, "VmSize:"), None);
    }
}
