//! Path of a capture as an experiment file, for `run`, `trace`, `compare`, `testbed` and `evaluate`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use dupack_algorithms::catalog::Dialect;
use dupack_diagnosis::path::writes::{Rhythm, are_answers, rhythm};
use dupack_diagnosis::path::{Path, Transfer};
use dupack_diagnosis::told::Told;
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{
    Acks, AppWrite, BurstLoss, Experiment, FlowGroup, LinkOptions, QueueKind, Reorder, Seeds,
    SenderOptions, Starts, TokenBucketOptions,
};
use dupack_lab::units::{Buffer, ByteCount, Delay, Probability, Rate};
use dupack_tcp::time::Duration;

use crate::whatif::values::{Losing, Values};

/// File name of a path's trace. The file is in the folder of the experiment.
const TRACE: &str = "path.trace";

/// Maximum simulated time of a transfer, as a multiple of the captured duration (our choice). It is limited to the
/// range from [`DURATION_MIN`] to [`DURATION_MAX`]. A transfer that does not end within this time has no duration.
const TIMES_AS_LONG: u64 = 20;
const DURATION_MIN: Duration = Duration::from_secs(60);
const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);

/// Size in bytes of an ACK with timestamps and no other options.
const ACK_BYTES: f64 = 52.0;

/// Number of seeds in the file, the usual number for experiments with confidence intervals.
const SEEDS: u32 = 20;

/// The properties of a captured sender that a simulation needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// Stack of the sender.
    pub stack: String,
    /// Rules of the sender for which TCP implementations differ.
    pub dialect: Dialect,
    /// Other parameters of the sender, such as the initial window.
    pub sender: SenderOptions,
    /// Distance of the sender's score from the likeliest sender's score, as a natural logarithm. It is 0 for the
    /// likeliest sender.
    pub behind: f64,
}

impl Captured {
    /// Returns the stack and the dialect of the sender.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} ({})", self.stack, self.dialect.name())
    }
}

/// A path as files.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// The experiment.
    pub experiment: Experiment,
    /// The files that the experiment names, by their paths relative to its folder.
    pub files: BTreeMap<PathBuf, String>,
    /// Comments. The key is the beginning of the line that follows the comment.
    comments: BTreeMap<&'static str, String>,
}

/// Returns the path with its best estimates, the transfer on this path, and the captured sender.
#[must_use]
pub fn write(path: &Path, captured: &Captured) -> Written {
    let mut written = with(path, &Values::best(path), captured);
    written.comments = comments(path);
    written
}

/// Returns the path with the given values, the transfer on this path, and the captured sender. The result has no
/// comments.
#[must_use]
pub fn with(path: &Path, values: &Values, captured: &Captured) -> Written {
    let mut experiment = Experiment::new(vec![captured.stack.clone()]);
    experiment.title = "The path of a capture, and the transfer on it".to_owned();
    experiment.dialect = captured.dialect;
    experiment.seeds = Seeds::Count(SEEDS);
    experiment.duration = delay(time_to_run(path));
    experiment.starts = Some(Starts::Given);
    let (bottleneck, files) = link(path, values);
    experiment.path = Some(bottleneck);
    experiment.flows = vec![flow(&path.transfer)];
    experiment.sender = SenderOptions {
        segment: Some(ByteCount::from_bytes(path.smss)),
        header: Some(ByteCount::from_bytes(path.headers)),
        timestamps: Some(!path.headers.is_multiple_of(20)),
        ..captured.sender
    };
    let receiver = &mut experiment.receiver;
    receiver.buffer = path.transfer.receive_window.map(Buffer::Bytes);
    match path.acks.delay.value() {
        // The pauses between the answers already include all delays of ACKs.
        _ if are_answers(&path.transfer.writes) => receiver.delayed_ack = Some(Delay::default()),
        Some(Duration::ZERO) => receiver.delayed_ack = Some(Delay::default()),
        _ if captured.dialect == Dialect::Linux => receiver.acks = Some(Acks::Adaptive),
        waited => receiver.delayed_ack = waited.map(delay),
    }
    receiver.sack_compression = path.acks.compresses_sacks().then_some(true);
    Written {
        experiment,
        files,
        comments: BTreeMap::new(),
    }
}

/// Returns the maximum duration of a simulation of this path.
pub(crate) fn time_to_run(path: &Path) -> Duration {
    let long = path.transfer.duration.saturating_mul(TIMES_AS_LONG);
    long.max(DURATION_MIN).min(DURATION_MAX)
}

fn link(path: &Path, values: &Values) -> (LinkOptions, BTreeMap<PathBuf, String>) {
    let full_packet = (path.smss + path.headers) as f64;
    // Both directions of the simulated path have the same rate.
    let transmissions = (full_packet + ACK_BYTES) * 8.0 / values.rate;
    let propagation = (values.least_rtt.as_secs_f64() - transmissions).max(0.0);
    let mut link = LinkOptions {
        rate: Some(Rate::from_bits_per_second(readable(values.rate))),
        delay: delay(rounded(Duration::from_secs_f64(propagation / 2.0))),
        buffer: Some(Buffer::Bytes(readable(values.room)).into()),
        ..LinkOptions::default()
    };
    match values.loss {
        Losing::Single(loss) => link.loss = probability(loss),
        Losing::Bursts { enter, leave } => {
            link.burst_loss = Some(BurstLoss {
                enter: probability(enter),
                leave: probability(leave),
                good: Probability::default(),
                bad: probability(1.0),
            });
        }
    }
    link.reorder = values.held_back.map(|(share, late)| Reorder {
        probability: probability(share),
        delay: delay(rounded(late)),
    });
    if let Some((rate, burst)) = values.policer {
        link.queue = QueueKind::Policer;
        link.token_bucket = Some(TokenBucketOptions {
            rate: Rate::from_bits_per_second(readable(rate)),
            burst: ByteCount::from_bytes(readable(burst.max(full_packet))),
        });
    }
    let mut files = BTreeMap::new();
    if let Some(trace) = path.trace.as_ref().filter(|_| path.varies()) {
        link.rate = None;
        link.trace = Some(PathBuf::from(TRACE));
        files.insert(PathBuf::from(TRACE), trace.clone());
    }
    (link, files)
}

fn comments(path: &Path) -> BTreeMap<&'static str, String> {
    let rate = |rate: f64| format!("{:.4} Mbit/s", rate / 1e6);
    let ms = |span: Duration| format!("{:.3} ms", span.as_secs_f64() * 1e3);
    let share = |p: f64| format!("{:.3} %", p * 100.0);
    let room = "the capacity of the bottleneck's queue";
    let mut comments = BTreeMap::from([
        (
            "rate =",
            said(
                "the bottleneck's rate, including the IP and TCP headers",
                &path
                    .policer
                    .map_or(path.rate, |policer| policer.link)
                    .map(rate),
            ),
        ),
        (
            "trace =",
            "the bottleneck's rate over time, measured while it was busy".to_owned(),
        ),
        (
            "delay =",
            said(
                "half of the least round-trip time minus the transmission times of a packet and its ACK; least round-trip time",
                &path.least_rtt.map(ms),
            ),
        ),
        (
            "buffer =",
            said(
                room,
                &path.room.map(|room| format!("{:.1} packets", room.packets)),
            ),
        ),
        (
            "loss =",
            said(
                "share of the packets that is lost apart from queue overflows",
                &path.random_loss.map(share),
            ),
        ),
        (
            "[path.burst_loss]",
            format!(
                "losses in bursts (Gilbert): {}; {}",
                said("enter", &path.bursts.enter.map(share)),
                said("leave", &path.bursts.leave.map(share))
            ),
        ),
        (
            "[path.reorder]",
            said(
                "share of the packets that is overtaken",
                &path.reordering.share.map(share),
            ),
        ),
        (
            "[receiver]",
            "the receive window, and how the receiver sent ACKs".to_owned(),
        ),
    ]);
    if let Some(policer) = &path.policer {
        let bits = |rate: f64| format!("{:.4} Mbit/s", rate / 1e6);
        let text = format!(
            "a policer: {}; {}",
            said("rate", &policer.rate.map(bits)),
            said(
                "burst",
                &policer.burst.map(|b| format!("{:.1} kB", b / 1e3))
            )
        );
        comments.insert("[path.token_bucket]", text);
    }
    comments
}

impl Written {
    /// Returns the text of the experiment file. A comment with the meaning and the interval precedes each number of the
    /// path.
    #[must_use]
    pub fn toml(&self) -> String {
        let plain = Source::of_flags(&self.experiment).text;
        let mut text = String::from(
            "# Written by `dupack diagnose --path`: the path that a capture shows.\n\n",
        );
        let mut section = "";
        for line in plain.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let of_path = section == "[path]" || line.starts_with('[');
            let comment = self
                .comments
                .iter()
                .find(|(key, _)| line.starts_with(**key));
            if let Some((_, comment)) = comment.filter(|_| of_path) {
                let _ = writeln!(text, "# {comment}");
            }
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

fn said(what: &str, told: &Told<String>) -> String {
    match told {
        Told::Between { value, low, high } => format!("{what}: {value} ({low} to {high})"),
        Told::AtLeast { bound, why, .. } => format!("{what}: at least {bound}, because {why}"),
        Told::CannotBeTold { why, .. } => {
            format!("{what}: cannot be determined, because {why}")
        }
    }
}

/// Returns the flow of a transfer.
fn flow(transfer: &Transfer) -> FlowGroup {
    let mut group = FlowGroup::default();
    if transfer.writes.len() < 2 {
        group.bytes = Some(ByteCount::from_bytes(transfer.bytes.max(1)));
        return group;
    }
    let rhythm = rhythm(&transfer.writes);
    let writes = transfer.writes.iter().enumerate().map(|(n, write)| {
        let by = |of: Rhythm| n > 0 && rhythm == of;
        AppWrite {
            at: by(Rhythm::Clock).then(|| delay(rounded(write.at))),
            after: by(Rhythm::Answers).then(|| delay(rounded(write.after))),
            every: None,
            count: None,
            bytes: ByteCount::from_bytes(write.bytes),
        }
    });
    group.writes = writes.collect();
    group
}

fn delay(span: Duration) -> Delay {
    Delay::from_nanos(span.as_nanos())
}

/// Rounds a number to four digits, for readability.
fn readable(number: f64) -> u64 {
    let digits = number.max(1.0).log10().floor() - 3.0;
    let unit = 10_f64.powf(digits.max(0.0));
    ((number / unit).round() * unit) as u64
}

/// Rounds a duration to a microsecond, which is the usual resolution of captures.
fn rounded(span: Duration) -> Duration {
    span.rounded_to(Duration::from_micros(1))
}

/// Rounds a probability to seven decimal places, for readability.
fn probability(share: f64) -> Probability {
    const DIGITS: f64 = 1e7;
    let rounded = (share * DIGITS).round() / DIGITS;
    Probability::new(rounded.clamp(0.0, 1.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::path_file::PathFile;
    use dupack_lab::run::{Interrupt, Plan};

    use super::*;
    use crate::testing::at_sender;

    fn transfer(path: &str, more: &str) -> String {
        format!(
            "stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"30s\"\ndialect = \"linux\"\n\
             [path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n{path}\n{more}\n"
        )
    }

    fn captured() -> Captured {
        Captured {
            stack: "rack/cubic".to_owned(),
            dialect: dupack_algorithms::catalog::Dialect::Linux,
            sender: dupack_lab::experiment::SenderOptions::default(),
            behind: 0.0,
        }
    }

    #[test]
    fn the_path_is_written_as_an_experiment_that_runs() {
        let bursts = "buffer = \"60pkt\"\nburst_loss = { enter = \"0.3%\", leave = \"30%\" }";
        let policer = "queue = \"policer\"\ntoken_bucket = { rate = \"4Mbit/s\", burst = \"60kB\" }\nbuffer = \"500pkt\"";
        let pauses = "[[flows]]\nwrites = [{ bytes = \"100kB\" }, { after = \"700ms\", bytes = \"80kB\", count = 9 }]";
        for (link, more) in [
            (bursts, ""),
            (policer, ""),
            ("loss = \"1%\"", pauses),
            ("", "[receiver]\nbuffer = \"12kB\""),
        ] {
            let path = at_sender(&transfer(link, more), 1);
            let written = write(&path, &captured());
            let text = written.toml();
            let source = Source::new("path.toml", text.clone());
            let read = source
                .parse()
                .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            assert_eq!(read, written.experiment, "{text}");
            let plan = Plan::new(read, &source, &Catalog::builtin());
            let plan = plan.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            let run = plan.run(plan.jobs()[0], &Interrupt::new()).unwrap();
            let goodput = run
                .values
                .get(dupack_lab::results::Measure::Goodput)
                .unwrap();
            assert!(goodput > 0.0, "{text}");
            assert!(text.contains("# the bottleneck's rate"), "{text}");
            let file = PathFile::of(source, &Catalog::builtin(), &written.files);
            let file = file.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            assert_eq!(Some(file.path), written.experiment.path, "{text}");
            assert_eq!(file.application, written.experiment.flows[0], "{text}");
        }
    }

    #[test]
    fn compression_of_sacks_is_written_to_the_experiment() {
        for held in [false, true] {
            let more = format!("[receiver]\nsack_compression = {held}");
            let text = transfer("buffer = \"60pkt\"\nloss = \"2%\"", &more);
            let written = write(&at_sender(&text, 1), &captured()).experiment;
            assert_eq!(written.receiver.sack_compression, held.then_some(true));
        }
    }
}
