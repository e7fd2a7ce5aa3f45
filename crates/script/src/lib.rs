//! packetdrill scripts, played against the endpoint in simulated time.
//!
//! A [script](syntax) says which packets reach an endpoint and what its application does, and
//! which packets the endpoint is to send and when. [`run`] plays one against a
//! [`Connection`](dupack_tcp::connection::Connection) with any stack; nothing of the machine it
//! runs on is used or changed.

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

pub use outcome::{Failure, Outcome, Skip};
pub use parse::{Fault, ParseError, parse};
pub use trace::{Trace, TraceError};

use std::path::Path;

use dupack_algorithms::catalog::{Dialect, StackSpec};
use dupack_tcp::time::Duration;

use outcome::Stop;
use run::Player;
use settings::Settings;
use stage::Stage;

/// How scripts are played.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The stack; if there is none, RACK-TLP with the congestion control that the script asks
    /// for, and CUBIC if it asks for none.
    pub stack: Option<StackSpec>,
    /// Whose rules the endpoint follows.
    pub dialect: Dialect,
    /// How far from its time something may happen, unless the script says.
    pub tolerance: Duration,
    /// MTU of scripts for IPv6 that name none: 1500, or what their runner says.
    pub mtu_ipv6: u16,
    /// What is called with each line that a script's code prints; nothing is done with it unless it
    /// is set.
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

/// Plays a script. Files that it names are looked for from `folder` on.
#[must_use]
pub fn run(source: &str, folder: &Path, options: &Options) -> Outcome {
    play(source, folder, options).0
}

/// As [`run`], with what crossed the wire; `None` if there was no connection.
#[must_use]
pub fn run_traced(source: &str, folder: &Path, options: &Options) -> (Outcome, Option<Trace>) {
    let (outcome, stage) = play(source, folder, options);
    let line = stage.as_ref().and_then(|stage| stage.lines.last());
    (outcome, line.map(Trace::of))
}

fn play(source: &str, folder: &Path, options: &Options) -> (Outcome, Option<Stage>) {
    // A mark of the byte order says nothing of what follows.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let script = match parse(source) {
        Ok(script) => script,
        Err(error) => return (unread(source, error), None),
    };
    let mut settings = Settings::new(options.stack.clone(), options.dialect, options.tolerance);
    settings.mtu_ipv6 = options.mtu_ipv6;
    let mut player = Player::new(Stage::new(settings), folder, options.print);
    let outcome = match player.play(&script) {
        Ok(()) => Outcome::Passed,
        Err(Stop::Skipped(skip)) => Outcome::Skipped(skip),
        Err(Stop::Failed(failure)) => Outcome::Failed(failure.with_excerpt(source)),
    };
    (outcome, Some(player.stage))
}

/// What comes of a script that cannot be read.
fn unread(source: &str, error: ParseError) -> Outcome {
    match error.fault {
        Fault::Missing => Outcome::Skipped(Skip {
            line: error.line,
            reason: error.message,
        }),
        Fault::Script => {
            let mut failure = Failure::new(error.line, error.message);
            failure.mark = Some((error.column, error.width));
            Outcome::Failed(failure.with_excerpt(source))
        }
    }
}

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
