//! What may end slow start before a loss does: nothing, HyStart, or HyStart++.
//!
//! Slow start doubles the window until something is lost, and then up to half a window is lost at
//! once. Both algorithms look for an earlier end: round-trip times that rise say that a queue has
//! begun to build.
//!
//! | | looks at | on a sign | used |
//! | --- | --- | --- | --- |
//! | [`Hystart`] | round-trip times, ACKs in a train | ends slow start | by Linux's CUBIC, in every slow start |
//! | [`HystartPlusPlus`] | round-trip times | grows slower for some rounds, and takes it back if it was a false alarm | RFC 9406, in the first slow start |
//!
//! A control that offers the choice embeds [`SlowStartParameters`] and asks [`EarlyExit`] on each
//! ACK, before the window grows.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use super::aimd::Increase;
use super::hystart::Hystart;
use super::hystart_plus_plus::HystartPlusPlus;
use crate::catalog::{Choice, Context, Parameters, Switch};

/// What may end slow start before a loss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum SlowStartRule {
    /// nothing (RFC 5681)
    Standard,
    /// HyStart: a rise of the round-trip time, or ACKs in a train as long as half of it
    Hystart,
    /// HyStart++: slower growth when the round-trip time rises, then the end (RFC 9406)
    #[choice("hystart++")]
    HystartPlusPlus,
}

/// By what HyStart ends slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Detect {
    /// by a train of ACKs, and by the delay
    Both,
    /// by a train of ACKs alone
    AckTrain,
    /// by the delay alone
    Delay,
}

/// Parameters of what may end slow start early.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct SlowStartParameters {
    /// what may end slow start before a loss does
    #[parameter(
        source = "RFC 5681 §3.1 has nothing of the kind",
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
    /// between the two, the rise that is a sign is the round-trip time over this (MIN_RTT_DIVISOR)
    #[parameter(
        source = "RFC 9406 §4.3; linux: hystart_update, delay_min >> 3",
        range = 1..=1000,
        default = 8,
    )]
    pub min_rtt_divisor: u64,
    /// round-trip samples of a round before it is judged (N_RTT_SAMPLE)
    #[parameter(
        source = "RFC 9406 §4.3; linux: HYSTART_MIN_SAMPLES",
        range = 1..=1000,
        unit = "samples",
        default = 8,
    )]
    pub rtt_samples: u64,
    /// HyStart: by what it ends slow start
    #[parameter(source = "linux: hystart_detect = 3", default = Detect::Both)]
    pub hystart_detect: Detect,
    /// HyStart: the window from which on it looks for signs
    #[parameter(
        source = "linux: hystart_low_window",
        range = 1..=65_535,
        unit = "segments",
        default = 16,
    )]
    pub hystart_low_window: u64,
    /// HyStart: ACKs no further apart than this are one train
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
    /// HyStart++: how many times slower conservative slow start grows (CSS_GROWTH_DIVISOR)
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
    /// The rise above `rtt` that is a sign of a queue:
    /// `max(MIN_RTT_THRESH, min(rtt / MIN_RTT_DIVISOR, MAX_RTT_THRESH))` (RFC 9406 §4.2).
    #[must_use]
    pub fn rtt_thresh(&self, rtt: Duration) -> Duration {
        (rtt / self.min_rtt_divisor)
            .min(self.max_rtt_thresh)
            .max(self.min_rtt_thresh)
    }
}

/// Looks for an early end of slow start.
#[derive(Clone, Debug)]
pub enum EarlyExit {
    /// HyStart.
    Hystart(Hystart),
    /// HyStart++.
    HystartPlusPlus(HystartPlusPlus),
}

impl EarlyExit {
    /// With these parameters; `None` if nothing but a loss is to end slow start. Both algorithms
    /// have to know whether the window is paced.
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

    /// A full segment has `to` bytes from now on.
    pub fn resize(&mut self, to: u32) {
        match self {
            Self::Hystart(hystart) => hystart.resize(to),
            Self::HystartPlusPlus(hystart) => hystart.resize(to),
        }
    }

    /// An ACK came in, and the window has not grown on it yet. Answers with the window in force:
    /// `ssthresh` is `cwnd` if slow start is to end now. How fast slow start is to go on is said
    /// to `increase`.
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

    /// A timeout was answered.
    pub fn after_timeout(&mut self) {
        if let Self::Hystart(hystart) = self {
            hystart.after_timeout();
        }
    }
}
