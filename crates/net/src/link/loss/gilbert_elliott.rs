//! Burst loss after Gilbert (BSTJ 39, 1960) and Elliott (BSTJ 42, 1963): a channel that is either good or bad, with a
//! loss probability for each state.

use dupack_tcp::time::{Duration, Instant};

use crate::random::Stream;
use crate::units::Probability;

/// Chain that may change its state after each packet. It starts in the good state.
///
/// The stationary probability of the bad state is `good_to_bad / (good_to_bad + bad_to_good)`. The chain stays in the
/// bad state for `1 / bad_to_good` packets on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GilbertElliott {
    /// Probability of changing to the bad state after a packet in the good state.
    pub good_to_bad: Probability,
    /// Probability of changing to the good state after a packet in the bad state.
    pub bad_to_good: Probability,
    /// Probability of losing a packet in the good state (Gilbert: 0).
    pub loss_in_good: Probability,
    /// Probability of losing a packet in the bad state.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// Creates a chain that loses every packet in the bad state and none in the good state, such that the fraction
    /// `loss_rate` of all packets is lost, in bursts of `mean_burst_packets` on average.
    ///
    /// Returns `None` if no such chain exists: the loss rate must be in `[0, 1)`, and both the bursts and the good
    /// periods between them must have at least one packet on average (`mean_burst · (1 − rate) ≥ rate`).
    #[must_use]
    pub fn from_loss_rate_and_burst(loss_rate: f64, mean_burst_packets: f64) -> Option<Self> {
        if !(0.0..1.0).contains(&loss_rate)
            || mean_burst_packets.is_nan()
            || mean_burst_packets < 1.0
        {
            return None;
        }
        let bad_to_good = 1.0 / mean_burst_packets;
        let good_to_bad = bad_to_good * loss_rate / (1.0 - loss_rate);
        Some(Self {
            good_to_bad: Probability::new(good_to_bad)?,
            bad_to_good: Probability::new(bad_to_good)?,
            loss_in_good: Probability::NEVER,
            loss_in_bad: Probability::ALWAYS,
        })
    }
}

/// Chain in continuous time: the states last for exponentially distributed times, independently of packets. It starts
/// in the good state at time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GilbertElliottTimed {
    /// Mean duration of a good period.
    pub mean_good: Duration,
    /// Mean duration of a bad period.
    pub mean_bad: Duration,
    /// Probability of losing a packet in the good state.
    pub loss_in_good: Probability,
    /// Probability of losing a packet in the bad state.
    pub loss_in_bad: Probability,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Good,
    Bad,
}

/// The per-packet chain at run time.
#[derive(Clone, Debug)]
pub(super) struct PacketChain {
    model: GilbertElliott,
    channel: Channel,
    stream: Stream,
}

impl PacketChain {
    pub(super) const fn new(model: GilbertElliott, stream: Stream) -> Self {
        Self {
            model,
            channel: Channel::Good,
            stream,
        }
    }

    /// Returns `true` if the next packet is lost. Two numbers are drawn: first for the loss in the current state, then
    /// for the change of state.
    pub(super) fn loses(&mut self) -> bool {
        let (loss, leave, other) = match self.channel {
            Channel::Good => (
                self.model.loss_in_good,
                self.model.good_to_bad,
                Channel::Bad,
            ),
            Channel::Bad => (
                self.model.loss_in_bad,
                self.model.bad_to_good,
                Channel::Good,
            ),
        };
        let lost = self.stream.chance(loss);
        if self.stream.chance(leave) {
            self.channel = other;
        }
        lost
    }
}

/// The chain in continuous time at run time.
#[derive(Clone, Debug)]
pub(super) struct TimeChain {
    model: GilbertElliottTimed,
    channel: Channel,
    changes_at: Instant,
    /// Durations and losses draw from separate streams, so that the good and bad periods do not depend on the number of
    /// packets.
    periods: Stream,
    losses: Stream,
}

/// Minimum duration of a period, so that the loop that advances to the current time always ends.
const SHORTEST_PERIOD: Duration = Duration::from_micros(1);

impl TimeChain {
    pub(super) fn new(model: GilbertElliottTimed, mut stream: Stream) -> Self {
        let losses = Stream::derive(stream.bits(), "losses");
        let mut chain = Self {
            model,
            channel: Channel::Bad,
            changes_at: Instant::ZERO,
            periods: stream,
            losses,
        };
        chain.change();
        chain
    }

    /// Returns `true` if a packet at `now` is lost. Calls must be in the order of time.
    pub(super) fn loses(&mut self, now: Instant) -> bool {
        while self.changes_at <= now {
            self.change();
        }
        let loss = match self.channel {
            Channel::Good => self.model.loss_in_good,
            Channel::Bad => self.model.loss_in_bad,
        };
        self.losses.chance(loss)
    }

    fn change(&mut self) {
        let (channel, mean) = match self.channel {
            Channel::Good => (Channel::Bad, self.model.mean_bad),
            Channel::Bad => (Channel::Good, self.model.mean_good),
        };
        self.channel = channel;
        self.changes_at += self.periods.exponential(mean).max(SHORTEST_PERIOD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the loss rate and the mean burst length of `losses`.
    fn rate_and_burst(losses: &[bool]) -> (f64, f64) {
        let lost = losses.iter().filter(|&&lost| lost).count();
        let bursts = losses.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        (
            lost as f64 / losses.len() as f64,
            lost as f64 / bursts as f64,
        )
    }

    #[test]
    fn the_chain_has_the_configured_rate_and_burst_length() {
        // 2 % loss in bursts of 4 packets: bad → good 0.25, good → bad 0.25 · 0.02/0.98 = 0.0051.
        let model = GilbertElliott::from_loss_rate_and_burst(0.02, 4.0).unwrap();
        assert!((model.good_to_bad.as_f64() - 0.005_102).abs() < 1e-6);
        let mut chain = PacketChain::new(model, Stream::derive(5, "chain"));
        let losses: Vec<bool> = (0..2_000_000).map(|_| chain.loses()).collect();
        let (rate, burst) = rate_and_burst(&losses);
        // There are about 10000 bursts with a standard deviation of √12 = 3.5, so the standard error is 0.035 packets.
        assert!((burst - 4.0).abs() < 0.14, "{burst}");
        assert!((rate - 0.02).abs() < 0.001, "{rate}");
    }

    #[test]
    fn with_loss_in_both_states_the_rate_is_the_weighted_mean() {
        // The fraction of the bad state is 0.1/(0.1 + 0.3) = 1/4, so the loss rate is 0.75 · 0.01 + 0.25 · 0.5 =
        // 0.1325.
        let model = GilbertElliott {
            good_to_bad: Probability::clamped(0.1),
            bad_to_good: Probability::clamped(0.3),
            loss_in_good: Probability::clamped(0.01),
            loss_in_bad: Probability::clamped(0.5),
        };
        let mut chain = PacketChain::new(model, Stream::derive(6, "chain"));
        let lost = (0..1_000_000).filter(|_| chain.loses()).count();
        assert!((lost as f64 / 1e6 - 0.1325).abs() < 0.002, "{lost}");
    }

    #[test]
    fn impossible_parameters_are_rejected() {
        let make = GilbertElliott::from_loss_rate_and_burst;
        assert_eq!(make(1.0, 4.0), None);
        assert_eq!(make(-0.1, 4.0), None);
        assert_eq!(make(0.1, 0.5), None);
        assert_eq!(make(0.1, f64::NAN), None);
        // 90 % loss in bursts of 2 would need good periods of 2/9 packets.
        assert_eq!(make(0.9, 2.0), None);
    }

    #[test]
    fn the_timed_chain_has_the_configured_state_durations() {
        // Good periods last 90 ms and bad periods 10 ms on average. A packet every 100 µs probes the state for 1000 s:
        // 10 % are lost.
        let model = GilbertElliottTimed {
            mean_good: Duration::from_millis(90),
            mean_bad: Duration::from_millis(10),
            loss_in_good: Probability::NEVER,
            loss_in_bad: Probability::ALWAYS,
        };
        let mut chain = TimeChain::new(model, Stream::derive(7, "chain"));
        let losses: Vec<bool> = (0..10_000_000_u64)
            .map(|n| chain.loses(Instant::ZERO + Duration::from_micros(100 * n)))
            .collect();
        let (rate, burst) = rate_and_burst(&losses);
        // With 10000 cycles, the standard error of the bad fraction is about 0.1 · √(2/10000) · 0.9 = 0.0013.
        assert!((rate - 0.1).abs() < 0.005, "{rate}");
        // A bad period that contains a probe contains 100 probes (10 ms) on average.
        assert!((burst - 100.0).abs() < 5.0, "{burst}");
    }
}
