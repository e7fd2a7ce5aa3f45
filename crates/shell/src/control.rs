//! The congestion control of all connections of a namespace.

use std::fs;
use std::io;

use dupack_wire::namespace::Namespace;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket, sockopt};
use thiserror::Error;

/// Why connections do not get a congestion control.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendersError {
    /// The kernel has no such module.
    #[error(
        "this machine's kernel has no congestion control `{name}`; it has {available}. If it has the module, load it as \
         root: modprobe tcp_{name}"
    )]
    Missing {
        /// Its name.
        name: String,
        /// What there is.
        available: String,
    },
    /// Connections outside of the machine's own namespace may not have it.
    #[error(
        "the kernel lets only the congestion controls {allowed} be used here; to allow `{name}`, as root: sysctl -w \
         net.ipv4.tcp_allowed_congestion_control=\"{allowed} {name}\""
    )]
    Restricted {
        /// Its name.
        name: String,
        /// What is allowed.
        allowed: String,
    },
    /// The kernel says yes and takes another.
    #[error("connections were to have the congestion control `{name}`, and got `{taken}`")]
    Other {
        /// What was asked for.
        name: String,
        /// What was read back.
        taken: String,
    },
    /// The kernel does not say.
    #[error("cannot set the congestion control `{name}`")]
    Unknown {
        /// Its name.
        name: String,
        /// What the kernel says.
        source: io::Error,
    },
}

const SETTING: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Has new connections in `home` use the congestion control `name`, and reads it back from one.
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

/// That of a new socket.
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
