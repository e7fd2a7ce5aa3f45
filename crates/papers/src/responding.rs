//! M.-Y. Park, S.-H. Chung, K.-A. Shin and G. Han, A comparative study on responding methods for
//! TCP's fast recovery in wireless networks: figures 1, 3 and 4, and the future work of §5.

mod claims;
#[cfg(test)]
mod draw;
mod exhibits;
mod gains;

use super::{Evidence, ExperimentFile, Judgement, Observe, Paper};
use dupack_lab::experiment::{Experiment, Seeds, SweepValue};
use dupack_lab::units::Delay;
use gains::Gains;

const W: &str = include_str!("../experiments/responding/w.toml");
const C: &str = include_str!("../experiments/responding/c.toml");
const DRAWN_W: &str = include_str!("../experiments/responding/drawn-w.toml");
const DRAWN_C: &str = include_str!("../experiments/responding/drawn-c.toml");
const DRAWN_W_1S: &str = include_str!("../experiments/responding/drawn-w-1s.toml");
const DRAWN_C_1S: &str = include_str!("../experiments/responding/drawn-c-1s.toml");

/// An experiment of this paper, of which only the measures are kept.
const fn file(name: &'static str, text: &'static str) -> ExperimentFile {
    ExperimentFile {
        name,
        text,
        observe: Observe::Measures,
        quicken,
    }
}

pub(super) static PAPER: Paper = Paper {
    key: "responding",
    claims: include_str!("../experiments/responding/claims.toml"),
    readme: include_str!("../experiments/responding/README.md"),
    files: &[],
    facts: super::no_facts,
    experiments: &[
        file("w", W),
        file("w-1s", include_str!("../experiments/responding/w-1s.toml")),
        file("c", C),
        file(
            "lda-w",
            include_str!("../experiments/responding/lda-w.toml"),
        ),
        file(
            "lda-c",
            include_str!("../experiments/responding/lda-c.toml"),
        ),
        file("drawn-w", DRAWN_W),
        file("drawn-c", DRAWN_C),
        file("drawn-w-1s", DRAWN_W_1S),
        file("drawn-c-1s", DRAWN_C_1S),
    ],
    judge,
};

/// The methods, in the order of the stacks in `w.toml` and `c.toml`; the last is ours.
const METHODS: [&str; 17] = [
    "0", "1", "11", "12", "13", "14", "15", "16", "17", "21", "22", "23", "24", "25", "26", "27",
    DYNAMIC,
];
const DYNAMIC: &str = "dynamic";

/// Where a method stands among [`METHODS`].
///
/// # Panics
/// If there is no such method.
fn place(method: &str) -> usize {
    let place = METHODS.iter().position(|m| *m == method);
    place.expect("the method is one of METHODS")
}

/// The differentiation algorithms, in the order of the stacks in `lda-w.toml` and `lda-c.toml`.
const ALGORITHMS: [&str; 11] = [
    "TCP",
    "oracle",
    "Veno",
    "NCPLD",
    "Spike",
    "Spike (Bulk Repeat)",
    "JTCP",
    "RELDS",
    "LDA_EQ",
    "zigzag",
    "always",
];
const TCP: usize = 0;
const VENO: usize = 2;
const LDA_EQ: usize = 8;
/// Those of the paper.
const OF_THE_PAPER: std::ops::RangeInclusive<usize> = VENO..=LDA_EQ;

/// Some scenarios of each group, 10 s of each, one seed.
fn quicken(experiment: &mut Experiment) {
    experiment.seeds = Seeds::Count(1);
    experiment.duration = Delay::from_nanos(14_000_000_000);
    experiment.warm_up = Delay::from_nanos(4_000_000_000);
    experiment.points.truncate(5);
    for (key, values) in &mut experiment.sweep {
        match key.as_str() {
            "radio.hops" => values.retain(|hops| !matches!(hops, SweepValue::Integer(2 | 4))),
            "radio.buffer" => values.truncate(1),
            _ => {}
        }
    }
}

fn judge(evidence: &Evidence) -> Judgement {
    let of = |name: &str| evidence.part(name).map(Gains::of);
    let parts = (
        (of("w"), of("w-1s"), of("c")),
        (of("lda-w"), of("lda-c")),
        (of("drawn-w"), of("drawn-c")),
        (of("drawn-w-1s"), of("drawn-c-1s")),
    );
    let (
        (Some(w), Some(w_1s), Some(c)),
        (Some(lda_w), Some(lda_c)),
        (Some(drawn_w), Some(drawn_c)),
        (Some(drawn_w_1s), Some(drawn_c_1s)),
    ) = parts
    else {
        return Judgement::default();
    };
    let all = Groups {
        w,
        w_1s,
        c,
        lda_w,
        lda_c,
        drawn_w,
        drawn_c,
        drawn_w_1s,
        drawn_c_1s,
    };
    Judgement {
        findings: claims::findings(&all),
        exhibits: exhibits::exhibits(&all),
        ..Judgement::default()
    }
}

/// What came out of each group.
struct Groups {
    w: Gains,
    /// W with a retransmission timer of at least 1 s.
    w_1s: Gains,
    c: Gains,
    lda_w: Gains,
    lda_c: Gains,
    drawn_w: Gains,
    drawn_c: Gains,
    /// As those drawn, with a retransmission timer of at least 1 s.
    drawn_w_1s: Gains,
    drawn_c_1s: Gains,
}
