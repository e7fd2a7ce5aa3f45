//! Capture filter: a boolean expression on the addresses and ports of a packet.
//!
//! The syntax is that of pcap-filter(7), which tcpdump, tshark's `-f` and Wireshark's capture options accept. An *end*
//! of a packet is its source or its destination.
//!
//! | primitive | true if |
//! | --- | --- |
//! | `host 10.0.0.1`, `host 2001:db8::1` | an end has the address; `host` may be omitted |
//! | `net 10.0.0.0/8`, `net 192.168.1`, `net 2001:db8::/32` | the address of an end is in the network |
//! | `port 443`, `port https` | an end has the port |
//! | `portrange 8000-8080` | the port of an end is in the range, both bounds included |
//! | `tcp` | always: no other protocol is analysed |
//! | `ip`, `ip6` | the packet is an IPv4 packet, an IPv6 packet |
//!
//! `src`, `dst`, `src or dst` and `src and dst` before `host`, `net`, `port` and `portrange` choose the end; `tcp`,
//! `ip` and `ip6` before these keywords restrict the protocol. `not` (`!`) has the highest precedence. `and` (`&&`) and
//! `or` (`||`) have equal precedence and associate to the left. An identifier without a keyword has the keywords of the
//! identifier before it: `port 80 or 443`, `host (10.0.0.1 or 10.0.0.2)`.
//!
//! The display filters `ip.addr`, `ip.src`, `ip.dst`, `ipv6.addr`, `ipv6.src`, `ipv6.dst`, `tcp.port`, `tcp.srcport`
//! and `tcp.dstport` with `==` or `!=` are primitives, too. Wireshark gives `&&` a higher precedence than `||`. An
//! expression with display filters that would have another meaning in Wireshark is an error, and the message asks for
//! parentheses.
//!
//! **Both directions of a connection pass, or neither.** A diagnosis needs the data and its ACKs. tcpdump's `src host
//! 10.0.0.1` drops every packet to that host. Here, a packet passes if the expression is true for it or for a packet in
//! the opposite direction. Therefore, a connection passes if tcpdump would print at least one of its directions.
//! Without `src` and `dst`, there is no difference.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

mod error;
mod parse;
#[cfg(test)]
mod tests;

pub use error::{FilterError, Problem};

/// Capture filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    expression: Chain,
}

impl Filter {
    /// Returns `true` if a packet between these endpoints passes, in this direction or in the opposite one.
    #[must_use]
    pub fn takes(&self, source: SocketAddr, destination: SocketAddr) -> bool {
        self.expression.holds([source, destination]) || self.expression.holds([destination, source])
    }
}

/// Parses an expression.
impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Ok(Self {
            text: text.trim().to_owned(),
            expression: parse::parse(text)?,
        })
    }
}

/// Displays the expression as it was written.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Terms that are combined from left to right. They form a list, not a tree, so long expressions do not cause
/// recursion.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chain {
    first: Term,
    rest: Vec<(Operator, Term)>,
}

impl Chain {
    fn holds(&self, ends: [SocketAddr; 2]) -> bool {
        let mut value = self.first.holds(ends);
        for (operator, term) in &self.rest {
            value = match operator {
                Operator::And => value && term.holds(ends),
                Operator::Or => value || term.holds(ends),
            };
        }
        value
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Primitive(Primitive),
    Group(Box<Chain>),
    Not(Box<Term>),
}

impl Term {
    fn holds(&self, ends: [SocketAddr; 2]) -> bool {
        match self {
            Self::Primitive(primitive) => primitive.holds(ends),
            Self::Group(chain) => chain.holds(ends),
            Self::Not(term) => !term.holds(ends),
        }
    }
}

/// Property of an end, for packets of one IP version or of both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Primitive {
    version: Option<Version>,
    direction: Direction,
    property: Property,
}

impl Primitive {
    fn holds(&self, [source, destination]: [SocketAddr; 2]) -> bool {
        if self
            .version
            .is_some_and(|wanted| wanted != Version::of(source.ip()))
        {
            return false;
        }
        let has = |end| self.property.has(end);
        match self.direction {
            Direction::Either => has(source) || has(destination),
            Direction::Both => has(source) && has(destination),
            Direction::Source => has(source),
            Direction::Destination => has(destination),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Four,
    Six,
}

impl Version {
    const fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(_) => Self::Four,
            IpAddr::V6(_) => Self::Six,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Direction {
    #[default]
    Either,
    Both,
    Source,
    Destination,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Property {
    /// Property that every end has.
    Any,
    Network(Network),
    Ports(RangeInclusive<u16>),
}

impl Property {
    fn has(&self, end: SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Network(network) => network.contains(end.ip()),
            Self::Ports(ports) => ports.contains(&end.port()),
        }
    }
}

/// Addresses that begin with the same bits. A host is a network of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    fn host(address: IpAddr) -> Self {
        let prefix = match address {
            IpAddr::V4(_) => Ipv4Addr::BITS,
            IpAddr::V6(_) => Ipv6Addr::BITS,
        };
        Self { address, prefix }
    }

    /// Returns the address with zeros after the prefix.
    fn base(self) -> IpAddr {
        masked(self.address, self.prefix)
    }

    fn contains(self, ip: IpAddr) -> bool {
        masked(ip, self.prefix) == self.address
    }
}

/// Returns `ip` with zeros after its first `prefix` bits.
fn masked(ip: IpAddr, prefix: u32) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let beyond = u32::MAX.checked_shr(prefix).unwrap_or(0);
            Ipv4Addr::from_bits(ip.to_bits() & !beyond).into()
        }
        IpAddr::V6(ip) => {
            let beyond = u128::MAX.checked_shr(prefix).unwrap_or(0);
            Ipv6Addr::from_bits(ip.to_bits() & !beyond).into()
        }
    }
}
