//! Fixed window: no congestion control.
//!
//! LE §3.3.2 fixes `cwnd` at 32 packets to exclude congestion control from the comparison: the remaining differences
//! are those of the recoveries. In §5.2.1, a fixed window of 10 gives the upper line of the figure.
//!
//! ```text
//! cwnd = ssthresh = window, always
//! ```
//!
//! Reading: in §3.3 this control never changes its window, and the cost of a timeout in §3.3.2 is that nothing is sent
//! while the sender waits for the timer. A timeout therefore leaves the window unchanged, too (`timeout = keep`). With
//! `timeout = restart`, the window falls to one segment and slow start raises it again, which is the cost of a timeout
//! for every other control.
//!
//! A limit set by a recovery (NewReno's full ACK, Tahoe's restart) is undone on the same ACK. The connection opens with
//! the fixed window, regardless of the initial window, and an idle period leaves the window unchanged.

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::window::Window;

use crate::catalog::{Choice, Context, Entry, Parameters};

/// Effect of a timeout on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum AtTimeout {
    /// none
    Keep,
    /// one segment; slow start raises the window again
    Restart,
}

/// Parameters of the fixed window.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct FixedParameters {
    /// congestion window
    #[parameter(
        basic,
        source = "LE §3.3.2 (32), §5.2.1 (10)",
        range = 1..=1_000_000,
        unit = "segments",
        default = 32,
    )]
    window: u64,
    /// effect of a timeout on the window
    #[parameter(source = "LE §3.3.2, as we read it", default = AtTimeout::Keep)]
    timeout: AtTimeout,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("fixed", file!())
        .summary("a window that never changes, to compare the recoveries alone")
        .citation("LE §3.3.2")
        .build(|parameters, context| Box::new(Fixed::new(parameters, context)))
}

/// State after a timeout: `Returning` while the window grows again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Steady,
    Returning,
}

/// Congestion control with a fixed window.
#[derive(Clone, Debug)]
pub struct Fixed {
    smss: f64,
    /// Window in bytes.
    window: f64,
    at_timeout: AtTimeout,
    phase: Phase,
}

impl Fixed {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &FixedParameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        Self {
            smss,
            window: parameters.window as f64 * smss,
            at_timeout: parameters.timeout,
            phase: Phase::Steady,
        }
    }

    fn with(&self, cwnd: f64) -> Window {
        Window {
            cwnd,
            ssthresh: self.window,
        }
    }
}

impl CongestionControl for Fixed {
    fn opening(&self, _configured: Window) -> Window {
        self.with(self.window)
    }

    fn on_ack(&mut self, _ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        if self.phase == Phase::Returning {
            let cwnd = view.window.cwnd + f64::from(credit.acks) * self.smss;
            if cwnd < self.window {
                return self.with(cwnd);
            }
            self.phase = Phase::Steady;
        }
        self.with(self.window)
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        match self.phase {
            Phase::Steady => self.with(self.window),
            Phase::Returning => self.with(loss.window.cwnd),
        }
    }

    fn on_loss(&mut self, _loss: &LossFacts, _cause: LossCause, _chosen: Window) {}

    fn on_timeout(&mut self, _loss: &LossFacts) -> Window {
        match self.at_timeout {
            AtTimeout::Keep => self.with(self.window),
            AtTimeout::Restart => {
                self.phase = Phase::Returning;
                self.with(self.smss)
            }
        }
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.smss = f64::from(to);
        self.window *= f64::from(to) / f64::from(from);
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::sender::IdleRule;

    use super::*;
    use crate::catalog::{Dialect, Value};
    use crate::congestion::bench::Bench;
    use crate::recovery::sack;
    use crate::testing::{Setup, ack};

    #[test]
    fn it_is_fixed() {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 10.0, f64::INFINITY);
        b.ack(0);
        assert_eq!(b.cwnd(), 32.0);
        b.ack(3);
        b.loss(0, 32);
        assert_eq!((b.cwnd(), b.ssthresh()), (32.0, 32.0));
        b.timeout(0, 32);
        assert_eq!(b.cwnd(), 32.0);
        b.window.cwnd = 1000.0;
        b.ack_with(1, Credit::default());
        assert_eq!(b.cwnd(), 32.0);
    }

    #[test]
    fn it_returns_by_slow_start_if_asked_to() {
        let changes = [
            ("window", Value::Integer(4)),
            ("timeout", Value::word("restart")),
        ];
        let mut b = Bench::new(entry(), Dialect::Rfc, &changes, 4.0, 4.0);
        b.timeout(0, 4);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 4.0));
        b.ack(1);
        b.ack(0);
        b.loss(2, 2);
        assert_eq!(b.cwnd(), 2.0);
        b.ack(1);
        b.ack(1);
        b.ack(1);
        assert_eq!(b.cwnd(), 4.0);
    }

    #[test]
    fn the_first_flight_is_the_whole_window() {
        let setup = || Setup::new(sack::entry()).window(2.0).controlled_by(entry());
        assert_eq!(
            (setup().start(40).cwnd(), setup().start(40).in_flight()),
            (32.0, 32.0)
        );
        let limited = setup().configure(|config| config.max_window = 5.0 * f64::from(config.smss));
        assert_eq!(limited.start(40).sent(), "new:0 new:1 new:2 new:3 new:4");
    }

    #[test]
    fn an_idle_period_does_not_shrink_it() {
        let setup = Setup::new(sack::entry()).window(2.0).controlled_by(entry());
        let mut t = setup
            .configure(|config| config.idle = IdleRule::Restart)
            .start(1);
        t.receive(100, ack(1));
        t.wait(60_000);
        t.write(40);
        assert_eq!((t.cwnd(), t.in_flight()), (32.0, 32.0));
    }
}
