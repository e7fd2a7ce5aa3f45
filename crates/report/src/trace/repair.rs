//! The beginning and the repair of the losses that a figure shows.

use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};

use dupack_lab::trace::stream::Onlooker;
use dupack_lab::trace::{Event, Fate, Flow, What};

use super::{Asked, Span};

/// Round-trip time that is assumed for a run without an estimate.
const RTT_IF_UNKNOWN: Duration = Duration::from_millis(100);

/// Number of round trips shown before the first loss.
const ROUND_TRIPS_BEFORE: u64 = 2;

/// Minimum number of round trips shown after the repair.
const ROUND_TRIPS_AFTER: u64 = 3;

/// Number of round trips shown of a run without losses.
const ROUND_TRIPS_CALM: u64 = 20;

/// Number of round trips in the ladder of a run without losses.
const ROUND_TRIPS_OF_LADDER: u64 = 5;

/// Observer of the first loss and of the losses before its repair.
#[derive(Debug)]
struct Repair {
    flow: Flow,
    rtt: Duration,
    /// Send time of the first lost packet. With long queues, this is well before the drop.
    lost_sent: Option<Instant>,
    losses: Option<Losses>,
}

#[derive(Clone, Copy, Debug)]
struct Losses {
    first: Instant,
    last: Instant,
    /// Highest packet number among the lost packets.
    highest: u64,
    /// Time at which all lost packets were acknowledged.
    repaired: Option<Instant>,
}

impl Repair {
    fn new(flow: &Flow, srtt: Option<Duration>) -> Self {
        Self {
            flow: *flow,
            rtt: srtt.unwrap_or(RTT_IF_UNKNOWN),
            lost_sent: None,
            losses: None,
        }
    }

    /// Processes the next event.
    fn event(&mut self, event: &Event) {
        let at = event.at;
        if let What::Sent(sent) = &event.what
            && matches!(sent.fate, Fate::Dropped(_))
        {
            self.lost_sent = self.lost_sent.or(Some(at));
        }
        match (&event.what, &mut self.losses) {
            (&What::DataDropped { number, .. }, None) => {
                self.losses = Some(Losses {
                    first: at,
                    last: at,
                    highest: number,
                    repaired: None,
                });
            }
            // A loss before the end of the repair extends the repair.
            (&What::DataDropped { number, .. }, Some(losses))
                if losses.repaired.is_none_or(|repaired| at <= repaired) =>
            {
                losses.last = at;
                losses.highest = losses.highest.max(number);
                losses.repaired = None;
            }
            (What::AckArrived { ack, .. }, Some(losses))
                if losses.repaired.is_none()
                    && at > losses.last
                    && is_beyond(ack, losses.highest, &self.flow) =>
            {
                losses.repaired = Some(at);
            }
            _ => {}
        }
    }

    fn end_of(&self, losses: Losses, repaired: Instant) -> Instant {
        let least = self.rtt * ROUND_TRIPS_AFTER;
        let part = Duration::from_nanos(repaired.since(losses.first).as_nanos() / 8);
        repaired + least.max(part)
    }

    /// Returns the parts to show of a run that ends at `end`.
    fn found(&self, end: Instant) -> Found {
        let within = |from: Instant, until: Instant| Span {
            from,
            until: until.min(end),
        };
        let begin = Instant::ZERO;
        match self.losses {
            None => Found {
                about: About::Beginning,
                span: within(begin, begin + self.rtt * ROUND_TRIPS_CALM),
                ladder: within(begin, begin + self.rtt * ROUND_TRIPS_OF_LADDER),
            },
            Some(losses) => {
                let repaired = losses.repaired.unwrap_or(end);
                let before = losses.first - self.rtt * ROUND_TRIPS_BEFORE;
                let sent = self.lost_sent.unwrap_or(losses.first);
                Found {
                    about: About::Losses,
                    span: within(before, self.end_of(losses, repaired)),
                    ladder: within(sent - self.rtt, repaired + self.rtt),
                }
            }
        }
    }
}

/// The parts of a run that the figures show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    about: About,
    /// Part that the time–sequence figure shows. It extends from just before the first loss until shortly after the
    /// repair of the last of consecutive losses. Without losses, it is the beginning of the run.
    pub span: Span,
    /// Part that the ladder shows. It extends from one round trip before the first lost packet was sent until one round
    /// trip after the repair. Without losses, it is the beginning of the run.
    pub ladder: Span,
}

/// Subject of the figures of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Losses,
    Beginning,
}

impl Found {
    /// Returns one part for several runs, so that they have the same time axis. The part covers the losses of all runs,
    /// or their beginnings if no run has losses. Times in `asked` take precedence, and the part ends at `end` at the
    /// latest. Returns `None` without runs.
    #[must_use]
    pub fn of_all(runs: &[Self], asked: Asked, end: Instant) -> Option<Self> {
        let lost = |found: &&Self| found.about == About::Losses;
        let about = match runs.iter().any(|found| lost(&found)) {
            true => About::Losses,
            false => About::Beginning,
        };
        let shown = || runs.iter().filter(|found| found.about == about);
        let whole = |part: fn(&Self) -> Span| {
            let from = shown().map(|found| part(found).from).min()?;
            let until = shown().map(|found| part(found).until).max()?;
            Some(Span {
                from: asked.from.unwrap_or(from),
                until: asked.until.unwrap_or(until).min(end),
            })
        };
        let span = whole(|found| found.span)?;
        let ladder = whole(|found| found.ladder)?;
        Some(Self {
            about,
            span,
            // The requested part may not contain the losses, and then the ladder shows the same part as the other
            // figure.
            ladder: if ladder.from < ladder.until {
                ladder
            } else {
                span
            },
        })
    }
}

/// Finder of the parts of a trace that the figures show.
#[derive(Debug, Default)]
pub struct Extent(Option<Repair>);

impl Extent {
    /// Returns the parts to show of a run that ended at `end`, or `None` if the trace never began.
    #[must_use]
    pub fn found(&self, end: Instant) -> Option<Found> {
        Some(self.0.as_ref()?.found(end))
    }
}

impl Onlooker for Extent {
    fn begin(&mut self, flow: &Flow, srtt: Option<Duration>) {
        self.0 = Some(Repair::new(flow, srtt));
    }

    fn event(&mut self, event: &Event) {
        if let Some(repair) = &mut self.0 {
            repair.event(event);
        }
    }
}

/// Returns `true` if the ACK covers packet `number`.
fn is_beyond(ack: &Ack, number: u64, flow: &Flow) -> bool {
    let start = number * u64::from(flow.sender.smss);
    let offset = ack.ack.offset(flow.sender.isn, start);
    offset.is_some_and(|offset| offset > start)
}
