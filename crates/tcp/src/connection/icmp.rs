//! ICMP errors that a router or the peer's host reports about a packet of this connection.
//!
//! ICMP messages can be forged. A message is processed only if it quotes a segment in flight (RFC 5927 §4.1: SND.UNA ≤
//! SEG.SEQ < SND.NXT), and no message ends an established connection (§5.2).

use core::fmt;

use super::{Connection, Due, Reason, State};
use crate::seq::SeqNumber;
use crate::time::Instant;

/// The parts of an ICMP error that concern a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IcmpError {
    /// Sequence number of the quoted segment.
    pub seq: SeqNumber,
    /// Error that the message reports.
    pub says: IcmpReport,
}

impl IcmpError {
    /// Returns an error about the segment that starts at `seq`.
    #[must_use]
    pub const fn new(seq: SeqNumber, says: IcmpReport) -> Self {
        Self { seq, says }
    }
}

/// Content of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IcmpReport {
    /// The packet is longer than the MTU of the next link (ICMPv4 type 3 code 4, ICMPv6 type 2).
    PacketTooBig {
        /// MTU of the link in bytes; 0 if the router does not report it (routers before RFC 1191).
        mtu: u32,
    },
    /// The packet does not reach its destination.
    Unreachable(Unreachable),
}

/// Reason for which a packet does not reach its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unreachable {
    /// There is no route to the network (ICMPv4 type 3 codes 0, 6, 11; ICMPv6 type 1 codes 0, 2).
    Network,
    /// The host is not reachable (ICMPv4 type 3 codes 1, 7, 8, 12; ICMPv6 type 1 code 3).
    Host,
    /// The host does not support TCP (ICMPv4 type 3 code 2; ICMPv6 type 4 code 1).
    Protocol,
    /// No socket listens on the port (ICMPv4 type 3 code 3; ICMPv6 type 1 code 4).
    Port,
    /// Communication is prohibited (ICMPv4 type 3 codes 9, 10, 13 to 15; ICMPv6 type 1 codes 1, 5, 6).
    Prohibited,
    /// A source route failed (ICMPv4 type 3 code 5).
    SourceRoute,
    /// The time to live was exceeded (ICMPv4 type 11; ICMPv6 type 3).
    TimeExceeded,
    /// A node on the path does not understand the header (ICMPv4 type 12; ICMPv6 type 4).
    Header,
}

impl Unreachable {
    /// Returns `true` for a hard error: another attempt will fail unless the network changes (RFC 9293 §3.9.2.2, RFC
    /// 5927 §5.2).
    #[must_use]
    pub const fn is_hard(self) -> bool {
        matches!(self, Self::Protocol | Self::Port | Self::Prohibited)
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "the network is unreachable",
            Self::Host => "the host is unreachable",
            Self::Protocol => "the host does not support TCP",
            Self::Port => "no socket listens on the port",
            Self::Prohibited => "communication is prohibited on the path",
            Self::SourceRoute => "the source route failed",
            Self::TimeExceeded => "the time to live was exceeded on the path",
            Self::Header => "a node on the path does not understand the header",
        })
    }
}

/// Errors that abort the opening of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningErrors {
    /// Hard errors (RFC 9293 §3.9.2.2, SHLD-26 and MUST-56).
    Hard,
    /// All errors (Linux, `tcp_v4_err`; RFC 5461 §4.1 gives the reason).
    All,
}

/// Counters of ICMP messages and path MTU probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathCounters {
    /// Number of Packet Too Big messages that reduced the segment size.
    pub too_big: u64,
    /// Number of Packet Too Big messages that were not accepted before a timeout (RFC 5927 §7.2).
    pub too_big_delayed: u64,
    /// Number of messages of `too_big_delayed` that were rejected, because the quoted segment was acknowledged.
    pub too_big_refuted: u64,
    /// Number of other errors that quoted a segment in flight.
    pub unreachable: u64,
    /// Number of ignored messages: the quoted segment was not in flight, no segment was longer than the reported MTU
    /// permits, or this MTU was below the minimum that is accepted.
    pub icmp_ignored: u64,
    /// Number of times that consecutive timeouts were treated as a black hole (RFC 4821 §7.7).
    pub black_holes: u64,
    /// Number of probes for a larger MTU that were sent.
    pub probes: u64,
    /// Number of probes that were delivered.
    pub probes_delivered: u64,
    /// Number of probes that were lost, which shows that the path MTU is smaller.
    pub probes_lost: u64,
}

impl Connection {
    /// Processes an ICMP error that quotes a packet of this connection.
    pub fn handle_icmp(&mut self, now: Instant, error: &IcmpError) {
        let counts = match self.state {
            State::Closed | State::Listen | State::TimeWait => false,
            State::SynSent | State::SynReceived => self.icmp_while_opening(error),
            _ => self.icmp_while_established(now, error),
        };
        if !counts {
            self.path_counters.icmp_ignored += 1;
        }
    }

    /// Processes an error during the handshake. Returns `true` if the error is about this end's SYN. Packet Too Big is
    /// ignored, because a SYN is not too long for any link.
    fn icmp_while_opening(&mut self, error: &IcmpError) -> bool {
        let IcmpReport::Unreachable(what) = error.says else {
            return false;
        };
        if error.seq != self.iss || self.opening.since.is_none() {
            return false;
        }
        self.path_counters.unreachable += 1;
        self.unreachable = Some(what);
        if what.is_hard() || self.config.opening_errors == OpeningErrors::All {
            self.opening.due = Due::No;
            self.end(Reason::Unreachable(what));
        }
        true
    }

    /// Processes an error on an established connection. Returns `true` if the error quotes data in flight and has an
    /// effect.
    fn icmp_while_established(&mut self, now: Instant, error: &IcmpError) -> bool {
        let Some(engine) = &mut self.engine else {
            return false;
        };
        let una = engine.una();
        let ahead = error.seq.0.wrapping_sub(engine.first().at(una).0);
        if u64::from(ahead) >= engine.nxt() - una {
            return false;
        }
        match error.says {
            IcmpReport::PacketTooBig { mtu } => {
                let offset = una + u64::from(ahead);
                engine.packet_too_big(
                    now,
                    mtu,
                    offset,
                    &self.config.path_mtu,
                    &mut self.path_counters,
                )
            }
            IcmpReport::Unreachable(what) => {
                // Here, every error is soft (RFC 5927 §5.2): it is reported only if data waits too long.
                self.path_counters.unreachable += 1;
                self.unreachable = Some(what);
                true
            }
        }
    }

    /// Counters of ICMP messages and path MTU probes.
    #[must_use]
    pub const fn path_counters(&self) -> &PathCounters {
        &self.path_counters
    }

    /// Last error that ICMP reported about data in flight since the last acknowledgment (RFC 9293 §3.9.2.2, SHLD-25).
    #[must_use]
    pub const fn unreachable(&self) -> Option<Unreachable> {
        self.unreachable
    }
}
