//! The path of a path file or of flags, as links that run in real time.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{DropRule, Experiment, LinkOptions, Starts};
use dupack_lab::path_file::PathFile;
use dupack_lab::run::{Job, Plan};
use dupack_net::link::{LinkConfig, WaitRecording};
use miette::Diagnostic;
use thiserror::Error;

/// Stack for planning the path. It is never run, and the path does not depend on it.
const STAND_IN: &str = "sack/reno";

/// Direction of the path's forward link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the far end to the command, for downloads.
    #[default]
    Down,
    /// From the command to the far end, for uploads.
    Up,
}

/// A validated path.
#[derive(Clone, Debug)]
pub struct EmulatedPath {
    options: LinkOptions,
    seed: u64,
    forward: LinkConfig,
    backward: LinkConfig,
}

/// Errors of a path.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum PathError {
    /// The file or the flags are wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
}

impl EmulatedPath {
    /// Returns the path of `file`. `seed` determines its random numbers.
    ///
    /// # Errors
    /// Returns an error if real time does not support a part of the path. The error points at the line.
    pub fn of_file(file: &PathFile, seed: u64, catalog: &Catalog) -> Result<Self, PathError> {
        check_drops(&file.path, &file.source)?;
        Self::of_options(file.path.clone(), seed, catalog)
    }

    /// Returns the path that flags describe. `seed` determines its random numbers.
    ///
    /// # Errors
    /// Returns an error if the path is impossible, or if real time does not support a part of it.
    pub fn of_options(
        options: LinkOptions,
        seed: u64,
        catalog: &Catalog,
    ) -> Result<Self, PathError> {
        let mut experiment = Experiment::new(vec![STAND_IN.to_owned()]);
        // Recorded traces start with the path.
        experiment.starts = Some(Starts::Given);
        experiment.path = Some(options.clone());
        let source = Source::of_flags(&experiment);
        check_drops(&options, &source)?;
        let plan = Plan::new(experiment, &source, catalog)?;
        let job = Job {
            point: 0,
            stack: 0,
            seed,
        };
        let links = plan.scenario(job).path_links(seed);
        let (mut forward, mut backward) =
            links.map_err(|fault| ExperimentError::at(&source, &fault.key, fault.message, None))?;
        for link in [&mut forward, &mut backward] {
            link.waits = WaitRecording::All;
        }
        Ok(Self {
            options,
            seed,
            forward,
            backward,
        })
    }

    /// Returns the link from the command to the far end and the link from the far end to the command, in this order.
    pub(crate) fn links(&self, direction: Direction) -> (LinkConfig, LinkConfig) {
        let (forward, backward) = (self.forward.clone(), self.backward.clone());
        match direction {
            Direction::Down => (backward, forward),
            Direction::Up => (forward, backward),
        }
    }

    /// Returns the seed of all random numbers of the path.
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the options of the path, as in a file.
    pub(crate) const fn options(&self) -> &LinkOptions {
        &self.options
    }
}

/// Returns an error if packets are dropped by number, because such numbers count the packets of a single connection.
fn check_drops(path: &LinkOptions, source: &Source) -> Result<(), ExperimentError> {
    let by_number = |rule: &DropRule| !matches!(rule, DropRule::Time { .. });
    let reverse = path
        .reverse
        .as_ref()
        .map_or(&[][..], |reverse| &reverse.drop);
    for (drops, key) in [
        (&path.drop[..], "path.drop"),
        (reverse, "path.reverse.drop"),
    ] {
        if let Some(place) = drops.iter().position(by_number) {
            let rule = drops[place];
            let message = format!(
                "real packets cannot be dropped by number: `{rule}` counts the packets of a single connection, and a \
                 program may open several"
            );
            let help = "use a time span, such as \"1.5s..2s\", or `loss`".to_owned();
            let key = format!("{key}.{place}");
            return Err(ExperimentError::at(source, &key, message, Some(help)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use dupack_lab::units::{Delay, Rate};
    use dupack_net::link::Discipline;

    use super::*;

    fn file(text: &str) -> PathFile {
        let source = Source::new("lte.toml", text);
        let files = std::collections::BTreeMap::new();
        PathFile::of(source, &Catalog::builtin(), &files).expect(text)
    }

    const PATH: &str = "[path]\nrate = \"4Mbit/s\"\ndelay = \"30ms\"\n";

    #[test]
    fn forward_leads_to_the_command_unless_reversed() {
        let text = format!("{PATH}queue = \"codel\"\nreverse = {{ delay = \"5ms\" }}\n");
        let path = EmulatedPath::of_file(&file(&text), 1, &Catalog::builtin()).unwrap();
        for (direction, ms) in [(Direction::Down, [5, 30]), (Direction::Up, [30, 5])] {
            let (up, down) = path.links(direction);
            let delays = [&up, &down].map(|link| link.delay.as_nanos() / 1_000_000);
            assert_eq!(delays, ms);
            let forward = if direction == Direction::Down {
                down
            } else {
                up
            };
            assert!(matches!(forward.queue.discipline, Discipline::CoDel(_)));
        }
    }

    #[test]
    fn drops_by_number_are_rejected_at_their_line_and_time_spans_are_not() {
        let of = |drop: &str| {
            let text = format!("{PATH}drop = [\"1s..2s\", {drop}]\n");
            EmulatedPath::of_file(&file(&text), 1, &Catalog::builtin()).map(drop_nothing)
        };
        for drop in ["\"24-30\"", "\"ack 3\"", "\"2 of 5-9\""] {
            let error = of(drop).unwrap_err().to_string();
            assert!(error.contains(&drop[1..drop.len() - 1]), "{error}");
        }
        assert!(of("\"3s..4s\"").is_ok());
    }

    fn drop_nothing(_: EmulatedPath) {}

    #[test]
    fn every_queue_of_a_file_works_in_real_time() {
        for queue in ["droptail", "codel", "fq_codel", "pie", "dualpi2", "cake"] {
            let text = format!("{PATH}queue = \"{queue}\"\n");
            let path = EmulatedPath::of_file(&file(&text), 1, &Catalog::builtin());
            assert!(path.is_ok(), "{queue}");
        }
        let options = LinkOptions {
            rate: Some(Rate::from_bits_per_second(1_000_000)),
            delay: Delay::from_nanos(1_000_000),
            ..LinkOptions::default()
        };
        assert!(EmulatedPath::of_options(options, 3, &Catalog::builtin()).is_ok());
    }
}
