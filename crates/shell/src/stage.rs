//! Tasks of this program when it is started again inside a cell.
//!
//! ```text
//!   dupack shell ─▶ first ─▶ program         a shell's command, or its server
//!   dupack shell --join ─▶ bridge ─▶ first ─▶ program
//! ```
//!
//! *First* is process 1 of a pid namespace. When it ends, the kernel kills all other processes of the namespace. When
//! its parent ends, the kernel kills *first*. It has its own mount namespace, in which `/etc/hosts` names the ends of
//! the path. *Program* becomes the original user again if a user namespace made that user root, and then executes the
//! command. *Bridge* enters a pid namespace nested in another one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use dupack_wire::namespace::{self, NamespaceError, Standing};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getegid, geteuid};

use crate::supervise::{Awaited, Signals};
use crate::{FAILED, say};

/// First argument of this program inside a cell. It is not intended for users.
const MARK: &str = "__shell";

/// Placeholder for an omitted argument.
const NOTHING: &str = "-";

/// Path of this program's executable.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Exit codes for a command that cannot be started, as in env(1).
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Identity of this process before it gained the privilege to make namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privileges {
    /// User and group to restore, if the user became root in a user namespace.
    pub(crate) identity: Option<(u32, u32)>,
}

/// Gives this process the privilege to make namespaces. Must be called while the process has a single thread.
///
/// # Errors
/// Returns an error if the system does not allow this. The error states the requirements.
pub fn prepare() -> Result<Privileges, NamespaceError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let identity = match namespace::prepare()? {
        Standing::Privileged => None,
        Standing::UserNamespace => Some((user, group)),
    };
    Ok(Privileges { identity })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    First,
    Bridge,
    Program,
}

/// Arguments of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) role: Role,
    /// Parent process, as numbered in `/proc`. The stage ends with this process. `None` if the number is unknown.
    pub(crate) parent: Option<u32>,
    /// See [`Privileges`].
    pub(crate) identity: Option<(u32, u32)>,
    /// Lines for `/etc/hosts`.
    pub(crate) hosts: Option<String>,
}

/// Exit code and message of a stage that fails.
#[derive(Debug)]
struct Failure(u8, String);

/// Runs a stage and returns its exit code. Returns `None` if `args` are not the arguments of a stage.
#[must_use]
pub fn stage(args: impl Iterator<Item = OsString>) -> Option<u8> {
    let words: Vec<OsString> = args.skip(1).collect();
    let (stage, program) = Stage::parse(&words)?;
    let done = match stage.role {
        Role::First => stage.first(program),
        Role::Bridge => stage.bridge(program),
        Role::Program => stage.become_program(program),
    };
    Some(done.unwrap_or_else(|Failure(code, what)| {
        say(&what);
        code
    }))
}

impl Stage {
    /// Returns a command that starts this program again as this stage. The last stage executes `program`.
    pub(crate) fn command(&self, program: &[OsString]) -> Command {
        self.command_of(Path::new(THIS_PROGRAM), program)
    }

    /// Same as [`command`](Self::command), with another path to this program.
    pub(crate) fn command_of(&self, this: &Path, program: &[OsString]) -> Command {
        let role = match self.role {
            Role::First => "first",
            Role::Bridge => "bridge",
            Role::Program => "program",
        };
        let number = |parent: u32| parent.to_string();
        let pair = |(user, group): (u32, u32)| format!("{user}:{group}");
        let word = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
        let mut command = Command::new(this);
        command.arg0("dupack").args([MARK, role]);
        command.arg(word(self.parent.map(number)));
        command.arg(word(self.identity.map(pair)));
        command.arg(word(self.hosts.clone()));
        command.args(program);
        command
    }

    fn parse(words: &[OsString]) -> Option<(Self, &[OsString])> {
        let ([mark, role, parent, identity, hosts], program) = words.split_first_chunk::<5>()?;
        if mark != MARK {
            return None;
        }
        let role = match role.to_str()? {
            "first" => Role::First,
            "bridge" => Role::Bridge,
            "program" => Role::Program,
            _ => return None,
        };
        let pair = |text: &str| {
            let (user, group) = text.split_once(':')?;
            Some((user.parse().ok()?, group.parse().ok()?))
        };
        let stage = Self {
            role,
            parent: parent.to_str()?.parse().ok(),
            identity: pair(identity.to_str()?),
            hosts: (hosts != NOTHING).then(|| hosts.to_string_lossy().into_owned()),
        };
        Some((stage, program))
    }

    /// Sets up a cell, runs the program in it and waits until the program ends.
    fn first(&self, program: &[OsString]) -> Result<u8, Failure> {
        self.die_with_parent()?;
        let own = |error: io::Error| failed("make a mount namespace", error);
        unshare(CloneFlags::CLONE_NEWNS).map_err(|errno| own(errno.into()))?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        bind(None, "/", None, private).map_err(own)?;
        if let Some(Err(error)) = self.hosts.as_deref().map(name_hosts) {
            say(&format!(
                "warning: cannot add the names of the ends to /etc/hosts ({error}); use the addresses in \
                 $DUPACK_SERVER and $DUPACK_CLIENT"
            ));
        }
        // The mount fails if a container hides parts of /proc. Programs run nevertheless.
        let _ = bind(Some("proc"), "/proc", Some("proc"), MsFlags::empty());
        let signals = Signals::block().map_err(|error| failed("read signals", error))?;
        let next = Self {
            role: Role::Program,
            parent: None,
            hosts: None,
            ..self.clone()
        };
        let child = next.command(program).spawn();
        let child = child.map_err(|error| failed("start the program", error))?;
        let first = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let waited = signals.supervise(Awaited::First(first));
        waited.map_err(|error| failed("wait for the program", error))
    }

    /// Enters a pid namespace nested in the current one.
    fn bridge(&self, program: &[OsString]) -> Result<u8, Failure> {
        self.die_with_parent()?;
        let entered = unshare(CloneFlags::CLONE_NEWPID);
        entered.map_err(|errno| failed("make a pid namespace", errno.into()))?;
        let signals = Signals::block().map_err(|error| failed("read signals", error))?;
        let next = Self {
            role: Role::First,
            parent: own_number(),
            ..self.clone()
        };
        let child = next.command(program).spawn();
        let mut child = child.map_err(|error| failed("start the program", error))?;
        let waited = signals.supervise(Awaited::One(&mut child));
        waited.map_err(|error| failed("wait for the program", error))
    }

    /// Executes the program in this process. Returns only on failure.
    fn become_program(&self, program: &[OsString]) -> Result<u8, Failure> {
        let [name, args @ ..] = program else {
            return Err(Failure(FAILED, "there is no command".to_owned()));
        };
        if let Some(identity) = self.identity {
            let done = become_user(identity);
            done.map_err(|error| failed("give up root in the user namespace", error))?;
        }
        // Programs expect that no signals are blocked.
        let unblocked = SigSet::empty().thread_set_mask();
        unblocked.map_err(|errno| failed("unblock signals", errno.into()))?;
        let error = Command::new(name).args(args).exec();
        Err(not_run(name, &error))
    }

    /// Makes the kernel kill this process when its parent ends. Fails if the parent has already ended.
    fn die_with_parent(&self) -> Result<(), Failure> {
        let set = set_pdeathsig(Signal::SIGKILL);
        set.map_err(|errno| failed("arrange to end with the shell", errno.into()))?;
        match (self.parent, own_parent()) {
            (Some(expected), Some(parent)) if expected != parent => {
                Err(Failure(FAILED, "the shell has ended".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

fn failed(what: &str, error: io::Error) -> Failure {
    Failure(FAILED, format!("cannot {what}: {error}"))
}

fn not_run(name: &OsStr, error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_RUNNABLE,
    };
    Failure(code, format!("cannot run `{}`: {error}", name.display()))
}

/// Returns the number of this process in the pid namespace that `/proc` shows.
pub(crate) fn own_number() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// Returns the number of the parent process.
fn own_parent() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// Changes root in a user namespace back to the given user, by means of a nested user namespace.
fn become_user((user, group): (u32, u32)) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} 0 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} 0 1"))
}

/// Prepends `lines` to `/etc/hosts`, in this mount namespace only. Does nothing if the file does not exist.
fn name_hosts(lines: &str) -> io::Result<()> {
    const HOSTS: &str = "/etc/hosts";
    /// A directory that exists everywhere. A file system is mounted on it for a short time.
    const COVERED: &str = "/tmp";
    let Ok(others) = fs::read_to_string(HOSTS) else {
        return Ok(());
    };
    bind(Some("tmpfs"), COVERED, Some("tmpfs"), MsFlags::empty())?;
    let file = format!("{COVERED}/hosts");
    let named = fs::write(&file, format!("{lines}\n{others}"))
        .and_then(|()| bind(Some(&file), HOSTS, None, MsFlags::MS_BIND));
    // The file remains available at the path where it is bound.
    umount2(COVERED, MntFlags::MNT_DETACH)?;
    named
}

fn bind(from: Option<&str>, to: &str, kind: Option<&str>, flags: MsFlags) -> io::Result<()> {
    Ok(mount(from, to, kind, flags, None::<&str>)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_parsed_as_it_was_written() {
        for stage in [
            Stage {
                role: Role::First,
                parent: Some(17),
                identity: Some((1000, 100)),
                hosts: Some("10.98.32.1 server".to_owned()),
            },
            Stage {
                role: Role::Bridge,
                parent: None,
                identity: None,
                hosts: None,
            },
        ] {
            let program = ["ls", "-l", "--", "a b"].map(OsString::from);
            let command = stage.command(&program);
            let mut words = vec![OsString::from("dupack")];
            words.extend(command.get_args().map(OsStr::to_owned));
            let (read, rest) = Stage::parse(&words[1..]).unwrap();
            assert_eq!((read, rest), (stage, &program[..]));
        }
        for other in ["shell", "__shell", "__shell first"] {
            let words: Vec<OsString> = other.split(' ').map(OsString::from).collect();
            assert_eq!(Stage::parse(&words), None, "{other}");
        }
    }

    #[test]
    fn the_ids_of_this_process_and_its_parent_are_found() {
        assert_eq!(own_number(), Some(std::process::id()));
        assert_eq!(own_parent(), Some(std::os::unix::process::parent_id()));
    }
}
