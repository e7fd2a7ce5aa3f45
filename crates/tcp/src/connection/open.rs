//! Handshake: the states LISTEN, SYN-SENT and SYN-RECEIVED (RFC 9293 §3.10.7.2 to §3.10.7.4).

use crate::options::{Ecn, OrderEcho, Sack, Timestamping, WindowScale};
use crate::receiver::{Reading, Receiver, ReceiverConfig, TimestampEcho};
use crate::sender::Sender;
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};

use super::accurate::{Contradiction, EcnHandshake};
use super::clock::Clock;
use super::config::{MAX_WINDOW_SHIFT, MIN_SEND_MSS, TIMESTAMP_OPTION_BYTES};
use super::engine::Engine;
use super::header::{Flags, Options, Segment, Store};
use super::{Connection, Due, Negotiated, Output, Reason, Role, State, Unstamped, WindowShifts};

/// Minimum retransmission timeout until the first round-trip sample of data, if the SYN was retransmitted (RFC 6298
/// §5.7).
const RTO_AFTER_REPEATED_SYN: Duration = Duration::from_secs(3);

/// Maximum number of SYN or SYN-ACK retransmissions that do not reduce the initial window (RFC 6928 §2).
const SYN_REPEATS_BORNE: u32 = 1;

/// Time in which the clock of RFC 6528 advances initial sequence numbers by one.
const ISN_TICK: Duration = Duration::from_micros(4);

/// Transmissions of the handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// `Yes` if a SYN or SYN-ACK is due.
    pub(super) due: Due,
    /// Number of transmissions.
    pub(super) attempts: u32,
    /// Number of retransmissions among `attempts`: after a timeout, or because the peer's SYN arrived again.
    pub(super) repeats: u32,
    /// Time of the first transmission.
    pub(super) since: Option<Instant>,
    /// Time of the next retransmission.
    pub(super) again_at: Option<Instant>,
    /// ECN state of the handshake.
    pub(super) ecn: EcnHandshake,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            due: Due::No,
            attempts: 0,
            repeats: 0,
            since: None,
            again_at: None,
            ecn: EcnHandshake::default(),
        }
    }
}

/// Content of the peer's SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// Sequence number of the SYN.
    pub(super) irs: SeqNumber,
    pub(super) negotiated: Negotiated,
    /// Use of window scaling. The scale may be 0.
    scaled: WindowScale,
}

impl Opening {
    /// Makes a retransmission of the SYN or SYN-ACK due.
    pub(super) const fn repeat(&mut self) {
        self.due = Due::Yes;
        self.repeats = self.repeats.saturating_add(1);
    }
}

impl Connection {
    pub(super) fn arrive_in_listen(&mut self, now: Instant, segment: &Segment) {
        if segment.is(Flags::RST) {
            return;
        }
        if segment.ack.is_some() {
            self.reply = segment.reset();
            return;
        }
        if !segment.is(Flags::SYN) {
            return;
        }
        self.clock = self.new_clock(now);
        self.note_syn(now, segment);
        self.state = State::SynReceived;
        self.opening = Opening {
            due: Due::Yes,
            ..Opening::default()
        };
        self.opening.ecn.came_with = segment.ecn;
    }

    pub(super) fn arrive_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        if segment.ack.is_some_and(|ack| ack != self.iss.at(1)) {
            self.reply = segment.reset();
            return;
        }
        if segment.is(Flags::RST) {
            if segment.ack.is_some() {
                self.end(Reason::Refused);
            }
            return;
        }
        if !segment.is(Flags::SYN) {
            return;
        }
        self.note_syn(now, segment);
        if segment.ack.is_some() {
            self.establish(now, segment, u32::from(segment.window));
            if let Some(engine) = &mut self.engine {
                engine.ack = Due::Yes;
            }
        } else {
            // Both ends have sent a SYN (RFC 9293 §3.5, figure 7).
            self.state = State::SynReceived;
            self.opening.due = Due::Yes;
            self.opening.ecn.came_with = segment.ecn;
        }
    }

    pub(super) fn arrive_in_syn_received(
        &mut self,
        now: Instant,
        segment: &Segment,
    ) -> Option<Store> {
        let peer = self.peer?;
        let acknowledges = segment.ack == Some(self.iss.at(1));
        if segment.is(Flags::SYN) && segment.seq == peer.irs && !segment.is(Flags::RST) {
            if acknowledges {
                self.complete_simultaneous_open(now, segment);
            } else if segment.ack.is_none() && self.limiter.admits(now) {
                // The peer has retransmitted its SYN because our SYN-ACK was lost.
                self.opening.repeat();
                if self.takes_another_syn(segment) == Contradiction::Yes {
                    let reset = self.reset_before_established();
                    self.refuse(now);
                    self.reply = Some(reset);
                }
            }
            return None;
        }
        let distance = segment.seq.0.wrapping_sub(peer.irs.at(1).0);
        let window = self.config.receive_buffer.min(u32::from(u16::MAX));
        if segment.is(Flags::RST) {
            if distance == 0 {
                self.refuse(now);
            } else if distance < window {
                self.answer_syn_received(now);
            }
            return None;
        }
        if distance >= window || segment.is(Flags::SYN) || !self.is_timely(now, segment) {
            self.answer_syn_received(now);
            return None;
        }
        segment.ack?;
        if !acknowledges {
            self.reply = segment.reset();
            return None;
        }
        let window = u32::from(segment.window) << peer.negotiated.shifts.peers;
        self.establish(now, segment, window);
        self.arrive(now, segment)
    }

    /// Completes a simultaneous open: both ends have sent a SYN, and `answer` is the peer's SYN again, which now
    /// acknowledges our SYN (RFC 9293 §3.5, figure 7).
    fn complete_simultaneous_open(&mut self, now: Instant, answer: &Segment) {
        if !self.is_timely(now, answer) {
            self.answer_syn_received(now);
            return;
        }
        // The window of a segment with SYN is never scaled (RFC 7323 §2.2).
        self.establish(now, answer, u32::from(answer.window));
        self.note_heard(now, answer);
    }

    /// Returns `true` if the segment has timestamps as agreed on, and they are not old.
    fn is_timely(&self, now: Instant, segment: &Segment) -> bool {
        match (&self.clock, segment.options.timestamps) {
            (Some(clock), Some(stamps)) => !clock.is_stale(now, stamps.value),
            (Some(_), None) => self.config.unstamped == Unstamped::Taken,
            (None, _) => true,
        }
    }

    /// Responds to a suspicious segment in SYN-RECEIVED by retransmitting the SYN or SYN-ACK, within the rate limit.
    fn answer_syn_received(&mut self, now: Instant) {
        if self.limiter.admits(now) {
            self.opening.due = Due::Yes;
        }
    }

    /// Handles a RST of the peer in SYN-RECEIVED: an active connection ends, and a passive connection returns to LISTEN
    /// (RFC 9293 §3.10.7.4, second).
    fn refuse(&mut self, now: Instant) {
        if self.role == Role::Active {
            self.end(Reason::Refused);
            return;
        }
        // The response to the next SYN has the initial sequence number that the clock of RFC 6528 gives now.
        let since = self.opening.since.map_or(Duration::ZERO, |t| now.since(t));
        self.iss = self.iss.at(1 + since.as_nanos() / ISN_TICK.as_nanos());
        self.state = State::Listen;
        self.opening = Opening::default();
        self.peer = None;
        self.clock = None;
    }

    /// Returns the RST of a connection that is abandoned before it is established.
    pub(super) fn reset_before_established(&self) -> Segment {
        Segment {
            flags: Flags::RST,
            ack: self.peer.map(|peer| peer.irs.at(1)),
            ..Segment::new(self.iss.at(1))
        }
    }

    pub(super) fn new_clock(&self, now: Instant) -> Option<Clock> {
        let clock = self.config.offer.timestamps?;
        Some(Clock::new(
            clock,
            self.config.timestamp_offset,
            self.config.timestamp_echo,
            now,
        ))
    }

    /// Stores the content of the peer's SYN, and determines the options in use.
    fn note_syn(&mut self, now: Instant, syn: &Segment) {
        match (&mut self.clock, syn.options.timestamps) {
            (Some(clock), Some(stamps)) => clock.begin(now, stamps.value),
            _ => self.clock = None,
        }
        let offer = &self.config.offer;
        let stamped = self.clock.is_some();
        let option_bytes = if stamped { TIMESTAMP_OPTION_BYTES } else { 0 };
        // An MSS option of zero counts as absent (Linux, `tcp_parse_options`).
        let said = syn.options.mss.filter(|&mss| mss > 0);
        let peer_mss = said.unwrap_or(self.config.default_peer_mss);
        let smss = peer_mss.max(MIN_SEND_MSS).min(self.config.mss) - option_bytes;
        let theirs = syn.options.window_scale;
        let scaled = WindowScale::when(offer.window_scale.is_on() && theirs.is_some());
        let sack = offer.sack.is_on() && syn.options.sack_permitted.is_on();
        let ecn = self.agreed_ecn(syn);
        self.peer = Some(Peer {
            irs: syn.seq,
            scaled,
            negotiated: Negotiated {
                smss: u32::from(smss),
                peer_smss: u32::from(smss),
                shifts: match scaled {
                    WindowScale::Used => WindowShifts {
                        ours: self.config.window_shift(),
                        peers: theirs.unwrap_or(0).min(MAX_WINDOW_SHIFT),
                    },
                    WindowScale::Absent => WindowShifts::default(),
                },
                sack: Sack::when(sack),
                timestamps: Timestamping::when(stamped),
                ecn,
                handshake_rtt: None,
                seed: self.config.seed,
            },
        });
    }

    /// Returns the round-trip time between this end's SYN and `answer`. If the SYN was retransmitted, returns `None`
    /// (Karn's algorithm), unless timestamps show which transmission was acknowledged (RFC 7323 §4.1).
    fn handshake_rtt(&self, now: Instant, answer: &Segment) -> Option<Duration> {
        if self.opening.attempts <= 1 {
            return self.opening.since.map(|at| now.since(at));
        }
        let (clock, stamps) = (self.clock.as_ref()?, answer.options.timestamps?);
        clock.age(now, stamps.echo)
    }

    /// Returns `true` if a SYN or SYN-ACK counts as lost: it was retransmitted more than once (RFC 6928 §2), and
    /// timestamps do not show that `answer` acknowledges the first transmission (Linux, `tcp_try_undo_spurious_syn`).
    fn has_lost_syn(&self, answer: &Segment) -> bool {
        let stamps = self.clock.as_ref().zip(answer.options.timestamps);
        let first_answered = stamps
            .zip(self.opening.since)
            .is_some_and(|((clock, stamps), first)| clock.echoes(stamps.echo, first));
        self.opening.repeats > SYN_REPEATS_BORNE && !first_answered
    }

    /// Completes the handshake and creates the two halves. `answer` is the last segment of the handshake, and
    /// `peer_window` is in bytes.
    fn establish(&mut self, now: Instant, answer: &Segment, peer_window: u32) {
        let (Some(peer), Some(build)) = (self.peer, self.build.take()) else {
            return;
        };
        let reserved = self.option_bytes(peer.negotiated.ecn, answer);
        let negotiated = Negotiated {
            handshake_rtt: self.handshake_rtt(now, answer),
            smss: peer.negotiated.smss - reserved,
            peer_smss: peer.negotiated.peer_smss - reserved,
            ..peer.negotiated
        };
        let mut sender = self.make_sender(build, &negotiated, peer_window);
        if let Some(rtt) = negotiated.handshake_rtt {
            sender.note_handshake(now, rtt);
        }
        if self.has_lost_syn(answer) {
            sender.begin_with_one_segment(now);
        }
        if self.opening.attempts > 1 {
            sender.time_out_no_sooner_than(RTO_AFTER_REPEATED_SYN);
        }
        let receiver = Receiver::new(self.receiver_config(peer.irs, &negotiated))
            .telling_shifted(negotiated.shifts.ours);
        let mut engine = Engine::new(&self.config, negotiated, sender, receiver, now);
        engine.open_path(now, reserved, &self.config.path_mtu);
        engine.sender.write(self.written);
        if negotiated.ecn == Ecn::Accurate {
            self.begin_accurate_ecn(&mut engine, answer);
        }
        self.engine = Some(engine);
        self.unreachable = None;
        self.opening = Opening::default();
        self.state = State::Established;
        self.pending.connected = Some(negotiated);
        if self.output == Output::Finished {
            self.finish_output();
        }
    }

    fn make_sender(
        &self,
        build: super::BuildSender,
        negotiated: &Negotiated,
        peer_window: u32,
    ) -> Sender {
        let (mut config, stack) = build(negotiated);
        config.smss = negotiated.smss;
        config.isn = self.iss.at(1);
        config.peer_window = peer_window;
        config.sack = negotiated.sack;
        config.ecn = negotiated.ecn;
        config.order_echo = OrderEcho::Absent;
        config.timestamps = match negotiated.timestamps {
            Timestamping::Carried => self.config.offer.timestamps,
            Timestamping::Absent => None,
        };
        Sender::new(config, stack)
    }

    fn receiver_config(&self, irs: SeqNumber, negotiated: &Negotiated) -> ReceiverConfig {
        ReceiverConfig {
            irs: irs.at(1),
            mss: negotiated.peer_smss,
            buffer: self.config.receive_buffer,
            ack_policy: self.config.ack_policy,
            sack_compression: self.config.sack_compression,
            sack: negotiated.sack,
            dsack: self.config.offer.dsack,
            // The receiver needs this only for the number of SACK blocks that fit next to timestamps. The clock
            // provides the echo.
            timestamps: match negotiated.timestamps {
                Timestamping::Carried => Some(TimestampEcho::Standard),
                Timestamping::Absent => None,
            },
            order_echo: OrderEcho::Absent,
            ecn: negotiated.ecn,
            mark_echo: self.config.mark_echo,
            application: Reading::OnDemand,
            bandwidth_window: None,
        }
    }

    /// Returns the SYN or SYN-ACK that the state requires.
    pub(super) fn syn(&mut self, now: Instant) -> Segment {
        if self.state == State::SynSent && self.clock.is_none() {
            self.clock = self.new_clock(now);
        }
        let shift = self.config.window_shift();
        let (ack, scaled, sack_permitted) = match self.peer {
            None => (None, self.config.offer.window_scale, self.config.offer.sack),
            Some(peer) => (Some(peer.irs.at(1)), peer.scaled, peer.negotiated.sack),
        };
        let (ecn, accurate_ecn) = match self.peer {
            None => (self.ecn_flags_of_syn(), None),
            Some(peer) => self.ecn_of_syn_ack(peer.negotiated.ecn),
        };
        let timestamps = self.clock.as_mut().map(|clock| clock.stamp(now, None));
        Segment {
            ack,
            flags: Flags::SYN.with(ecn),
            window: u16::try_from(self.config.receive_buffer).unwrap_or(u16::MAX),
            options: Options {
                mss: Some(self.config.mss),
                window_scale: scaled.is_on().then_some(shift),
                sack_permitted,
                timestamps,
                accurate_ecn,
                ..Options::NONE
            },
            ..Segment::new(self.iss)
        }
    }
}
