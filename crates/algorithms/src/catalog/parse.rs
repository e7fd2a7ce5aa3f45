//! Syntax of a stack's text: `newreno(full_ack=alg2)/reno(count=bytes)/veno(beta=3)/1`.
//!
//! The parser returns names and texts with their positions; [`stack`](super::stack) looks up the names.

use core::ops::Range;

use alloc::vec::Vec;

use super::axis::Axis;
use super::error::StackProblem;

/// Problem and its position in the text.
pub(super) type Fault = (Range<usize>, StackProblem);

/// One axis of the text: a name, and parameters with their values.
pub(super) struct NamedPart<'a> {
    /// Position of the name, or the whole text if the axis is omitted.
    pub(super) at: Range<usize>,
    pub(super) name: &'a str,
    pub(super) settings: Vec<Setting<'a>>,
}

/// One `parameter=value`.
pub(super) struct Setting<'a> {
    /// Position of the parameter's name.
    pub(super) at: Range<usize>,
    pub(super) name: &'a str,
    /// Position of the value, and the value; `None` without `=`.
    pub(super) value: Option<(Range<usize>, &'a str)>,
}

/// Splits `text` into its four axes. An omitted axis gets the algorithm that does nothing.
pub(super) fn parts(text: &str) -> Result<[NamedPart<'_>; 4], Fault> {
    let parts = split(text, 0..text.len(), '/')?;
    let whole = 0..text.len();
    let null = |axis: Axis| NamedPart {
        at: whole.clone(),
        name: axis.null().unwrap_or(""),
        settings: Vec::new(),
    };
    match &parts[..] {
        [_] => Err((whole, StackProblem::NoControl)),
        [_, _, _] => Err((whole, StackProblem::NoResponse)),
        [recovery, control] => Ok([
            part(text, recovery, Axis::Recovery)?,
            part(text, control, Axis::Control)?,
            null(Axis::Differentiation),
            null(Axis::Response),
        ]),
        [recovery, control, differentiation, response] => Ok([
            part(text, recovery, Axis::Recovery)?,
            part(text, control, Axis::Control)?,
            part(text, differentiation, Axis::Differentiation)?,
            part(text, response, Axis::Response)?,
        ]),
        more => {
            let fifth = more.get(4).cloned().unwrap_or(whole);
            Err((fifth, StackProblem::TooManyAxes))
        }
    }
}

/// Splits `range` of the text at every `separator` outside parentheses.
fn split(text: &str, range: Range<usize>, separator: char) -> Result<Vec<Range<usize>>, Fault> {
    let mut parts = Vec::new();
    let mut start = range.start;
    let mut open = None;
    for (offset, c) in text[range.clone()].char_indices() {
        let at = range.start + offset;
        match (c, open) {
            ('(', None) => open = Some(at),
            ('(', Some(_)) | (')', None) => return Err((at..at + 1, StackProblem::Parenthesis)),
            (')', Some(_)) => open = None,
            (c, None) if c == separator => {
                parts.push(start..at);
                start = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    if let Some(at) = open {
        return Err((at..at + 1, StackProblem::Parenthesis));
    }
    parts.push(start..range.end);
    Ok(parts)
}

/// Returns `range` without blanks at its ends.
fn trimmed(text: &str, range: &Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    start..start + slice.trim().len()
}

fn part<'a>(text: &'a str, range: &Range<usize>, axis: Axis) -> Result<NamedPart<'a>, Fault> {
    let range = trimmed(text, range);
    let slice = &text[range.clone()];
    let (name_end, settings) = match slice.find('(') {
        None => (range.end, Vec::new()),
        Some(open) => {
            // `split` has checked that there is a closing parenthesis.
            let close = slice.find(')').unwrap_or(slice.len());
            let rest = (range.start + close + 1).min(range.end)..range.end;
            if !rest.is_empty() {
                return Err((trimmed(text, &rest), StackProblem::Trailing));
            }
            let inside = range.start + open + 1..range.start + close;
            let inside = trimmed(text, &inside);
            let settings = if inside.is_empty() {
                Vec::new()
            } else {
                split(text, inside, ',')?
            };
            (range.start + open, settings)
        }
    };
    let at = trimmed(text, &(range.start..name_end));
    if at.is_empty() {
        let known = Vec::new();
        return Err((at, StackProblem::NoName { axis, known }));
    }
    Ok(NamedPart {
        name: &text[at.clone()],
        at,
        settings: settings.iter().map(|range| setting(text, range)).collect(),
    })
}

fn setting<'a>(text: &'a str, range: &Range<usize>) -> Setting<'a> {
    let equals = text[range.clone()].find('=').map(|at| range.start + at);
    let at = trimmed(text, &(range.start..equals.unwrap_or(range.end)));
    Setting {
        name: &text[at.clone()],
        at,
        value: equals.map(|equals| {
            let at = trimmed(text, &(equals + 1..range.end));
            (at.clone(), &text[at])
        }),
    }
}
