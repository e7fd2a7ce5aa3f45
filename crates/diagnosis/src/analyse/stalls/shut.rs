//! Stalls of a receive window that is shut: one for each time, however often the sender probes it. The budget says when it is shut,
//! so that both tell the same time.

use dupack_tcp::time::{Duration, Instant};

use super::{Before, Remedy, Stall, StallKind, Stalls, WaitedFor};

/// A receive window that is shut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shut {
    since: Instant,
    packet: u64,
    /// All of it, if some of it was a stall.
    stall: Option<Stall>,
}

impl Stalls {
    /// The receive window is shut after `packet`, or it is not.
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

    /// Data left, and of the time since the last the budget gave so much to the shut window. Where that is none, the application had
    /// nothing to send.
    pub fn waited_for_window(&mut self, waited: Duration) {
        if let Some(stall) = self.opened.as_mut().filter(|_| waited.is_zero()) {
            stall.kind = StallKind::DataUnavailable;
            (stall.waited_for, stall.remedy) = (WaitedFor::Data, Remedy::Application);
        }
        self.settle_opened();
    }

    /// Whether the receive window had no room.
    pub(super) const fn is_shut(&self, before: &Before) -> bool {
        self.shut.is_some() || matches!(before.window, Some(0))
    }

    /// Takes in a stall of a window that is shut; gives back any other.
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

    /// Nothing more is to come.
    pub(super) fn settle_shut(&mut self) {
        self.settle_opened();
        self.opened = self.shut.take().and_then(|shut| shut.stall);
        self.settle_opened();
    }
}
