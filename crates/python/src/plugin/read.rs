//! What a method gave back, as the endpoint takes it: or what it should have given.

use dupack_tcp::time::Instant;
use dupack_tcp::window;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyTuple};

use super::values::Window;

/// Why an answer is not taken.
#[derive(Debug)]
pub enum Wrong {
    /// It is not what this says.
    Expected(String),
    /// Python raised an exception.
    Raised(PyErr),
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// An answer, or why it is not taken.
pub type Read<T> = Result<T, Wrong>;

/// The answer should have been `what`.
pub fn expected<T>(what: impl Into<String>) -> Read<T> {
    Err(Wrong::Expected(what.into()))
}

/// What a number alone means where a window is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Plain {
    /// The congestion window, and this threshold stays.
    Cwnd {
        /// The slow start threshold.
        ssthresh: f64,
    },
    /// Both.
    Both,
    /// Nothing: it must be a window.
    Refused,
}

/// A window.
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

/// The window of these two, if they are numbers that a window may have.
fn sane(cwnd: f64, ssthresh: f64, plain: Plain) -> Read<window::Window> {
    if !cwnd.is_finite() || ssthresh.is_nan() {
        return expected(format!(
            "{}, with a finite cwnd and a ssthresh that is no NaN",
            words(plain)
        ));
    }
    Ok(window::Window { cwnd, ssthresh })
}

/// What is taken for a window, in words.
const fn words(plain: Plain) -> &'static str {
    match plain {
        Plain::Cwnd { .. } => {
            "a window: a dupack.Window(cwnd, ssthresh), a pair of numbers, or a number, which is cwnd in bytes"
        }
        Plain::Both => {
            "a window: a dupack.Window(cwnd, ssthresh), a pair of numbers, or a number, which is both in bytes"
        }
        Plain::Refused => {
            "a window: a dupack.Window(cwnd, ssthresh), or a pair of numbers, in bytes"
        }
    }
}

/// A real number, if it is one; a switch is none.
fn number_of(answer: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if let Ok(number) = answer.cast_exact::<PyFloat>() {
        return Ok(Some(number.value()));
    }
    if answer.is_instance_of::<PyBool>() || answer.is_none() {
        return Ok(None);
    }
    // Whole numbers, and what NumPy has.
    match answer.extract::<f64>() {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(answer.py()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A real number that is no NaN.
pub fn real(answer: &Bound<'_, PyAny>, what: &str) -> Read<f64> {
    match number_of(answer)? {
        Some(number) if !number.is_nan() => Ok(number),
        _ => expected(what),
    }
}

/// A real number, or `None`.
pub fn some_real(answer: &Bound<'_, PyAny>, what: &str) -> Read<Option<f64>> {
    match answer.is_none() {
        true => Ok(None),
        false => real(answer, what).map(Some),
    }
}

/// A count of bytes.
pub fn bytes(answer: &Bound<'_, PyAny>) -> Read<u64> {
    let what = "a whole number of bytes, 0 or more (an int)";
    if answer.is_instance_of::<PyBool>() {
        return expected(what);
    }
    answer.extract::<u64>().or_else(|_| expected(what))
}

/// A whole number, which may be below zero.
pub fn whole(answer: &Bound<'_, PyAny>) -> Read<i64> {
    let what = "a whole number (an int)";
    if answer.is_instance_of::<PyBool>() {
        return expected(what);
    }
    answer.extract::<i64>().or_else(|_| expected(what))
}

/// A point in time in seconds, or `None`.
pub fn some_time(answer: &Bound<'_, PyAny>) -> Read<Option<Instant>> {
    let what = "a time in seconds since the start of the run, or None";
    let Some(seconds) = some_real(answer, what)? else {
        return Ok(None);
    };
    if !(0.0..=TIME_MOST).contains(&seconds) {
        return expected(what);
    }
    // To the nearest: what came from nanoseconds is the same again, for runs of some weeks.
    Ok(Some(Instant::from_nanos((seconds * 1e9).round() as u64)))
}

/// In seconds: half of what fits, and longer than any run.
const TIME_MOST: f64 = 9.2e9;

/// Nothing.
pub fn nothing(_: &Bound<'_, PyAny>) -> Read<()> {
    Ok(())
}
