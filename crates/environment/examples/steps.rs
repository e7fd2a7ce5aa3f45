//! Measures the steps per second and the memory of environments.
//!
//! `cargo run --release -p dupack-environment --example steps -- COUNT THREADS AGENT [EPISODES]` performs steps of 10
//! ms in COUNT environments with a rate of 10 Mbit/s and a round-trip time of 40 ms, for complete episodes of 10 s
//! including resets, and prints
//!
//! ```text
//! steps=N seconds=S packets=N bytes_each=N rss_kb=N
//! ```
//!
//! `bytes_each` is the memory of an environment: the growth of the resident set during the first episode, divided by
//! COUNT (on Linux; 0 on other systems). These are the agents:
//!
//! | AGENT | behaviour |
//! | --- | --- |
//! | `window` | a window of 60 segments: the link is fully used without losses |
//! | `pace` | a pacing rate that fully uses the link |
//! | `orca` | Orca's preset: factors of √2 and √½ on CUBIC's window, alternating |
//! | `aurora` | Aurora's preset: a pacing rate that rises and falls by a factor of 1.0125, alternating |

use dupack_algorithms::catalog::Catalog;
use dupack_environment::{
    Autoreset, Blueprint, Seeds, Settings, StepOutput, Threads, VectorEnvironment,
};
use dupack_lab::experiment::load::Source;

const PATH: &str = r#"
    stacks = ["rack/cubic"]
    duration = "10s"
    [path]
    rate = "10Mbit/s"
    delay = "20ms"
    buffer = "50pkt"
"#;

/// Number of steps of an episode, including the step that starts the next episode.
const STEPS: usize = 1001;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Settings and policy of an agent.
struct Policy {
    settings: Settings,
    /// Returns the action for a step of an environment. The arguments are the numbers of the step and of the
    /// environment.
    action: fn(usize, usize) -> f32,
}

fn policy(name: &str) -> Result<Policy> {
    let own = |action: &str| {
        Settings::from_toml(&format!(
            r#"
            observation = {{ features = ["throughput", "rtt", "loss_ratio"] }}
            action = {{ {action} }}
            reward = "orca"
            interval = "10ms"
            "#
        ))
    };
    let preset = |name: &str| {
        Settings::from_toml(&format!(
            "observation = \"{name}\"\naction = \"{name}\"\nreward = \"{name}\"\ninterval = \"10ms\"\n"
        ))
    };
    Ok(match name {
        "window" => Policy {
            settings: own("kind = \"window\", low = 1, high = 60")?,
            action: |_, _| 1.0,
        },
        "pace" => Policy {
            settings: own("kind = \"rate\", low = \"9.6Mbit/s\", high = \"10Mbit/s\"")?,
            action: |_, _| -1.0,
        },
        "orca" => Policy {
            settings: preset("orca")?,
            action: to_and_fro,
        },
        "aurora" => Policy {
            settings: preset("aurora")?,
            action: to_and_fro,
        },
        _ => {
            return Err(format!(
                "unknown agent `{name}`: expected one of window, pace, orca, aurora"
            )
            .into());
        }
    })
}

/// Alternates between up and down; half of the environments start with down.
fn to_and_fro(step: usize, environment: usize) -> f32 {
    match (step + environment).is_multiple_of(2) {
        true => 0.5,
        false => -0.5,
    }
}

// This example measures wall-clock time.
#[allow(clippy::disallowed_methods)]
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [count, threads, agent, rest @ ..] = words.as_slice() else {
        return Err("usage: steps COUNT THREADS AGENT [EPISODES]".into());
    };
    let (count, threads): (usize, usize) = (count.parse()?, threads.parse()?);
    let episodes: usize = rest.first().map_or(Ok(1), |word| word.parse())?;
    let policy = policy(agent)?;
    let source = Source::new("path", PATH);
    let blueprint = Blueprint::new(&source, policy.settings, &Catalog::builtin())?;
    let before = resident("VmRSS:");
    let mut play = Play::new(
        VectorEnvironment::new(
            blueprint,
            count,
            Threads::Count(threads),
            Autoreset::NextStep,
        )?,
        policy.action,
    )?;
    // During the first episode, buffers grow to their final size.
    play.steps(STEPS)?;
    let grown = resident("VmRSS:").saturating_sub(before);
    let packets = play.packets();
    let started = std::time::Instant::now();
    for _ in 0..episodes {
        play.steps(STEPS)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "steps={} seconds={seconds:.4} packets={} bytes_each={} rss_kb={}",
        episodes * STEPS * count,
        packets * episodes as u64,
        grown * 1024 / count as u64,
        resident("VmHWM:"),
    );
    Ok(())
}

/// Environments and the slices for their steps.
struct Play {
    environments: VectorEnvironment,
    action: fn(usize, usize) -> f32,
    actions: Vec<f32>,
    observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    step: usize,
    /// Number of packets in the first episode of all environments.
    packets: u64,
}

impl Play {
    fn new(mut environments: VectorEnvironment, action: fn(usize, usize) -> f32) -> Result<Self> {
        let count = environments.environments().len();
        let mut observations = vec![0.0; count * environments.blueprint().observation_len()];
        environments.reset(Seeds::From(1), &[], &mut observations)?;
        Ok(Self {
            environments,
            action,
            actions: vec![0.0; count],
            observations,
            rewards: vec![0.0; count],
            terminated: vec![false; count],
            truncated: vec![false; count],
            step: 0,
            packets: 0,
        })
    }

    fn steps(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            for (environment, action) in self.actions.iter_mut().enumerate() {
                *action = (self.action)(self.step, environment);
            }
            let mut outcome = StepOutput::new(
                &mut self.observations,
                &mut self.rewards,
                &mut self.terminated,
                &mut self.truncated,
            );
            self.environments.step(&self.actions, &mut outcome)?;
            self.step += 1;
            if self.truncated[0] && self.packets == 0 {
                self.packets = self.sent();
            }
        }
        Ok(())
    }

    /// Returns the number of data packets that all environments have sent in an episode.
    const fn packets(&self) -> u64 {
        self.packets
    }

    fn sent(&self) -> u64 {
        let all = self.environments.environments().iter();
        let infos = all.filter_map(|environment| environment.info());
        infos.map(|info| info.agents[0].packets).sum()
    }
}

/// Returns a memory figure of this process from Linux's `/proc`, in kB.
fn resident(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(line));
    let number = line.and_then(|text| text.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
