//! Evaluates `goodput[…]`, `paper.x[…]` and `setting(…)`: quantities of an experiment, chosen by brackets.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_lab::results::Groups;

use crate::choose::{Chosen, Condition, is_key, order, points_of, stack_in, titled, value_of};
use crate::dictionary::canonical;
use crate::eval::{Evaluated, Evaluator};
use crate::operate::wanted;
use crate::syntax::{Expression, Fault, Node, Operator};
use crate::value::{List, ListKind, Place, Samples, Stack, Value};
use crate::verdict::Verdict;
use crate::world::{Flows, Found, OF_A_GROUP, Printed};

/// Keys that choose a group of flows by name.
const GROUP: [&str; 2] = ["group", "flows"];

/// Returns the quantities that a group of flows has.
fn of_groups() -> impl Iterator<Item = &'static str> + Clone {
    let each = Flows::ALL.iter().map(|(name, _)| *name);
    OF_A_GROUP.into_iter().chain(each)
}

impl Evaluator<'_> {
    fn here(&self, span: &Range<usize>) -> Result<usize, Fault> {
        self.scene.ok_or_else(|| {
            let scenes = self.world.scenes.iter();
            let known: Vec<&str> = scenes.map(|scene| scene.name.as_str()).collect();
            Fault::new(span, "the expression names no experiment").help(format!(
                "prefix it with `{}.`, or set the claim's `experiment`; expected one of {}",
                known.first().unwrap_or(&"name"),
                known.join(", ")
            ))
        })
    }

    /// Evaluates a quantity such as `goodput[LE, loss >= 5%]`.
    pub(crate) fn select(
        &mut self,
        name: &str,
        choices: &[Expression],
        span: &Range<usize>,
    ) -> Evaluated {
        let at = self.here(span)?;
        let world = self.world;
        let scene = &world.scenes[at];
        let chosen = self.choose(at, choices)?;
        self.pay(scene.points().len() / 16, span)?;
        let places = chosen.points(at, scene);
        if places.is_empty() && world.is_plan() {
            return Err(Fault::new(span, "no point matches").help(points_of(scene)));
        }
        if name == "points" {
            let items = places
                .into_iter()
                .map(|place| (place.label.clone(), Value::Point(place)));
            return Ok(Value::List(List {
                kind: ListKind::Points,
                items: items.collect(),
            }));
        }
        if !scene.quantities().any(|known| known == name) {
            let fault = Fault::new(span, format!("unknown measure `{name}`"));
            return Err(fault.meant(name, scene.quantities()));
        }
        let stack = stack_in(scene, chosen.stack.as_deref(), span)?;
        if chosen.group.is_some() && !of_groups().any(|known| known == name) {
            let message = format!("groups of flows have no measure `{name}`");
            return Err(Fault::new(span, message).meant(name, of_groups()));
        }
        let group = chosen.group.as_deref();
        let of = |place: &Place| match scene.found(name, (place.point, stack), group) {
            Some(Found::Samples(Samples(all))) if !all.is_empty() => Value::Samples(Samples(all)),
            Some(Found::Texts(texts)) => match texts.first() {
                Some(first) if texts.iter().all(|text| text == first) => Value::Text(first.clone()),
                Some(_) => Value::Text("differs from seed to seed".to_owned()),
                None => Value::Missing,
            },
            _ => Value::Missing,
        };
        if scene.points().len() == 1 || chosen.pins(scene) {
            return Ok(places.first().map_or(Value::Missing, of));
        }
        let items = places.iter().map(|place| (place.label.clone(), of(place)));
        Ok(Value::List(List {
            kind: ListKind::Points,
            items: items.collect(),
        }))
    }

    /// Evaluates printed numbers such as `paper.throughput[alg1, loss = 1%]`.
    pub(crate) fn printed(
        &mut self,
        name: &str,
        choices: &[Expression],
        span: &Range<usize>,
    ) -> Evaluated {
        let world = self.world;
        let all = world.printed.iter().filter(|number| number.name == name);
        let all: Vec<&Printed> = all.collect();
        if all.is_empty() {
            let fault = Fault::new(span, format!("the paper prints no `{name}`"));
            let known = world.printed.iter().map(|number| number.name.as_str());
            return Err(fault.meant(name, known));
        }
        let (all, choices) = self.of_columns(all, choices)?;
        if let ([only], []) = (all.as_slice(), choices.as_slice())
            && only.stack.is_none()
            && only.point.is_empty()
        {
            return Ok(Value::Number(only.value));
        }
        let at = self.here(span)?;
        let scene = &world.scenes[at];
        let chosen = self.choose(at, &choices)?;
        let of_stack = |number: &&Printed| match (&number.stack, &chosen.stack) {
            (Some(own), Some(stack)) => {
                own.eq_ignore_ascii_case(&stack.name) || own.eq_ignore_ascii_case(&stack.label)
            }
            (None, None) => true,
            _ => false,
        };
        let of: Vec<&Printed> = all.iter().filter(of_stack).collect();
        let value = |place: &Place| {
            let point = &scene.points()[place.point];
            let found = of.iter().find(|number| {
                number.point.iter().all(|(key, printed)| {
                    point.values.iter().any(|(known, value)| {
                        is_key(known, key) && order(value, printed) == Some(Ordering::Equal)
                    })
                })
            });
            found.map_or(Value::Missing, |number| Value::Number(number.value))
        };
        if of.iter().all(|number| number.point.is_empty()) {
            return Ok(of
                .first()
                .map_or(Value::Missing, |number| Value::Number(number.value)));
        }
        let places = chosen.points(at, scene);
        if scene.points().len() == 1 || chosen.pins(scene) {
            return Ok(places.first().map_or(Value::Missing, value));
        }
        let items = places
            .iter()
            .map(|place| (place.label.clone(), value(place)));
        Ok(Value::List(List {
            kind: ListKind::Points,
            items: items.collect(),
        }))
    }

    /// Splits the choices: applies conditions on columns that no point of the experiment has, and removes these columns
    /// from the printed numbers. Returns the remaining numbers and the other choices.
    fn of_columns(
        &mut self,
        numbers: Vec<&Printed>,
        choices: &[Expression],
    ) -> Result<(Vec<Printed>, Vec<Expression>), Fault> {
        let scene = self.scene.map(|scene| &self.world.scenes[scene]);
        let point = scene.and_then(|scene| scene.points().first());
        let swept = |key: &str| point.is_some_and(|p| p.values.iter().any(|(k, _)| is_key(k, key)));
        let columns = numbers.iter().flat_map(|number| &number.point);
        let columns: Vec<&str> = columns.map(|(key, _)| key.as_str()).collect();
        let (mut conditions, mut others) = (Vec::new(), Vec::new());
        for choice in choices {
            let column = match &choice.node {
                Node::Binary {
                    operator,
                    left,
                    right,
                } if operator.compares() => match &left.node {
                    Node::Name(key) | Node::Text(key) => Some((key, *operator, right)),
                    _ => None,
                },
                _ => None,
            };
            match column {
                Some((key, operator, right)) if columns.contains(&key.as_str()) && !swept(key) => {
                    conditions.push(Condition {
                        key: key.clone(),
                        operator,
                        wanted: vec![self.wanted(right)?],
                    });
                }
                _ => others.push(choice.clone()),
            }
        }
        let met = numbers.into_iter().filter(|number| {
            conditions.iter().all(|condition| {
                value_of(&number.point, &condition.key).is_some_and(|v| condition.admits(v))
            })
        });
        let met = met.map(|number| {
            let free = |key: &str| conditions.iter().all(|condition| condition.key != key);
            let point = number.point.iter().filter(|(key, _)| free(key));
            Printed {
                point: point.cloned().collect(),
                ..number.clone()
            }
        });
        Ok((met.collect(), others))
    }

    /// Evaluates `setting("path.rate")`. The value is a list over the points if it varies.
    pub(crate) fn setting(&mut self, inputs: &[Expression], span: &Range<usize>) -> Evaluated {
        let at = self.here(span)?;
        let scene = &self.world.scenes[at];
        let Some((Node::Text(key), choices)) = inputs
            .split_first()
            .map(|(first, rest)| (&first.node, rest))
        else {
            return Err(Fault::new(span, "the key of the setting is missing")
                .help("write `setting(\"path.rate\")`"));
        };
        let chosen = self.choose(at, choices)?;
        let of = |place: &Place| {
            let value = scene.setting(key, place.point);
            value.map(Value::Number).ok_or_else(|| {
                let message = format!("the experiment has no number for `{key}`");
                let known = scene.settings(place.point);
                Fault::new(&inputs[0].span, message).meant(key, known.iter().map(String::as_str))
            })
        };
        let places = chosen.points(at, scene);
        let varies = scene.experiment().varies(key) && scene.points().len() > 1;
        if !varies || chosen.pins(scene) {
            return places.first().map_or(Ok(Value::Missing), of);
        }
        let items = places
            .iter()
            .map(|place| Ok((place.label.clone(), of(place)?)));
        let items = items.collect::<Result<_, Fault>>()?;
        Ok(Value::List(List {
            kind: ListKind::Points,
            items,
        }))
    }

    /// Reads the choices in brackets: a stack, a point, a group of flows, conditions on points.
    fn choose(&mut self, at: usize, choices: &[Expression]) -> Result<Chosen, Fault> {
        let mut chosen = Chosen::default();
        for choice in choices {
            if let Some(group) = self.group(at, choice)? {
                chosen.group = Some(group);
                continue;
            }
            if let Some(condition) = self.condition(at, choice)? {
                chosen.conditions.push(condition);
                continue;
            }
            let again = match self.evaluate(choice)? {
                Value::Stack(stack) => chosen.stack.replace(stack).is_some(),
                Value::Text(text) => {
                    let own = canonical(&text, &self.book.catalog)
                        .map_err(|m| Fault::new(&choice.span, m))?;
                    let stack = Stack {
                        name: text.clone(),
                        label: text,
                        texts: vec![own],
                        instead: Vec::new(),
                    };
                    chosen.stack.replace(Arc::new(stack)).is_some()
                }
                Value::Point(place) if place.scene == at => chosen.point.replace(place).is_some(),
                Value::Point(_) => {
                    let message = "the point belongs to another experiment";
                    return Err(Fault::new(&choice.span, message));
                }
                other => {
                    let message = wanted("a stack or a condition on points", &other);
                    return Err(Fault::new(&choice.span, message));
                }
            };
            if again {
                return Err(Fault::new(
                    &choice.span,
                    "the brackets already have a choice of this kind",
                ));
            }
        }
        Ok(chosen)
    }

    /// Reads `group = "reverse"`. Returns `None` if the choice is something else.
    fn group(&self, at: usize, choice: &Expression) -> Result<Option<String>, Fault> {
        let Node::Binary {
            operator: Operator::Equal,
            left,
            right,
        } = &choice.node
        else {
            return Ok(None);
        };
        match (&left.node, &right.node) {
            (Node::Name(key), Node::Text(group)) if GROUP.contains(&key.as_str()) => {
                let scene = &self.world.scenes[at];
                let groups = Groups::of(scene.experiment());
                let known: Vec<&str> = { groups.all().iter() }.map(|group| &*group.name).collect();
                if known.contains(&group.as_str()) {
                    return Ok(Some(group.clone()));
                }
                let message = format!("{} has no flows called `{group}`", titled(scene));
                Err(Fault::new(&right.span, message).meant(group, known))
            }
            _ => Ok(None),
        }
    }

    /// Reads `loss >= 5%`. Returns `None` if the choice is something else.
    fn condition(&mut self, at: usize, choice: &Expression) -> Result<Option<Condition>, Fault> {
        let Node::Binary {
            operator,
            left,
            right,
        } = &choice.node
        else {
            return Ok(None);
        };
        if !operator.compares() {
            return Ok(None);
        }
        let (Node::Name(key) | Node::Text(key)) = &left.node else {
            return match dotted(left) {
                Some(key) => Err(
                    Fault::new(&left.span, "a key that contains dots needs quotes").help(format!(
                        "write `\"{key}\"`, or only the part after the last dot"
                    )),
                ),
                None => Ok(None),
            };
        };
        let scene = &self.world.scenes[at];
        let point = scene.points().first();
        let keys: Vec<&str> = point
            .iter()
            .flat_map(|p| &p.values)
            .map(|(k, _)| k.as_str())
            .collect();
        let of_key: Vec<&&str> = keys.iter().filter(|known| is_key(known, key)).collect();
        let known = match of_key.as_slice() {
            [one] => (**one).to_owned(),
            [] => {
                let message = format!("the points of {} have no `{key}`", titled(scene));
                let short = keys.iter().map(|key| key.rsplit('.').next().unwrap_or(key));
                return Err(Fault::new(&left.span, message).meant(key, short));
            }
            _ => {
                let message = format!("`{key}` is ambiguous");
                return Err(Fault::new(&left.span, message).help("write the full key in quotes"));
            }
        };
        let wanted = match &right.node {
            Node::List(items) => {
                let items = items.iter().map(|item| self.wanted(item));
                items.collect::<Result<_, Fault>>()?
            }
            _ => vec![self.wanted(right)?],
        };
        let first = point.and_then(|point| value_of(&point.values, &known));
        if let Some(first) = first
            && wanted.iter().any(|wanted| order(first, wanted).is_none())
        {
            let message = format!("invalid value for `{key}`: expected a value such as {first}");
            return Err(Fault::new(&right.span, message));
        }
        Ok(Some(Condition {
            key: known,
            operator: *operator,
            wanted,
        }))
    }

    /// Returns the value in a condition, with which the key's value is compared.
    fn wanted(&mut self, of: &Expression) -> Result<SweepValue, Fault> {
        match &of.node {
            Node::Quantity(text) | Node::Text(text) => Ok(SweepValue::Text(text.clone())),
            _ => match self.evaluate(of)? {
                Value::Number(number) => Ok(SweepValue::Real(number)),
                Value::Truth(verdict) => Ok(SweepValue::Switch(verdict == Verdict::Holds)),
                other => Err(Fault::new(&of.span, wanted("a value", &other))),
            },
        }
    }
}

/// Returns a key that was written without quotes, such as `path.loss`.
fn dotted(of: &Expression) -> Option<String> {
    match &of.node {
        Node::Name(name) => Some(name.clone()),
        Node::Within { experiment, body } => Some(format!("{experiment}.{}", dotted(body)?)),
        _ => None,
    }
}
