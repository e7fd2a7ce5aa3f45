//! Tests with simulated captures: a prediction for another sender is compared with that sender's transfers on the true
//! path.

use dupack_algorithms::catalog::{Catalog, Dialect, StackSpec};
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::SenderOptions;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Interrupt, Plan};

use super::*;
use crate::testing::at_sender;

fn captured(stack: &str) -> Captured {
    Captured {
        stack: stack.to_owned(),
        dialect: Dialect::Linux,
        sender: SenderOptions::default(),
        behind: 0.0,
    }
}

fn transfer(stack: &str, link: &str, more: &str) -> String {
    format!(
        "stacks = [\"{stack}\"]\nseeds = 20\nduration = \"600s\"\ndialect = \"linux\"\n\
         [path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n{link}\n[[flows]]\nbytes = \"8MB\"\n{more}"
    )
}

/// Returns the true mean duration of the transfer that `text` describes.
fn truth(text: &str) -> f64 {
    let source = Source::new("truth.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let samples = results.samples(0, 0, Measure::Completion);
    let samples: Vec<f64> = samples.map(|(_, seconds)| seconds).collect();
    dupack_lab::stats::mean(&samples).unwrap()
}

#[test]
fn another_sender_takes_the_predicted_time() {
    let catalog = Catalog::builtin();
    for (from, to, link) in [
        (
            "rack/cubic",
            "rack/bbr",
            "loss = \"2%\"\nbuffer = \"100pkt\"",
        ),
        (
            "rack/bbr",
            "rack/cubic",
            "loss = \"1%\"\nbuffer = \"100pkt\"",
        ),
        ("rack/reno", "rack/cubic", "buffer = \"30pkt\""),
    ] {
        let path = at_sender(&transfer(from, link, ""), 3);
        let sender = captured(from);
        let question = WhatIf::new(&path, &sender, &catalog);
        let Gate::Passed(passed) = question.gate(&(), &Interrupt::new()) else {
            panic!("{from} {link}: {:?}", question.gate(&(), &Interrupt::new()));
        };
        let stack = StackSpec::parse(to, &catalog).unwrap();
        let answers = passed
            .ask(&[stack], &(), &Interrupt::new())
            .unwrap()
            .unwrap();
        let duration = answers[0].duration;
        let truth = truth(&transfer(to, link, ""));
        let off = duration.mean / truth - 1.0;
        assert!(off.abs() < 0.15, "{from} {to} {link}: {duration:?} {truth}");
        assert!(
            duration.low < truth && truth < duration.high,
            "{to}: {duration:?} {truth}"
        );
        assert_eq!(answers[0].offer, Offer::Given);
    }
}

#[test]
fn a_bottleneck_that_others_share_is_refused() {
    let others = "[[flows]]\nstack = \"rack/cubic\"\ncount = 2\nstart = \"2s\"";
    let path = at_sender(&transfer("rack/cubic", "buffer = \"60pkt\"", others), 1);
    let (sender, catalog) = (captured("rack/cubic"), Catalog::builtin());
    let question = WhatIf::new(&path, &sender, &catalog);
    let gate = question.gate(&(), &Interrupt::new());
    assert!(matches!(gate, Gate::Refused { .. }), "{gate:?}");
}

/// Returns the answers for the stacks `to` if `from` was captured.
fn answers(from: &str, to: &[&str], path: &Path) -> Vec<Answer> {
    let catalog = Catalog::builtin();
    let sender = captured(from);
    let question = WhatIf::new(path, &sender, &catalog);
    let Gate::Passed(passed) = question.gate(&(), &Interrupt::new()) else {
        panic!("{from}: {:?}", question.gate(&(), &Interrupt::new()));
    };
    let to = to.iter().map(|to| StackSpec::parse(to, &catalog).unwrap());
    let to: Vec<StackSpec> = to.collect();
    let mut answers = passed.ask(&to, &(), &Interrupt::new()).unwrap().unwrap();
    let replies = passed.replies(&to, &Interrupt::new()).unwrap();
    for (answer, replies) in answers.iter_mut().zip(replies.into_iter().flatten()) {
        answer.replies = Some(replies);
    }
    answers
}

#[test]
fn the_captured_sender_is_an_answer_and_a_far_slower_one_is_not() {
    let link = "loss = \"3%\"\nbuffer = \"100pkt\"";
    let path = at_sender(&transfer("rack/bbr", link, ""), 3);
    let told = answers("rack/bbr", &["rack/bbr", "newreno/reno"], &path);
    let [own, other] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!((own.role, own.offer), (Role::Captured, Offer::Given));
    // The captured transfer was faster than most transfers of its sender. The prediction is close to this sender's
    // mean.
    let off = own.duration.mean / truth(&transfer("rack/bbr", link, "")) - 1.0;
    assert!(off.abs() < 0.15, "{own:?}");
    assert_eq!(own.gain(), Gain::None);
    assert_eq!((other.role, other.offer), (Role::Another, Offer::FarSlower));
    // The transfer has no turns.
    assert_eq!(own.replies, None);
    let said = crate::summary::what_if(&crate::asking::Asked::Answered(told));
    assert!(
        said.starts_with("none of these would have been faster"),
        "{said}"
    );
    assert!(
        said.contains("rack/bbr, the captured sender, takes"),
        "{said}"
    );
}

#[test]
fn there_is_no_gain_over_a_sender_that_may_have_been_captured() {
    let catalog = Catalog::builtin();
    let path = at_sender(&transfer("rack/reno", "buffer = \"100pkt\"", ""), 3);
    let of = |senders: &[&str], is_named, asked: &str| {
        let senders: Vec<Captured> = senders.iter().map(|name| captured(name)).collect();
        let mut question = WhatIf::of_any(&path, &senders, &catalog);
        question.is_named = is_named;
        let Gate::Passed(passed) = question.gate(&(), &Interrupt::new()) else {
            panic!("{senders:?}");
        };
        assert_eq!(passed.senders.len(), senders.len());
        let stack = StackSpec::parse(asked, &catalog).unwrap();
        let answers = passed.ask(&[stack], &(), &Interrupt::new()).unwrap();
        answers.unwrap().remove(0)
    };
    let own = of(&["rack/reno"], true, "rack/reno");
    assert_eq!((own.role, own.is_rivalled), (Role::Captured, false));
    // Only one sender behaves like the captured one, but the capture does not identify the sender.
    let own = of(&["rack/reno"], false, "rack/reno");
    assert_eq!((own.role, own.is_rivalled), (Role::PerhapsCaptured, true));
    assert_eq!(own.gain(), Gain::None);
    // The prediction is also compared with the second possible sender, although no prediction for this sender was
    // requested.
    let both = ["rack/reno", "sack/reno"];
    let other = of(&both, true, "fack/reno");
    assert_eq!((other.role, other.is_rivalled), (Role::Another, true));
    assert_eq!(other.gain(), Gain::None);
    assert_eq!(of(&both, true, "sack/reno").role, Role::PerhapsCaptured);
}

#[test]
fn answers_of_a_connection_with_turns_are_predicted_individually() {
    let turns =
        "writes = [{ bytes = \"6kB\" }, { after = \"60ms\", bytes = \"6kB\", count = 119 }]";
    let text = |stack| {
        let text = transfer(stack, "loss = \"2%\"\nbuffer = \"100pkt\"", "");
        text.replace("bytes = \"8MB\"", turns)
    };
    let path = at_sender(&text("newreno/reno"), 2);
    let told = answers("newreno/reno", &["newreno/reno", "rack/cubic"], &path);
    let (own, other) = (told[0].replies.clone(), told[1].replies.clone());
    let (own, other) = (own.unwrap(), other.unwrap());
    assert_eq!((own.count, other.count), (120, 120));
    // The captured sender has no gain over itself.
    assert_eq!(own.sooner, 0, "{own:?}");
    let off = own.predicted.0 / own.captured.0 - 1.0;
    assert!(off.abs() < 0.15, "{own:?}");
    // Most losses are at the end of an answer. Tail loss probes repair them without a retransmission timeout.
    assert!(other.predicted.1 < own.captured.1, "{other:?}");
    assert!(other.sooner > 0, "{other:?}");
    let most = other.most[0];
    assert!(most.duration.high < most.captured, "{most:?}");
    assert!(other.most.len() <= other.sooner);
}

#[test]
fn one_overflow_more_or_less_is_the_same_behaviour() {
    let overflow = |link| gate::one_overflow(&at_sender(&transfer("rack/reno", link, ""), 3));
    let room = overflow("buffer = \"30pkt\"");
    assert!((25.0..36.0).contains(&room), "{room}");
    // Losses of the link are a property of the path.
    assert_eq!(overflow("loss = \"2%\"\nbuffer = \"100pkt\""), 0.0);
}

#[test]
fn a_sender_other_than_the_captured_one_does_not_pass() {
    let path = at_sender(
        &transfer("rack/bbr", "loss = \"2%\"\nbuffer = \"100pkt\"", ""),
        1,
    );
    let (sender, catalog) = (captured("newreno/reno"), Catalog::builtin());
    let question = WhatIf::new(&path, &sender, &catalog);
    let Gate::Refused { reason, checked } = question.gate(&(), &Interrupt::new()) else {
        panic!("it passes");
    };
    assert_eq!(reason, Reason::Differs);
    assert!(checked.iter().any(|one| one.bound() == Bound::Beyond));
    let sender = captured("rack/none-such");
    let question = WhatIf::new(&path, &sender, &catalog);
    let gate = question.gate(&(), &Interrupt::new());
    assert!(matches!(
        gate,
        Gate::Refused {
            reason: Reason::NoSuchSender(_),
            ..
        }
    ));
}

/// Result of a question about a transfer that shares the path with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Refused,
    NotOffered,
    Right,
    Wrong,
}

/// Compares the prediction for `to` with the truth. `from` was captured over `link`, together with the flows `others`.
fn came(from: &str, to: &str, link: &str, others: &str, seed: u64) -> (Came, String) {
    let catalog = Catalog::builtin();
    let path = at_sender(&transfer(from, link, others), seed);
    let sender = captured(from);
    let question = WhatIf::new(&path, &sender, &catalog);
    let passed = match question.gate(&(), &Interrupt::new()) {
        Gate::Passed(passed) => passed,
        other => return (Came::Refused, format!("{other:?}")),
    };
    let stack = StackSpec::parse(to, &catalog).unwrap();
    let answers = passed.ask(&[stack], &(), &Interrupt::new()).unwrap();
    let answer = &answers.unwrap()[0];
    let truth = truth(&transfer(to, link, others));
    let words = format!(
        "{:?} {:?} truth {truth} {:?} rate {:?} room {:?}",
        answer.duration, answer.offer, path.steadiness, path.rate, path.room
    );
    let off = (answer.duration.mean / truth - 1.0).abs();
    let how = match answer.offer {
        Offer::Given if off <= 0.15 => Came::Right,
        Offer::Given => Came::Wrong,
        Offer::TooWide | Offer::FarSlower | Offer::DoesNotEnd => Came::NotOffered,
    };
    (how, words)
}

/// Pairs of the captured sender and the sender to predict.
const PAIRS: [(&str, &str); 4] = [
    ("rack/cubic", "rack/bbr"),
    ("rack/bbr", "rack/cubic"),
    ("sack/reno", "rack/cubic"),
    ("rack/cubic", "newreno/reno"),
];

#[test]
#[ignore = "takes minutes: thousands of transfers"]
fn predictions_beside_unseen_flows_are_right_or_refused() {
    let mut counts = [0; 4];
    let mut wrong = Vec::new();
    for (n, (from, to)) in PAIRS.into_iter().enumerate() {
        for hidden in ["rack/cubic", "sack/reno", "rack/bbr"] {
            for (count, start) in [(1, 0), (1, 2), (2, 1), (5, 0), (1, 4)] {
                let room = [30, 80, 160][(n + count) % 3];
                let others = format!(
                    "[[flows]]\nstack = \"{hidden}\"\ncount = {count}\nstart = \"{start}s\"\n"
                );
                let link = format!("buffer = \"{room}pkt\"");
                let (how, words) = came(from, to, &link, &others, 1);
                counts[how as usize] += 1;
                if how == Came::Wrong {
                    wrong.push(format!(
                        "{from} {to} {count}×{hidden} at {start} s, {room} pkt: {words}"
                    ));
                }
            }
        }
    }
    eprintln!(
        "refused, not offered, right, wrong: {counts:?}\n{}",
        wrong.join("\n")
    );
    assert!(wrong.len() <= 3, "{wrong:#?}");
}

#[test]
#[ignore = "takes minutes: thousands of transfers"]
fn predictions_alone_on_a_path_are_right() {
    let mut counts = [0; 4];
    let mut odd = Vec::new();
    for (from, to) in PAIRS {
        for link in [
            "loss = \"2%\"\nbuffer = \"100pkt\"",
            "loss = \"1%\"\nbuffer = \"30pkt\"",
            "buffer = \"20pkt\"",
            "buffer = \"100pkt\"",
            "burst_loss = { enter = \"0.5%\", leave = \"30%\" }\nbuffer = \"100pkt\"",
            "reorder = { probability = \"1%\", delay = \"4ms\" }\nloss = \"1%\"\nbuffer = \"100pkt\"",
        ] {
            let (how, words) = came(from, to, link, "", 2);
            counts[how as usize] += 1;
            if how != Came::Right {
                odd.push(format!("{how:?}: {from} {to} {link}: {words}"));
            }
        }
    }
    eprintln!(
        "refused, not offered, right, wrong: {counts:?}\n{}",
        odd.join("\n")
    );
    assert!(
        counts[Came::Wrong as usize] <= 2 && counts[Came::Right as usize] >= 18,
        "{odd:#?}"
    );
}
