//! The operators. Each combines two values.

use std::cmp::Ordering;
use std::ops::Range;

use dupack_lab::stats::Summary;

use crate::intervals::beside;
use crate::syntax::{Fault, Operator};
use crate::value::{List, ListKind, Samples, Value, shifted};
use crate::verdict::Verdict;

type Evaluated = Result<Value, Fault>;

pub(crate) fn wanted(what: &str, found: &Value) -> String {
    format!("expected {what}, found {}", found.kind())
}

/// Applies an operator to two values, item by item if one is a list.
pub(crate) fn binary(
    operator: Operator,
    one: &Value,
    other: &Value,
    span: &Range<usize>,
) -> Evaluated {
    match operator {
        Operator::In => {
            let found = other.leaves().into_iter().map(|item| {
                compare(Operator::Equal, one, item, span).map(|v| v == Value::Truth(Verdict::Holds))
            });
            let found: Vec<bool> = found.collect::<Result<_, _>>()?;
            Ok(Value::Truth(Verdict::of(found.contains(&true))))
        }
        Operator::And | Operator::Or => zip_all(one, other, span, &|one, other| {
            logic(operator, one, other, span)
        }),
        _ => zip(one, other, span, &|one, other| match operator {
            _ if operator.compares() => compare(operator, one, other, span),
            _ => arithmetic(operator, one, other, span),
        }),
    }
}

/// Combines two values item by item. A value that is not a list is combined with every item. If one item of a pair is
/// missing, the result of the pair is missing.
pub(crate) fn zip(
    one: &Value,
    other: &Value,
    span: &Range<usize>,
    of: &dyn Fn(&Value, &Value) -> Evaluated,
) -> Evaluated {
    zip_all(one, other, span, &|one, other| {
        if [one, other].contains(&&Value::Missing) {
            return Ok(Value::Missing);
        }
        of(one, other)
    })
}

/// Works like [`zip`], but passes missing values to `of`.
fn zip_all(
    one: &Value,
    other: &Value,
    span: &Range<usize>,
    of: &dyn Fn(&Value, &Value) -> Evaluated,
) -> Evaluated {
    let (kind, items): (ListKind, Result<Vec<_>, Fault>) = match (one, other) {
        (Value::List(left), Value::List(right)) => {
            let points = left.kind == ListKind::Points && right.kind == ListKind::Points;
            let pairs = || left.items.iter().zip(&right.items);
            let alike = left.items.len() == right.items.len()
                && (!points || pairs().all(|((a, _), (b, _))| a == b));
            if !alike {
                let message = if points {
                    "the two sides have different points"
                } else {
                    "the two lists do not have the same length"
                };
                return Err(Fault::new(span, message)
                    .help("choose the same points on both sides, by the same conditions"));
            }
            let each =
                pairs().map(|((name, a), (_, b))| Ok((name.clone(), zip_all(a, b, span, of)?)));
            (left.kind, each.collect())
        }
        (Value::List(left), right) => {
            let each = left.items.iter();
            let each = each.map(|(name, a)| Ok((name.clone(), zip_all(a, right, span, of)?)));
            (left.kind, each.collect())
        }
        (left, Value::List(right)) => {
            let each = right.items.iter();
            let each = each.map(|(name, b)| Ok((name.clone(), zip_all(left, b, span, of)?)));
            (right.kind, each.collect())
        }
        _ => return of(one, other),
    };
    Ok(Value::List(List {
        kind,
        items: items?,
    }))
}

/// Returns the help for arithmetic between two values that do not support it.
fn remedy(one: &Value, other: &Value) -> &'static str {
    let has = |is: fn(&Value) -> bool| is(one) || is(other);
    if has(|value| matches!(value, Value::Stack(_))) {
        "write a measure of the stack: `goodput[NAME]`"
    } else if has(|value| matches!(value, Value::Point(_))) {
        "use the value that the point sets: `value(p)`"
    } else if has(|value| matches!(value, Value::Truth(_))) {
        "combine truth values with `and` or `or`, or count them: `count(…)`"
    } else if has(|value| matches!(value, Value::Text(_))) {
        "text can only be compared by `=` and `!=`"
    } else {
        "an estimate has no samples: use the `mean(…)` of both"
    }
}

/// Conjunction of several truth values. If one value is false, the result is false even if others are missing.
pub(crate) fn all(inputs: &[Value], span: &Range<usize>) -> Evaluated {
    fold(
        inputs,
        span,
        [Verdict::Holds, Verdict::DoesNotHold],
        Verdict::and,
    )
}

/// Disjunction of several truth values. If one value is true, the result is true even if others are missing.
pub(crate) fn any(inputs: &[Value], span: &Range<usize>) -> Evaluated {
    fold(
        inputs,
        span,
        [Verdict::DoesNotHold, Verdict::Holds],
        Verdict::or,
    )
}

fn fold(
    inputs: &[Value],
    span: &Range<usize>,
    [of_none, settled]: [Verdict; 2],
    and: impl Fn(Verdict, Verdict) -> Verdict,
) -> Evaluated {
    let mut so_far = of_none;
    let mut missing = false;
    for leaf in inputs.iter().flat_map(Value::leaves) {
        match leaf {
            Value::Truth(verdict) => so_far = and(so_far, *verdict),
            Value::Missing => missing = true,
            other => return Err(Fault::new(span, wanted("true or false", other))),
        }
    }
    Ok(if missing && so_far != settled {
        Value::Missing
    } else {
        Value::Truth(so_far)
    })
}

/// Applies `and` or `or`, as [`all`] and [`any`] of two values.
fn logic(operator: Operator, one: &Value, other: &Value, span: &Range<usize>) -> Evaluated {
    let both = [one.clone(), other.clone()];
    match operator {
        Operator::And => all(&both, span),
        _ => any(&both, span),
    }
}

/// Compares numbers and words directly, and quantities by their intervals.
fn compare(operator: Operator, one: &Value, other: &Value, span: &Range<usize>) -> Evaluated {
    let equal = |same: bool| match operator {
        Operator::Equal => Ok(Value::Truth(Verdict::of(same))),
        Operator::Unequal => Ok(Value::Truth(Verdict::of(!same))),
        _ => {
            let message = format!("`{}` needs values that have an order", operator.sign());
            Err(Fault::new(span, message).help("these can only be compared by `=` and `!=`"))
        }
    };
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => Ok(Value::Truth(Verdict::of(match operator {
            Operator::Less => a < b,
            Operator::LessOrEqual => a <= b,
            Operator::Greater => a > b,
            Operator::GreaterOrEqual => a >= b,
            Operator::Unequal => a != b,
            _ => a == b,
        }))),
        (Value::Text(a), Value::Text(b)) => equal(a == b),
        (Value::Stack(a), Value::Stack(b)) => equal(a.texts == b.texts),
        (Value::Stack(a), Value::Text(b)) | (Value::Text(b), Value::Stack(a)) => {
            equal(a.name == *b || a.label == *b)
        }
        _ => {
            if matches!(operator, Operator::Equal | Operator::Unequal) {
                let message = format!(
                    "{} has a spread and cannot be compared by `=` or `!=`",
                    one.kind()
                );
                return Err(
                    Fault::new(span, message).help("use `within(x, low, high)`, or `mean(x)`")
                );
            }
            let difference = combined((Operator::Minus, operator), one, other, span)?;
            let finite = |summary: &Summary| summary.mean.is_finite();
            let Some(summary) = difference.summary().filter(finite) else {
                return Ok(Value::Missing);
            };
            let wanted = match operator {
                Operator::Less | Operator::LessOrEqual => Ordering::Less,
                _ => Ordering::Greater,
            };
            let or_equal = matches!(operator, Operator::LessOrEqual | Operator::GreaterOrEqual);
            Ok(Value::Truth(beside(&summary, 0.0, wanted, or_equal)))
        }
    }
}

/// Applies an arithmetic operator. Samples are paired by run, that is, by seed.
pub(crate) fn arithmetic(
    operator: Operator,
    one: &Value,
    other: &Value,
    span: &Range<usize>,
) -> Evaluated {
    combined((operator, operator), one, other, span)
}

/// Works like [`arithmetic`]. Error messages show the second operator: a comparison subtracts, but the file contains
/// `<`.
fn combined(
    (operator, written): (Operator, Operator),
    one: &Value,
    other: &Value,
    span: &Range<usize>,
) -> Evaluated {
    let of = |a: f64, b: f64| match operator {
        Operator::Plus => a + b,
        Operator::Minus => a - b,
        Operator::Times => a * b,
        _ => a / b,
    };
    let finite = |Samples(all)| {
        let kept: Vec<(Vec<u64>, f64)> = all;
        Value::Samples(Samples(
            kept.into_iter().filter(|(_, v)| v.is_finite()).collect(),
        ))
    };
    match (one, other) {
        (Value::List(_), _) | (_, Value::List(_)) => zip(one, other, span, &|a, b| {
            combined((operator, written), a, b, span)
        }),
        (Value::Missing, _) | (_, Value::Missing) => Ok(Value::Missing),
        (Value::Number(a), Value::Number(b)) => Ok(Value::Number(of(*a, *b))),
        (Value::Samples(a), Value::Samples(b)) => Ok(Value::Samples(a.paired(b, of))),
        (Value::Samples(a), Value::Number(b)) => Ok(finite(a.map(|a| of(a, *b)))),
        (Value::Number(a), Value::Samples(b)) => Ok(finite(b.map(|b| of(*a, b)))),
        (Value::Estimate(a), Value::Number(b)) => Ok(shifted(a, |a| of(a, *b))),
        (Value::Number(a), Value::Estimate(b)) => Ok(shifted(b, |b| of(*a, b))),
        _ => {
            let message = format!(
                "cannot apply `{}` to {} and {}",
                written.sign(),
                one.kind(),
                other.kind()
            );
            Err(Fault::new(span, message).help(remedy(one, other)))
        }
    }
}
