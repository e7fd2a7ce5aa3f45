//! What limited a stream, in one sentence, as a person would say it.
//!
//! The sentences are data: [`TEMPLATES`], each with a condition, and the first whose condition holds speaks.
//! Their order:
//!
//! 1. What leaves nothing to say: no data, no ACKs, or too much that is missing from the capture.
//! 2. Signs of something on the path that explains all the rest.
//! 3. The group that took most of the time, if it took a third. Where that is a window that moves, too little to say more: it
//!    rests on round trips, of which there must be some.
//! 4. Nothing of these: the two largest.

pub mod words;

#[cfg(test)]
mod tests;

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::signs::{Signs, Unscaled};
use dupack_diagnosis::consistency::MISSING_MAX;
use dupack_diagnosis::findings::{AcksSeen, Coverage, Shut};
use dupack_diagnosis::read::vantage::Place;
use dupack_tcp::time::Duration;

use dupack_diagnosis::analyse::budget::{Group, Limit, PathFacts, Shares};
use dupack_diagnosis::analyse::stalls::{StallKind, StallList};
use words::{bytes, count, number, part, part_of_rate, rate, time};

/// From this part on, what is waste speaks before all else. Ours.
const WASTE_SHARE: f64 = 0.25;

/// From this part on, a limit is said to be the transfer's. Ours.
const MAIN_SHARE: f64 = 1.0 / 3.0;

/// From this part on, nobody asks for the rest. Ours.
const HALF: f64 = 0.5;

/// From this part on, a limit needs no "for so long". Ours.
const ALMOST_ALL: f64 = 0.9;

/// The rest is worth a word from this part on. Ours.
const REST_SHARE: f64 = 0.1;

/// A window that still grows for the first time loses no more of its segments than this. Ours.
const LOSSES_IN_SLOW_START: f64 = 0.02;

/// A path is full if this part of its rate moves. Ours.
const FULL: f64 = 0.75;

/// Fewer round trips tell nothing of how a window moves. Ours: slow start needs one to show, and a loss two.
const ROUND_TRIPS_MIN: f64 = 3.0;

/// An initial window (RFC 6928): what is no more than this is small, and needs no ACK to be sent.
const SMALL_SEGMENTS: u64 = 10;

/// What the sentence rests on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What time was spent on.
    pub shares: &'a Shares,
    /// Where nothing happened.
    pub stalls: &'a StallList,
    /// What is known of the path.
    pub path: PathFacts,
    /// How often the receiver's window was shut.
    pub shut: Shut,
    /// How much of it the capture has.
    pub coverage: Coverage,
    /// Signs of middleboxes and shapers.
    pub signs: Signs,
    /// Bytes of the headers of a data packet.
    pub headers: u64,
    /// Where the capture was taken.
    pub place: Place,
    /// The rate of a policer in bit/s, if one was found.
    pub policer: Option<f64>,
}

/// A sentence and when it is said.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// A name for it, for files and tests.
    pub name: &'static str,
    holds: fn(&Case<'_>) -> bool,
    say: fn(&Case<'_>) -> String,
}

/// What can be said, in the order in which it is tried.
pub const TEMPLATES: [Template; 19] = [
    Template {
        name: "nothing",
        holds: |case| case.shares.segments == 0,
        say: nothing,
    },
    Template {
        name: "one direction",
        holds: |case| case.coverage.acks == AcksSeen::None,
        say: one_direction,
    },
    Template {
        name: "missing packets",
        holds: |case| {
            let shut = case.shares.share(case.shares.of(Limit::ZeroWindow));
            case.coverage.missing() > MISSING_MAX && shut < HALF
        },
        say: missing_packets,
    },
    Template {
        name: "black hole",
        holds: |case| case.signs.black_hole.is_some() && case.wasted() >= WASTE_SHARE,
        say: black_hole,
    },
    Template {
        name: "unscaled window",
        holds: |case| case.signs.unscaled.is_some(),
        say: unscaled,
    },
    Template {
        name: "nagle",
        holds: |case| case.main() == Some(Group::Nagle),
        say: nagle,
    },
    Template {
        name: "constant rate",
        holds: |case| case.leaves_at_a_constant_rate(),
        say: constant_rate,
    },
    Template {
        name: "application",
        holds: |case| case.main() == Some(Group::Application),
        say: application,
    },
    Template {
        name: "policer",
        holds: |case| case.policer.is_some() && case.is_wasted_most(),
        say: policer,
    },
    Template {
        name: "timers",
        holds: |case| case.main() == Some(Group::Timers),
        say: timers,
    },
    Template {
        name: "shut window",
        holds: |case| case.main() == Some(Group::Receiver) && case.is_shut_most(),
        say: shut_window,
    },
    Template {
        name: "handshake",
        holds: |case| case.main() == Some(Group::Handshake) && case.waited_to_open(),
        say: handshake,
    },
    Template {
        name: "too short",
        holds: |case| case.is_short() && case.main().is_none_or(is_a_window),
        say: too_short,
    },
    Template {
        name: "receive window",
        holds: |case| case.main() == Some(Group::Receiver),
        say: receive_window,
    },
    Template {
        name: "path",
        holds: |case| case.main() == Some(Group::Path),
        say: path,
    },
    Template {
        name: "losses",
        holds: |case| case.main() == Some(Group::Losses),
        say: losses,
    },
    Template {
        name: "slow start",
        holds: |case| case.main() == Some(Group::SlowStart) && !case.loses_much(),
        say: slow_start,
    },
    Template {
        name: "sender",
        holds: |case| case.main() == Some(Group::Sender),
        say: sender,
    },
    Template {
        name: "mixed",
        holds: |_| true,
        say: mixed,
    },
];

/// The limit of a stream, as a sentence.
#[must_use]
pub fn story(stream: &StreamFindings) -> String {
    let (_, said) = tell(&Case::of(stream));
    let mut letters = said.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    format!("{}{}.", first.to_uppercase(), letters.as_str())
}

/// The sentence for a stream, without a full stop; and the template it comes from.
#[must_use]
pub fn tell(case: &Case<'_>) -> (&'static str, String) {
    let template = TEMPLATES.iter().find(|template| (template.holds)(case));
    template.map_or(("nothing", String::new()), |template| {
        let mut said = (template.say)(case);
        let timers = case.shares.of_group(Group::Timers);
        let of_others = !["application", "timers", "mixed"].contains(&template.name);
        if of_others && case.part(Group::Timers) >= REST_SHARE {
            let long = crate::words::time(timers);
            said.push_str(&format!("; {long} {}", went_to(Group::Timers)));
        }
        if template.name != "shut window" && case.shut_matters() {
            said.push_str("; ");
            said.push_str(&was_shut(case));
        }
        (template.name, said)
    })
}

impl<'a> Case<'a> {
    /// The facts of a stream.
    #[must_use]
    pub fn of(stream: &'a StreamFindings) -> Self {
        Self {
            shares: &stream.shares,
            stalls: &stream.stalls,
            path: stream.path.facts(),
            shut: stream.shut,
            coverage: stream.coverage,
            signs: stream.signs,
            headers: stream.path.headers,
            place: stream.vantage.place,
            policer: stream.path.policer.and_then(|policer| policer.rate.value()),
        }
    }
}

impl Case<'_> {
    fn part(&self, group: Group) -> f64 {
        self.shares.share(self.shares.of_group(group))
    }

    /// The time in which there was something to do.
    fn active(&self) -> Duration {
        self.shares.duration() - self.shares.of_group(Group::Application)
    }

    /// Whether a window that was shut belongs into the sentence though it was not the most of it.
    fn shut_matters(&self) -> bool {
        let shut = self.shares.share(self.shares.of(Limit::ZeroWindow));
        self.shut.times > 0 && (shut >= REST_SHARE || self.is_short())
    }

    /// The part of the time that losses and timers took.
    fn wasted(&self) -> f64 {
        self.part(Group::Timers) + self.part(Group::Losses)
    }

    /// Whether a rate before the capture explains what would be told of the application or the sender.
    fn leaves_at_a_constant_rate(&self) -> bool {
        let unexplained = self.part(Group::Application) + self.part(Group::Sender);
        let idle = self.shares.share(self.shares.of(Limit::Idle));
        self.signs.constant_rate.is_some()
            && self.place == Place::Sender
            && unexplained - idle >= HALF
    }

    /// Whether so much is retransmitted that no window grows undisturbed.
    fn loses_much(&self) -> bool {
        self.shares.retransmissions as f64 > LOSSES_IN_SLOW_START * self.shares.segments as f64
    }

    fn waited_to_open(&self) -> bool {
        let handshake = self.shares.of(Limit::Handshake).as_secs_f64();
        self.shares
            .rtt_min
            .is_none_or(|rtt| handshake > ROUND_TRIPS_MIN * rtt.as_secs_f64())
    }

    fn is_short(&self) -> bool {
        let moving = self.active() - self.shares.of(Limit::Handshake);
        let few = self.shares.segments <= SMALL_SEGMENTS;
        let brief = self
            .shares
            .rtt_mean
            .is_none_or(|rtt| moving.as_secs_f64() < ROUND_TRIPS_MIN * rtt.as_secs_f64());
        few || brief
    }

    /// Groups by their time, the largest first.
    fn ranked(&self) -> Vec<(Group, Duration)> {
        let mut groups = Group::ALL.map(|group| (group, self.shares.of_group(group)));
        groups.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
        groups
            .into_iter()
            .filter(|(_, time)| !time.is_zero())
            .collect()
    }

    /// The group that took most of the time, if that is much of it.
    fn main(&self) -> Option<Group> {
        let (first, _) = *self.ranked().first()?;
        (self.part(first) >= MAIN_SHARE).then_some(first)
    }

    /// Whether losses, timers or the path took most of the time.
    fn is_wasted_most(&self) -> bool {
        let groups = [Group::Losses, Group::Timers, Group::Path];
        self.main().is_some_and(|main| groups.contains(&main))
    }

    /// Whether the receive window was shut for longer than it was full.
    fn is_shut_most(&self) -> bool {
        self.shares.of(Limit::ZeroWindow) >= self.shares.of(Limit::ReceiveWindow)
    }

    /// `for 41 of 60 s`, where it was not almost all the time.
    fn for_so_long(&self, group: Group) -> String {
        if self.part(group) >= ALMOST_ALL {
            String::new()
        } else {
            let spent = part(self.shares.of_group(group), self.shares.duration());
            format!("for {spent} ")
        }
    }
}

fn nothing(case: &Case<'_>) -> String {
    format!("no data was sent in {}", time(case.shares.duration()))
}

fn black_hole(case: &Case<'_>) -> String {
    let Some(hole) = case.signs.black_hole else {
        return String::new();
    };
    let packet = |payload: u32| u64::from(payload) + case.headers;
    format!(
        "segments of {} bytes never arrive and those of {} do: packets of {} bytes pass, of {} they vanish and no ICMP \
         says why (an MTU black hole)",
        hole.fails,
        hole.passes,
        packet(hole.passes),
        packet(hole.fails)
    )
}

fn unscaled(case: &Case<'_>) -> String {
    let Some(Unscaled { window, shift }) = case.signs.unscaled else {
        return String::new();
    };
    format!(
        "no more is in flight than the window field says without its scale, {window} bytes: the sender does not know of \
         the scale of {shift} that this capture shows, as if something on the path had changed it"
    )
}

fn nagle(case: &Case<'_>) -> String {
    let shares = case.shares;
    let waits = shares.nagle_waits.max(1);
    let each = shares.of(Limit::Nagle) / waits;
    format!(
        "{} × about {}: short segments waited for the ACK of the one before (Nagle); TCP_NODELAY would have sent them at \
         once",
        crate::words::count(waits),
        crate::words::time(each)
    )
}

fn policer(case: &Case<'_>) -> String {
    let shares = case.shares;
    let each = shares.segments as f64 / shares.retransmissions.max(1) as f64;
    format!(
        "a policer drops what exceeds {}: one segment in {each:.0} was retransmitted",
        crate::words::rate(case.policer.unwrap_or_default())
    )
}

fn constant_rate(case: &Case<'_>) -> String {
    let rate = case.signs.constant_rate.unwrap_or_default();
    let wire =
        (case.shares.segment_size + case.headers) as f64 / case.shares.segment_size.max(1) as f64;
    format!(
        "packets leave at a constant {}, whatever ACKs come: the bottleneck lies before the capture, as of a shaper on \
         the sending host, or the sender paces",
        crate::words::rate(rate * wire * 8.0)
    )
}

fn one_direction(case: &Case<'_>) -> String {
    format!(
        "{} were sent in {}; the ACKs are not in this capture: the limit cannot be told",
        crate::words::bytes(case.coverage.bytes as f64),
        crate::words::time(case.shares.duration())
    )
}

fn missing_packets(case: &Case<'_>) -> String {
    format!(
        "{} of the data is missing from this capture: the limit cannot be told",
        crate::words::share(case.coverage.missing())
    )
}

fn application(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of_group(Group::Application), shares.duration());
    let mut said = match case.part(Group::Application) >= ALMOST_ALL && case.wasted() < REST_SHARE {
        true => format!("nothing limits it: the application sent nothing for {spent}"),
        false => format!("the application sent nothing for {spent}"),
    };
    if let Some(why) = why_idle(case) {
        said.push_str(&format!(": {why}"));
    }
    let others = case.ranked().into_iter().filter(|(group, spent)| {
        *group != Group::Application && shares.share(*spent) >= REST_SHARE
    });
    let others: Vec<(Group, Duration)> = others.take(2).collect();
    let named = others
        .iter()
        .map(|(group, spent)| format!("{} {}", time(*spent), went_to(*group)));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        said.push_str(&format!("; of the rest, {}", named.join(" and ")));
    }
    if let Some((Group::Timers, _)) = others.last()
        && let Some(why) = why_timers(case)
    {
        said.push_str(&format!(": {why}"));
    }
    said
}

/// Why the application sent nothing, if one reason has most of that time: its own data was not ready, or the other end asked
/// for nothing.
fn why_idle(case: &Case<'_>) -> Option<String> {
    let idle = case.shares.of_group(Group::Application).as_secs_f64();
    let most = |kind| {
        let total = case.stalls.of(kind);
        (total.time.as_secs_f64() > HALF * idle).then_some(total)
    };
    let times = |count| crate::words::things(count, "time", "times");
    if let Some(total) = most(StallKind::DataUnavailable) {
        return Some(format!("its data was not ready {}", times(total.count)));
    }
    let total = most(StallKind::ClientIdle)?;
    Some(format!(
        "the other end asked for nothing {}",
        times(total.count)
    ))
}

/// Whether round trips tell of a group: too few say nothing.
const fn is_a_window(group: Group) -> bool {
    matches!(
        group,
        Group::Handshake
            | Group::SlowStart
            | Group::Losses
            | Group::Sender
            | Group::Path
            | Group::Receiver
    )
}

const fn went_to(group: Group) -> &'static str {
    match group {
        Group::Handshake => "passed before the connection was open",
        Group::Application => "passed without data",
        Group::Receiver => "passed with a full receive window",
        Group::Nagle => "passed until ACKs that short segments waited for (Nagle)",
        Group::Sender => "passed with room in all windows",
        Group::SlowStart => "passed in slow start",
        Group::Losses => "went to losses and the small window after them",
        Group::Timers => "went to waiting for timers",
        Group::Path => "passed at the full rate of the path",
    }
}

fn timers(case: &Case<'_>) -> String {
    let shares = case.shares;
    let waited = shares.of_group(Group::Timers);
    let said = format!(
        "{} of {} were spent waiting for retransmission timers",
        time(waited),
        time(shares.duration())
    );
    match why_timers(case) {
        Some(why) => format!("{said}: {why}"),
        None => said,
    }
}

/// What timers had to expire for, and what would have acted sooner.
fn why_timers(case: &Case<'_>) -> Option<String> {
    if case.signs.foreign_sacks > 0 {
        return Some(format!(
            "{} SACK blocks name bytes that were never sent, as where a middlebox rewrites sequence numbers, and only the \
             timer repairs",
            case.signs.foreign_sacks
        ));
    }
    let kinds = StallKind::ALL.into_iter().filter(|k| k.ends_by_timer());
    let kind = kinds
        .filter(|kind| case.stalls.of(*kind).count > 0)
        .max_by_key(|kind| case.stalls.of(*kind).time)?;
    let mut said = kind.words().to_owned();
    let total = case.stalls.of(kind);
    let small = SMALL_SEGMENTS.saturating_mul(case.shares.segment_size);
    let tail = matches!(kind, StallKind::TailOpen | StallKind::TailRecovery);
    if tail && total.mean_flight().is_some_and(|flight| flight <= small) {
        said.push_str(" of small responses");
    }
    if let Some(remedy) = remedy(kind, total.remedy_after()) {
        said.push_str("; ");
        said.push_str(&remedy);
    }
    Some(said)
}

fn remedy(kind: StallKind, after: Option<Duration>) -> Option<String> {
    let after = after.map(time);
    match kind {
        StallKind::TailOpen
        | StallKind::TailRecovery
        | StallKind::ContinuousLoss
        | StallKind::SmallCongestionWindow => {
            after.map(|after| format!("RACK-TLP would have probed after {after}"))
        }
        StallKind::FastDouble => {
            after.map(|after| format!("RACK would have found them lost after {after}"))
        }
        StallKind::SmallReceiveWindow => Some("a larger receive window would have helped".into()),
        StallKind::AckDelayOrLoss => Some("nothing was lost, and F-RTO would have noticed".into()),
        _ => None,
    }
}

fn shut_window(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::ZeroWindow), shares.duration());
    format!("the receive window was shut for {spent}: the receiver's application did not read")
}

fn was_shut(case: &Case<'_>) -> String {
    let times = match case.shut.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let spent = case.shares.of(Limit::ZeroWindow);
    let long = if spent.is_zero() {
        String::new()
    } else {
        format!(", {} in all", time(spent))
    };
    let probes = match case.shut.probes {
        0 => String::new(),
        probes => format!(", and asked for by {}", count(probes, "probe")),
    };
    format!("the receive window was shut {times}{long}{probes}")
}

fn handshake(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::Handshake), shares.duration());
    format!("opening the connection took {spent}")
}

fn too_short(case: &Case<'_>) -> String {
    let shares = case.shares;
    let segments = count(shares.segments, "segment");
    format!(
        "too short to tell: {segments} in {}",
        time(shares.duration())
    )
}

fn receive_window(case: &Case<'_>) -> String {
    let shares = case.shares;
    let long = case.for_so_long(Group::Receiver);
    let (Some(window), Some(rtt)) = (shares.window_when_full, shares.rtt_when_full) else {
        return format!("{long}the receive window is full");
    };
    let secs = rtt.as_secs_f64();
    let bound = if secs > 0.0 {
        format!(" at {}", rate(window / secs))
    } else {
        String::new()
    };
    format!(
        "{long}the receive window of {} bounds it{bound}: a round trip takes {}",
        bytes(window),
        time(rtt)
    )
}

fn path(case: &Case<'_>) -> String {
    let shares = case.shares;
    let long = case.for_so_long(Group::Path);
    let moved = shares.busy_bytes_per_second.unwrap_or(0.0);
    let all = case.path.bytes_per_second.filter(|all| *all >= moved);
    if let Some(all) = all.filter(|all| moved < FULL * all) {
        return format!(
            "{long}packets queue at the bottleneck, and {} arrive",
            part_of_rate(moved, all)
        );
    }
    let speed = match all {
        Some(all) => format!(": {}", part_of_rate(moved, all)),
        None => format!(" at {}", rate(moved)),
    };
    let queues = [
        Limit::EmptyQueue,
        Limit::StandingQueue,
        Limit::OverflowingQueue,
    ];
    let most = queues.into_iter().max_by_key(|limit| shares.of(*limit));
    let of = shares
        .queue_mean
        .map_or(String::new(), |delay| format!(" of {}", time(delay)));
    let queue = match most {
        Some(Limit::OverflowingQueue) => format!("behind a queue{of} that overflows"),
        Some(Limit::StandingQueue) => format!("behind a standing queue{of}"),
        _ => "with hardly a queue".to_owned(),
    };
    format!("{long}it fills the path{speed}, {queue}")
}

fn losses(case: &Case<'_>) -> String {
    let shares = case.shares;
    let long = case.for_so_long(Group::Losses);
    if shares.retransmissions == 0 {
        return format!("{long}the congestion window holds it, without a loss");
    }
    let each = shares.segments as f64 / shares.retransmissions as f64;
    let mut said =
        format!("{long}losses keep the window small: one segment in {each:.0} was retransmitted");
    let mss = shares.segment_size.max(1) as f64;
    if let Some(flight) = shares.flight {
        said.push_str(&format!(", {} were in flight", number(flight / mss)));
        let takes = case.path.bytes_per_second.zip(shares.rtt_min);
        let takes = takes.map(|(rate, rtt)| rate * rtt.as_secs_f64());
        if let Some(takes) = takes.filter(|takes| *takes > flight) {
            said.push_str(&format!(" where the path takes {}", number(takes / mss)));
        }
    }
    said
}

fn slow_start(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::SlowStart), shares.duration());
    format!("the window was still growing for {spent}: slow start")
}

fn sender(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::SenderBuffer), shares.duration());
    format!(
        "the sender held back for {spent} though all windows had room: its send buffer, most likely"
    )
}

fn mixed(case: &Case<'_>) -> String {
    let ranked = case.ranked();
    let mut parts = ranked.iter().take(2).map(|(group, spent)| {
        format!(
            "{} {}",
            part(*spent, case.shares.duration()),
            went_to(*group)
        )
    });
    match (parts.next(), parts.next()) {
        (Some(one), Some(two)) => format!("nothing limits it alone: {one}, {two}"),
        (Some(one), None) => one,
        _ => too_short(case),
    }
}
