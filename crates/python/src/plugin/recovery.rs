//! Loss recovery in Python.

use std::cell::Cell;
use std::sync::Arc;

use dupack_algorithms::catalog::{Context, Values};
use dupack_tcp::congestion::Governance;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, Sent, View};
use dupack_tcp::recovery::{
    Expiry, LossEvent, Next, Outcome, Phase, Recovery as Trait, RtoTimer, TimeoutRule,
};
use dupack_tcp::time::Instant;
use dupack_tcp::undo::{Reversal, Spurious};
use pyo3::prelude::*;

use super::control::record;
use super::facts::Fact as _;
use super::object::{Class, Object, methods};
use super::read::{self, Read, expected};
use super::reused::Reused;
use super::words::Word;
use super::{answers, facts, values};

methods! {
    GovernedBy = "governed_by",
    OnSent = "on_sent",
    OnAck = "on_ack",
    OnRto = "on_rto",
    TimeoutRule = "timeout_rule",
    OnCut = "on_cut",
    OnSegmentSize = "on_segment_size",
    OnJudged = "on_judged",
    OnSpurious = "on_spurious",
    OnMark = "on_mark",
    Timer = "timer",
    OnTimer = "on_timer",
    InFlight = "in_flight",
    Allowance = "allowance",
    Next = "next",
    Phase = "phase",
    Inflation = "inflation",
}

/// Maximum number of consecutive expiries of a timer at the same instant. More expiries indicate an endless loop.
const EXPIRIES_MOST: u64 = 10_000;

/// Factor in the maximum number of retransmissions at the same instant: this number times the number of outstanding
/// segments, plus [`EXPIRIES_MOST`].
const ROUNDS_MOST: u64 = 10;

/// Loss recovery with methods in Python.
#[derive(Debug)]
pub struct Recovery {
    object: Object,
    on_sent: Reused<(Py<facts::Sent>, Py<facts::View>)>,
    on_ack: Reused<(Py<facts::AckFacts>, Py<facts::View>)>,
    view: Reused<(Py<facts::View>,)>,
    /// Number of consecutive expiries after which the timer was due again at the same instant.
    expiries: u64,
    repeats: Circles,
}

/// Counter of the retransmissions at the same instant.
#[derive(Debug, Default)]
struct Circles {
    at: Cell<Instant>,
    times: Cell<u64>,
}

impl Circles {
    /// Counts one more retransmission, and returns the number of retransmissions at `now`.
    fn count(&self, now: Instant) -> u64 {
        let before = if self.at.replace(now) == now {
            self.times.get()
        } else {
            0
        };
        self.times.set(before + 1);
        before + 1
    }
}

impl Recovery {
    pub fn new(class: &Arc<Class>, values: &Values, context: &Context) -> Self {
        Self {
            object: Object::new(class, METHODS, values, context),
            on_sent: Reused::default(),
            on_ack: Reused::default(),
            view: Reused::default(),
            expiries: 0,
            repeats: Circles::default(),
        }
    }

    /// Calls a method whose only argument is the view.
    fn of_view<T>(
        &self,
        method: Method,
        view: &View<'_>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        self.object
            .ask_of(method as usize, &self.view, (), view, read)
    }

    fn has(&self, method: Method) -> bool {
        self.object.has(method as usize)
    }
}

/// Accepts a loss event whose segment is outstanding or was repaired.
fn outstanding(loss: Option<LossEvent>, view: &View<'_>) -> Read<Option<LossEvent>> {
    match loss {
        Some(event) if event.repaired.is_none() && view.scoreboard.get(event.segment).is_none() => {
            expected(format!("the loss of an outstanding segment: {}", ids(view)))
        }
        loss => Ok(loss),
    }
}

/// Returns text with the ids of the outstanding segments.
fn ids(view: &View<'_>) -> String {
    let board = view.scoreboard;
    match board.is_empty() {
        true => "there are none".to_owned(),
        false => format!("ids are {} to {}", board.first().0, board.end().0 - 1),
    }
}

impl Trait for Recovery {
    fn governed_by(&mut self, governance: Governance) {
        self.object.ask_with(
            Method::GovernedBy as usize,
            None,
            |py| (governance.member(py)?,).into_pyobject(py),
            read::nothing,
        );
    }

    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        let timer = self.object.ask_of(
            Method::OnSent as usize,
            &self.on_sent,
            (sent,),
            view,
            |answer| {
                RtoTimer::read(answer).or_else(|_| expected("dupack.RtoTimer.KEEP or .RESTART"))
            },
        );
        timer.unwrap_or_default()
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let outcome = self.object.ask_of(
            Method::OnAck as usize,
            &self.on_ack,
            (ack,),
            view,
            |answer| {
                let Ok(outcome) = answer.cast::<answers::Outcome>() else {
                    return expected("a dupack.Outcome");
                };
                let outcome = outcome.get().0;
                outstanding(outcome.loss, view)?;
                Ok(outcome)
            },
        );
        outcome.unwrap_or_default()
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.of_view(Method::OnRto, view, read::nothing);
    }

    fn timeout_rule(&self) -> TimeoutRule {
        let place = Method::TimeoutRule as usize;
        let rule = self.object.ask_alone(place, |answer| {
            TimeoutRule::read(answer)
                .or_else(|_| expected("dupack.TimeoutRule.CONGESTION or .JUDGED"))
        });
        rule.unwrap_or_default()
    }

    fn on_cut(&mut self, view: &View<'_>) {
        match self.has(Method::OnCut) {
            true => self.of_view(Method::OnCut, view, read::nothing),
            false => self.of_view(Method::OnRto, view, read::nothing),
        };
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.object.ask_with(
            Method::OnSegmentSize as usize,
            None,
            |py| (from, to).into_pyobject(py),
            read::nothing,
        );
    }

    fn on_judged(&mut self, loss: &LossFacts, cause: LossCause, view: &View<'_>) {
        self.object.ask(
            Method::OnJudged as usize,
            Some(view.now),
            |method| {
                with_view(method, view, |py, view| {
                    (values::LossFacts(*loss), cause.member(py)?, view).into_pyobject(py)
                })
            },
            read::nothing,
        );
    }

    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        let reversal = self.object.ask(
            Method::OnSpurious as usize,
            Some(view.now),
            |method| {
                with_view(method, view, |py, view| {
                    let words = (spurious.after.member(py)?, spurious.sign.member(py)?);
                    (record(py, "Spurious", words)?, view).into_pyobject(py)
                })
            },
            |answer| {
                let Ok(reversal) = answer.cast::<answers::Reversal>() else {
                    return expected("dupack.Reversal.REFUSED or dupack.Reversal.done()");
                };
                let reversal = reversal.get().0;
                if let Reversal::Done(loss) = reversal {
                    outstanding(loss, view)?;
                }
                Ok(reversal)
            },
        );
        reversal.unwrap_or(Reversal::Refused)
    }

    fn on_mark(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.object.ask_of(
            Method::OnMark as usize,
            &self.on_ack,
            (ack,),
            view,
            read::nothing,
        );
    }

    fn timer(&self) -> Option<Instant> {
        self.object
            .ask_alone(Method::Timer as usize, read::some_time)
            .flatten()
    }

    fn on_timer(&mut self, view: &View<'_>) -> Expiry {
        let expiry = self.of_view(Method::OnTimer, view, |answer| {
            let Ok(expiry) = answer.cast::<answers::Expiry>() else {
                return expected("a dupack.Expiry");
            };
            let expiry = expiry.get().0;
            outstanding(expiry.loss, view)?;
            Ok(expiry)
        });
        let is_over = self.timer().is_some_and(|at| at <= view.now);
        self.expiries = if is_over { self.expiries + 1 } else { 0 };
        if self.expiries > EXPIRIES_MOST {
            let why = format!(
                "the timer has expired {EXPIRIES_MOST} times in a row at the same instant: after on_timer, \
                 timer() must return a later time or None"
            );
            self.object.protest(Method::Timer as usize, &why);
        }
        expiry.unwrap_or_default()
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let bytes = self.of_view(Method::InFlight, view, read::bytes);
        bytes.unwrap_or_else(|| view.flight_size())
    }

    fn allowance(&self, view: &View<'_>) -> u64 {
        match self.has(Method::Allowance) {
            true => self
                .of_view(Method::Allowance, view, read::bytes)
                .unwrap_or(0),
            false => view
                .window
                .whole_bytes()
                .saturating_sub(self.in_flight(view)),
        }
    }

    fn next(&self, view: &View<'_>) -> Next {
        let next = self.of_view(Method::Next, view, |answer| {
            let Ok(next) = answer.cast::<answers::Next>() else {
                return expected("dupack.Next.NOTHING, .new() or .retransmit(id, why)");
            };
            let next = next.get().0;
            if let Next::Retransmit { id, .. } = next
                && view.scoreboard.get(id).is_none()
            {
                return expected(format!("an outstanding segment: {}", ids(view)));
            }
            Ok(next)
        });
        let next = next.unwrap_or(Next::Nothing);
        if let Next::Retransmit { .. } = next {
            let most = ROUNDS_MOST * view.scoreboard.len() as u64 + EXPIRIES_MOST;
            if self.repeats.count(view.now) > most {
                let why = "it sends the same segment repeatedly at the same instant: once on_sent has \
                           received a segment, return another one, or Next.NOTHING until the next event";
                self.object.protest(Method::Next as usize, why);
                return Next::Nothing;
            }
        }
        next
    }

    fn phase(&self) -> Option<Phase> {
        let phase = self.object.ask_alone(Method::Phase as usize, |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            match Phase::read(answer) {
                Ok(phase @ (Phase::Open | Phase::Recovery | Phase::Loss)) => Ok(Some(phase)),
                _ => expected("dupack.Phase.OPEN, .RECOVERY or .LOSS, or None"),
            }
        });
        phase.flatten()
    }

    fn inflation(&self) -> i64 {
        let place = Method::Inflation as usize;
        self.object.ask_alone(place, read::whole).unwrap_or(0)
    }
}

/// Calls `method` with arguments that are created for this call, including a view.
fn with_view<'py>(
    method: &Bound<'py, PyAny>,
    view: &View<'_>,
    arguments: impl FnOnce(Python<'py>, Py<facts::View>) -> PyResult<Bound<'py, pyo3::types::PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = method.py();
    let shown = Py::new(py, facts::View::default())?;
    let arguments = arguments(py, shown.clone_ref(py))?;
    let call = super::board::Call::new();
    shown.get().fill(call, view);
    let answer = super::board::lent(call, view, || method.call1(arguments));
    shown.get().end();
    answer
}
