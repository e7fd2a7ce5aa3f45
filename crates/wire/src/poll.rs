//! Waiting for packets or a timeout, whichever comes first (ppoll(2)).

use std::io;
use std::os::fd::BorrowedFd;

use dupack_tcp::time::Duration;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

/// Waits until one of `files` is readable, at most for `timeout`. Without a timeout, it waits indefinitely.
///
/// # Errors
///
/// Returns an error if the kernel is out of memory.
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

/// Maximum number of files to wait for at once.
const MAX_FILES: usize = 4;

/// Asks the kernel not to delay the calling thread's wake-ups in order to combine them with others (by default, the
/// kernel may add up to 50 µs, prctl(2)).
pub(crate) fn sharpen_timers() {
    const SLACK_NS: nix::libc::c_ulong = 1;
    // The call cannot fail. If it did, the path would be late more often.
    let _ = set_timerslack(SLACK_NS);
}

fn time_spec(span: Duration) -> TimeSpec {
    let whole = std::time::Duration::from_nanos(span.as_nanos());
    TimeSpec::from_duration(whole)
}
