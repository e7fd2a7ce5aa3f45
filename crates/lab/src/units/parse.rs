//! Exact parsing and printing of numbers with units, with descriptions of errors.

use std::fmt;

use thiserror::Error;

/// Error in the text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{}` {problem}: write {}", shown(.text), legible(.remedy))]
pub struct UnitError {
    /// The invalid text.
    pub text: String,
    /// The problem.
    pub problem: Problem,
    /// Suggested text, as specific as possible.
    pub remedy: String,
}

/// Problem with the text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Empty or blank.
    Empty,
    /// No number at the beginning.
    NotANumber,
    /// A number without the necessary unit.
    NoUnit,
    /// A rate without "per second".
    NoTimeUnit,
    /// A prefix without the `B` for bytes.
    NoByteSign,
    /// Bytes instead of bits.
    CountsBytes,
    /// Bits instead of bytes.
    CountsBits,
    /// An ambiguous unit.
    Ambiguous,
    /// A unit that this quantity does not have.
    UnknownUnit(String),
    /// A comma instead of a decimal point: `1,5`.
    DecimalComma,
    /// An exponent (`1e3`) where only plain decimals are accepted.
    Exponent,
    /// A negative number.
    Negative,
    /// A number above the maximum of the quantity.
    TooLarge,
    /// A number finer than the resolution of the quantity.
    TooFine,
    /// A bare number that may be a fraction or a percentage.
    ShareOrPercentage,
    /// A fraction above one.
    AboveOne,
    /// A percentage above one hundred.
    AboveHundredPercent,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::NotANumber => "does not begin with a number",
            Self::NoUnit => "has no unit",
            Self::NoTimeUnit => "has no time unit",
            Self::NoByteSign => "does not say that it counts bytes",
            Self::CountsBytes => "counts bytes, not bits",
            Self::CountsBits => "counts bits, not bytes",
            Self::Ambiguous => "is ambiguous",
            Self::UnknownUnit(unit) => {
                return write!(f, "has the unknown unit `{}`", shown(unit));
            }
            Self::DecimalComma => "has a comma in its number",
            Self::Exponent => "has an exponent",
            Self::Negative => "is negative",
            Self::TooLarge => "is too large",
            Self::TooFine => "is finer than the resolution",
            Self::ShareOrPercentage => "could be a fraction or a percentage",
            Self::AboveOne => "is above 1",
            Self::AboveHundredPercent => "is above 100%",
        })
    }
}

impl UnitError {
    pub(super) fn new(text: &str, problem: Problem, remedy: impl Into<String>) -> Self {
        Self {
            text: text.to_owned(),
            problem,
            remedy: remedy.into(),
        }
    }
}

/// Shortens and escapes text for messages, because it may be malicious or pasted by mistake.
fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut shown: String = text
        .chars()
        .take(CHARS_MAX)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Shortens and escapes a suggestion, because it repeats parts of the text.
fn legible(remedy: &str) -> String {
    const CHARS_MAX: usize = 80;
    remedy
        .chars()
        .filter(|c| !c.is_control())
        .take(CHARS_MAX)
        .collect()
}

/// Unit of a family, with its value in the base unit.
pub(super) struct Unit {
    pub(super) name: &'static str,
    factor: u64,
    /// `true` if `Display` may use the unit.
    printed: bool,
}

impl Unit {
    pub(super) const fn new(name: &'static str, factor: u64) -> Self {
        Self {
            name,
            factor,
            printed: true,
        }
    }

    /// Creates a unit that is parsed but never printed.
    pub(super) const fn alias(name: &'static str, factor: u64) -> Self {
        Self {
            name,
            factor,
            printed: false,
        }
    }
}

/// Units of a quantity, and the explanations of its errors.
pub(super) struct Family {
    pub(super) units: &'static [Unit],
    /// Suggested unit if the text gives no hint.
    pub(super) default_unit: &'static str,
    /// Suggested unit for a bare number.
    pub(super) bare_unit: &'static str,
    /// Resolution of the quantity, for messages.
    pub(super) finest: &'static str,
    /// `true` if a bare `0` is ambiguous.
    pub(super) zero_needs_unit: bool,
    /// Recognises common mistakes in a number and its unit, and returns the problem and the suggestion.
    pub(super) diagnose: fn(&str, &str) -> Option<(Problem, String)>,
}

/// A plain decimal, split at its decimal point.
struct Decimal<'t> {
    whole: &'t str,
    fraction: &'t str,
}

impl Family {
    /// Parses `text` to a value in the base unit.
    pub(super) fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let example = || format!("for example 10{}", self.default_unit);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(UnitError::new(text, Problem::Empty, example()));
        }
        if let Some(positive) = trimmed.strip_prefix(['-', '\u{2212}']) {
            let remedy = if self.parse(positive).is_ok() {
                positive.to_owned()
            } else {
                example()
            };
            return Err(UnitError::new(text, Problem::Negative, remedy));
        }
        let (number, unit) = split(trimmed);
        let Some(decimal) = Decimal::read(number) else {
            return Err(UnitError::new(text, Problem::NotANumber, example()));
        };
        if unit.is_empty() {
            if decimal.is_zero() && !self.zero_needs_unit {
                return Ok(0);
            }
            let remedy = format!("{number}{}", self.bare_unit);
            return Err(UnitError::new(text, Problem::NoUnit, remedy));
        }
        match self.units.iter().find(|known| known.name == unit) {
            Some(known) => decimal.times(known.factor).map_err(|problem| {
                let remedy = match problem {
                    Problem::TooFine => format!("a multiple of {}", self.finest),
                    _ => format!("at most {}", self.print(u64::MAX)),
                };
                UnitError::new(text, problem, remedy)
            }),
            None => Err(self.explain(text, number, unit)),
        }
    }

    /// Returns the error for a unit outside the family.
    fn explain(&self, text: &str, number: &str, unit: &str) -> UnitError {
        if let Some((fraction, rest)) = unit.strip_prefix(',').map(split)
            && !fraction.is_empty()
        {
            let unit = if rest.is_empty() {
                self.default_unit
            } else {
                rest
            };
            let remedy = format!("{number}.{fraction}{unit}");
            return UnitError::new(text, Problem::DecimalComma, remedy);
        }
        let exponent = unit.strip_prefix(['e', 'E']).unwrap_or_default();
        if exponent
            .trim_start_matches(['+', '-'])
            .starts_with(|c: char| c.is_ascii_digit())
        {
            let remedy = format!("plain digits, for example 10{}", self.default_unit);
            return UnitError::new(text, Problem::Exponent, remedy);
        }
        if let Some((problem, remedy)) = (self.diagnose)(number, unit) {
            return UnitError::new(text, problem, remedy);
        }
        let meant = nearest(unit, self.units.iter()).unwrap_or(self.default_unit);
        UnitError::new(
            text,
            Problem::UnknownUnit(unit.to_owned()),
            format!("{number}{meant}"),
        )
    }

    /// Returns the shortest exact text for `value`. Of two texts with equal length, the text with the larger unit is
    /// used. Texts that begin with `0.` are never used, because they are hard to read.
    pub(super) fn print(&self, value: u64) -> String {
        self.units
            .iter()
            .filter(|unit| unit.printed && (value >= unit.factor || unit.factor == 1))
            .map(|unit| {
                (
                    unit.factor,
                    format!("{}{}", quotient(value, unit.factor), unit.name),
                )
            })
            .min_by_key(|(factor, text)| (text.len(), u64::MAX - factor))
            .map_or_else(String::new, |(_, text)| text)
    }
}

impl<'t> Decimal<'t> {
    /// Splits a decimal with at most one point, and drops insignificant zeros.
    fn read(number: &'t str) -> Option<Self> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let any = !(whole.is_empty() && fraction.is_empty());
        (any && digits(whole) && digits(fraction)).then(|| Self {
            whole: whole.trim_start_matches('0'),
            fraction: fraction.trim_end_matches('0'),
        })
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// Multiplies the decimal by `factor`. The result must be a whole number that fits into `u64`.
    fn times(&self, factor: u64) -> Result<u64, Problem> {
        // A `u64` has at most 20 digits. With more than 20 decimals, only a value in GiB or TiB could be exact; it is
        // rejected, too.
        const WHOLE_DIGITS_MAX: usize = 20;
        const FRACTION_DIGITS_MAX: usize = 20;
        if self.whole.len() > WHOLE_DIGITS_MAX {
            return Err(Problem::TooLarge);
        }
        if self.fraction.len() > FRACTION_DIGITS_MAX {
            return Err(Problem::TooFine);
        }
        let factor = u128::from(factor);
        let number = |digits: &str| {
            digits
                .bytes()
                .fold(0, |n: u128, b| n * 10 + u128::from(b - b'0'))
        };
        let denominator = 10_u128.pow(self.fraction.len() as u32);
        let scaled = number(self.fraction)
            .checked_mul(factor)
            .ok_or(Problem::TooFine)?;
        if scaled % denominator != 0 {
            return Err(Problem::TooFine);
        }
        number(self.whole)
            .checked_mul(factor)
            .and_then(|whole| whole.checked_add(scaled / denominator))
            .and_then(|value| u64::try_from(value).ok())
            .ok_or(Problem::TooLarge)
    }
}

/// Splits a text into its leading number and the remaining text.
fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// Returns the number at the start of `text` as written, or `10` if there is none.
pub(super) fn number_of(text: &str) -> &str {
    match split(text.trim()).0 {
        "" => "10",
        number => number,
    }
}

/// Returns the text after the number.
pub(super) fn unit_of(text: &str) -> &str {
    split(text.trim()).1
}

/// Returns the unit that `given` most likely stands for.
pub(super) fn nearest<'u>(
    given: &str,
    units: impl Iterator<Item = &'u Unit> + Clone,
) -> Option<&'static str> {
    // The cost of the edit distance is quadratic, and long text is not a typing error.
    if given.is_empty() || given.len() > 16 {
        return None;
    }
    let same = units
        .clone()
        .find(|unit| unit.name.eq_ignore_ascii_case(given));
    let close = || {
        units
            .map(|unit| (strsim::damerau_levenshtein(unit.name, given), unit))
            .filter(|&(distance, unit)| distance <= 2 && distance < unit.name.chars().count())
            .min_by_key(|&(distance, _)| distance)
            .map(|(_, unit)| unit)
    };
    same.or_else(close).map(|unit| unit.name)
}

/// Returns `value / factor` as an exact decimal. Every factor is of the form 2ᵃ·5ᵇ, so the decimal is finite.
fn quotient(value: u64, factor: u64) -> String {
    let mut text = (value / factor).to_string();
    let mut rest = u128::from(value % factor);
    if rest > 0 {
        text.push('.');
    }
    while rest > 0 {
        rest *= 10;
        text.push(char::from(b'0' + (rest / u128::from(factor)) as u8));
        rest %= u128::from(factor);
    }
    text
}

/// Parses a percentage or a bare fraction.
pub(super) fn probability(text: &str) -> Result<f64, UnitError> {
    let error = |problem, remedy: &str| Err(UnitError::new(text, problem, remedy));
    let trimmed = text.trim();
    let (number, percent) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (trimmed, false),
    };
    if trimmed.is_empty() {
        return error(Problem::Empty, "a percentage, for example \"1%\"");
    }
    if number.contains(',') {
        return error(
            Problem::DecimalComma,
            &format!("\"{}\"", trimmed.replace(',', ".")),
        );
    }
    // Rust parses `inf` and `nan` as numbers, but these are not valid here.
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
        && !number.starts_with('+');
    // The decimal point is shifted in the text, so that `0.1%` gives the double that is nearest to 0.001.
    let fraction = match (plain, percent) {
        (false, _) => None,
        (true, false) => number.parse::<f64>().ok(),
        (true, true) => percent_to_fraction(number),
    };
    let Some(fraction) = fraction else {
        let unit = unit_of(trimmed);
        if !unit.is_empty()
            && number_of(trimmed).parse::<f64>().is_ok()
            && !unit.starts_with(['e', 'E'])
        {
            let remedy = format!("\"{}%\"", number_of(trimmed));
            return error(Problem::UnknownUnit(unit.to_owned()), &remedy);
        }
        return error(Problem::NotANumber, "a percentage, for example \"1%\"");
    };
    if (0.0..=1.0).contains(&fraction) && !number.starts_with('-') {
        // A number with an exponent is never meant as a percentage.
        if !percent && fraction > 0.0 && !number.contains(['e', 'E']) {
            let remedy = format!("{} or {number}%", print_probability(fraction));
            return error(Problem::ShareOrPercentage, &remedy);
        }
        return Ok(fraction);
    }
    if number.starts_with('-') {
        let positive = number.trim_start_matches('-');
        return match probability(trimmed.trim_start_matches('-')) {
            Ok(_) if percent => error(Problem::Negative, &format!("\"{positive}%\"")),
            _ => error(Problem::Negative, "a percentage, for example \"1%\""),
        };
    }
    if percent && fraction > 1.0 {
        return error(Problem::AboveHundredPercent, "at most \"100%\"");
    }
    Err(bad_fraction(text, fraction))
}

fn percent_to_fraction(number: &str) -> Option<f64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(2)?;
    format!("{mantissa}e{exponent}").parse().ok()
}

/// Returns the error for `fraction`, parsed from `text`, that is not a probability.
pub(super) fn bad_fraction(text: &str, fraction: f64) -> UnitError {
    let fine = "a percentage, for example \"1%\"";
    if fraction.is_nan() {
        UnitError::new(text, Problem::NotANumber, fine)
    } else if fraction <= 0.0 {
        UnitError::new(text, Problem::Negative, fine)
    } else if fraction <= 100.0 {
        UnitError::new(text, Problem::AboveOne, format!("\"{}%\"", text.trim()))
    } else {
        UnitError::new(text, Problem::AboveOne, fine)
    }
}

/// Formats a percentage if that is readable, and a number with an exponent below one in a million.
pub(super) fn print_probability(fraction: f64) -> String {
    const PERCENT_MIN: f64 = 1e-6;
    if fraction != 0.0 && fraction < PERCENT_MIN {
        return format!("{fraction:e}");
    }
    // `{:e}` gives the shortest digits that parse to the same value. Their decimal point is shifted by two places.
    let scientific = format!("{fraction:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent.parse::<i32>().unwrap_or(0) + 3;
    let text = if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else {
        let whole = point.unsigned_abs() as usize;
        let padded = format!("{digits:0<whole$}");
        let (whole, fraction) = padded.split_at(whole);
        if fraction.is_empty() {
            whole.to_owned()
        } else {
            format!("{whole}.{fraction}")
        }
    };
    let text = if fraction == 0.0 { "0" } else { &text };
    format!("{text}%")
}
