//! Path files: an experiment file with the bottleneck and the application that uses it.
//!
//! `dupack diagnose --path` writes such a file, and every experiment file with a single `[path]` is one. A command with
//! `--path FILE` uses the path, the writes of the application, and the options of the endpoints. Stacks, seeds and
//! losses come from the command. Anything else in the file that would be ignored (a sweep, a topology, other traffic)
//! is an error that points at its line. The exceptions are keys that belong to the experiment rather than to the path:
//! `title`, `description`, `stacks`, `seeds`, `precision`, `warm_up`, `starts`, `names`, `define` and claims.

use std::path::{Path, PathBuf, absolute};

use dupack_algorithms::catalog::{Catalog, Dialect};
use toml::{Table, Value};

use crate::experiment::load::{Disk, ExperimentError, ReadFile, Source};
use crate::experiment::{
    Experiment, FlowGroup, LinkOptions, ReceiverOptions, SenderOptions, is_default,
};
use crate::run::Plan;
use crate::units::Delay;

/// Stack with which the path is checked. The result does not depend on the stack, and nothing is run.
const STAND_IN: &str = "sack/reno";

/// A checked path with an application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathFile {
    /// The bottleneck. Recorded traces have absolute paths, so that the experiment can be run from any folder.
    pub path: LinkOptions,
    /// Data of the application in a flow: `bytes`, `writes`, `video` and `web` of the file's flows. All other options
    /// have their defaults. Without flows in the file, the application sends unlimited data.
    pub application: FlowGroup,
    /// Rules that the endpoints follow where TCP implementations differ.
    pub dialect: Dialect,
    /// Options of all senders, such as the size of a segment.
    pub sender: SenderOptions,
    /// Options of all receivers, such as their buffer and their ACK rule.
    pub receiver: ReceiverOptions,
    /// Maximum duration of a run.
    pub duration: Delay,
    /// Text of the file, for errors that point at its lines.
    pub source: Source,
}

impl PathFile {
    /// Reads and checks the path file at `file`, and the traces that it names. The stacks of `catalog` do not affect
    /// the result.
    ///
    /// # Errors
    /// If the file does not exist, is not a path file, or has an invalid path. The error points at the line.
    pub fn read(file: &Path, catalog: &Catalog) -> Result<Self, ExperimentError> {
        Self::of(Source::read(file)?, catalog, &Disk)
    }

    /// Checks a path file from a text. The traces that it names are read from `files`.
    ///
    /// # Errors
    /// If the text is not a path file, or has an invalid path. The error points at the line.
    pub fn of(
        source: Source,
        catalog: &Catalog,
        files: &dyn ReadFile,
    ) -> Result<Self, ExperimentError> {
        let mut experiment = parse(&source)?;
        refuse(&experiment, &source)?;
        experiment.stacks = vec![STAND_IN.to_owned()];
        for flow in &mut experiment.flows {
            flow.stack = None;
        }
        Plan::with_files(experiment.clone(), &source, catalog, files)?;
        let Some(path) = experiment.path.map(|path| whole(path, &source.folder)) else {
            return Err(no_path(&source));
        };
        Ok(Self {
            path,
            application: experiment
                .flows
                .first()
                .map_or_else(FlowGroup::default, application),
            dialect: experiment.dialect,
            sender: experiment.sender,
            receiver: experiment.receiver,
            duration: experiment.duration,
            source,
        })
    }
}

impl PathFile {
    /// Sets the path, the application and the endpoint options of `experiment`. If it has several flows, each gets the
    /// application.
    pub fn apply(&self, experiment: &mut Experiment) {
        experiment.path = Some(self.path.clone());
        experiment.sender = self.sender;
        experiment.receiver = self.receiver;
        experiment.dialect = self.dialect;
        experiment.duration = self.duration;
        if self.application == FlowGroup::default() {
            return;
        }
        if experiment.flows.is_empty() {
            experiment.flows.push(FlowGroup::default());
        }
        for flow in &mut experiment.flows {
            flow.bytes = self.application.bytes;
            flow.writes.clone_from(&self.application.writes);
            flow.video = self.application.video;
            flow.web = self.application.web;
        }
    }
}

/// Parses the experiment of a text that may lack `stacks`.
fn parse(source: &Source) -> Result<Experiment, ExperimentError> {
    let error = match source.parse() {
        Ok(experiment) => return Ok(experiment),
        Err(error) => error,
    };
    // A missing field is reported after all present fields have been read.
    let only_stacks = error.to_string() == "missing field `stacks`";
    let table = source.text.parse::<Table>().ok().filter(|_| only_stacks);
    let Some(mut table) = table else {
        return Err(error);
    };
    table.insert("stacks".to_owned(), Value::Array(Vec::new()));
    table.try_into().map_err(|_| error)
}

/// Rejects experiments with contents that do not belong in a path file.
fn refuse(experiment: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let run = "`dupack run FILE` runs any experiment";
    let single = "a path file has a single path and a single application: remove this, or use `dupack run \
         FILE`, which runs any experiment";
    let others = [
        (!experiment.links.is_empty(), "links", run),
        (experiment.radio.is_some(), "radio", run),
        (!experiment.routes.is_empty(), "routes", run),
        (experiment.access.is_some(), "access", run),
        (!experiment.udp.is_empty(), "udp", run),
        (!experiment.media.is_empty(), "media", run),
        (!experiment.sweep.is_empty(), "sweep", single),
        (!experiment.points.is_empty(), "points", single),
    ];
    if let Some((_, key, help)) = others.into_iter().find(|(there, ..)| *there) {
        let message = format!("`{key}` is not allowed in a path file");
        return Err(ExperimentError::at_key(
            source,
            key,
            message,
            Some(help.to_owned()),
        ));
    }
    if experiment.path.is_none() {
        return Err(no_path(source));
    }
    let mut flows = experiment.flows.iter();
    let first = flows.next().map(application);
    if let Some(other) = flows.position(|flow| Some(application(flow)) != first) {
        let message = "the application of this flow differs from that of the first flow".to_owned();
        let key = format!("flows.{}", other + 1);
        return Err(ExperimentError::at(
            source,
            &key,
            message,
            Some(single.to_owned()),
        ));
    }
    let own = |flow: &FlowGroup| !is_default(&flow.sender) || !is_default(&flow.receiver);
    if let Some(other) = experiment.flows.iter().position(own) {
        let message = "this flow has its own sender or receiver options".to_owned();
        let help = "in a path file, [sender] and [receiver] apply to all flows".to_owned();
        let key = format!("flows.{other}");
        return Err(ExperimentError::at(source, &key, message, Some(help)));
    }
    Ok(())
}

fn no_path(source: &Source) -> ExperimentError {
    let message = "the file has no [path]".to_owned();
    let help =
        "describe the bottleneck, for example\n[path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"";
    ExperimentError::at(source, "path", message, Some(help.to_owned()))
}

/// Returns the application options of a flow.
fn application(flow: &FlowGroup) -> FlowGroup {
    FlowGroup {
        bytes: flow.bytes,
        writes: flow.writes.clone(),
        video: flow.video,
        web: flow.web,
        ..FlowGroup::default()
    }
}

/// Returns the path with the traces as absolute paths.
fn whole(mut path: LinkOptions, folder: &Path) -> LinkOptions {
    let whole = |trace: &mut PathBuf| {
        let from_here = folder.join(&*trace);
        // `absolute` only fails for an empty path, which could not have been read.
        *trace = absolute(&from_here).unwrap_or(from_here);
    };
    path.trace.iter_mut().for_each(whole);
    let reverse = path.reverse.iter_mut();
    reverse
        .flat_map(|reverse| &mut reverse.trace)
        .for_each(whole);
    path
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::units::Probability;

    const PATH: &str = "[path]\nrate = \"4Mbit/s\"\ndelay = \"30ms\"\n";

    fn of(text: &str, files: &BTreeMap<PathBuf, String>) -> Result<PathFile, ExperimentError> {
        let mut source = Source::new("lte.toml", text);
        source.folder = PathBuf::from("/traces");
        PathFile::of(source, &Catalog::builtin(), files)
    }

    fn complaint(text: &str) -> String {
        let error = of(text, &BTreeMap::new()).expect_err(text);
        let ExperimentError::Invalid(complaint) = error else {
            panic!("{error}");
        };
        let at = complaint.at.expect("a place in the text");
        let place = &text[at.offset()..at.offset() + at.len()];
        format!("{}|{place}", complaint.message)
    }

    #[test]
    fn a_path_alone_is_a_path_file() {
        let file = of(PATH, &BTreeMap::new()).unwrap();
        assert_eq!(file.path.delay.to_string(), "30ms");
        assert_eq!(file.application, FlowGroup::default());
    }

    #[test]
    fn only_path_application_and_endpoints_are_used() {
        let text = format!(
            "stacks = [\"rack/cubic\"]\ndialect = \"linux\"\nduration = \"7s\"\n{PATH}loss = \"1%\"\n\
             [[flows]]\nname = \"near\"\ncount = 3\nstack = \"sack/reno\"\n\
             writes = [{{ bytes = \"30kB\" }}, {{ after = \"1s\", bytes = \"9kB\", count = 2 }}]\n\
             [sender]\nsegment = \"1400B\"\n[receiver]\nbuffer = \"64kB\"\n"
        );
        let file = of(&text, &BTreeMap::new()).unwrap();
        assert_eq!(file.path.loss, Probability::new(0.01).unwrap());
        assert_eq!(
            (file.application.count, file.application.writes.len()),
            (1, 2)
        );
        assert_eq!(
            (file.application.name.as_str(), &file.application.stack),
            ("", &None)
        );
        assert_eq!(
            file.sender.segment.map(|bytes| bytes.as_bytes()),
            Some(1400)
        );
        assert!(file.receiver.buffer.is_some());
        assert_eq!(
            (file.dialect, file.duration.to_string()),
            (Dialect::Linux, "7s".to_owned())
        );
    }

    #[test]
    fn traces_have_absolute_paths() {
        let text = "[path]\ntrace = \"down\"\ndelay = \"30ms\"\nreverse = { trace = \"../up\" }\n";
        let opportunities = || "1\n5\n9\n".to_owned();
        let files = ["/traces/down", "/traces/../up"];
        let files = files.map(|file| (PathBuf::from(file), opportunities()));
        let file = of(text, &BTreeMap::from(files)).unwrap();
        assert_eq!(file.path.trace, Some(PathBuf::from("/traces/down")));
        let up = file.path.reverse.and_then(|reverse| reverse.trace);
        assert!(up.is_some_and(|up| up.is_absolute() && up.ends_with("up")));
    }

    #[test]
    fn contents_outside_a_path_file_are_located() {
        for (more, expected) in [
            (
                "[sweep]\n\"path.loss\" = [\"1%\", \"2%\"]",
                "`sweep` is not allowed|sweep",
            ),
            (
                "[[points]]\n\"path.loss\" = \"1%\"",
                "`points` is not allowed|points",
            ),
            ("[[udp]]\nrate = \"1Mbit/s\"", "`udp` is not allowed|udp"),
            (
                "[access]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"",
                "`access` is not allowed|access",
            ),
            (
                "[[flows]]\n[[flows]]\nbytes = \"3kB\"",
                "differs from that of the first flow|",
            ),
            (
                "[[flows]]\nsender = { segment = \"500B\" }",
                "its own sender or receiver options|",
            ),
        ] {
            let said = complaint(&format!("{PATH}{more}\n"));
            let (message, place) = expected.split_once('|').unwrap();
            assert!(
                said.contains(message) && said.contains(&format!("|{place}")),
                "{said}"
            );
        }
        let missing = of("dialect = \"linux\"\n", &BTreeMap::new()).unwrap_err();
        assert!(missing.to_string().contains("no [path]"), "{missing}");
    }

    #[test]
    fn errors_in_the_path_are_located() {
        let misspelt = complaint("[path]\nrate = \"4Mbit/s\"\ndleay = \"30ms\"\n");
        assert!(misspelt.ends_with("|dleay"), "{misspelt}");
        let no_trace = complaint("[path]\ntrace = \"none.down\"\ndelay = \"30ms\"\n");
        assert!(no_trace.contains("/traces/none.down"), "{no_trace}");
        let unknown = of("stack = 3\n[path]\nrate = \"4Mbit/s\"\n", &BTreeMap::new());
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("unknown field `stack`")
        );
    }
}
