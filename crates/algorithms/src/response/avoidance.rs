//! Methods 21 to 27: a chosen window, followed by congestion avoidance.
//!
//! M.-Y. Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless networks", Table
//! 1, second part, and §4.1.
//!
//! ```text
//! cwnd = one of seven (`window_choice`),  ssthresh = cwnd
//! ```
//!
//! The window then grows by one segment per round trip, even if it is small. Method 21, one segment, is the paper's
//! best method as losses become frequent, and does the least harm if the loss was congestion (§4.3).
//! [`slow_start`](super::slow_start) has the same windows and doubles from them; method 23 differs from
//! [`previous`](super::previous) in that it leaves slow start.
//!
//! The paper does not say what the sender transmits after the response. Fast recovery, with a window of one segment,
//! leaves a second loss of the flight to the timer. With Reno's `after_wireless=go-back-n` the sender continues from
//! SND.UNA.
//!
//! Table 1 leaves the cells of `ssthresh` blank in this part. Reading: §4.1 says that method 21 sets both variables to
//! one segment, and that methods 21 to 27 enter congestion avoidance, so all seven set both to the same value
//! (`ssthresh = cwnd`). A blank cell can also mean that the method does not change `ssthresh`: then it is the value
//! that TCP's own response has just set (`tcp`), or the value before the loss (`before`). Below either value, the
//! window grows in slow start.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::window::Window;

use super::window_choice::{
    AsBefore, AsTcp, AverageSoFar, BandwidthDelayProduct, GreatestSoFar, Method, OneSegment,
    SendersBuffer, WindowChoice,
};
use crate::catalog::{Choice, Entry, Parameters};

/// Meaning of the blank cells of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Threshold {
    /// the chosen window, so congestion avoidance begins at once
    Cwnd,
    /// the threshold after TCP's own response
    Tcp,
    /// the threshold before the loss
    Before,
}

/// Parameters of a method: those of its window choice, and one that all methods have.
#[derive(Clone, Copy, Debug, Parameters)]
struct AvoidanceParameters<M: Method> {
    #[embed]
    method: M,
    /// slow start threshold after the loss
    #[parameter(
        source = "Park et al., Table 1 leaves it blank; §4.1 says for method 21: as cwnd",
        default = Threshold::Cwnd,
    )]
    ssthresh: Threshold,
}

fn method<M: Method>(name: &'static str, summary: &'static str) -> Entry<dyn Response> {
    Entry::response(name, file!())
        .summary(summary)
        .citation("Park et al., A comparative study on responding methods, Table 1")
        .build(|parameters: &AvoidanceParameters<M>, context| {
            Box::new(Avoidance {
                choice: parameters.method.choice(context),
                threshold: parameters.ssthresh,
            })
        })
}

/// Method 21: sets cwnd to one segment.
#[must_use]
pub fn method_21() -> Entry<dyn Response> {
    method::<OneSegment>(
        "21",
        "method 21: cwnd becomes one segment, and congestion avoidance begins",
    )
}

/// Method 22: sets cwnd to the window after TCP's response.
#[must_use]
pub fn method_22() -> Entry<dyn Response> {
    method::<AsTcp>(
        "22",
        "method 22: cwnd becomes what TCP would make of it, and congestion avoidance begins",
    )
}

/// Method 23: leaves cwnd unchanged.
#[must_use]
pub fn method_23() -> Entry<dyn Response> {
    method::<AsBefore>(
        "23",
        "method 23: cwnd stays as it was, and congestion avoidance begins",
    )
}

/// Method 24: sets cwnd to its average so far.
#[must_use]
pub fn method_24() -> Entry<dyn Response> {
    method::<AverageSoFar>(
        "24",
        "method 24: cwnd becomes its average so far, and congestion avoidance begins",
    )
}

/// Method 25: sets cwnd to its maximum so far.
#[must_use]
pub fn method_25() -> Entry<dyn Response> {
    method::<GreatestSoFar>(
        "25",
        "method 25: cwnd becomes its maximum so far, and congestion avoidance begins",
    )
}

/// Method 26: sets cwnd to the sender's buffer.
#[must_use]
pub fn method_26() -> Entry<dyn Response> {
    method::<SendersBuffer>(
        "26",
        "method 26: cwnd becomes the sender's buffer, and congestion avoidance begins",
    )
}

/// Method 27: sets cwnd to the bandwidth-delay product.
#[must_use]
pub fn method_27() -> Entry<dyn Response> {
    method::<BandwidthDelayProduct>(
        "27",
        "method 27: cwnd becomes the bandwidth-delay product, and congestion avoidance begins",
    )
}

/// Response of methods 21 to 27.
#[derive(Clone, Debug)]
struct Avoidance {
    choice: WindowChoice,
    threshold: Threshold,
}

impl Response for Avoidance {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.choice.on_ack(ack, view);
    }

    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window {
        let cwnd = self.choice.cwnd(loss, congestion);
        let ssthresh = match self.threshold {
            Threshold::Cwnd => cwnd,
            Threshold::Tcp => congestion.ssthresh,
            Threshold::Before => loss.window.ssthresh,
        };
        Window { cwnd, ssthresh }
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.choice.resize(from, to);
    }
}
