//! Conversion of the return value of a method to the type that the endpoint expects.

use dupack_tcp::time::Instant;
use dupack_tcp::window;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyTuple};

use super::values::Window;

/// Reason why a return value is rejected.
#[derive(Debug)]
pub enum Wrong {
    /// The value does not have the type that this text describes.
    Expected(String),
    /// Python raised an exception.
    Raised(PyErr),
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// A converted return value, or the reason why it is rejected.
pub type Read<T> = Result<T, Wrong>;

/// Rejects a return value; `what` describes the expected value.
pub fn expected<T>(what: impl Into<String>) -> Read<T> {
    Err(Wrong::Expected(what.into()))
}

/// Meaning of a plain number if a window is expected.
#[derive(Clone, Copy, Debug)]
pub enum Plain {
    /// The number is the congestion window. The slow start threshold is unchanged.
    Cwnd {
        /// The slow start threshold.
        ssthresh: f64,
    },
    /// The number is both the congestion window and the slow start threshold.
    Both,
    /// A number is rejected: the return value must be a window.
    Refused,
}

/// Reads a window.
pub fn window(answer: &Bound<'_, PyAny>, plain: Plain) -> Read<window::Window> {
    if let Some(number) = number_of(answer)? {
        return match plain {
            Plain::Cwnd { ssthresh } => sane(number, ssthresh, plain),
            Plain::Both => sane(number, number, plain),
            Plain::Refused => expected(words(plain)),
        };
    }
    if let Ok(window) = answer.cast::<Window>() {
        let window = window.get().0;
        return sane(window.cwnd, window.ssthresh, plain);
    }
    if let Ok(pair) = answer.cast::<PyTuple>()
        && pair.len() == 2
        && let (Some(cwnd), Some(ssthresh)) = (
            number_of(&pair.get_item(0)?)?,
            number_of(&pair.get_item(1)?)?,
        )
    {
        return sane(cwnd, ssthresh, plain);
    }
    expected(words(plain))
}

/// Creates a window if both numbers are valid.
fn sane(cwnd: f64, ssthresh: f64, plain: Plain) -> Read<window::Window> {
    if !cwnd.is_finite() || ssthresh.is_nan() {
        return expected(format!(
            "{}, with a finite cwnd and a ssthresh that is not NaN",
            words(plain)
        ));
    }
    Ok(window::Window { cwnd, ssthresh })
}

/// Returns a description of the expected window.
const fn words(plain: Plain) -> &'static str {
    match plain {
        Plain::Cwnd { .. } => {
            "a window: a dupack.Window(cwnd, ssthresh), a pair of numbers, or a number (cwnd in bytes)"
        }
        Plain::Both => {
            "a window: a dupack.Window(cwnd, ssthresh), a pair of numbers, or a number (both, in bytes)"
        }
        Plain::Refused => {
            "a window: a dupack.Window(cwnd, ssthresh), or a pair of numbers, in bytes"
        }
    }
}

/// Returns the value of a real number; a `bool` is not a number.
fn number_of(answer: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if let Ok(number) = answer.cast_exact::<PyFloat>() {
        return Ok(Some(number.value()));
    }
    if answer.is_instance_of::<PyBool>() || answer.is_none() {
        return Ok(None);
    }
    // Integers and NumPy numbers are extracted here.
    match answer.extract::<f64>() {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(answer.py()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads a real number that is not NaN.
pub fn real(answer: &Bound<'_, PyAny>, what: &str) -> Read<f64> {
    match number_of(answer)? {
        Some(number) if !number.is_nan() => Ok(number),
        _ => expected(what),
    }
}

/// Reads a real number or `None`.
pub fn some_real(answer: &Bound<'_, PyAny>, what: &str) -> Read<Option<f64>> {
    match answer.is_none() {
        true => Ok(None),
        false => real(answer, what).map(Some),
    }
}

/// Reads a number of bytes.
pub fn bytes(answer: &Bound<'_, PyAny>) -> Read<u64> {
    let what = "a whole number of bytes, 0 or more (an int)";
    if answer.is_instance_of::<PyBool>() {
        return expected(what);
    }
    answer.extract::<u64>().or_else(|_| expected(what))
}

/// Reads an integer, which may be negative.
pub fn whole(answer: &Bound<'_, PyAny>) -> Read<i64> {
    let what = "a whole number (an int)";
    if answer.is_instance_of::<PyBool>() {
        return expected(what);
    }
    answer.extract::<i64>().or_else(|_| expected(what))
}

/// Reads a point in time in seconds, or `None`.
pub fn some_time(answer: &Bound<'_, PyAny>) -> Read<Option<Instant>> {
    let what = "a time in seconds since the start of the run, or None";
    let Some(seconds) = some_real(answer, what)? else {
        return Ok(None);
    };
    if !(0.0..=TIME_MOST).contains(&seconds) {
        return expected(what);
    }
    // The time is rounded to the nearest nanosecond. So a time that was converted from nanoseconds is exact again, for
    // runs of up to some weeks.
    Ok(Some(Instant::from_nanos((seconds * 1e9).round() as u64)))
}

/// Maximum time, in seconds: half of the range of an [`Instant`], which is longer than any run.
const TIME_MOST: f64 = 9.2e9;

/// Accepts any value, for a method whose return value is ignored.
pub fn nothing(_: &Bound<'_, PyAny>) -> Read<()> {
    Ok(())
}
