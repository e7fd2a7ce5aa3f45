//! Congestion window validation (RFC 7661, "new CWV"), as a wrapper for any window-based control.
//!
//! If an application writes less than the window permits, the size of the window shows nothing about the current path.
//! RFC 2861 and RFC 5681 §4.1 reduce the window; RFC 7661 keeps it, and monitors its use.
//!
//! ```text
//! pipeACK     the maximum data acknowledged in a round trip, in the last max(3 RTT, 1 s);
//!             undefined at first, and after a recovery
//! validated   pipeACK >= cwnd/2, or undefined: everything as in the wrapped control  (§4.3)
//! otherwise   no growth unless the window limits the sender; transmissions are paced (§4.4, §4.4.2)
//!             loss: cwnd = max(pipeACK, FlightSize)/2, and at the end of the recovery,
//!             of which R bytes were retransmissions, (max(pipeACK, FlightSize) − R)/2 (§4.4.1)
//!             every 5 min: ssthresh = max(ssthresh, 3/4 cwnd), cwnd = max(cwnd/2, IW) (§4.4.3)
//! ```
//!
//! The wrapper tells the control that the window was used, or that it was not, depending on the phase. The control
//! itself responds to an ACK, to a loss in the validated phase and to a timeout. `cwv` is a parameter of the controls
//! that grow by [`Increase`](super::aimd::Increase). It is off by default because it is experimental, and Linux follows
//! RFC 2861 (`tcp_cwnd_validate`, `tcp_slow_start_after_idle`).
//!
//! Readings:
//! - A round trip ends when the data before SND.NXT at its beginning is acknowledged.
//!   Sacked data counts when it is sacked, as §4.2 permits.
//! - The maximum is taken over five spans of the period, as §4.5.1 proposes.
//! - A congestion mark is handled like a loss; nothing is retransmitted, so R is zero.
//! - In a period without transmissions and ACKs, the five minutes begin when pipeACK becomes smaller than half the
//!   window because of its age (§4.5.2).

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit, Governance, MarkAnswer, Pacing};
use dupack_tcp::facts::{
    AckFacts, Departure, LimitedBy, LossCause, LossFacts, Sent, View, WindowUse,
};
use dupack_tcp::rtt::RtoShortening;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use crate::catalog::Switch;

/// Minimum pipeACK Sampling Period (§4.2), and its length in round trips.
const PERIOD_MIN: Duration = Duration::from_secs(1);
const PERIOD_ROUND_TRIPS: u64 = 3;

/// Number of spans of the period, each with a maximum (§4.5.1).
const SPANS: usize = 5;

/// Minimum pipeACK of a validated window, as a fraction of the window (§4.3).
const VALIDATED_SHARE: f64 = 0.5;

/// Non-validated period (§4.4: SHOULD NOT exceed five minutes).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);

/// Segments of the initial window (RFC 6928 §2).
const INITIAL_SEGMENTS: f64 = 10.0;

/// Returns `control`, with window validation if `cwv` is on. A full segment has `smss` bytes.
#[must_use]
pub fn validating(
    control: Box<dyn CongestionControl>,
    cwv: Switch,
    smss: f64,
) -> Box<dyn CongestionControl> {
    match cwv {
        Switch::Off => control,
        Switch::On => Box::new(Validating::new(control, smss)),
    }
}

/// Data acknowledged per round trip (§4.2).
#[derive(Clone, Copy, Debug, Default)]
struct PipeAck {
    /// Bytes reported since the round trip began.
    reported: u64,
    /// End of the round trip, as a stream offset.
    round_end: u64,
    /// Start and maximum sample of each time span.
    spans: [Option<(Instant, f64)>; SPANS],
    /// Time of the last sample; `None` if pipeACK is undefined.
    sampled_at: Option<Instant>,
}

impl PipeAck {
    /// Returns the period over which the maximum is taken.
    fn period(srtt: Option<Duration>) -> Duration {
        let round_trips = srtt.map(|srtt| srtt.saturating_mul(PERIOD_ROUND_TRIPS));
        round_trips.map_or(PERIOD_MIN, |time| time.max(PERIOD_MIN))
    }

    /// Processes an ACK; `nxt` is SND.NXT.
    fn take(&mut self, ack: &AckFacts<'_>, nxt: u64, srtt: Option<Duration>) {
        self.reported += ack.delivered_bytes;
        if ack.una < self.round_end {
            return;
        }
        if self.reported > 0 {
            self.keep(ack.now, self.reported as f64, srtt);
        }
        self.reported = 0;
        self.round_end = nxt;
    }

    fn keep(&mut self, now: Instant, sample: f64, srtt: Option<Duration>) {
        self.sampled_at = Some(now);
        let span = Self::period(srtt) / SPANS as u64;
        if let Some((begun, largest)) = &mut self.spans[0]
            && now.since(*begun) < span
        {
            *largest = largest.max(sample);
            return;
        }
        self.spans.rotate_right(1);
        self.spans[0] = Some((now, sample));
    }

    /// Returns the maximum sample of the period, in bytes, or `None` if pipeACK is undefined.
    fn value(&self, now: Instant, srtt: Option<Duration>) -> Option<f64> {
        self.sampled_at?;
        let period = Self::period(srtt);
        let fresh = self.spans.iter().flatten();
        let fresh = fresh.filter(|(begun, _)| now.since(*begun) <= period);
        Some(fresh.fold(0.0, |most, (_, sample)| f64::max(most, *sample)))
    }

    /// Makes pipeACK undefined until there is a new sample.
    fn forget(&mut self, nxt: u64) {
        *self = Self {
            round_end: nxt,
            ..Self::default()
        };
    }
}

/// Loss event that is in progress.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Basis of the reduction, if the window was not validated: max(pipeACK, LossFlightSize).
    basis: Option<f64>,
    /// SND.NXT at the beginning; `None` until it is known.
    point: Option<u64>,
    /// Bytes that arrived as retransmissions (R).
    retransmitted: u64,
}

/// Control whose window is validated.
#[derive(Debug)]
struct Validating {
    inner: Box<dyn CongestionControl>,
    smss: f64,
    pipe: PipeAck,
    /// Window after the last event; `None` before the first.
    cwnd: Option<f64>,
    srtt: Option<Duration>,
    /// Start of the non-validated phase; `None` in the validated phase.
    since: Option<Instant>,
    recovery: Option<Recovery>,
    /// Slow start threshold to be set at the next ACK, after an idle period.
    ssthresh_due: Option<f64>,
}

impl Validating {
    fn new(inner: Box<dyn CongestionControl>, smss: f64) -> Self {
        Self {
            inner,
            smss,
            pipe: PipeAck::default(),
            cwnd: None,
            srtt: None,
            since: None,
            recovery: None,
            ssthresh_due: None,
        }
    }

    /// Returns `true` if pipeACK does not justify `cwnd`.
    fn is_unvalidated(&self, now: Instant, cwnd: f64) -> bool {
        let pipe = self.pipe.value(now, self.srtt);
        self.recovery.is_none() && pipe.is_some_and(|pipe| pipe < VALIDATED_SHARE * cwnd)
    }

    /// Updates the phase for a window of `cwnd` bytes. If pipeACK became too small by age, the non-validated phase
    /// began when that age was reached.
    fn enter(&mut self, now: Instant, cwnd: f64) {
        if !self.is_unvalidated(now, cwnd) {
            self.since = None;
        } else if self.since.is_none() {
            let period = PipeAck::period(self.srtt);
            let aged = self.pipe.sampled_at.map_or(now, |at| at + period);
            self.since = Some(aged.min(now));
        }
    }

    /// Returns the window after all non-validated periods that have ended (§4.4.3, §4.5.2).
    fn aged(&mut self, now: Instant, mut window: Window) -> Window {
        let initial = INITIAL_SEGMENTS * self.smss;
        while let Some(since) = self.since
            && now.since(since) > NON_VALIDATED_PERIOD
        {
            window.ssthresh = window.ssthresh.max(0.75 * window.cwnd);
            if window.cwnd <= initial {
                self.since = Some(now);
                break;
            }
            window.cwnd = (window.cwnd / 2.0).max(initial);
            self.since = Some(since + NON_VALIDATED_PERIOD);
        }
        window
    }

    /// Returns the window at the end of the loss event if the ACK ends it (§4.4.1).
    fn recover(&mut self, ack: &AckFacts<'_>, nxt: u64, window: Window) -> Option<Window> {
        let recovery = self.recovery.as_mut()?;
        let point = *recovery.point.get_or_insert(nxt);
        let again = ack.delivered.iter().map(|delivered| delivered.segment);
        let again = again.filter(|segment| segment.transmissions > 1);
        recovery.retransmitted += again.map(|s| s.end() - s.start).sum::<u64>();
        if ack.una < point {
            return None;
        }
        let Recovery {
            basis,
            retransmitted,
            ..
        } = *recovery;
        self.recovery = None;
        self.pipe.forget(nxt);
        let cwnd = (basis? - retransmitted as f64) / 2.0;
        let cwnd = cwnd.max(self.smss).min(window.cwnd);
        Some(Window {
            cwnd,
            ssthresh: cwnd,
        })
    }

    /// Returns the window after a loss in the non-validated phase, and the basis, of which the window is half.
    fn safe(&self, loss: &LossFacts) -> Option<(Window, f64)> {
        if !self.is_unvalidated(loss.now, loss.window.cwnd) {
            return None;
        }
        let pipe = self.pipe.value(loss.now, self.srtt)?;
        let basis = pipe.max(loss.flight_within_window());
        let cwnd = (basis / 2.0).max(self.smss);
        let window = Window {
            cwnd,
            ssthresh: cwnd,
        };
        Some((window, basis))
    }
}

impl CongestionControl for Validating {
    /// An idle period does not change the window, except through the non-validated period.
    fn opening(&self, configured: Window) -> Window {
        match self.cwnd {
            None => self.inner.opening(configured),
            Some(cwnd) => Window { cwnd, ..configured },
        }
    }

    fn on_handshake(&mut self, rtt: Duration, opening: Window) -> Window {
        self.inner.on_handshake(rtt, opening)
    }

    fn rto_shortening(&self) -> Option<RtoShortening> {
        self.inner.rto_shortening()
    }

    fn governance(&self) -> Governance {
        self.inner.governance()
    }

    fn marks(&self) -> MarkAnswer {
        self.inner.marks()
    }

    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        self.inner.on_sent(sent, departure, view);
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        self.srtt = view.rtt.srtt();
        let nxt = view.scoreboard.nxt();
        let (mut view, mut credit, mut told) = (*view, credit, *ack);
        if let Some(ssthresh) = self.ssthresh_due.take() {
            view.window.ssthresh = view.window.ssthresh.max(ssthresh);
        }
        if self.recovery.is_none() {
            self.pipe.take(ack, nxt, self.srtt);
            self.enter(ack.now, view.window.cwnd);
            view.window = self.aged(ack.now, view.window);
        } else if let Some(window) = self.recover(ack, nxt, view.window) {
            view.window = window;
            credit = Credit::default();
        }
        let limited = ack.limited_by == LimitedBy::Congestion;
        if self.since.is_some() && !limited {
            told.window_use = WindowUse::Partly { flight_max: 0 };
            (credit.acks, credit.bytes) = (0, 0);
        } else {
            told.limited_by = LimitedBy::Congestion;
            told.window_use = WindowUse::Filled;
        }
        let grown = self.inner.on_ack(&told, credit, &view);
        self.cwnd = Some(grown.cwnd);
        grown
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        let safe = self.safe(loss);
        safe.map_or_else(|| self.inner.reduction(loss), |(window, _)| window)
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        let safe = self.safe(loss);
        let mut told = chosen;
        let mut basis = None;
        if let Some((window, from)) = safe
            && cause == LossCause::Congestion
        {
            basis = Some(from);
            if chosen == window {
                // The control receives its own reduction here, so that it regards the window as its own choice.
                told = self.inner.reduction(loss);
            }
        }
        self.inner.on_loss(loss, cause, told);
        self.since = None;
        self.cwnd = Some(chosen.cwnd);
        self.recovery = Some(Recovery {
            basis,
            point: None,
            retransmitted: 0,
        });
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        let window = self.inner.on_timeout(loss);
        // The window is the control's; the validation state is reset as after any recovery (§4.4).
        self.recovery = None;
        self.since = None;
        self.pipe.forget(0);
        self.cwnd = Some(window.cwnd);
        window
    }

    fn undo(&self) -> UndoRules {
        self.inner.undo()
    }

    fn remember(&mut self) {
        self.inner.remember();
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        let window = self.inner.on_spurious(prior, window);
        self.recovery = None;
        self.cwnd = Some(window.cwnd);
        window
    }

    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        self.inner.on_idle_end(now, last_sent);
        let Some(cwnd) = self.cwnd else {
            return;
        };
        self.enter(now, cwnd);
        let before = Window {
            cwnd,
            ssthresh: 0.0,
        };
        let after = self.aged(now, before);
        if after.ssthresh > 0.0 {
            self.cwnd = Some(after.cwnd);
            self.ssthresh_due = Some(after.ssthresh);
        }
    }

    /// If the control paces its window, it does so in both phases; otherwise the wrapper paces in the non-validated
    /// phase.
    fn pacing(&self) -> Pacing {
        match self.inner.pacing() {
            Pacing::Off => Pacing::Rate,
            paced => paced,
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        let paced = self.inner.pacing_rate();
        let (Some(cwnd), Some(srtt), Some(_)) = (self.cwnd, self.srtt, self.since) else {
            return paced;
        };
        let rate = cwnd / srtt.as_secs_f64();
        let rate = if rate.is_finite() { Some(rate) } else { None };
        paced.or(rate)
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.inner.bandwidth_estimate()
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.smss = f64::from(to);
        // The window is scaled only if the segment size decreases.
        let ratio = (f64::from(to) / f64::from(from)).min(1.0);
        self.cwnd = self.cwnd.map(|cwnd| cwnd * ratio);
        self.inner.on_segment_size(from, to);
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::testing::ack;

    use super::*;
    use crate::catalog::{Dialect, Value};
    use crate::congestion::bench::{Bench, built};
    use crate::congestion::reno;
    use crate::recovery::sack;
    use crate::testing::Setup;

    /// Returns Reno with window validation, after a flight of 20 segments that filled a window of 20. Every later ACK
    /// is for a whole flight.
    fn bench() -> Bench {
        let on = [("cwv", Value::word("on"))];
        let mut b = Bench::new(reno::entry(), Dialect::Rfc, &on, 20.0, 20.0);
        b.rtt_sample = Some(Duration::from_millis(100));
        b.ack(20);
        b.window.cwnd = 20_000.0;
        b
    }

    fn later(b: &mut Bench, ms: u64) {
        b.now += Duration::from_millis(ms);
    }

    #[test]
    fn an_unused_window_stays_as_it_is() {
        let mut b = bench();
        b.limited_by = LimitedBy::Application;
        // The flight of 20 segments counts for a second: the window is validated, and grows as usual.
        later(&mut b, 500);
        b.ack(20);
        assert_eq!(b.cwnd(), 21.0);
        for _ in 0..8 {
            later(&mut b, 500);
            b.ack(3);
        }
        // 3 is less than half of 21.
        let preserved = b.cwnd();
        b.ack(3);
        assert_eq!(b.cwnd(), preserved);
        // The window limits the sender, so it may grow (§4.4).
        b.limited_by = LimitedBy::Congestion;
        for _ in 0..8 {
            b.ack(3);
        }
        assert!(b.cwnd() > preserved);
    }

    #[test]
    fn a_loss_leaves_half_of_the_used_window() {
        let mut b = bench();
        later(&mut b, 2000);
        b.ack(3);
        // The window is max(3, 4)/2 segments. For a validated window it would be 4/2 or 20/2.
        b.loss(0, 4);
        assert_eq!((b.cwnd(), b.ssthresh()), (2.0, 2.0));
        let mut b = bench();
        later(&mut b, 2000);
        b.ack(9);
        b.loss(0, 4);
        assert_eq!(b.cwnd(), 4.5);
        // This ACK ends the recovery. In the bench nothing was retransmitted.
        b.ack(1);
        assert_eq!((b.cwnd(), b.ssthresh()), (4.5, 4.5));
    }

    #[test]
    fn a_validated_window_is_reduced_as_ever() {
        let mut b = bench();
        later(&mut b, 500);
        b.loss(0, 20);
        assert_eq!(b.cwnd(), 10.0);
    }

    #[test]
    fn bytes_counted_before_a_spurious_reduction_count_after_it() {
        let mut b = bench();
        // Half a window is acknowledged first, and the other half after a spurious loss.
        b.ack(10);
        let prior = Prior::new(b.window);
        b.control().remember();
        let reduced = b.loss(0, 20);
        b.window = b.control().on_spurious(&prior, reduced);
        assert_eq!(b.cwnd(), 20.0);
        b.ack(10);
        assert_eq!(b.cwnd(), 21.0);
    }

    #[test]
    fn retransmissions_are_subtracted_before_the_window_is_halved() {
        let on = [("cwv", Value::word("on"))];
        let control = built(&reno::entry(), Dialect::Rfc, &on);
        let setup = Setup::new(sack::entry()).window(20.0).prepared();
        let mut t = setup.control(control).start(20);
        // One flight fills the window. Much later, a flight of ten segments loses two.
        t.receive(100, ack(20));
        t.wait(3000);
        t.write(3);
        // Transmissions are paced: a window takes one round trip.
        t.wait(3050);
        t.receive(3100, ack(23));
        t.wait(6000);
        t.write(10);
        t.wait(6060);
        t.receive(6100, ack(23).sack(25, 26));
        t.receive(6101, ack(23).sack(25, 27));
        t.receive(6102, ack(23).sack(25, 28));
        // The window is max(pipeACK, 10)/2.
        assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
        t.receive(6103, ack(23).sack(25, 33));
        t.receive(6200, ack(33));
        // The window is (10 − 2)/2.
        assert_eq!((t.cwnd(), t.ssthresh()), (4.0, 4.0));
    }

    #[test]
    fn five_minutes_unused_halve_it_but_not_below_the_initial_window() {
        let mut b = bench();
        b.window.ssthresh = 5000.0;
        b.limited_by = LimitedBy::Application;
        later(&mut b, 2000);
        b.ack(3);
        assert_eq!(b.cwnd(), 20.0);
        later(&mut b, 301_000);
        b.ack(3);
        assert_eq!((b.cwnd(), b.ssthresh()), (10.0, 15.0));
        later(&mut b, 301_000);
        b.ack(3);
        assert_eq!(b.cwnd(), 10.0);
    }

    #[test]
    fn an_idle_period_leaves_the_window_and_starts_pacing() {
        let mut b = bench();
        assert_eq!(b.control().pacing_rate(), None);
        later(&mut b, 60_000);
        let now = b.now;
        b.control().on_idle_end(now, Instant::ZERO);
        let configured = Window {
            cwnd: 10_000.0,
            ssthresh: f64::INFINITY,
        };
        // The window is 20 segments plus the growth after the first flight.
        assert_eq!(b.control().opening(configured).cwnd, 21_000.0);
        later(&mut b, 300_000);
        let now = b.now;
        b.control().on_idle_end(now, Instant::ZERO);
        assert_eq!(b.control().opening(configured).cwnd, 10_500.0);
    }

    #[test]
    fn the_five_minutes_begin_when_the_last_sample_is_too_old() {
        // The sample at time 0 is valid for a second (§4.5.2).
        let mut b = bench();
        let kept = |b: &mut Bench, ms| {
            let now = Instant::ZERO + Duration::from_millis(ms);
            b.control().on_idle_end(now, Instant::ZERO);
            let configured = Window {
                cwnd: 10_000.0,
                ssthresh: f64::INFINITY,
            };
            b.control().opening(configured).cwnd
        };
        assert_eq!(kept(&mut b, 60_000), 21_000.0);
        assert_eq!(kept(&mut b, 300_900), 21_000.0);
        assert_eq!(kept(&mut b, 301_100), 10_500.0);
    }
}
