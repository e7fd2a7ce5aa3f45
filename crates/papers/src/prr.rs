//! M. Mathis, N. Dukkipati and Y. Cheng, Proportional Rate Reduction for TCP, RFC 6937, 2013: the examples of §3.1, the
//! properties of §4 and appendix A, and in simulation what §5 reports of Google's servers. The rules and most figures
//! are data. Facts of recorded packets are read here, and the diagrams of §3.1 are drawn here.

mod drawn;
mod episode;
mod facts;

use super::{Drawn, Evidence, Paper};

/// Pairs a file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../experiments/prr/", $name)))
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "prr",
    claims: include_str!("../experiments/prr/claims.toml"),
    readme: include_str!("../experiments/prr/README.md"),
    files: &[
        file!("exhibits.toml"),
        file!("readings.toml"),
        file!("inventory.toml"),
        file!("examples.toml"),
        file!("burst.toml"),
        file!("row.toml"),
        file!("random.toml"),
        file!("late.toml"),
        file!("stall.toml"),
        file!("acks.toml"),
        file!("stretch.toml"),
        file!("reordering.toml"),
        file!("conservation.toml"),
        file!("loaded.toml"),
        file!("responses.toml"),
        file!("web.toml"),
    ],
    facts: facts::facts,
    drawn,
};

fn drawn(evidence: &Evidence) -> Drawn {
    let examples = evidence.part("examples");
    vec![
        ("diagrams", examples.map_or_else(Vec::new, drawn::diagrams)),
        ("sent", examples.map_or_else(Vec::new, drawn::sent_so_far)),
    ]
}
