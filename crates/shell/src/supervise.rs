//! Waiting for a program, and passing signals on to it.
//!
//! Signals are blocked and read one by one (signalfd(2)), so that whoever waits does nothing in a
//! handler. A terminal sends Ctrl-C to all of its foreground processes, the program among them; what
//! somebody sends to one process alone is passed on.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

/// Signals that are passed on.
const PASSED_ON: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGTERM,
];

/// Those of them that ask a program to end.
const ENDING: [Signal; 4] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
];

/// Added to the number of a signal that ended a program, as shells have it.
const ENDED_BY_SIGNAL: i32 = 128;

/// The signals of this process, blocked. Threads that are started later do not see them either.
#[derive(Debug)]
pub(crate) struct Signals(SignalFd);

/// Whose end is waited for.
pub(crate) enum Awaited<'a> {
    /// A child, whatever becomes of others.
    One(&'a mut Child),
    /// A child; all others, which may be the kernel's gift to the first process of a pid namespace,
    /// are waited for as well.
    First(Pid),
}

impl Signals {
    /// Blocks them for the calling thread, from now on.
    pub(crate) fn block() -> io::Result<Self> {
        let mut set: SigSet = PASSED_ON.into_iter().collect();
        set.add(Signal::SIGCHLD);
        // One that writes to a terminal that another has in the foreground goes on.
        set.add(Signal::SIGTTOU);
        set.thread_block()?;
        set.remove(Signal::SIGTTOU);
        // Programs have no use for it.
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?))
    }

    /// The signal by which somebody has asked this process to end since the last look, before there is
    /// a program to pass it on to.
    pub(crate) fn asked_to_end(&self) -> io::Result<Option<Signal>> {
        let is_there = |fd: &SignalFd| {
            let mut files = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
            poll(&mut files, PollTimeout::ZERO).map(|ready| ready > 0)
        };
        while is_there(&self.0)? {
            let signal = self.0.read_signal()?;
            let number = signal.and_then(|signal| i32::try_from(signal.ssi_signo).ok());
            let signal = number.and_then(|number| Signal::try_from(number).ok());
            if let Some(signal) = signal.filter(|signal| ENDING.contains(signal)) {
                return Ok(Some(signal));
            }
        }
        Ok(None)
    }

    /// Waits for the end of a program. Gives its exit code, or 128 and the signal that ended it.
    pub(crate) fn supervise(&self, mut awaited: Awaited<'_>) -> io::Result<u8> {
        loop {
            if let Some(code) = awaited.ended()? {
                return Ok(code);
            }
            let Some(signal) = self.0.read_signal()? else {
                continue;
            };
            // Above zero it is the kernel's: the terminal's, which the program has heard, too.
            let is_somebodys = signal.ssi_code <= 0;
            let number = i32::try_from(signal.ssi_signo).unwrap_or_default();
            match Signal::try_from(number) {
                Ok(Signal::SIGCHLD) | Err(_) => {}
                Ok(signal) if is_somebodys => awaited.pass_on(signal),
                Ok(_) => {}
            }
        }
    }
}

impl Awaited<'_> {
    fn ended(&mut self) -> io::Result<Option<u8>> {
        match self {
            Self::One(child) => Ok(child.try_wait()?.map(code_of)),
            Self::First(first) => reap(*first),
        }
    }

    fn pass_on(&self, signal: Signal) {
        let pid = match self {
            Self::One(child) => i32::try_from(child.id()).map(Pid::from_raw).ok(),
            Self::First(first) => Some(*first),
        };
        // It has not been waited for, so that its number is nobody else's.
        let _ = pid.map(|pid| kill(pid, signal));
    }
}

/// Waits for all children that have ended; `first`'s exit code if it is among them.
fn reap(first: Pid) -> io::Result<Option<u8>> {
    loop {
        let status = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(status) => status,
            Err(error) => return Err(error.into()),
        };
        match status {
            WaitStatus::Exited(pid, code) if pid == first => return Ok(Some(clamped(code))),
            WaitStatus::Signaled(pid, signal, _) if pid == first => {
                return Ok(Some(code_of_signal(signal)));
            }
            _ => {}
        }
    }
}

/// The exit code of a program that has ended.
pub(crate) fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;

    let signalled = || status.signal().map(|signal| ENDED_BY_SIGNAL + signal);
    clamped(status.code().or_else(signalled).unwrap_or_default())
}

/// The exit code of a program that a signal has ended.
pub(crate) fn code_of_signal(signal: Signal) -> u8 {
    clamped(ENDED_BY_SIGNAL + signal as i32)
}

/// Whether a child has ended, without waiting for it: its number stays its own.
pub(crate) fn has_ended(child: &Child) -> bool {
    let Ok(pid) = i32::try_from(child.id()) else {
        return true;
    };
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(
        waitid(Id::Pid(Pid::from_raw(pid)), look),
        Ok(WaitStatus::StillAlive)
    )
}

fn clamped(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}
