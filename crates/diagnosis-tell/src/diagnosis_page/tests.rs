//! Tests of the tables on a download's page.

use super::*;
use crate::film::Remarks;
use crate::testing::{answer, found, scene};

/// Returns the caption of a table, and the text of its cells.
fn table(block: &Block) -> (&str, Vec<Vec<&str>>) {
    let Block::Table { caption, rows, .. } = block else {
        panic!("no table");
    };
    let rows = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.text.as_str()).collect());
    (caption, rows.collect())
}

#[test]
fn retransmissions_are_listed_with_their_outcomes() {
    let found = found();
    let blocks = retransmissions(found.connections[0].main_stream().unwrap());
    let (caption, rows) = table(&blocks[0]);
    assert_eq!(
        caption,
        "2 of 10 segments (20 %): 1 fast, 1 by a timeout; 1 spurious"
    );
    assert_eq!(rows, [["fast", "1"], ["timeout", "1"]]);
    let (caption, rows) = table(&blocks[1]);
    assert_eq!(caption, "The last 2 retransmissions.");
    assert_eq!(
        rows,
        [
            [
                "0.101",
                "#14",
                "1000",
                "SACK blocks beyond it",
                "50 µs",
                "#13",
                ""
            ],
            [
                "0.403",
                "#18",
                "6000",
                "timeout",
                "250 ms",
                "–",
                "spurious: a DSACK reports that it arrived twice"
            ],
        ]
    );
}

#[test]
fn the_facts_of_a_connection_are_those_of_its_stream() {
    let found = found();
    let connection = &found.connections[0];
    let block = facts(connection, connection.main_stream().unwrap());
    let (_, rows) = table(&block);
    let of = |name: &str| rows.iter().find(|row| row[0] == name).map(|row| row[1]);
    assert_eq!(of("sender"), Some("10.0.0.2:443"));
    assert_eq!(of("receiver"), Some("10.0.0.1:40000"));
    assert_eq!(of("data"), Some("8 kB"));
    assert!(
        of("round-trip time").is_some_and(|told| told.starts_with("50 ms (least), ")),
        "{rows:?}"
    );
    assert!(
        of("seen from").is_some_and(|told| told.starts_with("the sender's end")),
        "{rows:?}"
    );
}

#[test]
fn shares_of_the_limits_sum_to_a_hundred() {
    let found = found();
    let block = facts::limits(found.connections[0].main_stream().unwrap());
    let (_, rows) = table(&block);
    let percents = rows.iter().map(|row| row[1].trim_end_matches(" %"));
    let sum: u32 = percents
        .map(|percent| percent.parse::<u32>().unwrap())
        .sum();
    assert_eq!(sum, 100, "{rows:?}");
}

#[test]
fn connections_beyond_those_listed_are_counted() {
    let mut found = found();
    let one = found.connections[0].clone();
    let caption = |found: &Diagnosis| {
        let section = all_connections(found);
        let (caption, rows) = table(&section.blocks[0]);
        (caption.to_owned(), rows.len())
    };
    let (said, listed) = caption(&found);
    assert!(!said.contains("not listed") && listed == 1, "{said}");
    found.connections = vec![one; 103];
    found.beyond.connections = 4;
    let (said, listed) = caption(&found);
    assert!(
        said.ends_with(" 7 more are not listed.") && listed == 100,
        "{said}"
    );
}

#[test]
fn each_sender_has_a_row_with_an_answer_or_a_reason() {
    let all = vec![
        answer("rack/cubic", (7.0, 8.0, 9.0), Role::Another, Offer::Given),
        answer("rack/reno", (9.0, 10.0, 11.0), Role::Captured, Offer::Given),
        answer(
            "newreno/reno",
            (1.0, 8.0, 20.0),
            Role::PerhapsCaptured,
            Offer::TooWide,
        ),
    ];
    let blocks = what_if(&Asked::Answered(all));
    let (_, rows) = table(&blocks[0]);
    assert_eq!(
        rows[0][..4],
        [
            "rack/cubic",
            "8 s (7 to 9 s)",
            "20 % (10 to 30 %) less than the 10 s captured",
            "1 Mbit/s"
        ]
    );
    assert!(
        rows[0][4].contains("tcp_congestion_control=cubic"),
        "{rows:?}"
    );
    assert_eq!(rows[1][0], "rack/reno, captured");
    assert_eq!(
        rows[2],
        [
            "newreno/reno, possibly captured",
            "–",
            "–",
            "–",
            "newreno/reno: the capture does not show the path precisely enough"
        ]
    );
}

#[test]
fn only_candidates_close_to_the_likeliest_are_listed() {
    use dupack_diagnosis::sender::{Candidate, Control};
    let candidate = |name, score| Candidate {
        name,
        score,
        evidence_for: vec!["one".to_owned(), "two".to_owned()],
        evidence_against: Vec::new(),
    };
    let verdict = Identification {
        name: Some(Control::Cubic),
        nearest: None,
        why: "a curve".to_owned(),
        candidates: vec![
            candidate(Control::Cubic, 5.0),
            candidate(Control::Reno, -7.0),
            candidate(Control::Vegas, -7.1),
        ],
    };
    let rows = candidates("control", &verdict);
    let rows: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.text.as_str()).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["control", "cubic", "one; two", ""],
            ["", "reno", "one; two", ""]
        ]
    );
    assert_eq!(super::verdict(&verdict), "cubic. a curve.");
}

#[test]
fn a_connection_with_a_scene_has_a_figure() {
    let found = found();
    let id = StreamId {
        connection: 1,
        sender: found.connections[0].main_stream().unwrap().side,
    };
    let scenes = Scenes::from([(id, scene(Remarks::None))]);
    let drawn = |detailed, scenes: &Scenes| {
        let files = files(&found, None, ("x.pcap", detailed), scenes, &[]).unwrap();
        format!("{files:?}").contains("figures/connection-1")
    };
    assert!(drawn(1, &scenes));
    assert!(!drawn(0, &scenes));
    assert!(!drawn(1, &Scenes::new()));
}
