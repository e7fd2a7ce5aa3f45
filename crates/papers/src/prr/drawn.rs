//! The diagrams of RFC 6937 §3.1, drawn from recorded packets.

use dupack_lab::trace::Trace;
use dupack_report::figure::{StepChart, StepSeries};
use dupack_report::trace::{Span, time_sequence};
use dupack_tcp::time::Duration;

use super::episode::{Episode, steps};
use crate::evidence::ExperimentResults;
use crate::reproduction::Exhibit;

/// Senders of `examples.toml`, in its order.
const SENDERS: [&str; 6] = [
    "RFC 6675",
    "Rate-Halving",
    "PRR-CRB",
    "PRR-SSRB",
    "PRR-UB",
    "PRR of RFC 9937",
];
const PATH: &str = "window 20, ssthresh 11 · 1.6 Mbit/s · 100 ms";
/// Time shown before the ACK that begins the recovery, and after the one that ends it.
const MARGINS: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(60));

/// A diagram of §3.1: the point and the sender of `examples.toml`, name, title and caption.
type Diagram = (usize, usize, &'static str, &'static str, &'static str);

const DIAGRAMS: [Diagram; 7] = [
    (
        0,
        0,
        "single-rfc6675",
        "One of 20 is lost: RFC 6675",
        "After the retransmission nothing is sent for half of the round trip, then a segment for every ACK.",
    ),
    (
        0,
        1,
        "single-rate-halving",
        "One of 20 is lost: Rate-Halving",
        "Every second ACK sends a segment. During the recovery the lower panel shows ssthresh as cwnd; the window of \
         Rate-Halving itself is not shown.",
    ),
    (
        0,
        3,
        "single-prr",
        "One of 20 is lost: PRR",
        "Every second ACK sends a segment until ssthresh is left; then every ACK. PRR-CRB and PRR-SSRB send the same packets.",
    ),
    (
        1,
        0,
        "burst-rfc6675",
        "15 of 20 are lost: RFC 6675",
        "The ACK that shows the losses sends seven retransmissions at once.",
    ),
    (
        1,
        1,
        "burst-rate-halving",
        "15 of 20 are lost: Rate-Halving",
        "Every ACK sends one segment, and five stay in flight. After the recovery the window is five, and slow start follows.",
    ),
    (
        1,
        2,
        "burst-prr-crb",
        "15 of 20 are lost: PRR-CRB",
        "Every ACK sends one segment, and five stay in flight until the recovery is over. Then the window is ssthresh, and \
         permits a burst.",
    ),
    (
        1,
        3,
        "burst-prr-ssrb",
        "15 of 20 are lost: PRR-SSRB",
        "Every ACK sends two segments until ssthresh is in flight.",
    ),
];

/// Draws the packets of each diagram.
pub(super) fn diagrams(part: &ExperimentResults) -> Vec<Exhibit> {
    let drawn = DIAGRAMS
        .iter()
        .filter_map(|(point, sender, name, title, caption)| {
            let trace = part.trace(*point, *sender)?;
            let steps = steps(trace);
            let (from, until) = Episode::all(trace, &steps).first()?.span();
            let span = Span {
                from: from - MARGINS.0,
                until: until + MARGINS.1,
            };
            let figure = time_sequence(trace, span, title, PATH);
            Some(Exhibit::figure(name, caption, figure.svg()))
        });
    drawn.collect()
}

/// Draws the number of segments sent over the number of ACKs, for both examples.
pub(super) fn sent_so_far(part: &ExperimentResults) -> Vec<Exhibit> {
    let charts = [
        (
            0,
            "single-sent",
            "One of 20 is lost: segments sent per ACK",
            "The steps of PRR and of Rate-Halving spread the reduction over the round trip; RFC 6675 waits, and ends with the \
             same number of segments. The fast retransmission is sent for the third ACK. PRR-CRB and PRR-SSRB have the same \
             line, which is that of PRR-UB, too.",
            &[0, 1, 3, 5][..],
            (0.0, 22.0),
        ),
        (
            1,
            "burst-sent",
            "15 of 20 are lost: segments sent per ACK",
            "The losses are detected with the third ACK. PRR-UB has the line of RFC 6675. PRR-CRB has that of Rate-Halving until \
             the last ACK of the recovery, which sends up to ssthresh.",
            &[0, 1, 2, 3, 5][..],
            (0.0, 24.0),
        ),
    ];
    let drawn = charts.map(|(point, name, title, caption, senders, range)| {
        let series = senders.iter().filter_map(|&sender| {
            Some(StepSeries {
                name: SENDERS[sender].to_owned(),
                points: sent(part.trace(point, sender)?)?,
            })
        });
        let chart = StepChart {
            title: title.to_owned(),
            subtitle: PATH.to_owned(),
            x_label: "ACKs since the loss".to_owned(),
            y_label: "segments sent for them".to_owned(),
            time_range: Some(range),
            series: series.collect(),
        };
        Exhibit::figure(name, caption, chart.svg())
    });
    drawn.into()
}

fn sent(trace: &Trace) -> Option<Vec<(f64, f64)>> {
    let steps = steps(trace);
    let episodes = Episode::all(trace, &steps);
    Some(episodes.first()?.sent_so_far())
}
