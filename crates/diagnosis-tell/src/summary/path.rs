//! Description of a path in words: a line for the terminal, and all properties for the page.

use super::UNTOLD;
use crate::words;
use dupack_diagnosis::findings::StreamFindings;
use dupack_diagnosis::path::{Path, Room};
use dupack_diagnosis::told::Told;

/// Returns a line about the path for the terminal: the known values, and the names of the unknown quantities.
pub(super) fn path(stream: &StreamFindings) -> String {
    let all = path_in_words(&stream.path);
    let mut parts: Vec<String> = Vec::new();
    let mut last = None;
    for line in &all {
        // If all losses are of one kind, two successive quantities have the same value, which is printed once.
        if let Some(brief) = line.brief.as_ref().filter(|brief| last != Some(*brief)) {
            parts.push(format!("{} {brief}", line.name));
            last = Some(brief);
        }
    }
    let unknown = all.iter().filter(|line| line.brief.is_none());
    let unknown: Vec<&str> = unknown.map(|line| line.name).collect();
    if !unknown.is_empty() {
        parts.push(format!("{UNTOLD}: {}", unknown.join(", ")));
    }
    parts.join("; ")
}

/// A quantity of a path in words.
#[derive(Clone, Debug, PartialEq)]
pub struct PathLine {
    /// Name of the quantity.
    pub name: &'static str,
    /// Value, or the reason why it is unknown.
    pub text: String,
    /// Short form of the value, or `None` if the value is unknown.
    pub brief: Option<String>,
}

/// Returns the quantities of a path: the values that are known, and the reasons why the others are unknown.
#[must_use]
pub fn path_in_words(path: &Path) -> Vec<PathLine> {
    fn line<T: Copy>(name: &'static str, told: &Told<T>, say: impl Fn(&T) -> String) -> PathLine {
        PathLine {
            name,
            text: words::told(told, &say),
            brief: words::told_briefly(told, &say),
        }
    }
    let share = |share: &f64| words::share(*share);
    let rate = |rate: &f64| words::rate(*rate);
    let room = |room: &Room| format!("{:.0} packets", room.packets);
    let mut lines = vec![
        line(
            "least round-trip time of a full segment",
            &path.least_rtt,
            |rtt| words::way(*rtt),
        ),
        line("bottleneck", &path.rate, rate),
        line("queue capacity", &path.room, room),
        line("loss", &path.loss, share),
    ];
    if path.losses > 0 {
        lines.push(line(
            "loss apart from queue overflows",
            &path.random_loss,
            share,
        ));
    }
    if let Some(policer) = &path.policer {
        lines.push(line("policer", &policer.rate, |rate| words::rate(*rate)));
        lines.push(line("burst of the policer", &policer.burst, |burst| {
            words::bytes(*burst)
        }));
        lines.push(line("policed link", &policer.link, rate));
    }
    let reordered = path.reordering.share.value().unwrap_or(0.0);
    if reordered > 0.0 {
        let share = &path.reordering.share;
        lines.push(line("reordered", share, |share| words::share(*share)));
    }
    lines
}
