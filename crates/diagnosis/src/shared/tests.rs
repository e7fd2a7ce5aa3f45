use super::*;
use crate::path::series::Series;

fn candidate(connection: u64, hosts: [[u8; 4]; 2]) -> Candidate {
    Candidate {
        connection,
        side: Side::Opener,
        hosts: hosts.map(Into::into),
        round_trip: Duration::from_millis(20),
        series: Series::default(),
    }
}

#[test]
fn opposite_directions_share_no_link() {
    let (here, there, elsewhere) = ([10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]);
    let out = candidate(1, [here, there]);
    assert!(out.runs_along(&candidate(2, [here, elsewhere])));
    assert!(out.runs_along(&candidate(2, [elsewhere, there])));
    assert!(!out.runs_along(&candidate(2, [there, here])));
    assert!(!out.runs_along(&candidate(2, [elsewhere, here])));
    assert!(!out.runs_along(&candidate(2, [there, elsewhere])));
}

#[test]
fn streams_without_windows_are_not_compared() {
    let mut all = Candidates::default();
    for number in 0..300 {
        all.push(2, vec![candidate(number, [[10, 0, 0, 1], [10, 0, 0, 2]])]);
    }
    let none = SharedBottlenecks {
        untold: 600,
        ..SharedBottlenecks::default()
    };
    assert_eq!(find(all), none);
}

/// Returns the evidence for two bundles with complementary rates. Their delays have the correlation `r` over
/// `independent` independent pairs.
fn evidence(r: f64, independent: f64) -> Evidence {
    let rates = correlation::Correlation {
        r: -0.9,
        independent: 40.0,
    };
    Evidence {
        rates,
        delays: Some(correlation::Correlation { r, independent }),
        sum_varies: 0.02,
        rate: 1e7,
        share: 0.5,
        windows: 41,
        width: Duration::from_millis(40),
    }
}

#[test]
fn queues_are_alike_if_delays_are_strongly_correlated() {
    assert!(may_join(&evidence(0.8, 40.0)));
    // With few windows, the correlation may be due to chance. A weak correlation over many windows is not, but it does
    // not show a common queue either.
    assert!(!may_join(&evidence(0.8, 6.0)));
    assert!(!may_join(&evidence(0.3, 400.0)));
    let unknown = Evidence {
        delays: None,
        ..evidence(0.8, 40.0)
    };
    assert!(!may_join(&unknown));
}
