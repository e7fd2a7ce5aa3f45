//! TCP connection from its first SYN to the end of TIME-WAIT (RFC 9293), which contains a [`Sender`] and a
//! [`Receiver`].
//!
//! Like the two halves, a connection is a state machine without clock, socket, payload or random numbers. Its host
//! 1. opens it ([`Connection::connect`], [`Connection::listen`]),
//! 2. passes in segments ([`Connection::handle_segment`]), ICMP errors
//!    ([`Connection::handle_icmp`]), the time ([`Connection::handle_timeout`]) and the application's
//!    calls ([`Connection::write`], [`read`](Connection::read), [`close`](Connection::close),
//!    [`abort`](Connection::abort)),
//! 3. takes segments after each of these calls until there are none ([`Connection::poll_transmit`]), then
//!    events ([`Connection::poll_event`]), and
//! 4. calls `handle_timeout` again no later than [`Connection::next_timeout`].
//!
//! The host stores the payload: written bytes until they are acknowledged, and received bytes until they are read.
//! Stream offsets start at 0 in each direction and never wrap.
//!
//! ```text
//!               segments                              segments
//!  host ──▶ handle_segment ─┬─ open.rs    handshake      ▲
//!                           └─ arrive.rs  other states   │
//!                                  │                     │
//!                   Engine: Sender, Receiver ──▶ transmit.rs
//! ```
//!
//! For the sender and the receiver, a FIN is one more byte at the end of the stream, so a lost FIN is recovered like a
//! lost byte.
//!
//! These features are omitted on purpose: urgent data (RFC 6093 advises against it; the bit is ignored), data in a SYN
//! (it is ignored, so the peer retransmits it), and Nagle's algorithm (written data is sent at once).

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

/// TCP connection. The [module](self) explains the calls.
pub struct Connection {
    config: Config,
    role: Role,
    state: State,
    /// Initial send sequence number, which is the number of the SYN.
    iss: SeqNumber,
    opening: Opening,
    /// Content of the peer's SYN, once one has arrived.
    peer: Option<Peer>,
    /// Constructor of the sender; `None` once the connection is established.
    build: Option<BuildSender>,
    /// `Some` while timestamps are offered or agreed on.
    clock: Option<Clock>,
    /// `Some` from ESTABLISHED on.
    engine: Option<Engine>,
    limiter: Limiter,
    /// RST that is due, with its sequence and acknowledgment numbers.
    reply: Option<Segment>,
    pending: Pending,
    /// Number of bytes that the application has written.
    written: u64,
    output: Output,
    time_wait_until: Option<Instant>,
    path_counters: PathCounters,
    /// Last ICMP error since the last acknowledgment.
    unreachable: Option<Unreachable>,
}

/// Role of this end: active if it opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// This end opens the connection.
    Active,
    /// The peer opens the connection.
    Passive,
}

/// State of the application's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Open,
    /// [`Connection::close`] was called.
    Finished,
}

/// `Yes` if something is due to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    Yes,
}

/// Error of a write: the application has closed the connection, or the connection is over.
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

    /// Opens a connection passively: the connection waits for a SYN.
    ///
    /// A connection has one peer. When a SYN arrives that belongs to no connection, a listening host creates a
    /// connection and passes the SYN to it. In this way, the host can choose the initial sequence number depending on
    /// the peer's address (RFC 6528).
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

    /// Processes a segment from the peer. Returns the part of the payload that the host must store, and the position of
    /// this part in the stream.
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
    /// Returns an error if the application has closed the connection, or if the connection is over.
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

    /// Reads up to `bytes` readable bytes for the application, and returns the number of bytes read. This may open the
    /// window, so call [`poll_transmit`](Self::poll_transmit) afterwards.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.engine.as_mut().map_or(0, |engine| engine.read(bytes))
    }

    /// Ends the application's output: a FIN follows the written data. Data from the peer still arrives.
    ///
    /// Before the connection is established, the call takes effect only once it is established, so that no written data
    /// is lost. To abandon the connection instead, as RFC 9293 §3.10.4 specifies, call [`abort`](Self::abort).
    ///
    /// If the peer never closes its direction, the connection stays in FIN-WAIT-2 as long as the peer responds to
    /// keep-alive probes. To prevent this, a host can call [`abort`](Self::abort).
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
                // The timestamp is set when the RST is sent (RFC 7323 §3.2).
                reset.options.timestamps = Some(Timestamps::default());
            }
            self.reply = reset;
        } else if self.state == State::SynReceived {
            self.reply = Some(self.reset_before_established());
        }
        self.end(Reason::Aborted);
    }

    /// Ends the connection because data arrived that no application will read (RFC 9293 §3.6.1). The RST has the
    /// sequence number that `segment` requires (§3.5.2), so that the peer accepts the RST even if it has not received
    /// all data.
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

    /// Changes the synchronized state, and applies the effects of the change.
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

    /// Sending half, from ESTABLISHED on. After [`close`](Self::close), its stream is one byte longer than the written
    /// data, because of the FIN.
    #[must_use]
    pub fn sender(&self) -> Option<&Sender> {
        self.engine.as_ref().map(|engine| &engine.sender)
    }

    /// Receiving half, from ESTABLISHED on.
    #[must_use]
    pub fn receiver(&self) -> Option<&Receiver> {
        self.engine.as_ref().map(|engine| &engine.receiver)
    }

    /// Number of bytes that the application has written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Number of bytes of the stream that the peer has acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.engine.as_ref().map_or(0, Engine::acknowledged)
    }

    /// Offset up to which the peer's stream is complete.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.engine.as_ref().map_or(0, Engine::readable)
    }

    /// Time since which the peer's closed window has been blocking data; `None` if no data waits or the window is open.
    /// A peer that responds to probes may keep its window closed for as long as the host tolerates it (RFC 6429).
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
