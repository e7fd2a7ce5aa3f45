//! Inner loop for the most common observers, compiled in this crate.
//!
//! [`Simulation::run_some`] is generic, so each crate that calls it would compile the whole simulator again, with its
//! own optimisation level. At levels 0 and 1, the compiler shares generic functions between crates, and dependent
//! crates use the functions listed here. Simulations are therefore fast in tests even if the crates that run them are
//! not optimised.

use dupack_tcp::time::Instant;

use crate::observer::Unobserved;
use crate::simulation::{Pause, Simulation};
use crate::trace_hash::TraceHash;

type RunSome<O> = fn(&mut Simulation, Instant, u64, &mut O) -> Pause;
type RunUntil<O> = fn(&mut Simulation, Instant, &mut O);

#[used]
static UNOBSERVED: (RunSome<Unobserved>, RunUntil<Unobserved>) =
    (Simulation::run_some, Simulation::run_until);
#[used]
static HASHED: (RunSome<TraceHash>, RunUntil<TraceHash>) =
    (Simulation::run_some, Simulation::run_until);
