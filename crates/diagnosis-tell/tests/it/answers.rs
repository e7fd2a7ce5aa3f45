//! Answers about other senders, and about flows beside the captured one, are true of simulated transfers. This is a
//! part of what `paths` in `validation/` prints, with an allowance for chance.

use core::ops::Range;

use dupack_answers::{Came, Company, Question};
use dupack_diagnosis::path;

/// Seeds far from those used in development, which begin at 1.
const QUESTIONS: Range<u64> = 20_000..20_003;
const SHARED: Range<u64> = 20_000..20_030;

#[test]
fn predictions_for_another_sender_are_right_or_refused() {
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
fn other_traffic_at_the_bottleneck_is_detected() {
    // Other traffic matters from a quarter of the capacity on.
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
    // A flow with a constant rate looks like a slower link, and a flow that never fills the path sees no other traffic.
    assert!(
        beside >= 10 && seen * 10 >= beside * 7,
        "{seen} of {beside}"
    );
}
