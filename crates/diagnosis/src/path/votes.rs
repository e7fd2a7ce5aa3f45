//! Votes of the loss differentiations: the cause that each differentiation of the catalog would have given for the
//! losses.

use dupack_algorithms::catalog::{Catalog, Context, Dialect};
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::replay::SEEN_AGAIN;
use dupack_tcp::scoreboard::Segment;
use dupack_tcp::time::Instant;
use dupack_tcp::window::Window;

/// Differentiations that are excluded: they always give the same answer, or they need the true cause as an input.
const NO_JUDGES: [&str; 3] = ["none", "always", "oracle"];

/// Maximum number of differentiations, because each one has a bit in the record of a loss.
const MOST: usize = 32;

/// Loss differentiations of one stream.
#[derive(Debug, Default)]
pub(super) struct Judges {
    judges: Vec<Judge>,
    /// Time of the last reduction of the window, by a loss event or a timeout.
    reduced_at: Option<Instant>,
}

#[derive(Debug)]
struct Judge {
    name: String,
    judge: Box<dyn Differentiation>,
}

/// Votes of a loss differentiation about the loss events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Name of the differentiation in the catalog.
    pub name: String,
    /// Number of loss events that this differentiation attributes to congestion.
    pub congestion: u64,
    /// Number of loss events that this differentiation attributes to the link.
    pub wireless: u64,
    /// Number of loss events for which this differentiation agrees with the evidence from the queue.
    pub agrees: u64,
}

impl Judges {
    /// Creates all differentiations in `catalog`, for segments of `smss` bytes.
    pub(super) fn new(catalog: &Catalog, smss: u32) -> Self {
        let entries = catalog.entries::<dyn Differentiation>().iter();
        let judging = entries.filter(|entry| !NO_JUDGES.contains(&entry.name()));
        let judges = judging.take(MOST).map(|entry| {
            let defaults = entry.defaults(Dialect::Rfc);
            Judge {
                name: entry.name().to_owned(),
                judge: entry.build(&defaults, &Context::new(smss)),
            }
        });
        Self {
            judges: judges.collect(),
            reduced_at: None,
        }
    }

    /// Passes an ACK to the differentiations.
    pub(super) fn on_ack(&mut self, facts: &AckFacts<'_>, view: &View<'_>) {
        // The congestion window is unknown, so the flight size is used instead.
        let mut view = *view;
        view.window = Window {
            cwnd: view.flight_size() as f64,
            ssthresh: f64::INFINITY,
        };
        for judge in &mut self.judges {
            judge.judge.on_ack(facts, &view);
        }
    }

    /// Judges a loss event that was detected without a timeout and began with `segment`. Returns one bit per
    /// differentiation, which is set if the differentiation attributes the loss to the link.
    pub(super) fn judge(&mut self, view: &View<'_>, segment: Segment) -> u32 {
        let mut loss = LossFacts::seen(view, segment, SEEN_AGAIN);
        loss.reduced_at = self.reduced_at;
        self.reduced_at = Some(view.now);
        let mut votes = 0;
        for (n, judge) in self.judges.iter_mut().enumerate() {
            if judge.judge.judge(&loss) == LossCause::Wireless {
                votes |= 1 << n;
            }
        }
        votes
    }

    /// Records an expiry of the retransmission timer.
    pub(super) fn timed_out(&mut self, now: Instant) {
        self.reduced_at = Some(now);
    }

    /// Counts `votes`. Each element contains the votes about a loss event, and the cause according to the queue if it
    /// is known.
    pub(super) fn count(&self, votes: &[(u32, Option<LossCause>)]) -> Vec<Vote> {
        let counted = self.judges.iter().enumerate().map(|(n, judge)| {
            let mut vote = Vote {
                name: judge.name.clone(),
                congestion: 0,
                wireless: 0,
                agrees: 0,
            };
            for (bits, evidence) in votes {
                let says = match bits >> n & 1 {
                    0 => LossCause::Congestion,
                    _ => LossCause::Wireless,
                };
                match says {
                    LossCause::Congestion => vote.congestion += 1,
                    LossCause::Wireless => vote.wireless += 1,
                }
                vote.agrees += u64::from(*evidence == Some(says));
            }
            vote
        });
        counted.collect()
    }
}
