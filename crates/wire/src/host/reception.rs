//! Packets for which a host has no connection: connection requests, the last segment of a handshake that was not
//! stored, and strays.
//!
//! Anybody can send SYNs, with a forged source address. A host stores only a limited number of SYNs. The host answers
//! the other SYNs with a SYN cookie, for which it stores nothing. A flood of SYNs therefore does not prevent the
//! handshakes of other clients (RFC 4987 §3.6).

use dupack_packet::parse::Parsed;
use dupack_tcp::connection::{Config, Connection, EcnOffer, Flags, Outgoing, Segment};
use dupack_tcp::options::{Timestamping, WindowScale};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use super::Host;
use super::endpoint::Endpoint;
use super::groups::{completes, opens};
use super::outbox::Ends;
use crate::device::Device;
use crate::isn::cookie::{Asked, CookieOptions};

/// Decision on a packet for which the host has no connection.
pub(super) enum Reception {
    /// The packet belongs to a connection that has just been created.
    Connection(usize),
    /// The host answers with this segment.
    Answer(Segment),
    /// The host does not answer.
    Silence,
}

impl<D: Device> Host<D> {
    /// Decides on a packet that arrived at `at` and for which there is no connection.
    pub(super) fn meet(&mut self, ends: Ends, at: Instant, packet: &Parsed<'_>) -> Reception {
        let segment = &packet.segment;
        if !self.listens_at(ends) {
            refuse(segment)
        } else if !opens(segment) {
            self.revive(ends, at, segment)
        } else if !self.may_have_room() {
            Reception::Silence
        } else if !self.has_half_open_room() {
            self.answer_statelessly(ends, at, segment)
        } else {
            let accepted = self.accept(ends, segment);
            accepted.map_or_else(|| refuse(segment), Reception::Connection)
        }
    }

    pub(super) fn listens_at(&self, ends: Ends) -> bool {
        self.listeners.contains_key(&ends.local.port())
    }

    /// Creates a connection for a SYN if a listener accepts it.
    pub(super) fn accept(&mut self, ends: Ends, syn: &Segment) -> Option<usize> {
        let listener = self.listeners.get_mut(&ends.local.port())?;
        let offer = listener.offer(ends.remote)?;
        let mut config = self.complete(offer.config, ends);
        if let Some(left) = self.time_waits.get(&ends) {
            let stamping = Timestamping::when(config.offer.timestamps.is_some());
            if !left.admits(syn, stamping) {
                return None;
            }
            config.iss = left.iss_after(config.iss);
        }
        let connection = Connection::listen(config, offer.build);
        Some(self.add_half_open(connection, ends))
    }

    fn add_half_open(&mut self, connection: Connection, ends: Ends) -> usize {
        let buffer = self.config.send_buffer;
        self.census.half_open += 1;
        self.add(Endpoint::half_open(connection, ends, buffer))
    }

    /// Answers a SYN without storing it.
    fn answer_statelessly(&mut self, ends: Ends, at: Instant, syn: &Segment) -> Reception {
        let listener = self.listeners.get_mut(&ends.local.port());
        let Some(offer) = listener.and_then(|listener| listener.offer(ends.remote)) else {
            return refuse(syn);
        };
        let mut config = plain(self.complete(offer.config, ends));
        let kept = CookieOptions {
            mss: syn.options.mss.unwrap_or(config.default_peer_mss),
            sack: syn.options.sack_permitted,
        };
        let Some(iss) = self.secret.cookie(at, asked(ends, syn.seq), kept) else {
            return Reception::Silence;
        };
        config.iss = iss;
        let mut connection = Connection::listen(config, offer.build);
        let _ = connection.handle_segment(at, syn);
        match connection.poll_transmit(at) {
            Some(Outgoing { segment, .. }) => {
                self.counters.cookies_sent += 1;
                Reception::Answer(segment)
            }
            None => Reception::Silence,
        }
    }

    /// Creates a connection for a segment that acknowledges a cookie.
    fn revive(&mut self, ends: Ends, at: Instant, segment: &Segment) -> Reception {
        let Some((syn, iss)) = self.recognize(ends, at, segment) else {
            return refuse(segment);
        };
        let claims = |host: &Self| host.membership.as_ref().is_none_or(|m| m.claim(ends));
        if !self.make_room() || !claims(self) {
            // The segment is dropped, and the peer retransmits it.
            return Reception::Silence;
        }
        let listener = self.listeners.get_mut(&ends.local.port());
        let Some(offer) = listener.and_then(|listener| listener.offer(ends.remote)) else {
            self.release([ends]);
            return refuse(segment);
        };
        let mut config = plain(self.complete(offer.config, ends));
        config.iss = iss;
        self.counters.cookies_returned += 1;
        let connection = Connection::answered(config, offer.build, at, &syn);
        Reception::Connection(self.add_half_open(connection, ends))
    }

    /// Reconstructs the SYN whose cookie `segment` acknowledges, with the options that the cookie stores. Also returns
    /// the sequence number of the answer.
    fn recognize(
        &self,
        ends: Ends,
        at: Instant,
        segment: &Segment,
    ) -> Option<(Segment, SeqNumber)> {
        if !completes(segment) {
            return None;
        }
        let before = |number: SeqNumber| SeqNumber(number.0.wrapping_sub(1));
        let (irs, iss) = (before(segment.seq), before(segment.ack?));
        let kept = self.secret.read_cookie(at, asked(ends, irs), iss)?;
        let mut syn = Segment::new(irs);
        syn.flags = Flags::SYN;
        syn.options.mss = Some(kept.mss);
        syn.options.sack_permitted = kept.sack;
        Some((syn, iss))
    }
}

/// Returns the answer to an unexpected segment: a RST, if the segment permits one.
fn refuse(segment: &Segment) -> Reception {
    segment
        .reset()
        .map_or(Reception::Silence, Reception::Answer)
}

/// Removes the options that a cookie cannot store.
fn plain(mut config: Config) -> Config {
    config.offer.window_scale = WindowScale::Absent;
    config.offer.timestamps = None;
    config.offer.ecn = EcnOffer::Off;
    config
}

const fn asked(ends: Ends, irs: SeqNumber) -> Asked {
    Asked {
        local: ends.local,
        remote: ends.remote,
        irs,
    }
}
