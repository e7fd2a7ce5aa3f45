//! Between the script's numbers and the connection's.
//!
//! A script counts sequence numbers from its initial ones, as far as they are not those of a SYN,
//! and has a timestamp clock of its own, which begins with the first value that is expected.

use std::collections::HashMap;
use std::fmt;

use dupack_packet::{Checksum, Envelope, emit};
use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};
use dupack_tcp::connection::{Flags, Options, Outgoing, Segment, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{Codepoint, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;

use crate::syntax::{EcnField, Packet, TcpOption};

/// What translates the numbers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// The connection's initial send sequence number.
    iss: u32,
    /// The script's, which its SYN says.
    script_iss: u32,
    /// The peer's: the same for both.
    irs: u32,
    stamps: Stamps,
}

/// Timestamps that have been compared.
#[derive(Clone, Debug, Default)]
struct Stamps {
    /// The script's first TSval, and what came for it.
    first: Option<(u32, u32)>,
    /// What came for each of the script's.
    actual: HashMap<u32, u32>,
}

/// How the echoes of a script's timestamps are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echoes {
    /// Each is that of a timestamp that was expected before.
    Exact,
    /// Others lie as far from the first as the script has it.
    Scaled,
}

impl Numbers {
    /// Of a connection whose SYN has this number.
    pub(crate) fn new(iss: SeqNumber) -> Self {
        Self {
            iss: iss.0,
            script_iss: 0,
            irs: 0,
            stamps: Stamps::default(),
        }
    }

    /// Takes the number of the peer's SYN.
    pub(crate) const fn peer_begins(&mut self, seq: u32) {
        self.irs = seq;
    }

    /// Takes the number that the script gives this end's SYN.
    pub(crate) const fn begin(&mut self, seq: u32) {
        self.script_iss = seq;
    }

    /// The segment that an inbound packet is; or why it cannot be told.
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

    /// The number of this end's that an ICMP error quotes.
    pub(crate) const fn quoted(&self, seq: u32) -> SeqNumber {
        SeqNumber(seq.wrapping_add(self.iss))
    }

    /// What to add to the script's numbers of this end's stream.
    const fn offset(&self, is_syn: bool) -> u32 {
        if is_syn {
            self.iss.wrapping_sub(self.script_iss)
        } else {
            self.iss
        }
    }

    /// A segment of the connection's as the script would write it. Its timestamp is that of the
    /// script's clock, if that is known.
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

    /// Takes note of which timestamp came for one that is expected.
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

    /// The connection's value for an echo of the script's.
    fn echo(&self, echo: u32, echoes: Echoes) -> Result<u32, String> {
        if let Some(&actual) = self.actual.get(&echo) {
            return Ok(actual);
        }
        match (self.first, echoes) {
            (Some((script, first)), Echoes::Scaled) => {
                Ok(first.wrapping_add(echo.wrapping_sub(script)))
            }
            _ => Err(format!(
                "it echoes the timestamp {echo}, which no packet was expected to carry"
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

/// Bytes of an IPv4 header.
const IPV4_BYTES: usize = 20;
/// Bytes of a TCP header without options.
const TCP_BYTES: usize = 20;

/// The options of a segment in the order in which they are put on the wire, padding included.
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

/// Addresses that say nothing.
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

/// The flags as a script writes them.
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

/// Options as a script writes them.
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

/// What a script calls the counter of bytes that came with `field`.
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
