//! Endpoint of a connection: the state machine, the bytes of both directions, and the application.

use std::io;

use dupack_tcp::connection::{
    Connection, Event, Flags, IcmpError, Negotiated, Reason, Segment, State, TimeWait,
};
use dupack_tcp::options::Ecn;
use dupack_tcp::receiver::Receiver;
use dupack_tcp::sender::Sender;
use dupack_tcp::time::Instant;

use super::application::{Application, ConnectionReport, Supply};
use super::outbox::{Ends, Outbox};
use super::ring::Ring;
use crate::device::Device;
use dupack_packet::parse::Parsed;

/// A connection, its bytes and its application.
pub(super) struct Endpoint {
    connection: Connection,
    ends: Ends,
    application: Box<dyn Application>,
    /// Bytes of our stream between the acknowledged and the written position.
    ours: Ring,
    /// Bytes of the peer's stream that the application has not taken yet.
    peers: Ring,
    /// Capacity of the send buffer once the handshake is complete, in bytes.
    send_buffer: usize,
    stage: Stage,
    /// Bytes of the peer's stream that the application has taken.
    taken: u64,
    source: Progress,
    sink: Progress,
    negotiated: Option<Negotiated>,
    reason: Option<Reason>,
    /// Time at which the application was told that the connection is over.
    over_since: Option<Instant>,
}

/// Stage of an endpoint's setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The peer has sent a SYN. The endpoint has no application and no buffers yet.
    HalfOpen,
    /// The handshake that the peer started is complete. The endpoint needs an application now.
    Opened,
    /// The application is attached.
    Engaged,
}

/// Placeholder until there is an application.
struct Nobody;

impl Application for Nobody {
    fn supply(&mut self, _: &mut [u8]) -> Supply {
        Supply::NothingNow
    }

    fn take(&mut self, _: &[u8]) -> usize {
        0
    }
}

/// Progress of one direction as the application sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Going,
    /// The position of the last byte is known, but the byte has not been handed over.
    Ending,
    Ended,
}

/// Time at which an endpoint must work.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Immediately.
    Now,
    /// After all packets that have arrived so far have been processed.
    Soon,
}

/// Progress of a connection.
#[derive(Clone, Copy)]
struct Mark {
    readable: u64,
    acknowledged: u64,
}

impl Endpoint {
    /// Creates the endpoint of a connection that `application` uses.
    pub(super) fn new(
        connection: Connection,
        ends: Ends,
        application: Box<dyn Application>,
        send_buffer: usize,
    ) -> Self {
        let mut endpoint = Self::half_open(connection, ends, send_buffer);
        endpoint.make_rings();
        endpoint.engage(application);
        endpoint
    }

    /// Creates an endpoint for a SYN that has arrived. The caller must then pass the SYN to [`arrive`](Self::arrive).
    pub(super) fn half_open(connection: Connection, ends: Ends, send_buffer: usize) -> Self {
        Self {
            connection,
            ends,
            application: Box::new(Nobody),
            ours: Ring::new(0),
            peers: Ring::new(0),
            send_buffer,
            stage: Stage::HalfOpen,
            taken: 0,
            source: Progress::Going,
            sink: Progress::Going,
            negotiated: None,
            reason: None,
            over_since: None,
        }
    }

    fn make_rings(&mut self) {
        self.ours = Ring::new(self.send_buffer);
        // The size is at most 4 GiB, which any platform with TUN devices can address.
        self.peers = Ring::new(self.connection.config().receive_buffer as usize);
    }

    /// Returns `true` if the handshake that the peer started is complete and the connection has no application yet.
    pub(super) fn wants_application(&self) -> bool {
        self.stage == Stage::Opened && !self.is_over()
    }

    /// Attaches `application` to the connection.
    pub(super) fn engage(&mut self, application: Box<dyn Application>) {
        self.application = application;
        self.stage = Stage::Engaged;
    }

    /// Processes a packet that arrived at `at`. Returns the time at which [`work`](Self::work) is due.
    pub(super) fn arrive(&mut self, at: Instant, packet: &Parsed<'_>) -> Work {
        let before = self.mark();
        let store = self.connection.handle_segment(at, &packet.segment);
        if self.stage == Stage::HalfOpen && self.connection.negotiated().is_some() {
            self.make_rings();
            self.stage = Stage::Opened;
        }
        if let Some(store) = store {
            let from = store.skip as usize;
            if let Some(kept) = packet.payload.get(from..from + store.len as usize) {
                self.peers.put(store.offset, kept);
            }
        }
        self.due_after(&packet.segment, before)
    }

    /// Processes an ICMP error from a router or the peer's host. [`work`](Self::work) is due afterwards.
    pub(super) fn hear_of(&mut self, at: Instant, error: &IcmpError) {
        self.connection.handle_icmp(at, error);
    }

    fn mark(&self) -> Mark {
        Mark {
            readable: self.connection.readable(),
            acknowledged: self.connection.acknowledged(),
        }
    }

    /// Returns the time at which work is due after `segment`. As in receive coalescing, several in-order data segments,
    /// or several ACKs of data that was sent in order, may be answered together. A segment that indicates loss or
    /// requires an answer is answered immediately (RFC 5681 §4.2).
    fn due_after(&self, segment: &Segment, before: Mark) -> Work {
        let after = self.mark();
        let passed_over = match self.connection.negotiated() {
            // With Accurate ECN, the ACE flags are a counter that every segment carries (RFC 9768 §3.2.2).
            Some(agreed) if agreed.ecn == Ecn::Accurate => Flags::PSH.with(Flags::of_ace(0b111)),
            _ => Flags::PSH,
        };
        let plain = segment.flags.without(passed_over) == Flags::NONE
            && segment.options.sacks.is_empty()
            && self.connection.state() == State::Established;
        let gaps = |receiver: &Receiver| receiver.out_of_order_bytes() > 0;
        let in_order = after.acknowledged == before.acknowledged
            && after.readable == before.readable + u64::from(segment.len)
            && !self.connection.receiver().is_some_and(gaps);
        let repairs = |sender: &Sender| sender.scoreboard().sacked_bytes() > 0;
        let progress = after.acknowledged > before.acknowledged
            && !self.connection.sender().is_some_and(repairs);
        let may_wait = plain
            && match segment.len {
                0 => progress,
                _ => in_order,
            };
        if may_wait { Work::Soon } else { Work::Now }
    }

    /// Handles an expired timeout.
    pub(super) fn lapse(&mut self, now: Instant) {
        if self.next_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
        }
    }

    /// Returns the time of the next timeout.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.connection.next_timeout()
    }

    /// Does everything that can be done now: passes on bytes in both directions and sends segments.
    pub(super) fn work<D: Device>(
        &mut self,
        now: Instant,
        outbox: &mut Outbox,
        device: &mut D,
    ) -> io::Result<()> {
        self.hear();
        self.hand_over();
        self.fetch();
        while let Some(outgoing) = self.connection.poll_transmit(now) {
            if let (Some(_), Some(sender)) = (outgoing.why, self.connection.sender()) {
                self.application.sent(&outgoing, sender);
            }
            outbox.push(outgoing, self.ends, &self.ours, device)?;
        }
        outbox.flush(self.ends, &self.ours, device)?;
        // Sending a RST or the last ACK may have ended the connection.
        self.hear();
        self.conclude(now);
        Ok(())
    }

    fn hear(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected(negotiated) => {
                    self.negotiated = Some(negotiated);
                    self.application.connected(&negotiated);
                }
                Event::PeerFinished { .. } => self.sink = Progress::Ending,
                Event::Closed(reason) => self.reason = Some(reason),
                Event::Acknowledged { until } => self.application.acknowledged(until),
                // The position is taken from the connection when it is needed.
                Event::Readable { .. } => {}
            }
        }
    }

    /// Gives the application the bytes that have arrived.
    fn hand_over(&mut self) {
        while self.taken < self.connection.readable() {
            let bytes = self.peers.piece(&(self.taken..self.connection.readable()));
            let count = self.application.take(bytes).min(bytes.len()) as u64;
            if count == 0 {
                return;
            }
            self.taken += count;
            self.connection.read(count);
        }
        if self.sink == Progress::Ending {
            self.sink = Progress::Ended;
            self.application.finished();
        }
    }

    /// Gets bytes to send from the application until the send buffer is full.
    fn fetch(&mut self) {
        while self.source == Progress::Going && self.reason.is_none() {
            let (written, done) = (self.connection.written(), self.connection.acknowledged());
            let room = self.ours.piece_mut(&(written..done + self.ours.capacity()));
            if room.is_empty() {
                return;
            }
            let length = room.len();
            match self.application.supply(room) {
                Supply::Bytes(count) => {
                    let count = count.min(length) as u64;
                    if count == 0 || self.connection.write(count).is_err() {
                        return;
                    }
                }
                Supply::NothingNow => return,
                Supply::End => {
                    self.source = Progress::Ended;
                    self.connection.close();
                }
                Supply::Abort => {
                    self.source = Progress::Ended;
                    self.connection.abort();
                }
            }
        }
    }

    /// Tells the application once that the connection is over.
    fn conclude(&mut self, now: Instant) {
        let over = matches!(self.connection.state(), State::Closed | State::TimeWait);
        // In TIME-WAIT, the application may still have to take bytes.
        let taken = self.taken == self.connection.readable() || self.reason.is_some();
        if over && taken && self.over_since.is_none() {
            self.over_since = Some(now);
            self.application.closed(&self.outcome());
        }
    }

    /// Aborts the connection. The next [`work`](Self::work) informs the peer.
    pub(super) fn abort(&mut self) {
        self.connection.abort();
    }

    /// Returns the time since which the application is done with the connection, or `None` if it is not done.
    pub(super) const fn over_since(&self) -> Option<Instant> {
        self.over_since
    }

    /// Returns `true` if the peer has started a handshake that is not complete.
    pub(super) fn is_half_open(&self) -> bool {
        self.stage == Stage::HalfOpen && !self.is_over()
    }

    /// Returns `true` if the connection no longer exists. A host creates a passive connection only for a SYN, so a
    /// connection in LISTEN is one whose peer has withdrawn its SYN.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::Listen)
    }

    /// Returns the TIME-WAIT state, and the time since which the application has been done, if both apply.
    pub(super) fn left(&self) -> Option<(TimeWait, Instant)> {
        self.over_since
            .and_then(|since| Some((self.connection.time_wait()?, since)))
    }

    pub(super) const fn ends(&self) -> Ends {
        self.ends
    }

    pub(super) fn outcome(&self) -> ConnectionReport {
        ConnectionReport {
            reason: self.reason,
            negotiated: self.negotiated,
            sender: self.connection.sender().map(|sender| sender.stats()),
            path: *self.connection.path_counters(),
            segment_size: self.connection.sender().map(|sender| sender.config().smss),
            sent_bytes: self.connection.acknowledged(),
            received_bytes: self.taken,
        }
    }

    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_algorithms::catalog::{Catalog, Dialect, StackSpec, offer};
    use dupack_tcp::connection::Outgoing;
    use dupack_tcp::segment::SackBlock;
    use dupack_tcp::seq::SeqNumber;

    const PEER_ISS: SeqNumber = SeqNumber(0xffff_fff0);
    const SMSS: u32 = 1000;

    struct Idle;

    impl Application for Idle {
        fn supply(&mut self, _: &mut [u8]) -> Supply {
            Supply::NothingNow
        }

        fn take(&mut self, bytes: &[u8]) -> usize {
            bytes.len()
        }
    }

    /// An endpoint and the peer that writes to it.
    struct Dialogue {
        endpoint: Endpoint,
        iss: SeqNumber,
    }

    impl Dialogue {
        /// Creates a dialogue in which the peer's SYN has been answered.
        fn half_open() -> Self {
            let stack = StackSpec::parse("sack/reno", &Catalog::builtin()).expect("a stack");
            let (mut config, build) = offer(&stack, Dialect::Linux);
            config.mss = SMSS as u16;
            config.offer.timestamps = None;
            let ends = Ends {
                local: "10.0.0.1:1".parse().expect("an address"),
                remote: "10.0.0.2:2".parse().expect("an address"),
            };
            let connection = Connection::listen(config, build);
            let mut dialogue = Self {
                endpoint: Endpoint::half_open(connection, ends, 1 << 16),
                iss: SeqNumber(0),
            };
            let mut syn = Segment::new(PEER_ISS);
            syn.flags = Flags::SYN;
            syn.options.mss = Some(SMSS as u16);
            syn.options.sack_permitted = dupack_tcp::options::Sack::Permitted;
            assert_eq!(dialogue.hear(syn), Work::Now);
            dialogue.iss = dialogue.say().expect("a SYN-ACK").segment.seq;
            dialogue
        }

        fn established() -> Self {
            let mut dialogue = Self::half_open();
            assert_eq!(dialogue.hear(dialogue.segment(0, 0, 0)), Work::Now);
            assert_eq!(dialogue.endpoint.connection.state(), State::Established);
            dialogue.endpoint.engage(Box::new(Idle));
            dialogue
        }

        /// Returns a segment at `start` of the peer's stream that acknowledges `acked` bytes of ours.
        fn segment(&self, start: u64, len: u32, acked: u64) -> Segment {
            let mut segment = Segment::new(PEER_ISS.at(1 + start));
            segment.ack = Some(self.iss.at(1 + acked));
            segment.window = u16::MAX;
            segment.len = len;
            segment
        }

        fn hear(&mut self, segment: Segment) -> Work {
            let payload = vec![0; segment.len as usize];
            let packet = Parsed {
                source: self.endpoint.ends.remote,
                destination: self.endpoint.ends.local,
                segment,
                order: None,
                payload: &payload,
            };
            self.endpoint.arrive(Instant::ZERO, &packet)
        }

        fn say(&mut self) -> Option<Outgoing> {
            self.endpoint.connection.poll_transmit(Instant::ZERO)
        }
    }

    #[test]
    fn data_in_order_is_answered_together() {
        let mut dialogue = Dialogue::established();
        for segment in 0..4 {
            let data = dialogue.segment(segment * 1000, 1000, 0);
            assert_eq!(dialogue.hear(data), Work::Soon, "{segment}");
        }
        let ack = dialogue.say().expect("an ACK").segment;
        assert_eq!(ack.ack, Some(PEER_ISS.at(1 + 4000)));
        assert!(dialogue.say().is_none());
    }

    #[test]
    fn gaps_duplicates_and_ends_are_answered_at_once() {
        let mut dialogue = Dialogue::established();
        let first = dialogue.segment(0, 1000, 0);
        assert_eq!(
            dialogue.hear(dialogue.segment(1000, 1000, 0)),
            Work::Now,
            "a gap"
        );
        assert_eq!(
            dialogue.hear(dialogue.segment(3000, 1000, 0)),
            Work::Now,
            "another"
        );
        assert_eq!(dialogue.hear(first), Work::Now, "fills the first gap");
        assert_eq!(
            dialogue.hear(dialogue.segment(2000, 500, 0)),
            Work::Now,
            "fills half of the other gap"
        );
        assert_eq!(
            dialogue.hear(dialogue.segment(2500, 500, 0)),
            Work::Now,
            "fills the rest"
        );
        assert_eq!(dialogue.hear(first), Work::Now, "a repetition");
        let mut fin = dialogue.segment(4000, 1000, 0);
        fin.flags = Flags::FIN;
        assert_eq!(dialogue.hear(fin), Work::Now, "the end");
    }

    #[test]
    fn acks_are_coalesced_unless_they_indicate_loss() {
        let mut dialogue = Dialogue::established();
        dialogue
            .endpoint
            .connection
            .write(8000)
            .expect("it is open");
        while dialogue.say().is_some() {}
        assert_eq!(dialogue.hear(dialogue.segment(0, 0, 1000)), Work::Soon);
        assert_eq!(dialogue.hear(dialogue.segment(0, 0, 2000)), Work::Soon);
        assert_eq!(
            dialogue.hear(dialogue.segment(0, 0, 2000)),
            Work::Now,
            "a duplicate"
        );
        let mut sack = dialogue.segment(0, 0, 2000);
        sack.options.sacks.push(SackBlock {
            start: dialogue.iss.at(1 + 3000),
            end: dialogue.iss.at(1 + 4000),
        });
        assert_eq!(dialogue.hear(sack), Work::Now, "a SACK");
        let partial = dialogue.segment(0, 0, 2500);
        assert_eq!(
            dialogue.hear(partial),
            Work::Now,
            "while something is sacked"
        );
    }
    #[test]
    fn a_syn_gets_no_buffers_and_ends_with_its_reset() {
        let mut dialogue = Dialogue::half_open();
        assert!(dialogue.endpoint.is_half_open() && !dialogue.endpoint.is_over());
        let room = |endpoint: &Endpoint| endpoint.ours.capacity() + endpoint.peers.capacity();
        assert!(room(&dialogue.endpoint) <= 2);
        let mut reset = Segment::new(PEER_ISS.at(1));
        reset.flags = Flags::RST;
        let _ = dialogue.hear(reset);
        assert!(dialogue.endpoint.is_over() && !dialogue.endpoint.is_half_open());
        assert!(!dialogue.endpoint.wants_application());
    }

    #[test]
    fn data_that_completes_a_handshake_reaches_the_application() {
        let mut dialogue = Dialogue::half_open();
        let _ = dialogue.hear(dialogue.segment(0, 1000, 0));
        assert!(dialogue.endpoint.wants_application());
        assert!(!dialogue.endpoint.is_half_open());
        assert_eq!(dialogue.endpoint.connection.readable(), 1000);
        assert_eq!(dialogue.endpoint.ours.capacity(), 1 << 16);
        assert_eq!(dialogue.endpoint.peers.piece(&(0..1000)).len(), 1000);
    }
}
