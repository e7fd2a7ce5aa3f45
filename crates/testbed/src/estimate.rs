//! Estimate of the testbed's duration: the simulated duration of each transfer, plus a constant for creating its
//! network.

use dupack_algorithms::catalog::{Catalog, Deployment, StackSpec};
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{FlowGroup, Seeds};
use dupack_lab::results::Measure;
use dupack_lab::run::{Interrupt, Plan};
use dupack_tcp::time::Duration;

use super::{SenderSpec, Testbed};

/// Stack that represents a kernel's sender if no stack has the same congestion control.
const LIKE_LINUX: &str = "rack/cubic";

/// Time needed to create a network, to connect, and to remove the network.
const AROUND_A_RUN: Duration = Duration::from_millis(500);

impl Testbed {
    /// Estimates the total time of all runs from one simulated transfer of each sender at each point. Returns `None` if
    /// interrupted. A kernel's sender is represented by the stack in `catalog` with the same congestion control.
    #[must_use]
    pub fn estimate(&self, catalog: &Catalog, interrupt: &Interrupt) -> Option<Duration> {
        let limit = Duration::from_nanos(self.experiment.duration.as_nanos());
        let senders = self.options.senders.iter();
        let stacks: Vec<StackSpec> = senders.map(|sender| simulated(sender, catalog)).collect();
        let mut distinct: Vec<String> = stacks.iter().map(ToString::to_string).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut experiment = self.experiment.clone();
        experiment.stacks = distinct;
        experiment.seeds = Seeds::List(vec![1]);
        experiment.precision = None;
        if experiment.flows.is_empty() {
            experiment.flows.push(FlowGroup::default());
        }
        for flow in experiment
            .flows
            .iter_mut()
            .filter(|flow| flow.writes.is_empty())
        {
            flow.bytes = Some(self.options.bytes);
        }
        let source = Source::of_flags(&experiment);
        let plan = Plan::new(experiment, &source, catalog).ok()?;
        let results = plan.execute(Execution::default(), &(), interrupt);
        if interrupt.is_asked() {
            return None;
        }
        let repetitions = self.experiment.seeds.to_vec().len() as u64;
        let mut all = Duration::ZERO;
        for point in 0..results.points.len() {
            for stack in &stacks {
                let place = results
                    .stacks
                    .iter()
                    .position(|known| *known == stack.to_string());
                let mut samples = results.samples(point, place?, Measure::Completion);
                let took = samples
                    .next()
                    .map(|(_, seconds)| Duration::from_secs_f64(seconds));
                all += (took.unwrap_or(limit).min(limit) + AROUND_A_RUN) * repetitions;
            }
        }
        Some(all)
    }
}

/// Returns the stack that represents a sender.
fn simulated(sender: &SenderSpec, catalog: &Catalog) -> StackSpec {
    let control = match sender {
        SenderSpec::Stack(stack) => return stack.clone(),
        SenderSpec::Kernel(control) => control,
    };
    let is_it = |stack: &StackSpec| {
        let own = Deployment::of(stack).control;
        own.is_some_and(|own| own.name == *control)
    };
    let found = catalog.deployable().into_iter().find(is_it);
    found.unwrap_or_else(|| StackSpec::parse(LIKE_LINUX, catalog).expect("it is in every catalog"))
}
