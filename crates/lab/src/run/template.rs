//! Experiments whose values are set run by run. An environment of reinforcement learning draws a new path for every
//! run, and with a template it does not need a plan for each run.

use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;
use dupack_net::link::WaitRecording;
use toml::Table;

use super::build::Scenario;
use super::check;
use super::plan::{Plan, traces};
use crate::experiment::load::{Disk, ExperimentError, ReadFile, Source};
use crate::experiment::points::{bare, set_in, sweepable};
use crate::experiment::{Experiment, SweepValue};

/// A checked experiment with one stack and one point, in which values can be replaced.
#[derive(Clone, Debug)]
pub struct Template {
    base: Table,
    source: Source,
    catalog: Catalog,
    /// Scenario without replaced values.
    scenario: Scenario,
    warnings: Vec<String>,
}

impl Template {
    /// Checks `experiment` and creates a template. `source` is the text of the experiment, and `catalog` contains its
    /// stack. The files that the experiment names are read from disk. Seeds and claims of the experiment are ignored.
    ///
    /// # Errors
    /// If the experiment is invalid, or has several stacks or points. The error points at a position in the text.
    pub fn new(
        experiment: Experiment,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        let varied = [
            ("sweep", !experiment.sweep.is_empty()),
            ("points", !experiment.points.is_empty()),
        ];
        if let Some((key, _)) = varied.into_iter().find(|(_, varied)| *varied) {
            let message = "expected a single path, but the experiment has a sweep".to_owned();
            let help = "remove the sweep: varying values are drawn for every run";
            return check::fail(source, key, message, help);
        }
        if let [_, _, ..] = experiment.stacks.as_slice() {
            let message = "expected a single stack, but the experiment compares several".to_owned();
            return check::fail(source, "stacks.1", message, "remove all stacks but one");
        }
        let base = bare(&experiment);
        let plan = Plan::new(experiment, source, catalog)?;
        let mut scenario = plan.scenario(plan.first_job(0));
        scenario.waits = WaitRecording::Off;
        Ok(Self {
            base,
            source: source.clone(),
            catalog: catalog.clone(),
            warnings: plan.warnings().to_vec(),
            scenario,
        })
    }

    /// Returns the scenario without replaced values.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the warnings about options that defeat each other.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Checks that `key` (a dotted key as in a sweep) may be set to `value` while all other values are unchanged. If
    /// `value` names a recorded trace, the trace is read.
    ///
    /// # Errors
    /// If the value is invalid.
    pub fn admit(&mut self, key: &str, value: &SweepValue) -> Result<(), ExperimentError> {
        sweepable(key, key, &self.source)?;
        let values = [(key.to_owned(), value.clone())];
        let point = set_in(&self.base, &values, &self.source)?;
        let read = traces(
            std::slice::from_ref(&point),
            &self.source,
            &Disk as &dyn ReadFile,
        )?;
        Arc::make_mut(&mut self.scenario.traces).extend(read);
        let scenario = self.with(&values)?;
        match scenario.build(1) {
            Ok(_) => Ok(()),
            Err(fault) => check::fail(&self.source, &fault.key, fault.message, ""),
        }
    }

    /// Returns the scenario with `values` at their keys. Each value must have been [admitted](Self::admit).
    ///
    /// # Errors
    /// If the values are invalid in combination.
    pub fn with(&self, values: &[(String, SweepValue)]) -> Result<Scenario, ExperimentError> {
        if values.is_empty() {
            return Ok(self.scenario.clone());
        }
        let point = set_in(&self.base, values, &self.source)?;
        check::point(&point, &self.source)?;
        let group_stacks = if values.iter().any(|(key, _)| key.ends_with("stack")) {
            let groups = check::group_stacks(&point.experiment, &self.source, &self.catalog)?;
            check::for_groups(&point.experiment, &groups, &self.scenario.stack)
        } else {
            self.scenario.group_stacks.clone()
        };
        Ok(Scenario {
            experiment: point.experiment,
            stack: self.scenario.stack.clone(),
            group_stacks,
            traces: self.scenario.traces.clone(),
            log: self.scenario.log,
            waits: self.scenario.waits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Interrupt, Job};
    use crate::units::Rate;

    const TEXT: &str = r#"
        stacks = ["sack/reno"]
        seeds = 1
        duration = "5s"
        [path]
        rate = "10Mbit/s"
        delay = "20ms"
        buffer = "50pkt"
        loss = "1%"
        [[flows]]
        count = 1
        [[flows]]
        stack = "rack/cubic"
    "#;

    fn source(text: &str) -> Source {
        Source::new("test.toml", text)
    }

    fn template(text: &str) -> Result<Template, ExperimentError> {
        let source = source(text);
        Template::new(source.parse()?, &source, &Catalog::builtin())
    }

    fn text(value: &str) -> SweepValue {
        SweepValue::Text(value.to_owned())
    }

    /// Setting a value gives the same scenario as a file with that value.
    #[test]
    fn setting_values_equals_a_point_of_a_sweep() {
        let mut template = template(TEXT).unwrap();
        let values = [
            ("path.rate".to_owned(), text("5Mbit/s")),
            ("flows.1.stack".to_owned(), text("sack/westwood")),
        ];
        for (key, value) in &values {
            template.admit(key, value).unwrap();
        }
        let scenario = template.with(&values).unwrap();
        let path = scenario.experiment.path.as_ref().unwrap();
        assert_eq!(path.rate, Some(Rate::from_bits_per_second(5_000_000)));
        let stacks: Vec<String> = scenario
            .group_stacks
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(stacks, ["sack/reno", "sack/westwood"]);

        let written = TEXT
            .replace("10Mbit/s", "5Mbit/s")
            .replace("rack/cubic", "sack/westwood");
        let source = source(&written);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let job = Job {
            point: 0,
            stack: 0,
            seed: 1,
        };
        assert_eq!(scenario.experiment, plan.scenario(job).experiment);
        assert_eq!(scenario.group_stacks, plan.scenario(job).group_stacks);
        assert!(plan.run(job, &Interrupt::new()).is_some());
    }

    #[test]
    fn invalid_values_are_refused() {
        let mut template = template(TEXT).unwrap();
        for (key, value, part) in [
            ("path.rate", "fast", "fast"),
            ("path.lsos", "1%", "unknown field `lsos`"),
            ("flows.1.stack", "rack/cubik", "cubik"),
            ("stacks.0", "sack/reno", "cannot be swept"),
            ("seeds", "3", "cannot be swept"),
            ("path.trace", "no.such.file", "cannot read the trace"),
            ("warm_up", "7s", "a warm-up of 7s leaves none"),
        ] {
            let error = template.admit(key, &text(value)).unwrap_err().to_string();
            assert!(error.contains(part), "{key}: {error}");
        }
    }

    #[test]
    fn several_stacks_or_points_are_refused() {
        let sweep = format!("{TEXT}\n[sweep]\n\"path.loss\" = [\"0%\", \"1%\"]\n");
        let stacks = TEXT.replace("[\"sack/reno\"]", "[\"sack/reno\", \"le/reno\"]");
        for (text, part) in [(sweep, "has a sweep"), (stacks, "compares several")] {
            let error = template(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
