//! The evaluator: computes the value of an expression in a world.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::dictionary::{Definition, Dictionary};
use crate::functions;
use crate::operate::{all, any, arithmetic, binary, wanted};
use crate::parse::parse;
use crate::reference::FUNCTIONS;
use crate::syntax::{Expression, Fault, Node, Operator, Over};
use crate::value::{List, ListKind, Value};
use crate::verdict::Verdict;
use crate::world::World;

/// Maximum nesting of definitions.
const DEPTH_MAX: usize = 64;
/// Maximum nesting of expressions, including the expressions of definitions.
const NESTED_MAX: usize = 400;
/// Maximum number of steps for a rule and the text next to its verdict. Each part of an expression and each of its
/// values is a step. A rule of a paper takes a few thousand steps.
const STEPS_MAX: usize = 10_000_000;
/// Word before the dot in the name of a number that the paper prints: `paper.x`.
pub(crate) const PAPER: &str = "paper";

/// Evaluates the expressions of a file in a world.
pub(crate) struct Evaluator<'b> {
    pub(crate) book: &'b Dictionary,
    pub(crate) world: &'b World<'b>,
    pub(crate) scene: Option<usize>,
    /// Experiments that have been entered so far.
    entered: BTreeSet<usize>,
    variables: Vec<(String, Value)>,
    /// Key of the definition being evaluated.
    definition: Option<String>,
    depth: usize,
    nested: usize,
    steps: usize,
    /// Replacement for a number that is not finite.
    not_finite: Value,
}

pub(crate) type Evaluated = Result<Value, Fault>;

impl<'b> Evaluator<'b> {
    pub(crate) fn new(book: &'b Dictionary, world: &'b World<'b>) -> Self {
        let only = (world.scenes.len() == 1).then_some(0);
        Self {
            book,
            world,
            scene: only,
            entered: only.into_iter().collect(),
            variables: Vec::new(),
            definition: None,
            depth: 0,
            nested: 0,
            steps: 0,
            // In a plan, all values are 1. If a result of such values is not finite, such as 1 / (1 - 1), the check
            // continues with 1.
            not_finite: if world.is_plan() {
                Value::Number(1.0)
            } else {
                Value::Missing
            },
        }
    }

    /// Makes `name` the current experiment.
    pub(crate) fn enter(&mut self, name: &str, span: &Range<usize>) -> Result<(), Fault> {
        let scenes = &self.world.scenes;
        let found = scenes.iter().position(|scene| scene.name == name);
        let found = found.ok_or_else(|| {
            let known = scenes.iter().map(|scene| scene.name.as_str());
            let fault = Fault::new(span, format!("unknown experiment `{name}`"));
            match scenes.as_slice() {
                [only] if only.name.is_empty() => fault.help(
                    "this file has a single experiment without a name: only the experiments of a paper have names. \
                     To write a key that contains dots, put it in quotes: \"path.loss\"",
                ),
                _ => fault.meant(name, known),
            }
        })?;
        self.scene = Some(found);
        self.entered.insert(found);
        Ok(())
    }

    /// Returns the names of the experiments that have been entered so far.
    pub(crate) fn entered(&self) -> impl Iterator<Item = &'b str> + '_ {
        let scenes = &self.world.scenes;
        self.entered.iter().map(|&at| scenes[at].name.as_str())
    }

    pub(crate) fn bind(&mut self, variables: &[(String, Value)]) {
        self.variables.extend_from_slice(variables);
    }

    /// Returns the value of `text`.
    pub(crate) fn value(&mut self, text: &str) -> Evaluated {
        let expression = parse(text)?;
        self.evaluate(&expression)
    }

    /// Returns the verdict of the rule `text`, or `None` if runs are missing.
    pub(crate) fn verdict(&mut self, text: &str) -> Result<Option<Verdict>, Fault> {
        let expression = parse(text)?;
        let value = self.evaluate(&expression)?;
        match value {
            Value::Truth(verdict) => Ok(Some(verdict)),
            Value::Missing => Ok(None),
            other => Err(Fault::new(
                &(0..text.len()),
                format!(
                    "expected a rule that is true or false, found {}",
                    other.kind()
                ),
            )
            .help(match other {
                Value::List(_) => "wrap the list in `all(…)` or `any(…)`",
                _ => "compare it with a value: `goodput[SACK] > 1`",
            })),
        }
    }

    /// Returns the value of an expression. A number that is not finite is replaced: by 1 in a plan, otherwise by a
    /// missing value.
    pub(crate) fn evaluate(&mut self, of: &Expression) -> Evaluated {
        self.nested += 1;
        let out = if self.nested > NESTED_MAX {
            Err(Fault::new(&of.span, "the expression is nested too deeply"))
        } else {
            self.part(of)
        };
        self.nested -= 1;
        let out = out.and_then(|value| self.settled(value, &of.span));
        out.map_err(|fault| Fault {
            definition: fault.definition.or_else(|| self.definition.clone()),
            ..fault
        })
    }

    /// Prepares a value for further use: replaces numbers that are not finite, and counts the value and its items as
    /// steps.
    fn settled(&mut self, mut value: Value, span: &Range<usize>) -> Evaluated {
        let size = value.replace_not_finite(&self.not_finite);
        self.pay(1 + size, span)?;
        Ok(value)
    }

    /// Adds `steps` to the number of steps so far. Returns a fault if the number exceeds the maximum.
    pub(crate) fn pay(&mut self, steps: usize, span: &Range<usize>) -> Result<(), Fault> {
        self.steps += steps;
        if self.steps <= STEPS_MAX {
            return Ok(());
        }
        let message =
            format!("the rule takes more than {STEPS_MAX} steps; evaluation stopped here");
        Err(Fault::new(span, message).help("nest fewer loops or definitions"))
    }

    fn part(&mut self, of: &Expression) -> Evaluated {
        let span = &of.span;
        match &of.node {
            Node::Number(number) => Ok(Value::Number(*number)),
            Node::Quantity(text) => Err(Fault::new(span, format!("unexpected unit in `{text}`")).help(
                "only conditions on points have units; write a plain number in the unit of the measure",
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
            Node::Binary { .. } => self.chain(of),
        }
    }

    /// Evaluates `a + b + c` from the left in a loop, so that a long chain does not need deep recursion.
    fn chain(&mut self, whole: &Expression) -> Evaluated {
        let (mut links, mut here) = (Vec::new(), whole);
        while let Node::Binary {
            operator,
            left,
            right,
        } = &here.node
        {
            links.push((*operator, right, &here.span));
            here = left;
        }
        let mut value = self.evaluate(here)?;
        for (operator, right, span) in links.into_iter().rev() {
            let other = self.evaluate(right)?;
            let next = binary(operator, &value, &other, span)?;
            value = self.settled(next, span)?;
        }
        Ok(value)
    }

    fn list(&mut self, items: &[Expression]) -> Evaluated {
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

    fn named(&mut self, name: &str, span: &Range<usize>) -> Evaluated {
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
        let fault = Fault::new(span, format!("unknown name `{name}`"));
        let variables = self.variables.iter().map(|(name, _)| name.as_str());
        let definitions = book.definitions.iter().map(|d| d.name.as_str());
        let names = book.names.iter().map(|stack| stack.name.as_str());
        Err(fault.meant(name, variables.chain(definitions).chain(names)))
    }

    fn call(&mut self, name: &str, inputs: &[Expression], span: &Range<usize>) -> Evaluated {
        let book = self.book;
        if name == "setting" {
            return self.setting(inputs, span);
        }
        // `goodput(group = "near")`: a quantity may have parentheses instead of brackets.
        let is_function = FUNCTIONS.iter().any(|function| function.name == name)
            || book.definitions.iter().any(|d| d.name == name);
        let mut scenes = self.world.scenes.iter();
        if !is_function && scenes.any(|scene| scene.quantities().any(|known| known == name)) {
            return self.select(name, inputs, span);
        }
        let values = inputs.iter().map(|input| self.evaluate(input));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        if let Some(definition) = book.definitions.iter().find(|d| d.name == name) {
            return self.defined(definition, values, span);
        }
        if !FUNCTIONS.iter().any(|function| function.name == name) {
            let known = FUNCTIONS.iter().map(|function| function.name);
            let definitions = book.definitions.iter().map(|d| d.name.as_str());
            let fault = Fault::new(span, format!("unknown function `{name}`"));
            return Err(fault.meant(name, known.chain(definitions)));
        }
        let spans: Vec<Range<usize>> = inputs.iter().map(|input| input.span.clone()).collect();
        if name == "pool" && values.iter().flat_map(Value::leaves).nth(1).is_some() {
            self.world.pool();
        }
        functions::call(name, &values, &spans, span)
    }

    /// Evaluates a definition with these inputs. Its expression can use the inputs and the current experiment, but no
    /// other variables.
    fn defined(
        &mut self,
        definition: &'b Definition,
        values: Vec<Value>,
        span: &Range<usize>,
    ) -> Evaluated {
        if values.len() != definition.inputs.len() {
            let message = format!(
                "`{}` takes {} input(s), but {} are given",
                definition.name,
                definition.inputs.len(),
                values.len()
            );
            return Err(Fault::new(span, message));
        }
        if self.depth >= DEPTH_MAX {
            return Err(Fault::new(
                span,
                format!("the definition of `{}` refers to itself", definition.name),
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

    fn within(&mut self, experiment: &str, body: &Expression, span: &Range<usize>) -> Evaluated {
        if experiment == PAPER {
            if self.world.printed.is_empty() {
                let message = "this file has no printed numbers of a paper";
                return Err(Fault::new(span, message).help(
                    "only `[[printed]]` in a paper's claims.toml adds them; write the number itself",
                ));
            }
            let Node::Select { name, choices } = &body.node else {
                let message =
                    "expected a printed quantity after `paper.`, such as `paper.throughput[…]`";
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
    ) -> Evaluated {
        let Value::List(list) = self.evaluate(items)? else {
            return Err(Fault::new(&items.span, "expected a list after `in`"));
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
            Over::All => all(&[out], &body.span),
            Over::Any => any(&[out], &body.span),
        }
    }
}
