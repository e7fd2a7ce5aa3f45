//! Diagnosed properties of a path, and their comparison with the truth.

use std::collections::BTreeMap;

use dupack_algorithms::catalog::Catalog;
use dupack_diagnosis::path::{Path, Steadiness};
use dupack_diagnosis::{Flow, StreamFindings, Told, diagnose};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::{DropCause, Trace, What};
use dupack_packet::captured::CaptureReader;
use dupack_tcp::time::Duration;

use super::capture::{self, End};
use super::drawn::{Drawn, Kind, Loss};

/// Promised maximum error of the minimum round-trip time, in seconds and as a fraction. The larger of the two applies.
const RTT_SECONDS: f64 = 1e-3;
const RTT_SHARE: f64 = 0.02;
/// Promised maximum error of the rate, as a fraction.
const RATE_SHARE: f64 = 0.05;
/// Promised maximum error of the queue's capacity, as a fraction and in packets. The larger of the two applies.
const ROOM_SHARE: f64 = 0.15;
const ROOM_PACKETS: f64 = 1.0;

/// Number of dropped packets below which a policer cannot be detected (Flach et al.).
const POLICED_MIN: f64 = 15.0;

/// Relative tolerance for the ends of an interval, because values are kept in bins of 0.4 %.
const BIN: f64 = 0.004;

/// Runs and records the flow that is captured.
pub fn run(experiment: &str, seed: u64) -> Trace {
    let source = Source::new("drawn.toml", experiment);
    let parsed = source.parse();
    let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}\n{experiment}"));
    let plan = Plan::new(parsed, &source, &Catalog::builtin());
    let plan = plan.unwrap_or_else(|error| panic!("{error:?}\n{experiment}"));
    let scenario = plan.scenario(plan.jobs()[0]);
    Trace::record(&scenario, seed, &Interrupt::new()).expect("a network")
}

/// Captures the flow of `trace` at `end` and returns its full diagnosis.
pub fn findings(trace: &Trace, end: End, rtt: f64) -> Option<StreamFindings> {
    let file = capture::at(end, trace, Duration::from_secs_f64(rtt));
    let mut reader = CaptureReader::new(file.as_slice()).expect("a capture");
    let diagnosis = diagnose(&mut reader, Flow::All, &mut ()).expect("memory is read");
    let first = diagnosis.connections.into_iter().next()?;
    first.streams.opener
}

/// Counts of the events on the path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Happened {
    pub sent: f64,
    pub dropped: f64,
    pub by_queue: f64,
    pub by_policer: f64,
    arrived: f64,
    overtaken: f64,
}

impl Happened {
    pub fn of(trace: &Trace) -> Self {
        let mut happened = Self::default();
        let mut latest = 0;
        for event in &trace.events {
            match &event.what {
                What::Sent(_) => happened.sent += 1.0,
                What::DataDropped { cause, .. } => {
                    happened.dropped += 1.0;
                    match cause {
                        DropCause::QueueFull => happened.by_queue += 1.0,
                        DropCause::Policed => happened.by_policer += 1.0,
                        _ => {}
                    }
                }
                What::DataArrived { order, .. } => {
                    happened.arrived += 1.0;
                    happened.overtaken += f64::from(u8::from(*order < latest));
                    latest = latest.max(*order);
                }
                _ => {}
            }
        }
        happened
    }
}

/// Counts of the reports about a quantity: requested reports, reports made, right reports, and reports with an interval
/// that contains the truth.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub asked: u32,
    pub told: u32,
    pub right: u32,
    pub covered: u32,
    pub wrong: Vec<String>,
}

/// Scores by quantity and end.
pub type Scores = BTreeMap<(&'static str, End), Score>;

/// A report about one quantity, with the truth.
struct Answer {
    /// Reported estimate and its interval, if any.
    told: Option<(f64, (f64, f64))>,
    right: bool,
    truth: (f64, f64),
}

impl Score {
    fn add(&mut self, answer: &Answer, line: &str) {
        self.asked += 1;
        let Some((value, (low, high))) = answer.told else {
            return;
        };
        self.told += 1;
        let (least, most) = answer.truth;
        self.covered += u32::from(low * (1.0 - BIN) <= most && least <= high * (1.0 + BIN));
        if answer.right {
            self.right += 1;
        } else {
            self.wrong.push(format!(
                "{value:.6} ({low:.6} to {high:.6}), truly {least:.6} to {most:.6}: {line}"
            ));
        }
    }
}

/// Adds the scores of the reports about `drawn` at `end`.
pub fn judge(scores: &mut Scores, drawn: &Drawn, happened: &Happened, end: End, path: &Path) {
    let line = drawn.line();
    let mut add = |what, answer: Answer| {
        let score = scores.entry((what, end)).or_default();
        score.add(&answer, &line);
    };
    let truth = drawn.least_rtt();
    let near = |value: f64, truth: f64, share: f64, by: f64| {
        (value - truth).abs() <= (share * truth).max(by)
    };
    let least = told(path.least_rtt.map(|rtt| rtt.as_secs_f64()));
    add(
        "1 least rtt",
        answer(least, truth, |rtt| near(rtt, truth, RTT_SHARE, RTT_SECONDS)),
    );
    rate(&mut add, drawn, path);
    policer(&mut add, drawn, happened, path);
    room(&mut add, drawn, happened, path);
    let share = happened.dropped / happened.sent.max(1.0);
    let loss = told(path.loss);
    add("6 loss, all", interval(loss, share));
    let random = told(path.random_loss);
    let by_itself = drawn.loss.share();
    add("7 loss of the link", interval(random, by_itself));
    let overtaken = happened.overtaken / happened.arrived.max(1.0);
    let reordered = told(path.reordering.share);
    add("8 reordering", interval(reordered, overtaken));
    if let Loss::Bursts { enter, leave } = drawn.loss {
        let found = |told: Told<f64>| self::told(told).filter(|_| path.has_bursts());
        add("9 bursts, enter", interval(found(path.bursts.enter), enter));
        add("9 bursts, leave", interval(found(path.bursts.leave), leave));
    } else if !matches!(drawn.kind, Kind::Policer(..)) {
        let bursts = f64::from(u8::from(path.has_bursts()));
        let told = Some((bursts, (bursts, bursts)));
        add("9 bursts, none", answer(told, 0.0, |bursts| bursts == 0.0));
    }
}

fn rate(add: &mut impl FnMut(&'static str, Answer), drawn: &Drawn, path: &Path) {
    let bits = path.rate;
    // If the diagnosis found a policer, the reported rate is the rate of the policer.
    let truth = match drawn.kind {
        Kind::Policer(rate, _) if path.policer.is_some() => rate,
        _ => drawn.rate,
    };
    let most = drawn.rate_max.unwrap_or(truth);
    let within =
        |rate: f64| truth * (1.0 - RATE_SHARE) <= rate && rate <= most * (1.0 + RATE_SHARE);
    let mut rate = answer(told(bits), truth, within);
    rate.truth.1 = most;
    add("2 rate", rate);
    let bound = match bits {
        Told::AtLeast { bound, .. } => Some((bound, (0.0, bound))),
        _ => None,
    };
    let below = |bound: f64| bound <= most * (1.0 + RATE_SHARE);
    add("3 rate, bound", answer(bound, drawn.rate, below));
    let shared = f64::from(u8::from(path.steadiness == Steadiness::PerhapsShared));
    add(
        "B not shared",
        answer(Some((shared, (shared, shared))), 0.0, |shared| {
            shared == 0.0
        }),
    );
    let varies = f64::from(u8::from(path.steadiness == Steadiness::LinkVaries));
    let truly = f64::from(u8::from(drawn.rate_max.is_some()));
    let varying = Some((varies, (varies, varies)));
    add("C varies", answer(varying, truly, |varies| varies <= truly));
}

fn policer(
    add: &mut impl FnMut(&'static str, Answer),
    drawn: &Drawn,
    happened: &Happened,
    path: &Path,
) {
    let found = path.policer.is_some();
    let yes_or_no = |truly: bool| {
        let [found, truly] = [found, truly].map(|is| f64::from(u8::from(is)));
        answer(Some((found, (found, found))), truly, |found| found == truly)
    };
    let Kind::Policer(rate, burst) = drawn.kind else {
        return add("A policer, none", yes_or_no(false));
    };
    add("A policer", yes_or_no(true));
    if happened.by_policer >= POLICED_MIN {
        add("A policer, of 15", yes_or_no(true));
    }
    if let Some(policer) = &path.policer {
        let near = |value: f64| (value / rate - 1.0).abs() <= RATE_SHARE;
        add("A policer, rate", answer(told(policer.rate), rate, near));
        add("A policer, burst", interval(told(policer.burst), burst));
    }
}

fn room(
    add: &mut impl FnMut(&'static str, Answer),
    drawn: &Drawn,
    happened: &Happened,
    path: &Path,
) {
    let packets = told(path.room.map(|room| room.packets));
    let room = drawn.room as f64;
    let near = |value: f64| (value - room).abs() <= (ROOM_SHARE * room).max(ROOM_PACKETS);
    let overflowed = happened.by_queue > 0.0;
    let what = if overflowed {
        "4 room, overflowed"
    } else {
        "4 room, did not"
    };
    add(
        what,
        answer(packets, room, |value| overflowed && near(value)),
    );
    let bound = match path.room {
        Told::AtLeast { bound, .. } => Some((bound.packets, (0.0, bound.packets))),
        _ => None,
    };
    let below = |bound: f64| bound <= room * (1.0 + ROOM_SHARE) + 2.0;
    add("5 room, bound", answer(bound, room, below));
}

fn told(told: Told<f64>) -> Option<(f64, (f64, f64))> {
    told.value().zip(told.interval())
}

fn answer(told: Option<(f64, (f64, f64))>, truth: f64, right: impl Fn(f64) -> bool) -> Answer {
    Answer {
        right: told.is_some_and(|(value, _)| right(value)),
        told,
        truth: (truth, truth),
    }
}

/// Returns an answer that is right if the reported interval contains the truth.
fn interval(told: Option<(f64, (f64, f64))>, truth: f64) -> Answer {
    Answer {
        right: told.is_some_and(|(_, (low, high))| {
            low * (1.0 - BIN) <= truth && truth <= high * (1.0 + BIN)
        }),
        told,
        truth: (truth, truth),
    }
}
