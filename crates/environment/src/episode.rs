//! Episode: a simulation and the flows of its agents.

use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_net::ids::FlowId;
use dupack_net::observer::{Observer, Unobserved};
use dupack_net::simulation::{Pause, Simulation};
use dupack_net::tcp_flow::{Progress, TcpFlow};
use dupack_net::trace_hash::TraceHash;
use dupack_tcp::time::{Duration, Instant};

use crate::blueprint::{Beginning, Blueprint};
use crate::cell::Cell;
use crate::control::Hold;
use crate::error::EnvironmentError;
use crate::interval::Interval;
use crate::measured::{Gauge, Measured};

/// Running episode.
#[derive(Debug)]
pub(crate) struct Episode {
    simulation: Simulation,
    pub(crate) agents: Vec<Agent>,
    end: Instant,
    pub(crate) steps: u64,
    pub(crate) drawn: Vec<(String, SweepValue)>,
    hash: Option<Box<TraceHash>>,
}

/// Flow of an agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) flow: FlowId,
    cell: Arc<Cell>,
    gauge: Gauge,
    /// Current observation.
    pub(crate) numbers: Vec<f32>,
    /// `true` once the transfer is complete; the flow then accepts no more orders.
    pub(crate) is_done: bool,
    action: f64,
}

/// Option to hash the trace of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fingerprint {
    /// No hash.
    #[default]
    Off,
    /// A hash of every event of every packet, as in a run of an experiment.
    On,
}

impl Episode {
    /// Builds the episode of `seed` and simulates its warm-up.
    pub(crate) fn new(
        blueprint: &Blueprint,
        seed: u64,
        fixed: &[(String, SweepValue)],
        fingerprint: Fingerprint,
    ) -> Result<Self, EnvironmentError> {
        let Beginning {
            built,
            cells,
            drawn,
        } = blueprint.begin(seed, fixed)?;
        let neutral = blueprint.settings().observation.nothing_yet();
        let agents = built.compared.iter().zip(cells).map(|(flow, cell)| Agent {
            flow: *flow,
            cell,
            gauge: Gauge::default(),
            numbers: neutral.clone(),
            is_done: false,
            action: 0.0,
        });
        let mut episode = Self {
            agents: agents.collect(),
            simulation: built.simulation,
            end: Instant::ZERO + blueprint.duration(),
            steps: 0,
            drawn,
            hash: (fingerprint == Fingerprint::On).then(Box::default),
        };
        if !blueprint.warm_up().is_zero() {
            episode.run_until(Instant::ZERO + blueprint.warm_up());
            episode.simulation.begin_measurement();
            let now = episode.simulation.now();
            for agent in &mut episode.agents {
                if let Some(flow) = episode.simulation.tcp(agent.flow) {
                    agent.gauge.begin(now, flow, &agent.cell);
                }
            }
        }
        Ok(episode)
    }

    /// Writes the orders of the agents. The actions must be within their bounds.
    pub(crate) fn order(&mut self, blueprint: &Blueprint, actions: &[f32]) {
        for (agent, action) in self.agents.iter_mut().zip(actions) {
            if agent.is_done {
                continue;
            }
            let Some(flow) = self.simulation.tcp(agent.flow) else {
                continue;
            };
            let segment = f64::from(flow.sender().config().smss);
            blueprint
                .settings()
                .action
                .order(*action, &agent.cell, segment);
            agent.action = f64::from(*action);
        }
    }

    /// Simulates one step.
    pub(crate) fn advance(&mut self, interval: Interval) {
        self.steps += 1;
        match interval {
            Interval::Time(time) => self.run_until((self.now() + time).min(self.end)),
            Interval::Ack => self.run_until_ack(),
            Interval::RoundTrips(number) => match self.round_trip() {
                Some(srtt) => {
                    let step = Duration::from_secs_f64(srtt.as_secs_f64() * number);
                    let step = step.max(LEAST_STEP);
                    self.run_until((self.now() + step).min(self.end));
                }
                None => self.run_until_ack(),
            },
        }
    }

    /// Calls `told` for each agent, with its index and the measurements of its sender in the step. Agents that were
    /// already done are skipped.
    pub(crate) fn read(&mut self, hold: Hold, mut told: impl FnMut(usize, &mut Agent, &Measured)) {
        let now = self.simulation.now();
        for (n, agent) in self.agents.iter_mut().enumerate() {
            if agent.is_done {
                continue;
            }
            let Some(flow) = self.simulation.tcp(agent.flow) else {
                continue;
            };
            let pace = (hold == Hold::Rate).then(|| agent.cell.rate());
            let step = agent.gauge.read(now, flow, &agent.cell, pace, agent.action);
            agent.is_done = matches!(flow.progress(), Progress::Finished(_));
            told(n, agent, &step);
        }
    }

    /// Returns `true` if the time of the episode has run out.
    pub(crate) fn is_at_end(&self) -> bool {
        self.simulation.now() >= self.end
    }

    /// Returns `true` if the transfers of all agents are complete.
    pub(crate) fn is_done(&self) -> bool {
        self.agents.iter().all(|agent| agent.is_done)
    }

    pub(crate) const fn now(&self) -> Instant {
        self.simulation.now()
    }

    pub(crate) fn flow(&self, agent: &Agent) -> Option<&TcpFlow> {
        self.simulation.tcp(agent.flow)
    }

    pub(crate) const fn measuring_since(&self) -> Instant {
        self.simulation.measuring_since()
    }

    /// Returns the hash of all events so far, if hashing is on.
    pub(crate) fn trace_hash(&self) -> Option<u64> {
        self.hash.as_ref().map(|hash| hash.digest())
    }

    /// Returns the longest smoothed round-trip time of the agents' active flows.
    fn round_trip(&self) -> Option<Duration> {
        let at_work = self.agents.iter().filter(|agent| !agent.is_done);
        let flows = at_work.filter_map(|agent| self.simulation.tcp(agent.flow));
        flows.filter_map(|flow| flow.sender().rtt().srtt()).max()
    }

    fn run_until(&mut self, until: Instant) {
        match &mut self.hash {
            Some(hash) => run(&mut self.simulation, until, &mut **hash),
            None => run(&mut self.simulation, until, &mut Unobserved),
        }
    }

    /// Simulates until an agent's control gets an ACK or a timeout, or until the end of the episode.
    fn run_until_ack(&mut self) {
        let happenings = |agents: &[Agent]| {
            agents
                .iter()
                .map(|agent| agent.cell.happenings())
                .sum::<u64>()
        };
        let before = happenings(&self.agents);
        while happenings(&self.agents) == before {
            let pause = match &mut self.hash {
                Some(hash) => self.simulation.run_some(self.end, 1, &mut **hash),
                None => self.simulation.run_some(self.end, 1, &mut Unobserved),
            };
            if pause == Pause::Reached {
                return;
            }
        }
    }
}

/// Minimum length of a step, because a fraction of a round-trip time might be 0 on a path without delay.
const LEAST_STEP: Duration = Duration::from_micros(1);

fn run<O: Observer>(simulation: &mut Simulation, until: Instant, observer: &mut O) {
    while simulation.run_some(until, u64::MAX, observer) == Pause::Steps {}
}
