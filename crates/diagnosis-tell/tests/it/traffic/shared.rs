//! Transfers of one capture over one or several bottlenecks. Only transfers that share a bottleneck are reported.

use dupack_diagnosis::Diagnosis;
use dupack_diagnosis::shared::SharedBottleneck;
use dupack_diagnosis_tell::numbers::json;
use dupack_diagnosis_tell::shared::{of_connection, sentence};
use dupack_diagnosis_tell::story::story;
use dupack_diagnosis_tell::summary::{Look, summary};
use dupack_net::flow::{When, Write};
use dupack_report::table::Colour;
use dupack_tcp::time::Duration;
use dupack_truth::several::{Bottleneck, End, Transfer, capture};

const LINK: Bottleneck = Bottleneck {
    bit_per_s: 10_000_000,
    room_packets: 50,
};

/// Time from the start of the first transfer to the start of a later one, in milliseconds.
const LATER: u64 = 700;

fn told(links: &[Bottleneck], transfers: &[Transfer], at: End, seed: u64) -> Diagnosis {
    let long = Duration::from_secs(25);
    super::read(&capture(links, transfers, (at, long), seed))
}

/// Returns the connections of each shared bottleneck.
fn sharing(found: &Diagnosis) -> Vec<Vec<u64>> {
    let numbers = |one: &SharedBottleneck| one.streams.iter().map(|one| one.connection).collect();
    found.shared.found.iter().map(numbers).collect()
}

/// Runs `check` for captures at both endpoints with two seeds.
fn each(links: &[Bottleneck], transfers: &[Transfer], mut check: impl FnMut(&Diagnosis, End)) {
    for at in End::BOTH {
        for seed in [7, 8] {
            check(&told(links, transfers, at, seed), at);
        }
    }
}

/// Asserts that no transfers are reported as sharing a bottleneck.
#[track_caller]
fn nobody_shares(links: &[Bottleneck], transfers: &[Transfer]) {
    each(links, transfers, |found, at| {
        assert!(
            found.shared.found.is_empty(),
            "{at:?}: {:#?}",
            found.shared.found
        );
    });
}

/// Asserts that all of these connections are reported as sharing a bottleneck of 10 Mbit/s.
#[track_caller]
fn all_share(transfers: &[Transfer], connections: &[u64]) {
    each(&[LINK], transfers, |found, at| {
        assert_eq!(sharing(found), [connections], "{at:?}");
        let shared = &found.shared.found[0];
        assert!((shared.rate / 1e7 - 1.0).abs() < 0.04, "{at:?}: {shared:?}");
        assert!(shared.rate_varies < 0.05, "{at:?}: {shared:?}");
    });
}

#[test]
fn two_transfers_over_one_bottleneck_share_it() {
    all_share(&[Transfer::new(0, 20), Transfer::new(0, 20)], &[1, 2]);
    all_share(
        &[Transfer::new(0, 20), Transfer::new(0, 20).starting(LATER)],
        &[1, 2],
    );
}

/// The packets of the two streams alternate at the bottleneck, so the arrival rate of a stream is only its share of the
/// rate.
#[test]
fn the_share_of_a_stream_is_not_printed_as_the_bottlenecks_rate() {
    let rates = |found: &Diagnosis| -> Vec<Option<f64>> {
        let main = found.connections.iter().filter_map(|one| one.main_stream());
        main.map(|stream| stream.path.rate.value()).collect()
    };
    let two = [Transfer::new(0, 20), Transfer::new(0, 20).starting(LATER)];
    each(&[LINK], &two, |found, at| {
        assert_eq!(rates(found), [None, None], "{at:?}");
        for connection in &found.connections {
            let said = story(connection.main_stream().expect("data"));
            let shared = "at a bottleneck of 10 Mbit/s that 2 transfers of this capture share";
            assert!(said.contains(shared), "{said}");
        }
    });
    each(&[LINK], &[Transfer::new(0, 20)], |found, at| {
        let rates = rates(found);
        let right = |rate: f64| (rate / 1e7 - 1.0).abs() < 0.05;
        assert!(
            matches!(rates[..], [Some(rate)] if right(rate)),
            "{at:?}: {rates:?}"
        );
    });
}

#[test]
fn round_trips_may_differ() {
    all_share(
        &[Transfer::new(0, 10), Transfer::new(0, 40).starting(LATER)],
        &[1, 2],
    );
}

#[test]
fn transfers_over_two_bottlenecks_of_the_same_rate_share_none() {
    let links = [LINK, LINK];
    let both = [Transfer::new(0, 20), Transfer::new(1, 20).starting(LATER)];
    each(&links, &both, |found, at| {
        assert_eq!(
            (found.shared.compared, found.shared.untold),
            (2, 0),
            "{at:?}"
        );
    });
    nobody_shares(&links, &[Transfer::new(0, 20), Transfer::new(1, 20)]);
    nobody_shares(
        &links,
        &[Transfer::new(0, 20), Transfer::new(1, 20).starting(LATER)],
    );
    nobody_shares(
        &links,
        &[Transfer::new(0, 10), Transfer::new(1, 40).starting(LATER)],
    );
}

#[test]
fn uncaptured_traffic_does_not_cause_a_shared_bottleneck() {
    let hidden = |over, delay, start| Transfer::new(over, delay).starting(start).hidden();
    nobody_shares(
        &[LINK, LINK],
        &[
            Transfer::new(0, 20),
            Transfer::new(1, 20).starting(LATER),
            hidden(0, 30, 300),
            hidden(1, 10, 200),
        ],
    );
}

#[test]
fn transfers_that_overlap_for_some_time_share() {
    let short = Transfer::new(0, 20).starting(8000).bytes(4_000_000);
    all_share(&[Transfer::new(0, 20), short], &[1, 2]);
    let links = [LINK, LINK];
    let short = Transfer::new(1, 20).starting(8000).bytes(4_000_000);
    nobody_shares(&links, &[Transfer::new(0, 20), short]);
}

#[test]
fn a_short_transfer_is_not_compared() {
    let short = Transfer::new(0, 20).starting(4000).bytes(60_000);
    let transfers = [Transfer::new(0, 20), short];
    nobody_shares(&[LINK], &transfers);
    each(&[LINK], &transfers, |found, at| {
        let shared = &found.shared;
        assert_eq!((shared.compared, shared.untold), (0, 2), "{at:?}");
    });
}

#[test]
fn successive_transfers_over_two_bottlenecks_share_none() {
    // The second transfer begins when the first one ends, so their total rate is constant.
    let links = [LINK, LINK];
    let first = Transfer::new(0, 20).bytes(12_000_000);
    nobody_shares(&links, &[first, Transfer::new(1, 20).starting(10_000)]);
    // The transfers alternate every second.
    let turns = |from: u64| -> Vec<Write> {
        let write = |n: u64| Write {
            when: When::At(Duration::from_millis(from + n * 2000)),
            bytes: 1_100_000,
        };
        (0..12).map(write).collect()
    };
    nobody_shares(
        &links,
        &[
            Transfer::new(0, 20).writing(turns(0)),
            Transfer::new(1, 20).writing(turns(1000)),
        ],
    );
}

#[test]
fn an_application_that_alternates_does_not_cause_a_shared_bottleneck() {
    // The total rate is 5 Mbit/s, and its division between the transfers changes every 100 ms. There is no queue.
    let parts = |own: bool| -> Vec<Write> {
        let write = |n: u64| {
            let part = 1000 * (1 + n * n * 7 % 61);
            Write {
                when: When::At(Duration::from_millis(n * 100)),
                bytes: if own { part } else { 62_500 - part },
            }
        };
        (0..240).map(write).collect()
    };
    nobody_shares(
        &[LINK, LINK],
        &[
            Transfer::new(0, 20).writing(parts(true)),
            Transfer::new(1, 20).writing(parts(false)),
        ],
    );
}

#[test]
fn many_transfers_each_over_its_own_bottleneck_share_none() {
    let link = |place: u64| Bottleneck {
        bit_per_s: 3_000_000 + place % 3 * 1_000_000,
        room_packets: 20 + place * 5,
    };
    let links: Vec<Bottleneck> = (0..8).map(link).collect();
    let transfers = (0..8).map(|place| {
        let delay = 10 + place as u64 % 4 * 10;
        Transfer::new(place, delay).starting(place as u64 * 130)
    });
    nobody_shares(&links, &transfers.collect::<Vec<_>>());
}

#[test]
fn four_transfers_over_two_bottlenecks_are_two_pairs() {
    let transfers = [
        Transfer::new(0, 20),
        Transfer::new(1, 20).starting(100),
        Transfer::new(0, 25).starting(LATER),
        Transfer::new(1, 15).starting(900),
    ];
    each(&[LINK, LINK], &transfers, |found, at| {
        assert_eq!(sharing(found), [[1, 3], [2, 4]], "{at:?}");
    });
}

#[test]
fn three_transfers_share_one_rate() {
    let transfers = [
        Transfer::new(0, 20),
        Transfer::new(0, 15).starting(500),
        Transfer::new(0, 30).starting(900),
    ];
    all_share(&transfers, &[1, 2, 3]);
    let found = told(&[LINK], &transfers, End::Sender, 7);
    let shares: f64 = found.shared.found[0]
        .streams
        .iter()
        .map(|one| one.share)
        .sum();
    assert!((shares - 1.0).abs() < 0.1, "{:#?}", found.shared.found);
}

#[test]
fn the_screen_names_the_sharing_streams_and_their_shares() {
    let transfers = [Transfer::new(0, 20), Transfer::new(0, 20).starting(LATER)];
    let found = told(&[LINK], &transfers, End::Sender, 7);
    let said = sentence(&found.shared.found[0]);
    assert!(said.starts_with("#1 and #2 share a bottleneck: "), "{said}");
    let side = found.shared.found[0].streams[0].side;
    let line = of_connection(&found.shared.found, 1, side).unwrap();
    assert!(line.contains("a bottleneck with #2: "), "{line}");
    assert_eq!(of_connection(&found.shared.found, 3, side), None);
    let look = Look {
        colour: Colour::No,
        width: Some(400),
        detailed: 1,
        listed: 2,
    };
    let screen = summary(&found, None, &look);
    assert!(
        screen.contains(&said) && screen.contains("  shares"),
        "{screen}"
    );
    let document: serde_json::Value = serde_json::from_str(&json(&found, None)).unwrap();
    let shared = &document["shared_bottlenecks"]["bottlenecks"][0];
    assert_eq!(shared["streams"][1]["connection"], 2);
    assert!(shared["streams"][0]["deviations"].as_f64().unwrap() > 4.8);
}
