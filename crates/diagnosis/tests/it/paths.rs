//! What is told of paths, and of other senders on them, is true of simulated transfers that go through the whole
//! diagnosis: a part of what `paths` in `validation/` prints, with room for chance.

use core::ops::Range;

use dupack_diagnosis::path;
use dupack_truth::paths::capture::End;
use dupack_truth::paths::drawn::Drawn;
use dupack_truth::paths::judge::{self, Happened, Scores};
use dupack_truth::paths::others::{Came, Company, Question};

/// Far from those of development, which begin at 1.
const SEEDS: Range<u64> = 20_000..20_030;
const QUESTIONS: Range<u64> = 20_000..20_003;
const SHARED: Range<u64> = 20_000..20_030;

fn scores() -> Scores {
    let mut scores = Scores::new();
    for seed in SEEDS {
        let drawn = Drawn::of(seed);
        let trace = judge::run(&drawn.experiment(), seed);
        let happened = Happened::of(&trace);
        for end in End::BOTH {
            let found = judge::findings(&trace, end, drawn.short_rtt());
            let found = found.unwrap_or_else(|| panic!("nothing of {}", drawn.line()));
            judge::judge(&mut scores, &drawn, &happened, end, &found.path);
        }
    }
    scores
}

#[test]
fn what_is_told_of_paths_is_true_of_them() {
    let scores = scores();
    for end in End::BOTH {
        // Away from the sender a full packet's time on the link is in it, of which only the rate tells.
        let trips = match end {
            End::Sender => 2,
            End::Receiver => 8,
        };
        // Of so many answers at least, no more than so many are wrong.
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

#[test]
fn what_another_sender_would_have_taken_is_right_or_refused() {
    let mut counts = [0; 4];
    for company in [Company::Alone, Company::Hidden] {
        for (came, words) in QUESTIONS.flat_map(|seed| Question::of(seed, company).answers()) {
            assert_ne!(came, Came::Wrong, "{company:?}: {words}");
            counts[came as usize] += 1;
        }
    }
    let [right, ..] = counts;
    assert!(right >= 2, "{counts:?}");
}

#[test]
fn others_at_the_bottleneck_are_seen_where_there_are_some() {
    // From a quarter on, what others carry matters.
    const MUCH: f64 = 0.25;
    let (mut alone, mut beside, mut seen) = (Vec::new(), 0, 0);
    for seed in SHARED {
        let company = |question: &Question| question.found().map(|found| found.path.company);
        let question = Question::of(seed, Company::Alone);
        if company(&question) == Some(path::Company::Perhaps) {
            alone.push(question.line());
        }
        let question = Question::of(seed, Company::Hidden);
        if question.others() >= MUCH {
            beside += 1;
            seen += usize::from(company(&question) == Some(path::Company::Perhaps));
        }
    }
    assert!(alone.len() <= 1, "{alone:#?}");
    // A flow of a constant rate between ours looks like a slower link, and one that never fills the path sees nobody.
    assert!(
        beside >= 10 && seen * 10 >= beside * 7,
        "{seen} of {beside}"
    );
}
