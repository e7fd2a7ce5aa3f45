//! Runs any unmodified program behind an emulated path: `dupack shell`.
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
//! The path comes from a path file or from flags, and runs in real time as in `dupack testbed` ([`dupack_wire::path`]).
//! Its forward direction, which has the recorded losses, policers etc., leads to the command, like data in a download.
//! [`ShellConfig::direction`] reverses the path.
//!
//! The programs at each end run in their own pid namespace (`cell`). When the first process of a namespace ends, the
//! kernel kills all other processes in it. The first process ends when this process ends for any reason.
//!
//! | module | contents |
//! | --- | --- |
//! | `path` | the path of a path file or of flags, as links that run in real time |
//! | `session` | one shell from start to end |
//! | `cell` | programs at one end, which end together |
//! | [`stage`] | tasks of this program when it is started again inside a cell |
//! | `supervise` | waiting for a program, and forwarding signals to it |
//! | [`join`] | additional programs in a running shell |
//! | `relay` | TCP connections from the far end to the outside world |
//! | `listening` | waiting until a server listens |
//! | `control` | the congestion control of a namespace |
//! | `report` | the shell's final report |

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

/// Writes a message to standard error. Errors are ignored, because the reader may have ended.
fn say(text: &str) {
    use std::io::Write;

    let _ = writeln!(std::io::stderr(), "dupack shell: {text}");
}

/// Exit code of a shell that itself failed, as in env(1) and docker.
pub const FAILED: u8 = 125;
