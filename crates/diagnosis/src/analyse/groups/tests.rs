use super::*;
use crate::analyse::requests::Quantiles;

/// Returns the group of a connection to `server` that took `took` milliseconds and lost `lost` milliseconds.
fn one(number: u64, server: SocketAddr, took: u64, lost: u64) -> Group {
    let time = Duration::from_millis(took);
    let worst = |time| Worst {
        connection: number,
        time,
    };
    let lost = Duration::from_millis(lost);
    Group {
        key: GroupKey::Server(server),
        servers: 1,
        connections: 1,
        by_ports: 0,
        with_data: 1,
        to_server: 10,
        from_server: 1000,
        failures: Failures::default(),
        syns: Syns::default(),
        handshakes: Times::of(time),
        segments: 5,
        retransmissions: 1,
        untold: 0,
        in_doubt: 0,
        times: [lost / 15; Limit::COUNT],
        lost,
        most_lost: (!lost.is_zero()).then(|| worst(lost)),
        durations: Times::of(time),
        longest: worst(time),
    }
}

fn server(host: u32, port: u16) -> SocketAddr {
    (std::net::Ipv4Addr::from(0x0a00_0000 + host), port).into()
}

fn grouped(all: impl IntoIterator<Item = Group>) -> Groups {
    let mut grouping = Grouping::default();
    for one in all {
        grouping.take(Some(one));
    }
    grouping.finish()
}

#[test]
fn the_order_of_connections_makes_no_difference() {
    let all: Vec<Group> = (1..=300)
        .map(|n| one(n, server((n % 7) as u32, 443), n * n % 311, n * 3 % 101))
        .collect();
    let there = grouped(all.clone());
    let back = grouped(all.into_iter().rev());
    assert_eq!(there.servers.len(), 7);
    for (one, other) in [
        (&there.servers, &back.servers),
        (&there.services, &back.services),
    ] {
        assert!(!one.is_empty());
        for (one, other) in one.iter().zip(other) {
            let told = |group: &Group| {
                let sums = (group.key, group.connections, group.lost, group.times);
                let worst = (group.most_lost, group.longest);
                let times = [&group.handshakes, &group.durations].map(Times::quantiles);
                (sums, worst, times)
            };
            assert_eq!(told(one), told(other));
        }
    }
}

#[test]
fn quantiles_of_few_values_are_exact_and_of_many_are_close() {
    let few = grouped((1..=64).map(|n| one(n, server(1, 443), n, 0)));
    let durations = few.servers[0].durations.quantiles().unwrap();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    assert_eq!(millis(durations.p50).round(), 32.0);
    assert_eq!(millis(durations.p95).round(), 61.0);
    let many = grouped((1..=1000).map(|n| one(n, server(1, 443), n, 0)));
    let durations = &many.servers[0].durations;
    assert_eq!(durations.count(), 1000);
    let Quantiles { p50, p95, max } = durations.quantiles().unwrap();
    assert!((millis(p50) / 500.0 - 1.0).abs() < 0.016, "{p50:?}");
    assert!((millis(p95) / 950.0 - 1.0).abs() < 0.016, "{p95:?}");
    assert_eq!(max, Duration::from_millis(1000));
    assert_eq!(Times::default().quantiles(), None);
}

#[test]
fn the_first_of_equally_bad_connections_is_the_worst() {
    let all = [(3, 50, 9), (2, 70, 9), (5, 70, 0), (4, 10, 8)];
    let groups = grouped(all.map(|(n, took, lost)| one(n, server(1, 443), took, lost)));
    let group = &groups.servers[0];
    assert_eq!(group.longest.connection, 2);
    assert_eq!(group.most_lost.unwrap().connection, 2);
    assert_eq!(group.lost, Duration::from_millis(26));
    assert_eq!((group.connections, group.servers), (4, 1));
    // The limits have equal shares of the time, and two of 15 limits are timers.
    let timers = group.lost_to(LimitGroup::Timers);
    assert!((timers.as_secs_f64() - 0.026 * 2.0 / 15.0).abs() < 1e-6);
    assert_eq!(group.lost_to(LimitGroup::Application), Duration::ZERO);
}

#[test]
fn a_service_sums_its_servers_in_bounded_memory() {
    let scan = (0..20_000).map(|n| one(u64::from(n), server(n, 22), 1, 0));
    let web = (0..3).map(|n| one(n, server(7, 80), 1, 5));
    let groups = grouped(web.chain(scan));
    assert_eq!(groups.servers.len(), GROUPS_MAX);
    assert_eq!(groups.servers[0].key, GroupKey::Server(server(7, 80)));
    let [ssh] = groups.services.as_slice() else {
        panic!(
            "expected one service with several servers, got {}",
            groups.services.len()
        );
    };
    assert_eq!(ssh.key, GroupKey::Service(22));
    assert_eq!(ssh.servers as usize, SERVERS_MAX - 1);
    assert_eq!(ssh.connections, ssh.servers);
    assert_eq!(ssh.connections + groups.crowded, 20_000);
    // Every connection is counted once.
    let listed: u64 = groups.servers.iter().map(|group| group.connections).sum();
    assert_eq!(listed + groups.beyond, 20_003);
}

#[test]
fn ports_rank_by_their_likeness_to_a_servers() {
    assert!(standing(5432) > standing(1000));
    assert!(standing(1000) > standing(9999));
    assert!(standing(9999) > standing(40_000));
    assert_eq!(standing(40_000), standing(60_000));
}

#[test]
fn a_server_with_many_connections_takes_little_memory() {
    let groups = grouped((0..100_000).map(|n| one(n, server(1, 443), 1 + n % 60_000, n % 7)));
    let group = &groups.servers[0];
    assert_eq!(group.connections, 100_000);
    assert_eq!(group.durations.count(), 100_000);
    // From a millisecond to a minute, there are 16 doublings with 32 bins each.
    assert!(
        group.durations.memory() <= 17 * 32 * 4,
        "{}",
        group.durations.memory()
    );
}

#[test]
fn the_time_of_a_connection_with_missing_packets_is_left_out() {
    let mut found = crate::testing::transfer();
    let group = |found: &ConnectionFindings| {
        let group = Group::of(found, found.last_at);
        group.expect("one end is the server")
    };
    let whole = group(&found);
    assert_eq!((whole.untold, whole.connections), (0, 1));
    assert!(Some(whole.lost) == found.lost() && !whole.lost.is_zero());
    assert_eq!(whole.segments, found.main_stream().unwrap().shares.segments);
    let streams = [&mut found.streams.opener, &mut found.streams.answerer];
    for stream in streams.into_iter().flatten() {
        stream.coverage.unseen_bytes = stream.coverage.bytes;
    }
    let lacking = group(&found);
    assert_eq!((lacking.untold, lacking.connections), (1, 1));
    assert_eq!((lacking.lost, lacking.most_lost), (Duration::ZERO, None));
    assert_eq!(lacking.retransmissions, whole.retransmissions);
}
