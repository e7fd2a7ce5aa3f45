//! ICMP errors.

use dupack_tcp::connection::{IcmpReport, Unreachable};

use super::cursor::{Cursor, Parsed};
use super::lex::Kind;
use super::packet::range;
use crate::syntax::Icmp;

/// Codes of `unreachable`, for both address families, by name.
const CODES: &[(&str, Unreachable)] = &[
    ("net_unreachable", Unreachable::Network),
    ("host_unreachable", Unreachable::Host),
    ("protocol_unreachable", Unreachable::Protocol),
    ("port_unreachable", Unreachable::Port),
    ("source_route_failed", Unreachable::SourceRoute),
    ("net_unknown", Unreachable::Network),
    ("host_unknown", Unreachable::Host),
    ("source_host_isolated", Unreachable::Host),
    ("net_prohibited", Unreachable::Prohibited),
    ("host_prohibited", Unreachable::Prohibited),
    ("net_unreachable_for_tos", Unreachable::Network),
    ("host_unreachable_for_tos", Unreachable::Host),
    ("packet_filtered", Unreachable::Prohibited),
    ("precedence_violation", Unreachable::Prohibited),
    ("precedence_cutoff", Unreachable::Prohibited),
    ("no_route", Unreachable::Network),
    ("admin_prohibited", Unreachable::Prohibited),
    ("not_neighbour", Unreachable::Network),
    ("address_unreachable", Unreachable::Host),
];

/// Name of the ICMPv4 code that corresponds to ICMPv6's message `packet_too_big`.
const FRAGMENTATION_NEEDED: &str = "frag_needed";

/// Parses an ICMP error after the word `icmp`: type, code, MTU, and the quoted packet.
pub(super) fn icmp(cursor: &mut Cursor<'_, '_>) -> Parsed<Icmp> {
    let says = report(cursor)?;
    let seq = match cursor.take_sign('[') {
        false => 0,
        true => {
            if cursor.peek() == Some(Kind::Word("udp")) {
                return Err(cursor.missing("UDP"));
            }
            let (first, _) = range(cursor)?;
            cursor.sign(']', "the end of the quoted packet")?;
            first
        }
    };
    Ok(Icmp { says, seq })
}

fn report(cursor: &mut Cursor<'_, '_>) -> Parsed<IcmpReport> {
    const TYPES: &str = "an ICMP error: unreachable, packet_too_big, time_exceeded or \
                         parameter_problem";
    let Some(Kind::Word(name)) = cursor.peek() else {
        return Err(cursor.expected(TYPES));
    };
    let unreachable = match name {
        "unreachable" => {
            cursor.advance();
            return code(cursor);
        }
        "packet_too_big" => {
            cursor.advance();
            return too_big(cursor);
        }
        "time_exceeded" => Unreachable::TimeExceeded,
        "parameter_problem" => Unreachable::Header,
        "echo_request"
        | "echo_reply"
        | "source_quench"
        | "redirect"
        | "timestamp_request"
        | "timestamp_reply"
        | "information_request"
        | "information_reply"
        | "address_mask_request"
        | "address_mask_reply" => {
            return Err(cursor.missing("ICMP messages other than errors"));
        }
        _ => return Err(cursor.expected(TYPES)),
    };
    cursor.advance();
    // The codes of this type make no difference.
    if let Some(Kind::Word(_)) = cursor.peek() {
        cursor.advance();
    }
    Ok(IcmpReport::Unreachable(unreachable))
}

/// Parses the code of `unreachable`; by default, the first code.
fn code(cursor: &mut Cursor<'_, '_>) -> Parsed<IcmpReport> {
    let Some(Kind::Word(name)) = cursor.peek() else {
        return Ok(IcmpReport::Unreachable(Unreachable::Network));
    };
    if name == FRAGMENTATION_NEEDED {
        cursor.advance();
        return too_big(cursor);
    }
    let known = CODES.iter().find(|(code, _)| *code == name);
    let Some(&(_, what)) = known else {
        return Err(cursor.expected("a code of `unreachable`, such as host_unreachable"));
    };
    cursor.advance();
    if cursor.take_word("mtu") {
        return Err(cursor.wrong("only frag_needed and packet_too_big have an MTU"));
    }
    Ok(IcmpReport::Unreachable(what))
}

fn too_big(cursor: &mut Cursor<'_, '_>) -> Parsed<IcmpReport> {
    let mtu = match cursor.take_word("mtu") {
        true => cursor.number("an MTU in bytes")?,
        false => 0,
    };
    Ok(IcmpReport::PacketTooBig { mtu })
}
