//! Tests of the files of a download for other programs.

use serde_json::{Value, json as value};

use super::*;
use crate::testing::{answer, found};
use crate::whatif::Role;

/// Returns the members of an object that are in `names`.
fn members(object: &Value, names: &[&str]) -> Value {
    let all = names
        .iter()
        .map(|&name| (name.to_owned(), object[name].clone()));
    Value::Object(all.collect())
}

#[test]
fn the_document_counts_what_was_sent_and_heard() {
    let document: Value = serde_json::from_str(&json(&found(), None)).unwrap();
    let connection = &document["connections"][0];
    assert_eq!(
        members(
            connection,
            &["number", "first_s", "last_s", "established_s", "reset_s"]
        ),
        value!({ "number": 1, "first_s": 0.0, "last_s": 0.6, "established_s": 0.05, "reset_s": null })
    );
    let stream = &connection["streams"][0];
    let names = [
        "sent_by",
        "bytes",
        "segment_bytes",
        "segments",
        "window_shut_times",
    ];
    assert_eq!(
        members(stream, &names),
        value!({ "sent_by": "answerer", "bytes": 8000, "segment_bytes": 1000, "segments": 10, "window_shut_times": 1 })
    );
    assert_eq!(stream["window_shut_s"], 0.1);
    let packets = value!({
        "sent": 11, "copies": 0, "with_data": 10, "data_bytes": 10_000, "unique_bytes": 8000, "with_bytes_seen_before": 2,
        "retransmitted_bytes": 2000, "out_of_order": 0, "heard": 11, "acks": 10, "acks_with_sack": 4, "dsacks": 1,
        "zero_windows": 1,
    });
    let names: Vec<&str> = packets
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(members(&stream["packets"], &names), packets);
}

#[test]
fn the_document_has_each_retransmission_with_its_cause_and_its_need() {
    let document: Value = serde_json::from_str(&json(&found(), None)).unwrap();
    let again = &document["connections"][0]["streams"][0]["sent_again"];
    let names = [
        "segments",
        "bytes",
        "may_be_more",
        "needless",
        "needless_by_dsack",
        "lost_first",
        "lost_again",
    ];
    assert_eq!(
        members(again, &names),
        value!({
            "segments": 2, "bytes": 2000, "may_be_more": false, "needless": 1, "needless_by_dsack": 1, "lost_first": 1,
            "lost_again": 0
        })
    );
    assert_eq!(
        members(&again["by_class"], &["fast", "timeout", "further"]),
        value!({ "fast": 1, "timeout": 1, "further": 0 })
    );
    let one = &again["last"][0];
    assert_eq!(
        members(
            one,
            &[
                "packet",
                "start_byte",
                "end_byte",
                "transmission",
                "set_off_by_packet",
                "need"
            ]
        ),
        value!({
            "packet": 14, "start_byte": 1000, "end_byte": 2000, "transmission": 2, "set_off_by_packet": 13, "need": "needed"
        })
    );
}

#[test]
fn the_tables_have_a_line_per_stream_and_per_retransmission() {
    let found = found();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let connections = text(connections_csv(&found));
    let lines: Vec<&str> = connections.lines().collect();
    assert_eq!(lines.len(), 2, "{connections}");
    let expected = "1,answerer,10.0.0.2:443,10.0.0.1:40000,0.000000,";
    assert!(lines[1].starts_with(expected), "{connections}");
    let retransmissions = text(retransmissions_csv(&found));
    let lines: Vec<&str> = retransmissions.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "1,answerer,0.101200,14,1000,2000,2,sacked_beyond,,13,0.000050,needed,false",
            "1,answerer,0.403000,18,6000,7000,2,timeout,1,,0.249990,needless_by_dsack,false",
        ]
    );
    let limits = text(limits_csv(&found));
    let share = |line: &str| -> f64 { line.split(',').nth(4).unwrap().parse().unwrap() };
    let shares: f64 = limits.lines().skip(1).map(share).sum();
    assert!((shares - 1.0).abs() < 1e-4, "{limits}");
}

#[test]
fn an_answer_is_the_same_in_the_document() {
    let mut one = answer("rack/bbr", (7.0, 8.0, 9.0), Role::Another, Offer::Given);
    one.goodput.mean = 2.5;
    let document: Value =
        serde_json::from_str(&json(&found(), Some(&Asked::Answered(vec![one])))).unwrap();
    let what_if = &document["what_if"];
    assert_eq!(
        members(what_if, &["connection", "refused"]),
        value!({ "connection": 1, "refused": null })
    );
    let told = &what_if["answers"][0];
    let names = [
        "stack",
        "role",
        "offered",
        "duration_s",
        "duration_low_s",
        "duration_high_s",
        "captured_s",
        "gain",
    ];
    assert_eq!(
        members(told, &names),
        value!({
            "stack": "rack/bbr", "role": "another", "offered": true, "duration_s": 8.0, "duration_low_s": 7.0,
            "duration_high_s": 9.0, "captured_s": 10.0, "gain": "faster"
        })
    );
    assert_eq!(told["goodput_mbit_per_s"], 2.5);
    let refused = Asked::Refused("no data was acknowledged".to_owned());
    let document: Value = serde_json::from_str(&json(&found(), Some(&refused))).unwrap();
    assert_eq!(document["what_if"]["refused"], "no data was acknowledged");
}
