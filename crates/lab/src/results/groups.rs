//! Groups of flows: the flows of each group, and its share of the goodput.

use std::ops::Range;

use super::{Results, Run};
use crate::experiment::Experiment;
use crate::stats::{Summary, jain_index};

/// Groups of flows of an experiment, in the order of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(Vec<Group>);

/// A group of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// Name of the group. Defaults to `group 2` for the second group.
    pub name: String,
    /// Stack of the group, or `None` if it uses the stack under comparison.
    pub stack: Option<String>,
    /// Indices of the group's flows in a run.
    pub flows: Range<usize>,
}

impl Groups {
    /// Returns the groups of `experiment`, or a single group if the file has none.
    #[must_use]
    pub fn of(experiment: &Experiment) -> Self {
        let mut end = 0;
        let described = experiment.flows.iter().enumerate();
        let groups = described.map(|(place, group)| {
            let start = end;
            end += usize::try_from(group.flows_in(experiment)).unwrap_or(usize::MAX);
            Group {
                name: match group.name.as_str() {
                    "" => format!("group {}", place + 1),
                    name => name.to_owned(),
                },
                stack: group.stack.clone(),
                flows: start..end,
            }
        });
        let groups: Vec<Group> = groups.collect();
        if !groups.is_empty() {
            return Self(groups);
        }
        Self(vec![Group {
            name: "group 1".to_owned(),
            stack: None,
            flows: 0..1,
        }])
    }

    /// Returns all groups.
    #[must_use]
    pub fn all(&self) -> &[Group] {
        &self.0
    }

    /// Returns the group of a flow.
    #[must_use]
    pub fn of_flow(&self, flow: usize) -> Option<&Group> {
        self.0.iter().find(|group| group.flows.contains(&flow))
    }

    /// Returns the groups called `name`. Several groups may share a name.
    pub fn named<'g>(&'g self, name: &'g str) -> impl Iterator<Item = &'g Group> + 'g {
        self.0.iter().filter(move |group| group.name == name)
    }
}

impl Group {
    /// Returns the goodputs of the group's flows in a run, in Mbit/s.
    #[must_use]
    pub fn goodputs<'r>(&self, run: &'r Run) -> &'r [f64] {
        let all = &run.flow_goodputs;
        let range = self.flows.start.min(all.len())..self.flows.end.min(all.len());
        &all[range]
    }
}

/// Goodput of a group over the seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupShare {
    /// Total goodput of the group's flows, in Mbit/s.
    pub goodput: Summary,
    /// Mean goodput per flow, in Mbit/s.
    pub per_flow: Summary,
    /// The group's share of the goodput of all flows, in percent.
    pub share: Summary,
    /// Jain's index among the flows of the group. `None` for a single flow.
    pub fairness: Option<Summary>,
}

impl Results {
    /// Returns `true` if there is more than one group of flows.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        let groups = self
            .points
            .first()
            .map(|point| Groups::of(&point.experiment));
        groups.is_some_and(|groups| groups.all().len() > 1)
    }

    /// Returns the goodput of `group` in the sound runs of `stack` at `point`, or `None` if there are no such runs.
    #[must_use]
    pub fn share_of(&self, point: usize, stack: usize, group: &Group) -> Option<GroupShare> {
        let runs = self
            .runs_of(point, stack)
            .iter()
            .filter(|run| self.is_sound(run));
        let runs: Vec<&Run> = runs.collect();
        let chance = !self.is_without_chance(point, stack);
        let over = |of: &dyn Fn(&Run) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(|run| of(run)).collect();
            let mut summary = Summary::of(&values)?;
            summary.half_width_95 = summary.half_width_95.filter(|_| chance);
            Some(summary)
        };
        let sum = |run: &Run| group.goodputs(run).iter().sum::<f64>();
        let count = group.flows.len().max(1) as f64;
        let all = |run: &Run| run.flow_goodputs.iter().sum::<f64>();
        Some(GroupShare {
            goodput: over(&|run| Some(sum(run)))?,
            per_flow: over(&|run| Some(sum(run) / count))?,
            share: over(&|run| {
                Some(100.0 * sum(run) / all(run)).filter(|share| share.is_finite())
            })?,
            fairness: over(&|run| {
                let several = group.flows.len() > 1;
                jain_index(group.goodputs(run)).filter(|_| several)
            }),
        })
    }

    /// Returns Jain's index among all flows of the runs of `stack` at `point`, regardless of groups.
    #[must_use]
    pub fn fairness_of_all(&self, point: usize, stack: usize) -> Option<Summary> {
        let runs = self
            .runs_of(point, stack)
            .iter()
            .filter(|run| self.is_sound(run));
        let values: Vec<f64> = runs
            .filter_map(|run| jain_index(&run.flow_goodputs))
            .collect();
        let mut summary = Summary::of(&values)?;
        if self.is_without_chance(point, stack) {
            summary.half_width_95 = None;
        }
        Some(summary)
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;
    use crate::results::Values;
    use crate::run::Plan;

    fn results(flows: &str, goodputs: &[&[f64]]) -> Results {
        let text = format!(
            "stacks = [\"rack/cubic\"]\n[path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n{flows}"
        );
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let mut results = plan.empty_results();
        for (seed, flow_goodputs) in (1..).zip(goodputs) {
            results.runs.push(Run {
                point: 0,
                stack: 0,
                seed,
                values: Values::default(),
                flow_goodputs: flow_goodputs.to_vec(),
                trace_hash: seed,
            });
        }
        results
    }

    const FLOWS: &str = "[[flows]]\nname = \"near\"\ncount = 2\n[[flows]]\nstack = \"rack/reno\"\n";

    #[test]
    fn a_group_has_the_sum_of_its_flows() {
        let results = results(FLOWS, &[&[1.0, 3.0, 4.0], &[3.0, 3.0, 2.0]]);
        let groups = Groups::of(&results.experiment);
        let [near, other] = groups.all() else {
            panic!("{groups:?}")
        };
        assert_eq!((near.name.as_str(), &near.flows), ("near", &(0..2)));
        assert_eq!(
            (other.name.as_str(), other.stack.as_deref()),
            ("group 2", Some("rack/reno"))
        );
        assert_eq!(groups.of_flow(2), Some(other));
        assert_eq!(groups.of_flow(3), None);
        let share = results.share_of(0, 0, near).unwrap();
        // The group has 4 Mbit/s in the first run and 6 in the second, of 8 in total: 50 and 75 %.
        assert!((share.goodput.mean - 5.0).abs() < 1e-12);
        assert!((share.per_flow.mean - 2.5).abs() < 1e-12);
        assert!((share.share.mean - 62.5).abs() < 1e-12);
        // Jain's index of the group is 16/(2·10) = 0.8 in the first run, and 1 in the second.
        assert!((share.fairness.unwrap().mean - 0.9).abs() < 1e-12);
        assert_eq!(results.share_of(0, 0, other).unwrap().fairness, None);
        // Jain's index of all flows is 64/(3·26) in the first run, and 64/(3·22) in the second.
        let all = results.fairness_of_all(0, 0).unwrap().mean;
        assert!((all - (64.0 / 78.0 + 64.0 / 66.0) / 2.0).abs() < 1e-12);
        assert!(results.has_groups());
    }

    #[test]
    fn a_flow_without_a_group_forms_one() {
        let results = results("", &[&[2.0]]);
        assert!(!results.has_groups());
        assert_eq!(Groups::of(&results.experiment).all().len(), 1);
    }
}
