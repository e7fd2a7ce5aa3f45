//! IP versions.

use std::net::IpAddr;
use std::path::Path;

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Version 4.
    V4,
    /// Version 6.
    V6,
}

impl Family {
    /// Returns `true` if this machine's kernel supports the IP version. Some kernels are built or started without IPv6.
    #[must_use]
    pub fn is_there(self) -> bool {
        match self {
            Self::V4 => true,
            Self::V6 => Path::new("/proc/net/if_inet6").exists(),
        }
    }

    /// Returns the IP version of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}
