//! Assignment of one core to each side, and the processor time that a thread has used.

use std::fs;
use std::path::PathBuf;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, gettid};

use super::Failure;

/// The calling thread, in the form that `sched_setaffinity` expects.
const CALLER: Pid = Pid::from_raw(0);

/// One of the machine's cores.
#[derive(Clone, Copy)]
pub struct Core(usize);

/// Cores of the two sides.
pub struct Cores {
    /// Core of the endpoint or the relay.
    pub carrier: Core,
    /// Core of the programs that use the kernel's TCP.
    pub kernel: Core,
}

impl Cores {
    /// Picks the first two cores that this process may use.
    pub fn pick() -> Result<Self, Failure> {
        let allowed = sched_getaffinity(CALLER)?;
        let mut cores = (0..CpuSet::count()).filter(|core| allowed.is_set(*core) == Ok(true));
        match (cores.next(), cores.next()) {
            (Some(carrier), Some(kernel)) => Ok(Self {
                carrier: Core(carrier),
                kernel: Core(kernel),
            }),
            _ => Err("the measurement needs two cores".into()),
        }
    }
}

impl Core {
    /// Binds the calling thread to this core.
    pub fn take(self) -> Result<(), Failure> {
        let mut set = CpuSet::new();
        set.set(self.0)?;
        Ok(sched_setaffinity(CALLER, &set)?)
    }
}

/// Processor time of a thread of this process, including the kernel's work on its behalf.
#[derive(Clone)]
pub struct ThreadTime(PathBuf);

impl ThreadTime {
    /// Opens the statistics of the calling thread.
    pub fn of_caller() -> Self {
        Self(PathBuf::from(format!(
            "/proc/self/task/{}/schedstat",
            gettid()
        )))
    }

    /// Returns the processor time so far in seconds (the first number, in ns: Documentation/scheduler/sched-stats.rst).
    pub fn seconds(&self) -> Result<f64, Failure> {
        let text = fs::read_to_string(&self.0)?;
        let ns: f64 = text.split(' ').next().unwrap_or_default().parse()?;
        Ok(ns / 1e9)
    }
}
