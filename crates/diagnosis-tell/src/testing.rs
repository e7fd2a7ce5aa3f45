//! Simulated transfers, captured, for tests.

use dupack_algorithms::catalog::Catalog;
use dupack_diagnosis::{Flow, Path, StreamFindings, diagnose};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Job, Plan};
use dupack_lab::trace::{self, Trace};
use dupack_packet::captured::CaptureReader;

/// The findings of a capture at the sender of a simulated flow.
pub(crate) fn stream(experiment: &str, seed: u64) -> StreamFindings {
    let source = Source::new("test.toml", experiment);
    let experiment = source.parse().unwrap();
    let plan = Plan::new(experiment, &source, &Catalog::builtin()).unwrap();
    let job = Job {
        point: 0,
        stack: 0,
        seed,
    };
    let trace = Trace::record(plan.scenario(job), seed, &Interrupt::new()).unwrap();
    let file = trace::capture(&trace).unwrap();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let found = diagnose(&mut reader, Flow::All, &mut ()).unwrap();
    found.connections[0].main_stream().unwrap().clone()
}

/// The path as a capture at the sender tells it.
pub(crate) fn at_sender(experiment: &str, seed: u64) -> Path {
    stream(experiment, seed).path
}
