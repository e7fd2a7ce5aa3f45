//! What was never asked in 2005–2012: every system of the five papers under the same controls,
//! beside today's senders, by round trip, in short transfers, and under kinds of loss that were
//! measured. It is nobody's paper: its claims are ours, and counted apart. All of it is data.

use super::Paper;

/// The name of its folder, and on the command line.
pub(super) const KEY: &str = "today";

/// A file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../experiments/today/", $name)))
    };
}

pub(super) static PAPER: Paper = Paper {
    key: KEY,
    claims: include_str!("../experiments/today/claims.toml"),
    readme: include_str!("../experiments/today/README.md"),
    files: &[
        file!("exhibits.toml"),
        file!("inventory.toml"),
        file!("same-control.toml"),
        file!("readme-table.toml"),
        file!("readme-timer.toml"),
        file!("credit.toml"),
        file!("beside-cubic.toml"),
        file!("beside-bbr.toml"),
        file!("beside-deep.toml"),
        file!("rtt.toml"),
        file!("rtt-timer.toml"),
        file!("tiny.toml"),
        file!("short.toml"),
        file!("bursts.toml"),
        file!("bursts-long.toml"),
        file!("bursts-bbr.toml"),
        file!("reordering.toml"),
        file!("reordering-undo.toml"),
        file!("aggregation.toml"),
    ],
    facts: super::no_facts,
    drawn: super::nothing_drawn,
};
