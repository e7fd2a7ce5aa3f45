//! Translation between the numbers in the script and those of the connection.
//!
//! A script counts sequence numbers from its initial sequence numbers, except for those of a SYN. It has its own
//! timestamp clock, which starts with the first expected value.

use std::collections::HashMap;
use std::fmt;

use dupack_packet::{Checksum, Envelope, emit};
use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};
use dupack_tcp::connection::{Flags, Options, Outgoing, Segment, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{Codepoint, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;

use crate::syntax::{EcnField, Packet, TcpOption};

/// Translator for the numbers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// Initial send sequence number of the connection.
    iss: u32,
    /// Initial send sequence number in the script, which is that of its SYN.
    script_iss: u32,
    /// Initial sequence number of the peer, which is the same in the script and for the connection.
    irs: u32,
    stamps: Stamps,
}

/// Timestamps that have been compared so far.
#[derive(Clone, Debug, Default)]
struct Stamps {
    /// First TSval in the script, and the corresponding actual value.
    first: Option<(u32, u32)>,
    /// Actual value for each TSval in the script.
    actual: HashMap<u32, u32>,
}

/// Interpretation of the echoes of a script's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echoes {
    /// Each echo must be an earlier expected timestamp.
    Exact,
    /// Other values are translated: they have the same distance from the first timestamp as in the script.
    Scaled,
}

impl Numbers {
    /// Creates the translator for a connection whose SYN has this sequence number.
    pub(crate) fn new(iss: SeqNumber) -> Self {
        Self {
            iss: iss.0,
            script_iss: 0,
            irs: 0,
            stamps: Stamps::default(),
        }
    }

    /// Sets the sequence number of the peer's SYN.
    pub(crate) const fn peer_begins(&mut self, seq: u32) {
        self.irs = seq;
    }

    /// Sets the sequence number that our SYN has in the script.
    pub(crate) const fn begin(&mut self, seq: u32) {
        self.script_iss = seq;
    }

    /// Converts an inbound packet to a segment, or returns an error message.
    pub(crate) fn inbound(&self, packet: &Packet, echoes: Echoes) -> Result<Segment, String> {
        let is_syn = packet.is(Packet::SYN);
        let peer = if is_syn { 0 } else { self.irs };
        let ours = self.offset(is_syn);
        let mut options = Options::NONE;
        for option in packet.options.iter().flatten() {
            match option {
                TcpOption::End | TcpOption::Nop => {}
                TcpOption::Mss(mss) => options.mss = Some(*mss),
                TcpOption::WindowScale(shift) => options.window_scale = Some(*shift),
                TcpOption::SackPermitted => options.sack_permitted = Sack::Permitted,
                TcpOption::Sack(blocks) => options.sacks = sacks(blocks, ours),
                TcpOption::Counters(counters) => options.accurate_ecn = Some(*counters),
                TcpOption::Timestamps { value, echo } => {
                    let echo = match packet.is(Packet::ACK) {
                        true => self.stamps.echo(*echo, echoes)?,
                        false => *echo,
                    };
                    options.timestamps = Some(Timestamps {
                        value: *value,
                        echo,
                    });
                }
            }
        }
        Ok(Segment {
            ack: packet
                .is(Packet::ACK)
                .then(|| SeqNumber(packet.ack.wrapping_add(ours))),
            flags: Flags::from_bits(packet.flags),
            window: packet.window.unwrap_or(0),
            options,
            len: packet.len,
            ecn: match packet.ecn {
                None | Some(EcnField::NotCapable) => Codepoint::NotEct,
                Some(EcnField::Ect0 | EcnField::Either) => Codepoint::Ect0,
                Some(EcnField::Ect1) => Codepoint::Ect1,
                Some(EcnField::Congestion) => Codepoint::Ce,
            },
            ..Segment::new(SeqNumber(packet.seq.wrapping_add(peer)))
        })
    }

    /// Converts the sequence number that an ICMP error quotes to that of the connection.
    pub(crate) const fn quoted(&self, seq: u32) -> SeqNumber {
        SeqNumber(seq.wrapping_add(self.iss))
    }

    /// Returns the difference between the connection's sequence numbers and the script's.
    const fn offset(&self, is_syn: bool) -> u32 {
        if is_syn {
            self.iss.wrapping_sub(self.script_iss)
        } else {
            self.iss
        }
    }

    /// Converts a segment of the connection to a packet with the script's numbers. The timestamp is on the script's
    /// clock if that clock is known.
    pub(crate) fn outbound(&self, segment: &Segment) -> Packet {
        let is_syn = segment.is(Flags::SYN);
        let ours = self.offset(is_syn);
        let mut options = laid_out(segment);
        for option in &mut options {
            match option {
                TcpOption::Sack(blocks) => {
                    for (first, end) in blocks {
                        *first = first.wrapping_sub(self.irs);
                        *end = end.wrapping_sub(self.irs);
                    }
                }
                TcpOption::Timestamps { value, .. } => *value = self.stamps.in_script(*value),
                _ => {}
            }
        }
        let peer = if is_syn { 0 } else { self.irs };
        let ack = segment.ack.map(|ack| ack.0.wrapping_sub(peer));
        Packet {
            ecn: Some(match segment.ecn {
                Codepoint::NotEct => EcnField::NotCapable,
                Codepoint::Ect1 => EcnField::Ect1,
                Codepoint::Ect0 => EcnField::Ect0,
                Codepoint::Ce => EcnField::Congestion,
            }),
            flags: segment.flags.bits() | if ack.is_some() { Packet::ACK } else { 0 },
            seq: segment.seq.0.wrapping_sub(ours),
            len: segment.len,
            ack: ack.unwrap_or(0),
            window: Some(segment.window),
            options: Some(options),
        }
    }

    /// Records the actual timestamp that corresponds to an expected timestamp.
    pub(crate) fn note_stamp(&mut self, expected: &Packet, came: &Outgoing) {
        let expected = expected
            .options
            .iter()
            .flatten()
            .find_map(|option| match option {
                TcpOption::Timestamps { value, .. } => Some(*value),
                _ => None,
            });
        if let (Some(expected), Some(came)) = (expected, came.segment.options.timestamps) {
            self.stamps.first.get_or_insert((expected, came.value));
            self.stamps.actual.insert(expected, came.value);
        }
    }
}

impl Stamps {
    fn in_script(&self, actual: u32) -> u32 {
        match self.first {
            Some((script, first)) => script.wrapping_add(actual.wrapping_sub(first)),
            None => actual,
        }
    }

    /// Converts an echo in the script to the value for the connection.
    fn echo(&self, echo: u32, echoes: Echoes) -> Result<u32, String> {
        if let Some(&actual) = self.actual.get(&echo) {
            return Ok(actual);
        }
        match (self.first, echoes) {
            (Some((script, first)), Echoes::Scaled) => {
                Ok(first.wrapping_add(echo.wrapping_sub(script)))
            }
            _ => Err(format!(
                "the packet echoes the timestamp {echo}, which no expected packet carries"
            )),
        }
    }
}

fn sacks(blocks: &[(u32, u32)], offset: u32) -> SackBlocks {
    let mut sacks = SackBlocks::NONE;
    for &(start, end) in blocks {
        sacks.push(SackBlock {
            start: SeqNumber(start.wrapping_add(offset)),
            end: SeqNumber(end.wrapping_add(offset)),
        });
    }
    sacks
}

/// Length of an IPv4 header in bytes.
const IPV4_BYTES: usize = 20;
/// Length of a TCP header without options in bytes.
const TCP_BYTES: usize = 20;

/// Returns the options of a segment in wire order, including padding.
fn laid_out(segment: &Segment) -> Vec<TcpOption> {
    let mut bytes = [0; IPV4_BYTES + 60];
    let bare = Segment { len: 0, ..*segment };
    let Ok(length) = emit(&mut bytes, &envelope(), &bare, |_| {}) else {
        return Vec::new();
    };
    let mut field = bytes
        .get(IPV4_BYTES + TCP_BYTES..length)
        .unwrap_or_default();
    let mut options = Vec::new();
    while let Some((option, rest)) = first_option(field) {
        options.push(option);
        field = rest;
    }
    options
}

/// Returns placeholder addresses.
fn envelope() -> Envelope {
    Envelope {
        source: ([192, 168, 0, 1], 8080).into(),
        destination: ([192, 0, 2, 1], 8080).into(),
        identification: 0,
        checksum: Checksum::Offloaded,
    }
}

fn first_option(field: &[u8]) -> Option<(TcpOption, &[u8])> {
    let word = |bytes: &[u8]| bytes.iter().fold(0_u32, |sum, &b| sum << 8 | u32::from(b));
    match *field {
        [0, ref rest @ ..] => Some((TcpOption::End, rest)),
        [1, ref rest @ ..] => Some((TcpOption::Nop, rest)),
        [kind, len, ..] => {
            let (value, rest) = (field.get(2..usize::from(len))?, &field[usize::from(len)..]);
            let option = match (kind, value) {
                (2, &[a, b]) => TcpOption::Mss(u16::from_be_bytes([a, b])),
                (3, &[shift]) => TcpOption::WindowScale(shift),
                (4, []) => TcpOption::SackPermitted,
                (5, blocks) => TcpOption::Sack(
                    blocks
                        .chunks_exact(8)
                        .map(|block| (word(&block[..4]), word(&block[4..])))
                        .collect(),
                ),
                (8, stamps) if stamps.len() == 8 => TcpOption::Timestamps {
                    value: word(&stamps[..4]),
                    echo: word(&stamps[4..]),
                },
                (172 | 174, counters) => {
                    let order = match kind {
                        172 => CounterOrder::Ect0First,
                        _ => CounterOrder::Ect1First,
                    };
                    let counters: Vec<u32> = counters.chunks_exact(3).map(word).collect();
                    TcpOption::Counters(EcnCounters::new(order, &counters))
                }
                _ => return None,
            };
            Some((option, rest))
        }
        _ => None,
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn.filter(|ecn| *ecn != EcnField::NotCapable) {
            write!(f, "[{ecn}] ")?;
        }
        write!(f, "{} ", letters(self.flags))?;
        let end = self.seq.wrapping_add(self.len);
        write!(f, "{}:{end}({})", self.seq, self.len)?;
        if self.is(Self::ACK) {
            write!(f, " ack {}", self.ack)?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match self.options.as_deref() {
            None => f.write_str(" <...>"),
            Some([]) => Ok(()),
            Some(options) => write!(f, " {}", Listed(options)),
        }
    }
}

/// Returns the flags in the notation of scripts.
pub(crate) fn letters(flags: u16) -> String {
    const LETTERS: [(u16, char); 9] = [
        (Packet::FIN, 'F'),
        (Packet::SYN, 'S'),
        (Packet::RST, 'R'),
        (Packet::PSH, 'P'),
        (Packet::URG, 'U'),
        (Packet::ECE, 'E'),
        (Packet::CWR, 'W'),
        (Packet::AE, 'A'),
        (Packet::ACK, '.'),
    ];
    let letters: String = LETTERS
        .iter()
        .filter(|(bit, _)| flags & bit != 0)
        .map(|(_, letter)| letter)
        .collect();
    match letters.is_empty() {
        true => "-".to_owned(),
        false => letters,
    }
}

/// Displays options in the notation of scripts.
pub(crate) struct Listed<'o>(pub(crate) &'o [TcpOption]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        f.write_str("<")?;
        for (index, option) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            match option {
                TcpOption::End => f.write_str("eol")?,
                TcpOption::Nop => f.write_str("nop")?,
                TcpOption::Mss(mss) => write!(f, "mss {mss}")?,
                TcpOption::WindowScale(shift) => write!(f, "wscale {shift}")?,
                TcpOption::SackPermitted => f.write_str("sackOK")?,
                TcpOption::Sack(blocks) => {
                    f.write_str("sack")?;
                    for (first, end) in blocks {
                        write!(f, " {first}:{end}")?;
                    }
                }
                TcpOption::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}")?,
                TcpOption::Counters(option) => {
                    f.write_str("ECN")?;
                    let fields = option.order().fields().into_iter();
                    for (field, counter) in fields.zip(option.counters()) {
                        write!(f, " {} {counter}", counter_name(field))?;
                    }
                }
            }
        }
        f.write_str(">")
    }
}

/// Returns the name that scripts use for the byte counter of `field`.
const fn counter_name(field: Codepoint) -> &'static str {
    match field {
        Codepoint::Ect0 => "e0b",
        Codepoint::Ect1 => "e1b",
        Codepoint::Ce => "ceb",
        Codepoint::NotEct => "",
    }
}

impl fmt::Display for EcnField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCapable => "noecn",
            Self::Ect0 => "ect0",
            Self::Ect1 => "ect1",
            Self::Either => "ect01",
            Self::Congestion => "ce",
        })
    }
}
