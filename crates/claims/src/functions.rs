//! The functions of the language.

mod truths;

use std::cmp::Ordering;
use std::ops::Range;

use dupack_lab::experiment::SweepValue;
use dupack_lab::results::scaled;
use dupack_lab::stats::{Summary, jain_index, mean, quantile};

use crate::choose::{first_number, is_key};
use crate::fit::{distances, line, ratio_of_means, squares};
use crate::intervals::{beside, exceeds, grows, interval, near, rises, within};
use crate::operate::{all, any, arithmetic, wanted, zip};
use crate::syntax::{Fault, Operator};
use crate::value::{List, ListKind, Samples, Value};

type Evaluated = Result<Value, Fault>;

/// A call of a function: its inputs and their places in the text.
struct Call<'c> {
    name: &'c str,
    inputs: &'c [Value],
    spans: &'c [Range<usize>],
    span: &'c Range<usize>,
}

/// Calls the function `name`.
pub(crate) fn call(
    name: &str,
    inputs: &[Value],
    spans: &[Range<usize>],
    span: &Range<usize>,
) -> Evaluated {
    let call = Call {
        name,
        inputs,
        spans,
        span,
    };
    match name {
        "all" => all(inputs, span),
        "any" => any(inputs, span),
        "count" | "leading" => call.counted(),
        "which" => call.which(call.one()?),
        "size" => Ok(Value::Number(call.one()?.leaves().len() as f64)),
        "mean" | "lower" | "upper" | "half" | "runs" => call.of_summaries(),
        "within" | "above" | "below" => call.bounded(),
        "exceeds" | "near" => call.against(),
        "rises" | "falls" | "grows" => call.ordered(),
        "min"
        | "max"
        | "sum"
        | "average"
        | "geomean"
        | "median"
        | "slope"
        | "off_line"
        | "line_squares"
        | "exponential_squares" => call.of_numbers(),
        "largest" | "smallest" | "which_largest" | "which_smallest" => call.extreme(),
        "winners" => call.winners(),
        "first" | "last" => call.end(),
        "join" => Ok(call.join()),
        "pool" => call.pool(),
        "sum_by_seed" | "mean_by_seed" => call.by_seed(),
        "mean_by_run" | "jain_by_run" => call.by_run(),
        "jain" => call.jain(),
        "ratio_of_means" => call.ratio_of_means(),
        "value" => call.value(),
        _ => call.plain(),
    }
}

/// Applies `of` to every item of nested lists that is not itself a list.
pub(crate) fn each_leaf(value: &Value, of: &mut dyn FnMut(&Value) -> Evaluated) -> Evaluated {
    match value {
        Value::List(list) => {
            let items = list.items.iter();
            let items = items.map(|(name, item)| Ok((name.clone(), each_leaf(item, of)?)));
            Ok(Value::List(List {
                kind: list.kind,
                items: items.collect::<Result<_, Fault>>()?,
            }))
        }
        Value::Missing => Ok(Value::Missing),
        other => of(other),
    }
}

impl Call<'_> {
    fn input(&self, n: usize) -> Result<&Value, Fault> {
        self.inputs.get(n).ok_or_else(|| {
            let about = crate::reference::FUNCTIONS
                .iter()
                .find(|function| function.name == self.name);
            let inputs = about.map_or("", |function| function.inputs);
            Fault::new(self.span, format!("`{}` needs more inputs", self.name))
                .help(format!("write {}({inputs})", self.name))
        })
    }

    fn span_of(&self, n: usize) -> &Range<usize> {
        self.spans.get(n).unwrap_or(self.span)
    }

    fn takes(&self, inputs: usize) -> Result<(), Fault> {
        if let Some(last) = inputs.checked_sub(1) {
            self.input(last)?;
        }
        match self.spans.get(inputs) {
            Some(span) => {
                let message = format!("`{}` takes {inputs} input(s)", self.name);
                Err(Fault::new(span, message))
            }
            None => Ok(()),
        }
    }

    fn one(&self) -> Result<&Value, Fault> {
        self.takes(1)?;
        self.input(0)
    }

    fn number(&self, n: usize) -> Result<f64, Fault> {
        match self.input(n)? {
            Value::Number(number) => Ok(*number),
            other => Err(Fault::new(self.span_of(n), wanted("a number", other))),
        }
    }

    fn quantity(&self, n: usize, value: &Value) -> Result<Summary, Fault> {
        value
            .summary()
            .ok_or_else(|| Fault::new(self.span_of(n), wanted("a quantity", value)))
    }

    fn of_summaries(&self) -> Evaluated {
        each_leaf(self.one()?, &mut |leaf| {
            if matches!(leaf, Value::Samples(samples) if samples.summary().is_none()) {
                return Ok(Value::Missing);
            }
            let summary = self.quantity(0, leaf)?;
            let (low, high) = interval(&summary);
            Ok(Value::Number(match self.name {
                "mean" => summary.mean,
                "lower" => low,
                "upper" => high,
                "half" => summary.half_width_95.unwrap_or(0.0),
                _ => summary.n as f64,
            }))
        })
    }

    fn bounded(&self) -> Evaluated {
        self.takes(if self.name == "within" { 3 } else { 2 })?;
        let low = self.number(1)?;
        let high = if self.name == "within" {
            self.number(2)?
        } else {
            low
        };
        each_leaf(self.input(0)?, &mut |leaf| {
            if matches!(leaf, Value::Samples(samples) if samples.summary().is_none()) {
                return Ok(Value::Missing);
            }
            let summary = self.quantity(0, leaf)?;
            Ok(Value::Truth(match self.name {
                "within" => within(&summary, low, high),
                "above" => beside(&summary, low, Ordering::Greater, false),
                _ => beside(&summary, low, Ordering::Less, false),
            }))
        })
    }

    fn against(&self) -> Evaluated {
        self.takes(if self.name == "near" { 3 } else { 2 })?;
        let share = if self.name == "near" {
            self.number(2)?
        } else {
            0.0
        };
        zip(self.input(0)?, self.input(1)?, self.span, &|one, other| {
            let (Some(one), Some(other)) = (one.summary(), other.summary()) else {
                let known = [one, other].map(|v| matches!(v, Value::Samples(_) | Value::Missing));
                return match known {
                    [true, true] => Ok(Value::Missing),
                    [false, _] => Err(Fault::new(self.span_of(0), wanted("a quantity", one))),
                    _ => Err(Fault::new(self.span_of(1), wanted("a quantity", other))),
                };
            };
            Ok(match self.name {
                "exceeds" => Value::Truth(exceeds(&one, &other)),
                _ => near(&one, &other, share).map_or(Value::Missing, Value::Truth),
            })
        })
    }

    /// Returns the items of the only input as quantities, or `None` if an item is missing.
    fn curve(&self) -> Result<Option<Vec<Summary>>, Fault> {
        let Value::List(list) = self.one()? else {
            return Err(Fault::new(self.span_of(0), wanted("a list", self.one()?)));
        };
        let mut curve = Vec::new();
        for (_, item) in &list.items {
            match item {
                Value::Missing => return Ok(None),
                Value::Samples(samples) => match samples.summary() {
                    Some(summary) => curve.push(summary),
                    None => return Ok(None),
                },
                other => curve.push(self.quantity(0, other)?),
            }
        }
        Ok(Some(curve))
    }

    fn ordered(&self) -> Evaluated {
        let Some(curve) = self.curve()? else {
            return Ok(Value::Missing);
        };
        Ok(Value::Truth(match self.name {
            "grows" => grows(&curve),
            "rises" => rises(&curve),
            _ => rises(curve.iter().rev()),
        }))
    }

    /// Returns all numbers in the inputs, or `None` if a number is missing.
    fn numbers(&self) -> Result<Option<Vec<f64>>, Fault> {
        self.input(0)?;
        let mut numbers = Vec::new();
        for (n, input) in self.inputs.iter().enumerate() {
            for leaf in input.leaves() {
                match leaf {
                    Value::Number(number) => numbers.push(*number),
                    Value::Missing => return Ok(None),
                    other => {
                        let fault = Fault::new(self.span_of(n), wanted("numbers", other));
                        return Err(fault.help("use their `mean(…)`, `lower(…)` or `upper(…)`"));
                    }
                }
            }
        }
        Ok(Some(numbers))
    }

    fn of_numbers(&self) -> Evaluated {
        let Some(mut numbers) = self.numbers()? else {
            return Ok(Value::Missing);
        };
        let logarithms = || {
            numbers
                .iter()
                .map(|number| number.ln())
                .collect::<Vec<f64>>()
        };
        let of = match self.name {
            "sum" => Some(numbers.iter().sum()),
            "min" => numbers.iter().copied().reduce(f64::min),
            "max" => numbers.iter().copied().reduce(f64::max),
            "average" => mean(&numbers),
            "geomean" => mean(&logarithms()).map(f64::exp),
            "median" => quantile(&mut numbers, 0.5),
            "slope" => line(&numbers).map(|(_, slope)| slope),
            "off_line" => distances(&numbers, line(&numbers), |y| y)
                .map(|all| all.into_iter().fold(0.0, f64::max)),
            "line_squares" => squares(distances(&numbers, line(&numbers), |y| y)),
            _ => squares(distances(&numbers, line(&logarithms()), f64::exp)),
        };
        Ok(of.map_or(Value::Missing, Value::Number))
    }

    fn extreme(&self) -> Evaluated {
        let Value::List(list) = self.one()? else {
            return Err(Fault::new(self.span_of(0), wanted("a list", self.one()?)));
        };
        let largest = self.name.ends_with("largest");
        let mut best: Option<(f64, &(String, Value))> = None;
        for item in &list.items {
            let mean = match &item.1 {
                Value::Missing => continue,
                Value::Samples(samples) if samples.summary().is_none() => continue,
                other => self.quantity(0, other)?.mean,
            };
            let better = |so_far: f64| {
                if largest {
                    mean > so_far
                } else {
                    mean < so_far
                }
            };
            if best.is_none_or(|(so_far, _)| better(so_far)) {
                best = Some((mean, item));
            }
        }
        let Some((_, (name, value))) = best else {
            return Ok(Value::Missing);
        };
        Ok(match self.name {
            "largest" | "smallest" => value.clone(),
            _ => Value::Text(name.clone()),
        })
    }

    fn winners(&self) -> Evaluated {
        let lists = self.one()?.items();
        let items = lists
            .iter()
            .map(|(_, list)| list.items().len())
            .max()
            .unwrap_or(0);
        let mut won: Vec<usize> = Vec::new();
        for item in 0..items {
            let mut best: Option<(f64, usize)> = None;
            for (n, (_, list)) in lists.iter().enumerate() {
                let mean = list
                    .items()
                    .get(item)
                    .and_then(|(_, v)| v.summary())
                    .map(|s| s.mean);
                if let Some(mean) = mean
                    && best.is_none_or(|(so_far, _)| mean > so_far)
                {
                    best = Some((mean, n));
                }
            }
            let Some((_, n)) = best else {
                return Ok(Value::Missing);
            };
            won.push(n);
        }
        won.sort_unstable();
        won.dedup();
        let items = won
            .into_iter()
            .map(|n| (String::new(), Value::Text(lists[n].0.to_owned())));
        Ok(Value::List(List {
            kind: ListKind::Plain,
            items: items.collect(),
        }))
    }

    fn end(&self) -> Evaluated {
        let Value::List(list) = self.one()? else {
            return Err(Fault::new(self.span_of(0), wanted("a list", self.one()?)));
        };
        let end = if self.name == "first" {
            list.items.first()
        } else {
            list.items.last()
        };
        Ok(end.map_or(Value::Missing, |(_, value)| value.clone()))
    }

    fn join(&self) -> Value {
        let items = self.inputs.iter().flat_map(Value::items);
        let items = items.map(|(name, value)| (name.to_owned(), value.clone()));
        Value::List(List {
            kind: ListKind::Plain,
            items: items.collect(),
        })
    }

    /// Returns the samples of every quantity in the inputs, or `None` if a quantity is missing.
    fn samples(&self) -> Result<Option<Vec<&Samples>>, Fault> {
        self.input(0)?;
        let mut out = Vec::new();
        for (n, input) in self.inputs.iter().enumerate() {
            for leaf in input.leaves() {
                match leaf {
                    Value::Samples(samples) => out.push(samples),
                    Value::Missing => return Ok(None),
                    other => {
                        let message = wanted("a measure over the seeds", other);
                        return Err(Fault::new(self.span_of(n), message));
                    }
                }
            }
        }
        Ok(Some(out))
    }

    fn pool(&self) -> Evaluated {
        let Some(all) = self.samples()? else {
            return Ok(Value::Missing);
        };
        let pooled = all.into_iter().zip(0..).flat_map(|(Samples(samples), n)| {
            let keyed = samples.iter();
            keyed.map(move |(key, value)| ([&[n], key.as_slice()].concat(), *value))
        });
        Ok(Value::Samples(Samples(pooled.collect())))
    }

    fn by_seed(&self) -> Evaluated {
        let Some(all) = self.samples()? else {
            return Ok(Value::Missing);
        };
        let Some((first, rest)) = all.split_first() else {
            return Ok(Value::Missing);
        };
        let sum = rest
            .iter()
            .fold((*first).clone(), |sum, next| sum.paired(next, |a, b| a + b));
        let n = if self.name == "mean_by_seed" {
            all.len() as f64
        } else {
            1.0
        };
        Ok(Value::Samples(sum.map(|sum| sum / n)))
    }

    /// Combines the samples of all flows of each run. The keys of these samples differ only in the last part.
    fn by_run(&self) -> Evaluated {
        each_leaf(self.one()?, &mut |leaf| {
            let Value::Samples(Samples(all)) = leaf else {
                let message = wanted("a measure of every flow", leaf);
                return Err(Fault::new(self.span_of(0), message));
            };
            let run = |key: &[u64]| key[..key.len().saturating_sub(1)].to_vec();
            let runs = all.chunk_by(|(a, _), (b, _)| run(a) == run(b));
            let each = runs.filter_map(|flows| {
                let values: Vec<f64> = flows.iter().map(|(_, value)| *value).collect();
                let value = match self.name {
                    "mean_by_run" => mean(&values),
                    _ => jain_index(&values),
                };
                Some((run(&flows[0].0), value?))
            });
            Ok(Value::Samples(Samples(each.collect())))
        })
    }

    fn jain(&self) -> Evaluated {
        each_leaf(self.one()?, &mut |leaf| {
            let Value::Samples(Samples(all)) = leaf else {
                let message = wanted("a measure of every flow", leaf);
                return Err(Fault::new(self.span_of(0), message));
            };
            let values: Vec<f64> = all.iter().map(|(_, value)| *value).collect();
            Ok(jain_index(&values).map_or(Value::Missing, Value::Number))
        })
    }

    fn ratio_of_means(&self) -> Evaluated {
        self.takes(2)?;
        zip(self.input(0)?, self.input(1)?, self.span, &|over, under| {
            let (Some(over), Some(under)) = (over.summary(), under.summary()) else {
                return Ok(Value::Missing);
            };
            Ok(Value::Estimate(ratio_of_means(&over, &under)))
        })
    }

    fn value(&self) -> Evaluated {
        let key = match self.inputs.get(1) {
            None => None,
            Some(Value::Text(key)) => Some(key.as_str()),
            Some(other) => {
                return Err(Fault::new(
                    self.span_of(1),
                    wanted("a key in quotes", other),
                ));
            }
        };
        each_leaf(self.input(0)?, &mut |leaf| {
            let Value::Point(place) = leaf else {
                return Err(Fault::new(self.span_of(0), wanted("a point", leaf)));
            };
            let of_key = |known: &str| key.is_none_or(|key| is_key(known, key));
            let mut values = place.values.iter().filter(|(known, _)| of_key(known));
            match (values.next(), values.next()) {
                (Some((_, value)), None) => Ok(match number_in(value) {
                    Some(number) => Value::Number(number),
                    None => Value::Text(value.to_string()),
                }),
                (None, _) => {
                    let known = place.values.iter().map(|(known, _)| known.as_str());
                    let key = key.unwrap_or_default();
                    let fault = Fault::new(self.span_of(1), "the point does not set this key");
                    Err(fault.meant(key, known))
                }
                _ => Err(Fault::new(self.span, "the point sets several keys")
                    .help("name one in quotes: `value(p, \"loss\")`")),
            }
        })
    }

    /// Applies a mathematical function to each number or sample.
    fn plain(&self) -> Evaluated {
        let decimals = match self.name {
            "round" => {
                self.takes(2)?;
                self.number(1)?
            }
            _ => {
                self.takes(1)?;
                0.0
            }
        };
        let shift = 10_f64.powi(decimals as i32);
        let of = |x: f64| match self.name {
            "abs" => x.abs(),
            "round" => (x * shift).round() / shift,
            "ceil" => x.ceil(),
            "floor" => x.floor(),
            "ln" => x.ln(),
            "exp" => x.exp(),
            _ => x.sqrt(),
        };
        each_leaf(self.input(0)?, &mut |leaf| match leaf {
            Value::Number(number) => Ok(Value::Number(of(*number))),
            Value::Samples(samples) => {
                let moved = Value::Samples(samples.map(of));
                // The addition of 0 removes samples that are not finite.
                arithmetic(Operator::Plus, &moved, &Value::Number(0.0), self.span)
            }
            other => Err(Fault::new(self.span_of(0), wanted("a number", other))),
        })
    }
}

/// Returns a swept value as a number.
fn number_in(value: &SweepValue) -> Option<f64> {
    let number = scaled(value).map(|(number, _)| number);
    number.or_else(|| first_number(value))
}
