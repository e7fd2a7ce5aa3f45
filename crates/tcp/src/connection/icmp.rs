//! What ICMP says of a connection: errors that a router or the peer's host reports of a packet that
//! this end sent.
//!
//! Anybody can make one up. A message counts only if the segment that it quotes is in flight (RFC 5927
//! §4.1: SND.UNA ≤ SEG.SEQ < SND.NXT), and none ends a connection that is established (§5.2).

use core::fmt;

use super::{Connection, Due, Reason, State};
use crate::seq::SeqNumber;
use crate::time::Instant;

/// An ICMP error, as far as it concerns a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IcmpError {
    /// Sequence number of the segment that it quotes.
    pub seq: SeqNumber,
    /// What it says.
    pub says: IcmpReport,
}

impl IcmpError {
    /// An error about the segment that begins at `seq`.
    #[must_use]
    pub const fn new(seq: SeqNumber, says: IcmpReport) -> Self {
        Self { seq, says }
    }
}

/// What an ICMP error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IcmpReport {
    /// The packet is longer than the next link carries (ICMPv4 type 3 code 4, ICMPv6 type 2).
    PacketTooBig {
        /// Bytes that the link carries; 0 if the router does not say, as those before RFC 1191 do not.
        mtu: u32,
    },
    /// The packet does not arrive.
    Unreachable(Unreachable),
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unreachable {
    /// There is no route to the network (ICMPv4 type 3 codes 0, 6, 11; ICMPv6 type 1 codes 0, 2).
    Network,
    /// There is no way to the host (ICMPv4 type 3 codes 1, 7, 8, 12; ICMPv6 type 1 code 3).
    Host,
    /// The host has no TCP (ICMPv4 type 3 code 2; ICMPv6 type 4 code 1).
    Protocol,
    /// Nobody listens at the port (ICMPv4 type 3 code 3; ICMPv6 type 1 code 4).
    Port,
    /// It is not allowed (ICMPv4 type 3 codes 9, 10, 13 to 15; ICMPv6 type 1 codes 1, 5, 6).
    Prohibited,
    /// A source route failed (ICMPv4 type 3 code 5).
    SourceRoute,
    /// Its time to live was over (ICMPv4 type 11; ICMPv6 type 3).
    TimeExceeded,
    /// A header makes no sense to somebody (ICMPv4 type 12; ICMPv6 type 4).
    Header,
}

impl Unreachable {
    /// Whether it is a hard error: to the state of the network when it was sent, another attempt is
    /// in vain (RFC 9293 §3.9.2.2, RFC 5927 §5.2).
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
            Self::Protocol => "the host has no TCP",
            Self::Port => "nobody listens at the port",
            Self::Prohibited => "it is prohibited on the way",
            Self::SourceRoute => "the source route failed",
            Self::TimeExceeded => "packets go round in circles",
            Self::Header => "somebody makes no sense of a header",
        })
    }
}

/// Which errors end the attempt to open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningErrors {
    /// Hard ones (RFC 9293 §3.9.2.2, SHLD-26 and MUST-56).
    Hard,
    /// All (Linux, `tcp_v4_err`; RFC 5461 §4.1 tells why).
    All,
}

/// What ICMP and probes of the path's MTU have come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathCounters {
    /// Packet Too Big messages that made segments smaller.
    pub too_big: u64,
    /// Of all that came, those that had to wait for a timeout to be believed (RFC 5927 §7.2).
    pub too_big_delayed: u64,
    /// Of these, those that the acknowledgment of what they quoted refuted.
    pub too_big_refuted: u64,
    /// Errors of another kind that quoted what was in flight.
    pub unreachable: u64,
    /// Messages that were not believed: what they quote is not in flight, or the MTU is none that this
    /// end would have run into, or below what is believed.
    pub icmp_ignored: u64,
    /// Times that timeouts in a row were taken for a black hole (RFC 4821 §7.7).
    pub black_holes: u64,
    /// Probes of a larger MTU sent.
    pub probes: u64,
    /// Of these, those that were delivered.
    pub probes_delivered: u64,
    /// And those that showed that the path does not carry as much.
    pub probes_lost: u64,
}

impl Connection {
    /// An ICMP error has come that quotes a packet of this connection's.
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

    /// Whether the error is of this end's SYN. A SYN is not too long for any link.
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

    /// Whether the error is of something in flight, and changes anything.
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
                // Soft, even a hard one (RFC 5927 §5.2): it is told when data has waited too long.
                self.path_counters.unreachable += 1;
                self.unreachable = Some(what);
                true
            }
        }
    }

    /// What ICMP and probes of the path's MTU have come to.
    #[must_use]
    pub const fn path_counters(&self) -> &PathCounters {
        &self.path_counters
    }

    /// The last error that ICMP reported of what was in flight, since something was acknowledged
    /// (RFC 9293 §3.9.2.2, SHLD-25).
    #[must_use]
    pub const fn unreachable(&self) -> Option<Unreachable> {
        self.unreachable
    }
}
