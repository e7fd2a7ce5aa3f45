//! Agreement of the dialect `ns2` with ns-2.35.
//!
//! `validation/peers/ns2` contains the results of ns-2's own senders in a set of scenarios. Each scenario is built here
//! as an ordinary experiment in the dialect `ns2`, run over the same number of seeds, and compared by its mean goodput.
//! `cargo measure agree-ns2` runs all of them and writes `docs/ns2-agreement.md`. A test runs some of them.
//!
//! The seeds do not correspond: the two simulators draw different losses, so only the means can agree.

mod agreement_page;
mod peer;

pub use agreement_page::{line, page, summary};
pub use peer::{
    Difference, PeerRun, SENDERS, Scenario, Sender, VERSION, differences, nishida, runs, scenarios,
};

use dupack_algorithms::catalog::Catalog;
use dupack_algorithms::catalog::Dialect;
use std::path::PathBuf;

use dupack_engine::{Execute, Execution, Watch};
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{Direction, Experiment, FlowGroup, LinkOptions, LossPlacement, Seeds};
use dupack_lab::results::{Measure, Results};
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::stats::Summary;
use dupack_lab::units::{Buffer, ByteCount, Delay, Probability, Rate};

/// Maximum difference of the means, as a fraction of ns-2's mean, that counts as agreement.
pub const TOLERANCE: f64 = 0.05;

/// Buffer of the reverse path. It is so large that ACKs never find the queue full.
const REVERSE_BUFFER: Buffer = Buffer::Packets(100_000);

/// A sender in a scenario, here and in ns-2.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Scenario id.
    pub id: String,
    /// Sender.
    pub sender: Sender,
    /// Results of our runs.
    pub ours: Sample,
    /// Results of ns-2's runs.
    pub theirs: Sample,
    /// Rule that explains an expected difference, if there is one.
    pub difference: Option<Difference>,
}

/// Results of several runs.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Goodput in bytes of payload per second.
    pub goodput: Summary,
    /// Retransmissions per delivered packet.
    pub retransmissions: f64,
    /// Timeouts per delivered packet.
    pub timeouts: f64,
}

/// Outcome of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellAgreement {
    /// The difference is within the tolerance.
    Agrees,
    /// The difference exceeds the tolerance but lies within the range that a named rule explains.
    Explained,
    /// The difference is neither within the tolerance nor explained. An expected difference that did not appear also
    /// counts.
    Differs,
}

impl Sample {
    fn new(runs: &[PeerRun], scenario: &Scenario) -> Self {
        let goodputs: Vec<f64> = runs.iter().map(|run| run.goodput).collect();
        let delivered: f64 = match scenario.packets {
            Some(packets) => packets as f64 * runs.len() as f64,
            None => {
                let bytes: f64 = goodputs.iter().sum::<f64>() * scenario.duration_s;
                bytes / scenario.packet_bytes as f64
            }
        };
        let per_packet =
            |of: fn(&PeerRun) -> f64| -> f64 { runs.iter().map(of).sum::<f64>() / delivered };
        Self {
            goodput: Summary::of(&goodputs).expect("a scenario has runs"),
            retransmissions: per_packet(|run| run.retransmissions),
            timeouts: per_packet(|run| run.timeouts),
        }
    }

    /// Returns the standard error of the mean goodput, as a fraction of the mean.
    #[must_use]
    pub fn relative_error(&self) -> f64 {
        let g = &self.goodput;
        let deviation = g.standard_deviation.unwrap_or(f64::INFINITY);
        deviation / (g.n as f64).sqrt() / g.mean
    }
}

impl Cell {
    /// Returns our mean goodput divided by ns-2's.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ours.goodput.mean / self.theirs.goodput.mean
    }

    /// Returns the standard error of [`ratio`](Self::ratio), from the errors of both samples.
    #[must_use]
    pub fn ratio_error(&self) -> f64 {
        self.ratio()
            * self
                .ours
                .relative_error()
                .hypot(self.theirs.relative_error())
    }

    /// Returns the outcome of this cell.
    #[must_use]
    pub fn verdict(&self) -> CellAgreement {
        let ratio = self.ratio();
        match &self.difference {
            None if (ratio - 1.0).abs() <= TOLERANCE => CellAgreement::Agrees,
            Some(known) if (known.least..=known.greatest).contains(&ratio) => {
                CellAgreement::Explained
            }
            _ => CellAgreement::Differs,
        }
    }
}

impl Scenario {
    /// Builds an experiment from this scenario with the given senders.
    ///
    /// # Panics
    /// If the scenario's loss is not a probability.
    #[must_use]
    pub fn experiment(&self, senders: &[Sender], seeds: u32) -> Experiment {
        let stacks = senders.iter().map(|s| s.stack.to_owned()).collect();
        let mut e = Experiment::new(stacks);
        e.title = self.id.clone();
        e.dialect = Dialect::Ns2;
        e.seeds = Seeds::Count(seeds);
        e.duration = seconds(self.duration_s);
        e.path = Some(LinkOptions {
            rate: Some(Rate::from_bits_per_second(self.rate_bps)),
            delay: seconds(self.delay_s),
            // The limit in ns-2 includes the packet in transmission. The limit here does not.
            buffer: Some(Buffer::Packets(self.buffer_packets - 1).into()),
            loss: Probability::new(self.loss).expect("a loss is a probability"),
            loss_placement: LossPlacement::Before,
            reverse: Some(Direction {
                buffer: Some(REVERSE_BUFFER.into()),
                ..Direction::default()
            }),
            ..LinkOptions::default()
        });
        e.flows = vec![FlowGroup {
            start_spread: Some(seconds(2.0 * self.delay_s)),
            bytes: self
                .packets
                .map(|packets| ByteCount::from_bytes(packets * self.packet_bytes)),
            ..FlowGroup::default()
        }];
        e.sender.segment = Some(ByteCount::from_bytes(self.packet_bytes));
        e.sender.header = Some(ByteCount::from_bytes(self.header_bytes));
        e.sender.initial_ssthresh =
            (self.initial_ssthresh > 0).then_some(Buffer::Packets(self.initial_ssthresh));
        e.receiver.delayed_ack = Some(seconds(self.delack_s));
        e
    }

    /// Runs this scenario with each of `senders` and compares the results with those of ns-2.
    ///
    /// # Errors
    /// If the scenario does not make a valid experiment.
    pub fn compare(
        &self,
        senders: &[Sender],
        seeds: u32,
        watch: &dyn Watch,
    ) -> Result<Vec<Cell>, ExperimentError> {
        let source = Source {
            name: self.id.clone(),
            text: String::new(),
            folder: PathBuf::new(),
        };
        let plan = Plan::new(
            self.experiment(senders, seeds),
            &source,
            &Catalog::builtin(),
        )?;
        let results = plan.execute(Execution::default(), watch, &Interrupt::new());
        let known = differences();
        let cell = |(stack, &sender): (usize, &Sender)| Cell {
            id: self.id.clone(),
            sender,
            ours: Sample::new(&self.our_runs(&results, stack), self),
            theirs: Sample::new(&runs(self, sender), self),
            difference: known
                .iter()
                .find(|d| d.id == self.id && d.sender == sender.name)
                .cloned(),
        };
        Ok(senders.iter().enumerate().map(cell).collect())
    }

    fn our_runs(&self, results: &Results, stack: usize) -> Vec<PeerRun> {
        let runs = results.runs.iter().filter(|run| run.stack == stack);
        runs.map(|run| {
            let of = |measure| run.values.get(measure).unwrap_or(0.0);
            let goodput = match self.packets {
                Some(packets) => (packets * self.packet_bytes) as f64 / of(Measure::Completion),
                None => of(Measure::Goodput) * 1e6 / 8.0,
            };
            PeerRun {
                goodput,
                retransmissions: of(Measure::Retransmissions),
                timeouts: of(Measure::Timeouts),
            }
        })
        .collect()
    }
}

fn seconds(seconds: f64) -> Delay {
    Delay::from_nanos((seconds * 1e9).round() as u64)
}
