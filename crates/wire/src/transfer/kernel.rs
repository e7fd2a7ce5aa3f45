//! What the kernel counts of its own TCP: per namespace, which in one that was made for a single
//! transfer are the counters of its sender, and per socket.

use std::fs;
use std::io;
use std::net::TcpStream;

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, libc, sockopt_impl};

use super::sender::control_of;

/// What the kernel counted at one socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SocketStats {
    /// Data segments sent, retransmissions included.
    pub(super) segments: u64,
    /// Retransmitted segments.
    pub(super) retransmissions: u64,
    /// The congestion control that it has.
    pub(super) control: String,
}

impl SocketStats {
    pub(super) fn of(stream: &TcpStream) -> io::Result<Self> {
        let info = getsockopt(stream, Info)?;
        Ok(Self {
            segments: info.data_segs_out.into(),
            retransmissions: info.total_retrans.into(),
            control: control_of(stream)?,
        })
    }
}

/// The beginning of Linux's `struct tcp_info` (`linux/tcp.h`, since 4.6 so far), field by field in its
/// order. The C library's stops before the counters of segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    state_to_flags: [u8; 8],
    rto_to_rcv_space: [u32; 23],
    total_retrans: u32,
    pacing_rate_to_bytes_received: [u64; 4],
    segs_out_to_data_segs_in: [u32; 5],
    data_segs_out: u32,
}

sockopt_impl!(
    /// TCP_INFO of tcp(7).
    Info,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    TcpInfo
);

/// What a kernel's sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStats {
    /// Retransmitted segments, those of the handshake included (`RetransSegs`, RFC 4022).
    pub retransmissions: u64,
    /// Retransmission timeouts (`TCPTimeouts`).
    pub timeouts: u64,
}

impl KernelStats {
    /// Those of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell them.
    pub(super) fn read() -> io::Result<Self> {
        let read = |file: &str, group, name| {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{file}"))?;
            counter(&text, group, name).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("no {group} {name} in {file}"),
                )
            })
        };
        Ok(Self {
            retransmissions: read("snmp", "Tcp:", "RetransSegs")?,
            timeouts: read("netstat", "TcpExt:", "TCPTimeouts")?,
        })
    }
}

/// A counter of a group: a line of names is followed by a line of values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_below_its_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 77 3\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(77));
        assert_eq!(counter(text, "Ip:", "B"), Some(2));
        assert_eq!(counter(text, "Tcp:", "MaxConn"), None);
        assert_eq!(counter(text, "Udp:", "A"), None);
    }
}
