//! The player of scripts.
//!
//! During an event, time does not advance. Between two events, time advances to the next event, and timers expire. A
//! timer that is due at the exact time of an event expires after the event.

use std::path::Path;

use dupack_tcp::time::{Duration, Instant};

use crate::code::{self, Interpreter};
use crate::expect::Window;
use crate::info;
use crate::outcome::{Failure, Stop};
use crate::socket::{Answer, Attempt, Refusal};
use crate::stage::{BEGINNING, Budget, Expired, Stage};
use crate::syntax::{Call, Event, Expression, Script, What, When};

/// Maximum delay of a packet that is reported as late. A packet with a longer delay is reported as missing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum time that the player waits for a packet that may come at any time.
const LONG_PATIENCE: Duration = Duration::from_secs(3600);

/// The state of a script being played.
pub(crate) struct Player<'s> {
    pub(crate) stage: Stage,
    folder: &'s Path,
    interpreter: Interpreter,
    /// Time of the last event according to the script.
    last: Instant,
    waiting: Option<Waiting<'s>>,
    pub(crate) budget: Budget,
}

/// A blocked call.
#[derive(Clone, Copy)]
struct Waiting<'s> {
    call: &'s Call,
    line: usize,
    /// Time at which the call must return, and the tolerance of this time.
    returns: Option<(Instant, Duration)>,
    /// Time by which the call must have returned.
    deadline: Instant,
}

type Played = Result<(), Stop>;

impl<'s> Player<'s> {
    pub(crate) fn new(stage: Stage, folder: &'s Path, print: fn(&str)) -> Self {
        Self {
            stage,
            folder,
            interpreter: Interpreter::new(print),
            last: BEGINNING,
            waiting: None,
            budget: Budget::default(),
        }
    }

    /// Plays all of `script`.
    pub(crate) fn play(&mut self, script: &'s Script) -> Played {
        for setting in &script.options {
            let taken = self.stage.settings.take_option(setting);
            taken.map_err(|reason| Stop::skipped(setting.line, reason))?;
        }
        if let Some(command) = &script.preparation {
            self.commands(command.line, &command.text)?;
        }
        for event in &script.events {
            self.happen(event)?;
        }
        self.finish_waiting()
    }

    fn happen(&mut self, event: &'s Event) -> Played {
        let before = self.stage.now;
        let window = self.window(event.at);
        if let What::Outbound(packet) = &event.what {
            self.expect(event.line, packet, window)?;
            self.last = window.earliest;
            return Ok(());
        }
        if matches!(event.what, What::Call(_)) {
            self.finish_waiting()?;
        }
        if window.earliest < self.stage.now {
            return Err(self.failed(
                event.line,
                "the event is overdue: the previous event took longer",
            ));
        }
        self.advance(event.line, window.earliest)?;
        self.last = window.earliest;
        match &event.what {
            What::Inbound(packet) => {
                let arrived = self.stage.arrive(packet);
                arrived.map_err(|message| self.failed(event.line, message))?;
                self.try_waiting()
            }
            What::Icmp(icmp) => {
                let arrived = self.stage.hear_of(icmp);
                arrived.map_err(|message| self.failed(event.line, message))?;
                self.try_waiting()
            }
            What::Call(call) => self.call(event, call, before),
            What::Command(command) => self.commands(command.line, &command.text),
            What::Code(text) => self.code(event.line, text),
            What::Outbound(_) => Ok(()),
        }
    }

    /// Returns the time range of an event.
    fn window(&self, at: When) -> Window {
        let now = self.stage.now;
        let after_beginning = |at: Instant| BEGINNING + at.since(Instant::ZERO);
        let (earliest, latest) = match at {
            When::At(at) => (after_beginning(at), after_beginning(at)),
            When::Between(from, to) => (after_beginning(from), after_beginning(to)),
            When::After(after) => (now + after, now + after),
            When::AfterBetween(from, to) => (now + from, now + to),
            When::Whenever => {
                return Window {
                    earliest: now,
                    latest: None,
                    tolerance: Duration::ZERO,
                    deadline: now + LONG_PATIENCE,
                };
            }
        };
        let gap = Duration::from_nanos(earliest.as_nanos().saturating_sub(self.last.as_nanos()));
        Window {
            earliest,
            latest: Some(latest),
            tolerance: self.stage.settings.tolerance(gap),
            deadline: latest.max(now) + PATIENCE,
        }
    }

    /// Advances time to `to`. Timers that are due exactly at `to` do not expire yet.
    fn advance(&mut self, line: usize, to: Instant) -> Played {
        while self.expire_before(line, to)? == Expired::Something {}
        self.stage.now = self.stage.now.max(to);
        Ok(())
    }

    /// Handles the next timer that is due before `until`.
    pub(crate) fn expire_before(&mut self, line: usize, until: Instant) -> Result<Expired, Stop> {
        let expired = self.stage.expire_before(until, &mut self.budget);
        let expired = expired.map_err(|message| self.failed(line, message))?;
        if expired == Expired::Something {
            self.try_waiting()?;
        }
        Ok(expired)
    }

    /// Makes a call. `before` is the time at which the previous event ended.
    fn call(&mut self, event: &'s Event, call: &'s Call, before: Instant) -> Played {
        let now = self.stage.now;
        let deadline = now + PATIENCE;
        let returns = call.until.map(|until| {
            let at = match event.at {
                When::At(_) => BEGINNING + until,
                _ => before + until,
            };
            let takes = at.since(now.min(at));
            (at, self.stage.settings.tolerance(takes))
        });
        let waiting = Waiting {
            call,
            line: event.line,
            returns,
            deadline: returns.map_or(deadline, |(at, _)| at + PATIENCE),
        };
        self.waiting = Some(waiting);
        self.try_waiting()?;
        // A call without an end time in the script returns before the next event.
        if returns.is_none() {
            return self.finish_waiting();
        }
        Ok(())
    }

    /// Retries the blocked call, if there is one.
    fn try_waiting(&mut self) -> Played {
        let Some(waiting) = self.waiting else {
            return Ok(());
        };
        let attempt = self.stage.call(waiting.call);
        match attempt {
            Ok(Attempt::Waits) => Ok(()),
            Ok(Attempt::Returns(answer)) => {
                self.waiting = None;
                self.check(&waiting, &answer)
            }
            Err(Refusal::Beyond(reason)) => Err(Stop::skipped(waiting.line, reason)),
            Err(Refusal::Wrong(message)) => Err(self.failed(waiting.line, message)),
        }
    }

    /// Advances time until the blocked call returns.
    fn finish_waiting(&mut self) -> Played {
        while let Some(waiting) = self.waiting {
            if self.expire_before(waiting.line, waiting.deadline)? == Expired::Nothing {
                let name = &waiting.call.name;
                return Err(self.failed(waiting.line, format!("{name} did not return")));
            }
        }
        Ok(())
    }

    /// Compares the result of a call with the script.
    fn check(&self, waiting: &Waiting<'_>, answer: &Answer) -> Played {
        let call = waiting.call;
        let (expected, came) = match answer {
            Answer::Descriptor => (None, None),
            Answer::Value(value) => (wanted(call), Some(value.to_string())),
            Answer::Error(name) => (wanted(call), Some(format!("-1 {name}"))),
            Answer::Differs {
                what,
                expected,
                came,
            } => {
                let mut failure = Failure::new(
                    waiting.line,
                    format!("{} gave a different value", call.name),
                );
                failure.expected = Some(format!("{what} {expected}"));
                failure.came = Some(format!("{what} {came}"));
                return Err(self.with_state(failure));
            }
        };
        if let (Some(expected), Some(came)) = (expected, came)
            && expected != came
        {
            let mut failure = Failure::new(
                waiting.line,
                format!("{} returned a different value", call.name),
            );
            failure.expected = Some(expected);
            failure.came = Some(came);
            return Err(self.with_state(failure));
        }
        let Some((at, tolerance)) = waiting.returns else {
            return Ok(());
        };
        let now = self.stage.now;
        if at.max(now).since(at.min(now)) <= tolerance {
            return Ok(());
        }
        let mut failure = Failure::new(
            waiting.line,
            format!("{} returned at a different time", call.name),
        );
        failure.expected = Some(format!("at {}", clock(at)));
        failure.came = Some(format!("at {}", clock(now)));
        Err(self.with_state(failure))
    }

    fn commands(&mut self, line: usize, text: &str) -> Played {
        let taken = self.stage.settings.take_commands(text, self.folder);
        taken.map_err(|reason| Stop::skipped(line, reason))?;
        self.stage.heed_host();
        Ok(())
    }

    fn code(&mut self, line: usize, text: &str) -> Played {
        self.stage.settle();
        let stage = &self.stage;
        let subject = stage.subject_line().map(|index| &stage.lines[index]);
        let lookup = |name: &str| info::lookup(name, subject, stage.now);
        match self.interpreter.run(text, &lookup) {
            Ok(()) => Ok(()),
            Err(code::Stop::Beyond(reason)) => Err(Stop::skipped(line, reason)),
            Err(code::Stop::Failed(complaint)) => {
                let mut failure = Failure::new(line + complaint.line, complaint.message);
                failure.differences = complaint
                    .seen
                    .iter()
                    .map(|(name, value)| format!("{name} is {value}"))
                    .collect();
                Err(self.with_state(failure))
            }
        }
    }

    /// Creates a failure with the state of the connection.
    pub(crate) fn failed(&self, line: usize, message: impl Into<String>) -> Stop {
        self.with_state(Failure::new(line, message.into()))
    }

    pub(crate) fn with_state(&self, mut failure: Failure) -> Stop {
        if let Some(index) = self.stage.subject_line() {
            failure.state = crate::state::of(&self.stage, index);
        }
        Stop::Failed(Box::new(failure))
    }
}

/// Returns the expected result of a call as text; `None` if any result is allowed.
fn wanted(call: &Call) -> Option<String> {
    match (&call.result, &call.error) {
        (Expression::Any, _) => None,
        (_, Some(error)) => Some(format!("-1 {error}")),
        (Expression::Number(number), None) => Some(number.to_string()),
        (other, None) => Some(format!("{other:?}")),
    }
}

/// Returns a time on the script's clock, for messages.
pub(crate) fn clock(at: Instant) -> String {
    let micros = at.as_nanos().saturating_sub(BEGINNING.as_nanos()) / 1000;
    format!("{}.{:06} s", micros / 1_000_000, micros % 1_000_000)
}
