//! Diagnoses of paths with a policer. They name the policer and its rate only if the losses show it.

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis::StreamFindings;
use dupack_diagnosis_tell::asking::{Asked, ask};
use dupack_diagnosis_tell::story::story;
use dupack_diagnosis_tell::whatif::values::Values;
use dupack_lab::run::Interrupt;
use dupack_truth::limits::tape::{End, Tape};

/// Returns the findings at both endpoints of a transfer whose path is described by the lines `path`.
fn both(stack: &str, seconds: u32, path: &str) -> Vec<StreamFindings> {
    let text = format!(
        "stacks = [\"{stack}\"]\ndialect = \"linux\"\nseeds = 1\nduration = \"{seconds}s\"\n[path]\n{path}\n\
         [sender]\nsegment = \"1448B\"\n[receiver]\nacks = \"adaptive\"\n"
    );
    let tape = Tape::of(&text, 1);
    let found = End::BOTH.map(|end| tape.diagnosed(end).unwrap());
    found.into()
}

fn policed(link: f64, rtt: f64, rate: f64, burst: u32) -> String {
    format!(
        "rate = \"{link}Mbit/s\"\ndelay = \"{}ms\"\nbuffer = \"500pkt\"\nqueue = \"policer\"\n\
         token_bucket = {{ rate = \"{rate}Mbit/s\", burst = \"{burst}B\" }}",
        rtt / 2.0
    )
}

#[test]
fn a_policer_is_named_with_its_rate_at_both_ends() {
    for (rtt, rate, burst) in [(40.0, 1.0, 25_000), (100.0, 5.0, 125_000)] {
        for found in both("rack/cubic", 15, &policed(20.0 * rate, rtt, rate, burst)) {
            let told = found.path.policer.and_then(|policer| policer.rate.value());
            let off = told.map_or(1.0, |told| (told / 1e6 / rate - 1.0).abs());
            assert!(off < 0.02, "{rate}: {told:?}");
            let said = story(&found);
            let named =
                format!("A policer drops packets that exceed its rate of {rate:.0} Mbit/s: ");
            assert!(said.starts_with(&named), "{said}");
            // The policer is the bottleneck.
            assert_eq!(found.path.rate.value(), told.map(f64::floor));
        }
    }
}

#[test]
fn what_if_simulates_the_policer() {
    let [at_sender, at_receiver] = both("rack/cubic", 15, &policed(100.0, 40.0, 5.0, 125_000))
        .try_into()
        .expect("both ends");
    // Packets that the policer passes arrive at the rate of the link.
    let link = Values::best(&at_sender.path).rate;
    assert!((link / 1e8 - 1.0).abs() < 0.01, "{link}");
    let catalog = Catalog::builtin();
    for found in [at_sender, at_receiver] {
        let stacks =
            ["rack/cubic", "rack/reno"].map(|stack| StackSpec::parse(stack, &catalog).unwrap());
        let asked = ask(&found, &catalog, Some(&stacks), &(), &Interrupt::new());
        let Ok(Asked::Answered(answers)) = asked else {
            panic!("{asked:?}");
        };
        // The policer limits both senders in the same way.
        assert_eq!(answers.len(), 2);
        for answer in answers {
            let off = answer.duration.mean / found.path.transfer.duration.as_secs_f64() - 1.0;
            assert!(off.abs() < 0.25, "{answer:?}");
        }
    }
}

#[test]
fn a_bucket_that_only_bursts_empty_shows_no_rate() {
    // A full bucket holds less data than the policer passes in one round trip.
    for burst in [4_500, 15_000] {
        for found in both("rack/cubic", 15, &policed(100.0, 40.0, 5.0, burst)) {
            let path = &found.path;
            assert_eq!(path.policer, None);
            // The policer is part of the path. Neither the cause of the losses nor the rate of the path is known.
            assert_eq!((path.random_loss.value(), path.rate.value()), (None, None));
            assert!(path.rate.at_least().unwrap() < 5e6);
            let said = story(&found);
            assert!(said.contains("osses keep the window small"), "{said}");
            assert!(!said.contains("where the path holds"), "{said}");
        }
    }
}

#[test]
fn losses_of_a_queue_and_of_the_link_are_no_policers() {
    for rest in [
        "buffer = \"20pkt\"",
        "buffer = \"5pkt\"",
        "buffer = \"200pkt\"\nloss = \"1%\"",
    ] {
        for stack in ["rack/cubic", "sack/reno"] {
            let path = format!("rate = \"10Mbit/s\"\ndelay = \"20ms\"\n{rest}");
            for found in both(stack, 15, &path) {
                assert_eq!(found.path.policer, None, "{stack} {rest}");
            }
        }
    }
}
