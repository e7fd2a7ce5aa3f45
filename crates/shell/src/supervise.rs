//! Waiting for a program, and forwarding signals to it.
//!
//! Signals are blocked and read one by one (signalfd(2)), so that nothing runs in a signal handler. A terminal sends
//! Ctrl-C to all of its foreground processes, including the program. Signals that are sent only to this process are
//! forwarded.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

/// Signals that are forwarded to the program.
const PASSED_ON: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGTERM,
];

/// Forwarded signals that ask a program to end.
const ENDING: [Signal; 4] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
];

/// Offset of the exit code of a program that a signal has ended, as in shells.
const ENDED_BY_SIGNAL: i32 = 128;

/// The blocked signals of this process. Threads that are started later do not receive them either.
#[derive(Debug)]
pub(crate) struct Signals(SignalFd);

/// The program to wait for.
pub(crate) enum Awaited<'a> {
    /// A child. Other processes are ignored.
    One(&'a mut Child),
    /// A child of the first process in a pid namespace. All other children are waited for as well, including orphans
    /// that the kernel assigns to the first process.
    First(Pid),
}

impl Signals {
    /// Blocks the signals for the calling thread.
    pub(crate) fn block() -> io::Result<Self> {
        let mut set: SigSet = PASSED_ON.into_iter().collect();
        set.add(Signal::SIGCHLD);
        // While SIGTTOU is blocked, this process may write to its terminal from the background.
        set.add(Signal::SIGTTOU);
        set.thread_block()?;
        set.remove(Signal::SIGTTOU);
        // The flag closes the descriptor in programs that this process starts.
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?))
    }

    /// Returns a signal that has requested the end of this process since the last call. The method is used before there
    /// is a program to which signals are forwarded.
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

    /// Waits until a program ends. Returns its exit code, or 128 plus the number of the signal that ended it.
    pub(crate) fn supervise(&self, mut awaited: Awaited<'_>) -> io::Result<u8> {
        loop {
            if let Some(code) = awaited.ended()? {
                return Ok(code);
            }
            let Some(signal) = self.0.read_signal()? else {
                continue;
            };
            // A positive code marks a signal from the kernel, such as Ctrl-C in the terminal. The program has received
            // this signal as well.
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
        // The child has not been waited for, so its number has not been reused.
        let _ = pid.map(|pid| kill(pid, signal));
    }
}

/// Waits for all children that have ended. Returns the exit code of `first` if it is among them.
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

/// Returns the exit code of a program that has ended.
pub(crate) fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;

    let signalled = || status.signal().map(|signal| ENDED_BY_SIGNAL + signal);
    clamped(status.code().or_else(signalled).unwrap_or_default())
}

/// Returns the exit code of a program that a signal has ended.
pub(crate) fn code_of_signal(signal: Signal) -> u8 {
    clamped(ENDED_BY_SIGNAL + signal as i32)
}

/// Returns `true` if a child has ended. The child is not waited for, so its number is not reused.
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
