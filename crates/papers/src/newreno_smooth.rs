//! draft-nishida-newreno-modification-02: the effect of NewReno's full ACK on the window, with both tables of its
//! section 7. All files of this paper are data.

use super::Paper;

/// Pairs a file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../experiments/newreno-smooth/", $name)),
        )
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "newreno-smooth",
    claims: include_str!("../experiments/newreno-smooth/claims.toml"),
    readme: include_str!("../experiments/newreno-smooth/README.md"),
    files: &[
        file!("tables.toml"),
        file!("exhibits.toml"),
        file!("throughput.csv"),
        file!("events.csv"),
        file!("readings.toml"),
        file!("inventory.toml"),
        // Results of ns-2.35 in this setting, with its defaults and with `exit_recovery_fix_`.
        ("nishida-20.csv", include_str!("../ns2/nishida-20.csv")),
        (
            "nishida-fix-20.csv",
            include_str!("../ns2/nishida-fix-20.csv"),
        ),
    ],
    facts: super::no_facts,
    drawn: super::nothing_drawn,
};
