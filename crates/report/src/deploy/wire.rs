//! Check of a comparison on real packets: the command of `dupack testbed` with the path of the comparison, and the
//! parts of the comparison that the testbed does not support.

use dupack_engine::quoted;
use dupack_lab::experiment::{Direction, Experiment, LinkOptions, QueueKind};
use dupack_lab::units::Probability;

/// Width in columns at which a command is broken if the width of the terminal is unknown.
const USUAL_WIDTH: usize = 100;

/// A command of `dupack testbed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireCheck {
    /// Flags after `dupack testbed`, each with its value.
    flags: Vec<(&'static str, String)>,
    /// Parts of the comparison that the testbed does not support, in a few words each.
    pub without: Vec<String>,
    /// Kernel modules of the senders' congestion controls.
    modules: Vec<String>,
    /// Sentence about the points that are left out because their path delivers nothing.
    pub left_out: Option<String>,
}

impl WireCheck {
    /// Returns the check of `senders` on the path of `experiment`. Returns `None` if the experiment has no single path,
    /// or if the path loses every packet.
    #[must_use]
    pub fn of(experiment: &Experiment, senders: &[String]) -> Option<Self> {
        let path = experiment.path.as_ref()?;
        let mut check = Self {
            flags: Vec::new(),
            without: Vec::new(),
            modules: Vec::new(),
            left_out: None,
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
        check.flag("--buffer", experiment, "path.buffer", buffer);
        let (carrying, hopeless) = losses(experiment, path);
        if carrying.is_empty() {
            return None;
        }
        check.left_out = (!hopeless.is_empty()).then(|| {
            let hopeless = hopeless.join(" and ");
            format!("The loss of {hopeless} is left out, because such a path delivers nothing.")
        });
        check.flags.push(("--loss", carrying.join(",")));
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

    /// Adds a flag with the value of `key`. If `key` is swept, adds its first value.
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
            changes,
            duty,
            thin_acks,
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
            (
                !path.changes.is_empty() || changes.is_some(),
                "changes of the link",
            ),
            (
                path.duty.is_some() || duty.is_some(),
                "a link with a duty cycle",
            ),
            (
                path.thin_acks.is_some() || thin_acks.is_some(),
                "ACK thinning",
            ),
            (path.burst_loss.is_some(), "burst losses"),
            (!path.drop.is_empty(), "listed losses"),
            (path.duplicate.as_fraction() > 0.0, "duplicated packets"),
            (path.jitter.as_seconds() > 0.0, "jitter"),
        ];
        self.add(back.into_iter().chain(forward));
    }

    fn lacks_of_ends(&mut self, experiment: &Experiment) {
        let (sender, receiver) = (&experiment.sender, &experiment.receiver);
        let groups = &experiment.flows;
        let flows: u64 = groups.iter().map(|group| u64::from(group.count)).sum();
        let lies = receiver.lie.is_some();
        let plain = dupack_lab::experiment::SenderOptions::default();
        self.add([
            (flows > 1, "several flows at once"),
            (
                groups.iter().any(|group| group.web.is_some()),
                "short flows",
            ),
            (lies, "a misbehaving receiver"),
            (
                !experiment.udp.is_empty() || !experiment.media.is_empty(),
                "other traffic",
            ),
            (experiment.access.is_some(), "access links"),
            (
                receiver.delayed_ack.is_some(),
                "a delayed-ACK timeout other than the kernel's",
            ),
            (*sender != plain, "sender settings"),
        ]);
        let seconds = experiment.duration;
        self.without.push(format!(
            "a duration of {seconds} (it transfers 20MB, or the amount of --bytes)"
        ));
    }

    fn lacks_of_sweep(&mut self, experiment: &Experiment) {
        let keys = experiment.sweep.keys();
        for key in keys.filter(|key| *key != "path.loss") {
            self.without.push(format!("several values of {key}"));
        }
        if !experiment.points.is_empty() {
            self.without.push("the list of points".to_owned());
        }
    }

    fn add<'a>(&mut self, lacks: impl IntoIterator<Item = (bool, &'a str)>) {
        let there = lacks.into_iter().filter(|(is_there, _)| *is_there);
        self.without.extend(there.map(|(_, what)| what.to_owned()));
    }

    /// Returns the check with additional kernel modules that the kernel's senders need.
    #[must_use]
    pub fn needing(mut self, modules: impl IntoIterator<Item = String>) -> Self {
        for module in modules {
            if !self.modules.contains(&module) {
                self.modules.push(module);
            }
        }
        self
    }

    /// Returns the note, in brackets, on the additional privileges that the lines need.
    #[must_use]
    pub const fn rights(&self) -> &'static str {
        match self.modules.is_empty() {
            true => "",
            false => NEEDS_ROOT,
        }
    }

    /// Returns the command on one line.
    #[must_use]
    pub fn command(&self) -> String {
        self.broken(usize::MAX)
    }

    /// Returns one line for each kernel module, and then the command for a terminal of this width. A line that
    /// continues ends with a backslash, so that the command can be pasted.
    #[must_use]
    pub fn lines(&self, width: Option<u16>) -> String {
        let modules = self.modules.iter();
        let mut lines: Vec<String> = modules.map(|module| load(module)).collect();
        lines.push(self.broken(width.map_or(USUAL_WIDTH, usize::from)));
        lines.join("\n")
    }

    /// Returns the command in lines of at most `width` columns, unless a single flag is longer.
    fn broken(&self, width: usize) -> String {
        /// Number of columns that ` \` takes at the end of a line that continues.
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

    /// Returns a sentence about the parts of the comparison that the testbed does not support.
    #[must_use]
    pub fn caution(&self) -> String {
        format!(
            "The testbed does not support these parts of this comparison: {}.",
            self.without.join("; ")
        )
    }
}

/// Returns the loss probabilities in the syntax of the flag: first those below 100 %, then those of 100 %.
fn losses(experiment: &Experiment, path: &LinkOptions) -> (Vec<String>, Vec<String>) {
    let all: Vec<String> = match experiment.sweep.get("path.loss") {
        Some(swept) => swept.iter().map(ToString::to_string).collect(),
        None => vec![path.loss.to_string()],
    };
    let carries = |loss: &String| {
        let probability = loss.parse::<Probability>();
        probability.map_or(true, |probability| probability.as_fraction() < 1.0)
    };
    all.into_iter().partition(carries)
}

/// Note for commands that load a module.
pub const NEEDS_ROOT: &str = " (modprobe needs root)";

/// Returns the command that loads a kernel module, as root.
#[must_use]
pub fn load(module: &str) -> String {
    format!("modprobe {module}")
}
