//! Figure 4: n random losses out of a window of 32, and the claims about it.

use super::fit::Curve;
use super::repair::{Repair, Timeout};
use super::{FACK, Findings, LE, NEWRENO, RECOVERIES, RENO, SACK};
use crate::claims::{Finding, Verdict};
use crate::evidence::Part;
use crate::judging::{all_below, finding};
use dupack_lab::stats::spread;
use dupack_lab::stats::{Summary, mean, paired_ratio};

/// Losses above which fewer than three duplicate ACKs come, whoever sends.
const WITH_DUPLICATES: usize = 29;
/// Where the paper has SACK's and NewReno's timers expire.
const TIMED_OUT: std::ops::RangeInclusive<usize> = 19..=WITH_DUPLICATES;

/// The repairs of figure 4.
pub(super) struct WindowLosses {
    /// By sender and number of losses less one, each with its seed.
    repairs: Vec<Vec<Vec<(u64, Repair)>>>,
}

impl WindowLosses {
    pub(super) fn of(part: &Part) -> Self {
        let (points, stacks) = (part.results.points.len(), part.results.stacks.len());
        let mut repairs = vec![vec![Vec::new(); points]; stacks];
        for traced in &part.traces {
            let job = traced.job;
            if let Some(repair) = Repair::of(&traced.trace) {
                repairs[job.stack][job.point].push((job.seed, repair));
            }
        }
        Self { repairs }
    }

    /// The largest number of losses.
    pub(super) fn most(&self) -> usize {
        self.repairs.first().map_or(0, Vec::len)
    }

    fn runs(&self, sender: usize, losses: usize) -> &[(u64, Repair)] {
        let runs = self.repairs.get(sender).and_then(|s| s.get(losses - 1));
        runs.map_or(&[], Vec::as_slice)
    }

    /// A quantity of the runs of a sender with so many losses.
    pub(super) fn summary(
        &self,
        sender: usize,
        losses: usize,
        of: impl Fn(&Repair) -> f64,
    ) -> Option<Summary> {
        let values: Vec<f64> = self
            .runs(sender, losses)
            .iter()
            .map(|(_, r)| of(r))
            .collect();
        Summary::of(&values)
    }

    pub(super) fn duration(&self, sender: usize, losses: usize) -> Option<Summary> {
        self.summary(sender, losses, |r| r.duration)
    }

    /// The share of a sender's runs with so many losses of which `what` is true.
    pub(super) fn share(
        &self,
        sender: usize,
        losses: usize,
        what: impl Fn(&Repair) -> bool,
    ) -> Option<f64> {
        self.summary(sender, losses, |r| f64::from(u8::from(what(r))))
            .map(|s| s.mean)
    }

    /// The largest number of losses up to which, at each, `what` is true of a majority.
    pub(super) fn majority_up_to(&self, sender: usize, what: impl Fn(&Repair) -> bool) -> usize {
        (1..=self.most())
            .take_while(|&n| {
                self.share(sender, n, &what)
                    .is_some_and(|share| share > 0.5)
            })
            .last()
            .unwrap_or(0)
    }

    /// The mean durations of a sender over these numbers of losses.
    fn curve(
        &self,
        sender: usize,
        losses: impl IntoIterator<Item = usize>,
    ) -> Option<Vec<(f64, f64)>> {
        losses
            .into_iter()
            .map(|n| Some((n as f64, self.duration(sender, n)?.mean)))
            .collect()
    }

    /// Whether at each of these numbers of losses one sender's mean duration and another's are
    /// as `rule` has it; and where not.
    fn everywhere(
        &self,
        (one, other): (usize, usize),
        losses: impl IntoIterator<Item = usize>,
        rule: fn(f64, f64) -> bool,
    ) -> Option<Finding> {
        let mut against = Vec::new();
        let mut ratios = (f64::INFINITY, 0.0_f64);
        for n in losses {
            let (a, b) = (self.duration(one, n)?.mean, self.duration(other, n)?.mean);
            ratios = (ratios.0.min(a / b), ratios.1.max(a / b));
            if !rule(a, b) {
                against.push(format!("{n} losses: {a:.2} and {b:.2} RTT"));
            }
        }
        let (one, other) = (RECOVERIES[one], RECOVERIES[other]);
        let mut found = format!("{one} / {other}: {:.2} to {:.2}", ratios.0, ratios.1);
        if !against.is_empty() {
            found = format!("{found}; not with {}", against.join(", "));
        }
        finding(against.is_empty(), found)
    }

    /// One sender's mean duration over another's, paired by seed.
    fn ratio(
        &self,
        one: usize,
        base: usize,
        losses: impl Iterator<Item = usize> + Clone,
    ) -> Option<Summary> {
        let mean_of = |sender: usize, seed: u64| {
            let all = losses.clone().map(|n| {
                let run = self.runs(sender, n).iter().find(|(s, _)| *s == seed)?;
                Some(run.1.duration)
            });
            mean(&all.collect::<Option<Vec<f64>>>()?)
        };
        let seeds = self.runs(base, 1).iter().map(|(seed, _)| *seed);
        let pairs: Option<Vec<(f64, f64)>> = seeds
            .map(|seed| Some((mean_of(base, seed)?, mean_of(one, seed)?)))
            .collect();
        let (bases, others): (Vec<f64>, Vec<f64>) = pairs?.into_iter().unzip();
        paired_ratio(&bases, &others).ratio
    }

    pub(super) fn findings(&self) -> Findings {
        vec![
            ("order", self.order()),
            (
                "newreno-below-reno",
                self.everywhere((NEWRENO, RENO), 2..=WITH_DUPLICATES, |a, b| a <= b),
            ),
            (
                "sack-beats-newreno",
                self.everywhere((SACK, NEWRENO), 2..=18, |a, b| a < b),
            ),
            ("sack-one-rtt", self.one_rtt(SACK, 7..=9)),
            ("sack-timeout", self.sack_timeout()),
            (
                "sack-below-newreno",
                self.everywhere((SACK, NEWRENO), TIMED_OUT, |a, b| a > b),
            ),
            ("timeouts-together", self.timeouts_together()),
            ("newreno-fifth", self.newreno_fifth()),
            ("newreno-ambiguity", self.newreno_ambiguity()),
            ("fack-one-rtt", self.one_rtt(FACK, 14..=16)),
            ("fack-exponential", self.fack_exponential()),
            ("le-linear", self.le_linear()),
            ("le-no-timeout", self.le_no_timeout()),
            ("le-below-all", self.le_below_all()),
        ]
    }

    fn order(&self) -> Option<Finding> {
        let order = [LE, FACK, SACK, NEWRENO, RENO];
        let mut ratios = Vec::new();
        let mut parts = Vec::new();
        for pair in order.windows(2) {
            let ratio = self.ratio(pair[0], pair[1], 1..=self.most())?;
            let names = (RECOVERIES[pair[0]], RECOVERIES[pair[1]]);
            parts.push(format!("{} / {}: {}", names.0, names.1, spread(&ratio, 3)));
            ratios.push(ratio);
        }
        finding(all_below(&ratios, 1.0), parts.join("; "))
    }

    fn one_rtt(&self, sender: usize, wanted: std::ops::RangeInclusive<usize>) -> Option<Finding> {
        self.duration(sender, 1)?;
        let up_to = self.majority_up_to(sender, in_one_rtt);
        finding(wanted.contains(&up_to), format!("up to {up_to} losses"))
    }

    fn sack_timeout(&self) -> Option<Finding> {
        self.duration(SACK, 1)?;
        let up_to = self.majority_up_to(SACK, |r| r.timeout.is_none());
        let above = (up_to + 1..=self.most()).map(|n| self.share(SACK, n, timed_out));
        let always = above
            .collect::<Option<Vec<f64>>>()?
            .iter()
            .all(|share| *share > 0.5);
        let then = if always {
            "from there on most runs have one"
        } else {
            "but not always from there on"
        };
        finding(
            (17..=19).contains(&up_to) && always,
            format!("no timeout in most runs up to {up_to} losses, {then}"),
        )
    }

    /// NewReno's timeouts with 19 to 29 losses.
    fn timeouts(&self, sender: usize) -> Vec<Timeout> {
        TIMED_OUT
            .flat_map(|n| self.runs(sender, n))
            .filter_map(|(_, repair)| repair.timeout)
            .collect()
    }

    fn timeouts_together(&self) -> Option<Finding> {
        let first = |sender, n| {
            let runs = self.runs(sender, n).iter();
            let times: Vec<f64> = runs.filter_map(|(_, r)| Some(r.timeout?.after)).collect();
            mean(&times)
        };
        let both = TIMED_OUT.map(|n| first(SACK, n).zip(first(NEWRENO, n)));
        let Some(both) = both.collect::<Option<Vec<(f64, f64)>>>() else {
            let runs = self.runs(SACK, *TIMED_OUT.start());
            let _ran = runs.first()?;
            return finding(false, "not both have timeouts at each number of losses");
        };
        // Rounded, and a negative zero made positive.
        let apart = both
            .iter()
            .map(|(sack, newreno)| ((newreno - sack) * 100.0).round() / 100.0 + 0.0);
        let (low, high) = apart
            .clone()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| {
                (l.min(d), h.max(d))
            });
        let n = both.len() as f64;
        let sack = both.iter().map(|m| m.0).sum::<f64>() / n;
        let newreno = both.iter().map(|m| m.1).sum::<f64>() / n;
        finding(
            low > -1.0 && high < 1.0,
            format!(
                "on average {sack:.2} RTT after the first drop with SACK and {newreno:.2} with NewReno; \
                 NewReno later by {low:.2} to {high:.2} RTT"
            ),
        )
    }

    fn newreno_fifth(&self) -> Option<Finding> {
        let resent: Vec<f64> = self
            .timeouts(NEWRENO)
            .iter()
            .map(|timeout| timeout.resent as f64)
            .collect();
        let summary = Summary::of(&resent)?;
        finding(
            (4.5..=5.5).contains(&summary.mean),
            format!(
                "{} lost packets resent before the timeout ({} runs)",
                spread(&summary, 2),
                summary.n
            ),
        )
    }

    fn newreno_ambiguity(&self) -> Option<Finding> {
        let timeouts = self.timeouts(NEWRENO);
        let soon = timeouts
            .iter()
            .filter(|t| t.advance.is_some_and(|a| a < 1.0));
        let (soon, all) = (soon.count(), timeouts.len());
        if all == 0 {
            return None;
        }
        finding(
            2 * soon > all,
            format!("in {soon} of {all} runs with a timeout"),
        )
    }

    fn fack_exponential(&self) -> Option<Finding> {
        let curve = self.curve(FACK, 15..=WITH_DUPLICATES)?;
        let (line, bend) = (Curve::line(&curve)?, Curve::exponential(&curve)?);
        let (straight, bent) = (line.squares(&curve), bend.squares(&curve));
        let (first, last) = (curve.first()?.1, curve.last()?.1);
        finding(
            bent < straight && last >= 2.0 * first,
            format!(
                "{first:.2} RTT at 15 losses, {last:.2} at {WITH_DUPLICATES}; squares left by an exponential \
                 {bent:.2}, by a line {straight:.2}"
            ),
        )
    }

    fn le_linear(&self) -> Option<Finding> {
        let curve = self.curve(LE, 1..=WITH_DUPLICATES)?;
        let line = Curve::line(&curve)?;
        let off = line.farthest(&curve);
        let (first, last) = (curve.first()?.1, curve.last()?.1);
        finding(
            off <= 0.5,
            format!(
                "{first:.2} RTT at 1 loss, {last:.2} at {WITH_DUPLICATES}, off a straight line by at most {off:.2} RTT"
            ),
        )
    }

    fn le_no_timeout(&self) -> Option<Finding> {
        self.duration(LE, 1)?;
        let runs = || (1..=WITH_DUPLICATES).flat_map(|n| self.runs(LE, n));
        let with = runs().filter(|(_, r)| timed_out(r)).count();
        finding(
            with == 0,
            format!("{with} of {} runs have a timeout", runs().count()),
        )
    }

    fn le_below_all(&self) -> Option<Finding> {
        let mut parts = Vec::new();
        let mut holds = true;
        for other in [RENO, NEWRENO, SACK, FACK] {
            let ratios = (16..=WITH_DUPLICATES).map(|n| self.ratio(LE, other, n..=n));
            let ratios = ratios.collect::<Option<Vec<Summary>>>()?;
            holds &= all_below(&ratios, 1.0);
            let means = || ratios.iter().map(|r| r.mean);
            let (low, high) = (
                means().fold(f64::INFINITY, f64::min),
                means().fold(0.0, f64::max),
            );
            parts.push(format!("LE / {}: {low:.2} to {high:.2}", RECOVERIES[other]));
        }
        Some(Finding::new(Verdict::of(holds), parts.join("; ")))
    }
}

/// Whether all that was lost is resent within a round trip of the first.
pub(super) fn in_one_rtt(repair: &Repair) -> bool {
    repair.resending <= 1.0 && repair.timeout.is_none()
}

pub(super) fn timed_out(repair: &Repair) -> bool {
    repair.timeout.is_some()
}
