//! Congestion control of all connections in a namespace.

use std::fs;
use std::io;

use dupack_wire::namespace::Namespace;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket, sockopt};
use thiserror::Error;

/// Errors of setting a congestion control.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendersError {
    /// The kernel does not provide the congestion control.
    #[error(
        "this machine's kernel has no congestion control `{name}`, only {available}; if its module is installed, load \
         it as root: modprobe tcp_{name}"
    )]
    Missing {
        /// Name of the congestion control.
        name: String,
        /// Congestion controls that the kernel has.
        available: String,
    },
    /// The congestion control is not allowed outside of the machine's own namespace.
    #[error(
        "the kernel allows only the congestion controls {allowed} here; to allow `{name}`, run as root: sysctl -w \
         net.ipv4.tcp_allowed_congestion_control=\"{allowed} {name}\""
    )]
    Restricted {
        /// Name of the congestion control.
        name: String,
        /// Congestion controls that are allowed.
        allowed: String,
    },
    /// The kernel accepted the name but uses another congestion control.
    #[error("connections use the congestion control `{taken}` instead of `{name}`")]
    Other {
        /// Requested congestion control.
        name: String,
        /// Congestion control read back.
        taken: String,
    },
    /// The kernel refused for an unknown reason.
    #[error("cannot set the congestion control `{name}`")]
    Unknown {
        /// Name of the congestion control.
        name: String,
        /// Error of the kernel.
        source: io::Error,
    },
}

const SETTING: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Makes new connections in `home` use the congestion control `name`, and checks this with a new socket.
pub(crate) fn set(home: &Namespace, name: &str) -> Result<(), SendersError> {
    let wanted = name.to_owned();
    let written = home.run(move || fs::write(SETTING, wanted));
    written.map_err(|source| refused(name, source))?;
    let unknown = |source| SendersError::Unknown {
        name: name.to_owned(),
        source,
    };
    let taken = home.run(taken).map_err(unknown)?;
    match taken == name {
        true => Ok(()),
        false => Err(SendersError::Other {
            name: name.to_owned(),
            taken,
        }),
    }
}

/// Returns the congestion control of a new socket.
fn taken() -> io::Result<String> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    let name = getsockopt(&socket, sockopt::TcpCongestion)?;
    let name = name.to_string_lossy().into_owned();
    Ok(name.trim_end_matches('\0').to_owned())
}

fn refused(name: &str, source: io::Error) -> SendersError {
    let name = name.to_owned();
    let listed = |which: &str| {
        let file = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
        let text = fs::read_to_string(file).unwrap_or_default();
        text.trim().to_owned()
    };
    match source.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::EINVAL) => SendersError::Missing {
            name,
            available: listed("available"),
        },
        Some(Errno::EPERM | Errno::EBUSY) => SendersError::Restricted {
            name,
            allowed: listed("allowed"),
        },
        _ => SendersError::Unknown { name, source },
    }
}
