//! One shell from start to end.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration as StdDuration;

use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::namespace::Namespace;
use dupack_wire::path::{Attachment, CaptureFiles, Hosts, NetworkError, PathConfig, Side};
use miette::Diagnostic;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use thiserror::Error;

use crate::cell::Cell;
use crate::control::{self, SendersError};
use crate::join::{self, JoinError};
use crate::listening::{self, Waited};
use crate::path::{Direction, EmulatedPath};
use crate::relay::Forward;
use crate::report::ShellReport;
use crate::stage::{Privileges, Role, Stage, own_number};
use crate::supervise::{Awaited, Signals, code_of, code_of_signal, has_ended};
use crate::{FAILED, say};

/// Configuration of a shell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShellConfig {
    /// The path.
    pub path: EmulatedPath,
    /// Direction of the path's forward link.
    pub direction: Direction,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Program at the far end, as a command for `sh`.
    pub server: Option<OsString>,
    /// Outside hosts that the far end represents.
    pub forwards: Vec<Forward>,
    /// Congestion control of all connections at both ends. `None` leaves the kernel's default.
    pub control: Option<String>,
    /// Capture files for the path's packets, if requested.
    pub captures: Option<CaptureFiles>,
    /// Name under which other programs may join.
    pub name: Option<String>,
    /// Maximum lateness of packets at which the path counts as on time.
    pub tolerance: Duration,
}

impl ShellConfig {
    /// Creates a configuration that runs `command` behind `path`, with a tolerance of 0.3 ms and nothing at the far
    /// end.
    #[must_use]
    pub fn new(path: EmulatedPath, command: Vec<OsString>) -> Self {
        Self {
            path,
            direction: Direction::default(),
            command,
            server: None,
            forwards: Vec::new(),
            control: None,
            captures: None,
            name: None,
            tolerance: Duration::from_micros(300),
        }
    }
}

/// Errors of a shell.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ShellError {
    /// The two ends or the path cannot be created, or the path ended early.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The kernel does not provide the congestion control.
    #[error(transparent)]
    Senders(#[from] SendersError),
    /// The shell cannot be opened for joining.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The server ended before the command started.
    #[error("the server ended before it listened, with exit code {code}: `{server}`")]
    #[diagnostic(help("it runs with `sh -c` at the far end of the path; its output is above"))]
    Server {
        /// Command of the server.
        server: String,
        /// Exit code of the server.
        code: u8,
    },
    /// A signal requested the end of the shell before the command started.
    #[error("interrupted before the command started")]
    Interrupted(Signal),
    /// A relay cannot listen.
    #[error("the far end cannot listen for --forward {port}")]
    #[diagnostic(help("the server or another --forward may already use the port"))]
    Forward {
        /// Port of the relay.
        port: u16,
        /// Error of the system.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {what}")]
    System {
        /// The step, as a verb phrase.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

impl ShellError {
    /// Returns the exit code of the error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted(signal) => code_of_signal(*signal),
            _ => FAILED,
        }
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> ShellError {
    move |source| ShellError::System { what, source }
}

/// Number of checks whether the server has ended: first after the command has ended, and again after the server was
/// asked to end.
const LAST_WORDS: u32 = 20;
const PAUSE: StdDuration = StdDuration::from_millis(10);

/// Runs a shell until its command ends. Returns the command's exit code and the report on the path. Must be called
/// while the process has a single thread, after [`prepare`](crate::prepare).
///
/// # Errors
/// Returns an error if the system refuses a step, the server does not start, or the path ended by itself.
pub fn run(config: &ShellConfig, privileges: Privileges) -> Result<(u8, ShellReport), ShellError> {
    // The signals are blocked before there are other threads, so that these do not receive signals either.
    let signals = Signals::block().map_err(system("read signals"))?;
    let (up, down) = config.path.links(config.direction);
    let mut links = PathConfig::new(up, down, config.path.seed());
    links.count_payload = true;
    let hosts = ends(config, privileges)?;
    let first = Stage {
        role: Role::First,
        parent: own_number(),
        identity: privileges.identity,
        hosts: Some(names(&config.forwards)),
    };
    let server = people_far_end(config, &first, hosts.host(Side::Far), &signals)?;
    // The path starts only now, so that its times are counted from the start of the command.
    let network = hosts.join(&links, config.captures.as_ref())?;
    let has_precedence = network.give_precedence().is_ok();
    let mut command = first.command(&config.command);
    command.envs(environment());
    let command = Cell::start(network.host(Side::Near), command);
    let mut command = command.map_err(system("start the command"))?;
    if let Some(name) = &config.name {
        let user = privileges
            .identity
            .map_or(geteuid().as_raw(), |(user, _)| user);
        join::open(name, user, command.child.id())?;
    }
    let code = signals.supervise(Awaited::One(&mut command.child));
    let code = code.map_err(system("wait for the command"))?;
    drop(command);
    let server = server.and_then(dismiss);
    let passed = network.stop()?;
    let report = ShellReport::new(config, &links, passed, (has_precedence, server));
    Ok((code, report))
}

/// Creates the namespaces of both ends.
fn ends(config: &ShellConfig, privileges: Privileges) -> Result<Hosts, ShellError> {
    let hosts = Hosts::new(Attachment::default())?;
    for side in [Side::Near, Side::Far] {
        let host = hosts.host(side);
        make_hospitable(host, privileges);
        if let Some(control) = &config.control {
            control::set(host, control)?;
        }
    }
    Ok(hosts)
}

/// Starts the server, if there is one, and the relays.
fn people_far_end(
    config: &ShellConfig,
    first: &Stage,
    far: &Namespace,
    signals: &Signals,
) -> Result<Option<Cell>, ShellError> {
    let server = config.server.as_ref();
    let server = server.map(|text| serve(text, first, far, signals));
    let server = server.transpose()?;
    for forward in &config.forwards {
        let started = forward.start(far, Side::Far.address(Family::V4));
        started.map_err(|source| ShellError::Forward {
            port: forward.port(),
            source,
        })?;
    }
    Ok(server)
}

/// Enables features that unprivileged users expect, if the system allows this: ping, and ports below 1024.
fn make_hospitable(host: &Namespace, privileges: Privileges) {
    let groups = match privileges.identity {
        // The user namespace maps no other group.
        Some(_) => "0 0",
        None => "0 2147483647",
    };
    for (setting, value) in [
        ("ipv4/ping_group_range", groups),
        ("ipv4/ip_unprivileged_port_start", "0"),
    ] {
        // Errors are ignored: programs that need these settings report the problem themselves.
        let _ = host.set(setting, value);
    }
}

/// Returns the lines for `/etc/hosts`.
fn names(forwards: &[Forward]) -> String {
    let [server, client] = [Side::Far, Side::Near].map(|side| side.address(Family::V4));
    let mut text = format!("{server} server\n{client} client\n");
    for name in forwards.iter().filter_map(Forward::name) {
        text += &format!("{server} {name}\n");
    }
    text
}

/// Returns environment variables with the addresses of the ends.
pub(crate) fn environment() -> Vec<(&'static str, String)> {
    let address = |side: Side, family| -> IpAddr { side.address(family) };
    let mut all = vec![
        ("DUPACK_SERVER", address(Side::Far, Family::V4)),
        ("DUPACK_CLIENT", address(Side::Near, Family::V4)),
    ];
    if Family::V6.is_there() {
        all.push(("DUPACK_SERVER6", address(Side::Far, Family::V6)));
        all.push(("DUPACK_CLIENT6", address(Side::Near, Family::V6)));
    }
    all.into_iter()
        .map(|(name, address)| (name, address.to_string()))
        .collect()
}

/// Starts the server and waits until it listens.
fn serve(
    text: &OsString,
    first: &Stage,
    far: &Namespace,
    signals: &Signals,
) -> Result<Cell, ShellError> {
    let shell = [OsString::from("sh"), OsString::from("-c"), text.clone()];
    let mut command: Command = first.command(&shell);
    command.envs(environment());
    // The terminal belongs to the command: Ctrl-C, the input and standard output do not concern the server.
    command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .process_group(0);
    let mut server = Cell::start(far, command).map_err(system("start the server"))?;
    let waited = listening::wait(far, &server.child, signals);
    match waited.map_err(system("read signals"))? {
        Waited::Listens => {}
        Waited::Ended => {
            let status = server.child.wait().map_err(system("wait for the server"))?;
            return Err(ShellError::Server {
                server: text.to_string_lossy().into_owned(),
                code: code_of(status),
            });
        }
        Waited::Interrupted(signal) => return Err(ShellError::Interrupted(signal)),
        Waited::Silent => {
            say(
                "warning: the server does not listen after ten seconds; starting the command anyway",
            );
        }
    }
    Ok(server)
}

/// Gives the server time to end, then stops it. Returns the server's exit code if it ended by itself.
fn dismiss(mut server: Cell) -> Option<u8> {
    let gone = |server: &Cell| {
        (0..LAST_WORDS).any(|_| {
            let gone = has_ended(&server.child);
            if !gone {
                sleep(PAUSE);
            }
            gone
        })
    };
    if gone(&server) {
        return server.child.wait().ok().map(code_of);
    }
    if let Ok(pid) = i32::try_from(server.child.id()) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        gone(&server);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_contain_the_ends_and_the_names_of_forwards() {
        let forwards = ["example.com:443", "192.0.2.1:80"].map(|text| text.parse().unwrap());
        let text = names(&forwards);
        let lines: Vec<&str> = text.lines().collect();
        let expected = [
            "10.98.32.1 server",
            "10.98.16.1 client",
            "10.98.32.1 example.com",
        ];
        assert_eq!(lines, expected);
    }
}
