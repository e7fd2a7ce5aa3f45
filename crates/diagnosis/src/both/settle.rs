//! Replacement of findings from one capture by findings from both captures.

use std::collections::HashMap;

use super::fates::{Again, Told};
use super::{Alone, BothEnds, Joined};
use crate::analyse::cause::Need;
use crate::findings::{ConnectionFindings, StreamFindings};
use crate::path::intervals::wilson;
use crate::read::side::Side;
use crate::told;

/// Stores the findings from both captures of a connection. `near` contains the findings about the data from the
/// endpoint to which this capture is nearer.
pub(super) fn settle(found: &mut ConnectionFindings, mut both: BothEnds, near: &Told) {
    let side = both.near;
    let way = &near.way;
    if !both.spans_path() {
        // Packets that the far capture contains may have been lost on the remaining path.
        for side in Side::BOTH {
            let way = both.ways.of_mut(side);
            way.need_unknown += std::mem::take(&mut way.needless);
        }
        found.both = Some(Box::new(both));
        return;
    }
    let is_whole = both.extent == Joined::All && way.missing_near == 0 && way.undecided == 0;
    if let Some(stream) = found.streams.of_mut(side)
        && is_whole
    {
        let before = Alone {
            losses: stream.path.losses,
            needless: stream.account.needless(),
        };
        losses(stream, near);
        needs(stream, near);
        let after = Alone {
            losses: stream.path.losses,
            needless: stream.account.needless(),
        };
        both.alone = (before != after).then_some(before);
    }
    found.both = Some(Box::new(both));
}

/// Updates the number and the rate of losses on the path.
fn losses(stream: &mut StreamFindings, near: &Told) {
    let way = &near.way;
    let path = &mut stream.path;
    if path.losses == way.lost_data {
        return;
    }
    let (lost, sent) = (way.lost_data as f64, way.segments.max(1) as f64);
    let (low, high) = wilson(lost, sent, 1.0);
    let loss = told::Told::Between {
        value: (lost / sent).min(1.0),
        low,
        high,
    };
    path.losses = way.lost_data;
    path.transmissions = way.segments;
    path.loss = loss;
    if way.lost_data == 0 {
        path.random_loss = loss;
    }
}

/// Updates the need and the loss of each retransmission.
fn needs(stream: &mut StreamFindings, near: &Told) {
    let packets = near
        .again
        .iter()
        .map(|again| (u64::from(again.packet), again));
    let mut of: HashMap<u64, Again> = HashMap::new();
    for (packet, again) in packets {
        let one = of.entry(packet).or_insert(*again);
        one.is_lost |= again.is_lost;
        if again.need == Need::Needed {
            one.need = Need::Needed;
        }
    }
    for again in &mut stream.retransmissions {
        if again.cause.class().is_probe() {
            continue;
        }
        if let Some(told) = of.get(&again.packet) {
            again.need = told.need;
            again.lost = told.is_lost;
        }
    }
    let (way, account) = (&near.way, &mut stream.account);
    if account.retransmissions != way.retransmissions {
        return;
    }
    account.needless_by_dsack = 0;
    account.needless_by_timestamp = 0;
    account.needless_by_time = 0;
    account.needless_by_arrival = way.needless;
    account.of_unknown_need = way.need_unknown;
    account.lost_first = way.lost_data.saturating_sub(way.lost_again);
    account.lost_again = way.lost_again;
}
