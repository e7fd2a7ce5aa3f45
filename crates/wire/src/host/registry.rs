//! Registry that the hosts of one device share: the owner of each connection, the listeners on each port, and the hosts
//! that still have work to do.
//!
//! A single lock protects all of it. A host uses the registry only when a connection begins or ends, or when a packet
//! arrives that belongs to none of its own connections.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mailbox::{Letter, Mailbox, Posted};
use super::outbox::Ends;
use super::waker::Waker;
use crate::device::Received;

/// Index of a host among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group(usize);

/// State of a host within its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The host has work of its own.
    Busy,
    /// The host has no work of its own, and only reads packets for its siblings.
    Done,
    /// The host has left.
    Gone,
}

/// Kind of a packet for which a host has no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stray {
    /// A SYN that requests a connection.
    Syn,
    /// A segment that may complete a handshake that was not stored. A host that listens on the port can check this.
    Ack,
    /// Anything else.
    Other,
}

/// Owner of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A sibling, which has the connection or listens on the port.
    Sibling(Group),
    /// The calling host, which listens on the port and has claimed the packet's ends.
    Claimed,
    /// No host.
    Nobodys,
}

/// State shared by the hosts of one device.
#[derive(Debug)]
struct Registry {
    table: Mutex<Table>,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    mailbox: Mailbox,
    waker: Waker,
}

#[derive(Debug)]
struct Table {
    owners: HashMap<Ends, Group>,
    listeners: HashMap<u16, Vec<Group>>,
    standings: Vec<Standing>,
}

/// A host's membership in a registry. Dropping it leaves the group.
#[derive(Debug)]
pub(super) struct Membership {
    registry: Arc<Registry>,
    me: Group,
}

impl Membership {
    /// Creates one membership for each host. `wakers` wake the hosts.
    pub(super) fn of_siblings(wakers: Vec<Waker>) -> Vec<Self> {
        let groups = (0..wakers.len()).map(Group);
        let table = Table {
            owners: HashMap::new(),
            listeners: HashMap::new(),
            standings: vec![Standing::Busy; wakers.len()],
        };
        let member = |waker| Member {
            mailbox: Mailbox::default(),
            waker,
        };
        let registry = Arc::new(Registry {
            table: Mutex::new(table),
            members: wakers.into_iter().map(member).collect(),
        });
        let membership = |me| Self {
            registry: Arc::clone(&registry),
            me,
        };
        groups.map(membership).collect()
    }

    /// Claims `ends` for a new connection of this host. Returns `true` if no host had them.
    pub(super) fn claim(&self, ends: Ends) -> bool {
        match self.registry.lock().owners.entry(ends) {
            Entry::Vacant(entry) => {
                entry.insert(self.me);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Releases the ends of connections that no longer exist.
    pub(super) fn release(&self, all: impl IntoIterator<Item = Ends>) {
        let mut table = self.registry.lock();
        for ends in all {
            if table.owners.get(&ends) == Some(&self.me) {
                table.owners.remove(&ends);
            }
        }
    }

    /// Returns the number of connections that this host owns.
    pub(super) fn claims(&self) -> usize {
        let table = self.registry.lock();
        let owners = table.owners.values();
        owners.filter(|owner| **owner == self.me).count()
    }

    /// Registers this host as a listener on `port`.
    pub(super) fn listen(&self, port: u16) {
        let mut table = self.registry.lock();
        let groups = table.listeners.entry(port).or_default();
        if !groups.contains(&self.me) {
            groups.push(self.me);
        }
    }

    /// Removes this host from the listeners on `port`.
    pub(super) fn close(&self, port: u16) {
        let mut table = self.registry.lock();
        if let Some(groups) = table.listeners.get_mut(&port) {
            groups.retain(|group| *group != self.me);
            if groups.is_empty() {
                table.listeners.remove(&port);
            }
        }
    }

    /// Determines the owner of a packet for which this host has no live connection.
    pub(super) fn whose(&self, ends: Ends, stray: Stray) -> Whose {
        let mut table = self.registry.lock();
        let owner = table.owners.get(&ends).copied();
        if let Some(sibling) = owner.filter(|owner| *owner != self.me) {
            return Whose::Sibling(sibling);
        }
        if owner.is_some() {
            // The connection is over and about to be removed. It must not prevent its peer from opening a new
            // connection.
            table.owners.remove(&ends);
        }
        let listeners = table.listeners.get(&ends.local.port());
        let Some(listeners) = listeners.filter(|_| stray != Stray::Other) else {
            return Whose::Nobodys;
        };
        if listeners.contains(&self.me) {
            if stray == Stray::Ack {
                return Whose::Nobodys;
            }
            table.owners.insert(ends, self.me);
            return Whose::Claimed;
        }
        // If several hosts listen, the peer's port decides.
        Whose::Sibling(listeners[usize::from(ends.remote.port()) % listeners.len()])
    }

    /// Hands a packet over to a sibling, and wakes the sibling if its mailbox was empty.
    pub(super) fn post(&self, to: Group, packet: &Received<'_>) -> Posted {
        let member = &self.registry.members[to.0];
        let posted = member.mailbox.post(Letter::new(packet));
        if posted == Posted::First {
            member.waker.ring();
        }
        posted
    }

    /// Returns the mailbox with the packets that siblings have handed over to this host.
    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.registry.members[self.me.0].mailbox
    }

    /// Marks this host as busy with work of its own.
    pub(super) fn begin(&self) {
        self.registry.lock().standings[self.me.0] = Standing::Busy;
    }

    /// Marks this host as done. Returns `true` if all siblings are done too. The last host to finish wakes the others.
    pub(super) fn finish(&self) -> bool {
        self.stand(&mut self.registry.lock(), Standing::Done)
    }

    fn stand(&self, table: &mut Table, standing: Standing) -> bool {
        let before = std::mem::replace(&mut table.standings[self.me.0], standing);
        let all_done = !table.standings.contains(&Standing::Busy);
        if before == Standing::Busy && all_done {
            let members = self.registry.members.iter().enumerate();
            let others = members.filter(|(group, _)| Group(*group) != self.me);
            others.for_each(|(_, member)| member.waker.ring());
        }
        all_done
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut table = self.registry.lock();
        table.owners.retain(|_, owner| *owner != self.me);
        table.listeners.retain(|_, groups| {
            groups.retain(|group| *group != self.me);
            !groups.is_empty()
        });
        self.stand(&mut table, Standing::Gone);
    }
}

impl Registry {
    /// Locks the table. Poisoning is ignored, because a panic cannot leave a change incomplete.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::net::SocketAddr;
    use std::thread;

    fn siblings<const N: usize>() -> [Membership; N] {
        let wakers = (0..N).map(|_| Waker::new().expect("an eventfd")).collect();
        let siblings = Membership::of_siblings(wakers).try_into();
        siblings.expect("as many as wakers")
    }

    /// Returns `true` if the host was woken since the last call.
    fn is_rung(membership: &Membership) -> bool {
        let waker = &membership.registry.members[membership.me.0].waker;
        nix::unistd::read(waker.bell(), &mut [0; 8]).is_ok()
    }

    fn ends(local_port: u16) -> Ends {
        Ends {
            local: SocketAddr::from(([192, 0, 2, 1], local_port)),
            remote: SocketAddr::from(([192, 0, 2, 2], 80)),
        }
    }

    #[test]
    fn two_hosts_never_claim_the_same_ends() {
        const PORTS: u16 = 10_000;
        let taken = thread::scope(|scope| {
            let claim = |membership: Membership| {
                scope.spawn(move || {
                    let mine = (0..PORTS).map(ends).filter(|ends| membership.claim(*ends));
                    // Dropping a membership releases its claims, so the memberships must outlive the threads.
                    (mine.collect::<Vec<Ends>>(), membership)
                })
            };
            let threads = siblings::<4>().map(claim);
            threads.map(|thread| thread.join().expect("no panic"))
        });
        let all: Vec<Ends> = taken.iter().flat_map(|(ends, _)| ends.clone()).collect();
        assert_eq!(all.len(), usize::from(PORTS), "every end has an owner");
        let different: HashSet<Ends> = all.into_iter().collect();
        assert_eq!(different.len(), usize::from(PORTS), "no end has two owners");
    }

    #[test]
    fn only_the_owner_releases() {
        let [a, b] = siblings();
        assert!(a.claim(ends(1)));
        assert!(!a.claim(ends(1)));
        b.release([ends(1)]);
        assert!(!b.claim(ends(1)));
        a.release([ends(1)]);
        assert!(b.claim(ends(1)));
    }

    #[test]
    fn a_stray_finds_the_connection_before_the_listener() {
        let [a, b] = siblings();
        assert!(a.claim(ends(1)));
        assert_eq!(b.whose(ends(1), Stray::Other), Whose::Sibling(Group(0)));
        b.listen(1);
        assert_eq!(b.whose(ends(1), Stray::Syn), Whose::Sibling(Group(0)));
        // The owner looks up a packet only if its own connection is over.
        assert_eq!(a.whose(ends(1), Stray::Other), Whose::Nobodys);
        assert_eq!(b.whose(ends(1), Stray::Syn), Whose::Claimed);
        assert_eq!(a.whose(ends(1), Stray::Syn), Whose::Sibling(Group(1)));
    }

    #[test]
    fn a_syn_goes_to_a_listener() {
        let [a, b, c] = siblings();
        b.listen(7);
        assert_eq!(a.whose(ends(7), Stray::Other), Whose::Nobodys);
        assert_eq!(a.whose(ends(7), Stray::Syn), Whose::Sibling(Group(1)));
        assert_eq!(a.whose(ends(7), Stray::Ack), Whose::Sibling(Group(1)));
        assert_eq!(b.whose(ends(7), Stray::Ack), Whose::Nobodys);
        assert_eq!(a.whose(ends(8), Stray::Ack), Whose::Nobodys);
        assert_eq!(a.whose(ends(8), Stray::Syn), Whose::Nobodys);
        assert_eq!(b.whose(ends(7), Stray::Syn), Whose::Claimed);
        b.close(7);
        b.release([ends(7)]);
        assert_eq!(a.whose(ends(7), Stray::Syn), Whose::Nobodys);
        c.listen(7);
        assert_eq!(b.whose(ends(7), Stray::Syn), Whose::Sibling(Group(2)));
    }

    #[test]
    fn leaving_releases_everything() {
        let [a, b] = siblings();
        assert!(a.claim(ends(1)));
        a.listen(2);
        drop(a);
        assert_eq!(b.whose(ends(1), Stray::Other), Whose::Nobodys);
        assert_eq!(b.whose(ends(2), Stray::Syn), Whose::Nobodys);
        assert!(b.claim(ends(1)));
    }

    #[test]
    fn the_last_to_finish_wakes_the_others() {
        let [a, b, c] = siblings();
        assert!(!a.finish());
        assert!(!b.finish());
        assert!(!a.finish(), "c is not done yet");
        assert!(!is_rung(&a));
        assert!(c.finish());
        assert!(is_rung(&a) && is_rung(&b));
        assert!(a.finish() && b.finish());
        assert!(!is_rung(&c), "c is not woken twice");
        b.begin();
        assert!(!a.finish());
    }

    #[test]
    fn leaving_keeps_nobody_waiting() {
        let [a, b] = siblings();
        assert!(!a.finish());
        drop(b);
        assert!(is_rung(&a));
        assert!(a.finish());
    }

    #[test]
    fn a_letter_wakes_its_reader() {
        let [a, b] = siblings();
        let packet = Received {
            at: dupack_tcp::time::Instant::from_nanos(5),
            pending: crate::device::Pending::NOTHING,
            bytes: &[1, 2, 3],
        };
        assert!(b.mailbox().is_empty() && !is_rung(&b));
        assert_eq!(a.post(b.me, &packet), Posted::First);
        assert!(is_rung(&b) && !is_rung(&a));
        assert_eq!(b.mailbox().take(1)[0].received().bytes, [1, 2, 3]);
    }
}
