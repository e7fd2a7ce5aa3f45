//! Errors of a diagnosed time budget.

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::budget::{Group, Limit};
use dupack_tcp::time::Duration;

use super::account::{Held, Truth};

/// A quantity that is compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Time without data to send, as a kernel counts it.
    Idle,
    /// Time limited by the receive window, as a kernel counts it.
    Rwnd,
    /// Time in which the application had no more data to send, with or without data outstanding.
    Application,
    Receiver,
    Timers,
    /// Time in recovery. Only a diagnosed time that is too long is an error, because the diagnosis may attribute time
    /// in recovery to the bottleneck.
    Recovery,
    /// Duration of the transfer.
    Length,
}

pub const MEASURES: [Measure; 7] = [
    Measure::Idle,
    Measure::Rwnd,
    Measure::Application,
    Measure::Receiver,
    Measure::Timers,
    Measure::Recovery,
    Measure::Length,
];

/// Diagnosed and true values, in percent of the transfer.
#[derive(Clone, Debug)]
pub struct Off {
    pairs: [(f64, f64); MEASURES.len()],
    /// All diagnosed shares, as text.
    shares: String,
}

impl Off {
    pub fn of(truth: &Truth, found: &StreamFindings) -> Self {
        let shares = &found.shares;
        let sum = Limit::ALL
            .into_iter()
            .fold(Duration::ZERO, |sum, limit| sum + shares.of(limit));
        assert_eq!(
            sum,
            shares.duration(),
            "the shares do not sum to the duration"
        );
        let told = |time: Duration| 100.0 * shares.share(time);
        let pairs = MEASURES.map(|measure| match measure {
            Measure::Idle => (
                told(shares.duration().saturating_sub(shares.kernel.busy)),
                truth.percent(truth.all.saturating_sub(truth.busy)),
            ),
            Measure::Rwnd => (
                told(shares.kernel.receive_window),
                truth.percent(truth.rwnd_limited),
            ),
            Measure::Application => (
                told(shares.of_group(Group::Application)),
                truth.percent(truth.of(Held::Idle) + truth.of(Held::Pause)),
            ),
            Measure::Receiver => (
                told(shares.of_group(Group::Receiver)),
                truth.percent(truth.of(Held::Receiver)),
            ),
            Measure::Timers => (
                told(shares.of_group(Group::Timers)),
                truth.percent(truth.of(Held::Timer)),
            ),
            Measure::Recovery => {
                let told = told(shares.of(Limit::Recovery));
                let all = truth.percent(truth.of(Held::Recovery));
                (told, all.min(told))
            }
            Measure::Length => (100.0, truth.percent(shares.duration())),
        });
        let shares = Limit::ALL
            .into_iter()
            .filter(|limit| !shares.of(*limit).is_zero())
            .map(|limit| format!("{limit:?} {:.1}", told(shares.of(limit))))
            .collect::<Vec<_>>()
            .join(" ");
        Self { pairs, shares }
    }

    fn off(&self, measure: Measure) -> f64 {
        let (told, was) = self.pairs[measure as usize];
        told - was
    }

    pub fn is_beyond(&self, limit: f64) -> bool {
        MEASURES.into_iter().any(|m| self.off(m).abs() > limit)
    }

    pub fn line(&self) -> String {
        let one = |m: Measure| {
            let (told, was) = self.pairs[m as usize];
            format!("{m:?} {told:.1} (was {was:.1})")
        };
        format!("{}\n      [{}]", MEASURES.map(one).join("  "), self.shares)
    }
}

/// Errors of many transfers.
#[derive(Default)]
pub struct Summary(Vec<Off>);

/// Target for the maximum error, in percentage points.
pub const AIM: f64 = 5.0;

impl Summary {
    pub fn add(&mut self, off: &Off) {
        self.0.push(off.clone());
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the fraction of transfers in which the error of a measure is at most [`AIM`].
    pub fn within(&self, measure: Measure) -> f64 {
        let within = self.0.iter().filter(|off| off.off(measure).abs() <= AIM);
        within.count() as f64 / self.0.len().max(1) as f64
    }

    pub fn line(&self, measure: Measure) -> String {
        let offs: Vec<f64> = self.0.iter().map(|off| off.off(measure)).collect();
        let mean = offs.iter().map(|off| off.abs()).sum::<f64>() / offs.len().max(1) as f64;
        let bias = offs.iter().sum::<f64>() / offs.len().max(1) as f64;
        let most = offs
            .iter()
            .copied()
            .max_by(|a, b| a.abs().total_cmp(&b.abs()))
            .unwrap_or(0.0);
        let name = format!("{measure:?}");
        format!(
            "{name:12} off by {mean:.2} on average ({bias:+.2}), {most:+.1} at most; within {AIM} points in {:.1} %",
            100.0 * self.within(measure)
        )
    }
}
