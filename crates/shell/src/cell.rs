//! Cell: the programs at one end of the path, which end together.
//!
//! A thread in the end's network namespace creates a pid namespace for its children and starts the first of them. The
//! thread runs until the cell is dropped, because the kernel kills the first process when the thread that started it
//! ends.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use dupack_wire::namespace::Namespace;
use nix::sched::{CloneFlags, unshare};

/// Programs at one end. They end when this value is dropped.
#[derive(Debug)]
pub(crate) struct Cell {
    /// The first process of the pid namespace.
    pub(crate) child: Child,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Cell {
    /// Starts `first` in a new pid namespace within the network namespace `home`.
    pub(crate) fn start(home: &Namespace, mut first: Command) -> io::Result<Self> {
        let (report, reported) = channel();
        let (end, ended) = channel::<()>();
        let thread = home.spawn("cell", move || {
            let entered = unshare(CloneFlags::CLONE_NEWPID).map_err(io::Error::from);
            let child = entered.and_then(|()| first.spawn());
            let is_there = child.is_ok();
            if report.send(child).is_ok() && is_there {
                // The thread waits until the sender is dropped, which is reported as an error.
                let _ = ended.recv();
            }
        })?;
        let child = reported.recv();
        let child = child.unwrap_or_else(|_| Err(io::Error::other("the cell's thread ended")))?;
        Ok(Self {
            child,
            thread: Some((end, thread)),
        })
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // Both calls do nothing if the child has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}
