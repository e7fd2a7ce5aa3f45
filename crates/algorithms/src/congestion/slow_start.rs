//! Early end of slow start: none, HyStart, or HyStart++.
//!
//! Slow start doubles the window until a loss, and then up to half a window is lost at once. Both algorithms try to
//! find an earlier end: rising round-trip times show that a queue builds up.
//!
//! | | examines | if it finds a queue | used |
//! | --- | --- | --- | --- |
//! | [`Hystart`] | round-trip times, ACKs in a train | ends slow start | by Linux's CUBIC, in every slow start |
//! | [`HystartPlusPlus`] | round-trip times | grows more slowly for some rounds, and returns to slow start after a false alarm | RFC 9406, in the first slow start |
//!
//! A control that offers this choice embeds [`SlowStartParameters`] and calls [`EarlyExit`] on each ACK, before the
//! window grows.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use super::aimd::Increase;
use super::hystart::Hystart;
use super::hystart_plus_plus::HystartPlusPlus;
use crate::catalog::{Choice, Context, Parameters, Switch};

/// Rule for an early end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum SlowStartRule {
    /// none (RFC 5681)
    Standard,
    /// HyStart: the round-trip time rises, or a train of ACKs is as long as half of it
    Hystart,
    /// HyStart++: slow start grows more slowly when the round-trip time rises, and then ends (RFC 9406)
    #[choice("hystart++")]
    HystartPlusPlus,
}

/// Signs by which HyStart ends slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Detect {
    /// a train of ACKs, and the delay
    Both,
    /// a train of ACKs only
    AckTrain,
    /// the delay only
    Delay,
}

/// Parameters of the early end of slow start.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct SlowStartParameters {
    /// rule for an early end of slow start
    #[parameter(
        basic,
        source = "RFC 5681 §3.1 has no such rule",
        default = SlowStartRule::Standard,
    )]
    pub slow_start: SlowStartRule,
    /// minimum rise of the round-trip time that counts as a sign of a queue (MIN_RTT_THRESH)
    #[parameter(
        source = "RFC 9406 §4.3; linux: HYSTART_DELAY_MIN",
        default = Duration::from_millis(4),
    )]
    pub min_rtt_thresh: Duration,
    /// rise of the round-trip time that always counts as a sign of a queue (MAX_RTT_THRESH)
    #[parameter(
        source = "RFC 9406 §4.3; linux: HYSTART_DELAY_MAX",
        default = Duration::from_millis(16),
    )]
    pub max_rtt_thresh: Duration,
    /// divisor of the round-trip time for the threshold between these two (MIN_RTT_DIVISOR)
    #[parameter(
        source = "RFC 9406 §4.3; linux: hystart_update, delay_min >> 3",
        range = 1..=1000,
        default = 8,
    )]
    pub min_rtt_divisor: u64,
    /// number of round-trip time samples that are needed to judge a round (N_RTT_SAMPLE)
    #[parameter(
        source = "RFC 9406 §4.3; linux: HYSTART_MIN_SAMPLES",
        range = 1..=1000,
        unit = "samples",
        default = 8,
    )]
    pub rtt_samples: u64,
    /// HyStart: signs by which it ends slow start
    #[parameter(source = "linux: hystart_detect = 3", default = Detect::Both)]
    pub hystart_detect: Detect,
    /// HyStart: minimum window at which it looks for signs
    #[parameter(
        source = "linux: hystart_low_window",
        range = 1..=65_535,
        unit = "segments",
        default = 16,
    )]
    pub hystart_low_window: u64,
    /// HyStart: maximum interval between two ACKs of a train
    #[parameter(
        source = "linux: hystart_ack_delta_us",
        default = Duration::from_millis(2),
    )]
    pub hystart_ack_delta: Duration,
    /// HyStart++: maximum number of segments that one ACK may add (L), unless the window is paced
    #[parameter(
        source = "RFC 9406 §4.3: 8 without pacing, no limit with it",
        range = 1..=65_535,
        unit = "segments",
        default = 8,
    )]
    pub css_limit: u64,
    /// HyStart++: divisor of the growth in conservative slow start (CSS_GROWTH_DIVISOR)
    #[parameter(source = "RFC 9406 §4.3", range = 1..=1000, default = 4)]
    pub css_growth_divisor: u64,
    /// HyStart++: rounds of conservative slow start before it ends (CSS_ROUNDS)
    #[parameter(
        source = "RFC 9406 §4.3",
        range = 1..=1000,
        unit = "round trips",
        default = 5,
    )]
    pub css_rounds: u64,
}

impl SlowStartParameters {
    /// Returns the rise above `rtt` that counts as a sign of a queue: `max(MIN_RTT_THRESH, min(rtt / MIN_RTT_DIVISOR,
    /// MAX_RTT_THRESH))` (RFC 9406 §4.2).
    #[must_use]
    pub fn rtt_thresh(&self, rtt: Duration) -> Duration {
        (rtt / self.min_rtt_divisor)
            .min(self.max_rtt_thresh)
            .max(self.min_rtt_thresh)
    }
}

/// Search for an early end of slow start.
#[derive(Clone, Debug)]
pub enum EarlyExit {
    /// HyStart.
    Hystart(Hystart),
    /// HyStart++.
    HystartPlusPlus(HystartPlusPlus),
}

impl EarlyExit {
    /// Creates the search with these parameters; `None` if only a loss ends slow start. Both algorithms need to know
    /// whether the window is paced.
    #[must_use]
    pub fn new(parameters: &SlowStartParameters, paced: Switch, context: &Context) -> Option<Self> {
        match parameters.slow_start {
            SlowStartRule::Standard => None,
            SlowStartRule::Hystart => Some(Self::Hystart(Hystart::new(parameters, paced, context))),
            SlowStartRule::HystartPlusPlus => Some(Self::HystartPlusPlus(HystartPlusPlus::new(
                parameters, paced, context,
            ))),
        }
    }

    /// Changes the size of a full segment to `to` bytes.
    pub fn resize(&mut self, to: u32) {
        match self {
            Self::Hystart(hystart) => hystart.resize(to),
            Self::HystartPlusPlus(hystart) => hystart.resize(to),
        }
    }

    /// Examines an ACK, before the window grows on it. Returns the current window; its `ssthresh` is `cwnd` if slow
    /// start ends now. Sets the speed of slow start in `increase`.
    #[inline(never)]
    pub fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        view: &View<'_>,
        increase: &mut Increase,
    ) -> Window {
        let window = view.window;
        let found = match self {
            Self::Hystart(hystart) => hystart.finds_exit(ack, view),
            Self::HystartPlusPlus(hystart) => hystart.finds_exit(ack, view, increase),
        };
        Window {
            ssthresh: if found { window.cwnd } else { window.ssthresh },
            ..window
        }
    }

    /// Restarts the search after a timeout.
    pub fn after_timeout(&mut self) {
        if let Self::Hystart(hystart) = self {
            hystart.after_timeout();
        }
    }
}
