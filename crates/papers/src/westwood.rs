//! S. Mascolo, C. Casetti, M. Gerla, S. S. Lee and M. Sanadidi, TCP Westwood, UCLA CSD TR 200017, 2000: figures 1 to
//! 12. The rules, tables and most figures are data. Facts about the bandwidth estimate and the window over time are
//! read here from the transient experiments, and their figures are drawn here.

mod courses;
mod drawn;

use dupack_claims::Facts;

use super::{Drawn, Evidence, ExperimentResults, Paper};

/// Pairs a file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../experiments/westwood/", $name)),
        )
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "westwood",
    claims: include_str!("../experiments/westwood/claims.toml"),
    readme: include_str!("../experiments/westwood/README.md"),
    files: &[
        file!("exhibits.toml"),
        file!("readings.toml"),
        file!("inventory.toml"),
        file!("transient.toml"),
        file!("transient-lossy.toml"),
        file!("transient-half.toml"),
        file!("connections.toml"),
        file!("rates.toml"),
        file!("delays.toml"),
        file!("delays-small.toml"),
        file!("connections-lossy.toml"),
        file!("rates-lossy.toml"),
        file!("delays-lossy.toml"),
        file!("friendliness.toml"),
        file!("functions.toml"),
        file!("functions-red.toml"),
        file!("functions-fq.toml"),
        file!("functions-cake.toml"),
    ],
    facts,
    drawn,
};

/// Experiment: the transient without random loss.
const TRANSIENT: &str = "transient";
/// Experiment: the transient with random loss.
const LOSSY: &str = "transient-lossy";

/// Returns the facts about the transient without random loss that the rules use.
fn facts(experiment: &str, part: Option<&ExperimentResults>) -> Facts {
    match experiment {
        TRANSIENT => courses::facts(part),
        _ => Facts::default(),
    }
}

fn drawn(evidence: &Evidence) -> Drawn {
    let [lossless, lossy] = [TRANSIENT, LOSSY].map(|name| evidence.part(name));
    vec![("figures1-5", drawn::figures(lossless, lossy))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extent;
    use dupack_lab::experiment::Experiment;

    /// Experiments of the paper's further work. Their rates are low enough without scaling.
    const FURTHER: [&str; 5] = [
        "friendliness",
        "functions",
        "functions-red",
        "functions-fq",
        "functions-cake",
    ];
    /// Divisor of all rates and buffers in a quick look.
    const SLOWER: u64 = 5;

    #[test]
    fn a_quick_look_is_slower_throughout() {
        let [full, quick] = [Extent::Full, Extent::Quick].map(|e| PAPER.prepare(e).unwrap());
        assert_eq!(full.len(), 15);
        for (full, quick) in full.iter().zip(&quick) {
            let (name, full, quick) = (full.name, &full.experiment, &quick.experiment);
            if FURTHER.contains(&name) {
                continue;
            }
            let rate = |e: &Experiment| e.path.as_ref().unwrap().rate.unwrap().as_bits_per_second();
            assert_eq!(rate(quick) * SLOWER, rate(full), "{name}");
            for (slow, fast) in quick.udp.iter().zip(&full.udp) {
                let (slow, fast) = (slow.rate, fast.rate);
                assert_eq!(
                    slow.as_bits_per_second() * SLOWER,
                    fast.as_bits_per_second()
                );
            }
            let loss = |e: &Experiment| e.path.as_ref().unwrap().loss.as_fraction();
            let square = (SLOWER * SLOWER) as f64;
            assert!((loss(quick) - square * loss(full)).abs() < 1e-12, "{name}");
            if let (Some(last), Some(whole)) = (quick.points.last(), full.points.last()) {
                assert_eq!(quick.points.len(), 3);
                for (key, value) in whole {
                    let same = key.ends_with("delay") || key.ends_with("count");
                    assert_eq!(last[key] == *value, same, "{key}");
                }
            }
        }
    }
}
