//! Events other than losses: zero windows, probes, keep-alives and resets.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

use crate::read::moment::Stage;

/// Maximum number of zero windows that are listed: the first ones. Later ones are only counted (our choice: no page
/// shows more).
const LISTED_MAX: usize = 64;

/// Period in which the receive window was zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroWindow {
    /// Packet number of the ACK that closed the window.
    pub packet: u64,
    /// Time of that ACK.
    pub from: Instant,
    /// Time at which the window opened again; `None` if it has not.
    pub to: Option<Instant>,
    /// Number of window probes.
    pub probes: u32,
}

/// Endpoint of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender of the data.
    Sender,
    /// The receiver of the data.
    Receiver,
}

/// Reset of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Time of the reset.
    pub at: Instant,
    /// Packet number of the reset in the capture.
    pub packet: u64,
    /// Endpoint that sent the reset.
    pub by: End,
    /// Stage of the sender at that time.
    pub stage: Stage,
    /// Number of bytes that were sent and not acknowledged.
    pub outstanding: u64,
}

/// Events other than losses, in one stream.
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
    /// Returns the first zero windows. The window may still be closed in the last one.
    pub fn zero_windows(&self) -> impl Iterator<Item = &ZeroWindow> {
        self.zero_windows.iter().chain(self.now_closed.as_ref())
    }

    /// Returns the number of times that the window closed.
    #[must_use]
    pub const fn closed_times(&self) -> u64 {
        self.closed_times
    }

    /// Returns the number of window probes.
    #[must_use]
    pub const fn window_probes(&self) -> u64 {
        self.window_probes
    }

    /// Returns the number of keep-alives.
    #[must_use]
    pub const fn keep_alives(&self) -> u64 {
        self.keep_alives
    }

    /// Returns the first reset.
    #[must_use]
    pub const fn reset(&self) -> Option<&Reset> {
        self.reset.as_ref()
    }

    /// `true` if the window is zero now.
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
