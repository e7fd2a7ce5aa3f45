//! Many connections: sums by server and by service, and the sentences about these sums.

use dupack_diagnosis::Diagnosis;
use dupack_diagnosis::analyse::groups::{Group, GroupKey};
use dupack_diagnosis_tell::groups::{sentences, tables};
use dupack_diagnosis_tell::measures::Condition;
use dupack_diagnosis_tell::numbers::{groups_csv, json, server_lines};
use dupack_diagnosis_tell::summary::{Look, summary};
use dupack_report::page::Block;
use dupack_report::table::Colour;
use dupack_tcp::connection::Flags;
use dupack_tcp::time::Duration;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};
use dupack_truth::several::{self, Bottleneck, Transfer, capture};

use super::Told;

const RTT: f64 = 0.02;

/// Connections of one client to one server, each from a separate port of the client.
struct Many {
    script: Script,
    port: u16,
}

impl Many {
    fn new() -> Self {
        Self {
            script: Script::new(Ip::V4, Link::Raw),
            port: 40_000,
        }
    }

    fn add(&mut self, server: u16, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            self.script.add(packet.ports(self.port, server));
        }
        self.port += 1;
    }

    /// Adds one request of 200 bytes and its answer of 1,000 bytes. The SYN is retransmitted after each of the times in
    /// `syns_after`, in seconds.
    fn exchange(&mut self, at: f64, server: u16, syns_after: &[f64]) {
        let syn = |at| packet(at, End::Client, 999).syn(1460, Some(7));
        let mut packets = vec![syn(at)];
        let mut open = at;
        for after in syns_after {
            open += after;
            packets.push(syn(open));
        }
        let later = |seconds: f64| open + RTT + seconds;
        let client = |seconds, seq| packet(later(seconds), End::Client, seq).window(500);
        let server_at = |seconds, seq| packet(later(seconds), End::Server, seq).window(500);
        packets.extend([
            server_at(0.0, 4999).syn(1460, Some(7)).ack(1000),
            client(1e-4, 1000).ack(5000),
            client(2e-4, 1000).ack(5000).len(200).push(),
            server_at(RTT, 5000).ack(1200).len(1000).push(),
            client(RTT + 1e-4, 1200).ack(6000),
            client(RTT + 2e-4, 1200).ack(6000).fin(),
            server_at(2.0 * RTT, 6000).ack(1201).fin(),
            client(2.0 * RTT + 1e-4, 1201).ack(6001),
        ]);
        self.add(server, packets);
    }

    fn told(&self) -> Told {
        Told::of(&self.script)
    }
}

/// Returns the group of connections to this port of the server.
fn of(told: &Told, port: u16) -> &Group {
    let servers = &told.0.groups.servers;
    let found = servers.iter().find(|group| group.key.port() == port);
    found.expect("the group")
}

/// Returns 200 connections to a web server, 20 of which lost a SYN, and 3 connections that a database refused.
fn mixed() -> Many {
    let mut many = Many::new();
    for n in 0..200 {
        let again: &[f64] = if n % 10 == 3 { &[1.0] } else { &[] };
        many.exchange(f64::from(n) * 0.01, 443, again);
    }
    for n in 0..3 {
        let at = f64::from(n);
        let syn = packet(at, End::Client, 999).syn(1460, Some(7));
        let reset = packet(at + RTT, End::Server, 0).ack(1000).flags(Flags::RST);
        many.add(5432, [syn, reset]);
    }
    many
}

#[test]
fn connections_are_summed_by_server() {
    let told = mixed().told();
    let web = of(&told, 443);
    assert_eq!(web.key, GroupKey::Server("10.0.0.2:443".parse().unwrap()));
    assert_eq!(
        (web.connections, web.with_data, web.by_ports),
        (200, 200, 0)
    );
    assert_eq!((web.to_server, web.from_server), (40_000, 200_000));
    assert_eq!((web.syns.connections, web.syns.again), (20, 20));
    assert_eq!(web.syns.waited, Duration::from_secs(20));
    // After a retransmission of the SYN, it is unknown which of the two SYNs was answered.
    assert_eq!(web.handshakes.count(), 180);
    let handshake = web.handshakes.quantiles().unwrap();
    let millis = handshake.p50.as_secs_f64() * 1e3;
    assert!((millis - 20.1).abs() < 0.4, "{millis}");
    let durations = web.durations.quantiles().unwrap();
    assert!(durations.p50 < Duration::from_millis(70), "{durations:?}");
    assert!(durations.p95 > Duration::from_secs(1), "{durations:?}");
    // Connection 5 is the first connection that waited for a SYN retransmission.
    assert_eq!(web.longest.connection, 5);
    let database = of(&told, 5432);
    assert_eq!((database.connections, database.with_data), (3, 0));
    assert_eq!(database.failures.refused, 3);
    assert_eq!(database.failures.unanswered + database.failures.reset, 0);
}

#[test]
fn the_screen_has_the_cost_of_retransmitted_syns() {
    let told = mixed().told();
    let said = sentences(of(&told, 443));
    let part = "20 of 200 connections retransmitted a SYN: 20 s of waiting.";
    assert!(said.contains(part), "{said}");
    assert!(said.contains("40 kB to it, 200 kB from it"), "{said}");
    assert!(said.contains("to SYN retransmissions"), "{said}");
    let said = sentences(of(&told, 5432));
    assert!(
        said.contains("3 connections without data") && said.contains("3 refused"),
        "{said}"
    );
    let screen = told.screen();
    let web = screen.find("10.0.0.2:443 (https)").expect("the server");
    let database = screen.find("10.0.0.2:5432 (postgres)").expect("the other");
    assert!(web < database, "{screen}");
    for width in [40, 80] {
        let look = Look {
            colour: Colour::No,
            width: Some(width),
            detailed: 1,
            listed: 2,
        };
        let screen = summary(&told.0, None, &look);
        let by_server = &screen[screen.find("Connections by server").unwrap()..];
        let longest = by_server.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(usize::from(width)), "{by_server}");
    }
}

#[test]
fn servers_with_one_connection_are_not_described_individually() {
    let mut one = Many::new();
    one.exchange(0.0, 443, &[]);
    one.exchange(0.0, 80, &[]);
    let told = one.told();
    assert_eq!(told.0.groups.servers.len(), 2);
    assert!(!told.screen().contains("by server"), "{}", told.screen());
    assert!(tables(&told.0.groups).is_empty());
}

#[test]
fn a_syn_without_an_answer_is_unanswered_if_the_capture_continues() {
    let syn = |at| packet(at, End::Client, 999).syn(1460, Some(7));
    let mut many = Many::new();
    many.add(22, [syn(0.0), syn(1.0), syn(3.0)]);
    many.add(22, [syn(1.0)]);
    // This SYN is sent just before the end of the capture.
    many.add(22, [syn(3.9)]);
    many.exchange(4.0, 443, &[]);
    let told = many.told();
    let failures = of(&told, 22).failures;
    assert_eq!(failures.unanswered, 2);
    assert_eq!(failures.unanswered_for, Duration::from_secs(3));
    assert_eq!(of(&told, 22).syns.connections, 0);
    let said = sentences(of(&told, 22));
    assert!(
        said.contains("2 unanswered (3 s of retransmitted SYNs)"),
        "{said}"
    );
}

#[test]
fn without_a_syn_only_ports_identify_the_server() {
    let data = |client: End, seq, ack, at| packet(at, client, seq).ack(ack).len(500).window(500);
    let talk = |at| {
        [
            data(End::Server, 5000, 1000, at),
            data(End::Client, 1000, 5500, at + 0.01),
            data(End::Server, 5500, 1500, at + 0.02),
        ]
    };
    let mut many = Many::new();
    for n in 0..2 {
        many.add(6379, talk(f64::from(n)));
        many.add(800, talk(f64::from(n)));
        many.add(9999, talk(f64::from(n)));
        // This server port is as high as the client's ports.
        many.add(50_000, talk(f64::from(n)));
    }
    let told = many.told();
    for port in [6379, 800, 9999] {
        let group = of(&told, port);
        assert_eq!((group.connections, group.by_ports), (2, 2), "{port}");
        assert_eq!(group.from_server, 2000, "{port}");
        let said = sentences(group);
        assert!(said.contains("server is known only by its port"), "{said}");
    }
    assert_eq!(told.0.groups.servers.len(), 3);
    assert_eq!(told.0.groups.unknown, 2);
    assert!(json(&told.0, None).contains("\"connections_of_unknown_server\": 2"));
}

#[test]
fn a_group_lost_what_its_connections_lost() {
    let told = mixed().told();
    let lost: f64 = told
        .0
        .connections
        .iter()
        .map(|one| one.lost().unwrap().as_secs_f64())
        .sum();
    let grouped: f64 = told
        .0
        .groups
        .servers
        .iter()
        .map(|one| one.lost.as_secs_f64())
        .sum();
    assert!((lost - grouped).abs() < 1e-6, "{lost} {grouped}");
    assert!(lost >= 20.0);
    let web = of(&told, 443);
    let causes = dupack_diagnosis_tell::groups::causes(web);
    let sum: f64 = causes.iter().map(|(_, time)| time.as_secs_f64()).sum();
    assert!((sum - web.lost.as_secs_f64()).abs() < 1e-6, "{causes:?}");
    assert_eq!(causes[0], ("SYN retransmissions", Duration::from_secs(20)));
}

#[test]
fn files_have_a_line_per_group() {
    let told = mixed().told();
    let csv = String::from_utf8(groups_csv(&told.0)).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    let cell = |line: usize, name: &str| {
        let place = lines[0].split(',').position(|column| column == name);
        lines[line].split(',').nth(place.expect(name)).unwrap()
    };
    assert_eq!(cell(1, "server"), "10.0.0.2:443");
    assert_eq!(cell(1, "service"), "https");
    assert_eq!(cell(1, "syns_waited_s"), "20.000000");
    assert_eq!(cell(2, "refused"), "3");
    assert_eq!(cell(2, "handshake_p50_s"), "");
    let lines = server_lines(&told.0);
    let lines: Vec<Vec<&str>> = lines
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    assert_eq!((lines[1][0], lines[2][16]), ("10.0.0.2:443", "-"));
    let document: serde_json::Value = serde_json::from_str(&json(&told.0, None)).unwrap();
    assert_eq!(document["first_packet_unix_s"], 1_700_000_000.0);
    let web = &document["groups"]["servers"][0];
    assert_eq!(web["connections_with_syns_retransmitted"], 20);
    assert_eq!(web["service"], "https");
    assert_eq!(web["longest_connection"], 5);
    // Each connection waits for one round trip, and 20 connections also wait for a retransmission timer of 1 s.
    assert!(
        (web["limits_s"]["handshake"].as_f64().unwrap() - 24.0).abs() < 0.1,
        "{web}"
    );
    let Block::Table { rows, header, .. } = &tables(&told.0.groups)[0] else {
        panic!("a table");
    };
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.len() == header.len()));
}

#[test]
fn a_service_is_the_sum_of_its_servers() {
    let link = Bottleneck {
        bit_per_s: 10_000_000,
        room_packets: 50,
    };
    let transfers = [0, 1, 2].map(|_| Transfer::new(0, 10).bytes(100_000));
    let long = Duration::from_secs(5);
    let file = capture(&[link], &transfers, (several::End::Sender, long), 1);
    let found: Diagnosis = super::read(&file);
    let groups = &found.groups;
    assert_eq!(groups.servers.len(), 3);
    let [https] = groups.services.as_slice() else {
        panic!("one service");
    };
    assert_eq!((https.servers, https.connections), (3, 3));
    assert_eq!(https.to_server, 300_000);
    let look = Look {
        colour: Colour::No,
        width: Some(200),
        detailed: 1,
        listed: 2,
    };
    let screen = summary(&found, None, &look);
    assert!(screen.contains("port 443 (https), 3 servers"), "{screen}");
}

#[test]
fn connections_with_unknown_limits_are_excluded_from_the_time_lost() {
    let mut many = Many::new();
    many.exchange(0.0, 443, &[1.0]);
    let whole = many.told();
    assert!(!sentences(of(&whole, 443)).contains("without 1"));
    // The ACKs of this connection are not in the capture.
    let data = (0..100_u32).map(|n| {
        let at = 0.01 * f64::from(n);
        packet(at, End::Server, 5000 + 1460 * n).ack(1000).len(1460)
    });
    many.add(443, data);
    let told = many.told();
    let web = of(&told, 443);
    assert_eq!((web.connections, web.untold), (2, 1));
    let said = sentences(web);
    let left_out = "; without 1 connection whose limits cannot be determined";
    assert!(said.contains(left_out), "{said}");
}

#[test]
fn measures_of_data_are_not_missing_without_data() {
    let told = mixed().told();
    let refused = told.0.connections.iter();
    assert!(refused.filter(|one| one.main_stream().is_none()).count() > 0);
    let condition: Condition = "rtt > 100s".parse().unwrap();
    assert_eq!(condition.not_told(&told.0.connections), None);
}
