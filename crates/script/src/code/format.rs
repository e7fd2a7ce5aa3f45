//! String formatting: `'%d' % value`.

use super::evaluate::Error;
use super::value::{Number, Value};

/// Formats values like Python's `%` operator, for the conversions that scripts use.
pub(super) fn format(text: &str, values: &Value) -> Result<String, Error> {
    let wrong = |message: &str| Error::Wrong(message.to_owned());
    let mut values = match values {
        Value::Tuple(items) => items.clone(),
        single => vec![single.clone()],
    }
    .into_iter();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-')
            .ok_or_else(|| wrong("the format ends in `%`"))?;
        let (width, after) = rest.split_at(end);
        let mut after = after.chars();
        let conversion = after
            .next()
            .ok_or_else(|| wrong("the format ends in `%`"))?;
        rest = after.as_str();
        if conversion == '%' {
            out.push('%');
            continue;
        }
        let value = values
            .next()
            .ok_or_else(|| wrong("the format has more places than values"))?;
        out.push_str(&converted(width, conversion, &value)?);
    }
    out.push_str(rest);
    match values.next() {
        None => Ok(out),
        Some(_) => Err(wrong("the format has fewer places than values")),
    }
}

fn converted(width: &str, conversion: char, value: &Value) -> Result<String, Error> {
    let number = || {
        value
            .number()
            .ok_or_else(|| Error::Wrong(format!("the format `%{conversion}` needs a number")))
    };
    let places = match width.split_once('.') {
        // A precision above 65,535 is rejected, because Rust's formatter does not support it.
        Some((_, places)) => places
            .parse::<u16>()
            .map_err(|_| beyond(width, conversion))?,
        None if width.is_empty() => 6,
        None => return Err(beyond(width, conversion)),
    };
    match conversion {
        'd' | 'i' | 'u' => Ok(match number()? {
            Number::Int(int) => int.to_string(),
            Number::Float(float) => (float.trunc() as i64).to_string(),
        }),
        'f' => Ok(format!("{:.1$}", number()?.as_f64(), usize::from(places))),
        'x' => match number()? {
            Number::Int(int) => Ok(format!("{int:x}")),
            Number::Float(_) => Err(beyond(width, conversion)),
        },
        's' => Ok(value.shown()),
        'r' => Ok(value.represented()),
        _ => Err(beyond(width, conversion)),
    }
}

fn beyond(width: &str, conversion: char) -> Error {
    Error::Beyond(format!("the format `%{width}{conversion}`"))
}
