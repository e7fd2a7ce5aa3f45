//! Several senders at the same time over one emulated path, on real packets: their shares of the rate, and the latency
//! under their load.
//!
//! Each sender may have a longer round-trip time than the path. Datagrams at regular intervals measure the latency.

use std::fmt::Write as _;

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::{Disk, Source};
use dupack_lab::experiment::points::points;
use dupack_lab::experiment::{Experiment, FlowGroup};
use dupack_lab::run::Interrupt;
use dupack_lab::stats::{Summary, jain_index};
use dupack_lab::units::{Delay, Rate};
use dupack_net::histogram::Histogram;
use dupack_report::table::Plain;
use dupack_wire::path::Trust;
use dupack_wire::transfer::LatencyReport;

use crate::{SenderError, SenderSpec, Shared, SharedError, SharedOutcome, Watch};

/// Size of a packet of 1500 bytes, in bits.
const FULL_PACKET_BITS: u64 = 12_000;

/// A sender with an additional round-trip time: `kernel:cubic@40ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The sender.
    pub sender: SenderSpec,
    /// Additional round-trip time.
    pub detour: Delay,
}

impl Member {
    /// Parses a member.
    ///
    /// # Errors
    /// Returns an error if the text does not name a sender, or if the text after `@` is not a time.
    pub fn parse(text: &str, catalog: &Catalog) -> Result<Self, SenderError> {
        let (sender, detour) = match text.rsplit_once('@') {
            None => (text, Delay::default()),
            Some((sender, detour)) => {
                let detour = detour.trim_start_matches('+').parse();
                (sender, detour.map_err(SenderError::Detour)?)
            }
        };
        Ok(Self {
            sender: SenderSpec::parse(sender, catalog)?,
            detour,
        })
    }

    fn name(&self) -> String {
        match self.detour.as_nanos() {
            0 => self.sender.to_string(),
            _ => format!("{} +{}", self.sender, self.detour),
        }
    }
}

/// Runs in which all members send at the same time: one run for each point of the experiment's sweep and each seed.
#[derive(Debug)]
pub struct Together {
    members: Vec<Member>,
    /// Label and runs of each point.
    points: Vec<(String, Shared)>,
    seeds: Vec<u64>,
    tolerance: Delay,
    /// Transmission time of a packet, if the round-trip times of two senders differ by less than this time. In that
    /// case, phase effects may decide which sender gets more of the rate.
    phases: Option<Delay>,
}

/// Result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct TogetherRun {
    /// Index of the point.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Outcome of the run.
    pub outcome: SharedOutcome,
}

impl Together {
    /// Prepares runs of `members` on the path of `experiment`. The members replace the flows of the experiment. If
    /// `probe` is given, it is the interval of the datagrams that measure latency.
    ///
    /// # Errors
    /// Returns an error if real packets do not support the path.
    pub fn new(
        experiment: &Experiment,
        members: Vec<Member>,
        (probe, tolerance): (Option<Delay>, Option<Delay>),
        catalog: &Catalog,
    ) -> Result<Self, SharedError> {
        let mut experiment = experiment.clone();
        let flows = members.iter().map(|member| FlowGroup {
            name: member.name(),
            stack: Some(member.sender.to_string()),
            ..FlowGroup::default()
        });
        experiment.flows = flows.collect();
        let source = Source::of_flags(&experiment);
        let detours: Vec<Delay> = members.iter().map(|member| member.detour).collect();
        let all = points(&experiment, &source)?;
        let shared = all.iter().map(|point| {
            let mut own = Experiment::clone(&point.experiment);
            own.sweep.clear();
            let first = members
                .first()
                .map_or_else(String::new, |member| member.sender.to_string());
            let shared = Shared::new(&own, &first, catalog, &Disk)?;
            let shared = shared.with_detours(&detours).with_probe(probe);
            Ok((point.label(), shared))
        });
        let path = experiment
            .path
            .as_ref()
            .map(|path| path.delay.as_nanos() * 2);
        let longest = detours
            .iter()
            .map(|detour| detour.as_nanos())
            .max()
            .unwrap_or(0);
        let share = Delay::from_nanos((path.unwrap_or(0) + longest) / 100);
        Ok(Self {
            points: shared.collect::<Result<_, SharedError>>()?,
            seeds: experiment.seeds.to_vec(),
            phases: (experiment.path.as_ref().and_then(|path| path.rate))
                .map(packet_time)
                .filter(|&time| are_nearer(&detours, time)),
            members,
            tolerance: tolerance.unwrap_or_else(|| share.max(crate::TOLERANCE)),
        })
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.points.len() * self.seeds.len()
    }

    /// Executes all runs, one after the other, until interrupted.
    ///
    /// # Errors
    /// Returns an error if the machine does not have every sender, or if a run failed.
    pub fn run(
        &self,
        watch: &dyn Watch,
        interrupt: &Interrupt,
    ) -> Result<Vec<TogetherRun>, SharedError> {
        if let Some((_, first)) = self.points.first() {
            first.probe()?;
        }
        let mut runs = Vec::new();
        for &seed in &self.seeds {
            for (point, (label, shared)) in self.points.iter().enumerate() {
                let what = if label.is_empty() {
                    "all senders"
                } else {
                    label
                };
                watch.run_begins(&format!("{what}, repetition {seed}"));
                let Some(outcome) = shared.run(seed, self.tolerance, interrupt)? else {
                    return Ok(runs);
                };
                runs.push(TogetherRun {
                    point,
                    seed,
                    outcome,
                });
                watch.run_done();
            }
        }
        Ok(runs)
    }

    /// Returns the share of each sender and the latency, as text for the terminal.
    #[must_use]
    pub fn text(&self, runs: &[TogetherRun], width: Option<u16>) -> String {
        let mut text = String::new();
        for (point, (label, _)) in self.points.iter().enumerate() {
            let here = runs.iter().filter(|run| run.point == point);
            let sound: Vec<&TogetherRun> = { here.clone() }
                .filter(|run| run.outcome.trust == Trust::Sound)
                .collect();
            if !label.is_empty() {
                let _ = writeln!(text, "{label}");
            }
            let all = here.count();
            if sound.len() < all {
                let _ = writeln!(
                    text,
                    "{} of {all} runs are void: packets left more than {} late",
                    all - sound.len(),
                    self.tolerance
                );
            }
            if !sound.is_empty() {
                text += &self.table(&sound, width);
                text += &told(&sound);
                if let Some(time) = self.phases {
                    let _ = writeln!(
                        text,
                        "Some round-trip times differ by less than the transmission time of a packet\n\
                         ({time}). Hosts answer almost without delay here, so this difference may decide\n\
                         which sender gets the link."
                    );
                }
            }
            text.push('\n');
        }
        text
    }

    fn table(&self, runs: &[&TogetherRun], width: Option<u16>) -> String {
        let header = [
            "sender",
            "goodput Mbit/s",
            "share %",
            "retransmitted %",
            "queueing ms, 95th %",
        ];
        let mut table = Plain::new(&header, 1, width);
        for (place, member) in self.members.iter().enumerate() {
            let over = |of: &dyn Fn(&SharedOutcome) -> Option<f64>| {
                let values = runs.iter().filter_map(|run| of(&run.outcome));
                Summary::of(&values.collect::<Vec<f64>>())
            };
            let total = |outcome: &SharedOutcome| {
                outcome
                    .flows
                    .iter()
                    .map(|flow| flow.goodput_mbit_s)
                    .sum::<f64>()
            };
            let goodput = over(&|outcome| Some(outcome.flows[place].goodput_mbit_s));
            let share = over(&|outcome| {
                let share = 100.0 * outcome.flows[place].goodput_mbit_s / total(outcome);
                share.is_finite().then_some(share)
            });
            let resent = over(&|outcome| {
                let (all, again) = outcome.flows[place].segments?;
                (all > 0).then(|| 100.0 * again as f64 / all as f64)
            });
            let wait = over(&|outcome| Some(outcome.flows[place].waits_ms?.1));
            table.add([
                member.name(),
                shown(goodput, 2),
                shown(share, 1),
                shown(resent, 1),
                shown(wait, 1),
            ]);
        }
        format!("{}\n", table.text().trim_end())
    }

    /// Returns the results as CSV, one line per sender and run.
    #[must_use]
    pub fn csv(&self, runs: &[TogetherRun]) -> Vec<u8> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let mut put = |row: &[String]| {
            out.write_record(row)
                .expect("rows have equal length and memory does not fail");
        };
        let head = [
            "point",
            "repetition",
            "sender",
            "detour_ms",
            "goodput_mbit_s",
            "segments",
            "retransmissions",
            "wait_median_ms",
            "wait_p95_ms",
            "void",
        ];
        put(&head.map(str::to_owned));
        for run in runs {
            let void = (run.outcome.trust != Trust::Sound).to_string();
            let (label, _) = &self.points[run.point];
            let number =
                |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            for (member, flow) in self.members.iter().zip(&run.outcome.flows) {
                put(&[
                    label.clone(),
                    run.seed.to_string(),
                    flow.sender.clone(),
                    (member.detour.as_nanos() as f64 / 1e6).to_string(),
                    flow.goodput_mbit_s.to_string(),
                    number(flow.segments.map(|(all, _)| all as f64)),
                    number(flow.segments.map(|(_, again)| again as f64)),
                    number(flow.waits_ms.map(|waits| waits.0)),
                    number(flow.waits_ms.map(|waits| waits.1)),
                    void.clone(),
                ]);
            }
        }
        out.into_inner().unwrap_or_default()
    }

    /// Returns the latency of each run as CSV, in ms, one line per run. Returns `None` if no datagrams were sent.
    #[must_use]
    pub fn latency_csv(&self, runs: &[TogetherRun]) -> Option<Vec<u8>> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let head = [
            "point",
            "repetition",
            "idle_median_ms",
            "median_ms",
            "p95_ms",
            "p99_ms",
            "sent",
            "lost",
        ];
        out.write_record(head).ok()?;
        for run in runs {
            let seen = run.outcome.latency.as_ref()?;
            let ms = |span: Option<dupack_tcp::time::Duration>| {
                span.map_or_else(String::new, |span| (span.as_secs_f64() * 1e3).to_string())
            };
            let (label, _) = &self.points[run.point];
            let row = [
                label.clone(),
                run.seed.to_string(),
                ms(seen.idle.quantile(0.5)),
                ms(seen.loaded.quantile(0.5)),
                ms(seen.loaded.quantile(0.95)),
                ms(seen.loaded.quantile(0.99)),
                seen.sent.to_string(),
                seen.lost.to_string(),
            ];
            out.write_record(row).ok()?;
        }
        out.into_inner().ok()
    }
}

/// Returns the transmission time of a full packet at `rate`.
fn packet_time(rate: Rate) -> Delay {
    Delay::from_nanos(FULL_PACKET_BITS * 1_000_000_000 / rate.as_bits_per_second().max(1))
}

/// Returns `true` if two of `detours` differ by less than `time`.
fn are_nearer(detours: &[Delay], time: Delay) -> bool {
    let mut all: Vec<u64> = detours.iter().map(|detour| detour.as_nanos()).collect();
    all.sort_unstable();
    all.windows(2).any(|two| two[1] - two[0] < time.as_nanos())
}

/// Returns the fairness over all senders and the latency of the datagrams, as text.
fn told(runs: &[&TogetherRun]) -> String {
    let over = |of: &dyn Fn(&SharedOutcome) -> Option<f64>| {
        let values = runs.iter().filter_map(|run| of(&run.outcome));
        Summary::of(&values.collect::<Vec<f64>>())
    };
    let jain = over(&|outcome| {
        let all: Vec<f64> = outcome
            .flows
            .iter()
            .map(|flow| flow.goodput_mbit_s)
            .collect();
        jain_index(&all)
    });
    let mut text = format!("Jain's index over the senders: {}\n", shown(jain, 2));
    if runs.iter().all(|run| run.outcome.latency.is_none()) {
        return text;
    }
    let seen = |of: &dyn Fn(&LatencyReport) -> Option<f64>| {
        over(&|outcome| of(outcome.latency.as_ref()?))
    };
    let ms = |waits: &Histogram, q| Some(waits.quantile(q)?.as_secs_f64() * 1e3);
    let loaded = |q| shown(seen(&|latency| ms(&latency.loaded, q)), 1);
    let lost = |latency: &LatencyReport| {
        (latency.sent > 0).then(|| 100.0 * latency.lost as f64 / latency.sent as f64)
    };
    let _ = writeln!(
        text,
        "Latency under load (round trip of a datagram): median {} ms, 95th percentile {} ms, 99th {} ms; idle {} ms; lost {} %",
        loaded(0.5),
        loaded(0.95),
        loaded(0.99),
        shown(seen(&|latency| ms(&latency.idle, 0.5)), 1),
        shown(seen(&lost), 1),
    );
    text
}

/// Formats a mean with the half-width of its 95 % confidence interval.
fn shown(summary: Option<Summary>, digits: usize) -> String {
    let Some(summary) = summary else {
        return "–".to_owned();
    };
    let mean = format!("{:.digits$}", summary.mean);
    match summary.half_width_95 {
        Some(half) => format!("{mean} ±{half:.digits$}"),
        None => mean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_within_a_packets_time_are_near() {
        let time = packet_time(Rate::from_bits_per_second(12_000_000));
        assert_eq!(time, Delay::from_nanos(1_000_000));
        let near = |nanos: &[u64]| {
            let detours: Vec<Delay> = nanos.iter().copied().map(Delay::from_nanos).collect();
            are_nearer(&detours, time)
        };
        assert!(near(&[0, 60_000_000, 0]) && near(&[0, 999_999]));
        assert!(!near(&[2_000_000, 0, 1_000_000]) && !near(&[0]));
    }

    #[test]
    fn a_sender_may_have_a_longer_round_trip() {
        let catalog = Catalog::builtin();
        let member = |text| Member::parse(text, &catalog);
        let near = member("kernel:cubic").unwrap();
        assert_eq!(
            (near.name().as_str(), near.detour),
            ("kernel:cubic", Delay::default())
        );
        let far = member("rack/bbr(headroom=0)@+40ms").unwrap();
        assert_eq!(far.name(), "rack/bbr(headroom=0) +40ms");
        let error = member("kernel:cubic@far").unwrap_err().to_string();
        assert!(error.contains("far") && error.contains("@40ms"), "{error}");
        assert!(member("nonsense@40ms").is_err());
    }
}
