//! How an episode stands, by the simulator's knowledge: for logs and curves, not for agents.

use dupack_lab::experiment::SweepValue;
use dupack_net::link::LossNature;
use dupack_tcp::time::Duration;

use crate::episode::{Agent, Episode};

/// How an episode stands. Counted since the end of the warm-up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The seed of the episode.
    pub seed: u64,
    /// Steps so far.
    pub steps: u64,
    /// Simulated time in seconds.
    pub time: f64,
    /// What was drawn for the episode, by key of the experiment.
    pub drawn: Vec<(String, SweepValue)>,
    /// The hash of everything that happened, if the environment [hashes](crate::Fingerprint).
    pub trace_hash: Option<u64>,
    /// Each agent's flow.
    pub agents: Vec<AgentInfo>,
}

/// How an agent's flow stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgentInfo {
    /// Mbit/s that its receiver got in order, on average.
    pub goodput: f64,
    /// Congestion window in segments.
    pub window: f64,
    /// Smoothed round-trip time in seconds; 0 before a sample.
    pub srtt: f64,
    /// Data packets sent, repeated ones included.
    pub packets: u64,
    /// Of these, dropped by a queue, or otherwise for too much traffic.
    pub queue_drops: u64,
    /// Of these, lost for another reason.
    pub link_losses: u64,
    /// Segments sent again of which a copy had arrived or was under way.
    pub needless_repeats: u64,
    /// Expiries of its retransmission timer, since its flow began.
    pub timeouts: u64,
}

impl Info {
    pub(crate) fn of(episode: &Episode, seed: u64) -> Self {
        Self {
            seed,
            steps: episode.steps,
            time: episode.now().as_secs_f64(),
            drawn: episode.drawn.clone(),
            trace_hash: episode.trace_hash(),
            agents: episode
                .agents
                .iter()
                .map(|agent| AgentInfo::of(episode, agent))
                .collect(),
        }
    }
}

impl AgentInfo {
    fn of(episode: &Episode, agent: &Agent) -> Self {
        let Some(flow) = episode.flow(agent) else {
            return Self::default();
        };
        let measured = flow.measured();
        let sender = flow.sender();
        let since = episode.measuring_since().max(flow.start());
        let seconds = episode.now().since(since).as_secs_f64();
        let bits = measured.delivered_bytes as f64 * 8.0;
        Self {
            goodput: crate::measured::per(bits / 1e6, seconds),
            window: sender.window().cwnd / f64::from(sender.config().smss),
            srtt: sender.rtt().srtt().map_or(0.0, Duration::as_secs_f64),
            packets: measured.truth.data_packets,
            queue_drops: measured.truth.data_drops.of_nature(LossNature::Congestion),
            link_losses: measured.truth.data_drops.of_nature(LossNature::Wireless),
            needless_repeats: measured.truth.spurious_retransmissions,
            timeouts: sender.stats().timeouts,
        }
    }
}
