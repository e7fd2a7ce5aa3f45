//! Time budget of a simulated sender, computed from the sender's own state.

use dupack_tcp::Sender;
use dupack_tcp::facts::{LimitedBy, SendReason};
use dupack_tcp::recovery::Phase;
use dupack_tcp::sender::{Transmit, TransmitKind};
use dupack_tcp::time::{Duration, Instant};

/// Limit of the sender at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// No data is outstanding, and there is no data to send.
    Idle,
    /// The application has no more data to send now, but data is outstanding.
    Pause,
    /// The receive window limits the sender.
    Receiver,
    /// The sender recovers from a loss.
    Recovery,
    /// The congestion window or the pacing rate limits the sender.
    Window,
    /// The sender waits for a timer.
    Timer,
    /// The last data is in flight, so the application no longer limits the transfer.
    Last,
}

/// The time budget of a transfer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    /// Time from the SYN to the last packet.
    pub all: Duration,
    pub handshake: Duration,
    held: [Duration; 7],
    /// Time with outstanding or unsent data, as Linux counts this time (`tcp_chrono`).
    pub busy: Duration,
    /// Time limited by the receive window, as Linux counts this time.
    pub rwnd_limited: Duration,
    pub timeouts: u64,
    pub segments: u64,
}

impl Truth {
    pub const fn of(&self, held: Held) -> Duration {
        self.held[held as usize]
    }

    /// Returns `time` in percent of the transfer.
    pub fn percent(&self, time: Duration) -> f64 {
        100.0 * time.as_secs_f64() / self.all.as_secs_f64().max(1e-9)
    }
}

/// State of the sender.
#[derive(Clone, Copy)]
struct State {
    held: Held,
    busy: bool,
    full: bool,
}

/// Observer that adds up the time budget of a transfer.
pub struct Account {
    truth: Truth,
    /// Intervals since the last packet, which count only if another packet follows.
    tentative: Vec<(Instant, Instant, State)>,
    state: State,
    since: Option<Instant>,
    last_packet: Option<Instant>,
    /// Time of the last transmission or ACK of new data, at which the timer is restarted.
    moved_at: Instant,
    una: u64,
    timeouts: u64,
    /// `true` if a packet was sent since the last call of `sender`.
    sent: bool,
    /// `true` if one of these packets was a retransmission.
    again: bool,
    /// `true` if one of these packets was a tail loss probe.
    probed: bool,
    heard_or_sent: bool,
    /// Total time in state `Pause` since new data was last sent.
    paused: Duration,
    news: bool,
    /// End of the data that was outstanding at the last retransmission. If the recovery algorithm has no phases, the
    /// recovery counts as ended when this data is acknowledged.
    repaired: Option<u64>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            truth: Truth::default(),
            tentative: Vec::new(),
            state: State {
                held: Held::Idle,
                busy: false,
                full: false,
            },
            since: None,
            last_packet: None,
            moved_at: Instant::ZERO,
            una: 0,
            timeouts: 0,
            sent: false,
            again: false,
            probed: false,
            heard_or_sent: false,
            paused: Duration::ZERO,
            news: false,
            repaired: None,
        }
    }
}

impl Account {
    /// Records that the sender has sent or received a packet.
    pub fn packet(&mut self, at: Instant) {
        self.since.get_or_insert(at);
        self.last_packet = Some(at);
        self.heard_or_sent = true;
    }

    pub fn transmission(&mut self, _: Instant, transmit: &Transmit) {
        self.sent = true;
        self.probed |= transmit.why == SendReason::TailLossProbe;
        self.truth.segments += 1;
        self.again |=
            transmit.kind == TransmitKind::Repeat && transmit.why != SendReason::TailLossProbe;
        self.news |= transmit.kind == TransmitKind::First;
    }

    /// Records the state after the sender has handled an event.
    pub fn sender(&mut self, at: Instant, sender: &Sender) {
        let stats = sender.stats();
        let expired = stats.timeouts > self.timeouts;
        self.timeouts = stats.timeouts;
        if let Some(since) = self.since {
            let timer = (expired || self.probed) && self.state.held != Held::Idle;
            let cut = if timer {
                self.moved_at.max(since).min(at)
            } else {
                at
            };
            self.tentative.push((since, cut, self.state));
            let by_timer = State {
                held: Held::Timer,
                ..self.state
            };
            self.tentative.push((cut, at, by_timer));
            self.since = Some(at);
        }
        let una = sender.scoreboard().una();
        if self.sent || una > self.una {
            self.moved_at = at;
        }
        self.una = una;
        if core::mem::take(&mut self.heard_or_sent) {
            self.commit();
        }
        self.sent = false;
        self.probed = false;
        if core::mem::take(&mut self.news) {
            // New data followed, so the application limited the transfer during the pauses.
            self.truth.held[Held::Pause as usize] += core::mem::take(&mut self.paused);
        }
        if core::mem::take(&mut self.again) {
            self.repaired = Some(sender.scoreboard().nxt());
        }
        let repairs = match sender.phase() {
            Some(phase) => matches!(phase, Phase::Recovery | Phase::Loss),
            None => self.repaired.is_some_and(|end| una < end),
        };
        self.state = state(at, sender, repairs);
    }

    fn commit(&mut self) {
        for (from, to, state) in self.tentative.drain(..) {
            let time = to.since(from);
            if state.held == Held::Pause {
                self.paused += time;
            } else {
                self.truth.held[state.held as usize] += time;
            }
            if state.busy {
                self.truth.busy += time;
            }
            if state.full {
                self.truth.rwnd_limited += time;
            }
            self.truth.all += time;
        }
    }

    /// Returns the time budget, given the duration of the handshake.
    pub fn finish(mut self, handshake: Duration) -> Truth {
        self.truth.handshake = handshake;
        self.truth.all += handshake;
        self.truth.timeouts = self.timeouts;
        self.truth.held[Held::Last as usize] += self.paused;
        self.truth
    }
}

fn state(at: Instant, sender: &Sender, repairs: bool) -> State {
    let flight = sender.scoreboard().flight_size();
    let unsent = sender.unsent_bytes();
    let smss = u64::from(sender.config().smss);
    // Linux checks the congestion window before the receive window.
    let full = unsent > 0
        && sender.limited_by() == LimitedBy::ReceiveWindow
        && sender.allowance(at) >= smss.min(unsent);
    let held = if flight == 0 && unsent == 0 {
        Held::Idle
    } else if full {
        Held::Receiver
    } else if repairs {
        Held::Recovery
    } else if unsent == 0 {
        Held::Pause
    } else {
        Held::Window
    };
    State {
        held,
        busy: held != Held::Idle,
        full,
    }
}
