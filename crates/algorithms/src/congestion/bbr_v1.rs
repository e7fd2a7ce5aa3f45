//! BBR, version 1, as in Linux: a pacing rate and a window from the bottleneck's bandwidth and the minimum round-trip
//! time. Losses do not change the model.
//!
//! Sources: Linux, `net/ipv4/tcp_bbr.c` and `tcp_rate.c`. The idea is described in Cardwell, Cheng, Gunn, Hassas
//! Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016.
//!
//! ```text
//! bw      = maximum delivery rate of the last 10 round trips
//! min_rtt = minimum round-trip time of the last 10 s;   bdp = ⌈gain · bw · min_rtt⌉ segments
//! rate    = 0.99 · pacing_gain · bw
//! cwnd   → bdp(cwnd_gain) + extra_acked + 3 bursts, rounded up to an even number, at least 4
//!
//! mode      pacing_gain                          cwnd_gain  until
//! Startup   2.89                                 2.89       bw has grown by < 25 % in 3 consecutive round trips
//! Drain     1/2.89                               2.89       in flight ≤ bdp
//! ProbeBW   1.25, 0.75, 1, 1, 1, 1, 1, 1         2          (a phase takes about min_rtt)
//! ProbeRTT  1                                    cwnd = 4   200 ms and a round trip; begins when min_rtt is 10 s old
//!
//! recovery  the first round trip conserves packets: cwnd = in flight + delivered; then slow start up
//!           to the target; at the end the window from before the recovery is restored
//! policer   two intervals of ≥ 4 round trips that lose ≥ 20 % at rates within 1/8 of each other: the pacing
//!           rate is their mean for 48 round trips
//! ```
//!
//! [`bbr`](super::bbr) is version 3. It uses a loss rate above 2 % as a sign of too much data in flight, bounds the
//! data in flight accordingly, and probes every two to three seconds. Version 1 probes every eighth round trip and
//! keeps its pacing rate regardless of losses, unless it detects a policer. It is therefore fast over lossy links, but
//! with a short buffer, it causes heavy losses of its own packets and of those of other flows.
//!
//! | part | file |
//! | --- | --- |
//! | constants | `parameters.rs` |
//! | bandwidth, round trips, full pipe, cycle, minimum round-trip time, aggregation | `model.rs` |
//! | the long-term sampler that detects policers | `policer.rs` |
//! | pacing rate, window, recovery | `window.rs` |
//! | delivery rate samples, for both versions | `../delivery_rate.rs` |
//!
//! Readings and differences:
//! - Real numbers replace the kernel's fixed-point numbers. Gains are the kernel's fractions of 256.
//! - The kernel counts packets; here bytes are counted and converted to full segments.
//! - The endpoint paces segment by segment. The kernel's bursts (`bbr_tso_segs_goal`) affect only the
//!   window, and the data in flight when the next burst is sent.
//! - Linux's connection states (`icsk_ca_state`) follow from loss events and timeouts: a recovery lasts
//!   until all data outstanding at its beginning is acknowledged.
//! - Losses that a timer of the recovery detects count with the next ACK; in Linux they count only for the
//!   policer's loss rate.
//! - After a loss that a tail loss probe has repaired, the window is saved, and nothing else changes.
//! - Congestion marks (ECN) change nothing, as in Linux.
//! - The bandwidth filter is exact; Linux's filter keeps three values.

mod model;
mod parameters;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit, Governance, Pacing};
use dupack_tcp::facts::{AckFacts, Departure, LossCause, LossFacts, LossRule, Sent, View};
use dupack_tcp::scoreboard::DeliveredBy;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use self::model::{Aggregation, Cycle, FullPipe, MinRtt, Rounds};
use self::parameters::BbrV1Parameters;
use self::policer::LongTerm;
use super::delivery_rate::{Quiet, RateSample, Sampler};
use super::max_filter::MaxFilter;
use super::undo;
use crate::catalog::{Axis, Context, Entry, InLinux, KernelVersion, Opponent};

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("bbr-v1", file!())
        .summary("BBR version 1, Linux's `bbr`: a pace and a window from bandwidth and least RTT")
        .citation("Linux, tcp_bbr.c; Cardwell et al., ACM Queue 14(5), 2016")
        .conflict(
            Axis::Recovery,
            Opponent::Named("tahoe".into()),
            "Tahoe recovers by slow start from one segment, and BBR sets the window by its \
             model, without slow start",
        )
        .conflict(
            Axis::Differentiation,
            Opponent::AnyButNull,
            "BBR does not answer losses: the cause of a loss changes nothing",
        )
        .linux(
            InLinux::module(
                "the congestion control `bbr` (version 1), since 4.9",
                "bbr",
                "tcp_bbr",
            )
            .since(KernelVersion::new(4, 9))
            .differs("Linux paces bursts of two segments or more, ours each segment")
            .knobs(undo::knobs()),
        )
        .build(|parameters, context| Box::new(BbrV1::new(parameters, context)))
}

/// Mode (`enum bbr_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Relevant states of Linux's `icsk_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery,
    Loss,
}

/// Control of BBR version 1. See the [module](self). Windows are in full segments, rates in bytes per second.
#[derive(Clone, Debug)]
pub struct BbrV1 {
    parameters: BbrV1Parameters,
    smss: f64,
    seed: u64,
    mode: Mode,
    sampler: Sampler,
    max_bw: MaxFilter,
    rounds: Rounds,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    cycle: Cycle,
    aggregation: Aggregation,
    long_term: LongTerm,
    /// `true` if sending resumed after an idle period and nothing has been delivered since.
    idle_restart: bool,
    phase: Phase,
    /// Phase at the last ACK (`prev_ca_state`).
    prior_phase: Phase,
    /// Offset that ends the phase when the data before it is acknowledged; `None` until it is known.
    point: Option<u64>,
    /// `true` after a timeout, until its first retransmission is sent.
    timed_out: bool,
    packet_conservation: bool,
    undo: UndoRules,
    /// `true` after the first transmission.
    begun: bool,
    cwnd: f64,
    prior_cwnd: f64,
    ssthresh: f64,
    pacing_rate: f64,
    srtt: Option<Duration>,
    /// `true` if the pacing rate is based on a measured round-trip time.
    has_seen_rtt: bool,
    /// Number of transmissions so far.
    sent: u64,
    /// Earliest time of the next burst.
    next_departure: Instant,
    /// Time of the current event.
    now: Instant,
    /// Segments in flight after the current ACK, and before it.
    in_flight: f64,
    prior_in_flight: f64,
    /// Bytes lost so far, and segments whose loss the current ACK has shown.
    lost: u64,
    losses: f64,
}

impl BbrV1 {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &BbrV1Parameters, context: &Context) -> Self {
        Self {
            parameters: *parameters,
            smss: f64::from(context.smss),
            seed: parameters.seed ^ context.seed,
            mode: Mode::Startup,
            sampler: Sampler::new(Quiet::NothingOutstanding),
            max_bw: MaxFilter::default(),
            rounds: Rounds::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            aggregation: Aggregation::default(),
            long_term: LongTerm::default(),
            idle_restart: false,
            phase: Phase::Open,
            prior_phase: Phase::Open,
            point: None,
            timed_out: false,
            packet_conservation: false,
            undo: parameters.undo.rules(),
            begun: false,
            cwnd: 0.0,
            prior_cwnd: 0.0,
            ssthresh: f64::INFINITY,
            pacing_rate: 0.0,
            srtt: None,
            has_seen_rtt: false,
            sent: 0,
            next_departure: Instant::ZERO,
            now: Instant::ZERO,
            in_flight: 0.0,
            prior_in_flight: 0.0,
            lost: 0,
            losses: 0.0,
        }
    }

    /// Initializes the state at the first transmission (`bbr_init`). The handshake may already have measured a
    /// round-trip time.
    fn begin(&mut self, view: &View<'_>) {
        self.begun = true;
        self.cwnd = view.window.cwnd / self.smss;
        self.srtt = view.rtt.srtt();
        self.min_rtt.begin(view.now, view.rtt.min());
        self.aggregation.restart(view.now);
        self.init_pacing_rate();
        self.reset_long_term();
    }

    /// Handles the end of an idle period of the application (`CA_EVENT_TX_START`).
    fn restart_from_idle(&mut self) {
        self.idle_restart = true;
        self.aggregation.restart(self.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Handles the first retransmission after a timeout. The bytes in flight include this retransmission: the recovery
    /// has already judged which segments are lost (`tcp_enter_loss`, `bbr_set_state`).
    fn resume_after_timeout(&mut self, departure: Departure) {
        self.timed_out = false;
        self.cwnd = (departure.in_flight as f64 / self.smss).max(1.0);
        self.lost = departure.lost_bytes;
        // A timeout ends a round trip, and counts as a loss.
        self.rounds.start = true;
        self.losses = 1.0;
        self.sample_long_term(None);
    }

    /// Updates the phase after an ACK of all data before `una`; `nxt` is the end of the data sent.
    fn update_phase(&mut self, una: u64, nxt: u64) {
        let point = *self.point.get_or_insert(nxt);
        if una >= point {
            self.phase = Phase::Open;
        }
    }

    fn window(&self) -> Window {
        Window {
            cwnd: self.cwnd * self.smss,
            ssthresh: self.ssthresh * self.smss,
        }
    }
}

/// Returns `true` if the receiver may have delayed the ACK: the ACK acknowledges a single segment that is shorter than
/// a full one, such as the last segment of a message (`FLAG_ACK_MAYBE_DELAYED`).
fn may_be_delayed(ack: &AckFacts<'_>, sample: Option<&RateSample>, smss: f64) -> bool {
    let [one] = ack.delivered else {
        return false;
    };
    let alone = sample.is_some_and(|sample| sample.delivered == u64::from(one.segment.len));
    let once = one.segment.transmissions == 1 && one.by == DeliveredBy::Cumulative;
    alone && once && (ack.acked_bytes as f64) < smss
}

impl CongestionControl for BbrV1 {
    /// An idle period does not change the window.
    fn opening(&self, configured: Window) -> Window {
        if self.begun {
            self.window()
        } else {
            configured
        }
    }

    fn governance(&self) -> Governance {
        Governance::Model
    }

    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        self.now = view.now;
        if !self.begun {
            self.begin(view);
        }
        if self.timed_out {
            self.resume_after_timeout(departure);
        }
        let before = departure
            .in_flight
            .saturating_sub(u64::from(sent.segment.len));
        let cwnd = self.cwnd * self.smss;
        if self
            .sampler
            .check_app_limited(sent, departure, before, cwnd)
        {
            self.restart_from_idle();
        }
        self.sampler.on_sent(sent, departure, view);
        self.sent += 1;
        if let Some(rate) = self.pacing_rate() {
            let gap = f64::from(sent.segment.len) / rate.max(1.0);
            let due = self.next_departure.max(self.now);
            self.next_departure = due + Duration::from_secs_f64(gap);
        }
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        self.now = ack.now;
        self.srtt = view.rtt.srtt().or(ack.rtt);
        let in_flight = credit.in_flight.unwrap_or(view.flight_size());
        let prior_in_flight = ack.prior_in_flight.unwrap_or(ack.prior_flight);
        self.in_flight = in_flight as f64 / self.smss;
        self.prior_in_flight = prior_in_flight as f64 / self.smss;
        let lost = credit.lost_bytes.unwrap_or(self.lost);
        self.losses = lost.saturating_sub(self.lost) as f64 / self.smss;
        self.lost = lost;
        if self.phase != Phase::Open {
            self.update_phase(ack.una, view.scoreboard.nxt());
        }
        let cwnd = self.cwnd * self.smss;
        let before = self.sampler.delivered;
        let sample = self.sampler.on_ack(ack, prior_in_flight, cwnd, view);
        let acked = (self.sampler.delivered - before) as f64 / self.smss;
        let delayed = may_be_delayed(ack, sample.as_ref(), self.smss);
        let sample = sample.filter(|sample| sample.delivery_rate > 0.0);
        let rtt = ack.rtt.map(|rtt| (rtt, delayed));
        self.update_model(sample.as_ref(), acked, rtt);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(acked);
        self.window()
    }

    /// A single loss event does not reduce the window.
    fn reduction(&self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn on_loss(&mut self, loss: &LossFacts, _cause: LossCause, _chosen: Window) {
        self.now = loss.now;
        self.save_cwnd();
        if loss.rule != LossRule::PROBE {
            self.phase = Phase::Recovery;
            self.point = None;
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.now = loss.now;
        if self.phase == Phase::Open || self.phase == Phase::Loss && loss.timeouts <= 1 {
            self.save_cwnd();
        }
        self.phase = Phase::Loss;
        self.prior_phase = Phase::Loss;
        self.point = None;
        self.full_pipe.bw = 0.0;
        self.timed_out = true;
        self.cwnd = 1.0;
        self.window()
    }

    fn undo(&self) -> UndoRules {
        self.undo
    }

    /// The window is restored at the next ACK, as after any recovery (`bbr_undo_cwnd`).
    fn on_spurious(&mut self, _prior: &Prior, _window: Window) -> Window {
        self.phase = Phase::Open;
        self.timed_out = false;
        self.full_pipe.forget();
        self.reset_long_term();
        self.window()
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.sent >= self.parameters.pacing_from).then_some(self.pacing_rate)
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        let bw = self.bw();
        (bw > 0.0).then_some(bw)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.smss = f64::from(to);
        if to > from {
            let ratio = f64::from(from) / f64::from(to);
            self.cwnd *= ratio;
            self.prior_cwnd *= ratio;
        }
    }
}
