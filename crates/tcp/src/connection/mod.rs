//! A connection from its first SYN to the end of TIME-WAIT (RFC 9293), around a [`Sender`] and a [`Receiver`].
//!
//! Like them it is a state machine without clock, socket, payload or random number. Its host
//! 1. opens it ([`Connection::connect`], [`Connection::listen`]),
//! 2. hands in segments ([`Connection::handle_segment`]), ICMP errors
//!    ([`Connection::handle_icmp`]), time ([`Connection::handle_timeout`]) and the application's
//!    calls ([`Connection::write`], [`read`](Connection::read), [`close`](Connection::close),
//!    [`abort`](Connection::abort)),
//! 3. takes segments after each of these until there are none ([`Connection::poll_transmit`]), then
//!    events ([`Connection::poll_event`]), and
//! 4. calls `handle_timeout` again no later than [`Connection::next_timeout`].
//!
//! The host stores the bytes: written bytes until they are acknowledged, received bytes until they are read. Offsets
//! count each direction's stream from 0 and never wrap.
//!
//! ```text
//!               segments                              segments
//!  host ──▶ handle_segment ─┬─ open.rs    handshake      ▲
//!                           └─ arrive.rs  the rest       │
//!                                  │                     │
//!                   Engine: Sender, Receiver ──▶ transmit.rs
//! ```
//!
//! A FIN is one more position at the end of the stream, for sender and receiver alike: a lost FIN is recovered like a
//! lost byte.
//!
//! Deliberately absent: urgent data (RFC 6093 advises against it; the bit is ignored), data in a SYN (it is ignored, so
//! the peer retransmits it), Nagle's algorithm (written data is sent at once).

mod accurate;
mod arrive;
mod challenge;
mod clock;
mod config;
mod engine;
mod event;
mod header;
mod icmp;
mod open;
mod overtaken;
mod path_mtu;
mod state;
mod stateless;
mod time_wait;
mod timers;
mod transmit;

use core::fmt;

pub use config::{
    AccurateOption, BuildSender, Config, DEFAULT_MSS_IPV4, DEFAULT_MSS_IPV6, EcnOffer, EctUse,
    KeepAlive, LastDuplicate, MAX_WINDOW_SHIFT, MIN_MSS, MIN_SEND_MSS, Negotiated, Offer, OldStamp,
    TIMESTAMP_OPTION_BYTES, UnsentAck, Unstamped, WindowShifts,
};
pub use event::{Event, Reason};
pub use header::{Flags, Options, Outgoing, Segment, Store, Timestamps};
pub use icmp::{IcmpError, IcmpReport, OpeningErrors, PathCounters, Unreachable};
pub use path_mtu::{
    HEADERS_IPV4, HEADERS_IPV6, KnownMtu, LEAST_MTU_IPV6, PathMtuConfig, ProbingRule, TooBigRule,
};
pub use state::State;
pub use time_wait::TimeWait;

use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use challenge::Limiter;
use clock::Clock;
use engine::Engine;
use event::Pending;
use open::{Opening, Peer};
use state::Step;

/// A TCP connection. See the [module](self) for how to drive it.
pub struct Connection {
    config: Config,
    role: Role,
    state: State,
    /// Initial send sequence number: the number of the SYN.
    iss: SeqNumber,
    opening: Opening,
    /// Content of the peer's SYN, once one has arrived.
    peer: Option<Peer>,
    /// Taken out when the connection is established.
    build: Option<BuildSender>,
    /// `Some` while timestamps are offered or agreed on.
    clock: Option<Clock>,
    /// `Some` from ESTABLISHED on.
    engine: Option<Engine>,
    limiter: Limiter,
    /// RST that is due, with the numbers that the offending segment requires.
    reply: Option<Segment>,
    pending: Pending,
    /// Bytes that the application has written.
    written: u64,
    output: Output,
    time_wait_until: Option<Instant>,
    path_counters: PathCounters,
    /// Last ICMP error since the last acknowledgment.
    unreachable: Option<Unreachable>,
}

/// End that opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// This end.
    Active,
    /// The peer.
    Passive,
}

/// State of the application's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Open,
    /// [`Connection::close`] was called.
    Finished,
}

/// State of something to send: due or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    Yes,
}

/// Error of a write: the application has closed the connection, or it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing;

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot write: the connection is closed or closing")
    }
}

impl core::error::Error for Closing {}

impl Connection {
    /// Opens a connection actively: the SYN is due at once.
    #[must_use]
    pub fn connect(config: Config, build: BuildSender) -> Self {
        let mut connection = Self::new(config, build, Role::Active, State::SynSent);
        connection.opening.due = Due::Yes;
        connection
    }

    /// Opens a connection passively: it waits for a SYN.
    ///
    /// It serves one peer. A listening host creates one when a SYN arrives that belongs to no connection, and hands it
    /// that SYN. So the host can choose the initial sequence number by the peer's address (RFC 6528).
    #[must_use]
    pub fn listen(config: Config, build: BuildSender) -> Self {
        Self::new(config, build, Role::Passive, State::Listen)
    }

    fn new(config: Config, build: BuildSender, role: Role, state: State) -> Self {
        let config = Config {
            mss: config.mss.max(MIN_MSS),
            receive_buffer: config.receive_buffer.max(1),
            ..config
        };
        Self {
            role,
            state,
            iss: config.iss,
            opening: Opening::default(),
            peer: None,
            build: Some(build),
            clock: None,
            engine: None,
            limiter: Limiter::new(config.challenge_secret),
            reply: None,
            pending: Pending::default(),
            written: 0,
            output: Output::Open,
            time_wait_until: None,
            path_counters: PathCounters::default(),
            unreachable: None,
            config,
        }
    }

    /// Takes in a segment from the peer. Returns the part of its payload that the host must store, and its place in the
    /// stream.
    #[must_use = "this part of the payload is acknowledged: store it"]
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) -> Option<Store> {
        match self.state {
            State::Closed => {
                self.reply = segment.reset();
                None
            }
            State::Listen => {
                self.arrive_in_listen(now, segment);
                None
            }
            State::SynSent => {
                self.arrive_in_syn_sent(now, segment);
                None
            }
            State::SynReceived => self.arrive_in_syn_received(now, segment),
            _ => self.arrive(now, segment),
        }
    }

    /// Adds `bytes` bytes to the data to send. May be called before the connection is established.
    ///
    /// # Errors
    ///
    /// Returns an error if the application has closed the connection, or it is over.
    pub fn write(&mut self, bytes: u64) -> Result<(), Closing> {
        if self.output == Output::Finished || self.state == State::Closed {
            return Err(Closing);
        }
        self.written = self.written.saturating_add(bytes);
        if let Some(engine) = &mut self.engine {
            engine.sender.write(bytes);
        }
        Ok(())
    }

    /// Reads up to `bytes` readable bytes for the application and returns how many there were. The window may open:
    /// poll for segments.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.engine.as_mut().map_or(0, |engine| engine.read(bytes))
    }

    /// Ends the application's output: a FIN follows the written data. Data from the peer still arrives.
    ///
    /// Before the connection is established, the call is remembered until it is, so that no written data is lost. RFC
    /// 9293 §3.10.4 would abandon the connection, which [`abort`](Self::abort) does.
    ///
    /// A peer that never ends its own direction keeps the connection in FIN-WAIT-2 as long as it answers keep-alive
    /// probes. A host that does not want that calls [`abort`](Self::abort).
    pub fn close(&mut self) {
        if self.output == Output::Finished {
            return;
        }
        self.output = Output::Finished;
        if self.state.is_synchronized() {
            self.finish_output();
        }
    }

    /// Appends the FIN to the stream.
    fn finish_output(&mut self) {
        if let Some(engine) = &mut self.engine {
            engine.finish(self.written);
            self.state = self.state.after(Step::Close);
        }
    }

    /// Ends the connection at once, and reports it to the peer by a RST (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        if self.state.is_synchronized() && self.state != State::TimeWait {
            let mut reset = self.engine.as_ref().map(Engine::abort);
            if let (Some(reset), Some(_)) = (&mut reset, &self.clock) {
                // The stamp is added when the RST leaves (RFC 7323 §3.2).
                reset.options.timestamps = Some(Timestamps::default());
            }
            self.reply = reset;
        } else if self.state == State::SynReceived {
            self.reply = Some(self.reset_before_established());
        }
        self.end(Reason::Aborted);
    }

    /// Ends the connection because data arrived that nobody will read (RFC 9293 §3.6.1). The RST has the number that
    /// `segment` requires (§3.5.2), so that the peer accepts it even if it has not received everything that was sent.
    pub fn abort_on(&mut self, segment: &Segment) {
        let reset = segment.reset();
        self.abort();
        self.reply = reset.or(self.reply.take());
    }

    /// Ends the connection.
    fn end(&mut self, reason: Reason) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.opening = Opening::default();
        self.time_wait_until = None;
        self.pending.closed = Some(reason);
    }

    /// Changes between synchronized states, with the effects of the change.
    fn step(&mut self, now: Instant, step: Step) {
        let after = self.state.after(step);
        if after == self.state {
            return;
        }
        match after {
            State::TimeWait => {
                self.state = after;
                self.restart_time_wait(now);
            }
            State::Closed => self.end(Reason::Finished),
            _ => self.state = after,
        }
    }

    /// Returns the next event. Call it until it returns `None`.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.pending.take()
    }

    /// State of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Result of the negotiation, once the connection is established.
    #[must_use]
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.engine.as_ref().map(|engine| &engine.negotiated)
    }

    /// The sending half, from ESTABLISHED on. Once the connection is closed, its stream is one position longer than the
    /// written data, for the FIN.
    #[must_use]
    pub fn sender(&self) -> Option<&Sender> {
        self.engine.as_ref().map(|engine| &engine.sender)
    }

    /// The receiving half, from ESTABLISHED on.
    #[must_use]
    pub fn receiver(&self) -> Option<&Receiver> {
        self.engine.as_ref().map(|engine| &engine.receiver)
    }

    /// Bytes that the application has written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Bytes of the stream that the peer has acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.engine.as_ref().map_or(0, Engine::acknowledged)
    }

    /// Offset up to which the peer's stream is complete.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.engine.as_ref().map_or(0, Engine::readable)
    }

    /// Time since which the peer's window has been closed to data that waits, if it is. A peer that answers probes may
    /// keep it closed for as long as the host tolerates it (RFC 6429).
    #[must_use]
    pub fn shut_out_since(&self) -> Option<Instant> {
        self.engine.as_ref()?.shut_out
    }

    /// Sets the maximum time that data may wait for an acknowledgment without any progress, from now on (RFC 5482;
    /// [`Config::user_timeout`]).
    pub const fn set_user_timeout(&mut self, timeout: Duration) {
        self.config.user_timeout = timeout;
    }

    /// Parameters of the connection.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("state", &self.state)
            .field("role", &self.role)
            .field("written", &self.written)
            .field("acknowledged", &self.acknowledged())
            .field("readable", &self.readable())
            .finish_non_exhaustive()
    }
}
