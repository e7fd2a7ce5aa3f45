//! Evaluation of expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Lookup;
use super::format::format as formatted;
use super::parse::{Expression, Statement};
use super::value::{Number, Value};
use crate::parse::DEEPEST;

/// Reasons why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Error {
    /// The expression is also an error in Python.
    Wrong(String),
    /// The expression is valid in Python but not supported here.
    Beyond(String),
}

type Evaluated = Result<Value, Error>;

/// Variables and endpoint state that a statement can use.
pub(super) struct Evaluation<'e> {
    variables: &'e BTreeMap<String, Value>,
    state: &'e dyn Fn(&str) -> Lookup,
    print: fn(&str),
}

impl<'e> Evaluation<'e> {
    pub(super) const fn new(
        variables: &'e BTreeMap<String, Value>,
        state: &'e dyn Fn(&str) -> Lookup,
        print: fn(&str),
    ) -> Self {
        Self {
            variables,
            state,
            print,
        }
    }

    /// Executes a statement. Returns the variable and the value if it is an assignment.
    pub(super) fn execute(&self, statement: &Statement) -> Result<Option<(String, Value)>, Error> {
        match statement {
            Statement::Assign(name, value) => Ok(Some((name.clone(), self.value(value)?))),
            Statement::Evaluate(expression) => self.value(expression).map(|_| None),
            Statement::Assert(condition, message) => {
                if self.value(condition)?.is_true() {
                    return Ok(None);
                }
                let said = match message {
                    Some(message) => format!("assertion failed: {}", self.value(message)?.shown()),
                    None => "assertion failed".to_owned(),
                };
                Err(Error::Wrong(said))
            }
        }
    }

    fn value(&self, expression: &Expression) -> Evaluated {
        match expression {
            Expression::Int(int) => Ok(Value::Int(*int)),
            Expression::Float(float) => Ok(Value::Float(*float)),
            Expression::Text(text) => Ok(Value::Text(text.clone())),
            Expression::Name(name) => self.name(name),
            Expression::Tuple(items) => self.values(items).map(Value::Tuple).and_then(bounded),
            Expression::Not(one) => Ok(Value::Bool(!self.value(one)?.is_true())),
            Expression::Sign(sign, one) => signed(*sign, &self.value(one)?),
            Expression::Arithmetic(first, rest) => {
                let mut left = self.value(first)?;
                for (sign, right) in rest {
                    left = arithmetic(&left, sign, &self.value(right)?)?;
                }
                Ok(left)
            }
            Expression::And(parts) => self.first(parts, |value| !value.is_true()),
            Expression::Or(parts) => self.first(parts, Value::is_true),
            Expression::Compare(first, rest) => self.compare(first, rest),
            Expression::Call(name, arguments) => self.call(name, arguments),
        }
    }

    fn values(&self, expressions: &[Expression]) -> Result<Vec<Value>, Error> {
        expressions.iter().map(|e| self.value(e)).collect()
    }

    fn name(&self, name: &str) -> Evaluated {
        match name {
            "True" => return Ok(Value::Bool(true)),
            "False" => return Ok(Value::Bool(false)),
            "None" => return Ok(Value::None),
            _ => {}
        }
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        match (self.state)(name) {
            Lookup::Is(value) => Ok(value),
            Lookup::Beyond(reason) => Err(Error::Beyond(reason)),
            Lookup::Wrong(message) => Err(Error::Wrong(message)),
            Lookup::Unknown => Err(Error::Wrong(format!("unknown name `{name}`"))),
        }
    }

    /// Evaluates `parts` in order. Returns the first value for which `ends` returns `true`, or else the last value.
    fn first(&self, parts: &[Expression], ends: impl Fn(&Value) -> bool) -> Evaluated {
        let mut last = Value::None;
        for part in parts {
            last = self.value(part)?;
            if ends(&last) {
                break;
            }
        }
        Ok(last)
    }

    fn compare(&self, first: &Expression, rest: &[(&'static str, Expression)]) -> Evaluated {
        let mut left = self.value(first)?;
        for (sign, right) in rest {
            let right = self.value(right)?;
            if !compared(&left, sign, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn call(&self, name: &str, arguments: &[Expression]) -> Evaluated {
        let mut values = self.values(arguments)?;
        if let ("min" | "max", [Value::Tuple(items)]) = (name, &values[..]) {
            values = items.clone();
        }
        let extreme = |wanted: Ordering| {
            let mut values = values.iter();
            let mut best = values
                .next()
                .ok_or_else(|| Error::Wrong(format!("`{name}` needs at least one value")))?;
            for value in values {
                if value.order(best) == Some(wanted) {
                    best = value;
                }
            }
            Ok(best.clone())
        };
        match (name, &values[..]) {
            ("print", _) => {
                let shown: Vec<String> = values.iter().map(Value::shown).collect();
                (self.print)(&shown.join(" "));
                Ok(Value::None)
            }
            ("min", _) => extreme(Ordering::Less),
            ("max", _) => extreme(Ordering::Greater),
            ("abs", [one]) => match one.number() {
                Some(Number::Int(int)) => int.checked_abs().map(Value::Int).ok_or_else(too_large),
                Some(Number::Float(float)) => Ok(Value::Float(float.abs())),
                None => Err(not_numbers("abs")),
            },
            ("int", [Value::Text(text)]) => read_int(text),
            ("int", [one]) => match one.number() {
                Some(Number::Int(int)) => Ok(Value::Int(int)),
                Some(Number::Float(float)) => Ok(Value::Int(float.trunc() as i64)),
                None => Err(not_numbers("int")),
            },
            ("round", [one]) => match one.number() {
                Some(Number::Int(int)) => Ok(Value::Int(int)),
                Some(Number::Float(float)) => Ok(Value::Int(float.round_ties_even() as i64)),
                None => Err(not_numbers("round")),
            },
            ("float", [Value::Text(text)]) => read_float(text),
            ("float", [one]) => match one.number() {
                Some(number) => Ok(Value::Float(number.as_f64())),
                None => Err(not_numbers("float")),
            },
            ("str", [one]) => Ok(Value::Text(one.shown())),
            _ => Err(Error::Beyond(format!("Python's `{name}`"))),
        }
    }
}

fn compared(left: &Value, sign: &str, right: &Value) -> Result<bool, Error> {
    let order = left.order(right);
    Ok(match sign {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        _ => {
            let order = order.ok_or_else(|| not_numbers(sign))?;
            match sign {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }
        }
    })
}

fn signed(sign: char, value: &Value) -> Evaluated {
    match (sign, value.number()) {
        ('-', Some(Number::Int(int))) => int.checked_neg().map(Value::Int).ok_or_else(too_large),
        ('-', Some(Number::Float(float))) => Ok(Value::Float(-float)),
        (_, Some(Number::Int(int))) => Ok(Value::Int(!int)),
        _ => Err(not_numbers(&sign.to_string())),
    }
}

fn arithmetic(left: &Value, sign: &str, right: &Value) -> Evaluated {
    if let (Value::Text(text), "%") = (left, sign) {
        return formatted(text, right).map(Value::Text).and_then(bounded);
    }
    if let (Value::Text(one), "+", Value::Text(two)) = (left, sign, right) {
        return bounded(Value::Text(format!("{one}{two}")));
    }
    let (Some(left), Some(right)) = (left.number(), right.number()) else {
        return Err(not_numbers(sign));
    };
    match (left, right) {
        (Number::Int(left), Number::Int(right)) if sign != "/" => whole(left, sign, right),
        _ => real(left.as_f64(), sign, right.as_f64()),
    }
}

fn whole(left: i64, sign: &str, right: i64) -> Evaluated {
    if matches!(sign, "//" | "%") && right == 0 {
        return Err(Error::Wrong("division by zero".to_owned()));
    }
    let shift = || match right < 0 {
        true => Err(Error::Wrong(format!(
            "`{sign}` by the negative number {right}"
        ))),
        false => u32::try_from(right).map_err(|_| too_large()),
    };
    let result = match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        // Python rounds the quotient down, and the remainder has the sign of the divisor.
        "//" => left.checked_div_euclid(right).map(|quotient| {
            if right < 0 && left.rem_euclid(right) != 0 {
                quotient - 1
            } else {
                quotient
            }
        }),
        "%" => left.checked_rem(right).map(|rest| {
            if rest != 0 && (rest < 0) != (right < 0) {
                rest + right
            } else {
                rest
            }
        }),
        // With a negative exponent, the result is a real number in Python.
        "**" if right < 0 => return power(left as f64, right as f64),
        "**" => left.checked_pow(shift()?),
        "<<" => match shift()? {
            by @ 0..=63 => i64::try_from(i128::from(left) << by).ok(),
            _ => (left == 0).then_some(0),
        },
        ">>" => Some(left >> shift()?.min(63)),
        "&" => Some(left & right),
        "|" => Some(left | right),
        _ => Some(left ^ right),
    };
    result.map(Value::Int).ok_or_else(too_large)
}

fn real(left: f64, sign: &str, right: f64) -> Evaluated {
    if matches!(sign, "/" | "//" | "%") && right == 0.0 {
        return Err(Error::Wrong("division by zero".to_owned()));
    }
    Ok(Number::Float(match sign {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "//" => (left / right).floor(),
        "%" => left - right * (left / right).floor(),
        "**" => return power(left, right),
        _ => return Err(not_numbers(sign)),
    })
    .value())
}

/// Returns `base ** exponent` of real numbers.
fn power(base: f64, exponent: f64) -> Evaluated {
    if base == 0.0 && exponent < 0.0 {
        return Err(Error::Wrong("zero to a negative power".to_owned()));
    }
    if base < 0.0 && exponent.fract() != 0.0 {
        return Err(Error::Beyond("complex numbers".to_owned()));
    }
    let result = base.powf(exponent);
    match result.is_infinite() && base.is_finite() && exponent.is_finite() {
        true => Err(Error::Wrong(format!("{base} ** {exponent} is too large"))),
        false => Ok(Value::Float(result)),
    }
}

/// Evaluates `int('7')`.
fn read_int(text: &str) -> Evaluated {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let read = text.trim().parse::<i64>();
    read.map(Value::Int).map_err(|error| match error.kind() {
        PosOverflow | NegOverflow => too_large(),
        _ => Error::Wrong(format!("`int('{text}')` is not a whole number")),
    })
}

/// Evaluates `float('7.5')`.
fn read_float(text: &str) -> Evaluated {
    let read = text.trim().parse().map(Value::Float);
    read.map_err(|_| Error::Wrong(format!("`float('{text}')` is not a number")))
}

/// Limits the size of a value, because repeating `x = x, x` would fill any memory, and nested values are walked
/// recursively.
fn bounded(value: Value) -> Evaluated {
    let (parts, depth) = value.extent();
    match parts <= MOST_PARTS && depth <= DEEPEST {
        true => Ok(value),
        false => Err(Error::Beyond(format!(
            "values with more than {MOST_PARTS} parts or {DEEPEST} levels"
        ))),
    }
}

/// Maximum number of numbers and characters in a value.
const MOST_PARTS: usize = 10_000;

fn too_large() -> Error {
    Error::Beyond("numbers of more than 64 bits".to_owned())
}

fn not_numbers(sign: &str) -> Error {
    Error::Wrong(format!("`{sign}` does not apply to these values"))
}
