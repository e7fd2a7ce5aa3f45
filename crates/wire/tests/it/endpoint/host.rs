//! A host with real bytes, which is the environment that a connection needs.

use std::net::SocketAddr;

use dupack_packet::{Checksum, Envelope, Verify, emit, parse};
use dupack_tcp::connection::{Connection, Event, Reason, State};
use dupack_tcp::time::Instant;

/// Behaviour of the application on a connection.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of bytes to send.
    pub send: u64,
    /// Number of bytes written at a time.
    pub chunk: u64,
    /// Time at which the application closes.
    pub close: Close,
    /// Maximum number of bytes read at a time.
    pub read: u64,
}

/// Time at which an application closes its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The application closes after it has written all data.
    WhenWritten,
    /// The application closes after the peer has closed.
    WhenPeerHas,
}

pub struct Host {
    pub connection: Connection,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    plan: Plan,
    seed: u64,
    peer_seed: u64,
    /// The receive buffer, as a ring.
    ring: Vec<u8>,
    /// Number of bytes read and verified.
    pub read: u64,
    pub peer_finished_at: Option<u64>,
    pub closed: Option<Reason>,
    pub packets_sent: u64,
    identification: u16,
}

impl Host {
    pub fn new(
        connection: Connection,
        local: SocketAddr,
        remote: SocketAddr,
        seeds: (u64, u64),
        plan: Plan,
    ) -> Self {
        let ring = vec![0; connection.config().receive_buffer as usize];
        Self {
            connection,
            local,
            remote,
            plan,
            seed: seeds.0,
            peer_seed: seeds.1,
            ring,
            read: 0,
            peer_finished_at: None,
            closed: None,
            packets_sent: 0,
            identification: 0,
        }
    }

    /// Processes a packet that has arrived. Damaged packets are dropped.
    pub fn receive(&mut self, now: Instant, packet: &[u8]) {
        let Ok(parsed) = parse(packet, Verify::Checksums) else {
            return;
        };
        assert_eq!(
            (parsed.source, parsed.destination),
            (self.remote, self.local)
        );
        let Some(store) = self.connection.handle_segment(now, &parsed.segment) else {
            return;
        };
        let bound = self.read + self.ring.len() as u64;
        assert!(store.offset >= self.read && store.offset + u64::from(store.len) <= bound);
        let kept = &parsed.payload[store.skip as usize..][..store.len as usize];
        for (offset, byte) in (store.offset..).zip(kept) {
            let slot = (offset % self.ring.len() as u64) as usize;
            self.ring[slot] = *byte;
        }
    }

    /// Lets the application handle events, read, write and close.
    pub fn work(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::PeerFinished { at } => self.peer_finished_at = Some(at),
                Event::Closed(reason) => self.closed = Some(reason),
                Event::Acknowledged { until } => assert!(until <= self.connection.written()),
                Event::Connected(_) | Event::Readable { .. } => {}
            }
        }
        self.take();
        // No more packets will arrive and wake the application, so it reads the remaining data now.
        while self.peer_finished_at.is_some() && self.read < self.connection.readable() {
            self.take();
        }
        if self.connection.state() == State::Closed {
            return;
        }
        let unsent = self.connection.written() - self.connection.acknowledged();
        let left = self.plan.send - self.connection.written();
        if left > 0 && unsent < 4 * self.plan.chunk {
            let bytes = left.min(self.plan.chunk);
            self.connection.write(bytes).expect("it is not closed yet");
        }
        let done = self.connection.written() == self.plan.send;
        let may = match self.plan.close {
            Close::WhenWritten => true,
            Close::WhenPeerHas => self.peer_finished_at.is_some(),
        };
        if done && may {
            self.connection.close();
        }
    }

    /// Reads data and verifies every byte.
    fn take(&mut self) {
        let available = self.connection.readable() - self.read;
        let bytes = available.min(self.plan.read);
        for offset in self.read..self.read + bytes {
            let slot = (offset % self.ring.len() as u64) as usize;
            assert_eq!(self.ring[slot], byte(self.peer_seed, offset), "at {offset}");
        }
        assert_eq!(self.connection.read(bytes), bytes);
        self.read += bytes;
    }

    /// Returns the next packet to send.
    pub fn send(&mut self, now: Instant) -> Option<Vec<u8>> {
        let outgoing = self.connection.poll_transmit(now)?;
        let (written, seed) = (self.connection.written(), self.seed);
        assert!(outgoing.data.end <= written);
        assert_eq!(
            outgoing.data.end - outgoing.data.start,
            u64::from(outgoing.segment.len)
        );
        self.identification = self.identification.wrapping_add(1);
        self.packets_sent += 1;
        let envelope = Envelope {
            source: self.local,
            destination: self.remote,
            identification: self.identification,
            checksum: Checksum::Full,
        };
        let mut packet = vec![0; 1600];
        let length = emit(&mut packet, &envelope, &outgoing.segment, |payload| {
            for (slot, offset) in payload.iter_mut().zip(outgoing.data.clone()) {
                *slot = byte(seed, offset);
            }
        })
        .expect("it fits");
        packet.truncate(length);
        let mss = usize::from(self.connection.config().mss);
        let headers = if self.local.is_ipv4() { 40 } else { 60 };
        assert!(length <= mss + headers, "the packet exceeds the link's MTU");
        Some(packet)
    }

    /// Returns `true` if both streams have arrived completely.
    pub fn is_whole(&self, expected: u64) -> bool {
        self.read == expected
            && self.peer_finished_at == Some(expected)
            && self.connection.acknowledged() == self.plan.send
    }
}

/// Returns the byte at `offset` of the stream with this seed.
pub fn byte(seed: u64, offset: u64) -> u8 {
    let word = (seed ^ (offset >> 3)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word.to_be_bytes()[(offset & 7) as usize]
}
