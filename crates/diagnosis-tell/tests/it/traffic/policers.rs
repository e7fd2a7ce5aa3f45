//! Policers: named with their rate where the losses show it, and nowhere else.

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis_tell::story::story;
use dupack_truth::limits::tape::{End, Tape};

/// What is found at both ends of a transfer of some seconds over a path with these lines.
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
            assert!(said.starts_with("A policer drops what exceeds"), "{said}");
        }
    }
}

#[test]
fn a_bucket_that_only_bursts_empty_shows_no_rate() {
    // A window of three segments is all that passes at once: far less than the rate.
    for found in both("rack/cubic", 15, &policed(100.0, 40.0, 5.0, 4_500)) {
        assert_eq!(found.path.policer, None);
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
