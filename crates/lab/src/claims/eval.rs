//! What an expression comes to in a world.

use std::cmp::Ordering;
use std::ops::Range;

use dupack_algorithms::catalog::{Catalog, StackSpec};

use super::choose::{Chosen, Condition, is_key, order, points_of, stack_in, titled, value_of};
use super::functions;
use super::operate::{arithmetic, binary, wanted};
use super::parse::parse;
use super::reference::FUNCTIONS;
use super::syntax::{Expression, Fault, Node, Operator, Over};
use super::value::{List, ListKind, Place, Samples, Stack, Value};
use super::world::{Flows, Found, Printed, World};
use super::{Rules, Verdict};
use crate::experiment::SweepValue;

/// So many definitions may stand within one another.
const DEPTH_MAX: usize = 64;
/// What stands before the dot of numbers that a paper prints.
const PAPER: &str = "paper";
/// What chooses a group of flows by its name.
const FLOWS: &str = "flows";

/// Evaluates the expressions of a file in a world.
pub(super) struct Evaluator<'b> {
    book: &'b Rules,
    pub(super) world: &'b World<'b>,
    scene: Option<usize>,
    variables: Vec<(String, Value)>,
    /// The definition that is being evaluated.
    definition: Option<String>,
    depth: usize,
}

/// A stack's text in its canonical spelling.
pub(super) fn canonical(text: &str, catalog: &Catalog) -> Result<String, String> {
    match StackSpec::parse(text, catalog) {
        Ok(stack) => Ok(stack.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

type Outcome = Result<Value, Fault>;

impl<'b> Evaluator<'b> {
    pub(super) fn new(book: &'b Rules, world: &'b World<'b>) -> Self {
        Self {
            book,
            world,
            scene: (world.scenes.len() == 1).then_some(0),
            variables: Vec::new(),
            definition: None,
            depth: 0,
        }
    }

    /// Makes `name` the experiment that is asked about.
    pub(super) fn enter(&mut self, name: &str, span: &Range<usize>) -> Result<(), Fault> {
        let scenes = &self.world.scenes;
        let found = scenes.iter().position(|scene| scene.name == name);
        self.scene = Some(found.ok_or_else(|| {
            let known = scenes.iter().map(|scene| scene.name.as_str());
            Fault::new(span, format!("there is no experiment `{name}`")).meant(name, known)
        })?);
        Ok(())
    }

    pub(super) fn bind(&mut self, variables: &[(String, Value)]) {
        self.variables.extend_from_slice(variables);
    }

    /// What `text` comes to.
    pub(super) fn value(&mut self, text: &str) -> Outcome {
        let expression = parse(text)?;
        self.evaluate(&expression)
    }

    /// Whether `text` is true; nothing if runs are missing.
    pub(super) fn verdict(&mut self, text: &str) -> Result<Option<Verdict>, Fault> {
        let expression = parse(text)?;
        let value = self.evaluate(&expression)?;
        match value {
            Value::Truth(verdict) => Ok(Some(verdict)),
            Value::Missing => Ok(None),
            other => Err(Fault::new(
                &(0..text.len()),
                format!("a rule is true or false, but this is {}", other.kind()),
            )
            .help(match other {
                Value::List(_) => "put `all(…)` or `any(…)` around it",
                _ => "compare it with something",
            })),
        }
    }

    pub(super) fn evaluate(&mut self, of: &Expression) -> Outcome {
        let span = &of.span;
        let out = match &of.node {
            Node::Number(number) => Ok(Value::Number(*number)),
            Node::Quantity(text) => Err(Fault::new(span, format!("`{text}` has a unit")).help(
                "units stand in conditions on points; a measure is a number in its own unit",
            )),
            Node::Text(text) => Ok(Value::Text(text.clone())),
            Node::Name(name) => self.named(name, span),
            Node::List(items) => self.list(items),
            Node::Call { name, inputs } => self.call(name, inputs, span),
            Node::Select { name, choices } => self.select(name, choices, span),
            Node::Within { experiment, body } => self.within(experiment, body, span),
            Node::Over {
                kind,
                variable,
                items,
                body,
            } => self.over(*kind, variable, items, body),
            Node::Negative(of) => {
                let value = self.evaluate(of)?;
                arithmetic(Operator::Minus, &Value::Number(0.0), &value, span)
            }
            Node::Not(inner) => {
                let value = self.evaluate(inner)?;
                functions::each_leaf(&value, &mut |leaf| match leaf {
                    Value::Truth(verdict) => Ok(Value::Truth(verdict.contrary())),
                    other => Err(Fault::new(&inner.span, wanted("true or false", other))),
                })
            }
            Node::Binary {
                operator,
                left,
                right,
            } => {
                let (one, other) = (self.evaluate(left)?, self.evaluate(right)?);
                binary(*operator, &one, &other, span)
            }
        };
        out.map_err(|fault| Fault {
            definition: fault.definition.or_else(|| self.definition.clone()),
            ..fault
        })
    }

    fn list(&mut self, items: &[Expression]) -> Outcome {
        let items = items.iter().map(|item| {
            let value = self.evaluate(item)?;
            let name = match (&value, &item.node) {
                (Value::Stack(stack), _) => stack.label.clone(),
                (_, Node::Name(name)) => name.clone(),
                _ => String::new(),
            };
            Ok((name, value))
        });
        Ok(Value::List(List {
            kind: ListKind::Plain,
            items: items.collect::<Result<_, Fault>>()?,
        }))
    }

    fn named(&mut self, name: &str, span: &Range<usize>) -> Outcome {
        if let Some((_, value)) = self.variables.iter().rev().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        let book = self.book;
        if let Some(definition) = book.definitions.iter().find(|d| d.name == name) {
            return self.defined(definition, Vec::new(), span);
        }
        if let Some(stack) = book.names.iter().find(|stack| stack.name == name) {
            return Ok(Value::Stack(stack.clone()));
        }
        match name {
            "points" => return self.select(name, &[], span),
            "true" => return Ok(Value::Truth(Verdict::Holds)),
            "false" => return Ok(Value::Truth(Verdict::DoesNotHold)),
            "none" => return Ok(Value::Missing),
            _ => {}
        }
        let scene = self.scene.map(|scene| &self.world.scenes[scene]);
        if scene.is_some_and(|scene| scene.quantities().any(|known| known == name)) {
            return self.select(name, &[], span);
        }
        let fault = Fault::new(span, format!("`{name}` is not known here"));
        let variables = self.variables.iter().map(|(name, _)| name.as_str());
        let definitions = book.definitions.iter().map(|d| d.name.as_str());
        let names = book.names.iter().map(|stack| stack.name.as_str());
        Err(fault.meant(name, variables.chain(definitions).chain(names)))
    }

    fn call(&mut self, name: &str, inputs: &[Expression], span: &Range<usize>) -> Outcome {
        let book = self.book;
        if name == "setting" {
            return self.setting(inputs, span);
        }
        let values = inputs.iter().map(|input| self.evaluate(input));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        if let Some(definition) = book.definitions.iter().find(|d| d.name == name) {
            return self.defined(definition, values, span);
        }
        if !FUNCTIONS.iter().any(|function| function.name == name) {
            let known = FUNCTIONS.iter().map(|function| function.name);
            let definitions = book.definitions.iter().map(|d| d.name.as_str());
            let fault = Fault::new(span, format!("there is no function `{name}`"));
            return Err(fault.meant(name, known.chain(definitions)));
        }
        let spans: Vec<Range<usize>> = inputs.iter().map(|input| input.span.clone()).collect();
        functions::call(name, &values, &spans, span)
    }

    /// A definition with these inputs: it sees them and the experiment, and no other variable.
    fn defined(
        &mut self,
        definition: &'b super::Definition,
        values: Vec<Value>,
        span: &Range<usize>,
    ) -> Outcome {
        if values.len() != definition.inputs.len() {
            let message = format!(
                "`{}` takes {} input(s), and is given {}",
                definition.name,
                definition.inputs.len(),
                values.len()
            );
            return Err(Fault::new(span, message));
        }
        if self.depth >= DEPTH_MAX {
            return Err(Fault::new(
                span,
                format!("`{}` needs itself", definition.name),
            ));
        }
        let inputs = definition.inputs.iter().cloned().zip(values).collect();
        let variables = std::mem::replace(&mut self.variables, inputs);
        let outer = self.definition.replace(definition.key.clone());
        self.depth += 1;
        let out = self.evaluate(&definition.body);
        self.depth -= 1;
        self.definition = outer;
        self.variables = variables;
        out
    }

    fn within(&mut self, experiment: &str, body: &Expression, span: &Range<usize>) -> Outcome {
        if experiment == PAPER {
            let Node::Select { name, choices } = &body.node else {
                let message = "after `paper.` stands what it prints, and of what: `paper.x[…]`";
                return Err(Fault::new(span, message));
            };
            return self.printed(name, choices, span);
        }
        let outer = self.scene;
        self.enter(experiment, &(span.start..span.start + experiment.len()))?;
        let out = self.evaluate(body);
        self.scene = outer;
        out
    }

    fn over(
        &mut self,
        kind: Over,
        variable: &str,
        items: &Expression,
        body: &Expression,
    ) -> Outcome {
        let Value::List(list) = self.evaluate(items)? else {
            return Err(Fault::new(&items.span, "a list was expected after `in`"));
        };
        let mut out = Vec::new();
        for (name, item) in list.items {
            self.variables.push((variable.to_owned(), item));
            let value = self.evaluate(body);
            self.variables.pop();
            out.push((name, value?));
        }
        let out = Value::List(List {
            kind: list.kind,
            items: out,
        });
        match kind {
            Over::Each => Ok(out),
            Over::All => functions::all(&[out], &body.span),
            Over::Any => functions::any(&[out], &body.span),
        }
    }

    fn here(&self, span: &Range<usize>) -> Result<usize, Fault> {
        self.scene.ok_or_else(|| {
            let scenes = self.world.scenes.iter();
            let known: Vec<&str> = scenes.map(|scene| scene.name.as_str()).collect();
            Fault::new(span, "of which experiment?").help(format!(
                "write `{}.` before it, or give the claim an `experiment`; there is {}",
                known.first().unwrap_or(&"name"),
                known.join(", ")
            ))
        })
    }

    /// `goodput[LE, loss >= 5%]`.
    fn select(&mut self, name: &str, choices: &[Expression], span: &Range<usize>) -> Outcome {
        let at = self.here(span)?;
        let world = self.world;
        let scene = &world.scenes[at];
        let chosen = self.choose(at, choices)?;
        let places = chosen.points(at, scene);
        if places.is_empty() && world.is_plan() {
            return Err(Fault::new(span, "no point is like that").help(points_of(scene)));
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
            let fault = Fault::new(span, format!("there is no measure `{name}`"));
            return Err(fault.meant(name, scene.quantities()));
        }
        let stack = stack_in(scene, chosen.stack.as_ref(), span)?;
        if chosen.group.is_some() && !Flows::ALL.iter().any(|(known, _)| *known == name) {
            let message = format!("`{name}` is not a measure of each flow");
            let known = Flows::ALL.iter().map(|(known, _)| *known);
            return Err(Fault::new(span, message).meant(name, known));
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

    /// `paper.throughput[alg1, loss = 1%]`.
    fn printed(&mut self, name: &str, choices: &[Expression], span: &Range<usize>) -> Outcome {
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

    /// Of printed numbers those that meet conditions on columns that no point of the experiment
    /// has, without these columns; and the other choices.
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

    /// `setting("path.rate")`: at every point if it varies.
    fn setting(&mut self, inputs: &[Expression], span: &Range<usize>) -> Outcome {
        let at = self.here(span)?;
        let scene = &self.world.scenes[at];
        let Some((Node::Text(key), choices)) = inputs
            .split_first()
            .map(|(first, rest)| (&first.node, rest))
        else {
            return Err(Fault::new(span, "which setting?").help("write `setting(\"path.rate\")`"));
        };
        let chosen = self.choose(at, choices)?;
        let of = |place: &Place| {
            let value = scene.setting(key, place.point);
            value.map(Value::Number).ok_or_else(|| {
                Fault::new(span, format!("the experiment gives no number for `{key}`"))
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

    /// What stands in the brackets: a stack, points, conditions on points.
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
                    };
                    chosen.stack.replace(stack).is_some()
                }
                Value::Point(place) if place.scene == at => chosen.point.replace(place).is_some(),
                Value::Point(_) => {
                    let message = "this is a point of another experiment";
                    return Err(Fault::new(&choice.span, message));
                }
                other => {
                    let message = wanted("a stack or a condition on points", &other);
                    return Err(Fault::new(&choice.span, message));
                }
            };
            if again {
                return Err(Fault::new(&choice.span, "there is another one before it"));
            }
        }
        Ok(chosen)
    }

    /// `flows = "reverse"`, if that is what it is.
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
            (Node::Name(key), Node::Text(group)) if key == FLOWS => {
                let scene = &self.world.scenes[at];
                let groups = scene.experiment().flows.iter();
                let known: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
                if known.contains(&group.as_str()) {
                    return Ok(Some(group.clone()));
                }
                let message = format!("{} has no flows called `{group}`", titled(scene));
                Err(Fault::new(&right.span, message).meant(group, known))
            }
            _ => Ok(None),
        }
    }

    /// `loss >= 5%`, if that is what it is.
    fn condition(&mut self, at: usize, choice: &Expression) -> Result<Option<Condition>, Fault> {
        let Node::Binary {
            operator,
            left,
            right,
        } = &choice.node
        else {
            return Ok(None);
        };
        let (Node::Name(key) | Node::Text(key)) = &left.node else {
            return Ok(None);
        };
        if !operator.compares() {
            return Ok(None);
        }
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
                let message = format!("`{key}` may be several keys");
                return Err(Fault::new(&left.span, message).help("write the whole key in quotes"));
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
            let message = format!("`{key}` takes values such as {first}");
            return Err(Fault::new(&right.span, message));
        }
        Ok(Some(Condition {
            key: known,
            operator: *operator,
            wanted,
        }))
    }

    /// What a key is compared with.
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
