//! Wakers, which reach a host that waits for packets from other threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Handle that wakes or stops a host from other threads.
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

    /// Makes the host ask its applications again for bytes to send or to take.
    pub fn wake(&self) {
        self.shared.woken.store(true, Ordering::Release);
        self.ring();
    }

    /// Stops the host: it aborts its connections and returns from `run`.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.ring();
    }

    /// Returns the file descriptor that becomes readable when the host is called.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Wakes the host so that it checks for work.
    pub(super) fn ring(&self) {
        // The write fails only if the bell is already set.
        let _ = self.shared.bell.write(1);
    }

    /// Returns `true` if the host must stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Acquire)
    }

    /// Returns `true` if the host was woken since the last call.
    pub(super) fn take_call(&self) -> bool {
        // The read fails only if the bell is not set.
        let _ = self.shared.bell.read();
        self.shared.woken.swap(false, Ordering::AcqRel)
    }
}
