//! Identification of the congestion control.

use super::Seen;
use super::clue::{self, Weighing};
use super::growth::{Backlog, Move};
use super::opening::Opening;
use super::probing::Depth;
use super::reductions::Reduction;
use super::report::{Candidate, Control, Identification, SlowStartEnd, Timing};

/// Fraction of the window that Reno keeps after a loss (RFC 5681 §3.1).
const HALF: f64 = 0.5;
/// Fraction of the window that CUBIC keeps after a loss (RFC 9438 §4.6).
const SEVEN_TENTHS: f64 = 0.7;
/// Typical error of a measured reduction factor, due to round boundaries and whole segments.
const FACTOR_OFF: f64 = 0.05;
/// Additional error of a measured factor, in segments. It is divided by the window.
const FACTOR_OFF_SEGMENTS: f64 = 0.6;
/// Typical error of a factor that depends on a measured rate, because senders measure the rate differently.
const RATE_OFF: f64 = 0.13;
/// Fraction of reductions whose measurement is wrong because of a second loss or because of another limit than the
/// window.
const STRAY: f64 = 0.12;
/// Maximum number of reductions that contribute to the score.
const REDUCTIONS_COUNTED: f64 = 20.0;
/// Minimum log-likelihood advantage over chance per reduction.
const MUST_FIT: f64 = 0.25;
/// Minimum fraction of the rounds without a change for a fixed window. It is below 1 because round boundaries are
/// inexact.
const FIXED_STAYS: f64 = 0.95;
/// Minimum number of rounds with a queue and without growth as evidence that the window stops growing when there is a
/// queue.
const STOPS_LEAST: u32 = 4;
/// Minimum score of a control's growth for the control to be named.
const FITS_LEAST: f64 = -2.0;
/// Maximum score for a window that varies around a mean. It is limited because the windows of many senders vary.
const PROBING_MOST: f64 = 4.0;
/// Minimum number of reductions to conclude that the window follows the measured rate.
const RATE_LEAST: usize = 4;
/// Minimum mean window, in segments, to conclude that the window follows the measured rate: in a small window, the rate
/// matches many factors by chance. If the mean deviation is below `RATE_NEAR`, smaller windows suffice.
const RATE_BEFORE: f64 = 16.0;
/// Maximum mean deviation for which smaller windows suffice (see `RATE_BEFORE`).
const RATE_NEAR: f64 = 0.05;
/// Minimum number of reductions for the median to be reliable.
const MEDIAN_LEAST: usize = 6;
/// Typical error of the median factor, due to whole segments and to the round in which it is measured.
const MEDIAN_OFF: f64 = 0.03;
/// Maximum contribution of the median to the score, in typical errors in excess of the first one.
const MEDIAN_MOST: f64 = 4.0;
/// Additional error of the median, in segments. It is divided by the window.
const MEDIAN_OFF_SEGMENTS: f64 = 0.25;
/// Maximum number of rounds per queue class that contribute to the score.
const STEPS_COUNTED: f64 = 10.0;
/// Minimum number of dips for the dips to be evidence: fewer may occur by chance.
const DIPS_LEAST: u32 = 2;
/// Maximum number of dips that contribute to the score.
const DIPS_COUNTED: u32 = 3;
/// Score of a dip.
const DIP_WORTH: f64 = 4.0;
/// Minimum number of measured losses to name a loss-based control. The sum of measured losses and growths must exceed
/// this number, because another loss or a pause may disturb the measurement of a single loss.
const LOSSES_LEAST: usize = 2;
/// Minimum number of growth periods that were measured after losses.
const GROWTHS_LEAST: u32 = 2;
/// Maximum deviation of the median factor from the factor of the control.
const SHAPE_OFF: f64 = 0.05;
/// Minimum number of rounds to conclude that the window is fixed.
const FIXED_ROUNDS: u32 = 20;
/// Minimum window, in segments, to conclude that the window is fixed: very small windows hardly grow with any control.
const FIXED_SEGMENTS: f32 = 5.0;
/// Minimum fraction of the window that remains if a loss does not reduce the window. With CUBIC, 0.7 of the window and
/// the growth since the loss remain.
const STAYED: f32 = 0.88;
/// Maximum median fraction of the window after losses that shows a loss-based control: BBR version 3 leaves at least
/// 0.7 (draft-ietf-ccwg-bbr, `Beta`).
const HALVED: f32 = 0.6;
/// Minimum number of losses to conclude that losses leave the window unchanged (`STAYED`).
const STAYED_LEAST: usize = 3;
/// Duration in seconds after which a transfer with BBR must have had a dip.
const DIP_DUE: f64 = 20.0;

/// Returns the logarithm of the prior probability of a control. CUBIC, the default of Linux, is the most likely one.
const fn prior(control: Control) -> f64 {
    match control {
        Control::Cubic => 0.0,
        Control::Westwood | Control::Fixed => -1.0,
        // Vegas behaves like Reno while the queue is empty, so its prior probability is low.
        Control::Vegas => -2.5,
        _ => -0.3,
    }
}

pub(super) fn verdict(seen: &Seen) -> Identification<Control> {
    let weighings = Control::ALL.map(|control| {
        let mut weighing = Weighing::new(control, prior(control));
        reductions(control, seen, &mut weighing);
        fits(control, seen, &mut weighing);
        steps(control, seen, &mut weighing);
        if control == Control::Vegas
            && !stops_at_a_queue(seen)
            && !doubles_every_other(&seen.opening)
        {
            weighing.must(-1.0);
        }
        opening(control, &seen.opening, &mut weighing);
        dips(control, seen, &mut weighing);
        pace(control, seen, &mut weighing);
        if goes_by_losses(control) && seen.pace.is_by_rate() {
            weighing.must(-1.0);
        }
        if goes_by_losses(control) && !enough_losses(seen) {
            // Growth alone does not identify a control: many controls grow in the same way, and so does a window with
            // another limit.
            weighing.lacks();
        }
        let with_acks = seen.pace.timing() == Some(Timing::WithAcks);
        if control == Control::Fixed && !(is_steady(seen) && with_acks) {
            weighing.must(-1.0);
        }
        if is_bbr(control) && !shows_a_model(seen) {
            // Pacing alone is no evidence of BBR: applications and Linux's fq also pace.
            weighing.lacks();
        }
        weighing
    });
    named(clue::decide(weighings.into(), nothing(seen)), seen)
}

/// Replaces the name in the verdict by a name that the evidence supports: a family if its members behave alike, or no
/// name if there is too little evidence.
fn named(mut verdict: Identification<Control>, seen: &Seen) -> Identification<Control> {
    let paces = seen.pace.is_by_rate() && seen.probing.is_unbounded();
    if paces && seen.cycle.is_seen() {
        verdict.name = Some(Control::BbrOne);
        verdict.nearest = verdict.name;
        "its rate rises and falls once in eight round trips: the cycle of version 1"
            .clone_into(&mut verdict.why);
        return verdict;
    }
    let halves = halves(&verdict.candidates, verdict.nearest) && has_shape(Control::Reno, seen);
    let name = match verdict.name {
        _ if halves => Some(Control::Halving),
        Some(Control::Cubic) if has_shape(Control::Cubic, seen) => Some(Control::Cubic),
        Some(Control::Reno | Control::Vegas | Control::Westwood | Control::Cubic) => None,
        Some(other) => Some(other),
        None if !shows_a_model(seen) => None,
        None if verdict.nearest.is_some() && is_some_bbr(&verdict.candidates) => {
            Some(Control::BbrOfSomeVersion)
        }
        None => None,
    };
    if let Some(why) = why_unnamed(&verdict, name, seen) {
        verdict.why = why;
    }
    if name == Some(Control::Halving) {
        verdict.why = why_halving(seen).unwrap_or(verdict.why);
    }
    verdict.name = name;
    verdict
}

/// Returns the reason why there is no name; `None` if there is one, or if neither pacing nor a leading candidate gives
/// a special reason.
fn why_unnamed(
    verdict: &Identification<Control>,
    name: Option<Control>,
    seen: &Seen,
) -> Option<String> {
    if name.is_some() {
        return None;
    }
    if seen.pace.is_by_rate() {
        let percent = 100.0 * seen.pace.share_between()?;
        return Some(format!(
            "it was paced ({percent:.0} % of the new data left between ACKs), and its control is unclear"
        ));
    }
    let name = verdict.name?;
    Some(format!("too little evidence; the nearest is {name}"))
}

/// Returns the reason for naming Reno's family, with the quartiles of the measured factors.
fn why_halving(seen: &Seen) -> Option<String> {
    let kept = seen.reductions.kept();
    let (low, middle, high) = quartiles(kept.iter().map(Reduction::factor))?;
    Some(format!(
        "after a loss the window is {middle:.2} of its previous size ({low:.2} to {high:.2} in the middle half of {}), and grows \
         by one segment per round trip: Reno, or a similar control",
        kept.len()
    ))
}

/// `true` if Reno or Vegas is the nearest candidate, and no control outside their family is close.
fn halves(candidates: &[Candidate<Control>], nearest: Option<Control>) -> bool {
    let of_family = |c: &&Candidate<Control>| {
        matches!(c.name, Control::Reno | Control::Vegas | Control::Westwood)
    };
    let next = candidates.iter().find(|c| !of_family(c));
    let ahead = candidates.first().zip(next);
    matches!(nearest, Some(Control::Reno | Control::Vegas))
        && ahead.is_some_and(|(first, next)| clue::stands_out(first.score, next.score))
}

/// `true` if both the window reductions and the growth after these reductions fit `control`.
fn has_shape(control: Control, seen: &Seen) -> bool {
    let (kept, fits) = (seen.reductions.kept(), seen.growth.fits());
    let (left, fit) = match control {
        Control::Cubic => (SEVEN_TENTHS, fits.cubic()),
        _ => (HALF, fits.line().max(fits.plateau)),
    };
    let Some((_, middle, _)) = quartiles(kept.iter().map(Reduction::factor)) else {
        return false;
    };
    let before = kept.iter().map(|r| f64::from(r.before)).sum::<f64>() / kept.len() as f64;
    // If the capture was not taken at the sender, rounds are inferred. In this case, small windows do not show the
    // factor, and a window that follows a rate may seem to have a factor of 0.7.
    let by_rate = control == Control::Cubic && follows_rate(kept);
    if !seen.pace.is_at_sender() && (before < RATE_BEFORE || by_rate) {
        return false;
    }
    let off = (f64::from(middle) - left - 0.5 / before).abs();
    off <= SHAPE_OFF + MEDIAN_OFF_SEGMENTS / before
        && kept.len() >= LOSSES_LEAST
        && fits.epochs >= GROWTHS_LEAST
        && fit > 0.0
}

/// `true` if the control is identified by its reductions.
const fn goes_by_losses(control: Control) -> bool {
    matches!(control, Control::Reno | Control::Cubic | Control::Westwood)
}

/// `true` if enough losses were measured, and enough growth after losses.
fn enough_losses(seen: &Seen) -> bool {
    let epochs = usize::try_from(seen.growth.fits().epochs).unwrap_or(usize::MAX);
    let kept = seen.reductions.kept().len();
    kept >= 1 && kept + epochs.min(LOSSES_LEAST) > LOSSES_LEAST
}

/// `true` if there are enough rounds, and the flight is large enough, to conclude that a constant window is fixed.
fn is_steady(seen: &Seen) -> bool {
    let all = [Backlog::Few, Backlog::Some, Backlog::Many]
        .into_iter()
        .flat_map(|backlog| {
            [Move::Down, Move::Stays, Move::Up].map(|step| seen.growth.count(backlog, step))
        });
    let rounds = all.fold(0, u32::saturating_add);
    rounds >= FIXED_ROUNDS && seen.rounds.current().most >= FIXED_SEGMENTS
}

const fn is_bbr(control: Control) -> bool {
    matches!(control, Control::Bbr | Control::BbrOne)
}

/// `true` if a paced sender showed behaviour of a model-based control: dips without another limit, a slow start that
/// ended with a reduction without a loss, or a window unchanged by losses. `false` if losses halved the window.
fn shows_a_model(seen: &Seen) -> bool {
    let (dips, hasty) = (seen.probing.count(), seen.probing.hasty());
    let dips = seen.probing.is_unbounded() && dips > hasty.saturating_mul(2) && dips >= DIPS_LEAST;
    let drained = seen.opening.end() == Some(SlowStartEnd::Drained);
    let kept = seen.reductions.kept();
    let stays = kept.iter().filter(|r| r.factor() > STAYED).count();
    let halved = quartiles(kept.iter().map(Reduction::factor))
        .is_some_and(|(_, middle, _)| kept.len() >= LOSSES_LEAST && middle < HALVED);
    let unmoved = kept.len() >= STAYED_LEAST && 2 * stays > kept.len();
    let paced = seen.pace.timing() == Some(Timing::Paced);
    paced && !halved && (dips || drained || unmoved)
}

/// `true` if both versions of BBR fit, and no other control does.
fn is_some_bbr(candidates: &[Candidate<Control>]) -> bool {
    let is_bbr = |c: &Candidate<Control>| matches!(c.name, Control::Bbr | Control::BbrOne);
    match candidates {
        [first, second, third, ..] => {
            is_bbr(first) && is_bbr(second) && clue::stands_out(second.score, third.score)
        }
        _ => false,
    }
}

fn nothing(seen: &Seen) -> String {
    let losses = seen.reductions.events();
    if losses == 0 && seen.timer.timeouts() == 0 {
        "it lost nothing, and its window shows no shape".to_owned()
    } else {
        "no loss could be measured: the window was too small, or losses followed one another closely".to_owned()
    }
}

fn laplace(off: f64, scale: f64) -> f64 {
    (-off.abs() / scale).exp() / (2.0 * scale)
}

/// Returns the probability density of the measured reduction factor under a control, for factors from 0.2 to 1.2.
fn density(control: Control, reduction: &Reduction) -> f64 {
    let before = f64::from(reduction.before);
    let factor = f64::from(reduction.factor());
    let scale = FACTOR_OFF + FACTOR_OFF_SEGMENTS / before;
    // In the round in which the new window is measured, it has already grown by half a segment on average.
    let grown = 0.5 / before;
    let around = |middle: f64| laplace(factor - middle - grown, scale);
    let model = match control {
        Control::Reno | Control::Vegas => around(HALF),
        Control::Cubic => around(SEVEN_TENTHS),
        Control::Fixed => laplace(factor - 1.0, scale),
        Control::Westwood => {
            let left = (f64::from(reduction.pipe) / before).clamp(2.0 / before, 1.0);
            laplace(factor - left, RATE_OFF)
        }
        _ => 0.5 * laplace(factor - 1.0, 0.1) + 0.5,
    };
    (1.0 - STRAY) * model + STRAY
}

fn reductions(control: Control, seen: &Seen, weighing: &mut Weighing<Control>) {
    let kept = seen.reductions.kept();
    let Some((low, middle, high)) = quartiles(kept.iter().map(Reduction::factor)) else {
        return;
    };
    let count = kept.len() as f64;
    let sum: f64 = kept.iter().map(|r| density(control, r).ln()).sum();
    let counted = count.min(REDUCTIONS_COUNTED);
    let worth = sum / count * counted;
    let worth = worth + median(control, kept, f64::from(middle));
    if control == Control::Westwood && !follows_rate(kept) {
        weighing.must(-1.0);
    }
    // The reductions must fit regardless of the other clues, because many controls grow in a similar way. With BBR, any
    // window is possible after a loss.
    if !matches!(control, Control::Bbr | Control::BbrOne) {
        weighing.must(worth - MUST_FIT * counted);
    }
    let own = match control {
        Control::Reno => "Reno halves it",
        Control::Vegas => "Vegas halves it",
        Control::Cubic => "CUBIC keeps 0.7",
        Control::Westwood => "Westwood keeps what the measured rate fills",
        Control::Fixed => "a fixed window stays the same",
        _ => "BBR follows its model and not the loss",
    };
    let sentence = format!(
        "after a loss the window is {middle:.2} of its previous size ({low:.2} to {high:.2} in the middle half of {}): {own}",
        kept.len()
    );
    weighing.clue(worth, sentence);
}

/// `true` if the reductions can be compared with the measured rate: there are enough of them, and the windows are large
/// or the deviation is small.
fn follows_rate(kept: &[Reduction]) -> bool {
    let count = kept.len().max(1) as f64;
    let off = |r: &Reduction| f64::from((r.factor() - (r.pipe / r.before).min(1.0)).abs());
    let off = kept.iter().map(off).sum::<f64>() / count;
    let before = kept.iter().map(|r| f64::from(r.before)).sum::<f64>() / count;
    kept.len() >= RATE_LEAST && (before >= RATE_BEFORE || off < RATE_NEAR)
}

/// Returns the score of the median factor. Its main error is the rounding to whole segments.
fn median(control: Control, kept: &[Reduction], middle: f64) -> f64 {
    let share = match control {
        Control::Reno | Control::Vegas => HALF,
        Control::Cubic => SEVEN_TENTHS,
        _ => return 0.0,
    };
    if kept.len() < MEDIAN_LEAST {
        return 0.0;
    }
    let before = kept.iter().map(|r| f64::from(r.before)).sum::<f64>() / kept.len() as f64;
    let scale = MEDIAN_OFF + MEDIAN_OFF_SEGMENTS / before;
    let off = (middle - share - 0.5 / before).abs() / scale;
    2.0 * (1.0 - off).clamp(-MEDIAN_MOST, 1.0)
}

fn fits(control: Control, seen: &Seen, weighing: &mut Weighing<Control>) {
    let fits = seen.growth.fits();
    if fits.epochs == 0 {
        return;
    }
    let (fit, shape) = match control {
        Control::Reno | Control::Westwood => (fits.line(), "one segment per round trip"),
        Control::Vegas => (
            fits.line().max(fits.plateau),
            "one segment per round trip up to a plateau",
        ),
        Control::Cubic => (fits.cubic(), "CUBIC's curve"),
        Control::Fixed => (fits.constant, "a constant"),
        _ => (fits.probing, "a mean with probes around it"),
    };
    let worth = f64::from(fit * fits.weight()).min(match control {
        Control::Bbr | Control::BbrOne => PROBING_MOST,
        _ => f64::INFINITY,
    });
    if worth < FITS_LEAST && !matches!(control, Control::Bbr | Control::BbrOne) {
        weighing.must(-1.0);
    }
    let verb = if worth > 0.0 { "fits" } else { "does not fit" };
    let sentence = format!(
        "{shape} {verb} the growth between losses ({})",
        match fits.epochs {
            1 => "once".to_owned(),
            epochs => format!("{epochs} times"),
        }
    );
    weighing.clue(worth, sentence);
}

/// Returns the likelihoods that the window shrinks, stays the same, or grows in a round.
fn moves(control: Control, backlog: Backlog) -> [f64; 3] {
    match (control, backlog) {
        (Control::Reno | Control::Westwood, _) => [0.04, 0.26, 0.7],
        (Control::Cubic, _) => [0.04, 0.41, 0.55],
        (Control::Fixed, _) => [0.01, 0.98, 0.01],
        (Control::Vegas, Backlog::Few) => [0.04, 0.26, 0.7],
        (Control::Vegas, Backlog::Some) => [0.04, 0.92, 0.04],
        (Control::Vegas, Backlog::Many) => [0.8, 0.15, 0.05],
        _ => [0.3, 0.35, 0.35],
    }
}

fn steps(control: Control, seen: &Seen, weighing: &mut Weighing<Control>) {
    let (mut count, mut worth, mut up, mut stays) = (0.0, 0.0, 0.0, 0.0);
    for backlog in [Backlog::Few, Backlog::Some, Backlog::Many] {
        let likely = moves(control, backlog);
        let (mut of_backlog, mut sum) = (0.0, 0.0);
        for (step, p) in [Move::Down, Move::Stays, Move::Up].into_iter().zip(likely) {
            let times = f64::from(seen.growth.count(backlog, step));
            of_backlog += times;
            sum += times * (3.0 * p).ln();
            match step {
                Move::Up => up += times,
                Move::Stays => stays += times,
                Move::Down => {}
            }
        }
        count += of_backlog;
        // Rounds are weighted by queue class, so that the many rounds without a queue do not outweigh the few rounds
        // with a queue.
        worth += sum * (STEPS_COUNTED / of_backlog.max(1.0)).min(1.0);
    }
    if count < 4.0 {
        return;
    }
    if control == Control::Fixed && stays < FIXED_STAYS * count {
        weighing.must(-1.0);
    }
    let sentence = format!(
        "the window grew in {up} of {count} rounds without a loss: {}",
        match control {
            Control::Reno | Control::Westwood => "with Reno it grows in each",
            Control::Cubic => "with CUBIC it grows in most",
            Control::Fixed => "a fixed window grows in none",
            Control::Vegas => "with Vegas it grows only while the queue is empty",
            _ => "with BBR it goes up and down",
        }
    );
    weighing.clue(worth, sentence);
}

/// `true` if the window stopped growing when there was a queue. This is evidence of Vegas, which otherwise behaves like
/// Reno.
fn stops_at_a_queue(seen: &Seen) -> bool {
    let of = |backlog, steps: &[Move]| -> u32 {
        let counts = steps.iter().map(|&step| seen.growth.count(backlog, step));
        counts.fold(0, u32::saturating_add)
    };
    let stops = of(Backlog::Some, &[Move::Stays])
        .saturating_add(of(Backlog::Many, &[Move::Stays, Move::Down]));
    let grows = of(Backlog::Some, &[Move::Up]).saturating_add(of(Backlog::Many, &[Move::Up]));
    stops >= STOPS_LEAST && stops > grows.saturating_mul(2)
}

const fn doubled(growth: &f32) -> bool {
    *growth > 1.6
}

const fn stayed(growth: &f32) -> bool {
    *growth < 1.2
}

/// `true` if slow start doubled in every other round trip, as in Vegas as published (Brakmo and Peterson).
fn doubles_every_other(opening: &Opening) -> bool {
    let growth: Vec<f32> = opening.growth().collect();
    let pairs = growth.windows(2);
    let alternates = pairs.clone().filter(|p| match p {
        [one, next] => (doubled(one) && stayed(next)) || (stayed(one) && doubled(next)),
        _ => false,
    });
    alternates.count() >= 3 && !growth.windows(2).any(|p| p.iter().all(doubled))
}

fn opening(control: Control, opening: &Opening, weighing: &mut Weighing<Control>) {
    let growth: Vec<f32> = opening.growth().collect();
    if growth.len() < 3 {
        return;
    }
    let every_other = doubles_every_other(opening);
    let in_a_row = growth.windows(2).filter(|p| p.iter().all(doubled)).count();
    let never = growth.iter().all(|g| (0.98..=1.02).contains(g));
    let grew = growth.iter().any(|g| *g > 1.3);
    match control {
        Control::Vegas if every_other => {
            weighing.clue(6.0, "slow start doubled in every other round trip");
        }
        Control::Vegas if in_a_row >= 2 => {
            weighing.clue(
                -2.0,
                "slow start doubled in every round trip; the paper's Vegas doubles in every other",
            );
        }
        Control::Fixed if grew => weighing.clue(-40.0, "the window grew at the beginning"),
        Control::Fixed if never => weighing.clue(5.0, "the window was the same from the beginning"),
        _ if never => weighing.clue(-5.0, "the window never grew"),
        _ if every_other => {
            weighing.clue(-5.0, "slow start doubled only in every other round trip");
        }
        _ => {}
    }
    if opening.end() == Some(SlowStartEnd::Drained) {
        let worth = match control {
            Control::Bbr | Control::BbrOne => 2.5,
            Control::Vegas => 1.0,
            _ => -4.0,
        };
        weighing.clue(worth, "slow start's window was reduced without a loss");
    }
}

fn dips(control: Control, seen: &Seen, weighing: &mut Weighing<Control>) {
    let count = seen.probing.count();
    let is_bbr = matches!(control, Control::Bbr | Control::BbrOne);
    if count == 0 {
        let could_see = seen.probing.could_see(seen.rounds.current().number);
        if is_bbr && could_see && seen.seconds() > DIP_DUE {
            let sentence = format!("no ProbeRTT in {:.0} s", seen.seconds());
            weighing.clue(-3.0, sentence);
        }
        return;
    }
    if seen.probing.hasty().saturating_mul(2) >= count {
        let sentence =
            format!("the flight dipped {count} times, mostly at shorter intervals than BBR's");
        weighing.clue(if is_bbr { -3.0 } else { 0.0 }, sentence);
        return;
    }
    let depth = match count {
        // A single dip may have another cause.
        1 => Depth::Unclear,
        _ => seen.probing.depth(),
    };
    let counted = f64::from(count.min(DIPS_COUNTED));
    let every = seen.seconds() / f64::from(count);
    let sentence = format!(
        "the flight dipped {count} times without a loss, once in {every:.1} s, {}",
        match depth {
            Depth::Four => "to four segments",
            Depth::Half => "to half",
            Depth::Unclear => "to half or four segments",
        }
    );
    let worth = match (control, depth) {
        (Control::Bbr, Depth::Half | Depth::Unclear)
        | (Control::BbrOne, Depth::Four | Depth::Unclear) => DIP_WORTH * counted,
        (Control::Bbr | Control::BbrOne, _) => 0.0,
        _ => -DIP_WORTH * counted,
    };
    weighing.clue(worth, sentence);
}

fn pace(control: Control, seen: &Seen, weighing: &mut Weighing<Control>) {
    let (Some(timing), Some(share)) = (seen.pace.timing(), seen.pace.share_between()) else {
        return;
    };
    let percent = 100.0 * share;
    let is_bbr = matches!(control, Control::Bbr | Control::BbrOne);
    if control == Control::Fixed && timing == Timing::Paced {
        // No known control combines a fixed window with pacing.
        weighing.must(-1.0);
    }
    if is_bbr && timing == Timing::WithAcks {
        // BBR always paces.
        weighing.must(-1.0);
    }
    if seen.pace.is_by_rate() {
        weighing.clue(
            if is_bbr { 4.0 } else { -3.0 },
            format!("{percent:.0} % of the new data left between ACKs: at a rate of its own"),
        );
        return;
    }
    match timing {
        Timing::Paced => weighing.clue(
            if is_bbr { 2.0 } else { -1.0 },
            format!("{percent:.0} % of the new data left between ACKs: it was paced"),
        ),
        Timing::WithAcks => weighing.clue(
            if is_bbr { -8.0 } else { 0.0 },
            format!("{percent:.0} % of the new data left between ACKs: it was not paced"),
        ),
    }
}

/// Returns the lower quartile, the median and the upper quartile.
fn quartiles(values: impl Iterator<Item = f32>) -> Option<(f32, f32, f32)> {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    let at = |share: usize| {
        values
            .get((values.len().checked_sub(1)? * share + 2) / 4)
            .copied()
    };
    Some((at(1)?, at(2)?, at(3)?))
}

/// Returns the median flight right after a loss, as a fraction of the window and in segments.
pub(super) fn middle_first(kept: &[Reduction]) -> Option<(f32, f32)> {
    let (_, share, _) = quartiles(kept.iter().map(Reduction::first_factor))?;
    let (_, segments, _) = quartiles(kept.iter().map(|r| r.first))?;
    Some((share, segments))
}

#[cfg(test)]
mod tests;
