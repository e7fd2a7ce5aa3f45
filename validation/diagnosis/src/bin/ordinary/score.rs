//! Comparison of the first sentence about each stream with the truth.

use std::net::SocketAddr;
use std::path::PathBuf;

use dupack_diagnosis::findings::ConnectionFindings;
use dupack_diagnosis::read::vantage::Place;
use dupack_diagnosis::{Flow, Side, StreamFindings, diagnose};
use dupack_diagnosis_tell::story::{Case, tell};
use dupack_packet::captured::CaptureReader;

use super::app::{EVERY, Record};
use super::derive::Derived;
use super::plan::Kind;
use super::truth::{Budget, Class, Stream};

/// The limit that each template of the story names. `None` if the template names no limit.
pub const NAMED: [(&str, Option<Class>); 24] = [
    ("nothing", None),
    ("one direction", None),
    ("missing packets", None),
    ("contradictory", None),
    ("options cut", None),
    ("black hole", Some(Class::Timers)),
    ("unscaled window", Some(Class::Receiver)),
    ("nagle", Some(Class::Nagle)),
    ("constant rate", Some(Class::Path)),
    ("in doubt", None),
    ("turns", Some(Class::Application)),
    ("application", Some(Class::Application)),
    ("policer", Some(Class::Losses)),
    ("timers", Some(Class::Timers)),
    ("shut window", Some(Class::Receiver)),
    ("handshake", Some(Class::Handshake)),
    ("small", Some(Class::Application)),
    ("too short", None),
    ("receive window", Some(Class::Receiver)),
    ("path", Some(Class::Path)),
    ("losses", Some(Class::Losses)),
    ("slow start", Some(Class::SlowStart)),
    ("sender", Some(Class::SendBuffer)),
    ("mixed", None),
];

/// Share of the time below which it is flatly wrong to name a limit.
const FLATLY: f64 = 0.1;

/// Minimum share of the time for which the story names wasted time first.
const WASTE: f64 = 0.25;

/// Templates that name wasted time.
const OF_WASTE: [&str; 4] = ["black hole", "nagle", "timers", "shut window"];

/// Minimum share of the time for which a limit must be named.
const MUST: f64 = 0.5;

/// Duration in round trips below which a stream needs no diagnosis.
const BRIEF: f64 = 3.0;

/// Interval between two samples of a socket, in seconds. The truth about a shorter stream is unknown.
const BETWEEN_SAMPLES: f64 = EVERY.as_secs_f64();

/// Resolution of the samples, as a share of the time. Limits whose shares differ by at most this value count as equal.
const EQUAL: f64 = 0.05;

/// Maximum accepted difference from the kernel's share, and maximum relative difference from the rate of the path.
const POINTS: f64 = 0.05;

/// Place of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    Client,
    Server,
}

impl At {
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Limits that a sentence names.
#[derive(Clone, Copy, Debug)]
struct Named {
    limit: Option<Class>,
    /// Share of the time, from 0 to 1, of the other limits that the sentence also names.
    also: f64,
    /// `true` if the sentence names wasted time.
    waste: bool,
}

/// Circumstances that determine which causes a sentence names.
#[derive(Clone, Copy, Debug)]
struct Seen {
    retransmissions: u64,
    /// `true` if there is a shaper on the sending host.
    shaped: bool,
    place: Place,
}

impl Named {
    fn of(template: &str, budget: &Budget, seen: Seen) -> Self {
        let limit = NAMED.iter().find(|(name, _)| *name == template);
        // The sentence names "its application, its send buffer, a congestion window that does not grow, or a shaper
        // before the capture point".
        let causes = [
            (Class::Losses, seen.retransmissions == 0),
            (Class::Path, seen.shaped),
            (Class::Application, seen.place != Place::Sender),
        ];
        let causes = causes.into_iter().filter(|(_, is_named)| *is_named);
        let causes: f64 = causes.map(|(class, _)| budget.share(class)).sum();
        Self {
            limit: limit.and_then(|(_, class)| *class),
            also: if template == "sender" { causes } else { 0.0 },
            waste: OF_WASTE.contains(&template),
        }
    }
}

/// Verdict on a first sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The stream is shorter than [`BETWEEN_SAMPLES`].
    Unknown,
    Right,
    /// No limit is named, and no limit took half of the time; or the stream is shorter than [`BRIEF`] round trips.
    Abstained,
    /// No limit is named, although a limit took half of the time and the stream lasts for at least [`BRIEF`] round
    /// trips.
    Missed,
    /// Wasted time is named and took about a quarter of the time or more ([`WASTE`]), but another limit took more time.
    /// The story names wasted time first.
    Waste,
    Wrong,
    /// The named limit took less than a tenth of the time.
    Flat,
}

impl Grade {
    pub const ALL: [Self; 7] = [
        Self::Unknown,
        Self::Right,
        Self::Abstained,
        Self::Missed,
        Self::Waste,
        Self::Wrong,
        Self::Flat,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "truth unknown",
            Self::Right => "right",
            Self::Abstained => "abstained",
            Self::Missed => "abstained wrongly",
            Self::Waste => "waste named first",
            Self::Wrong => "wrong",
            Self::Flat => "flatly wrong",
        }
    }

    fn of(told: Named, budget: &Budget, share: impl Fn(&Budget, Class) -> f64, brief: f64) -> Self {
        let most = Class::ALL.map(|class| match class {
            Class::Either => 0.0,
            class => share(budget, class),
        });
        let most = most.into_iter().fold(0.0, f64::max);
        match told.limit {
            _ if budget.all() < BETWEEN_SAMPLES => Self::Unknown,
            None if most >= MUST && budget.all() >= brief => Self::Missed,
            None => Self::Abstained,
            Some(named) => {
                let took = share(budget, named) + budget.shared(named.coarse()) + told.also;
                if took >= most - EQUAL {
                    Self::Right
                } else if took < FLATLY {
                    Self::Flat
                } else if told.waste && took >= WASTE - EQUAL {
                    Self::Waste
                } else {
                    Self::Wrong
                }
            }
        }
    }
}

/// A diagnosed share of the time, and the same share according to the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub told: f64,
    pub truth: f64,
}

impl Share {
    pub fn is_right(&self) -> bool {
        (self.told - self.truth).abs() <= POINTS
    }
}

/// Score of a stream in a capture.
#[derive(Clone, Debug)]
pub struct Score {
    pub kind: Kind,
    pub seed: u64,
    pub at: At,
    pub derived: Derived,
    pub v6: bool,
    /// `true` if there is a shaper on the sending host.
    pub shaped: bool,
    /// `true` if an end has no offload.
    pub single: bool,
    pub file: PathBuf,
    /// The sending end.
    pub from: At,
    pub ends: [SocketAddr; 2],
    /// `true` for the stream that is described first.
    pub first: bool,
    pub template: &'static str,
    pub sentence: String,
    pub budget: Budget,
    /// Verdict with slow start, losses and path as one class, because the kernel's counters do not distinguish them. If
    /// the verdict `fine` is right, this verdict is right, too.
    pub coarse: Grade,
    pub fine: Grade,
    /// Number of diagnosed retransmissions, and number of retransmissions in the whole run.
    pub retransmissions: [u64; 2],
    /// Shares of busy time, receive window and send buffer, for a whole capture at the sender.
    pub kernel: Option<[Share; 3]>,
    /// `true` if the diagnosed rate of the bottleneck is the rate of the path or of its shaper. `None` if no rate is
    /// diagnosed.
    pub rate_is_right: Option<bool>,
    pub place: String,
}

impl Score {
    /// Returns `true` if the sentence says that the capture lacks packets.
    pub fn says_incomplete(&self) -> bool {
        matches!(self.template, "one direction" | "missing packets")
    }

    pub const fn invented(&self) -> bool {
        self.retransmissions[0] > 0 && self.retransmissions[1] == 0
    }

    pub fn kernel_is_right(&self) -> Option<bool> {
        Some(self.kernel?.iter().all(Share::is_right))
    }
}

/// A capture to diagnose.
pub struct Capture<'a> {
    pub file: PathBuf,
    pub bytes: &'a [u8],
    pub at: At,
    pub derived: Derived,
}

/// Diagnoses a capture and scores all its streams.
pub fn score(
    record: &Record,
    streams: &[Stream],
    capture: &Capture<'_>,
) -> Result<Vec<Score>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", capture.file.display());
    let mut reader = CaptureReader::new(capture.bytes).map_err(|error| failed(&error))?;
    let found = diagnose(&mut reader, Flow::All, &mut ()).map_err(|error| failed(&error))?;
    let origin = found.first.map_or(0, |first| first.as_unix_nanos());
    let main = found
        .connections
        .first()
        .and_then(|one| Some((one.number, one.main_stream()?.side)));
    let mut scores = Vec::new();
    for connection in &found.connections {
        for told in connection.all_streams() {
            if let Some(truth) = stream_of(streams, connection, told.side) {
                let mut one = one(record, truth, told, capture, origin);
                one.first = main == Some((connection.number, told.side));
                scores.push(one);
            }
        }
    }
    Ok(scores)
}

fn stream_of<'a>(
    streams: &'a [Stream],
    connection: &ConnectionFindings,
    side: Side,
) -> Option<&'a Stream> {
    let from = *connection.addresses.of(side);
    let ends = &connection.addresses;
    let to = if ends.opener == from {
        ends.answerer
    } else {
        ends.opener
    };
    streams
        .iter()
        .find(|stream| stream.from == from && stream.to == to)
}

fn one(
    record: &Record,
    truth: &Stream,
    told: &StreamFindings,
    capture: &Capture<'_>,
    origin: u64,
) -> Score {
    let (template, sentence) = tell(&Case::of(told));
    let shares = &told.shares;
    let budget = truth.budget(
        origin + shares.started.as_nanos(),
        origin + shares.ended.as_nanos(),
    );
    let from = if truth.from.port() < 10_000 {
        At::Server
    } else {
        At::Client
    };
    let seconds = shares.duration().as_secs_f64().max(f64::MIN_POSITIVE);
    let share = |told: dupack_tcp::time::Duration, truth: u64| Share {
        told: told.as_secs_f64() / seconds,
        truth: truth as f64 / 1e6 / seconds,
    };
    let kernel = (capture.derived == Derived::Whole && capture.at == from).then(|| {
        [
            share(shares.kernel.busy, truth.last.busy),
            share(shares.kernel.receive_window, truth.last.receive_window),
            share(shares.kernel.sender_buffer, truth.last.send_buffer),
        ]
    });
    let brief = BRIEF * record.route.rtt_ms / 1e3;
    let shaped = record.route.shaper.is_some() && is_bulk(record.kind, from);
    let seen = Seen {
        retransmissions: truth.retransmissions,
        shaped,
        place: told.vantage.place,
    };
    let named = Named::of(template, &budget, seen);
    let coarse = Grade::of(named, &budget, Budget::coarse_share, brief);
    let fine = Grade::of(named, &budget, Budget::share, brief);
    Score {
        kind: record.kind,
        seed: record.seed,
        at: capture.at,
        derived: capture.derived,
        v6: record.route.v6,
        shaped,
        single: record.route.single.contains(&true),
        file: capture.file.clone(),
        from,
        ends: [truth.from, truth.to],
        first: false,
        template,
        sentence,
        coarse: match fine {
            Grade::Right => fine,
            _ => coarse,
        },
        fine,
        budget,
        retransmissions: [told.account.retransmissions, truth.retransmissions],
        kernel,
        rate_is_right: rate_is_right(told, record),
        place: format!("{:?}", told.vantage.place),
    }
}

fn rate_is_right(told: &StreamFindings, record: &Record) -> Option<bool> {
    let (value, (low, high)) = told.path.rate.value().zip(told.path.rate.interval())?;
    let route = &record.route;
    let mut rates = [Some(route.rate), route.shaper].into_iter().flatten();
    let is_right = |rate: u64| {
        let rate = rate as f64;
        (value - rate).abs() <= POINTS * rate || (low <= rate && rate <= high)
    };
    Some(rates.any(is_right))
}

/// Returns `true` for the direction in which an application of this kind sends most of its data.
fn is_bulk(kind: Kind, from: At) -> bool {
    match kind {
        Kind::Download => from == At::Server,
        Kind::Upload => from == At::Client,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use dupack_diagnosis_tell::story::TEMPLATES;

    use super::*;

    #[test]
    fn every_template_has_a_class() {
        let names = TEMPLATES.map(|template| template.name);
        assert_eq!(names, NAMED.map(|(name, _)| name));
    }

    #[test]
    fn a_sentence_is_right_if_its_limit_took_most() {
        let mut budget = Budget::default();
        budget.classes[Class::Application as usize] = 6.0;
        budget.classes[Class::Losses as usize] = 3.5;
        budget.classes[Class::Timers as usize] = 0.5;
        let named = |limit| Named {
            limit,
            also: 0.0,
            waste: false,
        };
        let verdict = |limit| Grade::of(named(limit), &budget, Budget::share, 1.0);
        assert_eq!(verdict(Some(Class::Application)), Grade::Right);
        assert_eq!(verdict(Some(Class::Losses)), Grade::Wrong);
        assert_eq!(verdict(Some(Class::Timers)), Grade::Flat);
        assert_eq!(verdict(None), Grade::Missed);
        let coarse = Grade::of(
            named(Some(Class::SlowStart)),
            &budget,
            Budget::coarse_share,
            1.0,
        );
        assert_eq!(coarse, Grade::Wrong);
    }

    #[test]
    fn a_sender_that_held_back_may_have_had_a_window_that_does_not_grow_or_a_shaper() {
        let mut budget = Budget::default();
        budget.classes[Class::Losses as usize] = 6.0;
        budget.classes[Class::Path as usize] = 4.0;
        let verdict = |retransmissions, shaped| {
            let seen = Seen {
                retransmissions,
                shaped,
                place: Place::Sender,
            };
            let named = Named::of("sender", &budget, seen);
            Grade::of(named, &budget, Budget::share, 1.0)
        };
        assert_eq!(verdict(0, false), Grade::Right);
        assert_eq!(verdict(1, false), Grade::Flat);
        assert_eq!(verdict(1, true), Grade::Wrong);
        assert_eq!(verdict(0, true), Grade::Right);
    }
}
