//! M.-Y. Park, S.-H. Chung, K.-A. Shin and G. Han, A comparative study on responding methods for TCP's fast recovery in
//! wireless networks: figures 1, 3 and 4, and the future work of §5. All files of this paper are data.

#[cfg(test)]
mod draw;

use super::Paper;

/// Pairs a file of the folder with its name.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../experiments/responding/", $name)),
        )
    };
}

pub(super) static PAPER: Paper = Paper {
    key: "responding",
    claims: include_str!("../experiments/responding/claims.toml"),
    readme: include_str!("../experiments/responding/README.md"),
    files: &[
        file!("exhibits.toml"),
        file!("w.toml"),
        file!("w-1s.toml"),
        file!("c.toml"),
        file!("lda-w.toml"),
        file!("lda-c.toml"),
        file!("drawn-w.toml"),
        file!("drawn-c.toml"),
        file!("drawn-w-1s.toml"),
        file!("drawn-c-1s.toml"),
        file!("w-buffers.toml"),
        file!("w-resend.toml"),
        file!("w-today.toml"),
        file!("c-one-hop.toml"),
        file!("c-mixed.toml"),
        file!("readings.toml"),
        file!("inventory.toml"),
    ],
    facts: super::no_facts,
    drawn: super::nothing_drawn,
};
