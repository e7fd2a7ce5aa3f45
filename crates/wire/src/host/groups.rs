//! Several hosts on one device, each with its own queue and thread. A packet that reaches the wrong host is handed over
//! to the host that has the connection.
//!
//! The kernel does most of this. A TUN device with several queues notes the queue to which a connection's packets are
//! written, and delivers packets of the other direction to the same queue. This mechanism has gaps:
//!
//! - The kernel makes the note only after it has processed the packet, so its own answer to a SYN arrives earlier.
//! - It drops the note when nothing has been written for a few seconds (`TUN_FLOW_EXPIRE` in drivers/net/tun.c).
//! - It keeps only a limited number of notes (`MAX_TAP_FLOWS`).
//! - It renumbers the queues when one is closed.
//!
//! Without a note, the kernel chooses a queue by a hash, and a host may find packets of a sibling in its queue. The
//! host hands them over, and the sibling's next packet corrects the kernel's note.
//!
//! A packet for a connection of the host that reads it costs no more than without siblings: only packets without a
//! connection are looked up in the shared registry. A packet that is handed over may arrive out of order, as in any
//! network.

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
    /// Creates hosts that share the addresses of `config`, their ports and a device: one host for each queue of the
    /// device (see [`Tun::open_queues`](crate::tun::Tun::open_queues)), each to be run by its own thread. The limits in
    /// `config` apply to each host: each may have `connections_max` connections. With a single queue, the result is the
    /// same as with [`Host::new`].
    ///
    /// A connection belongs to the host that opened or accepted it. A SYN is answered by the host whose queue received
    /// it if that host listens on the port, and otherwise by another host that listens on the port. No two open
    /// connections have the same ends.
    ///
    /// All hosts must run, even those without their own work, because their queues receive packets too. [`Host::run`]
    /// therefore returns in all of them at the same time, when the last one is done. The hosts may then be given new
    /// work and run again. In that case all of them must run again, and no host may start before every host has its
    /// work.
    ///
    /// A host that is stopped, fails, panics or is dropped leaves the group: its connections are aborted or lost, its
    /// queue is closed, and it cannot run again. Packets that waited in that queue are lost, as in a network. Later
    /// packets go to the queues of the remaining hosts. The remaining hosts do not wait for a host that has left.
    ///
    /// # Errors
    ///
    /// Returns an error if [`Host::new`] does.
    pub fn groups(config: &HostConfig, queues: Vec<D>, secret: &Secret) -> io::Result<Vec<Self>> {
        let host = |tun| Self::new(config.clone(), tun, secret.clone());
        let mut hosts = queues
            .into_iter()
            .map(host)
            .collect::<io::Result<Vec<_>>>()?;
        if hosts.len() > 1 {
            let wakers: Vec<Waker> = hosts.iter().map(Self::waker).collect();
            // The hosts share one clock, because packets are handed over together with the times at which they were
            // read.
            let clock = WallClock::start();
            for (host, membership) in hosts.iter_mut().zip(Membership::of_siblings(wakers)) {
                host.clock = clock;
                host.membership = Some(membership);
            }
        }
        Ok(hosts)
    }

    /// Determines the owner of a packet for which this host has no connection, and hands the packet over if the owner
    /// is a sibling.
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

    /// Determines the owner of the connection that an ICMP error is about, and hands the error over if the owner is a
    /// sibling. Called if this host has no such connection.
    pub(super) fn sort_out_icmp(&mut self, ends: Ends, received: &Received<'_>) -> Whose {
        let Some(membership) = &self.membership else {
            return Whose::Nobodys;
        };
        let whose = membership.whose(ends, Stray::Other);
        self.pass_on(whose, received);
        whose
    }

    /// Hands a packet over if it belongs to a sibling.
    fn pass_on(&mut self, whose: Whose, received: &Received<'_>) {
        if let (Whose::Sibling(sibling), Some(membership)) = (whose, &self.membership) {
            let mut packet = *received;
            if packet.pending.checksum == ChecksumState::Unverified {
                // The checksum is correct: otherwise, this host would have dropped the packet.
                packet.pending.checksum = ChecksumState::Verified;
            }
            match membership.post(sibling, &packet) {
                Posted::First | Posted::Behind => self.counters.handed_over += 1,
                Posted::Lost => self.counters.not_handed_over += 1,
            }
        }
    }

    /// Processes packets that siblings have handed over, up to a limit.
    pub(super) fn read_mail(&mut self, device: &mut D) -> io::Result<()> {
        let Some(membership) = self.membership.as_ref().filter(|_| self.has_mail()) else {
            return Ok(());
        };
        for letter in membership.mailbox().take(READS_AT_ONCE) {
            let mut received = letter.received();
            // The sibling may have read the packet before the latest time that the connections know, and the time of a
            // connection must not decrease.
            self.told = self.told.max(received.at);
            received.at = self.told;
            self.arrive(device, &received)?;
        }
        self.answer(device)
    }

    /// Returns `true` if siblings have handed over packets.
    pub(super) fn has_mail(&self) -> bool {
        let membership = self.membership.as_ref();
        membership.is_some_and(|membership| !membership.mailbox().is_empty())
    }

    /// Tells the siblings that this host is done. Returns `true` if all siblings are done.
    pub(super) fn siblings_are_done(&self) -> bool {
        self.membership.as_ref().is_none_or(Membership::finish)
    }

    /// Releases the ends of connections that no longer exist.
    pub(super) fn release(&self, ends: impl IntoIterator<Item = Ends>) {
        if let Some(membership) = &self.membership {
            membership.release(ends);
        }
    }
}

/// Returns `true` if a segment requests a connection.
pub(super) fn opens(segment: &Segment) -> bool {
    segment.is(Flags::SYN) && segment.ack.is_none() && !segment.is(Flags::RST)
}

/// Returns `true` if a segment may complete a handshake.
pub(super) fn completes(segment: &Segment) -> bool {
    segment.ack.is_some() && !segment.is(Flags::SYN) && !segment.is(Flags::RST)
}
