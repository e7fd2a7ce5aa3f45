//! Privilege to make network namespaces.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use super::NamespaceError;

/// Source of the privilege to make network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The process already had the privilege.
    Privileged,
    /// The process was unprivileged and is now root in its own user namespace.
    UserNamespace,
}

/// Bit positions of the effective capabilities (capabilities(7)).
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// Number of attempts to enter a user namespace: a thread that has been joined may still exist for a short time.
const ATTEMPTS: u32 = 20;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);

/// Gives this process the privilege to make network namespaces. An unprivileged process enters a user namespace, which
/// works only while it has a single thread. Call this first in `main`.
///
/// # Errors
///
/// Returns an error if the system does not allow it. The error states the requirements.
pub fn prepare() -> Result<Standing, NamespaceError> {
    let status = fs::read_to_string("/proc/self/status").map_err(NamespaceError::Refused)?;
    let needed = (1_u64 << CAP_NET_ADMIN) | (1 << CAP_SYS_ADMIN);
    if effective_capabilities(&status) & needed == needed {
        return Ok(Standing::Privileged);
    }
    let (user, group) = (geteuid(), getegid());
    enter_user_namespace()?;
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(NamespaceError::Refused)
    };
    // user_namespaces(7): group IDs can be mapped only after setgroups(2) has been denied.
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("0 {user} 1"))?;
    map("gid_map", format!("0 {group} 1"))?;
    Ok(Standing::UserNamespace)
}

fn enter_user_namespace() -> Result<(), NamespaceError> {
    for _ in 0..ATTEMPTS {
        match unshare(CloneFlags::CLONE_NEWUSER) {
            Ok(()) => return Ok(()),
            // The process still has other threads.
            Err(Errno::EINVAL) => thread::sleep(BETWEEN_ATTEMPTS),
            Err(error) => return Err(NamespaceError::Refused(io::Error::from(error))),
        }
    }
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    Err(NamespaceError::TooLate { threads })
}

/// Parses the line `CapEff` of `/proc/self/status`. Returns no capabilities if there is no such line.
fn effective_capabilities(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_their_line() {
        let status = "Name:\tcat\nCapPrm:\tffff\nCapEff:\t0000000000201000\nCapBnd:\t1\n";
        assert_eq!(
            effective_capabilities(status),
            (1 << CAP_SYS_ADMIN) | (1 << CAP_NET_ADMIN)
        );
        assert_eq!(effective_capabilities("Name:\tcat\n"), 0);
    }
}
