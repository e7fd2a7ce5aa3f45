//! Figure 5: SACK flows beside FACK flows, and beside LE flows.

use super::Findings;
use crate::claims::Finding;
use crate::evidence::Part;
use crate::judging::{self, all_above, figure, finding, list};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::results::Run;
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, jain_index, mean, paired_ratio};
use dupack_report::figure::{LineChart, Point, Series};
use dupack_report::page::{Cell, Emphasis};

/// The flows beside SACK, in the experiment's order.
const OTHERS: [&str; 3] = ["FACK", "LE", "LE, opening with every delivery"];
const FACK: usize = 0;
const LE: usize = 1;

/// The mixes of ten flows.
pub(super) struct Mixes<'p>(pub(super) &'p Part);

impl Mixes<'_> {
    /// SACK flows in each mix.
    fn sacks(&self) -> Vec<usize> {
        let points = self.0.results.points.iter();
        points
            .map(|p| p.experiment.flows.first().map_or(0, |g| g.count as usize))
            .collect()
    }

    /// A quantity of the flows' goodputs, SACK's and the others', in every run of a mix.
    fn samples(
        &self,
        mix: usize,
        other: usize,
        of: impl Fn(&[f64], &[f64]) -> Option<f64>,
    ) -> Vec<f64> {
        let sacks = self.sacks()[mix];
        let runs = self.0.results.runs.iter();
        runs.filter(|run| run.point == mix && run.stack == other)
            .filter_map(|run: &Run| {
                let (sack, others) = run.flow_goodputs.split_at_checked(sacks)?;
                of(sack, others)
            })
            .collect()
    }

    fn summaries(
        &self,
        other: usize,
        of: impl Fn(&[f64], &[f64]) -> Option<f64>,
    ) -> Option<Vec<Summary>> {
        let mixes = 0..self.0.results.points.len();
        mixes
            .map(|mix| Summary::of(&self.samples(mix, other, &of)))
            .collect()
    }

    pub(super) fn findings(&self) -> Findings {
        vec![
            ("le-fair", self.fair()),
            ("le-as-fair-as-fack", self.as_fair()),
            ("le-not-aggressive", self.not_aggressive()),
        ]
    }

    fn fair(&self) -> Option<Finding> {
        let shares = self.summaries(LE, share)?;
        let verdict = judging::all(shares.iter().map(|s| judging::within(s, (0.8, 1.25))));
        Some(Finding::new(
            verdict,
            format!("an LE flow over a SACK flow: {}", list(&shares, 2)),
        ))
    }

    fn as_fair(&self) -> Option<Finding> {
        let (fack, le) = (self.summaries(FACK, jain)?, self.summaries(LE, jain)?);
        let holds = fack.iter().zip(&le).all(|(f, l)| l.mean >= f.mean - 0.02);
        finding(
            holds,
            format!(
                "Jain's index with LE {}; with FACK {}",
                list(&le, 3),
                list(&fack, 3)
            ),
        )
    }

    fn not_aggressive(&self) -> Option<Finding> {
        let mixes = 0..self.0.results.points.len();
        let sack = |sack: &[f64], _: &[f64]| mean(sack);
        let ratios: Option<Vec<Summary>> = mixes
            .map(|mix| {
                let base = self.samples(mix, FACK, sack);
                paired_ratio(&base, &self.samples(mix, LE, sack)).ratio
            })
            .collect();
        let ratios = ratios?;
        finding(
            all_above(&ratios, 0.9),
            format!(
                "a SACK flow beside LE over one beside FACK: {}",
                list(&ratios, 2)
            ),
        )
    }

    pub(super) fn exhibits(&self) -> Vec<Exhibit> {
        let mut out = vec![Exhibit::Heading(
            "Figure 5: ten flows, some of them SACK".to_owned(),
        )];
        for (other, name) in OTHERS.iter().enumerate() {
            let panel = ["(a)", "(b)", ", the other reading"][other];
            let file = ["figure5a", "figure5b", "figure5-reading"][other];
            out.extend(figure(
                file,
                "Mean goodput of a flow of each kind; the whiskers are 95 % confidence intervals.",
                self.chart(other, &format!("Figure 5{panel}: SACK and {name}"))
                    .svg(),
            ));
        }
        out.push(Exhibit::Table(self.table()));
        out
    }

    fn chart(&self, other: usize, title: &str) -> LineChart {
        let kinds: [(&str, Kind); 2] = [
            ("SACK", |sack, _| mean(sack)),
            (OTHERS[other], |_, others| mean(others)),
        ];
        let sacks = self.sacks();
        let series = kinds.map(|(name, of)| {
            let summaries = self.summaries(other, of).unwrap_or_default();
            let points = sacks.iter().zip(summaries);
            Series {
                name: name.to_owned(),
                points: points
                    .map(|(n, s)| Point::from((*n as f64, s.mean, s.half_width_95)))
                    .collect(),
            }
        });
        LineChart {
            title: title.to_owned(),
            subtitle: "ten flows · 8 Mbit/s · 50 ms · no random loss".to_owned(),
            x_label: "SACK flows among the ten".to_owned(),
            y_label: "goodput of a flow (Mbit/s)".to_owned(),
            y_from_zero: true,
            series: series.into(),
            ..LineChart::default()
        }
    }

    fn table(&self) -> Table {
        let mut rows = Vec::new();
        for (other, name) in OTHERS.iter().enumerate() {
            let lines: [(&str, usize, Kind); 4] = [
                ("a SACK flow (Mbit/s)", 3, |sack, _| mean(sack)),
                ("a flow of the other kind (Mbit/s)", 3, |_, others| {
                    mean(others)
                }),
                ("the other over SACK", 2, share),
                ("Jain's index over all ten", 3, jain),
            ];
            for (n, (label, decimals, of)) in lines.into_iter().enumerate() {
                let group = if n == 0 {
                    format!("SACK and {name}")
                } else {
                    String::new()
                };
                let cells = self.summaries(other, of).unwrap_or_default();
                let cells = cells
                    .iter()
                    .map(|s| Cell::new(spread(s, decimals), Emphasis::Number));
                let names = [
                    Cell::new(group, Emphasis::Group),
                    Cell::new(label, Emphasis::Plain),
                ];
                rows.push(names.into_iter().chain(cells).collect());
            }
        }
        let mixes = self.sacks().into_iter().map(|n| format!("{n} SACK"));
        Table {
            name: "figure5-fairness".to_owned(),
            caption: "The shares behind figure 5: means over the seeds ± half the 95 % confidence interval.".to_owned(),
            header: [String::new(), String::new()].into_iter().chain(mixes).collect(),
            rows,
        }
    }
}

type Kind = fn(&[f64], &[f64]) -> Option<f64>;

/// The others' mean over SACK's.
fn share(sack: &[f64], others: &[f64]) -> Option<f64> {
    Some(mean(others)? / mean(sack)?)
}

fn jain(sack: &[f64], others: &[f64]) -> Option<f64> {
    jain_index(&[sack, others].concat())
}
