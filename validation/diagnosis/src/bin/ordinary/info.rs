//! The part of a socket's `TCP_INFO` that is needed here.

use std::io;
use std::net::TcpStream;

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, libc, sockopt_impl};
use serde::{Deserialize, Serialize};

/// `struct tcp_info` of Linux (`linux/tcp.h`, since 5.4), with all fields in their order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    rate_app_limited: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
}

sockopt_impl!(
    /// The option TCP_INFO of tcp(7).
    Info,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    TcpInfo
);

/// State of a socket at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 21]", into = "[u64; 21]")]
pub struct Sample {
    /// Time in nanoseconds since 1970.
    pub at: u64,
    /// Value of Linux's `enum tcp_ca_state`: 3 is Recovery, 4 is Loss.
    pub ca_state: u64,
    pub mss: u64,
    /// Number of outstanding segments. The following fields are the numbers of segments that are sacked, marked as
    /// lost, and retransmitted.
    pub unacked: u64,
    pub sacked: u64,
    pub lost: u64,
    pub retrans: u64,
    /// Smoothed round-trip time in microseconds.
    pub rtt: u64,
    pub ssthresh: u64,
    pub cwnd: u64,
    pub total_retrans: u64,
    pub bytes_acked: u64,
    pub not_sent: u64,
    /// Busy time in microseconds.
    pub busy: u64,
    pub receive_window: u64,
    pub send_buffer: u64,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub reordering_seen: u64,
    /// 1 if `tcpi_delivery_rate_app_limited` is set, otherwise 0.
    pub app_limited: u64,
    /// Last receive window that the peer announced, in bytes.
    pub window: u64,
}

impl From<[u64; 21]> for Sample {
    fn from(n: [u64; 21]) -> Self {
        Self {
            at: n[0],
            ca_state: n[1],
            mss: n[2],
            unacked: n[3],
            sacked: n[4],
            lost: n[5],
            retrans: n[6],
            rtt: n[7],
            ssthresh: n[8],
            cwnd: n[9],
            total_retrans: n[10],
            bytes_acked: n[11],
            not_sent: n[12],
            busy: n[13],
            receive_window: n[14],
            send_buffer: n[15],
            bytes_sent: n[16],
            bytes_retrans: n[17],
            reordering_seen: n[18],
            app_limited: n[19],
            window: n[20],
        }
    }
}

impl From<Sample> for [u64; 21] {
    fn from(s: Sample) -> Self {
        [
            s.at,
            s.ca_state,
            s.mss,
            s.unacked,
            s.sacked,
            s.lost,
            s.retrans,
            s.rtt,
            s.ssthresh,
            s.cwnd,
            s.total_retrans,
            s.bytes_acked,
            s.not_sent,
            s.busy,
            s.receive_window,
            s.send_buffer,
            s.bytes_sent,
            s.bytes_retrans,
            s.reordering_seen,
            s.app_limited,
            s.window,
        ]
    }
}

impl Sample {
    /// Takes a sample at the time `at`.
    pub fn take(stream: &TcpStream, at: u64) -> io::Result<Self> {
        let info = getsockopt(stream, Info)?;
        Ok(Self {
            at,
            ca_state: info.ca_state.into(),
            mss: info.snd_mss.into(),
            unacked: info.unacked.into(),
            sacked: info.sacked.into(),
            lost: info.lost.into(),
            retrans: info.retrans.into(),
            rtt: info.rtt.into(),
            ssthresh: info.snd_ssthresh.into(),
            cwnd: info.snd_cwnd.into(),
            total_retrans: info.total_retrans.into(),
            bytes_acked: info.bytes_acked,
            not_sent: info.notsent_bytes.into(),
            busy: info.busy_time,
            receive_window: info.rwnd_limited,
            send_buffer: info.sndbuf_limited,
            bytes_sent: info.bytes_sent,
            bytes_retrans: info.bytes_retrans,
            reordering_seen: info.reord_seen.into(),
            // The flag is the lowest bit of the byte after the window scales.
            app_limited: u64::from(info.rate_app_limited & 1),
            window: info.snd_wnd.into(),
        })
    }

    /// Returns the number of data bytes that were sent and are not acknowledged yet.
    pub const fn outstanding(&self) -> u64 {
        self.bytes_sent
            .saturating_sub(self.bytes_retrans)
            .saturating_sub(self.bytes_acked)
    }

    /// Returns the sender's estimate of the data in flight, in bytes.
    pub const fn in_flight(&self) -> u64 {
        let gone = self.sacked + self.lost;
        (self.outstanding() + self.retrans * self.mss).saturating_sub(gone * self.mss)
    }
}
