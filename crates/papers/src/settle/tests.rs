//! Tests of projections and new judgements with constructed results.

use super::projection::Outlook;
use super::*;
use crate::Observe;
use crate::claims::Book;
use dupack_claims::{Fact, FactKind, FactValue, Facts};
use dupack_engine::Execution;
use dupack_lab::experiment::Seeds;
use dupack_lab::results::{Measure, Run};
use dupack_lab::run::Interrupt;

/// Number of seeds of every experiment in these tests.
const SEEDS: u64 = 10;
const ALG1: usize = 0;
const ALG2: usize = 1;

/// Builds a paper that has one claim with this rule.
fn book(holds_if: &str) -> Book {
    let mut book = find("newreno-smooth").unwrap().book();
    book.claims.truncate(1);
    book.claims[0].holds_if = holds_if.to_owned();
    book.claims[0].found = None;
    book
}

fn quick() -> Campaign {
    let paper = find("newreno-smooth").unwrap();
    paper.plan(Extent::Quick).unwrap()
}

/// Builds runs in which alg2 is ahead of the others by the given amount at each point, plus or minus one in alternate
/// runs. The half width of the interval is 0.75 with the seeds of the file, and 0.32, 0.16 and 0.08 with 4, 16 and 64
/// times as many.
fn runs(ahead: &[f64], seeds: std::ops::RangeInclusive<u64>) -> Vec<Run> {
    let cells = ahead.iter().enumerate();
    let cells = cells.flat_map(|(point, ahead)| (0..4).map(move |stack| (point, stack, *ahead)));
    let runs = cells.flat_map(|(point, stack, ahead)| {
        seeds.clone().map(move |seed| {
            let both = 100.0 + (seed % 7) as f64;
            let own = if seed % 2 == 0 { 1.0 } else { -1.0 };
            let mut run = Run {
                point,
                stack,
                seed,
                values: dupack_lab::results::Values::default(),
                flow_goodputs: Vec::new(),
                trace_hash: 0,
            };
            let goodput = if stack == ALG2 {
                both + ahead + own
            } else {
                both
            };
            run.values.set(Measure::Goodput, goodput);
            run
        })
    });
    runs.collect()
}

fn part(ahead: &[f64]) -> ExperimentResults {
    let campaign = quick();
    let (name, mut results) = campaign.planned().next().unwrap();
    assert_eq!(results.points.len(), ahead.len());
    results.runs = runs(ahead, 1..=SEEDS);
    results.planned = results.runs.len();
    ExperimentResults::new(name, results)
}

fn docket<'r>(book: Book, parts: &'r [ExperimentResults]) -> Docket<'r> {
    let campaign = quick();
    let bench = campaign.paper().bench(book).unwrap();
    Docket::new(bench, campaign, parts, &BTreeSet::from([0]))
}

fn outlook(holds_if: &str, part: ExperimentResults) -> Outlook {
    let parts = [part];
    let docket = docket(book(holds_if), &parts);
    docket.projection(0, &docket.cases[&0]).outlook()
}

fn step(times: u32, places: impl IntoIterator<Item = Cell>) -> Outlook {
    let places = places.into_iter().map(|cell| (0, cell)).collect();
    Outlook::Decided(Step { times, places })
}

const AHEAD: &str = "all(goodput[alg2] > goodput[alg1])";

/// All points but one are decided, and the rule does not depend on alg3.
#[test]
fn what_the_verdict_hangs_on_gets_as_many_seeds_as_decide_it() {
    let at = |ahead| outlook(AHEAD, part(&[9.0, 9.0, ahead, 9.0, 9.0, 9.0]));
    let both = [(2, ALG1), (2, ALG2)];
    assert_eq!(at(0.5), step(4, both));
    assert_eq!(at(0.2), step(16, both));
    assert_eq!(at(0.1), step(64, both));
    assert_eq!(at(0.01), Outlook::Beyond(64));
    let others = "all s in [alg2, alg3]: all(goodput[s] + 9 > goodput[alg1]) and goodput[alg2, loss = 3%] > goodput[alg1, loss = 3%]";
    assert_eq!(
        outlook(others, part(&[9.0, 9.0, 0.2, 9.0, 9.0, 9.0])),
        step(16, both)
    );
}

/// More seeds for one point would decide the rule, but this point would then have more weight than the others.
#[test]
fn what_is_pooled_goes_as_a_whole() {
    let pooled = "all s in [alg2, alg3]: pool(goodput[s] - goodput[alg1]) + 0.05 > 0";
    let whole = (0..6).flat_map(|point| [(point, ALG1), (point, ALG2)]);
    let expected = step(4, whole);
    assert_eq!(outlook(pooled, part(&[0.1; 6])), expected);
}

#[test]
fn what_can_have_no_more_runs_says_why() {
    let mut listed = part(&[0.2; 6]);
    listed.results.experiment.seeds = Seeds::List((1..=SEEDS).collect());
    assert_eq!(outlook(AHEAD, listed), Outlook::Fixed(Fixed::Listed));
    let mut kept = book(AHEAD);
    kept.experiments[0].keep = Observe::Packets;
    let parts = [part(&[0.2; 6])];
    let docket = docket(kept, &parts);
    let case = &docket.cases[&0];
    let projection = docket.projection(0, case);
    assert_eq!(projection.outlook(), Outlook::Fixed(Fixed::Packets));
    assert_eq!(projection.step(), None);
}

/// Returns the new runs of alg1 and alg2 at the third point with 16 times the seeds.
fn made(ahead: &[f64]) -> ExperimentResults {
    let mut part = part(ahead);
    part.results.runs = runs(ahead, SEEDS + 1..=16 * SEEDS);
    let wanted = |run: &Run| run.point == 2 && [ALG1, ALG2].contains(&run.stack);
    part.results.runs.retain(wanted);
    part.results.planned = part.results.runs.len();
    part
}

/// The new runs agree with the projection, and the claim is judged by them.
#[test]
fn a_claim_is_judged_anew_by_what_was_made_for_it() {
    let ahead = [9.0, 9.0, 0.2, 9.0, 9.0, 9.0];
    let parts = [part(&ahead)];
    let mut docket = docket(book(AHEAD), &parts);
    docket.look_ahead();
    let new = docket.more();
    assert_eq!(new.runs() as u64, 2 * 15 * 40, "40 seeds in the full file");
    let more = made(&ahead);
    docket.take(vec![more], &[]);
    let case = &docket.cases[&0];
    assert_eq!(case.finding.as_ref().unwrap().verdict, Verdict::Holds);
    docket.look_ahead();
    assert!(docket.is_at_rest());
    assert_eq!(docket.fields[0].times_of((2, ALG2)), 16);
    assert_eq!(docket.fields[0].times_of((1, ALG2)), 1);
    let (settled, findings) = docket.conclude();
    let anew = Anew {
        times: 16,
        looks: 1,
    };
    assert_eq!(settled.claims, BTreeMap::from([(0, anew)]));
    assert!(settled.open.is_empty() && findings.len() == 1);
}

/// In the new runs, alg2 is not ahead: the claim stays open, and its note states the reason.
#[test]
fn what_stays_open_has_its_reason() {
    let parts = [part(&[9.0, 9.0, 0.2, 9.0, 9.0, 9.0])];
    let mut docket = docket(book(AHEAD), &parts);
    docket.look_ahead();
    let more = made(&[0.0; 6]);
    docket.take(vec![more], &[]);
    let (settled, findings) = docket.conclude();
    assert_eq!(settled.open, BTreeMap::from([(0, Why::Beyond(64))]));
    assert_eq!(findings[&0].verdict, Verdict::CannotBeTold);
    let beside = said::beside(settled.claims.get(&0), settled.open.get(&0));
    assert!(beside.starts_with(" (with 16 times the seeds for the runs that decide it; "));
    assert!(beside.ends_with(
        "even 64 times the seeds would not decide: the value lies at the bound of the rule)"
    ));
    // If 64 times the seeds are too many for a projection, the note must not claim anything about them.
    let beside = said::beside(None, Some(&Why::Beyond(16)));
    assert!(
        beside.ends_with("even 16 times the seeds would not decide; more seeds were not examined)")
    );
}

/// If a cell grows from 4 to 16 times the 40 seeds of the file, only the new seeds are run.
#[test]
fn only_new_seeds_are_run() {
    let paper = find("newreno-smooth").unwrap();
    let growth = |from, to| {
        let cells = BTreeMap::from([((0, 1), Growth { from, to }), ((2, 1), Growth { from, to })]);
        paper
            .plan_more(&Growths::from([("tables".to_owned(), cells)]))
            .unwrap()
            .runs()
    };
    assert_eq!(growth(1, 4), 2 * 3 * 40);
    assert_eq!(growth(4, 16), 2 * 12 * 40);
    assert_eq!(paper.plan_more(&Growths::new()).unwrap().runs(), 0);
}

/// Each drawn experiment lists one seed. More seeds would not add scenarios.
#[test]
fn listed_seeds_stay_as_they_are() {
    let paper = find("responding").unwrap();
    let runs = |name: &str| {
        let cells = BTreeMap::from([((0, 1), Growth { from: 1, to: 4 })]);
        paper
            .plan_more(&Growths::from([(name.to_owned(), cells)]))
            .unwrap()
            .runs()
    };
    assert_eq!(runs("drawn-c"), 0);
    assert_eq!(runs("c"), 3);
}

/// Facts that were read from a run are copied with the run. Other facts do not change.
#[test]
fn facts_are_copied_with_their_runs() {
    let fact = |seeds: [u64; 2]| {
        let values = seeds.map(|seed| (0, 1, seed, FactValue::Number(seed as f64)));
        let (name, kind) = ("read".to_owned(), FactKind::Number);
        let values = values.into();
        Facts(vec![Fact { name, kind, values }])
    };
    let mut part = part(&[0.0; 6]);
    part.results.experiment.seeds = Seeds::Count(2);
    let seeds = |facts: &Facts| -> Vec<u64> { facts.0[0].values.iter().map(|v| v.2).collect() };
    let weight = Weight {
        times: 1,
        copies: 3,
    };
    let mut field = Field::new(&part, Observe::Facts, fact([1, 2]));
    assert_eq!(
        seeds(&field.view(&[((0, 1), weight)]).1),
        [1, 2, 3, 4, 5, 6]
    );
    let mut more = ExperimentResults::new(part.name, quick().planned().next().unwrap().1);
    more.read = vec![fact([3, 4])];
    field.keep(more);
    assert_eq!(field.times_of((0, 1)), 2);
    assert_eq!(
        seeds(&field.view(&[((0, 1), Weight::once(2))]).1),
        [1, 2, 3, 4]
    );
    assert_eq!(seeds(&field.view(&[((0, 1), Weight::once(1))]).1), [1, 2]);
    let measured = Field::new(&part, Observe::Measures, fact([1, 2]));
    assert_eq!(seeds(&measured.view(&[((0, 1), weight)]).1), [1, 2]);
}

#[test]
fn a_quick_look_is_left_alone() {
    let mut looked = quick().execute(Execution { jobs: None }, &(), &Interrupt::new());
    let claims = looked.judged.iter_mut();
    claims.for_each(|judged| judged.finding.verdict = Verdict::Holds);
    looked.judged[0].finding.verdict = Verdict::CannotBeTold;
    assert_eq!(looked.open(), BTreeSet::from([0]));
    assert!(Docket::of(&looked).is_none());
}

#[test]
fn a_page_says_how_many_with_how_many_seeds_and_why_the_rest_is_open() {
    let nothing = Interrupt::new();
    nothing.ask();
    let mut looked = quick().execute(Execution { jobs: None }, &(), &nothing);
    assert_eq!(said(std::slice::from_ref(&looked)), None);
    looked.settled.runs = 120;
    let anew = |times, looks| Anew { times, looks };
    looked.settled.claims = [(0, anew(4, 1)), (1, anew(16, 2)), (2, anew(4, 1))].into();
    looked.settled.open = [(1, Why::Beyond(64)), (3, Why::Fixed(Fixed::Listed))].into();
    let said = said(std::slice::from_ref(&looked)).unwrap();
    assert!(
        said.contains("3 claims that the seeds of the files could not decide were judged again")
    );
    assert!(
        said.contains("2 with 4 times the seeds, 1 with 16 times"),
        "{said}"
    );
    assert!(
        said.contains("(120 more runs)") && said.contains("in at most 3 cases in 20"),
        "{said}"
    );
    assert!(said.contains("2 stay open: 1 (by the spread"), "{said}");
}
