//! Tests of the remarks on the packets of a download, and of its figure.

use super::*;
use crate::testing::scene;

#[test]
fn each_packet_has_its_remark() {
    let said: Vec<(u64, String)> = scene(Remarks::Kept).into_remarks().into_iter().collect();
    let said: Vec<(u64, &str)> = said.iter().map(|(n, said)| (*n, said.as_str())).collect();
    assert_eq!(
        said,
        [
            (5, "lost: retransmitted as #14"),
            (11, "duplicate ACK 1"),
            (12, "duplicate ACK 2"),
            (13, "duplicate ACK 3; triggers the retransmission #14"),
            (
                14,
                "retransmission: SACK blocks beyond it, triggered by #13"
            ),
            (
                18,
                "retransmission: timeout, waited 250 ms; spurious: a DSACK reports that it arrived twice"
            ),
            (20, "DSACK: bytes 6000 to 7000 arrived twice"),
            (21, "shuts the receive window"),
            (22, "reopens the receive window"),
        ]
    );
    assert!(scene(Remarks::None).into_remarks().is_empty());
}

#[test]
fn a_figure_shows_segments_acks_blocks_and_the_edge_of_the_window() {
    let scene = scene(Remarks::None);
    let starts = |marks: &Marks| -> Vec<f64> { marks.kept().iter().map(|mark| mark.low).collect() };
    let thousands: Vec<f64> = (0..8).map(|n| f64::from(n) * 1000.0).collect();
    assert_eq!(starts(&scene.sent), thousands);
    assert_eq!(starts(&scene.again[Class::Fast as usize]), [1000.0]);
    assert_eq!(starts(&scene.again[Class::Timeout as usize]), [6000.0]);
    let again: usize = scene.again.iter().map(|marks| marks.kept().len()).sum();
    assert_eq!(again, 2);
    let blocks = scene.sacks.kept().iter().map(|mark| (mark.low, mark.high));
    let blocks: Vec<(f64, f64)> = blocks.collect();
    assert_eq!(
        blocks,
        [(2000.0, 3000.0), (3000.0, 4000.0), (4000.0, 5000.0)]
    );
    let top = |steps: &Steps| {
        let points = steps.clone().into_points().into_iter();
        points.map(|(_, value)| value).fold(0.0, f64::max)
    };
    assert_eq!(top(&scene.acked), 8000.0);
    assert_eq!(top(&scene.in_flight), 6000.0);
    // The receive window of 500 units of 128 bytes begins after the acknowledged data.
    assert_eq!(top(&scene.edge), 8000.0 + 64_000.0);
    let least = scene.rtt.kept().iter().map(|mark| mark.low);
    let least = least.fold(f64::INFINITY, f64::min);
    assert!((0.049..0.051).contains(&least), "{least}");
    assert_eq!(scene.retransmissions.len(), 2);
    assert!(!scene.is_thinned());
}
