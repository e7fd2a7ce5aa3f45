mod asked;
mod refused;

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::SweepValue;
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::results::{Measure, Results, Run, Values};
use dupack_lab::run::Plan;

use crate::{FUNCTIONS, Finding, Function, Printed, Rules, Said, Value, Verdict, World, world};

const TEXT: &str = r#"
stacks = ["sack/reno", "le/reno"]
seeds = 3
[path]
rate = "8Mbit/s"
[sweep]
"path.loss" = ["0%", "1%", "5%"]
[names]
SACK = "sack/reno"
LE = { stack = ["le/reno", "le/westwood"], label = "LE, as published" }
[define]
"gain(s)" = "goodput[s] / goodput[SACK]"
both = "[SACK, LE]"
"again(s)" = "again(s) + 1"
"#;

fn source(claims: &str) -> Source {
    Source {
        name: "test.toml".to_owned(),
        text: format!("{TEXT}{claims}"),
        folder: std::path::PathBuf::new(),
    }
}

fn planned() -> Results {
    let source = source("");
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin());
    plan.unwrap().empty_results()
}

/// Returns results in which SACK has 4, 2 and 1 Mbit/s at the three points, ±0.1 Mbit/s with the seed. LE has 1.5 times
/// as much without loss and twice as much with loss.
fn results() -> Results {
    let mut results = planned();
    for (point, base) in [4.0, 2.0, 1.0].into_iter().enumerate() {
        for stack in 0..2 {
            for (seed, off) in [(1, -0.1), (2, 0.0), (3, 0.1)] {
                let factor = match (stack, point) {
                    (0, _) => 1.0,
                    (_, 0) => 1.5,
                    _ => 2.0,
                };
                let mut values = Values::default();
                values.set(Measure::Goodput, (base + off) * factor);
                values.set(
                    Measure::Timeouts,
                    if stack == 0 { off * 10.0 + 1.0 } else { 0.0 },
                );
                results.runs.push(Run {
                    point,
                    stack,
                    seed,
                    values,
                    flow_goodputs: vec![(base + off) * factor],
                    trace_hash: 0,
                });
            }
        }
    }
    results
}

fn rules(claims: &str) -> Result<Rules, ExperimentError> {
    let source = source(claims);
    let experiment = source.parse()?;
    Rules::new(
        &experiment.vocabulary(),
        &experiment.claims,
        &source,
        &Catalog::builtin(),
    )
}

fn finding(rule: &str) -> Finding {
    let claim = format!("[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = '''{rule}'''\n");
    let rules = rules(&claim).unwrap();
    let (planned, results) = (planned(), results());
    rules
        .check(&World::planned(&planned))
        .unwrap_or_else(|e| panic!("{rule}: {e}: {e:?}"));
    rules
        .judge(&rules.claims()[0], &World::of(&results))
        .unwrap()
}

#[track_caller]
fn holds(rule: &str) {
    assert_eq!(finding(rule).verdict, Verdict::Holds, "{rule}");
}

#[track_caller]
fn fails(rule: &str) {
    assert_eq!(finding(rule).verdict, Verdict::DoesNotHold, "{rule}");
}

#[track_caller]
fn open(rule: &str) {
    assert_eq!(finding(rule).verdict, Verdict::CannotBeTold, "{rule}");
}

/// Returns the text that the error about a rule points at, and its message and help.
fn wrong(rule: &str) -> (String, String) {
    let claim = format!("[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = '{rule}'\n");
    let planned = planned();
    let checked = rules(&claim).and_then(|rules| rules.check(&World::planned(&planned)));
    let ExperimentError::Invalid(complaint) = checked.expect_err(rule) else {
        panic!("{rule}");
    };
    let text = source(&claim).text;
    let at = complaint.at.expect("the error has a place");
    let pointed = text[at.offset()..at.offset() + at.len()].to_owned();
    (
        pointed,
        format!(
            "{}; {}",
            complaint.message,
            complaint.help.unwrap_or_default()
        ),
    )
}

#[test]
fn ratios_are_paired_by_seed() {
    // In the ratio, the variation over the seeds cancels. In the means, it does not.
    holds("all(lower(gain(LE)) > 1.49)");
    holds("within(goodput[LE, loss = 5%] / goodput[SACK, loss = 5%], 2, 2)");
    holds("upper(goodput[SACK, loss = 5%]) > 1.2");
}

#[test]
fn a_quantity_is_compared_by_its_interval() {
    holds("goodput[SACK, loss = 5%] > 0.5");
    fails("goodput[SACK, loss = 5%] > 1.5");
    open("goodput[SACK, loss = 5%] > 1.1");
    open("not (goodput[SACK, loss = 5%] > 1.1)");
    fails("mean(goodput[SACK, loss = 5%]) > 1.1");
    open("goodput[SACK, loss = 5%] > 1.1 and true");
    fails("goodput[SACK, loss = 5%] > 1.1 and false");
    holds("goodput[SACK, loss = 5%] > 1.1 or true");
    // If the samples are paired by run, LE has twice the goodput of SACK.
    holds("all(goodput[LE] > goodput[SACK])");
}

#[test]
fn functions_that_compare_use_both_ends_of_the_interval() {
    // SACK's mean at 5 % loss is 1, and its interval contains [0.75, 1.25].
    holds("within(goodput[SACK, loss = 5%], 0.2, 2)");
    open("within(goodput[SACK, loss = 5%], 0.99, 2)");
    open("within(goodput[SACK, loss = 5%], 1.05, 2)");
    fails("within(goodput[SACK, loss = 5%], 2, 3)");
    holds("above(goodput[SACK, loss = 5%], 0.2)");
    open("above(goodput[SACK, loss = 5%], 0.99)");
    open("above(goodput[SACK, loss = 5%], 1.01)");
    fails("above(goodput[SACK, loss = 5%], 2)");
    holds("below(goodput[SACK, loss = 5%], 2)");
    open("below(goodput[SACK, loss = 5%], 1.01)");
    holds("exceeds(goodput[LE, loss = 0%], goodput[SACK, loss = 5%])");
    fails("exceeds(goodput[SACK, loss = 5%], goodput[LE, loss = 0%])");
    open("exceeds(goodput[SACK, loss = 5%], 0.9)");
    open("exceeds(goodput[SACK, loss = 5%], 1.1)");
    fails("exceeds(1, 1)");
    holds("near(goodput[SACK, loss = 5%], 1, 90%)");
    open("near(goodput[SACK, loss = 5%], 1, 10%)");
    fails("near(goodput[SACK, loss = 5%], 9, 10%)");
    holds("near(-2, -2.1, 10%)");
}

#[test]
fn curves_rise_fall_or_cannot_be_told() {
    holds("rises([1, 2, 3])");
    fails("rises([1, 2, 2])");
    holds("falls([3, 2, 1])");
    holds("falls([goodput[LE, loss = 0%], goodput[SACK, loss = 5%]])");
    fails("rises([goodput[LE, loss = 0%], goodput[SACK, loss = 5%]])");
    open("rises([goodput[SACK, loss = 5%], 1.1, 9])");
    fails("rises([goodput[SACK, loss = 5%], 1.1, 1.05])");
    holds("grows([1, goodput[SACK, loss = 5%], 9])");
    fails("grows([9, goodput[SACK, loss = 5%], 10])");
    open("grows([0.9, goodput[SACK, loss = 5%]])");
}

#[test]
fn points_are_chosen_by_their_values() {
    holds("size(goodput[LE]) = 3");
    holds("size(goodput[LE, loss >= 1%]) = 2");
    holds("size(goodput[LE, loss in [0%, 5%]]) = 2");
    holds("size(goodput[LE, loss != 1%]) = 2");
    holds("mean(goodput[LE, \"path.loss\" = 5%]) = 2");
    holds("all p in points[loss > 0%]: mean(gain(LE)) >= 1.5 and mean(goodput[LE, p]) >= 2");
    holds("max(value(points)) = 5");
    holds("sum(setting(\"path.loss\")) > 0.0599 and sum(setting(\"path.loss\")) < 0.0601");
    holds("setting(\"path.rate\") = 8000000");
}

#[test]
fn a_swept_text_is_compared_by_its_first_number() {
    let text = r#"
stacks = ["sack/reno"]
[path]
rate = "8Mbit/s"
drop = ["1 of 4-9"]
[sweep]
"path.drop.0" = ["1 of 4-9", "2 of 4-9", "10 of 4-19"]
[[claim]]
id = "x"
statement = "x"
holds_if = """size(points["path.drop.0" >= 2]) = 2 and size(points["path.drop.0" in [1, 10]]) = 2 \
    and sum(value(points)) = 13 and size(points["path.drop.0" = "2 of 4-9"]) = 1"""
"#;
    let source = Source {
        text: text.to_owned(),
        ..source("")
    };
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let rules = Rules::of_plan(&plan, &source, &Catalog::builtin()).unwrap();
    let judged = rules.judge_all(&World::of(&plan.empty_results()), 0);
    assert_eq!(judged[0].finding.verdict, Verdict::Holds);
}

#[test]
fn flows_are_chosen_by_their_group() {
    let text = r#"
stacks = ["sack/reno"]
seeds = 1
[path]
rate = "8Mbit/s"
[[flows]]
name = "own"
[[flows]]
name = "standard"
stack = "newreno/reno"
count = 2
[[claim]]
id = "x"
statement = "x"
holds_if = """mean(every_flow_goodput[flows = "standard"]) = 3 and mean(flow_goodput[]) = 1 \
    and runs(every_flow_goodput[]) = 3"""
"#;
    let source = Source {
        text: text.to_owned(),
        ..source("")
    };
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    let mut results = plan.empty_results();
    let rules = Rules::of_plan(&plan, &source, &catalog).unwrap();
    results.runs.push(Run {
        point: 0,
        stack: 0,
        seed: 1,
        values: Values::default(),
        flow_goodputs: vec![1.0, 2.0, 4.0],
        trace_hash: 0,
    });
    let judged = rules.judge_results(&results);
    assert_eq!(judged[0].finding.verdict, Verdict::Holds);
    let wrong = Source {
        text: text.replace("\"standard\"]", "\"standart\"]"),
        ..source
    };
    let plan = Plan::new(wrong.parse().unwrap(), &wrong, &catalog).unwrap();
    let error = Rules::of_plan(&plan, &wrong, &catalog);
    let ExperimentError::Invalid(complaint) = error.unwrap_err() else {
        panic!();
    };
    assert_eq!(complaint.help.as_deref(), Some("did you mean `standard`?"));
}

#[test]
fn printed_numbers_are_found_by_columns_that_are_not_swept() {
    let number = |column: f64, loss: &str, value| Printed {
        name: "rate".to_owned(),
        stack: None,
        point: vec![
            ("flows".to_owned(), SweepValue::Real(column)),
            ("loss".to_owned(), SweepValue::Text(loss.to_owned())),
        ],
        value,
    };
    let results = results();
    let mut world = World::of(&results);
    world.print([number(3.0, "1%", 5.0), number(4.0, "1%", 7.0)]);
    let rules = rules("").unwrap();
    let source = source("");
    let said = |text| Said {
        source: &source,
        place: "",
        text,
        experiment: None,
    };
    let value = |text| rules.evaluate(&said(text), &[], &world);
    let found = value("paper.rate[flows = 4, loss = 1%]").unwrap();
    assert_eq!(found, Value::Number(7.0));
    let found = value("paper.rate[flows = 4, loss = 5%]").unwrap();
    assert_eq!(found, Value::Missing);
    assert_eq!(value("paper.rate[loss = 1%]").unwrap(), Value::Missing);
    assert!(value("paper.rate[flow = 4]").is_err());
    // A missing value decides nothing, but does not prevent other values from deciding.
    let nothing = "paper.rate[flows = 4, loss = 5%] > 1";
    let folded = |of: &str| {
        let said = Said {
            source: &source,
            place: "",
            text: &of.replace('_', nothing),
            experiment: None,
        };
        rules.evaluate(&said, &[], &world).unwrap()
    };
    let (yes, no) = (Verdict::Holds, Verdict::DoesNotHold);
    assert_eq!(folded("all(2 < 1, _)"), Value::Truth(no));
    assert_eq!(folded("any(_, 1 < 2)"), Value::Truth(yes));
    assert_eq!(folded("all(1 < 2, _)"), Value::Missing);
    assert_eq!(folded("any(2 < 1, _)"), Value::Missing);
    assert_eq!(folded("_ and 2 < 1"), Value::Truth(no));
    assert_eq!(folded("1 < 2 or _"), Value::Truth(yes));
    assert_eq!(folded("_ and 1 < 2"), Value::Missing);
}

#[test]
fn orders_and_extremes() {
    holds("falls(goodput[SACK])");
    fails("rises(goodput[SACK])");
    holds("grows(mean(gain(LE)))");
    fails("grows(mean(goodput[LE]))");
    holds("slope(mean(goodput[SACK])) = -1.5");
    holds("which_largest(each s in both: mean(goodput[s, loss = 0%])) = LE");
    holds("mean(largest(each s in both: goodput[s, loss = 1%])) = 4");
    holds("size(winners(each s in both: goodput[s])) = 1");
    holds("count(mean(goodput[SACK]) >= 2) = 2 and leading(mean(goodput[SACK]) > 3) = 1");
    holds("runs(pool(goodput[SACK])) = 9");
    holds("mean(sum_by_seed(goodput[SACK])) = 7");
    holds("within(mean_by_seed(goodput[SACK]) / mean_by_seed(goodput[SACK]), 1, 1)");
    holds("geomean(4, 0.25) = 1 and median(3, 1, 2) = 2 and average(1, 2) = 1.5");
    holds("off_line(1, 2, 3) < 0.001 and exponential_squares(2, 4, 8) < line_squares(2, 4, 8)");
    holds("jain(flow_goodput[SACK, loss = 0%]) > 0.99");
    holds("mean(mean_by_run(flow_goodput[SACK, loss = 0%])) = 4");
    holds(
        "abs(mean(ratio_of_means(goodput[LE, loss = 1%], goodput[SACK, loss = 1%])) - 2) < 0.001",
    );
    holds("any s in both: mean(timeouts[s, loss = 0%]) = 0");
}

#[test]
fn the_text_beside_a_verdict_has_the_compared_quantities() {
    assert_eq!(
        finding("all(lower(gain(LE)) > 1)").found,
        "gain(LE): 1.50 ±0.00, 2.00 ±0.00, 2.00 ±0.00".replace(" ±0.00", "")
    );
    let each = finding("all s in both: mean(goodput[s, loss = 1%]) > 1").found;
    assert_eq!(
        each,
        "goodput[s, loss = 1%]: SACK: 2.00 ±0.25; LE, as published: 4.00 ±0.50"
    );
    // If a quantity does not use the variable of a loop, it is shown without the loop. Brackets are kept.
    let one = finding(
        "all s in both: mean(goodput[s, loss = 1%]) >= (1 + mean(goodput[SACK, loss = 5%]))",
    );
    let shown = one.found.rsplit("; ").next().unwrap();
    assert_eq!(shown, "(1 + mean(goodput[SACK, loss = 5%])): 2.00");
    let claim = "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = 'true'\n\
                 found = '{(gain(LE) - 1) * 100:+1} % more than {SACK}, {value(points):g}'\n";
    let rules = rules(claim).unwrap();
    let results = results();
    let found = rules
        .judge(&rules.claims()[0], &World::of(&results))
        .unwrap()
        .found;
    assert_eq!(found, "+50.0, +100.0, +100.0 % more than SACK, 0, 1, 5");
}

#[test]
fn a_claim_with_missing_runs_cannot_be_told() {
    let rules = rules("[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = 'all(gain(LE) > 1)'\n");
    let (rules, mut results) = (rules.unwrap(), results());
    results.runs.retain(|run| run.point != 1);
    assert_eq!(rules.judge(&rules.claims()[0], &World::of(&results)), None);
    let finding = &rules.judge_results(&results)[0].finding;
    assert_eq!(finding.verdict, Verdict::CannotBeTold);
    assert_eq!(finding.found, "runs that the rule needs are missing");
}

#[test]
fn an_error_points_at_the_place_and_suggests_a_correction() {
    for (rule, place, part) in [
        (
            "all(godput[LE] > 1)",
            "godput[LE]",
            "did you mean `goodput`",
        ),
        ("all(goodput[LEE] > 1)", "LEE", "did you mean `LE`"),
        (
            "all(goodput[LE, los > 1%] > 1)",
            "los",
            "did you mean `loss`",
        ),
        (
            "all(goodput[LE, loss > 6%] > 1)",
            "goodput[LE, loss > 6%]",
            "the points are loss 0%",
        ),
        (
            "all(goodput[LE, loss > 5ms] > 1)",
            "5ms",
            "expected a value such as 0%",
        ),
        (
            "maen(goodput[LE, loss = 0%]) > 1",
            "maen(goodput[LE, loss = 0%])",
            "did you mean `mean`",
        ),
        (
            "within(goodput[LE, loss = 0%], 1)",
            "within(goodput[LE, loss = 0%], 1)",
            "within(x, low, high)",
        ),
        (
            "figure.goodput[LE] > 1",
            "figure",
            "unknown experiment `figure`",
        ),
        (
            "goodput[LE] > 1",
            "goodput[LE] > 1",
            "wrap the list in `all(…)`",
        ),
        (
            "goodput[LE, loss = 0%]",
            "goodput[LE, loss = 0%]",
            "compare it with a value",
        ),
        ("all(goodput[] > 1)", "goodput[]", "names no stack"),
        (
            "all(goodput[LE] > goodput[LE, loss > 0%])",
            "goodput[LE] > goodput[LE, loss > 0%]",
            "different points",
        ),
        (
            "all(goodput[LE] = 1)",
            "goodput[LE] = 1",
            "cannot be compared by `=`",
        ),
        (
            "all(goodput[LE] + LE > 1)",
            "goodput[LE] + LE",
            "cannot apply `+`",
        ),
        ("1 < 2 < 3", "1 < 2 < 3", "join them with `and`"),
        ("(1 < 2", "'", "expected `)`"),
        ("mean(1) # 2 > 3", "#", "unexpected character"),
        ("1 < 2 3", "3", "expected the end"),
        ("max(goodput[LE]) > 1", "goodput[LE]", "use their `mean(…)`"),
        (
            "goodput[\"fack/reno\", loss = 0%] > 1",
            "goodput[\"fack/reno\", loss = 0%]",
            "has no stack",
        ),
        (
            "goodput[\"fakc/reno\", loss = 0%] > 1",
            "\"fakc/reno\"",
            "fakc",
        ),
        ("again(1) > 1", "again(s)", "refers to itself"),
        ("gain(LE, SACK) > 1", "gain(LE, SACK)", "takes 1 input(s)"),
    ] {
        let (pointed, said) = wrong(rule);
        assert!(said.contains(part), "{rule}: {said}");
        if place != "'" {
            assert_eq!(pointed, place, "{rule}: {said}");
        }
    }
}

#[test]
fn damaged_rules_are_errors_and_do_not_panic() {
    // Each rule is truncated at every character, and each character is left out once.
    for rule in [
        "all p in points[loss > 0%]: mean(gain(LE)) >= 1.5e-3",
        "not within(goodput[\"le/reno\", loss = 5%], -2, [1, 2]) or figure.x(2Mbit/s) ≤ 3",
    ] {
        let cuts = rule.char_indices().flat_map(|(at, c)| {
            [
                rule[..at].to_owned(),
                format!("{}{}", &rule[..at], &rule[at + c.len_utf8()..]),
            ]
        });
        let (planned, rules) = (planned(), rules("").unwrap());
        let world = World::planned(&planned);
        for cut in cuts {
            let said = Said {
                source: &source(""),
                place: "",
                text: &cut,
                experiment: None,
            };
            let _: Result<Value, ExperimentError> = rules.evaluate(&said, &[], &world);
        }
    }
    let deep = "(".repeat(10_000);
    assert!(crate::parse::parse(&deep).is_err());
}

#[test]
fn claims_with_equal_names_or_without_a_rule_are_errors() {
    let twice = "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = \"1 > 0\"\n".repeat(2);
    assert!(
        rules(&twice)
            .unwrap_err()
            .to_string()
            .contains("two claims are called")
    );
    let bare = source("[[claim]]\nid = \"x\"\nstatement = \"x\"\n");
    let error = bare.parse().unwrap_err().to_string();
    assert!(error.contains("missing field `holds_if`"), "{error}");
    let empty = "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = \"\"\n";
    let error = rules(empty).unwrap_err().to_string();
    assert!(error.contains("has no rule"), "{error}");
}

const REFERENCE: &str = include_str!("../../../docs/claims.md");

#[test]
fn the_reference_lists_every_function_and_measure() {
    for Function { name, inputs, doc } in FUNCTIONS {
        let row = format!("| `{name}({inputs})` | {doc} |\n");
        assert!(REFERENCE.contains(&row), "{row}");
    }
    for (name, _) in world::MEASURES.iter() {
        assert!(REFERENCE.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_example_of_the_reference_is_a_valid_rule() {
    let text = TEXT.replace("[names]", "[names]\nNewReno = \"le/reno\"");
    let source = Source {
        text: text.replace("\"5%\"", "\"0.5%\""),
        ..source("")
    };
    let experiment = source.parse().unwrap();
    let catalog = Catalog::builtin();
    let rules = Rules::new(&experiment.vocabulary(), &[], &source, &catalog).unwrap();
    let planned = Plan::new(experiment, &source, &catalog)
        .unwrap()
        .empty_results();
    let blocks = REFERENCE.split("```claims\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or("").lines());
    let mut count = 0;
    for text in lines {
        let said = Said {
            source: &source,
            place: "",
            text,
            experiment: None,
        };
        let value = rules.evaluate(&said, &[], &World::planned(&planned));
        assert!(matches!(value, Ok(Value::Truth(_))), "{text}: {value:?}");
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn the_example_file_passes_the_checks() {
    let source = Source {
        text: include_str!("../../../examples/claims.toml").to_owned(),
        ..source("")
    };
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    let rules = Rules::of_plan(&plan, &source, &catalog).unwrap();
    assert_eq!(rules.claims().len(), 3);
}
