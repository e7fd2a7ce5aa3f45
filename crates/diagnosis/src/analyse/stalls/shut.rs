//! Stalls due to a closed receive window: one for each closure, regardless of the number of probes. The budget
//! determines when the window is closed, so both analyses report the same time.

use dupack_tcp::time::{Duration, Instant};

use super::{Before, Remedy, Stall, StallKind, Stalls, WaitedFor};

/// Closed receive window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shut {
    since: Instant,
    packet: u64,
    /// Stall of the whole closure; `None` if no part of the closure was a stall.
    stall: Option<Stall>,
}

impl Stalls {
    /// Records the state of the receive window after `packet`; `is_shut` is `true` if it is closed.
    pub fn window_is_shut(&mut self, at: Instant, packet: u64, is_shut: bool) {
        let at = self.before.map_or(at, |before| before.at.max(at));
        let Some(shut) = &mut self.shut else {
            self.shut = is_shut.then_some(Shut {
                since: at,
                packet,
                stall: None,
            });
            return;
        };
        if let Some(stall) = &mut shut.stall {
            (stall.to, stall.after) = (at, packet);
        }
        if !is_shut {
            self.settle_opened();
            self.opened = self.shut.take().and_then(|shut| shut.stall);
        }
    }

    /// Records a departure of data. `waited` is the part of the time since the last departure that the budget assigned
    /// to the closed window. If `waited` is zero, the application had no data to send.
    pub fn waited_for_window(&mut self, waited: Duration) {
        if let Some(stall) = self.opened.as_mut().filter(|_| waited.is_zero()) {
            stall.kind = StallKind::DataUnavailable;
            (stall.waited_for, stall.remedy) = (WaitedFor::Data, Remedy::Application);
        }
        self.settle_opened();
    }

    /// `true` if the receive window was closed.
    pub(super) const fn is_shut(&self, before: &Before) -> bool {
        self.shut.is_some() || matches!(before.window, Some(0))
    }

    /// Merges a stall due to a closed window into the current closure. Returns any other stall unchanged.
    pub(super) fn while_open(&mut self, stall: Stall) -> Option<Stall> {
        let shut = self.shut.as_mut();
        let Some(shut) = shut.filter(|_| stall.kind == StallKind::ZeroWindow) else {
            return Some(stall);
        };
        shut.stall = Some(Stall {
            from: shut.since,
            before: shut.packet,
            ..shut.stall.unwrap_or(stall)
        });
        if let Some(whole) = &mut shut.stall {
            (whole.to, whole.after) = (stall.to, stall.after);
        }
        None
    }

    fn settle_opened(&mut self) {
        if let Some(stall) = self.opened.take() {
            self.found.add(stall);
        }
    }

    /// Adds the stall of the last closure at the end of the stream.
    pub(super) fn settle_shut(&mut self) {
        self.settle_opened();
        self.opened = self.shut.take().and_then(|shut| shut.stall);
        self.settle_opened();
    }
}
