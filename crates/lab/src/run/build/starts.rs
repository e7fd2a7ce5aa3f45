//! Start times of flows, and positions at which runs begin in recorded traces, as given in the file or drawn.
//!
//! Drawn times depend on the seed, but not on the stack, so all stacks of a seed share them. Only the differences
//! between start times matter, because nothing in the network depends on absolute time except the scheduled changes of
//! links. Therefore the first flow, or a single flow, starts with the run. Short flows have their own arrival times.

use std::collections::BTreeSet;
use std::path::Path;

use dupack_net::random::Stream;
use dupack_tcp::time::{Duration, Instant};

use super::{Scenario, span};
use crate::experiment::{Experiment, MediaSource, Starts};
use crate::results::{Beginning, Carries};

/// Range of drawn start times. The range is longer than most round trips, so that one flow may finish slow start before
/// another starts, and short compared to a run.
const WINDOW: Duration = Duration::from_secs(1);

/// Reciprocal of the maximum fraction of a run that the range of drawn start times covers: one tenth.
const PART_OF_RUN: u64 = 10;

impl Scenario {
    /// Returns the start time of each flow in the run of `seed`, group by group.
    #[must_use]
    pub fn flow_starts(&self, seed: u64) -> Vec<Instant> {
        let flows = self.flows();
        let window = self.window();
        let drawn = |n| draw(seed, &format!("drawn start of flow {n}"), window);
        // Short flows have their own arrival times.
        let lasting = (0..flows.len()).filter(|n| flows[*n].group.web.is_none());
        let first = lasting.map(drawn).min().unwrap_or_default();
        let starts = flows.iter().enumerate().map(|(n, flow)| {
            let own = span(flow.group.start.unwrap_or_default());
            let spread = span(flow.group.start_spread.unwrap_or_default());
            let spread = draw(seed, &format!("start of flow {n}"), spread);
            Instant::ZERO + own + spread + drawn(n).saturating_sub(first)
        });
        starts.collect()
    }

    /// Returns the start time of the UDP source with index `n`.
    pub(super) fn udp_start(&self, n: usize, seed: u64) -> Instant {
        let own = span(self.experiment.udp[n].start.unwrap_or_default());
        Instant::ZERO + own + draw(seed, &format!("start of UDP source {n}"), self.window())
    }

    /// Returns the start time of the media source with index `n` among all media sources. The source belongs to
    /// `source`.
    pub(super) fn media_start(&self, source: &MediaSource, n: usize, seed: u64) -> Instant {
        let own = span(source.start.unwrap_or_default());
        let drawn = draw(seed, &format!("start of media {n}"), self.window());
        Instant::ZERO + own + drawn
    }

    /// Returns the range of drawn start times, which is zero if start times are given.
    fn window(&self) -> Duration {
        match self.experiment.starts() {
            Starts::Drawn => WINDOW.min(span(self.experiment.duration) / PART_OF_RUN),
            Starts::Given => Duration::ZERO,
        }
    }

    /// Returns the rule for the positions at which runs begin in recorded traces.
    pub(in crate::run) fn beginning(&self) -> Beginning {
        let files = recordings(&self.experiment).into_iter();
        let files: BTreeSet<&Path> = files.map(|(_, file)| file).collect();
        let periods = files.iter().filter_map(|file| self.traces.get(*file));
        let longest = periods.map(|trace| u64::from(trace.period_ms())).max();
        match self.experiment.starts() {
            Starts::Drawn => Beginning::DrawnWithin(longest.unwrap_or(0)),
            Starts::Given => Beginning::Start,
        }
    }
}

/// Draws a time below `within`. `what` names the random stream of `seed`.
fn draw(seed: u64, what: &str, within: Duration) -> Duration {
    let drawn = Stream::derive(seed, what).unit() * within.as_nanos() as f64;
    Duration::from_nanos(drawn as u64)
}

/// Returns the recorded traces of an experiment's links: their keys and files.
pub(in crate::run) fn recordings(e: &Experiment) -> Vec<(String, &Path)> {
    let path = e.path.iter().map(|link| ("path".to_owned(), link));
    let links = e.links.iter().enumerate();
    let links = links.map(|(n, link)| (format!("links.{n}"), link));
    let both = path.chain(links).flat_map(|(key, link)| {
        let back = link.reverse.as_ref().and_then(|back| back.trace.as_deref());
        [
            (format!("{key}.trace"), link.trace.as_deref()),
            (format!("{key}.reverse.trace"), back),
        ]
    });
    both.filter_map(|(key, file)| Some((key, file?))).collect()
}

/// Returns the directions that follow the trace at `key`: both directions of the link, unless the other direction has
/// its own trace or rate.
pub(in crate::run) fn carries(e: &Experiment, key: &str) -> Carries {
    let number = key.split('.').nth(1).and_then(|n| n.parse::<usize>().ok());
    let link = match number {
        Some(number) => e.links.get(number),
        None => e.path.as_ref(),
    };
    let back = link.and_then(|link| link.reverse.as_ref());
    let has_own = back.is_some_and(|back| back.trace.is_some() || back.rate.is_some());
    match has_own || key.ends_with("reverse.trace") {
        true => Carries::OneWay,
        false => Carries::BothWays,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use dupack_algorithms::catalog::Catalog;
    use dupack_net::link::ServiceConfig;

    use crate::experiment::load::Source;
    use crate::run::Plan;

    use super::*;

    fn plan(text: &str) -> Plan {
        let source = Source::new(
            "test.toml",
            format!("stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 3\n{text}"),
        );
        let files: BTreeMap<PathBuf, String> = [("down", "1\n7000\n"), ("up", "2\n500\n")]
            .map(|(name, text)| (PathBuf::from(name), text.to_owned()))
            .into();
        let experiment = source.parse().unwrap();
        Plan::with_files(experiment, &source, &Catalog::builtin(), &files).unwrap()
    }

    /// Returns the start times of the flows of every stack at the first point, in seconds.
    fn starts(text: &str, seed: u64) -> Vec<Vec<f64>> {
        let plan = plan(text);
        let jobs = plan.jobs().into_iter();
        let jobs = jobs.filter(|job| job.seed == seed && job.point == 0);
        jobs.map(|job| {
            let starts = plan.scenario(job).flow_starts(seed).into_iter();
            starts.map(Instant::as_secs_f64).collect()
        })
        .collect()
    }

    const PATH: &str = "[path]\nrate = \"1Mbit/s\"\n";

    #[test]
    fn starts_are_drawn_by_default() {
        let text = format!("{PATH}[[flows]]\ncount = 5\n");
        let first = starts(&text, 1);
        // The start times are the same for every stack, but different for another seed.
        assert_eq!(first[0], first[1]);
        assert_ne!(first[0], starts(&text, 2)[0]);
        let least = first[0].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least == 0.0 && first[0].iter().all(|start| *start < 1.0));
        let mut sorted = first[0].clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.dedup();
        assert_eq!(sorted.len(), 5);
        // In a short run all flows start early.
        let short = starts(&format!("duration = \"2s\"\n{text}"), 1);
        assert!(short[0].iter().all(|start| *start < 0.2));
    }

    #[test]
    fn starts_are_given_if_one_is_set() {
        for (flows, expected) in [
            ("count = 2\nstart = \"0s\"", [0.0, 0.0]),
            ("count = 2\nstart_spread = \"0s\"", [0.0, 0.0]),
            ("\n[[flows]]\nstart = \"3s\"", [0.0, 3.0]),
        ] {
            let text = format!("{PATH}[[flows]]\n{flows}\n");
            assert_eq!(starts(&text, 1)[0], expected, "{flows}");
        }
        // If start times are swept, they count as given.
        let swept = format!("{PATH}[[flows]]\ncount = 2\n[sweep]\n\"flows.0.start\" = [\"0s\"]\n");
        assert_eq!(starts(&swept, 1)[0], [0.0, 0.0]);
        // The start time of a UDP source has the same effect.
        let udp =
            format!("{PATH}[[flows]]\ncount = 2\n[[udp]]\nrate = \"1kbit/s\"\nstart = \"0s\"\n");
        assert_eq!(starts(&udp, 1)[0], [0.0, 0.0]);
    }

    #[test]
    fn the_key_overrides_the_default() {
        let given = format!("starts = \"given\"\n{PATH}[[flows]]\ncount = 2\n");
        assert_eq!(starts(&given, 1)[0], [0.0, 0.0]);
        let drawn = format!(
            "starts = \"drawn\"\n{PATH}[[flows]]\ncount = 2\nstart = \"5s\"\n[[udp]]\nrate = \"1kbit/s\"\n"
        );
        let found = &starts(&drawn, 1)[0];
        assert!(found.contains(&5.0) && found.iter().all(|start| (5.0..6.0).contains(start)));
        let plan = plan(&drawn);
        let scenario = plan.scenario(plan.jobs()[0]);
        let udp = scenario.udp_start(0, 1).as_secs_f64();
        assert!(udp > 0.0 && udp < 1.0, "{udp}");
        assert_ne!(scenario.udp_start(0, 2).as_secs_f64(), udp);
    }

    #[test]
    fn a_single_flow_starts_with_the_run() {
        for seed in 1..4 {
            assert_eq!(starts(PATH, seed)[0], [0.0]);
        }
    }

    #[test]
    fn both_recordings_begin_at_the_same_position_which_depends_on_the_seed() {
        let text = "[path]\ntrace = \"down\"\nreverse = { trace = \"up\" }\n";
        let begins = |text: &str, seed: u64| {
            let plan = plan(text);
            let jobs = plan.jobs().into_iter().filter(|job| job.seed == seed);
            let begins = jobs.map(|job| {
                let (there, back) = plan.scenario(job).path_links(seed).unwrap();
                [there, back].map(|link| match link.service {
                    ServiceConfig::Trace(trace) => trace.begin_ms(),
                    other => panic!("{other:?}"),
                })
            });
            let mut begins: Vec<[u32; 2]> = begins.collect();
            // The positions are the same for every stack.
            begins.dedup();
            assert_eq!(begins.len(), 1);
            begins[0]
        };
        let [down, up] = begins(text, 1);
        assert!(down < 7000 && up == down % 500, "{down} {up}");
        assert_ne!(down, begins(text, 2)[0]);
        assert_eq!(begins(&format!("starts = \"given\"\n{text}"), 1), [0, 0]);
        // If only one direction has a trace, both directions use it.
        let [down, up] = begins("[path]\ntrace = \"down\"\n", 1);
        assert_eq!(down, up);
    }
}
