//! Early end of slow start: none, HyStart, or HyStart++.
//!
//! Slow start doubles the window until a loss, and then up to half a window is lost at once. Both algorithms look for
//! an earlier end: rising round-trip times show that a queue builds up.
//!
//! | | examines | on a sign | used |
//! | --- | --- | --- | --- |
//! | [`Hystart`] | round-trip times, ACKs in a train | ends slow start | by Linux's CUBIC, in every slow start |
//! | [`HystartPlusPlus`] | round-trip times | grows more slowly for some rounds, and returns to slow start after a false alarm | RFC 9406, in the first slow start |
//!
//! A control that offers the choice embeds [`SlowStartParameters`] and calls [`EarlyExit`] on each ACK, before the
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
    /// HyStart: a rise of the round-trip time, or ACKs in a train as long as half of it
    Hystart,
    /// HyStart++: slower growth when the round-trip time rises, then the end (RFC 9406)
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
    /// least rise of the round-trip time that is a sign (MIN_RTT_THRESH)
    #[parameter(
        source = "RFC 9406 §4.3; linux: HYSTART_DELAY_MIN",
        default = Duration::from_millis(4),
    )]
    pub min_rtt_thresh: Duration,
    /// rise of the round-trip time that is a sign in any case (MAX_RTT_THRESH)
    #[parameter(
        source = "RFC 9406 §4.3; linux: HYSTART_DELAY_MAX",
        default = Duration::from_millis(16),
    )]
    pub max_rtt_thresh: Duration,
    /// divisor of the round-trip time for the rise in between that is a sign (MIN_RTT_DIVISOR)
    #[parameter(
        source = "RFC 9406 §4.3; linux: hystart_update, delay_min >> 3",
        range = 1..=1000,
        default = 8,
    )]
    pub min_rtt_divisor: u64,
    /// round-trip samples of a round that are needed to judge it (N_RTT_SAMPLE)
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
    /// HyStart: window above which it looks for signs
    #[parameter(
        source = "linux: hystart_low_window",
        range = 1..=65_535,
        unit = "segments",
        default = 16,
    )]
    pub hystart_low_window: u64,
    /// HyStart: greatest distance of the ACKs of one train
    #[parameter(
        source = "linux: hystart_ack_delta_us",
        default = Duration::from_millis(2),
    )]
    pub hystart_ack_delta: Duration,
    /// HyStart++: segments that one ACK may add (L), unless the window is paced
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
    /// Returns the rise above `rtt` that is a sign of a queue: `max(MIN_RTT_THRESH, min(rtt / MIN_RTT_DIVISOR,
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
    /// Returns the search with these parameters; `None` if only a loss ends slow start. Both algorithms need to know
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

    /// Takes an ACK, on which the window has not grown yet. Returns the window in force: `ssthresh` is `cwnd` if slow
    /// start is to end now. The speed of slow start is set in `increase`.
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

    /// Restarts after a timeout.
    pub fn after_timeout(&mut self) {
        if let Self::Hystart(hystart) = self {
            hystart.after_timeout();
        }
    }
}
