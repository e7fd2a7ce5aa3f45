//! Comparison of the diagnosed retransmissions of simulated transfers with the truth that their senders know: a table
//! with a row for each stack.
//!
//! `cargo run --release --manifest-path validation/Cargo.toml --bin truth -- [TRANSFERS PER STACK] [SEED] [why] [needs]
//! [without-ids] [STACK]`; with `why`, every retransmission with a wrong class is printed; with `needs`, every
//! retransmission that is wrongly diagnosed as spurious or not; `without-ids` hides the identifications of packets.

use std::collections::BTreeMap;

use dupack_truth::retransmissions::record::Record;
use dupack_truth::retransmissions::score::{self, Score, Was, coarse};
use dupack_truth::retransmissions::told::{self, End, Explanation, Ids};
use dupack_truth::retransmissions::transfers::{self, Transfer};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise| {
        let argument = arguments.next();
        argument.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (count, seed) = (number(20), number(1));
    let flags: Vec<String> = arguments.collect();
    let why = flags.iter().any(|flag| flag == "why");
    let ids = if flags.iter().any(|flag| flag == "without-ids") {
        Ids::Absent
    } else {
        Ids::Counted
    };
    let only = flags
        .iter()
        .find(|flag| flag.contains('/') || flag.contains(' '));
    let mut scores: BTreeMap<(End, String), Score> = BTreeMap::new();
    for transfer in transfers::draw(count, seed) {
        let name = format!("{} {}", transfer.stack, transfer.dialect);
        if only.is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let record = Record::of(&transfer.text, transfer.seed);
        for end in [End::Sender, End::Receiver] {
            let explanation = told::explain(&record, end, ids);
            let score = Score::of(&record, &explanation);
            if flags.iter().any(|flag| flag == "needs") {
                explain_needs(&transfer, end, &record, &explanation);
            }
            if why {
                explain_errors(&transfer, end, &record, &explanation);
            }
            scores.entry((end, name.clone())).or_default().add(&score);
        }
    }
    print(&scores);
}

fn print(scores: &BTreeMap<(End, String), Score>) {
    for end in [End::Sender, End::Receiver] {
        let mut all = Score::default();
        println!(
            "\n{end:?}\n{:<24} {:>8} {:>9} {:>9}   spurious (right, false, missed, of) with DSACK, with timestamps, with neither   unknown   lost",
            "stack", "again", "class", "finely"
        );
        for ((_, name), score) in scores.iter().filter(|((at, _), _)| *at == end) {
            line(name, score);
            all.add(score);
        }
        line("all", &all);
        for (&(was, told), count) in &all.confusion {
            if was != told {
                println!("  {was:?} diagnosed as {told:?}: {count}");
            }
        }
    }
}

fn line(name: &str, score: &Score) {
    let (right, all) = score.classified();
    let (fine, _) = score.finely();
    let share = |part: u64| 100.0 * part as f64 / all.max(1) as f64;
    println!(
        "{name:<24} {all:>8} {:>8.2}% {:>8.2}%   {:?} {:?} {:?}   {:?}   {:?}",
        share(right),
        share(fine),
        score.by_dsack,
        score.by_timestamps,
        score.by_neither,
        score.not_told,
        score.lost
    );
}

fn explain_errors(transfer: &Transfer, end: End, record: &Record, explanation: &Explanation) {
    let truths = score::truth(record);
    for told in &explanation.told {
        let (was, is) = (truths[told.sent], score::told(told));
        let again = matches!(was, Was::Again(_)) || matches!(is, Was::Again(_));
        if again && coarse(was) != coarse(is) {
            let sent = &record.sends[told.sent];
            println!(
                "{end:?} {} {} [{}] {} seed {}: offset {} was {was:?} ({}) diagnosed {is:?} {:?} stage {:?}",
                transfer.stack,
                transfer.dialect,
                transfer.path,
                sent.at,
                transfer.seed,
                sent.offset,
                sent.why,
                told.record.map(|r| (r.cause, r.waited, r.transmission)),
                told.stage
            );
        }
    }
}

fn explain_needs(transfer: &Transfer, end: End, record: &Record, explanation: &Explanation) {
    for told in &explanation.told {
        let Some((needless, truly)) = score::needless(record, told) else {
            continue;
        };
        if needless != truly {
            let (sent, again) = (&record.sends[told.sent], &told.record);
            println!(
                "{end:?} {} {} [{}] {} seed {}: offset {} was {:?} diagnosed {:?}",
                transfer.stack,
                transfer.dialect,
                transfer.path,
                sent.at,
                transfer.seed,
                sent.offset,
                sent.copy,
                again.map(|again| (again.cause, again.transmission, again.need)),
            );
        }
    }
}
