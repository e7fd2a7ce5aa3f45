//! Senders that are broken on purpose, each in one way, and the criteria that each sender must fail.
//!
//! A criterion of the report card is useful if there is a sender that fails only this criterion. The tests of this
//! crate check that the senders fail the intended criteria. `examples/cards.rs` makes their cards for `cargo measure
//! evaluation`.

mod expected;
mod subtle;

pub use expected::{Sender, senders};

use dupack_algorithms::catalog::{Catalog, Context, Dialect, Entry, Parameters};
use dupack_algorithms::{congestion, recovery};
use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, LossRule, Sent, View};
use dupack_tcp::recovery::{Expiry, Next, Outcome, Recovery, RtoTimer, TimeoutRule};
use dupack_tcp::response::Response;
use dupack_tcp::time::Instant;
use dupack_tcp::window::Window;

/// Returns the built-in catalog with the broken senders.
///
/// # Panics
/// If a name is taken.
#[must_use]
pub fn catalog() -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.register(stubborn()).expect("its name is free");
    catalog
        .register(timeouts_are_noise())
        .expect("its name is free");
    catalog.register(as_reno()).expect("its name is free");
    let ways = [
        (
            "no_reduction",
            "the window stays the same at a loss",
            Way::NoReduction,
        ),
        (
            "ignores_marks",
            "the window stays the same at a mark",
            Way::IgnoresMarks,
        ),
        (
            "only_slow_start",
            "the window doubles in every round trip",
            Way::OnlySlowStart,
        ),
    ];
    for (name, summary, way) in ways {
        catalog
            .register(reno_but(name, summary, way))
            .expect("its name is free");
    }
    for entry in subtle::entries() {
        catalog.register(entry).expect("its name is free");
    }
    catalog
}

/// No parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct Nothing {}

/// Difference between a broken control and Reno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    NoReduction,
    IgnoresMarks,
    OnlySlowStart,
}

/// Reno with one difference.
#[derive(Debug)]
struct RenoBut {
    reno: Box<dyn CongestionControl>,
    way: Way,
}

fn reno_but(name: &'static str, summary: &'static str, way: Way) -> Entry<dyn CongestionControl> {
    Entry::control(name, file!())
        .summary(summary)
        .citation("none: it is broken on purpose")
        .build(move |_: &Nothing, context: &Context| {
            let reno = congestion::reno::entry();
            let reno = reno.build(&reno.defaults(Dialect::default()), context);
            Box::new(RenoBut { reno, way })
        })
}

impl RenoBut {
    /// Returns `true` if the control does not respond to `loss`.
    fn is_ignored(&self, loss: &LossFacts) -> bool {
        match self.way {
            Way::NoReduction => loss.rule != LossRule::TIMEOUT,
            Way::IgnoresMarks => loss.rule == LossRule::MARK,
            Way::OnlySlowStart => false,
        }
    }
}

impl CongestionControl for RenoBut {
    fn opening(&self, configured: Window) -> Window {
        self.reno.opening(configured)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        let mut window = self.reno.on_ack(ack, credit, view);
        if self.way == Way::OnlySlowStart {
            window = view.window;
            window.cwnd += credit.bytes as f64;
        }
        window
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        match self.is_ignored(loss) {
            true => loss.window,
            false => self.reno.reduction(loss),
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        if !self.is_ignored(loss) {
            self.reno.on_loss(loss, cause, chosen);
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.reno.on_timeout(loss)
    }
}

/// SACK recovery in which the loss differentiation also determines the cause of timeouts.
#[derive(Debug)]
struct Stubborn(Box<dyn Recovery>);

fn stubborn() -> Entry<dyn Recovery> {
    Entry::recovery("stubborn", file!())
        .summary("SACK whose timer may have no backoff")
        .citation("none: it is broken on purpose")
        .needs(|_| dupack_algorithms::catalog::Needs::SACK)
        .build(|_: &Nothing, context: &Context| {
            let sack = recovery::sack::entry();
            Box::new(Stubborn(
                sack.build(&sack.defaults(Dialect::default()), context),
            ))
        })
}

impl Recovery for Stubborn {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.0.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        self.0.on_ack(ack, view)
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.0.on_rto(view);
    }

    fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule::Judged
    }

    fn on_cut(&mut self, view: &View<'_>) {
        self.0.on_cut(view);
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.0.on_segment_size(from, to);
    }

    fn on_mark(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.0.on_mark(ack, view);
    }

    fn timer(&self) -> Option<Instant> {
        self.0.timer()
    }

    fn on_timer(&mut self, view: &View<'_>) -> Expiry {
        self.0.on_timer(view)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.0.in_flight(view)
    }

    fn allowance(&self, view: &View<'_>) -> u64 {
        self.0.allowance(view)
    }

    fn next(&self, view: &View<'_>) -> Next {
        self.0.next(view)
    }
}

/// Loss differentiation that attributes every timeout to the link, so that the timeout is not doubled, and every other
/// loss to congestion.
#[derive(Debug)]
struct TimeoutsAreNoise;

fn timeouts_are_noise() -> Entry<dyn Differentiation> {
    Entry::differentiation("timeouts_are_noise", file!())
        .summary("every timeout is attributed to the link")
        .citation("none: it is broken on purpose")
        .build(|(), _| Box::new(TimeoutsAreNoise))
}

impl Differentiation for TimeoutsAreNoise {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        match loss.rule == LossRule::TIMEOUT {
            true => LossCause::Wireless,
            false => LossCause::Congestion,
        }
    }
}

/// Response to link losses that is the same as Reno's response to all losses.
#[derive(Debug)]
struct AsReno;

fn as_reno() -> Entry<dyn Response> {
    Entry::response("as_reno", file!())
        .summary("the response of the congestion control")
        .citation("none: it is broken on purpose")
        .build(|(), _| Box::new(AsReno))
}

impl Response for AsReno {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn respond(&mut self, _: &LossFacts, congestion: Window) -> Window {
        congestion
    }
}
