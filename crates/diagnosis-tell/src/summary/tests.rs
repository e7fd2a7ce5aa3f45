//! Tests of the line about other senders.

use super::*;
use crate::testing::answer;
use crate::whatif::{Answer, Gain, Offer, Role};

fn said(answers: Vec<Answer>) -> String {
    what_if(&Asked::Answered(answers))
}

/// Returns a reliable answer.
fn given(stack: &str, seconds: f64, role: Role) -> Answer {
    let around = (seconds - 1.0, seconds, seconds + 1.0);
    answer(stack, around, role, Offer::Given)
}

fn own() -> Answer {
    given("rack/reno", 10.0, Role::Captured)
}

#[test]
fn a_faster_sender_comes_first_with_its_command_and_the_captured_one_last() {
    let faster = given("rack/cubic", 8.0, Role::Another);
    assert_eq!(
        said(vec![faster, own()]),
        "rack/cubic would have taken 8 s (7 to 9 s), 20 % (10 to 30 %) less than the 10 s captured; `dupack stacks rack/cubic` \
         shows how to enable it; rack/reno, the captured sender, takes 10 s (9 to 11 s) in simulations"
    );
}

#[test]
fn a_faster_sender_that_linux_does_not_have_has_no_command() {
    let faster = given("rack/bbr", 8.0, Role::Another);
    let said = said(vec![faster, own()]);
    assert!(!said.contains("dupack stacks"), "{said}");
}

#[test]
fn the_line_begins_with_none_if_no_sender_is_faster() {
    let other = given("rack/bbr", 10.6, Role::Another);
    let said_of = said(vec![own(), other]);
    assert!(
        said_of.starts_with(
            "none of these would have been faster; rack/bbr would have taken 11 s (9.6 to 12 s), no significant difference from"
        ),
        "{said_of}"
    );
    let far = answer(
        "newreno/reno",
        (90.0, 100.0, 110.0),
        Role::Another,
        Offer::FarSlower,
    );
    assert_eq!(
        said(vec![far]),
        "none of these would have been faster; newreno/reno: several times slower than the 10 s captured"
    );
}

#[test]
fn nothing_is_advised_if_a_sender_that_may_be_the_captured_one_is_as_fast() {
    let mut faster = given("rack/veno", 8.0, Role::Another);
    (faster.is_rivalled, faster.beside) = (true, Gain::None);
    let mut perhaps = given("rack/cubic", 8.1, Role::PerhapsCaptured);
    (perhaps.is_rivalled, perhaps.beside) = (true, Gain::None);
    let said = said(vec![faster, perhaps]);
    assert_eq!(
        said,
        "none of these would have been faster than the captured sender, as far as can be determined; rack/veno would have \
         taken 8 s (7 to 9 s), no significant difference from a stack that may be the captured sender; rack/cubic, which may \
         be the captured sender, takes 8.1 s (7.1 to 9.1 s) in simulations"
    );
}

#[test]
fn three_answers_are_printed_and_the_others_counted() {
    let stacks = [
        "rack/bbr",
        "rack/reno",
        "sack/reno",
        "fack/reno",
        "newreno/reno",
    ];
    let all = stacks.map(|stack| given(stack, 8.0, Role::Another));
    let said_of = said(all.to_vec());
    assert!(
        said_of.contains("; sack/reno would have taken"),
        "{said_of}"
    );
    assert!(!said_of.contains("fack/reno"), "{said_of}");
    assert!(
        said_of.ends_with("; 2 more would have been no faster than these"),
        "{said_of}"
    );
}

#[test]
fn the_line_without_an_answer_has_the_reason() {
    let wide = answer("rack/bbr", (1.0, 8.0, 15.0), Role::Another, Offer::TooWide);
    assert_eq!(
        said(vec![wide]),
        "no answer: the capture does not show the path precisely enough"
    );
    let refused = Asked::Refused("no data was acknowledged".to_owned());
    assert_eq!(what_if(&refused), "no answer: no data was acknowledged");
    assert_eq!(
        what_if(&Asked::Interrupted),
        "interrupted before there was an answer"
    );
}

#[test]
fn several_senders_that_may_have_been_captured_are_named() {
    let ends = |senders: &[&str]| {
        let mut one = given("rack/cubic", 8.0, Role::Another);
        one.senders = senders.iter().map(|&sender| sender.to_owned()).collect();
        let said = said(vec![one]);
        let (_, last) = said.rsplit_once("; ").expect("it has parts");
        last.to_owned()
    };
    assert_eq!(
        ends(&["a", "b"]),
        "senders that may have been captured: a, b"
    );
    assert_eq!(
        ends(&["a", "b", "c", "d", "e"]),
        "senders that may have been captured: a, b, c, 2 others"
    );
    assert!(ends(&["a"]).ends_with("shows how to enable it"));
}

/// Returns the line about retransmissions, for a stream of a thousand segments with these numbers of retransmissions in
/// each class. `change` modifies the stream.
fn again(classes: &[(Class, u64)], change: impl Fn(&mut StreamFindings)) -> String {
    let text = "stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"10s\"\n\
                [path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n[[flows]]\nbytes = \"20kB\"\n";
    let mut stream = crate::testing::stream(text, 1);
    stream.shares.segments = 1000;
    for (class, number) in classes {
        stream.account.by_class[*class as usize] = *number;
        stream.account.retransmissions += number;
    }
    change(&mut stream);
    sent_again(&stream)
}

#[test]
fn retransmissions_are_counted_by_their_triggers() {
    assert_eq!(again(&[], |_| ()), "nothing");
    let all = [
        (Class::Fast, 4),
        (Class::Further, 3),
        (Class::Timeout, 2),
        (Class::AfterTimeout, 1),
        (Class::TailLossProbe, 2),
    ];
    assert_eq!(
        again(&all, |_| ()),
        "12 of 1,000 segments (1.2 %): 4 fast, 3 further in the same recoveries, 2 by timeouts, 1 after timeouts, 2 tail loss \
         probes"
    );
    let one = [(Class::Timeout, 1), (Class::TailLossProbe, 1)];
    assert_eq!(
        again(&one, |_| ()),
        "2 of 1,000 segments (0.20 %): 1 by a timeout, 1 tail loss probe"
    );
}

#[test]
fn spurious_and_late_segments_follow_the_retransmissions() {
    let said = again(&[(Class::Fast, 10)], |stream| {
        stream.account.needless_by_dsack = 2;
        stream.account.needless_by_time = 1;
        stream.account.lost_again = 4;
        (stream.overtaken, stream.reordered) = (5, 6);
        stream.vantage.place = Place::Receiver;
    });
    assert_eq!(
        said,
        "at least 10 of 1,000 segments (1 %): 10 fast; 3 spurious; 4 lost again; 11 segments were overtaken and arrived late"
    );
}
