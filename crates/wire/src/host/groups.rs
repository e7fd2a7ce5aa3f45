//! Several hosts on one device, each with a queue and a thread of its own: how a packet gets to
//! the host that has its connection.
//!
//! The kernel does most of it. A TUN device with several queues notes which queue a connection's
//! packets are written to, and puts the packets of the other direction into the same one. It
//! notes it only after it has dealt with the packet, and its own answer to a SYN is quicker than
//! that; it forgets it when nothing has been written for some seconds (`TUN_FLOW_EXPIRE` in
//! drivers/net/tun.c); it keeps it for so many connections and no more (`MAX_TAP_FLOWS`); and the
//! queues get other numbers when one is closed. Where it knows nothing it chooses by a hash, and a
//! host finds packets in its queue that are a sibling's. It hands them over, and the sibling's next
//! packet puts the kernel right.
//!
//! A packet for a connection of the host that reads it costs what it costs without siblings: only
//! strays are looked up in what the siblings share. They may overtake one another on the way, as
//! packets may.

use std::io;

use dupack_tcp::connection::{Flags, Segment};

use super::mailbox::Posted;
use super::outbox::Ends;
use super::registry::{Membership, Stray, Whose};
use super::waker::Waker;
use super::{Host, HostConfig, READS_AT_ONCE};
use crate::clock::WallClock;
use crate::device::{ChecksumState, Device, Received};
use crate::isn::Secret;

impl<D: Device> Host<D> {
    /// Hosts that share the addresses of `config`, their ports and a device: one for each of its
    /// queues (see [`Tun::open_queues`](crate::tun::Tun::open_queues)), to be run by a thread each. What is in `config` is true
    /// of each: each may have `connections_max` connections. A single one is as [`Host::new`].
    ///
    /// A connection belongs to the host that opened or accepted it. A SYN is answered by the host
    /// to whose queue the kernel gave it if that one listens at the port, otherwise by one that
    /// does. No two open connections with the same ends.
    ///
    /// All must run, also those without work of their own: their queues get packets too. So
    /// [`Host::run`] returns when all of them are done, in the first as in the last. They may then
    /// be given work and run again, all of them, and the first when each has its work.
    ///
    /// One that is stopped, fails, panics or is dropped leaves the others: its connections are
    /// aborted or lost, its queue is closed, and it cannot run again. What waited in that queue is
    /// lost as in a network; what comes later goes to the others' queues, and they do not wait for
    /// it.
    ///
    /// # Errors
    ///
    /// As [`Host::new`].
    pub fn groups(config: &HostConfig, queues: Vec<D>, secret: &Secret) -> io::Result<Vec<Self>> {
        let host = |tun| Self::new(config.clone(), tun, secret.clone());
        let mut hosts = queues
            .into_iter()
            .map(host)
            .collect::<io::Result<Vec<_>>>()?;
        if hosts.len() > 1 {
            let wakers: Vec<Waker> = hosts.iter().map(Self::waker).collect();
            // The time at which one has read a packet must mean the same to another.
            let clock = WallClock::start();
            for (host, membership) in hosts.iter_mut().zip(Membership::of_siblings(wakers)) {
                host.clock = clock;
                host.membership = Some(membership);
            }
        }
        Ok(hosts)
    }

    /// Looks whose a packet is for which there is no connection here, and hands it over if it is a
    /// sibling's.
    pub(super) fn sort_out(
        &mut self,
        ends: Ends,
        received: &Received<'_>,
        segment: &Segment,
    ) -> Whose {
        let Some(membership) = &self.membership else {
            return Whose::Nobodys;
        };
        let stray = match opens(segment) {
            true => Stray::Syn,
            false if completes(segment) => Stray::Ack,
            false => Stray::Other,
        };
        let whose = membership.whose(ends, stray);
        self.pass_on(whose, received);
        whose
    }

    /// Looks whose connection an ICMP error is about, for which there is no connection here, and
    /// hands it over if it is a sibling's.
    pub(super) fn sort_out_icmp(&mut self, ends: Ends, received: &Received<'_>) -> Whose {
        let Some(membership) = &self.membership else {
            return Whose::Nobodys;
        };
        let whose = membership.whose(ends, Stray::Other);
        self.pass_on(whose, received);
        whose
    }

    /// Hands a packet over if it is a sibling's.
    fn pass_on(&mut self, whose: Whose, received: &Received<'_>) {
        if let (Whose::Sibling(sibling), Some(membership)) = (whose, &self.membership) {
            let mut packet = *received;
            if packet.pending.checksum == ChecksumState::Unverified {
                // It would not have come so far.
                packet.pending.checksum = ChecksumState::Verified;
            }
            match membership.post(sibling, &packet) {
                Posted::First | Posted::Behind => self.counters.handed_over += 1,
                Posted::Lost => self.counters.not_handed_over += 1,
            }
        }
    }

    /// Takes in what siblings have handed over, up to a limit.
    pub(super) fn read_mail(&mut self, device: &mut D) -> io::Result<()> {
        let Some(membership) = self.membership.as_ref().filter(|_| self.has_mail()) else {
            return Ok(());
        };
        for letter in membership.mailbox().take(READS_AT_ONCE) {
            let mut received = letter.received();
            // It was read while we did something else, and for no connection may time run
            // backwards.
            self.told = self.told.max(received.at);
            received.at = self.told;
            self.arrive(device, &received)?;
        }
        self.answer(device)
    }

    /// Whether siblings have handed something over.
    pub(super) fn has_mail(&self) -> bool {
        let membership = self.membership.as_ref();
        membership.is_some_and(|membership| !membership.mailbox().is_empty())
    }

    /// Says to the siblings that this host is done, and whether all of them are.
    pub(super) fn siblings_are_done(&self) -> bool {
        self.membership.as_ref().is_none_or(Membership::finish)
    }

    /// Gives back the ends of connections that are no more.
    pub(super) fn release(&self, ends: impl IntoIterator<Item = Ends>) {
        if let Some(membership) = &self.membership {
            membership.release(ends);
        }
    }
}

/// Whether a segment asks for a connection.
pub(super) fn opens(segment: &Segment) -> bool {
    segment.is(Flags::SYN) && segment.ack.is_none() && !segment.is(Flags::RST)
}

/// Whether a segment may be the one that ends a handshake.
pub(super) fn completes(segment: &Segment) -> bool {
    segment.ack.is_some() && !segment.is(Flags::SYN) && !segment.is(Flags::RST)
}
