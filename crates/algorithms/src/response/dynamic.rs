//! The dynamic response: no less than before where the queue is the connection's own, TCP's answer and
//! slower growth where others fill it.
//!
//! Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless
//! networks", §5, name a response that reacts to the network as future work; this one is ours.
//!
//! The paper finds no method that is the best everywhere, and its two groups of scenarios ask for
//! opposites: alone on a lossy path it pays to give nothing up, for the queue harms nobody and a
//! small window has no duplicate ACKs to find the next loss by; among other flows the window fills
//! the buffer that all share. What tells the two apart is how the round-trip time follows the
//! connection's own window. Alone, twice the packets in flight wait twice as long; among others it
//! hardly matters what one of them does.
//!
//! ```text
//! share = cov(flight, RTT) / var(flight) · mean(flight) / mean(RTT)
//! needed = the larger of least and room · losses per segment · RTO / SRTT
//! share ≥ own, or not known:  cwnd = max(cwnd, needed), ssthresh = max(ssthresh, needed)
//! otherwise:                  what TCP would do, and until the next loss a window that grows by
//!                             `growth` of TCP's increase
//! ```
//!
//! `share` is the part of the round-trip time that goes up and down with what the connection has in
//! flight: 1 if RTT is proportional to it, 0 if the two have nothing to do with each other. Means and
//! (co)variances are exponentially weighted, so an ACK costs O(1).
//!
//! With `needed` at its least the first answer is [method 1](super::previous), the paper's best over
//! many hops. What is needed are duplicate ACKs, to find the next loss by, or it waits for the timer.
//! The least window brings them: one segment lost, three that bring duplicate ACKs, and three more
//! that may be lost, or their ACKs. The more is lost, and the more round trips a timeout lasts, the
//! more it pays to have in flight. With a least timeout of 200 ms that is enough to be ahead of the
//! paper's methods; with one of 1 s and more than a tenth lost end to end it is not: larger
//! windows are better there (`dupack papers responding`).
//!
//! Where others fill the queue none of the paper's windows after a loss is better than TCP's by more
//! than 0.3 % (group C there): the channel is full whatever one of them does. What is left to win is
//! what is sent in vain, and that is less if the windows grow more slowly into the full queue: hence
//! `growth`, which the paper's methods do not have. All that is won in group C is won by it: Reno
//! with a tenth of its increase (`reno/reno(increase=0.1)`) does as well. It is polite: beside flows of
//! standard TCP (`c-mixed.toml` there) it gets much less than its share.
//!
//! [`veno`](crate::differentiation::veno) and the others that hold RTT against its minimum cannot say
//! whose queue it is, and a flow that starts when the queue is full never sees the true minimum;
//! `share` needs no minimum.
//!
//! On a path with a large bandwidth-delay product and no queue at all, RTT does not follow the window
//! either: `share` is 0 and the answer is TCP's.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use crate::catalog::{Context, Entry, Parameters};

/// The weight of one interval between losses in its mean: as in RFC 6298 §2 for SRTT.
const INTERVAL_GAIN: f64 = 1.0 / 8.0;

/// The parameters of the dynamic response.
#[derive(Clone, Copy, Debug, Parameters)]
struct DynamicParameters {
    /// share of the RTT that must follow the own window for the queue to be its own
    #[parameter(
        source = "ours: it is 1 alone and at most 1/2 among equal flows",
        range = 0.0..=10.0,
        default = 0.5,
    )]
    own: f64,
    /// least window after a loss while the queue is its own or nobody's known
    #[parameter(
        source = "ours: one lost, three for duplicate ACKs, three that may be lost",
        range = 1.0..=1e6,
        unit = "segments",
        default = 7.0,
    )]
    least: f64,
    /// window after a loss, over the losses per segment and the timeout in round trips
    #[parameter(
        source = "ours: chosen on groups W and C of the study",
        range = 0.0..=1e6,
        unit = "segments",
        default = 30.0,
    )]
    room: f64,
    /// share of TCP's increase in congestion avoidance where others fill the queue
    #[parameter(source = "ours", range = 0.0..=1.0, default = 0.1)]
    growth: f64,
    /// weight of one RTT sample
    #[parameter(
        source = "ours: 1000 samples, many rises and falls of the window",
        range = 1e-6..=1.0,
        default = 0.001,
    )]
    gain: f64,
    /// RTT samples before which the share is not known
    #[parameter(source = "ours", range = 2..=1_000_000, unit = "samples", default = 20)]
    samples: u64,
}

/// The entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Response> {
    Entry::response("dynamic", file!())
        .summary("the window before if RTT follows the own window, else as TCP with slower growth")
        .citation(
            "ours; the future work of Park et al., A comparative study on responding methods, §5",
        )
        .build(|parameters, context| Box::new(Dynamic::new(parameters, context)))
}

/// Whose queue it is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Unknown,
    Own,
    Others,
}

/// The response.
#[derive(Clone, Debug)]
struct Dynamic {
    own: f64,
    smss: f64,
    /// In segments.
    least: f64,
    /// In segments.
    room: f64,
    growth: f64,
    gain: f64,
    /// Samples before the share is known.
    least_samples: u64,
    /// As it was at the last loss.
    queue: Queue,
    moments: Moments,
    /// Bytes acknowledged since the last loss.
    acked: f64,
    /// Bytes acknowledged between two losses, on average.
    interval: Option<f64>,
    /// The timeout in round trips.
    timeout: f64,
}

impl Dynamic {
    fn new(parameters: &DynamicParameters, context: &Context) -> Self {
        Self {
            own: parameters.own,
            smss: f64::from(context.smss),
            least: parameters.least,
            room: parameters.room,
            growth: parameters.growth,
            gain: parameters.gain,
            least_samples: parameters.samples,
            queue: Queue::Unknown,
            moments: Moments::default(),
            acked: 0.0,
            interval: None,
            timeout: 1.0,
        }
    }

    /// A loss ends the interval since the one before.
    fn end_interval(&mut self) {
        let last = core::mem::take(&mut self.acked);
        let mean = |mean: f64| mean + INTERVAL_GAIN * (last - mean);
        self.interval = Some(self.interval.map_or(last, mean));
    }

    /// The window in bytes that brings the next loss to light in time.
    fn needed(&self) -> f64 {
        let interval = self.interval.unwrap_or(0.0) / self.smss;
        // More than a loss per segment is none to extrapolate to.
        let needed = self.room / interval.max(1.0) * self.timeout;
        needed.max(self.least) * self.smss
    }

    /// Whose queue it is, by the share of the RTT that follows the own window.
    fn whose(&self) -> Queue {
        if self.moments.samples < self.least_samples {
            return Queue::Unknown;
        }
        match self.moments.share() {
            Some(share) if share >= self.own => Queue::Own,
            _ => Queue::Others,
        }
    }
}

impl Response for Dynamic {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.acked += ack.acked_bytes as f64;
        let srtt = view.rtt.srtt().filter(|srtt| *srtt > Duration::ZERO);
        if let (Some(srtt), 0) = (srtt, view.rtt.backoff()) {
            self.timeout = view.rtt.rto().as_secs_f64() / srtt.as_secs_f64();
        }
        if let Some(rtt) = ack.rtt {
            // While a hole keeps SND.UNA where it is, FlightSize is more than what is in the network.
            let flight = (ack.prior_flight_unlimited as f64).min(view.window.cwnd);
            self.moments.take(flight, rtt, self.gain);
        }
    }

    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window {
        self.end_interval();
        self.queue = self.whose();
        if self.queue == Queue::Others {
            return congestion;
        }
        let needed = self.needed();
        Window {
            cwnd: loss.window.cwnd.max(needed),
            ssthresh: loss.window.ssthresh.max(needed),
        }
    }

    fn growth(&self) -> f64 {
        match self.queue {
            Queue::Own | Queue::Unknown => 1.0,
            Queue::Others => self.growth,
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = f64::from(to);
    }
}

/// Exponentially weighted means and (co)variances of what is in flight, in bytes, and of the
/// round-trip time, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    samples: u64,
    flight: f64,
    rtt: f64,
    variance: f64,
    covariance: f64,
}

impl Moments {
    /// The first samples weigh the same, so that the start is a plain mean.
    fn take(&mut self, flight: f64, rtt: Duration, gain: f64) {
        self.samples += 1;
        let gain = gain.max(1.0 / self.samples as f64);
        let (off, late) = (flight - self.flight, rtt.as_secs_f64() - self.rtt);
        self.flight += gain * off;
        self.rtt += gain * late;
        self.variance = (1.0 - gain) * (self.variance + gain * off * off);
        self.covariance = (1.0 - gain) * (self.covariance + gain * off * late);
    }

    /// The elasticity of the round-trip time with respect to what is in flight; none while that has
    /// not changed.
    fn share(&self) -> Option<f64> {
        let varies = self.variance > 0.0 && self.rtt > 0.0;
        varies.then(|| self.covariance / self.variance * self.flight / self.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Dialect, typed};
    use crate::congestion::bench::{CONTEXT, SMSS, loss_facts};
    use crate::recovery::newreno;
    use crate::testing::{Setup, ack};

    /// What TCP would do.
    const CONGESTION: Window = Window {
        cwnd: 5000.0,
        ssthresh: 5000.0,
    };

    /// After `samples` samples: windows of 5 to 14 segments in turn, each with the RTT in ms that
    /// `rtt` gives, and 100 segments acknowledged since the last loss.
    fn after(samples: u64, rtt: impl Fn(u64) -> u64) -> Dynamic {
        let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
        let mut response = Dynamic::new(&parameters, &CONTEXT);
        response.acked = 100.0 * f64::from(SMSS);
        for n in 0..samples {
            let segments = 5 + n % 10;
            let flight = (segments * u64::from(SMSS)) as f64;
            let rtt = Duration::from_millis(rtt(segments));
            response.moments.take(flight, rtt, response.gain);
        }
        response
    }

    fn answer(mut response: Dynamic) -> Window {
        response.respond(&loss_facts(0, 10), CONGESTION)
    }

    /// What it was before the loss of [`answer`].
    fn before() -> Window {
        loss_facts(0, 10).window
    }

    #[test]
    fn a_queue_of_its_own_is_kept() {
        // 3 ms a segment and nothing else: all of RTT follows the window.
        let response = after(100, |segments| 3 * segments);
        assert!((response.moments.share().unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(answer(response), before());
    }

    #[test]
    fn a_small_window_becomes_the_least() {
        let mut response = after(100, |segments| 3 * segments);
        let window = response.respond(&loss_facts(0, 4), CONGESTION);
        let least = 7.0 * f64::from(SMSS);
        assert_eq!((window.cwnd, window.ssthresh >= least), (least, true));
    }

    #[test]
    fn losses_and_a_late_timer_ask_for_more() {
        let mut response = after(100, |segments| 3 * segments);
        // One loss in 100 segments and a timeout of 50 round trips: 30 · 0.01 · 50 segments.
        response.timeout = 50.0;
        let window = response.respond(&loss_facts(0, 10), CONGESTION);
        assert_eq!(window.cwnd, 15.0 * f64::from(SMSS));
        // Then one after 20: 100 + (20 − 100) / 8 = 90 segments between losses.
        response.acked = 20.0 * f64::from(SMSS);
        let segments = answer(response).cwnd / f64::from(SMSS);
        assert!((segments - 30.0 / 90.0 * 50.0).abs() < 1e-9, "{segments}");
    }

    #[test]
    fn a_queue_of_others_makes_it_tcp() {
        // Of 60 ms + 3 ms a segment, at 9.5 segments on average, 28.5 ms of 88.5 follow the window.
        let response = after(100, |segments| 3 * segments + 60);
        let share = response.moments.share().unwrap();
        assert!((share - 28.5 / 88.5).abs() < 0.01, "{share}");
        assert_eq!(answer(response), CONGESTION);
        // And if it makes no difference at all.
        assert_eq!(answer(after(100, |_| 90)), CONGESTION);
    }

    #[test]
    fn while_nothing_is_known_the_window_is_kept() {
        assert_eq!(answer(after(19, |_| 90)), before());
        assert_eq!(answer(after(20, |_| 90)), CONGESTION);
    }

    #[test]
    fn among_others_the_window_grows_more_slowly() {
        let mut alone = after(100, |segments| 3 * segments);
        alone.respond(&loss_facts(0, 10), CONGESTION);
        assert_eq!(alone.growth(), 1.0);
        let mut among = after(100, |_| 90);
        among.respond(&loss_facts(0, 10), CONGESTION);
        assert_eq!(among.growth(), 0.1);
    }

    #[test]
    fn a_window_that_never_changed_tells_nothing() {
        let mut response = after(0, |_| 0);
        for _ in 0..60 {
            let rtt = Duration::from_millis(40);
            response.moments.take(9000.0, rtt, response.gain);
        }
        assert_eq!(response.moments.share(), None);
        assert_eq!(answer(response), CONGESTION);
    }

    /// The sender makes `growth` of TCP's increase, and only in congestion avoidance.
    #[test]
    fn the_sender_grows_by_the_share_until_the_next_loss() {
        let setup = Setup::new(newreno::entry())
            .set("full_ack", "keep")
            .answered_by(entry());
        let mut t = setup.window(4.0).start(1000);
        // Three round trips of 100 ms in slow start, whatever is in flight: others' queue.
        let mut next = 0;
        for (round, window) in [(1, 4), (2, 8), (3, 16)] {
            for _ in 0..window {
                next += 1;
                t.receive(100 * round, ack(next));
            }
        }
        assert_eq!((next, t.cwnd()), (28, 32.0));
        // 28 is lost, and everything sent before the fast retransmit comes at once thereafter.
        for ms in 0..3 {
            t.receive(400 + ms, ack(next));
        }
        assert_eq!(t.ssthresh(), 16.0);
        t.receive(500, ack(62));
        let before = t.cwnd();
        assert!(before <= 17.0, "{before}");
        t.receive(501, ack(63));
        let grown = t.cwnd() - before;
        assert!((grown - 0.1 / before).abs() < 1e-9, "{grown}");
    }
}
