//! Tests of two joined captures of simulated transfers: exact counts, clocks, and the path between the captures.

use dupack_diagnosis::both::{BothEnds, BothError, Queue, Way, Which, diagnose_both};
use dupack_diagnosis::{ConnectionFindings, Diagnosis, Selection, Side};
use dupack_packet::captured::CaptureReader;
use dupack_truth::both::{Fates, Pair};
use dupack_truth::limits::tape::{End, Tape};

/// Experiment text with losses in both directions. The queue is in the forward direction.
const LOSSY: &str = "loss = \"1.5%\"\nreverse = { loss = \"4%\" }\n[[flows]]\nbytes = \"2MB\"";

fn transfer(text: &str, seed: u64) -> Pair {
    let text = format!(
        "stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"120s\"\ndialect = \"linux\"\n\
         [path]\nrate = \"8Mbit/s\"\ndelay = \"25ms\"\nbuffer = \"60pkt\"\n{text}\n"
    );
    Pair::of(&Tape::of(&text, seed))
}

/// Returns the findings of both captures in the given order, and the capture that is diagnosed.
fn joined(files: &[Vec<u8>; 2]) -> Result<(Diagnosis, Which), BothError> {
    let open = |which| {
        CaptureReader::new(match which {
            Which::First => files[0].as_slice(),
            Which::Second => files[1].as_slice(),
        })
    };
    diagnose_both(open, &Selection::default(), &mut ())
}

fn files(pair: &Pair) -> [Vec<u8>; 2] {
    End::BOTH.map(|end| pair.file(end))
}

/// Returns the only connection, diagnosed from the sender's capture. Both orders of the captures give the same
/// findings.
#[track_caller]
fn told(pair: &Pair) -> ConnectionFindings {
    let [sender, receiver] = files(pair);
    let (mut found, which) = joined(&[receiver.clone(), sender.clone()]).unwrap();
    assert_eq!(which, Which::Second);
    let reversed = found.connections.remove(0);
    let (mut found, which) = joined(&[sender, receiver]).unwrap();
    assert_eq!(which, Which::First);
    let found = found.connections.remove(0);
    assert_eq!(found.both, reversed.both);
    found
}

#[track_caller]
fn both(found: &ConnectionFindings) -> &BothEnds {
    found.both.as_ref().unwrap()
}

/// Returns the counts of a direction that the simulation also provides.
fn fates(way: &Way) -> Fates {
    Fates {
        sent: way.sent,
        lost_data: way.lost_data,
        lost_acks: way.lost_acks,
        reordered: way.reordered,
        duplicated: way.duplicated,
        needless: way.needless,
    }
}

#[track_caller]
fn exact(pair: &Pair, told: &BothEnds) {
    for (side, end) in Side::BOTH.into_iter().zip(End::BOTH) {
        let way = told.ways.of(side);
        assert_eq!(fates(way), pair.fates(end), "{end:?}: {way:?}");
        let whole = Way {
            missing_far: 0,
            missing_near: 0,
            unseen_bytes: 0,
            undecided: 0,
            unexplained: 0,
            ..way.clone()
        };
        assert_eq!(*way, whole);
    }
}

#[test]
fn losses_in_both_directions_are_exact_with_any_clocks() {
    for (seed, ahead, ppm) in [
        (1, 0.0, 0.0),
        (2, 2.5 * 3600.0, 50.0),
        (3, -86_400.0, -50.0),
    ] {
        let mut pair = transfer(LOSSY, seed);
        let truth = End::BOTH.map(|end| pair.fates(end));
        assert!(
            truth[0].lost_data > 10 && truth[1].lost_acks > 10,
            "{truth:?}"
        );
        pair.clock(ahead, ppm);
        exact(&pair, both(&told(&pair)));
    }
}

#[test]
fn the_offset_is_within_its_uncertainty_and_the_drift_is_found() {
    for (seed, ahead, ppm) in [(11, 7200.0, 50.0), (12, -0.004, -50.0), (13, 86_400.0, 0.0)] {
        let text = "loss = \"1%\"\n[[flows]]\nbytes = \"20MB\"";
        let mut pair = transfer(text, seed);
        pair.clock(ahead, ppm);
        let found = told(&pair);
        let told = both(&found);
        let clock = told.clock.unwrap();
        let off = (clock.offset_s - ahead).abs();
        let uncertainty = clock.uncertainty.as_secs_f64();
        // In addition to the 25 ms of each direction, the forward direction contains the transmission time of a full
        // packet.
        assert!(off <= uncertainty, "{off} s are more than {uncertainty} s");
        assert!(
            (0.05..0.054).contains(&(2.0 * uncertainty)),
            "{uncertainty}"
        );
        let (low, high) = clock.skew.interval().unwrap();
        let truth = ppm * 1e-6;
        assert!(low - 2e-6 <= truth && truth <= high + 2e-6, "{clock:?}");
        // The queue is in the direction of the data.
        assert_eq!(told.queue(), Some(Queue::From(Side::Opener)));
    }
}

#[test]
fn a_nat_and_a_box_that_rewrites_sequence_numbers_are_recognised() {
    for by in [0, 1_234_567, u32::MAX - 5] {
        let mut pair = transfer(LOSSY, 21);
        let truth = pair.clone();
        pair.clock(3600.0, 20.0);
        pair.nat();
        pair.move_numbers(by);
        pair.change_syn(1300);
        let found = told(&pair);
        let told = both(&found);
        exact(&truth, told);
        assert_eq!(told.there.opener, "203.0.113.9:6000".parse().unwrap());
        assert_eq!(told.there.answerer, found.addresses.answerer);
        let rewritten = told.rewritten.opener;
        assert_eq!(rewritten.sequence_numbers, (by != 0).then_some(by));
        assert_eq!(rewritten.mss.unwrap().arrived, Some(1300));
        let scale = rewritten.window_scale.unwrap();
        assert_eq!((scale.sent, scale.arrived), (Some(7), None));
        assert!(!told.rewritten.answerer.any(), "{:?}", told.rewritten);
    }
}

#[test]
fn losses_are_exact_for_hosts_that_do_not_number_packets() {
    let mut pair = transfer(LOSSY, 31);
    let truth = End::BOTH.map(|end| pair.fates(end));
    pair.without_identification();
    let found = told(&pair);
    for (side, truth) in Side::BOTH.into_iter().zip(truth) {
        let way = both(&found).ways.of(side);
        let told = (way.sent, way.lost_data, way.lost_acks, way.needless);
        assert_eq!(
            told,
            (truth.sent, truth.lost_data, truth.lost_acks, truth.needless)
        );
        // Identical ACKs appear to arrive in the order in which they were sent.
        assert!(way.reordered <= truth.reordered);
    }
}

#[test]
fn packets_segmented_by_an_interface_are_counted_as_on_the_wire() {
    for missed in [0, 30] {
        let mut pair = transfer(LOSSY, 33);
        if missed > 0 {
            pair.without_beginning(missed);
        }
        let truth = pair.fates(End::Sender);
        let merged = pair.offload();
        assert!(merged > 15, "{merged}");
        let found = told(&pair);
        let way = &both(&found).ways.opener;
        let told = (way.sent, way.lost_data, way.missing_near, way.unexplained);
        assert_eq!(told, (truth.sent, truth.lost_data, 0, 0), "{way:?}");
    }
}

#[test]
fn a_clock_that_was_set_has_no_offset_and_losses_are_exact() {
    let mut pair = transfer(LOSSY, 35);
    let truth = pair.fates(End::Sender);
    pair.set_clock(3.0);
    let found = told(&pair);
    let told = both(&found);
    assert_eq!((told.clock, told.ways.opener.delays), (None, None));
    assert_eq!(told.queue(), None);
    let way = &told.ways.opener;
    assert_eq!(
        (way.sent, way.lost_data),
        (truth.sent, truth.lost_data),
        "{way:?}"
    );
}

#[test]
fn duplicates_on_the_path_differ_from_packets_that_a_capture_misses() {
    let mut pair = transfer(LOSSY, 41);
    let before = pair.fates(End::Sender);
    pair.duplicate(End::Sender, 50);
    assert!(pair.fates(End::Sender).duplicated > 10);
    let found = told(&pair);
    exact(&pair, both(&found));
    assert_eq!(both(&found).ways.opener.lost_data, before.lost_data);
}

#[test]
fn packets_that_the_receivers_capture_misses_are_not_lost() {
    let mut pair = transfer(LOSSY, 51);
    let truth = pair.fates(End::Sender);
    let missed = pair.miss(End::Receiver, End::Sender, 40);
    assert!(missed > 10);
    let found = told(&pair);
    let way = &both(&found).ways.opener;
    // If the capture missed a spurious retransmission, or a retransmission of a lost original, no ACK reveals it.
    assert_eq!(way.missing_far + way.undecided, missed, "{way:?}");
    assert_eq!(way.lost_data, truth.lost_data, "{way:?}");
    assert!(way.undecided <= 1);
}

#[test]
fn packets_that_the_senders_capture_misses_are_counted() {
    let mut pair = transfer(LOSSY, 61);
    let truth = pair.fates(End::Sender);
    let arrived = |pair: &Pair| {
        let data = pair
            .receiver
            .iter()
            .filter(|frame| frame.from == End::Sender);
        data.map(|frame| frame.number).collect::<Vec<_>>()
    };
    let at_receiver = arrived(&pair);
    let all = pair.clone();
    pair.miss(End::Sender, End::Sender, 40);
    let left = pair.sender.iter().filter(|frame| frame.from == End::Sender);
    let left: Vec<u16> = left.map(|frame| frame.number).collect();
    let gone = all.sender.iter().filter(|frame| frame.from == End::Sender);
    let gone: Vec<u16> = gone
        .map(|frame| frame.number)
        .filter(|number| !left.contains(number))
        .collect();
    let seen = gone
        .iter()
        .filter(|number| at_receiver.contains(number))
        .count() as u64;
    let [sender, receiver] = files(&pair);
    let (found, _) = joined(&[sender, receiver]).unwrap();
    let way = &both(&found.connections[0]).ways.opener;
    assert_eq!(way.missing_near, seen);
    assert_eq!(way.lost_data, truth.lost_data - (gone.len() as u64 - seen));
}

#[test]
fn packets_missing_from_both_captures_are_counted_by_their_acks() {
    let mut pair = transfer("[[flows]]\nbytes = \"1MB\"", 71);
    let numbers: Vec<u16> = (200..210).collect();
    let gone = |frame: &dupack_truth::both::Frame| {
        frame.from == End::Sender && numbers.contains(&frame.number)
    };
    let bytes: usize = pair
        .sender
        .iter()
        .filter(|frame| gone(frame))
        .map(|frame| frame.text().0)
        .sum();
    assert!(bytes > 10_000);
    let lost = pair.fates(End::Sender).lost_data;
    pair.sender.retain(|frame| !gone(frame));
    pair.receiver.retain(|frame| !gone(frame));
    let [sender, receiver] = files(&pair);
    let (found, _) = joined(&[sender, receiver]).unwrap();
    let way = &both(&found.connections[0]).ways.opener;
    assert_eq!((way.unseen_bytes, way.lost_data), (bytes as u64, lost));
}

#[test]
fn the_findings_are_corrected_by_the_other_end() {
    let pair = transfer(LOSSY, 81);
    let truth = pair.fates(End::Sender);
    let found = told(&pair);
    let stream = found.main_stream().unwrap();
    assert_eq!(stream.path.losses, truth.lost_data);
    assert_eq!(stream.account.needless(), truth.needless);
}

/// With this loss rate, one capture alone does not show for every retransmission whether it was lost.
#[test]
fn losses_that_one_capture_misjudges_are_corrected() {
    let text = "loss = \"20%\"\nreverse = { loss = \"10%\" }\n[[flows]]\nbytes = \"300kB\"";
    let mut off = 0;
    for seed in 101..106 {
        let pair = transfer(text, seed);
        let truth = pair.fates(End::Sender);
        let found = told(&pair);
        let path = &found.main_stream().unwrap().path;
        assert_eq!(path.losses, truth.lost_data, "{seed}");
        let (low, high) = path.loss.interval().unwrap();
        let share = truth.lost_data as f64 / truth.sent as f64;
        assert!(low <= share && share <= high, "{seed}: {share}");
        let alone = both(&found).alone.map(|alone| alone.losses);
        off += u32::from(alone.is_some_and(|alone| alone != truth.lost_data));
    }
    assert!(off > 0);
}

#[test]
fn captures_that_cannot_be_joined_are_refused_with_the_reason() {
    let pair = transfer(LOSSY, 91);
    let other = transfer("loss = \"1%\"\n[[flows]]\nbytes = \"200kB\"", 92);
    let [sender, receiver] = files(&pair);
    let why = |one: &[u8], two: &[u8]| joined(&[one.to_vec(), two.to_vec()]).unwrap_err();
    assert!(matches!(why(&sender, &sender), BothError::SameCapture));
    let mut late = pair.clone();
    for frame in &mut late.sender {
        frame.at += 20_000;
    }
    assert!(matches!(
        why(&sender, &late.file(End::Sender)),
        BothError::SamePlace
    ));
    let mut one_way = pair.clone();
    one_way.receiver.retain(|frame| frame.from == End::Sender);
    assert!(matches!(
        why(&sender, &one_way.file(End::Receiver)),
        BothError::OneDirection
    ));
    let mut renumbered = other;
    renumbered.move_numbers(99_999);
    renumbered.move_timestamps(55_555);
    let foreign = renumbered.file(End::Receiver);
    assert!(matches!(why(&sender, &foreign), BothError::NothingShared));
    assert!(matches!(
        why(&sender, b"no capture"),
        BothError::Read(Which::Second, _)
    ));
    assert!(joined(&[sender, receiver]).is_ok());
}
