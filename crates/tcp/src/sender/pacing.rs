//! Pacing. For controls without their own pacing rate, the window is spread over the round-trip time:
//!
//! ```text
//! rate   factor · max(cwnd, outstanding) / SRTT
//! burst  bytes sent at once: the bytes of 1 ms, or burst_least segments if that is more;
//!        plus 64 KiB on a short path, halved for each 512 µs of RTTmin
//! gap    burst / rate after the start of a burst, minus the delay of the burst itself,
//!        but at least half of burst / rate
//! ```
//!
//! This is the pacing of Linux with the queueing discipline fq (`tcp_update_pacing_rate`, `tcp_tso_autosize`,
//! `tcp_update_skb_after_send`). Without pacing, slow start sends a burst for each ACK, which overflows a short queue.
//!
//! With a control that has its own pacing rate, a gap follows each segment. If the host wakes up late, the next gap is
//! shorter ([`due`]); otherwise, each late timer would lower the rate.

use alloc::boxed::Box;

use crate::congestion::{Pacing, WindowPacing};
use crate::facts::LimitedBy;
use crate::time::{Duration, Instant};
use crate::window::Window;

/// Maximum burst in bytes (Linux: `sk_gso_max_size`).
const BURST_MAX: u64 = 65_536;

/// Maximum delay of a segment that the next gap makes up for. BBR's bursts are also the bytes of 1 ms
/// (`BBRSetSendQuantum`, draft-ietf-ccwg-bbr).
const MADE_UP_MAX: Duration = Duration::from_millis(1);

/// Source of the pacing rate.
#[derive(Clone, Debug)]
pub(crate) enum Pacer {
    Off,
    /// The control.
    Rate,
    /// The window. The state is boxed because few flows use it.
    Window(Box<Bursts>),
}

impl Pacer {
    pub(crate) fn new(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Off => Self::Off,
            Pacing::Rate => Self::Rate,
            Pacing::Window(rule) => Self::Window(Box::new(Bursts::new(rule))),
        }
    }

    #[inline(always)]
    pub(crate) const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }

    /// Returns `true` if a segment may be sent `now`, before `pace_until`, as part of the current burst.
    pub(crate) fn lets_burst_go_on(&self, now: Instant) -> bool {
        match self {
            Self::Window(bursts) => bursts.began == now && bursts.len < bursts.most,
            Self::Off | Self::Rate => false,
        }
    }
}

/// State from which the pacing rate is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    pub(super) window: Window,
    /// Number of bytes that are not yet acknowledged.
    pub(super) outstanding: u64,
    pub(super) srtt: Duration,
    pub(super) min_rtt: Duration,
    pub(super) smss: u32,
    /// Number of the transmission.
    pub(super) order: u64,
}

/// Current or last burst.
#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    rule: WindowPacing,
    began: Instant,
    /// Number of bytes of the burst so far; `most` is the maximum.
    len: u64,
    most: u64,
    /// Pacing rate in bytes per second.
    rate: f64,
    /// Delay of the start of the burst, relative to the time that pacing permitted.
    late: Duration,
}

impl Bursts {
    const fn new(rule: WindowPacing) -> Self {
        Self {
            rule,
            began: Instant::ZERO,
            len: 0,
            most: 0,
            rate: 0.0,
            late: Duration::ZERO,
        }
    }

    /// Records the transmission of a segment of `len` bytes that might have been sent at `due`. Returns the earliest
    /// start of the next burst.
    pub(super) fn sent(&mut self, now: Instant, len: u32, due: Instant, path: &Paced) -> Instant {
        if path.order < self.rule.unpaced {
            return due;
        }
        if self.began != now || self.len >= self.most {
            self.begin(now, due, path);
        }
        self.len += u64::from(len);
        let gap = Duration::from_secs_f64(self.len as f64 / self.rate);
        now + gap - self.late.min(gap / 2)
    }

    fn begin(&mut self, now: Instant, due: Instant, path: &Paced) {
        let smss = u64::from(path.smss);
        let Window { cwnd, ssthresh } = path.window;
        let factor = if cwnd < ssthresh / 2.0 {
            self.rule.slow_start
        } else {
            self.rule.avoidance
        };
        let rate = factor * cwnd.max(path.outstanding as f64) / path.srtt.as_secs_f64();
        // A rate of zero must not stop the sender. The minimum of one byte per second is slower than any path.
        self.rate = rate.clamp(1.0, 1e15);
        let halvings = path.min_rtt.as_nanos() / 512_000;
        let short_path = u32::try_from(halvings)
            .ok()
            .and_then(|halvings| BURST_MAX.checked_shr(halvings))
            .unwrap_or(0);
        let autosize = (self.rate / 1024.0) as u64 + short_path;
        let segments = (autosize.min(BURST_MAX) / smss).max(u64::from(self.rule.burst_least));
        self.began = now;
        self.len = 0;
        self.most = segments.max(1) * smss;
        self.late = now.since(due);
    }
}

/// Returns the start of the gap after a segment that is sent `now`. Pacing delayed the segment until `pace_until` if
/// the sender was `limited_by` pacing.
///
/// In that case, the gap starts at `pace_until`, so that a host with a late timer sends the next segment sooner. A
/// sender that waited for another reason does not catch up.
pub(super) fn due(now: Instant, pace_until: Instant, limited_by: LimitedBy) -> Instant {
    match limited_by {
        LimitedBy::Pacing => pace_until.max(now - MADE_UP_MAX),
        LimitedBy::Congestion | LimitedBy::ReceiveWindow | LimitedBy::Application => {
            pace_until.max(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u32 = 1000;

    fn bursts() -> Bursts {
        Bursts::new(WindowPacing {
            slow_start: 2.0,
            avoidance: 1.2,
            burst_least: 2,
            unpaced: 3,
        })
    }

    /// Returns a path with a window of 10 segments, an `ssthresh` in segments, and a round-trip time of 100 ms.
    fn path(ssthresh: f64, order: u64) -> Paced {
        Paced {
            window: Window {
                cwnd: 10_000.0,
                ssthresh: ssthresh * 1000.0,
            },
            outstanding: 0,
            srtt: Duration::from_millis(100),
            min_rtt: Duration::from_millis(100),
            smss: SMSS,
            order,
        }
    }

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_first_segments_leave_without_a_gap() {
        let mut bursts = bursts();
        let due = bursts.sent(at(500), SMSS, Instant::ZERO, &path(64.0, 2));
        assert_eq!(due, Instant::ZERO);
        assert!(bursts.sent(at(500), SMSS, due, &path(64.0, 3)) > at(500));
    }

    #[test]
    fn a_burst_is_two_segments_and_its_gap_is_as_long_as_both() {
        let mut pacer = Pacer::Window(Box::new(bursts()));
        let Pacer::Window(bursts) = &mut pacer else {
            unreachable!()
        };
        // In slow start, the rate is 200 segments per second, so a segment takes 5 ms.
        let due = bursts.sent(at(500), SMSS, at(500), &path(64.0, 9));
        assert_eq!(due, at(505));
        assert!(
            pacer.lets_burst_go_on(at(500)),
            "one more segment belongs to this burst"
        );
        assert!(!pacer.lets_burst_go_on(at(501)), "the burst is over");
        let Pacer::Window(bursts) = &mut pacer else {
            unreachable!()
        };
        assert_eq!(bursts.sent(at(500), SMSS, due, &path(64.0, 10)), at(510));
        assert!(!pacer.lets_burst_go_on(at(500)));
    }

    #[test]
    fn only_a_paced_sender_catches_up_after_a_late_timer() {
        let late = Duration::from_micros(300);
        let by = |limited_by| due(at(500) + late, at(500), limited_by);
        assert_eq!(by(LimitedBy::Pacing), at(500));
        assert_eq!(by(LimitedBy::Congestion), at(500) + late);
        assert_eq!(by(LimitedBy::Application), at(500) + late);
        let long = due(at(520), at(500), LimitedBy::Pacing);
        assert_eq!(long, at(519), "at most 1 ms is caught up");
        let exactly = due(at(500), at(500), LimitedBy::Pacing);
        assert_eq!(exactly, at(500));
    }

    #[test]
    fn the_factor_changes_at_half_of_ssthresh() {
        let gap = |ssthresh| {
            let due = bursts().sent(at(600), 600, at(600), &path(ssthresh, 9));
            due.since(at(600))
        };
        assert_eq!(gap(20.1), Duration::from_millis(3));
        assert_eq!(gap(20.0), Duration::from_millis(5));
    }

    #[test]
    fn a_late_burst_shortens_its_gap_by_at_most_half() {
        let gap = |late: u64| {
            let due = bursts().sent(at(600), SMSS, at(600 - late), &path(64.0, 9));
            due.since(at(600))
        };
        assert_eq!(gap(0), Duration::from_millis(5));
        assert_eq!(gap(1), Duration::from_millis(4));
        assert_eq!(gap(300), Duration::from_micros(2500));
    }

    #[test]
    fn outstanding_data_beyond_the_window_raises_the_rate() {
        let outstanding = Paced {
            outstanding: 20_000,
            ..path(64.0, 9)
        };
        let due = bursts().sent(at(600), SMSS, at(600), &outstanding);
        assert_eq!(due.since(at(600)), Duration::from_micros(2500));
    }

    #[test]
    fn a_fast_or_a_short_path_gets_longer_bursts() {
        let most = |path: &Paced| {
            let mut bursts = bursts();
            bursts.sent(at(600), SMSS, at(600), path);
            bursts.most / 1000
        };
        assert_eq!(most(&path(64.0, 9)), 2);
        let fast = Paced {
            srtt: Duration::from_millis(1),
            ..path(64.0, 9)
        };
        assert_eq!(most(&fast), 20_000_000 / 1024 / 1000);
        let short = Paced {
            min_rtt: Duration::from_micros(600),
            ..path(64.0, 9)
        };
        assert_eq!(most(&short), (32_768 + 195) / 1000);
    }
}
