//! Packets.

use super::cursor::{Cursor, Parsed};
use super::lex::Kind;
use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};
use dupack_tcp::connection::Flags;

use crate::syntax::{EcnField, Packet, TcpOption};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Inbound,
    Outbound,
}

/// Parses a packet, after its direction has been parsed.
pub(super) fn packet(cursor: &mut Cursor<'_, '_>, direction: Direction) -> Parsed<Packet> {
    let ecn = ip_fields(cursor, direction)?;
    other_protocols(cursor)?;
    if matches!(cursor.peek(), Some(Kind::Number(_)))
        && cursor.peek_second() == Some(Kind::Sign('>'))
    {
        return Err(cursor.missing("packets for ports other than the connection's"));
    }
    let flags = flags(cursor)?;
    let (seq, len) = range(cursor)?;
    let ack = match cursor.take_word("ack") {
        true => cursor.number("an acknowledgment number")?,
        false => 0,
    };
    let window = match cursor.take_word("win") {
        true => Some(cursor.number("a window of 16 bits")?),
        false => None,
    };
    if cursor.take_word("urg") {
        return Err(cursor.missing("urgent data (RFC 6093 advises against it)"));
    }
    let options = match cursor.take_sign('<') {
        true => options(cursor, direction)?,
        false => Some(Vec::new()),
    };
    Ok(Packet {
        ecn,
        flags,
        seq,
        len,
        ack,
        window,
        options,
    })
}

/// Parses fields of the IP header such as `[ect0]`.
fn ip_fields(cursor: &mut Cursor<'_, '_>, direction: Direction) -> Parsed<Option<EcnField>> {
    let closing = match cursor.peek() {
        Some(Kind::Sign('[')) => ']',
        Some(Kind::Sign('(')) => ')',
        _ => return Ok(None),
    };
    cursor.advance();
    let field = match cursor.peek() {
        Some(Kind::Word("noecn")) => EcnField::NotCapable,
        Some(Kind::Word("ect0")) => EcnField::Ect0,
        Some(Kind::Word("ect1")) => EcnField::Ect1,
        Some(Kind::Word("ce")) => EcnField::Congestion,
        Some(Kind::Word("ect01")) if direction == Direction::Outbound => EcnField::Either,
        Some(Kind::Word("tos" | "flowlabel" | "ttl")) => {
            return Err(cursor.missing("fields of the IP header other than ECN"));
        }
        _ => return Err(cursor.expected("an ECN field: noecn, ect0, ect1, ce, or ect01 outbound")),
    };
    cursor.advance();
    if cursor.take_sign(',') {
        return Err(cursor.missing("fields of the IP header other than ECN"));
    }
    cursor.sign(closing, "the end of the ECN field")?;
    Ok(Some(field))
}

fn other_protocols(cursor: &Cursor<'_, '_>) -> Parsed<()> {
    match cursor.peek() {
        Some(Kind::Word("icmp")) => Err(cursor.missing("ICMP messages sent by the endpoint")),
        Some(Kind::Word("udp")) => Err(cursor.missing("UDP")),
        Some(Kind::Word("ipv4" | "ipv6" | "gre" | "GREv0" | "mpls" | "encap")) => {
            Err(cursor.missing("encapsulated packets"))
        }
        _ => Ok(()),
    }
}

/// Parses flags: `S`, `P.`, `.`, `-` and so on. In `.5` and `5.`, the number 5 stands for the flags AE, CWR and ECE.
fn flags(cursor: &mut Cursor<'_, '_>) -> Parsed<u16> {
    const MEANT: &str =
        "flags: letters of FSRPEWAU, an ACE field of 0 to 7, a point for ACK, or `-`";
    if cursor.take_sign('-') {
        return Ok(0);
    }
    let before = match cursor.peek() {
        Some(Kind::Word(letters)) => letters.to_owned(),
        Some(Kind::Number(ace @ 0..=7)) => ace.to_string(),
        _ => String::new(),
    };
    let mut flags = 0;
    let mut ace = None;
    for letter in before.chars() {
        flags |= match letter {
            'F' => Packet::FIN,
            'S' => Packet::SYN,
            'R' => Packet::RST,
            'P' => Packet::PSH,
            'U' => Packet::URG,
            'E' => Packet::ECE,
            'W' => Packet::CWR,
            'A' => Packet::AE,
            '0'..='7' if ace.is_none() => {
                ace = letter.to_digit(8);
                0
            }
            _ => return Err(cursor.expected(MEANT)),
        };
    }
    if !before.is_empty() {
        cursor.advance();
    }
    match cursor.peek() {
        Some(Kind::Sign('.')) => {
            cursor.advance();
            flags |= Packet::ACK;
        }
        Some(Kind::Decimal(text)) => {
            let behind = match text.strip_prefix('.').map(str::as_bytes) {
                Some(&[digit @ b'0'..=b'7']) => u32::from(digit - b'0'),
                _ => return Err(cursor.expected("a point and an ACE field of 0 to 7")),
            };
            if ace.replace(behind).is_some() {
                return Err(cursor.wrong("the ACE field is given twice"));
            }
            cursor.advance();
            flags |= Packet::ACK;
        }
        _ if before.is_empty() => return Err(cursor.expected(MEANT)),
        _ => {}
    }
    let Some(ace) = ace else {
        return Ok(flags);
    };
    if flags & Packet::ACE != 0 {
        return Err(cursor.wrong("the ACE field is given twice, by letters and by a number"));
    }
    // The number is an octal digit.
    Ok(flags | Flags::of_ace(ace as u8).bits())
}

/// Parses `1:1001(1000)`.
pub(super) fn range(cursor: &mut Cursor<'_, '_>) -> Parsed<(u32, u32)> {
    const MEANT: &str = "sequence numbers and length, such as 1:1001(1000)";
    let start = cursor.position();
    let first: u32 = cursor.number(MEANT)?;
    cursor.sign(':', MEANT)?;
    let end: u32 = cursor.number(MEANT)?;
    cursor.sign('(', MEANT)?;
    let len: u16 = cursor.number("a length of 16 bits")?;
    cursor.sign(')', MEANT)?;
    if first.wrapping_add(u32::from(len)) != end {
        return Err(cursor.wrong_at(
            start,
            &format!("the range from {first} to {end} does not have {len} bytes"),
        ));
    }
    Ok((first, u32::from(len)))
}

/// Parses the options after the opening bracket.
fn options(cursor: &mut Cursor<'_, '_>, direction: Direction) -> Parsed<Option<Vec<TcpOption>>> {
    if cursor.peek() == Some(Kind::Ellipsis) {
        if direction == Direction::Inbound {
            return Err(
                cursor.wrong("`<...>` is not allowed for inbound packets: list their options")
            );
        }
        cursor.advance();
        cursor.sign('>', "the end of the options")?;
        return Ok(None);
    }
    let mut options = Vec::new();
    let mut bytes = 0;
    loop {
        let start = cursor.position();
        let option = option(cursor)?;
        bytes += length(&option);
        if bytes > OPTION_ROOM {
            return Err(cursor.wrong_at(
                start,
                &format!(
                    "the options up to this one have {bytes} bytes, but a header has room for \
                     {OPTION_ROOM}: remove some"
                ),
            ));
        }
        options.push(option);
        if cursor.take_sign('>') {
            if bytes % WORD > 0 {
                let short = WORD - bytes % WORD;
                return Err(cursor.wrong_at(
                    start,
                    &format!(
                        "the options have {bytes} bytes, which is not a multiple of {WORD}: add nop or eol, \
                         {short} in all"
                    ),
                ));
            }
            return Ok(Some(options));
        }
        cursor.sign(',', "another option, or `>`")?;
    }
}

/// Space for options in a header, in bytes (RFC 9293 §3.1).
const OPTION_ROOM: usize = 40;

/// Unit of a header's length, in bytes (RFC 9293 §3.1). packetdrill also rejects options that do not fill whole words.
const WORD: usize = 4;

/// Returns the length of an option on the wire, in bytes.
fn length(option: &TcpOption) -> usize {
    match option {
        TcpOption::End | TcpOption::Nop => 1,
        TcpOption::SackPermitted => 2,
        TcpOption::WindowScale(_) => 3,
        TcpOption::Mss(_) => 4,
        TcpOption::Timestamps { .. } => 10,
        TcpOption::Sack(blocks) => 2 + 8 * blocks.len(),
        TcpOption::Counters(counters) => 2 + 3 * counters.as_bytes().len(),
    }
}

fn option(cursor: &mut Cursor<'_, '_>) -> Parsed<TcpOption> {
    let Some(Kind::Word(name)) = cursor.peek() else {
        return Err(cursor.expected("an option: mss, wscale, sackOK, sack, TS, ECN, nop or eol"));
    };
    match name {
        "FO" | "FOEXP" => return Err(cursor.missing("Fast Open (RFC 7413)")),
        "md5" => return Err(cursor.missing("MD5 signatures (RFC 2385)")),
        _ => {}
    }
    let start = cursor.position();
    cursor.advance();
    Ok(match name {
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::End,
        "sackOK" => TcpOption::SackPermitted,
        "mss" => TcpOption::Mss(cursor.number("a segment size of 16 bits")?),
        "wscale" => TcpOption::WindowScale(cursor.number("a shift of 8 bits")?),
        "sack" => TcpOption::Sack(blocks(cursor)?),
        "TS" => timestamps(cursor)?,
        "ECN" => counters(cursor)?,
        _ => {
            return Err(cursor.wrong_at(
                start,
                &format!(
                    "unknown option `{name}`: expected one of mss, wscale, sackOK, sack, TS, ECN, \
                     nop, eol"
                ),
            ));
        }
    })
}

fn blocks(cursor: &mut Cursor<'_, '_>) -> Parsed<Vec<(u32, u32)>> {
    const MEANT: &str = "a block such as 1001:2001";
    let mut blocks = Vec::new();
    loop {
        let first = cursor.number(MEANT)?;
        cursor.sign(':', MEANT)?;
        blocks.push((first, cursor.number(MEANT)?));
        if !matches!(cursor.peek(), Some(Kind::Number(_))) {
            return Ok(blocks);
        }
    }
}

fn timestamps(cursor: &mut Cursor<'_, '_>) -> Parsed<TcpOption> {
    const MEANT: &str = "timestamps, such as TS val 100 ecr 0";
    if !cursor.take_word("val") {
        return Err(cursor.expected(MEANT));
    }
    let value = cursor.number(MEANT)?;
    if !cursor.take_word("ecr") {
        return Err(cursor.expected(MEANT));
    }
    let echo = cursor.number(MEANT)?;
    Ok(TcpOption::Timestamps { value, echo })
}

/// Parses `e0b 1 ceb 0 e1b 1`, in either order. Trailing counters are optional.
fn counters(cursor: &mut Cursor<'_, '_>) -> Parsed<TcpOption> {
    const MEANT: &str = "a counter of 24 bits";
    let order = match cursor.peek() {
        Some(Kind::Word("e1b")) => CounterOrder::Ect1First,
        Some(Kind::Word("e0b")) => CounterOrder::Ect0First,
        _ => return Err(cursor.expected("the first counter, e0b or e1b")),
    };
    let names = match order {
        CounterOrder::Ect0First => ["e0b", "ceb", "e1b"],
        CounterOrder::Ect1First => ["e1b", "ceb", "e0b"],
    };
    let mut counters = Vec::new();
    for name in names {
        if !cursor.take_word(name) {
            break;
        }
        let at = cursor.position();
        let counter: u32 = cursor.number(MEANT)?;
        if counter >= 1 << 24 {
            return Err(cursor.wrong_at(at, "a counter has 24 bits"));
        }
        counters.push(counter);
    }
    Ok(TcpOption::Counters(EcnCounters::new(order, &counters)))
}
