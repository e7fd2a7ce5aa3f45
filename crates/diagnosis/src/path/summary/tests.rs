//! Minimum round-trip time of a full segment if the short segments of the handshake measured a part of the path.

use dupack_algorithms::catalog::Catalog;

use super::*;
use crate::path::round_trips::Length;
use crate::read::vantage::{Reason, Vantage};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns the estimate from a capture at the receiver, for segments of `smss` bytes. The handshake took 40 ms to the
/// sender and back, all samples are `sample` milliseconds, and a full packet takes 12 ms at the bottleneck.
fn at_receiver(smss: u32, sample: u64) -> Told<Duration> {
    let mut survey = Survey::new(smss, &Catalog::builtin());
    let vantage = Vantage {
        place: Place::Receiver,
        to_sender: ms(40),
        to_receiver: Duration::ZERO,
        reason: Reason::Handshake,
    };
    survey.seen_from(&vantage, Some(ms(40)), None);
    for _ in 0..8 {
        survey.trips.observe(ms(sample), 0, Length::Full);
    }
    survey.least_of_samples(ms(12), ms(12))
}

#[test]
fn a_path_measured_with_short_segments_takes_longer_for_full_ones() {
    // If a sample exceeds the handshake by more than half a packet time, it is already that of a full segment.
    let longer = |sample| at_receiver(1460, sample).value().expect("an estimate");
    for sample in [40, 45] {
        let beyond = longer(sample).saturating_sub(ms(sample));
        assert!(beyond.abs_diff(ms(12)) < ms(1), "{sample}: {beyond}");
    }
    for sample in [46, 52] {
        assert_eq!(longer(sample), ms(sample));
    }
}

#[test]
fn a_full_segment_takes_longer_by_its_additional_bytes() {
    // A packet of 200 bytes, including headers, takes 12 ms at the bottleneck. The 140 bytes in addition to a short
    // packet take 8.4 ms.
    let told = at_receiver(160, 40).value().expect("an estimate");
    let beyond = told.as_secs_f64() * 1e3 - 40.0;
    assert!((beyond - 8.4).abs() < 0.01, "{beyond}");
}

#[test]
fn without_a_handshake_the_distance_to_the_sender_is_unknown() {
    let mut survey = Survey::new(1460, &Catalog::builtin());
    let vantage = Vantage {
        place: Place::Receiver,
        to_sender: Duration::ZERO,
        to_receiver: Duration::ZERO,
        reason: Reason::Nothing,
    };
    survey.seen_from(&vantage, None, None);
    survey.trips.observe(ms(30), 0, Length::Full);
    assert_eq!(survey.path().least_rtt.at_least(), None);
}
