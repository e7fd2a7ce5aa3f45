//! Predictions for other senders, and findings about other flows at the bottleneck, are true for simulated transfers.
//! The tests repeat a part of the validation by `paths` in `validation/`, and their thresholds allow for chance.

use core::ops::Range;

use dupack_answers::{Came, Company, Question};
use dupack_diagnosis::path;

/// Seeds that differ from the seeds used in development, which begin at 1.
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
    // Other traffic counts only if it uses at least this fraction of the capacity.
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
    // Some flows cannot be detected: a flow with a constant rate looks like a slower link, and a captured flow that
    // never fills the path shows no effect of other traffic.
    assert!(
        beside >= 10 && seen * 10 >= beside * 7,
        "{seen} of {beside}"
    );
}
