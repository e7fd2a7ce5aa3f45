//! J.-H. Hwang, S.-H. Yoo and C. Yoo, Momentary Recovery Algorithm, IEICE Trans. Commun. E92-B(12), 2009. The claims,
//! tables and most figures are data. Facts of recorded packets are read here, and some figures are drawn here.

mod drawn;
mod episode;
mod facts;

use super::{Drawn, Evidence, Exhibit, ExperimentResults, Paper};

/// Pairs a file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../experiments/momentary/", $name)),
        )
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "momentary",
    claims: include_str!("../experiments/momentary/claims.toml"),
    readme: include_str!("../experiments/momentary/README.md"),
    files: &[
        file!("exhibits.toml"),
        file!("readings.toml"),
        file!("inventory.toml"),
        file!("figure3.toml"),
        file!("figure5.toml"),
        file!("table1.csv"),
        file!("table1-alone.toml"),
        file!("table1-start.toml"),
        file!("table1-300.toml"),
        file!("table1-500.toml"),
        file!("table1-700.toml"),
        file!("table2.csv"),
        file!("table2.toml"),
        file!("table3.csv"),
        file!("table3.toml"),
        file!("table3-windows.toml"),
        file!("table3-newreno.toml"),
        file!("table3-recovery.toml"),
        file!("future.toml"),
        file!("related-work.toml"),
        file!("related-acks.toml"),
        file!("related-fair.toml"),
    ],
    facts: facts::facts,
    drawn,
};

/// Packets that are lost in figure 3, by ns-2's numbering.
const LOST: [u64; 7] = [24, 25, 26, 27, 28, 29, 30];

fn drawn(evidence: &Evidence) -> Drawn {
    let part = |name| evidence.part(name);
    let of =
        |name, draw: fn(&ExperimentResults) -> Vec<Exhibit>| part(name).map_or_else(Vec::new, draw);
    let overruns = [part("table3-newreno"), part("table3-recovery")];
    vec![
        ("figure3", of("figure3", drawn::panels)),
        ("figure4", of("figure3", drawn::windows)),
        ("figure5", of("figure5", drawn::figure_5)),
        ("table3", drawn::table_3(overruns)),
    ]
}
