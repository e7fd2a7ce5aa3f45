//! `dupack compare`: stacks on a path.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{DialectName, Direction, Experiment, FlowGroup, LinkOptions, Seeds};
use miette::Result;

use crate::args::{CompareArgs, Dialect};
use crate::run::carry_out;

pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let experiment = experiment(args);
    let source = Source::of_flags(&experiment);
    carry_out(experiment, &source, "compare", &args.output)
}

impl From<Dialect> for DialectName {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Rfc => Self::Rfc,
            Dialect::Linux => Self::Linux,
            Dialect::Ns2 => Self::Ns2,
        }
    }
}

/// From the root on, so that a stored experiment can be run from anywhere.
pub fn whole_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The experiment that the flags describe; it is stored with the results, so that `dupack run`
/// can repeat it.
fn experiment(args: &CompareArgs) -> Experiment {
    let mut experiment = Experiment::new(args.stacks.0.clone());
    experiment.title = "Which sender should this path have?".to_owned();
    experiment.dialect = args.dialect.into();
    experiment.seeds = Seeds::Count(args.seeds);
    experiment.duration = args.duration;
    let mut path = LinkOptions {
        rate: args.trace.is_none().then_some(args.rate),
        trace: args.trace.as_deref().map(whole_path),
        delay: args.delay,
        buffer: Some(args.buffer),
        ..LinkOptions::default()
    };
    if args.ack_loss.as_fraction() > 0.0 {
        path.reverse = Some(Direction {
            loss: args.ack_loss,
            ..Direction::default()
        });
    }
    experiment.set_path(path, &args.loss);
    experiment.receiver.delayed_ack = args.delayed_ack;
    experiment.sender.segment = args.segment;
    if args.flows > 1 {
        experiment.flows.push(FlowGroup {
            count: args.flows,
            ..FlowGroup::default()
        });
    }
    experiment
}
