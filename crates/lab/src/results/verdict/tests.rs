use super::*;

/// Means of a synthetic stack by measure.
struct Made {
    name: &'static str,
    /// Goodput in Mbit/s.
    goodput: f64,
    /// 95th percentile of the queueing delay in ms.
    delay: f64,
    /// Retransmitted share in percent.
    waste: f64,
    /// Harm to a competing flow's goodput.
    harm: f64,
}

const fn made(name: &'static str, goodput: f64, delay: f64, waste: f64, harm: f64) -> Made {
    Made {
        name,
        goodput,
        delay,
        waste,
        harm,
    }
}

/// Creates a contender with ten seeds. Each value varies by `spread`, relative to the mean, in a different order for
/// each stack. A difference of several times `spread` is then significant, and a smaller difference is not.
fn contender(n: usize, made: &Made, spread: f64) -> Contender {
    // Every multiplier permutes all ten digits, so the mean does not change.
    let times = [3, 7, 9, 1][n % 4];
    let wander = |seed: u64| ((seed * times + n as u64) % 10) as f64 / 4.5 - 1.0;
    let samples = |value: f64| {
        let seeds = 1..=10_u64;
        seeds
            .map(|seed| (seed, value * (1.0 + spread * wander(seed))))
            .collect::<Vec<_>>()
    };
    Contender {
        name: made.name.to_owned(),
        chance: Chance::Had,
        measured: vec![
            (Measure::Goodput, samples(made.goodput)),
            (Measure::DelayP95, samples(made.delay)),
            (Measure::RetransmissionShare, samples(made.waste)),
            (Measure::HarmGoodput, samples(made.harm)),
        ],
        own_waste_percent: Some(made.waste),
    }
}

fn verdict_of(all: &[Made], prefer: Option<Prefer>) -> Contest {
    let contenders = all.iter().enumerate();
    let contenders = contenders.map(|(n, made)| contender(n, made, 0.01));
    Contest::among(contenders.collect(), &Margins::default(), prefer)
}

fn marks(verdict: &Contest) -> String {
    let marks = verdict.stacks.iter();
    marks.map(|judgement| judgement.mark.sign()).collect()
}

#[test]
fn a_dominated_stack_has_no_star() {
    let verdict = verdict_of(
        &[
            made("slow", 5.0, 20.0, 1.0, 0.2),
            made("fast", 9.0, 20.0, 1.0, 0.2),
            made("slower", 3.0, 20.0, 1.0, 0.2),
        ],
        None,
    );
    assert_eq!(marks(&verdict), " ★ ");
    assert_eq!(verdict.answer, Answer::Stars(vec![1]));
    let beaten = &verdict.stacks[2].beaten_by;
    let by: Vec<usize> = beaten.iter().map(|beaten| beaten.stack).collect();
    assert_eq!(by, [0, 1]);
    assert_eq!(beaten[0].measures, [Measure::Goodput]);
}

#[test]
fn a_trade_off_has_two_stars_the_preferred_first() {
    let all = [
        made("slow and long", 5.0, 60.0, 1.0, 0.2),
        made("slow and short", 5.0, 10.0, 1.0, 0.2),
        made("fast and long", 9.0, 60.0, 1.0, 0.2),
        made("slower", 3.0, 70.0, 1.0, 0.2),
    ];
    let of = |prefer| verdict_of(&all, prefer).answer;
    assert_eq!(of(None), Answer::Stars(vec![2, 1]));
    assert_eq!(of(Some(Prefer::Goodput)), Answer::Stars(vec![2, 1]));
    assert_eq!(of(Some(Prefer::Delay)), Answer::Stars(vec![1, 2]));
}

#[test]
fn too_many_undominated_stacks_need_a_criterion() {
    let all = [
        made("a", 3.0, 10.0, 1.0, 0.3),
        made("b", 6.0, 30.0, 1.0, 0.2),
        made("c", 9.0, 60.0, 1.0, 0.1),
        made("d", 2.0, 70.0, 1.0, 0.4),
    ];
    let verdict = verdict_of(&all, None);
    assert_eq!(marks(&verdict), "☆☆☆ ");
    let text = verdict.no_answer().unwrap();
    for part in [
        "no answer by these measures: 3 of 4",
        "--prefer goodput selects c",
        "--prefer delay selects a",
        "--prefer friendly selects c",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let preferred = verdict_of(&all, Some(Prefer::Delay));
    assert_eq!(preferred.answer, Answer::Stars(vec![0]));
    assert_eq!(marks(&preferred), "★   ");
}

#[test]
fn half_of_the_stacks_is_an_answer() {
    let verdict = verdict_of(
        &[
            made("short", 5.0, 10.0, 1.0, 0.2),
            made("fast", 9.0, 60.0, 1.0, 0.2),
            made("worse", 4.0, 61.5, 1.0, 0.2),
            made("worst", 3.0, 70.0, 1.0, 0.2),
        ],
        None,
    );
    assert_eq!(verdict.answer, Answer::Stars(vec![1, 0]));
}

#[test]
fn excessive_harm_or_waste_causes_a_warning_and_dominates_nobody() {
    let verdict = verdict_of(
        &[
            made("starves", 9.5, 10.0, 1.0, 0.9),
            made("wastes", 9.0, 10.0, 23.7, 0.1),
            made("sound", 8.0, 10.0, 1.0, 0.1),
            made("slow", 6.0, 10.0, 1.0, 0.1),
        ],
        None,
    );
    assert_eq!(marks(&verdict), "!!★ ");
    assert_eq!(
        verdict.stacks[0].warnings,
        [Warning::Harm(
            verdict.contenders[0].mean(Measure::HarmGoodput).unwrap()
        )]
    );
    assert!(matches!(verdict.stacks[1].warnings[..], [Warning::Waste(own)] if own == 23.7));
    assert!(verdict.sentence(0).contains("starves CUBIC: harm 0.90"));
    assert!(verdict.sentence(1).contains("23.7 %"));
    // This stack has more goodput than all others, but gets no ★ because its harm is excessive.
    let greedy = verdict_of(
        &[
            made("harmful and best by all else", 9.5, 5.0, 0.5, 0.51),
            made("sound", 8.0, 10.0, 1.0, 0.51 - 0.02),
            made("worse", 6.0, 20.0, 1.0, 0.49),
        ],
        None,
    );
    assert_eq!(marks(&greedy), "!★ ");
}

#[test]
fn link_losses_are_not_waste() {
    let mut run = super::super::Run {
        point: 0,
        stack: 0,
        seed: 1,
        values: super::super::Values::default(),
        flow_goodputs: vec![1.0],
        trace_hash: 0,
    };
    // 120 of 1000 segments were retransmitted; 100 were lost on a link.
    run.values.set(Measure::Retransmissions, 120.0);
    run.values.set(Measure::RetransmissionShare, 12.0);
    run.values.set(Measure::LinkLosses, 100.0);
    assert!((own_waste(&run).unwrap() - 2.0).abs() < 1e-9);
    run.values.set(Measure::LinkLosses, 200.0);
    assert_eq!(own_waste(&run), Some(0.0));
}

#[test]
fn insignificant_differences_do_not_count() {
    // The difference of the means is 3 %, and each run varies by up to 10 %.
    let all = [
        made("first", 5.0, 20.0, 1.0, 0.2),
        made("second", 5.15, 20.0, 1.0, 0.2),
        made("third", 3.0, 20.0, 1.0, 0.2),
        made("fourth", 3.0, 20.0, 1.0, 0.2),
    ];
    let contenders = all.iter().enumerate();
    let noisy = contenders.map(|(n, made)| contender(n, made, 0.1));
    let verdict = Contest::among(noisy.collect(), &Margins::default(), None);
    assert_eq!(verdict.answer, Answer::Stars(vec![1, 0]));
    // With less variation, the same means differ significantly.
    assert_eq!(verdict_of(&all, None).answer, Answer::Stars(vec![1]));
}

#[test]
fn many_comparisons_need_stronger_evidence() {
    let pair = |pairs: usize| {
        let all: Vec<Contender> = (0..pairs * 2)
            .map(|n| {
                // The second stack of each pair is ahead by 1 ± 1: the uncorrected p-value is about 0.03.
                let values = [0.4, 2.0, 0.6, 1.4, 2.2, 0.0];
                let ahead = |v: f64| if n % 2 == 1 { 50.0 + v } else { 50.0 };
                let samples = values.iter().zip(1..).map(|(v, seed)| (seed, ahead(*v)));
                Contender {
                    name: n.to_string(),
                    chance: Chance::Had,
                    measured: vec![(Measure::DelayP95, samples.collect())],
                    own_waste_percent: None,
                }
            })
            .collect();
        let verdict = Contest::among(
            all,
            &Margins {
                delay_ms: 0.1,
                ..Margins::default()
            },
            None,
        );
        verdict.contrasts[0]
    };
    let (alone, among) = (pair(1), pair(3));
    assert_eq!(alone.p, among.p);
    assert!(alone.p.unwrap() < 0.05 && alone.better == Side::One);
    assert!(among.corrected_p.unwrap() > 0.05 && among.better == Side::Neither);
}

#[test]
fn exact_ties_and_exact_differences_are_recognised() {
    let same = contender(0, &made("a", 5.0, 20.0, 1.0, 0.2), 0.0);
    let twin = Contender {
        name: "b".to_owned(),
        ..same.clone()
    };
    let faster = contender(0, &made("c", 6.0, 20.0, 1.0, 0.2), 0.0);
    let verdict = Contest::among(
        vec![same.clone(), twin, faster.clone(), faster],
        &Margins::default(),
        None,
    );
    let of = |a, b| {
        let mut here = verdict.contrasts.iter();
        *here
            .find(|c| c.is_of(a, b) && c.measure == Measure::Goodput)
            .unwrap()
    };
    assert_eq!(
        (of(0, 1).effect, of(0, 1).p),
        (Effect::Ratio(1.0), Some(1.0))
    );
    assert_eq!(of(0, 1).better, Side::Neither);
    assert_eq!((of(0, 2).p, of(0, 2).better), (Some(0.0), Side::Other));
    assert_eq!(verdict.answer, Answer::Stars(vec![2, 3]));
}

#[test]
fn differences_within_the_margin_do_not_count() {
    let contender = |name, goodput| contender(0, &made(name, goodput, 20.0, 1.0, 0.2), 0.0001);
    let verdict = Contest::among(
        vec![
            contender("a", 9.643),
            contender("b", 9.637),
            contender("c", 9.0),
            contender("d", 8.0),
        ],
        &Margins::default(),
        None,
    );
    let here = &verdict.contrasts[0];
    assert_eq!(
        (here.one, here.other, here.measure),
        (0, 1, Measure::Goodput)
    );
    assert!(here.is_told() && here.better == Side::Neither);
    assert_eq!(verdict.answer, Answer::Stars(vec![0, 1]));
}

#[test]
fn without_randomness_there_is_no_star() {
    let of = |chance: [Chance; 3]| {
        let all = [
            made("slow", 5.0, 20.0, 1.0, 0.2),
            made("fast", 9.0, 20.0, 1.0, 0.2),
            made("slower", 3.0, 20.0, 1.0, 0.2),
        ];
        let contenders = all.iter().zip(chance).map(|(made, chance)| Contender {
            chance,
            ..contender(0, made, 0.01)
        });
        Contest::among(contenders.collect(), &Margins::default(), None)
    };
    assert_eq!(of([Chance::SameRuns; 3]).answer, Answer::SameRuns);
    assert_eq!(of([Chance::OneRun; 3]).answer, Answer::OneRun);
    let fastest = of([Chance::Had, Chance::SameRuns, Chance::Had]);
    assert_eq!(fastest.answer, Answer::SameRunsOf(vec![1]));
    assert!(!marks(&fastest).contains('★'));
}

#[test]
fn only_common_seeds_are_compared() {
    let mut one = contender(0, &made("a", 5.0, 20.0, 1.0, 0.2), 0.01);
    let other = contender(1, &made("b", 6.0, 20.0, 1.0, 0.2), 0.01);
    one.measured[0].1.retain(|(seed, _)| seed % 2 == 0);
    let verdict = Contest::among(vec![one, other], &Margins::default(), None);
    let pairs: Vec<usize> = verdict.contrasts.iter().map(|c| c.pairs).collect();
    assert_eq!(pairs, [5, 10, 10, 10]);
}

#[test]
fn a_goodput_of_zero_is_compared_as_a_difference() {
    let mut stuck = contender(0, &made("stuck", 5.0, 20.0, 1.0, 0.2), 0.01);
    for (_, value) in &mut stuck.measured[0].1 {
        *value = 0.0;
    }
    let moving = contender(1, &made("moving", 0.004, 20.0, 1.0, 0.2), 0.01);
    let verdict = Contest::among(vec![stuck, moving], &Margins::default(), None);
    let here = &verdict.contrasts[0];
    assert!(matches!(here.effect, Effect::Difference(_)));
    assert_eq!((here.pairs, here.better), (10, Side::Other));
}

#[test]
fn a_sentence_reports_the_costs() {
    let verdict = verdict_of(
        &[
            made("base", 4.0, 10.0, 1.0, 0.05),
            made("fast", 8.0, 50.0, 4.0, 0.3),
            made("dominated", 3.0, 60.0, 4.0, 0.3),
            made("worst", 2.0, 70.0, 4.0, 0.3),
        ],
        None,
    );
    assert_eq!(verdict.answer, Answer::Stars(vec![1, 0]));
    let fast = verdict.sentence(1);
    for part in [
        "2.00 × (",
        "the goodput of base",
        "queueing delay 50.0 ms (95th percentile), 40.0 ms above base",
        "retransmits 4.0 % of its segments, base 1.0 %",
        "takes 30 % of a CUBIC flow's goodput",
    ] {
        assert!(fast.contains(part), "{part}: {fast}");
    }
    assert!(verdict.sentence(0).contains("0.50 × the goodput of fast"));
}

#[test]
fn a_single_stack_has_no_verdict() {
    let verdict = verdict_of(&[made("only", 5.0, 20.0, 1.0, 0.2)], None);
    assert_eq!(verdict.answer, Answer::Alone);
    assert_eq!(marks(&verdict), " ");
}

/// Pairs `values` with seeds.
fn by_seed(values: &[f64]) -> Vec<(u64, f64)> {
    (1..).zip(values.iter().copied()).collect()
}

/// Creates a contender with these values. Its timeouts do not differ between stacks: they only add comparisons that the
/// correction counts.
fn measured(name: &str, n: usize, measured: &[(Measure, &[f64])]) -> Contender {
    let own = measured.iter().map(|(m, values)| (*m, by_seed(values)));
    let seeds = measured[0].1.len();
    let timeouts = (0..seeds).map(|seed| ((seed + n) * 7 % 5) as f64);
    let timeouts: Vec<f64> = timeouts.collect();
    Contender {
        name: name.to_owned(),
        chance: Chance::Had,
        measured: own
            .chain([(Measure::Timeouts, by_seed(&timeouts))])
            .collect(),
        own_waste_percent: Some(0.0),
    }
}

#[test]
fn a_stack_ahead_in_an_uncorrected_comparison_is_undominated() {
    use Measure::{DelayP95, Goodput};
    let stack = |name, n, goodput: &[f64], delay: f64| {
        let delays = [0.0, 0.1, 0.0, 0.2, 0.1, 0.0].map(|off| delay + off);
        measured(name, n, &[(Goodput, goodput), (DelayP95, &delays)])
    };
    // "wild" has more goodput than "calm" with nearly every seed: p is 0.026 without correction, and above 0.05 with
    // it. The queue of "wild" is significantly longer.
    let all = [
        stack("base", 0, &[2.0, 2.1, 2.2, 2.0, 2.1, 2.2], 30.0),
        stack("calm", 1, &[8.0, 8.1, 8.0, 8.1, 8.0, 8.1], 10.0),
        stack("wild", 2, &[8.6, 9.9, 7.9, 9.8, 8.4, 9.6], 20.0),
        stack("worst", 3, &[1.0, 1.1, 1.0, 1.2, 1.1, 1.0], 40.0),
    ];
    let verdict = Contest::among(all.to_vec(), &Margins::default(), None);
    let mut here = verdict.contrasts.iter();
    let here = here.find(|c| c.measure == Goodput && c.is_of(1, 2));
    let here = here.unwrap();
    assert!(
        here.p.unwrap() < LEVEL && here.corrected_p.unwrap() > LEVEL,
        "{here:?}"
    );
    assert_eq!((here.better, here.leans_to(2)), (Side::Neither, true));
    assert_eq!(verdict.answer, Answer::Stars(vec![2, 1]));
    // The sentence must not deny a difference that it shows.
    let [base, calm, wild, worst] = all;
    let other = Contest::among(vec![calm, wild, base, worst], &Margins::default(), None);
    let sentence = other.sentence(1);
    assert!(
        sentence.contains("the goodput of calm, but not significant"),
        "{sentence}"
    );
}

#[test]
fn the_criterion_must_distinguish_the_stacks() {
    use Measure::Goodput;
    let noisy = |name, n, off: f64| {
        let goodput = [5.0 + off, 7.0 - off, 6.0 + 2.0 * off, 5.5 - off];
        measured(name, n, &[(Goodput, &goodput)])
    };
    let all = || vec![noisy("a", 0, 0.3), noisy("b", 1, -0.2), noisy("c", 2, 0.1)];
    let of = |prefer| Contest::among(all(), &Margins::default(), prefer);
    assert!(matches!(of(None).answer, Answer::TooMany(_)));
    let verdict = of(Some(Prefer::Goodput));
    assert!(matches!(&verdict.answer, Answer::NotTold(left) if left.len() == 3));
    assert_eq!(marks(&verdict), "☆☆☆");
    let text = verdict.no_answer().unwrap();
    assert!(
        text.contains("no answer by goodput either: 3 of 3"),
        "{text}"
    );
    assert!(
        verdict
            .sentence(1)
            .contains("no significant cost over 4 seeds")
    );
}

#[test]
fn a_criterion_needs_fewer_comparisons() {
    use Measure::{DelayP95, Goodput};
    let stack = |name, n, goodput: &[f64], delay: f64| {
        let delays = [0.0, 0.1, -0.1, 0.0, 0.2].map(|off| delay + off);
        measured(name, n, &[(Goodput, goodput), (DelayP95, &delays)])
    };
    // The lead of "fast" over "slow" has p = 0.015 without correction. This lead is significant among two comparisons,
    // but not among all comparisons.
    let all = || {
        vec![
            stack("fast", 0, &[9.0, 9.4, 8.9, 9.5, 9.1], 40.0),
            stack("slow", 1, &[8.7, 8.9, 8.3, 9.3, 8.2], 20.0),
            stack("slower", 2, &[4.0, 4.1, 4.2, 4.0, 4.1], 10.0),
        ]
    };
    let open = Contest::among(all(), &Margins::default(), None);
    assert_eq!(open.answer, Answer::TooMany(vec![0, 1, 2]));
    let mut here = open.contrasts.iter();
    let here = here.find(|c| c.measure == Goodput && c.is_of(0, 1));
    let here = here.unwrap();
    assert!(
        here.p.unwrap() * 2.0 < LEVEL && here.better == Side::Neither,
        "{here:?}"
    );
    let told = Contest::among(all(), &Margins::default(), Some(Prefer::Goodput));
    assert_eq!(told.answer, Answer::Stars(vec![0]));
}

/// A difference that is significant at its point may not be significant in the whole sweep.
#[test]
fn a_sweep_is_corrected_as_a_whole() {
    use crate::experiment::load::Source;
    use crate::results::{Run, Values};
    use crate::run::Plan;
    use dupack_algorithms::catalog::Catalog;

    let delays: Vec<String> = (1..=12).map(|ms| format!("\"{ms}ms\"")).collect();
    let text = format!(
        "stacks = [\"rack/cubic\", \"rack/reno\"]\nseeds = 6\n[path]\nrate = \"10Mbit/s\"\n[sweep]\n\"path.delay\" = [{}]\n",
        delays.join(", ")
    );
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let mut results = plan.empty_results();
    for point in 0..12 {
        for stack in 0..2 {
            // The second stack is ahead by 1 ± 1: p is about 0.03 at each point.
            for (value, seed) in [0.4, 2.0, 0.6, 1.4, 2.2, 0.0].into_iter().zip(1..) {
                let mut values = Values::default();
                values.set(
                    Measure::Timeouts,
                    50.0 - if stack == 1 { value } else { 0.0 },
                );
                results.runs.push(Run {
                    point,
                    stack,
                    seed,
                    values,
                    flow_goodputs: vec![1.0],
                    trace_hash: seed + 100 * stack as u64,
                });
            }
        }
    }
    let told = |results: &Results| Contest::of(results, 3).contrasts[0].is_told();
    assert!(told(&results));
    assert!(rules(&results)[0].contains("at a point, not over the sweep"));
    results.correct_over_sweep();
    assert!(!told(&results));
    assert!(rules(&results)[0].contains("of the whole sweep"));
}
