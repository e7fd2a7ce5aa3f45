//! Tests of the rows of a download's figure.

use dupack_diagnosis::consistency::Withdrawn;

use super::*;
use crate::film::Remarks;
use crate::testing::{found, scene};

/// Returns the figure, with the transfers of other senders in `courses`.
fn figure(courses: &[Course]) -> Timeline {
    let found = found();
    let connection = &found.connections[0];
    let stream = connection.main_stream().unwrap();
    timeline(connection, stream, &scene(Remarks::None), courses)
}

/// Returns the marks and the lines of a row, by their names.
fn plotted(row: &TimelineRow) -> Vec<(String, Vec<(f64, f64)>)> {
    let TimelinePlot::Values { lines, marks, .. } = &row.plot else {
        panic!("{}", row.name);
    };
    let lines = lines
        .iter()
        .map(|line| (line.name.clone(), line.points.clone()));
    let marks = marks
        .iter()
        .map(|mark| (mark.name.clone(), mark.points.clone()));
    lines.chain(marks).collect()
}

fn names(figure: &Timeline) -> Vec<&str> {
    figure.rows.iter().map(|row| row.name.as_str()).collect()
}

#[test]
fn a_figure_has_a_row_for_each_thing_and_its_unit() {
    let figure = figure(&[]);
    assert_eq!(
        names(&figure),
        [
            "position in the stream (kB)",
            "limited by",
            "in flight (kB)",
            "round-trip time (ms)",
            "losses and repairs",
        ]
    );
    let (from, until) = figure.time_range.unwrap();
    assert!(from == 0.0 && (0.4..=0.6).contains(&until), "{until}");
    assert!(
        figure.description.starts_with("8 kB of data in ")
            && figure
                .description
                .ends_with("Retransmitted: 2 segments, 1 of them by timeouts."),
        "{}",
        figure.description
    );
}

#[test]
fn the_figure_has_only_packets_if_no_limit_is_known() {
    let mut found = found();
    let side = found.connections[0].main_stream().unwrap().side;
    let stream = found.connections[0].streams.of_mut(side);
    let coverage = &mut stream.as_mut().unwrap().coverage;
    coverage.unseen_bytes = coverage.bytes;
    let withdrawn = &mut stream.as_mut().unwrap().withdrawn;
    withdrawn.push(Withdrawn::PacketsMissing);
    let connection = &found.connections[0];
    let stream = connection.main_stream().unwrap();
    let figure = timeline(connection, stream, &scene(Remarks::None), &[]);
    assert_eq!(names(&figure), ["position in the stream (kB)"]);
    let rows = plotted(&figure.rows[0]);
    let again = rows
        .iter()
        .filter(|(name, _)| name.starts_with("retransmitted: "));
    let again: Vec<(&str, usize)> = again
        .map(|(name, all)| (name.as_str(), all.len()))
        .collect();
    assert!(again.contains(&("retransmitted: unknown", 2)), "{again:?}");
    assert_eq!(again.iter().map(|(_, count)| count).sum::<usize>(), 2);
    let said = "Limited by: cannot be determined, because packets are missing from this capture.";
    assert!(figure.description.contains(said), "{}", figure.description);
}

#[test]
fn segments_have_their_positions_and_retransmissions_their_causes() {
    let figure = figure(&[]);
    let plotted = plotted(&figure.rows[0]);
    let of = |name: &str| {
        let one = plotted.iter().find(|(known, _)| known == name);
        one.map(|(_, points)| points.iter().map(|point| point.1).collect::<Vec<f64>>())
    };
    let places: Vec<f64> = (0..8).map(f64::from).collect();
    assert_eq!(of("sent"), Some(places));
    assert_eq!(of("retransmitted: fast"), Some(vec![1.0]));
    assert_eq!(of("retransmitted: timeout"), Some(vec![6.0]));
    assert_eq!(of("overtaken"), Some(vec![]));
    // Until the receive window closes, its right edge is up to 64 kB above the data.
    let edge = of("end of the receive window").unwrap();
    assert!(edge.contains(&8.0), "{edge:?}");
    assert!(edge.iter().any(|end| end.is_nan()), "{edge:?}");
    let highest = edge.iter().copied().fold(0.0, f64::max);
    assert!(highest <= 1.3 * 8.0, "{edge:?}");
    let times = plotted
        .iter()
        .find(|(name, _)| name == "retransmitted: timeout")
        .unwrap();
    assert!((times.1[0].0 - 0.403).abs() < 1e-9);
}

#[test]
fn round_trips_are_in_milliseconds_and_losses_have_their_times() {
    let figure = figure(&[]);
    let trips = plotted(&figure.rows[3]);
    assert!(
        trips[0].1.iter().all(|(_, ms)| (49.0..110.0).contains(ms)),
        "{trips:?}"
    );
    let TimelinePlot::Ticks(ticks) = &figure.rows[4].plot else {
        panic!("{:?}", names(&figure));
    };
    let times: Vec<(&str, &[f64])> = ticks
        .iter()
        .map(|tick| (tick.name.as_str(), tick.times.as_slice()))
        .collect();
    assert_eq!(
        times,
        [
            ("repaired", &[0.1012][..]),
            ("repair lost", &[]),
            ("spurious", &[0.403]),
            ("by a timeout", &[0.403]),
        ]
    );
}

#[test]
fn simulated_transfers_begin_with_the_captured_one() {
    let course = Course {
        stack: "rack/bbr".to_owned(),
        acked: vec![(0.0, 0.0), (0.2, 8000.0)],
    };
    let figure = figure(&[course]);
    assert_eq!(
        names(&figure)[1],
        "acknowledged, captured and simulated (kB)"
    );
    let plotted = plotted(&figure.rows[1]);
    assert_eq!(plotted[0].0, "captured");
    assert_eq!(plotted[1].0, "rack/bbr, simulated");
    let (time, kilobytes) = plotted[1].1[1];
    assert!(
        (time - 0.251).abs() < 1e-9 && kilobytes == 8.0,
        "{time} {kilobytes}"
    );
}

#[test]
fn the_unit_is_the_megabyte_from_two_megabytes_on() {
    assert_eq!((Unit::of(1.9e6).name, Unit::of(1.9e6).bytes), ("kB", 1e3));
    assert_eq!((Unit::of(2e6).name, Unit::of(2e6).bytes), ("MB", 1e6));
}
