//! One connection on the stage, and what has crossed the wire for it.

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

/// A connection, its numbers in the script, and what its host knows of it.
pub(crate) struct Line {
    pub(crate) connection: Connection,
    pub(crate) numbers: Numbers,
    /// What has been sent and not been looked at.
    pub(crate) departed: VecDeque<Departed>,
    /// Bytes that the application has taken.
    pub(crate) taken: u64,
    /// Whether the peer has said that it will send no more.
    pub(crate) peer_finished: bool,
    /// How it ended.
    pub(crate) reason: Option<Reason>,
    /// The application has been told of its end.
    pub(crate) error_told: bool,
    pub(crate) application: Presence,
    /// The application reads no more.
    pub(crate) reading_over: bool,
    /// `connect` has returned.
    pub(crate) connect_told: bool,
    /// Whether the peer opened it.
    pub(crate) passive: bool,
    /// Whether it has been put before its listener.
    pub(crate) queued: bool,
    /// What crossed the wire, in the order of time.
    pub(crate) record: Vec<Crossed>,
    /// How the sender stood, whenever that changed.
    pub(crate) states: Vec<Standing>,
    /// Segments received with data, and sent, ever.
    pub(crate) counts: Counts,
    /// What the endpoint has not been given yet.
    pub(crate) hold: Hold,
    /// How long the sender was busy, and what it waited for.
    pub(crate) chrono: Chrono,
    /// Times that the application asks for.
    pub(crate) stamps: Stamps,
    /// Its host takes no packets: what is to be sent is not.
    pub(crate) refused: bool,
    /// What was written and is not acknowledged, where that is limited.
    pub(crate) buffer: SendBuffer,
}

/// Whether somebody holds the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Somebody does, or will.
    Here,
    /// It was closed: what comes now is wanted by nobody.
    Gone,
}

/// Something that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Departed {
    pub(crate) at: Instant,
    pub(crate) outgoing: Outgoing,
}

/// Something that crossed the wire, and how the sender stood then.
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

/// What is counted of a connection's segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) segments_in: u64,
    pub(crate) segments_out: u64,
    pub(crate) data_segments_in: u64,
    /// When data last came, or the connection was opened.
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

    /// A segment reaches it.
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
        // The bytes are the script's: nothing is kept of them.
        let _ = self.connection.handle_segment(now, segment);
        if self.application == Presence::Gone && self.unread() > 0 {
            // Nobody will ever read it: the peer is told (RFC 9293 §3.6.1).
            self.connection.abort_on(segment);
        }
        self.hold.review(&mut self.connection);
        self.settle(now);
    }

    /// An ICMP error reaches it.
    pub(crate) fn hear_of(&mut self, now: Instant, error: &IcmpError) {
        self.connection.handle_icmp(now, error);
        self.settle(now);
    }

    /// Time has passed.
    pub(crate) fn lapse(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.hold.lapse(&mut self.connection, now);
        self.settle(now);
    }

    /// When something happens by itself.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let timers = [self.connection.next_timeout(), self.hold.due()];
        timers.into_iter().flatten().min()
    }

    /// The application writes `bytes`, of which the send buffer takes what it has room for: how many.
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
                // A packet that is full leaves, if it may, before the next is begun.
                self.settle(now);
            }
        }
        taken
    }

    /// A call that writes is over.
    pub(crate) fn note_written(&mut self) {
        self.stamps.written(self.stand().written);
    }

    /// How the sender stands, for the send buffer.
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

    /// The application says how much may be in flight and wait, and how much may wait, if it does.
    pub(crate) fn set_buffer(&mut self, asked: Option<u32>, unsent: Option<u32>) {
        if let Some(asked) = asked {
            self.buffer.set(u64::from(asked));
        }
        if let Some(unsent) = unsent {
            self.buffer.set_unsent(u64::from(unsent));
        }
    }

    /// The application says whether small segments wait. What a call of this kind lets go goes out at once
    /// (`tcp_setsockopt` in Linux pushes what waits).
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

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.hold.flush(&mut self.connection);
        self.connection.close();
    }

    /// Takes what is to be sent, and hears what has happened.
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
                // Linux counts from here as long as there was no data.
                Event::Connected(_) => self.counts.last_data_in = Some(now),
                Event::Readable { .. } | Event::Acknowledged { .. } => {}
            }
        }
    }

    /// Bytes that the application could take.
    pub(crate) fn unread(&self) -> u64 {
        self.connection.readable().saturating_sub(self.taken)
    }

    /// Whether the handshake is over.
    pub(crate) const fn is_established(&self) -> bool {
        self.connection.state().is_synchronized()
    }

    /// The error that the application is told of next, as a call returns it.
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

    /// Whether nothing more can be written.
    pub(crate) fn is_over(&self) -> bool {
        self.reason.is_some() || self.connection.state() == State::Closed
    }
}

/// The error that Linux makes of what ICMP says (`icmp_err_convert`).
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
