//! From a capture to findings: every packet to its connection, every stream to all analyses.
//!
//! [`Examiner`] is what follows a stream: the [`Explainer`] says what each event was, and every analysis is
//! told of both. [`diagnose`] takes the packets of a capture in batches, which several threads work on, and
//! makes a [`Diagnosis`] of what they were.

use std::io::Read;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use dupack_algorithms::catalog::Catalog;
use dupack_packet::CaptureTime;
use dupack_packet::captured::{CaptureReader, Captured, ReadError, Tally};
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::{Duration, Instant};

use crate::analyse::budget::{AckTimes, Budget, Terms};
use crate::analyse::cause::{Cause, Need};
use crate::analyse::explain::{self, End, Explainer};
use crate::analyse::groups::{Group, Grouping, Groups};
use crate::analyse::requests::{Gathered, Requests};
use crate::analyse::signs::Gathering;
use crate::analyse::stalls::Stalls;
use crate::consistency::{Withdrawn, settle};
use crate::findings::{
    AcksSeen, Beyond, ConnectionFindings, Coverage, Flow, KEPT_MAX, Kept, OptionsSeen, Shut,
    StreamFindings,
};
use crate::path::Survey;
use crate::path::series::Series;
use crate::read::connection::Connection;
use crate::read::follow::{Beginning, Follower, Timer};
use crate::read::moment::{Analysis, Arrival, Departure};
use crate::read::order::InOrder;
use crate::read::packet::Packet;
use crate::read::side::{Both, Side};
use crate::read::table::{Limits, Table};
use crate::read::turns::{Spent, Turn};
use crate::read::vantage::{Place, Reason};
use crate::read::workers::share;
use crate::selection::{LeftOut, Selection, Selector};
use crate::sender::{self, SenderAnalysis};
use crate::shared::{self, Candidate, Candidates, SharedBottlenecks};

/// The loss differentiations that are asked for their votes are those that come with the project.
static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

/// The parts of the work between two looks at whether it is to go on (ours: some milliseconds).
const PACKETS_PER_LOOK: u64 = 4096;

/// Follows one stream with all analyses.
#[derive(Debug)]
pub struct Examiner {
    beginning: Beginning,
    explainer: Explainer,
    budget: Budget,
    stalls: Stalls,
    signs: Gathering,
    survey: Survey,
    sender: SenderAnalysis,
    /// Turns that this stream answers.
    requests: Option<Box<Gathered>>,
    /// The last event of the transfer: what comes later is silence.
    ended: Instant,
    outstanding: u64,
}

impl Follower for Examiner {
    fn begin(beginning: &Beginning) -> Self {
        let at = beginning.at;
        let seen = match beginning.established_at {
            Some(_) => sender::Beginning::Seen,
            None => sender::Beginning::Missed,
        };
        let mut stalls = Stalls::new(beginning.sack);
        if let Some((at, packet)) = beginning.established_at.zip(beginning.established_by) {
            stalls.opened(at, packet);
        }
        Self {
            beginning: *beginning,
            explainer: Explainer::new(beginning.sack, explain::Limits::default()),
            budget: budget(beginning),
            stalls,
            signs: Gathering::new(beginning.window_shift, beginning.smss),
            survey: Survey::new(beginning.smss, &CATALOG),
            sender: SenderAnalysis::new(seen, beginning.smss),
            requests: None,
            ended: at,
            outstanding: 0,
        }
    }

    fn departed(
        &mut self,
        departure: &Departure<'_>,
        onlooker: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer {
        let explained = self.explainer.departed(departure);
        self.budget.departed(departure, &explained);
        self.stalls.departed(departure, &explained);
        self.signs.departed(departure, &explained);
        self.survey.departed(departure, &explained);
        self.sender.departed(departure, &explained);
        if let Some(onlooker) = onlooker {
            onlooker.departed(departure, &explained);
        }
        if departure.kind != SendingKind::Empty {
            self.ended = self.ended.max(departure.at);
        }
        self.outstanding = departure.view.flight_size();
        match explained.retransmission.map(|again| again.cause) {
            Some(Cause::Timeout { .. }) => Timer::Expired,
            _ => Timer::Ran,
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, onlooker: Option<&mut (dyn Analysis + '_)>) {
        let explained = self.explainer.arrived(arrival);
        self.budget.arrived(arrival, &explained);
        self.stalls.arrived(arrival, &explained);
        self.signs.arrived(arrival, &explained);
        self.survey.arrived(arrival, &explained);
        self.sender.arrived(arrival, &explained);
        if let Some(onlooker) = onlooker {
            onlooker.arrived(arrival, &explained);
        }
        if self.outstanding > 0 {
            self.ended = self.ended.max(arrival.at);
        }
        self.outstanding = arrival.view.flight_size();
    }

    fn asked(&mut self, at: Instant, packet: u64) {
        self.stalls.asked(at, packet);
    }

    fn numbered(&mut self, id: u16) {
        self.explainer.numbered(id);
    }

    fn spent(&self) -> Spent {
        self.budget.spent()
    }

    fn answered(&mut self, turn: &Turn) {
        let requests = self
            .requests
            .get_or_insert_with(|| Box::new(Gathered::new(turn.asker)));
        requests.take(turn);
    }

    fn foreign_sack(&mut self) {
        self.signs.foreign_sack();
    }
}

/// The budget of a stream that begins: its time runs from the SYN on, if the handshake was captured.
fn budget(beginning: &Beginning) -> Budget {
    let opening = beginning.opened_at.zip(beginning.established_at);
    let opening = opening.filter(|(opened, established)| opened <= established);
    let started = opening.map_or(beginning.at, |(opened, _)| opened);
    let mut terms = Terms::new(started);
    terms.segment_size = beginning.smss;
    terms.place = beginning.vantage.place;
    let at_sender = beginning.vantage.place == Place::Sender;
    if !at_sender && beginning.vantage.reason != Reason::Handshake {
        terms.ack_times = AckTimes::Guessed;
    }
    let mut budget = Budget::new(terms);
    if let Some((opened, established)) = opening {
        budget.handshake(opened, established.min(beginning.at));
    }
    budget
}

impl Examiner {
    /// What was found, now that nothing more is to come of `connection`, and what came through over time.
    fn findings(mut self, connection: &Connection<Self>, side: Side) -> (StreamFindings, Series) {
        if let Some(reset) = connection.ending().reset {
            let by = if reset.side == side {
                End::Sender
            } else {
                End::Receiver
            };
            self.explainer.was_reset(reset.at, reset.packet, by);
        }
        // Where something is outstanding, the transfer goes on to the last that was heard of either end.
        let ended = if self.outstanding > 0 {
            self.ended.max(connection.last_at())
        } else {
            self.ended
        };
        for again in self.explainer.records() {
            if needless_otherwise(again.need) {
                self.survey.proved_needless(again);
            }
        }
        let vantage = connection.vantage(side);
        let ways = Side::BOTH.map(|end| connection.handshake().round_trip_to(end));
        let whole = ways[0].zip(ways[1]).map(|(one, other)| one + other);
        let handshake = connection.handshake().round_trip_to(side);
        self.survey.seen_from(&vantage, handshake, whole);
        let path = self.survey.path();
        let facts = path.facts();
        let shares = self.budget.finish(ended, &facts);
        let stalls = self.stalls.finish();
        let shut = shut(&self.explainer, connection, side);
        let found = StreamFindings {
            side,
            smss: self.beginning.smss,
            vantage,
            coverage: coverage(connection, side),
            account: self.explainer.account(),
            retransmissions: self.explainer.records().copied().collect(),
            happenings: self.explainer.happenings().clone(),
            overtaken: self.explainer.overtaken(),
            reordered: self.explainer.reordered(),
            shut,
            shares,
            stalls,
            signs: self.signs.finish(),
            path,
            sender: self.sender.report(),
            withdrawn: Vec::new(),
        };
        (found, self.survey.into_series())
    }
}

/// How much of the data of `side` the capture has.
fn coverage(connection: &Connection<Examiner>, side: Side) -> Coverage {
    let own = connection.counts(side);
    let both = Side::BOTH.map(|side| connection.counts(side));
    let packets: u64 = both.iter().map(|counts| counts.packets).sum();
    let cut = both
        .iter()
        .map(|counts| u64::from(counts.packets_without_options));
    Coverage {
        options: if cut.sum::<u64>() * 2 >= packets.max(1) {
            OptionsSeen::Cut
        } else {
            OptionsSeen::Whole
        },
        acks: match connection.counts(side.other()).acks {
            0 => AcksSeen::None,
            _ => AcksSeen::Some,
        },
        bytes: own.unique_bytes,
        unseen_bytes: own.unseen_bytes(),
    }
}

/// How often the receiver's window was shut: before the first data was seen, its packets say so.
fn shut(explainer: &Explainer, connection: &Connection<Examiner>, side: Side) -> Shut {
    let happenings = explainer.happenings();
    let seen = u64::from(connection.counts(side.other()).zero_windows > 0);
    Shut {
        times: happenings.closed_times().max(seen),
        probes: happenings.window_probes(),
    }
}

/// Whether something else than a DSACK shows that a retransmission was needless.
const fn needless_otherwise(need: Need) -> bool {
    match need {
        Need::NeedlessByTimestamp | Need::NeedlessByTime | Need::NeedlessByArrival => true,
        Need::Needed | Need::NeedlessByDsack | Need::Unknown => false,
    }
}

/// What was found of a connection that is over, and its streams that may share a bottleneck with others.
fn findings(mut connection: Connection<Examiner>) -> (ConnectionFindings, Vec<Candidate>) {
    let mut gathered = None;
    let mut candidates = Vec::new();
    let [opener, answerer] = Side::BOTH.map(|side| {
        let mut examiner = connection.take_stream(side)?.into_follower();
        gathered = gathered.take().or(examiner.requests.take());
        // A FIN alone is no data.
        let counts = connection.counts(side);
        if counts.unique_bytes == 0 && counts.unseen_bytes() == 0 {
            return None;
        }
        let (mut found, series) = examiner.findings(&connection, side);
        settle(&mut found, counts);
        candidates.extend(candidate(&connection, &found, series));
        Some(found)
    });
    let streams = Both { opener, answerer };
    let requests = gathered.and_then(|gathered| requests(*gathered, &connection, &streams));
    let found = ConnectionFindings {
        number: connection.number(),
        addresses: Both {
            opener: connection.address(Side::Opener),
            answerer: connection.address(Side::Answerer),
        },
        first_at: connection.first_at(),
        last_at: connection.last_at(),
        handshake: connection.handshake().clone(),
        ending: *connection.ending(),
        silence: connection.silence(),
        counts: Both {
            opener: connection.counts(Side::Opener).clone(),
            answerer: connection.counts(Side::Answerer).clone(),
        },
        streams,
        requests,
        both: None,
    };
    (found, candidates)
}

/// A stream that may share a bottleneck with others: its ACKs and its packets are in the capture.
fn candidate(
    connection: &Connection<Examiner>,
    found: &StreamFindings,
    series: Series,
) -> Option<Candidate> {
    let round_trip = found.path.least_rtt.value()?;
    let ends = [found.side, found.side.other()];
    found.withdrawn.is_empty().then(|| Candidate {
        connection: connection.number(),
        side: found.side,
        hosts: ends.map(|side| connection.address(side).ip()),
        round_trip,
        series,
    })
}

/// The requests of a connection, if it has turns.
fn requests(
    gathered: Gathered,
    connection: &Connection<Examiner>,
    streams: &Both<Option<StreamFindings>>,
) -> Option<Requests> {
    let asker = gathered.asker();
    let stream = streams.of(asker).as_ref();
    let round_trip = stream.and_then(|stream| stream.path.least_rtt.value());
    let mut requests = gathered.finish(&connection.vantage(asker), round_trip)?;
    let answers = streams.of(asker.other()).as_ref();
    if answers.is_some_and(|stream| stream.withdrawn.contains(&Withdrawn::ConstantRate)) {
        requests.held_back();
    }
    Some(requests)
}

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
    order: InOrder,
    last: Option<CaptureTime>,
}

impl<R: Read> Feed<'_, R> {
    /// The next packets that are selected: none at the end. Says so if that is not the end of the capture.
    fn next(&mut self, packets: &mut Vec<Packet>) -> Result<Extent, ReadError> {
        while self.order.len() < self.batch {
            let Some(captured) = self.reader.next_packet()? else {
                self.order.rest(packets);
                return Ok(Extent::Whole);
            };
            let packet = captured.tcp();
            self.tally.count(&captured, &packet);
            self.last = self.last.max(Some(captured.at));
            let packet = packet.ok().and_then(|packet| self.selector.take(&packet));
            if let Some(packet) = packet {
                self.order.push(packet);
            }
            if self.reader.packets().is_multiple_of(PACKETS_PER_LOOK)
                && self.watch.taken(self.reader.bytes_taken()) == Continue::Stop
            {
                self.order.rest(packets);
                return Ok(Extent::Interrupted);
            }
        }
        self.order.ready(packets);
        Ok(Extent::Whole)
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
        order: InOrder::default(),
        last: None,
    };
    let (mut packets, mut coming) = (Vec::new(), Vec::new());
    let mut extent = feed.next(&mut packets)?;
    while extent == Extent::Whole && !packets.is_empty() {
        extent = diagnosing.take(&mut packets, || feed.next(&mut coming))?;
        std::mem::swap(&mut packets, &mut coming);
    }
    // What was read before somebody has asked to stop.
    diagnosing.take(&mut packets, || ());
    let Harvest {
        kept,
        grouping,
        candidates,
        ..
    } = diagnosing.finish();
    let (connections_all, without_data) = (kept.all(), kept.without_data());
    let (connections, beyond) = kept.finish();
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
        shared: shared::find(candidates),
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
