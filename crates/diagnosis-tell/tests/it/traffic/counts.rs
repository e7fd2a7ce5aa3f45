//! The JSON document has two counts of retransmissions: the sender's, and the packets that tcptrace would count.

use dupack_diagnosis_tell::numbers;
use dupack_truth::script::{End, Ip, Link, Script, packet};
use serde_json::{Value, json};

use super::Told;

/// Returns a connection in which a SYN, a data segment and a FIN are each sent twice, and one keep-alive probe carries
/// a byte.
fn four_repetitions() -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let server = |at: f64, seq: u32| packet(at, End::Server, seq).ack(1000);
    let client = |at: f64, ack: u32| packet(at, End::Client, 1000).ack(ack).window(900);
    for at in [0.0, 1.0] {
        script.add(packet(at, End::Server, 4999).syn(1460, Some(7)));
    }
    let answer = packet(1.02, End::Client, 999).syn(1460, Some(7));
    script.add(answer.ack(5000));
    script.add(server(1.0201, 5000));
    let mut sent = 5000;
    for round in 0..20 {
        let at = 1.1 + 0.03 * f64::from(round);
        for later in [0.0, 1e-5] {
            script.add(server(at + later, sent).len(1000));
            sent += 1000;
        }
        script.add(client(at + 0.02, sent));
    }
    for at in [2.0, 2.3] {
        script.add(server(at, sent).len(1000).push());
    }
    script.add(client(2.32, sent + 1000));
    script.add(server(60.0, sent + 999).len(1));
    script.add(client(60.02, sent + 1000));
    for at in [70.0, 70.4] {
        script.add(server(at, sent + 1000).fin());
    }
    script.add(client(70.42, sent + 1001));
    script
}

#[test]
fn retransmissions_exclude_probes_and_syns_which_tcptrace_counts() {
    let told = Told::of(&four_repetitions());
    let text = numbers::json(&told.0, None);
    let all: Value = serde_json::from_str(&text).unwrap();
    let connection = &all["connections"][0];
    let stream = &connection["streams"][0];
    let again = &stream["sent_again"];
    // The data segment, and the FIN, which occupies one sequence number.
    assert_eq!(
        (&again["segments"], &again["bytes"]),
        (&json!(2), &json!(1001))
    );
    assert_eq!(again["by_class"]["timeout"], 2);
    assert_eq!(again["by_class"]["keep_alive"], 1);
    assert_eq!(again["last"].as_array().unwrap().len(), 3);
    let packets = &stream["packets"];
    assert_eq!(packets["with_bytes_seen_before"], 4);
    assert_eq!(packets["retransmitted_bytes"], 1003);
    assert_eq!(packets["unique_bytes"], 41_000);
    assert_eq!(packets["data_bytes"], 42_001);
    assert_eq!(connection["syns_sent_again"].as_array().unwrap().len(), 1);
}
