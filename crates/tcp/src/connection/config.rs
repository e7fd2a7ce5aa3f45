//! Parameters of a connection and result of its handshake.

use alloc::boxed::Box;
use core::fmt;

use super::icmp::OpeningErrors;
use super::path_mtu::PathMtuConfig;
use crate::options::{Dsack, Ecn, MarkEcho, Sack, Timestamping, WindowScale};
use crate::receiver::{AckPolicy, SackCompression, TimestampEcho};
use crate::sender::{SenderConfig, TimestampClock};
use crate::seq::SeqNumber;
use crate::stack::Stack;
use crate::time::Duration;

/// Minimum MSS of this end, in bytes. Smaller values from the host are raised to this value.
///
/// 88 is the minimum in Linux (`TCP_MIN_MSS`): a packet of 128 bytes. Actual links carry at least 576 bytes (RFC 9293
/// §3.7.1: MSS 536).
pub const MIN_MSS: u16 = 88;

/// Minimum MSS of a peer or a path, in bytes. Smaller values are raised to this value. The options that every segment
/// carries are then subtracted.
///
/// If full segments are shorter than their headers, the sender processes and stores more bytes than it sends
/// (CVE-2019-11479). 48 is the minimum in Linux (`tcp_min_snd_mss`, `__tcp_mtu_to_mss`): with the longest options,
/// eight bytes of data remain.
pub const MIN_SEND_MSS: u16 = 48;

/// MSS of an IPv4 peer that does not announce one (RFC 9293 §3.7.1).
pub const DEFAULT_MSS_IPV4: u16 = 536;

/// MSS of an IPv6 peer that does not announce one (RFC 9293 §3.7.1).
pub const DEFAULT_MSS_IPV6: u16 = 1220;

/// Largest shift of a window (RFC 7323 §2.3).
pub const MAX_WINDOW_SHIFT: u8 = 14;

/// Size of the timestamps option in bytes, including padding (RFC 7323 Appendix A).
pub const TIMESTAMP_OPTION_BYTES: u16 = 12;

/// Constructor of the sender's parameters and plug-ins. It is called when the handshake has determined the segment
/// size.
///
/// The connection itself sets `smss`, `isn`, `peer_window`, `sack`, `timestamps`, `ecn` and `order_echo` (which cannot
/// be negotiated and is off) of the [`SenderConfig`], and it may raise the initial timeout. The other fields are used
/// unchanged.
pub type BuildSender = Box<dyn FnOnce(&Negotiated) -> (SenderConfig, Stack) + Send>;

/// Parameters of a connection. [`Config::new`] returns the values of the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Initial send sequence number. The host must make it hard to guess (RFC 6528).
    pub iss: SeqNumber,
    /// MTU of the link minus the IP header (without options) and the 20 bytes of a TCP header. It is announced as MSS,
    /// and this end sends no longer segments.
    pub mss: u16,
    /// MSS of a peer that does not announce one: [`DEFAULT_MSS_IPV4`] or [`DEFAULT_MSS_IPV6`].
    pub default_peer_mss: u16,
    /// Number of bytes of the peer's stream that the host can store. This is the maximum receive window.
    pub receive_buffer: u32,
    /// Options offered to the peer.
    pub offer: Offer,
    /// Timestamp that ACKs echo.
    pub timestamp_echo: TimestampEcho,
    /// Random offset added to every TSval, so that it does not reveal the host's uptime.
    pub timestamp_offset: u32,
    /// Rule for acknowledging data that arrives in order.
    pub ack_policy: AckPolicy,
    /// Compression of the ACKs that a gap causes.
    pub sack_compression: Option<SackCompression>,
    /// Rule for echoing marks with classic ECN.
    pub mark_echo: MarkEcho,
    /// Segments that are sent as ECN-capable with Accurate ECN.
    pub ect: EctUse,
    /// Rule for sending the AccECN option with Accurate ECN.
    pub accurate_option: AccurateOption,
    /// Treatment of a segment that acknowledges data that was never sent.
    pub unsent_ack: UnsentAck,
    /// Treatment of a segment whose timestamp is older than one received before.
    pub old_stamp: OldStamp,
    /// Treatment of a segment without timestamps, if they were agreed on.
    pub unstamped: Unstamped,
    /// Report of duplicate data that arrived with the peer's FIN.
    pub last_duplicate: LastDuplicate,
    /// ICMP errors that abort the opening of the connection.
    pub opening_errors: OpeningErrors,
    /// Discovery of the path's MTU.
    pub path_mtu: PathMtuConfig,
    /// Time from the first SYN to its first retransmission (RFC 6298 §2.1: 1 s). It doubles with each retransmission.
    pub syn_timeout: Duration,
    /// Number of retransmissions of a client's SYN before `syn_timeout` starts to double (RFC 6298 §5.5: 0).
    pub even_syns: u32,
    /// Maximum duration of a handshake (RFC 9293 §3.8.3: at least 3 min).
    pub open_timeout: Duration,
    /// Maximum time that data may wait for an acknowledgment without any progress (RFC 9293 §3.9.1.1: 5 min; RFC 5482).
    ///
    /// While the peer's window is closed, the time counts from the peer's last segment: the connection stays open as
    /// long as the peer responds to probes (RFC 9293 §3.8.6.1, MUST-37). A host that needs the memory checks
    /// [`shut_out_since`](super::Connection::shut_out_since) and calls [`abort`](super::Connection::abort) (RFC 6429).
    pub user_timeout: Duration,
    /// Probes of an idle connection (RFC 9293 §3.8.4: off by default).
    pub keep_alive: Option<KeepAlive>,
    /// Maximum segment lifetime; TIME-WAIT takes two (RFC 9293 §3.4.2: 2 min).
    pub msl: Duration,
    /// Random secret of this connection. It determines the limit of responses to suspicious segments, and the phase of
    /// the period in which they are counted (RFC 5961 §7).
    pub challenge_secret: u64,
    /// Random seed for the sender's random choices. The peer can observe the effects of these choices, so the seed must
    /// not reveal other secrets.
    pub seed: u64,
}

/// Options that this end's SYN offers, or that its SYN-ACK accepts if the peer's SYN offered them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Window scaling, which permits windows above 64 KiB (RFC 7323 §2).
    pub window_scale: WindowScale,
    /// Selective acknowledgment (RFC 2018).
    pub sack: Sack,
    /// Reports of duplicate data, if SACK is agreed on (RFC 2883). They are not negotiated.
    pub dsack: Dsack,
    /// Timestamps and their clock (RFC 7323 §3). After an idle period of 2³¹ ticks, a peer treats new values as old, so
    /// the connection must not be idle for that long (25 days with ticks of 1 ms, 36 minutes with ticks of 1 µs; see
    /// [`KeepAlive`]).
    pub timestamps: Option<TimestampClock>,
    /// Explicit congestion notification (RFC 3168, RFC 9768).
    pub ecn: EcnOffer,
}

/// Use of explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnOffer {
    /// ECN is neither offered nor accepted (Linux's `tcp_ecn` 0).
    Off,
    /// Classic ECN is accepted if the peer offers it (`tcp_ecn` 2, Linux's default).
    Accepted,
    /// Classic ECN is accepted, and offered in the first SYN (`tcp_ecn` 1). Retransmitted SYNs have no offer, because
    /// some middleboxes drop SYNs with ECN flags (RFC 3168 §6.1.1.1).
    Offered,
    /// Accurate ECN (RFC 9768) and classic ECN are accepted (`tcp_ecn` 5).
    AccurateAccepted,
    /// Same as `AccurateAccepted`, and the first SYN offers classic ECN (`tcp_ecn` 4).
    AccurateOrClassicOffered,
    /// Same as `AccurateAccepted`, and the first two SYNs offer Accurate ECN (`tcp_ecn` 3). A peer that supports only
    /// classic ECN agrees to classic ECN.
    AccurateOffered,
}

/// Segments that a connection with Accurate ECN sends as ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EctUse {
    /// New data only (RFC 3168 §6.1.4 to §6.1.6; RFC 9768 leaves other segments to experiments).
    NewData,
    /// All segments except those with SYN or RST (Linux, `tcp_ecn_send`).
    Everything,
}

/// Rule by which a connection with Accurate ECN sends the AccECN option (RFC 9768 §3.2.3.3). Unless bytes are reserved
/// for it, the option does not fit into a full segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccurateOption {
    /// The option is never sent (Linux's `tcp_ecn_option` 0); only the ACE field is used.
    Off,
    /// The option is sent in the handshake, and in later segments if a counter has changed: the simple scheme of the
    /// RFC.
    Changed,
    /// The option is sent in the handshake; later, if the peer sends the option, in every segment into which it fits
    /// (`tcp_ecn_option` 2, Linux's default).
    Always,
}

/// Treatment of a segment that acknowledges data that was never sent. The segment is always dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsentAck {
    /// An ACK is sent in response, within the rate limit (RFC 9293 §3.10.7.4, fifth; RFC 5961 §5).
    Answered,
    /// The segment is ignored in ESTABLISHED. In later states, an ACK is sent in response (Linux, `tcp_ack`).
    Ignored,
}

/// Treatment of a segment whose timestamp is older than one received before (PAWS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OldStamp {
    /// The segment is dropped, and an ACK is sent in response, within the rate limit (RFC 7323 §5.3, R1).
    Answered,
    /// Same as `Answered`, except for reordered ACKs without data: a duplicate ACK is processed, and an ACK that was
    /// sent before data that has already arrived is dropped silently. A timestamp that is only one tick older does not
    /// count as old (Linux, `tcp_disordered_ack_check`).
    AcksPass,
}

/// Treatment of a segment without timestamps on a connection on which both ends agreed to send them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unstamped {
    /// The segment is dropped silently, unless it is a RST or SYN (RFC 7323 §3.2, SHOULD).
    Dropped,
    /// The segment is processed like any other (Linux, `tcp_validate_incoming`).
    Taken,
}

/// Report, in the ACK of the peer's FIN, of duplicate data in the segment with the FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastDuplicate {
    /// The ACK reports the duplicate data (RFC 2883 §4).
    Reported,
    /// The ACK does not report it: the FIN clears all SACK information (Linux, `tcp_fin`).
    Forgotten,
}

/// Probes of an idle connection (RFC 9293 §3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Period without packets from the peer before the first probe (RFC 9293 §3.8.4: at least two hours by default).
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Number of unanswered probes after which the connection is closed.
    pub probes: u32,
}

impl KeepAlive {
    /// First probe after two hours, and nine probes at intervals of 75 s, as in 4.4BSD and Linux.
    pub const STANDARD: Self = Self {
        idle: Duration::from_secs(7200),
        interval: Duration::from_secs(75),
        probes: 9,
    };
}

impl Config {
    /// Returns the values of the RFCs for a link whose packets carry `mss` bytes in addition to the IPv4 and TCP
    /// headers. All options except ECN are offered, and timestamps are in milliseconds. The four numbers that should be
    /// random (`iss`, `timestamp_offset`, `challenge_secret`, `seed`) are zero; the host must set them.
    #[must_use]
    pub const fn new(mss: u16) -> Self {
        Self {
            iss: SeqNumber(0),
            mss,
            default_peer_mss: DEFAULT_MSS_IPV4,
            receive_buffer: 1 << 20,
            offer: Offer {
                window_scale: WindowScale::Used,
                sack: Sack::Permitted,
                dsack: Dsack::Reported,
                timestamps: Some(TimestampClock {
                    tick: Duration::from_millis(1),
                    values: crate::sender::TimestampValues::Clock,
                }),
                ecn: EcnOffer::Off,
            },
            timestamp_echo: TimestampEcho::Standard,
            timestamp_offset: 0,
            ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
            sack_compression: None,
            mark_echo: MarkEcho::UntilCwr,
            ect: EctUse::NewData,
            accurate_option: AccurateOption::Changed,
            unsent_ack: UnsentAck::Answered,
            old_stamp: OldStamp::Answered,
            unstamped: Unstamped::Dropped,
            last_duplicate: LastDuplicate::Reported,
            opening_errors: OpeningErrors::Hard,
            path_mtu: PathMtuConfig::IPV4,
            syn_timeout: Duration::from_secs(1),
            even_syns: 0,
            open_timeout: Duration::from_secs(180),
            user_timeout: Duration::from_secs(300),
            keep_alive: None,
            msl: Duration::from_secs(120),
            challenge_secret: 0,
            seed: 0,
        }
    }

    /// Returns the window scale of this end: the smallest shift with which the size of the receive buffer fits into 16
    /// bits, but at most [`MAX_WINDOW_SHIFT`].
    #[must_use]
    pub const fn window_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < MAX_WINDOW_SHIFT && self.receive_buffer >> shift > u16::MAX as u32 {
            shift += 1;
        }
        shift
    }
}

/// Result of the handshake. This end builds its sender from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Negotiated {
    /// Payload bytes of a full segment that this end sends: the smaller of the limits of the link and the peer, minus
    /// the options that every segment carries.
    pub smss: u32,
    /// Estimated payload bytes of a full segment from the peer, for delayed ACKs.
    pub peer_smss: u32,
    /// Window scales; 0 if scaling was not agreed on.
    pub shifts: WindowShifts,
    /// Selective acknowledgment.
    pub sack: Sack,
    /// Timestamps on every segment.
    pub timestamps: Timestamping,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Round-trip time of the handshake, which is the sender's first sample; `None` if the SYN was retransmitted and
    /// timestamps do not show which transmission was acknowledged.
    pub handshake_rtt: Option<Duration>,
    /// Same as [`Config::seed`].
    pub seed: u64,
}

/// Window scales of both directions (RFC 7323 §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowShifts {
    /// Window scale of the windows that this end advertises.
    pub ours: u8,
    /// Window scale of the windows that the peer advertises.
    pub peers: u8,
}

impl fmt::Display for Negotiated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |agreed: bool| if agreed { "yes" } else { "no" };
        let ecn = match self.ecn {
            Ecn::Classic => "yes",
            Ecn::Accurate => "accurate",
            Ecn::Absent => "no",
        };
        write!(
            f,
            "segments of {} bytes, SACK {}, timestamps {}, ECN {}, window shifts {} and {}",
            self.smss,
            word(self.sack.is_on()),
            word(self.timestamps.is_on()),
            ecn,
            self.shifts.ours,
            self.shifts.peers
        )
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn windows_are_shifted_until_the_buffer_fits() {
        // The scale follows RFC 7323 §2.2, and is at most 14 (§2.3).
        let shift = |buffer| {
            let mut config = Config::new(1460);
            config.receive_buffer = buffer;
            config.window_shift()
        };
        assert_eq!(shift(65_535), 0);
        assert_eq!(shift(65_536), 1);
        assert_eq!(shift(1 << 20), 5);
        assert_eq!(shift(u32::MAX), 14);
    }

    #[test]
    fn the_negotiation_is_displayed_in_words() {
        let negotiated = Negotiated {
            smss: 1448,
            peer_smss: 1448,
            shifts: WindowShifts { ours: 5, peers: 7 },
            sack: Sack::Permitted,
            timestamps: Timestamping::Carried,
            ecn: Ecn::Absent,
            handshake_rtt: None,
            seed: 0,
        };
        assert_eq!(
            negotiated.to_string(),
            "segments of 1448 bytes, SACK yes, timestamps yes, ECN no, window shifts 5 and 7"
        );
    }
}
