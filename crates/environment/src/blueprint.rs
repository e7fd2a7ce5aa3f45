//! Blueprints of environments: validated settings and a validated experiment.

use std::sync::Arc;

use dupack_algorithms::catalog::{Axis, Catalog, Context};
use dupack_lab::experiment::SweepValue;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Built, Scenario, Template};
use dupack_net::random::Stream;
use dupack_tcp::congestion::Governance;
use dupack_tcp::time::Duration;

use crate::cell::Cell;
use crate::control::{Hold, obey};
use crate::error::EnvironmentError;
use crate::range::{Drawing, Drawn};
use crate::settings::Settings;
use crate::space::Space;

/// Description from which environments are built. Any number of environments and threads can share it.
#[derive(Debug)]
pub struct Blueprint {
    template: Template,
    settings: Settings,
    drawings: Vec<(String, Drawing)>,
    agents: Vec<String>,
    duration: Duration,
    warm_up: Duration,
}

/// Simulation at the start of an episode, and the cells of its agents.
pub(crate) struct Beginning {
    pub(crate) built: Built,
    pub(crate) cells: Vec<Arc<Cell>>,
    pub(crate) drawn: Vec<(String, SweepValue)>,
}

impl Blueprint {
    /// Checks `settings` and the experiment `source`, with the algorithms of `catalog`.
    ///
    /// The experiment has one stack, and an agent controls each flow that uses this stack. All other flows use the
    /// stacks that they name. The stack determines the recovery, and the underlying control if an agent multiplies its
    /// window. Seeds, claims and precision of the experiment are ignored.
    ///
    /// # Errors
    /// Returns an error that names the invalid setting and suggests a correction.
    pub fn new(
        source: &Source,
        settings: Settings,
        catalog: &Catalog,
    ) -> Result<Arc<Self>, EnvironmentError> {
        let mut template = Template::new(source.parse()?, source, catalog)?;
        settings.observation.check()?;
        settings.reward.check()?;
        settings.action.check(&template.scenario().experiment)?;
        check_flows(template.scenario())?;
        check_stack(template.scenario(), settings.action.hold())?;
        let drawings = settings.ranges.iter();
        let drawings = drawings.map(|(key, range)| Ok((key.clone(), Drawing::new(key, range)?)));
        let drawings: Vec<(String, Drawing)> = drawings.collect::<Result<_, EnvironmentError>>()?;
        for (key, drawing) in &drawings {
            for value in drawing.extremes() {
                template.admit(key, &value)?;
            }
        }
        let experiment = &template.scenario().experiment;
        let span = |delay: dupack_lab::units::Delay| Duration::from_nanos(delay.as_nanos());
        let mut blueprint = Self {
            duration: span(experiment.duration),
            warm_up: span(experiment.warm_up),
            agents: Vec::new(),
            template,
            settings,
            drawings,
        };
        blueprint.agents = blueprint.name_agents()?;
        blueprint.check_extremes()?;
        Ok(Arc::new(blueprint))
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the names of the agents, in the order of all slices.
    #[must_use]
    pub fn agents(&self) -> &[String] {
        &self.agents
    }

    /// Returns the observation space of each agent.
    #[must_use]
    pub fn observation_space(&self) -> Space {
        self.settings.observation.space()
    }

    /// Returns the action space of each agent, which has one number.
    #[must_use]
    pub fn action_space(&self) -> Space {
        self.settings.action.space()
    }

    /// Returns the approximate memory of an environment, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.template.scenario().bytes()
    }

    /// Returns the number of values in an agent's observation.
    #[must_use]
    pub fn observation_len(&self) -> usize {
        self.settings.observation.len()
    }

    /// Returns warnings about conflicting settings in the experiment.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.template.warnings()
    }

    /// Returns the length of an episode, including the warm-up. Unfinished transfers are truncated at its end.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.duration
    }

    pub(crate) const fn warm_up(&self) -> Duration {
        self.warm_up
    }

    /// Builds the episode of `seed`. Values in `fixed` replace drawn values.
    pub(crate) fn begin(
        &self,
        seed: u64,
        fixed: &[(String, SweepValue)],
    ) -> Result<Beginning, EnvironmentError> {
        let drawn = self.drawings.iter().map(|(key, drawing)| {
            let fixed = fixed.iter().find(|(other, _)| other == key);
            let value = fixed.map_or_else(|| drawing.draw(key, seed), |(_, value)| value.clone());
            (key.clone(), value)
        });
        let drawn: Vec<_> = drawn.collect();
        let beginning = self.build(seed, drawn)?;
        if beginning.cells.len() != self.agents.len() {
            let message = format!(
                "an episode has {} agents, but the experiment has {}",
                beginning.cells.len(),
                self.agents.len()
            );
            let remedy = "do not draw the number of flows that agents control";
            return Err(EnvironmentError::setting("ranges", message, remedy));
        }
        Ok(beginning)
    }

    /// Checks that only keys with a range are fixed.
    pub(crate) fn check_fixed(
        &self,
        fixed: &[(String, SweepValue)],
    ) -> Result<(), EnvironmentError> {
        let is_drawn = |key: &str| self.drawings.iter().any(|(drawn, _)| drawn == key);
        let Some((key, _)) = fixed.iter().find(|(key, _)| !is_drawn(key)) else {
            return Ok(());
        };
        let keys: Vec<&str> = self.drawings.iter().map(|(key, _)| key.as_str()).collect();
        let remedy = match keys.as_slice() {
            [] => "no key has a range; add one in the settings".to_owned(),
            keys => format!(
                "only keys with a range can be fixed for an episode: {}",
                keys.join(", ")
            ),
        };
        let message = format!("`{key}` has no range");
        Err(EnvironmentError::setting(
            "options of reset",
            message,
            remedy,
        ))
    }

    fn build(
        &self,
        seed: u64,
        drawn: Vec<(String, SweepValue)>,
    ) -> Result<Beginning, EnvironmentError> {
        if drawn.is_empty() {
            return self.build_from(self.template.scenario(), seed, drawn);
        }
        let scenario = self.template.with(&drawn)?;
        self.build_from(&scenario, seed, drawn)
    }

    fn build_from(
        &self,
        scenario: &Scenario,
        seed: u64,
        drawn: Vec<(String, SweepValue)>,
    ) -> Result<Beginning, EnvironmentError> {
        let action = &self.settings.action;
        let segment = self.segment();
        let mut cells = Vec::with_capacity(self.agents.len());
        let built = scenario.build_with(seed, &mut |mut stack| {
            let chance = format!("first pace of agent {}", cells.len());
            let mut chance = Stream::derive(seed, &chance);
            let cell = Arc::new(action.begin(&scenario.experiment, segment, &mut chance));
            let least = action.least_window() * segment;
            stack.control = obey(action.hold(), stack.control, &cell, least);
            cells.push(cell);
            stack
        });
        match built {
            Ok(built) => Ok(Beginning {
                built,
                cells,
                drawn,
            }),
            Err(cause) => Err(EnvironmentError::Episode {
                seed,
                cause,
                drawn: Drawn(&drawn).to_string(),
            }),
        }
    }

    /// Returns the payload bytes of a full segment of the agents' flows, which is the unit of windows.
    fn segment(&self) -> f64 {
        let e = &self.template.scenario().experiment;
        let group = e.flows.iter().find(|group| group.stack.is_none());
        let sender = group.map_or(e.sender, |group| group.sender.over(&e.sender));
        let receiver = group.map_or(e.receiver, |group| group.receiver.over(&e.receiver));
        let stack = &self.template.scenario().stack;
        let ends = dupack_lab::run::Endpoints::new(e.dialect, stack, &sender, &receiver);
        f64::from(ends.sender.smss)
    }

    fn name_agents(&self) -> Result<Vec<String>, EnvironmentError> {
        let beginning = self.build(1, Vec::new())?;
        Ok((0..beginning.cells.len())
            .map(|n| format!("agent_{n}"))
            .collect())
    }

    /// Builds one episode with the minimum of every range and one with the maximum, to check that both are possible.
    fn check_extremes(&self) -> Result<(), EnvironmentError> {
        let end = |which: fn(Vec<SweepValue>) -> Option<SweepValue>| {
            let values = self.drawings.iter();
            let values =
                values.filter_map(|(key, drawing)| Some((key.clone(), which(drawing.extremes())?)));
            values.collect::<Vec<_>>()
        };
        let least = end(|values| values.into_iter().next());
        let most = end(|values| values.into_iter().next_back());
        for drawn in [least, most] {
            let scenario = self.template.with(&drawn)?;
            self.settings.action.check(&scenario.experiment)?;
            self.begin(1, &drawn)?;
        }
        Ok(())
    }
}

/// Checks that there are flows for agents and that they are long-lived.
fn check_flows(scenario: &Scenario) -> Result<(), EnvironmentError> {
    let flows = &scenario.experiment.flows;
    if !flows.is_empty()
        && flows
            .iter()
            .all(|group| group.stack.is_some() || group.count == 0)
    {
        return Err(EnvironmentError::setting(
            "flows",
            "every flow names its own stack, so that no flow is left for an agent",
            "remove the stack from the [[flows]] that agents should control",
        ));
    }
    let own = flows
        .iter()
        .position(|group| group.stack.is_none() && group.web.is_some());
    match own {
        None => Ok(()),
        Some(n) => Err(EnvironmentError::setting(
            format!("flows.{n}.web"),
            "agents cannot control short flows, which come and go",
            "set a stack for the short flows",
        )),
    }
}

/// Checks that the stack is compatible with the kind of action.
fn check_stack(scenario: &Scenario, hold: Hold) -> Result<(), EnvironmentError> {
    let refuse =
        |message: String, remedy: &str| Err(EnvironmentError::setting("stacks.0", message, remedy));
    let spec = &scenario.stack;
    if hold == Hold::Factor {
        let stack = spec.build(scenario.experiment.dialect, &Context::new(1448));
        if stack.control.governance() == Governance::Model {
            let message = format!(
                "{} sets its window by a model at every ACK, so that a factor would last for only one ACK",
                spec.name(Axis::Control)
            );
            return refuse(
                message,
                "use another control, such as cubic, or another action",
            );
        }
        return Ok(());
    }
    if spec.name(Axis::Recovery) == "tahoe" {
        let message = "Tahoe recovers by slow start from one segment, which conflicts with an agent that sets window or pace";
        return refuse(
            message.to_owned(),
            "use another recovery, such as rack or sack",
        );
    }
    for axis in [Axis::Differentiation, Axis::Response] {
        if axis.null() != Some(spec.name(axis)) {
            let message = format!(
                "{} responds to single losses, but the agent decides how to respond to losses",
                spec.name(axis)
            );
            return refuse(
                message,
                "remove it, or use an action that multiplies the window of the control",
            );
        }
    }
    Ok(())
}
