//! The claims, judged by their rules.

use super::gains::{Gains, Scenario, everywhere};
use super::{ALGORITHMS, DYNAMIC, Groups, LDA_EQ, METHODS, OF_THE_PAPER, TCP, VENO, place};
use crate::claims::{Finding, Verdict};
use crate::judging::{all, finding, interval, within};
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;

type Named = (&'static str, Option<Finding>);

pub(super) fn findings(groups: &Groups) -> Vec<Named> {
    let Groups {
        w,
        c,
        lda_w,
        lda_c,
        drawn_w,
        drawn_c,
        drawn_w_1s,
        drawn_c_1s,
        ..
    } = groups;
    let mut out = wireless(w);
    out.extend(congestion(c));
    out.push(("no-single-best", no_single_best(w, c)));
    out.extend(differentiation(lda_w, lda_c));
    out.extend([
        ("dynamic-w", beats_all(w)),
        ("dynamic-c", beats_all(c)),
        ("dynamic-drawn-w", beats_all(drawn_w)),
        ("dynamic-drawn-c", beats_all(drawn_c)),
        ("dynamic-drawn-w-1s", beats_all(drawn_w_1s)),
        ("dynamic-drawn-c-1s", beats_all(drawn_c_1s)),
    ]);
    out
}

/// The claims of figure 3.
fn wireless(w: &Gains) -> Vec<Named> {
    let at_1 = |loss: f64| move |s: &Scenario| s.hops == 1 && (s.loss - loss).abs() < 1e-9;
    let hops = |hops: u32| move |s: &Scenario| s.hops == hops;
    let losses = |method: &str| trend(w, method, [1.0, 3.0, 5.0].map(at_1));
    let by_hops = |method: &str| trend(w, method, [1, 3, 5].map(hops));
    let falls = |means: &[Summary]| means.windows(2).all(|m| m[1].mean < m[0].mean);
    let rises = |means: &[Summary]| means.windows(2).all(|m| m[1].mean > m[0].mean);
    let judged = |means: Option<Vec<Summary>>, rule: &dyn Fn(&[Summary]) -> bool| {
        let means = means?;
        finding(rule(&means), percents(&means))
    };
    vec![
        ("w-winners", winners(w)),
        ("w-slow-start-loses", slow_start_loses(w)),
        ("w-large-windows-lose", large_windows_lose(w)),
        ("w-1-at-low-loss", at_low_loss(w, at_1(1.0))),
        (
            "w-1-falls-with-loss",
            judged(losses("1"), &|m| falls(m) && m[2].mean < 1.0),
        ),
        ("w-21-rises-with-loss", judged(losses("21"), &rises)),
        (
            "w-21-best-at-high-loss",
            is_best(w, "21", &["1", "21", "24", "27"], at_1(5.0)),
        ),
        ("w-1-rises-with-hops", judged(by_hops("1"), &rises)),
        (
            "w-21-falls-with-hops",
            judged(by_hops("21"), &|m| {
                falls(m) && m.iter().all(|s| s.mean > 1.0)
            }),
        ),
        (
            "w-1-best-at-many-hops",
            is_best(w, "1", &METHODS[..METHODS.len() - 1], hops(5)),
        ),
        ("w-small-windows", small_windows(w)),
    ]
}

/// The claims of figure 4.
fn congestion(c: &Gains) -> Vec<Named> {
    let others = &METHODS[1..METHODS.len() - 1];
    let flows = [5, 15, 20].map(|flows| move |s: &Scenario| s.hops == 1 && s.flows == flows);
    let hops = [1, 3, 5].map(|hops| move |s: &Scenario| s.hops == hops);
    let bests: Option<Vec<Finding>> = flows
        .into_iter()
        .map(|at| is_best(c, "21", others, at))
        .collect();
    let by_hops: Option<Vec<Finding>> = hops
        .into_iter()
        .map(|at| {
            let mut best = is_best(c, "21", others, at)?;
            if c.gain(place("21"), at)?.mean <= 0.95 {
                best.verdict = Verdict::DoesNotHold;
            }
            Some(best)
        })
        .collect();
    vec![
        ("c-21-least", bests.map(together)),
        ("c-1-22-24-alike", alike(c)),
        ("c-others-severe", severe(c)),
        ("c-21-least-by-hops", by_hops.map(together)),
    ]
}

fn together(findings: Vec<Finding>) -> Finding {
    let texts: Vec<String> = findings.iter().map(|f| f.found.clone()).collect();
    Finding::new(all(findings.iter().map(|f| f.verdict)), texts.join("; "))
}

/// A gain as a change in per cent, with its interval.
pub(super) fn percent(gain: &Summary) -> String {
    let changed = Summary {
        mean: (gain.mean - 1.0) * 100.0,
        half_width_95: gain.half_width_95.map(|half| half * 100.0),
        ..*gain
    };
    let text = spread(&changed, 1);
    if changed.mean > 0.0 {
        format!("+{text} %")
    } else {
        format!("{text} %")
    }
}

fn percents(gains: &[Summary]) -> String {
    let texts: Vec<String> = gains.iter().map(percent).collect();
    texts.join(", ")
}

/// Gains of several methods over a whole group, by name.
fn named(gains: &Gains, methods: &[&str]) -> Option<Vec<Summary>> {
    let of = |method: &&str| gains.gain(place(method), everywhere);
    methods.iter().map(of).collect()
}

fn listed(methods: &[&str], gains: &[Summary]) -> String {
    let texts = methods.iter().zip(gains);
    let texts: Vec<String> = texts.map(|(m, g)| format!("{m}: {}", percent(g))).collect();
    texts.join(", ")
}

fn trend<P: Fn(&Scenario) -> bool>(
    gains: &Gains,
    method: &str,
    places: [P; 3],
) -> Option<Vec<Summary>> {
    let of = |at: &P| gains.gain(place(method), at);
    places.iter().map(of).collect()
}

/// Which side of 1 a mean is claimed to be on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// A mean on the other side with an interval that contains 1 decides nothing.
fn side(gain: &Summary, side: Side) -> Verdict {
    let holds = match side {
        Side::Above => gain.mean > 1.0,
        Side::Below => gain.mean < 1.0,
    };
    let (low, high) = interval(gain);
    if holds {
        Verdict::Holds
    } else if low <= 1.0 && 1.0 <= high {
        Verdict::CannotBeTold
    } else {
        Verdict::DoesNotHold
    }
}

fn winners(w: &Gains) -> Option<Finding> {
    let winners = ["1", "21", "24", "27"];
    let others = [
        "11", "12", "13", "14", "15", "16", "17", "22", "23", "25", "26",
    ];
    let (above, below) = (named(w, &winners)?, named(w, &others)?);
    let verdicts = above.iter().map(|gain| side(gain, Side::Above));
    let verdicts = verdicts.chain(below.iter().map(|gain| side(gain, Side::Below)));
    Some(Finding::new(
        all(verdicts),
        format!("{}; {}", listed(&winners, &above), listed(&others, &below)),
    ))
}

fn slow_start_loses(w: &Gains) -> Option<Finding> {
    let methods = ["11", "12", "13", "14", "15", "16", "17"];
    let gains = named(w, &methods)?;
    let verdicts = gains.iter().map(|gain| {
        if interval(gain).0 > 1.0 {
            Verdict::DoesNotHold
        } else if gain.mean >= 1.0 {
            Verdict::CannotBeTold
        } else {
            Verdict::Holds
        }
    });
    Some(Finding::new(all(verdicts), listed(&methods, &gains)))
}

fn large_windows_lose(w: &Gains) -> Option<Finding> {
    let methods = ["15", "16", "25", "26"];
    let gains = named(w, &methods)?;
    let holds = gains.iter().all(|gain| gain.mean < 0.9);
    finding(holds, listed(&methods, &gains))
}

fn at_low_loss(w: &Gains, at: impl Fn(&Scenario) -> bool) -> Option<Finding> {
    let gain = w.gain(place("1"), at)?;
    finding(interval(&gain).0 > 1.0, percent(&gain))
}

/// Whether `method` has the highest mean gain of `methods` over the scenarios of `at`.
fn is_best(
    gains: &Gains,
    method: &str,
    methods: &[&str],
    at: impl Fn(&Scenario) -> bool,
) -> Option<Finding> {
    let own = gains.gain(place(method), &at)?;
    let (best, gain) = gains.best(methods.iter().map(|m| place(m)), &at)?;
    let found = format!(
        "{method}: {}; best is {} with {}",
        percent(&own),
        METHODS[best],
        percent(&gain)
    );
    finding(own.mean >= gain.mean, found)
}

fn small_windows(w: &Gains) -> Option<Finding> {
    let avoidance = ["21", "22", "23", "24"];
    let slow_start = ["11", "12", "13", "14"];
    let large = ["25", "26"];
    let (second, first) = (named(w, &avoidance)?, named(w, &slow_start)?);
    let large_gains = named(w, &large)?;
    let pairs = second.iter().zip(&first).all(|(a, s)| a.mean > s.mean);
    let small = large_gains.iter().all(|gain| second[0].mean > gain.mean);
    let found = format!(
        "{}; {}; {}",
        listed(&avoidance, &second),
        listed(&slow_start, &first),
        listed(&large, &large_gains)
    );
    finding(pairs && small, found)
}

fn at_one_hop(c: &Gains, methods: &[&str]) -> Option<Vec<Summary>> {
    let of = |method: &&str| c.gain(place(method), |s| s.hops == 1);
    methods.iter().map(of).collect()
}

fn alike(c: &Gains) -> Option<Finding> {
    let methods = ["1", "22", "24"];
    let gains = at_one_hop(c, &methods)?;
    let means = gains.iter().map(|gain| gain.mean);
    let low = means.clone().fold(f64::INFINITY, f64::min);
    let apart = means.fold(f64::NEG_INFINITY, f64::max) - low;
    finding(apart <= 0.05, listed(&methods, &gains))
}

fn severe(c: &Gains) -> Option<Finding> {
    let mild = ["1", "21", "22", "24"];
    let rest = [
        "11", "12", "13", "14", "15", "16", "17", "23", "25", "26", "27",
    ];
    let (best, worst) = (at_one_hop(c, &mild)?, at_one_hop(c, &rest)?);
    let least = best.iter().map(|g| g.mean).fold(f64::INFINITY, f64::min);
    let found = format!("{}; {}", listed(&mild, &best), listed(&rest, &worst));
    finding(worst.iter().all(|gain| gain.mean < least), found)
}

/// How many methods are the best somewhere.
fn no_single_best(w: &Gains, c: &Gains) -> Option<Finding> {
    let bests = |gains: &Gains| -> Option<Vec<usize>> {
        let best = |point| {
            let means = (0..METHODS.len() - 1).filter_map(|m| Some((m, gains.at(m, point)?)));
            Some(
                means
                    .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?
                    .0,
            )
        };
        let mut bests: Vec<usize> = (0..gains.points).map(best).collect::<Option<_>>()?;
        bests.sort_unstable();
        bests.dedup();
        Some(bests)
    };
    let (in_w, in_c) = (bests(w)?, bests(c)?);
    let names = |bests: &[usize]| {
        let names: Vec<&str> = bests.iter().map(|method| METHODS[*method]).collect();
        names.join(", ")
    };
    finding(
        in_w.len() > 1 || in_c.len() > 1,
        format!(
            "best at a point of W: {}; of C: {}",
            names(&in_w),
            names(&in_c)
        ),
    )
}

/// The dynamic response against the best method of the paper.
fn beats_all(gains: &Gains) -> Option<Finding> {
    let (own, best, difference) = against_the_best(gains)?;
    let (method, gain) = best;
    let changed = Summary {
        mean: difference.mean * 100.0,
        half_width_95: difference.half_width_95.map(|half| half * 100.0),
        ..difference
    };
    finding(
        own.mean > gain.mean,
        format!(
            "dynamic {}, best of the others is {} with {}; difference {} points",
            percent(&own),
            METHODS[method],
            percent(&gain),
            spread(&changed, 1)
        ),
    )
}

/// Gain of the dynamic response, the best of the others with its gain, and the paired difference.
pub(super) fn against_the_best(gains: &Gains) -> Option<(Summary, (usize, Summary), Summary)> {
    let dynamic = place(DYNAMIC);
    let best = gains.best(0..dynamic, everywhere)?;
    let own = gains.gain(dynamic, everywhere)?;
    Some((own, best, gains.difference(dynamic, best.0)?))
}

/// A_w, A_c and A_t of an algorithm, in per cent.
pub(super) fn accuracy(w: &Gains, c: &Gains, algorithm: usize) -> Option<(Summary, Summary, f64)> {
    let (wireless, congestion) = (w.wireless(algorithm)?, c.congestion(algorithm)?);
    let mean = (wireless.mean + congestion.mean) / 2.0;
    Some((wireless, congestion, mean))
}

fn differentiation(w: &Gains, c: &Gains) -> Vec<Named> {
    vec![
        ("tcp-accuracy", is_accurate(w, c, TCP, (0.0, 100.0), 0.0)),
        (
            "lda-eq-accuracy",
            is_accurate(w, c, LDA_EQ, (67.0, 93.0), 10.0),
        ),
        ("lda-eq-best", lda_eq_best(w, c)),
        ("veno-gain", gains_nothing(w, c, VENO)),
        ("lda-eq-gain", gains_nothing(w, c, LDA_EQ)),
        ("no-lda-always-helps", never_always(w, c)),
        ("accuracy-is-not-gain", accuracy_is_not_gain(w, c)),
    ]
}

/// Whether A_w, A_c and A_t are within so many percentage points of the paper's.
fn is_accurate(
    w: &Gains,
    c: &Gains,
    algorithm: usize,
    paper: (f64, f64),
    points: f64,
) -> Option<Finding> {
    let (wireless, congestion, mean) = accuracy(w, c, algorithm)?;
    let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= points + 1e-9;
    let holds = near(wireless.mean, paper.0)
        && near(congestion.mean, paper.1)
        && near(mean, (paper.0 + paper.1) / 2.0);
    let found = format!(
        "A_w {} %, A_c {} %, A_t {mean:.1} %",
        spread(&wireless, 1),
        spread(&congestion, 1)
    );
    finding(holds, found)
}

/// A_t of every algorithm of the paper.
fn totals(w: &Gains, c: &Gains) -> Option<Vec<(usize, f64)>> {
    OF_THE_PAPER
        .map(|algorithm| Some((algorithm, accuracy(w, c, algorithm)?.2)))
        .collect()
}

fn lda_eq_best(w: &Gains, c: &Gains) -> Option<Finding> {
    let totals = totals(w, c)?;
    let own = totals.iter().find(|(a, _)| *a == LDA_EQ)?.1;
    let texts = totals.iter();
    let texts: Vec<String> = texts
        .map(|(a, total)| format!("{} {total:.1} %", ALGORITHMS[*a]))
        .collect();
    let holds = totals.iter().all(|(a, total)| *a == LDA_EQ || *total < own);
    finding(holds, texts.join(", "))
}

fn gains_nothing(w: &Gains, c: &Gains, algorithm: usize) -> Option<Finding> {
    let gain = w.together(c, algorithm)?;
    let (in_w, in_c) = (
        w.gain(algorithm, everywhere)?,
        c.gain(algorithm, everywhere)?,
    );
    Some(Finding::new(
        within(&gain, (0.97, 1.03)),
        format!(
            "{} (W {}, C {})",
            percent(&gain),
            percent(&in_w),
            percent(&in_c)
        ),
    ))
}

fn never_always(w: &Gains, c: &Gains) -> Option<Finding> {
    let mut holds = true;
    let mut texts = Vec::new();
    for algorithm in OF_THE_PAPER {
        let points = [w.by_point(algorithm), c.by_point(algorithm)].concat();
        let least = points.iter().copied().reduce(f64::min)?;
        holds &= least < 1.0;
        let below = points.iter().filter(|gain| **gain < 1.0).count();
        texts.push(format!(
            "{} {below} of {}",
            ALGORITHMS[algorithm],
            points.len()
        ));
    }
    finding(
        holds,
        format!("scenarios with a loss: {}", texts.join(", ")),
    )
}

fn accuracy_is_not_gain(w: &Gains, c: &Gains) -> Option<Finding> {
    let totals = totals(w, c)?;
    let mut widest: Option<(f64, usize, usize)> = None;
    for &(better, accurate) in &totals {
        for &(worse, less) in &totals {
            let lead = w.together(c, worse)?.mean - w.together(c, better)?.mean;
            let wider = widest.is_none_or(|(so_far, ..)| lead > so_far);
            if accurate > less && lead > 0.005 && wider {
                widest = Some((lead, better, worse));
            }
        }
    }
    match widest {
        None => finding(false, "gains are in the order of the accuracies"),
        Some((lead, better, worse)) => finding(
            true,
            format!(
                "{} judges better than {}, and gains {:.1} points less",
                ALGORITHMS[better],
                ALGORITHMS[worse],
                lead * 100.0
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(mean: f64, half: f64) -> Summary {
        Summary {
            n: 2,
            mean,
            standard_deviation: None,
            half_width_95: Some(half),
            min: mean - half,
            max: mean + half,
        }
    }

    #[test]
    fn a_mean_on_the_wrong_side_needs_its_interval_there_too() {
        assert_eq!(side(&summary(1.1, 0.3), Side::Above), Verdict::Holds);
        assert_eq!(side(&summary(0.9, 0.3), Side::Above), Verdict::CannotBeTold);
        assert_eq!(side(&summary(0.9, 0.05), Side::Above), Verdict::DoesNotHold);
        assert_eq!(side(&summary(1.1, 0.05), Side::Below), Verdict::DoesNotHold);
    }

    #[test]
    fn gains_are_written_as_changes() {
        assert_eq!(percent(&summary(1.25, 0.05)), "+25.0 ±5.0 %");
        assert_eq!(percent(&summary(0.9, 0.01)), "-10.0 ±1.0 %");
    }

    #[test]
    fn the_dynamic_response_is_held_against_the_best_of_the_others() {
        let mut stacks: Vec<&[f64]> = vec![&[1.0, 1.0]; METHODS.len()];
        stacks[place("24")] = &[1.5, 1.3];
        stacks[place(DYNAMIC)] = &[1.6, 1.3];
        let gains = Gains::fixture(&stacks);
        let (_, best, difference) = against_the_best(&gains).unwrap();
        assert_eq!(METHODS[best.0], "24");
        assert!((difference.mean - 0.05).abs() < 1e-12);
        assert_eq!(beats_all(&gains).unwrap().verdict, Verdict::Holds);
        stacks[place(DYNAMIC)] = &[1.5, 1.3];
        let gains = Gains::fixture(&stacks);
        assert_eq!(beats_all(&gains).unwrap().verdict, Verdict::DoesNotHold);
    }
}
