//! Network namespaces that are removed when the process ends.
//!
//! A [`Namespace`] has no name in the file system. A thread of this process, its keeper, lives in the namespace, as do
//! all threads and children that the keeper starts. When all of these have ended, the kernel removes the namespace with
//! all of its devices. The namespace is removed no matter how the process ends, because the kernel kills the children
//! with the keeper (`PR_SET_PDEATHSIG`).

mod child;
mod privilege;

pub use child::Child;
pub use privilege::{Standing, prepare};

use std::any::Any;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, unshare};
use thiserror::Error;

use crate::tun::netlink::{self, InterfaceIndex};

/// Requirements for making namespaces, for error messages.
const WHAT_IS_NEEDED: &str = "this requires root (or CAP_NET_ADMIN and CAP_SYS_ADMIN), or a \
    system that allows unprivileged user namespaces: see the settings user.max_user_namespaces, \
    kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns";

/// Errors of creating or using a namespace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// The kernel refused to make a namespace.
    #[error("cannot make a network namespace: {WHAT_IS_NEEDED}")]
    Refused(#[source] io::Error),
    /// An unprivileged process must enter a user namespace before it has several threads.
    #[error(
        "cannot enter a user namespace: this process has {threads} threads and may have only one; \
         call `prepare` at the start of the program"
    )]
    TooLate {
        /// Number of threads.
        threads: usize,
    },
    /// A step inside the namespace failed.
    #[error("cannot {what} in the network namespace {name}{}", remedy(source))]
    Inside {
        /// Name of the namespace.
        name: String,
        /// The step, as a verb phrase.
        what: String,
        /// Error of the kernel.
        source: io::Error,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::ReadOnlyFilesystem => {
            ": /proc/sys is mounted read-only, as in many containers; run this where /proc/sys is writable"
        }
        _ => "",
    }
}

/// A network namespace of our own.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    inode: u64,
    /// `None` only while the namespace is being dropped.
    jobs: Option<Sender<Job>>,
    keeper: Option<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce() + Send>;

impl Namespace {
    /// Creates a namespace that contains only the loopback interface, which is up. `name` appears in messages and is
    /// the name of the keeper's thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel refuses. The error states the requirements. See [`prepare`].
    pub fn new(name: &str) -> Result<Self, NamespaceError> {
        let (jobs, inbox) = channel::<Job>();
        let (report, reported) = channel();
        let keeper = thread::Builder::new()
            .name(format!("netns {name}"))
            .spawn(move || keep(&report, &inbox))
            .map_err(NamespaceError::Refused)?;
        let inode = reported
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the keeper's thread ended")))
            .map_err(NamespaceError::Refused)?;
        let namespace = Self {
            name: name.to_owned(),
            inode,
            jobs: Some(jobs),
            keeper: Some(keeper),
        };
        namespace
            .run(|| netlink::bring_up(InterfaceIndex::of("lo")?))
            .map_err(|source| namespace.error("bring up lo", source))?;
        Ok(namespace)
    }

    /// Returns the name that messages use for the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the inode number of the namespace, as in `net:[number]` in `/proc/PID/ns`.
    #[must_use]
    pub const fn inode(&self) -> u64 {
        self.inode
    }

    /// Runs `job` in the namespace and waits for it. All callers share the keeper, so run a long job on its own thread
    /// with [`spawn`](Self::spawn).
    ///
    /// # Panics
    ///
    /// Panics if `job` does, with the same payload.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (answer, answered) = channel();
        let job: Job = Box::new(move || {
            // The send fails only if the caller no longer waits.
            let _ = answer.send(catch_unwind(AssertUnwindSafe(job)));
        });
        let keeper_is_gone = || -> Box<dyn Any + Send> { Box::new("the keeper is gone") };
        let result = match self.jobs.as_ref().map(|jobs| jobs.send(job)) {
            Some(Ok(())) => answered.recv().unwrap_or_else(|_| Err(keeper_is_gone())),
            _ => Err(keeper_is_gone()),
        };
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Runs `job` in the namespace on its own thread. The namespace exists at least until that thread ends.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be started.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let builder = thread::Builder::new().name(name.to_owned());
        // A new thread is in the namespace of the thread that starts it.
        self.run(move || builder.spawn(job))
    }

    /// Starts a program in the namespace. The program is killed when the returned value or the namespace is dropped,
    /// and by the kernel if this process dies.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be started.
    pub fn start(&self, command: Command) -> Result<Child, NamespaceError> {
        let what = format!("start {}", command.get_program().display());
        self.run(move || Child::start(&command))
            .map_err(|source| self.error(&what, source))
    }

    /// Sets a kernel setting under `/proc/sys/net`, such as `ipv4/ip_forward`, for this namespace.
    ///
    /// # Errors
    ///
    /// Returns an error if the setting does not exist or cannot have the value.
    pub fn set(&self, setting: &str, value: &str) -> Result<(), NamespaceError> {
        let path = format!("/proc/sys/net/{setting}");
        let (path_inside, value_inside) = (path.clone(), value.to_owned());
        self.run(move || fs::write(path_inside, value_inside))
            .map_err(|source| self.error(&format!("set {path} to {value}"), source))
    }

    fn error(&self, what: &str, source: io::Error) -> NamespaceError {
        NamespaceError::Inside {
            name: self.name.clone(),
            what: what.to_owned(),
            source,
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(keeper) = self.keeper.take() {
            // Panics of jobs have been passed on to their callers.
            let _ = keeper.join();
        }
    }
}

/// Body of the keeper's thread: enters a new namespace, reports its inode, and runs jobs until all senders are dropped.
fn keep(report: &Sender<io::Result<u64>>, inbox: &Receiver<Job>) {
    let entered = unshare(CloneFlags::CLONE_NEWNET)
        .map_err(io::Error::from)
        .and_then(|()| fs::metadata("/proc/thread-self/ns/net"))
        .map(|metadata| metadata.ino());
    let failed = entered.is_err();
    if report.send(entered).is_err() || failed {
        return;
    }
    while let Ok(job) = inbox.recv() {
        job();
    }
}
