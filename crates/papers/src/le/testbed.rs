//! Figure 9, the testbed of §5, here in the simulator; and what Westwood measures in it.

use dupack_tcp::window::WindowCause;

use super::controls::Panel;
use super::{Findings, SACK as SIMULATED_SACK, point_at, points_from, ratios};
use crate::claims::{Finding, Verdict};
use crate::evidence::{At, Part};
use crate::judging::{self, all_above, figure, finding, interval, list};
use crate::reproduction::{Exhibit, Table};
use dupack_lab::results::Measure;
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, mean};
use dupack_lab::trace::Trace;
use dupack_report::page::{Cell, Emphasis};

/// The stacks under Westwood, in the experiment's order.
const UNDER_WESTWOOD: [&str; 4] = ["SACK", "FACK", "LE", "LE, fixed window of 10"];
const SACK: usize = 0;
const FACK: usize = 1;
const LE: usize = 2;
const LE_FIXED: usize = 3;

/// The stacks under TCP-RR.
const UNDER_RR: [&str; 2] = ["FACK", "LE"];
const FACK_RR: usize = 0;
const LE_RR: usize = 1;

/// The loss rate at which the paper gives numbers, in percent.
const HIGH_LOSS: f64 = 10.0;

/// The testbed in the simulator.
pub(super) struct Testbed<'p> {
    pub(super) westwood: &'p Part,
    pub(super) rr: &'p Part,
    /// Recorded runs of LE under Westwood.
    pub(super) estimate: &'p Part,
}

impl Testbed<'_> {
    pub(super) fn findings(&self, simulated: &Panel<'_>) -> Findings {
        let westwood = Half(self.westwood, &UNDER_WESTWOOD);
        let rr = Half(self.rr, &UNDER_RR);
        vec![
            ("testbed-le-ahead", westwood.ahead()),
            ("testbed-le-4mbit", westwood.rates(&[LE], (3.8, 5.0))),
            (
                "testbed-others-3.5mbit",
                westwood.rates(&[SACK, FACK], (3.0, 4.0)),
            ),
            (
                "testbed-80-percent",
                westwood.share((LE, LE_FIXED), (0.7, 0.9)),
            ),
            ("testbed-fixed-slow-decrease", westwood.slow_decrease()),
            ("testbed-smaller-gain", westwood.smaller_gain(simulated)),
            ("testbed-estimate", self.estimates_right()),
            ("testbed-rr-6mbit", rr.rates(&[LE_RR], (5.0, 7.0))),
            ("testbed-rr-gain", rr.share((LE_RR, FACK_RR), (1.3, 1.7))),
        ]
    }

    /// What the link carries of payload, in Mbit/s.
    fn capacity(&self) -> Option<f64> {
        let e = &self.estimate.results.experiment;
        let rate = e.path.as_ref()?.rate?.as_megabits_per_second();
        let segment = e.sender.segment?.as_bytes() as f64;
        let header = e.sender.header?.as_bytes() as f64;
        Some(rate * segment / (segment + header))
    }

    /// Westwood's estimate at its reductions by loss rate: the mean of every run's mean, Mbit/s.
    fn estimates(&self) -> Option<Vec<Summary>> {
        let points = 0..self.estimate.results.points.len();
        let at = |point| {
            let traces = self.estimate.traces.iter();
            let own = traces.filter(|traced| traced.job.point == point);
            let means: Vec<f64> = own.filter_map(|traced| estimate(&traced.trace)).collect();
            Summary::of(&means)
        };
        points.map(at).collect()
    }

    fn estimates_right(&self) -> Option<Finding> {
        let (capacity, estimates) = (self.capacity()?, self.estimates()?);
        let right = (estimates.first()?.mean - capacity).abs() <= 1.0;
        let low = points_from(self.estimate, 2.0);
        let low = low.into_iter().all(|p| estimates[p].mean <= capacity - 1.0);
        Some(Finding::new(
            Verdict::of(right && low),
            format!(
                "at 0.1, 1, 2, 5 and 10 %: {} Mbit/s; the link carries {capacity:.2}",
                list(&estimates, 2)
            ),
        ))
    }

    pub(super) fn exhibits(&self) -> Vec<Exhibit> {
        let note = "Simulated, with Linux's rules; the same with real packets is another command. The rate of the \
                    testbed's link is not stated.";
        let mut out = vec![
            Exhibit::Heading("Figure 9: the testbed in the simulator".to_owned()),
            Exhibit::Note(note.to_owned()),
        ];
        let westwood = Half(self.westwood, &UNDER_WESTWOOD);
        let rr = Half(self.rr, &UNDER_RR);
        out.extend(westwood.figure(
            "figure9a",
            "Figure 9, left: under Westwood",
            "6 Mbit/s · 20 ms · Linux's rules",
            &[LE_FIXED, LE, SACK, FACK],
        ));
        out.extend(rr.figure(
            "figure9b",
            "Figure 9, right: under TCP-RR",
            "10 Mbit/s · 20 ms · Linux's rules",
            &[LE_RR, FACK_RR],
        ));
        let mut rows = westwood.rows("Westwood", &["3.5", "3.5", "> 4", ""]);
        rows.extend(rr.rows("TCP-RR", &["", "6"]));
        out.push(Exhibit::Table(Table {
            name: "figure9-10-percent".to_owned(),
            caption: "Goodput at 10 % loss in Mbit/s.".to_owned(),
            header: ["", "", "the paper", "here"].map(str::to_owned).to_vec(),
            rows,
        }));
        out
    }
}

/// One half of figure 9, with the names of its stacks.
struct Half<'p>(&'p Part, &'static [&'static str]);

impl Half<'_> {
    fn at_high_loss(&self, stack: usize) -> Option<Summary> {
        let point = point_at(self.0, HIGH_LOSS)?;
        self.0.summary(At { point, stack }, Measure::Goodput)
    }

    fn ahead(&self) -> Option<Finding> {
        let points = points_from(self.0, 5.0);
        let mut holds = true;
        let mut parts = Vec::new();
        for other in [SACK, FACK] {
            let gains = ratios(self.0, &points, LE, other, Measure::Goodput)?;
            holds &= all_above(&gains, 1.0);
            parts.push(format!("LE / {}: {}", self.1[other], list(&gains, 2)));
        }
        finding(holds, parts.join("; "))
    }

    /// Whether the goodputs at 10 % loss lie within bounds.
    fn rates(&self, stacks: &[usize], bounds: (f64, f64)) -> Option<Finding> {
        let mut verdicts = Vec::new();
        let mut parts = Vec::new();
        for &stack in stacks {
            let goodput = self.at_high_loss(stack)?;
            verdicts.push(judging::within(&goodput, bounds));
            parts.push(format!("{}: {} Mbit/s", self.1[stack], spread(&goodput, 2)));
        }
        Some(Finding::new(judging::all(verdicts), parts.join("; ")))
    }

    /// Whether a ratio at 10 % loss lies within bounds.
    fn share(&self, (one, base): (usize, usize), bounds: (f64, f64)) -> Option<Finding> {
        let point = point_at(self.0, HIGH_LOSS)?;
        let ratio = self
            .0
            .ratio(At { point, stack: one }, base, Measure::Goodput)?;
        Some(Finding::new(
            judging::within(&ratio, bounds),
            format!("×{} at 10 %", spread(&ratio, 2)),
        ))
    }

    fn slow_decrease(&self) -> Option<Finding> {
        let without = At {
            point: point_at(self.0, 0.0)?,
            stack: LE_FIXED,
        };
        let without = self.0.summary(without, Measure::Goodput)?;
        let with = self.at_high_loss(LE_FIXED)?;
        finding(
            with.mean >= 0.8 * without.mean,
            format!(
                "{} Mbit/s without loss, {} at 10 %: ×{:.2}",
                spread(&without, 2),
                spread(&with, 2),
                with.mean / without.mean
            ),
        )
    }

    fn smaller_gain(&self, simulated: &Panel<'_>) -> Option<Finding> {
        let point = point_at(self.0, HIGH_LOSS)?;
        let here = self
            .0
            .ratio(At { point, stack: LE }, SACK, Measure::Goodput)?;
        let there = *simulated.gains(SIMULATED_SACK, HIGH_LOSS)?.first()?;
        finding(
            interval(&here).1 < interval(&there).0,
            format!(
                "LE / SACK at 10 %: {} in the testbed, {} in figure 6(c)",
                spread(&here, 2),
                spread(&there, 2)
            ),
        )
    }

    /// Goodput over the loss rate.
    fn figure(&self, name: &str, title: &str, path: &str, order: &[usize]) -> Option<Exhibit> {
        let named: Vec<(usize, &str)> = order.iter().map(|&s| (s, self.1[s])).collect();
        let chart = super::exhibits::goodputs(self.0, title, path, &named);
        figure(
            name,
            "Goodput over the loss rate: means and 95 % confidence intervals of ten runs.",
            chart.svg(),
        )
    }

    /// Goodput at 10 % loss beside the paper's.
    fn rows(&self, control: &str, paper: &[&str]) -> Vec<Vec<Cell>> {
        let stacks = self.1.iter().zip(paper).enumerate();
        let rows = stacks.map(|(stack, (name, paper))| {
            let ours = self.at_high_loss(stack);
            let ours = ours.map_or("–".to_owned(), |s| spread(&s, 2));
            let group = if stack == 0 { control } else { "" };
            vec![
                Cell::new(group, Emphasis::Group),
                Cell::new(*name, Emphasis::Plain),
                Cell::new(*paper, Emphasis::Number),
                Cell::new(ours, Emphasis::Best),
            ]
        });
        rows.collect()
    }
}

/// Westwood's mean estimate at the reductions of a run, in Mbit/s: in congestion avoidance
/// ssthresh becomes the estimate times the least round trip (Westwood §IV.A, a = 1).
fn estimate(trace: &Trace) -> Option<f64> {
    let rtt = trace.states().filter_map(|(_, state)| state.rtt).min()?;
    let reductions = trace.window_changes().filter(|change| {
        change.cause == WindowCause::Congestion && change.before.cwnd > change.before.ssthresh
    });
    let estimates: Vec<f64> = reductions
        .map(|change| change.after.ssthresh * 8.0 / rtt.as_secs_f64() / 1e6)
        .collect();
    mean(&estimates)
}
