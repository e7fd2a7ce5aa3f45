//! BBR: a model of the path, from measured delivery rate, round-trip time and loss rate.
//!
//! Cardwell, Swett, Beshay (eds.), "BBR Congestion Control", draft-ietf-ccwg-bbr, the working group's text of August
//! 2026 (BBRv3). Section numbers and names are from that text.
//!
//! ```text
//! max_bw   = maximum delivery rate of the last two ProbeBW cycles                   (§5.5.3)
//! min_rtt  = minimum round-trip time of 10 s                                        (§5.5.7)
//! bw       = min(max_bw, bw_shortterm);  bdp = bw · min_rtt
//! rate     = 0.99 · pacing_gain · bw                                                (§5.6.2)
//! cwnd    → cwnd_gain · bdp + extra_acked, at most inflight_longterm, _shortterm    (§5.6.4)
//!
//! Startup (2.77) → Drain (0.5) → ProbeBW: DOWN (0.9) → CRUISE (1) → REFILL (1) → UP (1.25) → DOWN
//! and from any state, once min_rtt has not been refreshed for 5 s, ProbeRTT (cwnd = bdp/2)
//! ```
//!
//! If the loss in a probe for bandwidth exceeds 2 % of the data in flight, it sets `inflight_longterm` and ends the
//! probe. Loss at other times lowers the short-term bounds to the delivery of the last round trip, but to no less than
//! 0.7 times their previous values per round trip, until the next probe. BBR differs from the other controls in three
//! points: a single loss changes nothing, BBR does not fill a queue to find the rate, and a pacing rate controls the
//! transmissions, with the window as a second bound.
//!
//! | part | file |
//! | --- | --- |
//! | constants | `parameters.rs` |
//! | delivery rate samples | `../delivery_rate.rs` |
//! | rounds, bandwidth, round-trip time, aggregation, short-term bounds | `model.rs` |
//! | Startup and Drain, full-pipe estimators | `startup.rs` |
//! | the ProbeBW cycle, long-term bound | `probe_bw.rs` |
//! | ProbeRTT | `probe_rtt.rs` |
//! | losses, recovery episodes, undo | `loss.rs` |
//! | pacing rate, quantum, window | `output.rs` |
//!
//! Readings and differences:
//! - A segment counts as lost when the recovery retransmits it because it judged the segment lost. The rule is the same
//!   for every recovery. A loss therefore counts when the segment is retransmitted; in the draft, a loss counts when it
//!   is detected. A timeout counts everything outstanding at once. A tail loss that a probe repaired counts, too.
//! - A recovery episode lasts from the first such retransmission until all data sent by then
//!   is acknowledged. Undo values are saved when the episode begins (the draft's prose), and not again in each
//!   of its round trips (the draft's pseudocode). The episode was spurious if DSACKs report all retransmitted
//!   segments.
//! - Other signs of a spurious episode (`undo_eifel`, `undo_frto`) undo it, too.
//! - After a timeout the window is one segment. This is the draft's `inflight + 1`, if everything
//!   outstanding is considered lost.
//! - The first selective ACK shows that the receiver sends selective ACKs.
//! - Data that a DSACK reports counts as delivered (§2.2 recommends it), up to the number of retransmitted bytes.
//! - An ACK that reports nothing new does not change the model; only its report of spurious
//!   losses is used.
//! - `C.is_cwnd_limited` covers the current round trip and the previous one. Otherwise the window would be considered
//!   unused at the beginning of each round trip.
//! - ProbeRTT saves the window before the state changes. In the draft the state is already ProbeRTT
//!   then, and `SaveCwnd` keeps an older window if that was larger, regardless of its age.
//! - Where parts of the draft disagree, its pseudocode is used. The table in §5.6.1 bounds Drain by
//!   `inflight_longterm`, `BoundCwndForModel` does not. In §10.6, `inflight_longterm` is "updated appropriately" after
//!   a loss while the application limits the flow; `HandleInflightTooHigh` does not change it. In `IsTimeToCruise`,
//!   `Inflight` uses the bandwidth that its caller passes, `max_bw`. One exception: if loss ends Startup, `full_bw_now`
//!   is also set (§10.2), although nothing uses it in this state.
//! - Without a bandwidth estimate, the initial pacing rate is used.
//! - A cautious probe ends when the bytes in flight before an ACK reach `inflight_longterm`, because the bytes in
//!   flight after an ACK are always lower.
//! - The random waits between probes are computed from a hash of the seeds (the connection's and a parameter), the time
//!   and the bytes delivered.
//! - The endpoint paces segment by segment, without offload. The send quantum therefore only affects
//!   the minimum size of the window.
//! - BBR does not use `ssthresh`: it is infinite until the pipe has been full, and equal to `cwnd` afterwards.
//! - A congestion mark counts as a loss in its round trip, once per window: the short-term bounds of the model are
//!   adapted (§5.5.10.3), except during probes. §3.7 requires a response to marks and does not specify it.
//!
//! The limit that a recovery sets on the window (NewReno's limit at a full ACK, PRR's limit) does not apply: BBR
//! returns its own window on each ACK, and an idle period does not change this window (§5.4).

mod loss;
mod model;
mod output;
mod parameters;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit, Governance, Pacing};
use dupack_tcp::facts::{AckFacts, Departure, LimitedBy, LossCause, LossFacts, Sent, View};
use dupack_tcp::scoreboard::DeliveredBy;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use self::loss::{Episode, Undo};
use self::model::{Aggregation, MinRtt, Rounds, Signals};
use self::parameters::{BbrParameters, Constants};
use self::probe_bw::Cycle;
use self::probe_rtt::ProbeRtt;
use self::startup::FullPipe;
use super::delivery_rate::{Quiet, RateSample, Sampler};
use super::max_filter::MaxFilter;
use crate::catalog::{Axis, Context, Entry, Linux, Opponent};

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("bbr", file!())
        .summary(
            "a pace and a window from a model of the path: bandwidth, round-trip time, loss rate",
        )
        .citation("draft-ietf-ccwg-bbr (BBRv3), August 2026")
        .conflict(
            Axis::Recovery,
            Opponent::Named("tahoe".into()),
            "Tahoe recovers by slow start from one segment, and BBR sets the window by its \
             model, without slow start",
        )
        .conflict(
            Axis::Differentiation,
            Opponent::AnyButNull,
            "BBR answers loss rates, not single losses: the cause of a loss changes nothing",
        )
        .linux(Linux::missing(
            "its `bbr` is version 1, `bbr-v1` here; version 3 is in Google's kernels only",
        ))
        .build(|parameters, context| Box::new(Bbr::new(parameters, context)))
}

/// State of the state machine (§5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    const fn is_probe_bw(self) -> bool {
        matches!(
            self,
            Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp
        )
    }

    /// Returns `true` if the state sends more data to see whether more is delivered (`IsProbingBW`).
    const fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

/// `true` if the window was the limit in the current round trip, and in the previous one (C.is_cwnd_limited).
#[derive(Clone, Copy, Debug, Default)]
struct CwndLimited {
    this_round: bool,
    last_round: bool,
}

/// BBR's congestion control. See the [module](self). Volumes are in bytes, rates in bytes per second.
#[derive(Clone, Debug)]
pub struct Bbr {
    constants: Constants,
    state: State,
    sampler: Sampler,
    rounds: Rounds,
    full_pipe: FullPipe,
    max_bw: MaxFilter,
    bw: f64,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    signals: Signals,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    drain_start_round: u64,
    /// `true` if sending resumed after an idle period and nothing has been delivered since.
    idle_restart: bool,
    /// Current recovery episode, and the values that are restored if it is undone.
    episode: Episode,
    undo: Option<Undo>,
    undo_rules: UndoRules,
    has_selective_acks: bool,
    cwnd_limited: CwndLimited,
    /// C.InitialCwnd; `None` before the first transmission.
    initial_cwnd: Option<f64>,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    send_quantum: f64,
    /// Time of the current event, and C.inflight at that time.
    now: Instant,
    in_flight: u64,
    /// C.inflight before the current ACK.
    prior_in_flight: u64,
}

impl Bbr {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &BbrParameters, context: &Context) -> Self {
        let constants = Constants::new(parameters, context);
        Self {
            state: State::Startup,
            sampler: Sampler::new(Quiet::NothingInFlight),
            rounds: Rounds::default(),
            full_pipe: FullPipe::default(),
            max_bw: MaxFilter::default(),
            bw: 0.0,
            min_rtt: MinRtt::default(),
            aggregation: Aggregation::default(),
            signals: Signals::default(),
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            drain_start_round: 0,
            idle_restart: false,
            episode: Episode::Open,
            undo: None,
            undo_rules: parameters.undo.rules(),
            has_selective_acks: false,
            cwnd_limited: CwndLimited::default(),
            initial_cwnd: None,
            cwnd: 0.0,
            prior_cwnd: 0.0,
            pacing_rate: f64::INFINITY,
            send_quantum: constants.quantum_min,
            now: Instant::ZERO,
            in_flight: 0,
            prior_in_flight: 0,
            constants,
        }
    }

    /// Initializes the part of `OnInit` (§5.2.1) that depends on the connection, at the first transmission. The
    /// handshake may already have measured a round-trip time.
    fn begin(&mut self, view: &View<'_>) {
        let srtt = view.rtt.srtt();
        self.initial_cwnd = Some(view.window.cwnd);
        self.cwnd = view.window.cwnd;
        self.min_rtt.begin(view.now, srtt);
        self.aggregation.restart(view.now);
        self.init_pacing_rate(srtt.unwrap_or(Duration::from_millis(1)));
    }

    /// `UpdateModelAndState` (§5.2.3).
    fn update_model_and_state(&mut self, rs: &RateSample, rtt: Option<Duration>) {
        self.update_latest_delivery_signals(rs);
        self.update_congestion_signals(rs);
        self.update_ack_aggregation(rs);
        self.check_full_bw_reached(rs);
        self.check_startup_done(rs);
        self.check_drain_done();
        self.update_probe_bw_cycle_phase(rs);
        self.update_min_rtt(rtt);
        self.check_probe_rtt(rs);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }

    /// Records facts from an ACK about the connection: selective ACKs, use of the window, and the first round-trip
    /// time.
    fn note_connection(&mut self, ack: &AckFacts<'_>) {
        self.has_selective_acks |= ack.delivered.iter().any(|d| d.by == DeliveredBy::Sack);
        self.cwnd_limited.this_round |= ack.limited_by == LimitedBy::Congestion;
        if self.min_rtt.is_unknown()
            && let Some(rtt) = ack.rtt
        {
            self.init_pacing_rate(rtt);
        }
    }

    /// `HandleRestartFromIdle` (§5.4.1); nothing was in flight.
    fn restart_from_idle(&mut self) {
        self.idle_restart = true;
        self.aggregation.restart(self.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done();
        }
    }

    fn window(&self) -> Window {
        Window {
            cwnd: self.cwnd,
            ssthresh: if self.full_pipe.reached {
                self.cwnd
            } else {
                f64::INFINITY
            },
        }
    }
}

impl CongestionControl for Bbr {
    /// An idle period does not change the window (§5.4.1).
    fn opening(&self, configured: Window) -> Window {
        match self.initial_cwnd {
            None => configured,
            Some(_) => self.window(),
        }
    }

    fn governance(&self) -> Governance {
        Governance::Model
    }

    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        self.now = view.now;
        if self.initial_cwnd.is_none() {
            self.begin(view);
        }
        let before = departure
            .in_flight
            .saturating_sub(u64::from(sent.segment.len));
        self.in_flight = before;
        self.note_retransmission(sent, view);
        let cwnd = self.cwnd;
        if self
            .sampler
            .check_app_limited(sent, departure, before, cwnd)
        {
            self.restart_from_idle();
        }
        self.sampler.on_sent(sent, departure, view);
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        self.now = ack.now;
        self.in_flight = credit.in_flight.unwrap_or(view.flight_size());
        self.prior_in_flight = ack.prior_in_flight.unwrap_or(ack.prior_flight);
        self.note_connection(ack);
        let sample = self
            .sampler
            .on_ack(ack, self.prior_in_flight, self.cwnd, view);
        self.note_dsack(ack);
        self.end_episode(ack.una);
        if ack.ecn_echo.is_set() {
            self.note_loss();
        }
        if let Some(rs) = sample {
            self.update_model_and_state(&rs, ack.rtt);
            self.set_pacing_rate();
            self.set_send_quantum();
            self.set_cwnd(&rs);
        }
        self.window()
    }

    /// A single loss event does not reduce the window. The loss rate does, on the ACKs that follow.
    fn reduction(&self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn on_loss(&mut self, loss: &LossFacts, _cause: LossCause, _chosen: Window) {
        self.now = loss.now;
        self.note_loss_event(loss);
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.now = loss.now;
        self.enter_rto(loss);
        self.window()
    }

    fn undo(&self) -> UndoRules {
        self.undo_rules
    }

    fn on_spurious(&mut self, _prior: &Prior, _window: Window) -> Window {
        if let Some(undo) = self.undo.take() {
            self.handle_spurious_loss_detection(undo);
        }
        self.window()
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate.is_finite().then_some(self.pacing_rate)
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        (self.bw > 0.0).then_some(self.bw)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.constants.resize(from, to);
    }
}
