//! Tests with findings that are changed to contradict each other, one at a time.

use super::*;
use crate::analyse::cause::Class;
use crate::path::Policer;
use crate::sender::{Control, Recovery};
use crate::testing::transfer;
use crate::untold::Untold;

/// Returns the findings of a stream without contradictions.
fn found() -> StreamFindings {
    let connection = transfer();
    let stream = connection.main_stream().unwrap();
    assert_eq!(stream.withdrawn, []);
    stream.clone()
}

/// Returns the counts of a sender with this number of retransmitted bytes.
fn counts(retransmitted_bytes: u64) -> Counts {
    let mut counts = Counts::default();
    counts.retransmitted_bytes = retransmitted_bytes;
    counts
}

/// Returns the findings that remain after `change` and the comparison.
fn settled(change: impl Fn(&mut StreamFindings)) -> StreamFindings {
    let mut found = found();
    change(&mut found);
    let counts = counts(found.account.retransmitted_bytes);
    settle(&mut found, &counts);
    found
}

const fn surely<T: Copy>(value: T) -> Told<T> {
    Told::Between {
        value,
        low: value,
        high: value,
    }
}

/// Returns the reason why a quantity is unknown.
fn why<T>(told: &Told<T>) -> &'static str {
    match told {
        Told::CannotBeTold { why, .. } => why,
        Told::Between { .. } | Told::AtLeast { .. } => "it is known",
    }
}

#[test]
fn consistent_findings_are_unchanged() {
    let left = settled(|_| ());
    assert_eq!(left.withdrawn, []);
    assert!(left.path.rate.value().is_some() && left.path.loss.value().is_some());
}

#[test]
fn without_acks_the_path_is_unknown() {
    let left = settled(|found| found.coverage.acks = AcksSeen::None);
    assert_eq!(left.withdrawn, [Withdrawn::WithoutAcks]);
    let path = &left.path;
    let all = [why(&path.rate), why(&path.loss), why(&path.random_loss)];
    assert_eq!(all, ["the ACKs are not in this capture"; 3]);
    assert_eq!(why(&path.least_rtt), all[0]);
    assert_eq!((why(&path.room), why(&path.queue_share)), (all[0], all[0]));
}

#[test]
fn with_more_than_a_tenth_missing_only_the_minimum_round_trip_remains() {
    let without = |part: u64| {
        settled(|found| {
            found.coverage.unseen_bytes = found.coverage.bytes * part / (100 - part);
        })
    };
    assert_eq!(without(9).withdrawn, []);
    let left = without(11);
    assert_eq!(left.withdrawn, [Withdrawn::PacketsMissing]);
    assert_eq!(
        why(&left.path.rate),
        "packets are missing from this capture"
    );
    assert!(left.path.least_rtt.value().is_some());
}

#[test]
fn the_bottleneck_rate_is_at_least_the_goodput() {
    let of = |share: f64| settled(|found| found.path.rate = surely(share * found.goodput()));
    assert_eq!(of(0.91).withdrawn, []);
    let left = of(0.89);
    assert_eq!(left.withdrawn, [Withdrawn::RateBelowGoodput]);
    let why_not = "data arrived faster than the estimated rate";
    assert_eq!(
        (why(&left.path.rate), why(&left.path.room)),
        (why_not, why_not)
    );
}

#[test]
fn the_bucket_of_a_policer_may_arrive_faster_than_its_rate() {
    let of = |bytes: f64| {
        settled(|found| {
            let rate = surely(0.5 * found.goodput());
            found.path.rate = rate;
            found.path.policer = Some(Policer {
                rate,
                burst: surely(bytes),
                link: surely(1e7),
            });
        })
    };
    // The bucket provides half of the 2 MB.
    let left = of(1e6);
    assert_eq!(
        (left.withdrawn.as_slice(), left.path.policer.is_some()),
        (&[][..], true)
    );
    let left = of(5e5);
    assert_eq!(left.withdrawn, [Withdrawn::RateBelowGoodput]);
    assert_eq!(left.path.policer, None);
}

#[test]
fn losses_do_not_exceed_retransmissions_except_at_the_end_of_a_capture() {
    let of = |more| settled(|found| found.path.losses = found.account.retransmissions + more);
    assert_eq!(of(8).withdrawn, []);
    let left = of(9);
    assert_eq!(left.withdrawn, [Withdrawn::LossesWithoutRepairs]);
    let why_not = "more losses were found than retransmissions";
    assert_eq!(
        (why(&left.path.loss), why(&left.path.queue_share)),
        (why_not, why_not)
    );
    assert!(left.path.rate.value().is_some());
}

#[test]
fn withdrawn_losses_contradict_nothing() {
    let of = |coverage: fn(&mut StreamFindings)| {
        settled(|found| {
            found.path.losses = found.account.retransmissions + 9;
            coverage(found);
        })
    };
    let left = of(|found| found.coverage.acks = AcksSeen::None);
    assert_eq!(left.withdrawn, [Withdrawn::WithoutAcks]);
    let left = of(|found| found.coverage.unseen_bytes = found.coverage.bytes);
    assert_eq!(left.withdrawn, [Withdrawn::PacketsMissing]);
}

#[test]
fn retransmissions_do_not_exceed_segments() {
    let of = |more| settled(|found| found.account.retransmissions = found.shares.segments + more);
    assert_eq!(of(0).withdrawn, []);
    let left = of(1);
    assert_eq!(left.withdrawn, [Withdrawn::RetransmissionsBeyondSegments]);
    assert!(!left.tells_retransmissions());
    assert_eq!(left.limits_untold(), Some(Untold::Contradictory));
    assert_eq!(
        why(&left.path.loss),
        "more retransmissions were found than segments"
    );
}

#[test]
fn without_acks_the_sender_is_unknown() {
    let left = settled(|found| found.coverage.acks = AcksSeen::None);
    let (recovery, control) = (&left.sender.recovery, &left.sender.control);
    let why = "the ACKs are not in this capture";
    assert_eq!((recovery.why.as_str(), control.why.as_str()), (why, why));
    assert!(recovery.candidates.is_empty() && control.candidates.is_empty());
}

#[test]
fn with_most_packets_missing_causes_of_retransmissions_are_unknown() {
    let before = found();
    assert!(before.account.retransmissions > before.account.of(Class::Unknown));
    assert!(before.timeouts().is_some());
    let left = settled(|found| found.coverage.unseen_bytes = found.coverage.bytes);
    let account = &left.account;
    assert_eq!(account.retransmissions, before.account.retransmissions);
    assert_eq!(account.of(Class::Unknown), account.retransmissions);
    assert_eq!(left.timeouts(), None);
    let all = left.retransmissions.iter();
    assert!(all.clone().count() > 0);
    for again in all {
        assert_eq!((again.cause, again.trigger), (Cause::Unknown, None));
    }
}

#[test]
fn limits_stalls_and_lost_time_are_reported_together_or_not_at_all() {
    let of = |change: fn(&mut StreamFindings)| {
        let found = settled(change);
        (found.limits_untold(), found.lost(), found.stalled())
    };
    let (untold, lost, stalled) = of(|_| ());
    assert!(untold.is_none() && lost.is_some() && stalled.is_some());
    let left = of(|found| found.coverage.acks = AcksSeen::None);
    assert_eq!(left, (Some(Untold::WithoutAcks), None, None));
    let left = of(|found| found.coverage.unseen_bytes = found.coverage.bytes);
    assert_eq!(left, (Some(Untold::PacketsMissing), None, None));
}

#[test]
fn at_the_sender_retransmitted_bytes_are_captured_twice() {
    let of = |change: fn(&mut StreamFindings), seen_twice| {
        let mut found = found();
        change(&mut found);
        assert!(found.account.retransmitted_bytes > 1);
        settle(&mut found, &counts(seen_twice));
        let is_withdrawn = !found.withdrawn.is_empty();
        assert_eq!(found.account.retransmissions == 0, is_withdrawn);
        assert_eq!(found.retransmissions.is_empty(), is_withdrawn);
        found.withdrawn
    };
    assert_eq!(of(|_| (), 0), [Withdrawn::RetransmissionsUnseen]);
    assert_eq!(of(|_| (), 1), []);
    let away = |found: &mut StreamFindings| found.vantage.place = Place::Middle;
    assert_eq!(of(away, 0), []);
    let lacking = |found: &mut StreamFindings| found.coverage.unseen_bytes = 1;
    assert_eq!(of(lacking, 0), []);
}

#[test]
fn a_round_trip_is_at_least_the_paths_to_both_endpoints() {
    let ms = Duration::from_millis;
    let of = |least| {
        settled(|found| {
            (found.vantage.to_sender, found.vantage.to_receiver) = (ms(20), ms(40));
            found.path.least_rtt = surely(least);
        })
    };
    assert_eq!(of(ms(30)).withdrawn, []);
    for least in [ms(29), Duration::ZERO] {
        let left = of(least);
        assert_eq!(left.withdrawn, [Withdrawn::RoundTripTooShort]);
        assert_eq!(
            why(&left.path.least_rtt),
            "samples are shorter than the paths to both endpoints"
        );
    }
}

#[test]
fn a_rate_beyond_the_clock_resolution_is_withdrawn() {
    // Three microseconds per segment of 1460 bytes correspond to 3.9 Gbit/s.
    let of = |rate| {
        settled(|found| {
            found.smss = 1460;
            found.path.rate = surely(rate);
        })
    };
    assert_eq!(of(3.8e9).withdrawn, []);
    let left = of(4e9);
    assert_eq!(left.withdrawn, [Withdrawn::RateBeyondClock]);
    let why_not = "packets are closer together than the clock of the capture can resolve";
    assert_eq!(
        (why(&left.path.rate), why(&left.path.room)),
        (why_not, why_not)
    );
}

#[test]
fn without_options_the_sender_is_unknown() {
    let left = settled(|found| {
        found.coverage.options = OptionsSeen::Cut;
        found.sender.recovery.name = Some(Recovery::Rack);
        found.sender.control.name = Some(Control::Cubic);
        found.sender.control.nearest = Some(Control::Cubic);
        let account = &mut found.account;
        (account.retransmissions, account.lost_first) = (20, 11);
        (account.needless_by_time, account.needless_overtaken) = (9, 9);
        account.lost_again = 4;
    });
    assert_eq!(left.withdrawn, [Withdrawn::OptionsCut]);
    // The need of retransmissions is also withdrawn.
    let account = &left.account;
    assert_eq!((account.needless(), account.of_unknown_need), (0, 20));
    assert_eq!((account.lost_first, account.lost_again), (0, 0));
    let (recovery, control) = (&left.sender.recovery, &left.sender.control);
    assert_eq!((recovery.name, recovery.nearest), (None, None));
    assert_eq!((control.name, control.nearest), (None, None));
    assert_eq!(
        control.why,
        "the TCP options of packets are cut off in this capture"
    );
    assert_eq!(left.sender.stack, None);
}

#[test]
fn a_constant_rate_that_explains_most_time_hides_the_window() {
    let of = |beyond: bool| {
        settled(|found| {
            let explained = [Group::Path, Group::Timers, Group::Receiver];
            let explained = explained.map(|group| found.shares.of_group(group));
            let repairs = found.shares.of(Limit::Recovery);
            let time = explained.into_iter().fold(repairs, |sum, time| sum + time);
            let more = if beyond {
                Duration::from_millis(1)
            } else {
                Duration::ZERO
            };
            found.signs.constant_rate = Some(ConstantRate {
                bytes_per_second: 1e6,
                time: time + more,
            });
            found.sender.control.name = Some(Control::Cubic);
        })
    };
    let left = of(false);
    assert_eq!(left.withdrawn, []);
    assert_eq!(left.sender.control.name, Some(Control::Cubic));
    let left = of(true);
    assert_eq!(left.withdrawn, [Withdrawn::ConstantRate]);
    assert_eq!(left.sender.control.name, None);
    assert_eq!(
        left.sender.control.why,
        "segments leave at a constant rate, which hides the window"
    );
}
