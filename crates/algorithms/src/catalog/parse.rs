//! Reading a stack: `newreno(full_ack=alg2)/reno(count=bytes)/veno(beta=3)/1`.

use std::ops::Range;

use super::axis::{Axis, forbids};
use super::error::{StackError, StackProblem};
use super::spec::{Entry, ParameterSpec, Value};
use super::stack::{Chosen, StackSpec};
use super::{CONTROLS, DIFFERENTIATIONS, RECOVERIES, RESPONSES};

/// A problem and its place.
type Fault = (Range<usize>, StackProblem);

/// Reads `text`.
pub(super) fn parse(text: &str) -> Result<StackSpec, StackError> {
    read(text).map_err(|(at, problem)| StackError {
        text: text.to_owned(),
        at,
        problem,
    })
}

fn read(text: &str) -> Result<StackSpec, Fault> {
    let parts = split(text, 0..text.len(), '/')?;
    let whole = 0..text.len();
    let null = |axis: Axis| Part {
        at: whole.clone(),
        name: axis.null().unwrap_or(""),
        parameters: Vec::new(),
    };
    let (recovery, control, differentiation, response) = match &parts[..] {
        [_] => return Err((whole, StackProblem::NoControl)),
        [_, _, _] => return Err((whole, StackProblem::NoResponse)),
        [recovery, control] => (
            part(text, recovery, Axis::Recovery)?,
            part(text, control, Axis::Control)?,
            null(Axis::Differentiation),
            null(Axis::Response),
        ),
        [recovery, control, differentiation, response] => (
            part(text, recovery, Axis::Recovery)?,
            part(text, control, Axis::Control)?,
            part(text, differentiation, Axis::Differentiation)?,
            part(text, response, Axis::Response)?,
        ),
        more => {
            let fifth = more.get(4).cloned().unwrap_or(whole);
            return Err((fifth, StackProblem::TooManyAxes));
        }
    };
    let places = [&recovery, &control, &differentiation, &response].map(|part| part.at.clone());
    let spec = StackSpec {
        recovery: choose(text, Axis::Recovery, RECOVERIES, recovery)?,
        control: choose(text, Axis::Control, CONTROLS, control)?,
        differentiation: choose(
            text,
            Axis::Differentiation,
            DIFFERENTIATIONS,
            differentiation,
        )?,
        response: choose(text, Axis::Response, RESPONSES, response)?,
    };
    match forbids(spec.names()) {
        None => Ok(spec),
        Some(forbidden) => {
            let mut at = whole;
            for (axis, place) in Axis::ALL.into_iter().zip(places) {
                if axis == forbidden.by.0 {
                    at = place;
                }
            }
            Err((at, StackProblem::Forbidden(forbidden)))
        }
    }
}

/// One axis of the text: a name, and parameters with their values.
struct Part<'a> {
    /// Where the name stands.
    at: Range<usize>,
    name: &'a str,
    /// Where each `parameter=value` stands.
    parameters: Vec<Range<usize>>,
}

/// Cuts `range` of the text at every `separator` outside parentheses.
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

/// `range` without blanks at its ends.
fn trimmed(text: &str, range: &Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    start..start + slice.trim().len()
}

fn part<'a>(text: &'a str, range: &Range<usize>, axis: Axis) -> Result<Part<'a>, Fault> {
    let range = trimmed(text, range);
    let slice = &text[range.clone()];
    let (name_end, parameters) = match slice.find('(') {
        None => (range.end, Vec::new()),
        Some(open) => {
            // `split` has seen to it that there is one.
            let close = slice.find(')').unwrap_or(slice.len());
            let rest = (range.start + close + 1).min(range.end)..range.end;
            if !rest.is_empty() {
                return Err((trimmed(text, &rest), StackProblem::Trailing));
            }
            let inside = range.start + open + 1..range.start + close;
            let inside = trimmed(text, &inside);
            let parameters = if inside.is_empty() {
                Vec::new()
            } else {
                split(text, inside, ',')?
            };
            (range.start + open, parameters)
        }
    };
    let at = trimmed(text, &(range.start..name_end));
    if at.is_empty() {
        return Err((at, StackProblem::NoName(axis)));
    }
    Ok(Part {
        name: &text[at.clone()],
        at,
        parameters,
    })
}

/// Finds the entry that the part names, and reads its parameters.
fn choose<P: ?Sized>(
    text: &str,
    axis: Axis,
    entries: &'static [&'static Entry<P>],
    part: Part<'_>,
) -> Result<Chosen<P>, Fault> {
    let alias = axis.aliases().iter().find(|(alias, _)| *alias == part.name);
    let name = alias.map_or(part.name, |(_, name)| name);
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        let elsewhere = Axis::ALL
            .into_iter()
            .find(|other| *other != axis && other.descriptions().any(|d| d.name == name));
        return Err((part.at, StackProblem::UnknownAlgorithm { axis, elsewhere }));
    };
    let mut chosen = Chosen::new(entry);
    for range in part.parameters {
        let (spec, value, at) = parameter(text, &range, entry.name, entry.parameters)?;
        if !chosen.give(spec.name, value) {
            return Err((at, StackProblem::Repeated));
        }
    }
    Ok(chosen)
}

/// Reads one `parameter=value`; also tells where the parameter's name stands.
fn parameter(
    text: &str,
    range: &Range<usize>,
    algorithm: &'static str,
    known: &'static [ParameterSpec],
) -> Result<(&'static ParameterSpec, Value, Range<usize>), Fault> {
    let equals = text[range.clone()].find('=').map(|at| range.start + at);
    let name_at = trimmed(text, &(range.start..equals.unwrap_or(range.end)));
    let name = &text[name_at.clone()];
    let Some(spec) = known.iter().find(|spec| spec.name == name) else {
        return Err((name_at, StackProblem::UnknownParameter { algorithm, known }));
    };
    let Some(equals) = equals else {
        return Err((name_at, StackProblem::NoValue));
    };
    let value_at = trimmed(text, &(equals + 1..range.end));
    match spec.kind.parse(&text[value_at.clone()]) {
        Ok(value) => Ok((spec, value, name_at)),
        Err(error) => Err((
            value_at,
            StackProblem::Value {
                parameter: spec.name,
                error,
            },
        )),
    }
}
