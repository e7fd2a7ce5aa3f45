//! Names of packets: digests that identify the same packet in two captures.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::net::SocketAddr;

use dupack_packet::captured::{CaptureReader, ReadError};

use super::CONNECTIONS_MAX;
use crate::diagnose::{Extent, Watch, each_packet};
use crate::findings::ConnectionFindings;
use crate::read::packet::Packet;
use crate::read::side::{Both, Side};
use crate::selection::Selection;
use dupack_tcp::connection::Flags;

/// Maximum number of names (our choice: about 40 MB). Later packets of a capture have no names.
const NAMES_MAX: usize = 1 << 21;

/// Maximum number of address pairs that are counted when connections are searched for (our choice).
const CANDIDATES_MAX: usize = 1 << 16;

/// Minimum number of packets with names in both captures (our choice). A connection with fewer such packets does not
/// count as contained in both.
const ALIKE_MIN: u32 = 2;

/// Direction of a connection: source and destination.
pub(super) type Direction = (SocketAddr, SocketAddr);

/// Returns the names of a packet. A NAT preserves the first name. A middlebox that shifts sequence numbers preserves
/// the second and the third name. The third name also exists for packets without timestamps. The first two do not
/// contain the length, because an interface with offload shows several segments as one packet.
fn names(packet: &Packet) -> [Option<u64>; 3] {
    let segment = &packet.segment;
    if segment.is(Flags::RST) {
        return [None; 3];
    }
    let is_data = packet.data_len() > 0 || segment.is(Flags::SYN);
    let ack = segment.ack.map(|ack| ack.0);
    let stamps = segment.options.timestamps.filter(|_| segment.ack.is_some());
    let id = packet.ip_id.filter(|&id| id != 0 && segment.len > 0);
    let ends = (packet.source, packet.destination);
    [
        is_data.then(|| digest((1_u8, segment.seq.0, ack))),
        stamps.map(|stamps| digest((2_u8, stamps.value, stamps.echo))),
        id.map(|id| digest((3_u8, ends, id, segment.len, segment.window))),
    ]
}

fn digest(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Connections that both captures contain, with the names of their packets.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Indices of the connections in the findings.
    pub(super) connections: Vec<usize>,
    /// For each name, the index of the connection in `connections`, and the side that sent the packet.
    names: HashMap<u64, (usize, Side)>,
}

/// Returns the names of all packets in a capture; `None` if `watch` stopped the reading.
pub(super) fn of_capture<R: Read>(
    reader: &mut CaptureReader<R>,
    watch: &mut dyn Watch,
) -> Result<Option<HashSet<u64>>, ReadError> {
    let mut all = HashSet::new();
    let extent = each_packet(reader, watch, |captured| {
        if let Ok(tcp) = captured.tcp()
            && all.len() < NAMES_MAX
        {
            let packet = Packet::new(&tcp, captured.at);
            all.extend(names(&packet).into_iter().flatten());
        }
    })?;
    Ok((extent == Extent::Whole).then_some(all))
}

/// Returns the first [`CONNECTIONS_MAX`] connections of the diagnosed capture that have data and at least [`ALIKE_MIN`]
/// packets with names in `there`; `None` if `watch` stopped the reading.
pub(super) fn shared<R: Read>(
    reader: &mut CaptureReader<R>,
    found: &[ConnectionFindings],
    there: &HashSet<u64>,
    (selection, watch): (&Selection, &mut dyn Watch),
) -> Result<Option<Shared>, ReadError> {
    let which = by_direction(found.iter().map(|one| &one.addresses));
    let mut selector = selection.selector();
    let mut hits: HashMap<u64, (usize, Side)> = HashMap::new();
    let mut counts = vec![0_u32; found.len()];
    let extent = each_packet(reader, watch, |captured| {
        let packet = captured.tcp().ok().and_then(|tcp| selector.take(&tcp));
        let Some(packet) = packet else {
            return;
        };
        let direction = (packet.source, packet.destination);
        let Some((n, side)) = at(which.get(&direction), found, &packet) else {
            return;
        };
        let names = names(&packet).into_iter().flatten();
        let mut is_shared = false;
        for name in names.filter(|name| there.contains(name)) {
            is_shared = true;
            hits.insert(name, (n, side));
        }
        if let Some(count) = counts.get_mut(n) {
            *count = count.saturating_add(u32::from(is_shared));
        }
    })?;
    let connections = counts.iter().enumerate();
    let connections = connections.filter(|(n, count)| {
        let has_data = found
            .get(*n)
            .is_some_and(|one| one.all_streams().next().is_some());
        has_data && **count >= ALIKE_MIN
    });
    let connections: Vec<usize> = connections.map(|(n, _)| n).take(CONNECTIONS_MAX).collect();
    let place: HashMap<usize, usize> = connections.iter().copied().zip(0..).collect();
    let names = hits.into_iter();
    let names = names.filter_map(|(name, (n, side))| Some((name, (*place.get(&n)?, side))));
    let names = names.collect();
    Ok((extent == Extent::Whole).then_some(Shared { connections, names }))
}

/// Returns an index of the connections by the directions of their packets.
pub(super) fn by_direction<'a>(
    addresses: impl Iterator<Item = &'a Both<SocketAddr>>,
) -> HashMap<Direction, Vec<(usize, Side)>> {
    let mut which: HashMap<Direction, Vec<(usize, Side)>> = HashMap::new();
    for (n, addresses) in addresses.enumerate() {
        for side in Side::BOTH {
            let direction = (*addresses.of(side), *addresses.of(side.other()));
            which.entry(direction).or_default().push((n, side));
        }
    }
    which
}

/// Returns the connection to which a packet belongs by its time, among several connections with the same addresses.
pub(super) fn at(
    connections: Option<&Vec<(usize, Side)>>,
    found: &[ConnectionFindings],
    packet: &Packet,
) -> Option<(usize, Side)> {
    let mut all = connections?.iter();
    let is_at = |one: &ConnectionFindings| (one.first_at..=one.last_at).contains(&packet.at);
    all.find(|(n, _)| found.get(*n).is_some_and(is_at)).copied()
}

/// Returns the addresses that each connection of `shared` has in the other capture; `None` if `watch` stopped the
/// reading.
pub(super) fn places<R: Read>(
    reader: &mut CaptureReader<R>,
    shared: &Shared,
    watch: &mut dyn Watch,
) -> Result<Option<Vec<Option<Both<SocketAddr>>>>, ReadError> {
    // Number of packets for each combination of a connection, its opener's address and its answerer's address.
    let mut votes: HashMap<(usize, SocketAddr, SocketAddr), u32> = HashMap::new();
    let extent = each_packet(reader, watch, |captured| {
        let Ok(tcp) = captured.tcp() else {
            return;
        };
        let packet = Packet::new(&tcp, captured.at);
        let mut known = names(&packet).into_iter().flatten();
        let Some(&(n, side)) = known.find_map(|name| shared.names.get(&name)) else {
            return;
        };
        let place = match side {
            Side::Opener => (n, packet.source, packet.destination),
            Side::Answerer => (n, packet.destination, packet.source),
        };
        if votes.len() < CANDIDATES_MAX || votes.contains_key(&place) {
            *votes.entry(place).or_default() += 1;
        }
    })?;
    let mut best: Vec<Option<(u32, Both<SocketAddr>)>> = vec![None; shared.connections.len()];
    let mut votes: Vec<_> = votes.into_iter().collect();
    votes.sort_unstable();
    for ((n, opener, answerer), count) in votes {
        if let Some(best) = best.get_mut(n)
            && count >= ALIKE_MIN
            && best.is_none_or(|(most, _)| count > most)
        {
            *best = Some((count, Both { opener, answerer }));
        }
    }
    let places = best.into_iter().map(|best| best.map(|(_, place)| place));
    Ok((extent == Extent::Whole).then(|| places.collect()))
}
