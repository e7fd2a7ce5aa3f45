//! Sending application at run time: schedules its writes.
//!
//! It is the counterpart of the receiver's [`ReaderState`](crate::reader::ReaderState).

use std::vec;

use dupack_tcp::Sender;
use dupack_tcp::time::{Duration, Instant};

use super::no_earlier_than_next;
use crate::flow::{Application, When, Write};

/// Number of bytes that is practically unlimited, and far from an overflow.
const GREEDY_BYTES: u64 = 1 << 62;

/// Sending application of one flow; sans-I/O.
#[derive(Debug)]
pub(super) struct WriterState {
    application: Application,
    /// Time of the next write; `None` after the last write, and while the next one waits for ACKs.
    next_write: Option<Instant>,
    /// Remaining writes of equal size; 0 for a script.
    writes_left: u64,
    /// Remaining writes of a script; present only with [`Application::Scripted`].
    script: Option<Box<vec::IntoIter<Write>>>,
}

impl WriterState {
    /// Creates an application that has not written yet. `writes` is its script, if it has one.
    pub(super) fn new(application: Application, writes: Vec<Write>, start: Instant) -> Self {
        let (writes_left, script) = match application {
            Application::Greedy | Application::Finite(_) => (1, None),
            Application::Scripted { .. } => (0, Some(Box::new(writes.into_iter()))),
            Application::Writes { count, .. } => (count, None),
            Application::Video(video) => (video.frames, None),
        };
        let first = script.as_ref().and_then(|script| script.as_slice().first());
        let wait = first.map_or(Duration::ZERO, |write| match write.when {
            When::At(wait) | When::After(wait) => wait,
        });
        Self {
            application,
            next_write: Some(start + wait),
            writes_left,
            script,
        }
    }

    /// Returns the total number of bytes; `None` if it is unlimited.
    #[inline(always)]
    pub(super) const fn total_bytes(&self) -> Option<u64> {
        self.application.total_bytes()
    }

    /// Returns the time at which [`write`](Self::write) must be called.
    #[inline(always)]
    pub(super) const fn next_write(&self) -> Option<Instant> {
        self.next_write
    }

    /// Writes the bytes that are due now to `sender`, and schedules the next write of a flow that began at `start`.
    /// Returns `false` if the transfer does not begin because its script is empty.
    pub(super) fn write(&mut self, now: Instant, start: Instant, sender: &mut Sender) -> bool {
        let (bytes, every) = match self.application {
            Application::Greedy => (GREEDY_BYTES, Duration::ZERO),
            Application::Finite(bytes) => (bytes, Duration::ZERO),
            Application::Writes { bytes, every, .. } => (bytes, every),
            Application::Video(video) => (video.frame_bytes, video.every),
            Application::Scripted { .. } => return self.write_by_script(now, start, sender),
        };
        self.next_write = None;
        if self.writes_left > 0 {
            sender.write(bytes);
            self.writes_left -= 1;
        }
        if self.writes_left > 0 {
            self.next_write = Some(no_earlier_than_next(now, now + every));
        }
        true
    }

    /// Makes the next write of the script. A write that waits for ACKs is scheduled [when they have
    /// arrived](Self::wait_by_script).
    fn write_by_script(&mut self, now: Instant, start: Instant, sender: &mut Sender) -> bool {
        self.next_write = None;
        let Some(script) = &mut self.script else {
            return false;
        };
        let Some(write) = script.next() else {
            return false;
        };
        sender.write(write.bytes);
        if let Some(Write {
            when: When::At(at), ..
        }) = script.as_slice().first()
        {
            self.next_write = Some(no_earlier_than_next(now, start + *at));
        }
        true
    }

    /// Schedules a write that waits for ACKs, if `sender` has received all of them.
    #[inline(never)]
    pub(super) fn wait_by_script(&mut self, now: Instant, sender: &Sender) {
        let Some(script) = &self.script else {
            return;
        };
        if let Some(Write {
            when: When::After(after),
            ..
        }) = script.as_slice().first()
            && sender.is_done()
        {
            self.next_write = Some(no_earlier_than_next(now, now + *after));
        }
    }
}
