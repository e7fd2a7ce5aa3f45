//! Findings about paths, compared with the simulated transfers, through the whole diagnosis. This is a part of the
//! output of `paths` in `validation/`, with tolerances for chance.

use core::ops::Range;

use dupack_truth::paths::capture::End;
use dupack_truth::paths::drawn::Drawn;
use dupack_truth::paths::judge::{self, Happened, Scores};

/// Seeds that differ from those of development, which begin at 1.
const SEEDS: Range<u64> = 20_000..20_030;

fn scores() -> Scores {
    let mut scores = Scores::new();
    for seed in SEEDS {
        let drawn = Drawn::of(seed);
        let trace = judge::run(&drawn.experiment(), seed);
        let happened = Happened::of(&trace);
        for end in End::BOTH {
            let found = judge::findings(&trace, end, drawn.short_rtt());
            let found = found.unwrap_or_else(|| panic!("no findings for {}", drawn.line()));
            judge::judge(&mut scores, &drawn, &happened, end, &found.path);
        }
    }
    scores
}

#[test]
fn findings_on_paths_are_true() {
    let scores = scores();
    for end in End::BOTH {
        // In a capture at the receiver, the round trip includes the transmission time of a full packet, which is known
        // only from the rate.
        let trips = match end {
            End::Sender => 2,
            End::Receiver => 8,
        };
        // Each row has the minimum number of answers and the maximum number of wrong ones.
        for (what, told, wrong) in [
            ("1 least rtt", 28, trips),
            ("2 rate", 15, 1),
            ("4 room, overflowed", 5, 2),
            ("6 loss, all", 28, 2),
            ("7 loss of the link", 15, 4),
            ("A policer, none", 25, 0),
        ] {
            let score = &scores[&(what, end)];
            assert!(score.told >= told, "{what} {end:?}: {}", score.told);
            let off = (score.told - score.right) as usize;
            assert!(off <= wrong, "{what} {end:?}: {:#?}", score.wrong);
        }
    }
}
