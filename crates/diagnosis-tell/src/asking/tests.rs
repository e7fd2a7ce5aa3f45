//! Tests of the senders that may have been captured, and of the answers in words.

use super::*;
use crate::testing::answer;
use crate::whatif::{Replies, Reply};
use dupack_diagnosis::sender::{LeastTimeout, Recovery};

#[test]
fn a_short_timer_means_ns2_unless_the_first_flight_contradicts() {
    let short = |initial_segments| {
        dialects(&Traits {
            initial_segments,
            initial_is_window: Some(InitialBound::Window),
            least_timeout: Some(LeastTimeout {
                shortest: Duration::from_millis(200),
                srtt: Duration::from_millis(20),
                rule: TimeoutRule::Short,
            }),
            ..Traits::default()
        })
    };
    assert_eq!(short(Some(10)), [Dialect::Linux, Dialect::Ns2]);
    assert_eq!(short(Some(2)), [Dialect::Ns2]);
    assert_eq!(short(None), [Dialect::Ns2]);
}

fn traits(rule: Option<TimeoutRule>, initial: Option<(u32, InitialBound)>) -> Traits {
    Traits {
        initial_segments: initial.map(|(segments, _)| segments),
        initial_is_window: initial.map(|(_, bound)| bound),
        least_timeout: rule.map(|rule| LeastTimeout {
            shortest: ONE_SECOND,
            srtt: Duration::from_millis(20),
            rule,
        }),
        ..Traits::default()
    }
}

#[test]
fn a_timer_shows_the_dialect_or_else_the_first_flight_does() {
    let (linux, rfc, ns2) = (Dialect::Linux, Dialect::Rfc, Dialect::Ns2);
    let window = |segments| Some((segments, InitialBound::Window));
    let of = |rule, initial| dialects(&traits(rule, initial));
    assert_eq!(of(Some(TimeoutRule::Linux), window(2)), [linux]);
    assert_eq!(of(Some(TimeoutRule::OneSecond), window(10)), [rfc]);
    for rule in [None, Some(TimeoutRule::Other)] {
        assert_eq!(of(rule, window(4)), [ns2, rfc]);
        assert_eq!(of(rule, window(5)), [linux, rfc]);
        // The sender may have had no more data to send.
        assert_eq!(of(rule, Some((2, InitialBound::AtLeast))), [linux, rfc]);
        assert_eq!(of(rule, None), [linux, rfc]);
    }
}

fn report(name: Option<Control>, scores: &[(Control, f64)], traits: Traits) -> SenderReport {
    let candidates = scores.iter().map(|&(name, score)| Candidate {
        name,
        score,
        evidence_for: Vec::new(),
        evidence_against: Vec::new(),
    });
    SenderReport {
        recovery: Identification {
            name: None,
            nearest: None,
            why: String::new(),
            candidates: Vec::new(),
        },
        control: Identification {
            name,
            nearest: None,
            why: String::new(),
            candidates: candidates.collect(),
        },
        traits,
        stack: None,
    }
}

#[test]
fn candidates_close_to_the_best_fit() {
    let scores = [
        (Control::Cubic, 5.0),
        (Control::Reno, 4.0),
        (Control::Vegas, 1.0),
        (Control::Bbr, 0.9),
    ];
    let of = |name| {
        let control = report(name, &scores, Traits::default()).control;
        fitting(&control, Control::includes)
    };
    let (cubic, reno, vegas) = (Control::Cubic, Control::Reno, Control::Vegas);
    // The candidates that belong to `Halving` and whose scores are at most 3 below Reno's score.
    assert_eq!(of(Some(Control::Halving)), [(reno, 0.0), (vegas, 3.0)]);
    assert_eq!(of(Some(cubic)), [(cubic, 0.0)]);
    // The verdict has no name, so all candidates count.
    assert_eq!(of(None), [(cubic, 0.0), (reno, 1.0)]);
    assert_eq!(of(Some(Control::Fixed)), []);
}

#[test]
fn the_simulated_sender_has_the_captured_initial_window_and_least_timeout() {
    let of = |rule, initial| options(&report(None, &[], traits(rule, initial)));
    let one_second = Some(TimeoutRule::OneSecond);
    let full = of(one_second, Some((7, InitialBound::Window)));
    assert_eq!(full.initial_window, Some(Buffer::Packets(7)));
    assert_eq!(full.min_rto, Some(Delay::from_nanos(1_000_000_000)));
    let none = of(Some(TimeoutRule::Linux), Some((7, InitialBound::AtLeast)));
    assert_eq!((none.initial_window, none.min_rto), (None, None));
}

#[test]
fn differences_of_a_simulation_are_named_in_their_units() {
    let checked = |quantity, captured, simulated, allowed| Checked {
        quantity,
        captured,
        simulated,
        allowed,
    };
    let all = [
        checked(Quantity::Duration, 10.0, 20.0, 1.5),
        checked(Quantity::Goodput, 4.0, 4.1, 0.6),
        checked(Quantity::Losses, 3.0, 40.0, 7.0),
    ];
    assert_eq!(
        refusal(&Reason::Differs, &all),
        "the captured sender behaves differently if it is simulated on the path that the capture shows: duration 20 s instead \
         of 10 s ± 1.5 s, losses 40 instead of 3 ± 7"
    );
    assert_eq!(
        differs(&all[1]),
        "goodput 4.1 Mbit/s instead of 4 Mbit/s ± 600 kbit/s"
    );
}

#[test]
fn the_compared_part_is_named_if_it_is_small() {
    let of = |seconds| {
        let took = Duration::from_millis(30);
        acknowledged_only((700, took), Duration::from_millis(seconds))
    };
    assert_eq!(
        of(30_000).as_deref(),
        Some("; only acknowledged data is compared: 700 B in 30 ms")
    );
    assert_eq!(of(50), None);
}

#[test]
fn single_answers_are_printed_only_if_one_would_have_arrived_sooner() {
    let mut one = answer("rack/cubic", (7.0, 8.0, 9.0), Role::Another, Offer::Given);
    let mut replies = Replies {
        count: 22,
        captured: (0.0011, 0.041),
        predicted: (0.0011, 0.0011),
        sooner: 0,
        most: Vec::new(),
    };
    one.replies = Some(replies.clone());
    assert_eq!(replies_in_words(&one), None);
    replies.sooner = 1;
    replies.most.push(Reply {
        number: 3,
        captured: 0.041,
        duration: Estimate {
            mean: 0.001,
            low: 0.001,
            high: 0.001,
        },
    });
    one.replies = Some(replies);
    let said = replies_in_words(&one).unwrap();
    assert!(
        said.ends_with("1 would have arrived sooner, answer 3 with the largest gain of 40 ms"),
        "{said}"
    );
}

#[test]
fn an_answer_has_its_interval_and_a_comparison_with_the_capture() {
    let said = |seconds, role| in_words(&answer("rack/cubic", seconds, role, Offer::Given));
    assert_eq!(
        said((7.0, 8.0, 9.0), Role::Another),
        "rack/cubic would have taken 8 s (7 to 9 s), 20 % (10 to 30 %) less than the 10 s captured"
    );
    assert_eq!(
        said((11.0, 12.0, 14.0), Role::PerhapsCaptured),
        "rack/cubic, which may be the captured sender, would have taken 12 s (11 to 14 s), 20 % (10 to 40 %) more than the \
         10 s captured"
    );
    assert_eq!(
        said((9.0, 9.9, 11.0), Role::Another),
        "rack/cubic would have taken 9.9 s (9 to 11 s), no significant difference from the 10 s captured"
    );
    assert_eq!(
        said((9.0, 9.9, 11.0), Role::Captured),
        "rack/cubic, the captured sender, takes 9.9 s (9 to 11 s) in simulations"
    );
}

#[test]
fn an_answer_is_no_gain_if_a_possibly_captured_sender_is_as_fast() {
    let said = |role| {
        let mut one = answer("rack/veno", (7.0, 8.0, 9.0), role, Offer::Given);
        (one.is_rivalled, one.beside) = (true, Gain::None);
        in_words(&one)
    };
    assert_eq!(
        said(Role::Another),
        "rack/veno would have taken 8 s (7 to 9 s), no significant difference from a stack that may be the captured sender"
    );
    assert_eq!(
        said(Role::PerhapsCaptured),
        "rack/veno, which may be the captured sender, takes 8 s (7 to 9 s) in simulations"
    );
}

#[test]
fn a_sender_is_named_only_if_its_control_and_its_recovery_are() {
    let of = |control, recovery, losses| {
        let mut report = report(control, &[], Traits::default());
        report.recovery.name = recovery;
        is_named(&report, losses)
    };
    let rack = Some(Recovery::Rack);
    assert!(of(Some(Control::Cubic), rack, 3));
    assert!(of(Some(Control::Cubic), None, 0));
    assert!(!of(Some(Control::Cubic), None, 3));
    assert!(!of(None, rack, 3) && !of(None, rack, 0));
    // A family is not the name of a single sender.
    assert!(!of(Some(Control::Halving), rack, 3));
    assert!(!of(Some(Control::BbrOfSomeVersion), rack, 0));
}

#[test]
fn an_unreliable_answer_has_no_duration() {
    let said = |offer| in_words(&answer("rack/cubic", (7.0, 8.0, 9.0), Role::Another, offer));
    assert_eq!(
        said(Offer::TooWide),
        "rack/cubic: the capture does not show the path precisely enough"
    );
    assert_eq!(
        said(Offer::FarSlower),
        "rack/cubic: several times slower than the 10 s captured"
    );
    assert_eq!(
        said(Offer::DoesNotEnd),
        "rack/cubic: its transfer does not end"
    );
}

#[test]
fn there_is_no_gain_if_the_captured_sender_gains_in_simulations() {
    let mut lucky = answer("rack/cubic", (7.0, 8.0, 9.0), Role::Another, Offer::Given);
    assert_eq!(lucky.gain(), Gain::Faster);
    lucky.beside = Gain::None;
    assert_eq!(lucky.gain(), Gain::None);
    let own = answer("rack/cubic", (7.0, 8.0, 9.0), Role::Captured, Offer::Given);
    assert_eq!(own.gain(), Gain::None);
}

#[test]
fn a_transfer_that_is_faster_than_its_application_is_refused() {
    let given = |seconds| {
        let interval = (seconds, seconds, seconds);
        answer("rack/veno", interval, Role::Another, Offer::Given)
    };
    let silent = (Duration::from_secs(8), Duration::from_secs(10));
    let told = |answers: &[Answer]| faster_than_its_application(answers, silent);
    assert_eq!(told(&[given(9.0), given(7.9)]), None);
    assert_eq!(
        told(&[given(9.0), given(7.0)]).as_deref(),
        Some(
            "the application sent nothing for 8 s of 10 s, but simulated transfers take 7 s: the two contradict each other"
        )
    );
    let unreliable = answer("rack/veno", (1.0, 1.0, 1.0), Role::Another, Offer::TooWide);
    assert_eq!(told(&[given(9.0), unreliable]), None);
}

#[test]
fn every_control_that_can_be_named_can_be_simulated() {
    let all = [
        Control::Reno,
        Control::Cubic,
        Control::Bbr,
        Control::BbrOne,
        Control::BbrOfSomeVersion,
        Control::Halving,
        Control::Westwood,
        Control::Vegas,
        Control::Fixed,
    ];
    for control in all {
        let stack = format!("rack/{}", control.in_stack());
        let parsed = StackSpec::parse(&stack, &Catalog::builtin());
        assert!(parsed.is_ok(), "{stack}");
    }
    assert!(is_named(
        &report(Some(Control::BbrOne), &[], Traits::default()),
        0
    ));
    assert!(!is_named(
        &report(Some(Control::Halving), &[], Traits::default()),
        0
    ));
}
