//! A script as it is written: what happens, and when.
//!
//! Numbers are the script's: sequence numbers count from the script's initial ones, times from
//! its beginning.

use dupack_tcp::accurate_ecn::EcnCounters;
use dupack_tcp::connection::IcmpReport;
use dupack_tcp::time::{Duration, Instant};

/// A script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The lines that begin with `--`: what concerns the run as a whole.
    pub options: Vec<Setting>,
    /// The shell commands before the first event.
    pub preparation: Option<Command>,
    /// What happens, in the order of the script.
    pub events: Vec<Event>,
}

/// A line such as `--tolerance_usecs=10000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, without the dashes.
    pub name: String,
    /// What stands behind the equals sign, if there is one.
    pub value: Option<String>,
    /// Where it stands, from 1.
    pub line: usize,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: When,
    /// What.
    pub what: What,
    /// The line it begins in, from 1.
    pub line: usize,
}

/// When something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// `1.5`: so long after the script began.
    At(Instant),
    /// `+1.5`: so long after the event before.
    After(Duration),
    /// `1.5~1.6`.
    Between(Instant, Instant),
    /// `+1.5~+1.6`.
    AfterBetween(Duration, Duration),
    /// `*`: whenever it does.
    Whenever,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// `<`: a packet reaches the endpoint.
    Inbound(Packet),
    /// `< icmp`: an error about a packet of the endpoint's reaches it.
    Icmp(Icmp),
    /// `>`: the endpoint is to send a packet.
    Outbound(Packet),
    /// The application calls the operating system.
    Call(Call),
    /// Shell commands.
    Command(Command),
    /// Python, in which assertions about the endpoint's state are written.
    Code(String),
}

/// Shell commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What stands between the back quotes.
    pub text: String,
    /// The line it begins in, from 1.
    pub line: usize,
}

/// A TCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What is said of the ECN field of the IP header.
    pub ecn: Option<EcnField>,
    /// Control bits in the order of the wire, ACK included, and AE before them.
    pub flags: u16,
    /// Number of the first byte.
    pub seq: u32,
    /// Bytes of payload.
    pub len: u32,
    /// The acknowledgment number. Zero where none is written.
    pub ack: u32,
    /// The window field, if it is said.
    pub window: Option<u16>,
    /// The options; `None` is `<...>`: whichever there are.
    pub options: Option<Vec<TcpOption>>,
}

impl Packet {
    /// No more data.
    pub const FIN: u16 = 0x01;
    /// Opens a connection.
    pub const SYN: u16 = 0x02;
    /// Ends a connection.
    pub const RST: u16 = 0x04;
    /// Push.
    pub const PSH: u16 = 0x08;
    /// The acknowledgment number counts.
    pub const ACK: u16 = 0x10;
    /// The urgent pointer counts.
    pub const URG: u16 = 0x20;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
    /// Accurate ECN.
    pub const AE: u16 = 0x100;
    /// The three that are the ACE field where Accurate ECN is agreed on (RFC 9768 §3.2.2).
    pub const ACE: u16 = Self::AE | Self::CWR | Self::ECE;

    /// Whether all bits of `flags` are set.
    #[must_use]
    pub const fn is(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// An ICMP error, such as `icmp unreachable frag_needed mtu 1200 [1:1461(1460)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// What it says.
    pub says: IcmpReport,
    /// Number of the first byte of the packet that it quotes: 0 where none is written, as that of
    /// the SYN is.
    pub seq: u32,
}

/// The ECN field of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// `noecn`.
    NotCapable,
    /// `ect0`.
    Ect0,
    /// `ect1`.
    Ect1,
    /// `ect01`: one of the two.
    Either,
    /// `ce`.
    Congestion,
}

impl EcnField {
    /// Whether a packet with the field `came` is one with this.
    #[must_use]
    pub fn covers(self, came: Self) -> bool {
        match self {
            Self::Either => matches!(came, Self::Ect0 | Self::Ect1),
            field => field == came,
        }
    }
}

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// End of the list.
    End,
    /// Padding.
    Nop,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks: first byte, and the one after the last.
    Sack(Vec<(u32, u32)>),
    /// Timestamps.
    Timestamps {
        /// TSval.
        value: u32,
        /// TSecr.
        echo: u32,
    },
    /// Counters of Accurate ECN.
    Counters(EcnCounters),
}

/// A call of the operating system, with the answer that is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// What is handed over.
    pub arguments: Vec<Expression>,
    /// `... 1.5`: it blocks, and returns then. Counted from where the event's own time is: from
    /// the event before, or from the beginning.
    pub until: Option<Duration>,
    /// What it returns.
    pub result: Expression,
    /// The error, where it returns -1.
    pub error: Option<String>,
}

/// An expression among a call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `...`
    Any,
    /// A number.
    Number(i64),
    /// A name.
    Name(String),
    /// Text in quotes.
    Text(String),
    /// `a|b`
    Or(Vec<Expression>),
    /// `[…]`
    List(Vec<Expression>),
    /// `{…}`
    Struct(Vec<Member>),
    /// `htons(80)`
    Apply(String, Vec<Expression>),
}

/// Part of a `{…}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The part's name, where it has one.
    pub name: Option<String>,
    /// Its value.
    pub value: Expression,
}
