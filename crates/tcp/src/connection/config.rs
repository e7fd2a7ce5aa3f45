//! The parameters of a connection, and what the handshake makes of them.

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

/// The least MSS of this end: what a host sets below counts as this much.
///
/// 88 is Linux's floor (`TCP_MIN_MSS`): a packet of 128 bytes. Links in use carry at least 576 bytes
/// (RFC 9293 §3.7.1: MSS 536).
pub const MIN_MSS: u16 = 88;

/// The least MSS that a peer or a path is believed to need: what they say below counts as this
/// much, and the options of every segment are taken from it.
///
/// A full segment less than its headers makes the sender work, and remember, more than it sends
/// (CVE-2019-11479). 48 is Linux's floor (`tcp_min_snd_mss`, `__tcp_mtu_to_mss`): the longest options
/// leave eight bytes of data.
pub const MIN_SEND_MSS: u16 = 48;

/// The MSS of an IPv4 peer that does not say (RFC 9293 §3.7.1).
pub const DEFAULT_MSS_IPV4: u16 = 536;

/// The MSS of an IPv6 peer that does not say (RFC 9293 §3.7.1).
pub const DEFAULT_MSS_IPV6: u16 = 1220;

/// The largest shift of a window (RFC 7323 §2.3).
pub const MAX_WINDOW_SHIFT: u8 = 14;

/// Bytes that timestamps take in every header, padding included (RFC 7323 Appendix A).
pub const TIMESTAMP_OPTION_BYTES: u16 = 12;

/// Makes the sender's parameters and its plug-ins once the handshake has shown the size of a
/// segment.
///
/// Of the [`SenderConfig`] the connection itself sets `smss`, `isn`, `peer_window`, `sack`,
/// `timestamps`, `ecn`, `order_echo` (which has no negotiation, and is off) and the initial timeout;
/// the rest is taken as it is.
pub type BuildSender = Box<dyn FnOnce(&Negotiated) -> (SenderConfig, Stack) + Send>;

/// The parameters of a connection. [`Config::new`] has the RFCs' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Initial send sequence number. The host makes it hard to guess (RFC 6528).
    pub iss: SeqNumber,
    /// MTU of the link less IP header (without options) and 20 bytes of TCP header: announced
    /// as MSS, and no segment sent is longer.
    pub mss: u16,
    /// The peer's MSS if it does not say: [`DEFAULT_MSS_IPV4`] or [`DEFAULT_MSS_IPV6`].
    pub default_peer_mss: u16,
    /// Bytes that the host keeps of the peer's stream: the largest window.
    pub receive_buffer: u32,
    /// What is offered to the peer.
    pub offer: Offer,
    /// Which timestamp is echoed.
    pub timestamp_echo: TimestampEcho,
    /// Added to every TSval, so that it does not tell how long the host has been up. Random.
    pub timestamp_offset: u32,
    /// When data in order is acknowledged.
    pub ack_policy: AckPolicy,
    /// Of the ACKs that a gap causes some wait for others.
    pub sack_compression: Option<SackCompression>,
    /// With classic ECN, for how long this end tells of a mark.
    pub mark_echo: MarkEcho,
    /// With Accurate ECN, what leaves as ECN-capable.
    pub ect: EctUse,
    /// With Accurate ECN, when its option is sent.
    pub accurate_option: AccurateOption,
    /// What becomes of a segment that acknowledges what was never sent.
    pub unsent_ack: UnsentAck,
    /// What becomes of a segment whose timestamp is older than one that came before.
    pub old_stamp: OldStamp,
    /// What becomes of a segment without timestamps where they were agreed on.
    pub unstamped: Unstamped,
    /// What is reported of data that came again with the peer's FIN.
    pub last_duplicate: LastDuplicate,
    /// Which ICMP errors end the attempt to open the connection.
    pub opening_errors: OpeningErrors,
    /// What is done about the path's MTU.
    pub path_mtu: PathMtuConfig,
    /// Time from the first SYN to its first repetition; doubles with each (RFC 6298 §2.1: 1 s).
    pub syn_timeout: Duration,
    /// Repetitions of a client's SYN before that time begins to double (RFC 6298 §5.5: none).
    pub even_syns: u32,
    /// How long a handshake may take (RFC 9293 §3.8.3: at least 3 min).
    pub open_timeout: Duration,
    /// How long data may wait for an acknowledgment without any progress (RFC 9293 §3.9.1.1: 5
    /// min; RFC 5482).
    ///
    /// Before a closed window the time counts from the peer's last answer: as long as it answers
    /// probes the connection stays open (RFC 9293 §3.8.6.1, MUST-37). A host that needs what it
    /// holds asks [`shut_out_since`](super::Connection::shut_out_since) and calls
    /// [`abort`](super::Connection::abort) (RFC 6429).
    pub user_timeout: Duration,
    /// Probes of an idle connection (RFC 9293 §3.8.4: off unless asked for).
    pub keep_alive: Option<KeepAlive>,
    /// Maximum segment lifetime; TIME-WAIT takes two (RFC 9293 §3.4.2: 2 min).
    pub msl: Duration,
    /// A secret of this connection, random: how many answers to suspect segments it gives, and
    /// when it counts anew, follow from it (RFC 5961 §7).
    pub challenge_secret: u64,
    /// What a sender leaves to chance follows from this number, random: what it does is seen by
    /// the peer, and must not tell of other secrets.
    pub seed: u64,
}

/// What a SYN offers, or accepts if the peer's SYN offered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Windows beyond 64 KiB (RFC 7323 §2).
    pub window_scale: WindowScale,
    /// Selective acknowledgment (RFC 2018).
    pub sack: Sack,
    /// Reports of duplicates, where SACK is agreed on (RFC 2883; no negotiation).
    pub dsack: Dsack,
    /// Timestamps, and the clock behind them (RFC 7323 §3). A peer takes a value for old when
    /// it lags by 2³¹ ticks: the connection must not be idle for as long (25 days at 1 ms, 36
    /// minutes at 1 µs; see [`KeepAlive`]).
    pub timestamps: Option<TimestampClock>,
    /// Explicit congestion notification (RFC 3168, RFC 9768).
    pub ecn: EcnOffer,
}

/// Whether explicit congestion notification is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnOffer {
    /// It is neither offered nor accepted (Linux's `tcp_ecn` 0).
    Off,
    /// It is accepted if the peer offers it (2, Linux's default).
    Accepted,
    /// It is offered in the first SYN, too (1). Should nothing answer that, the next comes without:
    /// there are boxes that drop such SYNs (RFC 3168 §6.1.1.1).
    Offered,
    /// Accurate ECN (RFC 9768) is accepted, or what a peer offers of the classic kind (5).
    AccurateAccepted,
    /// The same, and SYNs offer the classic kind (4).
    AccurateOrClassicOffered,
    /// Accurate ECN is offered in the first two SYNs, too (3): a peer that has only the classic kind
    /// agrees to that.
    AccurateOffered,
}

/// What of a connection with Accurate ECN leaves as ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EctUse {
    /// New data (RFC 3168 §6.1.4 to §6.1.6; RFC 9768 leaves the rest to experiments).
    NewData,
    /// All but what has SYN or RST (Linux, `tcp_ecn_send`).
    Everything,
}

/// When a connection with Accurate ECN sends the AccECN option (RFC 9768 §3.2.3.3). It has no room
/// beside a full segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccurateOption {
    /// Never (Linux's `tcp_ecn_option` 0): the ACE field must do.
    Off,
    /// In the handshake, and with ACKs if a counter has changed: the RFC's simple scheme.
    Changed,
    /// In the handshake, and if the peer sends it, whenever there is room (2, Linux's default).
    Always,
}

/// What becomes of a segment that acknowledges what was never sent. It is dropped in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsentAck {
    /// It is answered by an ACK, within bounds (RFC 9293 §3.10.7.4, fifth; RFC 5961 §5).
    Answered,
    /// It is ignored while neither end has closed, and answered after that (Linux, `tcp_ack`).
    Ignored,
}

/// What becomes of a segment whose timestamp is older than one that came before (PAWS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OldStamp {
    /// It is dropped, and answered by an ACK, within bounds (RFC 7323 §5.3, R1).
    Answered,
    /// The same, unless it is an ACK without data that others have overtaken: a duplicate counts, and
    /// one that was sent before data that is here is dropped in silence. One tick older is not old
    /// (Linux, `tcp_disordered_ack_check`).
    AcksPass,
}

/// What becomes of a segment without timestamps on a connection on which both ends agreed to send them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unstamped {
    /// It is dropped in silence, unless it is a RST (RFC 7323 §3.2, SHOULD).
    Dropped,
    /// It is taken as any other (Linux, `tcp_validate_incoming`).
    Taken,
}

/// What the ACK of the peer's FIN says of data that came a second time in the same segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastDuplicate {
    /// It reports them (RFC 2883 §4).
    Reported,
    /// Nothing: all that SACK would say is forgotten with the FIN (Linux, `tcp_fin`).
    Forgotten,
}

/// Probes of an idle connection (RFC 9293 §3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe (RFC 9293 §3.8.4: no less than two hours by default).
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Probes without an answer after which the connection is dead.
    pub probes: u32,
}

impl KeepAlive {
    /// Two hours, then nine probes 75 s apart, as 4.4BSD and Linux have it.
    pub const STANDARD: Self = Self {
        idle: Duration::from_secs(7200),
        interval: Duration::from_secs(75),
        probes: 9,
    };
}

impl Config {
    /// The RFCs' values, everything offered, timestamps by the millisecond, for a link that
    /// carries `mss` bytes beside IPv4 and TCP headers. The four numbers that ought to be
    /// random (`iss`, `timestamp_offset`, `challenge_secret`, `seed`) are the host's to set:
    /// here they are zero.
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

    /// Shift with which this end's windows are told: the least that gets the buffer into 16
    /// bits.
    #[must_use]
    pub const fn window_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < MAX_WINDOW_SHIFT && self.receive_buffer >> shift > u16::MAX as u32 {
            shift += 1;
        }
        shift
    }
}

/// What both ends agreed on, and what this end builds its sender from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Negotiated {
    /// Payload bytes of a full segment that this end sends: what the smaller of the link and
    /// the peer permits, less the options that every segment carries.
    pub smss: u32,
    /// The same of the other direction, as far as this end can know: for delayed ACKs.
    pub peer_smss: u32,
    /// Shifts of the windows: 0 if scaling was not agreed on.
    pub shifts: WindowShifts,
    /// Selective acknowledgment.
    pub sack: Sack,
    /// Timestamps on every segment.
    pub timestamps: Timestamping,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// The handshake's round-trip time, if its SYN went out once or timestamps tell it: the
    /// sender's first sample.
    pub handshake_rtt: Option<Duration>,
    /// [`Config::seed`].
    pub seed: u64,
}

/// By how much the windows of the two directions are shifted (RFC 7323 §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowShifts {
    /// Of the windows that this end tells.
    pub ours: u8,
    /// Of the windows that the peer tells.
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
        // RFC 7323 §2.2; §2.3 has 14 at most.
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
    fn what_was_agreed_on_is_told_in_words() {
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
