//! Questions that the papers of 2000–2012 did not ask: all systems of the five papers under the same congestion
//! controls, next to today's senders, by round-trip time, in short transfers, and under loss processes that were
//! measured. This chapter is not a paper: its claims are ours and are counted separately. All of its files are data.

use super::Paper;

/// Name of the chapter's folder, and its name on the command line.
pub(super) const KEY: &str = "today";

/// Pairs a file of the folder with its name.
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
