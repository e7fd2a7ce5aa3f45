//! Methods 21 to 27: a window of one's choice, and congestion avoidance from there.
//!
//! M.-Y. Park et al., "A comparative study on responding methods for TCP's fast recovery in
//! wireless networks", Table 1, second part, and §4.1.
//!
//! ```text
//! ssthresh = cwnd = one of seven (`window_choice`)
//! ```
//!
//! From there on the window grows by one segment per round trip, however small it is: method 21,
//! one segment, is the paper's best as losses become frequent, and does the least harm where the
//! loss was congestion after all (§4.3). [`slow_start`](super::slow_start) has the same windows
//! and doubles from them; method 23 differs from [`previous`](super::previous) in that it leaves
//! slow start.

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::window::Window;

use super::window_choice::{AVERAGE, BANDWIDTH, BUFFER, DELAY, GAIN, ROUNDS, WindowChoice};
use crate::catalog::spec::{Entry, Needs};

/// What the seven entries have in common.
const TEMPLATE: Entry<dyn Response> = Entry {
    name: "",
    file: file!(),
    summary: "",
    citation: "Park et al., A comparative study on responding methods, Table 1",
    parameters: &[],
    needs: |_| Needs::NONE,
    conflicts: &[],
    build: |_, _| Box::new(Avoidance::new(WindowChoice::Tcp)),
};

/// Method 21: cwnd becomes one segment.
pub static METHOD_21: Entry<dyn Response> = Entry {
    name: "21",
    summary: "method 21: cwnd becomes one segment, and congestion avoidance begins",
    parameters: &[],
    build: |_, c| Box::new(Avoidance::new(WindowChoice::one_segment(c))),
    ..TEMPLATE
};

/// Method 22: cwnd becomes what TCP would make of it.
pub static METHOD_22: Entry<dyn Response> = Entry {
    name: "22",
    summary: "method 22: cwnd becomes what TCP would make of it, and congestion avoidance begins",
    parameters: &[],
    build: |_, _| Box::new(Avoidance::new(WindowChoice::Tcp)),
    ..TEMPLATE
};

/// Method 23: cwnd stays as it was.
pub static METHOD_23: Entry<dyn Response> = Entry {
    name: "23",
    summary: "method 23: cwnd stays as it was, and congestion avoidance begins",
    parameters: &[],
    build: |_, _| Box::new(Avoidance::new(WindowChoice::Previous)),
    ..TEMPLATE
};

/// Method 24: cwnd becomes its average so far.
pub static METHOD_24: Entry<dyn Response> = Entry {
    name: "24",
    summary: "method 24: cwnd becomes its average so far, and congestion avoidance begins",
    parameters: &[AVERAGE, GAIN],
    build: |p, _| Box::new(Avoidance::new(WindowChoice::average(p))),
    ..TEMPLATE
};

/// Method 25: cwnd becomes its maximum so far.
pub static METHOD_25: Entry<dyn Response> = Entry {
    name: "25",
    summary: "method 25: cwnd becomes its maximum so far, and congestion avoidance begins",
    parameters: &[],
    build: |_, _| Box::new(Avoidance::new(WindowChoice::Maximum(0.0))),
    ..TEMPLATE
};

/// Method 26: cwnd becomes the sender's buffer.
pub static METHOD_26: Entry<dyn Response> = Entry {
    name: "26",
    summary: "method 26: cwnd becomes the sender's buffer, and congestion avoidance begins",
    parameters: &[BUFFER],
    build: |p, c| Box::new(Avoidance::new(WindowChoice::buffer(p, c))),
    ..TEMPLATE
};

/// Method 27: cwnd becomes the bandwidth-delay product.
pub static METHOD_27: Entry<dyn Response> = Entry {
    name: "27",
    summary: "method 27: cwnd becomes the bandwidth-delay product, and congestion avoidance begins",
    parameters: &[BANDWIDTH, ROUNDS, DELAY],
    build: |p, c| Box::new(Avoidance::new(WindowChoice::bandwidth_delay(p, c))),
    ..TEMPLATE
};

/// The response.
#[derive(Clone, Debug)]
struct Avoidance {
    choice: WindowChoice,
}

impl Avoidance {
    fn new(choice: WindowChoice) -> Self {
        Self { choice }
    }
}

impl Response for Avoidance {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.choice.on_ack(ack, view);
    }

    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window {
        let cwnd = self.choice.cwnd(loss, congestion);
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }
}
