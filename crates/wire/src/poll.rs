//! Waiting for packets and for the time, whichever comes first (ppoll(2)).

use std::io;
use std::os::fd::BorrowedFd;

use dupack_tcp::time::Duration;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

/// Waits until one of `files` has something to read, or for `timeout` at most; without one, for
/// ever.
///
/// # Errors
///
/// If the kernel has no memory for it.
pub(crate) fn readable(files: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    if timeout.is_some_and(Duration::is_zero) {
        return Ok(());
    }
    let mut polled: [PollFd<'_>; MAX_FILES] =
        std::array::from_fn(|i| PollFd::new(files[i.min(files.len() - 1)], PollFlags::POLLIN));
    let polled = &mut polled[..files.len().min(MAX_FILES)];
    match ppoll(polled, timeout.map(time_spec), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(io::Error::from(error)),
    }
}

/// Files that can be waited for at once.
const MAX_FILES: usize = 4;

/// Asks the kernel not to let the calling thread sleep longer than it wants in order to wake it
/// together with others (by default up to 50 µs longer, prctl(2)).
pub(crate) fn sharpen_timers() {
    const SLACK_NS: nix::libc::c_ulong = 1;
    // It cannot fail; and if it did, lateness would show it.
    let _ = set_timerslack(SLACK_NS);
}

fn time_spec(span: Duration) -> TimeSpec {
    let whole = std::time::Duration::from_nanos(span.as_nanos());
    TimeSpec::from_duration(whole)
}
