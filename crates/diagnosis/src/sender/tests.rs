//! Tests with scripted senders: the windows per round, over a path with scripted losses.

use dupack_tcp::SenderConfig;
use dupack_tcp::connection::Flags;
use dupack_tcp::options::Sack;
use dupack_tcp::replay::{Replay, ReplayLimits};
use dupack_tcp::segment::{Ack, DataSegment, SackBlock};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use super::*;
use crate::analyse::explain::{Explainer, Limits};

const SEGMENT: u64 = 1000;

/// Sender with scripted departures.
struct Flow {
    replay: Replay,
    explainer: Explainer,
    analysis: SenderAnalysis,
    at: Instant,
    rtt: Duration,
    /// Bandwidth-delay product of the path, in segments.
    holds: u64,
    nxt: u64,
    una: u64,
    packet: u64,
}

impl Flow {
    fn new(rtt_ms: u64) -> Self {
        let mut config = SenderConfig::new(1000);
        config.sack = Sack::Permitted;
        config.peer_window = u32::MAX;
        Self {
            replay: Replay::new(config, ReplayLimits::default()),
            explainer: Explainer::new(Sack::Permitted, Limits::default()),
            analysis: SenderAnalysis::new(Beginning::Seen, 1000),
            at: Instant::ZERO + Duration::from_secs(1),
            rtt: Duration::from_millis(rtt_ms),
            holds: u64::MAX,
            nxt: 0,
            una: 0,
            packet: 0,
        }
    }

    fn leave(&mut self, segment: u64) {
        self.leave_bytes(segment * SEGMENT, SEGMENT);
        self.nxt = self.nxt.max(segment + 1);
    }

    fn leave_bytes(&mut self, start: u64, len: u64) {
        self.packet += 1;
        let header = DataSegment {
            seq: SeqNumber(start as u32),
            len: len as u32,
            ..DataSegment::default()
        };
        let sending = self.replay.sent(self.at, &header).unwrap();
        let departure = Departure {
            at: self.at,
            packet: self.packet,
            start,
            end: start + len,
            kind: sending.kind,
            unseen_bytes: sending.unseen_bytes,
            flags: Flags::NONE,
            timestamps: None,
            ip_id: None,
            window_left: None,
            sent: sending.sent,
            view: sending.view,
        };
        let explained = self.explainer.departed(&departure);
        self.analysis.departed(&departure, &explained);
    }

    /// Simulates an ACK of everything before segment `una`, with a SACK block of later segments.
    fn ack(&mut self, una: u64, block: Option<(u64, u64)>) {
        self.packet += 1;
        self.una = una;
        let at = |segment: u64| SeqNumber((segment * SEGMENT) as u32);
        let mut ack = Ack {
            ack: at(una),
            window: 1 << 28,
            ..Ack::default()
        };
        if let Some((start, end)) = block {
            ack.sacks.push(SackBlock {
                start: at(start),
                end: at(end),
            });
        }
        let heard = self.replay.acknowledged(self.at, &ack).unwrap();
        let arrival = Arrival {
            at: self.at,
            captured: self.at,
            packet: self.packet,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: None,
            window: None,
            field: None,
            carried: 0,
            window_left: None,
            view: heard.view,
        };
        let explained = self.explainer.arrived(&arrival);
        self.analysis.arrived(&arrival, &explained);
    }

    /// Acknowledges the outstanding segments one by one, a round trip later. The ACKs release the segments that fit
    /// into the next window.
    fn round(&mut self, next: u64) {
        let end = self.nxt;
        // Segments that exceed the bandwidth-delay product wait in the queue.
        let queued = (end - self.una).saturating_sub(self.holds);
        self.at += self.rtt + self.rtt * queued / self.holds;
        for segment in self.una..end {
            self.ack(segment + 1, None);
            while self.nxt - self.una < next {
                self.leave(self.nxt);
            }
        }
    }

    fn begin(&mut self, window: u64) {
        for segment in 0..window {
            self.leave(segment);
        }
    }

    /// Loses and retransmits the first outstanding segment. Then the sender sends a window of `after` segments.
    fn lose(&mut self, after: u64) {
        let (hole, end) = (self.una, self.nxt);
        self.at += self.rtt;
        for sacked in hole + 2..=end {
            self.ack(hole, Some((hole + 1, sacked)));
            if sacked == hole + 4 {
                self.leave(hole);
            }
        }
        self.at += self.rtt;
        self.ack(end, None);
        while self.nxt - self.una < after {
            self.leave(self.nxt);
        }
    }

    fn report(&self) -> SenderReport {
        self.analysis.report()
    }
}

fn grown_to(window: u64) -> Flow {
    let mut flow = Flow::new(50);
    flow.begin(10);
    for window in [20, 40, window] {
        flow.round(window);
    }
    flow
}

#[test]
fn half_a_window_and_a_segment_per_round_is_the_reno_family() {
    let mut flow = grown_to(60);
    // With this queue, Vegas would stop growing. Without a queue, Vegas behaves like Reno.
    flow.holds = 35;
    let mut window = 60;
    for _ in 0..5 {
        window /= 2;
        flow.lose(window);
        for _ in 0..25 {
            window += 1;
            flow.round(window);
        }
    }
    let report = flow.report();
    assert_eq!(report.control.name, Some(Control::Halving), "{report:#?}");
}

#[test]
fn seven_tenths_and_a_cubic_curve_is_cubic() {
    let mut flow = grown_to(80);
    let mut window = 80_u64;
    for _ in 0..5 {
        let prior = window as f64;
        let first = (0.7 * prior).floor();
        flow.lose(first as u64);
        let k = ((prior - first) / 0.4_f64).cbrt();
        for round in 1..=100 {
            let t = f64::from(round) * 0.05;
            let curve = 0.4 * (t - k).powi(3) + prior;
            let friendly = first + 0.53 * f64::from(round);
            window = curve.max(friendly) as u64;
            flow.round(window);
        }
    }
    let report = flow.report();
    assert_eq!(report.control.name, Some(Control::Cubic), "{report:#?}");
}

#[test]
fn a_window_unaffected_by_losses_is_fixed() {
    let mut flow = Flow::new(50);
    flow.begin(32);
    for _ in 0..6 {
        for _ in 0..20 {
            flow.round(32);
        }
        flow.lose(32);
    }
    let report = flow.report();
    assert_eq!(report.control.name, Some(Control::Fixed), "{report:#?}");
}

/// Returns the report on a constant, paced window with a dip to `low` segments for five rounds every `every` seconds.
fn dips(low: u64, every: u64, times: u64) -> SenderReport {
    let mut flow = grown_to(80);
    for _ in 0..times {
        for _ in 0..every * 20 - 5 {
            flow.round(80);
        }
        for _ in 0..5 {
            flow.round(low);
        }
    }
    for _ in 0..10 {
        flow.round(80);
    }
    flow.report()
}

#[test]
fn dips_distinguish_the_versions_of_bbr() {
    let report = dips(40, 5, 4);
    let first = &report.control.candidates[0];
    assert_eq!(first.name, Control::Bbr, "{report:#?}");
    let told = "dipped 4 times without a loss, once in 5.";
    let tells = |sentence: &String| sentence.contains(told);
    assert!(first.evidence_for.iter().any(tells), "{report:#?}");
    let report = dips(4, 10, 3);
    let first = &report.control.candidates[0];
    assert_eq!(first.name, Control::BbrOne, "{report:#?}");
}

#[test]
fn a_short_transfer_gives_no_name_and_a_reason() {
    let mut flow = Flow::new(50);
    flow.begin(4);
    flow.round(2);
    let report = flow.report();
    assert_eq!(report.control.name, None);
    assert!(
        report.control.why.contains("lost nothing"),
        "{}",
        report.control.why
    );
    assert_eq!((report.recovery.name, report.stack), (None, None));
}

#[test]
fn a_capture_without_data_gives_no_name() {
    let report = SenderAnalysis::new(Beginning::Missed, 1000).report();
    assert_eq!((report.control.name, report.recovery.name), (None, None));
    assert_eq!(report.traits.initial_segments, None);
}

#[test]
fn the_first_flight_is_the_window_if_the_first_ack_releases_more() {
    let traits = grown_to(80).report().traits;
    assert_eq!(traits.initial_segments, Some(10));
    assert_eq!(traits.initial_is_window, Some(InitialBound::Window));

    // The sender sends three full segments and a short one, so there was no more data.
    let mut flow = Flow::new(50);
    flow.begin(3);
    flow.leave_bytes(3 * SEGMENT, 200);
    flow.at += flow.rtt;
    flow.ack(3, None);
    let traits = flow.report().traits;
    assert_eq!(traits.initial_bytes, Some(3200));
    assert_eq!(traits.initial_is_window, Some(InitialBound::AtLeast));
}

#[test]
fn a_loss_ends_slow_start() {
    let mut flow = grown_to(80);
    flow.lose(40);
    flow.round(41);
    assert_eq!(
        flow.report().traits.slow_start_end,
        Some(SlowStartEnd::Loss)
    );
}

#[test]
fn memory_is_bounded() {
    assert!(size_of::<Seen>() < 2048, "{}", size_of::<Seen>());
    assert!(size_of::<SenderAnalysis>() <= 16);
}
