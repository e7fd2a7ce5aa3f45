//! Tests that analysers read our captures without complaints and find their contents. A tool that is not installed is
//! skipped.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::analysers::{DATA_ONLY, Data, find_no_fault, run, tcptrace, text, tshark};
use crate::common;
use dupack_packet::Snap;

/// Writes a sample capture to a file and returns its path.
fn sample(name: &str, snap: Snap) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, common::capture(snap)).expect("the target directory is writable");
    path
}

#[test]
fn tshark_reports_no_errors() {
    for (snap, data) in [
        (Snap::Full, Data::Verified),
        (Snap::Headers, Data::CutShort),
    ] {
        let path = sample(&format!("tshark-{snap:?}.pcapng"), snap);
        let Some(found) = find_no_fault(&path, data) else {
            return;
        };
        assert_eq!(found, packets());
        // No problem is reported except for the events of the connection.
        let bad = "_ws.malformed || _ws.expert.severity == error || tcp.analysis.ack_lost_segment \
                   || tcp.options.timestamp.tsecr.invalid || tcp.option.len.invalid";
        let path = path.to_str().expect("the path is UTF-8");
        let arguments = [&["-r", path, "-Y", bad][..], &DATA_ONLY].concat();
        if let Some(output) = run("tshark", &arguments) {
            assert_eq!(text(&output.stdout), "", "{}", text(&output.stderr));
        }
    }
}

/// Returns the number of packets: those of handshakes, data, ACKs, and the FIN exchange.
fn packets() -> usize {
    let flow = |config, script| 3 + common::run(config, script).len();
    flow(&common::timestamps_flow(), common::TIMESTAMPS_SCRIPT)
        + flow(&common::order_flow(), common::ORDER_SCRIPT)
        + 3
}

#[test]
fn tshark_recognises_recovery() {
    let path = sample("tshark-recovery.pcapng", Snap::Headers);
    let fields = [
        "tcp.stream",
        "frame.comment",
        "tcp.analysis.retransmission",
        "tcp.analysis.duplicate_ack",
        "tcp.options.sack_le",
        "tcp.options.sack.dsack_le",
        "tcp.window_size",
        "tcp.len",
        "tcp.flags.syn",
        "tcp.analysis.initial_rtt",
        "tcp.options.experimental.exid",
        "tcp.analysis.out_of_order",
    ];
    let Some(rows) = tshark(&path, &fields) else {
        return;
    };
    let count = |stream: &str, wanted: &dyn Fn(&[String]) -> bool| {
        rows.iter()
            .filter(|row| row[0] == stream && wanted(row))
            .count()
    };
    for (stream, retransmissions) in [("0", 3), ("1", 4)] {
        // Exactly these segments are retransmissions. tshark distinguishes retransmissions from out-of-order segments
        // by the time since the last new segment, and may be wrong.
        let recognised = |row: &[String]| !row[2].is_empty() || !row[11].is_empty();
        let commented = |row: &[String]| row[1].starts_with("retransmission");
        let both = |row: &[String]| commented(row) && recognised(row);
        assert_eq!(count(stream, &recognised), retransmissions);
        assert_eq!(count(stream, &commented), retransmissions);
        assert_eq!(count(stream, &both), retransmissions);
    }
    assert!(count("0", &|row| !row[3].is_empty()) >= 3, "duplicate ACKs");
    assert!(count("0", &|row| !row[4].is_empty()) >= 3, "SACKs");
    assert_eq!(count("0", &|row| !row[5].is_empty()), 1, "DSACKs");
    assert!(
        count("1", &|row| row[1] == "no room for 1 more SACK block") > 0,
        "cut SACKs"
    );
    // Later versions of tshark write booleans as words.
    let is_pure_ack = |row: &&Vec<String>| {
        ["0", "False"].contains(&row[8].as_str()) && row[7] == "0" && !row[4].is_empty()
    };
    let windows: Vec<&str> = rows
        .iter()
        .filter(is_pure_ack)
        .map(|row| row[6].as_str())
        .collect();
    assert!(windows.len() >= 3, "{windows:?}");
    assert!(
        windows.iter().all(|window| *window == BUFFER_SCALED),
        "windows are scaled: {windows:?}"
    );
    assert!(
        rows.iter().any(|row| row[9] == "0.100000000"),
        "initial RTT"
    );
    assert_eq!(count("1", &|row| row[10] == "0x4c4f"), 13, "orders");
    assert_eq!(count("1", &|row| row[10] == "0x4c45"), 9, "echoed orders");
}

#[test]
fn tcptrace_recognises_recovery() {
    for snap in [Snap::Full, Snap::Headers] {
        let path = sample(&format!("tcptrace-{snap:?}.pcapng"), snap);
        let Some(connections) = tcptrace(&path) else {
            return;
        };
        let [first, second] = connections.as_slice() else {
            panic!("{} connections", connections.len());
        };
        let left = |rows: &HashMap<String, (String, String)>, label: &str| rows[label].0.clone();
        let right = |rows: &HashMap<String, (String, String)>, label: &str| rows[label].1.clone();
        assert_eq!(left(first, "unique bytes sent"), (12 * 1448).to_string());
        assert_eq!(left(first, "rexmt data pkts"), "3");
        assert_eq!(right(first, "dsack pkts sent"), "1");
        assert_ne!(right(first, "sack pkts sent"), "0");
        assert_eq!(right(first, "SYN/FIN pkts sent"), "1/1");
        assert_eq!(right(first, "req 1323 ws/ts"), "Y/Y");
        assert_eq!(right(first, "max win adv"), BUFFER_SCALED);
        assert_eq!(left(second, "unique bytes sent"), (9 * 1452).to_string());
        assert_eq!(left(second, "rexmt data pkts"), "4");
        assert_eq!(right(second, "dsack pkts sent"), "0");
    }
}

/// Advertised window. `common::BUFFER` is a multiple of 1 << 4, so scaling does not change it.
const BUFFER_SCALED: &str = "1000000";
