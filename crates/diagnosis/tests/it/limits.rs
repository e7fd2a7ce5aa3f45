//! The budget of time and the stalls, held against what simulated senders knew, through the whole of it: a
//! capture at each end, read and diagnosed. Seeds that nothing was tuned with; `limits` in `validation/` does more.

use dupack_diagnosis::analyse::stalls::StallKind;

use dupack_truth::limits::cases;
use dupack_truth::limits::lot::Drawn;
use dupack_truth::limits::off::{MEASURES, Measure, Off, Summary};
use dupack_truth::limits::tape::End;

/// Far from those of development, which begin at 1.
const SEEDS: core::ops::Range<u64> = 700_000..700_040;

/// The share of transfers in which a measure must be within five points, at the sender's end and at the
/// receiver's: less than what many seeds give.
const LEAST: [(Measure, [f64; 2]); 4] = [
    (Measure::Idle, [0.97, 0.80]),
    (Measure::Rwnd, [0.85, 0.75]),
    (Measure::Application, [0.80, 0.70]),
    (Measure::Timers, [0.85, 0.75]),
];

#[test]
fn what_held_the_sender_is_told_as_it_knew_it() {
    let mut summaries = End::BOTH.map(|_| Summary::default());
    for seed in SEEDS {
        let tape = Drawn::of(seed).tape();
        for (end, summary) in End::BOTH.into_iter().zip(&mut summaries) {
            if let Some(found) = tape.diagnosed(end) {
                // That the shares are the whole is asserted there.
                summary.add(&Off::of(&tape.truth, &found));
            }
        }
    }
    for (end, summary) in End::BOTH.into_iter().zip(&summaries) {
        let lines: Vec<String> = MEASURES.into_iter().map(|m| summary.line(m)).collect();
        assert!(summary.count() >= 35, "{end:?} {}", summary.count());
        for (measure, least) in LEAST {
            let within = summary.within(measure);
            assert!(
                within >= least[end as usize],
                "{end:?} {measure:?} {lines:#?}"
            );
        }
    }
}

#[test]
fn stalls_are_of_the_kind_that_was_made() {
    for case in cases::all() {
        let told = case.told(End::Sender);
        assert!(told.starts_with(case.kinds), "{}: {told:?}", case.name);
    }
}

/// At the receiver what was lost is not seen. A timer's repair that is lost as well makes one stall of two, and
/// nothing tells a tail that is lost in a recovery from an application that stops.
#[test]
fn stalls_are_of_the_kind_that_was_made_at_the_receiver_too() {
    let of_two = |kinds: &[StallKind]| kinds.contains(&StallKind::TimeoutDouble);
    for case in cases::all() {
        let told = case.told(End::Receiver);
        let kinds = match case.kinds {
            [first, ..] if of_two(case.kinds) => &[*first],
            [StallKind::TailRecovery] => continue,
            kinds => kinds,
        };
        assert!(told.starts_with(kinds), "{}: {told:?}", case.name);
    }
}
