//! Any program behind an emulated path, unchanged: `dupack shell`.
//!
//! ```text
//!   network namespace "near"                          network namespace "far"
//!   ┌───────────────────────┐    emulated path       ┌─────────────────────────┐
//!   │ the command           │ ◀── forward: down ──── │ what --server starts,   │
//!   │ 10.98.16.1, `client`  │ ──── backward: up ───▶ │ relays of --forward     │
//!   └───────────────────────┘                        │ 10.98.32.1, `server`    │
//!                                                    └─────────────────────────┘
//! ```
//!
//! The path is that of a path file or of flags, and runs in real time as `dupack testbed` has it
//! ([`dupack_wire::path`]). Its forward direction, in which recorded losses, policers and the like
//! stand, leads to the command, as data does that somebody downloads; [`ShellConfig::direction`] turns
//! it round.
//!
//! Each end's programs live in a pid namespace of their own (`cell`): when its first process goes,
//! the kernel kills all of them, and that process goes when this one does, however it ends.
//!
//! | module | contents |
//! | --- | --- |
//! | `path` | a path file's or flags' path as links that run in real time |
//! | `session` | one shell from begin to end |
//! | `cell` | programs at one end that end together |
//! | [`stage`] | what this program does when it is started again inside a cell |
//! | `supervise` | waiting for a program, and passing signals on to it |
//! | [`join`] | further programs in a shell that is there |
//! | `relay` | TCP connections from the far end to the world outside |
//! | `listening` | waiting until a server listens |
//! | `control` | the congestion control of a namespace |
//! | `report` | what the shell says at its end |

#![cfg(target_os = "linux")]

mod cell;
mod control;
mod join;
mod listening;
mod path;
mod relay;
mod report;
mod session;
mod stage;
mod supervise;

pub use control::SendersError;
pub use dupack_packet::Snap;
pub use dupack_wire::path::CaptureFiles;
pub use join::{JoinError, join};
pub use path::{Direction, EmulatedPath, PathError};
pub use relay::{Forward, ForwardError};
pub use report::ShellReport;
pub use session::{ShellConfig, ShellError, run};
pub use stage::{Privileges, prepare, stage};

/// Says something on standard error. A reader that has gone away is told nothing.
fn say(text: &str) {
    use std::io::Write;

    let _ = writeln!(std::io::stderr(), "dupack shell: {text}");
}

/// The exit code of a shell that failed itself, as env(1) and docker have it.
pub const FAILED: u8 = 125;
