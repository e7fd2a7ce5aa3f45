//! State of an episode according to the simulator, for logs and learning curves, but not for agents.

use dupack_lab::experiment::SweepValue;
use dupack_net::link::LossNature;
use dupack_tcp::time::Duration;

use crate::episode::{Agent, Episode};

/// State of an episode. Counters start at the end of the warm-up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Seed of the episode.
    pub seed: u64,
    /// Number of steps so far.
    pub steps: u64,
    /// Simulated time in seconds.
    pub time: f64,
    /// Values drawn for the episode, by key of the experiment.
    pub drawn: Vec<(String, SweepValue)>,
    /// Hash of all events, if the environment [hashes](crate::Fingerprint) them.
    pub trace_hash: Option<u64>,
    /// State of each agent's flow.
    pub agents: Vec<AgentInfo>,
}

/// State of an agent's flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgentInfo {
    /// Mean rate of data that arrived in order at the receiver, in Mbit/s.
    pub goodput: f64,
    /// Congestion window in segments.
    pub window: f64,
    /// Smoothed round-trip time in seconds; 0 before a sample.
    pub srtt: f64,
    /// Number of data packets sent, including retransmissions.
    pub packets: u64,
    /// Number of these packets that were dropped by a queue or otherwise because of congestion.
    pub queue_drops: u64,
    /// Number of these packets that were lost for another reason.
    pub link_losses: u64,
    /// Number of spurious retransmissions: a copy of the segment had arrived or was in flight.
    pub needless_repeats: u64,
    /// Number of retransmission timeouts since the start of the flow.
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
