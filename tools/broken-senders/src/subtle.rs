//! Controls that differ from Reno in one habit, which has an effect only in a few situations. Each control should fail
//! one criterion.

use std::collections::VecDeque;

use dupack_algorithms::catalog::{Context, Dialect, Entry, Parameters};
use dupack_algorithms::congestion;
use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, LossRule, View};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;

/// Returns the catalog entries of these controls.
pub fn entries() -> Vec<Entry<dyn CongestionControl>> {
    vec![
        of(
            "floor",
            "its window never falls below so many segments at a loss",
            |p: &Segments, context| Floor {
                least: f64::from(p.window) * smss(context),
            },
        ),
        of(
            "capped",
            "its window never exceeds so many segments",
            |p: &Segments, context| Capped {
                most: f64::from(p.window) * smss(context),
            },
        ),
        of(
            "clings",
            "after a loss with such a round-trip time it keeps a given share of its window instead of half",
            |p: &Clinging, _| Clings(*p),
        ),
        of(
            "uneven",
            "every second of its flows has four segments at most after its first loss",
            |_: &Nothing, context| Uneven {
                meek: context.seed.is_multiple_of(2),
                most: 4.0 * smss(context),
                has_lost: false,
            },
        ),
        of(
            "shy",
            "one segment per round trip for its first fifty",
            |_: &Nothing, context| Shy {
                smss: smss(context),
                left: 50.0 * smss(context),
            },
        ),
        of(
            "trusts_marks",
            "it does not respond to losses if the receiver counts marks",
            |_: &Nothing, _| TrustsMarks { counted: false },
        ),
        of(
            "deaf_to_echoes",
            "it responds to marks only if the receiver counts them",
            |_: &Nothing, _| DeafToEchoes { counted: false },
        ),
        of(
            "deaf_to_counts",
            "it responds to marks only if the receiver does not count them",
            |_: &Nothing, _| DeafToCounts { counted: false },
        ),
        of(
            "counts_most",
            "an ACK for less than a segment counts as one for a segment",
            |_: &Nothing, context| CountsMost {
                smss: u64::from(context.smss),
            },
        ),
        of(
            "fears_delay",
            "once per round trip it halves its window if the round-trip time is 1.5 times the smallest",
            |_: &Nothing, context| FearsDelay {
                smss: smss(context),
                least: None,
                next: None,
            },
        ),
        of(
            "sulks",
            "after a loss with such a round-trip time it sends one segment per round trip for a while",
            |p: &Sulking, context| Sulks {
                of: *p,
                smss: smss(context),
                until: None,
            },
        ),
        of(
            "ratchet",
            "for 20 s its window does not exceed its size after a loss",
            |_: &Nothing, _| Ratchet {
                left: VecDeque::new(),
            },
        ),
        of(
            "content",
            "it does not grow while the round-trip time is 1.85 times the smallest",
            |_: &Nothing, _| Content { least: None },
        ),
        of(
            "deaf_below_peak",
            "it does not respond to a loss if the queue is shorter than 0.7 of the longest so far",
            |_: &Nothing, _| DeafBelowPeak { longest: None },
        ),
        of(
            "fears_copies",
            "it halves its window when the receiver reports a duplicate segment",
            |_: &Nothing, context| FearsCopies {
                smss: smss(context),
            },
        ),
    ]
}

fn smss(context: &Context) -> f64 {
    f64::from(context.smss)
}

/// No parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct Nothing {}

/// Parameters of controls with a bound on the window.
#[derive(Clone, Copy, Debug, Parameters)]
struct Segments {
    /// the bound of the window
    #[parameter(source = "ours", range = 1..=100_000, unit = "segments", default = 4)]
    window: u32,
}

/// Parameters of [`Clings`].
#[derive(Clone, Copy, Debug, Parameters)]
struct Clinging {
    /// minimum smoothed round-trip time at a loss, relative to the minimum round-trip time
    #[parameter(source = "ours", range = 0.0..=1e6, default = 3.0)]
    from: f64,
    /// maximum smoothed round-trip time at a loss, relative to the minimum round-trip time
    #[parameter(source = "ours", range = 0.0..=1e6, default = 1e6)]
    to: f64,
    /// fraction of the window that remains after a loss
    #[parameter(source = "ours", range = 0.0..=1.0, default = 0.9)]
    share: f64,
}

/// Parameters of [`Sulks`].
#[derive(Clone, Copy, Debug, Parameters)]
struct Sulking {
    /// minimum smoothed round-trip time at a loss, relative to the minimum round-trip time
    #[parameter(source = "ours", range = 0.0..=1e6, default = 0.0)]
    from: f64,
    /// maximum smoothed round-trip time at a loss, relative to the minimum round-trip time
    #[parameter(source = "ours", range = 0.0..=1e6, default = 1e6)]
    to: f64,
    /// minimum number of consecutive timeouts
    #[parameter(source = "ours", range = 0..=100, default = 0)]
    timeouts: u32,
    /// time with one segment per round trip
    #[parameter(source = "ours", range = 0.0..=100.0, unit = "s", default = 2.0)]
    hold: f64,
}

/// A habit that is added to Reno.
trait Habit: std::fmt::Debug + Send + 'static {
    /// Returns the window after an ACK. `wanted` is the window that Reno would choose.
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        wanted
    }

    /// Returns the credit of an ACK that counts for the growth of the window.
    fn credit(&self, credit: Credit) -> Credit {
        credit
    }

    /// Returns the window after a loss. `wanted` is the window that Reno would choose.
    fn reduction(&self, _: &LossFacts, wanted: Window) -> Window {
        wanted
    }

    /// Called after the response to a loss.
    fn on_loss(&mut self, _: &LossFacts, _: Window) {}

    /// Returns the initial window.
    fn opening(&self, configured: Window) -> Window {
        configured
    }
}

/// Reno with a habit.
#[derive(Debug)]
struct With<H> {
    reno: Box<dyn CongestionControl>,
    habit: H,
}

fn of<P, H>(
    name: &'static str,
    summary: &'static str,
    make: impl Fn(&P, &Context) -> H + Send + Sync + 'static,
) -> Entry<dyn CongestionControl>
where
    P: Parameters + 'static,
    H: Habit,
{
    Entry::control(name, file!())
        .summary(summary)
        .citation("none: it is broken on purpose")
        .build(move |parameters: &P, context: &Context| {
            let reno = congestion::reno::entry();
            let reno = reno.build(&reno.defaults(Dialect::default()), context);
            let habit = make(parameters, context);
            Box::new(With { reno, habit })
        })
}

impl<H: Habit> CongestionControl for With<H> {
    fn opening(&self, configured: Window) -> Window {
        self.habit.opening(self.reno.opening(configured))
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        let wanted = self.reno.on_ack(ack, self.habit.credit(credit), view);
        self.habit.on_ack(ack, view, wanted)
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.habit.reduction(loss, self.reno.reduction(loss))
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        self.reno.on_loss(loss, cause, chosen);
        self.habit.on_loss(loss, chosen);
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        let wanted = self.reno.on_timeout(loss);
        self.habit.on_loss(loss, wanted);
        wanted
    }
}

/// Returns the ratio of the smoothed to the minimum round-trip time, or 1 if there is no sample.
fn stretch(loss: &LossFacts) -> f64 {
    match (loss.srtt, loss.rtt_min) {
        (Some(srtt), Some(least)) => srtt.as_secs_f64() / least.as_secs_f64().max(1e-9),
        _ => 1.0,
    }
}

fn same(bytes: f64) -> Window {
    Window {
        cwnd: bytes,
        ssthresh: bytes,
    }
}

#[derive(Debug)]
struct Floor {
    least: f64,
}

impl Habit for Floor {
    fn reduction(&self, _: &LossFacts, wanted: Window) -> Window {
        Window {
            cwnd: wanted.cwnd.max(self.least),
            ssthresh: wanted.ssthresh.max(self.least),
        }
    }
}

#[derive(Debug)]
struct Capped {
    most: f64,
}

impl Habit for Capped {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        Window {
            cwnd: wanted.cwnd.min(self.most),
            ..wanted
        }
    }
}

#[derive(Debug)]
struct Clings(Clinging);

impl Habit for Clings {
    fn reduction(&self, loss: &LossFacts, wanted: Window) -> Window {
        let Clinging { from, to, share } = self.0;
        match (from..=to).contains(&stretch(loss)) {
            true => same(loss.flight_within_window() * share),
            false => wanted,
        }
    }
}

#[derive(Debug)]
struct Uneven {
    meek: bool,
    most: f64,
    has_lost: bool,
}

impl Habit for Uneven {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        match self.meek && self.has_lost {
            true => Window {
                cwnd: wanted.cwnd.min(self.most),
                ..wanted
            },
            false => wanted,
        }
    }

    fn on_loss(&mut self, _: &LossFacts, _: Window) {
        self.has_lost = true;
    }
}

#[derive(Debug)]
struct Shy {
    smss: f64,
    left: f64,
}

impl Habit for Shy {
    fn opening(&self, configured: Window) -> Window {
        Window {
            cwnd: self.smss,
            ..configured
        }
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        if self.left <= 0.0 {
            return wanted;
        }
        self.left -= ack.acked_bytes as f64;
        Window {
            cwnd: self.smss,
            ..wanted
        }
    }
}

#[derive(Debug)]
struct TrustsMarks {
    counted: bool,
}

impl Habit for TrustsMarks {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        self.counted |= ack.marked_packets.is_some();
        wanted
    }

    fn reduction(&self, loss: &LossFacts, wanted: Window) -> Window {
        let of_loss = loss.rule != LossRule::MARK && loss.rule != LossRule::TIMEOUT;
        match self.counted && of_loss {
            true => loss.window,
            false => wanted,
        }
    }
}

#[derive(Debug)]
struct DeafToEchoes {
    counted: bool,
}

impl Habit for DeafToEchoes {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        self.counted |= ack.marked_packets.is_some();
        wanted
    }

    fn reduction(&self, loss: &LossFacts, wanted: Window) -> Window {
        match loss.rule == LossRule::MARK && !self.counted {
            true => loss.window,
            false => wanted,
        }
    }
}

#[derive(Debug)]
struct DeafToCounts {
    counted: bool,
}

impl Habit for DeafToCounts {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        self.counted |= ack.marked_packets.is_some();
        wanted
    }

    fn reduction(&self, loss: &LossFacts, wanted: Window) -> Window {
        match loss.rule == LossRule::MARK && self.counted {
            true => loss.window,
            false => wanted,
        }
    }
}

#[derive(Debug)]
struct CountsMost {
    smss: u64,
}

impl Habit for CountsMost {
    fn credit(&self, mut credit: Credit) -> Credit {
        if credit.bytes > 0 {
            credit.bytes = credit.bytes.max(self.smss);
        }
        credit
    }
}

#[derive(Debug)]
struct FearsDelay {
    smss: f64,
    least: Option<Duration>,
    next: Option<Instant>,
}

impl Habit for FearsDelay {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>, wanted: Window) -> Window {
        let Some(rtt) = ack.rtt else { return wanted };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        let late = rtt.as_secs_f64() > 1.5 * least.as_secs_f64();
        if !late || self.next.is_some_and(|next| ack.now < next) {
            return wanted;
        }
        self.next = Some(ack.now + rtt);
        same((view.window.cwnd / 2.0).max(2.0 * self.smss))
    }
}

#[derive(Debug)]
struct Sulks {
    of: Sulking,
    smss: f64,
    until: Option<Instant>,
}

impl Habit for Sulks {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        match self.until {
            Some(until) if ack.now < until => Window {
                cwnd: self.smss,
                ..wanted
            },
            _ => wanted,
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, _: Window) {
        let now = stretch(loss);
        if (self.of.from..=self.of.to).contains(&now) && loss.timeouts >= self.of.timeouts {
            self.until = Some(loss.now + Duration::from_secs_f64(self.of.hold));
        }
    }
}

#[derive(Debug)]
struct Ratchet {
    /// Times of the losses of the last 20 s, with the window after each loss in bytes.
    left: VecDeque<(Instant, f64)>,
}

impl Habit for Ratchet {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        let old = |&(at, _): &(Instant, f64)| ack.now.since(at) > Duration::from_secs(20);
        while self.left.front().is_some_and(old) {
            self.left.pop_front();
        }
        let least = self.left.iter().map(|(_, bytes)| *bytes);
        Window {
            cwnd: wanted.cwnd.min(least.fold(f64::INFINITY, f64::min)),
            ..wanted
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, chosen: Window) {
        if loss.timeouts == 0 {
            self.left.push_back((loss.now, chosen.cwnd));
        }
    }
}

#[derive(Debug)]
struct Content {
    least: Option<Duration>,
}

impl Habit for Content {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>, wanted: Window) -> Window {
        let Some(rtt) = ack.rtt else { return wanted };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        match rtt.as_secs_f64() > 1.85 * least.as_secs_f64() && wanted.cwnd > view.window.cwnd {
            true => view.window,
            false => wanted,
        }
    }
}

#[derive(Debug)]
struct FearsCopies {
    smss: f64,
}

impl Habit for FearsCopies {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>, wanted: Window) -> Window {
        match ack.dsack {
            Some(_) => same((view.window.cwnd / 2.0).max(2.0 * self.smss)),
            None => wanted,
        }
    }
}

#[derive(Debug)]
struct DeafBelowPeak {
    longest: Option<Duration>,
}

impl Habit for DeafBelowPeak {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: &View<'_>, wanted: Window) -> Window {
        self.longest = self.longest.max(ack.rtt);
        wanted
    }

    fn reduction(&self, loss: &LossFacts, wanted: Window) -> Window {
        let (Some(srtt), Some(least), Some(longest)) = (loss.srtt, loss.rtt_min, self.longest)
        else {
            return wanted;
        };
        let queue = |rtt: Duration| rtt.as_secs_f64() - least.as_secs_f64();
        match queue(srtt) < 0.7 * queue(longest) {
            true => same(loss.flight_within_window()),
            false => wanted,
        }
    }
}
