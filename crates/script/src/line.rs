//! A connection on the stage and the packets that crossed the wire for it.

use std::collections::VecDeque;

use dupack_tcp::connection::{
    Connection, Event, IcmpError, Outgoing, Reason, Segment, State, Unreachable,
};
use dupack_tcp::time::Instant;

use crate::buffer::{SendBuffer, Stand};
use crate::chrono::Chrono;
use crate::hold::{Cork, Delay, Hold};
use crate::stamps::Stamps;
use crate::trace::Standing;
use crate::wire::Numbers;

/// A connection, its sequence numbers in the script, and the host's state for the connection.
pub(crate) struct Line {
    pub(crate) connection: Connection,
    pub(crate) numbers: Numbers,
    /// Sent packets that have not been compared with the script yet.
    pub(crate) departed: VecDeque<Departed>,
    /// Number of bytes that the application has read.
    pub(crate) taken: u64,
    /// `true` if the peer has sent a FIN.
    pub(crate) peer_finished: bool,
    /// Reason why the connection ended.
    pub(crate) reason: Option<Reason>,
    /// `true` if a call has reported the end of the connection to the application.
    pub(crate) error_told: bool,
    pub(crate) application: Presence,
    /// `true` if the application no longer reads.
    pub(crate) reading_over: bool,
    /// `true` if `connect` has returned.
    pub(crate) connect_told: bool,
    /// `true` if the peer opened the connection.
    pub(crate) passive: bool,
    /// `true` if the connection has been queued at its listener.
    pub(crate) queued: bool,
    /// Packets on the wire, in the order of time.
    pub(crate) record: Vec<Crossed>,
    /// States of the sender, one for each change.
    pub(crate) states: Vec<Standing>,
    /// Total numbers of segments received and sent.
    pub(crate) counts: Counts,
    /// Data that has not been passed to the endpoint yet.
    pub(crate) hold: Hold,
    /// Times during which the sender was busy or limited.
    pub(crate) chrono: Chrono,
    /// Timestamps that the application requests.
    pub(crate) stamps: Stamps,
    /// `true` if the host accepts no packets, so that nothing is sent.
    pub(crate) refused: bool,
    /// The send buffer, if it is limited.
    pub(crate) buffer: SendBuffer,
}

/// State of the application's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The application has the socket, or will have it.
    Here,
    /// The socket was closed, so nobody reads arriving data.
    Gone,
}

/// A sent packet.
#[derive(Clone, Debug)]
pub(crate) struct Departed {
    pub(crate) at: Instant,
    pub(crate) outgoing: Outgoing,
}

/// A packet on the wire, and the sender's state at that time.
#[derive(Clone, Debug)]
pub(crate) struct Crossed {
    pub(crate) at: Instant,
    pub(crate) what: Crossing,
}

#[derive(Clone, Debug)]
pub(crate) enum Crossing {
    Out(Outgoing),
    In(Segment),
}

/// Counters of a connection's segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) segments_in: u64,
    pub(crate) segments_out: u64,
    pub(crate) data_segments_in: u64,
    /// Time at which data last arrived, or at which the connection was opened.
    pub(crate) last_data_in: Option<Instant>,
    pub(crate) last_data_out: Option<Instant>,
    pub(crate) largest_in: u32,
}

impl Line {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            numbers: Numbers::new(connection.config().iss),
            connection,
            departed: VecDeque::new(),
            taken: 0,
            peer_finished: false,
            reason: None,
            error_told: false,
            application: Presence::Here,
            reading_over: false,
            connect_told: false,
            passive: false,
            queued: false,
            record: Vec::new(),
            states: Vec::new(),
            counts: Counts::default(),
            hold: Hold::default(),
            chrono: Chrono::default(),
            stamps: Stamps::default(),
            refused: false,
            buffer: SendBuffer::default(),
        }
    }

    /// Delivers a segment to the connection.
    pub(crate) fn arrive(&mut self, now: Instant, segment: &Segment) {
        self.record.push(Crossed {
            at: now,
            what: Crossing::In(*segment),
        });
        self.counts.segments_in += 1;
        if segment.len > 0 {
            self.counts.data_segments_in += 1;
            self.counts.last_data_in = Some(now);
            self.counts.largest_in = self.counts.largest_in.max(segment.len);
        }
        // The script determines the bytes, so nothing needs to be stored.
        let _ = self.connection.handle_segment(now, segment);
        if self.application == Presence::Gone && self.unread() > 0 {
            // Nobody will read the data, so the peer gets a RST (RFC 9293 §3.6.1).
            self.connection.abort_on(segment);
        }
        self.hold.review(&mut self.connection);
        self.settle(now);
    }

    /// Delivers an ICMP error to the connection.
    pub(crate) fn hear_of(&mut self, now: Instant, error: &IcmpError) {
        self.connection.handle_icmp(now, error);
        self.settle(now);
    }

    /// Handles timers that have expired.
    pub(crate) fn lapse(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.hold.lapse(&mut self.connection, now);
        self.settle(now);
    }

    /// Returns the time of the next timer.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let timers = [self.connection.next_timeout(), self.hold.due()];
        timers.into_iter().flatten().min()
    }

    /// Writes as many of `bytes` as fit into the send buffer, and returns their number.
    pub(crate) fn push(&mut self, now: Instant, bytes: u64, cork: Cork) -> u64 {
        let mut taken = 0;
        while taken < bytes {
            let stand = self.stand();
            let room = self.buffer.room(stand);
            let piece = room.min(bytes - taken);
            if piece == 0 {
                break;
            }
            self.hold.write(&mut self.connection, piece, cork, now);
            self.buffer.grew(stand, piece);
            taken += piece;
            if piece == room {
                // A full packet is sent, if this is allowed, before the next one is started.
                self.settle(now);
            }
        }
        taken
    }

    /// Records the end of a call that writes.
    pub(crate) fn note_written(&mut self) {
        self.stamps.written(self.stand().written);
    }

    /// Returns the sender's state, as the send buffer needs it.
    pub(crate) fn stand(&self) -> Stand {
        let sender = self.connection.sender();
        let segment = sender.map_or(0, |sender| u64::from(sender.config().smss));
        Stand {
            written: self.connection.written().saturating_add(self.hold.bytes()),
            sent: sender.map_or(0, |sender| sender.scoreboard().nxt()),
            acknowledged: self.connection.acknowledged(),
            segment,
        }
    }

    /// Sets the size of the send buffer and the bound of unsent data, if they are given.
    pub(crate) fn set_buffer(&mut self, asked: Option<u32>, unsent: Option<u32>) {
        if let Some(asked) = asked {
            self.buffer.set(u64::from(asked));
        }
        if let Some(unsent) = unsent {
            self.buffer.set_unsent(u64::from(unsent));
        }
    }

    /// Sets Nagle's algorithm and the cork. Data that the call releases is sent at once (`tcp_setsockopt` in Linux
    /// pushes waiting data).
    pub(crate) fn set_hold(&mut self, now: Instant, delay: Delay, cork: Cork) {
        let released = (self.hold.delay, self.hold.cork) != (delay, cork) || delay == Delay::Off;
        self.hold.delay = delay;
        self.hold.cork = cork;
        if released {
            match delay {
                Delay::Off => self.hold.let_go(&mut self.connection),
                Delay::Nagle => self.hold.review(&mut self.connection),
            }
        }
        self.settle(now);
    }

    /// Closes the sending direction.
    pub(crate) fn close(&mut self) {
        self.hold.flush(&mut self.connection);
        self.connection.close();
    }

    /// Takes packets and events from the connection.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.hear(now);
        while !self.refused
            && let Some(outgoing) = self.connection.poll_transmit(now)
        {
            self.counts.segments_out += 1;
            if outgoing.segment.len > 0 {
                self.counts.last_data_out = Some(now);
            }
            self.record.push(Crossed {
                at: now,
                what: Crossing::Out(outgoing.clone()),
            });
            self.departed.push_back(Departed { at: now, outgoing });
        }
        self.hear(now);
        let stand = self.stand();
        self.buffer.review(stand);
        let short = self.buffer.is_full() && stand.sent == stand.written;
        self.chrono.note(&self.connection, short, now);
        if let Some(sender) = self.connection.sender() {
            let sent = sender.scoreboard().nxt();
            let window = sender.peer_edge().saturating_sub(sender.scoreboard().una());
            self.buffer.note_window(window);
            self.stamps.note(sent, self.connection.acknowledged(), now);
        }
        self.note_state(now);
    }

    fn note_state(&mut self, now: Instant) {
        let Some(sender) = self.connection.sender() else {
            return;
        };
        let state = Standing {
            at: now,
            window: sender.window(),
            in_flight: sender.in_flight(now),
        };
        let same = |last: &Standing| {
            *last
                == Standing {
                    at: last.at,
                    ..state
                }
        };
        if !self.states.last().is_some_and(same) {
            self.states.push(state);
        }
    }

    fn hear(&mut self, now: Instant) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::PeerFinished { .. } => self.peer_finished = true,
                Event::Closed(reason) => self.reason = Some(reason),
                // Linux measures from this time as long as no data has arrived.
                Event::Connected(_) => self.counts.last_data_in = Some(now),
                Event::Readable { .. } | Event::Acknowledged { .. } => {}
            }
        }
    }

    /// Returns the number of bytes available to the application.
    pub(crate) fn unread(&self) -> u64 {
        self.connection.readable().saturating_sub(self.taken)
    }

    /// Returns `true` if the handshake is complete.
    pub(crate) const fn is_established(&self) -> bool {
        self.connection.state().is_synchronized()
    }

    /// Returns the error that the next call reports to the application.
    pub(crate) fn error(&self) -> Option<&'static str> {
        if self.error_told {
            return None;
        }
        match self.reason? {
            Reason::Refused => Some("ECONNREFUSED"),
            Reason::Reset => Some("ECONNRESET"),
            Reason::OpenTimedOut | Reason::TimedOut | Reason::PeerSilent => Some("ETIMEDOUT"),
            Reason::Unreachable(what) => Some(errno(what)),
            Reason::Finished | Reason::Aborted => None,
        }
    }

    /// Returns `true` if no more data can be written.
    pub(crate) fn is_over(&self) -> bool {
        self.reason.is_some() || self.connection.state() == State::Closed
    }
}

/// Converts an ICMP report to the error that Linux reports (`icmp_err_convert`).
const fn errno(what: Unreachable) -> &'static str {
    match what {
        Unreachable::Network => "ENETUNREACH",
        Unreachable::Protocol => "ENOPROTOOPT",
        Unreachable::Port => "ECONNREFUSED",
        Unreachable::SourceRoute => "EOPNOTSUPP",
        Unreachable::Header => "EPROTO",
        _ => "EHOSTUNREACH",
    }
}
