//! Methods 11 to 17: a chosen window, followed by slow start.
//!
//! M.-Y. Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless networks", Table
//! 1, first part, and §4.1.
//!
//! ```text
//! ssthresh = 65535 bytes,  cwnd = one of seven (`window_choice`)
//! ```
//!
//! The response ignores the information about the path that the loss contains: the window doubles per round trip until
//! it exceeds the maximum window that TCP can announce without scaling. In the paper, all seven methods are worse than
//! TCP's own response (§4.3). [`avoidance`](super::avoidance) has the same windows, and grows from them by one segment
//! per round trip.
//!
//! Reading: 65535 is meant as "the max value", but is used as this number (`ssthresh`); a chosen window above it grows
//! in congestion avoidance.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::window::Window;

use super::window_choice::{
    AsBefore, AsTcp, AverageSoFar, BandwidthDelayProduct, GreatestSoFar, Method, OneSegment,
    SendersBuffer, WindowChoice,
};
use crate::catalog::{Entry, Parameters};

/// Parameters of a method: those of its window choice, and one that all methods have.
#[derive(Clone, Copy, Debug, Parameters)]
struct SlowStartParameters<M: Method> {
    #[embed]
    method: M,
    /// slow start threshold after the loss
    #[parameter(
        source = "Park et al., Table 1",
        range = 1..=1 << 30,
        unit = "bytes",
        default = 65_535,
    )]
    ssthresh: u64,
}

fn method<M: Method>(name: &'static str, summary: &'static str) -> Entry<dyn Response> {
    Entry::response(name, file!())
        .summary(summary)
        .citation("Park et al., A comparative study on responding methods, Table 1")
        .build(|parameters: &SlowStartParameters<M>, context| {
            Box::new(SlowStart {
                choice: parameters.method.choice(context),
                ssthresh: parameters.ssthresh as f64,
            })
        })
}

/// Method 11: sets cwnd to one segment.
#[must_use]
pub fn method_11() -> Entry<dyn Response> {
    method::<OneSegment>(
        "11",
        "method 11: cwnd becomes one segment, and slow start begins",
    )
}

/// Method 12: sets cwnd to the window after TCP's response.
#[must_use]
pub fn method_12() -> Entry<dyn Response> {
    method::<AsTcp>(
        "12",
        "method 12: cwnd becomes what TCP would make of it, and slow start begins",
    )
}

/// Method 13: leaves cwnd unchanged.
#[must_use]
pub fn method_13() -> Entry<dyn Response> {
    method::<AsBefore>(
        "13",
        "method 13: cwnd stays as it was, and slow start begins",
    )
}

/// Method 14: sets cwnd to its average so far.
#[must_use]
pub fn method_14() -> Entry<dyn Response> {
    method::<AverageSoFar>(
        "14",
        "method 14: cwnd becomes its average so far, and slow start begins",
    )
}

/// Method 15: sets cwnd to its maximum so far.
#[must_use]
pub fn method_15() -> Entry<dyn Response> {
    method::<GreatestSoFar>(
        "15",
        "method 15: cwnd becomes its maximum so far, and slow start begins",
    )
}

/// Method 16: sets cwnd to the sender's buffer.
#[must_use]
pub fn method_16() -> Entry<dyn Response> {
    method::<SendersBuffer>(
        "16",
        "method 16: cwnd becomes the sender's buffer, and slow start begins",
    )
}

/// Method 17: sets cwnd to the bandwidth-delay product.
#[must_use]
pub fn method_17() -> Entry<dyn Response> {
    method::<BandwidthDelayProduct>(
        "17",
        "method 17: cwnd becomes the bandwidth-delay product, and slow start begins",
    )
}

/// Response of methods 11 to 17.
#[derive(Clone, Debug)]
struct SlowStart {
    choice: WindowChoice,
    /// Threshold in bytes.
    ssthresh: f64,
}

impl Response for SlowStart {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.choice.on_ack(ack, view);
    }

    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window {
        Window {
            cwnd: self.choice.cwnd(loss, congestion),
            ssthresh: self.ssthresh,
        }
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.choice.resize(from, to);
    }
}
