//! Second reading of a few connections, packet by packet. It gathers the points of figures and a remark on each packet.
//!
//! The first reading keeps no packets, and it knows the worst connections only at its end. The capture is therefore
//! read again ([`retell`]) to describe some connections in detail: a [`Scene`] of each of their streams gathers a
//! bounded number of points and remarks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_report::trace::thin::{MOST_POINTS, Mark, Marks, Steps};
use dupack_tcp::facts::AckKind;
use dupack_tcp::time::Instant;

use crate::words;
use dupack_diagnosis::analyse::cause::{Cause, Class, Need, Repeat, Retransmission};
use dupack_diagnosis::analyse::explain::{self, Explainer};
use dupack_diagnosis::read::follow::{Attention, Beginning, Follower, Onlooker, StreamId, Timer};
use dupack_diagnosis::read::moment::{Analysis, Arrival, Departure, Explained};
use dupack_diagnosis::read::order::InOrder;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::read::table::{Limits, Table};
use dupack_diagnosis::{Packet, Selection, Watch, each_packet};

/// Maximum number of retransmissions of a stream that are kept individually (our choice: about 10 MB).
const RECORDS_MAX: usize = 1 << 16;

/// Maximum number of remarks on packets of a stream (our choice: more than anybody reads, about 20 MB).
const REMARKS_MAX: usize = 1 << 17;

/// Option to keep remarks on packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remarks {
    /// Remarks are kept.
    Kept,
    /// No remarks are kept.
    None,
}

/// One stream, packet by packet. Times are in seconds, and values in bytes.
#[derive(Debug)]
pub struct Scene {
    /// First transmissions: their times and their positions in the stream.
    pub sent: Marks,
    /// Retransmissions of each class, in the order of [`Class::ALL`].
    pub again: [Marks; Class::ALL.len()],
    /// Segments that were overtaken by later segments.
    pub overtaken: Marks,
    /// Number of acknowledged bytes.
    pub acked: Steps,
    /// SACK blocks.
    pub sacks: Marks,
    /// End of the receive window.
    pub edge: Steps,
    /// Number of bytes in flight.
    pub in_flight: Steps,
    /// Round-trip times, in seconds.
    pub rtt: Marks,
    /// Retransmissions, with all facts about each of them that are known at the end of the capture.
    pub retransmissions: Vec<Retransmission>,
    remarks: Option<RemarksOn>,
    smss: u64,
}

impl Scene {
    fn new(remarks: Remarks) -> Self {
        let (marks, steps) = (|| Marks::new(MOST_POINTS), || Steps::new(MOST_POINTS));
        Self {
            sent: marks(),
            again: Class::ALL.map(|_| marks()),
            overtaken: marks(),
            acked: steps(),
            sacks: marks(),
            edge: steps(),
            in_flight: steps(),
            rtt: marks(),
            retransmissions: Vec::new(),
            remarks: (remarks == Remarks::Kept).then(RemarksOn::default),
            smss: 1,
        }
    }

    /// Removes the causes of retransmissions from all remarks, for captures that do not show these causes.
    pub fn forget_causes(&mut self) {
        if let Some(remarks) = &mut self.remarks {
            remarks.forget_causes();
        }
    }

    /// Returns the remark on each packet, by its number in the capture.
    #[must_use]
    pub fn into_remarks(self) -> BTreeMap<u64, String> {
        self.remarks
            .map_or_else(BTreeMap::new, |remarks| remarks.said)
    }

    /// Returns `true` if some points were left out.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        self.sent.is_thinned() || self.acked.is_thinned() || self.rtt.is_thinned()
    }

    fn finish(&mut self, records: impl Iterator<Item = Retransmission>) {
        self.retransmissions = records.collect();
        if let Some(remarks) = &mut self.remarks {
            for record in &self.retransmissions {
                remarks.learned(record);
            }
        }
    }
}

fn point(at: Instant, low: u64, high: u64) -> Mark {
    Mark {
        time: at.as_secs_f64(),
        low: low as f64,
        high: high as f64,
    }
}

impl Analysis for Scene {
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        let (at, start) = (departure.at, departure.start);
        let mark = point(at, start, departure.end);
        let len = departure.end.saturating_sub(start);
        self.smss = self.smss.max(len);
        match explained.repeat {
            Some(Repeat::Retransmission(cause)) => {
                if let Some(marks) = self.again.get_mut(cause.class() as usize) {
                    marks.push(mark);
                }
            }
            Some(Repeat::Overtaken) => self.overtaken.push(mark),
            Some(Repeat::Copy) => {}
            None => self.sent.push(mark),
        }
        let flight = departure.view.flight_size();
        self.in_flight.push((at.as_secs_f64(), flight as f64));
        if let Some(remarks) = &mut self.remarks {
            remarks.departed(departure, explained);
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, _: &Explained<'_>) {
        let time = arrival.at.as_secs_f64();
        let facts = &arrival.facts;
        self.acked.push((time, facts.una as f64));
        let board = arrival.view.scoreboard;
        if facts.sacked_bytes > 0 {
            let forward = board.forward_ack();
            let low = forward.saturating_sub(facts.sacked_bytes).max(facts.una);
            self.sacks.push(point(arrival.at, low, forward));
        }
        if let Some(left) = arrival.window_left {
            self.edge
                .push((time, board.nxt().saturating_add(left) as f64));
        }
        let flight = arrival.view.flight_size();
        self.in_flight.push((time, flight as f64));
        if let Some(rtt) = facts.rtt {
            let seconds = rtt.as_secs_f64();
            self.rtt.push(Mark {
                time,
                low: seconds,
                high: seconds,
            });
        }
        if let Some(remarks) = &mut self.remarks {
            remarks.arrived(arrival);
        }
    }
}

/// Beginning of the remark on a retransmission.
const AGAIN: &str = "retransmission: ";
/// Remark on a packet that the capture contains twice.
const TWICE: &str = "the capture contains it twice";
/// Beginning of the remark on the ACK that triggered a retransmission.
const TRIGGERS: &str = "triggers the retransmission ";
/// Causes that do not depend on an ACK, in words.
const PROBES: [&str; 2] = [
    cause_in_words(Cause::KeepAlive),
    cause_in_words(Cause::WindowProbe),
];

/// Remarks on packets.
#[derive(Debug, Default)]
struct RemarksOn {
    said: BTreeMap<u64, String>,
    /// Last packet that carried the segment at each offset, while the segment is outstanding.
    carried: BTreeMap<u64, u64>,
    /// Packet of the previous transmission, for each packet that is a retransmission.
    before: BTreeMap<u64, u64>,
    /// Last receive window that was announced, in bytes.
    window: Option<u64>,
}

impl RemarksOn {
    fn say(&mut self, packet: u64, what: &str) {
        if self.said.len() >= REMARKS_MAX && !self.said.contains_key(&packet) {
            return;
        }
        let said = self.said.entry(packet).or_default();
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(what);
    }

    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        let packet = departure.packet;
        match explained.repeat {
            Some(Repeat::Overtaken) => self.say(packet, "overtaken on the path: it was sent once"),
            Some(Repeat::Copy) => self.say(packet, TWICE),
            Some(Repeat::Retransmission(_)) | None => {}
        }
        if let Some(again) = explained.retransmission {
            self.say(packet, &again_in_words(again));
            if let Some(trigger) = again.trigger {
                self.say(trigger, &format!("{TRIGGERS}#{packet}"));
            }
            if let Some(before) = self.carried.get(&again.start).copied()
                && self.before.len() < REMARKS_MAX
            {
                self.before.insert(packet, before);
            }
        }
        if departure.unseen_bytes > 0 {
            let unseen = words::bytes(departure.unseen_bytes as f64);
            self.say(
                packet,
                &format!("{unseen} before it are not in the capture"),
            );
        }
        let len = departure.end.saturating_sub(departure.start);
        if len > 0 && departure.window_left.is_some_and(|left| left < len) {
            self.say(packet, "fills the receive window");
        }
        if len > 0 && explained.repeat != Some(Repeat::Copy) {
            self.carried.insert(departure.start, packet);
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>) {
        let packet = arrival.packet;
        let facts = &arrival.facts;
        if facts.kind == AckKind::Duplicate {
            self.say(packet, &format!("duplicate ACK {}", facts.dup_acks));
        }
        if let Some((from, to)) = facts.dsack {
            self.say(
                packet,
                &format!("DSACK: bytes {from} to {to} arrived twice"),
            );
        }
        let was = std::mem::replace(&mut self.window, arrival.window);
        match (was, arrival.window) {
            (Some(1..) | None, Some(0)) => self.say(packet, "shuts the receive window"),
            (Some(0), Some(1..)) => self.say(packet, "reopens the receive window"),
            _ => {}
        }
        if facts.acked_bytes > 0 {
            self.carried = self.carried.split_off(&facts.una);
        }
    }

    /// Removes the causes of retransmissions from all remarks.
    fn forget_causes(&mut self) {
        for said in self.said.values_mut() {
            let parts = said.split("; ").filter(|part| !part.starts_with(TRIGGERS));
            let parts = parts.map(|part| match part.strip_prefix(AGAIN) {
                Some(cause) if !PROBES.contains(&cause) => {
                    format!("{AGAIN}{}", cause_in_words(Cause::Unknown))
                }
                _ => part.to_owned(),
            });
            let parts: Vec<String> = parts.collect();
            *said = parts.join("; ");
        }
        self.said.retain(|_, said| !said.is_empty());
    }

    /// Adds the remarks on a retransmission that depend on facts known only at the end of the capture.
    fn learned(&mut self, record: &Retransmission) {
        let packet = record.packet;
        if let Some(needless) = needless_in_words(record.need) {
            self.say(packet, needless);
        }
        if record.lost {
            self.say(packet, "lost");
        }
        if record.need == Need::Needed
            && record.transmission <= 2
            && let Some(before) = self.before.get(&packet).copied()
        {
            self.say(before, &format!("lost: retransmitted as #{packet}"));
        }
    }
}

/// Returns the evidence that a retransmission was spurious, or `None` if there is no such evidence.
#[must_use]
pub const fn needless_in_words(need: Need) -> Option<&'static str> {
    match need {
        Need::Needed | Need::Unknown => None,
        Need::NeedlessByDsack => Some("spurious: a DSACK reports that it arrived twice"),
        Need::NeedlessByTimestamp => Some("spurious: its ACK echoes the timestamp of the original"),
        Need::NeedlessByTime => Some("spurious: its ACK arrived too soon to be a response to it"),
        Need::NeedlessByArrival => {
            Some("spurious: the original had passed the capture point, and was acknowledged")
        }
    }
}

/// Returns the cause of a retransmission in words.
#[must_use]
pub const fn cause_in_words(cause: Cause) -> &'static str {
    match cause {
        Cause::DuplicateAcks => "duplicate ACKs",
        Cause::SackedBeyond => "SACK blocks beyond it",
        Cause::Rack => "a segment sent later had arrived (RACK)",
        Cause::EarlyRetransmit => "too little data in flight for three duplicate ACKs",
        Cause::PartialAck => "partial ACK",
        Cause::FurtherHole => "another hole of the same recovery",
        Cause::LostAgain => "its retransmission was lost",
        Cause::Timeout { .. } => "timeout",
        Cause::AfterTimeout => "outstanding when the timer expired",
        Cause::TailLossProbe => "tail loss probe",
        Cause::KeepAlive => "keep-alive",
        Cause::WindowProbe => "window probe",
        Cause::Unknown => "unknown cause",
    }
}

fn again_in_words(again: &Retransmission) -> String {
    let mut text = format!("{AGAIN}{}", cause_in_words(again.cause));
    if let Cause::Timeout { expiry } = again.cause
        && expiry > 1
    {
        text += &format!(", number {expiry} in a row");
    }
    let by_timer = matches!(again.cause, Cause::Timeout { .. } | Cause::TailLossProbe);
    if by_timer {
        text += &format!(", waited {}", words::time(again.waited));
    }
    if let Some(trigger) = again.trigger {
        text += &format!(", triggered by #{trigger}");
    }
    text
}

/// Follower of a stream that only explains retransmissions.
#[derive(Debug)]
struct Retelling(Explainer);

impl Follower for Retelling {
    fn begin(beginning: &Beginning) -> Self {
        let mut limits = explain::Limits::default();
        if beginning.attention == Attention::Close {
            limits.records = RECORDS_MAX;
        }
        Self(Explainer::new(beginning.sack, limits))
    }

    fn departed(
        &mut self,
        departure: &Departure<'_>,
        onlooker: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer {
        let explained = self.0.departed(departure);
        if let Some(onlooker) = onlooker {
            onlooker.departed(departure, &explained);
        }
        match explained.retransmission.map(|again| again.cause) {
            Some(Cause::Timeout { .. }) => Timer::Expired,
            _ => Timer::Ran,
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, onlooker: Option<&mut (dyn Analysis + '_)>) {
        let explained = self.0.arrived(arrival);
        if let Some(onlooker) = onlooker {
            onlooker.arrived(arrival, &explained);
        }
    }
}

/// Observer of the streams of some connections.
#[derive(Debug)]
struct Film {
    wanted: BTreeSet<u64>,
    remarks: Remarks,
    scenes: BTreeMap<StreamId, Scene>,
}

impl Film {
    fn scene(&mut self, stream: StreamId) -> Option<&mut Scene> {
        if !self.wanted.contains(&stream.connection) {
            return None;
        }
        let remarks = self.remarks;
        let scene = self.scenes.entry(stream);
        Some(scene.or_insert_with(|| Scene::new(remarks)))
    }
}

impl Onlooker for Film {
    fn analysis(&mut self, stream: StreamId) -> Option<&mut (dyn Analysis + '_)> {
        self.scene(stream).map(|scene| scene as &mut dyn Analysis)
    }

    fn copied(&mut self, stream: StreamId, packet: u64) {
        if let Some(remarks) = self.scene(stream).and_then(|scene| scene.remarks.as_mut()) {
            remarks.say(packet, TWICE);
        }
    }
}

/// Number of packets that are sorted together (our choice).
const PACKETS_AT_ONCE: usize = 4096;

/// Reads a capture again, and gathers scenes of the connections with these numbers. `selection` must be the selection
/// that the diagnosis used, because only connections with selected packets are numbered.
///
/// # Errors
/// If the reader fails.
pub fn retell<R: Read>(
    reader: &mut CaptureReader<R>,
    wanted: &[u64],
    selection: &Selection,
    remarks: Remarks,
    watch: &mut dyn Watch,
) -> Result<BTreeMap<StreamId, Scene>, ReadError> {
    let mut film = Film {
        wanted: wanted.iter().copied().collect(),
        remarks,
        scenes: BTreeMap::new(),
    };
    let mut table = Table::<Retelling>::new(Limits::default());
    let mut selector = selection.selector();
    let (mut order, mut packets) = (InOrder::default(), Vec::new());
    let mut done = Vec::new();
    let mut take = |packets: &[Packet]| {
        for packet in packets {
            table.take(packet, &mut film);
            while let Some(connection) = table.take_finished() {
                if film.wanted.contains(&connection.number()) {
                    done.push(connection);
                }
            }
        }
    };
    each_packet(reader, watch, |captured| {
        let Ok(packet) = captured.tcp() else { return };
        let Some(packet) = selector.take(&packet) else {
            return;
        };
        order.push(packet);
        if order.len() >= PACKETS_AT_ONCE {
            order.ready(&mut packets);
            take(&packets);
        }
    })?;
    order.rest(&mut packets);
    take(&packets);
    done.extend(table.finish(&mut film));
    for mut connection in done {
        let number = connection.number();
        for sender in Side::BOTH {
            let stream = StreamId {
                connection: number,
                sender,
            };
            let Some(scene) = film.scenes.get_mut(&stream) else {
                continue;
            };
            if let Some(told) = connection.take_stream(sender) {
                let explainer = told.into_follower().0;
                scene.finish(explainer.records().copied());
            }
        }
    }
    Ok(film.scenes)
}

#[cfg(test)]
mod tests;
