//! The check of a comparison on real packets: the command of `dupack testbed` that has its path, and
//! what of it the testbed does not have.

use dupack_engine::quoted;
use dupack_lab::experiment::{Direction, Experiment, LinkOptions, QueueKind};
use dupack_lab::units::Probability;

/// How wide a command is broken where nobody knows how wide the terminal is.
const USUAL_WIDTH: usize = 100;

/// A command of `dupack testbed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireCheck {
    /// What follows `dupack testbed`: flags, each with its value.
    flags: Vec<(&'static str, String)>,
    /// What of the comparison the testbed does not have, a few words each.
    pub without: Vec<String>,
    /// The modules that its senders' congestion controls are in.
    modules: Vec<String>,
    /// Points that no testbed can have, in a sentence.
    pub left_out: Option<String>,
}

impl WireCheck {
    /// The path of `experiment` between `senders`; nothing, if it has no single path that a testbed could
    /// have, or only one that loses all.
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
            format!("Without the loss of {hopeless}: a path that loses all carries nothing.")
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
                "a link that is open at times",
            ),
            (
                path.thin_acks.is_some() || thin_acks.is_some(),
                "ACKs dropped on purpose",
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
            (lies, "a receiver that lies"),
            (
                !experiment.udp.is_empty() || !experiment.media.is_empty(),
                "other traffic",
            ),
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

    /// The same with these modules, which the kernel's senders want first.
    #[must_use]
    pub fn needing(mut self, modules: impl IntoIterator<Item = String>) -> Self {
        for module in modules {
            if !self.modules.contains(&module) {
                self.modules.push(module);
            }
        }
        self
    }

    /// What its lines take beside what every testbed does, in brackets.
    #[must_use]
    pub const fn rights(&self) -> &'static str {
        match self.modules.is_empty() {
            true => "",
            false => WANTS_ROOT,
        }
    }

    /// The command in one line.
    #[must_use]
    pub fn command(&self) -> String {
        self.broken(usize::MAX)
    }

    /// The same for a terminal of this width, after a line for each module: lines end with a backslash
    /// where it goes on, so that it can be pasted.
    #[must_use]
    pub fn lines(&self, width: Option<u16>) -> String {
        let modules = self.modules.iter();
        let mut lines: Vec<String> = modules.map(|module| load(module)).collect();
        lines.push(self.broken(width.map_or(USUAL_WIDTH, usize::from)));
        lines.join("\n")
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

/// The loss probabilities, as a flag takes them: those of paths that carry something, and the others.
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

/// Said where a module is loaded.
pub const WANTS_ROOT: &str = " (modprobe wants root)";

/// What loads a module of the kernel, as root.
#[must_use]
pub fn load(module: &str) -> String {
    format!("modprobe {module}")
}
