//! Return values of a recovery. They are created in Python, and checked when they are created.

use dupack_tcp::recovery::{self, Clearance, Exit, Growth, RtoTimer, Timing};
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::{facts, undo};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::reasons::{LossRule, SendReason};
use super::values::Segment;
use super::words::Word;

/// Reads a word. A missing value is the default of its type.
fn word<W: Word + Default>(value: Option<&Bound<'_, PyAny>>) -> PyResult<W> {
    value.map_or_else(|| Ok(W::default()), W::read)
}

/// Checks that a number of bytes is not NaN.
fn bytes(name: &str, value: Option<f64>) -> PyResult<Option<f64>> {
    match value {
        Some(bytes) if bytes.is_nan() => {
            let message = format!("{name}: expected a number of bytes, found NaN");
            Err(PyValueError::new_err(message))
        }
        value => Ok(value),
    }
}

/// Beginning of a loss event.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct LossEvent(pub recovery::LossEvent);

#[pymethods]
impl LossEvent {
    #[new]
    #[pyo3(signature = (segment, rule, repaired=None))]
    fn new(segment: u64, rule: &LossRule, repaired: Option<&Segment>) -> Self {
        let segment = SegmentId(segment);
        Self(match repaired {
            None => recovery::LossEvent::of(segment, rule.0),
            Some(lost) => recovery::LossEvent::repaired(segment, lost.0, rule.0),
        })
    }

    #[getter]
    const fn segment(&self) -> u64 {
        self.0.segment.0
    }

    #[getter]
    const fn rule(&self) -> LossRule {
        LossRule(self.0.rule)
    }

    fn __repr__(&self) -> String {
        format!(
            "LossEvent({}, {})",
            self.0.segment.0,
            self.rule().__repr__()
        )
    }
}

/// Return value of a recovery for an ACK.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct Outcome(pub recovery::Outcome);

#[pymethods]
impl Outcome {
    #[new]
    #[pyo3(signature = (
        *, loss=None, restore=None, limit=None, growth=None, rto=None, timing=None, exit=None
    ))]
    fn new(
        loss: Option<&LossEvent>,
        restore: Option<f64>,
        limit: Option<f64>,
        growth: Option<&Bound<'_, PyAny>>,
        rto: Option<&Bound<'_, PyAny>>,
        timing: Option<&Bound<'_, PyAny>>,
        exit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(recovery::Outcome {
            loss: loss.map(|loss| loss.0),
            restore: bytes("restore", restore)?,
            limit: bytes("limit", limit)?,
            growth: word::<Growth>(growth)?,
            rto: word::<RtoTimer>(rto)?,
            timing: word::<Timing>(timing)?,
            exit: word::<Exit>(exit)?,
        }))
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// Return value of a recovery for the expiry of its own timer.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct Expiry(pub recovery::Expiry);

#[pymethods]
impl Expiry {
    #[new]
    #[pyo3(signature = (*, loss=None, rto=None))]
    fn new(loss: Option<&LossEvent>, rto: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(recovery::Expiry {
            loss: loss.map(|loss| loss.0),
            rto: word::<RtoTimer>(rto)?,
        }))
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// The next segment to send.
#[pyclass(frozen, eq, module = "dupack._native")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next(pub recovery::Next);

#[pymethods]
impl Next {
    #[classattr]
    const NOTHING: Self = Self(recovery::Next::Nothing);

    /// Sends new data.
    #[staticmethod]
    #[pyo3(signature = (why=None, clearance=None))]
    fn new(why: Option<&Bound<'_, PyAny>>, clearance: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(recovery::Next::New {
            why: why.map_or(Ok(facts::SendReason::NewData), SendReason::read)?,
            clearance: clearance.map_or(Ok(Clearance::Window), Clearance::read)?,
        }))
    }

    /// Retransmits an outstanding segment.
    #[staticmethod]
    #[pyo3(signature = (id, why, clearance=None))]
    fn retransmit(
        id: u64,
        why: &Bound<'_, PyAny>,
        clearance: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(recovery::Next::Retransmit {
            id: SegmentId(id),
            why: SendReason::read(why)?,
            clearance: clearance.map_or(Ok(Clearance::Window), Clearance::read)?,
        }))
    }

    fn __repr__(&self) -> String {
        format!("<Next: {:?}>", self.0)
    }
}

/// Return value of a recovery for a spurious reduction.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Clone, Copy, Debug)]
pub struct Reversal(pub undo::Reversal);

#[pymethods]
impl Reversal {
    #[classattr]
    const REFUSED: Self = Self(undo::Reversal::Refused);

    /// The recovery has ended. If a segment is lost nevertheless, `loss` begins a new loss event.
    #[staticmethod]
    #[pyo3(signature = (loss=None))]
    fn done(loss: Option<&LossEvent>) -> Self {
        Self(undo::Reversal::Done(loss.map(|loss| loss.0)))
    }

    fn __repr__(&self) -> String {
        format!("<Reversal: {:?}>", self.0)
    }
}
