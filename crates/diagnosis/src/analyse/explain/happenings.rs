//! What happens beside losses: closed windows, probes, keep-alives, resets.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

use crate::read::moment::Stage;

/// The most closed windows that are listed, the first; more are counted (ours: no page shows more).
const LISTED_MAX: usize = 64;

/// The receiver had no room: its window was zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroWindow {
    /// The ACK that closed it, by its number in the capture.
    pub packet: u64,
    /// When that came.
    pub from: Instant,
    /// When it was opened again, if it was.
    pub to: Option<Instant>,
    /// How often the sender asked.
    pub probes: u32,
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that sends the data.
    Sender,
    /// The one that receives it.
    Receiver,
}

/// The connection was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// When.
    pub at: Instant,
    /// Its number in the capture.
    pub packet: u64,
    /// By whom.
    pub by: End,
    /// Where the sender stood.
    pub stage: Stage,
    /// Bytes that were sent and not acknowledged.
    pub outstanding: u64,
}

/// What happened beside losses, in one stream.
#[derive(Clone, Debug, Default)]
pub struct Happenings {
    zero_windows: VecDeque<ZeroWindow>,
    now_closed: Option<ZeroWindow>,
    closed_times: u64,
    window_probes: u64,
    keep_alives: u64,
    reset: Option<Reset>,
}

impl Happenings {
    /// The first closed windows; the last may still be closed.
    pub fn zero_windows(&self) -> impl Iterator<Item = &ZeroWindow> {
        self.zero_windows.iter().chain(self.now_closed.as_ref())
    }

    /// How often the window was closed.
    #[must_use]
    pub const fn closed_times(&self) -> u64 {
        self.closed_times
    }

    /// How often the sender asked whether the window is open again.
    #[must_use]
    pub const fn window_probes(&self) -> u64 {
        self.window_probes
    }

    /// How often it asked whether the peer is still there.
    #[must_use]
    pub const fn keep_alives(&self) -> u64 {
        self.keep_alives
    }

    /// The first reset.
    #[must_use]
    pub const fn reset(&self) -> Option<&Reset> {
        self.reset.as_ref()
    }

    /// Whether the window is closed now.
    pub(super) const fn is_closed(&self) -> bool {
        self.now_closed.is_some()
    }

    pub(super) fn window(&mut self, at: Instant, packet: u64, window: u64) {
        match (window, self.now_closed) {
            (0, None) => {
                self.closed_times += 1;
                self.now_closed = Some(ZeroWindow {
                    packet,
                    from: at,
                    to: None,
                    probes: 0,
                });
            }
            (1.., Some(closed)) => {
                self.now_closed = None;
                if self.zero_windows.len() < LISTED_MAX {
                    self.zero_windows.push_back(ZeroWindow {
                        to: Some(at),
                        ..closed
                    });
                }
            }
            _ => {}
        }
    }

    pub(super) fn probed_window(&mut self) {
        self.window_probes += 1;
        if let Some(closed) = &mut self.now_closed {
            closed.probes = closed.probes.saturating_add(1);
        }
    }

    pub(super) fn kept_alive(&mut self) {
        self.keep_alives += 1;
    }

    pub(super) fn was_reset(&mut self, reset: Reset) {
        self.reset.get_or_insert(reset);
    }
}
