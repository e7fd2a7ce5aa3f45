//! Additional programs in a running shell: `--name NAME` opens a door, and `--join NAME` enters it.
//!
//! The door is a socket in the abstract namespace (unix(7)). The socket has no file and is removed when the shell ends.
//! Only the same user may enter. The visitor receives the number of the first process at the command's end and enters
//! the namespaces of this process. Programs that the visitor starts there end with the visitor and with the shell.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{getegid, geteuid};
use thiserror::Error;

use crate::session::environment;
use crate::stage::{Role, Stage};
use crate::supervise::{Awaited, Signals};

/// Maximum length of a shell's name, in bytes. A socket address holds at most 108 bytes.
const NAME_BYTES: usize = 64;

/// Maximum length in bytes of the answer at the door, which is a process number.
const ANSWER_BYTES: u64 = 16;

/// Errors of joining a shell.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The name is not valid.
    #[error(
        "`{0}` is not a valid name of a shell: use at most {NAME_BYTES} letters, digits, `-`, `_` and `.`"
    )]
    Name(String),
    /// The user has no shell with this name.
    #[error("you have no shell called `{0}` here: start one with `dupack shell --name {0}`")]
    Nobody(String),
    /// The shell belongs to another user.
    #[error("the shell `{0}` belongs to another user")]
    Foreign(String),
    /// The user already has a shell with this name.
    #[error(
        "you already have a shell called `{0}`: choose another name, or join it with --join {0}"
    )]
    Taken(String),
    /// A system call failed.
    #[error("cannot {what}")]
    System {
        /// The step, as a verb phrase.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

fn system(what: &'static str) -> impl Fn(io::Error) -> JoinError {
    move |source| JoinError::System { what, source }
}

/// Opens a door to the namespaces of `first` for `user`. The door stays open until this process ends.
pub(crate) fn open(name: &str, user: u32, first: u32) -> Result<(), JoinError> {
    let listener =
        UnixListener::bind_addr(&address(name, user)?).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => JoinError::Taken(name.to_owned()),
            _ => system("open a socket for --join")(error),
        })?;
    let porter = thread::Builder::new().name("door".to_owned());
    let started = porter.spawn(move || {
        for mut guest in listener.incoming().flatten() {
            // In a user namespace, all other users have the same ID.
            if user_of(&guest).is_ok_and(|user| user == geteuid().as_raw()) {
                let _ = write!(guest, "{first}");
            }
        }
    });
    started
        .map(drop)
        .map_err(system("open a socket for --join"))
}

/// Runs `command` at the command's end of the shell called `name`, and returns its exit code. Must be called while the
/// process has a single thread.
///
/// # Errors
/// Returns an error if there is no such shell, or if the system does not allow entering it.
pub fn join(name: &str, command: &[OsString]) -> Result<u8, JoinError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let first = ask(name, user)?;
    let signals = Signals::block().map_err(system("read signals"))?;
    let this = env::current_exe().map_err(system("find this program"))?;
    let is_other_user = enter(first).map_err(system("enter the shell's namespaces"))?;
    let bridge = Stage {
        role: Role::Bridge,
        // /proc now shows a namespace that does not contain the parent.
        parent: None,
        identity: is_other_user.then_some((user, group)),
        hosts: None,
    };
    let mut bridge = bridge.command_of(&this, command);
    let mut child = bridge
        .envs(environment())
        .spawn()
        .map_err(system("start the command"))?;
    let waited = signals.supervise(Awaited::One(&mut child));
    waited.map_err(system("wait for the command"))
}

/// Asks at the door for the number of the first process of the shell.
fn ask(name: &str, user: u32) -> Result<u32, JoinError> {
    let nobody = |_| JoinError::Nobody(name.to_owned());
    let door = UnixStream::connect_addr(&address(name, user)?).map_err(nobody)?;
    if user_of(&door).map_err(system("determine the owner of the shell"))? != user {
        return Err(JoinError::Foreign(name.to_owned()));
    }
    let mut answer = String::new();
    let read = door.take(ANSWER_BYTES).read_to_string(&mut answer);
    read.map_err(system("find the shell's namespaces"))?;
    answer
        .parse()
        .map_err(|_| JoinError::Nobody(name.to_owned()))
}

/// Enters the namespaces of the process `first`. Returns `true` if its user namespace differs from ours.
fn enter(first: u32) -> io::Result<bool> {
    let of = |process: &str, kind: &str| File::open(format!("/proc/{process}/ns/{kind}"));
    let first = first.to_string();
    let (own, users) = (of("self", "user")?, of(&first, "user")?);
    let others = [
        (of(&first, "net")?, CloneFlags::CLONE_NEWNET),
        (of(&first, "pid_for_children")?, CloneFlags::CLONE_NEWPID),
        (of(&first, "mnt")?, CloneFlags::CLONE_NEWNS),
    ];
    let here = env::current_dir();
    let is_other_user = own.metadata()?.ino() != users.metadata()?.ino();
    if is_other_user {
        setns(users.as_fd(), CloneFlags::CLONE_NEWUSER)?;
    }
    for (namespace, kind) in &others {
        setns(namespace.as_fd(), *kind)?;
    }
    // Entering a mount namespace changes the current directory to its root.
    if let Ok(here) = here {
        env::set_current_dir(here)?;
    }
    Ok(is_other_user)
}

/// Returns the user ID of the other end, as seen from this process's user namespace.
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(getsockopt(stream, sockopt::PeerCredentials)?.uid())
}

fn address(name: &str, user: u32) -> Result<SocketAddr, JoinError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > NAME_BYTES || !name.chars().all(plain) {
        return Err(JoinError::Name(name.to_owned()));
    }
    let address = format!("dupack-shell/{user}/{name}");
    SocketAddr::from_abstract_name(address).map_err(system("name a socket"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_short() {
        assert!(address("lab-1_a.b", 0).is_ok());
        for name in ["", "a/b", "a b", "ä", &"x".repeat(NAME_BYTES + 1)] {
            assert!(
                matches!(address(name, 0), Err(JoinError::Name(_))),
                "{name}"
            );
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_with_a_remedy() {
        let error = ask("nobody-has-this-name", 4_000_000)
            .unwrap_err()
            .to_string();
        assert!(error.contains("--name nobody-has-this-name"), "{error}");
    }
}
