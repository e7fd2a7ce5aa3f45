//! System calls.

use super::cursor::{Cursor, Parsed};
use super::lex::Kind;
use super::time;
use crate::syntax::{Call, Expression, Member};

pub(super) fn call(cursor: &mut Cursor<'_, '_>) -> Parsed<Call> {
    let until = match cursor.peek() {
        Some(Kind::Ellipsis) => {
            cursor.advance();
            Some(time(cursor)?)
        }
        _ => None,
    };
    let Some(Kind::Word(name)) = cursor.peek() else {
        return Err(cursor.expected("a call, such as read(4, ..., 1000) = 1000"));
    };
    let at = cursor.position();
    cursor.advance();
    cursor.sign('(', "the arguments of a call")?;
    let arguments = list(cursor, ')')?;
    if let Some(message) = miscounted(name, arguments.len()) {
        return Err(cursor.wrong_at(at, &message));
    }
    cursor.sign('=', "the result of the call")?;
    let result = expression(cursor)?;
    let error = match cursor.peek() {
        Some(Kind::Word(name)) => {
            cursor.advance();
            Some(name.to_owned())
        }
        _ => None,
    };
    note(cursor)?;
    Ok(Call {
        name: name.to_owned(),
        arguments,
        until,
        result,
        error,
    })
}

/// Calls and their arguments, as packetdrill counts them, and `accept4`, which packetdrill does not have. Arguments in
/// square brackets are optional.
const CALLS: [(&str, &[&str]); 24] = [
    ("socket", &["domain", "type", "protocol"]),
    ("bind", &["descriptor", "address", "length"]),
    ("listen", &["descriptor", "backlog"]),
    ("accept", &["descriptor", "address", "length"]),
    ("accept4", &["descriptor", "address", "length", "flags"]),
    ("connect", &["descriptor", "address", "length"]),
    ("read", &["descriptor", "buffer", "bytes"]),
    ("readv", &["descriptor", "vector", "count"]),
    ("recv", &["descriptor", "buffer", "bytes", "flags"]),
    (
        "recvfrom",
        &[
            "descriptor",
            "buffer",
            "bytes",
            "flags",
            "address",
            "length",
        ],
    ),
    ("recvmsg", &["descriptor", "message", "flags"]),
    ("write", &["descriptor", "buffer", "bytes"]),
    ("writev", &["descriptor", "vector", "count"]),
    ("send", &["descriptor", "buffer", "bytes", "flags"]),
    (
        "sendto",
        &[
            "descriptor",
            "buffer",
            "bytes",
            "flags",
            "address",
            "length",
        ],
    ),
    ("sendmsg", &["descriptor", "message", "flags"]),
    ("sendfile", &["descriptor", "file", "offset", "bytes"]),
    ("fcntl", &["descriptor", "command", "[value]"]),
    ("ioctl", &["descriptor", "request", "[value]"]),
    ("close", &["descriptor"]),
    ("shutdown", &["descriptor", "how"]),
    (
        "getsockopt",
        &["descriptor", "level", "option", "value", "length"],
    ),
    (
        "setsockopt",
        &["descriptor", "level", "option", "value", "length"],
    ),
    ("poll", &["descriptors", "count", "timeout"]),
];

/// Returns the error for a call that does not take `count` arguments. Unknown calls may have any number of arguments.
fn miscounted(name: &str, count: usize) -> Option<String> {
    let (_, arguments) = CALLS.iter().find(|(known, _)| *known == name)?;
    let most = arguments.len();
    let least = most - usize::from(arguments.iter().any(|one| one.starts_with('[')));
    if (least..=most).contains(&count) {
        return None;
    }
    let takes = match (least, most) {
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{most} arguments"),
        (least, most) => format!("{least} or {most} arguments"),
    };
    let arguments = arguments.join(", ");
    Some(format!(
        "{name} takes {takes} ({arguments}), but {count} are given"
    ))
}

/// Skips the text in parentheses after an error, which is only for human readers.
fn note(cursor: &mut Cursor<'_, '_>) -> Parsed<()> {
    if !cursor.take_sign('(') {
        return Ok(());
    }
    while cursor.peek().is_some() {
        if cursor.take_sign(')') {
            return Ok(());
        }
        cursor.advance();
    }
    Err(cursor.expected("`)`: the end of a note"))
}

/// Parses expressions up to and including `closing`.
fn list(cursor: &mut Cursor<'_, '_>, closing: char) -> Parsed<Vec<Expression>> {
    let mut items = Vec::new();
    if cursor.take_sign(closing) {
        return Ok(items);
    }
    loop {
        items.push(expression(cursor)?);
        if cursor.take_sign(closing) {
            return Ok(items);
        }
        cursor.sign(',', &format!("another value, or `{closing}`"))?;
    }
}

fn expression(cursor: &mut Cursor<'_, '_>) -> Parsed<Expression> {
    cursor.nested(choice)
}

/// Parses `a|b`, or a single value.
fn choice(cursor: &mut Cursor<'_, '_>) -> Parsed<Expression> {
    let first = operand(cursor)?;
    if cursor.peek() != Some(Kind::Sign('|')) {
        return Ok(first);
    }
    let mut parts = vec![first];
    while cursor.take_sign('|') {
        parts.push(operand(cursor)?);
    }
    Ok(Expression::Or(parts))
}

fn operand(cursor: &mut Cursor<'_, '_>) -> Parsed<Expression> {
    let Some(kind) = cursor.peek() else {
        return Err(cursor.expected("a value"));
    };
    let simple = match kind {
        Kind::Ellipsis => Expression::Any,
        Kind::Number(number) | Kind::Hex(number) => Expression::Number(number),
        Kind::Text(_) => return text(cursor),
        Kind::Word(name) => return word(cursor, name),
        Kind::Sign('[') => {
            cursor.advance();
            return list(cursor, ']').map(Expression::List);
        }
        Kind::Sign('{') => {
            cursor.advance();
            return members(cursor).map(Expression::Struct);
        }
        _ => return Err(cursor.expected("a value: `...`, a number, a name, [list] or {struct}")),
    };
    cursor.advance();
    Ok(simple)
}

/// Parses a text. Adjacent texts are joined.
fn text(cursor: &mut Cursor<'_, '_>) -> Parsed<Expression> {
    let mut whole = String::new();
    while let Some(Kind::Text(part)) = cursor.peek() {
        whole.push_str(part);
        cursor.advance();
    }
    if cursor.peek() == Some(Kind::Ellipsis) {
        cursor.advance();
    }
    Ok(Expression::Text(whole))
}

/// Parses a name, or an expression that starts with a name: `htons(80)`, `type=3`.
fn word(cursor: &mut Cursor<'_, '_>, name: &str) -> Parsed<Expression> {
    cursor.advance();
    // A note may follow a result, so a parenthesis starts arguments only if it is adjacent to the name.
    if cursor.peek() == Some(Kind::Sign('(')) && cursor.is_close() {
        cursor.advance();
        let arguments = list(cursor, ')')?;
        return Ok(Expression::Apply(name.to_owned(), arguments));
    }
    if cursor.take_sign('=') {
        let value = expression(cursor)?;
        let name = Some(name.to_owned());
        return Ok(Expression::Struct(vec![Member { name, value }]));
    }
    Ok(Expression::Name(name.to_owned()))
}

/// Parses the members of a struct after the opening brace.
fn members(cursor: &mut Cursor<'_, '_>) -> Parsed<Vec<Member>> {
    let mut members = Vec::new();
    loop {
        members.push(member(cursor)?);
        if cursor.take_sign('}') {
            return Ok(members);
        }
        cursor.sign(',', "another member, or `}`")?;
    }
}

fn member(cursor: &mut Cursor<'_, '_>) -> Parsed<Member> {
    let name = match (cursor.peek(), cursor.peek_second()) {
        (Some(Kind::Word(name)), Some(Kind::Sign('='))) => {
            cursor.advance();
            cursor.advance();
            Some(name.to_owned())
        }
        // In `msg_iov(2)=[…]`, the count is skipped, because the list itself has it.
        (Some(Kind::Word(name)), Some(Kind::Sign('('))) if name.starts_with("msg_") => {
            cursor.advance();
            cursor.advance();
            list(cursor, ')')?;
            cursor.sign('=', "the member's value")?;
            Some(name.to_owned())
        }
        _ => None,
    };
    let value = expression(cursor)?;
    Ok(Member { name, value })
}
