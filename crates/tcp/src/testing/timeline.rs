//! Timeline of a sender: tests pass in ACKs and the time.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::{PEER_WINDOW, SMSS, at};
use crate::facts::SendReason;
use crate::segment::{Ack, SackBlock};
use crate::seq::SeqNumber;
use crate::time::Instant;
use crate::{Sender, Transmit};

/// Returns an ACK of all segments before segment `next`.
#[must_use]
pub fn ack(next: u32) -> AckIn {
    AckIn(Ack {
        ack: SeqNumber(next * SMSS),
        window: PEER_WINDOW,
        ..Ack::default()
    })
}

/// ACK to pass in, created by [`ack`].
#[derive(Clone, Copy, Debug)]
pub struct AckIn(pub Ack);

impl AckIn {
    /// Adds a SACK block over the segments `first..end`.
    #[must_use]
    pub fn sack(mut self, first: u32, end: u32) -> Self {
        self.0.sacks.push(SackBlock {
            start: SeqNumber(first * SMSS),
            end: SeqNumber(end * SMSS),
        });
        self
    }

    /// Sets the advertised window, in segments.
    #[must_use]
    pub fn window(mut self, segments: u32) -> Self {
        self.0.window = segments * SMSS;
        self
    }

    /// Adds the echo of the number of the transmission that caused the ACK (LE §4.2).
    #[must_use]
    pub fn order(mut self, order: u32) -> Self {
        self.0.order_echo = Some(order);
        self
    }

    /// Adds the echo of a timestamp.
    #[must_use]
    pub fn timestamp(mut self, value: u32) -> Self {
        self.0.timestamp_echo = Some(value);
        self
    }
}

/// Sender and current time, created by [`Setup::start`](super::Setup::start).
#[derive(Debug)]
pub struct Timeline {
    sender: Sender,
    now: Instant,
    sent: String,
    transmits: Vec<Transmit>,
}

impl Timeline {
    /// Returns a timeline that starts at time 0 with `bytes` bytes to send.
    pub(super) fn new(sender: Sender, bytes: u64) -> Self {
        let mut timeline = Self {
            sender,
            now: Instant::ZERO,
            sent: String::new(),
            transmits: Vec::new(),
        };
        timeline.sender.write(bytes);
        timeline.sent = timeline.flush();
        timeline
    }

    /// Transmissions of the last step, as words.
    #[must_use]
    pub fn sent(&self) -> &str {
        &self.sent
    }

    /// Transmissions of the last step, with their numbers and timestamps.
    #[must_use]
    pub fn transmits(&self) -> &[Transmit] {
        &self.transmits
    }

    /// Passes in an ACK at `ms` milliseconds. Returns the transmissions that the ACK causes.
    ///
    /// # Panics
    ///
    /// Panics if a timer is due at or before that time: call [`wait`](Self::wait) first.
    pub fn receive(&mut self, ms: u64, ack: AckIn) -> &str {
        let due = self.sender.next_timeout();
        assert!(
            due.is_none_or(|due| due > at(ms)),
            "a timer is due at {due:?}, before {ms} ms"
        );
        self.pass_to(at(ms));
        self.sender.handle_ack(self.now, &ack.0);
        self.sent = self.flush();
        &self.sent
    }

    /// Advances time to `ms` milliseconds. Returns the transmissions that timers cause.
    pub fn wait(&mut self, ms: u64) -> &str {
        let mut sent = Vec::new();
        let mut transmits = Vec::new();
        while let Some(due) = self.sender.next_timeout().filter(|&due| due <= at(ms)) {
            self.pass_to(due);
            self.sender.handle_timeout(due);
            let words = self.flush();
            if !words.is_empty() {
                sent.push(words);
            }
            transmits.append(&mut self.transmits);
        }
        self.pass_to(at(ms));
        self.sent = sent.join(" ");
        self.transmits = transmits;
        &self.sent
    }

    /// Writes `segments` more segments now. Returns the transmissions that this causes.
    pub fn write(&mut self, segments: u64) -> &str {
        self.sender.write(segments * u64::from(SMSS));
        self.sent = self.flush();
        &self.sent
    }

    fn pass_to(&mut self, now: Instant) {
        assert!(now >= self.now, "time does not run backwards");
        self.now = now;
    }

    fn flush(&mut self) -> String {
        let mut words = String::new();
        self.transmits.clear();
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            self.transmits.push(transmit);
            let separator = if words.is_empty() { "" } else { " " };
            let number = transmit.offset / u64::from(SMSS);
            write!(words, "{separator}{}:{number}", word(transmit.why))
                .expect("writing to a string succeeds");
        }
        self.sender.scoreboard().check();
        words
    }

    /// Congestion window in segments.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.sender.window().cwnd / f64::from(SMSS)
    }

    /// Slow start threshold in segments.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.sender.window().ssthresh / f64::from(SMSS)
    }

    /// Data in flight according to the recovery, in segments.
    #[must_use]
    pub fn in_flight(&self) -> f64 {
        self.sender.in_flight(self.now) as f64 / f64::from(SMSS)
    }

    /// Time at which the retransmission timer expires, in milliseconds.
    #[must_use]
    pub fn rto_at(&self) -> Option<u64> {
        self.sender.rto_at().map(|at| at.as_nanos() / 1_000_000)
    }

    /// Returns the sender, for calls that a host would make.
    pub fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Returns the sender, for all other state that a test examines.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

/// Returns the word for a reason in a timeline.
fn word(why: SendReason) -> &'static str {
    match why {
        SendReason::NewData => "new",
        SendReason::LimitedTransmit => "limited",
        SendReason::Retransmit(rule) => rule.name(),
        SendReason::HoleFill => "fill",
        SendReason::Rescue => "rescue",
        SendReason::TailLossProbe => "tlp",
        SendReason::WindowProbe => "probe",
        SendReason::PathProbe => "mtu",
    }
}
