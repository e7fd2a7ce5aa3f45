//! The parser of scripts.

mod call;
mod cursor;
mod error;
mod icmp;
mod lex;
mod packet;

#[cfg(test)]
mod tests;

pub(crate) use cursor::{DEEPEST, too_deep};
pub use error::{Fault, ParseError};

use dupack_tcp::time::{Duration, Instant};

use crate::syntax::{Command, Event, Script, Setting, What, When};
use cursor::{Cursor, Parsed};
use lex::Kind;

/// Parses a script.
///
/// # Errors
/// Returns an error that names the location and what was expected if the script is invalid, or an error with
/// [`Fault::Missing`] if the script needs an unsupported feature.
pub fn parse(source: &str) -> Result<Script, ParseError> {
    let tokens = lex::tokens(source)?;
    let mut cursor = Cursor::new(source, &tokens);
    let mut script = Script::default();
    while let Some(Kind::Option(text)) = cursor.peek() {
        let line = cursor.line();
        cursor.advance();
        script.options.push(setting(text, line));
    }
    script.preparation = shell(&mut cursor);
    while cursor.peek().is_some() {
        // Commands after the last event only clean up a kernel, so they are skipped.
        if !script.events.is_empty() && shell(&mut cursor).is_some() {
            if cursor.peek().is_some() {
                return Err(cursor.wrong(
                    "only the last commands of a script may lack a time: add one, such as +0",
                ));
            }
            break;
        }
        script.events.push(event(&mut cursor)?);
    }
    match script.events.first() {
        None => Err(cursor.wrong("the script has no events: add one, such as `0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3`")),
        Some(first) if !begins(first.at) => Err(ParseError::at_line(
            source,
            first.line,
            "the first event must be at time 0: write 0 before it",
        )),
        Some(_) => Ok(script),
    }
}

fn begins(at: When) -> bool {
    match at {
        When::At(at) => at == Instant::ZERO,
        When::After(after) => after == Duration::ZERO,
        _ => false,
    }
}

fn setting(text: &str, line: usize) -> Setting {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    Setting {
        name: name.to_owned(),
        value,
        line,
    }
}

/// Takes shell commands if they are next.
fn shell(cursor: &mut Cursor<'_, '_>) -> Option<Command> {
    let Some(Kind::Shell(text)) = cursor.peek() else {
        return None;
    };
    let line = cursor.line();
    cursor.advance();
    Some(Command {
        text: text.to_owned(),
        line,
    })
}

fn event(cursor: &mut Cursor<'_, '_>) -> Parsed<Event> {
    let line = cursor.line();
    let at = when(cursor)?;
    let start = cursor.position();
    let what = what(cursor)?;
    let outbound = matches!(what, What::Outbound(_));
    if !outbound && !matches!(at, When::At(_) | When::After(_)) {
        return Err(cursor.wrong_at(
            start,
            "only packets that the endpoint sends may have the time `*` or a range",
        ));
    }
    Ok(Event { at, what, line })
}

fn when(cursor: &mut Cursor<'_, '_>) -> Parsed<When> {
    if cursor.take_sign('*') {
        return Ok(When::Whenever);
    }
    let start = cursor.position();
    let relative = cursor.take_sign('+');
    let first = time(cursor)?;
    if !cursor.take_sign('~') {
        return Ok(match relative {
            true => When::After(first),
            false => When::At(Instant::ZERO + first),
        });
    }
    if relative {
        cursor.sign('+', "the end of a relative range, such as +1~+2")?;
    }
    let second = time(cursor)?;
    if second < first {
        return Err(cursor.wrong_at(start, "the range ends before it begins"));
    }
    Ok(match relative {
        true => When::AfterBetween(first, second),
        false => When::Between(Instant::ZERO + first, Instant::ZERO + second),
    })
}

/// Parses a time in seconds.
fn time(cursor: &mut Cursor<'_, '_>) -> Parsed<Duration> {
    const MEANT: &str = "a time in seconds, such as 0.1 or +.1";
    let seconds = match cursor.peek() {
        Some(Kind::Number(seconds)) if seconds >= 0 => seconds as f64,
        Some(Kind::Decimal(text)) => text.parse().map_err(|_| cursor.expected(MEANT))?,
        _ => return Err(cursor.expected(MEANT)),
    };
    // The result is exact: the number is far below 2^53 nanoseconds, and scripts give times in microseconds.
    let nanos = (seconds * 1e9).round();
    if nanos > MOST_NANOS {
        return Err(cursor.wrong("the time is too large: a script takes less than a hundred days"));
    }
    cursor.advance();
    Ok(Duration::from_nanos(nanos as u64))
}

const MOST_NANOS: f64 = 100.0 * 86_400.0 * 1e9;

fn what(cursor: &mut Cursor<'_, '_>) -> Parsed<What> {
    if cursor.take_sign('<') {
        if cursor.take_word("icmp") {
            return icmp::icmp(cursor).map(What::Icmp);
        }
        return packet::packet(cursor, packet::Direction::Inbound).map(What::Inbound);
    }
    if cursor.take_sign('>') {
        return packet::packet(cursor, packet::Direction::Outbound).map(What::Outbound);
    }
    if let Some(command) = shell(cursor) {
        return Ok(What::Command(command));
    }
    match cursor.peek() {
        Some(Kind::Code(text)) => {
            cursor.advance();
            Ok(What::Code(text.to_owned()))
        }
        Some(Kind::Word(_) | Kind::Ellipsis) => call::call(cursor).map(What::Call),
        _ => {
            Err(cursor
                .expected("an event: `<` or `>` with a packet, a call, `commands` or %{ code }%"))
        }
    }
}
