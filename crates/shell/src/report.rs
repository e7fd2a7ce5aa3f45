//! Final report of the shell: goodput, latency, losses by cause, and the lateness of the path.

use std::fmt::{self, Write as _};
use std::path::Path;

use dupack_lab::experiment::QueueKind;
use dupack_net::histogram::Histogram;
use dupack_net::link::{DropCause, DropCounts, LinkConfig, QueueLimit};
use dupack_tcp::time::Duration;
use dupack_wire::path::{CaptureFiles, LaneReport, PathConfig, PathReport, Trust};

use crate::path::Direction;
use crate::session::ShellConfig;

/// Report on the path after the command has ended. Its text fits on a screen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShellReport {
    /// Description of the path.
    pub path: String,
    /// Traffic of the path. The forward direction is that from the command to the far end.
    pub passed: PathReport,
    /// Validity of the run: sound if the path was on time.
    pub trust: Trust,
    /// Propagation delays of the forward and the backward direction.
    delays: [Propagation; 2],
    tolerance: Duration,
    captures: Option<CaptureFiles>,
    /// `true` if the path's thread had real-time priority.
    has_precedence: bool,
    /// Exit code of the server, if it ended by itself.
    server: Option<u8>,
}

/// Propagation delay of a link.
#[derive(Clone, Copy, Debug)]
struct Propagation {
    delay: Duration,
    /// `true` if the delay may change later.
    changes: bool,
}

/// Rows of the loss table, with the causes that each of them counts.
const LOSSES: [(&str, &[DropCause]); 4] = [
    (
        "lost: queue",
        &[
            DropCause::QueueFull,
            DropCause::RedEarly,
            DropCause::RedForced,
            DropCause::Aqm,
            DropCause::FattestFlow,
        ],
    ),
    ("lost: policer", &[DropCause::Policed]),
    ("lost: random", &[DropCause::Random]),
    // Drops in a time span are an outage, too. Dropping by packet number is not possible here.
    ("lost: outage", &[DropCause::LinkDown, DropCause::Script]),
];

impl ShellReport {
    pub(crate) fn new(
        config: &ShellConfig,
        links: &PathConfig,
        passed: PathReport,
        (has_precedence, server): (bool, Option<u8>),
    ) -> Self {
        let propagation = |link: &LinkConfig| Propagation {
            delay: link.delay,
            changes: link.schedule.is_some(),
        };
        Self {
            path: in_words(config, links),
            trust: passed.trust_of(["from the command", "to the command"], config.tolerance),
            passed,
            delays: [&links.forward, &links.backward].map(propagation),
            tolerance: config.tolerance,
            captures: config.captures.clone(),
            has_precedence,
            server,
        }
    }

    /// Returns a row with one number for each direction: down, then up.
    fn row(&self, what: &str, of: impl Fn(&LaneReport) -> String) -> String {
        let [down, up] = [&self.passed.backward, &self.passed.forward].map(of);
        row(what, &down, &up)
    }

    fn waits(&self) -> String {
        let quantile = |q: f64| {
            move |lane: &LaneReport| {
                let waits = lane.waits.as_ref().filter(|waits| waits.count() > 0);
                waits.map_or_else(none, |waits| millis(waits.quantile(q).unwrap_or_default()))
            }
        };
        [
            self.row("queueing delay, ms: median", quantile(0.5)),
            self.row("                    95th %", quantile(0.95)),
            self.row("                    max", quantile(1.0)),
        ]
        .concat()
    }

    fn losses(&self) -> String {
        let share = |lane: &LaneReport, causes: &[DropCause]| {
            let lost = count(&lane.link.drops, causes);
            let percent = 100.0 * lost as f64 / lane.link.offered_packets.max(1) as f64;
            format!("{lost} ({percent:.2} %)")
        };
        let rows = LOSSES.map(|(what, causes)| self.row(what, |lane| share(lane, causes)));
        rows.concat()
    }

    fn end_of_server(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.server {
            None | Some(0) => Ok(()),
            Some(code) => writeln!(f, "The server ended by itself, with exit code {code}."),
        }
    }

    /// Returns a statement on the path's lateness, with a remedy if the path was late.
    fn punctuality(&self) -> String {
        let allowed = millis(self.tolerance);
        match &self.trust {
            Trust::Sound => {
                let lanes = [
                    &self.passed.forward.lateness,
                    &self.passed.backward.lateness,
                ];
                let late = |of: &Histogram| of.quantile(0.99).unwrap_or_default();
                let latest = lanes.map(late).into_iter().max().unwrap_or_default();
                format!(
                    "The path was on time: 99 % of packets left within {latest} ms of their due time\n({allowed} ms allowed).\n",
                    latest = millis(latest)
                )
            }
            Trust::Worthless { reasons } => {
                let mut text =
                    String::from("The path was NOT on time. Do not trust the numbers above:\n");
                for reason in reasons {
                    let _ = writeln!(text, "- {reason}");
                }
                text + match self.has_precedence {
                    true => {
                        "Stop other programs on this machine, or lower the rate. --tolerance allows more.\n"
                    }
                    false => {
                        "Stop other programs on this machine, or lower the rate. As root, with `chrt`\n\
                         (util-linux), the path runs with real-time priority. --tolerance allows more.\n"
                    }
                }
            }
        }
    }
}

impl fmt::Display for ShellReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.path)?;
        let lanes = [&self.passed.forward, &self.passed.backward];
        if lanes.iter().all(|lane| lane.link.offered_packets == 0) {
            writeln!(f, "No packet reached the path.")?;
            return self.end_of_server(f);
        }
        f.write_str(&row("", "to the command", "from the command"))?;
        f.write_str(&self.row("goodput, Mbit/s", goodput))?;
        f.write_str(&self.row("payload, MB", |lane| {
            let payload = lane.payload.unwrap_or_default();
            format!("{:.3}", payload.bytes as f64 / 1e6)
        }))?;
        f.write_str(&self.row("packets offered", |lane| {
            lane.link.offered_packets.to_string()
        }))?;
        f.write_str(&self.losses())?;
        if lanes.iter().any(|lane| lane.link.marked_packets > 0) {
            f.write_str(&self.row("marked (ECN)", |lane| lane.link.marked_packets.to_string()))?;
        }
        let [up, down] = self.delays.map(Propagation::in_words);
        f.write_str(&row("propagation delay, ms", &down, &up))?;
        f.write_str(&self.waits())?;
        if let (Some(files), Some(captures)) = (&self.captures, &self.passed.captures) {
            for (file, captured) in [(&files.near, captures.near), (&files.far, captures.far)] {
                let (file, written, missed) = (file.display(), captured.written, captured.missed);
                writeln!(f, "capture: {file}, {written} packets, {missed} missing")?;
            }
        }
        self.end_of_server(f)?;
        f.write_str(&self.punctuality())
    }
}

impl Propagation {
    fn in_words(self) -> String {
        let delay = millis(self.delay);
        match self.changes {
            true => format!("{delay} at first"),
            false => delay,
        }
    }
}

fn row(what: &str, down: &str, up: &str) -> String {
    format!("{what:<26}{down:>20}{up:>20}\n")
}

fn none() -> String {
    "–".to_owned()
}

/// Returns the goodput in Mbit/s: the payload divided by the time from its first delivery to its last.
fn goodput(lane: &LaneReport) -> String {
    let payload = lane.payload.unwrap_or_default();
    match payload.lasted() {
        Duration::ZERO => none(),
        lasted => format!("{:.3}", payload.bytes as f64 * 8e-6 / lasted.as_secs_f64()),
    }
}

fn count(drops: &DropCounts, causes: &[DropCause]) -> u64 {
    causes.iter().map(|cause| drops.of(*cause)).sum()
}

fn millis(span: Duration) -> String {
    format!("{:.2}", span.as_secs_f64() * 1e3)
}

/// Returns the file name of a recorded trace without its folders.
fn file_name(trace: &Path) -> String {
    let name = trace.file_name().unwrap_or(trace.as_os_str());
    name.display().to_string()
}

/// Describes the path in one line.
fn in_words(config: &ShellConfig, links: &PathConfig) -> String {
    let path = config.path.options();
    let (leads, forward) = match config.direction {
        Direction::Down => ("to the command", &links.backward),
        Direction::Up => ("from the command", &links.forward),
    };
    let service = match (&path.rate, &path.trace) {
        (Some(rate), _) => rate.to_string(),
        (None, Some(trace)) => file_name(trace),
        (None, None) => String::new(),
    };
    let buffer = match forward.queue.limit {
        QueueLimit::Packets(packets) => format!("buffer {packets}pkt"),
        QueueLimit::Bytes(bytes) => format!("buffer {bytes}B"),
        QueueLimit::Unlimited => "unlimited buffer".to_owned(),
    };
    let mut parts = vec![service, format!("{} one way", path.delay), buffer];
    if path.queue != QueueKind::DropTail {
        parts.push(path.queue.name().to_owned());
    }
    if let Some(bucket) = &path.token_bucket {
        parts.push(format!("bucket {}, {}", bucket.rate, bucket.burst));
    }
    if path.loss.as_fraction() > 0.0 {
        parts.push(format!("loss {}", path.loss));
    }
    let back = path.reverse.as_ref();
    if let Some(trace) = back.and_then(|back| back.trace.as_ref()) {
        parts.push(format!("reverse {}", file_name(trace)));
    } else if back.is_some() {
        parts.push("different reverse link".to_owned());
    }
    let seed = config.path.seed();
    format!("path {leads}: {}; seed {seed}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::LinkOptions;
    use dupack_lab::units::{Delay, Probability, Rate};

    use super::*;
    use crate::path::EmulatedPath;

    fn report(passed: PathReport, has_precedence: bool) -> ShellReport {
        let options = LinkOptions {
            rate: Some(Rate::from_bits_per_second(4_000_000)),
            delay: Delay::from_nanos(30_000_000),
            loss: Probability::new(0.01).unwrap(),
            ..LinkOptions::default()
        };
        let path = EmulatedPath::of_options(options, 7, &Catalog::builtin()).unwrap();
        let config = ShellConfig::new(path, Vec::new());
        let (up, down) = config.path.links(config.direction);
        ShellReport::new(
            &config,
            &PathConfig::new(up, down, 7),
            passed,
            (has_precedence, Some(3)),
        )
    }

    fn line(text: &str, begin: &str) -> String {
        let mut lines = text.lines();
        let line = lines.find(|line| line.trim_start().starts_with(begin));
        let line = line.unwrap_or_else(|| panic!("{begin} in {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn losses_are_listed_by_cause_and_direction() {
        let mut passed = PathReport::default();
        let down = &mut passed.backward.link;
        down.offered_packets = 200;
        for (cause, count) in [
            (DropCause::QueueFull, 3),
            (DropCause::Aqm, 1),
            (DropCause::Random, 10),
            (DropCause::Script, 5),
            (DropCause::LinkDown, 1),
        ] {
            (0..count).for_each(|_| down.drops.add(cause));
        }
        passed.forward.link.offered_packets = 10;
        passed.forward.link.drops.add(DropCause::Policed);
        let text = report(passed, true).to_string();
        for (begin, rest) in [
            ("lost: queue", "4 (2.00 %) 0 (0.00 %)"),
            ("lost: policer", "0 (0.00 %) 1 (10.00 %)"),
            ("lost: random", "10 (5.00 %) 0 (0.00 %)"),
            ("lost: outage", "6 (3.00 %) 0 (0.00 %)"),
            ("propagation delay", ", ms 30.00 30.00"),
        ] {
            assert!(line(&text, begin).ends_with(rest), "{text}");
        }
        assert!(
            text.starts_with("path to the command: 4Mbit/s, 30ms one way, buffer "),
            "{text}"
        );
        assert!(
            text.contains("loss 1%; seed 7") && text.contains("exit code 3"),
            "{text}"
        );
    }

    #[test]
    fn a_path_without_packets_has_no_table() {
        let text = report(PathReport::default(), true).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[1], "No packet reached the path.");
        assert!(lines[2].contains("exit code 3"), "{text}");
    }

    #[test]
    fn every_cause_of_a_wired_link_is_counted_once() {
        for cause in DropCause::ALL {
            let told = LOSSES
                .iter()
                .filter(|(_, causes)| causes.contains(&cause))
                .count();
            // These two causes belong to a radio channel.
            let radio = matches!(cause, DropCause::Collision | DropCause::FrameError);
            assert_eq!(told, usize::from(!radio), "{cause:?}");
        }
    }

    #[test]
    fn a_late_path_is_reported_with_a_remedy() {
        let late = |micros: u64| {
            let mut passed = PathReport::default();
            passed.backward.link.offered_packets = 1;
            passed
                .backward
                .lateness
                .record(Duration::from_micros(micros));
            passed
        };
        let text = report(late(200), true).to_string();
        assert!(
            text.contains("was on time") && text.contains("0.20 ms"),
            "{text}"
        );
        let text = report(late(400), true).to_string();
        assert!(
            text.contains("was NOT on time") && text.contains("packets to the command left"),
            "{text}"
        );
        assert!(!text.contains("chrt") && report(late(400), false).to_string().contains("chrt"));
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
