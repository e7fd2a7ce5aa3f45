//! The text next to a verdict: quantities with their intervals.

use dupack_lab::stats::{Summary, spread};

use crate::eval::Evaluator;
use crate::parse::parse;
use crate::syntax::{Expression, Fault, Node, Over};
use crate::value::{ListKind, Value};

/// Format of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Format {
    /// Number of decimals. By default, the number that three significant digits need.
    decimals: Option<usize>,
    /// `true` if positive numbers have a sign.
    signed: bool,
    /// `true` if a number has only as many digits as it needs.
    shortest: bool,
}

impl Format {
    /// Reads a format: `3`, `+1`, or `g` for the shortest text.
    fn read(text: &str) -> Option<Self> {
        if text == "g" {
            return Some(Self {
                shortest: true,
                ..Self::default()
            });
        }
        let signed = text.starts_with('+');
        let digits = text.trim_start_matches('+');
        Some(Self {
            decimals: Some(digits.parse().ok().filter(|decimals| *decimals <= 12)?),
            signed,
            shortest: false,
        })
    }

    fn number(self, summary: &Summary) -> String {
        if self.shortest {
            return summary.mean.to_string();
        }
        let decimals = self.decimals.unwrap_or_else(|| decimals_of(summary));
        // A negative zero is shown without its sign.
        let zero = format!("{:.decimals$}", summary.mean)
            .trim_matches(['-', '0', '.'])
            .is_empty();
        let shown = if zero {
            Summary {
                mean: 0.0,
                ..*summary
            }
        } else {
            *summary
        };
        let text = spread(&shown, decimals);
        match self.signed && shown.mean > 0.0 {
            true => format!("+{text}"),
            false => text,
        }
    }

    fn value(self, value: &Value) -> String {
        match value {
            Value::Text(text) => text.clone(),
            Value::Truth(verdict) => verdict.name().to_owned(),
            Value::Stack(stack) => stack.label.clone(),
            Value::Point(place) => place.label.clone(),
            Value::List(list) => {
                if list.items.is_empty() {
                    return "none".to_owned();
                }
                let named = list.kind == ListKind::Plain;
                let items = list.items.iter().map(|(name, item)| {
                    let text = match (self.value(item), item) {
                        (text, Value::List(_)) if text.contains(';') => format!("({text})"),
                        (text, _) => text,
                    };
                    let own = matches!(item, Value::Stack(_));
                    match named && !name.is_empty() && !own {
                        true => format!("{name}: {text}"),
                        false => text,
                    }
                });
                let items: Vec<String> = items.collect();
                // Labels may contain commas, which must not look like separators.
                let nested = list
                    .items
                    .iter()
                    .any(|(_, item)| matches!(item, Value::List(_)));
                let apart = nested || items.iter().any(|item| item.contains(','));
                items.join(if apart { "; " } else { ", " })
            }
            other => other
                .summary()
                .map_or_else(|| "–".to_owned(), |s| self.number(&s)),
        }
    }
}

/// Returns the number of decimals that are needed to show three digits of the mean and one digit of the interval.
fn decimals_of(summary: &Summary) -> usize {
    let of_mean = match summary.mean.abs() {
        mean if mean >= 99.5 => 0,
        mean if mean >= 9.95 => 1,
        mean if mean >= 0.995 => 2,
        _ => 3,
    };
    let of_half = match summary.half_width_95 {
        Some(half) if half >= 0.5 || half <= 0.0 => 0,
        Some(half) if half >= 0.05 => 1,
        Some(half) if half >= 0.005 => 2,
        Some(_) => 3,
        None => 0,
    };
    of_mean.max(of_half)
}

impl Evaluator<'_> {
    /// Replaces the expressions in the braces of a text by their values. A format may follow an expression after a
    /// colon: `alg2 / alg1: {ratio(alg2):3}`.
    pub(crate) fn template(&mut self, text: &str) -> Result<String, Fault> {
        let mut out = String::new();
        let mut at = 0;
        while let Some(open) = text[at..].find('{') {
            out.push_str(&text[at..at + open]);
            let start = at + open + 1;
            let Some(length) = text[start..].find('}') else {
                return Err(Fault::new(&(start - 1..text.len()), "unclosed brace"));
            };
            let inner = &text[start..start + length];
            let (expression, format) = match inner.rsplit_once(':') {
                Some((expression, format)) => match Format::read(format.trim()) {
                    Some(format) => (expression, format),
                    None if parse(inner).is_err() && parse(expression).is_ok() => {
                        let at = start + expression.len() + 1..start + length;
                        let message = format!("invalid number format `{}`", format.trim());
                        return Err(Fault::new(&at, message).help(
                            "expected `:2` for two decimals (at most 12), `:+1` for a sign before positive \
                             numbers, or `:g` for the shortest form",
                        ));
                    }
                    None => (inner, Format::default()),
                },
                None => (inner, Format::default()),
            };
            let value = self
                .value(expression)
                .map_err(|fault| match fault.definition {
                    Some(_) => fault,
                    None => Fault {
                        span: start + fault.span.start..start + fault.span.end,
                        ..fault
                    },
                })?;
            out.push_str(&format.value(&value));
            at = start + length + 1;
        }
        out.push_str(&text[at..]);
        Ok(out)
    }

    /// Returns the quantities that a rule compares, each with its text in the rule.
    pub(crate) fn shown(&mut self, rule: &str) -> Result<String, Fault> {
        let mut shown = Vec::new();
        compared(&parse(rule)?, &mut Vec::new(), &mut shown);
        let mut parts: Vec<String> = Vec::new();
        for quantity in shown {
            let label = &rule[quantity.of.span.clone()];
            let value = self.evaluate(&quantity.whole())?;
            let part = format!("{label}: {}", Format::default().value(&value));
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            let value = self.value(rule)?;
            parts.push(Format::default().value(&value));
        }
        Ok(parts.join("; "))
    }
}

/// The variable of a loop, and the list of its values.
type Loop = (String, Expression);

/// A quantity that a rule compares, and the loops around it.
struct Quantity {
    of: Expression,
    loops: Vec<Loop>,
}

impl Quantity {
    /// Wraps the quantity in the loops whose variables it uses. The loops return lists.
    fn whole(self) -> Expression {
        self.loops
            .into_iter()
            .rev()
            .fold(self.of, |body, (variable, items)| {
                if !uses(&body, &variable) {
                    return body;
                }
                let span = body.span.clone();
                let node = Node::Over {
                    kind: Over::Each,
                    variable,
                    items: Box::new(items),
                    body: Box::new(body),
                };
                Expression { node, span }
            })
    }
}

/// Returns `true` if an expression uses a variable.
fn uses(of: &Expression, variable: &str) -> bool {
    let in_any = |inner: &[Expression]| inner.iter().any(|one| uses(one, variable));
    match &of.node {
        Node::Number(_) | Node::Quantity(_) | Node::Text(_) => false,
        Node::Name(name) => name == variable,
        Node::List(inner)
        | Node::Call { inputs: inner, .. }
        | Node::Select { choices: inner, .. } => in_any(inner),
        Node::Within { body: inner, .. } | Node::Negative(inner) | Node::Not(inner) => {
            uses(inner, variable)
        }
        Node::Over { items, body, .. } => uses(items, variable) || uses(body, variable),
        Node::Binary { left, right, .. } => uses(left, variable) || uses(right, variable),
    }
}

/// Functions that compare their first inputs, and the number of these inputs.
const COMPARING: [(&str, usize); 8] = [
    ("within", 1),
    ("above", 1),
    ("below", 1),
    ("exceeds", 2),
    ("near", 2),
    ("rises", 1),
    ("falls", 1),
    ("grows", 1),
];

/// Functions whose input is shown, with its interval, instead of their value.
const OPENED: [&str; 3] = ["mean", "lower", "upper"];

/// Collects the quantities that `rule` compares.
fn compared(rule: &Expression, loops: &mut Vec<Loop>, out: &mut Vec<Quantity>) {
    match &rule.node {
        Node::Binary {
            operator,
            left,
            right,
        } if operator.compares() => {
            for side in [left, right] {
                show(side, loops, out);
            }
        }
        Node::Binary { left, right, .. } => {
            compared(left, loops, out);
            compared(right, loops, out);
        }
        Node::Not(inner) | Node::Within { body: inner, .. } => compared(inner, loops, out),
        Node::Over {
            variable,
            items,
            body,
            ..
        } => {
            loops.push((variable.clone(), (**items).clone()));
            compared(body, loops, out);
            loops.pop();
        }
        Node::Call { name, inputs } => match COMPARING.iter().find(|(known, _)| known == name) {
            Some((_, count)) => {
                for input in inputs.iter().take(*count) {
                    show(input, loops, out);
                }
            }
            None => {
                for input in inputs {
                    compared(input, loops, out);
                }
            }
        },
        _ => {}
    }
}

fn show(side: &Expression, loops: &[Loop], out: &mut Vec<Quantity>) {
    match &side.node {
        Node::Number(_) | Node::Quantity(_) | Node::Text(_) | Node::Negative(_) => {}
        Node::Call { name, inputs } if OPENED.contains(&name.as_str()) => {
            for input in inputs {
                show(input, loops, out);
            }
        }
        Node::Call { name, inputs } if name == "abs" => {
            for input in inputs {
                show(input, loops, out);
            }
        }
        _ => out.push(Quantity {
            of: side.clone(),
            loops: loops.to_vec(),
        }),
    }
}
