//! Class of each data packet according to its sender, and the fate of the packet.

use std::collections::BTreeMap;

use dupack_diagnosis::Class;
use dupack_tcp::facts::{LossRule, SendReason};
use dupack_tcp::recovery::Phase;
use dupack_wire::transfer::Transmission;

use super::kernel::{Event, State, What};
use super::packets::DataPacket;

/// True or diagnosed class of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Was {
    /// First transmission.
    New,
    Overtaken,
    Copy,
    Again(Class),
}

impl Was {
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Overtaken => "overtaken",
            Self::Copy => "copy",
            Self::Again(class) => class.name(),
        }
    }

    /// Returns the class with the name `name`.
    pub fn named(name: &str) -> Option<Self> {
        let others = [Self::New, Self::Overtaken, Self::Copy];
        let again = Class::ALL.map(Self::Again);
        let mut all = others.into_iter().chain(again);
        all.find(|was| was.name() == name)
    }

    /// Merges the two classes of fast retransmissions: if a recovery has no phases, the difference between these
    /// classes is a matter of definition.
    pub const fn coarse(self) -> Self {
        match self {
            Self::Again(Class::Further) => Self::Again(Class::Fast),
            was => was,
        }
    }

    pub const fn is_again(self) -> bool {
        matches!(self, Self::Again(_))
    }
}

/// Matches the packets of a sender of ours with the transmissions that this sender recorded. Returns `None` for a
/// packet without a matching transmission.
pub fn of_endpoint(packets: &[DataPacket], sent: &[Transmission]) -> Vec<Option<Was>> {
    /// Maximum number of consecutive transmissions that may be lost before they reach the path.
    const AHEAD: usize = 256;
    let truths = all(sent);
    let mut next = 0;
    let found = packets.iter().map(|packet| {
        let ahead = sent.iter().enumerate().skip(next).take(AHEAD);
        let same = |one: &Transmission| one.seq.0 == packet.seq && one.len == packet.len;
        let place = ahead.filter(|(_, one)| same(one)).map(|(n, _)| n).next()?;
        next = place + 1;
        truths.get(place).copied()
    });
    found.collect()
}

/// Returns the class of each transmission, by the same rules as in simulated transfers.
fn all(sent: &[Transmission]) -> Vec<Was> {
    let (mut expiries, mut events, mut edge) = (0, 0, 0);
    let each = sent.iter().map(|one| {
        let again = one.offset < edge;
        edge = edge.max(one.offset + u64::from(one.len));
        if one.why == SendReason::WindowProbe {
            return Was::Again(Class::WindowProbe);
        }
        if !again {
            return Was::New;
        }
        if one.why == SendReason::TailLossProbe {
            return Was::Again(Class::TailLossProbe);
        }
        if one.why == SendReason::Retransmit(LossRule::TIMEOUT) {
            let first = one.timeouts > expiries;
            expiries = one.timeouts;
            return Was::Again(if first {
                Class::Timeout
            } else {
                Class::AfterTimeout
            });
        }
        if one.phase == Some(Phase::Loss) {
            return Was::Again(Class::AfterTimeout);
        }
        let first = one.loss_events > events;
        events = one.loss_events;
        Was::Again(if first { Class::Fast } else { Class::Further })
    });
    each.collect()
}

/// Maximum time between an event in the kernel and the packet on the path.
const LATE_NANOS: i64 = 20_000_000;
/// Maximum time by which the event may seem to be later than the packet. The time of the event is truncated to a
/// microsecond, and the two clocks are read one after the other.
const EARLY_NANOS: i64 = 200_000;

/// Returns the classes of packets of the kernel's sender. Retransmissions are matched with events. `offset` converts
/// the time of an event to the time of day.
pub fn of_kernel(packets: &[DataPacket], events: &[Event], offset: i64) -> Vec<Option<Was>> {
    let told = causes(events, offset);
    let origin = packets.first().map_or(0, |packet| packet.seq);
    let (mut edge, mut next) = (0, 0);
    let mut truths = Vec::new();
    let mut last: Option<(&DataPacket, Option<Was>)> = None;
    for packet in packets {
        let again = packet.start(origin) < edge;
        edge = edge.max(packet.end(origin));
        if !again {
            truths.push(Some(Was::New));
            last = None;
            continue;
        }
        // Contiguous packets with the same time were one packet in the kernel, which caused one event.
        let goes_on = last.filter(|(before, _)| {
            before.at == packet.at && before.end(origin) == packet.start(origin)
        });
        let was = goes_on.map_or_else(
            || take(&told, &mut next, packet.at.cast_signed()),
            |(_, was)| was,
        );
        truths.push(was);
        last = Some((packet, was));
    }
    truths
}

/// Takes the event of a packet that was captured at `at`: the first event that is not taken and not too old.
fn take(told: &[(i64, Was)], next: &mut usize, at: i64) -> Option<Was> {
    while let Some(&(when, was)) = told.get(*next) {
        if when > at + EARLY_NANOS {
            return None;
        }
        *next += 1;
        let following = told.get(*next).map(|(when, _)| *when);
        let too_old = at - when > LATE_NANOS && following.is_some_and(|next| next <= at);
        if !too_old {
            return Some(was);
        }
    }
    None
}

/// Returns the times and classes of retransmissions.
fn causes(events: &[Event], offset: i64) -> Vec<(i64, Was)> {
    let mut state = State::Calm;
    // `true` if the state was set and nothing has been retransmitted since then.
    let mut fresh = true;
    let mut told = Vec::new();
    for event in events {
        match event.what {
            What::State(new) => {
                // In the state Loss, only an expiry of the timer sets the state again.
                fresh = new == State::Loss || new != state;
                state = new;
            }
            What::Again { went: true } => {
                let class = match (state, fresh) {
                    (State::Calm, _) => Class::TailLossProbe,
                    (State::Recovery, true) => Class::Fast,
                    (State::Recovery, false) => Class::Further,
                    (State::Loss, true) => Class::Timeout,
                    (State::Loss, false) => Class::AfterTimeout,
                };
                fresh = false;
                told.push((event.at.cast_signed() + offset, Was::Again(class)));
            }
            What::Again { went: false } | What::Mark { .. } => {}
        }
    }
    told
}

/// Fate of a packet. `needless` is `true` if the packet only repeats data of earlier packets that arrived. `lost` is
/// `true` if the packet did not arrive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    pub needless: bool,
    pub lost: bool,
}

/// Returns the fates of the packets `left`. `came` has, for each packet that arrived, its index in `left`.
pub fn fates(left: &[DataPacket], came: &[Option<usize>]) -> Vec<Fate> {
    let mut arrived = vec![false; left.len()];
    for place in came.iter().flatten() {
        arrived[*place] = true;
    }
    let origin = left.first().map_or(0, |packet| packet.seq);
    let mut held = Held::default();
    let each = left.iter().zip(arrived).map(|(packet, arrived)| {
        let (start, end) = (packet.start(origin), packet.end(origin));
        let needless = held.has(start, end);
        if arrived {
            held.add(start, end);
        }
        Fate {
            needless,
            lost: !arrived,
        }
    });
    each.collect()
}

/// Ranges of bytes that arrive: maps the start of each range to its end.
#[derive(Default)]
struct Held(BTreeMap<u64, u64>);

impl Held {
    fn has(&self, start: u64, end: u64) -> bool {
        let before = self.0.range(..=start).next_back();
        before.is_some_and(|(_, until)| *until >= end)
    }

    fn add(&mut self, mut start: u64, mut end: u64) {
        let touching: Vec<u64> = self
            .0
            .range(..=end)
            .rev()
            .take_while(|(_, until)| **until >= start)
            .map(|(from, _)| *from)
            .collect();
        for from in touching {
            if let Some(until) = self.0.remove(&from) {
                start = start.min(from);
                end = end.max(until);
            }
        }
        self.0.insert(start, end);
    }
}
