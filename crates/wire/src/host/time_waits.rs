//! Table of connections in TIME-WAIT whose applications are done. They do not count as connections. When the table is
//! full, the oldest entry is removed.

use std::collections::{BTreeMap, HashMap};
use std::io;

use dupack_tcp::connection::{Segment, TimeWait};
use dupack_tcp::time::Instant;

use super::Host;
use super::endpoint::Endpoint;
use super::groups::opens;
use super::outbox::Ends;
use crate::device::Device;
use dupack_packet::parse::Parsed;

/// Expiry time of an entry, and a number that makes the pair unique.
type Turn = (Instant, u64);

/// Connections in TIME-WAIT, indexed by their ends and by their expiry.
#[derive(Debug, Default)]
pub(super) struct TimeWaits {
    by_ends: HashMap<Ends, (Turn, TimeWait)>,
    by_turn: BTreeMap<Turn, Ends>,
    /// Number of entries inserted so far.
    count: u64,
}

impl TimeWaits {
    pub(super) fn contains(&self, ends: &Ends) -> bool {
        self.by_ends.contains_key(ends)
    }

    pub(super) fn get(&self, ends: &Ends) -> Option<&TimeWait> {
        self.by_ends.get(ends).map(|(_, left)| left)
    }

    pub(super) fn len(&self) -> usize {
        self.by_ends.len()
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = &Ends> {
        self.by_ends.keys()
    }

    /// Adds an entry. If there are then more than `max` entries, removes and returns the oldest one.
    pub(super) fn insert(&mut self, ends: Ends, left: TimeWait, max: usize) -> Option<Ends> {
        self.remove(&ends);
        self.count += 1;
        let turn = (left.until(), self.count);
        self.by_ends.insert(ends, (turn, left));
        self.by_turn.insert(turn, ends);
        let displaced = (self.len() > max).then(|| self.by_turn.pop_first());
        let (_, displaced) = displaced.flatten()?;
        self.by_ends.remove(&displaced);
        Some(displaced)
    }

    pub(super) fn remove(&mut self, ends: &Ends) {
        if let Some((turn, _)) = self.by_ends.remove(ends) {
            self.by_turn.remove(&turn);
        }
    }

    /// Processes a segment for an entry and returns the answer.
    fn handle_segment(&mut self, now: Instant, ends: Ends, segment: &Segment) -> Option<Segment> {
        let (turn, left) = self.by_ends.get_mut(&ends)?;
        let answer = left.handle_segment(now, segment);
        if left.until() != turn.0 {
            self.by_turn.remove(turn);
            turn.0 = left.until();
            self.by_turn.insert(*turn, ends);
        }
        answer
    }

    /// Removes and returns the entries that have expired.
    fn expire(&mut self, now: Instant) -> Vec<Ends> {
        let mut gone = Vec::new();
        while let Some(first) = self
            .by_turn
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let ends = first.remove();
            self.by_ends.remove(&ends);
            gone.push(ends);
        }
        gone
    }

    /// Returns the time of the next expiry.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.by_turn.first_key_value().map(|(turn, _)| turn.0)
    }
}

impl<D: Device> Host<D> {
    /// Processes a packet for a connection in TIME-WAIT. The packet may open a new connection between the same ends.
    /// The old entry stays until the new connection is established, because the SYN may be an old duplicate (RFC 9293
    /// §3.6.1, MAY-2).
    pub(super) fn recall(
        &mut self,
        device: &mut D,
        ends: Ends,
        at: Instant,
        packet: &Parsed<'_>,
    ) -> io::Result<()> {
        let segment = &packet.segment;
        let opens = opens(segment) && self.listens_at(ends) && self.has_half_open_room();
        if opens
            && self.may_have_room()
            && let Some(index) = self.accept(ends, segment)
        {
            return self.take_in(device, index, at, packet);
        }
        let Some(segment) = self.time_waits.handle_segment(at, ends, &packet.segment) else {
            return Ok(());
        };
        self.reply(device, ends, segment)
    }

    /// Removes connections that are over, and moves those in TIME-WAIT to the table.
    pub(super) fn forget(&mut self) {
        let goes = |endpoint: &Endpoint| endpoint.is_over() || endpoint.left().is_some();
        if !self.endpoints.iter().any(goes) {
            return;
        }
        let mut gone = Vec::new();
        for endpoint in self.endpoints.extract_if(.., |endpoint| goes(endpoint)) {
            let ends = endpoint.ends();
            let Some((left, since)) = endpoint.left() else {
                gone.push(ends);
                continue;
            };
            self.lingers_until = self.lingers_until.max(since + self.config.linger);
            let displaced = self
                .time_waits
                .insert(ends, left, self.config.time_waits_max);
            self.counters.time_waits_displaced += u64::from(displaced.is_some());
            gone.extend(displaced);
        }
        let ends = self.endpoints.iter().map(Endpoint::ends);
        self.by_ends = ends.zip(0..).collect();
        self.let_go(gone);
        debug_assert!({
            let waiting = self.time_waits.ends();
            let waiting = waiting.filter(|ends| !self.by_ends.contains_key(ends));
            let all = self.by_ends.len() + waiting.count();
            let membership = self.membership.as_ref();
            membership.is_none_or(|m| m.claims() == all)
        });
    }

    /// Releases the ends of connections that no longer exist, unless a new connection of the same peer uses them.
    fn let_go(&self, mut gone: Vec<Ends>) {
        gone.retain(|ends| !self.by_ends.contains_key(ends) && !self.time_waits.contains(ends));
        self.release(gone);
    }

    /// Removes the connections whose time in TIME-WAIT has expired.
    pub(super) fn expire_time_waits(&mut self, now: Instant) {
        if self.time_waits.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        let gone = self.time_waits.expire(now);
        self.let_go(gone);
    }
}
