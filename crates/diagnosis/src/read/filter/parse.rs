//! Parser of capture filters: recursive descent, one function per rule.
//!
//! ```text
//! chain     = term (("and" | "or") term)*
//! term      = "not"* ("(" chain ")" | primitive)
//! primitive = protocol | qualifiers (value | "(" chain ")") | value | field ("==" | "!=") value
//! ```

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

use super::error::{DEPTH_MAX, FilterError, Problem, shown};
use super::{Chain, Direction, Network, Operator, Primitive, Property, Term, Version};

mod token;

use token::{Kind, Token, tokens};

/// Ports with a name in the `/etc/services` of every common system.
const SERVICES: [(&str, u16); 12] = [
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("http", 80),
    ("pop3", 110),
    ("imap", 143),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("imaps", 993),
];

/// Primitives and qualifiers that the parser accepts.
const KEYWORDS: [&str; 9] = [
    "host",
    "net",
    "port",
    "portrange",
    "src",
    "dst",
    "tcp",
    "ip",
    "ip6",
];

/// Words of pcap-filter(7) that the parser does not accept.
const UNSUPPORTED: [&str; 26] = [
    "arp",
    "atalk",
    "broadcast",
    "ether",
    "fddi",
    "gateway",
    "geneve",
    "greater",
    "icmp",
    "icmp6",
    "ifname",
    "igmp",
    "inbound",
    "less",
    "mask",
    "mpls",
    "multicast",
    "outbound",
    "ppp",
    "proto",
    "protochain",
    "rarp",
    "sctp",
    "udp",
    "vlan",
    "wlan",
];

/// Parses a whole expression.
pub(super) fn parse(text: &str) -> Result<Chain, FilterError> {
    let mut parser = Parser {
        tokens: tokens(text),
        next: 0,
        depth: 0,
        qualifiers: Qualifiers::default(),
        display: false,
        mixed: None,
    };
    let chain = parser.chain()?;
    let token = parser.peek();
    if token.kind != Kind::End {
        return Err(token.expected("`and` or `or`", "host 192.0.2.1 and port 443"));
    }
    match parser.mixed {
        Some(column) if parser.display => Err(FilterError {
            column,
            problem: Problem::Mixed,
        }),
        _ => Ok(chain),
    }
}

/// Keywords before a value. A value without keywords has the keywords of the previous value.
#[derive(Clone, Copy, Debug, Default)]
struct Qualifiers {
    version: Option<Version>,
    direction: Direction,
    kind: Option<ValueKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Host,
    Net,
    Port,
    PortRange,
}

struct Parser<'a> {
    /// All tokens. The last token is [`Kind::End`].
    tokens: Vec<Token<'a>>,
    next: usize,
    depth: usize,
    qualifiers: Qualifiers,
    /// `true` if the expression has a display filter.
    display: bool,
    /// Column of the first `and` after an `or` in the same chain.
    mixed: Option<usize>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.peek_beyond(0)
    }

    fn peek_beyond(&self, tokens: usize) -> Token<'a> {
        let token = self.tokens.get(self.next.saturating_add(tokens));
        token.or(self.tokens.last()).copied().unwrap_or(Token::NONE)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn chain(&mut self) -> Result<Chain, FilterError> {
        let first = self.term()?;
        let mut rest = Vec::new();
        let mut has_or = false;
        loop {
            let Token { kind, column, .. } = self.peek();
            let operator = match kind {
                Kind::And => Operator::And,
                Kind::Or => Operator::Or,
                _ => return Ok(Chain { first, rest }),
            };
            if has_or && operator == Operator::And {
                self.mixed.get_or_insert(column);
            }
            has_or |= operator == Operator::Or;
            self.take();
            rest.push((operator, self.term()?));
        }
    }

    fn term(&mut self) -> Result<Term, FilterError> {
        let mut negated = false;
        while self.peek().kind == Kind::Not {
            negated = !negated;
            self.take();
        }
        let term = match self.peek().kind {
            Kind::Open => self.group()?,
            _ => self.primitive()?,
        };
        Ok(match negated {
            true => Term::Not(Box::new(term)),
            false => term,
        })
    }

    fn group(&mut self) -> Result<Term, FilterError> {
        let open = self.take();
        if self.depth >= DEPTH_MAX {
            return Err(open.error(Problem::TooDeep));
        }
        self.depth += 1;
        let chain = self.chain()?;
        self.depth -= 1;
        let close = self.peek();
        match close.kind {
            Kind::Close => {
                self.take();
                Ok(Term::Group(Box::new(chain)))
            }
            Kind::End => Err(open.error(Problem::Unclosed)),
            _ => Err(close.expected("`and`, `or` or `)`", "(port 80 or port 443)")),
        }
    }

    fn primitive(&mut self) -> Result<Term, FilterError> {
        let first = self.peek();
        let Kind::Word(word) = first.kind else {
            return Err(first.expected("a primitive", "host 192.0.2.1 and port 443"));
        };
        if let Some(field) = Field::of(word) {
            self.take();
            self.display = true;
            return self.comparison(first, field);
        }
        if !KEYWORDS.contains(&&*word.to_ascii_lowercase()) {
            refuse(first, word)?;
            let value = self.take();
            return self.qualifiers.value(value).map(Term::Primitive);
        }
        let (qualifiers, protocol_alone) = self.qualified()?;
        if protocol_alone {
            if self.peek().kind == Kind::Sign {
                return Err(first.error(Problem::Unsupported(format!("{}[…]", shown(word)))));
            }
            return Ok(Term::Primitive(Primitive {
                version: qualifiers.version,
                direction: Direction::Either,
                property: Property::Any,
            }));
        }
        self.qualifiers = qualifiers;
        match self.peek().kind {
            Kind::Open => self.group(),
            _ => {
                let value = self.take();
                qualifiers.value(value).map(Term::Primitive)
            }
        }
    }

    /// Parses the keywords before a value. Returns the keywords, and `true` if they are only protocols and no value
    /// follows.
    fn qualified(&mut self) -> Result<(Qualifiers, bool), FilterError> {
        let mut version = None;
        match self.peek().keyword() {
            Some("ip") => version = Some(Version::Four),
            Some("ip6") => version = Some(Version::Six),
            _ => {}
        }
        let has_protocol = matches!(self.peek().keyword(), Some("tcp" | "ip" | "ip6"));
        if has_protocol {
            self.take();
        }
        let direction = self.direction();
        let kind = match self.peek().keyword() {
            Some("host") => Some(ValueKind::Host),
            Some("net") => Some(ValueKind::Net),
            Some("port") => Some(ValueKind::Port),
            Some("portrange") => Some(ValueKind::PortRange),
            _ => None,
        };
        if kind.is_some() {
            self.take();
        }
        let alone = has_protocol && direction.is_none() && kind.is_none();
        if alone
            && let Token {
                kind: Kind::Word(_),
                ..
            } = self.peek()
        {
            let example = "tcp port 443";
            return Err(self
                .peek()
                .expected("host, net, port, `and` or `or`", example));
        }
        let qualifiers = Qualifiers {
            version,
            direction: direction.unwrap_or_default(),
            kind,
        };
        Ok((qualifiers, alone))
    }

    /// Parses `src`, `dst`, `src or dst` or `src and dst`.
    fn direction(&mut self) -> Option<Direction> {
        let (one, other) = match self.peek().keyword()? {
            "src" => (Direction::Source, "dst"),
            "dst" => (Direction::Destination, "src"),
            _ => return None,
        };
        self.take();
        let both = match self.peek().kind {
            Kind::And => Direction::Both,
            Kind::Or => Direction::Either,
            _ => return Some(one),
        };
        if self.peek_beyond(1).keyword() != Some(other) {
            return Some(one);
        }
        self.take();
        self.take();
        Some(both)
    }

    /// Parses the operator and the value after the name of a field.
    fn comparison(&mut self, name: Token<'a>, field: Field) -> Result<Term, FilterError> {
        let operator = self.take();
        let Field::Of(qualifiers) = field else {
            let number = match self.peek().kind {
                Kind::Word(number) => number.parse().ok(),
                _ => None,
            };
            return Err(name.error(Problem::StreamNumber(number)));
        };
        let example = match qualifiers.kind {
            Some(ValueKind::Port) => "tcp.port == 443",
            _ if qualifiers.version == Some(Version::Six) => "ipv6.addr == 2001:db8::1",
            _ => "ip.addr == 192.0.2.1",
        };
        if !matches!(operator.kind, Kind::Equal | Kind::Unequal) {
            return Err(operator.expected("`==` or `!=`", example));
        }
        let value = self.take();
        let primitive = qualifiers.value(value)?;
        if let Property::Network(network) = primitive.property
            && qualifiers.version != Some(Version::of(network.address))
        {
            let (version, example) = match network.address {
                IpAddr::V4(ip) => ("an IPv6 address", format!("ip.addr == {ip}")),
                IpAddr::V6(ip) => ("an IPv4 address", format!("ipv6.addr == {ip}")),
            };
            return Err(value.expected(version, example));
        }
        let term = Term::Primitive(primitive);
        Ok(match operator.kind {
            Kind::Unequal => Term::Not(Box::new(term)),
            _ => term,
        })
    }
}

/// Field of a display filter.
enum Field {
    Of(Qualifiers),
    /// `tcp.stream`
    Stream,
}

impl Field {
    /// Returns the field with this name, if there is one.
    fn of(name: &str) -> Option<Self> {
        use Direction::{Destination, Either, Source};
        let name = name.to_ascii_lowercase();
        let (version, direction, kind) = match name.as_str() {
            "ip.addr" | "ip.host" => (Some(Version::Four), Either, None),
            "ip.src" | "ip.src_host" => (Some(Version::Four), Source, None),
            "ip.dst" | "ip.dst_host" => (Some(Version::Four), Destination, None),
            "ipv6.addr" | "ipv6.host" => (Some(Version::Six), Either, None),
            "ipv6.src" | "ipv6.src_host" => (Some(Version::Six), Source, None),
            "ipv6.dst" | "ipv6.dst_host" => (Some(Version::Six), Destination, None),
            "tcp.port" => (None, Either, Some(ValueKind::Port)),
            "tcp.srcport" => (None, Source, Some(ValueKind::Port)),
            "tcp.dstport" => (None, Destination, Some(ValueKind::Port)),
            "tcp.stream" => return Some(Self::Stream),
            _ => return None,
        };
        Some(Self::Of(Qualifiers {
            version,
            direction,
            kind,
        }))
    }
}

/// Returns an error if a word that is not a keyword cannot be a value either.
fn refuse(token: Token<'_>, word: &str) -> Result<(), FilterError> {
    let lower = word.to_ascii_lowercase();
    let display = ["frame.", "eth.", "ip.", "ipv6.", "tcp.", "udp."];
    if UNSUPPORTED.contains(&lower.as_str()) || display.iter().any(|of| lower.starts_with(of)) {
        return Err(token.error(Problem::Unsupported(shown(word))));
    }
    let misspelt = KEYWORDS.into_iter().find(|keyword| {
        keyword.len() > 2 && lower.starts_with(char::is_alphabetic) && is_one_edit(&lower, keyword)
    });
    misspelt.map_or(Ok(()), |keyword| {
        Err(token.error(Problem::Misspelt {
            found: shown(word),
            keyword,
        }))
    })
}

impl Qualifiers {
    /// Returns the primitive that consists of these keywords and a value.
    fn value(self, token: Token<'_>) -> Result<Primitive, FilterError> {
        let Kind::Word(word) = token.kind else {
            return Err(match self.kind {
                Some(ValueKind::Net) => token.expected("a network", "net 10.0.0.0/8"),
                Some(ValueKind::Port) => token.expected("a port", "port 443"),
                Some(ValueKind::PortRange) => {
                    token.expected("a range of ports", "portrange 8000-8080")
                }
                Some(ValueKind::Host) | None => token.expected("an address", "host 192.0.2.1"),
            });
        };
        let property = match self.kind {
            None if word.contains('/') => Property::Network(network(token, word)?),
            None | Some(ValueKind::Host) => Property::Network(host(token, word)?),
            Some(ValueKind::Net) => Property::Network(network(token, word)?),
            Some(ValueKind::Port) => Property::Ports(port(token, word)?),
            Some(ValueKind::PortRange) => Property::Ports(port_range(token, word)?),
        };
        Ok(Primitive {
            version: self.version,
            direction: self.direction,
            property,
        })
    }
}

fn host(token: Token<'_>, word: &str) -> Result<Network, FilterError> {
    if let Ok(address) = word.parse::<IpAddr>() {
        return Ok(Network::host(address));
    }
    if let Ok(port) = word.parse::<u16>() {
        let example = format!("port {port}");
        return Err(token.expected("an address", example));
    }
    if let Ok(end) = word.parse::<SocketAddr>() {
        let example = format!("host {} and port {}", end.ip(), end.port());
        return Err(token.expected("an address without a port", example));
    }
    if let Some(most) = exceeded(word).filter(|_| parts_of_network(word).is_none()) {
        let found = shown(word);
        return Err(token.error(Problem::Prefix { found, most }));
    }
    if is_service(word) {
        return Err(token.expected("an address", format!("port {}", shown(word))));
    }
    if parts_of_network(word).is_some() {
        let example = format!("net {}", shown(word));
        return Err(token.expected("a whole address", example));
    }
    if KEYWORDS.contains(&&*word.to_ascii_lowercase()) {
        return Err(token.expected("an address", "host 192.0.2.1"));
    }
    Err(token.error(Problem::HostName(shown(word))))
}

fn network(token: Token<'_>, word: &str) -> Result<Network, FilterError> {
    let Some(network) = parts_of_network(word) else {
        if let Some(most) = exceeded(word) {
            let found = shown(word);
            return Err(token.error(Problem::Prefix { found, most }));
        }
        return Err(token.expected("a network", "net 10.0.0.0/8"));
    };
    if network.base() != network.address {
        return Err(token.error(Problem::HostBits {
            found: shown(word),
            network: format!("{}/{}", network.base(), network.prefix),
        }));
    }
    Ok(network)
}

/// Parses `10.0.0.0/8`, `192.168.1` or `2001:db8::/32`. Without a length, the prefix consists of the given octets.
fn parts_of_network(word: &str) -> Option<Network> {
    let (address, length) = match word.split_once('/') {
        Some((address, length)) => (address, Some(number::<u32>(length)?)),
        None => (word, None),
    };
    let whole = match address.contains(':') {
        true => Network::host(IpAddr::V6(address.parse().ok()?)),
        false => {
            let parts: Vec<u8> = address.split('.').map(number).collect::<Option<_>>()?;
            let mut octets = [0; 4];
            octets.get_mut(..parts.len())?.copy_from_slice(&parts);
            Network {
                address: Ipv4Addr::from_octets(octets).into(),
                prefix: parts.len() as u32 * u8::BITS,
            }
        }
    };
    let most = Network::host(whole.address).prefix;
    Some(Network {
        address: whole.address,
        prefix: length.unwrap_or(whole.prefix),
    })
    .filter(|network| network.prefix <= most)
}

/// Returns the maximum prefix length of a network that is valid except that its prefix is too long.
fn exceeded(word: &str) -> Option<u32> {
    let (address, length) = word.split_once('/')?;
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let network = parts_of_network(address).filter(|_| is_number)?;
    Some(Network::host(network.address).prefix)
}

fn port(token: Token<'_>, word: &str) -> Result<RangeInclusive<u16>, FilterError> {
    if let Some(port) = port_number(word) {
        return Ok(port..=port);
    }
    let example = if word.parse::<IpAddr>().is_ok() {
        format!("host {word}")
    } else if word.split_once('-').and_then(ports).is_some() {
        format!("portrange {}", shown(word))
    } else {
        "port 443".to_owned()
    };
    Err(token.expected("a port from 0 to 65535", example))
}

fn port_range(token: Token<'_>, word: &str) -> Result<RangeInclusive<u16>, FilterError> {
    let bounds = word.split_once('-').unwrap_or((word, word));
    let Some((one, other)) = ports(bounds) else {
        return Err(token.expected("a range of ports", "portrange 8000-8080"));
    };
    Ok(one.min(other)..=one.max(other))
}

fn ports((one, other): (&str, &str)) -> Option<(u16, u16)> {
    Some((port_number(one)?, port_number(other)?))
}

fn port_number(word: &str) -> Option<u16> {
    let lower = word.to_ascii_lowercase();
    let named = SERVICES.iter().find(|(name, _)| *name == lower);
    named.map(|(_, port)| *port).or_else(|| number(word))
}

fn is_service(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    SERVICES.iter().any(|(name, _)| *name == lower)
}

/// Parses a number that consists of digits only. The parser of the standard library also accepts a sign.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Returns `true` if the words differ by one edit: a missing, superfluous or wrong character, or two swapped ones.
fn is_one_edit(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let pairs = || one.iter().zip(&other);
    let start = pairs().take_while(|(a, b)| a == b).count();
    let shorter = one.len().min(other.len()) - start;
    let backwards = one.iter().rev().zip(other.iter().rev());
    let end = backwards.take_while(|(a, b)| a == b).count().min(shorter);
    match (
        &one[start..one.len() - end],
        &other[start..other.len() - end],
    ) {
        ([_], [] | [_]) | ([], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}
