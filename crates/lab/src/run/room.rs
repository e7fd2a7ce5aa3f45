//! How much memory there is for an experiment on this machine.

use std::fs;
use std::path::Path;

/// Where the system does not say how much memory it has.
const ASSUMED: u64 = 8 << 30;

/// Bytes of memory that this process may still take: what Linux calls available, or less where the process or its
/// control group has a limit of its own; elsewhere 8 GiB.
#[must_use]
pub fn room() -> u64 {
    let bounds = [available(), address_space(), group()];
    bounds.into_iter().flatten().min().unwrap_or(ASSUMED)
}

/// `MemAvailable` of `proc_meminfo(5)`.
fn available() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// What the limit of the address space (`ulimit -v`) leaves.
fn address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = { limits.lines() }.find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    let taken = kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(taken))
}

/// What the limit of the control group leaves (`memory.max` of cgroup version 2).
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

/// The value after `key` in `text`, which has lines such as `VmSize:  123 kB`, in bytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read_in_kilobytes() {
        let text = "MemTotal:       24684084 kB\nMemAvailable:   23760668 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(23_760_668 * 1024));
        assert_eq!(kilobytes(text, "VmSize:"), None);
        let endless = "VmSize: 18446744073709551615 kB";
        assert_eq!(kilobytes(endless, "VmSize:"), None);
    }
}
