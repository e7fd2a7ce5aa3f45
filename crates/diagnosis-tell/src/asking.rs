//! Questions about other senders for people: the question, and its answer in words.

use std::fmt::Write as _;
use std::path::PathBuf;

use dupack_algorithms::catalog::{Catalog, Deployment, Dialect, StackSpec};
use dupack_engine::Watch;
use dupack_lab::experiment::SenderOptions;
use dupack_lab::run::Interrupt;
use dupack_lab::units::{Buffer, Delay};
use dupack_tcp::time::Duration;

use crate::experiment::{Captured, Written, write};
use crate::whatif::course::{self, Course};
use crate::whatif::{
    Answer, Bound, Checked, Estimate, Gain, Gate, Offer, Passed, Quantity, Reason, Role, WhatIf,
    usual_stacks,
};
use crate::words;
use dupack_diagnosis::analyse::budget::Group;
use dupack_diagnosis::findings::StreamFindings;
use dupack_diagnosis::sender::{
    Candidate, Control, Identification, InitialBound, SenderReport, TimeoutRule, Traits,
};
use dupack_diagnosis::told::Told;
use dupack_diagnosis::untold::Untold;

/// Sender of the experiment file if the captured sender is unknown: the most common sender.
const USUAL: (&str, Dialect) = ("rack/cubic", Dialect::Linux);

/// Maximum distance of a candidate's score from the best score, as a natural logarithm. Candidates within this distance
/// may also be right (our choice: about the lead that a candidate needs to be named).
const BEHIND: f64 = 3.0;

/// Difference between the scores of each dialect and the previous one, as a natural logarithm, if the capture does not
/// distinguish the dialects (our choice: three quarters of the hosts that send large amounts of data follow Linux's
/// rules).
const PER_DIALECT: f64 = 1.1;

/// Maximum number of senders that are simulated (our choice: each simulation takes some seconds).
const TRIED: usize = 12;

/// Largest initial window, in segments, that RFC 3390 or RFC 2581 permits. Only ns-2's dialect still uses such a
/// window.
const SMALL_INITIAL: u32 = 4;

/// Minimum retransmission timeout of RFC 6298 §2.4.
const ONE_SECOND: Duration = Duration::from_secs(1);

/// Outcome of a question.
#[derive(Debug)]
pub enum Asked {
    /// The answers, with the shortest duration first. Unreliable answers come last.
    Answered(Vec<Answer>),
    /// There is no answer. The text gives the reason.
    Refused(String),
    /// The question was interrupted before there was an answer.
    Interrupted,
}

/// Returns the senders that may have been captured, the likeliest first, as stacks of experiments. The result is empty
/// if no sender that can be simulated fits.
#[must_use]
pub fn captured(stream: &StreamFindings) -> Vec<Captured> {
    let report = &stream.sender;
    let controls = fitting(&report.control, Control::includes);
    let controls = controls.into_iter();
    let controls: Vec<(&str, f64)> = controls
        .map(|(control, behind)| (control.in_stack(), behind))
        .collect();
    let mut recoveries = fitting(&report.recovery, |name, other| name == other);
    if stream.path.losses == 0 {
        // Without losses, all loss recoveries behave in the same way.
        recoveries.truncate(1);
    }
    let mut stacks: Vec<(f64, String, Dialect)> = Vec::new();
    for (n, dialect) in dialects(&report.traits).into_iter().enumerate() {
        for (recovery, behind) in &recoveries {
            for (control, further) in &controls {
                let behind = behind + further + n as f64 * PER_DIALECT;
                stacks.push((behind, format!("{recovery}/{control}"), dialect));
            }
        }
    }
    stacks.sort_by(|one, other| one.0.total_cmp(&other.0));
    stacks.dedup_by(|one, other| one.1 == other.1 && one.2 == other.2);
    let stacks = stacks.into_iter().take(TRIED);
    let sender = options(report);
    let all = stacks.map(|(behind, stack, dialect)| Captured {
        stack,
        dialect,
        sender,
        behind,
    });
    all.collect()
}

/// `true` if the report names a single sender and not a family. If `losses` is 0, only the congestion control needs a
/// name, because without losses, all loss recoveries behave in the same way.
fn is_named(report: &SenderReport, losses: u64) -> bool {
    let is_one = |control: Control| !control.is_family();
    report.control.name.is_some_and(is_one) && (losses == 0 || report.recovery.name.is_some())
}

/// Returns the candidates that fit, the likeliest first, each with its distance from the best score. If the verdict has
/// a name, only candidates that this name includes are returned.
fn fitting<N: Copy>(verdict: &Identification<N>, includes: fn(N, N) -> bool) -> Vec<(N, f64)> {
    let included = |c: &&Candidate<N>| verdict.name.is_none_or(|name| includes(name, c.name));
    let candidates = verdict.candidates.iter().filter(included);
    let best = candidates.clone().next().map_or(0.0, |best| best.score);
    let behind = |candidate: &Candidate<N>| (candidate.name, best - candidate.score);
    let all = candidates.map(behind);
    all.take_while(|(_, behind)| *behind <= BEHIND).collect()
}

/// Returns the dialects that fit, the likeliest first.
fn dialects(traits: &Traits) -> Vec<Dialect> {
    let initial = traits.initial_segments;
    let small = traits.initial_is_window == Some(InitialBound::Window)
        && initial.is_some_and(|n| n <= SMALL_INITIAL);
    let large = initial.is_some_and(|n| n > SMALL_INITIAL);
    match traits.least_timeout.map(|least| least.rule) {
        Some(TimeoutRule::Linux) => vec![Dialect::Linux],
        Some(TimeoutRule::OneSecond) => vec![Dialect::Rfc],
        // Linux measures the timeout from the departure of the first missing segment, so the timer expires sooner after
        // the last ACK.
        Some(TimeoutRule::Short) if large => vec![Dialect::Linux, Dialect::Ns2],
        Some(TimeoutRule::Short) => vec![Dialect::Ns2],
        Some(TimeoutRule::Other) | None if small => vec![Dialect::Ns2, Dialect::Rfc],
        Some(TimeoutRule::Other) | None => vec![Dialect::Linux, Dialect::Rfc],
    }
}

fn options(report: &SenderReport) -> SenderOptions {
    let traits = &report.traits;
    let window = traits.initial_is_window == Some(InitialBound::Window);
    let segments = traits.initial_segments.filter(|_| window);
    let rule = traits.least_timeout.map(|least| least.rule);
    let least = (rule == Some(TimeoutRule::OneSecond)).then_some(ONE_SECOND);
    SenderOptions {
        initial_window: segments.map(Buffer::Packets),
        min_rto: least.map(|least| Delay::from_nanos(least.as_nanos())),
        ..SenderOptions::default()
    }
}

/// Returns the path of a stream as an experiment with the captured sender, or with the most common sender if the
/// captured one is unknown.
#[must_use]
pub fn experiment(stream: &StreamFindings) -> Written {
    let usual = || Captured {
        stack: USUAL.0.to_owned(),
        dialect: USUAL.1,
        sender: SenderOptions::default(),
        behind: 0.0,
    };
    let captured = captured(stream).into_iter().next();
    let captured = captured.unwrap_or_else(usual);
    write(&stream.path, &captured)
}

/// Error: the capture does not show the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path cannot be determined: {why}")]
pub struct NoPath {
    why: &'static str,
    /// Description of a capture that would show the path.
    pub remedy: &'static str,
}

/// Returns the reason why the path is unknown, or `None` if the path is known. Experiments and simulations need a known
/// path.
#[must_use]
pub fn no_path(stream: &StreamFindings) -> Option<NoPath> {
    use Untold::{Contradictory, PacketsMissing, WithoutAcks};
    let untold = stream.limits_untold();
    if let Some(untold @ (WithoutAcks | PacketsMissing | Contradictory)) = untold {
        let (why, remedy) = (untold.why(), untold.remedy());
        return Some(NoPath { why, remedy });
    }
    match stream.path.least_rtt {
        Told::CannotBeTold { why, remedy } => Some(NoPath { why, remedy }),
        Told::Between { .. } | Told::AtLeast { .. } => None,
    }
}

/// Returns the files of [`experiment`]. The experiment file itself is called `name`.
///
/// # Errors
/// If the path is unknown. The experiment would then describe a different path.
pub fn experiment_files(
    stream: &StreamFindings,
    name: PathBuf,
) -> Result<Vec<(PathBuf, String)>, NoPath> {
    if let Some(untold) = no_path(stream) {
        return Err(untold);
    }
    let written = experiment(stream);
    let own = (name, written.toml());
    Ok(std::iter::once(own).chain(written.files).collect())
}

/// Predicts the time that each of `stacks` would have taken. If `stacks` is `None`, the stacks that Linux supports are
/// predicted.
///
/// # Errors
/// Returns a message if a stack cannot run on the path.
pub fn ask(
    stream: &StreamFindings,
    catalog: &Catalog,
    stacks: Option<&[StackSpec]>,
    progress: &dyn Watch,
    interrupt: &Interrupt,
) -> Result<Asked, String> {
    if let Some(untold) = no_path(stream) {
        return Ok(Asked::Refused(untold.to_string()));
    }
    let captured = captured(stream);
    if captured.is_empty() {
        return Ok(Asked::Refused(NO_SENDER.to_owned()));
    }
    let mut question = WhatIf::of_any(&stream.path, &captured, catalog);
    question.is_named = is_named(&stream.sender, stream.path.losses);
    let passed = match question.gate(progress, interrupt) {
        Gate::Passed(passed) => passed,
        Gate::Refused { reason, checked } => {
            let mut why = refusal(&reason, &checked);
            if reason == Reason::Differs {
                let transfer = &stream.path.transfer;
                let acknowledged = (transfer.bytes, transfer.duration);
                why.extend(acknowledged_only(acknowledged, stream.shares.duration()));
            }
            return Ok(Asked::Refused(why));
        }
        Gate::Interrupted => return Ok(Asked::Interrupted),
    };
    let usual = usual_stacks(catalog);
    let asked_for = stacks.unwrap_or(&usual);
    let Some(stacks) = with_captured(asked_for, &passed) else {
        let is = if captured.len() > 1 { "may be" } else { "is" };
        return Ok(Asked::Refused(format!(
            "{} {is} the captured sender, and no other stack was requested",
            passed
                .likeliest()
                .map(ToString::to_string)
                .unwrap_or_default()
        )));
    };
    let Some(mut answers) = passed.ask(&stacks, progress, interrupt)? else {
        return Ok(Asked::Interrupted);
    };
    answers.sort_by(|a, b| {
        let rank = |answer: &Answer| (answer.offer != Offer::Given, answer.duration.mean);
        let ((one, mean), (other, than)) = (rank(a), rank(b));
        one.cmp(&other).then(mean.total_cmp(&than))
    });
    let shares = &stream.shares;
    let silent = (shares.of_group(Group::Application), shares.duration());
    if let Some(why) = faster_than_its_application(&answers, silent) {
        return Ok(Asked::Refused(why));
    }
    reply(&mut answers, &passed, interrupt)?;
    Ok(Asked::Answered(answers))
}

/// Minimum duration of a simulated transfer, as a fraction of the time in which the application sends nothing (our
/// choice: the times of ACKs may differ by a few round trips).
const APPLICATION_PART: f64 = 0.95;

/// Returns a reason for refusing an answer if a simulated transfer takes less time than the time in which the
/// application sent nothing. In this case, one of the two durations must be wrong. `silent` is the time without data
/// from the application, and the whole time.
fn faster_than_its_application(answers: &[Answer], silent: (Duration, Duration)) -> Option<String> {
    let (silent, of) = silent;
    let given = answers.iter().filter(|answer| answer.offer == Offer::Given);
    let least = given.map(|answer| answer.duration.mean).reduce(f64::min)?;
    (least < APPLICATION_PART * silent.as_secs_f64()).then(|| {
        format!(
            "the application sent nothing for {} of {}, but simulated transfers take {}: the two contradict each other",
            words::time(silent),
            words::time(of),
            words::seconds(least)
        )
    })
}

/// Returns the captured stack and the other stacks of `stacks`, or `None` if there are no other stacks.
fn with_captured(stacks: &[StackSpec], passed: &Passed<'_>) -> Option<Vec<StackSpec>> {
    let captured = passed.likeliest()?;
    let name = captured.to_string();
    let others = stacks.iter().filter(|stack| stack.to_string() != name);
    let all: Vec<StackSpec> = std::iter::once(captured).chain(others).cloned().collect();
    (all.len() > 1).then_some(all)
}

/// Number of stacks for which single answers are predicted: the fastest stacks (our choice: a prediction takes time).
const REPLIES_TOLD: usize = 3;

/// Predicts the single answers with the fastest stacks, if the connection has turns. The predictions are added to
/// `answers`.
fn reply(answers: &mut [Answer], passed: &Passed<'_>, interrupt: &Interrupt) -> Result<(), String> {
    let given = answers.iter_mut();
    let given =
        given.filter(|answer| answer.offer == Offer::Given && answer.role != Role::Captured);
    let mut first: Vec<&mut Answer> = given.take(REPLIES_TOLD).collect();
    let stacks: Vec<StackSpec> = first.iter().map(|answer| answer.stack.clone()).collect();
    if stacks.is_empty() {
        return Ok(());
    }
    if let Some(all) = passed.replies(&stacks, interrupt)? {
        for (answer, replies) in first.iter_mut().zip(all) {
            answer.replies = Some(replies);
        }
    }
    Ok(())
}

/// Number of predicted stacks whose transfer is shown over time.
const COURSES: usize = 2;

/// Returns the transfer over time, in simulations of the captured sender and of the fastest stacks. The result is empty
/// if there was no answer.
#[must_use]
pub fn courses(stream: &StreamFindings, asked: &Asked, catalog: &Catalog) -> Vec<Course> {
    let Asked::Answered(answers) = asked else {
        return Vec::new();
    };
    let passed = answers.first().map_or(&[][..], |answer| &answer.senders);
    let mut senders = captured(stream).into_iter();
    let Some(sender) = senders.find(|sender| passed.contains(&sender.name())) else {
        return Vec::new();
    };
    let given = answers.iter().filter(|answer| answer.offer == Offer::Given);
    let fastest = given.map(|answer| answer.stack.to_string());
    let fastest = fastest.filter(|stack| *stack != sender.stack).take(COURSES);
    let stacks: Vec<String> = std::iter::once(sender.stack.clone())
        .chain(fastest)
        .collect();
    // The stacks have answers, so they can be run and there is no error.
    course::courses(&stream.path, &sender, &stacks, catalog).unwrap_or_default()
}

/// Reason for refusing an answer if no sender fits.
const NO_SENDER: &str = "the captured sender cannot be identified, so its simulation cannot be compared with the capture";

/// Reason for not offering a prediction whose confidence interval is wide.
pub(crate) const TOO_WIDE: &str = "the capture does not show the path precisely enough";

fn refusal(reason: &Reason, checked: &[Checked]) -> String {
    match reason {
        Reason::NothingTransferred => "no data was acknowledged".to_owned(),
        Reason::NoRoundTrip => "the least round-trip time is unknown".to_owned(),
        Reason::PerhapsShared => {
            "other traffic, possibly the other direction of this connection, may share the bottleneck, and may react differently \
             to another sender"
                .to_owned()
        }
        Reason::VariesUnseen => {
            "the rate of the path varies, and the sender did not fill the path for long enough to show how"
                .to_owned()
        }
        Reason::NoSuchSender(why) => format!("the captured sender cannot be simulated: {why}"),
        Reason::Impossible(why) => {
            format!("the captured sender cannot be simulated on this path: {why}")
        }
        Reason::Differs => {
            let beyond = checked.iter().filter(|one| one.bound() == Bound::Beyond);
            let beyond: Vec<String> = beyond.map(differs).collect();
            format!(
                "the captured sender behaves differently if it is simulated on the path that the capture shows: {}",
                beyond.join(", ")
            )
        }
    }
}

/// Returns a remark if the compared part of the transfer took less than half of the `whole` time. The comparison ends
/// at the last acknowledgment of data.
fn acknowledged_only((bytes, took): (u64, Duration), whole: Duration) -> Option<String> {
    (took + took < whole).then(|| {
        format!(
            "; only acknowledged data is compared: {} in {}",
            words::bytes(bytes as f64),
            words::time(took)
        )
    })
}

fn differs(checked: &Checked) -> String {
    let Checked {
        captured,
        simulated,
        allowed,
        ..
    } = *checked;
    let say = |value: f64| match checked.quantity {
        Quantity::Duration => words::seconds(value),
        Quantity::Goodput => words::rate(value * 1e6),
        Quantity::Losses | Quantity::Timeouts => format!("{value:.0}"),
    };
    let what = match checked.quantity {
        Quantity::Duration => "duration",
        Quantity::Goodput => "goodput",
        Quantity::Losses => "losses",
        Quantity::Timeouts => "timeouts",
    };
    format!(
        "{what} {} instead of {} ± {}",
        say(simulated),
        say(captured),
        say(allowed)
    )
}

/// Returns an answer in words: `"rack/cubic would have taken 14.7 s (13.9 to 15.5 s)"`.
#[must_use]
pub fn in_words(answer: &Answer) -> String {
    let stack = &answer.stack;
    match answer.offer {
        Offer::Given if answer.role == Role::Captured => format!(
            "{stack}, the captured sender, takes {} in simulations",
            duration(answer)
        ),
        Offer::Given => {
            let may_be = match answer.role {
                Role::PerhapsCaptured if answer.gain() == Gain::None => {
                    let takes = duration(answer);
                    return format!(
                        "{stack}, which may be the captured sender, takes {takes} in simulations"
                    );
                }
                Role::PerhapsCaptured => ", which may be the captured sender,",
                Role::Captured | Role::Another => "",
            };
            let (duration, compared) = (duration(answer), compared(answer));
            format!("{stack}{may_be} would have taken {duration}, {compared}")
        }
        Offer::TooWide => format!("{stack}: {TOO_WIDE}"),
        Offer::FarSlower => format!(
            "{stack}: several times slower than the {} captured",
            words::seconds(answer.captured)
        ),
        Offer::DoesNotEnd => format!("{stack}: its transfer does not end"),
    }
}

/// Returns the difference from the captured transfer, with its confidence interval: `"34 % (29 to 39 %) less than the
/// 35 s captured"`.
#[must_use]
pub fn compared(answer: &Answer) -> String {
    let captured = words::seconds(answer.captured);
    let Estimate { mean, low, high } = answer.change();
    let by = |shares: [f64; 3]| {
        let [mean, low, high] = shares.map(words::share);
        words::with_interval(&mean, &low, &high)
    };
    match answer.gain() {
        Gain::Faster => format!(
            "{} less than the {captured} captured",
            by([-mean, -high, -low])
        ),
        Gain::Slower => format!(
            "{} more than the {captured} captured",
            by([mean, low, high])
        ),
        Gain::None if answer.contains_captured() => {
            format!("no significant difference from the {captured} captured")
        }
        Gain::None if answer.is_rivalled => {
            "no significant difference from a stack that may be the captured sender".to_owned()
        }
        // The captured transfer was faster or slower than most simulations of its sender only by chance.
        Gain::None => format!(
            "no significant difference from the captured sender in simulations, which differ from the {captured} captured"
        ),
    }
}

/// Returns a sentence about the single answers of a connection with turns: `"the longest of 40 answers would have taken
/// 210 ms instead of 1.2 s, and the median 45 ms instead of 44 ms, and 3 would have arrived sooner, answer 23 with the
/// largest gain of 1 s"`. Returns `None` if no answer would have arrived sooner.
#[must_use]
pub fn replies_in_words(answer: &Answer) -> Option<String> {
    let replies = answer.replies.as_ref()?;
    let seconds = words::seconds;
    let (median, longest) = replies.captured;
    let (its_median, its_longest) = replies.predicted;
    // If no answer would have arrived sooner, there is nothing to report.
    let most = replies.most.first()?;
    let mut text = format!(
        "with {}, the longest of {} answers would have taken {} instead of {}, and the median {} instead of {}",
        answer.stack,
        replies.count,
        seconds(its_longest),
        seconds(longest),
        seconds(its_median),
        seconds(median)
    );
    let by = most.captured - most.duration.mean;
    let _ = write!(
        text,
        ", and {} would have arrived sooner, answer {} with the largest gain of {}",
        replies.sooner,
        most.number,
        seconds(by)
    );
    Some(text)
}

/// Returns the predicted duration with its confidence interval.
#[must_use]
pub fn duration(answer: &Answer) -> String {
    let Estimate { mean, low, high } = answer.duration;
    let [mean, low, high] = [mean, low, high].map(words::seconds);
    words::with_interval(&mean, &low, &high)
}

/// Returns the commands that enable a stack in Linux. The result is empty if Linux does not support the stack.
#[must_use]
pub fn commands(stack: &StackSpec) -> Vec<String> {
    let deployment = Deployment::of(stack);
    match deployment.is_possible() {
        true => deployment.commands(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
