//! Conversion of the enumerations of the traits to members of Python enumerations.
//!
//! The Python classes are in `dupack._words`. Each class is an enumeration of strings, so a method may return a member
//! or the text of a member.

use std::fmt::Write;

use dupack_tcp::congestion::{Governance, MarkAnswer};
use dupack_tcp::facts::{AckKind, LimitedBy, LossCause};
use dupack_tcp::recovery::{Clearance, Exit, Growth, Phase, RtoTimer, TimeoutRule, Timing};
use dupack_tcp::scoreboard::{DeliveredBy, Reported};
use dupack_tcp::undo::{DsackRule, EifelRule, FrtoRule, PriorThreshold, Reduction, Sign};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

/// Python module of the classes.
const MODULE: &str = "dupack._words";

/// Members of a Python class, in the order of [`Word::ALL`].
type Members = PyOnceLock<Vec<Py<PyAny>>>;

/// An enumeration with a Python class.
pub trait Word: Copy + PartialEq + Sized + 'static {
    /// Name of the Python class.
    const CLASS: &'static str;
    /// All values, with the texts of their Python members.
    const ALL: &'static [(Self, &'static str)];

    /// Returns the cache of the members.
    fn members() -> &'static Members;

    /// Returns the member of the Python class.
    fn member(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let place = Self::ALL.iter().position(|(word, _)| *word == self);
        let place = place.ok_or_else(|| unknown(Self::CLASS))?;
        Ok(members::<Self>(py)?[place].clone_ref(py))
    }

    /// Reads a Python member, or the text of a member.
    fn read(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let members = members::<Self>(value.py())?;
        if let Some(place) = members.iter().position(|member| value.is(member)) {
            return Ok(Self::ALL[place].0);
        }
        let Ok(text) = value.cast::<PyString>() else {
            let kind = value.get_type().name()?;
            let message = format!("expected {}, found a {kind}", choices::<Self>());
            return Err(PyTypeError::new_err(message));
        };
        let text = text.to_cow()?;
        let found = Self::ALL.iter().find(|(_, known)| *known == text);
        found.map(|(word, _)| *word).ok_or_else(|| {
            PyValueError::new_err(format!("expected {}, found {text:?}", choices::<Self>()))
        })
    }
}

fn members<W: Word>(py: Python<'_>) -> PyResult<&'static Vec<Py<PyAny>>> {
    W::members().get_or_try_init(py, || {
        let class = py.import(MODULE)?.getattr(W::CLASS)?;
        let texts = W::ALL.iter();
        texts
            .map(|(_, text)| Ok(class.call1((*text,))?.unbind()))
            .collect()
    })
}

/// Returns a list of the valid texts: `dupack.Growth: "frozen", "acked" or "every_ack"`.
fn choices<W: Word>() -> String {
    let mut words = format!("one of dupack.{}: ", W::CLASS);
    for (n, (_, text)) in W::ALL.iter().enumerate() {
        let separator = match n {
            0 => "",
            n if n + 1 == W::ALL.len() => " or ",
            _ => ", ",
        };
        let _ = write!(words, "{separator}{text:?}");
    }
    words
}

/// Creates the exception for a value of the endpoint that this file does not list.
fn unknown(class: &str) -> PyErr {
    PyValueError::new_err(format!(
        "this build has no member of {class} for a value of the endpoint"
    ))
}

macro_rules! words {
    ($($type:ident { $($variant:ident = $text:literal),+ $(,)? })+) => {$(
        impl Word for $type {
            const CLASS: &'static str = stringify!($type);
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $text)),+];

            fn members() -> &'static Members {
                static MEMBERS: Members = PyOnceLock::new();
                &MEMBERS
            }
        }
    )+};
}

words! {
    AckKind { Advance = "advance", Duplicate = "duplicate", Other = "other" }
    LimitedBy {
        Congestion = "congestion",
        ReceiveWindow = "receive_window",
        Application = "application",
        Pacing = "pacing",
    }
    LossCause { Congestion = "congestion", Wireless = "wireless" }
    Growth { Frozen = "frozen", Acked = "acked", EveryAck = "every_ack" }
    RtoTimer { Keep = "keep", Restart = "restart" }
    Timing {
        Sample = "sample",
        Discard = "discard",
        SampleEcho = "sample_echo",
        Keep = "keep",
        KeepAndEndBackoff = "keep_and_end_backoff",
    }
    Exit { No = "no", Recovery = "recovery" }
    TimeoutRule { Congestion = "congestion", Judged = "judged" }
    Clearance { Window = "window", Immediate = "immediate" }
    Phase {
        Open = "open",
        Disorder = "disorder",
        Reducing = "reducing",
        Recovery = "recovery",
        Loss = "loss",
    }
    Governance { Window = "window", Model = "model" }
    MarkAnswer { AsLoss = "as_loss", ByShare = "by_share" }
    Reported { Missing = "missing", Sacked = "sacked" }
    DeliveredBy { Cumulative = "cumulative", Sack = "sack" }
    EifelRule { Off = "off", FirstAck = "first_ack", AnyAck = "any_ack" }
    DsackRule { Off = "off", On = "on" }
    FrtoRule { Off = "off", SecondAck = "second_ack", AnyAck = "any_ack" }
    PriorThreshold { AsItWas = "as_it_was", ThreeQuarters = "three_quarters" }
    Reduction { LossEvent = "loss_event", Timeout = "timeout" }
    Sign { Timestamp = "timestamp", Dsack = "dsack", Frto = "frto" }
}
