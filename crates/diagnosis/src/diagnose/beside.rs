//! Streams that were sent in the same direction at the same time.
//!
//! The times between the packets of a stream show the rate of its bottleneck if the bottleneck carries only this
//! stream. If other streams use a part of the capacity, their packets are between those of this stream, and the times
//! show only the stream's share. Streams to the same host use the same last links, and may share a bottleneck there.
//! For some streams, a shared bottleneck is found regardless of their hosts.

use std::collections::HashMap;
use std::net::IpAddr;

use dupack_tcp::time::{Duration, Instant};

use crate::consistency::share_the_way;
use crate::findings::{ConnectionFindings, Sharing};
use crate::read::side::Side;
use crate::shared::SharedBottleneck;

/// Minimum amount of data of other streams, as a fraction of a stream's own data, that affects the findings (our
/// choice: with this amount, the stream has two thirds of the rate).
const MATTERS: f64 = 0.5;

/// Assumed duration of a stream with one packet (our choice).
const SHORTEST: Duration = Duration::from_micros(1);

/// Destination, start, end and number of bytes of a stream.
struct Run {
    /// Destination host; `None` for a stream within one host, where both directions have the same address and use no
    /// link.
    to: Option<IpAddr>,
    from_s: f64,
    until_s: f64,
    bytes: f64,
}

/// Withdraws the findings of streams about bottlenecks that they share or may share with other streams of the capture.
pub(super) fn settle(connections: &mut [ConnectionFindings], found: &[SharedBottleneck]) {
    let sharers = sharers(found);
    let mut traffic: HashMap<IpAddr, Vec<[f64; 2]>> = HashMap::new();
    for run in connections.iter().flat_map(runs) {
        if let Some(to) = run.to {
            let rate = run.bytes / (run.until_s - run.from_s);
            let changes = traffic.entry(to).or_default();
            changes.extend([[run.from_s, rate], [run.until_s, -rate]]);
        }
    }
    let traffic: HashMap<IpAddr, Sums> = traffic
        .into_iter()
        .map(|(to, changes)| (to, Sums::of(changes)))
        .collect();
    for connection in connections {
        let shared: Vec<bool> = runs(connection)
            .map(|run| {
                let sums = run.to.and_then(|to| traffic.get(&to));
                let all = sums.map(|sums| sums.until(run.until_s) - sums.until(run.from_s));
                all.is_some_and(|all| all - run.bytes >= MATTERS * run.bytes)
            })
            .collect();
        let streams = [
            &mut connection.streams.opener,
            &mut connection.streams.answerer,
        ];
        for (stream, shared) in streams.into_iter().flatten().zip(shared) {
            stream.sharing = sharers.get(&(connection.number, stream.side)).copied();
            if shared || stream.sharing.is_some() {
                share_the_way(stream);
            }
        }
    }
}

/// Returns the streams that share a bottleneck, indexed by connection and sender.
fn sharers(found: &[SharedBottleneck]) -> HashMap<(u64, Side), Sharing> {
    let of_one = |bottleneck: &SharedBottleneck| {
        let (rate, others) = (bottleneck.rate, bottleneck.streams.len().saturating_sub(1));
        let streams = bottleneck.streams.iter();
        let each = streams.map(|one| {
            let share = one.share;
            (
                (one.connection, one.side),
                Sharing {
                    rate,
                    share,
                    others,
                },
            )
        });
        each.collect::<Vec<_>>()
    };
    found.iter().flat_map(of_one).collect()
}

/// Returns the streams of a connection in the order of [`ConnectionFindings::all_streams`].
fn runs(connection: &ConnectionFindings) -> impl Iterator<Item = Run> {
    connection.all_streams().map(|stream| {
        let host = |side: Side| connection.addresses.of(side).ip();
        let (from, to) = (host(stream.side), host(stream.side.other()));
        let seconds = |at: Instant| at.as_nanos() as f64 / 1e9;
        let (started, ended) = (stream.shares.started, stream.shares.ended);
        let ended = ended.max(started + SHORTEST);
        Run {
            to: Some(to).filter(|to| *to != from),
            from_s: seconds(started),
            until_s: seconds(ended),
            bytes: stream.bytes() as f64,
        }
    })
}

/// Number of bytes carried up to a time, as if each stream had a constant rate.
struct Sums {
    /// For each time in seconds at which the rate changes: this time, the number of bytes up to it, and the rate from
    /// then on in bytes per second.
    steps: Vec<[f64; 3]>,
}

impl Sums {
    /// Creates sums from changes of the rate, each with its time.
    fn of(mut changes: Vec<[f64; 2]>) -> Self {
        changes.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let mut last = [0.0; 3];
        let steps = changes.into_iter().map(|[at, change]| {
            let [before, bytes, rate] = last;
            last = [at, bytes + rate * (at - before), rate + change];
            last
        });
        Self {
            steps: steps.collect(),
        }
    }

    /// Returns the number of bytes carried up to the time `at`, in seconds.
    fn until(&self, at: f64) -> f64 {
        let after = self.steps.partition_point(|step| step[0] <= at);
        let step = after.checked_sub(1).and_then(|place| self.steps.get(place));
        step.map_or(0.0, |[before, bytes, rate]| bytes + rate * (at - before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consistency::Withdrawn;
    use crate::shared::Sharer;
    use crate::testing::transfer;

    fn withdrawn(connections: &[ConnectionFindings]) -> Vec<bool> {
        let streams = connections.iter().flat_map(ConnectionFindings::all_streams);
        let beside =
            |stream: &crate::StreamFindings| stream.withdrawn.contains(&Withdrawn::OthersBeside);
        streams.map(beside).collect()
    }

    #[test]
    fn two_concurrent_streams_to_a_host_may_share_a_bottleneck() {
        let mut two = [transfer(), transfer()];
        settle(&mut two, &[]);
        assert_eq!(withdrawn(&two), [true, true]);
        let mut one = [transfer()];
        settle(&mut one, &[]);
        assert_eq!(withdrawn(&one), [false]);
    }

    #[test]
    fn a_detected_shared_bottleneck_is_reported_with_each_share() {
        let one = transfer();
        let side = one.all_streams().next().expect("data").side;
        let sharer = |connection, share| Sharer {
            connection,
            side,
            share,
            rates: -0.9,
            deviations: -9.0,
            delays: 0.9,
        };
        let found = SharedBottleneck {
            streams: vec![sharer(one.number, 0.29), sharer(one.number + 1, 0.71)],
            rate: 1e7,
            rate_varies: 0.02,
            windows: 100,
            width: Duration::from_millis(40),
        };
        let mut all = [one];
        settle(&mut all, &[found]);
        assert_eq!(withdrawn(&all), [true]);
        let sharing = Sharing {
            rate: 1e7,
            share: 0.29,
            others: 1,
        };
        let told = all[0].all_streams().next().expect("data").sharing;
        assert_eq!(told, Some(sharing));
    }

    /// Such a stream occurs on a loopback interface.
    #[test]
    fn both_directions_within_a_host_share_no_bottleneck() {
        let mut one = transfer();
        let mut back = one.all_streams().next().cloned().expect("data");
        back.side = back.side.other();
        let free = match back.side {
            Side::Opener => &mut one.streams.opener,
            Side::Answerer => &mut one.streams.answerer,
        };
        *free = Some(back);
        let host = one.addresses.opener.ip();
        one.addresses.answerer.set_ip(host);
        let mut both = [one];
        settle(&mut both, &[]);
        assert_eq!(withdrawn(&both), [false, false]);
    }

    #[test]
    fn sums_include_all_running_streams() {
        // The rates are 10 bytes/s from 1 s to 5 s, and 100 bytes/s from 2 s to 3 s.
        let sums = Sums::of(vec![[1.0, 10.0], [2.0, 100.0], [5.0, -10.0], [3.0, -100.0]]);
        for (at, bytes) in [
            (0.5, 0.0),
            (1.0, 0.0),
            (2.0, 10.0),
            (2.5, 65.0),
            (9.0, 140.0),
        ] {
            assert!((sums.until(at) - bytes).abs() < 1e-9, "{at}");
        }
    }
}
