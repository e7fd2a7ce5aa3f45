//! Player of packetdrill scripts against the endpoint, in simulated time.
//!
//! A [script](syntax) lists the packets that reach an endpoint, the calls of its application, and the packets that the
//! endpoint must send, with their times. [`run`] plays a script against a
//! [`Connection`](dupack_tcp::connection::Connection) with any stack. It neither uses nor changes the network of the
//! machine.

mod buffer;
mod chrono;
mod code;
mod expect;
mod hold;
mod info;
mod line;
mod lines;
mod outcome;
mod parse;
mod run;
mod screen;
mod settings;
mod socket;
mod stage;
mod stamps;
mod state;
pub mod suite;
pub mod syntax;
mod trace;
mod wire;

pub use outcome::{Failure, ScriptOutcome, Skip};
pub use parse::{Fault, ParseError, parse};
pub use trace::{Trace, TraceError};

use std::path::Path;

use dupack_algorithms::catalog::{Dialect, StackSpec};
use dupack_tcp::time::Duration;

use outcome::Stop;
use run::Player;
use settings::Settings;
use stage::Stage;

/// Options for playing scripts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The stack. The default is RACK-TLP with the congestion control that the script requests, or with CUBIC.
    pub stack: Option<StackSpec>,
    /// The dialect that the endpoint follows.
    pub dialect: Dialect,
    /// Tolerance of times, if the script does not set one.
    pub tolerance: Duration,
    /// MTU of IPv6 scripts that do not set one: 1500, or the value that their runner uses.
    pub mtu_ipv6: u16,
    /// Function that is called with each line that a script's code prints. The default function does nothing.
    pub print: fn(&str),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stack: None,
            dialect: Dialect::Linux,
            tolerance: Duration::from_millis(4),
            mtu_ipv6: settings::USUAL_MTU,
            print: |_| (),
        }
    }
}

/// Plays a script. Paths in the script are relative to `folder`.
#[must_use]
pub fn run(source: &str, folder: &Path, options: &Options) -> ScriptOutcome {
    play(source, folder, options).0
}

/// Plays a script like [`run`], and also returns the packets on the wire; `None` if there was no connection.
#[must_use]
pub fn run_traced(
    source: &str,
    folder: &Path,
    options: &Options,
) -> (ScriptOutcome, Option<Trace>) {
    let (outcome, stage) = play(source, folder, options);
    let line = stage.as_ref().and_then(|stage| stage.lines.last());
    (outcome, line.map(Trace::of))
}

fn play(source: &str, folder: &Path, options: &Options) -> (ScriptOutcome, Option<Stage>) {
    // A byte order mark is not part of the script.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let script = match parse(source) {
        Ok(script) => script,
        Err(error) => return (unread(source, error), None),
    };
    let mut settings = Settings::new(options.stack.clone(), options.dialect, options.tolerance);
    settings.mtu_ipv6 = options.mtu_ipv6;
    let mut player = Player::new(Stage::new(settings), folder, options.print);
    let outcome = match player.play(&script) {
        Ok(()) => ScriptOutcome::Passed,
        Err(Stop::Skipped(skip)) => ScriptOutcome::Skipped(skip),
        Err(Stop::Failed(failure)) => ScriptOutcome::Failed(failure.with_excerpt(source)),
    };
    (outcome, Some(player.stage))
}

/// Returns the outcome of a script that cannot be parsed.
fn unread(source: &str, error: ParseError) -> ScriptOutcome {
    match error.fault {
        Fault::Missing => ScriptOutcome::Skipped(Skip {
            line: error.line,
            reason: error.message,
        }),
        Fault::Script => {
            let mut failure = Failure::new(error.line, error.message);
            failure.mark = Some((error.column, error.width));
            ScriptOutcome::Failed(failure.with_excerpt(source))
        }
    }
}

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
