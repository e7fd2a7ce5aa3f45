//! S. Mascolo, C. Casetti, M. Gerla, S. S. Lee and M. Sanadidi, TCP Westwood, UCLA CSD TR 200017,
//! 2000: figures 1 to 12.

mod exhibits;
mod sweeps;
mod transient;

use dupack_algorithms::congestion::westwood::AckedCount;

use super::claims::Finding;
use super::judging::finding;
use super::{Evidence, ExperimentFile, Judgement, Observe, Paper};
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::units::{Buffer, Delay, Probability, Rate};
use sweeps::{QUICK_POINTS, Sweeps};
use transient::Transients;

/// An experiment of the folder by its name.
macro_rules! experiment {
    ($name:literal, $observe:ident, $quicken:ident) => {
        ExperimentFile {
            name: $name,
            text: include_str!(concat!("../experiments/westwood/", $name, ".toml")),
            observe: Observe::$observe,
            quicken: $quicken,
        }
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "westwood",
    claims: include_str!("../experiments/westwood/claims.toml"),
    readme: include_str!("../experiments/westwood/README.md"),
    files: &[],
    facts: super::no_facts,
    experiments: &[
        experiment!("transient", Series, quicken_transient),
        experiment!("transient-lossy", Series, quicken_transient),
        experiment!("transient-half", Measures, quicken_transient),
        experiment!("connections", Measures, quicken_sweep),
        experiment!("rates", Measures, quicken_sweep),
        experiment!("delays", Measures, quicken_sweep),
        experiment!("connections-lossy", Measures, quicken_sweep),
        experiment!("rates-lossy", Measures, quicken_sweep),
        experiment!("delays-lossy", Measures, quicken_sweep),
    ],
    judge,
};

/// The stacks of every experiment begin with these.
const WESTWOOD: usize = 0;
const RENO: usize = 1;
const SACK: usize = 2;

/// What a quick look divides all rates and buffers by.
const SLOWER: u64 = 5;

/// The schedule as it is, everything slower. What a random loss does to a window grows with the
/// square of it, so losses are more by that.
fn quicken_transient(experiment: &mut Experiment) {
    if let Seeds::Count(count @ 3..) = &mut experiment.seeds {
        *count = 2;
    }
    for source in &mut experiment.udp {
        source.rate = slower(source.rate);
    }
    let Some(path) = &mut experiment.path else {
        return;
    };
    path.rate = path.rate.map(slower);
    path.buffer = path.buffer.map(|buffer| match buffer {
        Buffer::Packets(packets) => Buffer::Packets(packets / SLOWER as u32),
        Buffer::Bytes(bytes) => Buffer::Bytes(bytes / SLOWER),
    });
    let square = (SLOWER * SLOWER) as f64;
    path.loss = Probability::new(path.loss.as_fraction() * square).unwrap_or(path.loss);
}

fn slower(rate: Rate) -> Rate {
    Rate::from_bits_per_second(rate.as_bits_per_second() / SLOWER)
}

/// Three points of each sweep, four minutes, one seed, everything slower.
fn quicken_sweep(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(1);
    experiment.duration = Delay::from_nanos(240_000_000_000);
    quicken_transient(experiment);
    let all = std::mem::take(&mut experiment.points);
    let kept = all.into_iter().enumerate();
    experiment.points = kept
        .filter(|(index, _)| QUICK_POINTS.contains(index))
        .map(|(_, mut point)| {
            for (key, value) in &mut point {
                sweeps::slow_down(key, value);
            }
            point
        })
        .collect();
}

fn judge(evidence: &Evidence) -> Judgement {
    let mut judgement = Judgement {
        findings: vec![("acked-count-example", acked_count_example())],
        ..Judgement::default()
    };
    let transients = Transients::of(evidence);
    judgement.findings.extend(transients.findings());
    judgement.exhibits.extend(exhibits::transient(&transients));
    let sweeps = Sweeps::of(evidence);
    judgement.findings.extend(sweeps.findings());
    judgement.exhibits.extend(exhibits::sweeps(&sweeps));
    judgement
}

/// §II.A: 10 segments lost, 20 more arrive; 5 delayed ACKs answer the retransmissions, and one ACK
/// acknowledges the 20.
fn acked_count_example() -> Option<Finding> {
    const DELIVERED: u64 = 30;
    let mut acked = AckedCount::new(1, u64::MAX);
    let duplicates: u64 = (0..20).map(|_| acked.count(0)).sum();
    let delayed: u64 = (0..5).map(|_| acked.count(2)).sum();
    let last = acked.count(20);
    let counted = duplicates + delayed + last;
    finding(
        counted <= DELIVERED,
        format!(
            "{duplicates} for the duplicate ACKs, {delayed} for the delayed ACKs and {last} for the last: {counted} of \
             {DELIVERED} segments"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_lab::experiment::load::Source;

    #[test]
    fn a_quick_look_is_slower_throughout() {
        for file in PAPER.experiments {
            let source = Source {
                name: file.name.to_owned(),
                text: file.text.to_owned(),
                folder: std::path::PathBuf::new(),
            };
            let full = source.parse().unwrap();
            let mut quick = full.clone();
            (file.quicken)(&mut quick);
            let rate = |e: &Experiment| e.path.as_ref().unwrap().rate.unwrap().as_bits_per_second();
            assert_eq!(rate(&quick) * SLOWER, rate(&full), "{}", file.name);
            for (slow, fast) in quick.udp.iter().zip(&full.udp) {
                assert_eq!(slow.rate, slower(fast.rate));
            }
            if !full.points.is_empty() {
                assert_eq!(quick.points.len(), QUICK_POINTS.len());
                let (last, whole) = (quick.points.last().unwrap(), full.points.last().unwrap());
                for (key, value) in whole {
                    let same = key.ends_with("delay") || key.ends_with("count");
                    assert_eq!(last[key] == *value, same, "{key}");
                }
            }
        }
    }

    #[test]
    fn the_example_counts_five_segments_twice() {
        let found = acked_count_example().unwrap().found;
        assert!(found.ends_with("35 of 30 segments"), "{found}");
    }
}
