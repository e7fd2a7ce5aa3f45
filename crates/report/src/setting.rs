//! Description of an experiment's path in one line. Readers need the path to interpret the numbers.

use dupack_lab::experiment::{Experiment, LinkOptions, QueueKind, SweepValue};
use dupack_lab::results::{Medium, Parameter, Results};
use dupack_lab::units::Delay;

use crate::notes::{range, seed_counts};

/// Returns the line above a table: the path, the traffic and the dialect of a comparison.
#[must_use]
pub fn path_line(results: &Results) -> String {
    format!("Path: {}", subtitle(results))
}

/// Returns the subtitle of a figure: the path, the traffic, the dialect, and the amount of data.
pub(crate) fn subtitle(results: &Results) -> String {
    let seeds = seed_counts(results);
    subtitle_of(
        &results.experiment,
        &results.parameters,
        &results.medium,
        &seeds,
    )
}

/// Returns the subtitle for runs that are not in memory. It is made from the experiment, its parameters, the medium of
/// its runs, and the number of seeds of each point.
pub(crate) fn subtitle_of(
    e: &Experiment,
    parameters: &[Parameter],
    medium: &Medium,
    seeds: &[usize],
) -> String {
    let mut parts = parts(e, parameters);
    let seeds = match range(seeds, "seed", "seeds") {
        Some(seeds) if e.precision.is_some() => seeds,
        _ => format!("{} seeds", e.seeds.to_vec().len()),
    };
    match medium {
        Medium::Simulated => {
            parts.push(format!("{} simulated", e.duration));
            parts.push(seeds);
        }
        Medium::Wire(record) => {
            // An amount of 0 means that the senders have unlimited data and send until the end of the run, as they do
            // if they share a path.
            parts.push(match record.bytes.as_bytes() {
                0 => format!("{} over real packets", e.duration),
                _ => format!("{} over real packets", record.bytes),
            });
            parts.push(format!("{} repetitions", e.seeds.to_vec().len()));
        }
    }
    parts.join(" · ")
}

/// Returns the path, the traffic and the dialect.
#[must_use]
pub fn path(results: &Results) -> String {
    parts(&results.experiment, &results.parameters).join(" · ")
}

/// Returns the path, the traffic and the dialect as separate parts, from the experiment and from derived values among
/// its effective parameters.
pub(crate) fn parts(e: &Experiment, parameters: &[Parameter]) -> Vec<String> {
    let mut parts = Vec::new();
    match &e.path {
        Some(path) => Words { e, parameters }.path(path, &mut parts),
        None if e.radio.is_some() => parts.push("a chain of 802.11 stations".to_owned()),
        None => parts.extend(links(e)),
    }
    let known = |name: &str| {
        let mut found = parameters
            .iter()
            .filter(|p| p.owner == "flows" && p.name == name);
        found.next().map(|p| p.value.clone())
    };
    let flows: u64 = e.flows.iter().map(|group| u64::from(group.count)).sum();
    if flows > 1 {
        // If delays are swept, the round-trip times of the first point do not hold for all points.
        let fixed = !varied(e).any(|key| key.ends_with("delay"));
        let several = known("round_trips").filter(|times| fixed && times.contains(','));
        let of = several.map_or_else(String::new, |times| format!(", round trips {times}"));
        parts.push(format!("{flows} flows{of}"));
    }
    parts.push(format!("dialect {}", e.dialect));
    parts
}

/// Returns the keys that have several values.
fn varied(e: &Experiment) -> impl Iterator<Item = &str> {
    let listed = e.points.iter().flat_map(|point| point.keys());
    e.sweep.keys().chain(listed).map(String::as_str)
}

/// Returns the description of the links of a topology.
fn links(e: &Experiment) -> Option<String> {
    let slowest = e.links.iter().filter_map(|link| link.rate).min();
    let count = e.links.len();
    Some(match slowest? {
        rate if count > 1 => format!("{count} links, the slowest {rate}"),
        rate => format!("one link of {rate}"),
    })
}

struct Words<'a> {
    e: &'a Experiment,
    parameters: &'a [Parameter],
}

impl Words<'_> {
    fn path(&self, path: &LinkOptions, parts: &mut Vec<String>) {
        let rate = path.rate.map(|rate| rate.to_string());
        parts.extend(self.swept("path.rate", "").or(rate));
        if let Some(trace) = &path.trace {
            let name = trace.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("recorded link {}", name.escape_debug());
            parts.push(self.swept("path.trace", "recorded links ").unwrap_or(name));
        }
        let delay = self.swept("path.delay", "").unwrap_or_else(|| {
            let access = self.e.access.map_or(0, |access| access.delay.as_nanos());
            Delay::from_nanos(path.delay.as_nanos() + 2 * access).to_string()
        });
        parts.push(format!("{delay} one way"));
        parts.push(self.queue(path));
        let loss = (path.loss.as_fraction() > 0.0).then(|| format!("loss {}", path.loss));
        parts.extend(self.swept("path.loss", "loss ").or(loss));
        if let Some(burst) = path.burst_loss {
            let (enter, leave) = (burst.enter, burst.leave);
            parts.push(format!("loss bursts: begin {enter}, end {leave}"));
        }
        let back = path.reverse.as_ref().and_then(|back| back.rate);
        parts.extend(back.map(|rate| format!("{rate} reverse")));
        if !path.changes.is_empty() {
            parts.push("time-varying path".to_owned());
        }
        let open = path.duty.map(|duty| format!("duty cycle {}", duty.share));
        parts.extend(self.swept("path.duty.share", "duty cycle ").or(open));
    }

    /// Returns the discipline of the queue, and its size in packets and in bandwidth-delay products.
    fn queue(&self, path: &LinkOptions) -> String {
        let kind = match path.queue {
            QueueKind::DropTail => String::new(),
            kind => format!("{} ", kind.name()),
        };
        if let Some(swept) = self.swept("path.buffer", "") {
            return format!("{kind}queue {swept}");
        }
        let room = self.of_path("queue_room");
        let follows = ["path.rate", "path.delay", "path.trace"];
        let fixed = !follows.iter().any(|key| self.e.varies(key));
        let times = self
            .of_path("queue_bdp")
            .and_then(|times| times.parse().ok());
        let times = times
            .filter(|_| fixed)
            .map(|times: f64| format!(" ({} BDP)", short(times)));
        match (path.buffer, room) {
            (None, _) if !fixed => format!("{kind}queue 1 BDP"),
            (Some(buffer), _) if !fixed => format!("{kind}queue {buffer}"),
            (_, Some(room)) => format!("{kind}queue {room}{}", times.unwrap_or_default()),
            (buffer, None) => match buffer {
                Some(buffer) => format!("{kind}queue {buffer}"),
                None => format!("{kind}queue 1 BDP"),
            },
        }
    }

    fn of_path(&self, name: &str) -> Option<&str> {
        let mut found = self.parameters.iter();
        let found = found.find(|p| p.owner == "path" && p.name == name)?;
        Some(&found.value)
    }

    /// Returns `what` followed by the values of `key`, or `None` if `key` does not have several values.
    fn swept(&self, key: &str, what: &str) -> Option<String> {
        if !self.e.varies(key) {
            return None;
        }
        let listed = self.e.points.iter().filter_map(|point| point.get(key));
        let values: Vec<&SweepValue> = match self.e.sweep.get(key) {
            Some(values) => values.iter().collect(),
            None => listed.collect(),
        };
        Some(match values.as_slice() {
            [] => return None,
            [one] => format!("{what}{one}"),
            [one, other] => format!("{what}{one} and {other}"),
            [first, .., last] => format!("{what}{first} to {last}"),
        })
    }
}

/// Returns a number of bandwidth-delay products with few digits: `1`, `1.5`, `0.04`.
fn short(times: f64) -> String {
    let digits = match times {
        0.0..0.1 => 2,
        0.1..10.0 => 1,
        _ => 0,
    };
    let text = format!("{times:.digits$}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::run::Plan;

    use super::*;

    fn line(file: &str) -> String {
        let source = Source::new("test.toml", format!("stacks = [\"rack/cubic\"]\n{file}"));
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let results = plan.empty_results();
        parts(&results.experiment, &results.parameters).join(" · ")
    }

    #[test]
    fn the_path_includes_its_queue() {
        let path = "[path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n";
        // The bandwidth-delay product is 10 Mbit/s · 40 ms = 33.3 packets of 1500 bytes.
        assert_eq!(
            line(path),
            "10Mbit/s · 20ms one way · queue 34pkt (1 BDP) · dialect linux"
        );
        let large = format!("dialect = \"ns2\"\n{path}buffer = \"1MB\"\nloss = \"1%\"\n");
        assert_eq!(
            line(&large),
            "10Mbit/s · 20ms one way · queue 1MB (20 BDP) · loss 1% · dialect ns2"
        );
        let codel = format!("{path}queue = \"codel\"\nbuffer = \"0.5bdp\"\n");
        assert_eq!(
            line(&codel),
            "10Mbit/s · 20ms one way · codel queue 17pkt (0.5 BDP) · dialect linux"
        );
    }

    #[test]
    fn swept_keys_have_their_first_and_last_values() {
        let path = "[path]\ndelay = \"20ms\"\n[sweep]\n\"path.rate\" = [\"1Mbit/s\", \"5Mbit/s\", \"9Mbit/s\"]\n\
                    \"path.loss\" = [\"0%\", \"1%\"]\n";
        assert_eq!(
            line(path),
            "1Mbit/s to 9Mbit/s · 20ms one way · queue 1 BDP · loss 0% and 1% · dialect linux"
        );
    }

    #[test]
    fn flows_have_their_round_trips() {
        let links = "[[links]]\nbetween = [\"a\", \"m\"]\nrate = \"100Mbit/s\"\ndelay = \"10ms\"\n\
                     [[links]]\nbetween = [\"b\", \"m\"]\nrate = \"100Mbit/s\"\ndelay = \"40ms\"\n\
                     [[links]]\nbetween = [\"m\", \"z\"]\nrate = \"10Mbit/s\"\ndelay = \"5ms\"\n\
                     [[flows]]\nfrom = \"a\"\nto = \"z\"\n[[flows]]\nfrom = \"b\"\nto = \"z\"\n";
        assert_eq!(
            line(links),
            "3 links, the slowest 10Mbit/s · 2 flows, round trips 30ms, 90ms · dialect linux"
        );
    }
}
