//! Rate halving: the window reduction of Linux before PRR. During a recovery, every second ACK sends a segment.
//!
//! M. Mathis, J. Semke, J. Mahdavi, "The Rate-Halving Algorithm for TCP Congestion Control" (work in progress, 1999), as
//! RFC 6937 describes it (§1, and the diagrams of §3.1), and as Linux implemented it until 3.1 (`tcp_cwnd_down`):
//!
//! ```text
//! every second ACK of the recovery:  cwnd −= SMSS, while cwnd is above a floor
//! every ACK:                         cwnd = min(cwnd, in flight + SMSS)
//! an ACK permits:                    cwnd − in flight
//! end of the recovery:               cwnd stays; if it is below ssthresh, slow start follows
//! ```
//!
//! The second rule is an early form of PRR's conservative bound: an ACK permits at most one segment. Because of it, the
//! window never rises within a recovery, and everything that reduces the bytes in flight reduces it for good: losses, a
//! lost ACK, and an application that pauses. PRR also counts the delivered data instead of the ACKs.
//!
//! Readings: RFC 6937 §1 says that the window is halved, whatever the congestion control chose, so the floor is half of
//! the window. In Linux it was ssthresh, unless the congestion control had its own (`min_cwnd`).

use crate::catalog::Choice;

/// Minimum of the window that every second ACK reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Floor {
    /// half of the window before the recovery
    Half,
    /// the slow start threshold
    Ssthresh,
}

/// State of one fast recovery. See the [module](self).
#[derive(Clone, Debug)]
pub struct RateHalving {
    floor: Floor,
    smss: u64,
    half: u64,
    cwnd: u64,
    /// Number of ACKs of the recovery.
    acks: u64,
}

impl RateHalving {
    /// Begins a fast recovery. `window` is the window before the reduction, in bytes.
    #[must_use]
    pub const fn new(floor: Floor, smss: u32, window: u64) -> Self {
        Self {
            floor,
            smss: smss as u64,
            half: window / 2,
            cwnd: window,
            acks: 0,
        }
    }

    /// Processes an ACK that reported data; the first one is the ACK that began the recovery. `in_flight` are the bytes
    /// in flight after the ACK.
    pub fn on_ack(&mut self, in_flight: u64, ssthresh: u64) {
        self.acks += 1;
        let floor = match self.floor {
            Floor::Half => self.half,
            Floor::Ssthresh => ssthresh,
        };
        if self.acks.is_multiple_of(2) && self.cwnd > floor {
            self.cwnd = self.cwnd.saturating_sub(self.smss);
        }
        self.cwnd = self.cwnd.min(in_flight + self.smss);
    }

    /// Returns the window in bytes, which also applies after the recovery.
    #[must_use]
    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates the ACKs `first` to 19 of RFC 6937 §3.1, from the one that begins the recovery, in segments. `pipe`
    /// segments are in flight after the first. Returns the rows `cwnd` and `sent` of the diagram.
    fn round(floor: Floor, first: u64, mut pipe: u64) -> (Vec<u64>, Vec<u64>) {
        let mut halving = RateHalving::new(floor, 1000, 20_000);
        let (mut windows, mut sends) = (Vec::new(), Vec::new());
        for number in first..20 {
            if number > first {
                pipe -= 1;
            }
            halving.on_ack(pipe * 1000, 11_000);
            windows.push(halving.cwnd() / 1000);
            let sent = (halving.cwnd() / 1000).saturating_sub(pipe);
            pipe += sent;
            sends.push(sent);
        }
        (windows, sends)
    }

    #[test]
    fn the_diagrams_of_rfc_6937_with_either_floor() {
        for floor in [Floor::Half, Floor::Ssthresh] {
            let (cwnd, sent) = round(floor, 3, 18);
            let windows = [
                19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11,
            ];
            assert_eq!(cwnd, windows, "{floor:?}");
            assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
            // 15 of 20 are lost: the bytes in flight limit the window, and every ACK sends one segment.
            assert_eq!(round(floor, 17, 4), (vec![5, 5, 5], vec![1, 1, 1]));
        }
    }

    #[test]
    fn the_floor_is_half_or_ssthresh() {
        for (floor, cwnd) in [(Floor::Half, 10_000), (Floor::Ssthresh, 14_000)] {
            let mut halving = RateHalving::new(floor, 1000, 20_000);
            for _ in 0..100 {
                halving.on_ack(20_000, 14_000);
            }
            assert_eq!(halving.cwnd(), cwnd, "{floor:?}");
        }
    }
}
