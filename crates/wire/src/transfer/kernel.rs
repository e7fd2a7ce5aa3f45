//! Statistics of the kernel's TCP, for a namespace or for a socket. The statistics of a namespace are those of the
//! sender if the namespace was made for a single transfer.

use std::fs;
use std::io;
use std::net::TcpStream;

use dupack_tcp::time::Duration;
use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, libc, sockopt_impl};

use super::sender::control_of;

/// Statistics of one socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SocketStats {
    /// Data segments sent, including retransmissions.
    pub(super) segments: u64,
    /// Retransmitted segments.
    pub(super) retransmissions: u64,
    /// Congestion control in use.
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

/// Beginning of Linux's `struct tcp_info` (`linux/tcp.h`, as of 4.6), field by field in order. The version in the C
/// library ends before the segment counters.
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

/// Returns `true` if a socket has no outstanding or unsent data: `tcpi_unacked`, in segments, and `tcpi_notsent_bytes`
/// are 0.
pub(super) fn is_all_acknowledged(stream: &TcpStream) -> io::Result<bool> {
    const UNACKED: usize = 4;
    const NOT_SENT: usize = 2;
    let info = getsockopt(stream, Info)?;
    Ok(info.rto_to_rcv_space[UNACKED] == 0 && info.segs_out_to_data_segs_in[NOT_SENT] == 0)
}

/// Times and counters of one socket as reported by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketTimes {
    /// Time for which data was outstanding or waiting to be sent (`tcpi_busy_time`).
    pub busy: Duration,
    /// Part of `busy` that was limited by the receive window (`tcpi_rwnd_limited`).
    pub receive_window: Duration,
    /// Part of `busy` that was limited by the send buffer (`tcpi_sndbuf_limited`).
    pub send_buffer: Duration,
    /// Minimum round-trip time (`tcpi_min_rtt`).
    pub least_rtt: Duration,
    /// Retransmitted segments (`tcpi_total_retrans`).
    pub retransmissions: u64,
    /// Local port of the socket.
    pub port: u16,
}

impl SocketTimes {
    /// Reads the times of a socket. Requires Linux 4.10 or later.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel does not report the times.
    pub(super) fn of(stream: &TcpStream) -> io::Result<Self> {
        let info = getsockopt(stream, LongInfo)?;
        let [busy, receive_window, send_buffer] = info.busy_to_sndbuf.map(Duration::from_micros);
        Ok(Self {
            busy,
            receive_window,
            send_buffer,
            least_rtt: Duration::from_micros(info.min_rtt.into()),
            retransmissions: info.total_retrans.into(),
            port: stream.local_addr()?.port(),
        })
    }
}

/// Same as [`TcpInfo`], but up to the time fields (Linux 4.10 and later).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LongTcpInfo {
    state_to_flags: [u8; 8],
    rto_to_rcv_space: [u32; 23],
    total_retrans: u32,
    pacing_rate_to_bytes_received: [u64; 4],
    segs_out_to_notsent: [u32; 3],
    min_rtt: u32,
    data_segs_in_out: [u32; 2],
    delivery_rate: u64,
    busy_to_sndbuf: [u64; 3],
}

sockopt_impl!(
    /// TCP_INFO of tcp(7), in the longer version.
    LongInfo,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    LongTcpInfo
);

/// Counters of a kernel's sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStats {
    /// Retransmitted segments, including those of the handshake (`RetransSegs`, RFC 4022).
    pub retransmissions: u64,
    /// Retransmission timeouts (`TCPTimeouts`).
    pub timeouts: u64,
}

impl KernelStats {
    /// Reads the counters of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel does not report the counters.
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

/// Parses a counter of a group. In the text, a line with the names is followed by a line with the values.
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
