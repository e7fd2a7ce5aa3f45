//! The choices in brackets: a stack, a point, a group of flows, conditions on points.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_lab::experiment::points::Point;
use dupack_lab::results::scaled;

use crate::syntax::{Fault, Operator};
use crate::value::{Place, Stack};
use crate::world::Scene;

/// The choices made in one pair of brackets.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) stack: Option<Arc<Stack>>,
    pub(crate) point: Option<Place>,
    /// Name of a group of flows.
    pub(crate) group: Option<String>,
    pub(crate) conditions: Vec<Condition>,
}

/// A condition on points.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) key: String,
    pub(crate) operator: Operator,
    pub(crate) wanted: Vec<SweepValue>,
}

impl Chosen {
    /// Returns the chosen points, in the order of the experiment.
    pub(crate) fn points(&self, scene: usize, of: &Scene<'_>) -> Vec<Place> {
        let points = of.points().iter().enumerate();
        let chosen = points.filter(|(n, point)| {
            self.point.as_ref().is_none_or(|place| place.point == *n) && self.admits(point)
        });
        let place = |(point, of): (usize, &Point)| Place {
            label: of.label(),
            scene,
            point,
            values: of.values.clone(),
        };
        chosen.map(place).collect()
    }

    /// Returns `true` if the choices leave only one point: a point is given, or `=` fixes every swept key. In an
    /// experiment that lists its points, it is sufficient that `=` fixes some key and that at most one point matches.
    pub(crate) fn pins(&self, scene: &Scene<'_>) -> bool {
        let points = scene.points();
        let keys = points.first().map_or(&[][..], |point| &point.values);
        let fixed = |key: &str| {
            let mut own = self.conditions.iter().filter(|c| c.key == key);
            own.any(|c| c.operator == Operator::Equal)
        };
        let alone = || {
            let chosen = points.iter().filter(|point| self.admits(point)).count();
            !scene.experiment().points.is_empty() && chosen <= 1
        };
        self.point.is_some()
            || keys.iter().all(|(key, _)| fixed(key))
            || (keys.iter().any(|(key, _)| fixed(key)) && alone())
    }

    pub(crate) fn admits(&self, point: &Point) -> bool {
        self.conditions.iter().all(|condition| {
            value_of(&point.values, &condition.key).is_some_and(|value| condition.admits(value))
        })
    }
}

impl Condition {
    pub(crate) fn admits(&self, value: &SweepValue) -> bool {
        let is = |good: &[Ordering]| {
            let mut orders = self.wanted.iter().filter_map(|wanted| order(value, wanted));
            orders.any(|order| good.contains(&order))
        };
        match self.operator {
            Operator::Less => is(&[Ordering::Less]),
            Operator::LessOrEqual => is(&[Ordering::Less, Ordering::Equal]),
            Operator::Greater => is(&[Ordering::Greater]),
            Operator::GreaterOrEqual => is(&[Ordering::Greater, Ordering::Equal]),
            Operator::Unequal => !is(&[Ordering::Equal]),
            _ => is(&[Ordering::Equal]),
        }
    }
}

/// Returns `true` if `asked` is `key`, or the part of `key` after one of its dots.
pub(crate) fn is_key(key: &str, asked: &str) -> bool {
    let start = key.strip_suffix(asked);
    start.is_some_and(|start| start.is_empty() || start.ends_with('.'))
}

pub(crate) fn value_of<'v>(
    values: &'v [(String, SweepValue)],
    key: &str,
) -> Option<&'v SweepValue> {
    let found = values.iter().find(|(known, _)| known == key);
    found.map(|(_, value)| value)
}

/// Returns the number at the start of a swept text: 3 of `3 of 94-125`.
pub(crate) fn first_number(value: &SweepValue) -> Option<f64> {
    let SweepValue::Text(text) = value else {
        return None;
    };
    text.split(' ').next()?.parse().ok()
}

/// Compares a swept value with the value in a condition. If the swept value is a percentage, a bare number is a
/// fraction. A bare number is also compared with the first number of other text. If neither value is a number, both are
/// compared as text. Returns `None` if the units differ.
pub(crate) fn order(value: &SweepValue, wanted: &SweepValue) -> Option<Ordering> {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9);
    let own = match wanted {
        SweepValue::Text(_) => scaled(value),
        _ => scaled(value).or_else(|| Some((first_number(value)?, ""))),
    };
    let numbers = match (own, scaled(wanted), wanted) {
        (Some((number, "%")), Some((bare, "")), _) => Some((number, bare * 100.0)),
        (Some((one, own)), Some((other, unit)), _) if own == unit || own.is_empty() => {
            Some((one, other))
        }
        (Some((number, _)), _, SweepValue::Real(bare)) => Some((number, *bare)),
        (Some(_), Some(_), _) => return None,
        _ => None,
    };
    match numbers {
        Some((one, other)) if near(one, other) => Some(Ordering::Equal),
        Some((one, other)) => one.partial_cmp(&other),
        None => Some(value.to_string().cmp(&wanted.to_string())),
    }
}

/// Returns the index of a stack in an experiment.
pub(crate) fn stack_in(
    scene: &Scene<'_>,
    wanted: Option<&Stack>,
    span: &Range<usize>,
) -> Result<usize, Fault> {
    let stacks = &scene.results.stacks;
    let Some(stack) = wanted else {
        return match stacks.as_slice() {
            [_] => Ok(0),
            _ => Err(
                Fault::new(span, "the expression names no stack").help(format!(
                    "{} compares {}; name one of them: `goodput[STACK]`",
                    titled(scene),
                    stacks.join(", ")
                )),
            ),
        };
    };
    let among = |texts: &[String]| {
        let places = stacks.iter().enumerate();
        let mut own = places.filter(|(_, text)| texts.contains(text));
        (own.next().map(|(n, _)| n), own.next())
    };
    let found = match among(&stack.texts) {
        (None, _) => among(&stack.instead),
        found => found,
    };
    match found {
        (Some(one), None) => Ok(one),
        (None, _) => {
            let message = format!("{} has no stack `{}`", titled(scene), stack.name);
            let fault = Fault::new(span, message);
            Err(fault.meant(&stack.name, stacks.iter().map(String::as_str)))
        }
        (Some(_), Some(_)) => {
            let message = format!(
                "`{}` stands for several stacks of {}",
                stack.name,
                titled(scene)
            );
            Err(Fault::new(span, message).help("give each stack its own name in `[names]`"))
        }
    }
}

pub(crate) fn titled(scene: &Scene<'_>) -> String {
    match scene.name.as_str() {
        "" => "the experiment".to_owned(),
        name => format!("`{name}`"),
    }
}

pub(crate) fn points_of(scene: &Scene<'_>) -> String {
    let labels: Vec<String> = scene.points().iter().map(|point| point.label()).collect();
    format!("the points are {}", labels.join("; "))
}
