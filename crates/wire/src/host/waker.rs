//! How other threads reach a host that waits for packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Wakes a host, or ends it, from other threads.
#[derive(Clone, Debug)]
pub struct Waker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stopping: AtomicBool,
    woken: AtomicBool,
    bell: EventFd,
}

impl Waker {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            shared: Arc::new(Shared {
                stopping: AtomicBool::new(false),
                woken: AtomicBool::new(false),
                bell: EventFd::from_flags(flags)?,
            }),
        })
    }

    /// Has the host ask its applications again for bytes to send or to take.
    pub fn wake(&self) {
        self.shared.woken.store(true, Ordering::Release);
        self.ring();
    }

    /// Ends the host: its connections are aborted, and it returns.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.ring();
    }

    /// What has something to read when the host is called.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Has the host look what there is to do.
    pub(super) fn ring(&self) {
        // It fails only if the bell rings already.
        let _ = self.shared.bell.write(1);
    }

    /// Whether the host shall end.
    pub(super) fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Acquire)
    }

    /// Whether the host was woken since this was asked last.
    pub(super) fn take_call(&self) -> bool {
        // It fails only if the bell has not rung.
        let _ = self.shared.bell.read();
        self.shared.woken.swap(false, Ordering::AcqRel)
    }
}
