//! Retransmissions of simulated transfers, compared with the knowledge of their senders.
//!
//! `truth` in `validation/` prints the whole table.

use dupack_truth::retransmissions::record::Record;
use dupack_truth::retransmissions::score::Score;
use dupack_truth::retransmissions::told::{self, End, Ids};
use dupack_truth::retransmissions::transfers;

fn scores(end: End, ids: Ids) -> Score {
    let mut all = Score::default();
    for transfer in transfers::draw(2, 1) {
        let record = Record::of(&transfer.text, transfer.seed);
        all.add(&Score::of(&record, &told::explain(&record, end, ids)));
    }
    all
}

/// Returns the fraction of correctly explained retransmissions, in parts per thousand.
fn per_mille((right, all): (u64, u64)) -> u64 {
    assert!(all > 300, "too few retransmissions: {all}");
    right * 1000 / all
}

#[test]
fn causes_at_the_sender_agree_with_its_knowledge() {
    let score = scores(End::Sender, Ids::Absent);
    let share = per_mille(score.classified());
    assert!(share >= 985, "{share}: {:?}", score.confusion);
}

#[test]
fn causes_at_the_receiver_mostly_agree_with_the_senders_knowledge() {
    let score = scores(End::Receiver, Ids::Counted);
    let share = per_mille(score.classified());
    assert!(share >= 950, "{share}: {:?}", score.confusion);
}
