//! Runs on real packets for report cards. This module connects `evaluation` with `testbed`.

#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use dupack_algorithms::catalog::Catalog;
use dupack_evaluation::{EvaluationError, KERNEL, RealPackets, WireError, WireRun};
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::ReadFile;
use dupack_lab::run::Interrupt;

/// Prepares the process to create namespaces as an unprivileged user, if the system allows it. This function must be
/// called first, while the process has a single thread. Later calls return the same result.
#[cfg(target_os = "linux")]
pub fn prepare() -> Result<(), EvaluationError> {
    static PREPARED: OnceLock<Result<(), String>> = OnceLock::new();
    let prepare = || {
        let prepared = dupack_wire::namespace::prepare();
        prepared.map(drop).map_err(|error| error.to_string())
    };
    let prepared = PREPARED.get_or_init(prepare).clone();
    prepared.map_err(|cause| EvaluationError::NoRealPackets { cause })
}

/// Returns an error if this machine's kernel does not have all of its senders in `stacks`.
#[cfg(target_os = "linux")]
pub fn check_kernel(stacks: &[String]) -> Result<(), EvaluationError> {
    for stack in stacks {
        let Some(control) = stack.strip_prefix(KERNEL) else {
            continue;
        };
        prepare()?;
        if let Err(error) = dupack_wire::transfer::probe(control) {
            return Err(EvaluationError::Stack {
                message: format!("{stack} is not available on this machine: {error}"),
                help: format!(
                    "load its module as root (modprobe tcp_{control}), choose a congestion control that the kernel has, or \
                     evaluate a stack listed by `dupack stacks`"
                ),
            });
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn check_kernel(stacks: &[String]) -> Result<(), EvaluationError> {
    match stacks.iter().any(|stack| stack.starts_with(KERNEL)) {
        true => prepare(),
        false => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn prepare() -> Result<(), EvaluationError> {
    Err(EvaluationError::NoRealPackets {
        cause: "this is not Linux".to_owned(),
    })
}

/// Runner on real packets, with senders of a catalog and of the kernel.
pub struct Packets<'c> {
    catalog: &'c Catalog,
    interrupt: &'c Interrupt,
}

impl<'c> Packets<'c> {
    pub const fn new(catalog: &'c Catalog, interrupt: &'c Interrupt) -> Self {
        Self { catalog, interrupt }
    }
}

#[cfg(target_os = "linux")]
impl RealPackets for Packets<'_> {
    fn check(
        &self,
        experiment: &Experiment,
        stack: &str,
        files: &dyn ReadFile,
    ) -> Result<(), WireError> {
        let shared = dupack_testbed::Shared::new(experiment, stack, self.catalog, files)?;
        Ok(shared.probe()?)
    }

    fn run(
        &self,
        experiment: &Experiment,
        stack: &str,
        files: &dyn ReadFile,
        seed: u64,
    ) -> Result<Option<WireRun>, WireError> {
        use dupack_testbed::{Shared, TOLERANCE, Trust};

        let shared = Shared::new(experiment, stack, self.catalog, files)?;
        let Some(outcome) = shared.run(seed, TOLERANCE, self.interrupt)? else {
            return Ok(None);
        };
        let flows = outcome.flows.into_iter();
        Ok(Some(WireRun {
            values: outcome.values,
            flows: flows
                .map(|flow| dupack_evaluation::WireFlow {
                    group: flow.group,
                    sender: flow.sender,
                    measured: flow.compared,
                    start_s: flow.start_s,
                    goodput_mbit_s: flow.goodput_mbit_s,
                    segments: flow.segments,
                    packets: (flow.offered, flow.dropped),
                    waits_ms: flow.waits_ms,
                })
                .collect(),
            void: match outcome.trust {
                Trust::Sound => Vec::new(),
                Trust::Worthless { reasons } => reasons,
            },
        }))
    }
}

#[cfg(not(target_os = "linux"))]
impl RealPackets for Packets<'_> {
    fn check(&self, _: &Experiment, _: &str, _: &dyn ReadFile) -> Result<(), WireError> {
        Err("this is not Linux".into())
    }

    fn run(
        &self,
        _: &Experiment,
        _: &str,
        _: &dyn ReadFile,
        _: u64,
    ) -> Result<Option<WireRun>, WireError> {
        Err("this is not Linux".into())
    }
}
