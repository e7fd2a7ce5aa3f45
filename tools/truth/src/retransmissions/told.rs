//! Diagnosis of a transfer by the explainer, from a capture at one end.

use std::collections::BinaryHeap;

use dupack_diagnosis::analyse::explain::Limits;
use dupack_diagnosis::{Arrival, Departure, Explainer, Repeat, Retransmission, Stage};
use dupack_tcp::SenderConfig;
use dupack_tcp::connection::{Flags, Timestamps};
use dupack_tcp::replay::{Replay, ReplayLimits};
use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};

use super::record::{Record, Sent, What};

/// End at which a capture is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    Sender,
    Receiver,
}

/// Presence of IPv4 identifications that count the sender's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    Counted,
    Absent,
}

/// Diagnosis of one data packet.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Index of the transmission.
    pub sent: usize,
    pub repeat: Option<Repeat>,
    pub stage: Stage,
    /// Final diagnosis, if the packet is a retransmission.
    pub record: Option<Retransmission>,
}

/// Diagnosis of a transfer.
#[derive(Debug)]
pub struct Explanation {
    pub told: Vec<Told>,
}

/// Diagnoses a transfer from the capture at `end`.
pub fn explain(record: &Record, end: End, ids: Ids) -> Explanation {
    let mut stream = Stream::new(record, ids);
    let to_sender = match end {
        End::Sender => Duration::ZERO,
        End::Receiver => record.rtt_least.unwrap_or(Duration::ZERO),
    };
    // In a capture at the receiver, ACKs are processed when they have reached the sender.
    let mut waiting: BinaryHeap<std::cmp::Reverse<(Instant, u64)>> = BinaryHeap::new();
    let mut acks: Vec<(Instant, Ack)> = Vec::new();
    for event in &record.events {
        while let Some(&std::cmp::Reverse((at, number))) = waiting.peek()
            && at <= event.at
        {
            waiting.pop();
            let (captured, ack) = acks[number as usize];
            stream.ack(at, captured, &ack);
        }
        match (end, event.what) {
            (End::Sender, What::Sent(place)) | (End::Receiver, What::Arrived(place)) => {
                stream.data(event.at, place, &record.sends[place]);
            }
            (End::Sender, What::AckArrived(ack)) => stream.ack(event.at, event.at, &ack),
            (End::Receiver, What::AckSent(ack)) => {
                waiting.push(std::cmp::Reverse((event.at + to_sender, acks.len() as u64)));
                acks.push((event.at, ack));
            }
            _ => {}
        }
    }
    stream.finish()
}

struct Stream {
    ids: Ids,
    replay: Replay,
    explainer: Explainer,
    told: Vec<Told>,
    /// Number of data packets so far.
    packets: u64,
    /// Index of the transmission of each packet.
    by_packet: std::collections::HashMap<u64, usize>,
    edge: u64,
    isn: dupack_tcp::seq::SeqNumber,
    nxt: u64,
}

impl Stream {
    fn new(record: &Record, ids: Ids) -> Self {
        // The explainer gets the negotiated options, but no values that only the sender knows.
        let mut config = SenderConfig::new(record.config.smss);
        config.isn = record.config.isn;
        config.sack = record.config.sack;
        config.timestamps = record.config.timestamps;
        config.rtt.min_rto = Duration::from_millis(200);
        let limits = {
            let mut limits = Limits::default();
            limits.records = usize::MAX;
            limits
        };
        Self {
            ids,
            explainer: Explainer::new(config.sack, limits),
            isn: config.isn,
            replay: Replay::new(config, ReplayLimits::default()),
            told: Vec::new(),
            packets: 0,
            by_packet: std::collections::HashMap::new(),
            edge: 0,
            nxt: 0,
        }
    }

    fn data(&mut self, at: Instant, place: usize, sent: &Sent) {
        self.packets += 1;
        let Ok(sending) = self.replay.sent(at, &sent.segment) else {
            return;
        };
        let start = match sent.segment.len {
            0 => sent.offset.saturating_sub(1),
            _ => sent.offset,
        };
        let end = start + u64::from(sent.segment.len);
        self.nxt = self.nxt.max(end);
        let departure = Departure {
            at,
            packet: self.packets,
            start,
            end,
            kind: sending.kind,
            unseen_bytes: sending.unseen_bytes,
            flags: Flags::NONE,
            timestamps: sent
                .segment
                .timestamp
                .map(|value| Timestamps { value, echo: 0 }),
            ip_id: (self.ids == Ids::Counted).then_some(place as u16),
            window_left: Some(self.edge.saturating_sub(self.nxt)),
            sent: sending.sent,
            view: sending.view,
        };
        let explained = self.explainer.departed(&departure);
        if explained.retransmission.is_some() {
            self.by_packet.insert(self.packets, self.told.len());
        }
        self.told.push(Told {
            sent: place,
            repeat: explained.repeat,
            stage: explained.stage,
            record: explained.retransmission.copied(),
        });
    }

    fn ack(&mut self, at: Instant, captured: Instant, ack: &Ack) {
        self.packets += 1;
        let Ok(heard) = self.replay.acknowledged(at, ack) else {
            return;
        };
        let una = ack.ack.offset(self.isn, heard.facts.una).unwrap_or(0);
        self.edge = self.edge.max(una + u64::from(ack.window));
        let arrival = Arrival {
            at,
            captured,
            packet: self.packets,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: ack.timestamp_echo.map(|echo| Timestamps { value: 0, echo }),
            window: Some(u64::from(ack.window)),
            field: None,
            carried: 0,
            window_left: Some(self.edge.saturating_sub(self.nxt)),
            view: heard.view,
        };
        self.explainer.arrived(&arrival);
    }

    fn finish(mut self) -> Explanation {
        for record in self.explainer.records() {
            if let Some(&place) = self.by_packet.get(&record.packet) {
                self.told[place].record = Some(*record);
            }
        }
        Explanation { told: self.told }
    }
}
