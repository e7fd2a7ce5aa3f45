//! Tests of the recoveries for and against which each observed behaviour is evidence.

use super::*;
use crate::analyse::budget::film::{Film, MSS, at};
use crate::analyse::cause::Cause;
use crate::read::moment::Stage;
use crate::sender::repairs::Repairs;
use crate::sender::{Beginning, SenderAnalysis};

/// Simulates a sender, captured at the sender, that answers an ACK every 10 ms with a segment.
fn clocked() -> (Film<SenderAnalysis>, u64) {
    let analysis = SenderAnalysis::new(Beginning::Seen, MSS as u32);
    let mut film = Film::new(analysis, 1 << 30);
    film.send(at(0), 8);
    for n in 1..=100 {
        film.ack(at(n * 10), n * MSS);
        film.send(at(n * 10), 1);
    }
    (film, 100)
}

/// Returns the observations of this sender after an ACK with a SACK block; `shown` modifies its retransmissions.
fn with_sack(shown: impl Fn(&mut Repairs)) -> Seen {
    let (mut film, acked) = clocked();
    let block = (acked + 2) * MSS;
    film.ack_with(at(1010), acked * MSS, 1 << 30, Some((block, block + MSS)));
    let mut seen = *film.told.seen.expect("something was sent");
    shown(&mut seen.repairs);
    seen
}

fn without_sack(shown: impl Fn(&mut Repairs)) -> Seen {
    let (film, _) = clocked();
    let mut seen = *film.told.seen.expect("something was sent");
    shown(&mut seen.repairs);
    seen
}

/// Returns a verdict without a name of the control.
const fn any_control() -> Identification<Control> {
    Identification {
        name: None,
        nearest: None,
        why: String::new(),
        candidates: Vec::new(),
    }
}

fn verdict_of(seen: &Seen) -> Identification<Recovery> {
    verdict(seen, &any_control())
}

/// Returns the recoveries for which, and against which, a sentence with these words is evidence, in the order of
/// [`Recovery::ALL`].
fn speaks(seen: &Seen, words: &str) -> (Vec<Recovery>, Vec<Recovery>) {
    let told = verdict_of(seen).candidates;
    let with = |against: bool| {
        let has = |recovery: &Recovery| {
            let candidate = told.iter().find(|one| one.name == *recovery);
            let candidate = candidate.expect("all are candidates");
            let evidence = match against {
                true => &candidate.evidence_against,
                false => &candidate.evidence_for,
            };
            evidence.iter().any(|sentence| sentence.contains(words))
        };
        Recovery::ALL.into_iter().filter(has).collect()
    };
    (with(false), with(true))
}

const WITHOUT: [Recovery; 3] = [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno];
const SELECTIVE: [Recovery; 5] = [
    Recovery::Sack,
    Recovery::Fack,
    Recovery::Rack,
    Recovery::Le,
    Recovery::Momentary,
];

/// Returns all recoveries except these, in the order of [`Recovery::ALL`].
fn but(these: &[Recovery]) -> Vec<Recovery> {
    let all = Recovery::ALL.into_iter();
    all.filter(|recovery| !these.contains(recovery)).collect()
}

#[test]
fn sack_is_evidence_for_recoveries_that_use_it() {
    let seen = with_sack(|_| ());
    assert_eq!(speaks(&seen, "SACK was available").0, SELECTIVE);
    assert_eq!(speaks(&seen, "it does not use SACK").1, WITHOUT);
    let seen = without_sack(|repairs| {
        repairs.recoveries = 1;
    });
    assert_eq!(speaks(&seen, "there was no SACK").0, WITHOUT);
    assert_eq!(speaks(&seen, "no SACK, which it needs").1, SELECTIVE);
    // No segment was ever missing.
    let seen = without_sack(|_| ());
    assert_eq!(speaks(&seen, "SACK"), (vec![], vec![]));
    assert_eq!(
        verdict_of(&seen).why,
        "nothing was repaired without a timeout"
    );
}

#[test]
fn partial_acks_distinguish_reno_from_newreno() {
    let partial = |answered, unanswered| {
        without_sack(|repairs| {
            repairs.recoveries = 3;
            repairs.partial_answered = answered;
            repairs.partial_unanswered = unanswered;
        })
    };
    let verdict = verdict_of(&partial(0, 6));
    assert_eq!(verdict.name, Some(Recovery::Reno), "{verdict:?}");
    assert_eq!(
        verdict.why,
        "0 of 6 partial ACKs were answered at once with the next retransmission"
    );
    let answer_both = vec![Recovery::Tahoe, Recovery::NewReno];
    let (answered, words) = (partial(6, 0), "6 of 6 partial ACKs");
    assert_eq!(
        speaks(&answered, words),
        (answer_both, vec![Recovery::Reno])
    );
    assert_eq!(verdict_of(&answered).nearest, Some(Recovery::NewReno));
    // Equal numbers of answered and unanswered partial ACKs are no evidence. Without any partial ACK, no algorithm is
    // named.
    assert_eq!(speaks(&partial(3, 3), "partial ACKs"), (vec![], vec![]));
    assert_eq!(verdict_of(&partial(0, 0)).name, None);
}

#[test]
fn tail_loss_probes_are_evidence_for_rack() {
    let (mut film, acked) = clocked();
    for n in 0..3 {
        film.repeat(
            at(1200 + 100 * n),
            (acked + 7) * MSS,
            Cause::TailLossProbe,
            Stage::Open,
        );
    }
    let seen = *film.told.seen.expect("something was sent");
    let rack = vec![Recovery::Rack];
    assert_eq!(
        speaks(&seen, "3 tail loss probes"),
        (rack.clone(), but(&rack))
    );
    // Timeouts without probes are evidence against RACK.
    let (mut film, acked) = clocked();
    for n in 0..2 {
        film.repeat(
            at(1400 + 1000 * n),
            acked * MSS,
            Cause::Timeout { expiry: 1 },
            Stage::Loss,
        );
        film.ack_in(at(1500 + 1000 * n), (acked + 8 + n) * MSS, Stage::Open);
        film.send(at(1500 + 1000 * n), 1);
    }
    let seen = *film.told.seen.expect("something was sent");
    let words = "timeouts came without a tail loss probe";
    assert_eq!(speaks(&seen, words), (vec![], rack));
}

#[test]
fn detected_losses_of_retransmissions_are_evidence_for_rack_or_le() {
    let seen = with_sack(|repairs| {
        repairs.lost_again = 3;
    });
    let both = vec![Recovery::Rack, Recovery::Le];
    assert_eq!(
        speaks(&seen, "3 lost retransmissions"),
        (both.clone(), but(&both))
    );
    // A single retransmission may be misjudged.
    let seen = with_sack(|repairs| {
        repairs.lost_again = 1;
    });
    assert_eq!(speaks(&seen, "lost retransmissions"), (vec![], vec![]));
}

#[test]
fn retransmissions_by_time_and_by_the_highest_sack_are_evidence_for_rack_and_fack() {
    let both = vec![Recovery::Fack, Recovery::Rack];
    let by_time = |recoveries| {
        with_sack(|repairs| {
            repairs.by_time = 2;
            repairs.recoveries = recoveries;
        })
    };
    let (of, against) = speaks(&by_time(4), "2 retransmissions were triggered by time");
    assert_eq!((of, against), (both.clone(), but(&both)));
    // Two of many recoveries may match by chance.
    assert_eq!(speaks(&by_time(5), "by time"), (vec![], vec![]));
    assert_eq!(speaks(&by_time(2), "by time"), (vec![], vec![]));

    let ahead = |early, waited| {
        with_sack(|repairs| {
            repairs.by_forward_ack = early;
            repairs.not_by_forward_ack = waited;
        })
    };
    let words = "did not wait for the third";
    assert_eq!(speaks(&ahead(2, 0), words), (both.clone(), but(&both)));
    let fack = vec![Recovery::Fack];
    assert_eq!(speaks(&ahead(0, 2), words), (but(&fack), fack));
    assert_eq!(speaks(&ahead(2, 2), words), (vec![], vec![]));
}

#[test]
fn limited_transmit_is_evidence_for_all_sack_recoveries_except_fack() {
    let duplicates = |sent, silent| {
        with_sack(|repairs| {
            repairs.limited_transmit = sent;
            repairs.not_limited_transmit = silent;
        })
    };
    let others = vec![
        Recovery::Sack,
        Recovery::Rack,
        Recovery::Le,
        Recovery::Momentary,
    ];
    let fack = vec![Recovery::Fack];
    let words = "first duplicate ACKs were answered";
    let answered = speaks(&duplicates(4, 0), words);
    assert_eq!(answered, (others.clone(), fack.clone()));
    assert_eq!(speaks(&duplicates(0, 4), words), (fack, others));
    assert_eq!(speaks(&duplicates(3, 0), words), (vec![], vec![]));
    assert_eq!(speaks(&duplicates(2, 2), words), (vec![], vec![]));
}

#[test]
fn a_slower_pace_after_a_loss_is_proportional_rate_reduction() {
    let of = |spreads, pauses| {
        with_sack(|repairs| {
            repairs.spreads = spreads;
            repairs.pauses = pauses;
        })
    };
    let words = "proportional rate reduction";
    let rack = vec![Recovery::Rack];
    let others = vec![
        Recovery::Sack,
        Recovery::Fack,
        Recovery::Le,
        Recovery::Momentary,
    ];
    assert_eq!(speaks(&of(3, 0), words), (rack.clone(), vec![]));
    assert_eq!(speaks(&of(0, 3), words), (others, rack));
    assert_eq!(speaks(&of(2, 2), words), (vec![], vec![]));
}

#[test]
fn first_retransmissions_that_wait_for_room_are_evidence_for_momentary() {
    let of = |late, prompt| {
        with_sack(|repairs| {
            repairs.late = late;
            repairs.prompt = prompt;
        })
    };
    let words = "first retransmissions waited until";
    let momentary = vec![Recovery::Momentary];
    let others = SELECTIVE.into_iter().filter(|one| !momentary.contains(one));
    let late = speaks(&of(3, 0), words);
    assert_eq!(late, (momentary.clone(), others.collect()));
    assert_eq!(speaks(&of(0, 3), words), (vec![], momentary));
}

#[test]
fn unique_timestamps_are_evidence_for_le() {
    let of = |same, other, quick| {
        with_sack(|repairs| {
            repairs.same_timestamp = same;
            repairs.other_timestamp = other;
            repairs.quick_other_timestamp = quick;
        })
    };
    let words = "no two segments had the same timestamp";
    let le = vec![Recovery::Le];
    assert_eq!(speaks(&of(0, 100, 51), words), (le.clone(), but(&le)));
    for (same, other, quick) in [(1, 100, 51), (0, 99, 51), (0, 100, 50)] {
        let seen = of(same, other, quick);
        assert_eq!(
            speaks(&seen, words),
            (vec![], vec![]),
            "{same} {other} {quick}"
        );
    }
}

#[test]
fn pacing_hides_answers_to_acks() {
    let seen = with_sack(|repairs| {
        repairs.not_limited_transmit = 8;
        repairs.pauses = 3;
    });
    let model = Identification {
        name: Some(Control::Bbr),
        ..any_control()
    };
    let told = verdict(&seen, &model).candidates;
    let words =
        |sentence: &String| sentence.contains("duplicate ACKs") || sentence.contains("pace");
    for candidate in told {
        let evidence = [candidate.evidence_for, candidate.evidence_against].concat();
        assert!(!evidence.iter().any(words), "{evidence:?}");
    }
}
