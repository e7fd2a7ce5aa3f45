//! CUBIC's growth in whole segments, as in Linux.
//!
//! Sources: `net/ipv4/tcp_cubic.c` (`bictcp_update`) and `net/ipv4/tcp_cong.c` (`tcp_cong_avoid_ai`). The window grows
//! by one segment for every n acknowledged segments:
//!
//! ```text
//! n = ⌊cwnd / (⌊W_cubic(t + minimum RTT)⌋ − cwnd)⌋     100 · cwnd if W_cubic is not above cwnd
//!   at most 20 while no loss has shown W_max           5 % per round trip
//!   at most ⌊cwnd / (W_est − cwnd)⌋ if W_est is above cwnd
//!           W_est grows by 1 for every ⌊cwnd · ⌊8(1+β)/(3(1−β))⌋ / 8⌋ segments
//!   at least 2                                         half a window per round trip
//! ```
//!
//! This is RFC 9438 §4.2 to §4.5 except for the rounding, the bound of 20, the minimum round-trip time in place of the
//! smoothed one, and W_est, whose growth rate does not change above `cwnd_prior`. An ACK recomputes n if the window has
//! changed or the last computation is more than 1/32 s old. The value of W_cubic is computed at most once per tick of
//! 1 ms.

use dupack_tcp::time::{Duration, Instant};

/// Maximum of n while W_max is not known (`bictcp_update`: 5 % per round trip).
const UNKNOWN_MAX: f64 = 20.0;

/// Minimum of n (`bictcp_update`: at most 1.5 times the window per round trip).
const LEAST: f64 = 2.0;

/// Value of n where the curve is flat, in windows (`bictcp_update`: "very small increment").
const FLAT: f64 = 100.0;

/// Validity of n if the window does not change (`HZ / 32`).
const HOLDS: Duration = Duration::from_micros(31_250);

/// Tick of Linux's clock (HZ = 1000).
const TICK_NS: u64 = 1_000_000;

/// W_cubic at an ACK. Windows are in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// W_max.
    pub w_max: f64,
    /// C · (t − K)³.
    pub rise: f64,
    /// `true` if a loss has determined W_max.
    pub is_known: bool,
}

impl Curve {
    /// Returns the target. Linux rounds the distance from W_max towards zero, below and above W_max.
    fn target(&self) -> f64 {
        self.w_max + libm::trunc(self.rise)
    }
}

/// Counters of the growth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// n.
    per_increase: f64,
    /// Time of the last computation of n, and the window at that time.
    found: Option<(Instant, f64)>,
    /// Segments acknowledged towards the next increase of the window.
    acked: f64,
    /// W_est, and the segments acknowledged towards its next increase.
    w_est: f64,
    acked_est: f64,
}

impl Counted {
    /// Begins a stage of congestion avoidance with a window of `cwnd`.
    pub(super) fn begin(&mut self, cwnd: f64) {
        self.found = None;
        self.w_est = libm::floor(cwnd);
        self.acked_est = 0.0;
    }

    /// Returns the window after an ACK for `acked` segments. `alpha` is the growth of W_est, or `None` without W_est.
    pub(super) fn grown(
        &mut self,
        now: Instant,
        cwnd: f64,
        acked: f64,
        alpha: Option<f64>,
        curve: impl FnOnce() -> Curve,
    ) -> f64 {
        self.acked_est += acked;
        self.find(now, libm::floor(cwnd), alpha, curve);
        let n = self.per_increase;
        let mut grown = cwnd;
        // n may have decreased below the number of segments counted.
        if self.acked >= n {
            self.acked = 0.0;
            grown += 1.0;
        }
        self.acked += acked;
        if self.acked >= n {
            let increases = libm::floor(self.acked / n);
            self.acked -= increases * n;
            grown += increases;
        }
        grown
    }

    fn find(&mut self, now: Instant, cwnd: f64, alpha: Option<f64>, curve: impl FnOnce() -> Curve) {
        if let Some((at, of)) = self.found
            && of == cwnd
            && now.since(at) <= HOLDS
        {
            return;
        }
        let tick = |at: Instant| at.as_nanos() / TICK_NS;
        if self.found.is_none_or(|(at, _)| tick(at) != tick(now)) {
            self.found = Some((now, cwnd));
            let curve = curve();
            let target = curve.target();
            self.per_increase = if target > cwnd {
                libm::floor(cwnd / (target - cwnd))
            } else {
                FLAT * cwnd
            };
            if !curve.is_known {
                self.per_increase = self.per_increase.min(UNKNOWN_MAX);
            }
        }
        if let Some(alpha) = alpha {
            let per_est = libm::floor(cwnd * libm::floor(8.0 / alpha) / 8.0).max(1.0);
            while self.acked_est > per_est {
                self.acked_est -= per_est;
                self.w_est += 1.0;
            }
            if self.w_est > cwnd {
                let most = libm::floor(cwnd / (self.w_est - cwnd));
                self.per_increase = self.per_increase.min(most);
            }
        }
        self.per_increase = self.per_increase.max(LEAST);
    }

    /// Restarts the count of acknowledged segments after a loss or a timeout.
    pub(super) fn after_loss(&mut self) {
        self.acked = 0.0;
    }
}
