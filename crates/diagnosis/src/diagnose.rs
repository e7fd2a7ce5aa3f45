//! Diagnosis of a capture: packets are assigned to connections, and streams are passed to all analyses.
//!
//! [`Examiner`] follows a stream. [`diagnose`] processes the packets of a capture in batches on several threads, and
//! returns a [`Diagnosis`].

mod beside;
mod examiner;

use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use dupack_packet::CaptureTime;
use dupack_packet::captured::{CaptureReader, Captured, ReadError, Tally, TcpPacket};
use dupack_tcp::time::{Duration, Instant};

use crate::analyse::groups::{Group, Grouping, Groups};
use crate::findings::{Beyond, ConnectionFindings, Flow, KEPT_MAX, WorstConnections};
use crate::read::connection::Connection;
use crate::read::order::{InOrder, LATE_MAX, earliest};
use crate::read::packet::Packet;
use crate::read::table::{Limits, Table};
use crate::read::workers::share;
use crate::selection::{LeftOut, Selection, Selector};
use crate::shared::{self, Candidate, Candidates, SharedBottlenecks};

pub use examiner::Examiner;
use examiner::findings;

/// Number of packets between two calls that ask whether to continue (our choice: this takes a few milliseconds).
const PACKETS_PER_LOOK: u64 = 4096;

/// Extent to which a capture was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole capture was read.
    Whole,
    /// The reading was stopped.
    Interrupted,
}

/// Findings of a capture.
#[derive(Debug)]
pub struct Diagnosis {
    /// Format of the file, such as "pcap, microseconds".
    pub format: String,
    /// Counts of the packets by kind.
    pub tally: Tally,
    /// Problems of the capture, one sentence each.
    pub notes: Vec<String>,
    /// TCP packets that are not selected: they are counted, but not analysed.
    pub left_out: LeftOut,
    /// Capture time of the first TCP packet.
    pub first: Option<CaptureTime>,
    /// Time from the first packet to the last.
    pub duration: Duration,
    /// Selected connections, at most [`KEPT_MAX`], the worst first.
    pub connections: Vec<ConnectionFindings>,
    /// Totals over the connections that are not in this list.
    pub beyond: Beyond,
    /// Number of all connections.
    pub connections_all: u64,
    /// Number of connections without data.
    pub without_data: u64,
    /// Connections grouped by server and by service.
    pub groups: Groups,
    /// Bottlenecks shared by several streams.
    pub shared: SharedBottlenecks,
    /// Extent to which the capture was read.
    pub extent: Extent,
}

/// Results of finished connections.
struct Harvest {
    kept: WorstConnections,
    /// Contributions to the groups from connections that were finished since the last batch, each with the connection
    /// number.
    fresh: Vec<(u64, Option<Group>)>,
    grouping: Grouping,
    candidates: Candidates,
}

impl Harvest {
    fn new(flow: Flow) -> Self {
        Self {
            kept: WorstConnections::new(flow, KEPT_MAX),
            fresh: Vec::new(),
            grouping: Grouping::default(),
            candidates: Candidates::default(),
        }
    }

    /// Adds the findings of a connection. The order of connections within a batch does not matter.
    fn take(
        &mut self,
        found: ConnectionFindings,
        group: Option<Group>,
        candidates: Vec<Candidate>,
    ) {
        if self.kept.flow().takes(found.number, &found.addresses) {
            self.fresh.push((found.number, group));
            let streams = found.all_streams().count() as u64;
            self.candidates.push(streams, candidates);
        }
        self.kept.push(found);
    }

    /// Adds the results of a batch to the groups, in the order of the connection numbers.
    fn settle(&mut self) {
        self.fresh.sort_by_key(|(number, _)| *number);
        for (_, group) in self.fresh.drain(..) {
            self.grouping.take(group);
        }
    }
}

/// Processor of the packets of a capture.
struct Diagnosing {
    table: Table<Examiner>,
    harvest: Mutex<Harvest>,
    threads: usize,
    /// Time of the last packet.
    until: Instant,
}

impl Diagnosing {
    /// Processes the next packets, and calls `meanwhile` at the same time on this thread.
    fn take<T>(&mut self, packets: &mut [Packet], meanwhile: impl FnOnce() -> T) -> T {
        let done = self.table.take_all(packets, self.threads, meanwhile);
        self.until = packets.last().map_or(self.until, |last| last.at);
        let (finished, until) = (self.table.all_finished(), self.until);
        let harvest = &self.harvest;
        share(
            finished,
            self.threads,
            |one| keep(harvest, one, until),
            || (),
        );
        locked(harvest).settle();
        done
    }

    /// Processes the end of the capture.
    fn finish(self) -> Harvest {
        let Self {
            table,
            harvest,
            threads,
            until,
        } = self;
        table.finish_all(threads, |one| keep(&harvest, one, until));
        let harvest = harvest.into_inner();
        let mut harvest = harvest.unwrap_or_else(PoisonError::into_inner);
        harvest.settle();
        harvest
    }
}

fn locked(harvest: &Mutex<Harvest>) -> MutexGuard<'_, Harvest> {
    harvest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the findings of a connection. The capture was read up to `until`.
fn keep(harvest: &Mutex<Harvest>, connection: Connection<Examiner>, until: Instant) {
    let (found, candidates) = findings(connection);
    let group = Group::of(&found, until);
    locked(harvest).take(found, group, candidates);
}

/// Reader of a capture, batch by batch.
struct Feed<'a, R: Read> {
    reader: &'a mut CaptureReader<R>,
    watch: &'a mut dyn Watch,
    batch: usize,
    tally: Tally,
    selector: Selector<'a>,
    /// First TCP packets, stored until there are enough to contain the earliest one of the capture; `None` afterwards.
    opening: Option<Vec<TcpPacket>>,
    order: InOrder,
    /// `true` if the whole capture was read, or if the reading was stopped.
    is_over: bool,
    last: Option<CaptureTime>,
}

impl<R: Read> Feed<'_, R> {
    /// Reads the next selected packets. Returns [`Extent::Interrupted`] if the observer stopped the reading.
    fn read(&mut self) -> Result<Extent, ReadError> {
        self.order.expect(self.batch);
        while self.order.len() < self.batch {
            let Some(captured) = self.reader.next_packet()? else {
                self.open();
                self.is_over = true;
                break;
            };
            let packet = captured.tcp();
            self.tally.count(&captured, &packet);
            self.last = self.last.max(Some(captured.at));
            match (&packet, &mut self.opening) {
                (Ok(packet), Some(opening)) if opening.len() < LATE_MAX => opening.push(*packet),
                (Ok(packet), None) => self.take(packet),
                (Ok(packet), Some(_)) => {
                    self.open();
                    self.take(packet);
                }
                (Err(_), _) => {}
            }
            if self.reader.packets().is_multiple_of(PACKETS_PER_LOOK)
                && self.watch.taken(self.reader.bytes_taken()) == Continue::Stop
            {
                self.open();
                self.is_over = true;
                return Ok(Extent::Interrupted);
            }
        }
        Ok(Extent::Whole)
    }

    /// Moves the packets that are ready to `packets`; there are none after the end. The previous content of `packets`
    /// is discarded, and its memory is reused.
    fn hand_over(&mut self, packets: &mut Vec<Packet>) {
        if self.is_over {
            self.order.rest(packets);
        } else {
            self.order.ready(packets);
        }
    }

    /// Processes the first packets, after the earliest one among them is known.
    fn open(&mut self) {
        let Some(opening) = self.opening.take() else {
            return;
        };
        if let Some(first) = earliest(opening.iter().map(|packet| packet.at)) {
            self.selector.begin(first);
        }
        for packet in &opening {
            self.take(packet);
        }
    }

    fn take(&mut self, packet: &TcpPacket) {
        if let Some(packet) = self.selector.take(packet) {
            self.order.push(packet);
        }
    }

    /// Returns the time from the first TCP packet to the last packet of any kind.
    fn duration(&self) -> Duration {
        let nanos = |time: CaptureTime| time.as_unix_nanos();
        let ends = self.selector.first().zip(self.last);
        let nanos = ends.map_or(0, |(first, last)| nanos(last).saturating_sub(nanos(first)));
        Duration::from_nanos(nanos)
    }
}

/// Observer of the progress of reading.
pub trait Watch {
    /// Reports that `bytes` bytes of the capture have been read. Returns the decision whether to continue.
    fn taken(&mut self, bytes: u64) -> Continue;
}

/// Decision whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Continue reading.
    On,
    /// Stop here. The packets that were read are diagnosed.
    Stop,
}

/// Observer that does nothing and never stops.
impl Watch for () {
    fn taken(&mut self, _: u64) -> Continue {
        Continue::On
    }
}

/// Reads the selected part of a capture to its end, or until `watch` stops the reading. Uses as many threads as the
/// machine has processors; `watch` is called on the current thread.
///
/// # Errors
/// Returns an error if the reader fails.
pub fn diagnose<R: Read>(
    reader: &mut CaptureReader<R>,
    selection: impl Into<Selection>,
    watch: &mut dyn Watch,
) -> Result<Diagnosis, ReadError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    diagnose_by(reader, &selection.into(), watch, threads, Limits::default())
}

/// Diagnoses a capture like [`diagnose`], on `threads` threads and within `limits`.
fn diagnose_by<R: Read>(
    reader: &mut CaptureReader<R>,
    selection: &Selection,
    watch: &mut dyn Watch,
    threads: usize,
    limits: Limits,
) -> Result<Diagnosis, ReadError> {
    let mut diagnosing = Diagnosing {
        table: Table::new(limits),
        harvest: Mutex::new(Harvest::new(selection.flow)),
        threads,
        until: Instant::ZERO,
    };
    let mut feed = Feed {
        reader,
        watch,
        batch: limits.batch.max(1),
        tally: Tally::default(),
        selector: selection.selector(),
        opening: selection.origin.is_none().then(Vec::new),
        order: InOrder::default(),
        is_over: false,
        last: None,
    };
    let mut packets = Vec::new();
    let mut extent = feed.read()?;
    feed.hand_over(&mut packets);
    while extent == Extent::Whole && !packets.is_empty() {
        extent = diagnosing.take(&mut packets, || feed.read())?;
        feed.hand_over(&mut packets);
    }
    // These packets were read before a stop or before the end.
    diagnosing.take(&mut packets, || ());
    // All packets have been processed, so their memory is released for the following steps.
    drop(packets);
    feed.order = InOrder::default();
    let Harvest {
        kept,
        grouping,
        candidates,
        ..
    } = diagnosing.finish();
    let (connections_all, without_data) = (kept.all(), kept.without_data());
    let (mut connections, beyond) = kept.finish();
    let shared = shared::find(candidates);
    beside::settle(&mut connections, &shared.found);
    Ok(Diagnosis {
        format: feed.reader.describe(),
        notes: feed
            .reader
            .notes()
            .iter()
            .map(ToString::to_string)
            .collect(),
        left_out: feed.selector.left_out(),
        first: feed.selector.first(),
        duration: feed.duration(),
        tally: feed.tally,
        connections,
        beyond,
        connections_all,
        without_data,
        groups: grouping.finish(),
        shared,
        extent,
    })
}

/// Passes every packet of a capture to `take`, until the end or until `watch` stops the reading.
///
/// # Errors
/// Returns an error if the reader fails.
pub fn each_packet<R: Read>(
    reader: &mut CaptureReader<R>,
    watch: &mut dyn Watch,
    mut take: impl FnMut(&Captured<'_>),
) -> Result<Extent, ReadError> {
    let mut number = 0_u64;
    while let Some(captured) = reader.next_packet()? {
        take(&captured);
        number += 1;
        if number.is_multiple_of(PACKETS_PER_LOOK)
            && watch.taken(reader.bytes_taken()) == Continue::Stop
        {
            return Ok(Extent::Interrupted);
        }
    }
    Ok(Extent::Whole)
}

#[cfg(test)]
mod tests;
