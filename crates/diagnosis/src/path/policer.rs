//! Policers: token buckets that drop what exceeds their rate, and queue nothing.
//!
//! After Flach et al., "An Internet-Wide Analysis of Traffic Policing" (SIGCOMM 2016): the policing rate
//! is what comes through between the first loss and the last, and with a bucket that fills at this rate,
//! packets are lost when it is empty. Here it is asked of the losses alone: at each of them what has come
//! through since the first is what the rate allows, within a few packets. Losses of a link wander away
//! from that line, as the rate between them is the sender's; and losses of a queue come at its longest
//! delay, where these come with none.

use dupack_tcp::time::Duration;

use super::losses::Lost;
use crate::told::Told;

/// So many losses make a line (Flach et al. ask for 15).
const LOSSES_MIN: usize = 15;

/// The line is as long as so many round trips at least (ours): within a few, all losses are one burst.
const ROUND_TRIPS_MIN: u64 = 10;

/// Nine of ten losses are so close to the line: packets, or this share of what came through in all (ours).
const OFF_PACKETS: f64 = 12.0;
const OFF_SHARE: f64 = 0.01;

/// The queueing delay beside the losses is at most this share of the least round-trip time, in the middle
/// (Flach et al. compare the delays of lost packets with those of others).
const DELAY_SHARE: f64 = 0.2;

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// How fast it fills, in bit per second.
    pub rate: Told<f64>,
    /// What it holds, in bytes.
    pub burst: Told<f64>,
}

/// What there is of one in the losses, if they look like one's; `start` is when the first data left,
/// `wire` the bytes on the wire per byte of the stream, `packet` those of a full one.
pub(super) fn find(
    losses: &[Lost],
    start: dupack_tcp::time::Instant,
    least: Duration,
    (wire, packet): (f64, f64),
) -> Option<Policer> {
    let mut firsts: Vec<&Lost> = losses
        .iter()
        .filter(|lost| lost.transmission == 1)
        .collect();
    if firsts.len() < LOSSES_MIN || !without_queue(&firsts, least) {
        return None;
    }
    firsts.sort_unstable_by_key(|lost| lost.start);
    // What had come through when each of them did not: all before it, as what was lost was sent again.
    let through = |lost: &&Lost| {
        let bytes = lost.start as f64 * wire;
        (lost.sent.since(start).as_secs_f64(), bytes)
    };
    let passed: Vec<(f64, f64)> = firsts.iter().map(through).collect();
    let (&(from, before), &(until, after)) = (passed.first()?, passed.last()?);
    if until - from < least.saturating_mul(ROUND_TRIPS_MIN).as_secs_f64() || after <= before {
        return None;
    }
    let slope = (after - before) / (until - from);
    let off = |&(at, through): &(f64, f64)| (through - before - slope * (at - from)).abs();
    let mut far: Vec<f64> = passed.iter().map(off).collect();
    far.sort_unstable_by(f64::total_cmp);
    let ninth = far.get(far.len() * 9 / 10).copied()?;
    let allowed = (OFF_PACKETS * packet).max(OFF_SHARE * (after - before));
    if ninth > allowed {
        return None;
    }
    let uncertain = ninth / (until - from);
    let burst = before - slope * from;
    Some(Policer {
        rate: Told::Between {
            value: slope * 8.0,
            low: (slope - uncertain) * 8.0,
            high: (slope + uncertain) * 8.0,
        },
        burst: told_burst(burst, ninth.max(packet) + uncertain * from, packet),
    })
}

fn told_burst(burst: f64, off: f64, packet: f64) -> Told<f64> {
    if burst < packet {
        return Told::CannotBeTold {
            why: "the bucket was not full when the capture began",
            remedy: "a capture from the beginning of a transfer",
        };
    }
    Told::Between {
        value: burst,
        low: (burst - off).max(0.0),
        high: burst + off,
    }
}

/// Whether the losses come with no queueing delay to speak of.
fn without_queue(losses: &[&Lost], least: Duration) -> bool {
    let mut delays: Vec<Duration> = losses.iter().filter_map(|lost| lost.delay).collect();
    delays.sort_unstable();
    let middle = delays.get(delays.len() / 2);
    let most = least.as_secs_f64() * (1.0 + DELAY_SHARE);
    middle.is_some_and(|delay| delay.as_secs_f64() <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::time::Instant;

    const LEAST: Duration = Duration::from_millis(20);

    fn lost(start: u64, at_us: u64, delay_ms: u64) -> Lost {
        Lost {
            start,
            end: start + 1000,
            transmission: 1,
            sent: Instant::ZERO + Duration::from_micros(at_us),
            delay: Some(Duration::from_millis(delay_ms)),
            votes: None,
        }
    }

    /// 50 losses at 1 MB/s after a burst of 100 kB, which `off` moves by so many bytes.
    fn line(off: impl Fn(u64) -> u64, delay_ms: u64) -> Option<Policer> {
        let losses: Vec<Lost> = (0..50)
            .map(|n| {
                let at_us = 100_000 + n * 40_000;
                lost(100_000 + at_us + off(n), at_us, delay_ms)
            })
            .collect();
        find(&losses, Instant::ZERO, LEAST, (1.0, 1000.0))
    }

    #[test]
    fn losses_on_a_line_without_queue_are_a_policers() {
        let policer = line(|_| 0, 20).unwrap();
        let rate = policer.rate.value().unwrap();
        assert!((rate / 8e6 - 1.0).abs() < 0.01, "{rate}");
        let burst = policer.burst.value().unwrap();
        assert!((burst / 1e5 - 1.0).abs() < 0.05, "{burst}");
    }

    #[test]
    fn losses_beside_a_queue_or_off_the_line_are_not() {
        assert_eq!(line(|_| 0, 60), None);
        assert_eq!(line(|n| if n % 20 < 10 { 0 } else { 60_000 }, 20), None);
        let few: Vec<Lost> = (0..10).map(|n| lost(n * 50_000, n * 40_000, 20)).collect();
        assert_eq!(find(&few, Instant::ZERO, LEAST, (1.0, 1000.0)), None);
    }
}
