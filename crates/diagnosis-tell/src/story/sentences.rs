//! Sentences of the templates.

use dupack_diagnosis::analyse::budget::{Group, Limit};
use dupack_diagnosis::analyse::signs::{Evidence, Unscaled};
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_diagnosis::doubt::{Doubt, FULL};
use dupack_diagnosis::read::vantage::Place;
use dupack_tcp::time::Duration;

use super::case::{ALMOST_ALL, Case, HALF, REST_SHARE, SMALL_SEGMENTS, Turning};
use super::words::{count, number, part, part_of_rate, rate, time};

pub(super) fn nothing(case: &Case<'_>) -> String {
    format!("no data was sent in {}", time(case.shares.duration()))
}

pub(super) fn black_hole(case: &Case<'_>) -> String {
    let Some(hole) = case.signs.black_hole else {
        return String::new();
    };
    let packet = |payload: u32| u64::from(payload) + case.headers;
    if hole.evidence == Evidence::ArrivedCut {
        return format!(
            "a segment of {} bytes was sent {} times in vain and arrived once it was cut to {}; no segment of that size arrived \
             afterwards: the path seems to pass packets of {} bytes and to lose packets of {} (an MTU black hole)",
            hole.fails,
            hole.transmissions,
            hole.passes,
            packet(hole.passes),
            packet(hole.fails)
        );
    }
    format!(
        "segments of {} bytes never arrive, but segments of {} bytes do: packets of {} bytes pass, packets of {} are lost \
         without an ICMP message (an MTU black hole)",
        hole.fails,
        hole.passes,
        packet(hole.passes),
        packet(hole.fails)
    )
}

pub(super) fn unscaled(case: &Case<'_>) -> String {
    let Some(Unscaled { window, shift }) = case.signs.unscaled else {
        return String::new();
    };
    format!(
        "the data in flight never exceeds the window field without its scale, {window} bytes: the sender does not know the \
         window scale of {shift} that this capture shows, as if something on the path had changed it"
    )
}

pub(super) fn nagle(case: &Case<'_>) -> String {
    let shares = case.shares;
    let waits = shares.nagle_waits.max(1);
    let each = shares.of(Limit::Nagle) / waits;
    format!(
        "{} × about {}: short segments waited for the ACK of the previous segment (Nagle's algorithm); with TCP_NODELAY they \
         would have been sent at once",
        crate::words::count(waits),
        crate::words::time(each)
    )
}

pub(super) fn policer(case: &Case<'_>) -> String {
    let shares = case.shares;
    let each = shares.segments as f64 / shares.retransmissions.max(1) as f64;
    format!(
        "a policer drops packets that exceed its rate of {}: {}one segment in {each:.0} was retransmitted",
        crate::words::rate(case.policer.unwrap_or_default()),
        crate::words::at_least(case.may_lack_repairs)
    )
}

pub(super) fn constant_rate(case: &Case<'_>) -> String {
    let rate = case
        .signs
        .constant_rate
        .map_or(0.0, |rate| rate.bytes_per_second);
    let wire =
        (case.shares.segment_size + case.headers) as f64 / case.shares.segment_size.max(1) as f64;
    let rate = crate::words::rate(rate * wire * 8.0);
    match case.place {
        Place::Sender => format!(
            "packets leave at a constant {rate}, independent of the ACKs: the bottleneck lies before the capture point, such as \
             a shaper on the sending host, or the sender or its application paces the data"
        ),
        _ => format!(
            "packets arrive at a constant {rate}: a bottleneck on the path is busy, or the sender or its application paces the \
             data"
        ),
    }
}

pub(super) fn one_direction(case: &Case<'_>) -> String {
    format!(
        "{} were sent in {}; the ACKs are not in this capture: the limit cannot be determined",
        crate::words::bytes(case.coverage.bytes as f64),
        crate::words::time(case.shares.duration())
    )
}

pub(super) fn missing_packets(case: &Case<'_>) -> String {
    format!(
        "{} of the data is missing from this capture: the limit cannot be determined",
        crate::words::share(case.coverage.missing())
    )
}

pub(super) fn contradictory(_: &Case<'_>) -> String {
    "more retransmissions than segments were found, as happens if connections with the same addresses and ports overlap: the \
     limit cannot be determined"
        .to_owned()
}

pub(super) fn options_cut(_: &Case<'_>) -> String {
    "the TCP options are cut off in this capture, and the limit cannot be determined without them: 128 bytes of each packet \
     would suffice"
        .to_owned()
}

/// Sentence for requests that are sent one after another, each after the previous answer.
pub(super) fn turns(case: &Case<'_>) -> String {
    let mut said = match case.turning() {
        Some(Turning::RoundTrips(count, each)) => format!(
            "{} round trips of {}: one request at a time",
            crate::words::count(count),
            time(each)
        ),
        Some(Turning::Answers(count, [each, under_way])) => format!(
            "one request at a time: {} turns of about {}; for {} of each turn, the answer was on its way and not yet \
             acknowledged",
            crate::words::count(count),
            time(each),
            time(under_way)
        ),
        None => String::new(),
    };
    say_the_rest(case, &mut said);
    said
}

pub(super) fn application(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of_group(Group::Application), shares.duration());
    let mut said = match case.part(Group::Application) >= ALMOST_ALL && case.wasted() < REST_SHARE {
        true => format!("nothing limits the transfer: the application sent nothing for {spent}"),
        false => format!("the application sent nothing for {spent}"),
    };
    if let Some(why) = why_idle(case) {
        said.push_str(&format!(": {why}"));
    }
    say_the_rest(case, &mut said);
    said
}

/// Adds the other groups that took at least a tenth of the time, at most two.
fn say_the_rest(case: &Case<'_>, said: &mut String) {
    let shares = case.shares;
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
}

/// Sentence for periods without packets that have more than one explanation.
pub(super) fn in_doubt(case: &Case<'_>) -> String {
    let shares = case.shares;
    let group = match case.main() {
        Some(group @ (Group::Sender | Group::Path)) => group,
        _ => Group::Application,
    };
    let spent = part(shares.of_group(group), shares.duration());
    if group == Group::Path {
        return format!(
            "for {spent}, packets queued at a bottleneck, or the sender waited for the receive window, whose scale is not in \
             this capture; {WHICH}"
        );
    }
    let other = match case.doubt() {
        Some(Doubt::Lost) => "packets that were lost before the capture point".to_owned(),
        Some(Doubt::Nagle) => {
            "Nagle's algorithm, because each short segment may have waited for an ACK".to_owned()
        }
        Some(Doubt::RoundTrip) => "round trips, whose length this capture does not show".to_owned(),
        _ => "the receive window, whose scale is not in this capture".to_owned(),
    };
    if case.doubt() == Some(Doubt::Bottleneck) {
        return format!(
            "nothing arrived for {spent}: the application or the bottleneck, because nothing shows when the segments left; \
             {WHICH}"
        );
    }
    if case.may_be_spread() {
        return format!(
            "nothing arrived for {spent}: the application, the bottleneck or {other}; {WHICH}"
        );
    }
    format!("the sender sent nothing for {spent}: the application or {other}; {WHICH}")
}

/// End of a sentence that names several possible causes.
const WHICH: &str = "the capture does not show which";

/// Returns the reason why the application sent nothing, if one reason explains most of this time: its data was not
/// ready, or it waited for answers or requests. If only one endpoint sends data, or neither does, there are no turns,
/// so no endpoint waits for requests.
pub(super) fn why_idle(case: &Case<'_>) -> Option<String> {
    let idle = case.shares.of_group(Group::Application).as_secs_f64();
    let is_most = |time: Duration| time.as_secs_f64() > HALF * idle;
    if let Some(turns) = case.turns.filter(|turns| turns.asks) {
        return is_most(turns.answering).then(|| {
            let answers = crate::words::things(turns.count, "answer", "answers");
            format!("it waited for {answers}")
        });
    }
    let unready = case.stalls.of(StallKind::DataUnavailable);
    if is_most(unready.time) {
        let times = often(unready.count);
        return Some(format!("its data was not ready {times}"));
    }
    let asked = case.stalls.of(StallKind::ClientIdle).time;
    let waits = case
        .turns
        .filter(|_| is_most(asked))?
        .count
        .saturating_sub(1);
    let times = often(waits);
    (waits > 0).then(|| format!("it waited {times} for the next request"))
}

/// Returns a number of times in words: `once`, `3 times`.
fn often(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        times => crate::words::things(times, "time", "times"),
    }
}

pub(super) const fn went_to(group: Group) -> &'static str {
    match group {
        Group::Handshake => "passed before the connection was open",
        Group::Application => "passed without data",
        Group::Receiver => "passed with a full receive window",
        Group::Nagle => "passed while short segments waited for ACKs (Nagle's algorithm)",
        Group::Sender => "passed with room in all windows",
        Group::SlowStart => "passed in slow start",
        Group::Losses => "went to losses and the small window after them",
        Group::Timers => "were spent waiting for timers",
        Group::Path => "passed at the bottleneck",
    }
}

pub(super) fn timers(case: &Case<'_>) -> String {
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

/// Returns the kind of stalls that took most of the time spent on timers, and the remedy. Returns `None` if no kind
/// explains half of this time.
pub(super) fn why_timers(case: &Case<'_>) -> Option<String> {
    if case.signs.foreign_sacks > 0 {
        return Some(format!(
            "{} SACK blocks name bytes that were never sent, as happens if a middlebox rewrites sequence numbers, and only the \
             timer repairs losses",
            case.signs.foreign_sacks
        ));
    }
    let kinds = StallKind::ALL.into_iter().filter(|k| k.ends_by_timer());
    let kind = kinds
        .filter(|kind| case.stalls.of(*kind).count > 0)
        .max_by_key(|kind| case.stalls.of(*kind).time)?;
    let total = case.stalls.of(kind);
    // A kind that took less than half of the time does not explain the time.
    if total.time.saturating_mul(2) < case.shares.of_group(Group::Timers) {
        return None;
    }
    let mut said = kind.words().to_owned();
    let small = SMALL_SEGMENTS.saturating_mul(case.shares.segment_size);
    let tail = matches!(kind, StallKind::TailOpen | StallKind::TailRecovery);
    if tail && total.mean_flight().is_some_and(|flight| flight <= small) {
        said.push_str(" of small responses");
    }
    // A remedy is named only if the capture shows, for each stall, that the retransmitted data had arrived. The arrival
    // of other data only shows that ACKs were lost.
    let is_sure = kind != StallKind::AckDelayOrLoss || case.early >= total.count;
    if let Some(remedy) = remedy(kind, total.remedy_after()).filter(|_| is_sure) {
        said.push_str("; ");
        said.push_str(&remedy);
    }
    Some(said)
}

pub(super) fn remedy(kind: StallKind, after: Option<Duration>) -> Option<String> {
    let after = after.map(time);
    match kind {
        StallKind::TailOpen
        | StallKind::TailRecovery
        | StallKind::ContinuousLoss
        | StallKind::SmallCongestionWindow => {
            after.map(|after| format!("RACK-TLP would have probed after {after}"))
        }
        StallKind::FastDouble => {
            after.map(|after| format!("RACK would have detected these losses after {after}"))
        }
        StallKind::SmallReceiveWindow => Some("a larger receive window would have helped".into()),
        StallKind::AckDelayOrLoss => {
            Some("the data had arrived, and F-RTO would have detected this".into())
        }
        _ => None,
    }
}

pub(super) fn shut_window(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::ZeroWindow), shares.duration());
    format!("the receive window was shut for {spent}: the receiver's application did not read")
}

pub(super) fn was_shut(case: &Case<'_>) -> String {
    let times = often(case.shut.times);
    let spent = case.shut.time;
    let long = if spent.is_zero() {
        String::new()
    } else {
        format!(", {} in all", time(spent))
    };
    let probes = match case.shut.probes {
        0 => String::new(),
        1 => ", and probed once".to_owned(),
        probes => format!(", and probed {probes} times"),
    };
    format!("the receive window was shut {times}{long}{probes}")
}

pub(super) fn handshake(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::Handshake), shares.duration());
    format!("opening the connection took {spent}")
}

pub(super) fn small(case: &Case<'_>) -> String {
    let shares = case.shares;
    let segments = count(shares.segments, "segment");
    format!(
        "nothing limits the transfer: {segments} in {}, which any window permits at once",
        time(shares.duration())
    )
}

pub(super) fn too_short(case: &Case<'_>) -> String {
    let shares = case.shares;
    let segments = count(shares.segments, "segment");
    format!(
        "too short to tell: {segments} in {}",
        time(shares.duration())
    )
}

pub(super) fn receive_window(case: &Case<'_>) -> String {
    let shares = case.shares;
    let long = case.for_so_long(Group::Receiver);
    let (Some(window), Some(rtt)) = (shares.window_when_full, shares.rtt_when_full) else {
        return format!("{long}the receive window is full");
    };
    let secs = rtt.as_secs_f64();
    let bound = if secs > 0.0 {
        format!(" to {}", rate(window / secs))
    } else {
        String::new()
    };
    format!(
        "{long}the receive window of {} limits the transfer{bound}: a round trip takes {}",
        crate::words::bytes(window),
        time(rtt)
    )
}

pub(super) fn path(case: &Case<'_>) -> String {
    let shares = case.shares;
    let long = case.for_so_long(Group::Path);
    let moved = shares.busy_bytes_per_second.unwrap_or(0.0);
    if let Some(shared) = case.sharing {
        return format!(
            "{long}packets queue at a bottleneck of {} that {} transfers of this capture share, and this transfer has {} of it",
            crate::words::rate(shared.rate),
            shared.others + 1,
            crate::words::share(shared.share)
        );
    }
    if case.beside {
        return format!(
            "{long}packets queue at a bottleneck that other connections of this capture may share, and this transfer has {} of it",
            rate(moved)
        );
    }
    let all = case.path.bytes_per_second.filter(|all| *all >= moved);
    if let Some(all) = all.filter(|all| moved < FULL * all) {
        return format!(
            "{long}packets queue at a bottleneck of {}, and this transfer has {} of it",
            rate(all),
            rate(moved)
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
        Some(Limit::OverflowingQueue) => format!("with a queue{of} that overflows"),
        Some(Limit::StandingQueue) => format!("with a standing queue{of}"),
        _ => "with almost no queue".to_owned(),
    };
    format!("{long}the transfer fills the path{speed}, {queue}")
}

pub(super) fn losses(case: &Case<'_>) -> String {
    let shares = case.shares;
    let long = case.for_so_long(Group::Losses);
    if shares.retransmissions == 0 {
        return format!("{long}the congestion window limits the transfer, without a loss");
    }
    if case.is_all_spurious() {
        return spurious(case, &long);
    }
    let each = shares.segments as f64 / shares.retransmissions as f64;
    let at_least = crate::words::at_least(case.may_lack_repairs);
    let mut said = format!(
        "{long}losses keep the window small: {at_least}one segment in {each:.0} was retransmitted"
    );
    let mss = shares.segment_size.max(1) as f64;
    if let Some(flight) = shares.flight {
        said.push_str(&format!(", and {} were in flight", number(flight / mss)));
        let takes = case.path.bytes_per_second.zip(shares.rtt_min);
        let takes = takes.map(|(rate, rtt)| rate * rtt.as_secs_f64());
        if let Some(takes) = takes.filter(|takes| *takes > flight) {
            said.push_str(&format!(" where the path holds {}", number(takes / mss)));
        }
    }
    said
}

/// Sentence for spurious retransmissions: the sender retransmitted although nothing was lost.
fn spurious(case: &Case<'_>, long: &str) -> String {
    let again = case.shares.retransmissions;
    let retransmitted = match again {
        1 => "one segment was retransmitted, though it was not lost".to_owned(),
        _ => format!(
            "{} segments were retransmitted, none of which was lost",
            crate::words::count(again)
        ),
    };
    let why = why_spurious(case);
    format!("{long}spurious retransmissions keep the window small: {retransmitted}{why}")
}

/// Returns the cause of most of the spurious retransmissions. If the cause does not explain all of them, the text
/// contains the number that it explains.
fn why_spurious(case: &Case<'_>) -> String {
    let reasons = [
        (case.overtaken, "packets overtake one another on the path"),
        (case.early, "timers expired before the ACKs arrived"),
    ];
    let most = reasons
        .into_iter()
        .find(|(explained, _)| explained.saturating_mul(2) > case.spurious);
    match most {
        Some((explained, why)) if explained >= case.spurious => format!(": {why}"),
        Some((explained, why)) => format!(
            ": {why}, which explains {} of them",
            crate::words::count(explained)
        ),
        None => String::new(),
    }
}

pub(super) fn slow_start(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::SlowStart), shares.duration());
    format!("the window was still growing in slow start for {spent}")
}

pub(super) fn sender(case: &Case<'_>) -> String {
    let shares = case.shares;
    let spent = part(shares.of(Limit::SenderBuffer), shares.duration());
    // At the sender, the capture shows what triggered each segment, so the application is excluded.
    let application = match case.place {
        Place::Sender => "",
        _ => "its application, ",
    };
    format!(
        "the sender held back for {spent} although the receive window had room: {application}its send buffer, a congestion \
         window that does not grow, or a shaper before the capture point"
    )
}

pub(super) fn mixed(case: &Case<'_>) -> String {
    let ranked = case.ranked();
    let mut parts = ranked.iter().take(2).map(|(group, spent)| {
        format!(
            "{} {}",
            part(*spent, case.shares.duration()),
            went_to(*group)
        )
    });
    match (parts.next(), parts.next()) {
        (Some(one), Some(two)) => format!("no single limit: {one}, {two}"),
        (Some(one), None) => one,
        _ => too_short(case),
    }
}
