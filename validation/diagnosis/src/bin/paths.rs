//! Comparison of diagnosed paths, and of predictions for other senders on these paths, with the truth of simulated
//! transfers. Every transfer is captured at both ends, and the captures get the full diagnosis.
//!
//! ```text
//! cargo run --release --manifest-path validation/Cargo.toml --bin paths -- [COUNT] [FIRST SEED] [why [QUANTITY]]
//! cargo run --release --manifest-path validation/Cargo.toml --bin paths -- what-if [COUNT] [FIRST SEED] [why]
//! cargo run --release --manifest-path validation/Cargo.toml --bin paths -- of FILE
//! ```
//!
//! With `why`, every wrong answer is printed; QUANTITY selects the answers about quantities whose names begin with it.
//! With `what-if`, the transfer times of two other senders are predicted for COUNT transfers, and for the same number
//! of transfers that share their bottleneck with flows which are not in any capture. Every wrong prediction is printed,
//! and with `why` all predictions. Some of these flows send only after the transfer, so that no capture can reveal
//! them. Transfers with such flows are counted separately. With `of`, the findings about the worst connection of a
//! capture are printed.

use dupack_algorithms::catalog::Catalog;
use dupack_diagnosis::{ConnectionFindings, Flow, diagnose};
use dupack_diagnosis_tell::asking::{ask, captured};
use dupack_diagnosis_tell::summary;
use dupack_lab::run::Interrupt;
use dupack_packet::captured::CaptureReader;

use dupack_answers::{Came, Company, Question};
use dupack_truth::paths::capture::End;
use dupack_truth::paths::drawn::Drawn;
use dupack_truth::paths::judge::{self, Happened, Scores};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: u64| {
        let argument = arguments.get(place);
        argument.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    match arguments.first().map(String::as_str) {
        Some("what-if") => what_if(number(1, 20), number(2, 1), &arguments),
        Some("of") => of(arguments.get(1).expect("a file")),
        _ => paths(number(0, 100), number(1, 1), &arguments),
    }
}

fn of(file: &str) {
    let file = std::fs::File::open(file).expect("a file that can be read");
    let mut reader = CaptureReader::new(file).expect("a capture");
    let diagnosis = diagnose(&mut reader, Flow::All, &mut ()).expect("a capture");
    let worst = diagnosis.connections.first();
    let Some(stream) = worst.and_then(ConnectionFindings::main_stream) else {
        return println!("no data");
    };
    println!("{:#?}\n{:#?}", stream.path, captured(stream));
    let asked = ask(stream, &Catalog::builtin(), None, &(), &Interrupt::new());
    println!(
        "{}",
        asked.map_or_else(|why| why, |asked| summary::what_if(&asked))
    );
}

/// Other flows at the bottleneck of a transfer: none, some during the capture, or some only after the capture.
const BESIDE: [&str; 3] = ["alone", "beside others", "others came later"];

fn what_if(count: u64, first: u64, arguments: &[String]) {
    let why = arguments.iter().any(|argument| argument == "why");
    let mut counts = [[0; 4]; 3];
    for company in [Company::Alone, Company::Hidden] {
        for seed in first..first + count {
            let question = Question::of(seed, company);
            let beside = match company {
                Company::Alone => 0,
                Company::Hidden if question.others() > 0.0 => 1,
                Company::Hidden => 2,
            };
            for (came, words) in question.answers() {
                if why || came == Came::Wrong {
                    println!("{came:?}, {}: {words}", BESIDE[beside]);
                }
                counts[beside][came as usize] += 1;
            }
        }
    }
    println!(
        "{:<18} {:>9} {:>6} {:>6} {:>8} {:>9}",
        "", "questions", "right", "wrong", "refused", "too wide"
    );
    for (beside, [right, wrong, refused, too_wide]) in BESIDE.iter().zip(counts) {
        let all = right + wrong + refused + too_wide;
        println!("{beside:<18} {all:>9} {right:>6} {wrong:>6} {refused:>8} {too_wide:>9}");
    }
}

fn paths(count: u64, first: u64, arguments: &[String]) {
    let mut scores = Scores::new();
    for seed in first..first + count {
        let drawn = Drawn::of(seed);
        let trace = judge::run(&drawn.experiment(), seed);
        let happened = Happened::of(&trace);
        for end in End::BOTH {
            let Some(found) = judge::findings(&trace, end, drawn.short_rtt()) else {
                println!("no findings at the {end:?}: {}", drawn.line());
                continue;
            };
            judge::judge(&mut scores, &drawn, &happened, end, &found.path);
            if arguments.iter().any(|argument| argument == "all") {
                println!("{end:?} {} {happened:?}\n  {:?}", drawn.line(), found.path);
            }
        }
    }
    println!(
        "{:<20} {:<9} {:>6} {:>6} {:>6} {:>6} {:>8}",
        "", "at the", "asked", "told", "right", "wrong", "covered"
    );
    for ((what, end), score) in &scores {
        let covered = 100.0 * f64::from(score.covered) / f64::from(score.told.max(1));
        println!(
            "{what:<20} {:<9} {:>6} {:>6} {:>6} {:>6} {covered:>7.1}%",
            format!("{end:?}"),
            score.asked,
            score.told,
            score.right,
            score.told - score.right
        );
    }
    let Some(place) = arguments.iter().position(|argument| argument == "why") else {
        return;
    };
    let only = arguments.get(place + 1);
    for ((what, end), score) in &scores {
        if only.is_none_or(|only| what.starts_with(only.as_str())) {
            for wrong in &score.wrong {
                println!("{what}, {end:?}: {wrong}");
            }
        }
    }
}
