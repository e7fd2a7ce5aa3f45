//! The dynamic response: a large window where the queue is the connection's own, TCP's where others
//! fill it.
//!
//! Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless
//! networks", §5, name a response that reacts to the network as future work; this one is ours.
//!
//! The paper finds no method that is the best everywhere, and its two groups of scenarios ask for
//! opposites: alone on a lossy path a large window pays, for its queue harms nobody and it brings the
//! duplicate ACKs that save a timeout; among other flows it fills the buffer that all share. What
//! tells the two apart is how the round-trip time follows the connection's own window. Alone, twice
//! the packets in flight wait twice as long; among others it hardly matters what one of them does.
//!
//! ```text
//! share = cov(flight, RTT) / var(flight) · mean(flight) / mean(RTT)
//! roomy = room · √(losses per segment)
//! share ≥ own:       cwnd = ssthresh = roomy
//! share not known:   cwnd = ssthresh = the larger of roomy · unknown and cwnd before the loss
//! otherwise:         what TCP would do, and until the next loss a window that grows by `growth` of
//!                    TCP's increase
//! ```
//!
//! `share` is the part of the round-trip time that goes up and down with what the connection has in
//! flight: 1 if RTT is proportional to it, 0 if the two have nothing to do with each other. Means and
//! (co)variances are exponentially weighted, so an ACK costs O(1).
//!
//! The window grows with the loss rate, against the habit of TCP's, which goes with 1/√(loss rate): the
//! more is lost, the more has to be in flight for three duplicate ACKs to come back from it, for the
//! retransmission and for what is lost besides. With few losses there is no need to fill the queue.
//!
//! Where others fill the queue none of the paper's windows after a loss is better than TCP's by more
//! than chance (group C of `dupack papers responding`): the channel is full whatever one of them
//! does. What is left to win is what is sent in vain, and that is less if the windows grow more
//! slowly into the full queue: hence `growth`, which the paper's methods do not have.
//!
//! [`veno`](crate::differentiation::veno) and the others that hold RTT against its minimum cannot say
//! whose queue it is, and a flow that starts when the queue is full never sees the true minimum;
//! `share` needs no minimum. Methods [25 and 26](super::avoidance) also choose large windows, but
//! under all conditions.
//!
//! On a path with a large bandwidth-delay product and no queue at all, RTT does not follow the window
//! either: `share` is 0 and the answer is TCP's.

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use crate::catalog::spec::{
    Context, Defaults, Entry, Kind, Needs, ParameterSpec, Parameters, Value,
};

const OWN: ParameterSpec = ParameterSpec {
    name: "own",
    doc: "share of the RTT that must follow the own window for the queue to be its own",
    source: "ours: it is 1 alone and at most 1/2 among equal flows",
    kind: Kind::Real {
        min: 0.0,
        max: 10.0,
        unit: "",
    },
    default: Defaults::same(Value::Real(0.5)),
};

const ROOM: ParameterSpec = ParameterSpec {
    name: "room",
    doc: "the window where the queue is its own, over the root of the losses per segment",
    source: "ours: 13 segments at 1 % of loss, 41 at 10 %",
    kind: Kind::Real {
        min: 1.0,
        max: 1e6,
        unit: "segments",
    },
    default: Defaults::same(Value::Real(130.0)),
};

const UNKNOWN: ParameterSpec = ParameterSpec {
    name: "unknown",
    doc: "share of that window while it is not known whose the queue is",
    source: "ours: enough for duplicate ACKs, and half the harm if it is wrong",
    kind: Kind::Real {
        min: 0.0,
        max: 1.0,
        unit: "",
    },
    default: Defaults::same(Value::Real(0.5)),
};

const GROWTH: ParameterSpec = ParameterSpec {
    name: "growth",
    doc: "share of TCP's increase in congestion avoidance where others fill the queue",
    source: "ours",
    kind: Kind::Real {
        min: 0.0,
        max: 1.0,
        unit: "",
    },
    default: Defaults::same(Value::Real(0.1)),
};

/// The weight of one interval between losses in its mean: as in RFC 6298 §2 for SRTT.
const INTERVAL_GAIN: f64 = 1.0 / 8.0;

const GAIN: ParameterSpec = ParameterSpec {
    name: "gain",
    doc: "weight of one RTT sample",
    source: "ours: 1000 samples, many rises and falls of the window",
    kind: Kind::Real {
        min: 1e-6,
        max: 1.0,
        unit: "",
    },
    default: Defaults::same(Value::Real(0.001)),
};

const SAMPLES: ParameterSpec = ParameterSpec {
    name: "samples",
    doc: "RTT samples before which the share is not known",
    source: "ours",
    kind: Kind::Integer {
        min: 2,
        max: 1_000_000,
        unit: "samples",
    },
    default: Defaults::same(Value::Integer(20)),
};

/// The entry in the catalog.
pub static ENTRY: Entry<dyn Response> = Entry {
    name: "dynamic",
    summary: "a large window if RTT follows the own window, else as TCP with slower growth",
    citation: "ours; the future work of Park et al., A comparative study on responding methods, §5",
    parameters: &[OWN, ROOM, UNKNOWN, GROWTH, GAIN, SAMPLES],
    needs: |_| Needs::NONE,
    conflicts: &[],
    build: |parameters, context| Box::new(Dynamic::new(parameters, context)),
};

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
    room: f64,
    unknown: f64,
    growth: f64,
    /// As it was at the last loss.
    queue: Queue,
    /// Bytes acknowledged since the last loss.
    acked: f64,
    /// Bytes acknowledged between two losses, on average.
    interval: Option<f64>,
    gain: f64,
    /// Samples before the share is known.
    least_samples: u64,
    moments: Moments,
}

impl Dynamic {
    fn new(parameters: &Parameters, context: &Context) -> Self {
        Self {
            smss: f64::from(context.smss),
            acked: 0.0,
            interval: None,
            own: parameters.real(OWN.name),
            room: parameters.real(ROOM.name),
            unknown: parameters.real(UNKNOWN.name),
            growth: parameters.real(GROWTH.name),
            queue: Queue::Unknown,
            gain: parameters.real(GAIN.name),
            least_samples: parameters.integer(SAMPLES.name),
            moments: Moments::default(),
        }
    }

    /// The window in bytes where the queue is the connection's own.
    fn roomy(&self) -> f64 {
        let interval = self.interval.unwrap_or(0.0) / self.smss;
        // More than a loss per segment is none to extrapolate to.
        self.room / interval.max(1.0).sqrt() * self.smss
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
        if let Some(rtt) = ack.rtt {
            // While a hole keeps SND.UNA where it is, FlightSize is more than what is in the network.
            let flight = (ack.prior_flight_unlimited as f64).min(view.window.cwnd);
            self.moments.take(flight, rtt, self.gain);
        }
    }

    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window {
        let last = std::mem::take(&mut self.acked);
        let mean = |mean: f64| mean + INTERVAL_GAIN * (last - mean);
        self.interval = Some(self.interval.map_or(last, mean));
        self.queue = self.whose();
        let cwnd = match self.queue {
            Queue::Own => self.roomy().max(self.smss),
            Queue::Unknown => (self.roomy() * self.unknown).max(loss.window.cwnd),
            Queue::Others => return congestion,
        };
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }

    fn growth(&self) -> f64 {
        match self.queue {
            Queue::Own | Queue::Unknown => 1.0,
            Queue::Others => self.growth,
        }
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
    use crate::catalog::spec::Dialect;
    use crate::congestion::bench::{SMSS, context, loss_facts, parameters};

    /// What TCP would do.
    const CONGESTION: Window = Window {
        cwnd: 5000.0,
        ssthresh: 5000.0,
    };

    /// After `samples` samples: windows of 5 to 14 segments in turn, each with the RTT in ms that
    /// `rtt` gives, and 100 segments acknowledged since the last loss.
    fn after(samples: u64, rtt: impl Fn(u64) -> u64) -> Dynamic {
        let parameters = parameters(&ENTRY, Dialect::Rfc, &[]);
        let mut response = Dynamic::new(&parameters, &context(Dialect::Rfc));
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

    /// 130 / √100 segments.
    const ROOMY: Window = Window {
        cwnd: 13.0 * SMSS as f64,
        ssthresh: 13.0 * SMSS as f64,
    };

    #[test]
    fn a_queue_of_its_own_is_used() {
        // 3 ms a segment and nothing else: all of RTT follows the window.
        let response = after(100, |segments| 3 * segments);
        assert!((response.moments.share().unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(answer(response), ROOMY);
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
    fn while_nothing_is_known_the_window_stays_or_becomes_half_of_what_there_may_be_room_for() {
        // 10 segments before the loss, and 13 / 2 = 6.5 for which there may be room.
        let before = loss_facts(0, 10).window.cwnd;
        assert_eq!(answer(after(19, |_| 90)).cwnd, before);
        let response = after(19, |_| 90).respond(&loss_facts(0, 4), CONGESTION);
        assert_eq!(response.cwnd, 6.5 * f64::from(SMSS));
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
    fn more_losses_make_a_larger_window() {
        let mut response = after(100, |segments| 3 * segments);
        response.respond(&loss_facts(0, 10), CONGESTION);
        response.acked = 20.0 * f64::from(SMSS);
        // 100 + (20 − 100) / 8 = 90 segments between losses: 130 / √90 = 13.7.
        let segments = answer(response).cwnd / f64::from(SMSS);
        assert!(
            (segments - 130.0 / 90_f64.sqrt()).abs() < 1e-9,
            "{segments}"
        );
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
}
