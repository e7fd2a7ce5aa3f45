//! Methods 11 to 17: a window of one's choice, and slow start from there.
//!
//! M.-Y. Park et al., "A comparative study on responding methods for TCP's fast recovery in
//! wireless networks", Table 1, first part, and §4.1.
//!
//! ```text
//! ssthresh = 65535 bytes,  cwnd = one of seven (`window_choice`)
//! ```
//!
//! What the loss said of the path is forgotten: the window doubles per round trip until it has
//! passed the greatest that TCP could announce without scaling. In the paper all seven lose
//! against TCP's own response (§4.3). [`avoidance`](super::avoidance) has the same windows, and
//! goes on from them one segment per round trip.
//!
//! Reading: 65535 is meant as "the max value", but stays the number that it is (`ssthresh`); a
//! window chosen above it goes on in congestion avoidance.

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::window::Window;

use super::window_choice::{AVERAGE, BANDWIDTH, BUFFER, DELAY, GAIN, ROUNDS, WindowChoice};
use crate::catalog::spec::{Defaults, Entry, Kind, Needs, ParameterSpec, Parameters, Value};

const SSTHRESH: ParameterSpec = ParameterSpec {
    name: "ssthresh",
    doc: "the slow start threshold after the loss",
    source: "Park et al., Table 1",
    kind: Kind::Integer {
        min: 1,
        max: 1 << 30,
        unit: "bytes",
    },
    default: Defaults::same(Value::Integer(65_535)),
};

/// What the seven entries have in common.
const TEMPLATE: Entry<dyn Response> = Entry {
    name: "",
    file: file!(),
    summary: "",
    citation: "Park et al., A comparative study on responding methods, Table 1",
    parameters: &[SSTHRESH],
    needs: |_| Needs::NONE,
    conflicts: &[],
    build: |p, _| Box::new(SlowStart::new(WindowChoice::Tcp, p)),
};

/// Method 11: cwnd becomes one segment.
pub static METHOD_11: Entry<dyn Response> = Entry {
    name: "11",
    summary: "method 11: cwnd becomes one segment, and slow start begins",
    parameters: &[SSTHRESH],
    build: |p, c| Box::new(SlowStart::new(WindowChoice::one_segment(c), p)),
    ..TEMPLATE
};

/// Method 12: cwnd becomes what TCP would make of it.
pub static METHOD_12: Entry<dyn Response> = Entry {
    name: "12",
    summary: "method 12: cwnd becomes what TCP would make of it, and slow start begins",
    parameters: &[SSTHRESH],
    build: |p, _| Box::new(SlowStart::new(WindowChoice::Tcp, p)),
    ..TEMPLATE
};

/// Method 13: cwnd stays as it was.
pub static METHOD_13: Entry<dyn Response> = Entry {
    name: "13",
    summary: "method 13: cwnd stays as it was, and slow start begins",
    parameters: &[SSTHRESH],
    build: |p, _| Box::new(SlowStart::new(WindowChoice::Previous, p)),
    ..TEMPLATE
};

/// Method 14: cwnd becomes its average so far.
pub static METHOD_14: Entry<dyn Response> = Entry {
    name: "14",
    summary: "method 14: cwnd becomes its average so far, and slow start begins",
    parameters: &[AVERAGE, GAIN, SSTHRESH],
    build: |p, _| Box::new(SlowStart::new(WindowChoice::average(p), p)),
    ..TEMPLATE
};

/// Method 15: cwnd becomes its maximum so far.
pub static METHOD_15: Entry<dyn Response> = Entry {
    name: "15",
    summary: "method 15: cwnd becomes its maximum so far, and slow start begins",
    parameters: &[SSTHRESH],
    build: |p, _| Box::new(SlowStart::new(WindowChoice::Maximum(0.0), p)),
    ..TEMPLATE
};

/// Method 16: cwnd becomes the sender's buffer.
pub static METHOD_16: Entry<dyn Response> = Entry {
    name: "16",
    summary: "method 16: cwnd becomes the sender's buffer, and slow start begins",
    parameters: &[BUFFER, SSTHRESH],
    build: |p, c| Box::new(SlowStart::new(WindowChoice::buffer(p, c), p)),
    ..TEMPLATE
};

/// Method 17: cwnd becomes the bandwidth-delay product.
pub static METHOD_17: Entry<dyn Response> = Entry {
    name: "17",
    summary: "method 17: cwnd becomes the bandwidth-delay product, and slow start begins",
    parameters: &[BANDWIDTH, ROUNDS, DELAY, SSTHRESH],
    build: |p, c| Box::new(SlowStart::new(WindowChoice::bandwidth_delay(p, c), p)),
    ..TEMPLATE
};

/// The response.
#[derive(Clone, Debug)]
struct SlowStart {
    choice: WindowChoice,
    /// In bytes.
    ssthresh: f64,
}

impl SlowStart {
    fn new(choice: WindowChoice, parameters: &Parameters) -> Self {
        Self {
            choice,
            ssthresh: parameters.integer(SSTHRESH.name) as f64,
        }
    }
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
}
