//! Dynamic response: if the connection itself fills the queue, the window is at least the window before the loss; if
//! others fill the queue, TCP's response and slower growth apply.
//!
//! Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless networks", §5, name a
//! response that reacts to the network as future work; this response is our own.
//!
//! The paper finds no method that is best everywhere, and its two groups of scenarios require opposite responses. For a
//! single flow on a lossy path, it is better not to reduce the window: the queue harms no other flow, and a small
//! window has too few duplicate ACKs to detect the next loss. Among other flows, the window fills the shared buffer. In
//! the two cases, the round-trip time depends differently on the connection's own window. For a single flow, twice the
//! packets in flight wait twice as long; among others, the window of one flow hardly matters.
//!
//! ```text
//! share = cov(flight, RTT) / var(flight) · mean(flight) / mean(RTT)
//! needed = the larger of least and room · losses per segment · RTO / SRTT
//! share ≥ own, or not known:  cwnd = max(cwnd, needed), ssthresh = max(ssthresh, needed)
//! otherwise:                  TCP's response, and until the next loss a window that grows by
//!                             `growth` of TCP's increase
//! ```
//!
//! `share` is the fraction of the round-trip time that rises and falls with the connection's data in flight: 1 if RTT
//! is proportional to it, 0 if the two are unrelated. Means and (co)variances are exponentially weighted, so an ACK
//! costs O(1).
//!
//! If `needed` is `least`, the first response is [method 1](super::previous), the paper's best over many hops. The
//! window has to cause enough duplicate ACKs to detect the next loss; otherwise the connection waits for the timer. The
//! minimum window does so: one lost segment, three that cause duplicate ACKs, and three more that may be lost, or whose
//! ACKs may be lost. With more losses, or with a longer timeout in round trips, more data should be in flight. With a
//! minimum timeout of 200 ms this response is better than the paper's methods. With 1 s and an end-to-end loss of more
//! than a tenth it is not: larger windows are better there (`dupack papers responding`).
//!
//! If others fill the queue, none of the paper's windows after a loss is better than TCP's by more than 0.3 % (group C
//! there): the channel is full regardless of any single flow. Only spurious retransmissions can be avoided, and there
//! are fewer of them if the windows grow more slowly into the full queue. This is the purpose of `growth`, which the
//! paper's methods do not have. It is the reason for the whole gain in group C: Reno with a tenth of its increase
//! (`reno/reno(increase=0.1)`) has the same gain. It yields to others: next to flows of standard TCP (`c-mixed.toml`
//! there) it gets much less than its fair share.
//!
//! [`veno`](crate::differentiation::veno) and the others that compare RTT with its minimum cannot detect who fills the
//! queue, and a flow that starts when the queue is full never sees the true minimum. `share` needs no minimum.
//!
//! On a path with a large bandwidth-delay product and no queue at all, RTT does not depend on the window either:
//! `share` is 0 and the response is TCP's.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use crate::catalog::{Context, Entry, Parameters};

/// Weight of one interval between losses in the mean interval, as for SRTT in RFC 6298 §2.
const INTERVAL_GAIN: f64 = 1.0 / 8.0;

/// Parameters of the dynamic response.
#[derive(Clone, Copy, Debug, Parameters)]
struct DynamicParameters {
    /// minimum fraction of the RTT that depends on the connection's window if the queue is its own
    #[parameter(
        source = "ours: it is 1 alone and at most 1/2 among equal flows",
        range = 0.0..=10.0,
        default = 0.5,
    )]
    own: f64,
    /// minimum window after a loss if the queue is the connection's own or its owner is unknown
    #[parameter(
        source = "ours: one lost, three for duplicate ACKs, three that may be lost",
        range = 1.0..=1e6,
        unit = "segments",
        default = 7.0,
    )]
    least: f64,
    /// window after a loss, per loss per segment and per round trip of the timeout
    #[parameter(
        source = "ours: chosen on groups W and C of the study",
        range = 0.0..=1e6,
        unit = "segments",
        default = 30.0,
    )]
    room: f64,
    /// fraction of TCP's increase in congestion avoidance if others fill the queue
    #[parameter(source = "ours", range = 0.0..=1.0, default = 0.1)]
    growth: f64,
    /// weight of one RTT sample
    #[parameter(
        source = "ours: 1000 samples, many rises and falls of the window",
        range = 1e-6..=1.0,
        default = 0.001,
    )]
    gain: f64,
    /// number of RTT samples before the share is known
    #[parameter(source = "ours", range = 2..=1_000_000, unit = "samples", default = 20)]
    samples: u64,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Response> {
    Entry::response("dynamic", file!())
        .summary("the previous window if RTT follows the connection's window, else TCP with slower growth")
        .citation(
            "ours; the future work of Park et al., A comparative study on responding methods, §5",
        )
        .build(|parameters, context| Box::new(Dynamic::new(parameters, context)))
}

/// Owner of the queue, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Unknown,
    Own,
    Others,
}

/// The dynamic response.
#[derive(Clone, Debug)]
struct Dynamic {
    own: f64,
    smss: f64,
    /// Minimum window in segments.
    least: f64,
    /// Parameter `room`, in segments.
    room: f64,
    growth: f64,
    gain: f64,
    /// Number of samples before the share is known.
    least_samples: u64,
    /// Owner of the queue at the last loss.
    queue: Queue,
    moments: Moments,
    /// Bytes acknowledged since the last loss.
    acked: f64,
    /// Mean number of bytes acknowledged between two losses.
    interval: Option<f64>,
    /// Retransmission timeout, in round trips.
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

    /// Ends the interval since the previous loss.
    fn end_interval(&mut self) {
        let last = core::mem::take(&mut self.acked);
        let mean = |mean: f64| mean + INTERVAL_GAIN * (last - mean);
        self.interval = Some(self.interval.map_or(last, mean));
    }

    /// Returns the window in bytes that causes enough duplicate ACKs to detect the next loss.
    fn needed(&self) -> f64 {
        let interval = self.interval.unwrap_or(0.0) / self.smss;
        // The loss rate is limited to one loss per segment.
        let needed = self.room / interval.max(1.0) * self.timeout;
        needed.max(self.least) * self.smss
    }

    /// Returns the owner of the queue, according to the fraction of the RTT that depends on the connection's own
    /// window.
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
            // While a hole holds SND.UNA back, FlightSize is larger than the data in the network.
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

/// Exponentially weighted means, variance and covariance of the data in flight, in bytes, and of the round-trip time,
/// in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    samples: u64,
    flight: f64,
    rtt: f64,
    variance: f64,
    covariance: f64,
}

impl Moments {
    /// Records a sample. The first samples have equal weights, so the average starts as a plain mean.
    fn take(&mut self, flight: f64, rtt: Duration, gain: f64) {
        self.samples += 1;
        let gain = gain.max(1.0 / self.samples as f64);
        let (off, late) = (flight - self.flight, rtt.as_secs_f64() - self.rtt);
        self.flight += gain * off;
        self.rtt += gain * late;
        self.variance = (1.0 - gain) * (self.variance + gain * off * off);
        self.covariance = (1.0 - gain) * (self.covariance + gain * off * late);
    }

    /// Returns the elasticity of the round-trip time with respect to the data in flight; `None` while the data in
    /// flight is constant.
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

    /// TCP's response.
    const CONGESTION: Window = Window {
        cwnd: 5000.0,
        ssthresh: 5000.0,
    };

    /// Returns a response after `samples` samples: the windows cycle through 5 to 14 segments, each with the RTT in ms
    /// that `rtt` returns, and 100 segments have been acknowledged since the last loss.
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

    /// Returns the window before the loss in [`answer`].
    fn before() -> Window {
        loss_facts(0, 10).window
    }

    #[test]
    fn a_queue_of_its_own_is_kept() {
        // The RTT is 3 ms per segment, so all of it depends on the window.
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
        // There is one loss in 100 segments, and the timeout is 50 round trips: 30 · 0.01 · 50 segments.
        response.timeout = 50.0;
        let window = response.respond(&loss_facts(0, 10), CONGESTION);
        assert_eq!(window.cwnd, 15.0 * f64::from(SMSS));
        // The next loss is after 20 segments: 100 + (20 − 100) / 8 = 90 segments between losses.
        response.acked = 20.0 * f64::from(SMSS);
        let segments = answer(response).cwnd / f64::from(SMSS);
        assert!((segments - 30.0 / 90.0 * 50.0).abs() < 1e-9, "{segments}");
    }

    #[test]
    fn a_queue_of_others_makes_it_tcp() {
        // With 60 ms + 3 ms per segment and 9.5 segments on average, 28.5 ms of 88.5 ms depend on the window.
        let response = after(100, |segments| 3 * segments + 60);
        let share = response.moments.share().unwrap();
        assert!((share - 28.5 / 88.5).abs() < 0.01, "{share}");
        assert_eq!(answer(response), CONGESTION);
        // The RTT does not depend on the window at all.
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
    fn a_window_that_never_changed_shows_nothing() {
        let mut response = after(0, |_| 0);
        for _ in 0..60 {
            let rtt = Duration::from_millis(40);
            response.moments.take(9000.0, rtt, response.gain);
        }
        assert_eq!(response.moments.share(), None);
        assert_eq!(answer(response), CONGESTION);
    }

    /// Tests that the sender grows by `growth` of TCP's increase, and only in congestion avoidance.
    #[test]
    fn the_sender_grows_by_the_share_until_the_next_loss() {
        let setup = Setup::new(newreno::entry())
            .set("full_ack", "keep")
            .answered_by(entry());
        let mut t = setup.window(4.0).start(1000);
        // In three round trips of slow start, the RTT is 100 ms for any data in flight: others fill the queue.
        let mut next = 0;
        for (round, window) in [(1, 4), (2, 8), (3, 16)] {
            for _ in 0..window {
                next += 1;
                t.receive(100 * round, ack(next));
            }
        }
        assert_eq!((next, t.cwnd()), (28, 32.0));
        // Segment 28 is lost. After the fast retransmit, everything sent before it arrives at once.
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
