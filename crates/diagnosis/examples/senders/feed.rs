//! What a simulated sender sent and heard, told to the analysis as a capture at its end would.

use dupack_algorithms::catalog::Catalog;
use dupack_diagnosis::explain::{Explainer, Limits};
use dupack_diagnosis::moment::{Analysis, Arrival, Departure};
use dupack_diagnosis::sender::{Beginning, SenderAnalysis, SenderReport};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::{Trace, What};
use dupack_tcp::connection::{Flags, Timestamps};
use dupack_tcp::replay::{Replay, ReplayLimits};
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::time::Instant;

use super::scenario::Drawn;

/// Runs a transfer and asks who its sender was.
pub fn report(drawn: &Drawn) -> SenderReport {
    let source = Source::new("drawn", drawn.experiment());
    let experiment = source.parse().expect("an experiment");
    let plan = Plan::new(experiment, &source, &Catalog::builtin()).expect("a plan");
    let job = plan.jobs()[0];
    let trace = Trace::record(plan.scenario(job), job.seed, &Interrupt::new());
    let trace = trace.expect("a network");
    let mut feed = Feed::new(&trace);
    for event in &trace.events {
        match event.what {
            What::Sent(sent) => feed.sent(event.at, &sent.segment),
            What::AckArrived { ack, .. } => feed.acknowledged(event.at, &ack),
            _ => {}
        }
    }
    feed.analysis.report()
}

struct Feed {
    replay: Replay,
    explainer: Explainer,
    analysis: SenderAnalysis,
    packet: u64,
    una: u64,
    window: u64,
}

impl Feed {
    fn new(trace: &Trace) -> Self {
        let mut config = trace.sender;
        // What the sender alone knows.
        config.rtt = dupack_tcp::rtt::RttConfig::default();
        config.peer_window = u32::MAX;
        Self {
            explainer: Explainer::new(config.sack, Limits::default()),
            replay: Replay::new(config, ReplayLimits::default()),
            analysis: SenderAnalysis::new(Beginning::Seen),
            packet: 0,
            una: 0,
            window: u64::from(config.peer_window),
        }
    }

    fn sent(&mut self, at: Instant, segment: &DataSegment) {
        self.packet += 1;
        let start = segment
            .seq
            .offset(Default::default(), self.replay.view(at).scoreboard.nxt());
        let Ok(sending) = self.replay.sent(at, segment) else {
            return;
        };
        let start = start.unwrap_or(0);
        let nxt = sending.view.scoreboard.nxt();
        let departure = Departure {
            at,
            packet: self.packet,
            start,
            end: start + u64::from(segment.len),
            kind: sending.kind,
            unseen_bytes: sending.unseen_bytes,
            flags: Flags::NONE,
            timestamps: segment.timestamp.map(|value| Timestamps { value, echo: 0 }),
            ip_id: None,
            window_left: Some((self.una + self.window).saturating_sub(nxt)),
            sent: sending.sent,
            view: sending.view,
        };
        let explained = self.explainer.departed(&departure);
        self.analysis.departed(&departure, &explained);
    }

    fn acknowledged(&mut self, at: Instant, ack: &Ack) {
        self.packet += 1;
        let Ok(heard) = self.replay.acknowledged(at, ack) else {
            return;
        };
        self.una = heard.facts.una;
        self.window = u64::from(ack.window);
        let nxt = heard.view.scoreboard.nxt();
        let arrival = Arrival {
            at,
            captured: at,
            packet: self.packet,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: ack.timestamp_echo.map(|echo| Timestamps { value: 0, echo }),
            window: Some(self.window),
            window_left: Some((self.una + self.window).saturating_sub(nxt)),
            view: heard.view,
        };
        let explained = self.explainer.arrived(&arrival);
        self.analysis.arrived(&arrival, &explained);
    }
}
