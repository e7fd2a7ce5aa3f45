//! An experiment whose values are set run by run: whoever draws another path for every run, as an
//! environment of reinforcement learning does, needs no plan of its own for each.

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

/// An experiment of one stack and one point, checked, in which values can be replaced.
#[derive(Clone, Debug)]
pub struct Template {
    base: Table,
    source: Source,
    catalog: Catalog,
    /// As the experiment stands.
    scenario: Scenario,
    warnings: Vec<String>,
}

impl Template {
    /// Checks `experiment`, whose text is `source` and whose stack is of `catalog`. The files that it
    /// names are read from disk. Its seeds are not used, and its claims are not judged.
    ///
    /// # Errors
    /// If anything in it is impossible, or it has several stacks or points: the error points at the
    /// place in the text.
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
            let message = "one path is wanted here, and the experiment has several".to_owned();
            let help = "leave the sweep out: what varies is drawn for every run";
            return check::fail(source, key, message, help);
        }
        if let [_, _, ..] = experiment.stacks.as_slice() {
            let message =
                "one stack is wanted here, and the experiment compares several".to_owned();
            return check::fail(source, "stacks.1", message, "leave all but one out");
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

    /// The experiment as it stands.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Pairs in it that defeat each other.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Makes sure that `value` may stand at `key` (the dotted key of a sweep) beside all other values as they
    /// are; a recorded trace that it names is read.
    ///
    /// # Errors
    /// If it may not.
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

    /// The scenario with `values` at their keys, each of which was [admitted](Self::admit).
    ///
    /// # Errors
    /// If they are impossible together.
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

    /// What is set is what a file says that has it.
    #[test]
    fn values_that_are_set_are_those_of_a_point() {
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
    fn what_cannot_stand_there_is_refused() {
        let mut template = template(TEXT).unwrap();
        for (key, value, part) in [
            ("path.rate", "fast", "fast"),
            ("path.lsos", "1%", "unknown field `lsos`"),
            ("flows.1.stack", "rack/cubik", "cubik"),
            ("stacks.0", "sack/reno", "cannot be swept"),
            ("seeds", "3", "cannot be swept"),
            ("path.trace", "no.such.file", "cannot read the trace"),
            ("warm_up", "7s", "the warm-up of 7s leaves nothing"),
        ] {
            let error = template.admit(key, &text(value)).unwrap_err().to_string();
            assert!(error.contains(part), "{key}: {error}");
        }
    }

    #[test]
    fn several_stacks_or_points_are_refused() {
        let sweep = format!("{TEXT}\n[sweep]\n\"path.loss\" = [\"0%\", \"1%\"]\n");
        let stacks = TEXT.replace("[\"sack/reno\"]", "[\"sack/reno\", \"le/reno\"]");
        for (text, part) in [(sweep, "has several"), (stacks, "compares several")] {
            let error = template(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
