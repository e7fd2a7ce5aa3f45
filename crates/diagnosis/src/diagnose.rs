//! From a capture to findings: every packet to its connection, every stream to all analyses.
//!
//! [`Examiner`] follows a stream. [`diagnose`] takes the packets of a capture in batches, which several threads work on, and
//! makes a [`Diagnosis`] of what they were.

mod beside;
mod examiner;

use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use dupack_packet::CaptureTime;
use dupack_packet::captured::{CaptureReader, Captured, ReadError, Tally, TcpPacket};
use dupack_tcp::time::{Duration, Instant};

use crate::analyse::groups::{Group, Grouping, Groups};
use crate::findings::{Beyond, ConnectionFindings, Flow, KEPT_MAX, Kept};
use crate::read::connection::Connection;
use crate::read::order::{InOrder, LATE_MAX, earliest};
use crate::read::packet::Packet;
use crate::read::table::{Limits, Table};
use crate::read::workers::share;
use crate::selection::{LeftOut, Selection, Selector};
use crate::shared::{self, Candidate, Candidates, SharedBottlenecks};

pub use examiner::Examiner;
use examiner::findings;

/// The parts of the work between two looks at whether it is to go on (ours: some milliseconds).
const PACKETS_PER_LOOK: u64 = 4096;

/// Whether a capture was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It was.
    Whole,
    /// Somebody has asked to stop.
    Interrupted,
}

/// What was found of a capture.
#[derive(Debug)]
pub struct Diagnosis {
    /// What kind of file it is: "pcap, microseconds".
    pub format: String,
    /// Which packets there are.
    pub tally: Tally,
    /// What is amiss with the capture, a sentence each.
    pub notes: Vec<String>,
    /// TCP packets that the selection leaves out: they are counted, and not analysed.
    pub left_out: LeftOut,
    /// When its first packet of TCP was captured.
    pub first: Option<CaptureTime>,
    /// From its first packet to its last.
    pub duration: Duration,
    /// The connections that were asked for, the worst first; at most [`KEPT_MAX`].
    pub connections: Vec<ConnectionFindings>,
    /// Connections that are not among them.
    pub beyond: Beyond,
    /// All connections.
    pub connections_all: u64,
    /// Those of them without data.
    pub without_data: u64,
    /// Connections by their server, and by service.
    pub groups: Groups,
    /// Bottlenecks that several of the streams share.
    pub shared: SharedBottlenecks,
    /// Whether it was read to its end.
    pub extent: Extent,
}

/// What is kept of connections that are over.
struct Harvest {
    kept: Kept,
    /// What the connections since the last batch add to the groups, each with its number.
    fresh: Vec<(u64, Option<Group>)>,
    grouping: Grouping,
    candidates: Candidates,
}

impl Harvest {
    fn new(flow: Flow) -> Self {
        Self {
            kept: Kept::new(flow, KEPT_MAX),
            fresh: Vec::new(),
            grouping: Grouping::default(),
            candidates: Candidates::default(),
        }
    }

    /// Takes what was found of a connection. In which order connections come within a batch makes no difference.
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

    /// A batch is over.
    fn settle(&mut self) {
        self.fresh.sort_by_key(|(number, _)| *number);
        for (_, group) in self.fresh.drain(..) {
            self.grouping.take(group);
        }
    }
}

/// Takes the packets of a capture.
struct Diagnosing {
    table: Table<Examiner>,
    harvest: Mutex<Harvest>,
    threads: usize,
    /// The time of the last packet.
    until: Instant,
}

impl Diagnosing {
    /// Takes the next packets, and does `meanwhile` at the same time.
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

    /// Nothing more is to come.
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

/// Keeps what was found of a connection; the capture was read up to `until`.
fn keep(harvest: &Mutex<Harvest>, connection: Connection<Examiner>, until: Instant) {
    let (found, candidates) = findings(connection);
    let group = Group::of(&found, until);
    locked(harvest).take(found, group, candidates);
}

/// Reads a capture batch by batch.
struct Feed<'a, R: Read> {
    reader: &'a mut CaptureReader<R>,
    watch: &'a mut dyn Watch,
    batch: usize,
    tally: Tally,
    selector: Selector<'a>,
    /// The first TCP packets, until there are so many that the earliest of all is among them.
    opening: Option<Vec<TcpPacket>>,
    order: InOrder,
    /// All was read, or somebody has asked to stop.
    is_over: bool,
    last: Option<CaptureTime>,
}

impl<R: Read> Feed<'_, R> {
    /// Reads the next packets that are selected. Says so if it stops before the end of the capture.
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

    /// The packets that were read: none at the end. What `packets` had is gone, and its room is used for the next.
    fn hand_over(&mut self, packets: &mut Vec<Packet>) {
        if self.is_over {
            self.order.rest(packets);
        } else {
            self.order.ready(packets);
        }
    }

    /// Takes the first packets, now that the earliest is known.
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

    /// From the first packet of TCP to the last of any kind.
    fn duration(&self) -> Duration {
        let nanos = |time: CaptureTime| time.as_unix_nanos();
        let ends = self.selector.first().zip(self.last);
        let nanos = ends.map_or(0, |(first, last)| nanos(last).saturating_sub(nanos(first)));
        Duration::from_nanos(nanos)
    }
}

/// Told how far the reading is.
pub trait Watch {
    /// So many bytes were taken of the capture. Answers whether to go on.
    fn taken(&mut self, bytes: u64) -> Continue;
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Read on.
    On,
    /// Stop here: what was read is diagnosed.
    Stop,
}

/// Nobody is told, and nobody stops it.
impl Watch for () {
    fn taken(&mut self, _: u64) -> Continue {
        Continue::On
    }
}

/// Reads what is selected of a capture to its end, or until `watch` says to stop. It takes as many threads as the machine has processors;
/// `watch` is told from this one.
///
/// # Errors
/// If the reader fails.
pub fn diagnose<R: Read>(
    reader: &mut CaptureReader<R>,
    selection: impl Into<Selection>,
    watch: &mut dyn Watch,
) -> Result<Diagnosis, ReadError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    diagnose_by(reader, &selection.into(), watch, threads, Limits::default())
}

/// As [`diagnose`], by so many threads and within these bounds.
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
    // What was read before somebody has asked to stop.
    diagnosing.take(&mut packets, || ());
    // Nothing more is to be read: the room is for what follows.
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

/// Hands every packet of a capture to `take`, until the end or until `watch` says to stop.
///
/// # Errors
/// If the reader fails.
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
