//! The check of a comparison on real packets: the command of `dupack testbed` that has its path, and
//! what of it the testbed does not have.

use dupack_lab::experiment::{Direction, Experiment, LinkOptions, QueueKind};

/// How wide a command is broken where nobody knows how wide the terminal is.
const USUAL_WIDTH: usize = 100;

/// A command of `dupack testbed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireCheck {
    /// What follows `dupack testbed`: flags, each with its value.
    flags: Vec<(&'static str, String)>,
    /// What of the comparison the testbed does not have, a few words each.
    pub without: Vec<String>,
}

impl WireCheck {
    /// The path of `experiment` between `senders`; nothing, if it has no single path that a testbed could
    /// have.
    #[must_use]
    pub fn of(experiment: &Experiment, senders: &[String]) -> Option<Self> {
        let path = experiment.path.as_ref()?;
        let mut check = Self {
            flags: Vec::new(),
            without: Vec::new(),
        };
        let rate = path.rate.map(|rate| rate.to_string());
        let trace = path.trace.as_ref().map(|file| file.display().to_string());
        check.flag("--rate", experiment, "path.rate", rate);
        check.flag("--trace", experiment, "path.trace", trace);
        check.flag(
            "--delay",
            experiment,
            "path.delay",
            Some(path.delay.to_string()),
        );
        let buffer = path.buffer.map(|buffer| buffer.to_string());
        if buffer.is_none() && !experiment.varies("path.buffer") {
            check.without.push("a buffer without end".to_owned());
        }
        check.flag("--buffer", experiment, "path.buffer", buffer);
        check.flags.push(("--loss", losses(experiment, path)));
        if let Some(reorder) = &path.reorder {
            check
                .flags
                .push(("--reorder", reorder.probability.to_string()));
            check
                .flags
                .push(("--reorder-delay", reorder.delay.to_string()));
        }
        let window = experiment.receiver.buffer.map(|buffer| buffer.to_string());
        check.flag("--receive-window", experiment, "receiver.buffer", window);
        check
            .flags
            .push(("--dialect", experiment.dialect.to_string()));
        check.flags.push(("--senders", senders.join(",")));
        check.lacks_of_path(path);
        check.lacks_of_ends(experiment);
        check.lacks_of_sweep(experiment);
        Some(check)
    }

    /// A flag with the value of `key`, or the first of those that it takes one after the other.
    fn flag(
        &mut self,
        flag: &'static str,
        experiment: &Experiment,
        key: &str,
        fixed: Option<String>,
    ) {
        let swept = experiment.sweep.get(key).and_then(|values| values.first());
        let value = swept.map(ToString::to_string).or(fixed);
        self.flags.extend(value.map(|value| (flag, value)));
    }

    fn lacks_of_path(&mut self, path: &LinkOptions) {
        let Direction {
            rate,
            trace,
            delay,
            buffer,
            queue,
            loss,
            burst_loss,
            drop,
            ..
        } = path.reverse.clone().unwrap_or_default();
        let back = [
            (
                rate.is_some() || trace.is_some(),
                "another rate or trace for ACKs",
            ),
            (
                delay.is_some() || buffer.is_some(),
                "another delay or buffer for ACKs",
            ),
            (
                queue != QueueKind::default(),
                "a queue other than drop-tail for ACKs",
            ),
            (
                loss.as_fraction() > 0.0 || burst_loss.is_some() || !drop.is_empty(),
                "lost ACKs",
            ),
        ];
        let forward = [
            (
                path.queue != QueueKind::default(),
                "a queue other than drop-tail",
            ),
            (path.burst_loss.is_some(), "losses in bursts"),
            (!path.drop.is_empty(), "losses by list"),
            (path.duplicate.as_fraction() > 0.0, "duplicated packets"),
            (path.jitter.as_seconds() > 0.0, "jitter"),
        ];
        self.add(back.into_iter().chain(forward));
    }

    fn lacks_of_ends(&mut self, experiment: &Experiment) {
        let (sender, receiver) = (&experiment.sender, &experiment.receiver);
        let flows: u64 = experiment
            .flows
            .iter()
            .map(|group| u64::from(group.count))
            .sum();
        let plain = dupack_lab::experiment::SenderOptions::default();
        self.add([
            (flows > 1, "several flows at once"),
            (!experiment.udp.is_empty(), "other traffic"),
            (experiment.access.is_some(), "access links"),
            (
                receiver.delayed_ack.is_some(),
                "a delay of ACKs other than the kernel's",
            ),
            (*sender != plain, "settings of the sender"),
        ]);
        let seconds = experiment.duration;
        self.without.push(format!(
            "a run of {seconds}: it transfers 20MB, or what --bytes says"
        ));
    }

    fn lacks_of_sweep(&mut self, experiment: &Experiment) {
        let keys = experiment.sweep.keys();
        for key in keys.filter(|key| *key != "path.loss") {
            self.without.push(format!("several values of {key}"));
        }
        if !experiment.points.is_empty() {
            self.without.push("its list of points".to_owned());
        }
    }

    fn add<'a>(&mut self, lacks: impl IntoIterator<Item = (bool, &'a str)>) {
        let there = lacks.into_iter().filter(|(is_there, _)| *is_there);
        self.without.extend(there.map(|(_, what)| what.to_owned()));
    }

    /// The command in one line.
    #[must_use]
    pub fn command(&self) -> String {
        self.broken(usize::MAX)
    }

    /// The same for a terminal of this width: lines end with a backslash where it goes on, so that it can
    /// be pasted.
    #[must_use]
    pub fn lines(&self, width: Option<u16>) -> String {
        self.broken(width.map_or(USUAL_WIDTH, usize::from))
    }

    /// In lines of at most `width` columns, if no single flag is longer.
    fn broken(&self, width: usize) -> String {
        /// What the end of a line that goes on takes.
        const END: usize = 2;
        let mut text = String::from("dupack testbed");
        let mut column = text.len();
        for (flag, value) in &self.flags {
            let word = format!("{flag} {}", quoted(value));
            let length = word.chars().count();
            if column.saturating_add(1 + length + END) > width {
                text += " \\\n   ";
                column = 3;
            }
            text.push(' ');
            text += &word;
            column += 1 + length;
        }
        text
    }

    /// What of the comparison is not in it, in a sentence.
    #[must_use]
    pub fn caution(&self) -> String {
        format!(
            "The testbed does not have of this comparison: {}.",
            self.without.join("; ")
        )
    }
}

/// The loss probabilities, as a flag takes them.
fn losses(experiment: &Experiment, path: &LinkOptions) -> String {
    let Some(swept) = experiment.sweep.get("path.loss") else {
        return path.loss.to_string();
    };
    let all: Vec<String> = swept.iter().map(ToString::to_string).collect();
    all.join(",")
}

/// `text` for a shell, in quotes if it needs them.
#[must_use]
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:/%@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
