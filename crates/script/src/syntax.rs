//! The syntax tree of a script: events with their times.
//!
//! All numbers are those of the script: sequence numbers count from the initial sequence numbers in the script, and
//! times from the start of the script.

use dupack_tcp::accurate_ecn::EcnCounters;
use dupack_tcp::connection::IcmpReport;
use dupack_tcp::time::{Duration, Instant};

/// A script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Lines that start with `--`: settings of the whole run.
    pub options: Vec<Setting>,
    /// Shell commands before the first event.
    pub preparation: Option<Command>,
    /// Events in the order of the script.
    pub events: Vec<Event>,
}

/// A line such as `--tolerance_usecs=10000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name without the dashes.
    pub name: String,
    /// Text after the equals sign, if there is one.
    pub value: Option<String>,
    /// Line number, counted from 1.
    pub line: usize,
}

/// An event of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time of the event.
    pub at: When,
    /// The event itself.
    pub what: What,
    /// Line in which the event starts, counted from 1.
    pub line: usize,
}

/// Time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// `1.5`: time since the start of the script.
    At(Instant),
    /// `+1.5`: time since the previous event.
    After(Duration),
    /// `1.5~1.6`: a range of times since the start of the script.
    Between(Instant, Instant),
    /// `+1.5~+1.6`: a range of times since the previous event.
    AfterBetween(Duration, Duration),
    /// `*`: any time.
    Whenever,
}

/// Kind of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// `<`: a packet reaches the endpoint.
    Inbound(Packet),
    /// `< icmp`: an ICMP error about one of the endpoint's packets reaches the endpoint.
    Icmp(Icmp),
    /// `>`: the endpoint must send a packet.
    Outbound(Packet),
    /// The application makes a system call.
    Call(Call),
    /// Shell commands.
    Command(Command),
    /// Python code with assertions about the endpoint's state.
    Code(String),
}

/// Shell commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Text between the back quotes.
    pub text: String,
    /// Line in which the commands start, counted from 1.
    pub line: usize,
}

/// A TCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// ECN field of the IP header, if the script gives it.
    pub ecn: Option<EcnField>,
    /// Control bits in wire order, including ACK; AE is the bit before them.
    pub flags: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Number of payload bytes.
    pub len: u32,
    /// Acknowledgment number; 0 if the script gives none.
    pub ack: u32,
    /// Window field, if the script gives it.
    pub window: Option<u16>,
    /// Options; `None` stands for `<...>`, which matches any options.
    pub options: Option<Vec<TcpOption>>,
}

impl Packet {
    /// The sender has no more data.
    pub const FIN: u16 = 0x01;
    /// Opens a connection.
    pub const SYN: u16 = 0x02;
    /// Resets a connection.
    pub const RST: u16 = 0x04;
    /// Push: the data must be delivered to the application.
    pub const PSH: u16 = 0x08;
    /// The acknowledgment number is valid.
    pub const ACK: u16 = 0x10;
    /// The urgent pointer is valid.
    pub const URG: u16 = 0x20;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
    /// Accurate ECN.
    pub const AE: u16 = 0x100;
    /// The three bits of the ACE field, for connections that have negotiated Accurate ECN (RFC 9768 §3.2.2).
    pub const ACE: u16 = Self::AE | Self::CWR | Self::ECE;

    /// Returns `true` if all bits of `flags` are set.
    #[must_use]
    pub const fn is(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// An ICMP error, such as `icmp unreachable frag_needed mtu 1200 [1:1461(1460)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// The report that the message contains.
    pub says: IcmpReport,
    /// Sequence number of the quoted packet. It is 0, as for a SYN, if the script does not quote a packet.
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
    /// `ect01`: either `ect0` or `ect1`.
    Either,
    /// `ce`.
    Congestion,
}

impl EcnField {
    /// Returns `true` if a packet with the field `came` matches this field.
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
    /// End of the list of options.
    End,
    /// Padding.
    Nop,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks: the first byte of each, and the byte after its last byte.
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

/// A system call with its expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name of the call.
    pub name: String,
    /// Arguments of the call.
    pub arguments: Vec<Expression>,
    /// `... 1.5`: the call blocks and returns at this time. The time is counted like the event's own time, either from
    /// the previous event or from the start.
    pub until: Option<Duration>,
    /// Expected result.
    pub result: Expression,
    /// Expected error, if the result is -1.
    pub error: Option<String>,
}

/// An expression in a call's arguments.
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

/// A member of a `{…}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Name, if the member has one.
    pub name: Option<String>,
    /// Value of the member.
    pub value: Expression,
}
