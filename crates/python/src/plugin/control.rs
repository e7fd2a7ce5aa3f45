//! Congestion control in Python.

use std::sync::Arc;

use dupack_algorithms::catalog::{Context, Values};
use dupack_tcp::congestion::{
    CongestionControl, Credit, Governance, MarkAnswer, Pacing, WindowPacing,
};
use dupack_tcp::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use dupack_tcp::rtt::RtoShortening;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{DsackRule, EifelRule, FrtoRule, Prior, PriorThreshold, UndoRules};
use dupack_tcp::window::Window;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::object::{Class, Object, methods};
use super::read::{self, Plain, Read, expected};
use super::reused::Reused;
use super::words::Word;
use super::{facts, values};

methods! {
    Opening = "opening",
    RtoShortening = "rto_shortening",
    Governance = "governance",
    Marks = "marks",
    OnSent = "on_sent",
    OnAck = "on_ack",
    Reduction = "reduction",
    OnLoss = "on_loss",
    OnTimeout = "on_timeout",
    Undo = "undo",
    Remember = "remember",
    OnSpurious = "on_spurious",
    OnIdleEnd = "on_idle_end",
    Pacing = "pacing",
    OnSegmentSize = "on_segment_size",
    PacingRate = "pacing_rate",
    BandwidthEstimate = "bandwidth_estimate",
}

/// Congestion control with methods in Python.
#[derive(Debug)]
pub struct Control {
    object: Object,
    on_ack: Reused<(Py<facts::AckFacts>, Py<facts::Credit>, Py<facts::View>)>,
    on_sent: Reused<(Py<facts::Sent>, Py<facts::Departure>, Py<facts::View>)>,
}

impl Control {
    pub fn new(class: &Arc<Class>, values: &Values, context: &Context) -> Self {
        Self {
            object: Object::new(class, METHODS, values, context),
            on_ack: Reused::default(),
            on_sent: Reused::default(),
        }
    }

    /// Calls a method that returns a fixed property of the control. Such a method is called once, at the start.
    fn rule<T>(
        &self,
        method: Method,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        self.object.ask_alone(method as usize, read)
    }

    /// Calls a method that returns the window after a loss.
    fn window_after(&self, method: Method, loss: &LossFacts, plain: Plain) -> Window {
        let window = self.object.ask_with(
            method as usize,
            Some(loss.now),
            |py| (values::LossFacts(*loss),).into_pyobject(py),
            |answer| read::window(answer, plain),
        );
        window.unwrap_or(loss.window)
    }
}

impl CongestionControl for Control {
    fn opening(&self, configured: Window) -> Window {
        let opening = self.object.ask_with(
            Method::Opening as usize,
            None,
            |py| (values::Window(configured),).into_pyobject(py),
            |answer| read::window(answer, Plain::Refused),
        );
        opening.unwrap_or(configured)
    }

    fn rto_shortening(&self) -> Option<RtoShortening> {
        self.rule(Method::RtoShortening, shortening).flatten()
    }

    fn governance(&self) -> Governance {
        self.rule(Method::Governance, |answer| Ok(Governance::read(answer)?))
            .unwrap_or_default()
    }

    fn marks(&self) -> MarkAnswer {
        self.rule(Method::Marks, |answer| Ok(MarkAnswer::read(answer)?))
            .unwrap_or_default()
    }

    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        self.object.ask_of(
            Method::OnSent as usize,
            &self.on_sent,
            (sent, departure),
            view,
            read::nothing,
        );
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        let ssthresh = view.window.ssthresh;
        let window = self.object.ask_of(
            Method::OnAck as usize,
            &self.on_ack,
            (ack, credit),
            view,
            |answer| read::window(answer, Plain::Cwnd { ssthresh }),
        );
        window.unwrap_or(view.window)
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.window_after(Method::Reduction, loss, Plain::Both)
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        self.object.ask_with(
            Method::OnLoss as usize,
            Some(loss.now),
            |py| {
                let loss = values::LossFacts(*loss);
                (loss, cause.member(py)?, values::Window(chosen)).into_pyobject(py)
            },
            read::nothing,
        );
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.window_after(Method::OnTimeout, loss, Plain::Refused)
    }

    fn undo(&self) -> UndoRules {
        self.rule(Method::Undo, undo_rules)
            .unwrap_or(UndoRules::OFF)
    }

    fn remember(&mut self) {
        self.object
            .ask_alone(Method::Remember as usize, read::nothing);
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        let restored = self.object.ask_with(
            Method::OnSpurious as usize,
            None,
            |py| {
                let prior = record(py, "Prior", (values::Window(prior.window),))?;
                (prior, values::Window(window)).into_pyobject(py)
            },
            |answer| read::window(answer, Plain::Refused),
        );
        restored.unwrap_or_else(|| prior.restored(window))
    }

    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        self.object.ask_with(
            Method::OnIdleEnd as usize,
            Some(now),
            |py| (now.as_secs_f64(), last_sent.as_secs_f64()).into_pyobject(py),
            read::nothing,
        );
    }

    fn pacing(&self) -> Pacing {
        self.rule(Method::Pacing, pacing).unwrap_or_default()
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.object.ask_with(
            Method::OnSegmentSize as usize,
            None,
            |py| (from, to).into_pyobject(py),
            read::nothing,
        );
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rate = self
            .object
            .ask_alone(Method::PacingRate as usize, |answer| {
                let what = "a rate in bytes per second above 0, or None for no pace";
                match read::some_real(answer, what)? {
                    Some(rate) if !(rate > 0.0 && rate.is_finite()) => expected(what),
                    rate => Ok(rate),
                }
            });
        rate.flatten()
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        let what = "a bandwidth in bytes per second, or None";
        let place = Method::BandwidthEstimate as usize;
        let estimate = self
            .object
            .ask_alone(place, |answer| read::some_real(answer, what));
        estimate.flatten()
    }
}

/// Creates a record of `dupack._words`.
pub fn record<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields.into_pyobject(py)?;
    py.import("dupack._words")?.getattr(class)?.call1(fields)
}

/// Returns `true` if `answer` is an instance of the record `class` of `dupack._words`.
fn is_record(answer: &Bound<'_, PyAny>, class: &str) -> PyResult<bool> {
    let class = answer.py().import("dupack._words")?.getattr(class)?;
    answer.is_instance(&class)
}

fn shortening(answer: &Bound<'_, PyAny>) -> Read<Option<RtoShortening>> {
    let what = "a dupack.RtoShortening(factor, margin) with a factor from 0 to 1 and a margin in seconds, or None";
    if answer.is_none() {
        return Ok(None);
    }
    if !is_record(answer, "RtoShortening")? {
        return expected(what);
    }
    let factor = read::real(&answer.getattr("factor")?, what)?;
    let margin = read::real(&answer.getattr("margin")?, what)?;
    if !(0.0..=1.0).contains(&factor) || !(0.0..=1e6).contains(&margin) {
        return expected(what);
    }
    Ok(Some(RtoShortening {
        factor,
        margin: Duration::from_nanos((margin * 1e9).round() as u64),
    }))
}

fn undo_rules(answer: &Bound<'_, PyAny>) -> Read<UndoRules> {
    if !is_record(answer, "UndoRules")? {
        return expected("a dupack.UndoRules");
    }
    let mut rules = UndoRules::new(
        EifelRule::read(&answer.getattr("eifel")?)?,
        DsackRule::read(&answer.getattr("dsack")?)?,
        FrtoRule::read(&answer.getattr("frto")?)?,
    );
    rules.threshold = PriorThreshold::read(&answer.getattr("threshold")?)?;
    Ok(rules)
}

fn pacing(answer: &Bound<'_, PyAny>) -> Read<Pacing> {
    let what = "dupack.Pacing.OFF or .RATE, or a dupack.WindowPacing with factors above 0 and a burst of 1 or more";
    if is_record(answer, "WindowPacing")? {
        let pacing = WindowPacing {
            slow_start: read::real(&answer.getattr("slow_start")?, what)?,
            avoidance: read::real(&answer.getattr("avoidance")?, what)?,
            burst_least: u32::try_from(read::bytes(&answer.getattr("burst_least")?)?)
                .unwrap_or(u32::MAX),
            unpaced: read::bytes(&answer.getattr("unpaced")?)?,
        };
        let is_factor = |factor: f64| factor > 0.0 && factor.is_finite();
        if !(is_factor(pacing.slow_start) && is_factor(pacing.avoidance) && pacing.burst_least > 0)
        {
            return expected(what);
        }
        return Ok(Pacing::Window(pacing));
    }
    let Ok(text) = answer.cast::<PyString>() else {
        return expected(what);
    };
    match &*text.to_cow()? {
        "off" => Ok(Pacing::Off),
        "rate" => Ok(Pacing::Rate),
        _ => expected(what),
    }
}
